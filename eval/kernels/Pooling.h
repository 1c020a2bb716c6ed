#pragma once

#include "eval/Kernel.h"
#include "eval/Shapes.h"

/// How pools go through their operand, whatever its numbers are.
namespace origo::eval::loops {

struct Pool {
  KernelContext *ctx;
  const Tensor *input;
  Tensor *output;
  const circle::Pool2DOptions *options;
  int64_t top, left; ///< how far the first window begins before the image

  explicit Pool(KernelContext &ctx)
      : ctx(&ctx), input(&ctx.input(0)), output(&ctx.output()), options(&ctx.options<circle::Pool2DOptions>()),
        top(paddingBefore(input->dim(1), output->dim(1), options->filter_height(), options->stride_h())),
        left(paddingBefore(input->dim(2), output->dim(2), options->filter_width(), options->stride_w())) {}
};

/// output = end(the sum by add over the window's part inside the image, the number of its elements)
template <class T, class Acc, class Add, class End> void forEachWindow(const Pool &p, Acc start, Add add, End end) {
  const Tensor &in = *p.input;
  int64_t height = in.dim(1), width = in.dim(2), depth = in.dim(3);
  auto x = in.as<T>();
  auto out = p.output->template as<T>();
  if (out.empty())
    return;
  size_t at = 0;
  for (int64_t batch = 0; batch < in.dim(0); ++batch)
    for (int64_t oy = 0; oy < p.output->dim(1); ++oy)
      for (int64_t ox = 0; ox < p.output->dim(2); ++ox) {
        int64_t top = oy * p.options->stride_h() - p.top;
        int64_t left = ox * p.options->stride_w() - p.left;
        int64_t y0 = std::max<int64_t>(top, 0), y1 = std::min(top + p.options->filter_height(), height);
        int64_t x0 = std::max<int64_t>(left, 0), x1 = std::min(left + p.options->filter_width(), width);
        auto work = static_cast<uint64_t>(1 + std::max<int64_t>(0, y1 - y0) * std::max<int64_t>(0, x1 - x0));
        for (int64_t channel = 0; channel < depth; ++channel) {
          if (p.ctx->late(work))
            return;
          Acc sum = start;
          for (int64_t iy = y0; iy < y1; ++iy)
            for (int64_t ix = x0; ix < x1; ++ix)
              sum = add(sum, x[((batch * height + iy) * width + ix) * depth + channel]);
          out[at++] = end(sum, std::max<int64_t>(0, y1 - y0) * std::max<int64_t>(0, x1 - x0));
        }
      }
}

} // namespace origo::eval::loops
