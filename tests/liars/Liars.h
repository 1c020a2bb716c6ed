#pragma once

#include "passes/Rule.h"

/// Rules that lie about where things come from, each beside an honest one that differs in the lie only.
namespace origo::test {

struct Liar {
  std::string name;
  std::string graph; ///< the body of @main(%x: f32[2,2], %z: f32[2,2]) -> (%y)
  std::vector<Rule> lie, honest;
  std::string reason; ///< what the engine says to the lie
};

std::vector<Liar> operandLiars();
std::vector<Liar> numberLiars();
std::vector<Liar> rootLiars();
std::vector<Liar> answerLiars();

inline Rule honestly(rewrite::Expr pattern, Rule::Build build) { return {"honest", "", pattern, build}; }
inline Rule lying(rewrite::Expr pattern, Rule::Build build) { return {"lie", "", pattern, build}; }
/// Remembers something of a match that is left as it is.
template <class F> Rule keeping(rewrite::Expr pattern, F keep) {
  return {"keep", "", pattern, [=](rewrite::Match &m) {
            keep(m);
            return decline("only looks");
          }};
}

} // namespace origo::test
