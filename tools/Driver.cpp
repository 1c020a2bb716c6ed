#include "tools/Driver.h"

#include "export/Writer.h"
#include "ir/text/Text.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <sys/time.h>
#include <unistd.h>

namespace origo::tools {

static llvm::StringRef toolName;

std::optional<FileKind> kindOf(llvm::StringRef path) {
  llvm::StringRef extension = llvm::sys::path::extension(path);
  if (extension == ".circle")
    return FileKind::Circle;
  if (extension == ".tflite")
    return FileKind::Tflite;
  if (extension == ".origo")
    return FileKind::Text;
  return std::nullopt;
}

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
  for (char c : {' ', 's'})
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

void phase(const char *word) { currentPhase = word; }

void parseOptions(int argc, char **argv, llvm::StringRef overview) {
  std::string text;
  llvm::raw_string_ostream errors(text);
  if (llvm::cl::ParseCommandLineOptions(argc, argv, overview, &errors))
    return;
  // LLVM has already printed what is wrong with an option's value. Of the rest, the first line without its tail.
  llvm::StringRef line = llvm::StringRef(text).split('\n').first;
  line.consume_front((llvm::sys::path::filename(argv[0]) + ": ").str());
  line = line.split("  Try:").first;
  if (!line.empty())
    fail(line.trim(" .!") + "; --help shows examples");
  std::exit(1);
}

std::vector<char *> withStatistics(int argc, char **argv) {
  static std::deque<std::string> texts;
  std::vector<char *> arguments(argv, argv + argc);
  for (char *&argument : arguments) {
    llvm::StringRef rest = argument;
    if (!rest.consume_front("--stats") && !rest.consume_front("-stats"))
      continue;
    if (rest.empty() || rest[0] == '=')
      argument = texts.emplace_back("--statistics" + rest.str()).data();
  }
  return arguments;
}

void start(llvm::StringRef tool) {
  toolName = tool;
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

llvm::Expected<Imported> load(llvm::StringRef path, const ImportOptions &options, PayloadStore &store) {
  phase("reading");
  prepareBusMessage(path);
  if (kindOf(path) != FileKind::Text)
    return importModel(path, options);
  llvm::Expected<std::shared_ptr<MappedFile>> file = MappedFile::open(path);
  if (!file)
    return file.takeError();
  llvm::ArrayRef<uint8_t> bytes = (*file)->bytes();
  llvm::Expected<std::unique_ptr<Model>> model = parseText({reinterpret_cast<const char *>(bytes.data()), bytes.size()},
                                                           llvm::sys::path::parent_path(path), store);
  if (!model)
    return inFile(path, model.takeError());
  Imported imported;
  imported.model = std::move(*model);
  imported.model->keep(*file);
  imported.model->becomeSource();
  auto listing = listingOf(*imported.model, imported.model->format);
  if (!listing)
    return inFile(path, listing.takeError());
  (*listing)->file = llvm::sys::path::filename(path).str();
  imported.lineage.source = *listing;
  return imported;
}

static llvm::Error saveText(Model &model, llvm::StringRef path) {
  IgnoreWriteSignals guard;
  llvm::Expected<std::unique_ptr<OutputFile>> file = OutputFile::open(path);
  if (!file)
    return file.takeError();
  PrintOptions options;
  options.origins = true;
  if (!(*file)->isStream())
    options.dataFile = path.str() + ".bin";
  {
    OutputStream os(**file);
    if (llvm::Error error = writeText(model, os, options))
      return error;
  }
  if (llvm::Error error = (*file)->finish())
    return error;
  return OutputFile::commit({file->get()});
}

llvm::Error save(Imported &imported, llvm::StringRef path, ExportOptions options) {
  phase("writing");
  if (kindOf(path) == FileKind::Text)
    return saveText(*imported.model, path);
  return exportModel(*imported.model, imported.lineage, path, options);
}

llvm::Error rewriteFile(const std::string &input, const std::string &output,
                        llvm::function_ref<llvm::Error(Imported &imported, PayloadStore &store)> change) {
  llvm::StringRef directory = llvm::sys::path::parent_path(output);
  PayloadStore store(directory.empty() ? "." : directory.str());
  llvm::Expected<Imported> imported = load(input, {}, store);
  if (!imported)
    return imported.takeError();
  for (const std::string &text : imported->notes)
    note(text);
  if (llvm::Error error = change(*imported, store))
    return inFile(input, std::move(error));
  ExportOptions options;
  options.format = kindOf(output) == FileKind::Tflite ? Format::Tflite : Format::Circle;
  if (output != "-")
    options.originJson = output + ".origin.json";
  return save(*imported, output, options);
}

int fail(llvm::Error error) {
  // Several failures of one cause are still one line each.
  llvm::handleAllErrors(std::move(error), [](const llvm::ErrorInfoBase &e) { fail(llvm::Twine(e.message())); });
  return 1;
}

int fail(const llvm::Twine &message) {
  clearProgress();
  llvm::errs() << toolName << ": error: " << message << '\n';
  return 1;
}

void note(const llvm::Twine &message) {
  clearProgress();
  llvm::errs() << toolName << ": note: " << message << '\n';
}

} // namespace origo::tools
