#include "eval/fast/Fast.h"

#include "eval/Kernels.h"
#include "eval/Plan.h"
#include "eval/fast/Xnnpack.h"

#include "llvm/ADT/STLExtras.h"

namespace origo::eval {

// The files of eval/fast/, each with its rows. A new file needs its name here. Those of XNNPACK come first: where two
// take an operator, the first one has it.
#define FAST_FILES(FILE)                                                                                               \
  FILE(fastBinary)                                                                                                     \
  FILE(fastConvolution)                                                                                                \
  FILE(fastElementwise)                                                                                                \
  FILE(fastFullyConnected)                                                                                             \
  FILE(fastWindow)                                                                                                     \
  FILE(fastArgMax)                                                                                                     \
  FILE(fastBinaryTable)                                                                                                \
  FILE(fastGather)                                                                                                     \
  FILE(fastHybridConvolution)                                                                                          \
  FILE(fastHybridMatMul)                                                                                               \
  FILE(fastIntegerArithmetic)                                                                                          \
  FILE(fastIntegerConvolution)                                                                                         \
  FILE(fastIntegerMatMul)                                                                                              \
  FILE(fastIntegerReduce)                                                                                              \
  FILE(fastIntegerWindow)                                                                                              \
  FILE(fastJoin)                                                                                                       \
  FILE(fastLstm)                                                                                                       \
  FILE(fastMatMul)                                                                                                     \
  FILE(fastMath)                                                                                                       \
  FILE(fastMovement)                                                                                                   \
  FILE(fastPad)                                                                                                        \
  FILE(fastReduce)                                                                                                     \
  FILE(fastResize)                                                                                                     \
  FILE(fastSelect)                                                                                                     \
  FILE(fastSpaceBatch)                                                                                                 \
  FILE(fastUnaryTable)

#define DECLARE(name) llvm::ArrayRef<FastRow> name();
FAST_FILES(DECLARE)
#undef DECLARE

bool xnnpackRuns() {
  static const bool runs = xnn_initialize(nullptr) == xnn_status_success;
  return runs;
}

namespace {

std::unique_ptr<FastKernel> make(const FastSite &site) {
  static const std::vector<FastRow> rows = [] {
    std::vector<FastRow> all;
#define APPEND(name) llvm::append_range(all, name());
    FAST_FILES(APPEND)
#undef APPEND
    return all;
  }();
  for (const FastRow &row : rows)
    if (row.code == site.op.code)
      if (auto kernel = row.make(site))
        return kernel;
  return nullptr;
}

/// Nothing: only its reference kernel computes the step.
std::optional<FastKernels::Entry> prepare(const Plan &plan, const Step &step) {
  FastKernels::Entry entry;
  FastSite site(*step.op);
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
    if (const Value *value = step.op->operand(i); value && !value->producer() && !value->isGraphInput)
      elements += value->elementCount().value_or(0);
  return elements * sizeof(float);
}

FastKernels FastKernels::choose(std::deque<Plan> &plans, uint64_t memoryLimit) {
  FastKernels kernels;
  for (Plan &plan : plans)
    for (Step &step : plan.steps)
      if (uint64_t bytes = step.kernel ? packedBytesOf(step) : 0;
          step.kernel && bytes <= memoryLimit / 2 && kernels.packedBytes <= memoryLimit / 2 - bytes)
        if (auto entry = prepare(plan, step)) {
          step.fast = static_cast<int>(kernels.entries.size());
          kernels.entries.push_back(std::move(*entry));
          kernels.packedBytes += bytes;
        }
  return kernels;
}

FastKernels::FastKernels(const std::deque<Plan> &plans) {
  for (const Plan &plan : plans)
    for (const Step &step : plan.steps)
      if (step.fast >= 0) {
        entries.push_back(std::move(*prepare(plan, step)));
        packedBytes += packedBytesOf(step);
      }
}

} // namespace origo::eval
