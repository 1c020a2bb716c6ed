#include "ir/Error.h"

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
  os << message;
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

/// Length of the valid UTF-8 sequence at the start of `text`; 0 if there is none.
static size_t sequenceLength(llvm::StringRef text) {
  auto *begin = reinterpret_cast<const llvm::UTF8 *>(text.data());
  unsigned length = llvm::getNumBytesForUTF8(*begin);
  return length <= text.size() && llvm::isLegalUTF8Sequence(begin, begin + length) ? length : 0;
}

std::string printable(llvm::StringRef text, size_t limit) {
  std::string result;
  llvm::raw_string_ostream os(result);
  while (!text.empty()) {
    if (result.size() >= limit) {
      os << "…";
      break;
    }
    unsigned char c = text.front();
    size_t length = c < 0x80 ? 1 : sequenceLength(text);
    // U+0080–U+009F are control characters too, and U+202A–U+202E, U+2066–U+2069 turn the direction of a line around.
    bool control = c < 0x20 || c == 0x7f || (length == 2 && c == 0xc2 && static_cast<unsigned char>(text[1]) < 0xa0) ||
                   (length == 3 && (text.starts_with("\xe2\x80") || text.starts_with("\xe2\x81")));
    if (length == 0 || control) {
      os << "\\x" << llvm::format_hex_no_prefix(c, 2);
      text = text.drop_front();
    } else if (c == '"' || c == '\\') {
      os << '\\' << static_cast<char>(c);
      text = text.drop_front();
    } else {
      os << text.take_front(length);
      text = text.drop_front(length);
    }
  }
  return result;
}

} // namespace origo
