#include "eval/Evaluate.h"

#include "eval/Dense.h"
#include "eval/Fold.h"
#include "eval/RealNumbers.h"
#include "eval/RunOperator.h"
#include "eval/kernels/Elementwise.h"
#include "schema/TensorTypes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>

namespace origo {

namespace {

using namespace eval;
using Op = BuiltinOperator;
using Payloads = llvm::SmallVector<Payload, 1>;
/// Results; or none, and the reason in `why`.
using Result = llvm::Expected<Payloads>;

Result none(const char *&why, const char *reason) {
  why = reason;
  return Payloads();
}

/// What the model states of the result is what its users rely on.
bool fits(const Value &result, llvm::ArrayRef<int32_t> shape, uint64_t size) {
  std::optional<uint64_t> count = result.elementCount();
  std::optional<uint64_t> stated = count ? payloadBytes(result.type, *count) : std::nullopt;
  return stated && *stated == size && llvm::ArrayRef<int32_t>(result.shape) == shape;
}

Result oneOf(Payload payload) {
  Payloads payloads;
  payloads.push_back(std::move(payload));
  return payloads;
}

/// Makes the bytes of what cannot be read part by part, or has cost too much before.
llvm::Error materializeOperands(const Operator &op) {
  for (unsigned i = 0; i < op.numOperands(); ++i)
    if (const Value *value = op.operand(i))
      if (llvm::Error error = value->payload().materialize())
        return error;
  return llvm::Error::success();
}

template <class From> bool allWithin(const Payload &numbers, double low, double high) {
  std::vector<From> window(1 << 14);
  for (uint64_t at = 0; at < numbers.size(); at += window.size() * sizeof(From)) {
    window.resize(std::min<uint64_t>(window.size(), (numbers.size() - at) / sizeof(From)));
    numbers.read(at, {reinterpret_cast<uint8_t *>(window.data()), window.size() * sizeof(From)});
    for (From number : window)
      if (!(static_cast<double>(number) > low && static_cast<double>(number) < high))
        return false;
  }
  return true;
}

/// What C++ leaves undefined, kernels do in different ways: a float that the integer type does not have.
bool castIsDefined(const Operator &op) {
  const Value &x = *op.operand(0);
  TensorType to = op.result()->type;
  if ((x.type != TensorType::FLOAT32 && x.type != TensorType::FLOAT64) || to == TensorType::BOOL || isFloat(to))
    return true;
  unsigned bits = *bitsPerElement(to);
  bool isSigned =
      to == TensorType::INT8 || to == TensorType::INT16 || to == TensorType::INT32 || to == TensorType::INT64;
  double high = std::ldexp(1., static_cast<int>(isSigned ? bits - 1 : bits)), low = (isSigned ? -high : 0) - 1;
  return x.type == TensorType::FLOAT32 ? allWithin<float>(x.payload(), low, high)
                                       : allWithin<double>(x.payload(), low, high);
}

/// Kernels that refuse single numbers: a division by zero, a negative power.
bool looksAtNumbers(Op code) {
  return code == Op::DIV || code == Op::FLOOR_DIV || code == Op::FLOOR_MOD || code == Op::POW;
}

Result elementwise(const Operator &op, PayloadStore &store, const char *&why) {
  unsigned cost = 1;
  for (unsigned i = 0; i < op.numOperands(); ++i)
    cost += op.operand(i) ? op.operand(i)->payload().cost() : 0;
  if (cost > Payload::maxCost)
    if (llvm::Error error = materializeOperands(op))
      return error;
  const Value &result = *op.result();
  auto undefined = [&](llvm::Error error) {
    llvm::consumeError(std::move(error));
    return none(why, "the operands have no result that is defined");
  };
  for (unsigned i = 0; i < op.numOperands(); ++i)
    if (const Value *value = op.operand(i))
      if (llvm::Error error = checkQuantization(*value))
        return undefined(std::move(error));
  if (llvm::Error error = checkQuantization(result))
    return undefined(std::move(error));
  auto fold = std::make_shared<ElementwiseFold>(op);
  int64_t count = static_cast<int64_t>(*result.elementCount()), enough = looksAtNumbers(op.code) ? count : 64;
  auto tried = fold->look(std::min(count, enough), [](const KernelContext &) { return true; });
  if (!tried)
    return undefined(tried.takeError());
  return oneOf(madeOf(std::move(fold), *payloadBytes(result.type, count), store));
}

/// Shapes only.
class NoRoom : public KernelContext {
public:
  using KernelContext::KernelContext;

protected:
  llvm::Expected<llvm::MutableArrayRef<uint8_t>> allocate(unsigned, llvm::ArrayRef<int32_t>, uint64_t) override {
    return fail("nothing is computed");
  }
};

/// Nothing if the results are not views on one operand.
llvm::Expected<std::optional<Payloads>> viewed(const Operator &op, PayloadStore &store) {
  const Kernel &kernel = *findKernel(op);
  if (!kernel.body.view)
    return std::nullopt;
  const Value &moved = *op.operand(op.code == Op::SPLIT ? 1 : 0);
  NoRoom context(op);
  OperatorTensors tensors;
  auto wanted = [&](const Value &value) { return &value != &moved; };
  llvm::Error error = tensors.bind(context, {}, ~uint64_t(0), wanted);
  if (!error)
    error = kernel.shape(context);
  if (error) {
    llvm::consumeError(std::move(error));
    return std::nullopt;
  }
  Payloads payloads;
  uint64_t size = *bitsPerElement(moved.type) / 8;
  for (auto [i, view] : llvm::enumerate(kernel.body.view(context))) {
    const Shape &shape = context.output(i).shape;
    uint64_t bytes = product(shape) * size;
    if (!fits(*op.result(i), shape, bytes))
      return std::nullopt;
    if (ViewFold::isPiece(view)) {
      payloads.push_back(bytes ? moved.payload().slice(view.offset * size, bytes) : Payload::owned(""));
      continue;
    }
    // Elements from anywhere: each window would compute all of the operand.
    if (llvm::Error error = moved.payload().materialize())
      return error;
    payloads.push_back(madeOf(std::make_shared<ViewFold>(moved.payload(), std::move(view), size), bytes, store));
  }
  return std::optional(std::move(payloads));
}

/// The kernel on everything, with its results where computed constants are.
class AtOnce : public KernelContext {
public:
  AtOnce(const Operator &op, PayloadStore &store) : KernelContext(op), payloads(op.results().size()), store(store) {}
  Payloads payloads;
  bool misfit = false; ///< a result is not as it is stated
  bool full = false;   ///< the store has no room for a result

protected:
  llvm::Expected<llvm::MutableArrayRef<uint8_t>> allocate(unsigned i, llvm::ArrayRef<int32_t> shape,
                                                          uint64_t bytes) override {
    misfit = !fits(*op.result(i), shape, bytes);
    if (misfit)
      return fail("the result is not of the stated shape");
    llvm::MutableArrayRef<uint8_t> room;
    auto payload = store.allocate(bytes, room);
    full = !payload;
    if (full)
      return payload.takeError();
    payloads[i] = std::move(*payload);
    return room;
  }

private:
  PayloadStore &store;
};

Result atOnce(const Operator &op, PayloadStore &store, const char *&why) {
  bool shapesOnly = op.info()->has(Trait::ShapeQuery);
  if (!shapesOnly)
    if (llvm::Error error = materializeOperands(op))
      return error;
  AtOnce context(op, store);
  OperatorTensors tensors;
  llvm::Error error = tensors.bind(context, {}, uint64_t(1) << 32, [&](const Value &) { return !shapesOnly; });
  if (!error)
    error = findKernel(op)->run(context);
  if (context.full)
    return error;
  if (error) {
    llvm::consumeError(std::move(error));
    return none(why, context.misfit ? "the result is not of the stated shape"
                                    : "the operands have no result that is defined");
  }
  return std::move(context.payloads);
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
  const Value *weights = op.operand(1);
  if (weights && (op.info()->has(Trait::Linear) || op.code == Op::BATCH_MATMUL))
    work = weights->elementCount().value_or(UINT64_MAX);
  return llvm::SaturatingMultiply(elements, std::max<uint64_t>(work, 1));
}

/// Why an operator is not computed although it has a kernel; null: nothing is in the way.
const char *refusal(const Operator &op) {
  const Value *x = op.operand(0), &result = *op.result();
  auto detailed = [](const Value &value) {
    return value.quantization && value.quantization->details != Quantization::Details::None;
  };
  switch (op.code) {
  case Op::SHAPE:
  case Op::ZEROS_LIKE:
    return x->isStatic() ? nullptr : "the shape is not known before run time";
  case Op::RANK:
    return x->hasRank || x->rank() || x->isConstant() ? nullptr : "the rank is not known before run time";
  case Op::RANGE: // sums of floats, which kernels round in different ways
    return isFloat(result.type) ? "no kernel for the types" : nullptr;
  case Op::DEQUANTIZE:
  case Op::QUANTIZE:
    return detailed(*x) || detailed(result) ? "not quantised by scale and zero point" : nullptr;
  case Op::CAST:
    return castIsDefined(op) ? nullptr : "a number is out of the range of the integer type";
  case Op::FILL:
    return sameQuantization(op.operand(1)->quantization, result.quantization) ? nullptr : "changes the quantisation";
  case Op::PAD:
  case Op::PADV2:
  case Op::MIRROR_PAD:
    if (result.quantization && result.quantization->zeroPoint.size() > 1)
      return "what is padded with is not one constant number";
    return sameQuantization(x->quantization, result.quantization) ? nullptr : "changes the quantisation";
  default:
    return nullptr;
  }
}

/// Files that state no rank have scalars like tensors of unknown rank; the operator's rule tells which it is.
bool isScalar(const Operator &op, const Value &result) {
  if (!result.shape.empty() || !result.shapeSignature().empty())
    return false;
  auto inferred = inferResults(op);
  if (!inferred) {
    llvm::consumeError(inferred.takeError());
    return false;
  }
  for (auto [stated, known] : llvm::zip(op.results(), *inferred))
    if (stated == &result)
      return known.rankKnown && known.shape.empty();
  return false;
}

} // namespace

Result evaluate(const Operator &op, PayloadStore &store, const char *&why) {
  constexpr uint64_t longest = uint64_t(1) << 28;
  const OperatorInfo *info = op.info();
  if (op.results().empty() || !info)
    return none(why, "no kernel for the types");
  for (const Value *result : op.results())
    if (!result || !(result->isStatic() || isScalar(op, *result)))
      return none(why, "the result's shape is not known before run time");
  const Value *x = op.operand(0), &result = *op.result();
  if (op.code == Op::RESHAPE || op.code == Op::SQUEEZE || op.code == Op::EXPAND_DIMS) {
    if (!isDense(x) || x->type != result.type)
      return none(why, "not a dense constant");
    if (!fits(result, result.shape, x->payload().size()))
      return none(why, "the result is not of the stated shape");
    return oneOf(x->payload());
  }
  for (unsigned i = 0; i < op.numOperands() && !info->has(Trait::ShapeQuery); ++i)
    if (const Value *operand = op.operand(i); operand && (!operand->isConstant() || operand->compression ||
                                                          operand->externalBuffer || !operand->payload().hasBytes()))
      return none(why, "not a dense constant");
  if (QuantizeFold::canFold(op)) {
    if (op.operand(0)->payload().cost() >= Payload::maxCost)
      if (llvm::Error error = materializeOperands(op))
        return error;
    auto fold = std::make_shared<QuantizeFold>(op);
    uint64_t size = fold->size();
    return oneOf(madeOf(std::move(fold), size, store));
  }
  if (!findKernel(op)) // asked last, since most operators have an operand that is not constant
    return none(why, "no kernel for the types");
  if (const char *reason = refusal(op))
    return none(why, reason);
  if (ElementwiseFold::canFold(op))
    return elementwise(op, store, why);
  bool moves = info->has(Trait::DataMovement);
  if (moves && llvm::all_of(op.operands(), [](const Use &use) { return !use.get() || isDense(use.get()); })) {
    auto views = viewed(op, store);
    if (!views)
      return views.takeError();
    if (*views)
      return std::move(**views);
  }
  if (!moves && workOf(op) > longest)
    return none(why, "it takes too long to compute");
  return atOnce(op, store, why);
}

bool everyElement(const Operator &op, llvm::function_ref<bool(float, float, float)> holds) {
  auto isReal = [](const Value *value) { return value && value->type == TensorType::FLOAT32; };
  if (op.numOperands() != 2 || !isReal(op.operand(0)) || !isReal(op.operand(1)) || !isReal(op.result()) ||
      !ElementwiseFold::canFold(op))
    return false;
  ElementwiseFold fold(op);
  auto verdict = fold.look(static_cast<int64_t>(*op.result()->elementCount()), [&](const KernelContext &run) {
    const Tensor &a = run.input(0), &b = run.input(1), &result = *run.outputs[0];
    auto x = a.as<float>(), y = b.as<float>(), r = result.as<float>();
    bool all = true;
    forEachRow(result.shape, a.shape, b.shape, [&](const Row &row) {
      for (size_t k = 0; k < row.length && all; ++k)
        all = holds(x[row.a + k * row.stepA], y[row.b + k * row.stepB], r[row.first + k]);
      return all;
    });
    return all;
  });
  if (verdict)
    return *verdict;
  llvm::consumeError(verdict.takeError());
  return false;
}

} // namespace origo
