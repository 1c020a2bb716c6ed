#include "eval/Evaluate.h"
#include "eval/RealNumbers.h"
#include "eval/Relations.h"
#include "import/Import.h"
#include "ir/DetachedOperator.h"
#include "ir/text/Text.h"
#include "passes/Pipeline.h"
#include "quantize/Blocks.h"
#include "quantize/Calibrate.h"
#include "quantize/Expression.h"
#include "quantize/Parameters.h"
#include "quantize/Plan.h"
#include "quantize/Recipe.h"
#include "schema/TensorTypes.h"
#include "tests/RealModels.h"

#include "llvm/Support/FileSystem.h"

#include <cmath>
#include <gtest/gtest.h>
#include <map>
#include <set>

/// Parameters, recipes, and the constants of quantised models. What TensorFlow's converter made of float networks is
/// compared by bench/quantization_pairs.py.

using namespace origo;
using namespace origo::quantize;
using namespace origo::test;
using eval::OwnedTensor;
using eval::Port;

namespace {

using enum TensorType;

void expectParameters(Parameters have, double scale, int64_t zeroPoint) {
  EXPECT_FLOAT_EQ(have.scale, static_cast<float>(scale));
  EXPECT_EQ(have.zeroPoint, zeroPoint);
}

TEST(QuantizationParameters, OfOne) {
  expectParameters(activationParameters({-1, 1.55f}, UINT8, Dialect::One), 0.01, 100);
  expectParameters(activationParameters({1, 2.55f}, UINT8, Dialect::One), 0.01, 0);
  expectParameters(activationParameters({-2.55f, -1}, UINT8, Dialect::One), 0.01, 255);
  expectParameters(activationParameters({0, 0}, UINT8, Dialect::One), 1e-5, 0);
  expectParameters(activationParameters({-3, 2}, INT16, Dialect::One), 3. / 32767, 0);
  expectParameters(weightParameters({-1, 7}, INT4, Dialect::One), 1, 0);
  expectParameters(weightParameters({0, 0}, INT16, Dialect::One), 1e-8, 0);
}

TEST(QuantizationParameters, OfTensorFlowLite) {
  expectParameters(activationParameters({-1, 1.55f}, INT8, Dialect::Tflite), 0.01, -28);
  expectParameters(activationParameters({1, 2.55f}, INT8, Dialect::Tflite), 0.01, -128);
  expectParameters(activationParameters({-2.55f, -1}, INT8, Dialect::Tflite), 0.01, 127);
  expectParameters(activationParameters({0, 0}, INT8, Dialect::Tflite), 1. / 255, -128);
  expectParameters(activationParameters({-3, 2}, INT16, Dialect::Tflite), 3. / 32767, 0);
  expectParameters(weightParameters({-2, 1}, INT8, Dialect::Tflite), 2. / 127, 0);
  expectParameters(weightParameters({0, 0}, INT8, Dialect::Tflite), 1e-6 / 254, 0);
  expectParameters(weightParameters({0, 1e-8f}, INT8, Dialect::Tflite), 1e-6 / 254, 0);
  expectParameters(weightParameters({0, 1e-8f}, INT8, Dialect::Tflite, false), 1e-8 / 127, 0);
  // Masks are the lowest float, and stay one.
  constexpr float most = std::numeric_limits<float>::max();
  for (Extremes range : {Extremes{-most, 1}, Extremes{-most, most}, Extremes{0, most}})
    for (auto [type, lowest, highest] : {std::tuple(INT8, -128, 127), {UINT8, 0, 255}, {INT16, -32767, 32767}}) {
      Parameters one = activationParameters(range, type, Dialect::Tflite);
      for (int end : {lowest, highest})
        EXPECT_TRUE(std::isfinite(static_cast<float>(end - one.zeroPoint) * one.scale)) << end;
    }
}

/// An outlier is cut in 4 bits, where it costs all others, and kept in 8; numbers that fill the range are kept in both.
TEST(QuantizationParameters, ClippedWeights) {
  std::vector<float> numbers;
  for (int channel = 0; channel < 2; ++channel)
    for (int i = 0; i < 400; ++i)
      numbers.push_back(static_cast<float>(i % 15 - 7) / 7);
  numbers[7] = 1.9f;
  std::string bytes(reinterpret_cast<const char *>(numbers.data()), 4 * numbers.size());
  DetachedTensor x{FLOAT32, {2, 400}, Payload::owned(bytes)}, y{FLOAT32, {2, 400}};
  DetachedOperator op(BuiltinOperator::ABS, {x}, {y});
  const Value &constant = *op.get().operand(0);
  constexpr auto clip = WeightClip::LeastSquares;
  std::vector<Extremes> four = clippedExtremesOf(constant, 0, INT4, clip),
                        eight = clippedExtremesOf(constant, 0, INT8, clip);
  ASSERT_EQ(four.size(), 2u);
  EXPECT_LT(four[0].max, 1.2f);
  EXPECT_GE(four[0].max, 0.9f);
  EXPECT_LE(four[0].min, -0.95f);
  EXPECT_EQ(four[1].max, 1);
  ASSERT_EQ(eight.size(), 2u);
  EXPECT_GT(eight[0].max, 1.8f);
}

void quantize(Model &model, const Scheme &scheme, PayloadStore &store) {
  PipelineOptions options;
  options.verifyEach = true;
  llvm::Error error = runPipeline(model, Pipeline::quantization(planBy(scheme)), store, options);
  ASSERT_FALSE(static_cast<bool>(error)) << llvm::toString(std::move(error));
}

template <class T> std::vector<T> elementsOf(const Value &constant) {
  std::vector<T> elements(constant.payload().size() / sizeof(T));
  constant.payload().read(0, {reinterpret_cast<uint8_t *>(elements.data()), elements.size() * sizeof(T)});
  return elements;
}

/// The LSTM of a calibrated file, with projection and normalisation: operands, cells and the tensors that carry scales
/// are what TensorFlow's quantiser made of it.
TEST(QuantizationPairsPublicModels, AnLstmIsWhatTheConverterMade) {
  std::string folder = publicModels().at("mini/unidirectional_sequence_lstm_");
  auto source = importModel(folder + "calibrated.tflite"), target = importModel(folder + "quantized.tflite");
  ASSERT_TRUE(source && target);
  PayloadStore store;
  // A bridge behind it needs the shape that the file does not say.
  Value &result = *source->model->subgraphs[0]->outputs[0];
  result.hasShape = true;
  result.shape = llvm::ArrayRef<int32_t>({1, 2, 2});
  quantize(*source->model, {}, store);
  auto lstmOf = [](const Model &model) -> const Operator * {
    for (const Operator &op : model.subgraphs[0]->operators)
      if (op.code == BuiltinOperator::UNIDIRECTIONAL_SEQUENCE_LSTM)
        return &op;
    return nullptr;
  };
  const Operator *have = lstmOf(*source->model), *want = lstmOf(*target->model);
  ASSERT_TRUE(have && want);
  std::vector<std::pair<const Value *, const Value *>> both{{have->result(), want->result()}};
  ASSERT_EQ(have->numOperands(), want->numOperands());
  for (unsigned i = 0; i < have->numOperands(); ++i)
    both.emplace_back(have->operand(i), want->operand(i));
  ASSERT_EQ(have->intermediates().size(), want->intermediates().size());
  for (auto [a, b] : llvm::zip_equal(have->intermediates(), want->intermediates()))
    both.emplace_back(a, b);
  unsigned compared = 0;
  for (auto [a, b] : both) {
    ASSERT_EQ(a == nullptr, b == nullptr);
    if (!a || !b->quantization || b->quantization->scale.empty())
      continue;
    SCOPED_TRACE(b->name.str());
    ++compared;
    EXPECT_EQ(a->type, b->type);
    EXPECT_EQ(a->isVariable, b->isVariable);
    ASSERT_TRUE(a->quantization && a->quantization->scale.size() == 1);
    // What it remembers has the zero point 0 here, and what follows from that another scale.
    if (a == have->result() || a == have->operand(18) || a == have->intermediates().back()) {
      EXPECT_EQ(a->quantization->zeroPoint[0], 0);
      EXPECT_GE(a->quantization->scale[0], b->quantization->scale[0] * 0.99f);
      continue;
    }
    if (a == have->operand(17)) {
      EXPECT_FLOAT_EQ(a->quantization->scale[0],
                      have->intermediates().back()->quantization->scale[0] * have->operand(16)->quantization->scale[0]);
      continue;
    }
    EXPECT_NEAR(a->quantization->scale[0], b->quantization->scale[0], 1e-6 * b->quantization->scale[0]);
    EXPECT_EQ(a->quantization->zeroPoint, b->quantization->zeroPoint);
    if (a->type == INT8 && a->isConstant() && a->elementCount() != 0) {
      EXPECT_EQ(elementsOf<int8_t>(*a), elementsOf<int8_t>(*b));
    }
  }
  EXPECT_EQ(compared, 27u);
}

eval::Tensor tensorOf(const Value &constant, std::vector<uint8_t> &bytes) {
  bytes.resize(constant.payload().size());
  constant.payload().read(0, bytes);
  eval::Tensor tensor;
  tensor.type = constant.type;
  tensor.shape.assign(constant.shape.begin(), constant.shape.end());
  tensor.quantization = constant.quantization;
  tensor.storage = bytes;
  return tensor;
}

/// Each constant of a quantised model that is said to be one of the source, changed by steps, is that, computed anew.
void constantsAreWhatTheirRelationsSay(const ModelFolder &models, std::initializer_list<const char *> networks,
                                       unsigned leastScaled) {
  struct Way {
    const char *name;
    Scheme::Mode mode;
    TensorType weights;
    bool perChannel, equalize;
    int32_t blockSize = 0;
  };
  unsigned byBlock = 0;
  unsigned compared = 0, scaled = 0, unchecked = 0, edges = 0;
  for (const char *network : networks)
    for (const Way &way :
         {Way{"int8", Scheme::Mode::Full, INT8, true, false}, Way{"equalised", Scheme::Mode::Full, INT8, false, true},
          Way{"dynamic", Scheme::Mode::Weights, INT8, true, false},
          Way{"4 bits", Scheme::Mode::WidenedWeights, INT4, true, false},
          Way{"by block", Scheme::Mode::Weights, INT4, true, false, 32},
          Way{"float16", Scheme::Mode::Float16, INT8, true, false}}) {
      SCOPED_TRACE(std::string(network) + ", " + way.name);
      std::string path = models.at(std::string(network) + ".tflite");
      auto source = importModel(path), imported = importModel(path);
      ASSERT_TRUE(source && imported);
      Model &model = *imported->model;
      PayloadStore store;
      if (way.equalize) {
        Pipeline pipeline;
        pipeline.add(*findPass("equalize-channels"));
        ASSERT_FALSE(static_cast<bool>(runPipeline(model, pipeline, store)));
      }
      Scheme scheme;
      scheme.common.mode = way.mode;
      scheme.common.weights = way.weights;
      scheme.common.perChannel = way.perChannel;
      scheme.common.blockSize = way.blockSize;
      if (scheme.needsRanges()) {
        CalibrateOptions options;
        options.compile.engine = eval::Engine::Fast;
        auto statistics = calibrate(
            model, [](llvm::ArrayRef<Port> inputs, llvm::StringRef) { return seededRecords(inputs, 1); }, options);
        ASSERT_TRUE(static_cast<bool>(statistics)) << llvm::toString(statistics.takeError());
        std::vector<std::string> silent;
        ASSERT_FALSE(setRanges(model, *statistics, {{Summary::Mode::Percentile, 0, 100}}, silent));
      }
      quantize(model, scheme, store);
      storeBlockScales(model);
      source->model->number();
      std::map<uint32_t, const Value *> sources;
      for (auto &graph : source->model->subgraphs)
        for (const Value *value : graph->values)
          for (const Relation &relation : value->relations)
            sources[relation.tensor] = value;
      for (auto &graph : model.subgraphs)
        for (const Value *value : graph->values)
          for (const Relation &relation : value->relations) {
            const Value *of = sources.at(relation.tensor);
            if (!value->isConstant() || !of->isConstant() || value->erased())
              continue;
            SCOPED_TRACE(value->name.str());
            std::vector<uint8_t> was, is;
            eval::Tensor want = tensorOf(*of, was), have = tensorOf(*value, is);
            auto steps = model.steps.get(relation.steps);
            eval::Tolerance tolerance =
                eval::Tolerance::ofRange(eval::storedNumbers(want).value_or(std::vector<double>()), 1e-5);
            eval::Verdict verdict = eval::checkRelation(want, eval::withConstants(steps, sources), &tolerance, have);
            // A scaled bias is computed in float32, and rounded as that; one number lies on the edge.
            bool onEdge = llvm::StringRef(verdict.text).starts_with("1 of ") && way.equalize;
            edges += verdict.kind == eval::Verdict::Deviates && onEdge;
            EXPECT_TRUE(verdict.kind != eval::Verdict::Deviates || onEdge) << verdict.text;
            compared += verdict.kind != eval::Verdict::Unchecked;
            unchecked += verdict.kind == eval::Verdict::Unchecked;
            byBlock += value->quantization && value->quantization->details == Quantization::Details::Blockwise;
            scaled += llvm::any_of(steps, [](const Step &step) { return step.kind == Step::Scaled; });
          }
    }
  EXPECT_GE(compared, 500u);
  EXPECT_GE(scaled, leastScaled);
  EXPECT_GE(byBlock, 1u);
  EXPECT_EQ(unchecked, 0u);
  EXPECT_LE(edges, 2u);
}

TEST(QuantizedConstants, AreWhatTheirRelationsSay) {
  constantsAreWhatTheirRelationsSay(ownNetworks(),
                                    {"mobilenet_fused_f32", "resnet_f32", "unrolled_lstm_f32", "bert_f32"}, 20);
}
TEST(QuantizedConstantsPublicModels, AreWhatTheirRelationsSay) {
  constantsAreWhatTheirRelationsSay(
      publicModels(), {"mobilenet_v1_025_128_f32", "resnet8_cifar_f32", "dtln_1_f32", "lstm2_unrolled_f32"}, 40);
}

constexpr llvm::StringLiteral convolutions = R"(origo 1
model circle version 0
subgraph @main(%x: i8[1,4,4,1] q{scale=0.01, zero_point=-1}) -> (%y, %z) {
  %w: i8[2,2,2,1] q{scale=[0.01, 0.02], zero_point=[0, 0]} = const [127, -127, 5, 9, -60, 33, 0, 127]
  %b: i32[2] q{scale=[0.0001, 0.0002], zero_point=[0, 0]} = const [400, -70]
  %c: i8[1,3,3,2] q{scale=0.02, zero_point=-128} = CONV_2D(%x, %w, %b) {padding=VALID, stride_w=1, stride_h=1, fused_activation_function=RELU}
  %d: i8[1,3,3,2] q{scale=0.02, zero_point=-128} = MAX_POOL_2D(%c) {padding=SAME, stride_w=1, stride_h=1, filter_width=2, filter_height=2}
  %y: i8[1,3,3,2] q{scale=0.03, zero_point=-100} = ADD(%c, %d)
  %z: i8[1,3,3,2] q{scale=0.00390625, zero_point=-128} = SOFTMAX(%y) {beta=1}
}
)";

