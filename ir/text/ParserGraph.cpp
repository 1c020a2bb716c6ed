#include "ir/text/Parser.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

namespace origo::text {

using llvm::ArrayRef;
using llvm::StringRef;
using llvm::Twine;

constexpr size_t maxRank = 32;

/// `@name(%x: f32[1], …) -> (%y, …) { … }`
bool Parser::subgraph() {
  uint32_t index;
  if (!graphIndex(token, index))
    return false;
  if (index != graphs.size())
    return fail("there is a subgraph of this name already");
  GraphState &graph = *graphs.emplace_back(std::make_unique<GraphState>());
  graph.graph = &model->addSubgraph();
  if (token.style == Token::Plain) {
    graph.graph->name = model->copy(token.text);
  } else if (token.style == Token::Quoted) {
    std::string name;
    if (!unescape(*this, token, name))
      return false;
    graph.graph->name = name.empty() ? StringRef("") : model->copy(StringRef(name));
  }
  advance();

  llvm::SmallVector<Value *> inputs;
  std::vector<ValueState *> outputs;
  if (!list('(', ')', [&] {
        ValueState *state;
        if (token.kind == Token::Value) {
          if (!mention(graph, state))
            return false;
          if (!state->declared && !type(graph, *state))
            return false;
          inputs.push_back(state->value);
          return true;
        }
        return expected("an input");
      }))
    return false;
  model->setInputs(*graph.graph, inputs);
  if (token.kind != Token::Arrow)
    return expected("'->'");
  advance();
  if (!list('(', ')', [&] { return mention(graph, outputs.emplace_back()); }))
    return false;
  while (!at('{')) {
    if (acceptWord("debug")) {
      if (!integer(graph.graph->debugMetadata, "an index"))
        return false;
    } else if (acceptWord("channels_first")) {
      graph.graph->channelsFirst = true;
    } else if (acceptWord("name")) {
      if (!text(graph.graph->name, "a name"))
        return false;
    } else {
      return expected("'{'");
    }
  }
  if (!body(graph))
    return false;
  llvm::SmallVector<Value *> values;
  for (ValueState *state : outputs)
    values.push_back(state->value);
  model->setOutputs(*graph.graph, values);
  return true;
}

bool Parser::body(GraphState &graph) {
  lexer.statementDepth = 1;
  advance(); // '{'
  std::vector<uint32_t> order;
  Token where = token;
  while (token.kind == Token::Newline)
    advance();
  while (!at('}')) {
    if (token.kind == Token::End)
      return expected("'}'");
    bool good;
    if (atWord("order")) {
      where = token;
      advance();
      good = order.empty() ? permutation(order) : failAt(where, "the order is given twice");
    } else if (token.kind == Token::Value || atWord("_")) {
      good = results(graph);
    } else {
      good = operation(graph, {});
    }
    if (!good)
      return false;
    if (!at('}') && !endOfStatement())
      return false;
  }
  lexer.statementDepth = 0;
  advance();
  return endOfGraph(graph, order, where);
}

/// Puts the values into the order of the file.
bool Parser::endOfGraph(GraphState &graph, const std::vector<uint32_t> &order, const Token &where) {
  for (const ValueState &state : graph.values)
    if (!state.declared)
      return failAt(state.line, state.column, "this tensor is declared nowhere");
  std::vector<ValueState *> &states = graph.declared;
  if (!order.empty()) {
    if (order.size() != states.size())
      return failAt(where, "the order names " + Twine(order.size()) + " of " + Twine(states.size()) + " tensors");
    std::vector<ValueState *> ordered(states.size());
    std::vector<bool> seen(states.size());
    for (auto [i, position] : llvm::enumerate(order)) {
      if (position >= states.size() || seen[position])
        return failAt(where, "position " + Twine(position) + " of the order is out of range or repeated");
      seen[position] = true;
      ordered[i] = states[position];
    }
    states = std::move(ordered);
  }
  for (auto [i, state] : llvm::enumerate(states)) {
    graph.graph->values[i] = state->value;
    state->value->index = i;
  }
  return true;
}

/// `%x`, declared or not.
bool Parser::mention(GraphState &graph, ValueState *&state) {
  if (token.kind != Token::Value)
    return expected("a tensor");
  StringRef name;
  ValueState **known;
  if (token.style == Token::Handle) {
    uint32_t handle;
    if (token.text.getAsInteger(10, handle))
      return fail("the number is out of range");
    known = &graph.byHandle[handle];
  } else {
    std::string unescaped = token.text.str();
    if (token.style == Token::Quoted && !unescape(*this, token, unescaped))
      return false;
    auto it = graph.byName.try_emplace(unescaped).first;
    known = &it->second;
    name = unescaped.empty() ? StringRef("") : *known ? StringRef() : model->copy(it->first());
  }
  if (!*known) {
    *known = &graph.values.emplace_back(ValueState{&model->addValue(*graph.graph), token.line, token.column});
    (*known)->value->name = name;
  }
  state = *known;
  advance();
  return true;
}

/// `%x` or `_`.
bool Parser::optional(GraphState &graph, Value *&value) {
  value = nullptr;
  if (acceptWord("_"))
    return true;
  ValueState *state;
  if (!mention(graph, state))
    return false;
  value = state->value;
  return true;
}

bool Parser::declaration(GraphState &graph, ValueState *&state) {
  Token where = token;
  if (!mention(graph, state))
    return false;
  if (state->declared)
    return failAt(where, "this tensor is declared already");
  return type(graph, *state);
}

/// `: f32[1,2] …`
bool Parser::type(GraphState &graph, ValueState &state) {
  if (!expect(':'))
    return false;
  Value &value = *state.value;
  state.declared = true;
  graph.declared.push_back(&state);
  auto known = token.kind == Token::Word ? tensorTypeFromShortName(token.text) : std::nullopt;
  if (!known)
    return expected("a tensor type");
  value.type = *known;
  value.hasRank = ranked;
  advance();
  if (at('[') && !shape(value))
    return false;
  while (token.kind == Token::Word)
    if (!modifier(graph, state))
      return false;
  return true;
}

bool Parser::dimensions(llvm::SmallVectorImpl<int32_t> &sizes) {
  return list('[', ']', [&] {
    if (sizes.size() == maxRank)
      return fail("at most " + Twine(maxRank) + " dimensions are supported");
    int64_t size;
    if (!integer(size, -1, INT32_MAX, "a dimension"))
      return false;
    sizes.push_back(size);
    return true;
  });
}

bool Parser::shape(Value &value) {
  Token where = token;
  value.hasShape = true;
  llvm::SmallVector<int32_t, 8> shape, signature;
  bool marked = false;
  if (!list('[', ']', [&] {
        if (signature.size() == maxRank)
          return fail("at most " + Twine(maxRank) + " dimensions are supported");
        int64_t size;
        if (!integer(size, -1, INT32_MAX, "a dimension"))
          return false;
        shape.push_back(size);
        bool open = accept('?');
        marked |= open;
        signature.push_back(open ? -1 : size);
        return true;
      }))
    return false;
  value.shape = shape;
  if (marked)
    value.setShapeSignature(model->copy(ArrayRef<int32_t>(signature)));
  uint64_t elements = 1;
  if (!llvm::is_contained(value.shape, 0) && !llvm::is_contained(value.shape, -1))
    for (int32_t size : value.shape)
      if (__builtin_mul_overflow(elements, static_cast<uint64_t>(size), &elements) || elements >> 58)
        return failAt(where, "the shape has more elements than can be counted");
  return true;
}

bool Parser::modifier(GraphState &graph, ValueState &state) {
  Value &value = *state.value;
  Token where = token;
  advance();
  if (where.text == "q")
    return quantization(graph, value);
  if (where.text == "ranked" || where.text == "unranked") {
    value.hasRank = where.text == "ranked";
    return true;
  }
  if (where.text == "variable")
    return value.isVariable = true;
  if (where.text == "sig") {
    llvm::SmallVector<int32_t, 8> sizes;
    if (!dimensions(sizes))
      return false;
    if (sizes.size() != value.shape.size())
      return failAt(where,
                    "the signature has " + Twine(sizes.size()) + " dimensions, the shape " + Twine(value.shape.size()));
    value.setShapeSignature(model->copy(ArrayRef<int32_t>(sizes)));
    return true;
  }
  if (where.text == "buffer") {
    if (token.kind == Token::Label) {
      state.bufferKind = ValueState::Labelled;
      return labelNumber(state.label);
    }
    if (!atWord("own") && !atWord("none"))
      return expected("'own', 'none' or the #number of a buffer");
    state.bufferKind = atWord("own") ? ValueState::Own : ValueState::None;
    advance();
    return true;
  }
  if (where.text == "name") {
    StringRef name;
    if (!text(name, "a name"))
      return false;
    value.name = name;
    return true;
  }
  if (where.text == "external")
    return integer(value.externalBuffer, "the id of an external buffer");
  if (where.text == "variants")
    return variants(value);
  if (where.text == "compression") {
    const wire::Enumeration &kinds = *wire::Schema::circle().enumeration("CompressionType");
    if (token.kind == Token::Number)
      return integer(value.compression, "a kind of compression");
    const wire::EnumValue *known = token.kind == Token::Word ? kinds.find(token.text) : nullptr;
    if (!known)
      return expected("a kind of compression");
    value.compression = known->value;
    advance();
    return true;
  }
  if (where.text == "sparse") {
    builder.Clear();
    flatbuffers::uoffset_t table;
    if (!parseTable(*this, *wire::Schema::circle().table("SparsityParameters"), builder, table))
      return false;
    value.setSparsity(reinterpret_cast<const circle::SparsityParameters *>(keepTable(table)));
    return true;
  }
  return failAt(where, "there is no attribute '" + where.text + "' of a tensor");
}

bool Parser::variants(Value &value) {
  llvm::SmallVector<VariantType> items;
  if (!list('[', ']', [&] {
        auto known = token.kind == Token::Word ? tensorTypeFromShortName(token.text) : std::nullopt;
        if (!known)
          return expected("a tensor type");
        advance();
        llvm::SmallVector<int32_t, 8> sizes;
        if (!dimensions(sizes))
          return false;
        bool hasRank = acceptWord("ranked");
        items.push_back({model->copy(ArrayRef<int32_t>(sizes)), *known, hasRank});
        return true;
      }))
    return false;
  value.setVariants(model->copy(ArrayRef<VariantType>(items)));
  return true;
}

/// A number or a list of them.
template <class T> bool Parser::numbers(ArrayRef<T> &items, const NumberKind &kind) {
  std::vector<T> values;
  auto number = [&] {
    uint64_t bits;
    if (!parseNumber(*this, kind, bits))
      return false;
    std::memcpy(&values.emplace_back(), &bits, sizeof(T));
    return true;
  };
  if (!(at('[') ? list('[', ']', number) : number()))
    return false;
  items = model->copy(ArrayRef<T>(values));
  return true;
}

bool Parser::quantization(GraphState &graph, Value &value) {
  Quantization q;
  Token where = token;
  NumberKind f32 = numberKind(TensorType::FLOAT32), i64 = numberKind(TensorType::INT64),
             i32 = numberKind(TensorType::INT32);
  auto details = [&](Quantization::Details kind) {
    q.details = kind;
    return list('{', '}', [&] {
      Token key = token;
      if (key.kind != Token::Word)
        return expected("a field of the details");
      advance();
      if (!expect('='))
        return false;
      if (key.text == "scales" || key.text == "zero_points") {
        bool scales = key.text == "scales";
        Quantization::More &more = q.more.make();
        if (acceptWord("raw"))
          return integer(scales ? more.rawScales : more.rawZeroPoints, "an index");
        return optional(graph, scales ? more.scales : more.zeroPoints);
      }
      if (key.text == "block_size")
        return integer(q.more.make().blockSize, "a block size");
      if (key.text == "dimensions" && kind == Quantization::Details::MultiAxis)
        return numbers(q.more.make().dimensions, i32);
      return failAt(key, "there is no field '" + key.text + "' of the details");
    });
  };
  if (value.quantization)
    return fail("the quantisation is given twice");
  if (!list('{', '}', [&] {
        Token key = token;
        if (key.kind != Token::Word)
          return expected("a field of the quantisation");
        advance();
        if (!expect('='))
          return false;
        if (key.text == "scale")
          return numbers(q.scale, f32);
        if (key.text == "zero_point")
          return numbers(q.zeroPoint, i64);
        if (key.text == "min")
          return numbers(q.min, f32);
        if (key.text == "max")
          return numbers(q.max, f32);
        if (key.text == "dim")
          return integer(q.dimension, "a dimension");
        if (q.details != Quantization::Details::None)
          return failAt(key, "there is no such field of the quantisation, or its details are given twice");
        if (key.text == "blockwise")
          return details(Quantization::Details::Blockwise);
        if (key.text == "multi_axis")
          return details(Quantization::Details::MultiAxis);
        if (key.text == "mx") {
          q.details = Quantization::Details::MX;
          return integer(q.more.make().axis, "an axis");
        }
        if (key.text == "custom") {
          q.details = Quantization::Details::Custom;
          std::string bytes;
          if (!hex(bytes))
            return false;
          q.more.make().custom =
              model->copy(ArrayRef<uint8_t>(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()));
          return true;
        }
        return failAt(key, "there is no field '" + key.text + "' of the quantisation");
      }))
    return false;
  if (!checkQuantization(where, value, q))
    return false;
  model->setQuantization(value, q);
  return true;
}

/// The rules that hold for files as well.
bool Parser::checkQuantization(const Token &where, const Value &value, const Quantization &q) {
  size_t scales = q.scale.size(), zeroPoints = q.zeroPoint.size();
  for (float scale : q.scale)
    if (!std::isfinite(scale) || scale < 0)
      return failAt(where, "a quantisation scale is negative, infinite or not a number");
  if (zeroPoints > 1 && zeroPoints != scales)
    return failAt(where, "there are " + Twine(zeroPoints) + " zero points for " + Twine(scales) + " scales");
  if (scales > 1 && (q.dimension < 0 || q.dimension >= value.rank()))
    return failAt(where, "the quantised dimension " + Twine(q.dimension) + " is not one of the shape's");
  if (scales > 1 && static_cast<size_t>(value.shape[q.dimension]) != scales)
    return failAt(where, "there are " + Twine(scales) + " scales for " + Twine(value.shape[q.dimension]) + " channels");
  return true;
}

/// `const …`, behind the declaration.
bool Parser::constant(ValueState &state) {
  state.constant = true;
  Payload *payload = &state.payload;
  if (token.kind == Token::Label) {
    Token where = token;
    if (!labelNumber(state.label))
      return false;
    state.bufferKind = ValueState::Labelled;
    if (token.kind == Token::Newline || token.kind == Token::End || at('}'))
      return true;
    Label &label = labels[state.label];
    if (label.defined)
      return failAt(where, "the bytes of #" + Twine(state.label) + " are given twice");
    label.defined = true;
    payload = &label.payload;
  }
  return data.constant(*state.value, *payload);
}

/// A line that begins with a tensor: a declaration, a constant, or the results of an operator.
bool Parser::results(GraphState &graph) {
  llvm::SmallVector<Value *, 4> values;
  llvm::SmallVector<Token, 4> places;
  ValueState *state = nullptr;
  do {
    places.push_back(token);
    if (acceptWord("_")) {
      values.push_back(nullptr);
      continue;
    }
    if (!declaration(graph, state))
      return false;
    values.push_back(state->value);
  } while (accept(','));
  if (!at('=') && values.size() == 1 && values[0])
    return true; // neither computed nor constant
  if (!expect('='))
    return false;
  if (acceptWord("const")) {
    if (values.size() != 1 || !values[0])
      return failAt(places[0], "a constant is one tensor");
    return constant(*state);
  }
  for (auto [value, place] : llvm::zip_equal(values, places)) {
    bool isOperand = false;
    if (value)
      value->forEachUse([&](Use &) { isOperand = true; });
    if (isOperand)
      return failAt(place, "operators have to be in execution order, but this result is an operand above");
  }
  return operation(graph, values);
}

} // namespace origo::text
