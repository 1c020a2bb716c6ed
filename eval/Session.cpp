#include "eval/Session.h"

#include "eval/Execution.h"
#include "eval/Strings.h"
#include "eval/Threads.h"
#include "schema/TensorTypes.h"

#include "llvm/ADT/STLExtras.h"

#include <atomic>
#include <map>
#include <mutex>
#include <unistd.h>

namespace origo::eval {

State::State() : store(std::make_unique<StateStore>()) {}
State::~State() = default;
State::State(State &&) noexcept = default;
State &State::operator=(State &&) noexcept = default;
void State::reset() {
  for (const auto &[value, bytes] : store->variables)
    store->usedBytes -= bytes.size();
  store->variables.clear();
  store->calledOnce.clear();
  store->resources = {};
}

std::optional<llvm::ArrayRef<uint8_t>> State::variable(const Value &value) const {
  auto found = store->variables.find(&value);
  if (found == store->variables.end())
    return std::nullopt;
  return llvm::ArrayRef<uint8_t>(found->second);
}

Turns::Turns() = default;
Turns::~Turns() = default;
Turns::Turns(Turns &&) noexcept = default;

struct Session::Entry {
  std::string name; ///< of the signature; empty: subgraph 0 itself
  const Plan *plan = nullptr;
  std::vector<Port> inputs, outputs;
  llvm::SmallVector<int> results; ///< slots of the outputs
  bool once = true;               ///< nothing calls its graph
};

namespace {

Port portOf(const Value &value, llvm::StringRef name) {
  Port port{name.str(), value.type, {}, value.isStatic() || !value.shape.empty(), &value};
  for (size_t i = 0; i < value.shape.size(); ++i) {
    bool dynamic = i < value.shapeSignature().size() && value.shapeSignature()[i] < 0;
    port.shape.push_back(dynamic ? -1 : value.shape[i]);
  }
  return port;
}

llvm::Error portError(ErrorCode code, EvalPhase phase, const Port &port, const llvm::Twine &message,
                      std::string expected = {}, std::string actual = {}) {
  Place place;
  place.tensor = static_cast<int>(port.value->index);
  place.name = port.name;
  if (port.value->subgraph())
    place.subgraph = static_cast<int>(port.value->subgraph()->index);
  std::string text = message.str();
  if (!expected.empty())
    text += "; expected " + expected + (actual.empty() ? "" : ", is " + actual);
  auto error = std::make_unique<EvalError>(code, phase, std::move(place), std::move(text));
  error->expected = std::move(expected);
  error->actual = std::move(actual);
  return llvm::Error(std::move(error));
}

/// The caller's tensor as what it feeds; its bytes are not written to.
llvm::Expected<Tensor> feed(const Port &port, const TensorRef &given, bool shapeOnly) {
  if (given.type != port.type)
    return portError(ErrorCode::BadInput, EvalPhase::Run, port, "another type", tensorTypeName(port.type).str(),
                     tensorTypeName(given.type).str());
  bool fits = !port.rankKnown || given.shape.size() == port.shape.size();
  for (size_t i = 0; fits && port.rankKnown && i < port.shape.size(); ++i)
    fits = given.shape[i] >= 0 && (port.shape[i] < 0 || port.shape[i] == given.shape[i]);
  if (!fits || llvm::any_of(given.shape, [](int32_t d) { return d < 0; }))
    return portError(ErrorCode::BadInput, EvalPhase::Run, port, "another shape", shapeText(port.shape),
                     shapeText(given.shape));
  Tensor tensor = ShapeRun::stated(*port.value);
  tensor.shape = given.shape;
  tensor.rankKnown = true;
  tensor.known = !shapeOnly || !given.bytes.empty();
  if (!tensor.known)
    return tensor;
  uint64_t count = 1;
  for (int32_t dim : given.shape)
    if (__builtin_mul_overflow(count, static_cast<uint64_t>(dim), &count))
      return portError(ErrorCode::BadInput, EvalPhase::Run, port, "an impossible shape");
  auto bytes = payloadBytes(port.type, count);
  if (bytes && *bytes != given.bytes.size())
    return portError(ErrorCode::BadInput, EvalPhase::Run, port, "another number of bytes", std::to_string(*bytes),
                     std::to_string(given.bytes.size()));
  if (port.type == TensorType::STRING && !unpackStrings(given.bytes, static_cast<int64_t>(count)))
    return portError(ErrorCode::BadInput, EvalPhase::Run, port,
                     "the bytes do not hold as many strings as the shape says");
  tensor.storage = {const_cast<uint8_t *>(given.bytes.data()), given.bytes.size()};
  return tensor;
}

} // namespace

struct Session::Compiled {
  explicit Compiled(const CompileOptions &options) : options(options), planner(this->options) {}
  CompileOptions options;
  Planner planner;
  std::deque<Entry> entries;
  /// What runs share, in one process: threads and mutexes of another one are of no use after a fork.
  struct Shared {
    explicit Shared(unsigned count) : threads(makeThreadPool(count)) {}
    ~Shared() { pthreadpool_destroy(threads); }
    const pid_t process = ::getpid();
    const pthreadpool_t threads; ///< null: the thread that runs
    // Sets of fast kernels that no run uses: one for each run that there ever was at the same time. The last one was
    // used last.
    std::mutex mutex;
    std::vector<std::unique_ptr<FastKernels>> idle;
  };
  mutable std::atomic<Shared *> ours = nullptr;
  ~Compiled() {
    if (Shared *last = ours; last && last->process == ::getpid())
      delete last;
  }
  Shared &shared() const {
    Shared *last = ours;
    if (last && last->process == ::getpid())
      return *last;
    // What a parent had is left where it lies: nobody is there to give it back.
    auto *made = new Shared(options.engine == Engine::Fast ? options.threads : 1);
    if (ours.compare_exchange_strong(last, made))
      return *made;
    delete made;
    return *last;
  }

