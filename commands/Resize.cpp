#include "commands/Command.h"
#include "commands/Files.h"
#include "ir/edit/Editor.h"

namespace origo::commands {

namespace {

/// Gives the inputs of a model other shapes.
struct ResizeRequest {
  std::string input, output, shapes;
};

using Shapes = llvm::SmallVector<llvm::SmallVector<int32_t, 4>>;

constexpr std::array resizeRows{
    option<&ResizeRequest::input>("input_path", "INPUT", "The model, as circle-resizer of ONE has it",
                                  {.python = Without::Place, .cfg = Without::Place}),
    option<&ResizeRequest::output>("output_path", "OUTPUT", "Where the other one goes, likewise",
                                   {.python = Without::Place, .cfg = Without::Place}),
    option<&ResizeRequest::shapes>("input_shapes", "\"[1,2],[3,4]\"",
                                   "A shape for each input, in order; -1 is known at run time only"),
};

llvm::Expected<Shapes> shapesIn(const std::string &text, const std::string &option) {
  auto wrong = [&] { return makeError(option + ": \"" + printable(text) + "\" is not like \"[1,2],[3,4]\""); };
  Shapes shapes;
  llvm::StringRef rest = llvm::StringRef(text).trim();
  while (true) {
    if (!rest.consume_front("["))
      return wrong();
    auto [list, behind] = rest.split(']');
    if (list.size() == rest.size())
      return wrong();
    llvm::SmallVector<int32_t, 4> &shape = shapes.emplace_back();
    llvm::SmallVector<llvm::StringRef> dimensions;
    if (!list.trim().empty())
      list.split(dimensions, ',');
    for (llvm::StringRef dimension : dimensions)
      if (int32_t value = 0; dimension.trim().getAsInteger(10, value) || value < -1)
        return wrong();
      else
        shape.push_back(value);
    rest = behind.ltrim();
    if (rest.empty())
      return shapes;
    if (!rest.consume_front(","))
      return wrong();
    rest = rest.ltrim();
  }
}

llvm::Error resize(ResizeRequest &request, Words words, const Door &door, Verdict &) {
  if (llvm::Error error = takeFiles(request.input, request.output, words))
    return error;
  if (request.shapes.empty())
    return makeError("needs " + door.spell("input_shapes") + "; --help shows examples");
  auto shapes = shapesIn(request.shapes, door.spell("input_shapes"));
  if (!shapes)
    return shapes.takeError();
  return rewriteFile(
      request.input, request.output,
      [&](Imported &imported, PayloadStore &) { return Editor(*imported.model).resizeInputs(*shapes); }, door);
}

} // namespace

const Command resizeCommand = makeCommand<resize>(
    "circle-resizer", "INPUT OUTPUT",
    "Gives the inputs of a model other shapes.\n\n"
    "All shapes behind the inputs follow. A RESHAPE that states the batch states -1 from then on; other\n"
    "constants stay, so that an operator that has a shape as a constant may refuse.\n\n"
    "  circle-resizer --input_shapes \"[4,224,224,3]\" net.circle batch4.circle\n"
    "  circle-resizer --input_path net.circle --output_path batch4.circle --input_shapes \"[4,224,224,3]\"\n",
    [] { return Options(resizeRows); });

} // namespace origo::commands
