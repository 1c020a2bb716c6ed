#pragma once

#include "eval/Resources.h"

namespace origo::eval {

/// What the RESOURCE tensor at `operand` stands for.
inline llvm::Expected<Resources::Resource *> resourceAt(KernelContext &ctx, unsigned operand) {
  if (!ctx.resources)
    return ctx.fail("has a state, which an operator by itself does not have");
  auto number = ctx.input(operand).as<int32_t>();
  Resources::Resource *resource = number.size() == 1 ? ctx.resources->at(number[0]) : nullptr;
  if (!resource)
    return ctx.fail(operand, "stands for no resource");
  return resource;
}

/// Makes result 0 the RESOURCE tensor of this number. Its shape means nothing; it is the one that the model states.
inline llvm::Error setResource(KernelContext &ctx, llvm::function_ref<int32_t(Resources &)> number) {
  auto output = ctx.outputOfSize(0, ctx.op.result(0)->shape, sizeof(int32_t));
  if (!output)
    return output.takeError();
  if (!ctx.resources)
    return ctx.fail("has a state, which an operator by itself does not have");
  (*output)->as<int32_t>()[0] = number(*ctx.resources);
  return llvm::Error::success();
}

} // namespace origo::eval
