#pragma once

#include "report/join/Join.h"

/// Rows of a profile of the source itself, by what it calls its operators.
namespace origo::report {

class SourceNames {
public:
  /// `map` may be null, then nothing is found.
  explicit SourceNames(const origin::OriginMap *map) : map(map) {}
  /// Exact where the name and the type are those of one operator of the source, which alone has the time then, whatever
  /// else is in the operators of the written model that do its work.
  bool match(JoinedRow &row);

private:
  using Place = std::pair<uint32_t, uint32_t>; ///< subgraph and index in the written model
  const origin::OriginMap *map;
  bool listed = false;
  std::map<std::string, std::vector<uint32_t>, std::less<>> byName, byResult;
  std::map<uint32_t, std::vector<Place>> places; ///< by the operator of the source

  void list();
};

} // namespace origo::report
