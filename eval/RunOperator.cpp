#include "eval/RunOperator.h"

#include "eval/Sparse.h"
#include "schema/TensorTypes.h"

#include <cmath>
#include <cstring>

namespace origo::eval {

ConstantBytes ConstantBytes::copyOf(llvm::ArrayRef<uint8_t> bytes) {
  ConstantBytes made;
  made.copy = std::make_unique<uint8_t[]>(bytes.size() + readAhead);
  llvm::copy(bytes, made.copy.get());
  made.bytes = {made.copy.get(), bytes.size()};
  return made;
}

void ConstantBytes::makeReadAhead(const Payload &payload) {
  const MappedFile *file = payload.file();
  bool isInFile = !copy && file && static_cast<size_t>(file->bytes().end() - bytes.end()) >= readAhead;
  if (!isInFile && !canReadAhead(bytes))
    *this = copyOf(bytes);
}

static llvm::Error badConstant(const Value &value, const llvm::Twine &message) {
  Place place;
  place.tensor = static_cast<int>(value.index);
  place.name = value.name.str();
  if (value.subgraph())
    place.subgraph = static_cast<int>(value.subgraph()->index);
  return llvm::make_error<EvalError>(ErrorCode::BadGraph, EvalPhase::Compile, place, message.str());
}

llvm::Expected<ConstantBytes> ConstantBytes::of(const Value &value, uint64_t memoryLimit) {
  auto refuse = [&](const llvm::Twine &message) { return badConstant(value, message); };
  if (value.compression || value.externalBuffer || !value.payload().hasBytes())
    return refuse("the constant is compressed, or its bytes are not in the file");
  llvm::ArrayRef<uint8_t> bytes = value.payload().bytes();
  std::optional<uint64_t> count = value.elementCount();
  if (!count)
    return refuse("a constant of dynamic shape");
  std::optional<uint64_t> size = payloadBytes(value.type, *count);
  if (value.sparsity()) {
    unsigned bits = bitsPerElement(value.type).value_or(0);
    if (!size || bits % 8 || bits == 0)
      return refuse("the type of a sparse constant is not supported");
    if (*size > memoryLimit)
      return refuse("the constant would take " + llvm::Twine(*size) + " bytes without its sparsity");
    auto dense = densify(*value.sparsity(), value.shape, bytes, bits / 8);
    if (!dense)
      return refuse(llvm::toString(dense.takeError()));
    ConstantBytes result;
    result.copy = std::move(*dense);
    result.bytes = {result.copy.get(), *size};
    return result;
  }
  if (value.type != TensorType::STRING) {
    if (!size || *size != bytes.size())
      return refuse("the constant has " + llvm::Twine(bytes.size()) + " bytes and not those of its shape");
  }
  ConstantBytes result;
  unsigned bits = bitsPerElement(value.type).value_or(8);
  uintptr_t alignment = std::max(1u, std::min(bits / 8, 8u));
  auto *data = const_cast<uint8_t *>(bytes.data());
  if (reinterpret_cast<uintptr_t>(data) % alignment) {
    result.copy = std::make_unique<uint8_t[]>(bytes.size());
    std::memcpy(result.copy.get(), data, bytes.size());
    data = result.copy.get();
  }
  result.bytes = {data, bytes.size()};
  return result;
}

llvm::Error checkQuantization(const Value &value) {
  const Quantization *q = value.quantization;
  if (!q || q->scale.empty())
    return llvm::Error::success();
  auto refuse = [&](const llvm::Twine &message) { return badConstant(value, message); };
  int64_t low = -(1 << 30), high = 1 << 30;
  if (unsigned bits = bitsPerElement(value.type).value_or(32); bits <= 16) {
    bool isSigned = value.type == tensorTypeInt2 || value.type == TensorType::INT4 || value.type == TensorType::INT8 ||
                    value.type == TensorType::INT16;
    low = isSigned ? -(int64_t(1) << (bits - 1)) : 0;
    high = low + (int64_t(1) << bits) - 1;
    // There are files of uint8 with int8's zero points, and the runtime takes them as they are.
    if (value.type == TensorType::UINT8)
      low = -128;
  }
  for (int64_t zero : q->zeroPoint)
    if (zero < low || zero > high)
      return refuse("zero point " + llvm::Twine(zero) + " is out of the type's range");
  for (float scale : q->scale)
    if (!(scale > 0) || !std::isfinite(scale))
      return refuse("a scale is not a number above zero");
  return llvm::Error::success();
}

namespace {

class SingleOperator : public KernelContext {
public:
  SingleOperator(const Operator &op, uint64_t limit) : KernelContext(op), left(limit), results(op.results().size()) {}
  uint64_t left;
  std::vector<OwnedTensor> results;

protected:
  llvm::Expected<llvm::MutableArrayRef<uint8_t>> allocate(unsigned i, llvm::ArrayRef<int32_t>,
                                                          uint64_t bytes) override {
    if (bytes > left)
      return evalError(ErrorCode::MemoryLimit, EvalPhase::Run, op, -1,
                       "the result would take " + llvm::Twine(bytes) + " bytes");
    left -= bytes;
    results[i].bytes.resize(bytes);
    return llvm::MutableArrayRef<uint8_t>(results[i].bytes);
  }
};

} // namespace

llvm::Error OperatorTensors::bind(KernelContext &context, llvm::ArrayRef<const TensorRef *> given, uint64_t memoryLimit,
                                  llvm::function_ref<bool(const Value &)> wanted) {
  const Operator &op = context.op;
  operands.resize(op.numOperands());
  results.resize(op.results().size());
  constants.reserve(op.numOperands());
  auto describe = [](Tensor &tensor, const Value &value) {
    tensor.type = value.type;
    tensor.quantization = value.quantization;
    tensor.value = &value;
    return checkQuantization(value);
  };
  for (unsigned i = 0; i < op.numOperands(); ++i) {
    const Value *value = op.operand(i);
    context.inputs.push_back(value ? &operands[i] : nullptr);
    if (!value)
      continue;
    if (llvm::Error error = describe(operands[i], *value))
      return error;
    if (i < given.size() && given[i]) {
      if (given[i]->type != value->type)
        return evalError(ErrorCode::BadInput, EvalPhase::Run, op, static_cast<int>(i), "has another type",
                         tensorTypeName(value->type).str(), tensorTypeName(given[i]->type).str());
      operands[i].shape = given[i]->shape;
      // A copy, because operands may be updated in place and lie anywhere.
      copies.emplace_back(given[i]->bytes.begin(), given[i]->bytes.end());
      operands[i].storage = copies.back();
      auto size = payloadBytes(value->type, static_cast<uint64_t>(operands[i].count()));
      if (size && *size != operands[i].storage.size())
        return evalError(ErrorCode::BadInput, EvalPhase::Run, op, static_cast<int>(i), "bytes do not fit the shape",
                         std::to_string(*size), std::to_string(operands[i].storage.size()));
      continue;
    }
    operands[i].shape.assign(value->shape.begin(), value->shape.end());
    if (!wanted(*value))
      continue;
    if (!value->isConstant())
      return evalError(ErrorCode::MissingInput, EvalPhase::Run, op, static_cast<int>(i), "is not known");
    auto bytes = ConstantBytes::of(*value, memoryLimit);
    if (!bytes)
      return bytes.takeError();
    constants.push_back(std::move(*bytes));
    operands[i].storage = constants.back().bytes;
  }
  for (unsigned i = 0; i < op.results().size(); ++i) {
    const Value *value = op.result(i);
    context.outputs.push_back(value ? &results[i] : nullptr);
    if (!value)
      continue;
    if (llvm::Error error = describe(results[i], *value))
      return error;
  }
  return llvm::Error::success();
}

llvm::Expected<std::vector<OwnedTensor>>
runOperator(const Operator &op, llvm::ArrayRef<const TensorRef *> given, uint64_t memoryLimit,
            llvm::function_ref<void(unsigned, llvm::ArrayRef<uint8_t>)> leaves) {
  auto kernel = kernelFor(op);
  if (!kernel)
    return kernel.takeError();
  SingleOperator context(op, memoryLimit);
  OperatorTensors tensors;
  if (llvm::Error error = tensors.bind(context, given, context.left))
    return error;
  if (llvm::Error error = (*kernel)->run(context))
    return error;
  for (unsigned i = 0; i < op.results().size(); ++i) {
    context.results[i].type = tensors.results[i].type;
    context.results[i].shape = tensors.results[i].shape;
  }
  for (unsigned i = 0; leaves && i < given.size(); ++i)
    if (given[i] && op.operand(i) && op.operand(i)->isVariable)
      leaves(i, tensors.operands[i].storage);
  return std::move(context.results);
}

} // namespace origo::eval
