#include "RandomMap.h"

#include "origin/Embedded.h"
#include "origin/Files.h"
#include "origin/Json.h"
#include "schema/circle_generated.h"
#include "schema/origin_map_generated.h"
#include "schema/tflite_generated.h"

#include "nlohmann/json.hpp"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SHA256.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>
#include <random>

using namespace origo::origin;
using origo::test::randomMap;
using llvm::ArrayRef;
using llvm::StringRef;
namespace embedded = origo::embedded;

namespace {

std::string error(llvm::Error failure) { return llvm::toString(std::move(failure)); }
template <class T> std::string error(llvm::Expected<T> &result) { return result ? "" : error(result.takeError()); }
ArrayRef<uint8_t> bytes(const std::string &text) { return llvm::arrayRefFromStringRef(text); }
std::string json(const OriginMap &map) {
  std::string text;
  llvm::raw_string_ostream os(text);
  writeJson(map, os);
  return text;
}
bool contains(const std::string &text, const std::string &part) { return text.find(part) != std::string::npos; }

std::vector<std::string> modelsIn(const std::string &folder) {
  const char *shared = std::getenv("ORIGO_SHARED");
  std::filesystem::path root = shared ? shared : std::string(ORIGO_SOURCE_DIR) + "/../shared";
  std::vector<std::string> result;
  std::error_code ignored;
  for (const auto &entry : std::filesystem::directory_iterator(root / "models" / folder, ignored))
    if (entry.path().extension() == ".tflite" || entry.path().extension() == ".circle")
      result.push_back(entry.path().string());
  std::sort(result.begin(), result.end());
  return result;
}

/// A circle model of one ADD (constant + input) and one CUSTOM operator, with what the fingerprint must not see as
/// parameters.
struct Small {
  bool codesReversed = false, buffersReversed = false, isOutside = false;
  std::string description = "a", metadata = {};
  std::vector<int32_t> shape = {1, 2}, constant = {7, 8};
  std::string name = "c", customCode = "mine";
  std::optional<circle::BuiltinOptions> emptyOptions = circle::BuiltinOptions::AddOptions;
  uint64_t largeOffset = 1;

  std::string build() const {
    using namespace circle;
    flatbuffers::FlatBufferBuilder b;
    std::vector<uint8_t> data(constant.size() * 4);
    std::memcpy(data.data(), constant.data(), data.size());
    auto empty = [&] { return CreateBuffer(b); };
    auto full = [&](uint64_t offset) {
      return isOutside ? CreateBuffer(b, 0, offset, data.size()) : CreateBuffer(b, b.CreateVector(data));
    };
    auto graph = [&](uint32_t payload) {
      auto tensor = [&](const char *name, TensorType type, uint32_t buffer) {
        auto shapeVector = b.CreateVector(shape);
        return CreateTensor(b, shapeVector, type, buffer, b.CreateString(name));
      };
      std::vector<flatbuffers::Offset<Tensor>> tensors = {
          tensor("x", TensorType::INT32, 0), tensor(name.c_str(), TensorType::INT32, payload),
          tensor("y", TensorType::INT32, 0), tensor("z", TensorType::FLOAT32, 0)};
      auto vector = [&](std::vector<int32_t> indices) { return b.CreateVector(indices); };
      flatbuffers::Offset<void> options = emptyOptions ? CreateAddOptions(b).Union() : 0;
      auto type = emptyOptions.value_or(BuiltinOptions::NONE);
      auto inputs = vector({0, 1}), outputs = vector({2});
      auto add = CreateOperator(b, codesReversed ? 1 : 0, inputs, outputs, type, options);
      inputs = vector({2});
      outputs = vector({3, -1});
      auto custom = CreateOperator(b, codesReversed ? 0 : 1, inputs, outputs, BuiltinOptions::NONE, 0, 0,
                                   CustomOptionsFormat::FLEXBUFFERS, 0, 0, largeOffset, 40);
      std::vector<flatbuffers::Offset<Operator>> operators = {add, custom};
      auto graphInputs = vector({0}), graphOutputs = vector({3});
      auto tensorVector = b.CreateVector(tensors);
      auto operatorVector = b.CreateVector(operators);
      return CreateSubGraph(b, tensorVector, graphInputs, graphOutputs, operatorVector, b.CreateString("main"));
    };
    auto code = [&](bool isCustom) {
      auto text = isCustom ? b.CreateString(customCode) : 0;
      return isCustom ? CreateOperatorCode(b, 32, text, 3, BuiltinOperator::CUSTOM) : CreateOperatorCode(b, 0, text, 2);
    };
    auto make = [&](uint64_t offset) {
      b.Clear();
      std::vector<flatbuffers::Offset<OperatorCode>> codes = {code(codesReversed), code(!codesReversed)};
      uint32_t payload = buffersReversed ? 2 : 1;
      std::vector<flatbuffers::Offset<Buffer>> buffers = {empty(), buffersReversed ? empty() : full(offset),
                                                          buffersReversed ? full(offset) : empty()};
      std::vector<flatbuffers::Offset<SubGraph>> graphs = {graph(payload)};
      std::vector<flatbuffers::Offset<Metadata>> entries;
      if (!metadata.empty())
        entries.push_back(CreateMetadata(b, b.CreateString(metadata), 2));
      auto entriesVector = b.CreateVector(entries);
      auto codesVector = b.CreateVector(codes);
      auto graphsVector = b.CreateVector(graphs);
      auto buffersVector = b.CreateVector(buffers);
      FinishModelBuffer(b, CreateModel(b, 0, codesVector, graphsVector, b.CreateString(description), buffersVector, 0,
                                       entriesVector));
      return b.GetSize();
    };
    uint64_t size = make(1000);
    if (isOutside)
      make(size);
    std::string result(reinterpret_cast<char *>(b.GetBufferPointer()), b.GetSize());
    if (isOutside)
      result.append(reinterpret_cast<char *>(data.data()), data.size());
    return result;
  }
};

std::unique_ptr<ModelFile> open(const std::string &model) {
  auto file = ModelFile::fromBytes(bytes(model), "small");
  EXPECT_TRUE(bool(file)) << error(file);
  return file ? std::move(*file) : nullptr;
}
std::string fingerprintOf(const Small &small) {
  std::string model = small.build();
  auto file = open(model);
  return file ? hex(fingerprint(file->view())) : "";
}

/// The bytes that are hashed, spelled out.
struct Spelled {
  std::string bytes;
  template <class T> Spelled &put(T value) {
    bytes.append(reinterpret_cast<char *>(&value), sizeof(value));
    return *this;
  }
  Spelled &slot(uint16_t slot) { return put(slot); }
  Spelled &end() { return slot(0xFFFF); }
  Spelled &text(StringRef text) {
    put(uint32_t(text.size()));
    bytes += text;
    return *this;
  }
  Spelled &vector(std::initializer_list<int32_t> values) {
    put(uint32_t(values.size()));
    for (int32_t value : values)
      put(value);
    return *this;
  }
};

} // namespace

