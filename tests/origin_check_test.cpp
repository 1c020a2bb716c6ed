#include "tests/MapCases.h"

/// The checker is itself checked: it must accept true maps, and refuse others.
using namespace origo;
using namespace origo::mapcases;
using namespace origo::origin;

TEST(OriginCheck, AcceptsTrueMaps) {
  EXPECT_EQ(words(optimised().violations()), "");
  EXPECT_EQ(words(untouched({sourceGraph()}).violations()), "");
}

TEST(OriginCheck, ChecksWithoutTheSourceWhatItCan) {
  Case c = optimised();
  std::vector<std::string> skipped;
  EXPECT_TRUE(check(c.map, c.target.view(), nullptr, skipped).empty());
  EXPECT_FALSE(skipped.empty());
  std::swap(c.op(0).origins, c.op(1).origins);
  EXPECT_FALSE(check(c.map, c.target.view(), nullptr, skipped).empty());
}

TEST(OriginCheck, RefusesWrongTypes) {
  Case c = optimised();
  c.tensor(6).relations = {same(Y)}; // dequantised it is FLOAT32, as y is
  EXPECT_EQ(words(c.violations()), "");

  Graph source{{{"x", {4}}, {"y", {4}, {}, TensorType::INT32}}, {{BuiltinOperator::CAST, {0}, {1}}}, {0}, {1}};
  Case cast = untouched({source});
  cast.tensor(1).relations.push_back(same(0, {step(MapStep::Cast)}));
  EXPECT_EQ(words(cast.violations()), "");
  cast.tensor(1).relations.back().steps = std::vector<MapStep>{step(MapStep::Reshape)};
  auto violations = cast.violations();
  ASSERT_EQ(violations.size(), 1u) << words(violations);
  EXPECT_EQ(violations[0].law, 8);
}

/// y = neg(exp(x)), and exp(x) is a result too. Where neg reads x, all that the other laws ask for is there.
TEST(OriginCheck, NeighboursKeepTheirOrder) {
  for (bool lies : {false, true})
    for (uint32_t laws : {0u, 13u}) { // which whoever writes the map may write, too
      Graph source{{{"x", {4}}, {"e", {4}}, {"y", {4}}},
                   {{BuiltinOperator::EXP, {0}, {1}}, {BuiltinOperator::NEG, {1}, {2}}},
                   {0},
                   {1, 2}};
      Graph target = source;
      target.operators[1].inputs = {lies ? 0 : 1};
      Case c({source}, {target});
      for (uint32_t op : {0, 1})
        c.op(op).origins = {op};
      for (uint32_t tensor : {0, 1, 2})
        c.tensor(tensor).relations = {same(tensor)};
      c.map.target.laws = laws;
      auto violations = c.violations();
      ASSERT_EQ(violations.size(), lies ? 1u : 0u) << words(violations);
      if (!violations.empty()) {
        EXPECT_EQ(violations[0].law, 11);
      }
    }
}

/// Two that changed places say so, and nobody else does.
TEST(OriginCheck, WhatChangedPlacesSaysSo) {
  // TRANSPOSE, RELU, EXP became RELU, TRANSPOSE, EXP.
  Graph source{
      {{"x", {4, 1}}, {"t", {1, 4}}, {"r", {1, 4}}, {"y", {1, 4}}, {"p", {2}, {1, 0}, TensorType::INT32}},
      {{BuiltinOperator::TRANSPOSE, {0, 4}, {1}}, {BuiltinOperator::RELU, {1}, {2}}, {BuiltinOperator::EXP, {2}, {3}}},
      {0},
      {3}};
  Graph target = source;
  target.tensors[1].shape = {4, 1};
  target.operators = {
      {BuiltinOperator::RELU, {0}, {1}}, {BuiltinOperator::TRANSPOSE, {1, 4}, {2}}, {BuiltinOperator::EXP, {2}, {3}}};
  auto lawsBroken = [&](uint32_t laws, std::array<std::vector<uint32_t>, 3> movedPast) {
    Case c({source}, {target});
    for (auto [op, origin] : {std::pair(0, 1u), std::pair(1, 0u), std::pair(2, 2u)}) {
      c.op(op).origins = {origin};
      c.op(op).movedPast = movedPast[op];
    }
    for (uint32_t tensor : {0, 2, 3, 4})
      c.tensor(tensor).relations = {same(tensor)};
    c.tensor(1).relations = {same(2, {step(MapStep::Permute, {1, 0})})};
    c.tensor(4).tensors = {4};
    c.gone(true, 1, "fused-away", {{0, 1}}, {});
    c.map.target.laws = laws;
    std::string text = words(c.violations());
    EXPECT_TRUE(text.empty() || llvm::StringRef(text).contains("law 11")) << text;
    return !text.empty();
  };
  EXPECT_FALSE(lawsBroken(12, {{{0}, {}, {}}}));
  EXPECT_TRUE(lawsBroken(11, {})) << "a run that did not tell: nothing shows that it is true";
  EXPECT_TRUE(lawsBroken(12, {})) << "an entry is left out";
  EXPECT_TRUE(lawsBroken(12, {{{0}, {1}, {}}})) << "what was not in front";
  EXPECT_TRUE(lawsBroken(12, {{{0}, {}, {1}}})) << "what is in front still";
  EXPECT_TRUE(lawsBroken(12, {{{0, 2}, {}, {}}})) << "what comes behind";
}

