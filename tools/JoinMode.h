#pragma once

#include "origin/codec/OriginFile.h"

#include "llvm/Support/CommandLine.h"

/// The part of origin-dump that brings profiles into the terms of the source.
namespace origo::tools {

/// The options of --join and --compare.
llvm::cl::OptionCategory &joinCategory();
bool wantsJoin();
bool wantsCompare();
/// An option that means something with --join only, given without it; empty: there is none.
std::string strayJoinOption();

struct JoinModeOptions {
  std::string model;  ///< its path, for messages
  std::string source; ///< path of the source model; empty: not given
  bool json = false, csv = false, full = false;
};
/// A model that carries no map is its own source: each operator comes from itself.
void becomeOwnSource(origin::OriginFile &file, const std::string &path);
/// The exit code.
int runJoin(origin::OriginFile &file, const JoinModeOptions &options);
int runCompare(const std::string &other, const JoinModeOptions &options);

/// The part of --help that is about profiles.
std::string joinHelp();

} // namespace origo::tools
