#include "report/join/Align.h"

#include "report/join/Kinds.h"
#include "report/join/Split.h"

#include "schema/TensorTypes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

#include <cmath>
#include <map>
#include <numeric>

using namespace origo;
using namespace origo::report;
using namespace origo::origin;
using llvm::StringRef;

namespace {

std::vector<uint64_t> plainShape(llvm::ArrayRef<uint64_t> dims) {
  std::vector<uint64_t> shape;
  llvm::copy_if(dims, std::back_inserter(shape), [](uint64_t dim) { return dim > 1; });
  llvm::sort(shape);
  return shape;
}

bool isActivation(StringRef op) { return op == "RELU" || op == "RELU6" || op == "RELU_N1_TO_1" || op == "RELU_0_TO_1"; }
bool isPad(StringRef op) { return op == "PAD" || op == "PADV2"; }
bool isWindowed(StringRef op) {
  return op == "CONV_2D" || op == "DEPTHWISE_CONV_2D" || op == "MAX_POOL_2D" || op == "AVERAGE_POOL_2D" ||
         op == "CONV_3D";
}
bool movesNothing(StringRef op) { return op == "RESHAPE" || op == "SQUEEZE" || op == "EXPAND_DIMS"; }

template <class Options> bool activates(const flatbuffers::Table *options) {
  return reinterpret_cast<const Options *>(options)->fused_activation_function() !=
         circle::ActivationFunctionType::NONE;
}
bool hasActivation(StringRef op, const flatbuffers::Table *options) {
  if (!options)
    return false;
  if (op == "CONV_2D")
    return activates<circle::Conv2DOptions>(options);
  if (op == "DEPTHWISE_CONV_2D")
    return activates<circle::DepthwiseConv2DOptions>(options);
  if (op == "FULLY_CONNECTED")
    return activates<circle::FullyConnectedOptions>(options);
  if (op == "ADD")
    return activates<circle::AddOptions>(options);
  if (op == "MUL")
    return activates<circle::MulOptions>(options);
  if (op == "SUB")
    return activates<circle::SubOptions>(options);
  if (op == "MAX_POOL_2D" || op == "AVERAGE_POOL_2D")
    return activates<circle::Pool2DOptions>(options);
  if (op == "CONCATENATION")
    return activates<circle::ConcatenationOptions>(options);
  return false;
}

bool isFloat(const FileGraph &graph, int32_t tensor) {
  auto type = static_cast<circle::TensorType>(graph.tensors[tensor]->type());
  return type == circle::TensorType::FLOAT32 || type == circle::TensorType::FLOAT16;
}

/// Of a convolution over a window of 1 with strides of 1.
std::optional<bool> isPointwise(const FileGraph &graph, uint32_t op, StringRef name, llvm::ArrayRef<int32_t> inputs) {
  if (name != "CONV_2D" || inputs.size() < 2 || inputs[1] < 0)
    return std::nullopt;
  const auto *shape = graph.tensors[inputs[1]]->shape();
  const auto *options = reinterpret_cast<const circle::Conv2DOptions *>(graph.options(op));
  if (!shape || shape->size() != 4 || !options)
    return std::nullopt;
  return shape->Get(1) == 1 && shape->Get(2) == 1 && options->stride_h() == 1 && options->stride_w() == 1;
}

} // namespace

std::vector<uint32_t> report::allOperators(const Target &target, uint32_t subgraph) {
  std::vector<uint32_t> all(subgraph < target.subgraphs.size() ? target.subgraphs[subgraph].operators.size() : 0);
  std::iota(all.begin(), all.end(), 0);
  return all;
}

