#include "ir/text/Tables.h"

#include "ir/text/Elements.h"

namespace origo::text {

using llvm::StringRef;
using wire::Field;
using wire::TableType;
using wire::Type;

using Table = flatbuffers::Table;
using Tables = flatbuffers::Vector<flatbuffers::Offset<Table>>;
using Strings = flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>;

static uint64_t bitsAt(const uint8_t *data, Type type) {
  uint64_t bits = 0;
  std::memcpy(&bits, data, wire::size(type));
  return bits;
}

static uint64_t defaultBits(const Field &field) {
  uint64_t bits = 0;
  if (field.type == Type::Float32) {
    float value = static_cast<float>(field.defaultReal);
    std::memcpy(&bits, &value, sizeof(value));
  } else if (field.type == Type::Float64) {
    std::memcpy(&bits, &field.defaultReal, sizeof(field.defaultReal));
  } else {
    std::memcpy(&bits, &field.defaultInteger, wire::size(field.type));
  }
  return bits;
}

static int64_t unionType(const TableType &type, const Table &table, const Field &field) {
  return wire::integer(table, type.fields[field.slot - 1]);
}

/// Is there a value, and for a scalar one that is not the default? A union is printed with its type in one.
static bool isPrinted(const TableType &type, const Table &table, const Field &field) {
  if (field.type == Type::Union)
    return unionType(type, table, field) != 0;
  if (field.type == Type::UnionType || !wire::isPresent(table, field))
    return false;
  return !wire::isScalar(field.type) ||
         bitsAt(table.GetAddressOf(field.vtableOffset()), field.type) != defaultBits(field);
}

bool hasContent(const TableType &type, const Table &table) {
  return llvm::any_of(type.fields, [&](const Field &field) { return isPrinted(type, table, field); });
}

static bool isGraphField(const Field &field, const GraphFields &graphs) {
  return llvm::is_contained(graphs.names, field.name);
}

static void printScalar(llvm::raw_ostream &os, const Field &field, Type type, uint64_t bits,
                        const GraphFields &graphs) {
  NumberKind kind = numberKind(type);
  if (field.enumeration || isGraphField(field, graphs)) {
    int64_t value = kind.kind == NumberKind::Signed ? static_cast<int64_t>(bits << (64 - kind.bits)) >> (64 - kind.bits)
                                                    : static_cast<int64_t>(bits);
    if (!field.enumeration && graphs.print(os, value))
      return;
    if (const wire::EnumValue *known = field.enumeration ? field.enumeration->find(value) : nullptr) {
      os << known->name;
      return;
    }
  }
  printNumber(os, kind, bits);
}

static void printVector(llvm::raw_ostream &os, const Field &field, const Table &table, const GraphFields &graphs) {
  StringRef separator = "";
  if (field.element == Type::String || field.element == Type::Table) {
    os << '[';
    if (field.element == Type::String) {
      for (const flatbuffers::String *string : *table.GetPointer<const Strings *>(field.vtableOffset())) {
        os << separator;
        printQuoted(os, StringRef(string->c_str(), string->size()));
        separator = ", ";
      }
    } else {
      for (const Table *element : *table.GetPointer<const Tables *>(field.vtableOffset())) {
        os << separator;
        printTable(os, *field.table, *element);
        separator = ", ";
      }
    }
    os << ']';
    return;
  }
  auto *elements = table.GetPointer<const flatbuffers::VectorOfAny *>(field.vtableOffset());
  if (field.element == Type::UInt8 && !field.enumeration)
    return printHex(os, {elements->Data(), elements->size()});
  os << '[';
  for (size_t i = 0; i < elements->size(); ++i) {
    os << separator;
    printScalar(os, field, field.element, bitsAt(elements->Data() + i * wire::size(field.element), field.element),
                graphs);
    separator = ", ";
  }
  os << ']';
}

void printTable(llvm::raw_ostream &os, const TableType &type, const Table &table, const GraphFields &graphs) {
  StringRef separator = "";
  os << '{';
  for (const Field &field : type.fields) {
    if (!isPrinted(type, table, field))
      continue;
    os << separator << field.name << '=';
    separator = ", ";
    switch (field.type) {
    case Type::String: {
      auto *string = table.GetPointer<const flatbuffers::String *>(field.vtableOffset());
      printQuoted(os, StringRef(string->c_str(), string->size()));
      break;
    }
    case Type::Vector:
      printVector(os, field, table, graphs);
      break;
    case Type::Table:
      printTable(os, *field.table, *table.GetPointer<const Table *>(field.vtableOffset()));
      break;
    case Type::Union: {
      int64_t member = unionType(type, table, field);
      const wire::EnumValue *known = field.enumeration->find(member);
      const Table *child = table.GetPointer<const Table *>(field.vtableOffset());
      if (!known || !known->table) {
        os << member;
      } else {
        os << known->name << ' ';
        if (child)
          printTable(os, *known->table, *child);
        else
          os << "absent";
      }
      break;
    }
    default:
      printScalar(os, field, field.type, bitsAt(table.GetAddressOf(field.vtableOffset()), field.type), graphs);
    }
  }
  os << '}';
}

namespace {

using Offset = flatbuffers::uoffset_t;

class TableReader {
public:
  TableReader(Reader &reader, flatbuffers::FlatBufferBuilder &builder) : reader(reader), builder(builder) {}

