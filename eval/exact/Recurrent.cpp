#include "eval/kernels/Recurrent.h"
#include "eval/exact/Shared.h"
#include "eval/kernels/BinaryCodes.h"
#include "eval/kernels/GruCells.h"
#include "eval/kernels/LstmCells.h"
#include "eval/kernels/RnnCells.h"
#include "eval/kernels/SvdfCells.h"

/// Operators with a state, and those on binary-coded weights.
namespace origo::eval::exact {

namespace {

/// What cells compute with.
struct Exactly {
  using Number = exact::Number;
  const Context &ctx;
  const Arithmetic &math = ctx.math;

  class Vector {
  public:
    Vector() = default;
    explicit Vector(const Tensor &tensor) : tensor(&tensor) {}
    static llvm::Expected<Vector> of(const KernelContext &ctx, unsigned operand, int32_t count, bool required = false) {
      if (!ctx.has(operand) && !required)
        return Vector();
      if (llvm::Error error = wantTensor(ctx, operand, {TensorType::FLOAT32}, {count}))
        return error;
      return Vector(ctx.input(operand));
    }
    explicit operator bool() const { return tensor; }
    const Number &operator[](size_t i) const { return tensor->as<Number>()[i]; }

  private:
    const Tensor *tensor = nullptr;
  };
  class Matrix {
  public:
    static llvm::Expected<Matrix> of(const KernelContext &ctx, unsigned operand, int32_t rows, int32_t columns, bool,
                                     bool required = true) {
      Matrix made;
      if (!ctx.has(operand) && !required)
        return made;
      if (llvm::Error error = wantTensor(ctx, operand, {TensorType::FLOAT32}, {rows, columns}))
        return error;
      made.tensor = ctx.optional(operand);
      return made;
    }
    explicit operator bool() const { return tensor; }
    /// y += this · x
    void addProduct(llvm::ArrayRef<Number> x, llvm::MutableArrayRef<Number> y, const Exactly &with) const {
      const Number *weight = tensor->as<Number>().data();
      for (Number &number : y) {
        Sum sum;
        sum.add(with.math, number);
        for (size_t k = 0; k < x.size(); ++k)
          sum.add(with.math, *weight++, x[k]);
        number = sum.end(with.math);
      }
    }

  private:
    const Tensor *tensor = nullptr;
  };

  Number of(float x) const { return math.of(static_cast<double>(x)); }
  Number add(const Number &a, const Number &b) const { return math.add(a, b); }
  Number subtract(const Number &a, const Number &b) const { return math.subtract(a, b); }
  Number multiply(const Number &a, const Number &b) const { return math.multiply(a, b); }
  Number divide(const Number &a, const Number &b) const { return math.divide(a, b); }
  Number root(const Number &x) const { return math.root(x); }
  Number sigmoid(const Number &x) const { return math.logistic(x); }
  Number tangent(const Number &x) const { return math.hyperbolicTangent(x); }
  Number clamp(const Number &x, float low, float high) const { return math.clamp(x, of(low), of(high)); }
  Number activate(const Number &x, Activation how) const { return activated(ctx, x, how); }
};

template <llvm::Error (*compute)(KernelContext &, const Exactly &)> llvm::Error exactly(Context &ctx) {
  return compute(ctx, Exactly{ctx});
}

llvm::Error lstm(Context &ctx) {
  bool isBasic = ctx.options<circle::LSTMOptions>().kernel_type() == circle::LSTMKernelType::BASIC;
  return isBasic ? loops::lstm::runBasic(ctx, Exactly{ctx}) : loops::lstm::runLstm(ctx, Exactly{ctx});
}

} // namespace

llvm::ArrayRef<ExactKernel> recurrentKernels() {
  static const ExactKernel rows[] = {
      {Op::BCQ_FULLY_CONNECTED, exactly<loops::bcq::fullyConnected<Exactly>>},
      {Op::BCQ_GATHER, exactly<loops::bcq::gather<Exactly>>},
      {Op::BIDIRECTIONAL_SEQUENCE_LSTM, exactly<loops::lstm::runBidirectional<Exactly>>},
      {Op::BIDIRECTIONAL_SEQUENCE_RNN, exactly<loops::rnn::runBidirectional<Exactly>>},
      {Op::GRU, exactly<loops::gru::run<Exactly>>},
      {Op::LSTM, lstm},
      {Op::RNN, exactly<loops::rnn::runSingle<Exactly>>},
      {Op::SVDF, exactly<loops::svdf::runReal<Exactly>>},
      {Op::UNIDIRECTIONAL_SEQUENCE_LSTM, exactly<loops::lstm::runUnidirectional<Exactly>>},
      {Op::UNIDIRECTIONAL_SEQUENCE_RNN, exactly<loops::rnn::runUnidirectional<Exactly>>},
  };
  return rows;
}

} // namespace origo::eval::exact
