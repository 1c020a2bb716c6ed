#include "report/join/Join.h"

#include "report/join/Kinds.h"
#include "report/join/Sequences.h"
#include "report/join/SourceNames.h"

#include "ir/Error.h"
#include "origin/Fingerprint.h"
#include "schema/OperatorTable.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

using namespace origo;
using namespace origo::report;
using namespace origo::origin;
using llvm::StringRef;

const char *report::matchName(Match match) {
  constexpr const char *names[] = {"exact", "tensor", "partition", "approx", "aligned", "merged", "none"};
  return names[static_cast<int>(match)];
}

namespace {

/// An operator of the written model: subgraph, index.
using Place = std::pair<uint32_t, uint32_t>;

/// Is the row surely about another operator? Words that nobody knows say nothing.
bool contradicts(const ProfileRow &row, const OperatorRow &op) {
  return agreement(kindOf(row), op.op.str()) == Agreement::Contradicts;
}

class Matcher {
public:
  Matcher(const Target &target, const FileGraph *graph, const JoinOptions &options)
      : target(target), graph(graph), options(options), sources(options.map) {
    for (const RuntimePartition &partition : options.partitions)
      replaced[{partition.subgraph, partition.node}] = &partition.replaced;
    if (options.kernels)
      for (const Kernel &kernel : options.kernels->kernels)
        kernelById[kernel.id] = &kernel, kernelsByName[kernel.name].push_back(&kernel);
    for (uint32_t g = 0; g < target.subgraphs.size(); ++g)
      for (uint32_t i = 0; i < target.subgraphs[g].operators.size(); ++i) {
        const OperatorRow &op = target.subgraphs[g].operators[i];
        byOutputs[joinNames(op.outputs)].push_back({g, i});
        for (const std::string &name : op.outputs)
          if (!name.empty())
            note(byTensor[name], {g, i});
      }
  }

  void match(std::vector<JoinedRow> &rows) {
    for (JoinedRow &row : rows)
      if (row.row.isSummed() || row.row.details().offset)
        matchAlone(row);
    // Where indices are those of other operators, or of none, the others fit by chance as well as for a reason. They
    // still say which row comes behind which.
    if (doubtsIndices()) {
      for (JoinedRow *row : byIndex)
        row->match = Match::Approx;
      for (JoinedRow &row : rows)
        if (row.row.isSummed() && row.row.op && (row.match == Match::None || row.match == Match::Approx) &&
            row.row.details().outputs.empty() && row.row.tensor.empty())
          row.row.step = row.row.op;
    }
    coverPartitions();
  }
  /// Where indices are doubted, a row that the order places nowhere keeps no operator that another one is about.
  void release(const std::vector<JoinedRow> &rows) {
    std::set<Place> found;
    for (const JoinedRow &row : rows)
      if (row.match == Match::Aligned)
        for (uint32_t index : row.operators)
          found.insert({row.subgraph, index});
    for (JoinedRow *row : byIndex)
      if (row->match == Match::Approx && row->operators == std::vector{*row->row.op} &&
          found.contains({row->subgraph, *row->row.op})) {
        row->match = Match::None;
        row->operators.clear();
      }
  }
  /// Is there a node of a delegate, all of whose results this model has?
  bool knowsEnds() const { return !partitions.empty(); }
  size_t contradicted = 0, beyond = 0, ambiguous = 0, elsewhere = 0;
  /// One row that is of another operator may be a fault of its own.
  bool doubtsIndices() const { return contradicted > 1 || (beyond + elsewhere != 0 && !byIndex.empty()); }

private:
  const Target &target;
  const FileGraph *graph;
  const JoinOptions &options;
  SourceNames sources;
  std::map<std::string, std::vector<Place>, std::less<>> byOutputs, byTensor;
  std::map<Place, const std::vector<uint32_t> *> replaced;
  std::map<std::string, std::pair<uint32_t, std::vector<uint32_t>>, std::less<>> byKind; ///< that were asked for
  std::map<uint64_t, const Kernel *> kernelById;
  std::map<std::string, std::vector<const Kernel *>, std::less<>> kernelsByName;
  std::map<std::pair<std::string, std::vector<uint64_t>>, std::vector<Place>> byShape; ///< that were looked for
  std::vector<std::pair<JoinedRow *, std::vector<Place>>> partitions; ///< with the operators they end with
  std::multimap<Place, uint32_t> unread;                              ///< of the subgraphs in `searched`
  std::set<uint32_t> searched;
  std::set<Place> claimed;          ///< by rows that name them
  std::vector<JoinedRow *> byIndex; ///< rows that only their index places

