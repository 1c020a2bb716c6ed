#include "tools/FrontDoor.h"

#include "tools/Driver.h"
#include "tools/OneSteps.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

#include <cstring>

namespace origo::tools {

int runTool(const Call &call, llvm::StringRef tool, llvm::ArrayRef<std::string> words, Then then) {
  if (llvm::Error error = checkTool(tool))
    return fail(std::move(error));
  std::string shown = ("origo " + call.command.name).str();
  llvm::outs().flush();
  if (then != Then::Ends) {
    auto status = runAs(toolPath(tool), shown, words, then == Then::GoesOnSilently);
    return status ? *status : fail(status.takeError());
  }
  commands::become(toolPath(tool), shown, words);
  return fail("cannot start " + tool + ": " + std::strerror(errno));
}

std::vector<Option> optionsOf(llvm::StringRef tool) {
  const commands::Command *command = commands::findCommand(tool);
  return command ? rowsOf(command->options()) : optionsOfStep(tool);
}

std::vector<std::string> installedTools() {
  llvm::SmallVector<llvm::StringRef> names;
  llvm::StringRef(ORIGO_TOOLS).split(names, ',');
  std::vector<std::string> found;
  for (llvm::StringRef name : names)
    if (name != "origo" && llvm::sys::fs::can_execute(toolPath(name)))
      found.push_back(name.str());
  return found;
}

const Command *findCommand(llvm::StringRef name) {
  auto found = llvm::find_if(frontCommands(), [&](const Command &command) { return command.name == name; });
  return found == frontCommands().end() ? nullptr : &*found;
}

std::vector<Option> optionsOf(const Command &command, bool withCovered) {
  std::vector<Option> all = command.own;
  for (llvm::StringRef tool : command.tools)
    for (Option &row : optionsOf(tool))
      if ((withCovered || !llvm::is_contained(command.covered, row.name)) && !findOption(all, row.name))
        all.push_back(std::move(row));
  return all;
}

Call::Call(const Command &command, llvm::ArrayRef<std::string> words)
    : command(command), typed(words), known(optionsOf(command, true)), parts(takeApart(words, known)) {
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
  return llvm::any_of(known, [&](const Option &row) { return row.category == category && has(row.name); });
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

std::string Call::unknown() const {
  if (llvm::any_of(command.tools, [](llvm::StringRef tool) { return llvm::errorToBool(checkTool(tool)); }))
    return ""; // whoever starts it says so
  for (const Word &part : parts) {
    llvm::StringRef name = part.option;
    bool isKnown = name.empty() || findOption(known, name) || name == "stats" || name == "version" ||
                   name.starts_with("help") || name.starts_with("print-") ||
                   llvm::any_of(known, [&](const Option &row) { return row.prefix && name.starts_with(row.name); });
    if (isKnown)
      continue;
    std::string text = "there is no option " + printable(llvm::StringRef(part.text).split('=').first, 60), nearest;
    unsigned least = 4;
    for (const Option &row : known)
      if (unsigned distance = name.edit_distance(row.name, true, least); distance < least)
        least = distance, nearest = row.spelled();
    return text + "; " +
           (nearest.empty() ? ("origo " + command.name + " --help lists them").str() : "did you mean " + nearest + "?");
  }
  return "";
}

std::vector<std::string> Call::options(llvm::function_ref<bool(llvm::StringRef)> chosen) const {
  std::vector<std::string> words;
  for (const Word &part : parts)
    if (!part.option.empty() && (!chosen || chosen(part.option))) {
      words.push_back(part.text);
      llvm::append_range(words, part.more);
    }
  return words;
}

// Help.

std::string helpOf(const Command &command) {
  std::string text =
      ("origo " + command.name + " " + command.arguments + "\n\n" + command.summary + ".\n\n" + command.help).str();
  text += helpOf(optionsOf(command));
  if (!command.tools.empty()) {
    text += "\nThe work is done by " + command.tools.front().str();
    for (llvm::StringRef tool : llvm::drop_begin(command.tools))
      text += " or " + tool.str();
    text += ", whose options these are.\n";
  }
  return text + "\nExit status: 0 success, 1 bad input or usage, 2 a negative verdict.\n";
}

std::string frontHelp() {
  std::string text = "Optimises, quantises, runs and explains .circle and .tflite models, and knows where everything "
                     "in them came from.\n\n"
                     "  origo MODEL                  what the model is\n";
  for (const Command &command : frontCommands()) {
    std::string left = ("  origo " + command.name + " " + command.arguments).str();
    constexpr size_t column = 46;
    text += left + (left.size() < column ? std::string(column - left.size(), ' ') : "\n" + std::string(column, ' ')) +
            " " + command.summary.str() + "\n";
  }
  return text + "\nFor example:\n"
                "  origo optimize net.tflite                 writes net.optimized.tflite\n"
                "  origo where conv1/Relu net.optimized.tflite\n"
                "  origo quantize net.tflite --data images.npy\n"
                "\norigo COMMAND --help shows more of each; --json prints for programs.\n"
                "Exit status: 0 success, 1 bad input or usage, 2 a negative verdict.\n";
}

} // namespace origo::tools
