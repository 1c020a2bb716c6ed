#include "tests/GoldenCases.h"

#include "eval/RandomInput.h"
#include "eval/exact/Machine.h"
#include "passes/VerifyAlgebra.h"

#include "llvm/Support/MemoryBuffer.h"

#include "gtest/gtest.h"

#include <cmath>
#include <cstring>

/// Rewrites proved in exact arithmetic: what is right is equal, and what is wrong is found.

using namespace origo;
using namespace origo::eval;
using namespace origo::eval::exact;
using namespace origo::test;

namespace {

std::unique_ptr<Model> sourceOf(llvm::StringRef text) {
  PayloadStore store;
  llvm::Expected<std::unique_ptr<Model>> model = parseText(text, goldenFolder(), store);
  if (!model) {
    ADD_FAILURE() << llvm::toString(model.takeError());
    return nullptr;
  }
  (*model)->becomeSource();
  return std::move(*model);
}

/// `most`: rewrites.
llvm::Expected<ProvedRun> proveText(llvm::StringRef text, const Pipeline &pipeline, const ProveOptions &options = {},
                                    std::optional<uint32_t> most = std::nullopt) {
  PayloadStore store;
  auto load = [&] { return llvm::Expected<std::unique_ptr<Model>>(sourceOf(text)); };
  origo::PipelineOptions run;
  run.fuel = most;
  return proveRewrites(load, pipeline, store, run, options);
}

std::string model(llvm::StringRef body) { return ("origo 1\nmodel circle version 0\n" + body).str(); }

TEST(ExactNumbers, AreAField) {
  for (uint64_t key : {1, 2, 3}) {
    for (const Arithmetic &math : {Arithmetic::mersenne(key), Arithmetic::drawn(key)}) {
      EXPECT_GE(math.prime(), uint64_t(1) << 60);
      auto image = [&](double x) { return math.of(x).image; };
      Number third = math.divide(math.of(1), math.of(3));
      EXPECT_EQ(math.multiply(third, math.of(3)).image, image(1));
      EXPECT_EQ(math.add(math.of(0.1), math.of(-0.1)).image, 0u);
      // What doubles round to nothing.
      EXPECT_NE(math.add(math.of(1), math.of(0x1p-80)).image, image(1));
      EXPECT_EQ(math.multiply(math.of(0x1p-1000), math.of(0x1p1000)).image, image(1));
      EXPECT_EQ(math.of(0x1.8p-1073).image, math.multiply(math.of(3), math.of(0x1p-1074)).image);
      EXPECT_EQ(math.ofInteger(-7).image, image(-7));
      Arithmetic::Sum sum;
      Number exactly;
      for (int i = 0; i < 100; ++i) {
        Number a = math.of(0.1 * i), b = math.of(1e-9 - i);
        sum.add(math, a, b);
        exactly = math.add(exactly, math.multiply(a, b));
      }
      EXPECT_EQ(sum.end(math).image, exactly.image);
      // Identities of functions.
      Number x = math.of(0.3);
      EXPECT_EQ(math.multiply(math.exponential(x), math.exponential(math.negate(x))).image, image(1));
      EXPECT_EQ(math.add(math.logistic(x), math.logistic(math.negate(x))).image, image(1));
      EXPECT_EQ(math.power(x, math.of(3)).image, math.multiply(math.square(x), x).image);
      EXPECT_EQ(math.power(x, math.of(-0.5)).image, math.divide(math.of(1), math.root(x)).image);
      EXPECT_NE(math.root(math.of(2)).image, image(2147483648)) << "roots are symbols";
    }
    // 2⁶¹ is 1 modulo one of them only.
    EXPECT_EQ(Arithmetic::mersenne(key).of(0x1p61).image, 1u);
    EXPECT_NE(Arithmetic::drawn(key).of(0x1p61).image, 1u);
  }
  EXPECT_NE(Arithmetic::drawn(1).prime(), Arithmetic::drawn(2).prime());
}

TEST(ExactNumbers, TellWhatTheirDoublesDoNotDecide) {
  Arithmetic math = Arithmetic::mersenne(1);
  Number one = math.of(1), tenth = math.divide(one, math.of(10)), sum;
  for (int i = 0; i < 10; ++i)
    sum = math.add(sum, tenth);
  EXPECT_EQ(math.compare(sum, one), Order::Same);
  Number near = math.add(sum, math.of(0x1p-70));
  EXPECT_EQ(math.compare(near, one), Order::Unknown);
  EXPECT_EQ(math.undecided, 1u);
  EXPECT_TRUE(math.larger(near, one).isDoubtful());
  EXPECT_EQ(math.compare(math.of(2), one), Order::Greater);
  EXPECT_EQ(math.rounded(sum, std::floor).image, one.image) << "an integer whose double is not";
  EXPECT_EQ(math.undefinedCount, 0u);
  math.divide(one, math.subtract(sum, one));
  EXPECT_EQ(math.undefinedCount, 1u);
  Number infinite = math.of(-INFINITY);
  EXPECT_EQ(math.add(one, infinite).image, infinite.image);
  EXPECT_EQ(math.exponential(infinite).image, 0u);
}

/// An operator on integers as floats, in a graph of its own: operands by shape, then what else it says.
struct KernelCase {
  const char *name, *body;
};

/// By operator; y is the result, x, w and b are inputs.
const KernelCase kernelCases[] = {
    {"ABS", "(%x: f32[2,3]) -> (%y) {\n %y: f32[2,3] = ABS(%x)"},
    {"ADD", "(%x: f32[2,3], %w: f32[3]) -> (%y) {\n %y: f32[2,3] = ADD(%x, %w) {fused_activation_function=RELU}"},
    {"ADD_N", "(%x: f32[2,3], %w: f32[2,3]) -> (%y) {\n %y: f32[2,3] = ADD_N(%x, %w, %x)"},
    {"ARG_MAX", "(%x: f32[2,5]) -> (%y) {\n %a: i32[1] = const [1]\n %y: i32[2] = ARG_MAX(%x, %a) {output_type=INT32}"},
    {"ARG_MIN", "(%x: f32[2,5]) -> (%y) {\n %a: i32[1] = const [1]\n %y: i32[2] = ARG_MIN(%x, %a) {output_type=INT32}"},
    {"ATAN2", "(%x: f32[2,3], %w: f32[2,3]) -> (%y) {\n %y: f32[2,3] = ATAN2(%x, %w)"},
    {"AVERAGE_POOL_2D", "(%x: f32[1,5,5,2]) -> (%y) {\n %y: f32[1,3,3,2] = AVERAGE_POOL_2D(%x) {padding=SAME, "
                        "stride_w=2, stride_h=2, filter_width=3, filter_height=3, fused_activation_function=RELU6}"},
    {"BATCH_MATMUL",
     "(%x: f32[2,2,3], %w: f32[2,4,3]) -> (%y) {\n %y: f32[2,2,4] = BATCH_MATMUL(%x, %w) {adjoint_rhs=true}"},
    {"CAST", "(%x: f32[2,3]) -> (%y) {\n %y: i32[2,3] = CAST(%x) {in_data_type=FLOAT32, out_data_type=INT32}"},
    {"CEIL",
     "(%x: f32[2,3]) -> (%y) {\n %h: f32[1] = const [0.5]\n %s: f32[2,3] = MUL(%x, %h)\n %y: f32[2,3] = CEIL(%s)"},
    {"COMPLEX_ABS", "(%x: c64[2,3]) -> (%y) {\n %y: f32[2,3] = COMPLEX_ABS(%x)"},
    {"CONV_2D", "(%x: f32[1,5,5,2], %w: f32[3,3,3,2], %b: f32[3]) -> (%y) {\n %y: f32[1,3,3,3] = CONV_2D(%x, %w, %b) "
                "{padding=SAME, stride_w=2, stride_h=2, fused_activation_function=RELU}"},
    {"COS", "(%x: f32[2,3]) -> (%y) {\n %y: f32[2,3] = COS(%x)"},
    {"CUMSUM",
     "(%x: f32[2,4]) -> (%y) {\n %a: i32[] = const [1]\n %y: f32[2,4] = CUMSUM(%x, %a) {exclusive=true, reverse=true}"},
    {"DEPTHWISE_CONV_2D", "(%x: f32[1,5,5,2], %w: f32[1,3,3,4], %b: f32[4]) -> (%y) {\n %y: f32[1,5,5,4] = "
                          "DEPTHWISE_CONV_2D(%x, %w, %b) {padding=SAME, stride_w=1, stride_h=1, depth_multiplier=2}"},
    {"DEQUANTIZE", "(%x: i8[2,3] q{scale=0.5, zero_point=3}) -> (%y) {\n %y: f32[2,3] = DEQUANTIZE(%x)"},
    {"DIV", "(%x: f32[2,3]) -> (%y) {\n %w: f32[3] = const [2, -4, 8]\n %y: f32[2,3] = DIV(%x, %w)"},
    {"ELU", "(%x: f32[2,3]) -> (%y) {\n %y: f32[2,3] = ELU(%x)"},
    {"EQUAL", "(%x: f32[2,3], %w: f32[2,3]) -> (%y) {\n %y: bool[2,3] = EQUAL(%x, %w)"},
    {"EXP", "(%x: f32[2,3]) -> (%y) {\n %y: f32[2,3] = EXP(%x)"},
    {"FLOOR",
     "(%x: f32[2,3]) -> (%y) {\n %h: f32[1] = const [0.5]\n %s: f32[2,3] = MUL(%x, %h)\n %y: f32[2,3] = FLOOR(%s)"},
    {"FLOOR_DIV", "(%x: f32[2,3]) -> (%y) {\n %w: f32[3] = const [2, -4, 8]\n %y: f32[2,3] = FLOOR_DIV(%x, %w)"},
    {"FLOOR_MOD", "(%x: f32[2,3]) -> (%y) {\n %w: f32[3] = const [3, -4, 5]\n %y: f32[2,3] = FLOOR_MOD(%x, %w)"},
    {"FULLY_CONNECTED",
     "(%x: f32[2,5], %w: f32[3,5], %b: f32[3]) -> (%y) {\n %y: f32[2,3] = FULLY_CONNECTED(%x, %w, %b) "
     "{fused_activation_function=RELU_N1_TO_1}"},
    {"GELU", "(%x: f32[2,3]) -> (%y) {\n %y: f32[2,3] = GELU(%x) {approximate=true}"},
    {"GREATER", "(%x: f32[2,3], %w: f32[2,3]) -> (%y) {\n %y: bool[2,3] = GREATER(%x, %w)"},
    {"GREATER_EQUAL", "(%x: f32[2,3], %w: f32[2,3]) -> (%y) {\n %y: bool[2,3] = GREATER_EQUAL(%x, %w)"},
    {"HARD_SWISH", "(%x: f32[2,3]) -> (%y) {\n %y: f32[2,3] = HARD_SWISH(%x)"},
    {"IMAG", "(%x: c64[2,3]) -> (%y) {\n %y: f32[2,3] = IMAG(%x)"},
    {"INSTANCE_NORM", "(%x: f32[1,3,3,2], %w: f32[2], %b: f32[2]) -> (%y) {\n %y: f32[1,3,3,2] = INSTANCE_NORM(%x, %w, "
                      "%b) {epsilon=0.001}"},
    {"L2_NORMALIZATION", "(%x: f32[2,3]) -> (%y) {\n %y: f32[2,3] = L2_NORMALIZATION(%x)"},
    {"L2_POOL_2D", "(%x: f32[1,4,4,2]) -> (%y) {\n %y: f32[1,2,2,2] = L2_POOL_2D(%x) {padding=VALID, stride_w=2, "
                   "stride_h=2, filter_width=2, filter_height=2}"},
    {"LEAKY_RELU", "(%x: f32[2,3]) -> (%y) {\n %y: f32[2,3] = LEAKY_RELU(%x) {alpha=0.25}"},
    {"LESS", "(%x: f32[2,3], %w: f32[2,3]) -> (%y) {\n %y: bool[2,3] = LESS(%x, %w)"},
    {"LESS_EQUAL", "(%x: f32[2,3], %w: f32[2,3]) -> (%y) {\n %y: bool[2,3] = LESS_EQUAL(%x, %w)"},
    {"LOCAL_RESPONSE_NORMALIZATION",
     "(%x: f32[1,1,2,4]) -> (%y) {\n %y: f32[1,1,2,4] = LOCAL_RESPONSE_NORMALIZATION(%x) "
     "{radius=1, bias=1.0, alpha=0.5, beta=0.75}"},
    {"LOG", "(%x: f32[2,3]) -> (%y) {\n %s: f32[2,3] = SQUARE(%x)\n %o: f32[] = const [1]\n %p: f32[2,3] = ADD(%s, "
            "%o)\n %y: f32[2,3] = LOG(%p)"},
    {"LOGISTIC", "(%x: f32[2,3]) -> (%y) {\n %y: f32[2,3] = LOGISTIC(%x)"},
    {"LOG_SOFTMAX", "(%x: f32[2,3]) -> (%y) {\n %y: f32[2,3] = LOG_SOFTMAX(%x)"},
    {"MAXIMUM", "(%x: f32[2,3], %w: f32[2,3]) -> (%y) {\n %y: f32[2,3] = MAXIMUM(%x, %w)"},
    {"MAX_POOL_2D", "(%x: f32[1,4,4,2]) -> (%y) {\n %y: f32[1,2,2,2] = MAX_POOL_2D(%x) {padding=VALID, stride_w=2, "
                    "stride_h=2, filter_width=2, filter_height=2}"},
    {"MEAN", "(%x: f32[2,4]) -> (%y) {\n %a: i32[1] = const [1]\n %y: f32[2] = MEAN(%x, %a)"},
    {"MINIMUM", "(%x: f32[2,3], %w: f32[2,3]) -> (%y) {\n %y: f32[2,3] = MINIMUM(%x, %w)"},
    {"MUL", "(%x: f32[2,3], %w: f32[1,3]) -> (%y) {\n %y: f32[2,3] = MUL(%x, %w) {fused_activation_function=RELU6}"},
    {"NEG", "(%x: f32[2,3]) -> (%y) {\n %y: f32[2,3] = NEG(%x)"},
    {"NON_MAX_SUPPRESSION_V4",
     "(%x: f32[5,4], %w: f32[5]) -> (%y, %n) {\n %m: i32[] = const [4]\n %o: f32[] = const [0.25]\n %s: f32[] = const "
     "[-3]\n %y: i32[4], %n: i32[] = NON_MAX_SUPPRESSION_V4(%x, %w, %m, %o, %s)"},
    {"NON_MAX_SUPPRESSION_V5",
     "(%x: f32[5,4], %w: f32[5]) -> (%q, %y, %n) {\n %m: i32[] = const [4]\n %o: f32[] = const [0.75]\n %s: f32[] = "
     "const [-3]\n %g: f32[] = const [0.5]\n %y: i32[4], %q: f32[4], %n: i32[] = NON_MAX_SUPPRESSION_V5(%x, %w, %m, "
     "%o, %s, %g)"},
    {"NOT_EQUAL", "(%x: f32[2,3], %w: f32[2,3]) -> (%y) {\n %y: bool[2,3] = NOT_EQUAL(%x, %w)"},
    {"POW", "(%x: f32[2,3]) -> (%y) {\n %w: f32[] = const [3]\n %y: f32[2,3] = POW(%x, %w)"},
    {"PRELU", "(%x: f32[2,3], %w: f32[3]) -> (%y) {\n %y: f32[2,3] = PRELU(%x, %w)"},
    {"QUANTIZE", "(%x: f32[2,3]) -> (%y) {\n %y: i8[2,3] q{scale=0.5, zero_point=3} = QUANTIZE(%x)"},
    {"REAL", "(%x: c64[2,3]) -> (%y) {\n %y: f32[2,3] = REAL(%x)"},
    {"REDUCE_MAX", "(%x: f32[2,4]) -> (%y) {\n %a: i32[1] = const [1]\n %y: f32[2] = REDUCE_MAX(%x, %a)"},
    {"REDUCE_MIN",
     "(%x: f32[2,4]) -> (%y) {\n %a: i32[1] = const [0]\n %y: f32[1,4] = REDUCE_MIN(%x, %a) {keep_dims=true}"},
    {"REDUCE_PROD", "(%x: f32[2,4]) -> (%y) {\n %a: i32[1] = const [1]\n %y: f32[2] = REDUCE_PROD(%x, %a)"},
    {"RELU", "(%x: f32[2,3]) -> (%y) {\n %y: f32[2,3] = RELU(%x)"},
    {"RELU6", "(%x: f32[2,3]) -> (%y) {\n %y: f32[2,3] = RELU6(%x)"},
    {"RELU_0_TO_1", "(%x: f32[2,3]) -> (%y) {\n %y: f32[2,3] = RELU_0_TO_1(%x)"},
    {"RELU_N1_TO_1", "(%x: f32[2,3]) -> (%y) {\n %y: f32[2,3] = RELU_N1_TO_1(%x)"},
    {"RESIZE_BILINEAR",
     "(%x: f32[1,2,2,2]) -> (%y) {\n %s: i32[2] = const [4, 4]\n %y: f32[1,4,4,2] = RESIZE_BILINEAR(%x, %s)"},
    {"RMS_NORM", "(%x: f32[2,4], %w: f32[4]) -> (%y) {\n %y: f32[2,4] = RMS_NORM(%x, %w) {epsilon=0.001}"},
    {"ROPE", "(%x: f32[1,1,2,4], %w: f32[1,1,2,4], %b: f32[1,1,2,4]) -> (%y) {\n %y: f32[1,1,2,4] = ROPE(%x, %w, %b) "
             "{mode=GPT_NEOX}"},
    {"ROUND",
     "(%x: f32[2,3]) -> (%y) {\n %h: f32[1] = const [0.5]\n %s: f32[2,3] = MUL(%x, %h)\n %y: f32[2,3] = ROUND(%s)"},
    {"RSQRT", "(%x: f32[2,3]) -> (%y) {\n %s: f32[2,3] = SQUARE(%x)\n %o: f32[] = const [1]\n %p: f32[2,3] = ADD(%s, "
              "%o)\n %y: f32[2,3] = RSQRT(%p)"},
    {"SIGN", "(%x: f32[2,3]) -> (%y) {\n %y: f32[2,3] = SIGN(%x)"},
    {"SIN", "(%x: f32[2,3]) -> (%y) {\n %y: f32[2,3] = SIN(%x)"},
    {"SOFTMAX", "(%x: f32[2,3]) -> (%y) {\n %y: f32[2,3] = SOFTMAX(%x) {beta=0.5}"},
    {"SQRT", "(%x: f32[2,3]) -> (%y) {\n %s: f32[2,3] = ABS(%x)\n %y: f32[2,3] = SQRT(%s)"},
    {"SQUARE", "(%x: f32[2,3]) -> (%y) {\n %y: f32[2,3] = SQUARE(%x)"},
    {"SQUARED_DIFFERENCE", "(%x: f32[2,3], %w: f32[2,3]) -> (%y) {\n %y: f32[2,3] = SQUARED_DIFFERENCE(%x, %w)"},
    {"SUB", "(%x: f32[2,3], %w: f32[3]) -> (%y) {\n %y: f32[2,3] = SUB(%x, %w)"},
    {"SUM", "(%x: f32[2,4]) -> (%y) {\n %a: i32[2] = const [0, 1]\n %y: f32[] = SUM(%x, %a)"},
    {"TANH", "(%x: f32[2,3]) -> (%y) {\n %y: f32[2,3] = TANH(%x)"},
    {"CONV_3D",
     "(%x: f32[1,3,3,3,2], %w: f32[2,2,2,2,3], %b: f32[3]) -> (%y) {\n %y: f32[1,2,2,2,3] = CONV_3D(%x, %w, %b) "
     "{padding=VALID, stride_d=1, stride_h=1, stride_w=1, fused_activation_function=RELU}"},
    {"CONV_3D_TRANSPOSE",
     "(%x: f32[1,2,2,2,3], %w: f32[2,2,2,2,3]) -> (%y) {\n %s: i32[5] = const [1, 4, 4, 4, 2]\n %y: f32[1,4,4,4,2] = "
     "CONV_3D_TRANSPOSE(%s, %w, %x) {padding=SAME, stride_d=2, stride_h=2, stride_w=2}"},
    {"SCATTER_ND",
     "(%x: f32[3,2]) -> (%y) {\n %i: i32[3,1] = const [1, 3, 1]\n %s: i32[2] = const [4, 2]\n %y: f32[4,2] = "
     "SCATTER_ND(%i, %x, %s)"},
    {"SEGMENT_SUM", "(%x: f32[4,2]) -> (%y) {\n %i: i32[4] = const [0, 0, 1, 2]\n %y: f32[3,2] = SEGMENT_SUM(%x, %i)"},
    {"TOPK_V2", "(%x: f32[3,5]) -> (%y, %i) {\n %k: i32[] = const [3]\n %y: f32[3,3], %i: i32[3,3] = TOPK_V2(%x, %k)"},
    {"UNSORTED_SEGMENT_MAX",
     "(%x: f32[4,2]) -> (%y) {\n %i: i32[4] = const [2, 0, -1, 2]\n %n: i32[] = const [3]\n %y: "
     "f32[3,2] = UNSORTED_SEGMENT_MAX(%x, %i, %n)"},
    {"UNSORTED_SEGMENT_MIN",
     "(%x: f32[4,2]) -> (%y) {\n %i: i32[4] = const [2, 0, -1, 2]\n %n: i32[] = const [3]\n %y: "
     "f32[3,2] = UNSORTED_SEGMENT_MIN(%x, %i, %n)"},
    {"UNSORTED_SEGMENT_PROD",
     "(%x: f32[4,2]) -> (%y) {\n %i: i32[4] = const [2, 0, 1, 2]\n %n: i32[] = const [3]\n %y: "
     "f32[3,2] = UNSORTED_SEGMENT_PROD(%x, %i, %n)"},
    {"UNSORTED_SEGMENT_SUM",
     "(%x: f32[4,2]) -> (%y) {\n %i: i32[4] = const [2, 0, -1, 2]\n %n: i32[] = const [3]\n %y: "
     "f32[3,2] = UNSORTED_SEGMENT_SUM(%x, %i, %n)"},
    {"BCQ_FULLY_CONNECTED",
     "(%x: f32[3,2], %w: f32[5], %b: f32[4]) -> (%y) {\n %i: i32[5,1] = const [1, 6, 3, 5, 2]\n %c: i32[2,2] = const "
     "[1, 3, 2, 1]\n %y: f32[4,2] = BCQ_FULLY_CONNECTED(%x, %w, %i, %b, %c) {weights_hidden_size=3}"},
    {"BCQ_GATHER", "(%x: f32[5]) -> (%y) {\n %b: i32[5,1] = const [1, 6, 3, 5, 2]\n %i: i32[2] = const [3, 1]\n %c: "
                   "i32[2,2] = const [1, 3, 2, 1]\n %y: f32[2,3] = BCQ_GATHER(%x, %b, %i, %c) {input_hidden_size=3, "
                   "axis=0}"},
    {"BUCKETIZE", "(%x: f32[2,5]) -> (%y) {\n %y: i32[2,5] = BUCKETIZE(%x) {boundaries=[-2.0, 1.0, 5.0]}"},
    {"EMBEDDING_LOOKUP",
     "(%x: f32[4,2]) -> (%y) {\n %i: i32[3] = const [3, 0, 3]\n %y: f32[3,2] = EMBEDDING_LOOKUP(%i, %x)"},
    {"EMBEDDING_LOOKUP_SPARSE",
     "(%x: f32[4,2]) -> (%y) {\n %i: i32[3] = const [3, 0, 2]\n %p: i32[3,2] = const [0, 0, 2, 0, 2, 1]\n %d: i32[2] = "
     "const [3, 2]\n %w: f32[3] = const [1, 2, -1]\n %y: f32[3,2] = EMBEDDING_LOOKUP_SPARSE(%i, %p, %d, %w, %x) "
     "{combiner=SUM}"},
    {"FAKE_QUANT", "(%x: f32[2,5]) -> (%y) {\n %y: f32[2,5] = FAKE_QUANT(%x) {min=-3.2, max=5.0, num_bits=4}"},
    {"RANGE", "(%x: f32[]) -> (%y) {\n %l: f32[] = const [9]\n %d: f32[] = const [2]\n %s: "
              "f32[] = const [1]\n %y: f32[4] = RANGE(%s, %l, %d)"},
    {"REDUCE_WINDOW",
     "(%x: f32[4,3]) -> (%y) {\n %o: f32[] = const [1]\n %w: i64[2] = const [2, 2]\n %s: i64[2] = const [2, 1]\n %d: "
     "i64[2] = const [1, 1]\n %y: f32[2,2] = REDUCE_WINDOW(%x, %o, %w, %s, %d) {reduce_function=ADD}"},
    {"UNIQUE", "(%x: f32[7]) -> (%y, %i) {\n %y: f32[7?], %i: i32[7] = UNIQUE(%x) {idx_out_type=INT32}"},
    {"WHERE", "(%x: f32[3,4]) -> (%y) {\n %y: i64[12?,2] = WHERE(%x)"},
    {"GRU", "(%x: f32[3,2,2], %w: f32[6,2], %b: f32[6], %s: f32[1,2,2]) -> (%y) {\n %h: f32[6,2] = const [1, -1, 0, 2, "
            "1, 1, 0, "
            "1, -1, 2, 1, 0]\n %y: f32[3,2,2] = GRU(%x, %h, %b, %w, %b, %s) {fused_activation_function=NONE, "
            "return_sequences=true}"},
    {"LSTM",
     "(%x: f32[2,3], %w: f32[2,3], %r: f32[2,2], %b: f32[2]) -> (%y) {\n %h: f32[2,2] variable\n %c: f32[2,2] "
     "variable\n %y: f32[2,2] = LSTM(%x, %w, %w, %w, %w, %r, %r, %r, %r, _, _, _, %b, %b, %b, %b, _, _, %h, %c) "
     "{fused_activation_function=TANH, cell_clip=2.0}"},
    {"UNIDIRECTIONAL_SEQUENCE_LSTM",
     "(%x: f32[2,3,3], %w: f32[2,3], %r: f32[2,2], %b: f32[2]) -> (%y) {\n %h: f32[2,2] variable\n %c: f32[2,2] "
     "variable\n %y: f32[2,3,2] = UNIDIRECTIONAL_SEQUENCE_LSTM(%x, %w, %w, %w, %w, %r, %r, %r, %r, %b, %b, %b, %b, %b, "
     "%b, %b, %r, %b, %h, %c, %b, %b, %b, %b) {fused_activation_function=TANH}"},
    {"BIDIRECTIONAL_SEQUENCE_LSTM",
     "(%x: f32[2,3,3], %w: f32[2,3], %r: f32[2,2], %b: f32[2]) -> (%y) {\n %h: f32[2,2] variable\n %c: f32[2,2] "
     "variable\n %k: f32[2,2] variable\n %d: f32[2,2] variable\n %y: f32[2,3,4] = BIDIRECTIONAL_SEQUENCE_LSTM("
     "%x, %w, %w, %w, %w, %r, %r, %r, %r, _, _, _, %b, %b, %b, %b, _, _, %w, %w, %w, %w, %r, %r, %r, %r, _, _, _, %b, "
     "%b, "
     "%b, %b, _, _, %h, %c, %k, %d, _, _, _, _, _, _, _, _, _) {fused_activation_function=TANH, merge_outputs=true, "
     "time_major=false}"},
    {"RNN", "(%x: f32[2,3], %w: f32[4,3], %r: f32[4,4], %b: f32[4]) -> (%y) {\n %h: f32[2,4] variable\n %y: f32[2,4] = "
            "RNN(%x, %w, %r, %b, %h) {fused_activation_function=RELU}"},
    {"UNIDIRECTIONAL_SEQUENCE_RNN",
     "(%x: f32[2,3,3], %w: f32[4,3], %r: f32[4,4], %b: f32[4]) -> (%y) {\n %h: f32[2,4] variable\n %y: f32[2,3,4] = "
     "UNIDIRECTIONAL_SEQUENCE_RNN(%x, %w, %r, %b, %h) {fused_activation_function=RELU6}"},
    {"BIDIRECTIONAL_SEQUENCE_RNN",
     "(%x: f32[2,3,3], %w: f32[4,3], %r: f32[4,4], %b: f32[4]) -> (%y) {\n %h: f32[2,4] variable\n %k: f32[2,4] "
     "variable\n %y: f32[2,3,8] = BIDIRECTIONAL_SEQUENCE_RNN(%x, %w, %r, %b, %h, %w, %r, %b, %k, _, _, _) "
     "{fused_activation_function=RELU6, merge_outputs=true, time_major=false}"},
    {"SVDF",
     "(%x: f32[2,3], %w: f32[4,3], %t: f32[4,5], %b: f32[2]) -> (%y) {\n %h: f32[2,20] variable\n %y: f32[2,2] = "
     "SVDF(%x, %w, %t, %b, %h) {rank=2, fused_activation_function=RELU}"},
    {"TRANSPOSE_CONV", "(%x: f32[1,3,3,2], %w: f32[3,3,3,2], %b: f32[3]) -> (%y) {\n %s: i32[4] = const [1, 6, 6, 3]\n "
                       "%y: f32[1,6,6,3] = TRANSPOSE_CONV(%s, %w, %x, %b) {padding=SAME, stride_w=2, stride_h=2}"},
};

/// Every exact kernel computes what the reference engine does, on integers, of which floats hold all sums and products.
TEST(ExactKernels, AreTheReferenceKernels) {
  std::set<std::string> tested;
  for (const KernelCase &one : kernelCases) {
    SCOPED_TRACE(one.name);
    tested.insert(one.name);
    std::unique_ptr<Model> graph = sourceOf(model("subgraph @main" + std::string(one.body) + "\n}\n"));
    ASSERT_TRUE(graph);
    graph->number();
    const Subgraph &main = *graph->subgraphs.front();
    auto session = compile(*graph);
    ASSERT_TRUE(bool(session)) << llvm::toString(session.takeError());
    for (const Arithmetic &math : {Arithmetic::mersenne(1), Arithmetic::drawn(1)}) {
      Machine machine(math, nullptr, {});
      std::map<const Value *, Held> held;
      std::vector<OwnedTensor> inputs;
      int number = 3;
      for (const Value *input : main.inputs) {
        auto made = machine.make(*input, input->type, input->shape);
        ASSERT_TRUE(bool(made));
        OwnedTensor stored{input->type, made->tensor.shape, {}};
        const bool isComplex = input->type == TensorType::COMPLEX64;
        size_t count = static_cast<size_t>(made->tensor.count()) * (isComplex ? 2 : 1);
        stored.bytes.resize(made->isReal() || isComplex ? count * sizeof(float) : count);
        for (size_t i = 0; i < count; ++i) {
          number = (number * 7 + 5) % 11; // −4 … 6, with equal ones among them
          auto real = static_cast<float>(number - 4);
          if (made->isReal()) {
            made->numbers()[i] = math.of(static_cast<double>(real));
            std::memcpy(stored.bytes.data() + i * sizeof(float), &real, sizeof(float));
          } else if (isComplex) {
            std::memcpy(stored.bytes.data() + i * sizeof(float), &real, sizeof(float));
            std::memcpy(made->block->bytes.data() + i * sizeof(float), &real, sizeof(float));
          } else {
            stored.bytes[i] = made->block->bytes[i] = static_cast<uint8_t>(number);
          }
        }
        held[input] = std::move(*made);
        inputs.push_back(std::move(stored));
      }
      auto outputs = session->run(std::vector<TensorRef>(inputs.begin(), inputs.end()));
      ASSERT_TRUE(bool(outputs)) << llvm::toString(outputs.takeError());
      for (const Operator &op : main.operators) {
        llvm::SmallVector<Held> operands;
        for (const Use &use : op.operands()) {
          if (!use.get()) {
            operands.emplace_back();
            continue;
          }
          if (!held.count(use.get())) // a variable begins with zeros
            held[use.get()] =
                llvm::cantFail(use.get()->isVariable ? machine.make(*use.get(), use.get()->type, use.get()->shape)
                                                     : machine.constant(*use.get()));
          operands.push_back(held[use.get()]);
        }
        auto results = machine.compute(op, operands);
        ASSERT_TRUE(bool(results)) << llvm::toString(results.takeError());
        EXPECT_EQ((*results)[0].opaque, "");
        for (auto [result, made] : llvm::zip_equal(op.results(), *results))
          held[result] = made;
      }
      const Held &made = held[main.outputs.front()];
      const OwnedTensor &wanted = outputs->front().tensor;
      ASSERT_EQ(llvm::ArrayRef(made.tensor.shape), llvm::ArrayRef(wanted.shape));
      if (!made.isReal()) {
        EXPECT_EQ(made.block->bytes, wanted.bytes);
        continue;
      }
      const auto *floats = reinterpret_cast<const float *>(wanted.bytes.data());
      for (size_t i = 0; i < made.numbers().size(); ++i) {
        const Number &exactly = made.numbers()[i];
        auto real = static_cast<double>(floats[i]);
        EXPECT_NEAR(exactly.value, real, 1e-5 * std::max(1., std::fabs(real))) << i;
        // Of integers and of what floats hold, the image too.
        if (real == std::nearbyint(real) && std::fabs(exactly.value - real) <= exactly.error && !made.usesFunctions &&
            exactly.error == 0) {
          EXPECT_EQ(exactly.image, math.of(real).image) << i;
        }
      }
    }
  }
  // What is random has none, nor RFFT2D, whose roots of unity are irrational; DENSIFY changes no number.
  const std::set<llvm::StringRef> without{"CUSTOM",         "DENSIFY", "MULTINOMIAL", "RANDOM_STANDARD_NORMAL",
                                          "RANDOM_UNIFORM", "RFFT2D"};
  std::set<BuiltinOperator> exact;
  for (const ExactKernel &kernel : exactKernels())
    exact.insert(kernel.code);
  for (const Kernel &kernel : allKernels()) {
    const OperatorInfo *info = operatorInfo(kernel.code);
    if (kernel.types.contains("f32") && !exact.count(kernel.code) && !onlyMoves(kernel.code)) {
      EXPECT_TRUE(without.count(info->name)) << info->name.str() << " has no exact kernel";
    }
  }
  for (const ExactKernel &kernel : exactKernels())
    EXPECT_TRUE(tested.count(operatorInfo(kernel.code)->name.str()))
        << operatorInfo(kernel.code)->name.str() << " has no case";
}

/// A rule that is wrong by a little. Each is found, whatever the seed.
TEST(Proof, WrongRulesAreFound) {
  using namespace rewrite;
  auto x = any(), y = any(), c = constant(), d = constant();
  auto one = [](llvm::StringLiteral name, Expr pattern, Expr instead) {
    return Rule{name, "not this", pattern, instead};
  };
  struct Wrong {
    Rule rule;
    std::string graph;
  };
  // Without what is dead: that it goes would be a rewrite of its own.
  auto graph = [&](llvm::StringRef body) {
    std::string text = "subgraph @main(%x: f32[32,4], %w: f32[32,4]) -> (%y) {\n";
    if (body.contains("%c"))
      text += " %c: f32[4] = const [0.3, 1.7, -2.5, 3.1]\n";
    if (body.contains("%d"))
      text += " %d: f32[4] = const [1.1, 0.2, 5.3, -0.7]\n";
    return model(text + body.str() + "}\n");
  };
  const std::string product = graph("%y: f32[32,4] = MUL(%x, %c)\n"), sum = graph("%y: f32[32,4] = ADD(%x, %c)\n"),
                    both = graph("%p: f32[32,4] = MUL(%x, %c)\n %y: f32[32,4] = ADD(%p, %d)\n"),
                    difference = graph("%y: f32[32,4] = SUB(%x, %w)\n"),
                    quotient = graph("%y: f32[32,4] = DIV(%x, %w)\n"),
                    clip = graph("%r: f32[32,4] = RELU6(%x)\n %y: f32[32,4] = NEG(%r)\n"),
                    exponent = graph("%y: f32[32,4] = EXP(%x)\n"), tangent = graph("%y: f32[32,4] = TANH(%x)\n"),
                    largest = graph("%y: f32[32,4] = MAXIMUM(%x, %w)\n"),
                    root = graph("%a: f32[32,4] = ABS(%x)\n %y: f32[32,4] = SQRT(%a)\n"),
                    twice = graph("%k: f32[] = const [2]\n %y: f32[32,4] = MUL(%x, %k)\n"),
                    negated = graph("%y: f32[32,4] = NEG(%x)\n"), squared = graph("%y: f32[32,4] = SQUARE(%x)\n"),
                    rounded = graph("%y: f32[32,4] = FLOOR(%x)\n"), cosine = graph("%y: f32[32,4] = COS(%x)\n"),
                    gate = graph("%y: f32[32,4] = LOGISTIC(%x)\n"), magnitude = graph("%y: f32[32,4] = ABS(%x)\n"),
                    distance = graph("%y: f32[32,4] = SQUARED_DIFFERENCE(%x, %w)\n"),
                    swish = graph("%y: f32[32,4] = HARD_SWISH(%x)\n"),
                    softmax = graph("%y: f32[32,4] = SOFTMAX(%x) {beta=1.0}\n"),
                    logarithm = graph("%s: f32[32,4] = SQUARE(%x)\n %y: f32[32,4] = LOG(%s)\n");
  const Wrong wrongs[] = {
      {one("factor", x * c, x * fold(c * 1.00000012)), product},
      {one("addend", x + c, x + fold(c + 0.0000002)), sum},
      {one("three", x + c, x + fold(c * 3.000001 / 3)), sum},
      {one("distributes", x * c + d, (x + d) * c), both},
      {one("folds", x * c + d, x * c + fold(d * c)), both},
      {one("loses", x * c + d, x * fold(c * 1 + d * 0)), both},
      {one("swapped", x - y, y - x), difference},
      {one("quotient", x / y, y / x), quotient},
      {one("inverse", x / y, x * (1.0000001 / y)), quotient},
      {one("six", relu6(x), op(Op::RELU, {x})), clip},
      {one("clip", relu6(x), op(Op::MINIMUM, {x, Expr(6.0)})), clip},
      {one("bound", relu6(x), op(Op::MINIMUM, {op(Op::RELU, {x}), Expr(6.000001)})), clip},
      {one("exponent", op(Op::EXP, {x}), op(Op::EXP, {x * 1.0000001})), exponent},
      {one("power", op(Op::EXP, {x}), op(Op::EXP, {x}) * 1.0000001), exponent},
      {one("tanh", tanh(x), 2 * op(Op::LOGISTIC, {2.0000002 * x}) - 1), tangent},
      {one("tanhs", tanh(x), op(Op::LOGISTIC, {2 * x}) - 1), tangent},
      {one("larger", op(Op::MAXIMUM, {x, y}), op(Op::MINIMUM, {x, y})), largest},
      {one("relu", op(Op::MAXIMUM, {x, y}), x + relu6(y - x)), largest},
      {one("root", sqrt(x), x * 0.5), root},
      {one("rootOfTwo", sqrt(x), sqrt(2 * x) / 2147483648.0), root},
      {one("power61", x * c, x * fold(c * 2305843009213693952.0)), product}, // 2⁶¹, which is 1 modulo 2⁶¹ − 1
      {one("double", 2 * x, x + x * 1.0000001), twice},
      {one("minus", -x, 0.0000001 - x), negated},
      {one("cube", square(x), x * square(x)), squared},
      {one("nearSquare", square(x), (x + 0.0000001) * x), squared},
      {one("ceiling", op(Op::FLOOR, {x}), op(Op::CEIL, {x})), rounded},
      {one("belowHalf", op(Op::FLOOR, {x}), op(Op::ROUND, {x - 0.4})), rounded},
      {one("sine", op(Op::COS, {x}), op(Op::SIN, {x + 1.5707963})), cosine},
      {one("odd", op(Op::COS, {x}), -op(Op::COS, {-x})), cosine},
      {one("slope", op(Op::LOGISTIC, {x}), op(Op::LOGISTIC, {1.0000001 * x})), gate},
      {one("other", op(Op::LOGISTIC, {x}), op(Op::LOGISTIC, {-x})), gate},
      {one("ofExponential", op(Op::LOGISTIC, {x}), 1.0 / (1.0000001 + op(Op::EXP, {-x}))), gate},
      {one("positive", op(Op::ABS, {x}), op(Op::RELU, {x})), magnitude},
      {one("leaks", op(Op::ABS, {x}), op(Op::MAXIMUM, {x, -0.9999999 * x})), magnitude},
      {one("differences", squaredDifference(x, y), square(x) - square(y)), distance},
      {one("sums", squaredDifference(x, y), square(x + y)), distance},
      {one("sixth", hardSwish(x), x * (relu6(x + 3) * 0.1666667)), swish},
      {one("four", hardSwish(x), x * relu6(x + 4) / 6), swish},
      {one("base", op(Op::LOG, {x}), op(Op::LOG, {2 * x})), logarithm},
      {one("scaled", op(Op::SOFTMAX, {x}), op(Op::SOFTMAX, {2 * x}).withReal("beta", 1)), softmax},
  };
  EXPECT_EQ(std::size(wrongs), 40u);
  for (uint64_t seed : {1, 77, 20261})
    for (const Wrong &wrong : wrongs) {
      SCOPED_TRACE(wrong.rule.name.str());
      Pass pass{"wrong", "wrong", origo::Phase::Recognise, false, {}, {wrong.rule}};
      Pipeline pipeline;
      pipeline.add(pass);
      auto proved = proveText(wrong.graph, pipeline, {.seed = seed}, 1);
      ASSERT_TRUE(bool(proved)) << llvm::toString(proved.takeError());
      EXPECT_TRUE(proved->wrong) << "equal: " << proved->proof.equal << ", assumed: " << proved->proof.assumed;
      if (proved->wrong) {
        EXPECT_TRUE(llvm::StringRef(proved->wrong->text).starts_with("rewrite ")) << proved->wrong->text;
      }
    }
}

llvm::Expected<ProvedRun> proveRule(const Rule &rule, llvm::StringRef body) {
  Pass pass{"one", "one", origo::Phase::Recognise, false, {}, {rule}};
  Pipeline pipeline;
  pipeline.add(pass);
  return proveText(model(("subgraph @main(%x: f32[32,4]) -> (%y) {\n" + body + "}\n").str()), pipeline, {}, 1);
}

/// What a rule takes numbers for is in the proof if the rule says that it does so.
TEST(Proof, AssumptionsAreDeclared) {
  using namespace rewrite;
  auto x = any();
  const Rule silent{"sixth", "not this", x * about({1, 6}), x / 6};
  const char *const graph = " %c: f32[] = const [0.16666667]\n %y: f32[32,4] = MUL(%x, %c)\n";
  auto wrong = proveRule(silent, graph);
  ASSERT_TRUE(bool(wrong)) << llvm::toString(wrong.takeError());
  EXPECT_TRUE(wrong->wrong);
  auto declared = proveRule(Rule(silent).assumes("0.16666667 is a sixth"), graph);
  ASSERT_TRUE(bool(declared)) << llvm::toString(declared.takeError());
  EXPECT_FALSE(declared->wrong) << declared->wrong->text;
  EXPECT_EQ(declared->proof.assumptions, std::vector<std::string>{"0.166666672 is 1 / 6 (one)"});
  // What is declared does not cover what is not: another number, or another thing that is made of it.
  for (const Expr &other : {x / 6.000001, x / 7, -x / 6}) {
    auto proved =
        proveRule(Rule{"sixth", "not this", x * about({1, 6}), other}.assumes("0.16666667 is a sixth"), graph);
    ASSERT_TRUE(bool(proved)) << llvm::toString(proved.takeError());
    EXPECT_TRUE(proved->wrong);
  }
  // Nothing is assumed of a number that is what it is taken for.
  auto exact = proveRule(Rule{"half", "not this", x * about({1, 2}), x / 2}.assumes("nothing"),
                         " %c: f32[] = const [0.5]\n %y: f32[32,4] = MUL(%x, %c)\n");
  ASSERT_TRUE(bool(exact)) << llvm::toString(exact.takeError());
  EXPECT_FALSE(exact->wrong);
  EXPECT_TRUE(exact->proof.assumptions.empty());
}

/// An operator without an exact kernel is the same for the same operands, options and state, and nothing else is known.
TEST(Proof, FunctionsOfTheirOperands) {
  auto proveTexts = [](llvm::StringRef before, llvm::StringRef after) {
    auto was = sourceOf(model(before)), is = sourceOf(model(after));
    was->number();
    is->number();
    return llvm::cantFail(prove(*was, *is, {}));
  };
  struct Functions {
    const char *name, *before, *same, *other;
  };
  const std::string head = "subgraph @main(%x: f32[4], %w: f32[4]) -> (%y) {\n %z: f32[4] = NEG(%x)\n ";
  const Functions cases[] = {
      {"CUSTOM", "%y: f32[4] = CUSTOM \"Foo\"(%z, %w)\n}\n", "%y: f32[4] = CUSTOM \"Foo\"(%z, %w)\n}\n",
       "%y: f32[4] = CUSTOM \"Foo\"(%w, %z)\n}\n"},
      {"CUSTOM", "%y: f32[4] = CUSTOM \"Foo\"(%z)\n}\n", "%y: f32[4] = CUSTOM \"Foo\"(%z)\n}\n",
       "%y: f32[4] = CUSTOM \"Bar\"(%z)\n}\n"},
  };
  for (const Functions &one : cases) {
    Proof same = proveTexts(head + one.before, head + one.same),
          other = proveTexts(head + one.before, head + one.other);
    EXPECT_TRUE(same.undecided.empty() && same.different.empty()) << one.same;
    EXPECT_GT(same.functions[one.name], 0u) << one.same;
    EXPECT_EQ(other.functions.count(one.name), 0u) << one.other;
    EXPECT_GT(other.undecided[std::string(one.name) + " has no exact kernel"], 0u) << one.other;
  }
}

/// Variables hold anything at first, and what is left in them counts.
TEST(Proof, Variables) {
  auto proveSums = [](llvm::StringRef kept) {
    auto text = [](llvm::StringRef kept) {
      return model(("subgraph @main(%x: f32[4]) -> (%y) {\n"
                    " %h: resource[] = VAR_HANDLE() {container=\"\", shared_name=\"v\"}\n"
                    " %r: f32[4] = READ_VARIABLE(%h)\n %s: f32[4] = ADD(%r, %x)\n"
                    " %d: f32[4] = SUB(%r, %x)\n ASSIGN_VARIABLE(%h, " +
                    kept + ")\n %y: f32[4] = ADD(%s, %d)\n}\n")
                       .str());
    };
    auto was = sourceOf(text("%s")), is = sourceOf(text(kept));
    was->number();
    is->number();
    Proof proof = llvm::cantFail(prove(*was, *is, {}));
    std::vector<std::string> names;
    for (const Difference &difference : proof.different)
      names.push_back(difference.value->name.str());
    return std::pair(std::move(proof), std::move(names));
  };
  auto [same, none] = proveSums("%s");
  EXPECT_TRUE(same.undecided.empty());
  EXPECT_EQ(none, std::vector<std::string>());
  EXPECT_GE(same.equal, 6u);
  EXPECT_EQ(proveSums("%d").second, std::vector<std::string>{"h"});
}

/// Rules that are not equal in exact arithmetic, each with the true reason.
const std::pair<const char *, const char *> notEqual[] = {
    {"(recognise-gelu / two-products, ", "weights are in the proportion 1 : √½ but for the rounding of both"},
};

TEST(Proof, GoldenCases) {
  unsigned proved = 0, partly = 0;
  std::map<std::string, unsigned> reasons, failed;
  std::set<std::string> wrong; // reasons
  for (const std::string &name : goldenFiles()) {
    auto buffer = llvm::MemoryBuffer::getFile(goldenFolder() + "/" + name + ".txt");
    ASSERT_TRUE(bool(buffer)) << name;
    for (const Case &item : readCases((*buffer)->getBuffer())) {
      if (llvm::StringRef(item.expected).starts_with("error: "))
        continue;
      llvm::Expected<Pipeline> pipeline = pipelineOf(item);
      ASSERT_TRUE(bool(pipeline));
      if (changesNumbers(*pipeline))
        continue;
      auto run = proveText(item.input, *pipeline);
      if (!run) {
        ++failed[llvm::toString(run.takeError())];
        continue;
      }
      if (run->wrong) {
        const auto *known = llvm::find_if(
            notEqual, [&](const auto &one) { return llvm::StringRef(run->wrong->text).contains(one.first); });
        if (known == std::end(notEqual))
          ADD_FAILURE() << name << ": " << item.run << '\n' << run->wrong->text << '\n' << item.input;
        else
          wrong.insert(known->second);
        continue;
      }
      (run->proof.undecided.empty() ? proved : partly) += 1;
      for (const auto &[reason, count] : run->proof.undecided)
        reasons[reason] += count;
    }
  }
  llvm::outs() << "golden cases: " << proved << " proved, " << partly << " in parts, " << wrong.size()
               << " reasons why others are not\n";
  for (const auto &[reason, count] : reasons)
    llvm::outs() << "  " << count << " tensors undecided: " << reason << '\n';
  for (const auto &[reason, count] : failed)
    llvm::outs() << "  " << count << " cannot be run: " << reason << '\n';
  llvm::outs().flush();
  EXPECT_EQ(wrong.size(), std::size(notEqual)) << "a reason that no case shows any more";
  EXPECT_GE(proved, 600u);
  EXPECT_LE(failed.size(), 17u) << "what cannot be run must not become more";
}

/// What integers leave in a state is compared, and tells another state apart.
TEST(Proof, StatesOfIntegersAreComputed) {
  auto svdf = [](llvm::StringRef filter) {
    return sourceOf(model("subgraph @main(%x: i8[2,4] q{scale=0.1, zero_point=3}) -> (%y) {\n"
                          " %f: i8[6,4] q{scale=0.02, zero_point=0} = const seed " +
                          filter.str() +
                          " uniform -127 127\n"
                          " %t: i16[6,5] q{scale=0.001, zero_point=0} = const seed 4 uniform -999 999\n"
                          " %s: i16[2,30] q{scale=0.01, zero_point=0} variable\n"
                          " %y: i8[2,3] q{scale=0.3, zero_point=7} = SVDF(%x, %f, %t, _, %s) {rank=2}\n}\n"));
  };
  auto before = svdf("1"), after = svdf("1"), other = svdf("2");
  ASSERT_TRUE(before && after && other);
  auto same = prove(*before, *after, Recipes());
  ASSERT_TRUE(bool(same)) << llvm::toString(same.takeError());
  EXPECT_EQ(same->equal, 3u); // the result, it as an output, and the state that is left
  EXPECT_TRUE(same->undecided.empty() && same->different.empty() && same->functions.empty());
  auto wrong = prove(*before, *other, Recipes());
  ASSERT_TRUE(bool(wrong)) << llvm::toString(wrong.takeError());
  EXPECT_FALSE(wrong->different.empty());
}

TEST(Proof, FailsClosed) {
  // Nothing is compared.
  auto none = proveText(model("subgraph @main(%x: f32[2]) -> () {\n}\n"), Pipeline::o1());
  EXPECT_FALSE(bool(none));
  llvm::consumeError(none.takeError());
  // No time, no memory.
  const std::string text = model("subgraph @main(%x: f32[64,64], %w: f32[64,64]) -> (%y) {\n"
                                 " %y: f32[64,64] = FULLY_CONNECTED(%x, %w)\n}\n");
  auto late = proveText(text, Pipeline::o1(), {.limits = {.deadline = std::chrono::steady_clock::now()}});
  ASSERT_FALSE(bool(late));
  EXPECT_NE(llvm::toString(late.takeError()).find("takes longer than allowed"), std::string::npos);
  auto large = proveText(text, Pipeline::o1(), {.limits = {.memory = 100000}});
  ASSERT_FALSE(bool(large));
  EXPECT_NE(llvm::toString(large.takeError()).find("more than 100000 bytes"), std::string::npos);
  // What has no exact kernel is a function, equal for equal operands and options; and undecided where that is not so.
  auto open =
      proveText(model("subgraph @main(%x: f32[4]) -> (%y) {\n %y: f32[4] = CUSTOM \"Foo\"(%x)\n}\n"), Pipeline());
  ASSERT_TRUE(bool(open)) << llvm::toString(open.takeError());
  EXPECT_GT(open->proof.equal, 0u);
  EXPECT_EQ(open->proof.functions.count("CUSTOM"), 1u);
}

/// A size that an input says. Most numbers are none, so that inputs are drawn again; but what only the result refuses
/// is no reason for that.
TEST(Proof, InputsThatTheSourceRefusesAreDrawnAgain) {
  const std::string sized = model("subgraph @main(%x: f32[6,2], %n: f32[1,1]) -> (%y) {\n"
                                  " %b: i32[2] = const [0, 0]\n %two: i32[1] = const [2]\n %r: i32[1] = const [1]\n"
                                  " %c: i32[1,1] = CAST(%n)\n %s: i32[1] = RESHAPE(%c, %r)\n"
                                  " %e: i32[2] = CONCATENATION(%s, %two) {axis=0}\n %o: i32[2] = const [1, 1]\n"
                                  " %p: f32[1?,1?] = STRIDED_SLICE(%x, %b, %e, %o)\n"
                                  " %q: f32[1?,1?] = RESHAPE(%p, %e)\n %y: f32[1?,1?] = NEG(%q)\n}\n");
  for (uint64_t seed : {1, 2, 3, 4, 5, 6}) {
    auto proved = proveText(sized, Pipeline::o1(), {.seed = seed});
    ASSERT_TRUE(bool(proved)) << llvm::toString(proved.takeError());
    EXPECT_TRUE(proved->proof.different.empty());
    EXPECT_GT(proved->proof.equal, 0u);
  }
  auto before = sourceOf(model("subgraph @main(%x: f32[4], %n: f32[1]) -> (%y) {\n %y: f32[4] = NEG(%x)\n}\n"));
  auto after = sourceOf(model("subgraph @main(%x: f32[4], %n: f32[1]) -> (%y) {\n %c: i32[1] = CAST(%n)\n"
                              " %y: f32[4] = RESHAPE(%x, %c)\n}\n"));
  auto refused = prove(*before, *after, Recipes());
  ASSERT_FALSE(bool(refused));
  EXPECT_NE(llvm::toString(refused.takeError()).find("RESHAPE"), std::string::npos);
}

} // namespace
