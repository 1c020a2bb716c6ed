#include "origin/codec/Columns.h"
#include "origin/codec/Embedded.h"
#include "origin/codec/LaterSteps.h"
#include "origin/origin_reader.h"
#include "schema/origin_map_generated.h"

#include "llvm/ADT/STLExtras.h"

#include <bit>
#include <cstdlib>
#include <memory>

using namespace origo;
using namespace origo::origin;
using llvm::ArrayRef;
using llvm::StringRef;

// The order of fields in the columns is written down in schema/origin_map.fbs.

namespace {

/// What is read is charged by what it takes in memory. Maps that are not made up stay far below this limit: they need
/// some 40 bytes for each of their own, and what they say of the target cannot be more than the target has.
uint64_t memoryLimit(uint64_t mapBytes, const Listing &model) {
  return (64 << 20) + 64 * mapBytes + 1024 * uint64_t(model.operatorCount()) + 512 * uint64_t(model.tensorCount());
}

class Decoder {
public:
  Decoder(const embedded::OriginMap &from, ReadState &state, Listing &model) : from(from), state(state), model(model) {}

  /// The columns that the others refer to come first. Says what is wrong in one line; empty: nothing.
  std::string run() {
    readStrings();
    readPassLists();
    readStepLists();
    readCauses();
    map.generator = copy(view(from.generator()));
    map.retrained = from.retrained();
    map.source.namesKnown = from.names();
    file(from.source(), map.source.file, map.source.format, map.source.fingerprint, &map.source.content);
    std::string none;
    file(from.target(), none, none, map.target.fingerprint, &map.target.content);
    if (from.target()) {
      map.target.laws = from.target()->laws();
      map.target.inferred = copy(view(from.target()->inferred()));
      map.target.proof = copy(view(from.target()->proof()));
    }
    map.target.format = model.format;
    if (from.chain() && !state.failed)
      for (const embedded::File *entry : *from.chain()) {
        if (!state.charge(sizeof(ChainEntry)))
          break;
        ChainEntry &item = map.chain.emplace_back();
        file(entry, item.file, item.format, item.fingerprint, nullptr);
        item.laws = entry->laws();
        item.inferred = copy(view(entry->inferred()));
        item.proof = copy(view(entry->proof()));
      }
    source();
    signatures();
    if (!targetSizesFit())
      return "the origin map does not belong to this model: it lists other numbers of operators or tensors";
    if (map.source.namesKnown) {
      sourceNames();
      layers();
      lines();
      if (from.lines_from())
        map.source.linesFrom = from.lines_from()->str();
    }
    target();
    ledger();
    unneeded();
    lineages();
    cancelledWith();
    ledTo();
    movedPast();
    inexact();
    expressions();
    bound();
    assumptions();
    return state.failed ? "damaged origin map" : "";
  }

  OriginMap map;

private:
  const embedded::OriginMap &from;
  ReadState &state;
  Listing &model; ///< of the target; its texts are moved into the map
  std::vector<Word> strings{Word()};
  std::vector<std::vector<uint32_t>> passLists;
  struct StepList {
    MapSteps steps;
    uint64_t bytes = 0;
    bool hasConstants = false; ///< told by how far they are from the tensor: another list for each
  };
  std::vector<StepList> stepLists;
  std::vector<MapLedgerRow> causes;

  MapSteps stepsOf(const StepList &list, uint32_t tensor) {
    if (!list.hasConstants)
      return list.steps;
    if (!state.charge(list.bytes))
      return {};
    std::vector<MapStep> own = list.steps.list();
    for (MapStep &step : own)
      for (Term *term : {&step.scale, &step.shift})
        if (term->kind == Term::Constant)
          term->constant += tensor;
    return own;
  }

  ColumnReader column(const flatbuffers::Vector<uint8_t> *vector) {
    return {vector ? ArrayRef(vector->data(), vector->size()) : ArrayRef<uint8_t>(), state};
  }
  void finish(const ColumnReader &column) {
    if (!column.done())
      state.failed = true;
  }
  static StringRef view(const flatbuffers::String *string) {
    return string ? StringRef(string->c_str(), string->size()) : StringRef();
  }
  std::string copy(StringRef text) { return state.charge(text.size()) ? text.str() : std::string(); }
  Word string(uint64_t number) {
    if (number >= strings.size())
      state.failed = true;
    return state.failed ? Word() : strings[number];
  }

