#include "schema/TensorTypes.h"
#include "llvm/ADT/STLExtras.h"

using namespace origo;
using circle::TensorType;
using llvm::StringRef;

namespace {

struct Row {
  int8_t type;
  StringRef name, shortName;
  unsigned bits = 0;                          // of an element
  unsigned blockBytes = 0, blockElements = 0; // of a block type
};

constexpr int tfliteUInt4 = 20;

constexpr Row rows[] = {
    {-7, "MXINT8", "mxint8"},
    {-6, "MXFP4", "mxfp4"},
    {-5, "GGML_Q8_1", "ggml_q8_1", 0, 36, 32},
    {-4, "GGML_Q8_0", "ggml_q8_0", 0, 34, 32},
    {-3, "GGML_Q4_1", "ggml_q4_1", 0, 20, 32},
    {-2, "GGML_Q4_0", "ggml_q4_0", 0, 18, 32},
    {-1, "UINT4", "u4", 4},
    {0, "FLOAT32", "f32", 32},
    {1, "FLOAT16", "f16", 16},
    {2, "INT32", "i32", 32},
    {3, "UINT8", "u8", 8},
    {4, "INT64", "i64", 64},
    {5, "STRING", "str"},
    {6, "BOOL", "bool", 8},
    {7, "INT16", "i16", 16},
    {8, "COMPLEX64", "c64", 64},
    {9, "INT8", "i8", 8},
    {10, "FLOAT64", "f64", 64},
    {11, "COMPLEX128", "c128", 128},
    {12, "UINT64", "u64", 64},
    {13, "RESOURCE", "resource"},
    {14, "VARIANT", "variant"},
    {15, "UINT32", "u32", 32},
    {16, "UINT16", "u16", 16},
    {17, "INT4", "i4", 4},
    {18, "BFLOAT16", "bf16", 16},
    {19, "INT2", "i2", 2},
    {21, "FLOAT8_E4M3FN", "f8e4m3fn", 8},
    {22, "FLOAT8_E5M2", "f8e5m2", 8},
};

const Row *row(TensorType type) {
  const Row *found = llvm::find_if(rows, [&](const Row &row) { return row.type == int8_t(type); });
  return found != std::end(rows) ? found : nullptr;
}

std::optional<TensorType> typeOf(const Row *row) {
  if (row == std::end(rows))
    return std::nullopt;
  return TensorType(row->type);
}

} // namespace

bool origo::isKnown(TensorType type) { return row(type); }
bool origo::isInCircle(TensorType type) { return row(type) && type < tensorTypeInt2; }

std::optional<TensorType> origo::fromTflite(tflite::TensorType type) {
  int value = int(type);
  if (value == tfliteUInt4)
    return TensorType::UINT4;
  if (value < 0 || !row(TensorType(value)))
    return std::nullopt;
  return TensorType(value);
}

std::optional<tflite::TensorType> origo::toTflite(TensorType type) {
  if (type == TensorType::UINT4)
    return tflite::TensorType(tfliteUInt4);
  if (int(type) < 0 || !row(type))
    return std::nullopt;
  return tflite::TensorType(type);
}

std::optional<circle::QuantizationDetails> origo::fromTflite(tflite::QuantizationDetails details) {
  switch (details) {
  case tflite::QuantizationDetails::NONE:
    return circle::QuantizationDetails::NONE;
  case tflite::QuantizationDetails::CustomQuantization:
    return circle::QuantizationDetails::CustomQuantization;
  case tflite::QuantizationDetails::BlockwiseQuantization:
    return circle::QuantizationDetails::BlockwiseQuantization;
  default:
    return std::nullopt;
  }
}

std::optional<tflite::QuantizationDetails> origo::toTflite(circle::QuantizationDetails details) {
  switch (details) {
  case circle::QuantizationDetails::NONE:
    return tflite::QuantizationDetails::NONE;
  case circle::QuantizationDetails::CustomQuantization:
    return tflite::QuantizationDetails::CustomQuantization;
  case circle::QuantizationDetails::BlockwiseQuantization:
    return tflite::QuantizationDetails::BlockwiseQuantization;
  default:
    return std::nullopt;
  }
}

std::optional<unsigned> origo::bitsPerElement(TensorType type) {
  const Row *found = row(type);
  if (!found || !found->bits)
    return std::nullopt;
  return found->bits;
}

std::optional<uint64_t> origo::payloadBytes(TensorType type, uint64_t elementCount) {
  const Row *found = row(type);
  uint64_t bytes;
  if (!found)
    return std::nullopt;
  if (found->blockElements) {
    if (elementCount % found->blockElements ||
        __builtin_mul_overflow(elementCount / found->blockElements, found->blockBytes, &bytes))
      return std::nullopt;
    return bytes;
  }
  if (!found->bits)
    return std::nullopt;
  if (found->bits < 8) {
    unsigned perByte = 8 / found->bits;
    return elementCount / perByte + (elementCount % perByte != 0);
  }
  if (__builtin_mul_overflow(elementCount, found->bits / 8, &bytes))
    return std::nullopt;
  return bytes;
}

StringRef origo::tensorTypeName(TensorType type) {
  const Row *found = row(type);
  return found ? found->name : StringRef();
}

std::optional<TensorType> origo::tensorTypeFromName(StringRef name) {
  return typeOf(llvm::find_if(rows, [&](const Row &row) { return row.name == name; }));
}

StringRef origo::tensorTypeShortName(TensorType type) {
  const Row *found = row(type);
  return found ? found->shortName : StringRef();
}

std::optional<TensorType> origo::tensorTypeFromShortName(StringRef shortName) {
  return typeOf(llvm::find_if(rows, [&](const Row &row) { return row.shortName == shortName; }));
}

bool origo::holdsTensorType(const wire::TableType &type) {
  return llvm::any_of(type.fields, [](const wire::Field &field) {
    return field.enumeration && field.enumeration->name == "TensorType";
  });
}
