#include "commands/Mending.h"

#include "quantize/Plan.h"
#include "report/target/Prediction.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace origo::commands {

using Place = std::pair<unsigned, unsigned>;

namespace {

/// Follows refused operators through the rewrites of a run.
class Follower {
public:
  Follower(const Model &model, const report::Target &target) {
    for (auto &graph : model.subgraphs)
      for (const Operator &op : graph->operators)
        if (!report::checkOperator(op, target).empty() || (target.staticShapes && report::computedShape(op)))
          of[&op] = {add({graph->index, op.index})};
  }

  void follow(const RewriteEvent &event) {
    llvm::SmallVector<unsigned, 4> ids;
    for (const RewriteEvent::Before &before : event.before)
      if (auto found = of.find(before.at); found != of.end()) {
        for (unsigned id : found->second)
          if (ids.size() < most && !llvm::is_contained(ids, id))
            ids.push_back(id);
        if (!before.kept)
          of.erase(found);
      }
    for (unsigned id : ids)
      if (!llvm::is_contained(passes[id], event.pass))
        passes[id].push_back(event.pass);
    for (const Operator *op : event.created) {
      of.erase(op); // of one that is gone
      if (!ids.empty())
        of[op] = ids;
    }
    // What is merged into its like is not gone.
    const Operator *like = event.created.empty() && event.value ? event.value->producer() : nullptr;
    if (like && !event.before.empty() && like->opName() == event.before.front().op)
      for (unsigned id : ids)
        if (auto &known = of[like]; known.size() < most && !llvm::is_contained(known, id))
          known.push_back(id);
  }

  Mendings found(const Model &model, const report::Target &target) {
    std::vector<bool> left(places.size());
    for (auto &graph : model.subgraphs)
      for (const Operator &op : graph->operators)
        if (auto at = of.find(&op); at != of.end() && !report::checkOperator(op, target).empty())
          for (unsigned id : at->second)
            left[id] = true;
    Mendings mendings;
    for (auto [id, place] : llvm::enumerate(places)) {
      std::string &text = mendings[place];
      if (left[id] || passes[id].empty())
        continue;
      // Where passes are among them that mend, the others have only prepared it.
      llvm::StringRef flag;
      llvm::SmallVector<llvm::StringRef, 2> named;
      for (llvm::StringRef name : passes[id]) {
        const Pass *pass = findPass(name);
        Mends mends = name == "quantize" ? Mends::WithinOneStep : pass ? pass->mends : Mends::Never;
        if (mends != Mends::Never)
          named.push_back(name);
        flag = mends == Mends::WithinOneStep   ? "--allow-one-step"
               : mends == Mends::HybridToFloat ? "--allow-hybrid-to-float"
                                               : flag;
      }
      text = llvm::join(named.empty() ? passes[id] : named, ", ") + (flag.empty() ? "" : (" with " + flag).str());
    }
    return mendings;
  }

private:
  static constexpr size_t most = 4; ///< of several that became one, these many are followed: time stays linear
  llvm::DenseMap<const Operator *, llvm::SmallVector<unsigned, 4>> of;
  std::vector<Place> places;
  std::vector<llvm::SmallVector<llvm::StringRef, 2>> passes;

  unsigned add(Place place) {
    places.push_back(place);
    passes.emplace_back();
    return static_cast<unsigned>(places.size() - 1);
  }
};

} // namespace

/// How many operators the target takes if what is uint8 is int8, and does not take as they are. Where zero points lie
/// is not looked at: those of weights are not where they will be.
static size_t takenIfSigned(Model &model, const report::Target &target) {
  auto isTaken = [&](const Operator &op) {
    return llvm::all_of(report::checkOperator(op, target),
                        [](const report::Violation &one) { return one.rule == "quantization"; });
  };
  llvm::DenseSet<const Operator *> taken;
  bool none = report::predict(model, target).refusedFor;
  std::vector<Value *> turned;
  for (const auto &graph : model.subgraphs) {
    for (const Operator &op : graph->operators)
      if (!none && report::checkOperator(op, target).empty())
        taken.insert(&op);
    llvm::copy_if(graph->values, std::back_inserter(turned),
                  [](const Value *value) { return value->type == TensorType::UINT8; });
  }
  for (Value *value : turned)
    value->type = TensorType::INT8;
  size_t count = 0;
  for (const auto &graph : model.subgraphs)
    count += llvm::count_if(graph->operators, [&](const Operator &op) { return !taken.contains(&op) && isTaken(op); });
  for (Value *value : turned)
    value->type = TensorType::UINT8;
  return count;
}

void addSigning(Pipeline &pipeline, std::shared_ptr<const report::Target> target) {
  quantize::Scheme scheme;
  scheme.common.mode = quantize::Scheme::Mode::Signed;
  auto asked = [target = std::move(target),
                plan = quantize::planBy(scheme)](Model &model) -> llvm::Expected<StoragePlan> {
    // Bridges at both ends are the price.
    size_t refused = takenIfSigned(model, *target), ends = 0;
    for (auto *list : {&model.subgraphs.front()->inputs, &model.subgraphs.front()->outputs})
      ends += llvm::count_if(*list, [](const Value *value) { return value->type == TensorType::UINT8; });
    if (refused > ends)
      return plan(model);
    return StoragePlan();
  };
  Pipeline signing = Pipeline::quantization(std::move(asked));
  pipeline.plan = std::move(signing.plan);
  for (const Pipeline::Entry &entry : signing.entries)
    pipeline.add(*entry.pass, entry.scopes);
}

llvm::Expected<Mendings> mendings(llvm::function_ref<llvm::Expected<Imported>(PayloadStore &)> load,
                                  const report::Target &target) {
  Mendings all;
  // What no number changes for goes first.
  static const Mends everything[] = {Mends::WithinOneStep, Mends::HybridToFloat};
  for (size_t count : {size_t{0}, std::size(everything)}) {
    PayloadStore store;
    auto imported = load(store);
    if (!imported)
      return imported.takeError();
    Follower follower(*imported->model, target);
    Pipeline pipeline = Pipeline::o1();
    pipeline.addMending(llvm::ArrayRef<Mends>(everything).take_front(count));
    if (count)
      addSigning(pipeline, std::make_shared<const report::Target>(target));
    PipelineOptions run;
    run.refuses = [&](const Operator &op) {
      return report::checkOperator(op, target).empty() ? std::string() : "the target does not take " + op.opName();
    };
    run.price = [&](const Operator &op) {
      auto found = target.refusalCost.find(op.opName());
      return found == target.refusalCost.end() ? 1 : found->second;
    };
    run.onRewrite = [&](const RewriteEvent &event) { follower.follow(event); };
    if (llvm::Error error = runPipeline(*imported->model, pipeline, store, run))
      return error;
    for (auto &[place, text] : follower.found(*imported->model, target))
      if (std::string &known = all[place]; known.empty())
        known = text;
  }
  return all;
}

} // namespace origo::commands
