#pragma once

#include "llvm/ADT/ArrayRef.h"

#include <vector>

namespace origo::report {

/// A sum of doubles without rounding, so that it does not depend on the order of what is added: kept as doubles of
/// which none reaches into another (Shewchuk 1997).
class ExactSum {
public:
  void add(double number);
  void add(const ExactSum &other);
  /// The double next to the sum; NaN, if something infinite was added.
  double value() const;
  /// Doubles that add up to the sum, the same ones for the same sum.
  std::vector<double> parts() const;

private:
  std::vector<double> pieces; ///< from the least to the greatest
  bool finite = true;
};

} // namespace origo::report
