#include "schema/WireSchema.h"
#include "flatbuffers/reflection_generated.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/ErrorHandling.h"
#include <cstring>

using namespace origo::wire;
using llvm::ArrayRef;
using llvm::StringRef;

namespace {

alignas(16) const uint8_t circleSchema[] = {
#include "schema/circle_bfbs.inc"
};

alignas(16) const uint8_t tfliteSchema[] = {
#include "schema/tflite_bfbs.inc"
};

StringRef stringRef(const flatbuffers::String *string) {
  return string ? StringRef(string->c_str(), string->size()) : StringRef();
}

/// "circle.Model" -> "Model"
StringRef unqualified(const flatbuffers::String *string) {
  StringRef name = stringRef(string);
  return name.substr(name.rfind('.') + 1);
}

Type wireType(reflection::BaseType type) {
  switch (type) {
  case reflection::Bool:
    return Type::Bool;
  case reflection::Byte:
    return Type::Int8;
  case reflection::UByte:
    return Type::UInt8;
  case reflection::Short:
    return Type::Int16;
  case reflection::UShort:
    return Type::UInt16;
  case reflection::Int:
    return Type::Int32;
  case reflection::UInt:
    return Type::UInt32;
  case reflection::Long:
    return Type::Int64;
  case reflection::ULong:
    return Type::UInt64;
  case reflection::Float:
    return Type::Float32;
  case reflection::Double:
    return Type::Float64;
  case reflection::String:
    return Type::String;
  case reflection::Vector:
    return Type::Vector;
  case reflection::Obj:
    return Type::Table;
  case reflection::UType:
    return Type::UnionType;
  case reflection::Union:
    return Type::Union;
  default:
    llvm_unreachable("neither format uses this type");
  }
}

uint16_t forceAlign(const reflection::Field &field) {
  unsigned align = 0;
  if (field.attributes())
    for (const reflection::KeyValue *attribute : *field.attributes())
      if (stringRef(attribute->key()) == "force_align")
        stringRef(attribute->value()).getAsInteger(10, align);
  return align;
}

/// Calls `visit(T())` for the C++ type behind a scalar.
template <typename Visitor> auto withScalar(Type type, Visitor visit) {
  switch (type) {
  case Type::Int8:
    return visit(int8_t());
  case Type::Int16:
    return visit(int16_t());
  case Type::UInt16:
    return visit(uint16_t());
  case Type::Int32:
    return visit(int32_t());
  case Type::UInt32:
    return visit(uint32_t());
  case Type::Int64:
    return visit(int64_t());
  case Type::UInt64:
    return visit(uint64_t());
  case Type::Float32:
    return visit(float());
  case Type::Float64:
    return visit(double());
  default: // bools too: a byte that is neither 0 nor 1 stays what it is
    return visit(uint8_t());
  }
}

/// Zero and minus zero are different values, and every NaN equals itself.
template <typename T> bool sameBits(T a, T b) { return std::memcmp(&a, &b, sizeof(T)) == 0; }

using Offset = flatbuffers::uoffset_t;

class Copier {
public:
  explicit Copier(flatbuffers::FlatBufferBuilder &builder) : builder(builder) {}

  Offset table(const TableType &type, const flatbuffers::Table *source, ArrayRef<ScalarEdit> edits) {
    // What a table points at comes before it.
    llvm::SmallVector<Offset, 16> children(type.fields.size(), 0);
    if (source)
      for (const Field &field : type.fields)
        if (!isScalar(field.type) && isPresent(*source, field))
          children[field.slot] = child(type, *source, field);

    Offset start = builder.StartTable();
    for (const Field &field : type.fields) {
      if (isScalar(field.type))
        scalar(source, field, edits);
      else if (children[field.slot])
        builder.AddOffset(field.vtableOffset(), flatbuffers::Offset<void>(children[field.slot]));
    }
    return builder.EndTable(start);
  }

private:
  flatbuffers::FlatBufferBuilder &builder;

  void scalar(const flatbuffers::Table *source, const Field &field, ArrayRef<ScalarEdit> edits) {
    const ScalarEdit *edit = llvm::find_if(edits, [&](const ScalarEdit &edit) { return edit.slot == field.slot; });
    withScalar(field.type, [&](auto type) {
      using T = decltype(type);
      bool real = isReal(field.type);
      T standard = real ? T(field.defaultReal) : T(field.defaultInteger);
      T value = standard;
      if (edit != edits.end())
        value = real ? T(edit->real) : T(edit->integer);
      else if (source)
        value = source->GetField<T>(field.vtableOffset(), standard);
      if (!sameBits(value, standard))
        builder.AddElement(field.vtableOffset(), value);
    });
  }

