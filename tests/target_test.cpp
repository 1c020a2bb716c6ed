#include "report/target/Prediction.h"
#include "schema/TensorTypes.h"
#include "tests/Samples.h"

#include "llvm/ADT/StringExtras.h"

#include <fstream>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace origo;
using namespace origo::report;
using namespace origo::test;

namespace {

/// A convolution that breaks most rules, between operators that do not.
const char *const network = R"(origo 1
model circle version 0
subgraph @main(%x: f32[1,4,4,2], %v: u8[2,2,1,2] q{scale=0.5, zero_point=3}) -> (%y, %u) {
  %f: i8[3,1,1,2] q{scale=[0.5, 0.25, 1], zero_point=[0, 0, 1], dim=0} = const [1, 2, 3, 4, 5, 6]
  %h: f32[1,4,4,2] = RELU(%x)
  %c: f32[1,4,4,3] = CONV_2D(%h, %f) {stride_w=1, stride_h=1, dilation_h_factor=2, fused_activation_function=TANH}
  %y: f32[1,4,4,3] = NEG(%c)
  %u: f32[2,2,1,2] = DEQUANTIZE(%v)
}
)";

const char *const limits = R"({"target": "npu", "schema_version": 1, "_note": "ignored",
 "maxTensorByteLength": 150,
 "input": {"dataTypes": ["float32"], "rankRange": {"min": 1, "max": 4}},
 "constant": {"dataTypes": ["uint8"]},
 "ops": {
  "RELU": {"features": {"dataTypes": ["float32"]}},
  "CONV_2D": {
    "input": {"dataTypes": ["float32"], "rankRange": {"min": 1, "max": 3}, "constant": true},
    "filter": {"dataTypes": ["uint8"], "constant": true,
               "quantization": {"schemes": ["per-tensor"], "symmetric": true, "axis": 3}},
    "bias": {"dataTypes": ["int32"]},
    "output": {"dataTypes": ["float32"]},
    "attributes": {"dilation_h_factor": {"max": 1}, "fused_activation_function": {"in": ["NONE", "RELU"]}},
    "same": [["input.dtype", "filter.dtype", "output.dtype"], ["input.shape", "output.shape"]]},
  "NEG": {"anyOf": [{"input": {"dataTypes": ["int8"]}, "output": {"dataTypes": ["int8"]}},
                    {"input": {"dataTypes": ["float32"]}, "y": {"dataTypes": ["float16"]}}]}
 }})";

Target targetOf(llvm::StringRef text) {
  llvm::Expected<Target> target = readTarget(text);
  if (target)
    return std::move(*target);
  ADD_FAILURE() << llvm::toString(target.takeError());
  return {};
}

std::string errorOf(llvm::Expected<Target> target) { return target ? "" : llvm::toString(target.takeError()); }

std::vector<std::string> lines(llvm::ArrayRef<Violation> violations) {
  std::vector<std::string> result;
  for (const Violation &v : violations) {
    std::string origins;
    for (uint32_t id : v.origins)
      origins += (origins.empty() ? "" : ",") + std::to_string(id);
    result.push_back((v.op ? std::to_string(v.op->index) + " " + v.op->opName() : "graph") + " " + v.operand + " " +
                     (v.tensor ? v.tensor->name.str() : "-") + ": " + v.rule + " " + v.expected + " not " + v.actual +
                     " {" + origins + "}");
  }
  return result;
}

const std::vector<std::string> expected = {
    "graph input[1] v: input.dataTypes [\"float32\"] not \"uint8\" {3}",
    "1 CONV_2D input h: rankRange {\"min\":1,\"max\":3} not 4 {1}",
    "1 CONV_2D input h: constant true not false {1}",
    "1 CONV_2D filter f: dataTypes [\"uint8\"] not \"int8\" {1}",
    "1 CONV_2D filter f: quantization {\"schemes\":[\"per-tensor\"]} not \"per-channel\" {1}",
    "1 CONV_2D filter f: quantization {\"symmetric\":true} not {\"zero_point\":1} {1}",
    "1 CONV_2D filter f: quantization {\"axis\":3} not {\"axis\":0} {1}",
    "1 CONV_2D bias -: optional false not true {1}",
    "1 CONV_2D dilation_h_factor -: attributes {\"max\":1} not 2 {1}",
    "1 CONV_2D fused_activation_function -: attributes {\"in\":[\"NONE\",\"RELU\"]} not \"TANH\" {1}",
    "1 CONV_2D filter f: same \"float32\" not \"int8\" {1}",
    "1 CONV_2D output c: same [1,4,4,2] not [1,4,4,3] {1}",
    "1 CONV_2D filter f: constant.dataTypes [\"uint8\"] not \"int8\" {1}",
    "1 CONV_2D output c: maxTensorByteLength 150 not 192 {1}",
    "2 NEG y y: dataTypes [\"float16\"] not \"float32\" {2}",
    "2 NEG x c: maxTensorByteLength 150 not 192 {2}",
    "2 NEG y y: maxTensorByteLength 150 not 192 {2}",
    "3 DEQUANTIZE  -: ops \"listed\" not \"DEQUANTIZE\" {3}",
    "graph output[0] y: maxTensorByteLength 150 not 192 {2}",
};

