#include "export/Tables.h"

#include "origin/codec/Embedded.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/xxhash.h"

#include <cstring>

namespace origo {

namespace {

using flatbuffers::Offset;
using flatbuffers::uoffset_t;
using llvm::ArrayRef;
using llvm::StringRef;
template <class T> using Offsets = std::vector<Offset<T>>;

/// Custom options of more bytes than this are not copied through memory either.
constexpr uint64_t bigCustomOptions = 4096;
/// Vectors and strings from this size on are written once per content: in a file, many tables may share one.
constexpr size_t sharedBytes = 64;
constexpr unsigned forceAlign16 = 16;
/// A placeholder that no writer could mistake for "absent".
constexpr uoffset_t placeholder = ~uoffset_t(0);

// The generated code has no names for deprecated slots.
constexpr flatbuffers::voffset_t deprecatedDataFormat = 4 + 2 * 5, deprecatedSignatureTag = 4 + 2 * 3;

/// Big tables lie in a temporary file: what has been written of them need not stay in memory.
class RoomForTables final : public flatbuffers::Allocator {
public:
  /// `room` is set to where the tables are, if that is a file.
  RoomForTables(Payload &room, PayloadStore *store) : room(room), store(store) {}

private:
  Payload &room;
  PayloadStore *store;

  uint8_t *allocate(size_t size) override {
    if (store) {
      llvm::MutableArrayRef<uint8_t> bytes;
      if (llvm::Expected<Payload> taken = store->allocate(size, bytes)) {
        room = std::move(*taken);
        return bytes.data();
      } else {
        llvm::consumeError(taken.takeError());
      }
    }
    return new uint8_t[size];
  }
  void deallocate(uint8_t *bytes, size_t) override {
    if (room.empty() || bytes != room.bytes().data())
      delete[] bytes;
    else
      room = {};
  }
  // One that grows has two rooms for a while.
  uint8_t *reallocate_downward(uint8_t *old, size_t oldSize, size_t newSize, size_t back, size_t front) override {
    Payload before = std::exchange(room, {});
    uint8_t *bytes = allocate(newSize);
    memcpy_downward(old, oldSize, bytes, newSize, back, front);
    if (before.empty())
      delete[] old;
    return bytes;
  }
};

/// Slots are circle's. Where tflite's differ, the difference is spelled out.
class TableBuilder {
public:
  TableBuilder(const Model &model, const TableOptions &options, Tables &tables)
      : model(model), options(options), tables(tables), builder(tables.builder),
        tflite(options.format == Format::Tflite) {}

