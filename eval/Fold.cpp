#include "eval/Fold.h"

#include "eval/Boxes.h"
#include "eval/Dense.h"
#include "eval/Numbers.h"
#include "eval/fast/Processor.h"
#include "ir/shapes/Rules.h"
#include "schema/TensorTypes.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace origo::eval {

namespace {

uint64_t sizeOf(const Value &value) { return *bitsPerElement(value.type) / 8; }

bool hasChannels(const Value *value) { return value->quantization && value->quantization->scale.size() > 1; }

/// An operator whose result has its shape and its place.
class BoxContext : public KernelContext {
public:
  using KernelContext::KernelContext;

protected:
  llvm::Expected<llvm::MutableArrayRef<uint8_t>> allocate(unsigned, llvm::ArrayRef<int32_t>, uint64_t) override {
    return fail("its result has a place");
  }
};

/// The scales of a box, of a tensor that has several.
struct BoxScales {
  llvm::SmallVector<float> scale;
  llvm::SmallVector<int64_t> zeroPoint;
  Quantization quantization;

  BoxScales(const Tensor &whole, const Box &box) : quantization(*whole.quantization) {
    int32_t axis = quantization.dimension;
    for (int32_t i = 0; i < box.shape[axis]; ++i) {
      scale.push_back(whole.scaleOf(box.origin[axis] + i));
      zeroPoint.push_back(whole.zeroPointOf(box.origin[axis] + i));
    }
    isLone = scale.size() == 1;
    if (isLone) {
      scale.append(1, float(scale[0]));
      zeroPoint.append(1, int64_t(zeroPoint[0]));
      quantization.dimension = 0;
    }
    quantization.scale = scale;
    quantization.zeroPoint = zeroPoint;
  }
  /// One channel is computed twice: kernels multiply a single scale in another precision than one of several.
  bool isLone;
};

} // namespace

bool ElementwiseFold::canFold(const Operator &op) {
  const OperatorInfo *info = op.info();
  if (!info || !info->has(Trait::Elementwise) || info->has(Trait::ShapeQuery) || op.results().size() != 1 ||
      !op.result() || bitsPerElement(op.result()->type).value_or(1) % 8 || !findKernel(op))
    return false;
  const Value &result = *op.result();
  std::optional<inference::Shape> shape = inference::Shape();
  for (unsigned i = 0; i < op.numOperands(); ++i) {
    const Value *value = op.operand(i);
    if (!value)
      continue;
    if (!isDense(value) || !bitsPerElement(value->type) || !shape) // strings have no size
      return false;
    shape = inference::broadcast(*shape, value->shape);
  }
  if (!shape || result.shape != *shape)
    return false;
  // Not all kernels that go element by element stretch operands.
  if (auto fits = inferResults(op); !fits) {
    llvm::consumeError(fits.takeError());
    return false;
  }
  // Other kernels do not look at several scales.
  auto fits = [](const Value *value) {
    const Quantization &q = *value->quantization;
    return q.dimension >= 0 && q.dimension < value->rank() &&
           value->shape[q.dimension] == static_cast<int32_t>(q.scale.size());
  };
  bool reads = op.code == BuiltinOperator::DEQUANTIZE;
  bool writes = op.code == BuiltinOperator::QUANTIZE && op.operand(0)->type == TensorType::FLOAT32;
  if (hasChannels(&result) && (!writes || !fits(&result)))
    return false;
  for (unsigned i = 0; i < op.numOperands(); ++i)
    if (const Value *value = op.operand(i); value && hasChannels(value) && (!reads || !fits(value)))
      return false;
  return true;
}

ElementwiseFold::ElementwiseFold(const Operator &original)
    : detached(original), op(detached.get()), kernel(*findKernel(op)), size(sizeOf(*op.result())) {
  for (unsigned i = 0; i < op.numOperands(); ++i)
    windowCost += op.operand(i) ? op.operand(i)->payload().cost() : 0;
}