class TargetFile : public testing::Test {
protected:
  void SetUp() override { ASSERT_TRUE(writeAsFile(network, scratch.at(""), path)); }
  std::vector<Violation> check(const std::string &file) {
    ImportOptions options;
    options.payloads = false;
    llvm::Expected<Imported> read = importModel(file, options);
    if (!read) {
      ADD_FAILURE() << llvm::toString(read.takeError());
      return {};
    }
    imported = std::move(*read);
    return checkTarget(*imported.model, targetOf(limits));
  }
  std::string bytes() const {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::string write(const std::string &name, const std::string &bytes) {
    std::ofstream(scratch.at(name), std::ios::binary) << bytes;
    return scratch.at(name);
  }
  Scratch scratch;
  std::string path = scratch.at("net.circle");
  Imported imported;
};

/// The buffers of the file, to be changed in place.
std::vector<const circle::Buffer *> buffersOf(std::string &file) {
  std::vector<const circle::Buffer *> buffers;
  for (const circle::Buffer *buffer : *circle::GetModel(file.data())->buffers())
    buffers.push_back(buffer);
  return buffers;
}

void poke(const void *at, uint32_t value) { std::memcpy(const_cast<void *>(at), &value, sizeof(value)); }

TEST_F(TargetFile, EveryViolationOfEveryOperand) { EXPECT_EQ(lines(check(path)), expected); }

TEST_F(TargetFile, NoPayloadIsNeeded) {
  std::string cut = bytes();
  unsigned emptied = 0;
  for (const circle::Buffer *buffer : buffersOf(cut))
    if (buffer->data() && buffer->data()->size()) {
      poke(buffer->data(), 0); // the length of the vector
      ++emptied;
    }
  ASSERT_GE(emptied, 1u);
  EXPECT_EQ(lines(check(write("cut.circle", cut))), expected);

  // All buffers but the first have been cut off, so that indices lead nowhere.
  std::string none = bytes();
  const auto *list = circle::GetModel(none.data())->buffers();
  poke(list, 1);
  EXPECT_EQ(lines(check(write("none.circle", none))), expected);
  EXPECT_TRUE(llvm::errorToBool(importModel(scratch.at("none.circle")).takeError()));
}

TEST_F(TargetFile, PayloadsMayLieBehindTheEnd) {
  std::string whole = bytes();
  // The same tables, with buffers that say an offset and a size.
  auto *table = reinterpret_cast<const flatbuffers::Table *>(circle::GetModel(whole.data()));
  const wire::TableType &root = wire::Schema::circle().root();
  flatbuffers::FlatBufferBuilder outside;
  std::vector<flatbuffers::Offset<circle::Buffer>> buffers{circle::CreateBuffer(outside)};
  for (size_t i = 1; i < buffersOf(whole).size(); ++i)
    buffers.push_back(circle::CreateBuffer(outside, 0, uint64_t(1) << 40, uint64_t(1) << 33));
  auto vector = outside.CreateVector(buffers);
  auto sub = [&](llvm::StringRef name) {
    const wire::Field *field = root.find(name);
    auto *items =
        table->GetPointer<const flatbuffers::Vector<flatbuffers::Offset<flatbuffers::Table>> *>(field->vtableOffset());
    std::vector<flatbuffers::Offset<void>> copies;
    for (const flatbuffers::Table *item : *items)
      copies.push_back(wire::copyTable(outside, *field->table, item));
    return outside.CreateVector(copies).o;
  };
  auto codes = sub("operator_codes"), graphs = sub("subgraphs");
  auto start = outside.StartTable();
  outside.AddOffset(circle::Model::VT_OPERATOR_CODES, flatbuffers::Offset<void>(codes));
  outside.AddOffset(circle::Model::VT_SUBGRAPHS, flatbuffers::Offset<void>(graphs));
  outside.AddOffset(circle::Model::VT_BUFFERS, vector);
  outside.Finish(flatbuffers::Offset<circle::Model>(outside.EndTable(start)), "CIR0");
  std::string file(reinterpret_cast<const char *>(outside.GetBufferPointer()), outside.GetSize());
  EXPECT_EQ(lines(check(write("outside.circle", file))), expected);
  EXPECT_TRUE(llvm::errorToBool(importModel(scratch.at("outside.circle")).takeError()));
}

/// The fingerprint covers sizes of payloads, so that without them only the lists tell whether a map is the model's.
TEST_F(TargetFile, AMapIsContinuedWithoutPayloads) {
  llvm::Expected<Imported> read = importModel(path);
  ASSERT_TRUE(bool(read));
  std::string mapped = scratch.at("mapped.circle");
  ASSERT_FALSE(exportModel(*read->model, read->lineage, mapped, {}));
  std::ifstream in(mapped, std::ios::binary);
  std::string file{std::istreambuf_iterator<char>(in), {}};
  const circle::Model *model = circle::GetModel(file.data());
  unsigned emptied = 0;
  for (const circle::Tensor *tensor : *model->subgraphs()->Get(0)->tensors())
    if (const circle::Buffer *buffer = model->buffers()->Get(tensor->buffer());
        buffer->data() && buffer->data()->size()) {
      poke(buffer->data(), 0);
      ++emptied;
    }
  ASSERT_EQ(emptied, 1u);
  std::string cut = write("cut.circle", file);
  EXPECT_EQ(lines(check(cut)), expected);
  EXPECT_FALSE(imported.lineage.chain.empty()) << "the map is not continued";
  ASSERT_EQ(imported.notes.size(), 1u);
  EXPECT_NE(imported.notes[0].find("payloads are missing"), std::string::npos);

  // A side file has lists of its own: the right one is taken, that of another model refused.
  llvm::Expected<origin::OriginMap> map = originMapOf(*read->model, read->lineage, Format::Circle);
  ASSERT_TRUE(bool(map));
  for (const char *what : {"true", "folded", "stale"}) {
    bool stale = what == llvm::StringRef("stale");
    if (what == llvm::StringRef("folded")) { // another constant is in the weights, and nowhere else
      map->source.subgraphs[0].tensors.push_back({"k", origin::TensorKind::Constant});
      for (origin::TensorRow &row : map->target.subgraphs[0].tensors)
        if (row.constant)
          row.tensors.push_back(map->source.tensorCount() - 1);
    }
    if (stale)
      map->target.subgraphs[0].tensors[0].name = "another";
    std::string plain = bytes();
    for (const circle::Buffer *buffer : buffersOf(plain))
      if (buffer->data() && buffer->data()->size())
        poke(buffer->data(), 0);
    ImportOptions options;
    options.payloads = false;
    options.map = std::make_shared<const origin::OriginMap>(*map);
    llvm::Expected<Imported> continued = importModel(write("plain.circle", plain), options);
    std::string message = continued ? "" : llvm::toString(continued.takeError());
    EXPECT_EQ(message.find("stale origin map") != std::string::npos, stale) << what << message;
    EXPECT_EQ(message.empty(), !stale) << what << message;
  }
}

TEST_F(TargetFile, Json) {
  auto json = nlohmann::json::parse(violationsJson(check(path)));
  EXPECT_EQ(json["supported"], false);
  ASSERT_EQ(json["violations"].size(), expected.size());
  for (auto &row : json["violations"]) {
    EXPECT_EQ(row.size(), 9u);
    for (const char *key : {"subgraph", "op_index", "op", "operand", "tensor", "rule", "expected", "actual", "origins"})
      EXPECT_TRUE(row.contains(key)) << key;
  }
  auto &row = json["violations"][1];
  EXPECT_EQ(row["op_index"], 1);
  EXPECT_EQ(row["op"], "CONV_2D");
  EXPECT_EQ(row["operand"], "input");
  EXPECT_EQ(row["tensor"], "h");
  EXPECT_EQ(row["rule"], "rankRange");
  EXPECT_EQ(row["expected"], nlohmann::json({{"min", 1}, {"max", 3}}));
  EXPECT_EQ(row["actual"], 4);
  EXPECT_EQ(row["origins"], std::vector<int>{1});
  EXPECT_EQ(nlohmann::json::parse(violationsJson({}))["supported"], true);
}

TEST(TargetDescription, BadInputIsNamed) {
  std::pair<const char *, const char *> cases[] = {
      {"", "is no JSON"},
      {"[]", "not an object"},
      {"{}", "no \"ops\""},
      {R"({"ops": {}, "opps": 1})", "opps: is not known here"},
      {R"({"ops": {}, "ops": {}})", "the key \"ops\" twice"},
      {R"({"ops": {}, "schema_version": 3})", "only versions 1 and 2"},
      {R"({"ops": {}, "schema_version": "2"})", "schema_version: is not an integer"},
      {R"({"ops": {}, "static_shapes": true})", "static_shapes: is not known here"},
      {R"({"ops": {"ADD": {"relations": []}}})", "ADD has no operand or result \"relations\""},
      {R"({"ops": {"ADD": {"x": {"constant": "unpacked"}}}})", "constant: is neither true nor false"},
      {R"({"schema_version": 2, "ops": {"ADD": {"x": {"constant": "packed"}}}})",
       "constant: is neither true nor false"},
      {R"({"schema_version": 2, "ops": {"ADD": {"x": {"dimensions": {"last": {}}}}}})", "dimensions.last: is no index"},
      {R"({"schema_version": 2, "ops": {"ADD": {"x": {"dimensions": {"1": {}, "01": {}}}}}})",
       "dimensions.01: is another"},
      {R"({"schema_version": 2, "ops": {"ADD": {"x": {"dimensions": {"1": {"multiple_of": 0}}}}}})",
       "multiple_of: is 0"},
      {R"({"schema_version": 2, "ops": {"ADD": {"scale_ratio": [{"by": ["x"]}]}}})", "scale_ratio[0]: is of nothing"},
      {R"({"schema_version": 2, "ops": {"CONV_2D": {"relations": ["stride_h"]}}})",
       "is not like stride_h <= filter_height"},
      {R"({"schema_version": 2, "ops": {"CONV_2D": {"relations": ["stride_z <= 2"]}}})",
       "\"stride_z\" is neither a number"},
      {R"({"schema_version": 2, "ops": {"CONV_2D": {"relations": ["q.shape[1] < 2"]}}})", "CONV_2D has no operand"},
      {R"({"schema_version": 2, "ops": {}, "partition": {"least": 1}})", "partition.least: is not known here"},
      {R"({"schema_version": 2, "ops": {}, "refusal_cost": {"ADD": 0}})", "refusal_cost.ADD: is not above 0"},
      {R"({"ops": {}, "maxTensorByteLength": -1})", "maxTensorByteLength: is not an integer"},
      {R"({"ops": {}, "input": {"constant": true}})", "input.constant: is not known here"},
      {R"({"ops": {"CONV2D": {}}})", "ops.CONV2D: there is no such operator"},
      {R"({"ops": {"CONV_2D": {"colour": {}}}})",
       "no operand or result \"colour\"; it has input, filter, bias, output"},
      {R"({"ops": {"ADD": {"x": {}, "a": {}}}})", "ops.ADD.a: is another name of x, which has its limits already"},
      {R"({"ops": {"CONV_2D": {"filter": {"dataTypes": "int8"}}}})", "ops.CONV_2D.filter.dataTypes: is not a list"},
      {R"({"ops": {"CONV_2D": {"filter": {"dataTypes": ["int9"]}}}})", "dataTypes[0]: there is no data type \"int9\""},
      {R"({"ops": {"CONV_2D": {"filter": {"rankRange": {"min": 3, "max": 2}}}}})", "min is above its max"},
      {R"({"ops": {"CONV_2D": {"filter": {"rankRange": {"min": 1.5}}}}})", "rankRange.min: is not an integer"},
      {R"({"ops": {"CONV_2D": {"filter": {"constant": 1}}}})", "constant: is neither true nor false"},
      {R"({"ops": {"CONV_2D": {"attributes": {"dilation": {"max": 1}}}}})", "it has padding, stride_w, stride_h,"},
      {R"({"ops": {"CONV_2D": {"attributes": {"stride_h": {"min": 3, "max": 1}}}}})",
       "stride_h: its min is above its max"},
      {R"({"schema_version": 2, "ops": {"SLICE": {"begin": {"values": {"min": 3, "max": 1}}}}})",
       "begin.values: its min is above its max"},
      {R"({"schema_version": 2, "ops": {"ADD": {"x": {"dimensions": {"1": {"min": 3, "max": 1}}}}}})",
       "dimensions.1: its min is above its max"},
      {R"({"ops": {"CONV_2D": {"attributes": {"padding": {"max": 1}}}}})", "padding.max: is not known here"},
      {R"({"ops": {"CONV_2D": {"attributes": {"padding": {"in": ["FULL"]}}}}})",
       "padding.in[0]: is none of Padding: SAME, VALID"},
      {R"({"ops": {"CONV_2D": {"same": [["input.colour"]]}}})", "same[0][0]: is not like input.dtype"},
      {R"({"ops": {"CONV_2D": {"same": [["input.dtype", "filter.rank"]]}}})",
       "same[0][1]: cannot be the same as a dtype"},
      {R"({"ops": {"CONV_2D": {"anyOf": []}}})", "anyOf: is empty"},
      {"{\"ops\": {,", "is no JSON from byte 10 on"},
      {R"({"ops": {"CONV_2D": {"anyOf": [{"anyOf": []}]}}})", "anyOf[0].anyOf: CONV_2D has no operand"},
  };
  for (auto [text, message] : cases)
    EXPECT_NE(errorOf(readTarget(text)).find(message), std::string::npos) << text << "\n" << errorOf(readTarget(text));
}

TEST(TargetDescription, ReadsWhatItWrites) {
  std::vector<Target> targets = {targetOf(limits), opSupportLimits()};
  for (const auto &[name, text] : builtinTargets())
    targets.push_back(targetOf(text));
  for (const Target &target : targets) {
    std::string text = writeTarget(target);
    EXPECT_EQ(writeTarget(targetOf(text)), text);
  }
}

/// Each says where its limits stand, and nothing that it says is lost in what is written again.
TEST(TargetDescription, BuiltinOnesNameTheirSources) {
  ASSERT_GE(builtinTargets().size(), 13u);
  for (const auto &[name, text] : builtinTargets()) {
    Target target = targetOf(text);
    EXPECT_EQ(target.name, name.str());
    EXPECT_FALSE(target.source.empty() || target.commit.empty() || target.date.empty()) << name.str();
    auto given = nlohmann::json::parse(std::string(text)), written = nlohmann::json::parse(writeTarget(target));
    EXPECT_EQ(written["ops"].size(), given["ops"].size()) << name.str();
    for (auto &[key, value] : given.items())
      if (key != "ops" && key.front() != '_') {
        EXPECT_EQ(written[key], value) << name.str() << " " << key;
      }
  }
  EXPECT_EQ(builtinTarget("xnnpack"), nullptr);
}

TEST(TargetDescription, Webnn) {
  const char *dump = R"({"preferredInputLayout": "nhwc", "maxTensorByteLength": 1000,
    "input": {"dataTypes": ["float32"], "rankRange": {"min": 0, "max": 5}},
    "constant": {"dataTypes": ["float32"], "rankRange": {"min": 0, "max": 5}},
    "output": {"dataTypes": ["float32"], "rankRange": {"min": 0, "max": 5}},
    "add": {"a": {"dataTypes": ["float32"]}, "b": {"dataTypes": ["float32"]}, "output": {"dataTypes": ["float32"]}},
    "conv2d": {"input": {"dataTypes": ["float32"], "rankRange": {"min": 4, "max": 4}},
               "filter": {"dataTypes": ["float32"], "rankRange": {"min": 4, "max": 4}},
               "bias": {"dataTypes": ["float32"], "rankRange": {"min": 1, "max": 1}},
               "output": {"dataTypes": ["float32"], "rankRange": {"min": 4, "max": 4}}},
    "reshape": {"input": {"dataTypes": ["float32"]}, "output": {"dataTypes": ["float32"]}},
    "lesser": {"a": {"dataTypes": ["float32"]}, "b": {"dataTypes": ["float32"]}, "output": {"dataTypes": ["uint8"]}},
    "logicalAnd": {"a": {"dataTypes": ["uint8"]}, "b": {"dataTypes": ["uint8"]}, "output": {"dataTypes": ["uint8"]}},
    "relu": {"input": {"dataTypes": ["float32"]}, "output": {"dataTypes": ["float32"]}, "state": {}},
    "hardSigmoid": {"input": {"dataTypes": ["float32"]}, "output": {"dataTypes": ["float32"]}}})";
  std::vector<std::string> notes;
  llvm::Expected<Target> target = readWebnn(dump, notes);
  ASSERT_TRUE(bool(target)) << llvm::toString(target.takeError());
  EXPECT_EQ(notes, (std::vector<std::string>{"WebNN's relu has no state in circle",
                                             "WebNN's hardSigmoid has no counterpart among the operators of circle"}));
  std::vector<std::string> names;
  for (auto &[name, one] : target->ops)
    names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{"ADD", "CONV_2D", "DEPTHWISE_CONV_2D", "EXPAND_DIMS", "LESS",
                                             "LOGICAL_AND", "RELU", "RESHAPE", "SQUEEZE"}));
  auto json = nlohmann::json::parse(writeTarget(*target));
  EXPECT_EQ(json["maxTensorByteLength"], 1000);
  EXPECT_EQ(json["ops"]["ADD"]["x"], nlohmann::json::parse(R"({"dataTypes": ["float32"]})"));
  EXPECT_EQ(json["ops"]["CONV_2D"]["bias"]["optional"], true);
  EXPECT_EQ(json["ops"]["CONV_2D"]["attributes"]["fused_activation_function"]["in"],
            (std::vector<std::string>{"NONE", "RELU"}));
  EXPECT_EQ(json["ops"]["RESHAPE"]["shape"]["constant"], true);
  EXPECT_EQ(json["ops"]["LESS"]["output"]["dataTypes"], (std::vector<std::string>{"uint8", "bool"}));
  for (const char *slot : {"x", "y", "output"})
    EXPECT_EQ(json["ops"]["LOGICAL_AND"][slot]["dataTypes"], (std::vector<std::string>{"uint8", "bool"})) << slot;
  EXPECT_NE(errorOf(readWebnn(limits, notes)).find("a target description already"), std::string::npos);
}

