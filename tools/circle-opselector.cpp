/// Makes a model of some operators of another.

#include "tools/Divide.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/CommandLine.h"

using namespace origo;
using namespace origo::tools;
namespace cl = llvm::cl;

namespace {

cl::OptionCategory category("Options");
cl::opt<std::string> byId("by_id", cl::value_desc("1-3,5"),
                          cl::desc("Operators by their numbers, as circledump shows them; G:1-3 in subgraph G"),
                          cl::cat(category));
cl::opt<std::string> byName("by_name", cl::value_desc("a,b"), cl::desc("Operators by the names of their outputs"),
                            cl::cat(category));
cl::opt<std::string> input(cl::Positional, cl::desc("INPUT"), cl::cat(category));
cl::opt<std::string> output(cl::Positional, cl::desc("OUTPUT"), cl::cat(category));
cl::extrahelp examples("\nThe operators have to be of one subgraph, which becomes the first one. What they take from "
                       "operators that are left\nout become inputs, what those take from them outputs; subgraphs "
                       "that they call come along.\n"
                       "\nExamples:\n"
                       "  circle-opselector --by_id 1-3,5 net.circle part.circle\n"
                       "  circle-opselector --by_id 2:0-4 net.circle body.circle     of subgraph 2\n"
                       "  circle-opselector --by_name conv1,pool1 net.circle part.circle\n"
                       "  origin-dump part.circle                                    what they are in the source\n");

using Selection = llvm::SmallVector<Operator *>;

llvm::Error selectIds(Model &model, Selection &selected) {
  llvm::SmallVector<llvm::StringRef> ranges;
  llvm::StringRef(byId).split(ranges, ',');
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
      return makeError("--by_id: \"" + printable(text) + "\" is neither a number nor a range like 1-3");
    if (graph >= model.subgraphs.size())
      return makeError("--by_id: there is no subgraph " + llvm::Twine(graph));
    size_t count = model.subgraphs[graph]->operators.size();
    if (to >= count)
      return makeError("--by_id: there is no operator " + llvm::Twine(to) + " in subgraph " + llvm::Twine(graph) +
                       ", which has " + llvm::Twine(count));
    for (Operator &op : model.subgraphs[graph]->operators)
      if (op.index >= from && op.index <= to)
        selected.push_back(&op);
  }
  return llvm::Error::success();
}

llvm::Error selectNames(Model &model, Selection &selected) {
  llvm::SmallVector<llvm::StringRef> names;
  llvm::StringRef(byName).split(names, ',');
  for (llvm::StringRef name : names) {
    Operator *found = nullptr;
    for (auto &graph : model.subgraphs)
      for (Operator &op : graph->operators)
        if (llvm::any_of(op.results(), [&](const Value *result) { return result && result->name == name; })) {
          if (found)
            return makeError("--by_name: several operators have an output \"" + printable(name) + "\"; use --by_id");
          found = &op;
        }
    if (!found)
      return makeError("--by_name: no operator has an output \"" + printable(name) + "\"; circledump shows the names");
    selected.push_back(found);
  }
  return llvm::Error::success();
}

llvm::Error keepSelected(Imported &imported, PayloadStore &store) {
  Model &model = *imported.model;
  model.number();
  Selection selected;
  if (llvm::Error error = byName.empty() ? selectIds(model, selected) : selectNames(model, selected))
    return error;
  for (Operator *op : selected)
    if (op->subgraph() != selected.front()->subgraph())
      return makeError("the operators are of subgraphs " + llvm::Twine(selected.front()->subgraph()->index) + " and " +
                       llvm::Twine(op->subgraph()->index) + "; select those of one");
  auto nowhere = [](const Operator *, const Subgraph &) -> const Part * { return nullptr; };
  return keepOnly(imported, store, "select-operators", selected, nowhere);
}

} // namespace

int main(int argc, char **argv) {
  return tools::main(argc, argv, "circle-opselector", {&category}, "Makes a model of some operators of another.\n", [] {
    if (input.empty() || output.empty())
      return fail("needs INPUT and OUTPUT; --help shows examples");
    if (byId.empty() == byName.empty())
      return fail("which operators? Say --by_id or --by_name; --help shows examples");
    llvm::Error error = rewriteFile(input, output, keepSelected);
    return error ? fail(std::move(error)) : 0;
  });
}