/// A constant that was moved likewise is not what was moved.
TEST(OriginCheck, MovedConstantsAreNoneOfWhatIsMoved) {
  using enum BuiltinOperator;
  // TRANSPOSE, ADD of a constant became ADD of the moved constant, TRANSPOSE.
  Graph source{
      {{"x", {2, 1}}, {"p", {2}, {1, 0}, TensorType::INT32}, {"k", {1, 2}, {1, 2}}, {"t", {1, 2}}, {"y", {1, 2}}},
      {{TRANSPOSE, {0, 1}, {3}}, {ADD, {3, 2}, {4}}},
      {0},
      {4}};
  Graph target = source;
  target.tensors[2].shape = target.tensors[3].shape = {2, 1};
  target.operators = {{ADD, {0, 2}, {3}}, {TRANSPOSE, {3, 1}, {4}}};
  for (bool tells : {true, false}) {
    Case c({source}, {target});
    c.op(0).origins = {1};
    c.op(1).origins = {0};
    c.op(0).movedPast = tells ? std::vector<uint32_t>{0} : std::vector<uint32_t>{};
    for (uint32_t tensor : {0, 1, 4})
      c.tensor(tensor).relations = {same(tensor)};
    c.tensor(1).tensors = {1};
    c.tensor(2).relations = {same(2, {step(MapStep::Permute, {1, 0})})};
    c.tensor(2).tensors = {2};
    c.tensor(2).operators = {0};
    c.tensor(3).relations = {same(4, {step(MapStep::Permute, {1, 0})})};
    c.gone(true, 3, "fused-away", {{0, 0}}, {});
    c.map.target.laws = 12;
    EXPECT_EQ(llvm::StringRef(words(c.violations())).contains("law 11"), !tells) << words(c.violations());
  }
}

/// What is computed from something inexact is not exact, and has it from there.
TEST(OriginCheck, WhatIsInexactIsInherited) {
  using enum BuiltinOperator;
  Graph graph{{{"x", {4}}, {"a", {4}}, {"y", {4}}}, {{EXP, {0}, {1}}, {TANH, {1}, {2}}}, {0}, {2}};
  auto lawsBroken = [&](bool inexact, bool exact, bool inherited, uint32_t laws = 13) {
    Case c = untouched({graph});
    c.map.target.laws = laws;
    c.op(0).inexact = inexact;
    c.tensor(1).relations[0].exact = !inexact;
    c.tensor(1).relations[0].inherited = inexact;
    c.tensor(2).relations[0].exact = exact;
    c.tensor(2).relations[0].inherited = inherited;
    return llvm::StringRef(words(c.violations())).contains("law 8");
  };
  EXPECT_FALSE(lawsBroken(false, true, false));
  EXPECT_FALSE(lawsBroken(true, false, true));
  EXPECT_FALSE(lawsBroken(true, false, false)) << "by itself, too";
  EXPECT_TRUE(lawsBroken(true, true, false)) << "exact behind what is not";
  EXPECT_TRUE(lawsBroken(false, false, true)) << "from nowhere";
  EXPECT_TRUE(lawsBroken(false, true, true)) << "exact and not";
  EXPECT_TRUE(lawsBroken(true, true, false, 12)) << "whatever laws the map has";
}

