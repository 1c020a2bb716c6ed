#include "passes/Rule.h"

namespace origo {

/// if(true, x) → then(x), if(false, x) → else(x)
static Rule branch() {
  auto choice = constant();
  return {"branch", "the condition is not constant", op(Op::IF, {choice}), [=](Match &m) {
            bool taken = m[choice].elementCount() == 1 && m.isEvery(m[choice], 1);
            if (!taken && !(m[choice].elementCount() == 1 && m.isEvery(m[choice], 0)))
              return decline("the condition is no single truth value");
            return m.inlineRoot(taken ? 0 : 1);
          }};
}

/// call(x) → f(x), where f is what is called
static Rule call() {
  return {"call", "", op(Op::CALL, {}), [](Match &m) { return m.inlineRoot(0); }};
}

Pass InlineCalls() {
  return {"inline-calls",
          "if(constant, x) -> the branch that is taken, call(x) -> what is called",
          Phase::Decompose,
          true,
          {},
          {branch(), call()}};
}

} // namespace origo
