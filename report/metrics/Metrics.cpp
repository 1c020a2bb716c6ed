#include "report/metrics/Metrics.h"

#include "schema/Macs.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace origo;
using namespace origo::report;

namespace {

uint64_t plus(uint64_t a, uint64_t b) {
  uint64_t sum;
  return __builtin_add_overflow(a, b, &sum) ? ~uint64_t{0} : sum;
}

std::optional<uint64_t> product(std::optional<uint64_t> a, std::optional<uint64_t> b) {
  uint64_t result;
  if (!a || !b || __builtin_mul_overflow(*a, *b, &result))
    return std::nullopt;
  return result;
}

uint64_t multiplyDivide(uint64_t whole, uint64_t part, unsigned __int128 of) {
  return uint64_t((unsigned __int128)whole * part / of); // of two factors below 2^64: does not overflow
}

std::optional<double> ratio(uint64_t part, uint64_t whole) {
  return whole ? std::optional(double(part) / double(whole)) : std::nullopt;
}

/// A dimension that is dynamic counts as what the file states in its place, which is 1 as a rule.
std::vector<int64_t> shapeOf(const Value *value) {
  if (!value)
    return {0};
  if (value->shape.empty() && !value->hasRank && !value->isConstant())
    return {-1};
  return {value->shape.begin(), value->shape.end()};
}

std::optional<uint64_t> elementsOf(const Value *value) {
  return value && shapeOf(value) != std::vector<int64_t>{-1} ? value->elementCount() : std::nullopt;
}

OperatorShapes shapesOf(const Operator &op) {
  OperatorShapes shapes{op.opName(), {}, {}};
  for (const Use &use : op.operands())
    shapes.inputs.push_back(shapeOf(use.get()));
  for (const Value *value : op.results())
    shapes.outputs.push_back(shapeOf(value));
  return shapes;
}

} // namespace

std::optional<uint64_t> report::macsOf(const Operator &op) { return macs(shapesOf(op)); }

namespace {

uint64_t windowOf(const Operator &op) {
  const auto *pool = op.options.as<circle::Pool2DOptions>();
  if (op.options.member != uint8_t(circle::BuiltinOptions::Pool2DOptions) || !pool)
    return 1;
  return uint64_t(std::max(pool->filter_width(), 1)) * uint64_t(std::max(pool->filter_height(), 1));
}

bool hasActivation(const Operator &op) {
  const wire::TableType *type = op.info() ? op.info()->optionsType() : nullptr;
  const wire::Field *field = type ? type->find("fused_activation_function") : nullptr;
  return field && op.options.table && op.options.table->GetField<int8_t>(field->vtableOffset(), 0) != 0;
}

/// The constant that a matrix or window product takes from the file.
const Value *weightsOf(const Operator &op) {
  const OperatorInfo *info = op.info();
  if (!info || !multiplies(op.opName()))
    return nullptr;
  for (unsigned i = 0; i < op.numOperands(); ++i)
    if (const Value *value = op.operand(i); value && value->isConstant() && value->rank() >= 2)
      return value;
  return nullptr;
}

class Measurement {
public:
  Measurement(const Model &model, const StatisticsOptions &options) : model(model), options(options) {}

  ModelMetrics run(const origin::Listing &listing, const Model *source) {
    measureTensors();
    for (auto &graph : model.subgraphs)
      measureSubgraph(*graph);
    std::vector<const Subgraph *> graphs;
    for (const SubgraphMetrics &row : metrics.subgraphs) {
      graphs.push_back(row.graph);
      metrics.figures.liveBytes = std::max(metrics.figures.liveBytes, row.figures.liveBytes);
    }
    addUp(metrics.figures, graphs, metrics.operators);
    rollUp(listing, source);
    return std::move(metrics);
  }

private:
  const Model &model;
  const StatisticsOptions &options;
  ModelMetrics metrics;
  llvm::DenseMap<const Value *, size_t> rowOf;
  llvm::DenseMap<uint64_t, uint64_t> externalBytes;

  const TensorMetrics &tensor(const Value *value) const { return metrics.tensors[rowOf.lookup(value)]; }

  uint64_t bytesOf(const Value &value) const {
    if (value.externalBuffer)
      return externalBytes.lookup(value.externalBuffer);
    if (value.isConstant())
      return value.payload().size();
    auto count = value.elementCount();
    return count ? payloadBytes(value.type, *count).value_or(0) : 0;
  }

