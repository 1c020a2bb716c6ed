#include "eval/kernels/MediaPipe.h"
#include "eval/CustomKernels.h"
#include "eval/Shapes.h"
#include "eval/kernels/CustomOptions.h"
#include "ir/shapes/Rules.h"

#include <cmath>

/// Custom operators of MediaPipe's networks. Tensors are [batch, height, width, channels].
namespace origo::eval {

llvm::Expected<MediaPipePool> MediaPipePool::of(const KernelContext &ctx, size_t count) {
  auto read = words(ctx, count);
  if (!read)
    return read.takeError();
  llvm::ArrayRef<int32_t> numbers = *read;
  if (numbers[0] != 1 && numbers[0] != 2)
    return ctx.fail("its padding is neither 1 nor 2");
  MediaPipePool pool{Padding(numbers[0]), numbers[2], numbers[1]};
  if (count > 3)
    pool.height = numbers[4], pool.width = numbers[3];
  if (count > 5) {
    if (numbers[5] < 0 || numbers[5] > 3)
      return ctx.fail("has an activation that is not known");
    pool.activation = circle::ActivationFunctionType(numbers[5]);
  }
  if (pool.strideY < 1 || pool.strideX < 1 || pool.height < 1 || pool.width < 1)
    return ctx.fail("has a stride or a window below 1");
  return pool;
}

namespace {

using Pool = MediaPipePool;
using Padding = Pool::Padding;

/// The shape of all results that somebody wants.
llvm::Error setShape(KernelContext &ctx, llvm::ArrayRef<int64_t> dims) {
  Shape shape;
  for (int64_t dim : dims) {
    if (dim < 0 || dim > std::numeric_limits<int32_t>::max())
      return ctx.fail("the result would have an impossible shape");
    shape.push_back(static_cast<int32_t>(dim));
  }
  for (unsigned i = 0; i < ctx.numOutputs(); ++i)
    if (ctx.wants(i))
      ctx.output(i).shape = shape;
  return llvm::Error::success();
}

/// Limits of back ends describe the operands of a custom operator all at once, so that its row says no shapes.
llvm::Error wantImage(const KernelContext &ctx, unsigned i) {
  return ctx.input(i).rank() == 4 ? llvm::Error::success()
                                  : ctx.fail(i, "is not of rank 4", "4", shapeText(ctx.input(i).shape));
}

struct Transposed {
  TransposedAxis vertical, horizontal;
  Transposed(const Pool &options, const Tensor &in, const Tensor &filter)
      : vertical{in.dim(1), options.strideY, filter.dim(1), options.padding == Padding::Same},
        horizontal{in.dim(2), options.strideX, filter.dim(2), options.padding == Padding::Same} {}
};

llvm::Error transposeShape(KernelContext &ctx) {
  for (unsigned i : {0u, 1u})
    if (llvm::Error error = wantImage(ctx, i))
      return error;
  auto options = Pool::of(ctx, 3);
  if (!options)
    return options.takeError();
  const Tensor &in = ctx.input(0), &filter = ctx.input(1);
  int64_t channels = filter.dim(0), depth = in.dim(3);
  if (filter.dim(3) != depth)
    return ctx.fail(1, "its depth is not the input's", std::to_string(depth), std::to_string(filter.dim(3)));
  if (ctx.input(2).count() != channels)
    return ctx.fail(2, "does not have a number for each output channel");
  Transposed axes(*options, in, filter);
  return setShape(ctx, {in.dim(0), axes.vertical.result(), axes.horizontal.result(), channels});
}

/// A result begins as the bias; each element of the input adds its multiple of the filter. Filter: [output channels,
/// height, width, input channels].
llvm::Error transposeConvolution(KernelContext &ctx) {
  auto options = Pool::of(ctx, 3);
  if (!options)
    return options.takeError();
  const Tensor &in = ctx.input(0), &filter = ctx.input(1);
  Transposed axes(*options, in, filter);
  int64_t strideY = options->strideY, strideX = options->strideX, rows = filter.dim(1), columns = filter.dim(2);
  int64_t channels = filter.dim(0), depth = in.dim(3), top = axes.vertical.before(), left = axes.horizontal.before();
  Tensor &output = ctx.output();
  int64_t height = output.dim(1), width = output.dim(2);
  auto x = in.as<float>(), w = filter.as<float>(), bias = ctx.input(2).as<float>();
  auto out = output.as<float>();
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = bias[i % channels];
  const float *pixel = x.data();
  for (int64_t b = 0; b < in.dim(0); ++b)
    for (int64_t iy = 0; iy < in.dim(1); ++iy)
      for (int64_t ix = 0; ix < in.dim(2); ++ix, pixel += depth) {
        if (ctx.late(static_cast<uint64_t>(w.size())))
          return llvm::Error::success();
        for (int64_t fy = 0; fy < rows; ++fy)
          for (int64_t fx = 0; fx < columns; ++fx) {
            int64_t y = iy * strideY - top + fy, at = ix * strideX - left + fx;
            if (y < 0 || y >= height || at < 0 || at >= width)
              continue;
            float *to = out.data() + ((b * height + y) * width + at) * channels;
            for (int64_t c = 0; c < channels; ++c) {
              const float *row = w.data() + ((c * rows + fy) * columns + fx) * depth;
              for (int64_t k = 0; k < depth; ++k)
                to[c] += pixel[k] * row[k];
            }
          }
      }
  return llvm::Error::success();
}

/// Where the windows of pooling lie.
struct Windows {
  std::optional<int64_t> rows, columns;
  int64_t above = 0, before = 0;
  Windows(const Pool &pool, const Tensor &in) {
    auto padding = pool.padding == Padding::Same ? circle::Padding::SAME : circle::Padding::VALID;
    rows = inference::positions(padding, in.dim(1), pool.height, pool.strideY);
    columns = inference::positions(padding, in.dim(2), pool.width, pool.strideX);
    if (!rows || !columns)
      return;
    above = paddingBefore(in.dim(1), *rows, pool.height, pool.strideY);
    before = paddingBefore(in.dim(2), *columns, pool.width, pool.strideX);
  }
};

llvm::Error poolingShape(KernelContext &ctx) {
  if (llvm::Error error = wantImage(ctx, 0))
    return error;
  auto pool = Pool::of(ctx, 6);
  if (!pool)
    return pool.takeError();
  const Tensor &in = ctx.input(0);
  Windows windows(*pool, in);
  if (!windows.rows || !windows.columns)
    return ctx.fail("strides or the window are impossible");
  return setShape(ctx, {in.dim(0), *windows.rows, *windows.columns, in.dim(3)});
}

/// Maxima, and where in its window each one was: row · width + column + 0.1, in float.
llvm::Error maxPoolingWithArgmax(KernelContext &ctx) {
  auto pool = Pool::of(ctx, 6);
  if (!pool)
    return pool.takeError();
  const Tensor &in = ctx.input(0);
  Windows windows(*pool, in);
  int64_t above = windows.above, before = windows.before;
  int64_t shape[] = {in.dim(0), *windows.rows, *windows.columns};
  Tensor *results[2] = {};
  for (unsigned i : {0u, 1u})
    results[i] = ctx.wants(i) ? &ctx.output(i) : nullptr;
  auto x = in.as<float>();
  int64_t channels = in.dim(3);
  size_t at = 0;
  for (int64_t b = 0; b < shape[0]; ++b)
    for (int64_t y = 0; y < shape[1]; ++y)
      for (int64_t column = 0; column < shape[2]; ++column)
        for (int64_t c = 0; c < channels; ++c, ++at) {
          int64_t top = y * pool->strideY - above, left = column * pool->strideX - before;
          int64_t firstY = std::max<int64_t>(0, -top), lastY = std::min(pool->height, in.dim(1) - top);
          int64_t firstX = std::max<int64_t>(0, -left), lastX = std::min(pool->width, in.dim(2) - left);
          if (ctx.late(uint64_t(std::max<int64_t>(1, (lastY - firstY) * (lastX - firstX)))))
            return llvm::Error::success();
          float most = std::numeric_limits<float>::lowest();
          int64_t where = 0;
          for (int64_t fy = firstY; fy < lastY; ++fy)
            for (int64_t fx = firstX; fx < lastX; ++fx) {
              float value = x[((b * in.dim(1) + top + fy) * in.dim(2) + left + fx) * channels + c];
              if (value > most)
                most = value, where = fy * pool->width + fx;
            }
          if (results[0])
            results[0]->as<float>()[at] = activate(most, pool->activation);
          if (results[1])
            results[1]->as<float>()[at] = static_cast<float>(where) + 0.1f;
        }
  return llvm::Error::success();
}

llvm::Error unpoolingShape(KernelContext &ctx) {
  if (llvm::Error error = wantImage(ctx, 0))
    return error;
  auto pool = Pool::of(ctx, 5);
  if (!pool)
    return pool.takeError();
  const Tensor &in = ctx.input(0), &indices = ctx.input(1);
  if (llvm::ArrayRef<int32_t>(indices.shape) != llvm::ArrayRef<int32_t>(in.shape))
    return ctx.fail(1, "does not have an index for each element", shapeText(in.shape), shapeText(indices.shape));
  bool inWindow = indices.type == TensorType::FLOAT32;
  auto extent = [&](int64_t length, int64_t stride, int64_t size) {
    if (inWindow)
      return length * size;
    return pool->padding == Padding::Same ? length * stride : length == 0 ? 0 : (length - 1) * stride + size;
  };
  return setShape(ctx, {in.dim(0), extent(in.dim(1), pool->strideY, pool->height),
                        extent(in.dim(2), pool->strideX, pool->width), in.dim(3)});
}

/// Puts what was pooled back where it came from; the rest is 0. Indices of floats are those of the kernel above;
/// integers are (row · width + column) · channels + channel of the result's image, as LiteRT's operator of the same
/// name has them.
llvm::Error maxUnpooling(KernelContext &ctx) {
  auto pool = Pool::of(ctx, 5);
  if (!pool)
    return pool.takeError();
  const Tensor &in = ctx.input(0), &indices = ctx.input(1);
  bool inWindow = indices.type == TensorType::FLOAT32;
  Tensor &output = ctx.output();
  int64_t height = output.dim(1), width = output.dim(2), channels = in.dim(3), image = height * width * channels;
  int64_t top = paddingBefore(height, in.dim(1), pool->height, pool->strideY);
  int64_t left = paddingBefore(width, in.dim(2), pool->width, pool->strideX);
  auto x = in.as<float>();
  auto out = output.as<float>();
  std::fill(out.begin(), out.end(), 0.f);
  size_t at = 0;
  for (int64_t b = 0; b < in.dim(0); ++b)
    for (int64_t y = 0; y < in.dim(1); ++y)
      for (int64_t column = 0; column < in.dim(2); ++column)
        for (int64_t c = 0; c < channels && !ctx.late(); ++c, ++at) {
          int64_t target = -1;
          if (inWindow) {
            float index = indices.as<float>()[at];
            if (index >= 0 && index < static_cast<float>(pool->height) * static_cast<float>(pool->width)) {
              int64_t whole = static_cast<int64_t>(index);
              int64_t toY = y * pool->strideY - top + whole / pool->width;
              int64_t toX = column * pool->strideX - left + whole % pool->width;
              if (toY >= 0 && toY < height && toX >= 0 && toX < width)
                target = (toY * width + toX) * channels + c;
            }
          } else {
            target = indices.as<int32_t>()[at];
          }
          if (target < 0 || target >= image)
            return ctx.fail(1, "has an index outside of the result, for element " + llvm::Twine(at));
          out[b * image + target] = x[at];
        }
  return llvm::Error::success();
}

} // namespace

llvm::ArrayRef<CustomKernelRow> mediaPipeCustomKernels() {
  constexpr auto custom = BuiltinOperator::CUSTOM;
  static const CustomKernelRow rows[] = {
      {"Convolution2DTransposeBias",
       {custom, "f32, f32, f32 -> f32", transposeConvolution, {}, ShapesFrom::Rule, transposeShape}},
      {"MaxPoolingWithArgmax2D", {custom, "f32 -> f32, f32", maxPoolingWithArgmax, {}, ShapesFrom::Rule, poolingShape}},
      {"MaxUnpooling2D", {custom, "f32, f32|i32 -> f32", maxUnpooling, {}, ShapesFrom::Rule, unpoolingShape}},
  };
  return rows;
}

} // namespace origo::eval
