#include "tests/MapCases.h"

/// Law 10, nothing dies under the living: what is dead although it had a user that lives needs a reason, which has to
/// be possible as far as the files can show.
using namespace origo;
using namespace origo::origin;
using circle::BuiltinOperator;
using circle::TensorType;
using mapcases::File;
using mapcases::Graph;
using mapcases::Op;
using mapcases::Tensor;

namespace {

/// Tensor 0 is the input, the last one the output.
Graph whole(std::vector<Tensor> tensors, std::vector<Op> operators) {
  auto last = static_cast<int32_t>(tensors.size() - 1);
  return {std::move(tensors), std::move(operators), {0}, {last}};
}

/// A source from which nothing but its input and its output is left, between which the operators `kept` are one ABS.
/// The others, and all constants, are dead.
struct LivingCase {
  File source, target;
  OriginMap map;

  LivingCase(const Graph &from, std::vector<uint32_t> kept)
      : source({whole(from.tensors, from.operators)}),
        target({whole({from.tensors.front(), from.tensors.back()}, {{BuiltinOperator::ABS, {0}, {1}}})}) {
    map.source = describe(source.view());
    measure(source.view(), map.source);
    Listing written = describe(target.view());
    map.target.format = written.format;
    map.target.fingerprint = written.fingerprint;
    map.target.content = written.content;
    map.target.laws = 10;
    auto last = uint32_t(from.tensors.size() - 1);
    OperatorRow row;
    row.op = "ABS";
    row.outputs = {from.tensors.back().name};
    row.origins = kept;
    TensorRow in, out;
    in.name = from.tensors.front().name;
    in.relations = {{0, {}, true}};
    out.index = 1;
    out.name = from.tensors.back().name;
    out.relations = {{last, {}, true}};
    map.target.subgraphs = {{"main", {0}, {row}, {in, out}}};
    for (uint32_t id = 0; id < from.operators.size(); ++id)
      if (!llvm::is_contained(kept, id))
        gone(false, id, "dead");
    for (uint32_t id = 1; id < last; ++id)
      gone(true, id, "dead");
  }
  MapLedgerRow &gone(bool isTensor, uint32_t id, const char *fate) {
    MapLedgerRow &row = map.ledger.emplace_back();
    row.isTensor = isTensor;
    row.id = id;
    row.fate = fate;
    row.pass = "test";
    return row;
  }
  MapLedgerRow &row(bool isTensor, uint32_t id) {
    return *llvm::find_if(map.ledger, [&](const MapLedgerRow &r) { return r.isTensor == isTensor && r.id == id; });
  }
  LivingCase &reason(bool isTensor, uint32_t id, uint32_t user, uint32_t operand, const char *reason) {
    map.unneeded.push_back({isTensor, id, user, operand, reason});
    llvm::stable_sort(map.unneeded, [](const MapUnneeded &a, const MapUnneeded &b) {
      return std::pair(a.isTensor, a.id) < std::pair(b.isTensor, b.id);
    });
    return *this;
  }
  /// What the tenth law says; of what the others say this is no test.
  std::string says(std::vector<std::string> *skipped = nullptr) const {
    std::vector<std::string> none;
    std::string text;
    for (const Violation &violation : check(map, target.view(), &source.view(), skipped ? *skipped : none))
      if (violation.law == 10 || violation.law == 4)
        text += violation.text + "\n";
    return text;
  }
};

bool has(llvm::StringRef text, llvm::StringRef part) { return text.contains(part); }

enum : uint32_t { X, S, Moved, Y };

/// y = reshape(x, s)
Graph reshaped(Tensor input = {"x", {2, 3}}) {
  return {{input, {"s", {1}, {6}, TensorType::INT32}, {"m", {6}}, {"y", {6}}},
          {{BuiltinOperator::RESHAPE, {X, S}, {Moved}}, {BuiltinOperator::ABS, {Moved}, {Y}}}};
}

} // namespace

