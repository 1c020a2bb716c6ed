#pragma once

#include "eval/RunOperator.h"

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace origo::eval {

/// Resource variables. A RESOURCE tensor holds one int32, the number of the resource.
class Resources {
public:
  /// The number of the resource of this name; it is made where there is none yet.
  int32_t find(llvm::StringRef container, llvm::StringRef name) {
    auto [found, isNew] = numbers.try_emplace({container.str(), name.str()}, static_cast<int32_t>(values.size()));
    if (isNew)
      values.emplace_back();
    return found->second;
  }
  /// Null for a number that stands for nothing.
  std::optional<OwnedTensor> *at(int32_t number) {
    return number >= 0 && static_cast<size_t>(number) < values.size() ? &values[number] : nullptr;
  }

private:
  std::map<std::pair<std::string, std::string>, int32_t> numbers;
  std::vector<std::optional<OwnedTensor>> values; ///< none: not assigned yet
};

} // namespace origo::eval
