#include "commands/Command.h"
#include "commands/Divide.h"
#include "commands/Files.h"
#include "commands/Process.h"
#include "export/Writer.h"
#include "ir/text/Text.h"
#include "schema/InputFile.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

namespace origo::commands {

using llvm::StringRef;

namespace {

/// Makes the model of a failing command small.
struct ReduceRequest {
  std::string output, match, extension;
  unsigned timeout = 60;
};

constexpr std::array reduceRows{
    option<&ReduceRequest::output>("output", "SMALL.origo", "Where the small model goes"),
    option<&ReduceRequest::match>("match", "TEXT", "What the command has to print, besides ending as it does now"),
    option<&ReduceRequest::extension>("as", "circle|tflite|origo",
                                      "What the command is given (default: what MODEL is)"),
    option<&ReduceRequest::timeout>("timeout", "SECONDS",
                                    "A run that takes longer counts as one that does not fail (default: 60)"),
};

class Reducer {
public:
  Reducer(const ReduceRequest &request, std::string model, std::vector<std::string> command, const Scratch &scratch,
          const Door &door)
      : request(request), model(std::move(model)), command(std::move(command)), scratch(scratch), door(door) {}

  llvm::Error run() {
    auto program = findProgram(command[0]);
    if (!program)
      return program.takeError();
    command[0] = *program;
    auto whole = textOf({}, true);
    if (!whole)
      return whole.takeError();
    auto first = execute();
    if (!first)
      return first.takeError();
    wanted = *first;
    if (wanted == 126 || wanted == 127) // as shells say it of what they cannot start
      return makeError("the command ends with exit status " + llvm::Twine(*wanted) +
                       ", so that what it runs cannot be started, whatever the model");
    if (!wanted)
      return makeError("the command does not fail for " + printable(model) +
                       (request.match.empty() ? "" : ", or does not print \"" + printable(request.match) + '"'));
    if (llvm::Error error = chooseOperators())
      return error;
    for (size_t before = 0; before != lines.size();) {
      before = lines.size();
      simplifyLines();
    }
    door.note(llvm::Twine(runs) + " runs; " + llvm::Twine(lines.size()) + " lines are left");
    return save();
  }

private:
  const ReduceRequest &request;
  std::string model;
  std::vector<std::string> command;
  const Scratch &scratch;
  const Door &door;
  std::optional<int> wanted; ///< how the command ends
  unsigned runs = 0;
  std::vector<std::string> lines; ///< of the smallest model that fails

  std::string candidate() const { return scratch.file("model." + request.extension); }

  /// How the command ends for the candidate; none: it does not fail as it should.
  llvm::Expected<std::optional<int>> execute() {
    ++runs;
    std::vector<std::string> filled = command;
    bool placed = false;
    for (std::string &word : filled)
      if (word == "{}")
        word = candidate(), placed = true;
    if (!placed)
      filled.push_back(candidate());
    std::string said = scratch.file("said");
    auto status = runQuietly(filled, said, request.timeout);
    if (!status || !*status)
      return status;
    if (*status == 0)
      return std::nullopt;
    auto text = readInput(said);
    if (!request.match.empty() && (!text || !(*text)->getBuffer().contains(request.match)))
      return std::nullopt;
    return *status;
  }
  bool fails() {
    auto status = execute();
    if (!status) { // it could be started before
      llvm::consumeError(status.takeError());
      return false;
    }
    return *status == wanted;
  }

