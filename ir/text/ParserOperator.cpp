#include "ir/text/Parser.h"

#include "llvm/ADT/STLExtras.h"

namespace origo::text {

using llvm::StringRef;
using llvm::Twine;

/// `CONV_2D`, `CUSTOM "Name"`, `builtin(250)`, each perhaps with `.v3`.
bool Parser::opcode(Model::OpcodeRow &row) {
  row.version = 1;
  if (token.kind != Token::Word)
    return expected("an operator");
  if (acceptWord("builtin")) {
    int32_t code;
    if (!expect('(') || !integer(code, "an operator code") || !expect(')'))
      return false;
    row.code = BuiltinOperator(code);
  } else {
    const OperatorInfo *info = operatorInfo(token.text);
    if (!info)
      return fail("there is no operator '" + printable(token.text, 60) + "'");
    row.code = info->code;
    advance();
  }
  if (token.kind == Token::String && !text(row.customCode, "a name"))
    return false;
  if (!accept('.'))
    return true;
  if (acceptWord("v")) // negative
    return integer(row.version, "a version");
  StringRef version = token.text;
  if (token.kind != Token::Word || !version.consume_front("v") || version.getAsInteger(10, row.version))
    return expected("a version like v2");
  advance();
  return true;
}

bool Parser::operands(GraphState &graph, const OperatorInfo *row, llvm::SmallVectorImpl<Value *> &operands) {
  llvm::SmallVector<bool> given;
  size_t next = 0;
  return list('(', ')', [&] {
    Token where = token;
    if (token.kind == Token::Word && token.text != "_") {
      auto known = row ? llvm::find_if(row->operands, [&](const OperandInfo &info) { return info.name == token.text; })
                       : llvm::ArrayRef<OperandInfo>::iterator{};
      if (!row || known == row->operands.end() || known->variadic)
        return fail((row ? row->name : "the operator") + Twine(" has no operand '") + printable(token.text, 60) + "'");
      next = known - row->operands.begin();
      advance();
      if (!expect('='))
        return false;
    }
    if (next >= operands.size()) {
      operands.resize(next + 1);
      given.resize(next + 1);
    }
    if (given[next])
      return failAt(where, "the operand is given twice");
    given[next] = true;
    return optional(graph, operands[next++]);
  });
}

bool Parser::operation(GraphState &graph, llvm::ArrayRef<Value *> results) {
  Token where = token;
  Model::OpcodeRow opcodeRow;
  llvm::SmallVector<Value *, 8> values;
  if (!opcode(opcodeRow))
    return false;
  const OperatorInfo *row = operatorInfo(opcodeRow.code);
  if (!operands(graph, row, values))
    return false;
  if (row && !row->accepts(values.size()))
    return failAt(where, row->name + " cannot have " + Twine(values.size()) + " operands");
  if (row && !row->acceptsResults(results.size()))
    return failAt(where, row->name + " cannot have " + Twine(results.size()) + " results");
  Operator &op = model->addOperator(*graph.graph, opcodeRow.code, values, results);
  for (const Value *value : values)
    if (value && value->producer() == &op)
      return failAt(where, "the operator has its own result as an operand");
  op.version = opcodeRow.version;
  if (!opcodeRow.customCode.empty())
    op.setCustomCode(opcodeRow.customCode);
  if (!attributes(graph, op))
    return false;
  if (row && !row->subgraphFields.empty() && (op.options.table || op.options2().table))
    callers.push_back({&op, where.line, where.column});
  return true;
}

const flatbuffers::Table *Parser::keepTable(flatbuffers::uoffset_t table) {
  struct alignas(16) Block {
    uint8_t bytes[16];
  };
  builder.Finish(flatbuffers::Offset<flatbuffers::Table>(table));
  std::vector<Block> blocks((builder.GetSize() + sizeof(Block) - 1) / sizeof(Block));
  std::memcpy(blocks.data(), builder.GetBufferPointer(), builder.GetSize());
  return flatbuffers::GetRoot<flatbuffers::Table>(model->copy(llvm::ArrayRef<Block>(blocks)).data());
}

const flatbuffers::Table *Parser::emptyTable(const wire::TableType &type) {
  const flatbuffers::Table *&table = emptyTables[&type];
  if (!table)
    table = model->copyTable(type, nullptr);
  return table;
}

bool Parser::optionsTable(const OperatorInfo *row, const wire::TableType &type, const flatbuffers::Table *&table) {
  auto parse = [&](Reader &, int64_t &index) {
    uint32_t found;
    if (!graphIndex(token, found))
      return false;
    index = found;
    advance();
    return true;
  };
  GraphFields fields;
  if (row)
    fields = {row->subgraphFields, {}, parse};
  builder.Clear();
  flatbuffers::uoffset_t offset;
  if (!parseTable(*this, type, builder, offset, fields))
    return false;
  table = keepTable(offset);
  return true;
}

static const wire::EnumValue *member(StringRef unionName, int64_t value) {
  return value ? wire::Schema::circle().enumeration(unionName)->find(value) : nullptr;
}

bool Parser::attributes(GraphState &graph, Operator &op) {
  const OperatorInfo *row = op.info();
  const wire::EnumValue *first = row ? member("BuiltinOptions", int64_t(row->options)) : nullptr;
  const wire::EnumValue *second = row ? member("BuiltinOptions2", int64_t(row->options2)) : nullptr;
  // The table that the row names is there unless something else is said.
  if (first)
    op.options = {static_cast<uint8_t>(first->value), emptyTable(*first->table)};
  else if (second)
    op.setOptions2({static_cast<uint8_t>(second->value), emptyTable(*second->table)});
  bool ownTable = false;
  while (token.kind == Token::Word || at('{'))
    if (!attribute(graph, op, ownTable))
      return false;
  return true;
}

/// `TypeName {…}` or `TypeName absent`.
bool Parser::otherOptions(Operator &op, bool &ownTable) {
  for (StringRef unionName : {"BuiltinOptions", "BuiltinOptions2"}) {
    const wire::EnumValue *known = wire::Schema::circle().enumeration(unionName)->find(token.text);
    if (!known || !known->table)
      continue;
    Token where = token;
    advance();
    Options &options = unionName == "BuiltinOptions" ? op.options : op.makeOptions2();
    const OperatorInfo *row = op.info();
    options = {static_cast<uint8_t>(known->value), nullptr};
    ownTable = true;
    if (acceptWord("absent"))
      return true;
    if (row && row->optionsType() != known->table)
      return failAt(where, known->name + " belong to another operator than " + row->name);
    return optionsTable(row, *known->table, options.table);
  }
  return fail("there is no attribute '" + printable(token.text, 60) + "' of an operator");
}

bool Parser::attribute(GraphState &graph, Operator &op, bool &ownTable) {
  const OperatorInfo *row = op.info();
  if (at('{')) {
    if (ownTable)
      return fail("the options are given twice");
    if (!row || !row->optionsType())
      return fail("the operator has no options");
    ownTable = true;
    return optionsTable(row, *row->optionsType(), op.options.member ? op.options.table : op.makeOptions2().table);
  }
  if (acceptWord("no_options")) {
    ownTable = true;
    (row && row->options != circle::BuiltinOptions::NONE ? op.options : op.makeOptions2()) = {};
    return true;
  }
  if (atWord("options") || atWord("options2")) {
    Options &options = atWord("options") ? op.options : op.makeOptions2();
    advance();
    options = {};
    ownTable = true;
    return integer(options.member, "the number of an options table");
  }
  if (atWord("custom") || atWord("large_custom")) {
    op.largeCustomOptions = atWord("large_custom");
    advance();
    Payload options;
    if (!data.bytes(options))
      return false;
    op.setCustomOptions(std::move(options));
    return true;
  }
  if (acceptWord("custom_format"))
    return integer(op.customOptionsFormat, "a format");
  if (acceptWord("debug"))
    return integer(op.debugMetadata, "an index");
  if (acceptWord("mutating")) {
    std::vector<uint8_t> flags;
    if (!list('[', ']', [&] {
          uint64_t bits;
          if (!parseNumber(*this, numberKind(wire::Type::Bool), bits))
            return false;
          flags.push_back(bits);
          return true;
        }))
      return false;
    op.setMutatingVariableInputs(model->copy(llvm::ArrayRef<uint8_t>(flags)));
    return true;
  }
  if (acceptWord("intermediates")) {
    llvm::SmallVector<Value *> values;
    if (!op.intermediates().empty())
      return fail("the intermediates are given twice");
    if (!list('(', ')', [&] { return optional(graph, values.emplace_back()); }))
      return false;
    model->setIntermediates(op, values);
    return true;
  }
  return otherOptions(op, ownTable);
}

} // namespace origo::text
