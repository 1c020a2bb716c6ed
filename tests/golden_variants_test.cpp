#include "ir/Verifier.h"
#include "ir/shapes/Inference.h"
#include "quantize/Calibrate.h"
#include "quantize/Summary.h"
#include "tests/GoldenCases.h"
#include "tests/Numerics.h"
#include "tests/Samples.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Regex.h"

#include "gtest/gtest.h"

#include <functional>
#include <set>

/// Each golden case as a model might have it as well: other users, another order of operands, other shapes of
/// constants, numbers that are none. A rewrite may decline then, or apply; the numbers stay, and so do the laws.

using namespace origo;
using namespace origo::test;
using llvm::StringRef;

namespace {

/// A model as lines of text: what is changed is changed there.
struct Text {
  std::vector<std::string> lines;
  std::string str() const { return llvm::join(lines, "\n") + "\n"; }
  /// The line of the first subgraph, and that of the brace behind it.
  size_t head() const {
    return llvm::find_if(lines, [](auto &l) { return StringRef(l).starts_with("subgraph @"); }) - lines.begin();
  }
  size_t end() const { return std::find(lines.begin(), lines.end(), "}") - lines.begin(); }
  /// Adds an operator to the first subgraph, whose result is an output.
  void addOutput(StringRef name, StringRef line) {
    lines.insert(lines.begin() + end(), line.str());
    addOutput(name);
  }
  void addOutput(StringRef name) {
    std::string &line = lines[head()];
    size_t close = line.rfind(") {");
    line.insert(close, line[close - 1] == '(' ? name.str() : ", " + name.str());
  }
  void addInput(StringRef text) {
    std::string &line = lines[head()];
    size_t open = line.find('(');
    line.insert(open + 1, text.str() + (line[open + 1] == ')' ? "" : ", "));
  }
};

using Found = llvm::SmallVector<StringRef>;

/// A change at the `place`th line of the first subgraph that matches; false: there are not so many.
struct Change {
  std::string name;
  std::function<bool(Text &, unsigned place)> apply;
};

/// Of lines in the first subgraph.
Change atLines(std::string name, std::string pattern, std::function<void(Text &, size_t line, Found found)> apply) {
  return {name, [=](Text &text, unsigned place) {
            llvm::Regex regex(pattern);
            for (size_t i = text.head() + 1; i < text.end(); ++i) {
              Found found;
              std::string line = text.lines[i]; // what is found stays while the text changes
              if (regex.match(line, &found) && place-- == 0) {
                apply(text, i, found);
                return true;
              }
            }
            return false;
          }};
}

/// The numbers of a constant `… = const [1, 2]`.
std::vector<std::string> numbersOf(StringRef list) {
  std::vector<std::string> numbers;
  for (StringRef number : llvm::split(list, ", "))
    numbers.push_back(number.str());
  return numbers;
}
std::string listed(llvm::ArrayRef<std::string> numbers) { return llvm::join(numbers, ", "); }

const char *const constantLine = R"(^  (%[^ ]+): (f32|i8|i32)\[([0-9,]*)\]( q\{.*\})? = const \[(.*)\]$)";
const char *const resultLine = R"(^  (%[^ ]+): (f32)\[([0-9,?]*)\] = [A-Z])";

/// `%a: f32[1,2]` as it is declared in the first line of a subgraph, or where an operator has it as its result.
using Declared = std::vector<std::pair<std::string, std::string>>;

Declared declaredIn(StringRef list) {
  Declared all;
  llvm::Regex one(R"(^(%[^ ]+): ([^%]*[^ ,%])(, (%.*))?$)");
  for (Found f; one.match(list, &f); list = f[4])
    all.emplace_back(f[1].str(), f[2].str());
  return all;
}

std::string namesOf(const Declared &list) {
  std::string names;
  for (const auto &[name, type] : list)
    names += ", " + name;
  return names;
}

/// Puts the only subgraph into an IF, whose choice is an input, or into a WHILE that takes two turns. False: it has
/// others, keeps state, or its results are not what a loop could begin with.
bool callFrom(Text &text, bool loops) {
  llvm::Regex regex(R"(^subgraph @([^ (]+)\((.*)\) -> \((.*)\) \{)");
  Found f, outputs;
  std::string head = text.lines[text.head()], all = text.str();
  if (all.find("subgraph @", all.find("subgraph @") + 1) != std::string::npos || !regex.match(head, &f) ||
      f[3].empty() || all.find(" variable") != std::string::npos)
    return false;
  Declared inputs = declaredIn(f[2]), results;
  f[3].split(outputs, ", ");
  for (auto [i, output] : llvm::enumerate(outputs)) {
    std::string place = ", " + output.str() + ": ";
    for (const std::string &line : text.lines) {
      std::string found = ", " + StringRef(line).ltrim().str();
      if (size_t at = found.find(place); at != std::string::npos && found.find(" = ") > at)
        results.emplace_back("%r" + std::to_string(i),
                             declaredIn(StringRef(found).substr(at + 2).split(" = ").first).front().second);
    }
  }
  if (results.size() != outputs.size())
    return false;
  std::string types;
  for (const auto &[name, type] : results)
    types += ", " + name + ": " + type;
  std::string name = f[1].str(), arguments = namesOf(inputs), given = (f[2].empty() ? "" : ", ") + f[2].str();
  std::vector<std::string> outer;
  if (!loops) {
    outer = {"subgraph @outer(%choice: bool[]" + given + ") -> (" + namesOf(results).substr(2) + ") {",
             "  " + types.substr(2) + " = IF(cond=%choice" + arguments + ") {then_subgraph_index=@" + name +
                 ", else_subgraph_index=@" + name + "}",
             "}"};
  } else {
    auto typeOf = [](const auto &one) { return one.second; };
    if (!llvm::equal(llvm::map_range(inputs, typeOf), llvm::map_range(results, typeOf)))
      return false;
    outer = {"subgraph @outer(" + f[2].str() + ") -> (" + namesOf(results).substr(2) + ") {",
             "  %zero: i32[1] = const [0]",
             "  %turns: i32[1]" + types + " = WHILE(%zero" + arguments +
                 ") {cond_subgraph_index=@more, body_subgraph_index=@" + name + "}",
             "}",
             "subgraph @more(%turn: i32[1]" + given + ") -> (%go) {",
             "  %two: i32[1] = const [2]",
             "  %go: bool[1] = LESS(x=%turn, y=%two)",
             "}"};
    text.lines[text.head()] = "subgraph @" + name + "(%turn: i32[1]" + given + ") -> (%next, " + f[3].str() + ") {";
    text.lines.insert(text.lines.begin() + text.head() + 1, "  %next: i32[1] = ADD(x=%turn, y=%step)");
    text.lines.insert(text.lines.begin() + text.head() + 1, "  %step: i32[1] = const [1]");
  }
  text.lines.insert(text.lines.begin() + text.head(), outer.begin(), outer.end());
  return true;
}

std::vector<Change> changes() {
  std::vector<Change> all;
  auto add = [&](Change change) { all.push_back(std::move(change)); };
  add({"as it is", [](Text &, unsigned place) { return place == 0; }});
  add(atLines("another user", resultLine, [](Text &text, size_t, Found f) {
    text.addOutput("%also", ("  %also: f32[" + f[3] + "] = NEG(x=" + f[1] + ")").str());
  }));
  add(atLines("an output of the graph", resultLine, [](Text &text, size_t, Found f) { text.addOutput(f[1]); }));
  add({"outputs of a signature", [](Text &text, unsigned place) {
         std::string line = text.lines[text.head()];
         size_t arrow = line.find(" -> (");
         Found outputs;
         StringRef(line).substr(arrow + 5).rsplit(") {").first.split(outputs, ", ");
         std::string entries;
         for (auto [i, output] : llvm::enumerate(outputs))
           entries += (i ? ", \"o" : "\"o") + std::to_string(i) + "\"=" + output.str();
         std::string graph = line.substr(9, line.find('(') - 9);
         text.lines.push_back("signature \"s\" " + graph + " inputs() outputs(" + entries + ")");
         return place == 0;
       }});
  add(atLines("operands the other way round", R"(= (ADD|MUL|MAXIMUM|MINIMUM)\(x=(%[^ ,)]+), y=(%[^ ,)]+)\))",
              [](Text &text, size_t i, Found f) {
                std::string &line = text.lines[i];
                line.replace(line.find("(x="), f[2].size() + f[3].size() + 8,
                             ("(x=" + f[3] + ", y=" + f[2] + ")").str());
              }));
  add(atLines("the same operand twice", R"(^(.*= [A-Z_0-9]+\([a-z_]*=?(%[^ ,)]+), [a-z_]*=?)(%[^ ,)]+)(.*)$)",
              [](Text &text, size_t i, Found f) { text.lines[i] = (f[1] + f[2] + f[4]).str(); }));
  for (StringRef activation : {"RELU", "RELU6", "RELU_N1_TO_1", "TANH"})
    add(atLines(
        "fused " + activation.str(),
        R"(= (ADD|MUL|SUB|DIV|CONV_2D|DEPTHWISE_CONV_2D|FULLY_CONNECTED|TRANSPOSE_CONV|MAX_POOL_2D|CONCATENATION)\(.*\))",
        [activation](Text &text, size_t i, Found) {
          std::string &line = text.lines[i], option = "fused_activation_function=" + activation.str();
          size_t known = line.find("fused_activation_function=");
          if (known != std::string::npos)
            line.replace(known, line.find_first_of(",}", known) - known, option);
          else if (line.back() == '}')
            line.insert(line.size() - 1, ", " + option);
          else
            line += " {" + option + "}";
        }));
  // Constants of one number, of one for each channel, and of the rank that they are broadcast to.
  for (StringRef shape : {"", "1", "1,1", "1,1,1,1"})
    add(atLines("a single number as [" + shape.str() + "]", R"(^  %[^ ]+: f32\[(1,)*1?\] = const)",
                [shape](Text &text, size_t i, Found) {
                  std::string &line = text.lines[i];
                  size_t open = line.find('[');
                  line.replace(open + 1, line.find(']') - open - 1, shape);
                }));
  for (StringRef ones : {"1,", "1,1,", "1,1,1,"})
    add(atLines("a vector as [" + ones.str() + "C]", R"(^  %[^ ]+: f32\[[0-9]+\] = const)",
                [ones](Text &text, size_t i, Found) { text.lines[i].insert(text.lines[i].find('[') + 1, ones); }));
  add(atLines("one number for all", constantLine, [](Text &text, size_t i, Found f) {
    text.lines[i] = ("  " + f[1] + ": " + f[2] + "[]" + f[4] + " = const [" + numbersOf(f[5]).front() + "]").str();
  }));
  add(atLines("a constant that others use as well", constantLine, [](Text &text, size_t, Found f) {
    if (f[2] != "f32")
      return;
    text.addInput(("%more: f32[" + f[3] + "]").str());
    text.addOutput("%shared", ("  %shared: f32[" + f[3] + "] = SUB(x=%more, y=" + f[1] + ")").str());
  }));
  add({"equal constants are one", [](Text &text, unsigned place) {
         std::map<std::string, std::string> first;
         std::string all = text.str();
         llvm::Regex regex(constantLine);
         for (const std::string &line : text.lines) {
           Found f;
           if (!regex.match(line, &f))
             continue;
           auto [known, isNew] = first.try_emplace((f[2] + "[" + f[3] + "]" + f[4]).str(), f[1].str());
           for (size_t at = 0; !isNew && (at = all.find("=" + f[1].str(), at)) != std::string::npos; ++at)
             if (StringRef(",) ").contains(all[at + 1 + f[1].size()]))
               all.replace(at + 1, f[1].size(), known->second);
         }
         bool changed = all != text.str();
         text.lines.clear();
         for (StringRef line : llvm::split(StringRef(all).drop_back(), '\n'))
           text.lines.push_back(line.str());
         return changed && place == 0;
       }});
  for (StringRef number : {"nan", "inf", "-inf", "-0.0", "3e38", "-3e38", "1e-40", "0"})
    add(atLines("a " + number.str() + " among its numbers", R"(^  %[^ ]+: f32\[[0-9,]*\] = const \[)",
                [number](Text &text, size_t i, Found) {
                  std::string &line = text.lines[i];
                  size_t open = line.rfind('[');
                  line.replace(open + 1, line.find_first_of(",]", open) - open - 1, number);
                }));
  add(atLines("transposed weights", R"(^  (%[^ ]+): f32\[([0-9]+),([0-9]+)\] = const \[(.*)\]$)",
              [](Text &text, size_t i, Found f) {
                std::vector<std::string> numbers = numbersOf(f[4]), turned;
                size_t rows = 0, columns = 0;
                f[2].getAsInteger(10, rows);
                f[3].getAsInteger(10, columns);
                for (size_t c = 0; c < columns; ++c)
                  for (size_t r = 0; r < rows && r * columns + c < numbers.size(); ++r)
                    turned.push_back(numbers[r * columns + c]);
                text.lines[i] = ("  %turn: i32[2] = const [1, 0]\n  %turned: f32[" + f[3] + "," + f[2] + "] = const [" +
                                 listed(turned) + "]\n  " + f[1] + ": f32[" + f[2] + "," + f[3] +
                                 "] = TRANSPOSE(a=%turned, perm=%turn)")
                                    .str();
              }));
  auto option = [&](std::string name, std::string ops, std::string text) {
    add(atLines(name, "= (" + ops + ")\\(", [text](Text &all, size_t i, Found) {
      std::string &line = all.lines[i];
      StringRef key = StringRef(text).split('=').first;
      size_t known = line.find(key.str() + "=");
      known =
          known == std::string::npos || line[known - 1] == '{' || line[known - 1] == ' ' ? known : std::string::npos;
      if (known != std::string::npos && known > line.rfind('{'))
        line.replace(known, line.find_first_of(",}", known) - known, text);
      else if (line.back() == '}')
        line.insert(line.size() - 1, ", " + text);
      else
        line += " {" + text + "}";
    }));
  };
  const std::string convolutions = "CONV_2D|DEPTHWISE_CONV_2D|TRANSPOSE_CONV|MAX_POOL_2D|AVERAGE_POOL_2D";
  option("SAME", convolutions, "padding=SAME");
  option("VALID", convolutions, "padding=VALID");
  option("a stride", convolutions, "stride_w=2");
  option("dilation", "CONV_2D|DEPTHWISE_CONV_2D", "dilation_h_factor=2");
  option("kept dimensions", "FULLY_CONNECTED", "keep_num_dims=true");
  option("dimensions that go", "MEAN|SUM|REDUCE_MAX", "keep_dims=false");
  add(atLines("groups", R"(^  (%[^ ]+): f32\[([0-9]+),([0-9]+),([0-9]+),([0-9]*[02468])\] = const \[(.*)\]$)",
              [](Text &text, size_t i, Found f) {
                std::vector<std::string> numbers = numbersOf(f[6]);
                numbers.resize(numbers.size() / 2);
                unsigned depth = 0;
                f[5].getAsInteger(10, depth);
                text.lines[i] = ("  " + f[1] + ": f32[" + f[2] + "," + f[3] + "," + f[4] + "," +
                                 std::to_string(depth / 2) + "] = const [" + listed(numbers) + "]")
                                    .str();
              }));
  // All constants whose last dimension is the filter's are twice as long.
  add({"a multiplier of channels", [](Text &text, unsigned place) {
         llvm::Regex depthwise(R"(= DEPTHWISE_CONV_2D\(input=%[^ ,]+, filter=(%[^ ,)]+))"), regex(constantLine);
         Found f;
         std::string filter, last;
         for (std::string line : text.lines)
           if (depthwise.match(line, &f))
             filter = f[1].str();
         for (std::string line : text.lines)
           if (regex.match(line, &f) && f[1] == filter)
             last = f[3].rsplit(',').second.str();
         for (std::string &line : text.lines) {
           std::string copy = line;
           if (last.empty() || !regex.match(copy, &f) || (f[3].contains(',') ? f[3].rsplit(',').second : f[3]) != last)
             continue;
           std::vector<std::string> numbers = numbersOf(f[5]), twice;
           unsigned channels = std::stoul(last);
           for (size_t at = 0; at < numbers.size(); ++at)
             twice.insert(twice.end(), 2, numbers[at]);
           std::string shape = f[3].contains(',') ? f[3].rsplit(',').first.str() + "," : "";
           line = ("  " + f[1] + ": " + f[2] + "[" + shape + std::to_string(2 * channels) + "]" + f[4] + " = const [" +
                   listed(twice) + "]")
                      .str();
         }
         return !last.empty() && place == 0;
       }});
  // The first dimension of what is computed.
  for (bool empty : {false, true})
    add({empty ? "no elements" : "a dimension that a run tells", [empty](Text &text, unsigned place) {
           std::string &head = text.lines[text.head()];
           llvm::Regex regex(R"((.*\(|.*, )(%[^ ]+): (f32|i8|u8|i32)\[([0-9]+)(,.*|\].*))");
           Found f;
           std::string copy = head;
           if (!regex.match(copy, &f))
             return false;
           if (text.str().find("subgraph @", text.str().find("subgraph @") + 1) != std::string::npos)
             return false; // the shapes in what is called would have to follow
           head = (f[1] + f[2] + ": " + f[3] + "[" + (empty ? "0" : f[4] + "?") + f[5]).str();
           return place == 0;
         }});
  for (bool loops : {false, true})
    add({loops ? "the body of a WHILE" : "the body of an IF",
         [loops](Text &text, unsigned place) { return place == 0 && callFrom(text, loops); }});
  return all;
}

/// Gives results the shapes that follow from their operands, as far as these tell. False: the operands do not fit.
bool infer(Model &model) {
  for (auto &graph : model.subgraphs)
    for (Operator &op : graph->operators) {
      auto types = inferResults(op);
      if (!types) {
        llvm::consumeError(types.takeError());
        return false;
      }
      for (auto [value, type] : llvm::zip(op.results(), *types)) {
        if (!value)
          continue;
        if (!type.rankKnown || value->type != type.type)
          return false;
        value->shape = type.shape;
        value->hasRank |= value->shape.empty(); // else a scalar is a tensor of unknown rank
        value->setShapeSignature({});
        if (llvm::is_contained(value->shape, -1)) {
          value->setShapeSignature(model.copy(llvm::ArrayRef<int32_t>(value->shape)));
          value->shape.unknownToOne();
        }
      }
    }
  return true;
}

std::unique_ptr<Model> modelOf(const std::string &text, PayloadStore &store) {
  auto model = parseText(text, goldenFolder(), store);
  if (!model) {
    llvm::consumeError(model.takeError());
    return nullptr;
  }
  if (!infer(**model))
    return nullptr;
  (*model)->becomeSource();
  return verify(**model).empty() ? std::move(*model) : nullptr;
}

struct Counts {
  unsigned models = 0, fired = 0;
};

/// The same numbers, but where sums or products of the source leave the range of floats: in another order they may stay
/// in it. `either`: or where those of the result do, as passes say of themselves: a NaN may become something else where
/// a clamp is recognised, and a power of minus infinity where a root is.
void expectSameFiniteNumbers(Model &before, Model &after, bool either) {
  auto baseline = eval::Baseline::of(before, {1});
  auto comparison = baseline ? baseline->compare(after) : llvm::Expected<eval::Comparison>(baseline.takeError());
  if (!comparison)
    return llvm::consumeError(comparison.takeError());
  for (const eval::Deviation &deviation : comparison->deviations)
    if (!llvm::Regex("instead of -?(nan|inf)").match(deviation.text) &&
        !(either && llvm::Regex("-?(nan|inf) instead of").match(deviation.text)))
      ADD_FAILURE() << describe(deviation);
}

/// One model before and after the passes of its case.
void tryVariant(const std::string &text, const Pipeline &pipeline, Counts &counts, NumericTally &tally,
                const Pipeline *before = nullptr, StringRef change = {}) {
  PayloadStore store;
  std::unique_ptr<Model> source = modelOf(text, store), result = modelOf(text, store);
  if (!source || !result)
    return;
  PipelineOptions run;
  run.verifyEach = true;
  for (Model *model : {source.get(), result.get()})
    if (before) {
      if (llvm::Error error = runPipeline(*model, *before, store, run))
        return llvm::consumeError(std::move(error));
      model->becomeSource();
    }
  uint32_t earlier = result->rewrites;
  if (llvm::Error error = runPipeline(*result, pipeline, store, run)) {
    ADD_FAILURE() << llvm::toString(std::move(error));
    return;
  }
  ++counts.models;
  if (result->rewrites == earlier)
    return;
  ++counts.fired;
  for (const std::string &violation : verify(*result))
    ADD_FAILURE() << violation;
  // Codes of other numbers stand for another matrix.
  bool recodes = change.contains("number") || change.contains("equal constants");
  if (changesNumbers(pipeline) ||
      (recodes && llvm::any_of(pipeline.entries, [](const auto &entry) { return entry.pass->usesCodes; })))
    return;
  dropCodeOutputs(*source, pipeline);
  bool hasRoots =
      llvm::any_of(pipeline.entries, [](const auto &entry) { return entry.pass->name == "recognise-powers"; });
  bool either = change.contains("nan") || (hasRoots && change.contains("-inf"));
  if (either || change.contains("3e38"))
    expectSameFiniteNumbers(*source, *result, either);
  else
    expectSameNumbers(*source, *result, tally, {1});
}

/// What stores a model as integers, or its constants as other floats.
std::vector<std::pair<std::string, Pipeline>> schemes() {
  using namespace quantize;
  std::vector<std::pair<std::string, Pipeline>> all;
  auto add = [&](const char *name, auto change) {
    Scheme scheme;
    change(scheme);
    all.emplace_back(
        name, Pipeline::quantization([scheme](Model &model) -> llvm::Expected<StoragePlan> {
          if (scheme.needsRanges()) {
            auto statistics = calibrate(model, threeRecords, {});
            if (!statistics)
              return statistics.takeError();
            std::vector<std::string> silent;
            if (llvm::Error error = setRanges(model, *statistics, {{Summary::Mode::Percentile, 0, 100}}, silent))
              return error;
          }
          return planBy(scheme)(model);
        }));
  };
  auto full = [](TensorType type, TensorType bias, bool perChannel, bool ends) {
    return [=](Scheme &scheme) {
      scheme.common.activations = type;
      scheme.common.weights = type == TensorType::UINT8 ? type : TensorType::INT8;
      scheme.common.bias = bias;
      scheme.common.perChannel = perChannel;
      if (ends)
        scheme.inputs = scheme.outputs = {type};
    };
  };
  add("weights of 8 bits", [](Scheme &scheme) { scheme.common.mode = Scheme::Mode::Weights; });
  add("weights of 16 bits", [](Scheme &scheme) { scheme.common.mode = Scheme::Mode::Float16; });
  add("int8", full(TensorType::INT8, TensorType::INT32, true, false));
  add("int8 at its ends too", full(TensorType::INT8, TensorType::INT32, true, true));
  add("int8 with one scale a tensor", full(TensorType::INT8, TensorType::INT32, false, true));
  add("uint8", full(TensorType::UINT8, TensorType::INT32, false, true));
  add("int16", full(TensorType::INT16, TensorType::INT64, true, true));
  return all;
}

TEST(GoldenVariants, NumbersAndLawsHold) {
  const std::vector<Change> all = changes();
  std::map<std::string, Counts> counts;
  NumericTally tally;
  const auto stored = schemes();
  // With which changes models are stored otherwise as well.
  const std::set<StringRef> alsoStored = {"as it is", "a multiplier of channels", "groups", "a stride"};
  unsigned mostPlaces = thorough() ? 64 : 1;
  for (const std::string &file : goldenFiles()) {
    auto buffer = llvm::MemoryBuffer::getFile(goldenFolder() + "/" + file + ".txt");
    ASSERT_TRUE(bool(buffer));
    for (const auto &[number, item] : llvm::enumerate(readCases((*buffer)->getBuffer()))) {
      auto pipeline = pipelineOf(item);
      PayloadStore store;
      auto model = parseText(item.input, goldenFolder(), store);
      if (!pipeline || !model || pipeline->plan || !notExecuted(item).empty()) {
        llvm::consumeError(pipeline.takeError());
        llvm::consumeError(model.takeError());
        continue;
      }
      std::string printedOnce;
      llvm::raw_string_ostream os(printedOnce);
      PrintOptions print;
      print.layout = false;
      print.inlineBytes = 1024;
      printText(**model, os, print);
      Text original;
      for (StringRef line : llvm::split(StringRef(printedOnce).drop_back(), '\n'))
        original.lines.push_back(line.str());
      if (original.head() == original.lines.size())
        continue;
      for (const Change &change : all)
        for (unsigned place = 0; place < mostPlaces; ++place) {
          Text text = original;
          if (!change.apply(text, place))
            break;
          SCOPED_TRACE(file + ", case " + std::to_string(number + 1) + ", " + change.name + " (" +
                       std::to_string(place) + "), " + item.run + "\n" + text.str());
          tryVariant(text.str(), *pipeline, counts[change.name], tally, nullptr, change.name);
          if (place > 0 || (!thorough() && !alsoStored.contains(change.name)))
            continue;
          for (const auto &[name, scheme] : stored) {
            SCOPED_TRACE(name);
            tryVariant(text.str(), *pipeline, counts[name], tally, &scheme, change.name);
          }
        }
    }
  }
  for (const auto &[name, each] : counts)
    llvm::outs() << name << ": " << each.models << " models, rewrites in " << each.fired << '\n';
  tally.print("variants");
  for (const Change &change : all)
    EXPECT_GE(counts[change.name].fired, 1u) << change.name;
  for (const auto &[name, scheme] : stored)
    EXPECT_GE(counts[name].fired, 10u) << name;
  EXPECT_GE(tally.executed, 1000u);
}

} // namespace
