#include "eval/Session.h"
#include "ir/text/Text.h"

#include <gtest/gtest.h>

using namespace origo;
using namespace origo::eval;

// Slices, reductions, selection, scattering, lookups: what no model of the shared folder covers, from the published
// formulas, and operands that must be refused.

namespace {

/// Runs a graph of these statements, one a line or with `;` between them; its result is %y.
llvm::Expected<OwnedTensor> compute(std::string lines) {
  std::replace(lines.begin(), lines.end(), ';', '\n');
  PayloadStore store;
  auto model = parseText("origo 1\nmodel circle version 0\nsubgraph @main() -> (%y) {\n" + lines + "\n}\n", "", store);
  if (!model)
    return model.takeError();
  auto session = compile(**model);
  if (!session)
    return session.takeError();
  auto results = session->run(Inputs{});
  if (!results)
    return results.takeError();
  return std::move(results->at(0).tensor);
}

template <class T> std::vector<T> valuesOf(const OwnedTensor &tensor) {
  std::vector<T> values(tensor.bytes.size() / sizeof(T));
  std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
  return values;
}

/// What the lines make, as "[shape] values", or the error.
template <class T> std::string shown(const std::string &lines) {
  auto result = compute(lines);
  if (!result)
    return llvm::toString(result.takeError());
  std::string text = "[";
  for (size_t i = 0; i < result->shape.size(); ++i)
    text += (i ? "," : "") + std::to_string(result->shape[i]);
  text += "]";
  for (T value : valuesOf<T>(*result)) {
    llvm::raw_string_ostream os(text);
    os << ' ' << +value;
  }
  return text;
}

TEST(MovingKernels, ComputeIntegers) {
  const std::pair<const char *, const char *> cases[] = {
      {R"(%x: i32[2,3] = const [1, 2, 3, 4, 5, 6]
          %b: i32[2] = const [-1, -1]; %e: i32[2] = const [0, -9]; %s: i32[2] = const [1, -2]
          %y: i32[2] = STRIDED_SLICE(%x, %b, %e, %s) {shrink_axis_mask=1})",
       "[2] 6 4"},
      {R"(%x: i32[2,2] = const [1, 2, 3, 4]
          %b: i32[3] = const [0, 0, 1]; %e: i32[3] = const [0, 0, 2]; %s: i32[3] = const [1, 1, 1]
          %y: i32[2,1,1] = STRIDED_SLICE(%x, %b, %e, %s) {ellipsis_mask=1, new_axis_mask=2})",
       "[2,1,1] 2 4"},
      {R"(%x: i32[2,2] = const [1, 2, 3, 4]; %a: i32[2] = const [0, -2]
          %y: i32[1,2] = SUM(%x, %a) {keep_dims=true})",
       "[1,2] 4 6"},
      {R"(%x: i32[4] = const [1, 2, 3, -1]; %a: i32[1] = const [0]
          %y: i32 = MEAN(%x, %a))",
       "[] 1"},
      {R"(%c: bool[3] = const [false, true, true]
          %y: i64[2,1] = WHERE(%c))",
       "[2,1] 1 2"},
      {R"(%i: i32[3,1] = const [1, 3, 1]; %u: i32[3] = const [10, 20, 30]; %s: i32[1] = const [4]
          %y: i32[4] = SCATTER_ND(%i, %u, %s))",
       "[4] 0 40 0 20"},
      {R"(%x: i32[2,4] = const [1, 2, 3, 4, 5, 6, 7, 8]; %l: i32[2] = const [3, 2]
          %y: i32[2,4] = REVERSE_SEQUENCE(%x, %l) {seq_dim=1})",
       "[2,4] 3 2 1 4 6 5 7 8"},
      {R"(%x: i32[3] = const [1, 2, 3]; %a: i32 = const [0]
          %y: i32[3] = CUMSUM(%x, %a) {exclusive=true, reverse=true})",
       "[3] 5 3 0"},
      {R"(%x: i32[3] = const [4, 5, 6]; %i: i32[3] = const [2, -1, 2]; %n: i32 = const [3]
          %y: i32[3] = UNSORTED_SEGMENT_PROD(%x, %i, %n))",
       "[3] 1 1 24"},
      {R"(%x: i32[2,2] = const [1, 2, 3, 4]; %u: i32[1,2] = const [8, 9]; %b: i32[2] = const [7, -7]
          %y: i32[2,2] = DYNAMIC_UPDATE_SLICE(%x, %u, %b))",
       "[2,2] 1 2 8 9"},
      {R"(%a: i32 = const [7]; %b: i32 = const [0]; %d: i32 = const [-3]
          %y: i32[3] = RANGE(%a, %b, %d))",
       "[3] 7 4 1"},
      {R"(%a: i64[2] = const [3, 1]; %b: i64[3] = const [2, 1, 5]
          %y: i64[3] = BROADCAST_ARGS(%a, %b))",
       "[3] 2 3 5"},
      {R"(%x: i32[3] = const [1, 2, 3]; %p: i32[1,2] = const [2, 3]
          %y: i32[8] = MIRROR_PAD(%x, %p) {mode=SYMMETRIC})",
       "[8] 2 1 1 2 3 3 2 1"},
      {R"(%l: i32[3] = const [5, 6, 9]; %k: i32[2] = const [5, 9]; %v: i32[2] = const [50, 90]
          %y: i32[3], %h: u8[3] = HASHTABLE_LOOKUP(%l, %k, %v))",
       "[3] 50 0 90"},
  };
  for (auto [lines, expected] : cases) {
    bool wide = llvm::StringRef(lines).contains("%y: i64");
    EXPECT_EQ(wide ? shown<int64_t>(lines) : shown<int32_t>(lines), expected) << lines;
  }
}

