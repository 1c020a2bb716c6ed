#include "eval/Kernel.h"

#include "schema/TensorTypes.h"

#include "llvm/Support/MathExtras.h"

namespace origo::eval {

bool KernelContext::lookAtClock() {
  constexpr auto passed = std::chrono::steady_clock::time_point::min(); // which needs no clock any more
  if (!deadline || (*deadline != passed && std::chrono::steady_clock::now() <= *deadline)) {
    // Some hundredths of a second, even of slow steps.
    patience = deadline ? uint64_t(1) << 20 : ~uint64_t(0);
    return false;
  }
  patience = 0;
  deadline = passed;
  return true;
}

llvm::Error KernelContext::checkTime() const {
  if (deadline && std::chrono::steady_clock::now() > *deadline)
    return evalError(ErrorCode::Timeout, EvalPhase::Run, op, -1, "the run takes longer than allowed");
  return llvm::Error::success();
}

llvm::Expected<Tensor *> KernelContext::variable(unsigned i) {
  if (!has(i) || !inputs[i]->value || !inputs[i]->value->isVariable)
    return fail(i, "is not a variable tensor");
  return inputs[i];
}

/// The bytes of a tensor; nothing if its size does not follow from its shape, an error if there can be no such tensor.
static llvm::Expected<std::optional<uint64_t>> bytesOf(const KernelContext &ctx, unsigned i,
                                                       llvm::ArrayRef<int32_t> shape) {
  int64_t count = 1, room = 1;
  for (int32_t dim : shape) {
    // Without the zeros, so that parts of the shape can be multiplied, too.
    if (dim < 0 || llvm::MulOverflow<int64_t>(room, std::max(dim, 1), room))
      return ctx.fail("the result would have an impossible shape");
    count *= dim;
  }
  return payloadBytes(ctx.outputType(i), static_cast<uint64_t>(count));
}

llvm::Error KernelContext::makeRoom() {
  for (unsigned i = 0; i < numOutputs(); ++i) {
    if (!wants(i))
      continue;
    auto size = bytesOf(*this, i, outputs[i]->shape);
    if (!size)
      return size.takeError();
    if (!*size)
      continue;
    auto room = allocate(i, outputs[i]->shape, **size);
    if (!room)
      return room.takeError();
    outputs[i]->storage = *room;
  }
  return llvm::Error::success();
}

llvm::Expected<Tensor *> KernelContext::output(unsigned i, llvm::ArrayRef<int32_t> shape) {
  if (!wants(i))
    return fail("result " + llvm::Twine(i) + " is left out");
  auto size = bytesOf(*this, i, shape);
  if (!size)
    return size.takeError();
  if (!*size)
    return fail("the result is of a type without a fixed size");
  return outputOfSize(i, shape, **size);
}

llvm::Expected<Tensor *> KernelContext::outputOfSize(unsigned i, llvm::ArrayRef<int32_t> shape, uint64_t bytes) {
  assert(wants(i) && "a kernel makes results that the operator has");
  auto room = allocate(i, shape, bytes);
  if (!room)
    return room.takeError();
  Tensor &tensor = *outputs[i];
  tensor.shape = Shape(shape.begin(), shape.end()); // which may be its own
  tensor.storage = *room;
  return &tensor;
}

std::optional<llvm::SmallVector<int32_t, 4>> KernelContext::shape(unsigned operand) const {
  if (!has(operand) || !input(operand).rankKnown)
    return std::nullopt;
  const Shape &shape = input(operand).shape;
  return llvm::SmallVector<int32_t, 4>(shape.begin(), shape.end());
}

std::optional<llvm::ArrayRef<uint8_t>> KernelContext::bytes(unsigned operand) const {
  if (!has(operand))
    return std::nullopt;
  const Tensor &tensor = input(operand);
  readElements |= !tensor.value || !tensor.value->isConstant();
  return tensor.known ? std::optional<llvm::ArrayRef<uint8_t>>(tensor.storage) : std::nullopt;
}

llvm::Expected<llvm::SmallVector<int64_t, 8>> KernelContext::integers(unsigned i) const {
  if (!has(i))
    return fail(i, "is missing");
  auto numbers = values(i);
  if (!numbers)
    return fail(i, "is not of integers");
  return std::move(*numbers);
}

llvm::Expected<int64_t> KernelContext::integer(unsigned i) const {
  auto numbers = integers(i);
  if (!numbers)
    return numbers.takeError();
  if (numbers->size() != 1)
    return fail(i, "must be a single number");
  return numbers->front();
}

llvm::Error KernelContext::fail(const llvm::Twine &message) const {
  return evalError(ErrorCode::BadOperand, EvalPhase::Run, op, -1, message);
}

llvm::Error KernelContext::fail(unsigned operand, const llvm::Twine &message, std::string expected,
                                std::string actual) const {
  return evalError(ErrorCode::BadOperand, EvalPhase::Run, op, static_cast<int>(operand), message, std::move(expected),
                   std::move(actual));
}

} // namespace origo::eval
