#include "passes/Pipeline.h"
#include "report/join/Compare.h"
#include "report/join/Print.h"
#include "report/join/Results.h"
#include "report/profile/Readers.h"
#include "tests/SampleProfiles.h"
#include "tests/Samples.h"

#include "ir/Error.h"
#include "origin/Fingerprint.h"
#include "origin/codec/OriginFile.h"

#include "nlohmann/json.hpp"
#include "gtest/gtest.h"

#include <random>

using namespace origo;
using namespace origo::report;
using namespace origo::test;
using nlohmann::json;

namespace {

/// A model of res/, or a text, and what it is written as.
class Optimised {
public:
  explicit Optimised(const char *name)
      : Optimised(llvm::cantFail(llvm::errorOrToExpected(llvm::MemoryBuffer::getFile(
                                     std::string(ORIGO_SOURCE_DIR "/res/") + name + ".origo")))
                      ->getBuffer(),
                  Pipeline::o1()) {}
  Optimised(llvm::StringRef text, Pipeline pipeline) {
    std::string written = scratch.at("written.circle");
    if (!writeAsFile(text, ORIGO_SOURCE_DIR "/res", sourcePath))
      throw std::runtime_error("no sample");
    auto imported = llvm::cantFail(importModel(sourcePath));
    PayloadStore store;
    llvm::cantFail(runPipeline(*imported.model, pipeline, store));
    ExportOptions options;
    options.format = Format::Circle;
    llvm::cantFail(exportModel(*imported.model, imported.lineage, written, options));
    file = llvm::cantFail(origin::openOriginFile(written, "", false));
    target.emplace(file.model->view());
    sourceFile = llvm::cantFail(origin::ModelFile::open(sourcePath));
    source.emplace(sourceFile->view());
  }
  const origin::OriginMap &map() const { return *file.map; }
  const origin::OperatorRow &op(uint32_t graph, uint32_t index) const {
    return *map().target.findOperator(graph, index);
  }

