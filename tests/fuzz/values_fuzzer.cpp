#include "commands/ValueDump.h"
#include "eval/Npy.h"
#include "ir/text/Text.h"
#include "quantize/Assignment.h"
#include "quantize/Config.h"
#include "quantize/Npz.h"
#include "quantize/Plan.h"
#include "quantize/Recipe.h"
#include "quantize/RecordParts.h"
#include "report/errors/Part.h"
#include "report/errors/Search.h"
#include "tests/fuzz/Fails.h"

#include "llvm/ADT/StringExtras.h"

#include <sys/mman.h>
#include <unistd.h>

using namespace origo;

/// A tensor from elsewhere in the place of one of ours, of any type and shape.
static void write(const eval::OwnedTensor &held) {
  static const Quantization quantization = [] {
    static const float scales[] = {0.5f, 0.25f, 0};
    static const int64_t zeros[] = {3, -7, 0};
    Quantization made;
    made.scale = scales;
    made.zeroPoint = zeros;
    made.dimension = 2;
    return made;
  }();
  for (TensorType type : {TensorType::FLOAT32, TensorType::INT8, TensorType::UINT8, TensorType::INT16,
                          TensorType::FLOAT16, TensorType::INT64, TensorType::BOOL})
    for (const eval::Shape &shape : {eval::Shape{1, 2, 3}, eval::Shape{6}, eval::Shape{}, eval::Shape{2, 0, 3}})
      for (bool quantized : {false, true}) {
        eval::Tensor tensor;
        tensor.type = type;
        tensor.shape = shape;
        tensor.quantization = quantized ? &quantization : nullptr;
        std::vector<uint8_t> bytes(static_cast<size_t>(eval::product(shape)) * (*bitsPerElement(type) / 8));
        tensor.storage = bytes;
        bool turned = false;
        fails(commands::writeDumped(held, tensor, turned));
      }
}

