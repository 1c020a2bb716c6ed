#include "report/target/Target.h"
#include "tests/Sessions.h"

#include "flatbuffers/flexbuffers.h"
#include "llvm/ADT/StringExtras.h"

#include <cmath>

/// Kernels of custom operators, by the formulas that docs/kernels.md refers to.

using namespace origo;
using namespace origo::test;

namespace {

/// Little-endian words, as MediaPipe's operators have their options.
std::string words(std::initializer_list<int32_t> numbers) {
  std::string bytes;
  for (int32_t number : numbers)
    for (int shift = 0; shift < 32; shift += 8)
      bytes += static_cast<char>(static_cast<uint32_t>(number) >> shift);
  return llvm::toHex(bytes, /*LowerCase=*/true);
}

/// A graph of one custom operator. What our own limits let through has to compile, and the other way round.
llvm::Expected<std::vector<NamedTensor>> runCustom(const std::string &inputs, const std::string &results,
                                                   const std::string &outputs, const std::string &op,
                                                   const std::string &options, llvm::ArrayRef<TensorRef> given) {
  auto model = parse("origo 1\nmodel circle version 0\nsubgraph @main(" + inputs + ") -> (" + outputs + ") {\n  " +
                     results + " = CUSTOM " + op + " custom hex\"" + options + "\"\n}\n");
  if (!model)
    return llvm::createStringError("no model");
  bool isSupported = report::checkTarget(*model, report::opSupportLimits()).empty();
  auto session = compile(*model);
  EXPECT_EQ(static_cast<bool>(session), isSupported) << op;
  if (!session)
    return session.takeError();
  return session->run(given);
}

std::vector<float> first(llvm::Expected<std::vector<NamedTensor>> results, size_t i = 0) {
  if (results)
    return floatsOf((*results)[i].tensor);
  ADD_FAILURE() << llvm::toString(results.takeError());
  return {};
}

TEST(MediaPipe, TransposeConvolution) {
  std::vector<float> x = {1, 2}, filter = {1, 10, 100}, bias = {0.5f};
  auto run = [&](int32_t padding) {
    return first(runCustom("%x: f32[1,1,2,1], %f: f32[1,1,3,1], %b: f32[1]", "%y: f32[1,1,4?,1]", "%y",
                           "\"Convolution2DTransposeBias\"(%x, %f, %b)", words({padding, 2, 1}),
                           {floats({1, 1, 2, 1}, x), floats({1, 1, 3, 1}, filter), floats({1}, bias)}));
  };
  // 1 10 100 at 0, 2 20 200 at 2; SAME cuts 3 − (1 mod 2) − 1 = 1, half of it, rounded down, before the first.
  EXPECT_EQ(run(1), (std::vector<float>{1.5f, 10.5f, 102.5f, 20.5f}));
  EXPECT_EQ(run(2), (std::vector<float>{1.5f, 10.5f, 102.5f, 20.5f, 200.5f}));
}

TEST(MediaPipe, PoolingAndBack) {
  std::vector<float> x = {1, 4, 4, -2, -3, 7};
  auto pooled =
      runCustom("%x: f32[1,2,3,1]", "%y: f32[1,1,2,1], %i: f32[1,1,2,1]", "%y, %i", "\"MaxPoolingWithArgmax2D\"(%x)",
                words({1, 2, 2, 2, 2, 3, -1, -1}), {floats({1, 2, 3, 1}, x)});
  ASSERT_TRUE(static_cast<bool>(pooled)) << llvm::toString(pooled.takeError());
  EXPECT_EQ(floatsOf((*pooled)[0].tensor), (std::vector<float>{4, 6})); // clamped
  std::vector<float> indices = floatsOf((*pooled)[1].tensor);
  EXPECT_EQ(indices, (std::vector<float>{1.1f, 2.1f})); // the first of equal ones
  std::vector<float> values = {5, 6};
  auto unpool = [&](std::vector<float> at) {
    return runCustom("%x: f32[1,1,2,1], %i: f32[1,1,2,1]", "%y: f32[1,2,4,1]", "%y", "\"MaxUnpooling2D\"(%x, %i)",
                     words({2, 2, 2, 2, 2}), {floats({1, 1, 2, 1}, values), floats({1, 1, 2, 1}, at)});
  };
  EXPECT_EQ(first(unpool(indices)), (std::vector<float>{0, 5, 0, 0, 0, 0, 6, 0}));
  for (float wrong : {-1.f, 4.f, NAN, 1e30f})
    EXPECT_NE(llvm::toString(unpool({0, wrong}).takeError()).find("an index outside"), std::string::npos) << wrong;
  int32_t whole[] = {5, 0};
  EXPECT_EQ(first(runCustom("%x: f32[1,1,2,1], %i: i32[1,1,2,1]", "%y: f32[1,2,4,1]", "%y",
                            "\"MaxUnpooling2D\"(%x, %i)", words({1, 2, 2, 2, 2}),
                            {floats({1, 1, 2, 1}, values), tensor<int32_t>(TensorType::INT32, {1, 1, 2, 1}, whole)})),
            (std::vector<float>{6, 0, 0, 0, 0, 5, 0, 0}));
}

TEST(MediaPipe, BadOptionsAreRefused) {
  std::vector<float> x = {1, 2};
  for (auto [options, reason] :
       {std::pair(words({1, 2, 2}), "too short"), std::pair(words({3, 2, 2, 2, 2, 0}), "padding"),
        std::pair(words({1, 0, 2, 2, 2, 0}), "below 1"), std::pair(words({1, 2, 2, 2, 2, 9}), "activation")}) {
    auto results = runCustom("%x: f32[1,1,2,1]", "%y: f32[1,1,1,1], %i: f32[1,1,1,1]", "%y, %i",
                             "\"MaxPoolingWithArgmax2D\"(%x)", options, {floats({1, 1, 2, 1}, x)});
    ASSERT_FALSE(static_cast<bool>(results)) << reason;
    EXPECT_NE(llvm::toString(results.takeError()).find(reason), std::string::npos) << reason;
  }
}

/// Three boxes, the first two of which overlap by half, and two labels beside the background.
std::vector<std::vector<float>> detections(bool regular, int32_t mostOfABox, float limit) {
  flexbuffers::Builder options;
  options.Map([&] {
    options.Int("max_detections", 3);
    options.Int("max_classes_per_detection", mostOfABox);
    options.Int("num_classes", 2);
    options.Bool("use_regular_nms", regular);
    options.Float("nms_score_threshold", 0.25f);
    options.Float("nms_iou_threshold", limit);
    for (const char *scale : {"y_scale", "x_scale", "h_scale", "w_scale"})
      options.Float(scale, 1);
  });
  options.Finish();
  std::vector<float> boxes(12, 0.f), scores = {0, 0.5f, 0.25f, 0, 0.75f, 0.5f, 0, 0.125f, 0.125f};
  std::vector<float> anchors = {0.5f, 1, 1, 2, 0.5f, 0.5f, 1, 1, 5, 5, 1, 1};
  auto results = runCustom("%b: f32[1,3,4], %s: f32[1,3,3], %a: f32[3,4]", "%p: f32[], %q: f32[], %r: f32[], %n: f32[]",
                           "%p, %q, %r, %n", "\"TFLite_Detection_PostProcess\"(%b, %s, %a)",
                           llvm::toHex(options.GetBuffer(), true),
                           {floats({1, 3, 4}, boxes), floats({1, 3, 3}, scores), floats({3, 4}, anchors)});
  std::vector<std::vector<float>> all;
  if (results)
    for (const NamedTensor &result : *results)
      all.push_back(floatsOf(result.tensor));
  else
    ADD_FAILURE() << llvm::toString(results.takeError());
  return all;
}

TEST(Detection, BoxesWithTheirBestLabels) {
  using Lists = std::vector<std::vector<float>>;
  // The second box is better, and the third below the least score. What counts is boxes.
  EXPECT_EQ(detections(false, 1, 0.4f), (Lists{{0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0}, {0, 0, 0}, {0.75f, 0, 0}, {1}}));
  EXPECT_EQ(detections(false, 1, 0.5f),
            (Lists{{0, 0, 1, 1, 0, 0, 1, 2, 0, 0, 0, 0}, {0, 0, 0}, {0.75f, 0.5f, 0}, {2}})); // not more than the limit
  Lists two = detections(false, 2, 0.5f);
  EXPECT_EQ(two[1], (std::vector<float>{0, 1, 0, 1, 0, 0}));
  EXPECT_EQ(two[2], (std::vector<float>{0.75f, 0.5f, 0.5f, 0.25f, 0, 0}));
  EXPECT_EQ(two[3], std::vector<float>{2});
}

TEST(Detection, EachLabelByItself) {
  auto all = detections(true, 1, 0.5f);
  EXPECT_EQ(all[0], (std::vector<float>{0, 0, 1, 1, 0, 0, 1, 2, 0, 0, 1, 1}));
  EXPECT_EQ(all[1], (std::vector<float>{0, 0, 1}));
  EXPECT_EQ(all[2], (std::vector<float>{0.75f, 0.5f, 0.5f}));
  EXPECT_EQ(all[3], std::vector<float>{3});
}

/// What nobody can compute says which operator it is.
TEST(CustomKernels, TheCodeOfOneWithoutAKernelIsNamed) {
  auto outputs = runCustom("%x: f32[4]", "%y: f32[4]", "%y", "\"Mine\\x1b\"(%x)", "", {});
  ASSERT_FALSE(static_cast<bool>(outputs));
  std::string error = llvm::toString(outputs.takeError());
  EXPECT_NE(error.find("operator 0 (CUSTOM) \"Mine\\x1b\": no kernel for f32 -> f32"), std::string::npos) << error;
}

} // namespace