  llvm::Error build() {
    tables.tflite = tflite;
    // Growing takes twice the room for a while. What is reserved and not used takes none.
    size_t rows = 0;
    for (auto &graph : model.subgraphs)
      rows += graph->values.size() + graph->operators.size();
    builder = flatbuffers::FlatBufferBuilder(1024 + std::min<size_t>(rows * 160, size_t{1} << 30),
                                             new RoomForTables(tables.room, options.store), true);
    collectBuffers();
    emptyString = string("");

    llvm::Expected<Offset<void>> subgraphs = buildSubgraphs();
    if (!subgraphs)
      return subgraphs.takeError();
    auto opcodes = buildOpcodes();
    auto signatures = buildSignatures();
    auto buffers = buildBuffers();
    auto metadata = buildMetadata();
    Offset<void> metadataBuffers = buildMetadataBuffers();
    Offset<void> groups, external;
    if (tflite)
      std::tie(groups, external) = buildExternalBuffers();
    Offset<flatbuffers::String> description;
    if (model.description)
      description = string(*model.description);

    uoffset_t start = builder.StartTable();
    uint32_t version = model.format == options.format ? model.version : tflite ? 3 : 0;
    builder.AddElement<uint32_t>(circle::Model::VT_VERSION, version, 0);
    builder.AddOffset(circle::Model::VT_OPERATOR_CODES, opcodes);
    builder.AddOffset(circle::Model::VT_SUBGRAPHS, *subgraphs);
    builder.AddOffset(circle::Model::VT_DESCRIPTION, description);
    builder.AddOffset(circle::Model::VT_BUFFERS, buffers);
    builder.AddOffset(circle::Model::VT_METADATA_BUFFER, metadataBuffers);
    builder.AddOffset(circle::Model::VT_METADATA, metadata);
    builder.AddOffset(circle::Model::VT_SIGNATURE_DEFS, signatures);
    builder.AddOffset(tflite::Model::VT_EXTERNAL_BUFFER_GROUPS, groups);
    builder.AddOffset(tflite::Model::VT_EXTERNAL_BUFFERS, external);
    Offset<flatbuffers::Table> root(builder.EndTable(start));
    if (tooLarge())
      return makeError("the tables alone would pass the 2 GB that a flatbuffer can hold");
    builder.Finish(root, tflite ? "TFL3" : "CIR0");

    // References were noted as distances from the end, which is all that a flatbuffer builder knows on the way.
    uint32_t size = builder.GetSize();
    for (Reference &reference : tables.references) {
      reference.at = size - reference.at;
      if (!reference.isInline())
        reference.sizeAt = size - reference.sizeAt;
    }
    return llvm::Error::success();
  }

private:
  const Model &model;
  const TableOptions &options;
  Tables &tables;
  flatbuffers::FlatBufferBuilder &builder;
  const bool tflite;
  Offset<flatbuffers::String> emptyString;
  unsigned emptyBuffer = 0; ///< index of the buffer of what has none
  llvm::DenseMap<std::pair<uint64_t, unsigned>, uoffset_t> shared;
  llvm::DenseMap<const flatbuffers::Table *, uoffset_t> bigOptions;
  using OpcodeKey = std::tuple<int32_t, int32_t, StringRef>;
  llvm::DenseMap<OpcodeKey, uint32_t> opcodeRows;
  std::vector<Model::OpcodeRow> opcodes;

  // Half of the limit, so that what is added between two checks cannot pass it.
  bool tooLarge() const { return builder.GetSize() > Tables::maxBytes / 2; }

  // Small things.

  /// A vector of the same content that is there already, or what `make` writes.
  template <class Make> uoffset_t share(ArrayRef<uint8_t> bytes, size_t count, unsigned width, Make make) {
    if (bytes.size() < sharedBytes)
      return make();
    // The width (0: a string, 16: bytes so aligned) is part of the key, because alignment and termination depend on it.
    auto [it, isNew] = shared.try_emplace({llvm::xxh3_64bits(bytes), width}, 0);
    if (!isNew) {
      const uint8_t *there = builder.GetCurrentBufferPointer() + builder.GetSize() - it->second;
      if (flatbuffers::ReadScalar<uoffset_t>(there) == count &&
          std::memcmp(there + sizeof(uoffset_t), bytes.data(), bytes.size()) == 0)
        return it->second;
      return make();
    }
    return it->second = make();
  }

  Offset<flatbuffers::String> string(StringRef text) {
    if (text.empty() && !emptyString.IsNull())
      return emptyString;
    return share({reinterpret_cast<const uint8_t *>(text.data()), text.size()}, text.size(), 0,
                 [&] { return builder.CreateString(text.data(), text.size()).o; });
  }

  template <class T> Offset<void> vector(ArrayRef<T> items) {
    return share({reinterpret_cast<const uint8_t *>(items.data()), items.size() * sizeof(T)}, items.size(), sizeof(T),
                 [&] {
                   builder.StartVector(items.size(), sizeof(T));
                   builder.PushBytes(reinterpret_cast<const uint8_t *>(items.data()), items.size() * sizeof(T));
                   return builder.EndVector(items.size());
                 });
  }
  template <class T> Offset<void> vectorOrNone(ArrayRef<T> items) {
    return items.empty() ? Offset<void>() : vector(items);
  }
  template <class T> Offset<void> tableVector(const Offsets<T> &items) {
    return builder.CreateVector(items.data(), items.size()).o;
  }

  Offset<void> indices(ArrayRef<Value *> values) {
    llvm::SmallVector<int32_t, 8> numbers;
    for (const Value *value : values)
      numbers.push_back(value ? static_cast<int32_t>(value->index) : -1);
    return vector<int32_t>(numbers);
  }

