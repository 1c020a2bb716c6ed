#include "tests/Sessions.h"

#include "commands/QuantizeModel.h"
#include "eval/RealNumbers.h"
#include "export/Export.h"
#include "import/Import.h"
#include "ir/text/Text.h"
#include "origin/check/Check.h"
#include "origin/codec/OriginFile.h"
#include "quantize/Ends.h"
#include "quantize/Ranges.h"
#include "tests/RandomInputs.h"
#include "tests/RealModels.h"
#include "tests/Samples.h"

#include "llvm/ADT/StringExtras.h"

#include <cmath>
#include <random>

/// Models that carry their quantisation: those that say it by QUANTIZE and DEQUANTIZE beside floats become integers
/// with the scales that they have, and of those that are quantised the ends change without data.

using namespace origo;
using namespace origo::quantize;
using namespace origo::test;

namespace {

/// A random graph of floats in which tensors are rounded by a QUANTIZE and a DEQUANTIZE behind each other, as exporters
/// of PyTorch and ONNX write them, or by FAKE_QUANT.
class RoundedGraph {
public:
  explicit RoundedGraph(unsigned seed) : random(seed) {}
  std::string text;
  float lastScale = 0;      ///< of the output
  unsigned linear = 0;      ///< operators that have weights
  std::string refused = {}; ///< how the reason begins for which one stays float

  void make() {
    text = "origo 1\nmodel tflite version 3\nsubgraph @main(%x: f32[1,6,6,4]) -> (%out) {\n";
    shape = {1, 6, 6, 4};
    std::string x = rounded("%x", "0.02", below(2) ? "0" : "-12");
    for (int layers = 1 + below(3); layers > 0; --layers)
      x = layer(x);
    if (below(3) == 0) {
      line("%flat", "f32[1," + std::to_string(count()) + "]",
           "RESHAPE(" + x + ", " + list("%to", {1, static_cast<int>(count())}) + ")");
      shape = {1, static_cast<int>(count())};
      x = rounded("%flat", scaleText, zeroText);
      x = dense(x);
    }
    if (below(4) == 0) { // the last operator is nothing that the file says a scale of
      line("%out", type(), "SQUARE(" + x + ")");
      lastScale = 0;
    } else {
      text += "  %out: " + type() + " = " + lastOp + "\n";
      lastScale = std::stof(scaleText);
    }
    text += "}\n";
  }

private:
  std::mt19937 random;
  std::vector<int> shape;
  int number = 0;
  std::string scaleText, zeroText, lastOp;

