#include "import/Import.h"
#include "import/Lineage.h"

#include "schema/tflite_generated.h"
#include "tests/RealModels.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

#include "gtest/gtest.h"

#include <cstdlib>
#include <sys/mman.h>
#include <unistd.h>

using namespace origo;
using flatbuffers::Offset;
using llvm::StringRef;

namespace {

std::shared_ptr<MappedFile> inMemory(StringRef bytes) {
  int fd = ::memfd_create("model", MFD_CLOEXEC);
  EXPECT_EQ(::write(fd, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  return llvm::cantFail(
      MappedFile::adopt(std::make_shared<FileDescriptor>(fd), 0, bytes.size(), "folder/memory.circle"));
}

llvm::Expected<Imported> importBytes(StringRef bytes, const ImportOptions &options = {}) {
  return importModel(inMemory(bytes), options);
}

/// The error of an import, or an empty text.
std::string errorOf(StringRef bytes, const ImportOptions &options = {}) {
  llvm::Expected<Imported> imported = importBytes(bytes, options);
  return imported ? "" : llvm::toString(imported.takeError());
}

/// Writes models table by table.
struct Writer {
  flatbuffers::FlatBufferBuilder fbb;
  std::vector<Offset<circle::Buffer>> buffers;
  std::vector<Offset<circle::Tensor>> tensors;
  std::vector<Offset<circle::Operator>> operators;
  std::vector<Offset<circle::OperatorCode>> codes;
  std::vector<Offset<circle::SubGraph>> graphs;
  std::vector<Offset<circle::Metadata>> metadata;
  std::vector<Offset<circle::SignatureDef>> signatures;

  Writer() { buffers.push_back(circle::CreateBuffer(fbb)); }
  uint32_t buffer(StringRef bytes) {
    auto *data = reinterpret_cast<const uint8_t *>(bytes.data());
    buffers.push_back(circle::CreateBuffer(fbb, fbb.CreateVector(data, bytes.size())));
    return buffers.size() - 1;
  }
  void tensor(const std::vector<int32_t> &shape, uint32_t buffer = 0, TensorType type = TensorType::FLOAT32,
              Offset<circle::QuantizationParameters> quantization = 0, const char *name = "t") {
    tensors.push_back(circle::CreateTensorDirect(fbb, &shape, type, buffer, name, quantization));
  }
  uint32_t code(BuiltinOperator code) {
    auto number = static_cast<int32_t>(code);
    codes.push_back(circle::CreateOperatorCodeDirect(fbb, deprecatedCode(number), nullptr, 1, code));
    return codes.size() - 1;
  }
  void op(uint32_t code, const std::vector<int32_t> &inputs, const std::vector<int32_t> &outputs,
          circle::BuiltinOptions member = circle::BuiltinOptions::NONE, Offset<void> options = 0) {
    operators.push_back(circle::CreateOperatorDirect(fbb, code, &inputs, &outputs, member, options));
  }
  void graph(const std::vector<int32_t> &inputs, const std::vector<int32_t> &outputs) {
    graphs.push_back(circle::CreateSubGraphDirect(fbb, &tensors, &inputs, &outputs, &operators, "main"));
    tensors.clear();
    operators.clear();
  }
  void entry(const char *name, StringRef bytes) {
    metadata.push_back(circle::CreateMetadataDirect(fbb, name, buffer(bytes)));
  }
  std::string finish(const char *identifier = "CIR0") {
    fbb.Finish(
        circle::CreateModelDirect(fbb, 0, &codes, &graphs, "described", &buffers, nullptr, &metadata, &signatures),
        identifier);
    return {reinterpret_cast<const char *>(fbb.GetBufferPointer()), fbb.GetSize()};
  }
};

/// x → RELU → y
Writer relu() {
  Writer w;
  w.tensor({2, 3});
  w.tensor({2, 3});
  w.op(w.code(BuiltinOperator::RELU), {0}, {1});
  w.graph({0}, {1});
  return w;
}

std::string words(std::initializer_list<uint32_t> values) {
  return {reinterpret_cast<const char *>(std::data(values)), values.size() * 4};
}

void everyModelFileIsImported(const test::ModelFolder &models, unsigned least) {
  unsigned imported = 0, operators = 0, constants = 0;
  for (const std::string &path : models.all()) {
    llvm::Expected<Imported> model = importModel(path);
    if (!model) {
      std::string text = llvm::toString(model.takeError());
      // The one file whose operator writes to a graph input.
      EXPECT_TRUE(StringRef(path).ends_with("add_shared_tensors.tflite")) << text;
      continue;
    }
    ++imported;
    operators += model->model->operatorCount();
    for (auto &graph : model->model->subgraphs)
      constants += llvm::count_if(graph->values, [](Value *v) { return v->isConstant(); });
    EXPECT_EQ(model->lineage.source->operatorCount(), model->model->operatorCount()) << path;
    EXPECT_EQ(model->lineage.source->file, llvm::sys::path::filename(path));
    EXPECT_EQ(model->model->run, 0u);
  }
  std::printf("%u model files imported: %u operators, %u constants\n", imported, operators, constants);
  EXPECT_GE(imported, least);
  EXPECT_GE(operators, 4000u);
  EXPECT_GE(constants, 2500u);
}

void hostileFilesAreRefused(const test::ModelFolder &models) {
  // What must be refused, and a word that the reason must have.
  const std::pair<StringRef, StringRef> reasons[] = {
      {"buffer_idx_oob", "out of range"},
      {"buffers_empty", "out of range"},
      {"veclen_huge", "damaged"},
      {"graph_output_oob", "output"},
      {"magic_bad", "identifier"},
      {"op_cycle", "cycle"},
      {"op_input_neg2", "operand -2"},
      {"op_input_oob", "operand"},
      {"op_output_is_input", "input of the"},
      {"op_output_oob", "result"},
      {"opcode_idx_oob", "operator code"},
      {"recursive", "calls itself"},
      {"root_", "damaged"},
      {"sg_idx", "subgraph"},
      {"scale_nan", "scale"},
      {"scale_neg", "scale"},
      {"scale_veclen3", "3 quantisation scales"},
      {"shape_huge", "elements"},
      {"shape_neg", "dimension -7"},
      {"tensor_type_99", "type 99"},
      {"vtable_oob", "damaged"},
      {"trunc0", "0 bytes"},
  };
  unsigned refused = 0, read = 0, expected = 0;
  for (const char *folder : {"hostile", "hostile/derived"})
    for (const std::string &path : models.in(folder)) {
      llvm::Expected<Imported> model = importModel(path);
      std::string error = model ? "" : llvm::toString(model.takeError());
      model ? ++read : ++refused;
      StringRef name = llvm::sys::path::filename(path);
      if (!error.empty()) {
        EXPECT_TRUE(StringRef(error).starts_with(path + ": ")) << error;
        EXPECT_EQ(error.find('\n'), std::string::npos) << error;
      }
      for (auto [part, reason] : reasons)
        if (name.contains("__") && name.contains(part)) {
          ++expected;
          EXPECT_NE(error.find(reason.str()), std::string::npos) << name.str() << ": " << error;
        }
    }
  EXPECT_GE(refused, 80u);
  EXPECT_GE(read, 3u);
  EXPECT_GE(expected, 65u);
}

} // namespace

/// What is only looked at may have scales along a dimension that it does not have, as a bias of TensorFlow Lite Micro's
/// person detector has. It is noted for some tensors, not for thousands.
TEST(Import, ScalesThatDoNotFitAreANoteForPeople) {
  Writer w;
  std::vector<float> scales{1, 2, 3, 4};
  for (int i = 0; i < 20; ++i)
    w.tensor({4}, 0, TensorType::INT32,
             circle::CreateQuantizationParametersDirect(w.fbb, nullptr, nullptr, &scales, nullptr,
                                                        circle::QuantizationDetails::NONE, 0, 3),
             "bias");
  w.graph({0}, {0});
  std::string file = w.finish(), why = "tensor 0 \"bias\": its quantised dimension 3 is not one of its 1";
  EXPECT_NE(errorOf(file).find(why), std::string::npos) << errorOf(file);
  ImportOptions options;
  options.tolerant = true;
  auto imported = importBytes(file, options);
  ASSERT_TRUE(static_cast<bool>(imported)) << llvm::toString(imported.takeError());
  ASSERT_EQ(imported->notes.size(), 8u);
  EXPECT_NE(imported->notes[0].find(why), std::string::npos) << imported->notes[0];
  EXPECT_EQ(imported->model->subgraphs[0]->values[19]->quantization->dimension, 3);
  EXPECT_EQ(imported->bytes, file.size());
  Writer other; // anything else is wrong for whoever looks, too
  other.tensor({2, 3}, other.buffer("short"));
  other.graph({}, {0});
  EXPECT_NE(errorOf(other.finish(), options).find("need 24 bytes"), std::string::npos);
}

TEST(Import, EveryModelFile) { everyModelFileIsImported(test::ownNetworks(), 900); }
TEST(ImportPublicModels, EveryModelFile) { everyModelFileIsImported(test::publicModels(), 640); }
TEST(Import, HostileFiles) { hostileFilesAreRefused(test::ownNetworks()); }
TEST(ImportPublicModels, HostileFiles) { hostileFilesAreRefused(test::publicModels()); }

TEST(Import, CarriesTheTablesOfAModel) {
  Writer w;
  std::string weights(24, 'w');
  uint32_t buffer = w.buffer(weights);
  std::vector<float> scale{0.5f};
  std::vector<int64_t> zero{3};
  w.tensor({2, 3}, 0, TensorType::UINT8,
           circle::CreateQuantizationParametersDirect(w.fbb, nullptr, nullptr, &scale, &zero));
  w.tensor({2, 3}, buffer);
  w.tensor({2, 3}, buffer);
  w.tensor({2, 3});
  w.op(w.code(BuiltinOperator::ADD), {0, 1}, {3}, circle::BuiltinOptions::AddOptions,
       circle::CreateAddOptions(w.fbb, circle::ActivationFunctionType::RELU).Union());
  w.graph({0}, {3});
  std::vector<Offset<circle::TensorMap>> in{circle::CreateTensorMapDirect(w.fbb, "x", 0)},
      out{circle::CreateTensorMapDirect(w.fbb, "y", 3)};
  w.signatures.push_back(circle::CreateSignatureDefDirect(w.fbb, &in, &out, "serve", 0));
  w.entry("mine", "payload");
  llvm::Expected<Imported> imported = importBytes(w.finish());
  ASSERT_TRUE(bool(imported)) << llvm::toString(imported.takeError());
  Model &model = *imported->model;
  EXPECT_EQ(model.format, Format::Circle);
  EXPECT_EQ(model.description, "described");
  ASSERT_EQ(model.subgraphs.size(), 1u);
  Subgraph &graph = *model.subgraphs[0];
  ASSERT_EQ(graph.values.size(), 4u);
  EXPECT_EQ(graph.values[1]->buffer, graph.values[2]->buffer);
  EXPECT_TRUE(graph.values[1]->isConstant());
  EXPECT_EQ(graph.values[1]->payload().size(), 24u);
  EXPECT_NE(graph.values[1]->payload().file(), nullptr);
  EXPECT_EQ(graph.values[0]->quantization->zeroPoint[0], 3);
  EXPECT_TRUE(graph.values[0]->isGraphInput);
  Operator &op = graph.operators.front();
  EXPECT_EQ(op.options.as<circle::AddOptions>()->fused_activation_function(), circle::ActivationFunctionType::RELU);
  ASSERT_EQ(model.signatures.size(), 1u);
  EXPECT_EQ(model.signatures[0].outputs[0].value, graph.values[3]);
  ASSERT_EQ(model.metadata.size(), 1u);
  EXPECT_EQ(model.metadata[0].buffer->payload.size(), 7u);
  EXPECT_EQ(model.sets.members(op.origins), llvm::SmallVector<uint32_t>({0}));
  EXPECT_EQ(imported->lineage.source->file, "memory.circle");
}

TEST(Import, TfliteSlotsAreNotMisread) {
  flatbuffers::FlatBufferBuilder fbb;
  std::vector<int32_t> shape{4}, inputs{0}, outputs{1}, axes{0};
  auto details = tflite::CreateMultiAxisQuantizationDirect(fbb, 2, -1, 2, &axes).Union();
  auto multi = tflite::CreateQuantizationParametersDirect(fbb, nullptr, nullptr, nullptr, nullptr,
                                                          tflite::QuantizationDetails::MultiAxisQuantization, details);
  auto block = tflite::CreateQuantizationParametersDirect(fbb, nullptr, nullptr, nullptr, nullptr,
                                                          tflite::QuantizationDetails::BlockwiseQuantization,
                                                          tflite::CreateBlockwiseQuantization(fbb, 2, -1, 32).Union());
  std::vector<Offset<tflite::Tensor>> tensors{
      tflite::CreateTensorDirect(fbb, &shape, tflite::TensorType::UINT4, 0, "a", multi),
      tflite::CreateTensorDirect(fbb, &shape, tflite::TensorType::FLOAT32, 0, "b", block),
      tflite::CreateTensorDirect(fbb, &shape, tflite::TensorType::INT2, 0, "c", 0, false, 0, nullptr, false, nullptr,
                                 7)};
  std::vector<Offset<tflite::Operator>> operators{tflite::CreateOperatorDirect(
      fbb, 0, &inputs, &outputs, tflite::BuiltinOptions::CastOptions,
      tflite::CreateCastOptions(fbb, tflite::TensorType::UINT4, tflite::TensorType::FLOAT32).Union())};
  std::vector<Offset<tflite::SubGraph>> graphs{
      tflite::CreateSubGraphDirect(fbb, &tensors, &inputs, &outputs, &operators, "main", 5)};
  // Older writers leave the first field at its default.
  std::vector<Offset<tflite::OperatorCode>> codes{
      tflite::CreateOperatorCodeDirect(fbb, 0, nullptr, 1, tflite::BuiltinOperator::CAST)};
  std::vector<Offset<tflite::Buffer>> buffers{tflite::CreateBuffer(fbb)};
  std::vector<Offset<tflite::ExternalBufferGroup>> groups{tflite::CreateExternalBufferGroupDirect(fbb, "weights.bin")};
  std::vector<Offset<tflite::ExternalBuffer>> externals{tflite::CreateExternalBufferDirect(fbb, 7, 0, 64, 1, "none")};
  fbb.Finish(tflite::CreateModelDirect(fbb, 3, &codes, &graphs, nullptr, &buffers, nullptr, nullptr, nullptr, &groups,
                                       &externals),
             "TFL3");
  llvm::Expected<Imported> imported =
      importBytes({reinterpret_cast<const char *>(fbb.GetBufferPointer()), fbb.GetSize()});
  ASSERT_TRUE(bool(imported)) << llvm::toString(imported.takeError());
  Model &model = *imported->model;
  Subgraph &graph = *model.subgraphs[0];
  EXPECT_EQ(graph.debugMetadata, 5);
  EXPECT_FALSE(graph.channelsFirst);
  EXPECT_EQ(graph.values[0]->type, TensorType::UINT4);
  EXPECT_EQ(graph.values[2]->type, tensorTypeInt2);
  EXPECT_EQ(graph.values[2]->compression, 0);
  EXPECT_EQ(graph.values[2]->externalBuffer, 7u);
  EXPECT_EQ(graph.values[0]->quantization->details, Quantization::Details::MultiAxis);
  EXPECT_EQ(graph.values[0]->quantization->more->dimensions.size(), 1u);
  EXPECT_EQ(graph.values[1]->quantization->details, Quantization::Details::Blockwise);
  EXPECT_EQ(graph.values[1]->quantization->more->blockSize, 32);
  EXPECT_EQ(graph.values[1]->quantization->more->scales, graph.values[2]);
  EXPECT_EQ(graph.values[1]->quantization->more->rawZeroPoints, -1);
  EXPECT_EQ(graph.values[2]->otherUses, 2u);
  Operator &op = graph.operators.front();
  EXPECT_EQ(op.code, BuiltinOperator::CAST);
  EXPECT_EQ(op.options.as<circle::CastOptions>()->in_data_type(), TensorType::UINT4);
  EXPECT_EQ(op.options.as<circle::CastOptions>()->out_data_type(), TensorType::FLOAT32);
  ASSERT_EQ(model.externalBuffers.size(), 1u);
  EXPECT_EQ(model.externalBuffers[0].packing, "none");
  EXPECT_EQ(model.externalGroups[0], "weights.bin");
}

TEST(Import, PayloadsBehindTheTables) {
  Writer w;
  w.buffers.push_back(circle::CreateBuffer(w.fbb, 0, 0x1000, 16));
  w.buffers.push_back(circle::CreateBuffer(w.fbb, 0, 1, 1)); // a writer's placeholder
  w.tensor({4});
  w.tensor({4}, 1);
  w.tensor({4}, 2);
  w.op(w.code(BuiltinOperator::ADD), {0, 1}, {2});
  w.graph({0}, {2});
  std::string bytes = w.finish();
  EXPECT_NE(errorOf(bytes).find("do not lie in the file"), std::string::npos);
  bytes.resize(0x1000);
  bytes += "0123456789abcdef";
  llvm::Expected<Imported> imported = importBytes(bytes);
  ASSERT_TRUE(bool(imported)) << llvm::toString(imported.takeError());
  auto &values = imported->model->subgraphs[0]->values;
  EXPECT_EQ(values[1]->payload().offset(), 0x1000u);
  EXPECT_EQ(values[1]->payload().size(), 16u);
  EXPECT_TRUE(values[2]->payload().empty());
  bytes.pop_back();
  EXPECT_NE(errorOf(bytes).find("do not lie in the file"), std::string::npos);
}

TEST(Import, ArchiveBehindTheFlatbuffer) {
  std::string bytes = relu().finish();
  std::string local = "PK\3\4" + std::string(26, '\0') + "data";
  std::string directory = "PK\1\2" + std::string(42, '\0');
  auto end = [](uint32_t entries, uint32_t size, uint32_t offset, StringRef comment) {
    std::string record = "PK\5\6" + std::string(4, '\0');
    for (uint32_t n : {entries, entries})
      record += {static_cast<char>(n), '\0'};
    record += words({size, offset});
    record += {static_cast<char>(comment.size()), '\0'};
    return record + comment.str();
  };
  auto archive = [](const std::string &file) { return llvm::cantFail(importBytes(file)).model->archive; };
  EXPECT_TRUE(archive(bytes).empty());
  EXPECT_TRUE(archive(bytes + "trailing bytes that are no archive").empty());
  std::string empty = end(0, 0, bytes.size(), "");
  EXPECT_EQ(archive(bytes + empty).size(), empty.size());
  // Offsets from the start of the archive, with a comment.
  std::string zip = local + directory + end(1, directory.size(), local.size(), "comment");
  EXPECT_EQ(archive(bytes + zip).size(), zip.size());
  EXPECT_EQ(archive(bytes + zip).offset(), bytes.size());
  // Offsets from the start of the file.
  std::string entry = "PK\1\2" + std::string(38, '\0') + words({static_cast<uint32_t>(bytes.size())});
  zip = local + entry + end(1, entry.size(), bytes.size() + local.size(), "");
  EXPECT_EQ(archive(bytes + zip).size(), zip.size());
  // An archive that is itself a payload stays one.
  zip = local + directory + end(1, directory.size(), local.size(), "");
  Writer w;
  w.buffers.push_back(circle::CreateBuffer(w.fbb, 0, 0x1000, zip.size()));
  w.metadata.push_back(circle::CreateMetadataDirect(w.fbb, "asset", 1));
  w.tensor({1});
  w.graph({0}, {0});
  std::string file = w.finish();
  file.resize(0x1000);
  EXPECT_TRUE(archive(file + zip).empty());
}

TEST(Import, RulesOfTheGraph) {
  auto expect = [](Writer &w, StringRef reason) {
    std::string error = errorOf(w.finish());
    EXPECT_NE(error.find(reason.str()), std::string::npos) << reason.str() << " / " << error;
    EXPECT_EQ(error.find('\n'), std::string::npos);
  };
  {
    Writer w; // two producers
    w.tensor({1}), w.tensor({1});
    uint32_t code = w.code(BuiltinOperator::RELU);
    w.op(code, {0}, {1}), w.op(code, {0}, {1});
    w.graph({0}, {1});
    expect(w, "operator 1 (RELU), tensor 1 \"t\": operator 0 has the same result already");
  }
  {
    Writer w; // a constant that is too short
    w.tensor({2, 3}, w.buffer("short"));
    w.graph({}, {0});
    expect(w, "need 24 bytes");
  }
  {
    Writer w; // per-channel scales that do not fit
    std::vector<float> scales{1, 2};
    w.tensor({4, 3}, 0, TensorType::INT8,
             circle::CreateQuantizationParametersDirect(w.fbb, nullptr, nullptr, &scales, nullptr,
                                                        circle::QuantizationDetails::NONE, 0, 7));
    w.graph({0}, {0});
    expect(w, "quantised dimension 7");
  }
  {
    Writer w; // another operator's options
    w.tensor({1}), w.tensor({1});
    w.op(w.code(BuiltinOperator::SOFTMAX), {0}, {1}, circle::BuiltinOptions::AddOptions,
         circle::CreateAddOptions(w.fbb).Union());
    w.graph({0}, {1});
    expect(w, "AddOptions, which belong to another operator");
  }
  {
    Writer w; // options that nobody has verified
    w.tensor({1}), w.tensor({1});
    w.op(w.code(BuiltinOperator::CUSTOM), {0}, {1}, static_cast<circle::BuiltinOptions>(200),
         circle::CreateAddOptions(w.fbb).Union());
    w.graph({0}, {1});
    expect(w, "unknown kind 200");
  }
  {
    Writer w; // operand counts
    w.tensor({1}), w.tensor({1});
    w.op(w.code(BuiltinOperator::ADD), {0}, {1});
    w.graph({0}, {1});
    expect(w, "1 operands");
  }
  {
    Writer w = relu();
    w.metadata.push_back(circle::CreateMetadataDirect(w.fbb, "m\nm", 9));
    expect(w, "metadata \"m\\x0am\": buffer 9");
  }
  {
    Writer w = relu();
    w.signatures.push_back(circle::CreateSignatureDefDirect(w.fbb, nullptr, nullptr, "s", 3));
    expect(w, "signature \"s\": subgraph 3");
  }
  {
    Writer w; // options whose kind is not told: the flatbuffer verifier does not look at them
    w.tensor({1}), w.tensor({1});
    w.op(w.code(BuiltinOperator::WHILE), {0}, {1}, circle::BuiltinOptions::NONE,
         circle::CreateWhileOptions(w.fbb).Union());
    w.graph({0}, {1});
    expect(w, "options of the kind NONE");
  }
  {
    Writer w; // no subgraph
    expect(w, "no subgraph");
  }
}

TEST(Import, OddButHarmless) {
  Writer w;
  w.tensor({2}, w.buffer(std::string(8, 'x')));  // bytes on a graph input
  w.tensor({2});                                 // an operand that nothing defines
  w.tensor({-1});                                // an unknown dimension, unused
  w.tensor({2}, w.buffer(std::string(99, 'x'))); // more bytes than needed
  w.tensor({2}, 0, TensorType::FLOAT32, 0, "");
  w.op(w.code(BuiltinOperator::ADD), {0, 1}, {4});
  w.op(w.code(static_cast<BuiltinOperator>(250)), {4, -1, 3}, {-1}); // outside the table
  w.graph({0}, {0, 4});
  llvm::Expected<Imported> imported = importBytes(w.finish());
  ASSERT_TRUE(bool(imported)) << llvm::toString(imported.takeError());
  Operator &odd = imported->model->subgraphs[0]->operators.back();
  EXPECT_EQ(odd.opName(), "250");
  EXPECT_EQ(odd.operand(1), nullptr);
  EXPECT_EQ(odd.result(0), nullptr);
}

TEST(Import, DeepCallsAreRefused) {
  Writer w;
  constexpr int count = 500;
  uint32_t code = w.code(BuiltinOperator::CALL_ONCE);
  for (int i = 0; i < count; ++i) {
    w.tensor({1});
    if (i + 1 < count)
      w.op(code, {}, {}, circle::BuiltinOptions::CallOnceOptions, circle::CreateCallOnceOptions(w.fbb, i + 1).Union());
    w.graph({0}, {0});
  }
  EXPECT_NE(errorOf(w.finish()).find("more than 64 deep"), std::string::npos);
}

TEST(Import, SharedTablesCannotExhaustMemory) {
  {
    Writer w; // one tensor a million times
    w.tensor({1});
    w.tensors.resize(1'000'000, w.tensors[0]);
    w.graph({0}, {0});
    EXPECT_NE(errorOf(w.finish()).find("MiB"), std::string::npos);
  }
  {
    Writer w; // one operator with many operands, many times
    w.tensor({1});
    w.op(w.code(BuiltinOperator::CUSTOM), std::vector<int32_t>(100'000, 0), {});
    w.operators.resize(10'000, w.operators[0]);
    w.graph({0}, {0});
    EXPECT_FALSE(errorOf(w.finish()).empty());
  }
  {
    Writer w; // one name for all
    auto name = w.fbb.CreateString(std::string(1 << 20, 'n'));
    for (int i = 0; i < 1000; ++i)
      w.tensors.push_back(circle::CreateTensor(w.fbb, 0, TensorType::FLOAT32, 0, name));
    w.graph({0}, {0});
    EXPECT_FALSE(errorOf(w.finish()).empty());
  }
}

TEST(Import, ManyOperators) {
  Writer w;
  constexpr int count = 300'000;
  uint32_t code = w.code(BuiltinOperator::NEG);
  w.tensor({8});
  for (int i = 0; i < count; ++i) {
    w.tensor({8});
    w.op(code, {i}, {i + 1});
  }
  w.graph({0}, {count});
  llvm::Expected<Imported> imported = importBytes(w.finish());
  ASSERT_TRUE(bool(imported)) << llvm::toString(imported.takeError());
  EXPECT_EQ(imported->model->operatorCount(), static_cast<size_t>(count));
}

namespace {

/// A map from a source of two operators and three tensors to the model of relu().
origin::OriginMap mapToRelu() {
  origin::OriginMap map;
  auto &source = map.source.subgraphs.emplace_back();
  source.operators.resize(2);
  source.tensors.resize(3);
  auto &target = map.target.subgraphs.emplace_back();
  target.source = {0};
  target.operators.resize(1);
  target.operators[0].origins = {0, 1};
  target.operators[0].passes = {"fuse-a", "fuse-b"};
  target.tensors.resize(2);
  target.tensors[0].relations = {{.tensor = 0, .steps = {}, .exact = true}};
  target.tensors[1].index = 1;
  target.tensors[1].relations = {{.tensor = 2, .steps = {}, .exact = false}};
  map.ledger.push_back({.isTensor = true,
                        .id = 1,
                        .fate = "fused-away",
                        .was = "",
                        .pass = "fuse-a",
                        .run = 0,
                        .rewrite = 4,
                        .operators = {{0, 0}},
                        .tensors = {{0, 1}},
                        .partFile = "",
                        .partFingerprint = "",
                        .with = {}});
  return map;
}

/// A model fresh from its file, before it has any provenance.
std::unique_ptr<Model> bareRelu() { return buildModel(llvm::cantFail(openSource(inMemory(relu().finish())))); }

std::string applied(const origin::OriginMap &map) {
  auto model = bareRelu();
  llvm::Error error = applyMap(map, false, *model);
  return error ? llvm::toString(std::move(error)) : "";
}

} // namespace

TEST(Import, MapsAreContinued) {
  auto model = bareRelu();
  llvm::Error error = applyMap(mapToRelu(), false, *model);
  ASSERT_FALSE(bool(error)) << llvm::toString(std::move(error));
  Operator &op = model->subgraphs[0]->operators.front();
  EXPECT_EQ(model->sets.members(op.origins), llvm::SmallVector<uint32_t>({0, 1}));
  EXPECT_EQ(model->passLists.get(op.passes), llvm::SmallVector<StringRef>({"fuse-a", "fuse-b"}));
  EXPECT_TRUE(op.inexact);
  EXPECT_EQ(model->sourceOperators, 2u);
  EXPECT_EQ(model->sourceTensors, 3u);
  llvm::SmallVector<std::pair<bool, uint32_t>> lost;
  std::vector<LedgerRow> rows;
  model->ledger(lost, [&](const LedgerRow &row) { rows.push_back(row); });
  EXPECT_TRUE(lost.empty());
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].fate, Fate::FusedAway);
  EXPECT_EQ(rows[0].rewrite, 4u);
  ASSERT_EQ(rows[0].values.size(), 1u);
  EXPECT_EQ(rows[0].values[0], model->subgraphs[0]->values[1]);
}

TEST(Import, BrokenMapsAreRefused) {
  EXPECT_EQ(applied(mapToRelu()), "");
  auto expect = [](StringRef reason, auto change) {
    origin::OriginMap map = mapToRelu();
    change(map);
    std::string error = applied(map);
    EXPECT_NE(error.find(reason.str()), std::string::npos) << reason.str() << " / " << error;
  };
  auto op = [](origin::OriginMap &map) -> origin::OperatorRow & { return map.target.subgraphs[0].operators[0]; };
  auto tensor = [](origin::OriginMap &map, int i) -> origin::TensorRow & { return map.target.subgraphs[0].tensors[i]; };
  using Step = origin::MapStep;
  expect("origin that the source does not have", [&](auto &map) { op(map).origins = {0, 2}; });
  expect("either origins or", [&](auto &map) { op(map).origins = {}; });
  expect("either origins or", [&](auto &map) { op(map).syntheticReason = "broadcast"; });
  expect("neither live nor", [&](auto &map) { op(map).origins = {0}; });
  expect("neither live nor", [&](auto &map) { map.ledger.clear(); });
  expect("other operators or tensors", [&](auto &map) { map.target.subgraphs[0].operators.emplace_back(); });
  expect("subgraphs", [&](auto &map) { map.target.subgraphs.emplace_back(); });
  expect("no or two rows", [&](auto &map) { tensor(map, 1).index = 0; });
  expect("no or two rows", [&](auto &map) { tensor(map, 1).index = 17; });
  expect("related to a tensor", [&](auto &map) { tensor(map, 1).relations[0].tensor = 3; });
  expect("row for tensor 3", [&](auto &map) { map.ledger[0].id = 3; });
  expect("leads to an operator", [&](auto &map) { map.ledger[0].operators = {{0, 1}}; });
  expect("names run 65536", [&](auto &map) { map.ledger[0].run = 65536; });
  expect("its chain has 65535 runs", [&](auto &map) { map.chain.resize(65535); });
  expect("leads to a tensor", [&](auto &map) { map.ledger[0].tensors = {{1, 0}}; });
  auto withSteps = [&](std::vector<Step> steps) {
    return [&, steps](auto &map) { tensor(map, 1).relations[0].steps = steps; };
  };
  Step permute{
      .kind = Step::Permute, .scale = {}, .shift = {}, .first = {1, 0}, .second = {}, .factors = {}, .unknown = ""};
  Step twice = permute, outside = permute, longer = permute;
  twice.first = {0, 0};
  outside.first = {0, 2};
  longer.first = {0, 2, 1};
  Step affine{.kind = Step::Affine,
              .axis = 0,
              .scale = {},
              .shift = {},
              .first = {},
              .second = {},
              .factors = {},
              .unknown = ""};
  affine.scale = {origin::Term::Constant, 0, 9};
  expect("steps cannot be followed", withSteps({twice}));
  expect("steps cannot be followed", withSteps({outside}));
  expect("steps cannot be followed", withSteps({longer}));
  expect("steps cannot be followed", withSteps({longer, permute}));
  expect("steps cannot be followed", withSteps({affine}));
  expect("steps cannot be followed", withSteps(std::vector<Step>(1000, permute)));
  origin::OriginMap sound = mapToRelu();
  withSteps({permute})(sound);
  EXPECT_EQ(applied(sound), "");
}

TEST(Import, StaleMapsAreRefused) {
  ImportOptions options;
  auto map = std::make_shared<origin::OriginMap>(mapToRelu());
  options.map = map;
  std::string bytes = relu().finish();
  std::string error = errorOf(bytes, options);
  EXPECT_NE(error.find("stale origin map"), std::string::npos) << error;
  EXPECT_NE(error.find("--origin=restart"), std::string::npos) << error;
  map->target.fingerprint = llvm::cantFail(importBytes(bytes)).lineage.source->fingerprint;
  map->target.content = llvm::cantFail(importBytes(bytes)).lineage.source->content;
  llvm::Expected<Imported> imported = importBytes(bytes, options);
  ASSERT_TRUE(bool(imported)) << llvm::toString(imported.takeError());
  EXPECT_FALSE(imported->lineage.retrained);
  EXPECT_EQ(imported->model->run, 1u);
  ASSERT_EQ(imported->lineage.chain.size(), 1u);
  EXPECT_EQ(imported->lineage.chain[0].file, "memory.circle");
  map->target.content[0] ^= 1;
  imported = importBytes(bytes, options);
  ASSERT_TRUE(bool(imported)) << llvm::toString(imported.takeError());
  EXPECT_TRUE(imported->lineage.retrained);
  EXPECT_EQ(imported->notes.size(), 1u);
  options.origin = OriginMode::Restart;
  map->target.fingerprint[0] ^= 1;
  imported = importBytes(bytes, options);
  ASSERT_TRUE(bool(imported)) << llvm::toString(imported.takeError());
  EXPECT_EQ(imported->model->run, 0u);
  // Bytes that are no map at all.
  Writer w = relu();
  w.entry("origo.origin_map", "this is no map, whatever its name says");
  bytes = w.finish();
  EXPECT_NE(errorOf(bytes).find("origin map"), std::string::npos) << errorOf(bytes);
  EXPECT_EQ(llvm::cantFail(importBytes(bytes, {.origin = OriginMode::Restart, .map = {}})).model->metadata.size(), 0u);
}

TEST(Import, OneTables) {
  std::string names = words({2}) + words({0, 2}) + std::string("a\0", 2) + words({1, 2}) + std::string("b\0", 2);
  auto withTables = [&](StringRef op, StringRef source) {
    Writer w = relu();
    w.entry("ONE_source_table", source);
    w.entry("keep", "me");
    w.entry("ONE_op_table", op);
    return llvm::cantFail(importBytes(w.finish()));
  };
  Imported imported = withTables(words({1, 0, 2, 0, 1}), names);
  Operator &op = imported.model->subgraphs[0]->operators.front();
  EXPECT_EQ(imported.model->sets.members(op.origins), llvm::SmallVector<uint32_t>({0, 1}));
  EXPECT_EQ(imported.lineage.source->operatorCount(), 2u);
  EXPECT_EQ(imported.lineage.chain.size(), 1u);
  ASSERT_EQ(imported.model->metadata.size(), 1u);
  EXPECT_EQ(imported.model->metadata[0].name, "keep");
  ASSERT_EQ(imported.model->buffers.size(), 2u);
  EXPECT_EQ(imported.model->metadata[0].buffer->index, 1u);

  EXPECT_TRUE(imported.model->tombstones.empty());

  // What the tables do not lead to is gone as far as they know, and `unknown` is never written.
  imported = withTables(words({1, 0, 1, 1}), names);
  ASSERT_EQ(imported.model->tombstones.size(), 1u);
  EXPECT_EQ(imported.model->tombstones[0].fate, Fate::Dead);
  EXPECT_EQ(imported.model->passLists.get(imported.model->tombstones[0].pass).front(), "ONE_op_table");
  EXPECT_EQ(imported.model->sets.members(imported.model->tombstones[0].ids), llvm::SmallVector<uint32_t>({0}));

  imported = withTables(words({0}), names);
  ASSERT_EQ(imported.notes.size(), 1u);
  EXPECT_NE(imported.notes[0].find("ONE_op_table is empty, a known defect"), std::string::npos);
  EXPECT_EQ(imported.lineage.source->operatorCount(), 1u);
  EXPECT_EQ(imported.model->run, 0u);
  for (const std::string &table : {words({1, 0, 1, 9}), words({1, 7, 1, 0}), words({7}), std::string("x")}) {
    imported = withTables(table, names);
    EXPECT_EQ(imported.notes.size(), 1u);
    EXPECT_EQ(imported.model->run, 0u);
    EXPECT_EQ(imported.model->metadata.size(), 1u);
  }
}
