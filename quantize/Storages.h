#pragma once

#include "ir/StoragePlan.h"
#include "quantize/Constraints.h"
#include "quantize/Parameters.h"
#include "quantize/Scheme.h"

namespace origo::quantize {

/// Is it a tensor of floats?
bool isReal(const Value *value);

/// What records, or whoever trained the model, have noted of how far a tensor goes. None: nothing finite.
std::optional<Extremes> recordedRange(const Value &value);

/// Weights that came with scales, from --quantize_dequantize_weights, keep them.
bool hasOwnScales(const Value &constant);

Scaling scalingOf(const Operator &op, const Scheme &scheme);

/// How each tensor of an operator is to be stored: type, scales and zero points. Null: there is no range, or one that
/// no scale can hold.
class Storages {
public:
  Storages(Model &model, const Scheme &scheme, std::deque<Storage> &kept) : model(model), scheme(scheme), kept(kept) {}

  const Storage *keep(Storage storage) { return &kept.emplace_back(std::move(storage)); }
  const Storage *make(TensorType type, llvm::ArrayRef<Parameters> parameters, int32_t axis, Extremes range = {},
                      llvm::ArrayRef<Value *> parents = {});
  const Storage *ofRange(TensorType type, Extremes range) {
    return make(type, activationParameters(range, type, scheme.dialect), 0, range);
  }
  /// With the zero point 0: of a tensor that has it given by its operator.
  const Storage *aroundZero(TensorType type, Extremes range);
  /// The same with a greater scale, of which one step more or less is at the same lowest number.
  const Storage *withScale(const Storage &storage, float scale);
  /// How far a tensor goes: a constant, or what records tell.
  std::optional<Extremes> rangeOf(const Value &value);
  /// The same for all who find or leave the tensor in that type.
  const Storage *ofTensor(const Value &value, TensorType type);
  void agree(const Value &value, const Storage *storage) {
    canonical[{&value, static_cast<unsigned>(storage->type)}] = storage;
  }
  const Storage *ofWeights(const Operator &op, const Weights &weights, const Scheme::Choice &choice,
                           const StoragePlan::Decision &decision);
  const Storage *ofBias(const Operator &op, unsigned position, const Weights &weights, const Scheme::Choice &choice,
                        const StoragePlan::Decision &decision);
  const Storage *ofConstant(const Operator &op, unsigned position, const Scheme::Choice &choice);
  const Storage *ofResult(const Operator &op, unsigned i, Scaling scaling, const Scheme::Choice &choice,
                          const StoragePlan::Decision &decision);
  /// Read once for all uses.
  const std::vector<Extremes> &extremesOf(const Value &constant, int32_t axis);

private:
  Model &model;
  const Scheme &scheme;
  std::deque<Storage> &kept;
  llvm::DenseMap<std::pair<const Value *, unsigned>, const Storage *> canonical;
  llvm::DenseMap<std::pair<const Value *, int32_t>, std::vector<Extremes>> extremes;

  const Storage *ofBlocks(const Value &weights, const Scheme::Choice &choice);
  const Storage *carried(const Value &value);
  const Storage *withReach(const Storage &plain);
  const Storage *ofExactChannels(const Value &constant, TensorType type);
};

} // namespace origo::quantize
