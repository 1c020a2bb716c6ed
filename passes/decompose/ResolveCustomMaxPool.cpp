#include "passes/Attributes.h"

#include <limits>

namespace origo {

/// One dimension of a pooling.
struct Window {
  int32_t size, stride, in, out, before, after; ///< before, after: padding

  Window(int64_t size, int64_t stride, int32_t in, bool same) : size(size), stride(stride), in(in) {
    out = same ? (in + stride - 1) / stride : (in - size + stride) / stride;
    int32_t padding = std::max<int32_t>(0, (out - 1) * this->stride + this->size - in);
    before = same ? padding / 2 : 0;
    after = same ? padding - before : 0;
  }
};

static Expr table(const std::vector<int32_t> &numbers, llvm::ArrayRef<int32_t> shape) {
  return reshape(list(numbers), list(shape));
}

/// CUSTOM "MaxPoolWithArgmax"(x): the maximum of each window, and where it stands in its picture. A depthwise
/// convolution lays the elements of each window one behind the other, the position of the greatest is looked up in a
/// table of steps from the window's first element, and a constant tells where that stands.
static Rule resolve() {
  auto x = any();
  auto pool = custom("MaxPoolWithArgmax", {x});
  return {"max-pool-with-argmax", "not a custom MaxPoolWithArgmax", pool, [=](Match &m) {
            std::optional<flexbuffers::Map> attributes = attributesOf(m.op(pool));
            if (!attributes)
              return decline("its attributes cannot be read");
            auto sizes = (*attributes)["ksize"].AsTypedVector(), steps = (*attributes)["strides"].AsTypedVector();
            llvm::StringRef padding = (*attributes)["padding"].AsString().c_str();
            auto plain = [](const flexbuffers::TypedVector &v) {
              return v.size() == 4 && v[0].AsInt64() == 1 && v[3].AsInt64() == 1 && v[1].AsInt64() > 0 &&
                     v[1].AsInt64() < 1024 && v[2].AsInt64() > 0 && v[2].AsInt64() < 1024;
            };
            if (!plain(sizes) || !plain(steps) || (padding != "SAME" && padding != "VALID"))
              return decline("the window is not one over rows and columns");
            if (!m[x].isFloat() || !m[x].isStatic() || m[x].rank() != 4 || m[x].shape()[0] != 1)
              return decline("not one float picture of a known size");
            bool same = padding == "SAME";
            int32_t channels = m[x].lastDimension();
            Window h(sizes[1].AsInt64(), steps[1].AsInt64(), m[x].shape()[1], same);
            Window w(sizes[2].AsInt64(), steps[2].AsInt64(), m[x].shape()[2], same);
            int64_t parts = int64_t{h.size} * w.size;
            if (h.out <= 0 || w.out <= 0 || parts * parts * channels > 1 << 20 ||
                int64_t{h.out} * w.out * channels > 1 << 24)
              return decline("the window is bigger than the picture, or the tables would be very big");
            TensorType type = m.root().result(1).type();
            if (type != TensorType::INT32 && type != TensorType::INT64)
              return decline("the positions are not integers");

            std::vector<int32_t> oneHot(parts * parts * channels), step(parts), first;
            for (int64_t part = 0; part < parts; ++part) {
              step[part] = static_cast<int32_t>((part / w.size * w.in + part % w.size) * channels);
              for (int32_t c = 0; c < channels; ++c)
                oneHot[(part * channels + c) * parts + part] = 1;
            }
            for (int32_t y = 0; y < h.out; ++y)
              for (int32_t k = 0; k < w.out; ++k)
                for (int32_t c = 0; c < channels; ++c)
                  first.push_back(((y * h.stride - h.before) * w.in + k * w.stride - w.before) * channels + c);
            auto strided = [&](Expr e) { return e.with("stride_h", h.stride).with("stride_w", w.stride); };
            Expr greatest =
                strided(op(Op::MAX_POOL_2D, {x})).with("filter_height", h.size).with("filter_width", w.size);
            greatest = greatest.with("padding", same ? static_cast<int64_t>(circle::Padding::SAME)
                                                     : static_cast<int64_t>(circle::Padding::VALID));
            Expr padded = x;
            if (same)
              padded = op(Op::PADV2, {x, fold(table({0, 0, h.before, h.after, w.before, w.after, 0, 0}, {4, 2})),
                                      double(std::numeric_limits<float>::lowest())});
            auto lanes = static_cast<int32_t>(parts * channels);
            Expr filter = fold(cast(table(oneHot, {1, h.size, w.size, lanes}))
                                   .with("in_data_type", static_cast<int64_t>(circle::TensorType::INT32))
                                   .with("out_data_type", static_cast<int64_t>(circle::TensorType::FLOAT32)));
            Expr zero = fold(broadcastTo(reshape(0.0, list({1})), list({lanes})));
            Expr laid = strided(op(Op::DEPTHWISE_CONV_2D, {padded, filter, zero}))
                            .with("padding", static_cast<int64_t>(circle::Padding::VALID))
                            .with("depth_multiplier", parts);
            Expr each = reshape(laid, list({1, h.out, w.out, channels, static_cast<int32_t>(parts)}));
            Expr which =
                op(Op::ARG_MAX, {each, list({4})}).with("output_type", static_cast<int64_t>(circle::TensorType::INT32));
            Expr position = fold(table(first, {1, h.out, w.out, channels})) + gather(list(step), which);
            if (type == TensorType::INT64)
              position = cast(position)
                             .with("in_data_type", static_cast<int64_t>(circle::TensorType::INT32))
                             .with("out_data_type", static_cast<int64_t>(circle::TensorType::INT64));
            return m.replace({{m.root().result(), greatest}, {m.root().result(1), position}});
          }};
}

Pass ResolveCustomMaxPool() {
  return {"resolve-custom-max-pool",
          "custom MaxPoolWithArgmax(x) -> max_pool_2d(x), and positions by depthwise_conv_2d, arg_max and a table",
          Phase::Decompose,
          true,
          {{"resolve_customop_max_pool_with_argmax", {}}},
          {resolve()}};
}

} // namespace origo