  std::map<std::string, std::vector<Place>, std::less<>> asWord; ///< byTensor, once it was asked for

  static bool isWordCharacter(char c) { return llvm::isAlnum(c) || c == '_'; }
  static std::string wordOf(StringRef name) {
    std::string word = !name.empty() && llvm::isDigit(name.front()) ? "_" : "";
    for (char c : name)
      word += isWordCharacter(c) ? c : '_';
    return word;
  }
  static void note(std::vector<Place> &places, Place place) {
    if (places.empty() || places.back() != place)
      places.push_back(place);
  }

  void set(JoinedRow &row, Match match, Place place) { set(row, match, place.first, {place.second}); }
  void set(JoinedRow &row, Match match, uint32_t subgraph, std::vector<uint32_t> operators) {
    row.match = match;
    row.subgraph = subgraph;
    row.operators = std::move(operators);
    for (uint32_t index : row.operators)
      claimed.insert({subgraph, index});
  }

  void matchAlone(JoinedRow &row) {
    const ProfileRow &says = row.row;
    const ProfileDetails &details = says.details();
    if (!details.sourceName.empty() && sources.match(row))
      return;
    if (!details.resultShape.empty())
      return matchShape(row);
    if (details.offset || details.kernel || (!details.symbol.empty() && options.kernels))
      return matchKernel(row);
    if (!details.tensors.empty())
      return matchTensors(row);
    if (!says.op && !details.partition.empty())
      return set(row, Match::Partition, says.subgraph.value_or(0), details.partition);
    if (says.op) {
      uint32_t subgraph = says.subgraph.value_or(0);
      const OperatorRow *op = target.findOperator(subgraph, *says.op);
      bool named = !details.outputs.empty() || !says.tensor.empty();
      if (op && (details.outputs.empty() || details.outputs == joinNames(op->outputs)) &&
          (says.tensor.empty() || llvm::is_contained(op->outputs, says.tensor))) {
        bool other = contradicts(says, *op);
        if (named) // names alone, where the kind speaks against them
          return set(row, other ? Match::Tensor : Match::Exact, {subgraph, *says.op});
        if (other) {
          ++contradicted;
          return;
        }
        byIndex.push_back(&row);
        return set(row, Match::Exact, {subgraph, *says.op});
      }
      if (!op && !details.outputs.empty())
        return notePartition(row, subgraph);
      if (!named) { // what runtimes insert for themselves is behind those of the model
        beyond += says.kind.empty() || isSchemaKind(says.kind);
        return;
      }
      matchName(row);
      elsewhere += row.match != Match::None;
      // TFLite calls the results of other subgraphs by names of the first one's tensors; index and type are right.
      if (row.match == Match::None && op && subgraph && agreement(kindOf(says), op->op.str()) == Agreement::Agrees)
        set(row, Match::Approx, {subgraph, *says.op});
      return;
    }
    if (!says.kind.empty() && !says.step && says.tensor.empty() && details.outputs.empty() &&
        details.prefixed.empty() && details.symbol.empty())
      return matchKind(row);
    matchName(row);
  }