  int below(int bound) { return static_cast<int>(random() % static_cast<unsigned>(bound)); }
  int64_t count() const {
    int64_t all = 1;
    for (int size : shape)
      all *= size;
    return all;
  }
  std::string type() const {
    std::string sizes;
    for (int size : shape)
      sizes += (sizes.empty() ? "" : ",") + std::to_string(size);
    return "f32[" + sizes + "]";
  }
  std::string next(llvm::StringRef prefix) { return ("%" + prefix + llvm::Twine(++number)).str(); }
  void line(const std::string &name, const std::string &type, const std::string &op) {
    text += "  " + name + ": " + type + " = " + op + "\n";
  }
  std::string list(const std::string &name, std::vector<int> numbers) {
    std::string all;
    for (int n : numbers)
      all += (all.empty() ? "" : ", ") + std::to_string(n);
    line(name, "i32[" + std::to_string(numbers.size()) + "]", "const [" + all + "]");
    return name;
  }
  /// By a pair, or by FAKE_QUANT of the same range.
  std::string rounded(const std::string &x, const std::string &scale, const std::string &zero) {
    std::string real = next("d");
    scaleText = scale;
    zeroText = zero;
    if (below(5) == 0) {
      double s = std::stod(scale), z = std::stod(zero);
      lastOp = "FAKE_QUANT(" + x + ") {min=" + std::to_string((-128 - z) * s) +
               ", max=" + std::to_string((127 - z) * s) + ", num_bits=8}";
    } else {
      bool isUnsigned = below(4) == 0;
      std::string q = next("q");
      line(q,
           (isUnsigned ? "u8" : "i8") + type().substr(3) + " q{scale=" + scale +
               ", zero_point=" + std::to_string(std::stoi(zero) + (isUnsigned ? 128 : 0)) + "}",
           "QUANTIZE(" + x + ")");
      lastOp = "DEQUANTIZE(" + q + ")";
    }
    line(real, type(), lastOp);
    return real;
  }
  std::string roundedResult(const std::string &x, bool clamps = false) {
    const char *const scales[] = {"0.03", "0.045", "0.06", "0.04"};
    return rounded(x, scales[below(4)], clamps ? "-128" : below(2) ? "0" : "5");
  }
  std::string scales(int channels, llvm::StringRef most) {
    std::string all, zeros;
    for (int i = 0; i < channels; ++i) {
      all += (i ? ", " : "") + ("0.00" + most.str()) + std::to_string(1 + below(8));
      zeros += i ? ", 0" : "0";
    }
    return "scale=[" + all + "], zero_point=[" + zeros + "]";
  }
  /// Weights [o, …] whose integers lie as they are, or with the channels first behind a TRANSPOSE; with a scale for
  /// each channel, or one.
  std::string weights(std::vector<int> sizes, int axis, bool mayTurn) {
    bool turns = mayTurn && below(2), byChannel = below(3) > 0;
    std::vector<int> order = {0, 1, 2, 3}, stored = sizes;
    if (turns) { // stored OIHW, or the like
      order = {0, 2, 3, 1};
      stored = {sizes[0], sizes[3], sizes[1], sizes[2]};
    }
    int storedAxis = turns ? (axis == 3 ? 1 : axis) : axis;
    auto sizesText = [](const std::vector<int> &all) {
      std::string joined;
      for (int size : all)
        joined += (joined.empty() ? "" : ",") + std::to_string(size);
      return "[" + joined + "]";
    };
    std::string w = next("w"), real = next("r");
    line(w,
         "i8" + sizesText(stored) + " q{" +
             (byChannel ? scales(stored[static_cast<size_t>(storedAxis)], "") + ", dim=" + std::to_string(storedAxis)
                        : "scale=0.005, zero_point=0") +
             "}",
         "const seed " + std::to_string(1 + below(1000)) + " uniform -127 127");
    line(real, "f32" + sizesText(stored), "DEQUANTIZE(" + w + ")");
    if (!turns)
      return real;
    std::string turned = next("t");
    line(turned, "f32" + sizesText(sizes), "TRANSPOSE(" + real + ", " + list(next("p"), order) + ")");
    return turned;
  }
  std::string bias(int channels) {
    std::string b = next("b");
    line(b, "f32[" + std::to_string(channels) + "]", "const seed " + std::to_string(below(100)) + " uniform -1 1");
    return b;
  }
  std::string convolution(const std::string &x) {
    int from = shape[3], to = 3 + below(3), kind = below(3);
    bool clamps = below(2);
    std::string y = next("c"), options = clamps ? ", fused_activation_function=RELU}" : "}";
    if (kind == 0) {
      std::string w = weights({1, 3, 3, from}, 3, false), b = bias(from);
      line(y, type(),
           "DEPTHWISE_CONV_2D(" + x + ", " + w + ", " + b + ") {stride_w=1, stride_h=1, depth_multiplier=1" + options);
    } else {
      int size = kind == 1 ? 1 : 3;
      std::string w = weights({to, size, size, from}, 0, true), b = bias(to);
      shape[3] = to;
      line(y, type(), "CONV_2D(" + x + ", " + w + ", " + b + ") {stride_w=1, stride_h=1" + options);
    }
    ++linear;
    if (!clamps && below(3) == 0) { // the clamp is an operator of its own
      std::string relu = next("l");
      line(relu, type(), "RELU(" + y + ")");
      return roundedResult(relu, true);
    }
    return roundedResult(y, clamps);
  }
  std::string dense(const std::string &x) {
    int units = 2 + below(3), from = shape.back();
    std::string w = next("w"), real = next("r"), y = next("f");
    line(w,
         "i8[" + std::to_string(units) + "," + std::to_string(from) + "] q{" +
             (below(2) ? scales(units, "0") : "scale=0.001, zero_point=0") + "}",
         "const seed " + std::to_string(1 + below(1000)) + " uniform -127 127");
    line(real, "f32[" + std::to_string(units) + "," + std::to_string(from) + "]", "DEQUANTIZE(" + w + ")");
    shape.back() = units;
    line(y, type(), "FULLY_CONNECTED(" + x + ", " + real + ", " + bias(units) + ")");
    ++linear;
    return roundedResult(y);
  }
  std::string layer(const std::string &x) {
    switch (below(6)) {
    case 0: { // a residual
      auto before = shape;
      std::string a = convolution(x);
      if (shape != before)
        return a;
      std::string sum = next("s");
      line(sum, type(), "ADD(" + a + ", " + x + ")");
      return roundedResult(sum);
    }
    case 1: { // branches that are joined
      auto before = shape;
      std::string a = convolution(x);
      int channels = shape[3];
      shape = before;
      std::string b = convolution(x), joined = next("j");
      shape[3] += channels;
      line(joined, type(), "CONCATENATION(" + a + ", " + b + ") {axis=3}");
      return roundedResult(joined);
    }
    case 2: { // what only takes some of the numbers need not be rounded again
      std::string a = convolution(x), pool = next("m");
      shape[1] = shape[2] = (shape[1] + 1) / 2;
      lastOp = "MAX_POOL_2D(" + a + ") {stride_w=2, stride_h=2, filter_width=2, filter_height=2, padding=SAME}";
      line(pool, type(), lastOp);
      return below(2) ? pool : rounded(pool, scaleText, zeroText);
    }
    case 3: { // moved before it is rounded
      std::string pads = next("z"), a = next("a");
      line(pads, "i32[4,2]", "const [0, 0, 1, 1, 1, 1, 0, 0]");
      shape[1] += 2;
      shape[2] += 2;
      line(a, type(), "PAD(" + x + ", " + pads + ")");
      return convolution(below(2) ? a : rounded(a, scaleText, zeroText));
    }
    default:
      return convolution(x);
    }
  }
};

struct Lowered {
  std::vector<Unquantized> left;
  std::string violations;
  std::unique_ptr<Model> model;
};

/// Through files, so that the outside checker can judge the map.
Lowered lower(llvm::StringRef text, size_t &scales) {
  Lowered made;
  Scratch scratch;
  std::string source = scratch.at("source.tflite"), target = scratch.at("target.tflite");
  EXPECT_TRUE(writeAsFile(text.str(), ".", source)) << text.str();
  Imported imported = llvm::cantFail(importModel(source, {}));
  Model &model = *imported.model;
  PayloadStore store;
  EXPECT_TRUE(carriesScales(model));
  Scheme scheme;
  auto count = commands::readCarried(model, scheme, true, store, true);
  EXPECT_TRUE(static_cast<bool>(count)) << llvm::toString(count.takeError());
  scales = count ? *count : 0;
  origo::PipelineOptions options;
  options.verifyEach = true;
  auto left = commands::quantizeModel(model, scheme, store, options);
  EXPECT_TRUE(static_cast<bool>(left)) << llvm::toString(left.takeError());
  if (left)
    made.left = std::move(*left);
  llvm::Error error = exportModel(model, imported.lineage, target, {});
  EXPECT_FALSE(static_cast<bool>(error)) << llvm::toString(std::move(error));
  auto file = llvm::cantFail(origin::openOriginFile(target, "", false));
  auto from = llvm::cantFail(origin::ModelFile::open(source));
  std::vector<std::string> skipped;
  for (const origin::Violation &violation : origin::check(*file.map, file.model->view(), &from->view(), skipped))
    made.violations += violation.text + "\n";
  made.model = std::move(llvm::cantFail(importModel(target, {})).model);
  return made;
}

std::vector<float> runOn(Model &model, llvm::ArrayRef<TensorRef> inputs) {
  auto session = compile(model);
  EXPECT_TRUE(static_cast<bool>(session)) << llvm::toString(session.takeError());
  return session ? runFloats(*session, inputs) : std::vector<float>();
}

/// Of fifty graphs, all linear operators compute in integers, with results that are those of the floats and their own
/// rounding, within a step of what is rounded last, but for one number in some hundreds. What stays float says why.
TEST(CarriedScales, OfRoundedGraphsBecomeIntegers) {
  unsigned linear = 0, integer = 0, exact = 0;
  size_t elements = 0, beyond = 0;
  for (unsigned seed = 1; seed <= 50; ++seed) {
    RoundedGraph graph(seed);
    graph.make();
    SCOPED_TRACE("seed " + std::to_string(seed) + "\n" + graph.text);
    size_t scales = 0;
    Lowered lowered = lower(graph.text, scales);
    if (HasFailure())
      return;
    EXPECT_EQ(lowered.violations, "");
    EXPECT_GT(scales, 2u);
    for (const Operator &op : lowered.model->subgraphs[0]->operators)
      if (op.code == BuiltinOperator::CONV_2D || op.code == BuiltinOperator::DEPTHWISE_CONV_2D ||
          op.code == BuiltinOperator::FULLY_CONNECTED)
        integer += op.result()->type == TensorType::INT8 && op.operand(1)->type == TensorType::INT8;
    linear += graph.linear;
    for (const Unquantized &one : lowered.left)
      EXPECT_EQ(one.kind + ": " + one.why, "SQUARE: it has no form in integers") << one.name;
    EXPECT_EQ(lowered.left.empty(), graph.lastScale > 0);
    auto source = parse(graph.text);
    std::vector<float> numbers(144);
    std::mt19937 random(seed);
    for (float &number : numbers)
      number = static_cast<float>(random() % 5000) / 1000 - 2.5f;
    TensorRef input = floats({1, 6, 6, 4}, numbers);
    std::vector<float> before = runOn(*source, input), after = runOn(*lowered.model, input);
    ASSERT_EQ(before.size(), after.size());
    // A number beside a tie is a step away in one tensor, and behind it another one may be so for that.
    double most = 0, step = static_cast<double>(graph.lastScale) * 1.001;
    for (size_t i = 0; i < before.size(); ++i) {
      double off = std::fabs(static_cast<double>(before[i]) - static_cast<double>(after[i]));
      most = std::max(most, off);
      if (graph.lastScale > 0) {
        ++elements;
        beyond += off > step;
      }
    }
    exact += most == 0;
    if (graph.lastScale > 0) {
      EXPECT_LE(most, graph.linear <= 1 ? step : 3 * step);
    }
  }
  EXPECT_EQ(integer, linear);
  EXPECT_GE(linear, 60u);
  EXPECT_GE(exact, 10u);
  EXPECT_LT(beyond * 200, elements);
}

/// PyTorch's way: integers OIHW behind a TRANSPOSE. They are the file's own, in another order.
TEST(CarriedScales, WeightsAreTheFilesOwn) {
  size_t scales = 0;
  Lowered lowered = lower(R"(origo 1
model tflite version 3
subgraph @main(%x: f32[1,8,8,3]) -> (%y) {
  %w: i8[4,3,3,3] q{scale=[0.01, 0.02, 0.03, 0.04], zero_point=[0,0,0,0]} = const seed 1 uniform -127 127
  %wd: f32[4,3,3,3] = DEQUANTIZE.v5(%w)
  %p: i32[4] = const [0, 2, 3, 1]
  %wt: f32[4,3,3,3] = TRANSPOSE(%wd, %p)
  %b: f32[4] = const [0.1, 0.2, 0.3, 0.4]
  %xq: i8[1,8,8,3] q{scale=0.008, zero_point=0} = QUANTIZE(%x)
  %xd: f32[1,8,8,3] = DEQUANTIZE.v2(%xq)
  %c: f32[1,8,8,4] = CONV_2D(%xd, %wt, %b) {stride_w=1, stride_h=1, fused_activation_function=RELU}
  %cq: i8[1,8,8,4] q{scale=0.1, zero_point=-128} = QUANTIZE(%c)
  %cd: f32[1,8,8,4] = DEQUANTIZE.v2(%cq)
  %k: f32[] = const [2]
  %y: f32[1,8,8,4] = MUL(%cd, %k)
}
)",
                          scales);
  ASSERT_EQ(lowered.left.size(), 1u);
  EXPECT_EQ(lowered.left[0].why, "tensor \"y\" is not rounded in the model, so that no scale is known");
  EXPECT_EQ(lowered.violations, "");
  auto stored = parse("origo 1\nmodel tflite version 3\nsubgraph @main() -> (%t) {\n"
                      "%w: i8[4,3,3,3] = const seed 1 uniform -127 127\n%p: i32[4] = const [0, 2, 3, 1]\n"
                      "%t: i8[4,3,3,3] = TRANSPOSE(%w, %p)\n}\n");
  auto expected = llvm::cantFail(llvm::cantFail(compile(*stored)).run(std::vector<TensorRef>()));
  const Operator *conv = nullptr;
  for (const Operator &op : lowered.model->subgraphs[0]->operators)
    conv = op.code == BuiltinOperator::CONV_2D ? &op : conv;
  ASSERT_TRUE(conv);
  EXPECT_EQ(conv->operand(1)->payload().bytes(), llvm::ArrayRef<uint8_t>(expected[0].tensor.bytes));
  EXPECT_EQ(conv->operand(1)->quantization->scale, llvm::ArrayRef<float>({0.01f, 0.02f, 0.03f, 0.04f}));
  EXPECT_EQ(conv->operand(1)->quantization->dimension, 0);
  EXPECT_EQ(conv->operand(0)->quantization->scale[0], 0.008f);
  EXPECT_EQ(conv->result()->quantization->scale[0], 0.1f);
  EXPECT_EQ(conv->result()->quantization->zeroPoint[0], -128);
}

