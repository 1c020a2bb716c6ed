#include "passes/VerifyNumerics.h"

#include "eval/Baseline.h"

namespace origo {

namespace {

/// Executes a model while a pipeline rewrites it, until something deviates.
class Watch {
public:
  /// `eachAfter`: after each rewrite with a higher number; none: after each pass.
  Watch(const eval::Baseline &baseline, Model &model, std::optional<uint32_t> eachAfter)
      : baseline(baseline), model(model), eachAfter(eachAfter) {}
  ~Watch() { llvm::consumeError(std::move(error)); }

  uint32_t good = 0; ///< nothing deviated after this rewrite
  std::optional<WrongRewrite> wrong;
  llvm::Error error = llvm::Error::success();

  void onRewrite(const RewriteEvent &event) {
    bool due = eachAfter ? event.number > *eachAfter : event.pass != pass && !pass.empty();
    pass = event.pass;
    last = event.text();
    if (due)
      execute();
  }

  void execute() {
    if (wrong || error)
      return;
    llvm::Expected<eval::Comparison> comparison = baseline.compare(model);
    if (!comparison) {
      error =
          llvm::joinErrors(makeError("the model cannot be executed any more after " + last), comparison.takeError());
    } else if (comparison->deviations.empty()) {
      good = model.rewrites;
    } else {
      const eval::Deviation &first = comparison->deviations.front();
      std::string text = last + ": tensor \"" + printable(first.value->name) + "\"";
      text += first.source ? ", which is source tensor " + std::to_string(*first.source) : ", an output";
      wrong = {model.rewrites, text + ": " + first.text};
    }
  }

private:
  const eval::Baseline &baseline;
  Model &model;
  std::optional<uint32_t> eachAfter;
  llvm::StringRef pass; ///< of the last rewrite
  std::string last;
};

} // namespace

llvm::Expected<std::optional<WrongRewrite>>
findWrongRewrite(llvm::function_ref<llvm::Expected<std::unique_ptr<Model>>()> load, const Pipeline &pipeline,
                 PayloadStore &store, std::optional<uint32_t> fuel) {
  llvm::Expected<std::unique_ptr<Model>> before = load();
  if (!before)
    return before.takeError();
  const uint32_t seeds[] = {1, 2};
  llvm::Expected<eval::Baseline> baseline = eval::Baseline::of(**before, seeds);
  if (!baseline)
    return baseline.takeError();
  std::optional<uint32_t> eachAfter;
  for (;;) {
    llvm::Expected<std::unique_ptr<Model>> model = load();
    if (!model)
      return model.takeError();
    Watch watch(*baseline, **model, eachAfter);
    RunOptions options;
    options.fuel = fuel;
    options.onRewrite = [&](const RewriteEvent &event) { watch.onRewrite(event); };
    if (llvm::Error error = runPipeline(**model, pipeline, store, options))
      return error;
    watch.execute();
    if (watch.error)
      return std::move(watch.error);
    if (!watch.wrong || eachAfter)
      return watch.wrong;
    eachAfter = watch.good;
  }
}

} // namespace origo
