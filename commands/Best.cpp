#include "commands/Best.h"

#include "eval/RealNumbers.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"

#include <chrono>
#include <cmath>

namespace origo::commands {

using namespace quantize;
using Request = QuantizeRequest;

namespace {

/// Every fifth record, or all others.
class EveryFifth : public Records {
public:
  EveryFifth(std::unique_ptr<Records> all, bool heldOut) : all(std::move(all)) {
    for (uint64_t i = 0; i < this->all->count(); ++i)
      if ((i % 5 == 4) == heldOut)
        which.push_back(i);
  }
  uint64_t count() const override { return which.size(); }
  bool hasNoNames() const override { return all->hasNoNames(); }
  llvm::Expected<std::vector<eval::OwnedTensor>> read(uint64_t record) override { return all->read(which[record]); }
  std::vector<std::string> remarks() const override { return all->remarks(); }

private:
  std::unique_ptr<Records> all;
  std::vector<uint64_t> which;
};

/// What the float model makes of the records that are held out.
class Judge {
public:
  llvm::Error read(Model &model, const RecordsRequest &request);
  /// The root of the mean square of what an output is off, over its range, in the mean over outputs.
  llvm::Expected<double> errorOf(Model &model) const;
  uint64_t count() const { return records.size(); }

private:
  std::vector<std::vector<eval::OwnedTensor>> records;
  std::vector<std::vector<std::vector<double>>> wanted; ///< by record and output
  std::vector<double> ranges;                           ///< by output

  static llvm::Expected<std::vector<std::vector<double>>> outputsOf(const eval::Session &session,
                                                                    const std::vector<eval::OwnedTensor> &record);
};

llvm::Expected<std::vector<std::vector<double>>> Judge::outputsOf(const eval::Session &session,
                                                                  const std::vector<eval::OwnedTensor> &record) {
  auto made = session.run(std::vector<eval::TensorRef>(record.begin(), record.end()));
  if (!made)
    return made.takeError();
  std::vector<std::vector<double>> outputs;
  for (auto &output : *made) {
    auto numbers = output.tensor.type == TensorType::FLOAT32 ? eval::realNumbers(output.tensor, nullptr) : std::nullopt;
    outputs.push_back(numbers ? std::move(*numbers) : std::vector<double>());
  }
  return outputs;
}

llvm::Error Judge::read(Model &model, const RecordsRequest &request) {
  auto session = eval::compile(model, {.engine = eval::Engine::Fast});
  if (!session)
    return session.takeError();
  auto ports = session->inputs();
  if (!ports)
    return ports.takeError();
  auto opened = request.open(*ports, "");
  if (!opened)
    return opened.takeError();
  constexpr uint64_t least = 5, most = 64;
  if ((*opened)->count() < least)
    return makeError("the best options are chosen on every fifth record, and there are " +
                     llvm::Twine((*opened)->count()) + ": give at least five");
  EveryFifth heldOut(std::move(*opened), true);
  std::vector<std::pair<double, double>> ends;
  for (uint64_t i = 0; i < std::min(heldOut.count(), most); ++i) {
    auto record = heldOut.read(i);
    if (!record)
      return record.takeError();
    auto outputs = outputsOf(*session, *record);
    if (!outputs)
      return outputs.takeError();
    ends.resize(outputs->size(), {INFINITY, -INFINITY});
    for (auto [end, numbers] : llvm::zip(ends, *outputs))
      for (double x : numbers)
        if (std::isfinite(x))
          end = {std::min(end.first, x), std::max(end.second, x)};
    records.push_back(std::move(*record));
    wanted.push_back(std::move(*outputs));
  }
  for (auto [low, high] : ends)
    ranges.push_back(high > low ? high - low : 0);
  if (llvm::all_of(ranges, [](double range) { return range == 0; }))
    return makeError("no output of floats differs over the records, so that nothing can be compared");
  return llvm::Error::success();
}

llvm::Expected<double> Judge::errorOf(Model &model) const {
  auto session = eval::compile(model, {.engine = eval::Engine::Fast});
  if (!session)
    return session.takeError();
  std::vector<double> squares(ranges.size()), counts(ranges.size());
  for (auto [record, right] : llvm::zip(records, wanted)) {
    auto outputs = outputsOf(*session, record);
    if (!outputs)
      return outputs.takeError();
    if (outputs->size() != right.size())
      return makeError("the quantised model has another number of outputs");
    for (size_t k = 0; k < right.size(); ++k) {
      if ((*outputs)[k].size() != right[k].size())
        return makeError("an output of the quantised model has another number of elements");
      for (auto [x, y] : llvm::zip(right[k], (*outputs)[k]))
        if (double off = x - y; std::isfinite(x))
          squares[k] += std::isfinite(off) ? off * off : ranges[k] * ranges[k];
      counts[k] += static_cast<double>(right[k].size());
    }
  }
  double sum = 0, compared = 0;
  for (size_t k = 0; k < ranges.size(); ++k)
    if (ranges[k] > 0 && counts[k] > 0) {
      sum += std::sqrt(squares[k] / counts[k]) / ranges[k];
      ++compared;
    }
  return sum / compared;
}

struct Try {
  std::string words; ///< the option, as it is told
  std::function<void(Request &)> ask;
};

class Search {
public:
  Search(const Request &request, const Door &door) : best(request), door(door), quiet(door) {
    quiet.note = [](const llvm::Twine &) {};
  }
  llvm::Expected<Request> run();

private:
  Request best;
  const Door &door;
  Door quiet; ///< of tries, whose notes are those of the run that follows
  Judge judge;
  double least = 0;
  std::vector<std::string> kept;
  using Clock = std::chrono::steady_clock;
  const Clock::time_point begun = Clock::now();
  Clock::duration longest = {}; ///< of a step
  unsigned steps = 0;
  bool isOver = false; ///< before all was tried

