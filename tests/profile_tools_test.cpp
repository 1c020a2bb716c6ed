#include "tests/Written.h"

#include "origin/Fingerprint.h"

#include "llvm/ADT/StringExtras.h"

using namespace origo;
using namespace origo::report;
using namespace origo::test;

namespace {

/// Convolutions in the order of MobileNet v1, each with a fused activation, with small shapes.
Written mobilenetV1() {
  std::string text =
      "origo 1\nmodel circle\nsubgraph @main(%x: f32[1,4,4,2]) -> (%y) {\n"
      "  %w: f32[2,1,1,2] = const splat 0.5\n  %d: f32[1,1,1,2] = const splat 0.5\n  %b: f32[2] = const splat 0\n"
      "  %shape: i32[2] = const [1,2]\n";
  std::string before = "%x";
  for (unsigned i = 0; i < 27; ++i) {
    std::string name = "%c" + std::to_string(i);
    text += "  " + name + ": f32[1,4,4,2] = " +
            (i % 2 ? "DEPTHWISE_CONV_2D(" + before + ", %d, %b) {depth_multiplier=1, "
                   : "CONV_2D(" + before + ", %w, %b) {") +
            "stride_w=1, stride_h=1, fused_activation_function=RELU6}\n";
    before = name;
  }
  text += "  %p: f32[1,1,1,2] = AVERAGE_POOL_2D(" + before +
          ") {stride_w=1, stride_h=1, filter_width=4, filter_height=4, padding=VALID}\n"
          "  %l: f32[1,1,1,2] = CONV_2D(%p, %w, %b) {stride_w=1, stride_h=1}\n"
          "  %r: f32[1,2] = RESHAPE(%l, %shape)\n  %y: f32[1,2] = SOFTMAX(%r) {beta=1}\n}\n";
  return Written(text, false);
}

TEST(ProfileFormats, ArmNnHasARowForAFusedActivation) {
  static const Written model = mobilenetV1();
  Join join = model.join(sampleProfile("real/armnn.mobilenet_v1.json"));
  EXPECT_EQ(count(join, Match::Aligned), 58);
  EXPECT_EQ(join.unattributed, 0u);
  std::map<uint32_t, std::string> kinds;
  for (const JoinedRow &row : join.rows)
    if (row.match == Match::Aligned)
      kinds[row.operators[0]] += row.row.kind.str() + " ";
  ASSERT_EQ(kinds.size(), 31u);
  EXPECT_EQ(kinds[0], "Convolution2d Activation ");
  EXPECT_EQ(kinds[1], "DepthwiseConvolution2d Activation ");
  EXPECT_EQ(kinds[27], "Pooling2d ");
  EXPECT_EQ(kinds[28], "Convolution2d ");
  EXPECT_EQ(kinds[29], "ReshapeWorkload ");
  EXPECT_EQ(kinds[30], "Softmax ");
}

/// A run of workloads as Arm NN prints it, each a microsecond longer than the one before.
std::string armNn(llvm::ArrayRef<const char *> workloads) {
  std::string text = R"({"ArmNN": {"Execute_#1": {"type": "Event")";
  for (unsigned i = 2; const char *name : workloads) {
    std::string number = "_#" + std::to_string(i);
    text += std::string(", \"Ref") + name + "Workload_Execute" + number + R"(": {"type": "Event", "Wall clock time)" +
            number + R"(": {"type": "Measurement", "unit": "us", "raw": [)" + std::to_string(i++) + "]}}";
  }
  return text + "}}}";
}

