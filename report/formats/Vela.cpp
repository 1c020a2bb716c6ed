/// Arm Vela: the estimates of --verbose-performance, and the debug database.

#include "report/profile/Readers.h"

#include "ir/Error.h"

#include <map>

using namespace origo;
using namespace origo::report;
using llvm::StringRef;

namespace {

/// Where the columns of the estimates are. Two have one name, of which the first is meant.
struct VelaHead {
  size_t count = 0;
  std::optional<size_t> nng, target, cycles, name;

  static bool begins(StringRef cell) {
    cell = cell.trim();
    return cell == "TFLite_operator" || cell == "TOSA_operator" ||
           cell == "Original Operator"; // the last one from Vela 4 on
  }
  static llvm::Expected<VelaHead> of(llvm::ArrayRef<std::string> cells) {
    VelaHead head;
    head.count = cells.size();
    for (size_t i = 0; i < cells.size(); ++i) {
      StringRef title = StringRef(cells[i]).trim();
      for (auto [known, column] : {std::pair("NNG Operator", &head.nng), std::pair("Target", &head.target),
                                   std::pair("Op Cycles", &head.cycles), std::pair("Name", &head.name)})
        if (title == known && !*column)
          *column = i;
    }
    if (!head.nng || !head.cycles || !head.name)
      return makeError("the head has no \"NNG Operator\", \"Op Cycles\" or \"Name\": this layout is not known");
    return head;
  }
};

} // namespace

static llvm::Error readVela(StringRef text, const ProfileOptions &, Profile &profile) {
  profile.tool = "vela";
  std::optional<VelaHead> head;
  for (size_t number = 1; !text.empty(); ++number) {
    auto bad = [&](const llvm::Twine &what) { return makeError("line " + llvm::Twine(number) + ": " + what); };
    auto cells = takeCsvLine(text);
    if (!cells)
      return bad(llvm::toString(cells.takeError()));
    if (cells->size() == 1 && StringRef(cells->front()).trim().empty())
      continue;
    if (VelaHead::begins(cells->front())) { // which comes again for each part of the network
      auto found = VelaHead::of(*cells);
      if (!found)
        return bad(llvm::toString(found.takeError()));
      head = *found;
      continue;
    }
    if (!head)
      return bad("the head of the table is expected, with \"TFLite_operator\" or \"Original Operator\" first");
    if (cells->size() != head->count)
      return bad("the row has " + llvm::Twine(cells->size()) + " cells, the head " + llvm::Twine(head->count));
    auto cell = [&](size_t column) { return StringRef((*cells)[column]).trim(); };
    ProfileRow row;
    row.metric = row.unit = "cycles";
    row.kind = cell(0).str();
    row.rawName = row.ownDetails().prefixed = cell(*head->name);
    row.backend = (head->target ? cell(*head->target).lower() : "npu") + " " + cell(*head->nng).str();
    auto cycles = parseDecimal(cell(*head->cycles), 0);
    if (!cycles)
      return bad("Op Cycles: " + llvm::toString(cycles.takeError()));
    row.value = *cycles;
    profile.rows.push_back(std::move(row));
  }
  return head ? llvm::Error::success() : makeError("has no table");
}

namespace {

using Row = std::map<std::string, std::string, std::less<>>; ///< by column

std::optional<uint64_t> numberIn(const Row &row, StringRef column) {
  auto cell = row.find(std::string_view(column));
  uint64_t number = 0;
  if (cell == row.end() || StringRef(cell->second).trim().getAsInteger(0, number))
    return std::nullopt;
  return number;
}

llvm::Expected<std::vector<Row>> readTable(StringRef text) {
  std::vector<Row> rows;
  std::vector<std::string> head;
  while (!text.empty()) {
    auto cells = takeCsvLine(text);
    if (!cells)
      return cells.takeError();
    if (cells->size() == 1 && StringRef(cells->front()).trim().empty())
      continue;
    if (head.empty()) {
      for (const std::string &cell : *cells)
        head.push_back(StringRef(cell).trim().str());
      continue;
    }
    if (cells->size() != head.size())
      return makeError("a row has " + llvm::Twine(cells->size()) + " cells, the head " + llvm::Twine(head.size()));
    Row row;
    for (size_t i = 0; i < head.size(); ++i)
      row[head[i]] = StringRef((*cells)[i]).trim().str();
    rows.push_back(std::move(row));
  }
  return rows;
}

/// The little of XML that the debug database is written in: <debug …> with <table name="…"> elements of CDATA. Nothing
/// is expanded and no other file is read.
class DebugXml {
public:
  explicit DebugXml(StringRef text) : rest(text) {}

  llvm::Error begin() {
    skip();
    auto tag = takeTag("debug");
    return tag ? llvm::Error::success() : tag.takeError();
  }

