#include "ir/rewrite/LayoutPlan.h"

#include "ir/ConstantView.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/EquivalenceClasses.h"
#include "llvm/ADT/STLExtras.h"

namespace origo::rewrite {

static bool isPicture(const Value *value) {
  return value && value->isStatic() && value->rank() == 4 &&
         (!value->quantization || value->quantization->scale.size() <= 1);
}

static bool pads(const Operator &op) {
  return llvm::is_contained({BuiltinOperator::PAD, BuiltinOperator::PADV2, BuiltinOperator::MIRROR_PAD}, op.code);
}

/// Does it compute the same whatever the layout, but for its constants?
static bool isIndifferent(const Operator &op) {
  const OperatorInfo *row = op.info();
  if (!row || op.results().size() != 1 || !isPicture(op.result()) || op.effects() != 0)
    return false;
  auto allPictures = [&](bool broadcasts) {
    bool any = false;
    for (const Use &use : op.operands()) {
      const Value *value = use.get();
      if (!value || (!value->isConstant() && !isPicture(value)))
        return false;
      bool same = value->rank() == 4 && value->shape == op.result()->shape;
      if (!value->isConstant() && !same && !broadcasts)
        return false;
      any |= !value->isConstant();
    }
    return any;
  };
  if (op.code == BuiltinOperator::CONCATENATION)
    return allPictures(true) && llvm::none_of(op.operands(), [](const Use &use) { return use.get()->isConstant(); });
  if (pads(op))
    return isPicture(op.operand(0)) && !op.operand(0)->isConstant() && op.operand(1) && op.operand(1)->isConstant() &&
           op.operand(1)->payload().hasBytes();
  return row->has(Trait::Elementwise) && (row->has(Trait::Unary) || row->has(Trait::Binary)) && allPictures(true);
}

/// A transpose between the two layouts: of a picture to channels first, or back.
static bool isTurn(const Operator *op, llvm::ArrayRef<int64_t> wanted) {
  if (!op || op->code != BuiltinOperator::TRANSPOSE)
    return false;
  auto permutation = readIntegers(op->operand(1));
  return permutation && llvm::ArrayRef<int64_t>(*permutation) == wanted;
}
static bool toFirst(const Operator *op) { return isTurn(op, {0, 3, 1, 2}); }
static bool toLast(const Operator *op) { return isTurn(op, {0, 2, 3, 1}); }

LayoutPlan::LayoutPlan(Model &model) {
  for (auto &graph : model.subgraphs) {
    llvm::EquivalenceClasses<const Operator *> regions;
    auto isIn = [&](const Operator *op) { return op && regions.findValue(op) != regions.end(); };
    for (const Operator &op : graph->operators) {
      // Where nothing that it reads is turned, a transpose in front of it is as good behind it, and would be put there.
      if (isIndifferent(op) && llvm::any_of(op.operands(), [&](const Use &use) {
            const Operator *before = use.get() ? use.get()->producer() : nullptr;
            return isIn(before) || toFirst(before);
          }))
        regions.insert(&op);
    }
    for (const Operator &op : graph->operators)
      if (isIn(&op))
        for (const Use &use : op.operands())
          if (use.get() && isIn(use.get()->producer()))
            regions.unionSets(&op, use.get()->producer());
    // Elements that fewer are moved if the region is turned.
    llvm::DenseMap<const Operator *, int64_t> gains;
    llvm::DenseSet<std::pair<const Operator *, const Value *>> entries;
    for (const Operator &op : graph->operators) {
      if (!isIn(&op))
        continue;
      const Operator *region = regions.getLeaderValue(&op);
      for (const Use &use : op.operands()) {
        Value *value = use.get();
        if (!value || value->isConstant() || isIn(value->producer()) || !entries.insert({region, value}).second)
          continue;
        auto size = static_cast<int64_t>(value->elementCount().value_or(0));
        if (!toFirst(value->producer()))
          gains[region] -= size;
        else if (value->otherUses == 0) {
          bool inside = true;
          value->forEachUse([&](Use &user) { inside &= isIn(user.user()) && regions.isEquivalent(user.user(), &op); });
          gains[region] += inside ? size : 0;
        }
      }
      Value *result = op.result();
      auto size = static_cast<int64_t>(result->elementCount().value_or(0));
      bool leaves = result->otherUses != 0;
      unsigned outputs = 0; // one tensor cannot be two of them
      result->forEachUse([&](Use &user) {
        if (!toLast(user.user()))
          leaves |= !isIn(user.user());
        else if (!user.user()->result()->isInterface() || !outputs++)
          gains[region] += size;
      });
      gains[region] -= leaves ? size : 0;
    }
    for (const Operator &op : graph->operators)
      if (isIn(&op) && gains.lookup(regions.getLeaderValue(&op)) > 0)
        turned.insert(&op);
  }
}

} // namespace origo::rewrite
