#include "RealModels.h"
#include "SmallGraph.h"

#include "import/Import.h"
#include "ir/Verifier.h"

#include "gtest/gtest.h"

using namespace origo;
using namespace origo::test;
using Op = BuiltinOperator;

namespace {

/// y = relu(x + c), with a signature.
struct VerifierTest : testing::Test {
  SmallGraph g;
  Value *x = g.tensor({2, 3}), *c = g.constant<float>(TensorType::FLOAT32, {3}, {1, 2, 3});
  Value *sum = g.tensor({2, 3}), *y = g.tensor({2, 3});
  Operator *add = &g.model.addOperator(g.graph, Op::ADD, {x, c}, {sum});
  Operator *relu = &g.model.addOperator(g.graph, Op::RELU, {sum}, {y});

  VerifierTest() {
    g.model.setInputs(g.graph, {x});
    g.model.setOutputs(g.graph, {y});
    Signature signature;
    signature.subgraph = &g.graph;
    signature.inputs.push_back({"x", x});
    g.model.addSignature(std::move(signature));
    g.model.becomeSource();
  }

  bool finds(llvm::StringRef text, bool strict = true) {
    for (const std::string &line : verify(g.model, strict))
      if (llvm::StringRef(line).contains(text))
        return true;
    return false;
  }
  std::string all() {
    std::string text;
    for (const std::string &line : verify(g.model, true))
      text += line + "\n";
    return text;
  }
};

TEST_F(VerifierTest, AcceptsAGoodModel) { EXPECT_EQ(all(), ""); }

TEST_F(VerifierTest, Rows) {
  g.model.addOperator(g.graph, Op::RELU, {x, c}, {g.tensor({2, 3})});
  EXPECT_TRUE(finds("(RELU): has 2 operands"));
  g.model.addOperator(g.graph, Op::ADD, {x, c}, {g.tensor({2, 3}), g.tensor({2, 3})});
  EXPECT_TRUE(finds("(ADD): has 2 results"));
  g.model.addOperator(g.graph, Op::ADD, {x, nullptr}, {g.tensor({2, 3})});
  EXPECT_TRUE(finds("lacks its operand y"));
  add->options.member = static_cast<uint8_t>(circle::BuiltinOptions::MulOptions);
  EXPECT_TRUE(finds("has the options of another operator"));
}

TEST_F(VerifierTest, OptionsMayBeAbsent) {
  add->options.member = static_cast<uint8_t>(circle::BuiltinOptions::AddOptions);
  EXPECT_EQ(all(), "");
}

TEST_F(VerifierTest, MissingSubgraph) {
  Operator &op = g.op(Op::IF, {g.tensor({}, TensorType::BOOL)});
  g.with(op, [](flatbuffers::FlatBufferBuilder &b) { return circle::CreateIfOptions(b, 0, 9); });
  EXPECT_TRUE(finds("calls a subgraph that is not there"));
}

TEST_F(VerifierTest, Order) {
  g.graph.operators.remove(*add);
  g.graph.operators.push_back(*add);
  EXPECT_TRUE(finds("before it is computed"));
}

TEST_F(VerifierTest, Loop) {
  Value *a = g.tensor({2}), *b = g.tensor({2});
  g.model.addOperator(g.graph, Op::NEG, {a}, {b});
  g.model.addOperator(g.graph, Op::NEG, {b}, {a});
  EXPECT_TRUE(finds("before it is computed"));
}

TEST_F(VerifierTest, OperandOfAnotherSubgraph) {
  Subgraph &other = g.model.addSubgraph();
  g.model.addOperator(other, Op::NEG, {x}, {});
  EXPECT_TRUE(finds("refers to a tensor of another subgraph"));
}

TEST_F(VerifierTest, UnlistedTensor) {
  llvm::erase(g.graph.values, sum);
  EXPECT_TRUE(finds("does not list"));
}

TEST_F(VerifierTest, RemovedOperator) {
  // Taken out of the list, but its operand still counts it and its result still names it.
  g.graph.operators.remove(*add);
  EXPECT_TRUE(finds("in its book-keeping"));
  EXPECT_TRUE(finds("source operator 0 is neither live nor in the ledger"));
}

TEST_F(VerifierTest, UseCounts) {
  ++c->otherUses;
  EXPECT_TRUE(finds("has 1 other uses in its book-keeping, really 0"));
  --c->otherUses;
  ++y->graphOutputs;
  EXPECT_TRUE(finds("has 2 uses as a graph output"));
  --y->graphOutputs;
  x->signatureUses = 0;
  EXPECT_TRUE(finds("has 0 uses in signatures"));
}

TEST_F(VerifierTest, Intermediates) {
  Value *scratch = g.tensor({2});
  g.model.setIntermediates(*add, {scratch});
  g.model.becomeSource();
  EXPECT_EQ(all(), "");
  --scratch->otherUses;
  EXPECT_TRUE(finds("other uses"));
}

TEST_F(VerifierTest, Interface) {
  x->isGraphInput = false;
  EXPECT_TRUE(finds("is a graph input and does not know it"));
  x->isGraphInput = true;
  sum->isGraphInput = true;
  EXPECT_TRUE(finds("says it is a graph input and is none"));
  EXPECT_TRUE(finds("is a graph input and has a producer"));
}

TEST_F(VerifierTest, ForeignOutput) {
  Subgraph &other = g.model.addSubgraph();
  other.outputs.push_back(x);
  EXPECT_TRUE(finds("has an output that is not a live tensor of it"));
}

TEST_F(VerifierTest, SignatureOfAnotherSubgraph) {
  g.model.signatures[0].subgraph = &g.model.addSubgraph();
  EXPECT_TRUE(finds("names a tensor that its subgraph does not have"));
}

TEST_F(VerifierTest, Types) {
  y->type = TensorType::INT8;
  EXPECT_TRUE(finds("result 0 is INT8 but should be FLOAT32"));
  y->type = TensorType::FLOAT32;
  y->shape = {3, 2};
  EXPECT_TRUE(finds("result 0 is of shape [3, 2] but should be [2, 3]"));
  y->shape = {2};
  EXPECT_TRUE(finds("result 0 is of shape [2] but should be [2, 3]"));
  y->shape = {2, -1};
  EXPECT_EQ(all(), "");
  sum->shape = y->shape = {4, 3};
  c->shape = {1, 1};
  EXPECT_TRUE(finds("is a constant of 12 bytes where its shape needs 4"));
}

TEST_F(VerifierTest, WhatTheFileSaysIsHeldAgainstPassesOnly) {
  y->shape = {3, 2};
  EXPECT_FALSE(finds("should be", /*strict=*/false));
  g.model.rewrites = 1;
  EXPECT_FALSE(finds("should be", /*strict=*/false));
  relu->passes = g.model.passLists.add(0, "some-pass");
  EXPECT_TRUE(finds("should be", /*strict=*/false));
  relu->passes = 0;
  sum->relations.push_back({0, 0, true}); // another tensor's place was taken
  EXPECT_TRUE(finds("should be", /*strict=*/false));
}

TEST_F(VerifierTest, Quantization) {
  const float scales[] = {1, 2};
  const int64_t zeros[] = {0, 0, 0};
  Quantization q;
  q.scale = g.model.copy(llvm::ArrayRef(scales));
  q.zeroPoint = g.model.copy(llvm::ArrayRef(zeros));
  g.model.setQuantization(*c, q);
  EXPECT_TRUE(finds("has 3 zero points for 2 scales"));
  EXPECT_TRUE(finds("has 2 scales for a dimension of 3"));
  q.dimension = 5;
  g.model.setQuantization(*c, q);
  EXPECT_TRUE(finds("is quantized along dimension 5"));
}

TEST_F(VerifierTest, Origins) {
  add->origins = {};
  EXPECT_TRUE(finds("has no origins and is not synthetic"));
  EXPECT_TRUE(finds("source operator 0 is neither live nor in the ledger"));
  add->synthetic = g.model.create(Synthetic{"type-bridge", g.model.sets.single(0)});
  EXPECT_FALSE(finds("has no origins"));
  add->origins = g.model.sets.single(0);
  EXPECT_TRUE(finds("has origins and is synthetic"));
  add->synthetic = g.model.create(Synthetic{"because", {}});
  EXPECT_TRUE(finds("for an unknown reason"));
  EXPECT_TRUE(finds("serves nothing"));
  add->synthetic = nullptr;
  relu->origins = g.model.sets.of({1, 2});
  EXPECT_TRUE(finds("has an origin that is no source operator"));
}

TEST_F(VerifierTest, Relations) {
  sum->relations = {};
  EXPECT_TRUE(finds("has no relation to a source tensor and no reason for that"));
  EXPECT_TRUE(finds("source tensor 2 is neither live nor in the ledger"));
  sum->noRelation = NoRelation::Approximated;
  Tombstone stone{};
  stone.ofTensors = true;
  stone.fate = Fate::FusedAway;
  stone.ids = g.model.sets.single(2);
  g.model.tombstones.push_back(stone);
  EXPECT_EQ(all(), "");
  sum->relations = {Relation{99, 0, true}};
  EXPECT_TRUE(finds("is related to what is no source tensor"));
  sum->relations = {};
  c->sourceTensors = {};
  EXPECT_TRUE(finds("computed from nothing and not invented"));
  c->sourceTensors = g.model.sets.single(77);
  EXPECT_TRUE(finds("was computed from what the source does not have"));
}

TEST_F(VerifierTest, ManyViolations) {
  for (int i = 0; i < 5000; ++i)
    g.tensor({1});
  std::vector<std::string> violations = verify(g.model);
  ASSERT_EQ(violations.size(), 1001u);
  EXPECT_EQ(violations.back(), "and 4000 more");
}

void modelsAreCleanAfterImport(const ModelFolder &folder, size_t least) {
  size_t models = 0;
  for (const std::string &file : folder.all()) {
    auto imported = importModel(file);
    if (!imported) {
      llvm::consumeError(imported.takeError());
      continue;
    }
    ++models;
    for (uint32_t rewrites : {0, 1}) { // as if a pass had changed something elsewhere
      imported->model->rewrites = rewrites;
      std::vector<std::string> violations = verify(*imported->model);
      EXPECT_TRUE(violations.empty()) << file << ": " << violations.front();
    }
  }
  EXPECT_GE(models, least);
}

TEST(Verifier, ModelsAreCleanAfterImport) { modelsAreCleanAfterImport(ownNetworks(), 900); }
TEST(VerifierPublicModels, AreCleanAfterImport) { modelsAreCleanAfterImport(publicModels(), 650); }

} // namespace