TEST(MovingKernels, ComputeQuantized) {
  // real: (2 + 4 + 6) · 0.5 = 6, and with the result's scale of 2 and zero point 1: 6 / 2 + 1
  EXPECT_EQ(shown<int8_t>(R"(%x: i8[3] q{scale=0.5, zero_point=-1} = const [1, 3, 5]; %a: i32[1] = const [0]
      %y: i8 q{scale=2, zero_point=1} = SUM(%x, %a))"),
            "[] 4");
  EXPECT_EQ(shown<int8_t>(R"(%x: i8[3] q{scale=0.5, zero_point=-1} = const [1, 3, 5]; %a: i32[1] = const [0]
      %y: i8 q{scale=0.25, zero_point=1} = MEAN(%x, %a))"),
            "[] 9");
  // 1 · 2 · 3 = 6
  EXPECT_EQ(shown<int8_t>(R"(%x: i8[3] q{scale=0.5, zero_point=-1} = const [1, 3, 5]; %a: i32[1] = const [0]
      %y: i8 q{scale=0.125, zero_point=1} = REDUCE_PROD(%x, %a))"),
            "[] 49");
  EXPECT_EQ(shown<uint8_t>(R"(%a: u8[2] q{scale=1, zero_point=0} = const [3, 200]
      %b: u8[1] q{scale=0.5, zero_point=100} = const [110]
      %y: u8[3] q{scale=0.5, zero_point=10} = CONCATENATION(%a, %b) {axis=0})"),
            "[3] 16 255 20");
  EXPECT_EQ(shown<int8_t>(R"(%a: i8[2] q{scale=1, zero_point=0} = const [3, -100]
      %b: i8[1] q{scale=0.5, zero_point=-10} = const [-20]
      %y: i8[3] q{scale=0.5, zero_point=10} = CONCATENATION(%a, %b) {axis=0})"),
            "[3] 16 -128 0");
  EXPECT_EQ(shown<float>(R"(%l: i32[2] = const [1, 0]
      %t: i8[2,2] q{scale=[0.5, 2], zero_point=[0, 0]} = const [1, -2, 3, -4]
      %y: f32[2,2] = EMBEDDING_LOOKUP(%l, %t))"),
            "[2,2] 6.000000e+00 -8.000000e+00 5.000000e-01 -1.000000e+00");
}

TEST(MovingKernels, GatherStrings) {
  auto result = compute(R"(%x: str[3] = const ["one", "", "three"]; %i: i32[4] = const [2, 1, 0, 2]
      %p: str[4] = GATHER(%x, %i); %s: i32[2] = const [2, 2]
      %y: str[2,2] = RESHAPE(%p, %s))");
  ASSERT_TRUE(static_cast<bool>(result)) << llvm::toString(result.takeError());
  EXPECT_EQ(result->shape, (Shape{2, 2}));
  std::string bytes(result->bytes.begin(), result->bytes.end());
  EXPECT_EQ(bytes.substr(0, 24), std::string("\4\0\0\0\x18\0\0\0\x1d\0\0\0\x1d\0\0\0\x20\0\0\0\x25\0\0\0", 24));
  EXPECT_EQ(bytes.substr(24), "threeonethree");
}