  /// The model with some of the operators of its first subgraph, or as it is, as a candidate and as text.
  llvm::Expected<std::string> textOf(llvm::ArrayRef<size_t> kept, bool whole = false) {
    PayloadStore store(scratch.path.str().str());
    ImportOptions options;
    options.origin = OriginMode::Restart;
    auto imported = load(model, options, store, door);
    if (!imported)
      return imported.takeError();
    if (!whole) {
      llvm::SmallVector<Operator *> selected;
      size_t at = 0, next = 0;
      for (Operator &op : imported->model->subgraphs.front()->operators)
        if (next < kept.size() && kept[next] == at++)
          selected.push_back(&op), ++next;
      auto nowhere = [](const Operator *, const Subgraph &) -> const Part * { return nullptr; };
      if (llvm::Error error = keepOnly(*imported, store, "reduce", selected, nowhere))
        return error;
    }
    operators = imported->model->subgraphs.front()->operators.size();
    std::string text;
    llvm::raw_string_ostream os(text);
    PrintOptions print;
    print.inlineBytes = 1 << 16;
    print.layout = false;
    printText(*imported->model, os, print);
    if (llvm::Error error = write(*imported, text))
      return error;
    return text;
  }
  /// The candidate. A text that has all its constants is in one file.
  llvm::Error write(Imported &imported, StringRef text) {
    if (kindOf(candidate()) == FileKind::Text && !text.contains(" digest \""))
      return writeFile(candidate(), text);
    ExportOptions to;
    to.format = kindOf(candidate()) == FileKind::Tflite ? Format::Tflite : Format::Circle;
    to.embed = origin::Embed::None;
    std::vector<std::string> notes; // each candidate has the same
    to.notes = &notes;
    return commands::save(imported, candidate(), to, door);
  }
  size_t operators = 0; ///< of the last one

  /// Leaves operators out, in parts that become smaller (Zeller, Hildebrandt 2002).
  llvm::Error chooseOperators() {
    std::vector<size_t> kept;
    for (size_t i = 0; i < operators; ++i)
      kept.push_back(i);
    std::optional<std::string> best;
    for (size_t size = std::max<size_t>(1, kept.size() / 2); kept.size() > 1;) {
      bool smaller = false;
      for (size_t begin = 0; begin < kept.size() && kept.size() > 1;) {
        std::vector<size_t> rest = kept;
        rest.erase(rest.begin() + begin, rest.begin() + std::min(begin + size, rest.size()));
        auto text = rest.empty() ? llvm::Expected<std::string>(makeError("nothing")) : textOf(rest);
        if (text && fails()) {
          kept = std::move(rest);
          best = std::move(*text);
          smaller = true;
        } else {
          llvm::consumeError(text.takeError());
          begin += size;
        }
      }
      if (!smaller && size == 1)
        break;
      if (!smaller)
        size /= 2;
    }
    auto text = best ? llvm::Expected<std::string>(std::move(*best)) : textOf({}, true);
    if (!text)
      return text.takeError();
    llvm::SmallVector<StringRef> parts;
    StringRef(*text).split(parts, '\n', -1, false);
    for (StringRef line : parts)
      lines.push_back(line.str());
    return llvm::Error::success();
  }

  bool tryLines(const std::vector<std::string> &some) {
    PayloadStore store(scratch.path.str().str());
    std::string text = llvm::join(some, "\n") + "\n";
    auto parsed = parseText(text, "", store);
    if (!parsed) {
      llvm::consumeError(parsed.takeError());
      return false;
    }
    Imported imported;
    imported.model = std::move(*parsed);
    imported.model->becomeSource();
    auto listing = listingOf(*imported.model, imported.model->format);
    if (!listing) {
      llvm::consumeError(listing.takeError());
      return false;
    }
    imported.lineage.source = *listing;
    if (llvm::Error error = write(imported, text)) {
      llvm::consumeError(std::move(error));
      return false;
    }
    return fails();
  }

