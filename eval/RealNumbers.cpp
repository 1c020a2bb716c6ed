#include "eval/RealNumbers.h"

#include "eval/RunOperator.h"

#include "eval/Numbers.h"
#include "schema/TensorTypes.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace origo::eval {

bool isFloat(TensorType type) {
  return type == TensorType::FLOAT32 || type == TensorType::FLOAT64 || type == TensorType::FLOAT16 ||
         type == TensorType::BFLOAT16;
}

bool isQuantized(const Tensor &tensor) {
  const Quantization *q = tensor.quantization;
  return !isFloat(tensor.type) && q && (!q->scale.empty() || q->details == Quantization::Details::Blockwise);
}

namespace {

template <class T, class Widen> void widen(const Tensor &tensor, std::vector<double> &numbers, Widen make) {
  auto elements = tensor.as<T>();
  for (size_t i = 0; i < numbers.size() && i < elements.size(); ++i)
    numbers[i] = make(elements[i]);
}

template <class T> void widen(const Tensor &tensor, std::vector<double> &numbers) {
  widen<T>(tensor, numbers, [](T x) { return static_cast<double>(x); });
}

/// Null for types that are no floats of 8 bits.
const llvm::fltSemantics *float8(TensorType type) {
  return type == tensorTypeFloat8E4M3FN ? &llvm::APFloat::Float8E4M3FN()
         : type == tensorTypeFloat8E5M2 ? &llvm::APFloat::Float8E5M2()
                                        : nullptr;
}
uint8_t toFloat8(double number, const llvm::fltSemantics &semantics) {
  llvm::APFloat value(static_cast<float>(number));
  bool inexact;
  value.convert(semantics, llvm::APFloat::rmNearestTiesToEven, &inexact);
  return static_cast<uint8_t>(value.bitcastToAPInt().getZExtValue());
}

} // namespace

std::optional<std::vector<double>> storedNumbers(const Tensor &tensor) {
  std::vector<double> numbers(tensor.count());
  switch (tensor.type) {
  case TensorType::FLOAT32:
    widen<float>(tensor, numbers);
    break;
  case TensorType::FLOAT64:
    widen<double>(tensor, numbers);
    break;
  case TensorType::FLOAT16:
    widen<uint16_t>(tensor, numbers, halfToFloat);
    break;
  case TensorType::BFLOAT16:
    widen<uint16_t>(tensor, numbers, [](uint16_t x) { return llvm::bit_cast<float>(uint32_t(x) << 16); });
    break;
  case TensorType::INT8:
    widen<int8_t>(tensor, numbers);
    break;
  case TensorType::UINT8:
    widen<uint8_t>(tensor, numbers);
    break;
  case TensorType::INT16:
    widen<int16_t>(tensor, numbers);
    break;
  case TensorType::UINT16:
    widen<uint16_t>(tensor, numbers);
    break;
  case TensorType::INT32:
    widen<int32_t>(tensor, numbers);
    break;
  case TensorType::UINT32:
    widen<uint32_t>(tensor, numbers);
    break;
  case TensorType::INT64:
    widen<int64_t>(tensor, numbers);
    break;
  case TensorType::UINT64:
    widen<uint64_t>(tensor, numbers);
    break;
  case TensorType::BOOL:
    widen<uint8_t>(tensor, numbers, [](uint8_t x) { return x ? 1. : 0.; });
    break;
  case TensorType::INT4:
    for (size_t i = 0; i < numbers.size(); ++i)
      numbers[i] = int4At(tensor.storage.data(), static_cast<int64_t>(i));
    break;
  case TensorType::UINT4:
    for (size_t i = 0; i < numbers.size(); ++i)
      numbers[i] = tensor.storage[i / 2] >> (i % 2 * 4) & 15;
    break;
  default: // types that have no enumerator
    if (tensor.type == tensorTypeInt2) {
      for (size_t i = 0; i < numbers.size(); ++i)
        numbers[i] = int2At(tensor.storage.data(), static_cast<int64_t>(i));
      break;
    }
    const llvm::fltSemantics *semantics = float8(tensor.type);
    if (!semantics)
      return std::nullopt;
    widen<uint8_t>(tensor, numbers,
                   [&](uint8_t x) { return llvm::APFloat(*semantics, llvm::APInt(8, x)).convertToDouble(); });
  }
  return numbers;
}