  int8_t tensorType(TensorType type) const {
    return tflite ? static_cast<int8_t>(*toTflite(type)) : static_cast<int8_t>(type);
  }

  void refer(Reference::Kind kind, const Payload &payload, flatbuffers::voffset_t field,
             flatbuffers::voffset_t sizeField = 0) {
    Reference reference{kind, 0, 0, &payload};
    if (kind == Reference::Inline || kind == Reference::MapInline) {
      builder.AddElement<uoffset_t>(field, placeholder);
      reference.at = builder.GetSize();
    } else {
      builder.AddElement<uint64_t>(field, placeholder);
      reference.at = builder.GetSize();
      // The fingerprint takes sizes in before the layout is known; only that of the map is open yet.
      builder.AddElement<uint64_t>(sizeField, payload.empty() ? placeholder : payload.size());
      reference.sizeAt = builder.GetSize();
    }
    tables.references.push_back(reference);
  }

  // Buffers.

  void collectBuffers() {
    tables.buffers.assign(model.buffers.begin(), model.buffers.end());
    // What has no buffer refers to buffer 0, so that has to be there and to be empty. It is made even where nothing
    // needs it, because otherwise buffer 0 would be the origin map's.
    if (tables.buffers.empty())
      tables.buffers.push_back(nullptr);
    if (!tables.buffers[0] || tables.buffers[0]->payload.empty())
      return;
    bool needed = llvm::any_of(model.metadata, [](const MetadataEntry &entry) { return !entry.buffer; }) ||
                  llvm::is_contained(model.metadataBuffers, nullptr);
    for (auto &graph : model.subgraphs)
      needed |= llvm::any_of(graph->values, [](const Value *value) { return !value->buffer; });
    if (!needed)
      return;
    auto empty = llvm::find_if(tables.buffers, [](const Buffer *buffer) { return !buffer || buffer->payload.empty(); });
    emptyBuffer = empty - tables.buffers.begin();
    if (empty == tables.buffers.end())
      tables.buffers.push_back(nullptr);
  }

  uint32_t bufferIndex(const Buffer *buffer) const {
    if (!buffer)
      return emptyBuffer;
    if (buffer->index >= model.buffers.size() || model.buffers[buffer->index] != buffer)
      llvm::report_fatal_error("a buffer is used that is not among the model's buffers");
    return buffer->index;
  }

  Offset<void> buildBuffers() {
    Offsets<circle::Buffer> offsets;
    offsets.reserve(tables.buffers.size() + options.mapEntries.size());
    for (const Buffer *buffer : tables.buffers) {
      uoffset_t start = builder.StartTable();
      if (const Payload *payload = buffer ? &tables.payload(*buffer) : nullptr; payload && !payload->empty())
        refer(payload->size() < options.inlineBelow ? Reference::Inline : Reference::ByOffset, *payload,
              payload->size() < options.inlineBelow ? circle::Buffer::VT_DATA : circle::Buffer::VT_OFFSET,
              circle::Buffer::VT_SIZE);
      offsets.push_back(builder.EndTable(start));
    }
    for (size_t i = 0; i < options.mapEntries.size(); ++i) {
      bool isInline = options.inlineBelow == Tables::everythingInline;
      uoffset_t start = builder.StartTable();
      refer(isInline ? Reference::MapInline : Reference::MapByOffset, tables.map[i],
            isInline ? circle::Buffer::VT_DATA : circle::Buffer::VT_OFFSET, circle::Buffer::VT_SIZE);
      offsets.push_back(builder.EndTable(start));
    }
    return tableVector(offsets);
  }

  Offset<void> buildMetadata() {
    Offsets<circle::Metadata> offsets;
    auto add = [&](StringRef name, uint32_t buffer) {
      Offset<flatbuffers::String> text = string(name);
      uoffset_t start = builder.StartTable();
      builder.AddOffset(circle::Metadata::VT_NAME, text);
      builder.AddElement<uint32_t>(circle::Metadata::VT_BUFFER, buffer, 0);
      offsets.push_back(builder.EndTable(start));
    };
    for (const MetadataEntry &entry : model.metadata)
      add(entry.name, bufferIndex(entry.buffer));
    for (auto [i, name] : llvm::enumerate(options.mapEntries))
      add(name, tables.buffers.size() + i);
    return offsets.empty() ? Offset<void>() : tableVector(offsets);
  }

