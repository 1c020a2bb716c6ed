#pragma once

#include <string>

namespace origo::origin {

struct Violation {
  int law;          ///< 1 to 11
  std::string text; ///< one line
};

} // namespace origo::origin
