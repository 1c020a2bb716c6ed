#include "origin/codec/Embedded.h"
#include "tests/mutants/Mutants.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

using namespace origo;
using namespace origo::mutation;

static std::optional<Plan> current;
static std::array<unsigned, kinds> counts;
static std::string what;

const char *mutation::nameOf(Kind kind) {
  static constexpr const char *names[kinds] = {
      "drop-parent", "swap-parent",   "add-parent",        "drop-source",         "swap-source",
      "add-source",  "lose-row",      "wrong-fate",        "wrong-tensor",        "wrong-steps",
      "wrong-exact", "lose-relation", "count-after-visit", "first-subgraph-only", "off-by-one"};
  return names[static_cast<unsigned>(kind)];
}

void mutation::start(std::optional<Plan> plan) {
  current = plan;
  counts = {};
  what.clear();
}

const std::array<unsigned, kinds> &mutation::opportunities() { return counts; }
const std::string &mutation::done() { return what; }

uint64_t mutation::mix(uint64_t number) {
  number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9;
  number = (number ^ (number >> 27)) * 0x94d049bb133111eb;
  return number ^ (number >> 31);
}

static bool due(Kind kind) {
  unsigned event = counts[static_cast<unsigned>(kind)]++;
  return current && current->kind == kind && current->event == event;
}

/// The draw-th number of the mutant, below `end`.
static uint64_t draw(unsigned number, uint64_t end) { return mix(current->seed * 16 + number + 1) % end; }

static void say(const Model &model, const llvm::Twine &fault) {
  what = ("rewrite " + llvm::Twine(model.rewrites + 1) + ": " + fault).str();
}

static void change(Model &model, IdSet &ids, uint32_t limit, Kind drop, Kind swap, Kind add, llvm::StringRef of) {
  llvm::SmallVector<uint32_t> members = model.sets.members(ids);
  bool full = members.size() >= limit;
  bool drops = !members.empty() && due(drop), swaps = !members.empty() && !full && due(swap), adds = !full && due(add);
  if (!drops && !swaps && !adds)
    return;
  std::string fault = of.str();
  if (swaps || adds) {
    auto id = static_cast<uint32_t>(draw(0, limit));
    while (llvm::is_contained(members, id))
      id = (id + 1) % limit;
    ids = model.sets.join(ids, model.sets.single(id));
    fault += " " + std::to_string(id) + " added";
  }
  if (drops || swaps) {
    uint32_t id = members[draw(1, members.size())];
    ids = model.sets.minus(ids, model.sets.single(id));
    fault += " " + std::to_string(id) + " dropped";
  }
  say(model, fault);
}

void mutation::joined(Model &model, IdSet &origins) {
  change(model, origins, model.sourceOperators, Kind::DropParent, Kind::SwapParent, Kind::AddParent, "origin");
}

void mutation::derived(Model &model, Value &constant) {
  change(model, constant.sourceTensors, model.sourceTensors, Kind::DropSource, Kind::SwapSource, Kind::AddSource,
         "constant's tensor");
  change(model, constant.sourceOperators, model.sourceOperators, Kind::DropSource, Kind::SwapSource, Kind::AddSource,
         "constant's operator");
}

static Step wrongStep(const Value &value) {
  Step step;
  switch (draw(0, 4)) {
  case 0:
    step.kind = Step::Reshape;
    break;
  case 1:
    step.kind = Step::Affine;
    step.scale = Step::Term::of(2.0);
    break;
  case 2:
    step.kind = Step::Cast;
    break;
  default:
    step.kind = Step::Permute;
    for (int axis = value.rank(); axis-- > 0;)
      step.first.push_back(axis);
  }
  return step;
}

