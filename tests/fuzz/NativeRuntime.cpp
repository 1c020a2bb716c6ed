#include "tests/fuzz/NativeRuntime.h"

#include "ir/Error.h"

#include "llvm/ADT/STLExtras.h"

#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>

using namespace origo;
using namespace origo::fuzz;

namespace {

struct NativeModel;
struct NativeOptions;
struct NativeInterpreter;
struct NativeTensor;
using Reporter = void (*)(void *, const char *, va_list);
constexpr int ok = 0;

struct TypeNumber {
  TensorType type;
  int number; ///< in TensorFlow Lite's C interface
};
constexpr TypeNumber typeNumbers[] = {
    {TensorType::FLOAT32, 1},  {TensorType::INT32, 2},   {TensorType::UINT8, 3},   {TensorType::INT64, 4},
    {TensorType::BOOL, 6},     {TensorType::INT16, 7},   {TensorType::INT8, 9},    {TensorType::FLOAT16, 10},
    {TensorType::FLOAT64, 11}, {TensorType::UINT64, 13}, {TensorType::UINT32, 16}, {TensorType::UINT16, 17},
};

} // namespace

struct NativeRuntime::Interface {
  NativeModel *(*modelFrom)(const char *) = nullptr;
  void (*deleteModel)(NativeModel *) = nullptr;
  NativeOptions *(*makeOptions)() = nullptr;
  void (*deleteOptions)(NativeOptions *) = nullptr;
  void (*setThreads)(NativeOptions *, int32_t) = nullptr;
  void (*setReporter)(NativeOptions *, Reporter, void *) = nullptr;
  NativeInterpreter *(*makeInterpreter)(const NativeModel *, const NativeOptions *) = nullptr;
  void (*deleteInterpreter)(NativeInterpreter *) = nullptr;
  int (*allocate)(NativeInterpreter *) = nullptr;
  int (*invoke)(NativeInterpreter *) = nullptr;
  int32_t (*inputCount)(const NativeInterpreter *) = nullptr;
  NativeTensor *(*input)(const NativeInterpreter *, int32_t) = nullptr;
  int32_t (*outputCount)(const NativeInterpreter *) = nullptr;
  const NativeTensor *(*output)(const NativeInterpreter *, int32_t) = nullptr;
  int (*typeOf)(const NativeTensor *) = nullptr;
  int32_t (*rankOf)(const NativeTensor *) = nullptr;
  int32_t (*dimOf)(const NativeTensor *, int32_t) = nullptr;
  size_t (*sizeOf)(const NativeTensor *) = nullptr;
  void *(*dataOf)(const NativeTensor *) = nullptr;
};

NativeRuntime::NativeRuntime() : interface(std::make_unique<Interface>()) {}
NativeRuntime::~NativeRuntime() = default;
NativeRuntime::NativeRuntime(NativeRuntime &&) noexcept = default;

llvm::Expected<NativeRuntime> NativeRuntime::load(const std::string &library) {
  void *handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    return makeError(printable(library) + ": cannot be loaded: " + printable(::dlerror()));
  NativeRuntime runtime;
  Interface &c = *runtime.interface;
  std::string missing;
  auto find = [&](auto &function, const char *name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(handle, name));
    if (!function && missing.empty())
      missing = name;
  };
  find(c.modelFrom, "TfLiteModelCreateFromFile");
  find(c.deleteModel, "TfLiteModelDelete");
  find(c.makeOptions, "TfLiteInterpreterOptionsCreate");
  find(c.deleteOptions, "TfLiteInterpreterOptionsDelete");
  find(c.setThreads, "TfLiteInterpreterOptionsSetNumThreads");
  find(c.setReporter, "TfLiteInterpreterOptionsSetErrorReporter");
  find(c.makeInterpreter, "TfLiteInterpreterCreate");
  find(c.deleteInterpreter, "TfLiteInterpreterDelete");
  find(c.allocate, "TfLiteInterpreterAllocateTensors");
  find(c.invoke, "TfLiteInterpreterInvoke");
  find(c.inputCount, "TfLiteInterpreterGetInputTensorCount");
  find(c.input, "TfLiteInterpreterGetInputTensor");
  find(c.outputCount, "TfLiteInterpreterGetOutputTensorCount");
  find(c.output, "TfLiteInterpreterGetOutputTensor");
  find(c.typeOf, "TfLiteTensorType");
  find(c.rankOf, "TfLiteTensorNumDims");
  find(c.dimOf, "TfLiteTensorDim");
  find(c.sizeOf, "TfLiteTensorByteSize");
  find(c.dataOf, "TfLiteTensorData");
  if (!missing.empty())
    return makeError(printable(library) + ": is not TensorFlow Lite: it has no " + missing);
  return runtime;
}

