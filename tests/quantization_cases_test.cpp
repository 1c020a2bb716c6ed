#include "eval/RealNumbers.h"
#include "import/Import.h"
#include "passes/Pipeline.h"
#include "quantize/Calibrate.h"
#include "quantize/Config.h"
#include "quantize/Plan.h"
#include "quantize/Ranges.h"
#include "tests/RealModels.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"

#include "gtest/gtest.h"

#include <cmath>
#include <nlohmann/json.hpp>

/// What ONE's quantiser computed for some models, in quantization-cases beside the public models, within the tolerances
/// of its own tests.

using namespace origo;
using namespace origo::quantize;
using namespace origo::test;
using nlohmann::json;

namespace {

std::string casesFolder() { return publicModels().at("../quantization-cases"); }

struct QuantizedCase {
  std::string model, granularity, type; ///< model: with `_config` where there is one
  std::string text() const { return model + "/" + granularity + "/" + type; }
};

std::vector<std::string> entriesOf(const std::string &folder) {
  std::vector<std::string> names;
  std::error_code ec;
  for (llvm::sys::fs::directory_iterator it(folder, ec), end; it != end && !ec; it.increment(ec))
    names.push_back(llvm::sys::path::filename(it->path()).str());
  llvm::sort(names);
  return names;
}

std::vector<QuantizedCase> casesWith(llvm::StringRef step) {
  std::vector<QuantizedCase> cases;
  std::string folder = casesFolder() + "/expected_outputs";
  for (const std::string &model : entriesOf(folder))
    for (const std::string &granularity : entriesOf(folder + "/" + model))
      for (const std::string &type : entriesOf(folder + "/" + model + "/" + granularity))
        if (QuantizedCase one{model, granularity, type}; llvm::sys::fs::exists(folder + "/" + one.text() + "/" + step))
          cases.push_back(one);
  return cases;
}

std::string readText(const std::string &path) {
  auto file = llvm::MemoryBuffer::getFile(path);
  EXPECT_TRUE(static_cast<bool>(file)) << path;
  return file ? (*file)->getBuffer().str() : "";
}

std::unique_ptr<Model> modelOf(const QuantizedCase &item) {
  llvm::StringRef name = item.model;
  name.consume_back("_config");
  std::string path = publicModels().at("recipes/") + name.str();
  auto imported = importModel(path + (llvm::sys::fs::exists(path + ".tflite") ? ".tflite" : ".circle"));
  EXPECT_TRUE(static_cast<bool>(imported)) << llvm::toString(imported.takeError());
  return imported ? std::move(imported->model) : nullptr;
}

/// The five files of a case: a line of floats for each input.
class CaseRecords : public Records {
public:
  CaseRecords(const QuantizedCase &item, llvm::ArrayRef<eval::Port> ports)
      : folder(casesFolder() + "/test_inputs/" + item.text()), ports(ports.begin(), ports.end()) {}
  uint64_t count() const override { return entriesOf(folder).size(); }
  llvm::Expected<std::vector<eval::OwnedTensor>> read(uint64_t record) override {
    std::string text = readText(folder + "/" + std::to_string(record) + ".txt");
    std::vector<eval::OwnedTensor> inputs;
    llvm::SmallVector<llvm::StringRef> lines, numbers;
    llvm::StringRef(text).split(lines, '\n', -1, false);
    for (auto [line, port] : llvm::zip(lines, ports)) {
      eval::OwnedTensor &input = inputs.emplace_back(eval::OwnedTensor{port.type, port.shape, {}});
      numbers.clear();
      line.split(numbers, ',');
      for (llvm::StringRef number : numbers) {
        float x = std::stof(number.trim().str());
        input.bytes.insert(input.bytes.end(), reinterpret_cast<uint8_t *>(&x), reinterpret_cast<uint8_t *>(&x) + 4);
      }
    }
    return inputs;
  }

private:
  std::string folder;
  std::vector<eval::Port> ports;
};

void record(Model &model, const QuantizedCase &item) {
  auto statistics =
      calibrate(model,
                [&](llvm::ArrayRef<eval::Port> ports, llvm::StringRef) -> llvm::Expected<std::unique_ptr<Records>> {
                  return std::make_unique<CaseRecords>(item, ports);
                },
                {});
  ASSERT_TRUE(static_cast<bool>(statistics)) << llvm::toString(statistics.takeError());
  std::vector<std::string> silent;
  llvm::Error error = setRanges(model, *statistics, {}, silent);
  ASSERT_FALSE(static_cast<bool>(error)) << llvm::toString(std::move(error));
  EXPECT_EQ(silent.size(), 0u);
}

Value *tensorNamed(Model &model, llvm::StringRef name) {
  for (auto &graph : model.subgraphs)
    for (Value *value : graph->values)
      if (!value->erased() && value->name == name)
        return value;
  return nullptr;
}

/// A number, or a list of them in lists, in order.
void flatten(const json &value, std::vector<double> &numbers) {
  if (value.is_number())
    numbers.push_back(value.get<double>());
  else
    for (const json &one : value)
      flatten(one, numbers);
}

template <class T>
void expectNear(llvm::ArrayRef<T> have, const json &want, double tolerance, bool relative, const std::string &what) {
  std::vector<double> numbers;
  flatten(want, numbers);
  ASSERT_EQ(have.size(), numbers.size()) << what;
  for (size_t i = 0; i < numbers.size(); ++i)
    ASSERT_NEAR(static_cast<double>(have[i]), numbers[i],
                tolerance + (relative ? tolerance * std::fabs(numbers[i]) : 0))
        << what << " " << i;
}

void quantize(Model &model, const Scheme &scheme, PayloadStore &store) {
  std::vector<Unquantized> unquantized;
  PipelineOptions options;
  options.verifyEach = true;
  options.format = Format::Circle; // which ONE quantises
  llvm::Error error = runPipeline(model, Pipeline::quantization(planBy(scheme, &unquantized)), store, options);
  ASSERT_FALSE(static_cast<bool>(error)) << llvm::toString(std::move(error));
  for (const Unquantized &one : unquantized)
    ADD_FAILURE() << one.kind << ": " << one.why;
}

Scheme schemeOf(const QuantizedCase &item, Scheme::Mode mode) {
  Scheme scheme;
  scheme.dialect = Dialect::One;
  auto choice = oneChoice(item.type, item.granularity);
  EXPECT_TRUE(static_cast<bool>(choice)) << llvm::toString(choice.takeError());
  if (choice)
    scheme.common = *choice;
  scheme.common.mode = mode;
  scheme.inputs = scheme.outputs = {scheme.common.activations};
  return scheme;
}

/// Asks for the other type for some layers, where the case is one with a config.
bool configure(Scheme &scheme, const Model &model, const QuantizedCase &item) {
  auto [name, isConfig] = llvm::StringRef(item.model).split("_config");
  if (name.size() == item.model.size())
    return false;
  std::string config = casesFolder() + "/config_files/" + name.str() + "/" + item.granularity + "/" + item.type;
  llvm::Error error = readConfig(readText(config + "/qconf.json"), model, scheme);
  EXPECT_FALSE(static_cast<bool>(error)) << llvm::toString(std::move(error));
  return true;
}

/// ONE's first step: weights of numbers that integers can hold.
void roundWeights(Model &model, const QuantizedCase &item, PayloadStore &store) {
  clearParameters(model);
  Scheme scheme = schemeOf(item, Scheme::Mode::RoundedWeights);
  configure(scheme, model, item);
  quantize(model, scheme, store);
}

std::vector<double> elementsOf(const Value &value) {
  eval::Tensor tensor;
  tensor.type = value.type;
  tensor.shape.assign(value.shape.begin(), value.shape.end());
  std::vector<uint8_t> bytes(value.payload().bytes().begin(), value.payload().bytes().end());
  tensor.storage = bytes;
  auto numbers = eval::storedNumbers(tensor);
  EXPECT_TRUE(numbers.has_value());
  return numbers.value_or(std::vector<double>());
}

/// The tensors of each model that were compared.
using Compared = std::map<std::string, unsigned>;

void roundedWeights(Compared &tensors) {
  for (const QuantizedCase &item : casesWith("fake_quantization")) {
    SCOPED_TRACE(item.text());
    auto model = modelOf(item);
    ASSERT_TRUE(model);
    PayloadStore store;
    roundWeights(*model, item, store);
    std::string folder = casesFolder() + "/expected_outputs/" + item.text() + "/fake_quantization/";
    for (const std::string &file : entriesOf(folder)) {
      Value *value = tensorNamed(*model, llvm::StringRef(file).drop_back(5));
      ASSERT_TRUE(value) << file;
      expectNear<double>(elementsOf(*value), json::parse(readText(folder + file))["weights"], 1e-5, true, file);
      ++tensors[item.model];
    }
  }
}

void quantized(Compared &tensors) {
  for (const QuantizedCase &item : casesWith("quantization")) {
    SCOPED_TRACE(item.text());
    auto model = modelOf(item);
    ASSERT_TRUE(model);
    PayloadStore store;
    Scheme scheme = schemeOf(item, Scheme::Mode::Full);
    roundWeights(*model, item, store);
    record(*model, item);
    bool mixed = configure(scheme, *model, item);
    quantize(*model, scheme, store);
    std::string folder = casesFolder() + "/expected_outputs/" + item.text() + "/quantization/";
    for (const std::string &file : entriesOf(folder)) {
      SCOPED_TRACE(file);
      Value *value = tensorNamed(*model, llvm::StringRef(file).drop_back(5));
      if (file == ".json") // an operand that is left out
        continue;
      ASSERT_TRUE(value);
      // An output of the model keeps its name; ONE gives that to the tensor before the bridge to it.
      if (mixed && value->isGraphOutput() && value->producer()->code == BuiltinOperator::QUANTIZE)
        value = value->producer()->operand(0);
      json want = json::parse(readText(folder + file));
      ASSERT_EQ(value->quantization != nullptr, want.contains("scale"));
      if (value->quantization)
        expectNear(value->quantization->scale, want["scale"], 1e-5, true, "scale");
      if (want.contains("zero_point"))
        for (int64_t zero : value->quantization->zeroPoint) // ONE's dump has one where all are 0
          expectNear<int64_t>(want["zero_point"].is_array() ? value->quantization->zeroPoint : zero, want["zero_point"],
                              1, false, "zero point");
      if (want.contains("weights"))
        expectNear<double>(elementsOf(*value), want["weights"], value->type == TensorType::INT64 ? 5 : 1, false,
                           "weights");
      ++tensors[item.model];
    }
  }
}

void weightsAlone(Compared &tensors) {
  for (const QuantizedCase &item : casesWith("wo_quantization")) {
    SCOPED_TRACE(item.text());
    auto model = modelOf(item);
    ASSERT_TRUE(model);
    PayloadStore store;
    Scheme scheme;
    scheme.common.mode = Scheme::Mode::Weights;
    scheme.dialect = Dialect::One;
    scheme.common.weights = item.type == "int8" ? TensorType::INT8 : TensorType::INT16;
    quantize(*model, scheme, store);
    std::string folder = casesFolder() + "/expected_outputs/" + item.text() + "/wo_quantization/";
    for (const std::string &file : entriesOf(folder)) {
      SCOPED_TRACE(file);
      Value *value = tensorNamed(*model, llvm::StringRef(file).drop_back(5));
      ASSERT_TRUE(value && value->quantization);
      json want = json::parse(readText(folder + file));
      expectNear(value->quantization->scale, want["scale"], 1e-5, true, "scale");
      expectNear<double>(elementsOf(*value), want["weights"], 1, false, "weights");
      ++tensors[item.model];
    }
  }
}

void recordedRanges(Compared &tensors) {
  for (const QuantizedCase &item : casesWith("record_minmax")) {
    SCOPED_TRACE(item.text());
    auto model = modelOf(item);
    ASSERT_TRUE(model);
    PayloadStore store;
    roundWeights(*model, item, store);
    record(*model, item);
    std::string folder = casesFolder() + "/expected_outputs/" + item.text() + "/record_minmax/";
    for (const std::string &file : entriesOf(folder)) {
      Value *value = tensorNamed(*model, llvm::StringRef(file).drop_back(5));
      ASSERT_TRUE(value && value->quantization) << file;
      json want = json::parse(readText(folder + file));
      expectNear(value->quantization->min, want["min"], 1e-5, true, file);
      expectNear(value->quantization->max, want["max"], 1e-5, true, file);
      ++tensors[item.model];
    }
  }
}

/// docs/quantization.md has how many tensors were compared; with ORIGO_BLESS=1 in the environment that is written anew.
TEST(QuantizationCasesPublicModels, AreAsOnes) {
  std::vector<std::string> models = entriesOf(casesFolder() + "/expected_outputs");
  ASSERT_GE(models.size(), 10u) << "in " << casesFolder();
  Compared rounded, ranges, all, weights;
  roundedWeights(rounded);
  recordedRanges(ranges);
  quantized(all);
  weightsAlone(weights);
  std::string table = "| case | rounded weights | ranges | quantised | weights alone |\n|---|---|---|---|---|\n";
  for (const std::string &model : models) {
    table += "| " + model;
    for (Compared *compared : {&rounded, &ranges, &all, &weights})
      table += " | " + (compared->count(model) ? std::to_string(compared->at(model)) : "");
    table += " |\n";
  }
  std::string path = ORIGO_SOURCE_DIR "/docs/quantization.md", page = readText(path);
  llvm::StringRef begin = "<!-- cases -->\n", end = "<!-- end of cases -->\n";
  size_t first = page.find(begin), last = page.find(end);
  ASSERT_TRUE(first != std::string::npos && first < last && last != std::string::npos);
  first += begin.size();
  if (const char *bless = std::getenv("ORIGO_BLESS"); bless && *bless && !HasFailure()) {
    std::error_code ec;
    llvm::raw_fd_ostream(path, ec) << page.replace(first, last - first, table);
    ASSERT_FALSE(ec) << ec.message();
  }
  EXPECT_EQ(page.substr(first, table.size()), table)
      << "ORIGO_BLESS=1 origo_tests --gtest_filter=QuantizationCases* writes it";
}

} // namespace