TEST(LivingCheck, AConstantUnderALivingOperator) {
  LivingCase c(reshaped(), {0, 1});
  EXPECT_TRUE(has(c.says(),
                  "source tensor 1 \"s\" is dead, but source operator 0 (RESHAPE \"m\") lives on, which has it "
                  "as operand 1"))
      << c.says();
  EXPECT_EQ(LivingCase(reshaped(), {0, 1}).reason(true, S, 0, 1, "shape-only").says(), "");
  // Another operand, another operator, another tensor, no reason.
  for (auto [user, operand] : {std::pair(0u, 0u), {0u, 2u}, {1u, 0u}, {7u, 1u}, {0u, ~0u}}) {
    std::string says = LivingCase(reshaped(), {0, 1}).reason(true, S, user, operand, "shape-only").says();
    EXPECT_TRUE(has(says, "is dead, but") && has(says, "is said not to be needed")) << says;
  }
  EXPECT_TRUE(
      has(LivingCase(reshaped(), {0, 1}).reason(true, Moved, 1, 0, "shape-only").says(), "that operand is another"));
  for (const char *reason : {"", "because", "times-zero", "branch-not-taken", "empty"})
    EXPECT_TRUE(has(LivingCase(reshaped(), {0, 1}).reason(true, S, 0, 1, reason).says(), "is said not to be needed"))
        << reason;
}

/// y = abs(reshape(x, cast(pack(c, n)))), where n is computed.
TEST(LivingCheck, OneSizeOfAShape) {
  auto says = [](double beside, BuiltinOperator join, BuiltinOperator user) {
    Graph graph{{{"x", {2, 3}},
                 {"c", {1}, {beside}, TensorType::INT32},
                 {"k", {1}, {3}, TensorType::INT32},
                 {"n", {1}, {}, TensorType::INT32},
                 {"p", {2}, {}, TensorType::INT32},
                 {"q", {2}, {}, TensorType::INT32},
                 {"m", {1, 1}, {}, TensorType::FLOAT32, 0, {-1, -1}},
                 {"y", {1, 1}, {}, TensorType::FLOAT32, 0, {-1, -1}}},
                {{BuiltinOperator::NEG, {2}, {3}},
                 {join, {1, 3}, {4}},
                 {BuiltinOperator::CAST, {4}, {5}},
                 {user, {0, 5}, {6}},
                 {BuiltinOperator::ABS, {6}, {7}}}};
    return LivingCase(whole(graph.tensors, graph.operators), {1, 2, 3, 4})
        .reason(false, 0, 1, 1, "shape-only")
        .reason(true, 1, 1, 0, "shape-only")
        .says();
  };
  constexpr auto pack = BuiltinOperator::PACK, reshape = BuiltinOperator::RESHAPE;
  const char *refusal = "operand 1 of source operator 1 (";
  EXPECT_FALSE(has(says(2, pack, reshape), refusal)) << says(2, pack, reshape);
  EXPECT_FALSE(has(says(2, BuiltinOperator::CONCATENATION, reshape), refusal));
  EXPECT_TRUE(has(says(0, pack, reshape), refusal));
  EXPECT_TRUE(has(says(-1, pack, reshape), refusal));
  EXPECT_TRUE(has(says(2, BuiltinOperator::MAXIMUM, reshape), refusal));
  EXPECT_TRUE(has(says(2, pack, BuiltinOperator::TILE), refusal));
}

TEST(LivingCheck, WhoLives) {
  for (auto [fate, lives] : {std::pair("identity", true),
                             {"duplicate-of", true},
                             {"layout-cancelled", true},
                             {"quantization-cancelled", true},
                             {"dead", false},
                             {"user-removed", false},
                             {"elsewhere", false},
                             {"folded-to-constant", false},
                             {"inlined", false}}) {
    LivingCase c(reshaped(), {1});
    c.row(false, 0).fate = fate;
    EXPECT_EQ(has(c.says(), "is dead, but source operator 0"), lives) << fate << ": " << c.says();
    EXPECT_FALSE(has(c.reason(true, S, 0, 1, "shape-only").says(), "is dead, but source operator 0"));
  }
}

