#pragma once

#include "ir/Error.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <cstring>
#include <optional>

/// Protobuf's wire format, read where it lies: https://protobuf.dev/programming-guides/encoding.
namespace origo::onnx {

/// A field of a message: its number, and its value by its kind.
struct Field {
  enum Kind : uint8_t { Varint = 0, Fixed64 = 1, Bytes = 2, Fixed32 = 5 };
  uint32_t number = 0;
  Kind kind = Varint;
  uint64_t value = 0;    ///< Varint, Fixed64, Fixed32
  llvm::StringRef bytes; ///< Bytes: a slice of the message

  int64_t integer() const { return static_cast<int64_t>(value); }
  float real() const {
    auto bits = static_cast<uint32_t>(value);
    float number;
    std::memcpy(&number, &bits, sizeof(number));
    return number;
  }
};

/// Goes through the fields of a message. Groups, which no ONNX file has, and lengths beyond the message end it as
/// damaged.
class Cursor {
public:
  explicit Cursor(llvm::StringRef message) : left(message) {}
  /// The next field; nothing at the end, and where the message is damaged.
  std::optional<Field> next() {
    if (left.empty() || broken)
      return std::nullopt;
    std::optional<uint64_t> tag = varint();
    Field field;
    if (!tag || *tag >> 3 == 0 || *tag >> 3 > UINT32_MAX)
      return damaged();
    field.number = static_cast<uint32_t>(*tag >> 3);
    field.kind = static_cast<Field::Kind>(*tag & 7);
    switch (field.kind) {
    case Field::Varint:
      if (std::optional<uint64_t> value = varint()) {
        field.value = *value;
        return field;
      }
      return damaged();
    case Field::Fixed64:
    case Field::Fixed32: {
      size_t size = field.kind == Field::Fixed64 ? 8 : 4;
      if (left.size() < size)
        return damaged();
      std::memcpy(&field.value, left.data(), size); // little-endian, as the machines are that this runs on
      left = left.drop_front(size);
      return field;
    }
    case Field::Bytes: {
      std::optional<uint64_t> size = varint();
      if (!size || *size > left.size())
        return damaged();
      field.bytes = left.take_front(*size);
      left = left.drop_front(*size);
      return field;
    }
    }
    return damaged();
  }
  bool isDamaged() const { return broken; }

  std::optional<uint64_t> varint() {
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && !left.empty(); shift += 7) {
      auto byte = static_cast<uint8_t>(left.front());
      left = left.drop_front();
      value |= uint64_t(byte & 0x7f) << shift;
      if (!(byte & 0x80))
        return value;
    }
    return std::nullopt;
  }
  bool atEnd() const { return left.empty(); }

private:
  llvm::StringRef left;
  bool broken = false;
  std::optional<Field> damaged() {
    broken = true;
    return std::nullopt;
  }
};

/// Adds what a repeated field of integers has here: one, or several that are packed. False: it is damaged.
inline bool addIntegers(const Field &field, llvm::SmallVectorImpl<int64_t> &list) {
  if (field.kind != Field::Bytes) {
    list.push_back(field.integer());
    return true;
  }
  Cursor packed(field.bytes);
  while (!packed.atEnd()) {
    std::optional<uint64_t> value = packed.varint();
    if (!value)
      return false;
    list.push_back(static_cast<int64_t>(*value));
  }
  return true;
}

/// The same of numbers of `size` bytes, as bytes.
inline bool addFixed(const Field &field, size_t size, std::string &bytes) {
  if (field.kind == Field::Bytes) {
    bytes += field.bytes;
    return field.bytes.size() % size == 0;
  }
  bytes.append(reinterpret_cast<const char *>(&field.value), size);
  return true;
}

} // namespace origo::onnx
