#include "ir/text/Parser.h"

#include "llvm/ADT/STLExtras.h"

namespace origo {

using llvm::StringRef;
using llvm::Twine;

namespace text {

llvm::Expected<std::unique_ptr<Model>> Parser::run() {
  while (token.kind == Token::Newline)
    advance();
  findGraphs();
  bool good = expectWord("origo");
  if (good && !(token.kind == Token::Number && token.text == "1"))
    good = expected("the version 1 of the text form");
  if (good) {
    advance();
    good = endOfStatement() && header();
  }
  while (good && token.kind != Token::End)
    good = statement();
  if (good)
    good = finish();
  if (!good)
    return takeError();
  return std::move(model);
}

/// Options name subgraphs that come later, so their names have to be known before.
void Parser::findGraphs() {
  Lexer ahead(source);
  uint32_t next = 0;
  for (Token previous, current = ahead.next();; previous = current, current = ahead.next()) {
    if (current.kind == Token::End)
      return;
    if (current.kind != Token::Graph || !previous.isWord("subgraph"))
      continue;
    uint32_t handle;
    std::string name = current.text.str();
    if (current.style == Token::Handle) {
      if (!current.text.getAsInteger(10, handle))
        graphHandles.try_emplace(handle, next);
    } else if (current.style == Token::Plain || unescape(*this, current, name)) {
      graphNames.try_emplace(name, next);
    }
    ++next;
  }
}

bool Parser::graphIndex(const Token &name, uint32_t &index) {
  if (name.kind != Token::Graph)
    return expected("the @name of a subgraph");
  if (name.style == Token::Handle) {
    uint32_t handle;
    auto it = name.text.getAsInteger(10, handle) ? graphHandles.end() : graphHandles.find(handle);
    if (it == graphHandles.end())
      return failAt(name, "there is no subgraph '@#" + name.text + "'");
    index = it->second;
    return true;
  }
  std::string key = name.text.str();
  if (name.style == Token::Quoted && !unescape(*this, name, key))
    return false;
  auto it = graphNames.find(key);
  if (it == graphNames.end())
    return failAt(name, "there is no subgraph '@" + printable(key, 60) + "'");
  index = it->second;
  return true;
}

bool Parser::endOfStatement() {
  if (token.kind != Token::Newline && token.kind != Token::End)
    return expected("the end of the line");
  while (token.kind == Token::Newline)
    advance();
  return true;
}

/// A string that is kept in the model.
bool Parser::text(StringRef &text, const Twine &what) {
  std::string value;
  if (!string(value, what))
    return false;
  text = value.empty() ? StringRef("") : model->copy(StringRef(value));
  return true;
}

bool Parser::header() {
  if (!expectWord("model"))
    return false;
  if (!atWord("circle") && !atWord("tflite"))
    return expected("'circle' or 'tflite'");
  model->format = atWord("tflite") ? Format::Tflite : Format::Circle;
  advance();
  if (acceptWord("version") && !integer(model->version, "the version"))
    return false;
  if (acceptWord("description")) {
    StringRef description;
    if (!text(description, "a description"))
      return false;
    model->description = description;
  }
  return endOfStatement();
}

bool Parser::statement() {
  bool good;
  if (acceptWord("subgraph"))
    good = subgraph();
  else if (acceptWord("signature"))
    good = signature();
  else if (acceptWord("metadata"))
    good = metadataEntry();
  else if (acceptWord("buffer"))
    good = bufferStatement();
  else if (acceptWord("default"))
    good = defaults();
  else if (acceptWord("opcodes"))
    good = opcodes();
  else if (acceptWord("external_group"))
    good = text(model->externalGroups.emplace_back(), "the name of a group");
  else if (acceptWord("external_buffer"))
    good = externalBuffer();
  else if (acceptWord("buffer_order"))
    good = permutation(bufferOrder);
  else if (acceptWord("archive"))
    good = data.bytes(model->archive);
  else if (acceptWord("metadata_buffers"))
    good = list('[', ']', [&] { return labelNumber(metadataBuffers.emplace_back(BufferRef{true}).label); });
  else
    return expected("'subgraph', 'signature', 'metadata' or another statement");
  return good && endOfStatement();
}

bool Parser::defaults() {
  if (!graphs.empty())
    return fail("'default' has to come before the subgraphs");
  if (acceptWord("own_buffer"))
    ownBuffer = true;
  else if (acceptWord("no_buffers"))
    noBuffers = true;
  else if (acceptWord("ranked"))
    ranked = true;
  else
    return expected("'own_buffer', 'no_buffers' or 'ranked'");
  return true;
}

bool Parser::opcodes() {
  hasOpcodes = true;
  return list('[', ']', [&] { return opcode(model->opcodes.emplace_back()); });
}

bool Parser::externalBuffer() {
  ExternalBuffer buffer{};
  if (!integer(buffer.id, "an id") || !expectWord("group") || !integer(buffer.group, "the index of a group") ||
      !expectWord("offset") || !unsigned64(buffer.offset, "a number of bytes") || !expectWord("length") ||
      !unsigned64(buffer.length, "a number of bytes"))
    return false;
  if (acceptWord("packing") && !text(buffer.packing, "a string"))
    return false;
  model->externalBuffers.push_back(buffer);
  return true;
}

bool Parser::signatureEntries(StringRef word, GraphState *graph, std::vector<Signature::Entry> &entries) {
  return expectWord(word) && list('(', ')', [&] {
           Signature::Entry entry{{}, nullptr};
           if (!text(entry.name, "the name of a tensor in the signature") || !expect('='))
             return false;
           if (acceptWord("raw")) {
             if (!integer(entry.rawTensor, "the index of a tensor"))
               return false;
           } else {
             ValueState *state;
             if (!graph)
               return expected("'raw'");
             Token where = token;
             if (!mention(*graph, state))
               return false;
             if (!state->declared)
               return failAt(where, "there is no such tensor in the subgraph");
             entry.value = state->value;
           }
           entries.push_back(entry);
           return true;
         });
}

bool Parser::signature() {
  Signature signature;
  if (!text(signature.key, "the key of a signature"))
    return false;
  GraphState *graph = nullptr;
  if (acceptWord("raw")) {
    if (!integer(signature.rawSubgraph, "the index of a subgraph"))
      return false;
  } else {
    uint32_t index;
    if (!graphIndex(token, index))
      return false;
    if (index >= graphs.size())
      return fail("a signature has to come behind its subgraph");
    graph = graphs[index].get();
    signature.subgraph = graph->graph;
    advance();
  }
  if (!signatureEntries("inputs", graph, signature.inputs) || !signatureEntries("outputs", graph, signature.outputs))
    return false;
  if (acceptWord("tag") && !text(signature.deprecatedTag, "the tag of the signature"))
    return false;
  model->addSignature(std::move(signature));
  return true;
}

bool Parser::labelNumber(uint32_t &label) {
  if (token.kind != Token::Label || token.text.getAsInteger(10, label))
    return expected("the #number of a buffer");
  advance();
  return true;
}

bool Parser::metadataEntry() {
  BufferRef &ref = metadata.emplace_back();
  if (!text(model->metadata.emplace_back().name, "the name of a metadata entry"))
    return false;
  ref.labelled = token.kind == Token::Label;
  return ref.labelled ? labelNumber(ref.label) : data.bytes(ref.payload);
}

/// `buffer` alone, `buffer = data`, `buffer #3 = data`.
bool Parser::bufferStatement() {
  if (token.kind == Token::Label) {
    Token where = token;
    uint32_t number;
    if (!labelNumber(number) || !expect('='))
      return false;
    Label &label = labels[number];
    if (label.defined)
      return failAt(where, "the bytes of #" + Twine(number) + " are given twice");
    label.defined = true;
    return data.bytes(label.payload);
  }
  BufferRef &ref = spareBuffers.emplace_back();
  return !accept('=') || data.bytes(ref.payload);
}

bool Parser::permutation(std::vector<uint32_t> &positions) {
  while (token.kind == Token::Number) {
    Token where = token;
    uint32_t first, last;
    if (!integer(first, "a position"))
      return false;
    last = first;
    if (token.kind == Token::Range) {
      advance();
      if (!integer(last, "a position"))
        return false;
    }
    // What can be numbered has a mention in the text, if only of one byte.
    if (last < first || last - first >= source.size() || positions.size() > source.size())
      return failAt(where, "expected ascending positions of what is in the text");
    for (uint64_t position = first; position <= last; ++position)
      positions.push_back(position);
  }
  return true;
}

} // namespace text

llvm::Expected<std::unique_ptr<Model>> parseText(StringRef text, StringRef directory, PayloadStore &store) {
  return text::Parser(text, directory, store).run();
}

} // namespace origo
