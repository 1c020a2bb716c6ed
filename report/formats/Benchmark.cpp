/// TFLite's benchmark_model: the tables of --enable_op_profiling, printed or as a CSV file.

#include "report/profile/Damage.h"
#include "report/profile/Readers.h"

#include "ir/Error.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace origo;
using namespace origo::report;
using llvm::StringRef;

namespace {

/// Where the columns of a table are. Builds differ in them, so they are found by name.
struct Header {
  /// ' ': tabs became blanks where the table was copied, or a spreadsheet made tabs of commas, those of names as well.
  char separator = ',';
  std::vector<std::string> columns;

  static std::optional<Header> of(StringRef line) {
    Header header;
    bool printed = line.contains("[node type]");
    char cut = line.contains(printed ? "]\t" : "\t") ? '\t' : printed ? ']' : line.contains(';') ? ';' : ',';
    header.separator = cut == ']' || (cut == '\t' && !printed) ? ' ' : cut;
    llvm::SmallVector<StringRef> cells;
    line.trim().split(cells, cut, -1, cut != ']');
    for (StringRef cell : cells) {
      std::string name = cell.trim(" []").lower();
      std::replace(name.begin(), name.end(), ' ', '_');
      header.columns.push_back(name);
    }
    bool complete = header.columns.size() >= 3 && header.columns.front() == "node_type" &&
                    header.columns.back() == "name" && llvm::is_contained(header.columns, "avg_ms");
    return complete ? std::optional(header) : std::nullopt;
  }

  /// In a CSV file only the name is free of commas, in the printed form only the type is free of tabs.
  std::optional<llvm::SmallVector<StringRef>> split(StringRef line) const {
    llvm::SmallVector<StringRef> cells;
    if (separator == ' ')
      return splitAtNumbers(line);
    if (separator == '\t') {
      line.ltrim(" \t").split(cells, '\t', static_cast<int>(columns.size()) - 1);
    } else {
      for (size_t i = 1; i < columns.size(); ++i) {
        auto [rest, cell] = line.rsplit(separator);
        if (rest.size() == line.size())
          return std::nullopt;
        cells.push_back(cell);
        line = rest;
      }
      cells.push_back(line);
      std::reverse(cells.begin(), cells.end());
    }
    if (cells.size() != columns.size())
      return std::nullopt;
    for (StringRef &cell : cells)
      cell = cell.trim(' ');
    return cells;
  }

private:
  /// What stands between type and name are numbers, with a % where the column has parts.
  std::optional<llvm::SmallVector<StringRef>> splitAtNumbers(StringRef line) const {
    llvm::SmallVector<StringRef> words;
    llvm::SplitString(line, words, " \t");
    size_t numbers = columns.size() - 2;
    auto fits = [&](StringRef word, StringRef column) {
      return word.consume_back("%") == column.ends_with("%") && !word.empty() &&
             (word.ends_with("nan") ||
              (llvm::isDigit(word.front()) && word.find_first_not_of("0123456789.,e+-") == StringRef::npos));
    };
    for (size_t first = 1; first + numbers < words.size(); ++first) {
      bool all = true;
      for (size_t i = 0; i < numbers && all; ++i)
        all = fits(words[first + i], columns[i + 1]);
      if (!all)
        continue;
      llvm::SmallVector<StringRef> cells;
      auto from = [](StringRef begin, StringRef end) { return StringRef(begin.data(), end.end() - begin.data()); };
      cells.push_back(from(words.front(), words[first - 1]));
      cells.append(words.begin() + first, words.begin() + first + numbers);
      cells.push_back(from(words[first + numbers], words.back()));
      return cells;
    }
    return std::nullopt;
  }
};

class Reader {
public:
  explicit Reader(Profile &profile) : profile(profile) {}

