#pragma once

#include "passes/Rule.h"

#include <bitset>
#include <optional>

namespace origo {

/// Which operators have to compute an operand of an operator, or else a pattern is not found at it: most rules are told
/// from this without a match. Two codes may be one here; then nothing is told.
class Glance {
public:
  Glance(const Expr &pattern, Op root) { known = ofRoot(pattern, root, codes); }
  bool mayMatch(Operator &op) const {
    return !known || llvm::any_of(op.operands(), [&](const Use &use) {
      const Operator *producer = use.get() ? use.get()->producer() : nullptr;
      return producer && codes[indexOf(producer->code)];
    });
  }

private:
  using Codes = std::bitset<512>;
  Codes codes;
  bool known; ///< else any operand may do

  static size_t indexOf(Op code) { return static_cast<size_t>(code) & 511; }

  static void add(const Expr::Node &node, Codes &to) {
    for (Op code : node.codes)
      to.set(indexOf(code));
    if (node.trait != Trait::None)
      for (Op code : operatorsWith(node.trait))
        to.set(indexOf(code));
  }

  /// Adds who may compute what this matches. False: it may be no result of an operator.
  static bool ofOperand(const Expr &pattern, Codes &to) {
    const Expr::Node &node = *pattern.key();
    switch (node.kind) {
    case Expr::Kind::Either:
      return llvm::all_of(node.operands, [&](const Expr &one) { return ofOperand(one, to); });
    case Expr::Kind::Through:
      add(node, to);
      return ofOperand(node.operands.front(), to);
    case Expr::Kind::Result:
      return ofOperand(node.operands.front(), to);
    case Expr::Kind::Operation:
      add(node, to);
      return true;
    default:
      return false;
    }
  }

  /// Adds those of the operand that fewest may compute. False: there is no such operand.
  static bool ofRoot(const Expr &pattern, Op root, Codes &to) {
    const Expr::Node &node = *pattern.key();
    if (node.kind == Expr::Kind::Either)
      return llvm::all_of(node.operands, [&](const Expr &one) { return ofRoot(one, root, to); });
    if (node.kind != Expr::Kind::Operation)
      return false;
    bool fits = llvm::is_contained(node.codes, root) ||
                (node.trait != Trait::None && operatorInfo(root) && operatorInfo(root)->has(node.trait));
    if (!fits)
      return true; // it adds no way to match
    std::optional<Codes> least;
    auto look = [&](const Expr &operand) {
      Codes here;
      if (ofOperand(operand, here) && (!least || here.count() < least->count()))
        least = here;
    };
    llvm::for_each(node.operands, look);
    for (const auto &[name, operand] : node.named)
      look(operand);
    if (node.each)
      look(*node.each);
    if (!least)
      return false;
    // Terms of sums and factors of products may be together in one operand.
    if (root == Op::ADD || root == Op::MUL)
      least->set(indexOf(root));
    to |= *least;
    return true;
  }
};

} // namespace origo