void mutation::related(Model &model, Value &value) {
  if (value.relations.empty())
    return;
  Relation &relation = value.relations.back();
  std::string old = "relation to tensor " + std::to_string(relation.tensor);
  if (model.sourceTensors > 1 && due(Kind::WrongTensor)) {
    auto other = static_cast<uint32_t>(draw(0, model.sourceTensors - 1));
    relation.tensor = other + (other >= relation.tensor);
    say(model, old + " is said to be to " + llvm::Twine(relation.tensor));
  }
  if (due(Kind::WrongSteps)) {
    relation.steps = relation.steps && draw(1, 2) ? 0 : model.steps.append(relation.steps, wrongStep(value));
    say(model, old + " has other steps");
  }
  if (due(Kind::WrongExact)) {
    relation.exact = !relation.exact;
    say(model, old + " is said to be " + (relation.exact ? "exact" : "inexact"));
  }
  if (due(Kind::LoseRelation)) {
    value.relations.erase(value.relations.end() - 1, value.relations.end());
    say(model, old + " is lost");
  }
}

void mutation::buried(Model &model) {
  Tombstone &stone = model.tombstones.back();
  std::string row = std::string(stone.ofTensors ? "tensor" : "operator") + " " +
                    std::to_string(model.sets.members(stone.ids).front()) + " " + fateName(stone.fate).str();
  if (due(Kind::WrongFate)) {
    unsigned last = static_cast<unsigned>(stone.ofTensors ? Fate::UnusedInSource : Fate::Elsewhere);
    auto fate = 1 + static_cast<unsigned>(draw(0, last - 1));
    stone.fate = static_cast<Fate>(fate + (fate >= static_cast<unsigned>(stone.fate)));
    say(model, row + " gets the fate " + fateName(stone.fate));
  }
  if (due(Kind::LoseRow)) {
    model.tombstones.pop_back();
    say(model, row + " is not buried");
  }
}

// The exporter. Its faults are systematic, so that an opportunity is a place in which it could have one.

