#include "origin/Files.h"
#include "schema/InputFile.h"
#include "schema/Macs.h"
#include "schema/OperatorTable.h"
#include "schema/Refusals.h"
#include "schema/TensorTypes.h"
#include "schema/circle_generated.h"
#include "schema/tflite_generated.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace origo;
using namespace origo::origin;
using flatbuffers::Table;
using llvm::ArrayRef;
using llvm::StringRef;
using llvm::Twine;

namespace {

// The tables and slots that are read here are the same in both formats, so circle's accessors do for tflite too. The
// exceptions (Tensor.external_buffer, Model.external_buffers) are read with tflite's own.
const circle::Model &tables(const ModelView &view) { return *reinterpret_cast<const circle::Model *>(view.model); }
const Table &raw(const circle::Tensor &tensor) { return reinterpret_cast<const Table &>(tensor); }

StringRef textOf(const flatbuffers::String *string) {
  return string ? StringRef(string->c_str(), string->size()) : StringRef();
}
std::string text(const flatbuffers::String *string) { return textOf(string).str(); }

/// A vector of the file as a range; an absent one is empty.
template <class T> ArrayRef<T> items(const flatbuffers::Vector<T> *vector) {
  return vector ? ArrayRef<T>(reinterpret_cast<const T *>(vector->Data()), vector->size()) : ArrayRef<T>();
}
template <class T> struct Tables {
  const flatbuffers::Vector<flatbuffers::Offset<T>> *vector;
  size_t size() const { return vector ? vector->size() : 0; }
  const T &operator[](size_t i) const { return *vector->Get(i); }
};
template <class T> Tables<T> items(const flatbuffers::Vector<flatbuffers::Offset<T>> *vector) { return {vector}; }

bool hasNoElements(const circle::Tensor &tensor) {
  ArrayRef<int32_t> shape = items(tensor.shape());
  auto isDynamic = [](int32_t dimension) { return dimension < 0; };
  return llvm::is_contained(shape, 0) && llvm::none_of(shape, isDynamic) &&
         llvm::none_of(items(tensor.shape_signature()), isDynamic);
}

std::vector<TensorKind> kinds(const ModelView &view, const circle::SubGraph &graph) {
  auto tensors = items(graph.tensors());
  std::vector<TensorKind> result(tensors.size(), TensorKind::Absent);
  auto mark = [&](ArrayRef<int32_t> indices, TensorKind kind) {
    for (int32_t index : indices)
      if (index >= 0 && size_t(index) < result.size())
        result[index] = kind;
  };
  auto operators = items(graph.operators());
  for (size_t i = 0; i < operators.size(); ++i) {
    mark(items(operators[i].outputs()), TensorKind::Activation);
    mark(items(operators[i].intermediates()), TensorKind::Activation);
  }
  mark(items(graph.inputs()), TensorKind::Input);
  for (size_t i = 0; i < tensors.size(); ++i) {
    const circle::Tensor &tensor = tensors[i];
    if (result[i] != TensorKind::Absent)
      continue;
    if (tensor.is_variable())
      result[i] = TensorKind::Variable;
    else if (view.payload(raw(tensor), tensor.buffer()).size || hasNoElements(tensor))
      result[i] = TensorKind::Constant;
  }
  return result;
}

/// Name and custom code of each operator code of the model.
std::vector<std::pair<Word, Word>> opNames(const ModelView &view) {
  const wire::Schema &schema = view.tflite ? wire::Schema::tflite() : wire::Schema::circle();
  const wire::Enumeration &names = *schema.enumeration("BuiltinOperator");
  std::vector<std::pair<Word, Word>> result;
  auto codes = items(tables(view).operator_codes());
  for (size_t i = 0; i < codes.size(); ++i) {
    int32_t code = resolveOpcode(codes[i].deprecated_builtin_code(), int32_t(codes[i].builtin_code()));
    const wire::EnumValue *value = names.find(code);
    bool isCustom = code == int32_t(circle::BuiltinOperator::CUSTOM);
    result.emplace_back(value ? value->name.str() : std::to_string(code),
                        isCustom ? text(codes[i].custom_code()) : std::string());
  }
  return result;
}

std::vector<SourceSignature::Entry> entries(Tables<circle::TensorMap> maps, const SourceSubgraph *graph) {
  std::vector<SourceSignature::Entry> result;
  for (size_t i = 0; i < maps.size(); ++i) {
    uint32_t index = maps[i].tensor_index();
    bool exists = graph && index < graph->tensors.size();
    result.push_back({text(maps[i].name()), exists ? int32_t(graph->firstTensor + index) : -1});
  }
  return result;
}

/// Counts down what a walk over everything below a table reads.
class Expansion {
public:
  Expansion(uint64_t limit, const flatbuffers::Verifier &verifier) : left(limit), verifier(verifier) {}

