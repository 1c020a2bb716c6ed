#include "eval/fast/Processor.h"
#include "tests/Engines.h"

using namespace origo;
using namespace origo::test;

/// Kernels of Engine::Fast that do the work of steps before theirs, while it is in the cache.

namespace {

std::string graph(const std::string &inputs, const std::string &outputs, const std::string &body) {
  return "origo 1\nmodel circle version 0\nsubgraph @main(" + inputs + ") -> (" + outputs + ") {\n" + body + "}\n";
}

/// The times that a run tells of, as "operator" or "operator+" where it took any.
std::vector<std::string> timesOf(const Session &session, unsigned seed) {
  std::vector<std::string> times;
  RunOptions options;
  options.timer = [&](const Timed &timed) {
    times.push_back(timed.op.opName() + (timed.end > timed.begin ? "+" : ""));
  };
  auto inputs = randomInputs(*session.inputs(), seed);
  EXPECT_TRUE(!!inputs);
  if (inputs)
    if (auto made = session.run(std::vector<TensorRef>(inputs->begin(), inputs->end()), options); !made)
      ADD_FAILURE() << llvm::toString(made.takeError());
  return times;
}

/// Both engines agree on all outputs and, one by one, on what an observer sees. `folded`: operators whose work others
/// do.
void agree(const std::string &text, int folded, double most = 1e-5, double steps = 1) {
  auto model = parse(text);
  ASSERT_TRUE(model) << text;
  for (unsigned threads : threadCounts()) {
    CompileOptions options = fastOptions();
    options.threads = threads;
    Difference difference = compare(*model, text, 1, options);
    EXPECT_TRUE(difference.ran) << text;
    EXPECT_EQ(difference.coverage.reference.size(), 0u) << text;
    EXPECT_LE(difference.floats, most) << text;
    EXPECT_LE(difference.steps, steps) << text;
  }
  Difference apart = compareOperators(*model, text, 1);
  EXPECT_LE(apart.floats, most) << text << apart.worst;
  EXPECT_LE(apart.steps, steps) << text << apart.worst;
  if (folded < 0)
    return;
  auto session = compile(*model, fastOptions());
  ASSERT_TRUE(!!session);
  auto times = timesOf(*session, 1);
  EXPECT_EQ(times.size(), model->subgraphs[0]->operators.size()) << text;
  EXPECT_EQ(llvm::count_if(times, [](const std::string &time) { return time.back() != '+'; }), folded) << text;
}

bool hasOwnConvolutions() { return processor() != Processor::Plain; }

const std::string sum = " {fused_activation_function=NONE}\n";

/// A convolution of 16 channels, of bytes too, whose result is %c.
std::string convolution(const std::string &type, const std::string &shape, const std::string &activation = "NONE",
                        bool depthwise = false) {
  bool bytes = type != "f32";
  std::string q = bytes ? " q{scale=0.01, zero_point=0}" : "", numbers = bytes ? "-90 90" : "-0.2 0.2";
  return "%w: " + type + (depthwise ? "[1,3,3,16]" : "[16,3,3,16]") + q + " = const seed 1 uniform " + numbers +
         "\n%b: " +
         (bytes ? "i32[16] q{scale=0.0005, zero_point=0} = const seed 2 uniform -900 900\n"
                : "f32[16] = const seed 2 uniform -1 1\n") +
         "%c: " + type + shape + (bytes ? " q{scale=0.04, zero_point=3}" : "") + " = " +
         (depthwise ? "DEPTHWISE_CONV_2D" : "CONV_2D") +
         "(%x, %w, %b) {padding=SAME, stride_w=1, stride_h=1, dilation_w_factor=1, dilation_h_factor=1, "
         "fused_activation_function=" +
         activation + (depthwise ? ", depth_multiplier=1}\n" : "}\n");
}

TEST(FastChains, AdditionsBehindConvolutions) {
  for (bool depthwise : {false, true})
    for (const char *shape : {"[2,13,11,16]", "[1,1,1,16]", "[1,2,70,16]"})
      for (const char *activation : {"NONE", "RELU6"})
        for (const char *operands : {"%c, %z", "%z, %c"})
          for (const char *behind : {"NONE", "RELU"}) {
            std::string inputs = std::string("%x: f32") + shape + ", %z: f32" + shape;
            agree(graph(inputs, "%y",
                        convolution("f32", shape, activation, depthwise) + "%y: f32" + shape + " = ADD(" + operands +
                            ") {fused_activation_function=" + behind + "}\n"),
                  hasOwnConvolutions());
          }
}

TEST(FastChains, AdditionsOfBytes) {
  for (std::string type : {"i8"}) // of u8, zero points of weights are another matter
    for (const char *op : {"ADD", "SUB", "MUL"}) {
      std::string in = type + "[1,13,11,16] q{scale=0.05, zero_point=5}";
      agree(graph("%x: " + in + ", %z: " + in, "%y",
                  convolution(type, "[1,13,11,16]") + "%y: " + type +
                      "[1,13,11,16] q{scale=0.08, zero_point=1} = " + op + "(%c, %z)" + sum),
            processor() >= Processor::Vnni, 0);
    }
}

/// Rows and numbers that broadcast, and functions of one operand.
TEST(FastChains, WhatGoesElementByElement) {
  const std::string row = "%s: f32[1,1,16] = const seed 3 uniform -1 1\n", number = "%s: f32[] = const splat 0.3\n";
  for (const std::string &behind :
       {row + "%y: f32[1,13,11,16] = PRELU(%c, %s)\n", row + "%y: f32[1,13,11,16] = MUL(%s, %c)" + sum,
        row + "%y: f32[1,13,11,16] = SUB(%s, %c)" + sum, number + "%y: f32[1,13,11,16] = MUL(%c, %s)" + sum,
        number + "%y: f32[1,13,11,16] = MAXIMUM(%s, %c)\n", std::string("%y: f32[1,13,11,16] = HARD_SWISH(%c)\n"),
        std::string("%y: f32[1,13,11,16] = LEAKY_RELU(%c) {alpha=0.2}\n"),
        std::string("%y: f32[1,13,11,16] = TANH(%c)\n")})
    agree(graph("%x: f32[1,13,11,16]", "%y", convolution("f32", "[1,13,11,16]") + behind), hasOwnConvolutions());
  // PRELU in two parts, of which the addition follows the later one.
  agree(graph("%x: f32[1,90,70,16]", "%y",
              "%s: f32[16] = const seed 3 uniform -1 1\n%n: f32[1,90,70,16] = NEG(%x)\n%r: f32[1,90,70,16] = RELU(%n)\n"
              "%m: f32[1,90,70,16] = MUL(%r, %s)" +
                  sum + "%p: f32[1,90,70,16] = RELU(%x)\n%y: f32[1,90,70,16] = ADD(%p, %m)" + sum),
        3);
  // An operand of many rows is none of one.
  agree(graph("%x: f32[1,13,11,16], %z: f32[1,1,11,16]", "%y",
              convolution("f32", "[1,13,11,16]") + "%y: f32[1,13,11,16] = ADD(%c, %z)" + sum),
        0);
}

TEST(FastChains, PadsBeforeAndAdditionsBehind) {
  agree(graph("%x: f32[1,9,11,16], %z: f32[1,9,11,16]", "%y",
              "%a: i32[4,2] = const [0, 0, 1, 1, 1, 1, 0, 0]\n%p: f32[1,11,13,16] = PAD(%x, %a)\n"
              "%w: f32[16,3,3,16] = const seed 1 uniform -0.2 0.2\n%b: f32[16] = const splat 1\n"
              "%c: f32[1,9,11,16] = CONV_2D(%p, %w, %b) {padding=VALID, stride_w=1, stride_h=1, dilation_w_factor=1, "
              "dilation_h_factor=1, fused_activation_function=NONE}\n%y: f32[1,9,11,16] = ADD(%z, %c)" +
                  sum),
        1 + hasOwnConvolutions());
}

/// More weights than pixels: threads divide channels.
TEST(FastChains, WhereThreadsDivideChannels) {
  agree(graph("%x: f32[1,3,3,400], %z: f32[1,3,3,300]", "%y",
              "%w: f32[300,1,1,400] = const seed 1 uniform -0.1 0.1\n%b: f32[300] = const splat 1\n"
              "%c: f32[1,3,3,300] = CONV_2D(%x, %w, %b) {padding=VALID, stride_w=1, stride_h=1, dilation_w_factor=1, "
              "dilation_h_factor=1, fused_activation_function=NONE}\n%y: f32[1,3,3,300] = ADD(%c, %z)" +
                  sum),
        hasOwnConvolutions());
}

TEST(FastChains, OthersReadItToo) {
  const std::string conv = convolution("f32", "[1,13,11,16]"), in = "%x: f32[1,13,11,16], %z: f32[1,13,11,16]";
  for (const char *outputs : {"%y, %c", "%c, %y"})
    agree(graph(in, outputs, conv + "%y: f32[1,13,11,16] = ADD(%c, %z)" + sum), 0);
  agree(graph(in, "%y, %u", conv + "%y: f32[1,13,11,16] = ADD(%c, %z)" + sum + "%u: f32[1,13,11,16] = NEG(%c)\n"), 0);
  agree(graph(in, "%y", conv + "%y: f32[1,13,11,16] = ADD(%c, %c)" + sum), 0);
  agree(graph(in, "%y, %v",
              conv + "%v: f32[2,1144] = RESHAPE(%c, _) {new_shape=[2, 1144]}\n%y: f32[1,13,11,16] = ADD(%c, %z)" + sum),
        0);
}

/// What an operand was when the convolution read it may not be there when the addition runs.
TEST(FastChains, VariablesAreReadInTheirTurn) {
  agree(graph("%x: f32[1,3,2]", "%y, %z",
              "%s: f32[1,2] variable\n%v: f32[1,2] = NEG(%s)\n"
              "%w: f32[2,2] = const [1, 2, 3, 4]\n%b: f32[2] = const [0.1, 0.2]\n"
              "%z: f32[1,3,2] = UNIDIRECTIONAL_SEQUENCE_RNN(%x, %w, %w, %b, %s) {fused_activation_function=TANH}\n"
              "%y: f32[1,2] = ABS(%v)\n"),
        0);
}

/// The model's shapes are equal, those of the run are not.
TEST(FastChains, ShapesOfTheRun) {
  auto model = parse(graph("%x: f32[1?,13,11,16], %z: f32[1?,13,11,16]", "%y",
                           convolution("f32", "[1?,13,11,16]") + "%y: f32[1?,13,11,16] = ADD(%c, %z)" + sum));
  ASSERT_TRUE(model);
  auto reference = compile(*model), fast = compile(*model, fastOptions());
  ASSERT_TRUE(reference && fast);
  for (auto [x, z] : {std::pair(1, 1), std::pair(3, 3), std::pair(3, 1), std::pair(1, 3), std::pair(1, 1)}) {
    std::vector<float> numbers(static_cast<size_t>(3 * 13 * 11 * 16));
    for (size_t i = 0; i < numbers.size(); ++i)
      numbers[i] = static_cast<float>(i * 7919 % 1000) / 500 - 1;
    auto input = [&](int batch) {
      return floats({batch, 13, 11, 16}, llvm::ArrayRef(numbers).take_front(static_cast<size_t>(batch * 13 * 11 * 16)));
    };
    std::vector<TensorRef> inputs{input(x), input(z)};
    auto expected = runFloats(*reference, inputs), actual = runFloats(*fast, inputs);
    ASSERT_EQ(expected.size(), actual.size());
    ASSERT_EQ(expected.size(), static_cast<size_t>(std::max(x, z) * 13 * 11 * 16));
    for (size_t i = 0; i < expected.size(); ++i)
      ASSERT_NEAR(expected[i], actual[i], 1e-4f) << x << z << i;
  }
}

/// What takes long is told of the convolution, and everything once.
TEST(FastChains, TimesAreThoseOfTheFirst) {
  auto model = parse(graph("%x: f32[1,13,11,16], %z: f32[1,13,11,16]", "%y",
                           convolution("f32", "[1,13,11,16]") + "%a: f32[1,13,11,16] = ADD(%c, %z)" + sum +
                               "%y: f32[1,13,11,16] = RELU(%a)\n"));
  ASSERT_TRUE(model);
  auto session = compile(*model, fastOptions());
  ASSERT_TRUE(!!session);
  EXPECT_EQ(timesOf(*session, 1), (std::vector<std::string>{"CONV_2D+", hasOwnConvolutions() ? "ADD" : "ADD+",
                                                            "RELU"})); // XNNPACK's does not lead
}

/// Nine steps at a time.
TEST(FastChains, LongOnesAreTakenApart) {
  std::string body;
  for (int i = 0; i < 40; ++i)
    body += "%t" + std::to_string(i + 1) + ": f32[90,90] = NEG(%t" + std::to_string(i) + ")\n";
  agree(graph("%t0: f32[90,90]", "%t40", body), 4 * 8 + 3);
}

/// Graphs at random, of tensors that are all of one shape.
TEST(FastChains, RandomGraphs) {
  for (unsigned seed = 0; seed < 150; ++seed) {
    std::mt19937 random(seed);
    auto below = [&](size_t count) { return random() % count; };
    const std::string shape = seed % 3 ? "f32[1,9,7,16]" : "f32[2,40,9,16]";
    std::string body = "%k: f32[16] = const seed 3 uniform -1 1\n%n: f32[] = const splat 0.7\n";
    std::vector<std::string> tensors{"%x", "%z"};
    std::map<std::string, int> readers;
    auto any = [&] {
      std::string taken =
          tensors[below(3) ? tensors.size() - 1 - below(std::min<size_t>(3, tensors.size())) : below(tensors.size())];
      ++readers[taken];
      return taken;
    };
    for (int i = 0; i < 12; ++i) {
      std::string made = "%t" + std::to_string(i), w = std::to_string(i), op;
      switch (below(7)) {
      case 0:
      case 1: {
        bool depthwise = below(2);
        op = convolution("f32", shape.substr(3), below(2) ? "NONE" : "RELU6", depthwise);
        for (const char *name : {"%w", "%b"})
          for (size_t at = 0; (at = op.find(name, at)) != std::string::npos; at += 2 + w.size())
            op.replace(at, 2, name + w);
        op.replace(op.find("%c:"), 3, made + ":");
        op.replace(op.find("(%x,"), 4, "(" + any() + ",");
        break;
      }
      case 2:
        op = made + ": " + shape + " = " + (below(2) ? "NEG" : "HARD_SWISH") + "(" + any() + ")\n";
        break;
      case 3: {
        std::string x = any();
        op = made + ": " + shape + " = " + (below(2) ? "PRELU(" + x + ", %k)\n" : "MUL(%n, " + x + ")" + sum);
        break;
      }
      default: {
        std::string x = any(), y = any();
        op = made + ": " + shape + " = " + (below(3) ? "ADD" : "SUB") + "(" + x + ", " + y + ")" + sum;
      }
      }
      body += op;
      tensors.push_back(made);
    }
    std::string outputs;
    for (const std::string &name : llvm::drop_begin(tensors, 2))
      if (readers[name] == 0 || below(8) == 0)
        outputs += (outputs.empty() ? "" : ", ") + name;
    agree(graph("%x: " + shape + ", %z: " + shape, outputs, body), -1, 3e-5);
    if (testing::Test::HasFailure())
      break;
  }
}

} // namespace
