#include "import/Import.h"
#include "ir/text/Text.h"
#include "tests/RealModels.h"
#include "tests/SameModel.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include "gtest/gtest.h"

#include <cmath>
#include <random>

using namespace origo;
using llvm::StringRef;

namespace {

/// A directory that goes with the test.
struct Scratch {
  llvm::SmallString<128> path;
  Scratch() { llvm::sys::fs::createUniqueDirectory("origo-text", path); }
  ~Scratch() { llvm::sys::fs::remove_directories(path); }
  std::string file(StringRef name) const { return (path + "/" + name).str(); }
};

std::string print(Model &model, const PrintOptions &options = {}) {
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::cantFail(writeText(model, os, options));
  return text;
}

std::unique_ptr<Model> parse(StringRef text, StringRef directory = ".") {
  PayloadStore store;
  llvm::Expected<std::unique_ptr<Model>> model = parseText(text, directory, store);
  if (!model) {
    ADD_FAILURE() << llvm::toString(model.takeError()) << "\n" << text.str();
    return nullptr;
  }
  return std::move(*model);
}

std::string errorOf(StringRef text) {
  PayloadStore store;
  llvm::Expected<std::unique_ptr<Model>> model = parseText(text, ".", store);
  return model ? "no error" : llvm::toString(model.takeError());
}

/// The lines of a text that is printed as it stands.
void expectStable(StringRef text) {
  std::unique_ptr<Model> model = parse(text);
  ASSERT_TRUE(model);
  EXPECT_EQ(print(*model), text.str());
}

std::string graph(StringRef body, StringRef head = "") {
  return ("origo 1\nmodel circle version 0\n" + head + "subgraph @main(%x: f32[2]) -> (%x) {\n" + body + "}\n").str();
}

template <class T> std::vector<T> elements(const Model &model, StringRef name) {
  for (const Value *value : model.subgraphs[0]->values)
    if (value->name == name) {
      std::vector<T> items(value->payload().size() / sizeof(T));
      std::memcpy(items.data(), value->payload().bytes().data(), items.size() * sizeof(T));
      return items;
    }
  ADD_FAILURE() << "no tensor " << name.str();
  return {};
}

void everyModelSurvives(const test::ModelFolder &models, unsigned least) {
  Scratch scratch;
  unsigned good = 0, refused = 0;
  for (const std::string &file : models.all()) {
    SCOPED_TRACE(file);
    llvm::Expected<Imported> imported = importModel(file);
    if (!imported) {
      llvm::consumeError(imported.takeError());
      ++refused;
      continue;
    }
    PrintOptions options;
    options.dataFile = scratch.file("m.origo.bin");
    std::string text = print(*imported->model, options);
    std::unique_ptr<Model> back = parse(text, scratch.path);
    ASSERT_TRUE(back);
    ASSERT_EQ(test::difference(*imported->model, *back), "");
    ASSERT_EQ(print(*back, options), text);

    // Without data file and layout it is another model, but one that prints as the same text again.
    PrintOptions brief;
    brief.layout = false;
    brief.origins = true;
    back->becomeSource();
    std::unique_ptr<Model> again = parse(print(*back, brief), scratch.path);
    ASSERT_TRUE(again);
    brief.origins = false;
    ASSERT_EQ(print(*again, brief), print(*back, brief));
    ++good;
  }
  EXPECT_GE(good, least);
  EXPECT_LE(refused, 3u);
}

} // namespace

TEST(Text, EveryModelSurvives) { everyModelSurvives(test::ownNetworks(), 900); }
TEST(TextPublicModels, EveryModelSurvives) { everyModelSurvives(test::publicModels(), 650); }