  void measureTensors() {
    for (const ExternalBuffer &buffer : model.externalBuffers)
      externalBytes[buffer.id] = buffer.length;
    std::vector<const Value *> values;
    for (auto &graph : model.subgraphs)
      values.insert(values.end(), graph->values.begin(), graph->values.end());
    auto statistics = statisticsOf(values, options);
    for (auto [value, found] : llvm::zip(values, statistics)) {
      rowOf[value] = metrics.tensors.size();
      bool isConstant = value->isConstant();
      uint64_t parameters = isConstant ? value->elementCount().value_or(0) : 0;
      metrics.tensors.push_back({value, isConstant, parameters, bytesOf(*value), found});
    }
  }

  void addConstant(Figures &figures, const Value *value) const {
    const TensorMetrics &row = tensor(value);
    figures.parameters = plus(figures.parameters, row.parameters);
    figures.bytes = plus(figures.bytes, row.bytes);
    if (!row.statistics)
      return;
    figures.elements = plus(figures.elements, row.statistics->elements);
    figures.zeros += row.statistics->zeros;
    figures.blocks += row.statistics->blocks;
    figures.zeroBlocks += row.statistics->zeroBlocks;
  }

  std::optional<uint64_t> operationsOf(const Operator &op, std::optional<uint64_t> macs) const {
    const OperatorInfo *info = op.info();
    std::optional<uint64_t> out = op.results().empty() ? std::optional<uint64_t>(0) : elementsOf(op.result());
    if (!info || info->has(Effect::Unknown) || !macs)
      return std::nullopt;
    std::optional<uint64_t> each;
    if (info->has(Trait::HoldsSubgraphs) || info->has(Trait::DataMovement) || info->has(Trait::ShapeQuery))
      each = 0;
    else if (multiplies(op.opName()))
      each = product(macs, 2);
    else if (info->has(Trait::Pooling))
      each = product(out, windowOf(op));
    else if (info->has(Trait::Reduction))
      each = elementsOf(op.operand(0));
    else if (op.code == BuiltinOperator::ADD_N)
      each = product(out, std::max(op.numOperands(), 1u) - 1);
    else if (op.code == BuiltinOperator::SOFTMAX || op.code == BuiltinOperator::LOG_SOFTMAX)
      each = product(out, 5);
    else
      each = out;
    unsigned more = hasActivation(op);
    if (multiplies(op.opName()))
      for (unsigned i = 0; i < std::min<size_t>(op.numOperands(), info->operands.size()); ++i)
        more += op.operand(i) && info->operands[i].name == "bias";
    std::optional<uint64_t> rest = more ? product(out, more) : std::optional<uint64_t>(0);
    return each && rest ? std::optional(plus(*each, *rest)) : std::nullopt;
  }

  Figures figuresOf(const Operator &op) const {
    Figures figures;
    llvm::SmallPtrSet<const Value *, 8> seen;
    auto touch = [&](const Value *value) {
      if (!value || !seen.insert(value).second)
        return;
      if (tensor(value).isConstant)
        addConstant(figures, value);
      else
        figures.activationBytes = plus(figures.activationBytes, tensor(value).bytes);
    };
    for (const Use &use : op.operands())
      touch(use.get());
    llvm::for_each(op.results(), touch);
    figures.macs = macs(shapesOf(op));
    figures.sparseMacs = figures.macs;
    if (const Value *weights = figures.macs ? weightsOf(op) : nullptr)
      if (const auto &statistics = tensor(weights).statistics)
        if (statistics->elements)
          figures.sparseMacs =
              multiplyDivide(*figures.macs, statistics->elements - statistics->zeros, statistics->elements);
    figures.operations = operationsOf(op, figures.macs);
    figures.unknownMacs = !figures.macs;
    figures.unknownOperations = !figures.operations;
    return figures;
  }

