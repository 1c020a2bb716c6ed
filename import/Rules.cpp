#include "import/Source.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

namespace origo {

using flatbuffers::Table;
using llvm::Error;
using llvm::Twine;

namespace {

/// Subgraphs that call each other deeper than this are refused, for reading and running them recurses.
constexpr unsigned maxCallDepth = 64;
constexpr unsigned maxRank = 32;
/// What a graph may take. An operator of one operand and its result take about 600 bytes, and 64 in the tightest file
/// that shares no table between two of them.
constexpr uint64_t graphBytesAlways = 32 << 20, graphBytesPerFileByte = 10;

Error outOfRange(Place place, const Twine &what, int64_t index, size_t count) {
  return makeError(std::move(place), what + " " + Twine(index) + " is out of range: there are " + Twine(count));
}

/// Number of elements, unknown dimensions counted as one; nothing if the bytes for them cannot be counted in 63 bits.
std::optional<uint64_t> elementCount(const flatbuffers::Vector<int32_t> &shape) {
  if (llvm::is_contained(shape, 0))
    return 0;
  uint64_t count = 1;
  for (int32_t dimension : shape)
    if (dimension > 0 && (__builtin_mul_overflow(count, static_cast<uint64_t>(dimension), &count) || count >> 58))
      return std::nullopt;
  return count;
}

/// Bytes that the graph of the file will take, counted before anything is built. Objects of the graph are larger than
/// their smallest forms in a file, where one table may even stand for thousands of tensors.
uint64_t graphBytes(const circle::Model &model) {
  constexpr uint64_t provenance = 24, opName = 32;
  uint64_t bytes = 0;
  auto vector = [&](const auto *items, uint64_t size) { bytes += length(items) * size; };
  vector(model.buffers(), sizeof(Buffer) + sizeof(void *));
  vector(model.operator_codes(), sizeof(Model::OpcodeRow));
  vector(model.metadata(), sizeof(MetadataEntry));
  vector(model.metadata_buffer(), sizeof(void *));
  if (model.signature_defs())
    for (const circle::SignatureDef *signature : *model.signature_defs()) {
      bytes += sizeof(Signature);
      vector(signature->inputs(), sizeof(Signature::Entry) + opName);
      vector(signature->outputs(), sizeof(Signature::Entry) + opName);
    }
  if (!model.subgraphs())
    return bytes;
  for (const circle::SubGraph *graph : *model.subgraphs()) {
    bytes += sizeof(Subgraph) + 64;
    vector(graph->inputs(), 2 * sizeof(void *));
    vector(graph->outputs(), 2 * sizeof(void *));
    vector(graph->tensors(), sizeof(Value) + sizeof(void *) + provenance);
    vector(graph->operators(), sizeof(Operator) + provenance);
    if (graph->tensors())
      for (const circle::Tensor *tensor : *graph->tensors()) {
        if (length(tensor->shape()) > 4)
          vector(tensor->shape(), sizeof(int32_t));
        if (stringRef(tensor->name()).size() > opName)
          bytes += tensor->name()->size();
        vector(tensor->variant_tensors(), sizeof(VariantType));
        if (auto *quantization = tensor->quantization()) {
          bytes += sizeof(Quantization);
          vector(quantization->zero_point(), sizeof(int64_t));
        }
      }
    if (graph->operators())
      for (const circle::Operator *op : *graph->operators()) {
        vector(op->inputs(), sizeof(Use));
        vector(op->outputs(), sizeof(void *));
        vector(op->intermediates(), sizeof(void *));
      }
  }
  return bytes;
}

class Rules {
public:
  explicit Rules(const Source &source) : source(source), model(*source.model) {}
  Error run();

private:
  const Source &source;
  const circle::Model &model;
  /// The subgraphs that each subgraph calls.
  std::vector<llvm::SmallVector<uint32_t, 1>> callees;

  unsigned tolerated = 0;

  size_t bufferCount() const { return length(model.buffers()); }
  size_t subgraphCount() const { return length(model.subgraphs()); }
  bool bufferExists(uint32_t index) const {
    // Where payloads do not matter, the whole list may have been cut off.
    return index < bufferCount() || index == 0 || (!source.payloads && bufferCount() <= 1);
  }