  void digest(const flatbuffers::Vector<uint8_t> *bytes, Digest &digest) {
    if (!bytes || bytes->size() != digest.size())
      state.failed = true;
    else
      llvm::copy(*bytes, digest.begin());
  }
  void file(const embedded::File *from, std::string &name, std::string &format, Digest &fingerprint, Digest *content) {
    if (!from) {
      state.failed = true;
      return;
    }
    name = copy(view(from->name()));
    format = copy(view(from->format()));
    digest(from->fingerprint(), fingerprint);
    if (content)
      digest(from->content(), *content);
  }

  void readStrings() {
    ColumnReader in = column(from.strings());
    for (size_t i = in.count(sizeof(StringRef)); i--;)
      strings.push_back(in.text());
    finish(in);
  }

  void readPassLists() {
    ColumnReader in = column(from.pass_lists());
    passLists.resize(in.count(sizeof(std::vector<uint32_t>)));
    for (std::vector<uint32_t> &list : passLists) {
      list.resize(in.count(sizeof(uint32_t)));
      for (uint32_t &pass : list)
        pass = in.number32();
    }
    finish(in);
  }

  void readStepLists() {
    ColumnReader in = column(from.step_lists());
    stepLists.resize(in.count(sizeof(StepList)));
    for (StepList &list : stepLists) {
      uint64_t before = state.left;
      std::vector<MapStep> steps(in.count(sizeof(MapStep)));
      for (MapStep &step : steps) {
        step = readStep(in);
        list.hasConstants |= step.scale.kind == Term::Constant || step.shift.kind == Term::Constant;
      }
      list.steps = std::move(steps);
      list.bytes = before - state.left;
    }
    finish(in);
  }

  MapStep readStep(ColumnReader &in) {
    auto numbers = [&] {
      std::vector<int64_t> result(in.count(sizeof(int64_t)));
      for (int64_t &number : result)
        number = in.difference();
      return result;
    };
    auto term = [&] {
      Term result;
      uint64_t kind = in.number();
      if (kind > Term::Constant)
        in.fail();
      result.kind = in.failed() ? Term::Null : Term::Kind(kind);
      if (result.kind == Term::Number) {
        result.number = in.real();
      } else if (result.kind == Term::Constant) {
        // Added to the index of the row that uses the list; modulo 2^32, so that it needs no check.
        result.constant = uint32_t(in.difference());
      }
      return result;
    };
    MapStep step;
    uint64_t kind = in.number();
    if (kind > MapStep::Unknown)
      in.fail();
    if (in.failed())
      return step;
    step.kind = MapStep::Kind(kind);
    switch (step.kind) {
    case MapStep::Permute:
      step.first = numbers();
      break;
    case MapStep::Slice:
    case MapStep::Placed:
      step.first = numbers();
      step.second = numbers();
      break;
    case MapStep::Affine: {
      int64_t axis = in.difference();
      step.axis = axis;
      if (step.axis != axis)
        in.fail();
      step.scale = term();
      step.shift = term();
      break;
    }
    case MapStep::Unknown:
      step.unknown = copy(string(in.number()));
      readLaterStep(step.unknown, step);
      break;
    default:
      break;
    }
    return step;
  }

  void readCauses() {
    ColumnReader in = column(from.causes());
    causes.resize(in.count(sizeof(MapLedgerRow)));
    for (MapLedgerRow &cause : causes) {
      cause.fate = string(in.number());
      cause.was = string(in.number());
      cause.pass = string(in.number());
      cause.run = in.number32();
      cause.partFile = string(in.number());
      cause.partFingerprint = string(in.number());
    }
    finish(in);
  }

  /// An id of a source tensor, or −1.
  static int32_t optionalId(ColumnReader &in, uint32_t &next) {
    int64_t id = in.difference();
    if (id < -1 - int64_t(next) || id > std::numeric_limits<int32_t>::max() - int64_t(next)) {
      in.fail();
      return -1;
    }
    id += next;
    if (id >= 0)
      next = uint32_t(id) + 1;
    return id;
  }

