#include "eval/Relations.h"

#include "eval/EvalError.h"
#include "eval/Numbers.h"
#include "eval/RealNumbers.h"
#include "eval/Session.h"
#include "schema/TensorTypes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <cstring>

namespace origo::eval {

namespace {

constexpr const char notTold[] = "a shape between the steps of the relation is not told";

/// A source tensor while the steps of a relation are applied to it. A step that cannot be executed leaves its reason
/// in `unchecked`, one that cannot be meant in `wrong`.
class Applied {
public:
  /// `every`: this stands for each number of the source, and nothing is rounded.
  Applied(const Tensor &source, const Tensor &result, const Tolerance *tolerance = nullptr,
          std::optional<double> every = std::nullopt)
      : source(source), result(result), tolerance(tolerance), every(every), shape(source.shape) {
    from.resize(source.count());
    for (size_t i = 0; i < from.size(); ++i)
      from[i] = static_cast<int64_t>(i);
  }

  const Tensor &source, &result;
  const Tolerance *tolerance; ///< of the source; none: exact
  std::optional<double> every;
  Shape shape;
  std::vector<int64_t> from; ///< element of the source; −1: the relation does not say what stands here
  /// The numbers where they are not the source's any more.
  std::optional<std::vector<double>> numbers;
  std::vector<double> allowed; ///< how far each of them may be off
  const char *wrong = nullptr, *unchecked = nullptr;
  /// What is tried for the first shape that nothing tells.
  std::optional<Shape> guess;

  bool apply(llvm::ArrayRef<Step> steps) {
    for (size_t i = 0; i < steps.size() && !wrong && !unchecked; ++i)
      applyOne(steps[i], steps.drop_front(i + 1));
    if (!wrong && !unchecked && llvm::ArrayRef(shape) != llvm::ArrayRef(result.shape))
      wrong = "has another shape than the source after the relation's steps";
    return !wrong && !unchecked;
  }

private:
  void applyOne(const Step &step, llvm::ArrayRef<Step> later) {
    switch (step.kind) {
    case Step::Permute:
      return permute(step);
    case Step::Reshape:
      return reshape(later);
    case Step::Slice:
      return slice(step);
    case Step::Placed:
      return place(step, later);
    case Step::Affine:
      return affine(step, termNumbers(step.scale, 1), termNumbers(step.shift, 0));
    case Step::Scaled:
      return affine(step, std::vector<double>(step.factors.begin(), step.factors.end()), std::vector<double>{0});
    case Step::Cast:
      return cast(later);
    case Step::Quantize:
      return quantize(later);
    }
  }

  /// The shape that `later` steps start from, as far as the result's shape tells. Behind a reshape only the number of
  /// elements is known.
  std::optional<Shape> shapeBefore(llvm::ArrayRef<Step> later) const {
    Shape at = result.shape;
    for (const Step &step : llvm::reverse(later)) {
      if (step.kind == Step::Reshape) {
        at = {static_cast<int32_t>(product(at))};
      } else if (step.kind == Step::Permute) {
        if (step.first.size() != at.size())
          return std::nullopt;
        Shape before = at;
        for (size_t i = 0; i < at.size(); ++i) {
          if (step.first[i] < 0 || step.first[i] >= static_cast<int64_t>(at.size()))
            return std::nullopt;
          before[step.first[i]] = at[i];
        }
        at = before;
      } else if (step.kind == Step::Placed) {
        at.assign(step.second.begin(), step.second.end());
      } else if (step.kind == Step::Slice || (step.kind == Step::Affine && step.axis >= static_cast<int>(at.size()))) {
        return std::nullopt;
      }
    }
    return at;
  }

  /// Puts element `place(index)` at each index of a new shape; `place` may be negative.
  template <class Place> void gather(const Shape &to, Place place) {
    std::vector<int64_t> moved(product(to));
    std::vector<double> movedNumbers(numbers ? moved.size() : 0, NAN), movedAllowed(movedNumbers.size(), 0);
    llvm::SmallVector<int32_t, 6> index(to.size(), 0);
    for (size_t i = 0; i < moved.size(); ++i) {
      int64_t at = place(llvm::ArrayRef<int32_t>(index));
      moved[i] = at < 0 ? -1 : from[at];
      if (numbers && at >= 0) {
        movedNumbers[i] = (*numbers)[at];
        movedAllowed[i] = allowed[at];
      }
      for (size_t axis = to.size(); axis-- > 0 && ++index[axis] == to[axis];)
        index[axis] = 0;
    }
    shape = to;
    from = std::move(moved);
    if (numbers) {
      numbers = std::move(movedNumbers);
      allowed = std::move(movedAllowed);
    }
  }

