#include "tests/networks/Net.h"

#include "ir/shapes/Inference.h"
#include "ir/text/Text.h"
#include "schema/TensorTypes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Error.h"

#include <cmath>

using namespace origo;
using namespace origo::test;
using llvm::StringRef;

namespace {

std::string nameOf(const T &t) { return "%\"" + t.name + "\""; }

std::string declaration(const T &t) {
  std::string text = nameOf(t) + ": " + t.type + "[";
  for (auto [i, dim] : llvm::enumerate(t.shape))
    text += (i ? "," : "") + (dim < 0 ? std::string("1?") : std::to_string(dim));
  return text + "]" + (t.tail.empty() ? "" : " " + t.tail);
}

std::string listOf(llvm::ArrayRef<int> numbers) {
  return "[" + llvm::join(llvm::map_range(numbers, [](int n) { return std::to_string(n); }), ", ") + "]";
}

std::string numberOf(double number) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.9g", number);
  return text;
}

[[noreturn]] void broken(const std::string &statement, const std::string &why) {
  llvm::errs() << "networks: " << why << "\n  " << statement << '\n';
  std::exit(1);
}

} // namespace

Net::Net(bool isTflite, StringRef description) {
  head = std::string("origo 1\nmodel ") + (isTflite ? "tflite version 3" : "circle version 0") + " description \"" +
         description.str() + "\"\ndefault ranked\n";
  for (char c : description)
    seed = seed * 31 + static_cast<unsigned char>(c);
}

uint64_t Net::nextSeed() { return seed % 1000003 * 1000 + count; }

std::string Net::text() { return head + done + behind; }

void Net::begin(StringRef name) {
  graph = name.str();
  body.clear();
  inputs.clear();
}

void Net::end(Ts outputs) {
  done += behind + "subgraph @" + graph + "(" + inputs + ") -> (" + llvm::join(llvm::map_range(outputs, nameOf), ", ") +
          ") {\n" + body + "}\n";
  behind.clear();
  body.clear();
  inputs.clear();
}

void Net::signature(StringRef key, const Named &inputs, const Named &outputs) {
  auto listed = [](const Named &tensors) {
    std::string text;
    for (const auto &[name, t] : tensors)
      text += (text.empty() ? "\"" : ", \"") + std::string(name) + "\"=" + nameOf(t);
    return "(" + text + ")";
  };
  line("signature \"" + key.str() + "\" @" + graph + " inputs" + listed(inputs) + " outputs" + listed(outputs));
}

T Net::input(Shape shape, StringRef type, StringRef tail) {
  T made{fresh("input"), type.str(), std::move(shape), tail.str(), {}};
  inputs += (inputs.empty() ? "" : ", ") + declaration(made);
  return made;
}

T Net::variable(Shape shape, StringRef type, StringRef tail) {
  T made{fresh("state"), type.str(), std::move(shape), tail.str(), {}};
  statement(declaration(made) + " variable");
  return made;
}

T Net::constant(StringRef type, Shape shape, const std::string &value, StringRef tail) {
  T made{fresh("const"), type.str(), std::move(shape), tail.str(), {}};
  statement(declaration(made) + " = const " + value);
  if (type.starts_with("i") && tail.empty() && value.size() < 200)
    made.value = value;
  return made;
}

T Net::ints(llvm::ArrayRef<int> numbers, StringRef type) {
  return constant(type, {static_cast<int>(numbers.size())}, listOf(numbers));
}

T Net::number(double number) { return constant("f32", {}, "[" + numberOf(number) + "]"); }

T Net::floats(llvm::ArrayRef<double> numbers) {
  return constant("f32", {static_cast<int>(numbers.size())},
                  "[" + llvm::join(llvm::map_range(numbers, numberOf), ", ") + "]");
}

T Net::normal(Shape shape, double deviation) {
  return constant("f32", std::move(shape), "seed " + std::to_string(nextSeed()) + " normal 0 " + numberOf(deviation));
}

T Net::uniform(Shape shape, double low, double high, StringRef type, StringRef tail) {
  return constant(type, std::move(shape),
                  "seed " + std::to_string(nextSeed()) + " uniform " + numberOf(low) + " " + numberOf(high), tail);
}

T Net::weights(Shape shape) {
  double summed = 1;
  for (int dim : llvm::drop_begin(shape))
    summed *= dim;
  return normal(std::move(shape), std::sqrt(1.5 / summed));
}

T Net::op(StringRef code, Ts operands, StringRef options, StringRef result) {
  return ops(code, operands, options, {result.str()}).front();
}

