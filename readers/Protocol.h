#pragma once

#include <cstdint>

/// What goes over the socket between a tool and its reader, in the machine's own byte order. The tool asks, the reader
/// answers each question with an Answer and its bytes; the tool believes neither sizes nor types.
///
/// origo-reader hdf5 LIMIT: the file is descriptor 3. A question is a number: Count, or a record's.
///   Count: uint64 records, uint8 raw (types and shapes of the file mean nothing).
///   A record: for each input an Array, its dimensions as uint64, its elements.
/// origo-reader tensors LIMIT: the file is descriptor 3, of HDF5. A question is a number: Count, or a dataset's.
///   Count: the names of all datasets with those of their groups, each ended by a zero.
///   A dataset: an Array, its dimensions as uint64, its elements.
/// origo-reader image LIMIT: a question is a uint64 size and the file of that size.
///   The answer: a Picture, its pixels by rows, channels side by side.
/// LIMIT: bytes that an answer may have.
namespace origo::readers {

constexpr int socketDescriptor = 0, fileDescriptor = 3;
constexpr uint64_t countQuestion = UINT64_MAX;
constexpr uint32_t answerMagic = 0x4f524452, maxRank = 8;

struct Answer {
  uint32_t magic = answerMagic;
  uint32_t failed = 0; ///< the bytes are a text that says why
  uint64_t size = 0;
};

struct Array {
  uint32_t kind = 0; ///< 'f' float, 'i' signed, 'u' unsigned, 'b' boolean
  uint32_t elementSize = 0;
  uint32_t rank = 0;
  uint32_t unused = 0;
  uint64_t size = 0; ///< in bytes
};

struct Picture {
  uint32_t width = 0, height = 0, channels = 0, unused = 0; ///< channels: 1 grey, 3 red green blue; 8 bits each
};

} // namespace origo::readers
