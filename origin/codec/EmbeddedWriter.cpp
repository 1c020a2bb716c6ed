#include "origin/codec/Columns.h"
#include "origin/codec/Embedded.h"
#include "origin/codec/LaterSteps.h"
#include "schema/origin_map_generated.h"

#include "llvm/ADT/STLExtras.h"

#include <bit>
#include <utility>

using namespace origo;
using namespace origo::origin;
using llvm::ArrayRef;
using llvm::StringRef;

// The order of fields in the columns is written down in schema/origin_map.fbs.

namespace {

using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

/// How many bytes of names may come out of so many bytes of front-coded ones; also a part of what the reader allows.
uint64_t namesLimit(uint64_t columnBytes) { return (16 << 20) + 8 * columnBytes; }

class Encoder {
public:
  Encoder(const MapView &view, bool names)
      : map(view.map), listing(view.source), rows(view.rows), names(names),
        sameName(names ? listing.tensorCount() : 0, unnamed) {}

  flatbuffers::DetachedBuffer run() {
    source();
    target();
    if (names) {
      sourceNames();
      layers();
    }
    signatures();
    ledger();
    unneeded();
    for (const BoundInput &input : listing.bound)
      bound.add(input.tensor).bytes.append(input.bytes.begin(), input.bytes.end());
    assumptions();

    // A builder that grows holds everything twice for a while.
    size_t size = 1 << 16;
    for (const ColumnWriter *column : {&sourceSubgraphs,
                                       &sourceOperators,
                                       &sourceTensors,
                                       &sourceNameColumn,
                                       &signatureColumn,
                                       &targetSubgraphs,
                                       &targetOperators,
                                       &targetTensors,
                                       &ledgerColumn,
                                       &sourceOperands,
                                       &sourceCosts,
                                       &unneededColumn,
                                       &layerColumn,
                                       &lineColumn,
                                       &operatorLineages.column,
                                       &tensorLineages.column,
                                       &cancelled.column,
                                       &expressions.column,
                                       &bound.column,
                                       &assumptionColumn,
                                       &moved.column,
                                       &inexactOperators.column,
                                       &inexactTensors.column,
                                       &inherited.column,
                                       &ledTo.column})
      size += column->bytes.size();
    for (const Interner *items : {&strings, &passLists, &stepLists, &causes})
      size += items->bytes();
    builder = FlatBufferBuilder(size);
    auto generator = builder.CreateString(map.generator);
    auto sourceFile = file(listing.file, listing.format, listing.fingerprint, &listing.content);
    const Target &made = map.target;
    auto targetFile = file("", "", made.fingerprint, &made.content, made.laws, made.inferred, made.proof);
    std::vector<Offset<embedded::File>> chain;
    for (const ChainEntry &entry : map.chain)
      chain.push_back(
          file(entry.file, entry.format, entry.fingerprint, nullptr, entry.laws, entry.inferred, entry.proof));
    auto chainVector = chain.empty() ? 0 : builder.CreateVector(chain);
    // They go as they are put into it.
    auto stringsVector = column(strings.takeColumn());
    auto passListsVector = column(passLists.takeColumn());
    auto stepListsVector = column(stepLists.takeColumn());
    auto causesVector = column(causes.takeColumn());
    auto sourceSubgraphsVector = column(std::exchange(sourceSubgraphs.bytes, {}));
    auto sourceOperatorsVector = column(std::exchange(sourceOperators.bytes, {}));
    auto sourceTensorsVector = column(std::exchange(sourceTensors.bytes, {}));
    auto sourceNamesVector = column(std::exchange(sourceNameColumn.bytes, {}));
    auto signaturesVector = column(std::exchange(signatureColumn.bytes, {}));
    auto targetSubgraphsVector = column(std::exchange(targetSubgraphs.bytes, {}));
    auto targetOperatorsVector = column(std::exchange(targetOperators.bytes, {}));
    auto targetTensorsVector = column(std::exchange(targetTensors.bytes, {}));
    auto ledgerVector = column(std::exchange(ledgerColumn.bytes, {}));
    auto operandsVector = columnIfAny(std::exchange(sourceOperands.bytes, {}));
    auto costsVector = columnIfAny(std::exchange(sourceCosts.bytes, {}));
    auto unneededVector = map.unneeded.empty() ? 0 : column(std::exchange(unneededColumn.bytes, {}));
    bool lineages = operatorLineages.count || tensorLineages.count;
    auto lineagesVector = lineages ? column(operatorLineages.take() + tensorLineages.take()) : 0;
    auto cancelledVector = cancelled.count ? column(cancelled.take()) : 0;
    auto layersVector = columnIfAny(std::exchange(layerColumn.bytes, {}));
    auto linesVector = columnIfAny(std::exchange(lineColumn.bytes, {}));
    auto expressionsVector = expressions.count ? column(expressions.take()) : 0;
    auto boundVector = bound.count ? column(bound.take()) : 0;
    auto assumptionsVector = columnIfAny(std::exchange(assumptionColumn.bytes, {}));
    auto movedVector = moved.count ? column(moved.take()) : 0;
    bool inexact = inexactOperators.count || inexactTensors.count || inherited.count;
    auto inexactVector = inexact ? column(inexactOperators.take() + inexactTensors.take() + inherited.take()) : 0;
    auto ledToVector = ledTo.count ? column(ledTo.take()) : 0;
    auto linesFrom = names && !listing.linesFrom.empty() ? builder.CreateString(listing.linesFrom) : 0;
    builder.Finish(embedded::CreateOriginMap(builder, embeddedVersion, generator, map.retrained, names, sourceFile,
                                             targetFile, chainVector, stringsVector, passListsVector, stepListsVector,
                                             causesVector, sourceSubgraphsVector, sourceOperatorsVector,
                                             sourceTensorsVector, sourceNamesVector, signaturesVector,
                                             targetSubgraphsVector, targetOperatorsVector, targetTensorsVector,
                                             ledgerVector, operandsVector, costsVector, unneededVector, lineagesVector,
                                             cancelledVector, layersVector, linesVector, expressionsVector, boundVector,
                                             assumptionsVector, movedVector, linesFrom, inexactVector, ledToVector),
                   embedded::OriginMapIdentifier());
    return builder.Release();
  }

private:
  static constexpr uint32_t unnamed = ~0u;