  /// A sum over all operators of a type: those of the first subgraph that has some, for a row is about one.
  void matchKind(JoinedRow &row) {
    auto [found, isNew] = byKind.try_emplace(row.row.kind.str());
    for (uint32_t g = 0; isNew && g < target.subgraphs.size() && found->second.second.empty(); ++g)
      for (uint32_t i = 0; i < target.subgraphs[g].operators.size(); ++i)
        if (agreement(row.row.kind, target.subgraphs[g].operators[i].op.str()) == Agreement::Agrees) {
          found->second.first = g;
          found->second.second.push_back(i);
        }
    if (const auto &[subgraph, operators] = found->second; !operators.empty())
      set(row, operators.size() == 1 ? Match::Tensor : Match::Partition, subgraph, operators);
  }

  void matchKernel(JoinedRow &row) {
    if (!options.kernels)
      return;
    const ProfileDetails &details = row.row.details();
    const Kernel *kernel = details.offset   ? options.kernels->atOffset(*details.offset)
                           : details.kernel ? kernelNumbered(*details.kernel)
                                            : kernelOfSymbol(details.symbol);
    if (!kernel)
      return;
    if (row.row.backend.empty())
      row.row.backend = kernel->name;
    Match match = kernel->guessed ? Match::Approx : kernel->operators.size() == 1 ? Match::Exact : Match::Partition;
    if (match == Match::Exact)
      if (const OperatorRow *op = target.findOperator(kernel->subgraph, kernel->operators.front());
          op && contradicts(row.row, *op))
        match = Match::Approx;
    set(row, match, kernel->subgraph, kernel->operators);
  }

  const Kernel *kernelNumbered(uint64_t id) const {
    auto found = kernelById.find(id);
    return found == kernelById.end() ? nullptr : found->second;
  }
  /// By its name, if only one has it, or by the number that a function's name ends with: kernel_3.
  const Kernel *kernelOfSymbol(StringRef symbol) const {
    StringRef whole = symbol;
    symbol = symbol.split('.').first;      // what compilers add: kernel_3.constprop.0
    for (StringRef name : {whole, symbol}) // layers have points in their names, too
      if (auto found = kernelsByName.find(std::string_view(name));
          found != kernelsByName.end() && found->second.size() == 1)
        return found->second.front();
    StringRef number = symbol.substr(symbol.find_last_not_of("0123456789") + 1);
    uint64_t id = 0;
    StringRef before = symbol.drop_back(number.size());
    return before.rtrim('_').ends_with("kernel") && !number.getAsInteger(10, id) ? kernelNumbered(id) : nullptr;
  }

  /// A kernel of several operators, named by outputs of them.
  void matchTensors(JoinedRow &row) {
    std::set<Place> places;
    bool all = true;
    for (const std::string &tensor : row.row.details().tensors) {
      auto known = options.names.find(tensor);
      auto found = byTensor.find(known == options.names.end() ? tensor : known->second);
      auto place = found == byTensor.end() ? std::nullopt : single(row, found->second);
      all &= place.has_value();
      if (place && (places.empty() || places.begin()->first == place->first))
        places.insert(*place);
    }
    std::vector<uint32_t> operators;
    for (Place place : places)
      operators.push_back(place.second);
    if (!places.empty())
      set(row,
          !all                ? Match::Approx
          : places.size() > 1 ? Match::Partition
                              : Match::Tensor,
          places.begin()->first, std::move(operators));
  }

  /// The only operator of such a type with such a result.
  void matchShape(JoinedRow &row) {
    auto [fitting, isNew] = byShape.try_emplace({plainKind(row.row.kind), row.row.details().resultShape});
    if (isNew)
      fitting->second = operatorsLike(fitting->first.first, fitting->first.second);
    ambiguous += fitting->second.size() > 1;
    if (fitting->second.size() == 1)
      set(row, Match::Approx, fitting->second.front());
  }

