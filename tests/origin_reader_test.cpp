#include "RandomMap.h"

#include "origin/Naming.h"
#include "origin/codec/Embedded.h"
#include "origin/codec/Json.h"
#include "origin/codec/LaterSteps.h"
#include "origin/origin_reader.h"
#include "schema/circle_generated.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include "gtest/gtest.h"

#include <map>
#include <random>

using namespace origo::origin;
using origo::test::randomMap;

namespace {

/// Two subgraphs with named tensors; the map lies behind the tables, at an offset. `deflated`: it is, in its own entry.
std::string model(const std::string &map, uint64_t offset, uint64_t size, bool deflated = false) {
  using namespace circle;
  flatbuffers::FlatBufferBuilder b;
  std::vector<flatbuffers::Offset<SubGraph>> graphs;
  for (int g = 0; g < 2; ++g) {
    std::vector<flatbuffers::Offset<Tensor>> tensors;
    std::vector<flatbuffers::Offset<Operator>> operators;
    std::vector<int32_t> shape = {4};
    for (int i = 0; i < 12; ++i)
      tensors.push_back(CreateTensorDirect(b, &shape, TensorType::FLOAT32, i % 3 ? 0 : 1,
                                           ("block_" + std::to_string(g) + "/" + std::to_string(i)).c_str()));
    for (int32_t i = 0; i < 7; ++i) {
      std::vector<int32_t> inputs = {i}, outputs = {i + 1};
      operators.push_back(CreateOperatorDirect(b, 0, &inputs, &outputs));
    }
    graphs.push_back(CreateSubGraphDirect(b, &tensors, nullptr, nullptr, &operators, "g"));
  }
  std::vector<flatbuffers::Offset<OperatorCode>> codes = {
      CreateOperatorCodeDirect(b, 101, nullptr, 1, BuiltinOperator::ABS)};
  std::vector<uint8_t> payload(16);
  std::vector<flatbuffers::Offset<Buffer>> buffers = {CreateBuffer(b), CreateBufferDirect(b, &payload),
                                                      CreateBuffer(b, 0, offset, size)};
  std::vector<flatbuffers::Offset<Metadata>> metadata = {
      CreateMetadataDirect(b, deflated ? deflatedName : metadataName, 2)};
  if (deflated) {
    flatbuffers::DetachedBuffer elsewhere = deflatedElsewhere();
    buffers.push_back(CreateBuffer(b, b.CreateVector(elsewhere.data(), elsewhere.size())));
    metadata.push_back(CreateMetadataDirect(b, metadataName, 3));
  }
  FinishModelBuffer(b, CreateModelDirect(b, 3, &codes, &graphs, "", &buffers, nullptr, &metadata));
  return std::string(reinterpret_cast<const char *>(b.GetBufferPointer()), b.GetSize()) + map;
}

std::string modelWith(const std::string &map, bool deflated = false) {
  return model(map, model("", 1000, 1000, deflated).size(), map.size(), deflated);
}

std::string modelWithDeflated(const std::string &map) {
  return modelWith(deflated({reinterpret_cast<const uint8_t *>(map.data()), map.size()}, 0), true);
}

/// A map as it is read, or what is said of it.
struct Opened : origo_map {
  explicit Opened(const std::string &file) : bytes(file.begin(), file.end()) {
    status = origo_open(this, bytes.data(), bytes.size());
  }
  Opened(const Opened &) = delete;
  ~Opened() { origo_close(this); }
  std::vector<uint8_t> bytes; ///< of exactly the size, so that the sanitizers see the end
  origo_status status;
};

std::string json(const OriginMap &map) {
  std::string text;
  llvm::raw_string_ostream os(text);
  writeJson(map, os);
  return text;
}

std::string text(origo_text text) { return {text.data, text.size}; }

std::vector<uint32_t> list(origo_ids ids) {
  std::vector<uint32_t> result;
  for (uint32_t id; origo_next_id(&ids, &id);)
    result.push_back(id);
  return result;
}

std::vector<int64_t> list(origo_numbers numbers) {
  std::vector<int64_t> result;
  for (int64_t number; origo_next_number(&numbers, &number);)
    result.push_back(number);
  return result;
}

std::vector<std::pair<uint32_t, uint32_t>> list(origo_places places) {
  std::vector<std::pair<uint32_t, uint32_t>> result;
  for (origo_place place; origo_next_place(&places, &place);)
    result.push_back({place.subgraph, place.index});
  return result;
}

std::vector<SourceSignature::Entry> list(origo_entries entries) {
  std::vector<SourceSignature::Entry> result;
  for (origo_entry entry; origo_next_entry(&entries, &entry);)
    result.push_back({text(entry.name), entry.tensor});
  return result;
}

Term term(const origo_term &from) { return {Term::Kind(from.kind), from.number, from.constant}; }

std::vector<MapRelation> list(origo_relations relations) {
  std::vector<MapRelation> result;
  for (origo_relation from; origo_next_relation(&relations, &from);) {
    MapRelation &to = result.emplace_back();
    to.tensor = from.tensor;
    to.exact = from.exact;
    std::vector<MapStep> steps;
    for (origo_step step; origo_next_step(&from.steps, &step);) {
      MapStep &read = steps.emplace_back(MapStep{MapStep::Kind(step.kind),
                                                 step.axis,
                                                 term(step.scale),
                                                 term(step.shift),
                                                 list(step.first),
                                                 list(step.second),
                                                 {},
                                                 text(step.unknown)});
      if (read.kind == MapStep::Unknown) // to C, a scaled step is a text
        readLaterStep(text(step.unknown), read);
    }
    to.steps = std::move(steps);
  }
  return result;
}

/// What is said of each operator's layer and of each stack.
void readLayers(const origo_map &from, Listing &source) {
  for (SourceSubgraph &graph : source.subgraphs)
    for (SourceOperator &op : graph.operators)
      op.layer = nullptr;
  if (!from.has_names)
    return;
  auto layers = origo_layers(&from);
  for (origo_layer row; origo_next_layer(&layers, &row);) {
    auto layer = std::make_shared<SourceLayer>();
    layer->name = text(row.name);
    for (origo_text word; origo_next_word(&row.scopes, &word);)
      layer->scope.push_back(text(word));
    layer->className = text(row.class_name);
    layer->note = text(row.note);
    layer->stack = row.stack;
    layer->setPath();
    auto graph = llvm::find_if(source.subgraphs, [&](const SourceSubgraph &one) {
      return row.id - one.firstOperator < one.operators.size() && row.id >= one.firstOperator;
    });
    ASSERT_NE(graph, source.subgraphs.end());
    graph->operators[row.id - graph->firstOperator].layer = std::move(layer);
  }
  for (auto [i, stack] : llvm::enumerate(source.stacks)) {
    auto frames = origo_frames_of(&from, static_cast<int32_t>(i));
    size_t count = 0;
    for (origo_frame row; origo_next_frame(&frames, &row); ++count) {
      ASSERT_LT(count, stack.size());
      const SourceFrame &frame = source.frames[stack[count]];
      EXPECT_EQ(text(row.file), source.files[frame.file]);
      EXPECT_EQ(text(row.function), frame.function);
      EXPECT_EQ(row.line, frame.line);
    }
    EXPECT_EQ(count, stack.size());
  }
  auto none = origo_frames_of(&from, static_cast<int32_t>(source.stacks.size()));
  origo_frame row;
  EXPECT_FALSE(origo_next_frame(&none, &row));
}

/// The map as the C header reads it. What it does not tell is taken from `known`.
OriginMap readByC(const origo_map &from, OriginMap known, size_t capacity) {
  auto operators = origo_operators(&from);
  for (origo_operator row; origo_next_operator(&operators, &row);) {
    OperatorRow &to = known.target.subgraphs.at(row.subgraph).operators.at(row.index);
    to.origins = list(row.origins);
    to.passes.clear();
    for (origo_text pass; origo_next_pass(&row.passes, &pass);)
      to.passes.push_back(text(pass));
    to.syntheticReason = text(row.synthetic);
    to.serves = list(row.serves);
    to.wide = text(row.wide);
    to.calls = list(row.calls);
  }
  auto tensors = origo_tensors(&from);
  for (origo_tensor row; origo_next_tensor(&tensors, &row);) {
    TensorRow &to = known.target.subgraphs.at(row.subgraph).tensors.at(row.index);
    to.name = text(origo_tensor_name(&from, row.subgraph, row.index));
    std::vector<MapRelation> before = std::exchange(to.relations, list(row.relations));
    for (size_t i = 0; i < std::min(before.size(), to.relations.size());
         ++i) // by which lineage is not read, nor from what it is inexact
      to.relations[i].lineage = before[i].lineage, to.relations[i].inherited = before[i].inherited;
    to.reason = text(row.reason);
    to.syntheticReason = text(row.synthetic);
    to.tensors = list(row.tensors);
    to.operators = list(row.operators);
    if (!row.computed && to.constant && !to.relations.empty())
      to.tensors = {to.relations.front().tensor};
  }
  auto sources = origo_source_operators(&from);
  for (origo_source_operator row; origo_next_source_operator(&sources, &row);) {
    SourceOperator &to = known.source.subgraphs.at(row.subgraph).operators.at(row.index);
    to.op = text(row.op);
    to.customCode = text(row.custom_code);
    std::vector<int32_t> tensors;
    for (int32_t tensor; origo_next_output(&row.outputs, &tensor);)
      tensors.push_back(tensor);
    to.tensors = tensors;
  }
  readLayers(from, known.source);
  uint32_t next = 0;
  auto uses = origo_uses(&from);
  for (SourceSubgraph &graph : known.source.subgraphs) {
    bool operands = !graph.operandEnds.empty(), costs = !graph.costs.empty();
    graph.operands.clear();
    graph.operandEnds.clear();
    graph.costs.clear();
    for (size_t i = 0; i < graph.operators.size(); ++i) {
      origo_use row;
      if (!origo_next_use(&uses, &row) || row.id != next++)
        ADD_FAILURE() << "no row for operator " << i;
      for (int32_t tensor; origo_next_output(&row.operands, &tensor);)
        graph.operands.push_back(tensor);
      if (operands)
        graph.operandEnds.push_back(graph.operands.size());
      if (costs)
        graph.costs.push_back({row.macs, row.bytes});
      else
        EXPECT_TRUE(row.macs == ORIGO_UNKNOWN && row.bytes == ORIGO_UNKNOWN);
    }
  }
  std::string buffer(capacity, '?');
  auto names = origo_names(&from, buffer.data(), buffer.size());
  uint32_t id = 0;
  for (SourceSubgraph &graph : known.source.subgraphs)
    for (SourceTensor &tensor : graph.tensors) {
      uint64_t length;
      if (origo_next_name(&names, &length))
        tensor.name = buffer.substr(0, length);
      tensor.kind = TensorKind(origo_source_tensor_kind(&from, id++));
    }
  known.source.signatures.clear();
  auto signatures = origo_signatures(&from);
  for (origo_signature row; origo_next_signature(&signatures, &row);)
    known.source.signatures.push_back({text(row.key), row.subgraph, list(row.inputs), list(row.outputs)});
  std::deque<MapLedgerRow> rows =
      std::exchange(known.ledger, {}); // who cancelled out with what is not read, nor where it was led
  auto ledger = origo_ledger(&from);
  for (origo_gone row; origo_next_gone(&ledger, &row);)
    known.ledger.push_back(
        {bool(row.is_tensor), row.id, text(row.fate), text(row.was), text(row.pass), row.run, row.rewrite,
         list(row.operators), list(row.tensors), text(row.part_file), text(row.part_fingerprint),
         rows.size() > known.ledger.size() ? rows[known.ledger.size()].with : std::vector<uint32_t>(),
         rows.size() > known.ledger.size() ? rows[known.ledger.size()].ledTo : std::nullopt});
  known.unneeded.clear();
  auto unneeded = origo_all_unneeded(&from);
  for (origo_unneeded row; origo_next_unneeded(&unneeded, &row);)
    known.unneeded.push_back({bool(row.is_tensor), row.id, row.user, row.operand, text(row.reason)});
  // In step with the ledger come those of its rows, if these are in order; in a damaged map they may not be.
  bool sorted = std::adjacent_find(known.ledger.begin(), known.ledger.end(), [](auto &a, auto &b) {
                  return std::pair(a.isTensor, a.id) >= std::pair(b.isTensor, b.id);
                }) == known.ledger.end();
  unneeded = origo_all_unneeded(&from);
  ledger = origo_ledger(&from);
  for (origo_gone row; sorted && origo_next_gone(&ledger, &row);) {
    size_t count = 0;
    for (origo_unneeded item; origo_next_unneeded_of(&unneeded, &row, &item); ++count)
      EXPECT_TRUE(bool(item.is_tensor) == bool(row.is_tensor) && item.id == row.id);
    EXPECT_EQ(count, known.unneededOf(row.is_tensor, row.id).size());
  }
  known.target.laws = from.laws;
  known.retrained = from.retrained;
  return known;
}

llvm::Expected<OriginMap> decodeIn(const std::string &file) {
  auto opened = ModelFile::fromBytes(llvm::arrayRefFromStringRef(file), "test");
  if (!opened)
    return opened.takeError();
  auto map = decode([&](llvm::StringRef name) { return (*opened)->metadata(name); }, file.size(), (*opened)->view());
  if (!map)
    return map.takeError();
  return std::move(map->value());
}

OriginMap someMap(unsigned seed) {
  const std::string file = modelWith("");
  return randomMap(seed, llvm::cantFail(ModelFile::fromBytes(llvm::arrayRefFromStringRef(file), "test"))->view());
}

} // namespace