/// The first output as the numbers that it stands for, for the same real numbers whatever the input's type.
std::vector<double> realOutput(Model &model) {
  auto session = eval::compile(model);
  if (!session) {
    ADD_FAILURE() << llvm::toString(session.takeError());
    return {};
  }
  std::vector<uint8_t> bytes;
  TensorType type = model.subgraphs[0]->inputs[0]->type;
  for (int i = 0; i < 16; ++i) {
    auto number = static_cast<int8_t>(i * 41 % 255 - 127);
    if (type == FLOAT32) {
      float real = 0.01f * static_cast<float>(number + 1);
      bytes.insert(bytes.end(), reinterpret_cast<uint8_t *>(&real), reinterpret_cast<uint8_t *>(&real + 1));
    } else {
      bytes.push_back(static_cast<uint8_t>(type == UINT8 ? number + 128 : number));
    }
  }
  auto results = session->run(std::vector<eval::TensorRef>{{type, {1, 4, 4, 1}, bytes}});
  if (!results) {
    ADD_FAILURE() << llvm::toString(results.takeError());
    return {};
  }
  std::vector<double> numbers;
  for (size_t output = 0; output < 2; ++output) {
    const OwnedTensor &tensor = (*results)[output].tensor;
    const Quantization *q = model.subgraphs[0]->outputs[output]->quantization;
    for (size_t i = 0; i < 18; ++i)
      if (tensor.type == FLOAT32)
        numbers.push_back(reinterpret_cast<const float *>(tensor.bytes.data())[i]);
      else
        numbers.push_back(
            q->scale[0] *
            static_cast<double>((tensor.type == UINT8 ? tensor.bytes[i] : static_cast<int8_t>(tensor.bytes[i])) -
                                q->zeroPoint[0]));
  }
  return numbers;
}

