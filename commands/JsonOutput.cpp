#include "commands/JsonOutput.h"

#include "ir/Printable.h"

#include "llvm/Support/ConvertUTF.h"
#include "llvm/Support/Format.h"

namespace origo::commands {

void JsonOutput::write_impl(const char *data, size_t size) {
  written += size;
  llvm::StringRef text(data, size);
  std::string joined;
  if (!rest.empty())
    text = joined = rest.append(data, size);
  while (!text.empty()) {
    size_t plain = 0;
    while (plain < text.size() && static_cast<unsigned char>(text[plain]) < 0x7f)
      ++plain;
    to << text.take_front(plain);
    text = text.drop_front(plain);
    if (text.empty() || text.size() < llvm::getNumBytesForUTF8(static_cast<llvm::UTF8>(text.front())))
      break;
    auto [length, code, shows] = firstCharacter(text);
    if (shows || length == 1)
      to << (code == 0x7f ? "\\u007f" : text.take_front(length));
    else if (code < 0x10000)
      to << "\\u" << llvm::format_hex_no_prefix(code, 4);
    else
      to << "\\u" << llvm::format_hex_no_prefix(0xd7c0 + (code >> 10), 4) << "\\u"
         << llvm::format_hex_no_prefix(0xdc00 + (code & 0x3ff), 4);
    text = text.drop_front(length);
  }
  rest = text.str();
}

} // namespace origo::commands