  const OriginMap &map;
  const Listing &listing;
  MapRows &rows;
  const bool names;
  std::vector<uint32_t> sameName; ///< by source tensor: the first tensor of the target that kept its name
  uint32_t written = 0;           ///< tensors of the target so far
  FlatBufferBuilder builder;
  Interner strings, passLists, stepLists, causes;
  ColumnWriter sourceSubgraphs, sourceOperators, sourceTensors, sourceNameColumn, signatureColumn;
  ColumnWriter targetSubgraphs, targetOperators, targetTensors, ledgerColumn;
  ColumnWriter sourceOperands, sourceCosts, unneededColumn, layerColumn, lineColumn, assumptionColumn;
  /// Of few of the rows.
  struct Some {
    uint64_t count = 0;
    uint32_t next = 0;
    ColumnWriter column;
    ColumnWriter &add(uint32_t number) {
      ++count;
      column.id(number, next);
      return column;
    }
    std::string take() {
      ColumnWriter head;
      head.number(count);
      return head.bytes + std::exchange(column.bytes, {});
    }
  } operatorLineages, tensorLineages, cancelled, expressions, bound, moved, inexactOperators, inexactTensors, inherited,
      ledTo;
  uint32_t writtenOperators = 0; ///< of the target so far
  uint32_t writtenRelations = 0; ///< likewise

  Offset<flatbuffers::Vector<uint8_t>> column(StringRef bytes) {
    return builder.CreateVector(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size());
  }

  Offset<flatbuffers::Vector<uint8_t>> columnIfAny(StringRef bytes) { return bytes.empty() ? 0 : column(bytes); }

  Offset<embedded::File> file(const std::string &name, const std::string &format, const Digest &fingerprint,
                              const Digest *content, uint32_t laws = 0, StringRef inferred = "", StringRef proof = "") {
    auto text = [&](StringRef text) { return text.empty() ? 0 : builder.CreateString(text.data(), text.size()); };
    auto nameString = text(name), formatString = text(format);
    auto fingerprintVector = builder.CreateVector(fingerprint.data(), fingerprint.size());
    auto contentVector = content ? builder.CreateVector(content->data(), content->size()) : 0;
    auto inferredString = text(inferred), proofString = text(proof);
    return embedded::CreateFile(builder, nameString, formatString, fingerprintVector, contentVector, laws,
                                inferredString, proofString);
  }

  uint32_t string(StringRef text) {
    if (text.empty())
      return 0;
    ColumnWriter item;
    item.text(text);
    return strings.number(item.bytes) + 1;
  }