  llvm::Expected<Join> join(Profile profile, const JoinOptions &how = {}, SplitRule rule = SplitRule::Macs,
                            bool withSource = false) const {
    auto join = matchRows(std::move(profile), map().target, &*target, how);
    if (!join)
      return join.takeError();
    SplitWeights weights(rule, map(), withSource ? &*source : nullptr, &*target);
    if (llvm::Error error = divideTime(*join, map(), weights))
      return error;
    return join;
  }
  Join join(llvm::StringRef text, const JoinOptions &how = {}, const ProfileOptions &options = {}) const {
    auto profile = readProfile(text, options);
    if (!profile) {
      ADD_FAILURE() << llvm::toString(profile.takeError());
      return {};
    }
    auto result = join(std::move(*profile), how);
    if (!result) {
      ADD_FAILURE() << llvm::toString(result.takeError());
      return {};
    }
    return std::move(*result);
  }
  Scratch scratch;
  std::string sourcePath = scratch.at("source.tflite");
  origin::OriginFile file;
  std::unique_ptr<origin::ModelFile> sourceFile;
  std::optional<origin::FileGraph> target, source;
};

const Optimised &whileModel() {
  static const Optimised model("while");
  return model;
}
const Optimised &mobilenet() {
  static const Optimised model("mobilenet_v2");
  return model;
}

/// raw name: match, operators
std::string matches(const Join &join) {
  std::string text;
  for (const JoinedRow &row : join.rows) {
    text += printable(row.row.rawName) + ": " + row.row.metric.str() + " " + std::to_string(row.row.value) + " " +
            matchName(row.match);
    for (uint32_t index : row.operators)
      text += " " + std::to_string(row.subgraph) + ":" + std::to_string(index);
    text += "\n";
  }
  return text;
}

void expectExact(const Join &join) {
  uint64_t total = 0, attributed = 0, synthetic = 0, unattributed = 0;
  for (const JoinedRow &row : join.rows) {
    uint64_t parts = row.synthetic + row.unattributed;
    for (auto [id, ns] : row.shares)
      parts += ns;
    EXPECT_EQ(parts, row.ns);
    total += row.ns;
    attributed += row.ns - row.synthetic - row.unattributed;
    synthetic += row.synthetic;
    unattributed += row.unattributed;
  }
  EXPECT_EQ(total, join.total);
  EXPECT_EQ(attributed, join.attributed);
  EXPECT_EQ(synthetic, join.synthetic);
  EXPECT_EQ(unattributed, join.unattributed);
  EXPECT_EQ(join.total, join.attributed + join.synthetic + join.unattributed);
  uint64_t byOperator = 0;
  for (auto [id, ns] : timeByOperator(join))
    byOperator += ns;
  EXPECT_EQ(byOperator, join.attributed);
}

std::string errorOf(llvm::StringRef text, const ProfileOptions &options = {}) {
  auto profile = readProfile(text, options);
  return profile ? "no error" : llvm::toString(profile.takeError());
}

// ---- Formats ----

TEST(Join, TwoMistakesInOneEventAreOneLine) {
  std::string said = errorOf(R"({"traceEvents":[{"ph":"X","name":"neither ts nor dur","cat":"operator"}]})");
  EXPECT_EQ(said.find('\n'), std::string::npos) << said;
  EXPECT_NE(said.find("has no time"), std::string::npos) << said;
}

TEST(Join, BenchmarkCsv) {
  Join join = whileModel().join(sampleProfile("benchmark.csv"));
  EXPECT_EQ(matches(join), "AllocateTensors/0: init_time 120000 none\n"
                           "[steps\\x09 state]:0: graph_time 800000 exact 0:0\n"
                           "[result]:1: time 10001 exact 0:1\n"
                           "[more]:0: time 11000 exact 1:0\n"
                           "[next_step]:0: time 10000 exact 2:0\n"
                           "[next_state]:1: time 170010 exact 2:1\n");
  expectExact(join);
  EXPECT_EQ(join.total, 201011u);
}

TEST(Join, BenchmarkPrinted) {
  Join join = whileModel().join(sampleProfile("benchmark.txt"));
  EXPECT_EQ(matches(join), "[steps, state]:0: graph_time 800000 exact 0:0\n"
                           "[result]:1: time 10001 exact 0:1\n"
                           "[next_step]:0: time 10000 exact 2:0\n"
                           "[next_state]:1: time 170010 exact 2:1\n");
  expectExact(join);
}

/// Events of TensorFlow Lite Micro, numbered from `first`, with a tag for each operator.
std::string events(const Optimised &model, const std::string &before, bool tags = true) {
  std::string text = "\"Event\",\"Tag\",\"Ticks\"\n" + before;
  unsigned number = before.empty() ? 0 : 1;
  for (const origin::OperatorRow &op : model.map().target.subgraphs[0].operators)
    text += std::to_string(number++) + "," + (tags ? op.op.str() : "OP") + ",1000\n";
  return text;
}

TEST(Join, IndicesThatSomethingContradictsAreNotExact) {
  auto count = [](const Join &join, Match match) {
    return llvm::count_if(join.rows, [&](const JoinedRow &row) { return row.match == match; });
  };
  auto isTold = [](const Join &join, llvm::StringRef text) {
    return llvm::any_of(join.notes, [&](llvm::StringRef note) { return note.contains(text); });
  };
  const auto operators = mobilenet().map().target.subgraphs[0].operators.size();
  Join sound = mobilenet().join(events(mobilenet(), ""));
  EXPECT_EQ(count(sound, Match::Exact), static_cast<ptrdiff_t>(operators));
  EXPECT_FALSE(isTold(sound, "none is exact"));
  // One event more in front, and each index is that of the operator before: CONV_2D is no DEPTHWISE_CONV_2D.
  Join shifted = mobilenet().join(events(mobilenet(), "0,PREPROCESS,500\n"));
  EXPECT_EQ(count(shifted, Match::Exact), 0);
  EXPECT_TRUE(isTold(shifted, "none is exact"));
  for (const JoinedRow &row : shifted.rows) {
    if (row.operators.empty() || row.row.rawName == "PREPROCESS")
      continue;
    EXPECT_EQ(mobilenet().op(0, row.operators[0]).op.str(), row.row.rawName);
  }
  expectExact(shifted);
  // Tags may say nothing: then there is an index too many.
  Join counted =
      mobilenet().join(events(mobilenet(), "0,,500\n", false) + std::to_string(operators + 1) + ",SOFTMAX,1\n");
  EXPECT_EQ(count(counted, Match::Exact), 0);
  EXPECT_TRUE(isTold(counted, "that no operator of the model has"));

  // A column says the type, whatever it is called.
  for (const char *title : {"op_type", "type", "kind", "operator", "opcode", "node_type"}) {
    Join typed = mobilenet().join(std::string("op_index,") + title + ",us\n0," + mobilenet().op(0, 0).op.str() +
                                  ",1\n1,SOFTMAX,1\n");
    EXPECT_EQ(typed.rows[0].match, Match::Exact) << title;
    EXPECT_NE(typed.rows[1].match, Match::Exact) << title;
  }

  // By name and index, but another kind: by the name alone.
  Profile profile;
  profile.tool = "some";
  const origin::OperatorRow &op = mobilenet().op(0, 0);
  for (const char *kind : {"CONV_2D", "ADD", "Fused"}) {
    ProfileRow &row = profile.rows.emplace_back();
    row.rawName = kind;
    row.value = 1;
    row.op = 0;
    row.kind = kind;
    row.tensor = op.outputs[0];
  }
  Join named = llvm::cantFail(mobilenet().join(profile));
  EXPECT_EQ(named.rows[0].match, Match::Exact);
  EXPECT_EQ(named.rows[1].match, Match::Tensor);
  EXPECT_EQ(named.rows[2].match, Match::Exact);
}

TEST(Join, DelegatesPartitionIsWalkedBackward) {
  Join join = mobilenet().join(sampleProfile("delegate.csv"));
  ASSERT_EQ(join.rows.size(), 9u);
  const JoinedRow &first = join.rows[0], &last = join.rows[6];
  EXPECT_EQ(first.match, Match::Approx);
  ASSERT_EQ(first.operators.size(), 21u);
  EXPECT_EQ(first.operators.front(), 0u);
  EXPECT_EQ(first.operators.back(), 20u);
  EXPECT_EQ(join.rows[1].row.metric, "delegate_time");
  for (int i = 2; i < 6; ++i)
    EXPECT_EQ(join.rows[i].match, Match::Exact);
  // The second one ends where the rows of single operators and the first one begin.
  EXPECT_EQ(last.match, Match::Approx);
  ASSERT_EQ(last.operators.size(), 40u);
  EXPECT_EQ(last.operators.front(), 25u);
  EXPECT_EQ(join.rows[7].match, Match::None);
  EXPECT_EQ(join.unattributed, 250000u);
  EXPECT_EQ(join.rows[8].row.metric, "delegate_time");
  expectExact(join);
}

TEST(Join, RuntimeInfoSaysWhatADelegateReplaced) {
  // ModelRuntimeDetails{subgraphs{subgraph_id 0, nodes{id 65, delegate_node_details{tflite_node_ids_replaced 19, 20}}}}
  std::string detail("\x0a\x01x\x12\x02\x13\x14", 7), node("\x08\x41\x42\x07", 4);
  node += detail;
  std::string subgraph = std::string("\x08\x00\x1a", 3) + char(node.size()) + node;
  std::string info = std::string("\x12") + char(subgraph.size()) + subgraph;
  JoinOptions how;
  how.partitions = llvm::cantFail(readRuntimeInfo(info));
  ASSERT_EQ(how.partitions.size(), 1u);
  EXPECT_EQ(how.partitions[0].node, 65u);
  EXPECT_EQ(how.partitions[0].replaced, (std::vector<uint32_t>{19, 20}));
  Join join = mobilenet().join(sampleProfile("delegate.csv"), how);
  EXPECT_EQ(join.rows[0].match, Match::Partition);
  EXPECT_EQ(join.rows[0].operators, (std::vector<uint32_t>{19, 20}));
  expectExact(join);

  how.partitions[0].replaced = {70};
  auto lying = mobilenet().join(llvm::cantFail(readProfile(sampleProfile("delegate.csv"))), how);
  ASSERT_FALSE(bool(lying));
  EXPECT_NE(llvm::toString(lying.takeError()).find("which the model does not have"), std::string::npos);
}

TEST(Join, BenchmarkProto) {
  // OpProfileData{node_type, inference_microseconds{avg 17}, times_called 10, name}
  std::string op = std::string("\x0a\x03"
                               "ADD"
                               "\x12\x02\x18\x11"
                               "\x20\x0a"
                               "\x2a\x0e",
                               13) +
                   "[next_state]:1";
  std::string subgraph = std::string("\x10\x02\x1a", 3) + char(op.size()) + op;
  std::string model = std::string("\x0a") + char(subgraph.size()) + subgraph;
  std::string file = std::string("\x0a\x01m\x1a", 4) + char(model.size()) + model;
  Join join = whileModel().join(file);
  EXPECT_EQ(matches(join), "[next_state]:1: time 170000 tensor 2:1\n"); // where the model has no ADD
  for (size_t length = 2; length < file.size(); ++length) {             // no part of it is taken for the whole
    std::string error = errorOf(llvm::StringRef(file).take_front(length));
    EXPECT_NE(error.find("(read as benchmark_model)"), std::string::npos) << length << ": " << error;
  }
}

constexpr const char *benchmarkHead = "node type, first, avg_ms, %, cdf%, mem KB, times called, name\n";

TEST(Join, BenchmarkTableThatIsCut) {
  std::string head = std::string("===== Run Order =====\n") + benchmarkHead;
  std::string row = "MUL, 1, 1, 1%, 1%, 0, 1, [result]:1";
  EXPECT_NE(errorOf(head + row.substr(0, row.size() - 4)).find("truncated"), std::string::npos);
  EXPECT_NE(errorOf("Profiling Info for Benchmark Initialization:\n" + head + row + "\n\n").find("of regular runs"),
            std::string::npos);
  // The table alone is what some keep of the file; a number of nodes that is missing or wrong is told.
  for (const std::string &text : {benchmarkHead + row, head + row + "\n\nNumber of nodes executed: 2\n"}) {
    Profile profile = llvm::cantFail(readProfile(text));
    EXPECT_EQ(profile.rows.size(), 1u) << text;
    EXPECT_EQ(profile.notes.size(), 1u) << text;
  }
  EXPECT_EQ(llvm::cantFail(readProfile(head + row + "\n\nNumber of nodes executed: 1\n")).notes.size(), 0u);
}

TEST(Join, BenchmarkNamesMayLookLikeHeadings) {
  for (const char *name : {"===== Top", "Subgraph (index: 9\t name: x)", "Number of nodes executed: 7",
                           "Profiling Info for Benchmark Initialization:", "Delegate internal:"}) {
    std::string row = std::string("MUL, 1, 1, 1%, 1%, 0, 1, [") + name + "]:1\n";
    Profile profile = llvm::cantFail(readProfile("===== Run Order =====\n" + (benchmarkHead + row) + row));
    ASSERT_EQ(profile.rows.size(), 2u) << name;
    EXPECT_EQ(profile.rows[1].metric, "time") << name;
    EXPECT_EQ(profile.rows[1].subgraph, 0u) << name;
  }
}

TEST(Join, Onert) {
  EXPECT_EQ(matches(whileModel().join(sampleProfile("onert.trace.json"))),
            "#0 model $0 subgraph $0 While: graph_time 800000 exact 0:0\n"
            "#0 model $0 subgraph $1 Mul: time 12000 exact 0:1\n"
            "#0 model $0 subgraph $7 Permute: time 3000 none\n"
            "#0 model $2 subgraph $0 Add: time 5000 exact 2:0\n"
            "#0 model $2 subgraph $1 FullyConnected: time 70000 exact 2:1\n"
            "maxrss: memory 4000 none\n"
            "Graph: graph_time 900000 none\n");
  EXPECT_EQ(matches(whileModel().join(sampleProfile("onert.chrome.json"))),
            "@1 FullyConnected: time 130000 exact 2:1\n"
            "@0 While: graph_time 420000 exact 0:0\n"
            "@1 Mul: time 11000 exact 0:1\n"
            "@1 Conv2D: time 10000 none\n" // of another model
            "#0 model $0 subg: graph_time 460000 none\n");
  EXPECT_EQ(matches(whileModel().join(sampleProfile("onert.table.md"))),
            "subgraph 2: graph_time 80000 none\n"
            "#0 model $2 subgraph @1 FullyConnected: time 70000 exact 2:1\n"
            "#0 model $2 subgraph @0 Add: time 5000 exact 2:0\n");
  // Versions 1 and 2, and an operator that the model has not at that index.
  EXPECT_EQ(matches(whileModel().join(
                R"({"Execution_Data": {"cpu": {"$1 MUL": {"Avg_Time": 3}, "$0 CONV_2D": {"Avg_Time": 2},
                "$1 session $2 subgraph $1 FULLY_CONNECTED": {"Avg_Time": 1}}}})")),
            "$0 CONV_2D: time 2000 none\n"
            "$1 MUL: time 3000 exact 0:1\n"
            "$1 session $2 subgraph $1 FULLY_CONNECTED: time 1000 exact 2:1\n");
}

