#include "eval/exact/Number.h"

#include <algorithm>
#include <utility>

namespace origo::eval::exact {

/// A function that mixes all bits of a number into all others.
static uint64_t mixed(uint64_t x) {
  x ^= x >> 30;
  x *= 0xbf58476d1ce4e5b9;
  x ^= x >> 27;
  x *= 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

static uint64_t mixed(uint64_t a, uint64_t b) {
  return mixed(mixed(a + 0x9e3779b97f4a7c15) ^ (b * 0xd6e8feb86659fd93));
}

Arithmetic::Arithmetic(uint64_t below, uint64_t key) : below(below), modulus((uint64_t(1) << 61) - below), key(key) {
  uint64_t power = powerOf(inverse(2), static_cast<uint64_t>(-leastExponent));
  for (int exponent = leastExponent; exponent <= 1024; ++exponent) {
    powersOfTwo.push_back(power);
    power = sumOf(power, power);
  }
}

/// Miller and Rabin's test, with the bases that decide it below 2⁶⁴.
static bool isPrime(uint64_t n) {
  using Wide = unsigned __int128;
  auto power = [&](uint64_t base, uint64_t exponent) {
    uint64_t result = 1;
    for (; exponent; exponent >>= 1, base = static_cast<uint64_t>(Wide(base) * base % n))
      if (exponent & 1)
        result = static_cast<uint64_t>(Wide(result) * base % n);
    return result;
  };
  int twos = __builtin_ctzll(n - 1);
  for (uint64_t base : {2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37}) {
    uint64_t x = power(base, (n - 1) >> twos);
    bool passes = x == 1 || x == n - 1;
    for (int i = 1; i < twos && !passes; ++i) {
      x = static_cast<uint64_t>(Wide(x) * x % n);
      passes = x == n - 1;
    }
    if (!passes)
      return false;
  }
  return true;
}

Arithmetic Arithmetic::drawn(uint64_t key) {
  // Odd, and not the one that is taken anyway.
  for (uint64_t below = (mixed(key, 1) >> 34) | 3;; below += 2)
    if (isPrime((uint64_t(1) << 61) - below))
      return Arithmetic(below, key);
}

uint64_t Arithmetic::powerOf(uint64_t a, uint64_t exponent) const {
  uint64_t result = 1;
  for (; exponent; exponent >>= 1, a = reduce(wide(a) * a))
    if (exponent & 1)
      result = reduce(wide(result) * a);
  return result;
}

/// By Euclid's algorithm: every remainder is a multiple of `a`, and of the prime.
uint64_t Arithmetic::inverse(uint64_t a) const {
  int64_t times = 0, next = 1;
  for (uint64_t rest = modulus, divisor = a; divisor;) {
    uint64_t quotient = rest / divisor;
    times -= static_cast<int64_t>(quotient) * next;
    std::swap(times, next);
    rest -= quotient * divisor;
    std::swap(rest, divisor);
  }
  return times < 0 ? modulus - static_cast<uint64_t>(-times) : static_cast<uint64_t>(times);
}

Number Arithmetic::of(double number) const {
  if (number == 0)
    return {};
  if (std::isinf(number))
    return infinite(number);
  if (std::isnan(number))
    return undefined(0, 0);
  int exponent;
  double fraction = std::frexp(std::fabs(number), &exponent);
  auto whole = static_cast<uint64_t>(std::ldexp(fraction, 53));
  // A subnormal number has zeros at its end.
  for (exponent -= 53; exponent < leastExponent; ++exponent)
    whole >>= 1;
  uint64_t image = reduce(wide(whole) * powersOfTwo[exponent - leastExponent]);
  return {number < 0 && image ? modulus - image : image, number, 0};
}

Number Arithmetic::ofInteger(int64_t number) const {
  uint64_t size = number < 0 ? uint64_t(0) - static_cast<uint64_t>(number) : static_cast<uint64_t>(number);
  uint64_t image = reduce(size);
  auto value = static_cast<double>(number);
  return {number < 0 && image ? modulus - image : image, value, size >> 53 ? unit * std::fabs(value) : 0};
}

Number Arithmetic::infinite(double value) const {
  Number positive = symbol(Function::Infinity, 0, 0, value, 0);
  return value > 0 ? positive : Number{modulus - positive.image, value, 0};
}

Number Arithmetic::unusualSum(const Number &a, const Number &b, Number sum) const {
  if (a.isInfinite() && b.isInfinite())
    return a.value == b.value ? a : undefined(a.image, b.image);
  return a.isInfinite() ? a : b.isInfinite() ? b : doubtful(sum);
}

Number Arithmetic::unusualProduct(const Number &a, const Number &b, Number product) const {
  if (!a.isInfinite() && !b.isInfinite())
    return doubtful(product);
  const Number &finite = a.isInfinite() ? b : a;
  if (finite.image == 0 && !finite.isInfinite())
    return undefined(a.image, b.image);
  return std::fabs(finite.value) > finite.error ? infinite(product.value) : doubtful(product);
}

Number Arithmetic::divide(const Number &a, const Number &b) const {
  if (b.isInfinite())
    return a.isInfinite() ? undefined(a.image, b.image) : Number();
  if (b.image == 0)
    return undefined(a.image, 0);
  Number quotient{reduce(wide(a.image) * inverse(b.image)), a.value / b.value, 0};
  double away = std::fabs(b.value) - b.error;
  quotient.error =
      away > 0 ? (a.error + std::fabs(quotient.value) * b.error) / away * (1 + unit) + unit * std::fabs(quotient.value)
               : std::numeric_limits<double>::infinity();
  if (a.isInfinite())
    return away > 0 ? infinite(quotient.value) : doubtful(quotient);
  return std::isfinite(quotient.value) ? quotient : doubtful(quotient);
}

uint64_t Arithmetic::mix(uint64_t a, uint64_t b) const { return mixed(mixed(key, a), b); }

Number Arithmetic::symbol(Function function, uint64_t of, uint64_t more, double value, double error) const {
  ++symbols;
  uint64_t image = mixed(mixed(key, static_cast<uint64_t>(function) + 2), mixed(of, more));
  return {reduce(image), value, std::isnan(value) ? std::numeric_limits<double>::infinity() : error};
}

Number Arithmetic::undefined(uint64_t of, uint64_t more) const {
  ++undefinedCount;
  return symbol(Function::Undefined, of, more, std::numeric_limits<double>::quiet_NaN(), 0);
}

/// A function of the C library, whose results are off by less than some units in the last place, where its slope is no
/// steeper than that.
static double errorOf(double value, double slope, double error) {
  return error == 0 ? 8 * 0x1p-53 * std::fabs(value) : slope * error * 1.01 + 8 * 0x1p-53 * std::fabs(value);
}

Number Arithmetic::root(const Number &a) const {
  if (a.image == 0 || a.image == 1)
    return a.image == 0 ? Number() : of(1);
  if (a.isInfinite() && a.value > 0)
    return a;
  double value = std::sqrt(a.value), least = a.value - a.error;
  return symbol(Function::Root, a.image, 0, value,
                least > 0 ? errorOf(value, 0.5 / std::sqrt(least), a.error) : std::numeric_limits<double>::infinity());
}

Number Arithmetic::exponential(const Number &a) const {
  if (a.isInfinite())
    return a.value > 0 ? a : Number();
  if (a.image == 0)
    return of(1);
  if (!isPositiveImage(a.image))
    return divide(of(1), exponential(negate(a)));
  double value = std::exp(a.value);
  return symbol(Function::Exp, a.image, 0, value, errorOf(value, std::exp(a.value + a.error), a.error));
}

Number Arithmetic::logarithm(const Number &a) const {
  if (a.image == 1)
    return {};
  if (a.image == 0)
    return undefined(0, static_cast<uint64_t>(Function::Log));
  if (a.isInfinite() && a.value > 0)
    return a;
  double value = std::log(a.value), least = a.value - a.error;
  return symbol(Function::Log, a.image, 0, value,
                least > 0 ? errorOf(value, 1 / least, a.error) : std::numeric_limits<double>::infinity());
}

Number Arithmetic::logistic(const Number &a) const {
  if (a.isInfinite())
    return a.value > 0 ? of(1) : Number();
  Number made = divide(of(1), add(of(1), exponential(negate(a))));
  // Where the exponential has overflown, the quotient is near 0 all the same.
  made.value = 1 / (1 + std::exp(-a.value));
  made.error = errorOf(made.value, 0.25, a.error);
  return made;
}

Number Arithmetic::hyperbolicTangent(const Number &a) const {
  Number two = of(2), made = subtract(multiply(two, logistic(multiply(two, a))), of(1));
  made.value = std::tanh(a.value);
  made.error = errorOf(made.value, 1, a.error);
  return made;
}

Number Arithmetic::sine(const Number &a) const {
  if (a.image == 0)
    return {};
  if (!isPositiveImage(a.image))
    return negate(sine(negate(a)));
  return symbol(Function::Sin, a.image, 0, std::sin(a.value), errorOf(1, 1, a.error));
}

Number Arithmetic::cosine(const Number &a) const {
  if (a.image == 0)
    return of(1);
  return symbol(Function::Cos, isPositiveImage(a.image) ? a.image : modulus - a.image, 0, std::cos(a.value),
                errorOf(1, 1, a.error));
}

Number Arithmetic::errorFunction(const Number &a) const {
  if (a.image == 0)
    return {};
  if (!isPositiveImage(a.image))
    return negate(errorFunction(negate(a)));
  double value = std::erf(a.value);
  return symbol(Function::Erf, a.image, 0, value, errorOf(value, 1.13, a.error));
}

Number Arithmetic::arcTangent(const Number &y, const Number &x) const {
  double away = std::hypot(x.value, y.value) - x.error - y.error;
  return symbol(Function::Atan2, y.image, x.image, std::atan2(y.value, x.value),
                away > 0 ? errorOf(4, 1 / away, x.error + y.error) : std::numeric_limits<double>::infinity());
}

Number Arithmetic::power(const Number &a, const Number &b) const {
  constexpr double most = 64; // factors
  double twice = 2 * b.value;
  if (b.error == 0 && std::fabs(b.value) <= most && twice == std::floor(twice)) {
    Number base = b.value == std::floor(b.value) ? a : root(a), result = of(1);
    auto count = static_cast<int>(std::fabs(b.value == std::floor(b.value) ? b.value : twice));
    for (int i = 0; i < count; ++i)
      result = multiply(result, base);
    return b.value < 0 ? divide(of(1), result) : result;
  }
  double value = std::pow(a.value, b.value), least = a.value - a.error;
  double slope = least > 0 ? std::fabs(b.value) * std::fabs(value) / least + std::fabs(std::log(least)) * value
                           : std::numeric_limits<double>::infinity();
  double moved = a.error + b.error;
  return symbol(Function::Power, a.image, b.image, value,
                moved == 0 ? errorOf(value, 0, 0) : 2 * errorOf(value, slope, moved));
}

Order Arithmetic::compare(const Number &a, const Number &b) const {
  ++decided;
  if (a.image == b.image)
    return Order::Same;
  double far = a.isInfinite() && b.isInfinite() ? a.value : a.value - b.value, bound = a.error + b.error;
  if (std::fabs(far) > bound + unit * std::fabs(far) || (a.isInfinite() && b.isInfinite())) {
    choices |= far < 0 ? Less : Greater;
    return far < 0 ? Order::Less : Order::Greater;
  }
  ++undecided;
  return Order::Unknown;
}

Number Arithmetic::chosen(const Number &a, const Number &b, Order wanted) const {
  Order order = compare(a, b);
  if (order == Order::Unknown)
    return doubtful((a.value > b.value) == (wanted == Order::Greater) ? a : b);
  bool first = order == wanted;
  if (order != Order::Same)
    choices |= wanted == Order::Greater ? (first ? LargerFirst : LargerSecond) : (first ? SmallerFirst : SmallerSecond);
  return first || order == Order::Same ? a : b;
}

Number Arithmetic::rounded(const Number &a, double (*rounds)(double)) const {
  ++decided;
  if (a.isInfinite())
    return a;
  Number whole = of(std::isfinite(a.value) ? rounds(a.value) : 0);
  // An integer is what its image says, however far its double may be off.
  Number nearest = of(std::isfinite(a.value) ? std::nearbyint(a.value) : 0);
  if (nearest.image == a.image && std::fabs(a.value - nearest.value) <= a.error)
    return of(rounds(nearest.value));
  if (a.error == 0 || (std::isfinite(a.value) && rounds(a.value - a.error) == rounds(a.value + a.error)))
    return whole;
  ++undecided;
  return doubtful(whole);
}

} // namespace origo::eval::exact
