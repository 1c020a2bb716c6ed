#include "commands/Command.h"
#include "commands/Divide.h"
#include "commands/Files.h"

namespace origo::commands {

namespace {

/// Makes a model of some operators of another.
struct SelectRequest {
  std::string input, output;
  std::vector<std::string> ids, names; ///< one of the two
};

constexpr std::array selectRows{
    option<&SelectRequest::ids>("by_id", "1-3,5",
                                "Operators by their numbers, as circledump shows them; G:1-3 in subgraph G"),
    option<&SelectRequest::names>("by_name", "a,b", "Operators by the names of their outputs"),
};

using Selection = llvm::SmallVector<Operator *>;

llvm::Error selectIds(Model &model, const std::vector<std::string> &ranges, const std::string &option,
                      Selection &selected) {
  for (llvm::StringRef text : ranges) {
    llvm::StringRef rest = text.trim(), first, last;
    unsigned graph = 0, from = 0, to = 0;
    bool sound = true;
    if (rest.contains(':')) {
      std::tie(first, rest) = rest.split(':');
      sound = !first.getAsInteger(10, graph);
    }
    std::tie(first, last) = rest.split('-');
    sound &= !first.trim().getAsInteger(10, from);
    to = from;
    if (rest.contains('-'))
      sound &= !last.trim().getAsInteger(10, to);
    if (!sound || to < from)
      return makeError(option + ": \"" + printable(text) + "\" is neither a number nor a range like 1-3");
    if (graph >= model.subgraphs.size())
      return makeError(option + ": there is no subgraph " + llvm::Twine(graph));
    size_t count = model.subgraphs[graph]->operators.size();
    if (to >= count)
      return makeError(option + ": there is no operator " + llvm::Twine(to) + " in subgraph " + llvm::Twine(graph) +
                       ", which has " + llvm::Twine(count));
    for (Operator &op : model.subgraphs[graph]->operators)
      if (op.index >= from && op.index <= to)
        selected.push_back(&op);
  }
  return llvm::Error::success();
}

llvm::Error selectNames(Model &model, const SelectRequest &request, const Door &door, Selection &selected) {
  std::string option = door.spell("by_name");
  for (llvm::StringRef name : request.names) {
    Operator *found = nullptr;
    for (auto &graph : model.subgraphs)
      for (Operator &op : graph->operators)
        if (llvm::any_of(op.results(), [&](const Value *result) { return result && result->name == name; })) {
          if (found)
            return makeError(option + ": several operators have an output \"" + printable(name) + "\"; use " +
                             door.spell("by_id"));
          found = &op;
        }
    if (!found)
      return makeError(option + ": no operator has an output \"" + printable(name) + "\"; circledump shows the names");
    selected.push_back(found);
  }
  return llvm::Error::success();
}

llvm::Error keepSelected(const SelectRequest &request, Imported &imported, PayloadStore &store, const Door &door) {
  Model &model = *imported.model;
  model.number();
  Selection selected;
  if (llvm::Error error = request.names.empty() ? selectIds(model, request.ids, door.spell("by_id"), selected)
                                                : selectNames(model, request, door, selected))
    return error;
  for (Operator *op : selected)
    if (op->subgraph() != selected.front()->subgraph())
      return makeError("the operators are of subgraphs " + llvm::Twine(selected.front()->subgraph()->index) + " and " +
                       llvm::Twine(op->subgraph()->index) + "; select those of one");
  auto nowhere = [](const Operator *, const Subgraph &) -> const Part * { return nullptr; };
  return keepOnly(imported, store, "select-operators", selected, nowhere);
}

llvm::Error select(SelectRequest &request, Words words, const Door &door, Verdict &) {
  if (llvm::Error error = takeFiles(request.input, request.output, words))
    return error;
  if (request.ids.empty() == request.names.empty())
    return makeError("which operators? Say " + door.spell("by_id") + " or " + door.spell("by_name") +
                     "; --help shows examples");
  auto change = [&](Imported &imported, PayloadStore &store) { return keepSelected(request, imported, store, door); };
  return rewriteFile(request.input, request.output, change, door);
}

} // namespace

const Command selectCommand = makeCommand<select>(
    "circle-opselector", "INPUT OUTPUT",
    "Makes a model of some operators of another.\n\n"
    "The operators have to be of one subgraph, which becomes the first one. What they take from operators that are\n"
    "left out become inputs, what those take from them outputs; subgraphs that they call come along.\n\n"
    "  circle-opselector --by_id 1-3,5 net.circle part.circle\n"
    "  circle-opselector --by_id 2:0-4 net.circle body.circle     of subgraph 2\n"
    "  circle-opselector --by_name conv1,pool1 net.circle part.circle\n"
    "  origin-dump part.circle                                    what they are in the source\n",
    [] { return Options(selectRows); });

} // namespace origo::commands