  /// What is alive while each operator runs. What a called subgraph needs is counted there.
  void measureSubgraph(const Subgraph &graph) {
    size_t first = metrics.operators.size();
    Lives life; // operators that first and last need it
    size_t count = graph.operators.size(), at = 0;
    auto need = [&](const Value *value, size_t when) {
      if (!value || tensor(value).isConstant)
        return;
      auto [it, isNew] = life.try_emplace(value, value->isGraphInput || value->isVariable ? 0 : when, when);
      it->second.second = value->isVariable || value->isGraphOutput() ? count - 1 : when;
    };
    if (count)
      for (const Value *value : graph.inputs)
        need(value, 0);
    for (const Operator &op : graph.operators) {
      for (const Use &use : op.operands())
        need(use.get(), at);
      for (const Value *value : op.results())
        need(value, at);
      OperatorMetrics row{&op, figuresOf(op), {}};
      model.sets.forEach(op.origins, [&](uint32_t id) { row.origins.push_back(id); });
      metrics.operators.push_back(std::move(row));
      ++at;
    }
    std::vector<uint64_t> born(count + 1), dead(count + 1);
    for (auto &[value, span] : life) {
      born[span.first] = plus(born[span.first], tensor(value).bytes);
      dead[span.second + 1] = plus(dead[span.second + 1], tensor(value).bytes);
    }
    SubgraphMetrics row{&graph, {}};
    uint64_t live = 0;
    for (size_t i = 0; i < count; ++i) {
      live = plus(live, born[i]);
      live -= std::min(live, dead[i]);
      metrics.operators[first + i].figures.liveBytes = live;
      if (live > row.figures.liveBytes) {
        row.figures.liveBytes = live;
        row.peak = i;
      }
    }
    findAlive(row, life, llvm::ArrayRef(metrics.operators).drop_front(first));
    metrics.subgraphs.push_back(std::move(row));
    addUp(metrics.subgraphs.back().figures, {&graph}, llvm::ArrayRef(metrics.operators).drop_front(first));
  }

  using Lives = llvm::DenseMap<const Value *, std::pair<size_t, size_t>>;

  static bool touches(const Operator &op, const Value *value) {
    return llvm::is_contained(op.results(), value) ||
           llvm::any_of(op.operands(), [&](const Use &use) { return use.get() == value; });
  }

  void findAlive(SubgraphMetrics &row, const Lives &lives, llvm::ArrayRef<OperatorMetrics> operators) {
    constexpr size_t largest = 16; // of more, nobody asks what they keep waiting
    auto ownOf = [](const Operator &op) {
      llvm::SmallPtrSet<const Value *, 8> own(op.results().begin(), op.results().end());
      for (const Use &use : op.operands())
        own.insert(use.get());
      return own;
    };
    for (const OperatorMetrics &at : operators) {
      auto own = ownOf(*at.op);
      uint64_t bytes = 0;
      for (const Value *value : own)
        if (lives.contains(value))
          bytes = plus(bytes, tensor(value).bytes);
      row.atLeast = std::max(row.atLeast, bytes);
    }
    if (operators.empty())
      return;
    auto atPeak = ownOf(*operators[row.peak].op);
    for (auto &[value, span] : lives) {
      if (span.first > row.peak || span.second < row.peak || !tensor(value).bytes)
        continue;
      AliveTensor alive{value, tensor(value).bytes, span.first, span.second, !atPeak.contains(value)};
      if (const Operator *maker = value->producer())
        model.sets.forEach(maker->origins, [&](uint32_t id) { alive.origins.push_back(id); });
      row.alive.push_back(std::move(alive));
    }
    llvm::sort(row.alive, [](const AliveTensor &a, const AliveTensor &b) {
      return std::tuple(b.bytes, a.value->index) < std::tuple(a.bytes, b.value->index);
    });
    for (AliveTensor &alive : llvm::MutableArrayRef(row.alive).take_front(largest)) {
      if (!alive.waits)
        continue;
      uint64_t most = 0;
      for (auto [i, at] : llvm::enumerate(operators)) {
        bool idle = i > alive.from && i < alive.to && !touches(*at.op, alive.value);
        most = std::max(most, at.figures.liveBytes - (idle ? alive.bytes : 0));
      }
      alive.without = most;
    }
  }

