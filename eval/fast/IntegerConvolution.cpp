#include "eval/Shapes.h"
#include "eval/fast/Convolution.h"
#include "eval/fast/IntegerRows.h"
#include "eval/kernels/Hybrid.h"

/// CONV_2D, DEPTHWISE_CONV_2D and TRANSPOSE_CONV of 8 and 16 bit numbers that XNNPACK has not: the sums of the
/// reference kernels.
namespace origo::eval {

namespace {

/// Along one dimension, output `o` and place `f` of the filter meet at (o · step + f · dilation − before) / divisor of
/// the input, where that is an integer inside it.
struct Axis {
  int64_t step, dilation, before, divisor;
  int64_t meet(int64_t o, int64_t f, int64_t length) const {
    int64_t place = o * step + f * dilation - before;
    return place >= 0 && place % divisor == 0 && place / divisor < length ? place / divisor : -1;
  }
  static std::optional<Axis> of(const Conv &conv, bool transposed, int64_t in, int64_t out, int64_t size,
                                int64_t stride, int64_t dilation) {
    int64_t length = transposed ? out : in;
    auto count = inference::positions(conv.same ? circle::Padding::SAME : circle::Padding::VALID, length, size, stride,
                                      dilation);
    if (!count)
      return std::nullopt;
    int64_t before = paddingBefore(length, *count, size, stride, dilation);
    return transposed ? Axis{1, -1, -before, stride} : Axis{stride, dilation, before, 1};
  }
};

/// T: elements, Sum: of products, and bias.
template <class T, class Sum> class IntegerConvolution : public FastKernel {
public:
  IntegerConvolution(const Conv &given, unsigned operand, ChannelScales scalesOfChannels)
      : conv(given), operand(operand), transposed(operand != 0), scales(std::move(scalesOfChannels)),
        groupIn(static_cast<int64_t>(conv.groupIn)), groupOut(static_cast<int64_t>(conv.groupOut)),
        depth(conv.groups * groupIn), channels(conv.groups * groupOut), height(conv.filter->dim(1)),
        width(conv.filter->dim(2)) {
    auto filter = weightsOf<int8_t>(*given.filter);
    if (given.bias)
      bias.assign(dataOf<Sum>(*given.bias), dataOf<Sum>(*given.bias) + channels);
    conv.filter = conv.bias = nullptr; // they are there only now
    if (conv.depthwise)
      for (int64_t i = 0; i < positions() * channels; ++i)
        depthwise.push_back(filter[i]);
    else
      for (int64_t group = 0; group < conv.groups; ++group)
        matrices.emplace_back().pack(groupOut, positions(), groupIn, [&](int64_t channel, int64_t position, int64_t k) {
          return filter[((group * groupOut + channel) * positions() + position) * groupIn + k];
        });
  }

  bool run(Operands in, Operands out, pthreadpool_t threads) override {
    const Tensor &x = *in[operand];
    Tensor &result = *out[0];
    if (x.rank() != 4 || x.dim(3) != depth || result.rank() != 4 || result.dim(3) != channels || result.count() == 0 ||
        x.count() == 0 || result.dim(0) != x.dim(0) || !meet(x, result))
      return false;
    // Only products of rows take two numbers at once.
    const int16_t *numbers = rows.template of<T>(x, scales.inputZero, conv.depthwise ? 2 : groupIn);
    int64_t picture = int64_t(x.dim(1)) * x.dim(2) * depth, pixels = int64_t(result.dim(1)) * result.dim(2);
    T *y = dataOf<T>(result);
    for (int32_t n = 0; n < x.dim(0); ++n, numbers += picture, y += pixels * channels) {
      if (conv.depthwise) {
        parallelFor(threads, static_cast<size_t>(pixels), 32, [&](size_t first, size_t count) {
          for (size_t pixel = first; pixel < first + count; ++pixel)
            computePixel(numbers, static_cast<int64_t>(pixel), y);
        });
        continue;
      }
      for (int64_t group = 0; group < conv.groups; ++group)
        multiply<Sum>(
            matrices[static_cast<size_t>(group)], pixels, threads,
            [&](int64_t pixel, int64_t position) {
              int64_t at = met(pixel / columns, pixel % columns, position / width, position % width);
              return at < 0 ? zeros.data() : numbers + at * depth + group * groupIn;
            },
            [&](int64_t pixel, int64_t first, const auto &sums) {
              int64_t count = std::min(PackedMatrix::width, groupOut - first), channel = group * groupOut + first;
              for (int64_t c = 0; c < count; ++c)
                y[pixel * channels + channel + c] = finish(sums[static_cast<size_t>(c)], channel + c);
            });
    }
    return true;
  }

private:
  int64_t positions() const { return height * width; }

  T finish(Sum sum, int64_t channel) const {
    return scales.template scaled<T>(bias.empty() ? sum : wrappingAdd(sum, bias[static_cast<size_t>(channel)]),
                                     channel);
  }

  /// Which row and which column of pixels each output pixel meets at each position of the filter. False: impossible.
  bool meet(const Tensor &x, const Tensor &y) {
    if (x.shape == inputShape && y.shape == outputShape)
      return true;
    auto vertical = Axis::of(conv, transposed, x.dim(1), y.dim(1), height, conv.strideH, conv.dilationH);
    auto horizontal = Axis::of(conv, transposed, x.dim(2), y.dim(2), width, conv.strideW, conv.dilationW);
    if (!vertical || !horizontal || int64_t(x.dim(1)) * x.dim(2) > std::numeric_limits<int32_t>::max())
      return false;
    zeros.assign(static_cast<size_t>(groupIn) + 1, 0);
    auto fill = [](std::vector<int32_t> &table, const Axis &axis, int64_t outputs, int64_t size, int64_t length) {
      table.clear();
      for (int64_t o = 0; o < outputs; ++o)
        for (int64_t f = 0; f < size; ++f)
          table.push_back(static_cast<int32_t>(axis.meet(o, f, length)));
    };
    fill(rowsMet, *vertical, y.dim(1), height, x.dim(1));
    fill(columnsMet, *horizontal, y.dim(2), width, x.dim(2));
    columns = y.dim(2);
    inputColumns = x.dim(2);
    inputShape = x.shape;
    outputShape = y.shape;
    return true;
  }

  /// The pixel that output pixel (oy, ox) meets at (fy, fx). Negative: none.
  int64_t met(int64_t oy, int64_t ox, int64_t fy, int64_t fx) const {
    int64_t row = rowsMet[static_cast<size_t>(oy * height + fy)];
    int64_t column = columnsMet[static_cast<size_t>(ox * width + fx)];
    return row < 0 || column < 0 ? -1 : row * inputColumns + column;
  }

  /// Depthwise, some channels at once.
  void computePixel(const int16_t *numbers, int64_t pixel, T *y) const {
    constexpr int64_t some = 16;
    int64_t oy = pixel / columns, ox = pixel % columns;
    for (int64_t first = 0; first < channels; first += some) {
      int64_t count = std::min(some, channels - first);
      std::array<Sum, some> sums = {};
      for (int64_t fy = 0, position = 0; fy < height; ++fy)
        for (int64_t fx = 0; fx < width; ++fx, ++position) {
          int64_t at = met(oy, ox, fy, fx);
          if (at < 0)
            continue;
          const int16_t *x = numbers + at * depth, *w = depthwise.data() + position * channels + first;
          auto add = [&](int64_t c, int64_t channel) {
            Sum &sum = sums[static_cast<size_t>(c)];
            sum = wrappingAdd<Sum>(sum, x[channel] * w[c]);
          };
          if (groupOut != 1)
            for (int64_t c = 0; c < count; ++c)
              add(c, (first + c) / groupOut);
          else if (count == some)
            for (int64_t c = 0; c < some; ++c)
              add(c, first + c);
          else
            for (int64_t c = 0; c < count; ++c)
              add(c, first + c);
        }
      for (int64_t c = 0; c < count; ++c)
        y[pixel * channels + first + c] = finish(sums[static_cast<size_t>(c)], first + c);
    }
  }

  Conv conv;
  unsigned operand; ///< the picture
  bool transposed;
  ChannelScales scales;
  int64_t groupIn, groupOut, depth, channels, height, width;
  std::vector<Sum> bias;
  std::vector<int16_t> depthwise;
  std::vector<PackedMatrix> matrices;
  IntegerRows rows;
  std::vector<int16_t> zeros;               ///< what is outside the picture
  std::vector<int32_t> rowsMet, columnsMet; ///< by output and position; -1: outside
  int64_t columns = 0, inputColumns = 0;    ///< of the output, of the picture
  Shape inputShape, outputShape;
};

template <class T, class Sum>
std::unique_ptr<FastKernel> make(const FastSite &site, const Conv &conv, unsigned operand) {
  auto scales = scalesOf<T, T>(site, site.input(operand), static_cast<int64_t>(conv.groups * conv.groupOut),
                               conv.activation, ChannelScales::Product::Double);
  if (!scales || scales->filterZero != 0)
    return nullptr;
  scales->roundOnce = site.op.code == BuiltinOperator::CONV_2D && std::is_same_v<T, int8_t>;
  return std::make_unique<IntegerConvolution<T, Sum>>(conv, operand, std::move(*scales));
}

std::unique_ptr<FastKernel> make(const FastSite &site, const Conv &conv, unsigned operand) {
  TensorType in = site.type(operand), filter = conv.filter->type;
  if (site.output().type != in || (filter != TensorType::INT8 && filter != TensorType::INT4))
    return nullptr;
  if (in == TensorType::INT8)
    return make<int8_t, int32_t>(site, conv, operand);
  if (in != TensorType::INT16 || filter != TensorType::INT8)
    return nullptr;
  return conv.bias && conv.bias->type == TensorType::INT32 ? make<int16_t, int32_t>(site, conv, operand)
                                                           : make<int16_t, int64_t>(site, conv, operand);
}

std::unique_ptr<FastKernel> convolution(const FastSite &site) {
  auto conv = convOf(site);
  return conv ? make(site, *conv, 0) : nullptr;
}

std::unique_ptr<FastKernel> transposeConv(const FastSite &site) {
  const Tensor *filter = site.constant(1), *bias = site.constant(3);
  const auto &options = site.options<circle::TransposeConvOptions>();
  if (!filter || filter->rank() != 4 || filter->count() == 0 || (site.has(3) && !bias) ||
      (bias && bias->count() != filter->dim(0)) || options.stride_h() <= 0 || options.stride_w() <= 0)
    return nullptr;
  return make(site,
              {filter, bias, false, options.padding() == circle::Padding::SAME,
               static_cast<uint32_t>(options.stride_h()), static_cast<uint32_t>(options.stride_w()), 1, 1, 1,
               static_cast<size_t>(filter->dim(3)), static_cast<size_t>(filter->dim(0)),
               options.fused_activation_function()},
              2);
}

} // namespace

llvm::ArrayRef<FastRow> fastIntegerConvolution() {
  static const FastRow rows[] = {{BuiltinOperator::CONV_2D, convolution},
                                 {BuiltinOperator::DEPTHWISE_CONV_2D, convolution},
                                 {BuiltinOperator::TRANSPOSE_CONV, transposeConv}};
  return rows;
}

} // namespace origo::eval
