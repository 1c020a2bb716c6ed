/// Arm Vela: the estimates of --verbose-performance, and the debug database.

#include "report/ProfileReaders.h"

#include "ir/Error.h"

#include <libxml/parser.h>

#include <map>

using namespace origo;
using namespace origo::report;
using llvm::StringRef;

namespace {

constexpr size_t nngColumn = 1, cyclesColumn = 4, nameColumn = 14, columnCount = 15;

bool isHead(const std::vector<std::string> &cells) {
  StringRef first = StringRef(cells.front()).trim();
  return first == "TFLite_operator" || first == "TOSA_operator";
}

} // namespace

llvm::Error report::readVela(StringRef text, const ProfileOptions &, Profile &profile) {
  profile.tool = "vela";
  bool any = false;
  for (size_t number = 1; !text.empty(); ++number) {
    auto bad = [&](const llvm::Twine &what) { return makeError("line " + llvm::Twine(number) + ": " + what); };
    auto cells = takeCsvLine(text);
    if (!cells)
      return bad(llvm::toString(cells.takeError()));
    if (cells->size() == 1 && StringRef(cells->front()).trim().empty())
      continue;
    // By position, for two columns have the same name; the head comes again for each part of the network.
    if (isHead(*cells)) {
      if (cells->size() != columnCount)
        return bad("the head has " + llvm::Twine(cells->size()) + " columns; this reads the layout of " +
                   llvm::Twine(columnCount));
      any = true;
      continue;
    }
    if (!any)
      return bad("the head of the table is expected, with \"TFLite_operator\" first");
    if (cells->size() != columnCount)
      return bad("the row has " + llvm::Twine(cells->size()) + " cells, the head " + llvm::Twine(columnCount));
    ProfileRow row;
    row.metric = row.unit = "cycles";
    row.kind = StringRef((*cells)[0]).trim().str();
    row.prefixed = StringRef((*cells)[nameColumn]).trim().str();
    row.rawName = row.prefixed;
    row.backend = "npu " + StringRef((*cells)[nngColumn]).trim().str();
    auto cycles = parseDecimal((*cells)[cyclesColumn], 0);
    if (!cycles)
      return bad("Op Cycles: " + llvm::toString(cycles.takeError()));
    row.value = *cycles;
    profile.rows.push_back(std::move(row));
  }
  return any ? llvm::Error::success() : makeError("has no table");
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

} // namespace

/// A command stream's offset leads to an optimised operator, and that to one operator of the network, of which the
/// database says the type and the shape of its result, but neither index nor name.
llvm::Error report::readVelaDebug(StringRef text, const ProfileOptions &, Profile &profile) {
  profile.tool = "vela-debug";
  if (text.size() > INT32_MAX)
    return makeError("is too large");
  std::unique_ptr<xmlDoc, decltype(&xmlFreeDoc)> document(
      xmlReadMemory(text.data(), static_cast<int>(text.size()), nullptr, nullptr,
                    XML_PARSE_NONET | XML_PARSE_NOERROR | XML_PARSE_NOWARNING),
      xmlFreeDoc);
  // Entities could make a small file large, or read others; Vela writes none.
  if (document && xmlGetIntSubset(document.get()))
    return makeError("has a document type, which Vela does not write");
  xmlNode *root = document ? xmlDocGetRootElement(document.get()) : nullptr;
  if (!root || StringRef(reinterpret_cast<const char *>(root->name)) != "debug")
    return makeError("is no whole XML document whose root is \"debug\"");
  std::map<std::string, std::vector<Row>, std::less<>> tables;
  for (xmlNode *node = root->children; node; node = node->next) {
    if (node->type != XML_ELEMENT_NODE || StringRef(reinterpret_cast<const char *>(node->name)) != "table")
      continue;
    std::unique_ptr<xmlChar, decltype(xmlFree)> name(xmlGetProp(node, BAD_CAST "name"), xmlFree);
    std::unique_ptr<xmlChar, decltype(xmlFree)> content(xmlNodeGetContent(node), xmlFree);
    if (!name || !content)
      return makeError("a table has no name");
    std::string key = reinterpret_cast<const char *>(name.get());
    auto rows = readTable(reinterpret_cast<const char *>(content.get()));
    if (!rows)
      return makeError("table \"" + printable(key, 40) + "\": " + llvm::toString(rows.takeError()));
    if (!tables.try_emplace(key, std::move(*rows)).second)
      return makeError("the table \"" + printable(key, 40) + "\" is there twice");
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
    row.offset = offset;
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
        row.resultShape = {*height, *width, *depth};
    }
    profile.rows.push_back(std::move(row));
  }
  return llvm::Error::success();
}
