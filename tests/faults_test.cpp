#include "eval/Baseline.h"
#include "eval/RealNumbers.h"
#include "ir/text/Text.h"
#include "passes/Pipeline.h"
#include "tests/Numerics.h"
#include "tests/Samples.h"

#include <cmath>
#include <cstring>

/// The test of the comparison: networks are optimised and a constant of the result is made wrong, one at a time and in
/// several places. What a tolerance of 1e-5 of the range at every tensor saw has to be seen.

using namespace origo;
using namespace origo::eval;
using namespace origo::test;

namespace {

enum Fault { OneNumber, Swapped, Zeroed };
const char *const names[] = {"one number 1e-3 off", "two numbers swapped", "a channel's numbers zero"};

/// A float constant that an operator computes with.
std::vector<Value *> places(Model &model, size_t most) {
  std::vector<Value *> found;
  for (auto &graph : model.subgraphs)
    for (Operator &op : graph->operators)
      for (Use &use : op.operands())
        if (Value *value = use.get(); value && value->isConstant() && value->type == TensorType::FLOAT32 &&
                                      !value->sparsity() && value->payload().hasBytes() &&
                                      value->payload().size() >= 16 && !llvm::is_contained(found, value))
          found.push_back(value);
  std::vector<Value *> chosen;
  for (size_t i = 0; i < std::min(most, found.size()); ++i)
    chosen.push_back(found[i * found.size() / std::min(most, found.size())]);
  return chosen;
}

Payload faulty(const Payload &payload, Fault fault) {
  std::vector<float> numbers(payload.size() / sizeof(float));
  std::memcpy(numbers.data(), payload.bytes().data(), payload.size());
  size_t at = numbers.size() / 2;
  if (fault == OneNumber)
    numbers[at] *= 1.001f;
  else if (fault == Swapped)
    std::swap(numbers[at], numbers[at - 1]);
  else
    std::fill(numbers.begin() + at, numbers.begin() + at + std::max<size_t>(1, numbers.size() / 16), 0.f);
  return Payload::owned(std::string(reinterpret_cast<char *>(numbers.data()), numbers.size() * sizeof(float)));
}

/// Whether a tensor or output is more than 1e-5 of its range off.
bool deviatesByRange(const Baseline &baseline, const std::map<uint32_t, const Value *> &sources, Model &after) {
  auto session = compile(after);
  if (!session) {
    llvm::consumeError(session.takeError());
    return false;
  }
  State state;
  bool deviates = false;
  for (const Baseline::Run &before : baseline.runs()) {
    eval::RunOptions options;
    options.signature = before.signature;
    options.state = &state;
    options.observer = [&](const Operator &, const Value &value, Tensor &tensor) {
      for (const Relation &relation : value.relations) {
        auto source = sources.find(relation.tensor);
        auto held = source == sources.end() ? before.held.end() : before.held.find(source->second);
        if (held == before.held.end() || held->second.times != 1 || !isFloat(value.type))
          continue;
        Tensor want;
        want.type = held->second.tensor.type;
        want.shape = held->second.tensor.shape;
        want.quantization = source->second->quantization;
        want.storage = {const_cast<uint8_t *>(held->second.tensor.bytes.data()), held->second.tensor.bytes.size()};
        Tolerance tolerance = Tolerance::ofRange(storedNumbers(want).value_or(std::vector<double>()), 1e-5);
        deviates |=
            checkRelation(want, withConstants(after.steps.get(relation.steps), sources), &tolerance, tensor).kind ==
            Verdict::Deviates;
      }
    };
    std::vector<TensorRef> inputs(before.inputs.begin(), before.inputs.end());
    auto outputs = session->run(inputs, options);
    if (!outputs)
      llvm::consumeError(outputs.takeError());
  }
  return deviates;
}

struct Seen {
  unsigned faults = 0, seen = 0, byRange = 0, lost = 0;
};

template <class Load> void tryFaults(Load load, std::map<int, Seen> &seen, size_t most, std::string &lost) {
  std::unique_ptr<Model> before = load(), after = load();
  PayloadStore store;
  ASSERT_FALSE(bool(runPipeline(*after, Pipeline::o1(), store)));
  auto baseline = Baseline::of(*before, {1});
  if (!baseline)
    return llvm::consumeError(baseline.takeError());
  auto right = baseline->compare(*after);
  ASSERT_TRUE(static_cast<bool>(right));
  ASSERT_TRUE(right->deviations.empty()) << describe(right->deviations.front());
  std::map<uint32_t, const Value *> sources;
  for (const auto &graph : before->subgraphs)
    for (const Value *value : graph->values)
      sources[value->relations.front().tensor] = value;
  for (Value *value : places(*after, most)) {
    Payload kept = value->buffer->payload;
    for (Fault fault : {OneNumber, Swapped, Zeroed}) {
      value->buffer->payload = faulty(kept, fault);
      if (value->buffer->payload.sameBytes(kept))
        continue;
      auto relations = std::move(value->relations); // a constant that is compared itself would be too easy
      value->relations.clear();
      auto wrong = baseline->compare(*after);
      ASSERT_TRUE(static_cast<bool>(wrong));
      bool found = !wrong->deviations.empty(), range = deviatesByRange(*baseline, sources, *after);
      value->relations = std::move(relations);
      Seen &counts = seen[fault];
      ++counts.faults;
      counts.seen += found;
      counts.byRange += range;
      counts.lost += range && !found;
      if (range && !found)
        lost += std::string(names[fault]) + ": " + printable(value->name) + "\n";
    }
    value->buffer->payload = kept;
  }
}

void report(const std::map<int, Seen> &seen) {
  for (auto [fault, counts] : seen)
    llvm::outs() << names[fault] << ": " << counts.faults << ", seen " << counts.seen << ", by 1e-5 of the range "
                 << counts.byRange << ", by that alone " << counts.lost << '\n';
  llvm::outs().flush();
}

TEST(Faults, Samples) {
  std::map<int, Seen> seen;
  std::string lost;
  for (const char *name : {"lstm", "transformer", "while", "resnet_preact"}) {
    SCOPED_TRACE(name);
    auto buffer = llvm::MemoryBuffer::getFile(std::string(ORIGO_SOURCE_DIR "/res/") + name + ".origo");
    ASSERT_TRUE(bool(buffer));
    PayloadStore store;
    auto load = [&] {
      auto model = llvm::cantFail(parseText((*buffer)->getBuffer(), ORIGO_SOURCE_DIR "/res", store));
      model->becomeSource();
      return model;
    };
    tryFaults(load, seen, llvm::StringRef(name) == "resnet_preact" ? 2 : 4, lost);
  }
  report(seen);
  EXPECT_EQ(lost, "");
  for (Fault fault : {OneNumber, Swapped, Zeroed})
    EXPECT_GE(seen[fault].seen * 10, seen[fault].faults * (fault == OneNumber ? 7 : 8)) << names[fault];
}

void ofModels(const ModelFolder &folder, std::initializer_list<llvm::StringRef> of) {
  std::map<int, Seen> seen;
  std::string lost;
  unsigned models = 0; // with ORIGO_THOROUGH=1 all of them, else some seconds
  for (llvm::StringRef name : of) {
    if (++models > 6 && !thorough())
      break;
    SCOPED_TRACE(name.str());
    auto load = [&] {
      ImportOptions options;
      options.origin = OriginMode::Restart;
      return std::move(llvm::cantFail(importModel(folder.at((name + ".tflite").str()), options)).model);
    };
    tryFaults(load, seen, thorough() ? 6 : 2, lost);
  }
  report(seen);
  EXPECT_EQ(lost, "");
  for (Fault fault : {OneNumber, Swapped, Zeroed})
    EXPECT_GE(seen[fault].seen * 10, seen[fault].faults * 8) << names[fault];
}

TEST(Faults, Models) {
  ofModels(ownNetworks(),
           {"mobilenet_i8", "resnet_f32", "mobilenet_v3_f32", "blazeface_f32", "unrolled_lstm_f32", "keywords_f32",
            "style_transfer_f32", "bert_f32", "unet_f32", "nested_loops_f32", "signatures_3sg_f32", "conformer_f32",
            "detection_f32", "dilated_f32", "composite_f32", "language_model_2sg_f32"});
}
TEST(FaultsPublicModels, Models) {
  ofModels(publicModels(), {"kws_ref_i8",
                            "mnist_resnet_f32",
                            "resnet8_cifar_f32",
                            "cifar10_f32",
                            "blazeface_front_f32",
                            "mtcnn_rnet_f32",
                            "dtln_1_f32",
                            "mnist_lstm_f32",
                            "vww_96_f32",
                            "textcls_wordvec_f32",
                            "dilated_conv_f32",
                            "sdpa_composite_f32",
                            "mobilenet_v1_025_128_f32",
                            "age_lite_f32",
                            "lstm2_unrolled_f32",
                            "nested_while_f32",
                            "multi_signature_3sg_f32",
                            "yunet_f32",
                            "ddsp_pitch_f32",
                            "toy_llm_kv_2sig_f32"});
}

} // namespace