  std::vector<Place> operatorsLike(StringRef kind, const std::vector<uint64_t> &shape) const {
    std::vector<Place> fitting;
    for (uint32_t g = 0; graph && g < graph->subgraphs.size(); ++g)
      for (uint32_t i = 0; i < graph->subgraphs[g].operatorCount; ++i) {
        uint32_t op = graph->subgraphs[g].firstOperator + i;
        std::string is = plainKind(graph->operatorName(op));
        bool fits = false;
        if (kind.starts_with(is) || StringRef(is).starts_with(kind))
          graph->forEachOutput(op, [&](int32_t tensor) { fits |= tensor >= 0 && imageShape(tensor) == shape; });
        if (fits)
          fitting.push_back({g, i});
      }
    return fitting;
  }

  /// Height, width and depth.
  std::vector<uint64_t> imageShape(int32_t tensor) const {
    std::vector<uint64_t> shape(3, 1);
    if (const auto *dims = graph->tensors[tensor]->shape())
      for (int32_t dim : *dims) {
        shape.erase(shape.begin());
        shape.push_back(static_cast<uint64_t>(dim));
      }
    return shape;
  }

  /// The only one of these places, in the row's subgraph if it names one.
  std::optional<Place> single(const JoinedRow &row, const std::vector<Place> &places) {
    std::vector<Place> fitting;
    llvm::copy_if(places, std::back_inserter(fitting),
                  [&](Place place) { return place.first == row.row.subgraph.value_or(place.first); });
    ambiguous += fitting.size() > 1;
    return fitting.size() == 1 ? std::optional(fitting.front()) : std::nullopt;
  }

  void matchName(JoinedRow &row) {
    const SharedText &prefixed = row.row.details().prefixed;
    auto tryName = [&](const auto &index, StringRef name, Match match) {
      auto found = name.empty() ? index.end() : index.find(std::string_view(name));
      if (found == index.end())
        return false;
      if (auto place = single(row, found->second))
        set(row, match, *place);
      return true;
    };
    StringRef tensor = row.row.tensor.empty() ? prefixed : row.row.tensor;
    if (auto known = options.names.find(std::string_view(tensor)); known != options.names.end())
      tensor = known->second;
    if (tryName(byOutputs, row.row.details().outputs, Match::Tensor) || tryName(byTensor, tensor, Match::Tensor) ||
        prefixed.empty())
      return;
    // Qualcomm's tools write names as C++ has them.
    if (llvm::all_of(tensor, isWordCharacter)) {
      if (asWord.empty())
        for (const auto &[name, places] : byTensor)
          for (Place place : places)
            note(asWord[wordOf(name)], place);
      if (tryName(asWord, tensor, Match::Tensor))
        return;
    }
    if (StringRef prefix = longestPrefix(tensor); !prefix.empty())
      tryName(byTensor, prefix, Match::Approx);
  }

  /// Of the tensors' names, and ending where a word of `name` ends.
  StringRef longestPrefix(StringRef name) const {
    name = name.take_front(4096); // names are short, and looking is quadratic in the worst case
    for (StringRef rest = name;;) {
      auto behind = byTensor.upper_bound(std::string_view(rest));
      if (behind == byTensor.begin())
        return {};
      StringRef before = std::prev(behind)->first;
      size_t common = 0;
      while (common < before.size() && common < rest.size() && before[common] == rest[common])
        ++common;
      if (common == before.size() && (common == name.size() || !llvm::isAlnum(name[common])))
        return before;
      rest = rest.take_front(common == rest.size() ? common - 1 : common == before.size() ? common - 1 : common);
      if (rest.empty())
        return {};
    }
  }

