#include "passes/Pipeline.h"
#include "tests/MapRows.h"
#include "tests/Samples.h"

#include "gtest/gtest.h"

#include <map>

/// What is done to a model tells what has to become of its origin map.

using namespace origo;
using namespace origo::test;

namespace {

/// Runs over texts of this project, over the networks that it makes and over public ones, as far as a rewrite fires in
/// them.
class Metamorphic : public testing::TestWithParam<const char *> {
protected:
  Scratch scratch;
  PayloadStore store;
  std::vector<Sample> samples;

  void SetUp() override {
    std::string over = GetParam();
    std::vector<Sample> all = over == "samples"    ? ownSamples(scratch)
                              : over == "networks" ? samplesOf(ownNetworks().networks())
                                                   : samplesOf(publicModels().all());
    for (const Sample &sample : all)
      if (std::optional<Imported> imported = load(sample.path); imported && run(*imported, Pipeline::o1()))
        if (imported->model->rewrites > 0)
          samples.push_back(sample);
    ASSERT_GE(samples.size(), over == "samples"    ? 60u
                              : over == "networks" ? 40u
                                                   : 50u)
        << "too few models in which a rewrite fires";
  }

  /// A model that is its own source; nothing if it is refused, which tests/every_model.py judges.
  std::optional<Imported> load(const std::string &path, OriginMode mode = OriginMode::Restart) {
    ImportOptions options;
    options.origin = mode;
    llvm::Expected<Imported> imported = importModel(path, options);
    if (imported)
      return std::move(*imported);
    std::string why = llvm::toString(imported.takeError());
    EXPECT_EQ(mode, OriginMode::Restart) << "what was written here cannot be read: " << why;
    return std::nullopt;
  }
  bool run(Imported &imported, const Pipeline &pipeline, std::optional<uint32_t> fuel = std::nullopt) {
    PipelineOptions options;
    options.fuel = fuel;
    return succeeds(runPipeline(*imported.model, pipeline, store, options));
  }
  origin::OriginMap mapOf(Imported &imported) {
    auto map = originMapOf(*imported.model, imported.lineage, imported.model->format);
    if (map)
      return std::move(*map);
    succeeds(map.takeError());
    return {};
  }
  /// Writes it, with the map or without.
  std::string write(Imported &imported, llvm::StringRef name, origin::Embed embed) {
    ExportOptions options;
    options.format = imported.model->format;
    options.embed = embed;
    std::string path = scratch.at(name);
    succeeds(exportModel(*imported.model, imported.lineage, path, options));
    return path;
  }
  std::string bytesWithoutMap(Imported &imported) {
    auto buffer = llvm::MemoryBuffer::getFile(write(imported, "bare", origin::Embed::None));
    return buffer ? (*buffer)->getBuffer().str() : std::string();
  }
  std::optional<Imported> throughFile(Imported &imported, OriginMode mode = OriginMode::Continue) {
    return load(write(imported, "between", origin::Embed::Full), mode);
  }
  static bool succeeds(llvm::Error error) {
    if (!error)
      return true;
    ADD_FAILURE() << llvm::toString(std::move(error));
    return false;
  }

