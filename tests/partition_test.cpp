#include "ir/edit/Editor.h"
#include "passes/Pipeline.h"
#include "report/target/Partition.h"
#include "tests/Samples.h"

#include <gtest/gtest.h>

/// Parts of models: divided between back ends, selected by the user, resized.
using namespace origo;
using namespace origo::report;
using namespace origo::test;

namespace {

Target targetOf(llvm::StringRef text) { return llvm::cantFail(readTarget(text)); }

/// Data never flows back: what a region reads is made by an earlier one.
TEST(Partition, RegionsCanRunInOrder) {
  PayloadStore store;
  auto model = parseText(R"(origo 1
model circle version 0
subgraph @main(%x: f32[4], %z: f32[4]) -> (%d, %e, %n) {
  %a: f32[4] = RELU(%x)
  %b: f32[4] = EXP(%a)
  %c: f32[4] = RELU(%b)
  %d: f32[4] = ADD(%c, %a)
  %e: f32[4] = EXP(%z)
  %n: f32[4] = RELU(%z)
}
)",
                         "", store);
  ASSERT_TRUE(bool(model)) << llvm::toString(model.takeError());
  Target target = targetOf(R"({"target": "npu", "ops": {"RELU": {}, "ADD": {}}})");
  auto regions = partition(**model, target, "npu", "cpu");
  ASSERT_TRUE(bool(regions)) << llvm::toString(regions.takeError());
  std::vector<std::string> seen;
  for (const Region &region : *regions) {
    std::string text = region.backend + ":";
    for (const Operator *op : region.operators)
      text += " " + op->result()->name.str();
    seen.push_back(text);
  }
  EXPECT_EQ(seen, (std::vector<std::string>{"npu: a n", "cpu: b e", "npu: c d"}));
  std::vector<const Operator *> unnamed;
  EXPECT_EQ(partText(*regions, "npu", "cpu", unnamed),
            "[partition]\nbackends=cpu,npu\ndefault=cpu\ncomply=opname\n\n[OPNAME]\na=npu\nn=npu\nc=npu\nd=npu\n");
  EXPECT_TRUE(unnamed.empty());
}

std::string divided(const std::string &text, std::string *part = nullptr) {
  PayloadStore store;
  auto model = parseText("origo 1\nmodel circle version 0\n" + text, "", store);
  if (!model)
    return llvm::toString(model.takeError());
  auto regions = partition(
      **model, targetOf(R"({"target": "npu", "ops": {"RELU": {}, "IF": {}, "READ_VARIABLE": {}}})"), "npu", "cpu");
  if (!regions)
    return llvm::toString(regions.takeError());
  std::vector<const Operator *> unnamed;
  std::string said = partText(*regions, "npu", "cpu", unnamed), result;
  if (part)
    *part = said;
  for (const Region &region : *regions)
    result += region.backend + std::to_string(region.operators.size()) + " ";
  return result;
}

/// Three back ends as a .part file says, by kind and by name; what it does not name goes to the default.
TEST(Partition, PartFiles) {
  PayloadStore store;
  auto model = parseText(R"(origo 1
model circle version 0
subgraph @main(%x: f32[4]) -> (%d, %e) {
  %a: f32[4] = RELU(%x)
  %b: f32[4] = EXP(%a)
  %c: f32[4] = NEG(%b)
  %d: f32[4] = RELU(%c)
  %e: f32[4] = EXP(%x)
}
)",
                         "", store);
  ASSERT_TRUE(bool(model)) << llvm::toString(model.takeError());
  auto divided = [&](const std::string &text) {
    auto part = readPart(text);
    if (!part)
      return llvm::toString(part.takeError());
    std::vector<std::string> unused;
    auto regions = partition(**model, *part, unused);
    if (!regions)
      return llvm::toString(regions.takeError());
    std::string said;
    for (const Region &region : *regions) {
      said += region.backend + ":";
      for (const Operator *op : region.operators)
        said += " " + op->result()->name.str();
      said += "; ";
    }
    for (const std::string &name : unused)
      said += "unused " + name;
    return said;
  };
  const std::string head = "# made by hand\n[partition]\nbackends=cpu, npu,dsp\ndefault=cpu\n";
  EXPECT_EQ(divided(head + "comply=opcode\n[OPCODE]\nEXP=npu\nRELU = dsp\nADD=npu\n[OPNAME]\nd=npu\n"),
            "npu: e; dsp: a; npu: b; cpu: c; dsp: d; unused ADD");
  EXPECT_EQ(divided(head + "comply=opname\n[OPCODE]\nEXP=npu\n[OPNAME]\nd=npu\n"), "cpu: a b c e; npu: d; ");
  EXPECT_EQ(divided("[partition]\nbackends=cpu,npu\n[OPCODE]\nEXP=gpu\n"),
            "\"gpu\" is not among the back ends cpu,npu");
  EXPECT_EQ(divided("[partition]\nbackends=cpu\ndefault=gpu\n"), "\"gpu\" is not among the back ends cpu");
  EXPECT_EQ(divided("[partition]\n"), "no back ends are named: backends=cpu,npu");
  EXPECT_EQ(divided("[OPCODE]\nEXP=npu\n"), "line 1: [partition] is expected, and behind it [OPCODE] and [OPNAME]");
  EXPECT_EQ(divided("[partition]\ncomply=fate\n"),
            "line 2: [partition] has backends, default and comply, which is opcode or opname");
  EXPECT_EQ(divided(head + "[OPCODE]\nEXP=npu\nEXP=cpu\n"), "line 7: \"EXP\" stands here a second time");
  EXPECT_EQ(divided(head + "[OPCODE]\nEXP\n"), "line 6: a section is expected, and in it key=value");
}

