#include "eval/Session.h"
#include "schema/TensorTypes.h"
#include "tools/Driver.h"

#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include <cstring>

using namespace origo;
using namespace origo::eval;
namespace cl = llvm::cl;

static cl::OptionCategory general("General");
static cl::list<std::string> arguments(cl::Positional, cl::desc("MODEL [IN_PREFIX] OUT_PREFIX"), cl::cat(general));
static cl::opt<unsigned> seed("seed", cl::desc("Random inputs instead of files: no IN_PREFIX then"), cl::cat(general));
static cl::opt<std::string> tap("tap",
                                cl::desc("Writes the bytes of every tensor that is computed to DIR/SUBGRAPH_TENSOR"),
                                cl::value_desc("DIR"), cl::cat(general));
static cl::opt<Engine> engine("engine", cl::desc("What computes:"), cl::init(Engine::Reference),
                              cl::values(clEnumValN(Engine::Reference, "reference", "the semantics, bit for bit"),
                                         clEnumValN(Engine::Fast, "fast", "vector kernels, within small tolerances")),
                              cl::cat(general));
static cl::opt<unsigned> threads("threads", cl::desc("Of --engine=fast"), cl::init(1), cl::cat(general));
static cl::opt<unsigned> timeout("timeout", cl::desc("Gives up after that many seconds"), cl::value_desc("SECONDS"),
                                 cl::cat(general));
static cl::opt<bool> kernels("kernels", cl::desc("Prints the operators and types that can be run"), cl::cat(general));

