#include "eval/Kernel.h"

#include "schema/TensorTypes.h"

#include "llvm/Support/MathExtras.h"

namespace origo::eval {

namespace {

/// A table without fields, so that each field reads as its default.
const flatbuffers::Table *emptyTable() {
  alignas(4) static const uint8_t bytes[] = {4, 0, 4, 0, 4, 0, 0, 0};
  return reinterpret_cast<const flatbuffers::Table *>(bytes + 4);
}

} // namespace

const flatbuffers::Table *KernelContext::optionsTable(uint8_t member) const {
  return op.options.table && op.options.member == member ? op.options.table : emptyTable();
}

const flatbuffers::Table *KernelContext::options2Table(uint8_t member) const {
  return op.options2.table && op.options2.member == member ? op.options2.table : emptyTable();
}

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
    return evalError(ErrorCode::Timeout, Phase::Run, op, -1, "the run takes longer than allowed");
  return llvm::Error::success();
}

llvm::Expected<Tensor *> KernelContext::variable(unsigned i) {
  if (!has(i) || !inputs[i]->value || !inputs[i]->value->isVariable)
    return fail(i, "is not a variable tensor");
  return inputs[i];
}

llvm::Expected<Tensor *> KernelContext::output(unsigned i, llvm::ArrayRef<int32_t> shape) {
  if (!wants(i))
    return fail("result " + llvm::Twine(i) + " is left out");
  int64_t count = 1, room = 1;
  for (int32_t dim : shape) {
    // Without the zeros, so that parts of the shape can be multiplied, too.
    if (dim < 0 || llvm::MulOverflow<int64_t>(room, std::max(dim, 1), room))
      return fail("the result would have an impossible shape");
    count *= dim;
  }
  std::optional<uint64_t> bytes = payloadBytes(outputType(i), static_cast<uint64_t>(count));
  if (!bytes)
    return fail("the result is of a type without a fixed size");
  return outputOfSize(i, shape, *bytes);
}

llvm::Expected<Tensor *> KernelContext::outputOfSize(unsigned i, llvm::ArrayRef<int32_t> shape, uint64_t bytes) {
  assert(wants(i) && "a kernel makes results that the operator has");
  auto room = allocate(i, shape, bytes);
  if (!room)
    return room.takeError();
  Tensor &tensor = *outputs[i];
  tensor.shape.assign(shape.begin(), shape.end());
  tensor.storage = *room;
  return &tensor;
}

llvm::Expected<llvm::SmallVector<int64_t, 8>> KernelContext::integers(unsigned i) const {
  if (!has(i))
    return fail(i, "is missing");
  llvm::SmallVector<int64_t, 8> numbers;
  auto widen = [&](auto elements) { numbers.assign(elements.begin(), elements.end()); };
  switch (input(i).type) {
  case TensorType::INT8:
    widen(input(i).as<int8_t>());
    break;
  case TensorType::UINT8:
    widen(input(i).as<uint8_t>());
    break;
  case TensorType::INT16:
    widen(input(i).as<int16_t>());
    break;
  case TensorType::UINT16:
    widen(input(i).as<uint16_t>());
    break;
  case TensorType::INT32:
    widen(input(i).as<int32_t>());
    break;
  case TensorType::UINT32:
    widen(input(i).as<uint32_t>());
    break;
  case TensorType::INT64:
    widen(input(i).as<int64_t>());
    break;
  default:
    return fail(i, "is not of integers");
  }
  return numbers;
}

llvm::Expected<int64_t> KernelContext::integer(unsigned i) const {
  auto numbers = integers(i);
  if (!numbers)
    return numbers.takeError();
  if (numbers->size() != 1)
    return fail(i, "must be a single number");
  return numbers->front();
}

llvm::Expected<int> KernelContext::axis(int64_t axis, int rank) const {
  if (axis < -rank || axis >= rank)
    return fail("axis " + llvm::Twine(axis) + " of " + llvm::Twine(rank) + " dimensions");
  return static_cast<int>(axis < 0 ? axis + rank : axis);
}

llvm::Error KernelContext::fail(const llvm::Twine &message) const {
  return evalError(ErrorCode::BadOperand, Phase::Run, op, -1, message);
}

llvm::Error KernelContext::fail(unsigned operand, const llvm::Twine &message, std::string expected,
                                std::string actual) const {
  return evalError(ErrorCode::BadOperand, Phase::Run, op, static_cast<int>(operand), message, std::move(expected),
                   std::move(actual));
}

} // namespace origo::eval
