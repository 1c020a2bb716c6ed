#include "commands/Prove.h"
#include "ir/text/ExpressionText.h"
#include "tests/RealModels.h"
#include "tests/Samples.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"

#include "gtest/gtest.h"

#include <cmath>
#include <cstring>
#include <fstream>

/// What `origin-dump --prove` says of two files: what was made by the tools is equal, and each constant counts.

using namespace origo;
using namespace origo::commands;
using namespace origo::test;

namespace {

const std::string bin = ORIGO_BIN_DIR "/";
const Door silent{[](llvm::StringRef name) { return name.str(); }, [](const llvm::Twine &) {}};

int run(const std::string &command) { return std::system((command + " >/dev/null 2>&1").c_str()); }

struct Files {
  Scratch scratch;
  std::string source, result;
  PayloadStore store;

  /// Optimises it, and stores it as `quantizer` says, where that is not empty.
  bool make(const std::string &model, const std::string &quantizer = "") {
    source = model;
    result = scratch.at("optimised.circle");
    if (run(bin + "circle2circle -O1 " + model + " " + result))
      return false;
    if (quantizer.empty())
      return true;
    std::string optimised = std::exchange(result, scratch.at("stored.circle"));
    return !run(bin + "circle-quantizer --input_data=random " + quantizer + " " + optimised + " " + result);
  }
  bool makeOfText(llvm::StringRef text, const std::string &quantizer = "") {
    std::string path = scratch.at("net.origo");
    std::ofstream(path) << "origo 1\nmodel circle version 0\n" << text.str();
    return make(path, quantizer);
  }
  Related related() { return llvm::cantFail(loadRelated(source, result, store, silent)); }
  llvm::Expected<FileProof> prove(Related files) { return proveFiles(std::move(files), store); }
};

/// A convolution with what becomes part of its weights and bias, and a scale that a square root makes.
const char *const folds = R"(subgraph @main(%x: f32[1,6,6,3]) -> (%y) {
  %w: f32[4,3,3,3] = const seed 1 normal 0 0.3
  %b: f32[4] = const seed 2 normal 0 0.3
  %variance: f32[4] = const seed 3 uniform 0.5 2
  %half: f32[] = const [0.5]
  %mean: f32[4] = const seed 4 normal 0 1
  %shift: f32[4] = const seed 5 normal 0 1
  %c: f32[1,6,6,4] = CONV_2D(%x, %w, %b) {stride_w=1, stride_h=1}
  %r: f32[4] = RSQRT(%variance)
  %h: f32[4] = MUL(%r, %half)
  %d: f32[1,6,6,4] = SUB(%c, %mean)
  %s: f32[1,6,6,4] = MUL(%d, %h)
  %t: f32[1,6,6,4] = ADD(%s, %shift)
  %y: f32[1,6,6,4] = RELU6(%t)
}
)";

/// Takes an element of a constant as much further as two units in the last place of its type.
void move(Value &value, Buffer &buffer, size_t element) {
  std::string bytes = llvm::toStringRef(value.payload().bytes()).str();
  auto change = [&](auto number) {
    std::memcpy(&number, bytes.data() + element * sizeof(number), sizeof(number));
    number = static_cast<decltype(number)>(number > 100 ? number - 2 : number + 2);
    std::memcpy(bytes.data() + element * sizeof(number), &number, sizeof(number));
  };
  if (value.type == TensorType::FLOAT32) // by its bits
    change(uint32_t());
  else if (value.type == TensorType::INT8)
    change(int8_t());
  else if (value.type == TensorType::INT32)
    change(int32_t());
  else
    FAIL() << "a type that the test does not know";
  // The map goes on saying of the tensor what it said.
  ConstantExpressions &all = value.subgraph()->model().makeExpressions();
  ConstantExpressions::Operand told = all.beforeRounding(value).front();
  buffer.payload = Payload::owned(bytes);
  value.buffer = &buffer;
  if (told.kind == ConstantExpressions::Operand::Made)
    all.add(value, all[told.index].text);
}

