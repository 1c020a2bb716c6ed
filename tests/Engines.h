#pragma once

#include "eval/Distance.h"
#include "tests/RandomInputs.h"
#include "tests/Sessions.h"

#include <deque>
#include <map>

/// Engine::Fast against Engine::Reference.
namespace origo::test {

inline CompileOptions fastOptions() {
  CompileOptions options;
  options.engine = Engine::Fast;
  return options;
}

/// How many threads a kernel is tried with. For a lesser processor than this one (ORIGO_PROCESSOR) two only: how work
/// is divided is seen on this one.
inline std::vector<unsigned> threadCounts() {
  return std::getenv("ORIGO_PROCESSOR") ? std::vector<unsigned>{2} : std::vector<unsigned>{1, 2};
}

/// The seeds of inputs that a kernel is tried with; for a lesser processor likewise.
inline std::vector<unsigned> inputSeeds() {
  return std::getenv("ORIGO_PROCESSOR") ? std::vector<unsigned>{1} : std::vector<unsigned>{1, 2};
}

struct Difference {
  double floats = 0, steps = 0;
  std::string worst; ///< the operator, where they are compared one by one
  bool ran = false;
  Session::Coverage coverage;
};

/// Both engines with the same inputs. They have to agree on what runs at all.
inline Difference compare(Model &model, const std::string &name, unsigned seed,
                          const CompileOptions &options = fastOptions()) {
  Difference made;
  auto reference = compile(model), fast = compile(model, options);
  EXPECT_EQ(static_cast<bool>(reference), static_cast<bool>(fast)) << name;
  if (!reference || !fast) {
    llvm::consumeError(reference.takeError());
    llvm::consumeError(fast.takeError());
    return made;
  }
  auto inputs = randomInputs(*reference->inputs(), seed);
  if (!inputs)
    return made;
  std::vector<TensorRef> refs(inputs->begin(), inputs->end());
  auto expected = reference->run(refs), actual = fast->run(refs);
  EXPECT_EQ(static_cast<bool>(expected), static_cast<bool>(actual)) << name;
  if (!expected || !actual) {
    std::string texts[] = {expected ? "" : llvm::toString(expected.takeError()),
                           actual ? "" : llvm::toString(actual.takeError())};
    EXPECT_EQ(texts[0], texts[1]) << name;
    return made;
  }
  made.ran = true;
  made.coverage = fast->coverage();
  for (size_t i = 0; i < expected->size(); ++i) {
    const OwnedTensor &x = (*expected)[i].tensor, &y = (*actual)[i].tensor;
    double &worst = x.type == TensorType::FLOAT32 ? made.floats : made.steps;
    worst = std::max(worst, distance(x, y));
  }
  return made;
}

/// Each operator by itself: the fast engine gets the operands that the reference computed. Loops and calls are
/// followed.
inline Difference compareOperators(Model &model, const std::string &name, unsigned seed) {
  Difference made;
  auto reference = compile(model), fast = compile(model, fastOptions());
  EXPECT_EQ(static_cast<bool>(reference), static_cast<bool>(fast)) << name;
  if (!reference || !fast) {
    llvm::consumeError(reference.takeError());
    llvm::consumeError(fast.takeError());
    return made;
  }
  auto inputs = randomInputs(*reference->inputs(), seed);
  if (!inputs)
    return made;
  std::vector<TensorRef> refs(inputs->begin(), inputs->end());
  std::map<const Value *, std::deque<OwnedTensor>> computed;
  RunOptions record, replace;
  record.observer = [&](const Operator &, const Value &value, Tensor &tensor) {
    computed[&value].push_back({tensor.type, tensor.shape, tensor.bytes().vec()});
  };
  replace.observer = [&](const Operator &op, const Value &value, Tensor &tensor) {
    auto &expected = computed[&value];
    if (expected.empty()) {
      ADD_FAILURE() << name << ": " << value.name.str() << " is computed more often than by the reference";
      return;
    }
    double off = distance(expected.front(), {tensor.type, tensor.shape, tensor.bytes().vec()});
    double &worst = tensor.type == TensorType::FLOAT32 ? made.floats : made.steps;
    if (off > worst)
      worst = off, made.worst = op.opName() + " " + value.name.str();
    if (expected.front().bytes.size() == tensor.storage.size())
      llvm::copy(expected.front().bytes, tensor.storage.begin());
    expected.pop_front();
  };
  auto expected = reference->run(refs, record), actual = fast->run(refs, replace);
  if (!expected || !actual) {
    ADD_FAILURE() << name << ": "
                  << (expected ? llvm::toString(actual.takeError()) : llvm::toString(expected.takeError()));
    return made;
  }
  made.ran = true;
  made.coverage = fast->coverage();
  return made;
}

inline std::vector<float> ramp(size_t count) {
  std::vector<float> made;
  for (size_t i = 0; i < count; ++i)
    made.push_back(static_cast<float>(i % 7) * 0.01f - 0.02f);
  return made;
}

} // namespace origo::test
