#include "ir/Payload.h"
#include "ir/text/Text.h"
#include "quantize/ImageMetadata.h"
#include "quantize/Parts.h"
#include "schema/image_metadata_generated.h"

#include <gtest/gtest.h>

namespace origo::quantize {
namespace {

constexpr llvm::StringLiteral net = R"(origo 1
model tflite version 3
subgraph @main(%x: f32[1,2]) -> (%head/out, %body/c) {
  %v: f32[2,2] = const [1, 2, 3, 4]
  %stem/conv: f32[1,2] = FULLY_CONNECTED(%x, %v, _)
  %body/a: f32[1,2] = TANH(%stem/conv)
  %body/b;body/bias: f32[1,2] = FULLY_CONNECTED(%body/a, %v, _)
  %body/c: f32[1,2] = TANH(%body/b;body/bias)
  %head/fc: f32[1,2] = FULLY_CONNECTED(%body/c, %v, _)
  %head/out: f32[1,2] = LOGISTIC(%head/fc)
}
subgraph @other(%u: f32[1,2]) -> (%side) {
  %w: f32[2,2] = const [1, 2, 3, 4]
  %side: f32[1,2] = FULLY_CONNECTED(%u, %w, _)
}
)";

class PartsTest : public testing::Test {
protected:
  PayloadStore store;
  std::unique_ptr<Model> model;
  void SetUp() override {
    auto parsed = parseText(net, "", store);
    ASSERT_TRUE(static_cast<bool>(parsed)) << llvm::toString(parsed.takeError());
    model = std::move(*parsed);
    model->becomeSource();
    model->number();
  }
  /// Names of first results, or what is wrong.
  std::string named(const std::vector<std::string> &words, const SourceLayers &sources = {}) {
    Parts parts(*model, sources);
    auto operators = parts.named(words);
    if (!operators)
      return llvm::toString(operators.takeError());
    std::string text;
    for (const Operator *op : *operators)
      text += (text.empty() ? "" : " ") + op->result()->name.str();
    return text;
  }
};

TEST_F(PartsTest, Words) {
  for (auto [word, expected] : std::initializer_list<std::pair<const char *, const char *>>{
           {"body/a", "body/a"},
           {"body/bias", "body/b;body/bias"},
           {"body/b;body/bias", "body/b;body/bias"},
           {"tanh", "body/a body/c"},
           {"kind:LOGISTIC", "head/out"},
           {"body/", "body/a body/b;body/bias body/c"},
           {"body", "body/a body/b;body/bias body/c"},
           {"scope:head", "head/fc head/out"},
           {"*/fc", "head/fc"},
           {"body/[ac]", "body/a body/c"},
           {"re:^(stem|head)/\\w{4}$", "stem/conv"},
           {"body/a..head/fc", "body/a body/b;body/bias body/c head/fc"},
           {"body/..", "body/a body/b;body/bias body/c head/fc head/out"},
           {"..body/a", "stem/conv body/a"},
           {"4..", "head/fc head/out"},
           {"-2..-1", "head/fc head/out"},
           {"2", "body/b;body/bias"},
           {"first:1", "stem/conv side"},
           {"last:2", "body/b;body/bias body/c head/fc head/out side"},
           {"inputs:body", "body/a"},
           {"outputs:body", "body/c"},
           {"inputs:head", "head/fc"},
           {"outputs:head", "head/out"}})
    EXPECT_EQ(named({word}), expected) << word;
  EXPECT_EQ(named({"head/", "body/a"}), "body/a head/fc head/out");
}

TEST_F(PartsTest, SaysWhatIsWrong) {
  for (auto [word, why] : std::initializer_list<std::pair<const char *, const char *>>{
           {"nobody", "no operator, kind or scope is called \"nobody\""},
           {"x*y", "no operator, kind or scope is called \"x*y\""},
           {"[", "no operator, kind or scope is called \"[\""},
           {"re:(", "is no expression"},
           {"re:nobody", "no layer has a name in which is found"},
           {"head/fc..body/a", "\"body/a\" comes before \"head/fc\""},
           {"stem/conv..side", "are in two subgraphs"},
           {"..", "neither a begin nor an end"},
           {"99", "is called \"99\""},
           {"last:0", "not a number of layers"},
           {"inputs:inputs:body", "border of a border"}})
    EXPECT_NE(named({word}).find(why), std::string::npos) << word << ": " << named({word});
}

/// What the source calls layers names what they became.
TEST_F(PartsTest, LayersOfTheSource) {
  SourceLayers sources(3);
  sources[0] = {"CONV_2D", {"old/conv"}};
  sources[1] = {"RELU", {"old/relu"}};
  sources[2] = {"CONV_2D", {"older/conv"}, {"model.layers.0", "model"}};
  EXPECT_EQ(named({"old/conv"}, sources), "stem/conv");
  EXPECT_EQ(named({"old/"}, sources), "stem/conv body/a");
  EXPECT_EQ(named({"conv_2d"}, sources), "stem/conv body/b;body/bias");
  EXPECT_EQ(named({"model.layers.0/"}, sources), "body/b;body/bias");
  EXPECT_EQ(named({"model"}, sources), "body/b;body/bias");
  EXPECT_EQ(named({"re:^older"}, sources), "body/b;body/bias");
  EXPECT_EQ(named({"tanh"}, sources), "body/a body/c"); // its own kind comes first
}

/// What a model's own metadata say of an input, wherever their bytes are damaged.
TEST_F(PartsTest, ImagesByTheModelsMetadata) {
  flatbuffers::FlatBufferBuilder fbb;
  std::vector<float> mean = {127.5f}, deviation = {64};
  auto normalization = image_metadata::CreateNormalizationDirect(fbb, &mean, &deviation);
  std::vector units = {
      image_metadata::CreateProcessUnit(fbb, image_metadata::Processing::Normalization, normalization.Union())};
  std::vector tensors = {image_metadata::CreateTensorDirect(fbb, "image", nullptr, nullptr, 0, &units)};
  std::vector graphs = {image_metadata::CreateGraphDirect(fbb, nullptr, nullptr, &tensors)};
  fbb.Finish(image_metadata::CreateMetadataDirect(fbb, nullptr, nullptr, nullptr, &graphs));
  std::string bytes(reinterpret_cast<const char *>(fbb.GetBufferPointer()), fbb.GetSize());
  Subgraph &graph = *model->subgraphs.front();
  eval::Port port;
  port.value = graph.inputs.front();
  EXPECT_FALSE(normalizationOf(port));
  Buffer &buffer = model->addBuffer(Payload::owned(std::string(bytes)));
  model->metadata.push_back({"TFLITE_METADATA", &buffer});
  auto own = normalizationOf(port);
  ASSERT_TRUE(own);
  EXPECT_EQ(own->mean, mean);
  EXPECT_EQ(own->deviation, deviation);
  port.value = model->subgraphs.back()->inputs.front();
  EXPECT_FALSE(normalizationOf(port)); // which the metadata do not know
  port.value = graph.inputs.front();
  for (size_t i = 0; i < bytes.size(); ++i) {
    std::string damaged = bytes;
    damaged[i] = static_cast<char>(damaged[i] ^ 0xff);
    buffer.payload = Payload::owned(std::move(damaged));
    normalizationOf(port); // ends
  }
}

} // namespace
} // namespace origo::quantize