/// What is left of a model's lines against a description.
std::vector<std::string> against(const std::string &model, const char *description) {
  PayloadStore store;
  auto parsed = parseText("origo 1\nmodel circle version 0\n" + model, "", store);
  if (parsed)
    return lines(checkTarget(**parsed, targetOf(description)));
  ADD_FAILURE() << llvm::toString(parsed.takeError());
  return {};
}
using Lines = std::vector<std::string>;

/// Each limit of version 2, where it is kept and where it is not.
TEST(TargetCheck, Version2) {
  const char *model =
      R"(subgraph @main(%x: i8[1,6,4,3] q{scale=0.5, zero_point=4}, %f: f32[1,2,3]) -> (%y, %m, %c, %d) {
  %h: f16[2,3] = const splat 1
  %w: f32[2,3] = DEQUANTIZE(input=%h)
  %d: f32[1,2] = FULLY_CONNECTED(input=%f, weights=%w) {}
  %z: i8[1,1,1,3] q{scale=256, zero_point=0} = const splat 1
  %y: i8[1,6,4,3] q{scale=1, zero_point=0} = ADD.v2(x=%x, y=%z) {}
  %p: i8[1,3,2,3] q{scale=0.5, zero_point=4} = MAX_POOL_2D.v2(value=%x) {stride_h=2, stride_w=2, filter_height=2, filter_width=1}
  %axes: i32[2] = const [2, 1]
  %m: i8[1,3] q{scale=0.5, zero_point=4} = MEAN.v2(input=%p, reduction_indices=%axes) {}
  %c: f32[1,6,3] = CONCATENATION(%f, %f, %f) {axis=1}
}
)";
  auto lines = [&](const std::string &ops) {
    std::vector<std::string> found;
    std::string all =
        R"({"schema_version": 2, "ops": {"DEQUANTIZE": {}, "FULLY_CONNECTED": {}, "ADD": {}, "MAX_POOL_2D": {},
      "MEAN": {}, "CONCATENATION": {}}})";
    auto json = nlohmann::json::parse(all);
    json["ops"].update(nlohmann::json::parse(ops));
    return against(model, json.dump().c_str());
  };
  std::pair<const char *, std::vector<std::string>> cases[] = {
      {R"({"FULLY_CONNECTED": {"weights": {"constant": "unpacked"}}})", {}},
      {R"({"FULLY_CONNECTED": {"weights": {"constant": true}}})",
       {"1 FULLY_CONNECTED weights w: constant true not false {}"}},
      {R"({"FULLY_CONNECTED": {"input": {"constant": "unpacked"}}})",
       {"1 FULLY_CONNECTED input f: constant \"unpacked\" not false {}"}},
      {R"({"ADD": {"scale_ratio": [{"of": ["x"], "by": ["output"], "min": 0.5, "below": 0.75}]}})", {}},
      {R"({"ADD": {"scale_ratio": [{"of": ["x"], "by": ["output"], "below": 0.5}]}})",
       {"2 ADD x x: scale_ratio {\"below\":0.5} not 0.5 {}"}},
      {R"({"ADD": {"scale_ratio": [{"of": ["x", "b"], "by": ["output"], "max": 127}]}})",
       {"2 ADD x x: scale_ratio {\"max\":127.0} not 128.0 {}"}},
      {R"({"CONCATENATION": {"scale_ratio": [{"of": ["values"], "by": ["output"], "max": 0}]}})",
       {}}, // none has a scale
      {R"({"MAX_POOL_2D": {"relations": ["stride_h <= filter_height", "stride_h * output.shape[1] == input.shape[1]"]}})",
       {}},
      {R"({"MAX_POOL_2D": {"relations": ["stride_w <= filter_width"]}})",
       {"3 MAX_POOL_2D  -: relations \"stride_w <= filter_width\" not [2,1] {}"}},
      {R"({"MAX_POOL_2D": {"relations": ["stride_w divides input.shape[2]", "2 < 3", "2 != 3"]}})", {}},
      {R"({"MAX_POOL_2D": {"relations": ["4 divides input.shape[1]"]}})",
       {"3 MAX_POOL_2D  -: relations \"4 divides input.shape[1]\" not [4,6] {}"}},
      {R"({"MAX_POOL_2D": {"max_version": 2}})", {}},
      {R"({"MAX_POOL_2D": {"max_version": 1}})", {"3 MAX_POOL_2D  -: max_version 1 not 2 {}"}},
      {R"({"MEAN": {"reduction_indices": {"values": {"in": [[1, 2], [2, 1]]}, "elements": {"min": 2, "max": 2}}}})",
       {}},
      {R"({"MEAN": {"reduction_indices": {"values": {"in": [[1, 2]]}}}})",
       {"4 MEAN reduction_indices axes: values {\"in\":[[1,2]]} not [2,1] {}"}},
      {R"({"MEAN": {"reduction_indices": {"values": {"min": 2}}}})",
       {"4 MEAN reduction_indices axes: values {\"min\":2} not [2,1] {}"}},
      {R"({"MEAN": {"reduction_indices": {"elements": {"max": 1}}}})",
       {"4 MEAN reduction_indices axes: elements {\"max\":1} not 2 {}"}},
      {R"({"MEAN": {"input": {"dimensions": {"1": {"min": 3, "max": 3}, "-1": {"multiple_of": 3}, "7": {"max": 0}}}}})",
       {}},
      {R"({"MEAN": {"input": {"dimensions": {"-1": {"multiple_of": 2}}}}})",
       {"4 MEAN input p: dimensions {\"-1\":{\"multiple_of\":2}} not {\"-1\":3} {}"}},
      {R"({"MEAN": {"input": {"quantization": {"zero_point": {"min": 4, "max": 4}, "scale": {"below": 1}}}}})", {}},
      {R"({"MEAN": {"input": {"quantization": {"zero_point": {"max": 3}}}}})",
       {"4 MEAN input p: quantization {\"zero_point\":{\"max\":3.0}} not {\"zero_point\":4} {}"}},
      {R"({"CONCATENATION": {"values": {"count": {"min": 2, "max": 3}}}})", {}},
      {R"({"CONCATENATION": {"values": {"count": {"max": 2}}}})",
       {"5 CONCATENATION values -: count {\"max\":2} not 3 {}"}},
      {R"({"ADD": {"fatal": [{"x": {"dataTypes": ["uint8"]}}]}})", {}},
      {R"({"ADD": {"fatal": [{"x": {"dataTypes": ["int8"]}, "max_version": 2}]}})",
       {"2 ADD  -: fatal false not true {}"}},
  };
  for (auto &[ops, expected] : cases)
    EXPECT_EQ(lines(ops), expected) << ops;
}

