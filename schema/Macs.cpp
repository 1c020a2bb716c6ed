#include "schema/Macs.h"

#include "schema/OperatorFacts.h"

using namespace origo;

namespace {

using Shape = std::vector<int64_t>;
using Count = std::optional<uint64_t>;

Count times(Count a, Count b) {
  uint64_t product;
  if (!a || !b || __builtin_mul_overflow(*a, *b, &product))
    return std::nullopt;
  return product;
}

Count elements(const Shape &shape) {
  Count count = 1;
  for (int64_t dim : shape)
    count = dim < 0 ? std::nullopt : times(count, uint64_t(dim));
  return count;
}

/// How often the innermost dimension occurs.
Count rows(const Shape &shape) {
  return shape.empty() ? std::nullopt : elements(Shape(shape.begin(), shape.end() - 1));
}

/// One that is not there is not known.
const Shape unknown = {-1};
const Shape &input(const OperatorShapes &shapes, size_t i) {
  return i < shapes.inputs.size() ? shapes.inputs[i] : unknown;
}
const Shape &output(const OperatorShapes &shapes) { return shapes.outputs.empty() ? unknown : shapes.outputs[0]; }

Count dimension(const Shape &shape, size_t i, size_t rank) {
  return shape.size() == rank && shape[i] >= 0 ? Count(uint64_t(shape[i])) : std::nullopt;
}

} // namespace

// The filter is [out, height, width, in].
Count origo::convolutionMacs(const OperatorShapes &shapes) {
  const Shape &filter = input(shapes, 1);
  Count window = times(times(dimension(filter, 1, 4), dimension(filter, 2, 4)), dimension(filter, 3, 4));
  return times(elements(output(shapes)), window);
}
// [1, height, width, out]
Count origo::depthwiseMacs(const OperatorShapes &shapes) {
  const Shape &filter = input(shapes, 1);
  return times(elements(output(shapes)), times(dimension(filter, 1, 4), dimension(filter, 2, 4)));
}
// [depth, height, width, in, out]
Count origo::convolution3dMacs(const OperatorShapes &shapes) {
  const Shape &filter = input(shapes, 1);
  Count window = times(times(dimension(filter, 0, 5), dimension(filter, 1, 5)), dimension(filter, 2, 5));
  return times(elements(output(shapes)), times(window, dimension(filter, 3, 5)));
}
// Each position of the input meets the whole filter.
Count origo::transposedMacs(const OperatorShapes &shapes) {
  return times(rows(input(shapes, 2)), elements(input(shapes, 1)));
}

Count origo::fullyConnectedMacs(const OperatorShapes &shapes) {
  return times(elements(output(shapes)), dimension(input(shapes, 1), 1, 2));
}
// Either operand may be transposed, so the dimension that is summed over is what of x is not in the result.
Count origo::matrixProductMacs(const OperatorShapes &shapes) {
  const Shape &x = input(shapes, 0), &y = output(shapes);
  if (x.size() < 2 || y.size() < 2)
    return std::nullopt;
  Count matrix = elements(Shape(x.end() - 2, x.end())), height = elements(Shape(y.end() - 2, y.end() - 1));
  if (!matrix || !height)
    return std::nullopt;
  return times(elements(y), *height ? *matrix / *height : 0);
}
// Each row of the input, one of a batch at one time, meets every weight once.
Count origo::recurrentMacs(const OperatorShapes &shapes) {
  Count weights = 0;
  if (shapes.op == "LSTM" && shapes.inputs.size() == 5) {
    weights = elements(input(shapes, 2)); // all gates in one matrix
  } else {
    const OperatorInfo *info = operatorInfo(shapes.op);
    for (size_t i = 0; i < std::min(shapes.inputs.size(), info->operands.size()); ++i) {
      llvm::StringRef name = info->operands[i].name;
      bool isWeight = name.contains("weight") || name == "hidden_hidden" || name == "hidden_input";
      Count part = elements(input(shapes, i));
      if (isWeight && (!part || !weights || __builtin_add_overflow(*weights, *part, &*weights)))
        return std::nullopt;
    }
  }
  return times(rows(input(shapes, 0)), weights);
}
Count origo::unknownMacs(const OperatorShapes &) { return std::nullopt; }

Count origo::macs(const OperatorShapes &shapes) {
  const OperatorInfo *info = operatorInfo(shapes.op);
  if (!info || info->has(Effect::Unknown))
    return std::nullopt;
  MacRule rule = factsOf(info->code).macs;
  return rule ? rule(shapes) : 0;
}

bool origo::multiplies(const std::string &op) {
  const OperatorInfo *info = operatorInfo(op);
  return info && factsOf(info->code).macs;
}
