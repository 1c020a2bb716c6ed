/// The driver of ONE's toolchain: reads a .cfg file and starts the steps that it asks for. Under the name of a step
/// (one-optimize, …) it is that step alone.

#include "export/Writer.h"
#include "tools/Config.h"
#include "tools/Driver.h"
#include "tools/OptionTable.h"
#include "tools/Process.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdlib>

using namespace origo;
using namespace origo::tools;

namespace {

using Words = std::vector<std::string>;

/// What a step is to do: its keys, from the file and, going first, from the command line.
struct Step {
  std::string name;
  Section keys;
  Words rest;       ///< words of the command line that go to the tool as they are
  std::string file; ///< the .cfg file; empty: none
  bool optimizeAll = false; ///< -O1

  std::string get(const std::string &key, const std::string &otherwise = "") const {
    auto found = keys.find(key);
    return found == keys.end() || found->second.empty() ? otherwise : found->second;
  }
  bool on(const std::string &key) const { return isSwitchedOn(get(key)); }
  llvm::Error lacks(const llvm::Twine &what) const {
    return makeError(llvm::Twine(file.empty() ? "" : printable(file, 300) + ": ") + "[" + name + "] " + what);
  }
};

/// Runs a command and keeps its first line and what it says beside the output, as ONE does.
llvm::Error start(const Step &step, const Words &words, const std::string &output) {
  auto status = runCommand(words, output.empty() ? "" : output + ".log");
  if (!status)
    return status.takeError();
  if (*status)
    return step.lacks(printable(llvm::join(words, " "), 1000) + " ends with exit status " + llvm::Twine(*status));
  return llvm::Error::success();
}

llvm::Expected<std::pair<std::string, std::string>> paths(const Step &step) {
  std::string input = step.get("input_path"), output = step.get("output_path");
  if (input.empty() || output.empty())
    return step.lacks(llvm::Twine("needs ") + (input.empty() ? "input_path" : "output_path"));
  return std::pair(input, output);
}

llvm::Error import(const Step &step) {
  auto files = paths(step);
  if (!files)
    return files.takeError();
  return start(step, {toolPath("tflite2circle"), files->first, files->second}, files->second);
}

llvm::Error optimize(const Step &step) {
  auto files = paths(step);
  if (!files)
    return files.takeError();
  Words words = {toolPath("circle2circle")};
  if (step.optimizeAll)
    words.push_back("-O1");
  for (const auto &[key, value] : step.keys) {
    if (key == "input_path" || key == "output_path")
      continue;
    if (key == "change_outputs") {
      words.push_back("--change_outputs=" + value);
      continue;
    }
    llvm::StringRef said = value;
    if (said.equals_insensitive("no") || said.equals_insensitive("off"))
      note("[" + step.name + "] " + printable(key) + " = " + printable(value) +
           " switches it on, as in ONE; False switches it off");
    if (isSwitchedOn(value))
      words.push_back("--" + key);
  }
  llvm::append_range(words, step.rest);
  words.insert(words.end(), {files->first, files->second});
  return start(step, words, files->second);
}

/// A file that goes when the step is done.
struct Temporary {
  std::string path;
  Temporary(const std::string &output, const char *stage) : path(output + "." + stage + ".circle") {}
  ~Temporary() {
    for (const char *suffix : {"", ".origin.json", ".log"})
      llvm::sys::fs::remove(path + suffix);
  }
};

/// Rounds weights, records ranges, quantises: ONE's three commands.
llvm::Error quantizeWithRanges(const Step &step, const std::string &input, const std::string &output) {
  std::string from = step.get("input_model_dtype", step.get("input_dtype", "float32")),
              to = step.get("quantized_dtype", "uint8"), granularity = step.get("granularity", "layer");
  Temporary rounded(output, "rounded"), recorded(output, "recorded");
  std::string quantizer = toolPath("circle-quantizer");
  if (llvm::Error error =
          start(step, {quantizer, "--quantize_dequantize_weights", from, to, granularity, input, rounded.path}, rounded.path))
    return error;
  Words record = {toolPath("record-minmax"), "--input_model", rounded.path, "--output_model", recorded.path};
  for (const char *key : {"input_data", "input_data_format", "min_percentile", "max_percentile", "mode", "moving_avg_batch",
                          "moving_avg_const"})
    if (std::string value = step.get(key); !value.empty())
      record.insert(record.end(), {std::string("--") + key, value});
  if (llvm::Error error = start(step, record, recorded.path))
    return error;
  Words words = {quantizer, "--quantize_with_minmax", from, to, granularity};
  for (const char *key : {"input_type", "output_type"})
    if (std::string value = step.get(key); !value.empty())
      words.push_back(std::string("--") + key + "=" + value);
  if (std::string value = step.get("quant_config"); !value.empty())
    words.push_back("--config=" + value);
  for (const char *key : {"TF-style_maxpool", "save_min_max"})
    if (step.on(key))
      words.push_back(std::string("--") + key);
  words.insert(words.end(), {recorded.path, output});
  return start(step, words, output);
}

llvm::Error quantize(const Step &step) {
  auto files = paths(step);
  if (!files)
    return files.takeError();
  auto [input, output] = *files;
  for (const char *key : {"evaluate_result", "ampq", "requantize", "fake_quantize"})
    if (step.on(key))
      return step.lacks(llvm::Twine(key) + " is not done here; circle-quantizer and visq have what there is");
  std::string quantizer = toolPath("circle-quantizer");
  if (step.on("force_quantparam"))
    return start(step, {quantizer, "--force_quantparam", step.get("tensor_name"), step.get("scale"),
                        step.get("zero_point"), input, output}, output);
  if (step.on("copy_quantparam"))
    return start(step, {quantizer, "--copy_quantparam", step.get("src_tensor_name"), step.get("dst_tensor_name"), input,
                        output}, output);
  return quantizeWithRanges(step, input, output);
}

/// DIR/NAME/NAME.circle and DIR/NAME/metadata/MANIFEST.
llvm::Error pack(const Step &step) {
  auto files = paths(step);
  if (!files)
    return files.takeError();
  std::string name = llvm::sys::path::stem(files->first).str(), base = llvm::sys::path::filename(files->first).str();
  std::string folder = files->second + "/" + name;
  if (std::error_code error = llvm::sys::fs::create_directories(folder + "/metadata"))
    return step.lacks(printable(folder, 300) + ": " + error.message());
  if (std::error_code error = llvm::sys::fs::copy_file(files->first, folder + "/" + base))
    return step.lacks(printable(files->first, 300) + ": " + error.message());
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::json::OStream out(os, 2);
  out.object([&] {
    out.attribute("major-version", "1");
    out.attribute("minor-version", "2");
    out.attribute("patch-version", "0");
    out.attributeArray("configs", [] {});
    out.attributeArray("models", [&] { out.value(llvm::json::fixUTF8(base)); });
    out.attributeArray("model-types", [&] { out.value(llvm::sys::path::extension(base).drop_front()); });
  });
  os << '\n';
  return writeTextFile(folder + "/metadata/MANIFEST", text);
}

/// What follows `key` on a command line, with quotes as in a shell.
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

/// Programs of back ends: BACKEND-compile and BACKEND-profile, found as any program is.
llvm::Error external(const Step &step) {
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
    if (llvm::Error error = start(step, words, ""))
      return error;
  }
  return llvm::Error::success();
}

