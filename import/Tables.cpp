#include "import/Source.h"

#include "llvm/ADT/STLExtras.h"

namespace origo {

using flatbuffers::Table;

namespace {

class Builder {
public:
  Builder(const Source &source, Model &model) : source(source), file(*source.model), model(model) {}
  void run();

private:
  const Source &source;
  const circle::Model &file;
  Model &model;

  llvm::StringRef text(const flatbuffers::String *string) const { return stringRef(string); }
  /// The elements where they lie, or a copy where they are not aligned: the flatbuffer verifier lets a vector of
  /// 8-byte elements begin at any multiple of 4.
  template <class T> llvm::ArrayRef<T> array(const flatbuffers::Vector<T> *vector) {
    if (!length(vector))
      return {};
    if (reinterpret_cast<uintptr_t>(vector->Data()) % alignof(T) == 0)
      return {reinterpret_cast<const T *>(vector->Data()), vector->size()};
    std::vector<T> items(vector->size());
    std::memcpy(items.data(), vector->Data(), items.size() * sizeof(T));
    return model.copy(llvm::ArrayRef<T>(items));
  }
  Buffer *buffer(uint32_t index) {
    if (index == 0 && (model.buffers.empty() || model.buffers[0]->payload.empty()))
      return nullptr;
    if (index < model.buffers.size())
      return model.buffers[index];
    if (!missing) // only where payloads do not matter
      missing = &model.addBuffer({});
    return missing;
  }
  llvm::SmallVector<Value *> values(const Subgraph &graph, const flatbuffers::Vector<int32_t> *indices) const {
    llvm::SmallVector<Value *> result;
    if (indices)
      for (int32_t index : *indices)
        result.push_back(index < 0 ? nullptr : graph.values[index]);
    return result;
  }

  Buffer *missing = nullptr;

