#include "passes/Linear.h"

namespace origo {

/// fc(x, W, b) → the same with the weights in the order SHUFFLED16x1FLOAT32: of 16 rows, one column after the other.
static Rule shuffle() {
  auto linear = anyOf({Op::FULLY_CONNECTED}).mayActivate();
  return {"shuffle", "", linear, [=](Match &m) {
            Linear parts;
            if (const char *why = readLinear(m.op(linear), parts))
              return decline(why);
            int32_t rows = parts.filter.shape()[0], columns = parts.filter.shape()[1];
            if (rows % 16 != 0)
              return decline("the rows are not a multiple of 16");
            if (parts.filter.isShared())
              return decline("the filter has other users, for whom it would have to stay");
            Expr blocks = transpose(reshape(parts.filter, list({rows / 16, 16, columns})), list({0, 2, 1}));
            Expr shuffled = fold(reshape(blocks, list({rows, columns})));
            auto format = static_cast<int64_t>(circle::FullyConnectedOptionsWeightsFormat::SHUFFLED16x1FLOAT32);
            return m.replace(clone(linear).filter(shuffled).with("weights_format", format));
          }};
}

Pass ShuffleWeights() {
  return Pass{"shuffle-weights",
              "fc(x, W, b) -> the same with W in the order SHUFFLED16x1FLOAT32",
              Phase::Backend,
              false,
              {{"shuffle_weight_to_16x1float32", {}}},
              {shuffle()}}
      .about("For back ends that compute sixteen rows at a time: of each sixteen rows of `W`, the first column, "
             "then the second, and so on. `.tflite` has no such format.");
}

} // namespace origo
