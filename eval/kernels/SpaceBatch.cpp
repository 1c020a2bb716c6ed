#include "eval/Kernels.h"
#include "eval/kernels/Views.h"

/// Blocks of pixels that move into the batch or the channels, and back.
namespace origo::eval {

namespace {

struct Blocks {
  llvm::SmallVector<int64_t, 8> sizes, margins;

  /// Operand 1: the size of a block along each spatial dimension; operand 2: two numbers for each.
  static llvm::Expected<Blocks> of(KernelContext &ctx) {
    auto sizes = ctx.integers(1), margins = ctx.integers(2);
    if (!sizes || !margins)
      return firstError(sizes, margins);
    if (ctx.input(0).rank() < static_cast<int>(sizes->size()) + 1 || margins->size() != 2 * sizes->size())
      return ctx.fail("the numbers of blocks and margins do not fit the rank");
    int64_t all = 1;
    for (int64_t size : *sizes)
      if (size < 1 || size > std::numeric_limits<int32_t>::max() || (all *= size) > std::numeric_limits<int32_t>::max())
        return ctx.fail(1, "a block is empty or too large");
    for (int64_t margin : *margins)
      if (margin < 0 || margin > std::numeric_limits<int32_t>::max())
        return ctx.fail(2, "a margin is negative or too large");
    return Blocks{std::move(*sizes), std::move(*margins)};
  }
  size_t count() const { return sizes.size(); }
  int64_t volume() const {
    int64_t all = 1;
    for (int64_t size : sizes)
      all *= size;
    return all;
  }
};

/// Element by element of the small batch's pixels: f(pixel of `many`, pixel of `few` or −1 for one in the margin),
/// where `many` has the larger batch and the smaller images. A pixel is all that lies behind the spatial dimensions.
template <class F>
void forEachPixel(const Blocks &blocks, llvm::ArrayRef<int32_t> many, llvm::ArrayRef<int32_t> few, F f) {
  size_t spatial = blocks.count();
  int64_t pixels = product(many, 0, spatial + 1);
  auto fewStrides = stridesOf(few.take_front(spatial + 1));
  Shape position(spatial + 1, 0);
  for (int64_t pixel = 0; pixel < pixels; ++pixel) {
    int64_t inBlock = position[0] / few[0], at = position[0] % few[0] * fewStrides[0];
    bool inside = true;
    for (size_t d = spatial; d-- > 0;) {
      int64_t offset = inBlock % blocks.sizes[d];
      inBlock /= blocks.sizes[d];
      int64_t where = position[d + 1] * blocks.sizes[d] + offset - blocks.margins[2 * d];
      inside &= where >= 0 && where < few[d + 1];
      at += where * fewStrides[d + 1];
    }
    f(pixel, inside ? at : -1);
    for (size_t d = spatial + 1; d-- > 0;) {
      if (++position[d] < many[d])
        break;
      position[d] = 0;
    }
  }
}

llvm::Error spaceToBatch(KernelContext &ctx) {
  auto blocks = Blocks::of(ctx);
  if (!blocks)
    return blocks.takeError();
  const Tensor &in = ctx.input(0);
  Shape shape = in.shape;
  int64_t batch = in.dim(0) * blocks->volume();
  if (batch > std::numeric_limits<int32_t>::max())
    return ctx.fail("the batch would be too large");
  shape[0] = static_cast<int32_t>(batch);
  for (size_t d = 0; d < blocks->count(); ++d) {
    int64_t padded = in.dim(static_cast<int>(d) + 1) + blocks->margins[2 * d] + blocks->margins[2 * d + 1];
    if (padded % blocks->sizes[d] || padded / blocks->sizes[d] > std::numeric_limits<int32_t>::max())
      return ctx.fail(0, "dimension " + llvm::Twine(d + 1) + " with its margins does not divide into blocks");
    shape[d + 1] = static_cast<int32_t>(padded / blocks->sizes[d]);
  }
  auto output = ctx.output(0, shape);
  if (!output)
    return output.takeError();
  if ((*output)->storage.empty())
    return llvm::Error::success();
  int64_t size = product(shape, blocks->count() + 1, shape.size()) * elementSize(in);
  const uint8_t *from = in.bytes().data();
  uint8_t *to = (*output)->storage.data();
  // The margins are zero, that is the zero point of a quantised tensor.
  bool bytes = in.type == TensorType::INT8 || in.type == TensorType::UINT8;
  int filler = bytes ? (*output)->zeroPoint() : 0;
  forEachPixel(*blocks, shape, in.shape, [&](int64_t pixel, int64_t source) {
    if (source < 0)
      std::memset(to + pixel * size, filler, size);
    else
      std::memcpy(to + pixel * size, from + source * size, size);
  });
  return llvm::Error::success();
}

llvm::Error batchToSpace(KernelContext &ctx) {
  auto blocks = Blocks::of(ctx);
  if (!blocks)
    return blocks.takeError();
  const Tensor &in = ctx.input(0);
  Shape shape = in.shape;
  if (in.dim(0) % blocks->volume())
    return ctx.fail(0, "the batch does not divide into blocks");
  shape[0] = static_cast<int32_t>(in.dim(0) / blocks->volume());
  for (size_t d = 0; d < blocks->count(); ++d) {
    int64_t joined = in.dim(static_cast<int>(d) + 1) * blocks->sizes[d];
    int64_t left = joined - blocks->margins[2 * d] - blocks->margins[2 * d + 1];
    if (left < 0 || left > std::numeric_limits<int32_t>::max())
      return ctx.fail(2, "cuts off more than dimension " + llvm::Twine(d + 1) + " has");
    shape[d + 1] = static_cast<int32_t>(left);
  }
  auto output = ctx.output(0, shape);
  if (!output)
    return output.takeError();
  if ((*output)->storage.empty())
    return llvm::Error::success();
  int64_t size = product(shape, blocks->count() + 1, shape.size()) * elementSize(in);
  const uint8_t *from = in.bytes().data();
  uint8_t *to = (*output)->storage.data();
  forEachPixel(*blocks, in.shape, shape, [&](int64_t pixel, int64_t target) {
    if (target >= 0)
      std::memcpy(to + target * size, from + pixel * size, size);
  });
  return llvm::Error::success();
}

} // namespace

/// The blocks' pixels are behind each other in the channels: a strided copy between [n, h, w, b, b, c] and
/// [n, h, b, w, b, c].
llvm::Expected<View> viewSpaceToDepth(const KernelContext &ctx) {
  const Tensor &in = ctx.input(0);
  int32_t block = ctx.options<circle::SpaceToDepthOptions>().block_size();
  if (in.dim(1) % block || in.dim(2) % block)
    return ctx.fail(0, "does not divide into blocks of " + llvm::Twine(block));
  int64_t channels = int64_t(in.dim(3)) * block;
  if (channels > std::numeric_limits<int32_t>::max() / block)
    return ctx.fail("there would be too many channels");
  channels *= block;
  int32_t height = in.dim(1) / block, width = in.dim(2) / block;
  auto s = stridesOf(in.shape);
  return View{{in.dim(0), height, width, static_cast<int32_t>(channels)},
              0,
              {in.dim(0), height, width, block, block, in.dim(3)},
              {s[0], s[1] * block, s[2] * block, s[1], s[2], 1}};
}

llvm::Expected<View> viewDepthToSpace(const KernelContext &ctx) {
  const Tensor &in = ctx.input(0);
  int64_t block = ctx.options<circle::DepthToSpaceOptions>().block_size();
  if (in.dim(3) % (block * block))
    return ctx.fail(0, "the channels do not divide into blocks of " + llvm::Twine(block));
  int64_t height = in.dim(1) * block, width = in.dim(2) * block, channels = in.dim(3) / (block * block);
  if (std::max(height, width) > std::numeric_limits<int32_t>::max())
    return ctx.fail("the result would be too large");
  auto s = stridesOf(in.shape);
  auto small = static_cast<int32_t>(block), depth = static_cast<int32_t>(channels);
  return View{{in.dim(0), static_cast<int32_t>(height), static_cast<int32_t>(width), depth},
              0,
              {in.dim(0), in.dim(1), small, in.dim(2), small, depth},
              {s[0], s[1], block * channels, s[2], channels, 1}};
}

llvm::ArrayRef<KernelRow> spaceBatchKernels() {
  using Op = BuiltinOperator;
  static const KernelRow rows[] = {
      {Op::SPACE_TO_BATCH_ND, "any{n|t}, i32, i32 -> same{n|t}", spaceToBatch},
      {Op::BATCH_TO_SPACE_ND, "any, i32, i32 -> same", batchToSpace},
      {Op::SPACE_TO_DEPTH, "any[n,h,w,c] -> same[n,_,_,_]", copyView<viewSpaceToDepth>},
      {Op::DEPTH_TO_SPACE, "any[n,h,w,c] -> same[n,_,_,_]", copyView<viewDepthToSpace>},
  };
  return rows;
}

} // namespace origo::eval
