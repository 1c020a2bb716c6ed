#include "eval/fast/Fast.h"
#include "eval/fast/Loops.h"
#include "eval/kernels/Move.h"

/// Operands that broadcast, looked at one by one: choices and comparisons.
namespace origo::eval {

namespace {

using Op = BuiltinOperator;

template <class T> std::unique_ptr<FastKernel> choices(bool rows) {
  return fastKernel([rows](Operands in, Operands out, pthreadpool_t threads) {
    // SELECT has conditions for whole rows, too: dimensions of 1 behind them make them broadcast.
    Shape condition = in[0]->shape;
    if (rows && condition.size() == 1)
      condition.resize(out[0]->shape.size(), 1);
    auto loops = broadcasting<3>({condition, in[1]->shape, in[2]->shape}, out[0]->shape);
    auto inner = loops.takeInner();
    loops.each(threads, [=](const Loops<4>::Steps &at, int64_t) {
      auto [ifStep, yesStep, noStep, step] = inner.steps;
      const uint8_t *holds = dataOf<uint8_t>(*in[0]) + at[0];
      const T *yes = dataOf<T>(*in[1]) + at[1], *no = dataOf<T>(*in[2]) + at[2];
      T *to = dataOf<T>(*out[0]) + at[3];
      if (ifStep == 0 && (*holds ? yesStep : noStep) == 1)
        std::memcpy(to, *holds ? yes : no, static_cast<size_t>(inner.count) * sizeof(T));
      else if (ifStep == 1 && yesStep == 1 && noStep == 1)
        for (int64_t i = 0; i < inner.count; ++i)
          to[i] = holds[i] ? yes[i] : no[i];
      else
        for (int64_t i = 0; i < inner.count; ++i)
          to[i * step] = holds[i * ifStep] ? yes[i * yesStep] : no[i * noStep];
    });
    return true;
  });
}

std::unique_ptr<FastKernel> select(const FastSite &site) {
  bool rows = site.op.code == Op::SELECT;
  switch (elementSize(site.output())) {
  case 1:
    return choices<uint8_t>(rows);
  case 2:
    return choices<uint16_t>(rows);
  case 4:
    return choices<uint32_t>(rows);
  case 8:
    return choices<uint64_t>(rows);
  default:
    return nullptr;
  }
}

template <class T, class F> std::unique_ptr<FastKernel> pairs(F f) {
  return fastKernel([f](Operands in, Operands out, pthreadpool_t threads) {
    auto loops = broadcasting<2>({in[0]->shape, in[1]->shape}, out[0]->shape);
    auto inner = loops.takeInner();
    loops.each(threads, [=](const Loops<3>::Steps &at, int64_t) {
      auto [xStep, yStep, step] = inner.steps;
      const T *x = dataOf<T>(*in[0]) + at[0], *y = dataOf<T>(*in[1]) + at[1];
      uint8_t *to = dataOf<uint8_t>(*out[0]) + at[2];
      if (xStep == 1 && yStep == 1)
        for (int64_t i = 0; i < inner.count; ++i)
          to[i] = f(x[i], y[i]);
      else if (xStep == 1 && yStep == 0)
        for (int64_t i = 0; i < inner.count; ++i)
          to[i] = f(x[i], *y);
      else
        for (int64_t i = 0; i < inner.count; ++i)
          to[i * step] = f(x[i * xStep], y[i * yStep]);
    });
    return true;
  });
}

template <class T> std::unique_ptr<FastKernel> comparison(BuiltinOperator code) {
  switch (code) {
  case Op::EQUAL:
    return pairs<T>(std::equal_to<T>());
  case Op::NOT_EQUAL:
    return pairs<T>(std::not_equal_to<T>());
  case Op::LESS:
    return pairs<T>(std::less<T>());
  case Op::LESS_EQUAL:
    return pairs<T>(std::less_equal<T>());
  case Op::GREATER:
    return pairs<T>(std::greater<T>());
  default:
    return pairs<T>(std::greater_equal<T>());
  }
}

std::unique_ptr<FastKernel> compare(const FastSite &site) {
  if (site.type(0) != site.type(1) || site.output().type != TensorType::BOOL)
    return nullptr;
  if (site.type(0) == TensorType::FLOAT32)
    return comparison<float>(site.op.code);
  if (site.type(0) == TensorType::INT32)
    return comparison<int32_t>(site.op.code);
  return nullptr;
}

} // namespace

llvm::ArrayRef<FastRow> fastSelect() {
  static const FastRow rows[] = {{Op::SELECT, select},     {Op::SELECT_V2, select},     {Op::EQUAL, compare},
                                 {Op::NOT_EQUAL, compare}, {Op::LESS, compare},         {Op::LESS_EQUAL, compare},
                                 {Op::GREATER, compare},   {Op::GREATER_EQUAL, compare}};
  return rows;
}

} // namespace origo::eval
