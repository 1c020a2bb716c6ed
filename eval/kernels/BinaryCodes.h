#pragma once

#include "eval/kernels/Recurrent.h"

#include "llvm/Support/MathExtras.h"

/// circle's operators on binary-coded weights: a row is Σ scale · signs over the bits that it is coded with. Rows come
/// in clusters, [bits, rows] each. The codes of a cluster stand one bit after another, each with one scale and one row
/// of words for each row of weights; bit k of word w is the sign of column 32w + k, set for +1.
namespace origo::eval::loops::bcq {

class BinaryCodes {
public:
  static llvm::Expected<BinaryCodes> of(KernelContext &ctx, unsigned scalesAt, unsigned binaryAt, unsigned clustersAt,
                                        int32_t columns) {
    if (columns <= 0)
      return ctx.fail("the hidden size is not above zero");
    auto clusters = *ctx.values(clustersAt);
    int64_t codes = 0;
    BinaryCodes made;
    made.columns = columns;
    made.words = llvm::divideCeil(columns, 32);
    for (size_t i = 0; i < clusters.size(); i += 2) {
      int64_t bits = clusters[i], size = clusters[i + 1];
      for (int64_t row = 0; row < size; ++row)
        made.rows.push_back({codes + row, size, bits});
      codes += bits * size;
    }
    if (ctx.input(binaryAt).count() != codes * made.words)
      return ctx.fail(binaryAt, "does not have the words of each row", std::to_string(codes * made.words),
                      std::to_string(ctx.input(binaryAt).count()));
    made.scales = &ctx.input(scalesAt);
    made.binary = &ctx.input(binaryAt);
    return made;
  }
  int32_t count() const { return static_cast<int32_t>(rows.size()); }
  /// One row of the weights.
  template <class M, class Number = typename M::Number>
  void decode(int64_t row, llvm::MutableArrayRef<Number> out, const M &math) const {
    auto scale = scales->as<Number>();
    auto word = binary->as<int32_t>();
    std::fill(out.begin(), out.end(), Number());
    for (int64_t bit = 0; bit < rows[row].bits; ++bit) {
      int64_t code = rows[row].first + bit * rows[row].step;
      for (int64_t k = 0; k < columns; ++k)
        out[k] = word[code * words + k / 32] >> (k % 32) & 1 ? math.add(out[k], scale[code])
                                                             : math.subtract(out[k], scale[code]);
    }
  }

private:
  struct Row {
    int64_t first, step, bits;
  };
  std::vector<Row> rows;
  int64_t columns = 0, words = 0;
  const Tensor *scales = nullptr, *binary = nullptr;
};

/// output = weights · input, whose columns are the batches.
template <class M> llvm::Error fullyConnected(KernelContext &ctx, const M &math) {
  using Number = typename M::Number;
  enum { Input, Scales, Binary, Bias, Clusters };
  const auto &options = ctx.options<circle::BCQFullyConnectedOptions>();
  int32_t depth = options.weights_hidden_size(), batches = ctx.input(Input).dim(1);
  if (ctx.input(Input).dim(0) != depth)
    return ctx.fail(Input, "does not have as many rows as the weights have columns", std::to_string(depth),
                    std::to_string(ctx.input(Input).dim(0)));
  auto codes = BinaryCodes::of(ctx, Scales, Binary, Clusters, depth);
  if (!codes)
    return codes.takeError();
  const Tensor *bias = ctx.optional(Bias);
  if (bias && bias->count() != codes->count())
    return ctx.fail(Bias, "does not have a number for each row of the weights", std::to_string(codes->count()),
                    std::to_string(bias->count()));
  auto in = numbersAt<Number>(ctx, Input);
  auto out = ctx.output().as<Number>();
  if (out.empty())
    return llvm::Error::success();
  std::vector<Number> weights(depth);
  for (int64_t row = 0; row < codes->count(); ++row) {
    codes->decode(row, llvm::MutableArrayRef<Number>(weights), math);
    for (int64_t b = 0; b < batches && !ctx.late(depth); ++b) {
      Number sum = bias ? bias->as<Number>()[row] : Number();
      for (int64_t k = 0; k < depth; ++k)
        sum = math.add(sum, math.multiply(weights[k], in[k * batches + b]));
      out[row * batches + b] = math.activate(sum, options.fused_activation_function());
    }
  }
  return llvm::Error::success();
}

template <class M> llvm::Error gather(KernelContext &ctx, const M &math) {
  using Number = typename M::Number;
  enum { Scales, Binary, Indices, Clusters };
  const auto &options = ctx.options<circle::BCQGatherOptions>();
  int32_t columns = options.input_hidden_size();
  auto codes = BinaryCodes::of(ctx, Scales, Binary, Clusters, columns);
  if (!codes)
    return codes.takeError();
  int axis = ctx.axis(options.axis(), 2);
  auto indices = *ctx.values(Indices);
  int64_t length = axis == 0 ? codes->count() : columns;
  for (int64_t index : indices)
    if (index < 0 || index >= length)
      return ctx.fail(Indices, "index " + llvm::Twine(index) + " of " + llvm::Twine(length));
  auto out = ctx.output().as<Number>();
  if (out.empty())
    return llvm::Error::success();
  if (axis == 0) {
    for (size_t i = 0; i < indices.size() && !ctx.late(columns); ++i)
      codes->decode(indices[i], out.slice(i * columns, columns), math);
    return llvm::Error::success();
  }
  std::vector<Number> row(columns);
  for (int64_t r = 0; r < codes->count() && !ctx.late(columns); ++r) {
    codes->decode(r, llvm::MutableArrayRef<Number>(row), math);
    for (size_t i = 0; i < indices.size(); ++i)
      out[r * indices.size() + i] = row[indices[i]];
  }
  return llvm::Error::success();
}

} // namespace origo::eval::loops::bcq
