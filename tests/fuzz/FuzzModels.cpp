#include "tests/fuzz/FuzzModels.h"

#include "eval/Kernels.h"
#include "schema/TensorTypes.h"
#include "tests/fuzz/Random.h"
#include "tests/fuzz/RandomOperator.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <map>
#include <set>

using namespace origo;
using fuzz::Random;
using llvm::StringRef;

namespace {

using Shape = std::vector<int>;

std::string listOf(const Shape &shape) {
  return "[" + llvm::join(llvm::map_range(shape, [](int n) { return std::to_string(n); }), ",") + "]";
}

int64_t elements(const Shape &shape) {
  int64_t count = 1;
  for (int dim : shape)
    count *= dim;
  return count;
}

struct Tensor {
  std::string name;
  StringRef type; ///< f32, i8 or bool
  Shape shape;
};

const char *const activations[] = {"NONE", "NONE", "RELU", "RELU6", "RELU_N1_TO_1", "TANH"};

class GraphWriter {
public:
  explicit GraphWriter(uint64_t seed) : random(seed) {}

  std::string write() {
    Shape shapes[] = {{1, 4, 4, 2}, {2, 3}, {1, 6, 4}, {1, 5, 5, 3}, {2, 2, 3, 2, 2}, {4}, {1, 1, 1, 4}};
    for (unsigned i = 0, count = 1 + random.below(2); i < count; ++i)
      tensors.push_back({"in" + std::to_string(i), "f32", random.of(shapes)});
    std::string inputs;
    for (const Tensor &input : tensors)
      inputs += (inputs.empty() ? "%" : ", %") + input.name + ": f32" + listOf(input.shape);
    size_t given = tensors.size();
    for (unsigned i = 0, count = 3 + random.below(24); i < count; ++i)
      step();
    // What nothing uses is an output or dead code; of the rest some are outputs as well.
    std::vector<std::string> outputs;
    for (size_t i = given; i < tensors.size(); ++i)
      if (i + 1 == tensors.size() || (!used.count(tensors[i].name) && !random.once(6)) || random.once(9))
        outputs.push_back("%" + tensors[i].name);
    if (outputs.empty()) // nothing but constants was made
      op("f32", tensors[0].shape, "NEG", {tensors[0]}), outputs.push_back("%" + tensors.back().name);
    std::string model = "origo 1\nmodel circle version 0\nsubgraph @main(" + inputs + ") -> (" +
                        llvm::join(outputs, ", ") + ") {\n" + body + "}\n";
    if (random.once(4)) {
      std::string names = "signature \"run\" @main inputs(";
      for (size_t i = 0; i < given; ++i)
        names += (i ? ", \"" : "\"") + std::string(1, char('a' + i)) + "\"=%in" + std::to_string(i);
      names += ") outputs(";
      for (size_t i = 0; i < outputs.size(); ++i)
        names += (i ? ", \"o" : "\"o") + std::to_string(i) + "\"=" + outputs[i];
      model += names + ")\n";
    }
    return model;
  }

private:
  Random random;
  std::string body;
  std::vector<Tensor> tensors;
  std::set<std::string> used;
  std::map<Shape, Tensor> lists; ///< of integers
  unsigned number = 0;

  std::string fresh(StringRef stem) { return (stem + std::to_string(number++)).str(); }

  const Tensor &op(StringRef type, Shape shape, StringRef name, llvm::ArrayRef<Tensor> operands, StringRef options = {},
                   StringRef quantization = {}) {
    std::string result = fresh("t");
    body += ("  %" + result + ": " + type + listOf(shape) + quantization + " = " + name + "(").str();
    for (size_t i = 0; i < operands.size(); ++i) {
      body += (i ? ", %" : "%") + operands[i].name;
      used.insert(operands[i].name);
    }
    body += ")" + (options.empty() ? "" : " {" + options.str() + "}") + "\n";
    tensors.push_back({result, type, std::move(shape)});
    return tensors.back();
  }

