#include "tools/Config.h"

#include "ir/Error.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace origo::tools {

using llvm::StringRef;

static llvm::Error atLine(unsigned line, const llvm::Twine &what) {
  return makeError("line " + llvm::Twine(line) + ": " + what);
}

/// Without a comment, which begins the line or stands behind a space.
static StringRef withoutComment(StringRef line) {
  for (size_t i = 0; i < line.size(); ++i)
    if ((line[i] == '#' || line[i] == ';') && (i == 0 || llvm::isSpace(line[i - 1])))
      return line.take_front(i);
  return line;
}

/// `%(key)s` becomes the value of the key, `%%` becomes `%`.
static llvm::Expected<std::string> interpolated(const Section &section, StringRef value, unsigned depth) {
  constexpr unsigned deepest = 10; // as in Python; what refers to itself ends here
  constexpr size_t longest = 1 << 20;
  if (depth > deepest)
    return makeError("a value refers to others more than 10 deep");
  std::string text;
  while (!value.empty()) {
    auto [plain, rest] = value.split('%');
    text += plain;
    if (plain.size() == value.size())
      break;
    if (rest.consume_front("%")) {
      text += '%';
    } else if (size_t end = rest.find(")s"); rest.starts_with("(") && end != StringRef::npos) {
      auto known = section.find(rest.slice(1, end).str());
      if (known == section.end())
        return makeError("there is no key \"" + printable(rest.slice(1, end)) + "\" to take the place of %(…)s");
      auto inner = interpolated(section, known->second, depth + 1);
      if (!inner)
        return inner.takeError();
      text += *inner;
      rest = rest.drop_front(end + 2);
    } else {
      return makeError("a '%' is followed by neither '%' nor '(key)s'; write %% for the character itself");
    }
    if (text.size() > longest)
      return makeError("a value is longer than a megabyte");
    value = rest;
  }
  return text;
}

llvm::Expected<std::map<std::string, Section>> readConfig(StringRef text) {
  std::map<std::string, Section> sections;
  Section defaults, *section = nullptr;
  std::string *last = nullptr; // the value that an indented line continues
  size_t indent = 0;           // of its key
  unsigned number = 0;
  while (!text.empty()) {
    auto [line, rest] = text.split('\n');
    text = rest;
    ++number;
    StringRef content = withoutComment(line).rtrim();
    size_t own = content.size() - content.ltrim().size();
    content = content.ltrim();
    if (content.empty()) {
      if (last && line.trim().empty()) // in a value that goes on behind it, an empty line is one
        *last += "\n";
      continue;
    }
    if (last && own > indent) {
      *last += "\n" + content.str();
      continue;
    }
    indent = own;
    // Without a name and its ']', it is a key that begins with '['.
    if (size_t end = content.rfind(']'); content.starts_with("[") && end != StringRef::npos && end > 1) {
      StringRef name = content.slice(1, end);
      if (name == "DEFAULT") {
        section = &defaults;
      } else {
        auto [known, fresh] = sections.try_emplace(name.str());
        if (!fresh)
          return atLine(number, "section [" + printable(name) + "] stands here a second time");
        section = &known->second;
      }
      last = nullptr;
      continue;
    }
    if (!section)
      return atLine(number, "a key stands in front of the first section; begin with [one-optimize]");
    size_t sign = content.find_first_of("=:");
    if (sign == StringRef::npos || content.take_front(sign).trim().empty())
      return atLine(number, "neither `key = value` nor [section]");
    auto [known, fresh] = section->try_emplace(content.take_front(sign).trim().str());
    if (!fresh)
      return atLine(number, "key \"" + printable(known->first) + "\" stands here a second time");
    known->second = content.drop_front(sign + 1).trim().str();
    last = &known->second;
  }
  auto trimEnd = [](Section &keys) {
    for (auto &[key, value] : keys)
      value = StringRef(value).rtrim().str();
  };
  trimEnd(defaults);
  for (auto &[name, keys] : sections) {
    trimEnd(keys);
    keys.insert(defaults.begin(), defaults.end());
    Section values = keys;
    for (auto &[key, value] : keys) {
      auto done = interpolated(values, value, 0);
      if (!done)
        return makeError("[" + printable(name) + "] " + printable(key) + ": " + llvm::toString(done.takeError()));
      value = *done;
    }
  }
  return sections;
}

bool isSwitchedOn(StringRef value) {
  return !value.empty() && !value.equals_insensitive("false") && value != "0" && !value.equals_insensitive("n");
}

} // namespace origo::tools
