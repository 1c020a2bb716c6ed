#include "export/Export.h"
#include "export/OriginMapOf.h"
#include "export/Tables.h"
#include "import/Import.h"
#include "origin/Fingerprint.h"
#include "tests/Samples.h"
#include "tests/SmallGraph.h"

#include "llvm/ADT/StringExtras.h"

#include "gtest/gtest.h"

#include <cstdlib>
#include <sys/wait.h>

/// Export reads its own tables, for the fingerprint, before the payloads have their places behind them. Everything that
/// can be big is made small, big and right at the limits, and has to be read as it will lie in the file.

using namespace origo;
using namespace origo::test;

namespace {

/// One thing of `size` bytes in an otherwise small model.
struct Kind {
  const char *name;
  void (*put)(SmallGraph &g, Operator &custom, Value *weights, uint32_t size);
};

std::string pattern(uint32_t size) {
  std::string bytes(size, '\0');
  for (uint32_t i = 0; i < size; ++i)
    bytes[i] = static_cast<char>(i * 7 + 1);
  return bytes;
}

llvm::ArrayRef<uint8_t> kept(Model &model, uint32_t size) {
  return llvm::arrayRefFromStringRef(model.copy(pattern(size)));
}

const Kind kinds[] = {
    {"custom options",
     [](SmallGraph &, Operator &op, Value *, uint32_t n) { op.setCustomOptions(Payload::owned(pattern(n))); }},
    {"custom options twice",
     [](SmallGraph &g, Operator &op, Value *, uint32_t n) {
       op.setCustomOptions(Payload::owned(pattern(n)));
       Operator &other = g.op(BuiltinOperator::CUSTOM, op.result());
       other.setCustomCode(llvm::StringRef("Other"));
       other.setCustomOptions(op.customOptions());
       g.model.setOutputs(g.graph, other.result());
     }},
    {"large custom options",
     [](SmallGraph &, Operator &op, Value *, uint32_t n) {
       op.setCustomOptions(Payload::owned(pattern(n)));
       op.largeCustomOptions = true;
     }},
    {"bytes of a constant",
     [](SmallGraph &g, Operator &, Value *weights, uint32_t n) {
       weights->type = TensorType::UINT8;
       weights->shape = {int32_t(n)};
       weights->buffer = &g.model.addBuffer(Payload::owned(pattern(n)));
     }},
    {"integers of a constant",
     [](SmallGraph &g, Operator &, Value *weights, uint32_t n) {
       weights->type = TensorType::INT32;
       weights->shape = {int32_t(n / 4)};
       weights->buffer = &g.model.addBuffer(Payload::owned(pattern(n / 4 * 4)));
     }},
    {"metadata",
     [](SmallGraph &g, Operator &, Value *, uint32_t n) {
       g.model.metadata.push_back({"notes", &g.model.addBuffer(Payload::owned(pattern(n)))});
     }},
    {"scales",
     [](SmallGraph &g, Operator &, Value *weights, uint32_t n) {
       std::vector<float> scale(n / 4, 0.5f);
       std::vector<int64_t> zero(n / 4);
       weights->type = TensorType::INT8;
       weights->shape = {int32_t(n / 4)};
       weights->buffer = &g.model.addBuffer(Payload::owned(pattern(n / 4)));
       Quantization q;
       q.scale = g.model.copy(llvm::ArrayRef<float>(scale));
       q.zeroPoint = g.model.copy(llvm::ArrayRef<int64_t>(zero));
       g.model.setQuantization(*weights, q);
     }},
    {"custom quantization",
     [](SmallGraph &g, Operator &, Value *weights, uint32_t n) {
       Quantization q;
       q.details = Quantization::Details::Custom;
       q.more.make().custom = kept(g.model, n);
       g.model.setQuantization(*weights, q);
     }},
    {"sparsity",
     [](SmallGraph &g, Operator &, Value *weights, uint32_t n) {
       flatbuffers::FlatBufferBuilder b;
       std::vector<int32_t> indices(n / 4, 1), order = {0};
       auto index = circle::CreateInt32Vector(b, b.CreateVector(indices)).Union();
       auto segment = circle::CreateInt32Vector(b, b.CreateVector(std::vector<int32_t>{0, int32_t(n / 4)})).Union();
       std::vector<flatbuffers::Offset<circle::DimensionMetadata>> dims = {circle::CreateDimensionMetadata(
           b, circle::DimensionType::SPARSE_CSR, 0, circle::SparseIndexVector::Int32Vector, segment,
           circle::SparseIndexVector::Int32Vector, index)};
       b.Finish(circle::CreateSparsityParametersDirect(b, &order, nullptr, &dims));
       const auto *type = wire::Schema::circle().table("SparsityParameters");
       weights->setSparsity(reinterpret_cast<const circle::SparsityParameters *>(
           g.model.copyTable(*type, flatbuffers::GetRoot<flatbuffers::Table>(b.GetBufferPointer()))));
     }},
    {"attributes of a call",
     [](SmallGraph &g, Operator &op, Value *, uint32_t n) {
       flatbuffers::FlatBufferBuilder b;
       auto attributes = b.CreateVector(kept(g.model, n).data(), n);
       b.Finish(circle::CreateStablehloCustomCallOptions(b, 0, false, 0, 0, 0, attributes));
       op.code = BuiltinOperator::STABLEHLO_CUSTOM_CALL;
       op.setCustomCode({});
       op.makeOptions2().member = static_cast<uint8_t>(circle::BuiltinOptions2::StablehloCustomCallOptions);
       const auto *type = wire::Schema::circle().table("StablehloCustomCallOptions");
       op.makeOptions2().table =
           g.model.copyTable(*type, flatbuffers::GetRoot<flatbuffers::Table>(b.GetBufferPointer()));
     }},
    {"names",
     [](SmallGraph &g, Operator &op, Value *weights, uint32_t n) {
       weights->name = g.model.copy(std::string(n, 'w'));
       op.setCustomCode(g.model.copy(std::string(n, 'c')));
     }},
};
constexpr uint32_t sizes[] = {1, 4095, 4096, 4097, 1 << 20};

/// ADD of a constant, then a custom operator.
void fill(SmallGraph &g, const Kind &kind, uint32_t size, Format format) {
  g.model.format = format;
  g.model.version = format == Format::Tflite ? 3 : 0;
  g.model.addBuffer({});
  Value *x = g.tensor({4}), *weights = g.constant<float>(TensorType::FLOAT32, {4}, {1, 2, 3, 4});
  g.model.setInputs(g.graph, x);
  Operator &add = g.op(BuiltinOperator::ADD, {x, g.floatScalar(0)});
  add.options.member = static_cast<uint8_t>(circle::BuiltinOptions::AddOptions);
  add.result()->shape = {4};
  add.result()->hasShape = true;
  Operator &custom = g.op(BuiltinOperator::CUSTOM, {add.result(), weights});
  custom.setCustomCode(llvm::StringRef("Mine"));
  kind.put(g, custom, weights, size);
  if (g.graph.outputs.empty())
    g.model.setOutputs(g.graph, custom.result());
  g.graph.name = "main";
}

std::string digestOf(const origin::ModelView &view) {
  return origin::hex(origin::fingerprint(view)) + origin::hex(origin::content(view));
}

int run(const std::string &command) {
  int status = std::system((command + " >/dev/null 2>&1").c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

} // namespace

TEST(Placement, TablesAreReadAsTheyWillLieInTheFile) {
  Scratch scratch;
  for (const Kind &kind : kinds)
    for (uint32_t size : sizes)
      for (Format format : {Format::Circle, Format::Tflite})
        for (uint64_t inlineBelow : {Tables::everythingInline, uint64_t(4096)}) {
          SCOPED_TRACE(std::string(kind.name) + ", " + std::to_string(size) + " bytes");
          SmallGraph g;
          fill(g, kind, size, format);
          g.model.number();
          llvm::Expected<std::unique_ptr<Tables>> tables =
              buildTables(g.model, {.format = format, .mapEntries = origin::metadataName, .inlineBelow = inlineBelow});
          ASSERT_TRUE(bool(tables)) << llvm::toString(tables.takeError());
          std::string before, after;
          withView(g.model, **tables, [&](const origin::ModelView &view) { before = digestOf(view); });

          Imported made;
          ExportOptions options;
          options.format = format;
          options.embed = origin::Embed::None;
          std::string path = scratch.at(format == Format::Tflite ? "a.tflite" : "a.circle");
          ASSERT_EQ(llvm::toString(exportModel(g.model, made.lineage, path, options)), "");
          auto file = origin::ModelFile::open(path);
          ASSERT_TRUE(bool(file)) << llvm::toString(file.takeError());
          EXPECT_EQ(before, digestOf((*file)->view()));
        }
}

TEST(Placement, ThroughTheTools) {
  Scratch scratch;
  const std::string bin = ORIGO_BIN_DIR "/";
  for (const Kind &kind : kinds)
    for (uint32_t size : sizes)
      for (Format format : {Format::Circle, Format::Tflite}) {
        SCOPED_TRACE(std::string(kind.name) + ", " + std::to_string(size) + " bytes" +
                     (format == Format::Tflite ? ", tflite" : ", circle"));
        SmallGraph g;
        fill(g, kind, size, format);
        Imported made;
        ExportOptions options;
        options.format = format;
        options.embed = origin::Embed::None;
        std::string source = scratch.at(format == Format::Tflite ? "a.tflite" : "a.circle"),
                    out = scratch.at("b.circle");
        ASSERT_EQ(llvm::toString(exportModel(g.model, made.lineage, source, options)), "");
        if (format == Format::Tflite) {
          ASSERT_EQ(run(bin + "tflite2circle " + source + " " + scratch.at("c.circle")), 0);
          ASSERT_EQ(run(bin + "origin-dump --check --source " + source + " " + scratch.at("c.circle")), 0);
        }
        ASSERT_EQ(run(bin + "circle2circle -O1 " + source + " " + out), 0);
        EXPECT_EQ(run(bin + "origin-dump --check --source " + source + " " + out), 0);
      }
}
