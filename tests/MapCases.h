#pragma once

#include "origin/Fingerprint.h"
#include "origin/check/Check.h"
#include "schema/circle_generated.h"

#include "llvm/ADT/STLExtras.h"

#include <gtest/gtest.h>

/// Small sources with what was written of them and the map between: what checks of maps are tried on.
namespace origo::mapcases {

using namespace origo::origin;
using circle::BuiltinOperator;
using circle::TensorType;

struct Tensor {
  std::string name;
  std::vector<int32_t> shape;
  std::vector<double> values = {}; ///< of a constant, which has them as INT32 or FLOAT32
  TensorType type = TensorType::FLOAT32;
  float scale = 0; ///< not 0: quantised
  std::vector<int32_t> signature = {};
};

struct Op {
  BuiltinOperator code;
  std::vector<int32_t> inputs, outputs;
  int32_t callee = -1; ///< of a CALL
};

struct Graph {
  std::vector<Tensor> tensors;
  std::vector<Op> operators;
  std::vector<int32_t> inputs = {}, outputs = {};
  std::string name = "main";
};

/// A circle file built by hand.
class File {
public:
  explicit File(const std::vector<Graph> &graphs) {
    flatbuffers::FlatBufferBuilder fbb;
    std::vector<flatbuffers::Offset<circle::Buffer>> buffers{circle::CreateBuffer(fbb)};
    std::vector<flatbuffers::Offset<circle::OperatorCode>> codes;
    std::vector<flatbuffers::Offset<circle::SubGraph>> subgraphs;
    for (int code = 0; code <= 126; ++code)
      codes.push_back(circle::CreateOperatorCode(fbb, static_cast<int8_t>(code), 0, 1, BuiltinOperator(code)));
    for (const Graph &graph : graphs) {
      std::vector<flatbuffers::Offset<circle::Tensor>> tensors;
      for (const Tensor &tensor : graph.tensors) {
        uint32_t buffer = 0;
        if (!tensor.values.empty()) {
          buffer = static_cast<uint32_t>(buffers.size());
          buffers.push_back(circle::CreateBuffer(fbb, tensor.type == TensorType::INT32
                                                          ? payload<int32_t>(fbb, tensor.values)
                                                          : payload<float>(fbb, tensor.values)));
        }
        flatbuffers::Offset<circle::QuantizationParameters> quantization;
        if (tensor.scale != 0) {
          auto scale = fbb.CreateVector(std::vector<float>{tensor.scale});
          quantization = circle::CreateQuantizationParameters(fbb, 0, 0, scale);
        }
        auto shape = fbb.CreateVector(tensor.shape);
        auto name = fbb.CreateString(tensor.name);
        auto signature = tensor.signature.empty() ? 0 : fbb.CreateVector(tensor.signature);
        tensors.push_back(
            circle::CreateTensor(fbb, shape, tensor.type, buffer, name, quantization, false, 0, signature, true));
      }
      std::vector<flatbuffers::Offset<circle::Operator>> operators;
      for (const Op &op : graph.operators) {
        auto inputs = fbb.CreateVector(op.inputs), outputs = fbb.CreateVector(op.outputs);
        if (op.callee >= 0)
          operators.push_back(
              circle::CreateOperator(fbb, uint32_t(op.code), inputs, outputs, circle::BuiltinOptions::CallOptions,
                                     circle::CreateCallOptions(fbb, static_cast<uint32_t>(op.callee)).Union()));
        else
          operators.push_back(circle::CreateOperator(fbb, uint32_t(op.code), inputs, outputs));
      }
      auto list = fbb.CreateVector(tensors);
      auto inputs = fbb.CreateVector(graph.inputs), outputs = fbb.CreateVector(graph.outputs);
      auto ops = fbb.CreateVector(operators);
      subgraphs.push_back(circle::CreateSubGraph(fbb, list, inputs, outputs, ops, fbb.CreateString(graph.name)));
    }
    auto codeList = fbb.CreateVector(codes);
    auto graphList = fbb.CreateVector(subgraphs);
    auto bufferList = fbb.CreateVector(buffers);
    auto entry = [&](const char *name, uint32_t tensor) {
      return circle::CreateTensorMap(fbb, fbb.CreateString(name), tensor);
    };
    std::vector<flatbuffers::Offset<circle::TensorMap>> in, out;
    for (int32_t tensor : graphs[0].inputs)
      in.push_back(entry("x", static_cast<uint32_t>(tensor)));
    for (int32_t tensor : graphs[0].outputs)
      out.push_back(entry("y", static_cast<uint32_t>(tensor)));
    auto ins = fbb.CreateVector(in), outs = fbb.CreateVector(out);
    auto key = fbb.CreateString("serving_default");
    std::vector<flatbuffers::Offset<circle::SignatureDef>> signatures;
    circle::SignatureDefBuilder signature(fbb);
    signature.add_inputs(ins);
    signature.add_outputs(outs);
    signature.add_signature_key(key);
    signatures.push_back(signature.Finish());
    auto signatureList = fbb.CreateVector(signatures);
    circle::ModelBuilder model(fbb);
    model.add_operator_codes(codeList);
    model.add_subgraphs(graphList);
    model.add_buffers(bufferList);
    model.add_signature_defs(signatureList);
    circle::FinishModelBuffer(fbb, model.Finish());
    bytes = fbb.Release();
    file = cantFail(ModelFile::fromBytes({bytes.data(), bytes.size()}, "test.circle"));
  }
  const ModelView &view() const { return file->view(); }

private:
  flatbuffers::DetachedBuffer bytes;
  std::unique_ptr<ModelFile> file;