/// A scale goes behind a sum where all that is added up is scaled.
TEST(OriginCheck, ScalesMovePastScaledSums) {
  using enum BuiltinOperator;
  // x·k + o became (x + o')·k, where o was y·k, or −y.
  for (auto [other, isTrue] : {std::pair(MUL, true), std::pair(NEG, false)}) {
    std::vector<int32_t> takes = other == MUL ? std::vector<int32_t>{1, 2} : std::vector<int32_t>{1};
    Graph source{{{"x", {4}}, {"y", {4}}, {"k", {1}, {3}}, {"a", {4}}, {"b", {4}}, {"s", {4}}},
                 {{MUL, {0, 2}, {3}}, {other, takes, {4}}, {ADD, {3, 4}, {5}}},
                 {0, 1},
                 {5}};
    Graph target = source;
    target.operators = {{other, takes, {4}}, {ADD, {0, 4}, {3}}, {MUL, {3, 2}, {5}}};
    Case c({source}, {target});
    for (auto [op, origin] : {std::pair(0, 1u), std::pair(1, 2u), std::pair(2, 0u)})
      c.op(op).origins = {origin};
    c.op(1).movedPast = {0};
    for (uint32_t tensor : {0, 1, 2, 4, 5})
      c.tensor(tensor).relations = {same(tensor)};
    c.tensor(2).tensors = {2};
    c.tensor(3).reason = "new-intermediate";
    c.gone(true, 3, "fused-away", {{0, 1}}, {});
    c.map.target.laws = 12;
    EXPECT_EQ(!llvm::StringRef(words(c.violations())).contains("not of the kind"), isTrue) << words(c.violations());
  }
}

/// What a run says of kinds, places and cancellations that knew that it is asked for.
TEST(OriginCheck, WhatTheEleventhLawBrought) {
  const std::vector<Lie> lies = {
      {"work that is called a bridge", 1, [](Case &c) { c.op(3).syntheticReason = "type-bridge"; }},
      {"a tensor in an operator that has nothing of it", 8,
       [](Case &c) {
         ledgerOf(c, true, B).operators = {{0, 2}};
       }},
      {"a dead operator that cancelled out", 8, [](Case &c) { ledgerOf(c, false, Reshape).with = {Neg}; }},
      {"lineages of other origins", 1,
       [](Case &c) {
         c.op(1).lineages = {{{Add}, {}, {0, 0}}, {{Add}, {}, {0, 0}}};
       }},
  };
  Case c = optimised();
  c.map.target.laws = 11;
  c.op(3).syntheticReason = "quantize-border";
  for (const Lie &lie : lies) {
    Case copy = optimised();
    copy.map = c.map;
    expectRefused(lie, std::move(copy));
  }
}

TEST(OriginCheck, LineagesAreInOrder) {
  for (bool twice : {false, true}) {
    Case c = optimised();
    c.map.target.laws = 13;
    c.op(3).syntheticReason = "quantize-border";
    c.op(1).lineages = {{{Add}, {}, {0, 0}}, {{Add, Relu}, {}, {0, 0}}};
    if (twice)
      c.op(1).lineages.push_back(c.op(1).lineages.back());
    EXPECT_EQ(llvm::StringRef(words(c.violations())).contains("out of order or twice"), twice) << words(c.violations());
  }
}

TEST(OriginCheck, WhatCancelsSaysSoOfEachOther) {
  Graph source{{{"x", {4}}, {"a", {4}}, {"b", {4}}, {"y", {4}}},
               {{BuiltinOperator::NEG, {0}, {1}}, {BuiltinOperator::NEG, {1}, {2}}, {BuiltinOperator::EXP, {2}, {3}}},
               {0},
               {3}};
  Graph target{{{"x", {4}}, {"y", {4}}}, {{BuiltinOperator::EXP, {0}, {1}}}, {0}, {1}};
  Case c({source}, {target});
  c.map.target.laws = 11;
  c.op(0).origins = {2};
  c.tensor(0).relations = {same(0), same(2)};
  c.tensor(1).relations = {same(3)};
  c.gone(false, 0, "cancelled", {}, {{0, 0}});
  c.gone(false, 1, "cancelled", {}, {{0, 0}});
  c.gone(true, 1, "cancelled", {}, {{0, 0}});
  ledgerOf(c, false, 0).with = {1};
  ledgerOf(c, false, 1).with = {0};
  EXPECT_EQ(words(c.violations()), "");
  ledgerOf(c, false, 1).with = {};
  auto violations = c.violations();
  ASSERT_EQ(violations.size(), 1u) << words(violations);
  EXPECT_EQ(violations[0].law, 8);
}