/// Each with the reason that is true of it.
TEST(CarriedScales, WhatStaysFloatSaysWhy) {
  auto why = [](llvm::StringRef body) {
    size_t scales = 0;
    Lowered lowered = lower(("origo 1\nmodel tflite version 3\nsubgraph @main(%x: f32[1,4]) -> (%y) {\n"
                             "  %q: i8[1,4] q{scale=0.5, zero_point=0} = QUANTIZE(%x)\n"
                             "  %d: f32[1,4] = DEQUANTIZE(%q)\n" +
                             body + "\n}\n")
                                .str(),
                            scales);
    EXPECT_EQ(lowered.violations, "");
    return lowered.left.empty() ? "" : lowered.left[0].kind + ": " + lowered.left[0].why;
  };
  const char *end = "  %e: i8[1,4] q{scale=0.5, zero_point=0} = QUANTIZE(%a)\n  %y: f32[1,4] = DEQUANTIZE(%e)";
  auto fc = [&](llvm::StringRef weights) {
    return why((weights + "\n  %a: f32[1,4] = FULLY_CONNECTED(%d, %w)\n" + end).str());
  };
  EXPECT_EQ(fc("%w: f32[4,4] = const seed 1 uniform -1 1"),
            "FULLY_CONNECTED: constant \"w\" has no scales in the model");
  EXPECT_EQ(fc("%i: i8[4,4] q{scale=0.5, zero_point=3} = const seed 1 uniform -9 9\n  %w: f32[4,4] = DEQUANTIZE(%i)"),
            "FULLY_CONNECTED: its weights have a zero point, which kernels of TensorFlow Lite do not take");
  EXPECT_EQ(fc("%i: i8[4,4] q{scale=[1, 2, 3, 4], zero_point=[0, 0, 0, 0], dim=1} = const seed 1 uniform -9 9\n"
               "  %w: f32[4,4] = DEQUANTIZE(%i)"),
            "FULLY_CONNECTED: its weights have scales along axis 1, and kernels take them along axis 0");
  EXPECT_EQ(why("  %a: f32[1,4] = ADD(%d, %d)\n  %e: i8[1,4] q{scale=0.5, zero_point=0} = QUANTIZE(%a)\n"
                "  %f: f32[1,4] = DEQUANTIZE(%e)\n  %y: f32[1,4] = SUB(%a, %f)"),
            "ADD: tensor \"a\" is read without being rounded, too");
  EXPECT_EQ(why("  %a: f32[1,4] = ADD(%d, %d)\n  %e: i8[1,4] q{scale=0.5, zero_point=0} = QUANTIZE(%a)\n"
                "  %g: i8[1,4] q{scale=0.25, zero_point=0} = QUANTIZE(%a)\n  %f: f32[1,4] = DEQUANTIZE(%e)\n"
                "  %h: f32[1,4] = DEQUANTIZE(%g)\n  %s: f32[1,4] = MUL(%f, %h)\n"
                "  %t: i8[1,4] q{scale=0.25, zero_point=0} = QUANTIZE(%s)\n  %y: f32[1,4] = DEQUANTIZE(%t)"),
            "ADD: tensor \"a\" is rounded in two ways");
  EXPECT_EQ(why("  %i: i8[1,4] q{scale=[1, 2, 3, 4], zero_point=[0, 0, 0, 0], dim=1} = const [1, 2, 3, 4]\n"
                "  %k: f32[1,4] = DEQUANTIZE(%i)\n  %a: f32[1,4] = MUL(%d, %k)\n" +
                std::string(end)),
            "MUL: constant \"k\" has a scale for each channel, which kernels take for weights only");
  EXPECT_EQ(why("  %a: f32[1,4] = DIV(%d, %d)\n" + std::string(end)), "DIV: it has no form in integers");
}

