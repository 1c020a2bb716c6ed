#pragma once

#include "eval/Relations.h"
#include "eval/exact/GraphRun.h"
#include "eval/exact/Prove.h"
#include "schema/TensorTypes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <cstring>

/// Two models run side by side without rounding, and what both hold compared.
namespace origo::eval::exact {

/// What exact arithmetic says of two tensors; the worst of several runs stays.
struct Judged {
  enum Kind : uint8_t { Equal, Assumed, Undecided, Different } kind = Equal;
  std::string text = {};
  std::string function = {}; ///< Equal: an operator without a kernel is behind it

  void add(Judged other) {
    if (other.kind > kind)
      *this = std::move(other);
  }
};

inline std::string indexText(size_t element, llvm::ArrayRef<int32_t> shape) {
  Shape index(shape.size());
  for (size_t axis = shape.size(); axis-- > 0; element /= shape[axis])
    index[axis] = static_cast<int32_t>(element % shape[axis]);
  return shapeText(index);
}

/// Element i of `have` should be element from(i) of `want`; −1: anything.
class Comparer {
public:
  Comparer(const Held &want, const Way &way, const Held &have) : want(want), way(way), have(have) {}

  Judged compare() const {
    if (want.isUnknown() || have.isUnknown()) {
      if (want.tensor.type == have.tensor.type && want.symbol && want.symbol == have.symbol)
        return {};
      return {Judged::Undecided, "what is not numbers"};
    }
    if (want.isReal() != have.isReal() || (!want.isReal() && want.tensor.type != have.tensor.type))
      return {Judged::Undecided, "stored as another type"};
    if (way.straight && want.tensor.count() != have.tensor.count())
      return {Judged::Different, "has another shape"};
    Judged judged = want.isReal() ? numbers() : bytes();
    // Of what is behind an operator without a kernel is known that it is the same for the same.
    const std::string &name = have.opaque.empty() ? want.opaque : have.opaque;
    if (name.empty())
      return judged;
    if (judged.kind == Judged::Equal && want.isSymbolic && have.isSymbolic && want.symbol == have.symbol)
      return {Judged::Equal, "", name};
    return {Judged::Undecided, name.find(' ') == std::string::npos ? name + " has no exact kernel" : name};
  }
  int64_t from(size_t i) const { return way.straight ? static_cast<int64_t>(i) : way.from[i]; }

private:
  const Held &want;
  const Way &way;
  const Held &have;

  Judged numbers() const {
    enum { Fine, ByFunctions, Near, Off } worst = Fine;
    size_t off = 0, first = 0, all = have.numbers().size();
    for (size_t i = 0; i < all; ++i) {
      if (from(i) < 0)
        continue;
      const Number &a = want.numbers()[from(i)], &b = have.numbers()[i];
      double far = std::fabs(a.value - b.value), bound = a.error + b.error;
      bool sameValue = !(far > bound) || a.value == b.value;
      if (a.image == b.image && sameValue)
        continue;
      if (a.isDoubtful() || b.isDoubtful()) {
        worst = std::max(worst, Near);
        continue;
      }
      // An identity of functions that are symbols here, such as log(eˣ) = x. The doubles have 53 bits; bounds may be
      // wide where a step began with a small number beside large ones.
      constexpr double tight = 1e-9, lastDigits = 1e-12;
      if (a.image != b.image && (have.usesFunctions || want.usesFunctions) && sameValue &&
          (bound <= tight * std::fabs(a.value) || far <= lastDigits * std::fabs(a.value))) {
        worst = std::max(worst, ByFunctions);
        continue;
      }
      worst = Off;
      if (off++ == 0)
        first = i;
    }
    switch (worst) {
    case Fine:
      return {};
    case ByFunctions:
      return {Judged::Assumed, ""};
    case Near:
      return {Judged::Undecided, "a comparison that the doubles do not decide"};
    case Off:
      break;
    }
    std::string text;
    llvm::raw_string_ostream os(text);
    os << off << " of " << all << " numbers are others, the first at " << indexText(first, have.tensor.shape) << ": "
       << llvm::format("%.17g instead of %.17g", have.numbers()[first].value, want.numbers()[from(first)].value);
    return {Judged::Different, std::move(text)};
  }

