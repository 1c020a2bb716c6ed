#include "origin/check/Graph.h"

#include "schema/OperatorFacts.h"

#include "llvm/ADT/STLExtras.h"

using namespace origo;
using namespace origo::origin;

static std::string_view text(const flatbuffers::String *string) {
  return string ? std::string_view(string->c_str(), string->size()) : std::string_view();
}

FileGraph::FileGraph(const ModelView &view) : view(&view) {
  if (auto *rows = model().operator_codes())
    for (const circle::OperatorCode *row : *rows) {
      int32_t code = resolveOpcode(row->deprecated_builtin_code(), static_cast<int32_t>(row->builtin_code()));
      std::string_view custom = text(row->custom_code());
      const OperatorInfo *info = operatorInfo(code), *like = info;
      bool isCustom = info && info->code == circle::BuiltinOperator::CUSTOM;
      const OnnxOperator *onnx = isCustom ? findOnnxOperator({custom.data(), custom.size()}) : nullptr;
      if (onnx)
        like = operatorInfo(onnx->like);
      else if (isCustom && custom == "BroadcastTo") // of a converter that did not know BROADCAST_TO yet
        like = operatorInfo(circle::BuiltinOperator::BROADCAST_TO);
      opcodes.push_back({code, row->version(), custom, info, like, onnx});
    }
  opcodes.push_back({0, 0, {}, nullptr, nullptr, nullptr}); // for an index out of range

  auto *graphs = model().subgraphs();
  for (uint32_t g = 0, n = graphs ? graphs->size() : 0; g < n; ++g) {
    const circle::SubGraph *table = graphs->Get(g);
    FileSubgraph graph{table, static_cast<uint32_t>(operators.size()), 0, static_cast<uint32_t>(tensors.size()), 0};
    if (auto *list = table->operators())
      for (const circle::Operator *op : *list)
        operators.push_back(op), ++graph.operatorCount;
    if (auto *list = table->tensors())
      for (const circle::Tensor *tensor : *list)
        tensors.push_back(tensor), ++graph.tensorCount;
    subgraphs.push_back(graph);
  }
  classifyTensors();
}

/// Does the shape say that there are no elements, with no dimension left open?
static bool isEmptyStatic(const circle::Tensor &tensor) {
  bool zero = false;
  if (auto *shape = tensor.shape())
    for (int32_t size : *shape) {
      if (size < 0)
        return false;
      zero |= size == 0;
    }
  if (auto *signature = tensor.shape_signature())
    for (int32_t size : *signature)
      if (size < 0)
        return false;
  return zero;
}

void FileGraph::classifyTensors() {
  producer.assign(tensors.size(), -1);
  kind.assign(tensors.size(), TensorKind::Absent);
  std::vector<bool> written(tensors.size());
  for (uint32_t op = 0; op < operators.size(); ++op) {
    forEachOutput(op, [&](int32_t tensor) {
      if (tensor < 0)
        return;
      written[tensor] = true;
      if (producer[tensor] < 0)
        producer[tensor] = static_cast<int32_t>(op);
    });
    forEachIntermediate(op, [&](int32_t tensor) {
      if (tensor >= 0)
        written[tensor] = true;
    });
  }
  for (uint32_t tensor = 0; tensor < tensors.size(); ++tensor)
    if (written[tensor])
      kind[tensor] = TensorKind::Activation;
    else if (tensors[tensor]->is_variable())
      kind[tensor] = TensorKind::Variable;
    else if (payload(tensor).size || isEmptyStatic(*tensors[tensor]))
      kind[tensor] = TensorKind::Constant;
  for (const FileSubgraph &graph : subgraphs)
    if (auto *inputs = graph.table->inputs())
      for (int32_t index : *inputs)
        if (int32_t tensor = tensorId(graph, index); tensor >= 0)
          kind[tensor] = TensorKind::Input;
}

const FileGraph::Opcode &FileGraph::opcode(uint32_t op) const {
  size_t index = operators[op]->opcode_index();
  return index + 1 < opcodes.size() ? opcodes[index] : opcodes.back();
}

std::string FileGraph::operatorName(uint32_t op) const {
  const Opcode &row = opcode(op);
  return row.info && (row.info->inTflite || !tflite()) ? row.info->name.str() : std::to_string(row.code);
}

std::string_view FileGraph::customCode(uint32_t op) const {
  const Opcode &row = opcode(op);
  return row.code == static_cast<int32_t>(circle::BuiltinOperator::CUSTOM) ? row.custom : std::string_view();
}

std::string_view FileGraph::tensorName(uint32_t tensor) const { return text(tensors[tensor]->name()); }

uint32_t FileGraph::subgraphOfOperator(uint32_t op) const {
  auto after = llvm::partition_point(subgraphs, [&](const FileSubgraph &g) { return g.firstOperator <= op; });
  return static_cast<uint32_t>(after - subgraphs.begin()) - 1;
}

uint32_t FileGraph::subgraphOfTensor(uint32_t tensor) const {
  auto after = llvm::partition_point(subgraphs, [&](const FileSubgraph &g) { return g.firstTensor <= tensor; });
  return static_cast<uint32_t>(after - subgraphs.begin()) - 1;
}

