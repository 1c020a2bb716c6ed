/// one-quantize: what it asks record-minmax, circle-quantizer, visq and circle-mpqsolver for.

#include "commands/Quantize.h"
#include "commands/RecordMinMax.h"
#include "tools/Driver.h"
#include "tools/OneSteps.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Signals.h"

namespace origo::tools {

namespace {

/// Keys of ONE's that are no option of circle-quantizer and record-minmax, or are another one than that.
const StepKey ownKeys[] = {
    {"input_path", StepKey::Value, "The input"},
    {"output_path", StepKey::Value, "The output"},
    {"input_dtype", StepKey::Value, "float32; the old word for input_model_dtype"},
    {"input_model_dtype", StepKey::Value, "float32"},
    {"quantized_dtype", StepKey::Value, "uint8 (default) or int16"},
    {"granularity", StepKey::Value, "layer (default) or channel"},
    {"save_intermediate", StepKey::Switch, "Keeps the models in between, beside the output"},
    {"evaluate_result", StepKey::Switch, "Tells how far the result is off"},
    {"test_data", StepKey::Value, "With it: records; without: random numbers"},
    {"print_mae", StepKey::Switch, "With it: the mean that an element is off"},
    {"print_mape", StepKey::Switch, "With it: in percent"},
    {"print_mpeir", StepKey::Switch, "With it: the most, in parts of the range"},
    {"print_mse", StepKey::Switch, "With it: the mean square"},
    {"print_top1_match", StepKey::Switch, "With it: how often the largest element is the same"},
    {"print_top5_match", StepKey::Switch, "With it: what part of the five largest is"},
    {"force_quantparam", StepKey::Switch, "Gives tensor_name these scale and zero_point, and no more"},
    {"tensor_name", StepKey::Lines, "With it; may be repeated"},
    {"scale", StepKey::Lines, "With it; may be repeated"},
    {"zero_point", StepKey::Lines, "With it; may be repeated"},
    {"copy_quantparam", StepKey::Switch, "Gives dst_tensor_name what src_tensor_name has, and no more"},
    {"src_tensor_name", StepKey::Lines, "With it; may be repeated"},
    {"dst_tensor_name", StepKey::Lines, "With it; may be repeated"},
    {"requantize", StepKey::Switch, "input_model_dtype int8 becomes quantized_dtype uint8, and no more"},
    {"ampq", StepKey::Switch, "Finds the layers that need 16 bits, by circle-mpqsolver"},
    {"ampq_qerror_ratio", StepKey::Value, "Of ampq: the error may be so much of that in 8 bits (0.5)"},
    {"ampq_algorithm", StepKey::Value, "Of ampq: bisection (default) or pattern"},
    {"bisection_type", StepKey::Value, "Of ampq: auto (default), i16_front or i16_back"},
    {"ampq_bisection_visq", StepKey::Value, "Of ampq: errors by layer from visq; without: it is run"},
    {"u8_layernorm_with_s16_variance", StepKey::Switch, "Of pattern: variances of layer norms have 16 bits"},
    {"u8_softmax_with_s16_sub_exp", StepKey::Switch, "Of pattern: SUB and EXP of softmaxes have"},
};

llvm::StringRef keyOf(const commands::Option &row) { return row.key.empty() ? row.name : row.key; }

/// Whether an option is a key of the section.
bool isKey(const commands::Option &row) {
  return row.cfg == commands::Without::Nothing &&
         llvm::none_of(ownKeys, [&](const StepKey &key) { return key.name == keyOf(row); });
}

/// One run of the step.
class Quantization {
public:
  Quantization(const OneStep &step, const std::string &input, const std::string &output)
      : step(step), input(input), output(output) {}
  llvm::Error run();

private:
  const OneStep &step;
  const std::string input, output, quantizer = toolPath("circle-quantizer");
  commands::QuantizeRequest asked; ///< by keys that are options of circle-quantizer
  std::string from = step.get("input_model_dtype", step.get("input_dtype", "float32")),
              to = step.get("quantized_dtype", "uint8"), granularity = step.get("granularity", "layer");