  Offset<void> buildMetadataBuffers() {
    std::vector<int32_t> numbers;
    for (const Buffer *buffer : model.metadataBuffers)
      numbers.push_back(bufferIndex(buffer));
    return vectorOrNone<int32_t>(numbers);
  }

  std::pair<Offset<void>, Offset<void>> buildExternalBuffers() {
    Offsets<tflite::ExternalBufferGroup> groups;
    for (StringRef name : model.externalGroups)
      groups.push_back(tflite::CreateExternalBufferGroup(builder, string(name)));
    Offsets<tflite::ExternalBuffer> external;
    for (const ExternalBuffer &buffer : model.externalBuffers)
      external.push_back(tflite::CreateExternalBuffer(builder, buffer.id, buffer.group, buffer.offset, buffer.length,
                                                      string(buffer.packing)));
    return {groups.empty() ? Offset<void>() : tableVector(groups),
            external.empty() ? Offset<void>() : tableVector(external)};
  }

  // Operator codes.

  static OpcodeKey key(const Model::OpcodeRow &row) {
    return {static_cast<int32_t>(row.code), row.version, row.customCode};
  }
  static Model::OpcodeRow opcodeOf(const Operator &op) { return {op.code, op.version, op.customCode()}; }

  /// The model's rows stay as they are; what no operator of a changed model uses is left out.
  void collectOpcodes() {
    std::vector<bool> used(model.opcodes.size(), model.rewrites == 0);
    llvm::DenseMap<OpcodeKey, uint32_t> first;
    for (auto [i, row] : llvm::enumerate(model.opcodes))
      first.try_emplace(key(row), i);
    std::vector<Model::OpcodeRow> added;
    for (auto &graph : model.subgraphs)
      for (const Operator &op : graph->operators) {
        auto [it, isNew] = first.try_emplace(key(opcodeOf(op)), model.opcodes.size() + added.size());
        if (isNew)
          added.push_back(opcodeOf(op));
        else if (it->second < used.size())
          used[it->second] = true;
      }
    for (auto [row, isUsed] : llvm::zip_equal(model.opcodes, used))
      if (isUsed)
        opcodes.push_back(row);
    opcodes.insert(opcodes.end(), added.begin(), added.end());
    for (auto [i, row] : llvm::enumerate(opcodes))
      opcodeRows.try_emplace(key(row), i);
  }

  Offset<void> buildOpcodes() {
    Offsets<circle::OperatorCode> offsets;
    for (const Model::OpcodeRow &row : opcodes) {
      int32_t code = static_cast<int32_t>(row.code);
      Offset<flatbuffers::String> custom;
      if (!row.customCode.empty() || row.code == BuiltinOperator::CUSTOM)
        custom = string(row.customCode);
      uoffset_t start = builder.StartTable();
      builder.AddElement<int8_t>(circle::OperatorCode::VT_DEPRECATED_BUILTIN_CODE, deprecatedCode(code), 0);
      builder.AddOffset(circle::OperatorCode::VT_CUSTOM_CODE, custom);
      builder.AddElement<int32_t>(circle::OperatorCode::VT_VERSION, row.version, 1);
      builder.AddElement<int32_t>(circle::OperatorCode::VT_BUILTIN_CODE, code, 0);
      offsets.push_back(builder.EndTable(start));
    }
    return tableVector(offsets);
  }

  // Tensors.

  Offset<void> buildQuantization(const Quantization &q) {
    Offset<void> min = vectorOrNone(q.min), max = vectorOrNone(q.max), scale = vectorOrNone(q.scale),
                 zeroPoint = vectorOrNone(q.zeroPoint), details = buildDetails(q);
    auto ordinal = static_cast<uint8_t>(detailsOrdinal(q.details));
    uoffset_t start = builder.StartTable();
    builder.AddOffset(circle::QuantizationParameters::VT_MIN, min);
    builder.AddOffset(circle::QuantizationParameters::VT_MAX, max);
    builder.AddOffset(circle::QuantizationParameters::VT_SCALE, scale);
    builder.AddOffset(circle::QuantizationParameters::VT_ZERO_POINT, zeroPoint);
    builder.AddElement<uint8_t>(circle::QuantizationParameters::VT_DETAILS_TYPE, ordinal, 0);
    builder.AddOffset(circle::QuantizationParameters::VT_DETAILS, details);
    builder.AddElement<int32_t>(circle::QuantizationParameters::VT_QUANTIZED_DIMENSION, q.dimension, 0);
    return builder.EndTable(start);
  }

