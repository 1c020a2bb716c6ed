#include "tools/OneSteps.h"

#include "commands/Command.h"
#include "export/Writer.h"
#include "tools/Driver.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

namespace origo::tools {

std::string OneStep::get(const std::string &key, const std::string &otherwise) const {
  auto found = keys.find(key);
  return found == keys.end() || found->second.empty() ? otherwise : found->second;
}

Words OneStep::lines(const std::string &key) const {
  llvm::SmallVector<llvm::StringRef> parts;
  std::string text = get(key);
  llvm::StringRef(text).split(parts, '\n', -1, false);
  Words words;
  for (llvm::StringRef part : parts)
    words.push_back(part.trim().str());
  return words;
}

llvm::Error OneStep::lacks(const llvm::Twine &what) const {
  return makeError(llvm::Twine(file.empty() ? "" : printable(file, 300) + ": ") + "[" + name + "] " + what);
}

llvm::Error startCommand(const OneStep &step, const Words &words, const std::string &output) {
  auto status = runCommand(words, output.empty() ? "" : output + ".log");
  if (!status)
    return status.takeError();
  if (*status)
    return step.lacks(shellWords(words) + " ends with exit status " + llvm::Twine(*status));
  return llvm::Error::success();
}

llvm::Expected<std::pair<std::string, std::string>> stepPaths(const OneStep &step) {
  std::string input = step.get("input_path"), output = step.get("output_path");
  if (input.empty() || output.empty())
    return step.lacks(llvm::Twine("needs ") + (input.empty() ? "input_path" : "output_path"));
  return std::pair(input, output);
}

Words splitWords(llvm::StringRef text) {
  Words words;
  bool open = false;
  char quote = 0;
  for (char c : text) {
    if (quote ? c == quote : c == '"' || c == '\'') {
      quote = quote ? 0 : c;
      if (!std::exchange(open, true))
        words.emplace_back();
    } else if (!quote && llvm::isSpace(c)) {
      open = false;
    } else {
      if (!std::exchange(open, true))
        words.emplace_back();
      words.back() += c;
    }
  }
  return words;
}

void addKeys(std::vector<StepKey> &keys, const commands::Command &command) {
  for (const commands::Option &row : command.options()) {
    llvm::StringRef name = row.key.empty() ? row.name : row.key;
    if (row.cfg == commands::Without::Nothing &&
        llvm::none_of(keys, [&](const StepKey &key) { return key.name == name; }))
      keys.push_back({name,
                      row.flag                     ? StepKey::Switch
                      : row.repeats && !row.splits ? StepKey::Lines
                                                   : StepKey::Value,
                      row.help});
  }
}

namespace {

const StepKey pathKeys[] = {{"input_path", StepKey::Value, "The input"}, {"output_path", StepKey::Value, "The output"}};
/// Those, and the options of a command.
template <const commands::Command &Command> llvm::ArrayRef<StepKey> keysOf(llvm::ArrayRef<StepKey> more = {}) {
  static const std::vector<StepKey> keys = [&] {
    std::vector<StepKey> keys(more);
    addKeys(keys, Command);
    return keys;
  }();
  return keys;
}

llvm::Error import(const OneStep &step) {
  auto files = stepPaths(step);
  if (!files)
    return files.takeError();
  bool isOnnx = step.name == "one-import-onnx" || commands::kindOf(files->first) == commands::FileKind::Onnx;
  Words words = {toolPath(isOnnx ? "onnx2circle" : "tflite2circle")};
  if (isOnnx)
    for (const commands::Option &row : commands::onnxCommand.options())
      for (const std::string &line : step.lines(row.name.str()))
        words.push_back(row.spelled() + "=" + line);
  words.insert(words.end(), {files->first, files->second});
  return startCommand(step, words, files->second);
}

llvm::Error optimize(const OneStep &step) {
  auto files = stepPaths(step);
  if (!files)
    return files.takeError();
  Words words = {toolPath("circle2circle")};
  Section keys = step.keys;
  if (step.group == "O1") {
    words.push_back("-O1");
  } else if (!step.group.empty()) {
    auto group = readGroup(step.group, step.file);
    if (group)
      keys.insert(group->begin(), group->end());
    else if (step.group != "O2" && step.group != "Os")
      return step.lacks(llvm::toString(group.takeError()));
    else // no file of that name: the level, which wants a target in the section
      llvm::consumeError(group.takeError()), words.push_back("-" + step.group);
  }
  for (const auto &[key, value] : keys) {
    if (key == "input_path" || key == "output_path")
      continue;
    if (value.empty()) // as if it were not there
      continue;
    if (const commands::Option *row = commands::optimizeCommand.find(key); row && !row->flag)
      words.push_back("--" + key + "=" + value);
    else if (isSwitchedOn(value))
      words.push_back("--" + key);
    else // goes before the group
      words.push_back("--" + key + "=false");
  }
  llvm::append_range(words, step.rest);
  words.insert(words.end(), {files->first, files->second});
  return startCommand(step, words, files->second);
}

/// DIR/NAME/NAME.circle and DIR/NAME/metadata/MANIFEST.
llvm::Error pack(const OneStep &step) {
  auto files = stepPaths(step);
  if (!files)
    return files.takeError();
  std::string name = llvm::sys::path::stem(files->first).str(), base = llvm::sys::path::filename(files->first).str();
  std::string folder = files->second + "/" + name;
  auto model = MappedFile::open(files->first);
  if (!model)
    return step.lacks(llvm::toString(model.takeError()));
  if (llvm::Error error = makeFolder(folder + "/metadata"))
    return step.lacks(llvm::toString(std::move(error)));
  IgnoreWriteSignals guard;
  auto copy = OutputFile::open(folder + "/" + base), manifest = OutputFile::open(folder + "/metadata/MANIFEST");
  if (!copy || !manifest)
    return step.lacks(llvm::toString(firstError(copy, manifest)));
  (*copy)->copy((*model)->bytes(), model->get());
  {
    OutputStream os(**manifest);
    llvm::json::OStream out(os, 2);
    out.object([&] {
      out.attribute("major-version", "1");
      out.attribute("minor-version", "2");
      out.attribute("patch-version", "0");
      out.attributeArray("configs", [] {});
      out.attributeArray("models", [&] { out.value(llvm::json::fixUTF8(base)); });
      out.attributeArray("model-types",
                         [&] { out.value(llvm::json::fixUTF8(llvm::sys::path::extension(base).ltrim('.'))); });
    });
    os << '\n';
  }
  for (OutputFile *file : {copy->get(), manifest->get()})
    if (llvm::Error error = file->finish())
      return error;
  return OutputFile::commit({copy->get(), manifest->get()});
}

/// Programs of back ends: BACKEND-compile and BACKEND-profile, found as any program is.
llvm::Error external(const OneStep &step) {
  std::string suffix = step.name == "one-codegen" ? "-compile" : "-profile";
  std::vector<std::pair<std::string, std::string>> commands; // backend, its words
  if (std::string list = step.get("backends"); !list.empty()) {
    llvm::SmallVector<llvm::StringRef> names;
    llvm::StringRef(list).split(names, ',', -1, false);
    for (llvm::StringRef name : names)
      commands.push_back({name.trim().str(), step.get(name.trim().str())});
  } else if (std::string backend = step.get("backend"); !backend.empty()) {
    commands.push_back({backend, step.get("command")});
  } else {
    return step.lacks("needs backend and command, or backends");
  }
  for (const auto &[backend, command] : commands) {
    Words words = splitWords(command);
    words.insert(words.begin(), backend + suffix);
    llvm::append_range(words, step.rest);
    if (llvm::Error error = startCommand(step, words, ""))
      return error;
  }
  return llvm::Error::success();
}

llvm::Error partition(const OneStep &step) {
  std::string part = step.get("part_file"), input = step.get("input_file");
  if (part.empty() || input.empty())
    return step.lacks(llvm::Twine("needs ") + (part.empty() ? "part_file" : "input_file"));
  Words words = {toolPath("circle-partitioner")};
  for (const commands::Option &row : commands::partitionCommand.options())
    if (std::string value = step.get(row.name.str()); !value.empty())
      words.push_back(row.spelled() + "=" + value);
  llvm::SmallString<128> log(step.get("work_path"));
  if (llvm::sys::path::is_absolute(part))
    log.clear();
  llvm::sys::path::append(log, part);
  return startCommand(step, words, log.str().str());
}

/// A driver, our circle-interpreter too; or BACKEND-infer.
llvm::Error infer(const OneStep &step) {
  std::string driver = step.get("driver"), backend = step.get("backend");
  if (driver.empty() && backend.empty())
    return step.lacks("needs driver or backend, and command");
  Words words = splitWords(step.get("command"));
  words.insert(words.begin(), driver.empty()                   ? backend + "-infer"
                              : driver == "circle-interpreter" ? toolPath(driver)
                                                               : driver);
  llvm::append_range(words, step.rest);
  if (llvm::Error error = startCommand(step, words, ""))
    return error;
  Words after = splitWords(step.get("post-process"));
  return after.empty() ? llvm::Error::success() : startCommand(step, after, "");
}

const StepKey programKeys[] = {{"backend", StepKey::Value, "Runs BACKEND-compile, or BACKEND-profile"},
                               {"command", StepKey::Value, "Words for that program"},
                               {"backends", StepKey::Value, "Several, separated by commas, with a key each"}};
const StepKey inferKeys[] = {{"driver", StepKey::Value, "The program to run, such as circle-interpreter"},
                             {"backend", StepKey::Value, "Without driver: runs BACKEND-infer"},
                             {"command", StepKey::Value, "Words for that program"},
                             {"post-process", StepKey::Value, "A program to run behind it, with its words"}};

/// Where ONE would say nothing.
void noteKeys(const OneStep &step, const StepKind &kind, const Section &everywhere) {
  for (const auto &[key, value] : step.keys) {
    auto known = llvm::find_if(kind.keys, [&key = key](const StepKey &row) { return row.name == key; });
    bool isSwitch = known == kind.keys.end() ? kind.name == "one-optimize" : known->kind == StepKey::Switch;
    llvm::StringRef said = value;
    if (isSwitch && (said.equals_insensitive("no") || said.equals_insensitive("off")))
      note("[" + step.name + "] " + printable(key) + " = " + printable(value) +
           " switches it on, as in ONE; False switches it off");
    if (known != kind.keys.end() || kind.otherWords || everywhere.count(key))
      continue;
    llvm::StringRef nearest;
    unsigned least = 4;
    for (const StepKey &row : kind.keys)
      if (unsigned distance = llvm::StringRef(key).edit_distance(row.name, true, least); distance < least)
        least = distance, nearest = row.name;
    note("[" + step.name + "] has no key \"" + printable(key) + "\", which is left out" +
         (nearest.empty() ? "" : "; did you mean " + nearest + "?"));
  }
}

} // namespace

llvm::ArrayRef<StepKind> stepKinds() {
  static const StepKind kinds[] = {
      {"one-import-tf", "", nullptr, "it needs TensorFlow; convert to .tflite there, and use one-import-tflite"},
      {"one-import-bcq", "", nullptr, "binary-coded constants are not made"},
      {"one-import-onnx", "", import, "turns an ONNX model into a .circle one", keysOf<commands::onnxCommand>(pathKeys),
       false, true},
      {"one-import-tflite", "import", import, "turns a .tflite model into a .circle one",
       keysOf<commands::onnxCommand>(pathKeys), false, true},
      {"one-optimize", "optimize", optimize, "optimises a model", keysOf<commands::optimizeCommand>(pathKeys), true,
       true},
      {"one-quantize", "quantize", quantizeStep, "quantises a model", quantizeKeys(), false, true},
      {"one-pack", "pack", pack, "puts a model into a package for a runtime", pathKeys},
      {"one-codegen", "codegen", external, "runs the code generator of a back end", programKeys, true},
      {"one-profile", "profile", external, "runs the profiler of a back end", programKeys, true},
      {"one-partition", "partition", partition, "divides a model between back ends",
       keysOf<commands::partitionCommand>()},
      {"one-infer", "infer", infer, "runs a model", inferKeys, true},
  };
  return kinds;
}

const StepKind *findStep(llvm::StringRef name) {
  const auto *found = llvm::find_if(stepKinds(), [&](const StepKind &kind) { return kind.name == name; });
  return found == stepKinds().end() ? nullptr : found;
}

llvm::Error runStep(const OneStep &step, const Section &everywhere) {
  const StepKind *kind = findStep(step.name);
  if (!kind->run)
    return step.lacks("is not done here: " + llvm::Twine(kind->what));
  noteKeys(step, *kind, everywhere);
  return kind->run(step);
}

} // namespace origo::tools
