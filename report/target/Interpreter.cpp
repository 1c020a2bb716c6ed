#include "report/target/Target.h"

#include "eval/CustomKernels.h"

#include "llvm/ADT/STLExtras.h"

/// The limits of our own interpreter. What it can run is the registry of its kernels, a row for each set of types; so
/// there is one choice for each row, and what all of them together take for each operand.
namespace origo::report {

using eval::SlotRule;

namespace {

/// Slots of a kernel's row for the place `i` of the operator's row.
llvm::ArrayRef<SlotRule> slotsOf(llvm::ArrayRef<SlotRule> slots, bool repeat, llvm::ArrayRef<OperandInfo> row,
                                 size_t i) {
  if (row[i].variadic)
    return slots.drop_front(std::min(i, slots.size() - !slots.empty()));
  if (i < slots.size())
    return slots.slice(i, 1);
  return repeat ? slots.take_back(1) : llvm::ArrayRef<SlotRule>();
}

void add(std::vector<TensorType> &types, llvm::ArrayRef<TensorType> more) {
  types.insert(types.end(), more.begin(), more.end());
  llvm::sort(types);
  types.erase(std::unique(types.begin(), types.end()), types.end());
}

void limitTensor(TensorLimits &tensor, const SlotRule &slot) {
  constexpr std::pair<SlotRule::Scales, QuantizationScheme> schemes[] = {
      {SlotRule::None, QuantizationScheme::None},
      {SlotRule::One, QuantizationScheme::PerTensor},
      {SlotRule::Channels, QuantizationScheme::PerChannel},
      {SlotRule::Blocks, QuantizationScheme::Blockwise}};
  for (auto [scales, scheme] : schemes)
    if (slot.scales & scales) {
      if (!tensor.schemes)
        tensor.schemes.emplace();
      tensor.schemes->push_back(scheme);
    }
  if (slot.axis)
    tensor.axis = *slot.axis;
  if (!slot.dims)
    return;
  int64_t rank = static_cast<int64_t>(slot.dims->size());
  if (llvm::any_of(*slot.dims, [](const SlotRule::Dim &dim) { return dim.size >= 0; }))
    for (const SlotRule::Dim &dim : *slot.dims)
      tensor.shape.push_back(dim.size);
  if (!slot.moreBefore)
    tensor.minRank = tensor.maxRank = rank;
  else if (rank)
    tensor.minRank = rank;
}

/// What must be equal because it has the same name.
void limitDimensions(OperatorLimits &limits, const eval::KernelSignature &signature) {
  std::vector<std::vector<SlotProperty>> groups(signature.names.size());
  for (bool result : {false, true})
    for (auto [i, slot] : llvm::enumerate(result ? signature.results : signature.operands)) {
      Slot at{result, static_cast<unsigned>(i)};
      if (slot.elements >= 0)
        groups[slot.elements].push_back({at, SlotProperty::Elements});
      int64_t count = slot.dims ? static_cast<int64_t>(slot.dims->size()) : 0;
      for (int64_t d = 0; d < count; ++d)
        if (int name = (*slot.dims)[d].name; name >= 0)
          groups[name].push_back({at, SlotProperty::Dimension, slot.moreBefore ? d - count : d});
    }
  for (auto &group : groups)
    if (group.size() > 1)
      limits.same.push_back(std::move(group));
}

/// Adds a condition to all choices; what excludes each other makes two of each.
void limitBy(const eval::Condition &condition, const OperatorInfo &info, std::vector<OperatorLimits> &choices) {
  using Kind = eval::Condition::Kind;
  auto field = [&](llvm::StringRef name) { return info.optionsType()->find(name); };
  auto among = [&](llvm::StringRef option, llvm::ArrayRef<llvm::StringRef> names) {
    AttributeLimits limits{field(option), {}, {}, {{}}};
    for (llvm::StringRef name : names)
      limits.in->push_back({std::nullopt, name.str()});
    return limits;
  };
  if (condition.kind == Kind::NotBoth) {
    std::vector<OperatorLimits> others = choices;
    for (OperatorLimits &choice : choices)
      choice.attributes.push_back(among(condition.option, {"false"}));
    for (OperatorLimits &choice : others)
      choice.attributes.push_back(among(condition.other, {"false"}));
    llvm::append_range(choices, others);
    return;
  }
  for (OperatorLimits &choice : choices)
    switch (condition.kind) {
    case Kind::Among:
      choice.attributes.push_back(among(condition.option, condition.values));
      break;
    case Kind::Within: {
      AttributeLimits limits{field(condition.option), condition.min, condition.max, {}};
      if (condition.max == INT32_MAX)
        limits.max.reset();
      choice.attributes.push_back(std::move(limits));
      break;
    }
    case Kind::ResultScale:
      choice.tensors[{true, 0}].scale = condition.scale;
      choice.tensors[{true, 0}].zeroPoint = condition.zeroPoint;
      break;
    case Kind::KeepsQuantization:
      choice.same.push_back({{{false, 0}, SlotProperty::Quantization}, {{true, 0}, SlotProperty::Quantization}});
      break;
    case Kind::NotBoth:
      break;
    }
}

std::vector<OperatorLimits> choicesOf(const OperatorInfo &info, const eval::Kernel &kernel) {
  const eval::KernelSignature &signature = kernel.signature;
  OperatorLimits limits;
  for (bool result : {false, true})
    for (size_t i = 0; i < (result ? info.results : info.operands).size(); ++i) {
      Slot place{result, static_cast<unsigned>(i)};
      auto slots = result ? slotsOf(signature.results, signature.resultsRepeat, info.results, i)
                          : slotsOf(signature.operands, signature.operandsRepeat, info.operands, i);
      TensorLimits &tensor = limits.tensors[place];
      tensor.dataTypes.emplace();
      tensor.optional = slots.empty() || (result && i > 0);
      for (const SlotRule &slot : slots) {
        tensor.optional |= slot.optional;
        add(*tensor.dataTypes, slot.types);
        limitTensor(tensor, slot);
        if (!slot.sameAs)
          continue;
        add(*tensor.dataTypes, signature.operands[*slot.sameAs].types);
        if (Slot other{false, *slot.sameAs}; place != other && slot.types.empty())
          limits.same.push_back({{other, SlotProperty::Dtype}, {place, SlotProperty::Dtype}});
      }
    }
  limitDimensions(limits, signature);
  std::vector<OperatorLimits> choices = {std::move(limits)};
  for (const eval::Condition &condition : kernel.conditions)
    limitBy(condition, info, choices);
  return choices;
}

} // namespace

Target opSupportLimits() {
  Target target;
  target.name = "eval";
  // Any, but with numbers that can be computed with.
  for (TensorLimits *limits : {&target.input, &target.constant, &target.output})
    limits->schemes.emplace(allSchemes());
  for (const eval::Kernel &kernel : eval::allKernels())
    if (const OperatorInfo *info = operatorInfo(kernel.code))
      llvm::append_range(target.ops[info->name.str()].anyOf, choicesOf(*info, kernel));
  for (auto &[name, limits] : target.ops) {
    if (limits.anyOf.size() == 1) {
      OperatorLimits only = std::move(limits.anyOf.front());
      limits = std::move(only);
      continue;
    }
    for (const OperatorLimits &choice : limits.anyOf)
      for (auto &[slot, tensor] : choice.tensors) {
        TensorLimits &all = limits.tensors[slot];
        if (!all.dataTypes)
          all.dataTypes.emplace();
        add(*all.dataTypes, *tensor.dataTypes);
        all.optional |= tensor.optional;
      }
  }
  for (auto &[name, limits] : target.ops) {
    const OperatorInfo &info = *operatorInfo(name);
    if (info.has(Trait::Unary))
      limits.same.push_back({{{false, 0}, SlotProperty::Shape}, {{true, 0}, SlotProperty::Shape}});
  }
  const OperatorInfo &custom = *operatorInfo(BuiltinOperator::CUSTOM);
  for (const eval::CustomKernel &row : eval::allCustomKernels())
    llvm::append_range(target.ops[("CUSTOM:" + row.customCode).str()].anyOf, choicesOf(custom, row.kernel));
  for (const eval::Kernel &kernel : eval::kernelsOf(BuiltinOperator::ADD)) // Operator::builtinMeant
    if (kernel.conditions.empty())
      llvm::append_range(target.ops["CUSTOM:AddV2"].anyOf, choicesOf(custom, kernel));
  for (const OperatorInfo &info : allOperators())
    if (eval::isControlFlow(info.code))
      target.ops[info.name.str()]; // what it calls is held against the limits by itself
  target.ops["IF"].tensors[{false, 0}].dataTypes = {TensorType::BOOL};
  return target;
}

} // namespace origo::report
