#pragma once

#include "tests/RandomInputs.h"
#include "tests/Sessions.h"

#include <cmath>

/// Engine::Fast against Engine::Reference.
namespace origo::test {

inline CompileOptions fastOptions() {
  CompileOptions options;
  options.engine = Engine::Fast;
  return options;
}

/// How far two results are from each other: in parts of the range for floats, in steps for integers of 8 bits. All
/// others are to be the same, or infinitely far.
inline double distance(const OwnedTensor &a, const OwnedTensor &b) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (a.type != b.type || a.shape != b.shape || a.bytes.size() != b.bytes.size())
    return infinity;
  double worst = 0;
  if (a.type == TensorType::FLOAT32) {
    auto x = floatsOf(a), y = floatsOf(b);
    double low = 0, high = 0;
    for (float v : x)
      if (std::isfinite(v)) {
        low = std::min<double>(low, v);
        high = std::max<double>(high, v);
      }
    for (size_t i = 0; i < x.size(); ++i) {
      // What a clamp makes of NaN is its own affair.
      bool same = x[i] == y[i] || std::isnan(x[i]);
      double off = same ? 0 : std::fabs(static_cast<double>(x[i]) - static_cast<double>(y[i])) / (high - low);
      worst = std::isnan(off) ? infinity : std::max(worst, off);
    }
    return worst;
  }
  if (a.type == TensorType::INT8 || a.type == TensorType::UINT8) {
    for (size_t i = 0; i < a.bytes.size(); ++i) {
      int x = a.bytes[i], y = b.bytes[i];
      if (a.type == TensorType::INT8) {
        x = static_cast<int8_t>(x);
        y = static_cast<int8_t>(y);
      }
      worst = std::max<double>(worst, std::abs(x - y));
    }
    return worst;
  }
  return a.bytes == b.bytes ? 0 : infinity;
}

struct Difference {
  double floats = 0, steps = 0;
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

inline std::vector<float> ramp(size_t count) {
  std::vector<float> made;
  for (size_t i = 0; i < count; ++i)
    made.push_back(static_cast<float>(i % 7) * 0.01f - 0.02f);
  return made;
}

} // namespace origo::test