llvm::Error infer(const Step &step) {
  if (step.get("driver").empty())
    return step.lacks("needs driver, and command");
  Words words = splitWords(step.get("command"));
  words.insert(words.begin(), step.get("driver"));
  if (llvm::Error error = start(step, words, ""))
    return error;
  std::string after = step.get("post-process");
  return after.empty() ? llvm::Error::success() : start(step, splitWords(after), "");
}

struct Kind {
  llvm::StringLiteral name, verb;
  llvm::Error (*run)(const Step &step); ///< null: refused
  llvm::StringLiteral why;
};
/// In the order in which they run, whatever the order of the file.
const Kind kinds[] = {
    {"one-import-tf", "", nullptr, "it needs TensorFlow; convert to .tflite there, and use one-import-tflite"},
    {"one-import-bcq", "", nullptr, "binary-coded constants are not made"},
    {"one-import-onnx", "", nullptr, "ONNX is not read; convert to .tflite or .circle first"},
    {"one-import-tflite", "import", import, ""},
    {"one-optimize", "optimize", optimize, ""},
    {"one-quantize", "quantize", quantize, ""},
    {"one-pack", "pack", pack, ""},
    {"one-codegen", "codegen", external, ""},
    {"one-profile", "profile", external, ""},
    {"one-partition", "", nullptr, "circle-check --partition divides a model, by what a back end takes"},
    {"one-infer", "infer", infer, ""},
};

