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

std::vector<Liar> answerLiars() {
  auto upper = [](Match &m) { return m.replace(maximum(m.root().operand(0u), 0)); };
  auto twice = [=](Match &m) { return upper(m).isApplied() ? upper(m) : decline("other"); };
  auto denied = [=](Match &m) { return upper(m).isApplied() ? decline("nothing to do") : decline("other"); };
  auto pretended = [](Match &) { return RewriteResult::applied(); };
  auto absent = [](Match &m) { return m.replace(rewrite::result(cloneRoot(), 1)); };
  return {of("absent_result", absent, "what is created has no such result"),
          of("twice", twice, "a match is replaced once"),
          of("denied", denied, "the rule declines, and has replaced the match"),
          of("pretended", pretended, "the rule says that it applied, and has replaced nothing")};
}

} // namespace origo::test