TEST(Join, Vela) {
  Join join = mobilenet().join(sampleProfile("vela_per-layer.csv"));
  ASSERT_EQ(join.rows.size(), 5u);
  for (uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(join.rows[i].match, Match::Tensor);
    EXPECT_EQ(join.rows[i].operators, std::vector<uint32_t>{i});
    EXPECT_EQ(join.rows[i].row.value, 7312 + i);
  }
  EXPECT_EQ(join.rows[3].match, Match::Approx);
  EXPECT_EQ(join.rows[3].operators, std::vector<uint32_t>{3});
  EXPECT_EQ(join.rows[4].match, Match::None);
  EXPECT_EQ(join.total, 3u * 7312 + 3 + 100 + 40);
  expectExact(join);
  JoinOptions how;
  how.hertz = 500'000'000;
  EXPECT_EQ(mobilenet().join(sampleProfile("vela_per-layer.csv"), how).total, 2 * join.total);
}

// XNNPACK takes what nothing reads; a row of its own, the work of another node and an output stay where they are.
TEST(Join, DelegatesPartitionHasWhatNothingReads) {
  const Optimised model(R"(origo 1
model tflite version 3
subgraph @main(%x: f32[1,4]) -> (%y, %z) {
  %q: f32[1,4] = ABS(x=%x)
  %dead: f32[1,4] = NEG(x=%q)
  %deader: f32[1,4] = EXP(x=%dead)
  %own: f32[1,4] = SIN(x=%q)
  %y: f32[1,4] = TANH(x=%q)
  %z: f32[1,4] = COS(x=%y)
  %last: f32[1,4] = SQRT(x=%z)
}
)",
                        Pipeline());
  Join join = model.join(R"(============================== Run Order ==============================
node type, first, avg_ms, %, cdf%, mem KB, times called, name
SIN, 0.1, 0.1, 10%, 10%, 0, 1, [own]:3
TANH, 0.1, 0.1, 10%, 20%, 0, 1, [y]:4
TfLiteXNNPackDelegate, 0.1, 0.4, 40%, 60%, 0, 1, [q]:7
TfLiteXNNPackDelegate, 0.1, 0.4, 40%, 100%, 0, 1, [z]:8
Number of nodes executed: 4
)");
  ASSERT_EQ(join.rows.size(), 4u);
  EXPECT_EQ(join.rows[2].operators, (std::vector<uint32_t>{0, 1, 2}));
  EXPECT_EQ(join.rows[3].operators, (std::vector<uint32_t>{5, 6}));
  expectExact(join);
}

