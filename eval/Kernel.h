#pragma once

#include "eval/EvalError.h"
#include "eval/KernelSignature.h"
#include "eval/Tensor.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <chrono>
#include <optional>

namespace origo::eval {

class Resources;
struct View;

/// What a kernel sees of the operator it computes. A kernel first asks for all its outputs, in order, and looks at
/// elements afterwards (but for those that decide on the shape): so the same code tells shapes without computing.
class KernelContext {
public:
  explicit KernelContext(const Operator &op) : op(op) {}
  virtual ~KernelContext() = default;
  const Operator &op;

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

  /// Makes room for result `i` of this shape. Its elements are not initialised.
  llvm::Expected<Tensor *> output(unsigned i, llvm::ArrayRef<int32_t> shape);
  /// The same where the size does not follow from the shape (strings).
  llvm::Expected<Tensor *> outputOfSize(unsigned i, llvm::ArrayRef<int32_t> shape, uint64_t bytes);

  /// True: whoever runs the kernel goes through the view by himself, and wants no elements of result `i`.
  virtual bool takesView(unsigned i, const View &view) {
    (void)i, (void)view;
    return false;
  }

  /// The options table. A table that is absent reads as one in which all fields have their defaults.
  template <class T> const T &options() const {
    const flatbuffers::Table *table = optionsTable(static_cast<uint8_t>(circle::BuiltinOptionsTraits<T>::enum_value));
    return *reinterpret_cast<const T *>(table);
  }
  /// The same for a table of BuiltinOptions2.
  template <class T> const T &options2() const {
    const flatbuffers::Table *table = options2Table(static_cast<uint8_t>(circle::BuiltinOptions2Traits<T>::enum_value));
    return *reinterpret_cast<const T *>(table);
  }

  /// All elements of an operand of integers (any width), for example axes and sizes.
  llvm::Expected<llvm::SmallVector<int64_t, 8>> integers(unsigned i) const;
  /// Its only element.
  llvm::Expected<int64_t> integer(unsigned i) const;
  /// Python's meaning of a negative axis; an error if it is out of range.
  llvm::Expected<int> axis(int64_t axis, int rank) const;

  /// The operator cannot be computed like this.
  llvm::Error fail(const llvm::Twine &message) const;
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
  /// Room for result `i`, or the reason why there is none.
  virtual llvm::Expected<llvm::MutableArrayRef<uint8_t>> allocate(unsigned i, llvm::ArrayRef<int32_t> shape,
                                                                  uint64_t bytes) = 0;

private:
  std::optional<std::chrono::steady_clock::time_point> deadline;
  uint64_t patience = ~uint64_t(0); ///< steps until somebody looks at the clock
  bool lookAtClock();
  const flatbuffers::Table *optionsTable(uint8_t member) const;
  const flatbuffers::Table *options2Table(uint8_t member) const;
};

using KernelFunction = llvm::Error (*)(KernelContext &);

/// One kernel: an operator with these types, scales and dimensions (eval/KernelSignature.h), under these conditions.
struct KernelRow {
  BuiltinOperator code;
  llvm::StringRef types;
  KernelFunction compute;
  llvm::SmallVector<Condition, 0> conditions = {};
};

} // namespace origo::eval
