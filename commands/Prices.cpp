#include "commands/Prices.h"

#include "commands/Comparison.h"
#include "commands/Files.h"
#include "commands/JsonOutput.h"
#include "commands/Process.h"
#include "report/Columns.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/JSON.h"

namespace origo::commands {

namespace {

/// One model beside another.
struct Price {
  std::string what;
  unsigned rewrites = 1;
  ModelFacts with, without;
  RunFacts runs; ///< `without` first
};

std::string signedNumber(uint64_t with, uint64_t without) {
  auto difference = static_cast<int64_t>(with) - static_cast<int64_t>(without);
  return (difference > 0 ? "+" : "") + std::to_string(difference);
}

std::string text(const char *format, double number) {
  std::string result;
  llvm::raw_string_ostream(result) << llvm::format(format, number);
  return result;
}

/// The most that an output is off, in parts of its range.
double offOf(const RunFacts &runs) {
  double most = 0;
  for (const OutputDifference &difference : runs.differences)
    if (difference.greatest > 0)
      most = std::max(most, difference.greatest / (difference.range > 0 ? difference.range : 1));
  return most;
}

/// Each is made by all before it, so that many would take their square.
constexpr size_t mostRewrites = 256;

/// Half of the runs of either lie within this: a smaller difference says nothing.
double noiseOf(const RunFacts &runs) { return std::max(runs.spread[0], runs.spread[1]); }

void printTable(llvm::ArrayRef<Price> prices, PriceOf what, llvm::raw_ostream &os) {
  std::vector<std::string> head = {what == PriceOf::Pass ? "PASS" : "REWRITE"};
  if (what == PriceOf::Pass)
    head.push_back("REWRITES");
  for (const char *name : {"OPERATORS", "BYTES", "MEMORY", "MILLISECONDS", "NOISE", "OFF"})
    head.push_back(name);
  llvm::SmallVector<size_t, 8> numbers;
  for (size_t i = 1; i < head.size(); ++i)
    numbers.push_back(i);
  report::printColumns(
      head, prices.size(),
      [&](size_t i) {
        const Price &price = prices[i];
        std::vector<std::string> cells = {report::shortName(price.what, 60)};
        if (what == PriceOf::Pass)
          cells.push_back(std::to_string(price.rewrites));
        cells.push_back(signedNumber(price.with.operators, price.without.operators));
        cells.push_back(signedNumber(price.with.constantBytes, price.without.constantBytes));
        cells.push_back(signedNumber(price.with.liveBytes, price.without.liveBytes));
        bool ran = price.runs.notRun.empty();
        cells.push_back(ran ? text("%+.3f", price.runs.time.now.value - price.runs.time.before.value) : "-");
        cells.push_back(ran ? text("%.3f", noiseOf(price.runs)) : "-");
        cells.push_back(ran ? text("%.2g", offOf(price.runs)) : "-");
        return cells;
      },
      os, numbers);
}

void printJson(llvm::ArrayRef<Price> prices, PriceOf what, llvm::raw_ostream &os) {
  llvm::json::OStream out(os, 2);
  out.array([&] {
    for (const Price &price : prices)
      out.object([&] {
        out.attribute(what == PriceOf::Pass ? "pass" : "rewrite", llvm::json::fixUTF8(price.what));
        out.attribute("rewrites", price.rewrites);
        for (auto [name, facts] : {std::pair("with", &price.with), std::pair("without", &price.without)})
          out.attributeObject(name, [&, facts = facts] {
            out.attribute("operators", static_cast<int64_t>(facts->operators));
            out.attribute("constantBytes", static_cast<int64_t>(facts->constantBytes));
            out.attribute("liveBytes", static_cast<int64_t>(facts->liveBytes));
          });
        if (!price.runs.notRun.empty()) {
          out.attribute("notRun", price.runs.notRun);
          return;
        }
        out.attribute("millisecondsWith", price.runs.time.now.value);
        out.attribute("millisecondsWithout", price.runs.time.before.value);
        out.attribute("millisecondsNoise", noiseOf(price.runs));
        out.attribute("off", offOf(price.runs));
      });
  });
  os << '\n';
}

} // namespace

llvm::Error tellPrices(const Job &job, llvm::raw_ostream &os) {
  PriceOf what = *job.request.prices;
  auto make = [&](const Pipeline &tried, auto most, const std::string &path, auto onRewrite) {
    return job.make(path, most, std::move(onRewrite), &tried).takeError();
  };
  Scratch scratch("origo-prices");
  if (scratch.error)
    return makeError("no folder for what is tried: " + scratch.error.message());
  std::string extension = kindOf(job.request.output) == FileKind::Tflite ? ".tflite" : ".circle",
              with = scratch.file("with" + extension), without = scratch.file("without" + extension);

  llvm::MapVector<llvm::StringRef, unsigned> passes;
  std::vector<std::string> rewrites;
  size_t all = 0;
  if (llvm::Error error = make(job.passes(), std::nullopt, with, [&](const RewriteEvent &event) {
        ++passes[event.pass];
        ++all;
        if (rewrites.size() < mostRewrites)
          rewrites.push_back(
              (llvm::Twine(event.number) + " " + event.pass +
               (event.before.empty() ? "" : " " + event.before.front().op + " " + event.before.front().name))
                  .str());
      }))
    return error;
  std::vector<Price> prices;
  if (what == PriceOf::Pass)
    for (auto [pass, count] : passes)
      prices.push_back({pass.str(), count, {}, {}, {}});
  else
    for (const std::string &rewrite : rewrites)
      prices.push_back({rewrite, 1, {}, {}, {}});
  for (auto [i, price] : llvm::enumerate(prices)) {
    llvm::Error error = llvm::Error::success();
    if (what == PriceOf::Pass) {
      Pipeline others = job.passes();
      others.remove(price.what);
      error = make(others, std::nullopt, without, nullptr);
    } else {
      error = make(job.passes(), static_cast<uint32_t>(i), without, nullptr);
      if (!error)
        error = make(job.passes(), static_cast<uint32_t>(i + 1), with, nullptr);
    }
    if (error)
      return error;
    auto a = factsOf(with, job.door), b = factsOf(without, job.door);
    if (!a || !b)
      return firstError(a, b);
    auto runs = runBoth(without, with, "", job.door);
    if (!runs)
      return runs.takeError();
    price.with = std::move(*a);
    price.without = std::move(*b);
    price.runs = std::move(*runs);
  }
  if (what == PriceOf::Rewrite && all > rewrites.size())
    job.door.note("the first " + llvm::Twine(rewrites.size()) + " of " + llvm::Twine(all) + " rewrites are told");
  JsonOutput escaped(os);
  job.request.pricesJson ? printJson(prices, what, escaped) : printTable(prices, what, os);
  return llvm::Error::success();
}

} // namespace origo::commands