TEST(OriginCheck, ComparesWhatIsKnownOfDynamicShapes) {
  Graph source{{{"x", {1, 8}, {}, TensorType::FLOAT32, 0, {-1, 8}}, {"y", {1, 8}, {}, TensorType::FLOAT32, 0, {-1, 8}}},
               {{BuiltinOperator::NEG, {0}, {1}}},
               {0},
               {1}};
  Graph target = source;
  for (Tensor &tensor : target.tensors)
    tensor.shape[0] = 5, tensor.signature.clear();
  for (int32_t width : {8, 9}) {
    target.tensors[1].shape[1] = width;
    Case c({source}, {target});
    c.op(0).origins = {0};
    c.tensor(0).relations = {same(0)};
    c.tensor(1).relations = {same(1)};
    EXPECT_EQ(c.violations().size(), width == 8 ? 0u : 1u) << words(c.violations());
  }
}

TEST(OriginCheck, RefusesAnIdentityThatIsNone) {
  const std::vector<Lie> lies = {
      {"an origin too many", 9,
       [](Case &c) {
         c.op(3).origins = {Add, Relu};
       }},
      {"a relation that is none", 9,
       [](Case &c) { c.tensor(Y).relations.insert(c.tensor(Y).relations.begin(), same(N)); }},
      {"a pass", 9, [](Case &c) { c.op(3).passes = {"fold-constants"}; }},
      {"a ledger", 9, [](Case &c) { c.tensor(Unused).relations.clear(), c.gone(true, Unused, "unused-in-source"); }},
  };
  for (const Lie &lie : lies)
    expectRefused(lie, untouched({sourceGraph()}));
}

TEST(OriginCheck, AcceptsWhatWasTakenApartAndPutTogether) {
  Case c = untouched({sourceGraph()});
  c.tensor(Y).relations[0].exact = false;
  EXPECT_FALSE(c.violations().empty());
  c.op(3).passes = {"decompose-hard-swish", "recognise-hard-swish"};
  EXPECT_EQ(words(c.violations()), "");
}

TEST(OriginCheck, AcceptsRetrainedWeights) {
  Case c = optimised();
  c.map.target.content[0] ^= 1;
  c.map.source.content[0] ^= 1;
  EXPECT_FALSE(c.violations().empty());
  c.map.retrained = true;
  EXPECT_EQ(words(c.violations()), "");
}

/// transpose(x) → relu becomes relu → transpose: the transpose makes the Relu's
/// tensor.
TEST(OriginCheck, LetsMovedDataEqualWhatAnotherComputes) {
  Graph source{{{"x", {2, 3}}, {"p", {2}, {0, 0}, TensorType::INT32}, {"t", {3, 2}}, {"y", {3, 2}}},
               {{BuiltinOperator::TRANSPOSE, {0, 1}, {2}}, {BuiltinOperator::RELU, {2}, {3}}},
               {0},
               {3}};
  Graph target{{{"x", {2, 3}}, {"p", {2}, {0, 0}, TensorType::INT32}, {"r", {2, 3}}, {"y", {3, 2}}},
               {{BuiltinOperator::RELU, {0}, {2}}, {BuiltinOperator::TRANSPOSE, {2, 1}, {3}}},
               {0},
               {3}};
  Case c({source}, {target});
  c.op(0).origins = {1};
  c.op(0).movedPast = {0};
  c.op(1).origins = {0};
  c.tensor(0).relations = {same(0)};
  c.tensor(1).relations = {same(1)};
  c.tensor(1).tensors = {1};
  c.tensor(2).relations = {same(3, {step(MapStep::Permute, {1, 0})})};
  c.tensor(3).relations = {same(3)};
  c.gone(true, 2, "fused-away", {{0, 1}});
  EXPECT_EQ(words(c.violations()), "");
  // A Neg does not move data, so that it cannot equal the Relu's tensor.
  target.operators[1] = {BuiltinOperator::NEG, {2}, {3}};
  Case lie({source}, {target});
  OriginMap &map = lie.map;
  Word op = lie.op(1).op;
  map.target.subgraphs = c.map.target.subgraphs;
  lie.op(1).op = op;
  map.ledger = c.map.ledger;
  auto violations = lie.violations();
  EXPECT_TRUE(llvm::any_of(violations, [](const Violation &v) { return v.law == 6; })) << words(violations);
}