TEST(ProfileFormats, ArmNnRunsByLevels) {
  // Two ways, of which the first one's layers are listed before the other's, and a fused activation at the level
  // behind.
  static const Written model(R"(origo 1
model circle
subgraph @main(%x: f32[1,4,4,2]) -> (%y) {
  %w: f32[2,1,1,2] = const splat 0.5
  %d: f32[1,1,1,2] = const splat 0.5
  %b: f32[2] = const splat 0
  %p: f32[1,4,4,2] = CONV_2D(%x, %w, %b) {stride_w=1, stride_h=1, fused_activation_function=RELU}
  %q: f32[1,4,4,2] = MAX_POOL_2D(%p) {stride_w=1, stride_h=1, filter_width=1, filter_height=1}
  %r: f32[1,4,4,2] = DEPTHWISE_CONV_2D(%x, %d, %b) {depth_multiplier=1, stride_w=1, stride_h=1}
  %y: f32[1,4,4,2] = ADD(%q, %r)
}
)",
                             false);
  Join join = model.join(
      armNn({"Constant", "Convolution2d", "DepthwiseConvolution2d", "Reshape", "Activation", "Pooling2d", "Addition"}));
  std::map<std::string, std::vector<uint32_t>> places;
  for (const JoinedRow &row : join.rows)
    places[row.row.kind.str()] = row.operators;
  std::map<std::string, std::vector<uint32_t>> expected{
      {"", {}},           {"Activation", {0}},    {"Addition", {3}},
      {"Constant", {}},   {"Convolution2d", {0}}, {"DepthwiseConvolution2d", {2}},
      {"Pooling2d", {1}}, {"ReshapeWorkload", {}}};
  if (!join.rows.empty() && !places.count(""))
    expected.erase("");
  EXPECT_EQ(places, expected);
}

TEST(ProfileFormats, OnnxRuntimeNamesResultsOfTheSource) {
  static const Written model(R"(origo 1
model circle
subgraph @main(%x: f32[1,4,4,2]) -> (%y) {
  %w: f32[2,1,1,2] = const seed 1 normal 0 1
  %b: f32[2] = const splat 0
  %c: f32[1,4,4,2] = CONV_2D(%x, %w, %b) {stride_w=1, stride_h=1}
  %r: f32[1,4,4,2] = RELU(%c)
  %y: f32[1,4,4,2] = SIN(%r)
}
)");
  auto event = [](const char *name, const char *type, unsigned begin, unsigned time) {
    return "{\"cat\": \"Node\", \"ph\": \"X\", \"pid\": 1, \"tid\": 1, \"name\": \"" + std::string(name) +
           "_kernel_time\", \"ts\": " + std::to_string(begin) + ", \"dur\": " + std::to_string(time) +
           ", \"args\": {\"op_name\": \"" + type + "\"}}";
  };
  // The events of what runs within another one are written first.
  std::string text = "[" + event("c", "Conv", 10, 7) + ", " + event("inner", "Sin", 20, 40) + ", " +
                     event("outer", "If", 20, 100) + ", " + event("y", "Sin", 120, 3) + "]";
  JoinOptions how;
  how.map = &*model.file.map;
  Join join = model.join(text, how);
  EXPECT_EQ(join.total, 110'000u);
  EXPECT_EQ(rowOf(join, "outer")->ns, 60'000u);
  EXPECT_EQ(rowOf(join, "inner")->ns, 40'000u);
  // There is no such tensor any more, but it is known where its operator went.
  EXPECT_EQ(rowOf(join, "c")->operators, std::vector<uint32_t>{0});
  EXPECT_EQ(rowOf(join, "c")->match, Match::Tensor);
  EXPECT_NE(rowOf(model.join(text), "c")->match, Match::Tensor);
}

TEST(ProfileFormats, OnnxRuntimeFindsNamesThatItWroteIntoTheFile) {
  // A file that it optimised and saved has its additions in the names of nodes.
  static const Written model(R"(origo 1
model circle
subgraph @main(%x: f32[1,4]) -> (%y) {
  %a: f32[1,4] = SIN(%x)
  %y: f32[1,4] = COS(%a)
}
)");
  origin::OriginMap map = *model.file.map;
  auto layer = std::make_shared<origin::SourceLayer>();
  layer->name = "fused gemm";
  map.source.subgraphs[0].operators[1].layer = layer;
  JoinOptions how;
  how.map = &map;
  Join join = model.join(R"([{"cat": "Node", "ph": "X", "pid": 1, "tid": 1, "name": "fused gemm_kernel_time", "ts": 1,
                              "dur": 5, "args": {"op_name": "Cos"}}])",
                         how);
  EXPECT_EQ(rowOf(join, "fused gemm")->match, Match::Exact);
  EXPECT_EQ(rowOf(join, "fused gemm")->operators, std::vector<uint32_t>{1});
}

