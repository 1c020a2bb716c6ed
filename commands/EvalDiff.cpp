#include "commands/Command.h"
#include "commands/Files.h"
#include "commands/Labels.h"
#include "commands/Records.h"
#include "commands/Related.h"
#include "eval/RealNumbers.h"
#include "export/Writer.h"
#include "report/errors/Errors.h"
#include "report/errors/Live.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <cmath>
#include <numeric>

namespace origo::commands {

using namespace report;

namespace {

/// Tells how far the outputs of two models are from each other.
struct DiffRequest {
  std::string first, second, firstData, secondData, format, prefix, labels, score;
  quantize::ImageOptions images;
  bool mae = false, mape = false, mpeir = false, mse = false, psnr = false, cosine = false, top1 = false, top5 = false;
};

constexpr std::array ownRows{
    option<&DiffRequest::first>("first_model", "MODEL", "The reference"),
    option<&DiffRequest::second>("second_model", "MODEL", "What is compared with it"),
    option<&DiffRequest::firstData>("first_input_data", "PATH",
                                    "Records as record-minmax reads them; without: four of random numbers"),
    option<&DiffRequest::secondData>("second_input_data", "PATH",
                                     "Those of the second model; without: the first's, stored as it wants them"),
    option<&DiffRequest::format>("input_data_format", "value",
                                 "h5, list, directory, numpy or images; without: as the name of PATH tells"),
    option<&DiffRequest::labels>("labels", "FILE",
                                 "The class of each record, a number a line, also behind the name of its file, or a "
                                 ".npy file: how often each model finds it"),
    option<&DiffRequest::score>(
        "score", "COMMAND",
        "A measure of your own: runs it with the path of each model as its last word, and shows "
        "the last line that it prints",
        {.python = Without::Prints, .cfg = Without::Prints}),
    option<&DiffRequest::prefix>("dump_output_with_prefix", "PREFIX",
                                 "Writes outputs to PREFIX.RECORD.first.outputN and PREFIX.RECORD.second.outputN"),
    option<&DiffRequest::mae>("print_mae", "Mean of what an element is off"),
    option<&DiffRequest::mape>("print_mape", "The same in percent of the reference"),
    option<&DiffRequest::mpeir>("print_mpeir", "The most that an element is off, in parts of the range"),
    option<&DiffRequest::mse>("print_mse", "Mean square"),
    option<&DiffRequest::psnr>("print_psnr", "Peak signal to noise, in dB"),
    option<&DiffRequest::cosine>("print_cosine", "Of the angle between the two"),
    option<&DiffRequest::top1>("print_top1_match", "How often both have the largest element in one place"),
    option<&DiffRequest::top5>("print_top5_match", "What part of the five largest elements both have"),
};

constexpr auto diffRows = joinRows(ownRows, imageRows<&DiffRequest::images>);

/// An output over all records.
struct Compared {
  std::string name;
  ErrorSums sums;
  RecordSums elements; ///< of all records together
  double relative = 0, range = 0, match1 = 0, match5 = 0;
  uint64_t counted1 = 0, counted5 = 0, records = 0;
};

/// Places of the k largest; of equal ones the first.
std::vector<size_t> largest(llvm::ArrayRef<double> numbers, size_t k) {
  std::vector<size_t> order(numbers.size());
  std::iota(order.begin(), order.end(), 0);
  std::partial_sort(order.begin(), order.begin() + k, order.end(),
                    [&](size_t a, size_t b) { return numbers[a] != numbers[b] ? numbers[a] > numbers[b] : a < b; });
  order.resize(k);
  return order;
}

void matchLargest(llvm::ArrayRef<double> a, llvm::ArrayRef<double> b, size_t k, double &match, uint64_t &counted) {
  bool ordered = llvm::none_of(a, [](double x) { return std::isnan(x); }) &&
                 llvm::none_of(b, [](double x) { return std::isnan(x); });
  if (a.size() < k || !ordered)
    return;
  auto x = largest(a, k), y = largest(b, k);
  match += static_cast<double>(llvm::count_if(x, [&](size_t at) { return llvm::is_contained(y, at); })) /
           static_cast<double>(k);
  ++counted;
}

llvm::Error compareOutput(Compared &compared, const eval::Port &a, eval::OwnedTensor &x, const eval::Port &b,
                          eval::OwnedTensor &y) {
  auto want = eval::realNumbers(x, a.value->quantization), have = eval::realNumbers(y, b.value->quantization);
  if (!want || !have)
    return makeError("output \"" + printable(a.name) + "\" holds no numbers");
  if (x.shape != y.shape)
    return makeError("output \"" + printable(a.name) + "\" has the shape " + eval::shapeText(x.shape) +
                     ", and in the second model " + eval::shapeText(y.shape));
  RecordSums record;
  record.add(*want, *have);
  compared.sums.add(record);
  compared.elements.add(*want, *have);
  for (size_t i = 0; i < want->size(); ++i)
    if (double part = std::fabs(((*want)[i] - (*have)[i]) / (*want)[i]); std::isfinite(part))
      compared.relative += part;
  // ONE's tool knows no small number to be added to the range.
  double range = record.high - record.low;
  compared.range += record.most == 0 ? 0 : range > 0 ? record.most / range : 1;
  ++compared.records;
  matchLargest(*want, *have, 1, compared.match1, compared.counted1);
  matchLargest(*want, *have, 5, compared.match5, compared.counted5);
  return llvm::Error::success();
}

void print(const Compared &c, const DiffRequest &request) {
  double elements = static_cast<double>(std::max<uint64_t>(c.elements.count, 1));
  auto line = [&](const char *what, double value, const char *unit = "") {
    // What is finite in one of the two only is in no sum, and no small figure either.
    if (c.elements.odd && !llvm::StringRef(what).contains("Top"))
      value = NAN;
    llvm::outs() << what << " for " << printable(c.name, 200) << " is " << llvm::format("%.9g", value) << unit << '\n';
  };
  ErrorFigures figures = c.sums.figures(std::nullopt);
  if (request.mae)
    line("MAE", c.elements.absolute / elements);
  if (request.mape)
    line("MAPE", 100 * c.relative / elements, "%");
  if (request.mpeir)
    line("MPEIR", c.range / static_cast<double>(std::max<uint64_t>(c.records, 1)));
  if (request.mse)
    line("MSE", c.elements.squares / elements);
  if (request.psnr)
    line("PSNR", figures.psnr.value_or(figures.max > 0 ? NAN : INFINITY), " dB");
  if (request.cosine)
    line("cosine", figures.cosine.value_or(figures.max > 0 ? NAN : 1));
  if (request.top1 && c.counted1)
    line("Mean Top-1 match ratio", c.match1 / static_cast<double>(c.counted1));
  if (request.top5 && c.counted5)
    line("Mean Top-5 match ratio", c.match5 / static_cast<double>(c.counted5));
}

llvm::Error dumpOutputs(const std::string &prefix, uint64_t record, const char *which,
                        llvm::ArrayRef<eval::NamedTensor> outputs) {
  if (prefix.empty())
    return llvm::Error::success();
  for (auto [i, output] : llvm::enumerate(outputs)) {
    std::string path = prefix + "." + std::to_string(record) + "." + which + ".output" + std::to_string(i);
    if (llvm::Error error = writeFile(path, llvm::toStringRef(output.tensor.bytes)))
      return error;
  }
  return llvm::Error::success();
}

llvm::Error compareModels(const DiffRequest &request, const Door &door) {
  PayloadStore store;
  auto models = loadRelated(request.first, request.second, store, door, false);
  if (!models)
    return models.takeError();
  eval::CompileOptions options;
  options.engine = eval::Engine::Fast;
  auto a = eval::compile(*models->source.model, options), b = eval::compile(*models->result.model, options);
  if (!a || !b)
    return llvm::joinErrors(a ? llvm::Error::success() : inFile(request.first, a.takeError()),
                            b ? llvm::Error::success() : inFile(request.second, b.takeError()));
  auto inputs = a->inputs(), others = b->inputs(), outputs = a->outputs(), otherOutputs = b->outputs();
  if (!inputs || !others || !outputs || !otherOutputs)
    return firstError(inputs, others, outputs, otherOutputs);
  if (outputs->empty())
    return makeError("the models have no outputs, so that there is nothing to compare");
  if (outputs->size() != otherOutputs->size())
    return makeError("the models have " + llvm::Twine(outputs->size()) + " and " + llvm::Twine(otherOutputs->size()) +
                     " outputs");
  Pairs pairs = Pairs::of(models->source, models->result);
  bool random = request.firstData.empty() || request.firstData == "random";
  if (random)
    door.note("inputs are random numbers, on which models are off otherwise than on real data; give " +
              door.spell("first_input_data"));
  RecordsRequest asked;
  asked.data = random ? "random" : request.firstData;
  RecordsOpener opener(asked, door);
  auto records = opener.watch(recordsAt(asked.data, *inputs, request.format, request.images), *inputs);
  if (!records)
    return records.takeError();
  if ((*records)->count() == 0)
    return makeError(printable(request.firstData, 300) + ": holds no record, so that there is nothing to compare");
  std::unique_ptr<quantize::Records> own;
  if (!request.secondData.empty()) {
    auto opened = recordsAt(request.secondData, *others, request.format, request.images);
    if (!opened)
      return opened.takeError();
    own = std::move(*opened);
    if (own->count() != (*records)->count())
      return makeError("the models have " + llvm::Twine((*records)->count()) + " and " + llvm::Twine(own->count()) +
                       " records");
  }
  std::vector<Compared> all(outputs->size());
  door.phase("executing");
  for (uint64_t i = 0; i < (*records)->count(); ++i) {
    auto given = (*records)->read(i);
    if (!given)
      return given.takeError();
    auto stored = own ? own->read(i) : inputsOfResult(*inputs, *others, pairs, *given);
    if (!stored)
      return stored.takeError();
    auto x = a->run(std::vector<eval::TensorRef>(given->begin(), given->end()));
    auto y = b->run(std::vector<eval::TensorRef>(stored->begin(), stored->end()));
    if (!x || !y)
      return firstError(x, y);
    for (size_t k = 0; k < all.size(); ++k) {
      all[k].name = (*outputs)[k].name;
      if (llvm::Error error = compareOutput(all[k], (*outputs)[k], (*x)[k].tensor, (*otherOutputs)[k], (*y)[k].tensor))
        return error;
    }
    if (llvm::Error error = dumpOutputs(request.prefix, i, "first", *x))
      return error;
    if (llvm::Error error = dumpOutputs(request.prefix, i, "second", *y))
      return error;
  }
  for (const Compared &compared : all) {
    print(compared, request);
    for (auto [asked, counted, k] :
         {std::tuple(request.top1, compared.counted1, 1), std::tuple(request.top5, compared.counted5, 5)})
      if (asked && !counted)
        door.note("output \"" + printable(compared.name, 200) + "\" has no Top-" + llvm::Twine(k) +
                  " match: it has fewer elements, or NaN among them");
  }
  if (!request.score.empty()) {
    auto said = scoreByCommand(request.score, request.first, request.second);
    if (!said)
      return said.takeError();
    llvm::outs() << *said << '\n';
  }
  if (request.labels.empty())
    return llvm::Error::success();
  auto labels = Labels::read(request.labels);
  if (!labels)
    return labels.takeError();
  auto before = scoreClasses(*models->source.model, **records, *labels),
       after = scoreClasses(*models->result.model, own ? *own : **records, *labels);
  if (!before || !after)
    return inFile(request.labels, firstError(before, after));
  for (const std::string &line : scoreWords(*before, *after))
    llvm::outs() << line << '\n';
  return llvm::Error::success();
}

llvm::Error diff(DiffRequest &request, Words words, const Door &door, Verdict &) {
  if (!words.empty())
    return makeError("there are too many arguments; --help shows examples");
  if (request.first.empty() || request.second.empty())
    return makeError("needs " + door.spell("first_model") + " and " + door.spell("second_model") +
                     "; --help shows examples");
  bool prints = request.mae || request.mape || request.mpeir || request.mse || request.psnr || request.cosine ||
                request.top1 || request.top5 || !request.labels.empty() || !request.score.empty();
  if (!prints && request.prefix.empty())
    return makeError("nothing is to be printed: give --print_mae, --print_mape, --print_mpeir, --print_mse, "
                     "--print_psnr, --print_cosine, --print_top1_match, --print_top5_match, --labels or --score");
  RecordsRequest records;
  records.images = request.images;
  if (llvm::Error error = checkRecords(records, door))
    return error;
  return compareModels(request, door);
}

} // namespace

const Command diffCommand =
    makeCommand<diff>("circle-eval-diff", "",
                      "Runs two models on the same data and tells how far their outputs are apart.\n\n"
                      "  circle-eval-diff --first_model net.circle --second_model net_u8.circle \\\n"
                      "                   --first_input_data images.npy --print_mae --print_top1_match\n"
                      "  circle-eval-diff --first_model a.circle --second_model b.circle --first_input_data in/ \\\n"
                      "                   --second_input_data in_u8/ --input_data_format directory --print_mpeir\n",
                      [] { return Options(diffRows); });

} // namespace origo::commands
