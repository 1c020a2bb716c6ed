#include "tools/HelpPages.h"

#include "ir/Error.h"
#include "tools/Driver.h"
#include "tools/FrontDoor.h"
#include "tools/OneSteps.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace origo::tools {

namespace {

/// A command line whose options can be completed: a tool, or "origo COMMAND".
struct Completed {
  std::string name;
  std::vector<Option> options;
};

std::vector<Completed> allCompleted() {
  std::vector<Completed> all;
  for (const std::string &tool : installedTools())
    all.push_back({tool, optionsOf(tool)});
  for (const Command &command : frontCommands())
    all.push_back({("origo " + command.name).str(), optionsOf(command)});
  // Of no command: `origo MODEL`, and what every command line has.
  all.push_back({"origo", {flagRow("json", "Print JSON", "")}});
  for (Completed &one : all)
    for (const char *name : {"help", "version"})
      one.options.push_back(flagRow(name, name[0] == 'h' ? "Show help" : "Show the version", ""));
  return all;
}

/// In single quotes, for a shell.
std::string quoted(llvm::StringRef text) {
  std::string result = "'";
  for (char c : text)
    result += c == '\'' ? "'\\''" : std::string(1, c);
  return result + "'";
}

std::string commandNames(llvm::StringRef between) {
  std::vector<std::string> names;
  for (const Command &command : frontCommands())
    names.push_back(command.name.str());
  return llvm::join(names, between);
}

} // namespace

