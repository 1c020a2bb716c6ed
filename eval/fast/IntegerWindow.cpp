#include "eval/Shapes.h"
#include "eval/fast/Parallel.h"
#include "eval/fast/Xnnpack.h"

/// Pooling of 8 and 16 bit numbers that XNNPACK has not.
namespace origo::eval {

namespace {

/// T: elements. Add: of some channels, so that they are added up side by side.
template <class T, class Start, class Add, class End>
void pool(const Tensor &in, Tensor &out, const circle::Pool2DOptions &options, pthreadpool_t threads, Start start,
          Add add, End end) {
  int64_t height = in.dim(1), width = in.dim(2), depth = in.dim(3), rows = out.dim(1), columns = out.dim(2);
  int64_t above = paddingBefore(height, rows, options.filter_height(), options.stride_h());
  int64_t before = paddingBefore(width, columns, options.filter_width(), options.stride_w());
  parallelFor(threads, static_cast<size_t>(out.dim(0) * rows), 1, [&](size_t row, size_t) {
    int64_t oy = static_cast<int64_t>(row) % rows, batch = static_cast<int64_t>(row) / rows;
    const T *image = dataOf<T>(in) + batch * height * width * depth;
    T *to = dataOf<T>(out) + static_cast<int64_t>(row) * columns * depth;
    int64_t top = oy * options.stride_h() - above;
    int64_t y0 = std::max<int64_t>(top, 0), y1 = std::min(top + options.filter_height(), height);
    for (int64_t ox = 0; ox < columns; ++ox) {
      int64_t left = ox * options.stride_w() - before;
      int64_t x0 = std::max<int64_t>(left, 0), x1 = std::min(left + options.filter_width(), width);
      int64_t count = std::max<int64_t>(0, y1 - y0) * std::max<int64_t>(0, x1 - x0);
      constexpr int64_t some = 16;
      for (int64_t first = 0; first < depth; first += some) {
        int64_t channels = std::min(some, depth - first);
        std::array<int32_t, some> sums;
        sums.fill(start);
        for (int64_t y = y0; y < y1; ++y)
          for (int64_t x = x0; x < x1; ++x) {
            const T *pixel = image + (y * width + x) * depth + first;
            if (channels == some)
              for (size_t c = 0; c < some; ++c)
                sums[c] = add(sums[c], pixel[c]);
            else
              for (size_t c = 0; c < static_cast<size_t>(channels); ++c)
                sums[c] = add(sums[c], pixel[c]);
          }
        for (int64_t c = 0; c < channels; ++c)
          *to++ = end(sums[static_cast<size_t>(c)], static_cast<int32_t>(count));
      }
    }
  });
}

template <class T> std::unique_ptr<FastKernel> pool(const FastSite &site) {
  const auto &options = site.options<circle::Pool2DOptions>();
  if (!sameQuantization(site.op.operand(0)->quantization, site.op.result()->quantization))
    return nullptr; // to be rescaled
  // Sums of so many have 32 bits.
  if (options.filter_height() <= 0 || options.filter_width() <= 0 || options.stride_h() <= 0 ||
      options.stride_w() <= 0 || int64_t(options.filter_height()) * options.filter_width() > 1 << 15)
    return nullptr;
  auto [low, high] = quantizedActivationRange<T>(options.fused_activation_function(), site.output());
  bool average = site.op.code == BuiltinOperator::AVERAGE_POOL_2D;
  return fastKernel([=, low = low, high = high, options = &options](Operands in, Operands out, pthreadpool_t threads) {
    if (in[0]->rank() != 4 || in[0]->count() == 0 || out[0]->count() == 0)
      return false;
    if (average)
      pool<T>(
          *in[0], *out[0], *options, threads, 0, [](int32_t sum, T x) { return sum + x; },
          [=](int32_t sum, int32_t count) {
            int32_t rounded = count == 0 ? 0 : (sum > 0 ? sum + count / 2 : sum - count / 2) / count;
            return static_cast<T>(std::clamp(rounded, low, high));
          });
    else
      pool<T>(
          *in[0], *out[0], *options, threads, std::numeric_limits<T>::lowest(),
          [](int32_t most, T x) { return std::max<int32_t>(most, x); },
          [=](int32_t most, int32_t) { return static_cast<T>(std::clamp(most, low, high)); });
    return true;
  });
}

std::unique_ptr<FastKernel> integerPool(const FastSite &site) {
  switch (site.type(0)) {
  case TensorType::INT8:
    return pool<int8_t>(site);
  case TensorType::UINT8:
    return pool<uint8_t>(site);
  case TensorType::INT16:
    return pool<int16_t>(site);
  default:
    return nullptr;
  }
}

} // namespace

llvm::ArrayRef<FastRow> fastIntegerWindow() {
  static const FastRow rows[] = {{BuiltinOperator::AVERAGE_POOL_2D, integerPool},
                                 {BuiltinOperator::MAX_POOL_2D, integerPool}};
  return rows;
}

} // namespace origo::eval
