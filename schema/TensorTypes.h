#pragma once

#include "schema/WireSchema.h"
#include "schema/circle_generated.h"
#include "schema/tflite_generated.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>

/// A graph's tensor types are circle's. Three that only tflite has are carried with tflite's numbers, which are free in
/// circle.
namespace origo {

inline constexpr auto tensorTypeInt2 = circle::TensorType(19);
inline constexpr auto tensorTypeFloat8E4M3FN = circle::TensorType(21);
inline constexpr auto tensorTypeFloat8E5M2 = circle::TensorType(22);

/// Is it one of circle's types or of the three above?
bool isKnown(circle::TensorType type);
/// Can a circle file hold it?
bool isInCircle(circle::TensorType type);

/// Nothing for a type without a counterpart, known or not.
std::optional<circle::TensorType> fromTflite(tflite::TensorType type);
std::optional<tflite::TensorType> toTflite(circle::TensorType type);

std::optional<circle::QuantizationDetails> fromTflite(tflite::QuantizationDetails details);
std::optional<tflite::QuantizationDetails> toTflite(circle::QuantizationDetails details);

/// Nothing for types without a fixed size for each element: STRING, RESOURCE, VARIANT and the block types.
std::optional<unsigned> bitsPerElement(circle::TensorType type);

/// Bytes of that many elements, the last byte filled up. Knows the GGML block types besides, for whole blocks.
std::optional<uint64_t> payloadBytes(circle::TensorType type, uint64_t elementCount);

/// "FLOAT32", as in the schemas. Empty for unknown types.
llvm::StringRef tensorTypeName(circle::TensorType type);
std::optional<circle::TensorType> tensorTypeFromName(llvm::StringRef name);

/// "f32", as in the text form. Empty for unknown types.
llvm::StringRef tensorTypeShortName(circle::TensorType type);
std::optional<circle::TensorType> tensorTypeFromShortName(llvm::StringRef shortName);

/// Some options tables hold tensor types, whose numbers differ between the formats like those of tensors.
bool holdsTensorType(const wire::TableType &type);

} // namespace origo
