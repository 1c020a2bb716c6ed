#pragma once

#include "eval/Tensor.h"
#include "report/errors/ExactSum.h"

#include "llvm/ADT/StringRef.h"

#include <cmath>
#include <cstdint>
#include <optional>
#include <vector>

/// How far numbers are from those that they should be. docs/errors.md has the formulas.
namespace origo::report {

/// Of one tensor in one record; of one that is computed several times, of all those times.
struct RecordSums {
  uint64_t count = 0;                         ///< elements
  uint64_t odd = 0;                           ///< that only one of the two has a finite number for; they are in no sum
  double absolute = 0, squares = 0, most = 0; ///< of the differences
  double low = 0, high = 0;                   ///< of the reference
  double both = 0, first = 0, second = 0;     ///< products, for the cosine

  /// NaN equals NaN, and an infinity itself.
  void add(llvm::ArrayRef<double> reference, llvm::ArrayRef<double> have);
  /// The same of the real numbers that tensors stand for. False: they have none, or are not of one size.
  bool add(const eval::Tensor &reference, const eval::Tensor &have);
};

/// What follows for a tensor, all records together. None: it does not follow, as where the reference is one number.
struct ErrorFigures {
  double mse = 0;              ///< mean over records of the mean square
  double tae = 0;              ///< mean over records of the sum of what each element is off
  double mae = 0;              ///< mean over records of the mean of that
  double mpeir = 0;            ///< mean over records of the most that an element is off, in parts of the record's range
  double max = 0;              ///< the most that an element is off
  std::optional<double> srmse; ///< √mse in steps of the quantisation
  std::optional<double> psnr;  ///< in dB, of the range over all records; none too where nothing is off
  std::optional<double> cosine;    ///< mean over records
  std::optional<double> overRange; ///< the most that an element is off, in parts of the range of all records
  uint64_t odd = 0;                ///< elements that are finite in one of the two only
};

/// The order of records, and in how many parts they come, make no difference.
struct ErrorSums {
  uint64_t records = 0, directed = 0; ///< directed: those that have a cosine
  uint64_t odd = 0;
  double low = INFINITY, high = -INFINITY; ///< of the reference; low > high: it has no finite number
  double max = 0;
  ExactSum mse, tae, mae, mpeir, cosine;

  void add(const RecordSums &record);
  void add(const ErrorSums &other);
  bool empty() const { return records == 0; }
  /// `scale`: of the quantised tensor, where there is one.
  ErrorFigures figures(std::optional<double> scale) const;
};

/// A figure by its name.
struct ErrorMetric {
  llvm::StringRef name, meaning;
  std::optional<double> (*of)(const ErrorFigures &);
};
llvm::ArrayRef<ErrorMetric> errorMetrics();
const ErrorMetric *findErrorMetric(llvm::StringRef name); ///< in any case; null: there is none

} // namespace origo::report
