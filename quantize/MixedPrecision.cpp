#include "quantize/MixedPrecision.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <set>

namespace origo::quantize {

std::vector<unsigned> depthsOf(const Subgraph &graph) {
  llvm::DenseMap<const Operator *, unsigned> known;
  std::vector<unsigned> depths;
  for (const Operator &op : graph.operators) {
    unsigned depth = 0;
    for (const Use &use : op.operands())
      if (const Value *value = use.get(); value && value->producer())
        depth = std::max(depth, known.lookup(value->producer()));
    depths.push_back(known[&op] = depth + 1);
  }
  return depths;
}

namespace {

/// Of no layer, and of all.
llvm::Expected<MixedPrecision> ends(size_t layers, MeasureWide measure) {
  auto narrow = measure(WideLayers(layers, false));
  auto wide = narrow ? measure(WideLayers(layers, true)) : llvm::Expected<double>(0);
  if (!narrow || !wide)
    return firstError(narrow, wide);
  return MixedPrecision{.narrowError = *narrow, .wideError = *wide};
}

std::string text(double error) {
  std::string result;
  llvm::raw_string_ostream(result) << llvm::format("%.4g", error);
  return result;
}

} // namespace

llvm::Expected<MixedPrecision> bisectDepth(llvm::ArrayRef<unsigned> depths, bool front, double ratio,
                                           MeasureWide measure) {
  auto measured = ends(depths.size(), measure);
  if (!measured)
    return measured.takeError();
  MixedPrecision found = std::move(*measured);
  if (found.wideError > found.narrowError)
    return makeError("16 bits are worse than 8: the error is " + text(found.wideError) + " and not " +
                     text(found.narrowError));
  double target = found.wideError + ratio * (found.narrowError - found.wideError);
  found.wide.assign(depths.size(), true);
  found.error = found.wideError;
  auto [least, most] =
      depths.empty() ? std::pair(0u, 0u) : std::pair(*llvm::min_element(depths), *llvm::max_element(depths));
  for (std::optional<unsigned> last; last != (least + most) / 2;) {
    unsigned cut = *(last = (least + most) / 2);
    WideLayers wide;
    for (unsigned depth : depths)
      wide.push_back(front ? depth <= cut : depth >= cut);
    auto error = measure(wide);
    if (!error)
      return error.takeError();
    bool suffices = *error < target;
    if (suffices) {
      found.wide = wide;
      found.error = *error;
    }
    (suffices == front ? most : least) = cut;
  }
  return found;
}

/// What computes operand `i`, if it is of this kind.
static const Operator *maker(const Operator *op, unsigned i, BuiltinOperator code) {
  const Value *value = op ? op->operand(i) : nullptr;
  const Operator *producer = value ? value->producer() : nullptr;
  return producer && producer->code == code ? producer : nullptr;
}

static WideLayers positions(const Subgraph &graph, const std::set<const Operator *> &ops) {
  WideLayers wide;
  for (const Operator &op : graph.operators)
    wide.push_back(ops.contains(&op));
  return wide;
}

// rsqrt(mean((x − mean(x))²) + ε)
WideLayers layerNormVariances(const Subgraph &graph) {
  using Op = BuiltinOperator;
  std::set<const Operator *> found;
  for (const Operator &root : graph.operators) {
    if (root.code != Op::RSQRT)
      continue;
    const Operator *add = maker(&root, 0, Op::ADD);
    const Operator *mean = add && maker(add, 0, Op::MEAN) ? maker(add, 0, Op::MEAN) : maker(add, 1, Op::MEAN);
    const Operator *mul = maker(mean, 0, Op::MUL), *square = mul ? mul : maker(mean, 0, Op::SQUARE);
    if (!square || (mul && mul->operand(0) != mul->operand(1)))
      continue;
    const Operator *difference = maker(square, 0, Op::SUB), *average = maker(difference, 1, Op::MEAN);
    if (average && average->operand(0) == difference->operand(0))
      found.insert({square, mean, add, &root});
  }
  return positions(graph, found);
}

// e / sum(e) with e = exp(x − max(x))
WideLayers softmaxExponents(const Subgraph &graph) {
  using Op = BuiltinOperator;
  std::set<const Operator *> found;
  for (const Operator &root : graph.operators) {
    if (root.code != Op::DIV)
      continue;
    const Operator *exp = maker(&root, 0, Op::EXP), *sum = maker(&root, 1, Op::SUM);
    const Operator *sub = maker(exp, 0, Op::SUB), *most = maker(sub, 1, Op::REDUCE_MAX);
    if (sum && most && sum->operand(0) == exp->result() && most->operand(0) == sub->operand(0))
      found.insert({sub, exp});
  }
  return positions(graph, found);
}

} // namespace origo::quantize
