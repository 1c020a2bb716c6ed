#include "passes/Spelling.h"

namespace origo {

/// (x − y)² → squared_difference(x, y)
static Rule difference() {
  auto x = any(), y = any();
  auto away = (x - y).inside();
  return {"difference", "not the square of a difference that nobody else uses", square(away) | away * away,
          [=](Match &m) {
            if (!m[x].isFloat())
              return decline("not float");
            return m.replace(squaredDifference(x, y));
          }};
}

/// √s² → s, where s is a sum or a mean of squares, or a square, which is not negative.
static Rule ofRoot() {
  auto x = any();
  auto sum = anyOf({Op::SUM, Op::MEAN}, {squareOf(x)}), magnitude = op(Op::ABS, {x}), power = expOf(x);
  auto within = sum | magnitude | power;
  auto root = sqrt(within);
  return {"root", "not the square of a root of what is not negative", square(root) | root * root, [=](Match &m) {
            Tensor inner = m.has(sum) ? m[sum] : m.has(magnitude) ? m[magnitude] : m[power];
            return inner.isFloat() ? m.replace(inner) : decline("not float");
          }};
}

/// |x|² → x²
static Rule ofMagnitude() {
  auto x = any();
  auto magnitude = op(Op::ABS, {x}).inside();
  auto product = magnitude * magnitude;
  return {"magnitude", "not the square of a magnitude that nobody else uses", square(magnitude) | product,
          [=](Match &m) {
            if (!m[x].isFloat())
              return decline("not float");
            return m.replace(m.has(product) ? x * x : square(x));
          }};
}

Pass RecogniseSquares() {
  return {"recognise-squares",
          "square(x - y) -> squared_difference(x, y), square(|x|) -> square(x), square(sqrt(s)) -> s where s is not "
          "negative",
          Phase::Recognise,
          true,
          {},
          {difference(), ofRoot(), ofMagnitude()}};
}

} // namespace origo
