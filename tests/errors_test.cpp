#include "eval/RandomInput.h"
#include "import/Import.h"
#include "passes/Pipeline.h"
#include "report/errors/Errors.h"
#include "report/errors/Live.h"
#include "report/errors/Recover.h"
#include "tests/RealModels.h"

#include "llvm/Support/raw_ostream.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

/// Errors in terms of the source: figures, the way along relations and back, recovery, and layers that are swapped.

using namespace origo;
using namespace origo::eval;
using namespace origo::report;
using namespace origo::test;

namespace {

TEST(LayerErrors, FiguresAreThoseOfTheirFormulas) {
  RecordSums first, second;
  first.add({0, 1, 2, 4}, {0, 1, 3, 4});
  second.add({-1, 1, NAN, INFINITY}, {-1, 3, NAN, 5});
  ErrorSums sums;
  sums.add(first);
  sums.add(second);
  ErrorFigures f = sums.figures(0.5);
  EXPECT_DOUBLE_EQ(f.mse, (1. / 4 + 4. / 4) / 2);
  EXPECT_DOUBLE_EQ(f.tae, (1. + 2.) / 2);
  EXPECT_DOUBLE_EQ(f.mae, (1. / 4 + 2. / 4) / 2);
  EXPECT_DOUBLE_EQ(f.mpeir, (1 / (4 + 1e-6) + 2 / (2 + 1e-6)) / 2);
  EXPECT_DOUBLE_EQ(f.max, 2);
  EXPECT_DOUBLE_EQ(*f.srmse, std::sqrt(0.625) / 0.5);
  EXPECT_DOUBLE_EQ(*f.psnr, 10 * std::log10(25 / 0.625));
  EXPECT_DOUBLE_EQ(*f.overRange, 2. / 5);
  EXPECT_EQ(f.odd, 1u);
  EXPECT_FALSE(sums.figures(std::nullopt).srmse);
}

/// Stored numbers are compared in floats; that is as good as doubles, or not done: where squares are out of range, or
/// something is not finite. Some elements are left over behind those that are taken together.
template <class T> void expectFiguresOfDoubles(TensorType type, float scale, int64_t zero, float size) {
  SCOPED_TRACE(testing::Message() << static_cast<int>(type) << " by " << scale << ", size " << size);
  constexpr size_t count = 1500 + 11;
  Quantization quantization;
  if (scale != 0) {
    quantization.scale = {&scale, 1};
    quantization.zeroPoint = {&zero, 1};
  }
  uint32_t state = 7;
  auto random = [&] { return static_cast<float>((state = state * 1664525 + 1013904223) >> 8) / float(1 << 24) - 0.5f; };
  std::vector<float> reference(count);
  std::vector<T> stored(count);
  for (size_t i = 0; i < count; ++i) {
    float number = size * random();
    if constexpr (std::is_floating_point_v<T>)
      stored[i] = number + size * 1e-3f * random();
    else
      stored[i] = static_cast<T>(std::clamp<float>(std::round(number / scale) + static_cast<float>(zero),
                                                   std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
    reference[i] = number;
  }
  auto view = [](auto &data, TensorType type) {
    Tensor tensor;
    tensor.type = type;
    tensor.shape = {static_cast<int32_t>(data.size())};
    tensor.storage = {reinterpret_cast<uint8_t *>(data.data()), data.size() * sizeof(data[0])};
    return tensor;
  };
  Tensor x = view(reference, TensorType::FLOAT32), y = view(stored, type);
  y.quantization = scale != 0 ? &quantization : nullptr;
  auto near = [](double have, double want) { EXPECT_LE(std::fabs(have - want), 5e-7 * std::fabs(want)) << want; };
  for (bool odd : {false, true}) {
    if (odd)
      reference[40] = NAN;
    RecordSums sums, right;
    ASSERT_TRUE(sums.add(x, y));
    right.add(*realNumbers(x), *realNumbers(y));
    EXPECT_GT(right.squares, 0);
    near(sums.absolute, right.absolute);
    near(sums.squares, right.squares);
    near(sums.most, right.most);
    near(sums.first, right.first);
    near(sums.second, right.second);
    near(sums.both, right.both);
    EXPECT_EQ(sums.low, right.low);
    EXPECT_EQ(sums.high, right.high);
    EXPECT_EQ(sums.count, count);
    EXPECT_EQ(sums.odd, unsigned(odd));
  }
}

TEST(LayerErrors, StoredNumbersHaveTheFiguresOfDoubles) {
  for (float size : {1.f, 1000.f, 1e-6f, 1e-18f, 1e-25f, 1e18f, 1e30f}) {
    expectFiguresOfDoubles<float>(TensorType::FLOAT32, 0, 0, size);
    expectFiguresOfDoubles<int8_t>(TensorType::INT8, size / 251.3f, -7, size);
    expectFiguresOfDoubles<int8_t>(TensorType::INT8, size / 90.7f, 99, size);
    expectFiguresOfDoubles<uint8_t>(TensorType::UINT8, size / 255.1f, 131, size);
    expectFiguresOfDoubles<int16_t>(TensorType::INT16, size / 65533.7f, 0, size);
  }
}

TEST(LayerErrors, EqualTensorsHaveNoErrorAndNoInfiniteFigure) {
  RecordSums same;
  same.add({3, 3}, {3, 3});
  ErrorSums sums;
  sums.add(same);
  ErrorFigures f = sums.figures(1);
  EXPECT_EQ(f.mpeir, 0);
  EXPECT_EQ(*f.overRange, 0);
  EXPECT_FALSE(f.psnr);
}

/// Like this it does not matter in how many parts records come, and in which order.
TEST(LayerErrors, SumsDoNotDependOnTheOrder) {
  std::vector<double> numbers{1e100, 1, -1e100, 1e-300, 0.1, 0.2, 0.3, -0.6, 1e16, 3, -1e16};
  ExactSum forth, back, halves[2], all;
  for (double number : numbers)
    forth.add(number);
  for (double number : llvm::reverse(numbers))
    back.add(number);
  for (size_t i = 0; i < numbers.size(); ++i)
    halves[i % 2].add(numbers[i]);
  all.add(halves[1]);
  all.add(halves[0]);
  EXPECT_EQ(forth.value(), 4.0); // the nearest to 4 - 2.8e-17 and a bit
  EXPECT_EQ(forth.value(), back.value());
  EXPECT_EQ(forth.parts(), back.parts());
  EXPECT_EQ(forth.parts(), all.parts());
  ExactSum halfway;
  for (double number : {1e16, 1., 1e-30})
    halfway.add(number);
  EXPECT_EQ(halfway.value(), 1e16 + 2);
  all.add(INFINITY);
  all.add(1);
  EXPECT_TRUE(std::isnan(all.value()));
}

TEST(LayerErrors, APartIsTheSameBehindItsFile) {
  ErrorPart part;
  part.own = true;
  part.records = {0, 7};
  ErrorPart::Row &row = part.rows.emplace_back();
  row.unmeasured = "why";
  RecordSums sums, odd;
  sums.add({0.1, 1, 2}, {0.3, 1, 3});
  odd.add({NAN}, {1});
  row.total.add(sums);
  row.total.add(odd);
  row.own.add(odd);
  row.effects.add(0.1);
  row.effectTimes = 1;
  auto again = ErrorPart::parse(part.text());
  ASSERT_TRUE(static_cast<bool>(again)) << llvm::toString(again.takeError());
  EXPECT_EQ(again->text(), part.text());
  EXPECT_EQ(again->rows[0].total.figures(1).mse, row.total.figures(1).mse);
  EXPECT_FALSE(again->rows[0].own.figures(1).psnr);
  EXPECT_EQ(llvm::toString(again->merge(part)), "has record 0, which another part has too");
}

/// Numbers go into a counterpart and come back, along each kind of step.
TEST(LayerErrors, NumbersComeBackAlongARelation) {
  Step permute{.kind = Step::Permute}, affine{.kind = Step::Affine}, quantize{.kind = Step::Quantize};
  permute.first = {1, 0};
  affine.scale = Step::Term::of(2.0);
  affine.shift = Step::Term::of(-1.0);
  std::vector<float> from(6), to(6);
  auto view = [](std::vector<float> &data, Shape shape) {
    Tensor tensor;
    tensor.shape = std::move(shape);
    tensor.storage = {reinterpret_cast<uint8_t *>(data.data()), data.size() * 4};
    return tensor;
  };
  Tensor source = view(from, {2, 3}), result = view(to, {3, 2});
  Counterpart counterpart{nullptr, {permute, affine}};
  Numbers numbers{1, 2, 3, 4, 5, 6};
  ASSERT_TRUE(writeCounterpart(source, numbers, counterpart, result));
  EXPECT_EQ(to, (std::vector<float>{1, 7, 3, 9, 5, 11}));
  Numbers back;
  std::vector<bool> known;
  ASSERT_TRUE(numbersOfSource(source, counterpart, result, back, known));
  EXPECT_EQ(back, numbers);
  EXPECT_EQ(llvm::count(known, true), 6);
  Tensor other = view(to, {6});
  EXPECT_FALSE(numbersOfSource(source, counterpart, other, back, known));
}

TEST(LayerErrors, StoringIsTheOtherWayOfReading) {
  Quantization quantization;
  float scale = 0.5f;
  int64_t zero = 10;
  quantization.scale = scale;
  quantization.zeroPoint = zero;
  std::vector<uint8_t> bytes(4);
  Tensor tensor;
  tensor.type = TensorType::INT8;
  tensor.shape = {4};
  tensor.quantization = &quantization;
  tensor.storage = bytes;
  ASSERT_TRUE(storeNumbers(tensor, {-1, 0.26, 1000, -1000}));
  EXPECT_EQ(*realNumbers(tensor), (std::vector<double>{-1, 0.5, 58.5, -69}));
}

std::vector<OwnedTensor> inputsFor(const Session &session, const std::string &signature, uint32_t seed) {
  std::vector<OwnedTensor> inputs;
  llvm::ArrayRef<Port> ports = llvm::cantFail(session.inputs(signature));
  for (const Port &port : ports) {
    auto input = randomInput(port, static_cast<unsigned>(inputs.size()), seed);
    if (!input) {
      llvm::consumeError(input.takeError());
      return {};
    }
    inputs.push_back(std::move(*input));
  }
  return inputs;
}

llvm::Expected<Imported> importAlone(const std::string &path) {
  ImportOptions options;
  options.origin = OriginMode::Restart;
  return importModel(path, options);
}

/// A network, what -O1 makes of it, and inputs for both.
struct Optimised {
  PayloadStore store;
  Imported before, after;
  Session source, result;
  Pairs pairs;
  std::string signature;
  std::vector<OwnedTensor> inputs;
};

std::unique_ptr<Optimised> optimised(const std::string &path, Engine engine) {
  PayloadStore store;
  auto before = importAlone(path), after = importAlone(path);
  EXPECT_TRUE(before && after);
  if (!before || !after || bool(runPipeline(*after->model, Pipeline::o1(), store)))
    return nullptr;
  CompileOptions options;
  options.engine = engine;
  auto source = compile(*before->model, options), result = compile(*after->model, options);
  EXPECT_TRUE(source && result);
  if (!source || !result)
    return nullptr;
  Pairs pairs = Pairs::of(*before, *after);
  std::string signature = result->signatures().empty() ? "" : result->signatures().front();
  auto inputs = inputsFor(*result, signature, 1);
  return std::make_unique<Optimised>(Optimised{std::move(store), std::move(*before), std::move(*after),
                                               std::move(*source), std::move(*result), std::move(pairs),
                                               std::move(signature), std::move(inputs)});
}

/// A fault in the first numbers of what an operator computes, everywhere.
void disturb(Tensor &tensor) {
  auto numbers = realNumbers(tensor);
  if (!numbers)
    return;
  for (size_t i = 0; i < numbers->size(); ++i)
    (*numbers)[i] = (*numbers)[i] * 1.5 + (i % 2 ? 0.4 : -0.3);
  storeNumbers(tensor, *numbers);
}

using Tensors = std::map<report::Place, std::pair<bool, Numbers>>;

std::optional<Tensors> recovered(const Session &source, const Session &result, const Pairs &pairs,
                                 const std::string &signature, const std::vector<OwnedTensor> &inputs,
                                 const Operator *faulty) {
  Tensors all;
  auto outputs = recover(
      source, result, pairs, signature, inputs,
      [&](const Value &value, unsigned time, const Tensor &tensor, bool isRecovered) {
        all[{&value, time}] = {isRecovered, *realNumbers(tensor)};
      },
      [](const Value &) { return true; },
      [&](const Operator &op, const Value &, Tensor &tensor) {
        if (&op == faulty)
          disturb(tensor);
      });
  if (!outputs) {
    llvm::consumeError(outputs.takeError());
    return std::nullopt;
  }
  return all;
}

bool same(const Numbers &a, const Numbers &b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](double x, double y) {
           return x == y || (std::isnan(x) && std::isnan(y));
         });
}

/// Recovery starts from the nearest tensors that live: a fault in any operator of the result is seen in each recovered
/// tensor that depends on what it changes, and nowhere else.
void aFaultChangesEveryRecoveredTensorBehindIt(const ModelFolder &folder,
                                               std::initializer_list<llvm::StringRef> names) {
  unsigned models = 0, faults = 0, changed = 0, masked = 0, tensors = 0;
  for (llvm::StringRef name : names) {
    std::string path = folder.at(name);
    auto both = optimised(path, Engine::Fast);
    ASSERT_TRUE(both);
    auto clean = recovered(both->source, both->result, both->pairs, both->signature, both->inputs, nullptr);
    ASSERT_TRUE(clean);
    ++models;
    for (auto &[place, tensor] : *clean)
      tensors += tensor.first;
    size_t operators = both->after.model->subgraphs[0]->operators.size(), at = 0;
    for (const Operator &op : both->after.model->subgraphs[0]->operators) {
      if (at++ % std::max<size_t>(1, operators / 24))
        continue;
      auto now = recovered(both->source, both->result, both->pairs, both->signature, both->inputs, &op);
      if (!now)
        continue; // what it computes is an index or a shape
      ++faults;
      // What a recovered tensor is computed from directly decides: if none of it has changed, the tensor must not have.
      for (const auto &[place, tensor] : *now) {
        if (!tensor.first)
          continue;
        bool operandChanged = false;
        for (const Use &use : place.first->producer()->operands())
          if (auto found = use.get() ? now->find({use.get(), place.second}) : now->end(); found != now->end())
            operandChanged |= !same(found->second.second, clean->at(found->first).second);
        bool isChanged = !same(tensor.second, clean->at(place).second);
        EXPECT_TRUE(operandChanged || !isChanged) << path << ": " << place.first->name.str();
        changed += isChanged;
        // As by a RELU of what is below zero; a shape is the same whatever is in it.
        masked += operandChanged && !isChanged && place.first->producer()->code != BuiltinOperator::SHAPE;
      }
    }
  }
  llvm::outs() << models << " networks with " << tensors << " recovered tensors, " << faults << " faults: " << changed
               << " changes, " << masked << " masked\n";
  EXPECT_GE(tensors, 20u);
  EXPECT_GE(faults, 80u);
  EXPECT_GE(changed, 100u);
  EXPECT_LE(masked * 20, changed);
}

TEST(LayerErrors, AFaultChangesEveryRecoveredTensorBehindIt) {
  aFaultChangesEveryRecoveredTensorBehindIt(
      ownNetworks(), {"mobilenet_v3_f32.tflite", "unrolled_lstm_f32.tflite", "bert_f32.tflite", "pitch_f32.tflite"});
}
TEST(LayerErrorsPublicModels, AFaultChangesEveryRecoveredTensorBehindIt) {
  aFaultChangesEveryRecoveredTensorBehindIt(publicModels(), {"blazeface_front_f32.tflite", "ddsp_pitch_f32.tflite",
                                                             "dtln_1_f32.tflite", "basic_pitch_nmp_f32.tflite"});
}

/// Operators between a tensor and the nearest tensors before it that have a counterpart.
void operatorsBehind(const Value &value, const Pairs &pairs, std::set<const Operator *> &found) {
  const Operator *op = value.producer();
  if (!op || !pairs.of(value).empty() || !found.insert(op).second)
    return;
  for (const Use &use : op->operands())
    if (use.get())
      operatorsBehind(*use.get(), pairs, found);
}

/// For one recovered tensor just those operators of the source run that lie between it and what lives, and it is what
/// it is when all are asked for.
void onlyTheSliceOfARecoveredTensorRuns(const ModelFolder &folder, std::initializer_list<llvm::StringRef> names) {
  unsigned models = 0, tensors = 0;
  size_t ran = 0, all = 0;
  for (llvm::StringRef name : names) {
    std::string path = folder.at(name);
    auto both = optimised(path, Engine::Fast);
    ASSERT_TRUE(both);
    auto clean = recovered(both->source, both->result, both->pairs, both->signature, both->inputs, nullptr);
    ASSERT_TRUE(clean);
    ++models;
    for (const auto &[place, tensor] : *clean) {
      const Value &value = *place.first;
      if (!tensor.first)
        continue;
      EXPECT_TRUE(both->pairs.of(value).empty()) << path << ": " << value.name.str();
      std::set<const Operator *> nearest, have;
      operatorsBehind(value, both->pairs, nearest);
      std::optional<Numbers> alone;
      auto outputs = recover(
          both->source, both->result, both->pairs, both->signature, both->inputs,
          [&](const Value &, unsigned, const Tensor &tensor, bool isRecovered) {
            EXPECT_TRUE(isRecovered);
            alone = realNumbers(tensor);
          },
          [&](const Value &other) { return &other == &value; }, {},
          [&](const eval::Timed &timed) { have.insert(&timed.op); });
      ASSERT_TRUE(static_cast<bool>(outputs)) << llvm::toString(outputs.takeError());
      ASSERT_TRUE(alone);
      EXPECT_TRUE(same(*alone, tensor.second)) << path << ": " << value.name.str();
      EXPECT_TRUE(have == nearest) << path << ": " << value.name.str() << ": " << have.size() << " operators have run, "
                                   << nearest.size() << " lie between";
      ++tensors;
      ran += have.size();
      all += both->before.model->subgraphs[0]->operators.size();
    }
  }
  llvm::outs() << models << " networks with " << tensors << " recovered tensors, " << ran << " operators for them\n";
  EXPECT_GE(tensors, 25u);
  EXPECT_LT(ran * 10, all);
}

TEST(LayerErrors, OnlyTheSliceOfARecoveredTensorRuns) {
  onlyTheSliceOfARecoveredTensorRuns(ownNetworks(), {"mobilenet_v3_f32.tflite", "unrolled_lstm_f32.tflite",
                                                     "bert_f32.tflite", "language_model_2sg_f32.tflite"});
}
TEST(LayerErrorsPublicModels, OnlyTheSliceOfARecoveredTensorRuns) {
  onlyTheSliceOfARecoveredTensorRuns(publicModels(), {"blazeface_front_f32.tflite", "ddsp_pitch_f32.tflite",
                                                      "dtln_1_f32.tflite", "toy_llm_kv_2sig_f32.tflite"});
}

/// Swapping all layers is running the source; swapping none is running the result.
void swappingEverythingIsTheSource(const ModelFolder &folder, std::initializer_list<llvm::StringRef> names) {
  for (llvm::StringRef name : names) {
    std::string path = folder.at(name);
    auto both = optimised(path, Engine::Reference);
    ASSERT_TRUE(both);
    Layers all;
    for (const Operator &op : both->before.model->subgraphs[0]->operators)
      all.insert(&op);
    eval::RunOptions run;
    run.signature = both->signature;
    std::vector<TensorRef> refs(both->inputs.begin(), both->inputs.end());
    for (bool everything : {false, true}) {
      auto have = runSwapped(both->source, both->result, both->pairs, both->signature, both->inputs,
                             everything ? all : Layers());
      auto want = (everything ? both->source : both->result).run(refs, run);
      ASSERT_TRUE(have && want);
      for (auto [x, y] : llvm::zip_equal(*have, *want))
        EXPECT_EQ(x.tensor.bytes, y.tensor.bytes) << path << " " << everything;
    }
  }
}

TEST(LayerErrors, SwappingEverythingIsTheSource) {
  swappingEverythingIsTheSource(ownNetworks(), {"blazeface_f32.tflite", "resnet_f32.tflite", "pyramid_f32.tflite"});
}
TEST(LayerErrorsPublicModels, SwappingEverythingIsTheSource) {
  swappingEverythingIsTheSource(publicModels(),
                                {"blazeface_front_f32.tflite", "resnet8_cifar_f32.tflite", "yunet_f32.tflite"});
}

} // namespace