std::vector<OperatorFacts> report::factsOf(const Target &target, const FileGraph *graph, uint32_t subgraph,
                                           llvm::ArrayRef<uint32_t> operators) {
  std::vector<OperatorFacts> facts;
  bool inFile = graph && subgraph < graph->subgraphs.size();
  for (uint32_t index : operators) {
    const OperatorRow *row = target.findOperator(subgraph, index);
    if (!row)
      continue;
    OperatorFacts &is = facts.emplace_back();
    is.index = index;
    is.op = row->op.str();
    if (!inFile || index >= graph->subgraphs[subgraph].operatorCount)
      continue;
    uint32_t first = graph->subgraphs[subgraph].firstOperator, op = first + index;
    std::vector<int32_t> inputs;
    is.constant = true;
    graph->forEachInput(op, [&](int32_t tensor) {
      inputs.push_back(tensor);
      if (tensor < 0)
        return;
      ++is.operands;
      is.constant &= graph->kind[tensor] == TensorKind::Constant;
      if (graph->producer[tensor] >= static_cast<int32_t>(first))
        is.producers.push_back(static_cast<uint32_t>(graph->producer[tensor]) - first);
    });
    is.constant &= is.operands != 0;
    bool isFirst = true;
    graph->forEachOutput(op, [&](int32_t tensor) {
      ++is.results;
      if (!std::exchange(isFirst, false) || tensor < 0)
        return;
      std::vector<uint64_t> dims;
      if (const auto *shape = graph->tensors[tensor]->shape())
        for (int32_t dim : *shape)
          dims.push_back(dim < 0 ? 0 : static_cast<uint64_t>(dim));
      is.shape = plainShape(dims);
      is.cost = 1;
      for (uint64_t dim : is.shape)
        is.cost = dim > (uint64_t{1} << 40) / is.cost ? uint64_t{1} << 40 : is.cost * dim;
      is.isFloat = isFloat(*graph, tensor);
    });
    if (!inputs.empty() && inputs.front() >= 0)
      is.takesFloat = isFloat(*graph, inputs.front());
    if (uint64_t products = macsOf(*graph, op).value_or(0))
      is.cost = products;
    is.pointwise = isPointwise(*graph, op, is.op, inputs);
    is.hasActivation = hasActivation(is.op, graph->options(op));
  }
  std::map<uint32_t, size_t> positions;
  for (size_t i = 0; i < facts.size(); ++i)
    positions[facts[i].index] = i;
  for (const OperatorFacts &is : facts)
    for (uint32_t producer : is.producers)
      if (auto found = positions.find(producer); found != positions.end())
        facts[found->second].consumers.push_back(is.index);
  return facts;
}

std::vector<OperatorFacts> report::byLevels(llvm::ArrayRef<OperatorFacts> facts) {
  std::map<uint32_t, size_t> resultOf; // the level of an operator's result
  std::map<uint32_t, StringRef> types;
  for (const OperatorFacts &is : facts)
    types[is.index] = is.op;
  std::vector<std::pair<size_t, OperatorFacts>> levels;
  for (const OperatorFacts &is : facts) {
    size_t level = 0;
    for (uint32_t producer : is.producers)
      if (auto found = resultOf.find(producer); found != resultOf.end())
        level = std::max(level, found->second);
    bool takenIn = is.op == "PAD" && is.consumers.size() == 1 && isWindowed(types[is.consumers[0]]);
    level += !is.constant && !takenIn;
    OperatorFacts &own = levels.emplace_back(level, is).second;
    if (std::exchange(own.hasActivation, false)) {
      OperatorFacts activation = own;
      activation.op = "RELU";
      activation.producers = {is.index};
      activation.cost = 0;
      activation.constant = false;
      levels.emplace_back(++level, std::move(activation));
    }
    resultOf[is.index] = level;
  }
  llvm::stable_sort(levels, [](const auto &a, const auto &b) { return a.first < b.first; });
  std::vector<OperatorFacts> sorted;
  for (auto &[level, is] : levels)
    sorted.push_back(std::move(is));
  return sorted;
}

