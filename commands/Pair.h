#pragma once

#include "import/Import.h"
#include "origin/OriginMap.h"

/// What two models that no origin map ties have in common, for who looks at them side by side. It is a guess: of names,
/// and of what lies between operators whose names are the same.
namespace origo::commands {

struct GuessedMap {
  std::shared_ptr<const origin::OriginMap> map;
  std::string words; ///< how many were paired, for people
};

GuessedMap pairByNames(const Imported &result, const Imported &source);

} // namespace origo::commands
