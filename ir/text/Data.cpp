#include "ir/text/Data.h"

#include "schema/RunFiles.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/xxhash.h"

#include <cstdlib>

namespace origo::text {

using llvm::ArrayRef;
using llvm::StringRef;

constexpr uint64_t smallLimit = 32 << 20, batchSize = 4 << 20;
constexpr uint64_t fileAlignment = 64;

std::optional<uint64_t> expectedBytes(const Value &value) {
  std::optional<uint64_t> count = value.elementCount();
  return count ? payloadBytes(value.type, *count) : std::nullopt;
}

void DataWriter::reference(llvm::raw_ostream &os, const Payload &payload, std::optional<uint64_t> expectedSize) {
  if (!payload.hasBytes()) {
    os << "digest ";
    printQuoted(os, payload.digestText());
  } else if (options.dataFile.empty()) {
    llvm::XXH128_hash_t hash = llvm::xxh3_128bits(payload.bytes());
    os << "digest \"xxh3:" << llvm::format_hex_no_prefix(hash.high64, 16) << llvm::format_hex_no_prefix(hash.low64, 16)
       << '"';
  } else {
    if (!stream && error.empty())
      open();
    uint64_t offset = llvm::alignTo(written, fileAlignment);
    if (stream) {
      stream->write_zeros(offset - written);
      stream->write(reinterpret_cast<const char *>(payload.bytes().data()), payload.size());
    }
    written = offset + payload.size();
    os << "file ";
    printQuoted(os, llvm::sys::path::filename(options.dataFile));
    os << " offset " << offset;
  }
  if (expectedSize != payload.size())
    os << " size " << payload.size();
}

void DataWriter::constant(llvm::raw_ostream &os, const Value &value) {
  const Payload &payload = value.payload();
  std::optional<uint64_t> count = value.elementCount();
  if (payload.hasBytes() && count) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    if (printSplat(stream, value.type, payload.bytes(), *count)) {
      os << "splat " << text;
      return;
    }
    if (payload.size() <= options.inlineBytes && printElements(os, value.type, payload.bytes(), *count))
      return;
  }
  if (payload.hasBytes() && payload.size() <= options.inlineBytes)
    printHex(os, payload.bytes());
  else
    reference(os, payload, expectedBytes(value));
}

/// Text that may be padded with zeros.
static bool looksLikeText(ArrayRef<uint8_t> bytes) {
  while (!bytes.empty() && bytes.back() == 0)
    bytes = bytes.drop_back();
  return llvm::all_of(bytes, [](uint8_t c) { return llvm::isPrint(c); });
}

void DataWriter::bytes(llvm::raw_ostream &os, const Payload &payload) {
  if (!payload.hasBytes() || payload.size() > options.inlineBytes)
    reference(os, payload, std::nullopt);
  else if (looksLikeText(payload.bytes()))
    printQuoted(os, StringRef(reinterpret_cast<const char *>(payload.bytes().data()), payload.size()));
  else
    printHex(os, payload.bytes());
}

void DataWriter::open() {
  if (StringRef why = refusedOutput(options.dataFile); !why.empty()) {
    error = why.str();
    return;
  }
  if (int code = file.open(options.dataFile)) {
    error = llvm::sys::StrError(code);
    return;
  }
  stream = std::make_unique<llvm::raw_fd_ostream>(file.descriptor(), /*shouldClose=*/false);
}

DataWriter::~DataWriter() {
  if (stream)
    stream->clear_error();
}

llvm::Error DataWriter::finish() {
  if (stream) {
    stream->flush();
    if (stream->has_error())
      error = stream->error().message();
    stream->clear_error();
    stream.reset();
    int code = error.empty() ? file.settle() : 0;
    if (error.empty() && !code)
      code = file.place();
    if (code)
      error = llvm::sys::StrError(code);
  }
  return error.empty() ? llvm::Error::success() : inFile(options.dataFile, makeError("cannot be written: " + error));
}

bool DataReader::constant(const Value &value, Payload &payload) { return data(&value, payload); }

bool DataReader::list(const Value &value, Payload &payload) {
  Token where = reader.token;
  std::string bytes;
  std::optional<uint64_t> needed = value.elementCount();
  uint64_t count;
  if (!needed)
    return reader.fail("elements cannot be given, because the shape does not tell how many there are");
  if (!parseElements(reader, value.type, bytes, count))
    return false;
  if (count != *needed)
    return reader.failAt(where, "expected " + llvm::Twine(*needed) + " elements, found " + llvm::Twine(count));
  if (count)
    payload = Payload::owned(std::move(bytes));
  return true;
}

uint64_t DataReader::mostGenerated(uint64_t length) {
  const char *said = std::getenv("ORIGO_TEXT_LIMIT");
  uint64_t limit;
  if (said && !StringRef(said).getAsInteger(10, limit))
    return limit;
  constexpr uint64_t always = 256 << 20, perByte = 64 << 10;
  return always + perByte * length;
}

