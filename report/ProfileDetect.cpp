#include "report/ProfileReaders.h"

#include "ir/Error.h"

#include "llvm/ADT/StringExtras.h"

using namespace origo;
using namespace origo::report;
using llvm::StringRef;

namespace {

struct Format {
  const char *name;
  bool (*looksLike)(StringRef);
  llvm::Error (*read)(StringRef, const ProfileOptions &, Profile &);
  const char *help;
};

bool isJson(StringRef text) {
  StringRef start = text.ltrim(" \t\r\n");
  return start.starts_with("{") || start.starts_with("[");
}
/// What is told from keys is told from their first appearance, before the file is known to be whole.
bool hasKey(StringRef text, StringRef key) { return isJson(text) && text.contains(("\"" + key + "\"").str()); }

bool isText(StringRef text) { return !text.contains('\0'); }

/// In the order of looking.
constexpr Format formats[] = {
    {"benchmark-proto", [](StringRef text) { return isBenchmarkProto(text); }, readBenchmarkProto,
     "benchmark_model --op_profiling_output_mode=proto"},
    {"trace", [](StringRef text) { return hasKey(text, "traceEvents"); }, readChromeTrace,
     "Chrome trace of onert (trace.chrome.json) or of circle-interpreter --profile=FILE"},
    {"onert", [](StringRef text) { return hasKey(text, "Execution_Data") && !text.contains("\"layer_"); },
     readOnertTrace, "onert's trace.json, version 1 to 3"},
    {"snpe", [](StringRef text) { return hasKey(text, "Execution_Data"); }, readSnpe,
     "Qualcomm's snpe_bench.py -json; NOT VERIFIED against its source, only against what others read from it"},
    {"json", isJson, readJson, "a list of objects, or {\"rows\": [...]}; see --columns"},
    {"vela-debug", [](StringRef text) { return text.ltrim().starts_with("<"); }, readVelaDebug,
     "Arm Vela's *_debug.xml: no times, but offsets for --kernels; operators are guessed from type and shape"},
    {"onert-table", [](StringRef text) { return text.ltrim().starts_with("# Session:"); }, readOnertTable,
     "onert's trace.table.md"},
    {"vela",
     [](StringRef text) {
       return text.ltrim(" \"").starts_with("TFLite_operator") || text.ltrim(" \"").starts_with("TOSA_operator");
     },
     readVela, "Arm Vela's *_per-layer.csv of --verbose-performance: estimated cycles; see --clock"},
    {"benchmark", [](StringRef text) { return text.contains("Run Order") || text.contains("Profiling Info for"); },
     readBenchmarkText,
     "benchmark_model --enable_op_profiling=true, what it prints or its CSV file; the layout of LiteRT's newer "
     "--profiling_output_csv_file is NOT VERIFIED"},
    {"csv", [](StringRef text) { return isText(text) && text.split('\n').first.contains(','); }, readCsv,
     "comma-separated values with a head; see --columns"},
};

} // namespace

std::string report::profileFormatHelp() {
  std::string text;
  for (const Format &format : formats)
    text += "  " + std::string(format.name) + std::string(16 - llvm::StringRef(format.name).size(), ' ') + format.help +
            "\n";
  return text;
}

llvm::Expected<Profile> report::readProfile(StringRef bytes, const ProfileOptions &options) {
  const Format *found = nullptr;
  for (const Format &format : formats)
    if (options.format.empty() ? format.looksLike(bytes) : options.format == format.name) {
      found = &format;
      break;
    }
  if (!found && !options.format.empty())
    return makeError("there is no format \"" + printable(options.format, 40) + "\"; --help lists them");
  if (!found)
    return makeError("is no profile of a known format; --help lists them, and --format chooses one");
  Profile profile;
  if (llvm::Error error = found->read(bytes, options, profile))
    return makeError(llvm::toString(std::move(error)) + " (read as " + found->name + ")");
  return profile;
}
