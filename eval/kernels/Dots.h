#pragma once

#include "eval/Kernel.h"

/// Sums of products, which are most of what operators with a state compute.
namespace origo::eval {

/// The plain ones are the reference engine's; the fast engine has others.
struct Dots {
  int32_t (*integers)(const int8_t *, const int16_t *, int64_t count); ///< wrapping
  float (*floats)(const float *, const float *, int64_t count);
};
extern const Dots plainDots;

using RecurrentFunction = llvm::Error (*)(KernelContext &, const Dots &);
template <RecurrentFunction compute> llvm::Error plainly(KernelContext &ctx) { return compute(ctx, plainDots); }

/// A kernel, and what it is made of.
struct Recurrent {
  KernelFunction kernel;
  RecurrentFunction compute;
};
template <RecurrentFunction compute> constexpr Recurrent recurrent = {plainly<compute>, compute};

llvm::ArrayRef<Recurrent> gruRecurrents();
llvm::ArrayRef<Recurrent> lstmRecurrents();
llvm::ArrayRef<Recurrent> lstmIntegerRecurrents();
llvm::ArrayRef<Recurrent> rnnRecurrents();
llvm::ArrayRef<Recurrent> svdfRecurrents();

} // namespace origo::eval
