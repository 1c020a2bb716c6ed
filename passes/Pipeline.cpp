#include "passes/Pipeline.h"

#include "eval/Evaluate.h"
#include "ir/ConstantExpressions.h"
#include "ir/Verifier.h"
#include "ir/rewrite/ShareBuffers.h"
#include "passes/Glance.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

#include <chrono>
#include <deque>
#include <functional>
#include <set>

namespace origo {

using Clock = std::chrono::steady_clock;

void Pipeline::add(const Pass &pass, llvm::ArrayRef<Rewriter::Scope> scopes) {
  // In the table's order, whatever the order on the command line; behind it what is not in the table.
  auto place = [table = allPasses()](const Pass *pass) {
    bool isInTable = !std::less<>()(pass, table.begin()) && std::less<>()(pass, table.end());
    return isInTable ? static_cast<size_t>(pass - table.begin()) : table.size();
  };
  auto known = llvm::find_if(entries, [&](const Entry &e) { return e.pass == &pass; });
  if (known == entries.end()) {
    auto next = llvm::upper_bound(entries, place(&pass), [&](size_t at, const Entry &e) { return at < place(e.pass); });
    entries.insert(next, {&pass, {scopes.begin(), scopes.end()}, false});
  } else if (scopes.empty()) {
    known->mends = false;
    known->scopes.clear();
  } else if (!known->scopes.empty()) {
    known->scopes.insert(known->scopes.end(), scopes.begin(), scopes.end());
  }
}

void Pipeline::remove(llvm::StringRef name) {
  llvm::erase_if(entries, [&](const Entry &e) { return e.pass->name == name; });
}

Pipeline Pipeline::o1() {
  Pipeline pipeline;
  for (const Pass &pass : allPasses())
    if (pass.inO1)
      pipeline.add(pass);
  return pipeline;
}

void Pipeline::addMending(llvm::ArrayRef<Mends> allowed) {
  for (const Pass &pass : allPasses()) {
    bool asked = llvm::any_of(entries, [&](const Entry &entry) { return entry.pass == &pass; });
    if (asked || (pass.mends != Mends::Exactly && !llvm::is_contained(allowed, pass.mends)))
      continue;
    add(pass);
    llvm::find_if(entries, [&](const Entry &entry) { return entry.pass == &pass; })->mends = true;
  }
}

Pipeline Pipeline::quantization(std::function<llvm::Expected<StoragePlan>(Model &)> plan) {
  Pipeline pipeline;
  pipeline.plan = std::move(plan);
  for (const char *pass : {"quantize", "cancel-quantization", "remove-lossless-quantize"})
    pipeline.add(*findPass(pass));
  // Users that find a tensor in the same way share the bridge.
  pipeline.add(*findPass("common-subexpressions"),
               {{BuiltinOperator::QUANTIZE, std::nullopt}, {BuiltinOperator::DEQUANTIZE, std::nullopt}});
  return pipeline;
}

void dropCodeOutputs(Model &model, const Pipeline &pipeline) {
  auto usesCodes = [](const Pipeline::Entry &entry) { return entry.pass->usesCodes; };
  if (auto own = rewrite::BinaryCodes(*model.subgraphs.front()).ownOutputs();
      own && llvm::any_of(pipeline.entries, usesCodes))
    Editor(model).keepOutputs(std::vector<Value *>(own->begin(), own->end()));
}

/// Does an operand broadcast along some dimensions in a row, and the other one along others in a row at most?
static bool broadcastsInRows(const Dims &a, const Dims &b) {
  size_t i = 0, rank = std::max(a.size(), b.size());
  auto size = [&](const Dims &dims) { return i < dims.size() ? dims[dims.size() - 1 - i] : 1; };
  auto pass = [&](auto holds) {
    while (i < rank && holds(size(a), size(b)))
      ++i;
  };
  auto same = [](int32_t a, int32_t b) { return a == b; };
  auto first = [](int32_t a, int32_t) { return a == 1; };
  auto second = [](int32_t, int32_t b) { return b == 1; };
  pass(same);
  bool firstIsFirst = i < rank && size(a) == 1;
  firstIsFirst ? pass(first) : pass(second);
  pass(same);
  firstIsFirst ? pass(second) : pass(first);
  pass(same);
  return i == rank;
}

/// Of more than four dimensions, TensorFlow Lite before 2.17 ends itself on most broadcasts.
static bool broadcastsTooFar(const Operator &op) {
  if (!op.info() || !op.info()->has(Trait::Binary) || !op.operand(0) || !op.operand(1))
    return false;
  const Dims &a = op.operand(0)->shape, &b = op.operand(1)->shape;
  size_t rank = std::max(a.size(), b.size());
  if (rank <= 4 || llvm::equal(a, b))
    return false;
  switch (op.code) {
  case BuiltinOperator::ADD:
  case BuiltinOperator::MUL:
    return !broadcastsInRows(a, b);
  case BuiltinOperator::SUB:
  case BuiltinOperator::DIV:
    return rank > 5;
  case BuiltinOperator::MAXIMUM:
  case BuiltinOperator::MINIMUM:
    return rank > 8;
  default:
    return true;
  }
}

/// How constants are computed, noted for the origin map and told to who looks on.
static Folding foldingFor(Model &model, const PipelineOptions &options) {
  auto told = [&model, &options](const Operator &op, PayloadStore &store, const char *&why) {
    auto payloads = evaluate(op, store, why);
    if (payloads && !payloads->empty()) {
      if (model.sourceTensors)
        model.makeExpressions().add(op, *payloads);
      if (options.onFold)
        options.onFold(op, *payloads);
    }
    return payloads;
  };
  return {told, everyElement};
}

namespace {

/// A rule that is tried on some operator code, and its scores.
struct Candidate {
  const Pipeline::Entry *entry;
  const Rule *rule;
  RuleStatistics *statistics;
  std::optional<Glance> glance = std::nullopt; ///< once it was asked for
};

class Run {
public:
  Run(Model &model, const Pipeline &pipeline, PayloadStore &store, const PipelineOptions &options)
      : model(model), pipeline(pipeline), options(options), rw(model, store, foldingFor(model, options)) {
    rw.onRewrite = options.onRewrite;
    rw.price = options.price;
    rw.format = options.format.value_or(model.format);
    rw.refuses = [this, format = rw.format](const Operator &op) -> std::string {
      if (format == Format::Tflite && op.info() && !op.info()->inTflite)
        return (op.info()->name + " does not exist in .tflite").str();
      if (format == Format::Tflite && broadcastsTooFar(op))
        return "TensorFlow Lite broadcasts few operators over more than four dimensions";
      const auto *linear =
          op.code == BuiltinOperator::FULLY_CONNECTED ? op.options.as<circle::FullyConnectedOptions>() : nullptr;
      if (format == Format::Tflite && op.code == BuiltinOperator::QUANTIZE &&
          op.operand(0)->type == TensorType::INT16 && op.result()->type == TensorType::UINT8)
        return "TensorFlow Lite has no QUANTIZE from int16 to uint8";
      if (format == Format::Tflite && linear &&
          linear->weights_format() == circle::FullyConnectedOptionsWeightsFormat::SHUFFLED16x1FLOAT32)
        return "SHUFFLED16x1FLOAT32 does not exist in .tflite";
      return this->options.refuses && !storing ? this->options.refuses(op) : std::string();
    };
    for (const Pipeline::Entry &entry : pipeline.entries)
      for (const Rule &rule : entry.pass->rules) {
        if (isUndone(*entry.pass))
          continue;
        RuleStatistics &scores = statistics.emplace_back(RuleStatistics{entry.pass->name, rule.name});
        for (BuiltinOperator root : rule.roots())
          candidates[static_cast<int64_t>(root)].push_back({&entry, &rule, &scores});
      }
  }
  llvm::Error run();

private:
  Model &model;
  const Pipeline &pipeline;
  const PipelineOptions &options;
  Rewriter rw;
  StoragePlan plan;
  bool storing = false; ///< as the plan says: what stands between two ways to store goes when both sides are done
  std::deque<RuleStatistics> statistics;
  llvm::DenseMap<int64_t, llvm::SmallVector<Candidate, 4>> candidates;

