#pragma once

#include "eval/RunOperator.h"

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace origo::eval {

/// Resource variables and hash tables. A RESOURCE tensor holds one int32, the number of the resource.
class Resources {
public:
  /// Told of numbers that no result has, if anyone wants to know: a variable's each time that LSTM or SVDF has changed
  /// it, and those that the intermediates of an LSTM of floats stand for.
  std::function<void(const Value &value, llvm::ArrayRef<float> numbers)> within;

  struct Table {
    TensorType keys, values; ///< INT64 and STRING, or the other way round
    bool filled = false;
    std::map<std::string, int64_t> numbers; ///< of strings
    std::map<int64_t, std::string> strings; ///< of numbers
    size_t size() const { return numbers.size() + strings.size(); }
  };
  struct Resource {
    std::optional<OwnedTensor> variable; ///< none: not assigned yet
    std::optional<Table> table;
  };

  /// The number of the variable of this name; it is made where there is none yet.
  int32_t variable(llvm::StringRef container, llvm::StringRef name) {
    return numberOf(variables, {container.str(), name.str()});
  }
  /// The same of a hash table.
  int32_t table(int32_t id, TensorType keys, TensorType values) {
    int32_t number = numberOf(tables, id);
    if (!all[number].table)
      all[number].table.emplace(Table{keys, values, false, {}, {}});
    return number;
  }
  /// Null for a number that stands for nothing.
  Resource *at(int32_t number) {
    return number >= 0 && static_cast<size_t>(number) < all.size() ? &all[number] : nullptr;
  }

  /// Takes so many bytes more, if there is room.
  bool take(uint64_t bytes) {
    if (bytes > room)
      return false;
    room -= bytes;
    used += bytes;
    return true;
  }
  void giveBack(uint64_t bytes) {
    room += bytes;
    used -= bytes;
  }
  uint64_t used = 0; ///< bytes
  uint64_t room = 0; ///< bytes that may be taken; set before each operator

private:
  std::map<std::pair<std::string, std::string>, int32_t> variables;
  std::map<int32_t, int32_t> tables;
  std::vector<Resource> all;

  template <class Key> int32_t numberOf(std::map<Key, int32_t> &numbers, Key key) {
    auto [found, isNew] = numbers.try_emplace(std::move(key), static_cast<int32_t>(all.size()));
    if (isNew)
      all.emplace_back();
    return found->second;
  }
};

} // namespace origo::eval