  llvm::Error read(StringRef text) {
    bool whole = text.ends_with("\n");
    for (size_t number = 1; !text.empty(); ++number) {
      auto [line, rest] = text.split('\n');
      text = rest;
      if (llvm::Error error = take(line.rtrim("\r,;"))) // of empty cells, where a spreadsheet saved it
        return makeError("line " + llvm::Twine(number) + ": " + llvm::toString(std::move(error)));
    }
    if (!tables)
      return makeError("has no table \"Run Order\" of regular runs: was benchmark_model run with "
                       "--enable_op_profiling=true, and is the file whole?");
    if (wantsHeader || (header && !whole && endsInName()))
      return makeError("ends in the middle of a table: it is truncated");
    // Averages of few runs are what happened to happen in them.
    uint64_t runs = std::max(timed, mostCalls);
    if (timed && runs < 10)
      profile.notes.push_back("the times are of " + std::to_string(runs) + " runs; fewer than ten say little");
    if (timed && firsts > 2 * averages)
      profile.notes.push_back("the first run took " + std::to_string(firsts / std::max<uint64_t>(averages, 1)) +
                              " times as long as the average, in which it is counted");
    if (rows)
      profile.notes.push_back("the last table does not say how many nodes were executed: is the file whole?");
    return llvm::Error::success();
  }

private:
  Profile &profile;
  std::optional<Header> header; ///< of the table we are in
  bool wantsHeader = false, initialisation = false, insideDelegate = false, anyHeading = false;
  uint32_t subgraph = 0;
  size_t tables = 0;                 ///< of regular runs
  size_t rows = 0;                   ///< of the last table, while the file has not told their number
  uint64_t timed = 0, mostCalls = 0; ///< runs, as the file says and as its rows do
  uint64_t firsts = 0, averages = 0; ///< of all rows together

  /// A name ends with the index of its node or subgraph, or is a list.
  bool endsInName() const {
    StringRef name = profile.rows.empty() ? "" : StringRef(profile.rows.back().rawName);
    StringRef rest = name.rtrim("0123456789");
    return !name.ends_with("]") && (rest.size() == name.size() || !(rest.ends_with(":") || rest.ends_with("/")));
  }

  llvm::Error take(StringRef line) {
    // First of all, for names may look like headings.
    if (auto cells = header ? header->split(line) : std::nullopt)
      return takeRow(*cells);
    if (line.contains("Profiling Info for Benchmark Initialization")) {
      begin(true);
    } else if (line.contains("Profiling Info for Regular Benchmark Runs")) {
      begin(false);
    } else if (line.contains("Delegate internal:")) {
      insideDelegate = true;
      header.reset();
    } else if (line.contains("Primary graph (name:")) {
      subgraph = 0;
      insideDelegate = false;
    } else if (size_t at = line.find("Subgraph (index: "); at != StringRef::npos) {
      insideDelegate = false;
      StringRef number = line.substr(at + StringRef("Subgraph (index: ").size());
      if (number.consumeInteger(10, subgraph))
        return makeError("\"Subgraph (index: \" is followed by no number");
    } else if (StringRef said = line; said.contains("imings (microseconds): count=")) {
      said = said.split("count=").second;
      uint64_t count = 0;
      if (!said.consumeInteger(10, count))
        timed = std::max(timed, count);
    } else if (line.contains("=====")) {
      header.reset();
      wantsHeader = line.contains("Run Order");
      anyHeading = true;
    } else if (line.trim().empty()) {
      header.reset();
    } else if (auto [before, count] = line.split("Number of nodes executed: "); before.size() != line.size()) {
      header.reset();
      checkCount(count.trim());
    } else if (wantsHeader) {
      header = Header::of(line);
      if (!header)
        return makeError(
            "the head of a table is expected, with \"node type\" first, \"avg_ms\" and \"name\" last; it is \"" +
            printable(line, 80) + "\"");
      wantsHeader = false;
      rows = 0;
      tables += !initialisation;
    } else if (header) {
      return makeError("the row has too few cells");
    } else if (!anyHeading && (header = Header::of(line))) {
      ++tables; // nothing but the table
    }
    return llvm::Error::success();
  }

  void begin(bool init) {
    initialisation = init;
    insideDelegate = false;
    subgraph = 0;
    header.reset();
  }

