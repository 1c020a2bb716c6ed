#include "eval/Evaluate.h"

#include "eval/Filling.h"
#include "eval/Kernels.h"
#include "eval/Movement.h"
#include "eval/Numbers.h"
#include "eval/RunOperator.h"
#include "ir/ConstantView.h"
#include "schema/TensorTypes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>
#include <cstring>
#include <limits>

namespace origo {

namespace {

using Result = llvm::Expected<std::optional<Payload>>;

Result none(const char *&why, const char *reason) {
  why = reason;
  return std::optional<Payload>();
}

/// Dense bytes that fill the shape exactly; null: not such a constant.
const uint8_t *denseBytes(const Value *value, size_t elementSize) {
  if (!value || !value->isConstant() || value->sparsity || value->compression || value->externalBuffer ||
      !value->payload().hasBytes() || !value->elementCount() ||
      value->payload().size() != *value->elementCount() * elementSize)
    return nullptr;
  return value->payload().bytes().data();
}

template <class T> T load(const uint8_t *data, uint64_t index) {
  T value;
  std::memcpy(&value, data + index * sizeof(T), sizeof(T));
  return value;
}

/// result[i] = f(i) for T elements, window by window.
template <class T, class F> Result map(PayloadStore &store, uint64_t count, F f) {
  llvm::Expected<Payload> payload =
      store.make(count * sizeof(T), [&](llvm::MutableArrayRef<uint8_t> window, uint64_t offset) {
        uint64_t first = offset / sizeof(T);
        for (uint64_t i = 0; i < window.size() / sizeof(T); ++i) {
          T value = f(first + i);
          std::memcpy(window.data() + i * sizeof(T), &value, sizeof(T));
        }
      });
  if (!payload)
    return payload.takeError();
  return std::optional<Payload>(std::move(*payload));
}

/// real = scale · (q − zero point); float16 is widened.
Result dequantize(const Operator &op, PayloadStore &store, const char *&why) {
  const Value *x = op.operand(0);
  if (op.result()->type != TensorType::FLOAT32 || !x->elementCount())
    return none(why, "the result is not float32");
  uint64_t count = *x->elementCount();
  if (x->type == TensorType::FLOAT16) {
    const uint8_t *data = denseBytes(x, 2);
    return data ? map<float>(store, count, [&](uint64_t i) { return eval::halfToFloat(load<uint16_t>(data, i)); })
                : none(why, "not a dense constant");
  }
  const Quantization *q = x->quantization;
  if (!q || q->scale.empty() || q->details != Quantization::Details::None)
    return none(why, "not quantised by scale and zero point");
  uint64_t inner = 1, channels = q->scale.size();
  if (channels > 1) {
    if (q->dimension < 0 || q->dimension >= x->rank() || static_cast<uint64_t>(x->shape[q->dimension]) != channels)
      return none(why, "the scales do not fit the shape");
    for (int d = q->dimension + 1; d < x->rank(); ++d)
      inner *= x->shape[d];
  }
  auto number = [&](uint64_t i, int64_t value) {
    uint64_t c = channels > 1 ? i / inner % channels : 0;
    int64_t zero = q->zeroPoint.empty() ? 0 : q->zeroPoint[std::min<uint64_t>(c, q->zeroPoint.size() - 1)];
    // The kernels: one scale is multiplied in double, several in float.
    return channels > 1 ? q->scale[c] * static_cast<float>(value - zero)
                        : static_cast<float>(static_cast<double>(q->scale[0]) * static_cast<double>(value - zero));
  };
  auto from = [&]<class T>(T) -> Result {
    const uint8_t *data = denseBytes(x, sizeof(T));
    return data ? map<float>(store, count, [&](uint64_t i) { return number(i, load<T>(data, i)); })
                : none(why, "not a dense constant");
  };
  switch (x->type) {
  case TensorType::INT8:
    return from(int8_t());
  case TensorType::UINT8:
    return from(uint8_t());
  case TensorType::INT16:
    return from(int16_t());
  default:
    return none(why, "no kernel for the type");
  }
}

template <class To, class From> bool representable(From value) {
  if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>)
    return value > static_cast<double>(std::numeric_limits<To>::min()) - 1 &&
           value < static_cast<double>(std::numeric_limits<To>::max());
  else
    return true;
}

template <class To, class From> Result castElements(const Operator &op, PayloadStore &store, const char *&why) {
  const uint8_t *data = denseBytes(op.operand(0), sizeof(From));
  if (!data)
    return none(why, "not a dense constant");
  uint64_t count = *op.operand(0)->elementCount();
  for (uint64_t i = 0; i < count; ++i)
    if (!representable<To>(load<From>(data, i)))
      return none(why, "a number is out of the range of the integer type");
  return map<To>(store, count, [&](uint64_t i) { return static_cast<To>(load<From>(data, i)); });
}

template <class From> Result castFrom(const Operator &op, PayloadStore &store, const char *&why) {
  switch (op.result()->type) {
  case TensorType::FLOAT32:
    return castElements<float, From>(op, store, why);
  case TensorType::INT32:
    return castElements<int32_t, From>(op, store, why);
  case TensorType::INT64:
    return castElements<int64_t, From>(op, store, why);
  default:
    return none(why, "no kernel for the types");
  }
}

Result cast(const Operator &op, PayloadStore &store, const char *&why) {
  switch (op.operand(0)->type) {
  case TensorType::FLOAT32:
    return castFrom<float>(op, store, why);
  case TensorType::INT32:
    return castFrom<int32_t>(op, store, why);
  case TensorType::INT64:
    return castFrom<int64_t>(op, store, why);
  case TensorType::UINT8:
    return castFrom<uint8_t>(op, store, why);
  default:
    return none(why, "no kernel for the types");
  }
}

/// The only one that needs no constant: the shape is known, the value need not be.
Result shape(const Operator &op, PayloadStore &store, const char *&why) {
  const Value *x = op.operand(0);
  if (!x->isStatic())
    return none(why, "the shape is not known before run time");
  if (op.result()->type == TensorType::INT64)
    return map<int64_t>(store, x->shape.size(), [&](uint64_t i) { return x->shape[i]; });
  if (op.result()->type == TensorType::INT32)
    return map<int32_t>(store, x->shape.size(), [&](uint64_t i) { return x->shape[i]; });
  return none(why, "no kernel for the type");
}

/// By the kernels that move, widen or repeat elements without holding the result in memory.
Result evaluateInWindows(const Operator &op, PayloadStore &store, const char *&why) {
  switch (op.code) {
  case BuiltinOperator::CAST:
    return cast(op, store, why);
  case BuiltinOperator::DEQUANTIZE:
    return dequantize(op, store, why);
  case BuiltinOperator::SHAPE:
    return shape(op, store, why);
  case BuiltinOperator::PAD:
  case BuiltinOperator::PADV2:
  case BuiltinOperator::MIRROR_PAD:
  case BuiltinOperator::FILL:
  case BuiltinOperator::RANGE:
  case BuiltinOperator::RANK:
  case BuiltinOperator::ZEROS_LIKE:
    return fillElements(op, store, why);
  default:
    return moveElements(op, store, why);
  }
}

bool hasWindowKernel(BuiltinOperator code) {
  static const BuiltinOperator codes[] = {
      BuiltinOperator::CAST,
      BuiltinOperator::DEQUANTIZE,
      BuiltinOperator::SHAPE,
      BuiltinOperator::RESHAPE,
      BuiltinOperator::SQUEEZE,
      BuiltinOperator::EXPAND_DIMS,
      BuiltinOperator::TRANSPOSE,
      BuiltinOperator::GATHER,
      BuiltinOperator::SLICE,
      BuiltinOperator::STRIDED_SLICE,
      BuiltinOperator::CONCATENATION,
      BuiltinOperator::PACK,
      BuiltinOperator::TILE,
      BuiltinOperator::BROADCAST_TO,
      BuiltinOperator::REVERSE_V2,
      BuiltinOperator::DEPTH_TO_SPACE,
      BuiltinOperator::SPACE_TO_DEPTH,
      BuiltinOperator::GATHER_ND,
      BuiltinOperator::PAD,
      BuiltinOperator::PADV2,
      BuiltinOperator::MIRROR_PAD,
      BuiltinOperator::FILL,
      BuiltinOperator::RANGE,
      BuiltinOperator::RANK,
      BuiltinOperator::ZEROS_LIKE,
  };
  return llvm::is_contained(codes, code);
}

/// Multiplications, or elements that are looked at; a bound of what is worth to be done now rather than at run time.
uint64_t workOf(const Operator &op) {
  uint64_t elements = 0, work = 1;
  auto add = [&](const Value *value) {
    elements = std::max(elements, value ? value->elementCount().value_or(UINT64_MAX) : 0);
  };
  for (unsigned i = 0; i < op.numOperands(); ++i)
    add(op.operand(i));
  for (const Value *value : op.results())
    add(value);
  // Of a matrix or a window, each element of the result looks at no more than all weights of its column.
  const OperatorInfo *info = op.info();
  const Value *weights = op.operand(1);
  if (info && weights && (info->has(Trait::Linear) || op.code == BuiltinOperator::BATCH_MATMUL))
    work = weights->elementCount().value_or(UINT64_MAX);
  return llvm::SaturatingMultiply(elements, std::max<uint64_t>(work, 1));
}

} // namespace

