#include "eval/fast/Xnnpack.h"
#include "eval/kernels/Move.h"

/// What moves elements.
namespace origo::eval {

namespace {

using Op = BuiltinOperator;

std::unique_ptr<FastKernel> pad(const FastSite &site) {
  const Tensor *amounts = site.constant(1), *filler = site.constant(2);
  if (!amounts || (site.has(2) && (!filler || filler->count() != 1)) || site.constant(0))
    return nullptr;
  auto list = site.integers(1);
  if (!list) {
    llvm::consumeError(list.takeError());
    return nullptr;
  }
  size_t rank = list->size() / 2;
  if (rank > XNN_MAX_TENSOR_DIMS || list->size() % 2)
    return nullptr;
  std::array<size_t, XNN_MAX_TENSOR_DIMS> before = {}, after = {};
  for (size_t d = 0; d < rank; ++d) {
    if ((*list)[2 * d] < 0 || (*list)[2 * d + 1] < 0)
      return nullptr;
    before[d] = static_cast<size_t>((*list)[2 * d]);
    after[d] = static_cast<size_t>((*list)[2 * d + 1]);
  }
  TensorType type = site.type(0);
  int64_t size = elementSize(site.input(0));
  uint32_t value = 0;
  if (filler)
    std::memcpy(&value, filler->storage.data(), static_cast<size_t>(std::min<int64_t>(size, 4)));
  else if (type == TensorType::INT8 || type == TensorType::UINT8)
    value = static_cast<uint8_t>(site.output().zeroPoint());
  auto make = [&](auto create, auto setup) {
    return xnnKernel(createXnn(create, &value, 0u),
                     [=](xnn_operator_t op, Operands in, Operands out, pthreadpool_t threads) {
                       const Tensor &x = *in[0];
                       std::array<size_t, XNN_MAX_TENSOR_DIMS> shape = {};
                       if (x.shape.size() != rank || x.count() == 0)
                         return xnn_status_invalid_parameter;
                       std::copy(x.shape.begin(), x.shape.end(), shape.begin());
                       return setup(op, rank, shape.data(), before.data(), after.data(), x.storage.data(),
                                    out[0]->storage.data(), threads);
                     });
  };
  if (size == 1)
    return make(xnn_create_constant_pad_nd_x8, xnn_setup_constant_pad_nd_x8);
  if (size == 4)
    return make(xnn_create_constant_pad_nd_x32, xnn_setup_constant_pad_nd_x32);
  return nullptr;
}

std::unique_ptr<FastKernel> depthToSpace(const FastSite &site) {
  int32_t block = site.options<circle::DepthToSpaceOptions>().block_size();
  llvm::ArrayRef<int32_t> shape = site.input(0).shape;
  if (block <= 1 || block > 1 << 15 || shape.size() != 4 || shape[3] <= 0 || shape[3] % (block * block) ||
      elementSize(site.input(0)) != 4 || site.constant(0))
    return nullptr;
  int32_t depth = shape[3];
  size_t channels = static_cast<size_t>(depth / (block * block));
  return xnnKernel(createXnn(xnn_create_depth_to_space_nhwc_x32, channels, static_cast<size_t>(depth), channels,
                             static_cast<uint32_t>(block), 0u),
                   [=](xnn_operator_t op, Operands in, Operands out, pthreadpool_t threads) {
                     const Tensor &x = *in[0];
                     if (x.rank() != 4 || x.dim(3) != depth || x.count() == 0)
                       return xnn_status_invalid_parameter;
                     return xnn_setup_depth_to_space_nhwc_x32(
                         op, static_cast<size_t>(x.dim(0)), static_cast<size_t>(x.dim(1)),
                         static_cast<size_t>(x.dim(2)), x.storage.data(), out[0]->storage.data(), threads);
                   });
}

/// output[i, j, …] = from[i·steps[0] + j·steps[1] + …] where dimension `rows` of the output lies in one piece in
/// `from`, and the last one does not: squares that fit the cache.
template <class T>
void transposeSquares(const T *from, llvm::ArrayRef<int64_t> steps, llvm::ArrayRef<int32_t> shape, size_t rows, T *to) {
  constexpr int64_t side = 16;
  size_t last = shape.size() - 1;
  auto outSteps = stridesOf(shape);
  int64_t height = shape[rows], width = shape[last], step = steps[last], outStep = outSteps[rows];
  llvm::SmallVector<int32_t, 6> position(shape.size(), 0);
  for (int64_t planes = product(shape) / (height * width); planes > 0; --planes) {
    for (int64_t y = 0; y < height; y += side)
      for (int64_t x = 0; x < width; x += side)
        for (int64_t r = y, rEnd = std::min(y + side, height); r < rEnd; ++r)
          for (int64_t c = x, cEnd = std::min(x + side, width); c < cEnd; ++c)
            to[r * outStep + c] = from[c * step + r];
    for (size_t d = last; d-- > 0;) {
      if (d == rows)
        continue;
      from += steps[d];
      to += outSteps[d];
      if (++position[d] < shape[d])
        break;
      from -= steps[d] * shape[d];
      to -= outSteps[d] * shape[d];
      position[d] = 0;
    }
  }
}

std::unique_ptr<FastKernel> transpose(const FastSite &site) {
  int64_t size = elementSize(site.input(0));
  if (!site.constant(1) || site.constant(0) || (size != 1 && size != 4))
    return nullptr;
  auto permutation = site.integers(1);
  if (!permutation) {
    llvm::consumeError(permutation.takeError());
    return nullptr;
  }
  return fastKernel([size, permutation = *permutation](Operands in, Operands out, pthreadpool_t) {
    llvm::ArrayRef<int32_t> shape = out[0]->shape;
    auto strides = stridesOf(in[0]->shape);
    llvm::SmallVector<int64_t, 6> steps;
    for (int64_t axis : permutation)
      steps.push_back(strides[axis < 0 ? axis + in[0]->rank() : axis]);
    size_t rows = 0;
    while (rows < shape.size() && (steps[rows] != 1 || shape[rows] == 1))
      ++rows;
    if (rows + 1 >= shape.size())
      copyStrided(in[0]->storage.data(), 0, steps, shape, size, out[0]->storage.data());
    else if (size == 1)
      transposeSquares(dataOf<uint8_t>(*in[0]), steps, shape, rows, dataOf<uint8_t>(*out[0]));
    else
      transposeSquares(dataOf<uint32_t>(*in[0]), steps, shape, rows, dataOf<uint32_t>(*out[0]));
    return true;
  });
}

} // namespace

llvm::ArrayRef<FastRow> fastMovement() {
  static const FastRow rows[] = {
      {Op::PAD, pad}, {Op::PADV2, pad}, {Op::DEPTH_TO_SPACE, depthToSpace}, {Op::TRANSPOSE, transpose}};
  return rows;
}

} // namespace origo::eval
