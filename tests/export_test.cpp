#include "export/Export.h"
#include "export/Writer.h"
#include "import/Import.h"
#include "origin/Files.h"
#include "origin/Laws.h"
#include "origin/codec/Embedded.h"
#include "tests/RealModels.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/xxhash.h"
#include "gtest/gtest.h"

#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <set>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace origo;
namespace fs = std::filesystem;

namespace {

/// A folder of its own for each test, empty at the start and gone at the end.
class ExportTest : public testing::Test {
protected:
  fs::path directory;

  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "origo-export-XXXXXX").string();
    ASSERT_TRUE(::mkdtemp(pattern.data()));
    directory = pattern;
  }
  void TearDown() override { fs::remove_all(directory); }
  std::string at(const std::string &name) const { return (directory / name).string(); }
  std::set<std::string> files() const {
    std::set<std::string> names;
    for (auto &entry : fs::directory_iterator(directory))
      names.insert(entry.path().filename().string());
    return names;
  }
  void untouchedModelsComeOutAsTheyWere(const test::ModelFolder &models, unsigned least);
  void throughCircleAndBack(const test::ModelFolder &models, unsigned least);
  void theMapIsAllThatEmbeddingAdds(const test::ModelFolder &models);
};
using ExportPublicModels = ExportTest;

