#pragma once

#include "eval/Session.h"
#include "ir/text/Text.h"

#include <cstring>
#include <gtest/gtest.h>

/// What tests of sessions have in common.
namespace origo::test {

using namespace origo::eval;

inline std::unique_ptr<Model> parse(llvm::StringRef text) {
  PayloadStore store;
  auto parsed = parseText(text, "", store);
  EXPECT_TRUE(static_cast<bool>(parsed)) << llvm::toString(parsed.takeError());
  return parsed ? std::move(*parsed) : nullptr;
}

inline TensorRef floats(Shape shape, llvm::ArrayRef<float> elements) {
  return {TensorType::FLOAT32,
          std::move(shape),
          {reinterpret_cast<const uint8_t *>(elements.data()), elements.size() * sizeof(float)}};
}

inline std::vector<float> floatsOf(const OwnedTensor &tensor) {
  auto *elements = reinterpret_cast<const float *>(tensor.bytes.data());
  return {elements, elements + tensor.bytes.size() / sizeof(float)};
}

/// The EvalErrors that an error consists of.
inline std::vector<std::unique_ptr<EvalError>> errorsOf(llvm::Error error) {
  std::vector<std::unique_ptr<EvalError>> list;
  llvm::handleAllErrors(std::move(error), [&](std::unique_ptr<EvalError> e) { list.push_back(std::move(e)); });
  return list;
}

template <class T> TensorRef tensor(TensorType type, Shape shape, llvm::ArrayRef<T> elements) {
  return {type, std::move(shape), {reinterpret_cast<const uint8_t *>(elements.data()), elements.size() * sizeof(T)}};
}

/// The first output for these inputs in their order; the error as text.
inline std::vector<float> runFloats(const Session &session, llvm::ArrayRef<TensorRef> inputs,
                                    const RunOptions &options = {}) {
  auto results = session.run(inputs, options);
  if (!results) {
    ADD_FAILURE() << llvm::toString(results.takeError());
    return {};
  }
  return floatsOf(results->front().tensor);
}

} // namespace origo::test