  void source() {
    ColumnReader graphs = column(from.source_subgraphs());
    ColumnReader operators = column(from.source_operators());
    ColumnReader tensors = column(from.source_tensors());
    uint32_t next = 0;
    for (size_t i = graphs.count(sizeof(SourceSubgraph)); i--;) {
      SourceSubgraph graph;
      graph.firstOperator = map.source.operatorCount();
      graph.firstTensor = map.source.tensorCount();
      graph.name = copy(graphs.text());
      uint64_t operatorCount = graphs.number(), tensorCount = graphs.number();
      if (operatorCount > operators.remaining() || tensorCount > tensors.remaining() ||
          !state.charge(operatorCount * sizeof(SourceOperator) + tensorCount * sizeof(SourceTensor))) {
        state.failed = true;
        return;
      }
      graph.operators.resize(operatorCount);
      for (SourceOperator &op : graph.operators) {
        op.op = string(operators.number());
        op.customCode = string(operators.number());
        op.tensors.resize(operators.count(sizeof(int32_t)));
        for (int32_t &tensor : op.tensors)
          tensor = optionalId(operators, next);
      }
      graph.tensors.resize(tensorCount);
      for (SourceTensor &tensor : graph.tensors) {
        uint8_t kind = tensors.byte();
        if (kind > uint8_t(TensorKind::Absent))
          state.failed = true;
        else
          tensor.kind = TensorKind(kind);
      }
      map.source.subgraphs.push_back(std::move(graph));
    }
    finish(graphs);
    finish(operators);
    finish(tensors);
    sourceOperands();
    sourceCosts();
  }

  // The two columns may be missing, and then are empty.

  void sourceOperands() {
    ColumnReader in = column(from.source_operands());
    uint32_t next = 0;
    if (!in.done())
      for (SourceSubgraph &graph : map.source.subgraphs) {
        if (!state.charge(graph.operators.size() * sizeof(uint32_t)))
          return;
        for (size_t i = 0; i < graph.operators.size() && !state.failed; ++i) {
          for (size_t count = in.count(sizeof(int32_t)); count--;)
            graph.operands.push_back(optionalId(in, next));
          graph.operandEnds.push_back(graph.operands.size());
        }
      }
    finish(in);
  }

  void sourceCosts() {
    ColumnReader in = column(from.source_costs());
    if (!in.done())
      for (SourceSubgraph &graph : map.source.subgraphs) {
        if (!state.charge(graph.operators.size() * sizeof(SourceCost)))
          return;
        for (size_t i = 0; i < graph.operators.size() && !state.failed; ++i) {
          uint64_t macs = in.number(), bytes = in.number();
          graph.costs.push_back({macs - 1, bytes - 1});
        }
      }
    finish(in);
  }

  void sourceNames() {
    std::vector<StringRef> targetNames;
    for (const SourceSubgraph &graph : model.subgraphs)
      for (const SourceTensor &tensor : graph.tensors)
        targetNames.push_back(tensor.name);
    ColumnReader in = column(from.source_names());
    uint32_t next = 0;
    StringRef previous;
    for (SourceSubgraph &graph : map.source.subgraphs)
      for (SourceTensor &tensor : graph.tensors) {
        if (uint64_t k = in.number()) {
          int64_t gap = int64_t((k - 1) >> 1) ^ -int64_t((k - 1) & 1);
          if (gap < -int64_t(next) || gap >= int64_t(targetNames.size()) - int64_t(next)) {
            state.failed = true;
            return;
          }
          uint32_t number = next + gap;
          next = number + 1;
          tensor.name = copy(targetNames[number]);
        } else {
          uint64_t common = in.number();
          StringRef rest = in.text();
          if (common > previous.size() || !state.charge(common + rest.size())) {
            state.failed = true;
            return;
          }
          tensor.name = (previous.take_front(common) + rest).str();
        }
        if (state.failed)
          return;
        previous = tensor.name;
      }
    finish(in);
  }

  void layers() {
    ColumnReader in = column(from.source_layers());
    if (!in.done())
      for (SourceSubgraph &graph : map.source.subgraphs)
        for (SourceOperator &op : graph.operators) {
          uint64_t has = in.number();
          if (has > 1)
            in.fail();
          if (state.failed || !has)
            continue;
          if (!state.charge(sizeof(SourceLayer)))
            return;
          auto layer = std::make_shared<SourceLayer>();
          layer->name = copy(in.text());
          layer->scope.resize(in.count(sizeof(std::string)));
          for (std::string &one : layer->scope)
            one = copy(string(in.number()));
          layer->className = copy(string(in.number()));
          layer->note = copy(string(in.number()));
          layer->stack = static_cast<int32_t>(in.number32()) - 1;
          layer->setPath();
          if (state.charge(layer->path.size()))
            op.layer = std::move(layer);
        }
    finish(in);
  }