std::string read(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
void write(const std::string &path, const std::string &bytes) { std::ofstream(path, std::ios::binary) << bytes; }

/// Everything that a model file says, one line a fact, with neither positions nor how a fact is encoded.
class Decoded {
public:
  std::vector<std::string> lines;

  explicit Decoded(llvm::StringRef file)
      : file(file), tflite(file.substr(4, 4) == "TFL3"),
        schema(tflite ? wire::Schema::tflite() : wire::Schema::circle()),
        model(flatbuffers::GetRoot<circle::Model>(file.data())) {
    table("model", schema.root(), *flatbuffers::GetRoot<flatbuffers::Table>(file.data()));
  }

private:
  llvm::StringRef file;
  bool tflite;
  const wire::Schema &schema;
  const circle::Model *model;

  void line(const llvm::Twine &text) { lines.push_back(text.str()); }
  static std::string digest(llvm::StringRef bytes) {
    return std::to_string(bytes.size()) + " bytes " +
           llvm::utohexstr(llvm::xxh3_64bits(llvm::arrayRefFromStringRef(bytes)));
  }

  void table(const std::string &path, const wire::TableType &type, const flatbuffers::Table &at) {
    if (type.name == "Buffer")
      return buffer(path, reinterpret_cast<const circle::Buffer &>(at));
    if (type.name == "OperatorCode")
      return line(path + " = " + opcode(reinterpret_cast<const circle::OperatorCode &>(at)));
    for (const wire::Field &field : type.fields) {
      std::string name = path + "." + field.name.str();
      if (type.name == "Operator" && field.name == "opcode_index") {
        line(name + " = " + opcode(*model->operator_codes()->Get(wire::integer(at, field))));
      } else if (field.name == "large_custom_options_offset") {
        if (int64_t offset = wire::integer(at, field))
          line(name + " = " +
               digest(file.substr(offset, reinterpret_cast<const circle::Operator &>(at).large_custom_options_size())));
      } else if (wire::isReal(field.type)) {
        if (double value = wire::real(at, field); std::memcmp(&value, &field.defaultReal, sizeof(value)))
          line(name + " = " + llvm::utohexstr(llvm::bit_cast<uint64_t>(value)));
      } else if (wire::isScalar(field.type)) {
        if (int64_t value = wire::integer(at, field); value != field.defaultInteger)
          line(name + " = " + llvm::Twine(value));
      } else if (wire::isPresent(at, field)) {
        child(name, type, at, field);
      }
    }
  }

  void child(const std::string &name, const wire::TableType &type, const flatbuffers::Table &at,
             const wire::Field &field) {
    using Tables = flatbuffers::Vector<flatbuffers::Offset<flatbuffers::Table>>;
    auto *target = at.GetPointer<const flatbuffers::Table *>(field.vtableOffset());
    if (field.type == wire::Type::String) {
      auto *text = reinterpret_cast<const flatbuffers::String *>(target);
      if (text->size())
        line(name + " = " + llvm::toHex(llvm::StringRef(text->c_str(), text->size())));
    } else if (field.type == wire::Type::Table) {
      table(name, *field.table, *target);
    } else if (field.type == wire::Type::Union) {
      if (auto *member = wire::unionMember(type, at, field))
        table(name + ":" + member->name.str(), *member, *target);
      else
        line(name + " is unknown");
    } else if (field.element == wire::Type::Table) {
      unsigned i = 0;
      for (const flatbuffers::Table *element : *reinterpret_cast<const Tables *>(target)) {
        line(name + "[" + llvm::Twine(i) + "]");
        table(name + "[" + std::to_string(i++) + "]", *field.table, *element);
      }
    } else if (field.element == wire::Type::String) {
      for (auto *text :
           *reinterpret_cast<const flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>> *>(target))
        line(name + " has " + llvm::toHex(text->string_view()));
    } else {
      auto *vector = reinterpret_cast<const flatbuffers::Vector<uint8_t> *>(target);
      llvm::StringRef bytes(reinterpret_cast<const char *>(vector->Data()),
                            size_t(vector->size()) * wire::size(field.element));
      if (!bytes.empty() || (type.name == "Tensor" && field.name == "shape"))
        line(name + " = " + (bytes.size() <= 64 ? llvm::toHex(bytes) : digest(bytes)));
    }
  }

  void buffer(const std::string &path, const circle::Buffer &buffer) {
    llvm::StringRef bytes;
    if (buffer.offset() > 1)
      bytes = file.substr(buffer.offset(), buffer.size());
    else if (buffer.data())
      bytes = {reinterpret_cast<const char *>(buffer.data()->data()), buffer.data()->size()};
    line(path + " = " + digest(bytes));
  }

  std::string opcode(const circle::OperatorCode &code) {
    std::string custom = code.custom_code() ? code.custom_code()->str() : "";
    return std::to_string(resolveOpcode(code.deprecated_builtin_code(), int32_t(code.builtin_code()))) + " version " +
           std::to_string(code.version()) + " " + llvm::toHex(custom);
  }
};

/// The first difference, or an empty string.
std::string difference(const std::string &a, const std::string &b) {
  Decoded left(a), right(b);
  for (size_t i = 0; i < std::max(left.lines.size(), right.lines.size()); ++i) {
    std::string l = i < left.lines.size() ? left.lines[i] : "nothing",
                r = i < right.lines.size() ? right.lines[i] : "nothing";
    if (l != r)
      return l + "  against  " + r;
  }
  return "";
}

bool verifies(const std::string &bytes) {
  flatbuffers::Verifier verifier(reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size(), 64, 10'000'000);
  if (bytes.substr(4, 4) == "TFL3")
    return verifier.VerifyBuffer<tflite::Model>("TFL3");
  return verifier.VerifyBuffer<circle::Model>("CIR0");
}

/// Import may refuse a file; nothing then.
std::optional<Imported> imported(const std::string &path) {
  llvm::Expected<Imported> result = importModel(llvm::StringRef(path));
  if (result)
    return std::move(*result);
  llvm::consumeError(result.takeError());
  return std::nullopt;
}

/// Reads and writes; the error's text, empty on success.
std::string convert(const std::string &in, const std::string &out, const ExportOptions &options) {
  llvm::Expected<Imported> model = importModel(llvm::StringRef(in));
  if (!model)
    return "import: " + llvm::toString(model.takeError());
  return llvm::toString(exportModel(*model->model, model->lineage, out, options));
}

ExportOptions plain(Format format) {
  ExportOptions options;
  options.format = format;
  options.embed = origin::Embed::None;
  return options;
}

Format formatOf(const std::string &path) {
  return llvm::StringRef(path).ends_with(".tflite") ? Format::Tflite : Format::Circle;
}

/// Import takes old origin entries out, which shifts metadata and buffers; the map's own tests look at such files.
bool hasOldOrigins(const std::string &bytes) {
  return llvm::StringRef(bytes).contains("ONE_op_table") || llvm::StringRef(bytes).contains("ONE_source_table");
}

/// A small file to fail with.
std::string smallModel() { return test::ownNetworks().at("metadata_f32.tflite"); }

/// A model with one constant tensor, built without the exporter.
std::string modelWithPayload(uint64_t size) {
  flatbuffers::FlatBufferBuilder fbb;
  std::vector<uint8_t> data(size, 7);
  fbb.ForceVectorAlignment(size, 1, 16);
  auto bytes = fbb.CreateVector(data);
  std::vector<flatbuffers::Offset<circle::Buffer>> buffers = {circle::CreateBuffer(fbb),
                                                              circle::CreateBuffer(fbb, bytes)};
  std::vector<int32_t> shape = {static_cast<int32_t>(size)};
  std::vector<flatbuffers::Offset<circle::Tensor>> tensors = {
      circle::CreateTensorDirect(fbb, &shape, TensorType::UINT8, 1, "weights"),
      circle::CreateTensorDirect(fbb, &shape, TensorType::UINT8, 0, "x"),
      circle::CreateTensorDirect(fbb, &shape, TensorType::UINT8, 0, "y")};
  std::vector<int32_t> operands = {1, 0}, results = {2}, inputs = {1};
  std::vector<flatbuffers::Offset<circle::Operator>> operators = {circle::CreateOperatorDirect(
      fbb, 0, &operands, &results, circle::BuiltinOptions::AddOptions, circle::CreateAddOptions(fbb).Union())};
  std::vector<flatbuffers::Offset<circle::SubGraph>> graphs = {
      circle::CreateSubGraphDirect(fbb, &tensors, &inputs, &results, &operators, "main")};
  std::vector<flatbuffers::Offset<circle::OperatorCode>> codes = {circle::CreateOperatorCode(fbb)};
  fbb.Finish(circle::CreateModelDirect(fbb, 0, &codes, &graphs, "test", &buffers), "CIR0");
  return {reinterpret_cast<const char *>(fbb.GetBufferPointer()), fbb.GetSize()};
}

} // namespace

