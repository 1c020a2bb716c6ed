#include "eval/KernelSignature.h"

#include "eval/Kernels.h"
#include "eval/RealNumbers.h"
#include "ir/shapes/Rules.h"
#include "schema/TensorTypes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ErrorHandling.h"

#include <cmath>

namespace origo::eval {

namespace {

[[noreturn]] void broken(llvm::StringRef what, llvm::StringRef text) {
  llvm::report_fatal_error("a kernel's row " + llvm::Twine(what) + ": " + text);
}

void addWholeByteTypes(llvm::SmallVectorImpl<TensorType> &types) {
  // The numbers of the types begin at −7.
  for (int number = -16; number < 48; ++number)
    if (auto bits = bitsPerElement(static_cast<TensorType>(number)); bits && *bits % 8 == 0)
      types.push_back(static_cast<TensorType>(number));
}

void parseType(llvm::StringRef name, SlotRule &slot) {
  if (name.consume_front("same")) {
    unsigned operand = 0;
    if (!name.empty() && name.getAsInteger(10, operand))
      broken("says same as no operand", name);
    slot.sameAs = operand;
  } else if (name == "any")
    addWholeByteTypes(slot.types);
  else if (auto type = tensorTypeFromShortName(name))
    slot.types.push_back(*type);
  else
    broken("names a type that does not exist", name);
}

void parseScale(llvm::StringRef name, SlotRule &slot) {
  int axis = 0;
  if (name == "n")
    slot.scales |= SlotRule::None;
  else if (name == "t")
    slot.scales |= SlotRule::One;
  else if (name == "b")
    slot.scales |= SlotRule::Blocks;
  else if (!name.consume_front("c"))
    broken("names no way to quantise", name);
  else {
    slot.scales |= SlotRule::Channels;
    if (!name.empty() && name.getAsInteger(10, axis))
      broken("names no axis", name);
    if (!name.empty())
      slot.axis = axis;
  }
}

int numberOf(llvm::StringRef name, KernelSignature &signature) {
  auto found = llvm::find(signature.names, name);
  int number = static_cast<int>(found - signature.names.begin());
  if (found == signature.names.end())
    signature.names.push_back(name);
  return number;
}

void parseDims(llvm::StringRef text, SlotRule &slot, KernelSignature &signature) {
  if (text.consume_front("#")) {
    slot.elements = numberOf(text, signature);
    return;
  }
  slot.dims.emplace();
  llvm::SmallVector<llvm::StringRef> parts;
  text.split(parts, ',', -1, false);
  for (llvm::StringRef part : parts) {
    SlotRule::Dim dim;
    if (part == ".." && slot.dims->empty() && !slot.moreBefore) {
      slot.moreBefore = true;
      continue;
    }
    if (part.getAsInteger(10, dim.size) && part != "_")
      dim.name = numberOf(part, signature);
    slot.dims->push_back(dim);
  }
}

/// What stands between these brackets at the end of the text, which is cut off.
std::optional<llvm::StringRef> takeBracketed(llvm::StringRef &text, char open, char close) {
  if (text.empty() || text.back() != close)
    return std::nullopt;
  auto [before, inside] = text.drop_back().split(open);
  text = before;
  return inside;
}

SlotRule parseSlot(llvm::StringRef text, KernelSignature &signature) {
  SlotRule slot;
  slot.optional = text.consume_back("?");
  if (auto dims = takeBracketed(text, '[', ']'))
    parseDims(*dims, slot, signature);
  llvm::SmallVector<llvm::StringRef> parts;
  if (auto scales = takeBracketed(text, '{', '}')) {
    scales->split(parts, '|');
    for (llvm::StringRef part : parts)
      parseScale(part, slot);
  }
  parts.clear();
  text.split(parts, '|');
  for (llvm::StringRef part : parts)
    parseType(part, slot);
  return slot;
}

llvm::SmallVector<SlotRule, 4> parseSide(llvm::StringRef text, bool &repeats, KernelSignature &signature) {
  llvm::SmallVector<SlotRule, 4> slots;
  text = text.trim();
  repeats = text.consume_back("...");
  while (!text.empty()) {
    size_t end = 0;
    for (int depth = 0; end < text.size() && (depth || text[end] != ','); ++end)
      depth += text[end] == '[' ? 1 : text[end] == ']' ? -1 : 0;
    slots.push_back(parseSlot(text.take_front(end).trim(), signature));
    text = text.drop_front(std::min(end + 1, text.size()));
  }
  return slots;
}

bool fits(llvm::ArrayRef<SlotRule> slots, bool repeat, llvm::ArrayRef<const Value *> values,
          llvm::ArrayRef<const Value *> operands, bool mayBeAbsent) {
  for (size_t i = 0; i < values.size(); ++i) {
    if (i >= slots.size() && (!repeat || slots.empty()))
      return false;
    if (!values[i] && mayBeAbsent)
      continue;
    if (!slots[std::min(i, slots.size() - 1)].accepts(values[i], operands))
      return false;
  }
  size_t least = slots.size() - (repeat && slots.size() > 1); // what repeats may do so no times
  for (size_t i = values.size(); i < least; ++i)
    if (!slots[i].optional && !mayBeAbsent)
      return false;
  return true;
}

/// `shapeOf(result, i)`: nothing where it is not known, −1 for a dimension that is not; `valueOf(result, i)` may be
/// null.
template <class ShapeOf, class ValueOf>
std::optional<Misfit> checkShapes(const KernelSignature &signature, unsigned operands, unsigned results,
                                  ShapeOf shapeOf, ValueOf valueOf) {
  llvm::SmallVector<int32_t, 8> bound(signature.names.size(), -1);
  auto bind = [&](int name, int64_t size) {
    if (name < 0 || size < 0)
      return true;
    if (bound[name] < 0)
      bound[name] = static_cast<int32_t>(std::min<int64_t>(size, INT32_MAX));
    return bound[name] == size;
  };
  for (bool result : {false, true})
    for (unsigned i = 0, count = result ? results : operands; i < count; ++i) {
      const SlotRule *slot = signature.slot(result, i);
      if (!slot || (!slot->dims && slot->elements < 0 && !(slot->scales & SlotRule::Channels)))
        continue;
      const auto &shape = shapeOf(result, i);
      if (!shape)
        continue;
      auto misfit = [&](const llvm::Twine &what, int64_t expected, int64_t actual) {
        return Misfit{result ? -1 : static_cast<int>(i), (result ? "the result " + what : what).str(),
                      std::to_string(expected), std::to_string(actual)};
      };
      int64_t rank = static_cast<int64_t>(shape->size());
      if (slot->elements >= 0) {
        int64_t elements = 1;
        for (int32_t dim : *shape)
          elements = dim < 0 || elements < 0 ? -1 : times(elements, dim);
        if (!bind(slot->elements, elements))
          return misfit("does not have a number for each " + signature.names[slot->elements], bound[slot->elements],
                        elements);
      }
      if (slot->dims) {
        int64_t named = static_cast<int64_t>(slot->dims->size()), before = rank - named;
        if (slot->moreBefore ? before < 0 : before != 0)
          return misfit(slot->moreBefore ? "has too few dimensions" : "has another rank", named, rank);
        for (auto [d, dim] : llvm::enumerate(*slot->dims)) {
          int32_t size = (*shape)[before + static_cast<int64_t>(d)];
          if (size >= 0 && dim.size >= 0 && size != dim.size)
            return misfit("is of another size in dimension " + llvm::Twine(before + d), dim.size, size);
          if (!bind(dim.name, size))
            return misfit("does not fit in dimension " + llvm::Twine(before + d) + " (" + signature.names[dim.name] +
                              ")",
                          bound[dim.name], size);
        }
      }
      const Value *value = valueOf(result, i);
      if (const Quantization *q = value ? value->quantization : nullptr;
          slot->scales && q && q->scale.size() > 1 && q->details != Quantization::Details::Blockwise)
        if (int32_t axis = q->dimension;
            axis < 0 || axis >= rank ||
            ((*shape)[axis] >= 0 && (*shape)[axis] != static_cast<int64_t>(q->scale.size())))
          return misfit("does not have a scale for each index of dimension " + llvm::Twine(axis),
                        axis < 0 || axis >= rank ? 0 : (*shape)[axis], static_cast<int64_t>(q->scale.size()));
    }
  return std::nullopt;
}

/// How it is quantised must be one of the ways that the row names.
std::optional<std::string> quantisedOtherwise(const SlotRule &slot, const Value &value) {
  const Quantization *q = value.quantization;
  if (!slot.scales || isFloat(value.type) || value.type == TensorType::BOOL)
    return std::nullopt;
  auto refuseUnless = [&](uint8_t wanted, const char *text) {
    return slot.scales & wanted ? std::nullopt : std::optional<std::string>(text);
  };
  if (!q || !q->quantized())
    return refuseUnless(SlotRule::None, "has no scale");
  if (q->details == Quantization::Details::Blockwise)
    return refuseUnless(SlotRule::Blocks, "has scales for blocks");
  if (q->details != Quantization::Details::None)
    return "is quantised in a way that no kernel reads";
  if (q->scale.size() == 1)
    return refuseUnless(SlotRule::One | SlotRule::Channels, "has one scale");
  if (auto refused = refuseUnless(SlotRule::Channels, "has several scales"))
    return refused;
  int axis = slot.axis.value_or(q->dimension);
  if (q->dimension != (axis < 0 ? axis + value.rank() : axis))
    return "has scales along another axis";
  return std::nullopt;
}

const wire::Field *fieldOf(const Operator &op, llvm::StringRef option) {
  const wire::TableType *options = operatorInfo(op.builtinMeant())->optionsType();
  const wire::Field *field = options ? options->find(option) : nullptr;
  if (!field)
    broken("names no option of the operator", option);
  return field;
}

std::optional<Misfit> check(const Condition &condition, const Operator &op) {
  using Kind = Condition::Kind;
  auto isTrue = [&](llvm::StringRef option) { return optionOf(op, *fieldOf(op, option)).number != 0; };
  switch (condition.kind) {
  case Kind::Among: {
    OptionValue value = optionOf(op, *fieldOf(op, condition.option));
    if (llvm::is_contained(condition.values, value.name))
      return std::nullopt;
    return Misfit{-1, condition.option.str() + " has a value without a kernel", llvm::join(condition.values, " or "),
                  value.name.empty() ? std::to_string(static_cast<int64_t>(value.number)) : value.name.str()};
  }
  case Kind::Within: {
    double number = optionOf(op, *fieldOf(op, condition.option)).number;
    if (number >= condition.min && number <= condition.max)
      return std::nullopt;
    return Misfit{-1, condition.option.str() + " is out of range", {}, std::to_string(number)};
  }
  case Kind::NotBoth:
    if (!isTrue(condition.option) || !isTrue(condition.other))
      return std::nullopt;
    return Misfit{-1, condition.option.str() + " and " + condition.other.str() + " exclude each other"};
  case Kind::ResultScale: {
    const Quantization *q = op.result()->quantization;
    if (q && q->scale.size() == 1 && q->scale[0] == condition.scale &&
        (q->zeroPoint.empty() ? 0 : q->zeroPoint[0]) == condition.zeroPoint)
      return std::nullopt;
    return Misfit{-1, "the result must have scale " + std::to_string(condition.scale) + " and zero point " +
                          std::to_string(condition.zeroPoint)};
  }
  case Kind::KeepsQuantization:
    if (sameQuantization(op.operand(0)->quantization, op.result()->quantization))
      return std::nullopt;
    return Misfit{-1, "the result is quantised in another way than the operand"};
  }
  llvm_unreachable("a kind of condition");
}

} // namespace

KernelSignature::KernelSignature(llvm::StringRef text) {
  auto [before, after] = text.split("->");
  operands = parseSide(before, operandsRepeat, *this);
  results = parseSide(after, resultsRepeat, *this);
}

const SlotRule *KernelSignature::slot(bool result, unsigned i) const {
  llvm::ArrayRef<SlotRule> slots = result ? results : operands;
  if (i < slots.size())
    return &slots[i];
  return (result ? resultsRepeat : operandsRepeat) && !slots.empty() ? &slots.back() : nullptr;
}

bool SlotRule::accepts(const Value *value, llvm::ArrayRef<const Value *> operands) const {
  if (!value)
    return optional;
  if (sameAs && *sameAs < operands.size() && operands[*sameAs] && value->type == operands[*sameAs]->type)
    return true;
  return llvm::is_contained(types, value->type);
}

bool KernelSignature::acceptsTypes(const Operator &op) const {
  llvm::SmallVector<const Value *, 8> given, made(op.results().begin(), op.results().end());
  for (unsigned i = 0; i < op.numOperands(); ++i)
    given.push_back(op.operand(i));
  return fits(operands, operandsRepeat, given, given, false) && fits(results, resultsRepeat, made, given, true);
}

OptionValue optionOf(const Operator &op, const wire::Field &field) {
  const OperatorInfo &info = *operatorInfo(op.builtinMeant());
  bool second = info.options == circle::BuiltinOptions::NONE;
  const auto &options = second ? op.options2() : op.options;
  bool isOwn =
      options.member == static_cast<uint8_t>(second ? static_cast<int>(info.options2) : static_cast<int>(info.options));
  const flatbuffers::Table *table = isOwn ? options.table : nullptr;
  if (wire::isReal(field.type))
    return {table ? wire::real(*table, field) : field.defaultReal, {}};
  int64_t integer = table ? wire::integer(*table, field) : field.defaultInteger;
  OptionValue value{static_cast<double>(integer), {}};
  if (field.enumeration) {
    if (const wire::EnumValue *named = field.enumeration->find(integer))
      value.name = named->name;
  } else if (field.type == wire::Type::Bool)
    value.name = integer ? "true" : "false";
  return value;
}

std::optional<Misfit> admits(const Kernel &kernel, const Operator &op) {
  const KernelSignature &signature = kernel.signature;
  auto valueOf = [&](bool result, unsigned i) { return result ? op.result(i) : op.operand(i); };
  for (bool result : {false, true})
    for (unsigned i = 0, count = result ? op.results().size() : op.numOperands(); i < count; ++i)
      if (const Value *value = valueOf(result, i))
        if (const SlotRule *slot = signature.slot(result, i))
          if (auto refused = quantisedOtherwise(*slot, *value))
            return Misfit{result ? -1 : static_cast<int>(i), result ? "the result " + *refused : *refused};
  for (const Condition &condition : kernel.conditions)
    if (auto misfit = check(condition, op))
      return misfit;
  return checkShapes(
      signature, op.numOperands(), op.results().size(),
      [&](bool result, unsigned i) { return inference::shapeOf(valueOf(result, i)); }, valueOf);
}

std::optional<Misfit> admitsShapes(const Kernel &kernel, const KernelContext &context) {
  auto shapeOf = [&](bool, unsigned i) {
    return context.has(i) && context.input(i).rankKnown ? &context.input(i).shape : nullptr;
  };
  return checkShapes(kernel.signature, context.numInputs(), 0, shapeOf,
                     [&](bool, unsigned i) { return context.op.operand(i); });
}

} // namespace origo::eval
