/// What stands behind the readers of models, and the readers of small files that go with models. ORIGO_FUZZ says which
/// of the entries below is fuzzed.

#include "commands/Config.h"
#include "commands/Page.h"
#include "commands/QuantizeModel.h"
#include "export/Export.h"
#include "export/Tables.h"
#include "export/Writer.h"
#include "ir/Verifier.h"
#include "ir/text/Text.h"
#include "origin/codec/Json.h"
#include "passes/Pipeline.h"
#include "quantize/Moments.h"
#include "quantize/Plan.h"
#include "quantize/Summary.h"
#include "report/target/Partition.h"
#include "report/target/Target.h"
#include "tests/RandomInputs.h"
#include "tests/fuzz/Fails.h"
#include "tests/fuzz/FuzzModels.h"
#include "tests/fuzz/Import.h"
#include "tests/fuzz/Random.h"
#include "view/Files.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/xxhash.h"

#include <cstring>

using namespace origo;
using fuzz::Random;
using llvm::StringRef;

namespace {

[[noreturn]] void found(const llvm::Twine &what) {
  llvm::errs() << what << '\n';
  __builtin_trap();
}

// Models.

llvm::Expected<Imported> asSource(std::unique_ptr<Model> model) {
  Imported imported;
  imported.model = std::move(model);
  imported.model->becomeSource();
  auto listing = listingOf(*imported.model, imported.model->format);
  if (!listing)
    return listing.takeError();
  imported.lineage.source = *listing;
  return imported;
}

/// A text, or a file of either format.
llvm::Expected<Imported> load(StringRef bytes, PayloadStore &store) {
  if (!bytes.starts_with("origo"))
    return importBytes(bytes.bytes_begin(), bytes.size());
  auto model = parseText(bytes, "/nonexistent", store);
  if (!model)
    return model.takeError();
  return asSource(std::move(*model));
}

bool isSmall(const Model &model) {
  uint64_t elements = 0;
  for (const auto &graph : model.subgraphs)
    for (const Value *value : graph->values)
      elements += value->elementCount().value_or(0);
  return elements <= 1 << 16 && test::multiplyAdds(model) <= 1 << 20;
}

/// What is done with every result.
void useResult(Model &model) {
  model.number();
  llvm::raw_null_ostream nowhere;
  printText(model, nowhere, {.origins = true});
  for (Format format : {Format::Circle, Format::Tflite}) {
    if (fails(checkExpressible(model, format)))
      continue;
    auto tables = buildTables(model, {.format = format});
    if (!tables)
      fails(tables.takeError());
    else
      withView(model, **tables, [](const origin::ModelView &view) {
        auto file = origin::list(view);
        (void)file.operatorCount();
      });
  }
}

void optimise(StringRef bytes, const Pipeline &pipeline) {
  PayloadStore store;
  auto imported = load(bytes, store);
  if (!imported) {
    fails(imported.takeError());
    return;
  }
  Model &model = *imported->model;
  if (!isSmall(model) || !verify(model).empty())
    return;
  if (!fails(runPipeline(model, pipeline, store)))
    useResult(model);
}

/// Floats without a range get one, so that there is something to do.
void giveRanges(Model &model) {
  static const float low = -1, high = 1;
  for (auto &graph : model.subgraphs)
    for (Value *value : graph->values)
      if (value->type == TensorType::FLOAT32 && !value->isConstant() && !value->quantization) {
        Quantization range;
        range.min = low;
        range.max = high;
        model.setQuantization(*value, range);
      }
}

quantize::Scheme schemeOf(Random &random) {
  using Mode = quantize::Scheme::Mode;
  quantize::Scheme scheme;
  constexpr Mode modes[] = {Mode::Full,    Mode::Full,     Mode::Full, Mode::Weights,       Mode::WidenedWeights,
                            Mode::Float16, Mode::Unsigned, Mode::Fake, Mode::RoundedWeights};
  scheme.common.mode = random.of(modes);
  if (random.once(3) || scheme.common.mode >= Mode::Unsigned)
    scheme.dialect = quantize::Dialect::One;
  bool wide = random.once(3);
  if (scheme.common.mode == Mode::Full && wide) {
    scheme.common.activations = TensorType::INT16;
    scheme.common.bias = TensorType::INT64;
  } else if (scheme.common.mode == Mode::Full && scheme.dialect == quantize::Dialect::One) {
    scheme.common.activations = scheme.common.weights = TensorType::UINT8;
  }
  if (scheme.common.mode == Mode::WidenedWeights && random.once(2))
    scheme.common.weights = TensorType::INT4;
  scheme.common.perChannel = random.once(2);
  scheme.common.perChannelDense = random.once(2);
  scheme.common.clip = random.once(2) ? quantize::WeightClip::LeastSquares : quantize::WeightClip::None;
  scheme.common.leastElements = 1;
  if (scheme.common.mode == Mode::Full && random.once(3))
    scheme.inputs = scheme.outputs = {scheme.common.activations};
  return scheme;
}

void quantized(StringRef bytes, Random &random) {
  PayloadStore store;
  auto imported = load(bytes, store);
  if (!imported) {
    llvm::consumeError(imported.takeError());
    return;
  }
  Model &model = *imported->model;
  if (!isSmall(model) || !verify(model).empty())
    return;
  quantize::Scheme scheme = schemeOf(random);
  if (random.once(4) && fails(commands::readOnnxFakes(model, scheme, store, false)))
    return;
  if (random.once(2)) {
    giveRanges(model);
  } else { // as records tell, by a run
    quantize::CalibrateOptions calibration;
    calibration.compile.memoryLimit = 64 << 20;
    calibration.compile.timeout = std::chrono::milliseconds(200);
    calibration.compile.iterationLimit = 100;
    auto open = [](llvm::ArrayRef<eval::Port> inputs, StringRef) { return quantize::seededRecords(inputs, 1); };
    if (auto statistics = quantize::calibrate(model, open, calibration)) {
      std::vector<std::string> silent;
      fails(quantize::setRanges(model, *statistics, {{quantize::Summary::Mode::Percentile, 0, 100}}, silent));
      if (random.once(2) && !fails(commands::equalizeChannels(model, store, false)))
        giveRanges(model);
      auto moments = quantize::collectMoments(model, open, calibration, random.once(2));
      if (moments)
        scheme.moments = std::make_shared<const quantize::Moments>(std::move(*moments));
      else
        llvm::consumeError(moments.takeError());
    } else {
      llvm::consumeError(statistics.takeError()); // several lines: one for each operator that cannot run
    }
  }
  if (auto left = commands::quantizeModel(model, scheme, store, {}))
    (void)commands::unquantizedWords(*left, "float");
  else
    fails(left.takeError());
  useResult(model);
}

/// -O1, all passes and some, and the quantiser on any model.
void models(StringRef bytes) {
  Random random(llvm::xxh3_64bits(bytes));
  optimise(bytes, Pipeline::o1());
  Pipeline all, some;
  for (const Pass &pass : allPasses()) {
    all.add(pass);
    if (random.once(3))
      some.add(pass);
  }
  optimise(bytes, random.once(2) ? all : some);
  quantized(bytes, random);
}

/// The text form: what is read is printed, and read again as the same.
void texts(StringRef bytes) {
  PayloadStore store;
  auto model = parseText(bytes, "/nonexistent", store);
  if (!model) {
    fails(model.takeError());
    return;
  }
  for (const auto &graph : (*model)->subgraphs)
    for (Operator &op : graph->operators)
      (void)op.effects();
  auto print = [](Model &model) {
    std::string text;
    llvm::raw_string_ostream os(text);
    printText(model, os, {.inlineBytes = 1 << 20});
    return text;
  };
  std::string printed = print(**model);
  auto again = parseText(printed, "/nonexistent", store);
  if (!again)
    found("what is printed cannot be read: " + llvm::toString(again.takeError()) + "\n" + printed);
  if (print(**again) != printed)
    found("what is printed is read as something else:\n" + printed);
  if (isSmall(**model) && verify(**model).empty())
    useResult(**model);
}

// Files beside models.

const std::string &smallSource() {
  static const std::string text = [] {
    auto file = llvm::MemoryBuffer::getFile(ORIGO_SOURCE_DIR "/tests/fuzz/small.origo");
    return file ? (*file)->getBuffer().str() : "";
  }();
  return text;
}

/// The small model, and what -O1 makes of it.
struct Files {
  std::string source, result;
  std::vector<size_t> operators; ///< of the result, by subgraph
  std::unique_ptr<origin::ModelFile> sourceFile, resultFile;