  void permute(const Step &step) {
    llvm::SmallVector<bool, 6> seen(shape.size(), false);
    bool fits = step.first.size() == shape.size();
    for (size_t i = 0; fits && i < shape.size(); ++i) {
      fits = step.first[i] >= 0 && step.first[i] < static_cast<int64_t>(shape.size()) && !seen[step.first[i]];
      if (fits)
        seen[step.first[i]] = true;
    }
    if (!fits) {
      wrong = "the permutation of its relation does not fit the source";
      return;
    }
    Shape to, old = shape;
    llvm::SmallVector<int64_t, 6> strides;
    for (int64_t axis : step.first) {
      to.push_back(old[axis]);
      strides.push_back(product(old, axis + 1, old.size()));
    }
    gather(to, [&](llvm::ArrayRef<int32_t> index) {
      int64_t at = 0;
      for (size_t i = 0; i < index.size(); ++i)
        at += index[i] * strides[i];
      return at;
    });
  }

  void reshape(llvm::ArrayRef<Step> later) {
    auto to = shapeBefore(later);
    if (!to)
      to = std::exchange(guess, std::nullopt);
    if (!to)
      unchecked = notTold;
    else if (product(*to) != static_cast<int64_t>(from.size()))
      wrong = "has another number of elements than the source";
    else
      shape = *to;
  }

  bool fits(const Step &step, const Shape &whole, const Shape *part) {
    bool ok = step.first.size() == whole.size() && step.second.size() == whole.size();
    for (size_t i = 0; ok && i < whole.size(); ++i)
      ok = step.first[i] >= 0 && step.second[i] >= 0 && step.first[i] <= whole[i] &&
           step.second[i] <= whole[i] - step.first[i] && (!part || (*part)[i] == step.second[i]);
    if (!ok)
      wrong = "the part that its relation tells of does not fit";
    return ok;
  }

  void slice(const Step &step) {
    if (!fits(step, shape, nullptr))
      return;
    Shape old = shape;
    gather(Shape(step.second.begin(), step.second.end()), [&](llvm::ArrayRef<int32_t> index) {
      int64_t at = 0;
      for (size_t i = 0; i < index.size(); ++i)
        at = at * old[i] + step.first[i] + index[i];
      return at;
    });
  }

  void place(const Step &step, llvm::ArrayRef<Step> later) {
    auto whole = shapeBefore(later);
    // Behind a reshape only the number of elements is known.
    bool flat = llvm::any_of(later, [](const Step &next) { return next.kind == Step::Reshape; });
    if (!whole || flat) {
      unchecked = notTold;
      return;
    }
    Shape old = shape;
    if (whole->size() != old.size() || !fits(step, *whole, &old)) {
      wrong = "the part that its relation tells of does not fit";
      return;
    }
    gather(*whole, [&](llvm::ArrayRef<int32_t> index) -> int64_t {
      int64_t at = 0;
      for (size_t i = 0; i < index.size(); ++i) {
        int64_t inside = index[i] - step.first[i];
        if (inside < 0 || inside >= old[i])
          return -1;
        at = at * old[i] + inside;
      }
      return at;
    });
  }

  bool needNumbers() {
    if (numbers)
      return true;
    if (every) {
      numbers.emplace(from.size(), *every);
      allowed.assign(from.size(), 0);
      return true;
    }
    auto all = realNumbers(source);
    if (!all) {
      unchecked = "the relation calculates with what is not numbers";
      return false;
    }
    numbers.emplace(from.size(), NAN);
    allowed.assign(from.size(), 0);
    for (size_t i = 0; i < from.size(); ++i)
      if (from[i] >= 0) {
        (*numbers)[i] = (*all)[from[i]];
        allowed[i] = tolerance ? tolerance->at((*numbers)[i]) : 0;
      }
    return true;
  }