  void source() {
    sourceSubgraphs.number(listing.subgraphs.size());
    uint32_t nextTensor = 0, nextOperand = 0;
    auto &graphs = listing.subgraphs;
    bool operands =
        llvm::all_of(graphs, [](auto &graph) { return graph.operandEnds.size() == graph.operators.size(); });
    bool costs = llvm::all_of(graphs, [](auto &graph) { return graph.costs.size() == graph.operators.size(); });
    for (const SourceSubgraph &graph : graphs) {
      sourceSubgraphs.text(names ? StringRef(graph.name) : StringRef());
      sourceSubgraphs.number(graph.operators.size());
      sourceSubgraphs.number(graph.tensors.size());
      for (const SourceOperator &op : graph.operators) {
        sourceOperators.number(string(op.op));
        sourceOperators.number(string(op.customCode));
        sourceOperators.number(op.tensors.size());
        // −1, an absent output, is not counted on from.
        for (int32_t tensor : op.tensors) {
          sourceOperators.difference(int64_t(tensor) - nextTensor);
          if (tensor >= 0)
            nextTensor = uint32_t(tensor) + 1;
        }
      }
      for (const SourceTensor &tensor : graph.tensors)
        sourceTensors.bytes.push_back(char(tensor.kind));
      for (size_t i = 0; operands && i < graph.operators.size(); ++i) {
        sourceOperands.number(graph.operandsOf(i).size());
        for (int32_t tensor : graph.operandsOf(i)) {
          sourceOperands.difference(int64_t(tensor) - nextOperand);
          if (tensor >= 0)
            nextOperand = uint32_t(tensor) + 1;
        }
      }
      for (size_t i = 0; costs && i < graph.operators.size(); ++i) {
        sourceCosts.number(graph.costs[i].macs + 1); // SourceCost::unknown becomes 0
        sourceCosts.number(graph.costs[i].bytes + 1);
      }
    }
  }

  /// Tensors that are still there have mostly kept their name, and the target's names need not be repeated.
  void sourceNames() {
    ColumnWriter &column = sourceNameColumn;
    uint32_t next = 0;
    StringRef previous;
    uint64_t total = 0;
    uint32_t i = 0;
    for (const SourceSubgraph &graph : listing.subgraphs)
      for (const SourceTensor &tensor : graph.tensors) {
        StringRef name = tensor.name;
        if (uint32_t same = sameName[i++]; same != unnamed) {
          int64_t gap = int64_t(same) - next;
          column.number(((uint64_t(gap) << 1) ^ uint64_t(gap >> 63)) + 1);
          next = same + 1;
        } else {
          size_t common =
              std::mismatch(name.begin(), name.begin() + std::min(name.size(), previous.size()), previous.begin())
                  .first -
              name.begin();
          if (total + common > namesLimit(column.bytes.size()))
            common = 0;
          column.number(0);
          column.number(common);
          column.text(name.drop_front(common));
          total += name.size();
        }
        previous = name;
      }
  }

  void layers() {
    bool any = false;
    for (const SourceSubgraph &graph : listing.subgraphs)
      for (const SourceOperator &op : graph.operators) {
        layerColumn.number(op.layer != nullptr);
        if (!op.layer)
          continue;
        any = true;
        layerColumn.text(op.layer->name);
        layerColumn.number(op.layer->scope.size());
        for (const std::string &one : op.layer->scope)
          layerColumn.number(string(one));
        layerColumn.number(string(op.layer->className));
        layerColumn.number(string(op.layer->note));
        layerColumn.number(uint32_t(op.layer->stack + 1));
      }
    if (!any)
      layerColumn.bytes.clear();
    if (listing.stacks.empty())
      return;
    lineColumn.number(listing.files.size());
    for (const std::string &file : listing.files)
      lineColumn.text(file);
    lineColumn.number(listing.frames.size());
    for (const SourceFrame &frame : listing.frames) {
      lineColumn.number(frame.file);
      lineColumn.number(frame.line);
      lineColumn.number(string(frame.function));
    }
    lineColumn.number(listing.stacks.size());
    for (const std::vector<uint32_t> &stack : listing.stacks) {
      lineColumn.number(stack.size());
      for (uint32_t frame : stack)
        lineColumn.number(frame);
    }
  }

  void signatures() {
    signatureColumn.number(listing.signatures.size());
    uint32_t next = 0;
    auto name = [&](StringRef name) { signatureColumn.text(names ? name : StringRef()); };
    for (const SourceSignature &signature : listing.signatures) {
      name(signature.key);
      signatureColumn.number(signature.subgraph);
      for (auto *entries : {&signature.inputs, &signature.outputs}) {
        signatureColumn.number(entries->size());
        for (const SourceSignature::Entry &entry : *entries) {
          name(entry.name);
          signatureColumn.difference(int64_t(entry.tensor) - next);
          if (entry.tensor >= 0)
            next = uint32_t(entry.tensor) + 1;
        }
      }
    }
  }

