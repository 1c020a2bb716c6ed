#pragma once

#include "eval/Rounding.h"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace origo::eval {

/// What became of comparing two tensors.
struct Verdict {
  enum Kind : uint8_t {
    Equal,     ///< bit for bit, or as real numbers where the type differs
    Within,    ///< floats within the tolerance
    Deviates,  ///< `text` says where and how far
    Unchecked, ///< cannot be compared; `text` is the reason
  } kind = Equal;
  std::string text = {};
};

/// The steps with constants of the source model in the place of the ids of source tensors; without that they are
/// Unchecked. `sources`: who is each source tensor there.
llvm::SmallVector<Step, 2> withConstants(llvm::ArrayRef<Step> steps, const std::map<uint32_t, const Value *> &sources);

/// Does `result` hold what a relation says: `source` with the steps applied in order? Constants that steps refer to are
/// read from the models. `tolerance`: of the source's numbers; none: bit for bit. Integers and quantised numbers always
/// are. NaN equals NaN and nothing else.
Verdict checkRelation(const Tensor &source, llvm::ArrayRef<Step> steps, const Tolerance *tolerance,
                      const Tensor &result);

/// For steps that only move elements, each of the source to one place: `result` becomes `source` with them applied.
/// False for other steps. `inverse`: `source` becomes what `result` says it was.
bool moveAlong(Tensor &source, llvm::ArrayRef<Step> steps, Tensor &result, bool inverse = false);

/// Where the real numbers of a result come from by a relation: number i is that of element `from[i]` of the source,
/// times scale[i], plus shift[i]. Rounding, to integers or to another type, is no part of it.
struct Way {
  bool straight = true;                       ///< each from the element of its own place, as it is; the lists are empty
  std::vector<int64_t> from = {};             ///< −1: the relation does not say what stands here
  std::vector<double> scale = {}, shift = {}; ///< empty: 1 and 0
};

/// Only types and shapes of the two are looked at. None: the steps do not fit, or cannot be followed.
std::optional<Way> wayAlong(const Tensor &source, llvm::ArrayRef<Step> steps, const Tensor &result);

} // namespace origo::eval
