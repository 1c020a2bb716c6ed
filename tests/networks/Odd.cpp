#include "tests/networks/Net.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>

/// What files have that networks do not need: integers as converters wrote them, packed and sparse constants, tensors
/// that are shared in odd ways, metadata. And operators of all kinds in a row.
namespace origo::test {

namespace {

std::string scaled(double scale, int zero) {
  return llvm::formatv("q{{scale={0:e9}, zero_point={1}}", scale, zero).str();
}

/// A convolution of uint8, with one scale for its weights, as TensorFlow 1 trained it.
T convU8(Net &n, const T &x, double from, int channels, int size, int stride, double to) {
  double width = 1.5 / (size * std::sqrt(x.last())), step = 2 * width / 255;
  T filter = n.uniform({channels, size, size, x.last()}, 1, 255, "u8", scaled(step, 128));
  T bias = n.uniform({channels}, -2000, 2000, "i32", scaled(from * step, 0));
  std::string s = std::to_string(stride);
  return n.op("CONV_2D", {x, filter, bias}, "stride_w=" + s + ", stride_h=" + s + ", fused_activation_function=RELU6",
              scaled(to, 0));
}

/// Weights of four bits.
T fourBitWeights(Net &n, Shape shape, const std::string &tail) {
  std::string numbers;
  for (int i = 0, count = shape[0] * shape[1]; i < count; ++i)
    numbers += (i ? ", " : "") + std::to_string((i * i * 7 + i * 13 + i / 11) % 15 - 7);
  return n.constant("i4", std::move(shape), "[" + numbers + "]", tail);
}

} // namespace

/// MobileNet as TensorFlow 1 quantised it.
void mobilenetU8(Net &n) {
  T x = n.input({1, 16, 16, 3}, "u8", scaled(0.0078125, 128));
  double from = 0.0078125, six = 6.0 / 255;
  x = convU8(n, x, from, 8, 3, 2, six);
  for (int i : {0, 1}) {
    T filter = n.uniform({1, 3, 3, x.last()}, 0, 255, "u8", scaled(0.004, 120));
    T bias = n.uniform({x.last()}, -2000, 2000, "i32", scaled(six * 0.004, 0));
    T y = n.op("DEPTHWISE_CONV_2D", {x, filter, bias},
               "depth_multiplier=1, stride_w=1, stride_h=1, fused_activation_function=RELU6", scaled(six, 0));
    y = convU8(n, y, six, 8, 1, 1, six);
    x = i ? n.op("ADD", {x, y}, "", scaled(0.04, 0)) : y;
  }
  T wide = n.op("RESIZE_BILINEAR", {x, n.ints({16, 16})}, "", scaled(0.04, 0));
  x = n.op("AVERAGE_POOL_2D", x, "padding=VALID, stride_w=8, stride_h=8, filter_width=8, filter_height=8",
           scaled(0.04, 0));
  x = n.op("RESHAPE", {n.op("CONCATENATION", {x, x}, "axis=3", scaled(0.04, 0)), n.ints({1, 16})}, "new_shape=[1, 16]",
           scaled(0.04, 0));
  T weights = n.uniform({5, 16}, 0, 255, "u8", scaled(0.01, 127)),
    bias = n.uniform({5}, -500, 500, "i32", scaled(0.0004, 0));
  x = n.op("FULLY_CONNECTED", {x, weights, bias}, "", scaled(0.1, 128));
  n.end({n.op("SOFTMAX", x, "beta=1", scaled(0.00390625, 0)),
         n.op("ARG_MAX", {wide, n.constant("i32", {}, "[3]")}, "output_type=INT64", "i64[1,16,16]")});
}

/// int8 inside, floats outside, some operators of floats between.
void mixedI8(Net &n) {
  T x = n.input({1, 12, 12, 4});
  x = n.op("QUANTIZE", x, "", "i8 " + scaled(0.03, 2));
  std::string scales, zeros;
  for (int i = 0; i < 8; ++i) {
    scales += (i ? ", " : "") + std::to_string(0.002 + 0.001 * i);
    zeros += i ? ", 0" : "0";
  }
  T filter = n.uniform({8, 3, 3, 4}, -127, 127, "i8", "q{scale=[" + scales + "], zero_point=[" + zeros + "], dim=0}");
  x = n.op("CONV_2D", {x, filter, n.constant("i32", {8}, "splat 100", scaled(0.0001, 0))},
           "stride_w=1, stride_h=1, fused_activation_function=RELU", scaled(0.05, -128));
  T y = n.op("LOGISTIC", x, "", scaled(0.00390625, -128));
  y = n.op("MUL", {x, y}, "", scaled(0.05, -120));
  T f = n.op("DEQUANTIZE", y, "", "f32");
  f = n.op("TANH", n.batchNorm(f));
  T back = n.op("QUANTIZE", f, "", "i8 " + scaled(0.0078125, 0));
  T again = n.op("QUANTIZE", back, "", "i8 " + scaled(0.01, 5));
  T pooled = n.op("MEAN", {again, n.ints({1, 2})}, "", scaled(0.01, 5));
  T padded = n.op("PAD", {back, n.constant("i32", {4, 2}, "[0, 0, 1, 1, 1, 1, 0, 0]")}, "", scaled(0.0078125, 0));
  T most = n.op("MAX_POOL_2D", padded, "stride_w=2, stride_h=2, filter_width=3, filter_height=3, padding=VALID",
                scaled(0.0078125, 0));
  T other = n.op("SUB",
                 {n.op("MAXIMUM", {most, most}, "", scaled(0.0078125, 0)),
                  n.op("TRANSPOSE", {most, n.ints({0, 2, 1, 3})}, "", scaled(0.0078125, 0))},
                 "", scaled(0.0156, 0));
  n.end({n.op("DEQUANTIZE", pooled, "", "f32"),
         n.op("DEQUANTIZE", n.op("HARD_SWISH", other, "", scaled(0.0156, 0)), "", "f32")});
}

/// 16-bit activations by hand, with biases of 64 bits.
void wide16x8(Net &n) {
  T x = n.input({1, 8, 8, 4}, "i16", scaled(0.0002, 0));
  T filter = n.uniform({6, 3, 3, 4}, -127, 127, "i8", scaled(0.004, 0));
  T bias = n.uniform({6}, -90000, 90000, "i64", "q{scale=8e-7, zero_point=0}");
  x = n.op("CONV_2D", {x, filter, bias}, "stride_w=2, stride_h=2", scaled(0.0003, 0));
  T y = n.op("TANH", x, "", scaled(0.000030517578125, 0));
  y = n.op("ADD", {x, y}, "pot_scale_int16=false", scaled(0.0003, 0));
  y = n.op("BATCH_MATMUL",
           {n.op("RESHAPE", {y, n.ints({1, 16, 6})}, "", scaled(0.0003, 0)),
            n.op("RESHAPE", {y, n.ints({1, 6, 16})}, "", scaled(0.0003, 0))},
           "", scaled(0.001, 0));
  n.end(n.op("DEQUANTIZE", y, "", "f32"));
}

/// Weights as halves behind DEQUANTIZE, one of them for two.
void halves(Net &n) {
  T x = n.input({1, 10, 10, 3});
  auto wide = [&](Shape shape, double size) {
    return n.op("DEQUANTIZE", n.uniform(shape, -size, size, "f16"), "", "f32");
  };
  T bias = wide({8}, 0.2);
  x = n.op("CONV_2D", {x, wide({8, 3, 3, 3}, 0.3), bias}, "stride_w=2, stride_h=2, fused_activation_function=RELU");
  x = n.op("DEPTHWISE_CONV_2D", {x, wide({1, 3, 3, 8}, 0.6), bias}, "depth_multiplier=1, stride_w=1, stride_h=1");
  x = n.op("PRELU", {x, wide({1, 1, 8}, 0.3)});
  x = n.add(x, wide({1, 1, 1, 8}, 0.5));
  n.end(n.op("FULLY_CONNECTED", {n.mean(x, {1, 2}), wide({4, 8}, 0.5)}));
}

/// Sparse constants behind DENSIFY, of floats and of halves.
void sparse(Net &n) {
  T x = n.input({1, 4, 4, 4});
  std::string kept, indices, segments = "00";
  for (int row = 0; row < 4; ++row) { // a filter [4,1,1,4] with two of four numbers a row
    for (int column : {row % 2, 2 + row % 2})
      indices += llvm::toHex(std::string(1, static_cast<char>(column)), true);
    segments += llvm::toHex(std::string(1, static_cast<char>(2 * row + 2)), true);
  }
  std::string how = "sparse{traversal_order=[0, 1, 2, 3], dim_metadata=[{format=DENSE, dense_size=4}, {format=DENSE, "
                    "dense_size=1}, {format=DENSE, dense_size=1}, "
                    "{format=SPARSE_CSR, array_segments=Uint8Vector {values=hex\"" +
                    segments + "\"}, array_indices=Uint8Vector {values=hex\"" + indices + "\"}}]}";
  T floats =
      n.constant("f32", {4, 1, 1, 4}, "hex\"0000803f000000bf0000003f000080bf0000803e0000803f000040bf0000003f\"", how);
  T dense = n.op("DENSIFY", floats, "", "f32[4,1,1,4]");
  x = n.op("CONV_2D", {x, dense, n.uniform({4}, -0.2, 0.2)}, "stride_w=1, stride_h=1, fused_activation_function=RELU");
  T halves = n.constant("f16", {4, 1, 1, 4}, "hex\"003c00b8003800bc0034003c00ba0038\"", how);
  dense = n.op("DEQUANTIZE", n.op("DENSIFY", halves, "", "f16[4,1,1,4]"), "", "f32");
  n.end(n.op("CONV_2D", {x, dense, n.uniform({4}, -0.2, 0.2)}, "stride_w=1, stride_h=1"));
}

/// Weights of four bits: one scale, one a row, one a block.
void fourBits(Net &n) {
  T x = n.input({2, 64});
  T y = n.op("FULLY_CONNECTED", {x, fourBitWeights(n, {8, 64}, scaled(0.05, 0))}, "asymmetric_quantize_inputs=true");
  std::string scales, zeros;
  for (int i = 0; i < 8; ++i) {
    scales += (i ? ", " : "") + std::to_string(0.02 + 0.01 * i);
    zeros += i ? ", 0" : "0";
  }
  T z = n.op("FULLY_CONNECTED",
             {x, fourBitWeights(n, {8, 64}, "q{scale=[" + scales + "], zero_point=[" + zeros + "], dim=0}")});
  T blocks = n.uniform({8, 2}, 0.02, 0.08, "f16");
  T w = n.op("FULLY_CONNECTED",
             {x, fourBitWeights(n, {8, 64},
                                "q{blockwise={scales=%\"" + blocks.name + "\", zero_points=raw -1, block_size=32}}")},
             "asymmetric_quantize_inputs=true");
  T widened = n.op("DEQUANTIZE", fourBitWeights(n, {4, 8}, scaled(0.1, 0)), "", "f32");
  n.end(n.op("FULLY_CONNECTED", {n.op("ADD_N", {y, z, w}), widened}));
}

/// Weights of int8 with inputs of floats, which kernels quantise while they run.
void hybrid(Net &n) {
  T x = n.input({1, 8, 8, 4});
  x = n.op("CONV_2D", {x, n.uniform({8, 3, 3, 4}, -127, 127, "i8", scaled(0.002, 0)), n.uniform({8}, -0.2, 0.2)},
           "stride_w=2, stride_h=2, fused_activation_function=RELU");
  x = n.op("DEPTHWISE_CONV_2D", {x, n.uniform({1, 3, 3, 8}, -127, 127, "i8", scaled(0.004, 0))},
           "depth_multiplier=1, stride_w=1, stride_h=1");
  x = n.reshape(n.op("RELU", n.shift(x)), {1, 128});
  T y =
      n.op("FULLY_CONNECTED", {x, n.uniform({16, 128}, -127, 127, "i8", scaled(0.001, 0)), n.uniform({16}, -0.2, 0.2)},
           "asymmetric_quantize_inputs=true");
  n.end(n.op("FULLY_CONNECTED", {y, n.uniform({4, 16}, -127, 127, "i8", scaled(0.003, 0))}));
}

/// Inputs that are outputs, outputs that are one tensor, constants as outputs, an input that nothing reads, dead
/// operators, equal names and none, one buffer under two shapes.
void oddlyShared(Net &n) {
  T x = n.input({2, 6});
  n.input({3});
  T w = n.constant("f32", {4, 6}, "#1 seed 3 normal 0 0.4"), same = n.constant("f32", {6, 4}, "#1"),
    flat = n.constant("f32", {24}, "#1");
  T y = n.op("FULLY_CONNECTED", {x, w}), z = n.op("FULLY_CONNECTED", {n.op("RELU", y), same}),
    again = n.op("FULLY_CONNECTED", {x, w});
  n.op("EXP", n.op("NEG", z));
  n.statement("%#900: f32[2,4] name \"twice\" = ABS(%\"" + y.name + "\")");
  n.statement("%#901: f32[2,4] name \"twice\" = SQUARE(%#900)");
  n.statement("%#902: f32[2,4] name \"\" = MAXIMUM(%#901, %\"" + again.name + "\")");
  n.statement("%\"a;b;c/d\": f32[2,4] = SQRT(%#902)");
  T named;
  named.name = "a;b;c/d";
  n.end({x, z, z, flat, named});
}

/// A model with labels and other metadata, and an archive behind it.
void metadata(Net &n) {
  T x = n.input({1, 6, 6, 1});
  T y = n.softmax(n.dense(n.reshape(n.conv(x, 4, 3, 2, "fused_activation_function=RELU"), {1, 36}), 3));
  n.end(y);
  n.signature("serving_default", {{"image", x}}, {{"scores", y}});
  n.line("metadata \"author\" \"nobody\"");
  n.line("metadata \"CONVERSION_METADATA\" hex\"00010203\"");
  n.line("buffer = hex\"aabb\"");
}

/// Elementwise operators of floats.
void elementwise(Net &n) {
  T x = n.input({2, 3, 4}), y = n.input({3, 1});
  T t = n.add(x, y);
  for (const char *code : {"ABS", "SQRT", "NEG", "EXP", "SQUARE", "SIN", "COS", "TANH", "LOGISTIC", "ELU",
                           "RELU_N1_TO_1", "RELU_0_TO_1", "ROUND", "FLOOR", "CEIL", "SIGN", "GELU", "HARD_SWISH"})
    t = n.mul(n.add(n.op(code, t), x), n.number(0.5));
  T positive = n.add(n.op("ABS", t), n.number(0.5));
  t = n.op("POW", {positive, n.number(1.5)});
  t = n.op("FLOOR_MOD", {n.op("FLOOR_DIV", {n.op("LOG", t), n.number(0.3)}), n.number(7)});
  T less = n.op("LESS", {x, t}), equal = n.op("NOT_EQUAL", {x, y});
  T chosen =
      n.op("SELECT_V2", {n.op("LOGICAL_AND", {less, n.op("LOGICAL_NOT", n.op("LOGICAL_OR", {equal, less}))}), x, t});
  T any = n.op("REDUCE_ANY", {less, n.ints({2})}), all = n.op("REDUCE_ALL", {equal, n.ints({0, 1})}, "keep_dims=true");
  n.end({chosen, any, all, n.op("ZEROS_LIKE", x), n.op("RSQRT", positive), n.op("REDUCE_PROD", {positive, n.ints({1})}),
         n.op("REDUCE_MIN", {t, n.ints({0})})});
}

/// Operators of integers.
void integers(Net &n) {
  T x = n.input({2, 4}, "i32"), y = n.input({4}, "i64");
  T t = n.add(n.mul(x, n.ints({3})), n.op("CAST", y, "in_data_type=INT64, out_data_type=INT32", "i32[4]"));
  t = n.op("SUB", {t, n.op("FLOOR_MOD", {t, n.ints({5})})});
  t = n.op("MAXIMUM", {n.op("ABS", t), n.op("NEG", x)});
  T bits =
      n.op("RIGHT_SHIFT", {n.op("BITWISE_XOR", {t, x}), n.op("FILL", {n.ints({2, 4}), n.constant("i32", {}, "[1]")})});
  T hot = n.op("ONE_HOT", {n.op("FLOOR_MOD", {x, n.ints({3})}), n.constant("i32", {}, "[3]"), n.number(1), n.number(0)},
               "axis=-1", "f32[2,4,3]");
  T segments = n.op("SEGMENT_SUM", {hot, n.ints({0, 0})}, "", "f32[1,4,3]");
  T scattered = n.op("SCATTER_ND", {n.constant("i32", {2, 1}, "[4, 1]"), x, n.ints({5, 4})});
  T dense = n.op("SPARSE_TO_DENSE", {n.ints({1, 3}), n.ints({6}), n.ints({7, 8}), n.constant("i32", {}, "[0]")}, "",
                 "i32[6]");
  std::vector<T> parts = n.ops("UNPACK", t, "num=2, axis=0", {"i32", "i32"});
  T unsorted =
      n.op("UNSORTED_SEGMENT_MAX", {parts[0], n.ints({0, 1, 1, 0}), n.constant("i32", {}, "[2]")}, "", "i32[2]");
  n.end({bits, n.op("MATRIX_SET_DIAG", {n.op("PACK", {parts[0], parts[1]}, "values_count=2"), n.ints({9, 9})}),
         segments, scattered, dense, unsorted,
         n.op("BUCKETIZE", n.op("CAST", x, "in_data_type=INT32, out_data_type=FLOAT32", "f32[2,4]"),
              "boundaries=[0, 1, 5]", "i32[2,4]"),
         n.op("MATRIX_DIAG", parts[1], "", "i32[4,4]")});
}

/// Operators that move elements, one behind the other.
void movement(Net &n) {
  T x = n.input({2, 4, 6, 3});
  T t = n.transpose(n.transpose(x, {0, 3, 1, 2}), {0, 2, 3, 1});
  t = n.reshape(n.reshape(t, {8, 18}), {2, 4, 6, 3});
  std::vector<T> parts =
      n.ops("SPLIT_V", {t, n.ints({1, 2, 3}), n.constant("i32", {}, "[2]")}, "num_splits=3", {"f32", "f32", "f32"});
  t = n.op("CONCATENATION", {parts[2], parts[0], parts[1]}, "axis=2");
  t = n.op("REVERSE_SEQUENCE", {t, n.ints({2, 3}, "i32")}, "seq_dim=1, batch_dim=0");
  t = n.op("GATHER", {t, n.ints({3, 0, 1})}, "axis=2");
  T inner = n.op("GATHER_ND", {t, n.constant("i32", {2, 2}, "[0, 1, 1, 3]")});
  T wide = n.op("BROADCAST_TO", {inner, n.ints({2, 2, 3, 3})});
  t = n.op("SLICE", {n.op("TILE", {wide, n.ints({1, 2, 1, 1})}), n.ints({0, 1, 0, 0}), n.ints({-1, 2, 3, -1})});
  T turned = n.transpose(n.op("RELU", n.transpose(t, {3, 0, 1, 2})), {1, 2, 3, 0});
  n.end({n.op("SQUEEZE", n.op("EXPAND_DIMS", {turned, n.constant("i32", {}, "[-1]")}), "squeeze_dims=[-1]"),
         n.op("MIRROR_PAD", {t, n.constant("i32", {4, 2}, "[0, 0, 1, 0, 0, 1, 0, 0]")}, "mode=SYMMETRIC")});
}

/// StableHLO's operators, as the newer converter leaves them.
void stablehlo(Net &n) {
  T x = n.input({2, 4});
  T t = n.op("STABLEHLO_ADD", {x, n.uniform({2, 4}, -1, 1)}, "", "f32[2,4]");
  t = n.op("STABLEHLO_MAXIMUM", {n.op("STABLEHLO_MULTIPLY", {t, x}, "", "f32[2,4]"), x}, "", "f32[2,4]");
  t = n.op("STABLEHLO_TANH", n.op("STABLEHLO_NEGATE", t, "", "f32[2,4]"), "", "f32[2,4]");
  t = n.op("STABLEHLO_TRANSPOSE", t, "permutation=[1, 0]", "f32[4,2]");
  t = n.op("STABLEHLO_RESHAPE", t, "", "f32[2,4]");
  n.end({n.op("STABLEHLO_CONCATENATE", {t, x}, "dimension=0", "f32[4,4]"),
         n.op("STABLEHLO_LOGISTIC", t, "", "f32[2,4]")});
}

/// Fake quantisation from training.
void fakeQuantized(Net &n) {
  T x = n.op("FAKE_QUANT", n.input({1, 8, 8, 3}), "min=-1, max=1, num_bits=8");
  T filter = n.op("FAKE_QUANT", n.weights({4, 3, 3, 3}), "min=-0.5, max=0.5, num_bits=8, narrow_range=true");
  x = n.op("CONV_2D", {x, filter, n.uniform({4}, -0.2, 0.2)},
           "stride_w=1, stride_h=1, fused_activation_function=RELU6");
  n.end(n.op("FAKE_QUANT", x, "min=0, max=6, num_bits=8"));
}

/// A front end of sound in integers, of operators that micro-controllers have.
void audioFrontEnd(Net &n) {
  T x = n.input({1, 32}, "i16");
  T y = n.op("CUSTOM \"SignalWindow\"", {x, n.uniform({32}, 0, 4096, "i16")},
             "custom hex\"73686966740001070101010c04022401\"", "i16[1,32]");
  y = n.op("RESHAPE", {y, n.ints({-1})}, "", "i16[32]");
  std::vector<T> scaled =
      n.ops("CUSTOM \"SignalFftAutoScale\"", y, "custom hex\"00000100002401\"", {"i16[32]", "i32[]"});
  y = n.op("CUSTOM \"SignalRfft\"", scaled[0],
           "custom hex\"54006666745f6c656e67746800020e0d020001000200070000020505062501\"", "i16[34]");
  T energy = n.op("CUSTOM \"SignalEnergy\"", y, "custom hex\"00000100002401\"", "u32[17]");
  T low = n.op("CAST", energy, "in_data_type=UINT32, out_data_type=INT32", "i32[17]");
  low = n.op("CONCATENATION",
             {n.constant("i32", {2}, "splat 0"), n.op("STRIDED_SLICE", {low, n.ints({2}), n.ints({13}), n.ints({1})}),
              n.constant("i32", {4}, "splat 0")},
             "axis=0");
  T bank = n.op("CUSTOM \"SignalFilterBank\"",
                {n.op("CAST", low, "in_data_type=INT32, out_data_type=UINT32", "u32[17]"),
                 n.uniform({12}, 0, 4096, "i16"), n.uniform({4}, 0, 12, "i16")},
                "custom hex\"00000100002401\"", "u64[4]");
  T root = n.op("CUSTOM \"SignalFilterBankSquareRoot\"", {bank, scaled[1]}, "custom hex\"00000100002401\"", "u32[4]");
  T loud = n.op("CUSTOM \"SignalFilterBankLog\"", root, "custom hex\"00000100002401\"", "i16[4]");
  T wide = n.op("CAST", loud, "in_data_type=INT16, out_data_type=INT32", "i32[4]");
  wide = n.op("DIV", {n.add(n.mul(wide, n.constant("i32", {}, "[256]")), n.constant("i32", {}, "[333]")),
                      n.constant("i32", {}, "[666]")});
  wide = n.op("MAXIMUM",
              {n.op("MINIMUM", {n.op("SUB", {wide, n.constant("i32", {}, "[128]")}), n.constant("i32", {}, "[127]")}),
               n.constant("i32", {}, "[-128]")});
  n.end(n.op("CAST", wide, "in_data_type=INT32, out_data_type=INT8", "i8[4]"));
}

/// Elements of other types that are moved only.
void movedIntegers(Net &n) {
  std::vector<T> outputs;
  for (const char *type : {"i8", "u8", "i16", "i64", "bool"}) {
    bool isScaled = type[0] != 'b' && type != std::string("i64");
    std::string q = isScaled ? scaled(0.5, type == std::string("i16") ? 0 : 3) : "";
    auto result = [&] { return std::string(type) + (q.empty() ? "" : " " + q); };
    T x = n.input({2, 4, 6}, type, q);
    T t = n.op("TRANSPOSE", {x, n.ints({1, 0, 2})}, "", result());
    std::vector<T> halves = n.ops("SPLIT", {n.constant("i32", {}, "[2]"), t}, "num_splits=2", {result(), result()});
    t = n.op("CONCATENATION", {halves[1], halves[0]}, "axis=0", result());
    t = n.op("SLICE", {t, n.ints({1, 0, 0}), n.ints({4, 2, 3})}, "", result());
    t = n.op("PACK", {t, t}, "values_count=2, axis=1", result());
    t = n.op("STRIDED_SLICE", {t, n.ints({0, 0, 0, 0}), n.ints({4, 2, 2, 3}), n.ints({2, 1, 1, 1})}, "", result());
    std::vector<T> rows = n.ops("UNPACK", t, "num=2, axis=0", {result(), result()});
    T taken = n.op("GATHER", {rows[1], n.ints({1, 0})}, "axis=1", result());
    outputs.push_back(n.op("RESHAPE", {n.op("TILE", {taken, n.ints({1, 1, 2})}, "", result()), n.ints({-1})}, "",
                           (type + std::string("[24]") + (q.empty() ? "" : " " + q))));
  }
  n.end(outputs);
}

/// A file in which tensors have buffers of their own, and something lies behind the flatbuffer.
void archived(Net &n) {
  n.heading("default own_buffer");
  T x = n.input({1, 6}), none = n.constant("f32", {0}, "[]");
  T y = n.op("RELU", n.shift(n.dense(x, 4, "", false)));
  n.end({n.op("CONCATENATION", {y, n.op("RESHAPE", {none, n.ints({1, 0})}, "", "f32[1,0]")}, "axis=1", "f32[1,4]")});
  n.line("metadata \"reduced_precision_support\" \"fp16accfp32\"");
  n.line("archive hex\"504b0506000000000000000000000000000000000000\"");
}

/// Indices of sparse constants in other widths.
void sparseIndices(Net &n) {
  T x = n.input({2, 4});
  std::vector<T> sums;
  for (const char *vector : {"Int32Vector {values=[0, 2, 3]}, array_indices=Int32Vector {values=[1, 3, 0]}",
                             "Uint16Vector {values=[0, 2, 3]}, array_indices=Uint16Vector {values=[1, 3, 0]}"}) {
    T w = n.constant("f32", {2, 4}, "hex\"0000803f000000bf00000040\"",
                     "sparse{traversal_order=[0, 1], dim_metadata=[{format=DENSE, dense_size=2}, {format=SPARSE_CSR, "
                     "array_segments=" +
                         std::string(vector) + "}]}");
    sums.push_back(n.op("FULLY_CONNECTED", {x, n.op("DENSIFY", w, "", "f32[2,4]")}));
  }
  n.end(n.add(sums[0], sums[1]));
}

/// circle's: weights of four bits without a sign, unique numbers of 64 bits, lists of bits that variables are updated.
void circleTypes(Net &n) {
  T x = n.input({3, 8});
  T w = n.constant(
      "u4", {4, 8},
      "[" +
          [] {
            std::string numbers;
            for (int i = 0; i < 32; ++i)
              numbers += (i ? ", " : "") + std::to_string(i * 7 % 16);
            return numbers;
          }() +
          "]",
      scaled(0.1, 8));
  T y = n.op("FULLY_CONNECTED", {x, w}, "", "f32[3,4]");
  std::vector<T> unique =
      n.ops("UNIQUE", n.op("ARG_MAX", {y, n.constant("i32", {}, "[1]")}, "output_type=INT64", "i64[3]"),
            "idx_out_type=INT64", {"i64[?]", "i64[3]"});
  n.end({y, unique[0], unique[1]});
}

/// Rows of kernels that no other network comes through, in one.
void rareRows(Net &n) {
  T x = n.input({2, 3, 4}), k = n.input({3, 4}, "i32"), narrow = n.input({1, 4, 4, 4}, "i8", scaled(0.02, 3));
  T scalar = n.number(0.1), seven = n.constant("i32", {}, "[7]"), last = n.constant("i32", {}, "[-1]");
  // Comparisons and choices.
  T more = n.op("GREATER", {x, scalar}), less = n.op("LESS_EQUAL", {x, scalar}), equal = n.op("EQUAL", {x, x});
  T most = n.op("GREATER", {k, seven}), other = n.op("NOT_EQUAL", {k, seven});
  T chosen = n.op("SELECT", {most, k, n.op("MAXIMUM", {k, seven})});
  T again = n.op("SELECT_V2", {other, chosen, seven});
  T known = n.op("LOGICAL_AND", {n.op("LOGICAL_OR", {more, less}), equal});
  T least = n.op("ARG_MIN", {x, last}, "output_type=INT64", "i64[2,3]");
  T lowest = n.op("ARG_MIN", {x, last}, "output_type=INT32", "i32[2,3]");
  T largest = n.op("ARG_MAX", {x, last}, "output_type=INT64", "i64[2,3]");
  T taken = n.op("GATHER", {x, n.constant("i32", {2, 1}, "[1, 0]")}, "axis=1, batch_dims=1");
  T shape = n.op("BROADCAST_ARGS", {n.ints({1, 4}), n.ints({3, 1})}, "", "i32[2]");
  std::vector<T> rows = n.ops("UNPACK", x, "num=3, axis=1", {"f32", "f32", "f32"});
  std::vector<T> parts =
      n.ops("SPLIT_V", {x, n.ints({2, 2}), n.constant("i32", {}, "[2]")}, "num_splits=2", {"f32", "f32"});
  T peak = n.op("REDUCE_MAX", {x, n.ints({2})});
  T wide = n.op("CAST", n.op("CAST", x, "in_data_type=FLOAT32, out_data_type=FLOAT64", "f64[2,3,4]"),
                "in_data_type=FLOAT64, out_data_type=FLOAT32", "f32[2,3,4]");
  // Integers.
  T leaky = n.op("LEAKY_RELU", narrow, "alpha=0.2", scaled(0.02, 3));
  T average =
      n.op("AVERAGE_POOL_2D", leaky, "stride_w=1, stride_h=1, filter_width=2, filter_height=2", scaled(0.02, 3));
  T bytes = n.op("QUANTIZE", average, "", "u8 " + scaled(0.02, 131));
  T unit = n.op("L2_NORMALIZATION", bytes, "", scaled(0.0078125, 128));
  T sure = n.op("SOFTMAX", n.op("LOGISTIC", unit, "", scaled(0.00390625, 0)), "beta=1", scaled(0.00390625, 0));
  T back = n.op("QUANTIZE", sure, "", "i8 " + scaled(0.00390625, -128));
  T best = n.op("ARG_MAX", {bytes, last}, "output_type=INT32", "i32[1,4,4]");
  T longer = n.input({1, 3, 8}, "i16", scaled(0.001, 0));
  T product =
      n.op("BATCH_MATMUL", {longer, n.uniform({1, 8, 4}, -127, 127, "i8", scaled(0.01, 0))}, "", scaled(0.005, 0));
  T blocks = n.constant("f32", {4, 4}, "hex\"0000803f0000004000004040000080400000a0400000c0400000e04000000041\"",
                        "sparse{traversal_order=[0, 1, 2, 3], block_map=[0, 1], dim_metadata=[{format=DENSE, "
                        "dense_size=2}, {format=SPARSE_CSR, "
                        "array_segments=Uint8Vector {values=hex\"000102\"}, array_indices=Uint8Vector "
                        "{values=hex\"0100\"}}, {format=DENSE, dense_size=2}, "
                        "{format=DENSE, dense_size=2}]}");
  T turned = n.op("FULLY_CONNECTED", {taken, n.op("DENSIFY", blocks, "", "f32[4,4]")});
  T up = n.op("TRANSPOSE_CONV", {n.ints({1, 9, 9, 2}), n.weights({2, 3, 3, 4}), n.op("DEQUANTIZE", leaky, "", "f32")},
              "padding=VALID, stride_w=2, stride_h=2");
  n.end({again, known, least, lowest, largest, shape, rows[1], parts[1], peak, wide, back, best, product, turned, up});
}

/// Operators of bits that only circle has.
void circleBits(Net &n) {
  T x = n.input({2, 4}, "u4", scaled(0.1, 8)), y = n.input({1, 2, 4}, "u4", scaled(0.1, 8)), f = n.input({3, 2});
  T w = n.constant("u4", {3, 4}, "[1, 15, 3, 8, 7, 0, 9, 4, 12, 2, 6, 11]", scaled(0.1, 8));
  T z = n.op("FULLY_CONNECTED", {x, w}, "", "u4[2,3] " + scaled(0.2, 8));
  T product = n.op("BATCH_MATMUL", {y, n.constant("u4", {1, 4, 2}, "[1, 15, 3, 8, 7, 0, 9, 4]", scaled(0.1, 8))}, "",
                   "u4[1,2,2] " + scaled(0.2, 8));
  // Two clusters of weights with three columns: one row of two bits, two rows of one bit.
  T coded = n.op("BCQ_FULLY_CONNECTED",
                 {f, n.floats({4, 1, 2, 0.5}), n.constant("i32", {4, 1}, "[5, 4, 3, 2]"), n.floats({10, 20, 30}),
                  n.constant("i32", {2, 2}, "[2, 1, 1, 2]")},
                 "weights_hidden_size=3", "f32[3,2]");
  n.end({z, product, coded});
}

/// The index of each gate of an LSTM's results, in as few operators as may be.
void smallLstm(Net &n) {
  T x = n.input({1, 4, 6});
  const T none;
  std::vector<T> operands{x};
  for (int i = 0; i < 4; ++i)
    operands.push_back(n.weights({6, 6}));
  for (int i = 0; i < 4; ++i)
    operands.push_back(n.weights({6, 6}));
  operands.insert(operands.end(), 3, none);
  for (int i = 0; i < 4; ++i)
    operands.push_back(n.uniform({6}, -0.1, 0.1));
  operands.insert(operands.end(), 2, none);
  operands.push_back(n.variable({1, 6}));
  operands.push_back(n.variable({1, 6}));
  T y = n.op("UNIDIRECTIONAL_SEQUENCE_LSTM", operands, "fused_activation_function=TANH");
  n.end(n.softmax(n.dense(n.reshape(y, {1, 24}), 3)));
}

/// What older writers left: lists of buffers, a tag, which operands are updated.
void oldFile(Net &n) {
  T x = n.input({1, 4}), state = n.variable({1, 4});
  T y = n.op("CUSTOM \"OldState\"", {x, state}, "custom hex\"00\" mutating [false, true]", "f32[1,4]");
  T z = n.op("TANH", y);
  n.end(z);
  n.line("signature \"old\" @main inputs(\"x\"=%\"" + x.name + "\") outputs(\"z\"=%\"" + z.name + "\") tag \"serve\"");
  n.line("buffer #9 = hex\"00010203\"");
  n.line("metadata_buffers [#9]");
}

/// Rows that are asked for in a network of few operators.
void fewRows(Net &n) {
  T narrow = n.input({1, 4, 4, 4}, "i8", scaled(0.02, 3)), bytes = n.input({1, 4, 4, 4}, "u8", scaled(0.0078125, 128));
  T average =
      n.op("AVERAGE_POOL_2D", narrow, "stride_w=2, stride_h=2, filter_width=2, filter_height=2", scaled(0.02, 3));
  T most =
      n.op("MAX_POOL_2D", bytes, "stride_w=2, stride_h=2, filter_width=2, filter_height=2", scaled(0.0078125, 128));
  T sure = n.op("SOFTMAX", n.op("L2_NORMALIZATION", most, "", scaled(0.0078125, 128)), "beta=1", scaled(0.00390625, 0));
  T image = n.op("RESIZE_NEAREST_NEIGHBOR", {n.input({1, 3, 3, 2}), n.ints({4, 4})}, "align_corners=true");
  T none = n.constant("i32", {2, 2}, "[0, 0, 0, 0]");
  T scattered = n.op("SCATTER_ND", {n.constant("i32", {2, 1}, "[4, 1]"), n.input({2, 4}), n.ints({5, 4})});
  n.end({average, sure, scattered, n.op("SPACE_TO_BATCH_ND", {image, n.ints({2, 2}), none})});
}

} // namespace origo::test