llvm::Expected<bool> ElementwiseFold::runBox(const Box &box, llvm::MutableArrayRef<uint8_t> to, See see) const {
  BoxContext context(op);
  llvm::SmallVector<Tensor, 3> operands(op.numOperands());
  llvm::SmallVector<std::vector<uint8_t>, 3> copies(op.numOperands());
  for (unsigned i = 0; i < op.numOperands(); ++i) {
    const Value *value = op.operand(i);
    Tensor &tensor = operands[i];
    context.inputs.push_back(value ? &tensor : nullptr);
    if (!value)
      continue;
    tensor.type = value->type;
    tensor.quantization = value->quantization;
    tensor.value = value;
    OperandBox part(value->shape, box);
    tensor.shape = std::move(part.shape);
    const Payload &payload = value->payload();
    uint64_t width = sizeOf(*value), offset = part.first * width, bytes = tensor.count() * width;
    if (payload.cost() == 0)
      tensor.storage = {const_cast<uint8_t *>(payload.bytes().data()) + offset, static_cast<size_t>(bytes)};
    if (payload.cost() != 0 || reinterpret_cast<uintptr_t>(tensor.storage.data()) % width) {
      copies[i].resize(bytes);
      payload.read(offset, copies[i]);
      tensor.storage = copies[i];
    }
  }
  Tensor output;
  output.type = op.result()->type;
  output.quantization = op.result()->quantization;
  output.value = op.result();
  output.shape.assign(box.shape.begin(), box.shape.end());
  output.storage = to;
  context.outputs.push_back(&output);

  auto run = [&]() -> llvm::Expected<bool> {
    if (llvm::Error error = kernel.compute(context))
      return error;
    return see(context);
  };
  Tensor &x = operands[0];
  Tensor *channels = output.perChannel() ? &output : x.perChannel() ? &x : nullptr;
  if (!channels)
    return run();
  BoxScales scales(*channels, box);
  channels->quantization = &scales.quantization;
  if (!scales.isLone)
    return run();
  std::vector<uint8_t> twice(x.bytes()), results(2 * to.size());
  twice.insert(twice.end(), x.storage.begin(), x.storage.end());
  x.storage = twice;
  x.shape = output.shape = {2, static_cast<int32_t>(box.count)};
  output.storage = results;
  auto more = run();
  std::copy_n(results.begin(), to.size(), to.begin());
  return more;
}

llvm::Expected<bool> ElementwiseFold::compute(int64_t first, int64_t count, uint8_t *to, See see) const {
  llvm::Expected<bool> more = true;
  forEachBox(op.result()->shape, first, count, [&](const Box &box) {
    if (!more || !*more)
      return;
    more = runBox(box, {to, static_cast<size_t>(box.count) * size}, see);
    to += box.count * size;
  });
  return more;
}

llvm::Expected<bool> ElementwiseFold::look(int64_t count, See see) const {
  constexpr int64_t block = 1 << 16;
  std::vector<uint8_t> bytes(std::min(count, block) * size);
  llvm::Expected<bool> more = true;
  for (int64_t first = 0; first < count && more && *more; first += block)
    more = compute(first, std::min(count - first, block), bytes.data(), see);
  return more;
}

void ElementwiseFold::fill(uint64_t offset, llvm::MutableArrayRef<uint8_t> window) const {
  constexpr uint64_t most = 256 << 10; // fits the caches with the operands, of which there may be copies
  forEachBlock(offset, window, size, most, [&](int64_t first, int64_t count, uint8_t *to) {
    // Who made the fold has seen that the kernel takes these operands, and these numbers where it is particular.
    llvm::cantFail(compute(first, count, to, [](const KernelContext &) { return true; }));
  });
}

void ViewFold::fill(uint64_t offset, llvm::MutableArrayRef<uint8_t> window) const {
  const uint8_t *from = elements.bytes().data();
  forEachBlock(offset, window, size, window.size(), [&](int64_t first, int64_t count, uint8_t *to) {
    forEachBox(view.walk, first, count, [&](const Box &box) {
      int64_t at = view.offset;
      for (size_t d = 0; d < view.steps.size(); ++d)
        at += box.origin[d] * view.steps[d];
      copyStrided(from, at, view.steps, box.shape, static_cast<int64_t>(size), to);
      to += box.count * size;
    });
  });
}

bool ViewFold::isPiece(const View &view) {
  int64_t step = 1;
  for (size_t d = view.walk.size(); d-- > 0; step *= view.walk[d])
    if (view.walk[d] != 1 && view.steps[d] != step)
      return false;
  return true;
}

/// While a model is rewritten (quantize/Blocks.h).
static bool isByBlock(const Quantization &q) {
  return q.details == Quantization::Details::Blockwise && !q.more->scales && q.more->blockSize > 0;
}

