#pragma once

#include "llvm/ADT/ArrayRef.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

/// Numbers that are computed without rounding, to compare what models compute without a tolerance (docs/proof.md).
namespace origo::eval::exact {

/// A real number as its image modulo a prime, which says what it equals, and as a double with a bound of how far that
/// is off, which says in what order numbers are. Infinity, as masks have it, is a double without an error.
struct Number {
  uint64_t image = 0;
  double value = 0, error = 0; ///< no bound: something was decided on the way that the doubles do not decide

  bool isInfinite() const { return std::isinf(value) && error == 0; }
  bool isDoubtful() const { return !(error < std::numeric_limits<double>::infinity()); }
};

/// Functions that numbers have no formula for: their results are symbols, equal for equal arguments.
enum class Function : uint8_t { Exp, Log, Root, Sin, Cos, Erf, Power, Atan2, Remainder, Infinity, Undefined, Opaque };

enum class Order : uint8_t { Less, Same, Greater, Unknown };

/// Computes with numbers modulo one prime. `key` is what symbols are drawn by.
class Arithmetic {
public:
  /// The prime 2⁶¹ − below.
  Arithmetic(uint64_t below, uint64_t key);
  /// Modulo 2⁶¹ − 1.
  static Arithmetic mersenne(uint64_t key) { return Arithmetic(1, key); }
  /// Modulo another prime above 2⁶⁰, drawn by the key.
  static Arithmetic drawn(uint64_t key);
  uint64_t prime() const { return modulus; }

  /// Every double is a fraction whose denominator is a power of two, so this is exact.
  Number of(double number) const;
  Number ofInteger(int64_t number) const;
  Number add(const Number &a, const Number &b) const {
    Number sum{sumOf(a.image, b.image), a.value + b.value, a.error + b.error};
    sum.error += unit * std::fabs(sum.value);
    return std::isfinite(sum.value) ? sum : unusualSum(a, b, sum);
  }
  Number negate(const Number &a) const { return {a.image ? modulus - a.image : 0, -a.value, a.error}; }
  Number subtract(const Number &a, const Number &b) const { return add(a, negate(b)); }
  Number multiply(const Number &a, const Number &b) const {
    Number product{reduce(wide(a.image) * b.image), a.value * b.value, 0};
    product.error = productError(a, b) + unit * std::fabs(product.value);
    return std::isfinite(product.value) ? product : unusualProduct(a, b, product);
  }
  Number divide(const Number &a, const Number &b) const;
  Number square(const Number &a) const { return multiply(a, a); }
  /// To an integer, a half of one, or any other.
  Number power(const Number &a, const Number &b) const;
  Number root(const Number &a) const;
  Number exponential(const Number &a) const; ///< e⁻ˣ is 1 / eˣ
  Number logarithm(const Number &a) const;
  Number logistic(const Number &a) const;
  Number hyperbolicTangent(const Number &a) const;
  Number sine(const Number &a) const;
  Number cosine(const Number &a) const;
  Number errorFunction(const Number &a) const;
  Number arcTangent(const Number &y, const Number &x) const;

  /// What cannot be decided is counted.
  Order compare(const Number &a, const Number &b) const;
  Number larger(const Number &a, const Number &b) const { return chosen(a, b, Order::Greater); }
  Number smaller(const Number &a, const Number &b) const { return chosen(a, b, Order::Less); }
  Number clamp(const Number &x, const Number &low, const Number &high) const { return smaller(larger(x, low), high); }
  /// The integer that `rounds` makes of a double: std::floor and the like.
  Number rounded(const Number &a, double (*rounds)(double)) const;

  /// A number that nothing is known of but what it follows from, and its double.
  Number symbol(Function function, uint64_t of, uint64_t more, double value, double error) const;
  /// A hash, by the key.
  uint64_t mix(uint64_t a, uint64_t b) const;
  Number undefined(uint64_t of, uint64_t more) const; ///< counted
  /// Of whatever two orders said where the doubles did not decide: the same number, with no bound of its error.
  static Number doubtful(Number a) {
    a.error = std::numeric_limits<double>::infinity();
    return a;
  }

  /// A sum of products that is reduced now and then.
  class Sum {
  public:
    Sum(int = 0) {}
    void add(const Arithmetic &in, const Number &a, const Number &b) {
      image += wide(a.image) * b.image;
      double product = a.value * b.value;
      value += product;
      size += std::fabs(product);
      error += std::fabs(a.value) * b.error + a.error * (std::fabs(b.value) + b.error);
      if (++count % together == 0) [[unlikely]]
        image = in.reduce(image);
    }
    void add(const Arithmetic &in, const Number &a) {
      image += a.image;
      value += a.value;
      size += std::fabs(a.value);
      error += a.error;
      if (++count % together == 0)
        image = in.reduce(image);
    }
    Number end(const Arithmetic &in) const {
      // Each of the n partial sums is off by half a unit of at most the sum of sizes.
      return {in.reduce(image), value, error + unit * size * static_cast<double>(count + 1)};
    }

  private:
    static constexpr unsigned together = 16; ///< products below 2¹²² that a sum of 128 bits holds, and some more
    unsigned __int128 image = 0;
    double value = 0, error = 0, size = 0;
    uint64_t count = 0;
  };

  mutable uint64_t decided = 0, undecided = 0, undefinedCount = 0, symbols = 0;
  /// What orders have decided since somebody has set it to 0; of equal numbers nothing is chosen.
  enum : uint8_t { LargerFirst = 1, LargerSecond = 2, SmallerFirst = 4, SmallerSecond = 8, Less = 16, Greater = 32 };
  mutable uint8_t choices = 0;

private:
  using wideType = unsigned __int128;
  static wideType wide(uint64_t a) { return a; }
  static constexpr double unit = 0x1.01p-53; ///< half a unit in the last place of 1, and what bounds lose themselves
  const uint64_t below, modulus, key;
  std::vector<uint64_t> powersOfTwo; ///< from the least exponent of a double on
  static constexpr int leastExponent = -1074;

  uint64_t sumOf(uint64_t a, uint64_t b) const {
    uint64_t sum = a + b;
    return sum >= modulus ? sum - modulus : sum;
  }
  /// Of less than 2¹²⁷.
  uint64_t reduce(wideType x) const {
    constexpr uint64_t low = (uint64_t(1) << 61) - 1;
    for (int i = 0; i < 3; ++i) // 2⁶¹ is `below` here, which is small
      x = (x >> 61) * below + (static_cast<uint64_t>(x) & low);
    auto rest = static_cast<uint64_t>(x);
    while (rest >= modulus)
      rest -= modulus;
    return rest;
  }
  static double productError(const Number &a, const Number &b) {
    double left = a.error == 0 ? 0 : a.error * (std::fabs(b.value) + b.error);
    return left + (b.error == 0 ? 0 : b.error * std::fabs(a.value));
  }
  uint64_t inverse(uint64_t a) const;
  uint64_t powerOf(uint64_t a, uint64_t exponent) const;
  Number unusualSum(const Number &a, const Number &b, Number sum) const;
  Number unusualProduct(const Number &a, const Number &b, Number product) const;
  Number chosen(const Number &a, const Number &b, Order wanted) const;
  Number infinite(double value) const;
  bool isPositiveImage(uint64_t image) const { return image <= modulus / 2; }
};

} // namespace origo::eval::exact