  void target() {
    targetSubgraphs.number(map.target.subgraphs.size());
    uint32_t nextOperator = 0, nextTensor = 0;
    for (const auto &[number, graph] : llvm::enumerate(map.target.subgraphs)) {
      targetSubgraphs.idsFrom(0, graph.source);
      targetSubgraphs.number(rows.operatorCount(number));
      targetSubgraphs.number(rows.tensorCount(number));
      for (const OperatorRow &row : rows.operators(number))
        operatorRow(row, nextOperator);
      for (const TensorRow &row : rows.tensors(number))
        tensorRow(row, nextTensor);
    }
  }

  void operatorRow(const OperatorRow &row, uint32_t &next) {
    bool synthetic = !row.syntheticReason.empty() || !row.serves.empty();
    bool extra = !row.wide.empty() || !row.calls.empty();
    targetOperators.number(unsigned(synthetic) | unsigned(extra) << 1);
    ColumnWriter passes;
    passes.number(row.passes.size());
    for (const Word &pass : row.passes)
      passes.number(string(pass));
    targetOperators.number(passLists.number(passes.bytes));
    targetOperators.ids(row.origins, next);
    if (synthetic) {
      targetOperators.number(string(row.syntheticReason));
      targetOperators.idsFrom(next, row.serves);
    }
    if (extra) {
      targetOperators.number(string(row.wide));
      targetOperators.idsFrom(0, row.calls);
    }
    uint32_t number = writtenOperators++;
    if (!row.movedPast.empty())
      moved.add(number).idsFrom(0, row.movedPast);
    if (row.inexact)
      inexactOperators.add(number);
    if (row.lineages.empty())
      return;
    ColumnWriter &column = operatorLineages.add(number);
    column.number(row.lineages.size());
    for (const MapLineage &lineage : row.lineages) {
      column.idsFrom(0, lineage.operators);
      numbers(column, lineage.operands);
    }
  }

  static void numbers(ColumnWriter &column, ArrayRef<uint32_t> list) {
    column.number(list.size());
    for (uint32_t number : list)
      column.number(number);
  }

  uint32_t stepList(ArrayRef<MapStep> steps, uint32_t row) {
    ColumnWriter list;
    auto numbers = [&](ArrayRef<int64_t> values) {
      list.number(values.size());
      for (int64_t value : values)
        list.difference(value);
    };
    auto term = [&](const Term &term) {
      list.number(term.kind);
      if (term.kind == Term::Number) {
        list.real(term.number);
      } else if (term.kind == Term::Constant) {
        list.difference(int32_t(term.constant - row));
      }
    };
    list.number(steps.size());
    for (const MapStep &step : steps) {
      bool asText = isLaterStep(step);
      list.number(asText ? MapStep::Unknown : step.kind);
      if (asText) {
        list.number(string(laterStepText(step)));
        continue;
      }
      switch (step.kind) {
      case MapStep::Permute:
        numbers(step.first);
        break;
      case MapStep::Slice:
      case MapStep::Placed:
        numbers(step.first);
        numbers(step.second);
        break;
      case MapStep::Affine:
        list.difference(step.axis);
        term(step.scale);
        term(step.shift);
        break;
      case MapStep::Unknown:
        list.number(string(step.unknown));
        break;
      default:
        break;
      }
    }
    return stepLists.number(list.bytes);
  }

  void tensorRow(const TensorRow &row, uint32_t &next) {
    uint32_t number = written++;
    if (!row.expression.empty())
      expressions.add(number).text(row.expression);
    if (row.inexact)
      inexactTensors.add(number);
    for (const MapRelation &relation : row.relations) {
      if (relation.inherited)
        inherited.add(writtenRelations);
      ++writtenRelations;
    }
    if (!row.relations.empty() && row.relations.front().tensor < sameName.size())
      if (uint32_t related = row.relations.front().tensor;
          sameName[related] == unnamed && listing.findTensor(related)->name == row.name)
        sameName[related] = number;
    std::vector<uint32_t> usual;
    if (row.constant && !row.relations.empty())
      usual.push_back(row.relations.front().tensor);
    bool one = row.relations.size() == 1 && row.relations.front().steps.empty();
    unsigned form = row.relations.empty() ? 0 : !one ? 3 : row.relations.front().exact ? 2 : 1;
    bool behind = row.tensors != usual || !row.operators.empty();
    targetTensors.number(form | unsigned(!row.reason.empty()) << 2 | unsigned(behind) << 3 |
                         unsigned(!row.syntheticReason.empty()) << 4);
    if (form == 3) {
      targetTensors.number(row.relations.size());
      for (const MapRelation &relation : row.relations) {
        targetTensors.number(uint64_t(stepList(relation.steps.list(), row.index)) << 1 | unsigned(relation.exact));
        targetTensors.id(relation.tensor, next);
      }
    } else if (form) {
      targetTensors.id(row.relations.front().tensor, next);
    }
    if (!row.reason.empty())
      targetTensors.number(string(row.reason));
    if (behind) {
      targetTensors.ids(row.tensors, next);
      targetTensors.idsFrom(0, row.operators);
    }
    if (!row.syntheticReason.empty())
      targetTensors.number(string(row.syntheticReason));
    bool told = llvm::any_of(row.relations, [](const MapRelation &relation) { return relation.lineage != 0; });
    if (row.lineages.empty() && !told)
      return;
    ColumnWriter &column = tensorLineages.add(number);
    column.number(row.lineages.size());
    for (const MapLineage &lineage : row.lineages) {
      column.idsFrom(0, lineage.tensors);
      column.idsFrom(0, lineage.operators);
    }
    column.number(row.relations.size());
    for (const MapRelation &relation : row.relations)
      column.number(relation.lineage);
  }