  void addUp(Figures &figures, llvm::ArrayRef<const Subgraph *> graphs, llvm::ArrayRef<OperatorMetrics> operators) {
    uint64_t macs = 0, sparse = 0, operations = 0;
    llvm::DenseSet<const Buffer *> seen; // a buffer that several tensors share counts once
    for (const Subgraph *graph : graphs)
      for (const Value *value : graph->values) {
        if (!tensor(value).isConstant)
          figures.activationBytes = plus(figures.activationBytes, tensor(value).bytes);
        else if (value->payload().empty() || seen.insert(value->buffer).second)
          addConstant(figures, value);
      }
    for (const OperatorMetrics &row : operators) {
      macs = plus(macs, row.figures.macs.value_or(0));
      sparse = plus(sparse, row.figures.sparseMacs.value_or(0));
      operations = plus(operations, row.figures.operations.value_or(0));
      figures.unknownMacs += row.figures.unknownMacs;
      figures.unknownOperations += row.figures.unknownOperations;
    }
    figures.macs = macs, figures.sparseMacs = sparse, figures.operations = operations;
  }

  // In terms of the source.

  /// Which part of an operator's cost is each origin's.
  std::vector<uint64_t> weights(llvm::ArrayRef<uint32_t> origins, const origin::Listing &listing) const {
    std::vector<uint64_t> result;
    for (uint32_t id : origins) {
      const origin::SourceOperator *op = listing.findOperator(id);
      auto &own = metrics.sources[id].ownMacs;
      result.push_back(own ? std::max<uint64_t>(1, *own) : op && multiplies(op->op.str()));
    }
    if (llvm::all_of(result, [](uint64_t weight) { return weight == 0; }))
      result.assign(origins.size(), 1);
    return result;
  }

  /// Parts of a whole by weight. What rounding leaves over goes to the first ones that have a weight.
  static std::vector<uint64_t> parts(uint64_t whole, llvm::ArrayRef<uint64_t> weights) {
    if (weights.empty())
      return {};
    unsigned __int128 total = 0;
    for (uint64_t weight : weights)
      total += weight;
    std::vector<uint64_t> result;
    uint64_t left = whole;
    for (uint64_t weight : weights) {
      result.push_back(multiplyDivide(whole, weight, total));
      left -= result.back();
    }
    for (size_t i = 0; left; i = (i + 1) % weights.size())
      if (weights[i])
        ++result[i], --left;
    return result;
  }

  void rollUp(const origin::Listing &listing, const Model *source) {
    metrics.sources.resize(std::max(listing.operatorCount(), model.sourceOperators));
    size_t id = 0;
    if (source)
      for (auto &graph : source->subgraphs)
        for (const Operator &op : graph->operators)
          if (id < metrics.sources.size())
            metrics.sources[id++].ownMacs = macs(shapesOf(op));
    for (const OperatorMetrics &row : metrics.operators) {
      auto place = std::pair(uint32_t(row.op->subgraph()->index), uint32_t(row.op->index));
      auto give = [&](uint64_t SourceMetrics::*figure, uint64_t whole, llvm::ArrayRef<uint64_t> by) {
        if (by.empty())
          metrics.synthetic.*figure = plus(metrics.synthetic.*figure, whole);
        for (auto [origin, part] : llvm::zip(row.origins, parts(whole, by)))
          metrics.sources[origin].*figure = plus(metrics.sources[origin].*figure, part);
      };
      std::vector<uint64_t> by = row.origins.empty() ? std::vector<uint64_t>() : weights(row.origins, listing);
      give(&SourceMetrics::macs, row.figures.macs.value_or(0), by);
      give(&SourceMetrics::sparseMacs, row.figures.sparseMacs.value_or(0), by);
      give(&SourceMetrics::operations, row.figures.operations.value_or(0), by);
      give(&SourceMetrics::parameters, row.figures.parameters, by);
      give(&SourceMetrics::bytes, row.figures.bytes, by);
      for (uint32_t origin : row.origins)
        metrics.sources[origin].operators.push_back(place);
      if (row.origins.empty())
        metrics.synthetic.operators.push_back(place);
    }
  }
};

} // namespace

std::optional<double> Figures::sparsity() const { return ratio(zeros, elements); }
std::optional<double> Figures::blockSparsity() const { return ratio(zeroBlocks, blocks); }
std::optional<double> Figures::intensity() const {
  return operations ? ratio(*operations, plus(bytes, activationBytes)) : std::nullopt;
}

ModelMetrics report::metricsOf(const Model &model, const origin::Listing &listing, const Model *source,
                               const StatisticsOptions &options) {
  return Measurement(model, options).run(listing, source);
}