TEST(Fingerprint, IsTheHashOfTheEncodingThatTheHeaderDescribes) {
  Spelled s;
  s.bytes = "CIR0";
  s.slot(2).put(uint32_t(1));                                              // subgraphs
  s.slot(0).put(uint32_t(4));                                              // tensors
  s.slot(0).vector({1, 2}).slot(1).put(int8_t(2)).slot(3).text("x").end(); // INT32
  s.slot(0).vector({1, 2}).slot(1).put(int8_t(2)).slot(2).put(uint64_t(8)).put(int32_t(7)).put(int32_t(8));
  s.slot(3).text("c").end();
  s.slot(0).vector({1, 2}).slot(1).put(int8_t(2)).slot(3).text("y").end();
  s.slot(0).vector({1, 2}).slot(3).text("z").end();
  s.slot(1).vector({0}).slot(2).vector({3}); // inputs, outputs
  s.slot(3).put(uint32_t(2));                // operators
  s.slot(0).put(int32_t(0)).put(int32_t(2)).text("").slot(1).vector({0, 1}).slot(2).vector({2});
  s.slot(3).put(uint8_t(11)).end(); // AddOptions, all of it default
  s.slot(0).put(int32_t(32)).put(int32_t(3)).text("mine").slot(1).vector({2}).slot(2).vector({3, -1});
  s.slot(9).put(uint64_t(40)).slot(10).put(uint64_t(40)).end(); // large custom options
  s.slot(4).text("main").end();
  s.end();
  EXPECT_EQ(fingerprintOf(Small()), hex(llvm::SHA256::hash(bytes(s.bytes))));
}

TEST(Fingerprint, DoesNotSeeWhereThingsLie) {
  const std::string plain = fingerprintOf({});
  ASSERT_EQ(plain.size(), 64u);
  EXPECT_EQ(fingerprintOf({.codesReversed = true}), plain);
  EXPECT_EQ(fingerprintOf({.buffersReversed = true}), plain);
  EXPECT_EQ(fingerprintOf({.isOutside = true}), plain);
  EXPECT_EQ(fingerprintOf({.description = "b"}), plain);
  EXPECT_EQ(fingerprintOf({.metadata = "origo.origin_map"}), plain);
  EXPECT_EQ(fingerprintOf({.largeOffset = 7777}), plain);
}

TEST(Fingerprint, SeesWhatTheModelIs) {
  std::set<std::string> all = {fingerprintOf({}),
                               fingerprintOf({.shape = {2, 1}}),
                               fingerprintOf({.shape = {2}}),
                               fingerprintOf({.constant = {7, 9}}),
                               fingerprintOf({.constant = {7, 8, 9}}),
                               fingerprintOf({.name = "d"}),
                               fingerprintOf({.name = ""}),
                               fingerprintOf({.customCode = "yours"}),
                               fingerprintOf({.emptyOptions = std::nullopt})};
  EXPECT_EQ(all.size(), 9u);
}

TEST(Fingerprint, ContentSeesOnlyConstants) {
  auto contentOf = [](const Small &small) {
    std::string model = small.build();
    return hex(content(open(model)->view()));
  };
  Spelled s;
  for (int i = 0; i < 2; ++i)
    s = i ? s.put(int32_t(7)).put(int32_t(8)) : s.put(uint64_t(8)).put(int32_t(7)).put(int32_t(8));
  EXPECT_EQ(contentOf({}), hex(llvm::SHA256::hash(bytes(s.bytes))));
  EXPECT_EQ(contentOf({.isOutside = true, .name = "other"}), contentOf({}));
  EXPECT_NE(contentOf({.constant = {7, 9}}), contentOf({}));

  // Of long ones, both ends count and the middle does not.
  Small big;
  big.constant.assign(5000, 1);
  std::string plain = contentOf(big), name = fingerprintOf(big);
  big.constant[2500] = 2;
  EXPECT_EQ(contentOf(big), plain);
  EXPECT_EQ(fingerprintOf(big), name);
  big.constant.back() = 2;
  EXPECT_NE(contentOf(big), plain);
  EXPECT_EQ(fingerprintOf(big), name);
}

TEST(Fingerprint, OfTfliteCountsPayloadsInOtherFiles) {
  auto build = [](uint64_t offset, uint64_t length) {
    using namespace tflite;
    flatbuffers::FlatBufferBuilder b;
    std::vector<int32_t> dimensions = {4};
    auto shape = b.CreateVector(dimensions);
    TensorBuilder tensor(b);
    tensor.add_shape(shape);
    tensor.add_external_buffer(5);
    std::vector<flatbuffers::Offset<Tensor>> tensors = {tensor.Finish()};
    std::vector<flatbuffers::Offset<SubGraph>> graphs = {CreateSubGraph(b, b.CreateVector(tensors))};
    auto graphsVector = b.CreateVector(graphs);
    std::vector<flatbuffers::Offset<ExternalBuffer>> externals = {CreateExternalBuffer(b, 5, 0, offset, length)};
    auto externalsVector = b.CreateVector(externals);
    FinishModelBuffer(b, CreateModel(b, 3, 0, graphsVector, 0, 0, 0, 0, 0, 0, externalsVector));
    return std::string(reinterpret_cast<char *>(b.GetBufferPointer()), b.GetSize());
  };
  auto listing = [](const std::string &model) {
    auto file = open(model);
    return describe(file->view());
  };
  Listing one = listing(build(100, 16)), moved = listing(build(200, 16)), longer = listing(build(100, 32));
  EXPECT_EQ(one.format, "tflite");
  EXPECT_EQ(one.subgraphs.at(0).tensors.at(0).kind, TensorKind::Constant);
  EXPECT_EQ(one.fingerprint, moved.fingerprint);
  EXPECT_NE(one.fingerprint, longer.fingerprint);
  EXPECT_EQ(one.content, moved.content);
  EXPECT_NE(one.content, longer.content);
}

TEST(Describe, ListsOperatorsTensorsAndTheirKinds) {
  std::string model = Small().build();
  Listing listing = describe(open(model)->view());
  ASSERT_EQ(listing.subgraphs.size(), 1u);
  EXPECT_EQ(listing.operatorCount(), 2u);
  EXPECT_EQ(listing.tensorCount(), 4u);
  const SourceSubgraph &graph = listing.subgraphs[0];
  EXPECT_EQ(graph.name, "main");
  EXPECT_EQ(graph.operators[0].op, "ADD");
  EXPECT_EQ(graph.operators[1].op, "CUSTOM");
  EXPECT_EQ(graph.operators[1].customCode, "mine");
  EXPECT_EQ(graph.operators[1].tensors, (std::vector<int32_t>{3, -1}));
  using enum TensorKind;
  std::vector<TensorKind> kinds;
  for (const SourceTensor &tensor : graph.tensors)
    kinds.push_back(tensor.kind);
  EXPECT_EQ(kinds, (std::vector{Input, Constant, Activation, Activation}));
  EXPECT_NE(listing.fingerprint, Digest());
  EXPECT_NE(listing.content, Digest());
}