/// The scopes and the leaf as the C reader tells them, and as C++ does, each with "/" behind it.
static std::pair<std::vector<std::string>, std::string> layerInC(const std::string &name) {
  std::vector<char> bytes(name.begin(), name.end()); // no more than these may be read
  auto rest = origo_scopes_of({bytes.empty() ? "" : bytes.data(), bytes.size()});
  std::vector<std::string> scopes;
  for (origo_text scope; origo_next_scope(&rest, &scope);)
    scopes.push_back(text(scope) + "/");
  return {scopes, text(rest.leaf)};
}

TEST(Naming, EachExportersNames) {
  auto file = llvm::MemoryBuffer::getFile(ORIGO_SOURCE_DIR "/tests/naming.tsv");
  ASSERT_TRUE(bool(file));
  std::map<std::string, size_t> names, without;
  llvm::SmallVector<llvm::StringRef> lines, cells;
  (*file)->getBuffer().split(lines, '\n', -1, false);
  for (llvm::StringRef line : llvm::ArrayRef(lines).drop_front()) {
    cells.clear();
    line.split(cells, '\t');
    ASSERT_EQ(cells.size(), 4u) << line.str();
    std::string name = cells[1].str(), told, exporter = cells[0].str();
    NamedLayer layer = layerOfName(name);
    for (size_t i = 0; i < layer.depth; ++i)
      told += (i ? " " : "") + std::string(layer.scopes[i]);
    EXPECT_EQ(told, cells[2].str()) << name;
    EXPECT_EQ(std::string(layer.leaf), cells[3].str()) << name;
    EXPECT_EQ(layerInC(name), std::pair(scopesOfName(name), std::string(layer.leaf))) << name;
    ++names[exporter];
    without[exporter] += layer.depth == 0 || layer.scopes[0] == name || layer.scopes[0] == "main";
  }
  size_t exporters = 0;
  for (auto &[exporter, count] : names)
    if (exporter != "whatever") {
      exporters += count >= 10;
      EXPECT_EQ(without[exporter], 0u) << exporter;
    }
  EXPECT_GE(exporters, 8u);
}