void ExportTest::untouchedModelsComeOutAsTheyWere(const test::ModelFolder &models, unsigned least) {
  unsigned compared = 0, refused = 0;
  for (const std::string &path : models.all()) {
    SCOPED_TRACE(path);
    std::string source = read(path);
    if (hasOldOrigins(source))
      continue;
    if (!imported(path)) {
      ++refused;
      continue;
    }
    std::string out = at("out" + fs::path(path).extension().string());
    ASSERT_EQ(convert(path, out, plain(formatOf(path))), "");
    std::string result = read(out);
    ASSERT_TRUE(verifies(result));
    ASSERT_EQ(difference(source, result), "");
    ++compared;
  }
  EXPECT_GE(compared, least);
  EXPECT_LE(refused, 30u);
}

TEST_F(ExportTest, UntouchedModelsComeOutAsTheyWere) { untouchedModelsComeOutAsTheyWere(test::ownNetworks(), 900); }
TEST_F(ExportPublicModels, ComeOutAsTheyWere) { untouchedModelsComeOutAsTheyWere(test::publicModels(), 600); }

void ExportTest::throughCircleAndBack(const test::ModelFolder &models, unsigned least) {
  unsigned compared = 0, inexpressible = 0;
  for (const std::string &path : models.all()) {
    SCOPED_TRACE(path);
    std::string source = read(path);
    if (formatOf(path) != Format::Tflite || hasOldOrigins(source) || !imported(path))
      continue;
    std::string refusal = convert(path, at("a.circle"), plain(Format::Circle));
    if (!refusal.empty()) {
      EXPECT_NE(refusal.find("cannot be expressed in circle"), std::string::npos) << refusal;
      EXPECT_EQ(files().count("a.circle"), 0u);
      ++inexpressible;
      continue;
    }
    ASSERT_TRUE(verifies(read(at("a.circle"))));
    ASSERT_EQ(convert(at("a.circle"), at("b.tflite"), plain(Format::Tflite)), "");
    std::string result = read(at("b.tflite"));
    ASSERT_TRUE(verifies(result));
    // Some files carry another version number than the format's.
    if (flatbuffers::GetRoot<tflite::Model>(source.data())->version() == 3) {
      ASSERT_EQ(difference(source, result), "");
      ++compared;
    }
    fs::remove(at("a.circle"));
  }
  EXPECT_GE(compared, least);
  EXPECT_LE(inexpressible, 10u);
}

TEST_F(ExportTest, ThroughCircleAndBack) { throughCircleAndBack(test::ownNetworks(), 500); }
TEST_F(ExportPublicModels, ThroughCircleAndBack) { throughCircleAndBack(test::publicModels(), 480); }

TEST_F(ExportTest, PayloadsAreAligned) {
  unsigned checked = 0;
  ASSERT_EQ(convert(test::ownNetworks().at("pyramid_f32.tflite"), at("a.tflite"), plain(Format::Tflite)), "");
  std::string bytes = read(at("a.tflite"));
  for (auto *buffer : *tflite::GetModel(bytes.data())->buffers())
    if (buffer->data()) {
      EXPECT_EQ((reinterpret_cast<const char *>(buffer->data()->data()) - bytes.data()) % 16, 0);
      ++checked;
    }
  EXPECT_GT(checked, 10u);
}

