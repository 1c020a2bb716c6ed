#include "ir/Activation.h"

namespace origo {

circle::ActivationFunctionType activationOf(const Operator &op) {
  const OperatorInfo *row = op.info();
  if (!row || !row->has(Trait::FusedActivation) || !op.options.table || !row->optionsType())
    return circle::ActivationFunctionType::NONE;
  const wire::Field *field = row->optionsType()->find("fused_activation_function");
  return field ? static_cast<circle::ActivationFunctionType>(wire::integer(*op.options.table, *field))
               : circle::ActivationFunctionType::NONE;
}

} // namespace origo