  uint32_t cause(const MapLedgerRow &row) {
    ColumnWriter item;
    item.number(string(row.fate));
    item.number(string(row.was));
    item.number(string(row.pass));
    item.number(row.run);
    item.number(string(row.partFile));
    item.number(string(row.partFingerprint));
    return causes.number(item.bytes);
  }

  void ledger() {
    struct {
      size_t count = 0;
      uint32_t next = 0;
      int64_t lastRewrite = 0;
      ColumnWriter column;
    } kinds[2];
    int64_t lastIndex = 0, lastLed = 0;
    uint32_t number = 0;
    auto pairs = [](ColumnWriter &column, ArrayRef<std::pair<uint32_t, uint32_t>> places, int64_t &lastIndex) {
      for (auto [graph, index] : places) {
        column.number(graph);
        column.difference(int64_t(index) - lastIndex);
        lastIndex = index;
      }
    };
    rows.ledger([&](const MapLedgerRow &row) {
      assert((row.isTensor || !kinds[1].count) && "operators come first");
      auto &[count, next, lastRewrite, column] = kinds[row.isTensor];
      size_t operators = row.operators.size(), tensors = row.tensors.size();
      unsigned form = operators + tensors > 1 ? 3 : operators ? 1 : tensors ? 2 : 0;
      ++count;
      column.number(form);
      column.number(cause(row));
      column.id(row.id, next);
      column.difference(int64_t(row.rewrite) - lastRewrite);
      lastRewrite = row.rewrite;
      if (!row.isTensor && !row.with.empty())
        cancelled.add(row.id).idsFrom(0, row.with);
      for (auto *places : {&row.operators, &row.tensors}) {
        if (form == 3)
          column.number(places->size());
        pairs(column, *places, lastIndex);
      }
      if (row.ledTo) {
        ColumnWriter &led = ledTo.add(number);
        for (auto *places : {&row.ledTo->operators, &row.ledTo->tensors}) {
          led.number(places->size());
          pairs(led, *places, lastLed);
        }
      }
      ++number;
    });
    for (auto &kind : kinds) {
      ledgerColumn.number(kind.count);
      ledgerColumn.bytes += std::exchange(kind.column.bytes, {});
    }
  }

  void assumptions() {
    if (map.assumptions.empty())
      return;
    assumptionColumn.number(map.assumptions.size());
    for (const MapAssumption &one : map.assumptions) {
      for (double number : {one.number, one.numerator, one.denominator})
        assumptionColumn.real(number);
      assumptionColumn.number(string(one.pass));
    }
  }

  void unneeded() {
    for (bool ofTensors : {false, true}) {
      auto rows =
          llvm::make_filter_range(map.unneeded, [&](const MapUnneeded &row) { return row.isTensor == ofTensors; });
      unneededColumn.number(std::distance(rows.begin(), rows.end()));
      uint32_t last = 0, nextUser = 0;
      for (const MapUnneeded &row : rows) {
        unneededColumn.number(row.id - last);
        last = row.id;
        unneededColumn.id(row.user, nextUser);
        unneededColumn.number(row.operand);
        unneededColumn.number(string(row.reason));
      }
    }
  }
};

} // namespace

flatbuffers::DetachedBuffer origin::encode(const MapView &view, Embed embed) {
  if (embed == Embed::None)
    return {};
  return Encoder(view, embed != Embed::Ids && view.source.namesKnown).run();
}