/// Each constant in turn is another one.
void eachConstantCounts(Files &files, unsigned least) {
  unsigned changed = 0;
  for (size_t index = 0;; ++index) {
    Related related = files.related();
    auto &values = related.result.model->subgraphs.front()->values;
    if (index == values.size())
      break;
    Value &value = *values[index];
    bool counts = value.isConstant() && (value.type == TensorType::FLOAT32 || value.quantization);
    if (!counts || value.payload().empty())
      continue;
    ++changed;
    const std::string name = value.name.str();
    Buffer buffer;
    move(value, buffer, changed % static_cast<size_t>(value.shape.empty() ? 1 : value.shape[0]));
    auto proof = files.prove(std::move(related));
    ASSERT_TRUE(bool(proof)) << llvm::toString(proof.takeError());
    EXPECT_STREQ(proof->verdict(), "unequal") << name;
  }
  EXPECT_GE(changed, least);
}

TEST(ProveFiles, EachConstantCounts) {
  Files files;
  ASSERT_TRUE(files.makeOfText(folds));
  auto proof = files.prove(files.related());
  ASSERT_TRUE(bool(proof)) << llvm::toString(proof.takeError());
  EXPECT_STREQ(proof->verdict(), "equal");
  EXPECT_EQ(proof->constants.computed, 2u);
  eachConstantCounts(files, 2);
}

TEST(ProveFiles, OfIntegersButForTheirRounding) {
  for (const char *scheme : {"int8", "int16x8", "dynamic", "weights", "float16"}) {
    SCOPED_TRACE(scheme);
    Files files;
    ASSERT_TRUE(files.makeOfText(folds, std::string("--scheme=") + scheme));
    auto proof = files.prove(files.related());
    ASSERT_TRUE(bool(proof)) << llvm::toString(proof.takeError());
    EXPECT_STREQ(proof->verdict(), "equal");
    // Small weights stay floats where only weights are rounded.
    bool all = !llvm::is_contained({"dynamic", "weights"}, llvm::StringRef(scheme));
    EXPECT_EQ(proof->constants.rounded, all ? 2u : 0u);
    if (llvm::StringRef(scheme) == "int8")
      eachConstantCounts(files, 2);
  }
}

TEST(ProveFiles, WhatIsClippedIsCounted) {
  for (const char *clip : {"", " --clip-weights"}) {
    Files files;
    ASSERT_TRUE(files.makeOfText("subgraph @main(%x: f32[1,175]) -> (%y) {\n"
                                 "  %w: f32[8,175] = const seed 1 normal 0 0.3\n"
                                 "  %y: f32[1,8] = FULLY_CONNECTED(%x, %w)\n}\n",
                                 std::string("--scheme=weights --weight_bits=4") + clip));
    Related related = files.related();
    auto weightsOf = [](const Model &model) -> const Value & {
      return **llvm::find_if(model.subgraphs[0]->values, [](const Value *value) { return value->isConstant(); });
    };
    const Value &source = weightsOf(*related.source.model), &stored = weightsOf(*related.result.model);
    ASSERT_EQ(stored.type, TensorType::INT4);
    ASSERT_EQ(stored.quantization->scale.size(), 1u);
    std::vector<float> numbers(1400);
    ASSERT_EQ(source.payload().size(), numbers.size() * sizeof(float));
    std::memcpy(numbers.data(), source.payload().bytes().data(), source.payload().size());
    const float scale = stored.quantization->scale[0];
    uint64_t beyond = 0;
    for (float number : numbers)
      beyond += number > 7.5f * scale || number < -8.5f * scale; // of -8 to 7
    auto proof = files.prove(std::move(related));
    ASSERT_TRUE(bool(proof)) << llvm::toString(proof.takeError());
    EXPECT_STREQ(proof->verdict(), "equal");
    EXPECT_EQ(proof->constants.numbers, numbers.size());
    EXPECT_EQ(proof->constants.clipped, beyond);
    EXPECT_EQ(beyond > 0, *clip != 0);
  }
}

/// Inputs of a proof go further than those that ranges were taken of.
TEST(ProveFiles, WhatSaturatesIsCounted) {
  for (const char *scheme : {"int8", "int16x8", "float16"}) {
    SCOPED_TRACE(scheme);
    Files files;
    ASSERT_TRUE(files.makeOfText("subgraph @main(%x: f32[1,400]) -> (%y) {\n  %y: f32[1,400] = ADD(%x, %x)\n}\n",
                                 std::string("--scheme=") + scheme));
    auto proof = files.prove(files.related());
    ASSERT_TRUE(bool(proof)) << llvm::toString(proof.takeError());
    EXPECT_STREQ(proof->verdict(), "equal");
    const bool isInteger = llvm::StringRef(scheme) != "float16";
    EXPECT_EQ(proof->graph.stored, isInteger ? 2u * 2 * 400 : 0u); // of two tensors in two runs
    EXPECT_EQ(proof->graph.clipped > 0, isInteger);
    EXPECT_LT(proof->graph.clipped, isInteger ? proof->graph.stored : 1);
  }
}

