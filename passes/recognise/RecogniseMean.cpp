#include "passes/Spelling.h"

namespace origo {

/// sum(x, axes) / n → mean(x, axes), where n is how many elements there are along the axes; also sum(x / n, axes).
static Rule bySum() {
  auto x = any(), axes = constant(), count = constant();
  auto sum = op(Op::SUM, {x, axes}).once();
  auto quotient = (sum / count).mayActivate(), product = (sum * count).mayActivate();
  auto share = (x / count).once(), multiple = (x * count).once();
  auto ofShares = op(Op::SUM, {share | multiple, axes});
  return Rule{"sum", "not a sum that is used once, divided by a constant, or of what is", quotient | product | ofShares,
              [=](Match &m) {
                std::optional<Integers> over = m.integers(m[axes]);
                auto gone = over ? over->axesOf(m[x].rank()) : std::nullopt;
                if (!gone || !m[x].isFloat() || (!m[x].isStatic() && m[count].elementCount() != 1))
                  return decline("not float, or the axes or the shape are not known before run time");
                int64_t elements = 1;
                for (int32_t axis : *gone)
                  elements *= std::max(m[x].statedShape()[axis], 0); // none of an open dimension
                auto number = static_cast<double>(elements);
                if (elements < 1 ||
                    !m.isEvery(m[count], m.has(quotient) || m.has(share) ? Quotient{number, 1} : Quotient{1, number}))
                  return decline("divided by another number than that of the elements");
                if (m.root().activation() != Activation::NONE)
                  return decline("an activation is fused");
                Node reduced = m.has(sum) ? m.op(sum) : m.op(ofShares);
                return m.replace(op(Op::MEAN, {x, axes}).with("keep_dims", reduced.option("keep_dims")));
              }}
      .assumes("the float nearest to 1/n is 1/n");
}

Pass RecogniseMean() {
  return {"recognise-mean", "sum(x) / n, sum(x / n) -> mean(x), n elements along the axes", Phase::Recognise, true, {},
          {bySum()}};
}

} // namespace origo