/// A call goes where all that it calls can go.
TEST(Partition, CallsAreTakenWithWhatTheyCall) {
  auto call = [](const std::string &inner) {
    return divided("subgraph @main(%b: bool[], %x: f32[4]) -> (%y) {\n"
                   "  %y: f32[4] = IF(%b, %x) {then_subgraph_index=@f, else_subgraph_index=@f}\n}\n"
                   "subgraph @f(%x: f32[4]) -> (%y) {\n  %y: f32[4] = " +
                   inner + "(%x)\n}\n");
  };
  EXPECT_EQ(call("RELU"), "npu1 ");
  EXPECT_EQ(call("EXP"), "cpu1 ");
}

TEST(Partition, StateIsNotDivided) {
  std::string said = divided("subgraph @main(%x: f32[4]) -> (%y) {\n"
                             "  %r: resource[1] = VAR_HANDLE() {shared_name=\"s\"}\n"
                             "  %y: f32[4] = READ_VARIABLE(%r)\n}\n");
  EXPECT_NE(said.find("shares state with operator 0 (VAR_HANDLE)"), std::string::npos) << said;
  said = divided("subgraph @main(%x: f32[4]) -> (%y, %z) {\n  %v: f32[4] variable\n"
                 "  %y: f32[4] = RELU(%v)\n  %z: f32[4] = EXP(%v)\n}\n");
  EXPECT_NE(said.find("shares state with operator 1 (EXP)"), std::string::npos) << said;
}

/// Where names do not tell operators apart, or an INI file cannot say them, only the parts themselves do.
TEST(Partition, NamesThatSayNothingAreLeftOut) {
  std::string part;
  divided("subgraph @main(%x: f32[4]) -> (%a, %b, %c, %d) {\n  %a: f32[4] name \"two\" = RELU(%x)\n"
          "  %b: f32[4] name \"two\" = RELU(%x)\n  %c: f32[4] name \"k=v\" = RELU(%x)\n  %d: f32[4] = RELU(%x)\n}\n",
          &part);
  EXPECT_NE(part.find("[OPNAME]\nd=npu\n"), std::string::npos) << part;
}

TEST(Partition, PartsAreNotWithoutEnd) {
  std::string text = "origo 1\nmodel circle version 0\nsubgraph @main(%t0: f32[4]) -> (%t1001) {\n";
  for (int i = 0; i < 1001; ++i)
    text +=
        "  %t" + std::to_string(i + 1) + ": f32[4] = " + (i % 2 ? "EXP" : "RELU") + "(%t" + std::to_string(i) + ")\n";
  PayloadStore store;
  auto model = parseText(text + "}\n", "", store);
  ASSERT_TRUE(bool(model)) << llvm::toString(model.takeError());
  auto regions = partition(**model, targetOf(R"({"target": "npu", "ops": {"RELU": {}}})"), "npu", "cpu");
  ASSERT_FALSE(bool(regions));
  EXPECT_NE(llvm::toString(regions.takeError()).find("there would be 1001 parts"), std::string::npos);
}