/// What is stored otherwise stands for the same numbers: to the bit without a sign, within a step as floats.
TEST(StoredOtherwise, StandsForTheSame) {
  PayloadStore store;
  auto source = parseText(convolutions, "", store);
  ASSERT_TRUE(static_cast<bool>(source));
  std::vector<double> want = realOutput(**source);
  ASSERT_EQ(want.size(), 36u);
  EXPECT_GT(std::set<double>(want.begin(), want.end()).size(), 10u);
  for (auto [mode, type, steps] :
       {std::tuple(Scheme::Mode::Unsigned, UINT8, 0.), std::tuple(Scheme::Mode::Fake, FLOAT32, 1.)}) {
    auto model = parseText(convolutions, "", store);
    ASSERT_TRUE(static_cast<bool>(model));
    (*model)->becomeSource();
    Scheme scheme;
    scheme.common.mode = mode;
    scheme.dialect = Dialect::One;
    quantize(**model, scheme, store);
    for (const Operator &op : (*model)->subgraphs[0]->operators)
      for (const Value *result : op.results())
        EXPECT_TRUE(op.code == BuiltinOperator::QUANTIZE || result->type == type) << result->name.str();
    std::vector<double> have = realOutput(**model);
    ASSERT_EQ(have.size(), want.size());
    for (size_t i = 0; i < want.size(); ++i)
      EXPECT_NEAR(have[i], want[i], steps * (i < 18 ? 0.03 : 0.00390625) + 1e-6) << i;
  }
}