TEST(TargetCheck, ComputedShapes) {
  const char *model = R"(subgraph @main(%x: f32[1,4], %n: i32[2]) -> (%y, %z) {
  %s: i32[2] = const [2, 2]
  %y: f32[2,2] = RESHAPE(tensor=%x, shape=%s) {}
  %z: f32[2,2] = RESHAPE(tensor=%x, shape=%n) {}
}
)";
  EXPECT_EQ(against(model, R"({"schema_version": 2, "static_shapes": true, "ops": {"RESHAPE": {}}})"),
            (std::vector<std::string>{"1 RESHAPE  z: static_shapes true not false {}"}));
  EXPECT_EQ(against(model, R"({"schema_version": 2, "ops": {"RESHAPE": {}}})"), std::vector<std::string>());
  // Nothing is known of what is resized, but of the size that it is computed.
  const char *resized = R"(subgraph @main(%x: f32) -> (%y) {
  %s: i32[4] = SHAPE(input=%x) {out_type=INT32}
  %b: i32[1] = const [1]
  %e: i32[1] = const [3]
  %n: i32[2] = STRIDED_SLICE(input=%s, begin=%b, end=%e, strides=%b)
  %y: f32 = RESIZE_NEAREST_NEIGHBOR(input=%x, size=%n)
}
)";
  EXPECT_EQ(against(resized, R"({"schema_version": 2, "static_shapes": true, "ops": {"SHAPE": {}, "STRIDED_SLICE": {},
                                 "RESIZE_NEAREST_NEIGHBOR": {}}})"),
            (std::vector<std::string>{"2 RESIZE_NEAREST_NEIGHBOR  y: static_shapes true not false {}"}));
}