  /// What a line says more than it has to: whole lines, options, quantisation, values of constants, outputs.
  void simplifyLines() {
    auto attempt = [&](size_t at, std::optional<std::string> line) {
      if (line && *line == lines[at])
        return false;
      std::vector<std::string> other = lines;
      if (line)
        other[at] = *line;
      else
        other.erase(other.begin() + at);
      if (!tryLines(other))
        return false;
      lines = std::move(other);
      return true;
    };
    auto without = [](StringRef line, StringRef begin, StringRef end) -> std::string {
      size_t from = line.rfind(begin);
      size_t to = from == line.npos ? from : line.find(end, from);
      return to == line.npos ? line.str() : (line.take_front(from) + line.drop_front(to + end.size())).str();
    };
    for (size_t at = lines.size(); at-- > 2;) {
      if (attempt(at, std::nullopt))
        continue;
      attempt(at, without(lines[at], " {", "}"));
      attempt(at, without(lines[at], " q{", "}"));
      StringRef line = lines[at];
      if (size_t place = line.find(" = const "); place != line.npos)
        for (const char *value : {"splat 0", "splat 1", "splat 2", "seed 1 normal 0 1"})
          if (attempt(at, (line.take_front(place) + " = const " + value).str()))
            break;
      line = lines[at];
      if (line.starts_with("subgraph ") && line.contains("-> ("))
        for (const std::string &name : namesOf(line))
          attempt(at, withoutOutput(lines[at], name));
    }
  }
  static std::vector<std::string> namesOf(StringRef line) {
    llvm::SmallVector<StringRef> names;
    line.split("-> (").second.split(')').first.split(names, ", ");
    return {names.begin(), names.end()};
  }
  static std::string withoutOutput(StringRef line, const std::string &name) {
    std::vector<std::string> names = namesOf(line);
    llvm::erase(names, name);
    auto [head, rest] = line.split("-> (");
    return names.empty() ? line.str() : (head + "-> (" + llvm::join(names, ", ") + ")" + rest.split(')').second).str();
  }

  llvm::Error save() {
    PayloadStore store(scratch.path.str().str());
    auto parsed = parseText(llvm::join(lines, "\n") + "\n", "", store);
    if (!parsed) // big constants, of which the text has only a digest
      return makeError("the constants of what is left are too big for a text; give MODEL smaller weights first");
    Imported imported;
    imported.model = std::move(*parsed);
    return commands::save(imported, request.output, {}, door);
  }
};

llvm::Error reduce(ReduceRequest &request, Words words, const Door &door, Verdict &) {
  if (words.size() < 2)
    return makeError("needs MODEL -- COMMAND; --help shows examples");
  if (request.output.empty())
    return makeError("needs --output; --help shows examples");
  if (llvm::Error error = checkOutput(request.output, FileKind::Text))
    return error;
  const std::string &model = words.front();
  if (llvm::Error error = door.checkFiles(model, request.output))
    return error;
  if (request.extension.empty())
    request.extension = llvm::sys::path::extension(model).drop_front(llvm::sys::path::has_extension(model)).str();
  if (!kindOf("model." + request.extension))
    return makeError("--as: \"" + printable(request.extension) + "\" is none of circle, tflite and origo");
  Scratch scratch("circle-reduce");
  if (scratch.error)
    return makeError("no directory for temporary files: " + scratch.error.message());
  return Reducer(request, model, words.drop_front(), scratch, door).run();
}

} // namespace

const Command reduceCommand = makeCommand<reduce>(
    "circle-reduce", "--output=SMALL MODEL -- COMMAND [ARGUMENT]...",
    "Makes the model small for which a command fails, and writes it as text.\n\n"
    "The command gets the model in the place of {}, or else as its last argument. It fails if its exit status is not "
    "0;\na smaller model is one for which it ends with the same status or signal.\n\n"
    "  circle-reduce --output small.origo net.circle -- circle2circle -O1 --verify-numerics {} /tmp/out.circle\n"
    "  circle-reduce --output small.origo --match=law net.circle -- ./laws-hold.sh\n"
    "  circle-reduce --output small.origo --as=tflite net.tflite -- node their-runtime.mjs\n"
    "\nExit status: 0 success, 1 bad input or usage, or the command does not fail.\n",
    [] { return Options(reduceRows); });

} // namespace origo::commands
