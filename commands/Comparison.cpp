#include "commands/Comparison.h"

#include "commands/Files.h"
#include "commands/JsonOutput.h"
#include "eval/RandomInput.h"
#include "eval/RealNumbers.h"
#include "quantize/Records.h"
#include "report/Columns.h"
#include "report/metrics/Metrics.h"
#include "schema/TensorTypes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"

#include <cmath>
#include <map>

namespace origo::commands {

namespace json = llvm::json;

static PortFacts portOf(const Value &value) {
  llvm::ArrayRef<int32_t> shape = value.shapeSignature().empty() ? value.shape : value.shapeSignature();
  std::string type = tensorTypeName(value.type).lower() + "[";
  for (size_t i = 0; i < shape.size(); ++i)
    type += (i ? "," : "") + (shape[i] < 0 ? "?" : std::to_string(shape[i]));
  return {printable(value.name), type + "]"};
}

/// The names in a zip file, which its directory at the end has.
static std::vector<std::string> filesIn(llvm::ArrayRef<uint8_t> zip) {
  using llvm::support::endian::read16le, llvm::support::endian::read32le;
  constexpr size_t endSize = 22, entrySize = 46;
  std::vector<std::string> names;
  size_t end = zip.size();
  while (end-- > 0) // a comment follows, which says how long it is
    if (zip.size() - end >= endSize && read32le(&zip[end]) == 0x06054b50 &&
        read16le(&zip[end + 20]) == zip.size() - end - endSize)
      break;
  if (end >= zip.size() || read32le(&zip[end + 12]) > end)
    return names;
  for (size_t at = end - read32le(&zip[end + 12]); at + entrySize <= end && read32le(&zip[at]) == 0x02014b50;) {
    size_t length = read16le(&zip[at + 28]), more = length + read16le(&zip[at + 30]) + read16le(&zip[at + 32]);
    if (more > end - at - entrySize)
      break;
    names.push_back(printable(llvm::toStringRef(zip.slice(at + entrySize, length))));
    at += entrySize + more;
  }
  return names;
}

static SignatureFacts signatureOf(const Signature &signature) {
  SignatureFacts facts{printable(signature.key), {}, {}};
  for (auto [from, to] : {std::pair(&signature.inputs, &facts.inputs), std::pair(&signature.outputs, &facts.outputs)})
    for (const Signature::Entry &entry : *from)
      to->push_back(printable(entry.name));
  return facts;
}

llvm::Expected<ModelFacts> factsOf(const std::string &path, const Door &door) {
  PayloadStore store;
  ImportOptions options;
  options.tolerant = true;
  llvm::Expected<Imported> imported = load(path, options, store, door);
  if (!imported)
    return imported.takeError();
  door.phase("counting");
  const Model &model = *imported->model;
  ModelFacts facts;
  facts.path = path;
  facts.notes = imported->notes;
  facts.format = kindOf(path) == FileKind::Text ? "text" : model.format == Format::Tflite ? "tflite" : "circle";
  facts.bytes = imported->bytes;
  facts.operators = model.operatorCount();
  facts.subgraphs = model.subgraphs.size();
  std::map<std::string, size_t> kinds;
  for (const auto &graph : model.subgraphs)
    for (const Operator &op : graph->operators)
      ++kinds[op.opName() + (op.customCode().empty() ? "" : ":" + printable(op.customCode()))];
  facts.kinds.assign(kinds.begin(), kinds.end());
  llvm::stable_sort(facts.kinds, [](const auto &a, const auto &b) { return a.second > b.second; });
  report::ModelMetrics metrics = report::metricsOf(model, *imported->lineage.source, nullptr, {});
  facts.parameters = metrics.figures.parameters;
  facts.constantBytes = metrics.figures.bytes;
  facts.macs = metrics.figures.macs.value_or(0);
  facts.unknownMacs = metrics.figures.unknownMacs;
  facts.liveBytes = metrics.figures.liveBytes;
  for (const Value *value : model.subgraphs.front()->inputs)
    facts.inputs.push_back(portOf(*value));
  for (const Value *value : model.subgraphs.front()->outputs)
    if (value)
      facts.outputs.push_back(portOf(*value));
  for (const Signature &signature : model.signatures)
    facts.signatures.push_back(signatureOf(signature));
  for (const MetadataEntry &entry : model.metadata)
    facts.metadata.push_back({printable(entry.name), entry.buffer ? entry.buffer->payload.size() : 0});
  facts.packed = filesIn(model.archive.bytes());
  if (!imported->lineage.chain.empty()) {
    facts.source = imported->lineage.source->file.empty() ? "a model without a name" : imported->lineage.source->file;
    facts.sourceOperators = imported->lineage.source->operatorCount();
  }
  return facts;
}

struct Runner::Parts {
  PayloadStore store;
  Imported imported;
  std::optional<eval::Session> session;
  eval::State state;
  std::vector<eval::Port> inputs, outputs;
  std::string notRun; ///< why it cannot be run