std::unique_ptr<Model> quantised(const std::string &path, PayloadStore &store) {
  auto imported = importModel(path);
  if (!imported) {
    llvm::consumeError(imported.takeError());
    return nullptr;
  }
  Model &model = *imported->model;
  auto records = [](llvm::ArrayRef<eval::Port> inputs, llvm::StringRef) { return seededRecords(inputs, 2); };
  auto statistics = commands::calibrate(model, records);
  std::vector<std::string> silent;
  if (!statistics) {
    llvm::consumeError(statistics.takeError());
    return nullptr;
  }
  llvm::cantFail(setRanges(model, *statistics, {commands::wholeRange}, silent));
  llvm::cantFail(commands::quantizeModel(model, {}, store, {}));
  clearRanges(model);
  return std::move(imported->model);
}

/// Of ten networks in int8: with integers at the ends, given what the QUANTIZE makes of the inputs, outputs are what
/// the DEQUANTIZE gets; and back again.
TEST(Ends, ChangeAndNothingElseDoes) {
  unsigned networks = 0;
  for (const std::string &path : ownNetworks().networks()) {
    if (networks == 10)
      break;
    if (!llvm::StringRef(path).contains("_f32.") || llvm::StringRef(path).contains("ten_thousand"))
      continue;
    SCOPED_TRACE(path);
    PayloadStore store;
    auto model = quantised(path, store), other = quantised(path, store);
    if (!model || !other)
      continue;
    for (TensorType type : {TensorType::INT8, TensorType::UINT8, TensorType::FLOAT32}) {
      origo::PipelineOptions options;
      options.verifyEach = true;
      std::vector<std::string> told;
      if (llvm::Error error = commands::changeEnds(*other, {{type}, {type}}, store, options, told)) {
        llvm::consumeError(std::move(error)); // a float at an end
        other = nullptr;
        break;
      }
      auto a = compile(*model), b = compile(*other);
      ASSERT_TRUE(a && b);
      auto inputs = randomInputs(*a->inputs(), 1);
      ASSERT_TRUE(static_cast<bool>(inputs));
      std::vector<OwnedTensor> given = *inputs;
      for (size_t i = 0; i < given.size(); ++i) {
        const Value &port = *other->subgraphs[0]->inputs[i];
        if (given[i].type == port.type)
          continue;
        auto numbers = realNumbers(given[i], nullptr);
        given[i].type = port.type;
        given[i].bytes.assign(numbers->size(), 0);
        eval::Tensor view;
        view.type = port.type;
        view.shape = given[i].shape;
        view.quantization = port.quantization;
        view.storage = given[i].bytes;
        ASSERT_TRUE(eval::storeNumbers(view, *numbers));
      }
      auto x = a->run(std::vector<TensorRef>(inputs->begin(), inputs->end()));
      auto y = b->run(std::vector<TensorRef>(given.begin(), given.end()));
      ASSERT_TRUE(x && y);
      ASSERT_EQ(x->size(), y->size());
      for (size_t i = 0; i < x->size(); ++i) {
        auto before = realNumbers((*x)[i].tensor, model->subgraphs[0]->outputs[i]->quantization);
        auto after = realNumbers((*y)[i].tensor, other->subgraphs[0]->outputs[i]->quantization);
        ASSERT_EQ(before->size(), after->size());
        double most = 0, largest = 0;
        for (size_t k = 0; k < before->size(); ++k) {
          most = std::max(most, std::fabs((*before)[k] - (*after)[k]));
          largest = std::max(largest, std::fabs((*before)[k]));
        }
        EXPECT_LE(most, largest * 1e-6) << "output " << i; // products in float and in double
      }
      EXPECT_FALSE(told.empty());
    }
    networks += other != nullptr;
  }
  EXPECT_EQ(networks, 10u);
}