/// Which operators are taken together, as text.
std::string parts(const std::string &model, const char *description) {
  PayloadStore store;
  auto parsed = parseText("origo 1\nmodel circle version 0\n" + model, "", store);
  if (!parsed) {
    ADD_FAILURE() << llvm::toString(parsed.takeError());
    return {};
  }
  Prediction prediction = predict(**parsed, targetOf(description));
  std::string text;
  for (const Prediction::Part &part : prediction.parts) {
    text += (text.empty() ? "" : " | ") + std::to_string(part.subgraph) + ":";
    for (const Operator *op : part.operators)
      text += " " + std::to_string(op->index);
  }
  return text + " of " + std::to_string(prediction.operators) + " in " + std::to_string(prediction.runs.front()) +
         (prediction.refusedFor ? ", refused for " + std::to_string(prediction.refusedFor->index) : "");
}

TEST(Prediction, PartsAsTheFrameworkDivides) {
  // 0 RELU, 1 EXP, 2 RELU, 3 NEG of both sides, 4 EXP, 5 RELU
  const char *model = R"(subgraph @main(%x: f32[4]) -> (%d, %f) {
  %a: f32[4] = RELU(features=%x)
  %b: f32[4] = EXP(x=%a)
  %c: f32[4] = RELU(features=%a)
  %d: f32[4] = ADD(x=%b, y=%c)
  %e: f32[4] = EXP(x=%x)
  %f: f32[4] = RELU(features=%e)
}
)";
  std::string ops = R"("ops": {"RELU": {}, "ADD": {}}})";
  auto with = [&](const std::string &more) { return R"({"schema_version": 2, )" + more + ops; };
  EXPECT_EQ(parts(model, with("").c_str()), "0: 0 2 | 0: 3 5 of 6 in 3");
  EXPECT_EQ(parts(model, with(R"("partition": {"max": 1}, )").c_str()), "0: 0 2 of 6 in 3");
  EXPECT_EQ(parts(model, with(R"("partition": {"min_operators": 3}, )").c_str()), " of 6 in 3");
  EXPECT_EQ(parts(model, with(R"("partition": {"prefix": true}, )").c_str()), "0: 0 of 6 in 2");
  EXPECT_EQ(parts(model, with(R"("partition": {"whole": true}, )").c_str()), " of 6 in 1");
  EXPECT_EQ(
      parts(model, R"({"schema_version": 2, "partition": {"whole": true}, "ops": {"RELU": {}, "ADD": {}, "EXP": {}}})"),
      "0: 0 1 2 3 4 5 of 6 in 1");
  EXPECT_EQ(parts(model, R"({"schema_version": 2, "ops": {"RELU": {}, "EXP": {"fatal": [{}]}}})"),
            " of 6 in 0, refused for 1");
  // What is not taken for another reason is left to others, and the rest of the model is not.
  EXPECT_EQ(
      parts(model, with("").replace(with("").find("{}"), 2, R"({}, "EXP": {"max_version": 0, "fatal": [{}]})").c_str()),
      "0: 0 2 | 0: 3 5 of 6 in 3");
  EXPECT_EQ(parts(model, with(R"("fatal_rank": 2, )").c_str()), "0: 0 2 | 0: 3 5 of 6 in 3");
  EXPECT_EQ(parts(model, with(R"("fatal_rank": 1, )").c_str()), " of 6 in 0, refused for 0");
}

