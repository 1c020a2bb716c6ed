#include "eval/Kernels.h"

#include <cmath>

namespace origo::eval {

namespace {

/// What C++ leaves undefined (a float out of the integer's range) is the nearest number that there is, NaN is 0.
template <class To, class From> To convert(From value) {
  if constexpr (std::is_same_v<To, bool>) {
    return value != From(0);
  } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    if (std::isnan(value))
      return 0;
    if (value <= static_cast<From>(std::numeric_limits<To>::min()))
      return std::numeric_limits<To>::min();
    if (value >= static_cast<From>(std::numeric_limits<To>::max()))
      return std::numeric_limits<To>::max();
    return static_cast<To>(value);
  } else {
    return static_cast<To>(value);
  }
}

template <class F> llvm::Error withType(KernelContext &ctx, TensorType type, F f) {
  switch (type) {
  case TensorType::FLOAT32:
    return f(float());
  case TensorType::FLOAT64:
    return f(double());
  case TensorType::INT8:
    return f(int8_t());
  case TensorType::UINT8:
    return f(uint8_t());
  case TensorType::INT16:
    return f(int16_t());
  case TensorType::UINT16:
    return f(uint16_t());
  case TensorType::INT32:
    return f(int32_t());
  case TensorType::UINT32:
    return f(uint32_t());
  case TensorType::INT64:
    return f(int64_t());
  case TensorType::UINT64:
    return f(uint64_t());
  case TensorType::BOOL:
    return f(bool());
  default:
    return ctx.fail("no kernel for the type");
  }
}

llvm::Error cast(KernelContext &ctx) {
  Tensor &output = ctx.output();
  return withType(ctx, ctx.input(0).type, [&]<class From>(From) {
    return withType(ctx, output.type, [&]<class To>(To) {
      using Stored = std::conditional_t<std::is_same_v<From, bool>, uint8_t, From>;
      llvm::transform(ctx.input(0).as<Stored>(), output.as<To>().begin(),
                      [](Stored value) { return convert<To>(value); });
      return llvm::Error::success();
    });
  });
}

} // namespace

llvm::ArrayRef<KernelRow> castKernels() {
#define NUMBERS "f32|f64|i8|u8|i16|u16|i32|u32|i64|u64|bool"
  static const KernelRow rows[] = {{BuiltinOperator::CAST, NUMBERS " -> " NUMBERS, cast}};
#undef NUMBERS
  return rows;
}

} // namespace origo::eval