TEST(ModelFileTest, OpensEveryRealModelAndNoHostileOneCrashes) {
  std::vector<std::string> good = modelsIn("");
  if (good.empty())
    GTEST_SKIP() << "no models: set ORIGO_SHARED to the folder that holds models/";
  size_t operators = 0;
  std::set<std::string> fingerprints;
  for (const std::string &path : good) {
    auto file = ModelFile::open(path);
    ASSERT_TRUE(bool(file)) << error(file);
    Listing listing = describe((*file)->view());
    operators += listing.operatorCount();
    fingerprints.insert(hex(listing.fingerprint));
  }
  EXPECT_GE(good.size(), 50u);
  EXPECT_EQ(fingerprints.size(), good.size());
  EXPECT_GT(operators, 1000u);

  size_t refused = 0, opened = 0;
  for (const char *folder : {"hostile", "hostile/derived"})
    for (const std::string &path : modelsIn(folder)) {
      auto file = ModelFile::open(path);
      (file ? opened : refused)++;
      if (file)
        describe((*file)->view());
      else
        EXPECT_TRUE(contains(error(file), path));
    }
  EXPECT_GT(refused, 20u);
  EXPECT_GT(opened, 5u);
}

TEST(ModelFileTest, RefusesWhatLiesOutside) {
  std::string model = Small{.isOutside = true}.build();
  ASSERT_NE(open(model), nullptr);
  std::string cut = model.substr(0, model.size() - 1);
  auto file = ModelFile::fromBytes(bytes(cut), "cut");
  ASSERT_FALSE(bool(file));
  EXPECT_EQ(error(file), "cut: buffer 1 lies outside the file");
  for (size_t size = 0; size < model.size() - 8; ++size) {
    std::string part = model.substr(0, size);
    auto file = ModelFile::fromBytes(bytes(part), "part");
    EXPECT_FALSE(bool(file)) << size;
    llvm::consumeError(file.takeError());
  }
}

TEST(ModelFileTest, RefusesTablesThatReferToTheSameBytesOverAndOver) {
  using namespace circle;
  flatbuffers::FlatBufferBuilder b;
  auto name = b.CreateString(std::string(1 << 20, 'n'));
  TensorBuilder tensor(b);
  tensor.add_name(name);
  std::vector<flatbuffers::Offset<Tensor>> tensors(2000, tensor.Finish());
  std::vector<flatbuffers::Offset<SubGraph>> graphs = {CreateSubGraph(b, b.CreateVector(tensors))};
  FinishModelBuffer(b, CreateModel(b, 0, 0, b.CreateVector(graphs)));
  auto file = ModelFile::fromBytes({b.GetBufferPointer(), b.GetSize()}, "bomb");
  ASSERT_FALSE(bool(file));
  EXPECT_TRUE(contains(error(file), "over and over"));
}

namespace {
std::unique_ptr<ModelFile> openShared(const std::string &name) {
  for (const char *folder : {"", "mini", "recipes"})
    for (const std::string &path : modelsIn(folder))
      if (std::filesystem::path(path).filename() == name) {
        auto file = ModelFile::open(path);
        EXPECT_TRUE(bool(file)) << error(file);
        return file ? std::move(*file) : nullptr;
      }
  return nullptr;
}

/// A chain of CONV_2D, each with two constants and a name as converters write them.
std::string chainModel(unsigned length) {
  using namespace circle;
  flatbuffers::FlatBufferBuilder b;
  std::vector<flatbuffers::Offset<Tensor>> tensors;
  std::vector<flatbuffers::Offset<Operator>> operators;
  auto tensor = [&](const std::string &name, uint32_t buffer) {
    auto text = b.CreateString(name);
    TensorBuilder builder(b);
    builder.add_name(text);
    builder.add_buffer(buffer);
    tensors.push_back(builder.Finish());
    return int32_t(tensors.size() - 1);
  };
  std::vector<int32_t> first = {tensor("input", 0)};
  for (unsigned i = 0; i < length; ++i) {
    std::string layer = "model/block_" + std::to_string(i) + "/conv2d_" + std::to_string(i);
    int32_t weights = tensor(layer + "/Conv2D/ReadVariableOp", 1), bias = tensor(layer + "/BiasAdd/ReadVariableOp", 1);
    std::vector<int32_t> inputs = {i ? weights - 1 : 0, weights, bias};
    std::vector<int32_t> outputs = {tensor(layer + "/BiasAdd;" + layer + "/Conv2D", 0)};
    auto inputsVector = b.CreateVector(inputs), outputsVector = b.CreateVector(outputs);
    operators.push_back(CreateOperator(b, 0, inputsVector, outputsVector));
  }
  std::vector<int32_t> last = {int32_t(tensors.size() - 1)};
  auto firstVector = b.CreateVector(first), lastVector = b.CreateVector(last);
  auto tensorsVector = b.CreateVector(tensors);
  auto operatorsVector = b.CreateVector(operators);
  std::vector<flatbuffers::Offset<SubGraph>> graphs = {
      CreateSubGraph(b, tensorsVector, firstVector, lastVector, operatorsVector)};
  std::vector<flatbuffers::Offset<OperatorCode>> codes = {CreateOperatorCode(b, 3, 0, 1, BuiltinOperator::CONV_2D)};
  std::vector<uint8_t> data(16);
  auto payload = b.CreateVector(data);
  std::vector<flatbuffers::Offset<Buffer>> buffers = {CreateBuffer(b), CreateBuffer(b, payload)};
  auto codesVector = b.CreateVector(codes);
  auto graphsVector = b.CreateVector(graphs);
  auto buffersVector = b.CreateVector(buffers);
  FinishModelBuffer(b, CreateModel(b, 0, codesVector, graphsVector, 0, buffersVector));
  return std::string(reinterpret_cast<char *>(b.GetBufferPointer()), b.GetSize());
}

OriginMap identityMap(const ModelView &view) {
  OriginMap map;
  map.generator = "origo";
  map.source = describe(view);
  map.target.format = map.source.format;
  map.target.fingerprint = map.source.fingerprint;
  map.target.content = map.source.content;
  uint32_t id = 0;
  for (const SourceSubgraph &graph : map.source.subgraphs) {
    TargetSubgraph &to = map.target.subgraphs.emplace_back();
    to.name = graph.name;
    to.source = {uint32_t(map.target.subgraphs.size() - 1)};
    for (const SourceOperator &op : graph.operators) {
      OperatorRow row;
      row.op = op.op;
      row.customCode = op.customCode;
      for (int32_t tensor : op.tensors)
        row.outputs.push_back(tensor < 0 ? "" : graph.tensors[tensor - graph.firstTensor].name);
      row.origins = {id++};
      to.operators.push_back(row);
    }
    for (const SourceTensor &tensor : graph.tensors) {
      TensorRow row;
      row.index = to.tensors.size();
      row.name = tensor.name;
      row.constant = tensor.kind == TensorKind::Constant;
      row.relations = {{graph.firstTensor + row.index, {}, true}};
      if (row.constant)
        row.tensors = {graph.firstTensor + row.index};
      to.tensors.push_back(row);
    }
  }
  return map;
}

/// A source in which every operator of that target had two more in front, which were fused into it.
OriginMap fusedMap(const ModelView &view) {
  OriginMap map = identityMap(view);
  SourceSubgraph graph;
  for (uint32_t i = 0; i < map.source.operatorCount(); ++i)
    for (const char *op : {"CONV_2D", "ADD", "RELU"}) {
      graph.operators.push_back({op, "", {int32_t(graph.tensors.size())}});
      std::string layer = "model/block_" + std::to_string(i);
      graph.tensors.push_back({layer + "/" + op + "/activation", TensorKind::Activation});
    }
  map.source.subgraphs = {graph};
  for (auto &to : map.target.subgraphs) {
    for (uint32_t i = 0; i < to.operators.size(); ++i) {
      to.operators[i].origins = {3 * i, 3 * i + 1, 3 * i + 2};
      to.operators[i].passes = {"fuse-scale-into-linear", "fuse-activation"};
      for (uint32_t k : {0, 1}) {
        LedgerRow row;
        row.isTensor = true;
        row.id = 3 * i + k;
        row.fate = "fused-away";
        row.pass = k ? "fuse-activation" : "fuse-scale-into-linear";
        row.rewrite = 2 * i + k;
        row.operators = {{0, i}};
        map.ledger.push_back(row);
      }
    }
    uint32_t constants = 0;
    for (TensorRow &row : to.tensors)
      if (row.constant) {
        Step affine;
        affine.kind = Step::Affine;
        affine.axis = 0;
        affine.scale = {Term::Constant, 0, row.index};
        row.relations = {{constants++, {affine}, false}};
        row.tensors = {constants};
        row.operators = {constants};
      } else {
        row.relations = {{row.index, {}, false}};
      }
  }
  return map;
}

} // namespace

