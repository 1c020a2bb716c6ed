#include "MapFiles.h"

#include "origin/Sha256.h"
#include "schema/tflite_generated.h"

#include "llvm/Support/SHA256.h"

using namespace origo::origin;
using namespace origo::test;
using llvm::ArrayRef;
using llvm::StringRef;

namespace {

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

/// Of every length around the ends of blocks, in one piece and in several.
TEST(Sha256, IsThatOfTheLibrary) {
  std::vector<uint8_t> bytes;
  for (size_t length = 0; length < 300; ++length, bytes.push_back(static_cast<uint8_t>(length * 37))) {
    auto expected = llvm::SHA256::hash(bytes);
    for (bool byInstructions : {false, Sha256::hasInstructions()})
      for (size_t piece : {size_t(1), size_t(63), size_t(64), size_t(300)}) {
        Sha256 sha(byInstructions);
        for (size_t at = 0; at < length; at += piece)
          sha.update(ArrayRef(bytes).slice(at, std::min(piece, length - at)));
        EXPECT_EQ(sha.final(), expected) << length << " in pieces of " << piece;
      }
  }
}

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

namespace {
void opensEveryModelAndNoHostileOneCrashes(const ModelFolder &models) {
  std::vector<std::string> good = models.networks();
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
    for (const std::string &path : models.in(folder)) {
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
} // namespace

TEST(ModelFileTest, OpensEveryModelAndNoHostileOneCrashes) { opensEveryModelAndNoHostileOneCrashes(ownNetworks()); }
TEST(ModelFilePublicModels, AreOpenedAndNoHostileOneCrashes) { opensEveryModelAndNoHostileOneCrashes(publicModels()); }

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
  EXPECT_TRUE(contains(error(file), "made to exhaust its reader"));
}