/// What the native library was seen to do with graphs of one operator.
TEST(Prediction, XnnpackAsMeasured) {
  struct Case {
    const char *line, *x, *y;
    const char *said; ///< "taken", "left" to the runtime, or "fatal": the graph is refused whole
  } cases[] = {
      {"ADD(%x, %x)", "f32[1,1,2,2,2,4]", "f32[1,1,2,2,2,4]", "taken"},
      {"ADD(%x, %x)", "f32[1,1,1,2,2,2,4]", "f32[1,1,1,2,2,2,4]", "fatal"},
      {"SOFTMAX(%x) {beta=1}", "f32[1,1,1,2,2,2,4]", "f32[1,1,1,2,2,2,4]", "fatal"},
      {"TANH(%x)", "f32[1,1,1,2,2,2,4]", "f32[1,1,1,2,2,2,4]", "left"},
      {"RESHAPE(%x, %flat)", "f32[1,1,1,2,2,2,4]", "f32[8,4]", "left"},
      {"RESHAPE(%x, %flat)", "f32[1,1,2,2,2,4]", "f32[8,4]", "taken"},
      {"PRELU(%x, %slope)", "f32[1,8,8,4]", "f32[1,8,8,4]", "taken"},
      {"PRELU(%x, %slopes)", "f32[1,8,8,4]", "f32[1,8,8,4]", "left"},
      {"PRELU(%x, %slope)", "f32[1,1,1,2,2,2,4]", "f32[1,1,1,2,2,2,4]", "left"},
      {"PAD(%x, %narrow)", "f32[8,4]", "f32[8,6]", "taken"},
      {"PAD(%x, %wide)", "f32[8,4]", "f32[8,6]", "left"},
      {"QUANTIZE(%x)", "f32[4]", "u8[4] q{scale=0.5, zero_point=3}", "taken"},
      {"QUANTIZE(%x)", "u8[4] q{scale=0.5, zero_point=3}", "i8[4] q{scale=0.5, zero_point=3}", "left"},
      {"DEQUANTIZE(%x)", "u8[4] q{scale=0.5, zero_point=3}", "f32[4]", "taken"},
      {"MUL(%x, %x)", "u8[8,4] q{scale=0.5, zero_point=3}", "u8[8,4] q{scale=0.5, zero_point=3}", "fatal"},
      {"SUB(%x, %x)", "u8[8,4] q{scale=0.5, zero_point=3}", "u8[8,4] q{scale=0.5, zero_point=3}", "fatal"},
      {"PAD(%x, %narrow)", "u8[8,4] q{scale=0.5, zero_point=3}", "u8[8,6] q{scale=0.5, zero_point=3}", "fatal"},
      {"RELU(%x)", "u8[8,4] q{scale=0.5, zero_point=3}", "u8[8,4] q{scale=0.5, zero_point=3}", "left"},
      {"MEAN(%x, %last) {keep_dims=true}", "u8[1,8,8,4] q{scale=0.5, zero_point=3}",
       "u8[1,8,8,1] q{scale=0.5, zero_point=3}", "left"},
      {"MEAN(%x, %both) {keep_dims=true}", "u8[1,8,8,4] q{scale=0.5, zero_point=3}",
       "u8[1,1,1,4] q{scale=0.5, zero_point=3}", "fatal"},
      {"MEAN(%x, %both) {keep_dims=true}", "i8[1,8,8,4] q{scale=0.5, zero_point=3}",
       "i8[1,1,1,4] q{scale=0.25, zero_point=3}", "taken"},
      {"MEAN(%x, %both) {keep_dims=true}", "i8[1,8,8,4] q{scale=256, zero_point=3}",
       "i8[1,1,1,4] q{scale=1, zero_point=3}", "fatal"},
      {"PAD(%x, %narrow)", "i8[8,4] q{scale=0.5, zero_point=3}", "i8[8,6] q{scale=0.5, zero_point=3}", "taken"},
      {"PAD(%x, %narrow)", "i8[8,4] q{scale=0.5, zero_point=3}", "i8[8,6] q{scale=0.25, zero_point=3}", "fatal"},
      {"RESHAPE(%x, %nothing)", "f32[1]", "f32[]", "fatal"},
      {"SLICE(%x, %start, %flat)", "f32[8,4]", "f32[8,4]", "fatal"},
      {"TRANSPOSE_CONV(%same, %kernel, %x) {stride_h=3, stride_w=3}", "f32[1,4,4,3]", "f32[1,12,12,2]", "left"},
      {"TRANSPOSE_CONV(%valid, %kernel, %x) {padding=VALID, stride_h=3, stride_w=3}", "f32[1,4,4,3]", "f32[1,11,11,2]",
       "taken"},
      {"TRANSPOSE_CONV(%valid, %kernel, %x) {stride_h=2, stride_w=2}", "f32[1,4,4,3]", "f32[1,11,11,2]", "left"},
      {"FULLY_CONNECTED.v4(%x, %weights)", "i8[8,4] q{scale=16, zero_point=3}", "i8[8,2] q{scale=1, zero_point=3}",
       "fatal"},
      {"FULLY_CONNECTED.v4(%x, %weights)", "i8[8,4] q{scale=15, zero_point=3}", "i8[8,2] q{scale=1, zero_point=3}",
       "taken"},
  };
  const char *xnnpack = builtinTarget("xnnpack-2.9")->data();
  for (const Case &one : cases) {
    std::string model =
        std::string("subgraph @main(%x: ") + one.x +
        ", %start: i32[2]) -> (%y) {\n  %flat: i32[2] = const [8, 4]\n  %slope: f32[1,1,4] = const splat 2\n"
        "  %slopes: f32[1,8,4] = const splat 2\n  %narrow: i32[2,2] = const [0, 0, 1, 1]\n"
        "  %wide: i64[2,2] = const [0, 0, 1, 1]\n  %last: i32[1] = const [3]\n"
        "  %both: i32[2] = const [1, 2]\n  %nothing: i32[0] = const []\n"
        "  %same: i32[4] = const [1, 12, 12, 2]\n  %valid: i32[4] = const [1, 11, 11, 2]\n"
        "  %kernel: f32[2,2,2,3] = const splat 1\n  %ends: f32[2] = const splat 1\n"
        "  %weights: i8[2,4] q{scale=16, zero_point=0} = const splat 1\n"
        "  %y: " +
        one.y + " = " + one.line + "\n}\n";
    std::string said = parts(model, xnnpack);
    EXPECT_EQ(llvm::StringRef(said).contains("refused")   ? "fatal"
              : llvm::StringRef(said).starts_with("0: 0") ? "taken"
                                                          : "left",
              llvm::StringRef(one.said))
        << one.line << " of " << one.x << ": " << said;
  }
}

/// What unpacks a constant is taken with all that use it.
TEST(Prediction, UnpackedConstantsGoWithTheirUsers) {
  const char *model = R"(subgraph @main(%x: f32[1,3]) -> (%y, %z) {
  %h: f16[2,3] = const splat 1
  %w: f32[2,3] = DEQUANTIZE(input=%h)
  %g: f16[2,3] = const splat 2
  %v: f32[2,3] = DEQUANTIZE(input=%g)
  %y: f32[1,2] = FULLY_CONNECTED(input=%x, weights=%w) {}
  %t: f32[1,2] = FULLY_CONNECTED(input=%x, weights=%v) {}
  %z: f32[2,3] = EXP(x=%v)
}
)";
  EXPECT_EQ(parts(model, R"({"schema_version": 2, "ops": {"DEQUANTIZE": {"with_users": true},
                             "FULLY_CONNECTED": {"weights": {"constant": "unpacked"}}}})"),
            "0: 0 2 | 0: 3 of 5 in 3");
  // One of a type that the back end does not unpack is an operator like others.
  EXPECT_EQ(parts(model, R"({"schema_version": 2, "ops": {"DEQUANTIZE": {"with_users": ["int8"]},
                             "FULLY_CONNECTED": {"weights": {"constant": "unpacked"}}}})"),
            "0: 0 1 of 5 in 2");
}

TEST(TargetCheck, ConstantsHaveABufferAndAreNeitherInputsNorResults) {
  EXPECT_EQ(against(R"(default own_buffer
subgraph @main(%x: f32[4]) -> (%y) {
  %w: f32[4] = const [1, 2, 3, 4]
  %a: f32[4] = ADD(%x, %x)
  %y: f32[4] = MUL(%a, %w)
}
)",
                    R"({"constant": {"dataTypes": ["int8"], "rankRange": {"min": 2}},
                        "ops": {"ADD": {"x": {"constant": false}}, "MUL": {"x": {"constant": false}, "y": {"constant": true}}}})"),
            (Lines{"1 MUL y w: constant.dataTypes [\"int8\"] not \"float32\" {}",
                   "1 MUL y w: constant.rankRange {\"min\":2} not 1 {}"}));
  for (const char *buffer : {"", " buffer own"})
    EXPECT_EQ(against(std::string("subgraph @main(%x: f32[4]) -> (%y) {\n  %v: f32[4] variable") + buffer +
                          "\n  %y: f32[4] = ADD(%x, %v)\n}\n",
                      R"({"ops": {"ADD": {"y": {"constant": false}}}})"),
              *buffer ? Lines{"0 ADD y v: constant false not true {}"} : Lines{});
}

TEST(TargetCheck, CustomOperatorsAreTheirOwn) {
  const char *model = R"(subgraph @main(%x: f32[4]) -> (%y) {
  %a: f32[4] = CUSTOM "Mine"(%x)
  %y: f32[4] = CUSTOM "Other"(%a)
}
)";
  EXPECT_EQ(against(model, R"({"ops": {"CUSTOM:Mine": {}}})"),
            Lines{"1 CUSTOM  -: ops \"listed\" not \"CUSTOM:Other\" {}"});
  EXPECT_EQ(against(model, R"({"ops": {"CUSTOM": {}, "CUSTOM:Mine": {"input": {"dataTypes": ["int8"]}}}})"),
            Lines{"0 CUSTOM input[0] x: dataTypes [\"int8\"] not \"float32\" {}"});
}

