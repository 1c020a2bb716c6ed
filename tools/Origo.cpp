/// One command in front of the others. Its table is in Commands.cpp.

#include "commands/Comparison.h"
#include "tools/Driver.h"
#include "tools/FrontDoor.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

namespace origo::tools {

/// What an unknown word may have been meant for.
static std::string guess(llvm::StringRef word) {
  unsigned best = 4;
  llvm::StringRef name;
  for (const Command &command : frontCommands())
    if (unsigned distance = word.edit_distance(command.name, true, best); distance < best) {
      best = distance;
      name = command.name;
    }
  return name.empty() ? "origo --help names the commands" : "did you mean " + name.str() + "?";
}

static int describeModel(llvm::ArrayRef<std::string> words) {
  bool json = false, tooMany = false;
  std::string model;
  for (const std::string &word : words) {
    if (word == "--json")
      json = true;
    else if (word != "-" && llvm::StringRef(word).starts_with("-"))
      return fail("there is no option " + printable(word, 60) + "; --help lists them");
    else if (!model.empty())
      tooMany = true;
    else
      model = word;
  }
  if (!kindOf(model) && model != "-" && !llvm::sys::fs::exists(model))
    return fail("there is no command and no file \"" + printable(model, 60) + "\"; " + guess(model));
  if (tooMany)
    return fail("there are too many arguments; --help shows examples");
  auto facts = commands::factsOf(model, door());
  if (!facts)
    return fail(facts.takeError());
  phase(nullptr);
  for (const std::string &text : facts->notes)
    note(text);
  JsonOutput os;
  if (json)
    commands::describeJson(*facts, os);
  else
    commands::describe(*facts, llvm::outs());
  return 0;
}

int frontDoor(int argc, char **argv) {
  startTool("origo");
  std::vector<std::string> words(argv + 1, argv + argc);
  if (words.empty() || words[0] == "--help" || words[0] == "-h" || words[0] == "-help") {
    llvm::outs() << frontHelp();
    return 0;
  }
  if (words[0] == "--version") {
    llvm::outs() << "origo (origo) " ORIGO_VERSION "\n";
    return 0;
  }
  const Command *command = findCommand(words[0]);
  if (!command)
    return describeModel(words);
  words.erase(words.begin());
  static std::string name;
  name = ("origo " + command->name).str();
  setToolName(name);
  auto end = llvm::find(words, "--"); // behind it are no options of ours
  if (std::find_if(words.begin(), end, [](const std::string &word) { return word == "--help" || word == "-h"; }) !=
      end) {
    llvm::outs() << helpOf(*command);
    return 0;
  }
  Call call(*command, words);
  if (std::string what = call.unknown(); !what.empty())
    return fail(what);
  return command->run(call);
}

} // namespace origo::tools
