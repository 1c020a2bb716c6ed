#include "quantize/Moments.h"

#include "eval/Dense.h"
#include "eval/Shapes.h"
#include "quantize/Constraints.h"

#include <cmath>

namespace origo::quantize {

using namespace eval;
using Op = BuiltinOperator;

namespace {

constexpr uint64_t mostPositions = 256;

/// How a convolution goes over its input; a product of matrices is one of 1 × 1.
struct Window {
  int64_t height = 1, width = 1, strideH = 1, strideW = 1, dilationH = 1, dilationW = 1;
  bool padded = false; ///< so that there is a result for each stride
};

int64_t resultsAlong(int64_t length, int64_t size, int64_t stride, int64_t dilation, bool padded) {
  int64_t places = padded ? length : length - (size - 1) * dilation;
  return std::max<int64_t>(0, (places + stride - 1) / stride);
}

/// Which element of the input a weight sees: `length` of them, of `results` along an axis. -1: none, which counts as 0.
struct Axis {
  int64_t length, results, stride, dilation, before;
  bool transposed;
  int64_t at(int64_t result, int64_t weight) const {
    if (transposed) {
      int64_t place = result + before - weight;
      return place >= 0 && place % stride == 0 && place / stride < length ? place / stride : -1;
    }
    int64_t place = result * stride - before + weight * dilation;
    return place < length ? std::max<int64_t>(place, -1) : -1;
  }
};

template <class Options> Window windowOf(const Operator &op) {
  const auto *options = op.options.as<Options>();
  const Value &filter = *op.operand(1);
  if (!options)
    return {filter.shape[1], filter.shape[2], 1, 1, 1, 1, true};
  return {filter.shape[1],     filter.shape[2],
          options->stride_h(), options->stride_w(),
          options->dilation_h_factor(), options->dilation_w_factor(),
          options->padding() == circle::Padding::SAME};
}

/// Inputs of the weights at each position, added up.
class Sums {
public:
  Sums(const Operator &op, bool products)
      : op(op), depthwise(op.code == Op::DEPTHWISE_CONV_2D), transposed(op.code == Op::TRANSPOSE_CONV) {
    const Value &w = *op.operand(1);
    if (op.code == Op::CONV_2D)
      window = windowOf<circle::Conv2DOptions>(op);
    else if (depthwise)
      window = windowOf<circle::DepthwiseConv2DOptions>(op);
    else if (const auto *options = op.options.as<circle::TransposeConvOptions>(); transposed && options)
      window = {w.shape[1], w.shape[2], options->stride_h(), options->stride_w(), 1, 1,
                options->padding() == circle::Padding::SAME};
    inGroup = depthwise ? 1 : w.shape.back();
    uint64_t weights = depthwise ? static_cast<uint64_t>(window.height * window.width)
                                 : static_cast<uint64_t>(eval::product(w.shape, 1, w.shape.size()));
    uint64_t groups = op.code == Op::FULLY_CONNECTED ? 1 : static_cast<uint64_t>(op.operand(inputOf(op))->shape.back() / inGroup);
    moments.groups.resize(groups);
    bool few = weights <= mostProducts && weights * weights * groups <= mostProducts * mostProducts;
    for (InputMoments::Group &group : moments.groups) {
      group.sum.assign(weights, 0);
      if (products && few)
        group.products.assign(weights * (weights + 1) / 2, 0);
    }
    patch.resize(weights);
  }

  void add(const float *x, llvm::ArrayRef<int32_t> shape) {
    int64_t channels = shape.empty() ? 1 : shape.back();
    moments.channels.resize(static_cast<size_t>(channels));
    for (int64_t i = 0, count = eval::product(shape); i < count; ++i)
      moments.channels[i % channels].join({x[i], x[i]});
    if (op.code == Op::FULLY_CONNECTED) {
      channels = static_cast<int64_t>(patch.size());
      int64_t rows = eval::product(shape) / std::max<int64_t>(channels, 1);
      go(x, 1, 1, rows, channels);
    } else if (shape.size() == 4) {
      go(x, shape[0], shape[1], shape[2], channels);
    }
  }
  InputMoments moments;

private:
  const Operator &op;
  bool depthwise, transposed;
  int64_t inGroup = 1; ///< channels of the input that a row of weights has
  Window window;
  std::vector<float> patch;

  /// A transposed convolution pads as the convolution from its result to its input does.
  Axis axis(unsigned dimension, int64_t length, int64_t size, int64_t stride, int64_t dilation) const {
    int64_t from = transposed ? op.result()->shape[dimension] : length;
    int64_t to = resultsAlong(from, size, stride, dilation, window.padded);
    return {length, transposed ? from : to, stride, dilation, paddingBefore(from, to, size, stride, dilation), transposed};
  }

