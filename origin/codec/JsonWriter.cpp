#include "origin/Fingerprint.h"
#include "origin/Utf8.h"
#include "origin/codec/Json.h"
#include "origin/codec/LaterSteps.h"

#include "nlohmann/json.hpp"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

#include <cmath>

using namespace origo;
using namespace origo::origin;
using llvm::ArrayRef;
using llvm::StringRef;

namespace {

bool isPlain(StringRef text) {
  return llvm::all_of(text, [](char c) { return c >= 0x20 && c < 0x7F && c != '"' && c != '\\'; });
}

bool isFinite(const MapRelation &relation) {
  return llvm::all_of(relation.steps, [](const MapStep &step) {
    return step.kind != MapStep::Affine || (std::isfinite(step.scale.number) && std::isfinite(step.shift.number));
  });
}

StringRef kindName(TensorKind kind) {
  switch (kind) {
  case TensorKind::Input:
    return "input";
  case TensorKind::Activation:
    return "activation";
  case TensorKind::Variable:
    return "variable";
  case TensorKind::Constant:
    return "constant";
  case TensorKind::Absent:
    return "absent";
  }
  llvm_unreachable("not a kind");
}

/// Members and rows are put together by hand, so that each row is a line and keys have the order of the documentation;
/// nlohmann does the strings and the numbers with a fraction.
class Writer {
public:
  Writer(const MapView &view, llvm::raw_ostream &os)
      : map(view.map), listing(view.source), mapRows(view.rows), os(os) {}

  void run() {
    os << "{\n  \"format\": \"origo.origin-map\", \"version\": 1, \"generator\": ";
    text(map.generator);
    os << ",\n";
    source();
    target();
    ledger();
    rows("  ", "chain", map.chain, [&](const ChainEntry &entry) {
      os << '{';
      file(entry.file, entry.format, entry.fingerprint);
      told(entry);
      os << '}';
    });
    os << ",\n";
    unneededOfLiving();
    assumptions();
    if (map.retrained)
      os << "  \"retrained\": true,\n";
    simpleMap();
    os << "\n}\n";
  }

private:
  const OriginMap &map;
  const Listing &listing;
  MapRows &mapRows;
  llvm::raw_ostream &os;

  void text(StringRef text) {
    if (isPlain(text))
      os << '"' << text << '"';
    else
      os << nlohmann::json(replaceInvalidUtf8(text)).dump();
  }
  void member(StringRef key, StringRef value) {
    os << '"' << key << "\": ";
    text(value);
  }
  void digest(StringRef key, const Digest &digest) { os << '"' << key << "\": \"sha256:" << hex(digest) << '"'; }
  void file(StringRef name, StringRef format, const Digest &fingerprint) {
    member("file", name);
    os << ", ";
    member("format", format);
    os << ", ";
    digest("fingerprint", fingerprint);
  }

  /// What the run that wrote a file has told of itself.
  template <class File> void told(const File &file) {
    if (file.laws)
      os << ", \"laws\": " << file.laws;
    for (auto [key, text] : {std::pair("inferred", &file.inferred), std::pair("proof", &file.proof)})
      if (!text->empty()) {
        os << ", ";
        member(key, *text);
      }
  }

  template <class Range, class Item> void list(Range &&range, Item item) {
    os << '[';
    llvm::interleaveComma(range, os, item);
    os << ']';
  }
  template <class Numbers> void numbers(const Numbers &numbers) {
    list(numbers, [&](auto number) { os << number; });
  }
  template <class Texts> void texts(const Texts &texts) {
    list(texts, [&](StringRef item) { text(item); });
  }

  /// A member that is an array with one line for each item. No comma and no line break behind it.
  template <class Range, class Item> void rows(StringRef indent, StringRef key, Range &&range, Item item) {
    os << indent << '"' << key << "\": [";
    bool isFirst = true;
    for (auto &&row : range) {
      os << (isFirst ? "\n" : ",\n") << indent << "  ";
      isFirst = false;
      item(row);
    }
    if (!isFirst)
      os << '\n' << indent;
    os << ']';
  }

  template <class File> void fileHead(StringRef key, const File &model, bool names = true) {
    os << "  \"" << key << "\": {\n    ";
    file(model.file, model.format, model.fingerprint);
    os << ", ";
    digest("content", model.content);
    if (!names)
      os << ", \"names\": false";
    if constexpr (requires { model.laws; })
      told(model);
    os << ",\n    \"subgraphs\": [";
  }