  /// `alone`: each computes its own result.
  std::unique_ptr<FastKernels> takeFast(bool alone) const {
    if (options.engine != Engine::Fast)
      return nullptr;
    alone &= !options.observed; // then they all do
    {
      Shared &have = shared();
      std::lock_guard lock(have.mutex);
      auto found = llvm::find_if(have.idle, [&](auto &kernels) { return kernels->alone == alone; });
      if (found != have.idle.end()) {
        auto taken = std::move(*found);
        have.idle.erase(found);
        return taken;
      }
    }
    return std::make_unique<FastKernels>(planner.plans, alone);
  }
  void giveBack(std::unique_ptr<FastKernels> fast) const {
    if (!fast)
      return;
    Shared &have = shared();
    std::lock_guard lock(have.mutex);
    have.idle.push_back(std::move(fast));
  }

  llvm::Expected<const Entry *> entry(llvm::StringRef name) const {
    for (const Entry &entry : entries)
      if (entry.name == name)
        return &entry;
    if (name.empty() && entries.size() == 1)
      return &entries.front();
    return evalError(ErrorCode::UnknownName, EvalPhase::Run, "there is no signature \"" + printable(name) + "\"");
  }

  using Given = llvm::SmallVector<const TensorRef *, 16>;
  llvm::Expected<Given> byPosition(const Entry &entry, const Inputs &inputs) const {
    Given list;
    for (const Port &port : entry.inputs) {
      auto found = inputs.find(port.name);
      if (found == inputs.end())
        return portError(ErrorCode::MissingInput, EvalPhase::Run, port, "this input is not given");
      list.push_back(&found->second);
    }
    for (const auto &[name, tensor] : inputs)
      if (llvm::none_of(entry.inputs, [&, &name = name](const Port &port) { return port.name == name; }))
        return evalError(ErrorCode::UnknownName, EvalPhase::Run, "there is no input \"" + printable(name) + "\"");
    return list;
  }

  /// Where the caller's memory can be a result's: nobody else sees that, and what it replaces is no input.
  static void placeOutside(Frame &frame, const Entry &entry, const Wanted &memory, bool observed) {
    frame.outside.assign(frame.outside.size(), {}); // that of the last run may be gone
    for (size_t i = 0; i < memory.size(); ++i) {
      int slot = entry.results[i];
      if (observed || !memory[i] || slot < 0 || !frame.plan.slots[slot].onlyGivenOut ||
          reinterpret_cast<uintptr_t>(memory[i]->data()) % 8)
        continue;
      auto overlaps = [&](const Tensor &input) {
        return input.storage.begin() < memory[i]->end() && memory[i]->begin() < input.storage.end();
      };
      if (llvm::none_of(frame.call.given, overlaps))
        frame.outside[slot] = *memory[i];
    }
  }

