#include "schema/Macs.h"

#include "schema/OperatorTable.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

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

class Counter {
public:
  explicit Counter(const OperatorShapes &shapes) : shapes(shapes) {}

  using Rule = Count (Counter::*)() const;
  /// Null: there is no rule, because there are no multiplications or because nobody knows.
  static Rule ruleOf(llvm::StringRef op) {
    return llvm::StringSwitch<Rule>(op)
        .Case("CONV_2D", &Counter::convolution)
        .Case("DEPTHWISE_CONV_2D", &Counter::depthwise)
        .Case("CONV_3D", &Counter::convolution3d)
        .Cases("TRANSPOSE_CONV", "CONV_3D_TRANSPOSE", &Counter::transposed)
        .Case("FULLY_CONNECTED", &Counter::fullyConnected)
        .Case("BATCH_MATMUL", &Counter::matrixProduct)
        .Cases("RNN", "UNIDIRECTIONAL_SEQUENCE_RNN", "BIDIRECTIONAL_SEQUENCE_RNN", "SVDF", &Counter::recurrent)
        .Cases("LSTM", "UNIDIRECTIONAL_SEQUENCE_LSTM", "BIDIRECTIONAL_SEQUENCE_LSTM", "GRU", &Counter::recurrent)
        .Default(nullptr);
  }
  /// What multiplies, but by a rule that shapes alone do not tell.
  static bool isOpaque(llvm::StringRef op) {
    const OperatorInfo *info = operatorInfo(op);
    return !info || info->has(Effect::Unknown) ||
           llvm::is_contained({"ATTENTION", "BCQ_FULLY_CONNECTED", "STABLEHLO_CONVOLUTION", "STABLEHLO_DOT_GENERAL"},
                              op);
  }

private:
  const OperatorShapes &shapes;

  /// One that is not there is not known.
  const Shape &input(size_t i) const { return i < shapes.inputs.size() ? shapes.inputs[i] : unknown(); }
  const Shape &output() const { return shapes.outputs.empty() ? unknown() : shapes.outputs[0]; }
  static const Shape &unknown() {
    static const Shape shape = {-1};
    return shape;
  }
  static Count dimension(const Shape &shape, size_t i, size_t rank) {
    return shape.size() == rank && shape[i] >= 0 ? Count(uint64_t(shape[i])) : std::nullopt;
  }

  // The filter is [out, height, width, in].
  Count convolution() const {
    const Shape &filter = input(1);
    Count window = times(times(dimension(filter, 1, 4), dimension(filter, 2, 4)), dimension(filter, 3, 4));
    return times(elements(output()), window);
  }
  // [1, height, width, out]
  Count depthwise() const {
    return times(elements(output()), times(dimension(input(1), 1, 4), dimension(input(1), 2, 4)));
  }
  // [depth, height, width, in, out]
  Count convolution3d() const {
    const Shape &filter = input(1);
    Count window = times(times(dimension(filter, 0, 5), dimension(filter, 1, 5)), dimension(filter, 2, 5));
    return times(elements(output()), times(window, dimension(filter, 3, 5)));
  }
  // Each position of the input meets the whole filter.
  Count transposed() const { return times(rows(input(2)), elements(input(1))); }

  Count fullyConnected() const {
    const Shape &weights = input(1);
    return times(elements(output()), dimension(weights, 1, 2));
  }
  // Either operand may be transposed, so the dimension that is summed over is what of x is not in the result.
  Count matrixProduct() const {
    const Shape &x = input(0), &y = output();
    if (x.size() < 2 || y.size() < 2)
      return std::nullopt;
    Count matrix = elements(Shape(x.end() - 2, x.end())), height = elements(Shape(y.end() - 2, y.end() - 1));
    if (!matrix || !height)
      return std::nullopt;
    return times(elements(y), *height ? *matrix / *height : 0);
  }
  // Each row of the input, one of a batch at one time, meets every weight once.
  Count recurrent() const {
    Count weights = 0;
    if (shapes.op == "LSTM" && shapes.inputs.size() == 5) {
      weights = elements(input(2)); // all gates in one matrix
    } else {
      const OperatorInfo *info = operatorInfo(shapes.op);
      for (size_t i = 0; i < std::min(shapes.inputs.size(), info->operands.size()); ++i) {
        llvm::StringRef name = info->operands[i].name;
        bool isWeight = name.contains("weight") || name == "hidden_hidden" || name == "hidden_input";
        Count part = elements(input(i));
        if (isWeight && (!part || !weights || __builtin_add_overflow(*weights, *part, &*weights)))
          return std::nullopt;
      }
    }
    return times(rows(input(0)), weights);
  }
};

} // namespace

std::optional<uint64_t> origo::macs(const OperatorShapes &shapes) {
  if (Counter::Rule rule = Counter::ruleOf(shapes.op))
    return (Counter(shapes).*rule)();
  return Counter::isOpaque(shapes.op) ? std::nullopt : Count(0);
}

bool origo::multiplies(const std::string &op) {
  const OperatorInfo *info = operatorInfo(op);
  return Counter::ruleOf(op) || (info && !info->has(Effect::Unknown) && Counter::isOpaque(op));
}
