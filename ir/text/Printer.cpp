#include "ir/text/Printer.h"

#include "ir/text/Origins.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/StringMap.h"

namespace origo {

using llvm::StringRef;

namespace text {

Token::Style styleOf(StringRef name, bool unique) {
  if (name.empty() || !unique)
    return Token::Handle;
  return isPlainName(name) ? Token::Plain : Token::Quoted;
}

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

void Printer::opcodes(const Model &model) {
  if (!options.layout)
    return;
  std::vector<Model::OpcodeRow> rows;
  // There are a few dozen kinds in a model, so most operators are found at once.
  llvm::StringMap<bool> seen;
  for (auto &graph : model.subgraphs)
    for (const Operator &op : graph->operators) {
      std::string key =
          (llvm::Twine(static_cast<int32_t>(op.code)) + "." + llvm::Twine(op.version) + "." + op.customCode()).str();
      if (seen.try_emplace(key, true).second)
        rows.push_back({op.code, op.version, op.customCode()});
    }
  if (rows == model.opcodes)
    return;
  os << "opcodes ";
  list("[", model.opcodes, "]", [&](const Model::OpcodeRow &row) { opcode(row.code, row.version, row.customCode); });
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
  os << " {";
  if (options.origins)
    for (const Value *input : graph.inputs)
      // It took the place of another tensor, or is stored otherwise.
      if (input->relations.size() > 1 || (!input->relations.empty() && input->relations.front().steps != 0)) {
        os << "  ; ";
        label(input);
        os << ' ';
        printOrigins(os, *input, *taint);
      }
  os << '\n';
  std::string comment;
  auto end = [&](const auto &item) {
    if (options.origins) {
      comment.clear();
      llvm::raw_string_ostream stream(comment);
      printOrigins(stream, item, *taint);
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
    list(" outputs(", signature.outputs, ")", entry);
    if (!signature.deprecatedTag.empty()) {
      os << " tag ";
      printQuoted(os, signature.deprecatedTag);
    }
    os << '\n';
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
  if (options.origins)
    taint.emplace(model);
  for (auto &graph : model.subgraphs)
    nameValues(*graph);
  nameGraphs(model);
  studyBuffers(model);
  header(model);
  for (auto &graph : model.subgraphs)
    subgraph(*graph);
  tail(model);
}

} // namespace text

llvm::Error writeText(Model &model, llvm::raw_ostream &os, const PrintOptions &options) {
  text::DataWriter data(options);
  text::Printer(os, options, data).model(model);
  return data.finish();
}

void printText(Model &model, llvm::raw_ostream &os, const PrintOptions &options) {
  if (llvm::Error error = writeText(model, os, options))
    llvm::report_fatal_error(std::move(error), /*gen_crash_diag=*/false);
}

void printOperator(const Operator &op, llvm::raw_ostream &os) {
  PrintOptions options;
  text::DataWriter data(options);
  text::Printer(os, options, data).op(op);
  llvm::cantFail(data.finish());
}

void printOptions(const Operator &op, llvm::raw_ostream &os) {
  PrintOptions options;
  text::DataWriter data(options);
  text::Printer(os, options, data).optionsOf(op);
  llvm::cantFail(data.finish());
}

} // namespace origo
