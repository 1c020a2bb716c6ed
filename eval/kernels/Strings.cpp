#include "eval/Strings.h"
#include "eval/Kernels.h"

/// What moves strings. Strings are not added: no runtime does.
namespace origo::eval {

namespace {

/// Of a list, as in the runtime.
llvm::Error gather(KernelContext &ctx) {
  const auto &options = ctx.options<circle::GatherOptions>();
  if (llvm::Error error = ctx.wantRank(0, 1))
    return error;
  auto axis = ctx.axis(options.axis(), 1);
  if (!axis)
    return axis.takeError();
  if (options.batch_dims() != 0)
    return ctx.fail("batches of strings have no kernel");
  auto strings = stringsOf(ctx, 0);
  if (!strings)
    return strings.takeError();
  auto indices = ctx.integers(1);
  if (!indices)
    return indices.takeError();
  std::vector<llvm::StringRef> chosen;
  for (int64_t index : *indices) {
    if (index < 0 || index >= static_cast<int64_t>(strings->size()))
      return ctx.fail(1, "index " + llvm::Twine(index) + " of " + llvm::Twine(strings->size()) + " strings");
    chosen.push_back((*strings)[index]);
  }
  return setStrings(ctx, 0, ctx.input(1).shape, chosen);
}

} // namespace

llvm::ArrayRef<KernelRow> stringKernels() {
  static const KernelRow rows[] = {{BuiltinOperator::GATHER, "str, i32|i64 -> str", gather}};
  return rows;
}

} // namespace origo::eval