Channels::Channels(const Tensor &tensor) : tensor(tensor) {
  if (const Quantization *q = tensor.quantization; q && q->details == Quantization::Details::Blockwise) {
    // Blocks of rows, which are the last dimension.
    const Value *scales = q->more->scales;
    int64_t size = q->more->blockSize, elements = tensor.count();
    fit = scales && scales->isConstant() && scales->type == TensorType::FLOAT16 && !q->more->zeroPoints &&
          tensor.rank() > 0 && size > 0 && tensor.dim(tensor.rank() - 1) % size == 0;
    if (!fit)
      return;
    auto halves = ConstantBytes::of(*scales, static_cast<uint64_t>(elements) * 2);
    if (!halves) {
      llvm::consumeError(halves.takeError());
      fit = false;
      return;
    }
    fit = halves->bytes.size() == static_cast<size_t>(elements / size) * 2;
    for (size_t i = 0; fit && i < halves->bytes.size(); i += 2)
      blocks.push_back(halfToFloat(static_cast<uint16_t>(halves->bytes[i] | halves->bytes[i + 1] << 8)));
    if (fit) {
      inner = static_cast<size_t>(size);
      count = std::max<size_t>(blocks.size(), 1);
    }
    return;
  }
  if (!tensor.perChannel())
    return;
  int32_t axis = tensor.quantization->dimension;
  fit = axis >= 0 && axis < tensor.rank() && static_cast<size_t>(tensor.dim(axis)) == tensor.quantization->scale.size();
  if (!fit)
    return;
  inner = product(tensor.shape, axis + 1, tensor.shape.size());
  count = tensor.dim(axis);
}

std::optional<std::vector<double>> realNumbers(const Tensor &tensor) {
  auto numbers = storedNumbers(tensor);
  Channels channels(tensor);
  if (!numbers || !channels.fit)
    return std::nullopt;
  if (isQuantized(tensor))
    for (size_t i = 0; i < numbers->size(); ++i) {
      size_t channel = channels.of(i);
      (*numbers)[i] = ((*numbers)[i] - channels.zeroPoint(channel)) * channels.scale(channel);
    }
  return numbers;
}

namespace {

template <class T> bool narrow(Tensor &tensor, llvm::ArrayRef<double> numbers, const Channels &channels) {
  auto elements = tensor.as<T>();
  if (elements.size() != numbers.size())
    return false;
  constexpr double low = static_cast<double>(std::numeric_limits<T>::min());
  constexpr double high = static_cast<double>(std::numeric_limits<T>::max());
  bool quantized = isQuantized(tensor);
  for (size_t i = 0; i < numbers.size(); ++i) {
    double stored = numbers[i];
    if (quantized) {
      size_t channel = channels.of(i);
      stored = stored / channels.scale(channel) + channels.zeroPoint(channel);
    }
    stored = std::round(stored);
    elements[i] = std::isnan(stored) ? T(0)
                  : stored >= high   ? std::numeric_limits<T>::max()
                                     : static_cast<T>(std::max(stored, low));
  }
  return true;
}

/// Several integers a byte, the first in the lowest bits; those that are left over are 0.
bool pack(Tensor &tensor, llvm::ArrayRef<double> numbers, const Channels &channels, unsigned bits, double low) {
  auto bytes = tensor.as<uint8_t>();
  size_t perByte = 8 / bits;
  if (bytes.size() != (numbers.size() + perByte - 1) / perByte)
    return false;
  std::fill(bytes.begin(), bytes.end(), 0);
  double high = low + (1 << bits) - 1;
  bool quantized = isQuantized(tensor);
  for (size_t i = 0; i < numbers.size(); ++i) {
    size_t channel = channels.of(i);
    double stored = quantized ? numbers[i] / channels.scale(channel) + channels.zeroPoint(channel) : numbers[i];
    int number = std::isnan(stored) ? 0 : static_cast<int>(std::clamp(std::round(stored), low, high));
    bytes[i / perByte] |= static_cast<uint8_t>((number & ((1 << bits) - 1)) << (i % perByte * bits));
  }
  return true;
}

template <class T, class Make> bool narrow(Tensor &tensor, llvm::ArrayRef<double> numbers, Make make) {
  auto elements = tensor.as<T>();
  if (elements.size() != numbers.size())
    return false;
  for (size_t i = 0; i < numbers.size(); ++i)
    elements[i] = make(numbers[i]);
  return true;
}

} // namespace

