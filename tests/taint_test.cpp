#include "passes/Pipeline.h"
#include "tests/GoldenCases.h"
#include "tests/Samples.h"

#include "gtest/gtest-spi.h"
#include "gtest/gtest.h"

#include <map>
#include <set>

/// Taint: the constants of one source operator are changed a little and the model is optimised again. What changes in
/// the result was computed from them and has to name them (recall); what names them has to change, or there is a reason
/// why it cannot (precision). The map is that of the untouched model.

using namespace origo;
using namespace origo::test;

namespace {

using Ids = std::set<uint32_t>;
using Place = std::pair<uint32_t, uint32_t>; ///< subgraph and index in the written file

bool meets(const std::vector<uint32_t> &named, const Ids &ids) {
  return llvm::any_of(named, [&](uint32_t id) { return ids.contains(id); });
}

/// Bits of a float type: NaN and infinities have an exponent of 0 or of all ones.
struct FloatBits {
  unsigned width, mantissa;
  uint64_t one, six;
};

const FloatBits *floatBits(TensorType type) {
  static const FloatBits half{2, 10, 0x3C00, 0x4600}, single{4, 23, 0x3F800000, 0x40C00000},
      wide{8, 52, 0x3FF0000000000000, 0x4018000000000000};
  switch (type) {
  case TensorType::FLOAT16:
    return &half;
  case TensorType::FLOAT32:
    return &single;
  case TensorType::FLOAT64:
    return &wide;
  default:
    return nullptr;
  }
}

/// 0, 1 and 6, of either sign, decide whether rules apply; zeros, NaN, infinities and the smallest numbers stay too.
bool isFixed(uint64_t bits, const FloatBits &type) {
  uint64_t sign = uint64_t(1) << (8 * type.width - 1), magnitude = bits & (sign - 1);
  uint64_t exponents = (sign - 1) >> type.mantissa, exponent = magnitude >> type.mantissa;
  return exponent == 0 || exponent == exponents || magnitude == type.one || magnitude == type.six;
}

/// Each number changed by 2^-4 to 2^-6 of itself; how much differs from neighbour to neighbour. None if no number may
/// change.
std::optional<std::string> perturbed(const Value &value) {
  const FloatBits *type = floatBits(value.type);
  if (!type || !value.isConstant() || value.compression || value.externalBuffer || !value.payload().hasBytes())
    return std::nullopt;
  llvm::ArrayRef<uint8_t> source = value.payload().bytes();
  std::string bytes(source.begin(), source.end());
  bool changed = false;
  for (size_t i = 0; (i + 1) * type->width <= bytes.size(); ++i) {
    uint64_t bits = 0;
    std::memcpy(&bits, bytes.data() + i * type->width, type->width);
    if (isFixed(bits, *type))
      continue;
    uint64_t flip = uint64_t(1) << (type->mantissa - 6 + i % 3);
    bits ^= isFixed(bits ^ flip, *type) ? flip >> 1 : flip;
    std::memcpy(bytes.data() + i * type->width, &bits, type->width);
    changed = true;
  }
  return changed ? std::optional(std::move(bytes)) : std::nullopt;
}

bool onlyFixedNumbers(const Value &value) { return floatBits(value.type) && !perturbed(value); }

struct Counts {
  unsigned models = 0, perturbations = 0;
  unsigned twins = 0;            ///< perturbations of all constants that hold the same
  unsigned recognised = 0;       ///< perturbations of what tells which operator a part of the model is
  unsigned changed = 0;          ///< constants of results
  unsigned computed = 0;         ///< of these, those that a rewrite has computed
  unsigned named = 0, moved = 0; ///< rows that name what was perturbed, and those of them that change
  std::map<std::string, unsigned> exempt;
  std::map<std::string, unsigned> otherParts; ///< of those exempt as another part, by the source operator's type

  void print(llvm::StringRef what) const {
    std::string reasons;
    for (const auto &[reason, count] : exempt)
      reasons += (reasons.empty() ? "" : ", ") + std::to_string(count) + " " + reason;
    llvm::outs() << "models: taint over " << models << " " << what << ": " << perturbations << " perturbed operators ("
                 << twins << " together with their twins, besides " << recognised
                 << " that numbers were recognised by) change " << changed << " constants (" << computed
                 << " computed ones), " << moved << " of " << named << " rows that name them change"
                 << (reasons.empty() ? "" : ", the others: " + reasons) << '\n';
    llvm::outs().flush();
  }
};

class Study {
public:
  Study(const Sample &sample, Counts &counts, Pipeline pipeline = Pipeline::o1())
      : sample(sample), counts(counts), pipeline(std::move(pipeline)) {}
  /// With at most `limit` of the model's operators, evenly chosen.
  void run(size_t limit);

private:
  const Sample &sample;
  Counts &counts;
  const Pipeline pipeline;
  PayloadStore store;