/// What reads the integers themselves reads those of the source.
TEST(StoredOtherwise, KeepsWhatReadsIntegers) {
  PayloadStore store;
  auto model = parseText(R"(origo 1
model tflite version 3
subgraph @main(%x: i8[1,4] q{scale=0.5, zero_point=3}) -> (%y, %z, %s) {
  %y: i32[1,4] = CAST(%x) {in_data_type=INT8, out_data_type=INT32}
  %z: i8[1,4] q{scale=0.5, zero_point=3} = RELU(%x)
  %s: i32[2] = SHAPE(%x) {out_type=INT32}
}
)",
                         "", store);
  ASSERT_TRUE(static_cast<bool>(model));
  (*model)->becomeSource();
  Scheme scheme;
  scheme.common.mode = Scheme::Mode::Unsigned;
  scheme.dialect = Dialect::One;
  quantize(**model, scheme, store);
  std::map<std::string, TensorType> types;
  for (const Operator &op : (*model)->subgraphs[0]->operators)
    types[op.opName()] = op.operand(0)->type;
  EXPECT_EQ(types["CAST"], INT8);
  EXPECT_EQ(types["RELU"], UINT8);
  EXPECT_EQ(types["SHAPE"], UINT8);
}

constexpr llvm::StringLiteral floats = R"(origo 1
model tflite version 3
subgraph @main(%x: f32[1,2], %w: f32[2,2]) -> (%enc/y, %dec/z) {
  %v: f32[2,2] = const [1, 2, 3, 4]
  %enc/a: f32[1,2] = FULLY_CONNECTED(%x, %v, _)
  %enc/y: f32[1,2] = TANH(%enc/a)
  %dec/b: f32[1,2] = FULLY_CONNECTED(%x, %w, _)
  %dec/z: f32[1,2] = SIN(%dec/b)
}
)";