  /// A node behind those of the model, named by its outputs: a delegate's.
  void notePartition(JoinedRow &row, uint32_t subgraph) {
    if (subgraph >= target.subgraphs.size())
      return;
    if (auto known = replaced.find({subgraph, *row.row.op}); known != replaced.end()) {
      std::vector<uint32_t> operators = *known->second;
      llvm::sort(operators);
      operators.erase(std::unique(operators.begin(), operators.end()), operators.end());
      return set(row, Match::Partition, subgraph, std::move(operators));
    }
    row.row.subgraph = subgraph;
    StringRef outputs = row.row.details().outputs;
    std::vector<Place> ends;
    if (auto whole = byOutputs.find(std::string_view(outputs)); whole != byOutputs.end()) {
      if (auto place = single(row, whole->second))
        ends.push_back(*place);
    } else {
      llvm::SmallVector<StringRef> names;
      outputs.split(names, "\t ");
      for (StringRef listed : names) {
        std::string name = listed.str(); // which may have had commas of its own
        std::replace(name.begin(), name.end(), '\t', ',');
        auto found = byTensor.find(name);
        auto place = found == byTensor.end() ? std::nullopt : single(row, found->second);
        if (!place)
          return; // of a partition whose outputs are not all known, nothing is
        ends.push_back(*place);
      }
    }
    if (!ends.empty())
      partitions.push_back({&row, std::move(ends)});
  }

  /// Backward from what a partition ends with, to what other rows name; those that end first are covered first.
  void coverPartitions() {
    llvm::stable_sort(partitions, [](const auto &a, const auto &b) {
      return *llvm::max_element(a.second) < *llvm::max_element(b.second);
    });
    // What one needs of another is among the outputs of that.
    for (const auto &[row, ends] : partitions)
      claimed.insert(ends.begin(), ends.end());
    std::map<std::vector<Place>, std::vector<uint32_t>> covered; // a partition may have several rows
    for (auto &[row, ends] : partitions) {
      uint32_t subgraph = ends.front().first;
      auto [found, isNew] = covered.try_emplace(ends);
      if (isNew) {
        findUnread(subgraph);
        found->second = walk(subgraph, ends);
      }
      set(*row, Match::Approx, subgraph, found->second);
    }
  }

  std::vector<uint32_t> walk(uint32_t subgraph, const std::vector<Place> &ends) const {
    std::set<uint32_t> reached;
    std::vector<uint32_t> open;
    for (Place end : ends) {
      reached.insert(end.second);
      open.push_back(end.second);
    }
    while (graph && subgraph < graph->subgraphs.size() && !open.empty()) {
      uint32_t first = graph->subgraphs[subgraph].firstOperator, op = first + open.back();
      open.pop_back();
      if (op - first >= graph->subgraphs[subgraph].operatorCount)
        continue;
      graph->forEachInput(op, [&](int32_t tensor) {
        int32_t producer = tensor < 0 ? -1 : graph->producer[tensor];
        uint32_t index = static_cast<uint32_t>(producer) - first;
        if (producer >= 0 && !claimed.count({subgraph, index}) && reached.insert(index).second)
          open.push_back(index);
      });
    }
    // A delegate takes what nothing reads too, though its node has no output of it.
    open.assign(reached.begin(), reached.end());
    while (!open.empty()) {
      Place place{subgraph, open.back()};
      open.pop_back();
      for (auto [reader, end] = unread.equal_range(place); reader != end; ++reader)
        if (!claimed.count({subgraph, reader->second}) && reached.insert(reader->second).second)
          open.push_back(reader->second);
    }
    return {reached.begin(), reached.end()};
  }