/// Zeros of many biases are the same bytes, each with a scale of its own.
TEST(ProveFiles, EqualBytesHaveAsManyScalesAsTheyHave) {
  constexpr int layers = 20;
  std::string text = "  %b: f32[72] = const splat 0\n", outputs;
  for (int i = 0; i < layers; ++i) {
    std::string n = std::to_string(i);
    text += "  %c" + n + ": f32[72] = const seed " + std::to_string(i + 100) + " uniform 0.5 2\n  %w" + n +
            ": f32[72,4] = const seed " + n + " normal 0 0.3\n  %f" + n + ": f32[1,72] = FULLY_CONNECTED(%x, %w" + n +
            ", %b)\n  %y" + n + ": f32[1,72] = MUL(%f" + n + ", %c" + n + ")\n";
    outputs += (i ? ", %y" : "%y") + n;
  }
  Files files;
  ASSERT_TRUE(
      files.makeOfText("subgraph @main(%x: f32[1,4]) -> (" + outputs + ") {\n" + text + "}\n", "--scheme=int8"));
  auto proof = files.prove(files.related());
  ASSERT_TRUE(bool(proof)) << llvm::toString(proof.takeError());
  EXPECT_STREQ(proof->verdict(), "equal");
  EXPECT_TRUE(proof->constants.untold.empty());
}

/// Two constants that are multiples of one are the same integers with other scales, and each is what its own map says.
TEST(ProveFiles, EqualBytesMeanOtherNumbersWithOtherScales) {
  for (const char *scheme : {"int8", "int16x8"}) {
    SCOPED_TRACE(scheme);
    Files files;
    ASSERT_TRUE(files.makeOfText(R"(subgraph @main(%x: f32[1,160], %u: f32[1,160]) -> (%y, %z) {
  %c: f32[1,160] = const seed 1 normal 0 1
  %half: f32[1,160] = const seed 2 uniform 0.5 0.5
  %eighth: f32[1,160] = const seed 3 uniform 0.125 0.125
  %a: f32[1,160] = MUL(%x, %c)
  %y: f32[1,160] = MUL(%a, %half)
  %b: f32[1,160] = MUL(%u, %c)
  %z: f32[1,160] = MUL(%b, %eighth)
}
)",
                                 std::string("--scheme=") + scheme));
    auto proof = files.prove(files.related());
    ASSERT_TRUE(bool(proof)) << llvm::toString(proof.takeError());
    EXPECT_STREQ(proof->verdict(), "equal") << llvm::join(proof->different, "; ");
    EXPECT_EQ(proof->constants.rounded, 2u);
  }
}

/// What is right and was told to be wrong, or not to be understood.
TEST(ProveFiles, WhatIsStoredInUnusualWays) {
  const struct {
    const char *what, *text, *quantizer, *verdict;
  } cases[] = {
      {"integers of the source that became floats", R"(subgraph @main(%x: f32[1,4]) -> (%c) {
  %q: i8[3,4] q{scale=0.008, zero_point=0} = const [64, -114, 38, 13, 25, 25, -89, 114, -13, 51, 76, -38]
  %w: f32[3,4] = DEQUANTIZE(%q)
  %b: f32[3] = const [0.1, 0.2, 0.3]
  %c: f32[1,3] = FULLY_CONNECTED(%x, %w, %b)
}
)",
       "", "equal"},
      {"a constant that a shuffle of channels was merged into", R"(subgraph @main(%x: f32[1?,4,4,6]) -> (%y, %z) {
  %s: i32[5] = const [-1,4,4,2,3]
  %a: f32[1?,4,4,2,3] = RESHAPE(%x, %s)
  %p: i32[5] = const [0,1,2,4,3]
  %b: f32[1?,4,4,3,2] = TRANSPOSE(%a, %p)
  %t: i32[4] = const [-1,4,4,6]
  %y: f32[1?,4,4,6] = RESHAPE(%b, %t)
  %w: f32[5,1,1,6] = const seed 4 normal 0 1
  %bias: f32[5] = const [0,0,0,0,1]
  %z: f32[1?,4,4,5] = CONV_2D(%y, %w, %bias) {stride_w=1, stride_h=1}
}
)",
       "", "undecided"},
      {"floats with scales", R"(subgraph @main(%x: f32[1,4]) -> (%y) {
  %s: f32[4] q{scale=0.5, zero_point=0} = const [0.5, 2, 1, 3]
  %y: f32[1,4] = MUL(%x, %s)
}
)",
       "", "equal"},
      {"FAKE_QUANT that became the scales of integers", R"(subgraph @main(%x: f32[1,4]) -> (%y) {
  %a: f32[1,4] = FAKE_QUANT(%x) {min=-1.0, max=1.0, num_bits=8}
  %w: f32[3,4] = const [0.5,-0.9,0.3,0.1, 0.2,0.2,-0.7,0.9, -0.1,0.4,0.6,-0.3]
  %q: f32[3,4] = FAKE_QUANT(%w) {min=-1.0, max=1.0, num_bits=8, narrow_range=true}
  %b: f32[3] = const [0.1,0.2,0.3]
  %c: f32[1,3] = FULLY_CONNECTED(%a, %q, %b)
  %y: f32[1,3] = FAKE_QUANT(%c) {min=0.5, max=2.0, num_bits=8}
}
)",
       "--scheme=int8", "equal"},
  };
  for (const auto &one : cases) {
    SCOPED_TRACE(one.what);
    Files files;
    ASSERT_TRUE(files.makeOfText(one.text, one.quantizer));
    auto proof = files.prove(files.related());
    ASSERT_TRUE(bool(proof)) << llvm::toString(proof.takeError());
    EXPECT_STREQ(proof->verdict(), one.verdict) << llvm::join(proof->constants.wrong, "; ");
  }
}