/// Chain of four with a branch, as a file that is its own source.
const char *const chain = R"(origo 1
model circle version 0
subgraph @main(%x: f32[1,4]) -> (%d) {
  %a: f32[1,4] = RELU(%x)
  %w: f32[1,4] = const [1, 2, 3, 4]
  %b: f32[1,4] = MUL(%a, %w)
  %c: f32[1,4] = EXP(%b)
  %d: f32[1,4] = ADD(%c, %a)
}
)";

std::string afterwards(Imported &imported) {
  auto map = originMapOf(*imported.model, imported.lineage, Format::Circle);
  if (!map)
    return llvm::toString(map.takeError());
  std::string text;
  for (auto &graph : map->target.subgraphs) {
    for (auto &op : graph.operators) {
      text += op.op.str();
      for (uint32_t id : op.origins)
        text += " " + std::to_string(id);
      text += "\n";
    }
    for (auto &tensor : graph.tensors) {
      text += tensor.name + ":";
      for (auto &relation : tensor.relations)
        text += " " + std::to_string(relation.tensor);
      text += tensor.relations.empty() ? " " + tensor.reason.str() + "\n" : "\n";
    }
  }
  for (auto &row : map->ledger)
    text += (row.isTensor ? "tensor " : "operator ") + std::to_string(row.id) + " " + row.fate.str() +
            (row.partFile.empty() ? "" : " " + row.partFile.str()) + "\n";
  return text;
}

class Surgery : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_TRUE(writeAsFile(chain, scratch.at(""), path));
    llvm::Expected<Imported> read = importModel(path);
    ASSERT_TRUE(bool(read)) << llvm::toString(read.takeError());
    imported = std::move(*read);
    for (Operator &op : imported.model->subgraphs[0]->operators)
      ops.push_back(&op);
    ASSERT_EQ(ops.size(), 4u);
  }
  Scratch scratch;
  std::string path = scratch.at("chain.circle");
  Imported imported;
  std::vector<Operator *> ops;
  PayloadStore store;
  std::vector<int32_t> producers{-1, 0, -1, 1, 2, 3}; ///< of x a w b c d
};

TEST_F(Surgery, WhatTheUserLeftOutIsHisDoing) {
  auto nowhere = [](const Operator *, const Subgraph &) -> const Part * { return nullptr; };
  Editor rewriter(*imported.model);
  ASSERT_FALSE(rewriter.keepOnly("select", {ops[1], ops[2]}, nowhere, producers));
  EXPECT_EQ(afterwards(imported), "MUL 1\nEXP 2\n"
                                  "a: new-intermediate\nw: 2\nb: 3\nc: 4\n"
                                  "operator 0 user-removed\noperator 3 user-removed\n"
                                  "tensor 0 user-removed\ntensor 1 user-removed\ntensor 5 user-removed\n");
}

TEST_F(Surgery, WhatIsInAnotherPartIsThere) {
  const Part other{"other.circle", "sha256:00"};
  auto there = [&](const Operator *, const Subgraph &) { return &other; };
  Editor rewriter(*imported.model);
  ASSERT_FALSE(rewriter.keepOnly("partition", {ops[1], ops[2]}, there, producers));
  EXPECT_EQ(afterwards(imported), "MUL 1\nEXP 2\n"
                                  "a: 1\nw: 2\nb: 3\nc: 4\n"
                                  "operator 0 elsewhere other.circle\noperator 3 elsewhere other.circle\n"
                                  "tensor 0 elsewhere other.circle\ntensor 5 elsewhere other.circle\n");
}

/// An inlined call is where what it became is: its result is no longer made here, either.
TEST_F(Surgery, WhatACallBecameIsLeftOutWithIt) {
  ASSERT_TRUE(writeAsFile(R"(origo 1
model circle version 0
subgraph @main(%x: f32[1,4]) -> (%y) {
  %a: f32[1,4] = CALL(%x) {subgraph=@body}
  %y: f32[1,4] = EXP(%a)
}
subgraph @body(%p: f32[1,4]) -> (%s) {
  %s: f32[1,4] = ABS(%p)
}
)",
                          scratch.at(""), path));
  llvm::Expected<Imported> read = importModel(path);
  ASSERT_TRUE(bool(read)) << llvm::toString(read.takeError());
  imported = std::move(*read);
  ASSERT_FALSE(bool(runPipeline(*imported.model, Pipeline::o1(), store)));
  auto &operators = imported.model->subgraphs[0]->operators;
  ASSERT_EQ(afterwards(imported).rfind("ABS 2\nEXP 1\n", 0), 0u) << afterwards(imported);
  Operator *last = nullptr;
  for (Operator &op : operators)
    last = &op;
  Editor rewriter(*imported.model);
  auto nowhere = [](const Operator *, const Subgraph &) -> const Part * { return nullptr; };
  ASSERT_FALSE(rewriter.keepOnly("select", {last}, nowhere, {-1, 0, 1, -1, 2}));
  EXPECT_EQ(afterwards(imported), "EXP 1\na: new-intermediate\ny: 2\n"
                                  "operator 0 user-removed\noperator 2 user-removed\n"
                                  "tensor 0 user-removed\ntensor 1 user-removed\ntensor 3 user-removed\n"
                                  "tensor 4 user-removed\n");
}

