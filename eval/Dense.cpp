#include "eval/Dense.h"

#include "schema/TensorTypes.h"

namespace origo {

bool isDense(const Value *value) {
  if (!value || !value->isConstant() || value->sparsity() || value->compression || value->externalBuffer ||
      !value->payload().hasBytes())
    return false;
  std::optional<unsigned> bits = bitsPerElement(value->type);
  std::optional<uint64_t> count = value->elementCount();
  return bits && *bits % 8 == 0 && count && value->payload().size() == *count * (*bits / 8);
}

} // namespace origo
