#include "origin/Fingerprint.h"
#include "origin/check/Check.h"
#include "schema/circle_generated.h"

#include "llvm/ADT/STLExtras.h"

#include <gtest/gtest.h>

/// The checker is itself checked: it must accept true maps, and refuse seeded
/// lies, each for its own reason.
using namespace origo;
using namespace origo::origin;
using circle::BuiltinOperator;
using circle::TensorType;

namespace {

struct Tensor {
  std::string name;
  std::vector<int32_t> shape;
  std::vector<float> values = {}; ///< of a constant
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
  std::vector<int32_t> inputs, outputs;
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
          auto data = fbb.CreateVector(reinterpret_cast<const uint8_t *>(tensor.values.data()),
                                       tensor.values.size() * sizeof(float));
          buffers.push_back(circle::CreateBuffer(fbb, data));
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
            circle::CreateTensor(fbb, shape, tensor.type, buffer, name, quantization, false, 0, signature));
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
    map.target.laws = 10;
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
    EXPECT_TRUE(skipped.empty() || llvm::any_of(found, [](const Violation &v) { return v.law == 4; }));
    return found;
  }
};

MapRelation same(uint32_t tensor, std::vector<MapStep> steps = {}) { return {tensor, std::move(steps), true}; }

MapStep step(MapStep::Kind kind, std::vector<int64_t> first = {}, std::vector<int64_t> second = {}) {
  MapStep result;
  result.kind = kind;
  result.first = std::move(first);
  result.second = std::move(second);
  return result;
}

std::string words(const std::vector<Violation> &violations) {
  std::string text;
  for (const Violation &violation : violations)
    text += "law " + std::to_string(violation.law) + ": " + violation.text + "\n";
  return text;
}

enum : uint32_t { X, C1, C2, AbsC2, A, B, R, E, N, Y, Unused }; ///< source tensors
enum : uint32_t { Abs, Mul, Add, Relu, Exp, Neg, Reshape };     ///< source operators

