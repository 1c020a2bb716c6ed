#include "eval/exact/Choices.h"

#include "eval/exact/Intervals.h"
#include "schema/TensorTypes.h"

#include "llvm/ADT/STLExtras.h"

#include <cstring>

namespace origo::eval::exact {

using Op = BuiltinOperator;

namespace {

/// The bytes of each element; none: they share bytes.
std::optional<size_t> widthOf(const Held &held) {
  auto bits = bitsPerElement(held.tensor.type);
  return bits && *bits % 8 == 0 && *bits <= 64 ? std::optional<size_t>(*bits / 8) : std::nullopt;
}

/// A number for the elements of a tensor, in any order; and for one that is repeated the same however often it is.
uint64_t numberOf(const Arithmetic &math, const Held &held) {
  if (!held)
    return 0;
  uint64_t sum = 0, first = 0, width = held.isReal() ? 0 : widthOf(held).value_or(1);
  size_t count = held.isReal() ? held.numbers().size() : held.block->bytes.size() / width;
  bool isSplat = true;
  for (size_t i = 0; i < count; ++i) {
    uint64_t element = 0;
    if (held.isReal())
      element = held.numbers()[i].image;
    else
      std::memcpy(&element, held.block->bytes.data() + i * width, width);
    if (i == 0)
      first = element;
    isSplat &= element == first;
    sum += math.mix(element, 0);
  }
  return isSplat ? math.mix(first, count > 0) : sum;
}

/// The one number that all elements are; NaN: there are several.
double splatOf(const Held &held) {
  if (!held || !held.isReal() || held.numbers().empty())
    return NAN;
  const Number &first = held.numbers().front();
  bool isSplat = llvm::all_of(held.numbers(), [&](const Number &each) { return each.image == first.image; });
  return isSplat ? first.value : NAN;
}

/// Is an element of the result another one than that of the operand? Of operands of other shapes: it may be.
bool differs(const Held &result, const Held &operand) {
  auto width = widthOf(result);
  llvm::ArrayRef<uint8_t> a = result.block->bytes, b = operand.block->bytes;
  if (!width || (b.size() != a.size() && b.size() != *width))
    return true;
  for (size_t i = 0; i < a.size(); i += *width)
    if (std::memcmp(a.data() + i, b.data() + (b.size() == a.size() ? i : 0), *width) != 0)
      return true;
  return false;
}

/// What an operator may choose, and has chosen right now.
class Look {
public:
  Look(const Arithmetic &math, const Operator &op, llvm::ArrayRef<Held> operands, llvm::ArrayRef<Held> results)
      : math(math), op(op), operands(operands), result(results.front()) {}

  llvm::SmallVector<Choice, 3> choices() {
    if (auto clamp = clampOf(op)) {
      bounds(*clamp, 0);
      return std::move(all);
    }
    switch (op.builtinMeant()) {
    case Op::HARD_SWISH:
      if (result.isReal()) {
        add(Choice::Lower, number(0), chose(Arithmetic::LargerSecond));
        add(Choice::Upper, number(6), chose(Arithmetic::SmallerSecond));
      }
      break;
    case Op::MINIMUM:
      best(Choice::Upper, Arithmetic::SmallerFirst, Arithmetic::SmallerSecond);
      break;
    case Op::MAXIMUM:
      best(Choice::Lower, Arithmetic::LargerFirst, Arithmetic::LargerSecond);
      break;
    case Op::SELECT:
    case Op::SELECT_V2:
      sides();
      break;
    case Op::LESS:
    case Op::GREATER_EQUAL: // is its contrary
      answers(0, 1);
      break;
    case Op::GREATER:
    case Op::LESS_EQUAL:
      answers(1, 0);
      break;
    case Op::ABS:
    case Op::SIGN:
    case Op::LEAKY_RELU:
    case Op::PRELU:
    case Op::ELU:
      signs();
      break;
    case Op::FAKE_QUANT:
      if (result.isReal()) {
        add(Choice::Lower, number(op.options.as<circle::FakeQuantOptions>()->min()), chose(Arithmetic::LargerFirst));
        add(Choice::Upper, number(op.options.as<circle::FakeQuantOptions>()->max()), chose(Arithmetic::SmallerFirst));
      }
      break;
    default:
      if (auto clamp = fusedClampOf(op))
        bounds(*clamp, ~0u);
    }
    return std::move(all);
  }

private:
  const Arithmetic &math;
  const Operator &op;
  llvm::ArrayRef<Held> operands;
  const Held &result;
  llvm::SmallVector<Choice, 3> all;

