/// The driver of ONE's toolchain: reads a .cfg file and starts the steps that it asks for. Under the name of a step
/// (one-optimize, …) it is that step alone.

#include "origin/codec/OriginFile.h"
#include "schema/RunFiles.h"
#include "tools/Driver.h"
#include "tools/OneSteps.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdlib>
#include <set>

namespace origo::tools {

namespace {

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

/// The model that the origins of `result` lead to: what the first step read, or where that has a source itself, that
/// one, if it lies beside it. Empty: it is not at hand.
std::string sourceOf(const std::string &first) {
  auto opened = origin::openOriginFile(first, {}, /*acceptStale=*/true);
  if (!opened) { // a text, which has no origins
    llvm::consumeError(opened.takeError());
    return first;
  }
  if (!opened->map)
    return first;
  llvm::SmallString<128> beside = llvm::sys::path::parent_path(first);
  llvm::sys::path::append(beside, llvm::sys::path::filename(opened->map->source.file));
  return llvm::sys::fs::exists(beside) ? beside.str().str() : "";
}

/// The page that shows what the steps made beside what they began with.
llvm::Error writeReport(const std::string &first, const std::string &last, const std::string &page) {
  Words words = {toolPath("origin-view"), last, "-o", page};
  if (std::string source = sourceOf(first); !source.empty())
    words.insert(words.end(), {"--source", source});
  auto status = runCommand(words, "");
  if (!status)
    return status.takeError();
  if (*status)
    return makeError("--report: " + shellWords(words) + " ends with exit status " + llvm::Twine(*status));
  note("wrote " + printable(page, 300));
  return llvm::Error::success();
}

/// What the command line of onecc asks for.
struct Given {
  std::string config, workflow, group, backend, report;
  bool prints = false, verbose = false;
};

/// Of a group of options, behind -O.
template <auto Group>
constexpr Option groupRow = commands::option<Group>("O", "1",
                                                    "-O1: all safe rewrites; -O2, -Os: for the target that the section "
                                                    "names; -ONAME: the options of NAME.cfg, as include = ONAME",
                                                    {.prefix = true});

constexpr std::array driverRows{
    commands::option<&Given::config>("config", "FILE", "The .cfg file", {.also = "C"}),
    commands::option<&Given::workflow>("workflow", "FILE", "A workflow file that names .cfg files", {.also = "W"}),
    commands::option<&Given::backend>("backend", "NAME", "The back end of one-codegen and one-profile", {.also = "b"}),
    groupRow<&Given::group>,
    commands::option<&Given::report>("report", "PAGE",
                                     "With -C: writes a page of the last model beside the first (HTML)"),
    commands::option<&Given::prints>("print-config", "Prints what is read of the .cfg file as JSON, and stops"),
    commands::option<&Given::verbose>("verbose", "Ignored, for compatibility; results are always reported",
                                      {.also = "V"}),
};

/// Does [onecc] ask for anything that cannot be?
llvm::Error checkDriver(const std::string &path, const std::map<std::string, Section> &sections,
                        const Section &everywhere) {
  auto driver = sections.find("onecc");
  if (driver == sections.end())
    return inFile(path, makeError("has no section [onecc], which says what to do"));
  for (const auto &[key, value] : driver->second) {
    if (key == "include" || (everywhere.count(key) && !findStep(key)))
      continue;
    auto on = isOn(value);
    if (!on && findStep(key))
      return inFile(path, makeError("[onecc] " + printable(key) + ": " + llvm::toString(on.takeError())));
    if (!on) { // of a key that is none of ours
      llvm::consumeError(on.takeError());
      continue;
    }
    if (*on && !findStep(key))
      note(printable(path, 300) + ": [onecc] asks for " + printable(key) + ", which is no step, and is left out");
    if (*on && findStep(key) && !sections.count(key))
      return inFile(path, makeError("[onecc] asks for " + key + ", of which there is no section"));
  }
  for (const auto &[name, keys] : sections)
    if (llvm::StringRef(name).starts_with("one-") && !findStep(name))
      note(printable(path, 300) + ": [" + printable(name) + "] is no step, and is left out");
  return llvm::Error::success();
}

/// All steps that [onecc] asks for, in the order of stepKinds().
llvm::Error runFile(const std::string &path, const Given &given) {
  Section everywhere;
  auto sections = readConfigFile(path, &everywhere);
  if (!sections)
    return sections.takeError();
  if (llvm::StringRef why = refusedOutput(given.report); !why.empty())
    return inFile(given.report, makeError("cannot be written: " + why));
  if (llvm::Error error = checkDriver(path, *sections, everywhere))
    return error;
  for (const auto &[key, value] : (*sections)["Environment"])
    ::setenv(key.c_str(), value.c_str(), 1);
  std::string group = given.group.empty() ? groupOf(*sections) : given.group,
              target = given.backend.empty() ? (*sections)["backend"]["target"] : given.backend, first, last;
  unsigned count = 0;
  for (const StepKind &kind : stepKinds()) {
    auto asked = (*sections)["onecc"].find(kind.name.str());
    if (asked == (*sections)["onecc"].end() || !llvm::cantFail(isOn(asked->second)))
      continue;
    OneStep step{kind.name.str(), (*sections)[kind.name.str()], {}, path, group};
    if (!target.empty() && (kind.name == "one-codegen" || kind.name == "one-profile") && step.get("backend").empty())
      step.keys["backend"] = target;
    if (llvm::Error error = runStep(step, everywhere))
      return error;
    if (kind.makesModel) {
      first = first.empty() ? step.get("input_path") : first;
      last = step.get("output_path");
    }
    ++count;
  }
  note(llvm::Twine(count) + (count == 1 ? " step" : " steps") + " of " + printable(path, 300) + " done");
  if (given.report.empty())
    return llvm::Error::success();
  if (last.empty())
    return inFile(path, makeError("--report shows a model, and none of the steps makes one"));
  return writeReport(first, last, given.report);
}

struct Workflow {
  std::string config;
  std::set<std::string> after; ///< others, which go before it
};

/// The parser of JSON calls itself for what is nested, so that the stack could end.
bool isDeep(llvm::StringRef json) {
  int depth = 0, deepest = 0;
  for (char c : json) {
    depth += c == '[' || c == '{' ? 1 : c == ']' || c == '}' ? -1 : 0;
    deepest = std::max(deepest, depth);
  }
  return deepest > 100;
}

/// Workflow files, as far as they name .cfg files.
llvm::Expected<std::vector<std::pair<std::string, Workflow>>> readWorkflows(const std::string &path) {
  auto text = commands::readSettings(path);
  if (!text)
    return text.takeError();
  auto wrong = [&](const llvm::Twine &what) { return inFile(path, makeError(what)); };
  if (isDeep(*text))
    return wrong("is no workflow: it is nested more than 100 deep");
  auto parsed = llvm::json::parse(*text);
  if (!parsed)
    return wrong("is no JSON: " + llvm::toString(parsed.takeError()));
  const llvm::json::Object *file = parsed->getAsObject();
  const llvm::json::Array *names = file ? file->getArray("workflows") : nullptr;
  if (!names)
    return wrong("has no list \"workflows\"");
  if (names->size() > 1000)
    return wrong("has more than 1000 workflows");
  std::vector<std::pair<std::string, Workflow>> flows;
  for (const llvm::json::Value &value : *names) {
    std::string name = value.getAsString().value_or("").str();
    const llvm::json::Object *flow = file->getObject(name);
    const llvm::json::Object *reference = flow ? flow->getObject("cfg-reference") : nullptr;
    auto config = reference ? reference->getString("path") : std::nullopt;
    if (!config)
      return wrong("workflow \"" + printable(name) +
                   "\" names no .cfg file in cfg-reference, which is all that is read of workflows");
    llvm::SmallString<128> beside = llvm::sys::path::parent_path(path);
    llvm::sys::path::append(beside, *config);
    Workflow &added = flows.emplace_back(name, Workflow()).second;
    added.config =
        llvm::sys::fs::exists(*config) || llvm::sys::path::is_absolute(*config) ? config->str() : beside.str().str();
    if (const llvm::json::Array *others = flow->getArray("run-after"))
      for (const llvm::json::Value &other : *others)
        added.after.insert(other.getAsString().value_or("").str());
  }
  return flows;
}

llvm::Error runWorkflows(const std::string &path) {
  auto flows = readWorkflows(path);
  if (!flows)
    return flows.takeError();
  std::set<std::string> done;
  while (!flows->empty()) {
    auto next = llvm::find_if(*flows, [&](const auto &flow) {
      return llvm::all_of(flow.second.after, [&](const std::string &name) { return done.count(name); });
    });
    if (next == flows->end())
      return inFile(path, makeError("workflow \"" + printable(flows->front().first) +
                                    "\" runs after what is not there, or after itself"));
    if (llvm::Error error = runFile(next->second.config, {}))
      return error;
    done.insert(next->first);
    flows->erase(next);
  }
  return llvm::Error::success();
}

} // namespace

std::vector<Option> optionsOfStep(llvm::StringRef tool) {
  std::vector<Option> rows;
  if (tool == "onecc") {
    rows = rowsOf(driverRows);
    rows.push_back(flagRow("v", "Shows the version"));
    return rows;
  }
  rows = {valueRow("C", "FILE", "Same as --config"),
          valueRow("config", "FILE", "The .cfg file"),
          flagRow("V", "Same as --verbose"),
          flagRow("v", "Shows the version"),
          flagRow("verbose", driverRows.back().help),
          valueRow("S", "NAME", "Same as --section"),
          valueRow("section", "NAME", "The section of the file")};
  if (tool == "one-optimize") {
    rows.push_back(groupRow<&Given::group>);
    rows.back().words = 0;
  }
  const StepKind *kind = findStep(tool);
  for (const StepKey &key : kind->keys) {
    if (key.name == "input_path" || key.name == "output_path")
      rows.push_back(valueRow(key.name.take_front(1), "MODEL", key.name));
    rows.push_back(key.kind == StepKey::Switch ? flagRow(key.name, key.help) : valueRow(key.name, "VALUE", key.help));
  }
  return rows;
}

std::string overviewOfStep(llvm::StringRef tool) {
  const StepKind *kind = findStep(tool);
  std::string does = !kind       ? "Runs the steps of a .cfg file of ONE's toolchain"
                     : kind->run ? "A step of ONE's toolchain: " + kind->what.str()
                                 : "Refused: " + kind->what.str();
  return does + ".\n\n"
                "  onecc -C net.cfg                          the steps that [onecc] asks for, in their order\n"
                "  onecc -C net.cfg --report page.html       and a page of the last model beside the first\n"
                "  onecc -W net.workflow.json                the .cfg files that it names\n"
                "  onecc optimize -i net.circle -o out.circle --fuse_gelu\n"
                "  one-optimize -C net.cfg                   [one-optimize] alone\n"
                "  one-optimize -i net.circle -o out.circle -O1\n\n"
                "The command line goes before the file. What one-optimize does not know goes to circle2circle.\n";
}

namespace {

llvm::Error printConfig(const std::string &path) {
  auto sections = readConfigFile(path);
  if (!sections)
    return sections.takeError();
  JsonOutput os;
  llvm::json::OStream out(os, 1);
  out.object([&] {
    for (const auto &[name, keys] : *sections)
      out.attributeObject(llvm::json::fixUTF8(name), [&, &keys = keys] {
        for (const auto &[key, value] : keys)
          out.attribute(llvm::json::fixUTF8(key), llvm::json::fixUTF8(value));
      });
  });
  os << '\n';
  return llvm::Error::success();
}

/// One step, from its section and the command line.
llvm::Error runAlone(const std::string &name, llvm::ArrayRef<std::string> words) {
  const StepKind &kind = *findStep(name);
  std::vector<Option> known = optionsOfStep(name);
  OneStep step{name, {}, {}, "", ""};
  if (!kind.run)
    return runStep(step); // which says why
  std::string section = name;
  Section given;
  for (const Word &word : takeApart(words, known)) {
    llvm::StringRef option = word.option;
    const Option *row = option.empty() ? nullptr : findOption(known, option);
    if (row && takesWords(*row) && row->words > word.more.size() && !llvm::StringRef(word.text).contains('='))
      return makeError("there is no value behind " + printable(word.text, 60));
    if (option == "C" || option == "config") {
      step.file = word.value;
    } else if (option == "S" || option == "section") {
      section = word.value;
    } else if (option == "i" || option == "o") {
      given[option == "i" ? "input_path" : "output_path"] = word.value;
    } else if (option == "V" || option == "verbose") {
      continue;
    } else if (row) {
      auto key = llvm::find_if(kind.keys, [&](const StepKey &key) { return key.name == option; });
      std::string &value = given[row->name.str()];
      if (key != kind.keys.end() && key->kind == StepKey::Lines && !value.empty())
        value += "\n" + word.value;
      else
        value = row->flag && word.value.empty() ? "True" : word.value;
    } else if (name == "one-optimize" && option.starts_with("O") && option.size() > 1) {
      step.group = option.str();
    } else if (kind.otherWords) {
      step.rest.push_back(word.text);
    } else if (!option.empty()) {
      return makeError("there is no option " + printable(word.text, 60) + "; --help lists them");
    } else {
      return makeError("there are too many arguments; --help shows examples");
    }
  }
  Section everywhere;
  if (!step.file.empty()) {
    auto sections = readConfigFile(step.file, &everywhere);
    if (!sections)
      return sections.takeError();
    auto found = sections->find(section);
    if (found == sections->end())
      return inFile(step.file, makeError("has no section [" + printable(section) + "]"));
    step.keys = found->second;
  }
  for (auto &[key, value] : given)
    step.keys[key] = value;
  return runStep(step, everywhere);
}

llvm::Error runDriver(llvm::ArrayRef<std::string> words) {
  for (const StepKind &kind : stepKinds())
    if (!kind.verb.empty() && !words.empty() && words[0] == kind.verb)
      return runAlone(kind.name.str(), words.drop_front());
  Given given;
  std::vector<std::string> more;
  if (llvm::Error error = commands::parse(driverRows, &given, words, more))
    return error;
  if (!more.empty())
    return makeError(
        "there are too many arguments: " + printable(more[0], 60) + "; " +
        (llvm::StringRef(more[0]).ends_with(".cfg") ? "-C goes before a .cfg file" : "--help shows examples"));
  if (given.config.empty() == given.workflow.empty())
    return makeError("needs -C FILE.cfg or -W FILE.json; --help shows examples");
  if (given.config.empty() && (given.prints || !(given.backend + given.report + given.group).empty()))
    return makeError("-b, -O, --report and --print-config go with -C");
  if (!given.group.empty())
    given.group.insert(0, "O"); // as files call it
  if (given.prints)
    return printConfig(given.config);
  return given.config.empty() ? runWorkflows(given.workflow) : runFile(given.config, given);
}

/// Python's argparse takes `-O 1` for `-O1`, and ONE hands on `-O O1`.
void joinGroups(Words &words) {
  for (size_t i = 0; i + 1 < words.size(); ++i)
    if (words[i] == "-O") {
      llvm::StringRef group = words[i + 1];
      group.consume_front("O");
      words[i] += group;
      words.erase(words.begin() + i + 1);
    }
}

} // namespace

int oneDriver(int argc, char **argv, llvm::StringRef name) {
  startTool(name);
  Words words(argv + 1, argv + argc);
  joinGroups(words);
  if (llvm::is_contained(words, "--help") || llvm::is_contained(words, "-h")) {
    llvm::outs() << "OVERVIEW: " << overviewOfStep(name) << "\nUSAGE: " << name << " [options]\n\nOPTIONS:\n"
                 << helpOf(optionsOfStep(name));
    return 0;
  }
  if (words.size() == 1 && (words[0] == "--version" || words[0] == "-v")) {
    llvm::outs() << name << " (origo) " ORIGO_VERSION "\n";
    return 0;
  }
  if (words.size() == 1 && words[0] == printOptionsWord) {
    printOptionTable(optionsOfStep(name));
    return 0;
  }
  llvm::Error error = name == "onecc" ? runDriver(words) : runAlone(name.str(), words);
  return error ? fail(std::move(error)) : 0;
}

} // namespace origo::tools
