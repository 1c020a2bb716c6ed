#include "ir/Text.h"
#include "ir/TextData.h"
#include "ir/TextLexer.h"
#include "ir/TextOrigins.h"
#include "ir/TextTables.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

namespace origo {

using llvm::StringRef;
using namespace text;

namespace {

/// How the values of a subgraph are called and in which order they appear.
struct GraphNames {
  std::vector<Token::Style> styles;  ///< by index
  std::vector<uint32_t> positions;   ///< by index: the place in the order of appearance
  std::vector<const Value *> leaves; ///< neither input nor result
};

class Printer {
public:
  Printer(llvm::raw_ostream &os, const PrintOptions &options, DataWriter &data)
      : os(os), options(options), data(data) {}

  void model(Model &model);
  void op(const Operator &op);

private:
  llvm::raw_ostream &os;
  const PrintOptions &options;
  DataWriter &data;

  std::vector<GraphNames> names; ///< empty where only one operator is printed
  std::vector<Token::Style> graphStyles;
  bool ownBuffer = false, hasRank = false;
  struct BufferNote {
    uint32_t uses = 0, number = 0;
    bool labelled = false, printed = false;
  };
  std::vector<BufferNote> notes; ///< by index of the buffer
  uint32_t lastNumber = 0;       ///< of a labelled buffer

  void nameValues(const Subgraph &graph);
  void nameGraphs(const Model &model);
  void studyBuffers(const Model &model);
  void header(const Model &model);
  void opcodes(const Model &model);
  void subgraph(const Subgraph &graph);
  void tail(const Model &model);
  void bufferOrder(const Model &model);

  void label(const Value *value);
  void label(const Subgraph &graph);
  void graphName(StringRef name, Token::Style style, uint64_t handle, StringRef sigil);
  void declaration(const Value &value);
  void shape(const Value &value);
  void dimensions(llvm::ArrayRef<int32_t> sizes);
  void quantization(const Quantization &quantization);
  void bufferOf(const Value &value);
  void constant(const Value &value);
  void opcode(BuiltinOperator code, int32_t version, StringRef customCode);
  void operands(const Operator &op);
  void optionsOf(const Operator &op);
  void table(const wire::EnumValue &member, const flatbuffers::Table &table, const Operator &op);
  void unionOf(const Operator &op, const Options &options, bool second);
  void permutation(llvm::ArrayRef<uint32_t> positions);
  void bufferLabel(const Buffer *buffer);

