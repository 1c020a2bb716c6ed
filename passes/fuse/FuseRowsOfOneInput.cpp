#include "passes/Linear.h"

namespace origo {

static bool isRow(Tensor t) {
  return t && t.isStatic() && t.rank() > 0 && t.elementCount() == static_cast<uint64_t>(t.lastDimension());
}

/// linear(x, W, b), linear(x, V, c), linear(x, U, d), … of one row each → split_v(linear(x, concat(W, V, U), …)): the
/// parts of a row lie one behind the other. Of two there would be as many operators as before.
static Rule rows() {
  auto x = any();
  auto linear = anyOf({Op::FULLY_CONNECTED, Op::CONV_2D}, {x}).mayActivate();
  return {"rows", "", linear, [=](Match &m) {
            if (!m[x].isFloat() || !isRow(m[linear]))
              return decline("the result is not one row of floats");
            std::vector<Node> all = m.alike();
            if (all.size() < 3)
              return decline("fewer than three of one input, or something is to be fused into one of them");
            std::vector<Expr> filters, biases;
            std::vector<int32_t> sizes;
            int32_t channels = 0;
            llvm::ArrayRef<int32_t> shape;
            for (Node one : all) {
              Linear parts;
              if (const char *why = readLinear(one, parts))
                return decline(why);
              if (parts.filter.isShared())
                return decline("a filter has other users, for whom it would have to stay");
              if (!isRow(one.result()) || one.result().rank() != m[linear].rank() ||
                  (!shape.empty() && shape.drop_front() != parts.filter.shape().drop_front()))
                return decline("one is no row, or its filter has another shape");
              shape = parts.filter.shape();
              filters.emplace_back(parts.filter);
              if (parts.bias)
                biases.emplace_back(reshape(parts.bias, list({parts.channels})));
              sizes.push_back(parts.channels);
              channels += parts.channels;
            }
            if (!biases.empty() && biases.size() != filters.size())
              return decline("some of them have a bias");
            auto joined = [](const std::vector<Expr> &of) { return fold(op(Op::CONCATENATION, of).with("axis", 0)); };
            Expr whole = op(m.root().code(), {x, joined(filters)});
            if (!biases.empty())
              whole = whole.bias(joined(biases));
            constexpr llvm::StringLiteral ofWindows[] = {"padding", "stride_w", "stride_h", "dilation_w_factor",
                                                         "dilation_h_factor"},
                                          ofMatrices[] = {"keep_num_dims"};
            for (llvm::StringLiteral option : m.root().code() == Op::CONV_2D ? llvm::ArrayRef(ofWindows) : ofMatrices)
              whole = whole.with(option, m.root().option(option));
            whole = whole.activation(m.root().activation());
            auto count = static_cast<unsigned>(all.size());
            Expr parts = op(Op::SPLIT_V, {whole, list(sizes), list({m[linear].rank() - 1})});
            parts = parts.with("num_splits", count).results(count);
            std::vector<std::pair<Tensor, Expr>> places;
            for (unsigned i = 0; i < count; ++i)
              places.emplace_back(all[i].result(), result(parts, i));
            return m.replace(places);
          }};
}

Pass FuseRowsOfOneInput() {
  return {
      "fuse-rows-of-one-input",
      "fc(x, W, b), fc(x, V, c), fc(x, U, d) -> split_v(fc(x, concat(W, V, U), concat(b, c, d))) for results of one "
      "row, and convolutions likewise",
      Phase::Fuse,
      true,
      {},
      {rows()}};
}

} // namespace origo
