#pragma once

#include "origin/OriginMap.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/Sequence.h"

#include <memory>

namespace origo::origin {

/// The rows of a map's target and ledger one at a time: whoever can make them from something smaller need not hold a
/// million of them. A row is good until the next one is asked for.
class MapRows {
public:
  virtual ~MapRows() = default;
  virtual size_t operatorCount(size_t subgraph) const = 0;
  virtual size_t tensorCount(size_t subgraph) const = 0;
  virtual bool isConstant(size_t subgraph, size_t tensor) const = 0;
  virtual const OperatorRow &operatorRow(size_t subgraph, size_t index) = 0;
  virtual const TensorRow &tensorRow(size_t subgraph, size_t index) = 0;
  /// Calls `visit` for each row: operators by id, then tensors by id.
  virtual void ledger(llvm::function_ref<void(const MapLedgerRow &)> visit) = 0;

  auto operators(size_t subgraph) {
    return llvm::map_range(llvm::seq<size_t>(0, operatorCount(subgraph)),
                           [=, this](size_t i) -> const OperatorRow & { return operatorRow(subgraph, i); });
  }
  auto tensors(size_t subgraph) {
    return llvm::map_range(llvm::seq<size_t>(0, tensorCount(subgraph)),
                           [=, this](size_t i) -> const TensorRow & { return tensorRow(subgraph, i); });
  }
};

/// An origin map as those that write it take it: a whole one, or one without source and rows, which come from
/// elsewhere.
struct MapView {
  const OriginMap &map;
  const Listing &source;
  MapRows &rows;

  MapView(const OriginMap &map, const Listing &source, MapRows &rows) : map(map), source(source), rows(rows) {}
  MapView(const OriginMap &whole) : MapView(whole, std::make_unique<WholeRows>(whole)) {}

private:
  struct WholeRows final : MapRows {
    const OriginMap &map;
    const Target &target;
    explicit WholeRows(const OriginMap &map) : map(map), target(map.target) {}
    size_t operatorCount(size_t subgraph) const override { return target.subgraphs[subgraph].operators.size(); }
    size_t tensorCount(size_t subgraph) const override { return target.subgraphs[subgraph].tensors.size(); }
    bool isConstant(size_t subgraph, size_t tensor) const override {
      return target.subgraphs[subgraph].tensors[tensor].constant;
    }
    const OperatorRow &operatorRow(size_t subgraph, size_t index) override {
      return target.subgraphs[subgraph].operators[index];
    }
    const TensorRow &tensorRow(size_t subgraph, size_t index) override {
      return target.subgraphs[subgraph].tensors[index];
    }
    void ledger(llvm::function_ref<void(const MapLedgerRow &)> visit) override { llvm::for_each(map.ledger, visit); }
  };
  std::unique_ptr<MapRows> owned;
  MapView(const OriginMap &whole, std::unique_ptr<MapRows> rows)
      : map(whole), source(whole.source), rows(*rows), owned(std::move(rows)) {}
};

} // namespace origo::origin
