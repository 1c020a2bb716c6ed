#include "origin/codec/Json.h"
#include "report/join/Compare.h"
#include "report/join/Print.h"

using namespace origo;
using namespace origo::report;

/// Operators in two subgraphs, with the names that the hand-written profiles of tests/profiles/ have.
static origin::OriginMap smallMap() {
  origin::OriginMap map;
  map.source.subgraphs.resize(1);
  map.source.subgraphs[0].operators.resize(6);
  map.target.subgraphs.resize(3);
  uint32_t id = 0;
  for (auto [graph, op, output] : {std::tuple(0, "WHILE", "steps"), std::tuple(0, "MUL", "result"),
                                   std::tuple(2, "ADD", "next_step"), std::tuple(2, "FULLY_CONNECTED", "next_state")}) {
    origin::OperatorRow &row = map.target.subgraphs[graph].operators.emplace_back();
    row.op = op;
    row.outputs = {output};
    row.origins = {id, id + 1};
    ++id;
  }
  map.target.subgraphs[2].operators[0].origins.clear();
  map.target.subgraphs[2].operators[0].syntheticReason = "type-bridge";
  return map;
}

/// An error is one line.
static void expectLine(llvm::Error error) {
  if (error && llvm::toString(std::move(error)).find('\n') != std::string::npos)
    __builtin_trap();
}

/// Any bytes, taken for a profile, a table of kernels, a result of a join or a side file, end in what adds up or in an
/// error of one line.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llvm::StringRef bytes(reinterpret_cast<const char *>(data), size);
  static const origin::OriginMap map = smallMap();
  llvm::raw_null_ostream nowhere;

  auto summary = readJoinSummary(bytes);
  if (summary) {
    JoinSummary other = *summary;
    for (int round = 0; round < 2; ++round) {
      auto compared = compareJoins(*summary, other, round ? CompareBy::Scope : CompareBy::Operator, CompareFormat::Json,
                                   {}, nowhere);
      if (!compared)
        expectLine(compared.takeError());
      other.fingerprint = "another source";
      if (!other.operators.empty())
        other.operators.erase(other.operators.begin());
    }
  } else {
    expectLine(summary.takeError());
  }
  auto partitions = readRuntimeInfo(bytes);
  if (!partitions)
    expectLine(partitions.takeError());
  JoinOptions options;
  options.map = &map;
  if (partitions)
    options.partitions = std::move(*partitions);
  auto kernels = readKernelTable(bytes);
  if (!kernels)
    expectLine(kernels.takeError());
  auto side = origin::readJson(bytes);
  llvm::consumeError(side.takeError());

  auto profile = readProfile(bytes);
  if (!profile) {
    expectLine(profile.takeError());
    return 0;
  }
  auto join = matchRows(std::move(*profile), map.target, nullptr, options);
  if (!join) {
    expectLine(join.takeError());
    return 0;
  }
  SplitWeights weights(SplitRule::Macs, map, nullptr, nullptr);
  if (llvm::Error error = divideTime(*join, map, weights)) {
    expectLine(std::move(error));
    return 0;
  }
  uint64_t parts = join->synthetic + join->unattributed;
  for (auto [id, ns] : timeByOperator(*join))
    parts += ns;
  if (parts != join->total || join->attributed + join->synthetic + join->unattributed != join->total)
    __builtin_trap();
  MapNames names(map);
  printJoin(*join, names, By::Row, nullptr, {.full = true}, nowhere);
  printJoinCsv(*join, names, By::Row, nullptr, nowhere);
  printJoinTrace(*join, names, nowhere);
  std::string text;
  llvm::raw_string_ostream os(text);
  printJoinJson(*join, names, nullptr, os);
  // What we write we can read.
  if (auto again = readJoinSummary(text); !again)
    __builtin_trap();
  return 0;
}
