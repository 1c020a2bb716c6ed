#pragma once

#include "ir/Model.h"
#include "ir/text/Lexer.h"

#include "llvm/ADT/APFloat.h"

namespace origo::text {

/// How a number in a payload or in an options table is coded.
struct NumberKind {
  enum Kind : uint8_t { None, Signed, Unsigned, Bool, Float } kind = None;
  unsigned bits = 0;
  unsigned perElement = 1;                       ///< 2: complex
  const llvm::fltSemantics *semantics = nullptr; ///< Float
  explicit operator bool() const { return kind != None; }
};
/// None for types whose elements are not numbers.
NumberKind numberKind(TensorType type);
NumberKind numberKind(wire::Type type);

/// Numbers are handled by their bits, so that NaN payloads survive.
void printNumber(llvm::raw_ostream &os, const NumberKind &kind, uint64_t bits);
bool parseNumber(Reader &reader, const NumberKind &kind, uint64_t &bits);

/// The elements as `[1, 2]` (strings: `["a", "b"]`), but only if the list would be read back to the same bytes.
bool printElements(llvm::raw_ostream &os, TensorType type, llvm::ArrayRef<uint8_t> bytes, uint64_t count);
bool parseElements(Reader &reader, TensorType type, std::string &bytes, uint64_t &count);

/// One element printed, if all are equal bit by bit and there are several.
bool printSplat(llvm::raw_ostream &os, TensorType type, llvm::ArrayRef<uint8_t> bytes, uint64_t count);
/// The bytes of a splat's element; of a type with several elements a byte, one byte that holds it repeatedly.
bool parseSplat(Reader &reader, TensorType type, std::string &pattern);

/// Pseudo-random elements: `seed N uniform LOW HIGH` or `seed N normal MEAN DEVIATION`; see docs/text-form.md.
struct Seed {
  uint64_t seed = 0;
  bool normal = false;
  double first = 0, second = 1;
  NumberKind kind;
};
bool parseSeed(Reader &reader, TensorType type, Seed &seed);
/// The elements from the one that begins at byte `offset` on; both are multiples of an element's size.
void fillSeeded(const Seed &seed, llvm::MutableArrayRef<uint8_t> window, uint64_t offset);

} // namespace origo::text