TEST_F(ExportTest, SharedPiecesOfAFileStayShared) {
  // A hostile file: thousands of buffers that are all the same megabyte.
  flatbuffers::FlatBufferBuilder fbb;
  std::vector<uint8_t> data(1 << 20, 7);
  auto bytes = fbb.CreateVector(data);
  std::vector<flatbuffers::Offset<circle::Buffer>> buffers = {circle::CreateBuffer(fbb)};
  std::vector<flatbuffers::Offset<circle::Tensor>> tensors;
  std::vector<int32_t> shape = {1 << 20}, none;
  for (uint32_t i = 1; i <= 2000; ++i) {
    buffers.push_back(circle::CreateBuffer(fbb, bytes));
    tensors.push_back(circle::CreateTensorDirect(fbb, &shape, TensorType::UINT8, i, "w"));
  }
  std::vector<flatbuffers::Offset<circle::SubGraph>> graphs = {
      circle::CreateSubGraphDirect(fbb, &tensors, &none, &none, nullptr, "main")};
  std::vector<flatbuffers::Offset<circle::OperatorCode>> codes = {circle::CreateOperatorCode(fbb)};
  fbb.Finish(circle::CreateModelDirect(fbb, 0, &codes, &graphs, "test", &buffers), "CIR0");
  std::string source(reinterpret_cast<const char *>(fbb.GetBufferPointer()), fbb.GetSize());
  write(at("a.circle"), source);
  ASSERT_EQ(convert(at("a.circle"), at("b.circle"), plain(Format::Circle)), "");
  std::string result = read(at("b.circle"));
  EXPECT_LT(result.size(), 2 * source.size());
  EXPECT_TRUE(verifies(result));
  EXPECT_EQ(difference(source, result), "");
}

TEST_F(ExportTest, SameModelSameBytes) {
  std::string path = test::ownNetworks().at("blazeface_f32.tflite");
  for (auto embed : {origin::Embed::None, origin::Embed::Ids, origin::Embed::Names, origin::Embed::Full}) {
    ExportOptions options = plain(Format::Circle);
    options.embed = embed;
    options.originJson = at("a.json");
    ASSERT_EQ(convert(path, at("a.circle"), options), "");
    std::string json = read(at("a.json"));
    std::string first = read(at("a.circle"));
    ASSERT_EQ(convert(path, at("a.circle"), options), "");
    EXPECT_EQ(first, read(at("a.circle")));
    EXPECT_EQ(json, read(at("a.json")));
    EXPECT_TRUE(verifies(first));
    auto *metadata = circle::GetModel(first.data())->metadata();
    std::vector<std::string> names;
    for (unsigned i = 0; metadata && i < metadata->size(); ++i)
      names.push_back(metadata->Get(i)->name()->str());
    std::vector<std::string> expected;
    if (embed != origin::Embed::None)
      expected = {origin::deflatedName, origin::metadataName};
    if (embed == origin::Embed::Full)
      expected.insert(expected.end(), {origin::oneSourceTable, origin::oneOpTable});
    ASSERT_GE(names.size(), expected.size());
    EXPECT_EQ(std::vector<std::string>(names.end() - expected.size(), names.end()), expected);
    EXPECT_EQ(llvm::is_contained(names, origin::metadataName), embed != origin::Embed::None);
    EXPECT_EQ(llvm::is_contained(names, origin::deflatedName), embed != origin::Embed::None);
    EXPECT_EQ(llvm::is_contained(names, origin::summaryName),
              embed == origin::Embed::Names || embed == origin::Embed::Full);
    EXPECT_EQ(llvm::is_contained(names, origin::oneOpTable), embed == origin::Embed::Full);
  }
}

void ExportTest::theMapIsAllThatEmbeddingAdds(const test::ModelFolder &models) {
  unsigned compared = 0;
  for (const std::string &path : models.all()) {
    if (compared == 100)
      break;
    SCOPED_TRACE(path);
    ExportOptions options = plain(formatOf(path));
    if (!imported(path))
      continue;
    ASSERT_EQ(convert(path, at("none"), options), "");
    options.embed = origin::Embed::Full;
    ASSERT_EQ(convert(path, at("full"), options), "");
    ImportOptions restart;
    restart.origin = OriginMode::Restart;
    llvm::Expected<Imported> again = importModel(llvm::StringRef(at("full")), restart);
    ASSERT_TRUE(bool(again)) << llvm::toString(again.takeError());
    ASSERT_EQ(llvm::toString(exportModel(*again->model, again->lineage, at("stripped"), plain(formatOf(path)))), "");
    ASSERT_EQ(read(at("none")), read(at("stripped")));
    ++compared;
  }
  EXPECT_EQ(compared, 100u);
}

TEST_F(ExportTest, TheMapIsAllThatEmbeddingAdds) { theMapIsAllThatEmbeddingAdds(test::ownNetworks()); }
TEST_F(ExportPublicModels, TheMapIsAllThatEmbeddingAdds) { theMapIsAllThatEmbeddingAdds(test::publicModels()); }

TEST_F(ExportTest, AModelThatIsOnlyRunHasNoSource) {
  write(at("a.circle"), modelWithPayload(16));
  ImportOptions none;
  none.origin = OriginMode::None;
  llvm::Expected<Imported> read = importModel(llvm::StringRef(at("a.circle")), none);
  ASSERT_TRUE(bool(read)) << llvm::toString(read.takeError());
  std::string error = llvm::toString(exportModel(*read->model, read->lineage, at("b.circle"), {}));
  EXPECT_NE(error.find("no source"), std::string::npos) << error;
  EXPECT_FALSE(fs::exists(at("b.circle")));
}