/// y = reshape(neg(relu(x · c1 + |c2|))), and an exp that nothing needs.
Graph sourceGraph() {
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
Case optimised() {
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
  c.op(3).syntheticReason = "type-bridge";
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

MapLedgerRow &ledgerOf(Case &c, bool isTensor, uint32_t id) {
  auto it =
      llvm::find_if(c.map.ledger, [&](const MapLedgerRow &row) { return row.isTensor == isTensor && row.id == id; });
  EXPECT_NE(it, c.map.ledger.end());
  return *it;
}

/// The same file before and after.
Case untouched(const std::vector<Graph> &graphs) {
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

void expectRefused(const Lie &lie, Case c) {
  ASSERT_EQ(words(c.violations()), "") << "the truth before: " << lie.what;
  lie.tell(c);
  auto violations = c.violations();
  EXPECT_TRUE(llvm::any_of(violations, [&](const Violation &v) { return v.law == lie.law; }))
      << lie.what << ": expected law " << lie.law << ", got\n"
      << words(violations);
}

void makeAllDead(Case &c) {
  c.map.ledger.clear();
  for (uint32_t id = Abs; id <= Reshape; ++id)
    c.gone(false, id, "dead");
  for (uint32_t id = X; id <= Unused; ++id)
    c.gone(true, id, "dead");
  for (OperatorRow &row : c.map.target.subgraphs[0].operators)
    row.origins.clear();
  for (TensorRow &row : c.map.target.subgraphs[0].tensors)
    row.relations.clear(), row.tensors.clear(), row.operators.clear(), row.reason = "new-intermediate";
}

} // namespace

TEST(OriginCheck, AcceptsTrueMaps) {
  EXPECT_EQ(words(optimised().violations()), "");
  EXPECT_EQ(words(untouched({sourceGraph()}).violations()), "");
}

TEST(OriginCheck, ChecksWithoutTheSourceWhatItCan) {
  Case c = optimised();
  std::vector<std::string> skipped;
  EXPECT_TRUE(check(c.map, c.target.view(), nullptr, skipped).empty());
  EXPECT_FALSE(skipped.empty());
  std::swap(c.op(0).origins, c.op(1).origins);
  EXPECT_FALSE(check(c.map, c.target.view(), nullptr, skipped).empty());
}

TEST(OriginCheck, RefusesLies) {
  const std::vector<Lie> lies = {
      {"every origin is operator 0", 6,
       [](Case &c) {
         for (OperatorRow &row : c.map.target.subgraphs[0].operators)
           if (row.syntheticReason.empty())
             row.origins = {0};
       }},
      {"every origin is every operator", 7,
       [](Case &c) {
         for (OperatorRow &row : c.map.target.subgraphs[0].operators)
           if (row.syntheticReason.empty())
             row.origins = {Abs, Mul, Add, Relu, Exp, Neg, Reshape};
         llvm::erase_if(c.map.ledger, [](const MapLedgerRow &row) { return !row.isTensor; });
       }},
      {"everything is dead", 1, makeAllDead},
      {"everything is dead and invented", 8,
       [](Case &c) {
         makeAllDead(c);
         for (OperatorRow &row : c.map.target.subgraphs[0].operators)
           row.syntheticReason = "type-bridge", row.serves = {0};
         for (TensorRow &row : c.map.target.subgraphs[0].tensors)
           if (row.constant)
             row.syntheticReason = "invented-constant";
       }},
      {"everything is dead, but relations stay", 8,
       [](Case &c) {
         ledgerOf(c, false, Reshape).fate = "dead";
         ledgerOf(c, false, Reshape).tensors.clear();
       }},
      {"dropped parent", 3, [](Case &c) { c.op(1).origins = {Relu}; }},
      {"dropped parent that made the result", 6,
       [](Case &c) {
         c.op(1).origins = {Add}, c.op(0).origins = {Mul, Relu};
       }},
      {"swapped parents", 6, [](Case &c) { std::swap(c.op(0).origins, c.op(2).origins); }},
      {"added parent", 7,
       [](Case &c) {
         c.op(0).origins = {Mul, Neg};
       }},
      {"added parent from a side branch", 7,
       [](Case &c) {
         c.op(1).origins = {Add, Relu, Exp};
         llvm::erase_if(c.map.ledger, [](const MapLedgerRow &row) { return !row.isTensor && row.id == Exp; });
       }},
      {"ledger row of an operator lost", 3,
       [](Case &c) {
         llvm::erase_if(c.map.ledger, [](const MapLedgerRow &row) { return !row.isTensor && row.id == Exp; });
       }},
      {"ledger row of a tensor lost", 3,
       [](Case &c) {
         llvm::erase_if(c.map.ledger, [](const MapLedgerRow &row) { return row.isTensor && row.id == B; });
       }},
      {"ledger row twice", 3, [](Case &c) { c.map.ledger.push_back(c.map.ledger.back()); }},
      {"wrong fate: a tensor's for an operator", 8, [](Case &c) { ledgerOf(c, false, Reshape).fate = "fused-away"; }},
      {"wrong fate: dead although it is related", 8, [](Case &c) { ledgerOf(c, false, Abs).fate = "dead"; }},
      {"wrong fate: removed although it is related", 8,
       [](Case &c) { ledgerOf(c, false, Reshape).fate = "user-removed"; }},
      {"wrong fate: folded, but an operator computes it", 6,
       [](Case &c) { ledgerOf(c, false, Reshape).fate = "folded-to-constant"; }},
      {"wrong fate: inlined, but it calls nothing", 8, [](Case &c) { ledgerOf(c, false, Reshape).fate = "inlined"; }},
      {"wrong fate: none", 8, [](Case &c) { ledgerOf(c, true, B).fate = "unknown"; }},
      {"fused into nothing", 8, [](Case &c) { ledgerOf(c, true, B).operators.clear(); }},
      {"identity of another tensor", 6,
       [](Case &c) {
         ledgerOf(c, false, Reshape).tensors = {{0, 4}};
       }},
      {"operator both live and in the ledger", 8, [](Case &c) { c.gone(false, Mul, "dead"); }},
      {"tensor both live and in the ledger", 8,
       [](Case &c) {
         c.gone(true, A, "fused-away", {{0, 0}});
       }},
      {"origin out of range", 2,
       [](Case &c) {
         c.op(0).origins = {Mul, 7};
       }},
      {"origins out of order", 2,
       [](Case &c) {
         c.op(1).origins = {Relu, Add};
       }},
      {"relation out of range", 2, [](Case &c) { c.tensor(3).relations.push_back(same(11)); }},
      {"served operator out of range", 2, [](Case &c) { c.op(3).serves = {99}; }},
      {"ledger id out of range", 2, [](Case &c) { c.gone(true, 0xFFFFFFFF, "dead"); }},
      {"ledger leads out of the file", 2,
       [](Case &c) {
         ledgerOf(c, true, B).operators = {{0, 4}};
       }},
      {"ledger leads out of the subgraphs", 2,
       [](Case &c) {
         ledgerOf(c, true, B).operators = {{1, 0}};
       }},
      {"affine by a value", 2,
       [](Case &c) {
         MapStep affine = step(MapStep::Affine);
         affine.scale = {Term::Constant, 0, 3};
         c.tensor(4).relations = {same(R, {affine})};
       }},
      {"wrong target fingerprint", 5, [](Case &c) { c.map.target.fingerprint[0] ^= 1; }},
      {"wrong source fingerprint", 5, [](Case &c) { c.map.source.fingerprint[31] ^= 1; }},
      {"wrong content", 5, [](Case &c) { c.map.target.content[5] ^= 1; }},
      {"wrong source name", 4, [](Case &c) { c.map.source.subgraphs[0].tensors[A].name = "z"; }},
      {"wrong source operator", 4, [](Case &c) { c.map.source.subgraphs[0].operators[Neg].op = "ABS"; }},
      {"wrong source outputs", 4,
       [](Case &c) {
         c.map.source.subgraphs[0].operators[Exp].tensors = {static_cast<int32_t>(E), -1};
       }},
      {"wrong source kind", 4, [](Case &c) { c.map.source.subgraphs[0].tensors[C1].kind = TensorKind::Variable; }},
      {"source operator unlisted", 4, [](Case &c) { c.map.source.subgraphs[0].operators.pop_back(); }},
      {"wrong signature", 4, [](Case &c) { c.map.source.signatures[0].outputs[0].tensor = N; }},
      {"wrong target operator", 4, [](Case &c) { c.op(2).op = "ABS"; }},
      {"wrong target output", 4, [](Case &c) { c.op(2).outputs = {"z"}; }},
      {"wrong target name", 4, [](Case &c) { c.tensor(4).name = "z"; }},
      {"constant listed as a value", 4, [](Case &c) { c.tensor(2).constant = false; }},
      {"wrong format", 4, [](Case &c) { c.map.target.format = "tflite"; }},
      {"tensor row twice", 4, [](Case &c) { c.map.target.subgraphs[0].tensors.push_back(c.tensor(0)); }},
      {"relation with a wrong shape", 8,
       [](Case &c) {
         c.tensor(4).relations.push_back(same(AbsC2)), c.op(1).origins = {Add, Relu};
       }},
      {"permute that does not fit", 8,
       [](Case &c) {
         c.tensor(0).relations = {same(X, {step(MapStep::Permute, {1, 0})})};
       }},
      {"permute that is none", 8,
       [](Case &c) {
         c.tensor(0).relations = {same(X, {step(MapStep::Permute, {0, 0})})};
       }},
      {"slice beyond the end", 8,
       [](Case &c) {
         c.tensor(0).relations = {same(X, {step(MapStep::Slice, {0, 1}, {1, 4})})};
       }},
      {"slice of a part", 8,
       [](Case &c) {
         c.tensor(0).relations = {same(X, {step(MapStep::Slice, {0, 1}, {1, 3})})};
       }},
      {"placed in less than itself", 8,
       [](Case &c) {
         c.tensor(0).relations = {same(X, {step(MapStep::Placed, {0, 1}, {1, 4})})};
       }},
      {"affine along no axis", 8,
       [](Case &c) {
         MapStep affine = step(MapStep::Affine);
         affine.axis = 2;
         affine.scale = {Term::Number, 2, 0};
         c.tensor(0).relations = {same(X, {affine})};
       }},
      {"unused in the source, but used", 8, [](Case &c) { ledgerOf(c, true, B).fate = "unused-in-source"; }},
      {"no operator row", 1, [](Case &c) { c.map.target.subgraphs[0].operators.pop_back(); }},
      {"no tensor row", 1, [](Case &c) { c.map.target.subgraphs[0].tensors.pop_back(); }},
      {"empty origins", 1, [](Case &c) { c.op(0).origins.clear(); }},
      {"origins and synthetic", 1, [](Case &c) { c.op(0).syntheticReason = "broadcast", c.op(0).serves = {Mul}; }},
      {"synthetic for no known reason", 1, [](Case &c) { c.op(3).syntheticReason = "because"; }},
      {"synthetic for nobody", 1, [](Case &c) { c.op(3).serves.clear(); }},
      {"constant from a value", 2,
       [](Case &c) {
         c.tensor(1).tensors = {C1, A};
       }},
      {"constant from nothing", 1, [](Case &c) { c.tensor(1).tensors.clear(); }},
      {"no relation for no reason", 1, [](Case &c) { c.tensor(6).relations.clear(); }},
      {"folded operator forgotten", 6, [](Case &c) { c.tensor(2).operators.clear(); }},
      {"wide without need in a small model", 7, [](Case &c) { c.op(0).wide = "grouped by the user"; }},
  };
  ASSERT_GE(lies.size(), 16u);
  for (const Lie &lie : lies)
    expectRefused(lie, optimised());
}

TEST(OriginCheck, RefusesWrongTypes) {
  Case c = optimised();
  c.tensor(6).relations = {same(Y)}; // dequantised it is FLOAT32, as y is
  EXPECT_EQ(words(c.violations()), "");

  Graph source{{{"x", {4}}, {"y", {4}, {}, TensorType::INT32}}, {{BuiltinOperator::CAST, {0}, {1}}}, {0}, {1}};
  Case cast = untouched({source});
  cast.tensor(1).relations.push_back(same(0, {step(MapStep::Cast)}));
  EXPECT_EQ(words(cast.violations()), "");
  cast.tensor(1).relations.back().steps = {};
  auto violations = cast.violations();
  ASSERT_EQ(violations.size(), 1u) << words(violations);
  EXPECT_EQ(violations[0].law, 8);
}

TEST(OriginCheck, ComparesWhatIsKnownOfDynamicShapes) {
  Graph source{{{"x", {1, 8}, {}, TensorType::FLOAT32, 0, {-1, 8}}, {"y", {1, 8}, {}, TensorType::FLOAT32, 0, {-1, 8}}},
               {{BuiltinOperator::NEG, {0}, {1}}},
               {0},
               {1}};
  Graph target = source;
  for (Tensor &tensor : target.tensors)
    tensor.shape[0] = 5, tensor.signature.clear();
  for (int32_t width : {8, 9}) {
    target.tensors[1].shape[1] = width;
    Case c({source}, {target});
    c.op(0).origins = {0};
    c.tensor(0).relations = {same(0)};
    c.tensor(1).relations = {same(1)};
    EXPECT_EQ(c.violations().size(), width == 8 ? 0u : 1u) << words(c.violations());
  }
}

TEST(OriginCheck, RefusesAnIdentityThatIsNone) {
  const std::vector<Lie> lies = {
      {"an origin too many", 9,
       [](Case &c) {
         c.op(3).origins = {Add, Relu};
       }},
      {"a relation that is none", 9,
       [](Case &c) { c.tensor(Y).relations.insert(c.tensor(Y).relations.begin(), same(N)); }},
      {"a pass", 9, [](Case &c) { c.op(3).passes = {"fold-constants"}; }},
      {"a ledger", 9, [](Case &c) { c.tensor(Unused).relations.clear(), c.gone(true, Unused, "unused-in-source"); }},
  };
  for (const Lie &lie : lies)
    expectRefused(lie, untouched({sourceGraph()}));
}

TEST(OriginCheck, AcceptsRetrainedWeights) {
  Case c = optimised();
  c.map.target.content[0] ^= 1;
  c.map.source.content[0] ^= 1;
  EXPECT_FALSE(c.violations().empty());
  c.map.retrained = true;
  EXPECT_EQ(words(c.violations()), "");
}

/// transpose(x) → relu becomes relu → transpose: the transpose makes the Relu's
/// tensor.
TEST(OriginCheck, LetsMovedDataEqualWhatAnotherComputes) {
  Graph source{{{"x", {2, 3}}, {"p", {2}, {0, 0}, TensorType::INT32}, {"t", {3, 2}}, {"y", {3, 2}}},
               {{BuiltinOperator::TRANSPOSE, {0, 1}, {2}}, {BuiltinOperator::RELU, {2}, {3}}},
               {0},
               {3}};
  Graph target{{{"x", {2, 3}}, {"p", {2}, {0, 0}, TensorType::INT32}, {"r", {2, 3}}, {"y", {3, 2}}},
               {{BuiltinOperator::RELU, {0}, {2}}, {BuiltinOperator::TRANSPOSE, {2, 1}, {3}}},
               {0},
               {3}};
  Case c({source}, {target});
  c.op(0).origins = {1};
  c.op(1).origins = {0};
  c.tensor(0).relations = {same(0)};
  c.tensor(1).relations = {same(1)};
  c.tensor(1).tensors = {1};
  c.tensor(2).relations = {same(3, {step(MapStep::Permute, {1, 0})})};
  c.tensor(3).relations = {same(3)};
  c.gone(true, 2, "fused-away", {{0, 1}});
  EXPECT_EQ(words(c.violations()), "");
  // A Neg does not move data, so that it cannot equal the Relu's tensor.
  target.operators[1] = {BuiltinOperator::NEG, {2}, {3}};
  Case lie({source}, {target});
  OriginMap &map = lie.map;
  Word op = lie.op(1).op;
  map.target.subgraphs = c.map.target.subgraphs;
  lie.op(1).op = op;
  map.ledger = c.map.ledger;
  auto violations = lie.violations();
  EXPECT_TRUE(llvm::any_of(violations, [](const Violation &v) { return v.law == 6; })) << words(violations);
}

TEST(OriginCheck, LetsDuplicatesJoin) {
  Graph source{
      {{"x", {4}}, {"a", {4}}, {"b", {4}}, {"y", {4}}},
      {{BuiltinOperator::NEG, {0}, {1}}, {BuiltinOperator::NEG, {0}, {2}}, {BuiltinOperator::ADD, {1, 2}, {3}}},
      {0},
      {3}};
  for (BuiltinOperator second : {BuiltinOperator::NEG, BuiltinOperator::ABS}) {
    source.operators[1].code = second;
    Case c({source}, {{{{"x", {4}}, {"a", {4}}, {"y", {4}}},
                       {{BuiltinOperator::NEG, {0}, {1}}, {BuiltinOperator::ADD, {1, 1}, {2}}},
                       {0},
                       {2}}});
    c.op(0).origins = {0, 1};
    c.op(1).origins = {2};
    c.tensor(0).relations = {same(0)};
    c.tensor(1).relations = {same(1)};
    c.tensor(2).relations = {same(3)};
    c.gone(true, 2, "duplicate-of", {}, {{0, 1}});
    auto violations = c.violations();
    if (second == BuiltinOperator::NEG) {
      EXPECT_EQ(words(violations), "");
    } else {
      ASSERT_EQ(violations.size(), 1u) << words(violations);
      EXPECT_EQ(violations[0].law, 7);
    }
  }
}

/// A path may lead into a called subgraph and out of it, in loops too.
TEST(OriginCheck, FollowsCalls) {
  Graph outer{{{"x", {4}}, {"a", {4}}, {"c", {4}}, {"y", {4}}, {"side", {4}}},
              {{BuiltinOperator::NEG, {0}, {1}},
               {BuiltinOperator::CALL, {1}, {2}, 1},
               {BuiltinOperator::ABS, {2}, {3}},
               {BuiltinOperator::EXP, {0}, {4}}},
              {0},
              {3, 4}};
  Graph inner{{{"p", {4}}, {"q", {4}}}, {{BuiltinOperator::SIN, {0}, {1}}}, {0}, {1}, "inner"};
  Graph target{{{"x", {4}}, {"y", {4}}, {"side", {4}}},
               {{BuiltinOperator::ABS, {0}, {1}}, {BuiltinOperator::EXP, {0}, {2}}},
               {0},
               {1, 2}};
  auto make = [&] {
    Case c({outer, inner}, {target});
    c.map.target.subgraphs[0].source = {0, 1};
    c.op(0).origins = {0, 2, 4}; // the Sin of the inner subgraph is operator 4
    c.op(0).calls = {1};
    c.op(1).origins = {3};
    c.tensor(0).relations = {same(0)};
    c.tensor(1).relations = {same(3)};
    c.tensor(2).relations = {same(4)};
    c.gone(false, 1, "inlined", {{0, 0}});
    for (uint32_t id : {1, 2, 5, 6})
      c.gone(true, id, "fused-away", {{0, 0}});
    return c;
  };
  EXPECT_EQ(words(make().violations()), "");
  Case lie = make();
  lie.op(1).origins = {3, 4};
  auto violations = lie.violations();
  ASSERT_EQ(violations.size(), 1u) << words(violations);
  EXPECT_EQ(violations[0].law, 7);

  // What the call made is made by what makes the output of the subgraph, and by nothing else.
  Graph apart{{{"x", {4}}, {"c", {4}}, {"y", {4}}, {"side", {4}}},
              {{BuiltinOperator::SIN, {0}, {1}}, {BuiltinOperator::ABS, {1}, {2}}, {BuiltinOperator::EXP, {0}, {3}}},
              {0},
              {2, 3}};
  for (bool lies : {false, true}) {
    Case c({outer, inner}, {apart});
    c.map.target.subgraphs[0].source = {0, 1};
    c.op(0).origins = {0};
    c.op(lies ? 1 : 0).origins.push_back(4);
    c.op(0).calls = {1};
    c.op(1).origins.insert(c.op(1).origins.begin(), 2);
    c.op(2).origins = {3};
    c.tensor(0).relations = {same(0)};
    c.tensor(1).relations = {same(2)};
    c.tensor(2).relations = {same(3)};
    c.tensor(3).relations = {same(4)};
    c.gone(false, 1, "inlined", {{0, 0}});
    for (uint32_t id : {1, 5, 6})
      c.gone(true, id, "fused-away", {{0, 0}});
    auto found = c.violations();
    if (!lies)
      EXPECT_EQ(words(found), "");
    else
      EXPECT_TRUE(llvm::any_of(found, [](const Violation &v) {
        return v.law == 6 && v.text.find("source operator 4 (SIN") != std::string::npos;
      })) << words(found);
  }

  inner.tensors.push_back({"z", {4}});
  inner.operators.push_back({BuiltinOperator::CALL, {1}, {2}, 1}); // calls itself
  inner.outputs = {2};
  Case recursive = untouched({outer, inner});
  EXPECT_EQ(words(recursive.violations()), "");
}

TEST(OriginCheck, NamesAreEscapedAndManyViolationsCounted) {
  Graph graph = sourceGraph();
  graph.tensors[A].name = "a\x1b[31m\n\"\xff";
  Case c = untouched({graph});
  EXPECT_EQ(words(c.violations()), "");
  c.op(Mul).origins.clear();
  for (const Violation &violation : c.violations())
    for (char byte : violation.text)
      EXPECT_GE(static_cast<unsigned char>(byte), 0x20) << violation.text;
  EXPECT_FALSE(c.violations().empty());
  for (int i = 0; i < 5000; ++i)
    c.gone(true, 0x80000000u + static_cast<uint32_t>(i), "dead");
  auto violations = c.violations();
  EXPECT_LT(violations.size(), 500u);
  EXPECT_TRUE(llvm::any_of(violations, [](const Violation &v) { return v.text == "and 4900 more against this law"; }));
}

/// Names that are no UTF-8 stand in a side file with replacement characters.
TEST(OriginCheck, AcceptsReplacedNames) {
  Graph graph = sourceGraph();
  graph.tensors[A].name = "a\xff\xe2\x82z";
  Case c = untouched({graph});
  c.map.source.subgraphs[0].tensors[A].name = c.tensor(A).name = c.op(Mul).outputs[0] = "a\xef\xbf\xbd\xef\xbf\xbdz";
  EXPECT_EQ(words(c.violations()), "");
  c.tensor(A).name = "a??z";
  EXPECT_FALSE(c.violations().empty());
}

namespace {
Graph chain(int32_t length) {
  Graph graph;
  graph.tensors.push_back({"x", {4}});
  for (int32_t i = 0; i < length; ++i) {
    graph.tensors.push_back({"", {4}});
    graph.operators.push_back({BuiltinOperator::NEG, {i}, {i + 1}});
  }
  graph.inputs = {0};
  graph.outputs = {length};
  return graph;
}
} // namespace

/// Law 7 asks about reachability; none of these may take more than moments.
TEST(OriginCheck, LongChains) {
  constexpr int32_t length = 100'000;
  Case same = untouched({chain(length)});
  EXPECT_EQ(words(same.violations()), "");

  Case merged({chain(length)}, {chain(1)});
  merged.tensor(0).relations = {::same(0)};
  merged.tensor(1).relations = {::same(length)};
  for (uint32_t id = 0; id < length; ++id) {
    merged.op(0).origins.push_back(id);
    if (id)
      merged.gone(true, id, "fused-away", {{0, 0}});
  }
  EXPECT_EQ(words(merged.violations()), "");

  // Each operator also claims the first one, which comes before what all but it are given, and the last one, which lies
  // on no path.
  Case first = untouched({chain(length)});
  for (OperatorRow &row : first.map.target.subgraphs[0].operators)
    if (row.origins[0])
      row.origins.insert(row.origins.begin(), 0);
  auto early = first.violations();
  EXPECT_TRUE(llvm::any_of(early, [](const Violation &v) { return v.law == 7; }));
  for (const Violation &violation : early)
    EXPECT_TRUE(violation.law == 9 || violation.law == 7) << violation.text;
  for (OperatorRow &row : first.map.target.subgraphs[0].operators)
    if (row.origins.back() + 1 < length)
      row.origins.push_back(length - 1);
  auto violations = first.violations();
  EXPECT_TRUE(llvm::any_of(violations, [](const Violation &v) { return v.law == 7; }));

  // Every operator claims another one behind it.
  Case behind = untouched({chain(length)});
  for (OperatorRow &row : behind.map.target.subgraphs[0].operators)
    if (uint32_t id = row.origins[0]; id + 100 < length)
      row.origins.push_back(id + 100);
  violations = behind.violations();
  EXPECT_TRUE(llvm::any_of(violations, [](const Violation &v) { return v.law == 7; }));
}

/// A movement that trades places with another one is a claim of who uses it, not a way to claim what comes later.
TEST(OriginCheck, NoMovementOfLaterOperators) {
  Graph graph;
  for (const char *name : {"x", "a", "b", "c", "d"})
    graph.tensors.push_back({name, {4}});
  graph.operators = {{BuiltinOperator::RESHAPE, {0}, {1}},
                     {BuiltinOperator::NEG, {1}, {2}},
                     {BuiltinOperator::RESHAPE, {2}, {3}},
                     {BuiltinOperator::ABS, {3}, {4}}};
  graph.inputs = {0};
  graph.outputs = {4};
  graph.tensors[2].shape = graph.tensors[1].shape = {2, 2};
  Case c = untouched({graph});
  EXPECT_EQ(words(c.violations()), "");
  c.op(0).origins = {0, 2};
  auto violations = c.violations();
  EXPECT_TRUE(llvm::any_of(violations, [](const Violation &v) { return v.law == 7; }));
}