  Offset child(const TableType &type, const flatbuffers::Table &source, const Field &field) {
    switch (field.type) {
    case Type::String: {
      auto *string = source.GetPointer<const flatbuffers::String *>(field.vtableOffset());
      return builder.CreateString(string->c_str(), string->size()).o;
    }
    case Type::Vector:
      return vector(source, field);
    case Type::Table:
      return table(*field.table, source.GetPointer<const flatbuffers::Table *>(field.vtableOffset()), {});
    default: {
      const TableType *member = unionMember(type, source, field);
      return member ? table(*member, source.GetPointer<const flatbuffers::Table *>(field.vtableOffset()), {}) : 0;
    }
    }
  }

  Offset vector(const flatbuffers::Table &source, const Field &field) {
    if (isScalar(field.element)) {
      auto *elements = source.GetPointer<const flatbuffers::VectorOfAny *>(field.vtableOffset());
      size_t width = size(field.element);
      if (field.forceAlign)
        builder.ForceVectorAlignment(elements->size(), width, field.forceAlign);
      builder.StartVector(elements->size(), width);
      builder.PushBytes(elements->Data(), elements->size() * width);
      return builder.EndVector(elements->size());
    }
    llvm::SmallVector<flatbuffers::Offset<void>, 16> offsets;
    if (field.element == Type::String) {
      using Strings = flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>;
      for (const flatbuffers::String *string : *source.GetPointer<const Strings *>(field.vtableOffset()))
        offsets.push_back(builder.CreateString(string->c_str(), string->size()).o);
    } else {
      using Tables = flatbuffers::Vector<flatbuffers::Offset<flatbuffers::Table>>;
      for (const flatbuffers::Table *element : *source.GetPointer<const Tables *>(field.vtableOffset()))
        offsets.push_back(table(*field.table, element, {}));
    }
    return builder.CreateVector(offsets.data(), offsets.size()).o;
  }
};

} // namespace

const EnumValue *Enumeration::find(int64_t value) const {
  auto it = llvm::lower_bound(values, value, [](const EnumValue &a, int64_t b) { return a.value < b; });
  return it != values.end() && it->value == value ? &*it : nullptr;
}

const EnumValue *Enumeration::find(StringRef name) const {
  auto it = llvm::find_if(values, [&](const EnumValue &value) { return value.name == name; });
  return it != values.end() ? &*it : nullptr;
}

const Field *TableType::find(StringRef name) const {
  auto it = llvm::find_if(fields, [&](const Field &field) { return field.name == name; });
  return it != fields.end() ? &*it : nullptr;
}

const Schema &Schema::circle() {
  static const Schema schema(circleSchema);
  return schema;
}

const Schema &Schema::tflite() {
  static const Schema schema(tfliteSchema);
  return schema;
}

Schema::Schema(ArrayRef<uint8_t> binarySchema) {
  const reflection::Schema &schema = *reflection::GetSchema(binarySchema.data());
  identifier = stringRef(schema.file_ident());
  extension = stringRef(schema.file_ext());

  // Tables refer to each other by index, so all have to exist before the first field is filled in.
  for (const reflection::Object *object : *schema.objects()) {
    TableType &table = tableTypes.emplace_back();
    table.name = unqualified(object->name());
    tablesByName[table.name] = &table;
  }
  rootTable = table(unqualified(schema.root_table()->name()));

  for (const reflection::Enum *source : *schema.enums()) {
    Enumeration &enumeration = enumTypes.emplace_back();
    enumeration.name = unqualified(source->name());
    enumeration.isUnion = source->is_union();
    for (const reflection::EnumVal *value : *source->values()) {
      bool isTable = value->union_type() && value->union_type()->base_type() == reflection::Obj;
      enumeration.values.push_back(
          {stringRef(value->name()), value->value(), isTable ? &tableTypes[value->union_type()->index()] : nullptr});
    }
    llvm::sort(enumeration.values, [](const EnumValue &a, const EnumValue &b) { return a.value < b.value; });
    enumsByName[enumeration.name] = &enumeration;
  }

  for (auto [table, object] : llvm::zip_equal(tableTypes, *schema.objects())) {
    table.fields.resize(object->fields()->size());
    for (const reflection::Field *source : *object->fields()) {
      Field &field = table.fields[source->id()];
      const reflection::Type &type = *source->type();
      field.name = stringRef(source->name());
      field.slot = source->id();
      field.type = wireType(type.base_type());
      field.defaultInteger = source->default_integer();
      field.defaultReal = source->default_real();
      field.deprecated = source->deprecated();
      field.forceAlign = forceAlign(*source);
      if (field.type == Type::Vector)
        field.element = wireType(type.element());
      if (type.index() < 0)
        continue;
      if (field.type == Type::Table || (field.type == Type::Vector && field.element == Type::Table))
        field.table = &tableTypes[type.index()];
      else
        field.enumeration = &enumTypes[type.index()];
    }
  }
}

