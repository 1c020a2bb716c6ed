#include "tools/FrontDoor.h"

#include "tools/Driver.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace origo::tools {

static std::string folder() {
  static const std::string path = [] {
    static int anchor;
    return llvm::sys::path::parent_path(llvm::sys::fs::getMainExecutable("origo", &anchor)).str();
  }();
  return path;
}

static std::string pathOf(llvm::StringRef tool) { return folder() + "/" + tool.str(); }

static llvm::Error checkTool(llvm::StringRef tool) {
  if (llvm::sys::fs::can_execute(pathOf(tool)))
    return llvm::Error::success();
  return makeError("needs " + tool + ", which does not lie beside origo in " + printable(folder(), 300) +
                   "; install all of Origo, or build the target command_lines");
}

/// Becomes the tool. Only returns where that fails.
static void become(const std::string &path, const std::string &shownName, llvm::ArrayRef<std::string> words) {
  std::vector<std::string> texts = {shownName};
  llvm::append_range(texts, words);
  std::vector<char *> argv;
  for (std::string &text : texts)
    argv.push_back(text.data());
  argv.push_back(nullptr);
  ::execv(path.c_str(), argv.data());
}

static int exitCode(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR)
    ;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + (WIFSIGNALED(status) ? WTERMSIG(status) : 0);
}

/// Whoever ends us means the tool too.
static void endWithParent(pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent)
    ::_exit(1);
}

int runTool(const Call &call, llvm::StringRef tool, llvm::ArrayRef<std::string> words, bool stays) {
  if (llvm::Error error = checkTool(tool))
    return fail(std::move(error));
  std::string path = pathOf(tool), shown = ("origo " + call.command.name).str();
  llvm::outs().flush();
  pid_t self = ::getpid(), child = stays ? ::fork() : 0;
  if (child < 0)
    return fail(llvm::Twine("cannot start ") + tool + ": " + std::strerror(errno));
  if (child == 0) {
    if (stays)
      endWithParent(self);
    become(path, shown, words);
    fail(llvm::Twine("cannot start ") + tool + ": " + std::strerror(errno));
    ::_exit(1);
  }
  return exitCode(child);
}

llvm::Expected<std::string> outputOf(llvm::StringRef tool, llvm::ArrayRef<std::string> words) {
  if (llvm::Error error = checkTool(tool))
    return error;
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return makeError(llvm::Twine("cannot start ") + tool + ": " + std::strerror(errno));
  std::string path = pathOf(tool);
  pid_t self = ::getpid(), child = ::fork();
  if (child == 0) {
    endWithParent(self);
    ::dup2(ends[1], 1);
    become(path, tool.str(), words);
    ::_exit(1);
  }
  ::close(ends[1]);
  std::string text;
  char part[4096];
  for (ssize_t count; (count = ::read(ends[0], part, sizeof(part))) > 0;)
    text.append(part, static_cast<size_t>(count));
  ::close(ends[0]);
  if (child < 0 || exitCode(child) != 0)
    return makeError(tool + " cannot be asked for " + llvm::join(words, " "));
  return text;
}

llvm::Expected<std::vector<OptionRow>> optionsOf(llvm::StringRef tool) {
  auto text = outputOf(tool, {printOptionsWord.str()});
  if (!text)
    return text.takeError();
  return parseOptionTable(*text);
}

std::vector<std::string> installedTools() {
  llvm::SmallVector<llvm::StringRef> names;
  llvm::StringRef(ORIGO_TOOLS).split(names, ',');
  std::vector<std::string> found;
  for (llvm::StringRef name : names)
    if (name != "origo" && llvm::sys::fs::can_execute(pathOf(name)))
      found.push_back(name.str());
  return found;
}

const Command *findCommand(llvm::StringRef name) {
  auto found = llvm::find_if(commands(), [&](const Command &command) { return command.name == name; });
  return found == commands().end() ? nullptr : &*found;
}

std::vector<OptionRow> optionsOf(const Command &command) {
  std::vector<OptionRow> all = command.own;
  for (llvm::StringRef tool : command.tools) {
    auto options = optionsOf(tool);
    if (!options) {
      llvm::consumeError(options.takeError()); // whoever starts the tool says so
      continue;
    }
    for (OptionRow &row : *options)
      if (!llvm::is_contained(command.covered, row.name) && !findOption(all, row.name))
        all.push_back(std::move(row));
  }
  return all;
}

