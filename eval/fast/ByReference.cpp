#include "eval/fast/ByReference.h"

#include "eval/Kernels.h"

namespace origo::eval {

std::optional<std::vector<uint8_t>> computeByReference(const FastSite &site, llvm::ArrayRef<Tensor> operands) {
  class Run : public KernelContext {
  public:
    using KernelContext::KernelContext;
    std::vector<uint8_t> bytes;

  protected:
    llvm::Expected<llvm::MutableArrayRef<uint8_t>> allocate(unsigned, llvm::ArrayRef<int32_t>, uint64_t size) override {
      bytes.resize(size);
      return llvm::MutableArrayRef<uint8_t>(bytes);
    }
  };
  Run run(site.op);
  std::vector<Tensor> given(operands.begin(), operands.end());
  for (Tensor &operand : given)
    run.inputs.push_back(&operand);
  Tensor result = site.output();
  run.outputs = {&result};
  if (llvm::Error error = findKernel(site.op)->run(run)) {
    llvm::consumeError(std::move(error));
    return std::nullopt;
  }
  return std::move(run.bytes);
}

} // namespace origo::eval
