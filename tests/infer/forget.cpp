// Writes a model as a program does that keeps no origins: without its map, with numbers in the place of names,
// operators in another topological order, tensors in another order. Prints where each operator and tensor was.
//
// usage: forget MODEL OUTPUT SEED [spoil | rescale]
// spoil: besides, one constant is wrong by 1 % in a channel; rescale: some tensors are the source's times a factor for
// each channel, or for all, which the weights of their user make up for

#include "export/Export.h"
#include "import/Import.h"
#include "ir/Activation.h"
#include "ir/ConstantView.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <cstring>
#include <random>

using namespace origo;

namespace {

using Random = std::mt19937;

/// What has effects keeps its order, as it is read and written by others.
void shuffle(Subgraph &graph, Random &random) {
  std::vector<Operator *> ready, order;
  llvm::DenseMap<const Operator *, unsigned> waits;
  Operator *last = nullptr;
  llvm::DenseMap<const Operator *, Operator *> next;
  for (Operator &op : graph.operators) {
    llvm::DenseSet<const Operator *> makers;
    for (const Use &use : op.operands())
      if (use.get() && use.get()->producer())
        makers.insert(use.get()->producer());
    waits[&op] = makers.size();
    if (op.effects() ||
        llvm::any_of(op.operands(), [](const Use &use) { return use.get() && use.get()->isVariable; })) {
      if (last) {
        next[last] = &op;
        ++waits[&op];
      }
      last = &op;
    }
    if (!waits[&op])
      ready.push_back(&op);
  }
  while (!ready.empty()) {
    size_t chosen = random() % ready.size();
    Operator *op = ready[chosen];
    ready.erase(ready.begin() + static_cast<ptrdiff_t>(chosen));
    order.push_back(op);
    llvm::DenseSet<Operator *> users;
    for (const Value *value : op->results())
      if (value)
        value->forEachUse([&](const Use &use) { users.insert(use.user()); });
    std::vector<Operator *> sorted(users.begin(), users.end());
    llvm::sort(sorted, [](const Operator *a, const Operator *b) { return a->index < b->index; });
    for (Operator *user : sorted)
      if (--waits[user] == 0)
        ready.push_back(user);
    if (Operator *user = next.lookup(op); user && --waits[user] == 0)
      ready.push_back(user);
  }
  if (order.size() != graph.operators.size())
    return;
  while (!graph.operators.empty())
    graph.operators.remove(graph.operators.front());
  for (Operator *op : order)
    graph.operators.push_back(*op);
  std::shuffle(graph.values.begin(), graph.values.end(), random);
}

/// One constant that an operator computes with, wrong by 1 % or, where that is nothing, by two quanta, in one channel.
const Value *spoil(Model &model, Random &random) {
  std::vector<Value *> constants;
  for (Value *value : model.subgraphs[0]->values) {
    bool known =
        value->type == TensorType::FLOAT32 || ((value->type == TensorType::INT8 || value->type == TensorType::INT32) &&
                                               value->quantization && value->quantization->quantized());
    if (value->isConstant() && known && !value->sparsity() && value->payload().size() >= 8)
      constants.push_back(value);
  }
  if (constants.empty())
    return nullptr;
  Value &value = *constants[random() % constants.size()];
  std::string bytes(reinterpret_cast<const char *>(value.payload().bytes().data()), value.payload().size());
  bool any = false;
  auto channels = static_cast<size_t>(value.shape.empty() ? 1 : value.rank() == 1 ? value.shape[0] : value.shape[0]);
  size_t elements = bytes.size() / (value.type == TensorType::INT8 ? 1 : 4), channel = random() % channels;
  for (size_t i = 0; i < elements; ++i) {
    if (i / std::max<size_t>(elements / channels, 1) != channel)
      continue;
    if (value.type == TensorType::FLOAT32) {
      float x;
      std::memcpy(&x, &bytes[4 * i], 4);
      any |= x != 0;
      x *= 1.01f;
      std::memcpy(&bytes[4 * i], &x, 4);
    } else if (value.type == TensorType::INT32) {
      int32_t x;
      std::memcpy(&x, &bytes[4 * i], 4);
      x += static_cast<int32_t>(std::copysign(std::max(std::ceil(std::fabs(x * 0.01)), 2.0), x));
      any = true;
      std::memcpy(&bytes[4 * i], &x, 4);
    } else {
      auto x = static_cast<int8_t>(bytes[i]);
      bytes[i] = static_cast<char>(x > 0 ? x - 2 : x + 2);
      any = true;
    }
  }
  value.buffer = &model.addBuffer(Payload::owned(std::move(bytes)));
  return any ? &value : nullptr;
}

/// The axes of the results and of the operands in weights; none: the operator has no weights.
struct WeightAxes {
  int results = -1, operands = -1;
};
WeightAxes axesOf(const Operator &op) {
  switch (op.code) {
  case BuiltinOperator::CONV_2D:
    return {0, 3};
  case BuiltinOperator::DEPTHWISE_CONV_2D:
    return {3, 3};
  case BuiltinOperator::FULLY_CONNECTED:
    return {0, 1};
  default:
    return {};
  }
}

/// The operand is a float constant of this operator alone.
bool isOwnConstant(const Operator &op, unsigned operand) {
  const Value *value = operand < op.numOperands() ? op.operand(operand) : nullptr;
  return value && value->isConstant() && value->type == TensorType::FLOAT32 && !value->sparsity() && value->hasOneUse();
}

void scale(Model &model, Value &value, int axis, llvm::ArrayRef<float> factors) {
  size_t inner = 1;
  for (int i = axis + 1; i < static_cast<int>(value.rank()); ++i)
    inner *= static_cast<size_t>(value.shape[static_cast<size_t>(i)]);
  std::string bytes(reinterpret_cast<const char *>(value.payload().bytes().data()), value.payload().size());
  for (size_t i = 0; i < bytes.size() / 4; ++i) {
    float x;
    std::memcpy(&x, &bytes[4 * i], 4);
    x *= factors[i / inner % factors.size()];
    std::memcpy(&bytes[4 * i], &x, 4);
  }
  value.buffer = &model.addBuffer(Payload::owned(std::move(bytes)));
}

/// Scales what some operators with weights make, where an operator with weights is all that uses it. How many.
unsigned rescale(Model &model, Random &random) {
  unsigned rescaled = 0;
  for (Operator &op : model.subgraphs[0]->operators) {
    WeightAxes axes = axesOf(op);
    auto activation = axes.results < 0 ? circle::ActivationFunctionType::TANH : activationOf(op);
    if ((activation != circle::ActivationFunctionType::NONE && activation != circle::ActivationFunctionType::RELU) ||
        !isOwnConstant(op, 1) || (op.numOperands() > 2 && op.operand(2) && !isOwnConstant(op, 2)) ||
        !op.result()->hasOneUse() || llvm::is_contained(model.subgraphs[0]->outputs, op.result()))
      continue;
    Operator *user = nullptr;
    op.result()->forEachUse([&](const Use &use) { user = use.user(); });
    WeightAxes its = user ? axesOf(*user) : WeightAxes{};
    if (its.operands < 0 || user->operand(0) != op.result() || !isOwnConstant(*user, 1) ||
        (user->code == BuiltinOperator::DEPTHWISE_CONV_2D && user->operand(1)->shape[3] != op.result()->shape.back()) ||
        (rescaled && random() % 2))
      continue;
    auto channels = static_cast<size_t>(op.operand(1)->shape[static_cast<size_t>(axes.results)]);
    if (channels != static_cast<size_t>(user->operand(1)->shape[static_cast<size_t>(its.operands)]))
      continue;
    std::vector<float> factors(random() % 3 ? channels : 1), inverse;
    for (float &factor : factors)
      factor = std::exp2(static_cast<float>(random() % 1024) / 512 - 1);
    for (float factor : factors)
      inverse.push_back(1 / factor);
    scale(model, *op.operand(1), axes.results, factors);
    if (op.numOperands() > 2 && op.operand(2))
      scale(model, *op.operand(2), 0, factors);
    scale(model, *user->operand(1), its.operands, inverse);
    ++rescaled;
  }
  return rescaled;
}

} // namespace