  struct SourceOperator {
    uint32_t id;
    std::string type, name;
    Ids tensors; ///< constant operands that can be perturbed
  };
  std::vector<SourceOperator> candidates;
  std::map<uint32_t, Ids> users; ///< source operators by source tensor
  Ids zeros;                     ///< tensors that hold nothing that can be perturbed: a factor of them is of no account
  std::map<uint32_t, Ids> twins; ///< tensors that hold the same as this one, itself among them
  Imported base;
  origin::OriginMap map;

  std::optional<Imported> load();
  bool optimise(const Ids &tensors, std::set<const Value *> &changed);
  bool isSameButForConstants(Model &other, std::set<const Value *> &changed);
  void look(const Model &model);
  void perturb(const SourceOperator &op);
  const origin::TensorRow &row(const Value &v) const {
    return map.target.subgraphs[v.subgraph()->index].tensors[v.index];
  }
  const origin::OperatorRow &row(const Operator &op) const {
    return map.target.subgraphs[op.subgraph()->index].operators[op.index];
  }
  bool isRecognisedBy(const Ids &tensors) const;
  bool isOtherPart(const Operator &op, const Ids &operators, const std::set<const Value *> &changed) const;
  bool passedOn(const Ids &operators, const Value &constant) const;
  std::string whyUnchanged(const Value &constant, const Ids &tensors) const;
  std::string whyUnchanged(const Operator &op, const Ids &tensors) const;
  void judge(const SourceOperator &op, const Ids &tensors, const std::set<const Value *> &changed);
};

std::optional<Imported> Study::load() {
  ImportOptions options;
  options.origin = OriginMode::Restart;
  llvm::Expected<Imported> imported = importModel(sample.path, options);
  if (!imported) {
    llvm::consumeError(imported.takeError()); // tests/every_model.py knows what may be refused
    return std::nullopt;
  }
  return std::move(*imported);
}

/// Candidates and sharing, from the source.
void Study::look(const Model &model) {
  std::map<const Value *, uint32_t> ids;
  for (auto &graph : model.subgraphs)
    for (const Value *value : graph->values)
      ids.emplace(value, ids.size());
  std::vector<std::pair<const Value *, uint32_t>> usable;
  uint32_t next = 0;
  for (auto &graph : model.subgraphs)
    for (Operator &op : graph->operators) {
      SourceOperator source{next++, op.opName(), op.opName(), {}};
      if (op.result())
        source.name += " \"" + printable(op.result()->name) + '"';
      for (const Use &use : op.operands()) {
        const Value *value = use.get();
        if (!value || !value->isConstant() || !floatBits(value->type))
          continue;
        uint32_t id = ids.at(value);
        bool known = users.contains(id);
        users[id].insert(source.id);
        if (onlyFixedNumbers(*value))
          zeros.insert(id);
        if (!known && !onlyFixedNumbers(*value) && perturbed(*value))
          usable.push_back({value, id});
        if (llvm::any_of(usable, [&](auto &item) { return item.second == id; }))
          source.tensors.insert(id);
      }
      if (!source.tensors.empty())
        candidates.push_back(std::move(source));
    }
  for (auto [a, id] : usable)
    for (auto [b, other] : usable)
      if (a->type == b->type && a->payload().sameBytes(b->payload()))
        twins[id].insert(other);
}

/// The model with these constants perturbed. False if the result differs in more than constants.
bool Study::optimise(const Ids &tensors, std::set<const Value *> &changed) {
  std::optional<Imported> imported = load();
  if (!imported)
    return false;
  Model &model = *imported->model;
  uint32_t id = 0;
  for (auto &graph : model.subgraphs)
    for (Value *value : graph->values)
      if (tensors.contains(id++))
        value->buffer = &model.addBuffer(Payload::owned(*perturbed(*value)));
  if (llvm::Error error = runPipeline(model, pipeline, store)) {
    ADD_FAILURE() << sample.name << ": " << llvm::toString(std::move(error));
    return false;
  }
  return isSameButForConstants(model, changed);
}

/// Notes the constants of the result that differ, and compares all else by the fingerprint with those put back: it
/// takes in the contents of small integer constants too.
bool Study::isSameButForConstants(Model &other, std::set<const Value *> &changed) {
  changed.clear();
  Model &model = *base.model;
  if (model.subgraphs.size() != other.subgraphs.size())
    return false;
  for (auto [graph, otherGraph] : llvm::zip_equal(model.subgraphs, other.subgraphs)) {
    if (graph->values.size() != otherGraph->values.size())
      return false;
    for (auto [value, now] : llvm::zip_equal(graph->values, otherGraph->values)) {
      if (!value->isConstant() || !now->isConstant())
        continue;
      // Scales that follow from a constant are part of what it holds.
      bool sameScales = sameQuantization(value->quantization, now->quantization);
      if (sameScales && value->payload().sameBytes(now->payload()))
        continue;
      changed.insert(value);
      if (!sameScales && value->quantization)
        other.setQuantization(*now, *value->quantization);
      now->buffer = &other.addBuffer(value->payload());
    }
  }
  auto listing = listingOf(other, other.format);
  if (!listing) {
    ADD_FAILURE() << sample.name << ": " << llvm::toString(listing.takeError());
    return false;
  }
  return (*listing)->fingerprint == map.target.fingerprint;
}

void Study::run(size_t limit) {
  std::optional<Imported> imported = load();
  if (!imported)
    return;
  base = std::move(*imported);
  Model &model = *base.model;
  look(model);
  if (candidates.empty())
    return;
  if (llvm::Error error = runPipeline(model, pipeline, store)) {
    ADD_FAILURE() << sample.name << ": " << llvm::toString(std::move(error));
    return;
  }
  llvm::Expected<origin::OriginMap> made = originMapOf(model, base.lineage, model.format);
  if (!made) {
    ADD_FAILURE() << sample.name << ": " << llvm::toString(made.takeError());
    return;
  }
  map = std::move(*made);
  ++counts.models;
  size_t chosen = std::min(limit, candidates.size());
  for (size_t i = 0; i < chosen; ++i)
    perturb(candidates[i * candidates.size() / chosen]);
}

void Study::perturb(const SourceOperator &op) {
  Ids tensors = op.tensors;
  std::set<const Value *> changed;
  bool same = optimise(tensors, changed);
  if (!same) {
    // A twin was merged with it, which needs the two to be equal.
    for (uint32_t tensor : op.tensors)
      tensors.insert(twins[tensor].begin(), twins[tensor].end());
    same = optimise(tensors, changed);
    ++counts.twins;
  }
  if (!same && isRecognisedBy(tensors)) {
    ++counts.recognised;
    return;
  }
  EXPECT_TRUE(same) << sample.name << ": other rewrites apply once the constants of source operator " << op.id << ", "
                    << op.name << ", are perturbed";
  if (same)
    judge(op, tensors, changed);
}

/// An operator was recognised by these numbers: it says so, has the origin of what used them, and computes without
/// them.
bool Study::isRecognisedBy(const Ids &tensors) const {
  Ids operators;
  for (uint32_t tensor : tensors)
    if (auto known = users.find(tensor); known != users.end())
      operators.insert(known->second.begin(), known->second.end());
  auto recognises = [](const origin::Word &name) {
    const Pass *pass = findPass(name);
    return pass && (pass->phase == Phase::Recognise || pass->name == "fuse-rms-norm");
  };
  // What is computed by a changed copy of one of them does without its numbers too.
  auto madeByThem = [&](const Use &use) {
    const Operator *producer = use.get() ? use.get()->producer() : nullptr;
    return producer && llvm::any_of(row(*producer).passes, recognises) && meets(row(*producer).origins, operators);
  };
  // That a constant repeats is told by its numbers, too.
  auto shrinks = [](const origin::Word &name) { return name == "shrink-constants"; };
  for (auto &graph : base.model->subgraphs)
    for (const Operator &op : graph->operators)
      if (llvm::any_of(row(op).passes, shrinks) && meets(row(op).origins, operators))
        return true;
      else if (llvm::any_of(row(op).passes, recognises) &&
               (meets(row(op).origins, operators) || llvm::any_of(op.operands(), madeByThem)) &&
               llvm::none_of(op.operands(), [&](const Use &use) {
                 return use.get() && use.get()->isConstant() && meets(row(*use.get()).tensors, tensors);
               }))
        return true;
  return false;
}

/// One operator became several, another of which computes with what was perturbed.
bool Study::isOtherPart(const Operator &op, const Ids &operators, const std::set<const Value *> &changed) const {
  // What became of the parts since may differ.
  auto madeTogether = [&](const Operator &other) {
    const auto &passes = row(op).passes;
    return llvm::any_of(row(other).passes, [&](const auto &pass) { return llvm::is_contained(passes, pass); });
  };
  for (const Operator &other : op.subgraph()->operators)
    if (&other != &op && madeTogether(other) && meets(row(other).origins, operators) &&
        llvm::any_of(other.operands(), [&](const Use &use) { return changed.contains(use.get()); }))
      return true;
  return false;
}

/// The ledger says that one of the operators did nothing and that this constant is what it handed on.
bool Study::passedOn(const Ids &operators, const Value &constant) const {
  Place place{constant.subgraph()->index, constant.index};
  return llvm::any_of(map.ledger, [&](const origin::MapLedgerRow &row) {
    return !row.isTensor && operators.contains(row.id) && (row.fate == "identity" || row.fate == "layout-cancelled") &&
           llvm::is_contained(row.tensors, place);
  });
}

/// Why a constant that names what was perturbed stays as it is; empty if there is no reason.
std::string Study::whyUnchanged(const Value &constant, const Ids &tensors) const {
  if (!meets(row(constant).tensors, tensors))
    return "only-the-operator-is-named";
  if (!floatBits(constant.type))
    return "integer-constant";
  return onlyFixedNumbers(constant) || meets(row(constant).tensors, zeros) ? "value-cancelled" : "";
}

/// An operator that has the origin but none of its constants has no excuse, unless the map says that these were not
/// needed.
std::string Study::whyUnchanged(const Operator &op, const Ids &tensors) const {
  bool unneeded = llvm::all_of(tensors, [&](uint32_t tensor) { return !map.unneededOf(true, tensor).empty(); });
  std::string reason = unneeded ? "not-needed" : "";
  for (const Use &use : op.operands())
    if (const Value *v = use.get(); v && v->isConstant() && meets(row(*v).tensors, tensors))
      reason = whyUnchanged(*v, tensors);
  return reason;
}

void Study::judge(const SourceOperator &source, const Ids &tensors, const std::set<const Value *> &changed) {
  ++counts.perturbations;
  Ids operators;
  std::string list;
  for (uint32_t tensor : tensors) {
    operators.insert(users[tensor].begin(), users[tensor].end());
    list += (list.empty() ? "" : ", ") + std::to_string(tensor);
  }
  auto place = [&](const char *kind, const Subgraph &graph, unsigned index, llvm::StringRef name) {
    return sample.name + ", source operator " + std::to_string(source.id) + ", " + source.name + ", source constants " +
           list + " perturbed: " + kind + " " + std::to_string(index) + " of subgraph " + std::to_string(graph.index) +
           ", \"" + printable(name) + "\", ";
  };
  for (auto &graph : base.model->subgraphs)
    for (const Value *value : graph->values) {
      if (!value->isConstant())
        continue;
      const origin::TensorRow &constant = row(*value);
      bool differs = changed.contains(value);
      if (differs) {
        ++counts.changed;
        counts.computed += !constant.operators.empty() || constant.tensors.size() > 1;
        EXPECT_TRUE(meets(constant.tensors, tensors))
            << place("constant", *graph, value->index, value->name) << "changes and does not name one of them";
      }
      if (!meets(constant.tensors, tensors) && !meets(constant.operators, operators))
        continue;
      ++counts.named;
      counts.moved += differs;
      if (differs)
        continue;
      std::string reason = whyUnchanged(*value, tensors);
      EXPECT_NE(reason, "") << place("constant", *graph, value->index, value->name) << "names one and does not change";
      ++counts.exempt[reason];
    }
  for (auto &graph : base.model->subgraphs)
    for (const Operator &op : graph->operators) {
      std::string name = op.result() ? op.result()->name.str() : "";
      bool names = meets(row(op).origins, operators), differs = false;
      for (const Use &use : op.operands()) {
        const Value *constant = use.get();
        // A bridge is no work of the source: who computes with the constant stands behind it.
        if (const Operator *bridge = constant ? constant->producer() : nullptr; bridge && bridge->synthetic)
          constant = bridge->operand(0);
        if (!constant || !changed.contains(constant))
          continue;
        differs = true;
        bool folded = meets(row(*constant).operators, operators), passed = passedOn(operators, *constant);
        EXPECT_TRUE(names || folded || passed || op.synthetic)
            << place("operator", *graph, op.index, name)
            << "computes with other numbers, and neither it nor its constant names "
               "the operator";
      }
      if (!names)
        continue;
      ++counts.named;
      counts.moved += differs;
      if (differs)
        continue;
      std::string reason = whyUnchanged(op, tensors);
      if (reason.empty() && isOtherPart(op, operators, changed)) {
        reason = "another-part";
        ++counts.otherParts[source.type];
      }
      EXPECT_NE(reason, "") << place("operator", *graph, op.index, name) << "has the origin and does not change";
      ++counts.exempt[reason];
    }
}

/// Of what is perturbed little tells which operators there are.
void expectFewRecognised(const Counts &counts) {
  EXPECT_GT(counts.recognised, 0u);
  EXPECT_LE(counts.recognised, counts.perturbations / 10);
}

/// Of the rows that name what was perturbed nearly all have to change, whatever the reasons of the others.
void expectPrecise(const Counts &counts, unsigned percent = 98) {
  EXPECT_GT(counts.named, 0u);
  EXPECT_GE(counts.moved, counts.named * percent / 100);
}

Counts study(llvm::ArrayRef<Sample> samples, size_t limit) {
  Counts counts;
  for (const Sample &sample : samples)
    Study(sample, counts).run(limit);
  return counts;
}

/// What excuses a row that does not change, and what needs its twin to be perturbed too.
TEST(Taint, Reasons) {
  const char *text = R"(origo 1
model circle
subgraph @main(%x: f32[1,2], %z: f32[1,2]) -> (%y, %w, %v, %u, %t) {
  ; The bias is zero and stays zero.
  %k: f32[2,2] = const [2, 3, 4, 5]
  %zero: f32[2] = const [0, 0]
  %two: f32[2] = const [2, 3]
  %a: f32[1,2] = FULLY_CONNECTED(%x, %k, %zero)
  %y: f32[1,2] = MUL(%a, %two)

  ; The SUB turns the filter's sign, its constant has no part in that and the filter does not name it.
  %l: f32[2,2] = const [2, 3, 4, 5]
  %b: f32[1,2] = FULLY_CONNECTED(%z, %l)
  %c: f32[2] = const [7, 8]
  %w: f32[1,2] = SUB(%c, %b)

  ; Casting drops what was changed.
  %f: f32[2] = const [3.5, 4.5]
  %i: i32[2] = CAST(%f)
  %j: i32[1,2] = CAST(%x)
  %v: i32[1,2] = MUL(%j, %i)

  ; No excuse, but merged only as long as the two constants are equal.
  %m: f32[2] = const [9, 10]
  %n: f32[2] = const [9, 10]
  %d: f32[1,2] = POW(%x, %m)
  %e: f32[1,2] = POW(%x, %n)
  %u: f32[1,2] = DIV(%d, %e)

  ; Only with one half and 0.0447 is it a GELU.
  %half: f32[] = const [0.5]
  %cubic: f32[] = const [0.044715]
  %root: f32[] = const [0.7978845608]
  %one: f32[] = const [1]
  %x2: f32[1,2] = MUL(%x, %x)
  %x3: f32[1,2] = MUL(%x2, %x)
  %g0: f32[1,2] = MUL(%x3, %cubic)
  %g1: f32[1,2] = ADD(%x, %g0)
  %g2: f32[1,2] = MUL(%g1, %root)
  %g3: f32[1,2] = TANH(%g2)
  %g4: f32[1,2] = ADD(%g3, %one)
  %g5: f32[1,2] = MUL(%x, %half)
  %t: f32[1,2] = MUL(%g5, %g4)
}
)";
  Scratch scratch;
  Sample sample{"reasons", scratch.at("reasons.circle")};
  ASSERT_TRUE(writeAsFile(text, ".", sample.path));
  Counts counts = study(sample, ~size_t(0));
  EXPECT_EQ(counts.perturbations, 7u);
  EXPECT_EQ(counts.twins, 2u + 3u) << "what a GELU is recognised by is tried with its twins too";
  EXPECT_EQ(counts.recognised, 3u) << "the GELU's numbers";
  EXPECT_EQ(counts.exempt["value-cancelled"], 1u) << "the bias";
  EXPECT_EQ(counts.exempt["only-the-operator-is-named"], 0u) << "the filter of the second layer";
  EXPECT_EQ(counts.exempt["integer-constant"], 1u);
  EXPECT_EQ(counts.named, counts.moved + 2);
}