TEST(Recipe, LaterEntriesWinWhereTheyCanBeTaken) {
  PayloadStore store;
  auto model = parseText(floats, "", store);
  ASSERT_TRUE(static_cast<bool>(model));
  Scheme scheme;
  auto vain = readRecipe(R"([
    {"regex": ".*", "operation": "*", "op_config": {
      "activation_tensor_config": {"num_bits": 16, "symmetric": true},
      "weight_tensor_config": {"num_bits": 8, "granularity": "CHANNELWISE"}, "compute_precision": "INTEGER"}},
    {"regex": "enc/", "operation": "*", "algorithm_key": "GPTQ", "op_config": {
      "weight_tensor_config": {"num_bits": 4, "granularity": "TENSORWISE"}, "min_weight_elements": 3}},
    {"regex": "^dec", "operation": "FULLY_CONNECTED", "algorithm_key": "no_quantize"},
    {"regex": "z$", "operation": "OUTPUT", "algorithm_key": "no_quantize"}])",
                         **model, scheme);
  ASSERT_TRUE(static_cast<bool>(vain)) << llvm::toString(vain.takeError());
  EXPECT_TRUE(vain->empty());
  EXPECT_FALSE(scheme.common.quantize);
  ASSERT_EQ(scheme.layers.size(), 4u);
  EXPECT_FALSE(scheme.layers["dec/z"].quantize);
  EXPECT_EQ(scheme.layers["dec/z"].whyFloat, "it has no form in integers");
  const Scheme::Choice &dense = scheme.layers["enc/a"], &tanh = scheme.layers["enc/y"],
                       &computed = scheme.layers["dec/b"];
  EXPECT_EQ(dense.mode, Scheme::Mode::WidenedWeights);
  EXPECT_EQ(dense.weights, INT4);
  EXPECT_EQ(dense.leastElements, 3u);
  EXPECT_FALSE(dense.perChannel);
  EXPECT_TRUE(dense.choosesRounding && scheme.needsProducts());
  EXPECT_EQ(tanh.mode, Scheme::Mode::Full); // which the second entry is not for
  EXPECT_EQ(tanh.activations, INT16);
  EXPECT_EQ(tanh.bias, INT64);
  EXPECT_FALSE(tanh.choosesRounding);
  EXPECT_FALSE(computed.quantize);
  EXPECT_EQ(scheme.inputs, (llvm::SmallVector<TensorType, 2>{INT16, INT16}));
  EXPECT_EQ(scheme.outputs, (llvm::SmallVector<TensorType, 2>{INT16, FLOAT32}));
}

TEST(Recipe, SaysWhatItCannotDo) {
  PayloadStore store;
  auto model = parseText(floats, "", store);
  ASSERT_TRUE(static_cast<bool>(model));
  for (
      auto [recipe, why] : std::initializer_list<std::pair<const char *, const char *>>{
          {"{}", "a list in JSON"},
          {"[1]", "there is no \"regex\""},
          {R"([{"regex": 7}])", "there is no \"regex\""},
          {R"([{"regex": "("}])", "is no expression"},
          {R"([{"regex": "\\h"}])", "is no expression of Python's: there is no escape \\h"},
          {R"x([{"regex": "(((a{255}){255}){255}){255}"}])x",
           "is no expression of Python's: regular expression is too large"},
          {R"([{"regex": "(x|y*)*[bc]", "algorithm_key": "OSCAR"}])", "OSCAR"},       // that one is fine
          {R"([{"regex": "((a{9}){9}){0,2}x", "algorithm_key": "OSCAR"}])", "OSCAR"}, // that one is not
          {R"([{"regex": "x", "algorithm_key": "OSCAR"}])", "entry 0: the algorithm \"OSCAR\" is not here"},
          {R"([{"regex": "x", "layers": "y", "algorithm_key": "no_quantize"}])", "there is no \"regex\""},
          {R"([{"regex": "x"}])", "there is no \"weight_tensor_config\""},
          {R"([{"regex": "x", "op_config": {"weight_tensor_config": {"num_bits": 2}}}])", "weights of 2 bits"},
          {R"([{"regex": "x", "op_config": {"weight_tensor_config": {"granularity": "BLOCKWISE_48"}}}])",
           "BLOCKWISE_48"},
          {R"([{"regex": "x", "op_config": {"weight_tensor_config": {"granularity": "BLOCKWISE_32"}}}])",
           "weights by blocks have 4 bits"},
          {R"([{"regex": "x", "op_config": {"weight_tensor_config": {"symmetric": false}, "compute_precision": "INTEGER"}}])",
           "asymmetric weights are for those that are widened"},
          {R"([{"regex": "x", "op_config": {"weight_tensor_config": {}, "activation_tensor_config": {"symmetric": true}}}])",
           "activations of 8 bits are asymmetric"}}) {
    Scheme scheme;
    auto vain = readRecipe(recipe, **model, scheme);
    ASSERT_FALSE(static_cast<bool>(vain)) << recipe;
    std::string error = llvm::toString(vain.takeError());
    EXPECT_NE(error.find(why), std::string::npos) << recipe << ": " << error;
  }
}

/// The fields of newer recipes, layers in the words of --keep-float, and what is said of weights.
TEST(Recipe, NewerFieldsAndLayers) {
  PayloadStore store;
  auto model = parseText(floats, "", store);
  ASSERT_TRUE(static_cast<bool>(model));
  Scheme scheme;
  auto vain = readRecipe(R"([
    {"op_scope_regex": ".*", "operations": ["TANH", "FULLY_CONNECTED"], "algorithm_key": "OCTAV", "op_config": {
      "weight_tensor_config": {"num_bits": 4, "granularity": "CHANNELWISE"}, "compute_precision": "INTEGER"}},
    {"layers": ["enc/", "dec/b..dec/z"], "operation": "FULLY_CONNECTED", "op_config": {
      "weight_tensor_config": {"num_bits": 8, "symmetric": false, "granularity": "CHANNELWISE"},
      "compute_precision": "FLOAT", "explicit_dequantize": true}},
    {"layers": "dec/z..", "algorithm_key": "no_quantize"},
    {"layers": "nobody", "algorithm_key": "no_quantize"}])",
                         **model, scheme);
  ASSERT_TRUE(static_cast<bool>(vain)) << llvm::toString(vain.takeError());
  EXPECT_EQ(*vain, std::vector<std::string>{"entry 3: no operator, kind or scope is called \"nobody\""});
  EXPECT_EQ(scheme.layers["enc/y"].clip, WeightClip::Octav);
  EXPECT_EQ(scheme.layers["enc/y"].mode, Scheme::Mode::Weights);
  EXPECT_TRUE(scheme.layers["enc/a"].asymmetricWeights);
  EXPECT_EQ(scheme.layers["enc/a"].mode, Scheme::Mode::WidenedWeights);
  ASSERT_TRUE(scheme.layers.contains("dec/z"));
  EXPECT_FALSE(scheme.layers["dec/z"].quantize);
}

