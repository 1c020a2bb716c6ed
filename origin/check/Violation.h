#pragma once

#include <cstdint>
#include <string>

namespace origo::origin {

struct Violation {
  int law;              ///< 1 to 11
  std::string text;     ///< one line
  int64_t written = -1; ///< the operator of the written file whose row it is, counted over all subgraphs; −1: of none
};

} // namespace origo::origin
