#pragma once

#include "readers/Protocol.h"

#include <string>
#include <vector>

namespace origo::readers {

using Bytes = std::vector<uint8_t>;

/// The answer to a question: bytes, or why there are none.
struct Result {
  Bytes bytes;
  std::string error;
};

template <class T> void append(Bytes &bytes, const T &value) {
  auto *data = reinterpret_cast<const uint8_t *>(&value);
  bytes.insert(bytes.end(), data, data + sizeof(T));
}

/// The HDF5 file behind fileDescriptor. An error: none, or what is wrong.
std::string openHdf5();
Result countHdf5();
Result recordHdf5(uint64_t record, uint64_t limit);

/// The same of a file that holds datasets by any names.
std::string openTensors();
Result namesOfTensors();
Result tensorHdf5(uint64_t number, uint64_t limit);

Result decodeImage(const Bytes &file, uint64_t limit);

} // namespace origo::readers