TEST(EmbeddedMap, DecodesToWhatWasEncoded) {
  unsigned read = 0;
  for (const char *name : {"one_while_000.circle", "multi_signature_3sg_f32.tflite", "mnist_lstm_i8.tflite"}) {
    auto model = openShared(name);
    if (!model)
      GTEST_SKIP() << "no models: set ORIGO_SHARED to the folder that holds models/";
    for (unsigned seed = 0; seed < 200; ++seed) {
      OriginMap map = randomMap(seed, model->view());
      std::string full = encode(map, Embed::Full);
      EXPECT_EQ(encode(map, Embed::Full), full);
      auto decoded = decode(bytes(full), model->view());
      ASSERT_TRUE(bool(decoded)) << error(decoded);
      EXPECT_EQ(json(*decoded), json(map)) << name << " " << seed;
      read += decoded->source.operatorCount();

      auto ids = decode(bytes(encode(map, Embed::Ids)), model->view());
      ASSERT_TRUE(bool(ids)) << error(ids);
      map.source.namesKnown = false;
      for (SourceSubgraph &graph : map.source.subgraphs) {
        graph.name.clear();
        for (SourceTensor &tensor : graph.tensors)
          tensor.name.clear();
      }
      for (SourceSignature &signature : map.source.signatures) {
        signature.key.clear();
        for (auto *entries : {&signature.inputs, &signature.outputs})
          for (SourceSignature::Entry &entry : *entries)
            entry.name.clear();
      }
      EXPECT_EQ(json(*ids), json(map)) << name << " " << seed;
    }
  }
  EXPECT_GT(read, 1000u);
}

TEST(EmbeddedMap, HoldsNoNameOfItsOwnFileAndIsEmptyIfNotWanted) {
  std::string model = Small().build();
  auto file = open(model);
  OriginMap map = identityMap(file->view());
  map.target.file = "secret-name.circle";
  map.source.file = "source.tflite";
  std::string text = encode(map, Embed::Full);
  EXPECT_FALSE(contains(text, "secret-name"));
  auto decoded = decode(bytes(text), file->view());
  ASSERT_TRUE(bool(decoded)) << error(decoded);
  EXPECT_EQ(decoded->target.file, "");
  EXPECT_EQ(decoded->source.file, "source.tflite");
  EXPECT_EQ(encode(map, Embed::None), "");
}

TEST(EmbeddedMap, IsSmall) {
  const unsigned length = 5000;
  std::string model = chainModel(length);
  auto file = open(model);
  OriginMap map = identityMap(file->view());
  ASSERT_EQ(map.source.operatorCount(), length);
  EXPECT_LE(encode(map, Embed::Ids).size(), 64u * length);
  EXPECT_LE(encode(map, Embed::Full).size(), 160u * length);
  map = fusedMap(file->view());
  std::string full = encode(map, Embed::Full);
  EXPECT_LE(encode(map, Embed::Ids).size(), 64u * length);
  EXPECT_LE(full.size(), 160u * length);
  auto decoded = decode(bytes(full), file->view());
  ASSERT_TRUE(bool(decoded)) << error(decoded);
  EXPECT_EQ(json(*decoded), json(map));
}

TEST(EmbeddedMap, OfRealModelsIsSmall) {
  unsigned checked = 0;
  for (const std::string &path : modelsIn("")) {
    auto file = ModelFile::open(path);
    ASSERT_TRUE(bool(file)) << error(file);
    OriginMap map = identityMap((*file)->view());
    if (map.source.operatorCount() < 20)
      continue;
    ++checked;
    EXPECT_LE(encode(map, Embed::Ids).size(), 600 + 64u * map.source.operatorCount()) << path;
    EXPECT_LE(encode(map, Embed::Full).size(), 600 + 160u * map.source.operatorCount()) << path;
    auto decoded = decode(bytes(encode(map, Embed::Full)), (*file)->view());
    ASSERT_TRUE(bool(decoded)) << error(decoded);
    EXPECT_EQ(json(*decoded), json(map));
  }
  if (!checked)
    GTEST_SKIP() << "no models: set ORIGO_SHARED to the folder that holds models/";
  EXPECT_GE(checked, 25u);
}

