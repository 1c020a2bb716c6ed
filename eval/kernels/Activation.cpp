#include "eval/FixedPoint.h"
#include "eval/FixedPointFunctions.h"
#include "eval/Kernels.h"
#include "eval/kernels/LookupTable.h"

namespace origo::eval {

namespace {

float logistic(float x) { return 1.f / (1.f + std::exp(-x)); }
float hyperbolicTangent(float x) { return std::tanh(x); }
float elu(float x) { return x < 0 ? std::expm1(x) : x; }
float relu0To1(float x) { return std::min(std::max(x, 0.f), 1.f); }
float hardSwishOf(float x) { return x * std::min(6.f, std::max(0.f, x + 3.f)) / 6.f; }

float gelu(float x) { return 0.5f * x * std::erfc(x * static_cast<float>(-M_SQRT1_2)); }
float geluByTanh(float x) {
  const float rootOf2ByPi = static_cast<float>(M_2_SQRTPI * M_SQRT1_2);
  return 0.5f * x * (1 + std::tanh(rootOf2ByPi * (x + 0.044715f * x * x * x)));
}
auto geluOf(const KernelContext &ctx) { return ctx.options<circle::GeluOptions>().approximate() ? geluByTanh : gelu; }
llvm::Error geluFloat(KernelContext &ctx) { return map<float, float>(ctx, geluOf(ctx)); }
template <class T> llvm::Error geluQuantized(KernelContext &ctx) { return mapByTable8<T>(ctx, geluOf(ctx)); }
llvm::Error geluInt16(KernelContext &ctx) { return mapByTable16(ctx, geluOf(ctx)); }

circle::ActivationFunctionType boundsOf(BuiltinOperator code) {
  return code == BuiltinOperator::RELU    ? circle::ActivationFunctionType::RELU
         : code == BuiltinOperator::RELU6 ? circle::ActivationFunctionType::RELU6
                                          : circle::ActivationFunctionType::RELU_N1_TO_1;
}

llvm::Error reluFloat(KernelContext &ctx) {
  return map<float, float>(ctx, [&](float x) { return activate(x, boundsOf(ctx.op.code)); });
}

/// Requantises from the operand's scale to the result's and clamps.
template <class T> llvm::Error reluQuantized(KernelContext &ctx) {
  const Tensor &in = ctx.input(0);
  Tensor &result = ctx.output();
  Multiplier factor = quantizeMultiplier(static_cast<double>(in.scale()) / static_cast<double>(result.scale()));
  auto [low, high] = ctx.op.code == BuiltinOperator::RELU_0_TO_1
                         ? quantizedRange<T>(0.f, 1.f, result)
                         : quantizedActivationRange<T>(boundsOf(ctx.op.code), result);
  auto x = in.as<T>();
  auto out = result.as<T>();
  for (size_t i = 0; i < x.size(); ++i)
    out[i] =
        static_cast<T>(std::clamp(wrappingAdd(multiply(x[i] - in.zeroPoint(), factor), result.zeroPoint()), low, high));
  return llvm::Error::success();
}

llvm::Error leakyReluFloat(KernelContext &ctx) {
  float alpha = ctx.options<circle::LeakyReluOptions>().alpha();
  return map<float, float>(ctx, [&](float x) { return x > 0 ? x : x * alpha; });
}

/// 65536 / (1 + exp(−i / 24)), the runtime's table for both LOGISTIC and TANH of 16 bits. Each number is moved by half
/// the error that a straight line to the next one has in the middle.
const std::array<uint16_t, 256> &logisticTable() {
  static const std::array<uint16_t, 256> table = [] {
    auto exact = [](double i) { return 65536 / (1 + std::exp(-i / 24)); };
    std::array<uint16_t, 256> made;
    for (int i = 0; i < 255; ++i)
      made[i] = static_cast<uint16_t>(std::round(exact(i) - ((exact(i) + exact(i + 1)) / 2 - exact(i + 0.5)) / 2));
    made[255] = 65535;
    return made;
  }();
  return table;
}

/// A 16 bit operand in steps of the table's 1 / (3 · 4096).
class TableScale {
public:
  explicit TableScale(float scale) {
    double wanted = static_cast<double>(scale) * 4096 * 3;
    for (; wanted <= 32767.0 / 2 && shift <= 30; ++shift)
      wanted *= 2;
    factor = static_cast<int32_t>(std::min(wanted, 2147483647.0));
  }
  int64_t operator()(int16_t x) const {
    int64_t round = shift > 0 ? int64_t(1) << (shift - 1) : 0;
    return (int64_t(x) * factor + round) >> shift;
  }

private:
  int32_t factor = 0;
  int shift = 0;
};

/// The table between its places: `bits` is how many of x's bits lie between two of them. At the end it is `most`.
int32_t lookUp(int64_t x, int bits, int32_t most) {
  auto magnitude = static_cast<uint64_t>(std::abs(x));
  uint64_t place = magnitude >> bits, rest = magnitude & ((uint64_t(1) << bits) - 1);
  if (place >= 255)
    return most;
  int32_t here = logisticTable()[place], next = logisticTable()[place + 1];
  return (here << bits) + static_cast<int32_t>(rest) * (next - here);
}

// Scales that are the right power of two are computed as numbers with three integer bits, others by the table.
using Fixed16 = Fixed<int16_t>;

llvm::Error logisticInt16(KernelContext &ctx) {
  TableScale scale(ctx.input(0).scale());
  if (exponentOf(ctx.input(0).scale()) == -12)
    return map<int16_t, int16_t>(ctx, [](int16_t x) { return Fixed16::logistic(x, 3); });
  return map<int16_t, int16_t>(ctx, [&](int16_t x) {
    int64_t scaled = scale(x);
    int32_t result = lookUp(scaled, 9, 0x7fff << 10);
    return static_cast<int16_t>((scaled >= 0 ? result + (1 << 9) : (1 << 25) - result + (1 << 9) - 1) >> 10);
  });
}

llvm::Error tanhInt16(KernelContext &ctx) {
  TableScale scale(ctx.input(0).scale());
  std::optional<int> exponent = exponentOf(ctx.input(0).scale());
  if (exponent == -12 || exponent == -11)
    return map<int16_t, int16_t>(ctx, [&](int16_t x) { return Fixed16::tanh(Fixed16::scaled(x, *exponent + 12), 3); });
  return map<int16_t, int16_t>(ctx, [&](int16_t x) {
    int64_t scaled = scale(x);
    int32_t result = lookUp(scaled, 8, 0xffff << 8);
    return static_cast<int16_t>((scaled >= 0 ? result - (1 << 23) + (1 << 7) : -result + (1 << 23) + (1 << 7) - 1) >>
                                8);
  });
}

template <class T> llvm::Error leakyRelu(KernelContext &ctx) {
  const Tensor &in = ctx.input(0);
  Tensor &result = ctx.output();
  float alpha = ctx.options<circle::LeakyReluOptions>().alpha();
  Multiplier above = quantizeMultiplier(static_cast<double>(in.scale() / result.scale()));
  Multiplier below = quantizeMultiplier(static_cast<double>(in.scale() * alpha / result.scale()));
  auto x = in.as<T>();
  auto out = result.as<T>();
  for (size_t i = 0; i < x.size(); ++i) {
    int32_t value = x[i] - in.zeroPoint();
    out[i] = saturate<T>(wrappingAdd(multiply(value, value >= 0 ? above : below), result.zeroPoint()));
  }
  return llvm::Error::success();
}

int16_t upperHalf(int32_t x) {
  return static_cast<int16_t>(x >= std::numeric_limits<int32_t>::max() - (1 << 15) ? 0x7fff : (x + (1 << 15)) >> 16);
}
int16_t saturatingLeftShift(int16_t x, int amount) {
  return saturate<int16_t>(saturate32(int64_t(x) * (int64_t(1) << std::min(amount, 30))));
}

/// x · relu6(x + 3) / 6 in 16 bits. The last product is not rounded, which takes away the bias of the others.
template <class T> llvm::Error hardSwish(KernelContext &ctx) {
  const Tensor &in = ctx.input(0);
  Tensor &result = ctx.output();
  const float fine = (1.f / 128) * in.scale();
  Multiplier toOutput = quantizeMultiplier(static_cast<double>(fine / result.scale()));
  Multiplier toGate = quantizeMultiplier(static_cast<double>(fine / (3.f / 32768)));
  if (toOutput.shift > 0)
    return ctx.fail("the result's scale is too small for the operand's");
  int16_t outputFactor = upperHalf(toOutput.mantissa), gateFactor = upperHalf(toGate.mantissa);
  auto x = in.as<T>();
  auto out = result.as<T>();
  for (size_t i = 0; i < x.size(); ++i) {
    int16_t value = static_cast<int16_t>((x[i] - in.zeroPoint()) * (1 << 7));
    int16_t scaled = saturatingRoundingDoublingHighMul(value, outputFactor);
    int16_t gate = value;
    if (toGate.shift > 0)
      gate = saturatingLeftShift(gate, toGate.shift - 1);
    gate = saturatingRoundingDoublingHighMul(gate, gateFactor);
    if (toGate.shift > 0)
      gate = saturatingLeftShift(gate, 1);
    if (toGate.shift < 0)
      gate = roundingDivideByPOT(gate, std::min(-toGate.shift, 15));
    gate = static_cast<int16_t>((gate + (1 << 15)) >> 1);
    int32_t twice = gate * scaled / (1 << 15);
    int16_t product = saturate<int16_t>(twice);
    out[i] = saturate<T>(roundingDivideByPOT(product, std::min(-toOutput.shift, 15)) + result.zeroPoint());
  }
  return llvm::Error::success();
}

} // namespace

llvm::ArrayRef<KernelRow> activationKernels() {
  using Op = BuiltinOperator;
  static const KernelRow rows[] = {
      {Op::RELU, "f32 -> f32", reluFloat},
      {Op::RELU, "i8{t} -> i8{t}", reluQuantized<int8_t>},
      {Op::RELU, "u8{t} -> u8{t}", reluQuantized<uint8_t>},
      {Op::RELU, "i16{t} -> i16{t}", reluQuantized<int16_t>},
      {Op::RELU6, "f32 -> f32", reluFloat},
      {Op::RELU6, "i8{t} -> i8{t}", reluQuantized<int8_t>},
      {Op::RELU6, "u8{t} -> u8{t}", reluQuantized<uint8_t>},
      {Op::RELU6, "i16{t} -> i16{t}", reluQuantized<int16_t>},
      {Op::RELU_N1_TO_1, "f32 -> f32", reluFloat},
      {Op::RELU_N1_TO_1, "i8{t} -> i8{t}", reluQuantized<int8_t>},
      {Op::RELU_N1_TO_1, "u8{t} -> u8{t}", reluQuantized<uint8_t>},
      {Op::RELU_0_TO_1, "f32 -> f32", mapFloat<relu0To1>},
      {Op::RELU_0_TO_1, "i8{t} -> i8{t}", reluQuantized<int8_t>},
      {Op::RELU_0_TO_1, "u8{t} -> u8{t}", reluQuantized<uint8_t>},
      {Op::TANH, "f32 -> f32", mapFloat<hyperbolicTangent>},
      {Op::TANH, "i8{t} -> i8{t}", mapByTable8<int8_t, hyperbolicTangent>},
      {Op::TANH, "u8{t} -> u8{t}", mapByTable8<uint8_t, hyperbolicTangent>},
      {Op::TANH, "i16{t} -> i16{t}", tanhInt16, {resultScale(1.f / 32768, 0)}},
      {Op::LOGISTIC, "f32 -> f32", mapFloat<logistic>},
      {Op::LOGISTIC, "i8{t} -> i8{t}", mapByTable8<int8_t, logistic>},
      {Op::LOGISTIC, "u8{t} -> u8{t}", mapByTable8<uint8_t, logistic>},
      {Op::LOGISTIC, "i16{t} -> i16{t}", logisticInt16, {resultScale(1.f / 32768, 0)}},
      {Op::ELU, "f32 -> f32", mapFloat<elu>},
      {Op::ELU, "i8{t} -> i8{t}", mapByTable8<int8_t, elu>},
      {Op::GELU, "f32 -> f32", geluFloat},
      {Op::GELU, "i8{t} -> i8{t}", geluQuantized<int8_t>},
      {Op::GELU, "u8{t} -> u8{t}", geluQuantized<uint8_t>},
      {Op::GELU, "i16{t} -> i16{t}", geluInt16},
      {Op::LEAKY_RELU, "f32 -> f32", leakyReluFloat},
      {Op::LEAKY_RELU, "i8{t} -> i8{t}", leakyRelu<int8_t>},
      {Op::LEAKY_RELU, "u8{t} -> u8{t}", leakyRelu<uint8_t>},
      {Op::LEAKY_RELU, "i16{t} -> i16{t}", leakyRelu<int16_t>},
      {Op::HARD_SWISH, "f32 -> f32", mapFloat<hardSwishOf>},
      {Op::HARD_SWISH, "i8{t} -> i8{t}", hardSwish<int8_t>},
      {Op::HARD_SWISH, "u8{t} -> u8{t}", hardSwish<uint8_t>},
  };
  return rows;
}

} // namespace origo::eval