TEST_F(ExportTest, PayloadsThatPassTwoGigabytesLeaveTheTables) {
  ASSERT_GE(fs::space(directory).available, uint64_t(4) << 30)
      << "needs 4 GB in the folder of temporary files (TMPDIR)";
  // The input is sparse; the output is not.
  std::string head = modelWithPayload(16);
  constexpr uint64_t big = uint64_t(3) << 29;
  llvm::Expected<std::shared_ptr<MappedFile>> file = llvm::createStringError("not opened");
  llvm::consumeError(file.takeError());
  write(at("holes"), "");
  fs::resize_file(at("holes"), 2 * big);
  write(at("a.circle"), head);
  file = MappedFile::open(at("holes"));
  ASSERT_TRUE(bool(file));
  llvm::Expected<Imported> model = importModel(llvm::StringRef(at("a.circle")));
  ASSERT_TRUE(bool(model)) << llvm::toString(model.takeError());
  Subgraph &graph = *model->model->subgraphs[0];
  for (int i = 0; i < 2; ++i) {
    Value &value = model->model->addValue(graph);
    value.type = TensorType::UINT8;
    value.hasShape = true;
    value.shape = {static_cast<int32_t>(big)};
    value.buffer = &model->model->addBuffer(Payload(*file, i * big, big));
  }
  model->model->becomeSource();
  llvm::Expected<std::shared_ptr<origin::Listing>> listing = listingOf(*model->model, Format::Circle);
  ASSERT_TRUE(bool(listing)) << llvm::toString(listing.takeError());
  model->lineage.source = *listing;
  ExportOptions options = plain(Format::Circle);
  options.embed = origin::Embed::Full;
  ASSERT_EQ(llvm::toString(exportModel(*model->model, model->lineage, at("big.circle"), options)), "");
  EXPECT_GT(fs::file_size(at("big.circle")), 2 * big);

  llvm::Expected<std::shared_ptr<MappedFile>> out = MappedFile::open(at("big.circle"));
  ASSERT_TRUE(bool(out));
  const uint8_t *bytes = (*out)->bytes().data();
  auto *buffers = circle::GetModel(bytes)->buffers();
  ASSERT_EQ(buffers->size(), 9u);
  EXPECT_TRUE(buffers->Get(1)->data() && buffers->Get(1)->data()->size() == 16); // small ones stay
  for (int i : {2, 3}) {
    EXPECT_FALSE(buffers->Get(i)->data());
    EXPECT_EQ(buffers->Get(i)->size(), big);
    EXPECT_EQ(buffers->Get(i)->offset() % 16, 0u);
    EXPECT_GT(buffers->Get(i)->offset(), 1u);
  }
  for (int i : {4, 5, 6, 7, 8}) // the origin map is last
    EXPECT_GT(buffers->Get(i)->offset(), buffers->Get(i - 1)->offset());
  EXPECT_EQ(buffers->Get(8)->offset() + buffers->Get(8)->size(), (*out)->bytes().size());
  flatbuffers::Verifier verifier(bytes, (uint64_t(1) << 31) - 2);
  EXPECT_TRUE(circle::VerifyModelBuffer(verifier));
}

namespace {

void put(std::string &to, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i)
    to += static_cast<char>(value >> 8 * i);
}

/// A zip of one stored file "a" whose content is "hello", with offsets counted from `base` bytes before it.
std::string zipArchive(uint32_t base) {
  std::string fields; // version 10, no flags, stored, time, date, CRC, sizes, name length, extra length
  put(fields, 10, 2), put(fields, 0, 8), put(fields, 0x3610a686, 4), put(fields, 5, 4), put(fields, 5, 4),
      put(fields, 1, 2), put(fields, 0, 2);
  std::string zip;
  put(zip, 0x04034b50, 4);
  zip += fields + "a" + "hello";
  size_t directory = zip.size();
  put(zip, 0x02014b50, 4), put(zip, 10, 2);
  zip += fields;
  put(zip, 0, 2), put(zip, 0, 2), put(zip, 0, 2), put(zip, 0, 4), put(zip, base, 4);
  zip += "a";
  size_t size = zip.size() - directory;
  put(zip, 0x06054b50, 4), put(zip, 0, 4), put(zip, 1, 2), put(zip, 1, 2), put(zip, size, 4),
      put(zip, base + directory, 4), put(zip, 0, 2);
  return zip;
}

} // namespace

