#include "tools/Driver.h"

#include "export/Writer.h"
#include "ir/Printable.h"
#include "schema/RunFiles.h"
#include "tools/OptionTable.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/StringSaver.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <sys/mman.h>
#include <sys/time.h>
#include <unistd.h>

namespace origo::tools {

static llvm::StringRef toolName;

/// What to say when a page of the mapped input is gone; put together beforehand, for a signal handler may not.
static char busMessage[512];

static void prepareBusMessage(llvm::StringRef path) {
  std::string line =
      (toolName + ": error: " + printable(path, 300) + ": was truncated while it was being read; nothing is written\n")
          .str();
  std::snprintf(busMessage, sizeof(busMessage), "%s", line.c_str());
}

static void onBusError(int) {
  [[maybe_unused]] ssize_t ignored = ::write(2, busMessage, std::strlen(busMessage));
  llvm::sys::RunInterruptHandlers();
  ::_exit(1);
}

static const char *volatile currentPhase;
static volatile bool progressShown;

/// Every second while the tool runs, on a terminal. Only what a signal handler may do.
static void onTick(int) {
  static int seconds;
  const char *word = currentPhase;
  if (++seconds < 2 || !word)
    return;
  char line[64] = "\r\x1b[K";
  size_t used = 4;
  for (; *word && used < 40; ++word)
    line[used++] = *word;
  for (char c : {',', ' '})
    line[used++] = c;
  char digits[12];
  size_t count = 0;
  for (int n = seconds; n; n /= 10)
    digits[count++] = '0' + n % 10;
  while (count)
    line[used++] = digits[--count];
  for (char c : {' ', 's', '\r'}) // what is printed next begins where the line does
    line[used++] = c;
  progressShown = true;
  [[maybe_unused]] ssize_t ignored = ::write(2, line, used);
}

/// Leaves a clean line for what is printed next.
static void clearProgress() {
  currentPhase = nullptr;
  if (progressShown) {
    [[maybe_unused]] ssize_t ignored = ::write(2, "\r\x1b[K", 4);
  }
}

void phase(const char *word) {
  if (!word)
    clearProgress();
  currentPhase = word;
}

namespace {

struct Output {
  std::string option, path;
};

std::vector<std::string> commandLine; ///< its words

std::vector<Output> named; ///< by options of the command

/// Whatever on the command line may name an input: the words that name no output, and what they are lists of.
std::vector<std::string> possibleInputs(llvm::ArrayRef<Output> outputs) {
  auto valueOf = [](llvm::StringRef word) { return word.starts_with("-") ? word.split('=').second : word; };
  std::vector<std::string> words = commandLine, names;
  for (const Output &output : outputs) {
    auto own = llvm::find_if(words, [&](llvm::StringRef word) { return valueOf(word) == output.path; });
    if (own != words.end())
      words.erase(own);
  }
  for (llvm::StringRef word : words) {
    llvm::SmallVector<llvm::StringRef> parts = {valueOf(word)};
    if (parts[0].contains(','))
      valueOf(word).split(parts, ',');
    names.insert(names.end(), parts.begin(), parts.end());
  }
  return names;
}

} // namespace

llvm::Error checkFiles(const std::string &input, const std::string &output) {
  std::vector<Output> outputs;
  if (!output.empty())
    outputs.push_back({"OUTPUT", output});
  llvm::append_range(outputs, named);
  std::map<FileIdentity, std::string> taken;
  auto source = FileIdentity::of(input);
  for (const std::string &name : possibleInputs(outputs))
    if (auto file = FileIdentity::of(name); file && file->name.empty() && file != source)
      taken.try_emplace(std::move(*file), "is an input");
  for (const Output &one : outputs) {
    auto file = FileIdentity::of(one.path);
    if (!file)
      continue;
    if (file == source && one.option != "OUTPUT")
      return inFile(one.path, makeError("is an input, and " + one.option + " would replace it; give it another name"));
    if (file == source)
      for (const char *beside : {"", ".bin", ".origin.json"}) // what lies beside it goes with it
        if (auto part = FileIdentity::of(one.path + beside))
          mayReplace(*part);
    auto [other, isNew] = taken.try_emplace(std::move(*file), "is written by " + one.option);
    if (!isNew)
      return inFile(one.path,
                    makeError(other->second + ", and " + one.option + " would replace it; give it another name"));
  }
  return llvm::Error::success();
}

/// However the program ends: what was printed is there, or it says that it is not.
static void finishOutput() {
  llvm::outs().flush();
  if (!llvm::outs().has_error())
    return;
  std::string why = llvm::outs().error().message();
  llvm::outs().clear_error();
  fail("cannot write the output: " + why);
  ::_exit(1);
}

void setToolName(llvm::StringRef name) { toolName = name; }

void startTool(llvm::StringRef name) {
  toolName = name;
  protectInputs();
  named.clear();
  llvm::outs(), llvm::errs(); // made before finishOutput is registered, and so gone after it
  std::atexit(finishOutput);
  if (::isatty(2)) {
    struct sigaction tick = {};
    tick.sa_handler = onTick;
    tick.sa_flags = SA_RESTART;
    ::sigaction(SIGALRM, &tick, nullptr);
    itimerval everySecond{{1, 0}, {1, 0}};
    ::setitimer(ITIMER_REAL, &everySecond, nullptr);
    std::atexit(clearProgress);
  }
  struct sigaction action = {};
  action.sa_handler = onBusError;
  ::sigaction(SIGBUS, &action, nullptr);
}

/// What is asked for instead of work; it is shown, and none: there is work to do.
static bool showsItself(const commands::Command &command, llvm::ArrayRef<std::string> words) {
  std::vector<Option> rows = rowsOf(command.options());
  if (words.size() == 1 && words[0] == printOptionsWord) {
    printOptionTable(rows);
    return true;
  }
  for (const Word &word : takeApart(words, rows)) {
    llvm::StringRef option = word.option;
    if (option == "h" || option == "help" || option.starts_with("help-")) {
      rows.push_back(flagRow("help", "Shows this"));
      rows.push_back(flagRow("version", "Shows the version"));
      llvm::outs() << "OVERVIEW: " << command.overview << "\nUSAGE: " << command.name << " [options] "
                   << command.arguments << "\n\nOPTIONS:\n"
                   << helpOf(rows);
      return true;
    }
    if (option == "version") {
      llvm::outs() << toolName << " (origo) " ORIGO_VERSION "\n";
      return true;
    }
  }
  return false;
}

int main(int argc, char **argv, const commands::Command &command) {
  startTool(llvm::StringRef(argv[0]).starts_with("origo ") ? llvm::StringRef(argv[0]) : command.name);
  llvm::BumpPtrAllocator memory;
  llvm::StringSaver saver(memory);
  llvm::SmallVector<const char *> given(argv + 1, argv + argc);
  llvm::cl::ExpandResponseFiles(saver, llvm::cl::TokenizeGNUCommandLine, given);
  commandLine.assign(given.begin(), given.end());
  if (showsItself(command, commandLine))
    return 0;
  std::vector<std::string> arguments;
  std::shared_ptr<void> request = command.fresh();
  if (llvm::Error error = commands::parse(command.options(), request.get(), commandLine, arguments))
    return fail(std::move(error));
  for (const commands::Option &option : command.options())
    if (option.writes)
      for (const std::string &path : option.get(request.get()))
        named.push_back({option.spelled(), path});
  if (llvm::Error error = checkFiles())
    return fail(std::move(error));
  commands::Verdict verdict = commands::Verdict::Holds;
  int status = 0;
  if (llvm::Error error = command.run(request.get(), arguments, door(), verdict))
    status = fail(std::move(error));
  return verdict == commands::Verdict::Refused ? 2 : status;
}

namespace {

/// On a terminal, how far it is and how long it still takes.
class Progress {
public:
  /// `parts`: of which one is done here.
  void operator()(uint64_t done, uint64_t all, uint64_t parts);

private:
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now(), shown = start;
};

void Progress::operator()(uint64_t done, uint64_t all, uint64_t parts) {
  using namespace std::chrono;
  auto now = steady_clock::now();
  if (!::isatty(2) || (now - shown < seconds(1) && done != all))
    return;
  shown = now;
  double passed = duration<double>(now - start).count(), left = passed / done * (all - done);
  phase(nullptr); // which would write over it
  llvm::errs() << llvm::format("\r\x1b[Krecord %llu of %llu, %.0f s left", static_cast<unsigned long long>(done),
                               static_cast<unsigned long long>(all), left);
  if (done + parts > all)
    llvm::errs() << "\r\x1b[K";
}

} // namespace

commands::Door door() {
  return {[](llvm::StringRef name) { return (name.size() == 1 ? "-" : "--") + name.str(); },
          [](const llvm::Twine &text) { note(text); },
          phase,
          prepareBusMessage,
          checkFiles,
          Progress()};
}

llvm::Expected<Imported> load(llvm::StringRef path, const ImportOptions &options, PayloadStore &store) {
  return commands::load(path, options, store, door());
}

llvm::Error save(Imported &imported, llvm::StringRef path, ExportOptions options) {
  return commands::save(imported, path, options, door());
}

int fail(llvm::Error error) {
  // Several failures of one cause are still one line each.
  llvm::handleAllErrors(std::move(error), [](const llvm::ErrorInfoBase &e) { fail(llvm::Twine(e.message())); });
  return 1;
}

int fail(const llvm::Twine &message) {
  clearProgress();
  llvm::errs() << toolName << ": error: " << printableWords(message.str()) << '\n';
  return 1;
}

void note(const llvm::Twine &message) {
  clearProgress();
  llvm::errs() << toolName << ": note: " << printableWords(message.str()) << '\n';
}

} // namespace origo::tools