  bool chose(uint8_t what) const { return math.choices & what; }
  uint64_t number(double one) const { return math.mix(math.of(one).image, 1); }
  void add(Choice::Kind kind, uint64_t what, bool seen) { all.push_back({kind, what, seen}); }
  /// `other`: the operand that is bounded.
  void bounds(Interval clamp, unsigned other) {
    if (!result.isReal())
      return;
    auto [low, high] = clamp;
    const Number least = math.of(low), most = math.of(high);
    // What is the largest of several is no bound.
    const bool isPool = op.builtinMeant() == Op::MAX_POOL_2D;
    auto makes = [&](const Number &bound) {
      return llvm::any_of(result.numbers(), [&](const Number &each) { return each.image == bound.image; });
    };
    if (std::isfinite(low))
      all.push_back({Choice::Lower, number(low), isPool ? makes(least) : chose(Arithmetic::LargerSecond), low, other});
    if (std::isfinite(high))
      all.push_back(
          {Choice::Upper, number(high), isPool ? makes(most) : chose(Arithmetic::SmallerSecond), high, other});
    uint64_t behind = other == 0 ? numberOf(math, operands[0]) : 0;
    for (unsigned i = 0; other != 0 && i < operands.size(); ++i)
      behind = math.mix(behind, numberOf(math, operands[i]));
    add(Choice::Through, behind, llvm::any_of(result.numbers(), [&](const Number &each) {
          return each.image != least.image && each.image != most.image;
        }));
  }
  void best(Choice::Kind kind, uint8_t first, uint8_t second) {
    uint64_t a = numberOf(math, operands[0]), b = numberOf(math, operands[1]);
    if (a == b)
      return;
    bool ofNumbers = result.isReal();
    all.push_back({kind, a, ofNumbers ? chose(first) : differs(result, operands[1]), splatOf(operands[0]), 1});
    all.push_back({kind, b, ofNumbers ? chose(second) : differs(result, operands[0]), splatOf(operands[1]), 0});
  }
  void sides() {
    llvm::ArrayRef<uint8_t> conditions = operands[0].block->bytes;
    uint64_t yes = numberOf(math, operands[1]), no = numberOf(math, operands[2]);
    if (yes == no)
      return;
    add(Choice::Side, yes, llvm::any_of(conditions, [](uint8_t each) { return each != 0; }));
    add(Choice::Side, no, llvm::is_contained(conditions, 0));
  }
  /// Whether one is less than the other.
  void answers(unsigned one, unsigned other) {
    llvm::ArrayRef<uint8_t> answers = result.block->bytes;
    add(Choice::Answer, math.mix(numberOf(math, operands[one]), numberOf(math, operands[other])),
        llvm::is_contained(answers, 0) && llvm::any_of(answers, [](uint8_t each) { return each != 0; }));
  }
  void signs() {
    if (!result.isReal())
      return;
    uint64_t slope = op.numOperands() > 1 ? numberOf(math, operands[1]) : 0;
    if (op.code == Op::LEAKY_RELU && op.options.table)
      slope = number(static_cast<double>(op.options.as<circle::LeakyReluOptions>()->alpha()));
    uint64_t what = math.mix(static_cast<uint64_t>(op.builtinMeant()), slope);
    all.push_back({Choice::Negative, what, chose(Arithmetic::Less), 0, 0});
    all.push_back({Choice::Positive, what, chose(Arithmetic::Greater), 0, 0});
  }
};

} // namespace

void Choices::add(const Arithmetic &math, const Operator &op, llvm::ArrayRef<Held> operands,
                  llvm::ArrayRef<Held> results) {
  if (results.empty() || !results.front() || results.front().isUnknown() || !results.front().opaque.empty())
    return;
  auto now = Look(math, op, operands, results).choices();
  if (now.empty())
    return;
  Site &site = sites[&op];
  if (site.choices.empty()) {
    site = {std::move(now), numberOf(math, results.front())};
    return;
  }
  for (auto [known, more] : llvm::zip(site.choices, now))
    known.seen |= more.seen;
}

} // namespace origo::eval::exact
