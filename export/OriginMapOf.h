#pragma once

#include "export/Tables.h"
#include "ir/Taint.h"
#include "origin/codec/MapView.h"

#include "llvm/ADT/DenseMap.h"

namespace origo {

/// The origin map of a numbered model whose tables have been built. What grows with the model is not copied for it: the
/// rows of the target are made from the graph and the tables when they are asked for, and the source is that of the
/// lineage. All of them must outlive it.
class MapOfModel final : origin::MapRows {
public:
  /// The lineage must have a source. `file` is the name of the file that is written.
  MapOfModel(Model &model, const origin::Lineage &lineage, const Tables &tables, std::string file);
  origin::MapView view();
  /// With source and rows.
  origin::OriginMap whole();

private:
  struct Dropped {
    uint32_t tensor;
    const Value *value;
  };

  Model &model;
  const Tables &tables;
  const origin::Listing &source;
  Taint taint;
  std::optional<origin::FileRows> file;
  std::vector<std::vector<const Operator *>> byIndex; ///< operators by subgraph and index
  std::vector<Dropped> dropped;                       ///< relations that the file cannot say
  origin::OriginMap map; ///< without source and rows, but for those of the ledger that come from `dropped`
  std::optional<origin::OriginMap> mutated;
  origin::OperatorRow operatorScratch;
  origin::TensorRow tensorScratch;
  origin::MapLedgerRow ledgerScratch;
  origin::MapSteps stepScratch; ///< those of `lastSteps`
  uint32_t lastSteps = 0;
  llvm::DenseMap<const char *, origin::Word> words; ///< by address: texts of the model stay where they are

  size_t operatorCount(size_t subgraph) const override { return file->operatorCount(subgraph); }
  size_t tensorCount(size_t subgraph) const override { return file->tensorCount(subgraph); }
  bool isConstant(size_t subgraph, size_t tensor) const override {
    return file->kind(subgraph, tensor) == origin::TensorKind::Constant;
  }
  const origin::OperatorRow &operatorRow(size_t subgraph, size_t index) override;
  const origin::TensorRow &tensorRow(size_t subgraph, size_t index) override;
  void ledger(llvm::function_ref<void(const origin::MapLedgerRow &)> visit) override;

  size_t made = 0;        ///< rows
  std::vector<bool> live; ///< source operators that something stands for; made when it is first needed

  /// Rows need what is in files, the input and the tables: none of it for long.
  void restNowAndThen();
  origin::Word word(llvm::StringRef text);
  void members(IdSet set, std::vector<uint32_t> &ids) const;
  void movedPast(const Operator &op, std::vector<uint32_t> &ids);
  bool isMoved(const Value &constant) const;
  bool expressible(const Relation &relation, const Value &value) const;
  const origin::MapSteps &steps(const Relation &relation, const Value &value);
  void findDropped();
  void addDroppedTensors();
  void writeUnneeded();
  void refuseLost();
};

/// An error where there is none.
llvm::Error checkHasSource(const origin::Lineage &lineage);
origin::Listing listingOf(const Model &model, const Tables &tables);

} // namespace origo
