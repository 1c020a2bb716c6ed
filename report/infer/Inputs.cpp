#include "report/infer/Search.h"

#include "eval/RealNumbers.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"

#include <algorithm>

/// Which input of the source an input of the result is.
namespace origo::report {

std::optional<std::vector<Step>> stepsOfShapes(llvm::ArrayRef<int32_t> from, llvm::ArrayRef<int32_t> to) {
  if (from == to)
    return std::vector<Step>();
  auto count = [](llvm::ArrayRef<int32_t> shape) { return eval::product(shape); };
  if (count(from) != count(to))
    return std::nullopt;
  auto fits = [&](llvm::ArrayRef<int64_t> order) {
    return from.size() == to.size() && llvm::all_of(llvm::enumerate(order), [&](auto axis) {
             return to[axis.index()] == from[static_cast<size_t>(axis.value())];
           });
  };
  std::vector<llvm::SmallVector<int64_t, 0>> usual;
  if (from.size() == 4)
    usual = {{0, 2, 3, 1}, {0, 3, 1, 2}};
  else if (from.size() == 3)
    usual = {{0, 2, 1}, {1, 2, 0}, {2, 0, 1}};
  else if (from.size() == 5)
    usual = {{0, 2, 3, 4, 1}, {0, 4, 1, 2, 3}};
  for (auto &order : usual)
    if (fits(order)) {
      Step step{Step::Permute};
      step.first = order;
      return std::vector<Step>{step};
    }
  return std::vector<Step>{Step{Step::Reshape}};
}

/// The order of axes by which channels went last (1) or first (2).
static llvm::SmallVector<int64_t, 0> movedAxes(unsigned moved, size_t rank) {
  llvm::SmallVector<int64_t, 0> order{0};
  for (size_t axis = 1; axis < rank; ++axis)
    order.push_back(static_cast<int64_t>(moved == 1 ? axis % (rank - 1) + 1 : axis == 1 ? rank - 1 : axis - 1));
  return order;
}

/// Have they the same shape, and would have if channels had moved?
static bool looksTheSame(const Value &a, const Value &b) {
  llvm::ArrayRef<int32_t> shape(b.shape.begin(), b.shape.end());
  return shape.size() >= 3 && llvm::ArrayRef<int32_t>(a.shape.begin(), a.shape.end()) == shape &&
         llvm::all_equal(shape.drop_front()) && shape[1] > 1;
}

/// The input of `from` that an input of the result was said to be; null: nothing was said.
const Value *InferSearch::boundTo(const Value &input, const Subgraph &from) const {
  for (const auto &[name, other] : options.bound)
    if (input.name == other)
      for (const Value *candidate : from.inputs)
        if (candidate->name == name)
          return candidate;
  return nullptr;
}

llvm::Error InferSearch::pairInputs(const Subgraph &from, const Subgraph &to) {
  // By position where all fit, else the first free one that does.
  auto fits = [&](const Value &a, const Value &b) {
    return stepsOfShapes({a.shape.begin(), a.shape.end()}, {b.shape.begin(), b.shape.end()}).has_value() &&
           (isReal(a) || isReal(b) || a.type == b.type || eval::storesNumbers(a.type) == eval::storesNumbers(b.type));
  };
  llvm::SmallVector<const Value *> order;
  bool inOrder = from.inputs.size() == to.inputs.size() &&
                 llvm::all_of(llvm::zip(from.inputs, to.inputs),
                              [&](auto pair) { return fits(*std::get<0>(pair), *std::get<1>(pair)); });
  llvm::DenseSet<const Value *> taken;
  for (const Value *input : to.inputs)
    if (const Value *bound = boundTo(*input, from)) {
      taken.insert(bound);
      inOrder = false;
    }
  for (auto [i, input] : llvm::enumerate(to.inputs)) {
    const Value *match = inOrder ? from.inputs[i] : boundTo(*input, from);
    // A shape of its own, a type of its own, a name: the best of what is free.
    int best = -1;
    for (const Value *candidate : match ? llvm::ArrayRef<Value *>() : llvm::ArrayRef<Value *>(from.inputs)) {
      if (taken.contains(candidate) || !fits(*candidate, *input))
        continue;
      int score = 4 * (llvm::ArrayRef<int32_t>(candidate->shape) == llvm::ArrayRef<int32_t>(input->shape)) +
                  2 * (candidate->type == input->type) + (candidate->name == input->name);
      if (score > best) {
        best = score;
        match = candidate;
      }
    }
    if (!match)
      continue;
    taken.insert(match);
    FoundTensor &known = found[input];
    known.source = match;
    known.steps =
        *stepsOfShapes({match->shape.begin(), match->shape.end()}, {input->shape.begin(), input->shape.end()});
    if (options.moved && looksTheSame(*match, *input)) {
      Step &step = known.steps.emplace_back();
      step.kind = Step::Permute;
      step.first = movedAxes(options.moved, input->shape.size());
    }
    known.executed = true;
    known.exact = known.steps.empty() && isStoredAlike(*match, *input);
  }
  return llvm::Error::success();
}

llvm::Error checkBound(const Model &source, const Model &result, const InferOptions &options) {
  auto find = [](const Model &model, llvm::StringRef name) -> const Value * {
    for (const auto &graph : model.subgraphs)
      for (const Value *input : graph->inputs)
        if (input->name == name)
          return input;
    return nullptr;
  };
  for (const auto &[name, other] : options.bound) {
    const Value *from = find(source, name), *to = find(result, other);
    if (!from || !to)
      return makeError(llvm::Twine("the ") + (from ? "result" : "source") + " has no input \"" +
                       printable(from ? other : name) + "\"");
    if (eval::product(from->shape) != eval::product(to->shape))
      return makeError("input \"" + printable(name) + "\" of the source has another number of elements than input \"" +
                       printable(other) + "\" of the result");
  }
  return llvm::Error::success();
}

std::vector<InferOptions> otherOrders(const Model &source, const Model &result, const InferOptions &options) {
  std::vector<InferOptions> orders;
  if (source.subgraphs.empty() || result.subgraphs.empty() || !options.bound.empty())
    return orders;
  const auto &from = source.subgraphs[0]->inputs, &to = result.subgraphs[0]->inputs;
  if (from.size() == to.size() &&
      llvm::any_of(llvm::zip(from, to), [](auto pair) { return looksTheSame(*std::get<0>(pair), *std::get<1>(pair)); }))
    for (unsigned moved : {1, 2}) {
      orders.push_back(options);
      orders.back().moved = moved;
    }
  constexpr size_t most = 3; // six orders
  if (from.size() != to.size() || from.size() < 2 || from.size() > most)
    return orders;
  llvm::SmallVector<size_t> order;
  for (size_t i = 0; i < from.size(); ++i)
    order.push_back(i);
  while (std::next_permutation(order.begin(), order.end())) {
    InferOptions other = options;
    llvm::StringSet<> names;
    bool fits = true;
    for (auto [i, input] : llvm::enumerate(to)) {
      const Value &same = *from[order[i]];
      fits &= names.insert(input->name).second && eval::product(same.shape) == eval::product(input->shape) &&
              isReal(same) == isReal(*input);
      other.bound.emplace_back(same.name.str(), input->name.str());
    }
    if (fits)
      orders.push_back(std::move(other));
  }
  return orders;
}

} // namespace origo::report
