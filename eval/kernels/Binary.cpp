#include "eval/Kernels.h"
#include "eval/Shapes.h"
#include "eval/Strings.h"
#include "eval/kernels/Compare.h"
#include "eval/kernels/QuantizedArithmetic.h"

/// Elementwise operators of two operands, which broadcast.
namespace origo::eval {

namespace {

using circle::ActivationFunctionType;

/// The four of arithmetic, with a fused activation; integers wrap.
template <class T> llvm::Error arithmetic(KernelContext &ctx) {
  ActivationFunctionType activation = fusedActivation(ctx);
  auto zipWith = [&](auto f) {
    return zip<T, T>(ctx, [&](T x, T y, const char *&refused) -> T {
      T result = f(x, y, refused);
      if constexpr (std::is_floating_point_v<T>)
        return activate(result, activation);
      if (activation == ActivationFunctionType::NONE)
        return result;
      auto [low, high] = activationRange(activation);
      return static_cast<double>(result) < low    ? static_cast<T>(low)
             : static_cast<double>(result) > high ? static_cast<T>(high)
                                                  : result;
    });
  };
  constexpr bool real = std::is_floating_point_v<T>;
  switch (ctx.op.builtinMeant()) {
  case BuiltinOperator::ADD:
    return zipWith([](T x, T y, const char *&) {
      if constexpr (real)
        return x + y;
      else
        return wrappingAdd(x, y);
    });
  case BuiltinOperator::SUB:
    return zipWith([](T x, T y, const char *&) {
      if constexpr (real)
        return x - y;
      else
        return wrappingSub(x, y);
    });
  case BuiltinOperator::MUL:
    return zipWith([](T x, T y, const char *&) {
      if constexpr (real)
        return x * y;
      else
        return wrappingMul(x, y);
    });
  default:
    return zipWith([](T x, T y, const char *&refused) -> T {
      if constexpr (!real) {
        if (y == 0) {
          refused = "division by zero";
          return 0;
        }
        if (std::is_signed_v<T> && y == static_cast<T>(-1))
          return wrappingSub<T>(0, x);
      }
      return x / y;
    });
  }
}

template <class T> llvm::Error maximum(KernelContext &ctx) {
  return zip<T, T>(ctx, [](T x, T y, const char *&) { return x > y ? x : y; });
}
template <class T> llvm::Error minimum(KernelContext &ctx) {
  return zip<T, T>(ctx, [](T x, T y, const char *&) { return x < y ? x : y; });
}

template <class T> llvm::Error squaredDifference(KernelContext &ctx) {
  return zip<T, T>(ctx, [](T x, T y, const char *&) -> T {
    if constexpr (std::is_floating_point_v<T>)
      return (x - y) * (x - y);
    else
      return wrappingMul(wrappingSub(x, y), wrappingSub(x, y));
  });
}

/// Wrapping, by squaring.
llvm::Error powerInteger(KernelContext &ctx) {
  return zip<int32_t, int32_t>(ctx, [](int32_t x, int32_t y, const char *&refused) {
    if (y < 0)
      refused = "an integer to a negative power";
    int32_t result = 1;
    for (; y > 0; y >>= 1, x = wrappingMul(x, x))
      if (y & 1)
        result = wrappingMul(result, x);
    return result;
  });
}

llvm::Error powerFloat(KernelContext &ctx) {
  return zip<float, float>(ctx, [](float x, float y, const char *&) { return std::pow(x, y); });
}

template <class T> llvm::Error atan2(KernelContext &ctx) {
  return zip<T, T>(ctx, [](T y, T x, const char *&) { return std::atan2(y, x); });
}

/// Rounded towards minus infinity.
template <class T> llvm::Error floorDiv(KernelContext &ctx) {
  return zip<T, T>(ctx, [](T x, T y, const char *&refused) -> T {
    if (y == 0) {
      refused = "division by zero";
      return 0;
    }
    if constexpr (std::is_floating_point_v<T>) {
      return std::floor(x / y);
    } else {
      if (y == -1)
        return wrappingSub<T>(0, x);
      T quotient = x / y;
      return x % y != 0 && (x < 0) != (y < 0) ? quotient - 1 : quotient;
    }
  });
}

/// The remainder that has the divisor's sign.
template <class T> llvm::Error floorMod(KernelContext &ctx) {
  return zip<T, T>(ctx, [](T x, T y, const char *&refused) -> T {
    if constexpr (std::is_floating_point_v<T>) {
      T rest = std::fmod(x, y);
      return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
    } else {
      if (y == 0)
        refused = "division by zero";
      if (y == 0 || y == -1)
        return 0;
      T rest = x % y;
      return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
    }
  });
}

template <class T> llvm::Error compare(KernelContext &ctx) {
  auto same = [](T x) { return x; };
  return compareAs<T, T>(ctx, same, same);
}

llvm::Error logicalAnd(KernelContext &ctx) {
  return zip<uint8_t, uint8_t>(ctx, [](uint8_t x, uint8_t y, const char *&) -> uint8_t { return x && y; });
}
llvm::Error logicalOr(KernelContext &ctx) {
  return zip<uint8_t, uint8_t>(ctx, [](uint8_t x, uint8_t y, const char *&) -> uint8_t { return x || y; });
}

template <class T, class Arithmetic> llvm::Error zipQuantized(KernelContext &ctx) {
  Arithmetic compute(ctx, *ctx.outputs[0]);
  return zip<T, T>(ctx, [&](T x, T y, const char *&) { return compute(x, y); });
}

template <class T, int spare> llvm::Error addQuantized(KernelContext &ctx) {
  return zipQuantized<T, QuantizedSum<T, spare>>(ctx);
}

template <class T> llvm::Error multiplyQuantized(KernelContext &ctx) {
  return zipQuantized<T, QuantizedProduct<T>>(ctx);
}

llvm::Error addInt16(KernelContext &ctx) {
  auto sum = ShiftedSum::of(ctx, *ctx.outputs[0]);
  if (!sum)
    return addQuantized<int16_t, 15>(ctx);
  return zip<int16_t, int16_t>(ctx, [&](int16_t x, int16_t y, const char *&) { return (*sum)(x, y); });
}

/// EQUAL and NOT_EQUAL of strings: of their bytes.
llvm::Error equalStrings(KernelContext &ctx) {
  auto x = stringsOf(ctx, 0), y = stringsOf(ctx, 1);
  if (!x || !y)
    return firstError(x, y);
  bool same = ctx.op.code == BuiltinOperator::EQUAL;
  auto out = ctx.output().as<uint8_t>();
  forEachRow(ctx.output().shape, ctx.input(0).shape, ctx.input(1).shape, [&](const Row &row) {
    for (size_t k = 0; k < row.length; ++k)
      out[row.first + k] = ((*x)[row.a + k * row.stepA] == (*y)[row.b + k * row.stepB]) == same;
    return !ctx.late(row.length);
  });
  return llvm::Error::success();
}

} // namespace

llvm::ArrayRef<KernelRow> binaryKernels() {
  using Op = BuiltinOperator;
  static const KernelRow rows[] = {
      {Op::ADD, "f32, f32 -> f32", arithmetic<float>},
      {Op::ADD, "i32, i32 -> i32", arithmetic<int32_t>},
      {Op::ADD, "i64, i64 -> i64", arithmetic<int64_t>},
      {Op::ADD, "i8{t}, i8{t} -> i8{t}", addQuantized<int8_t, 20>},
      {Op::ADD, "u8{t}, u8{t} -> u8{t}", addQuantized<uint8_t, 20>},
      {Op::ADD, "i16{t}, i16{t} -> i16{t}", addInt16},
      {Op::SUB, "i16{t}, i16{t} -> i16{t}", addInt16},
      {Op::SUB, "f32, f32 -> f32", arithmetic<float>},
      {Op::SUB, "i32, i32 -> i32", arithmetic<int32_t>},
      {Op::SUB, "i64, i64 -> i64", arithmetic<int64_t>},
      {Op::SUB, "i8{t}, i8{t} -> i8{t}", addQuantized<int8_t, 20>},
      {Op::SUB, "u8{t}, u8{t} -> u8{t}", addQuantized<uint8_t, 20>},
      {Op::MUL, "f32, f32 -> f32", arithmetic<float>},
      {Op::MUL, "i32, i32 -> i32", arithmetic<int32_t>},
      {Op::MUL, "i64, i64 -> i64", arithmetic<int64_t>},
      {Op::MUL, "u32, u32 -> u32", arithmetic<uint32_t>},
      {Op::MUL, "i8{t}, i8{t} -> i8{t}", multiplyQuantized<int8_t>},
      {Op::MUL, "u8{t}, u8{t} -> u8{t}", multiplyQuantized<uint8_t>},
      {Op::MUL, "i16{t}, i16{t} -> i16{t}", multiplyQuantized<int16_t>},
      {Op::DIV, "f32, f32 -> f32", arithmetic<float>},
      {Op::DIV, "i32, i32 -> i32", arithmetic<int32_t>},
      {Op::DIV, "i64, i64 -> i64", arithmetic<int64_t>},
      {Op::MAXIMUM, "f32, f32 -> f32", maximum<float>},
      {Op::MAXIMUM, "i32, i32 -> i32", maximum<int32_t>},
      {Op::MAXIMUM, "i64, i64 -> i64", maximum<int64_t>},
      {Op::MAXIMUM, "i8{n|t}, i8{n|t} -> i8{n|t}", maximum<int8_t>},
      {Op::MAXIMUM, "u8{n|t}, u8{n|t} -> u8{n|t}", maximum<uint8_t>},
      {Op::MAXIMUM, "i16{n|t}, i16{n|t} -> i16{n|t}", maximum<int16_t>},
      {Op::MINIMUM, "f32, f32 -> f32", minimum<float>},
      {Op::MINIMUM, "i32, i32 -> i32", minimum<int32_t>},
      {Op::MINIMUM, "i64, i64 -> i64", minimum<int64_t>},
      {Op::MINIMUM, "i8{n|t}, i8{n|t} -> i8{n|t}", minimum<int8_t>},
      {Op::MINIMUM, "u8{n|t}, u8{n|t} -> u8{n|t}", minimum<uint8_t>},
      {Op::MINIMUM, "i16{n|t}, i16{n|t} -> i16{n|t}", minimum<int16_t>},
      {Op::SQUARED_DIFFERENCE, "f32, f32 -> f32", squaredDifference<float>},
      {Op::SQUARED_DIFFERENCE, "i32, i32 -> i32", squaredDifference<int32_t>},
      {Op::POW, "f32, f32 -> f32", powerFloat},
      {Op::POW, "i32, i32 -> i32", powerInteger},
      {Op::ATAN2, "f32, f32 -> f32", atan2<float>},
      {Op::ATAN2, "f64, f64 -> f64", atan2<double>},
      {Op::FLOOR_DIV, "i8{n|t}, i8{n|t} -> i8{n|t}", floorDiv<int8_t>},
      {Op::FLOOR_DIV, "i16{n|t}, i16{n|t} -> i16{n|t}", floorDiv<int16_t>},
      {Op::FLOOR_MOD, "i8{n|t}, i8{n|t} -> i8{n|t}", floorMod<int8_t>},
      {Op::FLOOR_MOD, "i16{n|t}, i16{n|t} -> i16{n|t}", floorMod<int16_t>},
      {Op::FLOOR_DIV, "f32, f32 -> f32", floorDiv<float>},
      {Op::FLOOR_DIV, "i32, i32 -> i32", floorDiv<int32_t>},
      {Op::FLOOR_DIV, "i64, i64 -> i64", floorDiv<int64_t>},
      {Op::FLOOR_MOD, "f32, f32 -> f32", floorMod<float>},
      {Op::FLOOR_MOD, "i32, i32 -> i32", floorMod<int32_t>},
      {Op::FLOOR_MOD, "i64, i64 -> i64", floorMod<int64_t>},
#define COMPARISON(code)                                                                                               \
  {Op::code, "f32, f32 -> bool", compare<float>}, {Op::code, "i32, i32 -> bool", compare<int32_t>},                    \
      {Op::code, "i64, i64 -> bool", compare<int64_t>}
// 16 bit integers are ordered as such, whatever their scales: so does the runtime.
#define ORDER(code)                                                                                                    \
  COMPARISON(code), { Op::code, "i16{n|t}, i16{n|t} -> bool", compare<int16_t> }
      COMPARISON(EQUAL),
      COMPARISON(NOT_EQUAL),
      ORDER(LESS),
      ORDER(LESS_EQUAL),
      ORDER(GREATER),
      ORDER(GREATER_EQUAL),
#undef ORDER
#undef COMPARISON
      {Op::EQUAL, "bool, bool -> bool", compare<uint8_t>},
      {Op::NOT_EQUAL, "bool, bool -> bool", compare<uint8_t>},
      {Op::EQUAL, "str, str -> bool", equalStrings},
      {Op::NOT_EQUAL, "str, str -> bool", equalStrings},
      {Op::LOGICAL_AND, "bool, bool -> bool", logicalAnd},
      {Op::LOGICAL_OR, "bool, bool -> bool", logicalOr},
  };
  return rows;
}

} // namespace origo::eval
