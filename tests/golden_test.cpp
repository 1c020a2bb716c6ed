#include "ir/Verifier.h"
#include "tests/GoldenCases.h"
#include "tests/Numerics.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"

#include "gtest/gtest.h"

#include <cstdlib>

/// Text in, passes, text out: the cases of GoldenCases.h, which are also executed before and after. With ORIGO_BLESS=1
/// in the environment their files are rewritten with what comes out.

using namespace origo;
using namespace origo::test;
using llvm::StringRef;

namespace {

std::string writeCases(llvm::ArrayRef<Case> cases) {
  std::string text;
  for (const Case &item : cases)
    text += (text.empty() ? "" : "-----\n") + item.run + "\n" + item.input + "=>\n" + item.expected;
  return text;
}

void expectSound(Model &model, StringRef when) {
  for (const std::string &violation : verify(model))
    ADD_FAILURE() << when.str() << ": " << violation;
}

llvm::Expected<std::string> runCase(const Case &item) {
  llvm::Expected<Pipeline> pipeline = pipelineOf(item);
  if (!pipeline)
    return pipeline.takeError();
  PayloadStore store;
  llvm::Expected<std::unique_ptr<Model>> model = parseText(item.input, goldenFolder(), store);
  if (!model)
    return model.takeError();
  (*model)->becomeSource();
  expectSound(**model, "before the passes");
  PipelineOptions run;
  run.verifyEach = true;
  if (llvm::Error error = runPipeline(**model, *pipeline, store, run))
    return llvm::Expected<std::string>(std::move(error));
  expectSound(**model, "after the passes");
  llvm::Expected<std::unique_ptr<Model>> before = parseText(item.input, goldenFolder(), store);
  if (!before)
    return before.takeError();
  (*before)->becomeSource();
  dropCodeOutputs(**before, *pipeline);
  NumericTally tally;
  if (!changesNumbers(*pipeline))
    expectSameNumbers(**before, **model, tally);
  StringRef why = tally.unexecuted.empty() ? StringRef() : StringRef(tally.unexecuted.begin()->first);
  why.consume_front("before: ");
  EXPECT_EQ(why.str(), notExecuted(item)) << "a case is executed, or says why not: // NOT EXECUTED: " << why.str();

  std::string text = printed(**model);
  // What is shown is a model again.
  llvm::Expected<std::unique_ptr<Model>> back = parseText(text, goldenFolder(), store);
  if (!back)
    return back.takeError();
  llvm::raw_string_ostream os(text);
  printLedger(**model, os);
  return text;
}

/// The differing lines with some around them, marked as `diff -u` does.
std::string unifiedDiff(StringRef expected, StringRef actual) {
  llvm::SmallVector<StringRef> a, b;
  expected.split(a, '\n');
  actual.split(b, '\n');
  std::vector<std::vector<unsigned>> common(a.size() + 1, std::vector<unsigned>(b.size() + 1));
  for (size_t i = a.size(); i-- > 0;)
    for (size_t j = b.size(); j-- > 0;)
      common[i][j] = a[i] == b[j] ? common[i + 1][j + 1] + 1 : std::max(common[i + 1][j], common[i][j + 1]);
  std::vector<std::string> marked;
  for (size_t i = 0, j = 0; i < a.size() || j < b.size();) {
    if (i < a.size() && j < b.size() && a[i] == b[j])
      marked.push_back(" " + a[i++].str()), ++j;
    else if (i < a.size() && (j == b.size() || common[i + 1][j] >= common[i][j + 1]))
      marked.push_back("-" + a[i++].str());
    else
      marked.push_back("+" + b[j++].str());
  }
  std::string text;
  bool gap = false;
  for (size_t i = 0; i < marked.size(); ++i) {
    bool near = false;
    for (size_t k = i < 3 ? 0 : i - 3; k < std::min(marked.size(), i + 4); ++k)
      near |= marked[k][0] != ' ';
    if (near)
      text += (gap ? "@@\n" : "") + marked[i] + "\n";
    gap = !near;
  }
  return text;
}

class Golden : public testing::TestWithParam<std::string> {};

TEST_P(Golden, Cases) {
  std::string path = goldenFolder() + "/" + GetParam() + ".txt";
  auto buffer = llvm::MemoryBuffer::getFile(path);
  ASSERT_TRUE(bool(buffer)) << path;
  std::vector<Case> cases = readCases((*buffer)->getBuffer());
  ASSERT_GT(cases.size(), 0u);
  const char *bless = std::getenv("ORIGO_BLESS");
  for (auto [i, item] : llvm::enumerate(cases)) {
    SCOPED_TRACE("case " + std::to_string(i + 1) + " of " + path + "\n" + item.run);
    llvm::Expected<std::string> actual = runCase(item);
    std::string text = actual ? *actual : "error: " + llvm::toString(actual.takeError()) + "\n";
    if (bless)
      item.expected = text;
    else if (text != item.expected)
      ADD_FAILURE() << unifiedDiff(item.expected, text) << "If this is right: ORIGO_BLESS=1 origo_tests --gtest_filter="
                    << testing::UnitTest::GetInstance()->current_test_suite()->name() << "."
                    << testing::UnitTest::GetInstance()->current_test_info()->name();
  }
  if (bless) {
    std::error_code ec;
    llvm::raw_fd_ostream os(path, ec);
    ASSERT_FALSE(ec) << ec.message();
    os << writeCases(cases);
  }
}

unsigned operatorsOf(const Model &model) {
  unsigned count = 0;
  for (const auto &graph : model.subgraphs)
    for ([[maybe_unused]] const Operator &op : graph->operators)
      ++count;
  return count;
}

/// What a pass of -O1 shows alone, no other one of them takes away: the case comes out of all of -O1 at least as small.
/// One that is no model which others could be tried on has a line `// ALONE: ` with the reason.
TEST_P(Golden, CasesAreAsSmallWithAllOfO1) {
  auto buffer = llvm::MemoryBuffer::getFile(goldenFolder() + "/" + GetParam() + ".txt");
  ASSERT_TRUE(bool(buffer));
  for (auto [i, item] : llvm::enumerate(readCases((*buffer)->getBuffer()))) {
    SCOPED_TRACE("case " + std::to_string(i + 1) + " of " + GetParam() + "\n" + item.run + "\n" + item.input);
    llvm::Expected<Pipeline> alone = pipelineOf(item);
    if (!alone || StringRef(item.input).contains("// ALONE: ") ||
        StringRef(notExecuted(item)).contains("states another shape") || alone->plan || alone->turnsInputs ||
        alone->turnsOutputs ||
        llvm::any_of(alone->entries, [](const Pipeline::Entry &entry) { return !entry.pass->inO1; })) {
      llvm::consumeError(alone.takeError());
      continue;
    }
    PayloadStore store;
    // As it is, with the passes of the case, with -O1, and with that where equal operators stay apart: what a case has
    // twice for brevity has several users when it is one.
    std::unique_ptr<Model> models[4];
    Pipeline apart = Pipeline::o1();
    apart.remove("common-subexpressions");
    bool read = true;
    for (std::unique_ptr<Model> &model : models) {
      auto parsed = parseText(item.input, goldenFolder(), store);
      read &= bool(parsed);
      if (!parsed) {
        llvm::consumeError(parsed.takeError());
        continue;
      }
      model = std::move(*parsed);
      model->becomeSource();
    }
    if (!read)
      continue;
    PipelineOptions run;
    run.verifyEach = true;
    llvm::consumeError(runPipeline(*models[1], *alone, store, run));
    llvm::Error error = runPipeline(*models[2], Pipeline::o1(), store, run);
    EXPECT_FALSE(bool(error)) << llvm::toString(std::move(error));
    llvm::consumeError(runPipeline(*models[3], apart, store, run));
    EXPECT_LE(std::min(operatorsOf(*models[2]), operatorsOf(*models[3])), operatorsOf(*models[1]));
    NumericTally tally;
    expectSameNumbers(*models[0], *models[2], tally);
  }
}

INSTANTIATE_TEST_SUITE_P(Files, Golden, testing::ValuesIn(goldenFiles()), [](const auto &info) {
  std::string name = info.param;
  for (char &c : name)
    if (!llvm::isAlnum(c))
      c = '_';
  return name;
});

TEST(GoldenFiles, AreThere) { EXPECT_GE(goldenFiles().size(), 3u); }

TEST(GoldenFiles, DiffShowsWhatDiffers) {
  EXPECT_EQ(unifiedDiff("a\nb\nc\n", "a\nx\nc\n"), " a\n-b\n+x\n c\n \n");
  std::vector<Case> cases = readCases("// RUN: -O1\nx\n=>\ny\n-----\n// RUN: a\n\nz\n=>\n");
  ASSERT_EQ(cases.size(), 2u);
  EXPECT_EQ(cases[0].run, "// RUN: -O1");
  EXPECT_EQ(cases[0].input, "x\n");
  EXPECT_EQ(cases[0].expected, "y\n");
  EXPECT_EQ(cases[1].input, "z\n");
  EXPECT_EQ(cases[1].expected, "");
}

} // namespace
