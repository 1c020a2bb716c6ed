#include "import/Source.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"

#include <algorithm>

namespace origo {

using llvm::support::endian::read16le;
using llvm::support::endian::read32le;

namespace {

constexpr uint64_t endRecordSize = 22, entrySize = 46;
constexpr uint32_t endRecord = 0x06054b50, directoryEntry = 0x02014b50, localHeader = 0x04034b50;

/// The archive's first byte, given its end record; nothing if the directory before it is not one.
std::optional<uint64_t> archiveStart(llvm::ArrayRef<uint8_t> bytes, uint64_t end) {
  const uint8_t *record = bytes.data() + end;
  uint64_t count = read16le(record + 10), size = read32le(record + 12), offset = read32le(record + 16);
  if (size > end)
    return std::nullopt;
  uint64_t directory = end - size;
  // Offsets count from the start of the archive or, where a model's metadata writer appended it, of the whole file.
  if (offset > directory)
    return std::nullopt;
  uint64_t base = directory - offset, start = directory;
  uint64_t at = directory;
  for (uint64_t i = 0; i < count; ++i) {
    if (end - at < entrySize || read32le(bytes.data() + at) != directoryEntry)
      return std::nullopt;
    uint64_t local = base + read32le(bytes.data() + at + 42);
    if (local + 4 > directory || read32le(bytes.data() + local) != localHeader)
      return std::nullopt;
    start = std::min(start, local);
    const uint8_t *entry = bytes.data() + at;
    uint64_t length = entrySize + read16le(entry + 28) + read16le(entry + 30) + read16le(entry + 32);
    if (length > end - at)
      return std::nullopt;
    at += length;
  }
  return at == end ? std::optional(start) : std::nullopt;
}

/// Where the last payload ends. A zip file that is itself a payload is not behind the flatbuffer.
uint64_t endOfPayloads(const Source &source) {
  uint64_t end = 8;
  auto cover = [&](llvm::ArrayRef<uint8_t> bytes) {
    if (!bytes.empty())
      end = std::max<uint64_t>(end, bytes.end() - source.bytes().data());
  };
  if (auto *buffers = source.model->buffers())
    for (const circle::Buffer *buffer : *buffers)
      cover(source.payload(*buffer));
  if (auto *graphs = source.model->subgraphs())
    for (const circle::SubGraph *graph : *graphs)
      if (graph->operators())
        for (const circle::Operator *op : *graph->operators()) {
          if (op->custom_options())
            cover({op->custom_options()->data(), op->custom_options()->size()});
          if (uint64_t at = op->large_custom_options_offset(), size = op->large_custom_options_size();
              at > 1 && source.inFile(at, size)) // where payloads do not matter nobody has looked
            cover(source.bytes().slice(at, size));
        }
  return end;
}

} // namespace

Payload findArchive(const Source &source) {
  llvm::ArrayRef<uint8_t> bytes = source.bytes();
  if (bytes.size() < 8 + endRecordSize)
    return {};
  // The record is the file's last but for a comment, whose length it holds.
  uint64_t last = bytes.size() - endRecordSize, payloads = endOfPayloads(source);
  uint64_t at = std::max(payloads, last - std::min<uint64_t>(last, 0xffff));
  llvm::StringRef text = llvm::toStringRef(bytes);
  Payload found;
  for (; (at = text.find('P', at)) <= last; ++at) {
    if (read32le(bytes.data() + at) != endRecord || read16le(bytes.data() + at + 20) != last - at)
      continue;
    std::optional<uint64_t> start = archiveStart(bytes, at);
    if (start && *start >= payloads)
      found = Payload(source.file, *start, bytes.size() - *start);
  }
  return found;
}

} // namespace origo
