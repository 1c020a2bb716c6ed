#include "MapFiles.h"
#include "RandomMap.h"

#include "schema/origin_map_generated.h"

#include <random>

using namespace origo::origin;
using namespace origo::test;
using llvm::ArrayRef;
using llvm::StringRef;

namespace embedded = origo::embedded;

namespace {
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
        MapLedgerRow row;
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
        MapStep affine;
        affine.kind = MapStep::Affine;
        affine.axis = 0;
        affine.scale = {Term::Constant, 0, row.index};
        row.relations = {{constants++, std::vector{affine}, false}};
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
  for (const char *name : {"loop_f32.circle", "signatures_3sg_f32.tflite", "mixed_i8.tflite"}) {
    auto file = ModelFile::open(ownNetworks().at(name));
    ASSERT_TRUE(bool(file)) << error(file);
    std::unique_ptr<ModelFile> model = std::move(*file);
    for (unsigned seed = 0; seed < 200; ++seed) {
      OriginMap map = randomMap(seed, model->view());
      std::string full = encoded(map, Embed::Full);
      EXPECT_EQ(encoded(map, Embed::Full), full);
      auto decoded = decode(bytes(full), model->view());
      ASSERT_TRUE(bool(decoded)) << error(decoded);
      EXPECT_EQ(json(*decoded), json(map)) << name << " " << seed;
      read += decoded->source.operatorCount();

      auto ids = decode(bytes(encoded(map, Embed::Ids)), model->view());
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
  std::string text = encoded(map, Embed::Full);
  EXPECT_FALSE(contains(text, "secret-name"));
  auto decoded = decode(bytes(text), file->view());
  ASSERT_TRUE(bool(decoded)) << error(decoded);
  EXPECT_EQ(decoded->target.file, "");
  EXPECT_EQ(decoded->source.file, "source.tflite");
  EXPECT_EQ(encoded(map, Embed::None), "");
}

TEST(EmbeddedMap, IsSmall) {
  const unsigned length = 5000;
  std::string model = chainModel(length);
  auto file = open(model);
  OriginMap map = identityMap(file->view());
  ASSERT_EQ(map.source.operatorCount(), length);
  EXPECT_LE(encoded(map, Embed::Ids).size(), 64u * length);
  EXPECT_LE(encoded(map, Embed::Full).size(), 160u * length);
  map = fusedMap(file->view());
  std::string full = encoded(map, Embed::Full);
  EXPECT_LE(encoded(map, Embed::Ids).size(), 64u * length);
  EXPECT_LE(full.size(), 160u * length);
  auto decoded = decode(bytes(full), file->view());
  ASSERT_TRUE(bool(decoded)) << error(decoded);
  EXPECT_EQ(json(*decoded), json(map));
}

namespace {
void ofModelsIsSmall(const ModelFolder &models) {
  unsigned checked = 0;
  for (const std::string &path : models.networks()) {
    auto file = ModelFile::open(path);
    ASSERT_TRUE(bool(file)) << error(file);
    OriginMap map = identityMap((*file)->view());
    if (map.source.operatorCount() < 20)
      continue;
    ++checked;
    EXPECT_LE(encoded(map, Embed::Ids).size(), 600 + 64u * map.source.operatorCount()) << path;
    EXPECT_LE(encoded(map, Embed::Full).size(), 600 + 160u * map.source.operatorCount()) << path;
    auto decoded = decode(bytes(encoded(map, Embed::Full)), (*file)->view());
    ASSERT_TRUE(bool(decoded)) << error(decoded);
    EXPECT_EQ(json(*decoded), json(map));
  }
  EXPECT_GE(checked, 25u);
}
} // namespace

TEST(EmbeddedMap, OfModelsIsSmall) { ofModelsIsSmall(ownNetworks()); }
TEST(EmbeddedMapPublicModels, IsSmall) { ofModelsIsSmall(publicModels()); }

TEST(EmbeddedMap, IsRefusedWhereItDoesNotBelong) {
  std::string model = Small().build(), chain = chainModel(3);
  auto small = open(model), other = open(chain);
  std::string text = encoded(identityMap(small->view()), Embed::Full);
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
    const std::string whole = encoded(randomMap(seed, file->view()), Embed::Full);
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
  std::string text = encoded(map, Embed::Full);
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
  std::string text = encoded(map, Embed::Full);
  EXPECT_LT(text.size(), 40u << 20);
  auto decoded = decode(bytes(text), file->view());
  ASSERT_TRUE(bool(decoded)) << error(decoded);
  EXPECT_EQ(decoded->source.subgraphs[0].tensors.back().name, graph.tensors.back().name);
}