  void buffers();
  void externals();
  void tensor(const circle::Tensor &tensor, Value &value);
  void quantization(const circle::QuantizationParameters &wire, Value &value);
  Options options(uint8_t member, const void *table, const wire::Enumeration &members);
  void operators(const circle::SubGraph &wire, Subgraph &graph);
  void subgraph(const circle::SubGraph &wire, Subgraph &graph);
  void signature(const circle::SignatureDef &wire);
};

void Builder::buffers() {
  if (!file.buffers())
    return;
  for (const circle::Buffer *wire : *file.buffers()) {
    llvm::ArrayRef<uint8_t> bytes = source.payload(*wire);
    Buffer &buffer = model.addBuffer(source.slice(bytes.data(), bytes.size()));
    buffer.sourceIndex = model.buffers.size() - 1;
  }
}

void Builder::externals() {
  if (const TableVector *groups = externalGroups(source))
    for (const Table *group : *groups)
      model.externalGroups.push_back(text(group->GetPointer<const flatbuffers::String *>(slot::groupName)));
  if (const TableVector *buffers = externalBuffers(source))
    for (const Table *buffer : *buffers)
      model.externalBuffers.push_back(
          {.id = buffer->GetField<uint32_t>(slot::externalId, 0),
           .group = buffer->GetField<uint32_t>(slot::externalGroup, 0),
           .offset = buffer->GetField<uint64_t>(slot::externalOffset, 0),
           .length = buffer->GetField<uint64_t>(slot::externalLength, 0),
           .packing = text(buffer->GetPointer<const flatbuffers::String *>(slot::externalPacking))});
}

void Builder::tensor(const circle::Tensor &tensor, Value &value) {
  value.type = *source.tensorType(static_cast<int8_t>(tensor.type()));
  value.hasShape = tensor.shape() != nullptr;
  value.hasRank = tensor.has_rank();
  value.isVariable = tensor.is_variable();
  value.compression = source.compression(tensor);
  value.externalBuffer = source.externalBuffer(tensor);
  value.shape.view(array(tensor.shape()));
  value.setShapeSignature(array(tensor.shape_signature()));
  value.name.view(text(tensor.name()));
  value.buffer = buffer(tensor.buffer());
  value.setSparsity(tensor.sparsity());
  if (!length(tensor.variant_tensors()))
    return;
  llvm::SmallVector<VariantType> variants;
  for (const circle::VariantSubType *variant : *tensor.variant_tensors())
    variants.push_back(
        {array(variant->shape()), *source.tensorType(static_cast<int8_t>(variant->type())), variant->has_rank()});
  value.setVariants(model.copy(llvm::ArrayRef<VariantType>(variants)));
}

void Builder::quantization(const circle::QuantizationParameters &wire, Value &value) {
  using Details = Quantization::Details;
  Quantization q;
  q.min = array(wire.min());
  q.max = array(wire.max());
  q.scale = array(wire.scale());
  q.zeroPoint = array(wire.zero_point());
  q.dimension = wire.quantized_dimension();
  auto *details = static_cast<const Table *>(wire.details());
  q.details = details ? source.details(wire) : Details::None;
  if (q.details == Details::Custom)
    q.more.make().custom = array(reinterpret_cast<const circle::CustomQuantization *>(details)->custom());
  if (q.details == Details::MX)
    q.more.make().axis = reinterpret_cast<const circle::MXQuantization *>(details)->axis();
  if (q.details == Details::Blockwise || q.details == Details::MultiAxis) {
    auto parameter = [&](int32_t index) {
      auto &values = value.subgraph()->values;
      return index >= 0 && index < static_cast<int64_t>(values.size()) ? values[index] : nullptr;
    };
    Quantization::More &more = q.more.make();
    more.rawScales = details->GetField<int32_t>(slot::detailScales, 0);
    more.rawZeroPoints = details->GetField<int32_t>(slot::detailZeroPoints, 0);
    more.scales = parameter(more.rawScales);
    more.zeroPoints = parameter(more.rawZeroPoints);
    more.blockSize = details->GetField<int32_t>(slot::detailBlockSize, 0);
    if (q.details == Details::MultiAxis)
      more.dimensions = array(details->GetPointer<const flatbuffers::Vector<int32_t> *>(slot::detailDimensions));
  }
  model.setQuantization(value, q);
}

Options Builder::options(uint8_t member, const void *pointer, const wire::Enumeration &members) {
  auto *table = static_cast<const Table *>(pointer);
  if (!source.tflite || !table)
    return {member, table};
  // The one tensor type that has another number in circle may also stand in options.
  const wire::TableType *type = members.find(member)->table;
  llvm::SmallVector<wire::ScalarEdit, 2> edits;
  if (type && holdsTensorType(*type))
    for (const wire::Field &field : type->fields)
      if (field.enumeration && field.enumeration->name == "TensorType" &&
          wire::integer(*table, field) == static_cast<int64_t>(tflite::TensorType::UINT4))
        edits.push_back({.slot = field.slot, .integer = static_cast<int64_t>(TensorType::UINT4)});
  return {member, edits.empty() ? table : model.copyTable(*type, table, edits)};
}

void Builder::operators(const circle::SubGraph &wire, Subgraph &graph) {
  const wire::Schema &schema = wire::Schema::circle();
  const wire::Enumeration &members = *schema.enumeration("BuiltinOptions");
  const wire::Enumeration &members2 = *schema.enumeration("BuiltinOptions2");
  for (const circle::Operator *op : *wire.operators()) {
    const Model::OpcodeRow &opcode = model.opcodes[op->opcode_index()];
    Operator &built = model.addOperator(graph, opcode.code, values(graph, op->inputs()), values(graph, op->outputs()));
    built.version = opcode.version;
    if (!opcode.customCode.empty())
      built.setCustomCode(opcode.customCode);
    built.options = options(static_cast<uint8_t>(op->builtin_options_type()), op->builtin_options(), members);
    built.setOptions2(options(static_cast<uint8_t>(op->builtin_options_2_type()), op->builtin_options_2(), members2));
    built.customOptionsFormat = static_cast<int8_t>(op->custom_options_format());
    if (op->large_custom_options_offset() > 1) {
      built.largeCustomOptions = true;
      if (uint64_t offset = op->large_custom_options_offset(), size = op->large_custom_options_size();
          source.inFile(offset, size))
        built.setCustomOptions(source.slice(source.bytes().data() + offset, size));
    } else if (length(op->custom_options())) {
      built.setCustomOptions(source.slice(op->custom_options()->data(), op->custom_options()->size()));
    }
    built.debugMetadata = op->debug_metadata_index();
    if (length(op->mutating_variable_inputs()))
      built.setMutatingVariableInputs(
          llvm::ArrayRef<uint8_t>(op->mutating_variable_inputs()->data(), op->mutating_variable_inputs()->size()));
    if (length(op->intermediates()))
      model.setIntermediates(built, values(graph, op->intermediates()));
  }
}

void Builder::subgraph(const circle::SubGraph &wire, Subgraph &graph) {
  graph.name = text(wire.name());
  graph.debugMetadata = source.debugMetadata(wire);
  graph.channelsFirst = source.channelsFirst(wire);
  if (wire.tensors()) {
    graph.values.reserve(wire.tensors()->size());
    for (const circle::Tensor *item : *wire.tensors())
      tensor(*item, model.addValue(graph));
    // Details name other tensors, so all have to exist.
    for (auto [item, value] : llvm::zip_equal(*wire.tensors(), graph.values))
      if (item->quantization())
        quantization(*item->quantization(), *value);
  }
  model.setInputs(graph, values(graph, wire.inputs()));
  model.setOutputs(graph, values(graph, wire.outputs()));
  if (wire.operators())
    operators(wire, graph);
}

void Builder::signature(const circle::SignatureDef &wire) {
  Signature signature;
  signature.key = text(wire.signature_key());
  // The generated accessors leave deprecated fields out.
  constexpr flatbuffers::voffset_t tagField = circle::SignatureDef::VT_SIGNATURE_KEY + 2;
  signature.deprecatedTag =
      text(reinterpret_cast<const flatbuffers::Table &>(wire).GetPointer<const flatbuffers::String *>(tagField));
  signature.rawSubgraph = wire.subgraph_index();
  signature.subgraph = model.subgraphs[wire.subgraph_index()].get();
  auto entries = [&](const flatbuffers::Vector<flatbuffers::Offset<circle::TensorMap>> *maps,
                     std::vector<Signature::Entry> &entries) {
    if (maps)
      for (const circle::TensorMap *map : *maps)
        entries.push_back({text(map->name()), signature.subgraph->values[map->tensor_index()], map->tensor_index()});
  };
  entries(wire.inputs(), signature.inputs);
  entries(wire.outputs(), signature.outputs);
  model.addSignature(std::move(signature));
}

void Builder::run() {
  model.keep(source.file);
  model.format = source.tflite ? Format::Tflite : Format::Circle;
  model.version = file.version();
  if (file.description())
    model.description = text(file.description());
  buffers();
  externals();
  if (file.operator_codes())
    for (const circle::OperatorCode *code : *file.operator_codes())
      model.opcodes.push_back({resolvedCode(*code), code->version(), text(code->custom_code())});
  if (file.metadata())
    for (const circle::Metadata *entry : *file.metadata())
      model.metadata.push_back({text(entry->name()), buffer(entry->buffer())});
  if (file.metadata_buffer())
    for (int32_t index : *file.metadata_buffer())
      model.metadataBuffers.push_back(buffer(index));
  for (size_t i = 0; i < file.subgraphs()->size(); ++i)
    model.addSubgraph();
  for (auto [wire, graph] : llvm::zip_equal(*file.subgraphs(), model.subgraphs))
    subgraph(*wire, *graph);
  if (file.signature_defs())
    for (const circle::SignatureDef *item : *file.signature_defs())
      signature(*item);
  model.archive = findArchive(source);
  model.number();
}

} // namespace

std::unique_ptr<Model> buildModel(const Source &source) {
  auto model = std::make_unique<Model>();
  Builder(source, *model).run();
  return model;
}

} // namespace origo
