#include "passes/Linear.h"
#include "passes/Match.h"
#include "passes/Passes.h"

#include <cmath>
#include <cstring>

namespace origo {

namespace {

/// What follows a linear operator: y = a·x + b for each output channel, where a or b is one constant's numbers.
struct ChannelAffine {
  Value *constant = nullptr; ///< one number, or one a channel
  bool isScale = false;      ///< else a shift
  bool reciprocal = false;   ///< Div
  bool negated = false;      ///< x − c
  bool mirrored = false;     ///< c − x: the linear part changes its sign

  float number(size_t channel) const {
    float c = floatAt(*constant, *constant->elementCount() == 1 ? 0 : channel);
    return reciprocal ? 1 / c : negated ? -c : c;
  }
  float scale(size_t channel) const { return isScale ? number(channel) : mirrored ? -1 : 1; }
  float shift(size_t channel) const { return isScale ? 0 : number(channel); }
};

/// A product that over- or underflows where its factors did not would lose what the two steps keep.
bool keepsWeight(float before, float after) {
  return before == 0 || std::isnormal(after) || (std::fpclassify(before) == FP_SUBNORMAL && std::isfinite(after));
}

/// filter[…, c, …] · scale(c), window by window; null payload: a product is not representable.
llvm::Expected<Payload> scaleFilter(const Linear &linear, const ChannelAffine &affine, PayloadStore &store,
                                    bool &representable) {
  const uint8_t *source = linear.filter()->payload().bytes().data();
  size_t channels = linear.channels(), count = *linear.filter()->elementCount();
  size_t run = linear.channelAxis == 0 ? count / channels : 1; // neighbours of one channel
  std::vector<float> scales(channels);
  for (size_t c = 0; c < channels; ++c)
    scales[c] = affine.scale(c);
  representable = true;
  return store.make(count * sizeof(float), [&](llvm::MutableArrayRef<uint8_t> window, uint64_t offset) {
    size_t first = offset / sizeof(float);
    for (size_t i = 0; i < window.size() / sizeof(float); ++i) {
      float before, scale = scales[(first + i) / run % channels];
      std::memcpy(&before, source + (first + i) * sizeof(float), sizeof(float));
      float after = before * scale;
      representable &= keepsWeight(before, after) || (scale == 0 && after == 0);
      std::memcpy(window.data() + i * sizeof(float), &after, sizeof(float));
    }
  });
}

Step factor(double number) {
  Step step{Step::Affine};
  step.scale = {Step::Term::Number, number, nullptr};
  return step;
}

RewriteResult fuse(Operator &root, Rewriter &rw, Linear &linear, const ChannelAffine &affine) {
  if (!linear.isPlainFloat())
    return decline("not a float linear operator with a constant filter");
  if (fusedActivation(*linear.op) != ActivationFunctionType::NONE)
    return decline("activation in between");
  const Value &before = *linear.op->result(), &after = *root.result();
  if (!isPerChannel(*affine.constant, before, linear.channels()))
    return decline("the constant is not one number an output channel");
  if (before.shape != after.shape || before.shapeSignature != after.shapeSignature)
    return decline("the constant's broadcast changes the shape");
  ActivationFunctionType activation = fusedActivation(root);
  if (linear.op->code == BuiltinOperator::TRANSPOSE_CONV && activation != ActivationFunctionType::NONE)
    return decline("a TransposeConv is left without a fused activation");
  for (int32_t c = 0; c < linear.channels(); ++c)
    if (!std::isfinite(affine.scale(c)) || !std::isfinite(affine.shift(c)))
      return decline("the constant is not finite, or divides by zero");

  wire::ScalarEdit edit = activationEdit(*linear.op, activation);
  Draft fused = rw.clone(*linear.op, edit);
  const Value *filter = linear.filter(), *bias = linear.bias();
  std::optional<llvm::SmallVector<Step, 2>> scaled; // what the new filter is to the old one, where that is one number
  if (affine.mirrored || *affine.constant->elementCount() == 1)
    scaled = {factor(affine.scale(0))};
  if (affine.isScale || affine.mirrored) {
    bool representable;
    llvm::Expected<Payload> payload = scaleFilter(linear, affine, rw.store, representable);
    if (!payload)
      return rw.fail(payload.takeError());
    if (!representable)
      return decline("a scaled weight is not representable");
    llvm::SmallVector<Value *, 2> from{linear.filter()};
    if (affine.isScale)
      from.push_back(affine.constant);
    fused.operand(linear.filterIndex, rw.constant(*payload, filter->type, filter->shape, from, linear.op, scaled));
  }
  if (bias || !affine.isScale) {
    std::string numbers(linear.channels() * sizeof(float), 0);
    for (int32_t c = 0; c < linear.channels(); ++c) {
      float old = bias ? floatAt(*bias, c) : 0, value = old * affine.scale(c) + affine.shift(c);
      if (!std::isfinite(value))
        return decline("a fused bias is not representable");
      std::memcpy(numbers.data() + c * sizeof(float), &value, sizeof(float));
    }
    llvm::SmallVector<Value *, 2> from;
    std::optional<llvm::SmallVector<Step, 2>> steps;
    if (bias) {
      from.push_back(linear.bias());
      if (affine.isScale)
        steps = scaled;
    } else if (*affine.constant->elementCount() == static_cast<uint64_t>(linear.channels())) {
      steps = {factor(affine.negated ? -1 : 1)};
      if (affine.constant->rank() != 1)
        steps->push_back({Step::Reshape});
    }
    from.push_back(affine.constant);
    fused.operand(linear.biasIndex, rw.constant(Payload::owned(std::move(numbers)), TensorType::FLOAT32,
                                                {linear.channels()}, from, linear.op, steps));
  }
  return rw.replace(fused);
}

} // namespace

/// y = linear(x, W, b) · s  →  linear(x, s·W, s·b), s constant along the output channels; y = linear(x, W, b) / s too.
RewriteResult fuseScaleIntoLinear(Operator &root, Rewriter &rw) {
  Linear linear;
  ChannelAffine affine;
  affine.isScale = true;
  affine.reciprocal = root.code == BuiltinOperator::DIV;
  if (!match(root, rw, m_Commutative(m_OneUse(m_Linear(linear)), m_Constant(affine.constant))))
    return decline("not a constant multiple of a linear operator used once");
  return fuse(root, rw, linear, affine);
}

/// y = linear(x, W, b) + c  →  linear(x, W, b + c); with − c and c − linear(…) too.
RewriteResult fuseShiftIntoLinear(Operator &root, Rewriter &rw) {
  Linear linear;
  ChannelAffine affine;
  affine.negated = root.code == BuiltinOperator::SUB;
  if (!match(root, rw, m_Commutative(m_OneUse(m_Linear(linear)), m_Constant(affine.constant)))) {
    affine.negated = false;
    affine.mirrored = true;
    if (root.code != BuiltinOperator::SUB ||
        !match(root, rw, m_Operands(m_Constant(affine.constant), m_OneUse(m_Linear(linear)))))
      return decline("not a constant added to a linear operator used once");
  }
  return fuse(root, rw, linear, affine);
}

} // namespace origo