  /// As files have them, some operators read the same constant.
  Tensor integers(const Shape &values) {
    auto [known, isNew] = lists.try_emplace(values);
    if (!isNew && random.once(2))
      return known->second;
    std::string name = fresh("n");
    body += "  %" + name + ": i32[" + std::to_string(values.size()) + "] = const " + listOf(values) + "\n";
    return known->second = {name, "i32", {static_cast<int>(values.size())}};
  }

  std::string number32() {
    const char *const some[] = {"0", "1", "-1", "0.5", "2", "3", "6", "0.16666667", "-0.5", "1.5", "0.125", "-2"};
    const char *const odd[] = {"nan", "inf", "-inf", "-0", "1e-40", "3e38"};
    return random.once(40) ? random.of(odd) : random.of(some);
  }

  Tensor constant(Shape shape) {
    std::string name = fresh("c");
    body += "  %" + name + ": f32" + listOf(shape) + " = const ";
    if (elements(shape) <= 4) {
      body += "[";
      for (int64_t i = 0; i < elements(shape); ++i)
        body += (i ? ", " : "") + number32();
      body += "]\n";
    } else if (random.once(5)) {
      body += "splat " + number32() + "\n";
    } else {
      body += "seed " + std::to_string(random.below(1000)) + " normal 0 0.5\n";
    }
    Tensor made{name, "f32", std::move(shape)};
    constants.push_back(made);
    return made;
  }
  std::vector<Tensor> constants;

  /// A tensor of floats that was made lately, as a rule.
  Tensor pick() {
    std::vector<Tensor> floats;
    for (const Tensor &tensor : tensors)
      if (tensor.type == "f32" && elements(tensor.shape) <= 4096)
        floats.push_back(tensor);
    size_t from = random.once(4) || floats.size() < 3 ? 0 : floats.size() - 3;
    return floats[from + random.below(static_cast<unsigned>(floats.size() - from))];
  }
  /// Of rank 4, made so by a RESHAPE where need be.
  Tensor image() {
    Tensor x = pick();
    if (x.shape.size() == 4)
      return x;
    Shape shape{1, 1, 1, static_cast<int>(elements(x.shape))};
    return op("f32", shape, "RESHAPE", {x, integers(shape)});
  }

  /// Something that broadcasts to this shape: a constant, an old one sometimes, or a tensor.
  Tensor partner(const Tensor &x) {
    if (random.once(3))
      for (const Tensor &other : llvm::reverse(tensors))
        if (other.type == "f32" && other.shape == x.shape && random.once(2))
          return other;
    if (random.once(6))
      return x;
    if (random.once(5))
      for (const Tensor &other : llvm::reverse(constants))
        if (other.shape == x.shape || other.shape.empty() || (other.shape == Shape{1} && !x.shape.empty()) ||
            (other.shape.size() == 1 && !x.shape.empty() && other.shape[0] == x.shape.back()))
          return other;
    Shape shape = x.shape;
    switch (random.below(5)) {
    case 0:
      return constant({});
    case 1:
      return constant(shape.empty() ? Shape{} : Shape{1});
    case 2:
      return constant(shape.empty() ? Shape{} : Shape{shape.back()});
    case 3:
      for (int &dim : shape)
        if (random.once(2))
          dim = 1;
      return constant(shape);
    default:
      return constant(shape);
    }
  }

  std::string activation() { return std::string("fused_activation_function=") + random.of(activations); }

  void arithmetic(StringRef code) {
    Tensor x = pick(), y = partner(x);
    bool swap = random.once(3);
    const OperatorInfo &info = *operatorInfo(code);
    op("f32", x.shape, code, swap ? llvm::ArrayRef<Tensor>{y, x} : llvm::ArrayRef<Tensor>{x, y},
       info.has(Trait::Clamps) ? activation() : "");
  }