namespace {

/// Calls the visitors with what the map says by number.
template <class F> void operatorIds(origin::OriginMap &map, F visit) {
  for (origin::TargetSubgraph &graph : map.target.subgraphs)
    for (origin::OperatorRow &row : graph.operators)
      for (std::vector<uint32_t> *list : {&row.origins, &row.serves, &row.calls})
        for (uint32_t &id : *list)
          visit(id);
}

template <class F> void constantOperatorIds(origin::OriginMap &map, F visit) {
  for (origin::TargetSubgraph &graph : map.target.subgraphs)
    for (origin::TensorRow &row : graph.tensors)
      for (uint32_t &id : row.operators)
        visit(id);
}

template <class F> void constantTensorIds(origin::OriginMap &map, F visit) {
  for (origin::TargetSubgraph &graph : map.target.subgraphs)
    for (origin::TensorRow &row : graph.tensors)
      for (uint32_t &id : row.tensors)
        visit(id);
}

template <class F> void relationIds(origin::OriginMap &map, F visit) {
  for (origin::TargetSubgraph &graph : map.target.subgraphs)
    for (origin::TensorRow &row : graph.tensors)
      for (origin::MapRelation &relation : row.relations)
        visit(relation.tensor);
}

template <class F> void ledgerIds(origin::OriginMap &map, bool tensors, F visit) {
  for (origin::MapLedgerRow &row : map.ledger)
    if (row.isTensor == tensors)
      visit(row.id);
}

using Place = std::pair<uint32_t, uint32_t>;
template <class F> void ledgerPlaces(origin::OriginMap &map, std::vector<Place> origin::MapLedgerRow::*list, F visit) {
  for (origin::MapLedgerRow &row : map.ledger)
    for (Place &place : row.*list)
      visit(place);
}

/// A visitor of numbers; the fault is there if it would change one.
template <class Visit, class Change> void exporterFault(Kind kind, const char *place, Visit visit, Change change) {
  bool changes = false;
  visit([&](auto &item) {
    auto copy = item;
    change(copy);
    changes |= copy != item;
  });
  if (!changes || !due(kind))
    return;
  visit(change);
  what = std::string(nameOf(kind)) + " in " + place;
}

void countAfterVisit(origin::OriginMap &map) {
  auto fault = [&](bool any, const char *place, auto clear) {
    if (!any || !due(Kind::CountAfterVisit))
      return;
    clear();
    what = std::string("no rows of ") + place;
  };
  auto graphs = [&](auto clear) {
    for (origin::TargetSubgraph &graph : map.target.subgraphs)
      clear(graph);
  };
  fault(true, "operators", [&] { graphs([](origin::TargetSubgraph &graph) { graph.operators.clear(); }); });
  fault(true, "tensors", [&] { graphs([](origin::TargetSubgraph &graph) { graph.tensors.clear(); }); });
  fault(!map.ledger.empty(), "the ledger", [&] { map.ledger.clear(); });
}

void offByOne(origin::OriginMap &map) {
  auto fault = [](const char *place, auto visit) {
    exporterFault(Kind::OffByOne, place, visit, [](uint32_t &id) { ++id; });
  };
  auto placeFault = [](const char *place, auto visit) {
    exporterFault(Kind::OffByOne, place, visit, [](Place &at) { ++at.second; });
  };
  fault("origins", [&](auto change) { operatorIds(map, change); });
  fault("the operators of constants", [&](auto change) { constantOperatorIds(map, change); });
  fault("the tensors of constants", [&](auto change) { constantTensorIds(map, change); });
  fault("relations", [&](auto change) { relationIds(map, change); });
  fault("the ledger's operators", [&](auto change) { ledgerIds(map, false, change); });
  fault("the ledger's tensors", [&](auto change) { ledgerIds(map, true, change); });
  placeFault("the operators that the ledger leads to",
             [&](auto change) { ledgerPlaces(map, &origin::MapLedgerRow::operators, change); });
  placeFault("the tensors that the ledger leads to",
             [&](auto change) { ledgerPlaces(map, &origin::MapLedgerRow::tensors, change); });
}

/// Ids begin at 0 in each subgraph, and the written file has only one.
void firstSubgraphOnly(origin::OriginMap &map) {
  auto own = [&](uint32_t id, uint32_t origin::SourceSubgraph::*first) {
    uint32_t begin = 0;
    for (const origin::SourceSubgraph &graph : map.source.subgraphs)
      if (graph.*first <= id)
        begin = graph.*first;
    return id - begin;
  };
  auto fault = [](const char *place, auto visit, auto change) {
    exporterFault(Kind::FirstSubgraphOnly, place, visit, change);
  };
  auto operatorId = [&](uint32_t &id) { id = own(id, &origin::SourceSubgraph::firstOperator); };
  auto tensorId = [&](uint32_t &id) { id = own(id, &origin::SourceSubgraph::firstTensor); };
  auto inFirst = [](Place &place) { place.first = 0; };
  fault(
      "origins", [&](auto change) { operatorIds(map, change); }, operatorId);
  fault(
      "the operators of constants", [&](auto change) { constantOperatorIds(map, change); }, operatorId);
  fault(
      "the tensors of constants", [&](auto change) { constantTensorIds(map, change); }, tensorId);
  fault(
      "relations", [&](auto change) { relationIds(map, change); }, tensorId);
  fault(
      "the ledger's operators", [&](auto change) { ledgerIds(map, false, change); }, operatorId);
  fault(
      "the ledger's tensors", [&](auto change) { ledgerIds(map, true, change); }, tensorId);
  fault(
      "the operators that the ledger leads to",
      [&](auto change) { ledgerPlaces(map, &origin::MapLedgerRow::operators, change); }, inFirst);
  fault(
      "the tensors that the ledger leads to",
      [&](auto change) { ledgerPlaces(map, &origin::MapLedgerRow::tensors, change); }, inFirst);
}

} // namespace

void mutation::exported(origin::OriginMap &map) {
  countAfterVisit(map);
  firstSubgraphOnly(map);
  offByOne(map);
}

/// The defect in which ONE's own exporter wrote an empty table for years.
void mutation::exported(origin::OneTables &tables) {
  if (!due(Kind::CountAfterVisit))
    return;
  tables.op.assign(4, '\0');
  what = "no rows of ONE_op_table";
}