  /// What is asked to be taken apart is not put together again.
  bool isUndone(const Pass &pass) const {
    llvm::StringRef what = pass.name;
    return what.consume_front("recognise-") && llvm::any_of(pipeline.entries, [&](const Pipeline::Entry &entry) {
             llvm::StringRef other = entry.pass->name;
             return !entry.mends && other.consume_front("decompose-") && other == what;
           });
  }
  bool outOfFuel() const { return options.fuel && model.rewrites >= *options.fuel; }
  llvm::Error check(llvm::StringRef pass);
  llvm::Error sweep();
  llvm::Error runPhase(Phase phase);
  llvm::Error mergeConstants();
  llvm::Error visit(Operator &op, Phase phase);
};

llvm::Error Run::check(llvm::StringRef pass) {
  if (!options.verifyEach)
    return llvm::Error::success();
  std::vector<std::string> violations = verify(model);
  if (violations.empty())
    return llvm::Error::success();
  return makeError("broken invariant after rewrite " + llvm::Twine(model.rewrites) + " (" + pass +
                   "): " + violations.front());
}

llvm::Error Run::sweep() {
  if (outOfFuel())
    return llvm::Error::success();
  rw.sweep();
  return check("remove-dead-code");
}

/// Simplifications go on in every phase, what a new layout brings together is recognised there, and what is fused may
/// leave a movement with one user, behind whom it can go.
static bool runsIn(Phase ofPass, Phase phase) {
  return ofPass == phase || ofPass == Phase::Simplify || (ofPass == Phase::Recognise && phase == Phase::Layout) ||
         (ofPass == Phase::Layout && phase == Phase::Fuse);
}

/// Tries the rules of a phase on an operator until one applies.
llvm::Error Run::visit(Operator &op, Phase phase) {
  auto found = candidates.find(static_cast<int64_t>(op.code));
  if (found == candidates.end())
    return llvm::Error::success();
  // Rules may count on results. Most operators without one are dead code, but not those with effects.
  if (op.results().empty() || llvm::is_contained(op.results(), nullptr))
    return llvm::Error::success();
  bool watched = options.statistics || options.onAttempt || options.onDecline;
  for (Candidate &candidate : found->second) {
    const Pass &pass = *candidate.entry->pass;
    const Rule &rule = *candidate.rule;
    if (!runsIn(pass.phase, phase))
      continue;
    if (rule.build && !watched) { // who watches is told why each does not apply
      if (!candidate.glance)
        candidate.glance.emplace(rule.pattern, op.code);
      if (!candidate.glance->mayMatch(op))
        continue;
    }
    IdSet origins = op.origins;
    storing = phase == Phase::Quantize && pass.phase == phase && pipeline.plan;
    rw.mends = candidate.entry->mends;
    rw.keepsSmall = rw.mends && pipeline.keepsSmall;
    auto start = options.statistics ? Clock::now() : Clock::time_point();
    RewriteResult result = rule.build ? rw.apply(pass.name, rule.name, rule.mismatch, rule.pattern, rule.build,
                                                 candidate.entry->scopes, op)
                                      : rw.mergeEqual(pass.name, candidate.entry->scopes, op);
    if (options.statistics) {
      RuleStatistics &s = *candidate.statistics;
      s.seconds += std::chrono::duration<double>(Clock::now() - start).count();
      ++s.tried;
      ++(result.isApplied() ? s.applied : s.declined[result.declined().str()]);
    }
    if (options.onAttempt || options.onDecline) {
      std::string reached = !result.isApplied() && rule.build ? rw.furthest(rule.pattern, op) : "";
      if (options.onDecline && !result.isApplied() && rule.build && reached.empty())
        options.onDecline(op, pass, rule, result.declined());
      if (options.onAttempt)
        options.onAttempt(op, origins, pass, rule, result.declined().str() + reached);
    }
    if (result.isApplied() && !rule.assumed.empty() && model.sourceTensors)
      for (const rewrite::Taken &one : rw.taken)
        model.makeExpressions().assume({one.number, one.means.numerator, one.means.denominator, pass.name});
    if (result.isApplied())
      return check(pass.name); // the operator is gone; what took its place is on the worklist
    if (rw.error)
      return std::move(rw.error);
    if (!result.isRefused())
      continue;
    std::string text = (pass.name + " / " + rule.name + " breaks a law of rewrites: " + result.declined()).str();
    if (options.verifyEach)
      return makeError(text);
    if (options.onRefusal)
      options.onRefusal(text);
    if (op.erased())
      return llvm::Error::success(); // the lie was about a rewrite that is done
  }
  return llvm::Error::success();
}

llvm::Error Run::runPhase(Phase phase) {
  if (llvm::Error error = mergeConstants())
    return error;
  if (phase == Phase::Quantize && pipeline.plan && !outOfFuel()) {
    auto decided = pipeline.plan(model);
    if (!decided)
      return decided.takeError();
    plan = std::move(*decided);
    rw.plan = &plan;
    rw.storeInterface("quantize");
  }
  if (phase == Phase::Layout && (pipeline.turnsInputs || pipeline.turnsOutputs) && !outOfFuel())
    rw.turnInterface("convert-to-channels-last", pipeline.turnsInputs, pipeline.turnsOutputs);
  auto usesCodes = [&](const Pipeline::Entry &entry) { return entry.pass->usesCodes && entry.pass->phase == phase; };
  bool readsCodes = llvm::any_of(pipeline.entries, usesCodes) && !outOfFuel();
  if (readsCodes)
    rw.readCodes();
  rw.beginPhase();
  constexpr unsigned most = 8; // plans: each may bring together what makes another one worth while
  unsigned plans = 0;
  uint32_t before;
  do {
    while (Operator *op = outOfFuel() ? nullptr : rw.popChanged())
      if (llvm::Error error = visit(*op, phase))
        return error;
    before = model.rewrites;
    if (llvm::Error error = mergeConstants()) // what rewrites made may be equal to something
      return error;
  } while (model.rewrites != before || (plans++ < most && !outOfFuel() && rw.planLayout()));
  if (readsCodes && !outOfFuel())
    rw.dropCodes();
  return llvm::Error::success();
}

llvm::Error Run::mergeConstants() {
  model.number(); // what comes before what is told by it
  for (const Pipeline::Entry &entry : pipeline.entries)
    if (entry.pass->mergesConstants && !outOfFuel()) {
      rw.mergeEqualConstants(entry.pass->name);
      if (llvm::Error error = check(entry.pass->name))
        return error;
    }
  return llvm::Error::success();
}

llvm::Error Run::run() {
  model.number();
  if (llvm::Error error = sweep())
    return error;
  // Simplifications alone are a phase too.
  std::set<Phase> phases;
  for (const Pipeline::Entry &entry : pipeline.entries)
    phases.insert(entry.pass->phase);
  if (phases.size() > 1)
    phases.erase(Phase::Simplify);
  // What mends may make what the other phases know: they go again, as they would in a second run.
  bool mends = !pipeline.turnsInputs && !pipeline.turnsOutputs && // which turn once
               llvm::any_of(pipeline.entries, [](const Pipeline::Entry &entry) { return entry.mends; });
  constexpr unsigned most = 4;
  uint32_t before = model.rewrites;
  for (unsigned round = 0; round == 0 || (mends && round < most && model.rewrites != before); ++round) {
    for (Phase phase : phases) {
      before = model.rewrites;
      if (llvm::Error error = runPhase(phase))
        return error;
    }
    if (llvm::Error error = sweep())
      return error;
  }
  rw.finish();
  if (llvm::Error error = rewrite::shareEqualBuffers(model))
    return error;
  rw.pruneBuffers();
  if (model.rewrites != 0)
    model.sortByUse();
  else
    model.number();
  if (options.statistics)
    options.statistics->assign(statistics.begin(), statistics.end());
  return llvm::Error::success();
}

} // namespace

llvm::Error runPipeline(Model &model, const Pipeline &pipeline, PayloadStore &store, const PipelineOptions &options) {
  if (pipeline.empty())
    return llvm::Error::success();
  return Run(model, pipeline, store, options).run();
}

} // namespace origo