  void unary() {
    static const std::vector<StringRef> codes = [] {
      std::vector<StringRef> list;
      for (const eval::Kernel &row : eval::allKernels())
        if (row.types == "f32 -> f32" && operatorInfo(row.code)->has(Trait::Unary))
          list.push_back(operatorInfo(row.code)->name);
      return list;
    }();
    Tensor x = pick();
    op("f32", x.shape, random.of(codes), {x});
  }

  void transpose() {
    Tensor x = pick();
    Shape order(x.shape.size()), shape;
    for (size_t i = 0; i < order.size(); ++i)
      order[i] = static_cast<int>(i);
    for (size_t i = order.size(); i-- > 1;)
      std::swap(order[i], order[random.below(static_cast<unsigned>(i + 1))]);
    for (int axis : order)
      shape.push_back(x.shape[axis]);
    Tensor y = op("f32", shape, "TRANSPOSE", {x, integers(order)});
    if (!random.once(3))
      return;
    Shape back(order.size()), original;
    for (size_t i = 0; i < order.size(); ++i)
      back[order[i]] = static_cast<int>(i);
    op("f32", x.shape, "TRANSPOSE", {y, integers(back)});
  }

  void reshape() {
    Tensor x = pick();
    int count = static_cast<int>(elements(x.shape));
    Shape shape;
    for (int left = count; shape.size() < 4;) {
      int divisor = 1;
      for (int d : {2, 3, 4, 5, 6})
        if (left % d == 0 && random.once(3))
          divisor = d;
      shape.push_back(divisor);
      left /= divisor;
      if (random.once(3) || shape.size() == 4) {
        shape.back() *= left;
        break;
      }
    }
    op("f32", shape, "RESHAPE", {x, integers(shape)});
  }

  void move() {
    Tensor x = pick();
    int rank = static_cast<int>(x.shape.size());
    int axis = rank ? static_cast<int>(random.below(static_cast<unsigned>(rank))) : 0;
    Shape shape = x.shape;
    switch (random.below(8)) {
    case 0: {
      shape.insert(shape.begin() + axis, 1);
      if (shape.size() <= 5)
        op("f32", shape, "EXPAND_DIMS", {x, integers({axis})});
      return;
    }
    case 1: {
      Shape begin(rank, 0);
      for (int i = 0; i < rank; ++i)
        if (shape[i] > 1 && random.once(2)) {
          begin[i] = static_cast<int>(random.below(2));
          shape[i] -= begin[i] + static_cast<int>(random.below(static_cast<unsigned>(shape[i] - begin[i])));
        }
      op("f32", shape, "SLICE", {x, integers(begin), integers(shape)});
      return;
    }
    case 2: {
      Tensor y = random.once(3) ? x : partner(x);
      if (y.shape == x.shape && rank) {
        shape[axis] *= 2;
        op("f32", shape, "CONCATENATION", {x, y}, "axis=" + std::to_string(random.once(3) ? axis - rank : axis));
      }
      return;
    }
    case 3: {
      if (rank < 1 || rank > 4)
        return;
      std::string name = fresh("n");
      body += "  %" + name + ": i32[" + std::to_string(rank) + ",2] = const [";
      for (int i = 0; i < rank; ++i) {
        unsigned before = random.below(2), after = random.below(2);
        shape[i] += static_cast<int>(before + after);
        body += (i ? ", " : "") + std::to_string(before) + ", " + std::to_string(after);
      }
      body += "]\n";
      op("f32", shape, "PAD", {x, {name, "i32", {rank, 2}}});
      return;
    }
    case 4:
      if (rank)
        op("f32", shape, "REVERSE_V2", {x, integers({axis})});
      return;
    case 5: {
      if (!rank)
        return;
      Shape indices;
      for (unsigned i = 0, count = 1 + random.below(3); i < count; ++i)
        indices.push_back(static_cast<int>(random.below(static_cast<unsigned>(shape[axis]))));
      shape[axis] = static_cast<int>(indices.size());
      op("f32", shape, "GATHER", {x, integers(indices)}, "axis=" + std::to_string(axis));
      return;
    }
    case 6: {
      Shape times(rank, 1);
      if (rank && elements(shape) < 500)
        times[axis] = 2, shape[axis] *= 2;
      op("f32", shape, "TILE", {x, integers(times)});
      return;
    }
    default:
      for (size_t i = 0; i < shape.size(); ++i)
        if (shape[i] == 1) {
          shape.erase(shape.begin() + i);
          op("f32", shape, "SQUEEZE", {x}, "squeeze_dims=[" + std::to_string(i) + "]");
          return;
        }
    }
  }

