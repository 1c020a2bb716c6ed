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
            JoinedLinear parts;
            if (const char *why = readJoined(m, convolution, x, packs, parts))
              return decline(why);
            if (llvm::count(m[joined].statedShape(), -1) > 1)
              return decline("two dimensions are not known before run time");
            auto all = [&](const std::vector<Expr> &each, llvm::ArrayRef<int32_t> shape) {
              if (!packs)
                return fold(op(Op::CONCATENATION, each).with("axis", 0));
              return fold(reshape(op(Op::PACK, each).with("axis", 1).with("values_count", count), list(shape)));
            };
            Node like = m.op(0, convolution);
            Expr whole = op(Op::CONV_2D, {m.at(0, x), all(parts.filters, parts.filterShape)});
            if (!parts.biases.empty())
              whole = whole.bias(all(parts.biases, {parts.filterShape[0]}));
            for (llvm::StringLiteral option :
                 {llvm::StringLiteral("padding"), llvm::StringLiteral("stride_w"), llvm::StringLiteral("stride_h"),
                  llvm::StringLiteral("dilation_w_factor"), llvm::StringLiteral("dilation_h_factor")})
              whole = whole.with(option, like.option(option));
            whole = whole.activation(like.activation());
            bool shaped = packs || m.op(0, convolution).result().rank() != m.root().operand(0).rank();
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
