#include "import/Source.h"

#include "schema/Refusals.h"
#include "schema/tflite_generated.h"

#include "llvm/ADT/StringExtras.h"

#include <algorithm>

namespace origo {

using flatbuffers::Table;
using flatbuffers::Verifier;
using llvm::Twine;

namespace {

/// What the generated verifiers leave out: deprecated fields, which copying and fingerprints read, and the sum of all
/// vectors and strings. Thousands of tables may name the same huge vector, so that walking over all of them would take
/// far longer than reading the file.
class SteppedRun {
public:
  SteppedRun(const Verifier &verifier, uint64_t limit) : verifier(verifier), limit(limit) {}
  uint64_t bytes = 0;
  bool unknownFields = false;

  bool table(const wire::TableType &type, const Table &table) {
    auto slots = flatbuffers::ReadScalar<flatbuffers::voffset_t>(table.GetVTable()) / 2;
    for (int slot = 0; slot + 2 < slots; ++slot) {
      if (!table.GetOptionalFieldOffset(4 + 2 * slot))
        continue;
      if (static_cast<size_t>(slot) >= type.fields.size()) {
        unknownFields = true;
        continue;
      }
      const wire::Field &field = type.fields[slot];
      if (field.deprecated && !wire::verifyDeprecated(verifier, table, field))
        return false;
      if (!wire::isScalar(field.type) && !child(type, table, field))
        return false;
    }
    bytes += 4;
    return bytes <= limit;
  }

private:
  const Verifier &verifier;
  const uint64_t limit;

  bool child(const wire::TableType &type, const Table &owner, const wire::Field &field) {
    auto pointer = [&]<class T>(T *) { return owner.GetPointer<const T *>(field.vtableOffset()); };
    switch (field.type) {
    case wire::Type::String:
      bytes += pointer(static_cast<flatbuffers::String *>(nullptr))->size();
      return bytes <= limit;
    case wire::Type::Table:
      return table(*field.table, *pointer(static_cast<Table *>(nullptr)));
    case wire::Type::Union: {
      const wire::TableType *member = wire::unionMember(type, owner, field);
      return !member || table(*member, *pointer(static_cast<Table *>(nullptr)));
    }
    default:
      break;
    }
    if (field.element == wire::Type::Table) {
      for (const Table *element : *pointer(static_cast<TableVector *>(nullptr)))
        if (!table(*field.table, *element))
          return false;
      return true;
    }
    // Payloads are shared by design, and only their ends are ever walked over.
    if (field.forceAlign == 16)
      return true;
    auto *vector = pointer(static_cast<flatbuffers::VectorOfAny *>(nullptr));
    bytes += uint64_t(vector->size()) * wire::size(field.element);
    return bytes <= limit;
  }
};

} // namespace

llvm::ArrayRef<uint8_t> Source::payload(const circle::Buffer &buffer) const {
  // 0 and 1 stand for "not outside": the one is the default, the other a placeholder of writers.
  if (buffer.offset() > 1) // within the file, as checkRules has seen unless payloads do not matter
    return inFile(buffer.offset(), buffer.size()) ? bytes().slice(buffer.offset(), buffer.size())
                                                  : llvm::ArrayRef<uint8_t>();
  return buffer.data() ? llvm::ArrayRef(buffer.data()->data(), buffer.data()->size()) : llvm::ArrayRef<uint8_t>();
}

llvm::ArrayRef<uint8_t> Source::payload(uint32_t buffer) const {
  return buffer < length(model->buffers()) ? payload(*model->buffers()->Get(buffer)) : llvm::ArrayRef<uint8_t>();
}

int32_t Source::debugMetadata(const circle::SubGraph &graph) const {
  return tflite ? asTable(graph).GetField<int32_t>(14, -1) : graph.debug_metadata_index();
}

bool Source::channelsFirst(const circle::SubGraph &graph) const {
  return !tflite && asTable(graph).GetField<int8_t>(14, 0) == int8_t(circle::DataFormat::CHANNELS_FIRST);
}

uint32_t Source::externalBuffer(const circle::Tensor &tensor) const {
  return tflite ? asTable(tensor).GetField<uint32_t>(24, 0) : 0;
}

uint8_t Source::compression(const circle::Tensor &tensor) const {
  return tflite ? 0 : asTable(tensor).GetField<uint8_t>(24, 0);
}

Quantization::Details Source::details(const circle::QuantizationParameters &quantization) const {
  using Details = Quantization::Details;
  switch (static_cast<int>(quantization.details_type())) {
  case 1:
    return Details::Custom;
  case 2:
    return tflite ? Details::Blockwise : Details::MX;
  case 3:
    return tflite ? Details::MultiAxis : Details::Blockwise;
  default:
    return Details::None;
  }
}

std::optional<TensorType> Source::tensorType(int8_t type) const {
  if (tflite)
    return fromTflite(static_cast<tflite::TensorType>(type));
  auto known = static_cast<TensorType>(type);
  return isInCircle(known) ? std::optional(known) : std::nullopt;
}

const TableVector *externalGroups(const Source &source) {
  return source.tflite ? asTable(*source.model).GetPointer<const TableVector *>(20) : nullptr;
}

const TableVector *externalBuffers(const Source &source) {
  return source.tflite ? asTable(*source.model).GetPointer<const TableVector *>(22) : nullptr;
}

BuiltinOperator resolvedCode(const circle::OperatorCode &code) {
  return static_cast<BuiltinOperator>(
      resolveOpcode(code.deprecated_builtin_code(), static_cast<int32_t>(code.builtin_code())));
}

llvm::Expected<Source> openSource(std::shared_ptr<MappedFile> file) {
  Source source;
  source.file = std::move(file);
  llvm::ArrayRef<uint8_t> bytes = source.bytes();
  llvm::StringRef identifier = llvm::toStringRef(bytes).substr(4, 4);
  source.tflite = identifier == wire::Schema::tflite().fileIdentifier();
  const wire::Schema &schema = source.tflite ? wire::Schema::tflite() : wire::Schema::circle();
  if (identifier != schema.fileIdentifier())
    return makeError(refusal::noModel(llvm::toStringRef(bytes)));

  // The tables lie within 2 GB; what is behind is reached by file offsets. A table takes 4 bytes besides the 4 of the
  // offset that leads to it, unless tables are shared.
  Verifier::Options options;
  size_t verified = std::min<size_t>(bytes.size(), FLATBUFFERS_MAX_BUFFER_SIZE - 1);
  options.max_tables = std::max<uint64_t>(100'000, verified / 4);
  Verifier verifier(bytes.data(), verified, options);
  bool sound = source.tflite ? tflite::VerifyModelBuffer(verifier) : circle::VerifyModelBuffer(verifier);
  if (!sound)
    return makeError(refusal::damaged);
  source.model = circle::GetModel(bytes.data());

  SteppedRun walk(verifier, (64 << 20) + 8 * uint64_t(bytes.size()));
  if (!walk.table(schema.root(), asTable(*source.model)))
    return makeError(refusal::exhausting);
  source.unknownFields = walk.unknownFields;

  if (const TableVector *buffers = externalBuffers(source))
    for (const Table *buffer : *buffers)
      source.externalBuffers.insert({buffer->GetField<uint32_t>(slot::externalId, 0), buffer});
  return source;
}

} // namespace origo
