#include "eval/Kernels.h"
#include "eval/kernels/Views.h"

/// Blocks of pixels that move into the batch or the channels, and back.
namespace origo::eval {

namespace {

struct Blocks {
  /// Operand 1: the size of a block along each spatial dimension; operand 2: two numbers for each.
  explicit Blocks(const KernelContext &ctx) : sizes(*ctx.values(1)), margins(*ctx.values(2)) {}
  llvm::SmallVector<int64_t, 8> sizes, margins;
  size_t count() const { return sizes.size(); }
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

/// Pixels of the margins are zero, that is the zero point of a quantised tensor, or taken away.
template <bool toBatch> llvm::Error moveBlocks(KernelContext &ctx) {
  Blocks blocks(ctx);
  const Tensor &in = ctx.input(0);
  Tensor &output = ctx.output();
  if (output.storage.empty())
    return llvm::Error::success();
  int64_t size = product(in.shape, blocks.count() + 1, in.shape.size()) * elementSize(in);
  const uint8_t *from = in.bytes().data();
  uint8_t *to = output.storage.data();
  bool bytes = in.type == TensorType::INT8 || in.type == TensorType::UINT8;
  int filler = bytes ? output.zeroPoint() : 0;
  const Shape &many = toBatch ? output.shape : in.shape, &few = toBatch ? in.shape : output.shape;
  forEachPixel(blocks, many, few, [&](int64_t pixel, int64_t inside) {
    int64_t target = toBatch ? pixel : inside, source = toBatch ? inside : pixel;
    if (source < 0)
      std::memset(to + target * size, filler, size);
    else if (target >= 0)
      std::memcpy(to + target * size, from + source * size, size);
  });
  return llvm::Error::success();
}

} // namespace

/// The blocks' pixels are behind each other in the channels: a strided copy between [n, h, w, b, b, c] and
/// [n, h, b, w, b, c].
Views viewSpaceToDepth(const KernelContext &ctx) {
  const Tensor &in = ctx.input(0);
  int32_t block = ctx.options<circle::SpaceToDepthOptions>().block_size();
  auto s = stridesOf(in.shape);
  return {View{0,
               0,
               {in.dim(0), in.dim(1) / block, in.dim(2) / block, block, block, in.dim(3)},
               {s[0], s[1] * block, s[2] * block, s[1], s[2], 1}}};
}

Views viewDepthToSpace(const KernelContext &ctx) {
  const Tensor &in = ctx.input(0);
  int32_t block = ctx.options<circle::DepthToSpaceOptions>().block_size(), depth = ctx.outputs[0]->dim(3);
  auto s = stridesOf(in.shape);
  return {View{0,
               0,
               {in.dim(0), in.dim(1), block, in.dim(2), block, depth},
               {s[0], s[1], int64_t(block) * depth, s[2], depth, 1}}};
}

llvm::ArrayRef<KernelRow> spaceBatchKernels() {
  using Op = BuiltinOperator;
  static const KernelRow rows[] = {
      {Op::SPACE_TO_BATCH_ND, "any{n|t}, i32, i32 -> same{n|t}", moveBlocks<true>},
      {Op::BATCH_TO_SPACE_ND, "any, i32, i32 -> same", moveBlocks<false>},
      {Op::SPACE_TO_DEPTH, "any[n,h,w,c] -> same[n,_,_,_]", viewSpaceToDepth},
      {Op::DEPTH_TO_SPACE, "any[n,h,w,c] -> same[n,_,_,_]", viewDepthToSpace},
  };
  return rows;
}

} // namespace origo::eval
