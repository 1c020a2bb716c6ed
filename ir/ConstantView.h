#pragma once

#include "ir/Model.h"

#include "llvm/Support/Endian.h"

namespace origo {

/// The element type in memory and the tensor type that it is stored as.
template <class T> inline constexpr TensorType tensorTypeOf = TensorType::FLOAT32;
template <> inline constexpr TensorType tensorTypeOf<double> = TensorType::FLOAT64;
template <> inline constexpr TensorType tensorTypeOf<int8_t> = TensorType::INT8;
template <> inline constexpr TensorType tensorTypeOf<uint8_t> = TensorType::UINT8;
template <> inline constexpr TensorType tensorTypeOf<int16_t> = TensorType::INT16;
template <> inline constexpr TensorType tensorTypeOf<uint16_t> = TensorType::UINT16;
template <> inline constexpr TensorType tensorTypeOf<int32_t> = TensorType::INT32;
template <> inline constexpr TensorType tensorTypeOf<uint32_t> = TensorType::UINT32;
template <> inline constexpr TensorType tensorTypeOf<int64_t> = TensorType::INT64;

/// More elements than this are not read into memory: no operator has so long a list of axes or sizes.
inline constexpr size_t shortConstant = 512;

/// The elements of a dense constant of T's type: nothing for other types and for what is not constant, compressed,
/// sparse, in another file, longer than `limit`, or of another size than its shape says. Its bytes may lie anywhere.
template <class T>
std::optional<llvm::SmallVector<T, 8>> readConstant(const Value *value, size_t limit = shortConstant) {
  static_assert(sizeof(T) <= 8);
  if (!value || value->type != tensorTypeOf<T> || !value->isConstant() || value->sparsity || value->compression ||
      value->externalBuffer || !value->payload().hasBytes())
    return std::nullopt;
  llvm::ArrayRef<uint8_t> bytes = value->payload().bytes();
  size_t count = bytes.size() / sizeof(T);
  if (bytes.size() % sizeof(T) || count > limit || value->elementCount() != count)
    return std::nullopt;
  llvm::SmallVector<T, 8> elements(count);
  for (size_t i = 0; i < count; ++i)
    elements[i] = llvm::support::endian::read<T, llvm::endianness::little>(bytes.data() + i * sizeof(T));
  return elements;
}

/// The same for a constant of any signed or unsigned integer type of 8 to 32 bits, or INT64.
inline std::optional<llvm::SmallVector<int64_t, 8>> readIntegers(const Value *value, size_t limit = shortConstant) {
  auto widen = [](const auto &elements) -> std::optional<llvm::SmallVector<int64_t, 8>> {
    if (!elements)
      return std::nullopt;
    return llvm::SmallVector<int64_t, 8>(elements->begin(), elements->end());
  };
  if (!value)
    return std::nullopt;
  switch (value->type) {
  case TensorType::INT32:
    return widen(readConstant<int32_t>(value, limit));
  case TensorType::INT64:
    return readConstant<int64_t>(value, limit);
  case TensorType::INT16:
    return widen(readConstant<int16_t>(value, limit));
  case TensorType::INT8:
    return widen(readConstant<int8_t>(value, limit));
  case TensorType::UINT8:
    return widen(readConstant<uint8_t>(value, limit));
  case TensorType::UINT16:
    return widen(readConstant<uint16_t>(value, limit));
  case TensorType::UINT32:
    return widen(readConstant<uint32_t>(value, limit));
  default:
    return std::nullopt;
  }
}

/// A constant integer of one element.
inline std::optional<int64_t> readInteger(const Value *value) {
  auto elements = readIntegers(value, 1);
  if (!elements || elements->size() != 1)
    return std::nullopt;
  return elements->front();
}

} // namespace origo
