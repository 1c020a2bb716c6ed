#include "eval/Kernels.h"
#include "eval/kernels/Resource.h"
#include "schema/TensorTypes.h"

/// Resource variables.
namespace origo::eval {

namespace {

llvm::StringRef textOf(const flatbuffers::String *string) {
  return string ? llvm::StringRef(string->c_str(), string->size()) : llvm::StringRef();
}

llvm::Error varHandle(KernelContext &ctx) {
  const auto &options = ctx.options<circle::VarHandleOptions>();
  return setResource(ctx, [&](Resources &resources) {
    return resources.variable(textOf(options.container()), textOf(options.shared_name()));
  });
}

llvm::Error assignVariable(KernelContext &ctx) {
  auto resource = resourceAt(ctx, 0);
  if (!resource)
    return resource.takeError();
  std::optional<OwnedTensor> &variable = (*resource)->variable;
  if ((*resource)->table)
    return ctx.fail(0, "is a hash table");
  const Tensor &value = ctx.input(1);
  ctx.resources->giveBack(variable ? variable->bytes.size() : 0);
  variable.reset();
  if (!ctx.resources->take(value.storage.size()))
    return evalError(ErrorCode::MemoryLimit, EvalPhase::Run, ctx.op, 1,
                     "variables would take more bytes than are allowed");
  variable.emplace(OwnedTensor{value.type, value.shape, {value.storage.begin(), value.storage.end()}});
  return llvm::Error::success();
}

llvm::Error readVariable(KernelContext &ctx) {
  auto resource = resourceAt(ctx, 0);
  if (!resource)
    return resource.takeError();
  const std::optional<OwnedTensor> &variable = (*resource)->variable;
  if (!variable)
    return ctx.fail(0, "was never assigned");
  if (variable->type != ctx.outputType())
    return ctx.fail(0, "holds another type", tensorTypeName(ctx.outputType()).str(),
                    tensorTypeName(variable->type).str());
  auto output = ctx.outputOfSize(0, variable->shape, variable->bytes.size());
  if (!output)
    return output.takeError();
  llvm::copy(variable->bytes, (*output)->as<uint8_t>().begin());
  return llvm::Error::success();
}

} // namespace

llvm::ArrayRef<KernelRow> variablesKernels() {
  using Op = BuiltinOperator;
  static const KernelRow rows[] = {
      {Op::VAR_HANDLE, " -> resource", varHandle, {}, ShapesFrom::Kernel},
      {Op::ASSIGN_VARIABLE, "resource, any|str -> ", assignVariable},
      {Op::READ_VARIABLE, "resource -> any|str", readVariable, {}, ShapesFrom::Kernel},
  };
  return rows;
}

} // namespace origo::eval
