#include "tests/Written.h"

using namespace origo;
using namespace origo::report;
using namespace origo::test;

namespace {

TEST(ProfileFormats, RowsOfADelegateAreOperators) {
  for (const char *file : {"xnnpack_rows.txt", "real/tflite-xnnpack.mobilenet_v2.txt"}) {
    Join join = Written::mobilenet().join(sampleProfile(file));
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
  auto sorted = byOperators(Written::mobilenet().join(text));
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
  EXPECT_EQ(byOperators(Written::mobilenet().join(llvm::join(shuffled, "\n"))), sorted);
}

TEST(ProfileFormats, RowsOfAnotherTypeAreNoOperators) {
  std::string text = sampleProfile("xnnpack_rows.txt");
  // The type of one row says otherwise: it has no operator, and all others keep theirs.
  for (size_t at; (at = text.find("Convolution (NHWC, F32) DWConv:4\n")) != std::string::npos;)
    text.replace(at, std::strlen("Convolution (NHWC, F32) DWConv:4"), "Softmax (NC, F32):4");
  Join join = Written::mobilenet().join(text);
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
  Join join = Written::mobilenet().join(text);
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

} // namespace
