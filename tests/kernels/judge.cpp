#include "eval/Npy.h"
#include "import/Import.h"
#include "schema/TensorTypes.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <map>

/// Feeds each operator of a model with the tensors that another runtime computed, and compares the results with that
/// runtime's: one line an operator, "OPERATOR<tab>types<tab>verdict<tab>place and reason".

using namespace origo;
using namespace origo::eval;
namespace cl = llvm::cl;

static cl::opt<std::string> modelPath(cl::Positional, cl::Required, cl::desc("MODEL"));
static cl::opt<std::string> taps("taps", cl::desc("Folder with input_K, output_K and tensor_I .npy of subgraph 0"));
static cl::opt<bool> loose("loose",
                           cl::desc("The runtime rounds in its own way: a step of quantised numbers is allowed"));
static cl::opt<std::string> only("op", cl::desc("Only this operator"));

namespace {

std::optional<OwnedTensor> readTap(const std::string &path, TensorType type) {
  auto file = llvm::MemoryBuffer::getFile(path, false, false);
  if (!file)
    return std::nullopt;
  llvm::StringRef bytes = (*file)->getBuffer();
  auto tensor = readNpy({bytes.bytes_begin(), bytes.size()});
  if (!tensor) {
    llvm::consumeError(tensor.takeError());
    return std::nullopt;
  }
  tensor->type = type;
  return std::move(*tensor);
}

class Taps {
public:
  explicit Taps(const Subgraph &graph) {
    for (size_t i = 0; i < graph.inputs.size(); ++i)
      names[graph.inputs[i]] = "input_" + std::to_string(i);
    for (size_t i = 0; i < graph.outputs.size(); ++i)
      names.try_emplace(graph.outputs[i], "output_" + std::to_string(i));
  }
  /// The runtime widens constant weights once and does not show them: their taps hold nothing.
  static bool isHidden(const Value *value) {
    const Operator *op = value->producer();
    return op && (op->code == BuiltinOperator::DEQUANTIZE || op->code == BuiltinOperator::DENSIFY) && op->operand(0) &&
           (op->operand(0)->isConstant() || isHidden(op->operand(0)));
  }
  /// Of float16, it does not even fill them.
  static bool isLost(const Value *value) {
    const Operator *op = value->producer();
    return op && isHidden(value) &&
           ((op->code == BuiltinOperator::DENSIFY && value->type == TensorType::FLOAT16) || isLost(op->operand(0)));
  }
  const OwnedTensor *find(const Value *value) {
    auto [found, isNew] = tensors.try_emplace(value);
    if (isNew && isHidden(value)) {
      const Operator &op = *value->producer();
      TensorRef ref;
      const TensorRef *given = nullptr;
      if (!op.operand(0)->isConstant()) {
        const OwnedTensor *tensor = find(op.operand(0));
        if (!tensor)
          return nullptr;
        ref = *tensor;
        given = &ref;
      }
      if (auto results = runOperator(op, given))
        tensors[value] = std::move(results->front());
      else
        llvm::consumeError(results.takeError());
      return tensors[value] ? &*tensors[value] : nullptr;
    }
    if (isNew) {
      auto name = names.find(value);
      std::string file = name != names.end() ? name->second : "tensor_" + std::to_string(value->index);
      found->second = readTap(taps + "/" + file + ".npy", value->type);
      if (!found->second && value->isVariable)
        found->second = reset(*value);
    }
    return found->second ? &*found->second : nullptr;
  }

private:
  std::map<const Value *, std::string> names;
  std::map<const Value *, std::optional<OwnedTensor>> tensors;
  /// A variable before the first run.
  static std::optional<OwnedTensor> reset(const Value &value) {
    auto size = payloadBytes(value.type, value.elementCount().value_or(0));
    if (!size || !value.elementCount())
      return std::nullopt;
    Tensor view;
    view.quantization = value.quantization;
    return OwnedTensor{value.type, Shape(value.shape.begin(), value.shape.end()),
                       std::vector<uint8_t>(*size, value.type == TensorType::INT8 ? uint8_t(view.zeroPoint()) : 0)};
  }
};

template <class T> double number(const uint8_t *bytes, size_t i) {
  T value;
  std::memcpy(&value, bytes + i * sizeof(T), sizeof(T));
  return static_cast<double>(value);
}

double numberAt(TensorType type, const uint8_t *bytes, size_t i) {
  switch (type) {
  case TensorType::FLOAT32:
  case TensorType::COMPLEX64: // real and imaginary parts by turns
    return number<float>(bytes, i);
  case TensorType::FLOAT64:
    return number<double>(bytes, i);
  case TensorType::INT8:
    return number<int8_t>(bytes, i);
  case TensorType::INT16:
    return number<int16_t>(bytes, i);
  case TensorType::INT32:
    return number<int32_t>(bytes, i);
  case TensorType::INT64:
    return number<int64_t>(bytes, i);
  default:
    return number<uint8_t>(bytes, i);
  }
}

struct Verdict {
  const char *word;
  std::string reason;
};

std::string text(llvm::ArrayRef<int32_t> shape) {
  std::string result;
  for (int32_t dim : shape)
    result += (result.empty() ? "" : "x") + std::to_string(dim);
  return "[" + result + "]";
}

/// A part of the range. Sums of floats depend on the order in which they are added up, the long ones visibly.
double toleranceOf(const Operator &op) {
  auto elements = [](const Value *value) { return value ? value->elementCount().value_or(0) : 0; };
  uint64_t from = elements(op.operand(0)), to = elements(op.result(0));
  bool sums = op.code == BuiltinOperator::MEAN || op.code == BuiltinOperator::SUM;
  return sums && to && from / to > 10000 ? 1e-4 : 1e-5;
}

Verdict compare(const OwnedTensor &got, const OwnedTensor &want, double tolerance) {
  if (llvm::ArrayRef(got.shape) != llvm::ArrayRef(want.shape))
    return {"failed", "shape " + text(got.shape) + " instead of " + text(want.shape)};
  if (got.bytes == want.bytes)
    return {"exact", ""};
  if (got.bytes.size() != want.bytes.size())
    return {"failed", "size in bytes"};
  bool isComplex = want.type == TensorType::COMPLEX64;
  bool real = want.type == TensorType::FLOAT32 || want.type == TensorType::FLOAT64 || isComplex;
  size_t count = static_cast<size_t>(product(want.shape)) * (isComplex ? 2 : 1), wrong = 0, worst = 0;
  double low = INFINITY, high = -INFINITY, most = 0;
  for (size_t i = 0; i < count; ++i) {
    double expected = numberAt(want.type, want.bytes.data(), i), actual = numberAt(got.type, got.bytes.data(), i);
    if (std::isfinite(expected)) {
      low = std::min(low, expected);
      high = std::max(high, expected);
    }
    if (expected == actual || (std::isnan(expected) && std::isnan(actual)))
      continue;
    double error = std::fabs(expected - actual);
    ++wrong;
    if (!(error <= most)) {
      most = std::isnan(error) ? INFINITY : error;
      worst = i;
    }
  }
  double range = high > low ? high - low : std::max(1e-30, std::fabs(high));
  std::string reason =
      llvm::formatv("{0} of {1} differ, most by {2:e3}{3}, at {4}: {5} instead of {6}", wrong, count,
                    real ? most / range : most, real ? " of the range" : "", worst,
                    numberAt(got.type, got.bytes.data(), worst), numberAt(want.type, want.bytes.data(), worst));
  if (real ? most <= tolerance * range : loose && most <= 1)
    return {"within", reason};
  return {"failed", reason};
}

Verdict judge(const Operator &op, Taps *tapped) {
  auto isResource = [](const Value *value) { return value && value->type == TensorType::RESOURCE; };
  // What works on a state is judged by whole models.
  if (isControlFlow(op.code) || isResource(op.operand(0)) || isResource(op.result()))
    return {"control", ""};
  if (!findKernel(op))
    return {"unsupported", ""};
  if (!tapped)
    return {"untapped", ""};
  llvm::SmallVector<TensorRef, 8> refs(op.numOperands());
  llvm::SmallVector<const TensorRef *, 8> given;
  for (unsigned i = 0; i < op.numOperands(); ++i) {
    const Value *value = op.operand(i);
    given.push_back(nullptr);
    if (!value || value->isConstant())
      continue;
    const OwnedTensor *tensor = Taps::isLost(value) ? nullptr : tapped->find(value);
    if (!tensor)
      return {"untapped", "operand " + std::to_string(i)};
    refs[i] = *tensor;
    given.back() = &refs[i];
  }
  auto results = runOperator(op, given);
  if (!results)
    return {"failed", llvm::toString(results.takeError())};
  Verdict worst{"untapped", "no result"};
  for (unsigned i = 0; i < op.results().size(); ++i) {
    const OwnedTensor *want = op.result(i) && !Taps::isHidden(op.result(i)) ? tapped->find(op.result(i)) : nullptr;
    if (!want)
      continue;
    Verdict verdict = compare((*results)[i], *want, toleranceOf(op));
    auto grade = [](llvm::StringRef word) {
      return word == "failed" ? 3 : word == "within" ? 2 : word == "exact" ? 1 : 0;
    };
    if (grade(verdict.word) > grade(worst.word))
      worst = verdict;
  }
  return worst;
}

} // namespace

int main(int argc, char **argv) {
  cl::ParseCommandLineOptions(argc, argv);
  auto imported = importModel(modelPath);
  if (!imported) {
    llvm::errs() << llvm::toString(imported.takeError()) << "\n";
    return 1;
  }
  Model &model = *imported->model;
  model.number();
  std::optional<Taps> tapped;
  if (!taps.empty() && !model.subgraphs.empty())
    tapped.emplace(*model.subgraphs[0]);
  for (const auto &graph : model.subgraphs)
    for (const Operator &op : graph->operators) {
      if (!only.empty() && op.opName() != only)
        continue;
      Verdict verdict = judge(op, tapped && graph->index == 0 ? &*tapped : nullptr);
      std::string custom = op.customCode().empty() ? "" : ":" + printable(op.customCode());
      llvm::outs() << op.opName() << custom << "\t" << typesOf(op) << "\t" << verdict.word << "\tsubgraph "
                   << graph->index << ", operator " << op.index << "; " << verdict.reason << "\n";
    }
  return 0;
}
