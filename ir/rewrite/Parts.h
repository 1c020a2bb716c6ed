#pragma once

#include "ir/Model.h"

/// Tensors that are put together, and parts of them that are taken out again.
namespace origo::rewrite {

/// Positions [begin, end) along a dimension.
struct Positions {
  int64_t begin, end;
  bool meets(Positions other) const { return begin < other.end && other.begin < end; }
  bool holds(Positions other) const { return begin <= other.begin && other.end <= end; }
};

/// The dimension along which CONCATENATION or PACK put their operands together; none: it is another operator, not
/// known, or they are too many to look through.
std::optional<int> joinedAlong(const Operator &op);
/// Where it puts operand `i`.
std::optional<Positions> placeOf(const Operator &joined, unsigned i);
/// What SLICE, STRIDED_SLICE or GATHER, with constants that tell, take of their first operand along a dimension:
/// nothing outside of these positions. Of SPLIT and UNPACK, what somebody uses of it; they go along `axis`, or it is
/// unknown.
std::optional<Positions> takenFrom(const Operator &part, int axis);
/// Where result `i` of SPLIT or UNPACK lies along the dimension that they go along, if it is `axis`.
std::optional<Positions> placeOfPart(const Operator &part, unsigned i, int axis);

} // namespace origo::rewrite