  void checkCount(StringRef said) {
    size_t count = 0;
    if (rows && (said.getAsInteger(10, count) || count != rows))
      profile.notes.push_back("a table has " + std::to_string(rows) + " rows, and says that " + printable(said, 20) +
                              " nodes were executed: is the file whole?");
    rows = 0;
  }

  llvm::Error takeRow(llvm::ArrayRef<StringRef> cells) {
    ProfileRow row;
    uint64_t average = 0, first = 0;
    for (auto [name, cell] : llvm::zip(header->columns, cells)) {
      if (name == "first") {
        auto number = parseDecimal(withPoint(cell.str()), 6);
        first = number ? *number : 0;
        llvm::consumeError(number.takeError());
      } else if (name == "avg_ms" || name == "times_called") {
        auto number = parseDecimal(withPoint(cell.str()), name == "avg_ms" ? 6 : 0);
        if (!number)
          return number.takeError();
        (name == "avg_ms" ? average : row.count) = *number;
      }
    }
    if (__builtin_mul_overflow(average, std::max<uint64_t>(row.count, 1), &row.value) || row.value >> 63)
      return makeError("the time is too large");
    describeBenchmarkRow(cells.front(), cells.back(), row);
    if (!insideDelegate) // one list for the delegates of all subgraphs
      row.subgraph = subgraph;
    if (initialisation) {
      row.metric = "init_time";
    } else if (insideDelegate) {
      row.metric = "delegate_time";
    } else {
      mostCalls = std::max(mostCalls, row.count);
      firsts = std::min(firsts + first, UINT64_MAX / 4);
      averages = std::min(averages + average, UINT64_MAX / 4);
    }
    profile.rows.push_back(std::move(row));
    ++rows;
    return llvm::Error::success();
  }
};

} // namespace

static std::string replaced(StringRef text, char from, char to) {
  std::string result = text.str();
  std::replace(result.begin(), result.end(), from, to);
  return result;
}

void report::describeBenchmarkRow(StringRef type, StringRef name, ProfileRow &row) {
  row.rawName = name;
  row.kind = type.split('/').first;
  row.backend = StringRef(row.kind).contains("Delegate") ? row.kind : "cpu";
  // The number behind a delegate's inner row is the delegate's own, and its time is inside the delegate's.
  if (type == "DelegateOpInvoke" || name.consume_front("Delegate/")) {
    row.metric = "delegate_time";
    name.consume_front("Delegate/");
    auto [kind, number] = name.rsplit(':');
    uint32_t step = 0;
    if (kind.size() == name.size() || number.getAsInteger(10, step))
      return;
    row.step = step;
    row.kind = replaced(kind, '\t', ','); // a CSV file has a tab for each comma
    return;
  }
  auto [list, number] = name.rsplit("]:");
  uint32_t index = 0;
  bool hasIndex = list.size() != name.size() && !number.getAsInteger(10, index);
  if (!hasIndex && !(list = name).consume_back("]")) // TensorFlow up to 2.4 tells none
    return;
  if (!list.consume_front("["))
    return;
  if (hasIndex)
    row.op = index;
  row.ownDetails().outputs = replaced(list, ',', '\t');
}

static llvm::Error readBenchmarkText(StringRef text, const ProfileOptions &, Profile &profile) {
  profile.tool = "benchmark_model";
  profile.includesCallees = true;
  return Reader(profile).read(text);
}

static bool isBenchmarkText(StringRef text) {
  StringRef start = text.ltrim(" \t\r\n[");
  return start.starts_with("node type") ||
         (!isJson(text) && (text.contains("Run Order") || text.contains("Profiling Info for")));
}

namespace origo::report::formats {

std::vector<ProfileFormat> Benchmark() {
  return {
      {"benchmark_model", Rank::Words, isBenchmarkText, readBenchmarkText,
       "--enable_op_profiling=true, what it prints, also through logcat, or its CSV file; the layout of LiteRT's newer "
       "--profiling_output_csv_file is NOT VERIFIED"}};
}

} // namespace origo::report::formats
