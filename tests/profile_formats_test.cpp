#include "passes/Pipeline.h"
#include "report/join/Join.h"
#include "report/join/Kinds.h"
#include "report/profile/Readers.h"
#include "tests/SampleProfiles.h"
#include "tests/Samples.h"

#include "ir/Error.h"
#include "origin/Fingerprint.h"
#include "origin/codec/OriginFile.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"
#include "gtest/gtest.h"

#include <random>

using namespace origo;
using namespace origo::report;
using namespace origo::test;

namespace {

/// A model in text form, or what -O1 makes of it.
class Written {
public:
  explicit Written(llvm::StringRef text, bool rewritten = true) {
    std::string source = scratch.at("source.tflite"), path = scratch.at("written.circle");
    if (!writeAsFile(text, ORIGO_SOURCE_DIR "/res", source))
      throw std::runtime_error("no model");
    auto imported = llvm::cantFail(importModel(source));
    PayloadStore store;
    if (rewritten)
      llvm::cantFail(runPipeline(*imported.model, Pipeline::o1(), store));
    ExportOptions options;
    options.format = Format::Circle;
    llvm::cantFail(exportModel(*imported.model, imported.lineage, path, options));
    file = llvm::cantFail(origin::openOriginFile(path, "", false));
    graph.emplace(file.model->view());
  }
  static Written ofFile(const std::string &name) {
    auto text = llvm::MemoryBuffer::getFile(ORIGO_SOURCE_DIR "/" + name);
    return Written(text ? (*text)->getBuffer() : "");
  }
  const origin::Target &target() const { return file.map->target; }
  std::string kind(uint32_t index) const { return target().findOperator(0, index)->op.str(); }

  Join join(llvm::StringRef text, const JoinOptions &how = {}) const {
    auto profile = readProfile(text);
    if (!profile) {
      ADD_FAILURE() << llvm::toString(profile.takeError());
      return {};
    }
    auto join = matchRows(std::move(*profile), target(), &*graph, how);
    if (!join) {
      ADD_FAILURE() << llvm::toString(join.takeError());
      return {};
    }
    SplitWeights weights(SplitRule::Macs, *file.map, nullptr, &*graph);
    llvm::cantFail(divideTime(*join, *file.map, weights));
    uint64_t shares = join->synthetic + join->unattributed, rows = 0;
    for (auto [id, ns] : timeByOperator(*join))
      shares += ns;
    for (const JoinedRow &row : join->rows)
      rows += row.ns;
    EXPECT_EQ(shares, join->total);
    EXPECT_EQ(rows, join->total);
    EXPECT_EQ(join->attributed + join->synthetic + join->unattributed, join->total);
    // What says another type is never exact.
    for (const JoinedRow &row : join->rows) {
      if (row.match != Match::Exact || row.operators.size() != 1)
        continue;
      const std::string op = target().findOperator(row.subgraph, row.operators[0])->op.str();
      EXPECT_NE(agreement(row.row.kind, op), Agreement::Contradicts) << row.row.rawName.str();
    }
    return std::move(*join);
  }

