#include "tests/networks/Net.h"

#include <map>

/// Networks of words and sounds.
namespace origo::test {

namespace {

constexpr const char *relu = "fused_activation_function=RELU";

/// Attention as converters spell it: x has [1, tokens, channels].
T attention(Net &n, const T &x, int heads, bool byTranspose) {
  int tokens = x.shape[1], channels = x.shape[2], width = channels / heads;
  auto project = [&] {
    T y = n.reshape(n.dense(x, channels, "keep_num_dims=true"), {1, tokens, heads, width});
    return n.transpose(y, {0, 2, 1, 3});
  };
  T query = n.mul(project(), n.number(0.5)), key = project(), value = project();
  T scores = byTranspose ? n.op("BATCH_MATMUL", {query, n.transpose(key, {0, 1, 3, 2})})
                         : n.op("BATCH_MATMUL", {query, key}, "adjoint_rhs=true");
  T mixed = n.transpose(n.op("BATCH_MATMUL", {n.softmax(scores), value}), {0, 2, 1, 3});
  return n.dense(n.reshape(mixed, {1, tokens, channels}), channels, "keep_num_dims=true");
}

T rmsNorm(Net &n, const T &x) {
  T square = n.mul(x, x);
  T inverse = n.op("RSQRT", n.add(n.mean(square, {-1}, true), n.number(1e-6)));
  return n.mul(n.mul(x, inverse), n.uniform({x.last()}, 0.6, 1.4));
}

std::vector<T> lstmOperands(Net &n, const T &x, int cells, bool peepholes, int projected, bool layerNorm,
                            bool coupled = false) {
  int in = x.last(), out = projected ? projected : cells;
  const T none;
  std::vector<T> operands{x};
  auto matrices = [&](int width) {
    for (int gate = 0; gate < 4; ++gate)
      operands.push_back(gate == 0 && coupled ? none : n.weights({cells, width}));
  };
  matrices(in);
  matrices(out);
  for (int gate = 0; gate < 3; ++gate)
    operands.push_back(peepholes && !(gate == 0 && coupled) ? n.normal({cells}, 0.2) : none);
  for (int gate = 0; gate < 4; ++gate)
    operands.push_back(gate == 0 && coupled ? none : n.uniform({cells}, gate == 1 ? 0.9 : -0.1, gate == 1 ? 1.1 : 0.1));
  operands.push_back(projected ? n.weights({out, cells}) : none);
  operands.push_back(none);
  operands.push_back(n.variable({1, out}));
  operands.push_back(n.variable({1, cells}));
  if (layerNorm)
    for (int gate = 0; gate < 4; ++gate)
      operands.push_back(n.uniform({cells}, 0.6, 1.4));
  return operands;
}

} // namespace

/// Layer norms, attention and the tanh form of GELU in elementary operators.
void bert(Net &n) {
  T tokens = n.input({1, 8}, "i32"), mask = n.input({1, 8}, "i32");
  T x = n.op("GATHER", {n.normal({32, 16}, 1), tokens}, "axis=0");
  x = n.add(x, n.normal({1, 8, 16}, 0.5));
  T wide = n.reshape(n.op("CAST", mask, "in_data_type=INT32, out_data_type=FLOAT32", "f32[1,8]"), {1, 8, 1});
  x = n.layerNorm(n.mul(x, wide));
  for (int i : {0, 1}) {
    n.scope("layer_" + std::to_string(i) + "/");
    x = n.layerNorm(n.add(x, attention(n, x, 4, i == 0)));
    T y = n.dense(n.gelu(n.dense(x, 32, "keep_num_dims=true")), 16, "keep_num_dims=true");
    x = n.layerNorm(n.add(x, y));
  }
  n.scope("pooler/");
  T start = n.op("STRIDED_SLICE", {x, n.ints({0, 0, 0}), n.ints({1, 1, 16}), n.ints({1, 1, 1})}, "shrink_axis_mask=2");
  T pooled = n.op("TANH", n.dense(start, 16));
  n.end({pooled, x});
  n.signature("serving_default", {{"ids", tokens}, {"mask", mask}}, {{"pooled", pooled}, {"sequence", x}});
}

/// A vision transformer: patches, GELU by ERF is an operator, classes by the first token.
void visionTransformer(Net &n) {
  T x = n.conv(n.input({1, 16, 16, 3}), 16, 4, 4, "padding=VALID");
  x = n.add(n.op("CONCATENATION", {n.normal({1, 1, 16}, 0.5), n.reshape(x, {1, 16, 16})}, "axis=1"),
            n.normal({1, 17, 16}, 0.3));
  x = n.add(x, attention(n, n.layerNorm(x), 2, false));
  T y = n.op("GELU", n.dense(n.layerNorm(x), 32, "keep_num_dims=true"));
  x = n.add(x, n.dense(y, 16, "keep_num_dims=true"));
  T first = n.op("SLICE", {x, n.ints({0, 0, 0}), n.ints({1, 1, 16})});
  n.end(n.dense(n.op("SQUEEZE", first, "squeeze_dims=[1]"), 10));
}

/// A language model of two signatures that share weights: one token with a cache, and several without.
void languageModel(Net &n) {
  for (int which : {0, 1}) {
    int tokens = which ? 6 : 1;
    n.begin(which ? "prefill" : "main");
    n.scope(which ? "prefill/" : "decode/");
    T ids = n.input({1, tokens}, "i32"), cache, position;
    if (!which) {
      cache = n.input({1, 2, 6, 8});
      position = n.input({4}, "i32");
    }
    // The same buffer in both.
    std::map<int, T> weights;
    auto shared = [&](int number, Shape shape, double deviation) {
      if (weights.count(number))
        return weights[number];
      std::string buffer = "#" + std::to_string(number);
      return weights[number] = n.constant("f32", shape,
                                          which ? buffer
                                                : buffer + " seed " + std::to_string(number) + " normal 0 " +
                                                      std::to_string(deviation));
    };
    T x = n.op("GATHER", {shared(1, {24, 16}, 1), ids}, "axis=0");
    T norm = rmsNorm(n, x);
    T query = n.transpose(
        n.reshape(n.op("FULLY_CONNECTED", {norm, shared(2, {16, 16}, 0.25)}, "keep_num_dims=true"), {1, tokens, 2, 8}),
        {0, 2, 1, 3});
    // Rotary positions.
    auto half = [&](int begin) { return n.op("SLICE", {query, n.ints({0, 0, 0, begin}), n.ints({1, 2, tokens, 4})}); };
    T turned = n.op("CONCATENATION", {n.op("NEG", half(4)), half(0)}, "axis=-1");
    query =
        n.add(n.mul(query, n.uniform({1, 1, tokens, 8}, -1, 1)), n.mul(turned, n.uniform({1, 1, tokens, 8}, -1, 1)));
    T keys = query;
    if (!which)
      keys = n.op("DYNAMIC_UPDATE_SLICE", {cache, query, position});
    T scores = n.softmax(n.mul(n.op("BATCH_MATMUL", {query, keys}, "adjoint_rhs=true"), n.number(0.35)));
    T mixed = n.reshape(n.transpose(n.op("BATCH_MATMUL", {scores, keys}), {0, 2, 1, 3}), {1, tokens, 16});
    x = n.add(x, mixed);
    norm = rmsNorm(n, x);
    T gate = n.op("FULLY_CONNECTED", {norm, shared(3, {24, 16}, 0.25)}, "keep_num_dims=true");
    T wide = n.op("FULLY_CONNECTED", {norm, shared(4, {24, 16}, 0.25)}, "keep_num_dims=true");
    wide = n.mul(n.mul(gate, n.op("LOGISTIC", gate)), wide);
    x = n.add(x, n.op("FULLY_CONNECTED", {wide, shared(5, {16, 24}, 0.2)}, "keep_num_dims=true"));
    T logits = n.op("FULLY_CONNECTED", {rmsNorm(n, x), shared(1, {24, 16}, 1)}, "keep_num_dims=true");
    std::vector<T> outputs{logits};
    if (!which)
      outputs.push_back(keys);
    n.end(outputs);
    if (which)
      n.signature("prefill", {{"ids", ids}}, {{"logits", logits}});
    else
      n.signature("decode", {{"ids", ids}, {"cache", cache}, {"position", position}},
                  {{"logits", logits}, {"cache", keys}});
  }
}

/// Attention as a composite, with its decomposition.
void composite(Net &n) {
  T query = n.input({1, 4, 2, 8}), key = n.input({1, 6, 2, 8}), value = n.input({1, 6, 2, 8});
  T y = n.op("STABLEHLO_COMPOSITE", {query, key, value},
             "name=\"odml.scaled_dot_product_attention\", decomposition_subgraph_index=@attention, "
             "composite_attributes=hex\"736300010106010102012401\"",
             "f32[1,4,2,8]");
  n.end(n.layerNorm(n.reshape(y, {1, 4, 16})));
  n.begin("attention");
  n.scope("inner/");
  T q = n.input({1, 4, 2, 8}), k = n.input({1, 6, 2, 8}), v = n.input({1, 6, 2, 8});
  q = n.transpose(n.mul(q, n.number(0.35)), {0, 2, 1, 3});
  T scores = n.softmax(n.op("BATCH_MATMUL", {q, n.transpose(k, {0, 2, 3, 1})}));
  n.end(n.transpose(n.op("BATCH_MATMUL", {scores, n.transpose(v, {0, 2, 1, 3})}), {0, 2, 1, 3}));
}

/// Convolutions in time, gates, swish, relative attention.
void conformer(Net &n) {
  T x = n.dense(n.input({1, 12, 8}), 16, "keep_num_dims=true");
  T y = n.layerNorm(x);
  y = n.dense(y, 32, "keep_num_dims=true");
  y = n.dense(n.mul(y, n.op("LOGISTIC", y)), 16, "keep_num_dims=true");
  x = n.add(x, n.mul(y, n.number(0.5)));
  x = n.add(x, attention(n, n.layerNorm(x), 2, true));
  std::vector<T> halves =
      n.ops("SPLIT", {n.constant("i32", {}, "[2]"), n.dense(n.layerNorm(x), 32, "keep_num_dims=true")}, "num_splits=2",
            {"f32", "f32"});
  y = n.mul(halves[0], n.op("LOGISTIC", halves[1]));
  y = n.op("EXPAND_DIMS", {y, n.constant("i32", {}, "[1]")});
  y = n.op("DEPTHWISE_CONV_2D", {y, n.normal({1, 1, 5, 16}, 0.4), n.uniform({16}, -0.2, 0.2)},
           "depth_multiplier=1, stride_w=1, stride_h=1");
  y = n.batchNorm(n.op("SQUEEZE", y, "squeeze_dims=[1]"));
  x = n.add(x, n.dense(n.mul(y, n.op("LOGISTIC", y)), 16, "keep_num_dims=true"));
  n.end(n.op("LOG_SOFTMAX", n.dense(n.layerNorm(x), 10, "keep_num_dims=true")));
}

/// Keyword spotting: a row of FULLY_CONNECTED over a spectrum, and over what convolutions make of it.
void keywords(Net &n) {
  T x = n.op("RESHAPE", {n.input({1, 98}), n.ints({1, 14, 7, 1})}, "new_shape=[1, 14, 7, 1]");
  x = n.op("DEPTHWISE_CONV_2D", {x, n.normal({1, 5, 4, 8}, 0.3), n.uniform({8}, -0.2, 0.2)},
           "depth_multiplier=8, stride_w=2, stride_h=2, fused_activation_function=RELU");
  T flat = n.op("RESHAPE", {x, n.ints({-1, 224})}, "new_shape=[-1, 224]", "f32[1,224]");
  T a = n.dense(flat, 12, relu), b = n.dense(flat, 12, relu);
  n.end(n.softmax(n.dense(n.op("CONCATENATION", {a, b}, "axis=1"), 4)));
}

/// Noise suppression: an LSTM cell unrolled in elementary operators, with its state as inputs and outputs.
void unrolledLstm(Net &n) {
  T x = n.input({1, 1, 10}), state = n.input({1, 2, 8, 2});
  auto part = [&](int layer, int which) {
    return n.op("STRIDED_SLICE",
                {state, n.ints({0, layer, 0, which}), n.ints({1, layer + 1, 8, which + 1}), n.ints({1, 1, 1, 1})},
                "shrink_axis_mask=10");
  };
  T y = n.reshape(x, {1, 10});
  std::vector<T> states;
  for (int layer : {0, 1}) {
    n.scope("lstm_" + std::to_string(layer) + "/");
    T hidden = part(layer, 0), cell = part(layer, 1);
    T gates = n.shift(n.add(n.dense(y, 32, "", false), n.dense(hidden, 32, "", false)));
    std::vector<T> parts =
        n.ops("SPLIT", {n.constant("i32", {}, "[1]"), gates}, "num_splits=4", {"f32", "f32", "f32", "f32"});
    cell = n.add(n.mul(n.op("LOGISTIC", parts[1]), cell), n.mul(n.op("LOGISTIC", parts[0]), n.op("TANH", parts[2])));
    y = n.mul(n.op("LOGISTIC", parts[3]), n.op("TANH", cell));
    states.push_back(n.op("PACK", {y, cell}, "values_count=2, axis=-1"));
  }
  n.scope("");
  T mask = n.op("LOGISTIC", n.dense(y, 10));
  n.end({n.mul(n.reshape(mask, {1, 1, 10}), x), n.op("PACK", states, "values_count=2, axis=1")});
}

void lstm(Net &n) {
  T x = n.input({1, 5, 6});
  T y = n.op("UNIDIRECTIONAL_SEQUENCE_LSTM", lstmOperands(n, x, 8, false, 0, false), "fused_activation_function=TANH");
  y = n.op("UNIDIRECTIONAL_SEQUENCE_LSTM", lstmOperands(n, y, 8, true, 6, true),
           "fused_activation_function=TANH, cell_clip=3, proj_clip=2");
  y = n.op("UNIDIRECTIONAL_SEQUENCE_LSTM", lstmOperands(n, y, 6, true, 0, false, true),
           "fused_activation_function=TANH");
  T last = n.op("STRIDED_SLICE", {y, n.ints({0, -1, 0}), n.ints({0, 0, 0}), n.ints({1, 1, 1})},
                "begin_mask=5, end_mask=5, shrink_axis_mask=2");
  n.end(n.softmax(n.dense(last, 4)));
}

/// Recurrent operators of other kinds, a step each.
void recurrent(Net &n) {
  T x = n.input({1, 6});
  T y = n.op("LSTM", lstmOperands(n, x, 8, false, 0, false), "fused_activation_function=TANH");
  y = n.op("RNN", {y, n.weights({8, 8}), n.weights({8, 8}), n.uniform({8}, -0.2, 0.2), n.variable({1, 8})},
           "fused_activation_function=TANH");
  T z = n.op("SVDF", {y, n.weights({8, 8}), n.weights({8, 4}), n.uniform({4}, -0.2, 0.2), n.variable({1, 32})},
             "rank=2, fused_activation_function=RELU");
  T sequence = n.reshape(n.op("TILE", {y, n.ints({3, 1})}), {1, 3, 8});
  T rnn = n.op("UNIDIRECTIONAL_SEQUENCE_RNN",
               {sequence, n.weights({5, 8}), n.weights({5, 5}), n.uniform({5}, -0.2, 0.2), n.variable({1, 5})},
               "fused_activation_function=TANH");
  n.end({n.softmax(z), rnn});
}

/// Text: words looked up, averaged, classified.
void words(Net &n) {
  T ids = n.input({1, 12}, "i32");
  T x = n.op("GATHER", {n.normal({40, 8}, 1), n.reshape(ids, {12})}, "axis=0");
  T flat = n.op("EMBEDDING_LOOKUP", {n.reshape(ids, {12}), n.normal({40, 8}, 1)}, "", "f32[12,8]");
  x = n.mean(n.reshape(n.add(x, flat), {1, 12, 8}), {1});
  n.end(n.softmax(n.dense(n.dense(x, 8, relu), 2)));
}

/// A front end of sound: frames, a window, the spectrum, its logarithm.
void spectrum(Net &n) {
  T x = n.input({1, 64});
  T frames = n.op("GATHER", {n.reshape(x, {64}), n.uniform({4, 1, 16}, 0, 63, "i32")}, "axis=0");
  T windowed = n.mul(frames, n.uniform({16}, 0.1, 1));
  T bins = n.op("RFFT2D", {windowed, n.ints({1, 16})}, "", "c64[4,1,9]");
  T power = n.op("SQUARE", n.op("COMPLEX_ABS", bins, "", "f32[4,1,9]"));
  T mel = n.dense(n.op("MAXIMUM", {power, n.number(1e-5)}), 6, "keep_num_dims=true", false);
  T loud = n.op("LOG", n.add(n.op("ABS", mel), n.number(1e-6)));
  T phases =
      n.op("ATAN2", {n.op("IMAG", bins, "", "f32[4,1,9]"), n.add(n.op("REAL", bins, "", "f32[4,1,9]"), n.number(3))});
  n.end({n.mul(loud, n.number(0.4342945)), n.op("CUMSUM", {phases, n.constant("i32", {}, "[1]")})});
}

/// Pitch: a harmonic stack of slices and pads, convolutions of odd sizes.
void pitch(Net &n) {
  T x = n.input({1, 10, 24, 1});
  std::vector<T> stacked;
  for (int shift : {-4, 0, 3, 6}) {
    int begin = std::max(shift, 0), size = 24 - std::abs(shift);
    T part = n.op("SLICE", {x, n.ints({0, 0, begin, 0}), n.ints({1, 10, size, 1})});
    std::string before = std::to_string(std::max(-shift, 0)), behind = std::to_string(std::max(shift, 0));
    stacked.push_back(
        shift ? n.op("PADV2", {part, n.constant("i32", {4, 2}, "[0, 0, 0, 0, " + before + ", " + behind + ", 0, 0]"),
                               n.number(0)})
              : x);
  }
  T y = n.op("CONCATENATION", stacked, "axis=3");
  y = n.op("CONV_2D", {y, n.weights({4, 3, 7, 4}), n.uniform({4}, -0.2, 0.2)}, "stride_w=3, stride_h=1");
  y = n.op("RELU", n.batchNorm(y));
  T z = n.op("CONV_2D", {y, n.weights({1, 5, 1, 4}), n.uniform({1}, -0.2, 0.2)}, "stride_w=1, stride_h=1");
  n.end({n.op("LOGISTIC", n.op("SQUEEZE", z, "squeeze_dims=[3]")), n.op("TANH", n.op("REVERSE_V2", {y, n.ints({1})}))});
}

/// A streaming network: what was heard before stands in resource variables, which an initialiser fills.
void streaming(Net &n) {
  T x = n.input({1, 2, 8});
  n.statement("CALL_ONCE() {init_subgraph_index=@init}");
  T handle = n.op("VAR_HANDLE", {}, "container=\"\", shared_name=\"ring\"", "resource[]");
  T old = n.op("READ_VARIABLE", handle, "", "f32[1,4,8]");
  T all = n.op("CONCATENATION", {old, x}, "axis=1");
  T recent = n.op("STRIDED_SLICE", {all, n.ints({0, 2, 0}), n.ints({1, 6, 8}), n.ints({1, 1, 1})});
  n.statement("ASSIGN_VARIABLE(%\"" + handle.name + "\", %\"" + recent.name + "\")");
  T y = n.conv(n.reshape(all, {1, 6, 1, 8}), 4, 1, 1, relu);
  n.end(n.op("LOGISTIC", n.dense(n.reshape(y, {1, 24}), 1)));
  n.begin("init");
  n.scope("init/");
  T again = n.op("VAR_HANDLE", {}, "container=\"\", shared_name=\"ring\"", "resource[]");
  T zeros = n.constant("f32", {1, 4, 8}, "splat 0");
  n.statement("ASSIGN_VARIABLE(%\"" + again.name + "\", %\"" + zeros.name + "\")");
  n.end({});
}

/// circle's own operators.
void circleOperators(Net &n) {
  T x = n.input({1, 6, 6, 4});
  x = n.op("INSTANCE_NORM", {x, n.uniform({4}, 0.6, 1.4), n.uniform({4}, -0.5, 0.5)},
           "epsilon=0.001, fused_activation_function=RELU");
  T y = n.reshape(x, {1, 4, 6, 6});
  y = n.op("RMS_NORM", {y, n.uniform({6}, 0.6, 1.4)}, "epsilon=0.001");
  y = n.op("ROPE", {y, n.uniform({1, 1, 6, 6}, -1, 1), n.uniform({1, 1, 6, 6}, -1, 1)});
  T sequence = n.reshape(y, {6, 1, 24});
  T gru = n.op("GRU",
               {sequence, n.weights({12, 4}), n.uniform({12}, -0.2, 0.2), n.weights({12, 24}),
                n.uniform({12}, -0.2, 0.2), n.constant("f32", {1, 4}, "splat 0")},
               "return_sequences=true", "f32[6,1,4]");
  n.end({gru, x});
}

} // namespace origo::test
