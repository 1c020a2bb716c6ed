#pragma once

#include "origin/InlineVector.h"
#include "origin/Word.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <deque>
#include <iterator>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// The origin map as data: what the side file (docs/origin-map.md) says, one struct a JSON object. It knows nothing of
/// the graph in memory; export fills it in, the readers and the checker take it apart. This header is installed and
/// needs nothing but the standard library.
namespace origo::origin {

using Digest = std::array<uint8_t, 32>; ///< SHA-256

/// What an exporter wrote of the layer that an operator belongs to.
struct SourceLayer {
  std::string name;               ///< of the node; may be empty, or one that others have
  std::vector<std::string> scope; ///< the modules that it is in, outermost first
  std::string className;          ///< of the innermost of them
  std::string note;               ///< who put it there, where no line of the user's did
  int32_t stack = -1;             ///< into Listing::stacks: the lines that called it; −1: not known
  std::string path;               ///< by setPath()
  bool operator==(const SourceLayer &) const = default;

  /// Scopes and the last part of the name, joined by "/"; of names that a converter joined by ";", of the first.
  void setPath() {
    path.clear();
    for (const std::string &one : scope)
      path += one + "/";
    std::string first = name.substr(0, name.find(';'));
    path += first.substr(first.rfind('/') + 1);
  }
};

/// Text from a model is kept as the bytes of the file; the JSON writer replaces invalid UTF-8.
struct SourceOperator {
  Word op;                                            ///< schema enumerator, CUSTOM, or a decimal number
  Word customCode;                                    ///< of CUSTOM
  InlineVector<int32_t> tensors;                      ///< ids of the outputs over all subgraphs; −1: absent
  std::shared_ptr<const SourceLayer> layer = nullptr; ///< null: names of outputs are all that the format says
};

/// Is a file one of the program that made a model, and not of a package, of Python itself or generated? `file`: as
/// Listing::files has it.
inline bool isUsersFile(std::string_view file) {
  auto has = [&](std::string_view part) { return file.find(part) != file.npos; };
  return !file.starts_with("<") && !has("site-packages/") && !has("dist-packages/") && !file.starts_with("python3.") &&
         !has("/python3.");
}

/// A line of a program.
struct SourceFrame {
  uint32_t file = 0; ///< into Listing::files
  uint32_t line = 0;
  std::string function;
  bool operator==(const SourceFrame &) const = default;
};

enum class TensorKind : uint8_t { Input, Activation, Variable, Constant, Absent };

struct SourceTensor {
  Text name;
  TensorKind kind = TensorKind::Absent;
};

/// What one run of an operator costs.
struct SourceCost {
  static constexpr uint64_t unknown = ~uint64_t{0}; ///< a shape is dynamic, or nobody knows what the operator does
  uint64_t macs = unknown;                          ///< multiply-accumulates
  uint64_t bytes = unknown;                         ///< of its operands and results, each tensor once
  bool operator==(const SourceCost &) const = default;
};

struct SourceSubgraph {
  std::string name;
  uint32_t firstOperator = 0, firstTensor = 0; ///< ids of its first ones
  std::vector<SourceOperator> operators;
  std::vector<SourceTensor> tensors;
  // Both are empty in maps of before. See operandsOf().
  std::vector<int32_t> operands = {}; ///< ids over all subgraphs, −1: absent; of all operators, one behind the other
  std::vector<uint32_t> operandEnds = {}; ///< by operator
  std::vector<SourceCost> costs = {};     ///< by operator

