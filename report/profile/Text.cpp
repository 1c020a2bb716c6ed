#include "report/profile/Readers.h"

#include "ir/Error.h"

#include "nlohmann/json.hpp"
#include "llvm/ADT/StringExtras.h"

using namespace origo;
using namespace origo::report;
using llvm::StringRef;
using nlohmann::json;

llvm::Expected<uint64_t> report::parseDecimal(StringRef text, int exponent) {
  StringRef rest = text.trim();
  auto bad = [&](const char *what) { return makeError("\"" + printable(text, 40) + "\" " + what); };
  if (rest.starts_with("-"))
    return bad("is negative");
  rest.consume_front("+");
  unsigned __int128 digits = 0;
  unsigned used = 0;
  bool any = false, point = false;
  size_t i = 0;
  for (; i < rest.size() && (llvm::isDigit(rest[i]) || (rest[i] == '.' && !point)); ++i) {
    if (rest[i] == '.') {
      point = true;
      continue;
    }
    any = true;
    if (used == 36) { // more than any double has; what is behind cannot matter
      exponent += !point;
      continue;
    }
    digits = digits * 10 + static_cast<unsigned>(rest[i] - '0');
    used += digits != 0;
    exponent -= point;
  }
  rest = rest.drop_front(i);
  if (any && (rest.consume_front("e") || rest.consume_front("E"))) {
    int power = 0;
    rest.consume_front("+");
    if (rest.getAsInteger(10, power) || power > 1000 || power < -1000)
      return bad("is not a number that can be used");
    exponent += power;
    rest = {};
  }
  if (!any || !rest.empty())
    return bad("is not a number");
  constexpr uint64_t limit = static_cast<uint64_t>(1) << 63;
  for (; exponent < 0 && digits; ++exponent)
    digits = exponent == -1 ? (digits + 5) / 10 : digits / 10;
  for (; exponent > 0 && digits && digits < limit; --exponent)
    digits *= 10;
  if (digits >= limit)
    return bad("is too large");
  return static_cast<uint64_t>(digits);
}

std::optional<int> report::nanosecondExponent(StringRef unit) {
  if (unit == "ns")
    return 0;
  if (unit == "us" || unit == "µs")
    return 3;
  if (unit == "ms")
    return 6;
  if (unit == "s")
    return 9;
  return std::nullopt;
}

bool report::isJson(StringRef text) {
  StringRef start = text.ltrim(" \t\r\n");
  return start.starts_with("{") || start.starts_with("[");
}

bool report::hasKey(StringRef text, StringRef key) {
  constexpr size_t searched = 4 << 20; // twenty formats ask of files with a million rows
  return isJson(text) && text.take_front(searched).contains(("\"" + key + "\"").str());
}

StringRef report::firstLine(StringRef text) {
  return text.ltrim(" \t\r\n").take_until([](char c) { return c == '\n' || c == '\r'; });
}

llvm::Error report::addTime(ProfileRow &row, uint64_t time) {
  if (__builtin_add_overflow(row.value, time, &row.value) || row.value >> 63)
    return makeError("the time of \"" + printable(row.rawName, 60) + "\" is too large");
  return llvm::Error::success();
}

std::string report::joinNames(llvm::ArrayRef<std::string> names) {
  std::string text = llvm::join(names, ", ");
  std::replace(text.begin(), text.end(), ',', '\t');
  return text;
}

llvm::Expected<std::vector<std::string>> report::takeCsvLine(StringRef &text, char separator) {
  std::vector<std::string> cells(1);
  size_t i = 0;
  while (i < text.size() && text[i] != '\n') {
    if (text[i] == '"' && StringRef(cells.back()).trim().empty()) {
      cells.back().clear();
      for (++i;; ++i) {
        if (i >= text.size())
          return makeError("a quoted cell does not end");
        if (text[i] != '"')
          cells.back() += text[i];
        else if (text.substr(i + 1).starts_with("\""))
          cells.back() += text[++i];
        else
          break;
      }
      ++i;
      while (i < text.size() && (text[i] == ' ' || text[i] == '\r'))
        ++i;
      if (i < text.size() && text[i] != separator && text[i] != '\n')
        return makeError("there is text behind a quoted cell");
      continue;
    }
    if (text[i] == separator)
      cells.emplace_back();
    else
      cells.back() += text[i];
    ++i;
  }
  if (!cells.back().empty() && cells.back().back() == '\r')
    cells.back().pop_back();
  text = text.drop_front(std::min(text.size(), i + 1));
  return cells;
}

llvm::Error report::readCsvRows(StringRef text, char separator, llvm::function_ref<llvm::Error(const CsvRow &)> visit) {
  std::vector<std::string> head;
  for (size_t number = 1; !text.empty(); ++number) {
    auto bad = [&](llvm::Error error) {
      return makeError("line " + llvm::Twine(number) + ": " + llvm::toString(std::move(error)));
    };
    auto cells = takeCsvLine(text, separator);
    if (!cells)
      return bad(cells.takeError());
    if (cells->size() == 1 && StringRef(cells->front()).trim().empty())
      continue;
    for (std::string &cell : *cells)
      cell = StringRef(cell).trim().str();
    if (head.empty()) {
      head = std::move(*cells);
      continue;
    }
    if (cells->size() != head.size())
      return bad(makeError("has " + llvm::Twine(cells->size()) + " cells, the head " + llvm::Twine(head.size())));
    CsvRow row;
    for (size_t i = 0; i < head.size(); ++i)
      row.try_emplace(head[i], std::move((*cells)[i]));
    if (llvm::Error error = visit(row))
      return bad(std::move(error));
  }
  return head.empty() ? makeError("is empty") : llvm::Error::success();
}

const json *report::memberOf(const json &object, const char *key) {
  auto found = object.is_object() ? object.find(key) : object.end();
  return found == object.end() ? nullptr : &*found;
}

StringRef report::textOf(const json &object, const char *key) {
  const json *member = memberOf(object, key);
  return member && member->is_string() ? StringRef(member->get_ref<const std::string &>()) : "";
}
