#pragma once

#include "report/target/Target.h"

/// What the two readers of limits share.
namespace origo::report {

/// An operand or result by the name that WebNN gives it.
std::optional<Slot> webnnSlot(const OperatorInfo &info, llvm::StringRef name);

/// {"max": 1}
std::string attributeJson(const AttributeLimits &limits);
std::string limitsJson(const NumberLimits &limits);
std::string limitsJson(const ListLimits &limits);
std::string limitsJson(const DimensionLimits &limits);
std::string dataTypeName(TensorType type); ///< "float32"

} // namespace origo::report