/// y = a · b, where a = neg(x) and b = exp(x) are operators, not constants.
TEST(LivingCheck, AnOperatorUnderALivingOne) {
  Graph graph{
      {{"x", {4}}, {"a", {4}}, {"b", {4}}, {"y", {4}}},
      {{BuiltinOperator::NEG, {0}, {1}}, {BuiltinOperator::EXP, {0}, {2}}, {BuiltinOperator::MUL, {1, 2}, {3}}}};
  std::string says = LivingCase(graph, {1, 2}).says();
  EXPECT_TRUE(has(says, "source operator 0 (NEG \"a\") is dead, but source operator 2 (MUL \"y\") lives on")) << says;
  EXPECT_EQ(LivingCase(graph, {1, 2}).reason(false, 0, 2, 0, "times-zero").says(), "");
  EXPECT_TRUE(has(LivingCase(graph, {1, 2}).reason(false, 0, 2, 1, "times-zero").says(), "that operand is another"));
  // Nothing is said of an operator that is not dead, but what is said is judged.
  EXPECT_EQ(LivingCase(graph, {0, 1, 2}).says(), "");
  EXPECT_EQ(LivingCase(graph, {0, 1, 2}).reason(false, 0, 2, 0, "times-zero").says(), "");
  EXPECT_TRUE(has(LivingCase(graph, {0, 1, 2}).reason(false, 0, 2, 1, "times-zero").says(), "that operand is another"));
  // The same operand twice needs two reasons.
  graph.operators[2].inputs = {1, 1};
  EXPECT_TRUE(has(LivingCase(graph, {1, 2}).reason(false, 0, 2, 0, "times-zero").says(), "as operand 1"));
  EXPECT_EQ(LivingCase(graph, {1, 2}).reason(false, 0, 2, 0, "times-zero").reason(false, 0, 2, 1, "times-zero").says(),
            "");
}

/// y = reshape(neg(x), s) · b: behind the product, the reshape moves zeros, and neg is gone.
TEST(LivingCheck, NobodyNeedsWhatMovedBehindAZero) {
  enum : uint32_t { X, A, S, M, B, Y, Other };
  Graph graph{{{"x", {2, 2}}, {"a", {2, 2}}, {"s", {1}, {4}, TensorType::INT32}, {"m", {4}}, {"b", {4}}, {"y", {4}}},
              {{BuiltinOperator::NEG, {X}, {A}},
               {BuiltinOperator::RESHAPE, {A, S}, {M}},
               {BuiltinOperator::EXP, {X}, {B}},
               {BuiltinOperator::MUL, {M, B}, {Y}}}};
  auto judged = [](const Graph &from) {
    return LivingCase(from, {1, 2, 3}).reason(true, S, 1, 1, "shape-only").reason(false, 1, 3, 0, "times-zero").says();
  };
  EXPECT_EQ(judged(graph), "");
  std::string says = LivingCase(graph, {1, 2, 3}).reason(true, S, 1, 1, "shape-only").says();
  EXPECT_TRUE(has(says, "source operator 0 (NEG \"a\") is dead, but source operator 1 (RESHAPE \"m\") lives on"))
      << says;
  // Another user that lives and says nothing needs it.
  Graph shared = graph;
  shared.tensors.back().name = "p";
  shared.tensors.push_back({"y", {4}});
  shared.operators[3].outputs = {Y};
  shared.operators.push_back({BuiltinOperator::ADD, {Y, M}, {Other}});
  says =
      LivingCase(shared, {1, 2, 3, 4}).reason(true, S, 1, 1, "shape-only").reason(false, 1, 3, 0, "times-zero").says();
  EXPECT_TRUE(has(says, "is dead, but source operator 1 (RESHAPE")) << says;
}