std::optional<std::vector<double>> realNumbers(OwnedTensor &tensor, const Quantization *quantization) {
  Tensor view;
  view.type = tensor.type;
  view.shape = tensor.shape;
  view.quantization = quantization;
  view.storage = tensor.bytes;
  return realNumbers(view);
}

bool storesNumbers(TensorType type) {
  return llvm::is_contained({TensorType::FLOAT32, TensorType::FLOAT64, TensorType::FLOAT16, TensorType::BOOL,
                             TensorType::INT8, TensorType::UINT8, TensorType::INT16, TensorType::INT32,
                             TensorType::INT64},
                            type);
}

namespace {

/// What most tensors are, without a list of their numbers.
template <class T> bool scaleInto(const Tensor &from, Tensor &to) {
  auto elements = from.as<T>();
  auto floats = to.as<float>();
  double scale = 1, zero = 0;
  if (isQuantized(from)) {
    scale = from.scaleOf(0);
    zero = from.zeroPointOf(0);
  }
  for (size_t i = 0; i < floats.size() && i < elements.size(); ++i)
    floats[i] = static_cast<float>((static_cast<double>(elements[i]) - zero) * scale);
  return true;
}

} // namespace

bool copyNumbers(const Tensor &from, Tensor &to) {
  if (from.count() != to.count())
    return false;
  if (from.type == to.type && from.storage.size() == to.storage.size() && isFloat(from.type)) {
    std::copy(from.storage.begin(), from.storage.end(), to.storage.begin());
    return true;
  }
  bool byBlock = from.quantization && from.quantization->details == Quantization::Details::Blockwise;
  if (to.type == TensorType::FLOAT32 && !from.perChannel() && !byBlock) {
    if (from.type == TensorType::INT8)
      return scaleInto<int8_t>(from, to);
    if (from.type == TensorType::UINT8)
      return scaleInto<uint8_t>(from, to);
    if (from.type == TensorType::INT16)
      return scaleInto<int16_t>(from, to);
  }
  auto numbers = realNumbers(from);
  return numbers && storeNumbers(to, *numbers);
}

bool storeNumbers(Tensor &tensor, llvm::ArrayRef<double> numbers) {
  Channels channels(tensor);
  if (!channels.fit)
    return false;
  switch (tensor.type) {
  case TensorType::FLOAT32:
    return narrow<float>(tensor, numbers, [](double x) { return static_cast<float>(x); });
  case TensorType::FLOAT64:
    return narrow<double>(tensor, numbers, [](double x) { return x; });
  case TensorType::FLOAT16:
    return narrow<uint16_t>(tensor, numbers, [](double x) { return floatToHalf(static_cast<float>(x)); });
  case TensorType::BFLOAT16:
    return narrow<uint16_t>(tensor, numbers, [](double x) { return floatToBFloat(static_cast<float>(x)); });
  case TensorType::BOOL:
    return narrow<uint8_t>(tensor, numbers, [](double x) { return uint8_t(x != 0); });
  case TensorType::INT8:
    return narrow<int8_t>(tensor, numbers, channels);
  case TensorType::UINT8:
    return narrow<uint8_t>(tensor, numbers, channels);
  case TensorType::INT16:
    return narrow<int16_t>(tensor, numbers, channels);
  case TensorType::INT32:
    return narrow<int32_t>(tensor, numbers, channels);
  case TensorType::INT64:
    return narrow<int64_t>(tensor, numbers, channels);
  case TensorType::INT4:
    return pack(tensor, numbers, channels, 4, -8);
  case TensorType::UINT4:
    return pack(tensor, numbers, channels, 4, 0);
  default: // types that have no enumerator
    if (tensor.type == tensorTypeInt2)
      return pack(tensor, numbers, channels, 2, -2);
    const llvm::fltSemantics *semantics = float8(tensor.type);
    return semantics && narrow<uint8_t>(tensor, numbers, [&](double x) { return toFloat8(x, *semantics); });
  }
}

} // namespace origo::eval
