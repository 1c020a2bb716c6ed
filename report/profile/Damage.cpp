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
#define STAMP "(" DATE " +" TIME "|[0-9]+[.][0-9]+)( [+-][0-9]{4})?" // or seconds
#define LEVEL "[VDIWEFS]"
/// What stands in front of a line, and behind it.
struct Form {
  const char *head;
  bool hasTail = false; ///< the writer's name, in parentheses
};
constexpr Form forms[] = {
    {LEVEL "\\( *[0-9]+(: *[0-9]+)?\\) ", true},                                       // logcat -v process, thread
    {STAMP " +([^ ]+ +)?[0-9]+ +[0-9]+ " LEVEL " [^:]*: ?"},                           // logcat
    {"(" STAMP " +)?" LEVEL "/[^(:]*(\\( *[0-9]+\\))?: ?"},                            // logcat -v brief, tag, time
    {STAMP " +[0-9]+-[0-9]+ +[^ ]+ +[^ ]+ +" LEVEL " ( |$)"},                          // Android Studio
    {STAMP " +[0-9]+-[0-9]+/[^ ]+ " LEVEL "/[^:]*: ?"},                                // older ones
    {"[DIWEF]([0-9]{4}|[0-9]{8}) +[0-9]{2}:[0-9]{2}:[0-9.]+ +[0-9]+ +[^] ]+\\]( |$)"}, // glog, Abseil
    {STAMP ": " LEVEL " [^] ]+\\]( |$)"},                                              // TensorFlow
    {STAMP " +[^ ]+\\[[0-9:]+\\]( |$)"},                                               // Apple's
    {LEVEL " \\([0-9]+\\) [^:]*: ?"},                                                  // ESP-IDF
    {"\\[" TIME "(,[0-9]+)?\\] <[a-z]+> [^:]*: ?"},                                    // Zephyr
    {"[A-Z][a-z]{2} +[0-9]+ " TIME " [^ ]+ [^ :]+: ?"},                                // syslog, journals
    {TIME "( -> | +|$)"},                                        // Arduino's serial monitor, Jenkins
    {"\\[ *[0-9]+\\.[0-9]+\\] ?"},                               // kernels
    {"\\[?" DATE "[ T]" TIME "\\]?:?( [0-9]{2}[EO][+]?)?( |$)"}, // containers, continuous integration
    {"[^ |]+ +\\|( |$)"},                                        // several containers
    {"(DEBUG|INFO|WARNING|ERROR): "},                            // Python's logging
    {"> ?"},                                                     // quoted
};
#undef DATE
#undef TIME
#undef STAMP
#undef LEVEL

constexpr size_t longestHead = 400;

/// A form, ready to be looked for.
struct Heads {
  explicit Heads(const Form &form) : form(std::string("^") + form.head), hasTail(form.hasTail) {}
  llvm::Regex form;
  bool hasTail;
  llvm::SmallVector<StringRef> known; ///< heads of lines that were looked at

  static bool isLike(StringRef line, StringRef head) {
    for (size_t i = 0; i < head.size(); ++i)
      if (line[i] != head[i] && !(llvm::isDigit(line[i]) && llvm::isDigit(head[i])))
        return false;
    return true;
  }

  /// How long the head of a line is. Most are like one before, but for their digits: of a hundred thousand lines, the
  /// expression would take half a minute.
  size_t lengthOf(StringRef line) {
    line = line.take_front(longestHead);
    for (StringRef head : known)
      if (line.size() > head.size() && isLike(line, head) &&
          (line[head.size()] == ' ') == (*head.end() == ' ')) // which may belong to it
        return head.size();
    llvm::SmallVector<StringRef> parts;
    size_t length = form.match(line, &parts) ? parts[0].size() : 0;
    if (length && length < line.size()) {
      if (known.size() == 16)
        known.erase(known.begin());
      known.push_back(line.take_front(length)); // behind which the line goes on
    }
    return length;
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

std::optional<std::string> report::asPlainText(StringRef text) {
  StringRef start = text.take_front(64 << 10);
  bool colours = start.contains("\x1b["), returns = start.contains('\r') && !text.contains('\n');
  if (start.contains('\0') || !(colours || returns))
    return std::nullopt;
  std::string plain;
  while (!text.empty()) {
    if (text.consume_front("\x1b[")) {
      text = text.ltrim("0123456789;?").drop_front(text.ltrim("0123456789;?").empty() ? 0 : 1);
      continue;
    }
    plain += returns && text.front() == '\r' ? '\n' : text.front();
    text = text.drop_front();
  }
  return plain;
}

/// "I/tflite" of "[ 05-30 13:04:39.021  1234: 1234 I/tflite   ]"; empty for another line.
static StringRef longHead(StringRef line) {
  line = line.rtrim(" \r");
  if (!line.consume_front("[ ") || !line.consume_back("]") || !line.take_front(line.find('/')).contains(':'))
    return {};
  StringRef writer = line.substr(line.take_front(line.find('/')).rfind(' ') + 1).rtrim();
  bool isHead = llvm::isDigit(line.front()) && writer.size() > 2 && llvm::isUpper(writer[0]) && writer[1] == '/';
  return isHead ? writer : StringRef();
}

std::optional<std::string> report::withLongHeads(StringRef text) {
  if (llvm::all_of(linesOf(text.take_front(4096)), [](StringRef line) { return longHead(line).empty(); }))
    return std::nullopt;
  std::string result, head;
  bool blank = false; // the last line, which may be what ends an entry
  for (StringRef line : linesOf(text)) {
    if (StringRef writer = longHead(line); !writer.empty()) {
      blank = false;
      head = writer.str() + ": ";
      continue;
    }
    if (blank)
      result += head + "\n";
    blank = line.trim().empty() && !head.empty();
    if (!blank)
      result += head + line.str() + "\n";
  }
  return result;
}

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
static void takeHeads(llvm::SmallVector<StringRef> &lines, Heads &heads,
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
