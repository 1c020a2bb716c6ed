#pragma once

#include "tests/Distance.h"
#include "tests/RandomInputs.h"
#include "tests/Sessions.h"

/// Engine::Fast against Engine::Reference.
namespace origo::test {

inline CompileOptions fastOptions() {
  CompileOptions options;
  options.engine = Engine::Fast;
  return options;
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