  /// Bytes and core of two results.
  void expectSame(Imported &expected, Imported &actual, const std::string &what) {
    std::string core = coreOf(mapOf(expected)), other = coreOf(mapOf(actual));
    EXPECT_TRUE(core == other) << what << ", cores:\n" << differenceOf(linesOf(core), linesOf(other));
    EXPECT_TRUE(bytesWithoutMap(expected) == bytesWithoutMap(actual)) << what << ": other bytes";
  }
  void report(llvm::StringRef what, unsigned count) const {
    llvm::outs() << "models: " << what << ": " << count << " over " << samples.size() << ' ' << GetParam() << '\n';
    llvm::outs().flush();
  }
};

/// All passes, those that -O1 leaves out too.
Pipeline everyPass() {
  Pipeline pipeline;
  for (const Pass &pass : allPasses())
    pipeline.add(pass);
  return pipeline;
}

/// Names tensor k "<k>", counting through all subgraphs from `first`. What passes name after it begins so, too.
std::vector<std::string> rename(Model &model) {
  std::vector<std::string> names;
  for (auto &graph : model.subgraphs)
    for (Value *value : graph->values) {
      std::string name = "<" + std::to_string(names.size()) + ">";
      names.push_back(value->name.str());
      value->name = model.copy(llvm::StringRef(name));
    }
  return names;
}

/// Reads "<k>rest" as the name that `of` has for tensor k, and rest. What was inlined is "<k>/<l>".
std::string renamed(llvm::StringRef name, llvm::function_ref<std::string(uint32_t)> of) {
  uint32_t id = 0;
  llvm::StringRef rest = name;
  if (!rest.consume_front("<") || rest.consumeInteger(10, id) || !rest.consume_front(">")) {
    ADD_FAILURE() << "not named after a tensor: " << name.str();
    return name.str();
  }
  return of(id) + (rest.starts_with("/<") ? "/" + renamed(rest.drop_front(), of) : rest.str());
}

TEST_P(Metamorphic, RenamingChangesNamesOnly) {
  for (const Sample &sample : samples) {
    std::optional<Imported> plain = load(sample.path), other = load(sample.path);
    std::vector<std::string> names = rename(*other->model);
    ASSERT_TRUE(succeeds(restart(*plain)) && succeeds(restart(*other)));
    ASSERT_TRUE(run(*plain, Pipeline::o1()) && run(*other, Pipeline::o1()));
    Reading back;
    back.name = [&](llvm::StringRef name) { return renamed(name, [&](uint32_t id) { return names.at(id); }); };
    // In the same order, too.
    auto expected = rowsOf(mapOf(*plain)), actual = rowsOf(mapOf(*other), back);
    EXPECT_TRUE(expected == actual) << sample.name << '\n' << differenceOf(expected, actual);
  }
}

/// Puts the operators into the topological order that takes the last one that is ready first; those with effects stay
/// in their order. Returns the old ids in the new order.
std::vector<uint32_t> permute(Model &model) {
  std::vector<uint32_t> ids;
  model.number();
  for (auto &graph : model.subgraphs) {
    uint32_t first = ids.size();
    std::vector<Operator *> ops;
    for (Operator &op : graph->operators)
      ops.push_back(&op);
    std::vector<std::vector<unsigned>> next(ops.size());
    std::vector<unsigned> waits(ops.size());
    auto follow = [&](unsigned before, unsigned after) {
      next[before].push_back(after);
      ++waits[after];
    };
    std::optional<unsigned> effectful;
    for (Operator *op : ops) {
      for (const Use &use : op->operands())
        if (use.get() && use.get()->producer())
          follow(use.get()->producer()->index, op->index);
      if (op->effects() == 0)
        continue;
      if (effectful)
        follow(*effectful, op->index);
      effectful = op->index;
    }
    std::set<unsigned> ready;
    for (unsigned i = 0; i < ops.size(); ++i)
      if (waits[i] == 0)
        ready.insert(i);
    while (!ready.empty()) {
      unsigned i = *ready.rbegin();
      ready.erase(i);
      graph->operators.remove(*ops[i]);
      graph->operators.push_back(*ops[i]);
      ids.push_back(first + i);
      for (unsigned after : next[i])
        if (--waits[after] == 0)
          ready.insert(after);
    }
  }
  return ids;
}

/// Tensors with several users, and the constants of operators that make one: which user is the last to let go of one
/// depends on the order.
std::set<uint32_t> sharedTensors(const Model &model) {
  std::set<uint32_t> ids;
  uint32_t id = 0;
  for (auto &graph : model.subgraphs)
    for (const Value *value : graph->values) {
      bool shared = value->useCount() > 1;
      value->forEachUse([&](Use &use) {
        shared |= value->isConstant() &&
                  llvm::any_of(use.user()->results(), [](const Value *v) { return v && v->useCount() > 1; });
      });
      if (shared)
        ids.insert(id);
      ++id;
    }
  return ids;
}

/// Of equal operators the first one stays, so common subexpressions are left out: another order, another survivor.
TEST_P(Metamorphic, OtherOrderOfOperators) {
  Pipeline pipeline = Pipeline::o1();
  pipeline.remove("common-subexpressions");
  unsigned moved = 0;
  for (const Sample &sample : samples) {
    std::optional<Imported> plain = load(sample.path), other = load(sample.path);
    rename(*plain->model);
    rename(*other->model);
    std::vector<uint32_t> old = permute(*other->model);
    if (llvm::is_sorted(old))
      continue;
    ASSERT_TRUE(succeeds(restart(*plain)) && succeeds(restart(*other)));
    Reading as, back;
    as.anyFate = back.anyFate = sharedTensors(*plain->model);
    back.op = [&](uint32_t id) { return old.at(id); };
    as.anyPlace = back.anyPlace = true; // of several users of a tensor, that which lets go of it last
    ASSERT_TRUE(run(*plain, pipeline) && run(*other, pipeline));
    EXPECT_EQ(plain->model->rewrites, other->model->rewrites) << sample.name;
    moved += plain->model->rewrites > 0;
    EXPECT_EQ(differenceOf(rowsOf(mapOf(*plain), as), rowsOf(mapOf(*other), back)), "") << sample.name;
  }
  report("permuted operators", moved);
  EXPECT_GE(moved, 15u);
}

/// A second copy of the only subgraph beside the first, with inputs, outputs, constants and signatures of its own.
void addTwin(Model &model) {
  Subgraph &graph = *model.subgraphs.front();
  std::map<const Value *, Value *> twins{{nullptr, nullptr}};
  auto twinsOf = [&](const auto &values) {
    llvm::SmallVector<Value *> result;
    for (const Value *value : values)
      result.push_back(twins.at(value));
    return result;
  };
  uint32_t count = graph.values.size();
  for (Value *value : std::vector<Value *>(graph.values)) {
    Value &twin = model.addValue(graph);
    twins[value] = &twin;
    twin.type = value->type;
    twin.hasShape = value->hasShape;
    twin.hasRank = value->hasRank;
    twin.isVariable = value->isVariable;
    twin.compression = value->compression;
    twin.externalBuffer = value->externalBuffer;
    twin.shape = value->shape;
    twin.setShapeSignature(value->shapeSignature());
    twin.name = model.copy(
        llvm::StringRef(renamed(value->name, [&](uint32_t id) { return "<" + std::to_string(id + count) + ">"; })));
    twin.buffer = value->buffer;
    twin.setSparsity(value->sparsity());
    twin.setVariants(value->variants());
  }
  for (Value *value : llvm::ArrayRef(graph.values).take_front(count).vec())
    if (const Quantization *q = value->quantization) {
      Quantization copy = *q;
      copy.more.make().scales = twins.at(q->more->scales);
      copy.more.make().zeroPoints = twins.at(q->more->zeroPoints);
      model.setQuantization(*twins.at(value), copy);
    }
  std::vector<Operator *> ops;
  for (Operator &op : graph.operators)
    ops.push_back(&op);
  for (Operator *op : ops) {
    llvm::SmallVector<Value *> operands;
    for (const Use &use : op->operands())
      operands.push_back(twins.at(use.get()));
    Operator &twin = model.addOperator(graph, op->code, operands, twinsOf(op->results()));
    twin.version = op->version;
    twin.setCustomCode(op->customCode());
    twin.options = op->options;
    twin.setOptions2(op->options2());
    twin.setCustomOptions(op->customOptions());
    twin.largeCustomOptions = op->largeCustomOptions;
    twin.customOptionsFormat = op->customOptionsFormat;
    twin.debugMetadata = op->debugMetadata;
    twin.setMutatingVariableInputs(op->mutatingVariableInputs());
    model.setIntermediates(twin, twinsOf(op->intermediates()));
  }
  llvm::SmallVector<Value *> inputs = graph.inputs, outputs = graph.outputs;
  inputs.append(twinsOf(graph.inputs));
  model.setInputs(graph, inputs);
  llvm::SmallVector<Value *> more = twinsOf(graph.outputs);
  model.setOutputs(graph, more); // counts their uses; those of the first copy are counted already
  outputs.append(more);
  graph.outputs = outputs;
  for (Signature signature : std::vector<Signature>(model.signatures)) {
    for (auto *entries : {&signature.inputs, &signature.outputs})
      for (Signature::Entry &entry : *entries)
        entry.value = twins.at(entry.value);
    model.addSignature(signature);
  }
}

/// Does an operator compute from constants alone, or from a shape, which becomes one?
bool computesFromConstants(const Model &model) {
  for (auto &graph : model.subgraphs)
    for (const Operator &op : graph->operators)
      if ((op.info() && op.info()->has(Trait::ShapeQuery)) || llvm::all_of(op.operands(), [](const Use &use) {
            return !use.get() || (use.get()->isConstant() && !use.get()->isInterface());
          }))
        return true;
  return false;
}

/// The two copies share nothing but the bytes of constants, so nothing of one may be found in the other. Where
/// operators compute from constants alone, though, equal ones are common subexpressions of both; there the others are
/// tried.
TEST_P(Metamorphic, TwiceSideBySide) {
  unsigned doubled = 0, withoutMerging = 0;
  for (const Sample &sample : samples) {
    std::optional<Imported> plain = load(sample.path), other = load(sample.path);
    if (plain->model->subgraphs.size() != 1)
      continue;
    ++doubled;
    Pipeline pipeline = Pipeline::o1();
    if (computesFromConstants(*plain->model)) {
      pipeline.remove("common-subexpressions");
      ++withoutMerging;
    }
    rename(*plain->model);
    rename(*other->model);
    addTwin(*other->model);
    ASSERT_TRUE(succeeds(restart(*plain)) && succeeds(restart(*other)));
    uint32_t operators = plain->model->sourceOperators, tensors = plain->model->sourceTensors;
    EXPECT_EQ(other->model->sourceOperators, 2 * operators);
    ASSERT_TRUE(run(*plain, pipeline) && run(*other, pipeline));
    Reading shifted;
    shifted.op = [&](uint32_t id) { return id + operators; };
    shifted.tensor = [&](uint32_t id) { return id + tensors; };
    shifted.name = [&](llvm::StringRef name) {
      return renamed(name, [&](uint32_t id) { return "<" + std::to_string(id + tensors) + ">"; });
    };
    origin::OriginMap map = mapOf(*plain);
    std::vector<std::string> expected = rowsOf(map), second = rowsOf(map, shifted);
    expected.insert(expected.end(), second.begin(), second.end());
    EXPECT_EQ(differenceOf(expected, rowsOf(mapOf(*other))), "") << sample.name;
  }
  report("doubled, " + std::to_string(withoutMerging) + " of them without common subexpressions", doubled);
  EXPECT_GE(doubled - withoutMerging, GetParam() == std::string("networks") ? 28u : 45u);
}

/// The passes before and from position i.
std::pair<Pipeline, Pipeline> cutAt(size_t i) {
  std::pair<Pipeline, Pipeline> stages{everyPass(), everyPass()};
  stages.first.entries.resize(i);
  stages.second.entries.erase(stages.second.entries.begin(), stages.second.entries.begin() + i);
  return stages;
}

TEST_P(Metamorphic, CutThroughAFile) {
  unsigned cuts = 0, busy = 0, number = 0;
  const unsigned every = thorough() ? 1 : 80; // of the cuts of a model, others of the next one
  for (const Sample &sample : samples) {
    ++number;
    for (size_t i = 1; i < everyPass().entries.size(); ++i) {
      if ((i + number) % every)
        continue;
      auto [first, second] = cutAt(i);
      std::optional<Imported> whole = load(sample.path), before = load(sample.path);
      ASSERT_TRUE(run(*whole, first) && run(*before, first));
      uint32_t half = whole->model->rewrites;
      std::optional<Imported> after = throughFile(*before);
      ASSERT_TRUE(after) << sample.name;
      ASSERT_TRUE(run(*whole, second) && run(*after, second));
      EXPECT_EQ(whole->model->rewrites, half + after->model->rewrites) << sample.name << " cut at " << i;
      // What a file says that it needs is raised and never lowered, by what comes and goes in between, too.
      for (Model *model : {whole->model.get(), after->model.get()})
        for (const MetadataEntry &entry : model->metadata)
          if (entry.name == "min_runtime_version" && entry.buffer)
            entry.buffer->payload = Payload::owned("9.9.9");
      expectSame(*whole, *after, sample.name + " cut at " + std::to_string(i));
      ++cuts;
      busy += half > 0 && after->model->rewrites > 0;
    }
  }
  report("cuts, " + std::to_string(busy) + " of them with rewrites on both sides", cuts);
  EXPECT_GE(busy, 30u);
}

TEST_P(Metamorphic, OutOfFuelAndOn) {
  unsigned stops = 0;
  for (const Sample &sample : samples) {
    std::optional<Imported> first = load(sample.path);
    ASSERT_TRUE(run(*first, Pipeline::o1()));
    uint32_t all = first->model->rewrites;
    std::set<uint32_t> amounts{1, all / 3, all / 2, all - 1};
    for (uint32_t fuel = 1; (thorough() || all <= 8) && fuel < all; ++fuel)
      amounts.insert(fuel);
    for (uint32_t fuel : amounts) {
      std::optional<Imported> whole = load(sample.path), before = load(sample.path);
      ASSERT_TRUE(run(*whole, Pipeline::o1(), fuel) && run(*before, Pipeline::o1(), fuel));
      EXPECT_EQ(before->model->rewrites, fuel) << sample.name;
      std::optional<Imported> after = throughFile(*before);
      ASSERT_TRUE(after) << sample.name;
      ASSERT_TRUE(run(*whole, Pipeline::o1()) && run(*after, Pipeline::o1()));
      expectSame(*whole, *after, sample.name + " stopped after " + std::to_string(fuel) + " rewrites");
      ++stops;
    }
  }
  report("runs out of fuel and on, through a file", stops);
  EXPECT_GE(stops, 100u);
}

/// What is said of one thing does not contradict what is said of another: what went into an operator has its maker or a
/// user there, or went where these went, and what stands in the result under its own name is not gone.
TEST_P(Metamorphic, SentencesAgree) {
  unsigned gone = 0, named = 0;
  for (const Sample &sample : samples) {
    std::optional<Imported> imported = load(sample.path);
    ASSERT_TRUE(run(*imported, Pipeline::o1()));
    origin::OriginMap map = mapOf(*imported);
    std::vector<std::vector<uint32_t>> near(map.source.tensorCount());
    std::map<std::string, std::vector<uint32_t>> ids;
    std::map<uint32_t, const origin::MapLedgerRow *> operators, tensors;
    for (const origin::SourceSubgraph &graph : map.source.subgraphs) {
      for (size_t i = 0; i < graph.tensors.size(); ++i)
        ids[graph.tensors[i].name.str()].push_back(graph.firstTensor + i);
      for (size_t i = 0; i < graph.operators.size(); ++i) {
        auto add = [&](int32_t tensor) {
          if (tensor >= 0)
            near.at(tensor).push_back(graph.firstOperator + i);
        };
        llvm::for_each(graph.operandsOf(i), add);
        llvm::for_each(graph.operators[i].tensors, add);
      }
    }
    for (const origin::MapLedgerRow &row : map.ledger)
      (row.isTensor ? tensors : operators)[row.id] = &row;
    for (const auto &[id, row] : tensors)
      for (auto place : row->operators) {
        const origin::OperatorRow &into = *map.target.findOperator(place.first, place.second);
        EXPECT_TRUE(llvm::any_of(near[id],
                                 [&, place = place](uint32_t op) {
                                   return llvm::is_contained(into.origins, op) || llvm::is_contained(into.serves, op) ||
                                          llvm::is_contained(into.calls, op) ||
                                          (operators.contains(op) &&
                                           llvm::is_contained(operators[op]->operators, place));
                                 }))
            << sample.name << ": tensor " << id << " went into operator " << place.second;
        ++gone;
      }
    for (const origin::TargetSubgraph &graph : map.target.subgraphs)
      for (const origin::TensorRow &row : graph.tensors)
        if (const std::vector<uint32_t> &same = ids[row.name]; !row.constant && !row.name.empty() && same.size() == 1) {
          EXPECT_FALSE(tensors.contains(same[0]))
              << sample.name << ": tensor " << same[0] << " \"" << row.name << "\" is there under its own name";
          ++named;
        }
  }
  report("tensors that went into operators, " + std::to_string(named) + " that kept their names", gone);
  EXPECT_GE(gone, 100u);
}

/// A run that stopped and went on has done what one without a stop does. Not so with common subexpressions: two
/// operators that a fusion tells apart are merged if they are looked at before it.
TEST_P(Metamorphic, StoppingChangesNothing) {
  Pipeline pipeline = Pipeline::o1();
  pipeline.remove("common-subexpressions");
  unsigned stops = 0;
  for (const Sample &sample : samples) {
    std::optional<Imported> straight = load(sample.path);
    ASSERT_TRUE(run(*straight, pipeline));
    uint32_t all = straight->model->rewrites;
    for (uint32_t fuel : std::set<uint32_t>{all / 4, all / 2, all - all / 4}) {
      std::optional<Imported> stopped = load(sample.path);
      ASSERT_TRUE(run(*stopped, pipeline, fuel) && run(*stopped, pipeline));
      EXPECT_EQ(stopped->model->rewrites, all) << sample.name;
      expectSame(*straight, *stopped, sample.name + " stopped after " + std::to_string(fuel) + " rewrites");
      ++stops;
    }
  }
  report("stops", stops);
  EXPECT_GE(stops, 100u);
}

TEST_P(Metamorphic, RunAgainMovesNothing) {
  for (const Sample &sample : samples) {
    std::optional<Imported> once = load(sample.path), here = load(sample.path);
    ASSERT_TRUE(run(*once, Pipeline::o1()) && run(*here, Pipeline::o1()));
    std::optional<Imported> later = throughFile(*here);
    ASSERT_TRUE(later) << sample.name;
    ASSERT_TRUE(run(*here, Pipeline::o1()) && run(*later, Pipeline::o1()));
    EXPECT_EQ(here->model->rewrites, once->model->rewrites) << sample.name;
    EXPECT_EQ(later->model->rewrites, 0u) << sample.name;
    expectSame(*once, *here, sample.name + " in this process");
    expectSame(*once, *later, sample.name + " through a file");
  }
  report("runs again", samples.size());
}

TEST_P(Metamorphic, OriginsOff) {
  // Before the last pass much has been fused already.
  auto [first, second] = cutAt(everyPass().entries.size() - 1);
  for (const Sample &sample : samples) {
    std::optional<Imported> imported = load(sample.path);
    ASSERT_TRUE(run(*imported, first));
    // Written with the map and without it: what is left once the map is taken out.
    std::optional<Imported> with = throughFile(*imported, OriginMode::Restart);
    ASSERT_TRUE(with) << sample.name;
    EXPECT_TRUE(bytesWithoutMap(*with) == bytesWithoutMap(*imported)) << sample.name << ": --embed-origin=none";
    // Read with the map and without it: rewrites do not depend on where things came from.
    std::optional<Imported> known = throughFile(*imported), ignored = throughFile(*imported, OriginMode::Restart);
    ASSERT_TRUE(known && ignored) << sample.name;
    ASSERT_TRUE(run(*known, second) && run(*ignored, second));
    EXPECT_TRUE(bytesWithoutMap(*known) == bytesWithoutMap(*ignored)) << sample.name << ": --origin=ignore";
  }
  report("with origins off", samples.size());
}

INSTANTIATE_TEST_SUITE_P(Over, Metamorphic, testing::Values("samples", "networks"),
                         [](const auto &info) { return std::string(info.param); });
INSTANTIATE_TEST_SUITE_P(PublicModels, Metamorphic, testing::Values("public"),
                         [](const auto &info) { return std::string(info.param); });

} // namespace
