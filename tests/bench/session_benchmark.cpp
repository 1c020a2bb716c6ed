#include "eval/Execution.h"
#include "eval/Strings.h"
#include "import/Import.h"
#include "tests/RandomInputs.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

/// Measures sessions of one model; run_benchmark.sh makes a table of many.

using namespace origo;
using namespace origo::eval;
namespace cl = llvm::cl;
using Clock = std::chrono::steady_clock;

static cl::opt<std::string> modelPath(cl::Positional, cl::Required, cl::desc("MODEL"));
static cl::opt<unsigned> runs("runs", cl::init(15), cl::desc("At least so many rounds; each measures everything once"));
static cl::opt<double> seconds("seconds", cl::init(0), cl::desc("More rounds until so much time has passed"));
static cl::opt<uint64_t> least("least", cl::init(0), cl::desc("Fewer multiply-adds than that: prints nothing"));
static cl::opt<bool> reference("reference", cl::desc("Engine::Reference, too"));
static cl::opt<bool> memory("memory",
                            cl::desc("Prints what the orders of its steps take instead, in bytes: the arena and "
                                     "what lives at most in the file's order, the same in ours, and what "
                                     "every order takes"));
static cl::opt<bool> alone("alone",
                           cl::desc("Only a session of one thread, for --seconds of processor time: prints, as "
                                    "native_tflite does, the least and the median of a run in ms, and how many "
                                    "there were"));
static cl::opt<std::string> signature("signature", cl::desc("With --alone: this one instead of subgraph 0"));
static cl::opt<bool> operators("operators", cl::desc("Prints operators by the time they take instead"));