TEST(Join, VelaDebugDatabaseIsATableOfKernels) {
  const Optimised &model = mobilenet();
  Join queue = model.join(sampleProfile("vela_debug.xml"));
  ASSERT_EQ(queue.rows.size(), 4u);
  EXPECT_EQ(queue.rows[0].operators, std::vector<uint32_t>{0});
  EXPECT_EQ(queue.rows[1].operators, std::vector<uint32_t>{1});
  EXPECT_EQ(queue.rows[2].match, Match::None); // source_id −1
  EXPECT_EQ(queue.total, 0u);
  JoinOptions how;
  how.kernels = kernelsOf(queue, model.map().target);
  Join join = model.join("offset,cycles\n70,100\n130,5\n192,7\n", how);
  EXPECT_EQ(join.rows[0].match, Match::Approx);
  EXPECT_EQ(join.rows[0].operators, std::vector<uint32_t>{1});
  EXPECT_EQ(join.rows[1].match, Match::None);
  EXPECT_EQ(join.rows[2].match, Match::Approx);
  for (const char *text : {"<!DOCTYPE d [<!ENTITY a \"b\">]><debug></debug>", "<debug><table name=\"queue\"><![CDATA[",
                           "<debug><table></table></debug>", "<debug>", "<other></other>"})
    EXPECT_NE(errorOf(text), "no error") << text;
}

TEST(Join, Snpe) {
  JoinOptions how;
  how.names = {{"my_result", "result"}};
  EXPECT_EQ(matches(whileModel().join(sampleProfile("snpe.json"), how)),
            "Total Inference Time: graph_time 100000 none\n"
            "layer_000 (Name:start Type:data): data_time 1000 none\n"
            "layer_001 (Name:next_state Type:FullyConnected): time 80000 tensor 2:1\n"
            "layer_002 (Name:my_result Type:ElementWiseMul): time 7000 tensor 0:1\n");
}

TEST(Join, TracesMayBeBareLists) {
  json trace = json::parse(sampleProfile("interpreter.json"));
  EXPECT_EQ(matches(whileModel().join(trace["traceEvents"].dump())), matches(whileModel().join(trace.dump())));
}

TEST(Join, OwnTraceCountsWhatIsCalledOnce) {
  Join join = whileModel().join(sampleProfile("interpreter.json"));
  EXPECT_EQ(matches(join), "WHILE: time 11749 exact 0:0\n"
                           "FULLY_CONNECTED: time 8251 exact 2:1\n"
                           "MUL: time 1000 exact 0:1\n");
  EXPECT_EQ(join.total, 21000u);
  expectExact(join);
}

TEST(Join, TablesOfAnyMake) {
  ProfileOptions options;
  options.columns = {{"tensor", "Layer"}, {"us", "Duration"}, {"count", "Runs"}};
  Join join = whileModel().join(sampleProfile("table.csv"), {}, options);
  EXPECT_EQ(matches(join), "next_state: time 17500 tensor 2:1\n"
                           "=HYPERLINK(\\\"http://example.org\\\"): time 2000 none\n"
                           "result: time 1250 tensor 0:1\n");
  EXPECT_EQ(join.rows[0].row.count, 10u);
  EXPECT_EQ(matches(whileModel().join(sampleProfile("rows.json"))),
            "fc: time 12500 exact 2:1\nmul: time 4000 exact 0:1\n");
  EXPECT_EQ(matches(whileModel().join("name,time_us\r\nnext_state,2\r\nnobody,1\r\n")),
            "next_state: time 2000 tensor 2:1\nnobody: time 1000 none\n");
  // What editors put in front; columns of which the better name is taken; columns that could both be meant.
  EXPECT_EQ(matches(whileModel().join("\xef\xbb\xbf[{\"tensor\": \"result\", \"ns\": 5}]")),
            "result: time 5 tensor 0:1\n");
  EXPECT_EQ(matches(whileModel().join("operator,index,raw_name,name,op_index,ns\nMUL,7,m,result,1,5\n")),
            "result: time 5 exact 0:1\n");
  for (const char *head : {"us,ms,name", "us,us,name", "cycles,us,name", "ns,name,name"})
    EXPECT_NE(errorOf(std::string(head) + "\n1,2,3\n").find("say the same; choose with --columns"), std::string::npos)
        << head;
  for (const char *text : {"tensor;ns\r\nresult;5\r\n", "tensor\tns\nresult\t5\n"})
    EXPECT_EQ(matches(whileModel().join(text)), "result: time 5 tensor 0:1\n") << text;
  for (const char *title : {"us", "Time (us)", "latency_us", "duration[us]", "AVG_US"})
    EXPECT_EQ(matches(whileModel().join(std::string("tensor,") + title + "\nresult,5\n")),
              "result: time 5000 tensor 0:1\n")
        << title;
  EXPECT_NE(errorOf("tensor,times\nresult,5\n"), "no error");
  // Of languages with a decimal comma.
  EXPECT_EQ(matches(whileModel().join("tensor;ms\nresult;1,5\n")), "result: time 1500000 tensor 0:1\n");
  EXPECT_EQ(matches(whileModel().join("tensor\tms\nresult\t1.001,5\n")), "result: time 1001500000 tensor 0:1\n");
  EXPECT_NE(errorOf("tensor;ms\nresult;1,5,2\n").find("\"1,5,2\" is not a number"), std::string::npos);
  EXPECT_NE(errorOf("tensor,ms\nresult,\"1,5\"\n").find("\"1,5\" is not a number"), std::string::npos);
  EXPECT_NE(errorOf(llvm::StringRef("\xff\xfet\0,\0", 6)).find("UTF-16"), std::string::npos);
  // A row of several operators, as --join writes it.
  EXPECT_EQ(matches(whileModel().join("subgraph,partition,name,ns\n2,1 0,p,5\n")), "p: time 5 partition 2:0 2:1\n");
  EXPECT_EQ(matches(whileModel().join("[{\"partition\": [0, 1], \"name\": \"p\", \"ns\": 5}]")),
            "p: time 5 partition 0:0 0:1\n");
  EXPECT_NE(errorOf("partition,ns\n0 x,5\n").find("is no list of operators"), std::string::npos);
  auto absent = whileModel().join(llvm::cantFail(readProfile("[{\"partition\": [0, 99], \"ns\": 5}]")));
  EXPECT_NE(llvm::toString(absent.takeError()).find("does not have"), std::string::npos);
  options.columns = {{"tensor", "Nowhere"}};
  EXPECT_NE(errorOf(sampleProfile("table.csv"), options).find("no column \"Nowhere\""), std::string::npos);
  options.columns = {{"colour", "Layer"}};
  EXPECT_NE(errorOf(sampleProfile("table.csv"), options).find("no role \"colour\""), std::string::npos);
  EXPECT_NE(errorOf(sampleProfile("table.csv")).find("--columns"), std::string::npos);
}