  void go(const float *x, int64_t batches, int64_t height, int64_t width, int64_t channels) {
    Axis vertical = axis(1, height, window.height, window.strideH, window.dilationH);
    Axis horizontal = axis(2, width, window.width, window.strideW, window.dilationW);
    uint64_t positions = static_cast<uint64_t>(batches * vertical.results * horizontal.results), position = 0;
    uint64_t every = std::max<uint64_t>(1, (positions + mostPositions - 1) / mostPositions);
    for (int64_t b = 0; b < batches; ++b)
      for (int64_t oy = 0; oy < vertical.results; ++oy)
        for (int64_t ox = 0; ox < horizontal.results; ++ox, ++position)
          for (size_t g = 0; g < moments.groups.size(); ++g) {
            InputMoments::Group &group = moments.groups[g];
            size_t n = 0;
            for (int64_t fy = 0; fy < window.height; ++fy)
              for (int64_t fx = 0; fx < window.width; ++fx) {
                int64_t y = vertical.at(oy, fy), column = horizontal.at(ox, fx);
                bool inside = y >= 0 && column >= 0;
                int64_t at = ((b * height + y) * width + column) * channels + static_cast<int64_t>(g) * inGroup;
                for (int64_t k = 0; k < inGroup; ++k)
                  patch[n++] = inside ? x[at + k] : 0;
              }
            for (size_t i = 0; i < n; ++i)
              group.sum[i] += patch[i];
            if (position % every == 0)
              addProducts(group);
          }
    moments.count += positions;
  }

  void addProducts(InputMoments::Group &group) {
    if (group.products.empty())
      return;
    double *to = group.products.data();
    for (size_t i = 0; i < patch.size(); to += ++i) {
      double by = patch[i];
      if (by != 0)
        for (size_t j = 0; j <= i; ++j)
          to[j] += by * patch[j];
    }
  }
};

/// Does it go on from window to window?
template <class Options> bool advances(const Operator &op) {
  const auto *options = op.options.as<Options>();
  return !options || (options->stride_h() > 0 && options->stride_w() > 0);
}

/// Does each output channel have all of the input's channels, those of its group, or, depthwise, its own one?
bool isPlain(const Operator &op) {
  bool linear = op.code == Op::CONV_2D || op.code == Op::DEPTHWISE_CONV_2D || op.code == Op::TRANSPOSE_CONV ||
                op.code == Op::FULLY_CONNECTED;
  unsigned input = inputOf(op);
  if (!linear || op.numOperands() < std::max(2u, input + 1) || !op.operand(input) || !op.result() || !isDense(op.operand(1)))
    return false;
  const Value &x = *op.operand(input), &w = *op.operand(1);
  if (x.type != TensorType::FLOAT32 || w.type != TensorType::FLOAT32 || x.isConstant() || w.elementCount().value_or(0) == 0)
    return false;
  if (op.code == Op::FULLY_CONNECTED)
    return w.rank() == 2;
  if (w.rank() != 4 || x.rank() != 4 || op.result()->rank() != 4 || x.shape[3] <= 0)
    return false;
  if (op.code == Op::DEPTHWISE_CONV_2D)
    return w.shape[3] % x.shape[3] == 0 && advances<circle::DepthwiseConv2DOptions>(op);
  if (op.code == Op::TRANSPOSE_CONV) // of a size that compiling has checked, for its input is seen before it runs
    return op.operand(0) && op.operand(0)->isConstant() && op.options.as<circle::TransposeConvOptions>() &&
           w.shape[3] == x.shape[3] && op.result()->isStatic() && advances<circle::TransposeConvOptions>(op);
  return advances<circle::Conv2DOptions>(op) && x.shape[3] % w.shape[3] == 0 && w.shape[0] % (x.shape[3] / w.shape[3]) == 0;
}

} // namespace

llvm::Expected<Moments> collectMoments(Model &model, OpenRecords open, const CalibrateOptions &options, bool products) {
  llvm::DenseMap<const Value *, llvm::SmallVector<Sums *, 1>> readers;
  std::vector<std::pair<const Operator *, std::unique_ptr<Sums>>> all;
  for (auto &graph : model.subgraphs)
    for (const Operator &op : graph->operators)
      if (isPlain(op)) {
        all.emplace_back(&op, std::make_unique<Sums>(op, products));
        readers[op.operand(inputOf(op))].push_back(all.back().second.get());
      }
  auto session = compile(model, options.compile);
  if (!session)
    return session.takeError();
  auto see = [&](const Value &value, llvm::ArrayRef<int32_t> shape, llvm::ArrayRef<float> numbers) {
    if (auto found = readers.find(&value); found != readers.end())
      for (Sums *sums : found->second)
        sums->add(numbers.data(), shape);
  };
  if (llvm::Error error = forEachRecord(model, *session, open, options, see, [](uint64_t, uint64_t) {}))
    return error;
  Moments moments;
  for (auto &[op, sums] : all)
    if (sums->moments.count != 0)
      moments[op] = std::move(sums->moments);
  return moments;
}

} // namespace origo::quantize