/// Weights with zero points reach as far as they go, and no further.
TEST(Recipe, AsymmetricWeights) {
  Parameters eight = asymmetricWeights({-1, 4.1f}, TensorType::INT8),
             four = asymmetricWeights({2, 5}, TensorType::INT4);
  EXPECT_FLOAT_EQ(eight.scale, 0.02f);
  EXPECT_EQ(eight.zeroPoint, -78);
  EXPECT_FLOAT_EQ(four.scale, 5.f / 15); // 0 is among them
  EXPECT_EQ(four.zeroPoint, -8);
}

/// Entries that are most likely not meant so: none of them ends the reading, and the kinds that the model lacks are
/// none.
TEST(Recipe, TellsOfEntriesThatAreAboutNothing) {
  PayloadStore store;
  auto model = parseText(floats, "", store);
  ASSERT_TRUE(static_cast<bool>(model));
  Scheme scheme;
  auto vain = readRecipe(R"([
    {"regex": ".*", "operation": "CONV_2D", "algorithm_key": "no_quantize"},
    {"regex": "enc\\d", "operation": "*", "algorithm_key": "no_quantize"},
    {"regex": "/y$", "operation": "FULLY_CONNECTED", "algorithm_key": "no_quantize"},
    {"regex": "/y$", "operation": "TANH", "algorithm_key": "no_quantize"},
    {"regex": "/z$", "operation": "INPUT", "algorithm_key": "no_quantize"},
    {"regex": ".*", "operation": "TAHN", "algorithm_key": "no_quantize"}])",
                         **model, scheme);
  ASSERT_TRUE(static_cast<bool>(vain)) << llvm::toString(vain.takeError());
  EXPECT_EQ(*vain, (std::vector<std::string>{
                       "entry 1: \"enc\\\\d\" matches no layer", "entry 2: \"/y$\" matches no FULLY_CONNECTED",
                       "entry 4: \"/z$\" matches no INPUT", "entry 5: there is no operation \"TAHN\""}));
}

/// What stays float is what it is for the reason that is given.
TEST(Recipe, ReasonsOfWhatStaysFloat) {
  PayloadStore store;
  auto reasons = [&](llvm::StringRef recipe) {
    auto model = parseText(floats, "", store);
    (*model)->becomeSource();
    Scheme scheme;
    llvm::cantFail(readRecipe(recipe, **model, scheme).takeError());
    std::vector<Unquantized> list;
    llvm::cantFail(planBy(scheme, &list)(**model).takeError());
    std::string text;
    for (const Unquantized &one : list)
      text += one.name + ": " + one.why + "\n";
    return text;
  };
  // Weights alone: TANH and SIN have none.
  EXPECT_EQ(
      reasons(R"([{"regex": "^enc", "op_config": {"weight_tensor_config": {}, "compute_precision": "INTEGER"}}])"),
      "dec/b: no entry of the recipe is about it\ndec/z: no entry of the recipe is about it\n");
  EXPECT_EQ(reasons(R"([{"regex": ".*", "op_config": {"weight_tensor_config": {}, "compute_precision": "INTEGER"}},
                       {"regex": "dec/b", "algorithm_key": "no_quantize"}])"),
            "dec/b: the recipe says no_quantize\n");
}