  /// Fills `unread`: of each operator, the readers from which nothing leads to an output of the subgraph.
  void findUnread(uint32_t subgraph) {
    if (!graph || subgraph >= graph->subgraphs.size() || !searched.insert(subgraph).second)
      return;
    const FileSubgraph &file = graph->subgraphs[subgraph];
    std::vector<bool> isRead(file.operatorCount);
    std::vector<uint32_t> open;
    auto read = [&](int32_t tensor) {
      if (tensor < 0 || graph->producer[tensor] < 0)
        return;
      uint32_t index = static_cast<uint32_t>(graph->producer[tensor]) - file.firstOperator;
      if (index < file.operatorCount && !isRead[index]) {
        isRead[index] = true;
        open.push_back(index);
      }
    };
    if (file.table->outputs())
      for (int32_t output : *file.table->outputs())
        read(graph->tensorId(file, output));
    while (!open.empty()) {
      uint32_t index = open.back();
      open.pop_back();
      graph->forEachInput(file.firstOperator + index, read);
    }
    for (uint32_t index = 0; index < file.operatorCount; ++index)
      if (!isRead[index])
        graph->forEachInput(file.firstOperator + index, [&](int32_t tensor) {
          if (tensor >= 0 && graph->producer[tensor] >= 0)
            unread.insert({{subgraph, static_cast<uint32_t>(graph->producer[tensor]) - file.firstOperator}, index});
        });
  }
};

/// The time of an operator that calls subgraphs, whose operators have rows too, is theirs already.
void setAsideCallers(std::vector<JoinedRow> &rows, const Target &target, const FileGraph *graph) {
  std::set<uint32_t> measured;
  for (const JoinedRow &row : rows)
    if (row.row.isSummed() && row.match != Match::None)
      measured.insert(row.subgraph);
  auto callsMeasured = [&](uint32_t subgraph, uint32_t index) {
    if (graph && subgraph < graph->subgraphs.size() && index < graph->subgraphs[subgraph].operatorCount)
      return llvm::any_of(graph->callees(graph->subgraphs[subgraph].firstOperator + index),
                          [&](uint32_t callee) { return callee != subgraph && measured.count(callee); });
    const OperatorInfo *info = operatorInfo(StringRef(target.findOperator(subgraph, index)->op));
    return info && info->has(Trait::HoldsSubgraphs) && measured.size() > 1;
  };
  for (JoinedRow &row : rows)
    if (llvm::any_of(row.operators, [&](uint32_t index) { return callsMeasured(row.subgraph, index); }))
      row.row.metric = "graph_time";
}

std::string fingerprintText(const Digest &digest) { return "sha256:" + hex(digest); }

llvm::Error checkPlaces(const JoinedRow &row, const Target &target) {
  for (uint32_t index : row.operators)
    if (!target.findOperator(row.subgraph, index))
      return makeError("\"" + printable(row.row.rawName, 60) + "\" is said to be operator " + llvm::Twine(index) +
                       " of subgraph " + llvm::Twine(row.subgraph) +
                       ", which the model does not have: the tables are of another model");
  return llvm::Error::success();
}

} // namespace

