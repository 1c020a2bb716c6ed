#pragma once

#include "eval/Kernel.h"

/// How RESIZE_BILINEAR goes through its operand, whatever its numbers are.
namespace origo::eval::loops {

struct Resize {
  const Tensor *in;
  Tensor *out;
  int32_t height, width;
  bool alignCorners, halfPixel;
};

template <class Options> Resize resizeOf(KernelContext &ctx) {
  const auto &options = ctx.options<Options>();
  Tensor &out = ctx.output();
  return {&ctx.input(0), &out, out.dim(1), out.dim(2), options.align_corners(), options.half_pixel_centers()};
}

/// `mix(upper left, lower left, upper right, lower right, vertical rest, horizontal rest)` gives each element.
template <class T, class Places, class Mix>
void forEachBilinear(KernelContext &ctx, const Resize &r, Places vertical, Places horizontal, Mix mix) {
  int64_t height = r.in->dim(1), width = r.in->dim(2), depth = r.in->dim(3);
  auto x = r.in->as<T>();
  auto out = r.out->template as<T>();
  size_t at = 0;
  for (int64_t batch = 0; batch < r.in->dim(0); ++batch)
    for (const auto &v : vertical)
      for (const auto &h : horizontal)
        for (int64_t channel = 0; channel < depth; ++channel) {
          if (ctx.late())
            return;
          auto pixel = [&](int64_t row, int64_t column) {
            return x[((batch * height + row) * width + column) * depth + channel];
          };
          out[at++] = mix(pixel(v.first, h.first), pixel(v.second, h.first), pixel(v.first, h.second),
                          pixel(v.second, h.second), v.rest, h.rest);
        }
}

} // namespace origo::eval::loops
