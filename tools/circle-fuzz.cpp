/// Random models against what has to hold of every model.

#include "export/Writer.h"
#include "ir/Error.h"
#include "schema/InputFile.h"
#include "tools/Driver.h"
#include "tools/FuzzChecks.h"
#include "tools/FuzzModels.h"
#include "tools/FuzzNative.h"

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
using namespace origo::tools;
namespace cl = llvm::cl;

namespace {

cl::OptionCategory category("Options");
cl::opt<unsigned> graphs("graphs", cl::value_desc("N"), cl::cat(category), cl::desc("Check so many graphs"));
cl::opt<unsigned> operators("operators", cl::value_desc("N"), cl::cat(category),
                            cl::desc("Check so many single operators"));
cl::opt<unsigned> parts("parts", cl::value_desc("N"), cl::cat(category),
                        cl::desc("Check so many parts of the models, each a graph"));
cl::list<std::string> models(cl::Positional, cl::desc("[MODEL...]"), cl::cat(category));
cl::opt<uint64_t> seed("seed", cl::value_desc("S"), cl::init(1), cl::cat(category),
                       cl::desc("Of the first model; the next ones have the next seeds (default: 1)"));
cl::opt<std::string> keep("keep", cl::value_desc("DIR"), cl::cat(category),
                          cl::desc("Write the model of each finding there"));
cl::opt<std::string> check("check", cl::value_desc("MODEL.origo"), cl::cat(category),
                           cl::desc("Check this model as a graph, or with --operators=1 as a single operator"));
cl::opt<std::string> native("native", cl::value_desc("LIBRARY"), cl::cat(category),
                            cl::desc("Compare with TensorFlow Lite: this libtensorflowlite_c.so, too"));
cl::opt<unsigned> timeout("timeout", cl::value_desc("SECONDS"), cl::init(60), cl::cat(category),
                          cl::desc("A model that takes longer is a finding (default: 60)"));
cl::extrahelp examples("\nExamples:\n"
                       "  circle-fuzz --graphs=1000 --seed=1 --keep=findings\n"
                       "  circle-fuzz --operators=100000 --keep=findings\n"
                       "  circle-fuzz --parts=1000 --keep=findings net.tflite other.circle\n"
                       "  circle-fuzz --check findings/graph-17.origo --seed=17\n"
                       "  circle-reduce --output small.origo findings/graph-17.origo -- circle-fuzz --seed=17 --check\n"
                       "\nExit status: 0 no finding, 1 bad input or usage, 2 findings.\n");

/// What a child process tells of the model that it is at.
struct Shared {
  uint64_t at;
  uint64_t ran, compared;
  volatile NativeStage stage; ///< what the native runtime is given
  char finding[2000];
};

enum class Kind { Graph, Part, Operator };
constexpr const char *kindNames[] = {"graph", "part", "operator"};

std::string modelOf(Kind kind, uint64_t number) {
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
  Fuzz(Kind kind, const NativeRuntime *runtime, std::function<std::string(uint64_t)> models)
      : kind(kind), runtime(runtime), models(std::move(models)) {
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
      ::alarm(runtime && !isGraph ? std::min<unsigned>(timeout, 5) : timeout); // a step of 0 in it has no end
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
    if (!check.empty())
      return llvm::Error::success();
    std::string name = kindNames[int(kind)] + ("-" + std::to_string(number));
    llvm::outs() << name << ": " << printable(finding, 600) << '\n';
    if (keep.empty())
      return llvm::Error::success();
    if (llvm::Error error = makeFolder(keep))
      return error;
    return writeFile(keep + "/" + name + ".origo", models(number));
  }
};

int run() {
  Scratch scratch("circle-fuzz");
  if (scratch.error)
    return fail("no directory for temporary files: " + scratch.error.message());
  std::optional<NativeRuntime> runtime;
  if (!native.empty()) {
    auto loaded = NativeRuntime::load(native);
    if (!loaded)
      return fail(loaded.takeError());
    runtime.emplace(std::move(*loaded));
  }
  if (!check.empty()) {
    auto text = readInput(check);
    if (!text)
      return fail(printable(check) + ": cannot be opened: " + text.getError().message());
    Fuzz fuzz(operators ? Kind::Operator : Kind::Graph, runtime ? &*runtime : nullptr,
              [&](uint64_t) { return (*text)->getBuffer().str(); });
    if (llvm::Error error = fuzz.run(seed, 1, scratch.path))
      return fail(std::move(error));
    llvm::outs() << (fuzz.findings ? printable(fuzz.last, 2000) : "no finding") << '\n';
    return fuzz.findings ? 2 : 0;
  }
  if (!graphs && !parts && !operators)
    return fail("how many? Say --graphs=N, --parts=N or --operators=N; --help shows examples");
  if (models.empty() != (parts == 0))
    return fail("--parts=N and models go together: parts are taken of these");
  unsigned findings = 0;
  for (auto [kind, count] : {std::pair(Kind::Graph, +graphs), {Kind::Part, +parts}, {Kind::Operator, +operators}}) {
    if (!count)
      continue;
    Fuzz fuzz(kind, runtime ? &*runtime : nullptr, [kind = kind](uint64_t number) { return modelOf(kind, number); });
    if (llvm::Error error = fuzz.run(seed, count, scratch.path))
      return fail(std::move(error));
    llvm::outs() << kindNames[int(kind)] << "s: " << count << ", of which " << fuzz.ran << " run; ";
    if (runtime)
      llvm::outs() << fuzz.compared << " run in the native runtime, and " << fuzz.ended << " end it; ";
    llvm::outs() << fuzz.findings << " findings\n";
    findings += fuzz.findings;
  }
  return findings ? 2 : 0;
}

} // namespace

int main(int argc, char **argv) {
  return tools::main(argc, argv, "circle-fuzz", {&category},
                     "Checks random models against what has to hold of every model.\n", run);
}
