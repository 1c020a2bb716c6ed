#include "report/profile/FlatJson.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ConvertUTF.h"

#include <vector>

using namespace origo;
using llvm::StringRef;

namespace {

class FlatJson {
public:
  using Visit = llvm::function_ref<bool(llvm::ArrayRef<StringRef>, llvm::ArrayRef<StringRef>)>;
  FlatJson(StringRef text, Visit visit) : rest(text), visit(visit) {}

  bool takeAll() {
    StringRef key;
    bool done = take('{') ? takeText(key) && key == "rows" && take(':') && takeList() && take('}') : takeList();
    skipBlanks();
    return done && rest.empty();
  }

private:
  StringRef rest;
  Visit visit;
  std::vector<StringRef> seen, keys, values; ///< of an object; `seen` with those of null

  void skipBlanks() {
    size_t i = 0;
    while (i < rest.size() && (rest[i] == ' ' || rest[i] == '\n' || rest[i] == '\r' || rest[i] == '\t'))
      ++i;
    rest = rest.drop_front(i);
  }
  bool take(char c) {
    skipBlanks();
    if (rest.empty() || rest.front() != c)
      return false;
    rest = rest.drop_front();
    return true;
  }
  StringRef takeFront(size_t size) {
    StringRef front = rest.take_front(size);
    rest = rest.drop_front(size);
    return front;
  }

  bool takeText(StringRef &text) {
    if (!take('"'))
      return false;
    size_t i = 0;
    bool isPlain = true;
    for (; i < rest.size() && rest[i] != '"'; ++i) {
      auto byte = static_cast<unsigned char>(rest[i]);
      if (byte < ' ' || byte == '\\')
        return false;
      isPlain &= byte < 0x80;
    }
    if (i == rest.size())
      return false;
    text = takeFront(i);
    rest = rest.drop_front();
    auto *begin = reinterpret_cast<const llvm::UTF8 *>(text.begin());
    return isPlain || llvm::isLegalUTF8String(&begin, reinterpret_cast<const llvm::UTF8 *>(text.end()));
  }
  bool takeNumber(StringRef &text) {
    size_t i = 0;
    auto digits = [&] {
      size_t before = i;
      while (i < rest.size() && llvm::isDigit(rest[i]))
        ++i;
      return i > before;
    };
    auto at = [&](char a, char b) { return i < rest.size() && (rest[i] == a || rest[i] == b) && ++i; };
    bool isNumber = digits() && (i == 1 || rest.front() != '0') && (!at('.', '.') || digits());
    if (isNumber && at('e', 'E')) {
      at('+', '-');
      isNumber = digits();
    }
    text = takeFront(i);
    return isNumber;
  }

  bool takeList() {
    if (!take('['))
      return false;
    if (take(']'))
      return true;
    do
      if (!takeObject())
        return false;
    while (take(','));
    return take(']');
  }
  bool takeObject() {
    seen.clear();
    keys.clear();
    values.clear();
    if (!take('{'))
      return false;
    if (take('}'))
      return visit(keys, values);
    do
      if (!takeMember())
        return false;
    while (take(','));
    return take('}') && visit(keys, values);
  }
  bool takeMember() {
    StringRef key, value;
    if (!takeText(key) || !take(':') || seen.size() == 64 || llvm::is_contained(seen, key))
      return false;
    seen.push_back(key);
    skipBlanks();
    if (rest.consume_front("null"))
      return true;
    if (rest.starts_with("true") || rest.starts_with("false"))
      value = takeFront(rest.front() == 't' ? 4 : 5);
    else if (rest.starts_with("\"") ? !takeText(value) : !takeNumber(value))
      return false;
    keys.push_back(key);
    values.push_back(value);
    return true;
  }
};

} // namespace

bool report::forEachFlatObject(StringRef text, FlatJson::Visit visit) { return FlatJson(text, visit).takeAll(); }