std::string bashCompletion() {
  std::vector<Completed> all = allCompleted();
  std::string text = "# Completion for bash, made by: origo completion bash\n_origo_options() {\n  case $1 in\n";
  std::string choices;
  for (const Completed &one : all) {
    std::string words;
    for (const Option &row : one.options) {
      std::string word = row.spelled() + (takesWords(row) && row.words == 1 ? "=" : "");
      words += (words.empty() ? "" : " ") + word;
      std::string names;
      for (const auto &[name, help] : valuesOf(row))
        names += (names.empty() ? "" : " ") + name.str();
      if (!names.empty())
        choices += "  " + quoted(one.name + ":" + row.spelled()) + ") echo " + quoted(names) + " ;;\n";
    }
    text += "  " + quoted(one.name) + ") echo " + quoted(words) + " ;;\n";
  }
  text += "  esac\n}\n_origo_choices() {\n  case $1:$2 in\n" + choices + "  esac\n}\n";
  text += R"sh(_origo() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} name=${COMP_WORDS[0]##*/} option=
  COMPREPLY=()
  if [[ $name == origo ]]; then
    if ((COMP_CWORD == 1)) && [[ $cur != -* ]]; then
      COMPREPLY=($(compgen -W ')sh" +
          commandNames(" ") + R"sh(' -- "$cur"))
      return
    fi
    [[ $(_origo_options "origo ${COMP_WORDS[1]}") ]] && name="origo ${COMP_WORDS[1]}"
  fi
  # bash takes --option=value for three words.
  if [[ $cur == '=' ]]; then
    option=$prev cur=
  elif [[ $prev == '=' ]]; then
    option=${COMP_WORDS[COMP_CWORD-2]}
  elif [[ $prev == -* && $cur != -* ]]; then
    option=$prev
  fi
  if [[ -n $option ]]; then
    COMPREPLY=($(compgen -W "$(_origo_choices "$name" "$option")" -- "$cur"))
  elif [[ $cur == -* ]]; then
    COMPREPLY=($(compgen -W "$(_origo_options "$name")" -- "$cur"))
    [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null
  fi
  return 0
}
)sh";
  text += "complete -o default -F _origo origo";
  for (const std::string &tool : installedTools())
    text += " " + tool;
  return text + "\n";
}

/// An option for zsh's _arguments.
static std::string zshSpec(const Option &row) {
  auto escaped = [](llvm::StringRef text, llvm::StringRef special) {
    std::string result;
    for (char c : text)
      result += special.contains(c) ? std::string("\\") + c : std::string(1, c);
    return result;
  };
  std::string help = "[" + escaped(row.help, "\\[]:") + "]";
  std::string names;
  for (const auto &[name, meaning] : valuesOf(row))
    names += (names.empty() ? "" : " ") + name.str();
  std::string value = ":" + escaped(row.value.empty() ? "value" : row.value, "\\:") + ":" +
                      (names.empty() ? "_files" : "(" + names + ")");
  if (row.flag)
    return row.spelled() + help;
  if (row.bare)
    return row.spelled() + "=-" + help + ":" + value;
  if (row.prefix)
    return row.spelled() + "-" + help + value;
  if (row.words <= 1)
    return row.spelled() + "=" + help + value;
  std::string text = row.spelled() + help;
  for (unsigned i = 0; i < row.words; ++i)
    text += ":word:";
  return text;
}

std::string zshCompletion() {
  std::vector<Completed> all = allCompleted();
  std::string text = "#compdef origo";
  for (const std::string &tool : installedTools())
    text += " " + tool;
  text += "\n# Completion for zsh, made by: origo completion zsh\n"
          "_origo_options() {\n  case $1 in\n";
  for (const Completed &one : all) {
    text += "  " + quoted(one.name) + ")\n    _arguments";
    for (const Option &row : one.options)
      text += " \\\n      " + quoted(zshSpec(row));
    text += " \\\n      '*:file:_files' ;;\n";
  }
  text += "  esac\n}\n_origo() {\n"
          "  local -a commands=(";
  for (const Command &command : frontCommands())
    text += "\n    " + quoted((command.name + ":" + command.summary).str());
  return text + "\n  )\n"
                "  if [[ $service != origo ]]; then\n"
                "    _origo_options $service\n"
                "  elif (( CURRENT == 2 )) && [[ $words[2] != -* ]]; then\n"
                "    _describe command commands\n"
                "    _files\n"
                "  elif (( ${commands[(I)$words[2]:*]} )); then\n"
                "    local name=\"origo $words[2]\"\n"
                "    shift words; (( CURRENT-- ))\n"
                "    _origo_options $name\n"
                "  else\n"
                "    _origo_options origo\n"
                "  fi\n"
                "}\n_origo \"$@\"\n";
}

// Manual pages.

/// For roff: nothing in it is a request or an escape.
static std::string roff(llvm::StringRef line) {
  std::string text = !line.empty() && (line[0] == '.' || line[0] == '\'') ? "\\&" : "";
  for (size_t i = 0; i < line.size(); ++i)
    text += line[i] == '\\' ? "\\e" : line[i] == '-' ? "\\-" : std::string(1, line[i]);
  return text;
}

/// Paragraphs; indented lines stay as they are.
static std::string roffText(llvm::StringRef text) {
  llvm::SmallVector<llvm::StringRef> lines;
  text.split(lines, '\n');
  std::string result;
  bool example = false, gap = false;
  for (llvm::StringRef line : lines) {
    bool indented = line.starts_with("  ");
    if (line.trim().empty()) {
      gap = !result.empty();
      continue;
    }
    if (example != indented) {
      result += indented ? ".PP\n.nf\n" : ".fi\n.PP\n";
      gap = false;
    }
    if (gap)
      result += indented ? "\n" : ".PP\n";
    gap = false;
    example = indented;
    result += roff(line) + "\n";
  }
  return result + (example ? ".fi\n" : "");
}

static std::string roffOptions(commands::Options options) {
  std::string text;
  std::vector<llvm::StringRef> categories;
  for (const Option &row : options)
    if (!llvm::is_contained(categories, row.category))
      categories.push_back(row.category);
  for (llvm::StringRef category : categories) {
    text += ".SS \"" + roff(category.empty() ? "Options of this command" : category) + "\"\n";
    for (const Option &row : options) {
      if (row.category != category)
        continue;
      std::string value = "\\fI" + roff(row.value.empty() ? "value" : row.value) + "\\fR";
      text += ".TP\n\\fB" + roff(row.spelled()) + "\\fR";
      if (takesWords(row))
        text += row.words > 1 ? " " + std::to_string(row.words) + " words" : "=" + value;
      else if (row.bare)
        text += "[=" + value + "]";
      else if (row.prefix)
        text += value;
      text += "\n" + roff(row.help.empty() ? "(see above)" : row.help) + "\n";
      for (const auto &[name, help] : valuesOf(row))
        text += ".br\n\\fB" + roff(name) + "\\fR: " + roff(help) + "\n";
    }
  }
  return text;
}

static std::string page(llvm::StringRef name, llvm::StringRef summary, llvm::StringRef synopsis, llvm::StringRef body,
                        commands::Options options) {
  std::string text = ".TH \"" + name.upper() + "\" 1 \"\" \"Origo " ORIGO_VERSION "\" \"Origo\"\n.SH NAME\n" +
                     roff(name) + " \\- " + roff(summary) + "\n.SH SYNOPSIS\n" + roff(synopsis) +
                     "\n.SH DESCRIPTION\n" + roffText(body);
  if (!options.empty())
    text += ".SH OPTIONS\n" + roffOptions(options);
  return text + ".SH SEE ALSO\n.BR origo (1)\n";
}

static std::string toolPage(llvm::StringRef tool) {
  const commands::Command *command = commands::findCommand(tool);
  std::string overview = command ? command->overview.str() : overviewOfStep(tool);
  llvm::StringRef summary = llvm::StringRef(overview).split('\n').first;
  std::string usage = (tool + " [options] " + (command ? command->arguments : "")).str();
  return page(tool, summary.rtrim('.'), llvm::StringRef(usage).rtrim(), overview, optionsOf(tool));
}

llvm::Expected<std::string> manualPage(llvm::StringRef name) {
  name.consume_front("origo-");
  if (name == "origo")
    return page("origo", "optimises, quantises, runs and explains neural networks", "origo COMMAND|MODEL [options]",
                frontHelp(), {});
  if (const Command *command = findCommand(name)) {
    std::string body = (command->summary + ".\n\n" + command->help).str();
    return page(("origo-" + command->name).str(), command->summary,
                ("origo " + command->name + " [options] " + command->arguments).str(), body, optionsOf(*command));
  }
  if (llvm::is_contained(installedTools(), name))
    return toolPage(name);
  return makeError("there is no command or tool \"" + printable(name, 60) + "\"; origo --help names the commands");
}

} // namespace origo::tools