TEST_F(Surgery, AnotherShapeIsAnotherTensor) {
  Editor rewriter(*imported.model);
  ASSERT_FALSE(rewriter.resizeInputs({{3, 4}}));
  EXPECT_EQ(afterwards(imported), "RELU 0\nMUL 1\nEXP 2\nADD 3\n"
                                  "x: new-intermediate\na: new-intermediate\nw: 2\nb: new-intermediate\n"
                                  "c: new-intermediate\nd: new-intermediate\n"
                                  "tensor 0 user-removed\ntensor 1 user-removed\ntensor 3 user-removed\n"
                                  "tensor 4 user-removed\ntensor 5 user-removed\n");
  EXPECT_EQ(imported.model->subgraphs[0]->outputs[0]->shape, (llvm::SmallVector<int32_t, 4>{3, 4}));
  EXPECT_EQ(llvm::toString(rewriter.resizeInputs({})), "there are 0 shapes for 1 inputs");
  EXPECT_TRUE(llvm::errorToBool(rewriter.resizeInputs({{2, 3}}))) << "[2,3] and [1,4] do not broadcast";
}

TEST(Resize, ReachesWhatIsCalled) {
  PayloadStore store;
  auto resized = [&](const char *condition) -> std::string {
    auto model = parseText(std::string(R"(origo 1
model circle version 0
subgraph @main(%x: f32[1], %n: i32[1], %b: bool[]) -> (%y) {
  %z: f32[1], %m: i32[1] = WHILE(%x, %n) {cond_subgraph_index=@more, body_subgraph_index=@step}
  %y: f32[1] = IF(%b, %z) {then_subgraph_index=@twice, else_subgraph_index=@once}
}
subgraph @more(%x: f32[1], %n: i32[1]) -> (%c) {
  %k: i32[1] = const [3]
  %l: f32[1] = const [3]
  %c: bool[1] = LESS()") + condition +
                               R"()
}
subgraph @step(%x: f32[1], %n: i32[1]) -> (%p, %m) {
  %p: f32[1] = ADD(%x, %x)
  %m: i32[1] = ADD(%n, %n)
}
subgraph @twice(%x: f32[1]) -> (%y) {
  %y: f32[1] = MUL(%x, %x)
}
subgraph @once(%x: f32[1]) -> (%y) {
  %y: f32[1] = ABS(%x)
}
)",
                           "", store);
    if (!model)
      return llvm::toString(model.takeError());
    if (llvm::Error error = Editor(**model).resizeInputs({{5}, {1}, {}}))
      return llvm::toString(std::move(error));
    std::string shapes;
    for (auto &graph : (*model)->subgraphs)
      for (const Value *value : graph->outputs)
        shapes += (value->shape.empty() ? "" : std::to_string(value->shape[0])) + " ";
    return shapes;
  };
  EXPECT_EQ(resized("%n, %k"), "5 1 5 1 5 5 "); // main; more; step; twice; once
  auto twice = parseText(R"(origo 1
model circle version 0
subgraph @main(%b: bool[], %x: f32[1], %z: f32[1]) -> (%p, %q) {
  %p: f32[1] = IF(%b, %x) {then_subgraph_index=@f, else_subgraph_index=@f}
  %q: f32[1] = IF(%b, %z) {then_subgraph_index=@f, else_subgraph_index=@f}
}
subgraph @f(%x: f32[1]) -> (%y) {
  %y: f32[1] = ABS(%x)
}
)",
                         "", store);
  ASSERT_TRUE(bool(twice)) << llvm::toString(twice.takeError());
  EXPECT_NE(llvm::toString(Editor(**twice).resizeInputs({{}, {2}, {3}})).find("called with another shape"),
            std::string::npos);
  EXPECT_NE(resized("%x, %l").find("its condition would not be a single truth value"), std::string::npos)
      << resized("%x, %l");
}

} // namespace
