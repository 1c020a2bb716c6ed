#pragma once

#include "passes/Pipeline.h"
#include "report/join/Join.h"
#include "report/join/Kinds.h"
#include "tests/SampleProfiles.h"
#include "tests/Samples.h"

#include "origin/codec/OriginFile.h"

#include "llvm/ADT/STLExtras.h"
#include "gtest/gtest.h"

#include <stdexcept>

/// Profiles in terms of a model that is made here.
namespace origo::test {

using namespace report;

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
  static const Written &mobilenet() {
    static const Written model = ofFile("res/mobilenet_v2.origo");
    return model;
  }
  static const Written &digits() {
    static const Written model = ofFile("docs/example-backend/digits.origo");
    return model;
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

inline std::ptrdiff_t count(const Join &join, Match match) {
  return llvm::count_if(join.rows, [&](const JoinedRow &row) { return row.match == match; });
}
inline std::map<std::vector<uint32_t>, uint64_t> byOperators(const Join &join) {
  std::map<std::vector<uint32_t>, uint64_t> times;
  for (const JoinedRow &row : join.rows)
    times[row.operators] += row.ns;
  return times;
}
inline const JoinedRow *rowOf(const Join &join, llvm::StringRef name) {
  auto found = llvm::find_if(join.rows, [&](const JoinedRow &row) { return row.row.rawName == name; });
  return found == join.rows.end() ? nullptr : &*found;
}
inline std::string errorOf(llvm::StringRef text) {
  auto profile = readProfile(text);
  return profile ? "no error" : llvm::toString(profile.takeError());
}
} // namespace origo::test
