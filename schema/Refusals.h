#pragma once

#include "llvm/ADT/Twine.h"

#include <string>
#include <system_error>

/// What is said of a model file that cannot be read, by import and by the outside readers of origins alike.
namespace origo::refusal {

inline std::string cannotOpen(std::error_code code) {
  return code == std::errc::is_a_directory ? "is not a file" : "cannot be opened: " + code.message();
}
inline std::string tooShort(size_t bytes) {
  return ("is no model: it has only " + llvm::Twine(bytes) + (bytes == 1 ? " byte" : " bytes")).str();
}
inline constexpr const char *noModel =
    "is neither a circle nor a tflite model: it has no identifier \"CIR0\" or \"TFL3\"";
inline constexpr const char *damaged = "is damaged or truncated: the flatbuffer verifier refuses it";
inline constexpr const char *exhausting =
    "is damaged, or made to exhaust its reader: its tables refer to more than the file can hold";

} // namespace origo::refusal
