#include "eval/Filling.h"

#include "eval/Movement.h"
#include "ir/ConstantView.h"

#include <algorithm>
#include <cstring>

namespace origo {

namespace {

using Result = llvm::Expected<std::optional<Payload>>;

Result none(const char *&why, const char *reason) {
  why = reason;
  return std::optional<Payload>();
}

/// Windows of elements of `size` bytes, each written by `write(to, index)`.
template <class Write> Result generate(PayloadStore &store, uint64_t count, uint64_t size, Write write) {
  llvm::Expected<Payload> payload =
      store.make(count * size, [&](llvm::MutableArrayRef<uint8_t> window, uint64_t offset) {
        for (uint64_t at = 0; at < window.size(); at += size)
          write(window.data() + at, (offset + at) / size);
      });
  if (!payload)
    return payload.takeError();
  return std::optional<Payload>(std::move(*payload));
}

/// Where the border of a padded dimension takes its elements from; negative: from nowhere.
int64_t inside(int64_t at, int64_t length, BuiltinOperator code, int64_t offset) {
  if (at >= 0 && at < length)
    return at;
  if (code != BuiltinOperator::MIRROR_PAD)
    return -1;
  return at < 0 ? offset - 1 - at : 2 * length - 1 - offset - at;
}

/// What Pad writes into the border: the real number 0, or the number it is given.
std::optional<std::string> border(const Operator &op, uint64_t size) {
  if (const Value *given = op.operand(2); given && op.code != BuiltinOperator::MIRROR_PAD) {
    if (!isDense(given, size) || *given->elementCount() != 1 || given->type != op.result()->type)
      return std::nullopt;
    llvm::ArrayRef<uint8_t> bytes = given->payload().bytes();
    return std::string(bytes.begin(), bytes.end());
  }
  const Quantization *q = op.result()->quantization;
  if (!q || !q->quantized())
    return std::string(size, 0);
  if (q->details != Quantization::Details::None || q->zeroPoint.size() > 1 || size > 2)
    return std::nullopt;
  int64_t zero = q->zeroPoint.empty() ? 0 : q->zeroPoint.front();
  return std::string(reinterpret_cast<const char *>(&zero), size); // little-endian
}

Result pad(const Operator &op, PayloadStore &store, uint64_t size, const char *&why) {
  const Value &x = *op.operand(0), &result = *op.result();
  auto paddings = readIntegers(op.operand(1));
  if (!isDense(&x, size) || x.type != result.type || !paddings || paddings->size() != 2 * x.shape.size() ||
      result.rank() != x.rank())
    return none(why, "an operand is not a dense constant");
  if (!sameQuantization(x.quantization, result.quantization))
    return none(why, "changes the quantisation");
  auto *options = op.options.as<circle::MirrorPadOptions>();
  int64_t offset =
      op.code == BuiltinOperator::MIRROR_PAD && (!options || options->mode() == circle::MirrorPadMode::REFLECT);
  bool mirrors = op.code == BuiltinOperator::MIRROR_PAD;
  for (size_t d = 0; d < x.shape.size(); ++d) {
    int64_t before = (*paddings)[2 * d], after = (*paddings)[2 * d + 1], length = x.shape[d];
    if (before < 0 || after < 0 || before > result.shape[d] || after > result.shape[d] ||
        before + length + after != result.shape[d] || (mirrors && std::max(before, after) > length - offset))
      return none(why, "the paddings do not fit the shapes");
  }
  std::optional<std::string> filler = border(op, size);
  if (!filler)
    return none(why, "what is padded with is not one constant number");
  const uint8_t *data = x.payload().bytes().data();
  return generate(store, *result.elementCount(), size, [&](uint8_t *to, uint64_t index) {
    int64_t at = 0, step = 1;
    for (size_t d = x.shape.size(); d-- > 0; index /= result.shape[d], step *= x.shape[d]) {
      int64_t position = static_cast<int64_t>(index % result.shape[d]) - (*paddings)[2 * d];
      position = inside(position, x.shape[d], op.code, offset);
      if (position < 0) {
        std::memcpy(to, filler->data(), size);
        return;
      }
      at += position * step;
    }
    std::memcpy(to, data + at * size, size);
  });
}

Result fill(const Operator &op, PayloadStore &store, uint64_t size, const char *&why) {
  const Value *value = op.operand(1), &result = *op.result();
  auto dims = readIntegers(op.operand(0));
  if (!dims || !isDense(value, size) || *value->elementCount() != 1 || value->type != result.type)
    return none(why, "an operand is not a dense constant");
  if (!std::equal(dims->begin(), dims->end(), result.shape.begin(), result.shape.end()))
    return none(why, "the result is not of the stated shape");
  if (!sameQuantization(value->quantization, result.quantization))
    return none(why, "changes the quantisation");
  const uint8_t *data = value->payload().bytes().data();
  return generate(store, *result.elementCount(), size, [&](uint8_t *to, uint64_t) { std::memcpy(to, data, size); });
}

template <class T> Result range(const Operator &op, PayloadStore &store, const char *&why) {
  auto start = readInteger(op.operand(0)), limit = readInteger(op.operand(1)), delta = readInteger(op.operand(2));
  if (!start || !limit || !delta || *delta == 0)
    return none(why, "an operand is not a constant integer, or the step is 0");
  // In 128 bits nothing overflows.
  __int128 distance = __int128(*limit) - *start, step = *delta;
  __int128 count = (distance > 0) == (step > 0) ? (distance + step + (step > 0 ? -1 : 1)) / step : 0;
  if (op.result()->rank() != 1 || count != op.result()->shape[0])
    return none(why, "the result is not of the stated shape");
  return generate(store, static_cast<uint64_t>(count), sizeof(T), [&](uint8_t *to, uint64_t index) {
    T number = static_cast<T>(*start + static_cast<int64_t>(index) * *delta);
    std::memcpy(to, &number, sizeof(T));
  });
}

} // namespace

llvm::Expected<std::optional<Payload>> fillElements(const Operator &op, PayloadStore &store, const char *&why) {
  const Value &result = *op.result();
  std::optional<unsigned> bits = bitsPerElement(result.type);
  if (!bits || *bits % 8)
    return none(why, "no kernel for the type");
  uint64_t size = *bits / 8;
  switch (op.code) {
  case BuiltinOperator::FILL:
    return fill(op, store, size, why);
  case BuiltinOperator::RANGE:
    if (result.type == TensorType::INT32)
      return range<int32_t>(op, store, why);
    return result.type == TensorType::INT64 ? range<int64_t>(op, store, why) : none(why, "no kernel for the type");
  case BuiltinOperator::RANK: {
    const Value &x = *op.operand(0);
    if (result.type != TensorType::INT32 || *result.elementCount() != 1 || !(x.hasRank || x.rank() || x.isConstant()))
      return none(why, "the rank is not known before run time");
    int32_t rank = x.rank();
    return std::optional<Payload>(Payload::owned(std::string(reinterpret_cast<const char *>(&rank), sizeof(rank))));
  }
  case BuiltinOperator::ZEROS_LIKE:
    if (result.type != TensorType::FLOAT32 && result.type != TensorType::INT32 && result.type != TensorType::INT64)
      return none(why, "no kernel for the type");
    return generate(store, *result.elementCount(), size, [&](uint8_t *to, uint64_t) { std::memset(to, 0, size); });
  default:
    return pad(op, store, size, why);
  }
}

} // namespace origo
