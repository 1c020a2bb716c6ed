#include "commands/Command.h"
#include "commands/Files.h"
#include "commands/Shapes.h"

#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace origo::commands {

namespace {

enum class Chain { Relu, Pair, Add, Reshape };

/// Writes a model of a chosen size, for benchmarks and for trying limits.
struct MakeRequest {
  uint64_t operators = 0, weights = 0, seed = 1;
  bool withMul = false, listShapes = false;
  Chain chain = Chain::Relu;
  std::string shape;
};

} // namespace

template <>
inline constexpr auto
    choicesOf<Chain> = std::to_array<ChoiceOf<Chain>>({{"relu", Chain::Relu, "Relu (default)"},
                                                       {"pair", Chain::Pair, "Add of a shared constant, then Relu"},
                                                       {"add", Chain::Add, "Add of a shared constant"},
                                                       {"reshape", Chain::Reshape, "Reshape to and fro"}});

namespace {

constexpr std::array makeRows{
    option<&MakeRequest::operators>("operators", "N", "number of operators (default: as few as possible)"),
    option<&MakeRequest::weights>("weights", "N", "bytes of weights (default: 0)"),
    option<&MakeRequest::withMul>("mul", "a Mul by a constant a channel behind each FullyConnected"),
    option<&MakeRequest::seed>("seed", "N", "of the weights (default: 1)"),
    option<&MakeRequest::chain>("chain", "", "what the operators without weights are"),
    option<&MakeRequest::shape>("shape", "name",
                                "a graph that is the worst case of something, instead of a line; names: --list-shapes"),
    option<&MakeRequest::listShapes>("list-shapes",
                                     "print name, divisor, flags of circle2circle and meaning of each shape, and stop"),
};

/// The weights of a layer are a square of at most 4 MiB, which is above what is kept in memory.
constexpr uint64_t maxWidth = 1024;

/// Builds one subgraph as a line of operators: each takes what the one before it made.
class Line {
public:
  Line(Model &model, PayloadStore &store, int32_t width, uint64_t seed)
      : model(model), store(store), graph(model.addSubgraph()), width(width), seed(seed) {
    model.addBuffer({});
    graph.name = "main";
    last = &tensor("input", TensorType::FLOAT32, {1, width});
    model.setInputs(graph, last);
  }

  llvm::Error fullyConnected(bool relu) {
    llvm::Expected<Value *> filter = constant("weights", {width, width}, 0, 1 / std::sqrt(float(width)));
    if (!filter)
      return filter.takeError();
    llvm::Expected<Value *> bias = constant("bias", {width}, 0, 0.1f);
    if (!bias)
      return bias.takeError();
    append(BuiltinOperator::FULLY_CONNECTED, {*filter, *bias}, relu);
    return llvm::Error::success();
  }
  llvm::Error mulByChannel() {
    llvm::Expected<Value *> scale = constant("scale", {width}, 1, 0.5f);
    if (!scale)
      return scale.takeError();
    append(BuiltinOperator::MUL, *scale, true);
    return llvm::Error::success();
  }
  llvm::Error fill(Chain kind, uint64_t count) {
    Value *shared[2] = {};
    if (kind == Chain::Add || kind == Chain::Pair) {
      llvm::Expected<Value *> addend = constant("addend", {1}, 1, 0.5f);
      if (!addend)
        return addend.takeError();
      shared[0] = *addend;
    } else if (kind == Chain::Reshape) {
      for (int i : {0, 1}) {
        int32_t shape[2] = {i ? 1 : width, i ? width : 1};
        shared[i] = &tensor("shape", TensorType::INT32, {2});
        shared[i]->buffer = &model.addBuffer(Payload::owned({reinterpret_cast<char *>(shape), sizeof(shape)}));
      }
    }
    for (uint64_t i = 0; i < count; ++i)
      switch (kind) {
      case Chain::Relu:
        append(BuiltinOperator::RELU, {}, false);
        break;
      case Chain::Pair:
        append(i % 2 ? BuiltinOperator::RELU : BuiltinOperator::ADD, i % 2 ? llvm::ArrayRef<Value *>() : shared[0],
               false);
        break;
      case Chain::Add:
        append(BuiltinOperator::ADD, shared[0], false);
        break;
      case Chain::Reshape:
        append(BuiltinOperator::RESHAPE, shared[i % 2], false);
        last->shape = i % 2 ? llvm::SmallVector<int32_t, 4>{1, width} : llvm::SmallVector<int32_t, 4>{width, 1};
        break;
      }
    return llvm::Error::success();
  }
  void finish() { model.setOutputs(graph, last); }

private:
  Model &model;
  PayloadStore &store;
  Subgraph &graph;
  int32_t width;
  uint64_t seed;
  Value *last;
  uint64_t count = 0;

  Value &tensor(llvm::StringRef name, TensorType type, llvm::ArrayRef<int32_t> shape) {
    Value &value = model.addValue(graph);
    value.name = model.copy((name + llvm::Twine(count)).str());
    value.type = type;
    value.hasShape = true;
    value.shape = shape;
    return value;
  }