  std::optional<std::vector<double>> termNumbers(const Step::Term &term, double neutral) {
    if (term.kind == Step::Term::None)
      return std::vector<double>{neutral};
    if (term.kind == Step::Term::Number)
      return std::vector<double>{term.number};
    if (term.kind == Step::Term::Source)
      return std::nullopt; // the caller has not put the constant in its place
    auto bytes = ConstantBytes::of(*term.constant, CompileOptions().memoryLimit);
    if (!bytes) {
      llvm::consumeError(bytes.takeError());
      return std::nullopt;
    }
    Tensor tensor;
    tensor.type = term.constant->type;
    tensor.shape.assign(term.constant->shape.begin(), term.constant->shape.end());
    tensor.quantization = term.constant->quantization;
    tensor.storage = bytes->bytes;
    return realNumbers(tensor);
  }

  void affine(const Step &step, std::optional<std::vector<double>> scale, std::optional<std::vector<double>> shift) {
    if (!scale || !shift) {
      unchecked = "a constant of the relation cannot be read";
      return;
    }
    if (!needNumbers())
      return;
    size_t inner = 1, along = numbers->size();
    if (step.axis >= 0) {
      if (step.axis >= static_cast<int>(shape.size())) {
        wrong = "the relation calculates along an axis that there is not";
        return;
      }
      inner = product(shape, step.axis + 1, shape.size());
      along = shape[step.axis];
    }
    for (auto *term : {&*scale, &*shift})
      if (term->size() != 1 && term->size() != along) {
        wrong = "the relation calculates with a constant that does not fit";
        return;
      }
    for (size_t i = 0; i < numbers->size(); ++i) {
      size_t k = i / inner % along;
      double a = (*scale)[scale->size() == 1 ? 0 : k], b = (*shift)[shift->size() == 1 ? 0 : k];
      double product = (*numbers)[i] * a;
      (*numbers)[i] = product + b;
      if (tolerance)
        allowed[i] = allowed[i] * std::fabs(a) + margin * tolerance->relative * (std::fabs(product) + std::fabs(b));
    }
  }

  void cast(llvm::ArrayRef<Step> later) {
    if (every)
      return;
    if (llvm::any_of(later, [](const Step &s) { return s.kind == Step::Cast || s.kind == Step::Quantize; })) {
      unchecked = "a type between the steps of the relation is not told";
      return;
    }
    if (!needNumbers())
      return;
    // A quantised tensor stands for real numbers whatever they are stored as.
    if (isQuantized(result))
      return;
    for (double &x : *numbers)
      switch (result.type) {
      case TensorType::FLOAT64:
        break;
      case TensorType::FLOAT32:
        x = static_cast<float>(x);
        break;
      case TensorType::FLOAT16:
        x = halfToFloat(floatToHalf(static_cast<float>(x)));
        break;
      case TensorType::BOOL:
        x = x != 0 ? 1 : 0;
        break;
      default:
        x = isFloat(result.type) ? x : std::trunc(x);
      }
  }

