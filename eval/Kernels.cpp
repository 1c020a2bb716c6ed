#include "eval/CustomKernels.h"
#include "eval/kernels/Views.h"
#include "eval/kernels/Wider.h"

#include "schema/TensorTypes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/ErrorHandling.h"

#include <vector>

namespace origo::eval {

// The files of eval/kernels/ (eval/CMakeLists.txt), each with its rows.
#define ROWS(name, file) llvm::ArrayRef<KernelRow> name##Kernels();
#include "eval/Kernels.inc"
#undef ROWS
#define ROWS(name, file) llvm::ArrayRef<CustomKernelRow> name##CustomKernels();
#include "eval/CustomKernels.inc"
#undef ROWS

namespace {

struct ByCode {
  bool operator()(const Kernel &kernel, BuiltinOperator code) const { return kernel.code < code; }
  bool operator()(BuiltinOperator code, const Kernel &kernel) const { return code < kernel.code; }
};

const std::vector<Kernel> &registry() {
  static const std::vector<Kernel> result = [] {
    std::vector<KernelRow> rows;
#define ROWS(name, file) llvm::append_range(rows, name##Kernels());
#include "eval/Kernels.inc"
#undef ROWS
    llvm::append_range(rows, widerKernels(rows));
    llvm::stable_sort(rows, [](const KernelRow &a, const KernelRow &b) { return a.code < b.code; });
    return std::vector<Kernel>(rows.begin(), rows.end());
  }();
  return result;
}

/// Options that are steps or sizes, and so are at least 1.
bool isExtent(llvm::StringRef option) {
  return option.starts_with("stride_") || option.starts_with("dilation_") || option.starts_with("filter_") ||
         option == "block_size";
}

llvm::Error errorOf(Misfit misfit, const Operator &op, EvalPhase phase) {
  return evalError(ErrorCode::BadOperand, phase, op, misfit.operand, misfit.message, std::move(misfit.expected),
                   std::move(misfit.actual));
}

} // namespace

Kernel::Kernel(const KernelRow &row) : KernelRow(row), signature(row.types) {
  const OperatorInfo *info = operatorInfo(code);
  if (const wire::TableType *options = info ? info->optionsType() : nullptr)
    for (const wire::Field &field : options->fields)
      if (isExtent(field.name))
        conditions.push_back(within(field.name, 1, std::numeric_limits<int32_t>::max()));
}

llvm::Error Kernel::shape(KernelContext &context) const {
  if (auto misfit = admitsShapes(*this, context))
    return errorOf(std::move(*misfit), context.op, EvalPhase::Run);
  if (shapes == ShapesFrom::Kernel)
    return llvm::Error::success();
  if (rule)
    return rule(context);
  auto results = inferResults(context);
  if (!results)
    return results.takeError();
  for (unsigned i = 0; i < context.numOutputs(); ++i) {
    if (!context.wants(i))
      continue;
    if (i >= results->size() || !(*results)[i].rankKnown || llvm::is_contained((*results)[i].shape, -1))
      return context.fail("the shape of result " + llvm::Twine(i) + " is not known");
    context.output(i).shape.assign((*results)[i].shape.begin(), (*results)[i].shape.end());
  }
  return llvm::Error::success();
}

llvm::Error Kernel::compute(KernelContext &context) const {
  if (body.compute)
    return body.compute(context);
  Views views = body.view(context);
  for (auto [i, view] : llvm::enumerate(views)) {
    if (!context.wants(i))
      continue;
    const Tensor &from = context.input(view.operand);
    copyStrided(from.bytes().data(), view.offset, view.steps, view.walk, elementSize(from),
                context.output(i).storage.data());
  }
  return llvm::Error::success();
}

llvm::Error Kernel::run(KernelContext &context) const {
  if (llvm::Error error = shape(context))
    return error;
  if (shapes == ShapesFrom::Rule)
    if (llvm::Error error = context.makeRoom())
      return error;
  return compute(context);
}

llvm::ArrayRef<Kernel> allKernels() { return registry(); }

llvm::ArrayRef<Kernel> kernelsOf(BuiltinOperator code) {
  auto [first, last] = std::equal_range(registry().begin(), registry().end(), code, ByCode());
  return llvm::ArrayRef(registry()).slice(first - registry().begin(), last - first);
}

llvm::ArrayRef<CustomKernel> allCustomKernels() {
  static const auto kernels = [] {
    std::vector<CustomKernel> made;
#define ROWS(name, file)                                                                                               \
  for (const CustomKernelRow &row : name##CustomKernels())                                                             \
    made.push_back({row.customCode, Kernel(row.kernel)});
#include "eval/CustomKernels.inc"
#undef ROWS
    return made;
  }();
  return kernels;
}

llvm::Expected<const Kernel *> kernelFor(const Operator &op) {
  llvm::SmallVector<const Kernel *, 8> kernels;
  for (const Kernel &kernel : kernelsOf(op.builtinMeant()))
    kernels.push_back(&kernel);
  if (op.code == BuiltinOperator::CUSTOM)
    for (const CustomKernel &custom : allCustomKernels())
      if (custom.customCode == op.customCode())
        kernels.push_back(&custom.kernel);
  std::optional<Misfit> misfit;
  if (op.results().empty() || op.result(0)) // kernels look at its type
    for (const Kernel *kernel : kernels) {
      if (!kernel->signature.acceptsTypes(op))
        continue;
      auto found = admits(*kernel, op);
      if (!found)
        return kernel;
      if (!misfit)
        misfit = std::move(found);
    }
  if (misfit)
    return errorOf(std::move(*misfit), op, EvalPhase::Compile);
  return evalError(ErrorCode::Unsupported, EvalPhase::Compile, op, -1, "no kernel for " + typesOf(op));
}

const Kernel *findKernel(const Operator &op) {
  auto kernel = kernelFor(op);
  if (kernel)
    return *kernel;
  llvm::consumeError(kernel.takeError());
  return nullptr;
}

std::string typesOf(const Operator &op) {
  std::string text;
  auto add = [&](const Value *value, bool first) {
    llvm::StringRef name = value ? tensorTypeShortName(value->type) : "-";
    text += (first ? "" : ", ") + (name.empty() ? "?" : name.str());
  };
  for (unsigned i = 0; i < op.numOperands(); ++i)
    add(op.operand(i), i == 0);
  text += " -> ";
  for (unsigned i = 0; i < op.results().size(); ++i)
    add(op.result(i), i == 0);
  return text;
}

bool isControlFlow(BuiltinOperator code) {
  switch (code) {
  case BuiltinOperator::IF:
  case BuiltinOperator::WHILE:
  case BuiltinOperator::CALL:
  case BuiltinOperator::CALL_ONCE:
  case BuiltinOperator::STABLEHLO_COMPOSITE:
    return true;
  default:
    return false;
  }
}

std::string supportTable() {
  std::string text;
  auto line = [&](BuiltinOperator code, llvm::StringRef types) {
    const OperatorInfo *info = operatorInfo(code);
    text += ((info ? info->name : llvm::StringRef("?")) + "\t" + types + "\n").str();
  };
  for (const KernelRow &row : allKernels())
    line(row.code, row.types);
  for (const CustomKernel &custom : allCustomKernels())
    text += ("CUSTOM:" + custom.customCode + "\t" + custom.kernel.types + "\n").str();
  for (const OperatorInfo &info : allOperators())
    if (isControlFlow(info.code))
      line(info.code, "by its subgraphs");
  return text;
}

} // namespace origo::eval
