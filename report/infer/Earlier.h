#pragma once

#include "ir/Model.h"
#include "origin/OriginMap.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

#include <map>
#include <optional>

namespace origo::report {

/// The map of a result as it was before somebody edited it. Its rows are found again by where they stood, if the
/// fingerprint is that of the file at hand, and else by the names of what they are of. That they are found again proves
/// nothing: what they say is executed as everything else is.
class EarlierMap {
public:
  /// `source`: of both. `target`: what the file at hand is, by its digests and its rows.
  EarlierMap(const origin::OriginMap &map, const origin::Listing &source, const origin::Target &target);

  const origin::OperatorRow *rowOf(const Operator &op) const;
  const origin::TensorRow *rowOf(const Value &value) const;
  /// Do all constants of the file have the bytes that they had, so that what is said of one needs no proof?
  bool hasSameBytes() const { return sameBytes; }
  /// Was a tensor of the file said to be this one of the source?
  bool relates(const Value &value, const Value &tensor) const;

  using Place = std::pair<uint32_t, uint32_t>; ///< subgraph, index
  /// Where it is now that was there. None: nowhere.
  std::optional<Place> operatorNow(Place before) const { return now(operators, before); }
  std::optional<Place> tensorNow(Place before) const { return now(tensors, before); }
  /// The row of an id that was carried by nothing; null: there was none.
  const origin::MapLedgerRow *fateOf(bool isTensor, uint32_t id) const;

private:
  struct Rows {
    std::map<Place, Place> before, now; ///< by where they are now, and by where they were
  };
  const origin::OriginMap &map;
  const origin::Listing &source;
  Rows operators, tensors;
  bool sameBytes = false;

  static std::optional<Place> now(const Rows &rows, Place before) {
    auto at = rows.now.find(before);
    return at == rows.now.end() ? std::nullopt : std::optional(at->second);
  }
};

} // namespace origo::report