const flatbuffers::Table *FileGraph::options(uint32_t op) const {
  const OperatorInfo *info = opcode(op).info;
  const circle::Operator &table = *operators[op];
  if (!info)
    return nullptr;
  if (info->options != circle::BuiltinOptions::NONE && table.builtin_options_type() == info->options)
    return static_cast<const flatbuffers::Table *>(table.builtin_options());
  if (info->options2 != circle::BuiltinOptions2::NONE && table.builtin_options_2_type() == info->options2)
    return static_cast<const flatbuffers::Table *>(table.builtin_options_2());
  return nullptr;
}

llvm::SmallVector<uint32_t, 2> FileGraph::callees(uint32_t op) const {
  llvm::SmallVector<uint32_t, 2> result;
  const OperatorInfo *info = opcode(op).info;
  if (!info || info->subgraphFields.empty())
    return result;
  const flatbuffers::Table *table = options(op);
  const wire::TableType *type = info->optionsType();
  if (!table || !type)
    return result;
  auto add = [&](int64_t index) {
    if (index >= 0 && index < static_cast<int64_t>(subgraphs.size()))
      result.push_back(static_cast<uint32_t>(index));
  };
  for (llvm::StringRef name : info->subgraphFields) {
    const wire::Field *field = type->find(name);
    if (!field)
      continue;
    if (field->type != wire::Type::Vector)
      add(wire::integer(*table, *field));
    else if (auto *list = table->GetPointer<const flatbuffers::Vector<uint8_t> *>(field->vtableOffset()))
      for (uint32_t i = 0; i < list->size(); ++i)
        add(wire::integerAt(list->Data(), i, field->element));
  }
  return result;
}

ModelView::Bytes FileGraph::payload(uint32_t tensor) const {
  const circle::Tensor *table = tensors[tensor];
  return view->payload(*reinterpret_cast<const flatbuffers::Table *>(table), table->buffer());
}

std::optional<int64_t> FileGraph::elementsOf(int32_t tensor) const {
  const auto *shape = tensor < 0 ? nullptr : tensors[tensor]->shape();
  if (!shape || !shape->size())
    return std::nullopt;
  int64_t count = 1;
  for (int32_t dim : *shape)
    if (dim <= 0 || llvm::MulOverflow(count, int64_t(dim), count))
      return std::nullopt;
  return count;
}

bool FileGraph::reducesNothing(uint32_t op) const {
  if (!has(opcode(op).like, Trade::Reduce))
    return false;
  std::optional<int64_t> given, made;
  forEachInput(op, [&](int32_t tensor) { given = given ? given : elementsOf(tensor); });
  forEachOutput(op, [&](int32_t tensor) { made = elementsOf(tensor); });
  return given && given == made;
}

std::optional<bool> FileGraph::everyNumber(uint32_t op, llvm::function_ref<bool(float)> holds) const {
  using enum circle::BuiltinOperator;
  const OperatorInfo *info = opcode(op).like;
  if (!info || !llvm::is_contained({ADD, SUB, MUL, DIV}, info->code))
    return std::nullopt;
  std::optional<bool> all;
  bool isSecond = false;
  forEachInput(op, [&](int32_t tensor) {
    bool mayBe = std::exchange(isSecond, true) || llvm::is_contained({ADD, MUL}, info->code);
    if (!mayBe || tensor < 0 || kind[tensor] != TensorKind::Constant ||
        tensors[tensor]->type() != circle::TensorType::FLOAT32)
      return;
    ModelView::Bytes bytes = payload(static_cast<uint32_t>(tensor));
    if (!bytes.data || bytes.end || bytes.size < sizeof(float))
      return;
    all = true;
    for (uint64_t at = 0; at + sizeof(float) <= bytes.size; at += sizeof(float)) {
      float number;
      std::memcpy(&number, bytes.data + at, sizeof(float));
      all = *all && holds(number);
    }
  });
  return all;
}

static bool hasActivation(const FileGraph &file, uint32_t op) {
  const OperatorInfo *info = file.opcode(op).like;
  const flatbuffers::Table *given = info ? file.options(op) : nullptr;
  const wire::Field *activation = given ? info->optionsType()->find("fused_activation_function") : nullptr;
  return activation && wire::integer(*given, *activation) != 0;
}

bool FileGraph::mayAddNothing(uint32_t op, llvm::function_ref<bool(uint32_t)> equals) const {
  using enum circle::BuiltinOperator;
  const OperatorInfo *info = opcode(op).like;
  if (!info || !llvm::is_contained({ADD, SUB, MUL, DIV}, info->code) || subgraphOfOperator(op) == 0 ||
      hasActivation(*this, op))
    return false;
  llvm::SmallVector<int32_t, 2> operands;
  forEachInput(op, [&](int32_t tensor) { operands.push_back(tensor); });
  auto leaves = [&](int32_t data, int32_t other) {
    return data >= 0 && other >= 0 && kind[other] != TensorKind::Constant && equals(static_cast<uint32_t>(data));
  };
  return operands.size() == 2 && (leaves(operands[0], operands[1]) ||
                                  (llvm::is_contained({ADD, MUL}, info->code) && leaves(operands[1], operands[0])));
}

bool FileGraph::addsNothing(uint32_t op) const {
  using enum circle::BuiltinOperator;
  const OperatorInfo *info = opcode(op).like;
  if (hasActivation(*this, op))
    return false;
  const float neutral = info && llvm::is_contained({ADD, SUB}, info->code) ? 0 : 1;
  return everyNumber(op, [&](float number) { return number == neutral; }).value_or(false);
}
