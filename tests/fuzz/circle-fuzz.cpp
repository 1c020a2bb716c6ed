/// Random models against what has to hold of every model.

#include "export/Writer.h"
#include "ir/Error.h"
#include "schema/InputFile.h"
#include "tests/fuzz/FuzzChecks.h"
#include "tests/fuzz/FuzzModels.h"
#include "tests/fuzz/FuzzNative.h"
#include "tools/Driver.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

#include <cstring>
#include <map>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace origo;
using namespace origo::fuzz;
using commands::option, commands::Verdict, commands::Words;

namespace {

struct FuzzRequest {
  unsigned graphs = 0, operators = 0, parts = 0, timeout = 60;
  uint64_t seed = 1;
  std::string keep, write, check, native;
};

constexpr std::array fuzzRows{
    option<&FuzzRequest::graphs>("graphs", "N", "Check so many graphs"),
    option<&FuzzRequest::operators>("operators", "N", "Check so many single operators"),
    option<&FuzzRequest::parts>("parts", "N", "Check so many parts of the models, each a graph"),
    option<&FuzzRequest::seed>("seed", "S", "Of the first model; the next ones have the next seeds (default: 1)"),
    option<&FuzzRequest::keep>("keep", "DIR", "Write the model of each finding there"),
    option<&FuzzRequest::write>("write", "DIR", "Check nothing: write the graphs there, for others to check"),
    option<&FuzzRequest::check>("check", "MODEL.origo",
                                "Check this model as a graph, or with --operators=1 as a single operator"),
    option<&FuzzRequest::native>("native", "LIBRARY", "Compare with TensorFlow Lite: this libtensorflowlite_c.so, too"),
    option<&FuzzRequest::timeout>("timeout", "SECONDS", "A model that takes longer is a finding (default: 60)"),
};

/// What a child process tells of the model that it is at.
struct Shared {
  uint64_t at;
  uint64_t ran, compared;
  volatile NativeStage stage; ///< what the native runtime is given
  char finding[2000];
};

enum class Kind { Graph, Part, Operator };
constexpr const char *kindNames[] = {"graph", "part", "operator"};

std::string modelOf(Kind kind, llvm::ArrayRef<std::string> models, uint64_t number) {
  switch (kind) {
  case Kind::Graph:
    return randomGraph(number);
  case Kind::Part:
    return randomPart(models, number);
  case Kind::Operator:
    break;
  }
  return randomOperator(number);
}

FuzzOutcome checkOne(bool isGraph, llvm::StringRef text, uint64_t number, llvm::StringRef directory,
                     const FuzzNative *native) {
  return isGraph ? checkGraph(text, number, directory, native) : checkOperator(text, number, native);
}

/// Checks models in a child process, which ends at a finding or a crash; the next one goes on behind it.
class Fuzz {
public:
  /// `models`: the text of a model by its number; empty: there is none.
  Fuzz(const FuzzRequest &request, Kind kind, const NativeRuntime *runtime, std::function<std::string(uint64_t)> models)
      : request(request), kind(kind), runtime(runtime), models(std::move(models)) {
    void *memory = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    shared = memory == MAP_FAILED ? nullptr : static_cast<Shared *>(memory);
  }
  ~Fuzz() {
    if (shared)
      ::munmap(shared, sizeof(Shared));
  }
  unsigned findings = 0;
  std::string last;                          ///< finding
  uint64_t ran = 0, compared = 0, ended = 0; ///< models: that run, in the native runtime as well, that end it

  llvm::Error run(uint64_t first, unsigned count, llvm::StringRef directory) {
    if (!shared)
      return makeError("there is no memory to share with a child process");
    uint64_t end = first + count;
    // Where the process ends, the native runtime may have spoilt it before, so that a model is tried again by itself.
    // Where that ends, too, as it computes what was made of a model that it ran, it is a finding; else it trusts
    // models, and is not ours.
    enum { Many, Again, Without } how = Many;
    for (uint64_t next = first; next < end;) {
      *shared = {next, 0, 0, NativeStage::Idle, {}};
      llvm::outs().flush();
      pid_t child = ::fork();
      if (child < 0)
        return makeError("no child process can be started");
      if (child == 0)
        inChild(next, how != Many ? next + 1 : end, directory, how == Without ? nullptr : runtime);
      int status = 0;
      while (::waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
      ran += shared->ran;
      compared += shared->compared;
      if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && shared->at == (how != Many ? next + 1 : end)) {
        ended += how == Without;
        how = Many;
        next = shared->at;
        continue;
      }
      std::string finding = shared->finding;
      bool onResult = how == Again && shared->stage == NativeStage::Result;
      if (runtime && how != Without && finding.empty() && !onResult) {
        how = how == Many ? Again : Without;
        next = shared->at;
        continue;
      }
      how = Many;
      if (finding.empty())
        finding = onResult ? "the native runtime runs the source, and ends itself on the result"
                  : WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM ? "takes too long"
                  : WIFSIGNALED(status) ? "ends with signal " + std::to_string(WTERMSIG(status))
                                        : "ends the process";
      if (llvm::Error error = tell(shared->at, finding))
        return error;
      next = shared->at + 1;
    }
    return llvm::Error::success();
  }

private:
  const FuzzRequest &request;
  Kind kind;
  const NativeRuntime *runtime;
  std::function<std::string(uint64_t)> models;
  Shared *shared;

