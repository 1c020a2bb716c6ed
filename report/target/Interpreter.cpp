#include "report/target/Target.h"

#include "eval/CustomKernels.h"
#include "eval/KernelTypes.h"

#include "llvm/ADT/STLExtras.h"

/// The limits of our own interpreter. What it can run is the registry of its kernels, a row for each set of types; so
/// there is one choice for each row, and what all of them together take for each operand.
namespace origo::report {

using eval::TypeList;
using eval::TypeSlot;

namespace {

/// Slots of a kernel's row for the place `i` of the operator's row.
llvm::ArrayRef<TypeSlot> slotsOf(llvm::ArrayRef<TypeSlot> slots, bool repeat, llvm::ArrayRef<OperandInfo> row,
                                 size_t i) {
  if (row[i].variadic)
    return slots.drop_front(std::min(i, slots.size() - !slots.empty()));
  if (i < slots.size())
    return slots.slice(i, 1);
  return repeat ? slots.take_back(1) : llvm::ArrayRef<TypeSlot>();
}

void add(std::vector<TensorType> &types, llvm::ArrayRef<TensorType> more) {
  types.insert(types.end(), more.begin(), more.end());
  llvm::sort(types);
  types.erase(std::unique(types.begin(), types.end()), types.end());
}

/// Are elements of these types numbers only by way of a scale?
bool wantScale(llvm::ArrayRef<TensorType> types) {
  return llvm::all_of(types, [](TensorType type) {
    return llvm::is_contained({TensorType::INT4, TensorType::UINT4, TensorType::INT8, TensorType::UINT8,
                               TensorType::INT16, TensorType::UINT16},
                              type);
  });
}

/// Options that are steps or sizes, and so are at least 1.
bool isExtent(llvm::StringRef option) {
  return option.starts_with("stride_") || option.starts_with("dilation_") || option.starts_with("filter_") ||
         option == "block_size";
}

OperatorLimits limitsOf(const OperatorInfo &info, const eval::KernelRow &row, const TypeList &list) {
  bool needsScales = eval::needsScales(row);
  OperatorLimits limits;
  for (bool result : {false, true})
    for (size_t i = 0; i < (result ? info.results : info.operands).size(); ++i) {
      Slot slot{result, static_cast<unsigned>(i)};
      auto slots = result ? slotsOf(list.results, list.resultsRepeat, info.results, i)
                          : slotsOf(list.operands, list.operandsRepeat, info.operands, i);
      TensorLimits &tensor = limits.tensors[slot];
      tensor.dataTypes.emplace();
      tensor.optional = slots.empty() || (result && i > 0);
      for (const TypeSlot &types : slots) {
        tensor.optional |= types.optional;
        add(*tensor.dataTypes, types.types);
        if (!types.sameAs)
          continue;
        add(*tensor.dataTypes, list.operands[*types.sameAs].types);
        if (Slot other{false, *types.sameAs}; slot != other && types.types.empty())
          limits.same.push_back({{other, SlotProperty::Dtype}, {slot, SlotProperty::Dtype}});
      }
      if (needsScales && !tensor.dataTypes->empty() && wantScale(*tensor.dataTypes) && !(result && i > 0))
        tensor.schemes = {Scheme::PerTensor};
      if (tensor.schemes && eval::takesChannels(row, slot.index, result))
        tensor.schemes->push_back(Scheme::PerChannel);
      if (tensor.schemes && !result && eval::takesBlocks(row, slot.index))
        tensor.schemes->push_back(Scheme::Blockwise);
    }
  if (eval::keepsQuantization(row))
    limits.same.push_back({{{false, 0}, SlotProperty::Quantization}, {{true, 0}, SlotProperty::Quantization}});
  return limits;
}

} // namespace

Target opSupportLimits() {
  Target target;
  target.name = "eval";
  // Any, but with numbers that can be computed with.
  for (TensorLimits *limits : {&target.input, &target.constant, &target.output})
    limits->schemes.emplace(allSchemes());
  for (auto [row, list] : llvm::zip_equal(eval::allKernels(), eval::kernelTypes()))
    if (const OperatorInfo *info = operatorInfo(row.code))
      target.ops[info->name.str()].anyOf.push_back(limitsOf(*info, row, list));
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
  for (const eval::OperandRank &row : eval::operandRanks()) {
    auto found = target.ops.find(operatorInfo(row.code)->name.str());
    if (found == target.ops.end())
      continue;
    TensorLimits &limits = found->second.tensors[{false, row.operand}];
    limits.minRank = limits.maxRank = row.rank;
  }
  for (const eval::ChannelAxis &row : eval::channelAxes())
    target.ops[operatorInfo(row.code)->name.str()].tensors[{false, row.operand}].axis = row.axis;
  for (const eval::OptionRange &row : eval::optionRanges()) {
    const OperatorInfo &info = *operatorInfo(row.code);
    AttributeLimits limits{info.optionsType()->find(row.option), row.min, row.max, {}};
    if (!row.only.empty())
      limits.in = {{std::nullopt, row.only.str()}};
    target.ops[info.name.str()].attributes.push_back(std::move(limits));
  }
  for (auto &[name, limits] : target.ops) {
    const OperatorInfo &info = *operatorInfo(name);
    if (info.has(Trait::Unary))
      limits.same.push_back({{{false, 0}, SlotProperty::Shape}, {{true, 0}, SlotProperty::Shape}});
    if (const wire::TableType *options = info.optionsType())
      for (const wire::Field &field : options->fields)
        if (isExtent(field.name))
          limits.attributes.push_back({&field, 1, {}, {}});
  }
  const OperatorInfo &custom = *operatorInfo(BuiltinOperator::CUSTOM);
  for (const eval::CustomKernelRow &row : eval::allCustomKernels())
    target.ops[("CUSTOM:" + row.customCode).str()].anyOf.push_back(
        limitsOf(custom, row.kernel, eval::parseTypes(row.kernel.types)));
  for (auto [row, list] : llvm::zip_equal(eval::allKernels(), eval::kernelTypes()))
    if (row.code == BuiltinOperator::ADD) // Operator::builtinMeant
      target.ops["CUSTOM:AddV2"].anyOf.push_back(limitsOf(custom, row, list));
  for (const OperatorInfo &info : allOperators())
    if (eval::isControlFlow(info.code))
      target.ops[info.name.str()]; // what it calls is held against the limits by itself
  target.ops["IF"].tensors[{false, 0}].dataTypes = {TensorType::BOOL};
  return target;
}

} // namespace origo::report
