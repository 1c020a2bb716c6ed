#include "tests/fuzz/FuzzRun.h"

#include "eval/Distance.h"
#include "eval/RandomInput.h"
#include "eval/RealNumbers.h"
#include "eval/Rounding.h"
#include "ir/rewrite/Graph.h"
#include "ir/shapes/Inference.h"

#include "schema/TensorTypes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>
#include <cstring>
#include <limits>

using namespace origo;
using namespace origo::fuzz;

namespace {

/// How far results may be from each other, in the measure of eval/Distance.h.
double mostOf(TensorType type) {
  return type == TensorType::FLOAT32 ? 1e-4 : type == TensorType::INT8 || type == TensorType::UINT8 ? 1 : 0;
}

void refuse(Run &run, llvm::Error error) {
  llvm::handleAllErrors(std::move(error), [&](const llvm::ErrorInfoBase &e) {
    run.refused = e.message();
    if (e.isA<eval::EvalError>()) {
      auto code = static_cast<const eval::EvalError &>(e).code;
      run.limited |= code == eval::ErrorCode::Timeout || code == eval::ErrorCode::MemoryLimit;
    }
  });
}

/// A function that comes to its bound in one engine may be a little before it in the other.
void leaveBound(const Operator &op, eval::Tensor &tensor, double part, uint64_t seed) {
  bool isBounded = activationOf(op) == rewrite::Activation::TANH || op.code == BuiltinOperator::TANH ||
                   op.code == BuiltinOperator::LOGISTIC || op.code == BuiltinOperator::ELU;
  if (isBounded && tensor.type == TensorType::FLOAT32)
    for (float &number : tensor.as<float>())
      if (std::fabs(number) == 1 && ((seed = seed * 6364136223846793005 + 1442695040888963407) >> 63))
        number *= static_cast<float>(1 - part);
  constexpr float few = 8; // where GELU is nearly 0 it is a number of this size times what is left of 1
  if (op.code == BuiltinOperator::GELU && tensor.type == TensorType::FLOAT32)
    for (float &number : tensor.as<float>())
      if (std::fabs(number) < 1e-3f)
        number +=
            static_cast<float>((seed = seed * 6364136223846793005 + 1442695040888963407) >> 63 ? part : -part) * few;
}

/// Kernels of 8 bits may round a step up or down.
void leaveStep(const Operator &op, const Value &value, eval::Tensor &tensor, uint64_t seed) {
  auto each = [&](auto bytes) {
    using T = std::remove_reference_t<decltype(bytes[0])>;
    for (T &number : bytes) {
      seed = seed * 6364136223846793005 + 1442695040888963407;
      int moved = number + static_cast<int>(seed >> 62) % 3 - 1;
      number = static_cast<T>(std::clamp<int>(moved, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
    }
  };
  if (!value.quantization || !op.info() || op.info()->has(Trait::DataMovement))
    return;
  if (value.type == TensorType::INT8)
    each(tensor.as<int8_t>());
  else if (value.type == TensorType::UINT8)
    each(tensor.as<uint8_t>());
}

} // namespace

void fuzz::inferShapes(Model &model) {
  for (auto &graph : model.subgraphs)
    for (Operator &op : graph->operators) {
      auto results = inferResults(op);
      if (!results) {
        llvm::consumeError(results.takeError());
        continue;
      }
      for (auto [type, value] : llvm::zip(*results, op.results()))
        if (value && type.rankKnown && llvm::none_of(type.shape, [](int32_t dim) { return dim < 0; })) {
          value->shape = type.shape;
          value->hasRank = true;
        }
    }
}

bool fuzz::anyConstant(const Model &model, llvm::function_ref<bool(float)> is) {
  for (const auto &graph : model.subgraphs)
    for (const Value *value : graph->values)
      if (value->isConstant() && value->type == TensorType::FLOAT32 && value->payload().hasBytes()) {
        llvm::ArrayRef<uint8_t> bytes = value->payload().bytes();
        for (size_t at = 0; at + sizeof(float) <= bytes.size(); at += sizeof(float)) {
          float number;
          std::memcpy(&number, bytes.data() + at, sizeof(float));
          if (is(number))
            return true;
        }
      }
  return false;
}

Run fuzz::runOn(eval::Engine engine, Model &model, uint32_t seed, uint64_t noise) {
  constexpr double errors = 32; // some functions are a few units off by themselves
  Run run;
  eval::CompileOptions options;
  options.engine = engine;
  options.memoryLimit = 64 << 20;
  options.timeout = std::chrono::seconds(5);
  auto session = eval::compileJiggled(model, options, noise ? errors : 0, [&](const Value &value) {
    return noise + value.index + (static_cast<uint64_t>(value.subgraph()->index) << 32);
  });
  if (!session) {
    refuse(run, session.takeError());
    return run;
  }
  run.compiled = true;
  // A clamp may hide at once what comes of it.
  run.isOdd = anyConstant(model, [](float number) { return number != 0 && !std::isnormal(number); });
  run.isUnsteady = run.isOdd || anyConstant(model, [](float number) { return std::fabs(number) > 1e30f; });
  std::vector<eval::OwnedTensor> inputs;
  auto ports = session->session.inputs();
  for (const eval::Port &port : *ports) {
    auto input = eval::randomInput(port, static_cast<unsigned>(inputs.size()), seed);
    if (!input) {
      refuse(run, input.takeError());
      return run;
    }
    if (noise)
      eval::jiggle(input->type, input->bytes, errors * eval::unitOf(input->type), noise + inputs.size());
    inputs.push_back(std::move(*input));
  }
  std::vector<eval::TensorRef> refs(inputs.begin(), inputs.end());
  eval::RunOptions look;
  look.observer = [&](const Operator &op, const Value &value, eval::Tensor &tensor) {
    if (noise) {
      double part = errors * eval::roundingOf(op, value.type);
      eval::jiggle(value.type, tensor.storage, part, noise + value.index);
      leaveBound(op, tensor, part, noise + value.index);
      leaveStep(op, value, tensor, noise + value.index);
    }
    bool isDivisor = false; // the sign of a zero is not promised, and an infinite quotient is clamped unseen
    double wordful = INFINITY;
    value.forEachUse([&](const Use &use) {
      const Operator &user = *use.user();
      isDivisor |= user.code == BuiltinOperator::DIV && use.operandIndex() == 1;
      if (user.code == BuiltinOperator::QUANTIZE && user.result()->quantization)
        for (float scale : user.result()->quantization->scale)
          wordful = std::min(wordful, 0x1p31 * scale);
    });
    if (tensor.type == TensorType::FLOAT32)
      for (float number : tensor.as<float>()) {
        run.overflowsWords |= std::fabs(number) >= wordful;
        if (number == 0 ? isDivisor : !std::isnormal(number)) {
          run.isUnsteady |= !run.isOdd && std::isfinite(number);
          run.isOdd = true;
        }
      }
  };
  auto outputs = session->session.run(refs, look);
  if (!outputs)
    refuse(run, outputs.takeError());
  else
    run.outputs = std::move(*outputs);
  return run;
}

namespace {

/// How far the floats of each output move where every float before them is off by a few rounding errors: what another
/// order of operations may change, be it much (a difference of two that are nearly equal) or a whole step (a float that
/// lies between two integers).
std::vector<std::vector<double>> movedByRounding(Model &model, uint32_t seed,
                                                 llvm::ArrayRef<eval::NamedTensor> outputs) {
  constexpr unsigned trials = 24;
  std::vector<std::vector<double>> moved;
  for (const eval::NamedTensor &output : outputs)
    moved.emplace_back(eval::floatsIn(output.tensor).size(), 0);
  for (unsigned trial = 1; trial <= trials; ++trial) {
    Run run = runOn(eval::Engine::Reference, model, seed, trial * 1000003ull);
    for (size_t i = 0; i < run.outputs.size(); ++i) {
      auto is = eval::floatsIn(run.outputs[i].tensor), was = eval::floatsIn(outputs[i].tensor);
      for (size_t k = 0; k < moved[i].size() && k < is.size(); ++k)
        moved[i][k] = std::max<double>(moved[i][k], std::fabs(static_cast<double>(is[k]) - was[k]));
    }
  }
  return moved;
}

/// In steps of integers of 16 bits.
double stepsBetween(const eval::OwnedTensor &a, const eval::OwnedTensor &b) {
  double worst = 0;
  for (size_t at = 0; at + 2 <= std::min(a.bytes.size(), b.bytes.size()); at += 2) {
    int16_t x, y;
    std::memcpy(&x, a.bytes.data() + at, 2);
    std::memcpy(&y, b.bytes.data() + at, 2);
    worst = std::max<double>(worst, std::abs(x - y));
  }
  return worst;
}

/// Where two tensors differ first, from `first` on, and how.
std::string where(eval::OwnedTensor a, eval::OwnedTensor b, size_t first) {
  auto shape = [](const eval::OwnedTensor &tensor) {
    std::string text = tensorTypeShortName(tensor.type).str() + "[";
    for (size_t i = 0; i < tensor.shape.size(); ++i)
      text += (i ? "," : "") + std::to_string(tensor.shape[i]);
    return text + "]";
  };
  if (a.type != b.type || a.shape != b.shape)
    return " is " + shape(b) + " and not " + shape(a);
  auto x = eval::realNumbers(a, nullptr), y = eval::realNumbers(b, nullptr);
  for (size_t i = first; x && y && i < std::min(x->size(), y->size()); ++i)
    if ((*x)[i] != (*y)[i] && !(std::isnan((*x)[i]) && std::isnan((*y)[i])))
      return llvm::formatv(" is {0} and not {1} at {2} of {3}", (*y)[i], (*x)[i], i, shape(a)).str();
  return " is another";
}

} // namespace

std::string fuzz::differenceFrom(const Run &reference, llvm::ArrayRef<eval::OwnedTensor> outputs, Model &model,
                                 uint32_t seed, bool integers, unsigned steps) {
  if (reference.outputs.size() != outputs.size())
    return "another number of outputs";
  std::optional<std::vector<std::vector<double>>> moved;
  for (auto [i, x] : llvm::enumerate(reference.outputs)) {
    const eval::OwnedTensor &y = outputs[i];
    if (!integers && x.tensor.type != TensorType::FLOAT32)
      continue;
    double off = eval::distance(x.tensor, y);
    if (off <= mostOf(x.tensor.type))
      continue;
    if (x.tensor.type == TensorType::INT16 && x.tensor.shape == y.shape && y.type == TensorType::INT16 &&
        stepsBetween(x.tensor, y) <= steps)
      continue;
    auto different = [&, &x = x](size_t first = 0) { return x.name + where(x.tensor, y, first); };
    if (x.tensor.type != TensorType::FLOAT32 || x.tensor.shape != y.shape)
      return different();
    if (!moved)
      moved = movedByRounding(model, seed, reference.outputs);
    auto a = eval::floatsIn(x.tensor), b = eval::floatsIn(y);
    auto [low, high] = std::minmax_element(a.begin(), a.end());
    double range = mostOf(x.tensor.type) * (static_cast<double>(*high) - *low);
    for (size_t k = 0; k < a.size(); ++k) {
      double rounding = eval::margin * (*moved)[i][k];
      // What rounding moves by as much as itself may have a pole there: 1 / 0 for 1 / 2e-8, clamped or not.
      bool atPole =
          !(std::fabs(b[k]) < std::numeric_limits<float>::max()) && rounding >= std::fabs(static_cast<double>(a[k]));
      if (a[k] != b[k] && !(std::isnan(a[k]) && std::isnan(b[k])) && !atPole &&
          !(std::fabs(static_cast<double>(a[k]) - b[k]) <= range + rounding))
        return different(k);
    }
  }
  return "";
}