TEST(ProveFiles, OwnNetworks) {
  unsigned equal = 0;
  for (const char *name : {"mobilenet_v1", "mobilenet_v2", "resnet_preact", "transformer", "while"}) {
    SCOPED_TRACE(name);
    Files files;
    ASSERT_TRUE(files.make(std::string(ORIGO_SOURCE_DIR "/res/") + name + ".origo"));
    auto proof = files.prove(files.related());
    ASSERT_TRUE(bool(proof)) << llvm::toString(proof.takeError());
    EXPECT_STREQ(proof->verdict(), "equal");
    equal += proof->constants.computed > 0;
  }
  EXPECT_EQ(equal, 5u) << "nothing was folded";
}

/// Sparse constants that stay so are what they are unpacked to.
TEST(ProveFiles, SparseConstants) {
  Files files;
  const std::string source = std::string(ORIGO_BIN_DIR) + "/../networks/sparse_f16w.tflite",
                    made = files.scratch.at("sparse.tflite");
  ASSERT_EQ(run(bin + "circle2circle " + source + " " + made), 0);
  EXPECT_EQ(run(bin + "origin-dump --prove " + source + " " + made), 0);
}

/// The map may lie beside the model; without one nothing is proved.
TEST(ProveFiles, WithTheMapBesideTheModel) {
  Files files;
  ASSERT_TRUE(files.makeOfText(folds));
  std::string beside = files.scratch.at("beside.circle"), dump = bin + "origin-dump --prove " + files.source + " ";
  ASSERT_EQ(run(bin + "circle2circle -O1 --embed-origin=none " + files.source + " " + beside), 0);
  EXPECT_EQ(run(dump + beside), 0);
  ASSERT_EQ(run("mv " + beside + ".origin.json " + files.scratch.at("map.json")), 0);
  EXPECT_NE(run(dump + beside), 0);
  EXPECT_EQ(run(dump + beside + " --origin-map=" + files.scratch.at("map.json")), 0);
}

/// What rewrites have taken a number for is in the map, inside of the model or beside it, and stays there in later
/// runs.
TEST(ProveFiles, WhatNumbersWereTakenForIsToldByTheMap) {
  Files files;
  ASSERT_TRUE(files.makeOfText(R"(subgraph @main(%x: f32[1,6]) -> (%y) {
  %three: f32[] = const [3]
  %sixth: f32[] = const [0.16666667]
  %a: f32[1,6] = ADD(%x, %three)
  %b: f32[1,6] = RELU6(%a)
  %c: f32[1,6] = MUL(%x, %b)
  %y: f32[1,6] = MUL(%c, %sixth)
}
)"));
  const std::string first = files.result, beside = files.scratch.at("beside.circle");
  ASSERT_EQ(run(bin + "circle2circle -O1 --embed-origin=none " + first + " " + beside), 0);
  EXPECT_EQ(run(bin + "origin-dump --prove " + files.source + " " + beside), 0);
  auto told = files.prove(files.related());
  ASSERT_TRUE(bool(told)) << llvm::toString(told.takeError());
  EXPECT_STREQ(told->verdict(), "equal");
  EXPECT_EQ(told->graph.assumptions, std::vector<std::string>{"0.166666672 is 1 / 6 (recognise-hard-swish)"});
  // Without it, a rounded sixth is none.
  Related related = files.related();
  related.result.model->expressions = nullptr;
  auto proof = files.prove(std::move(related));
  ASSERT_TRUE(bool(proof)) << llvm::toString(proof.takeError());
  EXPECT_STREQ(proof->verdict(), "unequal");
}