namespace {

/// The generator of docs/kernels.md, so that other runtimes can be given the same numbers.
class Random {
public:
  Random(uint32_t seed, uint32_t input) : state(seed * 0x9E3779B1u + input * 0x85EBCA6Bu) {}
  uint32_t next() {
    state += 0x6D2B79F5u;
    uint32_t t = (state ^ state >> 15) * (state | 1);
    t ^= t + (t ^ t >> 7) * (t | 61);
    return t ^ t >> 14;
  }

private:
  uint32_t state;
};

template <class T> void put(std::vector<uint8_t> &bytes, size_t i, T value) {
  std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
}

/// Dimensions that are not known are 1. Integers are 0 or 1, because most are indices.
llvm::Expected<OwnedTensor> randomInput(const Port &port, unsigned position) {
  OwnedTensor tensor{port.type, port.shape, {}};
  for (int32_t &dim : tensor.shape)
    dim = dim < 0 ? 1 : dim;
  uint64_t count = 1;
  for (int32_t dim : tensor.shape)
    if (__builtin_mul_overflow(count, static_cast<uint64_t>(dim), &count))
      count = UINT64_MAX;
  auto bits = bitsPerElement(port.type);
  if (!bits || *bits < 8)
    return makeError("input " + llvm::Twine(position) + ": no random numbers for its type");
  if (count > CompileOptions().memoryLimit / (*bits / 8))
    return makeError("input " + llvm::Twine(position) + ": it would take more memory than a run may");
  tensor.bytes.resize(count * *bits / 8);
  Random random(seed, position);
  for (size_t i = 0; i < count; ++i) {
    uint32_t u = random.next();
    switch (port.type) {
    case TensorType::FLOAT32:
      put(tensor.bytes, i, static_cast<float>(u >> 8) / 8388608.f - 1.f);
      break;
    case TensorType::FLOAT64:
      put(tensor.bytes, i, u / 2147483648.0 - 1.0);
      break;
    case TensorType::INT8:
    case TensorType::UINT8:
      put(tensor.bytes, i, static_cast<uint8_t>((u >> 24) - (port.type == TensorType::INT8 ? 128 : 0)));
      break;
    case TensorType::INT16:
    case TensorType::UINT16:
      put(tensor.bytes, i, static_cast<uint16_t>((u >> 16) - (port.type == TensorType::INT16 ? 32768 : 0)));
      break;
    case TensorType::BOOL:
      put(tensor.bytes, i, static_cast<uint8_t>(u >> 31));
      break;
    case TensorType::INT32:
    case TensorType::UINT32:
      put(tensor.bytes, i, u % 2);
      break;
    case TensorType::INT64:
    case TensorType::UINT64:
      put(tensor.bytes, i, static_cast<uint64_t>(u % 2));
      break;
    default:
      return makeError("input " + llvm::Twine(position) + ": no random numbers for " + tensorTypeName(port.type));
    }
  }
  return tensor;
}

/// A dimension that is not known is what the size of the file makes it.
llvm::Expected<OwnedTensor> readInput(const Port &port, const std::string &path) {
  auto file = llvm::MemoryBuffer::getFile(path, false, false);
  if (!file)
    return makeError(printable(path) + ": " + file.getError().message());
  OwnedTensor tensor{port.type, port.shape, {}};
  tensor.bytes.assign((*file)->getBuffer().bytes_begin(), (*file)->getBuffer().bytes_end());
  int unknown = -1;
  uint64_t others = 1;
  for (size_t i = 0; i < tensor.shape.size(); ++i) {
    if (tensor.shape[i] < 0 && unknown < 0)
      unknown = static_cast<int>(i);
    else if (tensor.shape[i] < 0)
      tensor.shape[i] = 1;
    else if (__builtin_mul_overflow(others, static_cast<uint64_t>(tensor.shape[i]), &others))
      return makeError(printable(path) + ": the input has an impossible shape");
  }
  auto bits = bitsPerElement(port.type);
  if (unknown >= 0)
    tensor.shape[unknown] = bits && others ? static_cast<int32_t>(tensor.bytes.size() * 8 / *bits / others) : 0;
  return tensor;
}

llvm::Error writeFile(const std::string &path, llvm::ArrayRef<uint8_t> bytes) {
  std::error_code ec;
  llvm::raw_fd_ostream out(path, ec);
  if (!ec) {
    out.write(reinterpret_cast<const char *>(bytes.data()), bytes.size());
    out.close();
    ec = out.error();
    out.clear_error();
  }
  return ec ? makeError(printable(path) + ": " + ec.message()) : llvm::Error::success();
}

llvm::Error interpret(const std::string &model, const std::string &inPrefix, const std::string &outPrefix) {
  PayloadStore store;
  llvm::Expected<Imported> imported = tools::load(model, {}, store);
  if (!imported)
    return imported.takeError();
  CompileOptions options;
  options.engine = engine;
  options.threads = threads;
  if (timeout.getNumOccurrences())
    options.timeout = std::chrono::seconds(timeout);
  auto session = compile(*imported->model, options);
  if (!session)
    return inFile(model, session.takeError());
  std::vector<OwnedTensor> inputs;
  auto ports = session->inputs();
  if (!ports)
    return ports.takeError();
  for (const Port &port : *ports) {
    unsigned position = static_cast<unsigned>(inputs.size());
    auto input = inPrefix.empty() ? randomInput(port, position) : readInput(port, inPrefix + std::to_string(position));
    if (!input)
      return input.takeError();
    inputs.push_back(std::move(*input));
  }
  RunOptions run;
  llvm::Error tapError = llvm::Error::success();
  if (!tap.empty()) {
    if (std::error_code ec = llvm::sys::fs::create_directories(tap))
      return makeError(printable(tap) + ": " + ec.message());
    run.observer = [&](const Operator &op, const Value &value, const Tensor &tensor) {
      std::string name = std::to_string(op.subgraph()->index) + "_" + std::to_string(value.index);
      if (!tapError)
        tapError = writeFile(tap + "/" + name, tensor.bytes());
    };
  }
  std::vector<TensorRef> refs(inputs.begin(), inputs.end());
  auto outputs = session->run(refs, run);
  if (!outputs)
    return llvm::joinErrors(inFile(model, outputs.takeError()), std::move(tapError));
  for (size_t i = 0; i < outputs->size(); ++i)
    if (llvm::Error error = writeFile(outPrefix + std::to_string(i), (*outputs)[i].tensor.bytes))
      return llvm::joinErrors(std::move(error), std::move(tapError));
  return tapError;
}

} // namespace

int main(int argc, char **argv) {
  tools::start("circle-interpreter");
  cl::HideUnrelatedOptions(general);
  cl::SetVersionPrinter([](llvm::raw_ostream &os) { os << "circle-interpreter (origo) " ORIGO_VERSION "\n"; });
  tools::parseOptions(
      argc, argv,
      "Runs a .circle, .tflite or .origo model. Input n of subgraph 0 is read from the file IN_PREFIX\n"
      "followed by n, output n is written to OUT_PREFIX followed by n: the elements and nothing else.\n\n"
      "  circle-interpreter net.circle in out\n"
      "  circle-interpreter --seed=1 --tap=tensors net.circle out\n"
      "  circle-interpreter --engine=fast --threads=2 net.circle in out\n");
  if (kernels) {
    llvm::outs() << supportTable();
    return 0;
  }
  bool random = seed.getNumOccurrences();
  if (arguments.size() != (random ? 2u : 3u))
    return tools::fail("needs MODEL, IN_PREFIX (unless --seed is given) and OUT_PREFIX; --help shows an example");
  if (llvm::Error error =
          interpret(arguments[0], random ? std::string() : arguments[1], arguments[arguments.size() - 1]))
    return tools::fail(std::move(error));
  return 0;
}