  void lines() {
    ColumnReader in = column(from.source_lines());
    if (in.done())
      return;
    Listing &source = map.source;
    source.files.resize(in.count(sizeof(std::string)));
    for (std::string &file : source.files)
      file = copy(in.text());
    source.frames.resize(in.count(sizeof(SourceFrame)));
    for (SourceFrame &frame : source.frames) {
      frame.file = in.number32();
      frame.line = in.number32();
      frame.function = copy(string(in.number()));
    }
    source.stacks.resize(in.count(sizeof(std::vector<uint32_t>)));
    for (std::vector<uint32_t> &stack : source.stacks) {
      stack.resize(in.count(sizeof(uint32_t)));
      for (uint32_t &frame : stack)
        frame = in.number32();
    }
    finish(in);
    if (!source.linesAreWhole())
      state.failed = true;
  }

  void signatures() {
    ColumnReader in = column(from.signatures());
    uint32_t next = 0;
    for (size_t i = in.count(sizeof(SourceSignature)); i--;) {
      SourceSignature signature;
      signature.key = copy(in.text());
      signature.subgraph = in.number32();
      for (auto *entries : {&signature.inputs, &signature.outputs}) {
        entries->resize(in.count(sizeof(SourceSignature::Entry)));
        for (SourceSignature::Entry &entry : *entries) {
          entry.name = copy(in.text());
          entry.tensor = optionalId(in, next);
        }
      }
      map.source.signatures.push_back(std::move(signature));
    }
    finish(in);
  }

  /// Reads the target's subgraphs. A map of another model may well be whole; that is told apart from a damaged one.
  bool targetSizesFit() {
    ColumnReader in = column(from.target_subgraphs());
    size_t count = in.count(sizeof(TargetSubgraph));
    bool fit = count == model.subgraphs.size();
    for (size_t i = 0; i < count && !state.failed; ++i) {
      TargetSubgraph graph;
      graph.source = in.idsFrom(0);
      uint64_t operators = in.number(), tensors = in.number();
      fit = fit && operators == model.subgraphs[i].operators.size() && tensors == model.subgraphs[i].tensors.size();
      map.target.subgraphs.push_back(std::move(graph));
    }
    finish(in);
    return fit || state.failed;
  }

  void target() {
    if (state.failed)
      return;
    ColumnReader operators = column(from.target_operators()), tensors = column(from.target_tensors());
    uint32_t nextOperator = 0, nextTensor = 0;
    for (auto [graph, listed] : llvm::zip_equal(map.target.subgraphs, model.subgraphs)) {
      graph.name = std::move(listed.name);
      if (!state.charge(listed.operators.size() * sizeof(OperatorRow) + listed.tensors.size() * sizeof(TensorRow)))
        return;
      graph.operators.resize(listed.operators.size());
      for (auto [row, op] : llvm::zip_equal(graph.operators, listed.operators)) {
        for (int32_t tensor : op.tensors) {
          StringRef name = tensor < 0 ? StringRef() : listed.tensors[tensor - listed.firstTensor].name;
          row.outputs.push_back(state.charge(sizeof(std::string)) ? copy(name) : std::string());
        }
        row.op = op.op;
        row.customCode = op.customCode;
        operatorRow(row, operators, nextOperator);
        if (state.failed)
          return;
      }
      graph.tensors.resize(listed.tensors.size());
      for (auto [index, row, tensor] : llvm::enumerate(graph.tensors, listed.tensors)) {
        row.index = index;
        row.name = std::move(tensor.name);
        row.constant = tensor.kind == TensorKind::Constant;
        tensorRow(row, tensors, nextTensor);
        if (state.failed)
          return;
      }
    }
    finish(operators);
    finish(tensors);
  }

  void operatorRow(OperatorRow &row, ColumnReader &in, uint32_t &next) {
    uint64_t head = in.number(), passes = in.number();
    if (head > 3 || passes >= passLists.size()) {
      state.failed = true;
      return;
    }
    for (uint32_t pass : passLists[passes])
      row.passes.push_back(state.charge(sizeof(Word)) ? string(pass) : Word());
    row.origins = in.ids(next);
    if (head & 1) {
      row.syntheticReason = string(in.number());
      row.serves = in.idsFrom(next);
    }
    if (head & 2) {
      row.wide = string(in.number());
      row.calls = in.idsFrom(0);
    }
  }

