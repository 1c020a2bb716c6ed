#include "eval/Shapes.h"
#include "eval/fast/HybridRows.h"
#include "eval/fast/IntegerRows.h"
#include "eval/kernels/BlockScales.h"

/// FULLY_CONNECTED and BATCH_MATMUL of floats with weights of 8 or 4 bits.
namespace origo::eval {

namespace {

class HybridFullyConnected : public FastKernel {
public:
  HybridFullyConnected(const Tensor &filter, bool asymmetric, std::pair<float, float> clamp,
                       std::vector<float> scalesOfBlocks)
      : clamp(clamp), units(filter.dim(0)), depth(filter.dim(1)), asymmetric(asymmetric),
        scales(std::move(scalesOfBlocks)), blockwise(!scales.empty()) {
    auto narrow = weightsOf<int8_t>(filter);
    int64_t blocks = blockwise ? static_cast<int64_t>(scales.size()) / units : 1, size = depth / blocks;
    weights.pack(units, blocks, size,
                 [&](int64_t unit, int64_t block, int64_t k) { return narrow[unit * depth + block * size + k]; });
    if (!blockwise)
      for (int64_t unit = 0; unit < units; ++unit)
        scales.push_back(filter.scaleOf(static_cast<size_t>(unit)));
  }

  bool run(Operands in, Operands out, pthreadpool_t threads) override {
    const Tensor &x = *in[0], *bias = in.size() > 2 ? in[2] : nullptr;
    if (x.count() == 0 || x.count() % depth || (bias && bias->count() != units))
      return false;
    int64_t batches = x.count() / depth;
    int16_t *numbers = rows.reserve(x.count());
    rowScales.resize(static_cast<size_t>(batches));
    const float *values = dataOf<float>(x);
    parallelFor(threads, static_cast<size_t>(batches), 1, [&](size_t row, size_t) {
      int64_t at = static_cast<int64_t>(row) * depth;
      auto [least, most] = rangeWithZero(values + at, depth);
      HybridScale by = HybridScale::of(least, most, asymmetric);
      quantizeHybrid(values + at, depth, by, numbers + at);
      rowScales[row] = by.scale;
    });
    const float *added = bias ? dataOf<float>(*bias) : nullptr;
    float *y = dataOf<float>(*out[0]);
    auto clamped = [&](float real) { return std::min(std::max(real, clamp.first), clamp.second); };
    if (blockwise)
      multiplyBlocks(numbers, batches, threads, [&](int64_t row, int64_t unit, float sum) {
        y[row * units + unit] = clamped(sum * rowScales[static_cast<size_t>(row)] + (added ? added[unit] : 0));
      });
    else
      multiply<int32_t>(
          weights, batches, threads, [=, this](int64_t row, int64_t) { return numbers + row * depth; },
          [&](int64_t row, int64_t first, const auto &sums) {
            float scale = rowScales[static_cast<size_t>(row)];
            for (int64_t unit = first; unit < std::min(first + PackedMatrix::width, units); ++unit) {
              float real = static_cast<float>(sums[static_cast<size_t>(unit - first)]) *
                           (scale * scales[static_cast<size_t>(unit)]);
              y[row * units + unit] = clamped((added ? added[unit] : 0) + real);
            }
          });
    return true;
  }

private:
  /// Each block's sum is scaled by itself.
  template <class End>
  void multiplyBlocks(const int16_t *numbers, int64_t batches, pthreadpool_t threads, const End &end) const {
    forTiles(weights, batches, threads, [&](int64_t row, int64_t count, int64_t stripe) {
      int64_t first = stripe * PackedMatrix::width, columns = weights.columnsOf(stripe);
      Sums<float> reals = {};
      for (int64_t block = 0; block < weights.runs; ++block) {
        const int16_t *left[maxRows];
        for (int64_t r = 0; r < count; ++r)
          left[r] = numbers + (row + r) * depth + block * weights.depth;
        Sums<int32_t> sums = {};
        addProducts(left, count, weights.stripe(stripe, block), weights.pairs(), sums);
        for (int64_t r = 0; r < count; ++r)
          for (int64_t c = 0; c < columns; ++c)
            reals[r][c] += static_cast<float>(sums[r][c]) * scales[(first + c) * weights.runs + block];
      }
      for (int64_t r = 0; r < count; ++r)
        for (int64_t c = 0; c < columns; ++c)
          end(row + r, first + c, reals[r][c]);
    });
  }

