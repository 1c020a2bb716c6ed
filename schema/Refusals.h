#pragma once

#include "llvm/ADT/Twine.h"

#include <string>
#include <system_error>

/// What is said of a model file that cannot be read, by import and by the outside readers of origins alike.
namespace origo::refusal {

inline std::string cannotOpen(std::error_code code) {
  return code == std::errc::is_a_directory ? "is not a file" : "cannot be opened: " + code.message();
}
/// Of a file without the identifier of a model: what it is, as far as its bytes tell, and what to do.
std::string noModel(llvm::StringRef bytes);
inline constexpr const char *damaged = "is damaged or truncated: the flatbuffer verifier refuses it";
inline constexpr const char *exhausting =
    "is damaged, or made to exhaust its reader: its tables refer to more than the file can hold";

} // namespace origo::refusal