  unsigned detailsOrdinal(Quantization::Details details) const {
    switch (details) {
    case Quantization::Details::None:
      return 0;
    case Quantization::Details::Custom:
      return 1;
    case Quantization::Details::MX:
      return static_cast<unsigned>(circle::QuantizationDetails::MXQuantization);
    case Quantization::Details::Blockwise:
      return tflite ? static_cast<unsigned>(tflite::QuantizationDetails::BlockwiseQuantization)
                    : static_cast<unsigned>(circle::QuantizationDetails::BlockwiseQuantization);
    case Quantization::Details::MultiAxis:
      return static_cast<unsigned>(tflite::QuantizationDetails::MultiAxisQuantization);
    }
    llvm_unreachable("all kinds of details are above");
  }

  Offset<void> buildDetails(const Quantization &q) {
    int32_t scales = q.more->scales ? q.more->scales->index : q.more->rawScales;
    int32_t zeroPoints = q.more->zeroPoints ? q.more->zeroPoints->index : q.more->rawZeroPoints;
    switch (q.details) {
    case Quantization::Details::None:
      return {};
    case Quantization::Details::Custom: {
      Offset<void> custom;
      if (!q.more->custom.empty())
        custom = share(q.more->custom, q.more->custom.size(), forceAlign16, [&] {
          builder.ForceVectorAlignment(q.more->custom.size(), 1, forceAlign16);
          return builder.CreateVector(q.more->custom.data(), q.more->custom.size()).o;
        });
      uoffset_t start = builder.StartTable();
      builder.AddOffset(circle::CustomQuantization::VT_CUSTOM, custom);
      return builder.EndTable(start);
    }
    case Quantization::Details::MX:
      return circle::CreateMXQuantization(builder, q.more->axis).o;
    case Quantization::Details::Blockwise: // the same slots in both formats
      return circle::CreateBlockwiseQuantization(builder, scales, zeroPoints, q.more->blockSize).o;
    case Quantization::Details::MultiAxis: {
      Offset<void> dimensions = vectorOrNone(q.more->dimensions);
      return tflite::CreateMultiAxisQuantization(builder, scales, zeroPoints, q.more->blockSize, dimensions.o).o;
    }
    }
    llvm_unreachable("all kinds of details are above");
  }

  Offset<void> buildVariants(ArrayRef<VariantType> variants) {
    Offsets<circle::VariantSubType> offsets;
    for (const VariantType &variant : variants) {
      Offset<void> shape = vectorOrNone(variant.shape);
      uoffset_t start = builder.StartTable();
      builder.AddOffset(circle::VariantSubType::VT_SHAPE, shape);
      builder.AddElement<int8_t>(circle::VariantSubType::VT_TYPE, tensorType(variant.type), 0);
      builder.AddElement<uint8_t>(circle::VariantSubType::VT_HAS_RANK, variant.hasRank, 0);
      offsets.push_back(builder.EndTable(start));
    }
    return tableVector(offsets);
  }