bool QuantizeFold::canFold(const Operator &op) {
  bool isCast = op.code == BuiltinOperator::CAST;
  if ((op.code != BuiltinOperator::QUANTIZE && !isCast) || op.numOperands() != 1 || !op.result() ||
      !isDense(op.operand(0)))
    return false;
  const Value &x = *op.operand(0), &result = *op.result();
  const Quantization *q = result.quantization;
  if (isCast)
    return x.type == TensorType::FLOAT32 && result.type == TensorType::FLOAT16 &&
           llvm::ArrayRef<int32_t>(x.shape) == llvm::ArrayRef<int32_t>(result.shape);
  if (x.type != TensorType::FLOAT32 || !q || q->scale.empty() ||
      (q->details != Quantization::Details::None && !isByBlock(*q)) || !isInteger(result.type) ||
      llvm::ArrayRef<int32_t>(x.shape) != llvm::ArrayRef<int32_t>(result.shape))
    return false;
  bool fits = isByBlock(*q) ? x.rank() > 0 && x.shape.back() % q->more->blockSize == 0 &&
                                  x.elementCount() == q->scale.size() * static_cast<uint64_t>(q->more->blockSize)
                            : q->scale.size() == 1 || (q->dimension >= 0 && q->dimension < x.rank() &&
                                                       x.shape[q->dimension] == static_cast<int32_t>(q->scale.size()));
  return fits && (q->zeroPoint.empty() || q->zeroPoint.size() == q->scale.size()) &&
         llvm::all_of(q->scale, [](float scale) { return std::isfinite(scale) && scale > 0; });
}

bool QuantizeFold::isInteger(TensorType type) {
  switch (type) {
  case TensorType::INT4:
  case TensorType::INT8:
  case TensorType::UINT8:
  case TensorType::INT16:
  case TensorType::INT32:
  case TensorType::INT64:
    return true;
  default:
    return false;
  }
}

QuantizeFold::QuantizeFold(const Operator &op)
    : numbers(op.operand(0)->payload()), type(op.result()->type), count(numbers.size() / sizeof(float)) {
  if (type == TensorType::FLOAT16) {
    scale = {1};
    zeroPoint = {0};
    return;
  }
  const Quantization &q = *op.result()->quantization;
  if (isByBlock(q) && q.zeroPoint.empty()) {
    blockScales = q.scale;
    inner = static_cast<uint64_t>(q.more->blockSize);
    return;
  }
  scale.assign(q.scale.begin(), q.scale.end());
  zeroPoint.assign(q.zeroPoint.begin(), q.zeroPoint.end());
  zeroPoint.resize(scale.size());
  if (isByBlock(q))
    inner = static_cast<uint64_t>(q.more->blockSize);
  else if (scale.size() > 1)
    inner = static_cast<uint64_t>(product(op.operand(0)->shape, q.dimension + 1, op.operand(0)->rank()));
}

uint64_t QuantizeFold::size() const { return *payloadBytes(type, count); }

// What most weights become.

static void plainToInt8(const float *numbers, size_t count, double scale, int32_t zero, uint8_t *to) {
  for (size_t i = 0; i < count; ++i) {
    double steps = numbers[i] / scale;
    steps = std::isnan(steps) ? 0 : std::min(std::max(steps, -65536.), 65536.);
    auto whole = static_cast<int32_t>(steps);
    double rest = steps - whole;
    whole += (rest >= 0.5) - (rest <= -0.5);
    to[i] = static_cast<uint8_t>(std::min(std::max(whole + zero, -128), 127));
  }
}

#ifdef __x86_64__
/// The same in vectors, which compilers do not see: two kinds of comparisons and three widths.
ORIGO_AVX2 static __m128i avx2ToWhole(const float *numbers, __m256d scale) {
  __m256d steps = _mm256_div_pd(_mm256_cvtps_pd(_mm_loadu_ps(numbers)), scale);
  steps = _mm256_and_pd(steps, _mm256_cmp_pd(steps, steps, _CMP_ORD_Q)); // 0 for NaN
  steps = _mm256_min_pd(_mm256_max_pd(steps, _mm256_set1_pd(-65536)), _mm256_set1_pd(65536));
  __m256d whole = _mm256_round_pd(steps, _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC), rest = _mm256_sub_pd(steps, whole);
  __m256d one = _mm256_set1_pd(1), half = _mm256_set1_pd(0.5), minusHalf = _mm256_set1_pd(-0.5);
  whole = _mm256_add_pd(whole, _mm256_and_pd(one, _mm256_cmp_pd(rest, half, _CMP_GE_OQ)));
  whole = _mm256_sub_pd(whole, _mm256_and_pd(one, _mm256_cmp_pd(rest, minusHalf, _CMP_LE_OQ)));
  return _mm256_cvttpd_epi32(whole);
}

