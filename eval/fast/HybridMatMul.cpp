#include "eval/fast/HybridRows.h"
#include "eval/fast/IntegerRows.h"
#include "eval/kernels/BlockScales.h"

/// FULLY_CONNECTED of floats with weights of 8 or 4 bits.
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
  if (blocks->empty())
    if (llvm::Error error = wantFilterScales(site, *weights, weights->dim(0))) {
      llvm::consumeError(std::move(error));
      return nullptr;
    }
  // As the reference kernel: beside weights of 4 bits with no scales for blocks the option is ignored.
  bool asymmetric = options.asymmetric_quantize_inputs() && (!blocks->empty() || weights->type != TensorType::INT4);
  return std::make_unique<HybridFullyConnected>(*weights, asymmetric, *range, std::move(*blocks));
}

} // namespace

llvm::ArrayRef<FastRow> fastHybridMatMul() {
  static const FastRow rows[] = {{BuiltinOperator::FULLY_CONNECTED, hybrid}};
  return rows;
}

} // namespace origo::eval