  Offset<circle::Tensor> buildTensor(const Value &value) {
    static const wire::TableType &sparsityType = *wire::Schema::circle().table("SparsityParameters");
    Offset<void> shape, quantization, sparsity, variants;
    if (value.hasShape)
      shape = vector<int32_t>(value.shape);
    Offset<flatbuffers::String> name = string(value.name);
    if (value.quantization)
      quantization = buildQuantization(*value.quantization);
    if (value.sparsity())
      sparsity = copyShared(sparsityType, reinterpret_cast<const flatbuffers::Table *>(value.sparsity()), {});
    Offset<void> signature = vectorOrNone(value.shapeSignature());
    if (!value.variants().empty())
      variants = buildVariants(value.variants());

    uoffset_t start = builder.StartTable();
    builder.AddOffset(circle::Tensor::VT_SHAPE, shape);
    builder.AddElement<int8_t>(circle::Tensor::VT_TYPE, tensorType(value.type), 0);
    builder.AddElement<uint32_t>(circle::Tensor::VT_BUFFER, bufferIndex(value.buffer), 0);
    builder.AddOffset(circle::Tensor::VT_NAME, name);
    builder.AddOffset(circle::Tensor::VT_QUANTIZATION, quantization);
    builder.AddElement<uint8_t>(circle::Tensor::VT_IS_VARIABLE, value.isVariable, 0);
    builder.AddOffset(circle::Tensor::VT_SPARSITY, sparsity);
    builder.AddOffset(circle::Tensor::VT_SHAPE_SIGNATURE, signature);
    builder.AddElement<uint8_t>(circle::Tensor::VT_HAS_RANK, value.hasRank, 0);
    builder.AddOffset(circle::Tensor::VT_VARIANT_TENSORS, variants);
    if (tflite)
      builder.AddElement<uint32_t>(tflite::Tensor::VT_EXTERNAL_BUFFER, value.externalBuffer, 0);
    else
      builder.AddElement<int8_t>(circle::Tensor::VT_COMPRESSION_TYPE, value.compression, 0);
    return builder.EndTable(start);
  }

  // Operators.

  /// A big table that several refer to is written once.
  Offset<void> copyShared(const wire::TableType &type, const flatbuffers::Table *table,
                          ArrayRef<wire::ScalarEdit> edits) {
    if (auto it = bigOptions.find(table); it != bigOptions.end())
      return it->second;
    uoffset_t before = builder.GetSize();
    uoffset_t offset = wire::copyTable(builder, type, table, edits);
    if (builder.GetSize() - before > 1024)
      bigOptions[table] = offset;
    return offset;
  }

  Offset<void> buildOptions(const Options &opts, StringRef unionName) {
    if (!opts.table)
      return {};
    const wire::EnumValue *member = wire::Schema::circle().enumeration(unionName)->find(int64_t(opts.member));
    llvm::SmallVector<wire::ScalarEdit, 2> edits;
    if (tflite)
      for (const wire::Field &field : member->table->fields)
        if (field.enumeration && field.enumeration->name == "TensorType") {
          int64_t type = wire::integer(*opts.table, field);
          if (int64_t number = tensorType(static_cast<TensorType>(type)); number != type)
            edits.push_back({field.slot, number});
        }
    return copyShared(*member->table, opts.table, edits);
  }

  Offset<circle::Operator> buildOperator(const Operator &op) {
    llvm::SmallVector<Value *, 8> operands;
    for (const Use &use : op.operands())
      operands.push_back(use.get());
    Offset<void> inputs = indices(operands), outputs = indices(op.results());
    Offset<void> builtin = buildOptions(op.options, "BuiltinOptions");
    Offset<void> builtin2 = buildOptions(op.options2(), "BuiltinOptions2");
    Offset<void> mutating = vectorOrNone(op.mutatingVariableInputs());
    Offset<void> intermediates = op.intermediates().empty() ? Offset<void>() : indices(op.intermediates());
    Offset<void> custom;
    const Payload &payload = op.customOptions();
    bool copied = !payload.empty() && !op.largeCustomOptions && payload.size() <= bigCustomOptions;
    if (copied)
      custom = vector(payload.bytes());

    uoffset_t start = builder.StartTable();
    builder.AddElement<uint32_t>(circle::Operator::VT_OPCODE_INDEX, opcodeRows.lookup(key(opcodeOf(op))), 0);
    builder.AddOffset(circle::Operator::VT_INPUTS, inputs);
    builder.AddOffset(circle::Operator::VT_OUTPUTS, outputs);
    builder.AddElement<uint8_t>(circle::Operator::VT_BUILTIN_OPTIONS_TYPE, op.options.member, 0);
    builder.AddOffset(circle::Operator::VT_BUILTIN_OPTIONS, builtin);
    builder.AddOffset(circle::Operator::VT_CUSTOM_OPTIONS, custom);
    builder.AddElement<int8_t>(circle::Operator::VT_CUSTOM_OPTIONS_FORMAT, op.customOptionsFormat, 0);
    builder.AddOffset(circle::Operator::VT_MUTATING_VARIABLE_INPUTS, mutating);
    builder.AddOffset(circle::Operator::VT_INTERMEDIATES, intermediates);
    builder.AddElement<uint8_t>(circle::Operator::VT_BUILTIN_OPTIONS_2_TYPE, op.options2().member, 0);
    builder.AddOffset(circle::Operator::VT_BUILTIN_OPTIONS_2, builtin2);
    builder.AddElement<int32_t>(circle::Operator::VT_DEBUG_METADATA_INDEX, op.debugMetadata, -1);
    if (!payload.empty() && op.largeCustomOptions)
      refer(Reference::ByOffset, payload, circle::Operator::VT_LARGE_CUSTOM_OPTIONS_OFFSET,
            circle::Operator::VT_LARGE_CUSTOM_OPTIONS_SIZE);
    else if (!payload.empty() && !copied)
      refer(Reference::Inline, payload, circle::Operator::VT_CUSTOM_OPTIONS);
    return builder.EndTable(start);
  }