  /// Runs and calls `take` with the outputs, which are gone afterwards. `memory`: of outputs that are wanted there.
  llvm::Error run(const Entry &entry, llvm::ArrayRef<const TensorRef *> inputs, StateStore &store,
                  const RunOptions &runOptions, const Wanted &memory,
                  llvm::function_ref<llvm::Error(llvm::ArrayRef<Tensor>)> take) const {
    if (inputs.size() != entry.inputs.size())
      return evalError(ErrorCode::MissingInput, EvalPhase::Run,
                       "the graph has " + llvm::Twine(entry.inputs.size()) + " inputs, given are " +
                           llvm::Twine(inputs.size()));
    std::unique_ptr<Frame> &frame = store.frames[entry.plan];
    if (!frame)
      frame = std::make_unique<Frame>(*entry.plan);
    auto &[given, arguments, results, copies] = frame->call;
    given.clear();
    copies.resize(inputs.size());
    for (size_t i = 0; i < inputs.size(); ++i) {
      auto tensor = feed(entry.inputs[i], *inputs[i], false);
      if (!tensor)
        return tensor.takeError();
      if (reinterpret_cast<uintptr_t>(tensor->storage.data()) % 8 || !canReadAhead(tensor->storage)) {
        copies[i].reserve(tensor->storage.size() + readAhead);
        copies[i].assign(tensor->storage.begin(), tensor->storage.end());
        tensor->storage = copies[i];
      }
      given.push_back(std::move(*tensor));
    }
    arguments.clear();
    for (const Value *value : entry.plan->graph->inputs) {
      auto port = llvm::find_if(entry.inputs, [&](const Port &p) { return p.value == value; });
      if (port == entry.inputs.end())
        return evalError(ErrorCode::BadGraph, EvalPhase::Run, "the signature leaves an input of its subgraph out");
      arguments.push_back(given[port - entry.inputs.begin()]);
    }
    placeOutside(*frame, entry, memory, runOptions.observer || runOptions.part);
    std::unique_ptr<FastKernels> own;
    std::unique_ptr<FastKernels> &fast = runOptions.turns ? runOptions.turns->fast : own;
    if (!fast)
      fast = takeFast(static_cast<bool>(runOptions.observer));
    llvm::Error error = Execution(options, store, runOptions, fast.get(), shared().threads).runEntry(*frame, arguments);
    giveBack(std::move(own));
    if (error)
      return error;
    results.clear();
    for (int slot : entry.results)
      results.push_back(frame->tensors[slot]);
    return take(results);
  }
};

Session::Session() = default;
Session::~Session() = default;
Session::Session(Session &&) noexcept = default;

llvm::Expected<llvm::ArrayRef<Port>> Session::inputs(llvm::StringRef signature) const {
  auto entry = compiled->entry(signature);
  if (!entry)
    return entry.takeError();
  return llvm::ArrayRef<Port>((*entry)->inputs);
}

llvm::Expected<llvm::ArrayRef<Port>> Session::outputs(llvm::StringRef signature) const {
  auto entry = compiled->entry(signature);
  if (!entry)
    return entry.takeError();
  return llvm::ArrayRef<Port>((*entry)->outputs);
}

std::vector<std::string> Session::signatures() const {
  std::vector<std::string> names;
  for (const Entry &entry : compiled->entries)
    if (!entry.name.empty())
      names.push_back(entry.name);
  return names;
}

llvm::Expected<const Subgraph *> Session::graph(llvm::StringRef signature) const {
  auto entry = compiled->entry(signature);
  if (!entry)
    return entry.takeError();
  return (*entry)->plan->graph;
}

bool Session::runsOnce(llvm::StringRef signature) const {
  auto entry = compiled->entry(signature);
  if (entry)
    return (*entry)->once;
  llvm::consumeError(entry.takeError());
  return false;
}

llvm::Expected<llvm::DenseSet<const Value *>> Session::always(llvm::StringRef signature, bool anyShape) const {
  auto entry = compiled->entry(signature);
  if (!entry)
    return entry.takeError();
  const Plan &plan = *(*entry)->plan;
  llvm::DenseSet<const Value *> all;
  if ((*entry)->once && (anyShape || plan.shapesKnown))
    for (const Slot &slot : plan.slots)
      if ((anyShape || slot.shape) && (slot.kind == Slot::Kind::Input || slot.kind == Slot::Kind::Computed))
        all.insert(slot.value);
  return all;
}

llvm::Expected<std::vector<NamedTensor>> Session::run(llvm::ArrayRef<TensorRef> inputs,
                                                      const RunOptions &options) const {
  Compiled::Given list;
  for (const TensorRef &input : inputs)
    list.push_back(&input);
  return runList(list, options);
}

llvm::Expected<std::vector<NamedTensor>> Session::runList(llvm::ArrayRef<const TensorRef *> inputs,
                                                          const RunOptions &options) const {
  auto entry = compiled->entry(options.signature);
  if (!entry)
    return entry.takeError();
  std::optional<State> fresh;
  StateStore &store = options.state ? *options.state->store : *fresh.emplace().store;
  std::vector<NamedTensor> results;
  llvm::Error error =
      compiled->run(**entry, inputs, store, options, {}, [&](llvm::ArrayRef<Tensor> outputs) -> llvm::Error {
        // Memory that is not used again goes back as it is copied: large outputs are not there twice.
        constexpr size_t piece = 1 << 20, few = 64;
        auto keep = [&](size_t first, size_t begin) {
          if (!fresh || outputs.size() > few)
            return;
          llvm::SmallVector<llvm::ArrayRef<uint8_t>, few> parts;
          for (const Tensor &output : outputs.drop_front(first))
            parts.push_back(output.storage);
          parts.front() = parts.front().drop_front(begin);
          for (auto &[plan, frame] : store.frames)
            frame->memory.keepOnly(parts);
        };
        for (size_t i = 0; i < outputs.size(); ++i) {
          llvm::ArrayRef<uint8_t> from = outputs[i].storage;
          std::vector<uint8_t> bytes;
          bytes.reserve(from.size());
          for (size_t begin = 0; begin < from.size(); begin += piece) {
            if (i == 0 || from.size() > piece)
              keep(i, begin);
            llvm::ArrayRef<uint8_t> some = from.slice(begin, std::min(piece, from.size() - begin));
            bytes.insert(bytes.end(), some.begin(), some.end());
          }
          results.push_back({(*entry)->outputs[i].name, {outputs[i].type, outputs[i].shape, std::move(bytes)}});
        }
        return llvm::Error::success();
      });
  if (error)
    return error;
  return results;
}

llvm::Expected<std::vector<NamedTensor>> Session::run(const Inputs &inputs, const RunOptions &options) const {
  auto entry = compiled->entry(options.signature);
  if (!entry)
    return entry.takeError();
  auto list = compiled->byPosition(**entry, inputs);
  if (!list)
    return list.takeError();
  return runList(*list, options);
}

llvm::Error Session::run(const Inputs &inputs, const Outputs &outputs, const RunOptions &options) const {
  auto entry = compiled->entry(options.signature);
  if (!entry)
    return entry.takeError();
  auto list = compiled->byPosition(**entry, inputs);
  if (!list)
    return list.takeError();
  for (const auto &[name, memory] : outputs)
    if (llvm::none_of((*entry)->outputs, [&, &name = name](const Port &port) { return port.name == name; }))
      return evalError(ErrorCode::UnknownName, EvalPhase::Run, "there is no output \"" + printable(name) + "\"");
  Wanted wanted;
  for (const Port &port : (*entry)->outputs) {
    auto memory = outputs.find(port.name);
    wanted.push_back(memory == outputs.end() ? nullptr : &memory->second);
  }
  return runEntry(**entry, *list, wanted, options);
}

llvm::Error Session::runInto(llvm::ArrayRef<TensorRef> inputs, llvm::ArrayRef<llvm::MutableArrayRef<uint8_t>> outputs,
                             const RunOptions &options) const {
  auto entry = compiled->entry(options.signature);
  if (!entry)
    return entry.takeError();
  if (outputs.size() != (*entry)->outputs.size())
    return evalError(ErrorCode::BadOutput, EvalPhase::Run,
                     "the graph has " + llvm::Twine((*entry)->outputs.size()) + " outputs, wanted are " +
                         llvm::Twine(outputs.size()));
  Compiled::Given list;
  for (const TensorRef &input : inputs)
    list.push_back(&input);
  Wanted wanted;
  for (const auto &memory : outputs)
    wanted.push_back(memory.data() ? &memory : nullptr);
  return runEntry(**entry, list, wanted, options);
}

llvm::Error Session::runEntry(const Entry &entry, llvm::ArrayRef<const TensorRef *> inputs, const Wanted &outputs,
                              const RunOptions &options) const {
  std::optional<State> fresh;
  StateStore &store = options.state ? *options.state->store : *fresh.emplace().store;
  return compiled->run(entry, inputs, store, options, outputs, [&](llvm::ArrayRef<Tensor> made) -> llvm::Error {
    // Nothing is copied unless everything fits.
    for (bool write : {false, true})
      for (size_t i = 0; i < made.size(); ++i) {
        if (!outputs[i])
          continue;
        if (outputs[i]->size() != made[i].storage.size())
          return portError(ErrorCode::BadOutput, EvalPhase::Run, entry.outputs[i],
                           "the buffer is not as large as the output", std::to_string(made[i].storage.size()),
                           std::to_string(outputs[i]->size()));
        if (write && outputs[i]->data() != made[i].storage.data())
          llvm::copy(made[i].storage, outputs[i]->begin());
      }
    return llvm::Error::success();
  });
}

std::vector<int> Session::helpers() const { return helpersOf(compiled->shared().threads); }

Session::Coverage Session::coverage() const {
  Coverage made;
  Compiled::Shared &have = compiled->shared();
  std::lock_guard lock(have.mutex);
  for (const Plan &plan : compiled->planner.plans)
    for (const Step &step : plan.steps)
      if (step.kernel) {
        bool fast = step.fast >= 0 && !have.idle.empty() && have.idle.back()->entries[step.fast].taken;
        (fast ? made.fast : made.reference).push_back(step.op);
      }
  return made;
}

llvm::Expected<std::vector<Port>> Session::inferShapes(const Inputs &inputs, llvm::StringRef signature) const {
  auto entry = compiled->entry(signature);
  if (!entry)
    return entry.takeError();
  auto list = compiled->byPosition(**entry, inputs);
  if (!list)
    return list.takeError();
  std::vector<Tensor> arguments;
  for (const Value *value : (*entry)->plan->graph->inputs) {
    arguments.push_back(ShapeRun::stated(*value));
    for (size_t i = 0; i < list->size(); ++i)
      if ((*entry)->inputs[i].value == value) {
        auto tensor = feed((*entry)->inputs[i], *(*list)[i], true);
        if (!tensor)
          return tensor.takeError();
        arguments.back() = std::move(*tensor);
      }
  }
  std::vector<Tensor> tensors = ShapeRun().run(*(*entry)->plan, arguments);
  std::vector<Port> ports = (*entry)->outputs;
  for (size_t i = 0; i < ports.size(); ++i) {
    const Tensor &tensor = tensors[(*entry)->results[i]];
    ports[i].rankKnown = tensor.rankKnown;
    ports[i].shape = tensor.rankKnown ? tensor.shape : Shape();
  }
  return ports;
}

llvm::Expected<Session> compile(Model &model, const CompileOptions &options) {
  using Entry = Session::Entry;
  model.number();
  Session session;
  session.compiled = std::make_unique<Session::Compiled>(options);
  Session::Compiled &compiled = *session.compiled;
  auto add = [&](llvm::Error error) { compiled.planner.add(std::move(error)); };

  std::map<std::pair<const Subgraph *, std::vector<const Value *>>, const Plan *> planned;
  auto addEntry = [&](Entry entry, const Subgraph &graph, std::vector<Port> outputs) {
    if (!options.outputs.empty()) {
      std::vector<Port> chosen;
      for (const std::string &name : options.outputs) {
        auto port = llvm::find_if(outputs, [&](const Port &p) { return p.name == name; });
        if (port != outputs.end()) {
          chosen.push_back(*port);
          continue;
        }
        auto value = llvm::find_if(graph.values, [&](const Value *v) { return v->name == name; });
        if (value != graph.values.end())
          chosen.push_back(portOf(**value, name));
        else
          add(evalError(ErrorCode::UnknownName, EvalPhase::Compile, "there is no tensor \"" + printable(name) + "\""));
      }
      outputs = std::move(chosen);
    }
    llvm::SmallVector<Value *> wanted;
    for (const Port &port : outputs)
      wanted.push_back(const_cast<Value *>(port.value));
    entry.outputs = std::move(outputs);
    // A signature is often the whole first subgraph: planned once, and its weights packed once.
    std::vector<const Value *> key(wanted.begin(), wanted.end());
    llvm::sort(key);
    const Plan *&plan = planned[{&graph, std::move(key)}];
    if (!plan)
      plan = compiled.planner.plan(graph, wanted);
    if (!plan)
      return; // the planner says why
    entry.plan = plan;
    llvm::DenseMap<const Value *, int> slots;
    for (int slot : plan->outputs)
      slots[plan->slots[slot].value] = slot;
    for (const Value *value : wanted)
      entry.results.push_back(slots.lookup(value));
    compiled.entries.push_back(std::move(entry));
  };

  if (options.signature.empty() && !model.subgraphs.empty()) {
    const Subgraph &graph = *model.subgraphs[0];
    Entry entry;
    std::vector<Port> outputs;
    for (const Value *value : graph.inputs)
      entry.inputs.push_back(portOf(*value, value->name));
    for (const Value *value : graph.outputs)
      outputs.push_back(portOf(*value, value->name));
    addEntry(std::move(entry), graph, std::move(outputs));
  }
  bool found = options.signature.empty();
  // Chosen tensors are those of one graph; signatures beside it would not have them.
  if (!options.signature.empty() || options.outputs.empty())
    for (const Signature &signature : model.signatures) {
      if (!options.signature.empty() && signature.key != options.signature)
        continue;
      found = true;
      bool whole = signature.subgraph;
      for (const auto *list : {&signature.inputs, &signature.outputs})
        for (const Signature::Entry &named : *list)
          whole &= named.value != nullptr;
      if (!whole) {
        add(evalError(ErrorCode::BadGraph, EvalPhase::Compile,
                      "signature \"" + printable(signature.key) + "\" names tensors that do not exist"));
        continue;
      }
      Entry entry;
      entry.name = signature.key.str();
      std::vector<Port> outputs;
      for (const Signature::Entry &named : signature.inputs)
        entry.inputs.push_back(portOf(*named.value, named.name));
      // In one order everywhere, whatever that of the signature: who has names does not need one.
      llvm::DenseMap<const Value *, size_t> places;
      for (auto [i, value] : llvm::enumerate(signature.subgraph->inputs))
        places.try_emplace(value, i);
      llvm::stable_sort(entry.inputs,
                        [&](const Port &a, const Port &b) { return places.lookup(a.value) < places.lookup(b.value); });
      for (const Signature::Entry &named : signature.outputs)
        outputs.push_back(portOf(*named.value, named.name));
      addEntry(std::move(entry), *signature.subgraph, std::move(outputs));
    }
  if (!found)
    add(evalError(ErrorCode::UnknownName, EvalPhase::Compile,
                  "there is no signature \"" + printable(options.signature) + "\""));
  if (model.subgraphs.empty())
    add(evalError(ErrorCode::BadGraph, EvalPhase::Compile, "the model has no subgraph"));
  if (llvm::Error errors = compiled.planner.takeErrors())
    return errors;
  llvm::DenseSet<const Subgraph *> called;
  for (const Plan &plan : compiled.planner.plans)
    for (const Step &step : plan.steps)
      for (const Plan *callee : step.callees)
        called.insert(callee->graph);
  for (Entry &entry : compiled.entries)
    entry.once &= !called.contains(entry.plan->graph);
  // Threads, which look for work for a while, are made behind that: not beside the one that packs weights.
  if (options.engine == Engine::Fast)
    compiled.giveBack(std::make_unique<FastKernels>(
        FastKernels::choose(compiled.planner.plans, options.memoryLimit, !options.observed)));
  return session;
}

} // namespace origo::eval