namespace {

// What agreeing and not agreeing are worth. Only their order matters: a type that agrees outweighs an operator and a
// row that have nobody, and an anchor everything.
constexpr int agrees = 100, betterKernel = 20, otherKernel = -30, sameShape = 20, otherShape = -60, anchored = 400,
              unknownKind = 10, rowForNobody = -50, linkedAgrees = 40, linkedMissing = -10, stepMore = 40,
              stepMoreOdd = -30;
// At most, and -2 at least: less than anything else, so that it decides what nothing else does.
constexpr int likeCost = 2;
constexpr int impossible = INT32_MIN / 4;

int worthOf(const OperatorFacts &is, const SequenceRow &row, Agreement kind, const KernelWords &says) {
  if (kind == Agreement::Contradicts)
    return impossible;
  int value = kind == Agreement::Agrees ? agrees : unknownKind;
  auto differ = [](std::optional<bool> a, std::optional<bool> b) { return a && b && *a != *b; };
  if (says.converts && (differ(says.takesFloat, is.takesFloat) || differ(says.isFloat, is.isFloat)))
    return impossible;
  if (differ(says.isFloat, is.isFloat))
    value += otherKernel;
  if (says.depthwise)
    value += *says.depthwise == (is.op == "DEPTHWISE_CONV_2D") ? betterKernel : otherKernel;
  if (says.pointwise && is.pointwise)
    value += *says.pointwise == *is.pointwise ? betterKernel : otherKernel;
  if (!row.shape.empty() && !is.shape.empty())
    value += row.shape == is.shape ? sameShape : otherShape;
  return value;
}

class Aligner {
public:
  Aligner(llvm::ArrayRef<OperatorFacts> operators, llvm::ArrayRef<std::vector<SequenceRow>> steps,
          const AlignOptions &options)
      : operators(operators), steps(steps), options(options) {
    for (size_t i = 0; i < operators.size(); ++i)
      positionOf.try_emplace(operators[i].index, i); // and not its fused activation, which is behind it
    for (const OperatorFacts &is : operators)
      expected.push_back(expectedSteps(is));
    // An operator's place among the steps, if each had what is expected of it: the band of the table is around that.
    size_t before = 0;
    for (size_t count : expected) {
      diagonal.push_back(before);
      before += count;
    }
    diagonal.push_back(before);
    size_t wide = steps.size() > before ? steps.size() - before : before - steps.size();
    width = std::min<size_t>(wide + 64, std::max<size_t>(64, (size_t{1} << 21) / (operators.size() + 1)));
    forward.assign((operators.size() + 1) * (2 * width + 1), impossible);
    backward = forward;
  }

  Alignment run() {
    fillForward();
    size_t end = 0;
    int best = impossible;
    for (size_t n = 0; n <= steps.size(); ++n)
      if (isEnd(n))
        if (int *at = cell(forward, operators.size(), n); at && *at > best)
          best = *at, end = n;
    Alignment result;
    result.total = best;
    if (best <= impossible)
      return result;
    fillBackward(end);
    result.steps.resize(end);
    trace(end, result);
    return result;
  }

private:
  llvm::ArrayRef<OperatorFacts> operators;
  llvm::ArrayRef<std::vector<SequenceRow>> steps;
  const AlignOptions &options;
  std::map<uint32_t, size_t> positionOf;
  std::vector<size_t> expected, diagonal;
  size_t width = 0;
  std::vector<int> forward, backward;
  llvm::StringMap<llvm::StringMap<Agreement>> agreements; ///< that were asked for
  llvm::StringMap<KernelWords> kernels;

  static size_t expectedSteps(const OperatorFacts &is) {
    if (is.constant || isPad(is.op) || isActivation(is.op))
      return 0;
    if (is.op == "CONCATENATION" || is.op == "PACK")
      return std::max(1u, is.operands);
    if (is.op == "SPLIT" || is.op == "SPLIT_V" || is.op == "UNPACK")
      return std::max(1u, is.results);
    return 1;
  }

  int *cell(std::vector<int> &table, size_t i, size_t n) {
    size_t from = diagonal[i], at = n + width;
    return at < from || at > from + 2 * width ? nullptr : &table[i * (2 * width + 1) + (at - from)];
  }
  bool isEnd(size_t n) const {
    return options.lengths.empty() ? n == steps.size() : llvm::is_contained(options.lengths, n);
  }