  bool table(const wire::TableType &type, const Table &table) {
    if (!take(8))
      return false;
    bool isBuffer = type.name == "Buffer"; // its bytes are never copied
    for (const wire::Field &field : type.fields) {
      if (field.deprecated && !wire::verifyDeprecated(verifier, table, field))
        return false;
      if (wire::isScalar(field.type) || isBuffer || !wire::isPresent(table, field))
        continue;
      const auto at = field.vtableOffset();
      if (field.type == wire::Type::String) {
        if (!take(table.GetPointer<const flatbuffers::String *>(at)->size()))
          return false;
      } else if (field.type == wire::Type::Vector) {
        if (!vector(field, *table.GetPointer<const flatbuffers::VectorOfAny *>(at)))
          return false;
      } else {
        const wire::TableType *member =
            field.type == wire::Type::Table ? field.table : wire::unionMember(type, table, field);
        if (member && !this->table(*member, *table.GetPointer<const Table *>(at)))
          return false;
      }
    }
    return true;
  }

private:
  uint64_t left;
  const flatbuffers::Verifier &verifier;

  bool take(uint64_t size) {
    bool fits = size <= left;
    left -= fits ? size : 0;
    return fits;
  }

  bool vector(const wire::Field &field, const flatbuffers::VectorOfAny &any) {
    if (!take(uint64_t(any.size()) * wire::size(field.element)))
      return false;
    if (field.element == wire::Type::String) {
      using Strings = flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>;
      for (const flatbuffers::String *string : reinterpret_cast<const Strings &>(any))
        if (!take(string->size()))
          return false;
    } else if (field.element == wire::Type::Table) {
      using Elements = flatbuffers::Vector<flatbuffers::Offset<Table>>;
      for (const Table *element : reinterpret_cast<const Elements &>(any))
        if (!table(*field.table, *element))
          return false;
    }
    return true;
  }
};

} // namespace

ModelView::Bytes ModelView::byteVector(const Table &table, flatbuffers::voffset_t field) const {
  const uint8_t *offset = table.GetAddressOf(field);
  if (!offset)
    return {nullptr, 0};
  if (unplaced)
    if (Bytes bytes = unplaced(offset); bytes.data)
      return bytes;
  auto *vector = table.GetPointer<const flatbuffers::Vector<uint8_t> *>(field);
  return {vector->data(), vector->size()};
}

void origin::forEachTensor(const ModelView &view,
                           llvm::function_ref<void(const flatbuffers::Table &, TensorKind)> visit) {
  auto graphs = items(tables(view).subgraphs());
  for (size_t i = 0; i < graphs.size(); ++i) {
    std::vector<TensorKind> kind = kinds(view, graphs[i]);
    for (size_t j = 0; j < kind.size(); ++j)
      visit(raw(*graphs[i].tensors()->Get(j)), kind[j]);
  }
}

static const circle::SubGraph &subgraphOf(const Table *model, size_t index) {
  return *reinterpret_cast<const circle::Model *>(model)->subgraphs()->Get(index);
}

FileRows::FileRows(const ModelView &view) : model(view.model), codes(opNames(view)) {
  uint32_t nextOperator = 0, nextTensor = 0;
  for (size_t i = 0, count = items(tables(view).subgraphs()).size(); i < count; ++i) {
    const circle::SubGraph &graph = subgraphOf(model, i);
    uint32_t operators = items(graph.operators()).size();
    graphs.push_back({nextOperator, nextTensor, operators, kinds(view, graph)});
    nextOperator += operators;
    nextTensor += graphs.back().kinds.size();
  }
}

StringRef FileRows::name(size_t subgraph) const { return textOf(subgraphOf(model, subgraph).name()); }

ArrayRef<int32_t> FileRows::outputs(size_t subgraph, uint32_t index) const {
  return items(subgraphOf(model, subgraph).operators()->Get(index)->outputs());
}

StringRef FileRows::tensorName(size_t subgraph, uint32_t index) const {
  return textOf(subgraphOf(model, subgraph).tensors()->Get(index)->name());
}

const FileRows::Code &FileRows::codeOf(size_t subgraph, uint32_t index) const {
  static const Code none;
  uint32_t code = subgraphOf(model, subgraph).operators()->Get(index)->opcode_index();
  return code < codes.size() ? codes[code] : none;
}

