#pragma once

#include "commands/Door.h"
#include "commands/Option.h"
#include "origin/codec/OriginFile.h"
#include "report/join/Print.h"
#include "report/join/Split.h"

/// The part of origin-dump that brings profiles into the terms of the source.
namespace origo::commands {

enum class JoinSort { Id, Change, A, B };
template <>
inline constexpr auto choicesOf<JoinSort> =
    std::to_array<ChoiceOf<JoinSort>>({{"id", JoinSort::Id, "the number of the source operator"},
                                       {"change", JoinSort::Change, "falling change (default of --compare)"},
                                       {"a", JoinSort::A, "falling time; of --compare, that of A"},
                                       {"b", JoinSort::B, "of --compare, the time of B"}});
using report::SplitRule;
template <>
inline constexpr auto choicesOf<SplitRule> = std::to_array<ChoiceOf<SplitRule>>(
    {{"macs", SplitRule::Macs, "multiply-accumulates, at least 1 each (default)"},
     {"bytes", SplitRule::Bytes, "bytes read and written"},
     {"equal", SplitRule::Equal, "their number"},
     {"measured", SplitRule::Measured, "what they took in the profile of the source, --source-profile"}});
using report::By;
template <>
inline constexpr auto choicesOf<By> = std::to_array<ChoiceOf<By>>(
    {{"row", By::Row, "the rows of the profile (default)"},
     {"operator", By::Operator, "source operators"},
     {"type", By::Type, "types of source operators"},
     {"scope", By::Scope, "scopes in their names, block3/, block3/conv/; each level adds up to the total"},
     {"line", By::Line, "lines of the program that made the model, where its exporter wrote them (ONNX)"},
     {"file", By::File, "files of that program"},
     {"pass", By::Pass, "passes; with --source-profile, what each saved"}});

struct JoinRequest {
  std::optional<std::string> profile;
  bool compare = false;
  std::string format, trace, names, kernels, runtimeInfo, sourceProfile, times, errors, layers;
  std::optional<std::string> clock;
  std::vector<std::string> columns;
  std::optional<SplitRule> split;
  std::optional<By> by;
  std::optional<unsigned> top;
  std::optional<JoinSort> sort;
};

/// What --format may be; several formats may be one tool's.
std::vector<Choice> profileFormatChoices();

/// The rows of a request whose member `Join` is a JoinRequest.
constexpr Option ofProfiles{.category = "Profiles"};
template <auto Join>
constexpr std::array joinOptions{
    option<Join, &JoinRequest::profile>(
        "join", "PROFILE", "Bring a profile of MODEL into the terms of its source; with --json or --csv", ofProfiles),
    option<Join, &JoinRequest::format>("format", "NAME",
                                       "Read the profile as that, instead of telling from its content",
                                       {.category = ofProfiles.category, .choices = profileFormatChoices}),
    option<Join, &JoinRequest::split>("split", "", "Divide an operator's time among its origins by", ofProfiles),
    option<Join, &JoinRequest::by>("by", "", "The lines of the table and of --csv are", ofProfiles),
    option<Join, &JoinRequest::top>("top", "N", "Only the N lines of the table that cost or changed most", ofProfiles),
    option<Join, &JoinRequest::sort>("sort", "", "The lines of the table go by", ofProfiles),
    option<Join, &JoinRequest::trace>("trace", "FILE", "Write a trace for Perfetto with origins in it as well",
                                      {.category = ofProfiles.category, .writes = true}),
    option<Join, &JoinRequest::compare>("compare",
                                        "Compare MODEL and OUTPUT, two results of one source or two files that --join "
                                        "--json wrote, by source operator",
                                        ofProfiles),
    option<Join, &JoinRequest::times>("times", "A,B", "With --compare of results: what --join --json wrote of each",
                                      ofProfiles),
    option<Join, &JoinRequest::errors>("errors", "A,B", "With --compare of results: what visq --json wrote of each",
                                       ofProfiles),
    option<Join, &JoinRequest::columns>("columns", "ROLE=TITLE,…",
                                        "Which columns of a table (formats csv, json) are what", ofProfiles),
    option<Join, &JoinRequest::clock>("clock", "MHZ", "How fast the clock is that cycles are counted in (default 1000)",
                                      ofProfiles),
    option<Join, &JoinRequest::names>(
        "names", "FILE", "CSV file of two columns: a layer's name in the profile, a tensor's in the model", ofProfiles),
    option<Join, &JoinRequest::kernels>("kernels", "FILE", "Table of a code generator's kernels and their offsets",
                                        ofProfiles),
    option<Join, &JoinRequest::layers>("layers", "TRACE",
                                       "Of perf script's samples: what circle-interpreter --profile=TRACE wrote in the "
                                       "same run; with perf record -k CLOCK_MONOTONIC",
                                       ofProfiles),
    option<Join, &JoinRequest::runtimeInfo>(
        "runtime-info", "FILE", "benchmark_model's --model_runtime_info_output_file: what delegates replaced",
        ofProfiles),
    option<Join, &JoinRequest::sourceProfile>("source-profile", "PROFILE", "A profile of the source model", ofProfiles),
};

/// What the rest of the command line says, for --join and --compare.
struct JoinContext {
  const JoinRequest &request;
  const Door &door;
  const std::string &model;  ///< its path, for messages
  const std::string &source; ///< path of the source model; empty: not given
  bool json, csv, full;
};

/// A model that carries no map is its own source: each operator comes from itself.
origin::OriginMap ownSource(const origin::ModelFile &file, const std::string &path);
llvm::Error joinProfile(origin::OriginFile &file, const JoinContext &context);
llvm::Error compareWith(const std::string &other, const JoinContext &context);

} // namespace origo::commands