  Agreement agreementOf(const std::string &said, const std::string &op) {
    auto [found, isNew] = agreements[said].try_emplace(op);
    if (isNew)
      found->second = agreement(said, op);
    return found->second;
  }

  /// What it is worth that a row is about an operator.
  int worth(size_t i, const SequenceRow &row) {
    const OperatorFacts &is = operators[i];
    if (row.anchor)
      return *row.anchor == i ? anchored : impossible;
    Agreement kind = agreementOf(row.kind, is.op);
    if (kind == Agreement::Contradicts)
      return impossible;
    auto [words, isNew] = kernels.try_emplace(row.kind);
    if (isNew)
      words->second = KernelWords::of(row.kind);
    int value = worthOf(is, row, kind, words->second) + worthOfCost(is, row, kind);
    size_t at = i; // what is linked follows
    for (const std::string &linked : row.linked) {
      bool follows = isLinked(at, linked);
      value += follows ? linkedAgrees : linkedMissing;
      at += follows;
    }
    return value;
  }
  /// Where the row is among those of its type, by time, and the operator among those of its own, by cost.
  struct Ranks {
    std::vector<double> times, costs; ///< ascending
    static double of(llvm::ArrayRef<double> all, double one) {
      return double(llvm::lower_bound(all, one) - all.begin() + (llvm::upper_bound(all, one) - all.begin())) / 2 /
             double(all.size());
    }
  };
  llvm::StringMap<Ranks> ranks; ///< by type of operator
  int worthOfCost(const OperatorFacts &is, const SequenceRow &row, Agreement kind) {
    constexpr size_t fewest = 4;
    if (row.time <= 0 || is.cost == 0 || kind != Agreement::Agrees)
      return 0;
    auto [found, isNew] = ranks.try_emplace(is.op);
    Ranks &all = found->second;
    if (isNew) {
      for (const OperatorFacts &other : operators)
        if (other.op == is.op && other.cost)
          all.costs.push_back(double(other.cost));
      for (const auto &step : steps)
        for (const SequenceRow &other : step)
          if (other.time > 0 && agreementOf(other.kind, is.op) == Agreement::Agrees)
            all.times.push_back(other.time);
      llvm::sort(all.costs);
      llvm::sort(all.times);
    }
    if (all.costs.size() < fewest || all.times.size() < fewest)
      return 0;
    double apart = std::fabs(Ranks::of(all.times, row.time) - Ranks::of(all.costs, double(is.cost)));
    return likeCost - std::min(2 * likeCost, static_cast<int>(apart * 8));
  }
  bool isLinked(size_t at, const std::string &kind) {
    return at + 1 < operators.size() && agreementOf(kind, operators[at + 1].op) == Agreement::Agrees &&
           llvm::is_contained(operators[at + 1].producers, operators[at].index);
  }

  /// That a row is a further step of an operator which has one already.
  int worthMore(size_t i, const SequenceRow &row) {
    const OperatorFacts &is = operators[i];
    if (row.anchor)
      return impossible;
    std::string kind = plainKind(StringRef(row.kind).split('(').first);
    if (expected[i] > 1 && kind == "copy")
      return stepMore;
    if (is.hasActivation &&
        (agreementOf(row.kind, "RELU") == Agreement::Agrees || agreementOf(row.kind, "RELU6") == Agreement::Agrees))
      return stepMore;
    if (is.op == "MEAN" && (kind == "multiply" || kind == "copy" || kind.find("pooling") != std::string::npos))
      return stepMore - 10;
    return agreementOf(row.kind, is.op) == Agreement::Agrees ? stepMoreOdd : impossible;
  }

