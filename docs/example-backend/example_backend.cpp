// Generates C from a .circle model of float32 operators: a kernel for each operator, with the layers of the source that
// it does the work of, and beside it the table that brings the offsets of a trace back to these layers.
// usage: example_backend MODEL.circle OUTPUT.c KERNELS.json
#include "circle_generated.h"
#include "origin/OriginReader.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

using namespace origo::origin;
using circle::BuiltinOperator;

[[noreturn]] static void refuse(const std::string &why) { throw std::runtime_error(why); }

/// Names are any bytes that the author of the model chose. In a comment they must end neither it nor its line, and what
/// is left here can do nothing to a terminal either.
static std::string clean(std::string_view name) {
  std::string result(name);
  for (char &c : result)
    if (!(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') && !(c >= '0' && c <= '9') && !std::strchr("/.-", c))
      c = '_';
  return result;
}

static std::string number(auto value) { return std::to_string(value); }

//===---------------------------------------------------------------------------------------------------------------===//
// Origins as comments
//===---------------------------------------------------------------------------------------------------------------===//

static std::string sourceOperator(const OriginMap &map, uint32_t id) {
  const SourceOperator *op = map.source.findOperator(id);
  return number(id) + (op ? " " + clean(op->op) + " " + clean(map.source.nameOf(*op)) : " of an unknown source");
}

static std::string sourceTensor(const OriginMap &map, uint32_t id) {
  const SourceTensor *tensor = map.source.findTensor(id);
  return number(id) + (tensor ? " " + clean(tensor->name) : " of an unknown source");
}

/// The innermost scope that all of these source operators are in; empty: there is none.
static std::string commonScope(const OriginMap &map, const std::vector<uint32_t> &ids) {
  std::vector<std::string> common;
  for (size_t i = 0; i < ids.size(); ++i) {
    const SourceOperator *op = map.source.findOperator(ids[i]);
    std::vector<std::string> scopes = scopesOfName(op ? map.source.nameOf(*op) : "");
    if (i == 0)
      common = scopes;
    common.resize(std::min(common.size(), scopes.size()));
    while (!common.empty() && common.back() != scopes[common.size() - 1])
      common.pop_back();
  }
  return common.empty() ? "" : common.back();
}

/// What an operator does the work of, a line each, as #line would tell of one.
static std::string originLines(const OriginMap &map, const OperatorRow &row) {
  std::string result;
  for (uint32_t id : row.origins)
    result += "/* origin " + sourceOperator(map, id) + " */\n";
  if (std::string scope = commonScope(map, row.origins); !scope.empty())
    result += "/* scope " + clean(scope) + " */\n";
  if (!row.syntheticReason.empty())
    result += "/* nobody wrote it: " + clean(row.syntheticReason) + " */\n";
  for (const Word &pass : row.passes)
    result += "/* pass " + clean(pass) + " */\n";
  return result;
}

/// What a tensor stands for, or where the values of a constant come from.
static std::string tensorLine(const OriginMap &map, const TensorRow *row) {
  if (!row)
    return "";
  std::string text;
  for (const MapRelation &relation : row->relations)
    text += (relation.exact ? " is " : " near ") + sourceTensor(map, relation.tensor) +
            (relation.steps.empty() ? "" : " transformed") + ",";
  if (row->relations.empty())
    for (uint32_t id : row->tensors) // of a constant
      text += " from " + sourceTensor(map, id) + ",";
  for (uint32_t id : row->operators)
    text += " with " + sourceOperator(map, id) + " worked in,";
  if (!text.empty())
    text.back() = ' ';
  return text.empty() ? "" : "/*" + text + "*/\n";
}

/// Layers that the generated code does not have.
static std::string goneLines(const OriginReader &reader) {
  std::string result;
  for (uint32_t id = 0; id < reader.map().source.operatorCount(); ++id)
    if (const MapLedgerRow *gone = reader.whereIsOperator(id).gone)
      result += "/* gone " + sourceOperator(reader.map(), id) + ": " + clean(gone->fate) + " by " + clean(gone->pass) +
                " */\n";
  return result;
}

//===---------------------------------------------------------------------------------------------------------------===//
// The graph
//===---------------------------------------------------------------------------------------------------------------===//

/// The one subgraph of a verified model, with all indices checked where they are used.
struct Graph {
  const circle::Model *model;
  const circle::SubGraph *main;

  explicit Graph(const std::string &bytes) {
    flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size());
    if (!circle::VerifyModelBuffer(verifier))
      refuse("is not a circle model");
    model = circle::GetModel(bytes.data());
    if (!model->subgraphs() || model->subgraphs()->size() != 1)
      refuse("must have one subgraph");
    main = model->subgraphs()->Get(0);
    if (!main || !main->tensors() || !main->operators() || !main->inputs() || !main->outputs())
      refuse("has an incomplete subgraph");
  }

  const circle::Tensor &tensor(int32_t index) const {
    if (index < 0 || static_cast<uint32_t>(index) >= main->tensors()->size())
      refuse("there is no tensor " + number(index));
    return *main->tensors()->Get(static_cast<uint32_t>(index));
  }

  /// Small enough that no index of the generated code overflows an int.
  std::vector<int> shape(int32_t index) const {
    std::vector<int> result;
    int64_t size = 1;
    if (const auto *dims = tensor(index).shape())
      for (int dim : *dims) {
        if (dim < 1 || dim > 1 << 24 || (size *= dim) > 1 << 24)
          refuse("tensor " + number(index) + " is empty or too large");
        result.push_back(dim);
      }
    return result;
  }
  int size(int32_t index) const {
    int result = 1;
    for (int dim : shape(index))
      result *= dim;
    return result;
  }

  /// The bytes of a constant; null: it is none.
  const flatbuffers::Vector<uint8_t> *constant(int32_t index) const {
    uint32_t buffer = tensor(index).buffer();
    const auto *buffers = model->buffers();
    if (!buffers || buffer >= buffers->size() || !buffers->Get(buffer))
      return nullptr;
    if (buffers->Get(buffer)->offset() > 1)
      refuse("tensor " + number(index) + " lies behind the flatbuffer, which is not supported");
    const auto *data = buffers->Get(buffer)->data();
    return data && data->size() ? data : nullptr;
  }

  /// Operand or result `place`; −1: absent.
  static int32_t at(const flatbuffers::Vector<int32_t> *list, uint32_t place) {
    return list && place < list->size() ? list->Get(place) : -1;
  }
  BuiltinOperator code(const circle::Operator &op) const {
    const auto *codes = model->operator_codes();
    if (!codes || op.opcode_index() >= codes->size())
      refuse("there is no operator code " + number(op.opcode_index()));
    // Old files have the code in a byte.
    const circle::OperatorCode &entry = *codes->Get(op.opcode_index());
    return std::max(entry.builtin_code(), static_cast<BuiltinOperator>(entry.deprecated_builtin_code()));
  }
};

//===---------------------------------------------------------------------------------------------------------------===//
// Code
//===---------------------------------------------------------------------------------------------------------------===//

static std::string name(int32_t tensor) { return tensor < 0 ? "NULL" : "tensor_" + number(tensor); }

static std::string activation(circle::ActivationFunctionType function) {
  switch (function) {
  case circle::ActivationFunctionType::NONE:
    return "NONE";
  case circle::ActivationFunctionType::RELU:
    return "RELU";
  case circle::ActivationFunctionType::RELU6:
    return "RELU6";
  default:
    refuse(std::string("there is no kernel with the activation ") + circle::EnumNameActivationFunctionType(function));
  }
}

static std::string shapeText(const std::vector<int> &shape) {
  std::string result;
  for (int dim : shape)
    result += (result.empty() ? "(const int[]){" : ", ") + number(dim);
  return result + "}";
}

/// How many elements a convolution gives along an axis.
static int length(circle::Padding padding, int in, int filter, int stride) {
  return padding == circle::Padding::SAME ? (in + stride - 1) / stride : (in - filter + stride) / stride;
}

/// How many zeros lie before the first element.
static int zeros(circle::Padding padding, int in, int out, int filter, int stride) {
  return padding == circle::Padding::SAME ? std::max(0, ((out - 1) * stride + filter - in) / 2) : 0;
}

static void need(bool holds) {
  if (!holds)
    refuse("the shapes or options are not supported");
}

/// CONV_2D and DEPTHWISE_CONV_2D, whose options have the same names.
template <class Options>
static std::string convolution(const Options &options, const std::vector<int> &in, const std::vector<int> &weights,
                               const std::vector<int> &out, const std::string &x, const std::string &y,
                               const std::string &bias, const std::string &result) {
  need(options.dilation_h_factor() == 1 && options.dilation_w_factor() == 1);
  need(out.size() == 4 && in[0] == out[0]);
  int strideH = options.stride_h(), strideW = options.stride_w();
  circle::Padding padding = options.padding();
  need(strideH > 0 && strideH < 256 && strideW > 0 && strideW < 256);
  need(out[1] == length(padding, in[1], weights[1], strideH) && out[2] == length(padding, in[2], weights[2], strideW));
  return "conv_2d(" + x + ", " + shapeText(in) + ", " + y + ", " + shapeText(weights) + ", " + bias + ", " + result + ", " +
         shapeText(out) + ", " + number(strideH) + ", " + number(strideW) + ", " +
         number(zeros(padding, in[1], out[1], weights[1], strideH)) + ", " +
         number(zeros(padding, in[2], out[2], weights[2], strideW)) + ", " + activation(options.fused_activation_function()) +
         ")";
}

/// PAD with zeros: how many lie before and behind each axis is a constant.
static std::string padCall(const Graph &graph, int32_t x, int32_t paddings, int32_t result) {
  std::vector<int> in = graph.shape(x), out = graph.shape(result), before;
  need(in.size() == 4 && out.size() == 4 && graph.tensor(paddings).type() == circle::TensorType::INT32);
  const auto *bytes = graph.constant(paddings);
  need(bytes && bytes->size() == 8 * sizeof(int32_t));
  for (size_t axis = 0; axis < 4; ++axis) {
    int32_t around[2];
    std::memcpy(around, bytes->data() + axis * sizeof around, sizeof around);
    need(around[0] >= 0 && around[1] >= 0 && out[axis] - in[axis] == int64_t(around[0]) + around[1]);
    before.push_back(around[0]);
  }
  return "pad(" + name(x) + ", " + shapeText(in) + ", " + name(result) + ", " + shapeText(out) + ", " + shapeText(before) + ")";
}

/// The call of the runtime that computes an operator. What the kernels take for granted is checked here.
static std::string call(const Graph &graph, const circle::Operator &op) {
  auto operand = [&](uint32_t place) { return Graph::at(op.inputs(), place); };
  int32_t x = operand(0), y = operand(1), bias = operand(2), result = Graph::at(op.outputs(), 0);
  auto needFloat = [&](int32_t tensor) {
    if (graph.tensor(tensor).type() != circle::TensorType::FLOAT32)
      refuse("tensor " + number(tensor) + " is not float32");
  };
  needFloat(x);
  needFloat(result);
  need(!graph.constant(result));
  BuiltinOperator code = graph.code(op);
  if (code == BuiltinOperator::RESHAPE) {
    need(graph.size(x) == graph.size(result));
    return "copy(" + name(x) + ", " + name(result) + ", " + number(graph.size(x)) + ")";
  }
  if (code == BuiltinOperator::PAD)
    return padCall(graph, x, y, result);
  if (code != BuiltinOperator::CONV_2D && code != BuiltinOperator::DEPTHWISE_CONV_2D &&
      code != BuiltinOperator::FULLY_CONNECTED && code != BuiltinOperator::ADD && code != BuiltinOperator::MUL)
    refuse("there is no kernel for it");
  needFloat(y);
  if (code == BuiltinOperator::ADD || code == BuiltinOperator::MUL) {
    need(graph.shape(x) == graph.shape(y) && graph.shape(x) == graph.shape(result));
    auto *addOptions = op.builtin_options_as_AddOptions();
    auto *mulOptions = op.builtin_options_as_MulOptions();
    need(addOptions || mulOptions);
    return (addOptions ? "add(" : "mul(") + name(x) + ", " + name(y) + ", " + name(result) + ", " +
           number(graph.size(x)) + ", " +
           activation(addOptions ? addOptions->fused_activation_function() : mulOptions->fused_activation_function()) +
           ")";
  }

  std::vector<int> in = graph.shape(x), weights = graph.shape(y), out = graph.shape(result);
  bool depthwise = code == BuiltinOperator::DEPTHWISE_CONV_2D;
  need(!weights.empty() && !out.empty() && out.back() == (depthwise ? weights.back() : weights.front()));
  if (bias >= 0) {
    needFloat(bias);
    need(graph.size(bias) == out.back());
  }
  if (const auto *options = op.builtin_options_as_FullyConnectedOptions()) {
    need(weights.size() == 2 && options->weights_format() == circle::FullyConnectedOptionsWeightsFormat::DEFAULT);
    int batch = graph.size(x) / weights[1];
    need(graph.size(x) == batch * weights[1] && graph.size(result) == batch * weights[0]);
    return "fully_connected(" + name(x) + ", " + name(y) + ", " + name(bias) + ", " + name(result) + ", " +
           number(batch) + ", " + number(weights[1]) + ", " + number(weights[0]) + ", " +
           activation(options->fused_activation_function()) + ")";
  }
  if (depthwise) {
    const auto *options = op.builtin_options_as_DepthwiseConv2DOptions();
    need(options && in.size() == 4 && weights.size() == 4 && weights[0] == 1 && in[3] > 0 && weights[3] % in[3] == 0);
    return "depthwise_" + convolution(*options, in, weights, out, name(x), name(y), name(bias), name(result));
  }
  const auto *options = op.builtin_options_as_Conv2DOptions();
  need(options && in.size() == 4 && weights.size() == 4 && in[3] == weights[3]);
  return convolution(*options, in, weights, out, name(x), name(y), name(bias), name(result));
}

/// Float32 tensors, constants with their values; the shape of RESHAPE is needed by nobody any more.
static std::string tensors(const Graph &graph, const OriginMap &map) {
  std::string code;
  for (uint32_t i = 0; i < graph.main->tensors()->size(); ++i) {
    auto index = static_cast<int32_t>(i);
    if (graph.tensor(index).type() != circle::TensorType::FLOAT32)
      continue;
    size_t size = static_cast<size_t>(graph.size(index));
    const auto *bytes = graph.constant(index);
    code += tensorLine(map, map.target.findTensor(0, i));
    code += std::string("static ") + (bytes ? "const " : "") + "float " + name(index) + "[" + number(size) + "]";
    if (bytes) {
      if (bytes->size() != size * sizeof(float))
        refuse("tensor " + number(i) + " has other bytes than its shape says");
      code += " = {";
      for (size_t k = 0; k < size; ++k) {
        float value;
        std::memcpy(&value, bytes->data() + k * sizeof value, sizeof value);
        if (!std::isfinite(value))
          refuse("tensor " + number(i) + " holds what is no number");
        char text[32]; // not by printf, which writes a comma where the locale has one
        char *end = std::to_chars(text, text + sizeof text, std::fabs(value), std::chars_format::hex).ptr;
        code += std::string(k == 0 ? "" : k % 8 ? ", " : ",\n  ") + (std::signbit(value) ? "-0x" : "0x") + std::string(text, end) + "f";
      }
      code += "}";
    }
    code += ";\n";
  }
  return code;
}

static std::string mainFunction(const Graph &graph, size_t kernels) {
  std::string code = "int main(int argc, char **argv) {\n"
                     "  if (argc != 3) {\n"
                     "    fprintf(stderr, \"usage: %s IN_PREFIX OUT_PREFIX\\n\", argv[0]);\n"
                     "    return 1;\n"
                     "  }\n";
  auto transfer = [&](const flatbuffers::Vector<int32_t> &list, const char *argument, const char *mode) {
    for (uint32_t i = 0; i < list.size(); ++i) {
      if (graph.tensor(list[i]).type() != circle::TensorType::FLOAT32 || graph.constant(list[i]))
        refuse("inputs and outputs must be float32 and no constants");
      code += std::string("  if (!transfer(") + argument + ", " + number(i) + ", \"" + mode + "\", " + name(list[i]) +
              ", " + number(graph.size(list[i])) + "))\n    return 1;\n";
    }
  };
  transfer(*graph.main->inputs(), "argv[1]", "rb");
  for (size_t k = 0; k < kernels; ++k)
    code += "  kernel_" + number(k) + "();\n";
  transfer(*graph.main->outputs(), "argv[2]", "wb");
  return code +
         "  puts(\"offset,count,cycles\");\n"
         "  for (int k = 0; k < " +
         number(kernels) +
         "; ++k)\n"
         "    printf(\"%d,%llu,%llu\\n\", counters[k].offset, counters[k].calls, counters[k].cycles);\n"
         "  return 0;\n"
         "}\n";
}

struct Generated {
  std::string code, table;
};

/// Offsets are lines of the code: __LINE__ says where a kernel is while it runs, as a program counter would.
static Generated generate(const Graph &graph, const OriginReader &reader) {
  const OriginMap &map = reader.map();
  const auto &operators = *graph.main->operators();
  if (operators.size() == 0)
    refuse("has no operators");
  auto lines = [](const std::string &text) { return std::count(text.begin(), text.end(), '\n'); };

  std::string code = "/* Generated by example_backend. */\n#include \"runtime.h\"\n\n" + tensors(graph, map) +
                     "\nstatic struct counter counters[" + number(operators.size()) + "];\n";
  std::string table;
  for (uint32_t i = 0; i < operators.size(); ++i) {
    const OperatorRow *row = map.target.findOperator(0, i);
    if (!row)
      refuse("the origin map has no operator " + number(i));
    std::string body;
    try {
      body = call(graph, *operators[i]);
    } catch (const std::runtime_error &why) {
      std::string from;
      for (uint32_t id : row->origins)
        from += (from.empty() ? " (from " : ", ") + sourceOperator(map, id);
      refuse("operator " + number(i) + " " + clean(row->op) + (from.empty() ? "" : from + ")") + ": " + why.what());
    }
    code += "\n" + originLines(map, *row);
    auto first = lines(code) + 1;
    code += "static void kernel_" + number(i) +
            "(void) {\n"
            "  unsigned long long begin = cycles;\n"
            "  counters[" +
            number(i) +
            "].offset = __LINE__;\n"
            "  " +
            body +
            ";\n"
            "  ++counters[" +
            number(i) +
            "].calls;\n"
            "  counters[" +
            number(i) +
            "].cycles += cycles - begin;\n"
            "}\n";
    table += (i ? ",\n  " : "\n  ") + ("{\"kernel\": " + number(i)) + ", \"name\": \"" + clean(row->op) +
             "\", \"offset\": " + number(first) + ", \"size\": " + number(lines(code) + 1 - first) +
             ", \"subgraph\": 0, \"operators\": [" + number(i) + "]}";
  }
  code += "\n" + goneLines(reader) + "\n" + mainFunction(graph, operators.size());

  std::string fingerprint;
  for (uint8_t byte : map.target.fingerprint) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", byte);
    fingerprint += digits;
  }
  return {code, "{\"format\": \"origo.kernels\", \"version\": 1,\n \"fingerprint\": \"sha256:" + fingerprint +
                    "\",\n \"kernels\": [" + table + "]}\n"};
}

static void write(const char *path, const std::string &text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  if (!file.flush())
    throw std::runtime_error(std::string(path) + ": cannot be written");
}

int main(int argc, char **argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: example_backend MODEL.circle OUTPUT.c KERNELS.json\n");
    return 1;
  }
  std::string error;
  auto reader = OriginReader::open(argv[1], error);
  if (!reader) {
    std::fprintf(stderr, "%s\n", error.c_str());
    return 1;
  }
  Generated generated;
  try {
    std::ifstream file(argv[1], std::ios::binary);
    std::string bytes{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    generated = generate(Graph(bytes), *reader);
  } catch (const std::runtime_error &why) {
    std::fprintf(stderr, "%s: %s\n", argv[1], why.what());
    return 1;
  }
  try {
    write(argv[2], generated.code);
    write(argv[3], generated.table);
  } catch (const std::runtime_error &why) {
    std::fprintf(stderr, "%s\n", why.what());
    return 1;
  }
}