llvm::StringRef report::nameOf(const Operator &op) {
  for (const Value *value : op.results())
    if (value && !value->name.empty())
      return value->name;
  return {};
}

/// Adds figures up by the lines that an operator of the source counts in, and those of none of them.
static std::vector<ScopeMetrics> addedUp(const ModelMetrics &metrics,
                                         llvm::function_ref<std::vector<ScopeLine>(uint32_t id)> linesOf) {
  std::vector<ScopeMetrics> lines;
  llvm::StringMap<size_t> lineOf;
  auto add = [&](const ScopeLine &scope, const SourceMetrics &part) {
    auto [at, isNew] = lineOf.try_emplace(scope.key, lines.size());
    if (isNew)
      lines.push_back({scope, {}});
    SourceMetrics &sum = lines[at->second].sum;
    for (uint64_t SourceMetrics::*figure :
         {&SourceMetrics::macs, &SourceMetrics::sparseMacs, &SourceMetrics::operations, &SourceMetrics::parameters,
          &SourceMetrics::bytes})
      sum.*figure = plus(sum.*figure, part.*figure);
    if (part.ownMacs)
      sum.ownMacs = plus(sum.ownMacs.value_or(0), *part.ownMacs);
  };
  for (size_t id = 0; id < metrics.sources.size(); ++id)
    for (const ScopeLine &scope : linesOf(uint32_t(id)))
      add(scope, metrics.sources[id]);
  add({1, "(synthetic)"}, metrics.synthetic);
  return lines;
}

std::vector<ScopeMetrics> report::byScope(const ModelMetrics &metrics, const origin::Listing &listing) {
  auto nameOf = [&](uint32_t id) {
    const origin::SourceOperator *op = listing.findOperator(id);
    return op ? listing.nameOf(*op) : std::string_view();
  };
  Scopes scopes;
  for (size_t id = 0; id < metrics.sources.size(); ++id)
    scopes.add(nameOf(uint32_t(id)));
  return addedUp(metrics, [&](uint32_t id) { return scopes.linesOf(nameOf(id)); });
}

std::vector<ScopeMetrics> report::byLine(const ModelMetrics &metrics, const origin::Listing &listing, bool files) {
  return addedUp(metrics, [&](uint32_t id) -> std::vector<ScopeLine> {
    const origin::SourceOperator *op = listing.findOperator(id);
    const origin::SourceFrame *frame = op ? listing.frameOf(*op) : nullptr;
    return {{1, !frame ? "(no line)" : files ? listing.files[frame->file] : listing.lineOf(*frame)}};
  });
}

std::optional<double> Metric::of(const Figures &figures) const {
  if (!whole)
    return fraction(figures);
  auto value = whole(figures);
  return value ? std::optional(double(*value)) : std::nullopt;
}

llvm::ArrayRef<Metric> report::allMetrics() {
  using Whole = std::optional<uint64_t>;
  static const Metric metrics[] = {
      {"macs", "multiply-accumulates", [](const Figures &f) { return f.macs; }, nullptr},
      {"sparse_macs", "MACs with non-zero weights", [](const Figures &f) { return f.sparseMacs; }, nullptr},
      {"operations", "arithmetic operations", [](const Figures &f) { return f.operations; }, nullptr},
      {"parameters", "elements of constants", [](const Figures &f) { return Whole(f.parameters); }, nullptr},
      {"bytes", "bytes of constants", [](const Figures &f) { return Whole(f.bytes); }, nullptr},
      {"activation_bytes", "bytes read and written", [](const Figures &f) { return Whole(f.activationBytes); },
       nullptr},
      {"live_bytes", "activations alive at the same time", [](const Figures &f) { return Whole(f.liveBytes); },
       nullptr},
      {"sparsity", "share of zeros in constants", nullptr, [](const Figures &f) { return f.sparsity(); }},
      {"block_sparsity", "share of blocks of zeros", nullptr, [](const Figures &f) { return f.blockSparsity(); }},
      {"intensity", "operations per byte", nullptr, [](const Figures &f) { return f.intensity(); }},
  };
  return metrics;
}

const Metric *report::findMetric(llvm::StringRef name) {
  auto found = llvm::find_if(allMetrics(), [&](const Metric &metric) { return metric.name == name; });
  return found == allMetrics().end() ? nullptr : found;
}
