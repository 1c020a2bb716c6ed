#include "tests/Engines.h"

using namespace origo;
using namespace origo::test;

/// Convolutions of 3x3 by Winograd's method. The model states an image that is large enough for it; those of the runs
/// are of any size. tests/CMakeLists.txt runs all of these for lesser processors, too.

namespace {

struct Form {
  int depth = 16, results = 16;
  const char *padding = "SAME", *activation = "NONE";
  bool bias = true, adds = false;
  const char *pad = ""; ///< amounts of a PAD before it
  bool half = false;    ///< weights are stored as float16
};

std::string textOf(const Form &form) {
  std::string depth = std::to_string(form.depth), results = std::to_string(form.results), image = "f32[1?,40?,40?,";
  std::string filter = "[" + results + ",3,3," + depth + "] = ";
  std::string body = (form.half ? "%h: f16" + filter + "const splat 0.125\n%w: f32" + filter + "DEQUANTIZE(%h)\n"
                                : "%w: f32" + filter + "const seed 1 uniform -0.2 0.2\n") +
                     "%b: f32[" + results + "] = const seed 2 uniform -1 1\n";
  if (*form.pad)
    body += std::string("%a: i32[4,2] = const [0, 0, ") + form.pad + ", 0, 0]\n%p: f32 = PAD(%x, %a)\n";
  body += "%c: " + image + results + "] = CONV_2D(" + (*form.pad ? "%p" : "%x") + ", %w, " + (form.bias ? "%b" : "_") +
          ") {padding=" + form.padding + ", stride_w=1, stride_h=1, fused_activation_function=" + form.activation +
          "}\n";
  if (form.adds)
    body += "%y: " + image + results + "] = ADD(%z, %c) {fused_activation_function=RELU}\n";
  return "origo 1\nmodel circle version 0\nsubgraph @main(%x: " + image + depth + "]" +
         (form.adds ? ", %z: " + image + results + "]" : "") + ") -> (" + (form.adds ? "%y" : "%c") + ") {\n" + body +
         "}\n";
}

using Image = std::array<int, 3>; ///< how many, height, width

std::vector<float> numbers(const Image &image, int depth, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> made(static_cast<size_t>(image[0]) * image[1] * image[2] * depth);
  for (float &number : made)
    number = static_cast<float>(random() % 2001) / 1000 - 1;
  return made;
}

/// Numbers as close as 1e-5 of their range.
void expectClose(llvm::ArrayRef<float> expected, llvm::ArrayRef<float> actual, const std::string &text) {
  ASSERT_EQ(expected.size(), actual.size()) << text;
  float range = 0;
  for (float number : expected)
    if (std::isfinite(number))
      range = std::max(range, std::fabs(number));
  for (size_t i = 0; i < expected.size(); ++i)
    if (std::isnan(expected[i]))
      ASSERT_TRUE(std::isnan(actual[i])) << text << i << ": " << actual[i];
    else if (std::isinf(expected[i]))
      ASSERT_EQ(expected[i], actual[i]) << text << i;
    else
      ASSERT_NEAR(expected[i], actual[i], range * 1e-5f) << text << i;
}

/// One session for all images, so that each run finds the memory of the one before.
void agree(const Form &form, llvm::ArrayRef<Image> images,
           llvm::function_ref<void(std::vector<float> &)> change = nullptr) {
  std::string text = textOf(form);
  auto model = parse(text);
  ASSERT_TRUE(model) << text;
  auto reference = compile(*model);
  ASSERT_TRUE(!!reference) << text;
  for (unsigned threads : {1u, 2u, 3u}) {
    CompileOptions options = fastOptions();
    options.threads = threads;
    auto fast = compile(*model, options);
    ASSERT_TRUE(!!fast) << text;
    State state;
    RunOptions run;
    run.state = &state;
    for (const Image &image : images) {
      auto x = numbers(image, form.depth, 1), z = numbers(image, form.results, 2);
      if (change)
        change(x);
      std::vector<TensorRef> inputs{floats({image[0], image[1], image[2], form.depth}, x)};
      if (form.adds) // of the result's size
        inputs.push_back(floats({image[0], image[1], image[2], form.results}, z));
      expectClose(runFloats(*reference, inputs), runFloats(*fast, inputs, run),
                  text + std::to_string(image[0]) + "x" + std::to_string(image[1]) + "x" + std::to_string(image[2]) +
                      " on " + std::to_string(threads) + ", ");
    }
    // Without AVX2, convolutions of what is not finite are the reference's.
    EXPECT_TRUE(change || fast->coverage().reference.empty()) << text;
  }
}

const Image some[] = {{1, 13, 18}, {3, 8, 9}};

TEST(FastWinograd, ImagesOfAnySize) {
  std::vector<Image> images, large;
  for (int height : {1, 2, 3, 4, 5, 8})
    for (int width : {1, 2, 3, 4, 7, 12, 33, 70})
      for (int batch : {1, 3}) {
        images.push_back({batch, height, width});
        if (height > 2 && width > 2)
          large.push_back({batch, height, width});
      }
  agree({32, 32, "SAME", "RELU"}, images);
  agree({32, 32, "VALID", "RELU"}, large);
}

TEST(FastWinograd, ChannelsOfAnyNumber) {
  for (int depth : {16, 17, 23, 24, 31, 32, 33, 40, 64, 100})
    agree({depth, 32}, some);
  for (int results : {16, 17, 23, 24, 31, 32, 33, 40, 47, 48, 49, 64, 100})
    agree({32, results}, some);
  agree({128, 128}, some);
}

TEST(FastWinograd, Activations) {
  for (const char *activation : {"NONE", "RELU", "RELU6", "RELU_N1_TO_1"})
    for (bool bias : {false, true})
      agree({32, 24, "SAME", activation, bias}, some);
}

TEST(FastWinograd, PadsBefore) {
  for (const char *pad : {"1, 1, 1, 1", "0, 3, 2, 0", "5, 0, 0, 4", "0, 0, 0, 0"})
    agree({24, 32, "VALID", "RELU6", true, false, pad}, some);
}

TEST(FastWinograd, AdditionsBehind) {
  std::vector<Image> images(std::begin(some), std::end(some));
  for (int width : {1, 2, 3, 15, 32, 34, 35, 70})
    images.push_back({2, 5, width}), images.push_back({1, 16, width});
  agree({32, 40, "SAME", "NONE", true, true}, images);
  agree({32, 32, "VALID", "RELU", true, true, "1, 1, 1, 1"}, images);
}

/// More weights than pixels, and more than a cache has room for.
TEST(FastWinograd, ThreadsDivideChannels) {
  for (int results : {100, 128})
    agree({100, results, "SAME", "NONE", true, true}, some);
  agree({128, 80, "SAME", "RELU6"}, some, [&](std::vector<float> &x) {
    for (size_t i = 7; i < x.size(); i += 5003)
      x[i] = std::numeric_limits<float>::infinity();
  });
}

/// Differences of pixels are no numbers there, or are out of bounds, and what they are parts of is a number.
TEST(FastWinograd, NumbersThatAreInfinite) {
  constexpr float infinity = std::numeric_limits<float>::infinity();
  for (const char *activation : {"NONE", "RELU", "RELU6"}) {
    for (float odd : {infinity, -infinity, std::nanf(""), 3e38f})
      agree({32, 32, "SAME", activation}, some, [&](std::vector<float> &x) {
        for (size_t i = 37; i < x.size(); i += 1501)
          x[i] = odd;
      });
    agree({32, 32, "SAME", activation, true, false, "", true}, some,
          [&](std::vector<float> &x) { x[x.size() / 2] = infinity; });
    agree({32, 32, "SAME", activation}, some, [&](std::vector<float> &x) {
      for (float &number : x)
        number = number * 1e36f + 9e37f;
    });
  }
}

/// Weights of which sums are infinite are not for this method, but for another one.
TEST(FastWinograd, WeightsThatAreInfinite) {
  for (const char *weight : {"inf", "nan", "3e38"}) {
    std::string text = "origo 1\nmodel circle version 0\nsubgraph @main(%x: f32[1,18,18,32]) -> (%y) {\n"
                       "%w: f32[32,3,3,32] = const splat " +
                       std::string(weight) +
                       "\n%b: f32[32] = const splat 1\n%y: f32[1,16,16,32] = CONV_2D(%x, %w, %b) {padding=VALID, "
                       "stride_w=1, stride_h=1, fused_activation_function=NONE}\n}\n";
    auto model = parse(text);
    ASSERT_TRUE(model) << text;
    auto reference = compile(*model), fast = compile(*model, fastOptions());
    ASSERT_TRUE(reference && fast);
    std::vector<float> x(18 * 18 * 32, 2e-38f);
    std::vector<TensorRef> inputs{floats({1, 18, 18, 32}, x)};
    expectClose(runFloats(*reference, inputs), runFloats(*fast, inputs), text);
  }
}

/// Each thread has its rows of squares, and numbers are what they are on one.
TEST(FastWinograd, ThreadsChangeNoNumber) {
  auto model = parse(textOf({48, 40, "SAME", "RELU", true, true}));
  ASSERT_TRUE(model);
  auto x = numbers({2, 23, 37}, 48, 1), z = numbers({2, 23, 37}, 40, 2);
  std::vector<TensorRef> inputs{floats({2, 23, 37, 48}, x), floats({2, 23, 37, 40}, z)};
  std::vector<float> first;
  for (unsigned threads : {1u, 2u, 3u, 5u}) {
    CompileOptions options = fastOptions();
    options.threads = threads;
    auto fast = compile(*model, options);
    ASSERT_TRUE(!!fast);
    auto made = runFloats(*fast, inputs);
    if (first.empty())
      first = made;
    EXPECT_EQ(first, made) << threads;
  }
}

} // namespace
