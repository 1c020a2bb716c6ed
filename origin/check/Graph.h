#pragma once

#include "origin/Files.h"
#include "schema/OnnxOperators.h"
#include "schema/OperatorTable.h"
#include "schema/circle_generated.h"

#include "llvm/ADT/SmallVector.h"

/// A model file as the checker sees it: its tables in flat lists, every index bounds-checked. Operators and tensors
/// have running ids over all subgraphs in file order, in source and written file alike. Read on its own, not through
/// origin::describe: what writes the map must not also judge it.
namespace origo::origin {

struct FileSubgraph {
  const circle::SubGraph *table;
  uint32_t firstOperator, operatorCount, firstTensor, tensorCount;
};

class FileGraph {
public:
  explicit FileGraph(const ModelView &view);

  struct Opcode {
    int32_t code;
    int32_t version;
    std::string_view custom;
    const OperatorInfo *info; ///< null outside the table
    const OperatorInfo *like; ///< the same; of a node of ONNX, and of one under TensorFlow's name, what it is like
    const OnnxOperator *onnx; ///< of a node of ONNX; null: nothing is known of it
  };

  std::vector<FileSubgraph> subgraphs;
  std::vector<const circle::Operator *> operators;
  std::vector<const circle::Tensor *> tensors;
  std::vector<int32_t> producer; ///< by tensor id: operator id or −1
  std::vector<TensorKind> kind;  ///< by tensor id

  bool tflite() const { return view->tflite; }
  const circle::Model &model() const { return *reinterpret_cast<const circle::Model *>(view->model); }
  const Opcode &opcode(uint32_t op) const;
  std::string operatorName(uint32_t op) const;    ///< the schema's enumerator or a decimal number
  std::string_view customCode(uint32_t op) const; ///< of CUSTOM
  std::string_view tensorName(uint32_t tensor) const;
  uint32_t subgraphOfOperator(uint32_t op) const;
  uint32_t subgraphOfTensor(uint32_t tensor) const;

  /// The id over all subgraphs of a tensor index; −1 for an absent one and one out of range.
  int32_t tensorId(const FileSubgraph &graph, int64_t index) const {
    return index >= 0 && index < graph.tensorCount ? static_cast<int32_t>(graph.firstTensor + index) : -1;
  }
  /// Calls `visit` with the id or −1 of each operand or result.
  template <class F> void forEachInput(uint32_t op, F visit) const { forEach(op, operators[op]->inputs(), visit); }
  template <class F> void forEachOutput(uint32_t op, F visit) const { forEach(op, operators[op]->outputs(), visit); }
  template <class F> void forEachIntermediate(uint32_t op, F visit) const {
    forEach(op, operators[op]->intermediates(), visit);
  }
  /// The subgraphs that the operator's options name.
  llvm::SmallVector<uint32_t, 2> callees(uint32_t op) const;
  /// The options table of the operator's own row, from whichever union it is in; null if it has none.
  const flatbuffers::Table *options(uint32_t op) const;
  ModelView::Bytes payload(uint32_t tensor) const;
  /// A reduction along axes of one element each: it leaves every number as it is.
  bool reducesNothing(uint32_t op) const;
  /// A sum with zeros or a product with ones, of floats.
  bool addsNothing(uint32_t op) const;
  /// Does it stand in a subgraph that is called, and add to, or multiply, what `equals` by a number that a call may
  /// give, which may be zero or one?
  bool mayAddNothing(uint32_t op, llvm::function_ref<bool(uint32_t)> equals) const;
  /// Does it hold of each number that an operator of two adds, takes away, multiplies or divides by? None: not known.
  std::optional<bool> everyNumber(uint32_t op, llvm::function_ref<bool(float)> holds) const;

private:
  const ModelView *view;
  std::vector<Opcode> opcodes;

  template <class F> void forEach(uint32_t op, const flatbuffers::Vector<int32_t> *list, F visit) const {
    if (!list)
      return;
    const FileSubgraph &graph = subgraphs[subgraphOfOperator(op)];
    for (int32_t index : *list)
      visit(tensorId(graph, index));
  }
  void classifyTensors();
  std::optional<int64_t> elementsOf(int32_t tensor) const; ///< none where it is not known, and of a single number
};

} // namespace origo::origin
