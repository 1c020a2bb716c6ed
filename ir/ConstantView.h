#pragma once

#include "ir/Model.h"
#include "schema/TensorTypes.h"

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

/// The bytes of a dense constant: nothing for what is not constant, compressed, sparse, in another file, longer than
/// `limit` elements, or of another size than its shape says. They may lie anywhere.
inline std::optional<llvm::ArrayRef<uint8_t>> shortBytes(const Value *value, size_t limit = shortConstant) {
  if (!value || !value->isConstant() || value->sparsity() || value->compression || value->externalBuffer ||
      !value->payload().hasBytes())
    return std::nullopt;
  std::optional<uint64_t> count = value->elementCount(),
                          size = count ? payloadBytes(value->type, *count) : std::nullopt;
  if (!size || *count > limit || *size != value->payload().size())
    return std::nullopt;
  return value->payload().bytes();
}

/// Elements from their bytes in a file.
template <class T> llvm::SmallVector<T, 8> elementsOf(llvm::ArrayRef<uint8_t> bytes) {
  static_assert(sizeof(T) <= 8);
  llvm::SmallVector<T, 8> elements(bytes.size() / sizeof(T));
  for (size_t i = 0; i < elements.size(); ++i)
    elements[i] = llvm::support::endian::read<T, llvm::endianness::little>(bytes.data() + i * sizeof(T));
  return elements;
}

/// Those of any signed or unsigned integer type of 8 to 32 bits, or INT64; nothing for another type.
inline std::optional<llvm::SmallVector<int64_t, 8>> integersOf(TensorType type, llvm::ArrayRef<uint8_t> bytes) {
  auto widen = [](const auto &elements) { return llvm::SmallVector<int64_t, 8>(elements.begin(), elements.end()); };
  switch (type) {
  case TensorType::INT32:
    return widen(elementsOf<int32_t>(bytes));
  case TensorType::INT64:
    return elementsOf<int64_t>(bytes);
  case TensorType::INT16:
    return widen(elementsOf<int16_t>(bytes));
  case TensorType::INT8:
    return widen(elementsOf<int8_t>(bytes));
  case TensorType::UINT8:
    return widen(elementsOf<uint8_t>(bytes));
  case TensorType::UINT16:
    return widen(elementsOf<uint16_t>(bytes));
  case TensorType::UINT32:
    return widen(elementsOf<uint32_t>(bytes));
  default:
    return std::nullopt;
  }
}

/// The elements of such a constant, if it is of T's type.
template <class T>
std::optional<llvm::SmallVector<T, 8>> readConstant(const Value *value, size_t limit = shortConstant) {
  auto bytes = value && value->type == tensorTypeOf<T> ? shortBytes(value, limit) : std::nullopt;
  if (!bytes)
    return std::nullopt;
  return elementsOf<T>(*bytes);
}

/// The same for integers of any of the types above.
inline std::optional<llvm::SmallVector<int64_t, 8>> readIntegers(const Value *value, size_t limit = shortConstant) {
  auto bytes = shortBytes(value, limit);
  if (!bytes)
    return std::nullopt;
  return integersOf(value->type, *bytes);
}

/// A constant integer of one element.
inline std::optional<int64_t> readInteger(const Value *value) {
  auto elements = readIntegers(value, 1);
  if (!elements || elements->size() != 1)
    return std::nullopt;
  return elements->front();
}

} // namespace origo