/// As many types as ends are theirs, whatever these are; fewer are those of ends of real numbers. Who asks for a shape
/// reads no number.
TEST(Ends, HaveTypesInTheirOrder) {
  const char *text = "origo 1\nmodel tflite version 3\n"
                     "subgraph @main(%i: i32[2], %x: f32[4], %z: f32[4]) -> (%y, %s, %i) {\n"
                     "  %q: i8[4] q{scale=0.5, zero_point=0} = QUANTIZE(%x)\n"
                     "  %r: i8[4] q{scale=0.5, zero_point=0} = QUANTIZE(%z)\n"
                     "  %y: i8[4] q{scale=0.5, zero_point=0} = MAXIMUM(%q, %r)\n  %s: i32[1] = SHAPE(%x)\n}\n";
  using enum TensorType;
  for (const Ends &ends : {Ends{{FLOAT32, INT8, UINT8}, {}}, Ends{{INT8, UINT8}, {}}}) {
    auto model = parse(text);
    PayloadStore store;
    std::vector<std::string> told;
    EXPECT_EQ(llvm::toString(commands::changeEnds(*model, ends, store, {}, told)), "");
    const Subgraph &graph = *model->subgraphs[0];
    EXPECT_EQ(graph.inputs[0]->type, INT32);
    EXPECT_EQ(graph.inputs[1]->type, INT8);
    EXPECT_EQ(graph.inputs[2]->type, UINT8);
  }
}

