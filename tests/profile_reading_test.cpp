#include "report/profile/Readers.h"
#include "tests/SampleProfiles.h"

#include "ir/Error.h"

#include "llvm/ADT/StringExtras.h"
#include "gtest/gtest.h"

#include <random>

/// What readers make of text alone, before any row is matched: tables of any make, and copies that something was done
/// to.

using namespace origo;
using namespace origo::report;
using namespace origo::test;

namespace {

/// What a reader makes of a list, or its error.
std::string rowsOf(llvm::StringRef text) {
  auto profile = readProfile(text);
  if (!profile)
    return llvm::toString(profile.takeError());
  std::string said = profile->tool;
  for (const ProfileRow &row : profile->rows)
    said += "; " + row.rawName.str() + " " + row.tensor.str() + " " + (row.op ? std::to_string(*row.op) : "-") + " " +
            std::to_string(row.value) + " " + row.metric.str() + " " + std::to_string(row.count);
  return said;
}

TEST(ProfileReading, RowsOfATableThatSayTheSameOfTheSameAreOne) {
  EXPECT_EQ(rowsOf("name,op_index,us\na,0,5\nb,1,7\na,0,6\na,1,2\n"),
            "csv; a  0 11000 time 2; b  1 7000 time 1; a  1 2000 time 1");
  EXPECT_EQ(rowsOf("op_index,time,count\n0,5 us,2\n0,5 cycles,3\n0,1 ms,4\n"),
            "csv;   0 1005000 time 6;   0 5 cycles 3");
  EXPECT_EQ(rowsOf("[{\"name\": \"a\", \"ns\": 5}, {\"name\": \"a\", \"ns\": 6}, {\"tensor\": \"a\", \"ns\": 7},"
                   "{\"name\": \"a\", \"tensor\": \"b\", \"ns\": 8}]"),
            "json; a a - 18 time 3; a b - 8 time 1");
  EXPECT_EQ(rowsOf("[{\"name\": \"a\", \"ns\": 5, \"why\": [1]}, {\"name\": \"a\", \"ns\": 6}]"),
            "json; a a - 11 time 2");
  // Of another type, it is another row; a number is no type.
  Profile typed = llvm::cantFail(readProfile("name,opcode,ns\na,ADD,1\na,MUL,2\na,ADD,4\na,7,8\n"));
  ASSERT_EQ(typed.rows.size(), 3u);
  EXPECT_EQ(typed.rows[0].kind, "ADD");
  EXPECT_EQ(typed.rows[0].value, 5u);
  EXPECT_EQ(typed.rows[1].kind, "MUL");
  EXPECT_EQ(typed.rows[2].kind, "");
  // Each has its place where rows are around others.
  EXPECT_EQ(rowsOf("{\"x\": {\"name\": \"a\", \"dur_ns\": 5}, \"y\": {\"name\": \"a\", \"dur_ns\": 6}}"),
            "json; a a - 5 time 1; a a - 6 time 1");
  EXPECT_TRUE(llvm::StringRef(rowsOf("op_index,ns,count\n0,5,18446744073709551615\n0,5,1\n")).contains("too many"));
  EXPECT_TRUE(llvm::StringRef(rowsOf("op_index,ns\n0,9223372036854775807\n0,1\n")).contains("too large"));
}

TEST(ProfileReading, EventsComeOneByOne) {
  const std::string event = R"({"ph": "X", "name": "a", "ts": 1, "dur": 2, "args": {"x": [{"y": {}}, []]}})";
  EXPECT_EQ(rowsOf("[" + event + R"(, {"ph": "M"}, )" + event.substr(0, event.find("1,")) + "4, \"dur\": 1.5}]"),
            "circle-interpreter; a a - 3500 time 2");
  // Nothing of an event is left for the next.
  EXPECT_TRUE(llvm::StringRef(rowsOf("[" + event + R"(, {"ph": "X"}])")).contains("has no time \"ts\""));
  EXPECT_TRUE(llvm::StringRef(rowsOf("[" + event + ", [" + event + "]]")).contains("traceEvents[1]: is not an object"));
  EXPECT_TRUE(llvm::StringRef(rowsOf(R"([{"ph": "X", "dur": 1, "dur": 2}])")).contains("\"dur\" twice"));
  EXPECT_TRUE(llvm::StringRef(rowsOf(R"([{"ph": "X", "dur": 1, "args": {"y": 1, "y": 2}}])")).contains("\"y\" twice"));
  std::string keys = R"("ph": "X", "dur": 1)";
  for (int i = 0; i < 63; ++i)
    keys += ", \"" + std::to_string(i) + "\": 0";
  EXPECT_TRUE(llvm::StringRef(rowsOf("[{" + keys + "}]")).contains("more than 64 keys"));
}

TEST(ProfileReading, WhatLogsAndCopyingPutInFrontIsForgiven) {
  auto inFront = [](llvm::StringRef text, const std::string &head) {
    std::string all;
    for (llvm::StringRef rest = text.rtrim('\n'); !rest.empty();) {
      auto [line, behind] = rest.split('\n');
      all += head + line.str() + "\n";
      rest = behind;
    }
    return all;
  };
  const std::string heads[] = {"09-12 10:11:12.345  1234  1234 I tflite  : ",
                               "2024-09-12 10:11:12.345  1234  1234 I tflite  : ",
                               "09-12 10:11:12.345 u0_a123  1234  1234 I tflite  : ",
                               "I/tflite  ( 1234): ",
                               "09-12 10:11:12.345 I/tflite  ( 1234): ",
                               "I/tflite  : ",
                               "1726128672.345  1234  1234 I tflite  : ",
                               "2024-09-12 10:11:12.345 1234-1234/com.example.app I/tflite: ",
                               "I0000 00:00:1726128672.345678    1234 profile.cc:12] ",
                               "2024-09-12 10:11:12.345678: I tensorflow/lite/profile.cc:12] ",
                               "2024-09-12 10:11:12.345678+0200 App[1234:56789] ",
                               "[00:00:01.234,567] <inf> main: ",
                               "Sep 12 10:11:12 host benchmark[1234]: ",
                               "10:11:12  ",
                               "2024-09-12T10:11:12.123456Z 01O ",
                               "bench_1  | ",
                               "\x1b[0;32mI (315) main: \x1b[0m",
                               "\x1b[38;5;40m09-12 10:11:12.345  1234  1234 I tflite  : ",
                               "2024-09-12 10:11:12.345  1234-1234  tflite                  com.example.app       I  ",
                               "I0912 10:11:12.345678    1234 profile.cc:12] ",
                               "I (315) main: ",
                               "10:11:12.345 -> ",
                               "[    1.234567] ",
                               "2024-09-12T10:11:12.1234567Z ",
                               "[2024-09-12 10:11:12] ",
                               "INFO: ",
                               "> ",
                               "> I/tflite  ( 1234): ",
                               "    ",
                               "\n"};
  for (const char *file :
       {"benchmark.csv", "benchmark.txt", "gpu_kernels.txt", "tflm_log.txt", "tflm_shifted.csv", "tflm_sums.csv",
        "qnn.csv", "rows.json", "vela4_per-layer.csv", "xnnpack_rows.txt", "table.csv", "etdump.tsv"}) {
    std::string text = sampleProfile(file), said = rowsOf(text);
    if (llvm::StringRef(file) == "table.csv") // whose columns have no name that is known
      said = rowsOf(text = "tensor,us\nscores,1.5\n");
    EXPECT_NE(said.find("; "), std::string::npos) << said;
    for (const std::string &head : heads)
      EXPECT_EQ(rowsOf(head == "\n" ? "\n \n" + text : inFront(text, head)), said) << file << ": " << head;
  }
}

// logcat -v long: heads are lines of their own, and a blank line ends each entry, of one line or of many.
TEST(ProfileReading, HeadsMayBeLinesOfTheirOwn) {
  const std::string head = "[ 09-12 10:11:12.345  1234: 1234 I/tflite   ]\n",
                    other = "[ 09-12 10:11:12.345  99:100 D/WifiHAL  ]\nrx 100\t200\n\n";
  for (const char *file : {"benchmark.csv", "benchmark.txt", "gpu_kernels.txt", "tflm_log.txt", "tflm_sums.csv"}) {
    std::string text = sampleProfile(file), said = rowsOf(text), lines, busy;
    for (llvm::StringRef rest = llvm::StringRef(text).rtrim('\n'); !rest.empty();) {
      auto [line, behind] = rest.split('\n');
      rest = behind;
      lines += head + line.str() + "\n\n";
      busy += head + line.str() + "\n\n" + (line.size() % 3 ? "" : other);
    }
    for (const std::string &log : {lines, "--------- beginning of main\n" + lines, head + text + "\n"})
      EXPECT_EQ(rowsOf(log), said) << file;
    EXPECT_EQ(rowsOf(busy), said) << file;
  }
}

TEST(ProfileReading, LinesMayEndInReturnsAlone) {
  for (const char *file : {"benchmark.txt", "tflm_log.txt", "etdump.tsv"}) {
    std::string text = sampleProfile(file), said = rowsOf(text);
    std::replace(text.begin(), text.end(), '\n', '\r');
    EXPECT_EQ(rowsOf(text), said) << file;
  }
}

TEST(ProfileReading, JsonMayStandBetweenWords) {
  std::string text = sampleProfile("real/armnn.mobilenet_v1.json"), said = rowsOf(text);
  EXPECT_EQ(rowsOf("Info: ArmNN v32.1.0\n[INFO] running\n" + text + "\nInfo: Shutdown time: 3 ms.\n"), said);
  EXPECT_TRUE(llvm::StringRef(rowsOf("one\n{\"a\": 1}\ntwo\n")).contains("no profile of a known format"));
}

// Benchmarks of TensorFlow Lite Micro print their own steps among the events, and sums behind them.
TEST(ProfileReading, TflmSaysTheSameInSeveralWays) {
  const std::string events = "CONV_2D took 12 ticks (0 ms).\nADD took 3 ticks (0 ms).\n",
                    rows = " 12 cycles 1; ADD  - 3 cycles 1",
                    sums = "\"Unique Tag\",\"Total ticks across all events with that tag.\"\nCONV_2D, 12\nADD, 3\n"
                           "total number of ticks, 15\n";
  EXPECT_EQ(rowsOf(events), "tflm; CONV_2D  -" + rows);
  EXPECT_EQ(rowsOf(events + sums), "tflm; CONV_2D  -" + rows);
  EXPECT_EQ(rowsOf("CONV_2D took 12 cycles\n\nADD took 3 cycles\n"), "tflm; CONV_2D  -" + rows);
  EXPECT_EQ(rowsOf("InitializeRunner took 9 ticks (0 ms).\nRunIterations(1) took 15 ticks (0 ms)\n" + events),
            "tflm; InitializeRunner  - 9 init_time 1; RunIterations(1)  - 15 graph_time 1; CONV_2D  -" + rows);
  EXPECT_EQ(rowsOf("RunIterations(1) took 15 ticks (0 ms)\n" + sums), "tflm; CONV_2D  -" + rows);
  // Older ones have milliseconds, too; and a run may follow another.
  const std::string csv = "\"Event\",\"Tag\",\"Ticks\",\"ms\"\n0,CONV_2D,12,0\n1,ADD,3,0\n";
  EXPECT_EQ(rowsOf(csv), "csv; CONV_2D  0 12 cycles 1; ADD  1 3 cycles 1");
  EXPECT_EQ(rowsOf(csv + csv), "csv; CONV_2D  0 24 cycles 2; ADD  1 6 cycles 2");
  EXPECT_EQ(rowsOf(csv + sums), "tflm; CONV_2D  -" + rows);
}

TEST(ProfileReading, ColumnsHaveManyNames) {
  const char *said = "csv; a a - 1500 time 1; b b - 2000 time 1";
  for (const char *head :
       {"op_name,avg_us", "Layer Name,Avg Time (us)", "nodeName,mean-latency-us", "operator_name,execution_time_us"})
    EXPECT_EQ(rowsOf(std::string(head) + "\na,1.5\nb,2\n"), said) << head;
  EXPECT_EQ(rowsOf("output,us\na,1.5\n"), "csv; a a - 1500 time 1");
}

// Times may stand in an object of their own within what has the name.
TEST(ProfileReading, WhatHasTheNameMayBeAround) {
  EXPECT_EQ(rowsOf(R"({"layers": [{"name": "a", "stats": {"avg_ms": 1.5}}, {"name": "b", "stats": {"avg_ms": 2}}]})"),
            "json; a a - 1500000 time 1; b b - 2000000 time 1");
  EXPECT_EQ(rowsOf(R"({"name": "net", "layers": {"a": {"avg_ms": 1.5}}})"), "json; a a - 1500000 time 1");
  EXPECT_EQ(rowsOf(R"({"name": "net", "a": {"avg_ms": 1.5}, "b": {"avg_ms": 2}})"),
            "json; a a - 1500000 time 1; b b - 2000000 time 1");
}

// An event may end without its name, and encloses others that are not counted twice.
TEST(ProfileReading, EventsThatBeginAndEndNest) {
  auto event = [](const char *phase, const std::string &name, int time) {
    return R"({"ph": ")" + std::string(phase) + R"(", "pid": 1, "tid": 2, "ts": )" + std::to_string(time) +
           (name.empty() ? "" : R"(, "name": ")" + name + "\"") + "}";
  };
  for (bool named : {true, false})
    EXPECT_EQ(rowsOf("[" + event("B", "loop", 0) + "," + event("B", "a", 1) + "," + event("E", named ? "a" : "", 4) +
                     "," + event("B", "b", 5) + "," + event("E", named ? "b" : "", 7) + "," +
                     event("E", named ? "loop" : "", 10) + "]"),
              "chrome; a a - 3000 time 1; b b - 2000 time 1; loop loop - 5000 time 1");
  EXPECT_TRUE(
      llvm::StringRef(rowsOf("[" + event("B", "a", 1) + "," + event("E", "", 2) + "," + event("E", "", 3) + "]"))
          .contains("ends and did not begin"));
  std::string deep = "[" + event("B", "a", 0);
  for (int i = 0; i < 2000; ++i)
    deep += "," + event("B", "a", i);
  EXPECT_TRUE(llvm::StringRef(rowsOf(deep + "]")).contains("too many others"));
}

