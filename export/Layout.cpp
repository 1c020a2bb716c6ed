#include "export/Layout.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/MathExtras.h"

namespace origo {

using flatbuffers::uoffset_t;
using llvm::support::endian::read16le;
using llvm::support::endian::read32le;
using llvm::support::endian::write32le;
using llvm::support::endian::write64le;

namespace {

constexpr uint64_t payloadAlignment = 16; // force_align of Buffer.data

/// A payload that the kernel copies within its page cache is moved a third faster if it keeps its place in a folio. Of
/// small ones the padding would be too much. Computed and odd ones get the first place, so that the layout does not
/// depend on how a constant came about.
constexpr uint64_t largePayload = 1 << 20, folio = 64 << 10;

/// A vector's length stands right before its bytes, and these are aligned.
uint64_t nextPosition(const Reference &reference, uint64_t end) {
  uint64_t position = llvm::alignTo(end + (reference.isInline() ? sizeof(uoffset_t) : 0), payloadAlignment);
  const Payload &payload = *reference.payload;
  if (payload.size() < largePayload)
    return position;
  uint64_t place = payload.file() ? payload.offset() % folio : 0;
  return llvm::alignTo(position, folio, place % payloadAlignment ? 0 : place);
}

} // namespace

Layout::Layout(const Model &model, Tables &tables, std::vector<std::string> *notes)
    : model(model), tables(tables), archive(model.archive) {
  place();
  if (!fits())
    return;
  patch();
  if (!archive.empty())
    moveArchive(total - archive.size(), notes);
}

void Layout::place() {
  llvm::stable_sort(tables.references, [](const Reference &a, const Reference &b) {
    return std::pair(a.ofMap(), !a.isInline()) < std::pair(b.ofMap(), !b.isInline());
  });
  uint64_t end = inlineEnd = tables.builder.GetSize();
  // In a file, several buffers may be one piece of it. It stays one: that of the first.
  auto piece = [](const Reference &reference) {
    return std::tuple(reference.payload->identity(), reference.payload->size(), reference.isInline());
  };
  std::vector<Reference *> byPiece;
  for (Reference &reference : tables.references)
    byPiece.push_back(&reference);
  llvm::stable_sort(byPiece, [&](const Reference *a, const Reference *b) { return piece(*a) < piece(*b); });
  llvm::DenseMap<const Reference *, const Reference *> firsts; // of those that repeat another
  for (size_t i = 1; i < byPiece.size(); ++i)
    if (piece(*byPiece[i - 1]) == piece(*byPiece[i])) {
      const Reference *first = firsts.lookup(byPiece[i - 1]);
      firsts[byPiece[i]] = first ? first : byPiece[i - 1];
    }
  for (Reference &reference : tables.references) {
    const Reference *first = firsts.lookup(&reference);
    reference.repeated = first;
    reference.position = first ? first->position : nextPosition(reference, end);
    if (first)
      continue;
    end = reference.position + reference.payload->size();
    if (reference.isInline())
      inlineEnd = end;
  }
  total = end + archive.size();
}

void Layout::patch() {
  uint8_t *bytes = tables.bytes().data();
  for (const Reference &reference : tables.references) {
    if (reference.isInline()) {
      write32le(bytes + reference.at, reference.position - sizeof(uoffset_t) - reference.at);
    } else {
      write64le(bytes + reference.at, reference.position);
      write64le(bytes + reference.sizeAt, reference.payload->size());
    }
  }
}

void Layout::write(OutputFile &file) {
  file.copy(tables.bytes(), tables.room.file());
  for (const auto &[done, reference] : llvm::enumerate(tables.references)) {
    if (done % 1024 == 0)
      model.restFiles();
    if (reference.repeated)
      continue;
    uint64_t header = reference.isInline() ? sizeof(uoffset_t) : 0;
    file.zeros(reference.position - header - file.position());
    if (header) {
      uint8_t length[sizeof(uoffset_t)];
      write32le(length, reference.payload->size());
      file.write(length);
    }
    file.copy(*reference.payload);
    if (file.failed())
      return;
  }
  file.copy(archive.bytes().drop_back(archiveTail.size()), archive.file());
  file.write(llvm::arrayRefFromStringRef(archiveTail));
}

namespace zip {

constexpr size_t endRecordSize = 22, entrySize = 46;
constexpr size_t longestComment = 65535;
constexpr uint32_t endSignature = 0x06054b50, entrySignature = 0x02014b50;

/// Position of the end record: the last one whose comment ends with the archive.
std::optional<size_t> findEndRecord(llvm::ArrayRef<uint8_t> archive) {
  if (archive.size() < endRecordSize)
    return std::nullopt;
  for (size_t comment = 0; comment <= longestComment && endRecordSize + comment <= archive.size(); ++comment) {
    size_t at = archive.size() - endRecordSize - comment;
    if (read32le(archive.data() + at) == endSignature && read16le(archive.data() + at + 20) == comment)
      return at;
  }
  return std::nullopt;
}

/// Adds `shift` to an offset; false if it does not fit any more.
bool move(uint8_t *at, int64_t shift) {
  int64_t moved = read32le(at) + shift;
  if (moved < 0 || moved >= 0xffffffff)
    return false;
  write32le(at, moved);
  return true;
}

/// Directory and end record with all offsets moved; nothing if they are not understood.
std::optional<std::string> moveDirectory(llvm::ArrayRef<uint8_t> tail, size_t directorySize, int64_t shift) {
  std::string moved = llvm::toStringRef(tail).str();
  auto *bytes = reinterpret_cast<uint8_t *>(moved.data());
  size_t at = 0;
  while (at < directorySize) {
    if (directorySize - at < entrySize || read32le(bytes + at) != entrySignature || !move(bytes + at + 42, shift))
      return std::nullopt;
    at += entrySize + read16le(bytes + at + 28) + read16le(bytes + at + 30) + read16le(bytes + at + 32);
  }
  if (at != directorySize || !move(bytes + directorySize + 16, shift))
    return std::nullopt;
  return moved;
}

} // namespace zip

/// Some writers count a zip's offsets from the start of the model file, some from the start of the archive. The former
/// have to follow it when it moves.
void Layout::moveArchive(uint64_t position, std::vector<std::string> *notes) {
  std::optional<size_t> end = zip::findEndRecord(archive.bytes());
  if (!end)
    return;
  const uint8_t *record = archive.bytes().data() + *end;
  uint64_t directorySize = read32le(record + 12), directoryOffset = read32le(record + 16);
  // Where the archive began when its offsets were written: 0 if they count from its own start.
  int64_t base = static_cast<int64_t>(directoryOffset) - static_cast<int64_t>(*end - directorySize);
  int64_t shift = static_cast<int64_t>(position) - base;
  if (directorySize <= *end && (base == 0 || shift == 0))
    return;
  bool fromFile = directorySize <= *end && base > 0;
  std::optional<std::string> moved;
  if (fromFile)
    moved = zip::moveDirectory(archive.bytes().drop_front(*end - directorySize), directorySize, shift);
  if (moved)
    archiveTail = std::move(*moved);
  else if (notes)
    notes->push_back("the zip archive behind the model is copied as it is: its offsets could not be adjusted");
}

} // namespace origo
