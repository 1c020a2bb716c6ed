#pragma once

#include "ir/rewrite/Rewriter.h"

namespace origo {

/// When a pass has its turn. Each phase is a fixed point, and in each the simplifications are tried as well.
enum class Phase : uint8_t { Simplify, Decompose, Recognise, Layout, Fuse, Quantize, Backend };
llvm::StringRef phaseName(Phase phase); ///< for readers: "fuse and fold"

/// A pattern, and what takes its place.
struct Rule {
  using Build = std::function<RewriteResult(rewrite::Match &)>;

  /// `mismatch`: what is said where the pattern is not found.
  Rule(llvm::StringLiteral name, llvm::StringLiteral mismatch, rewrite::Expr pattern, Build build)
      : name(name), mismatch(mismatch), pattern(std::move(pattern)), build(std::move(build)) {}
  Rule(llvm::StringLiteral name, llvm::StringLiteral mismatch, rewrite::Expr pattern, rewrite::Expr result,
       SourceLine where = SourceLine::current())
      : Rule(name, mismatch, std::move(pattern), [=](rewrite::Match &m) { return m.replace(result, where); }) {}
  /// Operators of the pattern that do the same become one; the rewriter sees itself what is equal.
  static Rule mergeEqual(rewrite::Expr pattern) { return Rule("equal", "", std::move(pattern), Build()); }

  /// What is right only if the model means it so. What a rule takes a number for, as patterns with `near` and `about`
  /// do, is proved of its rewrites if it says so here (docs/proof.md).
  Rule assumes(llvm::StringLiteral what) && {
    assumed = what;
    return std::move(*this);
  }

  llvm::StringLiteral name, mismatch, assumed = "";
  rewrite::Expr pattern;
  Build build; ///< null: of equal operators
  /// The operators that the pattern can have at its root.
  std::vector<BuiltinOperator> roots() const;
  /// Has the pattern an operator besides its root?
  bool isOfSeveral() const;
};

/// Whether a pass is in -O2, which applies it only where the target takes more of what it makes than of what was there.
enum class Mends : uint8_t {
  Never,
  Exactly,       ///< the same numbers, up to the order of float operations
  WithinOneStep, ///< of a quantised result, for each operator; on request
  HybridToFloat, ///< numbers that no integer kernel rounds any more; on request
};

/// A flag of circle2circle that asks for a pass, or for a part of it.
struct PassFlag {
  llvm::StringLiteral name;            ///< without dashes, spelled as in the circle toolchain
  std::vector<Rewriter::Scope> scopes; ///< empty: all of the pass
};

/// Its name is the option, the name in maps and the name in messages.
struct Pass {
  llvm::StringLiteral name;
  llvm::StringLiteral summary; ///< the equation, in one line
  Phase phase;
  bool inO1;
  std::vector<PassFlag> flags;
  std::vector<Rule> rules;
  bool mergesConstants = false;  ///< equal constants become one, before the rules run
  bool changesResults = false;   ///< the flag asks for just that: what it makes computes other numbers
  bool usesCodes = false;        ///< of weights, which some outputs are until it had its turn
  llvm::StringLiteral note = ""; ///< for docs/passes.md: what the equation does not say
  Mends mends = Mends::Never;
  llvm::StringLiteral bound = "";
  bool onlyRounding = false;

  Pass mending(Mends how = Mends::Exactly) && {
    mends = how;
    return std::move(*this);
  }
  /// By how much its results may be others, where `changesResults`.
  Pass within(llvm::StringLiteral text) && {
    bound = text;
    return std::move(*this);
  }
  /// The same where all that goes is rounding and clamping, which no verification takes for wrong then.
  Pass withoutRounding(llvm::StringLiteral text) && {
    onlyRounding = true;
    return std::move(*this).within(text);
  }
  Pass about(llvm::StringLiteral text) && {
    note = text;
    return std::move(*this);
  }
};

/// All passes: by phase, and in it by the name of the file that has them. passes/PHASE/NAME.cpp defines `Pass NAME()`.
llvm::ArrayRef<Pass> allPasses();
const Pass *findPass(llvm::StringRef name);

} // namespace origo