TEST(Taint, Samples) {
  Scratch scratch;
  Counts counts = study(ownSamples(scratch), thorough() ? ~size_t(0) : 40);
  counts.print("samples");
  EXPECT_GE(counts.recognised, 1u);
  EXPECT_LE(counts.recognised, counts.perturbations / 10);
  expectPrecise(counts);
  expectFewRecognised(counts);
  EXPECT_GE(counts.models, 35u);
  EXPECT_GE(counts.perturbations, 200u);
  EXPECT_GE(counts.computed, 200u) << "too few perturbations reached a constant that a rewrite has computed";
}

/// Each case of tests/golden with the passes that it is about.
TEST(Taint, GoldenCases) {
  Scratch scratch;
  Counts counts;
  for (const std::string &name : goldenFiles()) {
    auto buffer = llvm::MemoryBuffer::getFile(goldenFolder() + "/" + name + ".txt");
    ASSERT_TRUE(bool(buffer)) << name;
    for (auto [i, item] : llvm::enumerate(readCases((*buffer)->getBuffer()))) {
      // How far channels go in records follows from all that is before them, as ranges do, and is nothing that has an
      // origin.
      if (llvm::StringRef(item.run).contains("--smooth") || llvm::StringRef(item.run).contains("--absorb"))
        continue;
      // What pairs are read for are scales of tensors, not constants.
      if (llvm::StringRef(item.run).contains("--onnx"))
        continue;
      Sample sample{name + ".txt case " + std::to_string(i + 1), scratch.at("golden.model")};
      llvm::Expected<Pipeline> pipeline = pipelineOf(item);
      if (!pipeline) {
        ADD_FAILURE() << sample.name << ": " << llvm::toString(pipeline.takeError());
        continue;
      }
      // What codes are of is told by a copy of the weights, which is no operand of what they are used for.
      if (llvm::any_of(pipeline->entries, [](const Pipeline::Entry &entry) { return entry.pass->usesCodes; }))
        continue;
      if (writeAsFile(item.input, goldenFolder(), sample.path))
        Study(sample, counts, *pipeline).run(~size_t(0));
    }
  }
  counts.print("golden cases");
  // An LSTM has weights for each gate, and those of one do not touch what the others became.
  unsigned gates = counts.otherParts["UNIDIRECTIONAL_SEQUENCE_LSTM"];
  EXPECT_NE(gates, 0u);
  // So has the sum of the two convolutions that one becomes, the sum and the product in front of a padded one, the
  // parts of a product by slices of its weights, and a summand of one part of a split sum, which only the parts have
  // for what it was behind.
  EXPECT_LE(counts.exempt["another-part"], gates + 36) << "operators that become several of which one has the constant";
  counts.named -= gates;
  expectPrecise(counts, 96); // many are about zeros and ones
  EXPECT_EQ(counts.exempt.size(), 4u);
  EXPECT_NE(counts.exempt["not-needed"], 0u);
  EXPECT_NE(counts.exempt["value-cancelled"], 0u);
  EXPECT_LE(counts.exempt["integer-constant"], 2u) << "numbers that round to the same integers";
  EXPECT_NE(counts.exempt["another-part"], 0u);
  EXPECT_GE(counts.models, 60u);
  EXPECT_GE(counts.perturbations, 200u);
  EXPECT_GE(counts.computed, 100u) << "too few perturbations reached a constant that a rewrite has computed";
  EXPECT_LE(counts.recognised, counts.perturbations / 10);
}

void ofNetworks(const std::vector<std::string> &paths, unsigned leastModels, unsigned leastPerturbations,
                unsigned percent) {
  Counts counts = study(samplesOf(paths), thorough() ? ~size_t(0) : 40);
  counts.print("networks");
  EXPECT_LE(counts.recognised, 30u);
  expectPrecise(counts, percent);
  expectFewRecognised(counts);
  EXPECT_GE(counts.models, leastModels);
  EXPECT_GE(counts.perturbations, leastPerturbations);
  EXPECT_GE(counts.computed, 130u) << "too few perturbations reached a constant that a rewrite has computed";
}

/// The cases of tests/golden have a test of their own.
TEST(Taint, Networks) { ofNetworks(ownNetworks().networks(), 50, 550, 98); }
// A filter that joined convolutions share names each of them, though one of them alone may have been perturbed.
TEST(TaintPublicModels, Networks) { ofNetworks(publicModels().all(), 150, 800, 93); }

} // namespace