Listing origin::list(const ModelView &view) {
  Listing result;
  result.format = view.tflite ? "tflite" : "circle";
  FileRows rows(view);
  result.subgraphs.resize(rows.subgraphs());
  for (const auto &[g, graph] : llvm::enumerate(result.subgraphs)) {
    graph.name = rows.name(g);
    graph.firstOperator = rows.firstOperator(g);
    graph.firstTensor = rows.firstTensor(g);
    graph.tensors.resize(rows.tensorCount(g));
    for (const auto &[i, tensor] : llvm::enumerate(graph.tensors))
      tensor = {rows.tensorName(g, i).str(), rows.kind(g, i)};
    graph.operators.resize(rows.operatorCount(g));
    for (const auto &[i, op] : llvm::enumerate(graph.operators)) {
      op.op = rows.op(g, i);
      op.customCode = rows.customCode(g, i);
      op.tensors.resize(rows.outputs(g, i).size());
      for (auto [id, index] : llvm::zip_equal(op.tensors, rows.outputs(g, i))) {
        bool exists = index >= 0 && size_t(index) < graph.tensors.size();
        id = exists ? int32_t(graph.firstTensor + index) : -1;
      }
    }
  }

  auto signatures = items(tables(view).signature_defs());
  for (size_t i = 0; i < signatures.size(); ++i) {
    uint32_t index = signatures[i].subgraph_index();
    const SourceSubgraph *graph = index < result.subgraphs.size() ? &result.subgraphs[index] : nullptr;
    result.signatures.push_back({text(signatures[i].signature_key()), index,
                                 entries(items(signatures[i].inputs()), graph),
                                 entries(items(signatures[i].outputs()), graph)});
  }
  return result;
}

/// Negative dimensions are those that are not known. With neither a rank nor bytes an empty shape says nothing.
static std::vector<int64_t> shapeOf(const circle::Tensor &tensor, TensorKind kind) {
  ArrayRef<int32_t> shape = items(tensor.shape()), signature = items(tensor.shape_signature());
  if (shape.empty() && !tensor.has_rank() && kind != TensorKind::Constant)
    return {-1};
  std::vector<int64_t> result(shape.begin(), shape.end());
  for (size_t i = 0; i < std::min(shape.size(), signature.size()); ++i)
    if (signature[i] < 0)
      result[i] = -1;
  return result;
}

/// Of a constant those in the file; else what the shape and the type need, if they tell.
static uint64_t bytesOf(const ModelView &view, const circle::Tensor &tensor, TensorKind kind) {
  if (kind == TensorKind::Constant)
    return view.payload(raw(tensor), tensor.buffer()).size;
  uint64_t count = 1;
  for (int64_t dimension : shapeOf(tensor, kind))
    if (dimension < 0 || __builtin_mul_overflow(count, uint64_t(dimension), &count))
      return SourceCost::unknown;
  std::optional<circle::TensorType> type = tensor.type();
  if (view.tflite)
    type = fromTflite(tflite::TensorType(int8_t(tensor.type())));
  return type ? payloadBytes(*type, count).value_or(SourceCost::unknown) : SourceCost::unknown;
}

void origin::measure(const ModelView &view, Listing &listing) {
  constexpr uint64_t limit = std::numeric_limits<int64_t>::max(); // what JSON readers take for an integer
  auto graphs = items(tables(view).subgraphs());
  for (size_t g = 0; g < std::min(graphs.size(), listing.subgraphs.size()); ++g) {
    SourceSubgraph &graph = listing.subgraphs[g];
    auto tensors = items(graphs[g].tensors());
    auto operators = items(graphs[g].operators());
    std::vector<uint64_t> bytes(tensors.size());
    for (size_t i = 0; i < tensors.size(); ++i)
      bytes[i] = bytesOf(view, tensors[i], graph.tensors[i].kind);
    graph.operands.clear();
    graph.operandEnds.clear();
    graph.costs.clear();
    graph.operandEnds.reserve(operators.size());
    graph.costs.reserve(operators.size());
    std::vector<int32_t> touched;
    for (size_t i = 0; i < operators.size(); ++i) {
      OperatorShapes shapes{graph.operators[i].op.str(), {}, {}};
      bool counts = multiplies(shapes.op); // of all others the shapes do not matter
      touched.clear();
      auto touch = [&](int32_t index, std::vector<std::vector<int64_t>> &list) {
        bool exists = index >= 0 && size_t(index) < tensors.size();
        if (exists)
          touched.push_back(index);
        if (counts)
          list.push_back(exists ? shapeOf(tensors[index], graph.tensors[index].kind) : std::vector<int64_t>{0});
        return exists ? int32_t(graph.firstTensor + index) : -1;
      };
      for (int32_t index : items(operators[i].inputs()))
        graph.operands.push_back(touch(index, shapes.inputs));
      graph.operandEnds.push_back(graph.operands.size());
      for (int32_t index : items(operators[i].outputs()))
        touch(index, shapes.outputs);
      llvm::sort(touched);
      touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
      SourceCost &cost = graph.costs.emplace_back();
      cost.macs = macs(shapes).value_or(SourceCost::unknown);
      cost.bytes = 0;
      for (int32_t index : touched)
        if (bytes[index] == SourceCost::unknown || __builtin_add_overflow(cost.bytes, bytes[index], &cost.bytes)) {
          cost.bytes = SourceCost::unknown;
          break;
        }
      for (uint64_t *number : {&cost.macs, &cost.bytes})
        if (*number > limit)
          *number = SourceCost::unknown;
    }
  }
}

