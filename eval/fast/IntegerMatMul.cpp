#include "eval/Shapes.h"
#include "eval/fast/IntegerRows.h"
#include "eval/kernels/Hybrid.h"

/// FULLY_CONNECTED and BATCH_MATMUL of 8 and 16 bit numbers that XNNPACK has not: the sums of the reference kernels.
namespace origo::eval {

namespace {

/// T: left elements, W: right ones, Sum: of products, Bias.
template <class T, class W, class Out, class Sum, class Bias>
std::unique_ptr<FastKernel> fullyConnected(const FastSite &site) {
  const auto &options = site.options<circle::FullyConnectedOptions>();
  const Tensor *constant = site.constant(1), &weights = site.input(1);
  bool packed = weights.type == TensorType::INT4;
  if (options.weights_format() != circle::FullyConnectedOptionsWeightsFormat::DEFAULT || !weights.rankKnown ||
      weights.rank() != 2 || weights.count() == 0 || (packed && !constant))
    return nullptr;
  int64_t units = weights.dim(0), depth = weights.dim(1);
  auto scales = scalesOf<T, Out>(site, site.input(0), units, options.fused_activation_function(),
                                 weights.perChannel() || !std::is_same_v<T, uint8_t> ? ChannelScales::Product::Double
                                                                                     : ChannelScales::Product::Float);
  if (!scales)
    return nullptr;
  scales->roundOnce = !std::is_same_v<T, uint8_t>;
  scales->narrowWhereFits = !site.has(2) && options.quantized_bias_type() == TensorType::FLOAT32;
  auto pack = [units, depth](PackedMatrix &matrix, const auto &elements) {
    matrix.pack(units, 1, depth, [&](int64_t unit, int64_t, int64_t k) {
      return static_cast<int8_t>(elements[unit * depth + k] - packedOffset<W>);
    });
  };
  PackedMatrix matrix;
  if (constant)
    pack(matrix, weightsOf<W>(*constant));
  return fastKernel([=, known = constant != nullptr, scales = std::move(*scales), matrix = std::move(matrix),
                     rows = IntegerRows(),
                     zeros = ZeroPoints<Sum>()](Operands in, Operands out, pthreadpool_t threads) mutable {
    const Tensor &x = *in[0], *bias = in.size() > 2 ? in[2] : nullptr;
    if (x.count() == 0 || x.count() % depth || in[1]->rank() != 2 || in[1]->dim(0) != units || in[1]->dim(1) != depth ||
        (bias && bias->count() != units))
      return false;
    if (!known)
      pack(matrix, dataOf<W>(*in[1]));
    int64_t batches = x.count() / depth;
    const int16_t *left = rows.of<T>(x, scales.inputZero, depth);
    zeros.set(left, batches, depth, scales.filterZero - packedOffset<W>);
    const Bias *added = bias ? dataOf<Bias>(*bias) : nullptr;
    Out *y = dataOf<Out>(*out[0]);
    multiply<Sum>(
        matrix, batches, threads, [=](int64_t row, int64_t) { return left + row * depth; },
        [&](int64_t row, int64_t first, const auto &sums) {
          for (int64_t unit = first; unit < std::min(first + PackedMatrix::width, units); ++unit) {
            Sum sum = wrappingSub<Sum>(sums[static_cast<size_t>(unit - first)], zeros[row]);
            sum = added ? wrappingAdd<Sum>(sum, added[unit]) : sum;
            y[row * units + unit] = scales.template scaled<Out>(sum, unit);
          }
        });
    return true;
  });
}

/// T: left elements, Y: right ones; `end(sum, column)` gives an element.
template <class T, class Y, class Sum, class Out, class MakeEnd>
std::unique_ptr<FastKernel> products(const FastSite &site, int32_t leftZero, int32_t rightZero, int64_t channels,
                                     MakeEnd end) {
  const auto &options = site.options<circle::BatchMatMulOptions>();
  bool leftTransposed = options.adjoint_lhs();
  // Of 16 bits in two parts; what the lower one lacks is a zero point.
  constexpr bool wide = std::is_same_v<Y, int16_t>;
  constexpr int8_t (*lower)(Y) = [] {
    if constexpr (wide)
      return lowerPart;
    else
      return wholeNumber;
  }();
  RightMatrix<Y> right(site, options.adjoint_rhs(), lower);
  std::optional<RightMatrix<int16_t>> upper;
  if (wide) {
    upper.emplace(site, options.adjoint_rhs(), upperPart);
    rightZero -= 128;
  }
  return fastKernel([=, right = std::move(right), upper = std::move(upper), numbers = IntegerRows(),
                     uppers = std::vector<Sum>(),
                     zeros = ZeroPoints<Sum>()](Operands in, Operands out, pthreadpool_t threads) mutable {
    const Tensor &x = *in[0], &y = *in[1];
    if (x.rank() < 2 || y.rank() < 2 || out[0]->count() == 0)
      return false;
    Stack a(x, leftTransposed), b(y, right.transposed);
    int64_t rows = a.rows, depth = a.columns, columns = b.columns;
    if (depth == 0 || b.rows != depth || (channels && columns != channels))
      return false;
    llvm::ArrayRef<int32_t> shape = out[0]->shape;
    Out *result = dataOf<Out>(*out[0]);
    for (Broadcast batch(shape.drop_back(2),
                         {llvm::ArrayRef(x.shape).drop_back(2), llvm::ArrayRef(y.shape).drop_back(2)});
         !batch.done(); batch.next(), result += rows * columns) {
      // One matrix after the other, in the order of rows.
      const T *from = dataOf<T>(x) + batch.index(0) * rows * depth;
      const int16_t *left;
      if (!leftTransposed && std::is_same_v<T, int16_t> && depth % 2 == 0) {
        left = reinterpret_cast<const int16_t *>(from);
      } else {
        int16_t *to = numbers.reserve(rows * depth);
        left = to;
        for (int64_t row = 0; row < rows; ++row)
          for (int64_t k = 0; k < depth; ++k)
            *to++ = static_cast<int16_t>(from[row * a.rowStep + k * a.columnStep] - leftZero);
      }
      zeros.set(left, rows, depth, rightZero);
      auto rowAt = [=](int64_t row, int64_t) { return left + row * depth; };
      auto forElements = [&](PackedMatrix const &matrix, auto element) {
        multiply<Sum>(matrix, rows, threads, rowAt, [&](int64_t row, int64_t first, const auto &sums) {
          for (int64_t column = first; column < std::min(first + PackedMatrix::width, columns); ++column)
            element(row, column, sums[static_cast<size_t>(column - first)]);
        });
      };
      if (wide) {
        uppers.resize(static_cast<size_t>(rows * columns));
        forElements(upper->packed(y, batch.index(1)), [&](int64_t row, int64_t column, Sum sum) {
          uppers[static_cast<size_t>(row * columns + column)] = sum * 256;
        });
      }
      forElements(right.packed(y, batch.index(1)), [&](int64_t row, int64_t column, Sum sum) {
        if (wide)
          sum += uppers[static_cast<size_t>(row * columns + column)];
        result[row * columns + column] = end(wrappingSub<Sum>(sum, zeros[row]), column);
      });
    }
    return true;
  });
}

template <class T, class Y, class Sum> std::unique_ptr<FastKernel> batchMatMulQuantized(const FastSite &site) {
  const Tensor &y = site.input(1);
  bool perChannel = y.perChannel();
  int64_t channels = perChannel ? static_cast<int64_t>(y.quantization->scale.size()) : 0;
  auto scales = scalesOf<T, T>(site, site.input(0), channels, circle::ActivationFunctionType::NONE,
                               perChannel ? ChannelScales::Product::Double : ChannelScales::Product::Float);
  if (!scales || (std::is_same_v<Y, int16_t> && scales->filterZero != 0))
    return nullptr;
  return products<T, Y, Sum, T>(
      site, scales->inputZero, scales->filterZero, channels,
      [scales = *scales](Sum sum, int64_t column) { return scales.template scaled<T>(sum, column); });
}

std::unique_ptr<FastKernel> batchMatMul(const FastSite &site) {
  TensorType x = site.type(0), y = site.type(1), out = site.output().type;
  constexpr TensorType i8 = TensorType::INT8, i16 = TensorType::INT16;
  if (x == i8 && y == i8 && out == TensorType::INT32)
    return products<int8_t, int8_t, int32_t, int32_t>(site, 0, 0, 0, [](int32_t sum, int64_t) { return sum; });
  if (x == i8 && y == i8 && out == i8)
    return batchMatMulQuantized<int8_t, int8_t, int32_t>(site);
  if (x == i16 && y == i8 && out == i16)
    return batchMatMulQuantized<int16_t, int8_t, int64_t>(site);
  if (x == i16 && y == i16 && out == i16)
    return batchMatMulQuantized<int16_t, int16_t, int64_t>(site);
  return nullptr;
}

std::unique_ptr<FastKernel> fullyConnected(const FastSite &site) {
  TensorType x = site.type(0), weights = site.type(1), out = site.output().type;
  bool narrow = weights == TensorType::INT8 || weights == TensorType::INT4;
  if (x == TensorType::INT8 && narrow && out == x)
    return fullyConnected<int8_t, int8_t, int8_t, int32_t, int32_t>(site);
  if (x == TensorType::UINT8 && weights == x && out == x)
    return fullyConnected<uint8_t, uint8_t, uint8_t, int32_t, int32_t>(site);
  if (x != TensorType::INT16 || weights != TensorType::INT8 || out != x)
    return nullptr;
  // As the reference kernel: without a bias the option says which type it would have.
  if (site.has(2) ? site.type(2) == TensorType::INT32
                  : site.options<circle::FullyConnectedOptions>().quantized_bias_type() == TensorType::INT32)
    return fullyConnected<int16_t, int8_t, int16_t, int32_t, int32_t>(site);
  return fullyConnected<int16_t, int8_t, int16_t, int64_t, int64_t>(site);
}

} // namespace

llvm::ArrayRef<FastRow> fastIntegerMatMul() {
  static const FastRow rows[] = {{BuiltinOperator::FULLY_CONNECTED, fullyConnected},
                                 {BuiltinOperator::BATCH_MATMUL, batchMatMul}};
  return rows;
}

} // namespace origo::eval