TEST(Naming, AnyName) {
  std::mt19937 random(1);
  const std::vector<std::string> parts = {"/",         ";",
                                          "::",        ".",
                                          "a",         "b",
                                          "0",         "12",
                                          "__",        ":",
                                          "jit(",      ")",
                                          ".tmp_",     "_output_",
                                          "torch.nn.", "onnx",
                                          "__Inline_", "PartitionedCall",
                                          "\xff",      std::string(1, 0)};
  for (unsigned i = 0; i < 20000; ++i) {
    std::string name;
    for (unsigned left = random() % 12; left; --left)
      name += parts[random() % parts.size()];
    NamedLayer layer = layerOfName(name);
    EXPECT_EQ(layerInC(name), std::pair(scopesOfName(name), std::string(layer.leaf))) << name;
    // What a listing holds as scopes and a name is a path, and has the same scopes again.
    std::vector<std::string> scopes = scopesOfName(name);
    EXPECT_LE(scopes.size(), 16u);
    for (size_t at = 1; at < scopes.size(); ++at)
      EXPECT_EQ(scopes[at].compare(0, scopes[at - 1].size() - 1, scopes[at - 1], 0, scopes[at - 1].size() - 1), 0)
          << name;
  }
  for (const char *part : {"/", ";", "a/", "::", ".0", "1", "jit(", "_output_1", ".tmp_0", "__1", ";a/"}) {
    std::string name;
    while (name.size() < 1000000)
      name += part;
    EXPECT_EQ(layerInC(name).first, scopesOfName(name)); // and it takes no time
  }
}

