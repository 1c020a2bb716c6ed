#pragma once

#include "llvm/ADT/Twine.h"

#include <cstdint>
#include <string>

namespace origo::rewrite {

/// The turn of a match, of which there is one at a time in a thread. A question that has no answer is a mistake of the
/// rule's author, for which the engine refuses the rule.
class Turn {
public:
  static void begin();
  /// The first one of a turn is what the refusal says.
  static void mistake(const llvm::Twine &text);
  static const std::string &mistaken(); ///< empty: nothing
};

} // namespace origo::rewrite