TEST(Text, EverySpellingIsStable) {
  expectStable(R"(origo 1
model tflite version 3 description "all \"of\" it\n\x1b"
default ranked
opcodes [ADD, CUSTOM "Mine".v2, ADD.v3]
external_group "a.bin"
external_buffer 5 group 0 offset 18446744073709551615 length 4 packing "x"
subgraph @main(%x: f32[1?,4], %y: f32[1,4] sig[1,4] unranked, %x) -> (%s, %s) debug 3 {
  %w: f32[1,4] q{min=-1, max=1, scale=0.5, zero_point=3} = const [1, 2.5, nan, -inf]
  %#3: i8[2,3] q{scale=[0.5, 0.25], zero_point=[0, 0]} name "twice" = const #1 [1, -2, 3, -128, 127, 0]
  %#4: i8[2,3] name "twice" = const #1
  %v: f32[4] variable buffer own
  %unused: resource
  %"two words": i4[3] = const [-8, 7, 1]
  %e: str[2] = const ["a", "b\x00\xff"]
  %h: f16[2] q{custom=hex"0102"} external 5
  %s0: f32[1] sparse{traversal_order=[0], dim_metadata=[{format=SPARSE_CSR, dense_size=1, array_segments=Uint8Vector {values=hex"0001"}, array_indices=Int32Vector absent}]} = const hex"0000803f00"
  %va: variant compression HUFFMAN variants[f32[1,2] ranked, i32[]]
  %b: i4[4,2] q{blockwise={scales=%h, zero_points=raw -1, block_size=32}} = const [0, 1, 2, 3, 4, 5, 6, -7]
  %m: u8[2] q{mx=1} = const #1
  %n: u8[2] q{multi_axis={scales=raw 0, zero_points=%h, block_size=1, dimensions=[0, 1]}}
  %s: f32[1,4] = ADD.v3(x=%x, y=%w) {fused_activation_function=RELU}
  _, %c: f32[1] = CUSTOM "Mine".v2(%x, _, %y) custom hex"0107" custom_format 1 mutating [true, false] intermediates (%v, _) debug 7
  CUSTOM "Mine".v2() large_custom "large"
  order 1 0 2..16
}
signature "serve" @main inputs("a"=%x, "b"=%y) outputs("s"=%s)
metadata "min_runtime_version" "1.5.0\x00\x00"
metadata "one" #0
metadata "two" ""
metadata_buffers [#1, #0]
buffer = "spare"
buffer
buffer_order 0..2 4 3 5..11
archive "PK"
)");
  expectStable(R"(origo 1
model circle version 0
default no_buffers
subgraph @main(%x: f32[1,2,2,1], %b: bool[]) -> (%i) channels_first {
  %c: f32[1,2,2,1] = CONV_2D(input=%x, filter=%x, bias=_) {padding=VALID, stride_w=1, stride_h=1, dilation_w_factor=2}
  %d: f32[1,2,2,1] = CONV_2D(input=%c, filter=%x)
  %e: f32[1,2,2,1] = LEAKY_RELU(features=%d) {alpha=0.1}
  %f: f32[1,2,2,1] = builtin(1000).v-2(%e, _) Conv2DOptions {stride_w=3}
  %g: f32[1,2,2,1] = builtin(-99)(%f) options 200 options2 100
  %h: f32[1,2,2,1] = ADD(x=%g, y=%g) no_options
  %j: f32[1,2,2,1] = ADD(x=%h, y=%h) AddOptions absent
  %k: f32[1,2,2,1] = STABLEHLO_COMPOSITE(%j) {name="a b", decomposition_subgraph_index=@#1, composite_attributes=hex"ff00"}
  %i: f32[1,2,2,1] = IF(cond=%b, %k) {then_subgraph_index=@#1, else_subgraph_index=@"el se"}
}
subgraph @#1(%x: f32[1,2,2,1]) -> (%x) {
}
subgraph @"el se"(%x: f32[1,2,2,1]) -> (%x) {
}
)");
  expectStable(R"(origo 1
model circle version 0
default own_buffer
default ranked
subgraph @#0(%#0: f32 name "", %#1: i8[]) -> (%#0) name "same" {
}
subgraph @#1(%#0: f32 buffer none) -> () name "same" {
}
)");
}