  /// Ids of the tensors that the operator with this index takes; empty where the map does not tell.
  std::span<const int32_t> operandsOf(size_t index) const {
    if (index >= operandEnds.size())
      return {};
    uint32_t begin = index ? operandEnds[index - 1] : 0;
    return std::span(operands).subspan(begin, operandEnds[index] - begin);
  }
  SourceCost costOf(size_t index) const { return index < costs.size() ? costs[index] : SourceCost(); }
};

struct SourceSignature {
  struct Entry {
    std::string name;
    int32_t tensor;
  }; ///< tensor: id over all subgraphs
  std::string key;
  uint32_t subgraph = 0;
  std::vector<Entry> inputs, outputs;
};

/// An input of the source that was given once and for all: what it holds is a constant of all that was made.
struct BoundInput {
  uint32_t tensor = 0; ///< id, of the first subgraph
  Digest bytes{};      ///< of its elements, as a model stores them
  bool operator==(const BoundInput &) const = default;
};

/// A model file as the map lists it.
struct Listing {
  std::string file;   ///< base name; empty where not known (the embedded map holds no name of its own file)
  std::string format; ///< "tflite" or "circle"
  Digest fingerprint{}, content{};
  std::vector<SourceSubgraph> subgraphs;
  std::vector<SourceSignature> signatures;
  bool namesKnown = true; ///< false after reading a map that was embedded with ids only
  // Lines of the programs that made the model, once each; empty where nobody wrote any.
  std::vector<std::string> files;
  std::vector<SourceFrame> frames;
  std::vector<std::vector<uint32_t>> stacks; ///< into `frames`, the innermost first
  std::string linesFrom;         ///< base name of the file that tells layers and lines, where it is not this one
  std::vector<BoundInput> bound; ///< ascending; `content` is that of the file and of these
  uint32_t operatorCount() const {
    return subgraphs.empty() ? 0 : subgraphs.back().firstOperator + uint32_t(subgraphs.back().operators.size());
  }
  uint32_t tensorCount() const {
    return subgraphs.empty() ? 0 : subgraphs.back().firstTensor + uint32_t(subgraphs.back().tensors.size());
  }
  /// By id; null: there is none.
  const SourceOperator *findOperator(uint32_t id) const {
    return find(id, &SourceSubgraph::firstOperator, &SourceSubgraph::operators);
  }
  const SourceTensor *findTensor(uint32_t id) const {
    return find(id, &SourceSubgraph::firstTensor, &SourceSubgraph::tensors);
  }
  /// By id of the operator. Of one that does not exist, and of one of which the map does not tell, nothing is known.
  std::span<const int32_t> operandsOf(uint32_t id) const {
    const SourceSubgraph *graph = subgraphOf(id, &SourceSubgraph::firstOperator);
    return graph ? graph->operandsOf(id - graph->firstOperator) : std::span<const int32_t>();
  }
  SourceCost costOf(uint32_t id) const {
    const SourceSubgraph *graph = subgraphOf(id, &SourceSubgraph::firstOperator);
    return graph ? graph->costOf(id - graph->firstOperator) : SourceCost();
  }
  /// Do frames, stacks and layers name what there is?
  bool linesAreWhole() const {
    auto isFrame = [&](uint32_t frame) { return frame < frames.size(); };
    auto isStack = [&](const SourceOperator &op) {
      return !op.layer || op.layer->stack == -1 || (op.layer->stack >= 0 && size_t(op.layer->stack) < stacks.size());
    };
    return std::all_of(frames.begin(), frames.end(), [&](auto &frame) { return frame.file < files.size(); }) &&
           std::all_of(stacks.begin(), stacks.end(),
                       [&](auto &stack) { return std::all_of(stack.begin(), stack.end(), isFrame); }) &&
           std::all_of(subgraphs.begin(), subgraphs.end(), [&](auto &graph) {
             return std::all_of(graph.operators.begin(), graph.operators.end(), isStack);
           });
  }
  /// "model.py:25"
  std::string lineOf(const SourceFrame &frame) const { return files[frame.file] + ":" + std::to_string(frame.line); }
  /// The lines that called an operator, the innermost first; empty where they are not known.
  std::span<const uint32_t> stackOf(const SourceOperator &op) const {
    return op.layer && op.layer->stack >= 0 ? std::span<const uint32_t>(stacks[size_t(op.layer->stack)])
                                            : std::span<const uint32_t>();
  }
  /// The innermost of them that is in a file of the user's, else the innermost; null: none is known.
  const SourceFrame *frameOf(const SourceOperator &op) const {
    auto stack = stackOf(op);
    for (uint32_t frame : stack)
      if (isUsersFile(files[frames[frame].file]))
        return &frames[frame];
    return stack.empty() ? nullptr : &frames[stack.front()];
  }
  /// The path of its layer, or else the name of the first output that has one; empty: there is none.
  std::string_view nameOf(const SourceOperator &op) const {
    if (op.layer && !op.layer->path.empty())
      return op.layer->path;
    for (int32_t id : op.tensors)
      if (const SourceTensor *tensor = id < 0 ? nullptr : findTensor(uint32_t(id)); tensor && !tensor->name.empty())
        return tensor->name;
    return {};
  }

private:
  const SourceSubgraph *subgraphOf(uint32_t id, uint32_t SourceSubgraph::*first) const {
    auto behind = std::partition_point(subgraphs.begin(), subgraphs.end(),
                                       [&](const SourceSubgraph &graph) { return graph.*first <= id; });
    return behind == subgraphs.begin() ? nullptr : &*std::prev(behind);
  }
  template <class Row>
  const Row *find(uint32_t id, uint32_t SourceSubgraph::*first, std::vector<Row> SourceSubgraph::*rows) const {
    const SourceSubgraph *graph = subgraphOf(id, first);
    return graph && id - graph->*first < (graph->*rows).size() ? &(graph->*rows)[id - graph->*first] : nullptr;
  }
};

struct Term { ///< of an affine step
  enum Kind : uint8_t { Null, Number, Constant, Source } kind = Null;
  double number = 0;
  uint32_t constant = 0; ///< tensor index in the same subgraph of the written file; Source: id of a source constant
  bool operator==(const Term &) const = default;
};

struct MapStep {
  enum Kind : uint8_t { Permute, Reshape, Slice, Placed, Cast, Affine, Quantize, Unknown, Scaled } kind = Reshape;
  int32_t axis = -1; ///< Affine, Scaled
  Term scale, shift;
  std::vector<int64_t> first, second; ///< Permute: p; Slice, Placed: begin, size
  std::vector<float> factors;         ///< Scaled: by index along the axis
  std::string unknown;                ///< the JSON text of a step this version does not know
  bool bySource() const { return scale.kind == Term::Source || shift.kind == Term::Source; } ///< Affine
  bool operator==(const MapStep &) const = default;
};

/// The steps of a relation. Copies share them: one tensor may have a hundred thousand relations that say the same.
class MapSteps {
public:
  MapSteps() = default;
  MapSteps(std::vector<MapStep> list) {
    if (!list.empty())
      steps = std::make_shared<const std::vector<MapStep>>(std::move(list));
  }
  const std::vector<MapStep> &list() const {
    static const std::vector<MapStep> none;
    return steps ? *steps : none;
  }
  auto begin() const { return list().begin(); }
  auto end() const { return list().end(); }
  size_t size() const { return list().size(); }
  bool empty() const { return !steps; }
  const MapStep &operator[](size_t i) const { return list()[i]; }
  bool operator==(const MapSteps &other) const { return steps == other.steps || list() == other.list(); }

private:
  std::shared_ptr<const std::vector<MapStep>> steps; ///< null: none
};

struct MapRelation {
  uint32_t tensor = 0; ///< source tensor id
  MapSteps steps;
  bool exact = false;
  uint32_t lineage = 0;   ///< that says so, of the constant's, or of who computes the tensor
  bool inherited = false; ///< it would be exact, but for what the tensor is computed from
  bool operator==(const MapRelation &) const = default;
};

/// What one of several equal operators, or constants, was before they became one.
struct MapLineage {
  std::vector<uint32_t> operators; ///< its origins; of a constant, the folded operators behind it
  std::vector<uint32_t> tensors;   ///< of a constant: the source constants behind it
  std::vector<uint32_t> operands;  ///< of an operator: by operand, the number of the lineage that it uses
  bool operator==(const MapLineage &) const = default;
};

struct OperatorRow {
  Word op, customCode;              ///< as in SourceOperator, of the written file
  std::vector<std::string> outputs; ///< names
  std::vector<uint32_t> origins;    ///< ascending
  std::vector<Word> passes;
  Word syntheticReason;         ///< empty: not synthetic
  std::vector<uint32_t> serves; ///< of a synthetic one
  Word wide;                    ///< reason; empty: not wide
  std::vector<uint32_t> calls;
  std::vector<MapLineage> lineages; ///< where there are several, of it or of an operand; else empty
  std::vector<uint32_t> movedPast;  ///< source operators that it changed places with; ascending
  bool inexact = false;             ///< computes in another order than the source, or from what another one computed
};

/// A row of `constants` or of `values`; which of the two it is, `constant` says.
struct TensorRow {
  uint32_t index = 0;
  std::string name;
  bool constant = false;
  std::vector<uint32_t> tensors, operators; ///< constants: the source constants and folded operators behind it
  std::vector<MapRelation> relations;
  Word reason;                      ///< where `relations` is empty
  Word syntheticReason;             ///< of an invented constant
  std::vector<MapLineage> lineages; ///< of a constant, where there are several; else empty
  /// Of a constant: how it was computed from constants of the source, as docs/origin-map.md says; empty: that is not
  /// told.
  std::string expression = {};
  bool inexact = false; ///< of what nobody here computes: it was computed otherwise than in the source
};

struct TargetSubgraph {
  std::string name;
  std::vector<uint32_t> source;
  std::vector<OperatorRow> operators; ///< file order, which is the order of execution
  std::vector<TensorRow> tensors;     ///< file order; split into constants and values in JSON
};

struct Target {
  std::string file, format;
  Digest fingerprint{}, content{};
  uint32_t laws = 0;         ///< as in ChainEntry
  std::string inferred = {}; ///< as in ChainEntry
  std::string proof = {};    ///< as in ChainEntry
  std::vector<TargetSubgraph> subgraphs;