TEST(EmbeddedMap, IsRefusedWhereItDoesNotBelong) {
  std::string model = Small().build(), chain = chainModel(3);
  auto small = open(model), other = open(chain);
  std::string text = encode(identityMap(small->view()), Embed::Full);
  auto decoded = decode(bytes(text), other->view());
  ASSERT_FALSE(bool(decoded));
  EXPECT_TRUE(contains(error(decoded), "does not belong to this model"));

  auto *root = const_cast<embedded::OriginMap *>(embedded::GetOriginMap(text.data()));
  auto &version = *const_cast<uint8_t *>(
      reinterpret_cast<flatbuffers::Table *>(root)->GetAddressOf(embedded::OriginMap::VT_VERSION));
  version = 9;
  decoded = decode(bytes(text), small->view());
  ASSERT_FALSE(bool(decoded));
  EXPECT_TRUE(contains(error(decoded), "version 9"));
}

TEST(EmbeddedMap, DamageIsAnErrorAndNeverMore) {
  std::string model = Small().build();
  auto file = open(model);
  size_t refused = 0, read = 0;
  for (unsigned seed : {1, 2, 3}) {
    const std::string whole = encode(randomMap(seed, file->view()), Embed::Full);
    ASSERT_GT(whole.size(), 500u);
    for (size_t size = 0; size < whole.size(); ++size) {
      std::string cut = whole.substr(0, size);
      auto decoded = decode(bytes(cut), file->view());
      // What is cut may be no more than the padding.
      if (size + 4 < whole.size()) {
        EXPECT_FALSE(bool(decoded)) << size;
      }
      error(decoded);
    }
    for (size_t i = 0; i < whole.size(); ++i)
      for (uint8_t change : {0x01, 0x02, 0x10, 0x80, 0xFF}) {
        std::string damaged = whole;
        damaged[i] ^= change;
        auto decoded = decode(bytes(damaged), file->view());
        ++(decoded ? read : refused);
        if (decoded)
          json(*decoded);
        error(decoded);
      }
    // At any address.
    std::string shifted = "x" + whole;
    auto decoded = decode(bytes(shifted).drop_front(), file->view());
    EXPECT_TRUE(bool(decoded)) << error(decoded);
  }
  EXPECT_GT(refused, 1000u);
  EXPECT_GT(read, 1000u);
}

TEST(EmbeddedMap, FewBytesCannotStandForMuchMemory) {
  // Each name is a megabyte of the one before and nothing else.
  std::string model = Small().build();
  auto file = open(model);
  OriginMap map;
  SourceSubgraph graph;
  graph.tensors.resize(100000);
  graph.tensors.front().name = std::string(1 << 20, 'n');
  for (size_t i = 1; i < graph.tensors.size(); ++i)
    graph.tensors[i].name = "n";
  map.source.subgraphs.push_back(graph);
  std::string text = encode(map, Embed::Full);
  const auto *names = embedded::GetOriginMap(text.data())->source_names();
  auto *data = const_cast<uint8_t *>(names->data());
  // Behind the first name come entries of 0, common 1, rest 0. Put 0, common 1 << 20, rest 0 in their place.
  size_t at = names->size() - 3 * (graph.tensors.size() - 1);
  ASSERT_EQ(data[at + 1], 1);
  std::string bomb;
  for (size_t i = 1; i < graph.tensors.size(); ++i)
    bomb += std::string("\0\x80\x80\x40\0", 5);
  bomb.insert(0, std::string(reinterpret_cast<char *>(data), at));
  flatbuffers::FlatBufferBuilder b;
  const embedded::OriginMap &from = *embedded::GetOriginMap(text.data());
  auto column = [&](const flatbuffers::Vector<uint8_t> *v) { return b.CreateVector(v->data(), v->size()); };
  auto named = b.CreateVector(reinterpret_cast<const uint8_t *>(bomb.data()), bomb.size());
  Digest zero{};
  auto digest = b.CreateVector(zero.data(), zero.size());
  auto modelFile = embedded::CreateFile(b, 0, 0, digest, digest);
  auto graphs = column(from.source_subgraphs()), operators = column(from.source_operators());
  auto tensors = column(from.source_tensors()), signatures = column(from.signatures());
  uint8_t one[] = {1, 0, 2, 4};
  auto strings = column(from.strings()), passes = column(from.pass_lists()), steps = column(from.step_lists());
  auto causes = column(from.causes()), target = b.CreateVector(one, 4);
  b.Finish(embedded::CreateOriginMap(b, 1, 0, false, true, modelFile, modelFile, 0, strings, passes, steps, causes,
                                     graphs, operators, tensors, named, signatures, target),
           "ORGM");
  auto decoded = decode({b.GetBufferPointer(), b.GetSize()}, file->view());
  ASSERT_FALSE(bool(decoded));
  EXPECT_EQ(error(decoded), "damaged origin map");
}

TEST(EmbeddedMap, LongNamesThatHaveMuchInCommonStayReadable) {
  std::string model = Small().build();
  auto file = open(model);
  OriginMap map = identityMap(file->view());
  SourceSubgraph graph;
  for (unsigned i = 0; i < 20000; ++i)
    graph.tensors.push_back({std::string(5000, 'n') + std::to_string(i), TensorKind::Absent});
  map.source.subgraphs = {graph};
  std::string text = encode(map, Embed::Full);
  EXPECT_LT(text.size(), 40u << 20);
  auto decoded = decode(bytes(text), file->view());
  ASSERT_TRUE(bool(decoded)) << error(decoded);
  EXPECT_EQ(decoded->source.subgraphs[0].tensors.back().name, graph.tensors.back().name);
}

TEST(OriginJson, ReadsBackWhatWasWritten) {
  std::string model = Small().build();
  auto file = open(model);
  for (unsigned seed = 0; seed < 300; ++seed) {
    OriginMap map = randomMap(seed, file->view());
    map.source.namesKnown = seed % 3;
    std::string text = json(map);
    auto read = readJson(text);
    ASSERT_TRUE(bool(read)) << error(read);
    EXPECT_EQ(json(*read), text);
    EXPECT_EQ(read->source.namesKnown, map.source.namesKnown);
    EXPECT_EQ(read->ledger.size(), map.ledger.size());
    auto document = nlohmann::json::parse(text, nullptr, false);
    ASSERT_FALSE(document.is_discarded());
    EXPECT_EQ(document["map"].size(), 2u);
    EXPECT_EQ(document["map"]["1"], document["target"]["subgraphs"][0]["operators"][1]["origins"]);
  }
}