/// A file of HDF5, through the process that reads those. One needs milliseconds, so this is for one input in many.
static void hdf5(llvm::StringRef bytes) {
  if (!bytes.starts_with("\x89HDF") || llvm::hash_value(bytes) % 64 != 0)
    return;
  int fd = ::memfd_create("fuzz.h5", MFD_CLOEXEC);
  if (fd < 0 || ::write(fd, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
    return;
  std::string path = "/tmp/values_fuzzer." + std::to_string(::getpid()) + ".h5"; // what is read is told by the name
  (void)::unlink(path.c_str());
  if (::symlink(("/proc/self/fd/" + std::to_string(fd)).c_str(), path.c_str()) == 0) {
    auto dumps = commands::ValueDumps::open(path);
    if (!dumps)
      fails(dumps.takeError());
    else
      for (size_t i = 0; i < dumps->count(); ++i)
        if (auto record = dumps->record(i))
          (void)record->unused();
        else
          fails(record.takeError());
    auto file = quantize::Hdf5Tensors::open(path);
    if (!file)
      fails(file.takeError());
    else
      for (size_t i = 0; i < file->names.size() && i < 8; ++i) {
        auto tensor = file->read(i);
        if (tensor)
          write(*tensor);
        else if (fails(tensor.takeError()) && i > 2)
          break; // the process may be gone
      }
    ::unlink(path.c_str());
  }
  ::close(fd);
}

static void config(llvm::StringRef bytes) {
  static PayloadStore store;
  static const std::unique_ptr<Model> model = llvm::cantFail(parseText("origo 1\n"
                                                                       "model circle version 0\n"
                                                                       "subgraph @main(%x: f32[2,4]) -> (%y) {\n"
                                                                       "  %a: f32[2,4] = RELU(%x)\n"
                                                                       "  %b: f32[2,4] = NEG(%a)\n"
                                                                       "  %c: f32[2,4] = ADD(%x, %b)\n"
                                                                       "  %y: f32[2,4] = MUL(%c, %a)\n"
                                                                       "}\n",
                                                                       ".", store));
  const Subgraph &graph = *model->subgraphs[0];
  if (auto costs = quantize::readCosts(bytes, graph)) {
    auto again = quantize::readCosts(quantize::costsText(*costs, graph, "ms"), graph);
    if (!again || *again != *costs)
      __builtin_trap();
    auto measure = [](const quantize::Levels &levels) -> llvm::Expected<double> {
      return static_cast<double>(llvm::count(levels, quantize::Level::Int8));
    };
    if (auto found = quantize::bestWithin(*costs, 10, measure); !found)
      fails(found.takeError());
    else if (found->suffices != (found->cost <= 10))
      __builtin_trap();
    if (auto found = quantize::cheapestWithin(*costs, 1, measure); !found)
      fails(found.takeError());
    else if (found->suffices != (found->error <= 1))
      __builtin_trap();
  } else {
    fails(costs.takeError());
  }
  quantize::Scheme scheme;
  scheme.dialect = quantize::Dialect::One;
  if (fails(quantize::readConfig(bytes, *model, scheme)))
    return;
  // What is accepted names operators of the model.
  for (const auto &layer : scheme.layers)
    if (llvm::none_of(model->subgraphs[0]->operators,
                      [&](const Operator &op) { return op.result()->name == layer.first(); }))
      __builtin_trap();
  auto plan = quantize::planBy(scheme)(*model);
  if (!plan)
    fails(plan.takeError());
}

/// A recipe of ai-edge-quantizer, with expressions that names are searched for.
static void recipe(llvm::StringRef bytes) {
  static PayloadStore store;
  static const std::unique_ptr<Model> model = llvm::cantFail(
      parseText("origo 1\n"
                "model tflite version 3\n"
                "subgraph @main(%x: f32[2,4] q{min=-1, max=1}) -> (%y) {\n"
                "  %w: f32[2,4] = const splat 0.5\n"
                "  %aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa: f32[2,2] q{min=-1, max=1} = FULLY_CONNECTED(%x, %w)\n"
                "  %y: f32[2,2] q{min=-1, max=1} = SOFTMAX(%aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa)\n"
                "}\n",
                ".", store));
  quantize::Scheme scheme;
  auto vain = quantize::readRecipe(bytes, *model, scheme);
  if (!vain) {
    fails(vain.takeError());
    return;
  }
  auto plan = quantize::planBy(scheme)(*model);
  if (!plan)
    fails(plan.takeError());
}

/// What visq writes: in ONE's form, and for --merge.
static void errors(llvm::StringRef bytes) {
  auto visq = report::readVisq(bytes);
  if (!visq)
    fails(visq.takeError());
  auto part = report::ErrorPart::parse(bytes);
  if (!part) {
    fails(part.takeError());
    return;
  }
  std::string text = part->text();
  auto again = report::ErrorPart::parse(text);
  if (!again || again->text() != text)
    __builtin_trap();
  for (const report::ErrorPart::Row &row : part->rows)
    for (const report::ErrorSums *sums : {&row.total, &row.own, &row.inherited})
      (void)sums->figures(1);
  if (!fails(again->merge(*part)) && !part->records.empty())
    __builtin_trap(); // all its records are there already
}

/// Any bytes, taken for tensors from elsewhere, for what a process that reads them sends, for the config of a
/// quantiser, for a recipe or for errors by layer, end in what fits together or in an error of one line.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llvm::ArrayRef<uint8_t> bytes(data, size);
  llvm::StringRef text = llvm::toStringRef(bytes);
  if (auto array = eval::readNpy(bytes))
    write(*array);
  else
    fails(array.takeError());
  if (auto archive = quantize::readNpz(bytes)) {
    for (const eval::NamedTensor &entry : *archive)
      write(entry.tensor);
  } else {
    fails(archive.takeError());
  }
  for (llvm::ArrayRef<uint8_t> rest = bytes; !rest.empty();) {
    auto sent = quantize::takeArray(rest);
    if (!sent) {
      fails(sent.takeError());
      break;
    }
    if (sent->type)
      write({*sent->type, sent->shape, sent->elements.vec()});
  }
  hdf5(text);
  config(text);
  recipe(text);
  errors(text);
  return 0;
}
