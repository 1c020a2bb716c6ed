#include "commands/Config.h"

#include "commands/Process.h"
#include "ir/Error.h"
#include "schema/InputFile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

namespace origo::commands {

using llvm::StringRef;

static llvm::Error atLine(unsigned line, const llvm::Twine &what) {
  return makeError("line " + llvm::Twine(line) + ": " + what);
}

/// What Python takes for space, beyond ASCII's; texts from web pages have it.
constexpr StringRef wideSpaces[] = {"\xc2\x85",     "\xc2\xa0",     "\xe1\x9a\x80", "\xe2\x80\x80", "\xe2\x80\x81",
                                    "\xe2\x80\x82", "\xe2\x80\x83", "\xe2\x80\x84", "\xe2\x80\x85", "\xe2\x80\x86",
                                    "\xe2\x80\x87", "\xe2\x80\x88", "\xe2\x80\x89", "\xe2\x80\x8a", "\xe2\x80\xa8",
                                    "\xe2\x80\xa9", "\xe2\x80\xaf", "\xe2\x81\x9f", "\xe3\x80\x80"};

static bool isSpace(char c) { return (c >= '\t' && c <= '\r') || (c >= 0x1c && c <= ' '); }

/// Without space in front, or behind.
static StringRef trimFront(StringRef text) {
  auto wide = [&] { return llvm::any_of(wideSpaces, [&](StringRef space) { return text.consume_front(space); }); };
  while (!text.empty() && (isSpace(text.front()) ? (text = text.drop_front(), true) : wide()))
    ;
  return text;
}
static StringRef trimBack(StringRef text) {
  auto wide = [&] { return llvm::any_of(wideSpaces, [&](StringRef space) { return text.consume_back(space); }); };
  while (!text.empty() && (isSpace(text.back()) ? (text = text.drop_back(), true) : wide()))
    ;
  return text;
}
static StringRef trim(StringRef text) { return trimBack(trimFront(text)); }

/// Without a comment, which begins the line or stands behind a space.
static StringRef withoutComment(StringRef line) {
  for (size_t i = 0; i < line.size(); ++i)
    if ((line[i] == '#' || line[i] == ';') && (i == 0 || trimBack(line.take_front(i)).size() < i))
      return line.take_front(i);
  return line;
}

/// `%(key)s` becomes the value of the key, `%%` becomes `%`. `most`: so many bytes more may be written, for what refers
/// to others many times, ten deep, has no end though it is short.
static llvm::Expected<std::string> interpolated(const Section &section, StringRef value, unsigned depth, size_t &most) {
  constexpr unsigned deepest = 10; // as in Python; what refers to itself ends here
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
      auto inner = interpolated(section, known->second, depth + 1, most);
      if (!inner)
        return inner.takeError();
      text += *inner;
      rest = rest.drop_front(end + 2);
    } else {
      return makeError("a '%' is followed by neither '%' nor '(key)s'; write %% for the character itself");
    }
    if (text.size() >= most)
      return makeError("it refers to other values too many times");
    value = rest;
  }
  if (text.size() >= most)
    return makeError("it refers to other values too many times");
  most -= text.size() + 1;
  return text;
}