TEST(OriginJson, HasTheKeysAndTheOrderOfTheDocumentation) {
  OriginMap map;
  map.generator = "origo 0.1.0";
  map.source.file = "face.tflite";
  map.source.format = "tflite";
  map.source.subgraphs.push_back({"main",
                                  0,
                                  0,
                                  {{"CONV_2D", "", {1}}, {"CUSTOM", "X\n", {-1}}},
                                  {{"w", TensorKind::Constant}, {"y", TensorKind::Activation}}});
  map.source.signatures.push_back({"serving_default", 0, {{"x", 5}}, {{"y", 14}}});
  map.target.file = "face.circle";
  map.target.format = "circle";
  TargetSubgraph graph;
  graph.name = "main";
  graph.source = {0};
  graph.operators.resize(2);
  graph.operators[0] = {"CONV_2D", "", {"relu1"}, {0, 1}, {"fuse-activation"}, "", {}, "", {}};
  graph.operators[1] = {"QUANTIZE", "", {"q"}, {}, {"quantize"}, "type-bridge", {1}, "why", {3, 2}};
  TensorRow constant;
  constant.name = "w";
  constant.constant = true;
  constant.tensors = {0, 4};
  constant.operators = {1};
  Step affine;
  affine.kind = Step::Affine;
  affine.axis = 0;
  affine.scale = {Term::Constant, 0, 7};
  constant.relations = {{0, {affine}, false}};
  TensorRow value;
  value.index = 1;
  value.name = "relu1";
  affine.scale = {Term::Number, 7, 0};
  affine.shift = {Term::Number, 0.1, 0};
  value.relations = {{1, {affine}, true}};
  graph.tensors = {constant, value};
  map.target.subgraphs.push_back(graph);
  LedgerRow row;
  row.id = 3;
  row.fate = "folded-to-constant";
  row.pass = "fold-constants";
  row.rewrite = 12;
  row.tensors = {{0, 3}};
  map.ledger.push_back(row);
  std::string zero = "sha256:" + std::string(64, '0');
  std::string expected = R"({
  "format": "origo.origin-map", "version": 1, "generator": "origo 0.1.0",
  "source": {
    "file": "face.tflite", "format": "tflite", "fingerprint": "Z", "content": "Z",
    "subgraphs": [{
      "name": "main",
      "operators": [
        {"id": 0, "index": 0, "op": "CONV_2D", "outputs": ["y"], "tensors": [1]},
        {"id": 1, "index": 1, "op": "CUSTOM", "custom_code": "X\n", "outputs": [""], "tensors": [-1]}
      ],
      "tensors": [
        {"id": 0, "index": 0, "name": "w", "kind": "constant"},
        {"id": 1, "index": 1, "name": "y", "kind": "activation"}
      ]
    }],
    "signatures": [
      {"key": "serving_default", "subgraph": 0, "inputs": [{"name": "x", "tensor": 5}], "outputs": [{"name": "y", "tensor": 14}]}
    ]
  },
  "target": {
    "file": "face.circle", "format": "circle", "fingerprint": "Z", "content": "Z",
    "subgraphs": [{
      "name": "main", "source": [0],
      "operators": [
        {"index": 0, "op": "CONV_2D", "outputs": ["relu1"], "origins": [0, 1], "passes": ["fuse-activation"]},
        {"index": 1, "op": "QUANTIZE", "outputs": ["q"], "origins": [], "passes": ["quantize"], "synthetic": {"reason": "type-bridge", "serves": [1]}, "wide": "why", "calls": [3, 2]}
      ],
      "constants": [
        {"index": 0, "name": "w", "tensors": [0, 4], "operators": [1], "relations": [{"tensor": 0, "steps": [{"affine": {"axis": 0, "scale": 7, "shift": null}}], "exact": false}]}
      ],
      "values": [
        {"index": 1, "name": "relu1", "relations": [{"tensor": 1, "steps": [{"affine": {"axis": 0, "scale": 7.0, "shift": 0.1}}], "exact": true}]}
      ]
    }]
  },
  "ledger": [
    {"operator": 3, "fate": "folded-to-constant", "pass": "fold-constants", "run": 0, "rewrite": 12, "into": {"operators": [], "tensors": [[0, 3]]}}
  ],
  "chain": [],
  "map": {
    "0": [0, 1],
    "1": []
  }
}
)";
  for (size_t at; (at = expected.find("\"Z\"")) != std::string::npos;)
    expected.replace(at + 1, 1, zero);
  EXPECT_EQ(json(map), expected);

  // No number that JSON does not have, and no claim in its place.
  map.target.subgraphs[0].tensors[1].relations[0].steps[0].scale.number = std::numeric_limits<double>::infinity();
  EXPECT_TRUE(contains(json(map), R"({"index": 1, "name": "relu1", "relations": [], "reason": "approximated"})"));
  map.target.subgraphs[0].tensors[1].relations[0].steps[0] = {Step::Unknown, -1, {}, {}, {}, {}, "{\"x\": [}"};
  auto read = readJson(json(map));
  EXPECT_TRUE(bool(read)) << error(read);
}