const Kind *findKind(llvm::StringRef name) {
  auto found = llvm::find_if(kinds, [&](const Kind &kind) { return kind.name == name; });
  return found == std::end(kinds) ? nullptr : &*found;
}

llvm::Error runStep(const Step &step) {
  const Kind *kind = findKind(step.name);
  if (!kind->run)
    return step.lacks("is not done here: " + llvm::Twine(kind->why));
  return kind->run(step);
}

llvm::Expected<std::map<std::string, Section>> readFile(const std::string &path) {
  auto text = llvm::MemoryBuffer::getFile(path);
  if (!text)
    return inFile(path, makeError("cannot be read: " + text.getError().message()));
  auto sections = readConfig((*text)->getBuffer());
  if (!sections)
    return inFile(path, sections.takeError());
  return sections;
}

/// As Python's getboolean.
llvm::Expected<bool> isOn(llvm::StringRef value) {
  for (const char *word : {"1", "yes", "true", "on"})
    if (value.equals_insensitive(word))
      return true;
  for (const char *word : {"0", "no", "false", "off"})
    if (value.equals_insensitive(word))
      return false;
  return makeError("\"" + printable(value) + "\" is neither true nor false");
}

/// All steps that [onecc] asks for, in the order of `kinds`.
llvm::Error runFile(const std::string &path, bool optimizeAll, const std::string &backend) {
  auto sections = readFile(path);
  if (!sections)
    return sections.takeError();
  if (!sections->count("onecc"))
    return inFile(path, makeError("has no section [onecc], which says what to do"));
  for (const auto &[key, value] : (*sections)["Environment"])
    ::setenv(key.c_str(), value.c_str(), 1);
  std::string group = llvm::StringRef((*sections)["onecc"]["include"]).trim().rsplit(' ').second.str();
  if (group.empty())
    group = llvm::StringRef((*sections)["onecc"]["include"]).trim().str();
  if (!group.empty() && group != "O1")
    return inFile(path, makeError("[onecc] include: no such group: \"" + printable(group) + "\"; there is O1"));
  std::string target = backend.empty() ? (*sections)["backend"]["target"] : backend;
  for (const auto &[key, value] : (*sections)["onecc"]) {
    if (key == "include")
      continue;
    auto on = isOn(value);
    if (!on)
      return inFile(path, makeError("[onecc] " + printable(key) + ": " + llvm::toString(on.takeError())));
    if (*on && !findKind(key))
      note(printable(path, 300) + ": [onecc] asks for " + printable(key) + ", which is no step, and is left out");
  }
  unsigned count = 0;
  for (const Kind &kind : kinds) {
    auto asked = (*sections)["onecc"].find(kind.name.str());
    if (asked == (*sections)["onecc"].end() || !llvm::cantFail(isOn(asked->second)))
      continue;
    if (!sections->count(kind.name.str()))
      return inFile(path, makeError("[onecc] asks for " + kind.name + ", of which there is no section"));
    Step step{kind.name.str(), (*sections)[kind.name.str()], {}, path, optimizeAll || !group.empty()};
    if (!target.empty() && (kind.name == "one-codegen" || kind.name == "one-profile") && step.get("backend").empty())
      step.keys["backend"] = target;
    if (llvm::Error error = runStep(step))
      return error;
    ++count;
  }
  note(llvm::Twine(count) + (count == 1 ? " step" : " steps") + " of " + printable(path, 300) + " done");
  return llvm::Error::success();
}

