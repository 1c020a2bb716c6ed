#include "passes/VerifyAlgebra.h"

#include "passes/DeclaredChanges.h"

#include "llvm/ADT/STLExtras.h"

namespace origo {

llvm::Expected<ProvedRun> proveRewrites(llvm::function_ref<llvm::Expected<std::unique_ptr<Model>>()> load,
                                        const Pipeline &pipeline, PayloadStore &store, const PipelineOptions &run,
                                        const eval::ProveOptions &options) {
  llvm::Expected<std::unique_ptr<Model>> before = load();
  if (!before)
    return before.takeError();
  dropCodeOutputs(**before, pipeline);
  (*before)->number();

  auto proveAfter = [&](std::optional<uint32_t> most) -> llvm::Expected<ProvedRun> {
    llvm::Expected<std::unique_ptr<Model>> model = load();
    if (!model)
      return model.takeError();
    std::string last = "no rewrite";
    eval::exact::Recipes recipes;
    PipelineOptions seen = run;
    seen.fuel = most;
    seen.onRewrite = [&](const RewriteEvent &event) { last = event.text(); };
    seen.onFold = [&](const Operator &op, llvm::ArrayRef<Payload> results) { recipes.add(op, results); };
    if (llvm::Error error = runPipeline(**model, pipeline, store, seen))
      return error;
    dropCodeOutputs(**model, pipeline); // those of a run that was ended before
    auto proof = eval::prove(**before, **model, recipes, options);
    if (!proof)
      return proof.takeError();
    ProvedRun proved{std::move(*proof), std::nullopt, {}};
    const DeclaredChanges declared(**model);
    llvm::erase_if(proved.proof.different, [&](const eval::Difference &one) {
      const Pass *pass = declared.behind(*one.value, one.source);
      if (pass)
        ++proved.declared[pass];
      return pass != nullptr;
    });
    if (proved.proof.different.empty())
      return proved;
    const eval::Difference &first = proved.proof.different.front();
    std::string text = last + ": tensor \"" + printable(first.value->name) + "\"";
    text += first.source ? ", which is source tensor " + std::to_string(*first.source) : ", an output";
    proved.wrong = WrongRewrite{(*model)->rewrites, text + ": " + first.text};
    return proved;
  };

  auto proved = proveAfter(run.fuel);
  if (!proved || !proved->wrong)
    return proved;
  // What is wrong stays wrong: every tensor is judged by the operators right before it.
  uint32_t good = 0, bad = proved->wrong->number;
  while (bad - good > 1) {
    uint32_t middle = good + (bad - good) / 2;
    auto found = proveAfter(middle);
    if (!found)
      return found;
    if (found->wrong) {
      bad = middle;
      proved->wrong = std::move(found->wrong);
    } else {
      good = middle;
    }
  }
  return proved;
}

} // namespace origo