TEST(OriginReaderC, ReadsWhatTheOtherReaderReads) {
  size_t names = 0;
  for (unsigned seed = 0; seed < 200; ++seed)
    for (Embed embed : {Embed::Names, Embed::Ids}) {
      const std::string encoded = origo::test::encoded(someMap(seed), embed);
      const Opened map(seed % 2 ? modelWithDeflated(encoded) : modelWith(encoded));
      auto expected = decodeIn(modelWith(encoded));
      ASSERT_TRUE(bool(expected)) << llvm::toString(expected.takeError());
      ASSERT_EQ(map.status, ORIGO_OK) << seed;
      ASSERT_EQ(json(readByC(map, *expected, 1000)), json(*expected)) << seed;
      auto inflated = decodeIn(modelWithDeflated(encoded));
      ASSERT_TRUE(bool(inflated)) << llvm::toString(inflated.takeError());
      ASSERT_EQ(json(*inflated), json(*expected)) << seed;
      ASSERT_EQ(map.has_names != 0, embed == Embed::Names);
      if (embed != Embed::Names)
        continue;
      // A short buffer gets the beginning of each name, and the whole length is told.
      char buffer[5];
      uint64_t length;
      auto cursor = origo_names(&map, buffer, sizeof buffer);
      for (const SourceSubgraph &graph : expected->source.subgraphs)
        for (const SourceTensor &tensor : graph.tensors) {
          ASSERT_TRUE(origo_next_name(&cursor, &length));
          ASSERT_EQ(length, tensor.name.size());
          ASSERT_EQ(std::string(buffer, std::min<size_t>(length, sizeof buffer)),
                    tensor.name.view().substr(0, sizeof buffer));
          ++names;
        }
      ASSERT_FALSE(origo_next_name(&cursor, &length));
    }
  EXPECT_GT(names, 1000u);
}

