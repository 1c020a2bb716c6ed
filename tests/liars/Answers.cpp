#include "tests/liars/Liars.h"

/// Rules whose answer is not what they did.
namespace origo::test {

static const char *const chain = R"(%a: f32[2,2] = NEG(%x)
  %b: f32[2,2] = RELU(%a)
  %y: f32[2,2] = ABS(%b))";

static Liar of(std::string name, Rule::Build lie, std::string reason) {
  auto x = any();
  return {name,
          chain,
          {lying(relu(x), lie)},
          {honestly(relu(x), [=](Match &m) { return m.replace(maximum(x, 0)); })},
          reason};
}

/// What is created is not what the rule says of it.
static Liar created(std::string name, Expr lie, Expr pattern, Expr honest, std::string reason) {
  return {name,
          chain,
          {lying(pattern, [=](Match &m) { return m.replace(lie); })},
          {honestly(pattern, [=](Match &m) { return m.replace(honest); })},
          reason};
}

static std::vector<Liar> createdLiars() {
  auto x = any();
  auto inner = -x, root = relu(inner);
  std::string works = "what does work of its own is said to be a bridge";
  std::vector<Liar> all;
  for (auto [name, reason] : {std::pair("work-as-type-bridge", SyntheticReason::TypeBridge),
                              std::pair("work-as-scale-bridge", SyntheticReason::ScaleBridge),
                              std::pair("work-as-quantize-border", SyntheticReason::QuantizeBorder),
                              std::pair("work-as-broadcast", SyntheticReason::Broadcast),
                              std::pair("work-for-the-user", SyntheticReason::UserInserted)})
    all.push_back(created(name, clone(root).operand(0, (Expr(0) - x).synthetic(reason)), root,
                          clone(root).operand(0, Expr(0) - x), works));
  all.push_back(created("product-as-layout-bridge",
                        clone(root).operand(0, (x * -1).synthetic(SyntheticReason::LayoutBridge)), root,
                        clone(root).operand(0, x * -1), works));
  all.push_back(created("copy-of-two-kinds", clone({root, inner}).operand(0, x), root,
                        clone(root).operand(0, Expr(0) - x), "a copy is of operators of several kinds"));
  all.push_back(created("absent-operand", relu(clone(inner)).operand("gamma", x), root, maximum(clone(inner), 0),
                        "RELU has no operand gamma"));
  all.push_back(created("absent-option", maximum(clone(inner), 0).with("axis", 1), root, maximum(clone(inner), 0),
                        "MAXIMUM has no option axis"));
  return all;
}

/// What an operator has not, asked for or given.
static std::vector<Liar> absentLiars() {
  auto x = any();
  auto inner = -x, root = relu(inner);
  std::vector<Liar> all;
  auto asked = [&](std::string name, std::function<bool(Match & m)> question, std::string reason) {
    all.push_back(of(
        name, [=](Match &m) { return question(m) ? m.replace(maximum(x, 0)) : decline("other"); }, reason));
  };
  asked(
      "absent-operand-asked", [](Match &m) { return bool(m.root().operand("gamma")); }, "RELU has no operand gamma");
  asked(
      "absent-option-asked", [](Match &m) { return m.root().option("axis") != 0; }, "RELU has no option axis");
  asked(
      "absent-real-asked", [](Match &m) { return m.root().realOption("alpha") != 0; }, "RELU has no option alpha");
  asked(
      "unstored", [](Match &m) { return m.resultStored(0).type() == TensorType::INT8; },
      "what is stored as it is was asked for another type");
  all.push_back(created("absent-given", broadcastTo(Tensor(), list({2, 2})), root,
                        broadcastTo(maximum(clone(inner), 0), list({2, 2})).synthetic(SyntheticReason::Broadcast),
                        "operand 0 of BROADCAST_TO is absent"));
  all.push_back(created("absent-to-a-copy", clone(root).operand(0, Tensor()), root, clone(root).operand(0, -x + 0),
                        "operand 0 of RELU is absent"));
  all.push_back(created("absent-among-many", op(Op::CONCATENATION, {clone(inner), Tensor()}), root,
                        op(Op::CONCATENATION, {clone(inner)}), "operand 1 of CONCATENATION is absent"));
  all.push_back(created("absent-folded", clone(root).operand(0, x * fold(Expr(Tensor()) * 2)), root,
                        clone(root).operand(0, x * fold(Expr(1) * 2)), "operand 0 of MUL is absent"));
  all.push_back(created("too-few", maximum(x, 0) + op(Op::MUL, {x}), root, maximum(x, 0) + op(Op::NEG, {x}),
                        "MUL does not take 1 operands"));
  all.push_back(created("result-absent", Tensor(), root, maximum(-x, 0), "what takes the place of a result is absent"));
  Liar pattern =
      created("absent-option-of-a-pattern", maximum(x, 0), relu(x).with("axis", 0), x, "RELU has no option axis");
  pattern.honest = {honestly(relu(x), [=](Match &m) { return m.replace(maximum(x, 0)); })};
  all.push_back(pattern);
  all.push_back(created("absent-operand-of-a-pattern", maximum(x, 0), relu(x).operand("gamma", any()), x,
                        "RELU has no operand gamma"));
  all.back().honest = pattern.honest;
  return all;
}

/// max(x, x/2) of max(x, x/4) is max(x, x/8), and none of the two.
static Liar copyOfUnequal() {
  auto x = any();
  auto inner = op(Op::LEAKY_RELU, {x}), root = op(Op::LEAKY_RELU, {inner});
  Expr copy = clone({root, inner}).operand(0, x);
  return {"copy-of-unequal",
          R"(%a: f32[2,2] = LEAKY_RELU(%x) {alpha=0.25}
             %b: f32[2,2] = LEAKY_RELU(%a) {alpha=0.5}
             %y: f32[2,2] = EXP(%b))",
          {lying(root, [=](Match &m) { return m.replace(copy); })},
          {honestly(root, [=](Match &m) { return m.replace(copy.withReal("alpha", 0.125)); })},
          "a copy is of operators with other options"};
}

std::vector<Liar> answerLiars() {
  auto upper = [](Match &m) { return m.replace(maximum(m.root().operand(0u), 0)); };
  auto twice = [=](Match &m) { return upper(m).isApplied() ? upper(m) : decline("other"); };
  auto denied = [=](Match &m) { return upper(m).isApplied() ? decline("nothing to do") : decline("other"); };
  auto pretended = [](Match &) { return RewriteResult::applied(); };
  auto absent = [](Match &m) { return m.replace(rewrite::result(cloneRoot(), 1)); };
  std::vector<Liar> all = createdLiars();
  llvm::append_range(all, absentLiars());
  all.push_back(copyOfUnequal());
  for (Liar &liar :
       std::vector<Liar>{of("absent_result", absent, "what is created has no such result"),
                         of("twice", twice, "a match is replaced once"),
                         of("denied", denied, "the rule declines, and has replaced the match"),
                         of("pretended", pretended, "the rule says that it applied, and has replaced nothing")})
    all.push_back(std::move(liar));
  return all;
}

} // namespace origo::test
