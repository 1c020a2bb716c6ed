// usage: native_flags LIBRARY WORK EVERY     each flag of circle2circle alone, and -O1, in TensorFlow Lite, natively
// Every .tflite model to which a flag applies is run before and after: floats within 1e-5 of their range, all else
// exact, but for flags that change results by their very purpose, of which it is said by how much. WORK: how many
// multiplications a model may take; EVERY: of these models only each so many-th. Each model has a process of its own,
// because the runtime may end it. Exits with 1 if something differs.
#include "eval/Distance.h"
#include "eval/RandomInput.h"
#include "export/Export.h"
#include "import/Import.h"
#include "passes/Pipeline.h"
#include "tests/RealModels.h"
#include "tests/Work.h"
#include "tests/fuzz/NativeRuntime.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/raw_ostream.h"

#include <map>
#include <set>
#include <sys/wait.h>
#include <unistd.h>

using namespace origo;
using namespace origo::test;

namespace {

/// What a process tells of a flag: a letter and a text.
enum Verdict : char { Applies = 'a', Same = 's', Meant = 'm', NotRun = 'n', NotWritten = 'w', Differs = 'd' };

std::map<std::string, Pipeline> pipelines() {
  std::map<std::string, Pipeline> all{{"-O1", Pipeline::o1()}};
  for (const Pass &pass : allPasses())
    for (const PassFlag &flag : pass.flags)
      all[("--" + flag.name).str()].add(pass, flag.scopes);
  return all;
}

std::string write(Imported &imported, const std::string &path) {
  ExportOptions options;
  options.format = Format::Tflite;
  options.embed = origin::Embed::None;
  llvm::Error error = exportModel(*imported.model, imported.lineage, path, options);
  return error ? llvm::toString(std::move(error)) : std::string();
}

std::string differences(const fuzz::NativeRuntime::Outcome &before, const fuzz::NativeRuntime::Outcome &after) {
  if (before.outputs.size() != after.outputs.size())
    return "has another number of outputs";
  for (size_t i = 0; i < before.outputs.size(); ++i) {
    const eval::OwnedTensor &x = before.outputs[i], &y = after.outputs[i];
    if (double off = eval::distance(x, y); off > (x.type == TensorType::FLOAT32 ? 1e-5 : 0))
      return "output " + std::to_string(i) + " is off by " + std::to_string(off) +
             (x.type == TensorType::FLOAT32 ? " of its range" : " steps");
  }
  return {};
}

/// Runs one model with every flag, and prints what it finds.
void runModel(const fuzz::NativeRuntime &runtime, const std::string &path, const std::string &scratch, FILE *out) {
  auto say = [&](Verdict verdict, const std::string &flag, llvm::StringRef text = {}) {
    std::fprintf(out, "%c%s\t%s\n", verdict, flag.c_str(), text.split('\n').first.str().c_str());
    std::fflush(out);
  };
  std::optional<fuzz::NativeRuntime::Outcome> before; // asked when the first flag applies
  std::vector<eval::OwnedTensor> inputs;
  for (const auto &[flag, pipeline] : pipelines()) {
    std::unique_ptr<Imported> imported = importAsSource(path);
    if (!imported)
      return;
    PayloadStore store(scratch);
    origo::PipelineOptions options;
    options.format = Format::Tflite;
    unsigned applied = 0; // that dead code goes is no sign of the flag
    options.onRewrite = [&](const RewriteEvent &event) { applied += event.rule != "unused"; };
    if (llvm::Error error = runPipeline(*imported->model, pipeline, store, options)) {
      say(Differs, flag, llvm::toString(std::move(error)));
      continue;
    }
    if (applied == 0)
      continue;
    if (!before) {
      const Subgraph &graph = *imported->model->subgraphs.front();
      std::string why;
      for (const auto &[i, value] : llvm::enumerate(graph.inputs)) {
        eval::Port port{value->name.str(), value->type, eval::Shape(value->shape.begin(), value->shape.end())};
        auto input = eval::randomInput(port, static_cast<unsigned>(i), 1);
        if (!input) {
          why = llvm::toString(input.takeError());
          break;
        }
        inputs.push_back(std::move(*input));
      }
      before = why.empty() ? runtime.run(path, inputs) : fuzz::NativeRuntime::Outcome{true, why, {}};
    }
    say(Applies, flag);
    // A kernel that reports a fault and runs on may leave its result as it was.
    if (!before->refused.empty() || !before->reported.empty()) {
      say(NotRun, flag, before->refused + before->reported);
      continue;
    }
    std::string after = scratch + "/after.tflite";
    if (std::string why = write(*imported, after); !why.empty()) {
      say(NotWritten, flag, why);
      continue;
    }
    auto outcome = runtime.run(after, inputs);
    bool runs = outcome.refused.empty();
    std::string why = runs ? differences(*before, outcome) : outcome.refused;
    bool changes = llvm::any_of(pipeline.entries, [](const auto &entry) { return entry.pass->changesResults; });
    say(why.empty() ? Same : runs && changes ? Meant : Differs, flag, why);
  }
}

/// The lines that a process of its own prints; `died`: it did not end by itself.
std::vector<std::string> inProcess(llvm::function_ref<void(FILE *)> work, bool &died) {
  int ends[2];
  if (::pipe(ends) != 0)
    std::abort();
  pid_t child = ::fork();
  if (child == 0) {
    ::close(ends[0]);
    FILE *out = ::fdopen(ends[1], "w");
    work(out);
    std::fflush(out);
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t got; (got = ::read(ends[0], buffer, sizeof(buffer))) > 0;)
    text.append(buffer, static_cast<size_t>(got));
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  died = !WIFEXITED(status) || WEXITSTATUS(status) != 0;
  llvm::SmallVector<llvm::StringRef> lines;
  llvm::StringRef(text).split(lines, '\n', -1, false);
  return {lines.begin(), lines.end()};
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 4) {
    llvm::errs() << "usage: native_flags LIBRARY WORK EVERY\n";
    return 1;
  }
  auto runtime = fuzz::NativeRuntime::load(argv[1]);
  if (!runtime) {
    llvm::errs() << llvm::toString(runtime.takeError()) << '\n';
    return 1;
  }
  const double mostWork = std::atof(argv[2]);
  const unsigned every = std::max(1, std::atoi(argv[3]));
  llvm::SmallString<128> scratch;
  if (llvm::sys::fs::createUniqueDirectory("native_flags", scratch))
    return 1;
  auto clean = llvm::make_scope_exit([&] { llvm::sys::fs::remove_directories(scratch); });