  void tensorRow(TensorRow &row, ColumnReader &in, uint32_t &next) {
    uint64_t head = in.number();
    if (head > 31) {
      state.failed = true;
      return;
    }
    if (unsigned form = head & 3; form == 3) {
      row.relations.resize(in.count(sizeof(MapRelation)));
      for (MapRelation &relation : row.relations) {
        uint64_t list = in.number();
        relation.exact = list & 1;
        list >>= 1;
        relation.tensor = in.id(next);
        if (list >= stepLists.size()) {
          state.failed = true;
          return;
        }
        relation.steps = stepsOf(stepLists[list], row.index);
      }
    } else if (form && state.charge(sizeof(MapRelation))) {
      row.relations.resize(1);
      row.relations.front().exact = form == 2;
      row.relations.front().tensor = in.id(next);
    }
    if (head & 4)
      row.reason = string(in.number());
    if (head & 8) {
      row.tensors = in.ids(next);
      row.operators = in.idsFrom(0);
    } else if (row.constant && !row.relations.empty() && state.charge(sizeof(uint32_t))) {
      row.tensors.push_back(row.relations.front().tensor);
    }
    if (head & 16)
      row.syntheticReason = string(in.number());
  }

  static std::pair<uint32_t, uint32_t> pair(ColumnReader &in, uint32_t &lastIndex) {
    uint32_t graph = in.number32(), index = in.id(lastIndex);
    lastIndex = index;
    return {graph, index};
  }

  void ledTo() {
    ColumnReader in = column(from.led_to());
    uint32_t next = 0, lastIndex = 0;
    for (uint64_t count = in.done() ? 0 : in.number(); count-- && !state.failed;) {
      uint32_t number = in.id(next);
      MapLedgerRow::Places places;
      for (auto *list : {&places.operators, &places.tensors}) {
        list->resize(in.count(sizeof(std::pair<uint32_t, uint32_t>)));
        for (auto &place : *list)
          place = pair(in, lastIndex);
      }
      if (number >= map.ledger.size())
        state.failed = true;
      else
        map.ledger[number].ledTo = std::move(places);
    }
    finish(in);
  }

  void ledger() {
    ColumnReader in = column(from.ledger());
    uint32_t lastIndex = 0;
    for (bool ofTensors : {false, true}) {
      size_t count = in.count(sizeof(MapLedgerRow));
      uint32_t next = 0, lastRewrite = 0;
      while (count-- && !state.failed) {
        MapLedgerRow &row = map.ledger.emplace_back();
        uint64_t form = in.number(), cause = in.number();
        if (form > 3 || cause >= causes.size()) {
          state.failed = true;
          return;
        }
        row = causes[cause];
        row.isTensor = ofTensors;
        row.id = in.id(next);
        row.rewrite = in.id(lastRewrite);
        lastRewrite = row.rewrite;
        for (auto *places : {&row.operators, &row.tensors}) {
          bool isOne = form == (places == &row.operators ? 1 : 2);
          size_t size = form == 3 ? in.count(sizeof(std::pair<uint32_t, uint32_t>)) : isOne;
          for (size_t i = 0; i < size; ++i)
            places->push_back(pair(in, lastIndex));
        }
      }
    }
    finish(in);
  }

  void unneeded() {
    ColumnReader in = column(from.unneeded());
    if (in.done()) // as is one that is missing
      return;
    for (bool ofTensors : {false, true}) {
      uint32_t id = 0, nextUser = 0;
      for (size_t count = in.count(sizeof(MapUnneeded)); count-- && !state.failed;) {
        uint64_t next = uint64_t(id) + in.number32();
        if (next > std::numeric_limits<uint32_t>::max()) {
          state.failed = true;
          return;
        }
        id = uint32_t(next);
        MapUnneeded &row = map.unneeded.emplace_back();
        row.isTensor = ofTensors;
        row.id = id;
        row.user = in.id(nextUser);
        row.operand = in.number32();
        row.reason = string(in.number());
      }
    }
    finish(in);
  }

  // The two columns may be missing, and then are empty.