  Judged bytes() const {
    auto bits = bitsPerElement(have.tensor.type);
    bool equal = true;
    size_t first = 0;
    llvm::ArrayRef<uint8_t> a = want.block->bytes, b = have.block->bytes;
    if (!bits || *bits % 8) {
      if (!way.straight)
        return {Judged::Undecided, "elements that share bytes are moved"};
      equal = a == b;
    } else {
      size_t size = *bits / 8;
      for (size_t i = 0; equal && i < b.size() / size; ++i)
        if (from(i) >= 0 && std::memcmp(a.data() + from(i) * size, b.data() + i * size, size) != 0) {
          equal = false;
          first = i;
        }
    }
    if (equal)
      return {};
    if (want.doubtful || have.doubtful)
      return {Judged::Undecided, "a comparison that the doubles do not decide"};
    return {Judged::Different, "other integers, the first at " + indexText(first, have.tensor.shape)};
  }
};

/// How many numbers of tensors are beyond what these are stored as.
struct Clipping {
  const Ends *all = nullptr; ///< null: nothing is counted
  uint64_t numbers = 0, clipped = 0;

  void count(const Value &value, const Held &held) {
    if (!all || !held.isReal())
      return;
    auto found = all->find(&value);
    if (found == all->end())
      return;
    numbers += held.numbers().size();
    const std::pair<double, double> &ends = found->second;
    clipped +=
        llvm::count_if(held.numbers(), [&](const Number &x) { return x.value < ends.first || x.value > ends.second; });
  }
};

/// One run of both models, side by side.
class SideBySide {
public:
  SideBySide(const Machine &source, const Machine &result, const Model &after,
             const std::map<uint32_t, const Value *> &sources, const Subgraph &before, const Subgraph &now,
             llvm::ArrayRef<Held> inputs, Clipping &clipping)
      : after(after), sources(sources), machine(source), clipping(clipping), was(source), is(result),
        left(source, was, before, inputs, true), right(result, is, now, inputs, false) {}

  using Key = std::pair<const Value *, size_t>; ///< a relation of the value; others: it is an output, or left behind
  /// In the order in which they were found.
  std::vector<std::pair<Key, Judged>> judged;

  llvm::Error run() {
    auto isHere = [&](const Value &value) { return value.subgraph() == &left.graph; };
    for (const Operator &op : right.graph.operators)
      for (const Value *result : op.results())
        if (result)
          for (const Relation &relation : result->relations)
            if (const Value *source = sourceOf(relation); source && isHere(*source))
              left.keep(*source);
    for (const Value *output : right.graph.outputs)
      right.keep(*output);
    for (;;) {
      auto op = right.step();
      if (!op)
        return op.takeError();
      if (!*op)
        break;
      for (const Value *result : (*op)->results())
        if (result)
          if (llvm::Error error = judge(*result))
            return error;
    }
    return judgeOutputs();
  }

private:
  const Model &after;
  const std::map<uint32_t, const Value *> &sources;
  const Machine &machine;
  Clipping &clipping;
  Variables was, is;
  GraphRun left, right;
  llvm::DenseMap<const Value *, Held> unled; ///< outputs, as they were before they were led

  const Value *sourceOf(const Relation &relation) const {
    auto known = sources.find(relation.tensor);
    return known == sources.end() ? nullptr : known->second;
  }

  llvm::Error judge(const Value &value) {
    auto have = right.find(value);
    if (!have || !*have)
      return have.takeError();
    clipping.count(value, *have);
    if (value.isGraphOutput())
      unled[&value] = *have;
    const Operator *producer = value.producer();
    bool moves = producer && producer->info() && producer->info()->has(Trait::DataMovement);
    // Of several, which were computed of each other, the last one leads.
    int32_t latest = -2;
    std::optional<Held> lead;
    for (auto [k, relation] : llvm::enumerate(value.relations)) {
      const Value *source = sourceOf(relation);
      if (!source)
        continue;
      bool here = source->subgraph() == &left.graph;
      auto want = left.until(*source);
      if (!want)
        return want.takeError();
      if (*want) {
        auto way = wayAlong(want->tensor, after.steps.get(relation.steps), have->tensor);
        // What a relation calculates is judged by what comes of it.
        if (way && way->scale.empty()) {
          Comparer comparer(*want, *way, *have);
          judged.push_back({{&value, k}, comparer.compare()});
          int32_t produced = after.sourceGraph.producer(relation.tensor);
          if (!moves && produced > latest && want->isReal() == have->isReal() &&
              (want->isReal() || want->tensor.type == have->tensor.type)) {
            Held settled = *want;
            if (llvm::Error error = machine.settle(settled))
              return error;
            if (auto led = ledBy(settled, comparer, *have)) {
              lead = std::move(led);
              latest = produced;
              // Both go on from here with the same numbers, wherever these come from.
              if (!source->isGraphOutput()) {
                Held begun = *want;
                begun.usesFunctions = false;
                begun.opaque.clear();
                left.replace(*source, std::move(begun));
              }
            }
          }
        }
      }
      if (here)
        left.release(*source);
    }
    if (lead)
      right.replace(value, std::move(*lead));
    return llvm::Error::success();
  }