TEST(TargetCheck, SizesAndShapesThatAreNotKnown) {
  const char *sized = R"({"maxTensorByteLength": 16, "ops": {"ABS": {"same": [["x.shape", "y.shape"]]}}})";
  auto abs = [&](const std::string &x, const std::string &y) {
    return against("subgraph @main(%x: f32" + x + ") -> (%y) {\n  %y: f32" + y + " = ABS(%x)\n}\n", sized);
  };
  EXPECT_EQ(abs("[-1,4]", "[-1,4]"), Lines{});
  EXPECT_EQ(abs("[-1,4]", "[1,4]"), Lines{});
  EXPECT_EQ(abs("[-1,4]", "[-1,3]"), Lines{"0 ABS y y: same [-1,4] not [-1,3] {}"});
  EXPECT_EQ(abs("[-1,5]", "[-1,5]").size(), 4u); // a dimension that is not known counts as 1
  EXPECT_EQ(abs("[5]", "[4]").size(), 3u);       // as input, as operand, and another shape
  EXPECT_EQ(abs("[65536,65536]", "[65536,65536]").size(), 4u);
}

TEST(TargetCheck, SchemesOfQuantisation) {
  auto abs = [&](const std::string &x, const std::string &schemes) {
    return against("subgraph @main(%x: " + x + ") -> (%y) {\n  %y: f32[4,1] = ABS(%x)\n}\n",
                   (R"({"ops": {"ABS": {"x": {"quantization": {"axis": 1, "schemes": [)" + schemes + "]}}}}}").c_str());
  };
  EXPECT_EQ(abs("i8[4,1] q{scale=0.5, zero_point=0}", R"("per-tensor")"), Lines{});
  EXPECT_EQ(abs("i8[4,1] q{scale=0.5, zero_point=0}", R"("per-channel")"),
            Lines{"0 ABS x x: quantization {\"schemes\":[\"per-channel\"]} not \"per-tensor\" {}"});
  EXPECT_EQ(abs("i8[1,4] q{scale=0.5, zero_point=0}", R"("per-channel")"), Lines{}); // one channel
  EXPECT_EQ(abs("i8[4,1]", R"("none")"), Lines{});
  EXPECT_EQ(abs("i8[4,1]", R"("per-tensor")").size(), 1u);
  EXPECT_EQ(abs("i4[4,1] q{blockwise={scales=_, zero_points=_, block_size=32}}", R"("blockwise")"), Lines{});
  EXPECT_EQ(abs("i4[4,1] q{custom=hex\"00\"}", R"("custom")"), Lines{});
  EXPECT_EQ(abs("i4[4,1] q{mx=1}", R"("blockwise", "mx")"), Lines{});
}

TEST(TargetCheck, OptionsWhereverTheyAre) {
  EXPECT_EQ(against(R"(subgraph @main(%x: f32[1,4,4,1], %f: f32[1,1,1,1]) -> (%y, %z) {
  %y: f32[1,4,4,1] = CONV_2D(%x, %f) Conv2DOptions absent
  %z: f32[1,8,4,1] = STABLEHLO_CONCATENATE(%x, %x) {dimension=1}
}
)",
                    R"({"ops": {"CONV_2D": {"attributes": {"dilation_w_factor": {"min": 1}}},
                        "STABLEHLO_CONCATENATE": {"attributes": {"dimension": {"max": 0}}}}})"),
            Lines{"1 STABLEHLO_CONCATENATE dimension -: attributes {\"max\":0} not 1 {}"});
}

TEST(TargetCheck, NamesSteerNoTerminal) {
  PayloadStore store;
  auto model =
      parseText("origo 1\nmodel circle version 0\nsubgraph @main(%x: f32[4] name \"\xc2\x9b\\x1b[31m\") -> (%y) {\n"
                "  %y: f32[4] = ABS(%x)\n}\n",
                "", store);
  ASSERT_TRUE(bool(model)) << llvm::toString(model.takeError());
  std::string json = violationsJson(checkTarget(**model, targetOf(R"({"ops": {"ABS": {"x": {"dataTypes": []}}}})")));
  EXPECT_TRUE(llvm::all_of(json, [](char c) { return c == '\n' || llvm::isPrint(c); })) << json;
  EXPECT_EQ(nlohmann::json::parse(json)["violations"][0]["tensor"], "\xc2\x9b\x1b[31m");
}

/// Alternatives are for what the rest takes.
TEST(TargetCheck, AlternativesComeLast) {
  EXPECT_EQ(against("subgraph @main(%x: f32[4]) -> (%y) {\n  %y: f32[4] = ABS(%x)\n}\n",
                    R"({"ops": {"ABS": {"x": {"rankRange": {"min": 2}}, "anyOf": [{"y": {"dataTypes": ["int8"]}}]}}})"),
            Lines{"0 ABS x x: rankRange {\"min\":2} not 1 {}"});
}

TEST(TargetCheck, RanksAndSubgraphs) {
  PayloadStore store;
  auto model = parseText(R"(origo 1
model circle version 0
subgraph @main(%b: bool[], %x: f32[2]) -> (%y) {
  %y: f32[2] = IF(%b, %x) {then_subgraph_index=@same, else_subgraph_index=@same}
}
subgraph @same(%x: f32[2]) -> (%y) {
  %y: f32[2] = ABS(%x)
}
)",
                         "", store);
  ASSERT_TRUE(bool(model)) << llvm::toString(model.takeError());
  auto found = checkTarget(**model, targetOf(R"({"ops": {"IF": {}, "ABS": {"x": {"rankRange": {"min": 2}}}}})"));
  EXPECT_EQ(lines(found), Lines{"0 ABS x x: rankRange {\"min\":2} not 1 {}"});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].subgraph, 1u);
}

/// What is checked is what the description says, in its words.
TEST(TargetDescription, OperandsHaveSeveralNames) {
  PayloadStore store;
  auto model = parseText(R"(origo 1
model circle version 0
subgraph @main(%x: f32[2,4], %s: f32[2,3]) -> (%p, %q) {
  %w: f32[3,4] = const [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
  %a: f32[2,3] = FULLY_CONNECTED(%x, %w)
  %b: f32[2,3] = ADD(%a, %s)
  %c: f32[2,3] = RELU(%b)
  %axis: i32[] = const [0]
  %p: f32[1,3], %q: f32[1,3] = SPLIT(%axis, %c)
}
)",
                         "", store);
  ASSERT_TRUE(bool(model)) << llvm::toString(model.takeError());
  Target target = targetOf(R"({"ops": {
    "FULLY_CONNECTED": {"input": {}, "filter": {"dataTypes": ["int8"]}, "bias": {"optional": true}},
    "ADD": {"lhs": {}, "b": {"dataTypes": ["int8"]}},
    "RELU": {"input": {"dataTypes": ["int8"]}, "output": {"dataTypes": ["int8"]}},
    "SPLIT": {"same": [["input.dtype", "outputs.dtype"]], "outputs": {"dataTypes": ["int8"]}}}})");
  EXPECT_EQ(lines(checkTarget(**model, target)),
            (std::vector<std::string>{"0 FULLY_CONNECTED filter w: dataTypes [\"int8\"] not \"float32\" {}",
                                      "1 ADD b s: dataTypes [\"int8\"] not \"float32\" {}",
                                      "2 RELU input b: dataTypes [\"int8\"] not \"float32\" {}",
                                      "2 RELU output c: dataTypes [\"int8\"] not \"float32\" {}",
                                      "3 SPLIT outputs[0] p: dataTypes [\"int8\"] not \"float32\" {}",
                                      "3 SPLIT outputs[1] q: dataTypes [\"int8\"] not \"float32\" {}"}));
}