namespace {

double milliseconds(Clock::time_point begin) {
  return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

double median(std::vector<double> list) {
  llvm::sort(list);
  return list.empty() ? 0 : list[list.size() / 2];
}

/// The kernels of a plan one by one, on the tensors of a run that they have seen.
class Kernels {
public:
  Kernels(Model &model, const CompileOptions &options) : options(options), planner(this->options) {
    model.number();
    llvm::SmallVector<Value *> outputs(model.subgraphs[0]->outputs.begin(), model.subgraphs[0]->outputs.end());
    plan = planner.plan(*model.subgraphs[0], outputs);
    error = planner.takeErrors();
    if (error)
      return;
    fast.emplace(FastKernels::choose(planner.plans, options.memoryLimit, false));
    frame.emplace(*plan);
  }
  llvm::Error prepare(llvm::ArrayRef<OwnedTensor> given) {
    if (error)
      return std::move(error);
    std::vector<Tensor> inputs;
    for (size_t i = 0; i < given.size(); ++i) {
      Tensor tensor = ShapeRun::stated(*plan->graph->inputs[i]);
      padded.emplace_back(given[i].bytes).reserve(given[i].bytes.size() + readAhead);
      tensor.shape = given[i].shape;
      tensor.storage = padded.back();
      inputs.push_back(std::move(tensor));
    }
    times.resize(plan->steps.size());
    if (llvm::Error error = Execution(options, store, {}, &*fast, nullptr).runEntry(*frame, inputs))
      return error;
    // What is in no arena is gone after the run.
    for (size_t i = 0; i < plan->slots.size(); ++i)
      if (plan->slots[i].kind == Slot::Kind::Computed && plan->slots[i].sharedWith < 0 && !inArena(i)) {
        Tensor &tensor = frame->tensors[i];
        padded.emplace_back(tensor.storage.size() + readAhead);
        tensor.storage = {padded.back().data(), tensor.storage.size()};
      }
    for (size_t i = 0; i < plan->slots.size(); ++i)
      if (int owner = plan->slots[i].sharedWith; owner >= 0)
        frame->tensors[i].storage = frame->tensors[owner].storage;
    return llvm::Error::success();
  }
  /// Each kernel once, in order. False: the network has more than kernels.
  bool measure() {
    double total = 0;
    for (size_t s = 0; s < plan->steps.size(); ++s) {
      const eval::Step &step = plan->steps[s];
      if (!step.kernel)
        return false;
      Again again(*step.op);
      for (int slot : step.operands)
        again.inputs.push_back(slot >= 0 ? &frame->tensors[slot] : nullptr);
      for (int slot : step.results)
        again.outputs.push_back(slot >= 0 ? &frame->tensors[slot] : nullptr);
      again.resources = &store.resources;
      FastKernels::Entry *entry = step.fast < 0 ? nullptr : &fast->entries[step.fast];
      bool taken = entry && entry->taken; // else it is not made for these tensors
      auto begin = Clock::now();
      if (!taken || (entry->kernel && !entry->kernel->run(again.inputs, again.outputs, nullptr)))
        llvm::consumeError(step.kernel->run(again));
      times[s].push_back(milliseconds(begin));
      total += times[s].back();
    }
    totals.push_back(total);
    return true;
  }
  /// Of whole rounds: what else the machine does hits a round and a session alike.
  double sum() const { return median(totals); }
  double fastShare() const {
    double part = 0, all = 0;
    for (size_t s = 0; s < times.size(); ++s) {
      all += median(times[s]);
      part += plan->steps[s].fast >= 0 ? median(times[s]) : 0;
    }
    return part / all;
  }
  void print() const {
    std::map<std::string, std::pair<double, int>> byName;
    for (size_t s = 0; s < times.size(); ++s) {
      auto &[time, count] = byName[(plan->steps[s].op->info()->name +
                                    (plan->steps[s].fast >= 0 ? " fast " : " reference ") + typesOf(*plan->steps[s].op))
                                       .str()];
      time += median(times[s]);
      ++count;
    }
    std::vector<std::pair<std::string, std::pair<double, int>>> list(byName.begin(), byName.end());
    llvm::stable_sort(list, [](auto &a, auto &b) { return a.second.first > b.second.first; });
    for (auto &[name, entry] : list)
      llvm::outs() << llvm::format("%10.3f ms %5d  ", entry.first, entry.second) << name << "\n";
  }
  /// The most bytes of planned tensors that live at the same time, and the bytes that they are given.
  std::pair<uint64_t, uint64_t> memory() const {
    uint64_t live = 0, peak = 0;
    for (int s : frame->arranged->order) {
      for (int slot : plan->steps[s].results)
        if (slot >= 0 && inArena(slot))
          live += frame->tensors[slot].storage.size();
      peak = std::max(peak, live);
      for (int slot : frame->arranged->release[s])
        if (inArena(slot))
          live -= frame->tensors[slot].storage.size();
    }
    return {peak, frame->arena().bytes};
  }

private:
  bool inArena(size_t slot) const { return frame->arena().places[slot].offset >= 0; }
  /// Results are where they were.
  class Again : public KernelContext {
  public:
    using KernelContext::KernelContext;

  protected:
    llvm::Expected<llvm::MutableArrayRef<uint8_t>> allocate(unsigned i, llvm::ArrayRef<int32_t>,
                                                            uint64_t bytes) override {
      if (outputs[i]->storage.size() != bytes)
        return fail("another size than before");
      return outputs[i]->storage;
    }
  };
  CompileOptions options;
  Planner planner;
  llvm::Error error = llvm::Error::success();
  const Plan *plan = nullptr;
  std::optional<FastKernels> fast;
  std::optional<Frame> frame;
  StateStore store;
  std::vector<std::vector<uint8_t>> padded;
  std::vector<std::vector<double>> times;
  std::vector<double> totals;
};

struct Measured {
  Measured(Model &model, Engine engine, unsigned threads) {
    CompileOptions options;
    options.engine = engine;
    options.threads = threads;
    auto begin = Clock::now();
    auto made = compile(model, options);
    compileTime = milliseconds(begin);
    if (made)
      session.emplace(std::move(*made));
    else
      llvm::consumeError(made.takeError());
    run.state = &state;
  }
  bool measure(const Inputs &inputs, const Outputs &outputs) {
    auto begin = Clock::now();
    llvm::Error error = session->run(inputs, outputs, run);
    times.push_back(milliseconds(begin));
    return !llvm::errorToBool(std::move(error));
  }
  std::optional<Session> session;
  State state;
  RunOptions run;
  double compileTime = 0;
  std::vector<double> times;
};

/// Of the graph that a session runs first, without running it.
llvm::Error printMemory(Model &model) {
  CompileOptions options{.engine = Engine::Fast};
  Planner planner(options);
  model.number();
  llvm::SmallVector<Value *> outputs(model.subgraphs[0]->outputs.begin(), model.subgraphs[0]->outputs.end());
  const Plan *plan = planner.plan(*model.subgraphs[0], outputs);
  if (llvm::Error error = planner.takeErrors())
    return error;
  FastKernels kernels = FastKernels::choose(planner.plans, options.memoryLimit);
  Ordering ordering = plan->ordering(plan->filed.arena.places);
  const Arrangement &ours = plan->arranged(false);
  bool least = ordering.peak(ours.order) == ordering.lowerBound() || ordering.search().least;
  llvm::outs() << plan->steps.size() << '\t' << plan->filed.arena.bytes << '\t' << ordering.peak(plan->filed.order)
               << '\t' << ours.arena.bytes << '\t' << ordering.peak(ours.order) << '\t' << ordering.lowerBound() << '\t'
               << (least ? "least" : "-") << '\n';
  return llvm::Error::success();
}

double processorMilliseconds() {
  timespec time;
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return double(time.tv_sec) * 1e3 + double(time.tv_nsec) / 1e6;
}

llvm::Error printAlone(Model &model) {
  auto session = compile(model, {.signature = signature, .engine = Engine::Fast});
  if (!session)
    return session.takeError();
  auto inputs = test::randomInputs(*session->inputs(), 1);
  if (!inputs)
    return makeError("it has inputs that cannot be random");
  std::vector<TensorRef> given(inputs->begin(), inputs->end());
  State state;
  RunOptions run;
  run.state = &state;
  auto outputs = session->run(given, run);
  if (!outputs)
    return outputs.takeError();
  std::vector<llvm::MutableArrayRef<uint8_t>> memory;
  for (NamedTensor &output : *outputs)
    memory.push_back(output.tensor.bytes);
  std::vector<double> times;
  for (double began = processorMilliseconds(), now = began; times.empty() || now - began < seconds * 1000;) {
    if (llvm::Error error = session->runInto(given, memory, run))
      return error;
    double before = std::exchange(now, processorMilliseconds());
    times.push_back(now - before);
  }
  llvm::outs() << llvm::format("%.4f %.4f %zu\n", *llvm::min_element(times), median(times), times.size());
  return llvm::Error::success();
}

int fail(llvm::Error error) {
  llvm::errs() << "session_benchmark: " << llvm::toString(std::move(error)) << "\n";
  return 1;
}

} // namespace

int main(int argc, char **argv) {
  cl::ParseCommandLineOptions(argc, argv);
  auto imported = importModel(modelPath);
  if (!imported)
    return fail(imported.takeError());
  Model &model = *imported->model;
  if (test::multiplyAdds(model) < least)
    return 0;
  if (alone) {
    if (llvm::Error error = printAlone(model))
      return fail(std::move(error));
    return 0;
  }
  if (memory) {
    if (llvm::Error error = printMemory(model))
      return fail(std::move(error));
    return 0;
  }
  Measured one(model, Engine::Fast, 1), two(model, Engine::Fast, 2), slow(model, Engine::Reference, 1);
  if (!one.session)
    return fail(makeError("it does not compile"));
  auto inputs = test::randomInputs(*one.session->inputs(), 1);
  if (!inputs)
    return fail(makeError("it has inputs that cannot be random"));
  Inputs named;
  for (size_t i = 0; i < inputs->size(); ++i)
    named[(*one.session->inputs())[i].name] = (*inputs)[i];
  auto first = one.session->run(named, one.run);
  if (!first)
    return fail(first.takeError());
  Outputs outputs;
  for (NamedTensor &output : *first)
    outputs[output.name] = output.tensor.bytes;
  Kernels kernels(model, {.engine = Engine::Fast});
  if (llvm::Error error = kernels.prepare(*inputs))
    return fail(std::move(error));
  bool whole = true;
  auto begin = Clock::now();
  // The first two are warm-up.
  for (unsigned i = 0; i < runs + 2 || milliseconds(begin) < seconds * 1000; ++i) {
    if (!one.measure(named, outputs) || !two.measure(named, outputs))
      return fail(makeError("it does not run again"));
    whole &= kernels.measure();
  }
  if (operators) {
    kernels.print();
    return 0;
  }
  if (reference)
    for (unsigned i = 0; i < std::min<unsigned>(runs, 3); ++i)
      slow.measure(named, outputs);
  Session::Coverage coverage = one.session->coverage();
  auto [live, arena] = kernels.memory();
  double time = median(one.times);
  // For each thing the median, in ms or bytes; tab after tab, as run_benchmark.sh reads them.
  llvm::outs() << test::multiplyAdds(model) << '\t' << coverage.fast.size() << '\t' << coverage.reference.size() << '\t'
               << llvm::format("%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t%.1f\t", time, whole ? kernels.sum() : 0.0,
                               whole ? kernels.fastShare() : 0.0, median(two.times), median(slow.times),
                               one.compileTime)
               << live << '\t' << arena << '\n';
  return 0;
}
