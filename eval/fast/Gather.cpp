#include "eval/fast/Fast.h"
#include "eval/fast/Loops.h"
#include "eval/kernels/Move.h"

/// GATHER and GATHER_ND: slices by computed indices. One that is out of range is for the reference kernel to name.
namespace origo::eval {

namespace {

using Op = BuiltinOperator;

template <class F> std::unique_ptr<FastKernel> withIndices(const FastSite &site, F make) {
  if (site.type(0) == TensorType::STRING)
    return nullptr;
  switch (site.type(1)) {
  case TensorType::INT16:
    return make(int16_t());
  case TensorType::INT32:
    return make(int32_t());
  case TensorType::INT64:
    return make(int64_t());
  default:
    return nullptr;
  }
}

std::unique_ptr<FastKernel> gather(const FastSite &site) {
  const auto &options = site.options<circle::GatherOptions>();
  return withIndices(site, [axis = options.axis(), dims = options.batch_dims()]<class Index>(Index) {
    return fastKernel([axis, dims](Operands in, Operands out, pthreadpool_t threads) {
      const Tensor &params = *in[0], &indices = *in[1];
      int along = axis < 0 ? axis + params.rank() : axis, batches = dims < 0 ? dims + indices.rank() : dims;
      int64_t length = params.dim(along), size = elementSize(params);
      int64_t slice = product(params.shape, static_cast<size_t>(along) + 1, params.shape.size()) * size;
      int64_t batch = product(params.shape, 0, static_cast<size_t>(batches));
      int64_t outer = product(params.shape, static_cast<size_t>(batches), static_cast<size_t>(along));
      int64_t picks = indices.count() / batch;
      const Index *at = dataOf<Index>(indices);
      if (!std::all_of(at, at + indices.count(), [&](Index i) { return i >= 0 && i < length; }))
        return false;
      Loops<1> pieces; // of so many picks
      constexpr int64_t many = 64;
      int64_t blocks = (picks + many - 1) / many;
      pieces.add(batch * outer * blocks, {0});
      pieces.each(threads, [&](const Loops<1>::Steps &, int64_t round) {
        int64_t row = round / blocks, first = round % blocks * many;
        const uint8_t *from = params.storage.data() + row * length * slice;
        uint8_t *to = out[0]->storage.data() + row * picks * slice;
        for (int64_t i = first, end = std::min(picks, first + many); i < end; ++i)
          copyPieces(from + at[row / outer * picks + i] * slice, 0, to + i * slice, 0, slice, 1);
      });
      return true;
    });
  });
}

std::unique_ptr<FastKernel> gatherNd(const FastSite &site) {
  return withIndices(site, []<class Index>(Index) {
    return fastKernel([](Operands in, Operands out, pthreadpool_t) {
      const Tensor &params = *in[0], &indices = *in[1];
      int64_t depth = indices.shape.back(), size = elementSize(params);
      int64_t slice = product(params.shape, static_cast<size_t>(depth), params.shape.size()) * size;
      const Index *at = dataOf<Index>(indices);
      uint8_t *to = out[0]->storage.data();
      for (int64_t i = 0, count = indices.count() / depth; i < count; ++i, at += depth, to += slice) {
        int64_t place = 0;
        for (int64_t d = 0; d < depth; ++d) {
          if (at[d] < 0 || at[d] >= params.shape[d])
            return false;
          place = place * params.shape[d] + at[d];
        }
        copyPieces(params.storage.data() + place * slice, 0, to, 0, slice, 1);
      }
      return true;
    });
  });
}

} // namespace

llvm::ArrayRef<FastRow> fastGather() {
  static const FastRow rows[] = {{Op::GATHER, gather}, {Op::GATHER_ND, gatherNd}};
  return rows;
}

} // namespace origo::eval