TEST(OriginCheck, LetsDuplicatesJoin) {
  Graph source{
      {{"x", {4}}, {"a", {4}}, {"b", {4}}, {"y", {4}}},
      {{BuiltinOperator::NEG, {0}, {1}}, {BuiltinOperator::NEG, {0}, {2}}, {BuiltinOperator::ADD, {1, 2}, {3}}},
      {0},
      {3}};
  for (bool tells : {true, false}) {
    Case c({source}, {{{{"x", {4}}, {"a", {4}}, {"y", {4}}},
                       {{BuiltinOperator::NEG, {0}, {1}}, {BuiltinOperator::ADD, {1, 1}, {2}}},
                       {0},
                       {2}}});
    c.op(0).origins = {0, 1};
    c.op(1).origins = {2};
    c.tensor(0).relations = {same(0)};
    c.tensor(1).relations = {same(1)};
    c.tensor(2).relations = {same(3)};
    if (!tells)
      c.gone(true, 2, "duplicate-of", {}, {{0, 1}});
    if (tells) {
      c.tensor(1).relations.push_back(same(2));
      c.tensor(1).relations.back().lineage = 1;
      c.op(0).lineages = {{{0}, {}, {0}}, {{1}, {}, {0}}};
      c.op(1).lineages = {{{2}, {}, {0, 1}}};
    }
    auto violations = c.violations();
    if (tells) {
      EXPECT_EQ(words(violations), "");
    } else {
      ASSERT_EQ(violations.size(), 1u) << words(violations);
      EXPECT_EQ(violations[0].law, 7);
    }
  }
}

/// A path may lead into a called subgraph and out of it, in loops too.
TEST(OriginCheck, FollowsCalls) {
  Graph outer{{{"x", {4}}, {"a", {4}}, {"c", {4}}, {"y", {4}}, {"side", {4}}},
              {{BuiltinOperator::NEG, {0}, {1}},
               {BuiltinOperator::CALL, {1}, {2}, 1},
               {BuiltinOperator::ABS, {2}, {3}},
               {BuiltinOperator::EXP, {0}, {4}}},
              {0},
              {3, 4}};
  Graph inner{{{"p", {4}}, {"q", {4}}}, {{BuiltinOperator::SIN, {0}, {1}}}, {0}, {1}, "inner"};
  Graph target{{{"x", {4}}, {"y", {4}}, {"side", {4}}},
               {{BuiltinOperator::ABS, {0}, {1}}, {BuiltinOperator::EXP, {0}, {2}}},
               {0},
               {1, 2}};
  auto make = [&] {
    Case c({outer, inner}, {target});
    c.map.target.subgraphs[0].source = {0, 1};
    c.op(0).origins = {0, 2, 4}; // the Sin of the inner subgraph is operator 4
    c.op(0).calls = {1};
    c.op(1).origins = {3};
    c.tensor(0).relations = {same(0)};
    c.tensor(1).relations = {same(3)};
    c.tensor(2).relations = {same(4)};
    c.gone(false, 1, "inlined", {{0, 0}});
    for (uint32_t id : {1, 2, 5, 6})
      c.gone(true, id, "fused-away", {{0, 0}});
    return c;
  };
  EXPECT_EQ(words(make().violations()), "");
  Case lie = make();
  lie.op(1).origins = {3, 4};
  auto violations = lie.violations();
  ASSERT_EQ(violations.size(), 1u) << words(violations);
  EXPECT_EQ(violations[0].law, 7);

  // What the call made is made by what makes the output of the subgraph, and by nothing else.
  Graph apart{{{"x", {4}}, {"c", {4}}, {"y", {4}}, {"side", {4}}},
              {{BuiltinOperator::SIN, {0}, {1}}, {BuiltinOperator::ABS, {1}, {2}}, {BuiltinOperator::EXP, {0}, {3}}},
              {0},
              {2, 3}};
  for (bool lies : {false, true}) {
    Case c({outer, inner}, {apart});
    c.map.target.subgraphs[0].source = {0, 1};
    c.op(0).origins = {0};
    c.op(lies ? 1 : 0).origins.push_back(4);
    c.op(0).calls = {1};
    c.op(1).origins.insert(c.op(1).origins.begin(), 2);
    c.op(2).origins = {3};
    c.tensor(0).relations = {same(0)};
    c.tensor(1).relations = {same(2)};
    c.tensor(2).relations = {same(3)};
    c.tensor(3).relations = {same(4)};
    c.gone(false, 1, "inlined", {{0, 0}});
    for (uint32_t id : {1, 5, 6})
      c.gone(true, id, "fused-away", {{0, 0}});
    auto found = c.violations();
    if (!lies)
      EXPECT_EQ(words(found), "");
    else
      EXPECT_TRUE(llvm::any_of(found, [](const Violation &v) {
        return v.law == 6 && v.text.find("source operator 4 (SIN") != std::string::npos;
      })) << words(found);
  }

  inner.tensors.push_back({"z", {4}});
  inner.operators.push_back({BuiltinOperator::CALL, {1}, {2}, 1}); // calls itself
  inner.outputs = {2};
  Case recursive = untouched({outer, inner});
  EXPECT_EQ(words(recursive.violations()), "");
}

