#include "quantize/LeastError.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace origo::quantize {

static float dot(const float *a, const float *b, size_t count) {
  constexpr size_t lanes = 16;
  std::array<float, lanes> sums{};
  size_t i = 0;
  for (; i + lanes <= count; i += lanes)
    for (size_t k = 0; k < lanes; ++k)
      sums[k] += a[i + k] * b[i + k];
  float all = 0;
  for (; i < count; ++i)
    all += a[i] * b[i];
  for (float one : sums)
    all += one;
  return all;
}

ErrorForm::ErrorForm(std::vector<float> products, size_t length) : size(length), matrix(std::move(products)) {
  double trace = 0;
  for (size_t i = 0; i < size; ++i)
    trace += diagonal(i);
  added = trace > 0 ? 0.01 * trace / static_cast<double>(size) : 1;
  for (size_t i = 0; i < size; ++i)
    matrix[i * size + i] += static_cast<float>(added);
  // Rows of the lower triangle; from the last one upwards, each is taken off those before it.
  std::vector<double> lower(size * (size + 1) / 2);
  auto rowOf = [&](size_t i) { return lower.data() + i * (i + 1) / 2; };
  for (size_t i = 0; i < size; ++i)
    std::copy_n(matrix.data() + i * size, i + 1, rowOf(i));
  pivots.resize(size);
  for (size_t k = size; k-- > 0;) {
    double *column = rowOf(k), pivot = pivots[k] = std::max(column[k], added * 1e-3);
    for (size_t i = 0; i < k; ++i)
      if (double by = column[i] / pivot; by != 0)
        for (size_t j = 0; j <= i; ++j)
          rowOf(i)[j] -= by * column[j];
    for (size_t i = 0; i < k; ++i)
      column[i] /= pivot;
  }
  upper.assign(lower.begin(), lower.end());
}

/// H = V D Vᵀ with V = I + U.
std::vector<double> ErrorForm::solve(llvm::ArrayRef<double> b) const {
  std::vector<double> x(b.begin(), b.end());
  for (size_t k = size; k-- > 0;) { // V y = b, from below
    double y = x[k];
    llvm::ArrayRef<float> u = column(k);
    for (size_t i = 0; i < k; ++i)
      x[i] -= static_cast<double>(u[i]) * y;
  }
  for (size_t k = 0; k < size; ++k)
    x[k] /= pivots[k];
  for (size_t k = 0; k < size; ++k) { // Vᵀ x = y, from above
    llvm::ArrayRef<float> u = column(k);
    double sum = x[k];
    for (size_t i = 0; i < k; ++i)
      sum -= static_cast<double>(u[i]) * x[i];
    x[k] = sum;
  }
  return x;
}

std::vector<float> ErrorForm::times(llvm::ArrayRef<float> e) const {
  std::vector<float> result(size);
  for (size_t i = 0; i < size; ++i)
    result[i] = dot(matrix.data() + i * size, e.data(), size);
  return result;
}

namespace {

/// A row at one scale.
class Descent {
public:
  Descent(const RoundedRow &row, float scale, float most)
      : row(row), form(*row.form), scale(scale), most(most), codes(row.codes), errors(form.length()) {}

  /// Each by what the errors before it ask for.
  void gptq() {
    codes.resize(form.length());
    for (size_t k = 0; k < codes.size(); ++k) {
      float wanted = row.wanted[k] - dot(errors.data(), form.column(k).data(), k);
      codes[k] = allowed(k, std::round(wanted / scale));
      errors[k] = codes[k] * scale - row.wanted[k];
    }
    slopes = form.times(errors);
  }
  void keepCodes() {
    for (size_t k = 0; k < codes.size(); ++k) {
      codes[k] = allowed(k, codes[k]);
      errors[k] = codes[k] * scale - row.wanted[k];
    }
    slopes = form.times(errors);
  }
  /// Each by itself, as long as one gains.
  void descend() {
    constexpr unsigned rounds = 30;
    bool any = true;
    for (unsigned round = 0; round < rounds && any; ++round) {
      any = false;
      for (size_t k = 0; k < codes.size(); ++k) {
        float best = codes[k] * scale - slopes[k] / form.row(k)[k];
        float code = allowed(k, std::round(best / scale));
        if (code == codes[k])
          continue;
        float by = (code - codes[k]) * scale;
        // Not where rounding of floats alone says so: then it would go to and fro.
        if (!(by * (2 * slopes[k] + by * form.row(k)[k]) < 0))
          continue;
        codes[k] = code;
        errors[k] += by;
        const float *h = form.row(k).data();
        for (size_t j = 0; j < slopes.size(); ++j)
          slopes[j] += by * h[j];
        any = true;
      }
    }
  }
  double error() const {
    double sum = 0;
    for (size_t k = 0; k < codes.size(); ++k)
      sum += static_cast<double>(errors[k]) * static_cast<double>(slopes[k]);
    return sum;
  }
  /// For the scale that these integers want: q · H w over q · H q.
  void addTo(double &above, double &below) const {
    for (size_t k = 0; k < codes.size(); ++k) {
      auto q = static_cast<double>(codes[k]);
      above += q * hWanted(k);
      below += q * (static_cast<double>(slopes[k]) + hWanted(k)) / static_cast<double>(scale);
    }
  }
  std::vector<float> takeCodes() { return std::move(codes); }

private:
  const RoundedRow &row;
  const ErrorForm &form;
  float scale, most;
  std::vector<float> codes, errors, slopes;
  mutable std::vector<float> product;