  [[noreturn]] void inChild(uint64_t next, uint64_t end, llvm::StringRef directory, const NativeRuntime *runtime) {
    ::signal(SIGALRM, SIG_DFL);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL); // nobody would read what it finds
    std::optional<FuzzNative> native;
    if (runtime) {
      native.emplace(*runtime, directory, &shared->stage);
      if (!::freopen("/dev/null", "w", stderr)) // it says there which kernels it takes
        ::_exit(1);
    }
    for (; next < end; shared->at = ++next) {
      const bool isGraph = kind != Kind::Operator;
      ::alarm(runtime && !isGraph ? std::min<unsigned>(request.timeout, 5)
                                  : request.timeout); // a step of 0 in it has no end
      std::string text = models(next);
      if (text.empty())
        continue;
      FuzzOutcome outcome = checkOne(isGraph, text, next, directory, native ? &*native : nullptr);
      shared->ran += outcome.ran;
      shared->compared += outcome.compared;
      if (outcome.finding.empty())
        continue;
      std::strncpy(shared->finding, outcome.finding.c_str(), sizeof(shared->finding) - 1);
      ::_exit(2);
    }
    ::_exit(0);
  }

  llvm::Error tell(uint64_t number, const std::string &finding) {
    ++findings;
    last = finding;
    if (!request.check.empty())
      return llvm::Error::success();
    std::string name = kindNames[int(kind)] + ("-" + std::to_string(number));
    llvm::outs() << name << ": " << printable(finding, 600) << '\n';
    if (request.keep.empty())
      return llvm::Error::success();
    if (llvm::Error error = commands::makeFolder(request.keep))
      return error;
    return writeFile(request.keep + "/" + name + ".origo", models(number));
  }
};

llvm::Error fuzz(FuzzRequest &request, Words words, const commands::Door &, Verdict &verdict) {
  commands::Scratch scratch("circle-fuzz");
  if (scratch.error)
    return makeError("no directory for temporary files: " + scratch.error.message());
  std::optional<NativeRuntime> runtime;
  if (!request.native.empty()) {
    auto loaded = NativeRuntime::load(request.native);
    if (!loaded)
      return loaded.takeError();
    runtime.emplace(std::move(*loaded));
  }
  if (!request.check.empty()) {
    auto text = readInput(request.check);
    if (!text)
      return makeError(printable(request.check) + ": cannot be opened: " + text.getError().message());
    Fuzz fuzz(request, request.operators ? Kind::Operator : Kind::Graph, runtime ? &*runtime : nullptr,
              [&](uint64_t) { return (*text)->getBuffer().str(); });
    if (llvm::Error error = fuzz.run(request.seed, 1, scratch.path))
      return error;
    llvm::outs() << (fuzz.findings ? printable(fuzz.last, 2000) : "no finding") << '\n';
    verdict = fuzz.findings ? Verdict::Refused : Verdict::Holds;
    return llvm::Error::success();
  }
  if (!request.write.empty()) {
    if (llvm::Error error = commands::makeFolder(request.write))
      return error;
    for (uint64_t number = request.seed; number < request.seed + request.graphs; ++number)
      if (llvm::Error error =
              writeFile(request.write + "/graph-" + std::to_string(number) + ".origo", randomGraph(number)))
        return error;
    return llvm::Error::success();
  }
  if (!request.graphs && !request.parts && !request.operators)
    return makeError("how many? Say --graphs=N, --parts=N or --operators=N; --help shows examples");
  if (words.empty() != (request.parts == 0))
    return makeError("--parts=N and models go together: parts are taken of these");
  for (auto [kind, count] :
       {std::pair(Kind::Graph, request.graphs), {Kind::Part, request.parts}, {Kind::Operator, request.operators}}) {
    if (!count)
      continue;
    Fuzz fuzz(request, kind, runtime ? &*runtime : nullptr,
              [&, kind = kind](uint64_t number) { return modelOf(kind, words, number); });
    if (llvm::Error error = fuzz.run(request.seed, count, scratch.path))
      return error;
    llvm::outs() << kindNames[int(kind)] << "s: " << count << ", of which " << fuzz.ran << " run; ";
    if (runtime)
      llvm::outs() << fuzz.compared << " run in the native runtime, and " << fuzz.ended << " end it; ";
    llvm::outs() << fuzz.findings << " findings\n";
    if (fuzz.findings)
      verdict = Verdict::Refused;
  }
  return llvm::Error::success();
}

constexpr commands::Command fuzzCommand = commands::makeCommand<fuzz>(
    "circle-fuzz", "[MODEL...]",
    "Checks random models against what has to hold of every model.\n\n"
    "  circle-fuzz --graphs=1000 --seed=1 --keep=findings\n"
    "  circle-fuzz --operators=100000 --keep=findings\n"
    "  circle-fuzz --parts=1000 --keep=findings net.tflite other.circle\n"
    "  circle-fuzz --check findings/graph-17.origo --seed=17\n"
    "  circle-reduce --output small.origo findings/graph-17.origo -- circle-fuzz --seed=17 --check\n"
    "\nExit status: 0 no finding, 1 bad input or usage, 2 findings.\n",
    [] { return commands::Options(fuzzRows); });

} // namespace

int main(int argc, char **argv) { return tools::main(argc, argv, fuzzCommand); }
