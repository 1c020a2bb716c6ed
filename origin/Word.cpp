#include "origin/Word.h"

#include <mutex>
#include <set>

using namespace origo::origin;

const std::string *Word::find(std::string_view from) {
  if (from.empty())
    return nullptr;
  static std::mutex mutex;
  static auto &vocabulary = *new std::set<std::string, std::less<>>; // outlives every static that holds a word
  std::lock_guard lock(mutex);
  auto found = vocabulary.find(from);
  return &*(found != vocabulary.end() ? found : vocabulary.insert(std::string(from)).first);
}
