#pragma once

#include "ir/Model.h"

namespace origo {

/// Do two operators of one kind have the same options?
bool sameOptions(const Operator &a, const Operator &b);

} // namespace origo