const TableType *Schema::table(StringRef name) const { return tablesByName.lookup(name); }
const Enumeration *Schema::enumeration(StringRef name) const { return enumsByName.lookup(name); }

bool origo::wire::isScalar(Type type) { return type <= Type::Float64 || type == Type::UnionType; }
bool origo::wire::isReal(Type type) { return type == Type::Float32 || type == Type::Float64; }

unsigned origo::wire::size(Type type) {
  if (!isScalar(type))
    return sizeof(Offset);
  return withScalar(type, [](auto scalar) { return unsigned(sizeof(scalar)); });
}

int64_t origo::wire::integer(const flatbuffers::Table &table, const Field &field) {
  return withScalar(field.type, [&](auto scalar) {
    using T = decltype(scalar);
    return int64_t(table.GetField<T>(field.vtableOffset(), T(field.defaultInteger)));
  });
}

double origo::wire::real(const flatbuffers::Table &table, const Field &field) {
  if (field.type == Type::Float32)
    return table.GetField<float>(field.vtableOffset(), float(field.defaultReal));
  return table.GetField<double>(field.vtableOffset(), field.defaultReal);
}

bool origo::wire::isPresent(const flatbuffers::Table &table, const Field &field) {
  return table.GetOptionalFieldOffset(field.vtableOffset()) != 0;
}

bool origo::wire::verifyDeprecated(const flatbuffers::Verifier &verifier, const flatbuffers::Table &table,
                                   const Field &field) {
  flatbuffers::voffset_t offset = table.GetOptionalFieldOffset(field.vtableOffset());
  auto *start = reinterpret_cast<const uint8_t *>(&table);
  if (!offset)
    return true;
  if (isScalar(field.type))
    return verifier.VerifyFieldStruct(start, offset, size(field.type), size(field.type));
  if (field.type != Type::String || !verifier.VerifyOffset(start, offset))
    return false;
  const uint8_t *at = start + offset;
  return verifier.VerifyString(
      reinterpret_cast<const flatbuffers::String *>(at + flatbuffers::ReadScalar<flatbuffers::uoffset_t>(at)));
}

int64_t origo::wire::integerAt(const uint8_t *data, size_t index, Type element) {
  return withScalar(element, [&](auto scalar) {
    std::memcpy(&scalar, data + index * sizeof(scalar), sizeof(scalar));
    return int64_t(scalar);
  });
}

double origo::wire::realAt(const uint8_t *data, size_t index, Type element) {
  return withScalar(element, [&](auto scalar) {
    std::memcpy(&scalar, data + index * sizeof(scalar), sizeof(scalar));
    return double(scalar);
  });
}

const TableType *origo::wire::unionMember(const TableType &type, const flatbuffers::Table &table,
                                          const Field &unionField) {
  const EnumValue *member = unionField.enumeration->find(integer(table, type.fields[unionField.slot - 1]));
  return member ? member->table : nullptr;
}

bool origo::wire::isFullyKnown(const TableType &type, const flatbuffers::Table &table) {
  const uint8_t *vtable = table.GetVTable();
  auto bytes = flatbuffers::ReadScalar<flatbuffers::voffset_t>(vtable);
  for (size_t at = 4 + 2 * type.fields.size(); at + 2 <= bytes; at += 2)
    if (flatbuffers::ReadScalar<flatbuffers::voffset_t>(vtable + at))
      return false;

  for (const Field &field : type.fields) {
    if (!isPresent(table, field))
      continue;
    if (field.type == Type::Table || field.type == Type::Union) {
      const TableType *member = field.type == Type::Table ? field.table : unionMember(type, table, field);
      if (!member || !isFullyKnown(*member, *table.GetPointer<const flatbuffers::Table *>(field.vtableOffset())))
        return false;
    } else if (field.type == Type::Vector && field.element == Type::Table) {
      using Tables = flatbuffers::Vector<flatbuffers::Offset<flatbuffers::Table>>;
      for (const flatbuffers::Table *element : *table.GetPointer<const Tables *>(field.vtableOffset()))
        if (!isFullyKnown(*field.table, *element))
          return false;
    }
  }
  return true;
}

flatbuffers::uoffset_t origo::wire::copyTable(flatbuffers::FlatBufferBuilder &builder, const TableType &type,
                                              const flatbuffers::Table *table, ArrayRef<ScalarEdit> edits) {
  return Copier(builder).table(type, table, edits);
}
