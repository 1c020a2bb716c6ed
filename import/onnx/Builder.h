#pragma once

#include "import/onnx/Onnx.h"
#include "import/onnx/Reader.h"
#include "ir/Undetermined.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

/// Builds our graphs of the messages of an ONNX file.
namespace origo::onnx {

/// What a function is found by.
inline std::string keyOf(llvm::StringRef domain, llvm::StringRef name, llvm::StringRef overload) {
  return (domain + "\n" + name + "\n" + overload).str();
}
inline std::string inQuotes(llvm::StringRef name) { return "\"" + printable(name) + "\""; }

class Builder {
public:
  Builder(std::shared_ptr<MappedFile> file, const ModelProto &proto, const InputShapes &shapes, Model &model)
      : file(std::move(file)), proto(proto), shapes(shapes), model(model) {}
  llvm::Error run();
  void metadata(bool keepPaths);
  /// By subgraph: its nodes, as operators stand in it.
  std::vector<std::pair<const GraphProto *, std::vector<size_t>>> sorted;

private:
  std::shared_ptr<MappedFile> file;
  const ModelProto &proto;
  const InputShapes &shapes;
  Model &model;
  llvm::StringMap<std::shared_ptr<MappedFile>> beside;
  /// A graph that is being built. Bodies see the names of those around them.
  struct Scope {
    const GraphProto &proto;
    Subgraph *graph;
    Scope *outer;
    const FunctionProto *function = nullptr;            ///< that it is of, or of a body in which it is
    llvm::StringMap<const AttributeProto *> given = {}; ///< what a call of that says of attributes
    llvm::StringSet<> absent = {};                      ///< inputs of the function that the call does not give
    llvm::StringMap<Value *> values = {};
    llvm::StringMap<size_t> makers = {}; ///< by name of a value: the node that it is a result of
    std::vector<std::string> taken = {}; ///< names of values around it that it uses, in the order of their first use
  };
  Scope *scope = nullptr;

  Place placeOf(size_t node) const {
    const NodeProto &of = scope->proto.nodes[node];
    return {.subgraph = static_cast<int>(scope->graph->index),
            .op = static_cast<int>(node),
            .name = of.name.str(),
            .opName = of.op.str()};
  }
  Value *lookup(Scope &from, llvm::StringRef name);
  llvm::Error body(Scope &inner);
  llvm::Error build();
  static const GraphProto *loopedBody(const NodeProto &node);
  bool goesOn(const GraphProto &body) const;
  /// A Scan of version 8, whose first operand is none of its body's.
  bool isBatchedScan(const NodeProto &node) const {
    return node.op == "Scan" && node.domain.empty() && opset("").value_or(0) < 9;
  }
  llvm::Error loop(const NodeProto &node, const GraphProto &graph, llvm::SmallVectorImpl<Value *> &operands,
                   llvm::ArrayRef<Value *> results);
  llvm::Error choice(const NodeProto &node, llvm::ArrayRef<Value *> operands, llvm::ArrayRef<Value *> results);
  llvm::DenseMap<const FunctionProto *, Subgraph *> called; ///< functions without attributes
  size_t depth = 0, built = 0;                              ///< functions that call each other; nodes of functions
  llvm::StringMap<const FunctionProto *> functions;         ///< by domain, name and overload
  const FunctionProto *findFunction(const NodeProto &node) const;
  llvm::Error call(const FunctionProto &function, const NodeProto &node, llvm::ArrayRef<Value *> operands,
                   llvm::ArrayRef<Value *> results);
  const AttributeProto *resolved(const AttributeProto &attribute) const;
  std::optional<int64_t> opset(llvm::StringRef domain) const {
    return scope->function ? scope->function->opsets.of(domain) : proto.opsets.of(domain);
  }
  Value &result(llvm::StringRef name);
  Value *valueToMake(llvm::StringRef name, size_t node);
  llvm::Error define(llvm::StringRef name, Value &value);
  llvm::Expected<std::shared_ptr<MappedFile>> openBeside(llvm::StringRef location);
  llvm::Expected<Payload> payload(const TensorProto &tensor, uint64_t size);
  llvm::Expected<Value *> constant(const TensorProto &tensor, llvm::StringRef name);
  llvm::Error input(const ValueInfo &info);
  llvm::Expected<std::vector<size_t>> order() const;
  llvm::Error node(size_t index);
  llvm::Expected<std::string> attributes(const NodeProto &node, llvm::SmallVectorImpl<Value *> &operands);
};

} // namespace origo::onnx
