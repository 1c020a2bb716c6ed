#include "passes/Rule.h"

namespace origo {

/// cast(arg_max(x) in int64) → arg_max(x) in int32, which has every position of a dimension.
static Rule narrow() {
  auto position = anyOf({Op::ARG_MAX, Op::ARG_MIN}).once();
  return {"narrow", "not the type of a position that is used once", cast(position), [=](Match &m) {
            TensorType type = m.root().result().type();
            if (type != TensorType::INT32 && type != TensorType::INT64)
              return decline("cast to another type than ARG_MAX has");
            return m.replace(clone(position).with("output_type", static_cast<int64_t>(type)));
          }};
}

Pass RecogniseArgMax() {
  return {"recognise-arg-max", "cast(arg_max(x)) -> arg_max(x) of the other type", Phase::Recognise, true, {},
          {narrow()}};
}

} // namespace origo