/// Whoever writes a map writes how many laws it keeps, in each run, and which pass something was lost to.
TEST(LivingCheck, NobodyIsExcusedByAMapThatIsOld) {
  for (uint32_t laws : {0u, 10u, 13u}) {
    LivingCase c(reshaped(), {0, 1});
    std::vector<std::string> skipped;
    c.map.target.laws = laws;
    c.map.chain.push_back({"between.circle", "circle", {}, laws});
    c.row(true, S).pass = "ONE_op_table";
    std::string says = c.says(&skipped);
    EXPECT_TRUE(has(says, "is dead, but")) << says;
    EXPECT_EQ(skipped.empty(), laws == 13);
    EXPECT_TRUE(laws == 13 || has(skipped.front(), "untrue or only untold")) << skipped.front();
  }
}

TEST(LivingCheck, ShapeOnlyWhereShapesAreStatic) {
  Tensor open{"x", {1, 3}};
  open.signature = {-1, 3};
  EXPECT_TRUE(has(LivingCase(reshaped(open), {0, 1}).reason(true, S, 0, 1, "shape-only").says(), "not all shapes"));

  // y = slice(x, begin, size): a begin chooses nothing where everything is taken.
  auto slice = [](std::vector<int32_t> result) {
    Graph graph{
        {{"x", {2, 3}}, {"b", {2}, {0, 1}, TensorType::INT32}, {"s", {2}, {2, 2}, TensorType::INT32}, {"y", result}},
        {{BuiltinOperator::SLICE, {0, 1, 2}, {3}}}};
    return LivingCase(graph, {0}).reason(true, 1, 0, 1, "shape-only").reason(true, 2, 0, 2, "shape-only").says();
  };
  EXPECT_EQ(slice({2, 3}), "");
  EXPECT_TRUE(
      has(slice({2, 2}), "operand 1 of source operator 0 (SLICE \"y\") (\"shape-only\"), but that operator leaves"));
  EXPECT_FALSE(has(slice({2, 2}), "operand 2"));

  auto strided = [](double stride) {
    Tensor ints{"i", {1}, {stride}, TensorType::INT32};
    Graph graph{{{"x", {4}}, ints, ints, ints, {"y", {4}}}, {{BuiltinOperator::STRIDED_SLICE, {0, 1, 2, 3}, {4}}}};
    LivingCase c(graph, {0});
    for (uint32_t i : {1, 2, 3})
      c.reason(true, i, 0, i, "shape-only");
    return c.says();
  };
  EXPECT_EQ(strided(1), "");
  EXPECT_TRUE(has(strided(-1), "may turn the order"));

  // A permutation tells which element goes where; axes tell nothing where they have one element.
  auto by = [](BuiltinOperator code, std::vector<int32_t> from, std::vector<int32_t> to) {
    Graph graph{{{"x", from}, {"p", {2}, {1, 0}, TensorType::INT32}, {"y", to}}, {{code, {0, 1}, {2}}}};
    return LivingCase(graph, {0}).reason(true, 1, 0, 1, "shape-only").says();
  };
  EXPECT_TRUE(has(by(BuiltinOperator::TRANSPOSE, {2, 2}, {2, 2}), "tells more than a shape"));
  EXPECT_TRUE(has(by(BuiltinOperator::MEAN, {2, 2}, {2}), "leaves elements out"));
  EXPECT_EQ(by(BuiltinOperator::MEAN, {2, 1}, {2}), "");
  EXPECT_EQ(by(BuiltinOperator::EXPAND_DIMS, {2, 2}, {2, 1, 2}), "");
}

