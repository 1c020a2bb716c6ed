#include "tests/GoldenCases.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Regex.h"

#include "gtest/gtest.h"

#include <map>
#include <set>

/// The golden cases show every rule at work, and every reason for which one declines.

using namespace origo;
using namespace origo::test;
using llvm::StringRef;

namespace {

void forEachSourceOfPasses(llvm::function_ref<void(StringRef)> visit) {
  std::error_code ec;
  for (llvm::sys::fs::recursive_directory_iterator it(ORIGO_SOURCE_DIR "/passes", ec), end; it != end && !ec;
       it.increment(ec))
    // What lowers ONNX is no pass of the table; tests/onnx.py has its cases.
    if (auto buffer = llvm::MemoryBuffer::getFile(it->path());
        StringRef(it->path()).ends_with(".cpp") && !StringRef(it->path()).contains("/passes/onnx/") && buffer)
      visit((*buffer)->getBuffer());
}

/// The texts in `decline("…")` of the files of passes/, as far as they are written out there.
std::set<std::string> reasonsInSources() {
  std::set<std::string> reasons;
  forEachSourceOfPasses([&](StringRef source) {
    llvm::Regex pattern("decline\\(\"([^\"]*)\"");
    llvm::SmallVector<StringRef> found;
    for (StringRef rest = source; pattern.match(rest, &found); rest = rest.drop_front(found[0].end() - rest.begin()))
      reasons.insert(found[1].str());
  });
  return reasons;
}

struct Shown {
  std::set<std::string> fired, reasons;
};

Shown shownByGoldenCases() {
  Shown shown;
  for (const std::string &file : goldenFiles()) {
    auto buffer = llvm::MemoryBuffer::getFile(goldenFolder() + "/" + file + ".txt");
    for (const Case &item : buffer ? readCases((*buffer)->getBuffer()) : std::vector<Case>()) {
      auto pipeline = pipelineOf(item);
      PayloadStore store;
      auto model = parseText(item.input, goldenFolder(), store);
      if (!pipeline || !model) { // such a case shows an error
        llvm::consumeError(pipeline.takeError());
        llvm::consumeError(model.takeError());
        continue;
      }
      (*model)->becomeSource();
      std::vector<RuleStatistics> statistics;
      PipelineOptions options;
      options.statistics = &statistics;
      llvm::consumeError(runPipeline(**model, *pipeline, store, options));
      for (const RuleStatistics &row : statistics) {
        if (row.applied)
          shown.fired.insert((row.pass + " / " + row.rule).str());
        for (const auto &[reason, times] : row.declined)
          shown.reasons.insert(reason);
      }
    }
  }
  return shown;
}

TEST(RuleCoverage, GoldenCasesShowEachRuleAndEachReason) {
  Shown shown = shownByGoldenCases();
  size_t rules = 0;
  for (const Pass &pass : allPasses())
    for (const Rule &rule : pass.rules) {
      ++rules;
      std::string name = (pass.name + " / " + rule.name).str();
      EXPECT_TRUE(shown.fired.count(name)) << "no case of tests/golden has the rule " << name << " at work";
    }
  EXPECT_GT(rules, 25u);
  auto reasons = reasonsInSources();
  EXPECT_GT(reasons.size(), 30u);
  for (const std::string &reason : reasons)
    EXPECT_TRUE(llvm::any_of(shown.reasons, [&](StringRef seen) { return seen.contains(reason); }))
        << "no case of tests/golden shows a rule decline for \"" << reason << '"';
}

/// Rules are tried at fewer places where nobody asks why they do not apply; what they make is the same.
TEST(RuleCoverage, WhoWatchesSeesTheSame) {
  Pipeline every = Pipeline::o1();
  for (const Pass &pass : allPasses())
    if (!pass.changesResults)
      every.add(pass);
  unsigned changed = 0;
  for (const std::string &file : goldenFiles()) {
    auto buffer = llvm::MemoryBuffer::getFile(goldenFolder() + "/" + file + ".txt");
    for (const Case &item : buffer ? readCases((*buffer)->getBuffer()) : std::vector<Case>()) {
      PayloadStore store;
      auto made = [&](std::vector<RuleStatistics> *statistics) {
        auto model = parseText(item.input, goldenFolder(), store);
        if (!model) { // such a case shows an error
          llvm::consumeError(model.takeError());
          return std::string();
        }
        (*model)->becomeSource();
        PipelineOptions options;
        options.statistics = statistics;
        llvm::consumeError(runPipeline(**model, every, store, options));
        changed += (*model)->rewrites != 0;
        return printed(**model);
      };
      std::vector<RuleStatistics> statistics;
      EXPECT_EQ(made(nullptr), made(&statistics)) << file << '\n' << item.input;
    }
  }
  EXPECT_GT(changed, 1000u);
}

/// No flag of circle2circle that stands for passes is without effect: on some golden case it applies, by itself.
TEST(RuleCoverage, EachFlagAppliesAlone) {
  std::map<std::string, Pipeline> flags;
  for (const Pass &pass : allPasses())
    for (const PassFlag &flag : pass.flags)
      flags[flag.name.str()].add(pass, flag.scopes);
  std::set<std::string> idle;
  for (const auto &[flag, pipeline] : flags)
    idle.insert(flag);
  auto shares = [](const Pipeline &a, const Pipeline &b) {
    return llvm::any_of(a.entries, [&](const Pipeline::Entry &one) {
      return llvm::any_of(b.entries, [&](const Pipeline::Entry &other) { return one.pass == other.pass; });
    });
  };
  for (const std::string &file : goldenFiles()) {
    auto buffer = llvm::MemoryBuffer::getFile(goldenFolder() + "/" + file + ".txt");
    for (const Case &item : buffer ? readCases((*buffer)->getBuffer()) : std::vector<Case>()) {
      auto shown = pipelineOf(item);
      if (!shown) {
        llvm::consumeError(shown.takeError());
        continue;
      }
      for (const std::string &flag : std::vector<std::string>(idle.begin(), idle.end())) {
        const Pipeline &pipeline = flags[flag];
        PayloadStore store;
        auto model = shares(pipeline, *shown) ? parseText(item.input, goldenFolder(), store)
                                              : llvm::Expected<std::unique_ptr<Model>>(nullptr);
        if (!model || !*model) {
          llvm::consumeError(model.takeError());
          continue;
        }
        (*model)->becomeSource();
        PipelineOptions options;
        options.onRewrite = [&](const RewriteEvent &event) {
          if (event.rule != "unused") // that dead code goes is no sign of the flag
            idle.erase(flag);
        };
        llvm::consumeError(runPipeline(**model, pipeline, store, options));
      }
    }
  }
  EXPECT_GT(flags.size(), 70u);
  for (const std::string &flag : idle)
    ADD_FAILURE() << "--" << flag << " applies to no case of tests/golden";
}

/// A rule reads like its equation: with its conditions, half of them have at most twenty lines.
TEST(RuleCoverage, TheMedianRuleIsShort) {
  std::vector<size_t> lengths;
  forEachSourceOfPasses([&](StringRef source) {
    llvm::Regex begin("^(static )?Rule [A-Za-z]+\\(.*\\{$");
    size_t length = 0; // of the rule that the line is in
    for (StringRef line : llvm::split(source, '\n')) {
      length = length ? length + 1 : begin.match(line);
      if (length && line == "}") {
        lengths.push_back(length);
        length = 0;
      }
    }
  });
  ASSERT_GT(lengths.size(), 60u);
  std::nth_element(lengths.begin(), lengths.begin() + lengths.size() / 2, lengths.end());
  EXPECT_LE(lengths[lengths.size() / 2], 20u);
}

} // namespace
