#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"

#include <cstddef>
#include <optional>
#include <vector>

/// Rows of weights that are rounded so that what they are multiplied with makes the least of the errors.
namespace origo::quantize {

/// The mean square of what a row's errors make, as a form: eᵀ H e.
class ErrorForm {
public:
  /// `products`: of the inputs, a whole matrix. A little is added to its diagonal: few records see few directions.
  ErrorForm(std::vector<float> products, size_t length);
  size_t length() const { return size; }
  llvm::ArrayRef<float> row(size_t i) const { return {matrix.data() + i * size, size}; }
  double diagonal(size_t i) const { return static_cast<double>(matrix[i * size + i]); }
  double damping() const { return added; }
  /// Column i of U in (I + U) D (I + U)ᵀ, above the diagonal.
  llvm::ArrayRef<float> column(size_t i) const { return {upper.data() + i * (i + 1) / 2, i}; }
  /// x with xᵀ H = bᵀ.
  std::vector<double> solve(llvm::ArrayRef<double> b) const;
  /// H e.
  std::vector<float> times(llvm::ArrayRef<float> e) const;

private:
  size_t size;
  std::vector<float> matrix, upper;
  std::vector<double> pivots;
  double added = 0;
};

/// A row of weights that gets integers.
struct RoundedRow {
  const ErrorForm *form = nullptr;
  llvm::ArrayRef<float> weights; ///< as they are, whose neighbours are allowed
  std::vector<float> wanted;     ///< what to come near to, by the form
  std::vector<float> codes = {};
};

/// Gives rows that have one scale integers up to ±most, and gives the scale. Round after round: GPTQ, then each integer
/// by itself as long as one gains (coordinate descent), for several scales below `widest`, and at last that scale that
/// is best for these integers. None: errors are NaN or infinite for every scale.
std::optional<float> roundRows(llvm::MutableArrayRef<RoundedRow> rows, float widest, float most);

} // namespace origo::quantize