llvm::Expected<Join> report::matchRows(Profile profile, const Target &target, const FileGraph *graph,
                                       const JoinOptions &options) {
  std::string fingerprint = fingerprintText(target.fingerprint);
  auto isOther = [&](StringRef said) {
    said.consume_front("sha256:");
    return !said.empty() && said != hex(target.fingerprint) && said != options.fileHash;
  };
  if (options.kernels && isOther(options.kernels->fingerprint))
    return makeError("stale table of kernels: it is for a model with the fingerprint " +
                     printable(options.kernels->fingerprint, 80) + ", and this one has " + fingerprint);
  Join join;
  join.tool = profile.tool;
  join.notes = std::move(profile.notes);
  join.measured = std::move(profile.rows);
  join.rows.reserve(join.measured.size());
  bool cycles = false, offsets = false;
  for (ProfileRow &row : join.measured) {
    const ProfileDetails &details = row.details();
    if (isOther(details.fingerprint))
      return makeError("stale profile: it is of a model with the fingerprint " + printable(details.fingerprint, 80) +
                       ", and this one has " + fingerprint);
    cycles |= row.metric == "cycles";
    offsets |= row.isSummed() && (details.offset || details.kernel);
    join.rows.emplace_back(row);
  }
  Matcher matcher(target, graph, options);
  matcher.match(join.rows);
  alignRuns(join.rows, target, graph, profile.byLevels, join.notes);
  matcher.release(join.rows);
  splitDelegates(join, target, graph);
  for (const JoinedRow &row : join.rows)
    if (llvm::Error error = checkPlaces(row, target))
      return error;
  if (profile.includesCallees)
    setAsideCallers(join.rows, target, graph);

  size_t summed = 0, matched = 0;
  for (JoinedRow &row : join.rows) {
    if (!row.row.isSummed())
      continue;
    unsigned __int128 ns = row.row.value;
    if (row.row.metric == "cycles")
      ns = (ns * 1'000'000'000 + options.hertz / 2) / options.hertz;
    if (ns + join.total > INT64_MAX)
      return makeError("the times add up to more than 292 years");
    row.ns = row.unattributed = static_cast<uint64_t>(ns);
    join.total += row.ns;
    join.overhead += row.overhead ? row.ns : 0;
    join.merged += row.match == Match::Merged ? row.ns : 0;
    summed += !row.overhead;
    matched += row.match != Match::None;
  }
  join.unattributed = join.total;
  auto note = [&](size_t count, const char *what) {
    if (count)
      join.notes.push_back(std::to_string(count) + " of " + std::to_string(summed) + " rows " + what);
  };
  if (!summed && llvm::none_of(join.rows, [](const JoinedRow &row) { return row.row.details().offset; }))
    join.notes.push_back("no row measures an operator: is the file whole?");
  // Offsets that are no times are for a table of kernels.
  join.foreign = !matched && llvm::none_of(join.rows, [](const JoinedRow &row) {
    return row.row.details().offset && !row.row.isSummed();
  });
  if (matched && matched < summed - matched)
    note(summed - matched, "are about no operator of this model: is it a profile of another one?");
  // What only order and types place may be of any network with such a beginning.
  auto isKnown = [](const JoinedRow &row) {
    return row.match == Match::Exact || row.match == Match::Tensor || row.match == Match::Partition;
  };
  auto namesSomething = [](const JoinedRow &row) {
    const ProfileDetails &says = row.row.details();
    return !row.row.tensor.empty() || !says.outputs.empty() || !says.sourceName.empty();
  };
  // Of a delegate, one row has names, of what the source's converter called its ends.
  if (size_t naming = llvm::count_if(join.rows, namesSomething);
      matched && !matcher.knowsEnds() && 2 * naming > join.rows.size() && llvm::none_of(join.rows, isKnown))
    note(naming, "name tensors or nodes, none of which this model has: is it a profile of another one?");
  note(matcher.contradicted, "name another operator than the model has at their index, and are not joined by it");
  note(matcher.beyond, "have an index that no operator of the model has, and are not joined by it");
  if (matcher.doubtsIndices())
    join.notes.push_back("the indices are not those of this model's operators throughout, so rows that only their "
                         "index places are approx, "
                         "and none is exact: are they numbers of events?");
  note(matcher.ambiguous, "have a name that several operators have, and are not joined");
  note(matcher.elsewhere,
       "are joined by name, for their index is that of another operator: was another build measured?");
  if (cycles && matched && options.hertz == 1'000'000'000)
    join.notes.push_back("cycles are counted as nanoseconds; --clock=MHZ says how fast the clock is");
  if (offsets && !options.kernels)
    join.notes.push_back("offsets and kernels mean something only with the table that --kernels=FILE reads");
  return join;
}

KernelTable report::kernelsOf(const Join &join, const Target &target) {
  KernelTable table;
  table.fingerprint = fingerprintText(target.fingerprint);
  std::map<uint64_t, const JoinedRow *> byOffset;
  for (const JoinedRow &row : join.rows)
    if (auto offset = row.row.details().offset)
      byOffset.try_emplace(*offset, &row);
  for (auto it = byOffset.begin(); it != byOffset.end(); ++it) {
    if (it->second->match == Match::None)
      continue;
    auto next = std::next(it); // what stands in between belongs to the one before
    table.kernels.push_back({table.kernels.size(), it->second->row.rawName.str(), it->first,
                             next == byOffset.end() ? 1 : next->first - it->first, it->second->subgraph,
                             it->second->operators, true});
  }
  return table;
}