TEST(OriginCheck, NamesAreEscapedAndManyViolationsCounted) {
  Graph graph = sourceGraph();
  graph.tensors[A].name = "a\x1b[31m\n\"\xff";
  Case c = untouched({graph});
  EXPECT_EQ(words(c.violations()), "");
  c.op(Mul).origins.clear();
  for (const Violation &violation : c.violations())
    for (char byte : violation.text)
      EXPECT_GE(static_cast<unsigned char>(byte), 0x20) << violation.text;
  EXPECT_FALSE(c.violations().empty());
  for (int i = 0; i < 5000; ++i)
    c.gone(true, 0x80000000u + static_cast<uint32_t>(i), "dead");
  auto violations = c.violations();
  EXPECT_LT(violations.size(), 500u);
  EXPECT_TRUE(llvm::any_of(violations, [](const Violation &v) { return v.text == "and 4900 more against this law"; }));
}

/// Names that are no UTF-8 stand in a side file with replacement characters.
TEST(OriginCheck, AcceptsReplacedNames) {
  Graph graph = sourceGraph();
  graph.tensors[A].name = "a\xff\xe2\x82z";
  Case c = untouched({graph});
  c.map.source.subgraphs[0].tensors[A].name = c.tensor(A).name = c.op(Mul).outputs[0] = "a\xef\xbf\xbd\xef\xbf\xbdz";
  EXPECT_EQ(words(c.violations()), "");
  c.tensor(A).name = "a??z";
  EXPECT_FALSE(c.violations().empty());
}

namespace {
Graph chain(int32_t length) {
  Graph graph;
  graph.tensors.push_back({"x", {4}});
  for (int32_t i = 0; i < length; ++i) {
    graph.tensors.push_back({"", {4}});
    graph.operators.push_back({BuiltinOperator::NEG, {i}, {i + 1}});
  }
  graph.inputs = {0};
  graph.outputs = {length};
  return graph;
}
} // namespace

