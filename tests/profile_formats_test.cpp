#include "report/profile/Readers.h"
#include "tests/Written.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"

#include <random>

using namespace origo;
using namespace origo::report;
using namespace origo::test;

namespace {

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
    Join join = Written::mobilenet().join(text);
    EXPECT_EQ(count(join, Match::Aligned), static_cast<std::ptrdiff_t>(join.rows.size()));
    for (size_t i = 0; i < join.rows.size(); ++i)
      EXPECT_EQ(join.rows[i].operators, std::vector<uint32_t>{static_cast<uint32_t>(i % 65)}) << i;
    EXPECT_EQ(join.unattributed, 0u);
  }
  static const Written loop = Written::ofFile("res/while.origo");
  EXPECT_TRUE(loop.join(log).foreign);
}

TEST(ProfileFormats, ShiftedIndicesStillSayTheOrder) {
  Join join = Written::mobilenet().join(sampleProfile("tflm_shifted.csv"));
  EXPECT_EQ(count(join, Match::Exact), 0);
  EXPECT_EQ(count(join, Match::Aligned), 65);
  // Its index is that of an operator which another row is about.
  ASSERT_TRUE(rowOf(join, "PREPROCESS"));
  EXPECT_EQ(rowOf(join, "PREPROCESS")->match, Match::None);
  for (const JoinedRow &row : join.rows)
    if (row.match == Match::Aligned) {
      EXPECT_EQ(Written::mobilenet().kind(row.operators[0]), row.row.rawName);
    }
}

TEST(ProfileFormats, IndicesWhoseKindsAgreeAreExact) {
  std::string table = "\"Event\",\"Tag\",\"Ticks\"\n";
  for (uint32_t i = 0; i < 65; ++i)
    table += std::to_string(i) + "," + Written::mobilenet().kind(i) + "," + std::to_string(1000 + i) + "\n";
  Join join = Written::mobilenet().join(table);
  EXPECT_EQ(count(join, Match::Exact), 65);
  EXPECT_EQ(join.unattributed, 0u);
}

// Of a network whose types alternate, each index may be the wrong one.
TEST(ProfileFormats, IndicesThatAllContradictStillSayTheOrder) {
  std::string table = "index,op_type,us\n";
  size_t rows = 0;
  for (uint32_t i = 0; i + 1 < 65; ++i)
    if (std::string kind = Written::mobilenet().kind(i); Written::mobilenet().kind(i + 1) != kind) {
      table += std::to_string(i + 1) + "," + kind + ",1\n";
      ++rows;
    }
  Join join = Written::mobilenet().join(table);
  EXPECT_FALSE(join.foreign);
  EXPECT_EQ(count(join, Match::Exact), 0);
  EXPECT_GT(2 * static_cast<size_t>(count(join, Match::Aligned) + count(join, Match::Approx)), rows);
  for (const JoinedRow &row : join.rows)
    if (!row.operators.empty()) {
      EXPECT_EQ(Written::mobilenet().kind(row.operators[0]), row.row.kind);
    }
}

// A delegate that took all operators is one row, of whose results this model has the names.
TEST(ProfileFormats, WhatIsDelegatedAsAWholeIsNoOtherModel) {
  auto notesOf = [](const std::string &name) {
    return llvm::join(Written::mobilenet()
                          .join("[node type]\t[first]\t[avg ms]\t[%]\t[cdf%]\t[mem KB]\t[times called]\t[Name]\n"
                                "TfLiteGpuDelegateV2\t5\t5\t100%\t100%\t0\t50\t[" +
                                name + "]:65\n\nNumber of nodes executed: 1\n")
                          .notes,
                      "; ");
  };
  EXPECT_EQ(notesOf(Written::mobilenet().target().findOperator(0, 64)->outputs.front()), "");
}

// Qualcomm's converters write names of nodes as C++ has them.
TEST(ProfileFormats, QnnNamesMayBeWords) {
  Join join =
      Written::digits().join("Msg Timestamp,Message,Time,Unit of Measurement,Timing Source,Event Level,Event "
                             "Identifier\nUNKNOWN,NODE,900,CYCLES,BACKEND,SUB-EVENT,stem_relu:OpId_20 (cycles)\n"
                             "UNKNOWN,NODE,500,CYCLES,BACKEND,SUB-EVENT,stem_none:OpId_22 (cycles)\n");
  ASSERT_EQ(join.rows.size(), 2u);
  EXPECT_EQ(join.rows[0].match, Match::Tensor);
  EXPECT_EQ(join.rows[0].operators, std::vector<uint32_t>{0});
  EXPECT_EQ(join.rows[1].match, Match::None);
}