llvm::Expected<std::map<std::string, Section>> readConfig(StringRef text, Section *given) {
  size_t most = (size_t(1) << 20) + 64 * text.size(); // bytes of all values, and of those that they are made of
  std::map<std::string, Section> sections;
  Section defaults, *section = nullptr;
  std::string *last = nullptr; // the value that an indented line continues
  size_t indent = 0;           // of its key
  unsigned number = 0;
  while (!text.empty()) {
    auto [line, rest] = text.split('\n');
    text = rest;
    ++number;
    StringRef content = trimBack(withoutComment(line));
    StringRef before = content;
    content = trimFront(content);
    size_t own =
        llvm::count_if(before.drop_back(content.size()), [](char c) { return (c & 0xc0) != 0x80; }); // characters
    if (content.empty()) {
      if (last && trim(line).empty()) // in a value that goes on behind it, an empty line is one
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
    if (sign == StringRef::npos || trim(content.take_front(sign)).empty())
      return atLine(number, "neither `key = value` nor [section]");
    auto [known, fresh] = section->try_emplace(trim(content.take_front(sign)).str());
    if (!fresh)
      return atLine(number, "key \"" + printable(known->first) + "\" stands here a second time");
    known->second = trim(content.drop_front(sign + 1)).str();
    last = &known->second;
  }
  auto trimEnd = [](Section &keys) {
    for (auto &[key, value] : keys)
      value = trimBack(value).str();
  };
  trimEnd(defaults);
  if (given)
    *given = defaults;
  size_t common = 0;
  for (const auto &[key, value] : defaults)
    common += key.size() + value.size() + 128; // as a node of a map
  if (common * sections.size() > most)         // each section has them all
    return makeError("there are too many sections for the " + llvm::Twine(defaults.size()) + " keys of [DEFAULT]");
  for (auto &[name, keys] : sections) {
    trimEnd(keys);
    keys.insert(defaults.begin(), defaults.end());
    Section values = keys;
    for (auto &[key, value] : keys) {
      auto done = interpolated(values, value, 0, most);
      if (!done)
        return makeError("[" + printable(name) + "] " + printable(key) + ": " + llvm::toString(done.takeError()));
      value = *done;
    }
  }
  return sections;
}

llvm::Expected<std::string> readSettings(StringRef path) {
  constexpr size_t most = 16 << 20;
  auto cannot = [&](llvm::Error error) {
    return inFile(path, makeError("cannot be read: " + llvm::toString(std::move(error))));
  };
  auto file = llvm::sys::fs::openNativeFileForRead(path);
  if (!file)
    return cannot(file.takeError());
  auto closed = llvm::make_scope_exit([&] { llvm::sys::fs::closeFile(*file); });
  if (auto kind = inputKind(*file); !kind)
    return cannot(llvm::errorCodeToError(kind.getError()));
  std::string text;
  char part[16384];
  for (;;) {
    auto got = llvm::sys::fs::readNativeFile(*file, part);
    if (!got)
      return cannot(got.takeError());
    if (*got == 0)
      return text;
    text.append(part, *got);
    if (text.size() > most)
      return inFile(path, makeError("is longer than 16 MB, which no file of settings is"));
  }
}

llvm::Expected<std::map<std::string, Section>> readConfigFile(StringRef path, Section *defaults) {
  auto text = readSettings(path);
  if (!text)
    return text.takeError();
  auto sections = readConfig(*text, defaults);
  if (!sections)
    return inFile(path, sections.takeError());
  return sections;
}

std::string groupOf(const std::map<std::string, Section> &sections) {
  auto section = sections.find("onecc");
  if (section == sections.end())
    return "";
  auto found = section->second.find("include");
  llvm::SmallVector<StringRef> names;
  if (found != section->second.end())
    llvm::SplitString(found->second, names);
  return names.empty() ? "" : names.back().str();
}

llvm::Expected<Section> readGroup(StringRef name, StringRef config) {
  auto fits = [](char c) { return llvm::isAlnum(c) || c == '_' || c == '-' || c == '.'; };
  std::string tried;
  for (const std::string &folder : {llvm::sys::path::parent_path(config).str(), toolFolder() + "/../optimization"}) {
    llvm::SmallString<128> path(folder);
    llvm::sys::path::append(path, name + ".cfg");
    if (!name.starts_with("O") || !llvm::all_of(name, fits) || !llvm::sys::fs::exists(path)) {
      tried += (tried.empty() ? "" : " or ") + printable(path, 300);
      continue;
    }
    auto sections = readConfigFile(path);
    if (!sections)
      return sections.takeError();
    auto found = sections->find("one-optimize");
    if (found == sections->end())
      return inFile(path, makeError("has no section [one-optimize]"));
    return found->second;
  }
  return makeError("there is no group of options \"" + printable(name) + "\": neither O1 nor " + tried);
}

bool isSwitchedOn(StringRef value) {
  return !value.empty() && !value.equals_insensitive("false") && value != "0" && !value.equals_insensitive("n");
}

} // namespace origo::commands