/// What one run has made of a constant the next one goes on with.
TEST(ProveFiles, ThroughSeveralRuns) {
  Files files;
  ASSERT_TRUE(files.makeOfText(folds));
  std::string before = files.scratch.at("net.origo"), last = before;
  unsigned run_ = 0;
  for (const char *passes :
       {"fold-constants", "fuse-shift-into-linear", "fuse-scale-into-linear", "fuse-shift-into-linear"}) {
    std::string next = files.scratch.at("run" + std::to_string(run_++) + ".circle");
    ASSERT_EQ(run(bin + "circle2circle --passes=" + passes + " " + last + " " + next), 0) << passes;
    last = next;
  }
  files.result = last;
  auto proof = files.prove(files.related());
  ASSERT_TRUE(bool(proof)) << llvm::toString(proof.takeError());
  EXPECT_STREQ(proof->verdict(), "equal");
  EXPECT_EQ(proof->constants.computed, 2u);
}

/// Of a source that does not clip what its result clips.
TEST(ProveFiles, WhatIsWrongIsNamed) {
  Files files;
  ASSERT_TRUE(files.makeOfText(folds));
  Related related = files.related();
  for (Operator &op : related.source.model->subgraphs.front()->operators)
    if (op.code == BuiltinOperator::RELU6)
      op.code = BuiltinOperator::RELU;
  auto proof = files.prove(std::move(related));
  ASSERT_TRUE(bool(proof)) << llvm::toString(proof.takeError());
  EXPECT_STREQ(proof->verdict(), "unequal");
  EXPECT_FALSE(proof->different.empty());
}

TEST(Expressions, OfMapsOfOthers) {
  for (const char *text : {
           "",
           "(",
           "() -> () {",
           "(%1: f32) -> (%1) {",
           "(%1: f32) -> (%c) {\n%c: f32[2] = NOTHING(%1)",
           "(%1: f32) -> (%c) {\n%c: f32[2] = ADD(%1, %2)",
           "(%1: f32) -> (%c) {\n}\nsubgraph @d() -> () {",
           "(%1: f32) -> (%c, %c) {\n%c: f32[2] = NEG(%1)",
           "(%1: f32) -> (%c) {\n%c: f32[2] = const file \"/etc/passwd\"",
       }) {
    auto graph = parseExpression(text);
    if (graph)
      EXPECT_EQ((*graph)->subgraphs.size(), 1u) << text;
    else
      EXPECT_NE(llvm::toString(graph.takeError()).find("expression"), std::string::npos) << text;
  }
  // A map that says something else of a constant, or something that nobody would compute, is no proof.
  for (const char *text : {
           "(%1: f32) -> (%c) {\n%c: f32[4,3,3,3] = NEG(%1)",
           "(%9999: f32) -> (%c) {\n%c: f32[4,3,3,3] = NEG(%9999)",
           "(%1: f32) -> (%c) {\n%s: i32[4] = const [1000, 1000, 1000, 1000]\n%c: f32[1000,1000,1000,1000] = "
           "BROADCAST_TO(%1, %s)",
           "(%0: f32) -> (%c) {\n%c: f32[4,3,3,3] = NEG(%0)",
       }) {
    Files files;
    ASSERT_TRUE(files.makeOfText(folds));
    Related related = files.related();
    for (Value *value : related.result.model->subgraphs.front()->values)
      if (value->isConstant() && value->rank() == 4)
        related.result.model->makeExpressions().add(*value, text);
    auto proof = files.prove(std::move(related));
    ASSERT_TRUE(bool(proof)) << llvm::toString(proof.takeError());
    EXPECT_STRNE(proof->verdict(), "equal") << text;
  }
}

} // namespace
