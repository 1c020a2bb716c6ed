#include "ir/text/Printer.h"

namespace origo::text {

using llvm::StringRef;

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
  llvm::ArrayRef<int32_t> signature = value.shapeSignature();
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
    printHex(os, q.more->custom);
    break;
  case Quantization::Details::MX:
    os << key("mx=") << q.more->axis;
    break;
  case Quantization::Details::Blockwise:
  case Quantization::Details::MultiAxis:
    os << key(q.details == Quantization::Details::Blockwise ? "blockwise={" : "multi_axis={") << "scales=";
    details(q.more->scales, q.more->rawScales);
    os << ", zero_points=";
    details(q.more->zeroPoints, q.more->rawZeroPoints);
    os << ", block_size=" << q.more->blockSize;
    if (!q.more->dimensions.empty())
      list(", dimensions=[", q.more->dimensions, "]", [&](int32_t dimension) { os << dimension; });
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
  if (value.sparsity()) {
    os << " sparse";
    printTable(os, *wire::Schema::circle().table("SparsityParameters"),
               reinterpret_cast<const flatbuffers::Table &>(*value.sparsity()));
  }
  if (!value.variants().empty())
    list(" variants[", value.variants(), "]", [&](const VariantType &variant) {
      os << tensorTypeShortName(variant.type);
      dimensions(variant.shape);
      if (variant.hasRank)
        os << " ranked";
    });
  if (value.externalBuffer)
    os << " external " << value.externalBuffer;
  bufferOf(value);
  if (value.name && names[value.subgraph()->index].styles[value.index] == Token::Handle) {
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
    bool nextNamed =
        named && i + 1 < op.numOperands() && i + 1 < row->operands.size() && !row->operands[i + 1].variadic;
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
  auto print = [&](llvm::raw_ostream &, int64_t index) {
    const Model &model = op.subgraph()->model(); // operators in no graph name none
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
  unionOf(op, op.options2(), true);
  if (!op.customOptions().empty() || op.largeCustomOptions) {
    os << (op.largeCustomOptions ? " large_custom " : " custom ");
    data.bytes(os, op.customOptions());
  }
  if (op.customOptionsFormat)
    os << " custom_format " << static_cast<int>(op.customOptionsFormat);
  if (!op.mutatingVariableInputs().empty())
    list(" mutating [", op.mutatingVariableInputs(), "]",
         [&](uint8_t flag) { printNumber(os, numberKind(wire::Type::Bool), flag); });
  if (!op.intermediates().empty())
    list(" intermediates (", op.intermediates(), ")", [&](const Value *value) { label(value); });
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
  opcode(op.code, op.version, op.customCode());
  operands(op);
  optionsOf(op);
}

} // namespace origo::text