TEST(ProfileReading, HeadersOfPerfAndReturnsOfCallgrindAreForgiven) {
  std::string script = sampleProfile("real/perf-script.digits.txt");
  EXPECT_EQ(rowsOf("# ========\n# captured on    : Thu Sep 12\n# cmdline : perf record\n# ========\n#\n" + script),
            rowsOf(script));
  std::string text = "version: 1\ncreator: callgrind-3.12.0\npositions: line\nevents: Ir\n\nfn=(1) a\n3 7\n", crlf;
  for (char c : text)
    crlf += c == '\n' ? "\r\n" : std::string(1, c);
  EXPECT_EQ(rowsOf(text), "callgrind; a a - 7 cycles 1");
  EXPECT_EQ(rowsOf(crlf), rowsOf(text));
}

TEST(ProfileReading, LinesOfOtherProgramsInTheLogAreNotRead) {
  std::mt19937 random(1);
  for (const char *file :
       {"benchmark.csv", "benchmark.txt", "gpu_kernels.txt", "tflm_log.txt", "tflm_sums.csv", "xnnpack_rows.txt"}) {
    std::string text = sampleProfile(file), threads, brief;
    for (llvm::StringRef rest = llvm::StringRef(text).rtrim('\n'); !rest.empty();) {
      auto [line, behind] = rest.split('\n');
      rest = behind;
      auto add = [&](const char *writer, llvm::StringRef said) {
        threads += "09-12 10:11:12.345  1234  1234 I " + std::string(writer) + ": " + said.str() + "\n";
        brief += "I/" + std::string(writer) + "( 1234): " + said.str() + "\n";
      };
      add("tflite  ", line);
      constexpr const char *others[] = {"", "skipped 30 frames!", "a, b, c: 1.5 ms", "rx 100\t200", "{\"a\": 1}"};
      for (unsigned more = random() % 3; more; --more)
        add(more % 2 ? "art     " : "WifiHAL ", others[random() % std::size(others)]);
    }
    std::string said = rowsOf(text);
    EXPECT_EQ(rowsOf(threads), said) << file;
    EXPECT_EQ(rowsOf(brief), said) << file;
  }
}