NativeRuntime::Outcome NativeRuntime::run(const std::string &path, llvm::ArrayRef<eval::OwnedTensor> inputs) const {
  const Interface &c = *interface;
  std::string said;
  auto report = [](void *to, const char *format, va_list values) {
    char line[500];
    std::vsnprintf(line, sizeof(line), format, values);
    std::string &said = *static_cast<std::string *>(to);
    said += (said.empty() ? "" : "; ") + std::string(line);
  };
  std::unique_ptr<NativeModel, void (*)(NativeModel *)> model(c.modelFrom(path.c_str()), c.deleteModel);
  std::unique_ptr<NativeOptions, void (*)(NativeOptions *)> options(c.makeOptions(), c.deleteOptions);
  c.setThreads(options.get(), 1);
  c.setReporter(options.get(), report, &said);
  using Interpreter = std::unique_ptr<NativeInterpreter, void (*)(NativeInterpreter *)>;
  Interpreter interpreter(model ? c.makeInterpreter(model.get(), options.get()) : nullptr, c.deleteInterpreter);
  Outcome outcome;
  auto refuse = [&](const char *step) {
    outcome.refused = step + (said.empty() ? "" : ": " + said);
    outcome.knows = !llvm::StringRef(said).contains("Didn't find op") &&
                    !llvm::StringRef(said).contains("Encountered unresolved custom op");
    return outcome;
  };
  if (!interpreter)
    return refuse("makes no interpreter");
  if (c.allocate(interpreter.get()) != ok)
    return refuse("does not prepare");
  if (c.inputCount(interpreter.get()) != static_cast<int32_t>(inputs.size()))
    return refuse("has another number of inputs");
  for (size_t i = 0; i < inputs.size(); ++i) {
    const NativeTensor *tensor = c.input(interpreter.get(), static_cast<int32_t>(i));
    if (c.sizeOf(tensor) != inputs[i].bytes.size())
      return refuse("has an input of another size");
    if (!inputs[i].bytes.empty())
      std::memcpy(c.dataOf(tensor), inputs[i].bytes.data(), inputs[i].bytes.size());
  }
  if (c.invoke(interpreter.get()) != ok)
    return refuse("does not run");
  outcome.reported = said;
  for (int32_t i = 0; i < c.outputCount(interpreter.get()); ++i) {
    const NativeTensor *tensor = c.output(interpreter.get(), i);
    eval::OwnedTensor output;
    int number = c.typeOf(tensor);
    const auto *type = llvm::find_if(typeNumbers, [&](const TypeNumber &row) { return row.number == number; });
    if (type == std::end(typeNumbers))
      return refuse("has an output of another type");
    output.type = type->type;
    for (int32_t dim = 0; dim < c.rankOf(tensor); ++dim)
      output.shape.push_back(c.dimOf(tensor, dim));
    const auto *data = static_cast<const uint8_t *>(c.dataOf(tensor));
    if (data)
      output.bytes.assign(data, data + c.sizeOf(tensor));
    outcome.outputs.push_back(std::move(output));
  }
  return outcome;
}