  /// Numbers that depend on nothing but the seed and the tensor's position, evenly spread around `centre`.
  llvm::Expected<Value *> constant(llvm::StringRef name, llvm::ArrayRef<int32_t> shape, float centre, float spread) {
    Value &value = tensor(name, TensorType::FLOAT32, shape);
    uint64_t stream = seed * 0x9E3779B97F4A7C15u + (uint64_t(value.index) << 40);
    llvm::Expected<Payload> payload =
        store.make(*value.elementCount() * sizeof(float), [&](llvm::MutableArrayRef<uint8_t> window, uint64_t offset) {
          for (size_t i = 0; i < window.size(); i += sizeof(float)) {
            uint64_t bits = stream + offset + i; // the finaliser of splitmix64
            bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9u;
            bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EBu;
            float number = centre + spread * (float(bits >> 40) / (1 << 23) - 1);
            std::memcpy(window.data() + i, &number, sizeof(float));
          }
        });
    if (!payload)
      return payload.takeError();
    value.buffer = &model.addBuffer(*payload);
    return &value;
  }

  void append(BuiltinOperator code, llvm::ArrayRef<Value *> others, bool relu) {
    ++count;
    llvm::SmallVector<Value *, 3> operands{last};
    operands.append(others.begin(), others.end());
    last = &tensor("t", TensorType::FLOAT32, {1, width});
    Operator &op = model.addOperator(graph, code, operands, last);
    op.options.member = static_cast<uint8_t>(op.info()->options);
    if (const wire::TableType *type = op.info()->optionsType()) {
      llvm::SmallVector<wire::ScalarEdit, 1> edits;
      if (relu)
        edits.push_back({type->find("fused_activation_function")->slot,
                         static_cast<int64_t>(circle::ActivationFunctionType::RELU)});
      op.options = model.editOptions(op.options, edits);
    }
  }
};

llvm::Error makeLine(const MakeRequest &request, Model &model, PayloadStore &store) {
  // Layers of one width that hold at least the bytes that were asked for.
  uint64_t weights = request.weights;
  uint64_t side = weights ? static_cast<uint64_t>(std::ceil(std::sqrt(double(weights) / sizeof(float)))) : 16;
  int32_t width = static_cast<int32_t>(std::clamp<uint64_t>(side, 1, maxWidth));
  uint64_t layers = llvm::divideCeil(weights, uint64_t(width) * width * sizeof(float));
  uint64_t heavy = layers * (request.withMul ? 2 : 1);
  uint64_t all = request.operators ? request.operators : std::max<uint64_t>(heavy, 1);
  if (all < heavy)
    return makeError("that many bytes of weights need " + llvm::Twine(heavy) + " operators");

  Line line(model, store, width, request.seed);
  for (uint64_t i = 0; i < layers; ++i) {
    if (llvm::Error error = line.fullyConnected(!request.withMul))
      return error;
    if (request.withMul)
      if (llvm::Error error = line.mulByChannel())
        return error;
  }
  if (llvm::Error error = line.fill(request.chain, all - heavy))
    return error;
  line.finish();
  return llvm::Error::success();
}

llvm::Error makeModel(MakeRequest &request, Words words, const Door &door, Verdict &) {
  if (request.listShapes) {
    for (const Shape &shape : allShapes())
      llvm::outs() << shape.name << '\t' << shape.divisor << '\t' << shape.flags << '\t' << shape.about << '\n';
    return llvm::Error::success();
  }
  if (words.size() != 1)
    return makeError("needs OUTPUT; --help shows examples");
  const std::string &output = words.front();
  if (llvm::Error error = checkOutput(output))
    return error;
  Imported made;
  made.model = std::make_unique<Model>();
  Model &model = *made.model;
  llvm::StringRef directory = llvm::sys::path::parent_path(output);
  PayloadStore store(directory.empty() ? "." : directory.str());
  if (!request.shape.empty()) {
    const Shape *shape = llvm::find_if(allShapes(), [&](const Shape &s) { return s.name == request.shape; });
    if (shape == allShapes().end())
      return makeError("there is no shape '" + printable(request.shape) + "': --list-shapes prints their names");
    makeShape(model, *shape, std::max<uint64_t>(request.operators, 1));
  } else if (llvm::Error error = makeLine(request, model, store)) {
    return error;
  }

  bool tflite = kindOf(output) == FileKind::Tflite;
  model.format = tflite ? Format::Tflite : Format::Circle;
  model.version = tflite ? 3 : 0;
  ExportOptions options;
  options.format = model.format;
  options.embed = origin::Embed::None;
  return save(made, output, options, door);
}

} // namespace

const Command modelCommand = makeCommand<makeModel>(
    "make-model", "OUTPUT",
    "Writes a model of a chosen size: a line of operators with seeded weights, or another shape.\n\n"
    "  make-model --weights 1000000000 --mul big.tflite    a Mul behind each FullyConnected\n"
    "  make-model --operators 1000000 --chain=add long.circle\n"
    "  make-model --operators 10000 --shape=fold-chain deep.circle\n",
    [] { return Options(makeRows); });

} // namespace origo::commands