/// As Python's re.search finds them (3.11).
TEST(Recipe, ExpressionsArePythons) {
  for (auto [expression, text, found] : std::initializer_list<std::tuple<llvm::StringRef, llvm::StringRef, bool>>{
           {"\\d", "relu0/Relu", true},
           {"\\d", "relu/Relu", false},
           {".*relu\\d.*", "relu12/x", true},
           {"\\bfc1\\b", "a/fc1/MatMul", true},
           {"\\bfc1\\b", "a/fc12/MatMul", false},
           {"^\\w+/Relu$", "relu0/Relu", true},
           {"^\\w+/Relu$", "a/relu0/Relu", false},
           {"^(?!.*Softmax).*", "fc/MatMul", true},
           {"^(?!.*Softmax).*", "sm/Softmax", false},
           {"fc1/.*?MatMul", "fc1/a/MatMul", true},
           {"(?:fc1|GAP).*", "GAP/Mean", true},
           {"(?i)RELU0", "relu0", true},
           {"RELU0", "relu0", false},
           {"(?i:RELU)0", "relu0", true},
           {"(?i:RELU)A", "relua", false},
           {"(?<=dec/)\\w+$", "dec/out", true},
           {"(?<!dec/)out$", "dec/out", false},
           {"(a+)/\\1$", "aa/aa", true},
           {"(a+)/\\1$", "aa/aab", false},
           {"(?P<s>b+)/(?P=s)$", "bb/bb", true},
           {"x\\Z", "x", true},
           {"x$", "x\n", true},
           {"x\\Z", "x\n", false},
           {"^a{,2}b$", "aaab", false},
           {"^a{,2}b$", "aab", true},
           {"^a{,}b$", "aaaab", true},
           {"a{x}", "a{x}", true},
           {"[[:alpha:]]", "k]", false},
           {"[[:alpha:]]", "a]", true},
           {"[]a]", "]", true},
           {"[^]a]", "]", false},
           {"\\v", "\v", true},
           {"\\v", "\n", false},
           {"[\\v]", "\n", false},
           {"\\w", "é", true},
           {"(?a)\\w", "é", false},
           {"\\d", "٣", true},
           {"(?a)\\d", "٣", false},
           {"(?s)a.b", "a\nb", true},
           {"a.b", "a\nb", false},
           {"(?m)^b", "a\nb", true},
           {"(?x) a b  # both", "ab", true},
           {"(?x)a\\ b", "a b", true},
           {"\\u00e9$", "café", true},
           {"\\x41", "A", true},
           {"a++b", "aaab", true},
           {"(?>a+)ab", "aaab", false},
           {"^(a)?(?(1)b|c)$", "ac", false},
           {"(?P<n>a)?(?(n)b|c)$", "ab", true},
           {"(?#note)a", "a", true},
           {"[\\b]", "\b", true},
           {"\\.", "a", false},
           {"\\/", "a/b", true},
           {"^.$", "é", true},
           {"", "", true}}) {
    auto compiled = Expression::compile(expression);
    ASSERT_TRUE(static_cast<bool>(compiled)) << expression.str() << ": " << llvm::toString(compiled.takeError());
    Expression::Budget budget;
    auto isIn = compiled->isIn(text, budget);
    ASSERT_TRUE(static_cast<bool>(isIn)) << expression.str() << ": " << llvm::toString(isIn.takeError());
    EXPECT_EQ(*isIn, found) << expression.str() << " in " << text.str();
  }
  for (llvm::StringRef wrong :
       {"\\h",   "\\Q.\\E", "(?R)", "(*UTF)a", "(?<n>a)", "a(?i)b", "(",     "\\p{L}", "(?|a|b)", "[a",  "\\x4",
        "(?L)a", "(?z)a",   "a\\",  "\\K",     "(?'n'a)", "(?&n)",  "(?C)a", "[\\Z]",  "(?1)",    "\\N", "x{70000}"}) {
    auto compiled = Expression::compile(wrong);
    EXPECT_FALSE(static_cast<bool>(compiled)) << wrong.str();
    llvm::consumeError(compiled.takeError());
  }
}

/// Searching ends, by the text's length, and says so; a text that is no UTF-8 is searched.
TEST(Recipe, SearchesAreBounded) {
  std::string many(20000, 'a');
  for (llvm::StringRef slow : {"(a{1,60}){1,60}[bc]", "(a|a)*b", "(a*)*b", "^(a+)+[bc]$", "(.*)(.*)(.*)(.*)x|y"}) {
    auto compiled = Expression::compile(slow);
    ASSERT_TRUE(static_cast<bool>(compiled)) << llvm::toString(compiled.takeError());
    Expression::Budget budget;
    auto begin = std::chrono::steady_clock::now();
    auto isIn = compiled->isIn(many, budget);
    std::string error = isIn ? "" : llvm::toString(isIn.takeError());
    EXPECT_TRUE(error.empty() || error.find("takes too long to search \"aaa") != std::string::npos) << error;
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60));
  }
  auto quick = Expression::compile("a+$");
  ASSERT_TRUE(static_cast<bool>(quick));
  Expression::Budget budget;
  EXPECT_TRUE(llvm::cantFail(quick->isIn(many, budget)));
  EXPECT_TRUE(llvm::cantFail(quick->isIn("\xff\xfe\xc3"
                                         "a",
                                         budget)));
}

