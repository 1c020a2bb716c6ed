#include "passes/Rule.h"

namespace origo {

/// Each has one dimension that is not known before run time: the same one, for the others have as many elements.
static bool hasOneOpen(Tensor x, Tensor result) {
  auto known = [](llvm::ArrayRef<int32_t> shape) {
    int64_t elements = 1;
    for (int32_t size : shape)
      elements *= size < 0 ? 1 : size;
    return elements;
  };
  auto from = x.statedShape(), to = result.statedShape();
  return llvm::count(from, -1) == 1 && llvm::count(to, -1) == 1 && known(from) == known(to) && known(to) > 0;
}

/// expand_dims, squeeze, pack of one, transpose or strided_slice that moves no element → reshape.
static Rule reshapeInstead() {
  auto x = any();
  auto moved = anyOf({Op::EXPAND_DIMS, Op::SQUEEZE, Op::PACK, Op::STRIDED_SLICE, Op::TRANSPOSE}, {x});
  return {"reshape", "", moved, [=](Match &m) {
            Tensor result = m.root().result();
            bool open = !result.isStatic() && m.root().code() != Op::STRIDED_SLICE && hasOneOpen(m[x], result);
            bool whole = m[x].isStatic() && result.isStatic() && m[x].elementCount() == result.elementCount();
            if (!m[x].hasTypeOf(result) || !(open || whole))
              return decline("leaves out elements, or the shape is not known before run time");
            if (!m.keepsOrder())
              return decline("moves elements");
            if (!m[x].isPerTensor() || !m[x].hasQuantizationOf(result))
              return decline("changes the quantisation");
            if (m[x].hasShapeOf(result))
              return decline("does nothing at all: for remove-identity");
            return m.replace(reshape(x, list(result.statedShape())));
          }};
}

Pass SubstituteToReshape() {
  return {"substitute-to-reshape",
          "an expand_dims, squeeze, pack of one, transpose or strided_slice that moves no element -> reshape, also "
          "where one "
          "dimension is not known before run time",
          Phase::Simplify,
          true,
          {{"substitute_expand_dims_to_reshape", {{Op::EXPAND_DIMS, {}}}},
           {"substitute_pack_to_reshape", {{Op::PACK, {}}}},
           {"substitute_squeeze_to_reshape", {{Op::SQUEEZE, {}}}},
           {"substitute_strided_slice_to_reshape", {{Op::STRIDED_SLICE, {}}}},
           {"substitute_transpose_to_reshape", {{Op::TRANSPOSE, {}}}}},
          {reshapeInstead()}};
}

} // namespace origo
