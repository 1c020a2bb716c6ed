#include "eval/fast/VectorMath.h"
#include "tests/Engines.h"

#include "llvm/ADT/StringExtras.h"

using namespace origo;
using namespace origo::test;
using eval::exponential;

/// Operators of Engine::Fast one by one, in forms that no model of the shared folder has.

namespace {

/// A subgraph of one operator.
struct OperatorCase {
  std::string inputs;    ///< "%x: f32[2,3]"; $T: each type
  std::string constants; ///< one a line
  std::string op;        ///< "%y: $T = TRANSPOSE(%x, %p)"
  size_t fast = 1;       ///< 0: left to the reference kernel
};

std::string replaced(std::string text, llvm::StringRef from, llvm::StringRef to) {
  for (size_t at = 0; (at = text.find(from.str(), at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to.str());
  return text;
}

/// Results are the names before '=' that a type follows.
std::string modelOf(const OperatorCase &c) {
  std::string results;
  llvm::SmallVector<llvm::StringRef> parts;
  llvm::StringRef(c.op).split(" = ").first.split(parts, '%');
  for (llvm::StringRef part : llvm::drop_begin(parts))
    results += (results.empty() ? "%" : ", %") + part.split(':').first.str();
  return "origo 1\nmodel circle version 0\nsubgraph @main(" + c.inputs + ") -> (" + results + ") {\n" + c.constants +
         "\n" + c.op + "\n}\n";
}

void agree(const OperatorCase &c, double most, unsigned threads = 1, double steps = 0) {
  auto model = parse(modelOf(c));
  ASSERT_TRUE(model) << modelOf(c);
  CompileOptions options = fastOptions();
  options.threads = threads;
  for (unsigned seed : inputSeeds()) {
    Difference difference = compare(*model, modelOf(c), seed, options);
    ASSERT_TRUE(difference.ran) << modelOf(c);
    EXPECT_EQ(difference.coverage.fast.size(), c.fast) << modelOf(c);
    EXPECT_LE(difference.floats, most) << modelOf(c);
    EXPECT_LE(difference.steps, steps) << modelOf(c);
  }
}

void agreeForAllSizes(const OperatorCase &c) {
  for (const char *type : {"i8", "i16", "f32", "f64"})
    for (unsigned threads : threadCounts())
      agree({replaced(c.inputs, "$T", type), replaced(c.constants, "$T", type), replaced(c.op, "$T", type), c.fast}, 0,
            threads);
}

TEST(FastOperators, Views) {
  for (const OperatorCase &c : std::vector<OperatorCase>{
           {"%x: $T[2,3,4]", "%p: i32[3] = const [2, 0, 1]", "%y: $T = TRANSPOSE(%x, %p)"},
           {"%x: $T[2,3,4]", "%p: i32[3] = const [0, -1, -2]", "%y: $T = TRANSPOSE(%x, %p)"},
           {"%x: $T[3,70,90]", "%p: i32[3] = const [0, 2, 1]", "%y: $T = TRANSPOSE(%x, %p)"},
           {"%x: $T[33,5,47]", "%p: i32[3] = const [2, 1, 0]", "%y: $T = TRANSPOSE(%x, %p)"},
           {"%x: $T[2,3,2,3,2,3,2]", "%p: i32[7] = const [6, 0, 5, 1, 4, 2, 3]", "%y: $T = TRANSPOSE(%x, %p)"},
           {"%x: $T[5,2,40]", "%p: i32[3] = const [0, 2, 1]", "%y: $T = TRANSPOSE(%x, %p)"},
           {"%x: $T[5,40,3]", "%p: i32[3] = const [0, 2, 1]", "%y: $T = TRANSPOSE(%x, %p)"},
           {"%x: $T[7,4,50]", "%p: i32[3] = const [2, 0, 1]", "%y: $T = TRANSPOSE(%x, %p)"},
           {"%x: $T[4,7,50]", "%p: i32[3] = const [1, 2, 0]", "%y: $T = TRANSPOSE(%x, %p)"},
           {"%x: $T[1,5,1]", "%p: i32[3] = const [2, 1, 0]", "%y: $T = TRANSPOSE(%x, %p)"},
           {"%x: $T[]", "%p: i32[0] = const []", "%y: $T[] = TRANSPOSE(%x, %p)", 0},
           {"%x: $T[0,5]", "%p: i32[2] = const [1, 0]", "%y: $T = TRANSPOSE(%x, %p)", 0},
           {"%x: $T[6,50,40]", "%b: i32[3] = const [1, 2, 3]\n%s: i32[3] = const [4, -1, 35]",
            "%y: $T = SLICE(%x, %b, %s)"},
           {"%x: $T[6,5,4], %b: i32[3]", "%s: i32[3] = const [5, 4, 3]", "%y: $T = SLICE(%x, %b, %s)"},
           {"%x: $T[9,50,40]",
            "%b: i32[3] = const [8, 3, -1]\n%e: i32[3] = const [0, 50, -40]\n%s: i32[3] = const [-2, 5, -3]",
            "%y: $T = STRIDED_SLICE(%x, %b, %e, %s)"},
           {"%x: $T[9,5,4]", "%b: i32[2] = const [-1, 0]\n%e: i32[2] = const [0, 0]\n%s: i32[2] = const [1, 1]",
            "%y: $T = STRIDED_SLICE(%x, %b, %e, %s) {shrink_axis_mask=1, ellipsis_mask=2}"},
           {"%x: $T[9,5]", "%b: i32[2] = const [0, 3]\n%e: i32[2] = const [0, 4]\n%s: i32[2] = const [1, 1]",
            "%y: $T = STRIDED_SLICE(%x, %b, %e, %s) {new_axis_mask=1}"},
           {"%x: $T[9,5], %b: i32[2]", "%e: i32[2] = const [9, 4]\n%s: i32[2] = const [2, 1]",
            "%y: $T = STRIDED_SLICE(%x, %b, %e, %s)"},
           {"%x: $T[2,3]", "%m: i32[2] = const [3, 2]", "%y: $T = TILE(%x, %m)"},
           {"%x: $T[20,30,3]", "%m: i32[3] = const [1, 4, 5]", "%y: $T = TILE(%x, %m)"},
           {"%x: $T[2,3,1,2,1]", "%m: i32[5] = const [2, 1, 3, 2, 4]", "%y: $T = TILE(%x, %m)"},
           {"%x: $T[3,1]", "%m: i32[4] = const [50, 2, 3, 40]", "%y: $T = BROADCAST_TO(%x, %m)"},
           {"%x: $T[]", "%m: i32[2] = const [3, 4]", "%y: $T = BROADCAST_TO(%x, %m)"},
           {"%x: $T[30,5,60]", "%a: i32[2] = const [0, -1]", "%y: $T = REVERSE_V2(%x, %a)"},
           {"%x: $T[2,6,4,3]", "", "%y: $T = SPACE_TO_DEPTH(%x) {block_size=2}"},
           {"%x: $T[2,30,20,27]", "", "%y: $T = DEPTH_TO_SPACE(%x) {block_size=3}"}})
    agreeForAllSizes(c);
}

/// Windows with a stride above their size leave out pixels, and SAME pads nothing there, or on one side only.
TEST(FastOperators, StridesAboveTheWindow) {
  const char *const q = " q{scale=0.5, zero_point=3}", *const plain = " q{scale=0.25, zero_point=0}";
  auto quantised = [&](llvm::StringRef type) { return type == "f32" ? std::string() : std::string(q); };
  for (const char *size : {"4,4", "5,5", "4,5", "7,8", "9,6"})
    for (llvm::StringRef type : {"f32", "i8", "u8"})
      for (const char *window : {"1,2", "1,1", "2,2"}) {
        std::string t = type.str(), weights = type == "f32" ? "f32" : t, bias = type == "f32" ? "f32" : "i32";
        std::string of = type == "f32" ? "" : type == "u8" ? q : plain;
        auto list = [&](int count) {
          std::string text;
          for (int i = 0; i < count; ++i)
            text += (i ? ", " : "") + std::to_string(i % 5 + 1);
          return text;
        };
        int area = window[0] == '2' ? 4 : window[2] - '0';
        std::string x = "%x: " + t + "[2," + size + ",2]" + quantised(type);
        std::string steps = " {padding=SAME, stride_w=3, stride_h=3";
        agree({x,
               "%w: " + weights + "[3," + window + ",2]" + of + " = const [" + list(3 * area * 2) + "]\n%b: " + bias +
                   "[3] = const [1, 2, 3]",
               "%y: " + t + quantised(type) + " = CONV_2D(%x, %w, %b)" + steps + "}"},
              1e-5, 1, 1); // which the engines may round in different ways
        agree({x,
               "%w: " + weights + "[1," + window + ",2]" + of + " = const [" + list(area * 2) + "]\n%b: " + bias +
                   "[2] = const [1, 2]",
               "%y: " + t + quantised(type) + " = DEPTHWISE_CONV_2D(%x, %w, %b)" + steps + ", depth_multiplier=1}"},
              1e-5, 1, 1);
        for (const char *pool : {"AVERAGE_POOL_2D", "MAX_POOL_2D"})
          agree({x, "",
                 "%y: " + t + quantised(type) + " = " + pool + "(%x)" + steps + ", filter_height=" + window[0] +
                     ", filter_width=" + window[2] + "}"},
                1e-5);
      }
}

TEST(FastOperators, Padding) {
  for (const OperatorCase &c : std::vector<OperatorCase>{
           {"%x: $T[4,5]", "%p: i32[2,2] = const [3, 2, 1, 4]", "%y: $T = MIRROR_PAD(%x, %p) {mode=REFLECT}"},
           {"%x: $T[4,5]", "%p: i32[2,2] = const [4, 0, 5, 5]", "%y: $T = MIRROR_PAD(%x, %p) {mode=SYMMETRIC}"},
           {"%x: $T[2,40,30,3]", "%p: i64[4,2] = const [0, 0, 20, 3, 1, 29, 0, 0]",
            "%y: $T = MIRROR_PAD(%x, %p) {mode=REFLECT}"},
           {"%x: $T[2,3,2,3,2]", "%p: i32[5,2] = const [1, 1, 2, 1, 0, 1, 2, 2, 1, 0]",
            "%y: $T = MIRROR_PAD(%x, %p) {mode=REFLECT}"},
           {"%x: $T[1,3]", "%p: i32[2,2] = const [0, 0, 0, 0]", "%y: $T = MIRROR_PAD(%x, %p) {mode=REFLECT}"},
           {"%x: $T[]", "%p: i32[0,2] = const []", "%y: $T[] = MIRROR_PAD(%x, %p) {mode=REFLECT}", 0},
           {"%x: $T[4,5], %p: i32[2,2]", "", "%y: $T = MIRROR_PAD(%x, %p) {mode=SYMMETRIC}"},
           {"%x: $T[4,5], %p: i32[2,2]", "", "%y: $T = PAD(%x, %p)"},
           {"%x: $T[4,5]", "%p: i32[2,2] = const [3, 2, 1, 4]", "%y: $T = PAD(%x, %p)"},
           {"%x: $T[1,50,40,3]", "%p: i64[4,2] = const [1, 0, 0, 3, 2, 0, 0, 1]", "%y: $T = PAD(%x, %p)"},
           {"%x: $T[1,2,1,2,1,2,1]", "%p: i32[7,2] = const [1, 0, 0, 1, 2, 0, 0, 0, 0, 0, 1, 1, 1, 2]",
            "%y: $T = PAD(%x, %p)"},
           {"%x: $T[3,4]", "%p: i32[2,2] = const [0, 0, 0, 0]", "%y: $T = PAD(%x, %p)"},
           {"%x: $T[3,4]", "%p: i32[2,2] = const [1, 2, 3, 0]\n%v: $T[1] = const [7]", "%y: $T = PADV2(%x, %p, %v)"},
           {"%x: $T[0,4]", "%p: i32[2,2] = const [1, 2, 3, 0]\n%v: $T[1] = const [7]", "%y: $T = PADV2(%x, %p, %v)",
            0}})
    agreeForAllSizes(c);
  agree({"%x: i8[3,4] q{scale=0.5, zero_point=-3}", "%p: i32[2,2] = const [1, 2, 3, 0]",
         "%y: i8 q{scale=0.5, zero_point=-3} = PAD(%x, %p)"},
        0);
}

TEST(FastOperators, PartsAndWholes) {
  for (const OperatorCase &c : std::vector<OperatorCase>{
           {"%a: $T[2,3], %b: $T[2,1], %c: $T[2,5]", "", "%y: $T = CONCATENATION(%a, %b, %c) {axis=-1}"},
           {"%a: $T[200,3,2], %b: $T[200,30,2]", "", "%y: $T = CONCATENATION(%a, %b) {axis=1}"},
           {"%a: $T[3], %b: $T[4]", "", "%y: $T = CONCATENATION(%a, %b)"},
           {"%a: $T[3], %b: $T[0]", "", "%y: $T = CONCATENATION(%a, %b)", 0},
           {"%a: $T[7,300], %b: $T[7,300], %c: $T[7,300]", "", "%y: $T = PACK(%a, %b, %c) {values_count=3, axis=2}"},
           {"%a: $T[], %b: $T[]", "", "%y: $T = PACK(%a, %b) {values_count=2}"},
           {"%a: $T[2,3], %b: $T[2,3]", "", "%y: $T = PACK(%a, %b) {values_count=2, axis=-2}"},
           {"%x: $T[5,3,60]", "", "%a: $T, %b: $T, %c: $T = UNPACK(%x) {num=3, axis=1}"},
           {"%x: $T[2]", "", "%a: $T, %b: $T = UNPACK(%x) {num=2, axis=-1}"},
           {"%x: $T[700,6]", "%d: i32[] = const [-1]", "%a: $T, %b: $T, %c: $T = SPLIT(%d, %x) {num_splits=3}"},
           {"%x: $T[4,6], %d: i32[]", "", "%a: $T, %b: $T = SPLIT(%d, %x) {num_splits=2}", 0},
           {"%x: $T[5,9]", "%s: i32[3] = const [4, -1, 2]\n%d: i32[] = const [1]",
            "%a: $T, %b: $T, %c: $T = SPLIT_V(%x, %s, %d) {num_splits=3}"}})
    agreeForAllSizes(c);
  // Parts of another scale are computed.
  agree({"%a: u8[2] q{scale=0.5, zero_point=3}, %b: u8[2] q{scale=0.25, zero_point=0}", "",
         "%y: u8 q{scale=0.5, zero_point=3} = CONCATENATION(%a, %b)", 0},
        0);
  agree({"%a: u8[2] q{scale=0.5, zero_point=3}, %b: u8[2] q{scale=0.5, zero_point=5}", "",
         "%y: u8 q{scale=0.5, zero_point=3} = CONCATENATION(%a, %b)", 0},
        0);
}

TEST(FastOperators, BlocksOfPictures) {
  for (const OperatorCase &c : std::vector<OperatorCase>{
           {"%x: $T[2,5,7,3]", "%b: i32[2] = const [2, 3]\n%m: i32[2,2] = const [1, 2, 0, 2]",
            "%y: $T = SPACE_TO_BATCH_ND(%x, %b, %m)"},
           {"%x: $T[1,40,50,8]", "%b: i32[2] = const [4, 1]\n%m: i32[2,2] = const [4, 0, 0, 0]",
            "%y: $T = SPACE_TO_BATCH_ND(%x, %b, %m)"},
           {"%x: $T[3,2]", "%b: i32[1] = const [5]\n%m: i32[1,2] = const [7, 6]",
            "%y: $T = SPACE_TO_BATCH_ND(%x, %b, %m)"},
           {"%x: $T[12,3,4,3]", "%b: i32[2] = const [2, 3]\n%m: i32[2,2] = const [1, 2, 4, 3]",
            "%y: $T = BATCH_TO_SPACE_ND(%x, %b, %m)"},
           {"%x: $T[4,20,25,8]", "%b: i32[2] = const [2, 2]\n%m: i32[2,2] = const [0, 0, 0, 0]",
            "%y: $T = BATCH_TO_SPACE_ND(%x, %b, %m)"},
           {"%x: $T[4,6,7,3], %m: i32[2,2]", "%b: i32[2] = const [1, 1]", "%y: $T = BATCH_TO_SPACE_ND(%x, %b, %m)"},
           {"%x: $T[4,6,7,3], %m: i32[2,2]", "%b: i32[2] = const [1, 1]", "%y: $T = SPACE_TO_BATCH_ND(%x, %b, %m)"},
           {"%x: $T[2,0,4,3]", "%b: i32[2] = const [1, 2]\n%m: i32[2,2] = const [0, 0, 0, 0]",
            "%y: $T = SPACE_TO_BATCH_ND(%x, %b, %m)", 0}})
    agreeForAllSizes(c);
  agree({"%x: i8[1,3,2,1] q{scale=0.5, zero_point=-3}", "%b: i32[2] = const [2, 2]\n%m: i32[2,2] = const [1, 0, 1, 1]",
         "%y: i8 q{scale=0.5, zero_point=-3} = SPACE_TO_BATCH_ND(%x, %b, %m)"},
        0);
}

TEST(FastOperators, Gathering) {
  for (const char *type : {"i32", "i64", "i16"})
    for (const OperatorCase &c : std::vector<OperatorCase>{
             {"%x: $T[4,5,3]", "%i: $I[2,3] = const [1, 0, 3, 3, 2, 1]", "%y: $T = GATHER(%x, %i)"},
             {"%x: $T[4,5,3]", "%i: $I[] = const [4]", "%y: $T = GATHER(%x, %i) {axis=-2}"},
             {"%x: $T[2,3,9,3], %i: $I[2,100]", "", "%y: $T = GATHER(%x, %i) {axis=2, batch_dims=1}"},
             {"%x: $T[300], %i: $I[70,80]", "", "%y: $T = GATHER(%x, %i)"},
             {"%x: $T[4,5,3]", "%i: $I[2,2] = const [3, 4, 0, 1]", "%y: $T = GATHER_ND(%x, %i)"},
             {"%x: $T[4,5,3], %i: $I[2,7,3]", "", "%y: $T = GATHER_ND(%x, %i)"},
             {"%x: $T[4,5,3]", "%i: $I[1] = const [2]", "%y: $T = GATHER_ND(%x, %i)"}})
      agreeForAllSizes({replaced(c.inputs, "$I", type), replaced(c.constants, "$I", type), c.op});
}

/// What a slice begins at is computed, and decides on the shape of the result.
TEST(FastOperators, AViewFollowsItsNumbers) {
  auto model = parse(modelOf({"%x: f32[9], %b: i32[1]", "%e: i32[1] = const [9]\n%s: i32[1] = const [3]",
                              "%y: f32 = STRIDED_SLICE(%x, %b, %e, %s)"}));
  auto fast = compile(*model, fastOptions());
  ASSERT_TRUE(static_cast<bool>(fast));
  State state;
  RunOptions options;
  options.state = &state;
  std::vector<float> x = {0, 1, 2, 3, 4, 5, 6, 7, 8};
  for (int32_t begin : {0, 1, 4, 8, 3, 0}) {
    std::vector<float> expected;
    for (int32_t i = begin; i < 9; i += 3)
      expected.push_back(x[i]);
    EXPECT_EQ(runFloats(*fast, {floats({9}, x), tensor<int32_t>(TensorType::INT32, {1}, begin)}, options), expected);
  }
}

/// The same for others: numbers that make another shape of the result, after those that it was made for.
TEST(FastOperators, ResultsFollowComputedNumbers) {
  struct {
    const char *inputs, *constants, *op;
    Shape shape;
    std::vector<std::vector<int32_t>> numbers;
  } cases[] = {
      {"%x: f32[4,6], %n: i32[2,2]", "", "PAD(%x, %n)", {2, 2}, {{0, 1, 2, 0}, {1, 0, 2, 0}, {3, 0, 0, 1}}},
      {"%x: f32[4,6], %n: i32[2,2]",
       "",
       "MIRROR_PAD(%x, %n) {mode=REFLECT}",
       {2, 2},
       {{0, 1, 2, 0}, {1, 0, 2, 0}, {3, 0, 0, 1}}},
      {"%x: f32[4,6], %n: i32[1,2]",
       "%b: i32[1] = const [2]",
       "SPACE_TO_BATCH_ND(%x, %b, %n)",
       {1, 2},
       {{0, 0}, {2, 4}, {1, 1}}},
      {"%x: f32[4,6], %n: i32[1,2]",
       "%b: i32[1] = const [2]",
       "BATCH_TO_SPACE_ND(%x, %b, %n)",
       {1, 2},
       {{0, 0}, {2, 4}, {1, 1}}},
      {"%x: f32[4,6], %n: i32[2]", "%b: i32[2] = const [1, 2]", "SLICE(%x, %b, %n)", {2}, {{2, 2}, {3, 1}, {1, 4}}},
      {"%x: f32[4,6], %n: i32[2]", "", "TILE(%x, %n)", {2}, {{2, 2}, {1, 3}, {3, 1}}},
      {"%x: f32[4,6], %n: i32[3]", "", "BROADCAST_TO(%x, %n)", {3}, {{2, 4, 6}, {1, 4, 6}, {3, 4, 6}}},
      {"%x: f32[4,6], %n: i32[2]", "", "TRANSPOSE(%x, %n)", {2}, {{0, 1}, {1, 0}, {0, -1}}}};
  auto x = ramp(24);
  for (const auto &c : cases) {
    auto model = parse(modelOf({c.inputs, c.constants, std::string("%y: f32 = ") + c.op}));
    ASSERT_TRUE(model);
    auto reference = compile(*model), fast = compile(*model, fastOptions());
    ASSERT_TRUE(reference && fast);
    State state;
    RunOptions options;
    options.state = &state;
    size_t took = 0;
    for (const auto &numbers : c.numbers)
      for (int again = 0; again < 2; ++again) {
        std::vector<TensorRef> inputs = {floats({4, 6}, x), tensor<int32_t>(TensorType::INT32, c.shape, numbers)};
        auto expected = reference->run(inputs), actual = fast->run(inputs, options);
        ASSERT_TRUE(expected && actual) << c.op;
        EXPECT_EQ((*expected)[0].tensor.shape, (*actual)[0].tensor.shape) << c.op;
        EXPECT_EQ((*expected)[0].tensor.bytes, (*actual)[0].tensor.bytes) << c.op;
        took += fast->coverage().fast.size();
      }
    EXPECT_GE(took, 2u) << c.op;
  }
}

/// Both engines refuse it, in the same words.
TEST(FastOperators, IndicesOutOfRangeAreRefused) {
  for (const char *op : {"GATHER(%x, %i)", "GATHER_ND(%x, %i)"})
    for (const char *index : {"4", "-1"}) {
      auto model = parse(
          modelOf({"%x: f32[4,5]", std::string("%i: i32[1] = const [") + index + "]", std::string("%y: f32 = ") + op}));
      EXPECT_FALSE(compare(*model, op, 1).ran) << op << index;
    }
}

TEST(FastOperators, ResizeNearest) {
  for (const char *type : {"i8", "i16", "f32"})
    for (const char *options : {"", "align_corners=true", "half_pixel_centers=true"})
      for (const char *size : {"[40, 60]", "[7, 13]", "[1, 1]", "[20, 30]"})
        for (const char *shape : {"[2,20,30,5]", "[1,20,30,1]", "[1,1,3,4]"})
          agree({std::string("%x: ") + type + shape, std::string("%s: i32[2] = const ") + size,
                 std::string("%y: ") + type + " = RESIZE_NEAREST_NEIGHBOR(%x, %s) {" + options + "}"},
                0, 2);
}

TEST(FastOperators, ResizeNearestToAComputedSize) {
  auto model = parse(modelOf({"%x: f32[1,1,2,1], %s: i32[2]", "", "%y: f32 = RESIZE_NEAREST_NEIGHBOR(%x, %s)"}));
  auto fast = compile(*model, fastOptions());
  ASSERT_TRUE(static_cast<bool>(fast));
  State state;
  RunOptions options;
  options.state = &state;
  std::vector<float> x = {3, 4};
  for (int32_t times : {1, 2, 3, 3, 1}) {
    std::vector<float> expected(times, 3);
    expected.resize(times * 2, 4);
    std::vector<int32_t> size = {1, 2 * times};
    EXPECT_EQ(runFloats(*fast, {floats({1, 1, 2, 1}, x), tensor<int32_t>(TensorType::INT32, {2}, size)}, options),
              expected);
  }
}

TEST(FastOperators, Reductions) {
  for (const char *op : {"SUM", "MEAN", "REDUCE_PROD", "REDUCE_MAX", "REDUCE_MIN"})
    for (const char *keep : {"", "keep_dims=true"})
      for (auto [shape, axes] :
           std::vector<std::pair<const char *, const char *>>{{"[200,70]", "[1] = const [1]"},
                                                              {"[200,70]", "[1] = const [0]"},
                                                              {"[200,7]", "[1] = const [-1]"},
                                                              {"[3,40,90]", "[1] = const [1]"},
                                                              {"[9,300,21]", "[2] = const [0, 2]"},
                                                              {"[4,30,5,40]", "[2] = const [0, 2]"},
                                                              {"[4,30,5,40]", "[2] = const [1, -1]"},
                                                              {"[2,3,2,3,2]", "[2] = const [1, 3]"},
                                                              {"[70,9,11]", "[3] = const [0, 1, 2]"},
                                                              {"[1,6]", "[1] = const [0]"},
                                                              {"[5]", "[2] = const [0, 0]"},
                                                              {"[1,1]", "[1] = const [1]"},
                                                              {"[]", "[1] = const [0]"}})
        agree({std::string("%x: f32") + shape, std::string("%a: i32") + axes,
               std::string("%y: f32 = ") + op + "(%x, %a) {" + keep + "}"},
              1e-5, 2);
  agree({"%x: f32[0,3]", "%a: i32[1] = const [0]", "%y: f32 = SUM(%x, %a)", 0}, 0);
  agree({"%x: f32[2,5]", "%a: i32[0] = const []", "%y: f32 = SUM(%x, %a)", 0}, 0);
  agree({"%x: f32[2,2], %a: i32[1]", "", "%y: f32 = SUM(%x, %a)", 0}, 0);
}

TEST(FastOperators, FunctionsOfFloats) {
  for (const char *shape : {"[]", "[1]", "[5,7]", "[3,5000]"}) {
    std::string x = std::string("%x: f32") + shape;
    for (const char *op : {"COS",        "EXP", "LOG",      "RSQRT", "SIGN",  "SIN",          "TANH",
                           "SQRT",       "ABS", "CEIL",     "FLOOR", "ROUND", "NEG",          "SQUARE",
                           "HARD_SWISH", "ELU", "LOGISTIC", "RELU",  "RELU6", "RELU_N1_TO_1", "RELU_0_TO_1"})
      agree({x, "", std::string("%y: f32 = ") + op + "(%x)"}, 1e-5, 2);
    agree({x, "", "%y: f32 = LEAKY_RELU(%x) {alpha=0.3}"}, 1e-5, 2);
    agree({x, "", "%y: f32 = GELU(%x) {approximate=false}"}, 1e-5, 2);
    agree({x, "", "%y: f32 = GELU(%x) {approximate=true}"}, 1e-5, 2);
  }
  for (const char *shape : {"[1]", "[5,1]", "[5,7]", "[30,500]", "[0,4]"}) {
    std::string x = std::string("%x: f32") + shape;
    size_t fast = shape == llvm::StringRef("[0,4]") ? 0 : 1;
    for (const char *beta : {"0.5", "1", "0"})
      agree({x, "", std::string("%y: f32 = SOFTMAX(%x) {beta=") + beta + "}", fast}, 1e-5, 2);
    agree({x, "", "%y: f32 = SOFTMAX(%x) {beta=-3}", 0}, 1e-5, 2);
    agree({x, "", "%y: f32 = SOFTMAX(%x) {beta=300}", fast}, 1e-4, 2); // which makes much of the last bit
    agree({x, "", "%y: f32 = LOG_SOFTMAX(%x)", fast}, 1e-5, 2);
    agree({x, "", "%y: f32 = L2_NORMALIZATION(%x)", fast}, 1e-5, 2);
  }
}

TEST(FastOperators, Exponential) {
  double worst = 0;
  for (int i = -870000; i <= 870000; ++i) {
    float x = static_cast<float>(i) * 1e-4f;
    double right = std::exp(static_cast<double>(x)), unit = std::ldexp(1, std::ilogb(right) - 23);
    worst = std::max(worst, std::abs(exponential(x) - right) / unit);
  }
  EXPECT_LT(worst, 4);
  EXPECT_GT(worst, 0.5); // no sum of floats is nearer
  EXPECT_TRUE(std::isnan(exponential(NAN)));
}

/// Pixels that are shorter than vectors, as long, and longer.
TEST(FastOperators, ResizeBilinear) {
  for (const char *options : {"", "align_corners=true", "half_pixel_centers=true"})
    for (int depth : {1, 3, 4, 6, 8, 15, 16, 21})
      for (const char *size : {"[9, 20]", "[3, 4]", "[1, 1]", "[5, 7]"})
        agree({"%x: f32[2,5,7," + std::to_string(depth) + "]", std::string("%s: i32[2] = const ") + size,
               std::string("%y: f32 = RESIZE_BILINEAR(%x, %s) {") + options + "}"},
              1e-6, 2);
}

/// An operator of constants: infinities and NaN are where the reference has them.
void agreeOnAllNumbers(const std::string &constants, const std::string &op, size_t count, float tiny) {
  auto model = parse(modelOf({"", constants, op}));
  ASSERT_TRUE(model) << op;
  auto reference = compile(*model), fast = compile(*model, fastOptions());
  ASSERT_TRUE(reference && fast) << op;
  auto expected = runFloats(*reference, {}), actual = runFloats(*fast, {});
  ASSERT_EQ(expected.size(), count);
  ASSERT_EQ(actual.size(), count);
  EXPECT_EQ(fast->coverage().fast.size(), 1u) << op;
  for (size_t i = 0; i < count; ++i)
    if (std::isnan(expected[i]))
      EXPECT_TRUE(std::isnan(actual[i])) << op << i;
    else if (std::isinf(expected[i]))
      EXPECT_EQ(expected[i], actual[i]) << op << i;
    else
      EXPECT_NEAR(expected[i], actual[i], std::fabs(expected[i]) * 1e-5f + tiny) << op << i;
}

TEST(FastOperators, NumbersThatAreNone) {
  for (const char *op : {"EXP",  "LOG",   "RSQRT",        "TANH",        "SIN",        "COS",       "SQRT", "ABS",
                         "CEIL", "FLOOR", "ROUND",        "NEG",         "SQUARE",     "LOGISTIC",  "ELU",  "SIGN",
                         "RELU", "RELU6", "RELU_N1_TO_1", "RELU_0_TO_1", "HARD_SWISH", "LEAKY_RELU"})
    agreeOnAllNumbers(
        "%x: f32[19] = const [inf, -inf, nan, 0, -0, -1, 100, -200, 1e38, -1e38, 1e-40, 3, 0.5, -0.5, 88.8, "
        "-88, 1e4, 20, -20]",
        std::string("%y: f32 = ") + op + "(%x)", 19, 1e-7f);
  agreeOnAllNumbers("%x: f32[11,1] = const [inf, -inf, nan, 0, -0, -1, 2, -2.5, 1e-40, -1e30, 0.5]\n"
                    "%y: f32[1,13] = const [0, 1, 2, 3, -1, -2, -3, 0.5, -2.5, inf, -inf, nan, 16777217]",
                    "%z: f32 = POW(%x, %y)", 143, 1e-37f);
}

/// What becomes of NaN is the reference's: a clamp keeps it, a largest number passes over it.
TEST(FastOperators, NaNThroughClamps) {
  auto agreeOn = [](int depth, const std::string &constants, const std::string &op) {
    std::string d = std::to_string(depth);
    std::string text = modelOf({"%x: f32[2,6,6," + d + "]", replaced(constants, "$D", d), op});
    auto model = parse(text);
    ASSERT_TRUE(model) << text;
    auto reference = compile(*model), fast = compile(*model, fastOptions());
    ASSERT_TRUE(reference && fast) << text;
    std::vector<float> x = ramp(static_cast<size_t>(2 * 6 * 6 * depth));
    for (size_t at : {size_t(0), size_t(1), x.size() / 3, x.size() - 1})
      x[at] = at % 2 ? -std::nanf("") : std::nanf("");
    TensorRef input = floats({2, 6, 6, depth}, x);
    auto expected = runFloats(*reference, input), actual = runFloats(*fast, input);
    ASSERT_EQ(expected.size(), actual.size()) << text;
    for (size_t i = 0; i < expected.size(); ++i)
      if (std::isnan(expected[i]))
        ASSERT_TRUE(std::isnan(actual[i])) << text << i << ": " << actual[i];
      else
        ASSERT_NEAR(expected[i], actual[i], 1e-5) << text << i;
  };
  for (std::string activation : {"NONE", "RELU", "RELU6", "RELU_N1_TO_1"})
    for (int depth : {1, 3, 8, 16, 40}) {
      std::string fused = "fused_activation_function=" + activation;
      for (const char *op : {"ADD", "SUB", "MUL", "DIV"})
        agreeOn(depth, "%k: f32[$D] = const splat 0.5", std::string("%y: f32 = ") + op + "(%x, %k) {" + fused + "}");
      for (const char *op : {"MAX_POOL_2D", "AVERAGE_POOL_2D"})
        for (const char *size : {"2", "3"})
          agreeOn(depth, "",
                  std::string("%y: f32 = ") + op + "(%x) {padding=SAME, stride_w=1, stride_h=1, filter_width=" + size +
                      ", filter_height=" + size + ", " + fused + "}");
      for (const char *size : {"1", "3"}) {
        std::string where = "{padding=SAME, stride_w=1, stride_h=1, ";
        std::string shape = std::string(size) + "," + size;
        agreeOn(depth, "%w: f32[7," + shape + ",$D] = const seed 1 uniform -1 1\n%b: f32[7] = const splat 0.25",
                "%y: f32 = CONV_2D(%x, %w, %b) " + where + fused + "}");
        agreeOn(depth, "%w: f32[40," + shape + ",$D] = const seed 1 uniform -1 1\n%b: f32[40] = const splat 0.25",
                "%y: f32 = CONV_2D(%x, %w, %b) " + where + fused + "}");
        agreeOn(depth, "%w: f32[1," + shape + ",$D] = const seed 1 uniform -1 1\n%b: f32[$D] = const splat 0.25",
                "%y: f32 = DEPTHWISE_CONV_2D(%x, %w, %b) " + where + "depth_multiplier=1, " + fused + "}");
        agreeOn(depth, "%o: i32[4] = const [2,6,6,5]\n%w: f32[5," + shape + ",$D] = const seed 1 uniform -1 1",
                "%y: f32 = TRANSPOSE_CONV(%o, %w, %x) " + where + fused + "}");
      }
      agreeOn(depth, "%w: f32[9,$D] = const seed 1 uniform -1 1\n%b: f32[9] = const splat 0.25",
              "%y: f32 = FULLY_CONNECTED(%x, %w, %b) {keep_num_dims=true, " + fused + "}");
      agreeOn(depth, "%w: i8[9,$D] q{scale=0.01, zero_point=0} = const seed 1 uniform -127 127",
              "%y: f32 = FULLY_CONNECTED(%x, %w) {keep_num_dims=true, " + fused + "}");
    }
  for (int axis : {1, 3})
    for (const char *op : {"REDUCE_MAX", "REDUCE_MIN", "SUM", "MEAN"})
      agreeOn(16, "%a: i32[1] = const [" + std::to_string(axis) + "]", std::string("%y: f32 = ") + op + "(%x, %a)");
}

TEST(FastOperators, ChoicesAndComparisons) {
  for (const OperatorCase &c : std::vector<OperatorCase>{
           {"%c: bool[300,40], %a: $T[300,40], %b: $T[300,40]", "", "%y: $T = SELECT(%c, %a, %b)"},
           {"%c: bool[300], %a: $T[300,40], %b: $T[300,40]", "", "%y: $T = SELECT(%c, %a, %b)"},
           {"%c: bool[], %a: $T[3,4], %b: $T[3,4]", "", "%y: $T = SELECT(%c, %a, %b)"},
           {"%c: bool[4], %a: $T[3,4], %b: $T[]", "", "%y: $T = SELECT_V2(%c, %a, %b)"},
           {"%c: bool[3,1], %a: $T[1,4], %b: $T[2,1,1]", "", "%y: $T = SELECT_V2(%c, %a, %b)"},
           {"%c: bool[], %a: $T[], %b: $T[]", "", "%y: $T = SELECT_V2(%c, %a, %b)"},
           {"%c: bool[0], %a: $T[], %b: $T[]", "", "%y: $T = SELECT_V2(%c, %a, %b)", 0}})
    for (const char *type : {"i8", "i16", "f32", "i64"})
      agree({replaced(c.inputs, "$T", type), "", replaced(c.op, "$T", type), c.fast}, 0, 2);
  for (const char *op : {"EQUAL", "NOT_EQUAL", "LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL"})
    for (const char *type : {"f32", "i32"})
      for (const char *shapes : {"[90,100] [90,100]", "[90,100] []", "[] [7]", "[3,1] [1,4]", "[] []"}) {
        auto [x, y] = llvm::StringRef(shapes).split(' ');
        agree({std::string("%x: ") + type + x.str() + ", %y: " + type + y.str(), "",
               std::string("%z: bool = ") + op + "(%x, %y)"},
              0, 2);
      }
}

/// Matrices that are cut, filled with zeros, of one row, of one number.
TEST(FastOperators, FourierTransforms) {
  for (const char *shape : {"[5,1,400]", "[3,9,17]", "[2,3,4,4]", "[1,1]", "[7,2,64]"})
    for (const char *lengths : {"1, 512", "8, 16", "1, 1", "2, 2", "4, 1", "16, 256"}) {
      std::string constants = std::string("%n: i32[2] = const [") + lengths + "]";
      std::string x = std::string("%x: f32") + shape;
      agree({x, constants, "%c: c64 = RFFT2D(%x, %n)\n%y: f32 = COMPLEX_ABS(%c)"}, 1e-4, 2);
      agree({x, constants, "%c: c64 = RFFT2D(%x, %n)\n%r: f32 = REAL(%c)\n%i: f32 = IMAG(%c)\n%y: f32 = SUB(%r, %i)"},
            1e-4, 2);
    }
}

/// Two runs, the second of which goes on where the first one ended if the states are variables.
TEST(FastOperators, Lstm) {
  std::string weights;
  for (int i = 0; i < 4; ++i) {
    std::string gate = std::to_string(i), seed = " = const seed 1" + gate + " uniform -1 1\n";
    weights +=
        "%w" + gate + ": f32[21,5]" + seed + "%r" + gate + ": f32[21,21]" + seed + "%b" + gate + ": f32[21]" + seed;
  }
  for (const char *kind : {" variable", " = const splat 0.25"})
    for (const char *options : {"time_major=true", "time_major=false, cell_clip=0.3"}) {
      std::string states = replaced("%h: f32[3,21]K\n%c: f32[3,21]K", "K", kind);
      auto model = parse(modelOf(
          {"%x: f32[3,3,5]", weights + states,
           std::string(
               "%y: f32 = UNIDIRECTIONAL_SEQUENCE_LSTM(%x, %w0, %w1, %w2, %w3, %r0, %r1, %r2, %r3, _, _, _, %b0, "
               "%b1, %b2, %b3, _, _, %h, %c) {fused_activation_function=TANH, ") +
               options + "}"}));
      ASSERT_TRUE(model);
      auto reference = compile(*model), fast = compile(*model, fastOptions());
      ASSERT_TRUE(reference && fast);
      State one, other;
      std::vector<float> first;
      for (int run = 0; run < 2; ++run) {
        auto x = ramp(45);
        RunOptions ones, others;
        ones.state = &one;
        others.state = &other;
        auto expected = runFloats(*reference, {floats({3, 3, 5}, x)}, ones);
        auto actual = runFloats(*fast, {floats({3, 3, 5}, x)}, others);
        EXPECT_EQ(fast->coverage().fast.size(), 1u);
        ASSERT_EQ(expected.size(), 3u * 3 * 21);
        ASSERT_EQ(actual.size(), expected.size());
        for (size_t i = 0; i < expected.size(); ++i)
          EXPECT_NEAR(expected[i], actual[i], 1e-5f) << kind << options << run;
        if (run == 0)
          first = actual;
        EXPECT_EQ(actual == first, run == 0 || kind != llvm::StringRef(" variable")) << kind << options;
      }
    }
}

TEST(FastOperators, PowersAndSlopes) {
  for (const char *shapes : {"[90,100] [90,100]", "[90,100] []", "[] [7]", "[3,1] [1,4]", "[2,5,6] [1,6]", "[] []"}) {
    auto [x, y] = llvm::StringRef(shapes).split(' ');
    for (const char *op : {"POW", "PRELU"})
      agree({"%x: f32" + x.str() + ", %y: f32" + y.str(), "", std::string("%z: f32 = ") + op + "(%x, %y)"}, 1e-5, 2);
  }
  for (const char *exponent : {"0", "2", "3", "0.5", "-1"})
    agree({"%x: f32[300,100]", std::string("%y: f32[] = const [") + exponent + "]", "%z: f32 = POW(%x, %y)"}, 1e-5, 2);
}

/// Rows that come again and again, at either side, as long as they are written down several times for one run, and
/// longer.
TEST(FastOperators, OperandsThatBroadcast) {
  for (const char *shapes :
       {"[190,50,3] [3]", "[3] [190,50,3]", "[7,3,3] [1,3,3]", "[2,1,900,3] [2,3,1,3]", "[5,4,255] [255]",
        "[5,4,256] [256]", "[300,5] [300,1]", "[4,1,3] [1,700,3]", "[2,0,3] [3]", "[1] [1]", "[] [3,2]"}) {
    auto [x, y] = llvm::StringRef(shapes).split(' ');
    size_t fast = shapes == llvm::StringRef("[2,0,3] [3]") ? 0 : 1;
    for (unsigned threads : threadCounts()) {
      for (const char *op : {"ADD", "SUB", "MUL", "DIV"})
        agree({"%x: f32" + x.str() + ", %y: f32" + y.str(), "", std::string("%z: f32 = ") + op + "(%x, %y)", fast},
              1e-6, threads);
      for (const char *op : {"SUB", "MAXIMUM"})
        agree({"%x: i32" + x.str() + ", %y: i32" + y.str(), "", std::string("%z: i32 = ") + op + "(%x, %y)", fast}, 0,
              threads);
      for (const char *type : {"i8", "u8"}) {
        std::string inputs = std::string("%x: ") + type + x.str() + " q{scale=0.05, zero_point=7}, %y: " + type +
                             y.str() + " q{scale=0.021, zero_point=3}";
        std::string result = std::string("%z: ") + type + " q{scale=0.1, zero_point=11} = ";
        for (const char *op : {"ADD", "SUB", "MUL"})
          for (const char *activation : {"NONE", "RELU6"})
            agree({inputs, "", result + op + "(%x, %y) {fused_activation_function=" + activation + "}", fast}, 0,
                  threads, 1);
        if (x.size() + y.size() > 14 && fast) // else a table does not pay
          agree({inputs, "", std::string("%z: bool = GREATER(%x, %y)")}, 0, threads);
      }
    }
  }
}

/// Sums of scales that 21 bits do not hold are looked up.
TEST(FastOperators, ScalesFarApart) {
  for (const char *scale : {"1e-5", "30"})
    agree({"%x: i8[50,50] q{scale=0.05, zero_point=0}, %y: i8[50,50] q{scale=" + std::string(scale) + ", zero_point=0}",
           "", "%z: i8 q{scale=0.1, zero_point=0} = ADD(%x, %y)"},
          0, 1, 1);
}

TEST(FastOperators, EightBitsAndFloats) {
  for (const char *type : {"i8", "u8"})
    for (const char *shape : {"[]", "[1,3]", "[90,100]"})
      for (unsigned threads : threadCounts()) {
        std::string quantised = std::string(type) + shape + " q{scale=0.0078125, zero_point=5}";
        agree({"%x: f32" + std::string(shape), "", "%y: " + quantised + " = QUANTIZE(%x)"}, 0, threads, 1);
        agree({"%x: " + quantised, "", "%y: f32 = DEQUANTIZE(%x)"}, 1e-6, threads);
      }
  // Halves go to the even side; NaN becomes the least one.
  auto model = parse("origo 1\nmodel circle version 0\nsubgraph @main(%x: f32[9]) -> (%y) {\n"
                     "%q: i8 q{scale=1, zero_point=1} = QUANTIZE(%x)\n%y: f32 = DEQUANTIZE(%q)\n}\n");
  ASSERT_TRUE(model);
  auto fast = compile(*model, fastOptions());
  ASSERT_TRUE(!!fast);
  constexpr float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(runFloats(*fast, floats({9}, {infinity, -infinity, std::nanf(""), 1e20f, -1e20f, 0.5f, 1.5f, -0.5f, 200})),
            (std::vector<float>{126, -129, -129, 126, -129, 0, 2, 0, 126}));
  EXPECT_EQ(fast->coverage().fast.size(), 2u);
}

/// Of as many rows as there are, and behind it what goes element by element.
TEST(FastOperators, FullyConnected) {
  for (int units : {1, 7, 16, 33, 130})
    for (const char *shape : {"[1,40]", "[9,40]", "[2,3,40]", "[20,4,10]"})
      for (const char *activation : {"NONE", "RELU6"}) {
        std::string n = std::to_string(units), options = std::string(" {fused_activation_function=") + activation + "}";
        agree({std::string("%x: f32") + shape,
               "%w: f32[" + n + ",40] = const seed 1 uniform -1 1\n%b: f32[" + n + "] = const seed 2 uniform -1 1",
               "%y: f32 = FULLY_CONNECTED(%x, %w, %b)" + options},
              1e-5, 2);
        for (bool perChannel : {false, true})
          for (const char *type : {"i8", "u8"}) {
            if (perChannel && (type[0] == 'u' || units != 7))
              continue;
            std::string scale =
                perChannel
                    ? "scale=[0.01, 0.02, 0.01, 0.03, 0.01, 0.01, 0.005], zero_point=[0, 0, 0, 0, 0, 0, 0], dim=0"
                    : std::string("scale=0.01, zero_point=") + (type[0] == 'u' ? "128" : "0");
            agree({std::string("%x: ") + type + shape + " q{scale=0.02, zero_point=5}",
                   std::string("%w: ") + type + "[" + n + ",40] q{" + scale + "} = const seed 1 uniform " +
                       (type[0] == 'u' ? "0 255" : "-127 127") + "\n%b: i32[" + n + "] = const seed 2 uniform -900 900",
                   std::string("%y: ") + type + " q{scale=0.1, zero_point=7} = FULLY_CONNECTED(%x, %w, %b)" + options},
                  0, 2, 1);
          }
      }
}

TEST(FastOperators, PositionOfTheLargest) {
  for (const char *type : {"f32", "i8", "u8"})
    for (const char *index : {"i32", "i64"})
      for (const char *axis : {"1", "-1", "0", "-2"})
        for (const char *shape : {"[70,30]", "[5,70,3]", "[4,1]", "[2,300,40]"})
          agree({std::string("%x: ") + type + shape, std::string("%a: i32[] = const [") + axis + "]",
                 std::string("%y: ") + index +
                     " = ARG_MAX(%x, %a) {output_type=" + (index == llvm::StringRef("i32") ? "INT32" : "INT64") + "}"},
                0);
  // NaN is passed over, along rows and across them.
  const std::string rows = "const [nan, 1, 3, 2, 1, nan, 0, 5, nan, nan, nan, nan, 5, 5, nan, -1]";
  for (auto [shape, axis, places] :
       {std::tuple("[4,4]", "1", "2 3 0 0"), std::tuple("[1,16]", "1", "7"), std::tuple("[4,4]", "0", "3 3 0 1"),
        std::tuple("[2,2,4]", "1", "1 0 0 1 1 1 0 1")}) {
    auto model =
        parse(modelOf({"", std::string("%x: f32") + shape + " = " + rows + "\n%a: i32[] = const [" + axis + "]",
                       "%y: i32 = ARG_MAX(%x, %a) {output_type=INT32}"}));
    ASSERT_TRUE(model);
    for (const CompileOptions &options : {CompileOptions(), fastOptions()}) {
      auto session = compile(*model, options);
      ASSERT_TRUE(static_cast<bool>(session)) << llvm::toString(session.takeError());
      auto results = session->run(llvm::ArrayRef<TensorRef>());
      ASSERT_TRUE(static_cast<bool>(results)) << llvm::toString(results.takeError());
      std::string found;
      const auto &bytes = results->front().tensor.bytes;
      for (size_t i = 0; i < bytes.size(); i += 4)
        found += (i ? " " : "") + std::to_string(bytes[i]);
      EXPECT_EQ(found, places) << shape << axis;
    }
  }
}

TEST(FastOperators, TransposedConvolutionOfAnyBatch) {
  agree({"%x: f32[1?,5,4,3]", "%s: i32[4] = const [1, 11, 9, 2]\n%w: f32[2,3,3,3] = const seed 7 uniform -1 1",
         "%y: f32[1?,11,9,2] = TRANSPOSE_CONV(%s, %w, %x) {padding=VALID, stride_w=2, stride_h=2, "
         "fused_activation_function=RELU}"},
        1e-5);
}

/// Little-endian words, as MediaPipe's operators have their options: padding (1: SAME), stride and window as width,
/// height.
std::string words(std::initializer_list<int32_t> numbers) {
  std::string bytes;
  for (int32_t number : numbers)
    for (int shift = 0; shift < 32; shift += 8)
      bytes += static_cast<char>(static_cast<uint32_t>(number) >> shift);
  return " custom hex\"" + llvm::toHex(bytes, /*LowerCase=*/true) + "\"";
}

TEST(FastOperators, MediaPipesTransposedConvolution) {
  struct Form {
    const char *image, *filter, *result;
    int32_t padding, strideX, strideY;
  };
  for (const Form &form : {Form{"2,5,4,3", "2,3,3,3", "2,9,8,2", 1, 2, 2}, // windows overlap
                           Form{"1,5,4,3", "2,3,3,3", "1,11,9,2", 2, 2, 2},
                           Form{"1,70,40,16", "8,2,2,16", "1,140,80,8", 1, 2, 2}, // several blocks of rows
                           Form{"1,400,70,5", "17,3,1,5", "1,402,70,17", 2, 1, 1},
                           Form{"1,6,5,2", "3,2,1,2", "1,17,21,3", 2, 5, 3}, // rows and columns that nothing reaches
                           Form{"1,6,5,2", "3,5,4,2", "1,6,5,3", 1, 1, 1}}) {
    auto with = [&](llvm::StringRef filter, llvm::StringRef constants, size_t fast) {
      std::string channels = llvm::StringRef(form.filter).split(',').first.str();
      std::string bias = "%b: f32[" + channels + "] = const seed 3 uniform -1 1";
      for (unsigned threads : threadCounts())
        agree({"%x: f32[" + std::string(form.image) + "]" + filter.str(), bias + "\n" + constants.str(),
               "%y: f32[" + std::string(form.result) + "] = CUSTOM \"Convolution2DTransposeBias\"(%x, %w, %b)" +
                   words({form.padding, form.strideX, form.strideY}),
               fast},
              fast ? 1e-5 : 0, threads);
    };
    with("", "%w: f32[" + std::string(form.filter) + "] = const seed 2 uniform -1 1", 1);
    with(", %w: f32[" + std::string(form.filter) + "]", "", 0); // computed weights
  }
}

TEST(FastOperators, MediaPipesPoolingAndBack) {
  for (const char *channels : {"1", "5", "16", "37"})
    for (int32_t activation : {0, 3})
      for (unsigned threads : threadCounts()) {
        // Neither padding nor stride is the window's.
        agree({"%x: f32[2,9,7," + std::string(channels) + "]", "",
               "%y: f32[2,5,3," + std::string(channels) + "], %i: f32[2,5,3," + channels +
                   "] = CUSTOM \"MaxPoolingWithArgmax2D\"(%x)" + words({1, 3, 2, 2, 3, activation})},
              0, threads);
        std::string half = "f32[2,4,3," + std::string(channels) + "]",
                    whole = "f32[2,8,9," + std::string(channels) + "]";
        auto model =
            parse("origo 1\nmodel circle version 0\nsubgraph @main(%x: " + whole + ") -> (%z) {\n  %y: " + half +
                  ", %i: " + half + " = CUSTOM \"MaxPoolingWithArgmax2D\"(%x)" + words({2, 3, 2, 3, 2, activation}) +
                  "\n  %z: " + whole + " = CUSTOM \"MaxUnpooling2D\"(%y, %i)" + words({2, 3, 2, 3, 2}) + "\n}\n");
        ASSERT_TRUE(model);
        CompileOptions options = fastOptions();
        options.threads = threads;
        Difference difference = compare(*model, "pooling and back", 1, options);
        ASSERT_TRUE(difference.ran);
        EXPECT_EQ(difference.coverage.fast.size(), 2u);
        EXPECT_EQ(difference.floats, 0);
      }
  // Windows that overlap, and indices of the whole image, are the reference kernel's; so is an index that is none.
  agree({"%x: f32[1,2,2,3]", "%i: f32[1,2,2,3] = const splat 3.1",
         "%y: f32[1,6,6,3] = CUSTOM \"MaxUnpooling2D\"(%x, %i)" + words({1, 2, 2, 3, 3}), 0},
        0);
  agree({"%x: f32[1,1,2,1]", "%i: i32[1,1,2,1] = const [5, 0]",
         "%y: f32[1,2,4,1] = CUSTOM \"MaxUnpooling2D\"(%x, %i)" + words({1, 2, 2, 2, 2}), 0},
        0);
  for (const char *wrong : {"-1", "4", "nan"}) {
    auto model = parse(modelOf({"%x: f32[1,1,2,1]", std::string("%i: f32[1,1,2,1] = const [0, ") + wrong + "]",
                                "%y: f32[1,2,4,1] = CUSTOM \"MaxUnpooling2D\"(%x, %i)" + words({2, 2, 2, 2, 2})}));
    ASSERT_TRUE(model) << wrong;
    EXPECT_FALSE(compare(*model, wrong, 1).ran) << wrong; // both refuse, in the same words
  }
}

/// Whole numbers that are no quantised ones equal the reference, and are refused where it refuses.
TEST(FastOperators, WholeNumbers) {
  for (const char *type : {"i32", "i64"})
    for (const char *shapes : {"[90,100] [90,100]", "[90,100] []", "[] [7]", "[3,1] [1,4]", "[2,5,6] [1,6]"}) {
      auto [x, y] = llvm::StringRef(shapes).split(' ');
      std::string inputs = std::string("%x: ") + type + x.str() + ", %y: " + type + y.str();
      for (const char *op : {"ADD", "SUB", "MUL", "MAXIMUM", "MINIMUM", "SQUARED_DIFFERENCE"})
        if (type == llvm::StringRef("i32") || op != llvm::StringRef("SQUARED_DIFFERENCE"))
          for (unsigned threads : threadCounts())
            agree({inputs, "", std::string("%z: ") + type + " = " + op + "(%x, %y)"}, 0, threads);
      for (const char *op : {"DIV", "FLOOR_DIV", "FLOOR_MOD"})
        for (const char *by : {"3", "-7", "-1", "1"})
          agree({std::string("%x: ") + type + x.str(), std::string("%y: ") + type + "[] = const [" + by + "]",
                 std::string("%z: ") + type + " = " + op + "(%x, %y)"},
                0);
    }
  // An activation is the reference kernel's.
  agree({"%x: i32[30], %y: i32[30]", "", "%z: i32 = ADD(%x, %y) {fused_activation_function=RELU}", 0}, 0);
  for (const char *op : {"DIV", "FLOOR_DIV", "FLOOR_MOD"}) {
    auto model =
        parse(modelOf({"%x: i32[3]", "%y: i32[3] = const [1, 0, 2]", std::string("%z: i32 = ") + op + "(%x, %y)"}));
    ASSERT_TRUE(model);
    EXPECT_FALSE(compare(*model, op, 1).ran); // both refuse, in the same words
  }
  for (const char *op : {"LOGICAL_AND", "LOGICAL_OR"})
    agree({"%x: bool[30,40], %y: bool[40]", "", std::string("%z: bool = ") + op + "(%x, %y)"}, 0);
}

TEST(FastOperators, Casts) {
  for (const char *from : {"f32", "i8", "u8", "i16", "i32", "i64", "bool"})
    for (const char *to : {"f32", "i8", "u8", "i16", "i32", "i64", "bool"})
      agree({std::string("%x: ") + from + "[90,100]", "", std::string("%y: ") + to + "[90,100] = CAST(%x)"}, 0, 2);
  // What no number of the type is.
  agree({"%z: f32[5]", "%x: f32[5] = const [nan, 1e20, -1e20, 0.7, -0.7]", "%y: i32[5] = CAST(%x)"}, 0);
  agree({"%x: f64[5]", "", "%y: f32[5] = CAST(%x)", 0}, 0);
}

TEST(FastOperators, RunningSums) {
  for (const char *type : {"f32", "i32", "i64"})
    for (const char *axis : {"0", "1", "-1"})
      for (const char *options : {"", " {exclusive=true}", " {reverse=true}", " {exclusive=true, reverse=true}"})
        agree({std::string("%x: ") + type + "[7,30,5]", std::string("%a: i32[] = const [") + axis + "]",
               std::string("%y: ") + type + " = CUMSUM(%x, %a)" + options},
              0);
}

} // namespace
