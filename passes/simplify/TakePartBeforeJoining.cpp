#include "passes/Rule.h"

namespace origo {

static constexpr char unknownPart[] = "is no part of one operand alone, or it is not known before run time";

/// slice(concat(…, x, …)) → slice(x), where it takes nothing of the others, and nobody else wants these together
static Rule slice() {
  auto joined = op(Op::CONCATENATION, {}).once();
  auto part = op(Op::SLICE, {joined, constant()}) | op(Op::STRIDED_SLICE, {joined, constant(), constant(), constant()});
  return {"slice", "not a slice of a concatenation that has no other users, at constant positions", part,
          [=](Match &m) {
            Node root = m.root();
            std::optional<TakenPart> found = m.partOf(joined);
            if (!found)
              return decline(unknownPart);
            Tensor x = m.op(joined).operand(found->operand);
            if (x.isConstant())
              return decline("is part of a constant");
            if (!x.hasQuantizationOf(m[joined]))
              return decline("is quantised otherwise than what it is a part of");
            std::optional<Integers> begin = m.integers(root.operand(1));
            std::vector<int32_t> first = begin->list();
            first[found->axis] = found->begin;
            if (root.code() == Op::SLICE)
              return m.replace(
                  cloneRoot().operand(0u, x).operand(1u, begin->with(first)).operand(2u, shapeOf(root.result())));
            std::optional<Integers> end = m.integers(root.operand(2)), strides = m.integers(root.operand(3));
            std::vector<int32_t> last = end->list();
            last[found->axis] = found->end;
            return m.replace(cloneRoot()
                                 .operand(0u, x)
                                 .operand(1u, begin->with(first))
                                 .operand(2u, end->with(last))
                                 .operand(3u, strides->with(strides->list())));
          }};
}

/// gather(pack(…, x, …), i) → x, and the same of a slice
static Rule element() {
  auto joined = op(Op::PACK, {});
  return {"element", "not taken of what is packed", anyOf({Op::GATHER, Op::SLICE, Op::STRIDED_SLICE}, {joined}),
          [=](Match &m) {
            std::optional<TakenPart> found = m.partOf(joined);
            if (!found)
              return decline(unknownPart);
            Tensor x = m.op(joined).operand(found->operand);
            if (!x.isStatic() || !x.hasShapeOf(m.root().result()) || !m.keepsOrder())
              return decline("is not all of the operand, or in another shape or order");
            return m.replace(x);
          }};
}

/// split(concat(x, y)) → x, y and unpack(pack(x, y)) → x, y
static Rule all(llvm::StringLiteral name, Expr joined, Expr parts) {
  return {name, "not the parts of what is joined", parts, [=](Match &m) {
            Node root = m.root(), from = m.op(joined);
            std::vector<std::pair<Tensor, Expr>> places;
            for (unsigned i = 0; i < root.resultCount(); ++i) {
              std::optional<TakenPart> found = m.partOf(joined, i);
              if (!found || !from.operand(found->operand).hasShapeOf(root.result(i)))
                return decline("a part is none of the operands, or it is not known before run time");
              places.emplace_back(root.result(i), from.operand(found->operand));
            }
            return m.replace(places);
          }};
}

Pass TakePartBeforeJoining() {
  auto concatenation = op(Op::CONCATENATION, {}), pack = op(Op::PACK, {});
  return {"take-part-before-joining",
          "slice(concat(x, y)) -> slice(x), gather(pack(x, y), 0) -> x, split(concat(x, y)) -> x, y, "
          "unpack(pack(x, y)) -> x, y",
          Phase::Simplify,
          true,
          {},
          {slice(), element(), all("split", concatenation, op(Op::SPLIT, {any(), concatenation})),
           all("unpack", pack, op(Op::UNPACK, {pack}))}};
}

} // namespace origo
