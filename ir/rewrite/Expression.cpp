#include "ir/rewrite/Expression.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

namespace origo::rewrite {

Expr::Expr(Node node) : node(std::make_shared<const Node>(std::move(node))) {}

template <class F> Expr Expr::changed(F change) const {
  Node copy = *node;
  change(copy);
  return Expr(std::move(copy));
}

struct Notation {
  static Expr made(Expr::Node node) { return Expr(std::move(node)); }
};
static Expr made(Expr::Node node) { return Notation::made(std::move(node)); }
static Expr made(Expr::Kind kind) { return made(Expr::Node(kind)); }

static Expr numberOf(Quotient number, double tolerance) {
  Expr::Node node{Expr::Kind::Number};
  node.number = number.rounded();
  node.means = number;
  node.tolerance = tolerance;
  return made(std::move(node));
}

Expr::Expr(double number) : Expr(numberOf({number}, 0)) {}

static Expr boundTo(Tensor tensor) {
  Expr::Node node{Expr::Kind::Bound};
  node.bound = tensor;
  return made(std::move(node));
}
Expr::Expr(Tensor tensor) : Expr(boundTo(tensor)) {}

static Expr listed(const Integers &integers) {
  Expr::Node node{Expr::Kind::Integers};
  node.integers = integers;
  return made(std::move(node));
}
Expr::Expr(const rewrite::Integers &integers) : Expr(listed(integers)) {}

Expr Expr::once() const {
  return changed([](Node &n) { n.users = Users::One; });
}
Expr Expr::inside() const {
  return changed([](Node &n) { n.users = Users::None; });
}
Expr Expr::mayActivate() const {
  return changed([](Node &n) { n.mayActivate = true; });
}
Expr Expr::operand(llvm::StringLiteral name, Expr value) const {
  return changed([&](Node &n) { n.named.emplace_back(name, value); });
}
Expr Expr::operand(unsigned position, Expr value) const {
  return changed([&](Node &n) { n.placed.emplace_back(position, value); });
}
Expr Expr::with(llvm::StringLiteral option, int64_t value) const {
  return changed([&](Node &n) { n.options.push_back({option, value}); });
}
Expr Expr::withReal(llvm::StringLiteral option, double value) const {
  return changed([&](Node &n) { n.options.push_back({option, 0, value}); });
}
Expr Expr::with(llvm::StringLiteral option, Number value) const {
  return changed([&](Node &n) { n.options.push_back({option, 0, value.value, value.parent}); });
}
Expr Expr::as(Tensor typeAndQuantization, Tensor shape) const {
  return changed([&](Node &n) {
    n.typeOf = typeAndQuantization;
    n.shapeOf = shape;
  });
}
Expr Expr::storing(unsigned i, Stored stored) const {
  return changed([&](Node &n) {
    n.stored.resize(std::max<size_t>(n.stored.size(), i + 1));
    n.stored[i] = stored;
  });
}
Expr Expr::intermediates(llvm::ArrayRef<Stored> stored) const {
  return changed([&](Node &n) { n.intermediates.assign(stored.begin(), stored.end()); });
}
Expr Expr::each(Expr operand) const {
  return changed([&](Node &n) { n.each = std::make_shared<const Expr>(operand); });
}
Expr Expr::results(unsigned count) const {
  return changed([&](Node &n) { n.resultCount = count; });
}
Expr Expr::synthetic(SyntheticReason reason) const {
  return changed([&](Node &n) { n.synthetic = reason; });
}

std::string shown(double number) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%g", number);
  return text;
}

Expr any() { return made(Expr::Kind::Any); }
Expr constant() { return made(Expr::Kind::Constant); }
/// What is near a number alone is taken for the float that is nearest to it.
static Quotient floatOf(double number) { return {static_cast<double>(static_cast<float>(number))}; }
Expr near(Quotient number) { return numberOf(number, 1.0 / 2048); } // half a unit in the last place of a float16
Expr about(Quotient number) { return numberOf(number, 3e-7); }
Expr near(double number) { return near(floatOf(number)); }
Expr about(double number) { return about(floatOf(number)); }