  llvm::Error start(const Words &words, const std::string &made) { return startCommand(step, words, made); }
  void addValues(Words &words, std::initializer_list<std::pair<const char *, const char *>> options) const;
  void addSwitches(Words &words, std::initializer_list<const char *> options) const;
  llvm::Error record(const std::string &model, const std::string &recorded);
  llvm::Error ask(const commands::Command &command, void *request) const;
  llvm::Error quantize(const commands::QuantizeRequest &request, const std::string &from, const std::string &made);
  llvm::Error byRanges(const std::string &recorded, const std::string &made);
  std::string keyOfRanges() const;
  llvm::Error inOneMode();
  llvm::Error inThreeSteps();
  llvm::Error mixed();
  llvm::Error evaluate();
  llvm::Error setParameters(const char *option, std::initializer_list<const char *> columns);
};

/// A file between two steps, with what lies beside it; it goes when the step is done, or is killed.
class Between {
public:
  const std::string path;
  Between(const OneStep &step, const std::string &output, llvm::StringRef stage)
      : path(output + "." + stage.str()), kept(step.on("save_intermediate")) {
    for (const std::string &file : files())
      if (!kept)
        llvm::sys::RemoveFileOnSignal(file);
  }
  Between(const Between &) = delete;
  ~Between() {
    for (const std::string &file : files())
      if (!kept) {
        llvm::sys::fs::remove(file);
        llvm::sys::DontRemoveFileOnSignal(file);
      }
  }

private:
  bool kept;
  std::array<std::string, 3> files() const { return {path, path + ".origin.json", path + ".log"}; }
};

void Quantization::addValues(Words &words, std::initializer_list<std::pair<const char *, const char *>> options) const {
  for (auto [key, option] : options)
    if (std::string value = step.get(key); !value.empty())
      words.insert(words.end(), {std::string("--") + option, value});
}

void Quantization::addSwitches(Words &words, std::initializer_list<const char *> options) const {
  for (const char *key : options)
    if (step.on(key))
      words.push_back(std::string("--") + key);
}

/// The words that make a request, behind them `files`.
Words commandFor(const commands::Command &command, const void *request, const Words &files) {
  Words words = commands::wordsOf(command.options(), request, command.fresh().get());
  words.insert(words.begin(), toolPath(command.name));
  llvm::append_range(words, files);
  return words;
}

llvm::Error Quantization::record(const std::string &model, const std::string &recorded) {
  commands::RecordRequest request;
  request.input = model;
  request.output = recorded;
  if (llvm::Error error = ask(commands::recordCommand, &request))
    return error;
  return start(commandFor(commands::recordCommand, &request, {}), recorded);
}

/// Sets what keys say that are options of a command.
llvm::Error Quantization::ask(const commands::Command &command, void *request) const {
  for (const commands::Option &row : command.options()) {
    std::string key = keyOf(row).str(), value = step.get(key);
    if (value.empty() || !isKey(row))
      continue;
    for (const std::string &text : row.flag ? Words{step.on(key) ? "true" : "false"} : step.lines(key))
      if (llvm::Error error = row.set(request, row.words > 1 ? commands::joinList(splitWords(text)) : text))
        return step.lacks(key + llvm::toString(std::move(error)));
  }
  return llvm::Error::success();
}

llvm::Error Quantization::quantize(const commands::QuantizeRequest &request, const std::string &from,
                                   const std::string &made) {
  return start(commandFor(commands::quantizeCommand, &request, {from, made}), made);
}

/// Ranges are recorded already: are data there for something else?
bool looksAtRecords(const commands::QuantizeRequest &request) {
  return request.gptq || request.gptaq || request.biasCorrection || request.equalize || request.smooth ||
         request.absorb || request.best || !request.labels.empty();
}

llvm::Error Quantization::byRanges(const std::string &recorded, const std::string &made) {
  commands::QuantizeRequest request = asked;
  request.full = {from, to, granularity};
  if (!looksAtRecords(request))
    request.records = {};
  return quantize(request, recorded, made);
}

/// A key that says how ranges are taken, which only record-minmax knows of; empty: there is none.
std::string Quantization::keyOfRanges() const {
  const auto own = commands::quantizeCommand.options();
  for (const commands::Option &row : commands::recordCommand.options()) {
    llvm::StringRef key = keyOf(row);
    bool isAsked = isKey(row) && !step.get(key.str()).empty() && (!row.flag || step.on(key.str()));
    if (isAsked && llvm::none_of(own, [&](const commands::Option &other) { return keyOf(other) == key; }))
      return key.str();
  }
  return {};
}

/// One run of circle-quantizer, behind one of record-minmax where something is said of ranges.
llvm::Error Quantization::inOneMode() {
  std::string key = keyOfRanges();
  if (key.empty())
    return quantize(asked, input, output);
  using Name = commands::TfliteScheme::Name;
  if (asked.recipe.empty() && asked.scheme != Name::Int8 && asked.scheme != Name::Int16x8)
    return step.lacks(key + " is about ranges, which this mode does not take");
  if (!asked.statisticsFile.empty())
    return step.lacks(key + " and statistics both say what the ranges are");
  Between recorded(step, output, ("recorded" + llvm::sys::path::extension(input)).str());
  if (llvm::Error error = record(input, recorded.path))
    return error;
  commands::QuantizeRequest request = asked;
  if (!looksAtRecords(request))
    request.records = {};
  return quantize(request, recorded.path, output);
}

/// Rounds weights, records ranges, quantises.
llvm::Error Quantization::inThreeSteps() {
  Between rounded(step, output, "rounded.circle"), recorded(step, output, "recorded.circle");
  if (llvm::Error error =
          start({quantizer, "--quantize_dequantize_weights", from, to, granularity, input, rounded.path}, rounded.path))
    return error;
  if (llvm::Error error = record(rounded.path, recorded.path))
    return error;
  return byRanges(recorded.path, output);
}

/// Some layers in 16 bits, as ONE finds them.
llvm::Error Quantization::mixed() {
  Between recorded(step, output, "recorded.circle"), narrow(step, output, "narrow.circle"),
      errors(step, output, "visq.json");
  std::string algorithm = step.get("ampq_algorithm", "bisection"), type = step.get("bisection_type", "auto");
  Words words = {toolPath("circle-mpqsolver"), "--input_model", recorded.path, "--output_model", output};
  addValues(words, {{"quantized_dtype", "quantized_dtype"},
                    {"granularity", "granularity"},
                    {"input_type", "input_dtype"},
                    {"output_type", "output_dtype"}});
  addSwitches(words, {"TF-style_maxpool", "save_min_max"});
  if (algorithm == "pattern") {
    if (!step.on("u8_layernorm_with_s16_variance") && !step.on("u8_softmax_with_s16_sub_exp"))
      return step.lacks("ampq_algorithm = pattern needs u8_layernorm_with_s16_variance or u8_softmax_with_s16_sub_exp");
    addSwitches(words, {"u8_layernorm_with_s16_variance", "u8_softmax_with_s16_sub_exp"});
    if (llvm::Error error = record(input, recorded.path))
      return error;
    return start(words, output);
  }
  if (algorithm != "bisection")
    return step.lacks("ampq_algorithm: \"" + printable(algorithm) + "\" is neither bisection nor pattern");
  if (type != "auto" && type != "i16_front" && type != "i16_back")
    return step.lacks("bisection_type: \"" + printable(type) + "\" is none of auto, i16_front and i16_back");
  if (llvm::Error error = record(input, recorded.path))
    return error;
  words.insert(words.end(), {"--bisection",
                             type == "auto"        ? "auto"
                             : type == "i16_front" ? "true"
                                                   : "false",
                             "--data", step.get("input_data", "random")});
  addValues(words, {{"input_data_format", "data_format"}, {"ampq_qerror_ratio", "qerror_ratio"}});
  if (step.on("save_intermediate"))
    words.insert(words.end(), {"--save_intermediate", output + ".mpq"});
  if (type == "auto") {
    std::string visq = step.get("ampq_bisection_visq");
    if (visq.empty()) {
      if (llvm::Error error = byRanges(recorded.path, narrow.path))
        return error;
      visq = errors.path;
      Words compare = {toolPath("visq"),
                       "--fp32_circle",
                       recorded.path,
                       "--q_circle",
                       narrow.path,
                       "--tae_output",
                       visq,
                       "--batch_size",
                       "1"};
      addValues(compare, {{"input_data", "data"}});
      if (llvm::Error error = start(compare, visq))
        return error;
    }
    words.insert(words.end(), {"--visq_file", visq});
  }
  return start(words, output);
}

/// The result in rounded floats, beside the input.
llvm::Error Quantization::evaluate() {
  Between fake(step, output, "fake.circle");
  if (llvm::Error error = start({quantizer, "--fake_quantize", output, fake.path}, fake.path))
    return error;
  Words words = {toolPath("circle-eval-diff"), "--first_model", input, "--second_model", fake.path};
  addValues(words, {{"test_data", "first_input_data"}, {"test_data", "second_input_data"}});
  if (!step.get("test_data").empty())
    addValues(words, {{"input_data_format", "input_data_format"}});
  addSwitches(words, {"print_mae", "print_mape", "print_mpeir", "print_mse", "print_top1_match", "print_top5_match"});
  return start(words, output + ".evaluation");
}

/// One option for each row of the columns.
llvm::Error Quantization::setParameters(const char *option, std::initializer_list<const char *> columns) {
  std::vector<Words> values;
  for (const char *column : columns) {
    values.push_back(step.lines(column));
    if (values.back().empty() || values.back().size() != values.front().size())
      return step.lacks(llvm::Twine(option) + " needs as many " + column + " as " + *columns.begin());
  }
  Words words = {quantizer};
  for (size_t row = 0; row < values.front().size(); ++row) {
    words.push_back(std::string("--") + option);
    for (const Words &column : values)
      words.push_back(column[row]);
  }
  words.insert(words.end(), {input, output});
  return start(words, output);
}

llvm::Error Quantization::run() {
  if (step.on("force_quantparam"))
    return setParameters("force_quantparam", {"tensor_name", "scale", "zero_point"});
  if (step.on("copy_quantparam"))
    return setParameters("copy_quantparam", {"src_tensor_name", "dst_tensor_name"});
  if (step.on("requantize"))
    return start({quantizer, "--requantize", step.get("input_model_dtype", "int8"), to, input, output}, output);
  if (llvm::Error error = ask(commands::quantizeCommand, &asked))
    return error;
  if (asked.fakeQuantized)
    return start({quantizer, "--fake_quantize", input, output}, output);
  if (llvm::Error error = asked.modes() ? inOneMode() : step.on("ampq") ? mixed() : inThreeSteps())
    return error;
  return step.on("evaluate_result") ? evaluate() : llvm::Error::success();
}

} // namespace

llvm::ArrayRef<StepKey> quantizeKeys() {
  static const std::vector<StepKey> keys = [] {
    std::vector<StepKey> keys(std::begin(ownKeys), std::end(ownKeys));
    for (const commands::Command *command : {&commands::quantizeCommand, &commands::recordCommand})
      addKeys(keys, *command);
    return keys;
  }();
  return keys;
}

llvm::Error quantizeStep(const OneStep &step) {
  auto files = stepPaths(step);
  return files ? Quantization(step, files->first, files->second).run() : files.takeError();
}

} // namespace origo::tools
