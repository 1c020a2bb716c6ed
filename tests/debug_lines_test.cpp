#include "export/Export.h"
#include "import/Import.h"
#include "ir/text/Text.h"
#include "origin/DebugLines.h"
#include "passes/Pipeline.h"
#include "schema/debug_metadata_generated.h"
#include "tests/Samples.h"

#include "gtest/gtest.h"

#include <fstream>
#include <random>

using namespace origo;
using namespace origo::test;
namespace debug = debug_metadata;

namespace {

const char *network = R"(origo 1
model tflite
subgraph @main(%x: f32[1,4], %y: f32[1,4]) -> (%d) debug 0 {
  %a: f32[1,4] = ADD(x=%x, y=%y) debug 0
  %b: f32[1,4] = RELU(features=%a) debug 1
  %c: f32[1,4] = EXP(x=%b) debug 2
  %d: f32[1,4] = NEG(x=%c)
}
)";

/// What a converter writes: a line in a function, one that is called from another, and a cycle.
std::string locations() {
  flatbuffers::FlatBufferBuilder b;
  std::vector<debug::Attribute> types;
  std::vector<flatbuffers::Offset<void>> attributes;
  auto add = [&](debug::LocationType type, flatbuffers::Offset<void> location) {
    types.push_back(debug::Attribute::Location);
    attributes.push_back(debug::CreateLocation(b, type, location).Union());
    return uint32_t(attributes.size() - 1);
  };
  auto line = [&](const char *file, uint32_t number) {
    return add(debug::LocationType::FileLineColLoc, debug::CreateFileLineColLocDirect(b, file, number, 3).Union());
  };
  auto name = [&](const char *text, uint32_t child) {
    return add(debug::LocationType::NameLoc, debug::CreateNameLocDirect(b, text, child).Union());
  };
  auto call = [&](uint32_t callee, uint32_t caller) {
    return add(debug::LocationType::CallSiteLoc, debug::CreateCallSiteLoc(b, callee, caller).Union());
  };
  uint32_t inPackage = name("relu", line("/home/alice/env/lib/python3.11/site-packages/torch/nn/functional.py", 7));
  uint32_t first = name("forward", line("/home/alice/net/model.py", 10)), second = line("/home/alice/net/main.py", 3);
  uint32_t called = name("model/relu", call(inPackage, call(first, second)));
  uint32_t cycle = call(uint32_t(attributes.size()), 0);
  std::vector<flatbuffers::Offset<debug::OperatorDebugMetadata>> rows;
  for (uint32_t location : {first, called, cycle})
    rows.push_back(debug::CreateOperatorDebugMetadata(b, b.CreateVector(std::vector<uint32_t>{location})));
  std::vector<flatbuffers::Offset<debug::SubgraphDebugMetadata>> graphs = {
      debug::CreateSubgraphDebugMetadataDirect(b, &rows)};
  std::vector<debug::DebugMetadataType> kinds = {debug::DebugMetadataType::ConversionDebugMetadata};
  std::vector<flatbuffers::Offset<void>> all = {
      debug::CreateConversionDebugMetadataDirect(b, &graphs, &types, &attributes).Union()};
  b.Finish(debug::CreateDebugMetadataDirect(b, &kinds, &all));
  return {reinterpret_cast<const char *>(b.GetBufferPointer()), b.GetSize()};
}

void write(const std::string &path, const std::string &metadata) {
  PayloadStore store;
  auto model = llvm::cantFail(parseText(network, "", store));
  model->metadata.push_back({origin::debugMetadataName, &model->addBuffer(Payload::owned(metadata))});
  ExportOptions options;
  options.format = Format::Tflite;
  options.embed = origin::Embed::None;
  llvm::cantFail(exportModel(*model, {}, path, options));
}

std::string framesOf(const origin::Listing &listing, uint32_t id) {
  std::string text;
  for (uint32_t frame : listing.stackOf(*listing.findOperator(id)))
    text += listing.lineOf(listing.frames[frame]) + " " + listing.frames[frame].function + "; ";
  return text;
}

std::string bytesOf(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

const std::string ofAdd = "model.py:10 forward; ",
                  ofRelu = "site-packages/torch/nn/functional.py:7 relu; model.py:10 forward; main.py:3 ; ",
                  ofCycle = "site-packages/torch/nn/functional.py:7 ; "; // it is called from there and from itself

} // namespace

TEST(DebugLines, AreReadJoinedAndWritten) {
  Scratch scratch;
  std::string in = scratch.at("net.tflite"), out = scratch.at("out.tflite");
  write(in, locations());
  ImportOptions restart;
  restart.origin = OriginMode::Restart;
  auto imported = llvm::cantFail(importModel(in, restart));
  const origin::Listing &source = *imported.lineage.source;
  EXPECT_EQ(framesOf(source, 0), ofAdd);
  EXPECT_EQ(framesOf(source, 1), ofRelu);
  EXPECT_EQ(framesOf(source, 2), ofCycle);
  EXPECT_EQ(framesOf(source, 3), "");
  EXPECT_EQ(source.nameOf(*source.findOperator(1)), "b");

  PayloadStore store;
  ASSERT_FALSE(bool(runPipeline(*imported.model, Pipeline::o1(), store, {})));
  ASSERT_EQ(imported.model->operatorCount(), 3u); // the activation is in the addition
  ExportOptions options;
  options.format = Format::Tflite;
  llvm::cantFail(exportModel(*imported.model, imported.lineage, out, options));
  EXPECT_EQ(bytesOf(out).find("alice"), std::string::npos);
  // Without its map, it still has the lines.
  auto again = llvm::cantFail(importModel(out, restart));
  EXPECT_EQ(framesOf(*again.lineage.source, 0), ofAdd + "site-packages/torch/nn/functional.py:7 relu; main.py:3 ; ");
  EXPECT_EQ(framesOf(*again.lineage.source, 1), ofCycle);
  EXPECT_EQ(framesOf(*again.lineage.source, 2), "");
  // With it, those of each operator of the source.
  auto continued = llvm::cantFail(importModel(out, {}));
  EXPECT_EQ(framesOf(*continued.lineage.source, 1), ofRelu);
}

TEST(DebugLines, DamagedOnesSayNothing) {
  Scratch scratch;
  std::string path = scratch.at("net.tflite"), good = locations();
  std::mt19937 random(1);
  ImportOptions restart;
  restart.origin = OriginMode::Restart;
  for (unsigned i = 0; i < 100; ++i) {
    std::string bad = good.substr(0, i % 3 ? good.size() : random() % good.size());
    for (unsigned left = 1 + random() % 4; left && !bad.empty(); --left)
      bad[random() % bad.size()] = char(random());
    write(path, bad);
    auto imported = importModel(path, restart);
    ASSERT_TRUE(bool(imported));
    EXPECT_TRUE(imported->lineage.source->linesAreWhole());
    llvm::cantFail(exportModel(*imported->model, imported->lineage, scratch.at("out.tflite"), {}));
  }
}