  /// The source's elements where the relation says which; none: it does not say all.
  static std::optional<Held> ledBy(const Held &want, const Comparer &comparer, const Held &have) {
    size_t count = static_cast<size_t>(have.tensor.count());
    for (size_t i = 0; i < count; ++i)
      if (int64_t from = comparer.from(i); from < 0 || from >= want.tensor.count())
        return std::nullopt;
    Held led = have;
    led.block = std::make_shared<Held::Block>(*have.block); // what it holds itself is compared with outputs, too
    led.tensor.storage = led.isReal()
                             ? llvm::MutableArrayRef<uint8_t>(reinterpret_cast<uint8_t *>(led.block->numbers.data()),
                                                              led.block->numbers.size() * sizeof(Number))
                             : llvm::MutableArrayRef<uint8_t>(led.block->bytes);
    led.doubtful = want.doubtful;
    led.usesFunctions = false;
    led.opaque.clear();
    led.symbol = want.symbol;
    auto bits = bitsPerElement(have.tensor.type).value_or(1);
    if (have.isUnknown() || want.isUnknown())
      return std::nullopt;
    if (!have.isReal() && bits % 8)
      return std::nullopt;
    for (size_t i = 0; i < count; ++i) {
      int64_t from = comparer.from(i);
      if (have.isReal())
        led.numbers()[i] = want.numbers()[from];
      else
        std::memcpy(led.block->bytes.data() + i * (bits / 8), want.block->bytes.data() + from * (bits / 8), bits / 8);
    }
    return led;
  }

  llvm::Error judgeOutputs() {
    if (left.graph.outputs.size() != right.graph.outputs.size())
      return makeError("the number of outputs has changed");
    auto all = left.outputs();
    if (!all)
      return all.takeError();
    for (auto [want, value] : llvm::zip(*all, right.graph.outputs)) {
      auto known = unled.find(value);
      auto have = known != unled.end() ? llvm::Expected<Held>(known->second) : right.find(*value);
      if (!have)
        return have.takeError();
      if (!want || !*have)
        judged.push_back({{value, ~size_t(0)}, {Judged::Undecided, "an output that no operator computes"}});
      else if (llvm::ArrayRef(want.tensor.shape) != llvm::ArrayRef(have->tensor.shape))
        judged.push_back({{value, ~size_t(0)}, {Judged::Different, "has another shape"}});
      else
        judged.push_back({{value, ~size_t(0)}, Comparer(want, Way(), *have).compare()});
    }
    return judgeState();
  }

  /// What both leave in variables for the next run.
  llvm::Error judgeState() {
    for (const auto &graph : after.subgraphs)
      for (const Value *value : graph->values)
        for (auto [k, relation] : llvm::enumerate(value->relations)) {
          const Value *source = sourceOf(relation);
          if (!value->isVariable || !source || !source->isVariable || relation.steps != 0)
            continue;
          auto want = was.variable(*source), have = is.variable(*value);
          if (!want || !have)
            return llvm::joinErrors(want ? llvm::Error::success() : want.takeError(),
                                    have ? llvm::Error::success() : have.takeError());
          judged.push_back({{value, k}, Comparer(*want, Way(), *have).compare()});
        }
    constexpr size_t leftBehind = ~size_t(0) - 1;
    for (const auto &[symbol, have] : is.resources) {
      auto want = was.resources.find(symbol);
      judged.push_back({{have.handle, leftBehind},
                        want == was.resources.end() ? Judged{Judged::Different, "is assigned, which it was not"}
                                                    : Comparer(want->second.held, Way(), have.held).compare()});
    }
    for (const auto &[symbol, want] : was.resources)
      if (!is.resources.count(symbol))
        judged.push_back({{want.handle, leftBehind}, {Judged::Different, "is not assigned any more"}});
    return llvm::Error::success();
  }
};

} // namespace origo::eval::exact