ORIGO_AVX2 static void avx2ToInt8(const float *numbers, size_t count, double scale, int32_t zero, uint8_t *to) {
  const __m256d divisor = _mm256_set1_pd(scale);
  const __m128i offset = _mm_set1_epi32(zero);
  size_t i = 0;
  for (; i + 16 <= count; i += 16) {
    __m128i part[4];
    for (size_t k = 0; k < 4; ++k)
      part[k] = _mm_add_epi32(avx2ToWhole(numbers + i + 4 * k, divisor), offset);
    __m128i low = _mm_packs_epi32(part[0], part[1]), high = _mm_packs_epi32(part[2], part[3]);
    _mm_storeu_si128(reinterpret_cast<__m128i *>(to + i), _mm_packs_epi16(low, high)); // packing clamps
  }
  plainToInt8(numbers + i, count - i, scale, zero, to + i);
}
#else
static constexpr auto avx2ToInt8 = plainToInt8;
#endif

static void roundToInt8(llvm::ArrayRef<float> numbers, double scale, int32_t zero, uint8_t *to) {
  using Function = void (*)(const float *, size_t, double, int32_t, uint8_t *);
  static const Function function = forThisProcessor<Function>(plainToInt8, avx2ToInt8, avx2ToInt8);
  function(numbers.data(), numbers.size(), scale, zero, to);
}

void QuantizeFold::fill(uint64_t offset, llvm::MutableArrayRef<uint8_t> window) const {
  unsigned bits = *bitsPerElement(type);
  bool isUnsigned = type == TensorType::UINT8;
  double low = isUnsigned ? 0 : -std::ldexp(1., static_cast<int>(bits) - 1);
  double high = low + std::ldexp(1., static_cast<int>(bits)) - 1;
  std::vector<float> block(1 << 14); // a multiple of what a byte holds
  uint8_t *to = window.data();
  uint64_t skip = bits == 4 ? 0 : offset % (bits / 8); // a window may begin inside of an element
  for (uint64_t at = bits == 4 ? offset * 2 : offset / (bits / 8); at < count && to != window.end();) {
    uint64_t some = std::min<uint64_t>(block.size(), count - at);
    numbers.read(at * sizeof(float), {reinterpret_cast<uint8_t *>(block.data()), some * sizeof(float)});
    if (type == TensorType::INT8) {
      some = std::min<uint64_t>(some, window.end() - to);
      for (uint64_t i = 0, run; i < some; i += run, to += run) {
        run = scale.size() == 1 ? some : std::min(some - i, inner - (at + i) % inner);
        size_t channel = channelOf(at + i);
        auto zero = static_cast<int32_t>(std::clamp(zeroPointAt(channel), -65536., 65536.));
        roundToInt8(llvm::ArrayRef<float>(block).slice(i, run), scaleAt(channel), zero, to);
      }
      at += some;
      continue;
    }
    for (uint64_t i = 0; i < some && to != window.end(); ++i) {
      if (type == TensorType::FLOAT16) {
        uint16_t half = floatToHalf(block[i]);
        uint64_t room = std::min<uint64_t>(2 - skip, window.end() - to);
        std::memcpy(to, reinterpret_cast<const uint8_t *>(&half) + skip, room);
        to += room;
        skip = 0;
        continue;
      }
      size_t channel = channelOf(at + i);
      double scaled = std::round(block[i] / scaleAt(channel));
      if (isUnsigned && scale.size() > 1) {
        // Only ONE's quantiser makes these. It counts from the lowest number, in single precision, which decides ties.
        double zero = static_cast<double>(zeroPoint[channel]), step = scale[channel];
        auto lowest = static_cast<float>(-zero * step), highest = static_cast<float>((255 - zero) * step);
        float above = std::min(std::max(block[i], lowest), highest) - lowest;
        scaled = std::round(above * static_cast<float>(1 / step)) - zero;
      }
      double rounded = std::clamp((std::isnan(scaled) ? 0 : scaled) + zeroPointAt(channel), low, high);
      // 2⁶³ is no integer of 64 bits.
      int64_t number = rounded >= 0x1p63 ? std::numeric_limits<int64_t>::max() : static_cast<int64_t>(rounded);
      if (bits == 4) {
        if (i % 2 == 0)
          *to = number & 0xf;
        else
          *to++ |= (number & 0xf) << 4;
      } else {
        uint64_t room = std::min<uint64_t>(bits / 8 - skip, window.end() - to);
        std::memcpy(to, reinterpret_cast<const uint8_t *>(&number) + skip, room);
        to += room;
        skip = 0;
      }
    }
    at += some;
  }
}

Payload madeOf(std::shared_ptr<const Computation> computation, uint64_t size, PayloadStore &store) {
  constexpr uint64_t small = 64 << 10;
  if (size > small)
    return Payload::computed(std::move(computation), size, store);
  std::string bytes(size, 0);
  computation->fill(0, {reinterpret_cast<uint8_t *>(bytes.data()), bytes.size()});
  return Payload::owned(std::move(bytes));
}

} // namespace origo::eval
