#include "tests/networks/Net.h"

#include "llvm/ADT/StringExtras.h"

#include <flatbuffers/flexbuffers.h>

/// Networks of images, in the spellings of several exporters.
namespace origo::test {

constexpr const char *relu = "fused_activation_function=RELU", *relu6 = "fused_activation_function=RELU6";

namespace {
/// Options that are integers of 32 bits.
std::string words(llvm::ArrayRef<int32_t> numbers) {
  std::string bytes;
  for (int32_t number : numbers)
    for (int shift = 0; shift < 32; shift += 8)
      bytes += static_cast<char>(static_cast<uint32_t>(number) >> shift);
  return "custom hex\"" + llvm::toHex(bytes, /*LowerCase=*/true) + "\"";
}

T classify(Net &n, const T &x, int classes) {
  T pooled = n.mean(x, {1, 2});
  return n.softmax(n.dense(pooled, classes));
}
} // namespace

/// Batch norms are still MUL and ADD, each RELU6 an operator.
void mobilenetUnfused(Net &n) {
  T x = n.input({1, 24, 24, 3});
  auto block = [&](T y) { return n.op("RELU6", n.batchNorm(y)); };
  n.scope("stem/");
  x = block(n.conv(x, 8, 3, 2, "", false));
  for (auto [i, channels] : {std::pair(1, 16), {2, 24}, {3, 24}}) {
    n.scope("block" + std::to_string(i) + "/depthwise/");
    T y = block(n.depthwise(x, 3, i == 2 ? 2 : 1, "", false));
    n.scope("block" + std::to_string(i) + "/project/");
    y = n.batchNorm(n.conv(y, channels, 1, 1, "", false));
    x = y.shape == x.shape ? n.add(x, y) : y;
  }
  n.scope("head/");
  n.end(classify(n, x, 10));
}

/// As the TOCO converter left it.
void mobilenetFused(Net &n) {
  T x = n.input({1, 24, 24, 3});
  n.scope("MobilenetV1/Conv2d_0/");
  x = n.conv(x, 8, 3, 2, relu6);
  for (int i : {1, 2, 3, 4}) {
    n.scope("MobilenetV1/Conv2d_" + std::to_string(i) + "/");
    x = n.conv(n.depthwise(x, 3, i == 2 ? 2 : 1, relu6), 8 + 8 * i, 1, 1, relu6);
  }
  n.scope("MobilenetV1/Logits/");
  x = n.conv(n.pool(x, false, 6, 6, "VALID"), 12, 1);
  x = n.op("SQUEEZE", x, "squeeze_dims=[1, 2]");
  n.end(n.softmax(x));
}

/// PyTorch's: a PAD in front of what has a stride, the batch norm behind the convolution, a shortcut by a convolution.
void resnet(Net &n) {
  T x = n.input({1, 24, 24, 3});
  x = n.conv(n.pad(x, 3), 8, 7, 2, "padding=VALID");
  x = n.op("RELU", n.batchNorm(x));
  x = n.pool(n.pad(x, 1), true, 3, 2, "VALID");
  for (int i : {0, 1, 2}) {
    n.scope("layer" + std::to_string(i) + "/");
    int channels = 8 << i, stride = i ? 2 : 1;
    T y = n.conv(n.pad(x, 1), channels, 3, stride,
                 i % 2 ? "padding=VALID, fused_activation_function=RELU" : "padding=VALID");
    if (i % 2 == 0)
      y = n.op("RELU", n.batchNorm(y));
    y = n.batchNorm(n.conv(y, channels, 3, 1, "", false));
    T shortcut = i ? n.batchNorm(n.conv(x, channels, 1, stride, "", false)) : x;
    x = i == 2 ? n.add(y, shortcut, relu) : n.op("RELU", n.add(shortcut, y));
  }
  n.scope("");
  n.end(n.dense(n.reshape(n.mean(x, {1, 2}, true), {1, 32}), 10));
}

/// Pre-activation: the batch norm stands before the convolution.
void resnetPreactivation(Net &n) {
  T x = n.conv(n.input({1, 16, 16, 3}), 8, 3);
  for (int i : {0, 1}) {
    T y = n.conv(n.op("RELU", n.batchNorm(x)), 8, 3, 1, "", false);
    y = n.conv(n.op("RELU", n.batchNorm(y)), 8, 3, 1, "", i);
    x = n.add(x, y);
  }
  n.end(classify(n, n.op("RELU", n.batchNorm(x)), 10));
}

/// A detector of faces: PRELU, shortcuts that grow by a PAD of channels, heads of two sizes.
void blazeface(Net &n) {
  T x = n.input({1, 32, 32, 3});
  auto prelu = [&](T y) { return n.op("PRELU", {y, n.uniform({1, 1, y.last()}, 0, 0.4)}); };
  x = prelu(n.conv(x, 8, 5, 2));
  std::vector<T> boxes, scores;
  for (int i : {0, 1, 2, 3}) {
    n.scope("blaze" + std::to_string(i) + "/");
    int channels = x.last() + 4, stride = i % 2 ? 2 : 1;
    T y = n.conv(n.depthwise(x, 3, stride), channels, 1);
    T shortcut = stride == 2 ? n.pool(x, true, 2, 2) : x;
    shortcut = n.op("PAD", {shortcut, n.constant("i32", {4, 2}, "[0, 0, 0, 0, 0, 0, 0, 4]")});
    x = i == 2 ? n.op("RELU", n.add(y, shortcut)) : prelu(n.add(y, shortcut));
    if (i > 1) {
      T box = n.conv(x, 8, 1), score = n.conv(x, 2, 1);
      int count = x.shape[1] * x.shape[2];
      boxes.push_back(n.reshape(box, {1, count * 2, 4}));
      scores.push_back(n.reshape(score, {1, count * 2, 1}));
    }
  }
  n.scope("");
  T all = n.op("CONCATENATION", boxes, "axis=1");
  n.end({all, n.op("LOGISTIC", n.op("CONCATENATION", scores, "axis=-2"))});
}

/// PRELU and RELU6 in elementary operators.
void clampsSpelledOut(Net &n) {
  T x = n.conv(n.input({1, 12, 12, 3}), 8, 3, 2);
  x = n.op("MINIMUM", {n.op("MAXIMUM", {x, n.number(0)}), n.number(6)});
  x = n.depthwise(x, 3);
  x = n.op("MAXIMUM", {n.op("MINIMUM", {n.number(1), x}), n.number(-1)});
  x = n.conv(x, 12, 1);
  T slope = n.uniform({12}, 0, 0.4);
  x = n.add(n.op("RELU", x), n.mul(n.op("NEG", n.op("RELU", n.op("NEG", x))), slope)); // PRELU
  x = n.conv(x, 8, 3, 2);
  T negative = n.mul(n.op("SUB", {x, n.op("ABS", x)}), n.uniform({8}, 0, 0.2));
  x = n.add(n.op("RELU", x), negative); // PRELU by ABS
  x = n.dense(n.reshape(x, {1, -1}), 16);
  x = n.op("MAXIMUM", {x, n.mul(x, n.number(0.2))}); // LEAKY_RELU
  n.end(n.op("LEAKY_RELU", n.dense(x, 4), "alpha=0.1"));
}

/// MobileNetV3: hard swish and squeeze-and-excite, spelled out and not.
void mobilenetV3(Net &n) {
  T x = n.input({1, 16, 16, 3});
  auto hardSigmoid = [&](T y) { return n.mul(n.op("RELU6", n.add(y, n.number(3))), n.number(1.0 / 6)); };
  x = n.conv(x, 8, 3, 2, "", false);
  x = n.batchNorm(x);
  x = n.mul(x, hardSigmoid(x));
  for (int i : {0, 1}) {
    n.scope("expanded_conv_" + std::to_string(i) + "/");
    T y = n.conv(x, 16, 1);
    y = i ? n.op("HARD_SWISH", y) : n.mul(y, hardSigmoid(y));
    y = n.depthwise(y, 5 - 2 * i);
    T squeezed = i ? n.pool(y, false, 8, 8, "VALID") : n.mean(y, {1, 2}, true);
    T excited = hardSigmoid(n.conv(n.conv(squeezed, 4, 1, 1, relu), 16, 1));
    y = n.mul(y, excited);
    x = n.add(x, n.conv(y, 8, 1));
  }
  n.scope("");
  n.end(n.dense(n.op("HARD_SWISH", n.mean(x, {1, 2})), 10));
}

/// EfficientNet: swish, squeeze-and-excite by FULLY_CONNECTED.
void efficientnet(Net &n) {
  T x = n.input({1, 16, 16, 3});
  auto swish = [&](T y) { return n.mul(y, n.op("LOGISTIC", y)); };
  x = n.op("MUL", {n.op("SUB", {x, n.floats({0.485, 0.456, 0.406})}), n.floats({4.4, 4.5, 4.6})});
  x = swish(n.batchNorm(n.conv(x, 8, 3, 2, "", false)));
  T y = swish(n.batchNorm(n.depthwise(x, 3, 1, "", false)));
  T gate = n.dense(n.mean(y, {1, 2}), 4);
  gate = n.op("LOGISTIC", n.dense(swish(gate), 8));
  y = n.mul(y, n.reshape(gate, {1, 1, 1, 8}));
  x = n.add(x, n.batchNorm(n.conv(y, 8, 1, 1, "", false)));
  n.end(classify(n, x, 10));
}

/// Segmentation: down, up by three ways, and across.
void unet(Net &n) {
  T x = n.input({1, 16, 16, 3});
  T a = n.conv(x, 4, 3, 1, relu), b = n.conv(n.pool(a, true, 2, 2), 8, 3, 1, relu);
  T c = n.conv(n.pool(b, true, 2, 2), 12, 3, 1, relu);
  T d = n.conv(n.pool(c, false, 2, 2), 16, 3, 1, relu);
  T up = n.op("RESIZE_NEAREST_NEIGHBOR", {d, n.ints({4, 4})});
  up = n.conv(n.op("CONCATENATION", {up, c}, "axis=3"), 12, 3, 1, relu);
  up = n.op("RESIZE_BILINEAR", {up, n.ints({8, 8})}, "half_pixel_centers=true");
  up = n.conv(n.op("CONCATENATION", {b, up}, "axis=-1"), 8, 3, 1, relu);
  up = n.op("RELU", n.shift(n.transposeConv(up, 4, 3, 2)));
  n.end(n.op("LOGISTIC", n.conv(n.op("CONCATENATION", {up, a}, "axis=3"), 1, 1)));
}

/// Transposed convolutions with batch norms, which are cut off afterwards.
void generator(Net &n) {
  T x = n.dense(n.input({1, 16}), 4 * 4 * 8);
  x = n.op("LEAKY_RELU", n.reshape(x, {1, 4, 4, 8}), "alpha=0.2");
  x = n.op("RELU", n.batchNorm(n.transposeConv(x, 8, 3, 2)));
  x = n.op("RELU", n.scale(n.transposeConv(x, 6, 4, 2)));
  x = n.op("SLICE", {n.transposeConv(x, 4, 3, 1), n.ints({0, 1, 1, 0}), n.ints({1, 14, 14, 4})});
  n.end(n.op("TANH", n.conv(x, 3, 3)));
}

/// Heat maps: SPACE_TO_DEPTH, DEPTH_TO_SPACE, ARG_MAX.
void heatmaps(Net &n) {
  T x = n.conv(n.op("SPACE_TO_DEPTH", n.input({1, 16, 16, 3}), "block_size=2"), 12, 3, 1, relu);
  T maps = n.op("DEPTH_TO_SPACE", n.conv(x, 20, 1), "block_size=2");
  T flat = n.reshape(maps, {1, 256, 5});
  T best = n.op("ARG_MAX", {flat, n.ints({1})}, "output_type=INT32", "i32[1,5]");
  T y = n.op("FLOOR_DIV", {best, n.constant("i32", {}, "[16]")});
  T column = n.op("SUB", {best, n.mul(y, n.constant("i32", {}, "[16]"))});
  T both = n.op("PACK", {y, column}, "axis=2, values_count=2");
  n.end({n.op("CAST", both, "in_data_type=INT32, out_data_type=FLOAT32", "f32[1,5,2]"),
         n.op("REDUCE_MAX", {flat, n.ints({1})})});
}

/// From ONNX: channels first, with a TRANSPOSE before and behind whatever has channels last here.
void onnxChannelsFirst(Net &n) {
  T x = n.input({1, 3, 12, 12});
  auto conv = [&](T y, int channels, int stride) {
    y = n.conv(n.transpose(y, {0, 2, 3, 1}), channels, 3, stride);
    return n.transpose(y, {0, 3, 1, 2});
  };
  auto norm = [&](T y) {
    Shape channels{1, y.shape[1], 1, 1};
    return n.add(n.mul(y, n.uniform(channels, 0.6, 1.4)), n.uniform(channels, -0.5, 0.5));
  };
  x = n.op("RELU", norm(conv(x, 8, 1)));
  T y = n.op("RELU", norm(conv(x, 8, 1)));
  x = n.add(x, norm(conv(y, 8, 1)));
  x = n.op("CONCATENATION", {x, n.op("TANH", x)}, "axis=1");
  x = conv(n.op("RELU6", x), 8, 2);
  x = n.mean(n.op("PAD", {x, n.constant("i32", {4, 2}, "[0, 0, 0, 0, 1, 1, 1, 1]")}), {2, 3});
  n.end(n.dense(x, 6));
}

/// Dilation as SPACE_TO_BATCH_ND around a convolution, and as an option.
void dilated(Net &n) {
  T x = n.conv(n.input({1, 12, 12, 3}), 6, 3, 1, relu);
  T paddings = n.constant("i32", {2, 2}, "[2, 2, 2, 2]"), none = n.constant("i32", {2, 2}, "[0, 0, 0, 0]");
  T y = n.op("SPACE_TO_BATCH_ND", {x, n.ints({2, 2}), paddings});
  y = n.conv(y, 6, 3, 1, "padding=VALID, fused_activation_function=RELU");
  y = n.op("BATCH_TO_SPACE_ND", {y, n.ints({2, 2}), none});
  T z = n.op("SPACE_TO_BATCH_ND", {y, n.ints({2, 2}), paddings});
  z = n.op("BATCH_TO_SPACE_ND", {n.depthwise(z, 3, 1, "padding=VALID", false), n.ints({2, 2}), none});
  z = n.op("RELU", n.shift(z));
  x = n.conv(n.add(x, z), 8, 3, 1, "dilation_w_factor=3, dilation_h_factor=3");
  n.end(n.op("L2_NORMALIZATION", n.depthwise(x, 3, 1, "dilation_w_factor=2, dilation_h_factor=2")));
}

/// Pyramid pooling; the label of each pixel.
void deeplab(Net &n) {
  T x = n.conv(n.input({1, 17, 17, 3}), 8, 3, 2, relu6);
  x = n.conv(n.depthwise(x, 3, 1, "dilation_w_factor=2, dilation_h_factor=2"), 8, 1, 1, relu6);
  T pooled = n.conv(n.pool(x, false, 9, 9, "VALID"), 6, 1, 1, relu);
  pooled = n.op("RESIZE_BILINEAR", {pooled, n.ints({9, 9})}, "align_corners=true");
  x = n.op("CONCATENATION", {pooled, n.conv(x, 6, 1, 1, relu)}, "axis=3");
  x = n.op("RESIZE_BILINEAR", {n.conv(x, 5, 1), n.ints({17, 17})}, "align_corners=true");
  n.end(n.op("ARG_MAX", {x, n.constant("i32", {}, "[3]")}, "output_type=INT64", "i64[1,17,17]"));
}

/// Channels in two halves that are shuffled.
void shufflenet(Net &n) {
  T x = n.conv(n.input({1, 12, 12, 3}), 8, 3, 2, relu);
  for (int i : {0, 1}) {
    n.scope("stage" + std::to_string(i) + "/");
    std::vector<T> halves = n.ops("SPLIT", {n.constant("i32", {}, "[3]"), x}, "num_splits=2", {"f32", "f32"});
    T y = n.conv(n.depthwise(n.conv(halves[1], 4, 1, 1, relu), 3), 4, 1, 1, relu);
    x = n.op("CONCATENATION", {halves[0], y}, "axis=3");
    x = n.reshape(n.op("TRANSPOSE", {n.reshape(x, {1, 6, 6, 2, 4}), n.ints({0, 1, 2, 4, 3})}), {1, 6, 6, 8});
  }
  n.scope("");
  T small = n.op("STRIDED_SLICE", {x, n.ints({0, 0, 0, 0}), n.ints({1, 6, 6, 8}), n.ints({1, 2, 2, 1})});
  n.end(classify(n, small, 5));
}

/// Style transfer: instance norms in elementary operators, mirrored borders.
void styleTransfer(Net &n) {
  T x = n.input({1, 12, 12, 3});
  auto mirror = [&](T y, int by) {
    std::string p = std::to_string(by);
    return n.op("MIRROR_PAD",
                {y, n.constant("i32", {4, 2}, "[0, 0, " + p + ", " + p + ", " + p + ", " + p + ", 0, 0]")},
                "mode=REFLECT");
  };
  auto norm = [&](T y, bool centre) {
    T mean = n.mean(y, {1, 2}, true);
    T variance = n.mean(n.op("SQUARED_DIFFERENCE", {y, mean}), {1, 2}, true);
    T gamma = n.uniform({y.last()}, 0.6, 1.4), beta = n.uniform({y.last()}, -0.5, 0.5);
    T inverse = n.mul(n.op("RSQRT", n.add(variance, n.number(1e-3))), gamma);
    if (centre) // from Keras
      return n.add(n.mul(y, inverse), n.op("SUB", {beta, n.mul(mean, inverse)}));
    T deviation = n.op("SQRT", n.add(variance, n.number(1e-3)));
    return n.add(n.mul(n.op("DIV", {n.op("SUB", {y, mean}), deviation}), gamma), beta);
  };
  x = n.op("RELU", norm(n.conv(mirror(x, 2), 8, 5, 1, "padding=VALID"), true));
  x = n.op("RELU", norm(n.conv(mirror(x, 1), 8, 3, 2, "padding=VALID"), false));
  x = n.add(x, norm(n.conv(mirror(x, 1), 8, 3, 1, "padding=VALID"), true));
  x = n.op("RESIZE_NEAREST_NEIGHBOR", {x, n.ints({12, 12})}, "half_pixel_centers=true");
  n.end(n.mul(n.add(n.op("TANH", n.conv(x, 3, 3)), n.number(1)), n.number(127.5)));
}

/// Single-shot detection: boxes decoded from anchors.
void detection(Net &n) {
  T x = n.conv(n.input({1, 16, 16, 3}), 8, 3, 2, relu);
  T y = n.conv(x, 12, 3, 2, relu);
  std::vector<T> boxes, scores;
  for (const T &level : {x, y}) {
    int count = level.shape[1] * level.shape[2];
    boxes.push_back(n.reshape(n.conv(n.depthwise(level, 3, 1, relu), 4, 1), {1, count, 4}));
    scores.push_back(n.reshape(n.conv(level, 3, 1), {1, count, 3}));
  }
  T box = n.op("CONCATENATION", boxes, "axis=1"), score = n.softmax(n.op("CONCATENATION", scores, "axis=1"));
  T centres = n.uniform({1, 80, 2}, 0, 1), sizes = n.uniform({1, 80, 2}, 0.1, 0.5);
  auto part = [&](int begin) {
    return n.op("STRIDED_SLICE", {box, n.ints({0, 0, begin}), n.ints({0, 0, begin + 2}), n.ints({1, 1, 1})},
                "begin_mask=3, end_mask=3");
  };
  T middle = n.add(n.mul(n.mul(part(0), n.number(0.1)), sizes), centres);
  T half = n.op("DIV", {n.mul(n.op("EXP", n.mul(part(2), n.number(0.2))), sizes), n.number(2)});
  n.end({n.op("CONCATENATION", {n.op("SUB", {middle, half}), n.add(middle, half)}, "axis=2"), score});
}

/// A pyramid with three heads and many outputs.
void pyramid(Net &n) {
  T x = n.conv(n.input({1, 16, 16, 3}), 8, 3, 2, relu);
  T a = n.conv(n.depthwise(n.conv(x, 8, 1), 3), 8, 1, 1, relu), b = n.pool(a, true, 2, 2), c = n.pool(b, true, 2, 2);
  b = n.conv(b, 8, 3, 1, relu);
  T up = n.op("RESIZE_NEAREST_NEIGHBOR", {c, n.ints({4, 4})});
  b = n.add(b, up);
  a = n.add(a, n.op("RESIZE_NEAREST_NEIGHBOR", {b, n.ints({8, 8})}));
  std::vector<T> outputs;
  for (const T &level : {a, b, c}) {
    int count = level.shape[1] * level.shape[2];
    T y = n.depthwise(n.conv(level, 8, 1), 3);
    outputs.push_back(n.op("LOGISTIC", n.reshape(n.conv(y, 1, 1), {1, count, 1})));
    outputs.push_back(n.reshape(n.conv(y, 4, 1), {1, count, 4}));
  }
  n.end(outputs);
}

/// Convolutions in groups, of a filter of one pixel, with a multiplier, of strides that do not divide.
void grouped(Net &n) {
  T x = n.input({2, 11, 13, 4});
  T y = n.op("CONV_2D", {x, n.weights({6, 3, 3, 2}), n.uniform({6}, -0.2, 0.2)}, "stride_w=1, stride_h=2");
  y = n.op("DEPTHWISE_CONV_2D", {y, n.normal({1, 3, 2, 12}, 0.4), n.uniform({12}, -0.2, 0.2)},
           "depth_multiplier=2, stride_w=3, stride_h=1, padding=VALID");
  T strided = n.conv(y, 4, 1, 3, "", false);
  T wide =
      n.op("CONV_2D", {y, n.weights({4, 1, 5, 12})}, "stride_w=3, stride_h=3, fused_activation_function=RELU_N1_TO_1");
  n.end(n.op("L2_POOL_2D", n.op("DIV", {strided, n.add(n.op("ABS", wide), n.number(1))}),
             "stride_w=1, stride_h=1, filter_width=2, filter_height=2"));
}

/// Dense blocks: what is concatenated grows.
void densenet(Net &n) {
  T x = n.conv(n.input({1, 12, 12, 3}), 6, 3, 1, "", false);
  for (int i : {0, 1, 2}) {
    n.scope("dense" + std::to_string(i) + "/");
    T y = n.conv(n.op("RELU", n.batchNorm(x)), 4, 3, 1, "", false);
    x = n.op("CONCATENATION", {x, y}, "axis=3");
  }
  n.scope("transition/");
  x = n.pool(n.conv(n.op("RELU", n.batchNorm(x)), 8, 1, 1, "", false), false, 2, 2, "VALID");
  n.end(classify(n, x, 4));
}

/// Video.
void volumes(Net &n) {
  T x = n.input({1, 4, 8, 8, 2});
  x = n.op("CONV_3D", {x, n.normal({3, 3, 3, 2, 6}, 0.2), n.uniform({6}, -0.2, 0.2)},
           "stride_d=1, stride_w=2, stride_h=2, fused_activation_function=RELU");
  T up = n.op("CONV_3D_TRANSPOSE", {n.ints({1, 4, 8, 8, 3}), n.normal({1, 2, 2, 3, 6}, 0.3), x},
              "stride_d=1, stride_w=2, stride_h=2");
  n.end({n.op("REDUCE_MAX", {up, n.ints({1})}, "keep_dims=true"), n.dense(n.mean(x, {1, 2, 3}), 3)});
}

/// MediaPipe's custom operators, which have kernels here.
void mediapipeCustom(Net &n) {
  T x = n.conv(n.input({1, 8, 8, 4}), 4, 3);
  std::vector<T> pooled = n.ops("CUSTOM \"MaxPoolingWithArgmax2D\"", x, words({1, 2, 2, 2, 2, 0, -1, -1}),
                                {"f32[1,4,4,4]", "f32[1,4,4,4]"});
  T y = n.op("RELU", n.conv(pooled[0], 4, 3));
  y = n.op("CUSTOM \"MaxUnpooling2D\"", {y, pooled[1]}, words({1, 2, 2, 2, 2}), "f32[1,8,8,4]");
  y = n.add(y, x);
  T up = n.op("CUSTOM \"Convolution2DTransposeBias\"", {y, n.weights({2, 2, 2, 4}), n.uniform({2}, -0.2, 0.2)},
              words({1, 2, 2}), "f32[1,16,16,2]");
  for (int i : {0, 1})
    up = n.op("RELU6", n.batchNorm(n.conv(up, 4, 3, 2, "", i)));
  n.end(n.softmax(n.dense(n.mean(up, {1, 2}), 3)));
}

/// An operator that nobody knows, between others.
void unknownCustom(Net &n) {
  T x = n.conv(n.input({1, 8, 8, 3}), 8, 3, 1, relu);
  x = n.op("CUSTOM \"VendorOp\"", x, "custom hex\"0102030405060708\"", "f32[1,8,8,8]");
  x = n.op("RELU", n.batchNorm(n.conv(x, 8, 3, 1, "", false)));
  n.end(n.softmax(n.dense(n.reshape(x, {1, 512}), 4)));
}

/// TensorFlow's detection, whose last operator is custom.
void detectionPostProcess(Net &n) {
  T x = n.conv(n.input({1, 8, 8, 3}), 8, 3, 2, relu);
  flexbuffers::Builder options;
  options.Map([&] {
    options.Int("max_detections", 5);
    options.Int("max_classes_per_detection", 1);
    options.Int("num_classes", 2);
    options.Bool("use_regular_nms", false);
    options.Float("nms_score_threshold", 0.3f);
    options.Float("nms_iou_threshold", 0.5f);
    for (const char *scale : {"y_scale", "x_scale", "h_scale", "w_scale"})
      options.Float(scale, 5);
  });
  options.Finish();
  T boxes = n.reshape(n.conv(x, 4, 1), {1, 16, 4}), scores = n.op("LOGISTIC", n.reshape(n.conv(x, 3, 1), {1, 16, 3}));
  n.end(n.ops("CUSTOM \"TFLite_Detection_PostProcess\"", {boxes, scores, n.uniform({16, 4}, 0.1, 1)},
              "custom hex\"" + llvm::toHex(options.GetBuffer(), true) + "\"",
              {"f32[1,5,4]", "f32[1,5]", "f32[1,5]", "f32[1]"}));
}

/// The parts of SqueezeNet and Inception.
void inception(Net &n) {
  T x = n.op("LOCAL_RESPONSE_NORMALIZATION", n.pool(n.conv(n.input({1, 16, 16, 3}), 8, 3, 1, relu), true, 3, 2),
             "radius=2, bias=1, alpha=0.1, beta=0.75");
  for (int i : {0, 1}) {
    n.scope("mixed" + std::to_string(i) + "/");
    T a = n.conv(x, 4, 1, 1, relu), b = n.conv(n.conv(x, 4, 1, 1, relu), 4, 3, 1, relu),
      c = n.conv(n.pool(x, false, 3, 1), 4, 1, 1, relu);
    x = n.op("CONCATENATION", {a, b, c}, "axis=3");
  }
  n.scope("");
  n.end(n.op("LOG_SOFTMAX", n.dense(n.reshape(n.pool(x, true, 8, 8, "VALID"), {1, 12}), 5)));
}

/// An image made twice as big, and no more.
void upsample(Net &n) { n.end(n.op("RELU", n.shift(n.transposeConv(n.input({1, 5, 5, 4}), 4, 3, 2)))); }

} // namespace origo::test