  void reduce() {
    Tensor x = pick();
    if (x.shape.empty())
      return;
    const StringRef codes[] = {"MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN"};
    bool keep = random.once(2);
    int rank = static_cast<int>(x.shape.size());
    Shape axes, shape;
    for (int i = 0; i < rank; ++i)
      if (random.once(2)) {
        axes.push_back(random.once(3) ? i - rank : i);
        if (keep)
          shape.push_back(1);
      } else {
        shape.push_back(x.shape[i]);
      }
    if (!axes.empty())
      op("f32", shape, random.of(codes), {x, integers(axes)}, keep ? "keep_dims=true" : "");
  }

  void linear() {
    if (random.once(2)) {
      Tensor x = pick();
      if (x.shape.size() != 2)
        return;
      int units = 1 + static_cast<int>(random.below(4));
      std::vector<Tensor> operands{x, constant({units, x.shape[1]})};
      Tensor bias = constant({units});
      if (random.once(2))
        operands.push_back(bias);
      op("f32", {x.shape[0], units}, "FULLY_CONNECTED", operands, activation());
      return;
    }
    Tensor x = image();
    int size = 1 + static_cast<int>(random.below(3)), stride = 1 + static_cast<int>(random.below(3));
    bool same = random.once(2) || x.shape[1] < size || x.shape[2] < size;
    auto extent = [&](int length) { return same ? (length + stride - 1) / stride : (length - size) / stride + 1; };
    bool depthwise = random.once(2);
    int out = depthwise ? x.shape[3] : 1 + static_cast<int>(random.below(4));
    std::vector<Tensor> operands{x,
                                 constant(depthwise ? Shape{1, size, size, out} : Shape{out, size, size, x.shape[3]})};
    Tensor bias = constant({out});
    if (random.once(2))
      operands.push_back(bias);
    std::string step = std::to_string(stride);
    op("f32", {x.shape[0], extent(x.shape[1]), extent(x.shape[2]), out}, depthwise ? "DEPTHWISE_CONV_2D" : "CONV_2D",
       operands,
       std::string("padding=") + (same ? "SAME" : "VALID") + ", stride_w=" + step + ", stride_h=" + step +
           (depthwise ? ", depth_multiplier=1, " : ", ") + activation());
  }

  void pool() {
    Tensor x = image();
    int size = 1 + static_cast<int>(random.below(3)), stride = 1 + static_cast<int>(random.below(4));
    bool same = random.once(2) || x.shape[1] < size || x.shape[2] < size;
    auto extent = [&](int length) { return same ? (length + stride - 1) / stride : (length - size) / stride + 1; };
    std::string step = std::to_string(stride), width = std::to_string(size);
    op("f32", {x.shape[0], extent(x.shape[1]), extent(x.shape[2]), x.shape[3]},
       random.once(2) ? "MAX_POOL_2D" : "AVERAGE_POOL_2D", {x},
       std::string("padding=") + (same ? "SAME" : "VALID") + ", stride_w=" + step + ", stride_h=" + step +
           ", filter_width=" + width + ", filter_height=" + width);
  }

