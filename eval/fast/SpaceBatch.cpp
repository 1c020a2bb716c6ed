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

/// Copies what belongs together of `few` pictures and of `many` smaller ones.
bool moveBlocks(llvm::ArrayRef<Side> sides, const Tensor &few, const Tensor &many, const uint8_t *from, uint8_t *to,
                bool fewToMany, pthreadpool_t threads) {
  size_t rank = few.shape.size(), spatial = sides.size();
  if (rank < spatial + 1 || many.shape.size() != rank)
    return false;
  int64_t blocks = 1, size = elementSize(few);
  for (const Side &side : sides)
    blocks *= side.block;
  if (many.shape[0] != few.shape[0] * blocks)
    return false;
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
  return true;
}

std::unique_ptr<FastKernel> spaceBatch(const FastSite &site) {
  if (!site.constant(1) || !site.constant(2))
    return nullptr;
  auto sizes = site.integers(1), margins = site.integers(2);
  if (!sizes || !margins) {
    llvm::consumeError(llvm::joinErrors(sizes.takeError(), margins.takeError()));
    return nullptr;
  }
  constexpr int64_t most = 1 << 15;
  llvm::SmallVector<Side, 4> sides;
  if (margins->size() != sizes->size() * 2 || sizes->size() > 3)
    return nullptr;
  for (size_t d = 0; d < sizes->size(); ++d) {
    sides.push_back({(*sizes)[d], (*margins)[2 * d]});
    if (sides[d].block < 1 || sides[d].block > most || sides[d].margin < 0 || sides[d].margin > most)
      return nullptr;
  }
  if (site.op.code == Op::BATCH_TO_SPACE_ND)
    return fastKernel([sides](Operands in, Operands out, pthreadpool_t threads) {
      return moveBlocks(sides, *out[0], *in[0], in[0]->storage.data(), out[0]->storage.data(), false, threads);
    });
  bool bytes = site.type(0) == TensorType::INT8 || site.type(0) == TensorType::UINT8;
  int filler = bytes ? site.output().zeroPoint() : 0;
  return fastKernel([sides, filler](Operands in, Operands out, pthreadpool_t threads) {
    std::memset(out[0]->storage.data(), filler, out[0]->storage.size());
    return moveBlocks(sides, *in[0], *out[0], in[0]->storage.data(), out[0]->storage.data(), true, threads);
  });
}

} // namespace

llvm::ArrayRef<FastRow> fastSpaceBatch() {
  static const FastRow rows[] = {{Op::SPACE_TO_BATCH_ND, spaceBatch}, {Op::BATCH_TO_SPACE_ND, spaceBatch}};
  return rows;
}

} // namespace origo::eval
