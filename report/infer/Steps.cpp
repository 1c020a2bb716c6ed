#include "report/infer/Numbers.h"

#include "eval/RealNumbers.h"
#include "eval/Relations.h"
#include "schema/TensorTypes.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>
#include <numeric>

/// The steps that lead from one tensor to another one.
namespace origo::report {

using eval::Shape;
using eval::Tensor;

namespace {

bool isNear(float a, float b, double allowed) {
  return a == b || std::fabs(static_cast<double>(a) - static_cast<double>(b)) <= allowed ||
         (std::isnan(a) && std::isnan(b));
}

/// Goes through the elements of a tensor of some shape as those of one whose dimensions lie in another order.
class Order {
public:
  Order(llvm::ArrayRef<int32_t> shape, llvm::ArrayRef<unsigned> order) {
    for (unsigned axis : order) {
      dims.push_back(shape[axis]);
      strides.push_back(eval::product(shape, axis + 1, shape.size()));
    }
    index.assign(dims.size(), 0);
  }
  size_t at() const { return static_cast<size_t>(place); }
  void next() {
    for (size_t axis = dims.size(); axis-- > 0;) {
      place += strides[axis];
      if (++index[axis] < dims[axis])
        return;
      place -= strides[axis] * dims[axis];
      index[axis] = 0;
    }
  }

private:
  llvm::SmallVector<int64_t, 6> dims, strides, index;
  int64_t place = 0;
};

/// Is `from`, gone through in that order, `to`?
bool isEqual(const RealTensor &from, Order order, const RealTensor &to, const Slack &slack) {
  for (size_t i = 0; i < to.numbers.size(); ++i, order.next())
    if (!isNear(from.numbers[order.at()], to.numbers[i], slack.at(i, from.numbers[order.at()])))
      return false;
  return true;
}
/// The other way round: is `from` what `to` is, gone through in that order?
bool isEqualBack(const RealTensor &from, const RealTensor &to, Order order, const Slack &slack) {
  for (size_t i = 0; i < from.numbers.size(); ++i, order.next())
    if (!isNear(from.numbers[i], to.numbers[order.at()], slack.at(order.at(), from.numbers[i])))
      return false;
  return true;
}

/// The axes that have more than one place.
llvm::SmallVector<unsigned, 6> wideAxes(llvm::ArrayRef<int32_t> shape) {
  llvm::SmallVector<unsigned, 6> axes;
  for (unsigned i = 0; i < shape.size(); ++i)
    if (shape[i] != 1)
      axes.push_back(i);
  return axes;
}

constexpr size_t mostAxes = 4; ///< of several places, whose orders are tried

/// The permutation of all axes that puts the wide ones in this order, and the others where `to` has such.
llvm::SmallVector<int64_t, 0> wholePermutation(llvm::ArrayRef<int32_t> from, llvm::ArrayRef<unsigned> wide,
                                               llvm::ArrayRef<int32_t> to) {
  llvm::SmallVector<unsigned, 6> narrow;
  for (unsigned i = 0; i < from.size(); ++i)
    if (from[i] == 1)
      narrow.push_back(i);
  llvm::SmallVector<int64_t, 0> whole;
  size_t nextWide = 0, nextNarrow = 0;
  for (int32_t dim : to)
    if (dim == 1 ? nextNarrow < narrow.size() : nextWide < wide.size())
      whole.push_back(dim == 1 ? narrow[nextNarrow++] : wide[nextWide++]);
  while (nextWide < wide.size())
    whole.push_back(wide[nextWide++]);
  while (nextNarrow < narrow.size())
    whole.push_back(narrow[nextNarrow++]);
  return whole;
}

Shape permuted(llvm::ArrayRef<int32_t> shape, llvm::ArrayRef<int64_t> order) {
  Shape to;
  for (int64_t axis : order)
    to.push_back(shape[static_cast<size_t>(axis)]);
  return to;
}

/// Calls `visit` with the ways in which moving elements may lead from one shape to another, the plain ones first: the
/// order in which the wide axes of the one are gone through, and whether it is that of `to`. True ends it.
bool forEachWay(llvm::ArrayRef<int32_t> from, llvm::ArrayRef<int32_t> to,
                llvm::function_ref<bool(llvm::ArrayRef<unsigned> order, bool ofTo)> visit) {
  auto wide = wideAxes(from), wideTo = wideAxes(to);
  auto dimsOf = [](llvm::ArrayRef<int32_t> shape, llvm::ArrayRef<unsigned> axes) {
    Shape dims;
    for (unsigned axis : axes)
      dims.push_back(shape[axis]);
    return dims;
  };
  if (visit(wide, false))
    return true;
  Shape wanted = dimsOf(to, wideTo), given = dimsOf(from, wide);
  if (wide.size() <= mostAxes)
    for (auto order = wide; std::next_permutation(order.begin(), order.end());)
      if (dimsOf(from, order) == wanted && visit(order, false))
        return true;
  // Then what needs a reshape besides.
  if (wide.size() <= mostAxes)
    for (auto order = wide; std::next_permutation(order.begin(), order.end());)
      if (dimsOf(from, order) != wanted && visit(order, false))
        return true;
  if (wideTo.size() <= mostAxes)
    for (auto order = wideTo; std::next_permutation(order.begin(), order.end());)
      if (dimsOf(to, order) != given && visit(order, true))
        return true;
  return false;
}

std::vector<Step> stepsOf(llvm::ArrayRef<int32_t> from, llvm::ArrayRef<int32_t> to, llvm::ArrayRef<unsigned> order,
                          bool ofTo) {
  std::vector<Step> steps;
  if (ofTo) {
    // What `to` is in that order is `from`: back from there.
    auto back = wholePermutation(to, order, {});
    Step reshape{Step::Reshape}, permute{Step::Permute};
    permute.first.resize(back.size());
    for (size_t i = 0; i < back.size(); ++i)
      permute.first[static_cast<size_t>(back[i])] = static_cast<int64_t>(i);
    if (llvm::ArrayRef(permuted(to, back)) != from)
      steps.push_back(reshape);
    steps.push_back(permute);
    return steps;
  }
  Shape at(from.begin(), from.end());
  if (!llvm::is_sorted(order)) {
    Step permute{Step::Permute};
    permute.first = wholePermutation(from, order, to);
    at = permuted(from, permute.first);
    steps.push_back(permute);
  }
  if (llvm::ArrayRef(at) != to)
    steps.push_back(Step{Step::Reshape});
  return steps;
}

} // namespace

std::optional<std::vector<Step>> stepsBetween(const RealTensor &from, const RealTensor &to, const Slack &slack) {
  if (from.numbers.size() != to.numbers.size())
    return std::nullopt;
  std::optional<std::vector<Step>> found;
  forEachWay(from.shape, to.shape, [&](llvm::ArrayRef<unsigned> order, bool ofTo) {
    bool equal = ofTo ? isEqualBack(from, to, Order(to.shape, order), slack)
                      : isEqual(from, Order(from.shape, order), to, slack);
    if (equal)
      found = stepsOf(from.shape, to.shape, order, ofTo);
    return equal;
  });
  return found;
}

std::optional<std::vector<Step>> scaledStepsBetween(const RealTensor &from, const RealTensor &to, const Slack &slack) {
  size_t count = to.numbers.size();
  if (from.numbers.size() != count || count < 4 || from.flat || to.flat)
    return std::nullopt;
  std::optional<std::vector<Step>> found;
  std::vector<float> moved(count);
  forEachWay(from.shape, to.shape, [&](llvm::ArrayRef<unsigned> order, bool ofTo) {
    if (ofTo)
      return true;
    Order walk(from.shape, order);
    for (size_t i = 0; i < count; ++i, walk.next())
      moved[i] = from.numbers[walk.at()];
    // One factor for all, or one a place along an axis of several elements each.
    for (int axis = -1; axis < static_cast<int>(to.shape.size()); ++axis) {
      size_t places = axis < 0 ? 1 : static_cast<size_t>(to.shape[static_cast<size_t>(axis)]);
      if (places * 3 > count || places > Step::mostFactors || (axis >= 0 && places == 1))
        continue;
      size_t inner = axis < 0
                         ? count
                         : static_cast<size_t>(eval::product(to.shape, static_cast<size_t>(axis) + 1, to.shape.size()));
      std::vector<double> products(places), squares(places);
      for (size_t i = 0; i < count; ++i) {
        size_t place = i / inner % places;
        products[place] += static_cast<double>(moved[i]) * to.numbers[i];
        squares[place] += static_cast<double>(moved[i]) * moved[i];
      }
      Step step{axis < 0 ? Step::Affine : Step::Scaled};
      step.axis = axis;
      for (size_t place = 0; place < places; ++place)
        step.factors.push_back(squares[place] > 0 ? static_cast<float>(products[place] / squares[place]) : 1.0f);
      bool holds = llvm::all_of(step.factors, [](float factor) { return std::isfinite(factor) && factor != 0; });
      for (size_t i = 0; holds && i < count; ++i) {
        double want = static_cast<double>(moved[i]) * step.factors[i / inner % places];
        // A factor is found from rounded numbers, so that it is itself off by a little.
        holds = isNear(static_cast<float>(want), to.numbers[i], slack.at(i, want) * 1.02 + 2e-6 * std::fabs(want));
      }
      if (!holds)
        continue;
      if (axis < 0) {
        step.scale = Step::Term::of(static_cast<double>(step.factors[0]));
        step.factors.clear();
      }
      found = stepsOf(from.shape, to.shape, order, ofTo);
      found->push_back(step);
      return true;
    }
    return false;
  });
  return found;
}

std::optional<std::vector<Step>> sliceBetween(llvm::ArrayRef<int32_t> from, const RealTensor &to,
                                              llvm::ArrayRef<float> at) {
  if (from.size() != to.shape.size() || at.empty() || at.size() != to.numbers.size() ||
      eval::product(from) > (int64_t(1) << 24))
    return std::nullopt;
  Step step{Step::Slice};
  auto place = static_cast<int64_t>(at.front());
  for (size_t axis = 0; axis < from.size(); ++axis) {
    int64_t stride = eval::product(from, axis + 1, from.size());
    step.first.push_back(place / stride % from[axis]);
    step.second.push_back(to.shape[axis]);
    if (step.first.back() + step.second.back() > from[axis])
      return std::nullopt;
  }
  llvm::SmallVector<int64_t, 6> index(from.size(), 0);
  for (float found : at) {
    int64_t want = 0;
    for (size_t axis = 0; axis < from.size(); ++axis)
      want = want * from[axis] + step.first[axis] + index[axis];
    if (static_cast<int64_t>(found) != want)
      return std::nullopt;
    for (size_t axis = from.size(); axis-- > 0 && ++index[axis] == to.shape[axis];)
      index[axis] = 0;
  }
  return std::vector<Step>{step};
}

std::optional<std::vector<Step>> spreadBetween(const RealTensor &from, const RealTensor &to, const Slack &slack) {
  size_t rank = to.shape.size(), lacking = rank - from.shape.size();
  Shape whole(lacking, 1);
  whole.append(from.shape.begin(), from.shape.end());
  for (size_t axis = 0; axis < rank; ++axis)
    if (whole[axis] != to.shape[axis] && whole[axis] != 1)
      return std::nullopt;
  for (size_t i = 0; i < to.numbers.size(); ++i) {
    size_t rest = i, at = 0, stride = 1;
    for (size_t axis = rank; axis-- > 0;) {
      auto places = static_cast<size_t>(to.shape[axis]), own = static_cast<size_t>(whole[axis]);
      at += own == 1 ? 0 : rest % places * stride;
      rest /= places;
      stride *= own;
    }
    if (!isNear(from.numbers[at], to.numbers[i], slack.at(i, static_cast<double>(from.numbers[at]))))
      return std::nullopt;
  }
  std::vector<Step> steps;
  if (lacking)
    steps.push_back(Step{Step::Reshape});
  Step &placed = steps.emplace_back();
  placed.kind = Step::Placed;
  placed.first.assign(rank, 0);
  placed.second.assign(whole.begin(), whole.end());
  return steps;
}

std::optional<RealTensor> applied(const RealTensor &from, llvm::ArrayRef<Step> steps, llvm::ArrayRef<int32_t> shape) {
  RealTensor made;
  made.shape.assign(shape.begin(), shape.end());
  if (steps.empty() || llvm::all_of(steps, [](const Step &step) {
        return step.kind == Step::Quantize || step.kind == Step::Cast || step.kind == Step::Reshape;
      })) {
    if (static_cast<size_t>(eval::product(shape)) != from.numbers.size())
      return std::nullopt;
    made.numbers = from.numbers;
  } else {
    Tensor source, result;
    source.shape = from.shape;
    result.shape = made.shape;
    llvm::SmallVector<Step, 2> moving(llvm::make_filter_range(
        steps, [](const Step &step) { return step.kind != Step::Quantize && step.kind != Step::Cast; }));
    auto way = eval::wayAlong(source, moving, result);
    if (!way)
      return std::nullopt;
    if (way->straight)
      made.numbers = from.numbers;
    else
      for (size_t i = 0; i < way->from.size(); ++i) {
        if (way->from[i] < 0)
          return std::nullopt;
        double number = from.numbers[static_cast<size_t>(way->from[i])];
        if (!way->scale.empty())
          number *= way->scale[i];
        if (!way->shift.empty())
          number += way->shift[i];
        made.numbers.push_back(static_cast<float>(number));
      }
  }
  made.measure();
  made.quantum = from.quantum;
  made.low = from.low;
  made.high = from.high;
  return made;
}

} // namespace origo::report