TEST(ProfileReading, TablesThatASpreadsheetSavedAreWhatTheyWere) {
  for (const char *file : {"etdump.tsv", "vela4_per-layer.csv", "vela_per-layer.csv", "qnn.csv"}) {
    std::string text = sampleProfile(file), said = rowsOf(text), semicolons, tabs, blanks;
    for (llvm::StringRef rest = text; !rest.empty();) {
      auto cells = llvm::cantFail(takeCsvLine(rest, llvm::StringRef(file).ends_with(".tsv") ? '\t' : ','));
      for (std::string &cell : cells) {
        bool last = &cell == &cells.back(), isNumber = cell.find_first_not_of("0123456789.") == std::string::npos;
        tabs += cell + (last ? "\n" : "\t");
        blanks += cell + (last ? "\n" : "   ");
        if (isNumber)
          std::replace(cell.begin(), cell.end(), '.', ',');
        semicolons += cell + (last ? "\n" : ";");
      }
    }
    EXPECT_EQ(rowsOf(semicolons), said) << file;
    EXPECT_EQ(rowsOf(tabs), said) << file;
    if (llvm::StringRef(file) != "qnn.csv") { // which has empty cells in the middle
      EXPECT_EQ(rowsOf(blanks), said) << file;
    }
  }
}