  std::pair<float, float> clamp;
  int64_t units, depth;
  bool asymmetric;
  std::vector<float> scales;
  bool blockwise;
  PackedMatrix weights;
  IntegerRows rows;
  std::vector<float> rowScales;
};

std::unique_ptr<FastKernel> hybrid(const FastSite &site) {
  const auto &options = site.options<circle::FullyConnectedOptions>();
  const Tensor *weights = site.constant(1);
  auto range = clampRange<float>(options.fused_activation_function(), site.output());
  if (site.type(0) != TensorType::FLOAT32 || !weights || weights->rank() != 2 || weights->count() == 0 || !range ||
      (weights->type != TensorType::INT8 && weights->type != TensorType::INT4 && weights->type != TensorType::UINT8) ||
      options.weights_format() != circle::FullyConnectedOptionsWeightsFormat::DEFAULT)
    return nullptr;
  auto blocks = blockScales(site, *weights);
  if (!blocks) {
    llvm::consumeError(blocks.takeError());
    return nullptr;
  }
  // As the reference kernel: scales for blocks and, without them, weights of 4 bits leave no choice.
  bool asymmetric = !blocks->empty() || (options.asymmetric_quantize_inputs() && weights->type != TensorType::INT4);
  return std::make_unique<HybridFullyConnected>(*weights, asymmetric, *range, std::move(*blocks));
}

class HybridBatchMatMul : public FastKernel {
public:
  HybridBatchMatMul(const FastSite &site, const circle::BatchMatMulOptions &options)
      : right(site, options.adjoint_rhs(), wholeNumber), transposed(options.adjoint_lhs()),
        asymmetric(options.asymmetric_quantize_inputs()) {}

  bool run(Operands in, Operands out, pthreadpool_t threads) override {
    const Tensor &x = *in[0], &y = *in[1];
    if (x.rank() < 2 || y.rank() < 2 || out[0]->count() == 0)
      return false;
    Stack a(x, transposed), b(y, right.transposed);
    int64_t rows = a.rows, depth = a.columns, columns = b.columns;
    if (depth == 0 || b.rows != depth ||
        (y.perChannel() && y.quantization->scale.size() != static_cast<size_t>(columns)))
      return false;
    llvm::ArrayRef<int32_t> shape = out[0]->shape;
    float *result = dataOf<float>(*out[0]);
    values.resize(static_cast<size_t>(depth));
    scales.resize(static_cast<size_t>(rows));
    for (Broadcast batch(shape.drop_back(2),
                         {llvm::ArrayRef(x.shape).drop_back(2), llvm::ArrayRef(y.shape).drop_back(2)});
         !batch.done(); batch.next(), result += rows * columns) {
      const float *from = dataOf<float>(x) + batch.index(0) * rows * depth;
      int16_t *left = numbers.reserve(rows * depth);
      for (int64_t row = 0; row < rows; ++row) {
        const float *elements = from + row * depth;
        if (transposed) {
          for (int64_t k = 0; k < depth; ++k)
            values[static_cast<size_t>(k)] = from[row * a.rowStep + k * a.columnStep];
          elements = values.data();
        }
        auto [least, most] = rangeWithZero(elements, depth);
        HybridScale by = HybridScale::of(least, most, asymmetric);
        quantizeHybrid(elements, depth, by, left + row * depth);
        scales[static_cast<size_t>(row)] = by.scale;
      }
      multiply<int32_t>(
          right.packed(y, batch.index(1)), rows, threads, [=](int64_t row, int64_t) { return left + row * depth; },
          [&](int64_t row, int64_t first, const auto &sums) {
            for (int64_t column = first; column < std::min(first + PackedMatrix::width, columns); ++column)
              result[row * columns + column] =
                  static_cast<float>(sums[static_cast<size_t>(column - first)]) *
                  (scales[static_cast<size_t>(row)] * y.scaleOf(static_cast<size_t>(column)));
          });
    }
    return true;
  }

private:
  RightMatrix<int8_t> right;
  bool transposed, asymmetric;
  std::vector<float> values, scales;
  IntegerRows numbers;
};

std::unique_ptr<FastKernel> hybridBatchMatMul(const FastSite &site) {
  const Tensor &y = site.input(1);
  if (site.type(0) != TensorType::FLOAT32 || site.type(1) != TensorType::INT8 || !y.quantization ||
      y.quantization->scale.empty())
    return nullptr;
  return std::make_unique<HybridBatchMatMul>(site, site.options<circle::BatchMatMulOptions>());
}

} // namespace

llvm::ArrayRef<FastRow> fastHybridMatMul() {
  static const FastRow rows[] = {{BuiltinOperator::FULLY_CONNECTED, hybrid},
                                 {BuiltinOperator::BATCH_MATMUL, hybridBatchMatMul}};
  return rows;
}

} // namespace origo::eval