llvm::Expected<llvm::SmallVector<Payload, 1>> evaluate(const Operator &op, PayloadStore &store, const char *&why) {
  using Payloads = llvm::SmallVector<Payload, 1>;
  constexpr uint64_t longest = uint64_t(1) << 28;
  auto none = [&](const char *reason) {
    why = reason;
    return Payloads();
  };
  for (const Value *result : op.results())
    if (!result || !result->isStatic())
      return none("the result's shape is not known before run time");
  // What the model states of the result is what its users rely on.
  auto fits = [](const Value &result, uint64_t size) {
    std::optional<uint64_t> count = result.elementCount();
    std::optional<uint64_t> stated = count ? payloadBytes(result.type, *count) : std::nullopt;
    return stated && *stated == size;
  };
  why = "no kernel for the types";
  if (op.results().size() == 1 && op.operand(0) && hasWindowKernel(op.code)) {
    auto payload = evaluateInWindows(op, store, why);
    if (!payload)
      return payload.takeError();
    Payloads payloads;
    if (*payload && !fits(*op.result(), (*payload)->size()))
      return none("the result is not of the stated shape");
    if (*payload)
      payloads.push_back(std::move(**payload));
    return llvm::Expected<Payloads>(std::move(payloads));
  }
  for (unsigned i = 0; i < op.numOperands(); ++i)
    if (const Value *operand = op.operand(i); operand && !operand->isConstant())
      return none("not a dense constant");
  if (!eval::findKernel(op))
    return none("no kernel for the types");
  if (workOf(op) > longest)
    return none("it takes too long to compute");
  auto results = eval::runOperator(op, {});
  if (!results) {
    llvm::consumeError(results.takeError());
    return none("the operands have no result that is defined");
  }
  Payloads payloads;
  for (unsigned i = 0; i < op.results().size(); ++i) {
    const Value &result = *op.result(i);
    const eval::OwnedTensor &tensor = (*results)[i];
    if (!fits(result, tensor.bytes.size()) || !llvm::equal(result.shape, tensor.shape))
      return none("the result is not of the stated shape");
    auto payload = store.make(tensor.bytes.size(), [&](llvm::MutableArrayRef<uint8_t> window, uint64_t offset) {
      std::memcpy(window.data(), tensor.bytes.data() + offset, window.size());
    });
    if (!payload)
      return payload.takeError();
    payloads.push_back(std::move(*payload));
  }
  return llvm::Expected<Payloads>(std::move(payloads));
}

} // namespace origo