std::vector<T> Net::ops(StringRef code, Ts operands, StringRef options, std::vector<std::string> results) {
  std::string stem = code.starts_with("CUSTOM") ? "custom" : code.take_until([](char c) { return c == '.'; }).lower();
  std::vector<T> made;
  bool known = true; // the shapes are said
  for (const std::string &result : results) {
    T &t = made.emplace_back();
    t.name = fresh(stem);
    StringRef rest = result;
    if (rest.starts_with("q{")) {
      t.tail = result;
      t.type = operands.front().type;
      known = false;
      continue;
    }
    auto [type, tail] = rest.split(' ');
    t.tail = tail.str();
    auto [name, dims] = type.split('[');
    t.type = name.str();
    if (dims.empty()) {
      known = false;
      continue;
    }
    llvm::SmallVector<StringRef> parts;
    dims.drop_back().split(parts, ',', -1, false);
    for (StringRef part : parts) {
      int dim = -1;
      if (!part.contains('?') && part.getAsInteger(10, dim))
        broken(result, "no dimension");
      t.shape.push_back(dim);
    }
  }
  std::string call = " = " + code.str() + "(";
  for (auto [i, operand] : llvm::enumerate(operands))
    call += (i ? ", " : "") + (operand.name.empty() ? "_" : nameOf(operand));
  call += ")";
  if (!options.empty())
    call +=
        options.starts_with("custom") || options.starts_with("{") ? " " + options.str() : " {" + options.str() + "}";
  if (!known) { // what the rule says of this operator alone
    std::string given, constants, types;
    std::vector<std::string> seen;
    for (const T &operand : operands) {
      if (operand.name.empty() || llvm::is_contained(seen, operand.name))
        continue;
      seen.push_back(operand.name);
      if (operand.value.empty()) // without scales, which may be other tensors
        given += (given.empty() ? "" : ", ") + declaration({operand.name, operand.type, operand.shape, "", ""});
      else
        constants += "  " + declaration(operand) + " = const " + operand.value + "\n";
    }
    for (const T &t : made)
      types += (types.empty() ? "" : ", ") + nameOf(t) + ": f32";
    std::string alone = "origo 1\nmodel circle\ndefault ranked\nsubgraph @main(" + given + ") -> (" + nameOf(made[0]) +
                        ") {\n" + constants + "  " + types + call + "\n}\n";
    PayloadStore store;
    auto model = parseText(alone, "", store);
    if (!model)
      broken(alone, llvm::toString(model.takeError()));
    auto shapes = inferResults((*model)->subgraphs[0]->operators.front());
    if (!shapes)
      broken(alone, llvm::toString(shapes.takeError()));
    if (shapes->size() != made.size())
      broken(alone, "its result is not known: say it");
    for (auto [t, shape] : llvm::zip_equal(made, *shapes)) {
      t.shape.assign(shape.shape.begin(), shape.shape.end());
      if (t.type.empty())
        t.type = tensorTypeShortName(shape.type).str();
    }
  }
  statement(llvm::join(llvm::map_range(made, declaration), ", ") + call);
  return made;
}

// Layers.

namespace {
std::string with(const std::string &options, StringRef more) {
  return more.empty() ? options : options + ", " + more.str();
}
} // namespace

T Net::conv(const T &x, int channels, int size, int stride, StringRef more, bool bias) {
  std::vector<T> operands{x, weights({channels, size, size, x.last()})};
  if (bias)
    operands.push_back(uniform({channels}, -0.2, 0.2));
  std::string step = std::to_string(stride);
  return op("CONV_2D", operands, with("stride_w=" + step + ", stride_h=" + step, more));
}

T Net::depthwise(const T &x, int size, int stride, StringRef more, bool bias) {
  std::vector<T> operands{x, normal({1, size, size, x.last()}, 1.2 / size)};
  if (bias)
    operands.push_back(uniform({x.last()}, -0.2, 0.2));
  std::string step = std::to_string(stride);
  return op("DEPTHWISE_CONV_2D", operands, with("depth_multiplier=1, stride_w=" + step + ", stride_h=" + step, more));
}

T Net::transposeConv(const T &x, int channels, int size, int stride) {
  std::string step = std::to_string(stride);
  return op("TRANSPOSE_CONV",
            {ints({x.shape[0], x.shape[1] * stride, x.shape[2] * stride, channels}),
             weights({channels, size, size, x.last()}), x},
            "stride_w=" + step + ", stride_h=" + step);
}

T Net::dense(const T &x, int units, StringRef more, bool bias) {
  std::vector<T> operands{x, weights({units, x.last()})};
  if (bias)
    operands.push_back(uniform({units}, -0.2, 0.2));
  return op("FULLY_CONNECTED", operands, more);
}

T Net::scale(const T &x) { return mul(x, uniform({x.last()}, 0.6, 1.4)); }
T Net::shift(const T &x) { return add(x, uniform({x.last()}, -0.5, 0.5)); }

T Net::pool(const T &x, bool max, int size, int stride, StringRef padding) {
  std::string step = std::to_string(stride), width = std::to_string(size);
  return op(max ? "MAX_POOL_2D" : "AVERAGE_POOL_2D", x,
            "padding=" + padding.str() + ", stride_w=" + step + ", stride_h=" + step + ", filter_width=" + width +
                ", filter_height=" + width);
}

T Net::reshape(const T &x, llvm::ArrayRef<int> shape) { return op("RESHAPE", {x, ints(shape)}); }

T Net::pad(const T &x, int by) {
  std::string n = std::to_string(by);
  return op("PAD", {x, constant("i32", {4, 2}, "[0, 0, " + n + ", " + n + ", " + n + ", " + n + ", 0, 0]")});
}

T Net::mean(const T &x, llvm::ArrayRef<int> axes, bool keep) {
  return op("MEAN", {x, ints(axes)}, keep ? "keep_dims=true" : "");
}

T Net::layerNorm(const T &x) {
  T centred = op("SUB", {x, mean(x, {-1}, true)});
  T variance = mean(mul(centred, centred), {-1}, true);
  T inverse = op("RSQRT", add(variance, number(1e-5)));
  return shift(scale(mul(centred, inverse)));
}

T Net::gelu(const T &x) {
  T third = mul(mul(mul(x, x), x), number(0.044715));
  T inner = op("TANH", mul(add(x, third), number(0.7978846)));
  return mul(mul(x, number(0.5)), add(inner, number(1)));
}