TEST(Join, OwnRowsCanBeReadAgain) {
  const Optimised &model = whileModel();
  Join join = model.join(sampleProfile("benchmark.csv"));
  std::string text;
  llvm::raw_string_ostream os(text);
  printJoinJson(join, MapNames(model.map()), nullptr, os);
  std::string csv;
  llvm::raw_string_ostream csvOs(csv);
  printJoinCsv(join, MapNames(model.map()), By::Row, nullptr, csvOs);
  for (const std::string &written : {text, csv}) {
    Join again = model.join(written);
    EXPECT_EQ(again.total, join.total);
    EXPECT_EQ(timeByOperator(again), timeByOperator(join));
    EXPECT_EQ(again.rows[0].row.details().fingerprint, "sha256:" + origin::hex(model.map().target.fingerprint));
  }
}

// ---- Kernels ----

std::string kernelTable(const std::string &fingerprint, const std::string &kernels) {
  return "{\"format\": \"origo.kernels\", \"version\": 1, \"fingerprint\": \"" + fingerprint + "\", \"kernels\": [" +
         kernels + "]}";
}

TEST(Join, OffsetsOfFirmware) {
  const Optimised &model = whileModel();
  std::string fingerprint = "sha256:" + origin::hex(model.map().target.fingerprint);
  JoinOptions how;
  how.kernels = llvm::cantFail(
      readKernelTable(kernelTable(fingerprint, R"({"kernel": 1, "offset": 512, "subgraph": 0, "operators": [0, 1]},
      {"kernel": 0, "name": "fc", "offset": "0x100", "size": 256, "subgraph": 2, "operators": [1]})")));
  how.hertz = 400'000'000;
  Join join = model.join(sampleProfile("offsets.csv"), how);
  EXPECT_EQ(matches(join), "0x100: cycles 4000 exact 2:1\n"
                           "0x180: cycles 36 exact 2:1\n"
                           "0x200: cycles 100 partition 0:0 0:1\n"
                           "0x1000: cycles 64 none\n");
  EXPECT_EQ(join.rows[1].row.backend, "fc");
  EXPECT_EQ(join.total, 10000u + 90 + 250 + 160);
  EXPECT_EQ(join.unattributed, 160u);
  expectExact(join);

  how.kernels->fingerprint[10] ^= 1;
  auto stale = matchRows(llvm::cantFail(readProfile(sampleProfile("offsets.csv"))), model.map().target, nullptr, how);
  ASSERT_FALSE(bool(stale));
  EXPECT_EQ(llvm::toString(stale.takeError()).find("stale table of kernels"), 0u);

  for (const char *kernels :
       {R"({"kernel": 0, "offset": 1, "operators": [0]}, {"kernel": 0, "offset": 2, "operators": [0]})",
        R"({"kernel": 0, "offset": 1, "size": 2, "operators": [0]}, {"kernel": 1, "offset": 2, "operators": [0]})",
        R"({"kernel": 0, "offset": 1, "operators": []})", R"({"kernel": 0, "operators": [0]})",
        R"({"kernel": 0, "offset": -1, "operators": [0]})", R"({"kernel": 0, "offset": 1, "operators": [0, 0]})",
        R"({"kernel": 0, "offset": 18446744073709551615, "size": 2, "operators": [0]})"}) {
    auto table = readKernelTable(kernelTable(fingerprint, kernels));
    EXPECT_FALSE(bool(table)) << kernels;
    llvm::consumeError(table.takeError());
  }
}

// ---- Splitting ----

TEST(Join, RemaindersGoToTheFirst) {
  EXPECT_EQ(divide(11, {1, 1, 1, 1}), (std::vector<uint64_t>{3, 3, 3, 2}));
  EXPECT_EQ(divide(0, {5, 1}), (std::vector<uint64_t>{0, 0}));
  EXPECT_EQ(divide(INT64_MAX, {UINT64_MAX, UINT64_MAX}),
            (std::vector<uint64_t>{(uint64_t(1) << 62), (uint64_t(1) << 62) - 1}));
}

TEST(Join, WeightsAreMacsOfTheSource) {
  const Optimised &model = mobilenet();
  Profile profile;
  profile.rows.emplace_back().op = 0; // stem: CONV_2D, MUL, ADD, RELU6
  profile.rows[0].value = 1'000'000'000;
  // 48 x 48 x 32 results of 3 x 3 x 3 products each
  uint64_t macs = 48 * 48 * 32 * 27;
  auto parts = divide(1'000'000'000, {macs, 1, 1, 1});
  for (bool withSource : {false, true}) {
    Join join = llvm::cantFail(model.join(profile, {}, SplitRule::Macs, withSource));
    ASSERT_EQ(join.rows[0].shares.size(), 4u);
    for (uint32_t id = 0; id < 4; ++id)
      EXPECT_EQ(join.rows[0].shares[id], std::pair(id, parts[id]));
  }
  Join equal = llvm::cantFail(model.join(profile, {}, SplitRule::Equal));
  EXPECT_EQ(equal.rows[0].shares[3].second, 250'000'000u);
  // CONV_2D reads the image and the filter; MUL reads and writes a tensor of the result's size, and 32 factors.
  Join bytes = llvm::cantFail(model.join(profile, {}, SplitRule::Bytes, true));
  uint64_t image = 96 * 96 * 3 * 4, filter = 32 * 27 * 4, result = 48 * 48 * 32 * 4;
  parts = divide(1'000'000'000, {image + filter + result, 2 * result + 128, 2 * result + 128, 2 * result});
  EXPECT_EQ(bytes.rows[0].shares[0].second, parts[0]);
  EXPECT_EQ(bytes.rows[0].shares[3].second, parts[3]);

  SplitWeights measured(SplitRule::Measured, model.map(), nullptr, nullptr);
  measured.measured = {{0, 30}, {1, 10}, {2, 0}};
  Join join = llvm::cantFail(matchRows(profile, model.map().target, nullptr, {}));
  llvm::cantFail(divideTime(join, model.map(), measured));
  parts = divide(1'000'000'000, {30, 10, 1, 1});
  EXPECT_EQ(join.rows[0].shares[0].second, parts[0]);
  EXPECT_EQ(measured.estimated(), 1u);
}

TEST(Join, DuplicatesThatBecameOneWeighAsMuchAsBefore) {
  Optimised model("mobilenet_v2");
  // As if the stem's MUL had been another CONV_2D like the first one.
  model.file.map->source.subgraphs[0].operators[1].op = model.file.map->source.subgraphs[0].operators[0].op;
  SplitWeights weights(SplitRule::Macs, model.map(), nullptr, &*model.target);
  for (uint32_t id : {0, 1})
    EXPECT_EQ(weights.of(id, 0, {0}), 48u * 48 * 32 * 27);
  EXPECT_EQ(weights.of(2, 0, {0}), 1u);
  EXPECT_EQ(weights.estimated(), 2u);
}

TEST(Join, SyntheticOperatorsTakeTheSyntheticShare) {
  origin::OriginMap map;
  map.source.subgraphs.resize(1);
  map.source.subgraphs[0].operators.resize(2);
  map.target.subgraphs.resize(1);
  auto &operators = map.target.subgraphs[0].operators;
  operators.resize(3);
  operators[0].syntheticReason = "type-bridge";
  operators[0].serves = {0};
  operators[1].origins = {0, 1};
  Profile profile;
  for (uint32_t i = 0; i < 3; ++i) {
    profile.rows.emplace_back().op = i;
    profile.rows[i].value = 101;
  }
  Join join = llvm::cantFail(matchRows(profile, map.target, nullptr, {}));
  SplitWeights weights(SplitRule::Equal, map, nullptr, nullptr);
  llvm::cantFail(divideTime(join, map, weights));
  EXPECT_EQ(join.synthetic, 101u);
  EXPECT_EQ(join.rows[1].shares, (std::vector<std::pair<uint32_t, uint64_t>>{{0, 51}, {1, 50}}));
  EXPECT_EQ(join.unattributed, 101u); // the map does not say where operator 2 is from
  expectExact(join);

  operators[1].origins = {7};
  auto lying = divideTime(join, map, weights);
  EXPECT_NE(llvm::toString(std::move(lying)).find("names source operator 7"), std::string::npos);
}

TEST(Join, PartsAlwaysAddUp) {
  std::mt19937_64 random(7);
  size_t joined = 0, refused = 0;
  for (int round = 0; round < 300; ++round) {
    const Optimised &model = round % 3 ? mobilenet() : whileModel();
    Profile profile;
    bool huge = round % 10 == 9;
    for (size_t i = 0; i < 40; ++i) {
      ProfileRow &row = profile.rows.emplace_back();
      row.subgraph = static_cast<uint32_t>(random() % 4);
      row.op = static_cast<uint32_t>(random() % 80);
      row.value = random() >> (huge ? 1 : 7 + random() % 57);
      if (random() % 5 == 0)
        row.metric = "cycles";
      if (random() % 9 == 0)
        row.metric = "memory";
    }
    JoinOptions how;
    how.hertz = 1 + random() % 2'000'000'000;
    if (round % 2)
      how.hertz += 1'000'000'000;
    auto join = model.join(profile, how, static_cast<SplitRule>(random() % 4), random() % 2);
    if (!join) {
      ++refused;
      llvm::consumeError(join.takeError());
      continue;
    }
    ++joined;
    expectExact(*join);
  }
  EXPECT_GT(joined, 100u);
  EXPECT_GT(refused, 20u);
}

// ---- What is printed ----

TEST(Join, JsonIsGolden) {
  const Optimised &model = whileModel();
  std::string text;
  llvm::raw_string_ostream os(text);
  printJoinJson(model.join(sampleProfile("benchmark.csv")), MapNames(model.map()), nullptr, os);
  json said = json::parse(text);
  std::string path = ORIGO_SOURCE_DIR "/tests/profiles/benchmark.joined.json";
  // Fingerprints change with every rewrite that is added.
  for (json &row : said["rows"])
    row.erase("model_sha");
  said.erase("source");
  if (const char *bless = std::getenv("ORIGO_BLESS"); bless && *bless) {
    std::error_code ec;
    llvm::raw_fd_ostream(path, ec) << said.dump(1) << '\n';
  }
  EXPECT_EQ(said, json::parse(sampleProfile("benchmark.joined.json")));
}

TEST(Join, RollUps) {
  const Optimised &model = mobilenet();
  Join join = model.join(sampleProfile("delegate.csv"));
  MapNames names(model.map());
  uint64_t types = 0;
  for (const RolledUp &line : rollUp(join, names, By::Type, nullptr))
    types += line.ns;
  EXPECT_EQ(types, join.attributed);
  join.synthetic += 5, join.unattributed += 7, join.total += 12;
  std::map<std::string, uint64_t> scopes;
  uint64_t outermost = 0, inBlock = 0;
  for (const RolledUp &line : rollUp(join, names, By::Scope, nullptr)) {
    scopes[line.key] = line.ns;
    outermost += line.level == 1 ? line.ns : 0;
    inBlock += line.level == 2 && llvm::StringRef(line.key).starts_with("block3/") ? line.ns : 0;
  }
  ASSERT_TRUE(scopes.count("block3/") && scopes.count("block3/depthwise/"));
  EXPECT_GT(scopes["block3/"], scopes["block3/depthwise/"]);
  EXPECT_EQ(outermost, join.total);
  EXPECT_EQ(inBlock, scopes["block3/"]);
  uint64_t depthwise = 0, all = 0;
  for (const RolledUp &line : rollUp(join, names, By::Operator, nullptr)) {
    bool isIn = line.key == "block3/depthwise" || llvm::StringRef(line.key).starts_with("block3/depthwise/");
    depthwise += isIn ? line.ns : 0;
    all += line.key.find('/') == std::string::npos ? line.ns : 0;
  }
  EXPECT_EQ(scopes["block3/depthwise/"], depthwise);
  EXPECT_GE(all, scopes["(no scope)"]); // some have the name of a scope
  EXPECT_GT(scopes["(no scope)"], 0u);
  bool saved = false;
  for (const RolledUp &line : rollUp(join, names, By::Pass, &join)) { // any times by source operator will do
    EXPECT_TRUE(line.sourceNs.has_value());
    saved |= line.key == "fuse-activation" && line.source > line.written && line.ns;
  }
  EXPECT_TRUE(saved);
}

TEST(Join, NamesAreUntrusted) {
  const Optimised &model = whileModel();
  std::string evil = "=cmd|' /C calc'!A0\x1b[31m\n\xff\"<script>";
  Profile profile;
  profile.tool = "csv";
  ProfileRow &row = profile.rows.emplace_back();
  row.rawName = row.backend = row.tensor = evil;
  row.value = 5;
  Join join = llvm::cantFail(model.join(profile));
  MapNames names(model.map());
  std::string table, csv, text, trace;
  llvm::raw_string_ostream a(table), b(csv), c(text), d(trace);
  printJoin(join, names, By::Row, nullptr, {.full = true}, a);
  printJoinCsv(join, names, By::Row, nullptr, b);
  printJoinJson(join, names, nullptr, c);
  printJoinTrace(join, names, d);
  for (const std::string &out : {table, csv, text, trace})
    EXPECT_EQ(out.find('\x1b'), std::string::npos) << out;
  EXPECT_NE(csv.find("\"'=cmd"), std::string::npos) << csv;
  EXPECT_EQ(json::parse(text)["rows"][0]["op_index"], nullptr);
  EXPECT_EQ(json::parse(trace)["traceEvents"].size(), 3u);
}

TEST(Join, TraceHasOrigins) {
  const Optimised &model = whileModel();
  std::string text;
  llvm::raw_string_ostream os(text);
  printJoinTrace(model.join(sampleProfile("benchmark.csv")), MapNames(model.map()), os);
  json trace = json::parse(text);
  size_t measured = 0, shares = 0;
  for (const json &event : trace["traceEvents"]) {
    if (event["ph"] != "X")
      continue;
    ++(event["tid"] == 1 ? measured : shares);
    if (event["name"] == "FULLY_CONNECTED #1") {
      EXPECT_EQ(event["args"]["origins"], "product; scaled; shifted; next_state");
    }
  }
  EXPECT_EQ(measured, 4u);
  EXPECT_EQ(shares, 7u);
}

TEST(Join, ErrorsOfVisq) {
  auto read = [](const char *text) { return readErrorSummary(text); };
  ErrorSummary errors = llvm::cantFail(read(R"({"meta": {"metric": "MSE"}, "errors": [
    {"operatorId": 3, "metrics": {"MSE": 0.5, "TAE": 7}}, {"operatorId": null, "metrics": {"MSE": 1}},
    {"operatorId": 4, "metrics": {"TAE": 1}}, {"operatorId": 5, "metrics": {"MSE": null}},
    {"operatorId": 99999999999, "metrics": {"MSE": 1}}, {"operatorId": 3, "metrics": {"MSE": 0.25}}, 7, {}]})"));
  EXPECT_EQ(errors.metric, "MSE");
  EXPECT_EQ(errors.operators, (std::map<uint32_t, double>{{3, 0.25}}));
  for (const char *bad : {"[]", "{}", "{\"meta\": 1, \"errors\": []}", "{\"meta\": {\"metric\": 1}, \"errors\": []}",
                          "{\"meta\": {\"metric\": \"MSE\"}, \"errors\": {}}", "{\"meta\":"}) {
    auto result = read(bad);
    EXPECT_FALSE(bool(result)) << bad;
    llvm::consumeError(result.takeError());
  }
}

TEST(Join, CompareInTheSpaceOfTheSource) {
  const Optimised &model = whileModel();
  auto summary = [&](const char *profile) {
    std::string text;
    llvm::raw_string_ostream os(text);
    printJoinJson(model.join(sampleProfile(profile)), MapNames(model.map()), nullptr, os);
    return text;
  };
  JoinSummary a = llvm::cantFail(readJoinSummary(summary("benchmark.csv")));
  JoinSummary b = llvm::cantFail(readJoinSummary(summary("onert.table.md")));
  std::string text;
  llvm::raw_string_ostream os(text);
  EXPECT_EQ(llvm::cantFail(compareJoins(a, b, CompareBy::Operator, CompareFormat::Csv, {}, os)), "");
  EXPECT_NE(text.find("3,\"next_step\",10000,5000\n"), std::string::npos) << text;
  EXPECT_NE(text.find(",\"(total)\",201011,75000\n"), std::string::npos) << text;
  text.clear();
  a.operators[3].first = "a/b/c", a.operators[4].first = "a", b.operators[3].first = "a/b/c",
  b.operators[4].first = "a";
  EXPECT_EQ(llvm::cantFail(compareJoins(a, b, CompareBy::Scope, CompareFormat::Csv, {}, os)), "");
  uint64_t of3 = a.operators[3].second, of4 = a.operators[4].second;
  for (std::string line : {std::string("level,scope,a_ns,b_ns\n"), "\n2,\"a/ (rest)\"," + std::to_string(of4) + ",",
                           "\n1,\"a/\"," + std::to_string(of3 + of4) + ",", std::string("\n1,\"(no scope)\",")})
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
  a = llvm::cantFail(readJoinSummary(summary("benchmark.csv")));
  b = llvm::cantFail(readJoinSummary(summary("onert.table.md")));
  text.clear();
  // Names that only one of the two knows.
  JoinSummary nameless = a;
  for (auto &[id, row] : nameless.operators)
    row.first.clear();
  text.clear();
  EXPECT_EQ(llvm::cantFail(compareJoins(nameless, b, CompareBy::Operator, CompareFormat::Csv, {}, os)), "");
  EXPECT_NE(text.find("3,\"next_step\",10000,5000\n"), std::string::npos) << text;
  // What another tool made of the network has other ids; names are what stays, if one operator has them.
  b.fingerprint = "sha256:other";
  b.operators = {{13, {"next_step", 5000}}, {14, {"product", 7}}, {15, {"product", 8}}, {16, {"quantised", 9}}};
  text.clear();
  EXPECT_EQ(llvm::toString(compareJoins(a, b, CompareBy::Operator, CompareFormat::Csv, {}, os).takeError()),
            "--compare: the two are builds of different sources, " + a.fingerprint +
                " and sha256:other, and only 1 of 4 operators have the same name");
  b.operators.erase(15);
  EXPECT_EQ(llvm::cantFail(compareJoins(a, b, CompareBy::Operator, CompareFormat::Csv, {}, os)),
            "the two are builds of different sources: 2 operators are the same by name, 6 are in one only");
  for (const char *line : {"3,13,\"next_step\",10000,5000\n", "4,14,\"product\",162398,7\n", "1,,\"result\",10001,0\n",
                           ",16,\"quantised\",0,9\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
  // Parts that do not add up are no result of a join.
  json lying = json::parse(summary("benchmark.csv"));
  lying["by_operator"][0]["ns"] = 1;
  auto refused = readJoinSummary(lying.dump());
  ASSERT_FALSE(bool(refused));
  EXPECT_NE(llvm::toString(refused.takeError()).find("add up"), std::string::npos);
}

// ---- Bad input ----

TEST(Join, BadNumbersAreNamed) {
  for (const char *cell : {"-1", "nan", "inf", "1e400", "99999999999999999999", "", "1.2.3", "0x10", "1e", "--1"}) {
    std::string error = errorOf(std::string("op_index,ms\n0,") + cell + "\n");
    EXPECT_NE(error.find("row 2: "), std::string::npos) << cell << ": " << error;
  }
  EXPECT_EQ(llvm::cantFail(parseDecimal("0.0000005", 6)), 1u);
  EXPECT_EQ(llvm::cantFail(parseDecimal("0.00000049", 6)), 0u);
  EXPECT_EQ(llvm::cantFail(parseDecimal("12.345e-1", 3)), 1235u);
  EXPECT_EQ(llvm::cantFail(parseDecimal("9223372036854775807", 0)), uint64_t(INT64_MAX));
  auto large = parseDecimal("9223372036854775808", 0);
  EXPECT_FALSE(bool(large));
  llvm::consumeError(large.takeError());
  // One time can be told, all of them cannot.
  auto profile = llvm::cantFail(readProfile("op_index,ns\n0,9223372036854775807\n1,1\n"));
  auto join = whileModel().join(std::move(profile));
  ASSERT_FALSE(bool(join));
  llvm::consumeError(join.takeError());
}

TEST(Join, BadFilesAreNamed) {
  for (const char *text :
       {"",
        "no profile",
        "{\"traceEvents\": [",
        "{\"traceEvents\": 3}",
        "{\"Execution_Data\": []}",
        "{\"Execution_Data\": {\"cpu\": {\"$0 ADD\": {\"Avg_Time\": -4}}}}",
        "{\"Execution_Data\": {\"cpu\": {\"$0 ADD\": {\"Avg_Time\": 1}, \"$0 ADD\": {\"Avg_Time\": 2}}}}",
        "{\"traceEvents\": [{\"ph\": \"B\", \"name\": \"@0 Add\", \"ts\": \"3\"}]}",
        "{\"traceEvents\": [{\"ph\": \"E\", \"name\": \"@0 Add\", \"ts\": \"3\"}]}",
        "{\"traceEvents\": [{\"ph\": \"X\", \"name\": \"A\", \"ts\": 0, \"dur\": 10}, {\"ph\": \"X\", \"name\": \"B\", "
        "\"ts\": 5, \"dur\": 10}]}",
        "===== Run Order =====\n",
        "===== Run Order =====\nfirst, second\n",
        "===== Run Order =====\nnode type, avg_ms, name\nADD, 1\n",
        "TFLite_operator,NNG Operator\n",
        "# Session: 0, Subgraph: x\n",
        "a,\"b\n",
        "op_index\n0\n",
        "op_index,ns\n0\n",
        "{\"rows\": 3}",
        "[3]",
        "[{\"op_index\": 0}]"}) {
    std::string error = errorOf(text);
    EXPECT_NE(error, "no error") << text;
    EXPECT_EQ(error.find('\n'), std::string::npos) << error;
  }
  EXPECT_NE(errorOf(std::string(100000, '[')).find("nested"), std::string::npos);
  ProfileOptions options;
  options.format = "nonsense";
  EXPECT_NE(errorOf("op_index,ns\n0,1\n", options).find("no format \"nonsense\""), std::string::npos);
  options.format = "vela";
  EXPECT_NE(errorOf("op_index,ns\n0,1\n", options).find("(read as vela)"), std::string::npos);
}

TEST(Join, StaleAndForeignProfilesAreNotJoined) {
  auto stale =
      whileModel().join(llvm::cantFail(readProfile("[{\"op_index\": 0, \"ns\": 5, \"model_sha\": \"sha256:00\"}]")));
  ASSERT_FALSE(bool(stale));
  EXPECT_EQ(llvm::toString(stale.takeError()).find("stale profile"), 0u);
  JoinOptions how;
  how.fileHash = "00"; // a profiler may name the file's bytes
  EXPECT_EQ(whileModel().join("[{\"op_index\": 1, \"ns\": 5, \"model_sha\": \"sha256:00\"}]", how).attributed, 5u);
  Join foreign = whileModel().join(sampleProfile("delegate.csv"));
  EXPECT_EQ(foreign.attributed, 0u);
  EXPECT_EQ(foreign.unattributed, foreign.total);
  EXPECT_TRUE(foreign.foreign);
  EXPECT_FALSE(whileModel().join("tensor,ns\nnext_state,7\nx,1\n").foreign);
  Join mostly = whileModel().join("tensor,ns\nnext_state,7\nx,1\ny,1\n");
  ASSERT_EQ(mostly.notes.size(), 1u);
  EXPECT_EQ(mostly.notes[0], "2 of 3 rows are about no operator of this model: is it a profile of another one?");
  // What is placed by its order alone, though its names are those of nothing here.
  for (const char *prefix : {"", "other/"}) {
    Profile renamed;
    renamed.tool = "some";
    for (const origin::OperatorRow &op : mobilenet().map().target.subgraphs[0].operators) {
      ProfileRow &row = renamed.rows.emplace_back();
      row.kind = op.op.str();
      row.value = 5;
      row.step = renamed.rows.size() - 1;
      row.tensor = prefix + std::string(op.outputs[0]);
    }
    Join placed = llvm::cantFail(mobilenet().join(renamed));
    EXPECT_EQ(
        llvm::any_of(placed.notes, [](llvm::StringRef note) { return note.contains("none of which this model has"); }),
        *prefix != 0);
    EXPECT_NE(placed.attributed, 0u);
  }
  // A name that two operators have names neither.
  Optimised lstm("while");
  auto &operators = lstm.file.map->target.subgraphs[2].operators;
  operators[0].outputs = operators[1].outputs;
  Join ambiguous = lstm.join("tensor,ns\nnext_state,7\n");
  EXPECT_EQ(ambiguous.unattributed, 7u);
}

} // namespace
