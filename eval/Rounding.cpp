#include "eval/Rounding.h"

#include "llvm/ADT/DenseSet.h"

#include <cmath>
#include <cstring>
#include <map>

namespace origo::eval {

static constexpr int leastExponent = -1080, exponents = 2160;

/// 0 for zero, and more for larger numbers.
static size_t sizeClass(double number) {
  if (number == 0)
    return 0;
  return std::clamp(std::isfinite(number) ? std::ilogb(number) - leastExponent : exponents - 1, 1, exponents - 1);
}

Tolerance Tolerance::ofRange(llvm::ArrayRef<double> numbers, double part) {
  double low = INFINITY, high = -INFINITY;
  for (double x : numbers)
    if (std::isfinite(x)) {
      low = std::min(low, x);
      high = std::max(high, x);
    }
  Tolerance made(0);
  made.all = part * (high > low ? high - low : high == low ? std::fabs(high) : 0);
  return made;
}

Tolerance Tolerance::measured(llvm::ArrayRef<double> numbers, llvm::ArrayRef<double> moved, double relative) {
  constexpr size_t enough = 64; // numbers of a size, and below, before they are believed
  Tolerance made(relative);
  std::vector<double> most(exponents, 0);
  std::vector<size_t> count(exponents, 0);
  for (size_t i = 0; i < numbers.size(); ++i) {
    double off = moved[i];
    if (!(off > 0)) // did not move, or is NaN
      continue;
    size_t at = sizeClass(numbers[i]);
    most[at] = std::max(most[at], off);
    ++count[at];
  }
  size_t seen = 0;
  double far = 0;
  for (size_t first = 0, at = 0; at < exponents; ++at) {
    seen += count[at];
    far = std::max(far, most[at]);
    if (seen < enough && at + 1 < exponents)
      continue;
    for (; first <= at; ++first)
      most[first] = far;
  }
  made.all = far;
  made.most = std::move(most);
  return made;
}

double Tolerance::at(double number) const {
  double moved = most.empty() ? all : most[sizeClass(number)];
  return (most.empty() ? moved : margin * moved) + (std::isfinite(number) ? margin * relative * std::fabs(number) : 0);
}

double unitOf(TensorType type) {
  switch (type) {
  case TensorType::FLOAT32:
    return std::ldexp(1., -23);
  case TensorType::FLOAT64:
    return std::ldexp(1., -52);
  case TensorType::FLOAT16:
    return std::ldexp(1., -10);
  case TensorType::BFLOAT16:
    return std::ldexp(1., -7);
  default:
    return 0;
  }
}

/// How many products or numbers an element of the result is the sum of, about.
static double terms(const Operator &op) {
  auto elements = [](const Value *value) { return value ? double(value->elementCount().value_or(1)) : 0; };
  auto dimension = [](const Value *value, int axis) {
    return value && value->rank() > 0 ? std::max(1, value->shape[axis < 0 ? value->rank() + axis : axis]) : 1;
  };
  switch (op.code) {
  case BuiltinOperator::CONV_2D:
  case BuiltinOperator::TRANSPOSE_CONV:
    return elements(op.operand(1)) / dimension(op.operand(1), 0);
  case BuiltinOperator::CONV_3D:
  case BuiltinOperator::CONV_3D_TRANSPOSE:
  case BuiltinOperator::DEPTHWISE_CONV_2D:
    return elements(op.operand(1)) / dimension(op.operand(1), -1);
  case BuiltinOperator::FULLY_CONNECTED:
    return dimension(op.operand(1), -1);
  case BuiltinOperator::BATCH_MATMUL:
  case BuiltinOperator::SOFTMAX:
  case BuiltinOperator::LOG_SOFTMAX:
    return dimension(op.operand(0), -1);
  default:
    break;
  }
  double most = 0, result = std::max(1., elements(op.result()));
  for (const Use &use : op.operands())
    most = std::max(most, elements(use.get()));
  return most / result;
}

double roundingOf(const Operator &op, TensorType type) { return unitOf(type) * std::max(1., std::sqrt(terms(op)) / 4); }

template <class T> static void jiggleAll(llvm::MutableArrayRef<uint8_t> bytes, double part, uint64_t seed) {
  for (size_t at = 0; at + sizeof(T) <= bytes.size(); at += sizeof(T)) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    T number;
    std::memcpy(&number, bytes.data() + at, sizeof(T));
    // Integers are exact, up to where all floats are integers.
    if (!std::isfinite(number) || (number == std::rint(number) && std::fabs(static_cast<double>(number)) * part < 1))
      continue;
    T moved = static_cast<T>(static_cast<double>(number) * (1 + (seed >> 63 ? part : -part)));
    if (std::isfinite(moved))
      std::memcpy(bytes.data() + at, &moved, sizeof(T));
  }
}

bool jiggle(TensorType type, llvm::MutableArrayRef<uint8_t> bytes, double part, uint64_t seed) {
  // Neighbouring seeds draw nothing alike, or what moves one tensor would move the next one back (SplitMix64).
  seed = (seed + 1) * 0x9E3779B97F4A7C15u;
  seed = (seed ^ seed >> 30) * 0xBF58476D1CE4E5B9u;
  seed = (seed ^ seed >> 27) * 0x94D049BB133111EBu;
  if (type == TensorType::FLOAT32)
    jiggleAll<float>(bytes, part, seed);
  else if (type == TensorType::FLOAT64)
    jiggleAll<double>(bytes, part, seed);
  else
    return false;
  return true;
}

llvm::Expected<JiggledSession> compileJiggled(Model &model, const CompileOptions &options, double errors,
                                              llvm::function_ref<uint64_t(const Value &)> seedOf) {
  std::map<const Value *, double> parts;
  for (const auto &graph : model.subgraphs)
    for (const Operator &op : graph->operators)
      for (const Use &use : op.operands())
        if (const Value *value = use.get(); value && value->isConstant() && errors * unitOf(value->type) > 0)
          parts[value] = std::max(parts[value], roundingOf(op, value->type));
  std::vector<Payload> payloads;
  std::vector<std::pair<Buffer *, Payload>> kept;
  llvm::DenseSet<const Buffer *> seen;
  for (const auto &graph : model.subgraphs)
    for (const Value *value : graph->values) {
      auto part = parts.find(value);
      if (part == parts.end() || !value->buffer || value->compression || value->externalBuffer ||
          !value->payload().hasBytes() || !seen.insert(value->buffer).second)
        continue;
      llvm::ArrayRef<uint8_t> bytes = value->payload().bytes();
      std::string moved(bytes.begin(), bytes.end());
      if (!jiggle(value->type, {reinterpret_cast<uint8_t *>(moved.data()), moved.size()}, errors * part->second,
                  seedOf(*value)))
        continue;
      kept.emplace_back(value->buffer, value->buffer->payload);
      value->buffer->payload = Payload::owned(std::move(moved));
      payloads.push_back(value->buffer->payload);
    }
  auto session = compile(model, options);
  for (auto &[buffer, payload] : kept)
    buffer->payload = std::move(payload);
  if (!session)
    return session.takeError();
  return JiggledSession{std::move(payloads), std::move(*session)};
}

} // namespace origo::eval
