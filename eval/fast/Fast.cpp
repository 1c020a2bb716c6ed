#include "eval/fast/Fast.h"

#include "eval/Kernels.h"
#include "eval/Plan.h"
#include "eval/fast/Xnnpack.h"

#include "llvm/ADT/STLExtras.h"

namespace origo::eval {

// The files of eval/fast/ that have rows (eval/CMakeLists.txt).
#define ROWS(name, file) llvm::ArrayRef<FastRow> fast##file();
#include "eval/Fast.inc"
#undef ROWS

bool xnnpackRuns() {
  static const bool runs = xnn_initialize(nullptr) == xnn_status_success;
  return runs;
}

namespace {

std::unique_ptr<FastKernel> make(const FastSite &site) {
  static const std::vector<FastRow> rows = [] {
    std::vector<FastRow> all;
#define ROWS(name, file) llvm::append_range(all, fast##file());
#include "eval/Fast.inc"
#undef ROWS
    llvm::stable_sort(all, [](const FastRow &a, const FastRow &b) { return a.rank < b.rank; });
    return all;
  }();
  // Elements of less than a byte are weights here, and nothing else.
  auto isPart = [](const Tensor *tensor) { return bitsPerElement(tensor->type).value_or(8) < 8; };
  if ((site.has(0) && isPart(site.inputs[0])) || llvm::any_of(site.outputs, isPart))
    return nullptr;
  for (const FastRow &row : rows)
    if (row.code == site.op.code)
      if (auto kernel = row.make(site))
        return kernel;
  return nullptr;
}

/// What a PAD of zeros adds around images; nothing for any other.
std::optional<FastSite::Border> borderOf(const Plan &plan, const Step &step) {
  using Op = BuiltinOperator;
  if ((step.op->code != Op::PAD && step.op->code != Op::PADV2) || step.results[0] < 0)
    return std::nullopt;
  const Slot &in = plan.slots[step.operands[0]], &out = plan.slots[step.results[0]];
  // A variable may be written to before the convolution reads it.
  if (in.kind == Slot::Kind::Variable || in.kind == Slot::Kind::Constant)
    return std::nullopt;
  const Slot &paddings = plan.slots[step.operands[1]];
  if (!paddings.constant)
    return std::nullopt;
  Tensor list = ShapeRun::stated(*paddings.value);
  list.known = list.rankKnown = true;
  list.storage = paddings.constant->bytes;
  FastSite site(*step.op);
  Tensor image = ShapeRun::stated(*in.value);
  site.inputs = {&image, &list};
  auto values = site.integers(1);
  if (!values) {
    llvm::consumeError(values.takeError());
    return std::nullopt;
  }
  if (values->size() != 8 || (*values)[0] || (*values)[1] || (*values)[6] || (*values)[7] ||
      llvm::any_of(*values, [](int64_t amount) { return amount < 0 || amount > 1 << 15; }))
    return std::nullopt;
  if (step.operands.size() > 2 && step.operands[2] >= 0) {
    const Slot &filler = plan.slots[step.operands[2]];
    if (!filler.constant || in.value->type != TensorType::FLOAT32 ||
        llvm::any_of(filler.constant->bytes, [](uint8_t byte) { return byte != 0; }))
      return std::nullopt;
  }
  if (in.value->type != TensorType::FLOAT32 && !sameQuantization(in.value->quantization, out.value->quantization))
    return std::nullopt;
  return FastSite::Border{(*values)[2], (*values)[3], (*values)[4], (*values)[5]};
}

/// Nothing: only its reference kernel computes the step.
std::optional<FastKernels::Entry> prepare(const Plan &plan, const Step &step, bool alone,
                                          const std::shared_ptr<Block> &scratch) {
  FastKernels::Entry entry;
  FastSite site(*step.op);
  site.scratch = scratch;
  std::vector<Tensor> tensors;
  tensors.reserve(step.operands.size() + step.results.size());
  auto add = [&](int slotIndex) -> Tensor * {
    if (slotIndex < 0)
      return nullptr;
    const Slot &slot = plan.slots[slotIndex];
    Tensor &tensor = tensors.emplace_back(ShapeRun::stated(*slot.value));
    tensor.rankKnown = slot.shape.has_value();
    if (slot.shape)
      tensor.shape = *slot.shape;
    if (slot.constant) {
      tensor.known = tensor.rankKnown = true;
      tensor.storage = slot.constant->bytes;
    }
    return &tensor;
  };
  for (int slot : step.operands)
    site.inputs.push_back(add(slot));
  if (step.pad >= 0 && !alone) {
    const Step &pad = plan.steps[step.pad];
    site.border = borderOf(plan, pad);
    if (const auto &shape = plan.slots[pad.operands[0]].shape)
      site.inputs[0]->shape = *shape;
  }
  for (int slot : step.results)
    site.outputs.push_back(add(slot));
  // A result that nobody wants is for the reference kernel.
  if (llvm::is_contained(site.outputs, nullptr))
    return std::nullopt;
  if (step.results.size() == 1 && plan.slots[step.results[0]].sharedWith >= 0)
    return entry;
  entry.kernel = make(site);
  if (!entry.kernel)
    return std::nullopt;
  return entry;
}

} // namespace

/// What the weights of a step take when they are packed, at most: some become floats.
static uint64_t packedBytesOf(const Step &step) {
  const OperatorInfo *info = step.op->info();
  bool packs = info && (info->has(Trait::Linear) || step.op->code == BuiltinOperator::BATCH_MATMUL ||
                        step.op->code == BuiltinOperator::UNIDIRECTIONAL_SEQUENCE_LSTM);
  uint64_t elements = 0;
  for (unsigned i = 0; packs && i < step.op->numOperands(); ++i)
    if (const Value *value = step.op->operand(i); value && !value->producer() && !value->isGraphInput) {
      uint64_t count = value->elementCount().value_or(0);
      bool ofThree = i == 1 && value->shape.size() == 4 && value->shape[1] == 3 && value->shape[2] == 3;
      elements += ofThree && step.op->code == BuiltinOperator::CONV_2D ? count / 9 * 16 : count; // Winograd's
    }
  return elements * sizeof(float);
}

/// The PAD whose result is an operand of this convolution and of nothing else; −1: none.
static int padBefore(const Plan &plan, const Step &step, const Plan::Uses &uses) {
  if (step.op->code != BuiltinOperator::CONV_2D && step.op->code != BuiltinOperator::DEPTHWISE_CONV_2D)
    return -1;
  int image = step.operands[0];
  if (image < 0 || uses.producers[image] < 0 || uses.readers[image] != 1 ||
      !borderOf(plan, plan.steps[uses.producers[image]]))
    return -1;
  return uses.producers[image];
}

FastKernels FastKernels::choose(std::deque<Plan> &plans, uint64_t memoryLimit, bool fold) {
  FastKernels kernels;
  uint64_t unpacked = 0;
  for (Plan &plan : plans) {
    const Plan::Uses uses = plan.uses();
    for (Step &step : plan.steps) {
      uint64_t bytes = step.kernel ? packedBytesOf(step) : 0;
      if (!step.kernel || bytes > memoryLimit / 2 || kernels.packedBytes > memoryLimit / 2 - bytes)
        continue;
      step.pad = fold ? padBefore(plan, step, uses) : -1;
      auto entry = prepare(plan, step, false, kernels.scratch);
      if (!entry && step.pad >= 0) {
        step.pad = -1;
        entry = prepare(plan, step, false, kernels.scratch);
      }
      if (!entry)
        continue;
      if (step.pad >= 0) {
        plan.steps[step.pad].folded = true;
        step.fastOperands = step.operands;
        step.fastOperands[0] = plan.steps[step.pad].operands[0];
      }
      step.fast = static_cast<int>(kernels.entries.size());
      kernels.entries.push_back(std::move(*entry));
      kernels.packedBytes += bytes;
      // Packed weights are not read again: together with the file they would be in memory twice. The more there are,
      // the less often that is said.
      if ((unpacked += bytes) >= (uint64_t(1) << 18) + kernels.packedBytes / 16) {
        step.op->subgraph()->model().restFiles();
        unpacked = 0;
      }
    }
    if (unpacked >= uint64_t(1) << 16)
      plan.graph->model().restFiles();
    if (!fold || !kernels.findChains(plan, memoryLimit))
      plan.arrangeFiled(memoryLimit);
    plan.arrangePacked(memoryLimit);
    kernels.join(plan);
  }
  return kernels;
}

FastKernels::FastKernels(const std::deque<Plan> &plans, bool alone) : alone(alone) {
  for (const Plan &plan : plans)
    for (const Step &step : plan.steps)
      if (step.fast >= 0) {
        auto entry = prepare(plan, step, alone, scratch);
        entries.push_back(entry ? std::move(*entry) : Entry{noKernel()});
        packedBytes += packedBytesOf(step);
      }
  for (const Plan &plan : plans)
    if (!alone)
      join(plan);
}

} // namespace origo::eval
