#include "eval/Kernels.h"
#include "eval/kernels/LstmCells.h"

/// LSTM of floats, with weights of floats or of int8.
namespace origo::eval {

llvm::ArrayRef<Recurrent> lstmRecurrents() {
  static const Recurrent list[] = {recurrent<withDots<loops::lstm::runBasic<Floats>>>,
                                   recurrent<withDots<loops::lstm::runLstm<Floats>>>,
                                   recurrent<withDots<loops::lstm::runUnidirectional<Floats>>>,
                                   recurrent<withDots<loops::lstm::runBidirectional<Floats>>>};
  return list;
}

// Of LSTMKernelType::BASIC, only floats: its sums of 8 bits with a state of 16 are not in any model.
llvm::ArrayRef<KernelRow> lstmKernels() {
  using Op = BuiltinOperator;
  static const KernelRow rows[] = {
      {Op::LSTM,
       "f32[b,_], f32[b,u], f32|i8|u8{n|t}[_,_], f32|i8|u8{n|t}, f32[b,u] -> f32...",
       plainly<withDots<loops::lstm::runBasic<Floats>>>,
       {is("kernel_type", {"BASIC"})}},
      {Op::LSTM,
       "f32[_,_], f32|i8|u8{n|t}?... -> f32",
       plainly<withDots<loops::lstm::runLstm<Floats>>>,
       {is("kernel_type", {"FULL"})}},
      {Op::UNIDIRECTIONAL_SEQUENCE_LSTM, "f32[_,_,_], f32|i8|u8{n|t}?... -> f32",
       plainly<withDots<loops::lstm::runUnidirectional<Floats>>>},
      {Op::BIDIRECTIONAL_SEQUENCE_LSTM, "f32[_,_,_], f32|i8|u8{n|t}?... -> f32, f32?",
       plainly<withDots<loops::lstm::runBidirectional<Floats>>>},
  };
  return rows;
}

} // namespace origo::eval
