#include "eval/kernels/BatchMatMul.h"
#include "eval/Kernels.h"
#include "eval/Shapes.h"
#include "eval/kernels/Channels.h"
#include "eval/kernels/Hybrid.h"
#include "eval/kernels/Uint4.h"

namespace origo::eval {

using namespace loops;

namespace {

llvm::Error multiplyFloat(KernelContext &ctx) {
  MatMul m = matMulOf(ctx);
  auto x = ctx.input(0).as<float>(), y = ctx.input(1).as<float>();
  multiplyAll<float, float>(
      ctx, m, [&](float &sum, int64_t i, int64_t j) { sum += x[i] * y[j]; },
      [](float sum, int64_t, int64_t) { return sum; });
  return llvm::Error::success();
}

template <class T, class Y, class Acc> llvm::Error multiplyQuantized(KernelContext &ctx) {
  MatMul m = matMulOf(ctx);
  auto scales =
      ChannelScales::of<T>(ctx, ctx.input(0), ctx.input(1), *m.output, static_cast<int32_t>(m.right.columns),
                           circle::ActivationFunctionType::NONE,
                           ctx.input(1).perChannel() ? ChannelScales::Product::Double : ChannelScales::Product::Float);
  if (!scales)
    return scales.takeError();
  auto x = ctx.input(0).as<T>();
  auto y = ctx.input(1).as<Y>();
  multiplyAll<Acc, T>(
      ctx, m,
      [&](Acc &sum, int64_t i, int64_t j) {
        sum = wrappingAdd<Acc>(sum, Acc(x[i] - scales->inputZero) * (y[j] - scales->filterZeroAt(j)));
      },
      [&](Acc sum, int64_t, int64_t column) { return scales->template scaled<T>(sum, column); });
  return llvm::Error::success();
}

llvm::Error multiplyIntegers(KernelContext &ctx) {
  MatMul m = matMulOf(ctx);
  auto x = ctx.input(0).as<int8_t>(), y = ctx.input(1).as<int8_t>();
  multiplyAll<int32_t, int32_t>(
      ctx, m, [&](int32_t &sum, int64_t i, int64_t j) { sum = wrappingAdd(sum, x[i] * y[j]); },
      [](int32_t sum, int64_t, int64_t) { return sum; });
  return llvm::Error::success();
}

llvm::Error multiplyUint4(KernelContext &ctx) {
  MatMul m = matMulOf(ctx);
  std::vector<double> x = realsOf(ctx.input(0)), y = realsOf(ctx.input(1));
  std::vector<double> out(static_cast<size_t>(m.output->count()));
  Tensor reals;
  reals.storage = {reinterpret_cast<uint8_t *>(out.data()), out.size() * sizeof(double)};
  Tensor &output = *std::exchange(m.output, &reals);
  multiplyAll<double, double>(
      ctx, m, [&](double &sum, int64_t i, int64_t j) { sum += x[i] * y[j]; },
      [](double sum, int64_t, int64_t) { return sum; });
  setReals(output, out);
  return llvm::Error::success();
}

/// Float times int8: the rows of the float operand are quantised, each by its own range.
llvm::Error multiplyHybrid(KernelContext &ctx) {
  MatMul m = matMulOf(ctx);
  // In the order of rows, whatever the operand's.
  const auto &options = ctx.options<circle::BatchMatMulOptions>();
  auto x = ctx.input(0).as<float>();
  auto y = ctx.input(1).as<int8_t>();
  llvm::SmallVector<float, 0> rows(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    int64_t inside = static_cast<int64_t>(i) % m.left.size, matrix = static_cast<int64_t>(i) - inside;
    int64_t row = inside / m.left.columns, column = inside % m.left.columns;
    rows[i] = x[matrix + row * m.left.rowStep + column * m.left.columnStep];
  }
  m.left.rowStep = m.left.columns;
  m.left.columnStep = 1;
  int64_t count = m.left.columns ? static_cast<int64_t>(x.size()) / m.left.columns : 0;
  HybridRows quantised(rows, count, options.asymmetric_quantize_inputs());
  multiplyAll<int32_t, float>(
      ctx, m, [&](int32_t &sum, int64_t i, int64_t j) { sum = wrappingAdd(sum, quantised.elements[i] * y[j]); },
      [&](int32_t sum, int64_t row, int64_t column) {
        return count ? static_cast<float>(sum) * (quantised.scales[row] * ctx.input(1).scaleOf(column)) : 0.f;
      });
  return llvm::Error::success();
}

} // namespace

llvm::ArrayRef<KernelRow> batchMatMulKernels() {
  using Op = BuiltinOperator;
  // Scales for columns of the second stack are along its last dimension, or the one before where it is transposed.
  const Condition upright = is("adjoint_rhs", {"false"}), transposed = is("adjoint_rhs", {"true"});
  auto wide = multiplyQuantized<int16_t, int8_t, int64_t>;
  auto narrow = multiplyQuantized<int8_t, int8_t, int32_t>;
  static const KernelRow rows[] = {
      {Op::BATCH_MATMUL, "f32[..,_,_], f32[..,_,_] -> f32[..,_,_]", multiplyFloat},
      {Op::BATCH_MATMUL, "u4{t}[..,_,_], u4{t}[..,_,_] -> u4{t}[..,_,_]", multiplyUint4},
      {Op::BATCH_MATMUL, "f32[..,_,_], i8{t|c-1}[..,_,_] -> f32[..,_,_]", multiplyHybrid, {upright}},
      {Op::BATCH_MATMUL, "f32[..,_,_], i8{t|c-2}[..,_,_] -> f32[..,_,_]", multiplyHybrid, {transposed}},
      {Op::BATCH_MATMUL, "i8{t}[..,_,_], i8{t|c-1}[..,_,_] -> i8{t}[..,_,_]", narrow, {upright}},
      {Op::BATCH_MATMUL, "i8{t}[..,_,_], i8{t|c-2}[..,_,_] -> i8{t}[..,_,_]", narrow, {transposed}},
      {Op::BATCH_MATMUL, "i8[..,_,_], i8[..,_,_] -> i32[..,_,_]", multiplyIntegers},
      {Op::BATCH_MATMUL, "i16{t}[..,_,_], i16{t}[..,_,_] -> i16{t}[..,_,_]",
       multiplyQuantized<int16_t, int16_t, int64_t>},
      {Op::BATCH_MATMUL, "i16{t}[..,_,_], i8{t|c-1}[..,_,_] -> i16{t}[..,_,_]", wide, {upright}},
      {Op::BATCH_MATMUL, "i16{t}[..,_,_], i8{t|c-2}[..,_,_] -> i16{t}[..,_,_]", wide, {transposed}},
  };
  return rows;
}

} // namespace origo::eval
