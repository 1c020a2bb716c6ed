#pragma once

#include "eval/EvalError.h"
#include "eval/KernelSignature.h"
#include "eval/Tensor.h"
#include "ir/shapes/Inference.h"

#include <chrono>
#include <optional>

namespace origo::eval {

class Resources;
struct View;

/// What a kernel sees of the operator it computes. Results have their shapes, by the rule of ir/shapes, and room for
/// their elements, which are not initialised.
class KernelContext : public ShapeSite {
public:
  using ShapeSite::ShapeSite;

  unsigned numInputs() const { return static_cast<unsigned>(inputs.size()); }
  unsigned numOutputs() const { return static_cast<unsigned>(outputs.size()); }
  bool has(unsigned i) const { return i < inputs.size() && inputs[i]; }
  /// An operand that the registry row demands.
  const Tensor &input(unsigned i) const { return *inputs[i]; }
  /// An optional operand; null: absent.
  const Tensor *optional(unsigned i) const { return has(i) ? inputs[i] : nullptr; }
  /// An operand that is updated in place; an error unless it is a variable.
  llvm::Expected<Tensor *> variable(unsigned i);
  /// The type and quantisation of a result, which it has before it has a shape.
  TensorType outputType(unsigned i = 0) const { return op.result(i)->type; }
  /// Null: a result that nobody wants; it may be left out.
  bool wants(unsigned i) const { return i < outputs.size() && outputs[i]; }

  Tensor &output(unsigned i = 0) { return *outputs[i]; }

  /// Room for all results that somebody wants, by their shapes; not for strings, whose size does not follow from them.
  llvm::Error makeRoom();
  /// Room for result `i`. For kernels that say the shape of their results themselves (KernelRow).
  llvm::Expected<Tensor *> output(unsigned i, llvm::ArrayRef<int32_t> shape);
  /// The same where the size does not follow from the shape (strings).
  llvm::Expected<Tensor *> outputOfSize(unsigned i, llvm::ArrayRef<int32_t> shape, uint64_t bytes);

  std::optional<llvm::SmallVector<int32_t, 4>> shape(unsigned operand) const override;
  /// A rule has asked for elements of an operand that is not constant.
  mutable bool readElements = false;

  /// All elements of an operand of integers (any width), for example axes and sizes.
  llvm::Expected<llvm::SmallVector<int64_t, 8>> integers(unsigned i) const;
  /// Its only element.
  llvm::Expected<int64_t> integer(unsigned i) const;
  /// Python's meaning of a negative axis, of those that the rule of shapes lets through.
  static int axis(int64_t axis, int rank) { return static_cast<int>(axis < 0 ? axis + rank : axis); }

  /// The operator cannot be computed like this.
  llvm::Error fail(const llvm::Twine &message) const override;
  llvm::Error fail(unsigned operand, const llvm::Twine &message, std::string expected = {},
                   std::string actual = {}) const;

  /// For loops that may take more than a second: true when the run has taken longer than allowed. What the kernel does
  /// then with its results does not matter, as long as it returns. `work`: about how many steps are done between calls.
  bool late(uint64_t work = 1) {
    if (work < patience) {
      patience -= work;
      return false;
    }
    return lookAtClock();
  }
  /// Refuses where `late` has been true, or would be now.
  llvm::Error checkTime() const;
  void setDeadline(std::optional<std::chrono::steady_clock::time_point> at) {
    deadline = at;
    patience = at ? 0 : ~uint64_t(0);
  }

  /// What lives from run to run; null where an operator is computed by itself.
  Resources *resources = nullptr;

  // Set by who runs the kernel.
  llvm::SmallVector<Tensor *, 6> inputs;  ///< null: absent
  llvm::SmallVector<Tensor *, 2> outputs; ///< null: absent

protected:
  std::optional<llvm::ArrayRef<uint8_t>> bytes(unsigned operand) const override;
  /// Room for result `i`, or the reason why there is none.
  virtual llvm::Expected<llvm::MutableArrayRef<uint8_t>> allocate(unsigned i, llvm::ArrayRef<int32_t> shape,
                                                                  uint64_t bytes) = 0;

private:
  std::optional<std::chrono::steady_clock::time_point> deadline;
  uint64_t patience = ~uint64_t(0); ///< steps until somebody looks at the clock
  bool lookAtClock();
};

using KernelFunction = llvm::Error (*)(KernelContext &);
/// All results of an operator that only moves elements of one operand. The rule of its shapes has refused what cannot
/// be.
using ViewFunction = llvm::SmallVector<View, 1> (*)(const KernelContext &);

/// What computes: a function, or one that says which elements of an operand a result has.
struct KernelBody {
  KernelBody(KernelFunction compute) : compute(compute) {}
  KernelBody(ViewFunction view) : view(view) {}
  KernelFunction compute = nullptr;
  ViewFunction view = nullptr;
};

/// Who says the shapes of results: the operator's rule in ir/shapes, which everybody asks (or the row's own one), or,
/// where they follow from the numbers that are computed, only the kernel.
enum class ShapesFrom : uint8_t { Rule, Kernel };

/// One kernel: an operator with these types, scales and dimensions (eval/KernelSignature.h), under these conditions.
struct KernelRow {
  BuiltinOperator code;
  llvm::StringRef types;
  KernelBody body;
  llvm::SmallVector<Condition, 0> conditions = {};
  ShapesFrom shapes = ShapesFrom::Rule;
  KernelFunction rule = nullptr; ///< of a custom operator: gives results their shapes, as ir/shapes knows none for it
};

} // namespace origo::eval
