#pragma once

#include "eval/Kernels.h"
#include "eval/Shapes.h"
#include "ir/shapes/Rules.h"

#include <array>

/// Convolutions over depth, height and width, of any kind of number: input and output [batch, depth, height, width,
/// channels].
namespace origo::eval::loops {

using Three = std::array<int64_t, 3>;

struct Conv3D {
  const Tensor *input, *filter, *bias;
  Tensor *output;
  Three strides, dilations;
  Three before; ///< how far the first window begins before the image
  circle::ActivationFunctionType activation;
};

/// `input` and `bias` are operands. Windows slide over the input, or over the output.
inline llvm::Expected<Conv3D> readConv3D(KernelContext &ctx, unsigned input, unsigned bias, bool transposed) {
  const auto &options = ctx.options<circle::Conv3DOptions>();
  Conv3D c{&ctx.input(input),
           &ctx.input(1),
           ctx.optional(bias),
           &ctx.output(),
           {options.stride_d(), options.stride_h(), options.stride_w()},
           {options.dilation_d_factor(), options.dilation_h_factor(), options.dilation_w_factor()},
           {},
           options.fused_activation_function()};
  if (c.input->dim(4) == 0)
    return ctx.fail(input, "has no channels");
  for (int d = 0; d < 3; ++d) {
    int64_t length = (transposed ? c.output : c.input)->dim(d + 1), size = c.filter->dim(d);
    auto count = inference::positions(options.padding(), length, size, c.strides[d], c.dilations[d]);
    if (!count)
      return ctx.fail("strides, dilations or the filter's size are impossible");
    c.before[d] = paddingBefore(length, *count, size, c.strides[d], c.dilations[d]);
  }
  return c;
}

/// Calls f with each place of the output in order, until the run is late.
template <class F> void forEachPlace(KernelContext &ctx, const Tensor &tensor, F f) {
  if (tensor.count() == 0)
    return;
  for (int64_t batch = 0; batch < tensor.dim(0); ++batch)
    for (int64_t z = 0; z < tensor.dim(1); ++z)
      for (int64_t y = 0; y < tensor.dim(2); ++y)
        for (int64_t x = 0; x < tensor.dim(3) && !ctx.late(); ++x)
          f(batch, Three{z, y, x});
}

/// Where the pixel at this place begins.
inline int64_t pixel(const Tensor &tensor, int64_t batch, const Three &at) {
  return (((batch * tensor.dim(1) + at[0]) * tensor.dim(2) + at[1]) * tensor.dim(3) + at[2]) * tensor.dim(4);
}

/// Calls f with each place of the filter and the one that `place` gives for it, where that is inside of `tensor`.
template <class Place, class F> void forEachFilter(const Tensor &filter, const Tensor &tensor, Place place, F f) {
  for (int64_t fz = 0; fz < filter.dim(0); ++fz)
    for (int64_t fy = 0; fy < filter.dim(1); ++fy)
      for (int64_t fx = 0; fx < filter.dim(2); ++fx) {
        Three at{fz, fy, fx}, there;
        bool inside = true;
        for (int d = 0; d < 3; ++d)
          inside &= place(d, at[d], there[d]) && there[d] >= 0 && there[d] < tensor.dim(d + 1);
        if (inside)
          f((fz * filter.dim(1) + fy) * filter.dim(2) + fx, there);
      }
}

/// Filter [depth, height, width, input channels, output channels]; transposed: the last two in the other order, and
/// operand 0 is the output's shape. `add(sum, x, w)` adds a product to a sum that begins as Sum(), and `finish(sum,
/// bias, activation)` makes an element of it; bias: null where there is none.
template <class T, class Sum, bool transposed, class Add, class Finish>
llvm::Error convolve3D(KernelContext &ctx, Add add, Finish finish) {
  auto c = transposed ? readConv3D(ctx, 2, 3, true) : readConv3D(ctx, 0, 2, false);
  if (!c)
    return c.takeError();
  const Tensor &in = *c->input, &filter = *c->filter;
  auto x = in.as<T>(), weights = filter.as<T>(), bias = c->bias ? c->bias->as<T>() : llvm::ArrayRef<T>();
  auto out = c->output->as<T>();
  int64_t depth = in.dim(4), channels = filter.dim(transposed ? 3 : 4);
  uint64_t work = static_cast<uint64_t>(filter.count() / std::max<int64_t>(channels, 1));
  size_t element = 0;
  forEachPlace(ctx, *c->output, [&](int64_t batch, const Three &at) {
    auto place = [&](int d, int64_t f, int64_t &there) {
      if (!transposed) {
        there = at[d] * c->strides[d] - c->before[d] + f * c->dilations[d];
        return true;
      }
      int64_t reached = at[d] + c->before[d] - f * c->dilations[d];
      there = reached / c->strides[d];
      return reached >= 0 && reached % c->strides[d] == 0;
    };
    for (int64_t channel = 0; channel < channels && !ctx.late(work); ++channel) {
      Sum sum = {};
      forEachFilter(filter, in, place, [&](int64_t f, const Three &there) {
        int64_t i = pixel(in, batch, there);
        for (int64_t k = 0; k < depth; ++k)
          add(sum, x[i + k],
              weights[transposed ? (f * channels + channel) * depth + k : (f * depth + k) * channels + channel]);
      });
      out[element++] = finish(sum, bias.empty() ? nullptr : &bias[channel], c->activation);
    }
  });
  return llvm::Error::success();
}

} // namespace origo::eval::loops
