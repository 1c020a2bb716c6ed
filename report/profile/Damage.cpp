#include "report/profile/Damage.h"

#include "report/profile/Readers.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Regex.h"

#include <algorithm>
#include <map>

using namespace origo;
using namespace origo::report;
using llvm::StringRef;

namespace {

#define DATE "([0-9]{4}-)?[0-9]{2}-[0-9]{2}"
#define TIME "[0-9]{2}:[0-9]{2}:[0-9]{2}([.,][0-9]+)?(Z|[+-][0-9]{2}:?[0-9]{2})?"
#define LEVEL "[VDIWEFS]"
/// What stands in front of a line, and behind it.
struct Form {
  const char *head;
  bool hasTail = false; ///< the writer's name, in parentheses
};
constexpr Form forms[] = {
    {LEVEL "\\( *[0-9]+(: *[0-9]+)?\\) ", true},                       // logcat -v process, thread
    {DATE " +" TIME " +([^ ]+ +)?[0-9]+ +[0-9]+ " LEVEL " [^:]*: ?"},  // logcat
    {"(" DATE " +" TIME " +)?" LEVEL "/[^(:]*(\\( *[0-9]+\\))?: ?"},   // logcat -v brief, tag, time
    {DATE " +" TIME " +[0-9]+-[0-9]+ +[^ ]+ +[^ ]+ +" LEVEL " ( |$)"}, // Android Studio
    {"[DIWEF]([0-9]{4}|[0-9]{8}) +" TIME " +[0-9]+ +[^] ]+\\]( |$)"},  // glog, Abseil
    {LEVEL " \\([0-9]+\\) [^:]*: ?"},                                  // ESP-IDF
    {TIME " -> "},                                                     // Arduino's serial monitor
    {"\\[ *[0-9]+\\.[0-9]+\\] ?"},                                     // kernels
    {"\\[?" DATE "[ T]" TIME "\\]?:?( |$)"},                           // containers, continuous integration
    {"(DEBUG|INFO|WARNING|ERROR): "},                                  // Python's logging
    {"> ?"},                                                           // quoted
};
#undef DATE
#undef TIME
#undef LEVEL

constexpr size_t longestHead = 400;

/// A form, ready to be looked for.
struct Heads {
  explicit Heads(const Form &form) : form(std::string("^") + form.head), hasTail(form.hasTail) {}
  llvm::Regex form;
  bool hasTail;

  /// How long the head of a line is.
  size_t lengthOf(StringRef line) const {
    llvm::SmallVector<StringRef> parts;
    return form.match(line.take_front(longestHead), &parts) ? parts[0].size() : 0;
  }
  /// Takes the writer's name off the end.
  StringRef takeTail(StringRef &line) const {
    size_t begin = hasTail && line.rtrim().ends_with(")") ? line.rfind("  (") : StringRef::npos;
    StringRef tail = line.substr(begin);
    line = line.take_front(begin);
    return tail;
  }
};

llvm::SmallVector<StringRef> linesOf(StringRef text) {
  llvm::SmallVector<StringRef> lines;
  text.split(lines, '\n');
  return lines;
}

/// The form that most of the first lines have, if they have one.
std::optional<Heads> formOf(llvm::ArrayRef<StringRef> lines) {
  llvm::SmallVector<StringRef> some;
  for (StringRef line : lines)
    if (some.size() < 200 && !line.trim().empty())
      some.push_back(line);
  for (const Form &form : forms) {
    Heads heads(form);
    size_t count = 0;
    for (StringRef line : some)
      count += heads.lengthOf(line) != 0;
    if (2 * count > some.size())
      return heads;
  }
  return std::nullopt;
}

size_t blanksBefore(StringRef line) { return line.size() - line.ltrim(' ').size(); }

} // namespace

StringRef report::withoutBlankLines(StringRef bytes) {
  auto isText = [](char c) { return static_cast<unsigned char>(c) >= ' ' || c == '\t' || c == '\r' || c == '\n'; };
  if (!llvm::all_of(bytes.take_front(4096), isText))
    return bytes;
  for (;;) {
    auto [line, rest] = bytes.split('\n');
    if (rest.empty() || !line.trim().empty())
      return bytes;
    bytes = rest;
  }
}

