#include "passes/Rule.h"

#include "llvm/ADT/STLExtras.h"

namespace origo {

#define PASS(NAME) Pass NAME();
#include "passes/Passes.inc"
#undef PASS

llvm::StringRef phaseName(Phase phase) {
  static constexpr llvm::StringLiteral names[] = {
      "in each phase", "decompose and resolve", "recognise", "layout", "fuse and fold",
      "quantise",      "shape for back ends"};
  return names[static_cast<unsigned>(phase)];
}

static void addRoots(const Expr &pattern, std::vector<Op> &roots) {
  const Expr::Node &node = *pattern.key();
  if (node.kind == Expr::Kind::Either)
    for (const Expr &one : node.operands)
      addRoots(one, roots);
  roots.insert(roots.end(), node.codes.begin(), node.codes.end());
  if (node.trait != Trait::None)
    llvm::append_range(roots, operatorsWith(node.trait));
}

std::vector<Op> Rule::roots() const {
  std::vector<Op> roots;
  addRoots(pattern, roots);
  llvm::sort(roots);
  roots.erase(std::unique(roots.begin(), roots.end()), roots.end());
  return roots;
}

/// Has it more than `most` operators, in some alternative?
static bool hasMore(const Expr &pattern, unsigned most) {
  const Expr::Node &node = *pattern.key();
  bool isOperator = node.kind == Expr::Kind::Operation;
  if (isOperator && most == 0)
    return true;
  unsigned left = most - (isOperator ? 1 : 0);
  return llvm::any_of(node.operands, [&](const Expr &operand) { return hasMore(operand, left); }) ||
         llvm::any_of(node.named, [&](const auto &operand) { return hasMore(operand.second, left); }) ||
         (node.each && hasMore(*node.each, left));
}

bool Rule::isOfSeveral() const { return hasMore(pattern, 1); }

llvm::ArrayRef<Pass> allPasses() {
  // Nobody waits for them to be taken apart when the program ends.
  static const auto &passes = *[] {
    auto *all = new std::vector<Pass>();
    all->reserve(256);
#define PASS(NAME) all->push_back(NAME());
#include "passes/Passes.inc"
#undef PASS
    return all;
  }();
  return passes;
}

const Pass *findPass(llvm::StringRef name) {
  auto passes = allPasses();
  const Pass *found = llvm::find_if(passes, [&](const Pass &p) { return p.name == name; });
  return found == passes.end() ? nullptr : found;
}

std::vector<Op> operatorsWith(llvm::ArrayRef<Trait> any) {
  std::vector<Op> codes;
  for (const OperatorInfo &row : allOperators())
    if (llvm::any_of(any, [&](Trait trait) { return row.has(trait); }))
      codes.push_back(row.code);
  return codes;
}

std::vector<Op> pureOperators() {
  std::vector<Op> codes;
  for (const OperatorInfo &row : allOperators())
    if (row.effects == 0)
      codes.push_back(row.code);
  return codes;
}

} // namespace origo
