#include "commands/Related.h"
#include "eval/RandomInput.h"
#include "report/errors/Errors.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>
#include <ctime>

/// What it takes to compare two models while they run, against running each alone; errors_benchmark.sh makes a table.

using namespace origo;
using namespace origo::eval;
namespace cl = llvm::cl;

static cl::opt<std::string> sourcePath(cl::Positional, cl::Required, cl::desc("SOURCE"));
static cl::opt<std::string> resultPath(cl::Positional, cl::Required, cl::desc("RESULT"));
static cl::opt<double> seconds("seconds", cl::init(1), cl::desc("So long, but at least five rounds"));

namespace {

struct Times {
  double wall = 0, processor = 0; ///< in ms
};

Times now() {
  timespec used;
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
  auto wall = std::chrono::steady_clock::now().time_since_epoch();
  return {std::chrono::duration<double, std::milli>(wall).count(),
          1e3 * static_cast<double>(used.tv_sec) + 1e-6 * static_cast<double>(used.tv_nsec)};
}

/// Of one call, as the mean of `often`.
template <class Work> Times timesOf(unsigned often, Work work) {
  Times before = now();
  for (unsigned i = 0; i < often; ++i)
    work();
  Times after = now();
  return {(after.wall - before.wall) / often, (after.processor - before.processor) / often};
}

double median(std::vector<double> list) {
  llvm::sort(list);
  return list[list.size() / 2];
}

int fail(llvm::Error error) {
  llvm::errs() << llvm::toString(std::move(error)) << '\n';
  return 1;
}

} // namespace

int main(int argc, char **argv) {
  cl::ParseCommandLineOptions(argc, argv);
  auto models = commands::relate([](const ImportOptions &options) { return importModel(sourcePath, options); },
                                 [](const ImportOptions &options) { return importModel(resultPath, options); });
  if (!models)
    return fail(models.takeError());
  report::ErrorOptions options;
  options.compile.engine = Engine::Fast;
  options.own = false;
  auto run = report::ErrorRun::of(models->source, models->result, options);
  auto source = compile(*models->source.model, options.compile),
       result = compile(*models->result.model, options.compile);
  if (!run || !source || !result)
    return fail(firstError(run, source, result));
  std::string signature = run->signatures().front();
  auto ports = source->inputs(signature), resultPorts = result->inputs(signature);
  if (!ports || !resultPorts)
    return fail(firstError(ports, resultPorts));
  std::vector<OwnedTensor> inputs, given;
  for (auto [list, of] : {std::pair(&inputs, *ports), std::pair(&given, *resultPorts)})
    for (const Port &port : of) {
      auto input = randomInput(port, static_cast<unsigned>(list->size()), 1);
      if (!input)
        return fail(input.takeError());
      list->push_back(std::move(*input));
    }
  State states[2];
  llvm::Error error = llvm::Error::success();
  unsigned often = 1; // reading the clock takes as long as a network of microseconds
  auto alone = [&](Session &session, const std::vector<OwnedTensor> &with, State &state) {
    return timesOf(often, [&] {
      RunOptions one;
      one.signature = signature;
      one.state = &state;
      auto outputs = session.run(std::vector<TensorRef>(with.begin(), with.end()), one);
      if (!outputs && !error)
        error = outputs.takeError();
      else if (!outputs)
        llvm::consumeError(outputs.takeError());
    });
  };
  std::vector<double> walls, processors, a, b, both;
  double begin = now().wall;
  // The first two rounds are for caches and memory.
  for (unsigned round = 0; !error && (round < 7 || now().wall - begin < 1e3 * seconds); ++round) {
    Times first = alone(*source, inputs, states[0]), second = alone(*result, given, states[1]);
    Times beside = timesOf(often, [&] {
      if (!error)
        error = run->add(signature, inputs);
      run->endRecord();
    });
    if (round < 2) {
      often = 1 + static_cast<unsigned>(0.2 / (first.wall + second.wall));
      continue;
    }
    a.push_back(first.wall);
    b.push_back(second.wall);
    both.push_back(beside.wall);
    walls.push_back((first.wall + second.wall) / beside.wall);
    processors.push_back((first.processor + second.processor) / beside.processor);
  }
  if (error)
    return fail(std::move(error));
  llvm::outs() << llvm::format("%.3f %.3f %.3f %.2f %.2f\n", median(a), median(b), median(both), median(walls),
                               median(processors));
  return 0;
}
