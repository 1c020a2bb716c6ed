#include "origin/codec/Columns.h"
#include "origin/codec/Embedded.h"
#include "schema/origin_map_generated.h"

#include "llvm/ADT/STLExtras.h"

#include <bit>

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
  Encoder(const OriginMap &map, bool names) : map(map), names(names) {}

  std::string run() {
    source();
    if (names)
      sourceNames();
    signatures();
    target();
    ledger();

    auto generator = builder.CreateString(map.generator);
    auto sourceFile = file(map.source.file, map.source.format, map.source.fingerprint, &map.source.content);
    auto targetFile = file("", "", map.target.fingerprint, &map.target.content);
    std::vector<Offset<embedded::File>> chain;
    for (const ChainEntry &entry : map.chain)
      chain.push_back(file(entry.file, entry.format, entry.fingerprint, nullptr));
    auto chainVector = chain.empty() ? 0 : builder.CreateVector(chain);
    auto stringsVector = column(strings.column());
    auto passListsVector = column(passLists.column());
    auto stepListsVector = column(stepLists.column());
    auto causesVector = column(causes.column());
    auto sourceSubgraphsVector = column(sourceSubgraphs.bytes);
    auto sourceOperatorsVector = column(sourceOperators.bytes);
    auto sourceTensorsVector = column(sourceTensors.bytes);
    auto sourceNamesVector = column(sourceNameColumn.bytes);
    auto signaturesVector = column(signatureColumn.bytes);
    auto targetSubgraphsVector = column(targetSubgraphs.bytes);
    auto targetOperatorsVector = column(targetOperators.bytes);
    auto targetTensorsVector = column(targetTensors.bytes);
    auto ledgerVector = column(ledgerColumn.bytes);
    builder.Finish(embedded::CreateOriginMap(
                       builder, embeddedVersion, generator, map.retrained, names, sourceFile, targetFile, chainVector,
                       stringsVector, passListsVector, stepListsVector, causesVector, sourceSubgraphsVector,
                       sourceOperatorsVector, sourceTensorsVector, sourceNamesVector, signaturesVector,
                       targetSubgraphsVector, targetOperatorsVector, targetTensorsVector, ledgerVector),
                   embedded::OriginMapIdentifier());
    return {reinterpret_cast<const char *>(builder.GetBufferPointer()), builder.GetSize()};
  }