TEST(OriginJson, NamesTheKeyThatIsMissingOrIllTyped) {
  std::string model = Small().build();
  auto file = open(model);
  OriginMap map = identityMap(file->view());
  map.ledger.resize(1);
  auto document = nlohmann::ordered_json::parse(json(map));
  auto message = [&](const nlohmann::ordered_json &document) {
    auto read = readJson(document.dump());
    return error(read);
  };
  ASSERT_EQ(message(document), "");
  auto list = readJson("[]");
  EXPECT_EQ(error(list), "the side file: must be an object");

  struct Case {
    const char *pointer, *message;
  };
  const Case missing[] = {
      {"/format", "the side file: the key \"format\" is missing"},
      {"/version", "the side file: the key \"version\" is missing"},
      {"/source", "the side file: the key \"source\" is missing"},
      {"/ledger", "the side file: the key \"ledger\" is missing"},
      {"/source/fingerprint", "source: the key \"fingerprint\" is missing"},
      {"/target/subgraphs", "target: the key \"subgraphs\" is missing"},
      {"/target/subgraphs/0/values", "target.subgraphs[0]: the key \"values\" is missing"},
      {"/source/subgraphs/0/operators/1/op", "source.subgraphs[0].operators[1]: the key \"op\" is missing"},
      {"/target/subgraphs/0/operators/1/origins", "target.subgraphs[0].operators[1]: the key \"origins\" is missing"},
      {"/target/subgraphs/0/constants/0/relations/0/tensor",
       "target.subgraphs[0].constants[0].relations[0]: the key \"tensor\" is missing"},
      {"/ledger/0/fate", "ledger[0]: the key \"fate\" is missing"},
      {"/ledger/0/into", "ledger[0]: the key \"into\" is missing"},
  };
  for (const Case &test : missing) {
    auto changed = document;
    nlohmann::ordered_json::json_pointer pointer(test.pointer);
    changed[pointer.parent_pointer()].erase(pointer.back());
    EXPECT_EQ(message(changed), test.message);
  }

  struct Change {
    const char *pointer, *value, *message;
  };
  const Change changes[] = {
      {"/version", "7", "version: the origin map has version 7, this program reads version 1"},
      {"/format", "\"other\"", "format: this is not an origin map"},
      {"/source", "[]", "source: must be an object"},
      {"/source/subgraphs", "{}", "source.subgraphs: must be an array"},
      {"/source/subgraphs", "3", "source.subgraphs: must be an array"},
      {"/source/content", "\"sha256:12\"", "source.content: must be \"sha256:\" and 64 hexadecimal digits"},
      {"/source/subgraphs/0/operators/1", "5", "source.subgraphs[0].operators[1]: must be an object"},
      {"/source/subgraphs/0/operators/1/id", "0", "source.subgraphs[0].operators[1]: \"id\" is 0 where 1 should come"},
      {"/source/subgraphs/0/tensors/0/kind", "\"odd\"", "source.subgraphs[0].tensors[0]: its kind is none of the five"},
      {"/target/subgraphs/0/operators/0/index", "1",
       "target.subgraphs[0].operators[0]: \"index\" is 1 where 0 should come"},
      {"/target/subgraphs/0/operators/0/origins/0", "-1",
       "target.subgraphs[0].operators[0].origins[0]: must be an integer of 32 bits without a sign"},
      {"/target/subgraphs/0/operators/0/origins/0", "4294967296",
       "target.subgraphs[0].operators[0].origins[0]: must be an integer of 32 bits without a sign"},
      {"/target/subgraphs/0/operators/0/origins/0", "1.0",
       "target.subgraphs[0].operators[0].origins[0]: must be an integer of 32 bits without a sign"},
      {"/source/subgraphs/0/operators/0/tensors/0", "2147483648",
       "source.subgraphs[0].operators[0].tensors[0]: must be an integer of 32 bits"},
      {"/target/subgraphs/0/values/0/index", "1", "target.subgraphs[0]: tensor 1 is there twice"},
      {"/target/subgraphs/0/values/0/relations/0/steps", "[{\"reshape\": false}]",
       "target.subgraphs[0].values[0].relations[0].steps[0]: \"reshape\" must be true"},
      {"/target/subgraphs/0/values/0/relations/0/steps", "[{\"reshape\": true, \"cast\": true}]",
       "target.subgraphs[0].values[0].relations[0].steps[0]: is two steps at once"},
      {"/ledger/0/into/operators", "[[1]]", "ledger[0].into.operators[0]: must have two elements"},
      {"/ledger/0/tensor", "1", "ledger[0]: is of an operator and of a tensor"},
  };
  for (const Change &test : changes) {
    auto changed = document;
    changed[nlohmann::ordered_json::json_pointer(test.pointer)] = nlohmann::ordered_json::parse(test.value);
    EXPECT_EQ(message(changed), test.message);
  }

  auto twice = document;
  twice["ledger"].push_back(twice["ledger"][0]);
  EXPECT_EQ(message(twice), "ledger[1]: the ledger has its id twice");
  std::string text = document.dump();
  std::string repeated = text;
  repeated.replace(0, 1, "{\"format\":\"origo.origin-map\",");
  auto read = readJson(repeated);
  EXPECT_EQ(error(read), "format: is there twice");
  repeated = text;
  repeated.insert(repeated.find("\"origins\""), "\"origins\":[],");
  read = readJson(repeated);
  EXPECT_EQ(error(read), "target.subgraphs[0].operators[0]: has a key twice");
  read = readJson(text + "x");
  EXPECT_TRUE(contains(error(read), "not JSON at byte"));
}

TEST(OriginJson, ToleratesWhatIsNew) {
  std::string model = Small().build();
  auto file = open(model);
  OriginMap map = identityMap(file->view());
  auto document = nlohmann::ordered_json::parse(json(map));
  document["novel"] = {1, {2, {{"deep", nullptr}}}};
  document["source"]["novel"] = {{"subgraphs", 4}};
  document["target"]["subgraphs"][0]["novel"] = nullptr;
  auto &row = document["target"]["subgraphs"][0]["values"][0];
  row["novel"] = {{"a", {1, 2}}};
  row["relations"][0]["steps"] = {{{"fft", {{"axis", 1}}}}};
  row["relations"][0].erase("exact");
  document["ledger"].push_back(nlohmann::ordered_json::parse(
      R"({"tensor": 2, "fate": "evaporated", "pass": "p", "run": 0, "rewrite": 1, "into": {"operators": [], "tensors": []}})"));
  auto read = readJson(document.dump());
  ASSERT_TRUE(bool(read)) << error(read);
  const TensorRow &value = read->target.subgraphs[0].tensors[row["index"].get<size_t>()];
  EXPECT_FALSE(value.relations.at(0).exact);
  ASSERT_EQ(value.relations[0].steps.size(), 1u);
  EXPECT_EQ(value.relations[0].steps[0].kind, Step::Unknown);
  EXPECT_EQ(value.relations[0].steps[0].unknown, R"({"fft":{"axis":1}})");
  EXPECT_EQ(read->ledger.at(0).fate, "evaporated");
  EXPECT_TRUE(contains(json(*read), R"("steps": [{"fft":{"axis":1}}])"));
}

TEST(OriginJson, DamageIsAnErrorAndNeverMore) {
  std::string model = Small().build();
  auto file = open(model);
  const std::string whole = json(randomMap(5, file->view()));
  ASSERT_GT(whole.size(), 2000u);
  size_t end = whole.find_last_of('}');
  for (size_t size = 0; size <= end; size += 1 + size / 200) {
    auto read = readJson(StringRef(whole).take_front(size));
    EXPECT_FALSE(bool(read)) << size;
    error(read);
  }
  size_t refused = 0, good = 0;
  for (size_t i = 0; i < whole.size(); i += 1 + i / 500)
    for (uint8_t change : {0x01, 0x02, 0x10, 0x80}) {
      std::string damaged = whole;
      damaged[i] ^= change;
      auto read = readJson(damaged);
      ++(read ? good : refused);
      if (read)
        json(*read);
      error(read);
    }
  EXPECT_GT(refused, 500u);
  EXPECT_GT(good, 500u);

  // Depth is the input's choice: a million brackets where a row is, and where nothing is known.
  for (std::string start : {R"({"ledger":[)", R"({"novel":)", ""}) {
    auto read = readJson(start + std::string(1000000, '['));
    EXPECT_FALSE(bool(read));
    error(read);
  }
}