  static std::vector<uint32_t> numbers(ColumnReader &in) {
    std::vector<uint32_t> list(in.count(sizeof(uint32_t)));
    for (uint32_t &number : list)
      number = in.number32();
    return list;
  }

  /// The rows of all subgraphs of the target, by their running number.
  template <class Row> std::vector<Row *> all(std::vector<Row> TargetSubgraph::*rows) {
    std::vector<Row *> all;
    for (TargetSubgraph &graph : map.target.subgraphs)
      for (Row &row : graph.*rows)
        all.push_back(&row);
    return all;
  }

  void lineages() {
    ColumnReader in = column(from.lineages());
    if (in.done())
      return;
    auto operators = all(&TargetSubgraph::operators);
    auto tensors = all(&TargetSubgraph::tensors);
    uint32_t next = 0;
    for (size_t count = in.count(1); count-- && !state.failed;) {
      uint32_t number = in.id(next);
      std::vector<MapLineage> list(in.count(sizeof(MapLineage)));
      for (MapLineage &lineage : list) {
        lineage.operators = in.idsFrom(0);
        lineage.operands = numbers(in);
      }
      if (number >= operators.size())
        state.failed = true;
      else
        operators[number]->lineages = std::move(list);
    }
    next = 0;
    for (size_t count = in.count(1); count-- && !state.failed;) {
      uint32_t number = in.id(next);
      std::vector<MapLineage> list(in.count(sizeof(MapLineage)));
      for (MapLineage &lineage : list) {
        lineage.tensors = in.idsFrom(0);
        lineage.operators = in.idsFrom(0);
      }
      std::vector<uint32_t> relations = numbers(in);
      if (number >= tensors.size() || relations.size() != tensors[number]->relations.size()) {
        state.failed = true;
        return;
      }
      tensors[number]->lineages = std::move(list);
      for (auto [relation, lineage] : llvm::zip_equal(tensors[number]->relations, relations))
        relation.lineage = lineage;
    }
    finish(in);
  }

  void movedPast() {
    ColumnReader in = column(from.moved_past());
    if (in.done())
      return;
    auto operators = all(&TargetSubgraph::operators);
    uint32_t next = 0;
    for (size_t count = in.count(1); count-- && !state.failed;) {
      uint32_t number = in.id(next);
      std::vector<uint32_t> ids = in.idsFrom(0);
      if (number >= operators.size())
        state.failed = true;
      else
        operators[number]->movedPast = std::move(ids);
    }
    finish(in);
  }

  /// Sets the member of the rows that the column numbers.
  template <class Row> void mark(ColumnReader &in, bool Row::*member, ArrayRef<Row *> rows) {
    uint32_t next = 0;
    for (uint64_t count = in.number(); count-- && !state.failed;) {
      uint32_t number = in.id(next);
      if (number >= rows.size())
        state.failed = true;
      else
        rows[number]->*member = true;
    }
  }

  void inexact() {
    ColumnReader in = column(from.inexact());
    if (in.done())
      return;
    auto operators = all(&TargetSubgraph::operators);
    auto tensors = all(&TargetSubgraph::tensors);
    std::vector<MapRelation *> relations;
    for (TensorRow *row : tensors)
      for (MapRelation &relation : row->relations)
        relations.push_back(&relation);
    mark<OperatorRow>(in, &OperatorRow::inexact, operators);
    mark<TensorRow>(in, &TensorRow::inexact, tensors);
    mark<MapRelation>(in, &MapRelation::inherited, relations);
    finish(in);
  }

  void expressions() {
    ColumnReader in = column(from.expressions());
    if (in.done())
      return;
    auto tensors = all(&TargetSubgraph::tensors);
    uint32_t next = 0;
    for (size_t count = in.count(1); count-- && !state.failed;) {
      uint32_t number = in.id(next);
      std::string text = copy(in.text());
      if (number >= tensors.size())
        state.failed = true;
      else
        tensors[number]->expression = std::move(text);
    }
    finish(in);
  }

  void bound() {
    ColumnReader in = column(from.bound());
    uint32_t next = 0;
    if (!in.done())
      map.source.bound.resize(in.count(sizeof(BoundInput)));
    for (BoundInput &input : map.source.bound) {
      input.tensor = in.id(next);
      for (uint8_t &byte : input.bytes)
        byte = in.byte();
    }
    finish(in);
  }

