#include "passes/Pipeline.h"

#include "ir/Verifier.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

namespace origo {

void Pipeline::add(const Pass &pass, llvm::ArrayRef<Rewriter::Scope> scopes) {
  auto *known = llvm::find_if(entries, [&](const Entry &e) { return e.pass == &pass; }).base();
  if (known == entries.end().base()) {
    entries.push_back({&pass, {scopes.begin(), scopes.end()}});
  } else if (scopes.empty()) {
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

llvm::Error runPipeline(Model &model, const Pipeline &pipeline, PayloadStore &store) {
  if (pipeline.empty())
    return llvm::Error::success();
  struct Candidate {
    const Pipeline::Entry *entry;
    const Rule *rule;
  };
  llvm::DenseMap<int32_t, llvm::SmallVector<Candidate, 4>> candidates;
  for (const Pass &pass : allPasses()) // in the table's order, whatever the order on the command line
    for (const Pipeline::Entry &entry : pipeline.entries)
      if (entry.pass == &pass)
        for (const Rule &rule : pass.rules)
          for (BuiltinOperator root : rule.roots)
            candidates[static_cast<int32_t>(root)].push_back({&entry, &rule});

  Rewriter rw(model, store);
  rw.onRewrite = pipeline.onRewrite;
  auto check = [&](llvm::StringRef pass) -> llvm::Error {
    if (!pipeline.verifyEach)
      return llvm::Error::success();
    std::vector<std::string> violations = verify(model);
    if (violations.empty())
      return llvm::Error::success();
    return makeError("broken invariant after rewrite " + llvm::Twine(model.rewrites) + " (" + pass +
                     "): " + violations.front());
  };

  rw.removeDeadCode();
  if (llvm::Error error = check("remove-dead-code"))
    return error;
  rw.pushAll();
  while (Operator *op = rw.popChanged()) {
    auto found = candidates.find(static_cast<int32_t>(op->code));
    if (found == candidates.end())
      continue;
    for (const Candidate &candidate : found->second) {
      rw.begin(candidate.entry->pass->name, *op);
      rw.scopes = candidate.entry->scopes;
      RewriteResult result = candidate.rule->apply(*op, rw);
      if (!result.isApplied()) {
        rw.abandon();
        if (rw.error)
          return std::move(rw.error);
        continue;
      }
      if (llvm::Error error = check(candidate.entry->pass->name))
        return error;
      break; // the operator is gone; what took its place is on the worklist
    }
  }
  rw.removeDeadCode();
  rw.pruneBuffers();
  model.number();
  return check("remove-dead-code");
}

} // namespace origo
