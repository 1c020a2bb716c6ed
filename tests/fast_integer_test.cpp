#include "eval/fast/IntegerProduct.h"
#include "eval/fast/Processor.h"
#include "tests/Engines.h"

using namespace origo;
using namespace origo::test;

/// Operators of integers of Engine::Fast one by one, in forms that no model of the shared folder has.

namespace {

/// A subgraph of one operator.
struct IntegerCase {
  std::string inputs;            ///< "%x: f32[2,3]"
  std::string constants;         ///< one a line
  std::string op;                ///< "%y: i32 = BATCH_MATMUL(%x, %w)"
  size_t fast = 1;               ///< 0: left to the reference kernel
  std::vector<float> given = {}; ///< the first input, if not random
};

std::string textOf(const IntegerCase &c) {
  return "origo 1\nmodel circle version 0\nsubgraph @main(" + c.inputs + ") -> (%y) {\n" + c.constants + "\n" + c.op +
         "\n}\n";
}

/// "const [3, −1, …]"
std::string numbers(size_t count, int low, int high, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::string list = "const [";
  for (size_t i = 0; i < count; ++i)
    list += (i ? ", " : "") + std::to_string(low + static_cast<int>(random() % static_cast<unsigned>(high - low + 1)));
  return list + "]";
}

/// "scale=[…], zero_point=[0, …], dim=N"
std::string channelScales(size_t count, int dim) {
  std::string scales, zeros;
  for (size_t i = 0; i < count; ++i) {
    scales += (i ? ", " : "") + std::to_string(0.01 + 0.003 * static_cast<double>(i % 7));
    zeros += i ? ", 0" : "0";
  }
  return "scale=[" + scales + "], zero_point=[" + zeros + "], dim=" + std::to_string(dim);
}

/// All numbers of a type are as likely; those of 16 bits are often the outermost.
std::vector<OwnedTensor> inputsFor(const Session &session, unsigned seed) {
  auto made = *randomInputs(*session.inputs(), seed);
  std::mt19937 random(seed);
  for (OwnedTensor &tensor : made)
    if (tensor.type == TensorType::INT16)
      for (size_t i = 0; i + 1 < tensor.bytes.size(); i += 2) {
        uint32_t bits = random();
        int16_t number = bits & 1 << 16 ? std::numeric_limits<int16_t>::min() : static_cast<int16_t>(bits);
        std::memcpy(&tensor.bytes[i], &number, sizeof number);
      }
  return made;
}

/// Both engines agree; floats but for `most` of their range.
void agree(const IntegerCase &c, double most = 0) {
  std::string text = textOf(c);
  auto model = parse(text);
  ASSERT_TRUE(model) << text;
  auto reference = compile(*model);
  ASSERT_TRUE(static_cast<bool>(reference)) << text << llvm::toString(reference.takeError());
  for (unsigned threads : threadCounts()) {
    CompileOptions options = fastOptions();
    options.threads = threads;
    auto fast = compile(*model, options);
    ASSERT_TRUE(static_cast<bool>(fast)) << text;
    auto inputs = inputsFor(*reference, threads);
    std::vector<TensorRef> refs(inputs.begin(), inputs.end());
    if (!c.given.empty())
      refs[0] = floats(refs[0].shape, c.given);
    auto expected = reference->run(refs), actual = fast->run(refs);
    ASSERT_TRUE(static_cast<bool>(expected)) << text << llvm::toString(expected.takeError());
    ASSERT_TRUE(static_cast<bool>(actual)) << text << llvm::toString(actual.takeError());
    EXPECT_EQ(fast->coverage().fast.size(), c.fast) << text;
    EXPECT_LE(distance(expected->front().tensor, actual->front().tensor), most) << text;
  }
}

TEST(FastIntegers, ProductsOnEveryProcessor) {
  std::mt19937 random(1);
  for (int64_t depth : {1, 2, 7, 510, 511})
    for (int64_t rows = 1; rows <= maxRows; ++rows) {
      std::vector<int16_t> left(static_cast<size_t>(rows * depth + 1));
      std::vector<int8_t> right(static_cast<size_t>(depth * 16));
      for (int16_t &number : left)
        number = random() % 4 ? static_cast<int16_t>(random()) : std::numeric_limits<int16_t>::min();
      for (int8_t &number : right)
        number = static_cast<int8_t>(random());
      PackedMatrix matrix;
      matrix.pack(16, 1, depth, [&](int64_t column, int64_t, int64_t k) { return right[k * 16 + column]; });
      const int16_t *at[maxRows];
      for (int64_t r = 0; r < rows; ++r)
        at[r] = left.data() + r * depth;
      ASSERT_FALSE(allAddProducts().empty());
      for (AddProducts add : allAddProducts()) {
        Sums<int32_t> sums = {};
        sums[0][0] = 5;
        add(at, rows, matrix.stripe(0, 0), matrix.pairs(), sums);
        for (int64_t r = 0; r < rows; ++r)
          for (int64_t c = 0; c < 16; ++c) {
            int64_t sum = r + c == 0 ? 5 : 0;
            for (int64_t k = 0; k < depth; ++k)
              sum += int64_t(left[r * depth + k]) * right[k * 16 + c];
            EXPECT_EQ(sums[r][c], static_cast<int32_t>(sum)) << depth << " " << r << " " << c;
          }
      }
    }
}

TEST(FastIntegers, HybridConvolutions) {
  std::string x = "%x: f32[2,9,7,4]", bias = "\n%b: f32[6] = const [0.5, -1, 2, 0, 0.25, 3]";
  for (const char *type : {"i8", "i4"})
    for (const std::string &scale : {std::string("scale=0.02, zero_point=0"), channelScales(6, 0)})
      for (const char *options : {"padding=SAME, stride_w=1, stride_h=1", "padding=VALID, stride_w=2, stride_h=1",
                                  "padding=SAME, stride_w=1, stride_h=1, dilation_w_factor=2, dilation_h_factor=3",
                                  "padding=SAME, stride_w=3, stride_h=2, fused_activation_function=RELU6"})
        for (const char *shape : {"6,3,3,4", "6,1,1,4", "6,3,2,2"}) { // the last in two groups
          size_t count = shape[2] == '1' ? 24 : shape[6] == '2' ? 72 : 216;
          std::string filter =
              std::string("%w: ") + type + "[" + shape + "] q{" + scale + "} = " + numbers(count, -7, 7);
          agree({x, filter + bias, std::string("%y: f32 = CONV_2D(%x, %w, %b) {") + options + "}"}, 1e-6);
          agree({x, filter, std::string("%y: f32 = CONV_2D(%x, %w) {") + options + "}"}, 1e-6);
        }
  for (const std::string &scale : {std::string("scale=0.02, zero_point=0"), channelScales(8, 3)})
    agree({x, "%w: i8[1,3,3,8] q{" + scale + "} = " + numbers(72, -127, 127),
           "%y: f32 = DEPTHWISE_CONV_2D(%x, %w) {padding=SAME, stride_w=1, stride_h=2, depth_multiplier=2}"},
          1e-6);
  // Not an activation that clamps; nothing to compute.
  std::string w = "%w: i8[6,1,1,4] q{scale=0.5, zero_point=0} = " + numbers(24, -127, 127);
  agree({x, w, "%y: f32 = CONV_2D(%x, %w) {padding=SAME, stride_w=1, stride_h=1, fused_activation_function=TANH}", 0},
        1e-6);
  agree({"%x: f32[0,9,7,4]", w, "%y: f32 = CONV_2D(%x, %w) {padding=SAME, stride_w=1, stride_h=1}", 0});
  agree({"%x: f32[2,0,7,4]", w, "%y: f32 = CONV_2D(%x, %w) {padding=SAME, stride_w=1, stride_h=1}", 0});
}

TEST(FastIntegers, HybridRangesOfAllKinds) {
  constexpr float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  for (const std::vector<float> &values : std::vector<std::vector<float>>{{0, 0, 0, 0},
                                                                          {infinity, 1, 2, 3},
                                                                          {nan, 1, -2, 3},
                                                                          {1e-40f, 0, 0, 0},
                                                                          {5, 6, 7, 8},
                                                                          {-5, -6, -7, -8},
                                                                          {0.5, 1.5, 2.5, 127},
                                                                          {-127, -0.5, -1.5, 99.49999f}})
    for (const char *scale : {"scale=0.5, zero_point=0", "scale=[0.5, 0.25], zero_point=[0, 0], dim=0"}) {
      std::vector<float> many; // whole vectors, and a rest
      for (int i = 0; i < 11; ++i)
        many.insert(many.end(), values.begin(), values.end());
      agree({"%x: f32[1,4,11,1]", std::string("%w: i8[2,1,1,1] q{") + scale + "} = const [100, -3]",
             "%y: f32 = CONV_2D(%x, %w) {padding=SAME, stride_w=1, stride_h=1}", 1, many},
            1e-6);
      agree({"%x: f32[1,44]", std::string("%w: i8[2,44] q{") + scale + "} = " + numbers(88, -128, 127),
             "%y: f32 = FULLY_CONNECTED(%x, %w) {asymmetric_quantize_inputs=true}", 1, many},
            1e-6);
    }
}

TEST(FastIntegers, HybridMatrixProducts) {
  for (const char *type : {"i8", "i4", "u8"})
    for (const char *asymmetric : {"true", "false"})
      for (auto [units, depth] : {std::pair(1, 1), std::pair(17, 3), std::pair(40, 64), std::pair(16, 129)})
        for (const std::string &scale :
             {std::string("scale=0.02, zero_point=0"), channelScales(static_cast<size_t>(units), 0)}) {
          std::string d = std::to_string(depth), u = std::to_string(units);
          int low = type[0] == 'u' ? 0 : -7, high = type[1] == '4' ? 7 : 127;
          std::string w = std::string("%w: ") + type + "[" + u + "," + d + "] q{" + scale +
                          "} = " + numbers(static_cast<size_t>(units * depth), low, high);
          std::string options = std::string("{keep_num_dims=true, asymmetric_quantize_inputs=") + asymmetric;
          agree({"%x: f32[3,3," + d + "]", w, "%y: f32 = FULLY_CONNECTED(%x, %w) " + options + "}"}, 1e-6);
          agree({"%x: f32[1," + d + "]", w + "\n%b: f32[" + u + "] = " + numbers(static_cast<size_t>(units), -9, 9),
                 "%y: f32 = FULLY_CONNECTED(%x, %w, %b) " + options + ", fused_activation_function=RELU}"},
                1e-6);
        }
  for (const char *asymmetric : {"true", "false"})
    agree({"%x: f32[11,96]",
           "%s: f16[20,3] = " + numbers(60, 1, 9) +
               "\n%w: i4[20,96] q{blockwise={scales=%s, block_size=32}} = " + numbers(20 * 96, -8, 7),
           std::string("%y: f32 = FULLY_CONNECTED(%x, %w) {asymmetric_quantize_inputs=") + asymmetric + "}"},
          1e-6);
  std::string w = "%w: i8[2,3] q{scale=0.5, zero_point=0} = const [1, 2, 3, 4, 5, 6]";
  agree({"%x: f32[0,3]", w, "%y: f32 = FULLY_CONNECTED(%x, %w)", 0});
  agree({"%x: f32[4,3], %w: i8[2,3] q{scale=0.5, zero_point=0}", "", "%y: f32 = FULLY_CONNECTED(%x, %w)", 0});
}

TEST(FastIntegers, HybridBatchMatrixProducts) {
  for (const char *asymmetric : {"true", "false"})
    for (const std::string &scale : {std::string("scale=0.02, zero_point=0"), channelScales(20, 1)}) {
      std::string options = std::string("asymmetric_quantize_inputs=") + asymmetric;
      std::string w = "%w: i8[33,20] q{" + scale + "}";
      agree(
          {"%x: f32[3,9,33]", w + " = " + numbers(660, -127, 127), "%y: f32 = BATCH_MATMUL(%x, %w) {" + options + "}"},
          1e-6);
      agree({"%x: f32[33,9], " + w, "", "%y: f32 = BATCH_MATMUL(%x, %w) {adjoint_lhs=true, " + options + "}"}, 1e-6);
      agree({"%x: f32[2,1,3,7], %w: i8[4,20,7] q{" + scale + "}", "",
             "%y: f32 = BATCH_MATMUL(%x, %w) {adjoint_rhs=true, " + options + "}"},
            1e-6);
    }
  agree({"%x: f32[3,0], %w: i8[0,4] q{scale=1, zero_point=0}", "", "%y: f32 = BATCH_MATMUL(%x, %w)", 0});
}

TEST(FastIntegers, BatchMatrixProducts) {
  const char *x16 = "q{scale=0.01, zero_point=0}", *x8 = "q{scale=0.01, zero_point=-3}";
  for (auto [x, y] : {std::pair("[5,8]", "[8,20]"), std::pair("[3,9,600]", "[600,17]"),
                      std::pair("[2,1,3,7]", "[4,7,5]"), std::pair("[1,1]", "[1,1]")})
    for (const char *computed : {"", "computed"}) {
      int64_t count = y == std::string("[8,20]")     ? 160
                      : y == std::string("[600,17]") ? 10200
                      : y == std::string("[4,7,5]")  ? 140
                                                     : 1;
      auto with = [&](const std::string &left, const std::string &right, const std::string &out) {
        IntegerCase c{"%x: " + left, "", "%y: " + out + " = BATCH_MATMUL(%x, %w)"};
        if (*computed)
          c.inputs += ", %w: " + right;
        else
          c.constants = "%w: " + right + " = " + numbers(static_cast<size_t>(count), -128, 127);
        agree(c);
      };
      with(std::string("i16") + x + x16, std::string("i8") + y + " q{scale=0.02, zero_point=0}",
           "i16 q{scale=0.6, zero_point=0}");
      with(std::string("i16") + x + x16, std::string("i8") + y + " q{scale=0.02, zero_point=5}",
           "i16 q{scale=0.6, zero_point=0}");
      with(std::string("i16") + x + x16, std::string("i16") + y + " q{scale=0.0002, zero_point=0}",
           "i16 q{scale=0.6, zero_point=0}");
      with(std::string("i8") + x + x8, std::string("i8") + y + " q{scale=0.02, zero_point=7}",
           "i8 q{scale=0.9, zero_point=4}");
      with(std::string("i8") + x, std::string("i8") + y, "i32");
    }
  // The outermost products of 16 and 8 bits.
  std::string most = "const [-32768", least = "const [-128";
  for (int i = 1; i < 2000; ++i) {
    most += ", -32768";
    least += ", -128";
  }
  agree({"%x: i16[1,2000] q{scale=1, zero_point=0}", "%w: i8[2000,1] q{scale=1, zero_point=0} = " + least + "]",
         "%y: i16 q{scale=1000000, zero_point=0} = BATCH_MATMUL(%x, %w)"});
  agree({"",
         "%x: i16[1,2000] q{scale=1, zero_point=0} = " + most +
             "]\n%w: i8[2000,1] q{scale=1, zero_point=0} = " + least + "]",
         "%y: i16 q{scale=1000000, zero_point=0} = BATCH_MATMUL(%x, %w)"});
  // Both transposed; scales for each column.
  agree({"%x: i16[3,7,5] q{scale=0.01, zero_point=0}",
         "%w: i8[20,7] q{" + channelScales(20, 0) + "} = " + numbers(140, -127, 127),
         "%y: i16 q{scale=0.5, zero_point=0} = BATCH_MATMUL(%x, %w) {adjoint_lhs=true, adjoint_rhs=true}"});
  agree({"%x: i8[3,0,5], %w: i8[5,4]", "", "%y: i32 = BATCH_MATMUL(%x, %w)", 0});
  agree({"%x: i8[3,5,0], %w: i8[0,4]", "", "%y: i32 = BATCH_MATMUL(%x, %w)", 0});
}

TEST(FastIntegers, MatrixProductsOfUnits) {
  std::string x16 = "%x: i16[9,33] q{scale=0.01, zero_point=0}", y16 = "%y: i16 q{scale=0.6, zero_point=0}";
  for (const std::string &scale : {std::string("scale=0.02, zero_point=0"), channelScales(18, 0)}) {
    std::string w = "%w: i8[18,33] q{" + scale + "} = " + numbers(18 * 33, -127, 127);
    for (const char *bias : {"i64", "i32"})
      agree({x16, w + "\n%b: " + bias + "[18] = " + numbers(18, -9999999, 9999999),
             y16 + " = FULLY_CONNECTED(%x, %w, %b) {fused_activation_function=RELU}"});
    agree({x16, w, y16 + " = FULLY_CONNECTED(%x, %w)"});
    agree({"%x: i8[9,33] q{scale=0.01, zero_point=-100}",
           "%w: i4[18,33] q{" + scale + "} = " + numbers(18 * 33, -8, 7) + "\n%b: i32[18] = " + numbers(18, -999, 999),
           "%y: i8 q{scale=0.1, zero_point=9} = FULLY_CONNECTED(%x, %w, %b)"});
  }
  agree({"%x: i8[9,33] q{scale=0.01, zero_point=-100}, %w: i8[18,33] q{scale=0.02, zero_point=4}, %b: i32[18]", "",
         "%y: i8 q{scale=0.1, zero_point=9} = FULLY_CONNECTED(%x, %w, %b) {fused_activation_function=RELU6}"});
  agree({"%x: u8[9,33] q{scale=0.01, zero_point=200}, %w: u8[18,33] q{scale=0.02, zero_point=77}", "",
         "%y: u8 q{scale=0.1, zero_point=9} = FULLY_CONNECTED(%x, %w)"});
  agree({"%x: i16[9,33] q{scale=0.01, zero_point=1}", "%w: i8[1,33] q{scale=1, zero_point=0} = " + numbers(33, -9, 9),
         y16 + " = FULLY_CONNECTED(%x, %w)", 0});
  agree({"%x: i8[0,3] q{scale=0.01, zero_point=1}, %w: i8[2,3] q{scale=1, zero_point=0}", "",
         "%y: i8 q{scale=0.1, zero_point=9} = FULLY_CONNECTED(%x, %w)", 0});
}

TEST(FastIntegers, Convolutions) {
  std::string x16 = "%x: i16[2,9,7,4] q{scale=0.01, zero_point=0}", y16 = "%y: i16 q{scale=0.6, zero_point=0} = ";
  std::string x8 = "%x: i8[2,9,7,4] q{scale=0.01, zero_point=-30}", y8 = "%y: i8 q{scale=0.1, zero_point=5} = ";
  for (const std::string &scale : {std::string("scale=0.02, zero_point=0"), channelScales(6, 0)})
    for (const char *options : {"padding=SAME, stride_w=1, stride_h=1", "padding=VALID, stride_w=2, stride_h=1",
                                "padding=SAME, stride_w=1, stride_h=1, dilation_w_factor=2, dilation_h_factor=3, "
                                "fused_activation_function=RELU"})
      for (auto [shape, count] : {std::pair("[6,3,3,4]", 216), std::pair("[6,1,1,4]", 24), std::pair("[6,3,2,2]", 72),
                                  std::pair("[8,2,2,1]", 32)}) {
        if (shape[1] == '8' && scale[6] == '[')
          continue;
        std::string w8 = std::string("%w: i8") + shape + " q{" + scale + "} = " + numbers(count, -127, 127);
        std::string w4 = std::string("%w: i4") + shape + " q{" + scale + "} = " + numbers(count, -8, 7);
        std::string channels = shape[1] == '8' ? "8" : "6", call = std::string("CONV_2D(%x, %w, %b) {") + options + "}";
        for (const char *bias : {"i64", "i32"})
          agree({x16, w8 + "\n%b: " + bias + "[" + channels + "] = " + numbers(channels[0] - '0', -99999, 99999),
                 y16 + call});
        agree({x16, w8, y16 + "CONV_2D(%x, %w) {" + options + "}"});
        agree({x8, w4 + "\n%b: i32[" + channels + "] = " + numbers(channels[0] - '0', -99, 99), y8 + call});
      }
  for (auto [shape, count, scale] :
       {std::tuple("[1,3,3,4]", 36, std::string("scale=0.02, zero_point=0")),
        std::tuple("[1,3,2,8]", 48, channelScales(8, 3)), std::tuple("[1,3,3,36]", 324, channelScales(36, 3))}) {
    std::string options = "{padding=SAME, stride_w=2, stride_h=1, dilation_h_factor=2}";
    agree({x16, std::string("%w: i8") + shape + " q{" + scale + "} = " + numbers(count, -127, 127),
           y16 + "DEPTHWISE_CONV_2D(%x, %w) " + options});
    agree({x8, std::string("%w: i4") + shape + " q{" + scale + "} = " + numbers(count, -8, 7),
           y8 + "DEPTHWISE_CONV_2D(%x, %w) " + options});
  }
  agree({"%x: i16[1,9,7,33] q{scale=0.01, zero_point=0}",
         "%w: i8[1,3,3,33] q{scale=0.02, zero_point=0} = " + numbers(297, -127, 127),
         y16 + "DEPTHWISE_CONV_2D(%x, %w) {padding=SAME, stride_w=1, stride_h=1}"});
  agree({"%x: i16[1,0,7,4] q{scale=0.01, zero_point=0}",
         "%w: i8[1,1,1,4] q{scale=1, zero_point=0} = const [1, 2, 3, 4]",
         y16 + "CONV_2D(%x, %w) {padding=SAME, stride_w=1, stride_h=1}", 0});
}

/// Sums that are nearly nothing, or too much, in the result's scale would end the process in XNNPACK.
TEST(FastIntegers, ScalesFarApart) {
  for (std::string scale : {"1e-12", "1e6"}) {
    std::string q = " q{scale=" + scale + ", zero_point=0}", x = "%x: i8[1,4,4,2] q{scale=0.01, zero_point=3}";
    std::string result = ": i8 q{scale=0.02, zero_point=-1} = ";
    agree({x, "%w: i8[2,1,1,2]" + q + " = const [1, 2, 3, 4]\n%b: i32[2] = const [5, -6]",
           "%y" + result + "CONV_2D(%x, %w, %b) {stride_w=1, stride_h=1}"});
    agree({x, "%w: i8[1,1,1,2]" + q + " = const [1, 2]\n%b: i32[2] = const [5, -6]",
           "%y" + result + "DEPTHWISE_CONV_2D(%x, %w, %b) {stride_w=1, stride_h=1, depth_multiplier=1}"});
    agree({"%x: i8[3,2] q{scale=0.01, zero_point=3}",
           "%w: i8[2,2]" + q + " = const [1, 2, 3, 4]\n%b: i32[2] = const [5, -6]",
           "%y" + result + "FULLY_CONNECTED(%x, %w, %b)"});
    agree({"%x: u8[1,4,4,2] q{scale=0.01, zero_point=3}",
           "%w: u8[2,1,1,2] q{scale=" + scale + ", zero_point=128} = const [1, 200, 3, 4]\n%b: i32[2] = const [5, -6]",
           "%y: u8 q{scale=0.02, zero_point=100} = CONV_2D(%x, %w, %b) {stride_w=1, stride_h=1}",
           scale == "1e-12" && eval::processor() == eval::Processor::Vnni ? size_t(1) : 0});
    // Of one channel only, as where training left it no weights.
    std::string some = "q{scale=[0.01, " + scale + "], zero_point=[0, 0], dim=";
    agree({x, "%w: i8[2,1,1,2] " + some + "0} = const [90, -20, 3, 4]\n%b: i32[2] = const [5, -6]",
           "%y" + result + "CONV_2D(%x, %w, %b) {stride_w=1, stride_h=1}"});
    agree({x, "%w: i8[1,1,1,2] " + some + "3} = const [90, 2]\n%b: i32[2] = const [5, -6]",
           "%y" + result + "DEPTHWISE_CONV_2D(%x, %w, %b) {stride_w=1, stride_h=1, depth_multiplier=1}"});
  }
}

TEST(FastIntegers, TransposedConvolutions) {
  for (auto [size, options] :
       {std::pair("[2, 10, 9, 5]", "padding=SAME, stride_w=2, stride_h=2"),
        std::pair("[2, 11, 11, 5]", "padding=VALID, stride_w=2, stride_h=2"),
        std::pair("[2, 14, 7, 5]", "padding=VALID, stride_w=1, stride_h=3, fused_activation_function=RELU")}) {
    std::string s = std::string("%s: i32[4] = const ") + size + "\n%w: i8[5,3,3,3] q{" + channelScales(5, 0) +
                    "} = " + numbers(135, -127, 127);
    std::string call = std::string("TRANSPOSE_CONV(%s, %w, %x) {") + options + "}";
    agree({"%x: i8[2,5,5,3] q{scale=0.01, zero_point=-30}", s, "%y: i8 q{scale=0.1, zero_point=5} = " + call});
    agree({"%x: i16[2,5,5,3] q{scale=0.01, zero_point=0}", s, "%y: i16 q{scale=0.6, zero_point=0} = " + call});
  }
}

TEST(FastIntegers, PairsOfBytes) {
  // XNNPACK has no such ratio of scales.
  std::string quantised = "q{scale=1000, zero_point=3}", result = "%y: i8 q{scale=1, zero_point=-5} = ";
  for (const char *op : {"ADD", "SUB", "MUL", "MAXIMUM", "MINIMUM", "SQUARED_DIFFERENCE"})
    for (auto [x, y] :
         {std::pair("[40,3,50]", "[40,3,50]"), std::pair("[40,3,50]", "[1]"), std::pair("[40,3,50]", "[3,50]"),
          std::pair("[40,3,50]", "[40,1,50]"), std::pair("[40,1,50]", "[3,50]"), std::pair("[1,3,50]", "[40,1,1]"),
          std::pair("[40,1,50]", "[1,3,1]"), std::pair("[]", "[40,3,50]")})
      agree({std::string("%x: i8") + x + " q{scale=1000, zero_point=3}, %z: i8" + y + " q{scale=0.5, zero_point=3}", "",
             result + op + "(%x, %z)"});
  for (const char *op : {"EQUAL", "NOT_EQUAL", "LESS", "LESS_EQUAL", "GREATER", "GREATER_EQUAL"})
    agree({"%x: u8[3000] q{scale=0.5, zero_point=3}, %z: u8[1] q{scale=0.25, zero_point=100}", "",
           std::string("%y: bool = ") + op + "(%x, %z)"});
  agree({"%x: i8[5] q{scale=1000, zero_point=3}, %z: i8[5] q{scale=0.5, zero_point=3}", "", result + "SUB(%x, %z)", 0});
  agree({"%x: i8[0,3000] q{scale=1000, zero_point=3}, %z: i8[1] q{scale=0.5, zero_point=3}", "", result + "SUB(%x, %z)",
         0});
}

TEST(FastIntegers, Pooling) {
  for (const char *type : {"i8", "u8", "i16"})
    for (const char *op : {"AVERAGE_POOL_2D", "MAX_POOL_2D"})
      for (const char *options :
           {"padding=SAME, stride_w=2, stride_h=1, filter_width=3, filter_height=4",
            "padding=VALID, stride_w=1, stride_h=3, filter_width=2, filter_height=2, fused_activation_function=RELU6",
            "padding=SAME, stride_w=1, stride_h=1, filter_width=9, filter_height=9"})
        for (const char *depth : {"3", "16", "70"}) {
          std::string zero = type[0] == 'u' ? "128" : "0";
          std::string quantised = " q{scale=0.05, zero_point=" + zero + "}";
          // XNNPACK's average of unsigned numbers rounds in another way.
          bool another = type[0] == 'u' && op[0] == 'A';
          agree({std::string("%x: ") + type + "[2,7,5," + depth + "]" + quantised, "",
                 std::string("%y: ") + type + quantised + " = " + op + "(%x) {" + options + "}"},
                another ? 1 : 0);
        }
  agree({"%x: i8[1,0,5,3] q{scale=1, zero_point=0}", "",
         "%y: i8 q{scale=1, zero_point=0} = AVERAGE_POOL_2D(%x) {padding=SAME, stride_w=1, stride_h=1, filter_width=2, "
         "filter_height=2}",
         0});
}

TEST(FastIntegers, Prelu) {
  for (const char *type : {"i8", "u8"})
    for (auto [alphas, count] :
         {std::pair("1,1,20", 20), std::pair("20", 20), std::pair("7,11,20", 1540), std::pair("1", 1)})
      for (const char *scales : {"0.05 0.01 0.02", "0.001 0.02 0.5", "2 1 0.25"}) {
        llvm::SmallVector<llvm::StringRef> scale;
        llvm::StringRef(scales).split(scale, ' ');
        auto tensor = [&](llvm::StringRef name, llvm::StringRef shape, llvm::StringRef scale, const char *zero) {
          return ("%" + name + ": " + type + "[" + shape + "] q{scale=" + scale + ", zero_point=" + zero + "}").str();
        };
        bool isSigned = type[0] == 'i';
        agree({tensor("x", "2,7,11,20", scale[0], "5"),
               tensor("a", alphas, scale[1], "3") + " = " +
                   numbers(static_cast<size_t>(count), isSigned ? -128 : 0, isSigned ? 127 : 255),
               tensor("y", "2,7,11,20", scale[2], "9") + " = PRELU(%x, %a)"});
      }
  // Alphas of the rows, and computed ones.
  std::string same = " q{scale=0.05, zero_point=3}";
  agree({"%x: i8[1,3,2,4]" + same, "%a: i8[3,1,1]" + same + " = const [1, 2, 3]", "%y: i8" + same + " = PRELU(%x, %a)",
         0});
  agree({"%x: i8[1,3,2,4]" + same + ", %a: i8[4]" + same, "", "%y: i8" + same + " = PRELU(%x, %a)", 0});
}

TEST(FastIntegers, Reductions) {
  for (const char *op : {"MEAN", "SUM"})
    for (const char *type : {"i8", "u8", "i16"})
      for (const char *keep : {"true", "false"})
        for (auto [shape, axes] :
             {std::pair("[6,5,4,35]", "[2] = const [1, 2]"), std::pair("[6,5,4,35]", "[1] = const [3]"),
              std::pair("[6,5,4,16]", "[2] = const [0, -2]"), std::pair("[70]", "[1] = const [0]"),
              std::pair("[2,1,3,1,5]", "[2] = const [2, 4]"), std::pair("[3,2000]", "[3] = const [0, 1, -1]"),
              std::pair("[]", "[1] = const [0]")}) {
          std::string quantised = std::string(" q{scale=0.05, zero_point=") + (type[1] == '1' ? "0" : "7") + "}";
          bool apart = axes == std::string("[2] = const [0, -2]");
          // Means of images are XNNPACK's.
          bool image = axes == std::string("[2] = const [1, 2]") && op[0] == 'M' && type[1] == '8';
          agree(
              {std::string("%x: ") + type + shape + quantised, std::string("%a: i32") + axes,
               std::string("%y: ") + type + " q{scale=0.3, zero_point=0} = " + op + "(%x, %a) {keep_dims=" + keep + "}",
               apart || shape == std::string("[]") ? 0u : 1u},
              image ? 1 : 0);
        }
  agree({"%x: i8[0,3] q{scale=1, zero_point=0}", "%a: i32[1] = const [1]",
         "%y: i8 q{scale=1, zero_point=0} = MEAN(%x, %a)", 0});
  agree({"%x: i8[2,3] q{scale=1, zero_point=0}", "%a: i32[0] = const []",
         "%y: i8 q{scale=1, zero_point=0} = MEAN(%x, %a)", 0});
}

TEST(FastIntegers, Softmax) {
  for (const char *scale : {"0.001", "0.1", "1", "100"})
    for (const char *beta : {"1", "0.3"})
      for (const char *shape : {"[1]", "[40,2]", "[3,5,300]"}) {
        agree({std::string("%x: i16") + shape + " q{scale=" + scale + ", zero_point=0}", "",
               std::string("%y: i16 q{scale=3.0517578125e-05, zero_point=0} = SOFTMAX(%x) {beta=") + beta + "}"});
        for (auto [type, zero] : {std::pair("i8", "-128"), std::pair("u8", "0")}) {
          // Of unsigned numbers it is XNNPACK's, which knows no beta.
          bool another = type[0] == 'u' && beta[0] == '1';
          agree({std::string("%x: ") + type + shape + " q{scale=" + scale + ", zero_point=3}", "",
                 std::string("%y: ") + type + " q{scale=0.00390625, zero_point=" + zero +
                     "} = SOFTMAX(%x) {beta=" + beta + "}"},
                another ? 1 : 0);
        }
      }
  agree({"%x: i8[2,0] q{scale=1, zero_point=3}", "",
         "%y: i8 q{scale=0.00390625, zero_point=-128} = SOFTMAX(%x) {beta=1}", 0});
}

TEST(FastIntegers, ResizeBilinear) {
  for (const char *type : {"u8", "i8"})
    for (const char *options : {"", "align_corners=true", "half_pixel_centers=true"})
      for (int depth : {1, 7, 8, 21})
        for (const char *size : {"[9, 20]", "[3, 4]", "[1, 1]", "[5, 7]"}) {
          std::string quantized = std::string(type) + " q{scale=0.5, zero_point=3}";
          agree({std::string("%x: ") + type + "[2,5,7," + std::to_string(depth) + "] q{scale=0.5, zero_point=3}",
                 std::string("%s: i32[2] = const ") + size,
                 std::string("%y: ") + quantized + " = RESIZE_BILINEAR(%x, %s) {" + options + "}"});
        }
}

/// With lengths that fill vectors and that do not.
TEST(FastIntegers, Recurrent) {
  for (int depth : {1, 31, 32, 77}) {
    std::string d = std::to_string(depth);
    std::string x = "%x: i8[2," + d + "] q{scale=0.05, zero_point=-128}";
    std::string filters = "%f: i8[6," + d + "] q{scale=0.01, zero_point=0} = " + numbers(6 * depth, -128, 127) + "\n";
    for (auto [type, scale] : {std::pair("i8", "0.04"), std::pair("i16", "0.0005")})
      agree({x,
             filters + "%t: " + type + "[6,3] q{scale=0.01, zero_point=0} = " + numbers(18, -128, 127) + "\n%s: " +
                 type + "[2,18] q{scale=" + scale + ", zero_point=" + (type[1] == '8' ? "5" : "0") + "} variable",
             "%y: i8[2,3] q{scale=0.3, zero_point=7} = SVDF(%x, %f, %t, _, %s) {rank=2}"});
    for (const char *options : {"", ", asymmetric_quantize_inputs=true"}) {
      auto weights = [&](const char *name, int rows, int columns) {
        return std::string("%") + name + ": i8[" + std::to_string(rows) + "," + std::to_string(columns) +
               "] q{scale=0.01, zero_point=0} = " + numbers(static_cast<size_t>(rows * columns), -127, 127) + "\n";
      };
      std::string input = "%x: f32[3,2," + d + "]", bias = "%b: f32[5] = const splat 0.25\n";
      agree({input, weights("w", 5, depth) + weights("r", 5, 5) + bias + "%h: f32[3,5] variable",
             std::string("%y: f32 = UNIDIRECTIONAL_SEQUENCE_RNN(%x, %w, %r, %b, %h) {fused_activation_function=TANH") +
                 options + "}"});
      agree({input, weights("w", 5, depth) + weights("r", 5, 5) + bias + "%h: f32[3,5] variable\n%c: f32[3,5] variable",
             std::string("%y: f32 = UNIDIRECTIONAL_SEQUENCE_LSTM(%x, %w, %w, %w, %w, %r, %r, %r, %r, _, _, _, %b, %b, "
                         "%b, %b, _, _, %h, %c) {fused_activation_function=TANH") +
                 options + "}"});
    }
    agree({"%x: f32[3,2," + d + "]",
           "%w: f32[15," + d +
               "] = const seed 1 uniform -1 1\n%r: f32[15,5] = const seed 2 uniform -1 1\n%h: f32[2,5] = "
               "const splat 0.25",
           "%y: f32[1,2,5] = GRU(%x, %r, _, %w, _, %h)"},
          1e-6);
  }
}

TEST(FastIntegers, ArithmeticOf16Bits) {
  for (const char *op : {"ADD", "SUB", "MUL"})
    for (const char *options : {"", "fused_activation_function=RELU"})
      for (auto [x, y] : {std::pair("[40,3,50]", "[40,3,50]"), std::pair("[40,3,50]", "[3,50]"),
                          std::pair("[1]", "[40,3,50]"), std::pair("[40,1,50]", "[1,3,1]"), std::pair("[]", "[]")})
        for (auto [ofX, ofY] : {std::pair("0.7", "0.0001"), std::pair("0.5", "2")})
          agree({std::string("%x: i16") + x + " q{scale=" + ofX + ", zero_point=0}, %z: i16" + y + " q{scale=" + ofY +
                     ", zero_point=0}",
                 "", std::string("%y: i16 q{scale=2, zero_point=0} = ") + op + "(%x, %z) {" + options + "}"});
  // One operand is shifted to the other's scale, or cannot be.
  std::string operands = "%x: i16[7,30] q{scale=0.5, zero_point=0}, %z: i16[30] q{scale=2, zero_point=0}";
  agree({operands, "", "%y: i16 q{scale=2, zero_point=0} = ADD(%x, %z) {pot_scale_int16=true}"});
  agree({operands, "", "%y: i16 q{scale=2, zero_point=0} = SUB(%x, %z) {pot_scale_int16=true}"});
  agree({operands, "", "%y: i16 q{scale=2, zero_point=0} = SUB(%x, %z) {pot_scale_int16=false}"});
  agree({"%x: i16[0,3] q{scale=1, zero_point=0}, %z: i16[1] q{scale=1, zero_point=0}", "",
         "%y: i16 q{scale=1, zero_point=0} = ADD(%x, %z)", 0});
}

TEST(FastIntegers, FunctionsByTables) {
  for (const char *op : {"LOGISTIC", "TANH", "EXP", "LEAKY_RELU", "ABS", "RELU", "QUANTIZE"}) {
    std::string options = op[1] == 'E' && op[0] == 'L' ? " {alpha=0.3}" : "";
    for (const char *shape : {"[3]", "[5,100,40]"})
      agree({std::string("%x: i8") + shape + " q{scale=0.05, zero_point=3}", "",
             std::string("%y: i8 q{scale=0.0078125, zero_point=0} = ") + op + "(%x)" + options},
            op[0] == 'R' ? 1 : 0);
    for (auto [shape, fast] : {std::pair("[3]", 0u), std::pair("[5,100,40]", 1u)})
      agree({std::string("%x: i16") + shape + " q{scale=0.000244140625, zero_point=0}", "",
             std::string("%y: i16 q{scale=0.000030517578125, zero_point=0} = ") + op + "(%x)" + options, fast});
  }
  agree({"%x: i16[5,100,40] q{scale=0.01, zero_point=0}", "", "%y: f32 = DEQUANTIZE(%x)"});
  agree({"%x: u8[5,100,40]", "", "%y: f32 = CAST(%x)"});
  agree({"%x: i8[5,100]", "", "%y: i32 = CAST(%x)"});
  agree({"%x: bool[50]", "", "%y: bool = LOGICAL_NOT(%x)"});
  // With a scale for each channel, places matter.
  agree({"%x: i8[2,256] q{" + channelScales(256, 1) + "}", "", "%y: f32 = DEQUANTIZE(%x)", 0});
  agree({"%x: i8[50] q{scale=0.05, zero_point=-128}", "", "%y: i8 q{scale=0.05, zero_point=-128} = SQRT(%x)"});
  agree({"%x: u8[0] q{scale=0.05, zero_point=3}", "", "%y: u8 q{scale=0.05, zero_point=3} = LOGISTIC(%x)", 0});
}

} // namespace