  bool mayGoOn() const;
  static constexpr llvm::StringLiteral rangesBy = "ranges by ";
  std::vector<Try> tries() const;
  bool tryAll(std::string &table);
  llvm::Expected<double> errorWith(const Request &request) const;
};

/// Those that the request does not have already; what changes most first.
std::vector<Try> Search::tries() const {
  std::vector<Try> all;
  bool activations = best.scheme == TfliteScheme::Name::Int8 || best.scheme == TfliteScheme::Name::Int16x8;
  auto add = [&](llvm::StringRef option, auto member) {
    if (!(best.*member))
      all.push_back({door.spell(option), [member](Request &request) { request.*member = true; }});
  };
  add("gptaq", &Request::gptaq);
  if (!best.gptaq) { // which does both
    add("gptq", &Request::gptq);
    add("bias-correction", &Request::biasCorrection);
  }
  add("clip-weights", &Request::clipsWeights);
  if (!activations)
    return all;
  add("absorb", &Request::absorb);
  add("equalize", &Request::equalize);
  if (!best.smooth)
    all.push_back({door.spell("smooth") + " 0.5", [](Request &request) { request.smooth = 0.5; }});
  if (best.statistics || !best.statisticsFile.empty())
    return all;
  for (const Calibrator &one : calibrators().drop_front()) // the first one chooses what records have without any
    if (!best.summary || best.summary->calibrator != &one)
      all.push_back({rangesBy.str() + one.name.str(), [&one](Request &request) {
                       request.summary = Summary();
                       request.summary->calibrator = &one;
                       request.summary->steps = request.scheme == TfliteScheme::Name::Int8 ? 255 : 65535;
                     }});
  return all;
}

/// Ends stay floats, which are compared.
llvm::Expected<double> Search::errorWith(const Request &request) const {
  Request asked = request;
  asked.best = asked.strict = false;
  asked.labels.clear();
  asked.inputTypes.clear();
  asked.outputTypes.clear();
  asked.records.arrays = [&](llvm::ArrayRef<eval::Port> ports) -> llvm::Expected<std::unique_ptr<Records>> {
    auto opened = request.records.open(ports, "");
    return opened ? std::make_unique<EveryFifth>(std::move(*opened), false)
                  : llvm::Expected<std::unique_ptr<Records>>(opened.takeError());
  };
  PayloadStore store;
  auto model = request.again(store);
  if (!model)
    return model.takeError();
  Verdict verdict = Verdict::Holds;
  if (llvm::Error error = commands::run(asked, *model, store, quiet, verdict))
    return error;
  return judge.errorOf(*model->model);
}

static std::string percent(double error) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.3g %%", 100 * error);
  return text;
}

/// Whether another step is allowed, and would end in time.
bool Search::mayGoOn() const {
  bool inTime = !best.time || Clock::now() - begun + longest <= std::chrono::seconds(*best.time);
  return inTime && (!best.steps || steps < *best.steps);
}

/// Was anything of use?
bool Search::tryAll(std::string &table) {
  constexpr double gain = 0.99;
  bool any = false;
  std::vector<Try> all = tries();
  for (auto [i, one] : llvm::enumerate(all)) {
    if (!mayGoOn()) {
      isOver = true;
      break;
    }
    if (door.progress)
      door.progress(i, all.size(), 1);
    Request with = best;
    one.ask(with);
    const Clock::time_point before = Clock::now();
    auto error = errorWith(with);
    longest = std::max(longest, Clock::now() - before);
    ++steps;
    table += "; " + one.words + " ";
    if (!error) { // an option that a model does not allow
      llvm::consumeError(error.takeError());
      table += "cannot be had";
      continue;
    }
    table += percent(*error);
    if (!(*error < gain * least))
      continue;
    if (llvm::StringRef(one.words).starts_with(rangesBy)) // one way to take them is in the place of another
      llvm::erase_if(kept, [](llvm::StringRef words) { return words.starts_with(rangesBy); });
    kept.push_back(one.words);
    best = std::move(with);
    least = *error;
    any = true;
  }
  return any;
}

llvm::Expected<Request> Search::run() {
  PayloadStore store;
  auto model = best.again(store);
  if (!model)
    return model.takeError();
  if (model->model->signatures.size() > 1)
    return makeError(door.spell("best") + " takes models of one signature");
  if (llvm::Error error = judge.read(*model->model, best.records))
    return error;
  auto plain = errorWith(best);
  if (!plain)
    return plain.takeError();
  longest = Clock::now() - begun;
  least = *plain;
  std::string table = percent(*plain) + " of the range off as asked";
  constexpr unsigned rounds = 2; // what was of no use at first may be, beside others
  for (unsigned round = 0; round < rounds && !isOver && tryAll(table); ++round)
    ;
  door.note(door.spell("best") + " tried, on " + std::to_string(judge.count()) +
            " records that are held out: " + table);
  if (isOver)
    door.note("not all was tried: " + door.spell("steps") + " " + std::to_string(steps) + " does the same again");
  std::string words;
  for (const std::string &one : kept)
    words += (words.empty() ? "" : ", ") + one;
  door.note(kept.empty() ? "nothing takes a hundredth off the error, so the model is quantised as asked"
                         : words + ": " + percent(least) + " off instead of " + percent(*plain));
  return std::move(best);
}

} // namespace

llvm::Expected<QuantizeRequest> chooseBest(const QuantizeRequest &request, const Door &door) {
  return Search(request, door).run();
}

} // namespace origo::commands