  // Subgraphs and signatures.

  /// Names and options are read from the input once more.
  void restNowAndThen(size_t done) const {
    if (done % 1024 == 0) {
      model.restFiles();
      tables.rest();
    }
  }

  llvm::Expected<Offset<void>> buildSubgraphs() {
    collectOpcodes();
    Offsets<circle::SubGraph> offsets;
    for (auto &graph : model.subgraphs) {
      Offsets<circle::Tensor> tensors;
      tensors.reserve(graph->values.size());
      Offsets<circle::Operator> operators;
      for (const Value *value : graph->values) {
        if (tensors.push_back(buildTensor(*value)); tooLarge())
          break;
        restNowAndThen(tensors.size());
      }
      for (const Operator &op : graph->operators) {
        if (operators.push_back(buildOperator(op)); tooLarge())
          break;
        restNowAndThen(operators.size());
      }
      if (tooLarge())
        return makeError("the tables alone would pass the 2 GB that a flatbuffer can hold");
      Offset<void> tensorVector = tableVector(tensors), operatorVector = tableVector(operators);
      Offset<void> inputs = indices(graph->inputs), outputs = indices(graph->outputs);
      Offset<flatbuffers::String> name = string(graph->name);

      uoffset_t start = builder.StartTable();
      builder.AddOffset(circle::SubGraph::VT_TENSORS, tensorVector);
      builder.AddOffset(circle::SubGraph::VT_INPUTS, inputs);
      builder.AddOffset(circle::SubGraph::VT_OUTPUTS, outputs);
      builder.AddOffset(circle::SubGraph::VT_OPERATORS, operatorVector);
      builder.AddOffset(circle::SubGraph::VT_NAME, name);
      builder.AddElement<int32_t>(tflite
                                      ? static_cast<flatbuffers::voffset_t>(tflite::SubGraph::VT_DEBUG_METADATA_INDEX)
                                      : static_cast<flatbuffers::voffset_t>(circle::SubGraph::VT_DEBUG_METADATA_INDEX),
                                  graph->debugMetadata, -1);
      if (graph->channelsFirst)
        builder.AddElement<int8_t>(deprecatedDataFormat, static_cast<int8_t>(circle::DataFormat::CHANNELS_FIRST), 0);
      offsets.push_back(builder.EndTable(start));
    }
    return tableVector(offsets);
  }

  Offset<void> buildTensorMap(const std::vector<Signature::Entry> &entries) {
    Offsets<circle::TensorMap> offsets;
    for (const Signature::Entry &entry : entries) {
      Offset<flatbuffers::String> name = string(entry.name);
      offsets.push_back(circle::CreateTensorMap(builder, name, entry.value ? entry.value->index : entry.rawTensor));
    }
    return tableVector(offsets);
  }

