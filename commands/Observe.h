#pragma once

#include "commands/Door.h"
#include "commands/History.h"
#include "export/Writer.h"
#include "import/Import.h"

#include "llvm/Support/raw_ostream.h"

/// What circle2circle shows of a run: every option is a way to look at the numbered rewrites.
namespace origo::commands {

struct ObserveOptions {
  std::string trace;   ///< file of JSON lines, one a rewrite
  std::string history; ///< file for origin-view
  std::string remarks; ///< file of what was left undone: .json, else a text
  std::string hot;     ///< what origin-dump --join --json wrote: what takes time comes first
  bool stats = false, timePasses = false;
  std::string explain;                 ///< name or id of a source operator
  std::vector<std::string> printAfter; ///< passes
  bool printChanged = false;
};

class Observer {
public:
  static llvm::Expected<std::unique_ptr<Observer>> create(const ObserveOptions &options, Imported &imported,
                                                          const Door &door);
  /// Adds what looks on to the options of a run.
  void attach(PipelineOptions &run);
  ~Observer(); ///< a run that fails has a trace all the same, for it shows how far it came
  /// Prints what is told at the end.
  llvm::Error finish(llvm::raw_ostream &os);

private:
  Observer(const ObserveOptions &options, Imported &imported, const Door &door)
      : options(options), imported(imported), door(door) {}
  const ObserveOptions &options;
  Imported &imported;
  const Door &door;
  std::unique_ptr<OutputFile> traceFile;
  std::unique_ptr<OutputStream> trace;
  std::unique_ptr<OutputFile> historyFile;
  std::unique_ptr<OutputStream> historyStream;
  std::unique_ptr<HistoryRecorder> history;
  std::vector<RuleStatistics> statistics;
  std::vector<uint32_t> explained; ///< source ids
  struct Attempt {
    llvm::StringRef pass, rule;
    std::string reason; ///< empty reason: applied
    std::string op;
    unsigned times;
  };
  std::vector<std::vector<Attempt>> attempts; ///< by index in `explained`

  llvm::Error findExplained();
  llvm::Error commitTrace();
  void onRewrite(const RewriteEvent &event);
  void onAttempt(const Operator &op, IdSet origins, const Pass &pass, const Rule &rule, llvm::StringRef reason);
  void writeTrace(const RewriteEvent &event);
  void printStatistics(llvm::raw_ostream &os) const;
  void printTimes(llvm::raw_ostream &os) const;
  void printExplained(llvm::raw_ostream &os) const;
};

} // namespace origo::commands
