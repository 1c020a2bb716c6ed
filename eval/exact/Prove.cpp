#include "eval/exact/Prove.h"

#include "eval/RandomInput.h"
#include "eval/exact/SideBySide.h"
#include "eval/exact/Unseen.h"
#include "ir/ConstantExpressions.h"
#include "ir/Printable.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

namespace origo::eval {

using namespace exact;

namespace {

/// What inputs are drawn by.
struct Draw {
  enum Sign : uint8_t { Any, Positive, Negative };
  uint64_t seed;
  double size; ///< of every other number
  Sign sign = Any;
  bool allOfSize = false; ///< of the others, too
};

/// Numbers at random, with all 53 bits of doubles, or integers as every engine is given them.
llvm::Expected<Held> randomHeld(const Machine &machine, const Value &value, unsigned position, const Draw &draw) {
  Shape shape(value.shape.begin(), value.shape.end());
  if (!value.shapeSignature().empty())
    shape.assign(value.shapeSignature().begin(), value.shapeSignature().end());
  for (int32_t &dim : shape)
    dim = dim < 0 ? 1 : dim;
  auto held = machine.make(value, value.type, shape);
  if (!held)
    return held;
  if (!held->isReal()) {
    Port port{value.name.str(), value.type, shape, true, &value};
    auto random = randomInput(port, position, static_cast<uint32_t>(draw.seed));
    if (!random)
      return random.takeError();
    if (random->bytes.size() != held->block->bytes.size())
      return makeError("an input of strings has no exact numbers");
    held->block->bytes = std::move(random->bytes);
    held->tensor.storage = held->block->bytes;
    return held;
  }
  const Arithmetic drawn = Arithmetic::mersenne(draw.seed);
  for (auto [i, number] : llvm::enumerate(held->numbers())) {
    uint64_t bits = drawn.symbol(Function::Opaque, position, i, 0, 0).image;
    double wide = bits & 1 || draw.allOfSize ? draw.size : 12; // beyond every bound that activations have
    double any = wide * (std::ldexp(static_cast<double>(bits >> 8), -52) - 1);
    number = machine.math.of(draw.sign == Draw::Any        ? any
                             : draw.sign == Draw::Positive ? std::fabs(any)
                                                           : -std::fabs(any));
  }
  return held;
}

llvm::Expected<llvm::SmallVector<Held>> randomInputs(const Machine &machine, const Subgraph &graph, const Draw &draw) {
  llvm::SmallVector<Held> inputs;
  for (unsigned i = 0; i < graph.inputs.size(); ++i) {
    auto input = randomHeld(machine, *graph.inputs[i], i, draw);
    if (!input)
      return input.takeError();
    inputs.push_back(std::move(*input));
  }
  return inputs;
}

/// Does the graph refuse these inputs, as one does that computes a size from them?
bool refuses(const Machine &machine, const Subgraph &graph, llvm::ArrayRef<Held> inputs) {
  Variables state(machine);
  GraphRun run(machine, state, graph, inputs, true);
  for (;;) {
    auto op = run.step();
    if (!op) {
      llvm::consumeError(op.takeError());
      return true;
    }
    if (!*op)
      return false;
  }
}

llvm::Error checkInputs(const Subgraph &was, const Subgraph &is) {
  if (was.inputs.size() != is.inputs.size())
    return makeError("the number of inputs has changed");
  for (auto [a, b] : llvm::zip_equal(was.inputs, is.inputs))
    if (a->type != b->type || llvm::ArrayRef<int32_t>(a->shape) != llvm::ArrayRef<int32_t>(b->shape))
      return makeError("the type or the shape of an input has changed");
  return llvm::Error::success();
}

/// What one run of both says. Inputs that the source itself refuses are drawn once more, without negative numbers.
llvm::Expected<std::vector<std::pair<SideBySide::Key, Judged>>>
compareOnce(const Machine &source, const Machine &result, const Model &after,
            const std::map<uint32_t, const Value *> &sources, const Subgraph &was, const Subgraph &is, Draw draw,
            Clipping &clipping) {
  constexpr unsigned most = 8;
  const Choices left = *source.choices, right = *result.choices;
  for (unsigned attempt = 1;; ++attempt) {
    auto inputs = randomInputs(source, was, draw);
    if (!inputs)
      return inputs.takeError();
    Clipping seen = clipping;
    SideBySide both(source, result, after, sources, was, is, *inputs, seen);
    llvm::Error error = both.run();
    if (!error) {
      clipping = seen;
      return std::move(both.judged);
    }
    const bool isRefused = refuses(source, was, *inputs);
    *source.choices = left; // what was seen and not compared is not seen
    *result.choices = right;
    if (attempt == most || !isRefused)
      return error;
    llvm::consumeError(std::move(error));
    draw = {draw.seed + (uint64_t(1) << 32), draw.size, Draw::Positive, draw.allOfSize};
  }
}

/// "0.16666667 is 1 / 6 (recognise-hard-swish)"
std::string textOf(const ConstantExpressions::Assumption &one) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << llvm::format("%.9g is %.9g", one.number, one.numerator);
  if (one.denominator != 1)
    os << llvm::format(" / %.9g", one.denominator);
  os << " (" << one.pass << ')';
  return text;
}

/// The graphs that are called from outside, of both models.
std::vector<Bodies> entriesOf(const Model &before, const Model &after) {
  std::vector<Bodies> entries{{before.subgraphs.front().get(), after.subgraphs.front().get()}};
  for (const Signature &was : before.signatures)
    for (const Signature &is : after.signatures)
      if (was.key == is.key && was.subgraph && is.subgraph &&
          llvm::none_of(entries, [&](const auto &known) { return known.first == was.subgraph; }))
        entries.emplace_back(was.subgraph, is.subgraph);
  return entries;
}

/// Proves two models equal.
class Proving {
public:
  Proving(const Model &before, const Model &after, const Recipes &recipes, const ProveOptions &options)
      : before(before), after(after), recipes(recipes), options(options) {
    for (const auto &graph : before.subgraphs)
      for (const Value *value : graph->values)
        for (const Relation &relation : value->relations)
          if (relation.steps == 0)
            sources.try_emplace(relation.tensor, value);
    proof.seed = options.seed;
    if (after.expressions)
      for (const ConstantExpressions::Assumption &one : after.expressions->assumptions()) {
        meanings.push_back({one.number, one.numerator, one.denominator});
        proof.assumptions.push_back(textOf(one));
      }
  }

