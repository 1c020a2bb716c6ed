#include "origin/Fingerprint.h"
#include "origin/Sha256.h"
#include "schema/OperatorTable.h"
#include "schema/circle_generated.h"
#include "schema/tflite_generated.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <bit>
#include <cstring>

using namespace origo;
using namespace origo::origin;
using flatbuffers::Table;
using llvm::ArrayRef;

namespace {

static_assert(std::endian::native == std::endian::little, "scalars and vectors are hashed as they lie in memory");

constexpr uint16_t endMark = 0xFFFF;
constexpr uint64_t smallPayload = 4096;

/// SHA-256 with a buffer in front, because most of what comes is two or four bytes long.
class Hasher {
public:
  void bytes(const void *data, size_t size) {
    if (used + size > sizeof(buffer))
      flush();
    if (size > sizeof(buffer)) {
      sha.update(ArrayRef(static_cast<const uint8_t *>(data), size));
    } else if (size) {
      std::memcpy(buffer + used, data, size);
      used += size;
    }
  }
  template <class T> void number(T value) { bytes(&value, sizeof(value)); }
  Digest final() {
    flush();
    return sha.final();
  }

private:
  Sha256 sha;
  uint8_t buffer[4096];
  size_t used = 0;

  void flush() {
    sha.update(ArrayRef(buffer, used));
    used = 0;
  }
};

/// The canonical encoding; Fingerprint.h says what it is.
class Encoder {
public:
  explicit Encoder(const ModelView &view)
      : view(view), schema(view.tflite ? wire::Schema::tflite() : wire::Schema::circle()),
        opcodes(view.model->GetPointer<const Opcodes *>(circle::Model::VT_OPERATOR_CODES)) {
    const wire::TableType &model = schema.root();
    for (auto name : {"version", "description", "buffers", "metadata", "metadata_buffer", "operator_codes"})
      leftOut.push_back(model.find(name));
    const wire::TableType &op = *schema.table("Operator");
    opcodeIndex = op.find("opcode_index");
    largeOffset = op.find("large_custom_options_offset");
    largeSize = op.find("large_custom_options_size");
    buffer = schema.table("Tensor")->find("buffer");
    if (const wire::TableType *external = schema.table("ExternalBuffer")) { // only tflite has it
      externalOffset = external->find("offset");
      externalLength = external->find("length");
    }
  }

  Digest run() {
    llvm::StringRef identifier = schema.fileIdentifier();
    hasher.bytes(identifier.data(), identifier.size());
    fields(schema.root(), *view.model);
    hasher.number(endMark);
    return hasher.final();
  }

private:
  using Opcodes = flatbuffers::Vector<flatbuffers::Offset<circle::OperatorCode>>;

  const ModelView &view;
  const wire::Schema &schema;
  const Opcodes *opcodes;
  llvm::SmallVector<const wire::Field *, 6> leftOut;
  const wire::Field *opcodeIndex, *largeOffset, *largeSize, *buffer;
  const wire::Field *externalOffset = nullptr, *externalLength = nullptr;
  Hasher hasher;
  /// Slots of tables in which nothing has been written yet: a table without values is one with an absent one.
  llvm::SmallVector<uint16_t, 8> pending;

  void begin(const wire::Field &field) {
    for (uint16_t slot : pending)
      hasher.number(slot);
    pending.clear();
    hasher.number(field.slot);
  }

  void fields(const wire::TableType &type, const Table &table) {
    for (const wire::Field &field : type.fields) {
      if (llvm::is_contained(leftOut, &field))
        continue;
      if (&field == opcodeIndex)
        opcode(field, table);
      else if (&field == buffer)
        payload(field, table);
      else if (&field == largeOffset)
        count(field, wire::integer(table, *largeSize));
      else if (&field == externalOffset)
        count(field, wire::integer(table, *externalLength));
      else if (!wire::isPresent(table, field))
        continue;
      else if (wire::isScalar(field.type))
        scalar(field, table);
      else
        child(type, field, table);
    }
  }

  void scalar(const wire::Field &field, const Table &table) {
    if (field.type == wire::Type::Float32) {
      float value = wire::real(table, field);
      if (std::bit_cast<uint32_t>(value) != std::bit_cast<uint32_t>(float(field.defaultReal))) {
        begin(field);
        hasher.number(value);
      }
    } else if (field.type == wire::Type::Float64) {
      double value = wire::real(table, field);
      if (std::bit_cast<uint64_t>(value) != std::bit_cast<uint64_t>(field.defaultReal)) {
        begin(field);
        hasher.number(value);
      }
    } else if (int64_t value = wire::integer(table, field); value != field.defaultInteger) {
      begin(field);
      hasher.bytes(&value, wire::size(field.type));
    }
  }

