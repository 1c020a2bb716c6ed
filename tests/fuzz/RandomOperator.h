#pragma once

#include "eval/Kernels.h"
#include "eval/RealNumbers.h"
#include "schema/TensorTypes.h"

#include <random>

namespace origo::fuzz {

/// Models of one operator, of what the row of a kernel takes and of what it just does not: ranks, dimensions, operands
/// that are absent, scales, options. As text, so that one that fails can be looked at.
class RandomOperator {
public:
  explicit RandomOperator(unsigned seed) : random(seed) {}

  /// Nothing for types that have no numbers.
  std::optional<std::string> make(const eval::Kernel &kernel) {
    constants.clear();
    inputs.clear();
    sizes.assign(kernel.signature.names.size(), 0);
    for (int32_t &size : sizes)
      size = 1 + below(4);
    const OperatorInfo &info = *operatorInfo(kernel.code);
    const eval::KernelSignature &signature = kernel.signature;
    unsigned count = static_cast<unsigned>(signature.operands.size());
    if (signature.operandsRepeat)
      count += static_cast<unsigned>(below(3));
    unsigned odd = below(3) ? ~0u : static_cast<unsigned>(below(static_cast<int>(count) + 1)); // what does not fit
    std::string operands, results, first;
    for (unsigned i = 0; i < count; ++i) {
      const eval::SlotRule &slot = *signature.slot(false, i);
      operands += i ? ", " : "";
      if (slot.optional && below(3) == 0) {
        operands += "_";
        continue;
      }
      auto type = typeOf(slot);
      if (!type)
        return std::nullopt;
      Tensor made = tensor(slot, *type, i, i == odd);
      operandTypes.resize(i + 1);
      operandTypes[i] = *type;
      if (i == 0) {
        base = made.shape;
        first = made.quantization;
      }
      operands += "%o" + std::to_string(i);
      declare("%o" + std::to_string(i), slot, *type, made);
    }
    for (unsigned i = 0; i < signature.results.size(); ++i) {
      const eval::SlotRule &slot = *signature.slot(true, i);
      auto type = typeOf(slot);
      if (!type)
        return std::nullopt;
      std::string quantization = scales(slot, *type, {}, odd == count && i == 0);
      for (const eval::Condition &condition : kernel.conditions)
        if (i == 0 && below(4)) {
          if (condition.kind == eval::Condition::Kind::ResultScale)
            quantization = " q{scale=" + std::to_string(condition.scale) +
                           ", zero_point=" + std::to_string(condition.zeroPoint) + "}";
          // Results have no shape yet, which several scales would need.
          if (condition.kind == eval::Condition::Kind::KeepsQuantization && first.find("dim=") == std::string::npos)
            quantization = first;
        }
      results += (i ? ", %y" : "%y") + std::to_string(i) + ": " + tensorTypeShortName(*type).str() + quantization;
    }
    if (results.empty())
      return std::nullopt;
    return "origo 1\nmodel circle version 0\nsubgraph @main(" + inputs + ") -> (%y0) {\n" + constants + results +
           " = " + info.name.str() + "(" + operands + ")" + options(kernel, info) + "\n}\n";
  }

private:
  struct Tensor {
    eval::Shape shape;
    std::string quantization;
  };
  std::mt19937 random;
  std::string inputs, constants;
  std::vector<int32_t> sizes; ///< of dimensions, by name
  eval::Shape base;           ///< of the first operand
  std::vector<TensorType> operandTypes;

  int below(int bound) { return static_cast<int>(random() % static_cast<unsigned>(bound)); }
  static bool isIndex(TensorType type) { return type == TensorType::INT32 || type == TensorType::INT64; }
  static bool isNarrow(TensorType type) {
    return !eval::isFloat(type) && type != TensorType::BOOL && bitsPerElement(type).value_or(32) <= 16;
  }

  std::optional<TensorType> typeOf(const eval::SlotRule &slot) {
    if (slot.sameAs && *slot.sameAs < operandTypes.size())
      return operandTypes[*slot.sameAs];
    constexpr TensorType numbers[] = {TensorType::FLOAT32, TensorType::INT8,  TensorType::UINT8, TensorType::INT16,
                                      TensorType::INT32,   TensorType::INT64, TensorType::BOOL};
    llvm::SmallVector<TensorType> choices;
    for (TensorType type : slot.types)
      if (llvm::is_contained(numbers, type))
        choices.push_back(type);
    if (choices.empty())
      return std::nullopt;
    return choices[static_cast<size_t>(below(static_cast<int>(choices.size())))];
  }

