#include "report/profile/Readers.h"

#include "ir/Error.h"

#include "llvm/ADT/StringExtras.h"

using namespace origo;
using namespace origo::report;
using llvm::StringRef;

namespace {

struct ProfileFormat {
  const char *tool;
  bool (*looksLike)(StringRef);
  llvm::Error (*read)(StringRef, const ProfileOptions &, Profile &);
  const char *help;
};

bool isJson(StringRef text) {
  StringRef start = text.ltrim(" \t\r\n");
  return start.starts_with("{") || start.starts_with("[");
}
/// What is told from keys is told from their appearance anywhere, before the file is known to be whole.
bool hasKey(StringRef text, StringRef key) { return isJson(text) && text.contains(("\"" + key + "\"").str()); }

bool isTrace(StringRef text) { return hasKey(text, "traceEvents") || hasKey(text, "ph"); }
bool isOwnTrace(StringRef text) { return isTrace(text) && text.contains("\"dur\""); }
bool isSnpe(StringRef text) { return hasKey(text, "Execution_Data") && text.contains("\"layer_"); }
bool isExecutionData(StringRef text) { return hasKey(text, "Execution_Data"); }
bool isOnertTable(StringRef text) { return text.ltrim().starts_with("# Session:"); }
bool isXml(StringRef text) { return text.ltrim().starts_with("<"); }
bool isVela(StringRef text) {
  StringRef start = text.ltrim(" \"\r\n");
  return start.starts_with("TFLite_operator") || start.starts_with("TOSA_operator");
}
bool isBenchmark(StringRef text) {
  StringRef start = text.ltrim(" \t\r\n[");
  return text.contains("Run Order") || text.contains("Profiling Info for") || start.starts_with("node type");
}
bool isCsv(StringRef text) {
  return !text.contains('\0') && text.split('\n').first.find_first_of(",;\t") != StringRef::npos;
}

/// In the order of looking. A tool's last format is what --format takes a file for that looks like none of them.
constexpr ProfileFormat formats[] = {
    {"benchmark_model", isBenchmarkProto, readBenchmarkProto, "--op_profiling_output_mode=proto"},
    {"circle-interpreter", isOwnTrace, readChromeTrace,
     "--profile=FILE; and traces whose events are called KIND@OPERATOR/SUBGRAPH (ATrace), or as tensors"},
    {"onert", isTrace, readChromeTrace, "trace.chrome.json"},
    {"snpe", isSnpe, readSnpe,
     "snpe_bench.py -json; NOT VERIFIED against its source, only against what others read from it"},
    {"onert", isExecutionData, readOnertTrace, "trace.json, version 1 to 3"},
    {"json", isJson, readJson, "a list of objects, or {\"rows\": [...]}; see --columns"},
    {"vela", isXml, readVelaDebug,
     "*_debug.xml: no times, but offsets for --kernels; operators are guessed from type and shape"},
    {"onert", isOnertTable, readOnertTable, "trace.table.md"},
    {"vela", isVela, readVela, "*_per-layer.csv of --verbose-performance: estimated cycles; see --clock"},
    {"benchmark_model", isBenchmark, readBenchmarkText,
     "--enable_op_profiling=true, what it prints, also through logcat, or its CSV file; the layout of LiteRT's newer "
     "--profiling_output_csv_file is NOT VERIFIED"},
    {"csv", isCsv, readCsv, "comma-separated values (or \";\", or tabs) with a head; see --columns"},
};

} // namespace

std::string report::profileFormatHelp() {
  std::string text;
  for (const ProfileFormat &format : formats)
    text += "  " + std::string(format.tool) + std::string(20 - StringRef(format.tool).size(), ' ') + format.help + "\n";
  return text;
}

llvm::Expected<Profile> report::readProfile(StringRef bytes, const ProfileOptions &options) {
  bytes.consume_front("\xef\xbb\xbf"); // what some editors put in front of UTF-8
  if (bytes.starts_with("\xff\xfe") || bytes.starts_with("\xfe\xff"))
    return makeError("is text in UTF-16; convert it to UTF-8");
  const ProfileFormat *found = nullptr;
  for (const ProfileFormat &format : formats) {
    bool named = options.format == format.tool;
    if (!named && !options.format.empty())
      continue;
    if (format.looksLike(bytes)) {
      found = &format;
      break;
    }
    if (named)
      found = &format;
  }
  if (!found && !options.format.empty())
    return makeError("there is no format \"" + printable(options.format, 40) + "\"; --help lists them");
  if (!found)
    return makeError("is no profile of a known format; --help lists them, and --format chooses one");
  Profile profile;
  if (llvm::Error error = found->read(bytes, options, profile))
    return makeError(llvm::toString(std::move(error)) + " (read as " + found->tool + ")");
  return profile;
}