TEST(OriginJson, ReplacesInvalidUtf8AsPythonDoes) {
  // The right sides are what bytes.decode("utf-8", errors="replace") gives in Python 3.11, with ? for U+FFFD.
  const std::pair<std::string, const char *> cases[] = {
      {"", ""},
      {"plain", "plain"},
      {"\xCE\xA9\xE2\x82\xAC\xF0\x9F\x98\x80", "\xCE\xA9\xE2\x82\xAC\xF0\x9F\x98\x80"},
      {"\x80", "?"},
      {"a\xFFz", "a?z"},
      {"\xC0\x80", "??"}, // overlong
      {"\xC1\xBF", "??"},
      {"\xE2\x82", "?"}, // cut short: one
      {"\xE2\x82z", "?z"},
      {"\xE2z", "?z"},
      {"\xE0\x80\x80", "???"}, // overlong
      {"\xED\xA0\x80", "???"}, // a surrogate
      {"\xED\x9F\xBF", "\xED\x9F\xBF"},
      {"\xF0\x9F\x98", "?"},
      {"\xF0\x9F\x98\xF0\x9F\x98\x80", "?\xF0\x9F\x98\x80"},
      {"\xF0\x80\x80\x80", "????"},
      {"\xF4\x90\x80\x80", "????"}, // beyond U+10FFFF
      {"\xF4\x8F\xBF\xBF", "\xF4\x8F\xBF\xBF"},
      {"\xF5\x80\x80\x80", "????"},
      {"\xF8\x88\x80\x80\x80", "?????"},
      {"\xE2\x82\xE2\x82\xAC", "?\xE2\x82\xAC"},
      {std::string("\0\x7F", 2), "\0\x7F"},
  };
  for (const auto &[text, marked] : cases) {
    std::string expected;
    for (char c : text.size() == 2 && !text[0] ? std::string("\0\x7F", 2) : std::string(marked))
      expected += c == '?' ? "\xEF\xBF\xBD" : std::string(1, c);
    EXPECT_EQ(replaceInvalidUtf8(text), expected) << llvm::toHex(text);
  }
}

namespace {

std::string words(std::initializer_list<uint32_t> values) {
  std::string result;
  for (uint32_t value : values)
    result.append(reinterpret_cast<char *>(&value), 4);
  return result;
}
std::string row(uint32_t id, const std::string &name) {
  return words({id, uint32_t(name.size() + 1)}) + name + std::string(1, '\0');
}
std::string oneError(const std::string &source, const std::string &op) {
  auto tables = decodeOneTables(bytes(source), bytes(op));
  return error(tables);
}

} // namespace

TEST(OneTablesTest, HoldARowForEveryOperatorAndANameForEveryId) {
  OriginMap map;
  map.source.subgraphs.push_back({"",
                                  0,
                                  0,
                                  {{"ADD", "", {0}}, {"ASSIGN_VARIABLE", "", {}}, {"MUL", "", {-1}}, {"NEG", "", {1}}},
                                  {{"sum", TensorKind::Activation}, {"", TensorKind::Activation}}});
  map.source.subgraphs.push_back({"", 4, 2, {{"ABS", "", {2}}, {"EXP", "", {3}}}, {{"inner", {}}, {"other", {}}}});
  map.target.subgraphs.resize(2);
  auto &rows = map.target.subgraphs[0].operators;
  rows.resize(3);
  rows[0].origins = {0, 1};
  rows[1].syntheticReason = "type-bridge";
  rows[1].serves = {3};
  rows[2].origins = {2, 5}; // inlined from the other subgraph
  map.target.subgraphs[1].operators.resize(1);
  map.target.subgraphs[1].operators[0].origins = {4};

  OneTables tables = encodeOneTables(map);
  EXPECT_EQ(tables.op, words({3, 0, 2, 0, 1, 1, 1, 3, 2, 2, 2, 5}));
  EXPECT_EQ(tables.source, words({5}) + row(0, "sum") + row(1, "ASSIGN_VARIABLE_1") + row(2, "MUL_2") +
                               row(3, "NEG_3") + row(5, "other"));
  auto read = decodeOneTables(bytes(tables.source), bytes(tables.op));
  ASSERT_TRUE(bool(read)) << error(read);
  ASSERT_EQ(read->names.size(), 5u);
  EXPECT_EQ(read->names[4], (std::pair<uint32_t, std::string>(5, "other")));
  ASSERT_EQ(read->operators.size(), 3u);
  EXPECT_EQ(read->operators[2].second, (std::vector<uint32_t>{2, 5}));
}

TEST(OneTablesTest, EmptyOperatorTableIsReadAsEmpty) {
  std::string source = words({1}) + row(7, "x"), op = words({0});
  auto read = decodeOneTables(bytes(source), bytes(op));
  ASSERT_TRUE(bool(read)) << error(read);
  EXPECT_EQ(read->names.size(), 1u);
  EXPECT_TRUE(read->operators.empty());
}

TEST(OneTablesTest, RefusesWhatIsDamaged) {
  std::string source = words({2}) + row(0, "a") + row(1, "b"), op = words({2, 0, 1, 0, 1, 2, 0, 1});
  ASSERT_EQ(oneError(source, op), "");
  for (size_t size = 0; size < source.size(); ++size)
    EXPECT_TRUE(contains(oneError(source.substr(0, size), op), "ONE_source_table: truncated")) << size;
  for (size_t size = 0; size < op.size(); ++size)
    EXPECT_TRUE(contains(oneError(source, op.substr(0, size)), "ONE_op_table: truncated")) << size;
  EXPECT_EQ(oneError(source + "x", op), "ONE_source_table: there are bytes behind its 2 rows");
  EXPECT_EQ(oneError(source, op + "x"), "ONE_op_table: there are bytes behind its 2 rows");
  EXPECT_EQ(oneError(words({2}) + row(1, "a") + row(1, "b"), op), "ONE_source_table: id 1 is there twice");
  EXPECT_EQ(oneError(words({1, 0, 1}) + "a", op), "ONE_source_table: the name of id 0 does not end in a NUL");
  EXPECT_EQ(oneError(words({1, 0, 0}), op), "ONE_source_table: the name of id 0 does not end in a NUL");
  EXPECT_EQ(oneError(source, words({2, 0, 1, 0, 0, 1, 1})), "ONE_op_table: operator 0 is there twice");
  EXPECT_EQ(oneError(source, words({1, 0, 0})), "ONE_op_table: operator 0 has no ids");
  EXPECT_EQ(oneError(source, words({1, 0, 2, 1, 1})), "ONE_op_table: operator 0 has an id twice");
  EXPECT_EQ(oneError(source, words({1, 0, 1, 9})), "ONE_op_table: operator 0: id 9 is not in ONE_source_table");
  EXPECT_TRUE(contains(oneError(words({~0u}), op), "truncated"));
  EXPECT_TRUE(contains(oneError(source, words({1, 0, ~0u, 0})), "truncated"));
}

TEST(OneTablesTest, OfRealFilesAreRead) {
  // The .circle networks come from ONE itself.
  unsigned read = 0;
  for (const std::string &path : modelsIn("")) {
    auto file = ModelFile::open(path);
    ASSERT_TRUE(bool(file)) << error(file);
    auto source = (*file)->metadata(oneSourceTable), op = (*file)->metadata(oneOpTable);
    if (!source || !op)
      continue;
    auto tables = decodeOneTables(*source, *op);
    EXPECT_TRUE(bool(tables)) << path << ": " << error(tables);
    ++read;
  }
  if (modelsIn("").empty())
    GTEST_SKIP() << "no models: set ORIGO_SHARED to the folder that holds models/";
  RecordProperty("read", read);
}
