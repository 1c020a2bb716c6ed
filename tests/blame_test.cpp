#include "eval/RandomInput.h"
#include "eval/RealNumbers.h"
#include "import/Import.h"
#include "report/errors/Errors.h"
#include "report/errors/Print.h"
#include "tests/RealModels.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <random>

/// Seeded faults in quantised networks: network, layer and fault are drawn, and the layer has to be blamed first.
/// Faults count that move a layer's output by more than ten times its own error before.

using namespace origo;
using namespace origo::eval;
using namespace origo::report;
using namespace origo::test;

namespace {

enum class Fault { WeightScale, OutputScale, NoBias, ZeroPoint, FilterAxes };
const char *const names[] = {"weights' scale off by 2", "range of the output halved", "bias dropped",
                             "zero point shifted", "filter's axes exchanged"};

Quantization *changeable(Model &model, Value &value, std::vector<float> &scales, std::vector<int64_t> &zeros) {
  if (!value.quantization || value.quantization->scale.empty())
    return nullptr;
  scales.assign(value.quantization->scale.begin(), value.quantization->scale.end());
  zeros.assign(value.quantization->zeroPoint.begin(), value.quantization->zeroPoint.end());
  return model.create(Quantization(*value.quantization));
}

/// Puts the fault into an operator; what it was is put back when this goes.
class Injected {
public:
  Injected(Model &model, Operator &op, Fault fault) : done(apply(model, op, fault)) {}
  ~Injected() {
    if (value && was)
      value->quantization = was;
    for (auto &[buffer, payload] : llvm::reverse(kept))
      buffer->payload = payload;
  }

private:
  Value *value = nullptr;
  const Quantization *was = nullptr;
  std::vector<std::pair<Buffer *, Payload>> kept;
  std::vector<float> scales;
  std::vector<int64_t> zeros;

  static bool isWeighted(const Operator &op) {
    return op.code == BuiltinOperator::CONV_2D || op.code == BuiltinOperator::DEPTHWISE_CONV_2D ||
           op.code == BuiltinOperator::FULLY_CONNECTED;
  }
  static std::vector<Operator *> users(const Value &value) {
    std::vector<Operator *> list;
    value.forEachUse([&](const Use &use) { list.push_back(use.user()); });
    return list;
  }
  /// No operator here wants the scale of its result to be that of an operand: else a scale is wrong in two layers.
  static bool standsAlone(const Operator &op) {
    auto free = [](const Operator &any) {
      return isWeighted(any) || any.code == BuiltinOperator::ADD || any.code == BuiltinOperator::MUL;
    };
    return free(op) && llvm::all_of(users(*op.result()), [&](const Operator *user) { return free(*user); });
  }

  bool apply(Model &model, Operator &op, Fault fault) {
    bool weighted = isWeighted(op);
    switch (fault) {
    case Fault::WeightScale:
    case Fault::OutputScale:
    case Fault::ZeroPoint: {
      Value *at = fault == Fault::WeightScale ? (weighted ? op.operand(1) : nullptr) : op.result();
      if (!at || at->isInterface() || (fault == Fault::WeightScale && !at->isConstant()))
        return false;
      if (fault != Fault::WeightScale && !standsAlone(op))
        return false;
      Quantization *now = changeable(model, *at, scales, zeros);
      if (!now || (fault == Fault::ZeroPoint && zeros.size() != 1))
        return false;
      for (float &scale : scales)
        scale *= fault == Fault::WeightScale ? 2.f : fault == Fault::OutputScale ? 0.5f : 1.f;
      if (fault == Fault::ZeroPoint)
        zeros[0] += zeros[0] > 0 ? -64 : 64;
      value = at;
      was = at->quantization;
      now->scale = model.copy<float>(llvm::ArrayRef<float>(scales));
      now->zeroPoint = model.copy<int64_t>(llvm::ArrayRef<int64_t>(zeros));
      at->quantization = now;
      // A bias has the scale of what it is added to.
      if (fault == Fault::OutputScale)
        for (Operator *user : users(*at))
          if (isWeighted(*user) && user->operand(0) == at)
            change(user->operand(2), [](std::string &bytes, const Value &bias) {
              auto *numbers = reinterpret_cast<int32_t *>(bytes.data());
              for (size_t i = 0; bias.type == TensorType::INT32 && i < bytes.size() / 4; ++i)
                numbers[i] *= 2;
              return true;
            });
      return true;
    }
    case Fault::NoBias:
      return weighted && change(op.operand(2), [](std::string &bytes, const Value &) {
               std::fill(bytes.begin(), bytes.end(), '\0');
               return true;
             });
    case Fault::FilterAxes:
      return weighted && op.code != BuiltinOperator::FULLY_CONNECTED &&
             change(op.operand(1), [](std::string &bytes, const Value &filter) {
               if (filter.rank() != 4 || filter.type != TensorType::INT8 || filter.shape[1] != filter.shape[2] ||
                   filter.shape[1] == 1)
                 return false;
               std::string old = bytes;
               int32_t size = filter.shape[1], inner = filter.shape[3];
               for (int32_t o = 0; o < filter.shape[0]; ++o)
                 for (int32_t y = 0; y < size; ++y)
                   for (int32_t x = 0; x < size; ++x)
                     std::memcpy(&bytes[((o * size + y) * size + x) * inner], &old[((o * size + x) * size + y) * inner],
                                 inner);
               return true;
             });
    }
    return false;
  }

