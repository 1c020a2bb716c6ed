#pragma once

#include "ir/Rewriter.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace origo {

using RuleFunction = RewriteResult (*)(Operator &root, Rewriter &rw);

/// A rule of a pass: on which operators it is tried.
struct Rule {
  llvm::StringLiteral name;
  RuleFunction apply;
  std::vector<BuiltinOperator> roots;
};

/// A flag of circle2circle that asks for a pass, or for a part of it.
struct PassFlag {
  llvm::StringLiteral name;            ///< without dashes, spelled as in the circle toolchain
  std::vector<Rewriter::Scope> scopes; ///< empty: all of the pass
};

/// One row a pass: its name is the option, the name in maps and the name in messages.
struct Pass {
  llvm::StringLiteral name;
  llvm::StringLiteral summary; ///< the equation, in one line
  bool inO1;
  std::vector<PassFlag> flags;
  std::vector<Rule> rules;
  /// What is done once to the whole model before the rules run, because it is not about one operator; may be null.
  void (*once)(Rewriter &rw) = nullptr;
};

/// All passes, in the order in which they are tried on an operator.
llvm::ArrayRef<Pass> allPasses();
const Pass *findPass(llvm::StringRef name);

// The rules, one idea a file.
RewriteResult removeNeutralArithmetic(Operator &op, Rewriter &rw);
RewriteResult removeShapeIdentity(Operator &op, Rewriter &rw);
RewriteResult removeCast(Operator &op, Rewriter &rw);
RewriteResult removeSplit(Operator &op, Rewriter &rw);
void mergeDuplicateConstants(Rewriter &rw);
RewriteResult mergeDuplicates(Operator &op, Rewriter &rw);
RewriteResult foldConstants(Operator &op, Rewriter &rw);
RewriteResult mergeReshapes(Operator &outer, Rewriter &rw);
RewriteResult cancelReshapes(Operator &outer, Rewriter &rw);
RewriteResult mergeTransposes(Operator &outer, Rewriter &rw);
RewriteResult substituteToReshape(Operator &op, Rewriter &rw);
RewriteResult forwardReshape(Operator &root, Rewriter &rw);
RewriteResult forwardTranspose(Operator &root, Rewriter &rw);
RewriteResult expandBroadcastConstant(Operator &op, Rewriter &rw);
RewriteResult mergeConstantArithmetic(Operator &outer, Rewriter &rw);
RewriteResult recogniseRelu6(Operator &root, Rewriter &rw);
RewriteResult decomposeHardSwish(Operator &op, Rewriter &rw);
RewriteResult fuseScaleIntoLinear(Operator &root, Rewriter &rw);
RewriteResult fuseShiftIntoLinear(Operator &root, Rewriter &rw);
RewriteResult fuseActivation(Operator &act, Rewriter &rw);

} // namespace origo