  Tensor tensor(const eval::SlotRule &slot, TensorType type, unsigned operand, bool odd) {
    Tensor made;
    if (slot.dims) {
      for (int more = slot.moreBefore ? below(3) : 0; more > 0; --more)
        made.shape.push_back(1 + below(3));
      for (const eval::SlotRule::Dim &dim : *slot.dims)
        made.shape.push_back(dim.size >= 0 ? dim.size : dim.name >= 0 ? sizes[dim.name] : 1 + below(4));
    } else if (slot.elements >= 0) {
      made.shape = {sizes[slot.elements]};
    } else if (operand && isIndex(type) && below(4)) {
      int rank = static_cast<int>(base.size());
      const eval::Shape shapes[] = {{}, {1}, {2}, {rank}, {rank, 2}, base};
      made.shape = shapes[below(6)];
    } else if (operand && below(5)) {
      made.shape = base;
      if (!made.shape.empty() && below(3) == 0)
        made.shape[below(static_cast<int>(made.shape.size()))] = 1;
    } else {
      for (int rank = below(5); rank > 0; --rank)
        made.shape.push_back(1 + below(4));
    }
    int how = odd ? below(3) : -1;
    if (how == 0)
      made.shape.insert(made.shape.begin(), 1);
    else if (how == 1 && !made.shape.empty())
      ++made.shape[below(static_cast<int>(made.shape.size()))];
    made.quantization = scales(slot, type, made.shape, how == 2);
    return made;
  }

  std::string scales(const eval::SlotRule &slot, TensorType type, llvm::ArrayRef<int32_t> shape, bool odd) {
    using Rule = eval::SlotRule;
    if (!isNarrow(type) && !(slot.scales && !eval::isFloat(type)))
      return "";
    bool none = slot.scales ? !(slot.scales & Rule::One) || ((slot.scales & Rule::None) && below(2)) : below(2);
    bool several = (slot.scales & Rule::Channels) && below(2);
    if (odd)
      (below(2) ? none : several) ^= true;
    int rank = static_cast<int>(shape.size());
    int axis = rank == 0 ? 0 : odd || !slot.axis ? below(rank) : *slot.axis < 0 ? *slot.axis + rank : *slot.axis;
    const char *const steps[] = {"0.5", "0.25", "0.0078125", "0.03"};
    std::string zero = type == TensorType::INT8 || type == TensorType::UINT8 ? std::to_string(below(2) * 3) : "0";
    if (several && axis >= 0 && axis < rank && shape[axis] > 1) {
      std::string scale, zeros;
      for (int32_t i = 0; i < shape[axis]; ++i) {
        scale += (i ? ", " : "") + std::string(steps[below(4)]);
        zeros += i ? ", 0" : "0";
      }
      return " q{scale=[" + scale + "], zero_point=[" + zeros + "], dim=" + std::to_string(axis) + "}";
    }
    return none ? "" : " q{scale=" + std::string(steps[below(4)]) + ", zero_point=" + zero + "}";
  }

  void declare(const std::string &name, const eval::SlotRule &slot, TensorType type, const Tensor &made) {
    std::string text = name + ": " + tensorTypeShortName(type).str() + "[";
    int64_t count = 1;
    for (size_t i = 0; i < made.shape.size(); ++i) {
      text += (i ? "," : "") + std::to_string(made.shape[i]);
      count *= made.shape[i];
    }
    text += "]" + made.quantization;
    if (below(2) && !(name != "%o0" && isIndex(type))) {
      inputs += (inputs.empty() ? "" : ", ") + text + (made.shape.empty() ? " ranked" : "");
      return;
    }
    text += " = const " + std::string("[");
    for (int64_t i = 0; i < count; ++i)
      text += (i ? ", " : "") + (type == TensorType::BOOL ? (below(2) ? "true" : "false") : std::to_string(below(4)));
    constants += text + "]\n";
  }

  std::string options(const eval::Kernel &kernel, const OperatorInfo &info) {
    std::string text;
    const wire::TableType *table = info.optionsType();
    if (!table)
      return text;
    for (const wire::Field &field : table->fields) {
      if (field.deprecated || !wire::isScalar(field.type))
        continue;
      auto *condition =
          llvm::find_if(kernel.conditions, [&](const eval::Condition &c) { return c.option == field.name; });
      bool heeds = condition != kernel.conditions.end() && below(8);
      std::string value;
      if (field.enumeration && field.enumeration->name == "TensorType")
        continue;
      if (heeds && condition->kind == eval::Condition::Kind::Among)
        value = condition->values[static_cast<size_t>(below(static_cast<int>(condition->values.size())))].str();
      else if (heeds && condition->kind == eval::Condition::Kind::Within)
        value = std::to_string(static_cast<int64_t>(condition->min) + below(2));
      else if (field.enumeration)
        value =
            field.enumeration->values[static_cast<size_t>(below(static_cast<int>(field.enumeration->values.size())))]
                .name.str();
      else if (field.type == wire::Type::Bool)
        value = below(2) ? "true" : "false";
      else if (wire::isReal(field.type))
        value = below(2) ? "1" : "0.5";
      else
        value = std::to_string(below(3));
      text += (text.empty() ? " {" : ", ") + field.name.str() + "=" + value;
    }
    return text.empty() ? text : text + "}";
  }
};

} // namespace origo::fuzz