  Error buffers();
  Error metadata();
  Error externals();
  Error signatures();
  Error subgraph(unsigned index);
  Error tensor(const circle::SubGraph &graph, const circle::Tensor &tensor, const Place &place);
  Error quantization(const circle::SubGraph &graph, const circle::Tensor &tensor, const Place &place);
  Error tolerable(Error error, const Place &place);
  Error sparsity(const circle::SparsityParameters &sparsity, const Place &place);
  Error payload(const circle::Tensor &tensor, const Place &place);
  Error operators(const circle::SubGraph &graph, unsigned index);
  Error options(const circle::Operator &op, const OperatorInfo *row, const Place &place);
  Error calls(const OperatorInfo &row, const Table &table, const Place &place);
  Error recursion();
};

Error Rules::buffers() {
  if (!source.payloads)
    return Error::success();
  for (size_t i = 0; i < bufferCount(); ++i) {
    const circle::Buffer &buffer = *model.buffers()->Get(i);
    if (buffer.offset() > 1 && !source.inFile(buffer.offset(), buffer.size()))
      return makeError("buffer " + Twine(i) + ": its " + Twine(buffer.size()) + " bytes at byte " +
                       Twine(buffer.offset()) + " do not lie in the file of " + Twine(source.bytes().size()));
  }
  return Error::success();
}

Error Rules::metadata() {
  if (model.metadata())
    for (const circle::Metadata *entry : *model.metadata())
      if (!bufferExists(entry->buffer()))
        return outOfRange({}, "metadata \"" + printable(stringRef(entry->name())) + "\": buffer", entry->buffer(),
                          bufferCount());
  if (model.metadata_buffer())
    for (int32_t buffer : *model.metadata_buffer())
      if (buffer < 0 || !bufferExists(buffer))
        return outOfRange({}, "metadata_buffer:", buffer, bufferCount());
  return Error::success();
}

Error Rules::externals() {
  const TableVector *buffers = externalBuffers(source);
  if (length(buffers) != source.externalBuffers.size())
    return makeError("two external buffers have the same id");
  size_t groups = length(externalGroups(source));
  for (size_t i = 0; i < length(buffers); ++i)
    if (auto group = buffers->Get(i)->GetField<uint32_t>(slot::externalGroup, 0); group >= groups)
      return outOfRange({}, "external buffer " + Twine(i) + ": group", group, groups);
  return Error::success();
}

Error Rules::signatures() {
  if (!model.signature_defs())
    return Error::success();
  for (const circle::SignatureDef *signature : *model.signature_defs()) {
    std::string key = "signature \"" + printable(stringRef(signature->signature_key())) + "\": ";
    if (signature->subgraph_index() >= subgraphCount())
      return outOfRange({}, key + "subgraph", signature->subgraph_index(), subgraphCount());
    size_t tensors = length(model.subgraphs()->Get(signature->subgraph_index())->tensors());
    for (auto *entries : {signature->inputs(), signature->outputs()})
      if (entries)
        for (const circle::TensorMap *entry : *entries)
          if (entry->tensor_index() >= tensors)
            return outOfRange({}, key + "tensor", entry->tensor_index(), tensors);
  }
  return Error::success();
}

Error Rules::quantization(const circle::SubGraph &graph, const circle::Tensor &tensor, const Place &place) {
  const circle::QuantizationParameters *q = tensor.quantization();
  if (!q)
    return Error::success();
  size_t scales = length(q->scale()), zeroPoints = length(q->zero_point()), rank = length(tensor.shape());
  if (q->scale())
    for (float scale : *q->scale())
      if (!std::isfinite(scale) || scale < 0)
        return makeError(place, "its quantisation scale is negative, infinite or not a number");
  if (zeroPoints > 1 && zeroPoints != scales)
    return makeError(place,
                     "it has " + Twine(zeroPoints) + " zero points for " + Twine(scales) + " quantisation scales");
  if (scales > 1) {
    int64_t axis = q->quantized_dimension();
    if (axis < 0 || axis >= static_cast<int64_t>(rank))
      return makeError(place, "its quantised dimension " + Twine(axis) + " is not one of its " + Twine(rank));
    if (auto size = static_cast<uint32_t>(tensor.shape()->Get(axis)); size != scales)
      return makeError(place, "it has " + Twine(scales) + " quantisation scales for " + Twine(size) + " channels");
  }
  int member = static_cast<int>(q->details_type());
  if (member > (q->details() ? 3 : 255))
    return makeError(place, "its quantisation details are of the unknown kind " + Twine(member));
  return Error::success();
}

Error Rules::sparsity(const circle::SparsityParameters &sparsity, const Place &place) {
  if (sparsity.dim_metadata())
    for (const circle::DimensionMetadata *dimension : *sparsity.dim_metadata())
      for (auto [kind, table] : {std::pair(dimension->array_segments_type(), dimension->array_segments()),
                                 std::pair(dimension->array_indices_type(), dimension->array_indices())})
        if (table && kind > circle::SparseIndexVector::MAX)
          return makeError(place, "its sparse indices are of the unknown kind " + Twine(static_cast<int>(kind)));
  return Error::success();
}

/// The bytes of a constant must be there. More than needed happens, and does no harm.
Error Rules::payload(const circle::Tensor &tensor, const Place &place) {
  llvm::ArrayRef<uint8_t> bytes = source.payload(tensor.buffer());
  if (bytes.empty() || tensor.sparsity() || source.compression(tensor) || !tensor.shape())
    return Error::success();
  if (llvm::is_contained(*tensor.shape(), -1))
    return makeError(place, "it is a constant with an unknown dimension");
  std::optional<TensorType> type = source.tensorType(static_cast<int8_t>(tensor.type()));
  std::optional<uint64_t> needed = payloadBytes(*type, *elementCount(*tensor.shape()));
  if (needed && *needed > bytes.size())
    return makeError(place, "its shape and type need " + Twine(*needed) + " bytes, but its buffer " +
                                Twine(tensor.buffer()) + " has only " + Twine(bytes.size()));
  return Error::success();
}

Error Rules::tensor(const circle::SubGraph &graph, const circle::Tensor &tensor, const Place &place) {
  if (!source.tensorType(static_cast<int8_t>(tensor.type())))
    return makeError(place, "its type " + Twine(static_cast<int>(tensor.type())) + " is not known");
  if (!bufferExists(tensor.buffer()))
    return outOfRange(place, "its buffer", tensor.buffer(), bufferCount());
  if (uint32_t id = source.externalBuffer(tensor); id && !source.externalBuffers.contains(id))
    return makeError(place, "its external buffer " + Twine(id) + " does not exist");
  if (tensor.shape()) {
    if (tensor.shape()->size() > maxRank)
      return makeError(place, "it has " + Twine(tensor.shape()->size()) + " dimensions; at most " + Twine(maxRank) +
                                  " are supported");
    for (int32_t dimension : *tensor.shape())
      if (dimension < -1) // −1 is how some writers say "unknown", beside the shape signature that is meant for it
        return makeError(place, "its shape has the negative dimension " + Twine(dimension));
    if (!elementCount(*tensor.shape()))
      return makeError(place, "its shape has more elements than can be counted");
  }
  if (auto *signature = tensor.shape_signature(); length(signature)) {
    if (signature->size() != length(tensor.shape()))
      return makeError(place, "its shape signature has " + Twine(signature->size()) + " dimensions, its shape " +
                                  Twine(length(tensor.shape())));
    for (int32_t dimension : *signature)
      if (dimension < -1)
        return makeError(place, "its shape signature has the dimension " + Twine(dimension));
  }
  if (tensor.variant_tensors())
    for (const circle::VariantSubType *variant : *tensor.variant_tensors())
      if (!source.tensorType(static_cast<int8_t>(variant->type())))
        return makeError(place, "its variant's type " + Twine(static_cast<int>(variant->type())) + " is not known");
  if (tensor.sparsity())
    if (Error error = sparsity(*tensor.sparsity(), place))
      return error;
  return tolerable(quantization(graph, tensor, place), place);
}

/// An error, or a note where that is asked for.
Error Rules::tolerable(Error error, const Place &place) {
  bool hasPlace = place.tensor >= 0; // else this is asked again with one
  if (!error || !source.tolerated || !hasPlace)
    return error;
  constexpr unsigned most = 8;
  std::string text = llvm::toString(std::move(error));
  if (++tolerated <= most)
    source.tolerated->push_back(std::move(text));
  return Error::success();
}

Error Rules::calls(const OperatorInfo &row, const Table &table, const Place &place) {
  auto call = [&](int64_t index) -> Error {
    if (index < 0 || index >= static_cast<int64_t>(subgraphCount()))
      return outOfRange(place, "its subgraph", index, subgraphCount());
    auto &called = callees[place.subgraph];
    if (called.empty() || called.back() != index)
      called.push_back(index);
    return Error::success();
  };
  for (llvm::StringRef name : row.subgraphFields) {
    const wire::Field *field = row.optionsType()->find(name);
    if (field->type != wire::Type::Vector) {
      if (Error error = call(wire::integer(table, *field)))
        return error;
    } else if (auto *items = table.GetPointer<const flatbuffers::Vector<int32_t> *>(field->vtableOffset())) {
      for (int32_t index : *items)
        if (Error error = call(index))
          return error;
    }
  }
  return Error::success();
}

/// Options are read as what the operator's row says, so a table of another type must not get in.
Error Rules::options(const circle::Operator &op, const OperatorInfo *row, const Place &place) {
  auto *table = static_cast<const Table *>(op.builtin_options());
  auto *table2 = static_cast<const Table *>(op.builtin_options_2());
  const wire::Schema &schema = source.tflite ? wire::Schema::tflite() : wire::Schema::circle();
  auto check = [&](const Table *options, int member, llvm::StringRef unionName, int expected) -> Error {
    if (!options)
      return Error::success();
    const wire::EnumValue *known = schema.enumeration(unionName)->find(member);
    if (!known)
      return makeError(place, "its options are of the unknown kind " + Twine(member));
    if (!known->table) // nobody has verified it
      return makeError(place, "it has options of the kind NONE");
    if (row && member != expected)
      return makeError(place, "its options are " + known->name + ", which belong to another operator");
    return Error::success();
  };
  if (Error error = check(table, static_cast<int>(op.builtin_options_type()), "BuiltinOptions",
                          row ? static_cast<int>(row->options) : 0))
    return error;
  if (Error error = check(table2, static_cast<int>(op.builtin_options_2_type()), "BuiltinOptions2",
                          row ? static_cast<int>(row->options2) : 0))
    return error;
  if (row && !row->subgraphFields.empty() && (table || table2))
    return calls(*row, table ? *table : *table2, place);
  return Error::success();
}

Error Rules::operators(const circle::SubGraph &graph, unsigned index) {
  size_t tensors = length(graph.tensors()), codes = length(model.operator_codes());
  std::vector<int32_t> producers(tensors, -1);
  auto named = [&](Place place, int32_t tensor) {
    place.tensor = tensor;
    place.name = stringRef(graph.tensors()->Get(tensor)->name()).str();
    return place;
  };
  std::vector<bool> inputs(tensors);
  for (auto *interface : {graph.inputs(), graph.outputs()})
    if (interface)
      for (int32_t tensor : *interface) {
        if (tensor < 0 || tensor >= static_cast<int64_t>(tensors))
          return outOfRange({.subgraph = static_cast<int>(index)},
                            interface == graph.inputs() ? "its input" : "its output", tensor, tensors);
        if (interface == graph.inputs())
          inputs[tensor] = true;
      }

  auto placeOf = [&](size_t i) {
    Place place{.subgraph = static_cast<int>(index), .op = static_cast<int>(i)};
    if (uint32_t code = graph.operators()->Get(i)->opcode_index(); code < codes) {
      BuiltinOperator resolved = resolvedCode(*model.operator_codes()->Get(code));
      const OperatorInfo *row = operatorInfo(resolved);
      place.opName = row ? row->name.str() : std::to_string(static_cast<int32_t>(resolved));
    }
    return place;
  };
  for (size_t i = 0; i < length(graph.operators()); ++i) {
    const circle::Operator &op = *graph.operators()->Get(i);
    if (op.opcode_index() >= codes)
      return outOfRange(placeOf(i), "its operator code", op.opcode_index(), codes);
    const OperatorInfo *row = operatorInfo(resolvedCode(*model.operator_codes()->Get(op.opcode_index())));
    for (auto [list, what] : {std::pair(op.inputs(), "operand"), std::pair(op.outputs(), "result"),
                              std::pair(op.intermediates(), "intermediate")})
      if (list)
        for (int32_t tensor : *list)
          if (tensor < -1 || tensor >= static_cast<int64_t>(tensors))
            return outOfRange(placeOf(i), Twine("its ") + what, tensor, tensors);
    if (row && !row->accepts(length(op.inputs())))
      return makeError(placeOf(i), "it cannot have " + Twine(length(op.inputs())) + " operands");
    if (row && !row->acceptsResults(length(op.outputs())))
      return makeError(placeOf(i), "it cannot have " + Twine(length(op.outputs())) + " results");
    if (op.outputs())
      for (int32_t tensor : *op.outputs()) {
        if (tensor < 0)
          continue;
        if (producers[tensor] >= 0)
          return makeError(named(placeOf(i), tensor),
                           "operator " + Twine(producers[tensor]) + " has the same result already");
        if (inputs[tensor])
          return makeError(named(placeOf(i), tensor), "its result is an input of the subgraph");
        if (source.payloads && !source.payload(graph.tensors()->Get(tensor)->buffer()).empty())
          return makeError(named(placeOf(i), tensor), "its result is a constant");
        producers[tensor] = i;
      }
    if (source.payloads && op.large_custom_options_offset() > 1 &&
        !source.inFile(op.large_custom_options_offset(), op.large_custom_options_size()))
      return makeError(placeOf(i), "its custom options do not lie in the file");
    if (op.builtin_options() || op.builtin_options_2())
      if (Error error = options(op, row, placeOf(i)))
        return error;
  }

  // Execution order is file order, so that a cycle shows as an operand that is computed later.
  for (size_t i = 0; i < length(graph.operators()); ++i)
    if (auto *operands = graph.operators()->Get(i)->inputs())
      for (int32_t tensor : *operands)
        if (tensor >= 0 && producers[tensor] >= static_cast<int32_t>(i))
          return makeError(named(placeOf(i), tensor), "its operand is computed only by operator " +
                                                          Twine(producers[tensor]) +
                                                          ": the operators form a cycle or are not in execution order");

  for (size_t i = 0; i < tensors; ++i)
    if (source.payloads && producers[i] < 0 && !inputs[i]) {
      const circle::Tensor &tensor = *graph.tensors()->Get(i);
      if (Error error = payload(tensor, named({.subgraph = static_cast<int>(index)}, i)))
        return error;
    }
  return Error::success();
}

Error Rules::subgraph(unsigned index) {
  const circle::SubGraph &graph = *model.subgraphs()->Get(index);
  for (size_t i = 0; i < length(graph.tensors()); ++i) {
    const circle::Tensor &t = *graph.tensors()->Get(i);
    // The place is needed for an error only; making a million of them would take longer than the checks.
    if (Error error = tensor(graph, t, {})) {
      llvm::consumeError(std::move(error));
      if (Error placed = tensor(
              graph, t,
              {.subgraph = static_cast<int>(index), .tensor = static_cast<int>(i), .name = stringRef(t.name()).str()}))
        return placed;
    }
  }
  return operators(graph, index);
}

/// Takes away subgraphs that call none of the others that are left; what cannot be taken away calls itself.
Error Rules::recursion() {
  std::vector<llvm::SmallVector<uint32_t, 1>> callers(callees.size());
  std::vector<size_t> open(callees.size());
  std::vector<unsigned> depth(callees.size());
  for (auto [caller, called] : llvm::enumerate(callees)) {
    open[caller] = called.size();
    for (uint32_t callee : called)
      callers[callee].push_back(caller);
  }
  std::vector<uint32_t> work;
  for (size_t i = 0; i < open.size(); ++i)
    if (!open[i])
      work.push_back(i);
  size_t done = 0;
  while (!work.empty()) {
    uint32_t callee = work.back();
    work.pop_back();
    ++done;
    for (uint32_t caller : callers[callee]) {
      depth[caller] = std::max(depth[caller], depth[callee] + 1);
      if (depth[caller] > maxCallDepth)
        return makeError({.subgraph = static_cast<int>(caller)},
                         "subgraphs call each other more than " + Twine(maxCallDepth) + " deep");
      if (--open[caller] == 0)
        work.push_back(caller);
    }
  }
  if (done == callees.size())
    return Error::success();
  int first = llvm::find_if(open, [](size_t n) { return n != 0; }) - open.begin();
  return makeError({.subgraph = first}, "it calls itself, directly or through others");
}

Error Rules::run() {
  uint64_t needed = graphBytes(model), allowed = graphBytesAlways + graphBytesPerFileByte * source.bytes().size();
  if (needed > allowed)
    return makeError("is made to exhaust its reader: the graph would take " + Twine(needed >> 20) +
                     " MiB, which a file of " + Twine(source.bytes().size()) + " bytes cannot fill");
  if (!subgraphCount())
    return makeError("has no subgraph");
  callees.resize(subgraphCount());
  for (auto check : {&Rules::buffers, &Rules::metadata, &Rules::externals})
    if (Error error = (this->*check)())
      return error;
  for (size_t i = 0; i < subgraphCount(); ++i)
    if (Error error = subgraph(i))
      return error;
  if (Error error = recursion())
    return error;
  return signatures();
}

} // namespace

Error checkRules(const Source &source) { return Rules(source).run(); }

} // namespace origo
