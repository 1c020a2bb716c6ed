#pragma once

#include "ir/text/Data.h"
#include "ir/text/Tables.h"

#include <deque>
#include <map>

namespace origo::text {

/// Recursive descent over one text. What is said of buffers is collected and done at the end, when the order of the
/// values is known.
class Parser : Reader {
public:
  Parser(llvm::StringRef source, llvm::StringRef directory, PayloadStore &store)
      : Reader(source), source(source), data(*this, directory, store, source.size()), model(std::make_unique<Model>()) {
  }
  llvm::Expected<std::unique_ptr<Model>> run();

private:
  /// A value from its first mention on, which may come before its declaration.
  struct ValueState {
    enum BufferKind : uint8_t { Default, Own, None, Labelled };
    Value *value;
    uint32_t line, column;
    bool declared = false, constant = false;
    BufferKind bufferKind = Default;
    uint32_t label = 0;
    Payload payload = {};
  };
  struct GraphState {
    Subgraph *graph;
    std::deque<ValueState> values;      ///< in the order of first mention
    std::vector<ValueState *> declared; ///< in the order of declaration, then of the file
    llvm::StringMap<ValueState *> byName;
    llvm::DenseMap<uint64_t, ValueState *> byHandle; ///< wider than handles, because DenseMap reserves two keys
  };
  struct Label {
    Payload payload;
    bool defined = false;
    Buffer *buffer = nullptr;
  };
  struct BufferRef { ///< of metadata
    bool labelled = false;
    uint32_t label = 0;
    Payload payload = {};
  };
  struct Caller {
    const Operator *op;
    uint32_t line, column;
  };

  llvm::StringRef source;
  DataReader data;
  std::unique_ptr<Model> model;
  std::vector<std::unique_ptr<GraphState>> graphs;
  llvm::StringMap<uint32_t> graphNames;
  llvm::DenseMap<uint64_t, uint32_t> graphHandles;
  std::map<uint32_t, Label> labels; // references stay valid
  bool ownBuffer = false, noBuffers = false, ranked = false, hasOpcodes = false;
  std::vector<BufferRef> metadata, metadataBuffers, spareBuffers;
  std::vector<uint32_t> bufferOrder;
  std::vector<Caller> callers;
  flatbuffers::FlatBufferBuilder builder;
  llvm::DenseMap<const wire::TableType *, const flatbuffers::Table *> emptyTables;

  // Statements.
  bool statement();
  bool endOfStatement();
  bool header();
  bool defaults();
  bool opcodes();
  bool externalBuffer();
  bool signature();
  bool signatureEntries(llvm::StringRef word, GraphState *graph, std::vector<Signature::Entry> &entries);
  bool metadataEntry();
  bool bufferStatement();
  bool permutation(std::vector<uint32_t> &positions);
  bool text(llvm::StringRef &text, const llvm::Twine &what);
  bool labelNumber(uint32_t &label);
  bool defineLabel(uint32_t label);

  // Subgraphs and values.
  void findGraphs();
  bool graphIndex(const Token &name, uint32_t &index);
  bool subgraph();
  bool body(GraphState &graph);
  bool endOfGraph(GraphState &graph, const std::vector<uint32_t> &order, const Token &where);
  bool mention(GraphState &graph, ValueState *&state);
  bool optional(GraphState &graph, Value *&value);
  bool declaration(GraphState &graph, ValueState *&state);
  bool type(GraphState &graph, ValueState &state);
  bool shape(Value &value);
  bool dimensions(llvm::SmallVectorImpl<int32_t> &sizes);
  bool modifier(GraphState &graph, ValueState &state);
  bool variants(Value &value);
  bool quantization(GraphState &graph, Value &value);
  bool quantizationDetails(GraphState &graph, Quantization &quantization);
  bool checkQuantization(const Token &where, const Value &value, const Quantization &quantization);
  template <class T> bool numbers(llvm::ArrayRef<T> &items, const NumberKind &kind);
  bool constant(ValueState &state);

  // Operators.
  bool results(GraphState &graph);
  bool operation(GraphState &graph, llvm::ArrayRef<Value *> results);
  bool opcode(Model::OpcodeRow &row);
  bool operands(GraphState &graph, const OperatorInfo *row, llvm::SmallVectorImpl<Value *> &operands);
  bool attributes(GraphState &graph, Operator &op);
  bool attribute(GraphState &graph, Operator &op, bool &ownTable);
  bool optionsTable(const OperatorInfo *row, const wire::TableType &type, const flatbuffers::Table *&table);
  bool otherOptions(Operator &op, bool &ownTable);
  const flatbuffers::Table *keepTable(flatbuffers::uoffset_t table);
  const flatbuffers::Table *emptyTable(const wire::TableType &type);

  // The end.
  bool finish();
  void addOpcodes();
  bool addBuffers();
  bool bufferFor(ValueState &state);
  Buffer *labelled(uint32_t label);
  Buffer *bufferFor(const BufferRef &ref);
  bool checkCalls();
  bool checkExternals();
};

} // namespace origo::text