  Scratch scratch;
  origin::OriginFile file;
  std::optional<origin::FileGraph> graph;
};

const Written &mobilenet() {
  static const Written model = Written::ofFile("res/mobilenet_v2.origo");
  return model;
}

std::ptrdiff_t count(const Join &join, Match match) {
  return llvm::count_if(join.rows, [&](const JoinedRow &row) { return row.match == match; });
}
std::map<std::vector<uint32_t>, uint64_t> byOperators(const Join &join) {
  std::map<std::vector<uint32_t>, uint64_t> times;
  for (const JoinedRow &row : join.rows)
    times[row.operators] += row.ns;
  return times;
}
const JoinedRow *rowOf(const Join &join, llvm::StringRef name) {
  auto found = llvm::find_if(join.rows, [&](const JoinedRow &row) { return row.row.rawName == name; });
  return found == join.rows.end() ? nullptr : &*found;
}
std::string errorOf(llvm::StringRef text) {
  auto profile = readProfile(text);
  return profile ? "no error" : llvm::toString(profile.takeError());
}

// ---- Detection ----

struct Known {
  const char *file, *tool;
};
constexpr Known known[] = {{"benchmark.csv", "benchmark_model"},
                           {"benchmark.joined.json", "json"},
                           {"benchmark.txt", "benchmark_model"},
                           {"callgrind.out", "callgrind"},
                           {"delegate.csv", "benchmark_model"},
                           {"etdump.tsv", "executorch"},
                           {"gpu_kernels.txt", "tflite-gpu"},
                           {"interpreter.json", "circle-interpreter"},
                           {"offsets.csv", "csv"},
                           {"onert.chrome.json", "onert"},
                           {"onert.table.md", "onert"},
                           {"onert.trace.json", "onert"},
                           {"qnn.csv", "qnn"},
                           {"rows.json", "json"},
                           {"snpe.json", "snpe"},
                           {"table.csv", "csv"},
                           {"tensorrt.json", "tensorrt"},
                           {"tflm_log.txt", "tflm"},
                           {"tflm_shifted.csv", "csv"},
                           {"tflm_sums.csv", "tflm"},
                           {"traced_perf.pftrace", "perfetto"},
                           {"vela4_per-layer.csv", "vela"},
                           {"vela_debug.xml", "vela"},
                           {"vela_per-layer.csv", "vela"},
                           {"xnnpack_rows.txt", "benchmark_model"},
                           {"real/armnn.mobilenet_v1.json", "armnn"},
                           {"real/chromium.digits.json", "chrome"},
                           {"real/chromium.digits.pftrace", "perfetto"},
                           {"real/node.digits.cpuprofile", "v8"},
                           {"real/onnxruntime.kws.json", "onnxruntime"},
                           {"real/perf-report.digits.txt", "perf"},
                           {"real/perf-script.digits.txt", "perf"},
                           {"real/tflite-xnnpack.conformer.txt", "benchmark_model"},
                           {"real/tflite-xnnpack.lstm.txt", "benchmark_model"},
                           {"real/tflite-xnnpack.mobilenet_v2.txt", "benchmark_model"},
                           {"real/tflite-xnnpack.unet_i8.txt", "benchmark_model"}};

TEST(ProfileFormats, NoFileIsTwoFormats) {
  std::set<std::string> listed;
  for (const Known &is : known) {
    listed.insert(is.file);
    std::string text = sampleProfile(is.file);
    std::map<Rank, std::vector<const char *>> claims;
    for (const ProfileFormat &format : profileFormats())
      if (format.looksLike(text))
        claims[format.rank].push_back(format.tool);
    ASSERT_FALSE(claims.empty()) << is.file;
    EXPECT_STREQ(claims.begin()->second.front(), is.tool) << is.file;
    for (const auto &[rank, tools] : claims)
      EXPECT_EQ(tools.size(), 1u) << is.file << ": " << tools[0] << " and " << tools.back();
    auto profile =
        readProfile(text, {.format = {},
                           .columns = text.find("Layer") != std::string::npos && llvm::StringRef(is.file) == "table.csv"
                                          ? ColumnNames{{"tensor", "Layer"}, {"us", "Duration"}}
                                          : ColumnNames{}});
    EXPECT_TRUE(bool(profile)) << is.file << ": " << llvm::toString(profile.takeError());
  }
  for (const char *folder : {"", "real/"}) {
    std::error_code ec;
    for (llvm::sys::fs::directory_iterator it(std::string(ORIGO_SOURCE_DIR "/tests/profiles/") + folder, ec), end;
         it != end && !ec; it.increment(ec)) {
      llvm::StringRef name = llvm::sys::path::filename(it->path());
      EXPECT_TRUE(name == "README.md" || name == "real" || listed.count(folder + name.str()))
          << name.str() << " is not listed here";
    }
  }
}

// ---- Logs without indices ----

TEST(ProfileFormats, TflmLogIsInOrder) {
  std::string log = sampleProfile("tflm_log.txt");
  for (const std::string &text : {log, "09-12 10:11:12.345  1234  1234 I tflite  : boot\n" + log, log + "\n" + log}) {
    Join join = mobilenet().join(text);
    EXPECT_EQ(count(join, Match::Aligned), static_cast<std::ptrdiff_t>(join.rows.size()));
    for (size_t i = 0; i < join.rows.size(); ++i)
      EXPECT_EQ(join.rows[i].operators, std::vector<uint32_t>{static_cast<uint32_t>(i % 65)}) << i;
    EXPECT_EQ(join.unattributed, 0u);
  }
  static const Written loop = Written::ofFile("res/while.origo");
  EXPECT_TRUE(loop.join(log).foreign);
}

TEST(ProfileFormats, ShiftedIndicesStillSayTheOrder) {
  Join join = mobilenet().join(sampleProfile("tflm_shifted.csv"));
  EXPECT_EQ(count(join, Match::Exact), 0);
  EXPECT_EQ(count(join, Match::Aligned), 65);
  // Its index is that of an operator which another row is about.
  ASSERT_TRUE(rowOf(join, "PREPROCESS"));
  EXPECT_EQ(rowOf(join, "PREPROCESS")->match, Match::None);
  for (const JoinedRow &row : join.rows)
    if (row.match == Match::Aligned) {
      EXPECT_EQ(mobilenet().kind(row.operators[0]), row.row.rawName);
    }
}

TEST(ProfileFormats, IndicesWhoseKindsAgreeAreExact) {
  std::string table = "\"Event\",\"Tag\",\"Ticks\"\n";
  for (uint32_t i = 0; i < 65; ++i)
    table += std::to_string(i) + "," + mobilenet().kind(i) + "," + std::to_string(1000 + i) + "\n";
  Join join = mobilenet().join(table);
  EXPECT_EQ(count(join, Match::Exact), 65);
  EXPECT_EQ(join.unattributed, 0u);
}

TEST(ProfileFormats, GpuKernelsAreListed) {
  Join join = mobilenet().join(sampleProfile("gpu_kernels.txt"));
  ASSERT_EQ(join.rows.size(), 3u);
  for (uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(join.rows[i].match, Match::Aligned);
    EXPECT_EQ(join.rows[i].operators.front(), i);
  }
  EXPECT_EQ(join.total, 1658690u);
  EXPECT_EQ(join.attributed, join.total);
  // A kernel with what is linked to it, at the only place where the two follow each other.
  std::string list = "Per kernel timing(9 kernels):\n";
  for (uint32_t i = 0; i < 9; ++i)
    list += std::string("  ") + (mobilenet().kind(i) == "CONV_2D" ? "convolution_2d " : "depthwise_convolution ") +
            std::to_string(i) + (i == 8 ? " linked : add 9" : "") + " - 1.5 ms\n";
  Join linked = mobilenet().join(list);
  EXPECT_EQ(linked.rows[7].operators, std::vector<uint32_t>{7});
  EXPECT_EQ(linked.rows[8].operators, (std::vector<uint32_t>{8, 9}));
  // As older and newer ones print it.
  for (const char *text :
       {"Per kernel timing(3 kernels):\n  convolution_2d 0 - 1.5ms\n  depthwise_convolution 1 - 2ms\n  convolution_2d "
        "2 - 1ms\n",
        "Per kernel timing(2 kernels):\n  convolution_2d 0 -> relu6 1; 1.5 ms; 11.4 Gb/s; 165.8 Gflops\n"
        "  dw_conv2d->conv1x1 -> add 5; 3 ms; 68 Gb/s\n"}) {
    Join other = mobilenet().join(text);
    EXPECT_EQ(other.total, 4500000u) << text;
    EXPECT_EQ(other.attributed, other.total) << text;
    EXPECT_EQ(other.rows[1].operators,
              llvm::StringRef(text).contains("->") ? (std::vector<uint32_t>{1, 2}) : std::vector<uint32_t>{1})
        << text;
  }
  EXPECT_NE(errorOf("Per kernel timing(1 kernels):\n  add 0 - 1 parsec\n"), "no error");
}

TEST(ProfileFormats, Vela4) {
  Join join = mobilenet().join(sampleProfile("vela4_per-layer.csv"));
  EXPECT_EQ(count(join, Match::Tensor), 65);
  EXPECT_EQ(join.rows[0].row.value, 1000u);
  EXPECT_EQ(join.rows[0].row.backend, "npu Conv2D");
  EXPECT_EQ(join.rows[64].row.backend, "cpu Passthrough");
  EXPECT_EQ(join.unattributed, 0u);
}

// ---- Delegates ----

TEST(ProfileFormats, RowsOfADelegateAreOperators) {
  for (const char *file : {"xnnpack_rows.txt", "real/tflite-xnnpack.mobilenet_v2.txt"}) {
    Join join = mobilenet().join(sampleProfile(file));
    EXPECT_EQ(count(join, Match::Aligned), 65) << file;
    uint64_t node = 0, inside = 0;
    for (const JoinedRow &row : join.rows) {
      llvm::StringRef name = row.row.rawName;
      if (name.contains("Delegate/")) {
        // The number behind the name says which one it is.
        EXPECT_EQ(row.operators,
                  std::vector<uint32_t>{static_cast<uint32_t>(std::stoul(name.rsplit(':').second.str()))})
            << file;
        EXPECT_GE(row.score, 80u) << name.str();
        inside += row.ns;
      } else if (row.overhead) {
        EXPECT_EQ(row.ns, node - inside);
        EXPECT_EQ(row.match, Match::None);
        EXPECT_EQ(join.overhead, row.ns);
      } else {
        EXPECT_EQ(row.row.metric, "graph_time");
        node += row.row.value;
      }
    }
    EXPECT_EQ(join.total, node) << file;
    EXPECT_EQ(join.attributed, inside) << file;
  }
}

TEST(ProfileFormats, OrderOfTheListMeansNothing) {
  std::string text = sampleProfile("real/tflite-xnnpack.mobilenet_v2.txt");
  auto sorted = byOperators(mobilenet().join(text));
  llvm::SmallVector<llvm::StringRef> lines;
  llvm::StringRef(text).split(lines, '\n');
  std::vector<size_t> places;
  size_t from = 0;
  while (!lines[from].contains("Delegate internal"))
    ++from;
  for (size_t i = from; !lines[i].contains("Top by"); ++i)
    if (lines[i].contains("Delegate/"))
      places.push_back(i);
  ASSERT_EQ(places.size(), 65u);
  std::vector<size_t> order = places;
  std::shuffle(order.begin(), order.end(), std::mt19937(1));
  llvm::SmallVector<llvm::StringRef> shuffled = lines;
  for (auto [to, is] : llvm::zip(places, order))
    shuffled[to] = lines[is];
  EXPECT_EQ(byOperators(mobilenet().join(llvm::join(shuffled, "\n"))), sorted);
}

TEST(ProfileFormats, RowsOfAnotherTypeAreNoOperators) {
  std::string text = sampleProfile("xnnpack_rows.txt");
  // The type of one row says otherwise: it has no operator, and all others keep theirs.
  for (size_t at; (at = text.find("Convolution (NHWC, F32) DWConv:4\n")) != std::string::npos;)
    text.replace(at, std::strlen("Convolution (NHWC, F32) DWConv:4"), "Softmax (NC, F32):4");
  Join join = mobilenet().join(text);
  EXPECT_EQ(count(join, Match::Aligned), 64);
  const JoinedRow *row = rowOf(join, "Delegate/Softmax (NC, F32):4");
  ASSERT_TRUE(row);
  EXPECT_EQ(row->match, Match::None);
  for (const JoinedRow &other : join.rows)
    if (other.match == Match::Aligned) {
      EXPECT_EQ(other.operators[0], *other.row.step);
    }
}

constexpr const char *head =
    "===== Run Order =====\n\t[node type]\t[first]\t[avg ms]\t[%]\t[cdf%]\t[mem KB]\t[times called]\t[Name]\n";
std::string line(const std::string &type, const std::string &ms, unsigned calls, const std::string &name) {
  return "\t" + type + "\t" + ms + "\t" + ms + "\t1%\t1%\t0\t" + std::to_string(calls) + "\t" + name + "\n";
}

TEST(ProfileFormats, SeveralNodesInOneListAreToldApart) {
  static const Written model = Written::ofFile("res/lstm.origo");
  Join join = model.join(sampleProfile("real/tflite-xnnpack.lstm.txt"));
  std::map<std::string, std::string> kinds;
  for (const JoinedRow &row : join.rows)
    if (row.match == Match::Aligned)
      kinds[row.row.rawName.str()] = model.kind(row.operators[0]);
  EXPECT_EQ(kinds, (std::map<std::string, std::string>{{"Delegate/Multiply (ND, F32):0", "MUL"},
                                                       {"Delegate/Add (ND, F32):1", "ADD"},
                                                       {"Delegate/Fully Connected (NC, F32) GEMM:0", "FULLY_CONNECTED"},
                                                       {"Delegate/Fully Connected (NC, F32) GEMM:1", "FULLY_CONNECTED"},
                                                       {"Delegate/Softmax (NC, F32):2", "SOFTMAX"}}));
}

TEST(ProfileFormats, SumsOverNodesAreDivided) {
  static const Written model(R"(origo 1
model circle
subgraph @main(%x: f32[1,8]) -> (%c) {
  %k: f32[1,8] = const splat 2
  %a: f32[1,8] = ADD(%x, %k)
  %b: f32[1,8] = CUMSUM(%a, %axis) {exclusive=1}
  %axis: i32[] = const [1]
  %c: f32[1,8] = ADD(%b, %k)
}
)");
  // 1 ms and 3 ms, whose one row is called twice as often as they are: 2 ms, of which the second node explains three
  // quarters.
  Join join = model.join(head + line("TfLiteXNNPackDelegate", "1", 10, "[a]:3") + line("CUMSUM", "1", 10, "[b]:1") +
                         line("TfLiteXNNPackDelegate", "3", 10, "[c]:4") +
                         "\nNumber of nodes executed: 3\nDelegate internal:\n" + head +
                         line("DelegateOpInvoke", "1", 20, "Delegate/Add (ND, F32):0") + "\n");
  const JoinedRow *row = rowOf(join, "Delegate/Add (ND, F32):0");
  ASSERT_TRUE(row);
  EXPECT_EQ(row->match, Match::Merged);
  EXPECT_EQ(row->operators, (std::vector<uint32_t>{0, 2}));
  ASSERT_EQ(row->shares.size(), 2u);
  EXPECT_EQ(row->shares[0].second, 5'000'000u);
  EXPECT_EQ(row->shares[1].second, 15'000'000u);
  EXPECT_EQ(join.merged, 20'000'000u);
  EXPECT_EQ(join.overhead, 20'000'000u);
  EXPECT_EQ(join.total, 50'000'000u);
}

TEST(ProfileFormats, WhatADelegateTakesIntoANeighbourIsWithIt) {
  static const Written model(R"(origo 1
model circle
subgraph @main(%x: f32[1,8,8,4]) -> (%y) {
  %p: i32[4,2] = const [0,0,3,1,1,3,0,0]
  %w: f32[4,3,3,4] = const splat 0.5
  %b: f32[4] = const splat 0
  %a: f32[1,8,8,4] = RELU(%x)
  %q: f32[1,12,12,4] = PAD(%a, %p)
  %c: f32[1,10,10,4] = CONV_2D(%q, %w, %b) {stride_w=1, stride_h=1, padding=VALID}
  %y: f32[1,10,10,4] = TANH(%c)
}
)");
  ASSERT_EQ(model.target().subgraphs[0].operators.size(), 4u);
  Join join = model.join(head + line("TfLiteXNNPackDelegate", "9", 10, "[y]:4") +
                         "\nNumber of nodes executed: 1\nDelegate internal:\n" + head +
                         line("DelegateOpInvoke", "1", 10, "Delegate/Clamp (NC, F32):0") +
                         line("DelegateOpInvoke", "5", 10, "Delegate/Convolution (NHWC, F32) IGEMM:1") +
                         line("DelegateOpInvoke", "2", 10, "Delegate/Tanh (NC, F32):2"));
  EXPECT_EQ(rowOf(join, "Delegate/Clamp (NC, F32):0")->operators, std::vector<uint32_t>{0});
  EXPECT_EQ(rowOf(join, "Delegate/Convolution (NHWC, F32) IGEMM:1")->operators, (std::vector<uint32_t>{1, 2}));
  EXPECT_EQ(rowOf(join, "Delegate/Tanh (NC, F32):2")->operators, std::vector<uint32_t>{3});
  EXPECT_EQ(join.overhead, 10'000'000u);
}

// Six of one type, and five rows: which has none is what costs tell.
TEST(ProfileFormats, WhatNothingElseTellsCostsTell) {
  static const Written model(R"(origo 1
model circle
subgraph @main(%k: f32[100], %l: f32[200], %m: f32[10], %n: f32[3000], %o: f32[50], %p: f32[1000]) -> (%a, %b, %c, %d, %e, %f) {
  %a: f32[100] = ADD(%k, %k)
  %b: f32[200] = ADD(%l, %l)
  %c: f32[10] = ADD(%m, %m)
  %d: f32[3000] = ADD(%n, %n)
  %e: f32[50] = ADD(%o, %o)
  %f: f32[1000] = ADD(%p, %p)
}
)");
  std::string rows = head + line("TfLiteXNNPackDelegate", "60", 10, "[a, b, c, d, e, f]:6") +
                     "\nNumber of nodes executed: 1\nDelegate internal:\n" + head;
  unsigned step = 0;
  for (const char *time : {"1", "2", "30", "0.5", "10"})
    rows += line("DelegateOpInvoke", time, 10, "Delegate/Add (ND, F32):" + std::to_string(step++));
  Join join = model.join(rows);
  step = 0;
  for (uint32_t op : {0, 1, 3, 4, 5}) {
    const JoinedRow *row = rowOf(join, "Delegate/Add (ND, F32):" + std::to_string(step++));
    ASSERT_TRUE(row);
    EXPECT_EQ(row->operators, std::vector<uint32_t>{op});
  }
  EXPECT_EQ(rowOf(join, "Delegate/Add (ND, F32):2")->match, Match::Aligned);
}

TEST(ProfileFormats, ANodeWithoutANameHasWhatNoOtherHas) {
  std::string text = sampleProfile("xnnpack_rows.txt");
  for (size_t at; (at = text.find("[probabilities]:65")) != std::string::npos;)
    text.replace(at, std::strlen("[probabilities]"), "[Unknown]");
  Join join = mobilenet().join(text);
  EXPECT_EQ(count(join, Match::Aligned), 65);
  EXPECT_EQ(rowOf(join, "[Unknown]:65")->operators.size(), 65u);
}

// A node has everything that is ready, so that the last operator is in the first node.
TEST(ProfileFormats, NodesWithoutNamesDivideWhatIsLeftAsTFLiteDoes) {
  static const Written model(R"(origo 1
model circle
subgraph @main(%x: f32[1,8]) -> (%c, %d) {
  %k: f32[1,8] = const splat 2
  %axis: i32[] = const [1]
  %a: f32[1,8] = ADD(%x, %k)
  %b: f32[1,8] = CUMSUM(%a, %axis) {exclusive=1}
  %c: f32[1,8] = MUL(%b, %k)
  %d: f32[1,8] = ABS(%a)
}
)");
  std::string own = head + line("CUMSUM", "1", 10, "[b]:1"),
              nodes = line("TfLiteXNNPackDelegate", "3", 10, "[Unknown]:5") +
                      line("TfLiteXNNPackDelegate", "9", 10, "[Unknown, Unknown]:4"),
              inner = std::string("\nNumber of nodes executed: 3\nDelegate internal:\n") + head +
                      line("DelegateOpInvoke", "1", 10, "Delegate/Multiply (ND, F32):0") +
                      line("DelegateOpInvoke", "2", 10, "Delegate/Add (ND, F32):0") +
                      line("DelegateOpInvoke", "4", 10, "Delegate/Abs (NC, F32):1");
  Join join = model.join(own + nodes + inner);
  EXPECT_EQ(rowOf(join, "[Unknown, Unknown]:4")->operators, (std::vector<uint32_t>{0, 3}));
  EXPECT_EQ(rowOf(join, "[Unknown]:5")->operators, std::vector<uint32_t>{2});
  EXPECT_EQ(rowOf(join, "Delegate/Multiply (ND, F32):0")->operators, std::vector<uint32_t>{2});
  EXPECT_EQ(rowOf(join, "Delegate/Add (ND, F32):0")->operators, std::vector<uint32_t>{0});
  EXPECT_EQ(rowOf(join, "Delegate/Abs (NC, F32):1")->operators, std::vector<uint32_t>{3});
  EXPECT_EQ(count(join, Match::Aligned), 3);
  EXPECT_EQ(join.overhead, 50'000'000u);
  // TFLite makes no third node of this.
  Join other = model.join(own + nodes + line("TfLiteXNNPackDelegate", "9", 10, "[Unknown]:6") + inner);
  EXPECT_TRUE(rowOf(other, "[Unknown]:5")->operators.empty());
}

TEST(ProfileFormats, ConversionsHaveADirection) {
  static const Written model(R"(origo 1
model circle
subgraph @main(%x: f32[1,8]) -> (%a, %c) {
  %q: i8[1,8] q{scale=0.5, zero_point=0} = QUANTIZE(%x)
  %b: i8[1,8] q{scale=0.5, zero_point=0} = ABS(%q)
  %a: f32[1,8] = DEQUANTIZE(%b)
  %c: f32[1,8] = SIN(%a)
}
)");
  std::string list = head + line("TfLiteXNNPackDelegate", "1", 10, "[q]:4") + line("ABS", "1", 10, "[b]:1") +
                     line("TfLiteXNNPackDelegate", "1", 10, "[a]:5") + line("SIN", "1", 10, "[c]:3") +
                     "\nNumber of nodes executed: 4\nDelegate internal:\n" + head;
  std::string rows[] = {line("DelegateOpInvoke", "0.5", 10, "Delegate/Convert (NC, F32, QS8):0"),
                        line("DelegateOpInvoke", "0.7", 10, "Delegate/Convert (NC, QS8, F32):0")};
  for (const std::string &text : {list + rows[0] + rows[1], list + rows[1] + rows[0]}) {
    Join join = model.join(text);
    EXPECT_EQ(model.kind(rowOf(join, "Delegate/Convert (NC, F32, QS8):0")->operators.at(0)), "QUANTIZE");
    EXPECT_EQ(model.kind(rowOf(join, "Delegate/Convert (NC, QS8, F32):0")->operators.at(0)), "DEQUANTIZE");
    EXPECT_EQ(rowOf(join, "Delegate/Convert (NC, QS8, F32):0")->match, Match::Aligned);
  }
}

TEST(ProfileFormats, FewRunsAreToldAndCommasOfNamesAreTheirs) {
  std::string text = sampleProfile("xnnpack_rows.txt");
  auto notes = [](const std::string &text) { return llvm::join(llvm::cantFail(readProfile(text)).notes, "\n"); };
  EXPECT_EQ(notes(text).find("runs"), std::string::npos);
  size_t at = text.find("count=50");
  text.replace(at, 8, "count=5");
  EXPECT_NE(notes(text).find("the times are of 5 runs"), std::string::npos);

  static const Written model("origo 1\nmodel circle\nsubgraph @main(%x: f32[4]) -> (%\"a,b\", %c) {\n"
                             "  %\"a,b\": f32[4] = EXP(%x)\n  %c: f32[4] = SIN(%\"a,b\")\n}\n");
  Join join = model.join(head + line("TfLiteSomeDelegate", "1", 1, "[a,b, c]:2"));
  EXPECT_EQ(join.rows[0].operators, (std::vector<uint32_t>{0, 1}));
}

// ---- Other tools ----

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

const Written &digits() {
  static const Written model = Written::ofFile("docs/example-backend/digits.origo");
  return model;
}

TEST(ProfileFormats, PerfByKernels) {
  JoinOptions how;
  KernelTable &table = how.kernels.emplace();
  table.fingerprint = "sha256:" + origin::hex(digits().target().fingerprint);
  for (uint32_t k = 0; k < 5; ++k)
    table.kernels.push_back({k, "OP", k * 100, 1, 0, {k}, false});
  for (const char *file : {"real/perf-script.digits.txt", "real/perf-report.digits.txt", "callgrind.out"}) {
    Join join = digits().join(sampleProfile(file), how);
    for (const JoinedRow &row : join.rows) {
      llvm::StringRef name = row.row.rawName;
      bool kernel = name.consume_front("kernel_");
      EXPECT_EQ(row.match, kernel ? Match::Exact : Match::None) << file;
      if (kernel && !row.operators.empty()) {
        EXPECT_EQ(std::to_string(row.operators[0]), name.split('.').first.str());
      }
    }
    EXPECT_GT(join.attributed, join.total - join.total / 10) << file;
    EXPECT_TRUE(digits().join(sampleProfile(file)).foreign) << file; // without the table
  }
  EXPECT_EQ(digits().join(sampleProfile("real/perf-script.digits.txt"), how).total, 100'000'000u);
  // With the stack of each sample, of which the innermost function counts; a generated function may have a layer's
  // name.
  Join named = digits().join("a b  7 1.5:  9 cpu-clock:u: \n\t  12 scores+0x4 (/x)\n\t  34 main+0x8 (/x)\n\n");
  ASSERT_EQ(named.rows.size(), 1u);
  EXPECT_EQ(named.rows[0].match, Match::Tensor);
  EXPECT_EQ(named.total, 9u);
}

TEST(ProfileFormats, TracedPerfByKernels) {
  JoinOptions how;
  KernelTable &table = how.kernels.emplace();
  table.fingerprint = "sha256:" + origin::hex(digits().target().fingerprint);
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
  EXPECT_EQ(read(digits().join(trace, how)), "stem 5 5000000 0\nblock/conv 6 6000000 1\nmain 1 1000000 -\n"
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
    Join join = digits().join(other(timebase), how);
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
  Join join = digits().join(trace);
  std::string text;
  for (const JoinedRow &row : join.rows)
    text += row.row.rawName.str() + " " + std::to_string(row.row.count) + " " + std::to_string(row.row.value) + "\n";
  EXPECT_EQ(text, "main 1 50000\nstem 2 25000\nscores 1 30000\n[unknown] 1 40000\n");
  EXPECT_EQ(rowOf(join, "scores")->match, Match::Tensor);
  // Threads are sequences of their own.
  EXPECT_EQ(digits().join(trace + packet({{3, 1}}, 8)).total, join.total);
  // Where a sequence begins anew, or packets are lost, the next time is no difference to the last one.
  std::string lost = part(1, number(10, 7) + number(42, 1));
  for (const std::string &gap : {begins, lost})
    EXPECT_EQ(digits().join(trace + gap + packet({{1, 900}, {2, 50}})).total, join.total + 50000);
  EXPECT_NE(errorOf(begins + packet({{1, 0}, {3, -1}})).find("ends before it begins"), std::string::npos);
  EXPECT_NE(errorOf(begins + packet({{1, 0}, {3, INT64_MAX}})).find("ends before it begins"), std::string::npos);
  EXPECT_NE(errorOf(begins + part(1, part(54, number(1, 1)))).find("1 sampled stacks and 0 times"), std::string::npos);
  for (size_t length = 0; length < trace.size(); ++length)
    llvm::consumeError(readProfile(llvm::StringRef(trace).take_front(length)).takeError());
}

TEST(ProfileFormats, BrowsersMeasuresByName) {
  for (auto [file, stem] :
       {std::pair("real/chromium.digits.json", 1288000u), std::pair("real/chromium.digits.pftrace", 3529000u)}) {
    Join join = digits().join(sampleProfile(file));
    EXPECT_EQ(count(join, Match::Tensor), 5) << file;
    EXPECT_EQ(join.unattributed, 0u) << file;
    EXPECT_EQ(rowOf(join, "stem/relu")->ns, stem) << file;
    EXPECT_EQ(rowOf(join, "Invoke")->row.metric, "graph_time");
  }
  // Marks have no time: nothing is joined then.
  EXPECT_TRUE(digits().join(R"({"traceEvents": [{"name": "stem/relu", "ph": "R", "ts": 1}]})").foreign);
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
    Join join = digits().join(text);
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
  Join real = digits().join(sampleProfile("real/node.digits.cpuprofile"));
  EXPECT_EQ(real.tool, "v8");
  EXPECT_NE(rowOf(real, "classes"), nullptr);
}

TEST(ProfileFormats, TablesOfOtherTools) {
  Join trt = digits().join(sampleProfile("tensorrt.json"));
  EXPECT_EQ(rowOf(trt, "stem/relu + block/conv")->operators, (std::vector<uint32_t>{0, 1}));
  EXPECT_EQ(rowOf(trt, "stem/relu + block/conv")->match, Match::Partition);
  EXPECT_EQ(rowOf(trt, "scores")->match, Match::Tensor);
  EXPECT_EQ(trt.rows[0].row.count, 100u);
  Join qnn = digits().join(sampleProfile("qnn.csv"));
  EXPECT_EQ(rowOf(qnn, "stem/relu")->match, Match::Tensor);
  EXPECT_EQ(rowOf(qnn, "stem/relu")->row.metric, "cycles");
  EXPECT_EQ(rowOf(qnn, "Accelerator (execute) time")->row.metric, "graph_time");
  EXPECT_EQ(qnn.total, 1800u);
  Join et = digits().join(sampleProfile("etdump.tsv"));
  EXPECT_EQ(rowOf(et, "native_call_convolution.out")->operators, std::vector<uint32_t>{0});
  EXPECT_EQ(rowOf(et, "Fully Connected (NC, F32) GEMM #1")->operators, std::vector<uint32_t>{4}) << digits().kind(4);
}

TEST(ProfileFormats, DamagedFilesEndInRowsThatAddUpOrInAnError) {
  std::mt19937 random(7);
  for (const Known &is : known) {
    std::string text = sampleProfile(is.file);
    for (unsigned round = 0; round < 24; ++round) {
      std::string damaged = text.substr(0, round % 3 ? text.size() : random() % (text.size() + 1));
      for (unsigned i = 0; i < round % 5 && !damaged.empty(); ++i)
        damaged[random() % damaged.size()] = "0\n\t ,:;-\"}\xff"[random() % 11];
      auto profile = readProfile(damaged);
      if (!profile) {
        std::string said = llvm::toString(profile.takeError());
        EXPECT_EQ(said.find('\n'), std::string::npos) << is.file << ": " << said;
        continue;
      }
      auto join = matchRows(std::move(*profile), mobilenet().target(), &*mobilenet().graph, {});
      if (!join) {
        llvm::consumeError(join.takeError());
        continue;
      }
      SplitWeights weights(SplitRule::Macs, *mobilenet().file.map, nullptr, &*mobilenet().graph);
      llvm::cantFail(divideTime(*join, *mobilenet().file.map, weights));
      uint64_t parts = join->synthetic + join->unattributed;
      for (auto [id, ns] : timeByOperator(*join))
        parts += ns;
      EXPECT_EQ(parts, join->total) << is.file;
    }
  }
}

TEST(ProfileFormats, ObjectsOfAnyNesting) {
  for (
      const char *text :
      {R"({"run": {"layers": [{"name": "scores", "duration_us": 7}, {"name": "flat", "duration_us": 2}]}})",
       R"({"scores": {"timeMs": 0.007}, "flat": {"timeMs": 0.002}})",
       R"([{"name": "net", "time": "1 s", "children": [{"name": "scores", "time": "7 us"}, {"name": "flat", "time": "2us"}]}])"}) {
    Join join = digits().join(text);
    EXPECT_EQ(join.total, 9000u) << text;
    EXPECT_EQ(count(join, Match::Tensor), 2) << text;
  }
  // Numbers without a unit, or without a name of what they are, are no profile.
  for (const char *text : {R"({"scores": 7, "flat": 2})", R"({"a": {"name": "scores", "duration": 7}})",
                           R"({"config": {"layers": ["scores"]}})"})
    EXPECT_NE(errorOf(text), "no error") << text;
}

} // namespace
