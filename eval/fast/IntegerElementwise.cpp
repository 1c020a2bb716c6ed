#include "eval/fast/Parallel.h"
#include "eval/fast/Zip.h"
#include "eval/kernels/Cast.h"
#include "eval/kernels/QuantizedArithmetic.h"

#include <atomic>

/// Whole numbers that are not quantised: arithmetic of two operands that broadcast, CAST, and CUMSUM (of floats, too).
namespace origo::eval {

namespace {

using Op = BuiltinOperator;

/// f(x, y, good) of each element; `good` becomes false where the reference kernel would refuse, which then says why.
template <class T, class F> std::unique_ptr<FastKernel> zipped(F f) {
  return fastKernel([f, all = Zip<T>()](Operands in, Operands out, pthreadpool_t threads) mutable {
    std::atomic<bool> good = true;
    all(*in[0], *in[1], *out[0], threads,
        [&](const T *x, bool xMoves, const T *y, bool yMoves, int64_t to, int64_t count) {
          bool fine = true;
          eachPair(x, xMoves, y, yMoves, dataOf<T>(*out[0]) + to, count, [&](T a, T b) { return f(a, b, fine); });
          if (!fine)
            good = false;
        });
    return good.load();
  });
}

template <class T> std::unique_ptr<FastKernel> arithmetic(Op op) {
  switch (op) {
  case Op::ADD:
    return zipped<T>([](T x, T y, bool &) { return wrappingAdd(x, y); });
  case Op::SUB:
    return zipped<T>([](T x, T y, bool &) { return wrappingSub(x, y); });
  case Op::MUL:
    return zipped<T>([](T x, T y, bool &) { return wrappingMul(x, y); });
  case Op::SQUARED_DIFFERENCE:
    return zipped<T>([](T x, T y, bool &) { return wrappingMul(wrappingSub(x, y), wrappingSub(x, y)); });
  case Op::MAXIMUM:
    return zipped<T>([](T x, T y, bool &) { return x > y ? x : y; });
  case Op::MINIMUM:
    return zipped<T>([](T x, T y, bool &) { return x < y ? x : y; });
  case Op::DIV:
    return zipped<T>([](T x, T y, bool &good) -> T {
      good &= y != 0;
      return y == 0 ? 0 : y == -1 ? wrappingSub<T>(0, x) : x / y;
    });
  case Op::FLOOR_DIV:
    return zipped<T>([](T x, T y, bool &good) -> T {
      good &= y != 0;
      if (y == 0 || y == -1)
        return wrappingSub<T>(0, x);
      T quotient = x / y;
      return x % y != 0 && (x < 0) != (y < 0) ? quotient - 1 : quotient;
    });
  default: // FLOOR_MOD
    return zipped<T>([](T x, T y, bool &good) -> T {
      good &= y != 0;
      if (y == 0 || y == -1)
        return 0;
      T rest = x % y;
      return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
    });
  }
}

std::unique_ptr<FastKernel> binary(const FastSite &site) {
  TensorType type = site.type(0);
  if (site.type(1) != type || site.output().type != type ||
      fusedActivation(site) != circle::ActivationFunctionType::NONE)
    return nullptr;
  return type == TensorType::INT32   ? arithmetic<int32_t>(site.op.code)
         : type == TensorType::INT64 ? arithmetic<int64_t>(site.op.code)
                                     : nullptr;
}

std::unique_ptr<FastKernel> logical(const FastSite &site) {
  if (site.op.code == Op::LOGICAL_AND)
    return zipped<uint8_t>([](uint8_t x, uint8_t y, bool &) -> uint8_t { return x && y; });
  return zipped<uint8_t>([](uint8_t x, uint8_t y, bool &) -> uint8_t { return x || y; });
}

template <class From, class To> std::unique_ptr<FastKernel> casting() {
  return fastKernel([](Operands in, Operands out, pthreadpool_t threads) {
    const From *x = dataOf<From>(*in[0]);
    To *to = dataOf<To>(*out[0]);
    parallelFor(threads, static_cast<size_t>(out[0]->count()), 1 << 13, [&](size_t first, size_t count) {
      for (size_t i = first; i < first + count; ++i)
        to[i] = convert<To>(x[i]);
    });
    return true;
  });
}

/// BOOL is read as a byte, and written as 0 or 1.
template <class From> std::unique_ptr<FastKernel> castFrom(TensorType to) {
  switch (to) {
  case TensorType::FLOAT32:
    return casting<From, float>();
  case TensorType::INT8:
    return casting<From, int8_t>();
  case TensorType::UINT8:
    return casting<From, uint8_t>();
  case TensorType::INT16:
    return casting<From, int16_t>();
  case TensorType::INT32:
    return casting<From, int32_t>();
  case TensorType::INT64:
    return casting<From, int64_t>();
  case TensorType::BOOL:
    return casting<From, bool>();
  default:
    return nullptr;
  }
}

std::unique_ptr<FastKernel> cast(const FastSite &site) {
  TensorType to = site.output().type;
  switch (site.type(0)) {
  case TensorType::FLOAT32:
    return castFrom<float>(to);
  case TensorType::INT8:
    return castFrom<int8_t>(to);
  case TensorType::UINT8:
  case TensorType::BOOL:
    return castFrom<uint8_t>(to);
  case TensorType::INT16:
    return castFrom<int16_t>(to);
  case TensorType::INT32:
    return castFrom<int32_t>(to);
  case TensorType::INT64:
    return castFrom<int64_t>(to);
  default:
    return nullptr;
  }
}

/// Sums along an axis, for as many neighbours at once as there are behind it: each is added up in its order.
template <class T> std::unique_ptr<FastKernel> running(const FastSite &site) {
  const auto &options = site.options<circle::CumsumOptions>();
  return fastKernel([reverse = options.reverse(), exclusive = options.exclusive(),
                     sums = std::vector<T>()](Operands in, Operands out, pthreadpool_t) mutable {
    const Tensor &x = *in[0];
    int32_t axis = dataOf<int32_t>(*in[1])[0];
    if (axis < 0)
      axis += x.rank();
    int64_t length = x.dim(axis), inner = product(x.shape, static_cast<size_t>(axis) + 1, x.shape.size());
    int64_t outer = x.count() / (length * inner);
    for (int64_t o = 0; o < outer; ++o) {
      sums.assign(static_cast<size_t>(inner), 0);
      for (int64_t step = 0; step < length; ++step) {
        int64_t at = (o * length + (reverse ? length - 1 - step : step)) * inner;
        const T *from = dataOf<T>(x) + at;
        T *to = dataOf<T>(*out[0]) + at;
        for (int64_t i = 0; i < inner; ++i) {
          T before = sums[static_cast<size_t>(i)], sum;
          if constexpr (std::is_floating_point_v<T>)
            sum = before + from[i];
          else
            sum = wrappingAdd(before, from[i]);
          sums[static_cast<size_t>(i)] = sum;
          to[i] = exclusive ? before : sum;
        }
      }
    }
    return true;
  });
}

std::unique_ptr<FastKernel> cumsum(const FastSite &site) {
  switch (site.type(0)) {
  case TensorType::FLOAT32:
    return running<float>(site);
  case TensorType::INT32:
    return running<int32_t>(site);
  case TensorType::INT64:
    return running<int64_t>(site);
  default:
    return nullptr;
  }
}

} // namespace

llvm::ArrayRef<FastRow> fastIntegerElementwise() {
  static const FastRow rows[] = {{Op::ADD, binary},
                                 {Op::SUB, binary},
                                 {Op::MUL, binary},
                                 {Op::DIV, binary},
                                 {Op::MAXIMUM, binary},
                                 {Op::MINIMUM, binary},
                                 {Op::SQUARED_DIFFERENCE, binary},
                                 {Op::FLOOR_DIV, binary},
                                 {Op::FLOOR_MOD, binary},
                                 {Op::LOGICAL_AND, logical},
                                 {Op::LOGICAL_OR, logical},
                                 {Op::CAST, cast},
                                 {Op::CUMSUM, cumsum}};
  return rows;
}

} // namespace origo::eval