TEST_F(ExportTest, ArchiveBehindTheModelFollowsIt) {
  for (bool fromFile : {false, true}) {
    std::string model = modelWithPayload(1000);
    write(at("a.circle"), model + zipArchive(fromFile ? model.size() : 0));
    ExportOptions options = plain(Format::Circle);
    options.embed = origin::Embed::Full;
    ASSERT_EQ(convert(at("a.circle"), at("b.circle"), options), "");
    std::string result = read(at("b.circle"));
    size_t begin = result.find("PK\3\4");
    ASSERT_NE(begin, std::string::npos);
    EXPECT_NE(begin, model.size()); // else the test could not fail
    EXPECT_EQ(result.substr(begin), zipArchive(fromFile ? begin : 0));
    EXPECT_TRUE(verifies(result));
  }
}

TEST_F(ExportTest, FailuresLeaveNothing) {
  ExportOptions options = plain(Format::Tflite);
  std::string full = convert(smallModel(), "/dev/full", options);
  EXPECT_NE(full.find("No space left"), std::string::npos) << full;
  std::string missing = convert(smallModel(), at("missing/a.tflite"), options);
  EXPECT_NE(missing.find("create its directory first"), std::string::npos) << missing;
  EXPECT_NE(convert(smallModel(), directory.string(), options).find("directory"), std::string::npos);
  EXPECT_TRUE(files().empty());

  // A side file that cannot be written keeps the model from being written, and the other way round.
  options.originJson = at("missing/a.json");
  EXPECT_NE(convert(smallModel(), at("a.tflite"), options), "");
  options.originJson = "/dev/full";
  EXPECT_NE(convert(smallModel(), at("a.tflite"), options), "");
  options.originJson = at("a.json");
  EXPECT_NE(convert(smallModel(), "/dev/full", options), "");
  EXPECT_NE(convert(smallModel(), at("missing/a.tflite"), options), "");
  options.originJson = at("a.tflite");
  EXPECT_NE(convert(smallModel(), at("a.tflite"), options), "");
  EXPECT_TRUE(files().empty());
}

TEST_F(ExportTest, FileSizeLimitIsAnError) {
  write(at("a.circle"), modelWithPayload(4 << 20));
  write(at("b.circle"), "before");
  struct rlimit before, limit;
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  limit = before;
  limit.rlim_cur = 1 << 20;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  std::string error = convert(at("a.circle"), at("b.circle"), plain(Format::Circle));
  ::setrlimit(RLIMIT_FSIZE, &before);
  EXPECT_NE(error.find("ulimit"), std::string::npos) << error;
  EXPECT_EQ(read(at("b.circle")), "before");
  EXPECT_EQ(files(), (std::set<std::string>{"a.circle", "b.circle"}));
}

TEST_F(ExportTest, RenamedFilesArePutBackTogether) {
  write(at("old.json"), "old");
  auto side = OutputFile::open(at("old.json")), fresh = OutputFile::open(at("new.json")),
       model = OutputFile::open(at("m"));
  ASSERT_TRUE(side && fresh && model);
  for (OutputFile *file : {side->get(), fresh->get(), model->get()}) {
    file->write({1, 2, 3});
    ASSERT_FALSE(bool((*file).finish()));
  }
  // A file cannot be renamed over a directory.
  fs::create_directory(at("m"));
  EXPECT_NE(llvm::toString(OutputFile::commit({side->get(), fresh->get(), model->get()})), "");
  side->reset(), fresh->reset(), model->reset();
  EXPECT_EQ(read(at("old.json")), "old");
  EXPECT_EQ(files(), (std::set<std::string>{"m", "old.json"}));
}

/// A run that is killed while it replaces outputs may leave names in between: whole files that had nowhere to go yet.
TEST_F(ExportTest, WhatAKilledRunLeftIsCleared) {
  write(at("in.circle"), modelWithPayload(5000));
  ExportOptions options = plain(Format::Circle);
  options.originJson = at("out.json");
  for (int round = 0; round < 2; ++round) { // new outputs, then old ones
    write(hiddenName(at("out.circle"), ".tmp"), "left");
    write(hiddenName(at("out.json"), ".tmp"), "left");
    write(hiddenName(at("out.json"), ".old"), "left");
    EXPECT_GE(files().size(), 4u);
    ASSERT_EQ(convert(at("in.circle"), at("out.circle"), options), "");
    EXPECT_EQ(files(), (std::set<std::string>{"in.circle", "out.circle", "out.json"}));
    EXPECT_TRUE(verifies(read(at("out.circle"))));
    EXPECT_NE(read(at("out.json")), "left");
  }
}

