#include "eval/fast/Loops.h"
#include "eval/kernels/Move.h"

/// SPACE_TO_BATCH_ND and BATCH_TO_SPACE_ND: every so many pixels of a picture are a picture of their own.
namespace origo::eval {

namespace {

using Op = BuiltinOperator;

/// Along one dimension of the pictures.
struct Side {
  int64_t block, margin;
};

/// The blocks and margins may be computed.
llvm::SmallVector<Side, 4> sidesOf(const FastSite &now) {
  auto sizes = *now.values(1), margins = *now.values(2);
  llvm::SmallVector<Side, 4> sides;
  for (size_t d = 0; d < sizes.size(); ++d)
    sides.push_back({sizes[d], margins[2 * d]});
  return sides;
}

/// Copies what belongs together of `few` pictures and of `many` smaller ones.
void moveBlocks(llvm::ArrayRef<Side> sides, const Tensor &few, const Tensor &many, const uint8_t *from, uint8_t *to,
                bool fewToMany, pthreadpool_t threads) {
  size_t rank = few.shape.size(), spatial = sides.size();
  int64_t blocks = many.shape[0] / few.shape[0], size = elementSize(few);
  auto fewSteps = stridesOf(few.shape), manySteps = stridesOf(many.shape);
  for (int64_t block = 0; block < blocks; ++block) {
    Loops<2> loops;
    int64_t fewAt = 0, manyAt = block * few.shape[0] * manySteps[0], rest = block;
    llvm::SmallVector<int64_t, 6> offsets(spatial);
    for (size_t d = spatial; d-- > 0; rest /= sides[d].block)
      offsets[d] = rest % sides[d].block;
    auto add = [&](int64_t count, int64_t fewStep, int64_t manyStep) {
      loops.add(count, fewToMany ? Loops<2>::Steps{fewStep, manyStep} : Loops<2>::Steps{manyStep, fewStep});
    };
    add(few.shape[0], fewSteps[0], manySteps[0]);
    for (size_t d = 0; d < spatial; ++d) {
      auto [step, margin] = sides[d];
      // Pixel i of the small picture is pixel i · step + first of the large one, where that has one.
      int64_t first = offsets[d] - margin;
      int64_t begin = first < 0 ? (-first + step - 1) / step : 0;
      int64_t end = std::min<int64_t>(many.shape[d + 1], (few.shape[d + 1] - first + step - 1) / step);
      add(std::max<int64_t>(end - begin, 0), fewSteps[d + 1] * step, manySteps[d + 1]);
      fewAt += (begin * step + first) * fewSteps[d + 1];
      manyAt += begin * manySteps[d + 1];
    }
    for (size_t d = spatial + 1; d < rank; ++d)
      add(few.shape[d], fewSteps[d], manySteps[d]);
    if (loops.count() == 0)
      continue;
    moveStrided(loops, from + (fewToMany ? fewAt : manyAt) * size, to + (fewToMany ? manyAt : fewAt) * size, size,
                threads);
  }
}

std::unique_ptr<FastKernel> batchToSpace(const FastSite &site) {
  return fastKernel([&op = site.op](Operands in, Operands out, pthreadpool_t threads) {
    moveBlocks(sidesOf(FastSite(op, in)), *out[0], *in[0], in[0]->storage.data(), out[0]->storage.data(), false,
               threads);
    return true;
  });
}

std::unique_ptr<FastKernel> spaceToBatch(const FastSite &site) {
  bool bytes = site.type(0) == TensorType::INT8 || site.type(0) == TensorType::UINT8;
  int filler = bytes ? site.output().zeroPoint() : 0;
  return fastKernel([&op = site.op, filler](Operands in, Operands out, pthreadpool_t threads) {
    std::memset(out[0]->storage.data(), filler, out[0]->storage.size());
    moveBlocks(sidesOf(FastSite(op, in)), *in[0], *out[0], in[0]->storage.data(), out[0]->storage.data(), true,
               threads);
    return true;
  });
}

} // namespace

llvm::ArrayRef<FastRow> fastSpaceBatch() {
  static const FastRow rows[] = {{Op::SPACE_TO_BATCH_ND, spaceToBatch}, {Op::BATCH_TO_SPACE_ND, batchToSpace}};
  return rows;
}

} // namespace origo::eval