/// Each block has the scale of its own greatest magnitude, in a tensor of halves with as many digits as bfloat16 has.
TEST(QuantizedConstants, ScalesOfBlocks) {
  std::string numbers;
  for (int i = 0; i < 128; ++i)
    numbers += (i ? ", " : "") + std::to_string((i % 32 - 16) * (i / 32 == 3 ? 0 : 1 << (i / 32)));
  PayloadStore store;
  auto model =
      parseText("origo 1\nmodel tflite version 3\nsubgraph @main(%x: f32[1,64], %s: f32[1,48]) -> (%y, %z) {\n"
                "%w: f32[2,64] = const [" +
                    numbers +
                    "]\n%v: f32[2,48] = const splat 2\n"
                    "%y: f32[1,2] = FULLY_CONNECTED(%x, %w, _)\n%z: f32[1,2] = FULLY_CONNECTED(%s, %v, _)\n}\n",
                "", store);
  ASSERT_TRUE(static_cast<bool>(model)) << llvm::toString(model.takeError());
  Scheme scheme;
  scheme.common.mode = Scheme::Mode::Weights;
  scheme.common.weights = INT4;
  scheme.common.blockSize = 32;
  std::vector<Unquantized> left;
  ASSERT_FALSE(runPipeline(**model, Pipeline::quantization(planBy(scheme, &left)), store));
  storeBlockScales(**model);
  ASSERT_EQ(left.size(), 1u);
  EXPECT_NE(left[0].why.find("rows that blocks of 32 do not divide"), std::string::npos) << left[0].why;
  const Value &w = *(*model)->subgraphs.front()->operators.front().operand(1);
  ASSERT_TRUE(w.quantization && w.quantization->details == Quantization::Details::Blockwise);
  EXPECT_EQ(w.type, INT4);
  EXPECT_TRUE(w.quantization->scale.empty());
  EXPECT_EQ(w.quantization->more->blockSize, 32);
  const Value &scales = *w.quantization->more->scales;
  EXPECT_EQ(scales.type, FLOAT16);
  EXPECT_EQ(llvm::ArrayRef<int32_t>(scales.shape), llvm::ArrayRef<int32_t>({2, 2}));
  std::vector<uint8_t> bytes;
  auto have = eval::storedNumbers(tensorOf(scales, bytes));
  ASSERT_TRUE(have && have->size() == 4);
  for (size_t i = 0; i < 3; ++i) // of 16 / 7 the eight leading digits
    EXPECT_EQ((*have)[i], 2.28125 * (1 << i));
  EXPECT_GT((*have)[3], 0);
  std::vector<uint8_t> integers;
  auto real = eval::realNumbers(tensorOf(w, integers));
  ASSERT_TRUE(real.has_value());
  for (int i = 0; i < 128; ++i)
    EXPECT_LE(std::fabs((*real)[i] - (i % 32 - 16) * (i / 32 == 3 ? 0 : 1 << (i / 32))), (*have)[i / 32] / 2 + 1e-9)
        << i;
}

/// Integers of any width, in windows of any size.
TEST(QuantizedConstants, WindowsMakeTheWhole) {
  PayloadStore store;
  std::vector<float> numbers;
  for (int i = 0; i < 30001; ++i)
    numbers.push_back(static_cast<float>(i * 37 % 1001 - 500) / 7);
  numbers[5] = NAN;
  numbers[7] = INFINITY;
  std::string bytes(reinterpret_cast<const char *>(numbers.data()), 4 * numbers.size());
  Quantization quantization;
  std::vector<float> scale{0.25f};
  std::vector<int64_t> zero{1};
  quantization.scale = scale;
  quantization.zeroPoint = zero;
  for (TensorType type : {INT4, INT8, UINT8, INT16, INT32, INT64}) {
    DetachedTensor x{FLOAT32, {30001}, Payload::owned(bytes)}, y{type, {30001}, {}, &quantization};
    DetachedOperator op(BuiltinOperator::QUANTIZE, {x}, {y});
    const char *why = "";
    auto folded = evaluate(op.get(), store, why);
    ASSERT_TRUE(folded && folded->size() == 1) << why;
    const Payload &payload = folded->front();
    std::vector<uint8_t> whole(payload.size()), pieces(payload.size());
    payload.read(0, whole);
    for (uint64_t at = 0; at < pieces.size();) {
      uint64_t some = std::min<uint64_t>(at % 97 + 1, pieces.size() - at);
      payload.read(at, llvm::MutableArrayRef<uint8_t>(pieces).slice(at, some));
      at += some;
    }
    EXPECT_EQ(whole, pieces);
    unsigned bits = *bitsPerElement(type);
    for (size_t i : {0u, 5u, 6u, 7u, 8u, 30000u}) {
      int64_t have = 0;
      if (bits == 4)
        have = static_cast<int8_t>(static_cast<uint8_t>(whole[i / 2] << (i % 2 ? 0 : 4))) >> 4;
      else
        std::memcpy(&have, whole.data() + i * (bits / 8), bits / 8);
      if (bits != 4 && bits != 64 && type != UINT8)
        have = static_cast<int64_t>(static_cast<uint64_t>(have) << (64 - bits)) >> (64 - bits);
      double low = type == UINT8 ? 0 : -std::ldexp(1., bits - 1), high = low + std::ldexp(1., bits) - 1;
      double wanted = std::isnan(numbers[i]) ? 1 : std::clamp(std::round(numbers[i] / 0.25) + 1, low, high);
      EXPECT_EQ(static_cast<double>(have), wanted) << tensorTypeName(type).str() << " " << i;
    }
  }
}

} // namespace
