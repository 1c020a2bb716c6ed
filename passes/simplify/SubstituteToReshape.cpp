#include "passes/Rule.h"

namespace origo {

/// expand_dims, squeeze, pack of one, transpose or strided_slice that moves no element → reshape.
static Rule reshapeInstead() {
  auto x = any();
  auto moved = anyOf({Op::EXPAND_DIMS, Op::SQUEEZE, Op::PACK, Op::STRIDED_SLICE, Op::TRANSPOSE}, {x});
  return {"reshape", "", moved, [=](Match &m) {
            Tensor result = m.root().result();
            if (!m[x].isStatic() || !result.isStatic() || !m[x].hasTypeOf(result) ||
                m[x].elementCount() != result.elementCount())
              return decline("leaves out elements, or the shape is not known before run time");
            if (!m.keepsOrder())
              return decline("moves elements");
            if (!m[x].isPerTensor() || !m[x].hasQuantizationOf(result))
              return decline("changes the quantisation");
            if (m[x].hasShapeOf(result))
              return decline("does nothing at all: for remove-identity");
            return m.replace(reshape(x, shapeOf(result)));
          }};
}

Pass SubstituteToReshape() {
  return {"substitute-to-reshape",
          "an expand_dims, squeeze, pack of one, transpose or strided_slice that moves no element -> reshape",
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
