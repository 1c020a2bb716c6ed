#include "origin/codec/Embedded.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Endian.h"

using namespace origo;
using namespace origo::origin;
using llvm::ArrayRef;
using llvm::StringRef;
using llvm::Twine;

namespace {

void append(std::string &table, uint32_t value) {
  char bytes[4];
  llvm::support::endian::write32le(bytes, value);
  table.append(bytes, 4);
}

/// The name of its first output. Without one, ONE still wants every id to have a name.
std::string nameOf(const Listing &source, const SourceSubgraph &graph, uint32_t index) {
  const SourceOperator &op = graph.operators[index];
  if (!op.tensors.empty()) {
    uint64_t tensor = int64_t(op.tensors.front()) - graph.firstTensor; // an absent one becomes very large
    if (tensor < graph.tensors.size()) {
      // The name ends at the first NUL for whoever reads it.
      std::string name = graph.tensors[tensor].name.str().c_str();
      if (!name.empty())
        return name;
    }
  }
  // A source that is known from ONE's tables alone has no tensors, and their names in the place of codes.
  if (graph.tensors.empty())
    return op.op.str();
  return op.op.str() + "_" + std::to_string(graph.firstOperator + index);
}

/// Reads words and names; an error names the table.
class Reader {
public:
  Reader(ArrayRef<uint8_t> bytes, StringRef table) : bytes(bytes), table(table) {}

  llvm::Error error(const Twine &message) const { return llvm::createStringError(Twine(table) + ": " + message); }
  size_t left() const { return bytes.size() / 4; }
  bool done() const { return bytes.empty(); }

  bool word(uint32_t &value) {
    if (bytes.size() < 4)
      return false;
    value = llvm::support::endian::read32le(bytes.data());
    bytes = bytes.drop_front(4);
    return true;
  }
  bool text(uint32_t size, StringRef &value) {
    if (bytes.size() < size)
      return false;
    value = StringRef(reinterpret_cast<const char *>(bytes.data()), size);
    bytes = bytes.drop_front(size);
    return true;
  }

private:
  ArrayRef<uint8_t> bytes;
  StringRef table;
};

} // namespace

OneTables origin::encodeOneTables(const MapView &view) {
  const Listing &listing = view.source;
  OneTables result;
  if (listing.subgraphs.empty() || view.map.target.subgraphs.empty())
    return {std::string(4, '\0'), std::string(4, '\0')};

  // The ids to name: all of source subgraph 0, and those of other subgraphs where the operators here stand for them.
  uint32_t count = listing.operatorCount();
  llvm::BitVector named(count);
  named.set(0, listing.subgraphs.front().operators.size());
  uint32_t rows = 0;
  for (const auto &[index, row] : llvm::enumerate(view.rows.operators(0))) {
    const std::vector<uint32_t> &ids = row.origins.empty() ? row.serves : row.origins;
    if (ids.empty())
      continue;
    ++rows;
    append(result.op, index);
    append(result.op, ids.size());
    for (uint32_t id : ids) {
      append(result.op, id);
      if (id < count)
        named.set(id);
    }
  }
  std::string head;
  append(head, rows);
  result.op.insert(0, head);

  append(result.source, named.count());
  for (const SourceSubgraph &graph : listing.subgraphs)
    for (uint32_t i = 0; i < graph.operators.size(); ++i) {
      if (!named[graph.firstOperator + i])
        continue;
      std::string name = nameOf(listing, graph, i);
      append(result.source, graph.firstOperator + i);
      append(result.source, name.size() + 1);
      result.source.append(name.c_str(), name.size() + 1);
    }
  return result;
}

llvm::Expected<OneOrigins> origin::decodeOneTables(ArrayRef<uint8_t> source, ArrayRef<uint8_t> op) {
  OneOrigins result;
  llvm::DenseSet<uint64_t> known, indices; // of 32-bit numbers; all of those are allowed
  Reader names(source, oneSourceTable);
  uint32_t count;
  if (!names.word(count))
    return names.error("truncated");
  for (uint32_t i = 0; i < count; ++i) {
    uint32_t id, size;
    StringRef name;
    if (!names.word(id) || !names.word(size) || !names.text(size, name))
      return names.error("truncated in row " + Twine(i) + " of " + Twine(count));
    if (!name.consume_back(StringRef("", 1)))
      return names.error("the name of id " + Twine(id) + " does not end in a NUL");
    if (!known.insert(id).second)
      return names.error("id " + Twine(id) + " is there twice");
    result.names.emplace_back(id, name.str());
  }
  if (!names.done())
    return names.error("there are bytes behind its " + Twine(count) + " rows");

  Reader operators(op, oneOpTable);
  if (!operators.word(count))
    return operators.error("truncated");
  for (uint32_t i = 0; i < count; ++i) {
    uint32_t index, size;
    if (!operators.word(index) || !operators.word(size) || size > operators.left())
      return operators.error("truncated in row " + Twine(i) + " of " + Twine(count));
    if (!indices.insert(index).second)
      return operators.error("operator " + Twine(index) + " is there twice");
    if (!size)
      return operators.error("operator " + Twine(index) + " has no ids");
    std::vector<uint32_t> ids(size);
    for (uint32_t &id : ids)
      operators.word(id);
    for (uint32_t id : ids)
      if (!known.contains(id))
        return operators.error("operator " + Twine(index) + ": id " + Twine(id) + " is not in " + oneSourceTable);
    llvm::sort(ids);
    if (std::adjacent_find(ids.begin(), ids.end()) != ids.end())
      return operators.error("operator " + Twine(index) + " has an id twice");
    result.operators.emplace_back(index, std::move(ids));
  }
  if (!operators.done())
    return operators.error("there are bytes behind its " + Twine(count) + " rows");
  return result;
}
