#include "passes/Rule.h"

namespace origo {

/// min(f(x) with a RELU fused, 6) → f(x) with a RELU6 fused
static Rule fused() {
  auto f = anyWith(Trait::FusedActivation).once().activation(Activation::RELU).mayActivate();
  return Rule{"fused", "not the lesser of 6 and what is used once and has a RELU fused", minimum(f, 6),
              [=](Match &m) {
                return m[f].isFloat() ? m.replace(clone(f).activation(Activation::RELU6)) : decline("not float");
              }}
      .assumes("no number is NaN");
}

Pass RecogniseRelu6() {
  auto x = any();
  auto below = minimum(x, 6).once();
  auto bounded = relu(below) | maximum(below, 0) | minimum(maximum(x, 0).once(), 6) | minimum(relu(x).once(), 6);
  return Pass{"recognise-relu6",
              "min(max(x, 0), 6), relu(min(x, 6)) -> relu6(x)",
              Phase::Recognise,
              true,
              {{"transform_min_max_to_relu6", {{Op::MINIMUM, Op::MAXIMUM}, {Op::MAXIMUM, Op::MINIMUM}}},
               {"transform_min_relu_to_relu6", {{Op::RELU, Op::MINIMUM}, {Op::MINIMUM, Op::RELU}}}},
              {Rule{"relu6", "not a value bounded by 0 and 6", bounded, relu6(x)}.assumes("no number is NaN"), fused()}}
      .about("NaN stays NaN, where a minimum or a maximum would make a bound of it.");
}

} // namespace origo