std::vector<std::string> againstInterpreter(const std::string &operators) {
  PayloadStore store;
  auto model = parseText("origo 1\nmodel circle version 0\nsubgraph @main" + operators + "}\n", "", store);
  if (model)
    return lines(checkTarget(**model, opSupportLimits()));
  ADD_FAILURE() << llvm::toString(model.takeError());
  return {};
}

TEST(InterpreterLimits, NumbersCanBeComputedWith) {
  auto add = [](const std::string &x) {
    return againstInterpreter("(%x: u8[4] " + x + ") -> (%y) {\n  %y: u8[4] q{scale=1, zero_point=0} = ADD(%x, %x)\n");
  };
  EXPECT_EQ(add("q{scale=0.5, zero_point=255}"), std::vector<std::string>{});
  for (const char *invalid : {"q{scale=0, zero_point=3}", "q{scale=0.5, zero_point=256}"}) {
    std::vector<std::string> found = add(invalid);
    ASSERT_FALSE(found.empty()) << invalid;
    EXPECT_NE(found[0].find("not \"invalid\""), std::string::npos) << found[0];
  }
  EXPECT_EQ(againstInterpreter("(%x: u8[4] q{scale=1, zero_point=300}) -> (%y) {\n"
                               "  %y: u8[4,1] q{scale=1, zero_point=0} = RESHAPE(%x)\n"),
            Lines{"graph input[0] x: input.quantization {\"schemes\":[\"none\",\"per-tensor\",\"per-channel\","
                  "\"blockwise\",\"mx\",\"multi-axis\",\"custom\"]} not \"invalid\" {}"});
  EXPECT_EQ(againstInterpreter("(%x: i8[1,2] q{scale=[1, 2], zero_point=[0, 0], dim=1}) -> (%y) {\n"
                               "  %y: i8[1,2] q{scale=1, zero_point=0} = ADD(%x, %x)\n")
                .size(),
            2u)
      << "the kernel would add with the first scale";
  auto pool = [](const std::string &stride) {
    return againstInterpreter("(%x: f32[1,4,4,1]) -> (%y) {\n  %y: f32[1,4,4,1] = MAX_POOL_2D(%x) {stride_w=" + stride +
                              ", stride_h=1, filter_width=1, filter_height=1}\n");
  };
  EXPECT_EQ(pool("1"), std::vector<std::string>{});
  EXPECT_EQ(pool("0"), std::vector<std::string>{"0 MAX_POOL_2D stride_w -: attributes {\"min\":1} not 0 {}"});
  auto convolution = [](const std::string &dilation) {
    return againstInterpreter("(%x: f32[1,4,4,1]) -> (%y) {\n  %f: f32[1,1,1,1] = const [1]\n  %y: f32[1,4,4,1] = "
                              "CONV_2D(%x, %f) {stride_w=1, stride_h=1, dilation_h_factor=" +
                              dilation + ", dilation_w_factor=1}\n");
  };
  EXPECT_EQ(convolution("1"), Lines{});
  EXPECT_EQ(convolution("0"), Lines{"0 CONV_2D dilation_h_factor -: attributes {\"min\":1} not 0 {}"});
  EXPECT_EQ(
      againstInterpreter("(%x: f32[1,4,4,1]) -> (%y) {\n  %y: f32[1,4,4,1] = SPACE_TO_DEPTH(%x) {block_size=0}\n"),
      Lines{"0 SPACE_TO_DEPTH block_size -: attributes {\"min\":1} not 0 {}"});
}

TEST(InterpreterLimits, ScalesAreOfOutputChannels) {
  auto convolution = [](const std::string &axis) {
    return againstInterpreter(
        "(%x: i8[1,4,4,2] q{scale=1, zero_point=0}) -> (%y) {\n"
        "  %f: i8[2,1,1,2] q{scale=[1, 2], zero_point=[0, 0], dim=" +
        axis +
        "} = const [1, 2, 3, 4]\n"
        "  %y: i8[1,4,4,2] q{scale=1, zero_point=0} = CONV_2D(%x, %f) {stride_w=1, stride_h=1}\n");
  };
  EXPECT_EQ(convolution("0"), Lines{});
  EXPECT_EQ(convolution("3"), Lines{"0 CONV_2D filter f: quantization {\"axis\":0} not {\"axis\":3} {}"});
}

TEST(InterpreterLimits, RanksAndBlocks) {
  EXPECT_EQ(
      againstInterpreter("(%x: f32[4,4,1], %f: f32[1,1,1,1]) -> (%y) {\n  %y: f32[4,4,1] = CONV_2D(%x, %f)\n").at(0),
      "0 CONV_2D input x: rankRange {\"min\":4,\"max\":4} not 3 {}");
  EXPECT_EQ(againstInterpreter("(%x: f32[1,32], %s: f16[1]) -> (%y) {\n"
                               "  %w: i4[1,32] q{blockwise={scales=%s, zero_points=_, block_size=32}} = const splat 1\n"
                               "  %y: f32[1,1] = FULLY_CONNECTED(%x, %w)\n"),
            Lines{});
}

TEST(InterpreterLimits, OptionsAndQuantisationOfSingleKernels) {
  auto reduce = [](const std::string &zero) {
    return againstInterpreter("(%x: i8[2,3] q{scale=1, zero_point=1}) -> (%y) {\n  %a: i32[1] = const [1]\n"
                              "  %y: i8[2] q{scale=1, zero_point=" +
                              zero + "} = REDUCE_MAX(%x, %a)\n");
  };
  EXPECT_EQ(reduce("1"), std::vector<std::string>{});
  EXPECT_EQ(reduce("2").size(), 1u);
  auto join = [](const std::string &activation) {
    return againstInterpreter(
        "(%x: f32[4]) -> (%y) {\n  %y: f32[8] = CONCATENATION(%x, %x) {fused_activation_function=" + activation +
        "}\n");
  };
  EXPECT_EQ(join("NONE"), std::vector<std::string>{});
  EXPECT_EQ(join("RELU"),
            std::vector<std::string>{
                "0 CONCATENATION fused_activation_function -: attributes {\"in\":[\"NONE\"]} not \"RELU\" {}"});
}

/// The result's type is the operand's, whichever that is.
TEST(InterpreterLimits, DataThatMovesKeepsItsType) {
  std::vector<std::string> found = againstInterpreter("(%x: f32[4]) -> (%p, %q) {\n  %axis: i32[] = const [0]\n"
                                                      "  %p: f32[2], %q: i16[2] = SPLIT(%axis, %x)\n");
  EXPECT_EQ(found, std::vector<std::string>{"0 SPLIT outputs[1] q: same \"float32\" not \"int16\" {}"});
}

TEST(InterpreterLimits, ARowForEachOperatorThatRuns) {
  Target target = opSupportLimits();
  EXPECT_GT(target.ops.size(), 120u);
  EXPECT_TRUE(target.ops.count("CONV_2D"));
  EXPECT_TRUE(target.ops.count("WHILE"));
  EXPECT_FALSE(target.ops.count("CUSTOM"));
  EXPECT_GT(target.ops["CONV_2D"].anyOf.size(), 3u);
}

} // namespace
