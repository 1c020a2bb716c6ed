#include "eval/CustomKernels.h"
#include "eval/FixedPoint.h"
#include "eval/Shapes.h"
#include "eval/kernels/CustomOptions.h"
#include "ir/shapes/Rules.h"

#include <cmath>

/// Custom operators of MediaPipe's networks. Tensors are [batch, height, width, channels].
namespace origo::eval {

namespace {

enum class Padding { Same = 1, Valid = 2 };

/// The struct of pooling: padding, strides, and, but for convolutions, the window and what is done to results.
struct Pool {
  Padding padding;
  int64_t strideY, strideX, height = 1, width = 1;
  circle::ActivationFunctionType activation = circle::ActivationFunctionType::NONE;

  static llvm::Expected<Pool> of(const KernelContext &ctx, size_t count) {
    auto read = words(ctx, count);
    if (!read)
      return read.takeError();
    llvm::ArrayRef<int32_t> numbers = *read;
    if (numbers[0] != 1 && numbers[0] != 2)
      return ctx.fail("its padding is neither 1 nor 2");
    Pool pool{Padding(numbers[0]), numbers[2], numbers[1]};
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
};

llvm::Expected<Shape> shapeOf(const KernelContext &ctx, llvm::ArrayRef<int64_t> dims) {
  Shape shape;
  for (int64_t dim : dims) {
    if (dim < 0 || dim > std::numeric_limits<int32_t>::max())
      return ctx.fail("the result would have an impossible shape");
    shape.push_back(static_cast<int32_t>(dim));
  }
  return shape;
}

/// Limits of back ends describe the operands of a custom operator all at once, so that its row says no shapes.
llvm::Error wantImage(const KernelContext &ctx, unsigned i) {
  return ctx.input(i).rank() == 4 ? llvm::Error::success() : ctx.fail(i, "is not of rank 4", "4", shapeText(ctx.input(i).shape));
}

/// A result begins as the bias; each element of the input adds its multiple of the filter. Filter: [output channels,
/// height, width, input channels].
llvm::Error transposeConvolution(KernelContext &ctx) {
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
  // What a window reaches beyond the result.
  auto cut = [&](int64_t length, int64_t stride, int64_t size) -> int64_t {
    return options->padding == Padding::Same && length > 0 ? std::max<int64_t>(0, size - (length - 1) % stride - 1) : 0;
  };
  auto extent = [&](int64_t length, int64_t stride, int64_t size) {
    return length == 0 ? 0 : stride * (length - 1) + size - cut(length, stride, size);
  };
  int64_t strideY = options->strideY, strideX = options->strideX, rows = filter.dim(1), columns = filter.dim(2);
  auto shape =
      shapeOf(ctx, {in.dim(0), extent(in.dim(1), strideY, rows), extent(in.dim(2), strideX, columns), channels});
  if (!shape)
    return shape.takeError();
  auto output = ctx.output(0, *shape);
  if (!output)
    return output.takeError();
  int64_t height = (*shape)[1], width = (*shape)[2];
  int64_t top = cut(in.dim(1), strideY, rows) / 2, left = cut(in.dim(2), strideX, columns) / 2;
  auto x = in.as<float>(), w = filter.as<float>(), bias = ctx.input(2).as<float>();
  auto out = (*output)->as<float>();
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

/// Maxima, and where in its window each one was: row · width + column + 0.1, in float.
llvm::Error maxPoolingWithArgmax(KernelContext &ctx) {
  if (llvm::Error error = wantImage(ctx, 0))
    return error;
  auto pool = Pool::of(ctx, 6);
  if (!pool)
    return pool.takeError();
  const Tensor &in = ctx.input(0);
  auto padding = pool->padding == Padding::Same ? circle::Padding::SAME : circle::Padding::VALID;
  auto rows = inference::positions(padding, in.dim(1), pool->height, pool->strideY);
  auto columns = inference::positions(padding, in.dim(2), pool->width, pool->strideX);
  if (!rows || !columns)
    return ctx.fail("strides or the window are impossible");
  Shape shape{in.dim(0), int32_t(*rows), int32_t(*columns), in.dim(3)};
  int64_t above = paddingBefore(in.dim(1), *rows, pool->height, pool->strideY);
  int64_t before = paddingBefore(in.dim(2), *columns, pool->width, pool->strideX);
  Tensor *results[2] = {};
  for (unsigned i : {0u, 1u})
    if (ctx.wants(i)) {
      auto output = ctx.output(i, shape);
      if (!output)
        return output.takeError();
      results[i] = *output;
    }
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

/// Puts what was pooled back where it came from; the rest is 0. Indices of floats are those of the kernel above;
/// integers are (row · width + column) · channels + channel of the result's image, as LiteRT's operator of the same
/// name has them.
llvm::Error maxUnpooling(KernelContext &ctx) {
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
  auto shape = shapeOf(ctx, {in.dim(0), extent(in.dim(1), pool->strideY, pool->height),
                             extent(in.dim(2), pool->strideX, pool->width), in.dim(3)});
  if (!shape)
    return shape.takeError();
  auto output = ctx.output(0, *shape);
  if (!output)
    return output.takeError();
  int64_t height = (*shape)[1], width = (*shape)[2], channels = in.dim(3), image = height * width * channels;
  int64_t top = paddingBefore(height, in.dim(1), pool->height, pool->strideY);
  int64_t left = paddingBefore(width, in.dim(2), pool->width, pool->strideX);
  auto x = in.as<float>();
  auto out = (*output)->as<float>();
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

llvm::ArrayRef<CustomKernelRow> mediaPipeKernels() {
  constexpr auto custom = BuiltinOperator::CUSTOM;
  static const CustomKernelRow rows[] = {
      {"Convolution2DTransposeBias", {custom, "f32, f32, f32 -> f32", transposeConvolution, {}, ShapesFrom::Kernel}},
      {"MaxPoolingWithArgmax2D", {custom, "f32 -> f32, f32", maxPoolingWithArgmax, {}, ShapesFrom::Kernel}},
      {"MaxUnpooling2D", {custom, "f32, f32|i32 -> f32", maxUnpooling, {}, ShapesFrom::Kernel}},
  };
  return rows;
}

} // namespace origo::eval
