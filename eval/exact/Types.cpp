#include "eval/RealNumbers.h"
#include "eval/exact/Shared.h"
#include "eval/kernels/QuantizedArithmetic.h"

/// From one type to another.
namespace origo::eval::exact {

using namespace loops;

namespace {

/// As they are, whatever they stand for.
llvm::Error storeIntegers(Context &ctx, llvm::ArrayRef<double> numbers) {
  Tensor stored = ctx.output();
  stored.quantization = nullptr;
  return storeNumbers(stored, numbers) ? llvm::Error::success() : ctx.fail("no exact kernel for the type");
}

llvm::Error cast(Context &ctx) {
  const Tensor &in = ctx.input(0);
  Tensor &output = ctx.output();
  if (!isReal(in.type))
    return readNumbers(in, ctx.math, output.as<Number>());
  auto x = in.as<Number>();
  if (isReal(output.type)) {
    llvm::copy(x, output.as<Number>().begin());
    return llvm::Error::success();
  }
  std::vector<double> whole;
  for (const Number &number : x) {
    if (output.type == TensorType::BOOL) {
      ctx.doubtful |= number.isDoubtful();
      whole.push_back(number.image != 0);
      continue;
    }
    Number made = ctx.math.rounded(number, towardsZero);
    ctx.doubtful |= made.isDoubtful() || std::isnan(number.value);
    whole.push_back(std::isnan(made.value) ? 0 : made.value);
  }
  return storeIntegers(ctx, whole);
}

llvm::Error dequantize(Context &ctx) {
  const Tensor &in = ctx.input(0);
  if (!isReal(in.type))
    return readNumbers(in, ctx.math, ctx.output().as<Number>());
  llvm::copy(in.as<Number>(), ctx.output().as<Number>().begin());
  return llvm::Error::success();
}

llvm::Error quantize(Context &ctx) {
  Tensor &output = ctx.output();
  Channels channels(output);
  if (!channels.fit)
    return ctx.fail("has scales that do not fit its shape");
  std::optional<unsigned> bits = bitsPerElement(output.type);
  bool isUnsigned = output.type == TensorType::UINT8 || output.type == TensorType::UINT16;
  double low = isUnsigned ? 0 : -std::ldexp(1., static_cast<int>(*bits) - 1),
         high = low + std::ldexp(1., static_cast<int>(*bits)) - 1;
  std::vector<double> whole;
  for (auto [i, number] : llvm::enumerate(ctx.input(0).as<Number>())) {
    size_t channel = channels.of(i);
    Number made = ctx.math.rounded(ctx.math.divide(number, ctx.math.of(channels.scale(channel))), awayAtHalf);
    ctx.doubtful |= made.isDoubtful();
    whole.push_back(std::clamp((std::isnan(made.value) ? 0 : made.value) + channels.zeroPoint(channel), low, high));
  }
  return storeIntegers(ctx, whole);
}

/// f(real, imaginary) of complex numbers, which are stored as floats.
template <class F> llvm::Error ofComplex(Context &ctx, F f) {
  const Tensor &in = ctx.input(0);
  auto out = ctx.output().as<Number>();
  auto fill = [&](auto parts) {
    for (size_t i = 0; i < out.size(); ++i)
      out[i] = f(ctx.math.of(static_cast<double>(parts[2 * i])), ctx.math.of(static_cast<double>(parts[2 * i + 1])));
  };
  if (in.type == TensorType::COMPLEX128)
    fill(in.as<double>());
  else
    fill(in.as<float>());
  return llvm::Error::success();
}
llvm::Error realPart(Context &ctx) {
  return ofComplex(ctx, [](const Number &real, const Number &) { return real; });
}
llvm::Error imaginaryPart(Context &ctx) {
  return ofComplex(ctx, [](const Number &, const Number &imaginary) { return imaginary; });
}
llvm::Error absolute(Context &ctx) {
  return ofComplex(ctx, [&](const Number &a, const Number &b) {
    return ctx.math.root(ctx.math.add(ctx.math.square(a), ctx.math.square(b)));
  });
}

} // namespace

llvm::ArrayRef<ExactKernel> typeKernels() {
  static const ExactKernel rows[] = {
      {Op::CAST, cast},          {Op::COMPLEX_ABS, absolute}, {Op::DEQUANTIZE, dequantize},
      {Op::IMAG, imaginaryPart}, {Op::QUANTIZE, quantize},    {Op::REAL, realPart},
  };
  return rows;
}

} // namespace origo::eval::exact
