#pragma once

#include "quantize/Records.h"
#include "tools/Driver.h"

#include <set>

namespace origo::tools {

/// Notes, once of each signature, that data without names could be meant in two orders.
inline void noteOrder(llvm::ArrayRef<eval::Port> inputs, const quantize::Records &records) {
  static std::set<std::string> said;
  std::string text = quantize::orderNote(inputs, records);
  if (!text.empty() && said.insert(text).second)
    note(text);
}

} // namespace origo::tools