  void source() {
    fileHead("source", listing, listing.namesKnown);
    llvm::interleave(
        listing.subgraphs, os,
        [&](const SourceSubgraph &graph) {
          os << "{\n      ";
          member("name", graph.name);
          os << ",\n";
          uint32_t index = 0;
          rows("      ", "operators", graph.operators, [&](const SourceOperator &op) {
            os << "{\"id\": " << graph.firstOperator + index << ", \"index\": " << index << ", ";
            ++index;
            operatorName(op.op, op.customCode);
            os << ", \"outputs\": ";
            list(op.tensors, [&](int32_t id) {
              const SourceTensor *tensor = id < 0 ? nullptr : listing.findTensor(id);
              text(tensor ? StringRef(tensor->name) : StringRef());
            });
            os << ", \"tensors\": ";
            numbers(op.tensors);
            if (index <= graph.operandEnds.size()) {
              os << ", \"operands\": ";
              list(graph.operandsOf(index - 1), [&](int32_t id) { os << id; });
            }
            if (index <= graph.costs.size()) {
              cost("macs", graph.costs[index - 1].macs);
              cost("bytes", graph.costs[index - 1].bytes);
            }
            if (op.layer && listing.namesKnown)
              layer(*op.layer);
            os << '}';
          });
          os << ",\n";
          index = 0;
          rows("      ", "tensors", graph.tensors, [&](const SourceTensor &tensor) {
            os << "{\"id\": " << graph.firstTensor + index << ", \"index\": " << index << ", ";
            ++index;
            member("name", tensor.name);
            os << ", \"kind\": \"" << kindName(tensor.kind) << "\"}";
          });
          os << "\n    }";
        },
        ", ");
    os << "],\n";
    rows("    ", "signatures", listing.signatures, [&](const SourceSignature &signature) {
      os << '{';
      member("key", signature.key);
      os << ", \"subgraph\": " << signature.subgraph << ", \"inputs\": ";
      entries(signature.inputs);
      os << ", \"outputs\": ";
      entries(signature.outputs);
      os << '}';
    });
    bound();
    if (listing.namesKnown && !listing.linesFrom.empty()) {
      os << ",\n    ";
      member("lines_from", listing.linesFrom);
    }
    lines();
    os << "\n  },\n";
  }

  void layer(const SourceLayer &layer) {
    auto one = [&](StringRef key, StringRef value) {
      if (value.empty())
        return;
      os << ", ";
      member(key, value);
    };
    one("name", layer.name);
    if (!layer.scope.empty()) {
      os << ", \"scope\": ";
      texts(layer.scope);
    }
    one("class", layer.className);
    one("note", layer.note);
    if (layer.stack >= 0)
      os << ", \"lines\": " << layer.stack;
  }

  void bound() {
    if (listing.bound.empty())
      return;
    os << ",\n";
    rows("    ", "bound", listing.bound, [&](const BoundInput &input) {
      os << "{\"tensor\": " << input.tensor << ", ";
      member("sha256", hex(input.bytes));
      os << '}';
    });
  }

  void lines() {
    if (listing.stacks.empty() || !listing.namesKnown)
      return;
    os << ",\n";
    rows("    ", "files", listing.files, [&](const std::string &file) { text(file); });
    os << ",\n";
    rows("    ", "frames", listing.frames, [&](const SourceFrame &frame) {
      os << "{\"file\": " << frame.file << ", \"line\": " << frame.line << ", ";
      member("function", frame.function);
      os << '}';
    });
    os << ",\n";
    rows("    ", "stacks", listing.stacks, [&](const std::vector<uint32_t> &stack) { numbers(stack); });
  }

  void entries(ArrayRef<SourceSignature::Entry> entries) {
    list(entries, [&](const SourceSignature::Entry &entry) {
      os << '{';
      member("name", entry.name);
      os << ", \"tensor\": " << entry.tensor << '}';
    });
  }

  void cost(StringRef key, uint64_t number) {
    os << ", \"" << key << "\": ";
    if (number == SourceCost::unknown)
      os << "null";
    else
      os << number;
  }

  void operatorName(StringRef op, StringRef customCode) {
    member("op", op);
    if (op == "CUSTOM") {
      os << ", ";
      member("custom_code", customCode);
    }
  }

  void target() {
    fileHead("target", map.target);
    llvm::interleave(
        llvm::seq<size_t>(0, map.target.subgraphs.size()), os,
        [&](size_t number) {
          const TargetSubgraph &graph = map.target.subgraphs[number];
          os << "{\n      ";
          member("name", graph.name);
          os << ", \"source\": ";
          numbers(graph.source);
          os << ",\n";
          uint32_t index = 0;
          rows("      ", "operators", mapRows.operators(number),
               [&](const OperatorRow &row) { operatorRow(index++, row); });
          for (bool constants : {true, false}) {
            os << ",\n";
            auto isWanted = [&](size_t tensor) { return mapRows.isConstant(number, tensor) == constants; };
            rows("      ", constants ? "constants" : "values",
                 llvm::make_filter_range(llvm::seq<size_t>(0, mapRows.tensorCount(number)), isWanted),
                 [&](size_t tensor) { tensorRow(mapRows.tensorRow(number, tensor)); });
          }
          os << "\n    }";
        },
        ", ");
    os << "]\n  },\n";
  }

