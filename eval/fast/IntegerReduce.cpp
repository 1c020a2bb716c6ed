#include "eval/Shapes.h"
#include "eval/fast/Fast.h"
#include "eval/fast/Parallel.h"
#include "eval/kernels/ReduceQuantized.h"
#include "eval/kernels/SoftmaxQuantized.h"

#include <atomic>

/// What goes along rows of quantised numbers: MEAN and SUM over dimensions that follow each other, SOFTMAX.
namespace origo::eval {

namespace {

/// The sums of `length` elements, each `step` behind the last, for `step` neighbours.
template <class T, class End> void sumColumns(const T *x, int64_t length, int64_t step, T *out, const End &end) {
  if (step == 1) {
    int32_t sum = 0;
    for (int64_t i = 0; i < length; ++i)
      sum = wrappingAdd<int32_t>(sum, x[i]);
    *out = end(sum);
    return;
  }
  constexpr int64_t some = 16;
  for (int64_t first = 0; first < step; first += some) {
    size_t count = static_cast<size_t>(std::min(some, step - first));
    std::array<int32_t, some> sums = {};
    for (int64_t i = 0; i < length; ++i) {
      const T *from = x + i * step + first;
      if (count == some)
        for (size_t c = 0; c < some; ++c)
          sums[c] = wrappingAdd<int32_t>(sums[c], from[c]);
      else
        for (size_t c = 0; c < count; ++c)
          sums[c] = wrappingAdd<int32_t>(sums[c], from[c]);
    }
    for (size_t c = 0; c < count; ++c)
      out[first + static_cast<int64_t>(c)] = end(sums[c]);
  }
}

template <class T> std::unique_ptr<FastKernel> reduce(const FastSite &site) {
  if (!site.constant(1))
    return nullptr;
  auto given = site.integers(1);
  if (!given) {
    llvm::consumeError(given.takeError());
    return nullptr;
  }
  if (site.output().type != site.type(0))
    return nullptr;
  bool mean = site.op.code == BuiltinOperator::MEAN;
  bool imageAxes = site.type(0) != TensorType::INT16 && site.options<circle::ReducerOptions>().keep_dims() &&
                   areImageAxes(site.input(1).as<int32_t>());
  return fastKernel([=, axes = *given](Operands in, Operands out, pthreadpool_t threads) {
    const Tensor &x = *in[0];
    if (x.rank() == 0 || x.rank() > 32 || x.count() == 0 || axes.empty())
      return false;
    uint64_t reduced = 0;
    int first = x.rank(), last = 0;
    for (int64_t given : axes) {
      int axis = static_cast<int>(given < 0 ? given + x.rank() : given);
      reduced |= uint64_t(1) << axis;
      first = std::min(first, axis);
      last = std::max(last, axis);
    }
    for (int d = first; d <= last; ++d)
      if (!(reduced >> d & 1) && x.dim(d) != 1)
        return false;
    int64_t outer = product(x.shape, 0, static_cast<size_t>(first));
    int64_t length = product(x.shape, static_cast<size_t>(first), static_cast<size_t>(last) + 1);
    int64_t inner = product(x.shape, static_cast<size_t>(last) + 1, x.shape.size());
    auto all = [&](const auto &end) {
      size_t tile = 1 + static_cast<size_t>(4096 / (length * inner));
      parallelFor(threads, static_cast<size_t>(outer), tile, [&](size_t first, size_t count) {
        for (int64_t at = static_cast<int64_t>(first); at < static_cast<int64_t>(first + count); ++at)
          sumColumns(dataOf<T>(x) + at * length * inner, length, inner, dataOf<T>(*out[0]) + at * inner, end);
      });
    };
    if (!mean) {
      all(SumEnd<T>(x, *out[0], length));
      return true;
    }
    auto end = MeanEnd<T>::of(x, *out[0], length, imageAxes && x.rank() == 4);
    if (end)
      all(*end);
    return end.has_value();
  });
}

std::unique_ptr<FastKernel> integerReduce(const FastSite &site) {
  switch (site.type(0)) {
  case TensorType::INT8:
    return reduce<int8_t>(site);
  case TensorType::UINT8:
    return reduce<uint8_t>(site);
  case TensorType::INT16:
    return reduce<int16_t>(site);
  default:
    return nullptr;
  }
}

template <class T> std::unique_ptr<FastKernel> softmax(const FastSite &site) {
  if (site.output().type != site.type(0) || !Softmax8::makes<T>(site.output()))
    return nullptr;
  auto made = Softmax8::of(site);
  if (!made) {
    llvm::consumeError(made.takeError());
    return nullptr;
  }
  std::array<int32_t, 256> exponentials;
  for (int i = 0; i < 256; ++i)
    exponentials[static_cast<size_t>(i)] = made->exponential(-i);
  return fastKernel([exponentials](Operands in, Operands out, pthreadpool_t threads) {
    if (in[0]->rank() == 0 || in[0]->count() == 0)
      return false;
    int64_t depth = in[0]->shape.back();
    parallelFor(threads, static_cast<size_t>(in[0]->count() / depth), 16, [&](size_t first, size_t count) {
      for (size_t row = first; row < first + count; ++row) {
        const T *x = dataOf<T>(*in[0]) + static_cast<int64_t>(row) * depth;
        T *y = dataOf<T>(*out[0]) + static_cast<int64_t>(row) * depth;
        int32_t largest = *std::max_element(x, x + depth), sum = 0;
        for (int64_t i = 0; i < depth; ++i)
          sum = wrappingAdd(sum, Softmax8::summand(exponentials[static_cast<size_t>(largest - x[i])]));
        Softmax8::Row<T> scaled(sum);
        for (int64_t i = 0; i < depth; ++i)
          y[i] = scaled(exponentials[static_cast<size_t>(largest - x[i])]);
      }
    });
    return true;
  });
}

std::unique_ptr<FastKernel> softmax16(const FastSite &site) {
  const Tensor &result = site.output();
  if (result.type != TensorType::INT16 || result.scale() != 1.f / 32768 || result.zeroPoint() != 0)
    return nullptr;
  return fastKernel([softmax = Softmax16::of(site)](Operands in, Operands out, pthreadpool_t threads) {
    if (in[0]->rank() == 0 || in[0]->count() == 0)
      return false;
    int64_t depth = in[0]->shape.back();
    std::atomic<bool> good = true;
    parallelFor(threads, static_cast<size_t>(in[0]->count() / depth), 16, [&](size_t first, size_t count) {
      for (size_t row = first; row < first + count; ++row) {
        int64_t at = static_cast<int64_t>(row) * depth;
        if (!softmax.row(dataOf<int16_t>(*in[0]) + at, dataOf<int16_t>(*out[0]) + at, depth))
          good = false;
      }
    });
    return good.load();
  });
}

std::unique_ptr<FastKernel> integerSoftmax(const FastSite &site) {
  switch (site.type(0)) {
  case TensorType::INT8:
    return softmax<int8_t>(site);
  case TensorType::UINT8:
    return softmax<uint8_t>(site);
  case TensorType::INT16:
    return softmax16(site);
  default:
    return nullptr;
  }
}

} // namespace

llvm::ArrayRef<FastRow> fastIntegerReduce() {
  static const FastRow rows[] = {{BuiltinOperator::MEAN, integerReduce},
                                 {BuiltinOperator::SUM, integerReduce},
                                 {BuiltinOperator::SOFTMAX, integerSoftmax}};
  return rows;
}

} // namespace origo::eval
