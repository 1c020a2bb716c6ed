#include "origin/Json.h"
#include "passes/Pipeline.h"
#include "tools/Driver.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <set>

using namespace origo;
namespace cl = llvm::cl;

namespace {

cl::OptionCategory general("General");
cl::OptionCategory origins("Origins");
cl::OptionCategory flags("Rewrites, by the flags of the circle toolchain");

cl::opt<std::string> input(cl::Positional, cl::Required, cl::desc("INPUT"), cl::cat(general));
cl::opt<std::string> output(cl::Positional, cl::Required, cl::desc("OUTPUT"), cl::cat(general));
cl::opt<char> level("O", cl::Prefix, cl::init(0), cl::value_desc("level"),
                    cl::desc("-O0: only convert (the default where no rewrite is asked for); -O1: all safe rewrites"),
                    cl::cat(general));
cl::list<std::string> passes("passes", cl::CommaSeparated, cl::value_desc("a,b"),
                             cl::desc("Run these passes (names: --list-passes)"), cl::cat(general));
cl::list<std::string> skip("skip", cl::CommaSeparated, cl::value_desc("a,b"), cl::desc("Leave these passes out"),
                           cl::cat(general));
cl::opt<bool> verifyEach("verify-each", cl::desc("Verify the model and its origins after each rewrite"),
                         cl::cat(general));
cl::opt<bool> verbose("verbose", cl::desc("Say what is done"), cl::cat(general));
cl::alias verboseShort("V", cl::aliasopt(verbose), cl::desc("Same as --verbose"), cl::cat(general));

cl::opt<origin::Embed> embed(
    "embed-origin", cl::init(origin::Embed::Full), cl::desc("The origin map inside the model:"),
    cl::values(clEnumValN(origin::Embed::Full, "full", "with source names (default)"),
               clEnumValN(origin::Embed::Ids, "ids", "without names, which stay in the side file"),
               clEnumValN(origin::Embed::None, "none", "nothing")),
    cl::cat(origins));
cl::opt<std::string> originJson("origin-json", cl::value_desc("file"),
                                cl::desc("Where the side file goes (default: OUTPUT.origin.json)"), cl::cat(origins));
cl::opt<bool> noOriginJson("no-origin-json", cl::desc("No side file"), cl::cat(origins));
cl::opt<std::string> originMap("origin-map", cl::value_desc("file"),
                               cl::desc("Side file of an INPUT that carries no map"), cl::cat(origins));

enum class Found { Continue, Restart, Ignore };
cl::opt<Found> found("origin", cl::init(Found::Continue), cl::desc("An origin map found in INPUT:"),
                     cl::values(clEnumValN(Found::Continue, "continue", "goes on (default); refused if it is stale"),
                                clEnumValN(Found::Restart, "restart", "is dropped: INPUT becomes the source"),
                                clEnumValN(Found::Ignore, "ignore", "is dropped, and no new one is written")),
                     cl::cat(origins));

/// Accepted for the sake of existing scripts; the named behaviour is what is always done, or does not apply.
const char *const acceptedFlags[] = {"mute_warnings", "disable_validation", "generate_profile_data",
                                     "exp_disable_sep_transposeconv_actfunc"};

llvm::Expected<Pipeline> pipelineOf(llvm::ArrayRef<std::unique_ptr<cl::opt<bool>>> flagOptions) {
  Pipeline pipeline;
  if (level == '1')
    pipeline = Pipeline::o1();
  else if (level != 0 && level != '0')
    return makeError("no such level: -O" + llvm::Twine(char(level)) + "; there are -O0 and -O1");
  for (const std::string &name : passes) {
    const Pass *pass = findPass(name);
    if (!pass)
      return makeError("no such pass: \"" + printable(name) + "\"; --list-passes tells the names");
    pipeline.add(*pass);
  }
  for (const auto &option : flagOptions)
    if (*option)
      for (const Pass &pass : allPasses())
        for (const PassFlag &flag : pass.flags)
          if (flag.name == option->ArgStr)
            pipeline.add(pass, flag.scopes);
  for (const std::string &name : skip) {
    if (!findPass(name))
      return makeError("no such pass: \"" + printable(name) + "\"; --list-passes tells the names");
    pipeline.remove(name);
  }
  pipeline.verifyEach = verifyEach;
  return pipeline;
}

llvm::Expected<std::shared_ptr<const origin::OriginMap>> readSideFile(llvm::StringRef path) {
  auto text = llvm::MemoryBuffer::getFile(path);
  if (!text)
    return inFile(path, makeError("cannot be read: " + text.getError().message()));
  llvm::Expected<origin::OriginMap> map = origin::readJson((*text)->getBuffer());
  if (!map)
    return inFile(path, map.takeError());
  return std::make_shared<const origin::OriginMap>(std::move(*map));
}

int listPasses() {
  for (const Pass &pass : allPasses()) {
    llvm::outs() << llvm::left_justify(pass.name, 26) << (pass.inO1 ? "O1  " : "    ") << pass.summary << '\n';
    for (const PassFlag &flag : pass.flags)
      llvm::outs() << llvm::left_justify("", 30) << "--" << flag.name << '\n';
  }
  return 0;
}

llvm::Error run(const Pipeline &pipeline) {
  if (!tools::kindOf(output) && output != "-" && !llvm::StringRef(output).starts_with("/dev/"))
    return inFile(output, makeError("the extension tells the format: use .circle, .tflite or .origo"));
  // Computed constants are spilled where there must be room anyway.
  llvm::StringRef directory = llvm::sys::path::parent_path(output);
  PayloadStore store(directory.empty() ? "." : directory.str());

  ImportOptions importOptions;
  importOptions.origin = found == Found::Continue ? OriginMode::Continue : OriginMode::Restart;
  if (!originMap.empty()) {
    auto map = readSideFile(originMap);
    if (!map)
      return map.takeError();
    importOptions.map = *map;
  }
  llvm::Expected<Imported> imported = tools::load(input, importOptions, store);
  if (!imported)
    return imported.takeError();
  for (const std::string &note : imported->notes)
    tools::note(note);
  Model &model = *imported->model;
  size_t before = model.operatorCount();
  if (llvm::Error error = runPipeline(model, pipeline, store))
    return inFile(input, std::move(error));

  ExportOptions exportOptions;
  exportOptions.format = tools::kindOf(output) == tools::FileKind::Tflite   ? Format::Tflite
                         : tools::kindOf(output) == tools::FileKind::Circle ? Format::Circle
                                                                            : model.format;
  std::vector<std::string> notes;
  exportOptions.notes = &notes;
  exportOptions.embed = found == Found::Ignore ? origin::Embed::None : embed;
  if (!noOriginJson && found != Found::Ignore && tools::kindOf(output))
    exportOptions.originJson = originJson.empty() ? output + ".origin.json" : originJson;
  if (llvm::Error error = tools::save(*imported, output, exportOptions))
    return error;
  for (const std::string &note : notes)
    tools::note(note);
  if (verbose)
    llvm::errs() << "circle2circle: " << before << " operators, " << model.operatorCount() << " after "
                 << model.rewrites << " rewrites\n";
  return llvm::Error::success();
}

} // namespace

