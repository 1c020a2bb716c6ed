#pragma once

#include "report/target/Target.h"

/// A model divided between a target and whatever takes the rest, with the files of ONE's circle-partitioner.
namespace origo::report {

/// Operators of the first subgraph, in execution order, that one back end runs together.
struct Region {
  std::string backend;
  std::vector<Operator *> operators;
};

/// Greedily, each region takes what can run by then, so there may be one more than necessary. In an order in which they
/// can run: what a region needs comes from earlier ones. Refuses to divide what shares state.
llvm::Expected<std::vector<Region>> partition(Model &model, const Target &target, llvm::StringRef backend,
                                              llvm::StringRef fallback);

/// A model or one of its parts, for the files that tell how parts are connected.
struct Ports {
  std::string file;
  std::vector<std::string> inputs, outputs; ///< names of tensors
};

/// NAME.part: which operator goes where, by the names of their first outputs. Those whose names cannot stand there go
/// to `unnamed`.
std::string partText(llvm::ArrayRef<Region> regions, llvm::StringRef backend, llvm::StringRef fallback,
                     std::vector<const Operator *> &unnamed);
/// NAME.conn.ini and NAME.conn.json.
std::string connectionsIni(const Ports &source, llvm::ArrayRef<Ports> parts);
std::string connectionsJson(const Ports &source, llvm::ArrayRef<Ports> parts);

Ports portsOf(const Model &model, llvm::StringRef file);

} // namespace origo::report