  /// What rewrites know by heart.
  void idiom() {
    Tensor x = pick();
    Shape s = x.shape;
    auto number = [&](const char *text) {
      std::string name = fresh("c");
      body += "  %" + name + ": f32[] = const [" + std::string(text) + "]\n";
      return Tensor{name, "f32", {}};
    };
    switch (random.below(6)) {
    case 0: { // hard swish
      Tensor sum = op("f32", s, "ADD", {x, number("3")}), clamped = op("f32", s, "RELU6", {sum});
      Tensor product = op("f32", s, "MUL", {x, clamped});
      op("f32", s, "MUL", {product, number("0.16666667")});
      return;
    }
    case 1: { // GELU
      Tensor cube = op("f32", s, "POW", {x, number("3")}), scaled = op("f32", s, "MUL", {cube, number("0.044715")});
      Tensor sum = op("f32", s, "ADD", {x, scaled}), inner = op("f32", s, "MUL", {sum, number("0.7978846")});
      Tensor tanh = op("f32", s, "TANH", {inner}), one = op("f32", s, "ADD", {tanh, number("1")});
      Tensor half = op("f32", s, "MUL", {x, number("0.5")});
      op("f32", s, "MUL", {half, one});
      return;
    }
    case 2: { // RMS norm
      if (s.empty())
        return;
      Shape rows = s;
      rows.back() = 1;
      Tensor square = op("f32", s, "MUL", {x, x});
      Tensor mean = op("f32", rows, "MEAN", {square, integers({static_cast<int>(s.size()) - 1})}, "keep_dims=true");
      Tensor sum = op("f32", rows, "ADD", {mean, number("1e-5")}), root = op("f32", rows, "RSQRT", {sum});
      Tensor norm = op("f32", s, "MUL", {x, root});
      op("f32", s, "MUL", {norm, constant({s.back()})});
      return;
    }
    case 3: { // RELU6 by two clamps
      Tensor low = op("f32", s, "MINIMUM", {x, number("6")});
      op("f32", s, "MAXIMUM", {low, number("0")});
      return;
    }
    case 4: { // the same twice
      Tensor y = partner(x);
      op("f32", s, "MUL", {x, y});
      op("f32", s, "MUL", {x, y});
      return;
    }
    default: { // quantised in the middle
      const char *q = " q{scale=0.05, zero_point=3}";
      Tensor a = op("i8", s, "QUANTIZE", {x}, "", q);
      Tensor b = random.once(2) ? op("i8", s, "RELU", {a}, "", q)
                                : op("i8", s, "ADD", {a, a}, "", " q{scale=0.1, zero_point=-7}");
      op("f32", s, "DEQUANTIZE", {b});
    }
    }
  }

  void step() {
    switch (random.below(10)) {
    case 0:
      return unary();
    case 1:
      return arithmetic("ADD");
    case 2:
      return arithmetic("MUL");
    case 3: {
      const StringRef codes[] = {"SUB", "DIV", "MAXIMUM", "MINIMUM", "SQUARED_DIFFERENCE", "SUB", "POW"};
      return arithmetic(random.of(codes));
    }
    case 4:
      return transpose();
    case 5:
      return reshape();
    case 6:
      return move();
    case 7:
      return random.once(2) ? reduce() : pool();
    case 8:
      return linear();
    default:
      return idiom();
    }
  }
};

} // namespace

std::string fuzz::randomGraph(uint64_t seed) { return GraphWriter(seed).write(); }

std::string fuzz::randomOperator(uint64_t seed) {
  RandomOperator generator(static_cast<unsigned>(seed));
  llvm::ArrayRef<eval::Kernel> kernels = eval::allKernels();
  std::optional<std::string> text;
  for (uint64_t at = seed; !text; at += 1 + seed % 7) // neighbours have other kernels; some have no numbers
    text = generator.make(kernels[at % kernels.size()]);
  return *text;
}