TEST(ProfileFormats, OnnxRuntimeByNameAndByOrder) {
  // With the names that a converter kept of some outputs.
  static const Written model(R"(origo 1
model circle
subgraph @main(%x: f32[1,1960]) -> (%"StatefulPartitionedCall:0") {
  %s0: i32[4] = const [1,49,40,1]
  %w0: f32[16,8,8,1] = const splat 0.5
  %w1: f32[12,4,4,16] = const splat 0.5
  %b0: f32[16] = const splat 0
  %b1: f32[12] = const splat 0
  %w2: f32[16,4,4,12] = const splat 0.5
  %s1: i32[2] = const [1,480]
  %v0: f32[32,480] = const splat 0.5
  %v1: f32[16,32] = const splat 0.5
  %v2: f32[10,16] = const splat 0.5
  %r0: f32[1,49,40,1] = RESHAPE(%x, %s0)
  %"Relu__5:0": f32[1,49,40,16] = CONV_2D(%r0, %w0, %b0) {stride_w=1, stride_h=1, fused_activation_function=RELU}
  %m0: f32[1,24,20,16] = MAX_POOL_2D(%"Relu__5:0") {stride_w=2, stride_h=2, filter_width=2, filter_height=2, padding=VALID}
  %"Relu__8:0": f32[1,24,20,12] = CONV_2D(%m0, %w1, %b1) {stride_w=1, stride_h=1, fused_activation_function=RELU}
  %m1: f32[1,12,10,12] = AVERAGE_POOL_2D(%"Relu__8:0") {stride_w=2, stride_h=2, filter_width=2, filter_height=2, padding=VALID}
  %c2: f32[1,12,10,16] = CONV_2D(%m1, %w2, %b0) {stride_w=1, stride_h=1, fused_activation_function=RELU}
  %m2: f32[1,6,5,16] = AVERAGE_POOL_2D(%c2) {stride_w=2, stride_h=2, filter_width=2, filter_height=2, padding=VALID}
  %r1: f32[1,480] = RESHAPE(%m2, %s1)
  %d0: f32[1,32] = FULLY_CONNECTED(%r1, %v0) {fused_activation_function=RELU}
  %d1: f32[1,16] = FULLY_CONNECTED(%d0, %v1) {fused_activation_function=RELU}
  %d2: f32[1,10] = FULLY_CONNECTED(%d1, %v2)
  %"StatefulPartitionedCall:0": f32[1,10] = SOFTMAX(%d2) {beta=1}
}
)",
                             false);
  Join join = model.join(sampleProfile("real/onnxruntime.kws.json"));
  std::map<uint32_t, std::string> rows;
  for (const JoinedRow &row : join.rows)
    if (!row.operators.empty())
      rows[row.operators[0]] += row.row.kind.str() + " " + matchName(row.match) + ";";
  std::map<uint32_t, std::string> expected{
      {0, "Reshape aligned;"},     {1, "Conv tensor;"},       {2, "MaxPool aligned;"},     {3, "Conv tensor;"},
      {4, "AveragePool aligned;"}, {5, "Conv aligned;"},      {6, "AveragePool aligned;"}, {7, "Reshape aligned;"},
      {8, "FusedGemm aligned;"},   {9, "FusedGemm aligned;"}, {10, "Gemm aligned;"},       {11, "Softmax tensor;"}};
  EXPECT_EQ(rows, expected);
  // What the runtime puts in between is nobody's.
  const JoinedRow *reorder = rowOf(join, "ReorderOutput");
  ASSERT_TRUE(reorder);
  EXPECT_EQ(reorder->match, Match::None);
  EXPECT_EQ(reorder->row.count, 2u);
}

