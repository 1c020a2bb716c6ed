#include "commands/RunProfile.h"

#include "report/Columns.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

#include <cmath>
#include <utility>

namespace origo::commands {

namespace json = llvm::json;

static double microseconds(std::chrono::steady_clock::duration time) {
  return std::chrono::duration<double, std::micro>(time).count();
}

static std::string nameOf(const Operator &op) {
  const auto *named = llvm::find_if(op.results(), [](const Value *v) { return v && !v->name.empty(); });
  return named == op.results().end() ? std::string() : llvm::StringRef((*named)->name).str();
}

eval::Timer RunProfile::timer() {
  return [this](const eval::Timed &timed) {
    Clock::duration own = timed.end - timed.begin;
    while (!finished.empty() && finished.back().first >= timed.begin)
      own -= finished.pop_back_val().second;
    finished.push_back({timed.begin, timed.end - timed.begin});
    if (traces != Traces::Nothing)
      events.push_back(timed);
    Row &row = rows[&timed.op];
    row.running += own;
    ++row.calls;
  };
}

void RunProfile::endRun(Clock::duration whole) {
  for (auto &[op, row] : rows) {
    row.times.resize(wholes.size()); // it had no turn in runs before its first
    row.times.push_back(microseconds(std::exchange(row.running, {})) / 1e3);
  }
  wholes.push_back(microseconds(whole) / 1e3);
  finished.clear();
  if (traces == Traces::LastRun)
    events = std::vector<eval::Timed>(events.begin() + static_cast<ptrdiff_t>(firstOfRun), events.end());
  firstOfRun = events.size();
}

Median Median::of(std::vector<double> times, size_t intervals) {
  if (times.empty())
    return {};
  llvm::sort(times);
  size_t count = times.size();
  double middle = (times[(count - 1) / 2] + times[count / 2]) / 2;
  // As many of the times as this lie below the true median, but in one case of twenty.
  // More intervals are wider: a normal variable exceeds z less often than exp(−z² / 2).
  double z = intervals > 1 ? std::sqrt(2 * std::log(20. * static_cast<double>(intervals))) : 1.96;
  double least = std::floor(count / 2. - z / 2 * std::sqrt(count));
  size_t rank = least > 0 ? static_cast<size_t>(least) : 0;
  return {middle, times[rank], times[count - 1 - rank]};
}

std::string RunProfile::sourceWords(uint32_t id) const {
  for (const origin::SourceSubgraph &graph : source->subgraphs) {
    if (id < graph.firstOperator || id - graph.firstOperator >= graph.operators.size())
      continue;
    const origin::SourceOperator &op = graph.operators[id - graph.firstOperator];
    std::string words = std::string() + op.op;
    for (int32_t tensor : op.tensors)
      if (int64_t at = int64_t(tensor) - graph.firstTensor;
          at >= 0 && at < static_cast<int64_t>(graph.tensors.size()) && !graph.tensors[at].name.empty())
        return words + ' ' + graph.tensors[at].name.str();
    return words;
  }
  return {};
}

std::vector<RunProfile::Line> RunProfile::slowestFirst() const {
  std::vector<Line> lines;
  for (const auto &[op, row] : rows)
    lines.push_back({op, Median::of(row.times), runs() ? double(row.calls) / runs() : 0});
  llvm::stable_sort(lines, [](const Line &a, const Line &b) { return a.time.value > b.time.value; });
  return lines;
}

static std::string valid(std::string text) { return json::isUTF8(text) ? text : json::fixUTF8(text); }

json::Array RunProfile::table(const std::optional<Peak> &peak) const {
  json::Array table;
  for (const auto &[op, time, calls] : slowestFirst()) {
    json::Array ids, names;
    op->subgraph()->model().sets.forEach(op->origins, [&](uint32_t id) {
      ids.push_back(id);
      names.push_back(valid(sourceWords(id)));
    });
    table.push_back(json::Object{{"subgraph", op->subgraph()->index},
                                 {"operator", op->index},
                                 {"op", valid(op->opName())},
                                 {"name", valid(nameOf(*op))},
                                 {"ms", time.value},
                                 {"msFrom", time.low},
                                 {"msTo", time.high},
                                 {"calls", calls},
                                 {"origins", std::move(ids)},
                                 {"sources", std::move(names)}});
    if (auto share = peak ? peak->shareOf(*op, calls, time.value) : std::nullopt) {
      json::Object &row = *table.back().getAsObject();
      row["macsPerSecond"] = share->macs;
      row["bytesPerSecond"] = share->bytes;
      row["ofPeak"] = share->part;
      row["boundBy"] = share->bound;
    }
  }
  return table;
}

/// How many of the others may be as slow as the first line's operator.
size_t RunProfile::tiedWithFirst(llvm::ArrayRef<Line> lines) const {
  // Where the model lies in memory differs from process to process, and is in no interval of one.
  constexpr double place = 1.05;
  // Side by side in each run, so that what slows a run down is in neither.
  llvm::ArrayRef<double> first = rows.find(lines.front().op)->second.times;
  return llvm::count_if(lines.drop_front(), [&](const Line &line) {
    std::vector<double> parts;
    for (auto [other, slowest] : llvm::zip(rows.find(line.op)->second.times, first))
      parts.push_back(slowest > 0 ? other / slowest : 1);
    return Median::of(std::move(parts)).high * place >= 1;
  });
}

bool RunProfile::mayTellSlowest() const {
  auto lines = slowestFirst();
  return lines.size() > 1 && lines[0].time.value > 1.1 * lines[1].time.value && (runs() < 6 || tiedWithFirst(lines));
}

/// Which operator is the slowest, if noise lets that be told.
std::string RunProfile::verdict(llvm::ArrayRef<Line> lines) const {
  auto words = [](const Operator &op) {
    std::string name = nameOf(op);
    return op.opName() + (name.empty() ? "" : " " + report::shortName(name, 60));
  };
  if (lines.size() < 2 || runs() < 6)
    return runs() < 6 ? "too few runs to tell noise from time" : "";
  size_t tied = tiedWithFirst(lines);
  if (tied == 0)
    return "the slowest is " + words(*lines.front().op);
  return "noise does not tell which is the slowest: " + words(*lines.front().op) + ", or " +
         (tied == 1 ? words(*lines[1].op) : "one of " + std::to_string(tied) + " others");
}

void RunProfile::printTable(llvm::raw_ostream &os, const std::optional<Peak> &peak) const {
  auto lines = slowestFirst();
  double all = 0, calls = 0;
  for (const Line &line : lines) {
    all += line.time.value;
    calls += line.calls;
  }
  auto spread = [](const Median &time) {
    return time.spread() < 9.99 ? llvm::formatv("{0:F0}%", 100 * time.spread()).str() : std::string("…");
  };
  auto count = [](double calls) {
    return calls == std::floor(calls) ? llvm::formatv("{0:F0}", calls).str() : llvm::formatv("{0:F1}", calls).str();
  };
  os << "      MS    ±      %   CALLS  " << (peak ? " GMAC/S    GB/S  BOUND BY       " : "")
     << "OPERATOR                          NAME  <-  ORIGINS\n";
  for (const auto &[op, time, calls] : lines) {
    std::string place = std::to_string(op->subgraph()->index) + ":" + std::to_string(op->index) + " " + op->opName();
    os << llvm::format("%8.3f ", time.value) << llvm::right_justify(spread(time), 4)
       << llvm::format(" %6.2f ", all > 0 ? time.value / all * 100 : 0.) << llvm::right_justify(count(calls), 7)
       << "  ";
    if (auto share = peak ? peak->shareOf(*op, calls, time.value) : std::nullopt)
      os << llvm::format("%7.2f %7.2f  ", share->macs / 1e9, share->bytes / 1e9)
         << llvm::left_justify(llvm::formatv("{0} {1:F0}%", share->bound, 100 * share->part).str(), 13) << "  ";
    else if (peak)
      os << llvm::left_justify("      -       -", 32);
    os << llvm::left_justify(place, 32) << "  " << report::shortName(nameOf(*op), 60);
    const char *separator = "  <-  ";
    op->subgraph()->model().sets.forEach(op->origins, [&](uint32_t id) {
      os << separator << id << ' ' << report::shortName(sourceWords(id), 60);
      separator = ", ";
    });
    os << '\n';
  }
  os << llvm::format("%8.3f      100.00 ", all) << llvm::right_justify(count(calls), 7) << "  all operators\n";
  if (peak)
    os << "What is possible: " << peak->words() << "; below a quarter of both, it is overhead\n";
  Median run = whole();
  os << llvm::format("%8.3f ", run.value) << llvm::right_justify(spread(run), 4)
     << "                 a run: the median of " << runs() << (runs() == 1 ? " run" : " runs");
  if (std::string words = verdict(lines); !words.empty())
    os << "; " << words;
  os << '\n';
}

} // namespace origo::commands