// benchmark_model's file is no table throughout, so that spreadsheets fill its lines with empty cells.
TEST(ProfileReading, SpreadsheetsSaveBenchmarksToo) {
  std::string text = sampleProfile("benchmark.csv"), said = rowsOf(text), filled, semicolons, tabs;
  for (llvm::StringRef rest = text; !rest.empty();) {
    auto [line, behind] = rest.split('\n');
    rest = behind;
    filled += line.str() + (line.contains(',') ? "\n" : ",,,,,,,\n");
    llvm::SmallVector<llvm::StringRef> cells;
    line.split(cells, ',');
    for (llvm::StringRef cell : cells) {
      std::string name = cell.trim(' ').str(), number = name;
      if (llvm::StringRef(number).find_first_not_of("0123456789.%") == llvm::StringRef::npos)
        std::replace(number.begin(), number.end(), '.', ',');
      bool isLast = cell.end() == line.end();
      semicolons += number + (isLast ? std::string(cells.size() < 8 ? 8 - cells.size() : 0, ';') + "\r\n" : ";");
      tabs += name + (isLast ? "\n" : "\t");
    }
  }
  EXPECT_EQ(rowsOf(filled), said);
  EXPECT_EQ(rowsOf(semicolons), said);
  EXPECT_EQ(rowsOf(tabs), said);
  // Of no time at all, there are no parts.
  std::string none = "\t [node type]\t [first]\t [avg ms]\t [%]\t [cdf%]\t [mem KB]\t[times called]\t[Name]\n"
                     "\t ADD\t 0.000\t 0,000\t -nan%\t nan%\t 0.000\t 1\t[a]:0\n",
              blanks = none;
  std::replace(blanks.begin(), blanks.end(), '\t', ' ');
  EXPECT_EQ(rowsOf(none), "benchmark_model; [a]:0  0 0 time 1");
  EXPECT_EQ(rowsOf(blanks), rowsOf(none));
}