TEST(ProfileFormats, PerfByKernels) {
  JoinOptions how;
  KernelTable &table = how.kernels.emplace();
  table.fingerprint = "sha256:" + origin::hex(Written::digits().target().fingerprint);
  for (uint32_t k = 0; k < 5; ++k)
    table.kernels.push_back({k, "OP", k * 100, 1, 0, {k}, false});
  for (const char *file : {"real/perf-script.digits.txt", "real/perf-report.digits.txt", "callgrind.out"}) {
    Join join = Written::digits().join(sampleProfile(file), how);
    for (const JoinedRow &row : join.rows) {
      llvm::StringRef name = row.row.rawName;
      bool kernel = name.consume_front("kernel_");
      EXPECT_EQ(row.match, kernel ? Match::Exact : Match::None) << file;
      if (kernel && !row.operators.empty()) {
        EXPECT_EQ(std::to_string(row.operators[0]), name.split('.').first.str());
      }
    }
    EXPECT_GT(join.attributed, join.total - join.total / 10) << file;
    EXPECT_TRUE(Written::digits().join(sampleProfile(file)).foreign) << file; // without the table
  }
  EXPECT_EQ(Written::digits().join(sampleProfile("real/perf-script.digits.txt"), how).total, 100'000'000u);
  // With the stack of each sample, of which the innermost function counts; a generated function may have a layer's
  // name.
  Join named = Written::digits().join("a b  7 1.5:  9 cpu-clock:u: \n\t  12 scores+0x4 (/x)\n\t  34 main+0x8 (/x)\n\n");
  ASSERT_EQ(named.rows.size(), 1u);
  EXPECT_EQ(named.rows[0].match, Match::Tensor);
  EXPECT_EQ(named.total, 9u);
}

TEST(ProfileFormats, TracedPerfByKernels) {
  JoinOptions how;
  KernelTable &table = how.kernels.emplace();
  table.fingerprint = "sha256:" + origin::hex(Written::digits().target().fingerprint);
  for (const char *name : {"stem", "block/conv", "block/add", "flat", "classes"}) {
    auto k = static_cast<uint32_t>(table.kernels.size());
    table.kernels.push_back({k, name, k, 1, 0, {k}, false});
  }
  std::string trace = sampleProfile("traced_perf.pftrace");
  auto read = [&](const Join &join) {
    std::string text;
    for (const JoinedRow &row : join.rows)
      text += row.row.rawName.str() + " " + std::to_string(row.row.count) + " " + std::to_string(row.row.value) + " " +
              (row.operators.empty() ? "-" : std::to_string(row.operators[0])) + "\n";
    return text;
  };
  // The innermost functions; what a number means is another thing behind the place where the sequence begins anew.
  EXPECT_EQ(read(Written::digits().join(trace, how)),
            "stem 5 5000000 0\nblock/conv 6 6000000 1\nmain 1 1000000 -\n"
            "block/add 1 1000000 2\n[unknown] 2 2000000 -\nclasses 2 2000000 4\n");
  auto profile = llvm::cantFail(readProfile(trace));
  ASSERT_EQ(profile.notes.size(), 2u);
  EXPECT_EQ(profile.notes[0], "the trace has samples, by which its 1 kinds of slices are left out");
  EXPECT_EQ(profile.notes[1], "2 packets tell of samples that were lost");
  // A period in nanoseconds, of the clock of the task; every thousandth cycle; an event of the kernel; nothing said.
  auto other = [&](llvm::StringRef timebase) {
    std::string text = trace;
    const std::string usual("\x10\xe8\x07\x20\x01", 5);
    for (size_t at; (at = text.find(usual)) != std::string::npos;)
      text.replace(at, usual.size(), timebase);
    return text;
  };
  for (auto [timebase, first, metric] :
       {std::tuple("\x08\xe8\x07\x20\x03", 5000u, "time"), std::tuple("\x08\xe8\x07\x20\x0a", 5000u, "cycles"),
        std::tuple("\x10\xe8\x07\x18\x01", 5u, "cycles"), std::tuple("\x50\xe8\x07\x20\x01", 5u, "cycles")}) {
    Join join = Written::digits().join(other(timebase), how);
    ASSERT_EQ(join.rows.size(), 6u);
    EXPECT_EQ(join.rows[0].row.value, first);
    EXPECT_EQ(join.rows[5].row.metric, metric);
  }
  EXPECT_NE(errorOf(trace + other("\x08\xe8\x07\x20\x0a")).find("samples of several events"), std::string::npos);
  for (size_t length = 0; length < trace.size(); ++length)
    llvm::consumeError(readProfile(llvm::StringRef(trace).take_front(length)).takeError());
}

