#pragma once

#include "report/target/Target.h"

#include "llvm/ADT/DenseMap.h"

/// What becomes of a model on a back end: which operators it takes together, and what is left.
namespace origo::report {

struct Prediction {
  /// Operators of one graph that the back end runs as one, in file order.
  struct Part {
    unsigned subgraph;
    std::vector<const Operator *> operators;
  };
  std::vector<Part> parts;
  llvm::DenseMap<const Operator *, unsigned> partOf; ///< of those that are taken
  std::vector<unsigned> runs;                        ///< by subgraph: parts of the back end and of the rest together
  const Operator *refusedFor = nullptr;              ///< the one for which nothing of the model is taken
  uint64_t operators = 0, taken = 0;
  uint64_t macs = 0, takenMacs = 0;

  bool takes(const Operator &op) const { return partOf.count(&op); }
  double macShare() const { return macs ? double(takenMacs) / double(macs) : 0; }
};

/// As the framework divides: what can run by then and is of the current kind joins, then the kind changes. So the
/// number of parts does not depend on the order in the file.
Prediction predict(const Model &model, const Target &target);

/// "2 parts take 79 of 83 operators, 99.8 % of the multiply-adds".
std::string predictionText(const Prediction &prediction);

/// {"supported", "violations", "partition"}.
std::string predictionJson(llvm::ArrayRef<Violation> violations, const Prediction &prediction);

} // namespace origo::report
