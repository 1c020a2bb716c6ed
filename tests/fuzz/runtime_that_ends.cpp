/// A runtime with TensorFlow Lite's C interface that knows networks of one RELU, and does what ORIGO_RUNTIME says where
/// a model has a tensor of 8 bits: "abort", "refuse", or "fault"; with "always" in front of that, it does so with all
/// models.

#include "schema/tflite_generated.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

struct Tensor {
  int type;
  std::vector<int32_t> shape;
  std::vector<uint8_t> bytes;
};
struct Model {
  std::string bytes;
};
struct Interpreter {
  std::vector<Tensor> inputs, outputs;
  bool refuses = false;
};

static Tensor tensorOf(const tflite::Tensor &from) {
  // Numbers of types, and bytes of elements, in the C interface.
  int type = from.type() == tflite::TensorType::FLOAT32 ? 1 : from.type() == tflite::TensorType::INT32 ? 2 : 9;
  Tensor tensor{type, {}, {}};
  size_t count = type == 9 ? 1 : 4;
  if (from.shape())
    for (int32_t dim : *from.shape()) {
      tensor.shape.push_back(dim);
      count *= static_cast<size_t>(dim);
    }
  tensor.bytes.resize(count);
  return tensor;
}

extern "C" {

Model *TfLiteModelCreateFromFile(const char *path) {
  std::ifstream file(path, std::ios::binary);
  return new Model{{std::istreambuf_iterator<char>(file), {}}};
}
void TfLiteModelDelete(Model *model) { delete model; }
void *TfLiteInterpreterOptionsCreate() { return std::malloc(1); }
void TfLiteInterpreterOptionsDelete(void *options) { std::free(options); }
void TfLiteInterpreterOptionsSetNumThreads(void *, int32_t) {}
void TfLiteInterpreterOptionsSetErrorReporter(void *, void *, void *) {}

Interpreter *TfLiteInterpreterCreate(const Model *model, const void *) {
  const auto *graph = tflite::GetModel(model->bytes.data())->subgraphs()->Get(0);
  const char *set = std::getenv("ORIGO_RUNTIME");
  std::string how = set ? set : "";
  bool acts = how.compare(0, 6, "always") == 0;
  for (const auto *tensor : *graph->tensors())
    acts |= tensor->type() == tflite::TensorType::INT8;
  if (acts && how.find("abort") != std::string::npos)
    std::abort();
  if (acts && how.find("fault") != std::string::npos)
    *static_cast<volatile int *>(nullptr) = 1;
  auto *interpreter = new Interpreter;
  interpreter->refuses = acts && how.find("refuse") != std::string::npos;
  for (int32_t index : *graph->inputs())
    interpreter->inputs.push_back(tensorOf(*graph->tensors()->Get(index)));
  for (int32_t index : *graph->outputs())
    interpreter->outputs.push_back(tensorOf(*graph->tensors()->Get(index)));
  return interpreter;
}
void TfLiteInterpreterDelete(Interpreter *interpreter) { delete interpreter; }
int TfLiteInterpreterAllocateTensors(Interpreter *interpreter) { return interpreter->refuses; }
int TfLiteInterpreterInvoke(Interpreter *interpreter) {
  const Tensor &from = interpreter->inputs[0];
  Tensor &to = interpreter->outputs[0];
  for (size_t i = 0; from.type == 1 && to.type == 1 && i < std::min(from.bytes.size(), to.bytes.size()); i += 4) {
    float number;
    std::memcpy(&number, &from.bytes[i], 4);
    number = std::max(number, 0.f);
    std::memcpy(&to.bytes[i], &number, 4);
  }
  return 0;
}
int32_t TfLiteInterpreterGetInputTensorCount(const Interpreter *i) { return static_cast<int32_t>(i->inputs.size()); }
Tensor *TfLiteInterpreterGetInputTensor(Interpreter *i, int32_t index) { return &i->inputs[index]; }
int32_t TfLiteInterpreterGetOutputTensorCount(const Interpreter *i) { return static_cast<int32_t>(i->outputs.size()); }
const Tensor *TfLiteInterpreterGetOutputTensor(const Interpreter *i, int32_t index) { return &i->outputs[index]; }
int TfLiteTensorType(const Tensor *tensor) { return tensor->type; }
int32_t TfLiteTensorNumDims(const Tensor *tensor) { return static_cast<int32_t>(tensor->shape.size()); }
int32_t TfLiteTensorDim(const Tensor *tensor, int32_t dim) { return tensor->shape[dim]; }
size_t TfLiteTensorByteSize(const Tensor *tensor) { return tensor->bytes.size(); }
void *TfLiteTensorData(Tensor *tensor) { return tensor->bytes.data(); }

} // extern "C"