  struct Counts {
    unsigned applies = 0, same = 0;
  };
  std::map<std::string, Counts> flags;
  std::map<std::string, std::set<std::string>> notRun;
  unsigned models = 0, number = 0, same = 0, failed = 0;
  for (const std::string &path : modelsToSweep().all()) {
    if (!llvm::StringRef(path).ends_with(".tflite"))
      continue;
    auto imported = importAsSource(path);
    if (!imported || workOf(*imported->model) > mostWork || number++ % every != 0)
      continue;
    imported.reset();
    ++models;
    bool died = false;
    std::string last;
    bool judged = true;
    auto fail = [&](const std::string &flag, llvm::StringRef why) {
      ++failed;
      llvm::outs() << "FAILED " << baseName(path) << ' ' << flag << ": " << why << '\n';
    };
    for (const std::string &line :
         inProcess([&](FILE *out) { runModel(*runtime, path, scratch.str().str(), out); }, died)) {
      auto [flag, text] = llvm::StringRef(line).drop_front().split('\t');
      Counts &count = flags[flag.str()];
      last = flag.str();
      judged = line[0] != Applies;
      count.applies += line[0] == Applies;
      count.same += line[0] == Same;
      same += line[0] == Same;
      if (line[0] == NotRun || line[0] == NotWritten)
        notRun[text.str()].insert(baseName(path));
      if (line[0] == Meant)
        llvm::outs() << baseName(path) << ' ' << last << ", which changes results: " << text << '\n';
      if (line[0] == Differs)
        fail(last, text);
    }
    if (died && judged)
      notRun["the runtime ends itself on the model as it is"].insert(baseName(path));
    else if (died)
      fail(last, "the process dies");
  }
  for (const auto &[flag, count] : flags)
    llvm::outs() << flag << ": applies to " << count.applies << ", the same in " << count.same << '\n';
  for (const auto &[why, files] : notRun)
    llvm::outs() << files.size() << " models not compared, " << why << ": " << *files.begin()
                 << (files.size() > 1 ? ", …" : "") << '\n';
  llvm::outs() << "models: " << models << " with each flag alone and -O1, natively: " << same
               << " pairs compute the same, " << failed << " do not\n";
  return failed || same == 0 ? 1 : 0;
}
