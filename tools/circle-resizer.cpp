/// Gives the inputs of a model other shapes.

#include "ir/edit/Editor.h"
#include "tools/Driver.h"

#include "llvm/Support/CommandLine.h"

using namespace origo;
using namespace origo::tools;
namespace cl = llvm::cl;

namespace {

cl::OptionCategory category("Options");
cl::list<std::string> words(cl::Positional, cl::desc("INPUT OUTPUT"), cl::cat(category));
cl::opt<std::string> input("input_path", cl::value_desc("INPUT"),
                           cl::desc("The model, as circle-resizer of ONE has it"), cl::cat(category));
cl::opt<std::string> output("output_path", cl::value_desc("OUTPUT"), cl::desc("Where the other one goes, likewise"),
                            cl::cat(category));
cl::opt<std::string> shapesText("input_shapes", cl::value_desc("\"[1,2],[3,4]\""),
                                cl::desc("A shape for each input, in order; -1 is known at run time only"),
                                cl::cat(category));
cl::extrahelp
    examples("\nAll shapes behind the inputs follow. A RESHAPE that states the batch states -1 from then on; other "
             "constants stay, so that an operator that has a shape as a constant may refuse.\n"
             "\nExamples:\n"
             "  circle-resizer --input_shapes \"[4,224,224,3]\" net.circle batch4.circle\n"
             "  circle-resizer --input_path net.circle --output_path batch4.circle "
             "--input_shapes \"[4,224,224,3]\"\n");

using Shapes = llvm::SmallVector<llvm::SmallVector<int32_t, 4>>;

llvm::Expected<Shapes> parseShapes() {
  auto wrong = [] {
    return makeError("--input_shapes: \"" + printable(shapesText) + "\" is not like \"[1,2],[3,4]\"");
  };
  Shapes shapes;
  llvm::StringRef rest = llvm::StringRef(shapesText).trim();
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

llvm::Error run() {
  llvm::Expected<Shapes> shapes = parseShapes();
  if (!shapes)
    return shapes.takeError();
  return rewriteFile(input, output, [&](Imported &imported, PayloadStore &store) {
    return Editor(*imported.model).resizeInputs(*shapes);
  });
}

} // namespace

int main(int argc, char **argv) {
  return tools::main(argc, argv, "circle-resizer", {&category}, "Gives the inputs of a model other shapes.\n", [] {
    if (words.size() > 2 || (!words.empty() && !input.empty()) || (words.size() > 1 && !output.empty()))
      return fail("one INPUT and one OUTPUT; --help shows examples");
    if (!words.empty())
      input = words[0];
    if (words.size() > 1)
      output = words[1];
    if (input.empty() || output.empty() || shapesText.empty())
      return fail("needs INPUT, OUTPUT and --input_shapes; --help shows examples");
    llvm::Error error = run();
    return error ? fail(std::move(error)) : 0;
  });
}