private:
  const OriginMap &map;
  const bool names;
  FlatBufferBuilder builder;
  Interner strings, passLists, stepLists, causes;
  ColumnWriter sourceSubgraphs, sourceOperators, sourceTensors, sourceNameColumn, signatureColumn;
  ColumnWriter targetSubgraphs, targetOperators, targetTensors, ledgerColumn;

  Offset<flatbuffers::Vector<uint8_t>> column(StringRef bytes) {
    return builder.CreateVector(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size());
  }

  Offset<embedded::File> file(const std::string &name, const std::string &format, const Digest &fingerprint,
                              const Digest *content) {
    auto nameString = name.empty() ? 0 : builder.CreateString(name);
    auto formatString = format.empty() ? 0 : builder.CreateString(format);
    auto fingerprintVector = builder.CreateVector(fingerprint.data(), fingerprint.size());
    auto contentVector = content ? builder.CreateVector(content->data(), content->size()) : 0;
    return embedded::CreateFile(builder, nameString, formatString, fingerprintVector, contentVector);
  }

  uint32_t string(StringRef text) {
    if (text.empty())
      return 0;
    ColumnWriter item;
    item.text(text);
    return strings.number(item.bytes) + 1;
  }

  void source() {
    sourceSubgraphs.number(map.source.subgraphs.size());
    uint32_t nextTensor = 0;
    for (const SourceSubgraph &graph : map.source.subgraphs) {
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
    }
  }

  /// Tensors that are still there have mostly kept their name, and the target's names need not be repeated.
  void sourceNames() {
    uint32_t count = map.source.tensorCount();
    std::vector<uint32_t> sameName(count, ~0u);
    std::vector<const std::string *> sourceName;
    sourceName.reserve(count);
    for (const SourceSubgraph &graph : map.source.subgraphs)
      for (const SourceTensor &tensor : graph.tensors)
        sourceName.push_back(&tensor.name);
    uint32_t number = 0;
    for (const TargetSubgraph &graph : map.target.subgraphs)
      for (const TensorRow &row : graph.tensors) {
        uint32_t related = row.relations.empty() ? ~0u : row.relations.front().tensor;
        if (related < count && sameName[related] == ~0u && row.name == *sourceName[related])
          sameName[related] = number;
        ++number;
      }

    ColumnWriter &column = sourceNameColumn;
    uint32_t next = 0;
    StringRef previous;
    uint64_t total = 0;
    for (uint32_t i = 0; i < count; ++i) {
      StringRef name = *sourceName[i];
      if (sameName[i] != ~0u) {
        int64_t gap = int64_t(sameName[i]) - next;
        column.number(((uint64_t(gap) << 1) ^ uint64_t(gap >> 63)) + 1);
        next = sameName[i] + 1;
      } else {
        size_t common =
            std::mismatch(name.begin(), name.begin() + std::min(name.size(), previous.size()), previous.begin()).first -
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

  void signatures() {
    signatureColumn.number(map.source.signatures.size());
    uint32_t next = 0;
    auto name = [&](StringRef name) { signatureColumn.text(names ? name : StringRef()); };
    for (const SourceSignature &signature : map.source.signatures) {
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
    for (const TargetSubgraph &graph : map.target.subgraphs) {
      targetSubgraphs.idsFrom(0, graph.source);
      targetSubgraphs.number(graph.operators.size());
      targetSubgraphs.number(graph.tensors.size());
      for (const OperatorRow &row : graph.operators)
        operatorRow(row, nextOperator);
      for (const TensorRow &row : graph.tensors)
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
        auto bits = std::bit_cast<std::array<char, 8>>(term.number);
        list.bytes.append(bits.data(), bits.size());
      } else if (term.kind == Term::Constant) {
        list.difference(int32_t(term.constant - row));
      }
    };
    list.number(steps.size());
    for (const MapStep &step : steps) {
      list.number(step.kind);
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
        targetTensors.number(uint64_t(stepList(relation.steps, row.index)) << 1 | unsigned(relation.exact));
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
    int64_t lastIndex = 0;
    auto pair = [&](std::pair<uint32_t, uint32_t> place) {
      ledgerColumn.number(place.first);
      ledgerColumn.difference(int64_t(place.second) - lastIndex);
      lastIndex = place.second;
    };
    for (bool ofTensors : {false, true}) {
      auto rows =
          llvm::make_filter_range(map.ledger, [&](const MapLedgerRow &row) { return row.isTensor == ofTensors; });
      ledgerColumn.number(std::distance(rows.begin(), rows.end()));
      uint32_t next = 0;
      int64_t lastRewrite = 0;
      for (const MapLedgerRow &row : rows) {
        size_t operators = row.operators.size(), tensors = row.tensors.size();
        unsigned form = operators + tensors > 1 ? 3 : operators ? 1 : tensors ? 2 : 0;
        ledgerColumn.number(form);
        ledgerColumn.number(cause(row));
        ledgerColumn.id(row.id, next);
        ledgerColumn.difference(int64_t(row.rewrite) - lastRewrite);
        lastRewrite = row.rewrite;
        for (auto *places : {&row.operators, &row.tensors}) {
          if (form == 3)
            ledgerColumn.number(places->size());
          for (auto place : *places)
            pair(place);
        }
      }
    }
  }
};

} // namespace

std::string origin::encode(const OriginMap &map, Embed embed) {
  if (embed == Embed::None)
    return {};
  return Encoder(map, embed == Embed::Full && map.source.namesKnown).run();
}