/// Workflow files, as far as they name .cfg files.
llvm::Error runWorkflow(const std::string &path) {
  auto text = llvm::MemoryBuffer::getFile(path);
  if (!text)
    return inFile(path, makeError("cannot be read: " + text.getError().message()));
  auto parsed = llvm::json::parse((*text)->getBuffer());
  if (!parsed)
    return inFile(path, makeError("is no JSON: " + llvm::toString(parsed.takeError())));
  const llvm::json::Object *file = parsed->getAsObject();
  const llvm::json::Array *names = file ? file->getArray("workflows") : nullptr;
  if (!names)
    return inFile(path, makeError("has no list \"workflows\""));
  for (const llvm::json::Value &value : *names) {
    auto name = value.getAsString();
    const llvm::json::Object *flow = name ? file->getObject(*name) : nullptr;
    const llvm::json::Object *reference = flow ? flow->getObject("cfg-reference") : nullptr;
    auto config = reference ? reference->getString("path") : std::nullopt;
    if (!config)
      return inFile(path, makeError("workflow \"" + printable(name.value_or("")) +
                                    "\" names no .cfg file in cfg-reference, which is all that is read of workflows"));
    llvm::SmallString<128> beside = llvm::sys::path::parent_path(path);
    llvm::sys::path::append(beside, *config);
    std::string found = llvm::sys::fs::exists(*config) || llvm::sys::path::is_absolute(*config) ? config->str() : beside.str().str();
    if (llvm::Error error = runFile(found, false, ""))
      return error;
  }
  return llvm::Error::success();
}

std::vector<OptionRow> optionsFor(llvm::StringRef tool) {
  auto value = [](const char *name, const char *of, const char *help) {
    return OptionRow{OptionRow::Value, 1, name, of, "Options", help, {}};
  };
  std::vector<OptionRow> rows = {value("C", "FILE", "The .cfg file"), value("config", "FILE", "The same"),
                                 {OptionRow::Flag, 0, "V", "", "Options", "Accepted; what was done is always said", {}},
                                 {OptionRow::Flag, 0, "v", "", "Options", "Shows the version", {}},
                                 {OptionRow::Flag, 0, "verbose", "", "Options", "As -V", {}}};
  if (tool == "onecc") {
    rows.insert(rows.end(), {value("W", "FILE", "A workflow file that names .cfg files"),
                             value("workflow", "FILE", "The same"), value("b", "NAME", "The back end of one-codegen and one-profile"),
                             value("backend", "NAME", "The same"),
                             {OptionRow::Prefix, 0, "O", "1", "Options", "-O1: all safe rewrites in one-optimize", {}},
                             {OptionRow::Flag, 0, "print-config", "", "Options", "Prints what is read of the .cfg file as JSON, and stops", {}}});
  } else {
    rows.insert(rows.end(), {value("S", "NAME", "The section of the file"), value("section", "NAME", "The same"),
                             value("i", "MODEL", "input_path"), value("input_path", "MODEL", "The input"),
                             value("o", "MODEL", "output_path"), value("output_path", "MODEL", "The output")});
    for (const char *key : {"input_data", "input_data_format", "quantized_dtype", "granularity", "input_type", "output_type",
                            "min_percentile", "max_percentile", "mode", "quant_config"})
      if (tool == "one-quantize")
        rows.push_back(value(key, "VALUE", "As the key of the section"));
  }
  return rows;
}

std::string helpText(llvm::StringRef tool) {
  std::string text = "OVERVIEW: " + (tool == "onecc" ? std::string("Runs the steps of a .cfg file of ONE's toolchain")
                                                     : "A step of ONE's toolchain, which onecc runs too") +
                     ".\n\n"
                     "  onecc -C net.cfg                          the steps that [onecc] asks for, in their order\n"
                     "  onecc -W net.workflow.json                the .cfg files that it names\n"
                     "  onecc optimize -i net.circle -o out.circle --fuse_bcq\n"
                     "  one-optimize -C net.cfg                   [one-optimize] alone\n"
                     "  one-optimize -i net.circle -o out.circle -O1\n\n"
                     "The command line goes before the file. What one-optimize does not know goes to circle2circle.\n\n"
                     "USAGE: " +
                     tool.str() + " [options]\n\nOPTIONS:\n\nOptions:\n\n";
  for (const OptionRow &row : optionsFor(tool))
    text += "  " + row.spelled() + (row.kind == OptionRow::Value ? "=<" + row.value + ">" : "") + " - " + row.help + "\n";
  return text;
}