  template <class Change> bool change(Value *at, Change make) {
    if (!at || !at->isConstant() || !at->payload().hasBytes())
      return false;
    std::string bytes(at->payload().bytes().begin(), at->payload().bytes().end());
    if (!make(bytes, *at))
      return false;
    kept.emplace_back(at->buffer, at->buffer->payload);
    at->buffer->payload = Payload::owned(std::move(bytes));
    return true;
  }

public:
  const bool done;
};

struct Network {
  std::string name;
  Imported source, result;
  std::vector<ErrorRow> clean = {};
  double error = 0; ///< of the outputs
};

struct Blame {
  std::vector<ErrorRow> rows;
  std::vector<const ErrorRow *> order; ///< the worst first
  double error = 0;                    ///< of the outputs
  double swapped = 0;                  ///< the same with the source's operator in place of one layer
  double withReaders = 0, readers = 0; ///< and with those that read its result, and with these alone
};

CompileOptions fast() {
  CompileOptions options;
  options.engine = Engine::Fast;
  return options;
}

llvm::Expected<std::vector<OwnedTensor>> inputsOf(llvm::ArrayRef<Port> ports, uint32_t seed) {
  std::vector<OwnedTensor> inputs;
  for (const Port &port : ports) {
    auto input = randomInput(port, static_cast<unsigned>(inputs.size()), seed);
    if (!input)
      return input.takeError();
    inputs.push_back(std::move(*input));
  }
  return inputs;
}

/// `suspect`: the tensor of a layer that is swapped as well.
llvm::Expected<Blame> blame(const Network &network, const Value *suspect = nullptr) {
  ErrorOptions options;
  options.compile = fast();
  auto run = ErrorRun::of(network.source, network.result, options);
  if (!run)
    return run.takeError();
  std::string signature = run->signatures().front();
  auto ports = run->inputs(signature);
  if (!ports)
    return ports.takeError();
  auto inputs = inputsOf(*ports, 1);
  if (!inputs)
    return inputs.takeError();
  OwnErrors own;
  if (llvm::Error error = run->add(signature, *inputs, &own))
    return error;
  run->endRecord();
  if (llvm::Error error = run->addEffects(signature, *inputs, own))
    return error;
  Blame blame;
  blame.rows = run->rows();
  for (const ErrorRow &row : blame.rows)
    if (row.effect)
      blame.order.push_back(&row);
  auto error = run->errorWith(signature, *inputs, {});
  Layers layer, both, readers;
  if (suspect) {
    layer = both = {suspect->producer()};
    suspect->forEachUse([&](const Use &use) { readers.insert(use.user()); });
    both.insert(readers.begin(), readers.end());
  }
  auto errorOf = [&](const Layers &layers) { return run->errorWith(signature, *inputs, closed(layers, run->pairs())); };
  auto swapped = errorOf(layer), all = errorOf(both), others = errorOf(readers);
  if (!error || !swapped || !all || !others)
    return firstError(error, swapped, all, others);
  blame.error = *error;
  blame.swapped = *swapped;
  blame.withReaders = *all;
  blame.readers = *others;
  const ErrorMetric &metric = *findErrorMetric("MSE");
  llvm::stable_sort(blame.order,
                    [&](const ErrorRow *a, const ErrorRow *b) { return blameOf(*a, metric) > blameOf(*b, metric); });
  return blame;
}

double ownOf(llvm::ArrayRef<ErrorRow> rows, const Value *value) {
  for (const ErrorRow &row : rows)
    if (row.value == value && !row.own.empty())
      return std::sqrt(row.own.figures(std::nullopt).mse);
  return 0;
}

std::optional<Network> load(const ModelFolder &models, const std::string &name, const std::string &how,
                            const std::string &scratch) {
  std::string from = models.at(name + ".tflite"), to = scratch + "/" + name + ".tflite";
  std::string command = std::string(ORIGO_BIN_DIR) + "/circle-quantizer --scheme int8 " + how +
                        " --input_data random '" + from + "' '" + to + "' 2>/dev/null";
  if (std::system(command.c_str()) != 0)
    return std::nullopt;
  ImportOptions alone;
  alone.origin = OriginMode::Restart;
  auto source = importModel(from, alone), result = importModel(to);
  if (!source || !result) {
    llvm::consumeError(source.takeError());
    llvm::consumeError(result.takeError());
    return std::nullopt;
  }
  return Network{name, std::move(*source), std::move(*result)};
}

void ofAHundredFaultsTheLayerIsBlamedFirst(const ModelFolder &models, std::initializer_list<const char *> of) {
  llvm::SmallString<128> scratch;
  ASSERT_FALSE(llvm::sys::fs::createUniqueDirectory("blame", scratch));
  std::vector<Network> networks;
  for (const char *name : of) {
    auto network = load(models, name, networks.size() % 2 ? "--per-tensor" : "", scratch.str().str());
    ASSERT_TRUE(network) << name;
    auto clean = blame(*network);
    ASSERT_TRUE(static_cast<bool>(clean)) << llvm::toString(clean.takeError());
    network->clean = std::move(clean->rows);
    network->error = clean->error;
    networks.push_back(std::move(*network));
  }
  llvm::sys::fs::remove_directories(scratch);

  std::mt19937 random(15);
  unsigned counted = 0, first = 0, byKind[5] = {}, drawn = 0, byOwn = 0, moved = 0, cured = 0;
  unsigned stretched = 0, restored = 0, byReaders = 0; // ranges that double the error
  for (; counted < 100 && drawn < 2000; ++drawn) {
    Network &network = networks[random() % networks.size()];
    auto &operators = network.result.model->subgraphs[0]->operators;
    auto at = std::next(operators.begin(), random() % operators.size());
    Fault fault = static_cast<Fault>(random() % 5);
    if (!at->result() || at->result()->relations.empty() || at->synthetic)
      continue;
    Injected injected(*network.result.model, *at, fault);
    if (!injected.done)
      continue;
    Pairs pairs = Pairs::of(network.source, network.result);
    auto sources = pairs.sourcesOf(*at->result());
    if (sources.empty())
      continue;
    const Value *layer = sources.back();
    auto now = blame(network, layer);
    if (!now) {
      llvm::consumeError(now.takeError());
      continue;
    }
    double before = ownOf(network.clean, layer), after = ownOf(now->rows, layer);
    if (!(after > 10 * before) || after == 0)
      continue;
    ++counted;
    ++byKind[static_cast<int>(fault)];
    auto cures = [&](double error) { return error - network.error < 0.5 * (now->error - network.error); };
    // What is stored in a range that is too small is so too when the source has computed it; but between two layers of
    // the source it is not stored.
    bool stored = fault == Fault::OutputScale || fault == Fault::ZeroPoint;
    if (now->error > 2 * network.error) {
      (stored ? stretched : moved) += 1;
      (stored ? restored : cured) += cures(stored ? now->withReaders : now->swapped);
      byReaders += stored && cures(now->readers);
    }
    bool right = !now->order.empty() && now->order.front()->value == layer;
    const Value *most = nullptr;
    double ratio = -1;
    for (const ErrorRow &row : now->rows)
      if (row.scale && !row.own.empty())
        if (auto steps = row.own.figures(row.scale).srmse; steps && *steps > ratio) {
          ratio = *steps;
          most = row.value;
        }
    byOwn += most == layer;
    first += right;
    if (!right) {
      size_t rank = 0;
      while (rank < now->order.size() && now->order[rank]->value != layer)
        ++rank;
      llvm::outs() << network.name << ": " << names[static_cast<int>(fault)] << " in \"" << layer->name
                   << "\" comes in place " << rank + 1 << ", after \"" << now->order.front()->value->name
                   << "\", effect " << (rank < now->order.size() ? *now->order[rank]->effect : -1) << " of "
                   << *now->order.front()->effect << "\n";
    }
  }
  llvm::outs() << counted << " faults of " << drawn << " drawn, " << first
               << " blamed first; by own error in steps: " << byOwn << "; ";
  for (int i = 0; i < 5; ++i)
    llvm::outs() << byKind[i] << " " << names[i] << (i < 4 ? ", " : "\n");
  llvm::outs() << moved
               << " of what is no range double the error of the outputs, and of these swapping the layer cures "
               << cured << "\n";
  llvm::outs() << stretched << " ranges do so, and of these swapping the layer with those that read it cures "
               << restored << ", swapping only these " << byReaders << "\n";
  EXPECT_GE(stretched, 5u);
  EXPECT_GE(restored * 100, stretched * 95);
  EXPECT_LE(byReaders * 10, stretched);
  EXPECT_GE(moved, 20u);
  EXPECT_GE(cured * 100, moved * 95);
  EXPECT_EQ(counted, 100u);
  EXPECT_GE(first, 95u);
}

TEST(Blame, OfAHundredFaultsTheLayerIsBlamedFirst) {
  ofAHundredFaultsTheLayerIsBlamedFirst(ownNetworks(),
                                        {"mobilenet_fused_f32", "mobilenet_unfused_f32", "resnet_f32", "densenet_f32",
                                         "deeplab_f32", "pyramid_f32", "blazeface_f32", "inception_f32"});
}
TEST(BlamePublicModels, OfAHundredFaultsTheLayerIsBlamedFirst) {
  ofAHundredFaultsTheLayerIsBlamedFirst(publicModels(),
                                        {"mobilenet_v1_025_128_f32", "age_lite_f32", "vww_96_f32", "resnet8_cifar_f32",
                                         "cifar10_f32", "yunet_f32", "blazeface_front_f32", "mtcnn_rnet_f32"});
}

} // namespace