int main(int argc, char **argv) {
  if (argc < 4)
    return 1;
  ImportOptions options;
  options.origin = OriginMode::Restart;
  auto imported = importModel(argv[1], options);
  if (!imported) {
    llvm::errs() << llvm::toString(imported.takeError()) << '\n';
    return 1;
  }
  Model &model = *imported->model;
  Random random(static_cast<uint32_t>(std::strtoul(argv[3], nullptr, 10)));
  model.number();
  Random spoiler(random() + 1); // so that order and names are those of the same seed without
  const llvm::StringRef how = argc > 4 ? argv[4] : "";
  const Value *spoilt = how == "spoil" ? spoil(model, spoiler) : nullptr;
  if (how == "spoil" ? !spoilt : how == "rescale" && !rescale(model, spoiler))
    return 3;
  std::vector<std::vector<const Operator *>> operators;
  llvm::DenseMap<const void *, unsigned> before;
  for (auto &graph : model.subgraphs) {
    for (Operator &op : graph->operators)
      before[&op] = op.index;
    for (Value *value : graph->values)
      before[value] = value->index;
    shuffle(*graph, random);
  }
  model.number();
  unsigned number = 0;
  for (auto &graph : model.subgraphs)
    for (Value *value : graph->values)
      value->name = llvm::StringRef(std::to_string(number++));
  for (Signature &signature : model.signatures)
    for (auto *entries : {&signature.inputs, &signature.outputs})
      for (auto [i, entry] : llvm::enumerate(*entries))
        entry.name = model.copy(std::to_string(i));
  auto print = [&](const char *what, auto list) {
    llvm::outs() << '"' << what << "\": [";
    bool first = true;
    for (auto &graph : model.subgraphs) {
      llvm::outs() << (first ? "[" : ", [");
      first = false;
      bool begin = true;
      list(*graph, [&](const void *each) {
        llvm::outs() << (begin ? "" : ", ") << before.lookup(each);
        begin = false;
      });
      llvm::outs() << ']';
    }
    llvm::outs() << ']';
  };
  llvm::outs() << '{';
  print("operators", [](Subgraph &graph, auto each) {
    for (Operator &op : graph.operators)
      each(&op);
  });
  llvm::outs() << ", ";
  print("tensors", [](Subgraph &graph, auto each) {
    for (Value *value : graph.values)
      each(value);
  });
  if (spoilt)
    llvm::outs() << ", \"spoilt\": " << spoilt->index;
  llvm::outs() << "}\n";
  ExportOptions to;
  to.format = model.format;
  to.embed = origin::Embed::None;
  if (llvm::Error error = exportModel(model, imported->lineage, argv[2], to)) {
    llvm::errs() << llvm::toString(std::move(error)) << '\n';
    return 1;
  }
  return 0;
}