// Composed after the protocol: no tool at hand writes it.
TEST(ProfileFormats, SampledStacksOfChromiumLastUntilTheNextOne) {
  auto varint = [](uint64_t value) {
    std::string bytes;
    for (; value > 127; value >>= 7)
      bytes += static_cast<char>(value | 128);
    return bytes + static_cast<char>(value);
  };
  auto number = [&](uint32_t field, uint64_t value) { return varint(field << 3) + varint(value); };
  auto part = [&](uint32_t field, const std::string &bytes) {
    return varint(field << 3 | 2) + varint(bytes.size()) + bytes;
  };
  // Stack 1 is main, 2 main and stem, 3 main and scores.
  std::string names = part(5, number(1, 1) + part(2, "main")) + part(5, number(1, 2) + part(2, "stem")) +
                      part(5, number(1, 3) + part(2, "scores"));
  for (uint64_t id : {1, 2, 3})
    names +=
        part(6, number(1, id) + number(2, id)) + part(7, number(1, id) + (id == 1 ? "" : number(2, 1)) + number(2, id));
  std::string begins = part(1, number(10, 7) + number(13, 1) + part(12, names));
  using Samples = std::vector<std::pair<uint64_t, int64_t>>;
  auto packet = [&](const Samples &samples, uint64_t sequence = 7) {
    std::string stacks, deltas;
    for (auto [stack, delta] : samples)
      stacks += number(1, stack), deltas += number(2, static_cast<uint64_t>(delta));
    return part(1, number(10, sequence) + part(54, stacks + deltas + number(3, 8)));
  };
  std::string trace = begins + packet({{1, 900}, {2, 50}, {3, 20}}) + packet({{2, 30}, {9, 5}}) + packet({{1, 40}});
  Join join = Written::digits().join(trace);
  std::string text;
  for (const JoinedRow &row : join.rows)
    text += row.row.rawName.str() + " " + std::to_string(row.row.count) + " " + std::to_string(row.row.value) + "\n";
  EXPECT_EQ(text, "main 1 50000\nstem 2 25000\nscores 1 30000\n[unknown] 1 40000\n");
  EXPECT_EQ(rowOf(join, "scores")->match, Match::Tensor);
  // Threads are sequences of their own.
  EXPECT_EQ(Written::digits().join(trace + packet({{3, 1}}, 8)).total, join.total);
  // Where a sequence begins anew, or packets are lost, the next time is no difference to the last one.
  std::string lost = part(1, number(10, 7) + number(42, 1));
  for (const std::string &gap : {begins, lost})
    EXPECT_EQ(Written::digits().join(trace + gap + packet({{1, 900}, {2, 50}})).total, join.total + 50000);
  EXPECT_NE(errorOf(begins + packet({{1, 0}, {3, -1}})).find("ends before it begins"), std::string::npos);
  EXPECT_NE(errorOf(begins + packet({{1, 0}, {3, INT64_MAX}})).find("ends before it begins"), std::string::npos);
  EXPECT_NE(errorOf(begins + part(1, part(54, number(1, 1)))).find("1 sampled stacks and 0 times"), std::string::npos);
  for (size_t length = 0; length < trace.size(); ++length)
    llvm::consumeError(readProfile(llvm::StringRef(trace).take_front(length)).takeError());
}

TEST(ProfileFormats, BrowsersMeasuresByName) {
  for (auto [file, stem] :
       {std::pair("real/chromium.digits.json", 1288000u), std::pair("real/chromium.digits.pftrace", 3529000u)}) {
    Join join = Written::digits().join(sampleProfile(file));
    EXPECT_EQ(count(join, Match::Tensor), 5) << file;
    EXPECT_EQ(join.unattributed, 0u) << file;
    EXPECT_EQ(rowOf(join, "stem/relu")->ns, stem) << file;
    EXPECT_EQ(rowOf(join, "Invoke")->row.metric, "graph_time");
  }
  // Marks have no time: nothing is joined then.
  EXPECT_TRUE(Written::digits().join(R"({"traceEvents": [{"name": "stem/relu", "ph": "R", "ts": 1}]})").foreign);
  std::string trace = sampleProfile("real/chromium.digits.pftrace");
  for (size_t length = 0; length < trace.size(); length += 97)
    llvm::consumeError(readProfile(llvm::StringRef(trace).take_front(length)).takeError());
}