  void quantize(llvm::ArrayRef<Step> later) {
    if (every)
      return;
    auto bits = bitsPerElement(result.type);
    if (!isQuantized(result) || !bits || *bits > 32) {
      wrong = "is not quantised, which its relation says";
      return;
    }
    Channels channels(result);
    if (!channels.fit || ((result.perChannel() || channels.byBlock()) && !later.empty())) {
      unchecked = "the channels of the quantisation are not told";
      return;
    }
    if (!needNumbers())
      return;
    bool isUnsigned = result.type == TensorType::UINT8 || result.type == TensorType::UINT16;
    double low = isUnsigned ? 0 : -std::ldexp(1., static_cast<int>(*bits) - 1);
    double high = low + std::ldexp(1., static_cast<int>(*bits)) - 1;
    for (size_t i = 0; i < numbers->size(); ++i) {
      size_t channel = channels.of(i);
      double scale = channels.scale(channel), zero = channels.zeroPoint(channel);
      double stored = std::clamp(std::round((*numbers)[i] / scale) + zero, low, high);
      (*numbers)[i] = (stored - zero) * scale;
    }
  }
};

std::string indexText(size_t element, const Shape &shape) {
  Shape index(shape.size());
  for (size_t axis = shape.size(); axis-- > 0; element /= shape[axis])
    index[axis] = static_cast<int32_t>(element % shape[axis]);
  return shapeText(index);
}

/// NaN equals NaN. Where `from` is negative anything will do. `allowed`: how far a number may be off.
Verdict compareNumbers(llvm::ArrayRef<double> want, llvm::ArrayRef<double> have, llvm::ArrayRef<int64_t> from,
                       const Tensor &result, llvm::function_ref<double(size_t)> allowed) {
  double most = -1;
  bool within = true;
  size_t wrong = 0, worst = 0;
  for (size_t i = 0; i < want.size(); ++i) {
    if (from[i] < 0)
      continue;
    if (want[i] == have[i] || (std::isnan(want[i]) && std::isnan(have[i])))
      continue;
    ++wrong;
    double error = std::fabs(want[i] - have[i]);
    if (std::isnan(error))
      error = INFINITY;
    double explained = allowed(i);
    within &= error <= explained && std::isfinite(error);
    double times = explained > 0 ? error / explained : error > 0 ? INFINITY : 0;
    if (times > most || (times == most && error > std::fabs(want[worst] - have[worst]))) {
      most = times;
      worst = i;
    }
  }
  if (!wrong)
    return {Verdict::Equal};
  if (within)
    return {Verdict::Within};
  std::string text;
  llvm::raw_string_ostream os(text);
  os << wrong << " of " << want.size() << " elements deviate, most at " << indexText(worst, result.shape) << ": "
     << llvm::format("%.9g instead of %.9g", have[worst], want[worst]);
  if (std::isfinite(most))
    os << llvm::format(", %.3g times what rounding explains", most);
  return {Verdict::Deviates, std::move(text)};
}

bool sameStorage(const Tensor &a, const Tensor &b) {
  return a.type == b.type && sameQuantization(a.quantization, b.quantization);
}

} // namespace

llvm::SmallVector<Step, 2> withConstants(llvm::ArrayRef<Step> steps, const std::map<uint32_t, const Value *> &sources) {
  llvm::SmallVector<Step, 2> result(steps.begin(), steps.end());
  for (Step &step : result)
    for (Step::Term *term : {&step.scale, &step.shift})
      if (auto known = sources.find(term->tensor);
          term->kind == Step::Term::Source && known != sources.end() && known->second->isConstant())
        *term = Step::Term::of(known->second);
  return result;
}

static Verdict checkWith(const Tensor &source, llvm::ArrayRef<Step> steps, const Tolerance *tolerance,
                         const Tensor &result, std::optional<Shape> guess) {
  bool stored = sameStorage(source, result);
  if (stored && steps.empty() && llvm::ArrayRef(source.shape) == llvm::ArrayRef(result.shape) &&
      llvm::ArrayRef<uint8_t>(source.storage) == llvm::ArrayRef<uint8_t>(result.storage))
    return {Verdict::Equal};
  if (!isFloat(result.type))
    tolerance = nullptr;
  Applied applied(source, result, tolerance);
  applied.guess = std::move(guess);
  if (!applied.apply(steps))
    return applied.wrong ? Verdict{Verdict::Deviates, applied.wrong} : Verdict{Verdict::Unchecked, applied.unchecked};
  if (!applied.numbers && !stored && source.type != result.type && !isQuantized(source) && !isQuantized(result))
    return {Verdict::Deviates, "has another type than the source, and no step of its relation says so"};

  if (stored && !applied.numbers) { // the stored bits are moved
    auto bits = bitsPerElement(source.type);
    if (!bits)
      return !steps.empty() ? Verdict{Verdict::Unchecked, "elements without a fixed size are not moved"}
                            : Verdict{Verdict::Deviates, "has other bytes"};
    bool equal = *bits % 8 == 0;
    size_t size = *bits / 8;
    for (size_t i = 0; equal && i < applied.from.size(); ++i)
      equal = applied.from[i] < 0 ||
              std::memcmp(source.storage.data() + applied.from[i] * size, result.storage.data() + i * size, size) == 0;
    if (equal)
      return {Verdict::Equal};
  }
  // Stored integers are compared as such: a double does not hold all scaled ones.
  auto have = stored && !applied.numbers ? storedNumbers(result) : realNumbers(result);
  std::vector<double> want;
  if (have && applied.numbers) {
    want = std::move(*applied.numbers);
  } else if (auto all = stored ? storedNumbers(source) : realNumbers(source); have && all) {
    for (int64_t from : applied.from)
      want.push_back(from < 0 ? NAN : (*all)[from]);
  } else {
    return {Verdict::Unchecked, "what is not numbers is not compared"};
  }
  // What was calculated here is exact in double.
  if (result.type == TensorType::FLOAT32 && applied.numbers)
    for (double &x : want)
      x = static_cast<float>(x);
  Verdict verdict = compareNumbers(want, *have, applied.from, result, [&](size_t i) {
    return !tolerance ? 0 : applied.numbers ? applied.allowed[i] : tolerance->at(want[i]);
  });
  if (verdict.kind == Verdict::Equal && !tolerance && stored && !applied.numbers &&
      *bitsPerElement(source.type) % 8 == 0)
    return {Verdict::Deviates, "has the same numbers but not the same bits"};
  return verdict;
}

/// All shapes of this rank and so many elements, or none: there are too many to try.
static std::vector<Shape> shapesOf(int64_t elements, size_t rank) {
  std::vector<std::pair<Shape, int64_t>> open{{Shape(), elements}}; // and the elements of what is to come
  for (size_t axis = 0; axis < rank; ++axis) {
    std::vector<std::pair<Shape, int64_t>> longer;
    for (const auto &[shape, left] : open)
      for (int64_t size = axis + 1 < rank ? 1 : left; size <= left; ++size) {
        if (left % size)
          continue;
        if (static_cast<int64_t>(longer.size() + 1) * elements > 1 << 22)
          return {};
        longer.emplace_back(shape, left / size);
        longer.back().first.push_back(static_cast<int32_t>(size));
      }
    open = std::move(longer);
  }
  std::vector<Shape> shapes;
  for (auto &[shape, left] : open)
    shapes.push_back(std::move(shape));
  return shapes;
}

Verdict checkRelation(const Tensor &source, llvm::ArrayRef<Step> steps, const Tolerance *tolerance,
                      const Tensor &result) {
  Verdict verdict = checkWith(source, steps, tolerance, result, std::nullopt);
  if (verdict.kind != Verdict::Unchecked || verdict.text != notTold || source.count() > 1 << 16)
    return verdict;
  // Which shape was between a reshape and the permutation behind it, before another reshape, is to be found: it is
  // right if one is.
  for (size_t i = 0; i + 1 < steps.size(); ++i)
    if (steps[i].kind == Step::Reshape && steps[i + 1].kind == Step::Permute)
      for (const Shape &guess : shapesOf(static_cast<int64_t>(source.count()), steps[i + 1].first.size())) {
        Verdict tried = checkWith(source, steps, tolerance, result, guess);
        if (tried.kind != Verdict::Deviates)
          return tried;
        verdict = {Verdict::Deviates, "has another order than the steps make, whatever the shape between them"};
      }
  return verdict;
}

bool moveAlong(Tensor &source, llvm::ArrayRef<Step> steps, Tensor &result, bool inverse) {
  auto bits = bitsPerElement(source.type);
  if (!sameStorage(source, result) || !bits || *bits % 8 || result.count() != source.count())
    return false;
  Applied applied(source, result);
  if (!applied.apply(steps) || applied.numbers || llvm::is_contained(applied.from, -1))
    return false;
  size_t size = *bits / 8;
  for (size_t i = 0; i < applied.from.size(); ++i) {
    uint8_t *a = source.storage.data() + applied.from[i] * size, *b = result.storage.data() + i * size;
    std::memcpy(inverse ? a : b, inverse ? b : a, size);
  }
  return true;
}

std::optional<Way> wayAlong(const Tensor &source, llvm::ArrayRef<Step> steps, const Tensor &result) {
  bool moves = llvm::any_of(steps, [](const Step &s) { return s.kind != Step::Cast && s.kind != Step::Quantize; });
  if (!moves && llvm::ArrayRef(source.shape) == llvm::ArrayRef(result.shape))
    return Way();
  Applied shift(source, result, nullptr, 0);
  if (!shift.apply(steps))
    return std::nullopt;
  Way way;
  way.straight = false;
  if (shift.numbers) {
    Applied one(source, result, nullptr, 1);
    if (!one.apply(steps))
      return std::nullopt;
    way.shift = std::move(*shift.numbers);
    way.scale = std::move(*one.numbers);
    for (size_t i = 0; i < way.scale.size(); ++i)
      way.scale[i] -= way.shift[i];
  }
  way.from = std::move(shift.from);
  return way;
}

} // namespace origo::eval
