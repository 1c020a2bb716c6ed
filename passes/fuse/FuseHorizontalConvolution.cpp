#include "passes/Linear.h"

namespace origo {

/// pack(conv(x, W, b), conv(x, V, c), …) along a new last dimension → reshape(conv(x, pack(W, V, …), pack(b, c, …))),
/// and concat of them along the last dimension likewise, also of reshapes that leave that dimension as it is.
static Rule joined() {
  auto x = any();
  auto convolution = anyOf({Op::CONV_2D}, {x}).mayActivate().once();
  auto joined = anyOf({Op::PACK, Op::CONCATENATION}).each(op(Op::RESHAPE, {convolution}).once() | convolution);
  return {"joined", "an operand is not a convolution with this use only", joined, [=](Match &m) {
            bool packs = m.root().code() == Op::PACK;
            auto count = static_cast<int32_t>(m.root().operandCount());
            Tensor first = m.root().operand(0);
            int64_t axis = m.root().option("axis"), last = packs ? first.rank() : first.rank() - 1;
            if (count < 2 || (axis != last && axis != -1))
              return decline("one operand, or not joined along the last dimension");
            std::vector<Expr> filters, biases;
            int32_t channels = 0;
            llvm::SmallVector<int32_t, 4> filterShape;
            for (int32_t i = 0; i < count; ++i) {
              Linear parts;
              if (const char *why = readLinear(m.op(i, convolution), parts))
                return decline(why);
              if (!(m.at(i, x) == m.at(0, x)) || !m.op(i, convolution).hasOptionsOf(m.op(0, convolution)))
                return decline("the convolutions are not of one input, or have different options");
              if (m.root().operand(i).lastDimension() != parts.channels)
                return decline("the channels are not the last dimension");
              if (parts.filter.isShared() && !m.isReadLikewise(parts.filter, m.op(i, convolution)))
                return decline("a filter has other users, for whom it would have to stay");
              llvm::ArrayRef<int32_t> shape = parts.filter.shape();
              if (i == 0)
                filterShape.assign(shape.begin(), shape.end());
              if (shape.drop_front() != llvm::ArrayRef(filterShape).drop_front() ||
                  (packs && shape[0] != filterShape[0]))
                return decline("the filters have different shapes");
              channels += parts.channels;
              filters.emplace_back(parts.filter);
              if (parts.bias)
                biases.emplace_back(reshape(parts.bias, list({parts.channels})));
            }
            if (!biases.empty() && biases.size() != filters.size())
              return decline("some of the convolutions have a bias");
            if (llvm::count(m[joined].statedShape(), -1) > 1)
              return decline("two dimensions are not known before run time");
            filterShape[0] = channels;
            auto all = [&](const std::vector<Expr> &parts, llvm::ArrayRef<int32_t> shape) {
              if (!packs)
                return fold(op(Op::CONCATENATION, parts).with("axis", 0));
              return fold(reshape(op(Op::PACK, parts).with("axis", 1).with("values_count", count), list(shape)));
            };
            Node like = m.op(0, convolution);
            Expr whole = op(Op::CONV_2D, {m.at(0, x), all(filters, filterShape)});
            if (!biases.empty())
              whole = whole.bias(all(biases, {channels}));
            for (llvm::StringLiteral option :
                 {llvm::StringLiteral("padding"), llvm::StringLiteral("stride_w"), llvm::StringLiteral("stride_h"),
                  llvm::StringLiteral("dilation_w_factor"), llvm::StringLiteral("dilation_h_factor")})
              whole = whole.with(option, like.option(option));
            whole = whole.activation(like.activation());
            bool shaped = packs || m.op(0, convolution).result().rank() != first.rank();
            return m.replace(shaped ? reshape(whole, list(m[joined].statedShape())) : whole);
          }};
}

Pass FuseHorizontalConvolution() {
  return {
      "fuse-horizontal-convolution",
      "pack(conv(x, W, b), conv(x, V, c)) -> reshape(conv(x, pack(W, V), pack(b, c))), concat(conv(x, W, b), conv(x, "
      "V, c)) -> conv(x, concat(W, V), concat(b, c))",
      Phase::Fuse,
      true,
      {},
      {joined()}};
}

} // namespace origo
