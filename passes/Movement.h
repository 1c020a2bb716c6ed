#pragma once

#include "ir/Model.h"

namespace origo {

/// Does an operator that moves elements leave those that it keeps in their order? A transpose does if it moves
/// dimensions of size 1 only, a strided slice if its strides are positive; false where a constant would have to tell.
bool keepsOrder(const Operator &op);

} // namespace origo