TEST(Text, SpellingsOfHand) {
  // What is read and not printed in the same way.
  std::unique_ptr<Model> model = parse(graph(R"(
  %a: f32[4] = const [ 1, +2.50, // a comment
                       1e1, 0.5e0 ]   ; another
  %s: i8[2,2] = const splat -3; names may hold this sign, so a space comes before a comment behind one
  %r: f32[2] = ADD(y=%a, x=%x)
  %l: f32[2] = RELU(%r)
  %"l2": f32[2] = RELU(%l)
)"));
  ASSERT_TRUE(model);
  EXPECT_EQ(elements<float>(*model, "a"), (std::vector<float>{1, 2.5, 10, 0.5}));
  std::string text = print(*model);
  EXPECT_NE(text.find("%r: f32[2] = ADD(x=%x, y=%a)\n"), std::string::npos) << text;
  EXPECT_NE(text.find("%l2: f32[2] = RELU(features=%l)\n"), std::string::npos) << text;
}

TEST(Text, Numbers) {
  std::unique_ptr<Model> model = parse(graph(R"(
  %f: f32[6] = const [-0, 1e-45, nan(0x7F800001), -nan, 3.4028235e38, 0.1]
  %h: f16[4] = const [0.1, inf, 65504, nan(0x7c01)]
  %b: bf16[2] = const [1.5, -inf]
  %e: f8e4m3fn[2] = const [448, nan]
  %i: i64[2] = const [-9223372036854775808, 9223372036854775807]
  %u: u64[1] = const [18446744073709551615]
  %o: bool[3] = const [true, false, 2]
  %k: i2[5] = const [-2, 1, 0, -1, 1]
  %s: i8[2,2] = const splat -3
  %t: u4[3] = const splat 15
  %c: c64[2] = const splat 1 2
)"));
  ASSERT_TRUE(model);
  EXPECT_EQ(elements<uint32_t>(*model, "f"),
            (std::vector<uint32_t>{0x80000000, 1, 0x7F800001, 0xFFC00000, 0x7F7FFFFF, 0x3DCCCCCD}));
  EXPECT_EQ(elements<uint16_t>(*model, "h"), (std::vector<uint16_t>{0x2E66, 0x7C00, 0x7BFF, 0x7C01}));
  EXPECT_EQ(elements<uint16_t>(*model, "b"), (std::vector<uint16_t>{0x3FC0, 0xFF80}));
  EXPECT_EQ(elements<uint8_t>(*model, "e"), (std::vector<uint8_t>{0x7E, 0x7F}));
  EXPECT_EQ(elements<int64_t>(*model, "i"), (std::vector<int64_t>{INT64_MIN, INT64_MAX}));
  EXPECT_EQ(elements<uint64_t>(*model, "u"), (std::vector<uint64_t>{UINT64_MAX}));
  EXPECT_EQ(elements<uint8_t>(*model, "o"), (std::vector<uint8_t>{1, 0, 2}));
  EXPECT_EQ(elements<uint8_t>(*model, "k"), (std::vector<uint8_t>{0b11000110, 0b01}));
  EXPECT_EQ(elements<uint8_t>(*model, "s"), (std::vector<uint8_t>{253, 253, 253, 253}));
  EXPECT_EQ(elements<uint8_t>(*model, "t"), (std::vector<uint8_t>{0xFF, 0x0F}));
  EXPECT_EQ(elements<float>(*model, "c"), (std::vector<float>{1, 2, 1, 2}));
  std::string text = print(*model);
  EXPECT_EQ(print(*parse(text)), text);
  for (StringRef part : {"[-0, 1e-45, nan(0x7f800001), -nan, 3.4028235e+38, 0.1]", "[-2, 1, 0, -1, 1]", "splat 15",
                         "splat 1 2", "splat -3", "[448, nan]", "[true, false, 2]"})
    EXPECT_NE(text.find(part.str()), std::string::npos) << part.str() << "\n" << text;
}

TEST(Text, Seeds) {
  std::unique_ptr<Model> model = parse(graph(R"(
  %u: f64[2] = const seed 0 uniform 0 1
  %n: f32[10000] = const seed 7 normal 1 0.5
  %i: i8[10000] = const seed 3 uniform -128 127
  %j: i32[1000] = const seed 3 uniform 5 6
  %k: i8[1000] = const seed 3 normal 0 1000
)"));
  ASSERT_TRUE(model);
  // The first outputs of splitmix64 seeded with 0 are known.
  EXPECT_EQ(elements<double>(*model, "u"), (std::vector<double>{double(0xE220A8397B1DCDAFull >> 11) * 0x1p-53,
                                                                double(0x6E789E6AA1B965F4ull >> 11) * 0x1p-53}));
  double sum = 0, squares = 0;
  for (float x : elements<float>(*model, "n"))
    sum += x, squares += (x - 1) * (x - 1);
  EXPECT_NEAR(sum / 10000, 1, 0.02);
  EXPECT_NEAR(std::sqrt(squares / 10000), 0.5, 0.02);
  std::vector<int8_t> bytes = elements<int8_t>(*model, "i");
  EXPECT_EQ(*std::min_element(bytes.begin(), bytes.end()), -128);
  EXPECT_EQ(*std::max_element(bytes.begin(), bytes.end()), 127);
  for (int32_t x : elements<int32_t>(*model, "j"))
    EXPECT_TRUE(x == 5 || x == 6);
  std::vector<int8_t> clamped = elements<int8_t>(*model, "k");
  EXPECT_GT(std::count(clamped.begin(), clamped.end(), 127), 100);
  EXPECT_GT(std::count(clamped.begin(), clamped.end(), -128), 100);
}

TEST(Text, BigConstants) {
  Scratch scratch;
  std::unique_ptr<Model> model = parse(graph(R"(
  %s: f32[1000000] = const splat 1.5
  %n: f32[600000] = const seed 7 normal 0 1
  %m: i8[1000] = const seed 7 uniform 0 99
)"));
  ASSERT_TRUE(model);
  std::string text = print(*model);
  EXPECT_NE(text.find("%s: f32[1000000] = const splat 1.5\n"), std::string::npos) << text;
  EXPECT_NE(text.find("%m: i8[1000] = const digest \"xxh3:"), std::string::npos) << text;
  std::unique_ptr<Model> digests = parse(text);
  ASSERT_TRUE(digests);
  EXPECT_FALSE(digests->subgraphs[0]->values[2]->payload().hasBytes());
  EXPECT_EQ(print(*digests), text);

  PrintOptions options;
  options.dataFile = scratch.file("b.bin");
  text = print(*model, options);
  EXPECT_NE(text.find("%m: i8[1000] = const file \"b.bin\" offset 2400000\n"), std::string::npos) << text;
  std::unique_ptr<Model> back = parse(text, scratch.path);
  ASSERT_TRUE(back);
  EXPECT_EQ(test::difference(*model, *back), "");
  // The file may be written anew while the model's constants lie in it.
  EXPECT_EQ(print(*back, options), text);
  EXPECT_EQ(test::difference(*model, *back), "");

  options.dataFile = scratch.file("none/b.bin");
  std::string ignored;
  llvm::raw_string_ostream os(ignored);
  llvm::Error error = writeText(*model, os, options);
  EXPECT_TRUE(bool(error));
  llvm::consumeError(std::move(error));
}

TEST(Text, ManySmallSplats) {
  // More than may stay in memory: the rest is spilled, and each has its own bytes still.
  std::string body;
  for (int i = 0; i < 100; ++i)
    body += "%c" + std::to_string(i) + ": i32[200001] = const splat " + std::to_string(i) + "\n";
  std::unique_ptr<Model> model = parse(graph(body));
  ASSERT_TRUE(model);
  unsigned mapped = 0;
  for (int i = 0; i < 100; ++i) {
    const Value &value = *model->subgraphs[0]->values[i + 1];
    std::vector<int32_t> items = elements<int32_t>(*model, value.name);
    EXPECT_EQ(items, std::vector<int32_t>(200001, i));
    mapped += value.payload().file() != nullptr;
  }
  EXPECT_GT(mapped, 50u);
}

TEST(Text, Errors) {
  struct Case {
    std::string text;
    const char *error;
  };
  const Case cases[] = {
      {"", "line 1, column 1: expected 'origo', found the end of the text"},
      {"origo 2\n", "line 1, column 7: expected the version 1 of the text form, found '2'"},
      {"origo 1\nmodel onnx\n", "line 2, column 7: expected 'circle' or 'tflite', found 'onnx'"},
      {"origo 1\nmodel circle\n", "line 3, column 1: the model has no subgraph"},
      {graph("%a f32[1]\n"), "line 4, column 4: expected ':', found 'f32'"},
      {graph("%a: f33[1]\n"), "line 4, column 5: expected a tensor type, found 'f33'"},
      {graph("%a: f32[1] = const [1, 2]\n"), "line 4, column 20: expected 1 elements, found 2"},
      {graph("%a: f32[1] = const [\"x\"]\n"), "line 4, column 21: expected a number, found a string"},
      {graph("%a: i8[1] = const [128]\n"), "line 4, column 20: an integer is out of range: 128"},
      {graph("%a: f32[2] = const hex\"00\"\n"), "line 4, column 1: shape and type need 8 bytes, but there are 1"},
      {graph("%a: f32[1] = const hex\"0g\"\n"), "line 4, column 25: expected a hex digit"},
      {graph("%a: f32[1]\n%a: f32[1]\n"), "line 5, column 1: this tensor is declared already"},
      {graph("%r: f32[2] = ADD(x=%x, y=%nowhere)\n"), "line 4, column 26: this tensor is declared nowhere"},
      {graph("%r: f32[2] = AD(x=%x)\n"), "line 4, column 14: there is no operator 'AD'"},
      {graph("%r: f32[2] = ADD(x=%x, z=%x)\n"), "line 4, column 24: ADD has no operand 'z'"},
      {graph("%r: f32[2] = ADD(x=%x, x=%x)\n"), "line 4, column 24: the operand is given twice"},
      {graph("%r: f32[2] = ADD(x=%x)\n"), "line 4, column 14: ADD cannot have 1 operands"},
      {graph("%r: f32[2] = ADD(x=%x, y=%x) {alpha=1}\n"), "line 4, column 31: AddOptions has no field 'alpha'"},
      {graph("%r: f32[2] = ADD(x=%x, y=%x) Conv2DOptions {}\n"),
       "line 4, column 30: Conv2DOptions belong to another operator than ADD"},
      {graph("%r: f32[2] = ADD(x=%x, y=%x) {fused_activation_function=SWISH}\n"),
       "line 4, column 57: ActivationFunctionType has no enumerator 'SWISH'"},
      {graph("%r: f32[2] = RELU(features=%s)\n%s: f32[2] = RELU(features=%r)\n"),
       "line 5, column 1: operators have to be in execution order, but this result is an operand above"},
      {graph("%r: f32[2] = RELU(features=%r)\n"), "line 4, column 14: the operator has its own result as an operand"},
      {graph("order 1 0\n"), "line 4, column 1: the order names 2 of 1 tensors"},
      {graph("%a: f32[1] = const file \"../a\" offset 0\n"),
       "line 4, column 25: expected the name of a file in the directory of the text"},
      {graph("%a: f32[1] = const \"\\q\"\n"),
       "line 4, column 20: the string has an escape that is none of \\\\ \\\" \\n \\t \\xNN"},
      {graph("%a: f32[1] = const \"x\n"), "line 4, column 20: the string does not end in its line"},
      {graph("%a: f32[1] = const #3\n"), "line 4, column 1: the bytes of #3 are given nowhere"},
      {graph("%a: i8[2000000000,2000000000,2] = const splat 0\n"),
       "line 4, column 7: the shape has more elements than can be counted"},
      {graph("%a: i8[2000000000,100] = const splat 0\n"), "line 4, column 32: splats and seeds stand for more than 262 "
                                                          "MB, the most that a text of this length may ask for; set "
                                                          "ORIGO_TEXT_LIMIT to a number of bytes"},
      {graph("%a: f32[2] q{scale=[1, 2, 3]}\n"), "line 4, column 13: there are 3 scales for 2 channels"},
      {graph("%r: f32[2] = CALL(%x) {subgraph=@main}\n"),
       "line 6, column 1: a subgraph calls itself, directly or through others"},
      {graph("%r: f32[2] = CALL(%x) {subgraph=7}\n"),
       "line 4, column 14: the operator calls a subgraph that does not exist"},
      {graph("%a: f32[1] ?\n"), "line 4, column 12: expected the end of the line, found '?'"},
      {graph("%a: f32[1] = const [1] $\n"), "line 4, column 24: there is a character that has no meaning here"},
      {"origo 1\nmodel circle\nsubgraph @main() -> () {\n",
       "line 4, column 1: expected '}', found the end of the text"},
  };
  for (const Case &test : cases)
    EXPECT_EQ(errorOf(test.text), test.error) << test.text;
}

TEST(Text, OperatorsForDiagnostics) {
  std::unique_ptr<Model> model =
      parse(graph("%r: f32[2] q{scale=1} = ADD(x=%x, y=%x) {fused_activation_function=RELU}\n"));
  ASSERT_TRUE(model);
  std::string text;
  llvm::raw_string_ostream os(text);
  printOperator(model->subgraphs[0]->operators.front(), os);
  EXPECT_EQ(text, "%r: f32[2] = ADD(x=%x, y=%x) {fused_activation_function=RELU}");
}

TEST(Text, DamagedTextsEndInAnError) {
  std::unique_ptr<Model> model = parse(graph(R"(
  %w: f32[1,4] q{min=-1, max=1, scale=0.5, zero_point=3} = const [1, 2.5, nan, -inf]
  %v: i8[4] variable sparse{traversal_order=[0], dim_metadata=[{format=SPARSE_CSR, array_segments=Uint8Vector {values=hex"0001"}}]}
  %s: i4[3] q{blockwise={scales=%w, zero_points=_, block_size=32}} = const splat 3
  %n: f32[2] = const seed 1 normal 0 1
  %r: f32[2] = ADD(x=%x, y=%n) {fused_activation_function=RELU}
  _, %c: f32[1] = CUSTOM "Mine".v2(%x, _, %r) custom hex"0107" mutating [true] intermediates (%v)
  %d: f32[2] = CALL(%c) {subgraph=@f}
)") + "subgraph @f(%x: f32[2]) -> (%x) {\n}\nsignature \"a\" @f inputs(\"x\"=%x) outputs()\nmetadata \"m\" \"x\"\n");
  ASSERT_TRUE(model);
  const std::string text = print(*model);
  std::mt19937 random(1);
  const StringRef inserts[] = {"(",  ")",          "[",  "]",  "{", "}", "\n", "%x",
                               "@f", "9999999999", "-1", "\"", ",", "=", "#1", ".."};
  unsigned errors = 0, accepted = 0;
  for (int round = 0; round < 20000; ++round) {
    std::string damaged = text;
    for (unsigned cuts = 1 + random() % 3; cuts; --cuts) {
      size_t at = random() % damaged.size();
      if (random() % 2)
        damaged.erase(at, 1 + random() % 8);
      else
        damaged.insert(at, inserts[random() % std::size(inserts)]);
    }
    PayloadStore store;
    llvm::Expected<std::unique_ptr<Model>> result = parseText(damaged, ".", store);
    if (!result) {
      ASSERT_TRUE(StringRef(llvm::toString(result.takeError())).starts_with("line "));
      ++errors;
      continue;
    }
    // What is accepted has a text of its own that is stable.
    std::string printed = print(**result);
    ASSERT_EQ(print(*parse(printed)), printed) << damaged;
    ++accepted;
  }
  EXPECT_GT(errors, 10000u);
  EXPECT_GT(accepted, 100u);
}
