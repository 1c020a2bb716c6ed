#include "eval/kernels/Wider.h"

#include "eval/Kernels.h"
#include "eval/RealNumbers.h"
#include "schema/OperatorFacts.h"
#include "schema/TensorTypes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <deque>

namespace origo::eval {

namespace {

using Op = BuiltinOperator;

/// The type itself where C++ has it.
TensorType widerType(TensorType type) {
  if (type == TensorType::FLOAT16 || type == TensorType::BFLOAT16 || type == tensorTypeFloat8E4M3FN ||
      type == tensorTypeFloat8E5M2)
    return TensorType::FLOAT32;
  if (type == TensorType::INT4 || type == tensorTypeInt2)
    return TensorType::INT8;
  return type == TensorType::UINT4 ? TensorType::UINT8 : type;
}

/// The operator with other operands and results.
class OtherTypes : public KernelContext {
public:
  explicit OtherTypes(const KernelContext &ctx) : KernelContext(ctx) {}

  /// In place of a tensor: one of the same shape and another type.
  Tensor *held(const Tensor &narrow, TensorType type, const Quantization *quantization) {
    Tensor &made = tensors.emplace_back(narrow);
    made.type = type;
    made.quantization = quantization;
    made.storage = bytes.emplace_back(*payloadBytes(type, static_cast<uint64_t>(narrow.count())));
    return &made;
  }

protected:
  llvm::Expected<llvm::MutableArrayRef<uint8_t>> allocate(unsigned, llvm::ArrayRef<int32_t>, uint64_t) override {
    return fail("its results have their places");
  }

private:
  std::deque<Tensor> tensors;
  std::deque<std::vector<uint8_t>> bytes;
};

bool takes(const SlotRule &slot, const Tensor *tensor, llvm::ArrayRef<Tensor *> operands) {
  if (!tensor)
    return slot.optional;
  if (slot.sameAs && *slot.sameAs < operands.size() && operands[*slot.sameAs]->type == tensor->type)
    return true;
  return llvm::is_contained(slot.types, tensor->type);
}

const Kernel *kernelOf(const KernelContext &ctx) {
  for (const Kernel &kernel : kernelsOf(ctx.op.builtinMeant())) {
    bool fits = kernel.shapes == ShapesFrom::Rule && (ctx.numOutputs() == 0 || ctx.outputs[0]);
    for (bool result : {false, true})
      for (auto [i, tensor] : llvm::enumerate(result ? llvm::ArrayRef<Tensor *>(ctx.outputs) : ctx.inputs)) {
        const SlotRule *slot = kernel.signature.slot(result, static_cast<unsigned>(i));
        fits = fits && slot && ((result && !tensor) || takes(*slot, tensor, ctx.inputs));
      }
    if (fits)
      return &kernel;
  }
  return nullptr;
}

/// A tensor without its scale, so that its numbers are those that it stores.
Tensor stored(const Tensor &tensor) {
  Tensor view = tensor;
  view.quantization = nullptr;
  return view;
}

llvm::Error computeIn(KernelContext &ctx, bool reals) {
  OtherTypes other(ctx);
  auto typeOf = [&](const Tensor &tensor) {
    return reals && isQuantized(tensor) ? TensorType::FLOAT32 : widerType(tensor.type);
  };
  for (Tensor *&operand : other.inputs) {
    if (!operand || typeOf(*operand) == operand->type)
      continue;
    const Tensor &narrow = *operand;
    auto numbers = reals ? realNumbers(narrow) : storedNumbers(narrow);
    operand = other.held(narrow, typeOf(narrow), reals ? nullptr : narrow.quantization);
    Tensor room = stored(*operand);
    if (!numbers || !storeNumbers(room, *numbers))
      return ctx.fail("no kernel for the types");
  }
  for (Tensor *&result : other.outputs) {
    if (!result || typeOf(*result) == result->type)
      continue;
    // What a cast does with numbers that an integer of so few bits cannot hold is not to depend on a wider one.
    bool saturates = ctx.op.code == Op::CAST && typeOf(*result) != TensorType::FLOAT32;
    result =
        other.held(*result, saturates ? TensorType::INT64 : typeOf(*result), reals ? nullptr : result->quantization);
  }
  const Kernel *kernel = kernelOf(other);
  if (!kernel)
    return ctx.fail("no kernel for the types");
  if (llvm::Error error = kernel->compute(other))
    return error;
  for (auto [made, wanted] : llvm::zip(other.outputs, ctx.outputs)) {
    if (made == wanted)
      continue;
    auto numbers = storedNumbers(stored(*made));
    Tensor room = reals ? *wanted : stored(*wanted);
    // The runtime's sums and products of float16 do not overflow.
    if (numbers && wanted->type == TensorType::FLOAT16 && (ctx.op.code == Op::ADD || ctx.op.code == Op::MUL))
      for (double &number : *numbers)
        number = std::isnan(number) ? number : std::clamp(number, -65504., 65504.);
    if (!numbers || !storeNumbers(room, *numbers))
      return ctx.fail("no kernel for the types");
  }
  return llvm::Error::success();
}

/// `text` with each word `from` as `to`.
std::string withWords(llvm::StringRef text, llvm::StringRef from, llvm::StringRef to) {
  std::string made;
  while (!text.empty()) {
    size_t end = std::min(text.size(), text.find_if_not([](char c) { return llvm::isAlnum(c); }));
    llvm::StringRef word = text.take_front(end);
    made += word == from ? to : word;
    text = text.drop_front(end);
    made += text.take_front(1);
    text = text.drop_front(std::min<size_t>(1, text.size()));
  }
  return made;
}

/// Of nothing but this type, and of integers that are no weights.
bool isPlain(llvm::StringRef types) {
  return types.contains("f32") && !types.contains("i8") && !types.contains("i4") && !types.contains("u4");
}

} // namespace

llvm::Error computeWider(KernelContext &ctx) { return computeIn(ctx, false); }
llvm::Error computeInReals(KernelContext &ctx) { return computeIn(ctx, true); }

std::vector<KernelRow> widerKernels(llvm::ArrayRef<KernelRow> rows) {
  static std::deque<std::string> texts; // rows refer to theirs
  std::vector<KernelRow> made;
  auto add = [&](const KernelRow &row, std::string types, KernelFunction compute) {
    KernelRow wider = row;
    wider.types = texts.emplace_back(std::move(types));
    wider.body = compute;
    made.push_back(std::move(wider));
  };
  for (const KernelRow &row : rows) {
    if (row.shapes != ShapesFrom::Rule)
      continue;
    llvm::StringRef list = factsOf(row.code).wider, type;
    if (list == "i4 i2 u4") {
      if (row.types.starts_with("any"))
        add(row, withWords(row.types, "any", "i4|i2|u4"), computeWider);
    } else if (isPlain(row.types))
      while (!list.empty()) {
        std::tie(type, list) = list.split(' ');
        if (type == "f16" || type == "bf16")
          add(row, withWords(row.types, "f32", type), computeWider);
        else // which ONE's quantiser stores it in, and no runtime has a kernel for, or one for certain scales only
          add(row, withWords(withWords(row.types, "f32", type.str() + "{t|c}"), "same", "same{t|c}"), computeInReals);
      }
  }
  return made;
}

} // namespace origo::eval
