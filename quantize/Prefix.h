#pragma once

#include "ir/StoragePlan.h"
#include "quantize/Calibrate.h"

#include <map>

namespace origo::quantize {

/// Two copies of a graph that run beside each other on records, from one linear operator to the next: the float one,
/// and one that is quantised as a plan says, as far as it has run. What lives from one stretch to the next is kept, so
/// that each operator runs once a record.
class Prefix {
public:
  /// `stops`: operators before which a stretch ends, in the order of the graph.
  Prefix(Model &model, Subgraph &graph, const StoragePlan &plan, std::vector<const Operator *> stops)
      : model(model), graph(graph), plan(plan), stops(std::move(stops)) {}
  ~Prefix();
  Prefix(const Prefix &) = delete;
  /// Compiles the graph, and reads as many records as there is memory for. False: its shapes follow from what it
  /// computes, records have others than it states, or they take too much.
  llvm::Expected<bool> open(OpenRecords records);
  /// Runs up to the next stop; false: there is none.
  llvm::Expected<bool> next();
  /// Where it stands.
  const Operator &stop() const { return *stops[at - 1]; }
  uint64_t count() const { return records.size(); }
  /// A tensor that lives there, or an input of the graph: in the float network, and in the other one.
  struct Both {
    llvm::ArrayRef<float> real, quantized;
    llvm::ArrayRef<int32_t> shape;
  };
  Both tensor(uint64_t record, const Value &value) const;
  /// What a constant of the operator where it stands is in the quantised network.
  void set(const Value &constant, std::vector<float> numbers);
  /// What its result has added, by channel, where it has no bias.
  void shift(std::vector<float> numbers) { added = std::move(numbers); }

private:
  using Kept = std::map<const Value *, eval::OwnedTensor>;
  struct Record {
    std::vector<eval::OwnedTensor> inputs, quantizedInputs;
    Kept real, quantized;
  };
  Model &model;
  Subgraph &graph;
  const StoragePlan &plan;
  std::vector<const Operator *> stops;
  size_t at = 0;
  std::vector<Record> records;
  std::optional<eval::Session> session; ///< of floats
  eval::State state;
  std::vector<const Value *> inputs;
  std::vector<std::pair<Value *, llvm::ArrayRef<int32_t>>> openShapes; ///< that are taken as the model states them
  llvm::DenseMap<const Operator *, size_t> stretchOf;
  llvm::DenseMap<const Value *, size_t> lastUse; ///< by stretch
  std::map<const Value *, std::vector<float>> changed;
  std::vector<float> added;

  bool divide(const llvm::DenseSet<const Value *> &always, uint64_t &bytes);
  const Storage *storageOf(const Value &value) const;
  eval::RunPart partOf(size_t stretch) const;
  void roundConstants(size_t stretch);
  llvm::Error run(size_t stretch, const eval::Session &with, Record &record, bool quantizes, eval::State &state);
};

/// Rounds floats to what a storage of one scale can hold.
void roundTo(const Storage &storage, llvm::MutableArrayRef<float> numbers);

} // namespace origo::quantize