TEST(MovingKernels, RefuseWhatIsImpossible) {
  const char *cases[] = {
      "%x: i32[2] = const [1, 2]; %b: i32[1] = const [0]; %s: i32[1] = const [0]\n"
      "%y: i32[2] = STRIDED_SLICE(%x, %b, %b, %s)",
      "%x: i32[2] = const [1, 2]; %b: i32[1] = const [2]; %s: i32[1] = const [1]\n"
      "%y: i32 = STRIDED_SLICE(%x, %b, %b, %s) {shrink_axis_mask=1}",
      "%x: i32[2] = const [1, 2]; %b: i32[2] = const [0, 0]\n"
      "%y: i32[2] = STRIDED_SLICE(%x, %b, %b, %b)",
      "%x: i32[2] = const [1, 2]; %b: i32[1] = const [-1]; %s: i32[1] = const [1]\n"
      "%y: i32[1] = SLICE(%x, %b, %s)",
      "%x: i32[2] = const [1, 2]; %a: i32[1] = const [1]\n%y: i32 = SUM(%x, %a)",
      "%x: i32[0] = const []; %a: i32[1] = const [0]\n%y: i32 = MEAN(%x, %a)",
      "%x: f32[2,0] = const []; %a: i32 = const [1]\n%y: i32[2] = ARG_MAX(%x, %a)",
      "%x: f32[2] = const [1, 2]; %k: i32 = const [3]\n%y: f32[3], %i: i32[3] = TOPK_V2(%x, %k)",
      "%x: f32[2] = const [1, 2]; %p: i32[1,2] = const [2, 0]\n%y: f32[4] = MIRROR_PAD(%x, %p)",
      "%x: f32[2] = const [1, 2]; %i: i32[1,1] = const [2]\n%y: f32[1] = GATHER_ND(%x, %i)",
      "%x: f32[2] = const [1, 2]; %i: i32[1,2] = const [0, 0]\n%y: f32[1] = GATHER_ND(%x, %i)",
      "%i: i32[1,1] = const [-1]; %u: f32[1] = const [1]; %s: i32[1] = const [4]\n%y: f32[4] = SCATTER_ND(%i, %u, %s)",
      "%i: i32[1,1] = const [0]; %u: f32[1] = const [1]; %s: i32[1] = const [0]\n%y: f32[0] = SCATTER_ND(%i, %u, %s)",
      "%i: i32[1,1] = const [0]; %u: f32[1] = const [1]; %s: i32[4] = const [2147483647, 2147483647, 2147483647, 0]\n"
      "%y: f32[4] = SCATTER_ND(%i, %u, %s)",
      "%x: f32[2,1] = const [1, 2]; %b: i32[1] = const [0]; %p: i32[1,2] = const [0, 0]\n"
      "%y: f32[2,1] = SPACE_TO_BATCH_ND(%x, %b, %p)",
      "%x: f32[2,1] = const [1, 2]; %b: i32[1] = const [2]; %p: i32[1,2] = const [2, 2]\n"
      "%y: f32[1,0] = BATCH_TO_SPACE_ND(%x, %b, %p)",
      "%x: f32[1,2,2,1] = const [1, 2, 3, 4]\n%y: f32[1,1,1,4] = SPACE_TO_DEPTH(%x)",
      "%x: f32[2] = const [1, 2]; %t: i32[1] = const [2147483647]\n%y: f32[2] = TILE(%x, %t)",
      "%x: f32[2] = const [1, 2]; %a: i32[2] = const [0, 0]\n%y: f32[2] = REVERSE_V2(%x, %a)",
      "%x: f32[2,2] = const [1, 2, 3, 4]; %l: i32[2] = const [1, 3]\n"
      "%y: f32[2,2] = REVERSE_SEQUENCE(%x, %l) {seq_dim=1}",
      "%x: f32[2] = const [1, 2]; %i: i32[2] = const [1, 0]\n%y: f32[2] = SEGMENT_SUM(%x, %i)",
      "%x: f32[2] = const [1, 2]; %i: i32[2] = const [0, 2]; %n: i32 = const [2]\n"
      "%y: f32[2] = UNSORTED_SEGMENT_SUM(%x, %i, %n)",
      "%a: f32 = const [0]; %b: f32 = const [1]\n%y: f32[1] = RANGE(%a, %b, %a)",
      "%x: str[2] = const hex\"02000000100000001100000040000000\"; %i: i32[1] = const [0]\n"
      "%y: str[1] = GATHER(%x, %i)",
      "%l: i32[1] = const [2]; %v: f32[2,1] = const [1, 2]\n%y: f32[1,1] = EMBEDDING_LOOKUP(%l, %v)",
      "%x: i8[2] q{scale=1, zero_point=0} = const [1, 2]; %a: i32[1] = const [0]\n"
      "%y: i8 q{scale=2, zero_point=0} = REDUCE_MAX(%x, %a)",
  };
  for (const char *lines : cases) {
    auto result = compute(lines);
    ASSERT_FALSE(static_cast<bool>(result)) << lines;
    size_t refused = 0;
    llvm::handleAllErrors(
        result.takeError(), [&](const EvalError &error) { refused += error.code == ErrorCode::BadOperand; },
        [&](const llvm::ErrorInfoBase &error) { ADD_FAILURE() << error.message() << "\n"
                                                              << lines; });
    EXPECT_EQ(refused, 1u) << lines;
  }
}

} // namespace