  void operatorRow(uint32_t index, const OperatorRow &row) {
    os << "{\"index\": " << index << ", ";
    operatorName(row.op, row.customCode);
    os << ", \"outputs\": ";
    texts(row.outputs);
    os << ", \"origins\": ";
    numbers(row.origins);
    os << ", \"passes\": ";
    texts(row.passes);
    if (!row.syntheticReason.empty() || !row.serves.empty()) {
      os << ", \"synthetic\": {";
      member("reason", row.syntheticReason);
      os << ", \"serves\": ";
      numbers(row.serves);
      os << '}';
    }
    if (!row.wide.empty()) {
      os << ", ";
      member("wide", row.wide);
    }
    if (!row.calls.empty()) {
      os << ", \"calls\": ";
      numbers(row.calls);
    }
    if (!row.movedPast.empty()) {
      os << ", \"movedPast\": ";
      numbers(row.movedPast);
    }
    if (row.inexact)
      os << ", \"inexact\": true";
    lineages(row.lineages, [&](const MapLineage &lineage) {
      os << "{\"origins\": ";
      numbers(lineage.operators);
      os << ", \"operands\": ";
      numbers(lineage.operands);
      os << '}';
    });
    os << '}';
  }

  template <class Item> void lineages(ArrayRef<MapLineage> lineages, Item item) {
    if (lineages.empty())
      return;
    os << ", \"lineages\": ";
    list(lineages, item);
  }

  void tensorRow(const TensorRow &row) {
    os << "{\"index\": " << row.index << ", ";
    member("name", row.name);
    if (row.constant || !row.tensors.empty() || !row.operators.empty()) {
      os << ", \"tensors\": ";
      numbers(row.tensors);
      os << ", \"operators\": ";
      numbers(row.operators);
    }
    os << ", \"relations\": ";
    auto finite = llvm::make_filter_range(row.relations, isFinite);
    list(finite, [&](const MapRelation &item) { relation(item); });
    StringRef reason = row.reason;
    if (reason.empty() && !row.relations.empty() && finite.empty())
      reason = "approximated";
    if (!reason.empty()) {
      os << ", ";
      member("reason", reason);
    }
    if (!row.expression.empty()) {
      os << ", ";
      member("expression", row.expression);
    }
    if (!row.syntheticReason.empty()) {
      os << ", \"synthetic\": {";
      member("reason", row.syntheticReason);
      os << '}';
    }
    if (row.inexact)
      os << ", \"inexact\": true";
    lineages(row.lineages, [&](const MapLineage &lineage) {
      os << "{\"tensors\": ";
      numbers(lineage.tensors);
      os << ", \"operators\": ";
      numbers(lineage.operators);
      os << '}';
    });
    os << '}';
  }

  void relation(const MapRelation &relation) {
    os << "{\"tensor\": " << relation.tensor << ", \"steps\": ";
    list(relation.steps, [&](const MapStep &item) { step(item); });
    os << ", \"exact\": " << (relation.exact ? "true" : "false");
    if (relation.inherited)
      os << ", \"inherited\": true";
    if (relation.lineage)
      os << ", \"lineage\": " << relation.lineage;
    os << '}';
  }

  void step(const MapStep &step) {
    auto part = [&](StringRef key) {
      os << "{\"" << key << "\": {\"begin\": ";
      numbers(step.first);
      os << ", \"size\": ";
      numbers(step.second);
      os << "}}";
    };
    switch (step.kind) {
    case MapStep::Permute:
      os << "{\"permute\": ";
      numbers(step.first);
      os << '}';
      return;
    case MapStep::Reshape:
      os << "{\"reshape\": true}";
      return;
    case MapStep::Slice:
      return part("slice");
    case MapStep::Placed:
      return part("placed");
    case MapStep::Cast:
      os << "{\"cast\": true}";
      return;
    case MapStep::Affine:
      os << (step.bySource() ? "{\"affine-by-source\"" : "{\"affine\"") << ": {\"axis\": " << step.axis
         << ", \"scale\": ";
      term(step.scale);
      os << ", \"shift\": ";
      term(step.shift);
      os << "}}";
      return;
    case MapStep::Quantize:
      os << "{\"quantize\": true}";
      return;
    case MapStep::Scaled:
      os << laterStepText(step);
      return;
    case MapStep::Unknown:
      // Kept as it was read. Text from an embedded map could be anything.
      bool isObject = StringRef(step.unknown).starts_with("{") && nlohmann::json::accept(step.unknown);
      os << (isObject ? StringRef(step.unknown) : StringRef("{\"unknown\": true}"));
      return;
    }
  }