Call::Call(const Command &command, llvm::ArrayRef<std::string> words)
    : command(command), typed(words), known(optionsOf(command)), parts(takeApart(words, known)) {
  for (const Word &part : parts)
    if (part.option.empty())
      arguments.push_back(part.text);
}

bool Call::has(llvm::StringRef option) const {
  return llvm::any_of(parts, [&](const Word &part) { return part.option == option; });
}

bool Call::hasAny(llvm::ArrayRef<llvm::StringRef> options) const {
  return llvm::any_of(options, [&](llvm::StringRef option) { return has(option); });
}

bool Call::hasCategory(llvm::StringRef category) const {
  return llvm::any_of(known, [&](const OptionRow &row) { return row.category == category && has(row.name); });
}

std::optional<std::string> Call::take(llvm::StringRef option) {
  std::optional<std::string> value;
  llvm::erase_if(parts, [&](const Word &part) {
    if (part.option != option)
      return false;
    value = part.value;
    return true;
  });
  return value;
}

std::vector<std::string> Call::options() const {
  std::vector<std::string> words;
  for (const Word &part : parts)
    if (!part.option.empty()) {
      words.push_back(part.text);
      llvm::append_range(words, part.more);
    }
  return words;
}

// Help.

static std::string optionLine(const OptionRow &row) {
  std::string left = "  " + row.spelled();
  std::string value = "<" + (row.value.empty() ? "value" : row.value) + ">";
  switch (row.kind) {
  case OptionRow::Flag:
    break;
  case OptionRow::Value:
    left += row.words > 1 ? std::string(" ") + std::to_string(row.words) + " words" : "=" + value;
    break;
  case OptionRow::Optional:
    left += "[=" + value + "]";
    break;
  case OptionRow::Prefix:
    left += value;
    break;
  }
  constexpr size_t column = 34;
  std::string text = left + (left.size() < column ? std::string(column - left.size(), ' ') : "\n" + std::string(column, ' ')) +
                     "  " + row.help + "\n";
  for (const auto &[name, help] : row.choices)
    text += std::string(column + 4, ' ') + name + (help.empty() ? "" : ": " + help) + "\n";
  return text;
}

std::string helpOf(const Command &command) {
  std::string text = ("origo " + command.name + " " + command.arguments + "\n\n" + command.summary + ".\n\n" + command.help).str();
  std::vector<OptionRow> all = optionsOf(command);
  std::vector<std::string> categories; // in the order in which they come up, the command's own first
  for (const OptionRow &row : all)
    if (!llvm::is_contained(categories, row.category))
      categories.push_back(row.category);
  for (const std::string &name : categories) {
    text += "\n" + (name.empty() ? "Options of this command" : name) + ":\n";
    for (const OptionRow &row : all)
      if (row.category == name)
        text += optionLine(row);
  }
  if (!command.tools.empty()) {
    text += "\nThe work is done by " + command.tools.front().str();
    for (llvm::StringRef tool : llvm::drop_begin(command.tools))
      text += " or " + tool.str();
    text += ", whose options these are.\n";
  }
  return text + "\nExit status: 0 success, 1 bad input or usage, 2 a negative verdict.\n";
}

std::string frontHelp() {
  std::string text = "Optimises, quantises, runs and explains .circle and .tflite models, and knows where everything in them came from.\n\n"
                     "  origo MODEL                  what the model is\n";
  for (const Command &command : commands()) {
    std::string left = ("  origo " + command.name + " " + command.arguments).str();
    constexpr size_t column = 46;
    text += left + (left.size() < column ? std::string(column - left.size(), ' ') : "\n" + std::string(column, ' ')) + " " +
            command.summary.str() + "\n";
  }
  return text + "\nFor example:\n"
                "  origo optimize net.tflite                 writes net.optimized.tflite\n"
                "  origo where conv1/Relu net.optimized.tflite\n"
                "  origo quantize net.tflite --data images.npy\n"
                "\norigo COMMAND --help shows more of each; --json prints for programs.\n"
                "Exit status: 0 success, 1 bad input or usage, 2 a negative verdict.\n";
}

} // namespace origo::tools
