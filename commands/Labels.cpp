#include "commands/Labels.h"

#include "commands/Process.h"
#include "eval/Npy.h"
#include "eval/RealNumbers.h"
#include "eval/Session.h"
#include "ir/OpenFile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>

namespace origo::commands {

namespace {

llvm::Expected<Labels> ofText(llvm::StringRef text) {
  std::vector<std::pair<std::string, int64_t>> named;
  Labels labels;
  llvm::SmallVector<llvm::StringRef> lines;
  text.split(lines, '\n', -1, false);
  for (auto [i, line] : llvm::enumerate(lines)) {
    line = line.trim();
    if (line.empty())
      continue;
    size_t at = line.find_last_of(", \t");
    llvm::StringRef last = line.substr(at == llvm::StringRef::npos ? 0 : at + 1), name = line.drop_back(last.size());
    int64_t number = 0;
    if (last.getAsInteger(10, number) || number < 0) {
      if (i == 0)
        continue; // what the columns are
      return makeError("line " + llvm::Twine(i + 1) + " ends in \"" + printable(last, 60) +
                       "\", which is not the number of a class");
    }
    labels.classes.push_back(number);
    if (name = name.rtrim(", \t"); !name.empty())
      named.emplace_back(name.str(), number);
  }
  if (named.empty())
    return labels;
  if (named.size() != labels.classes.size())
    return makeError("some lines name a file and others do not");
  llvm::sort(named);
  for (auto [label, one] : llvm::zip_equal(labels.classes, named))
    label = one.second;
  return labels;
}

} // namespace

llvm::Expected<Labels> Labels::read(const std::string &path) {
  auto file = openFile(path);
  if (!file)
    return file.takeError();
  llvm::StringRef text = (*file)->getBuffer();
  auto labels = [&]() -> llvm::Expected<Labels> {
    if (!llvm::StringRef(path).ends_with(".npy"))
      return ofText(text);
    auto array = eval::readNpy({reinterpret_cast<const uint8_t *>(text.data()), text.size()});
    if (!array)
      return array.takeError();
    auto numbers = eval::realNumbers(*array, nullptr);
    if (!numbers || eval::isFloat(array->type))
      return makeError("holds no integers");
    Labels made;
    for (double number : *numbers)
      made.classes.push_back(static_cast<int64_t>(number));
    return made;
  }();
  if (!labels)
    return inFile(path, labels.takeError());
  if (labels->classes.empty() || llvm::any_of(labels->classes, [](int64_t label) { return label < 0; }))
    return inFile(path, makeError(labels->classes.empty() ? "has no label" : "has a class below 0"));
  return labels;
}

void ClassScore::add(int64_t truth, llvm::ArrayRef<double> scores) {
  ++records;
  if (truth >= static_cast<int64_t>(scores.size()) || llvm::any_of(scores, [](double x) { return std::isnan(x); }))
    return;
  double own = scores[static_cast<size_t>(truth)];
  size_t before = 0; // that are found rather than the truth
  for (auto [i, score] : llvm::enumerate(scores))
    before += score > own || (score == own && static_cast<int64_t>(i) < truth);
  first += before == 0;
  amongFive += before < 5;
  if (before > 0)
    ++mistaken[{truth, std::max_element(scores.begin(), scores.end()) - scores.begin()}];
}

llvm::Expected<ClassScore> scoreClasses(Model &model, quantize::Records &records, const Labels &labels) {
  eval::CompileOptions options;
  options.engine = eval::Engine::Fast;
  auto session = eval::compile(model, options);
  if (!session)
    return session.takeError();
  auto inputs = session->inputs(), outputs = session->outputs();
  if (!inputs || !outputs)
    return firstError(inputs, outputs);
  if (labels.classes.size() != records.count())
    return makeError("there are " + llvm::Twine(labels.classes.size()) + " labels for " + llvm::Twine(records.count()) +
                     " records");
  int64_t greatest = *llvm::max_element(labels.classes);
  ClassScore score;
  for (uint64_t i = 0; i < records.count(); ++i) {
    auto given = records.read(i);
    if (!given)
      return given.takeError();
    std::vector<eval::OwnedTensor> stored;
    for (auto [k, port] : llvm::enumerate(*inputs)) {
      if (k >= given->size())
        return makeError("the model has more inputs than records have");
      eval::OwnedTensor &from = (*given)[k];
      if (from.type == port.type) {
        stored.push_back(std::move(from));
        continue;
      }
      eval::OwnedTensor &to = stored.emplace_back(eval::OwnedTensor{port.type, from.shape, {}});
      auto numbers = eval::realNumbers(from, nullptr);
      to.bytes.resize(payloadBytes(port.type, numbers ? numbers->size() : 0).value_or(0));
      eval::Tensor tensor{to.type, to.shape, port.value ? port.value->quantization : nullptr, port.value, to.bytes};
      if (!numbers || !eval::storeNumbers(tensor, *numbers))
        return makeError("input \"" + printable(port.name) + "\" takes other numbers than records have");
    }
    auto results = session->run(std::vector<eval::TensorRef>(stored.begin(), stored.end()));
    if (!results)
      return results.takeError();
    bool any = false;
    for (auto [k, port] : llvm::enumerate(*outputs)) {
      auto numbers = eval::realNumbers((*results)[k].tensor, port.value ? port.value->quantization : nullptr);
      any = numbers && static_cast<int64_t>(numbers->size()) > greatest;
      if (!any)
        continue;
      score.add(labels.classes[i], *numbers);
      break;
    }
    if (!any)
      return makeError("no output has a number for each class up to " + llvm::Twine(greatest));
  }
  return score;
}

std::vector<std::string> scoreWords(const ClassScore &before, const ClassScore &after) {
  auto share = [](uint64_t found, const ClassScore &score) {
    std::string text;
    llvm::raw_string_ostream(text) << llvm::format(
        "%.2f %%", 100 * static_cast<double>(found) / static_cast<double>(std::max<uint64_t>(score.records, 1)));
    return text;
  };
  std::vector<std::string> lines = {"of " + std::to_string(before.records) + " records with labels, Top-1 finds " +
                                    share(before.first, before) + " before and " + share(after.first, after) +
                                    " after, Top-5 " + share(before.amongFive, before) + " and " +
                                    share(after.amongFive, after)};
  struct Pair {
    int64_t truth, found;
    uint64_t before, after;
  };
  std::map<std::pair<int64_t, int64_t>, Pair> all;
  for (const auto &[pair, count] : before.mistaken)
    all[pair] = {pair.first, pair.second, count, 0};
  for (const auto &[pair, count] : after.mistaken) {
    auto [known, isNew] = all.try_emplace(pair, Pair{pair.first, pair.second, 0, 0});
    known->second.after = count;
  }
  std::vector<Pair> pairs;
  for (const auto &[key, pair] : all)
    pairs.push_back(pair);
  llvm::stable_sort(pairs, [](const Pair &a, const Pair &b) {
    auto worse = [](const Pair &p) { return static_cast<int64_t>(p.after) - static_cast<int64_t>(p.before); };
    return std::pair(worse(a), a.after) > std::pair(worse(b), b.after);
  });
  constexpr size_t most = 12;
  for (const Pair &pair : llvm::ArrayRef(pairs).take_front(most))
    lines.push_back("class " + std::to_string(pair.truth) + " is taken for " + std::to_string(pair.found) + ": " +
                    std::to_string(pair.before) + " before, " + std::to_string(pair.after) + " after");
  if (pairs.size() > most)
    lines.push_back(std::to_string(pairs.size() - most) + " other pairs of classes are taken for each other");
  return lines;
}

static llvm::Expected<std::string> lastLineOf(const std::string &command, const std::string &model) {
  Scratch scratch("origo-score");
  if (scratch.error)
    return makeError("no folder for what the command says: " + scratch.error.message());
  constexpr unsigned anHour = 3600;
  std::string said = scratch.file("said");
  auto status = runQuietly({"/bin/sh", "-c", command + " \"$0\"", model}, said, anHour);
  if (!status)
    return status.takeError();
  if (!*status || **status != 0)
    return makeError("\"" + printable(command, 200) + "\" of " + printable(model, 200) +
                     (*status ? " ends with exit status " + std::to_string(**status) : " takes more than an hour"));
  auto file = openFile(said);
  if (!file)
    return file.takeError();
  llvm::StringRef text = (*file)->getBuffer().rtrim();
  return text.substr(text.find_last_of('\n') + 1).trim().str();
}

llvm::Expected<std::string> scoreByCommand(const std::string &command, const std::string &before,
                                           const std::string &after) {
  auto first = lastLineOf(command, before), second = lastLineOf(command, after);
  if (!first || !second)
    return firstError(first, second);
  return "\"" + printable(command, 200) + "\" says " + printable(*first, 200) + " before, and " +
         printable(*second, 200) + " after";
}

} // namespace origo::commands