/// Who wrote a line into a log: its head without times and numbers, and its tail.
static std::string writerOf(StringRef head, StringRef tail) {
  std::string writer = tail.str();
  llvm::copy_if(head, std::back_inserter(writer), [](char c) { return !llvm::isDigit(c) && c != ' '; });
  return writer;
}

/// Takes the heads off. Where several wrote into the log, only the lines of the one whose lines are a profile stay.
static void takeHeads(llvm::SmallVector<StringRef> &lines, const Heads &heads,
                      llvm::function_ref<bool(StringRef)> isProfile) {
  std::map<std::string, llvm::SmallVector<StringRef>> writers;
  for (StringRef &line : lines) {
    StringRef head = line.take_front(heads.lengthOf(line));
    if (head.empty())
      continue;
    line = line.drop_front(head.size());
    StringRef tail = heads.takeTail(line);
    writers[writerOf(head, tail)].push_back(line);
  }
  if (writers.size() > 1)
    for (auto &[writer, own] : writers)
      if (isProfile(llvm::join(own, "\n"))) {
        lines = std::move(own);
        return;
      }
}

std::optional<std::string> report::withoutHeads(StringRef text, llvm::function_ref<bool(StringRef)> isProfile) {
  if (text.take_front(4096).contains('\0'))
    return std::nullopt;
  llvm::SmallVector<StringRef> lines = linesOf(text.take_front(64 << 10));
  size_t indent = SIZE_MAX;
  for (StringRef line : lines)
    if (!line.trim().empty())
      indent = std::min(indent, blanksBefore(line));
  if (indent == SIZE_MAX || isJson(text)) // which may be indented, and begin like the time in a log
    indent = 0;
  if (!indent && !formOf(lines))
    return std::nullopt;
  lines = linesOf(text);
  for (StringRef &line : lines)
    line = line.drop_front(std::min(indent, blanksBefore(line)));
  for (int nested = 0; nested < 3; ++nested) { // a log in a log, quoted
    std::optional<Heads> heads = formOf(lines);
    if (!heads)
      break;
    takeHeads(lines, *heads, isProfile);
  }
  return llvm::join(lines, "\n");
}

std::string report::withPoint(std::string number) {
  size_t comma = number.find(',');
  if (comma == std::string::npos || comma != number.rfind(',') || number.find('.', comma) != std::string::npos)
    return number;
  number.erase(std::remove(number.begin(), number.end(), '.'), number.end());
  std::replace(number.begin(), number.end(), ',', '.');
  return number;
}

std::optional<std::string> report::withCommas(StringRef table) {
  StringRef head = firstLine(table);
  char separator = head.contains(';') ? ';' : head.contains('\t') ? '\t' : ' ';
  if (isJson(table) || head.contains(',') || (separator == ' ' && !head.contains("  ")))
    return std::nullopt;
  std::string tabs;
  if (separator == ' ') {
    size_t columns = 0; // what is missing is missing at the end, where nobody sees it
    for (StringRef line : linesOf(table)) {
      llvm::SmallVector<StringRef> cells;
      line.trim().split(cells, "  ", -1, /*KeepEmpty=*/false);
      columns = std::max(columns, cells.size());
      for (StringRef cell : cells)
        tabs += (cell.data() == cells[0].data() ? "" : "\t") + cell.trim().str();
      tabs.append(cells.empty() ? 0 : columns - cells.size(), '\t');
      tabs += '\n';
    }
    table = tabs;
    separator = '\t';
  }
  std::string result;
  while (!table.empty()) {
    auto cells = takeCsvLine(table, separator);
    if (!cells) {
      llvm::consumeError(cells.takeError());
      return std::nullopt;
    }
    for (std::string &cell : *cells) {
      bool isNumber = StringRef(cell).find_first_not_of("0123456789.,") == StringRef::npos;
      if (&cell != &cells->front())
        result += ',';
      if (isNumber)
        cell = withPoint(std::move(cell));
      if (cell.find_first_of(",\"\r\n") == std::string::npos) {
        result += cell;
        continue;
      }
      result += '"';
      for (char c : cell)
        result.append(c == '"' ? 2 : 1, c);
      result += '"';
    }
    result += '\n';
  }
  return result;
}
