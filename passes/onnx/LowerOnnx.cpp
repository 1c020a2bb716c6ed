#include "passes/onnx/LowerOnnx.h"

#include "passes/onnx/Lowering.h"

#include "llvm/ADT/StringMap.h"

#include <cmath>

namespace origo {

namespace onnx {

int64_t Lowering::integer(const char *attribute, int64_t otherwise) const {
  return has(attribute) ? attributes[attribute].AsInt64() : otherwise;
}
double Lowering::real(const char *attribute, double otherwise) const {
  return has(attribute) ? attributes[attribute].AsDouble() : otherwise;
}
llvm::StringRef Lowering::text(const char *attribute, llvm::StringRef otherwise) const {
  if (!attributes[attribute].IsString())
    return otherwise;
  auto text = attributes[attribute].AsString();
  return {text.c_str(), text.length()};
}
llvm::SmallVector<int64_t, 8> Lowering::integers(const char *attribute) const {
  llvm::SmallVector<int64_t, 8> list;
  if (attributes[attribute].IsTypedVector())
    for (auto all = attributes[attribute].AsTypedVector(); list.size() < all.size();)
      list.push_back(all[list.size()].AsInt64());
  return list;
}
llvm::SmallVector<float, 8> Lowering::reals(const char *attribute) const {
  llvm::SmallVector<float, 8> list;
  if (attributes[attribute].IsTypedVector())
    for (auto all = attributes[attribute].AsTypedVector(); list.size() < all.size();)
      list.push_back(all[list.size()].AsFloat());
  return list;
}
std::vector<std::string> Lowering::texts(const char *attribute) const {
  std::vector<std::string> list;
  if (attributes[attribute].IsVector())
    for (auto all = attributes[attribute].AsVector(); list.size() < all.size();)
      list.push_back(all[list.size()].AsString().str());
  return list;
}
Tensor Lowering::tensor(const char *attribute) const {
  return has(attribute) ? node.operand(static_cast<unsigned>(integer(attribute))) : Tensor();
}
std::optional<int> Lowering::axis(int64_t axis, int rank) {
  axis += axis < 0 ? rank : 0;
  return axis >= 0 && axis < rank ? std::optional(static_cast<int>(axis)) : std::nullopt;
}

Expr castTo(Expr x, TensorType from, TensorType to) {
  if (from == to)
    return x;
  return op(Op::CAST, {std::move(x)})
      .with("in_data_type", static_cast<int64_t>(from))
      .with("out_data_type", static_cast<int64_t>(to));
}
Expr number(double value, TensorType type) {
  if (type == TensorType::FLOAT32)
    return value;
  if (isInteger(type) && std::abs(value) < 2147483648.0 && value == std::trunc(value)) // a float has not all of them
    return fold(castTo(reshape(list({static_cast<int32_t>(value)}), list({})), TensorType::INT32, type));
  return fold(castTo(value, TensorType::FLOAT32, type));
}
Expr bridged(Tensor x, TensorType to) {
  if (x.type() == to)
    return x;
  Expr cast = castTo(x, x.type(), to);
  return x.isDenseConstant() ? fold(cast) : cast.synthetic(SyntheticReason::TypeBridge);
}
Expr indices(Tensor x) { return bridged(x, TensorType::INT32); }
Expr turned(Expr x, llvm::ArrayRef<int32_t> permutation) {
  return transpose(std::move(x), list(permutation)).synthetic(SyntheticReason::LayoutBridge);
}
Expr turnedConstant(Tensor x, llvm::ArrayRef<int32_t> permutation) {
  return x.isDenseConstant() ? fold(transpose(x, list(permutation))) : turned(x, permutation);
}
Expr shaped(Expr x, llvm::ArrayRef<int32_t> shape) {
  return reshape(std::move(x), list(shape)).synthetic(SyntheticReason::LayoutBridge);
}
Expr openShape(Tensor x, llvm::ArrayRef<int32_t> sizes, llvm::ArrayRef<int> copies,
               const std::optional<Integers> &from) {
  if (llvm::count(sizes, -1) <= 1)
    return from ? Expr(from->with(sizes)) : list(sizes);
  Expr shape = op(Op::SHAPE, {x}).with("out_type", static_cast<int64_t>(TensorType::INT32));
  std::vector<Expr> parts;
  for (auto [size, copied] : llvm::zip(sizes, copies)) {
    if (size == -1)
      parts.push_back(op(Op::SLICE, {shape, list({copied}), list({1})}));
    else
      parts.push_back(from ? Expr(from->with({size})) : list({size}));
  }
  return op(Op::CONCATENATION, parts).with("axis", 0);
}
std::optional<int32_t> countOf(Tensor list) {
  if (!list.isStatic() || list.rank() > 1)
    return std::nullopt;
  return static_cast<int32_t>(list.elementCount().value_or(0));
}
Expr atAxes(const Expr &axes, int rank) {
  Expr all = number(rank, TensorType::INT32);
  Expr one = number(1, TensorType::INT32), zero = number(0, TensorType::INT32);
  return op(Op::ONE_HOT, {op(Op::FLOOR_MOD, {axes, all}), all, one, zero}).with("axis", -1);
}
Expr sizesOf(Tensor x) {
  return x.isStatic() ? list(x.shape()) : op(Op::SHAPE, {x}).with("out_type", static_cast<int64_t>(TensorType::INT32));
}
/// Of numbers that fall, the greatest stand where an axis stays.
Expr otherSizes(Tensor x, const Expr &axes, int32_t count) {
  Sizes falling;
  for (int32_t i = 0; i < x.rank(); ++i)
    falling.push_back(x.rank() - i);
  Expr stays = number(1, TensorType::INT32) - overRows(atAxes(axes, x.rank()));
  Expr most = op(Op::TOPK_V2, {stays * list(falling), number(x.rank() - count, TensorType::INT32)}).results(2);
  return op(Op::GATHER, {sizesOf(x), result(most, 1)}).with("axis", 0);
}
Expr overRows(Expr table) { return op(Op::SUM, {std::move(table), list({0})}).with("keep_dims", 0); }
Expr pairs(llvm::ArrayRef<int32_t> numbers) {
  return fold(reshape(list(numbers), list({static_cast<int32_t>(numbers.size() / 2), 2})));
}
bool isInteger(TensorType type) {
  switch (type) {
  case TensorType::INT8:
  case TensorType::UINT8:
  case TensorType::INT16:
  case TensorType::UINT16:
  case TensorType::INT32:
  case TensorType::UINT32:
  case TensorType::INT64:
  case TensorType::UINT64:
    return true;
  default:
    return false;
  }
}

std::optional<Expr> activated(Lowering &n, Expr value) {
  llvm::StringRef name = n.text("activation");
  if (name.empty())
    return value;
  if (name == "LeakyRelu")
    return op(Op::LEAKY_RELU, {std::move(value)}).withReal("alpha", n.real("activation_alpha", 0.01));
  for (auto [known, code] :
       {std::pair("Relu", Op::RELU), std::pair("Sigmoid", Op::LOGISTIC), std::pair("Tanh", Op::TANH)})
    if (name == known)
      return op(code, {std::move(value)});
  return std::nullopt;
}

RewriteResult asItIs(Lowering &n) {
  Tensor x = n.input(0), y = n.node.result();
  if (!y.isOutput() && x.isDenseConstant())
    return n.replace(fold(reshape(x, list(x.shape()))));
  if (!y.isOutput() || !(x.isOutput() || x.isConstant()))
    return n.replace(x);
  if (x.isStatic())
    return n.replace(reshape(x, list(x.shape())));
  return n.replace(reshape(x, op(Op::SHAPE, {x}).with("out_type", static_cast<int64_t>(TensorType::INT32))));
}

static const llvm::StringMap<RewriteResult (*)(Lowering &)> &table() {
  static const auto rows = [] {
    llvm::StringMap<RewriteResult (*)(Lowering &)> rows;
    for (llvm::ArrayRef<Row> list : {elementwiseRows(), shapeRows(), movementRows(), pickingRows(), reductionRows(),
                                     linearRows(), windowRows(), resizingRows(), normalisationRows(), recurrentRows(),
                                     quantisationRows(), lossRows(), samplingRows(), attentionRows(), loopRows()})
      for (const Row &row : list)
        rows[row.name] = row.lower;
    return rows;
  }();
  return rows;
}

} // namespace onnx

bool isLoweredFromOnnx(llvm::StringRef name) { return onnx::table().contains(name); }

static Rule lower() {
  auto node = op(Op::CUSTOM, {});
  return {"lower", "", node, [](Match &m) {
            Node node = m.root();
            llvm::StringRef name = node.customCode();
            if (!name.consume_front("onnx."))
              return decline("no operator of ONNX");
            auto row = onnx::table().find(name);
            std::optional<flexbuffers::Map> attributes = attributesOf(node);
            if (row == onnx::table().end() || !attributes)
              return decline("nothing of circle stands for it");
            for (unsigned i = 0; i < node.operandCount(); ++i)
              if (node.operand(i) && node.operand(i).type() == TensorType::VARIANT)
                return decline("an operator in front of it is not lowered");
            onnx::Lowering lowering(m, node, *attributes);
            return row->second(lowering);
          }};
}

/// What was float32 is infinite as float64 where it was before.
static Rule infiniteAsDouble() {
  auto x = any();
  auto wider = op(Op::CAST, {x}).once();
  return {"infinite-as-double", "", op(Op::CUSTOM, {wider}), [=](Match &m) {
            Node node = m.root();
            std::optional<flexbuffers::Map> attributes = attributesOf(node);
            bool widens = m[x].type() == TensorType::FLOAT32 || m[x].type() == TensorType::FLOAT16;
            if (node.customCode() != "onnx.IsInf" || !attributes || !widens || m[wider].type() != TensorType::FLOAT64)
              return decline("not IsInf of what was float32");
            onnx::Lowering lowering(m, node, *attributes);
            return onnx::isInfinite(lowering, m[x]);
          }};
}

/// An optional that nothing is put into has no element.
static Rule emptyOptional() {
  auto none = custom("onnx.Optional", {});
  return {"empty-optional", "", custom("onnx.OptionalHasElement", {none}), [=](Match &m) {
            return m.op(none).operandCount() ? decline("it has one") : m.replace(onnx::number(0, TensorType::BOOL));
          }};
}

static Rule unroll() {
  return {"unroll", "", op(Op::WHILE, {}), [](Match &m) {
            Node node = m.root();
            std::optional<flexbuffers::Map> attributes = attributesOf(node);
            if (!attributes || !(*attributes)["$op"].IsString())
              return decline("no loop of ONNX");
            for (unsigned i = 0; i < node.operandCount(); ++i)
              if (node.operand(i) && node.operand(i).type() == TensorType::VARIANT)
                return decline("an operator in front of it is not lowered");
            onnx::Lowering lowering(m, node, *attributes);
            return onnx::unrolled(lowering);
          }};
}

const Pass &lowerOnnx() {
  static const Pass pass{"lower-onnx",
                         "operators of ONNX -> operators of circle",
                         Phase::Decompose,
                         false,
                         {},
                         {infiniteAsDouble(), emptyOptional(), lower(), unroll()}};
  return pass;
}

} // namespace origo