  /// That an operator has no row.
  int worthSilent(size_t i) const {
    const OperatorFacts &is = operators[i];
    if (is.constant)
      return 0;
    if (is.op.empty())
      return -60;
    if (isPad(is.op))
      return feedsWindow(is) ? -5 : -60;
    if (isActivation(is.op))
      return -10;
    if (movesNothing(is.op))
      return -15;
    return is.op == "QUANTIZE" || is.op == "DEQUANTIZE" ? -40 : -60;
  }
  bool feedsWindow(const OperatorFacts &is) const {
    return is.consumers.empty() || llvm::all_of(is.consumers, [&](uint32_t index) {
             auto found = positionOf.find(index);
             return found != positionOf.end() && isWindowed(operators[found->second].op);
           });
  }
  int worthSilent(size_t i, size_t n) const { return options.openEnd && n == steps.size() ? -1 : worthSilent(i); }

  std::pair<int, size_t> best(size_t i, size_t n, int (Aligner::*value)(size_t, const SequenceRow &)) {
    std::pair<int, size_t> result{impossible, 0};
    for (size_t c = 0; c < steps[n].size(); ++c)
      if (int is = (this->*value)(i, steps[n][c]); is > result.first)
        result = {is, c};
    return result;
  }
  size_t mostSteps(size_t i) const { return std::min<size_t>(std::max<size_t>(expected[i], 2) + 1, 64); }

  /// Calls `go` with each way on from a place: to where, what it is worth, and how many steps the operator takes.
  template <class F> void forEachWay(size_t i, size_t n, F go) {
    if (n < steps.size())
      go(i, n + 1, rowForNobody, size_t{0});
    if (i == operators.size())
      return;
    go(i + 1, n, worthSilent(i, n), size_t{0});
    int value = 0;
    for (size_t k = 0; k < mostSteps(i) && n + k < steps.size(); ++k) {
      int more = best(i, n + k, k ? &Aligner::worthMore : &Aligner::worth).first;
      if (more <= impossible)
        break;
      value += more;
      size_t linked = 0; // operators that the row takes along
      if (k == 0)
        linked = linkedOf(i, steps[n][best(i, n, &Aligner::worth).second]);
      go(i + 1 + linked, n + k + 1, value, k + 1);
    }
  }
  size_t linkedOf(size_t i, const SequenceRow &row) {
    size_t at = i;
    for (const std::string &linked : row.linked)
      at += isLinked(at, linked);
    return at - i;
  }

  template <class F> void forEachPlace(size_t i, F visit) const {
    size_t from = diagonal[i] > width ? diagonal[i] - width : 0;
    for (size_t n = from; n <= std::min(diagonal[i] + width, steps.size()); ++n)
      visit(n);
  }

  void fillForward() {
    if (int *start = cell(forward, 0, 0))
      *start = 0;
    for (size_t i = 0; i <= operators.size(); ++i)
      forEachPlace(i, [&](size_t n) {
        int here = *cell(forward, i, n);
        if (here <= impossible)
          return;
        forEachWay(i, n, [&](size_t toI, size_t toN, int value, size_t) {
          if (int *there = cell(forward, toI, toN))
            *there = std::max(*there, here + value);
        });
      });
  }
  void fillBackward(size_t end) {
    *cell(backward, operators.size(), end) = 0;
    for (size_t i = operators.size() + 1; i-- > 0;) {
      std::vector<size_t> places;
      forEachPlace(i, [&](size_t n) { places.push_back(n); });
      for (size_t n : llvm::reverse(places)) {
        int *here = cell(backward, i, n);
        forEachWay(i, n, [&](size_t toI, size_t toN, int value, size_t) {
          if (int *there = cell(backward, toI, toN); there && *there > impossible)
            *here = std::max(*here, *there + value);
        });
      }
    }
  }

  struct Way {
    size_t i, n;
    int value;
    size_t taken;
  };