  llvm::Error open(const std::string &path, const Door &door) {
    auto loaded = load(path, {}, store, door);
    if (!loaded)
      return loaded.takeError();
    imported = std::move(*loaded);
    if (llvm::Error error = prepare())
      return inFile(path, std::move(error));
    auto in = session->inputs(), out = session->outputs();
    if (!in || !out)
      return firstError(in, out);
    inputs = in->vec();
    outputs = out->vec();
    return llvm::Error::success();
  }
  /// Made anew, it lies elsewhere in memory.
  llvm::Error prepare() {
    eval::CompileOptions options;
    options.engine = eval::Engine::Fast;
    options.timeout = std::chrono::seconds(60);
    state = {};
    session.reset();
    auto compiled = eval::compile(*imported.model, options);
    if (!compiled)
      return compiled.takeError();
    session.emplace(std::move(*compiled));
    return llvm::Error::success();
  }
  llvm::Expected<std::vector<eval::NamedTensor>> run(llvm::ArrayRef<eval::OwnedTensor> given) {
    std::vector<eval::TensorRef> refs(given.begin(), given.end());
    eval::RunOptions options;
    options.state = &state;
    return session->run(refs, options);
  }
  /// Milliseconds.
  llvm::Expected<double> time(llvm::ArrayRef<eval::OwnedTensor> given) {
    auto begin = std::chrono::steady_clock::now();
    if (auto outputs = run(given); !outputs)
      return outputs.takeError();
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  }
};

Runner::Runner(std::unique_ptr<Parts> parts) : parts(std::move(parts)) {}
Runner::Runner(Runner &&) noexcept = default;
Runner::~Runner() = default;

static std::string wordsOf(llvm::Error error) {
  return llvm::StringRef(llvm::toString(std::move(error))).split('\n').first.str();
}

Runner Runner::open(const std::string &path, const Door &door) {
  door.phase("preparing a run");
  auto parts = std::make_unique<Parts>();
  if (llvm::Error error = parts->open(path, door))
    parts->notRun = wordsOf(std::move(error));
  return Runner(std::move(parts));
}

namespace {

/// Real numbers as elements of a port: rounded to its steps where it is quantised. None: no type for it.
std::optional<eval::OwnedTensor> stored(llvm::ArrayRef<double> numbers, const eval::Shape &shape,
                                        const eval::Port &port) {
  eval::OwnedTensor tensor{port.type, shape, {}};
  eval::Tensor parameters;
  parameters.quantization = port.value->quantization;
  auto fill = [&](auto zero) {
    using T = decltype(zero);
    tensor.bytes.resize(numbers.size() * sizeof(T));
    T *to = reinterpret_cast<T *>(tensor.bytes.data());
    for (size_t i = 0; i < numbers.size(); ++i)
      if constexpr (std::is_same_v<T, float>)
        to[i] = static_cast<float>(numbers[i]);
      else
        to[i] =
            static_cast<T>(std::clamp<double>(std::nearbyint(numbers[i] / parameters.scale()) + parameters.zeroPoint(),
                                              std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
  };
  if (parameters.perChannel())
    return std::nullopt;
  switch (port.type) {
  case TensorType::FLOAT32:
    fill(float());
    return tensor;
  case TensorType::INT8:
    fill(int8_t());
    return tensor;
  case TensorType::UINT8:
    fill(uint8_t());
    return tensor;
  case TensorType::INT16:
    fill(int16_t());
    return tensor;
  default:
    return std::nullopt;
  }
}

/// The inputs of `from` as those of `to`, which may want other types; none: they do not fit.
std::optional<std::vector<eval::OwnedTensor>>
converted(std::vector<eval::OwnedTensor> &inputs, llvm::ArrayRef<eval::Port> from, llvm::ArrayRef<eval::Port> to) {
  if (from.size() != to.size())
    return std::nullopt;
  std::vector<eval::OwnedTensor> result;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (from[i].type == to[i].type) {
      result.push_back(inputs[i]);
      continue;
    }
    auto numbers = eval::realNumbers(inputs[i], from[i].value->quantization);
    auto tensor = numbers ? stored(*numbers, inputs[i].shape, to[i]) : std::nullopt;
    if (!tensor)
      return std::nullopt;
    result.push_back(std::move(*tensor));
  }
  return result;
}

/// Adds what one record shows. False: the outputs are not of the same kind.
bool addDifferences(std::vector<eval::NamedTensor> &before, std::vector<eval::NamedTensor> &after,
                    llvm::ArrayRef<eval::Port> first, llvm::ArrayRef<eval::Port> second, RunFacts &facts,
                    std::vector<std::array<double, 4>> &sums) {
  if (before.size() != after.size())
    return false;
  sums.resize(before.size(), {0, 0, std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()});
  facts.differences.resize(before.size());
  for (size_t i = 0; i < before.size(); ++i) {
    auto a = eval::realNumbers(before[i].tensor, first[i].value->quantization);
    auto b = eval::realNumbers(after[i].tensor, second[i].value->quantization);
    if (!a || !b || a->size() != b->size())
      return false;
    OutputDifference &difference = facts.differences[i];
    difference.name = first[i].name;
    auto &[sum, count, low, high] = sums[i];
    for (size_t k = 0; k < a->size(); ++k) {
      double x = (*a)[k], y = (*b)[k];
      double off = x == y || (std::isnan(x) && std::isnan(y)) ? 0 : std::fabs(x - y);
      if (std::isnan(off))
        off = std::numeric_limits<double>::infinity();
      difference.greatest = std::max(difference.greatest, off);
      sum += off;
      ++count;
      if (std::isfinite(x)) {
        low = std::min(low, x);
        high = std::max(high, x);
      }
    }
    difference.mean = count ? sum / count : 0;
    difference.range = high >= low ? high - low : 0;
  }
  return true;
}

/// What part of the times lies below.
double quantile(std::vector<double> times, double part) {
  llvm::sort(times);
  return times.empty() ? 0 : times[static_cast<size_t>(static_cast<double>(times.size() - 1) * part + 0.5)];
}

constexpr uint64_t mostRecords = 8;   ///< enough for a first impression
constexpr uint64_t randomRecords = 4; ///< what lies behind a choice or a bound shows with some inputs only

} // namespace

/// Runs of both in turn, either of which begins a pair, at several places in memory.
static llvm::Error timeBoth(Runner::Parts &first, llvm::ArrayRef<eval::OwnedTensor> inputs, Runner::Parts &second,
                            llvm::ArrayRef<eval::OwnedTensor> others, RunFacts &facts) {
  constexpr unsigned places = 6, mostPairs = 40;   // of six, all lie on one side of the truth in 3 % of cases
  constexpr double budget = 120, mostOfAll = 3000; // milliseconds of a place, and of all
  std::vector<double> times[2];
  std::vector<size_t> blocks;
  double all = 0;
  for (unsigned place = 0; place < places && all < mostOfAll; ++place) {
    blocks.push_back(times[0].size());
    double spent = 0;
    auto timeOne = [&](bool isSecond, bool counts) -> llvm::Error {
      auto took = isSecond ? second.time(others) : first.time(inputs);
      if (!took)
        return took.takeError();
      spent += *took;
      if (counts)
        times[isSecond].push_back(*took);
      return llvm::Error::success();
    };
    for (bool isSecond : {place % 2 == 1, place % 2 == 0}) {
      if (place)
        if (llvm::Error error = isSecond ? second.prepare() : first.prepare())
          return error;
      if (llvm::Error error = timeOne(isSecond, false)) // arranges its memory
        return error;
    }
    for (unsigned pair = 0; pair < mostPairs && (pair < 2 || pair % 2 || spent < budget); ++pair)
      for (bool isSecond : {pair % 2 == 1, pair % 2 == 0})
        if (llvm::Error error = timeOne(isSecond, true))
          return error;
    all += spent;
  }
  facts.time = RunsInTurn::Change::of(times[0], times[1], blocks);
  facts.tellsTime = blocks.size() == places;
  for (int i : {0, 1})
    facts.spread[i] = quantile(times[i], 0.75) - quantile(times[i], 0.25);
  return llvm::Error::success();
}

llvm::Expected<RunFacts> runBoth(const std::string &before, const std::string &after, const std::string &path,
                                 const Door &door) {
  return runBoth(Runner::open(before, door), after, path, door);
}

llvm::Expected<RunFacts> runBoth(Runner before, const std::string &after, const std::string &path, const Door &door) {
  RunFacts facts;
  Runner other = Runner::open(after, door);
  Runner::Parts &first = *before.parts, &second = *other.parts;
  if (facts.notRun = first.notRun.empty() ? second.notRun : first.notRun; !facts.notRun.empty())
    return facts;
  bool random = path.empty() || path == "random";
  auto records = random ? quantize::seededRecords(first.inputs, randomRecords)
                        : quantize::openRecords(path, quantize::RecordFormat::ByName, first.inputs);
  if (!records) {
    if (!random)
      return records.takeError();
    facts.notRun = wordsOf(records.takeError());
    return facts;
  }
  facts.records = std::min((*records)->count(), mostRecords);
  if (facts.records == 0 || first.outputs.empty()) {
    facts.notRun = facts.records == 0 ? "there is no record in " + printable(path) : "there is no output";
    return facts;
  }
  facts.inputs = std::to_string(facts.records) + (facts.records == 1 ? " record of " : " records of ") +
                 (random ? "random numbers" : printable(path));
  door.phase("executing");
  std::vector<std::array<double, 4>> sums;
  for (uint64_t record = 0; record < facts.records; ++record) {
    auto inputs = (*records)->read(record);
    if (!inputs)
      return inputs.takeError();
    auto others = converted(*inputs, first.inputs, second.inputs);
    if (!others) {
      facts.notRun = "the two do not take the same inputs";
      return facts;
    }
    first.state.reset();
    second.state.reset();
    auto a = first.run(*inputs), b = second.run(*others);
    if (!a || !b) {
      facts.notRun = wordsOf(firstError(a, b));
      return facts;
    }
    if (!addDifferences(*a, *b, first.outputs, second.outputs, facts, sums)) {
      facts.notRun = "the two do not give the same outputs";
      facts.differences.clear();
      return facts;
    }
    if (record + 1 == facts.records)
      if (llvm::Error error = timeBoth(first, *inputs, second, *others, facts))
        return error;
  }
  if (llvm::all_of(sums, [](const auto &one) { return one[1] == 0; }))
    facts.notRun = "no output has an element";
  return facts;
}

// Words.

static std::string digits(uint64_t number) { return std::to_string(number); }

static std::string scaled(double number, double step, llvm::ArrayRef<const char *> units) {
  size_t unit = 0;
  while (number >= step && unit + 1 < units.size())
    number /= step, ++unit;
  std::string text;
  llvm::raw_string_ostream os(text);
  os << llvm::format(unit == 0 ? "%.0f" : number < 9.95 ? "%.2f" : "%.1f", number);
  return text + units[unit];
}

static std::string bytesWords(uint64_t bytes) {
  return scaled(static_cast<double>(bytes), 1000, {" B", " kB", " MB", " GB"});
}
static std::string countWords(uint64_t count) {
  return scaled(static_cast<double>(count), 1000, {"", " k", " M", " G"});
}

static std::string changeWords(double before, double after) {
  if (before == after)
    return "the same";
  if (before == 0)
    return "";
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%+.0f %%", (after / before - 1) * 100);
  return text == "+0 %" || text == "-0 %" ? "nearly the same" : text;
}

/// A line each.
static std::string lines(size_t count, llvm::function_ref<std::string(size_t)> line) {
  constexpr size_t most = 6;
  std::string text;
  for (size_t i = 0; i < count && i < most; ++i)
    text += (i ? "\n            " : "") + line(i);
  if (count > most)
    text += "\n            and " + std::to_string(count - most) + " more";
  return count ? text : "none";
}

static std::string portsWords(llvm::ArrayRef<PortFacts> ports) {
  return lines(ports.size(),
               [&](size_t i) { return (ports[i].name.empty() ? "" : ports[i].name + "  ") + ports[i].type; });
}

static std::string kindsWords(llvm::ArrayRef<std::pair<std::string, size_t>> kinds) {
  constexpr size_t most = 6;
  std::string text;
  for (const auto &[name, count] : kinds.take_front(most))
    text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + name;
  return kinds.size() > most ? text + " and " + std::to_string(kinds.size() - most) + " other kinds" : text;
}

void describe(const ModelFacts &facts, llvm::raw_ostream &os) {
  os << printable(facts.path, 300) << ": "
     << (facts.format == "text" ? "a model as text" : "a " + facts.format + " model") << ", " << bytesWords(facts.bytes)
     << '\n';
  os << facts.operators << (facts.operators == 1 ? " operator" : " operators")
     << (facts.subgraphs > 1 ? " in " + std::to_string(facts.subgraphs) + " subgraphs" : "")
     << (facts.kinds.empty() ? "" : ": " + kindsWords(facts.kinds)) << '\n';
  os << countWords(facts.parameters) << " parameters (" << bytesWords(facts.constantBytes) << "), "
     << countWords(facts.macs) << " multiply-adds a run"
     << (facts.unknownMacs ? ", and those of " + std::to_string(facts.unknownMacs) + " operators that are not known"
                           : "")
     << '\n';
  os << "inputs      " << portsWords(facts.inputs) << '\n';
  os << "outputs     " << portsWords(facts.outputs) << '\n';
  if (!facts.signatures.empty())
    os << "signatures  " << lines(facts.signatures.size(), [&](size_t i) {
      const SignatureFacts &signature = facts.signatures[i];
      return signature.key + "(" + llvm::join(signature.inputs, ", ") + ") -> (" + llvm::join(signature.outputs, ", ") +
             ")";
    }) << '\n';
  if (!facts.metadata.empty())
    os << "metadata    " << lines(facts.metadata.size(), [&](size_t i) {
      return facts.metadata[i].first + "  " + bytesWords(facts.metadata[i].second);
    }) << '\n';
  if (!facts.packed.empty())
    os << "packed      " << lines(facts.packed.size(), [&](size_t i) { return facts.packed[i]; }) << '\n';
  if (facts.source.empty())
    os << "origins     it is its own source\n";
  else
    os << "origins     made from " << printable(facts.source) << " (" << facts.sourceOperators << " operators)\n";
}

static void factsJson(const ModelFacts &facts, json::OStream &out) {
  auto text = [](llvm::StringRef s) { return json::fixUTF8(s); };
  out.object([&] {
    out.attribute("file", text(facts.path));
    out.attribute("format", facts.format);
    out.attribute("bytes", static_cast<int64_t>(facts.bytes));
    out.attribute("operators", static_cast<int64_t>(facts.operators));
    out.attribute("subgraphs", static_cast<int64_t>(facts.subgraphs));
    out.attributeObject("kinds", [&] {
      for (const auto &[name, count] : facts.kinds)
        out.attribute(text(name), static_cast<int64_t>(count));
    });
    out.attribute("parameters", static_cast<int64_t>(facts.parameters));
    out.attribute("constantBytes", static_cast<int64_t>(facts.constantBytes));
    out.attribute("macs", static_cast<int64_t>(facts.macs));
    out.attribute("unknownMacs", static_cast<int64_t>(facts.unknownMacs));
    for (auto [key, ports] : {std::pair("inputs", &facts.inputs), std::pair("outputs", &facts.outputs)})
      out.attributeArray(key, [&, ports = ports] {
        for (const PortFacts &port : *ports)
          out.object([&] {
            out.attribute("name", text(port.name));
            out.attribute("type", port.type);
          });
      });
    auto list = [&](const char *key, llvm::ArrayRef<std::string> names) {
      out.attributeArray(key, [&] {
        for (const std::string &name : names)
          out.value(text(name));
      });
    };
    out.attributeArray("signatures", [&] {
      for (const SignatureFacts &signature : facts.signatures)
        out.object([&] {
          out.attribute("key", text(signature.key));
          list("inputs", signature.inputs);
          list("outputs", signature.outputs);
        });
    });
    out.attributeArray("metadata", [&] {
      for (const auto &[name, bytes] : facts.metadata)
        out.object([&, &name = name, bytes = bytes] {
          out.attribute("name", text(name));
          out.attribute("bytes", static_cast<int64_t>(bytes));
        });
    });
    list("packedFiles", facts.packed);
    if (facts.source.empty())
      out.attribute("source", nullptr);
    else
      out.attributeObject("source", [&] {
        out.attribute("file", text(facts.source));
        out.attribute("operators", static_cast<int64_t>(facts.sourceOperators));
      });
  });
}

void describeJson(const ModelFacts &facts, llvm::raw_ostream &os) {
  json::OStream out(os, 1);
  factsJson(facts, out);
  os << '\n';
}

/// A gain, or a loss, with its interval; nothing of what may be noise.
static std::string timeWords(const RunFacts &runs) {
  if (!runs.tellsTime)
    return "too few runs to tell";
  const RunsInTurn::Change &time = runs.time;
  if (!time.isSure())
    return "nothing above noise";
  return changeWords(1, 1 + time.part.value) + " (" + time.interval() + ")";
}

static std::string number(const char *format, double value) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format(format, value);
  return text;
}

static void printRuns(const RunFacts &runs, llvm::raw_ostream &os) {
  if (!runs.notRun.empty()) {
    os << "not compared by running them: " << runs.notRun << '\n';
    return;
  }
  constexpr size_t most = 6;
  size_t equal = llvm::count_if(runs.differences, [](const auto &difference) { return difference.greatest == 0; });
  if (equal == runs.differences.size()) {
    os << (equal == 1 ? "the output is" : "all " + std::to_string(equal) + " outputs are")
       << " the same, bit for bit, on " << runs.inputs << '\n';
    return;
  }
  size_t shown = 0;
  for (const OutputDifference &difference : runs.differences) {
    if (difference.greatest == 0 || shown++ >= most)
      continue;
    os << "output " << (difference.name.empty() ? std::to_string(shown - 1) : printable(difference.name))
       << " differs by at most " << number("%.3g", difference.greatest);
    if (difference.range > 0)
      os << ", " << number("%.2g", difference.greatest / difference.range * 100) << " % of its range (on average "
         << number("%.2g", difference.mean / difference.range * 100) << " %)";
    os << ", on " << runs.inputs << '\n';
  }
  if (size_t differ = runs.differences.size() - equal; differ > most)
    os << "and " << differ - most << " more outputs differ\n";
}

static void compare(const ModelFacts &before, const ModelFacts &after, const RunFacts *runs, llvm::raw_ostream &os) {
  std::vector<report::Cells> rows;
  auto add = [&](const char *what, std::string a, std::string b, std::string change) {
    rows.push_back({what, std::move(a), std::move(b), std::move(change)});
  };
  auto addCount = [&](const char *what, uint64_t a, uint64_t b, llvm::function_ref<std::string(uint64_t)> words) {
    add(what, words(a), words(b), changeWords(static_cast<double>(a), static_cast<double>(b)));
  };
  addCount("operators", before.operators, after.operators, digits);
  addCount("file", before.bytes, after.bytes, bytesWords);
  addCount("constants", before.constantBytes, after.constantBytes, bytesWords);
  addCount("multiply-adds", before.macs, after.macs, countWords);
  if (runs && runs->notRun.empty()) {
    const RunsInTurn::Change &time = runs->time;
    add("time of a run", number("%.3g ms", time.before.value), number("%.3g ms", time.now.value), timeWords(*runs));
  }
  report::printColumns({"", "before", "after", "change"}, rows.size(), [&](size_t i) { return rows[i]; }, os, {1, 2});
  if (runs)
    printRuns(*runs, os);
  if (runs && runs->notRun.empty() && before.signatures.size() > 1)
    os << "this is the first of " << before.signatures.size() << " signatures; the others are not run\n";
}

static void compareJson(const ModelFacts &before, const ModelFacts &after, const RunFacts *runs,
                        llvm::raw_ostream &os) {
  json::OStream out(os, 1);
  // JSON has no infinity.
  auto finite = [](double value) { return std::isfinite(value) ? json::Value(value) : json::Value(nullptr); };
  out.object([&] {
    out.attributeBegin("before");
    factsJson(before, out);
    out.attributeEnd();
    out.attributeBegin("after");
    factsJson(after, out);
    out.attributeEnd();
    if (!runs)
      return;
    out.attributeObject("run", [&] {
      if (!runs->notRun.empty()) {
        out.attribute("notRun", json::fixUTF8(runs->notRun));
        return;
      }
      out.attribute("records", static_cast<int64_t>(runs->records));
      out.attribute("inputs", json::fixUTF8(runs->inputs));
      const RunsInTurn::Change &time = runs->time;
      out.attribute("millisecondsBefore", time.before.value);
      out.attribute("millisecondsAfter", time.now.value);
      bool tells = runs->tellsTime && time.isSure();
      out.attribute("timeChange", tells ? json::Value(time.part.value) : json::Value(nullptr)); // null: may be noise
      out.attribute("timeChangeFrom", finite(time.part.low));
      out.attribute("timeChangeTo", finite(time.part.high));
      out.attributeArray("outputs", [&] {
        for (const OutputDifference &difference : runs->differences)
          out.object([&] {
            out.attribute("name", json::fixUTF8(difference.name));
            out.attribute("greatestDifference", finite(difference.greatest));
            out.attribute("meanDifference", finite(difference.mean));
            out.attribute("range", finite(difference.range));
          });
      });
    });
  });
  os << '\n';
}

void printComparison(const ModelFacts &before, const ModelFacts &after, const RunFacts *runs, bool json) {
  if (!json)
    return compare(before, after, runs, llvm::outs());
  JsonOutput os;
  compareJson(before, after, runs, os);
}

} // namespace origo::commands