  /// By subgraph and index in the file; null: there is none.
  const OperatorRow *findOperator(uint32_t subgraph, uint32_t index) const {
    if (subgraph >= subgraphs.size() || index >= subgraphs[subgraph].operators.size())
      return nullptr;
    return &subgraphs[subgraph].operators[index];
  }
  const TensorRow *findTensor(uint32_t subgraph, uint32_t index) const {
    if (subgraph >= subgraphs.size())
      return nullptr;
    // Rows stand in file order, and a true map has one for each tensor.
    const std::vector<TensorRow> &rows = subgraphs[subgraph].tensors;
    if (index < rows.size() && rows[index].index == index)
      return &rows[index];
    auto row =
        std::partition_point(rows.begin(), rows.end(), [&](const TensorRow &other) { return other.index < index; });
    return row != rows.end() && row->index == index ? &*row : nullptr;
  }
};

struct MapLedgerRow {
  bool isTensor = false;
  uint32_t id = 0;
  Word fate, was, pass; ///< names of the closed list; an unknown one is kept and shown
  uint32_t run = 0, rewrite = 0;
  std::vector<std::pair<uint32_t, uint32_t>> operators, tensors; ///< into: [subgraph, index]
  Word partFile, partFingerprint;                                ///< fate `elsewhere`
  std::vector<uint32_t> with; ///< of an operator that cancelled out: those that did together with it
  struct Places {
    std::vector<std::pair<uint32_t, uint32_t>> operators, tensors; ///< as above
    bool operator==(const Places &) const = default;
  };
  std::optional<Places> ledTo = {}; ///< by the rewrites, for a later run to go on from; none: as above
};

/// Source operator `user` could do without its operand number `operand`. That is a result of source operator `id`, or
/// source constant `id`.
struct MapUnneeded {
  bool isTensor = false;
  uint32_t id = 0;
  uint32_t user = 0, operand = 0;
  Word reason; ///< name of the closed list; an unknown one is kept and shown
  bool operator==(const MapUnneeded &) const = default;
};

/// Rewrites of a pass have taken a number of constants for another one, which it was rounded from.
struct MapAssumption {
  double number = 0;
  double numerator = 0, denominator = 1; ///< the other one is their quotient
  Word pass;
  bool operator==(const MapAssumption &) const = default;
};
/// Is it of numbers, and can one be divided by the other?
inline bool isSound(const MapAssumption &one) {
  auto isNumber = [](double x) { return x - x == 0; };
  return isNumber(one.number) && isNumber(one.numerator) && isNumber(one.denominator) && one.denominator != 0;
}

struct ChainEntry {
  std::string file, format;
  Digest fingerprint{};
  uint32_t laws = 0; ///< how many laws of docs/origin-map.md the run knew that wrote this file; 0: it did not say
  std::string inferred = {}; ///< who wrote the file told no origins: by which evidence they were found; empty: it did
  std::string proof = {};    ///< what the run that wrote the file proved of its rewrites, and how; empty: nothing
};

struct OriginMap {
  std::string generator;
  Listing source;
  Target target;
  std::deque<MapLedgerRow> ledger; ///< operators by id, then tensors by id; a deque, for it may be long
  std::vector<ChainEntry> chain;
  bool retrained = false;
  std::vector<MapAssumption> assumptions = {}; ///< of all runs
  std::vector<MapUnneeded> unneeded; ///< ascending by isTensor and id; also of what still lives, as others need it

  /// What could do without this source operator, or source tensor.
  std::span<const MapUnneeded> unneededOf(bool isTensor, uint32_t id) const {
    auto is = [&](const MapUnneeded &row) { return std::pair(row.isTensor, row.id); };
    auto first = std::partition_point(unneeded.begin(), unneeded.end(),
                                      [&](const MapUnneeded &row) { return is(row) < std::pair(isTensor, id); });
    auto last = std::partition_point(first, unneeded.end(),
                                     [&](const MapUnneeded &row) { return is(row) == std::pair(isTensor, id); });
    return {first, last};
  }
};

/// What import hands to export beside the graph: the source's listing, and the runs before this one.
struct Lineage {
  std::shared_ptr<const Listing> source;
  std::vector<ChainEntry> chain;
  bool retrained = false;
  std::string proof = {}; ///< as in ChainEntry, of what is made of it now
};

} // namespace origo::origin
