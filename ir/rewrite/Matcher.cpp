#include "ir/rewrite/Match.h"

#include "ir/ConstantView.h"
#include "ir/rewrite/ValueNumbers.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

namespace origo::rewrite {

/// Is it a constant of this one number, in whatever shape? Reading a big one is work, which counts as steps.
bool Matcher::isNumber(Value *value, const Expr::Node &node, double &found) {
  std::optional<float> first = match.firstOf(Tensor(value));
  if (!first)
    return false;
  found = *first;
  if (node.tolerance == 0 ? *first != static_cast<float>(node.number)
                          : !(std::abs(found - node.number) <= std::abs(node.number) * node.tolerance))
    return false;
  uint64_t count = *value->elementCount();
  steps += std::min<uint64_t>(count / 256, budget);
  return count == 1 || (steps <= budget && match.isAll(Tensor(value), *first));
}

bool Matcher::miss(llvm::function_ref<std::string()> expected) {
  if (furthest && parts >= furthest->parts && (parts > furthest->parts || furthest->expected.empty()))
    *furthest = {parts, expected()};
  return false;
}

/// What only the match may use is known when all of it is found.
bool Matcher::isClosed() const {
  return llvm::all_of(closed, [&](const Value *value) {
    bool inside = value->otherUses == 0;
    value->forEachUse([&](Use &use) { inside &= llvm::is_contained(match.consumed, use.user()); });
    return inside;
  });
}

bool Matcher::find(const Expr &pattern, Operator &root) {
  match.consumed.clear();
  match.bound.clear();
  match.operations.clear();
  match.each.clear();
  match.taken.clear();
  if (!root.result())
    return false;
  // Is the shape of what is computed static but for a batch, which no constant says the size of?
  auto leavesBatch = [&] {
    int most = 0;
    for (const Value *constant : match.read) {
      if (constant->rank() > 0 && constant->shape[0] != 1)
        return false;
      most = std::max(most, constant->rank());
    }
    return llvm::all_of(match.consumed, [&](const Operator *op) {
      auto fits = [&](const Value *value) {
        Tensor tensor(const_cast<Value *>(value));
        return !value || value->isConstant() || (tensor.isStaticButBatch() && tensor.rank() >= most);
      };
      return llvm::all_of(op->results(), fits) &&
             llvm::all_of(op->operands(), [&](const Use &use) { return fits(use.get()); });
    });
  };
  return matches(pattern, root.result(), [&] {
    if (wide && !match.isStatic() && !leavesBatch()) // else it may be the constant that says how big the result is
      return miss([] { return "one number, for the shapes are not known before run time"; });
    return isClosed() || miss([] { return "no user outside"; });
  });
}

/// A name that stands twice is the same value, or a constant that is equal, which counts as read.
bool Matcher::bind(const Expr &pattern, Value *value, Next next) {
  auto [known, fresh] = match.bound.try_emplace(pattern.key(), value);
  if (!fresh) {
    Value *first = known->second;
    if (first == value)
      return next();
    if (!first || !value || !sameConstant(*first, *value))
      return miss([] { return "the same value as before"; });
    steps += std::min<uint64_t>(value->payload().size() / 1024, budget);
    match.read.append({first, value});
    if (next())
      return true;
    match.read.pop_back_n(2);
    return false;
  }
  ++parts;
  if (next())
    return true;
  --parts;
  match.bound.erase(pattern.key());
  return false;
}

bool Matcher::matches(const Expr &pattern, Value *value, Next next) {
  if (++steps > budget)
    return false;
  const Expr::Node &node = *pattern.key();
  switch (node.kind) {
  case Expr::Kind::Any:
    return value || node.optional ? bind(pattern, value, next) : miss([] { return "an operand"; });
  case Expr::Kind::Constant:
    return (!value && node.optional) || Tensor(value).isDenseConstant() ? bind(pattern, value, next)
                                                                        : miss([] { return "a constant"; });
  case Expr::Kind::Number: {
    double found = std::nan("");
    if (!isNumber(value, node, found))
      return miss([&] { return shown(node.number) + (std::isnan(found) ? "" : ", found " + shown(found)); });
    match.read.push_back(value);
    ++parts;
    bool isWide = *value->elementCount() > 1, isTaken = node.tolerance != 0 && !node.means.is(found);
    wide += isWide;
    if (isTaken)
      match.taken.push_back({found, node.means});
    if (next())
      return true;
    if (isTaken)
      match.taken.pop_back();
    wide -= isWide;
    --parts;
    match.read.pop_back();
    return false;
  }
  case Expr::Kind::Either:
    return llvm::any_of(node.operands, [&](const Expr &one) { return matches(one, value, next); });
  case Expr::Kind::Through: {
    if (matches(node.operands.front(), value, next))
      return true;
    Operator *op = value ? value->producer() : nullptr;
    if (!op || !llvm::is_contained(node.codes, op->code))
      return false;
    bool fresh = !llvm::is_contained(match.consumed, op); // the same one may be in between for two uses
    if (fresh)
      match.consumed.push_back(op);
    if (matches(node.operands.front(), op->operand(0), next))
      return true;
    if (fresh)
      match.consumed.pop_back();
    return false;
  }
  case Expr::Kind::Result: {
    Operator *op = value ? value->producer() : nullptr;
    if (!op || op->result(node.result) != value)
      return miss([&] { return "result " + std::to_string(node.result); });
    return bind(pattern, value, [&] { return matchesOperation(node.operands.front(), *op, op->result(), next); });
  }
  case Expr::Kind::Operation: {
    Operator *op = value ? value->producer() : nullptr;
    if (!op)
      return miss([&] { return "an operator"; });
    return matchesOperation(pattern, *op, value, next);
  }
  default:
    llvm_unreachable("only what takes the place of a match may be computed");
  }
}

static std::string namesOf(const Expr::Node &node) {
  if (node.codes.empty())
    return "another kind of operator";
  std::string names;
  for (Op code : node.codes)
    names += (names.empty() ? "" : " or ") + operatorInfo(code)->name.str();
  return names;
}

bool Matcher::matchesOperation(const Expr &pattern, Operator &op, Value *value, Next next) {
  const Expr::Node &node = *pattern.key();
  bool fits =
      llvm::is_contained(node.codes, op.code) || (node.trait != Trait::None && op.info() && op.info()->has(node.trait));
  if (!fits || (!node.customCode.empty() && op.customCode() != node.customCode) || op.result() != value)
    return miss([&] { return namesOf(node) + ", found " + op.opName(); });
  if (node.users == Expr::Users::One && !value->hasOneUse())
    return miss([] { return "one use"; });
  if (!node.mayActivate && activationOf(op) != Activation::NONE)
    return miss([] { return "no fused activation"; });
  for (const Expr::Option &option : node.options)
    if (Node(&op).option(option.name) != option.value)
      return miss([&] { return option.name.str() + " = " + std::to_string(option.value); });

  bool fresh = !llvm::is_contained(match.consumed, &op);
  if (fresh)
    match.consumed.push_back(&op);
  if (node.users == Expr::Users::None)
    closed.push_back(value);
  auto known = match.operations.find(pattern.key());
  Operator *before = known == match.operations.end() ? nullptr : known->second;
  match.operations[pattern.key()] = &op;
  bool found = bind(pattern, value, [&] { return matchesOperands(node, op, 0, next); });
  if (found)
    return true;
  if (before)
    match.operations[pattern.key()] = before;
  else
    match.operations.erase(pattern.key());
  if (node.users == Expr::Users::None)
    closed.pop_back();
  if (fresh)
    match.consumed.pop_back();
  return false;
}

using Factors = llvm::SmallVector<const Expr *, 6>;

static bool isNested(Op code, const Expr::Node &node) {
  return node.kind == Expr::Kind::Operation && llvm::ArrayRef(node.codes) == llvm::ArrayRef(code) &&
         node.users == Expr::Users::Any && !node.mayActivate && node.named.empty() && node.options.empty();
}

/// The terms of a sum or the factors of a product, however they are nested; one list for each choice of alternatives.
static void flatten(Op code, const Expr &expression, std::vector<Factors> &lists) {
  const Expr::Node &node = *expression.key();
  if (isNested(code, node)) {
    for (const Expr &operand : node.operands)
      flatten(code, operand, lists);
    return;
  }
  bool divides = node.kind == Expr::Kind::Either &&
                 llvm::any_of(node.operands, [&](const Expr &one) { return isNested(code, *one.key()); });
  if (!divides) {
    for (Factors &list : lists)
      list.push_back(&expression);
    return;
  }
  std::vector<Factors> all;
  for (const Expr &one : node.operands) {
    std::vector<Factors> with = lists;
    flatten(code, one, with);
    all.insert(all.end(), with.begin(), with.end());
  }
  lists = std::move(all);
}

bool Matcher::matchesOperands(const Expr::Node &node, Operator &op, unsigned i, Next next) {
  if (i < node.operands.size()) {
    if (i == 0 && node.operands.size() == 2 && op.numOperands() == 2 && op.info()->has(Trait::Commutative)) {
      std::vector<Factors> lists(1);
      for (const Expr &operand : node.operands)
        if (node.codes.size() == 1 && (op.code == Op::ADD || op.code == Op::MUL))
          flatten(op.code, operand, lists);
        else
          lists.front().push_back(&operand);
      return llvm::any_of(lists, [&](const Factors &factors) { return matchesSplit(op.code, factors, op, next); });
    }
    return matches(node.operands[i], op.operand(i), [&] { return matchesOperands(node, op, i + 1, next); });
  }
  if (size_t named = i - node.operands.size(); named < node.named.size()) {
    const auto &[name, operand] = node.named[named];
    return matches(operand, op.operand(Node(&op).position(name)),
                   [&] { return matchesOperands(node, op, i + 1, next); });
  }
  if (node.each && op.numOperands() == 0) // what holds of every operand holds of at least one
    return miss([] { return "an operand"; });
  return node.each ? matchesEach(*node.each, op, 0, next) : next();
}

/// A name in the pattern of an operand stands for something of its own in each of them.
bool Matcher::matchesEach(const Expr &pattern, Operator &op, unsigned i, Next next) {
  if (i == op.numOperands())
    return next();
  Match::Names before = match.names();
  return matches(pattern, op.operand(i), [&] {
    Match::Names all = match.names(), own = all;
    for (const auto &[key, value] : before.bound)
      own.bound.erase(key);
    for (const auto &[key, value] : before.operations)
      own.operations.erase(key);
    match.each.push_back(own);
    match.setNames(before);
    if (matchesEach(pattern, op, i + 1, next))
      return true;
    match.each.pop_back();
    match.setNames(all);
    return false;
  });
}

/// Divides the factors between the two operands in every way.
bool Matcher::matchesSplit(Op code, llvm::ArrayRef<const Expr *> factors, Operator &op, Next next) {
  for (unsigned left = 1; left + 1 < (1u << factors.size()); ++left) {
    llvm::SmallVector<const Expr *, 4> sides[2];
    for (auto [i, factor] : llvm::enumerate(factors))
      sides[(left >> i & 1) ? 0 : 1].push_back(factor);
    if (matchesFactors(code, sides[0], op.operand(0),
                       [&] { return matchesFactors(code, sides[1], op.operand(1), next); }))
      return true;
  }
  return false;
}

bool Matcher::matchesFactors(Op code, llvm::ArrayRef<const Expr *> factors, Value *value, Next next) {
  if (factors.size() == 1)
    return matches(*factors.front(), value, next);
  Operator *op = value ? value->producer() : nullptr;
  if (++steps > budget || !op || op->code != code || op->numOperands() != 2 || activationOf(*op) != Activation::NONE)
    return miss([&] { return operatorInfo(code)->name.str(); });
  bool fresh = !llvm::is_contained(match.consumed, op);
  if (fresh)
    match.consumed.push_back(op);
  if (matchesSplit(code, factors, *op, next))
    return true;
  if (fresh)
    match.consumed.pop_back();
  return false;
}

} // namespace origo::rewrite
