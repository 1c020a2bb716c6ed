#include "passes/VerifyNumerics.h"

#include "eval/Baseline.h"
#include "passes/DeclaredChanges.h"

#include "llvm/ADT/STLExtras.h"

namespace origo {

llvm::Expected<std::optional<WrongRewrite>>
findWrongRewrite(llvm::function_ref<llvm::Expected<std::unique_ptr<Model>>()> load, const Pipeline &pipeline,
                 PayloadStore &store, const PipelineOptions &run, eval::Baseline::Given given, OnDeclared onDeclared) {
  llvm::Expected<std::unique_ptr<Model>> before = load();
  if (!before)
    return before.takeError();
  dropCodeOutputs(**before, pipeline);
  const uint32_t seeds[] = {1, 2};
  llvm::Expected<eval::Baseline> baseline =
      given ? eval::Baseline::of(**before, given) : eval::Baseline::of(**before, seeds);
  if (!baseline)
    return baseline.takeError();

  auto compareAfter = [&](std::optional<uint32_t> most) -> llvm::Expected<std::optional<WrongRewrite>> {
    llvm::Expected<std::unique_ptr<Model>> model = load();
    if (!model)
      return model.takeError();
    std::string last = "no rewrite";
    PipelineOptions options = run;
    options.fuel = most;
    options.onRewrite = [&](const RewriteEvent &event) { last = event.text(); };
    if (llvm::Error error = runPipeline(**model, pipeline, store, options))
      return error;
    dropCodeOutputs(**model, pipeline); // those of a run that was ended before
    llvm::Expected<eval::Comparison> comparison = baseline->compare(**model);
    if (!comparison)
      return WrongRewrite{(*model)->rewrites,
                          last + ": the model cannot be executed any more: " + llvm::toString(comparison.takeError())};
    const DeclaredChanges declared(**model);
    size_t asked = comparison->deviations.size();
    llvm::erase_if(comparison->deviations, [&](const eval::Deviation &one) {
      const Pass *pass = declared.behind(*one.value, one.source);
      if (pass && onDeclared)
        onDeclared(*pass, one);
      return pass != nullptr;
    });
    asked -= comparison->deviations.size();
    if (comparison->deviations.empty()) {
      if (comparison->equal + comparison->within + asked != 0)
        return std::nullopt;
      std::string why;
      for (const auto &[reason, count] : comparison->unchecked)
        if (why.empty() && !reason.empty())
          why = ": " + reason;
      return makeError("nothing of the model could be compared" + why);
    }
    const eval::Deviation &first = comparison->deviations.front();
    std::string text = last + ": tensor \"" + printable(first.value->name) + "\"";
    text += first.source ? ", which is source tensor " + std::to_string(*first.source) : ", an output";
    return WrongRewrite{(*model)->rewrites, text + ": " + first.text};
  };

  auto wrong = compareAfter(run.fuel);
  if (!wrong || !*wrong)
    return wrong;
  // What is wrong stays wrong: every tensor is judged by the operators right before it.
  uint32_t good = 0, bad = (*wrong)->number;
  while (bad - good > 1) {
    uint32_t middle = good + (bad - good) / 2;
    auto found = compareAfter(middle);
    if (!found)
      return found;
    if (*found) {
      bad = middle;
      wrong = std::move(found);
    } else {
      good = middle;
    }
  }
  return wrong;
}

} // namespace origo
