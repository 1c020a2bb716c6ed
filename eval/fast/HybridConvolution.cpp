#include "eval/fast/FloatWindows.h"
#include "eval/fast/HybridRows.h"
#include "eval/fast/Parallel.h"

/// CONV_2D and DEPTHWISE_CONV_2D of floats with weights of 8 or 4 bits: products of bytes where there are such. Else a
/// convolution of floats that are integers, which is exact as long as sums are below 2^24, and rounds as floats do
/// beyond: our own where there is one, for XNNPACK's keeps nine pointers or more for each pixel.
namespace origo::eval {

namespace {

class HybridConvolution : public FastKernel {
public:
  HybridConvolution(const FastSite &site, const Conv &conv, std::pair<float, float> range)
      : clamp(range), depth(static_cast<int32_t>(conv.groups * conv.groupIn)),
        channels(static_cast<int64_t>(conv.groups * conv.groupOut)), height(conv.filter->dim(1)),
        width(conv.filter->dim(2)), padding(conv.padding),
        asymmetric(convolvesAsymmetrically(conv.depthwise, *conv.filter)) {
    if ((bytes = hybridProducts(conv, range)))
      return;
    for (int64_t c = 0; c < channels; ++c)
      scales.push_back(conv.filter->scaleOf(static_cast<size_t>(c)));
    bias.assign(static_cast<size_t>(channels), 0);
    if (conv.bias)
      std::copy_n(dataOf<float>(*conv.bias), channels, bias.begin());
    auto narrow = weightsOf<int8_t>(*conv.filter);
    std::vector<float> weights;
    for (int64_t i = 0; i < conv.filter->count(); ++i)
      weights.push_back(narrow[i]);
    Tensor filter = *conv.filter;
    filter.storage = {reinterpret_cast<uint8_t *>(weights.data()), weights.size() * sizeof(float)};
    Conv plain = conv;
    plain.filter = &filter;
    plain.bias = nullptr;
    constexpr float infinity = std::numeric_limits<float>::infinity();
    std::pair all(-infinity, infinity);
    own = conv.depthwise ? floatDepthwise(plain, all) : floatConvolution(plain, all);
    if (!own)
      op = createConv<float, float>(xnn_create_convolution2d_nhwc_f32, plain, all, std::tuple<>(), std::tuple<>());
  }

  bool run(Operands in, Operands out, pthreadpool_t threads) override {
    const Tensor &x = *in[0];
    if ((!bytes && !own && !op) || x.rank() != 4 || x.dim(3) != depth || out[0]->count() == 0 || x.count() == 0)
      return false;
    if (bytes)
      return runBytes(x, *out[0], threads);
    if (op && (!padding.fits(x) || !fitsPointers(*out[0], height, width)))
      return false;
    quantize(x, numbers, threads);
    if (own) {
      image.shape = x.shape;
      image.storage = {reinterpret_cast<uint8_t *>(numbers.data()), x.storage.size()};
      Tensor *images[] = {&image};
      if (!own->run(images, out, threads))
        return false;
    } else if (xnn_setup_convolution2d_nhwc_f32(op.get(), static_cast<size_t>(x.dim(0)), static_cast<size_t>(x.dim(1)),
                                                static_cast<size_t>(x.dim(2)), numbers.data(), dataOf<float>(*out[0]),
                                                threads) != xnn_status_success ||
               xnn_run_operator(op.get(), threads) != xnn_status_success) {
      return false;
    }
    int64_t pixels = out[0]->count() / channels, perPicture = pixels / x.dim(0);
    parallelFor(threads, static_cast<size_t>(pixels), 256, [&](size_t first, size_t count) {
      float *y = dataOf<float>(*out[0]) + static_cast<int64_t>(first) * channels;
      for (size_t pixel = first; pixel < first + count; ++pixel, y += channels)
        finish(y, pictures[pixel / static_cast<size_t>(perPicture)].scale);
    });
    return true;
  }

private:
  static constexpr size_t piece = 1 << 14;

  bool runBytes(const Tensor &x, Tensor &y, pthreadpool_t threads) {
    quantize(x, byteNumbers, threads);
    int64_t ofX = x.count() / x.dim(0), ofY = y.count() / x.dim(0);
    for (size_t picture = 0; picture < pictures.size(); ++picture) {
      auto at = static_cast<int64_t>(picture);
      if (!bytes->run(x, y, byteNumbers.data() + at * ofX, pictures[picture], dataOf<float>(y) + at * ofY, threads))
        return false;
    }
    return true;
  }

  /// Each picture by its own range.
  template <class T> void quantize(const Tensor &x, std::vector<T> &numbers, pthreadpool_t threads) {
    size_t count = static_cast<size_t>(x.count()) / static_cast<size_t>(x.dim(0));
    size_t pieces = (count + piece - 1) / piece;
    numbers.resize(static_cast<size_t>(x.count()) + XNN_EXTRA_BYTES / sizeof(T));
    ranges.resize(pieces);
    pictures.resize(static_cast<size_t>(x.dim(0)));
    for (size_t picture = 0; picture < pictures.size(); ++picture) {
      const float *from = dataOf<float>(x) + picture * count;
      T *to = numbers.data() + picture * count;
      parallelFor(threads, count, piece, [&](size_t first, size_t length) {
        ranges[first / piece] = rangeWithZero(from + first, static_cast<int64_t>(length));
      });
      auto [least, most] = ranges.front();
      for (auto [low, high] : ranges) {
        least = std::min(least, low);
        most = std::max(most, high);
      }
      HybridScale by = pictures[picture] = HybridScale::of(least, most, asymmetric);
      parallelFor(threads, count, piece, [&](size_t first, size_t length) {
        quantizeHybrid(from + first, static_cast<int64_t>(length), by, to + first);
      });
    }
  }

  void finish(float *y, float scale) const {
    for (int64_t c = 0; c < channels; ++c) {
      float real = y[c] * scales[c] * scale + bias[c];
      y[c] = std::min(std::max(real, clamp.first), clamp.second);
    }
  }

  std::unique_ptr<HybridProducts> bytes;
  std::unique_ptr<FastKernel> own; ///< where there are no `bytes`
  XnnOperator op;                  ///< where there is no `own`
  Tensor image;                    ///< `numbers`, in the input's shape
  std::pair<float, float> clamp;
  int32_t depth;
  int64_t channels, height, width;
  XnnPadding padding;
  bool asymmetric;
  std::vector<float> scales, bias, numbers;
  std::vector<int8_t> byteNumbers;
  std::vector<std::pair<float, float>> ranges;
  std::vector<HybridScale> pictures;
};

std::unique_ptr<FastKernel> hybrid(const FastSite &site) {
  TensorType weights = site.type(1);
  if (site.type(0) != TensorType::FLOAT32 || (weights != TensorType::INT8 && weights != TensorType::INT4))
    return nullptr;
  std::optional<Conv> conv = convOf(site);
  auto range = conv ? clampRange<float>(conv->activation, site.output()) : std::nullopt;
  if (!range || !conv->filter->quantization || conv->filter->quantization->scale.empty())
    return nullptr;
  size_t scales = conv->filter->quantization->scale.size();
  if (scales != 1 && scales != conv->groups * conv->groupOut)
    return nullptr;
  return std::make_unique<HybridConvolution>(site, *conv, *range);
}

} // namespace

llvm::ArrayRef<FastRow> fastHybridConvolution() {
  static const FastRow rows[] = {{BuiltinOperator::CONV_2D, hybrid}, {BuiltinOperator::DEPTHWISE_CONV_2D, hybrid}};
  return rows;
}

} // namespace origo::eval
