#pragma once

#include "flatbuffers/flatbuffers.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <deque>
#include <vector>

/// The two file formats as data: every table, field, enumeration and union with its slot numbers and defaults, read
/// from the binary schemas that are embedded into the library. Code that treats all tables alike (copying, comparing,
/// printing) walks this instead of naming fields. All names live as long as the program.
namespace origo::wire {

enum class Type : uint8_t {
  Bool,
  Int8,
  UInt8,
  Int16,
  UInt16,
  Int32,
  UInt32,
  Int64,
  UInt64,
  Float32,
  Float64,
  String,
  Vector,
  Table,
  UnionType, ///< the ubyte that tells which member a union holds; stands one slot before its union
  Union,
};

struct TableType;

struct EnumValue {
  llvm::StringRef name;
  int64_t value = 0;
  const TableType *table = nullptr; ///< of a union member; null for NONE and for plain enumerations
};

struct Enumeration {
  llvm::StringRef name;
  std::vector<EnumValue> values; ///< ascending
  bool isUnion = false;

  const EnumValue *find(int64_t value) const;
  const EnumValue *find(llvm::StringRef name) const;
};

struct Field {
  llvm::StringRef name;
  uint16_t slot = 0;
  Type type = Type::Bool;
  Type element = Type::Bool;                ///< of a vector
  const Enumeration *enumeration = nullptr; ///< of an enum-typed scalar or element, a union type and a union
  const TableType *table = nullptr;         ///< of a table and a vector of tables
  int64_t defaultInteger = 0;
  double defaultReal = 0;
  bool deprecated = false;
  uint16_t forceAlign = 0; ///< 0 if the element's own alignment will do

  uint16_t vtableOffset() const { return 4 + 2 * slot; }
};

struct TableType {
  llvm::StringRef name;
  std::vector<Field> fields; ///< index == slot, deprecated ones included

  const Field *find(llvm::StringRef name) const;
};

class Schema {
public:
  static const Schema &circle();
  static const Schema &tflite();

  /// By unqualified name; null if the format has none.
  const TableType *table(llvm::StringRef name) const;
  const Enumeration *enumeration(llvm::StringRef name) const;

  const TableType &root() const { return *rootTable; }
  llvm::StringRef fileIdentifier() const { return identifier; }
  llvm::StringRef fileExtension() const { return extension; }

  /// Sorted by name. Unions are enumerations too.
  const std::deque<TableType> &tables() const { return tableTypes; }
  const std::deque<Enumeration> &enumerations() const { return enumTypes; }

  Schema(const Schema &) = delete;
  Schema &operator=(const Schema &) = delete;

private:
  explicit Schema(llvm::ArrayRef<uint8_t> binarySchema);

  // Deques, because fields point at tables and enumerations.
  std::deque<TableType> tableTypes;
  std::deque<Enumeration> enumTypes;
  llvm::StringMap<const TableType *> tablesByName;
  llvm::StringMap<const Enumeration *> enumsByName;
  const TableType *rootTable = nullptr;
  llvm::StringRef identifier, extension;
};

/// Everything that stands in the table itself: numbers, bools, enumerations and union types.
bool isScalar(Type type);
bool isReal(Type type);

/// Bytes of a scalar; of anything else, of the offset that stands for it.
unsigned size(Type type);

/// A scalar field of a table, its default if absent. `integer` is for all but the real types; a uint64 comes as the
/// int64 of the same bits.
int64_t integer(const flatbuffers::Table &table, const Field &field);
double real(const flatbuffers::Table &table, const Field &field);

/// Is there a value in the table itself?
bool isPresent(const flatbuffers::Table &table, const Field &field);

/// An element of a vector of scalars, given the vector's data.
int64_t integerAt(const uint8_t *data, size_t index, Type element);
double realAt(const uint8_t *data, size_t index, Type element);

/// The member a table's union field holds at present; null if it holds none or one the schema does not know.
const TableType *unionMember(const TableType &type, const flatbuffers::Table &table, const Field &unionField);

/// Does the schema know all of this table and everything below it? What it does not know (slots and union members of a
/// later revision) does not survive `copyTable`.
bool isFullyKnown(const TableType &type, const flatbuffers::Table &table);

/// The generated verifiers pass over deprecated fields: is this one, if it is there, within the buffer? For scalars and
/// strings, which are all there are.
bool verifyDeprecated(const flatbuffers::Verifier &verifier, const flatbuffers::Table &table, const Field &field);

/// A value to write instead of a table's own. Only the member that fits the field's type is looked at.
struct ScalarEdit {
  uint16_t slot;
  int64_t integer = 0;
  double real = 0;
};

/// Deep copy of a table, in slot order, deprecated slots included. Values that equal their default are left out.
/// Without a `table` only the edits are written. The source must have been verified: that bounds the depth.
flatbuffers::uoffset_t copyTable(flatbuffers::FlatBufferBuilder &builder, const TableType &type,
                                 const flatbuffers::Table *table, llvm::ArrayRef<ScalarEdit> edits = {});

} // namespace origo::wire