/// Nothing is seen in the directory before a file is whole, where the file system has files without names.
TEST_F(ExportTest, WhatIsBeingWrittenHasNoName) {
  int fd = ::open(directory.c_str(), O_WRONLY | O_TMPFILE, 0600);
  auto hidden = [&](const char *name) { return fs::path(hiddenName(at(name), ".tmp")).filename().string(); };
  std::set<std::string> before{"old"};
  if (fd < 0)
    before = {"old", hidden("old"), hidden("new")};
  else
    ::close(fd);
  write(at("old"), "old");
  auto fresh = OutputFile::open(at("new")), other = OutputFile::open(at("old"));
  ASSERT_TRUE(fresh && other);
  for (OutputFile *file : {fresh->get(), other->get()}) {
    file->write({1, 2, 3});
    ASSERT_FALSE(bool(file->finish()));
  }
  EXPECT_EQ(files(), before);
  EXPECT_EQ(read(at("old")), "old");
  ASSERT_EQ(llvm::toString(OutputFile::commit({fresh->get(), other->get()})), "");
  EXPECT_EQ(files(), (std::set<std::string>{"new", "old"}));
  EXPECT_EQ(read(at("old")), read(at("new")));
}

TEST_F(ExportTest, PermissionsLinksAndPipes) {
  ExportOptions options = plain(Format::Tflite);
  ASSERT_EQ(convert(smallModel(), at("reference"), options), "");
  std::string expected = read(at("reference"));
  struct stat status;
  ASSERT_EQ(::stat(at("reference").c_str(), &status), 0);
  mode_t mask = ::umask(0);
  ::umask(mask);
  EXPECT_EQ(status.st_mode & 0777, 0666 & ~mask);

  write(at("target"), "before");
  ::chmod(at("target").c_str(), 0640);
  fs::create_symlink("target", at("link"));
  ASSERT_EQ(convert(smallModel(), at("link"), options), "");
  EXPECT_TRUE(fs::is_symlink(at("link")));
  EXPECT_EQ(read(at("target")), expected);
  ASSERT_EQ(::stat(at("target").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640u);

  fs::create_symlink("not-yet", at("dangling"));
  ASSERT_EQ(convert(smallModel(), at("dangling"), options), "");
  EXPECT_EQ(read(at("not-yet")), expected);

  // Over its own input.
  fs::copy_file(smallModel(), at("self"));
  fs::permissions(at("self"), fs::perms::owner_write, fs::perm_options::add);
  ASSERT_EQ(convert(at("self"), at("self"), options), "");
  EXPECT_EQ(read(at("self")), expected);

  ASSERT_EQ(::mkfifo(at("pipe").c_str(), 0600), 0);
  std::FILE *reader = ::popen(("cat " + at("pipe") + " > " + at("piped")).c_str(), "r");
  ASSERT_TRUE(reader);
  EXPECT_EQ(convert(smallModel(), at("pipe"), options), "");
  ::pclose(reader);
  EXPECT_EQ(read(at("piped")), expected);
}

TEST_F(ExportTest, StaleMetadataIsDroppedOrRefused) {
  for (llvm::StringRef name :
       {"ONE_execution_plan_table", "OfflineMemoryAllocation", "COMPRESSION_METADATA", "LiteRtStamp", "other"})
    for (bool changed : {false, true}) {
      SCOPED_TRACE(name.str() + (changed ? " changed" : ""));
      write(at("a.circle"), modelWithPayload(16));
      std::optional<Imported> model = imported(at("a.circle"));
      ASSERT_TRUE(model);
      Buffer &buffer = model->model->addBuffer(Payload::owned("stale"));
      model->model->metadata.push_back({name, &buffer});
      model->model->rewrites = changed;
      std::vector<std::string> notes;
      ExportOptions options = plain(Format::Circle);
      options.notes = &notes;
      std::string error = llvm::toString(exportModel(*model->model, model->lineage, at("b.circle"), options));
      bool stale = changed && name != "other", refused = stale && !name.starts_with("O");
      EXPECT_EQ(!error.empty(), refused) << error;
      EXPECT_EQ(notes.size(), stale && !refused ? 1u : 0u);
      if (refused)
        continue;
      std::string bytes = read(at("b.circle"));
      EXPECT_EQ(circle::GetModel(bytes.data())->metadata() == nullptr, stale);
      EXPECT_EQ(circle::GetModel(bytes.data())->buffers()->size(), stale ? 2u : 3u);
    }
}

TEST_F(ExportTest, RefusesByNameWhatTheFormatLacks) {
  write(at("a.circle"), modelWithPayload(16));
  auto exported = [&](auto change, Format format) {
    std::optional<Imported> model = imported(at("a.circle"));
    change(*model->model);
    return llvm::toString(exportModel(*model->model, model->lineage, at("b"), plain(format)));
  };
  auto weights = [](Model &model) -> Value & { return *model.subgraphs[0]->values[0]; };
  auto contains = [](const std::string &text, const char *part) { return text.find(part) != std::string::npos; };
  EXPECT_EQ(exported([](Model &) {}, Format::Tflite), "");
  std::string text = exported([&](Model &m) { weights(m).type = TensorType::MXFP4; }, Format::Tflite);
  EXPECT_TRUE(contains(text, "MXFP4") && contains(text, "weights")) << text;
  text = exported([&](Model &m) { weights(m).type = tensorTypeInt2; }, Format::Circle);
  EXPECT_TRUE(contains(text, "INT2") && contains(text, "weights")) << text;
  text = exported([&](Model &m) { weights(m).compression = 1; }, Format::Tflite);
  EXPECT_TRUE(contains(text, "compression")) << text;
  text = exported([&](Model &m) { weights(m).externalBuffer = 1; }, Format::Circle);
  EXPECT_TRUE(contains(text, "external_buffer")) << text;
  text =
      exported([&](Model &m) { m.subgraphs[0]->operators.front().code = BuiltinOperator::RMS_NORM; }, Format::Tflite);
  EXPECT_TRUE(contains(text, "RMS_NORM")) << text;
  text = exported([&](Model &m) { weights(m).buffer->payload = Payload::digest("00", 16); }, Format::Circle);
  EXPECT_TRUE(contains(text, "digest")) << text;
  EXPECT_EQ(exported([&](Model &m) { weights(m).type = TensorType::UINT4; }, Format::Tflite), "");
  std::string bytes = read(at("b"));
  EXPECT_EQ(tflite::GetModel(bytes.data())->subgraphs()->Get(0)->tensors()->Get(0)->type(), tflite::TensorType::UINT4);
}

TEST_F(ExportTest, ExactnessEndsAtAnInexactOperator) {
  write(at("a.circle"), modelWithPayload(16));
  for (bool inexact : {false, true}) {
    std::optional<Imported> model = imported(at("a.circle"));
    ASSERT_TRUE(model);
    Subgraph &graph = *model->model->subgraphs[0];
    // One more operator behind the one of the file, which is exact itself.
    Value &last = model->model->addValue(graph);
    last.type = TensorType::UINT8;
    last.relations = {graph.values[2]->relations[0]};
    model->model->addOperator(graph, BuiltinOperator::RELU, graph.values[2], &last).origins =
        graph.operators.front().origins;
    graph.operators.front().inexact = inexact;
    llvm::Expected<origin::OriginMap> map = originMapOf(*model->model, model->lineage, Format::Circle);
    ASSERT_TRUE(bool(map)) << llvm::toString(map.takeError());
    const auto &rows = map->target.subgraphs[0].tensors;
    ASSERT_EQ(rows.size(), 4u);
    for (size_t i = 0; i < rows.size(); ++i) {
      ASSERT_EQ(rows[i].relations.size(), 1u);
      EXPECT_EQ(rows[i].relations[0].exact, !inexact || i < 2) << i;
    }
    EXPECT_TRUE(rows[0].constant);
    EXPECT_EQ(rows[0].tensors, std::vector<uint32_t>{0});
  }
}

TEST_F(ExportTest, WhatIsOnlyConvertedTellsAllLaws) {
  write(at("a.circle"), modelWithPayload(16));
  std::optional<Imported> model = imported(at("a.circle"));
  ASSERT_TRUE(model);
  llvm::Expected<origin::OriginMap> map = originMapOf(*model->model, model->lineage, Format::Tflite);
  ASSERT_TRUE(bool(map)) << llvm::toString(map.takeError());
  EXPECT_EQ(map->target.laws, origin::allLaws);
}

TEST_F(ExportTest, RelationsThroughAConstantNeedItAlive) {
  write(at("a.circle"), modelWithPayload(16));
  std::optional<Imported> model = imported(at("a.circle"));
  ASSERT_TRUE(model);
  Subgraph &graph = *model->model->subgraphs[0];
  std::deque<origin::MapLedgerRow> ledger;
  auto relate = [&](const Value *constant) {
    Step step;
    step.kind = Step::Affine;
    step.scale.kind = Step::Term::Constant;
    step.scale.constant = constant;
    graph.values[2]->relations[0].steps = model->model->steps.append(0, step);
    llvm::Expected<origin::OriginMap> map = originMapOf(*model->model, model->lineage, Format::Circle);
    EXPECT_TRUE(bool(map));
    ledger = map->ledger;
    return map->target.subgraphs[0].tensors[2];
  };
  origin::TensorRow alive = relate(graph.values[0]);
  ASSERT_EQ(alive.relations.size(), 1u);
  EXPECT_EQ(alive.relations[0].steps[0].scale.kind, origin::Term::Constant);
  EXPECT_EQ(alive.relations[0].steps[0].scale.constant, 0u);
  EXPECT_TRUE(ledger.empty());
  Value gone; // in no subgraph, as an erased one is
  origin::TensorRow dropped = relate(&gone);
  EXPECT_TRUE(dropped.relations.empty());
  EXPECT_EQ(dropped.reason, "approximated");
  ASSERT_EQ(ledger.size(), 1u); // else nothing would say what became of the tensor
  EXPECT_TRUE(ledger[0].isTensor && ledger[0].id == 2 && ledger[0].fate == "fused-away");
}
