#include "import/Import.h"
#include "quantize/Calibrate.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

/// What noting ranges costs beside running the model: calibration_benchmark.sh makes a table of many.

using namespace origo;
using namespace origo::quantize;
using Clock = std::chrono::steady_clock;

namespace {

double median(std::vector<double> list) {
  llvm::sort(list);
  return list.empty() ? 0 : list[list.size() / 2];
}

/// The time from the end of a record to the end of the next one.
class Watch {
public:
  void operator()() {
    auto now = Clock::now();
    if (last)
      times.push_back(std::chrono::duration<double, std::milli>(now - *last).count());
    last = now;
  }
  void pause() { last.reset(); }
  std::vector<double> times;

private:
  std::optional<Clock::time_point> last;
};

/// The same record again and again, made beforehand.
class Again : public Records {
public:
  Again(std::vector<eval::OwnedTensor> record, uint64_t times) : record(std::move(record)), times(times) {}
  uint64_t count() const override { return times; }
  llvm::Expected<std::vector<eval::OwnedTensor>> read(uint64_t) override { return record; }

private:
  std::vector<eval::OwnedTensor> record;
  uint64_t times;
};

llvm::Error measure(const char *path, double seconds, unsigned threads) {
  auto imported = importModel(path);
  if (!imported)
    return imported.takeError();
  Model &model = *imported->model;
  CalibrateOptions options;
  options.compile.engine = eval::Engine::Fast;
  options.compile.threads = threads;
  auto session = eval::compile(model, options.compile);
  if (!session)
    return session.takeError();
  std::vector<std::string> signatures = session->signatures();
  std::string signature = signatures.empty() ? "" : signatures.front();
  if (!signature.empty())
    options.signatures = {signature};
  auto ports = session->inputs(signature);
  if (!ports)
    return ports.takeError();
  auto seeded = seededRecords(*ports, 1);
  if (!seeded)
    return seeded.takeError();
  auto record = (*seeded)->read(0);
  if (!record)
    return record.takeError();
  uint64_t elements = 0;
  auto run = [&](Watch &watch, uint64_t times) -> llvm::Error {
    eval::State state;
    eval::RunOptions how;
    how.state = &state;
    how.signature = signature;
    watch.pause();
    for (uint64_t i = 0; i < times; ++i) {
      auto outputs = session->run(std::vector<eval::TensorRef>(record->begin(), record->end()), how);
      if (!outputs)
        return outputs.takeError();
      watch();
    }
    return llvm::Error::success();
  };
  auto calibrated = [&](Watch &watch, uint64_t times, bool histograms) -> llvm::Error {
    options.histograms = histograms;
    watch.pause();
    options.progress = [&](uint64_t, uint64_t) { watch(); };
    auto statistics = calibrate(
        model, [&](llvm::ArrayRef<eval::Port>, llvm::StringRef) { return std::make_unique<Again>(*record, times); },
        options);
    if (!statistics)
      return statistics.takeError();
    elements = 0;
    for (const Statistics::Tensor &tensor : statistics->tensors)
      elements += tensor.histogram.total() / times;
    return llvm::Error::success();
  };
  Watch bare, extremes, histograms;
  auto begin = Clock::now();
  uint64_t times = 4;
  for (int round = 0; round < 3 || std::chrono::duration<double>(Clock::now() - begin).count() < seconds; ++round) {
    if (llvm::Error error = run(bare, times))
      return error;
    if (llvm::Error error = calibrated(extremes, times, false))
      return error;
    if (llvm::Error error = calibrated(histograms, times, true))
      return error;
    // Rounds of about a tenth of a second, for compiling is not what is measured.
    times = std::clamp<uint64_t>(static_cast<uint64_t>(100 / std::max(median(bare.times), 0.01)), 4, 500);
  }
  llvm::outs() << llvm::format("%.4f\t%.4f\t%.4f\t%llu\n", median(bare.times), median(extremes.times),
                               median(histograms.times), static_cast<unsigned long long>(elements));
  return llvm::Error::success();
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 4) {
    llvm::errs() << "usage: calibration_benchmark MODEL SECONDS THREADS\n";
    return 1;
  }
  if (llvm::Error error = measure(argv[1], std::atof(argv[2]), static_cast<unsigned>(std::atoi(argv[3])))) {
    llvm::errs() << llvm::toString(std::move(error)) << "\n";
    return 1;
  }
}
