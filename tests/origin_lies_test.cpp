#include "tests/MapCases.h"

#include <set>

/// A map that is not true is refused, each for its own reason.
using namespace origo;
using namespace origo::mapcases;
using namespace origo::origin;

namespace {

void makeAllDead(Case &c) {
  c.map.ledger.clear();
  for (uint32_t id = Abs; id <= Reshape; ++id)
    c.gone(false, id, "dead");
  for (uint32_t id = X; id <= Unused; ++id)
    c.gone(true, id, "dead");
  for (OperatorRow &row : c.map.target.subgraphs[0].operators)
    row.origins.clear();
  for (TensorRow &row : c.map.target.subgraphs[0].tensors)
    row.relations.clear(), row.tensors.clear(), row.operators.clear(), row.reason = "new-intermediate";
}

} // namespace

TEST(OriginCheck, RefusesLies) {
  const std::vector<Lie> lies = {
      {"every origin is operator 0", 6,
       [](Case &c) {
         for (OperatorRow &row : c.map.target.subgraphs[0].operators)
           if (row.syntheticReason.empty())
             row.origins = {0};
       }},
      {"every origin is every operator", 7,
       [](Case &c) {
         for (OperatorRow &row : c.map.target.subgraphs[0].operators)
           if (row.syntheticReason.empty())
             row.origins = {Abs, Mul, Add, Relu, Exp, Neg, Reshape};
         llvm::erase_if(c.map.ledger, [](const MapLedgerRow &row) { return !row.isTensor; });
       }},
      {"everything is dead", 1, makeAllDead},
      {"everything is dead and invented", 8,
       [](Case &c) {
         makeAllDead(c);
         for (OperatorRow &row : c.map.target.subgraphs[0].operators)
           row.syntheticReason = "type-bridge", row.serves = {0};
         for (TensorRow &row : c.map.target.subgraphs[0].tensors)
           if (row.constant)
             row.syntheticReason = "invented-constant";
       }},
      {"everything is dead, but relations stay", 8,
       [](Case &c) {
         ledgerOf(c, false, Reshape).fate = "dead";
         ledgerOf(c, false, Reshape).tensors.clear();
       }},
      {"dropped parent", 3, [](Case &c) { c.op(1).origins = {Relu}; }},
      {"dropped parent that made the result", 6,
       [](Case &c) {
         c.op(1).origins = {Add}, c.op(0).origins = {Mul, Relu};
       }},
      {"swapped parents", 6, [](Case &c) { std::swap(c.op(0).origins, c.op(2).origins); }},
      {"added parent", 7,
       [](Case &c) {
         c.op(0).origins = {Mul, Neg};
       }},
      {"added parent from a side branch", 7,
       [](Case &c) {
         c.op(1).origins = {Add, Relu, Exp};
         llvm::erase_if(c.map.ledger, [](const MapLedgerRow &row) { return !row.isTensor && row.id == Exp; });
       }},
      {"ledger row of an operator lost", 3,
       [](Case &c) {
         llvm::erase_if(c.map.ledger, [](const MapLedgerRow &row) { return !row.isTensor && row.id == Exp; });
       }},
      {"ledger row of a tensor lost", 3,
       [](Case &c) {
         llvm::erase_if(c.map.ledger, [](const MapLedgerRow &row) { return row.isTensor && row.id == B; });
       }},
      {"ledger row twice", 3, [](Case &c) { c.map.ledger.push_back(c.map.ledger.back()); }},
      {"wrong fate: a tensor's for an operator", 8, [](Case &c) { ledgerOf(c, false, Reshape).fate = "fused-away"; }},
      {"wrong fate: dead although it is related", 8, [](Case &c) { ledgerOf(c, false, Abs).fate = "dead"; }},
      {"wrong fate: removed although it is related", 8,
       [](Case &c) { ledgerOf(c, false, Reshape).fate = "user-removed"; }},
      {"wrong fate: folded, but an operator computes it", 6,
       [](Case &c) { ledgerOf(c, false, Reshape).fate = "folded-to-constant"; }},
      {"wrong fate: inlined, but it calls nothing", 8, [](Case &c) { ledgerOf(c, false, Reshape).fate = "inlined"; }},
      {"wrong fate: none", 8, [](Case &c) { ledgerOf(c, true, B).fate = "unknown"; }},
      {"fused into nothing", 8, [](Case &c) { ledgerOf(c, true, B).operators.clear(); }},
      {"identity of another tensor", 6,
       [](Case &c) {
         ledgerOf(c, false, Reshape).tensors = {{0, 4}};
       }},
      {"operator both live and in the ledger", 8, [](Case &c) { c.gone(false, Mul, "dead"); }},
      {"tensor both live and in the ledger", 8,
       [](Case &c) {
         c.gone(true, A, "fused-away", {{0, 0}});
       }},
      {"origin out of range", 2,
       [](Case &c) {
         c.op(0).origins = {Mul, 7};
       }},
      {"origins out of order", 2,
       [](Case &c) {
         c.op(1).origins = {Relu, Add};
       }},
      {"relation out of range", 2, [](Case &c) { c.tensor(3).relations.push_back(same(11)); }},
      {"served operator out of range", 2, [](Case &c) { c.op(3).serves = {99}; }},
      {"ledger id out of range", 2, [](Case &c) { c.gone(true, 0xFFFFFFFF, "dead"); }},
      {"ledger leads out of the file", 2,
       [](Case &c) {
         ledgerOf(c, true, B).operators = {{0, 4}};
       }},
      {"ledger leads out of the subgraphs", 2,
       [](Case &c) {
         ledgerOf(c, true, B).operators = {{1, 0}};
       }},
      {"affine by a value", 2,
       [](Case &c) {
         MapStep affine = step(MapStep::Affine);
         affine.scale = {Term::Constant, 0, 3};
         c.tensor(4).relations = {same(R, {affine})};
       }},
      {"wrong target fingerprint", 5, [](Case &c) { c.map.target.fingerprint[0] ^= 1; }},
      {"wrong source fingerprint", 5, [](Case &c) { c.map.source.fingerprint[31] ^= 1; }},
      {"wrong content", 5, [](Case &c) { c.map.target.content[5] ^= 1; }},
      {"wrong source name", 4, [](Case &c) { c.map.source.subgraphs[0].tensors[A].name = "z"; }},
      {"wrong source operator", 4, [](Case &c) { c.map.source.subgraphs[0].operators[Neg].op = "ABS"; }},
      {"wrong source outputs", 4,
       [](Case &c) {
         c.map.source.subgraphs[0].operators[Exp].tensors = {static_cast<int32_t>(E), -1};
       }},
      {"wrong source kind", 4, [](Case &c) { c.map.source.subgraphs[0].tensors[C1].kind = TensorKind::Variable; }},
      {"source operator unlisted", 4, [](Case &c) { c.map.source.subgraphs[0].operators.pop_back(); }},
      {"wrong signature", 4, [](Case &c) { c.map.source.signatures[0].outputs[0].tensor = N; }},
      {"wrong target operator", 4, [](Case &c) { c.op(2).op = "ABS"; }},
      {"wrong target output", 4, [](Case &c) { c.op(2).outputs = {"z"}; }},
      {"wrong target name", 4, [](Case &c) { c.tensor(4).name = "z"; }},
      {"constant listed as a value", 4, [](Case &c) { c.tensor(2).constant = false; }},
      {"wrong format", 4, [](Case &c) { c.map.target.format = "tflite"; }},
      {"tensor row twice", 4, [](Case &c) { c.map.target.subgraphs[0].tensors.push_back(c.tensor(0)); }},
      {"relation with a wrong shape", 8,
       [](Case &c) {
         c.tensor(4).relations.push_back(same(AbsC2)), c.op(1).origins = {Add, Relu};
       }},
      {"permute that does not fit", 8,
       [](Case &c) {
         c.tensor(0).relations = {same(X, {step(MapStep::Permute, {1, 0})})};
       }},
      {"permute that is none", 8,
       [](Case &c) {
         c.tensor(0).relations = {same(X, {step(MapStep::Permute, {0, 0})})};
       }},
      {"slice beyond the end", 8,
       [](Case &c) {
         c.tensor(0).relations = {same(X, {step(MapStep::Slice, {0, 1}, {1, 4})})};
       }},
      {"slice of a part", 8,
       [](Case &c) {
         c.tensor(0).relations = {same(X, {step(MapStep::Slice, {0, 1}, {1, 3})})};
       }},
      {"placed in less than itself", 8,
       [](Case &c) {
         c.tensor(0).relations = {same(X, {step(MapStep::Placed, {0, 1}, {1, 4})})};
       }},
      {"affine along no axis", 8,
       [](Case &c) {
         MapStep affine = step(MapStep::Affine);
         affine.axis = 2;
         affine.scale = {Term::Number, 2, 0};
         c.tensor(0).relations = {same(X, {affine})};
       }},
      {"unused in the source, but used", 8, [](Case &c) { ledgerOf(c, true, B).fate = "unused-in-source"; }},
      {"no operator row", 1, [](Case &c) { c.map.target.subgraphs[0].operators.pop_back(); }},
      {"no tensor row", 1, [](Case &c) { c.map.target.subgraphs[0].tensors.pop_back(); }},
      {"empty origins", 1, [](Case &c) { c.op(0).origins.clear(); }},
      {"origins and synthetic", 1, [](Case &c) { c.op(0).syntheticReason = "broadcast", c.op(0).serves = {Mul}; }},
      {"synthetic for no known reason", 1, [](Case &c) { c.op(3).syntheticReason = "because"; }},
      {"synthetic for nobody", 1, [](Case &c) { c.op(3).serves.clear(); }},
      {"constant from a value", 2,
       [](Case &c) {
         c.tensor(1).tensors = {C1, A};
       }},
      {"constant from nothing", 1, [](Case &c) { c.tensor(1).tensors.clear(); }},
      {"no relation for no reason", 1, [](Case &c) { c.tensor(6).relations.clear(); }},
      {"folded operator forgotten", 6, [](Case &c) { c.tensor(2).operators.clear(); }},
      {"an input is what an operator at work makes", 6, [](Case &c) { c.tensor(0).relations.push_back(same(A)); }},
      {"an input is what an identity elsewhere makes", 6,
       [](Case &c) { c.tensor(0).relations.push_back(same(Y)), c.tensor(5).relations = {same(N)}; }},
      {"an input is computed", 6, [](Case &c) { c.tensor(3).relations.push_back(same(X)); }},
      {"a bridge makes what nothing in front of it does", 6, [](Case &c) { c.tensor(6).relations.push_back(same(A)); }},
      {"a constant's work in a movement", 6,
       [](Case &c) {
         ledgerOf(c, false, Reshape).tensors = {{0, 1}};
       }},
      {"removed, and somewhere", 8, [](Case &c) { ledgerOf(c, true, B).fate = "user-removed"; }},
      {"lineages of a constant from elsewhere", 1,
       [](Case &c) {
         c.tensor(1).lineages = {{{}, {C1}, {}}, {{}, {C2}, {}}};
       }},
      {"a lineage without operands", 1,
       [](Case &c) {
         c.op(1).lineages = {{{Add, Relu}, {}, {0}}};
       }},
      {"a lineage of an operand that has none", 2,
       [](Case &c) {
         c.op(1).lineages = {{{Add}, {}, {0, 0}}, {{Relu}, {}, {0, 1}}};
       }},
      {"a relation by a lineage that is not there", 2, [](Case &c) { c.tensor(3).relations[0].lineage = 1; }},
      {"a relation by the other one's lineage", 6,
       [](Case &c) {
         c.op(1).lineages = {{{Relu}, {}, {0, 0}}, {{Add}, {}, {0, 0}}}, c.tensor(4).relations[0].lineage = 1;
       }},
      {"wide without need in a small model", 7, [](Case &c) { c.op(0).wide = "grouped by the user"; }},
      {"a constant is dead, and who reads it lives on", 10,
       [](Case &c) {
         c.tensor(1).relations.clear(), c.tensor(1).tensors.clear();
         c.tensor(1).syntheticReason = "invented-constant";
         c.gone(true, C1, "dead");
       }},
      {"changed places with what is in front", 11, [](Case &c) { c.op(1).movedPast = {Mul}; }},
  };
  ASSERT_GE(lies.size(), 16u);
  std::set<int> alone; // each of these laws sees a lie that no other one sees
  for (const Lie &lie : lies) {
    expectRefused(lie, optimised());
    Case c = optimised();
    lie.tell(c);
    auto violations = c.violations();
    if (llvm::all_of(violations, [&](const Violation &one) { return one.law == lie.law; }))
      alone.insert(lie.law);
  }
  const Lie rewritten{"a pass that changed nothing", 9, [](Case &c) { c.op(0).passes = {"once"}; }};
  expectRefused(rewritten, untouched({sourceGraph()}));
  Case c = untouched({sourceGraph()});
  rewritten.tell(c);
  if (llvm::all_of(c.violations(), [](const Violation &one) { return one.law == 9; }))
    alone.insert(9);
  EXPECT_EQ(alone, (std::set<int>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}));
}
