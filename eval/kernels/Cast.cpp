#include "eval/kernels/Cast.h"
#include "eval/Kernels.h"
#include "eval/kernels/Wider.h"

namespace origo::eval {

namespace {

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
#define NARROW "f16|bf16|f8e4m3fn|f8e5m2|i4|i2|u4"
  static const KernelRow rows[] = {
      {BuiltinOperator::CAST, NUMBERS " -> " NUMBERS, cast},
      {BuiltinOperator::CAST, NARROW " -> " NUMBERS "|" NARROW, computeWider},
      {BuiltinOperator::CAST, NUMBERS " -> " NARROW, computeWider},
  };
#undef NARROW
#undef NUMBERS
  return rows;
}

} // namespace origo::eval