// Lists of flat objects have a reader of their own, which is quick. It reads what the other one reads.
TEST(ProfileReading, FlatListsAreReadLikeAnyOther) {
  for (const char *list :
       {R"([{"name": "a", "us": 1.5}, {"name":"b","us":2e3},{"us":1E-1 , "name" : "", "op_index":3}])",
        "[\n\t{\"name\": \"gr\xc3\xb6\xc3\x9f\", \"us\": \"7\", \"count\": null},\r\n {\"us\": 0}\n]\n",
        "[]",
        R"([{"name": "a", "us": 1}, {"name": "b", "ms": 1, "hot": true}])",
        R"([{"name": "a\u0041\"", "us": 1}])",
        R"([{"name": "a", "us": 1, "us": 2}])",
        R"([{"name": "a", "us": 01}])",
        R"([{"name": "a", "us": 1.}])",
        R"([{"name": "a", "us": -1}])",
        R"([{"name": "a", "us": .5}])",
        R"([{"name": "a", "us": 1e}])",
        R"([{"name": "a", "us": 1},])",
        R"([{"name": "a", "us": 1,}])",
        R"([{"name": "a"}])",
        R"([{}])",
        R"([{"name": "a", "us": nullx}])",
        R"([{"name": "a", "us": 1}] x)",
        R"([{"name": "a", "us": 1)",
        R"([{"name": "a)",
        "[{\"name\": \"\xff\", \"us\": 1}]",
        "[{\"name\": \"a\nb\", \"us\": 1}]",
        R"([{"name": "a", "us": 1, "us": null}])",
        R"([{"name": "a", "us": 18446744073709551616}])",
        R"([{"name": "a", "us": 123456789012345678901234567890}])",
        R"([{"name": "a", "us": 1, "ns": 1}])",
        R"([{"name": "a", "us": 1, "partition": [0, 2]}])",
        R"([{"name": "a", "us": true}])"}) {
    // What is in front of the list is not flat.
    std::string flat = R"({"rows": )" + std::string(list) + "}",
                other = R"({"about": {}, "rows": )" + std::string(list) + "}";
    std::string said = rowsOf(flat), saidOther = rowsOf(other);
    if (said.find("from byte") == std::string::npos) {
      EXPECT_EQ(said, saidOther) << list;
    } else {
      EXPECT_NE(saidOther.find("from byte"), std::string::npos) << list;
    }
  }
  EXPECT_EQ(rowsOf(R"([{"name": "a", "us": 1.5}, {"name": "b", "ms": 2}])"),
            "json; a a - 1500 time 1; b b - 2000000 time 1");
}

/// Formats are told in one go over the text; looked at again from each place, these would take an hour.
TEST(ProfileReading, WhatRepeatsIsLookedAtOnce) {
  constexpr size_t many = 3000000;
  std::string line, blanks = "#\n" + std::string(many, '\n') + "#\n";
  for (size_t i = 0; i < many; ++i)
    line += " took x";
  for (const std::string &text : {line, blanks})
    EXPECT_NE(rowsOf(text).find("no profile of a known format"), std::string::npos);
}

} // namespace
