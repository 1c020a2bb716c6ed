#pragma once

#include "llvm/ADT/StringRef.h"

#include <cstdint>

/// Protocol buffers, taken apart by hand.
namespace origo::report {

/// Goes through the fields of a message.
class Fields {
public:
  explicit Fields(llvm::StringRef bytes) : bytes(bytes) {}

  uint32_t number = 0;
  uint64_t value = 0;   ///< of a varint or a fixed field
  llvm::StringRef text; ///< of a field that has a length
  bool hasText = false;
  bool failed = false;

  bool next() {
    if (bytes.empty() || failed)
      return false;
    uint64_t tag = varint();
    number = static_cast<uint32_t>(tag >> 3);
    hasText = false;
    text = {};
    value = 0;
    if (!number || tag >> 32)
      failed = true;
    switch (tag & 7) {
    case 0:
      value = varint();
      break;
    case 1:
      fixed(8);
      break;
    case 2: {
      uint64_t size = varint();
      failed |= size > bytes.size();
      if (!failed) {
        text = bytes.take_front(size);
        bytes = bytes.drop_front(size);
        hasText = true;
      }
      break;
    }
    case 5:
      fixed(4);
      break;
    default: // groups are not used here
      failed = true;
    }
    return !failed;
  }

private:
  llvm::StringRef bytes;

  uint64_t varint() {
    uint64_t result = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      if (bytes.empty())
        break;
      uint64_t byte = static_cast<uint8_t>(bytes.front());
      bytes = bytes.drop_front();
      result |= (byte & 127) << shift;
      if (byte < 128)
        return result;
    }
    failed = true;
    return 0;
  }
  void fixed(size_t size) {
    failed |= bytes.size() < size;
    bytes = bytes.drop_front(std::min(bytes.size(), size));
  }
};

/// Calls `visit` with each field; false stops.
template <class Visit> bool forEachField(llvm::StringRef bytes, Visit visit) {
  Fields fields(bytes);
  while (fields.next())
    if (!visit(fields))
      return false;
  return !fields.failed;
}

} // namespace origo::report
