#include "report/infer/Numbers.h"

#include "eval/RealNumbers.h"
#include "eval/Relations.h"
#include "schema/TensorTypes.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <numeric>

namespace origo::report {

using eval::Shape;
using eval::Tensor;

bool isReal(const Value &value) {
  return eval::isFloat(value.type) || (value.quantization && value.quantization->quantized());
}

bool isStoredAlike(const Value &a, const Value &b) {
  return a.type == b.type && sameQuantization(a.quantization, b.quantization);
}

void RealTensor::measure() {
  most = squares = 0;
  flat = true;
  for (float x : numbers) {
    double size = std::fabs(static_cast<double>(x));
    if (std::isfinite(size)) {
      most = std::max(most, size);
      squares += size * size;
    }
    flat &= x == numbers.front() || (std::isnan(x) && std::isnan(numbers.front()));
  }
}

std::optional<RealTensor> RealTensor::clampedTo(const RealTensor &other) const {
  if (std::isinf(other.low) || llvm::none_of(numbers, [&](float x) { return x < other.low || x > other.high; }))
    return std::nullopt;
  RealTensor made = *this;
  for (float &x : made.numbers)
    x = std::min(std::max(x, other.low), other.high);
  made.measure();
  return made;
}

std::optional<RealTensor> RealTensor::of(const Tensor &tensor) {
  auto numbers = eval::realNumbers(tensor);
  if (!numbers)
    return std::nullopt;
  RealTensor made{tensor.shape, {numbers->begin(), numbers->end()}};
  made.measure();
  if (eval::isQuantized(tensor) && tensor.quantization->scale.size() == 1)
    if (unsigned bits = bitsPerElement(tensor.type).value_or(32); bits <= 16) {
      bool isSigned =
          tensor.type != TensorType::UINT8 && tensor.type != TensorType::UINT16 && tensor.type != TensorType::UINT4;
      double least = isSigned ? -std::ldexp(1.0, static_cast<int>(bits) - 1) : 0,
             most = least + std::ldexp(1.0, static_cast<int>(bits)) - 1;
      made.low = static_cast<float>((least - tensor.zeroPoint()) * tensor.scale());
      made.high = static_cast<float>((most - tensor.zeroPoint()) * tensor.scale());
    }
  if (eval::isQuantized(tensor))
    for (float scale : tensor.quantization->scale)
      made.quantum = std::max<double>(made.quantum, scale);
  else if (tensor.type == TensorType::FLOAT16)
    made.quantum = made.most / 1024;
  return made;
}

std::optional<RealTensor> RealTensor::ofConstant(const Value &value) {
  auto bytes = eval::ConstantBytes::of(value, uint64_t(1) << 32);
  if (!bytes) {
    llvm::consumeError(bytes.takeError());
    return std::nullopt;
  }
  Tensor view;
  view.type = value.type;
  view.shape.assign(value.shape.begin(), value.shape.end());
  view.quantization = value.quantization;
  view.value = &value;
  view.storage = bytes->bytes;
  return of(view);
}

Slack roundingOf(const Value &constant) {
  // Where the rounding of a number itself, or of the scale, tips it over to the other side.
  constexpr double half = 0.5 * (1 + 1e-3);
  Slack slack;
  const Quantization *q = constant.quantization;
  if (!eval::isFloat(constant.type) && q && !q->scale.empty()) {
    slack.relative = 1e-6;
    if (q->scale.size() == 1) {
      slack.absolute = half * q->scale[0];
      return slack;
    }
    for (float scale : q->scale)
      slack.byChannel.push_back(half * scale);
    if (q->dimension >= 0 && q->dimension < constant.rank())
      slack.inner = static_cast<size_t>(eval::product({constant.shape.begin(), constant.shape.end()},
                                                      static_cast<size_t>(q->dimension) + 1, constant.shape.size()));
    slack.inner = std::max<size_t>(slack.inner, 1);
    return slack;
  }
  slack.relative = constant.type == TensorType::FLOAT16    ? 1.0 / 2048
                   : constant.type == TensorType::BFLOAT16 ? 1.0 / 256
                                                           : 1e-7;
  slack.absolute = constant.type == TensorType::FLOAT16 ? 1.0 / (1 << 24) : 0;
  return slack;
}

} // namespace origo::report