  void trace(size_t end, Alignment &result) {
    // For each step, the best alignment in which another operator has it, or none.
    int total = static_cast<int>(result.total);
    std::vector<std::pair<int, size_t>> first(end, {impossible, 0});
    std::vector<int> second(end, impossible);
    auto note = [&](size_t n, size_t owner, int value) {
      if (n >= end)
        return;
      if (owner == first[n].second || first[n].first == impossible) {
        if (value > first[n].first)
          first[n] = {value, owner};
      } else if (value > first[n].first) {
        second[n] = first[n].first;
        first[n] = {value, owner};
      } else {
        second[n] = std::max(second[n], value);
      }
    };
    for (size_t i = 0; i <= operators.size(); ++i)
      forEachPlace(i, [&](size_t n) {
        int here = *cell(forward, i, n);
        if (here <= impossible)
          return;
        forEachWay(i, n, [&](size_t toI, size_t toN, int value, size_t taken) {
          int *there = cell(backward, toI, toN);
          if (!there || *there <= impossible || toN == n)
            return;
          if (taken == 0)
            note(n, operators.size(), here + value + *there);
          for (size_t k = 0; k < taken; ++k)
            note(n + k, i, here + value + *there);
        });
      });

    std::vector<bool> has(operators.size());
    std::vector<size_t> stepOf(operators.size());
    for (size_t i = 0, n = 0; i < operators.size() || n < end;) {
      std::optional<Way> taken;
      forEachWay(i, n, [&](size_t toI, size_t toN, int value, size_t count) {
        int *there = cell(backward, toI, toN);
        // Of ways that are as good, the one that gives more rows to operators.
        if (there && *there > impossible && *cell(backward, i, n) == *there + value && (!taken || count > taken->taken))
          taken = Way{toI, toN, value, count};
      });
      if (!taken)
        break; // cannot be: the table says that there is one
      for (size_t k = 0; k < taken->taken; ++k) {
        auto [value, row] = best(i, n + k, k ? &Aligner::worthMore : &Aligner::worth);
        Placed placed;
        placed.row = row;
        placed.own = static_cast<uint32_t>(i);
        for (size_t at = i; at < (k ? i + 1 : taken->i); ++at)
          placed.positions.push_back(static_cast<uint32_t>(at));
        const SequenceRow &is = steps[n + k][row];
        bool known = is.anchor || k || agreementOf(is.kind, operators[i].op) == Agreement::Agrees;
        int margin = std::clamp(total - second[n + k], 0, 100);
        placed.certain = known && margin >= 2 * likeCost; // one cost that fits by chance makes no less
        placed.score = static_cast<unsigned>(std::clamp((is.anchor ? 60
                                                         : k       ? 45
                                                                   : std::clamp(value, 0, agrees + betterKernel) / 2) +
                                                            margin * 4 / 10,
                                                        1, 100));
        result.steps[n + k] = std::move(placed);
      }
      if (taken->taken)
        for (size_t at = i; at < taken->i; ++at) {
          has[at] = true;
          stepOf[at] = n;
        }
      i = taken->i;
      n = taken->n;
    }
    // What has no row is in that of the neighbour which took it in.
    for (size_t i = 0; i < operators.size(); ++i) {
      const OperatorFacts &is = operators[i];
      result.audible += expected[i] != 0;
      result.placed += expected[i] != 0 && has[i];
      if (has[i])
        continue;
      std::optional<uint32_t> host;
      if (isPad(is.op) && feedsWindow(is) && is.consumers.size() == 1)
        host = is.consumers[0];
      else if (isActivation(is.op) && is.producers.size() == 1)
        host = is.producers[0];
      auto found = host ? positionOf.find(*host) : positionOf.end();
      if (found == positionOf.end() || !has[found->second])
        continue;
      std::vector<uint32_t> &positions = result.steps[stepOf[found->second]]->positions;
      positions.push_back(static_cast<uint32_t>(i));
      llvm::sort(positions);
    }
  }
};

} // namespace

Alignment report::align(llvm::ArrayRef<OperatorFacts> operators, llvm::ArrayRef<std::vector<SequenceRow>> steps,
                        const AlignOptions &options) {
  return Aligner(operators, steps, options).run();
}

int report::fitOf(const OperatorFacts &op, const SequenceRow &row) {
  return worthOf(op, row, agreement(row.kind, op.op), KernelWords::of(row.kind));
}