  llvm::Expected<Proof> run() {
    const double sizes[] = {0.5, 2}; // of every other number
    for (unsigned number = 0; number < 2; ++number) {
      uint64_t seed = options.seed * 2 + number;
      const Arithmetic math = number ? Arithmetic::drawn(seed) : Arithmetic::mersenne(seed);
      if (llvm::Error error = compare(math, {seed, sizes[number]}))
        return error;
      proof.primes.push_back(math.prime());
      proof.comparisons += math.decided;
      proof.nearComparisons += math.undecided;
      proof.divisionsByZero += math.undefinedCount;
    }
    if (order.empty())
      return makeError("nothing of the model could be compared");
    proof.stored = clipping.numbers;
    proof.clipped = clipping.clipped;
    lookFurther();
    count();
    return std::move(proof);
  }

private:
  const Model &before, &after;
  const Recipes &recipes;
  const ProveOptions &options;
  std::map<uint32_t, const Value *> sources;
  std::vector<Meaning> meanings;
  Proof proof;
  std::vector<SideBySide::Key> order;
  std::map<SideBySide::Key, Judged> worst;
  Choices was, is; ///< of both models
  std::vector<std::string> unseen;
  Clipping clipping{&options.ends};

  /// Both, each from these graphs on.
  llvm::Expected<std::vector<std::pair<SideBySide::Key, Judged>>> compareBodies(const Arithmetic &math, Bodies bodies,
                                                                                const Draw &draw, Clipping &clipping) {
    Machine source(math, nullptr, options.limits, meanings), result(math, &recipes, options.limits, meanings);
    source.choices = &was;
    result.choices = &is;
    if (llvm::Error error = checkInputs(*bodies.first, *bodies.second))
      return error;
    return compareOnce(source, result, after, sources, *bodies.first, *bodies.second, draw, clipping);
  }

