#pragma once

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace origo::report {

/// Refuses what is no JSON, is nested deeply, or has a key twice, of which a reader would silently drop one.
llvm::Error checkJson(llvm::StringRef text);
/// An element of a list of events. What holds its members is used for the next one again.
class ListedEvent {
public:
  static constexpr size_t mostMembers = 64;

  ListedEvent();
  ~ListedEvent();
  bool isObject = false;
  const nlohmann::json *find(llvm::StringRef key) const; ///< null where it has none
  llvm::StringRef text(llvm::StringRef key) const;       ///< of a member that is a string; else empty
  nlohmann::json *add(llvm::StringRef key);              ///< null where it has one, or has too many
  bool isFull() const { return size == mostMembers; }
  void clear();

private:
  size_t size = 0;
  std::vector<std::pair<std::string, nlohmann::json>> members; ///< of which `size` count
};
/// The elements of the list that the text is, or that its object has as "traceEvents", one after the other, checked
/// likewise: there may be a million, and `visit` may keep none. An error of `visit` comes with the number of the
/// element.
llvm::Error forEachEvent(llvm::StringRef text, llvm::function_ref<llvm::Error(const ListedEvent &)> visit);

} // namespace origo::report
