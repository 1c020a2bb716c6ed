#include "quantize/Npz.h"

#include "eval/Npy.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/Endian.h"

#include <zlib.h>

namespace origo::quantize {

using llvm::support::endian::read16le;
using llvm::support::endian::read32le;
using llvm::support::endian::read64le;

namespace {

constexpr uint64_t endRecordSize = 22, entrySize = 46, localSize = 30;
constexpr uint32_t endRecord = 0x06054b50, directoryEntry = 0x02014b50, localHeader = 0x04034b50;

llvm::Error damaged() { return makeError("is a damaged .npz file"); }

/// numpy writes the sizes of its entries as those of a big archive, in an extra field.
void widen(llvm::ArrayRef<uint8_t> extra, uint64_t &size, uint64_t &packed, uint64_t &offset) {
  while (extra.size() >= 4) {
    uint16_t kind = read16le(extra.data()), length = read16le(extra.data() + 2);
    extra = extra.drop_front(4);
    if (length > extra.size())
      return;
    llvm::ArrayRef<uint8_t> field = extra.take_front(length);
    extra = extra.drop_front(length);
    for (uint64_t *number : {&size, &packed, &offset})
      if (kind == 1 && *number == UINT32_MAX && field.size() >= 8) {
        *number = read64le(field.data());
        field = field.drop_front(8);
      }
  }
}

/// The bytes of a raw deflate stream, which says no size itself. False: there are others.
bool inflate(llvm::ArrayRef<uint8_t> packed, std::vector<uint8_t> &bytes) {
  z_stream stream = {};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK)
    return false;
  auto end = llvm::make_scope_exit([&] { inflateEnd(&stream); });
  if (packed.size() > UINT_MAX || bytes.size() > UINT_MAX)
    return false;
  uint8_t none = 0; // where no byte is expected
  stream.next_in = const_cast<uint8_t *>(packed.data());
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = bytes.empty() ? &none : bytes.data();
  stream.avail_out = static_cast<uInt>(bytes.size());
  int state = ::inflate(&stream, Z_FINISH);
  return state == Z_STREAM_END && stream.avail_out == 0;
}

} // namespace

llvm::Expected<std::vector<eval::NamedTensor>> readNpz(llvm::ArrayRef<uint8_t> file) {
  if (file.size() < endRecordSize)
    return makeError("is not a .npz file");
  uint64_t end = file.size() - endRecordSize, lowest = end > UINT16_MAX ? end - UINT16_MAX : 0;
  while (end > lowest && read32le(file.data() + end) != endRecord)
    --end;
  const uint8_t *record = file.data() + end;
  if (read32le(record) != endRecord)
    return makeError("is not a .npz file");
  uint64_t count = read16le(record + 10), at = read32le(record + 16);
  std::vector<eval::NamedTensor> arrays;
  uint64_t total = 0; // entries that overlap would make a small file a big one
  for (uint64_t i = 0; i < count; ++i) {
    if (at > end || end - at < entrySize || read32le(file.data() + at) != directoryEntry)
      return damaged();
    const uint8_t *entry = file.data() + at;
    uint64_t method = read16le(entry + 10), packed = read32le(entry + 20), size = read32le(entry + 24),
             name = read16le(entry + 28), extra = read16le(entry + 30), comment = read16le(entry + 32),
             offset = read32le(entry + 42);
    if (name + extra + comment > end - at - entrySize)
      return damaged();
    llvm::StringRef title(reinterpret_cast<const char *>(entry) + entrySize, name);
    widen({entry + entrySize + name, static_cast<size_t>(extra)}, size, packed, offset);
    constexpr uint64_t stored = 0, deflated = 8, mostPerByte = 1032; // of deflate, whatever is packed
    if (method != stored && method != deflated)
      return makeError("its array \"" + printable(title) + "\" is packed in a way that numpy does not have");
    if (offset > end || end - offset < localSize || read32le(file.data() + offset) != localHeader)
      return damaged();
    uint64_t skip = localSize + read16le(file.data() + offset + 26) + read16le(file.data() + offset + 28);
    if (skip > end - offset || packed > end - offset - skip || (total += packed) > file.size() ||
        (method == stored ? size != packed : size / mostPerByte > packed))
      return damaged();
    llvm::ArrayRef<uint8_t> bytes = file.slice(offset + skip, packed);
    std::vector<uint8_t> inflated(method == deflated ? size : 0);
    if (method == deflated &&
        (!inflate(bytes, inflated) || crc32_z(0, inflated.data(), inflated.size()) != read32le(entry + 16)))
      return damaged();
    auto array = eval::readNpy(method == deflated ? llvm::ArrayRef<uint8_t>(inflated) : bytes);
    if (!array)
      return makeError("its array \"" + printable(title) + "\" " + llvm::toString(array.takeError()));
    title.consume_back(".npy");
    arrays.push_back({title.str(), std::move(*array)});
    at += entrySize + name + extra + comment;
  }
  return arrays;
}

} // namespace origo::quantize