struct ModelFile::Impl {
  std::unique_ptr<llvm::MemoryBuffer> owner; ///< of bytes that were not handed in
  std::string name;
  ArrayRef<uint8_t> bytes;
  ModelView view;
  llvm::DenseMap<uint64_t, uint64_t> externalSizes; ///< by id, which is 32 bits wide
  std::function<ModelView::Bytes(const Table &, uint32_t)> resolve;

  llvm::Error error(const Twine &message) const { return llvm::createStringError(Twine(name) + ": " + message); }
  llvm::Error parse();
  llvm::Error checkBuffers() const;
  llvm::Error checkIndices() const;
  ModelView::Bytes buffer(uint32_t index) const;
};

namespace {

/// 0 and 1 mean "inline": 1 is what some writers leave behind as a placeholder.
bool isOutside(const circle::Buffer &buffer) { return buffer.offset() > 1; }

bool areInRange(ArrayRef<int32_t> indices, size_t count) {
  return llvm::all_of(indices, [&](int32_t index) { return index >= -1 && index < int64_t(count); });
}

} // namespace

ModelView::Bytes ModelFile::Impl::buffer(uint32_t index) const {
  auto buffers = items(tables(view).buffers());
  if (index >= buffers.size())
    return {nullptr, 0};
  const circle::Buffer &buffer = buffers[index];
  if (isOutside(buffer))
    return {bytes.data() + buffer.offset(), buffer.size()};
  ArrayRef<uint8_t> data = items(buffer.data());
  return {data.data(), data.size()};
}

llvm::Error ModelFile::Impl::checkBuffers() const {
  auto buffers = items(tables(view).buffers());
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (!isOutside(buffers[i]))
      continue;
    if (buffers[i].size() > bytes.size() || buffers[i].offset() > bytes.size() - buffers[i].size())
      return error("buffer " + Twine(i) + " lies outside the file");
  }
  auto entries = items(tables(view).metadata());
  for (size_t i = 0; i < entries.size(); ++i)
    if (uint32_t buffer = entries[i].buffer(); buffer && buffer >= buffers.size())
      return error("metadata " + Twine(i) + ": there is no buffer " + Twine(buffer));
  return llvm::Error::success();
}

llvm::Error ModelFile::Impl::checkIndices() const {
  const circle::Model &model = tables(view);
  size_t codes = items(model.operator_codes()).size(), buffers = items(model.buffers()).size();
  auto graphs = items(model.subgraphs());
  for (size_t g = 0; g < graphs.size(); ++g) {
    auto tensors = items(graphs[g].tensors());
    auto operators = items(graphs[g].operators());
    for (size_t i = 0; i < tensors.size(); ++i)
      if (uint32_t buffer = tensors[i].buffer(); buffer && buffer >= buffers)
        return error("subgraph " + Twine(g) + ", tensor " + Twine(i) + ": there is no buffer " + Twine(buffer));
    for (size_t i = 0; i < operators.size(); ++i) {
      const circle::Operator &op = operators[i];
      if (op.opcode_index() >= codes)
        return error("subgraph " + Twine(g) + ", operator " + Twine(i) + ": there is no operator code " +
                     Twine(op.opcode_index()));
      if (!areInRange(items(op.inputs()), tensors.size()) || !areInRange(items(op.outputs()), tensors.size()) ||
          !areInRange(items(op.intermediates()), tensors.size()))
        return error("subgraph " + Twine(g) + ", operator " + Twine(i) + ": a tensor index is out of range");
    }
    if (!areInRange(items(graphs[g].inputs()), tensors.size()) ||
        !areInRange(items(graphs[g].outputs()), tensors.size()))
      return error("subgraph " + Twine(g) + ": an input or output index is out of range");
  }
  return llvm::Error::success();
}

