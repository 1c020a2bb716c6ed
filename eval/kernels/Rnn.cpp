#include "eval/Kernels.h"
#include "eval/kernels/RnnCells.h"

/// Plain recurrent networks of floats, with weights of floats or of int8.
namespace origo::eval {

llvm::ArrayRef<Recurrent> rnnRecurrents() {
  static const Recurrent list[] = {recurrent<withDots<loops::rnn::runSingle<Floats>>>,
                                   recurrent<withDots<loops::rnn::runUnidirectional<Floats>>>,
                                   recurrent<withDots<loops::rnn::runBidirectional<Floats>>>};
  return list;
}

llvm::ArrayRef<KernelRow> rnnKernels() {
  using Op = BuiltinOperator;
#define WEIGHTS "f32|i8|u8{n|t}[_,_], f32|i8|u8{n|t}, f32, f32"
  static const KernelRow rows[] = {
      {Op::RNN, "f32[_,_], " WEIGHTS " -> f32", plainly<withDots<loops::rnn::runSingle<Floats>>>},
      {Op::UNIDIRECTIONAL_SEQUENCE_RNN, "f32[_,_,_], " WEIGHTS " -> f32",
       plainly<withDots<loops::rnn::runUnidirectional<Floats>>>},
      {Op::BIDIRECTIONAL_SEQUENCE_RNN,
       "f32[_,_,_], " WEIGHTS ", " WEIGHTS ", f32?, f32|i8|u8{n|t}?, f32|i8|u8{n|t}? -> f32, f32?",
       plainly<withDots<loops::rnn::runBidirectional<Floats>>>},
  };
#undef WEIGHTS
  return rows;
}

} // namespace origo::eval
