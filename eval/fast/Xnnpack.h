#pragma once

#include "eval/FixedPoint.h"
#include "eval/Shapes.h"
#include "eval/fast/Fast.h"
#include "ir/shapes/Rules.h"

#include <xnnpack.h>

namespace origo::eval {

struct DeleteXnnOperator {
  void operator()(xnn_operator_t op) const { xnn_delete_operator(op); }
};
using XnnOperator = std::unique_ptr<xnn_operator, DeleteXnnOperator>;

/// XNNPACK knows what this processor has; false: it does not run here.
bool xnnpackRuns();

/// Null where XNNPACK refuses these parameters.
template <class Create, class... Arguments> XnnOperator createXnn(Create create, Arguments... arguments) {
  xnn_operator_t made = nullptr;
  if (!xnnpackRuns() || create(arguments..., &made) != xnn_status_success)
    return nullptr;
  return XnnOperator(made);
}

/// XNNPACK makes infinities of NaN, which is left to the reference kernel, therefore, with what NaN may come of.
inline bool isFinite(const Tensor *tensor) {
  if (!tensor || tensor->type != TensorType::FLOAT32)
    return true;
  return llvm::all_of(tensor->as<float>(), [](float number) { return std::isfinite(number); });
}

/// `setup(operator, in, out, threads)` gives XNNPACK's status. Null for no operator. Constants are finite.
template <class Setup> std::unique_ptr<FastKernel> xnnKernel(XnnOperator op, Setup setup) {
  if (!op)
    return nullptr;
  return fastKernel([op = std::move(op), setup](Operands in, Operands out, pthreadpool_t threads) {
    auto isFit = [](const Tensor *x) { return (x && x->value && x->value->isConstant()) || isFinite(x); };
    return llvm::all_of(in, isFit) && setup(op.get(), in, out, threads) == xnn_status_success &&
           xnn_run_operator(op.get(), threads) == xnn_status_success;
  });
}

/// XNNPACK keeps a pointer for each place of a window (or of its strides), for each pixel of a result NHWC. A small
/// file can demand any number of them: false where they are too many.
inline bool fitsPointers(const Tensor &out, int64_t height, int64_t width) {
  return times(times(height, width), product(out.shape, 1, 3)) <= int64_t(1) << 26;
}

/// What XNNPACK adds around an image NHWC. It works out SAME by itself, but wrongly where the stride is above the
/// window: there the padding of the image that is expected is said in numbers, and other images are for the reference
/// kernel.
class XnnPadding {
public:
  struct Axis {
    int64_t size, stride, dilation = 1;
    uint32_t before = 0, after = 0;
  };
  XnnPadding() = default;
  XnnPadding(circle::Padding padding, llvm::ArrayRef<int32_t> image, Axis vertical, Axis horizontal)
      : vertical(vertical), horizontal(horizontal) {
    if (padding != circle::Padding::SAME)
      return;
    isStated = image.size() == 4 && (skips(vertical) || skips(horizontal));
    if (isStated) {
      this->vertical = padded(vertical, image[1]);
      this->horizontal = padded(horizontal, image[2]);
    } else {
      flags = XNN_FLAG_TENSORFLOW_SAME_PADDING;
    }
  }
  bool fits(const Tensor &image) const {
    auto fits = [](const Axis &axis, int64_t length) {
      Axis wanted = padded(axis, length);
      return wanted.before == axis.before && wanted.after == axis.after;
    };
    return !isStated || (fits(vertical, image.dim(1)) && fits(horizontal, image.dim(2)));
  }
  std::tuple<uint32_t, uint32_t, uint32_t, uint32_t> stated() const {
    return {vertical.before, horizontal.after, vertical.after, horizontal.before};
  }
  uint32_t flags = 0;

private:
  Axis vertical = {1, 1}, horizontal = {1, 1};
  bool isStated = false;
  static bool skips(const Axis &axis) { return axis.stride > (axis.size - 1) * axis.dilation + 1; }
  static Axis padded(Axis axis, int64_t length) {
    if (auto count = inference::positions(circle::Padding::SAME, length, axis.size, axis.stride, axis.dilation)) {
      int64_t before = paddingBefore(length, *count, axis.size, axis.stride, axis.dilation);
      int64_t end = (*count - 1) * axis.stride + (axis.size - 1) * axis.dilation + 1 - before;
      axis.before = static_cast<uint32_t>(before);
      axis.after = static_cast<uint32_t>(std::max<int64_t>(0, end - length));
    }
    return axis;
  }
};

/// Bounds that XNNPACK can clamp to; nothing for an activation that is more than that.
template <class T>
std::optional<std::pair<T, T>> clampRange(circle::ActivationFunctionType activation, const Tensor &output) {
  using Function = circle::ActivationFunctionType;
  if (activation != Function::NONE && activation != Function::RELU && activation != Function::RELU6 &&
      activation != Function::RELU_N1_TO_1)
    return std::nullopt;
  if constexpr (std::is_same_v<T, float>) {
    return activationRange(activation);
  } else {
    auto [low, high] = quantizedActivationRange<T>(activation, output);
    if (low >= high)
      return std::nullopt;
    return std::pair(static_cast<T>(low), static_cast<T>(high));
  }
}

/// What goes from sums to the result's scale is, for each channel, at least this, and not so much that sums of the
/// reference, which are integers, overflow.
inline bool rescales(const Tensor &in, const Tensor &weights, const Tensor &out, float least = 0) {
  return llvm::all_of(weights.quantization->scale, [&](float scale) {
    float factor = in.scale() * scale / out.scale();
    return factor >= least && factor < 256;
  });
}
/// XNNPACK's products of integers end the process otherwise. Channels without weights often have so small a scale.
inline bool xnnpackRescales(const Tensor &in, const Tensor &weights, const Tensor &out) {
  return rescales(in, weights, out, 0x1p-32f);
}

/// A scale and a zero point for the whole tensor, and nothing else.
inline bool isPerTensor(const Tensor &tensor) {
  return tensor.quantization && tensor.quantization->details == Quantization::Details::None &&
         tensor.quantization->scale.size() == 1 && std::isnormal(tensor.scale()) && tensor.scale() > 0;
}

} // namespace origo::eval