/// Law 7 asks about reachability; none of these may take more than moments.
TEST(OriginCheck, LongChains) {
  constexpr int32_t length = 100'000;
  Case same = untouched({chain(length)});
  EXPECT_EQ(words(same.violations()), "");

  Case merged({chain(length)}, {chain(1)});
  merged.tensor(0).relations = {::same(0)};
  merged.tensor(1).relations = {::same(length)};
  for (uint32_t id = 0; id < length; ++id) {
    merged.op(0).origins.push_back(id);
    if (id)
      merged.gone(true, id, "fused-away", {{0, 0}});
  }
  EXPECT_EQ(words(merged.violations()), "");

  // Each operator also claims the first one, which comes before what all but it are given, and the last one, which lies
  // on no path.
  Case first = untouched({chain(length)});
  for (OperatorRow &row : first.map.target.subgraphs[0].operators)
    if (row.origins[0])
      row.origins.insert(row.origins.begin(), 0);
  auto early = first.violations();
  EXPECT_TRUE(llvm::any_of(early, [](const Violation &v) { return v.law == 7; }));
  for (const Violation &violation : early)
    EXPECT_TRUE(violation.law == 9 || violation.law == 7) << violation.text;
  for (OperatorRow &row : first.map.target.subgraphs[0].operators)
    if (row.origins.back() + 1 < length)
      row.origins.push_back(length - 1);
  auto violations = first.violations();
  EXPECT_TRUE(llvm::any_of(violations, [](const Violation &v) { return v.law == 7; }));

  // Every operator claims another one behind it.
  Case behind = untouched({chain(length)});
  for (OperatorRow &row : behind.map.target.subgraphs[0].operators)
    if (uint32_t id = row.origins[0]; id + 100 < length)
      row.origins.push_back(id + 100);
  violations = behind.violations();
  EXPECT_TRUE(llvm::any_of(violations, [](const Violation &v) { return v.law == 7; }));
}

/// A movement that trades places with another one is a claim of who uses it, not a way to claim what comes later.
TEST(OriginCheck, NoMovementOfLaterOperators) {
  Graph graph;
  for (const char *name : {"x", "a", "b", "c", "d"})
    graph.tensors.push_back({name, {4}});
  graph.operators = {{BuiltinOperator::RESHAPE, {0}, {1}},
                     {BuiltinOperator::NEG, {1}, {2}},
                     {BuiltinOperator::RESHAPE, {2}, {3}},
                     {BuiltinOperator::ABS, {3}, {4}}};
  graph.inputs = {0};
  graph.outputs = {4};
  graph.tensors[2].shape = graph.tensors[1].shape = {2, 2};
  Case c = untouched({graph});
  EXPECT_EQ(words(c.violations()), "");
  c.op(0).origins = {0, 2};
  auto violations = c.violations();
  EXPECT_TRUE(llvm::any_of(violations, [](const Violation &v) { return v.law == 7; }));
}

/// Three movements in a row that became one: all of them are claimed, and leaving out the one in the middle is refused.
TEST(OriginCheck, OneMovementClaimsAllThatItDoes) {
  Graph source, target;
  for (auto [name, shape] :
       {std::pair("x", std::vector{4}), std::pair("a", std::vector{2, 2}), std::pair("b", std::vector{1, 4}),
        std::pair("c", std::vector{4, 1}), std::pair("d", std::vector{4, 1})})
    source.tensors.push_back({name, shape});
  source.operators = {{BuiltinOperator::RESHAPE, {0}, {1}},
                      {BuiltinOperator::RESHAPE, {1}, {2}},
                      {BuiltinOperator::RESHAPE, {2}, {3}},
                      {BuiltinOperator::NEG, {3}, {4}}};
  source.inputs = {0};
  source.outputs = {4};
  target.tensors = {source.tensors[0], source.tensors[3], source.tensors[4]};
  target.operators = {{BuiltinOperator::RESHAPE, {0}, {1}}, {BuiltinOperator::NEG, {1}, {2}}};
  target.inputs = {0};
  target.outputs = {2};
  Case c({source}, {target});
  c.op(0).origins = {0, 1, 2};
  c.op(1).origins = {3};
  c.tensor(0).relations = {same(0)};
  c.tensor(1).relations = {same(3)};
  c.tensor(2).relations = {same(4)};
  c.gone(true, 1, "fused-away", {{0, 0}});
  c.gone(true, 2, "fused-away", {{0, 0}});
  EXPECT_EQ(words(c.violations()), "");
  c.op(0).origins = {0, 2};
  auto violations = c.violations();
  EXPECT_TRUE(llvm::any_of(violations, [](const Violation &v) { return v.law == 6; })) << words(violations);
}