TEST(ProfileFormats, SamplesOfV8LastUntilTheNextOne) {
  auto node = [](const char *id, const std::string &function) {
    return "{\"id\": " + std::string(id) + ", \"callFrame\": {\"functionName\": \"" + function + "\"}}";
  };
  std::string nodes = "[" + node("1", "(idle)") + ", " + node("2", "block/conv") + ", " + node("3", "scores") + "]";
  auto part = [](const std::string &nodes, const char *samples, const char *deltas, bool inner) {
    return std::string(inner ? "{\"cpuProfile\": " : "") + "{\"nodes\": " + nodes + ", \"samples\": " + samples +
           (inner ? "}" : "") + ", \"timeDeltas\": " + deltas + "}";
  };
  auto event = [](const std::string &data) {
    return "{\"ph\": \"P\", \"name\": \"ProfileChunk\", \"pid\": 1, \"id\": \"0x1\", \"args\": {\"data\": " + data +
           "}}";
  };
  std::string profile = part(nodes, "[2, 3, 1, 2, 2]", "[500, 10, -4, 30, 40]", false);
  std::string chunk = "{\"traceEvents\": [{\"ph\": \"X\", \"name\": \"Other\", \"dur\": 7, \"ts\": 1}, " +
                      event(part(nodes, "[2, 3, 1]", "[500, 10, -4]", true)) + ", " +
                      event(part("[]", "[2, 2]", "[30, 40]", true)) + "]}";
  for (const std::string &text : {profile, chunk}) {
    Join join = Written::digits().join(text);
    EXPECT_EQ(join.tool, "v8");
    // At 500 conv, at 506 idle, at 510 scores, at 536 and 576 conv.
    EXPECT_EQ(join.total, 72'000u);
    EXPECT_EQ(rowOf(join, "block/conv")->ns, 46'000u);
    EXPECT_EQ(rowOf(join, "scores")->ns, 26'000u);
    EXPECT_EQ(rowOf(join, "(idle)")->row.metric, "idle_time");
    EXPECT_EQ(rowOf(join, "(idle)")->row.value, 4'000u);
  }
  for (auto [from, to] : {std::pair("\"samples\": [2", "\"samples\": [9"), std::pair("[500, 10", "[500, \"a\""),
                          std::pair("[500, 10", "[9223372036854775807, 10"), std::pair("[500, 10", "[500"),
                          std::pair("\"id\": 3", "\"id\": -3")}) {
    std::string bad = profile;
    bad.replace(bad.find(from), std::strlen(from), to);
    EXPECT_NE(errorOf(bad), "no error") << to;
  }
  Join real = Written::digits().join(sampleProfile("real/node.digits.cpuprofile"));
  EXPECT_EQ(real.tool, "v8");
  EXPECT_NE(rowOf(real, "classes"), nullptr);
}

TEST(ProfileFormats, TablesOfOtherTools) {
  Join trt = Written::digits().join(sampleProfile("tensorrt.json"));
  EXPECT_EQ(rowOf(trt, "stem/relu + block/conv")->operators, (std::vector<uint32_t>{0, 1}));
  EXPECT_EQ(rowOf(trt, "stem/relu + block/conv")->match, Match::Partition);
  EXPECT_EQ(rowOf(trt, "scores")->match, Match::Tensor);
  EXPECT_EQ(trt.rows[0].row.count, 100u);
  Join qnn = Written::digits().join(sampleProfile("qnn.csv"));
  EXPECT_EQ(rowOf(qnn, "stem/relu")->match, Match::Tensor);
  EXPECT_EQ(rowOf(qnn, "stem/relu")->row.metric, "cycles");
  EXPECT_EQ(rowOf(qnn, "Accelerator (execute) time")->row.metric, "graph_time");
  EXPECT_EQ(qnn.total, 1800u);
  Join et = Written::digits().join(sampleProfile("etdump.tsv"));
  EXPECT_EQ(rowOf(et, "native_call_convolution.out")->operators, std::vector<uint32_t>{0});
  EXPECT_EQ(rowOf(et, "Fully Connected (NC, F32) GEMM #1")->operators, std::vector<uint32_t>{4})
      << Written::digits().kind(4);
}

} // namespace