  static const Files &get() {
    static const Files files;
    return files;
  }

private:
  Files() {
    llvm::SmallString<128> folder;
    if (llvm::sys::fs::createUniqueDirectory("behind_fuzzer", folder))
      found("no folder");
    std::string path = (folder + "/net.circle").str();
    auto read = [](const std::string &from) { return (*llvm::MemoryBuffer::getFile(from))->getBuffer().str(); };
    PayloadStore store;
    Imported imported = llvm::cantFail(load(smallSource(), store));
    ExportOptions options;
    options.embed = origin::Embed::None;
    llvm::cantFail(exportModel(*imported.model, imported.lineage, path, options));
    source = read(path);
    imported = llvm::cantFail(importModel(path));
    llvm::cantFail(runPipeline(*imported.model, Pipeline::o1(), store));
    llvm::cantFail(exportModel(*imported.model, imported.lineage, path, options));
    result = read(path);
    for (const auto &graph : imported.model->subgraphs)
      operators.push_back(graph->operators.size());
    llvm::sys::fs::remove_directories(folder);
    sourceFile = llvm::cantFail(origin::ModelFile::fromBytes(llvm::arrayRefFromStringRef(source), "source.circle"));
    resultFile = llvm::cantFail(origin::ModelFile::fromBytes(llvm::arrayRefFromStringRef(result), "result.circle"));
  }
};

/// Targets, divisions, settings and histories.
void settings(StringRef bytes) {
  static PayloadStore store;
  Imported imported = llvm::cantFail(load(smallSource(), store));
  Model &model = *imported.model;
  const origin::Listing &listing = *imported.lineage.source;
  if (auto target = report::readTarget(bytes)) {
    (void)report::violationsJson(report::checkTarget(model, *target));
    auto again = report::readTarget(report::writeTarget(*target));
    if (!again)
      found("a target that is written cannot be read: " + llvm::toString(again.takeError()));
    if (auto regions = report::partition(model, *target, "npu", "cpu"); !regions)
      fails(regions.takeError());
  } else {
    fails(target.takeError());
  }
  std::vector<std::string> notes;
  if (auto target = report::readWebnn(bytes, notes))
    (void)report::checkTarget(model, *target);
  else
    fails(target.takeError());
  if (auto part = report::readPart(bytes)) {
    std::vector<std::string> unused;
    if (auto regions = report::partition(model, *part, unused); !regions)
      fails(regions.takeError());
  } else {
    fails(part.takeError());
  }
  if (auto sections = commands::readConfig(bytes)) {
    size_t size = 0;
    for (const auto &[name, section] : *sections)
      for (const auto &[key, value] : section)
        size += key.size() + value.size();
    if (size > (4 << 20) + 200 * bytes.size())
      found("settings take " + llvm::Twine(size) + " bytes");
  } else {
    fails(sections.takeError());
  }
  if (auto history = view::readHistory(bytes, listing.operatorCount(), listing.tensorCount(), Files::get().operators);
      !history)
    fails(history.takeError());
  if (auto errors = view::readErrors(bytes, listing); !errors)
    fails(errors.takeError());
}

/// A page with source, by a map that lies in anything but its fingerprints.
void page(StringRef bytes) {
  const Files &files = Files::get();
  auto map = origin::readJson(bytes);
  if (!map) {
    llvm::consumeError(map.takeError());
    return;
  }
  for (bool withSource : {false, true}) {
    auto shared = std::make_shared<origin::OriginMap>(*map);
    ImportOptions alone;
    alone.origin = OriginMode::Restart;
    auto source = importBytes(reinterpret_cast<const uint8_t *>(files.source.data()), files.source.size(), alone);
    if (!source)
      found(llvm::toString(source.takeError()));
    auto plain = importBytes(reinterpret_cast<const uint8_t *>(files.result.data()), files.result.size(), alone);
    if (!plain)
      found(llvm::toString(plain.takeError()));
    shared->source.fingerprint = source->lineage.source->fingerprint;
    shared->source.content = source->lineage.source->content;
    shared->target.fingerprint = plain->lineage.source->fingerprint;
    shared->target.content = plain->lineage.source->content;
    ImportOptions options;
    options.map = shared;
    auto result = importBytes(reinterpret_cast<const uint8_t *>(files.result.data()), files.result.size(), options);
    if (!result) {
      fails(result.takeError());
      result = std::move(plain);
    } else {
      useResult(*result->model);
    }
    commands::PageRequest request;
    request.map = shared;
    request.result = {std::move(*result), files.resultFile.get(), "result.circle"};
    if (withSource)
      request.source = commands::PageInput{std::move(*source), files.sourceFile.get(), "source.circle"};
    if (auto data = commands::pageData(std::move(request)); !data)
      fails(data.takeError());
  }
}

struct Entry {
  StringRef name;
  void (*run)(StringRef bytes);
  bool modelTexts; ///< its inputs are changed as texts of models
} const entries[] = {
    {"models", models, true}, {"texts", texts, true}, {"settings", settings, false}, {"page", page, false}};

const Entry &entry() {
  static const Entry &chosen = []() -> const Entry & {
    StringRef name = std::getenv("ORIGO_FUZZ") ? std::getenv("ORIGO_FUZZ") : "models";
    for (const Entry &one : entries)
      if (one.name == name)
        return one;
    found("ORIGO_FUZZ is none of the entries");
  }();
  return chosen;
}

// Changes that leave a text of the same kind.

struct Span {
  size_t begin, end;
};
bool isWord(char c) { return llvm::isAlnum(c) || c == '_' || c == '%' || c == '@' || c == '.' || c == '-' || c == '+'; }

std::vector<Span> wordsOf(StringRef text, llvm::function_ref<bool(StringRef word, char next)> wanted) {
  std::vector<Span> words;
  for (size_t i = 0; i < text.size();) {
    size_t end = i;
    while (end < text.size() && isWord(text[end]))
      ++end;
    if (end > i && wanted(text.slice(i, end), end < text.size() ? text[end] : 0))
      words.push_back({i, end});
    i = std::max(end, i + 1);
  }
  return words;
}

/// From a bracket to the one that closes it.
std::vector<Span> groupsOf(StringRef text) {
  std::vector<Span> groups;
  std::vector<size_t> open;
  for (size_t i = 0; i < text.size(); ++i)
    if (StringRef("([{").contains(text[i])) {
      open.push_back(i);
    } else if (StringRef(")]}").contains(text[i]) && !open.empty()) {
      groups.push_back({open.back(), i + 1});
      open.pop_back();
    }
  return groups;
}

/// One of what stands in a group between commas.
Span itemIn(StringRef text, Span group, Random &random) {
  std::vector<size_t> ends = {group.begin};
  int depth = 0;
  for (size_t i = group.begin + 1; i + 1 < group.end; ++i) {
    depth += StringRef("([{").contains(text[i]) - StringRef(")]}").contains(text[i]);
    if (depth == 0 && text[i] == ',')
      ends.push_back(i);
  }
  ends.push_back(group.end - 1);
  unsigned chosen = random.below(static_cast<unsigned>(ends.size() - 1));
  return {ends[chosen] + 1, ends[chosen + 1]};
}

std::string changed(std::string text, bool isModel, Random &random) {
  static const StringRef types[] = {"f32", "f16",  "i8", "u8",  "i16",    "i32",
                                    "i64", "bool", "i4", "f64", "string", "u32"};
  static const StringRef numbers[] = {"0",
                                      "1",
                                      "-1",
                                      "2",
                                      "3",
                                      "7",
                                      "8",
                                      "64",
                                      "127",
                                      "-128",
                                      "255",
                                      "256",
                                      "1000",
                                      "65536",
                                      "2147483647",
                                      "-2147483648",
                                      "4294967295",
                                      "4294967294",
                                      "9223372036854775807",
                                      "18446744073709551615",
                                      "0.5",
                                      "1e-30",
                                      "1e30",
                                      "inf",
                                      "nan"};
  auto put = [&](Span span, const llvm::Twine &by) {
    text = (llvm::Twine(StringRef(text).take_front(span.begin)) + by + StringRef(text).drop_front(span.end)).str();
  };
  auto one = [&](const std::vector<Span> &spans) { return spans[random.below(static_cast<unsigned>(spans.size()))]; };
  auto isNumber = [](StringRef word, char) {
    return llvm::isDigit(word.front()) || (word.size() > 1 && word.front() == '-' && llvm::isDigit(word[1]));
  };
  auto isName = [](StringRef word, char) { return word.front() == '%'; };
  auto isOperator = [](StringRef word, char next) { return next == '(' && llvm::isUpper(word.front()); };
  auto isType = [](StringRef word, char) { return llvm::is_contained(types, word); };
  switch (random.below(isModel ? 12 : 5)) {
  case 0:
    if (auto words = wordsOf(text, isNumber); !words.empty())
      put(one(words), random.of(numbers));
    break;
  case 1: // an item less
  case 2:
    if (auto groups = groupsOf(text); !groups.empty()) {
      Span group = one(groups), item = itemIn(text, group, random);
      bool last = item.end + 1 == group.end;
      if (last && item.begin > group.begin + 1)
        --item.begin; // the comma in front
      else if (!last)
        ++item.end;
      put(item, "");
    }
    break;
  case 3: // an item twice
    if (auto groups = groupsOf(text); !groups.empty()) {
      Span item = itemIn(text, one(groups), random);
      std::string copy = StringRef(text).slice(item.begin, item.end).str();
      put({item.end, item.end}, "," + copy);
    }
    break;
  case 4: // what stands elsewhere
    if (auto groups = groupsOf(text); !groups.empty()) {
      Span to = one(groups), from = one(groups);
      std::string copy = StringRef(text).slice(from.begin, from.end).str();
      if (text[to.begin] == copy.front())
        put(to, copy);
    }
    break;
  case 5:
  case 6:
    if (auto words = wordsOf(text, isOperator); !words.empty())
      put(one(words), allOperators()[random.below(static_cast<unsigned>(allOperators().size()))].name);
    break;
  case 7:
  case 8:
    if (auto words = wordsOf(text, isType); !words.empty())
      put(one(words), random.of(types));
    break;
  case 9:
    if (auto words = wordsOf(text, isName); !words.empty()) {
      Span from = one(words);
      std::string name = random.once(4) ? "_" : StringRef(text).slice(from.begin, from.end).str();
      put(one(words), name);
    }
    break;
  case 10: { // how a tensor is quantised
    static const StringRef kinds[] = {" q{scale=0.5, zero_point=3}",
                                      " q{min=-1, max=2}",
                                      " variable",
                                      " ranked",
                                      " q{scale=[0.5, 0.25], zero_point=[0, 0], dim=0}",
                                      " q{scale=0.0187, zero_point=-26}"};
    std::vector<Span> shapes;
    for (Span group : groupsOf(text))
      if (text[group.begin] == '[' && group.begin > 2 && llvm::isAlnum(text[group.begin - 1]))
        shapes.push_back({group.end, group.end});
    if (!shapes.empty())
      put(one(shapes), random.of(kinds));
    break;
  }
  default: // a line less
    llvm::SmallVector<StringRef> lines;
    StringRef(text).split(lines, '\n');
    lines.erase(lines.begin() + random.below(static_cast<unsigned>(lines.size())));
    text = llvm::join(lines, "\n");
  }
  return text;
}

} // namespace

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);

/// Most changes leave a text of the same kind; some models are new ones.
extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed) {
  Random random(seed);
  StringRef bytes(reinterpret_cast<const char *>(data), size);
  bool isModel = entry().modelTexts, isText = isModel ? bytes.starts_with("origo") : !bytes.empty();
  std::string text;
  if (isModel && random.once(20))
    text = random.once(2) ? fuzz::randomGraph(random.bits()) : fuzz::randomOperator(random.bits());
  else if (!isText || random.once(6))
    return LLVMFuzzerMutate(data, size, most);
  else
    text = bytes.str();
  for (unsigned times = 1 + random.below(3); times > 0; --times)
    text = changed(std::move(text), isModel, random);
  size = std::min(text.size(), most);
  std::memcpy(data, text.data(), size);
  return size;
}

/// Any bytes end in a result that is whole, or in an error of one line.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  entry().run({reinterpret_cast<const char *>(data), size});
  return 0;
}
