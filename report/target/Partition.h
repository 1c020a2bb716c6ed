#pragma once

#include "report/target/Target.h"

#include "llvm/ADT/STLFunctionalExtras.h"

/// A model divided between a target and whatever takes the rest, with the files of ONE's circle-partitioner.
namespace origo::report {

/// Operators of the first subgraph, in execution order, that one back end runs together.
struct Region {
  std::string backend;
  std::vector<Operator *> operators;
};

/// Greedily, each region takes what can run by then, so there may be more than necessary. In an order in which they
/// can run: what a region needs comes from earlier ones. Refuses to divide what shares state.
llvm::Expected<std::vector<Region>> partition(Model &model, llvm::ArrayRef<std::string> backends,
                                              llvm::function_ref<unsigned(const Operator &)> backendOf);
/// What the target takes, and the rest.
llvm::Expected<std::vector<Region>> partition(Model &model, const Target &target, llvm::StringRef backend,
                                              llvm::StringRef fallback);

/// A .part file of circle-partitioner: back ends of operators, by the name of their first output or by kind.
struct PartFile {
  std::vector<std::string> backends;
  std::string fallback; ///< takes the rest; empty: the first one
  bool byName = false;
  std::map<std::string, std::string> rows;
};
std::vector<std::string> namesIn(llvm::StringRef list); ///< separated by commas
llvm::Expected<PartFile> readPart(llvm::StringRef text);
/// `unused`: rows that are about nothing in the model.
llvm::Expected<std::vector<Region>> partition(Model &model, const PartFile &part, std::vector<std::string> &unused);

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
