#include "tests/GoldenCases.h"

#include "ir/Versions.h"
#include "ir/text/Text.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"

#include "gtest/gtest.h"

#include <cstdlib>
#include <map>
#include <set>

/// docs/passes.md is made of the passes and of what the golden cases show, so that it says nothing that is not so.
/// With ORIGO_BLESS=1 in the environment it is written anew.

using namespace origo;
using namespace origo::test;
using llvm::StringRef;

namespace {

/// What golden cases tell of a pass.
struct Seen {
  std::string before, after;                             ///< of the first case that it changes
  std::map<std::string, std::set<std::string>> declined; ///< by rule
  std::set<std::string> fates;
  bool exact = false, inexact = false; ///< operators that it made
  /// Kinds of operators that it made and that the case did not have, each with the first runtime that has it.
  std::map<std::string, std::string> made;
};

void look(const Case &item, const Pipeline &pipeline, std::map<StringRef, Seen> &seen) {
  PayloadStore store;
  llvm::Expected<std::unique_ptr<Model>> model = parseText(item.input, goldenFolder(), store);
  if (!model) {
    llvm::consumeError(model.takeError()); // for the golden test to tell
    return;
  }
  (*model)->becomeSource();
  std::set<std::string> kinds;
  for (auto &graph : (*model)->subgraphs)
    for (const Operator &op : graph->operators)
      kinds.insert(op.opName());
  std::vector<RuleStatistics> statistics;
  PipelineOptions options;
  options.statistics = &statistics;
  llvm::cantFail(runPipeline(**model, pipeline, store, options));

  std::set<StringRef> worked;
  for (const RuleStatistics &rule : statistics) {
    for (const auto &[reason, times] : rule.declined)
      if (pipeline.entries.front().scopes.empty()) // else flags are the reason
        seen[rule.pass].declined[rule.rule.str()].insert(reason);
    if (rule.applied)
      worked.insert(rule.pass);
  }
  for (auto &graph : (*model)->subgraphs)
    for (const Operator &op : graph->operators)
      if (auto passes = (*model)->passLists.get(op.passes); passes.size() == 1) {
        (op.inexact ? seen[passes[0]].inexact : seen[passes[0]].exact) = true;
        if (!kinds.count(op.opName()))
          seen[passes[0]].made.emplace(op.opName(), runtimeOf(op.code, op.version).str());
      }
  llvm::SmallVector<std::pair<bool, uint32_t>> lost;
  (*model)->ledger(lost, [&](const LedgerRow &row) {
    seen[row.pass].fates.insert((row.isTensor ? "tensors `" : "operators `") + fateName(row.fate).str() + "`");
  });
  for (const Pipeline::Entry &entry : pipeline.entries) {
    Seen &pass = seen[entry.pass->name];
    bool once = entry.pass->mergesConstants && (*model)->rewrites != 0;
    if (!pass.before.empty() || (!once && !worked.count(entry.pass->name)))
      continue;
    pass.before = item.input;
    pass.after = printed(**model);
    llvm::raw_string_ostream os(pass.after);
    printLedger(**model, os);
  }
}

/// Cases that run a pass alone are the best examples; those with many show the work of others too.
std::map<StringRef, Seen> lookAtAll() {
  std::map<StringRef, Seen> seen;
  for (size_t passes : {1, 2, 3, 4})
    for (const std::string &name : goldenFiles()) {
      auto buffer = llvm::MemoryBuffer::getFile(goldenFolder() + "/" + name + ".txt");
      EXPECT_TRUE(bool(buffer)) << name;
      for (const Case &item : readCases((*buffer)->getBuffer())) {
        llvm::Expected<Pipeline> pipeline = pipelineOf(item);
        if (!pipeline)
          llvm::consumeError(pipeline.takeError());
        else if (pipeline->entries.size() == passes)
          look(item, *pipeline, seen);
      }
    }
  return seen;
}

std::string scopesOf(const PassFlag &flag) {
  std::string text;
  for (const Rewriter::Scope &scope : flag.scopes) {
    text += (text.empty() ? "" : ", ") + operatorInfo(scope.root)->name.str();
    if (scope.other)
      text += " with " + operatorInfo(*scope.other)->name.str();
  }
  return text;
}

void writePass(llvm::raw_ostream &os, const Pass &pass, const Seen &seen) {
  os << "\n## " << pass.name << "\n\n    " << pass.summary << "\n\n";
  os << "Phase: " << phaseName(pass.phase) << (pass.inO1 ? ", in `-O1`." : ", not in `-O1`.");
  os << (pass.mends == Mends::Exactly         ? " In `-O2` where the target refuses what goes."
         : pass.mends == Mends::WithinOneStep ? " In `-O2` with `--allow-one-step`, where the target refuses what goes."
         : pass.mends == Mends::HybridToFloat
             ? " In `-O2` with `--allow-hybrid-to-float`, where the target refuses what goes."
             : "");
  for (const PassFlag &flag : pass.flags) {
    os << (&flag == &pass.flags.front() ? " Flags:" : ",") << " `--" << flag.name << "`";
  }
  os << (pass.flags.empty() ? " No flag of the circle toolchain asks for it alone.\n" : ".\n");
  if (!pass.note.empty())
    os << '\n' << pass.note << '\n';
  for (const Rule &rule : pass.rules)
    if (!rule.assumed.empty())
      os << "\nRelies on" << (pass.rules.size() > 1 ? " (*" + rule.name.str() + "*)" : "") << ": " << rule.assumed
         << ".\n";
  if (!pass.bound.empty())
    os << "\nChanges results by: " << pass.bound << ".\n";
  if (!seen.declined.empty()) {
    os << "\nDeclined where:\n\n";
    for (const auto &[rule, reasons] : seen.declined)
      for (const std::string &reason : reasons)
        os << "- " << (pass.rules.size() > 1 ? "*" + rule + "*: " : "") << reason << '\n';
  }
  os << "\nOrigins: ";
  if (seen.exact || seen.inexact)
    os << "an operator that it makes or keeps for another has the origins of those that it was matched from, and "
          "computes "
       << (pass.changesResults && seen.inexact ? "other numbers than they did, as the flag asks"
           : !seen.inexact                     ? "the same bits"
           : seen.exact                        ? "the same bits, or the same but for the order of float operations"
                                               : "the same but for the order of float operations")
       << ". ";
  else
    os << "it makes no operator; what stays keeps its own. ";
  os << "What is gone is in the ledger as: " << (seen.fates.empty() ? "nothing" : llvm::join(seen.fates, ", "))
     << ".\n";
  os << "\n```\n" << seen.before << "```\nbecomes\n```\n" << seen.after << "```\n";
}

/// What people write, what it becomes, and since when a runtime has that.
void writeFamilies(llvm::raw_ostream &os, const std::map<StringRef, Seen> &seen) {
  os << "## By what is written\n\n"
        "What `-O1` makes of it, and the first TensorFlow Lite that runs the operators which the examples get by "
        "that.\n\n"
        "| written -> becomes | pass | new operators, since |\n|---|---|---|\n";
  for (const Pass &pass : allPasses()) {
    const Seen &of = seen.at(pass.name);
    if (!pass.inO1 || of.made.empty())
      continue;
    os << "| " << pass.summary << " | [" << pass.name << "](#" << pass.name << ") | ";
    for (const auto &[kind, since] : of.made)
      os << (kind == of.made.begin()->first ? "" : ", ") << kind << (since.empty() ? "" : " " + since);
    os << " |\n";
  }
  os << '\n';
}

/// What rewrites take for granted, and by how much those change results that are asked to.
void writeDeclared(llvm::raw_ostream &os) {
  os << "## What is relied on\n\n"
        "What these rules take of a model for granted, and by how much passes change results whose flags ask for just "
        "that. All others are equal in exact arithmetic. A number that is taken for another one is in the origin map, "
        "and a [proof](proof.md) lists it.\n\n"
        "| pass | rule | relies on, or changes results by |\n|---|---|---|\n";
  for (const Pass &pass : allPasses()) {
    for (const Rule &rule : pass.rules)
      if (!rule.assumed.empty())
        os << "| [" << pass.name << "](#" << pass.name << ") | " << rule.name << " | " << rule.assumed << " |\n";
    if (!pass.bound.empty())
      os << "| [" << pass.name << "](#" << pass.name << ") | all | by " << pass.bound << " |\n";
  }
  os << '\n';
}

std::string document(const std::map<StringRef, Seen> &seen) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "# The rewrites\n\n"
        "This page is made from the passes in `passes/*/` and from `tests/golden/`; the test `PassesDocument` compares "
        "it,\n"
        "and writes it anew with `ORIGO_BLESS=1`. What a rewrite declines is what the golden cases show of it.\n"
        "`circle2circle --explain=NAME` tells the same of an operator of your model.\n\n"
        "The phases have their turn one after the other, and in each of them the simplifications are tried as well, "
        "while fusing also what changes layouts: ";
  for (Phase phase : {Phase::Decompose, Phase::Recognise, Phase::Layout, Phase::Fuse, Phase::Backend})
    os << (phase == Phase::Decompose ? "" : ", ") << phaseName(phase);
  os << ".\n\n";
  writeFamilies(os, seen);
  writeDeclared(os);
  os << "## By flag\n\n"
        "The flags of the circle toolchain that stand for a rewrite here. `circle2circle --help` lists all that are "
        "accepted.\n\n"
        "| flag | pass | of it |\n|---|---|---|\n";
  std::map<std::string, std::map<std::string, std::string>> flags; // the table has them by pass
  for (const Pass &pass : allPasses())
    for (const PassFlag &flag : pass.flags)
      flags[flag.name.str()][pass.name.str()] = flag.scopes.empty() ? "all" : scopesOf(flag);
  for (const auto &[flag, passes] : flags)
    for (const auto &[pass, part] : passes)
      os << "| `--" << flag << "` | [" << pass << "](#" << pass << ") | " << part << " |\n";
  for (const Pass &pass : allPasses())
    writePass(os, pass, seen.at(pass.name));
  return text;
}

TEST(PassesDocument, IsUpToDate) {
  std::map<StringRef, Seen> seen = lookAtAll();
  for (const Pass &pass : allPasses())
    EXPECT_EQ(pass.changesResults, !pass.bound.empty()) << pass.name.str() << " does not say by how much";
  for (const Pass &pass : allPasses())
    ASSERT_FALSE(seen[pass.name].before.empty()) << pass.name.str() << " has no golden case of its own that it changes";
  std::string path = ORIGO_SOURCE_DIR "/docs/passes.md", text = document(seen);
  if (std::getenv("ORIGO_BLESS")) {
    std::error_code ec;
    llvm::raw_fd_ostream os(path, ec);
    ASSERT_FALSE(ec) << ec.message();
    os << text;
    return;
  }
  auto buffer = llvm::MemoryBuffer::getFile(path);
  ASSERT_TRUE(bool(buffer)) << path;
  EXPECT_TRUE((*buffer)->getBuffer() == text)
      << path << " is not what the passes are; ORIGO_BLESS=1 origo_tests --gtest_filter=PassesDocument.* writes it";
}

} // namespace