  llvm::Error compare(const Arithmetic &math, const Draw &draw) {
    for (const Bodies &entry : entriesOf(before, after)) {
      auto all = compareBodies(math, entry, draw, clipping);
      if (!all)
        return all.takeError();
      for (auto &[key, judged] : *all) {
        auto [known, isNew] = worst.try_emplace(key, judged);
        if (isNew)
          order.push_back(key);
        else
          known->second.add(judged);
      }
    }
    return llvm::Error::success();
  }

  /// Where what was never chosen may hide what is not equal: other inputs, by which it may be chosen. Of these only is
  /// known what is unequal: they are beyond what models are made for.
  void lookFurther() {
    unseen = whatIsUnseen();
    const Draw draws[] = {{0, 100}, {0, 1e4}, {0, 1e4, Draw::Positive}, {0, 1e4, Draw::Negative}, {0, 0.01}};
    for (uint64_t number = 2; Draw draw : draws) {
      if (unseen.empty())
        return;
      draw.seed = options.seed * 2 + (number++ << 33);
      draw.allOfSize = true;
      const Arithmetic math = Arithmetic::mersenne(draw.seed);
      for (const Bodies &entry : entriesOf(before, after)) {
        Clipping uncounted;
        auto all = compareBodies(math, entry, draw, uncounted);
        if (!all) {
          llvm::consumeError(all.takeError());
          continue;
        }
        for (auto &[key, judged] : *all)
          if (auto known = worst.find(key); known != worst.end() && judged.kind == Judged::Different)
            known->second.add(judged);
      }
      unseen = whatIsUnseen();
    }
  }

  /// Graphs that were not run are run by themselves: where they are equal for any operands, nothing can hide there.
  std::vector<std::string> whatIsUnseen() {
    const Choices wasCalled = was, isCalled = is;
    std::vector<std::string> texts;
    for (;;) {
      auto bodies = neverRun({before, was}, {after, is}, sources);
      if (bodies.empty())
        break;
      for (const Bodies &pair : bodies) {
        if (!areEqual(pair))
          texts.push_back("subgraph \"" + printable(pair.second->name) +
                          "\" never ran, and is not equal to that of the source by itself");
        was.ran.insert(pair.first);
        is.ran.insert(pair.second);
      }
    }
    llvm::append_range(texts, neverChosen({before, was}, {after, is}));
    if (!texts.empty()) { // by themselves is not as they are called
      was = wasCalled;
      is = isCalled;
    }
    return texts;
  }

  bool areEqual(const Bodies &bodies) {
    for (unsigned number = 0; number < 2; ++number) {
      uint64_t seed = options.seed * 2 + number;
      const Arithmetic math = number ? Arithmetic::drawn(seed) : Arithmetic::mersenne(seed);
      Clipping uncounted;
      auto all = compareBodies(math, bodies, {seed, 2}, uncounted);
      if (!all) {
        llvm::consumeError(all.takeError());
        return false;
      }
      for (const auto &[key, judged] : *all)
        if (judged.kind == Judged::Undecided || judged.kind == Judged::Different)
          return false;
    }
    return true;
  }

  void count() {
    for (const std::string &text : unseen)
      ++proof.undecided[text];
    for (const SideBySide::Key &key : order) {
      const Judged &judged = worst.at(key);
      switch (judged.kind) {
      case Judged::Equal:
        ++proof.equal;
        if (!judged.function.empty())
          ++proof.functions[judged.function];
        break;
      case Judged::Assumed:
        ++proof.assumed;
        break;
      case Judged::Undecided:
        ++proof.undecided[judged.text];
        break;
      case Judged::Different: {
        std::optional<uint32_t> id;
        if (key.second < key.first->relations.size())
          id = key.first->relations[key.second].tensor;
        proof.different.push_back({key.first, id, judged.text});
        break;
      }
      }
    }
  }
};

} // namespace

llvm::Expected<Proof> prove(const Model &before, const Model &after, const Recipes &recipes,
                            const ProveOptions &options) {
  return Proving(before, after, recipes, options).run();
}

} // namespace origo::eval