  void count(const wire::Field &field, uint64_t value) {
    if (!value)
      return;
    begin(field);
    hasher.number(value);
  }

  void text(const flatbuffers::String *string) {
    hasher.number(uint32_t(string ? string->size() : 0));
    if (string)
      hasher.bytes(string->Data(), string->size());
  }

  void opcode(const wire::Field &field, const Table &op) {
    uint64_t index = wire::integer(op, field);
    if (!opcodes || index >= opcodes->size())
      return;
    const circle::OperatorCode &code = *opcodes->Get(index);
    begin(field);
    hasher.number(resolveOpcode(code.deprecated_builtin_code(), int32_t(code.builtin_code())));
    hasher.number(int32_t(code.version()));
    text(code.custom_code());
  }

  void payload(const wire::Field &field, const Table &tensor) {
    ModelView::Bytes bytes = view.payload(tensor, wire::integer(tensor, field));
    count(field, bytes.size);
    // These four have the same number in both formats.
    auto type = reinterpret_cast<const circle::Tensor &>(tensor).type();
    using enum circle::TensorType;
    bool isWhole = type == INT32 || type == INT64 || type == BOOL || type == STRING;
    if (isWhole && bytes.data && bytes.size <= smallPayload)
      hasher.bytes(bytes.data, bytes.size);
  }

  void nested(const wire::Field &field, const wire::TableType &type, const Table &table) {
    size_t outer = pending.size();
    pending.push_back(field.slot);
    fields(type, table);
    if (pending.size() > outer)
      pending.pop_back();
    else
      hasher.number(endMark);
  }

  void child(const wire::TableType &type, const wire::Field &field, const Table &table) {
    const auto at = field.vtableOffset();
    switch (field.type) {
    case wire::Type::String:
      if (auto *string = table.GetPointer<const flatbuffers::String *>(at); string->size()) {
        begin(field);
        text(string);
      }
      return;
    case wire::Type::Table:
      return nested(field, *field.table, *table.GetPointer<const Table *>(at));
    case wire::Type::Vector:
      return vector(field, table);
    default:
      if (const wire::TableType *member = wire::unionMember(type, table, field))
        nested(field, *member, *table.GetPointer<const Table *>(at));
    }
  }

  void vector(const wire::Field &field, const Table &table) {
    if (field.element == wire::Type::UInt8) {
      ModelView::Bytes bytes = view.byteVector(table, field.vtableOffset());
      if (!bytes.size)
        return;
      begin(field);
      hasher.number(uint32_t(bytes.size));
      return hasher.bytes(bytes.data, bytes.size);
    }
    auto *any = table.GetPointer<const flatbuffers::VectorOfAny *>(field.vtableOffset());
    if (!any->size())
      return;
    begin(field);
    hasher.number(uint32_t(any->size()));
    if (wire::isScalar(field.element)) {
      hasher.bytes(any->Data(), size_t(any->size()) * wire::size(field.element));
    } else if (field.element == wire::Type::String) {
      using Strings = flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>;
      for (const flatbuffers::String *string : *reinterpret_cast<const Strings *>(any))
        text(string);
    } else {
      using Tables = flatbuffers::Vector<flatbuffers::Offset<Table>>;
      for (const Table *element : *reinterpret_cast<const Tables *>(any)) {
        fields(*field.table, *element);
        hasher.number(endMark);
      }
    }
  }
};

} // namespace

Digest origin::fingerprint(const ModelView &view) { return Encoder(view).run(); }

Digest origin::content(const ModelView &view) {
  Hasher hasher;
  forEachTensor(view, [&](const Table &tensor, TensorKind kind) {
    if (kind != TensorKind::Constant)
      return;
    ModelView::Bytes bytes = view.payload(tensor, reinterpret_cast<const circle::Tensor &>(tensor).buffer());
    hasher.number(bytes.size);
    if (!bytes.data)
      return;
    uint64_t end = std::min(bytes.size, smallPayload);
    hasher.bytes(bytes.data, end);
    hasher.bytes(bytes.end ? bytes.end : bytes.data + (bytes.size - end), end);
  });
  return hasher.final();
}

Digest origin::contentWith(const Digest &file, std::span<const BoundInput> bound) {
  if (bound.empty())
    return file;
  Hasher hasher;
  hasher.bytes(file.data(), file.size());
  for (const BoundInput &input : bound) {
    hasher.number(input.tensor);
    hasher.bytes(input.bytes.data(), input.bytes.size());
  }
  return hasher.final();
}

std::string origin::hex(const Digest &digest) { return llvm::toHex(digest, /*LowerCase=*/true); }

Listing origin::describe(const ModelView &view) {
  Listing result = list(view);
  result.fingerprint = fingerprint(view);
  result.content = content(view);
  return result;
}
