#include "origin/Word.h"

#include <mutex>
#include <set>

using namespace origo::origin;

const std::string &Word::none() {
  static const std::string empty;
  return empty;
}

Word::Word(llvm::StringRef from) {
  if (from.empty())
    return;
  static std::mutex mutex;
  static auto &vocabulary = *new std::set<std::string, std::less<>>; // outlives every static that holds a word
  std::lock_guard lock(mutex);
  auto found = vocabulary.find(std::string_view(from));
  text = &*(found != vocabulary.end() ? found : vocabulary.insert(from.str()).first);
}