TEST(Ends, AreRefusedWhereNumbersWouldBeOthers) {
  auto refusal = [](llvm::StringRef text, Ends ends) {
    auto model = parse(text);
    PayloadStore store;
    std::vector<std::string> told;
    return llvm::toString(commands::changeEnds(*model, ends, store, {}, told));
  };
  const char *head = "origo 1\nmodel tflite version 3\n";
  std::string reads = std::string(head) +
                      "subgraph @main(%x: f32[4]) -> (%y, %z) {\n"
                      "  %q: i8[4] q{scale=0.5, zero_point=0} = QUANTIZE(%x)\n"
                      "  %y: i8[4] q{scale=0.5, zero_point=0} = RELU(%q)\n  %z: f32[4] = EXP(%x)\n}\n";
  EXPECT_EQ(refusal(reads, {{TensorType::INT8}, {}}),
            "input \"x\" is not only quantised to integers with one scale: EXP would read rounded numbers");
  EXPECT_EQ(refusal(reads, {{}, {TensorType::INT8}}), "output \"z\" is no DEQUANTIZE of integers with one scale: EXP "
                                                      "computes it, so that no scale is known for it");
  EXPECT_EQ(refusal(std::string(head) + "subgraph @main(%x: i8[4] q{scale=0.5, zero_point=0}) -> (%y) {\n"
                                        "  %y: i8[4] q{scale=0.5, zero_point=0} = RELU(%x)\n}\n",
                    {{TensorType::INT16}, {}}),
            "input \"x\" is stored as INT8, and INT16 does not hold the same numbers");
}

} // namespace
