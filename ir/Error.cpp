#include "ir/Error.h"

#include "ir/Printable.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ConvertUTF.h"
#include "llvm/Support/raw_ostream.h"

namespace origo {

char ModelError::ID;

void ModelError::log(llvm::raw_ostream &os) const {
  if (!file.empty())
    os << printable(file, 4096) << ": ";
  llvm::ListSeparator comma;
  if (place.subgraph >= 0)
    os << comma << "subgraph " << place.subgraph;
  if (place.op >= 0) {
    os << comma << "operator " << place.op;
    if (!place.opName.empty())
      os << " (" << printable(place.opName) << ")";
  }
  if (place.tensor >= 0)
    os << comma << "tensor " << place.tensor;
  if (!place.name.empty())
    os << ' ' << '"' << printable(place.name) << '"';
  if (place.subgraph >= 0 || place.op >= 0 || place.tensor >= 0 || !place.name.empty())
    os << ": ";
  os << printableWords(message);
}

llvm::Error makeError(const llvm::Twine &message) { return llvm::make_error<ModelError>(Place{}, message.str()); }

llvm::Error makeError(Place place, const llvm::Twine &message) {
  return llvm::make_error<ModelError>(std::move(place), message.str());
}

llvm::Error inFile(llvm::StringRef file, llvm::Error error) {
  return llvm::handleErrors(
      std::move(error),
      [&](std::unique_ptr<ModelError> e) -> llvm::Error {
        if (e->file.empty())
          e->file = file.str();
        return llvm::Error(std::move(e));
      },
      [&](std::unique_ptr<llvm::ErrorInfoBase> e) -> llvm::Error {
        auto wrapped = std::make_unique<ModelError>(Place{}, e->message());
        wrapped->file = file.str();
        return llvm::Error(std::move(wrapped));
      });
}

Character firstCharacter(llvm::StringRef text) {
  auto *begin = reinterpret_cast<const llvm::UTF8 *>(text.data());
  unsigned length = llvm::getNumBytesForUTF8(*begin);
  if (length > text.size() || !llvm::isLegalUTF8Sequence(begin, begin + length))
    return {1, *begin, false};
  uint32_t code = length == 1 ? *begin : *begin & (0x7fu >> length);
  for (unsigned i = 1; i < length; ++i)
    code = code << 6 | (begin[i] & 0x3fu);
  auto within = [&](uint32_t from, uint32_t to) { return code >= from && code <= to; };
  bool controls = code < 0x20 || within(0x7f, 0x9f);
  // Marks of direction, what has no width, ends of lines and paragraphs, and tags.
  bool hides = code == 0x61c || within(0x200b, 0x200f) || within(0x2028, 0x202e) || within(0x2060, 0x206f) ||
               code == 0xfeff || within(0xfff9, 0xfffb) || within(0xe0000, 0xe007f);
  return {length, code, !controls && !hides};
}

static std::string shown(llvm::StringRef text, size_t limit, bool inQuotes) {
  auto isPlain = [&](char c) { return c >= ' ' && c < 0x7f && !(inQuotes && (c == '"' || c == '\\')); };
  std::string result;
  llvm::raw_string_ostream os(result);
  while (!text.empty()) {
    if (result.size() >= limit) {
      os << "…";
      break;
    }
    // Most of what is shown, and a table may have a million rows of it.
    size_t plain = 0, most = std::min(text.size(), limit - result.size());
    while (plain < most && isPlain(text[plain]))
      ++plain;
    os << text.take_front(plain);
    text = text.drop_front(plain);
    if (plain)
      continue;
    auto [length, code, shows] = firstCharacter(text);
    if (!shows)
      for (char c : text.take_front(length))
        os << "\\x" << llvm::format_hex_no_prefix(static_cast<unsigned char>(c), 2);
    else
      os << (inQuotes && (code == '"' || code == '\\') ? "\\" : "") << text.take_front(length);
    text = text.drop_front(length);
  }
  return result;
}

std::string printable(llvm::StringRef text, size_t limit) { return shown(text, limit, true); }
std::string printableWords(llvm::StringRef text, size_t limit) { return shown(text, limit, false); }

} // namespace origo
