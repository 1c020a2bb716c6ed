#pragma once

#include "commands/Config.h"
#include "tools/OptionTable.h"

/// The steps of ONE's toolchain, one-optimize and so on: what a section of a .cfg file, or a command line, asks for.
namespace origo::tools {

using commands::groupOf, commands::isSwitchedOn, commands::readConfigFile, commands::readGroup, commands::Section;
using Words = std::vector<std::string>;

/// What a step is to do: its keys, from the file and, going first, from the command line.
struct OneStep {
  std::string name;
  Section keys;
  Words rest;        ///< words of the command line that go to the tool as they are
  std::string file;  ///< the .cfg file; empty: none
  std::string group; ///< of one-optimize: O1, or what readGroup() knows; empty: none

  std::string get(const std::string &key, const std::string &otherwise = "") const;
  bool on(const std::string &key) const { return isSwitchedOn(get(key)); }
  Words lines(const std::string &key) const; ///< of what may be given several times
  llvm::Error lacks(const llvm::Twine &what) const;
};

/// A key of a section, which is an option of the step's command line too.
struct StepKey {
  llvm::StringRef name;
  enum Kind { Value, Lines, Switch } kind;
  llvm::StringRef help;
};

/// The rows of a command as keys, but those that are there already.
void addKeys(std::vector<StepKey> &keys, const commands::Command &command);

struct StepKind {
  llvm::StringLiteral name, verb;          ///< verb: what onecc calls it; empty: nothing
  llvm::Error (*run)(const OneStep &step); ///< null: refused
  llvm::StringLiteral what;                ///< it does, or why it is refused
  llvm::ArrayRef<StepKey> keys = {};
  bool otherWords = false; ///< keys and words that are not among them are for another program
  bool makesModel = false; ///< output_path from input_path
};
/// In the order in which they run, whatever the order of the file.
llvm::ArrayRef<StepKind> stepKinds();
const StepKind *findStep(llvm::StringRef name);

/// Notes keys that the step does not know, but those that `everywhere` has, and switches that are not what they seem.
llvm::Error runStep(const OneStep &step, const Section &everywhere = {});

/// What the steps share: runs a command and keeps its first line and what it says beside the output, as ONE does.
llvm::Error startCommand(const OneStep &step, const Words &words, const std::string &output);
/// What follows `key` on a command line, with quotes as in a shell.
Words splitWords(llvm::StringRef text);
llvm::Expected<std::pair<std::string, std::string>> stepPaths(const OneStep &step);

/// Of a step as a command line of its own, or of onecc, whose name is that of no step.
std::vector<Option> optionsOfStep(llvm::StringRef tool);
std::string overviewOfStep(llvm::StringRef tool);
/// What main returns for them.
int oneDriver(int argc, char **argv, llvm::StringRef name);

llvm::ArrayRef<StepKey> quantizeKeys();
llvm::Error quantizeStep(const OneStep &step);

} // namespace origo::tools
