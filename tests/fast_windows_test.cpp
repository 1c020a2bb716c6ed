#include "eval/Execution.h"
#include "eval/fast/Processor.h"
#include "tests/Engines.h"

using namespace origo;
using namespace origo::test;

/// Convolutions of Engine::Fast, and the PADs before them. tests/CMakeLists.txt runs all of these for lesser
/// processors, too.

namespace {

std::string numbers(int64_t count) {
  std::string text;
  for (int64_t i = 0; i < count; ++i)
    text += (i ? ", " : "") + std::to_string((i * 7 + i / 5) % 19 - 9) + "e-1";
  return text;
}

struct Shape4 {
  int height, width, depth;
};

struct Form {
  Shape4 image;
  int results, height, width, stride = 1, dilation = 1; ///< results: of each channel if depthwise; 0: one
  const char *padding = "SAME", *activation = "NONE";
};

/// %y from %x, which the image itself is called or what a line before makes of it.
std::string convolution(const Form &f, bool depthwise) {
  auto dims = [&](int first, int last) {
    return std::to_string(first) + "," + std::to_string(f.height) + "," + std::to_string(f.width) + "," +
           std::to_string(last);
  };
  int times = std::max(1, f.results), results = depthwise ? f.image.depth * times : f.results;
  std::string filter = depthwise ? dims(1, results) : dims(results, f.image.depth);
  int64_t count = int64_t(f.height) * f.width * results * (depthwise ? 1 : f.image.depth);
  std::string stride = std::to_string(f.stride), dilation = std::to_string(f.dilation);
  return "%w: f32[" + filter + "] = const [" + numbers(count) + "]\n%b: f32[" + std::to_string(results) +
         "] = const [" + numbers(results) + "]\n%y: f32 = " + (depthwise ? "DEPTHWISE_CONV_2D" : "CONV_2D") +
         "(%x, %w, %b) {padding=" + f.padding + ", stride_w=" + stride + ", stride_h=" + stride +
         ", dilation_w_factor=" + dilation + ", dilation_h_factor=" + dilation +
         ", fused_activation_function=" + f.activation +
         (depthwise ? ", depth_multiplier=" + std::to_string(times) + "}\n" : "}\n");
}

std::string image(const Shape4 &shape, int batch = 2) {
  return "f32[" + std::to_string(batch) + "," + std::to_string(shape.height) + "," + std::to_string(shape.width) + "," +
         std::to_string(shape.depth) + "]";
}

/// `fast`: operators that are not left to the reference.
void agree(const std::string &text, size_t fast) {
  auto model = parse(text);
  ASSERT_TRUE(model) << text;
  for (unsigned threads : threadCounts()) {
    CompileOptions options = fastOptions();
    options.threads = threads;
    Difference difference = compare(*model, text, 1, options);
    ASSERT_TRUE(difference.ran) << text;
    EXPECT_LE(difference.floats, 1e-5) << text;
    EXPECT_EQ(difference.steps, 0) << text;
    EXPECT_EQ(difference.coverage.fast.size(), fast) << text;
  }
}

std::string graph(const std::string &input, const std::string &lines, const std::string &results = "%y") {
  return "origo 1\nmodel circle version 0\nsubgraph @main(" + input + ") -> (" + results + ") {\n" + lines + "}\n";
}

void agree(const Form &form, bool depthwise) {
  agree(graph("%x: " + image(form.image), convolution(form, depthwise)), 1);
}

TEST(FastWindows, Convolutions) {
  // Channels around the widths of vectors, pixels around those of tiles.
  for (int results : {1, 7, 8, 9, 16, 17, 31, 33, 48})
    for (int width : {1, 5, 8, 19})
      agree({{3, width, 3}, results, 1, 1}, false);
  for (const char *padding : {"SAME", "VALID"})
    for (int stride : {1, 2, 3})
      for (int dilation : {1, 2})
        if (stride == 1 || dilation == 1)
          for (auto [height, width] : {std::pair(3, 3), std::pair(1, 4), std::pair(5, 2), std::pair(2, 1)})
            agree({{11, 13, 5}, 18, height, width, stride, dilation, padding, "RELU"}, false);
  agree({{70, 60, 4}, 20, 3, 3, 2, 1, "SAME", "RELU6"}, false); // more than one task
  agree({{90, 1, 2}, 9, 33, 1, 2, 1, "SAME", "RELU_N1_TO_1"},
        false); // a column, with hardly a pixel away from its ends
  agree({{1, 90, 2}, 9, 1, 33, 1, 1, "VALID"}, false);
  agree({{4, 4, 3}, 5, 7, 7}, false); // all windows are larger than the image
}

/// How the bytes of a convolution are to be read: of uint8 if weights have a zero point.
struct Bytes {
  int inputZero;
  std::optional<int> weightZero;
};

/// With scales whose products are integers: nothing is rounded, and many sums reach the ends of what bytes hold.
std::string byteConvolution(const Form &f, Bytes bytes, bool depthwise) {
  std::string scales, weights, bias, type = bytes.weightZero ? "u8" : "i8";
  int times = std::max(1, f.results), results = depthwise ? f.image.depth * times : f.results,
      outputZero = bytes.weightZero ? 119 : -9;
  int64_t taps = int64_t(f.height) * f.width * (depthwise ? 1 : f.image.depth);
  for (int c = 0; c < results; ++c) {
    scales += (c ? ", " : "") + std::to_string(1 << c % 3);
    bias += (c ? ", " : "") + std::to_string(c * 37 % 200 - 100);
  }
  for (int64_t i = 0; i < taps * results; ++i)
    weights += (i ? ", " : "") +
               std::to_string((taps < 8 || i % 5 == 0 ? (i * 83 + i / 7) % 4 - 1 : 0) + bytes.weightZero.value_or(0));
  std::string filter = "[" + std::to_string(depthwise ? 1 : results) + "," + std::to_string(f.height) + "," +
                       std::to_string(f.width) + "," + std::to_string(depthwise ? results : f.image.depth) + "] q{";
  filter += bytes.weightZero ? "scale=2, zero_point=" + std::to_string(*bytes.weightZero)
                             : "scale=[" + scales + "]" +
                                   (results == 1 ? ""
                                    : depthwise  ? ", dim=3"
                                                 : ", dim=0");
  std::string stride = std::to_string(f.stride), dilation = std::to_string(f.dilation);
  return graph("%x: " + type + image(f.image).substr(3) + " q{scale=1, zero_point=" + std::to_string(bytes.inputZero) +
                   "}",
               "%w: " + type + filter + "} = const [" + weights + "]\n%b: i32[" + std::to_string(results) +
                   "] = const [" + bias + "]\n%y: " + type + " q{scale=1, zero_point=" + std::to_string(outputZero) +
                   "} = " + (depthwise ? "DEPTHWISE_CONV_2D" : "CONV_2D") + "(%x, %w, %b) {padding=" + f.padding +
                   ", stride_w=" + stride + ", stride_h=" + stride + ", dilation_w_factor=" + dilation +
                   ", dilation_h_factor=" + dilation + ", fused_activation_function=" + f.activation +
                   (depthwise ? ", depth_multiplier=" + std::to_string(times) + "}\n" : "}\n"));
}

void agreeInBytes(const Form &form, bool depthwise) {
  for (Bytes bytes : {Bytes{-128, {}}, {5, {}}, {0, 128}, {3, 127}, {130, 1}})
    agree(byteConvolution(form, bytes, depthwise), 1);
}

TEST(FastWindows, ConvolutionsOfBytes) {
  for (int results : {1, 2, 15, 16, 17, 32, 33, 48})
    for (int depth : {1, 3, 4, 21})
      agreeInBytes({{3, 5, depth}, results, 1, 1}, false);
  for (const char *padding : {"SAME", "VALID"})
    for (int stride : {1, 2, 4})
      for (int dilation : {1, 2})
        if (stride == 1 || dilation == 1)
          for (auto [height, width] : {std::pair(3, 3), std::pair(1, 4), std::pair(5, 2), std::pair(2, 1)})
            agreeInBytes({{11, 13, 5}, 18, height, width, stride, dilation, padding, "RELU"}, false);
  agreeInBytes({{9, 12, 24}, 20, 3, 3}, false);                        // sums of more than a vector
  agreeInBytes({{70, 60, 4}, 20, 3, 3, 2, 1, "SAME", "RELU6"}, false); // more than one task
  agreeInBytes({{4, 4, 3}, 5, 7, 7}, false);                           // all windows are larger than the image
}

TEST(FastWindows, DepthwiseConvolutionsOfBytes) {
  for (int depth : {1, 3, 7, 8, 9, 15, 16, 17, 40})
    for (int width : {1, 7, 20, 45})
      agreeInBytes({{4, width, depth}, 0, 3, 3, 1, 1, "SAME", "RELU"}, true);
  for (const char *padding : {"SAME", "VALID"})
    for (int stride : {1, 2})
      for (int dilation : {1, 2})
        if (stride == 1 || dilation == 1)
          for (auto [height, width] : {std::pair(3, 3), std::pair(5, 5), std::pair(1, 4)})
            agreeInBytes({{11, 13, 24}, 0, height, width, stride, dilation, padding, "RELU6"}, true);
  agreeInBytes({{80, 70, 12}, 0, 3, 3}, true);
  for (int times : {2, 3, 8, 21})
    for (int depth : {1, 4, 24})
      for (int stride : {1, 2})
        agreeInBytes({{11, 13, depth}, times, 3, 3, stride, 1, "SAME", "RELU"}, true);
  for (int size : {3, 5})
    agreeInBytes({{21, 45, 24}, 0, size, size, 2, 1, "SAME", "RELU"}, true);
}

TEST(FastWindows, DepthwiseConvolutions) {
  for (int depth : {1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 40})
    for (int width : {1, 7, 20, 45})
      agree({{4, width, depth}, 0, 3, 3, 1, 1, "SAME", "RELU"}, true);
  for (const char *padding : {"SAME", "VALID"})
    for (int stride : {1, 2, 3})
      for (int dilation : {1, 2})
        if (stride == 1 || dilation == 1)
          for (int depth : {3, 24})
            for (auto [height, width] : {std::pair(3, 3), std::pair(5, 5), std::pair(1, 4)})
              agree({{11, 13, depth}, 0, height, width, stride, dilation, padding, "RELU6"}, true);
  agree({{80, 70, 12}, 0, 3, 3, 1, 1, "SAME", "NONE"}, true);
  for (int times : {2, 3, 8, 21})
    for (int depth : {1, 4, 24})
      for (int stride : {1, 2})
        agree({{11, 13, depth}, times, 3, 3, stride, 1, "VALID", "RELU"}, true);
  for (int size : {3, 5})
    agree({{21, 45, 24}, 0, size, size, 2, 1, "SAME", "RELU"}, true); // places that neighbours of a stride share
  agree({{7, 300, 16}, 0, 3, 3, 1, 1, "VALID", "NONE"}, true);        // rows too long for pairs
}

/// Weights and biases that are given to each run.
TEST(FastWindows, ConvolutionsWithComputedWeights) {
  const char *options = "padding=SAME, stride_w=1, stride_h=2, dilation_w_factor=1, dilation_h_factor=1";
  for (const char *depth : {"3", "20"})
    for (const char *bias : {"", ", %b"}) {
      std::string d = depth, x = "%x: f32[2,11,13," + d + "], ";
      agree(graph(x + "%w: f32[18,3,3," + d + "]" + (*bias ? ", %b: f32[18]" : ""),
                  std::string("%y: f32 = CONV_2D(%x, %w") + bias + ") {" + options + "}\n"),
            1);
      agree(graph("%i: f32[2,11,13," + d + "], %w: f32[18,3,3," + d + "]" + (*bias ? ", %b: f32[18]" : ""),
                  "%p: i32[4,2] = const [0, 0, 1, 2, 2, 1, 0, 0]\n%x: f32 = PAD(%i, %p)\n%y: f32 = CONV_2D(%x, %w" +
                      std::string(bias) + ") {padding=VALID, stride_w=1, stride_h=1}\n"),
            2);
      agree(
          graph(x + "%w: f32[1,3,3," + d + "]" + (*bias ? ", %b: f32[" + d + "]" : ""),
                std::string("%y: f32 = DEPTHWISE_CONV_2D(%x, %w") + bias + ") {depth_multiplier=1, " + options + "}\n"),
          1);
    }
}

/// The steps whose work a convolution does.
size_t folded(const std::string &text) {
  auto model = parse(text);
  CompileOptions options = fastOptions();
  model->number();
  Planner planner(options);
  planner.plan(*model->subgraphs[0]);
  EXPECT_FALSE(llvm::errorToBool(planner.takeErrors()));
  FastKernels kernels = FastKernels::choose(planner.plans, options.memoryLimit);
  size_t count = 0;
  for (const eval::Step &step : planner.plans.front().steps)
    count += step.folded;
  return count;
}

std::string pad(const std::string &amounts, const std::string &more = "") {
  return "%p: i32[4,2] = const [" + amounts + "]\n%x: f32 = " + (more.empty() ? "PAD(%i, %p)" : "PADV2(%i, %p, %v)") +
         "\n";
}

TEST(FastWindows, ConvolutionsPad) {
  Form form{{6, 9, 5}, 18, 3, 3, 2, 1, "VALID", "RELU"}, same = form;
  same.padding = "SAME";
  std::string in = "%i: " + image(form.image);
  for (bool depthwise : {false, true})
    for (const char *amounts : {"0, 0, 1, 1, 1, 1, 0, 0", "0, 0, 0, 3, 2, 0, 0, 0", "0, 0, 0, 0, 0, 0, 0, 0"}) {
      std::string text = graph(in, pad(amounts) + convolution(form, depthwise));
      agree(text, 2);
      EXPECT_EQ(folded(text), 1u) << text;
    }
  std::string zero = "%v: f32[1] = const [0]\n", one = "%v: f32[1] = const [1]\n", plain = "0, 0, 1, 1, 1, 1, 0, 0";
  std::string conv = convolution(form, false);
  EXPECT_EQ(folded(graph(in, zero + pad(plain, "v") + conv)), 1u);
  // Ones, other dimensions, more padding, another reader, an output: by itself.
  for (const std::string &text :
       {graph(in, one + pad(plain, "v") + conv), graph(in, pad("1, 0, 0, 0, 0, 0, 0, 0") + conv),
        graph(in, pad(plain) + convolution(same, false)), graph(in, pad(plain) + conv, "%y, %x"),
        graph(in, pad(plain) + conv + "%z: f32 = RELU(%x)\n", "%y, %z")}) {
    agree(text, llvm::StringRef(text).contains("RELU(%x)") ? 3 : 2);
    EXPECT_EQ(folded(text), 0u) << text;
  }
}

/// XNNPACK pads with the zero point of the image.
TEST(FastWindows, IntegerConvolutionsPad) {
  std::string q = " q{scale=0.5, zero_point=3}", other = " q{scale=0.25, zero_point=3}";
  auto text = [&](const std::string &padded) {
    return graph("%i: i8[1,4,5,2]" + q, "%p: i32[4,2] = const [0, 0, 1, 1, 2, 0, 0, 0]\n%x: i8" + padded +
                                            " = PAD(%i, %p)\n%w: i8[3,2,2,2] q{scale=0.25, zero_point=0} = const [1, "
                                            "2, 3, 4, 5, 6, 7, 8, 9, 8, 7, 6, 5, 4, "
                                            "3, 2, 1, 2, 3, 4, 5, 6, 7, 8]\n%b: i32[3] = const [1, 2, 3]\n%y: i8 "
                                            "q{scale=2.0, zero_point=1} = CONV_2D(%x, "
                                            "%w, %b) {padding=VALID, stride_w=1, stride_h=1}\n");
  };
  auto model = parse(text(q));
  ASSERT_TRUE(model);
  Difference difference = compare(*model, "pad", 1);
  EXPECT_TRUE(difference.ran);
  EXPECT_LE(difference.steps, 1);
  EXPECT_EQ(folded(text(q)), 1u);
  EXPECT_EQ(folded(text(other)), 0u);
}

/// Nor does a run with an observer change what one without it computes.
TEST(FastWindows, AnObserverSeesWhatIsPadded) {
  Form form{{6, 9, 5}, 18, 3, 3, 1, 1, "VALID", "RELU"};
  auto model = parse(graph("%i: " + image(form.image, 1), pad("0, 0, 1, 1, 1, 1, 0, 0") + convolution(form, false)));
  ASSERT_TRUE(model);
  auto session = compile(*model, fastOptions());
  ASSERT_TRUE(static_cast<bool>(session));
  auto x = ramp(6 * 9 * 5);
  std::vector<TensorRef> input{floats({1, 6, 9, 5}, x)};
  State state;
  RunOptions plain, observed;
  plain.state = observed.state = &state;
  size_t seen = 0;
  observed.observer = [&](const Operator &op, const Value &, Tensor &tensor) {
    if (op.code == BuiltinOperator::PAD) {
      EXPECT_EQ(tensor.shape, (eval::Shape{1, 8, 11, 5}));
      EXPECT_EQ(tensor.as<float>()[0], 0);
      EXPECT_EQ(tensor.as<float>()[(11 + 1) * 5], x[0]);
      ++seen;
    }
  };
  auto first = runFloats(*session, input, plain), second = runFloats(*session, input, observed),
       third = runFloats(*session, input, plain);
  EXPECT_EQ(seen, 1u);
  EXPECT_EQ(session->coverage().fast.size(), 2u);
  EXPECT_EQ(first, third);
  ASSERT_EQ(first.size(), second.size());
  for (size_t i = 0; i < first.size(); ++i)
    EXPECT_NEAR(first[i], second[i], 1e-5f);
}

/// A size that is known when the model runs.
TEST(FastWindows, ConvolutionsPadImagesOfAnySize) {
  Form form{{6, 9, 5}, 18, 3, 3, 1, 1, "VALID", "RELU"};
  auto model = parse(graph("%i: f32[1?,6?,9?,5]", pad("0, 0, 1, 1, 1, 1, 0, 0") + convolution(form, false)));
  ASSERT_TRUE(model);
  auto reference = compile(*model), fast = compile(*model, fastOptions());
  ASSERT_TRUE(reference && fast);
  State state;
  RunOptions run;
  run.state = &state;
  for (auto [height, width] : {std::pair(6, 9), std::pair(20, 3), std::pair(6, 9), std::pair(1, 1)}) {
    auto x = ramp(static_cast<size_t>(height * width * 5));
    std::vector<TensorRef> input{floats({1, height, width, 5}, x)};
    auto expected = runFloats(*reference, input), actual = runFloats(*fast, input, run);
    ASSERT_EQ(expected.size(), actual.size());
    for (size_t i = 0; i < expected.size(); ++i)
      EXPECT_NEAR(expected[i], actual[i], 1e-5f);
  }
}

/// A RELU of what is not below zero lies where its operand does.
TEST(FastWindows, RectifiedTensorsShareMemory) {
  auto shared = [](const char *first) {
    auto model = parse(graph("%x: f32[1,20]", std::string("%a: f32[1,20] = ") + first +
                                                  "\n%b: f32[1,20] = RELU(%a)\n%y: f32[1,20] = MUL(%a, %b)\n"));
    Difference difference = compare(*model, first, 1);
    EXPECT_TRUE(difference.ran);
    EXPECT_EQ(difference.floats, 0);
    CompileOptions options = fastOptions();
    model->number();
    Planner planner(options);
    const Plan *plan = planner.plan(*model->subgraphs[0]);
    EXPECT_FALSE(llvm::errorToBool(planner.takeErrors()));
    return plan->slots[plan->steps[1].results[0]].sharedWith >= 0;
  };
  EXPECT_TRUE(shared("RELU6(%x)"));
  EXPECT_TRUE(shared("ADD(%x, %x) {fused_activation_function=RELU}"));
  EXPECT_FALSE(shared("ADD(%x, %x) {fused_activation_function=RELU_N1_TO_1}"));
  EXPECT_FALSE(shared("NEG(%x)"));
}

/// With ORIGO_PROCESSOR, these tests are about what it says.
TEST(FastWindows, TheProcessorIsTheOneThatIsWanted) {
  const char *wanted = std::getenv("ORIGO_PROCESSOR");
  llvm::StringRef most = wanted ? wanted : "";
  EXPECT_LE(processor(), most == "plain"    ? Processor::Plain
                         : most == "avx2"   ? Processor::Avx2
                         : most == "avx512" ? Processor::Avx512
                                            : Processor::Vnni);
#ifdef __x86_64__
  EXPECT_EQ(processor() == Processor::Plain, most == "plain" || !__builtin_cpu_supports("avx2"));
#endif
}

} // namespace
