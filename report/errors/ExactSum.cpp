#include "report/errors/ExactSum.h"

#include <cmath>
#include <limits>

namespace origo::report {

void ExactSum::add(double number) {
  if (!finite)
    return;
  size_t kept = 0;
  for (double piece : pieces) {
    if (std::fabs(number) < std::fabs(piece))
      std::swap(number, piece);
    double sum = number + piece, rest = piece - (sum - number);
    if (rest != 0)
      pieces[kept++] = rest;
    number = sum;
  }
  pieces.resize(kept);
  if (number != 0)
    pieces.push_back(number);
  finite = std::isfinite(number);
}

void ExactSum::add(const ExactSum &other) {
  finite &= other.finite;
  for (double piece : other.pieces)
    add(piece);
}

double ExactSum::value() const {
  if (!finite)
    return std::numeric_limits<double>::quiet_NaN();
  if (pieces.empty())
    return 0;
  size_t i = pieces.size() - 1;
  double sum = pieces[i], rest = 0;
  while (i > 0 && rest == 0) {
    double high = sum, low = pieces[--i];
    sum = high + low;
    rest = low - (sum - high);
  }
  // Halfway between two doubles, what is below decides.
  if (i > 0 && (rest < 0) == (pieces[i - 1] < 0)) {
    double twice = 2 * rest, next = sum + twice;
    if (twice == next - sum)
      sum = next;
  }
  return sum;
}

std::vector<double> ExactSum::parts() const {
  if (!finite)
    return {value()};
  std::vector<double> list;
  ExactSum rest = *this;
  for (double next = value(); next != 0; next = rest.value()) {
    list.push_back(next);
    rest.add(-next);
  }
  return list;
}

} // namespace origo::report