// Where back ends compute activations with their operators, there is one row for both, and one operator behind it.
TEST(ProfileFormats, ArmNnWithoutActivationsNamesOperatorsOnce) {
  std::string text = R"({"ArmNN": {"inference_measurements_#1": {"type": "Event")";
  for (uint32_t i = 0; i < 65; ++i) {
    llvm::StringRef kind = Written::mobilenet().target().findOperator(0, i)->op.str();
    std::string number = "_#" + std::to_string(i + 2);
    text += ", \"Neon" +
            std::string(kind == "CONV_2D"             ? "Convolution2d"
                        : kind == "DEPTHWISE_CONV_2D" ? "DepthwiseConvolution2d"
                        : kind == "ADD"               ? "Addition"
                        : kind == "MEAN"              ? "Mean"
                        : kind == "SOFTMAX"           ? "Softmax"
                        : kind == "RESHAPE"           ? "Reshape"
                                                      : "FullyConnected") +
            "Workload_Execute" + number + R"(": {"type": "Event", "Wall clock time)" + number +
            R"(": {"raw": [5], "unit": "us"}})";
  }
  Join join = Written::mobilenet().join(text + "}}}");
  EXPECT_EQ(join.unattributed, 0u);
  for (const JoinedRow &row : join.rows)
    EXPECT_EQ(row.operators.size(), row.row.isSummed() ? 1u : 0u) << row.row.rawName.str();
}

TEST(ProfileFormats, GpuKernelsAreListed) {
  Join join = Written::mobilenet().join(sampleProfile("gpu_kernels.txt"));
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
    list += std::string("  ") +
            (Written::mobilenet().kind(i) == "CONV_2D" ? "convolution_2d " : "depthwise_convolution ") +
            std::to_string(i) + (i == 8 ? " linked : add 9" : "") + " - 1.5 ms\n";
  Join linked = Written::mobilenet().join(list);
  EXPECT_EQ(linked.rows[7].operators, std::vector<uint32_t>{7});
  EXPECT_EQ(linked.rows[8].operators, (std::vector<uint32_t>{8, 9}));
  // As older and newer ones print it.
  for (const char *text :
       {"Per kernel timing(3 kernels):\n  convolution_2d 0 - 1.5ms\n  depthwise_convolution 1 - 2ms\n  convolution_2d "
        "2 - 1ms\n",
        "Per kernel timing(2 kernels):\n  convolution_2d 0 -> relu6 1; 1.5 ms; 11.4 Gb/s; 165.8 Gflops\n"
        "  dw_conv2d->conv1x1 -> add 5; 3 ms; 68 Gb/s\n"}) {
    Join other = Written::mobilenet().join(text);
    EXPECT_EQ(other.total, 4500000u) << text;
    EXPECT_EQ(other.attributed, other.total) << text;
    EXPECT_EQ(other.rows[1].operators,
              llvm::StringRef(text).contains("->") ? (std::vector<uint32_t>{1, 2}) : std::vector<uint32_t>{1})
        << text;
  }
  EXPECT_NE(errorOf("Per kernel timing(1 kernels):\n  add 0 - 1 parsec\n"), "no error");
}

TEST(ProfileFormats, Vela4) {
  Join join = Written::mobilenet().join(sampleProfile("vela4_per-layer.csv"));
  EXPECT_EQ(count(join, Match::Tensor), 65);
  EXPECT_EQ(join.rows[0].row.value, 1000u);
  EXPECT_EQ(join.rows[0].row.backend, "npu Conv2D");
  EXPECT_EQ(join.rows[64].row.backend, "cpu Passthrough");
  EXPECT_EQ(join.unattributed, 0u);
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
      auto join = matchRows(std::move(*profile), Written::mobilenet().target(), &*Written::mobilenet().graph, {});
      if (!join) {
        llvm::consumeError(join.takeError());
        continue;
      }
      SplitWeights weights(SplitRule::Macs, *Written::mobilenet().file.map, nullptr, &*Written::mobilenet().graph);
      llvm::cantFail(divideTime(*join, *Written::mobilenet().file.map, weights));
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
    Join join = Written::digits().join(text);
    EXPECT_EQ(join.total, 9000u) << text;
    EXPECT_EQ(count(join, Match::Tensor), 2) << text;
  }
  // Numbers without a unit, or without a name of what they are, are no profile.
  for (const char *text : {R"({"scores": 7, "flat": 2})", R"({"a": {"name": "scores", "duration": 7}})",
                           R"({"config": {"layers": ["scores"]}})"})
    EXPECT_NE(errorOf(text), "no error") << text;
}

} // namespace
