#pragma once

#include "eval/RunOperator.h"

#include "llvm/Support/Error.h"

#include <memory>

namespace origo::fuzz {

/// A build of TensorFlow Lite with its C interface, as a shared library that is loaded when somebody asks for it:
/// another implementation, to compare with.
class NativeRuntime {
public:
  static llvm::Expected<NativeRuntime> load(const std::string &library);
  ~NativeRuntime();
  NativeRuntime(NativeRuntime &&) noexcept;

  struct Outcome {
    bool knows = true;   ///< the operators, in their versions
    std::string refused; ///< empty: it ran
    std::vector<eval::OwnedTensor> outputs;
    std::string reported = {}; ///< what it says of a run that it did not refuse
  };
  /// Runs a `.tflite` file, which may end the process: the runtime trusts what it is given.
  Outcome run(const std::string &path, llvm::ArrayRef<eval::OwnedTensor> inputs) const;

private:
  NativeRuntime();
  struct Interface;
  std::unique_ptr<Interface> interface;
};

} // namespace origo::fuzz