  double hWanted(size_t k) const {
    if (product.empty())
      product = form.times(row.wanted);
    return static_cast<double>(product[k]);
  }
  /// One of the two integers beside the weight.
  float allowed(size_t k, float code) const {
    float below = std::floor(row.weights[k] / scale);
    return std::clamp(std::clamp(code, below, below + 1), -most, most);
  }
};

/// By the diagonal alone, at once.
double roughError(llvm::ArrayRef<RoundedRow> rows, float scale, float most) {
  double sum = 0;
  for (const RoundedRow &row : rows)
    for (size_t k = 0; k < row.wanted.size(); ++k) {
      float off = row.wanted[k] - scale * std::clamp(std::round(row.wanted[k] / scale), -most, most);
      sum += static_cast<double>(off * off) * row.form->diagonal(k);
    }
  return sum;
}

struct Solution {
  float scale = 0;
  double error = INFINITY;
  std::vector<std::vector<float>> codes;
};

/// With the integers that rows have, if they have any, else by GPTQ.
Solution solutionAt(llvm::ArrayRef<RoundedRow> rows, float scale, float most, double &above, double &below) {
  Solution made{scale, 0, {}};
  above = below = 0;
  for (const RoundedRow &row : rows) {
    Descent descent(row, scale, most);
    if (row.codes.empty())
      descent.gptq();
    else
      descent.keepCodes();
    descent.descend();
    made.error += descent.error();
    descent.addTo(above, below);
    made.codes.push_back(descent.takeCodes());
  }
  return made;
}

} // namespace

std::optional<float> roundRows(llvm::MutableArrayRef<RoundedRow> rows, float widest, float most) {
  constexpr unsigned clips = 24;
  float rough = widest;
  double least = INFINITY;
  for (unsigned clip = 0; clip < clips; ++clip)
    if (float scale = widest * (1 - 0.03f * static_cast<float>(clip)); double error = roughError(rows, scale, most))
      if (error < least) {
        least = error;
        rough = scale;
      }
  Solution best;
  double above = 0, below = 0;
  auto take = [&](Solution made) {
    if (!(made.error < best.error))
      return false;
    best = std::move(made);
    return true;
  };
  for (RoundedRow &row : rows)
    row.codes.clear();
  for (float by : {1.f, 1.08f, 0.92f, 1.16f, 0.84f, 1.26f, 0.76f})
    if (float scale = std::min(widest, rough * by); by <= 1 || scale > rough)
      take(solutionAt(rows, scale, most, above, below));
  if (!std::isfinite(best.error))
    return std::nullopt;
  constexpr unsigned refinements = 3;
  for (unsigned i = 0; i < refinements; ++i) {
    for (auto [row, codes] : llvm::zip_equal(rows, best.codes))
      row.codes = codes;
    double ignored[2];
    Solution again = solutionAt(rows, best.scale, most, above, below);
    if (!(above > 0) || !(below > 0))
      break;
    auto scale = static_cast<float>(above / below);
    if (!(scale > 0.3f * widest) || !(scale <= widest) || !take(solutionAt(rows, scale, most, ignored[0], ignored[1])))
      break;
  }
  for (auto [row, codes] : llvm::zip_equal(rows, best.codes))
    row.codes = std::move(codes);
  return best.scale;
}

} // namespace origo::quantize