TEST(LivingCheck, OtherReasons) {
  auto of = [](BuiltinOperator code, Tensor second, uint32_t operand, const char *reason,
               std::vector<int32_t> result = {4}) {
    // The first operand is a dead NEG, the second a dead constant.
    Graph graph{{{"x", {4}}, {"n", {4}}, second, {"y", result}},
                {{BuiltinOperator::NEG, {0}, {1}}, {code, {1, 2}, {3}}}};
    LivingCase c(graph, {1});
    c.reason(false, 0, 1, 0, operand == 0 ? reason : "times-zero")
        .reason(true, 2, 1, 1, operand == 1 ? reason : "times-zero");
    std::string says = c.says(), want = "operand " + std::to_string(operand) + " of";
    return has(says, want);
  };
  Tensor zero{"c", {4}, {0, 0, -0.0, 0}}, one{"c", {4}, {0, 0, 1e-45, 0}}, none{"c", {0}};
  EXPECT_FALSE(of(BuiltinOperator::MUL, zero, 0, "times-zero"));
  EXPECT_TRUE(of(BuiltinOperator::MUL, one, 0, "times-zero"));
  EXPECT_TRUE(of(BuiltinOperator::ADD, zero, 0, "times-zero"));
  EXPECT_TRUE(of(BuiltinOperator::MUL, zero, 0, "branch-not-taken"));
  EXPECT_TRUE(of(BuiltinOperator::SELECT, one, 0, "branch-not-taken")); // the condition
  EXPECT_FALSE(of(BuiltinOperator::SELECT, one, 1, "branch-not-taken"));
  EXPECT_FALSE(of(BuiltinOperator::CONCATENATION, one, 1, "not-in-slice"));
  EXPECT_TRUE(of(BuiltinOperator::MUL, one, 1, "not-in-slice"));
  EXPECT_FALSE(of(BuiltinOperator::CONCATENATION, none, 1, "empty"));
  EXPECT_TRUE(of(BuiltinOperator::CONCATENATION, one, 1, "empty"));
  EXPECT_FALSE(of(BuiltinOperator::MUL, one, 1, "empty", {0}));
}

TEST(LivingCheck, TakenAway) {
  auto of = [](std::vector<int32_t> difference, BuiltinOperator code, uint32_t user, uint32_t operand) {
    Graph graph{{{"x", {4}}, {"n", {4}}, {"q", {4}}, {"d", {4}}, {"y", {4}}},
                {{BuiltinOperator::NEG, {0}, {1}},
                 {BuiltinOperator::ABS, {0}, {2}},
                 {BuiltinOperator::SUB, difference, {3}},
                 {code, {1, 3}, {4}}}};
    LivingCase c(graph, {0});
    c.reason(false, 0, user, operand, "taken-away");
    std::string says = c.says();
    return has(says, "taken-away") ? says : "";
  };
  EXPECT_EQ(of({2, 1}, BuiltinOperator::ADD, 3, 0), "");
  EXPECT_EQ(of({2, 1}, BuiltinOperator::ADD, 2, 1), "");
  EXPECT_TRUE(has(of({1, 2}, BuiltinOperator::ADD, 3, 0), "no difference"));
  EXPECT_TRUE(has(of({1, 2}, BuiltinOperator::ADD, 2, 0), "taken away from"));
  EXPECT_TRUE(has(of({2, 1}, BuiltinOperator::MUL, 3, 0), "neither adds it"));
}

TEST(LivingCheck, ListedOperandsAndCostsAreThoseOfTheFile) {
  LivingCase c(reshaped(), {0, 1});
  c.reason(true, S, 0, 1, "shape-only");
  EXPECT_EQ(c.says(), "");
  c.map.source.subgraphs[0].operands[1] = X;
  EXPECT_TRUE(has(c.says(), "has other operands in the file"));
  c.map.source.subgraphs[0].operands[1] = S;
  c.map.source.subgraphs[0].costs[1].macs = 1;
  EXPECT_TRUE(has(c.says(), "source operator 1 (ABS \"y\") costs 0 macs by the file, but 1 by the map"));
  c.map.source.subgraphs[0].costs[1] = {0, SourceCost::unknown};
  EXPECT_TRUE(has(c.says(), "costs 48 bytes by the file, but unknown by the map"));
}