  template <class T, class F> void list(StringRef open, const T &items, StringRef close, F print) {
    os << open;
    llvm::interleaveComma(items, os, print);
    os << close;
  }
  template <class T> void array(StringRef key, llvm::ArrayRef<T> items, NumberKind kind) {
    os << key;
    auto number = [&](T item) {
      uint64_t bits = 0;
      std::memcpy(&bits, &item, sizeof(item));
      printNumber(os, kind, bits);
    };
    if (items.size() == 1)
      return number(items[0]);
    list("[", items, "]", number);
  }
};

Token::Style styleOf(StringRef name, bool unique) {
  if (name.empty() || !unique)
    return Token::Handle;
  return isPlainName(name) ? Token::Plain : Token::Quoted;
}

// Names and order ----------------------------------------------------------------------------------------------------

void Printer::nameValues(const Subgraph &graph) {
  GraphNames &result = names.emplace_back();
  llvm::StringMap<bool> repeated;
  for (const Value *value : graph.values)
    if (auto [it, isNew] = repeated.try_emplace(value->name, false); !isNew)
      it->second = true;
  for (const Value *value : graph.values)
    result.styles.push_back(styleOf(value->name, !repeated.lookup(value->name)));

  uint32_t next = 0;
  result.positions.assign(graph.values.size(), ~0u);
  auto appears = [&](const Value *value) {
    if (value && result.positions[value->index] == ~0u)
      result.positions[value->index] = next++;
  };
  llvm::for_each(graph.inputs, appears);
  for (const Value *value : graph.values)
    if (!value->isGraphInput && !value->producer()) {
      appears(value);
      result.leaves.push_back(value);
    }
  for (const Operator &op : graph.operators)
    llvm::for_each(op.results(), appears);
}

void Printer::nameGraphs(const Model &model) {
  llvm::StringMap<bool> repeated;
  for (auto &graph : model.subgraphs)
    if (auto [it, isNew] = repeated.try_emplace(graph->name, false); !isNew)
      it->second = true;
  for (auto &graph : model.subgraphs)
    graphStyles.push_back(styleOf(graph->name, !repeated.lookup(graph->name)));
}

/// Buffers that several refer to get a label, and so does one whose bytes no constant shows.
void Printer::studyBuffers(const Model &model) {
  notes.resize(model.buffers.size());
  auto use = [&](const Buffer *buffer) {
    if (buffer)
      ++notes[buffer->index].uses;
  };
  uint64_t values = 0, ranked = 0, own = 0, shared = 0;
  for (auto &graph : model.subgraphs)
    for (const Value *value : graph->values) {
      use(value->buffer);
      ++values;
      ranked += value->hasRank;
      if (value->payload().empty())
        ++(value->buffer ? own : shared);
    }
  for (const MetadataEntry &entry : model.metadata)
    use(entry.buffer);
  llvm::for_each(model.metadataBuffers, use);
  for (auto [i, note] : llvm::enumerate(notes))
    note.labelled = i == 0 ? !model.buffers[0]->payload.empty() : note.uses > 1;
  for (auto &graph : model.subgraphs)
    for (const Value *value : graph->values)
      if (value->buffer && !value->payload().empty() && (value->isGraphInput || value->producer()))
        notes[value->buffer->index].labelled = true;
  for (const Buffer *buffer : model.metadataBuffers)
    if (buffer)
      notes[buffer->index].labelled = true;
  ownBuffer = own > shared;
  hasRank = 2 * ranked > values;
}

/// `0..3 7 5..6`: ascending runs.
void Printer::permutation(llvm::ArrayRef<uint32_t> positions) {
  for (size_t i = 0; i < positions.size();) {
    size_t end = i + 1;
    while (end < positions.size() && positions[end] == positions[end - 1] + 1)
      ++end;
    os << ' ' << positions[i];
    if (end - i > 1)
      os << ".." << positions[end - 1];
    i = end;
  }
  os << '\n';
}

static bool isIdentity(llvm::ArrayRef<uint32_t> positions) {
  for (auto [i, position] : llvm::enumerate(positions))
    if (i != position)
      return false;
  return true;
}

/// Buffers appear in the order of values, then of metadata; what nothing refers to comes last.
void Printer::bufferOrder(const Model &model) {
  std::vector<uint32_t> positions(model.buffers.size(), ~0u);
  uint32_t next = 0;
  auto appears = [&](const Buffer *buffer) {
    if (buffer && positions[buffer->index] == ~0u)
      positions[buffer->index] = next++;
  };
  if (!model.buffers.empty())
    appears(model.buffers[0]);
  for (auto &graph : model.subgraphs)
    for (const Value *value : graph->values)
      appears(value->buffer);
  for (const MetadataEntry &entry : model.metadata)
    appears(entry.buffer);
  llvm::for_each(model.metadataBuffers, appears);
  for (const Buffer *buffer : model.buffers) {
    if (positions[buffer->index] != ~0u)
      continue;
    os << "buffer";
    if (!buffer->payload.empty()) {
      os << " = ";
      data.bytes(os, buffer->payload);
    }
    os << '\n';
    appears(buffer);
  }
  if (!isIdentity(positions)) {
    os << "buffer_order";
    permutation(positions);
  }
}

// Values -------------------------------------------------------------------------------------------------------------

void Printer::graphName(StringRef name, Token::Style style, uint64_t handle, StringRef sigil) {
  os << sigil;
  if (style == Token::Plain)
    os << name;
  else if (style == Token::Quoted)
    printQuoted(os, name);
  else
    os << '#' << handle;
}

void Printer::label(const Value *value) {
  if (!value) {
    os << '_';
  } else if (names.empty()) {
    graphName(value->name, styleOf(value->name, true), value->index, "%");
  } else {
    const GraphNames &graph = names[value->subgraph()->index];
    graphName(value->name, graph.styles[value->index], graph.positions[value->index], "%");
  }
}

void Printer::label(const Subgraph &graph) {
  graphName(graph.name, names.empty() ? styleOf(graph.name, true) : graphStyles[graph.index], graph.index, "@");
}

void Printer::dimensions(llvm::ArrayRef<int32_t> sizes) {
  os << '[';
  llvm::interleave(sizes, os, ",");
  os << ']';
}

void Printer::shape(const Value &value) {
  StringRef type = tensorTypeShortName(value.type);
  if (type.empty())
    os << "type(" << static_cast<int>(value.type) << ')';
  else
    os << type;
  // A dimension that the signature leaves open is marked with '?'.
  llvm::ArrayRef<int32_t> signature = value.shapeSignature;
  bool marked = value.hasShape && signature.size() == value.shape.size() && llvm::is_contained(signature, -1);
  for (auto [i, size] : llvm::enumerate(value.shape))
    marked = marked && (signature[i] == -1 || signature[i] == size);
  if (value.hasShape) {
    os << '[';
    for (auto [i, size] : llvm::enumerate(value.shape))
      os << (i ? "," : "") << size << (marked && signature[i] == -1 ? "?" : "");
    os << ']';
  }
  if (!signature.empty() && !marked)
    os << " sig", dimensions(signature);
}

void Printer::quantization(const Quantization &q) {
  StringRef separator = "";
  auto key = [&](StringRef name) {
    std::string text = (separator + name).str();
    separator = ", ";
    return text;
  };
  static const NumberKind f32 = numberKind(TensorType::FLOAT32), i64 = numberKind(TensorType::INT64);
  os << " q{";
  if (!q.min.empty())
    array(key("min="), q.min, f32);
  if (!q.max.empty())
    array(key("max="), q.max, f32);
  if (!q.scale.empty())
    array(key("scale="), q.scale, f32);
  if (!q.zeroPoint.empty())
    array(key("zero_point="), q.zeroPoint, i64);
  if (q.dimension)
    os << key("dim=") << q.dimension;
  auto details = [&](const Value *value, int32_t raw) {
    if (value)
      label(value);
    else
      os << "raw " << raw;
  };
  switch (q.details) {
  case Quantization::Details::None:
    break;
  case Quantization::Details::Custom:
    os << key("custom=");
    printHex(os, q.custom);
    break;
  case Quantization::Details::MX:
    os << key("mx=") << q.axis;
    break;
  case Quantization::Details::Blockwise:
  case Quantization::Details::MultiAxis:
    os << key(q.details == Quantization::Details::Blockwise ? "blockwise={" : "multi_axis={") << "scales=";
    details(q.scales, q.rawScales);
    os << ", zero_points=";
    details(q.zeroPoints, q.rawZeroPoints);
    os << ", block_size=" << q.blockSize;
    if (!q.dimensions.empty())
      list(", dimensions=[", q.dimensions, "]", [&](int32_t dimension) { os << dimension; });
    os << '}';
  }
  os << '}';
}

/// What the value's buffer is, where it is not what one would expect of such a value. That of a constant is printed
/// with its bytes.
void Printer::bufferOf(const Value &value) {
  const Buffer *buffer = value.buffer;
  bool isEmpty = value.payload().empty();
  if (buffer && notes[buffer->index].labelled) {
    if (isEmpty ? options.layout : value.isGraphInput || value.producer())
      os << " buffer ", bufferLabel(buffer);
  } else if (isEmpty && options.layout && (buffer != nullptr) != ownBuffer) {
    os << (buffer ? " buffer own" : " buffer none");
  }
}

/// `%x: f32[1?,4] has_rank q{scale=0.5}`
void Printer::declaration(const Value &value) {
  label(&value);
  os << ": ";
  shape(value);
  if (value.hasRank != hasRank)
    os << (value.hasRank ? " ranked" : " unranked");
  if (value.isVariable)
    os << " variable";
  if (value.compression) {
    const wire::EnumValue *known =
        wire::Schema::circle().enumeration("CompressionType")->find(static_cast<int64_t>(value.compression));
    os << " compression ";
    if (known)
      os << known->name;
    else
      os << static_cast<unsigned>(value.compression);
  }
  if (value.quantization && options.quantization)
    quantization(*value.quantization);
  if (value.sparsity) {
    os << " sparse";
    printTable(os, *wire::Schema::circle().table("SparsityParameters"),
               reinterpret_cast<const flatbuffers::Table &>(*value.sparsity));
  }
  if (!value.variants.empty())
    list(" variants[", value.variants, "]", [&](const VariantType &variant) {
      os << tensorTypeShortName(variant.type);
      dimensions(variant.shape);
      if (variant.hasRank)
        os << " ranked";
    });
  if (value.externalBuffer)
    os << " external " << value.externalBuffer;
  bufferOf(value);
  if (value.name.data() && names[value.subgraph()->index].styles[value.index] == Token::Handle) {
    os << " name ";
    printQuoted(os, value.name);
  }
}

void Printer::constant(const Value &value) {
  const Payload &payload = value.payload();
  if (payload.empty()) {
    if (value.isConstant() && !value.externalBuffer)
      os << " = const []";
    return;
  }
  os << " = const";
  BufferNote &note = notes[value.buffer->index];
  if (note.labelled)
    os << ' ', bufferLabel(value.buffer);
  if (note.printed)
    return;
  os << ' ';
  data.constant(os, value);
  note.printed = true;
}

// Operators ----------------------------------------------------------------------------------------------------------

void Printer::opcode(BuiltinOperator code, int32_t version, StringRef customCode) {
  if (const OperatorInfo *row = operatorInfo(code))
    os << row->name;
  else
    os << "builtin(" << static_cast<int32_t>(code) << ')';
  if (!customCode.empty()) {
    os << ' ';
    printQuoted(os, customCode);
  }
  if (version != 1)
    os << ".v" << version;
}

/// Named as far as the row names them. One that is absent is left out where those behind it are named.
void Printer::operands(const Operator &op) {
  const OperatorInfo *row = op.info();
  StringRef separator = "";
  os << '(';
  bool named = row != nullptr;
  for (unsigned i = 0; i < op.numOperands(); ++i) {
    named = named && i < row->operands.size() && !row->operands[i].variadic;
    bool nextNamed = named && i + 1 < op.numOperands() && i + 1 < row->operands.size() && !row->operands[i + 1].variadic;
    if (!op.operand(i) && nextNamed)
      continue;
    os << separator;
    if (named)
      os << row->operands[i].name << '=';
    label(op.operand(i));
    separator = ", ";
  }
  os << ')';
}

void Printer::table(const wire::EnumValue &member, const flatbuffers::Table &table, const Operator &op) {
  const OperatorInfo *row = op.info();
  Model &model = op.subgraph()->model();
  auto print = [&](llvm::raw_ostream &, int64_t index) {
    if (index < 0 || index >= static_cast<int64_t>(model.subgraphs.size()))
      return false;
    label(*model.subgraphs[index]);
    return true;
  };
  GraphFields graphs;
  if (row)
    graphs = {row->subgraphFields, print, {}};
  printTable(os, *member.table, table, graphs);
}

/// One of the two unions. The table that the operator's row names goes without saying.
void Printer::unionOf(const Operator &op, const Options &given, bool second) {
  const OperatorInfo *row = op.info();
  uint8_t expected = 0;
  if (row && row->options != circle::BuiltinOptions::NONE)
    expected = second ? 0 : static_cast<uint8_t>(row->options);
  else if (row)
    expected = second ? static_cast<uint8_t>(row->options2) : 0;
  if (given.member == 0) {
    if (expected)
      os << " no_options";
    return;
  }
  const wire::EnumValue *member =
      wire::Schema::circle().enumeration(second ? "BuiltinOptions2" : "BuiltinOptions")->find(int64_t(given.member));
  if (!member || !member->table) {
    os << (second ? " options2 " : " options ") << static_cast<unsigned>(given.member);
  } else if (!given.table) {
    os << ' ' << member->name << " absent";
  } else if (given.member != expected) {
    os << ' ' << member->name << ' ';
    table(*member, *given.table, op);
  } else if (hasContent(*member->table, *given.table)) {
    os << ' ';
    table(*member, *given.table, op);
  }
}

void Printer::optionsOf(const Operator &op) {
  unionOf(op, op.options, false);
  unionOf(op, op.options2, true);
  if (!op.customOptions.empty() || op.largeCustomOptions) {
    os << (op.largeCustomOptions ? " large_custom " : " custom ");
    data.bytes(os, op.customOptions);
  }
  if (op.customOptionsFormat)
    os << " custom_format " << static_cast<int>(op.customOptionsFormat);
  if (!op.mutatingVariableInputs.empty())
    list(" mutating [", op.mutatingVariableInputs, "]",
         [&](uint8_t flag) { printNumber(os, numberKind(wire::Type::Bool), flag); });
  if (!op.intermediates.empty())
    list(" intermediates (", op.intermediates, ")", [&](const Value *value) { label(value); });
  if (op.debugMetadata != -1)
    os << " debug " << op.debugMetadata;
}

void Printer::op(const Operator &op) {
  if (!op.results().empty()) {
    llvm::interleaveComma(op.results(), os, [&](const Value *value) {
      if (!value || names.empty())
        label(value);
      else
        declaration(*value);
      if (value && names.empty()) {
        os << ": ";
        shape(*value);
      }
    });
    os << " = ";
  }
  opcode(op.code, op.version, op.customCode);
  operands(op);
  optionsOf(op);
}

// The model ----------------------------------------------------------------------------------------------------------

void Printer::opcodes(const Model &model) {
  if (!options.layout)
    return;
  std::vector<Model::OpcodeRow> rows;
  // There are a few dozen kinds in a model, so most operators are found at once.
  llvm::StringMap<bool> seen;
  for (auto &graph : model.subgraphs)
    for (const Operator &op : graph->operators) {
      std::string key = (llvm::Twine(static_cast<int32_t>(op.code)) + "." + llvm::Twine(op.version) + "." + op.customCode).str();
      if (seen.try_emplace(key, true).second)
        rows.push_back({op.code, op.version, op.customCode});
    }
  if (rows == model.opcodes)
    return;
  os << "opcodes ";
  list("[", model.opcodes, "]",
       [&](const Model::OpcodeRow &row) { opcode(row.code, row.version, row.customCode); });
  os << '\n';
}

void Printer::header(const Model &model) {
  os << "origo 1\nmodel " << (model.format == Format::Tflite ? "tflite" : "circle") << " version " << model.version;
  if (model.description) {
    os << " description ";
    printQuoted(os, *model.description);
  }
  os << '\n';
  if (options.layout && model.buffers.empty())
    os << "default no_buffers\n";
  else if (options.layout && ownBuffer)
    os << "default own_buffer\n";
  if (hasRank)
    os << "default ranked\n";
  opcodes(model);
  for (StringRef group : model.externalGroups) {
    os << "external_group ";
    printQuoted(os, group);
    os << '\n';
  }
  for (const ExternalBuffer &buffer : model.externalBuffers) {
    os << "external_buffer " << buffer.id << " group " << buffer.group << " offset " << buffer.offset << " length "
       << buffer.length;
    if (buffer.packing.data()) {
      os << " packing ";
      printQuoted(os, buffer.packing);
    }
    os << '\n';
  }
}

void Printer::subgraph(const Subgraph &graph) {
  os << "subgraph ";
  label(graph);
  llvm::DenseSet<const Value *> declared;
  list("(", graph.inputs, ") -> ", [&](const Value *value) {
    if (declared.insert(value).second)
      declaration(*value);
    else
      label(value);
  });
  list("(", graph.outputs, ")", [&](const Value *value) { label(value); });
  if (graph.debugMetadata != -1)
    os << " debug " << graph.debugMetadata;
  if (graph.channelsFirst)
    os << " channels_first";
  if (graph.name.data() && graphStyles[graph.index] == Token::Handle) {
    os << " name ";
    printQuoted(os, graph.name);
  }
  os << " {\n";
  std::string comment;
  auto end = [&](const auto &item) {
    if (options.origins) {
      comment.clear();
      llvm::raw_string_ostream stream(comment);
      printOrigins(stream, item);
      if (!comment.empty())
        os << "  ; " << comment;
    }
    os << '\n';
  };
  for (const Value *value : names[graph.index].leaves) {
    os << "  ";
    declaration(*value);
    constant(*value);
    end(*value);
  }
  for (const Operator &item : graph.operators) {
    os << "  ";
    op(item);
    end(item);
  }
  std::vector<uint32_t> &positions = names[graph.index].positions;
  if (options.layout && !isIdentity(positions)) {
    os << "  order";
    permutation(positions);
  }
  os << "}\n";
}

/// #0 is buffer 0, whatever it holds. Others are numbered as they appear.
void Printer::bufferLabel(const Buffer *buffer) {
  uint32_t number = 0;
  if (buffer && buffer->index) {
    BufferNote &note = notes[buffer->index];
    if (!note.number)
      note.number = ++lastNumber;
    number = note.number;
  }
  os << '#' << number;
}

void Printer::tail(const Model &model) {
  for (const Signature &signature : model.signatures) {
    os << "signature ";
    printQuoted(os, signature.key);
    if (signature.subgraph) {
      os << ' ';
      label(*signature.subgraph);
    } else {
      os << " raw " << signature.rawSubgraph;
    }
    auto entry = [&](const Signature::Entry &entry) {
      printQuoted(os, entry.name);
      os << '=';
      if (entry.value)
        label(entry.value);
      else
        os << "raw " << entry.rawTensor;
    };
    list(" inputs(", signature.inputs, ")", entry);
    list(" outputs(", signature.outputs, ")\n", entry);
  }
  // Bytes that no constant has shown.
  for (const Buffer *buffer : model.buffers)
    if (BufferNote &note = notes[buffer->index]; note.labelled && !note.printed && !buffer->payload.empty()) {
      os << "buffer ", bufferLabel(buffer);
      os << " = ";
      data.bytes(os, buffer->payload);
      os << '\n';
    }
  for (const MetadataEntry &entry : model.metadata) {
    os << "metadata ";
    printQuoted(os, entry.name);
    os << ' ';
    if (!entry.buffer || notes[entry.buffer->index].labelled)
      bufferLabel(entry.buffer);
    else
      data.bytes(os, entry.buffer->payload);
    os << '\n';
  }
  if (!model.metadataBuffers.empty()) {
    list("metadata_buffers [", model.metadataBuffers, "]\n", [&](const Buffer *buffer) { bufferLabel(buffer); });
  }
  if (options.layout)
    bufferOrder(model);
  if (!model.archive.empty()) {
    os << "archive ";
    data.bytes(os, model.archive);
    os << '\n';
  }
}

void Printer::model(Model &model) {
  model.number();
  for (auto &graph : model.subgraphs)
    nameValues(*graph);
  nameGraphs(model);
  studyBuffers(model);
  header(model);
  for (auto &graph : model.subgraphs)
    subgraph(*graph);
  tail(model);
}

} // namespace

llvm::Error writeText(Model &model, llvm::raw_ostream &os, const PrintOptions &options) {
  DataWriter data(options);
  Printer(os, options, data).model(model);
  return data.finish();
}

void printText(Model &model, llvm::raw_ostream &os, const PrintOptions &options) {
  if (llvm::Error error = writeText(model, os, options))
    llvm::report_fatal_error(std::move(error), /*gen_crash_diag=*/false);
}

void printOperator(const Operator &op, llvm::raw_ostream &os) {
  PrintOptions options;
  DataWriter data(options);
  Printer(os, options, data).op(op);
  llvm::cantFail(data.finish());
}

} // namespace origo
