#include "origin/Utf8.h"

#include <cstdlib>

using namespace origo;
using llvm::StringRef;

/// Bytes of the sequence that begins the text: its length if it is valid, else minus that of its maximal valid part (at
/// least 1). Table 3-7 of Unicode: the second byte decides what is overlong, a surrogate or too large.
static int sequence(StringRef text) {
  auto byte = [&](size_t i) { return i < text.size() ? uint8_t(text[i]) : 0; };
  uint8_t lead = byte(0), low = 0x80, high = 0xBF;
  int length;
  if (lead < 0x80)
    return 1;
  if (lead >= 0xC2 && lead <= 0xDF)
    length = 2;
  else if (lead >= 0xE0 && lead <= 0xEF)
    length = 3;
  else if (lead >= 0xF0 && lead <= 0xF4)
    length = 4;
  else
    return -1;
  if (lead == 0xE0)
    low = 0xA0;
  else if (lead == 0xED)
    high = 0x9F;
  else if (lead == 0xF0)
    low = 0x90;
  else if (lead == 0xF4)
    high = 0x8F;
  for (int i = 1; i < length; ++i) {
    if (byte(i) < low || byte(i) > high)
      return -i;
    low = 0x80;
    high = 0xBF;
  }
  return length;
}

std::string origin::replaceInvalidUtf8(StringRef text) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    int length = sequence(text);
    if (length > 0)
      result.append(text.data(), length);
    else
      result += "\xEF\xBF\xBD";
    text = text.drop_front(std::abs(length));
  }
  return result;
}
