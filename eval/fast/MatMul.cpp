#include "eval/fast/MatMul.h"
#include "eval/Shapes.h"
#include "eval/fast/Processor.h"
#include "eval/fast/Xnnpack.h"

#include <cstring>

/// Products of matrices that are both computed: XNNPACK has none. FULLY_CONNECTED with computed weights is one.
namespace origo::eval {

namespace {

/// Sixteen numbers, in as many registers as the processor takes for them.
using Wide = float __attribute__((vector_size(64)));
constexpr int64_t width = 16;

struct Job {
  FloatMatrix left;
  const float *packed, *bias;
  float *out;
  int64_t depth, columns;
  float low, high;
};

/// `Rows` rows from `row` on, and all columns.
template <int Rows> [[gnu::always_inline]] inline void multiplyRows(const Job &job, int64_t row) {
  for (int64_t first = 0; first < job.columns; first += width) {
    const float *right = job.packed + first * job.depth, *left = job.left.data + row * job.left.rowStep;
    Wide sums[Rows] = {};
    for (int64_t k = 0; k < job.depth; ++k, right += width) {
      Wide b;
      std::memcpy(&b, right, sizeof b);
      for (int r = 0; r < Rows; ++r)
        sums[r] += left[r * job.left.rowStep + k * job.left.columnStep] * b;
    }
    int64_t count = std::min(width, job.columns - first);
    for (int r = 0; r < Rows; ++r) {
      float numbers[width];
      std::memcpy(numbers, &sums[r], sizeof numbers);
      float *out = job.out + (row + r) * job.columns + first;
      for (int64_t c = 0; c < count; ++c) {
        float sum = job.bias ? numbers[c] + job.bias[first + c] : numbers[c];
        out[c] = std::min(std::max(sum, job.low), job.high);
      }
    }
  }
}

template <int Rows> [[gnu::always_inline]] inline void multiplyAll(const Job &job, int64_t row, int64_t end) {
  for (; row + Rows <= end; row += Rows)
    multiplyRows<Rows>(job, row);
  for (; row < end; ++row)
    multiplyRows<1>(job, row);
}

using Multiply = void (*)(const Job &, int64_t, int64_t);
void multiplyPlain(const Job &job, int64_t row, int64_t end) { multiplyAll<2>(job, row, end); }
ORIGO_AVX2 void multiplyAvx2(const Job &job, int64_t row, int64_t end) { multiplyAll<4>(job, row, end); }
ORIGO_AVX512 void multiplyAvx512(const Job &job, int64_t row, int64_t end) { multiplyAll<12>(job, row, end); }

} // namespace

/// In columns of `width`, the last one filled up with zeros.
void PackedFloats::pack(const FloatMatrix &right, int64_t newDepth, int64_t newColumns) {
  depth = newDepth;
  columns = newColumns;
  packed.resize(static_cast<size_t>((columns + width - 1) / width * width * depth));
  float *to = packed.data();
  for (int64_t first = 0; first < columns; first += width) {
    int64_t count = std::min(width, columns - first);
    for (int64_t k = 0; k < depth; ++k, to += width) {
      const float *from = right.data + k * right.rowStep + first * right.columnStep;
      if (right.columnStep == 1)
        std::memcpy(to, from, static_cast<size_t>(count) * sizeof(float));
      else
        for (int64_t c = 0; c < count; ++c)
          to[c] = from[c * right.columnStep];
      std::fill(to + count, to + width, 0.f);
    }
  }
}

void PackedFloats::multiply(const FloatMatrix &left, int64_t rows, const float *bias, float *out, pthreadpool_t threads,
                            float low, float high) const {
  static const Multiply multiply = forThisProcessor(multiplyPlain, multiplyAvx2, multiplyAvx512);
  Job job{left, packed.data(), bias, out, depth, columns, low, high};
  pthreadpool_parallelize_1d_tile_1d(
      threads,
      [](void *job, size_t row, size_t count) {
        multiply(*static_cast<Job *>(job), static_cast<int64_t>(row), static_cast<int64_t>(row + count));
      },
      &job, static_cast<size_t>(rows), 24, 0);
}

namespace {

std::unique_ptr<FastKernel> batchMatMul(const FastSite &site) {
  if (site.type(0) != TensorType::FLOAT32 || site.type(1) != TensorType::FLOAT32)
    return nullptr;
  const auto &options = site.options<circle::BatchMatMulOptions>();
  bool left = options.adjoint_lhs(), right = options.adjoint_rhs();
  return fastKernel([=, packed = PackedFloats()](Operands in, Operands out, pthreadpool_t threads) mutable {
    const Tensor &x = *in[0], &y = *in[1];
    int64_t rows = x.dim(x.rank() - 2), depth = x.shape.back(), columns = y.shape.back();
    FloatMatrix a{dataOf<float>(x), depth, 1}, b{dataOf<float>(y), columns, 1};
    if (left) {
      std::swap(rows, depth);
      std::swap(a.rowStep, a.columnStep);
    }
    if (right) {
      columns = y.dim(y.rank() - 2);
      std::swap(b.rowStep, b.columnStep);
    }
    if (out[0]->count() == 0 || depth == 0)
      return false;
    llvm::ArrayRef<int32_t> shape = out[0]->shape;
    float *to = dataOf<float>(*out[0]);
    for (Broadcast batch(shape.drop_back(2),
                         {llvm::ArrayRef(x.shape).drop_back(2), llvm::ArrayRef(y.shape).drop_back(2)});
         !batch.done(); batch.next(), to += rows * columns) {
      packed.pack({b.data + batch.index(1) * depth * columns, b.rowStep, b.columnStep}, depth, columns);
      packed.multiply({a.data + batch.index(0) * rows * depth, a.rowStep, a.columnStep}, rows, nullptr, to, threads);
    }
    return true;
  });
}

std::unique_ptr<FastKernel> computedWeights(const FastSite &site) {
  const auto &options = site.options<circle::FullyConnectedOptions>();
  auto range = clampRange<float>(options.fused_activation_function(), site.output());
  if (site.type(0) != TensorType::FLOAT32 || site.type(1) != TensorType::FLOAT32 || site.constant(1) || !range ||
      options.weights_format() != circle::FullyConnectedOptionsWeightsFormat::DEFAULT)
    return nullptr;
  return fastKernel([=, packed = PackedFloats()](Operands in, Operands out, pthreadpool_t threads) mutable {
    const Tensor &x = *in[0], &weights = *in[1];
    int64_t units = weights.dim(0), depth = weights.dim(1);
    if (out[0]->count() == 0 || depth == 0)
      return false;
    packed.pack({dataOf<float>(weights), 1, depth}, depth, units);
    packed.multiply({dataOf<float>(x), depth, 1}, x.count() / depth,
                    in.size() > 2 && in[2] ? dataOf<float>(*in[2]) : nullptr, dataOf<float>(*out[0]), threads,
                    range->first, range->second);
    return true;
  });
}

} // namespace

llvm::ArrayRef<FastRow> fastMatMul() {
  static const FastRow rows[] = {{BuiltinOperator::BATCH_MATMUL, batchMatMul},
                                 {BuiltinOperator::FULLY_CONNECTED, computedWeights}};
  return rows;
}

} // namespace origo::eval
