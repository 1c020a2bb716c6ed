#include "commands/RunsInTurn.h"

#include "report/Columns.h"

#include "llvm/ADT/IntEqClasses.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>
#include <map>

namespace origo::commands {

namespace json = llvm::json;
using origin::Listing;

RunsInTurn::Change RunsInTurn::Change::of(llvm::ArrayRef<double> before, llvm::ArrayRef<double> now,
                                          llvm::ArrayRef<size_t> blocks, size_t intervals) {
  Change made;
  made.before = Median::of(before.vec());
  made.now = Median::of(now.vec());
  // Of two pairs together, of which either model begins one: who is second finds warmer caches.
  std::vector<double> differences, ofBlocks;
  for (size_t b = 0; b < blocks.size(); ++b) {
    size_t end = std::min({b + 1 < blocks.size() ? blocks[b + 1] : before.size(), before.size(), now.size()});
    std::vector<double> ofBlock;
    for (size_t i = blocks[b]; i + 1 < end; i += 2)
      ofBlock.push_back((now[i] - before[i] + now[i + 1] - before[i + 1]) / 2);
    llvm::append_range(differences, ofBlock);
    if (!ofBlock.empty())
      ofBlocks.push_back(Median::of(std::move(ofBlock)).value);
  }
  made.part = Median::of(std::move(differences), intervals);
  if (!ofBlocks.empty()) {
    Median block = Median::of(std::move(ofBlocks), intervals);
    made.part.low = std::min(made.part.low, block.low);
    made.part.high = std::max(made.part.high, block.high);
  }
  for (double *one : {&made.part.value, &made.part.low, &made.part.high})
    *one = made.before.value > 0 ? *one / made.before.value : *one > 0 ? 1e9 : 0;
  return made;
}

/// Ids of the second source as those of the first: they are the same, or have the same names. What the first does not
/// have is behind its ids.
static std::vector<uint32_t> sameOperators(const Listing &first, const Listing &second) {
  uint32_t count = first.operatorCount();
  std::vector<uint32_t> same;
  bool isSame = &first == &second || first.fingerprint == second.fingerprint;
  std::map<std::string, uint32_t, std::less<>> byName;
  for (uint32_t id = 0; id < count && !isSame; ++id)
    byName.emplace(first.nameOf(*first.findOperator(id)), id);
  for (uint32_t id = 0; id < second.operatorCount(); ++id) {
    auto found = isSame ? byName.end() : byName.find(second.nameOf(*second.findOperator(id)));
    same.push_back(isSame && id < count ? id : found != byName.end() ? found->second : count + id);
  }
  return same;
}

RunsInTurn::RunsInTurn(llvm::ArrayRef<Loaded> list) {
  const Listing &sourceBefore = list.front().sourceBefore, &sourceNow = list.front().sourceNow;
  std::vector<uint32_t> same = sameOperators(sourceBefore, sourceNow);
  // The last one is for what does nobody's work.
  uint32_t count = sourceBefore.operatorCount(), ids = count + sourceNow.operatorCount() + 1;
  llvm::IntEqClasses classes(ids);
  auto originsOf = [&](const Operator &op, bool isNow) {
    llvm::SmallVector<uint32_t> origins;
    op.subgraph()->model().sets.forEach(op.origins, [&](uint32_t id) {
      if (isNow ? id < same.size() : id < count)
        origins.push_back(isNow ? same[id] : id);
    });
    if (origins.empty())
      origins.push_back(ids - 1);
    return origins;
  };
  std::vector<size_t> blocks;
  for (const Loaded &one : list) {
    for (size_t block : one.blocks)
      blocks.push_back(runs + block);
    runs += std::min(one.before.ofRuns().size(), one.now.ofRuns().size());
    for (bool isNow : {false, true})
      (isNow ? one.now : one.before).forEach([&](const Operator &op, llvm::ArrayRef<double>) {
        auto origins = originsOf(op, isNow);
        for (uint32_t id : origins)
          classes.join(origins.front(), id);
      });
  }
  classes.compress();
  struct Group {
    std::vector<double> times[2];
    llvm::SmallVector<uint32_t, 4> origins; ///< with names of the first source, or of the second
  };
  llvm::MapVector<unsigned, Group> groups;
  std::vector<double> wholes[2];
  for (const Loaded &one : list) {
    size_t done = wholes[0].size(), more = std::min(one.before.ofRuns().size(), one.now.ofRuns().size());
    for (bool isNow : {false, true}) {
      (isNow ? one.now : one.before).forEach([&](const Operator &op, llvm::ArrayRef<double> times) {
        auto origins = originsOf(op, isNow);
        Group &group = groups[classes[origins.front()]];
        for (auto &each : group.times)
          each.resize(runs);
        for (size_t i = 0; i < more && i < times.size(); ++i)
          group.times[isNow][done + i] += times[i];
        llvm::append_range(group.origins, origins);
      });
      llvm::append_range(wholes[isNow], (isNow ? one.now : one.before).ofRuns().take_front(more));
    }
  }
  for (auto &[number, group] : groups) {
    llvm::sort(group.origins);
    group.origins.erase(std::unique(group.origins.begin(), group.origins.end()), group.origins.end());
    std::string words;
    for (uint32_t id : llvm::ArrayRef(group.origins).take_front(4)) {
      const Listing &source = id < count ? sourceBefore : sourceNow;
      uint32_t own = id < count ? id : id - count;
      const origin::SourceOperator *op = source.findOperator(own);
      std::string_view name = op ? source.nameOf(*op) : std::string_view();
      words += (words.empty() ? "" : ", ") +
               (op ? std::to_string(own) + " " + report::shortName(name.empty() ? std::string_view(op->op) : name, 60)
                   : "(synthetic)");
    }
    if (group.origins.size() > 4)
      words += " and " + std::to_string(group.origins.size() - 4) + " more";
    rows.push_back({std::move(words), Change::of(group.times[0], group.times[1], blocks, groups.size())});
  }
  auto rank = [](const Row &row) {
    bool isCertain = row.change.isSlower() || row.change.isFaster();
    return std::pair(isCertain,
                     isCertain ? std::fabs(row.change.now.value - row.change.before.value) : row.change.before.value);
  };
  llvm::stable_sort(rows, [&](const Row &a, const Row &b) { return rank(a) > rank(b); });
  change = Change::of(wholes[0], wholes[1], blocks);
}

static std::string percent(double part) {
  return std::fabs(part) < 9.995 ? llvm::formatv("{0}{1:F1}", part > 0 ? "+" : "", 100 * part).str()
         : part > 0              ? "+…"
                                 : "-…";
}
static const char *word(const RunsInTurn::Change &change) {
  return change.isSlower() ? "slower" : change.isFaster() ? "faster" : "noise";
}

void RunsInTurn::printTable(llvm::raw_ostream &os) const {
  os << "BEFORE MS    NOW MS  CHANGE %           BETWEEN          LAYERS\n";
  for (const Row &row : rows) {
    const Change &c = row.change;
    os << llvm::format("%9.3f %9.3f ", c.before.value, c.now.value) << llvm::right_justify(percent(c.part.value), 9)
       << "  " << llvm::right_justify(percent(c.part.low) + " and " + percent(c.part.high), 16) << "  "
       << llvm::left_justify(word(c), 6) << "  " << row.words << '\n';
  }
  os << llvm::format("%9.3f %9.3f ", change.before.value, change.now.value)
     << llvm::right_justify(percent(change.part.value), 9) << "  "
     << llvm::right_justify(percent(change.part.low) + " and " + percent(change.part.high), 16) << "  "
     << llvm::left_justify(word(change), 6) << "  a run: medians of " << runs << " in turn\n";
}

std::string RunsInTurn::Change::interval() const {
  return llvm::formatv("{0} to {1} %", percent(part.low), percent(part.high)).str();
}

std::string RunsInTurn::verdict() const {
  const Median &part = change.part;
  std::string between = " (" + change.interval() + ")";
  if (runs < 12)
    return "too few runs to tell noise from time";
  if (change.isSlower())
    return llvm::formatv("takes {0:F1} % longer", 100 * part.value).str() + between;
  if (change.isFaster())
    return llvm::formatv("takes {0:F1} % less", -100 * part.value).str() + between;
  return "no difference can be told from noise" + between;
}

static json::Object jsonOf(const RunsInTurn::Change &change) {
  return json::Object{{"beforeMs", change.before.value}, {"nowMs", change.now.value},    {"change", change.part.value},
                      {"changeFrom", change.part.low},   {"changeTo", change.part.high}, {"verdict", word(change)}};
}

json::Object RunsInTurn::json() const {
  json::Array list;
  for (const Row &row : rows) {
    json::Object one = jsonOf(row.change);
    one["layers"] = json::isUTF8(row.words) ? row.words : json::fixUTF8(row.words);
    list.push_back(std::move(one));
  }
  json::Object told = jsonOf(change);
  told["runs"] = static_cast<int64_t>(runs);
  told["layers"] = std::move(list);
  return told;
}

} // namespace origo::commands
