#pragma once

#include "llvm/ADT/StringMap.h"

#include <string>
#include <vector>

/// Figures of layers, added up by the scopes of their names.
namespace origo::report {

/// A line of a table by scope. `key` ends with "/" if it is a scope's, and is untrusted like the names that it is from.
struct ScopeLine {
  unsigned level; ///< 1 for the outermost
  std::string key;
};

/// The scopes that the names of some layers span. A scope holds the layers below it and the one of its own name: `a/b/`
/// those named a/b and a/b/c. Where a scope has scopes in it, the layers of it that are in none of those have a line
/// too, `a/ (rest)`, and so have the layers that are in no scope at all. So the lines right below a scope add up to it,
/// and those of level 1 to everything.
class Scopes {
public:
  static constexpr const char *none = "(no scope)";

  void add(llvm::StringRef name); ///< of each layer, before any is asked for

  /// The lines that a layer counts in, from the outside in.
  std::vector<ScopeLine> linesOf(llvm::StringRef name) const;

private:
  llvm::StringMap<bool> scopes; ///< whether there are scopes in it
  std::vector<std::string> scopesOf(llvm::StringRef name) const;
};

} // namespace origo::report
