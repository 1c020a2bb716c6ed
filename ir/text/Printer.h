#pragma once

#include "ir/Taint.h"
#include "ir/text/Data.h"
#include "ir/text/Tables.h"

#include "llvm/ADT/STLExtras.h"

namespace origo::text {

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
  void optionsOf(const Operator &op);

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
  std::optional<Taint> taint;    ///< where origins are printed

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
  void graphName(llvm::StringRef name, Token::Style style, uint64_t handle, llvm::StringRef sigil);
  void declaration(const Value &value);
  void shape(const Value &value);
  void dimensions(llvm::ArrayRef<int32_t> sizes);
  void quantization(const Quantization &quantization);
  void bufferOf(const Value &value);
  void constant(const Value &value);
  void opcode(BuiltinOperator code, int32_t version, llvm::StringRef customCode);
  void operands(const Operator &op);
  void table(const wire::EnumValue &member, const flatbuffers::Table &table, const Operator &op);
  void unionOf(const Operator &op, const Options &options, bool second);
  void permutation(llvm::ArrayRef<uint32_t> positions);
  void bufferLabel(const Buffer *buffer);

  template <class T, class F> void list(llvm::StringRef open, const T &items, llvm::StringRef close, F print) {
    os << open;
    llvm::interleaveComma(items, os, print);
    os << close;
  }
  template <class T> void array(llvm::StringRef key, llvm::ArrayRef<T> items, NumberKind kind) {
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

Token::Style styleOf(llvm::StringRef name, bool unique);

} // namespace origo::text