llvm::Error ModelFile::Impl::parse() {
  StringRef identifier = llvm::toStringRef(bytes).substr(4, 4);
  view.tflite = identifier == wire::Schema::tflite().fileIdentifier();
  if (!view.tflite && identifier != wire::Schema::circle().fileIdentifier())
    return error(refusal::noModel(llvm::toStringRef(bytes)));

  // Payloads may lie past the 2 GB that a flatbuffer can address, and a table takes 8 bytes at least: 4 of its own and
  // 4 of the reference to it.
  flatbuffers::Verifier::Options limits;
  size_t size = std::min<size_t>(bytes.size(), FLATBUFFERS_MAX_BUFFER_SIZE - 1);
  limits.max_tables = 1024 + size / 8;
  flatbuffers::Verifier verifier(bytes.data(), size, limits);
  if (view.tflite ? !tflite::VerifyModelBuffer(verifier) : !circle::VerifyModelBuffer(verifier))
    return error(refusal::damaged);

  view.model = flatbuffers::GetRoot<Table>(bytes.data());
  if (view.tflite) {
    auto externals = items(reinterpret_cast<const tflite::Model *>(view.model)->external_buffers());
    for (size_t i = 0; i < externals.size(); ++i)
      externalSizes.try_emplace(externals[i].id(), externals[i].length());
  }
  resolve = [this](const Table &tensor, uint32_t index) -> ModelView::Bytes {
    if (view.tflite)
      if (uint32_t id = reinterpret_cast<const tflite::Tensor &>(tensor).external_buffer())
        if (auto it = externalSizes.find(id); it != externalSizes.end())
          return {nullptr, it->second};
    return buffer(index);
  };
  view.payload = resolve;

  const wire::Schema &schema = view.tflite ? wire::Schema::tflite() : wire::Schema::circle();
  if (!Expansion((16 << 20) + 4 * bytes.size(), verifier).table(schema.root(), *view.model))
    return error(refusal::exhausting);
  if (llvm::Error failure = checkBuffers())
    return failure;
  return checkIndices();
}

ModelFile::ModelFile(std::unique_ptr<Impl> impl) : impl(std::move(impl)) {}
ModelFile::~ModelFile() = default;

llvm::Expected<std::unique_ptr<ModelFile>> ModelFile::open(StringRef path) {
  auto buffer = readInput(path);
  if (!buffer)
    return llvm::createStringError(buffer.getError(), Twine(path) + ": " + refusal::cannotOpen(buffer.getError()));
  auto impl = std::make_unique<Impl>();
  impl->name = path.str();
  impl->owner = std::move(*buffer);
  impl->bytes = llvm::arrayRefFromStringRef(impl->owner->getBuffer());
  if (llvm::Error failure = impl->parse())
    return failure;
  return std::unique_ptr<ModelFile>(new ModelFile(std::move(impl)));
}

llvm::Expected<std::unique_ptr<ModelFile>> ModelFile::fromBytes(ArrayRef<uint8_t> bytes, std::string name) {
  auto impl = std::make_unique<Impl>();
  impl->name = std::move(name);
  impl->bytes = bytes;
  // Scalars are read in place, which asks for the alignment that a file has when it is mapped.
  if (reinterpret_cast<uintptr_t>(bytes.data()) % 16) {
    impl->owner = llvm::MemoryBuffer::getMemBufferCopy(llvm::toStringRef(bytes));
    impl->bytes = llvm::arrayRefFromStringRef(impl->owner->getBuffer());
  }
  if (llvm::Error failure = impl->parse())
    return failure;
  return std::unique_ptr<ModelFile>(new ModelFile(std::move(impl)));
}

const ModelView &ModelFile::view() const { return impl->view; }
ArrayRef<uint8_t> ModelFile::bytes() const { return impl->bytes; }

std::optional<ArrayRef<uint8_t>> ModelFile::metadata(StringRef name) const {
  auto entries = items(tables(impl->view).metadata());
  for (size_t i = entries.size(); i-- > 0;) {
    const flatbuffers::String *entry = entries[i].name();
    if (!entry || StringRef(entry->c_str(), entry->size()) != name)
      continue;
    ModelView::Bytes payload = impl->buffer(entries[i].buffer());
    return ArrayRef<uint8_t>(payload.data, payload.size);
  }
  return std::nullopt;
}