  bool table(const TableType &type, Offset &result, const GraphFields &graphs) {
    struct Entry {
      bool set = false;
      uint64_t bits = 0; ///< of a scalar, or the offset of what the field points to
    };
    llvm::SmallVector<Entry, 16> entries(type.fields.size());
    if (!reader.list('{', '}', [&] {
          if (reader.token.kind != Token::Word)
            return reader.expected("the name of a field of " + type.name);
          const Field *field = type.find(reader.token.text);
          if (!field || field->type == Type::UnionType)
            return reader.fail(type.name + " has no field '" + reader.token.text + "'");
          if (entries[field->slot].set)
            return reader.fail("the field '" + field->name + "' is given twice");
          entries[field->slot].set = true;
          reader.advance();
          if (!reader.expect('='))
            return false;
          if (field->type == Type::Union) {
            Entry &member = entries[field->slot - 1], &child = entries[field->slot];
            member.set = true;
            return unionValue(*field, member.bits, child.set, child.bits);
          }
          return value(*field, entries[field->slot].bits, graphs);
        }))
      return false;
    if (builder.GetSize() > 1u << 30)
      return reader.fail("the table is too big");
    Offset start = builder.StartTable();
    for (const Field &field : type.fields)
      if (const Entry &entry = entries[field.slot]; entry.set)
        add(field, entry.bits);
    result = builder.EndTable(start);
    return true;
  }

private:
  Reader &reader;
  flatbuffers::FlatBufferBuilder &builder;

  void add(const Field &field, uint64_t bits) {
    if (!wire::isScalar(field.type)) {
      builder.AddOffset(field.vtableOffset(), flatbuffers::Offset<void>(static_cast<Offset>(bits)));
      return;
    }
    if (bits == defaultBits(field))
      return;
    switch (wire::size(field.type)) {
    case 1:
      return builder.AddElement(field.vtableOffset(), static_cast<uint8_t>(bits));
    case 2:
      return builder.AddElement(field.vtableOffset(), static_cast<uint16_t>(bits));
    case 4:
      return builder.AddElement(field.vtableOffset(), static_cast<uint32_t>(bits));
    default:
      return builder.AddElement(field.vtableOffset(), bits);
    }
  }

  bool scalar(const Field &field, Type type, uint64_t &bits, const GraphFields &graphs) {
    NumberKind kind = numberKind(type);
    if (field.enumeration && reader.token.kind == Token::Word) {
      const wire::EnumValue *known = field.enumeration->find(reader.token.text);
      if (!known)
        return reader.fail(field.enumeration->name + " has no enumerator '" + reader.token.text + "'");
      bits = static_cast<uint64_t>(known->value);
      bits = kind.bits < 64 ? bits & ((1ull << kind.bits) - 1) : bits;
      reader.advance();
      return true;
    }
    if (reader.token.kind == Token::Graph && isGraphField(field, graphs)) {
      int64_t index;
      if (!graphs.parse(reader, index))
        return false;
      bits = static_cast<uint64_t>(index);
      return true;
    }
    return parseNumber(reader, kind, bits);
  }

  bool value(const Field &field, uint64_t &bits, const GraphFields &graphs) {
    Offset child = 0;
    switch (field.type) {
    case Type::String: {
      std::string text;
      if (!reader.string(text, "a string"))
        return false;
      child = builder.CreateString(text).o;
      break;
    }
    case Type::Table:
      if (!table(*field.table, child, {}))
        return false;
      break;
    case Type::Vector:
      if (!vector(field, child, graphs))
        return false;
      break;
    default:
      return scalar(field, field.type, bits, graphs);
    }
    bits = child;
    return true;
  }

  bool unionValue(const Field &field, uint64_t &member, bool &present, uint64_t &child) {
    present = false;
    if (reader.token.kind == Token::Number) {
      uint8_t number;
      if (!reader.integer(number, "the number of a member"))
        return false;
      member = number;
      return true;
    }
    const wire::EnumValue *known =
        reader.token.kind == Token::Word ? field.enumeration->find(reader.token.text) : nullptr;
    if (!known || !known->table)
      return reader.expected("a member of " + field.enumeration->name);
    reader.advance();
    member = static_cast<uint64_t>(known->value);
    if (reader.acceptWord("absent"))
      return true;
    Offset result;
    if (!table(*known->table, result, {}))
      return false;
    present = true;
    child = result;
    return true;
  }

  bool vector(const Field &field, Offset &result, const GraphFields &graphs) {
    if (field.element == Type::String || field.element == Type::Table) {
      std::vector<flatbuffers::Offset<void>> items;
      if (!reader.list('[', ']', [&] {
            Offset item = 0;
            std::string text;
            if (field.element == Type::Table ? !table(*field.table, item, {}) : !reader.string(text, "a string"))
              return false;
            items.push_back(field.element == Type::Table ? item : builder.CreateString(text).o);
            return true;
          }))
        return false;
      result = builder.CreateVector(items).o;
      return true;
    }
    std::string bytes;
    size_t width = wire::size(field.element);
    if (reader.token.kind == Token::Hex && width == 1) {
      if (!reader.hex(bytes))
        return false;
    } else if (!reader.list('[', ']', [&] {
                 uint64_t bits;
                 if (!scalar(field, field.element, bits, graphs))
                   return false;
                 bytes.append(reinterpret_cast<const char *>(&bits), width);
                 return true;
               })) {
      return false;
    }
    if (bytes.size() > 1u << 30)
      return reader.fail("the vector is too big");
    size_t count = bytes.size() / width;
    if (field.forceAlign)
      builder.ForceVectorAlignment(count, width, field.forceAlign);
    builder.StartVector(count, width);
    builder.PushBytes(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size());
    result = builder.EndVector(count);
    return true;
  }
};

} // namespace

bool parseTable(Reader &reader, const TableType &type, flatbuffers::FlatBufferBuilder &builder, Offset &table,
                const GraphFields &graphs) {
  return TableReader(reader, builder).table(type, table, graphs);
}

} // namespace origo::text
