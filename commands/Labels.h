#pragma once

#include "commands/Door.h"
#include "quantize/Records.h"

#include <map>

/// What records show, and how often a classifier finds it.
namespace origo::commands {

/// The class of each record, from a text with a line for each: its number, or the name of its file and the number, as
/// folders of images have it, in the order of names; or from integers in a .npy file.
struct Labels {
  std::vector<int64_t> classes;
  static llvm::Expected<Labels> read(const std::string &path);
};

struct ClassScore {
  uint64_t records = 0, first = 0, amongFive = 0;
  std::map<std::pair<int64_t, int64_t>, uint64_t> mistaken = {}; ///< which class for which
  /// `scores`: of each class. Of equal ones the first is found. Numbers that have no order find none.
  void add(int64_t truth, llvm::ArrayRef<double> scores);
};

/// Runs a model on records that have labels. Of an output the first that has a number for each class counts; records
/// are stored as the model's inputs are.
llvm::Expected<ClassScore> scoreClasses(Model &model, quantize::Records &records, const Labels &labels);

/// A line for the share that is found, and one for each pair of classes of which one was taken for the other, those
/// first that happen more often than before, at most twelve.
std::vector<std::string> scoreWords(const ClassScore &before, const ClassScore &after);

/// What a person's own command says of two models: it gets the path of each as its last word, and its last line on
/// standard output is what it says. An error: it cannot be started, fails, or takes more than an hour.
llvm::Expected<std::string> scoreByCommand(const std::string &command, const std::string &before,
                                           const std::string &after);

} // namespace origo::commands