  Offset<void> buildSignatures() {
    Offsets<circle::SignatureDef> offsets;
    for (const Signature &signature : model.signatures) {
      Offset<void> inputs = buildTensorMap(signature.inputs), outputs = buildTensorMap(signature.outputs);
      Offset<flatbuffers::String> name = string(signature.key), tag;
      if (!signature.deprecatedTag.empty())
        tag = string(signature.deprecatedTag);
      uoffset_t start = builder.StartTable();
      builder.AddOffset(deprecatedSignatureTag, tag);
      builder.AddOffset(circle::SignatureDef::VT_INPUTS, inputs);
      builder.AddOffset(circle::SignatureDef::VT_OUTPUTS, outputs);
      builder.AddOffset(circle::SignatureDef::VT_SIGNATURE_KEY, name);
      builder.AddElement<uint32_t>(circle::SignatureDef::VT_SUBGRAPH_INDEX,
                                   signature.subgraph ? signature.subgraph->index : signature.rawSubgraph, 0);
      offsets.push_back(builder.EndTable(start));
    }
    return offsets.empty() ? Offset<void>() : tableVector(offsets);
  }
};

/// `min_runtime_version` is the one entry that follows from the operators.
void raiseRuntimeVersion(const Model &model, Tables &tables) {
  for (const MetadataEntry &entry : model.metadata) {
    if (entry.name != "min_runtime_version" || !entry.buffer)
      continue;
    if (std::optional<std::string> raised = raisedRuntimeVersion(model, entry.buffer->payload.bytes()))
      tables.replaced[entry.buffer] = Payload::owned(std::move(*raised));
  }
}

} // namespace

llvm::Expected<std::unique_ptr<Tables>> buildTables(const Model &model, const TableOptions &options) {
  auto tables = std::make_unique<Tables>();
  if (options.format == Format::Tflite && model.rewrites > 0)
    raiseRuntimeVersion(model, *tables);
  if (llvm::Error error = TableBuilder(model, options, *tables).build())
    return error;
  return tables;
}

void withView(const Model &model, const Tables &tables, llvm::function_ref<void(const origin::ModelView &)> use) {
  llvm::DenseMap<uint64_t, uint64_t> external;
  for (const ExternalBuffer &buffer : model.externalBuffers)
    external.try_emplace(buffer.id, buffer.length);
  constexpr uint64_t end = 4096;
  uint8_t ends[2][end];
  size_t looks = 0;
  auto payload = [&](const flatbuffers::Table &tensor, uint32_t index) -> origin::ModelView::Bytes {
    if (tables.tflite)
      if (auto id = tensor.GetField<uint32_t>(tflite::Tensor::VT_EXTERNAL_BUFFER, 0))
        return {nullptr, external.lookup(id)};
    const Buffer *buffer = index < tables.buffers.size() ? tables.buffers[index] : nullptr;
    if (!buffer)
      return {nullptr, 0};
    if (++looks % 1024 == 0) {
      model.restFiles();
      tables.rest();
    }
    const Payload &bytes = tables.payload(*buffer);
    if (bytes.cost() == 0)
      return {bytes.bytes().data(), bytes.size()};
    uint64_t size = std::min(bytes.size(), end);
    bytes.read(0, {ends[0], size});
    bytes.read(bytes.size() - size, {ends[1], size});
    return {ends[0], bytes.size(), ends[1]};
  };
  // Before and after the layout alike: it patches offsets, but what they lead to is in no memory.
  const uint8_t *begin = tables.builder.GetBufferPointer();
  llvm::DenseMap<uint64_t, const Payload *> outside;
  auto unplaced = [&](const uint8_t *offset) -> origin::ModelView::Bytes {
    uint32_t at = offset - begin;
    if (uint64_t(at) + flatbuffers::ReadScalar<uoffset_t>(offset) < tables.builder.GetSize())
      return {nullptr, 0};
    if (outside.empty())
      for (const Reference &reference : tables.references)
        if (reference.isInline())
          outside[reference.at] = reference.payload;
    const Payload &bytes = *outside.lookup(at);
    return {bytes.bytes().data(), bytes.size()};
  };
  use(origin::ModelView{tables.model(), tables.tflite, payload, unplaced});
}

} // namespace origo