Expr optional() {
  Expr::Node node{Expr::Kind::Any};
  node.optional = true;
  return made(std::move(node));
}

Expr optionalConstant() {
  Expr::Node node{Expr::Kind::Constant};
  node.optional = true;
  return made(std::move(node));
}

static Expr with(Expr::Kind kind, std::vector<Expr> operands, llvm::ArrayRef<Op> codes = {}) {
  Expr::Node node{kind};
  node.operands = std::move(operands);
  node.codes.assign(codes.begin(), codes.end());
  return made(std::move(node));
}

Expr operator|(Expr a, Expr b) {
  std::vector<Expr> alternatives;
  for (const Expr &one : {a, b})
    if (one->kind == Expr::Kind::Either) // one list of all, so that sums and products see through it
      alternatives.insert(alternatives.end(), one->operands.begin(), one->operands.end());
    else
      alternatives.push_back(one);
  return with(Expr::Kind::Either, std::move(alternatives));
}
Expr maybe(llvm::ArrayRef<Op> codes, Expr x) { return with(Expr::Kind::Through, {x}, codes); }
Expr anyOf(llvm::ArrayRef<Op> codes, std::vector<Expr> operands) {
  return with(Expr::Kind::Operation, std::move(operands), codes);
}
Expr op(Op code, std::vector<Expr> operands) { return with(Expr::Kind::Operation, std::move(operands), code); }

Expr anyWith(Trait trait, std::vector<Expr> operands) {
  Expr::Node node{Expr::Kind::Operation};
  node.trait = trait;
  node.operands = std::move(operands);
  return made(std::move(node));
}

Expr custom(llvm::StringRef name, std::vector<Expr> operands) {
  Expr::Node node{Expr::Kind::Operation};
  node.codes = {Op::CUSTOM};
  node.customCode = name;
  node.operands = std::move(operands);
  return made(std::move(node));
}

Expr result(Expr operation, unsigned index) {
  Expr::Node node{Expr::Kind::Result};
  node.operands = {operation};
  node.result = index;
  return made(std::move(node));
}

Expr fold(Expr expression) { return with(Expr::Kind::Fold, {expression}); }

Expr clone(std::vector<Expr> originals) {
  Expr::Node node{Expr::Kind::Clone};
  node.originals = std::move(originals);
  return made(std::move(node));
}
Expr clone(Expr original) { return clone(std::vector{original}); }

Expr cloneRoot() { return clone(std::vector<Expr>()); }

Expr store(Expr x, Stored stored) {
  Op code = stored.type() == TensorType::FLOAT16   ? Op::CAST
            : stored.type() == TensorType::FLOAT32 ? Op::DEQUANTIZE
                                                   : Op::QUANTIZE;
  return op(code, {std::move(x)}).storing(0, stored).synthetic(SyntheticReason::QuantizeBorder);
}
Expr variable(Tensor like, Stored stored) {
  Expr::Node node{Expr::Kind::Variable};
  node.bound = like;
  node.stored = {stored};
  return made(std::move(node));
}
Expr load(Expr x, Tensor like) {
  return op(like.isFloat() ? Op::DEQUANTIZE : Op::QUANTIZE, {std::move(x)})
      .as(like)
      .synthetic(SyntheticReason::QuantizeBorder);
}

Expr list(llvm::ArrayRef<int32_t> numbers) {
  Expr::Node node{Expr::Kind::Shape};
  node.sizes.assign(numbers.begin(), numbers.end());
  return made(std::move(node));
}

Expr operator+(Expr a, Expr b) { return op(Op::ADD, {a, b}); }
Expr operator-(Expr a, Expr b) { return op(Op::SUB, {a, b}); }
Expr operator*(Expr a, Expr b) { return op(Op::MUL, {a, b}); }
Expr operator/(Expr a, Expr b) { return op(Op::DIV, {a, b}); }
Expr operator-(Expr x) { return op(Op::NEG, {x}); }

} // namespace origo::rewrite