  /// Name and content of the next table; none at the end.
  llvm::Expected<std::optional<std::pair<std::string, std::string>>> next() {
    skip();
    if (rest.consume_front("</debug>"))
      return std::nullopt;
    auto tag = takeTag("table");
    if (!tag)
      return tag.takeError();
    StringRef name = tag->split("name=\"").second;
    if (!name.contains('"'))
      return makeError("a table has no name");
    std::pair<std::string, std::string> table{name.split('"').first.str(), ""};
    while (!rest.consume_front("</table>")) {
      if (rest.consume_front("<![CDATA[")) {
        size_t end = rest.find("]]>");
        if (end == StringRef::npos)
          return makeError("the table \"" + printable(table.first, 40) + "\" does not end: the file is truncated");
        table.second += rest.take_front(end);
        rest = rest.drop_front(end + 3);
      } else if (rest.empty() || rest.front() == '<' || rest.front() == '&') {
        return makeError("the table \"" + printable(table.first, 40) + "\" holds something else than CDATA");
      } else {
        table.second += rest.front();
        rest = rest.drop_front();
      }
    }
    return table;
  }

private:
  StringRef rest;

  /// Spaces, comments and the declaration.
  void skip() {
    rest.consume_front("\xef\xbb\xbf");
    for (bool more = true; more;) {
      rest = rest.ltrim(" \t\r\n");
      more = false;
      for (auto [open, close] : {std::pair("<!--", "-->"), std::pair("<?", "?>")})
        if (size_t end = rest.find(close); rest.starts_with(open) && end != StringRef::npos) {
          rest = rest.drop_front(end + StringRef(close).size());
          more = true;
        }
    }
  }
  /// The attributes of an opening tag.
  llvm::Expected<StringRef> takeTag(StringRef name) {
    size_t end = rest.find('>');
    if (!rest.consume_front("<") || !rest.consume_front(name) || end == StringRef::npos ||
        !StringRef(" \t\r\n>").contains(rest.front()))
      return makeError("an element <" + name + "> is expected: this is no debug database of Vela, or not a whole one");
    auto [attributes, after] = rest.split('>');
    rest = after;
    return attributes;
  }
};

} // namespace

/// A command stream's offset leads to an optimised operator, and that to one operator of the network, of which the
/// database says the type and the shape of its result, but neither index nor name.
static llvm::Error readVelaDebug(StringRef text, const ProfileOptions &, Profile &profile) {
  profile.tool = "vela-debug";
  DebugXml file(text);
  std::map<std::string, std::vector<Row>, std::less<>> tables;
  if (llvm::Error error = file.begin())
    return error;
  while (true) {
    auto table = file.next();
    if (!table)
      return table.takeError();
    if (!*table)
      break;
    auto &[name, content] = **table;
    auto rows = readTable(content);
    if (!rows)
      return makeError("table \"" + printable(name, 40) + "\": " + llvm::toString(rows.takeError()));
    if (!tables.try_emplace(name, std::move(*rows)).second)
      return makeError("the table \"" + printable(name, 40) + "\" is there twice");
  }
  std::map<uint64_t, const Row *> sources, optimised;
  for (auto [table, index] : {std::pair("source", &sources), std::pair("optimised", &optimised)})
    for (const Row &row : tables[table])
      if (auto id = numberIn(row, "id"); !id || !index->emplace(*id, &row).second)
        return makeError(llvm::Twine("table \"") + table + "\": an id is missing, no number, or there twice");
  for (const Row &entry : tables["queue"]) {
    auto offset = numberIn(entry, "offset"), id = numberIn(entry, "optimised_id");
    if (!offset || !id || !optimised.count(*id))
      return makeError("table \"queue\": a row has no offset or names an optimised operator that does not exist");
    ProfileRow row;
    row.metric = "commands";
    row.unit = "1";
    row.value = 1;
    row.ownDetails().offset = offset;
    const Row &op = *optimised[*id];
    if (auto name = op.find("operator"); name != op.end())
      row.rawName = name->second + " #" + std::to_string(*id);
    // −1: Vela does not know
    if (auto source = numberIn(op, "source_id"); source && sources.count(*source)) {
      const Row &from = *sources[*source];
      if (auto name = from.find("operator"); name != from.end())
        row.kind = name->second;
      auto height = numberIn(from, "ofm_h"), width = numberIn(from, "ofm_w"), depth = numberIn(from, "ofm_d");
      if (height && width && depth)
        row.ownDetails().resultShape = {*height, *width, *depth};
    }
    profile.rows.push_back(std::move(row));
  }
  return llvm::Error::success();
}

static bool isVela(StringRef text) { return VelaHead::begins(firstLine(text).split(',').first.trim(" \"")); }
static bool isXml(StringRef text) { return text.ltrim().starts_with("<"); }

namespace origo::report::formats {

std::vector<ProfileFormat> Vela() {
  return {{"vela", Rank::Words, isXml, readVelaDebug,
           "*_debug.xml: no times, but offsets for --kernels; operators are guessed from type and shape"},
          {"vela", Rank::Words, isVela, readVela,
           "*_per-layer.csv of --verbose-performance, up to Vela 4: estimated cycles; see --clock"}};
}

} // namespace origo::report::formats