llvm::Error printConfig(const std::string &path) {
  auto sections = readFile(path);
  if (!sections)
    return sections.takeError();
  llvm::json::OStream out(llvm::outs(), 1);
  out.object([&] {
    for (const auto &[name, keys] : *sections)
      out.attributeObject(llvm::json::fixUTF8(name), [&, &keys = keys] {
        for (const auto &[key, value] : keys)
          out.attribute(llvm::json::fixUTF8(key), llvm::json::fixUTF8(value));
      });
  });
  llvm::outs() << '\n';
  return llvm::Error::success();
}

/// One step, from its section and the command line.
llvm::Error runAlone(const std::string &name, llvm::ArrayRef<std::string> words) {
  std::vector<OptionRow> known = optionsFor(name);
  Step step{name, {}, {}, "", false};
  std::string section = name;
  std::vector<std::pair<std::string, std::string>> given;
  for (const Word &word : takeApart(words, known)) {
    if (word.option == "C" || word.option == "config")
      step.file = word.value;
    else if (word.option == "S" || word.option == "section")
      section = word.value;
    else if (word.option == "i" || word.option == "o")
      given.push_back({word.option == "i" ? "input_path" : "output_path", word.value});
    else if (word.option == "O1")
      step.optimizeAll = true;
    else if (word.option == "V" || word.option == "verbose")
      continue;
    else if (const OptionRow *row = word.option.empty() ? nullptr : findOption(known, word.option))
      given.push_back({row->name, word.value});
    else if (name == "one-optimize" || name == "one-codegen" || name == "one-profile")
      step.rest.push_back(word.text);
    else if (!word.option.empty())
      return makeError("there is no option " + printable(word.text, 60) + "; --help lists them");
    else
      return makeError("there are too many arguments; --help shows examples");
  }
  if (!step.file.empty()) {
    auto sections = readFile(step.file);
    if (!sections)
      return sections.takeError();
    auto found = sections->find(section);
    if (found == sections->end())
      return inFile(step.file, makeError("has no section [" + printable(section) + "]"));
    step.keys = found->second;
  }
  for (auto &[key, value] : given)
    step.keys[key] = value;
  return runStep(step);
}

llvm::Error runDriver(llvm::ArrayRef<std::string> words) {
  for (const Kind &kind : kinds)
    if (!kind.verb.empty() && !words.empty() && words[0] == kind.verb)
      return runAlone(kind.name.str(), words.drop_front());
  std::vector<OptionRow> known = optionsFor("onecc");
  std::string config, workflow, backend;
  bool all = false, print = false;
  for (const Word &word : takeApart(words, known)) {
    if (word.option == "C" || word.option == "config")
      config = word.value;
    else if (word.option == "W" || word.option == "workflow")
      workflow = word.value;
    else if (word.option == "b" || word.option == "backend")
      backend = word.value;
    else if (word.option == "O1")
      all = true;
    else if (word.option == "print-config")
      print = true;
    else if (llvm::StringRef(word.option).starts_with("O"))
      return makeError("no such group: -" + printable(word.option, 60) + "; there is -O1");
    else if (word.option.empty())
      return makeError("there are too many arguments; --help shows examples");
    else if (word.option != "V" && word.option != "verbose")
      return makeError("there is no option " + printable(word.text, 60) + "; --help lists them");
  }
  if (config.empty() == workflow.empty())
    return makeError("needs -C FILE.cfg or -W FILE.json; --help shows examples");
  if (print)
    return printConfig(config);
  return config.empty() ? runWorkflow(workflow) : runFile(config, all, backend);
}

} // namespace

int main(int argc, char **argv) {
  static std::string name;
  name = llvm::sys::path::filename(argv[0]).str();
  if (!findKind(name))
    name = "onecc";
  startTool(name);
  Words words(argv + 1, argv + argc);
  if (llvm::is_contained(words, "--help") || llvm::is_contained(words, "-h")) {
    llvm::outs() << helpText(name);
    return 0;
  }
  if (words.size() == 1 && (words[0] == "--version" || words[0] == "-v")) {
    llvm::outs() << name << " (origo) " ORIGO_VERSION "\n";
    return 0;
  }
  if (words.size() == 1 && words[0] == printOptionsWord) {
    printOptionTable(optionsFor(name));
    return 0;
  }
  llvm::Error error = name == "onecc" ? runDriver(words) : runAlone(name, words);
  return error ? fail(std::move(error)) : 0;
}