int main(int argc, char **argv) {
  tools::start("circle2circle");
  // One switch a flag, from the pass table: a flag of several passes stands there once.
  std::vector<std::unique_ptr<cl::opt<bool>>> flagOptions;
  std::set<llvm::StringRef> names;
  auto addFlag = [&](llvm::StringRef name, llvm::StringRef help) {
    if (names.insert(name).second)
      flagOptions.push_back(std::make_unique<cl::opt<bool>>(name, cl::desc(help), cl::cat(flags)));
  };
  for (const Pass &pass : allPasses())
    for (const PassFlag &flag : pass.flags)
      addFlag(flag.name, pass.name);
  for (const char *name : acceptedFlags)
    addFlag(name, "accepted, changes nothing");
  cl::opt<bool> list("list-passes", cl::desc("Print the passes and their flags, and stop"), cl::cat(general),
                     cl::callback([](const bool &) { exit(listPasses()); }));

  cl::HideUnrelatedOptions({&general, &origins, &flags});
  cl::SetVersionPrinter([](llvm::raw_ostream &os) { os << "circle2circle (origo) 0.1.0\n"; });
  cl::ParseCommandLineOptions(argc, argv,
                              "Optimises a .circle, .tflite or .origo model and writes where everything came from.\n\n"
                              "  circle2circle -O1 net.tflite net.circle      optimise; net.circle.origin.json beside it\n"
                              "  circle2circle net.circle net.tflite          convert only\n"
                              "  circle2circle -O1 --skip=fuse-activation a.tflite b.tflite\n"
                              "  origin-dump net.circle                       what came from where\n");
  llvm::Expected<Pipeline> pipeline = pipelineOf(flagOptions);
  if (!pipeline)
    return tools::fail(pipeline.takeError());
  if (llvm::Error error = run(*pipeline))
    return tools::fail(std::move(error));
  return 0;
}
