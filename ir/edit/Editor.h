#pragma once

#include "ir/Model.h"

namespace origo {

/// What goes from a model goes through here, and so gets its row in the ledger: dead code, what the user does not want,
/// what other parts have. Rewrites, which replace rather than remove, are made by its child, the Rewriter.
class Editor {
public:
  explicit Editor(Model &model) : model(model) {}
  virtual ~Editor() = default;
  Editor(const Editor &) = delete;

  /// Removes what nothing needs. What the source itself does not use is told apart from what became dead, or what the
  /// user did not want (`fate` UserRemoved). False: there was nothing.
  bool removeDeadCode(Fate fate = Fate::Dead);
  /// Makes these values the outputs of the first subgraph and of its signatures, and removes what they do not need. To
  /// be called before any rewrite.
  void changeOutputs(llvm::ArrayRef<Value *> outputs);
  /// Of its outputs, leaves these, in signatures under the names that they have, and removes what the others needed.
  void keepOutputs(llvm::ArrayRef<Value *> outputs);
  /// Where what does not stay goes: the part that has this operator of the divided subgraph, or, if there is none, this
  /// other subgraph; null: the user does not want it.
  using PartOf = llvm::function_ref<const Part *(const Operator *op, const Subgraph &graph)>;
  /// Keeps these operators of one subgraph, which becomes the first one, with what they call; the rest of the model
  /// goes. What they take from the rest become inputs, what they give it outputs; signatures go. `sourceProducers`: by
  /// source tensor, the source operator that makes it, or −1. To be called before any rewrite.
  llvm::Error keepOnly(llvm::StringRef pass, llvm::ArrayRef<Operator *> kept, PartOf partOf,
                       llvm::ArrayRef<int32_t> sourceProducers);
  /// Gives the inputs of the first subgraph these shapes (−1: known at run time only), and all that is computed from
  /// them what follows. A tensor of another shape is not the tensor of the source any more.
  llvm::Error resizeInputs(llvm::ArrayRef<llvm::SmallVector<int32_t, 4>> shapes);
  /// Drops buffers that no live value and no metadata entry refers to.
  void pruneBuffers();

protected:
  Model &model;
  llvm::StringRef pass;
  llvm::SmallVector<Operator *> doomed; ///< nothing needs them any more; erased at the end of an edit
  llvm::SmallVector<Operator *> spent;  ///< erased in the last edit, which may still be looked at
  llvm::SmallVector<std::pair<Subgraph *, Value *>> spentValues;
  const Part *part = nullptr; ///< that has what is buried now
  IdSet together;             ///< the operators of the source that cancel out in this edit
  /// Of constants: the source tensors that live on in a constant that this edit has made of it.
  llvm::SmallDenseMap<const Value *, IdSet, 4> carried;

  /// The surroundings of an operator have changed.
  virtual void changed(Operator &op) {}
  /// The edit sees itself to what becomes of this operator.
  virtual bool handles(const Operator &op) const { return false; }

  /// What takes the place of the user does without the operand, so that it is dead if nothing else needs it.
  virtual bool isUnneeded(const Use &use) const { return false; }

  void erase(Operator &op, Fate fate, Destinations *into);
  void eraseValue(Value &value, Fate fate, Destinations *into);
  void release(Value *value, Fate fate, Destinations *into);
  void eraseDoomed(Fate fate = Fate::Dead);
  void bury(bool tensors, IdSet ids, Fate fate, Destinations *into);
  bool removable(const Operator &op) const;
  void dropPayload(Value &value);
  /// Takes these subgraphs, which are empty, out of the model; where others cannot have other numbers, they stay.
  void dropSubgraphs(llvm::function_ref<bool(const Subgraph &)> isEmptied);

private:
  void forget(Value &value);
  bool resize(Value &value, llvm::ArrayRef<int32_t> shape);
  llvm::Error resizeResults(Subgraph &graph, llvm::DenseSet<const Value *> &resized);
  llvm::Error resizeCallees(Operator &op, llvm::DenseSet<const Value *> &resized);
};

} // namespace origo