  void assumptions() {
    ColumnReader in = column(from.assumptions());
    if (in.done())
      return;
    for (size_t count = in.count(sizeof(MapAssumption)); count-- && !state.failed;) {
      MapAssumption &one = map.assumptions.emplace_back();
      for (double *number : {&one.number, &one.numerator, &one.denominator})
        *number = in.real();
      one.pass = string(in.number());
      state.failed |= !isSound(one);
    }
    finish(in);
  }

  void cancelledWith() {
    ColumnReader in = column(from.cancelled_with());
    uint32_t next = 0;
    auto row = map.ledger.begin();
    if (!in.done())
      for (size_t count = in.count(1); count-- && !state.failed;) {
        uint32_t id = in.id(next);
        std::vector<uint32_t> with = in.idsFrom(0);
        row = std::find_if(row, map.ledger.end(),
                           [&](const MapLedgerRow &other) { return other.id == id || other.isTensor; });
        if (row == map.ledger.end() || row->isTensor)
          state.failed = true;
        else
          (row++)->with = std::move(with);
      }
    finish(in);
  }
};

} // namespace

/// The bytes where a flatbuffer may lie, for those of a model may lie at any address; a copy is kept in `aligned`.
static ArrayRef<uint8_t> alignedBytes(ArrayRef<uint8_t> bytes, std::vector<uint64_t> &aligned) {
  if (reinterpret_cast<uintptr_t>(bytes.data()) % alignof(uint64_t) == 0)
    return bytes;
  aligned.resize((bytes.size() + 7) / 8);
  std::memcpy(aligned.data(), bytes.data(), bytes.size());
  return ArrayRef(reinterpret_cast<const uint8_t *>(aligned.data()), bytes.size());
}

/// Null: it is damaged.
static const embedded::OriginMap *verified(ArrayRef<uint8_t> bytes) {
  if (bytes.size() < 8 || bytes.size() >= FLATBUFFERS_MAX_BUFFER_SIZE)
    return nullptr;
  flatbuffers::Verifier verifier(bytes.data(), bytes.size());
  return embedded::VerifyOriginMapBuffer(verifier) ? embedded::GetOriginMap(bytes.data()) : nullptr;
}

llvm::Expected<OriginMap> origin::decode(ArrayRef<uint8_t> bytes, const ModelView &model) {
  std::vector<uint64_t> aligned;
  bytes = alignedBytes(bytes, aligned);
  auto damaged = [](const llvm::Twine &message) { return llvm::createStringError(message); };
  const embedded::OriginMap *from = verified(bytes);
  if (!from)
    return damaged("damaged origin map");
  if (from->version() != embeddedVersion)
    return damaged("the origin map has version " + llvm::Twine(from->version()) + ", this program reads version " +
                   llvm::Twine(embeddedVersion) + " and, deflated, " + llvm::Twine(deflatedVersion));
  Listing listing = list(model);
  ReadState state{memoryLimit(bytes.size(), listing)};
  Decoder decoder(*from, state, listing);
  if (std::string problem = decoder.run(); !problem.empty())
    return damaged(problem);
  return std::move(decoder.map);
}

/// Is this no map, but the word that it is in the other entry?
static bool isElsewhere(ArrayRef<uint8_t> bytes) {
  std::vector<uint64_t> aligned;
  const embedded::OriginMap *from = verified(alignedBytes(bytes, aligned));
  return from && from->version() == deflatedVersion;
}

llvm::Expected<std::optional<OriginMap>> origin::decode(MetadataEntries entries, uint64_t fileBytes,
                                                        const ModelView &model) {
  auto bytes = entries(metadataName);
  if (!bytes)
    return std::nullopt;
  std::unique_ptr<void, void (*)(void *)> inflated(nullptr, std::free);
  if (isElsewhere(*bytes)) {
    ArrayRef<uint8_t> deflated = entries(deflatedName).value_or(ArrayRef<uint8_t>());
    void *room;
    uint64_t size;
    origo_status status = origo__inflate({deflated.data(), deflated.size()}, fileBytes, &room, &size);
    if (status != ORIGO_OK)
      return llvm::createStringError(status == ORIGO_NO_MEMORY ? origo_status_text(status) : "damaged origin map");
    inflated.reset(room);
    bytes = ArrayRef(static_cast<const uint8_t *>(room), size);
  }
  llvm::Expected<OriginMap> map = decode(*bytes, model);
  if (!map)
    return map.takeError();
  return std::move(*map);
}