/// Where the C++ reader accepts what was damaged, the C reader accepts it and says the same. (The other way round it
/// need not be: the C reader does not look at what it does not tell.)
TEST(OriginReaderC, DamageIsReadAlike) {
  size_t accepted = 0, refused = 0, told = 0;
  for (bool deflated : {false, true})
    for (unsigned seed = 0; seed < 2; ++seed) {
      const std::string encoded = origo::test::encoded(someMap(seed), Embed::Names);
      std::string file = deflated ? modelWithDeflated(encoded) : modelWith(encoded);
      size_t tables = modelWith("", deflated).size();
      for (size_t i = tables; i < file.size(); ++i)
        for (uint8_t flip : {0x01, 0x80}) {
          file[i] ^= flip;
          const Opened map(file);
          auto expected = decodeIn(file);
          if (expected) {
            ++accepted;
            ASSERT_EQ(map.status, ORIGO_OK) << i;
            ASSERT_EQ(json(readByC(map, *expected, 1000)), json(*expected)) << i;
          } else {
            ++refused;
            llvm::consumeError(expected.takeError());
            told += map.status != ORIGO_OK;
          }
          file[i] ^= flip;
        }
    }
  EXPECT_GT(accepted, 200u);
  EXPECT_GT(refused, 200u);
  EXPECT_GT(told, refused / 2);
}