  template <class T>
  static flatbuffers::Offset<flatbuffers::Vector<uint8_t>> payload(flatbuffers::FlatBufferBuilder &fbb,
                                                                   const std::vector<double> &numbers) {
    std::vector<T> stored(numbers.begin(), numbers.end());
    return fbb.CreateVector(reinterpret_cast<const uint8_t *>(stored.data()), stored.size() * sizeof(T));
  }
};

/// A source, what was written, and the map between them.
struct Case {
  File source, target;
  OriginMap map;

  Case(const std::vector<Graph> &from, const std::vector<Graph> &to) : source(from), target(to) {
    map.source = describe(source.view());
    Listing written = describe(target.view());
    map.target.format = written.format;
    map.target.fingerprint = written.fingerprint;
    map.target.content = written.content;
    map.target.laws = 12;
    for (size_t g = 0; g < written.subgraphs.size(); ++g) {
      const SourceSubgraph &graph = written.subgraphs[g];
      TargetSubgraph rows{graph.name, {static_cast<uint32_t>(g)}, {}, {}};
      for (const SourceOperator &op : graph.operators) {
        OperatorRow row;
        row.op = op.op;
        for (int32_t id : op.tensors)
          row.outputs.push_back(graph.tensors[id - graph.firstTensor].name.str());
        rows.operators.push_back(row);
      }
      for (uint32_t i = 0; i < graph.tensors.size(); ++i) {
        TensorRow row;
        row.index = i;
        row.name = graph.tensors[i].name;
        row.constant = graph.tensors[i].kind == TensorKind::Constant;
        rows.tensors.push_back(row);
      }
      map.target.subgraphs.push_back(rows);
    }
  }
  OperatorRow &op(size_t index, size_t graph = 0) { return map.target.subgraphs[graph].operators[index]; }
  TensorRow &tensor(size_t index, size_t graph = 0) { return map.target.subgraphs[graph].tensors[index]; }
  void gone(bool isTensor, uint32_t id, const char *fate, std::vector<std::pair<uint32_t, uint32_t>> operators = {},
            std::vector<std::pair<uint32_t, uint32_t>> tensors = {}) {
    MapLedgerRow row;
    row.isTensor = isTensor;
    row.id = id;
    row.fate = fate;
    row.pass = "test";
    row.operators = std::move(operators);
    row.tensors = std::move(tensors);
    map.ledger.push_back(row);
  }
  std::vector<Violation> violations() const {
    std::vector<std::string> skipped;
    auto found = check(map, target.view(), &source.view(), skipped);
    EXPECT_TRUE(map.target.laws < 13 || skipped.empty() ||
                llvm::any_of(found, [](const Violation &v) { return v.law == 4; }));
    return found;
  }
};

inline MapRelation same(uint32_t tensor, std::vector<MapStep> steps = {}) { return {tensor, std::move(steps), true}; }

inline MapStep step(MapStep::Kind kind, std::vector<int64_t> first = {}, std::vector<int64_t> second = {}) {
  MapStep result;
  result.kind = kind;
  result.first = std::move(first);
  result.second = std::move(second);
  return result;
}

inline std::string words(const std::vector<Violation> &violations) {
  std::string text;
  for (const Violation &violation : violations)
    text += "law " + std::to_string(violation.law) + ": " + violation.text + "\n";
  return text;
}

enum : uint32_t { X, C1, C2, AbsC2, A, B, R, E, N, Y, Unused }; ///< source tensors
enum : uint32_t { Abs, Mul, Add, Relu, Exp, Neg, Reshape };     ///< source operators

/// y = reshape(neg(relu(x · c1 + |c2|))), and an exp that nothing needs.
inline Graph sourceGraph() {
  return {{{"x", {1, 4}},
           {"c1", {4}, {1, 2, 3, 4}},
           {"c2", {4}, {-1, 2, -3, 4}},
           {"abs", {4}},
           {"a", {1, 4}},
           {"b", {1, 4}},
           {"r", {1, 4}},
           {"e", {1, 4}},
           {"n", {1, 4}},
           {"y", {1, 4}},
           {"unused", {7}}},
          {{BuiltinOperator::ABS, {C2}, {AbsC2}},
           {BuiltinOperator::MUL, {X, C1}, {A}},
           {BuiltinOperator::ADD, {A, AbsC2}, {B}},
           {BuiltinOperator::RELU, {B}, {R}},
           {BuiltinOperator::EXP, {X}, {E}},
           {BuiltinOperator::NEG, {R}, {N}},
           {BuiltinOperator::RESHAPE, {N}, {Y}}},
          {X},
          {Y}};
}

/// The abs folded, the relu fused, the exp dead, the reshape taken away, and
/// the result also quantised.
inline Case optimised() {
  Graph written{{{"x", {1, 4}},
                 {"c1", {4}, {1, 2, 3, 4}},
                 {"abs", {4}, {1, 2, 3, 4}},
                 {"a", {1, 4}},
                 {"r", {1, 4}},
                 {"y", {1, 4}},
                 {"q", {1, 4}, {}, TensorType::INT8, 0.5f}},
                {{BuiltinOperator::MUL, {0, 1}, {3}},
                 {BuiltinOperator::ADD, {3, 2}, {4}},
                 {BuiltinOperator::NEG, {4}, {5}},
                 {BuiltinOperator::QUANTIZE, {5}, {6}}},
                {0},
                {5, 6}};
  Case c({sourceGraph()}, {written});
  c.op(0).origins = {Mul};
  c.op(1).origins = {Add, Relu};
  c.op(1).passes = {"fuse-activation"};
  c.op(2).origins = {Neg};
  c.op(3).syntheticReason = "quantize-border";
  c.op(3).serves = {Neg};
  c.tensor(0).relations = {same(X)};
  c.tensor(1).relations = {same(C1)};
  c.tensor(1).tensors = {C1};
  c.tensor(2).relations = {same(AbsC2)};
  c.tensor(2).tensors = {C2};
  c.tensor(2).operators = {Abs};
  c.tensor(3).relations = {same(A)};
  c.tensor(4).relations = {same(R)};
  c.tensor(5).relations = {same(Y), same(N)};
  c.tensor(6).relations = {same(Y, {step(MapStep::Quantize)})};
  c.gone(false, Abs, "folded-to-constant", {}, {{0, 2}});
  c.gone(false, Exp, "dead");
  c.gone(false, Reshape, "identity", {}, {{0, 5}});
  c.gone(true, B, "fused-away", {{0, 1}});
  c.gone(true, E, "dead");
  c.gone(true, Unused, "unused-in-source");
  return c;
}

inline MapLedgerRow &ledgerOf(Case &c, bool isTensor, uint32_t id) {
  auto it =
      llvm::find_if(c.map.ledger, [&](const MapLedgerRow &row) { return row.isTensor == isTensor && row.id == id; });
  EXPECT_NE(it, c.map.ledger.end());
  return *it;
}

/// The same file before and after.
inline Case untouched(const std::vector<Graph> &graphs) {
  Case c(graphs, graphs);
  uint32_t op = 0, tensor = 0;
  for (TargetSubgraph &graph : c.map.target.subgraphs) {
    for (OperatorRow &row : graph.operators)
      row.origins = {op++};
    for (TensorRow &row : graph.tensors) {
      row.relations = {same(tensor)};
      if (row.constant)
        row.tensors = {tensor};
      ++tensor;
    }
  }
  return c;
}

struct Lie {
  const char *what;
  int law;
  std::function<void(Case &)> tell;
};

inline void expectRefused(const Lie &lie, Case c) {
  ASSERT_EQ(words(c.violations()), "") << "the truth before: " << lie.what;
  lie.tell(c);
  auto violations = c.violations();
  EXPECT_TRUE(llvm::any_of(violations, [&](const Violation &v) { return v.law == lie.law; }))
      << lie.what << ": expected law " << lie.law << ", got\n"
      << words(violations);
}

} // namespace origo::mapcases