  void term(const Term &term) {
    if (term.kind == Term::Null)
      os << "null";
    else if (term.kind != Term::Number)
      os << term.constant;
    else
      os << nlohmann::json(term.number).dump(); // 7.0, where an integer would be an index
  }

  void ledger() {
    os << "  \"ledger\": [";
    bool isFirst = true;
    mapRows.ledger([&](const MapLedgerRow &row) {
      os << (isFirst ? "\n    " : ",\n    ");
      isFirst = false;
      ledgerRow(row);
    });
    os << (isFirst ? "],\n" : "\n  ],\n");
  }

  void ledgerRow(const MapLedgerRow &row) {
    os << "{\"" << (row.isTensor ? "tensor" : "operator") << "\": " << row.id << ", ";
    member("fate", row.fate);
    if (!row.was.empty()) {
      os << ", ";
      member("was", row.was);
    }
    os << ", ";
    member("pass", row.pass);
    os << ", \"run\": " << row.run << ", \"rewrite\": " << row.rewrite << ", \"into\": ";
    places(row.operators, row.tensors);
    if (row.ledTo) {
      os << ", \"ledTo\": ";
      places(row.ledTo->operators, row.ledTo->tensors);
    }
    if (!row.partFile.empty() || !row.partFingerprint.empty()) {
      os << ", \"part\": {";
      member("file", row.partFile);
      os << ", ";
      member("fingerprint", row.partFingerprint);
      os << '}';
    }
    if (!row.with.empty()) {
      os << ", \"with\": ";
      numbers(row.with);
    }
    unneeded(map.unneededOf(row.isTensor, row.id));
    os << '}';
  }

  void unneeded(std::span<const MapUnneeded> rows) {
    if (rows.empty())
      return;
    os << ", \"unneeded\": ";
    list(rows, [&](const MapUnneeded &row) {
      os << "{\"operator\": " << row.user << ", \"operand\": " << row.operand << ", ";
      member("reason", row.reason);
      os << '}';
    });
  }

  /// What has no ledger row that it could stand in.
  void unneededOfLiving() {
    llvm::DenseSet<std::pair<uint64_t, uint64_t>> gone;
    if (!map.unneeded.empty())
      mapRows.ledger([&](const MapLedgerRow &row) { gone.insert({row.isTensor, row.id}); });
    std::vector<std::span<const MapUnneeded>> living;
    for (auto first = map.unneeded.begin(); first != map.unneeded.end();) {
      auto last = std::find_if(first, map.unneeded.end(), [&](const MapUnneeded &row) {
        return row.isTensor != first->isTensor || row.id != first->id;
      });
      if (!gone.contains({first->isTensor, first->id}))
        living.emplace_back(first, last);
      first = last;
    }
    if (living.empty())
      return;
    rows("  ", "unneeded", living, [&](std::span<const MapUnneeded> rows) {
      os << "{\"" << (rows.front().isTensor ? "tensor" : "operator") << "\": " << rows.front().id;
      unneeded(rows);
      os << '}';
    });
    os << ",\n";
  }

  void assumptions() {
    if (map.assumptions.empty())
      return;
    auto real = [](double number) { return nlohmann::json(number).dump(); };
    rows("  ", "assumptions", map.assumptions, [&](const MapAssumption &one) {
      os << "{\"number\": " << real(one.number) << ", \"means\": [" << real(one.numerator) << ", "
         << real(one.denominator) << "], ";
      member("pass", one.pass);
      os << '}';
    });
    os << ",\n";
  }

  using Places = ArrayRef<std::pair<uint32_t, uint32_t>>;
  void places(Places operators, Places tensors) {
    auto place = [&](auto place) { os << '[' << place.first << ", " << place.second << ']'; };
    os << "{\"operators\": ";
    list(operators, place);
    os << ", \"tensors\": ";
    list(tensors, place);
    os << '}';
  }

  void simpleMap() {
    os << "  \"map\": {";
    if (!map.target.subgraphs.empty()) {
      uint32_t index = 0;
      for (const OperatorRow &row : mapRows.operators(0)) {
        os << (index ? ",\n    \"" : "\n    \"") << index << "\": ";
        ++index;
        numbers(row.origins);
      }
      if (index)
        os << "\n  ";
    }
    os << '}';
  }
};

} // namespace

void origin::writeJson(const MapView &view, llvm::raw_ostream &os) { Writer(view, os).run(); }