TEST(OriginReaderC, RefusesAMapThatLiesOutside) {
  const std::string map = origo::test::encoded(someMap(1), Embed::Full);
  const uint64_t at = modelWith("").size(), size = map.size();
  auto status = [&](uint64_t offset, uint64_t size) { return Opened(model(map, offset, size)).status; };
  EXPECT_EQ(status(at, size), ORIGO_OK);
  for (auto [offset, size] : {std::pair<uint64_t, uint64_t>(at, size + 1),
                              {at + 1, size},
                              {~uint64_t(0), size},
                              {at, ~uint64_t(0)},
                              {~uint64_t(0) - size + 2, size}})
    EXPECT_EQ(status(offset, size), ORIGO_DAMAGED) << offset << ' ' << size;
}

/// A deflated map says how many bytes it has, which anybody may have written.
TEST(OriginReader, ADeflatedMapIsBelievedOnlyAsFarAsTheFileGoes) {
  const std::string map = origo::test::encoded(someMap(1), Embed::Names);
  auto deflatedMap = [](const std::string &bytes) {
    return deflated({reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()}, 0);
  };
  auto isRefused = [](const std::string &payload) {
    const std::string file = modelWith(payload, true);
    auto read = decodeIn(file);
    origo_status status = Opened(file).status;
    EXPECT_EQ(bool(read), status == ORIGO_OK);
    if (!read) {
      EXPECT_EQ(llvm::toString(read.takeError()), "damaged origin map");
    }
    return status == ORIGO_DAMAGED;
  };
  const std::string whole = deflatedMap(map);
  EXPECT_FALSE(isRefused(whole));
  auto claiming = [&](uint32_t size) {
    std::string payload = whole;
    for (unsigned i = 0; i < 4; ++i)
      payload[i] = char(size >> 8 * i);
    return payload;
  };
  for (uint32_t size : {0u, 7u, uint32_t(map.size() - 1), uint32_t(map.size() + 1), 0x7fffffffu, ~0u})
    EXPECT_TRUE(isRefused(claiming(size))) << size;
  for (size_t size = 1; size < whole.size(); ++size)
    EXPECT_TRUE(isRefused(whole.substr(0, size))) << size;
  EXPECT_TRUE(isRefused(whole + "x")) << "there is something behind the end";

  // What only repeats is a thousand times shorter, and may not be: 8 times the file is what a map may be.
  auto zeros = [&](size_t size) {
    const std::string bytes = map + std::string(size - map.size(), '\0');
    return deflated({reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()}, ~0u);
  };
  EXPECT_FALSE(isRefused(zeros(1 << 20)));
  EXPECT_LT(zeros(10 << 20).size(), 20000u);
  EXPECT_TRUE(isRefused(zeros(10 << 20)));
  // The writer does without repetitions then.
  EXPECT_FALSE(isRefused(deflatedMap(map + std::string(10 << 20, '\0'))));
}

TEST(OriginReader, TheEntryOfAMapSaysWhereItIs) {
  const std::string encoded = origo::test::encoded(someMap(1), Embed::Names);
  std::string file = modelWithDeflated(encoded);
  const std::string stays = file;
  // Without its own entry there is no map, whatever the other one says.
  for (const char *name : {metadataName, deflatedName}) {
    file = stays;
    size_t at = file.find(std::string(name) + std::string(1, '\0'));
    ASSERT_NE(at, std::string::npos);
    file[at] = 'O';
    const bool none = name == std::string(metadataName);
    EXPECT_EQ(Opened(file).status, none ? ORIGO_NO_MAP : ORIGO_DAMAGED) << name;
  }
}