bool DataReader::generate(const Token &where, const Value &value, Payload &payload, Fill fill) {
  std::optional<uint64_t> size = expectedBytes(value);
  if (!size)
    return reader.failAt(where, "the shape does not tell how many elements there are");
  if (*size > most - std::min(most, generated))
    return reader.failAt(where, "splats and seeds stand for more than " + llvm::Twine(most >> 20) +
                                    " MB, the most that a text of this length may ask for; set ORIGO_TEXT_LIMIT to a "
                                    "number of bytes");
  generated += *size;
  if (*size <= PayloadStore::spillAbove && (generatedSmall += *size) > smallLimit) {
    pending.push_back({&payload, batch.size(), *size});
    batch.resize(batch.size() + *size);
    fill({reinterpret_cast<uint8_t *>(batch.data()) + pending.back().offset, static_cast<size_t>(*size)}, 0);
    batch.resize(llvm::alignTo(batch.size(), fileAlignment));
    return batch.size() < batchSize || flush();
  }
  llvm::Expected<Payload> made = store.make(*size, fill);
  if (!made)
    return reader.fail(llvm::toString(made.takeError()));
  payload = std::move(*made);
  return true;
}

bool DataReader::flush() {
  if (pending.empty())
    return true;
  llvm::Expected<Payload> made = store.make(batch.size(), [&](llvm::MutableArrayRef<uint8_t> window, uint64_t offset) {
    std::memcpy(window.data(), batch.data() + offset, window.size());
  });
  if (!made)
    return reader.fail(llvm::toString(made.takeError()));
  for (const Pending &item : pending)
    *item.target = made->slice(item.offset, item.size);
  pending.clear();
  batch.clear();
  return true;
}

bool DataReader::finish() { return flush(); }

/// `size N`, which may be left out where the tensor tells it.
bool DataReader::size(const Value *value, uint64_t &size) {
  if (reader.acceptWord("size"))
    return reader.unsigned64(size, "a number of bytes");
  std::optional<uint64_t> expected = value ? expectedBytes(*value) : std::nullopt;
  if (!expected)
    return reader.expected("'size', because it is not known otherwise");
  size = *expected;
  return true;
}

bool DataReader::fileSlice(const Value *value, Payload &payload) {
  Token where = reader.token;
  std::string name;
  if (!reader.string(name, "a file name"))
    return false;
  if (name.empty() || StringRef(name).contains('/') || StringRef(name).contains('\0') ||
      StringRef(name).contains("..") || name == "." || name == "-")
    return reader.failAt(where, "expected the name of a file in the directory of the text");
  uint64_t offset, bytes;
  if (!reader.expectWord("offset") || !reader.unsigned64(offset, "a number of bytes") || !size(value, bytes))
    return false;
  std::shared_ptr<MappedFile> &file = files[name];
  if (!file) {
    llvm::SmallString<128> path(directory);
    llvm::sys::path::append(path, name);
    llvm::Expected<std::shared_ptr<MappedFile>> opened = MappedFile::open(path);
    if (!opened)
      return reader.failAt(where, llvm::toString(opened.takeError()));
    file = *opened;
  }
  uint64_t available = file->bytes().size();
  if (offset > available || bytes > available - offset)
    return reader.failAt(where, llvm::Twine(bytes) + " bytes at byte " + llvm::Twine(offset) +
                                    " do not lie in the file of " + llvm::Twine(available));
  if (bytes)
    payload = Payload(file, offset, bytes);
  return true;
}

bool DataReader::data(const Value *value, Payload &payload) {
  Token where = reader.token;
  if (value && reader.at('['))
    return list(*value, payload);
  if (value && reader.acceptWord("splat")) {
    std::string pattern;
    if (!parseSplat(reader, value->type, pattern))
      return false;
    unsigned bits = *bitsPerElement(value->type);
    uint64_t total = value->elementCount().value_or(0) * bits;
    return generate(where, *value, payload, [&](llvm::MutableArrayRef<uint8_t> window, uint64_t offset) {
      for (size_t at = 0; at < window.size(); at += pattern.size())
        std::memcpy(&window[at], pattern.data(), std::min(pattern.size(), window.size() - at));
      if (bits < 8 && total % 8 && offset + window.size() == (total + 7) / 8)
        window.back() &= (1 << total % 8) - 1;
    });
  }
  if (value && reader.acceptWord("seed")) {
    Seed seed;
    if (!parseSeed(reader, value->type, seed))
      return false;
    return generate(where, *value, payload,
                    [&](llvm::MutableArrayRef<uint8_t> window, uint64_t offset) { fillSeeded(seed, window, offset); });
  }
  if (reader.token.kind == Token::Hex || reader.token.kind == Token::String) {
    std::string bytes;
    if (reader.token.kind == Token::Hex ? !reader.hex(bytes) : !reader.string(bytes, "a string"))
      return false;
    if (!bytes.empty())
      payload = Payload::owned(std::move(bytes));
    return true;
  }
  if (reader.acceptWord("file"))
    return fileSlice(value, payload);
  if (reader.acceptWord("digest")) {
    std::string digest;
    uint64_t bytes;
    if (!reader.string(digest, "a digest") || !size(value, bytes))
      return false;
    if (bytes)
      payload = Payload::digest(std::move(digest), bytes);
    return true;
  }
  return reader.expected(value ? "'[', a splat, a seed, hex bytes, a file or a digest"
                               : "a string, hex bytes, a file or a digest");
}

} // namespace origo::text
