#include "report/infer/Infer.h"

#include "eval/exact/Intervals.h"
#include "eval/exact/Reach.h"
#include "ir/StoredRange.h"
#include "report/infer/Execute.h"

#include "llvm/ADT/STLExtras.h"

#include <set>

/// What no run on a few inputs shows: bounds that may not have acted there, and which outputs and signatures are whose.
namespace origo::report {

using namespace origin;
using eval::exact::Bound;

namespace {

class Agreement {
public:
  Agreement(const Model &source, const Model &result, Inferred &made)
      : source(source), result(result), made(made), map(made.map) {}

  void run() {
    bounds();
    if (!source.subgraphs.empty() && !result.subgraphs.empty())
      outputs(*source.subgraphs.front(), *result.subgraphs.front());
    signatures();
  }

private:
  const Model &source, &result;
  Inferred &made;
  const OriginMap &map;

  void doubt(std::string text) {
    ++made.coverage.doubts;
    made.notes.push_back(std::move(text));
  }
  static std::string nameOf(const Operator &op) {
    const Value *value = op.result();
    return op.opName() + (value ? " \"" + printable(value->name) + "\"" : "");
  }
  uint32_t idOf(const Value &value) const {
    return map.source.subgraphs[value.subgraph()->index].firstTensor + value.index;
  }

  // Bounds.

  static bool has(llvm::ArrayRef<Bound> bounds, const Bound &wanted) {
    return llvm::any_of(bounds, [&](const Bound &one) {
      return one.isUpper == wanted.isUpper && (one.at == wanted.at || std::isnan(one.at) || std::isnan(wanted.at));
    });
  }
  /// Can the integers of its result not be beyond it?
  static bool isByType(const Operator &op, const Bound &bound) {
    auto range = op.result() ? storedRange(*op.result()) : std::nullopt;
    if (!range)
      return false;
    double scale = static_cast<double>(op.result()->quantization->scale[0]);
    return bound.isUpper ? static_cast<double>(range->second) * scale <= bound.at + scale
                         : static_cast<double>(range->first) * scale >= bound.at - scale;
  }
  void bounds() {
    const eval::exact::Reach here(result), there(source);
    std::vector<const Operator *> sources(map.source.operatorCount());
    for (const auto &graph : source.subgraphs)
      for (const Operator &op : graph->operators)
        sources[map.source.subgraphs[graph->index].firstOperator + op.index] = &op;
    std::vector<llvm::SmallVector<const Operator *, 1>> heirs(sources.size());
    for (const auto &graph : result.subgraphs) {
      for (const Operator &op : graph->operators) {
        const auto &origins = map.target.subgraphs[graph->index].operators[op.index].origins;
        llvm::SmallVector<Bound, 2> had;
        for (uint32_t origin : origins) {
          heirs[origin].push_back(&op);
          had.append(eval::exact::boundsOf(*sources[origin]));
        }
        for (const Bound &bound : eval::exact::boundsOf(op))
          if (here.counts(op) && !origins.empty() && !has(had, bound) && !eval::exact::isImplied(op, bound) &&
              !isByType(op, bound)) {
            doubt("the bound of " + nameOf(op) + " is none of the source, and was not seen to act");
            break;
          }
      }
    }
    for (const auto &graph : source.subgraphs) {
      for (const Operator &op : graph->operators) {
        if (!there.counts(op))
          continue;
        const auto &now = heirs[map.source.subgraphs[graph->index].firstOperator + op.index];
        for (const Bound &bound : eval::exact::boundsOf(op))
          if (!eval::exact::isImplied(op, bound) && llvm::none_of(now, [&](const Operator *heir) {
                return has(eval::exact::boundsOf(*heir), bound) || isByType(*heir, bound);
              })) {
            doubt("the bound of " + nameOf(op) + " of the source is not in the result, and was not seen to act");
            break;
          }
      }
    }
  }

  // Outputs and signatures.

  /// The ids of an output and of what it only moves or stores otherwise.
  std::set<uint32_t> meant(const Value &output) const {
    std::set<uint32_t> ids;
    for (const Value *value = &output; value;) {
      ids.insert(idOf(*value));
      const Operator *producer = value->producer();
      bool moves = producer && producer->numOperands() &&
                   (storesOtherwise(*producer) || (producer->info() && producer->info()->has(Trait::DataMovement)));
      value = moves ? producer->operand(0) : nullptr;
    }
    return ids;
  }
  /// Whether an output of the result is one of the source; of one that nothing is known of, that is said elsewhere.
  bool stands(const Value &output, const Value &of) const {
    const auto &relations = map.target.subgraphs[output.subgraph()->index].tensors[output.index].relations;
    std::set<uint32_t> ids = meant(of);
    return relations.empty() || llvm::any_of(relations, [&](const auto &one) { return ids.count(one.tensor); });
  }
  void outputs(const Subgraph &from, const Subgraph &to) {
    if (from.outputs.size() != to.outputs.size())
      return doubt("the result has another number of outputs");
    llvm::SmallVector<bool> taken(to.outputs.size());
    auto take = [&](const Value &output, size_t i) { return !taken[i] && stands(*to.outputs[i], output); };
    for (auto [k, output] : llvm::enumerate(from.outputs)) {
      size_t at = k;
      for (size_t i = 0; i < taken.size() && !take(*output, at); ++i)
        at = i;
      if (take(*output, at))
        taken[at] = true;
      else
        doubt("output \"" + printable(output->name) + "\" of the source is none of the result");
    }
  }
  void signatures() {
    for (const Signature &now : result.signatures) {
      auto was = llvm::find_if(source.signatures, [&](const Signature &one) { return one.key == now.key; });
      if (source.signatures.empty())
        return;
      std::string name = "signature \"" + printable(now.key) + "\"";
      if (was == source.signatures.end() || !was->subgraph || !now.subgraph) {
        doubt(name + " is none of the source");
        continue;
      }
      if (!llvm::is_contained(map.target.subgraphs[now.subgraph->index].source, was->subgraph->index)) {
        doubt(name + " is another graph in the source");
        continue;
      }
      for (const Signature::Entry &output : now.outputs)
        for (const Signature::Entry &other : was->outputs)
          if (output.name == other.name && output.value && other.value && !stands(*output.value, *other.value))
            doubt(name + ": output \"" + printable(output.name) + "\" is another one in the source");
    }
  }
};

} // namespace

void compareUnseen(const Model &source, const Model &result, Inferred &made) { Agreement(source, result, made).run(); }

} // namespace origo::report
