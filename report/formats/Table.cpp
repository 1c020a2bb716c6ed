/// Tables of any make: comma-separated values with a head, or a list of JSON objects. The columns have roles.

#include "report/profile/Damage.h"
#include "report/profile/Readers.h"

#include "ir/Error.h"

#include "nlohmann/json.hpp"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/Hashing.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <map>
#include <set>
#include <tuple>

using namespace origo;
using namespace origo::report;
using llvm::StringRef;
using nlohmann::json;

namespace {

enum class Role {
  Name,
  Tensor,
  Type,
  Index,
  Subgraph,
  Partition,
  Backend,
  Count,
  Offset,
  Kernel,
  Model,
  Value,
  Unit,
  Metric,
  Cycles,
  Time
};

struct RoleName {
  const char *name;
  Role role;
};
/// What a column may be called without --columns; the first name of a role is the one for --columns, and goes before
/// the others where a table has several. Those of the rows that --join itself writes are among them.
constexpr RoleName roleNames[] = {
    {"name", Role::Name},
    {"raw_name", Role::Name},
    {"layer", Role::Name},
    {"layer_name", Role::Name},
    {"op_name", Role::Name},
    {"operator_name", Role::Name},
    {"node_name", Role::Name},
    {"tensor", Role::Tensor},
    {"output", Role::Tensor},
    {"tensor_name", Role::Tensor},
    {"output_name", Role::Tensor},
    {"op_type", Role::Type},
    {"type", Role::Type},
    {"kind", Role::Type},
    {"node_type", Role::Type},
    {"layer_type", Role::Type},
    {"opcode", Role::Type},
    {"operator", Role::Type},
    {"op_index", Role::Index},
    {"index", Role::Index},
    {"partition", Role::Partition},
    {"subgraph", Role::Subgraph},
    {"backend", Role::Backend},
    {"count", Role::Count},
    {"offset", Role::Offset},
    {"kernel", Role::Kernel},
    {"model_sha", Role::Model},
    {"value", Role::Value},
    {"unit", Role::Unit},
    {"metric", Role::Metric},
    {"cycles", Role::Cycles},
    {"ns", Role::Time},
    {"us", Role::Time},
    {"ms", Role::Time},
    {"s", Role::Time},
};

struct Column {
  Role role;
  std::string unit; ///< of Time; empty: stands with each value
};
bool isMeasure(const Column &column) {
  return column.role == Role::Value || column.role == Role::Time || column.role == Role::Cycles;
}

/// "averageMs" and "Average-Ms" as "average_ms".
std::string normalTitle(StringRef title) {
  std::string name;
  for (size_t i = 0; i < title.size(); ++i) {
    if (i && llvm::isUpper(title[i]) && llvm::isLower(title[i - 1]))
      name += '_';
    name += title[i] == ' ' || title[i] == '-' ? '_' : llvm::toLower(title[i]);
  }
  return name;
}

bool isTimeWithoutUnit(StringRef name) {
  return name == "duration" || name == "latency" || name == "elapsed" || name == "time" || name == "dur";
}

/// Smaller for what is preferred; times and cycles are all alike, but those with a unit before those without.
size_t rankOf(StringRef name) {
  if (isTimeWithoutUnit(name))
    return std::size(roleNames) + 1;
  for (size_t i = 0; i < std::size(roleNames); ++i)
    if (name == roleNames[i].name)
      return roleNames[i].role == Role::Time || roleNames[i].role == Role::Cycles ? std::size(roleNames) : i + 1;
  return std::size(roleNames);
}

std::optional<Column> columnOf(StringRef name) {
  for (const RoleName &known : roleNames)
    if (name == known.name)
      return Column{known.role, known.role == Role::Time ? known.name : ""};
  if (isTimeWithoutUnit(name))
    return Column{Role::Time, ""};
  llvm::SmallVector<StringRef> words; // time_us, latency (ms), avg_time_ms
  llvm::SplitString(name, words, " _-()[]");
  auto saysTime = [](StringRef word) {
    return isTimeWithoutUnit(word) || word == "average" || word == "avg" || word == "mean" || word == "execution";
  };
  bool isTime =
      words.size() > 1 && nanosecondExponent(words.back()) && llvm::all_of(llvm::ArrayRef(words).drop_back(), saysTime);
  return isTime ? std::optional(Column{Role::Time, words.back().str()}) : std::nullopt;
}

/// Decides which column is what: those that the user names, and of the other roles those with their own name.
class Columns {
public:
  static llvm::Expected<Columns> of(const ColumnNames &wanted) {
    Columns columns;
    for (const auto &[role, name] : wanted) {
      auto column = columnOf(role);
      if (!column || isTimeWithoutUnit(role))
        return makeError(
            "--columns: there is no role \"" + printable(role, 40) +
            "\"; those that are: name, tensor, op_type, op_index, subgraph, partition, backend, count, offset, "
            "kernel, model_sha, value, unit, metric, cycles, ns, us, ms, s");
      if (!columns.named.try_emplace(name, *column).second)
        return makeError("--columns: \"" + printable(name, 40) + "\" has two roles");
    }
    return columns;
  }
  /// What the columns with these titles are.
  llvm::Expected<std::vector<std::optional<Column>>> find(llvm::ArrayRef<std::string> titles) const {
    std::vector<std::optional<Column>> columns(titles.size());
    std::map<Role, std::pair<size_t, size_t>> best; // rank and column
    for (size_t i = 0; i < titles.size(); ++i) {
      auto wanted = named.find(titles[i]);
      auto [known, isNewTitle] = titled.try_emplace(titles[i]);
      if (isNewTitle) {
        std::string title = normalTitle(titles[i]);
        known->second = {columnOf(title), rankOf(title)};
      }
      auto column = wanted == named.end() ? known->second.first : wanted->second;
      if (!column)
        continue;
      // The user's word goes before a name that merely looks right, and the value before the same in nanoseconds.
      size_t rank = wanted == named.end() ? known->second.second : 0;
      auto [other, isNew] = best.try_emplace(isMeasure(*column) ? Role::Value : column->role, rank, i);
      if (!isNew && other->second.first == rank)
        return makeError("the columns \"" + printable(titles[other->second.second], 40) + "\" and \"" +
                         printable(titles[i], 40) + "\" say the same; choose with --columns");
      if (!isNew && other->second.first < rank)
        continue;
      if (!isNew)
        columns[other->second.second].reset();
      other->second = {rank, i};
      columns[i] = column;
    }
    return columns;
  }
  llvm::Error checkUsed(llvm::ArrayRef<std::string> titles) const {
    for (const auto &[name, column] : named)
      if (!llvm::is_contained(titles, name))
        return makeError("--columns: the table has no column \"" + printable(name, 40) + "\"");
    return llvm::Error::success();
  }

private:
  std::map<std::string, Column, std::less<>> named;
  mutable std::map<std::string, std::pair<std::optional<Column>, size_t>, std::less<>>
      titled; ///< those that were looked at
};

template <class Number> llvm::Error toNumber(StringRef text, Number &result) {
  if (text.trim().getAsInteger(0, result)) // also 0x…
    return makeError("\"" + printable(text, 40) + "\" is not a number from 0 on");
  return llvm::Error::success();
}

/// A row by all that it says but for how long and how often.
struct Said {
  ProfileRow *row;
  size_t hash;

  explicit Said(ProfileRow &is) : row(&is) {
    const ProfileDetails &details = is.details();
    hash = llvm::hash_combine(StringRef(is.rawName), StringRef(is.tensor), StringRef(is.kind), StringRef(is.backend),
                              StringRef(is.metric), StringRef(is.unit), is.subgraph.value_or(0), is.op.value_or(0),
                              details.offset.value_or(0), details.kernel.value_or(0), StringRef(details.fingerprint),
                              llvm::hash_combine_range(details.partition.begin(), details.partition.end()));
  }
  Said(ProfileRow *none, size_t hash) : row(none), hash(hash) {}
};

struct SameSaid {
  static Said getEmptyKey() { return {nullptr, 0}; }
  static Said getTombstoneKey() { return {nullptr, 1}; }
  static unsigned getHashValue(const Said &said) { return static_cast<unsigned>(said.hash); }
  static bool isEqual(const Said &a, const Said &b) {
    auto said = [](const ProfileRow &row) {
      return std::tie(row.rawName, row.tensor, row.kind, row.subgraph, row.op, row.backend, row.metric, row.unit,
                      row.details());
    };
    return a.hash == b.hash && (a.row == b.row || (a.row && b.row && said(*a.row) == said(*b.row)));
  }
};

/// The rows of a table, of which there may be a million. Those that differ in nothing but how long and how often, as
/// those of several runs do, are one.
class TableRows {
public:
  explicit TableRows(Profile &profile) : profile(profile) {}
  llvm::Error add(ProfileRow row) {
    auto [found, isNew] = known.insert(Said(profile.rows.emplace_back(std::move(row))));
    if (isNew)
      return llvm::Error::success();
    ProfileRow &before = *found->row, again = std::move(profile.rows.back());
    profile.rows.pop_back();
    if (__builtin_add_overflow(before.count, again.count, &before.count))
      return makeError("the calls of \"" + printable(before.rawName, 60) + "\" are too many");
    return addTime(before, again.value);
  }

private:
  Profile &profile;
  llvm::DenseSet<Said, SameSaid> known;
};

/// A row that is being put together from its cells.
struct RowMaker {
  ProfileRow row;
  std::string unit = "ns", value;

  llvm::Error take(const Column &column, StringRef text) {
    if (text.empty())
      return llvm::Error::success();
    uint32_t index = 0;
    uint64_t number = 0;
    switch (column.role) {
    case Role::Name:
      row.rawName = text;
      break;
    case Role::Tensor:
      row.tensor = text;
      break;
    case Role::Type:
      if (llvm::any_of(text, llvm::isAlpha)) // and not the number of an operator
        row.kind = text;
      break;
    case Role::Backend:
      row.backend = text;
      break;
    case Role::Model:
      row.ownDetails().fingerprint = text;
      break;
    case Role::Metric:
      row.metric = text;
      break;
    case Role::Index:
    case Role::Subgraph:
      if (llvm::Error error = toNumber(text, index))
        return error;
      (column.role == Role::Index ? row.op : row.subgraph) = index;
      break;
    case Role::Partition: {
      std::vector<uint32_t> &partition = row.ownDetails().partition;
      for (StringRef rest = text.trim(" []"); !rest.empty(); rest = rest.ltrim(" ,"))
        if (rest.consumeInteger(10, partition.emplace_back()))
          return makeError("\"" + printable(text, 40) + "\" is no list of operators");
      llvm::sort(partition);
      partition.erase(std::unique(partition.begin(), partition.end()), partition.end());
      break;
    }
    case Role::Count:
      return toNumber(text, row.count);
    case Role::Offset:
    case Role::Kernel:
      if (llvm::Error error = toNumber(text, number))
        return error;
      (column.role == Role::Offset ? row.ownDetails().offset : row.ownDetails().kernel) = number;
      break;
    case Role::Unit:
      unit = text.trim().str();
      break;
    case Role::Value:
    case Role::Cycles:
    case Role::Time:
      value = text.str();
      if (column.role == Role::Time)
        unit = column.unit;
      if (column.role == Role::Cycles)
        row.metric = unit = "cycles";
      break;
    }
    return llvm::Error::success();
  }

  llvm::Expected<ProfileRow> finish() {
    if (value.empty())
      return makeError("no column says how long it took; --columns=us=TITLE names one");
    if (unit.empty()) { // "1.5 ms"
      StringRef whole = StringRef(value).trim(),
                number = whole.take_while([](char c) { return llvm::isDigit(c) || c == '.'; });
      unit = whole.drop_front(number.size()).trim().str();
      value = number.str();
      if (unit.empty())
        return makeError("\"" + printable(value, 40) + "\" has no unit; --columns=us=TITLE says it");
    }
    if (unit == "cycles" && row.metric == "time")
      row.metric = "cycles";
    auto exponent = nanosecondExponent(unit);
    if (row.metric == "time" && !exponent)
      return makeError("the unit \"" + printable(unit, 40) + "\" is none of ns, us, ms, s and cycles");
    auto parsed = parseDecimal(value, exponent.value_or(0));
    if (!parsed)
      return parsed.takeError();
    row.value = *parsed;
    if (!exponent)
      row.unit = unit;
    name();
    return std::move(row);
  }
  void name() {
    const ProfileDetails &details = row.details();
    if (row.rawName.empty() && details.offset)
      row.rawName = "0x" + llvm::utohexstr(*details.offset, /*LowerCase=*/true);
    else if (row.rawName.empty())
      row.rawName = row.tensor;
    // With nothing but a name, that may be the name of a tensor.
    if (row.tensor.empty() && !row.op && details.partition.empty() && !details.offset && !details.kernel)
      row.tensor = row.rawName;
  }
  llvm::Error finish(TableRows &rows) {
    auto made = finish();
    return made ? rows.add(std::move(*made)) : made.takeError();
  }
};

} // namespace

static llvm::Error readCsv(StringRef text, const ProfileOptions &options, Profile &profile) {
  profile.tool = "csv";
  auto columns = Columns::of(options.columns);
  if (!columns)
    return columns.takeError();
  // Spreadsheets of languages with a decimal comma separate by semicolons.
  StringRef first = text.split('\n').first;
  char separator = first.contains(',') ? ',' : first.contains(';') ? ';' : '\t';
  std::vector<std::optional<Column>> head;
  std::vector<std::string> titles;
  TableRows rows(profile);
  for (size_t number = 1; !text.empty(); ++number) {
    auto inLine = [&](llvm::Error error) {
      return makeError("row " + llvm::Twine(number) + ": " + llvm::toString(std::move(error)));
    };
    auto cells = takeCsvLine(text, separator);
    if (!cells)
      return inLine(cells.takeError());
    if (cells->size() == 1 && StringRef(cells->front()).trim().empty())
      continue;
    if (head.empty()) {
      for (std::string &cell : *cells)
        cell = StringRef(cell).trim().str();
      auto found = columns->find(*cells);
      if (!found)
        return found.takeError();
      head = std::move(*found);
      // Events of TensorFlow Lite Micro's profiler, one an operator; older ones have whole milliseconds behind.
      if (options.columns.empty() && llvm::join(*cells, ",").starts_with("Event,Tag,Ticks") && cells->size() < 5) {
        head = {Column{Role::Index, ""}, Column{Role::Name, ""}, Column{Role::Cycles, ""}};
        head.resize(cells->size());
      }
      if (llvm::Error error = columns->checkUsed(*cells))
        return error;
      titles = std::move(*cells);
      if (llvm::none_of(head, [](const auto &column) { return column.has_value(); }))
        return makeError("no column has a name that is known (name, tensor, op_index, ns, us, ms, …); say which is "
                         "which with --columns");
      continue;
    }
    if (*cells == titles) // of the next run
      continue;
    if (cells->size() != head.size())
      return inLine(makeError("has " + llvm::Twine(cells->size()) + " cells, the head " + llvm::Twine(head.size())));
    RowMaker maker;
    for (size_t i = 0; i < head.size(); ++i) {
      if (!head[i])
        continue;
      if (isMeasure(*head[i]) && separator != ',')
        (*cells)[i] = withPoint(std::move((*cells)[i]));
      if (llvm::Error error = maker.take(*head[i], (*cells)[i]))
        return inLine(std::move(error));
    }
    if (llvm::Error error = maker.finish(rows))
      return inLine(std::move(error));
  }
  return head.empty() ? makeError("is empty") : llvm::Error::success();
}

namespace {

/// Rows anywhere in a file: objects that say what they are, or are called so by their key, and how long it took. What
/// has others in it is around them.
class NestedRows {
public:
  NestedRows(const Columns &columns, Profile &profile) : columns(columns), profile(profile) {}

  /// Whether there is a row in it.
  llvm::Expected<bool> take(const json &value, StringRef key) {
    bool any = false;
    if (!value.is_structured())
      return false;
    std::vector<std::string> titles;
    size_t place = profile.rows.size();
    StringRef measuredBy; // the member that is the only row, which has no name of its own
    for (const auto &[name, inner] : value.items()) {
      size_t before = profile.rows.size();
      auto found = take(inner, value.is_object() ? StringRef(name) : key);
      if (!found)
        return found.takeError();
      if (*found)
        measuredBy = !any && inner.is_object() && profile.rows.size() == before + 1 &&
                             StringRef(profile.rows[before].rawName) == name
                         ? StringRef(profile.rows[before].rawName)
                         : StringRef();
      any |= *found;
      if (value.is_object() && !inner.is_null() && !inner.is_structured())
        titles.push_back(name);
    }
    auto roles = columns.find(titles); // a list has none
    if (!roles)
      return makeError("\"" + printable(key, 40) + "\": " + llvm::toString(roles.takeError()));
    RowMaker maker;
    bool measured = false;
    for (const auto &[title, column] : llvm::zip(titles, *roles)) {
      if (!column)
        continue;
      measured |= isMeasure(*column);
      const json &cell = value[title];
      if (llvm::Error error = maker.take(*column, cell.is_string() ? cell.get_ref<const std::string &>() : cell.dump()))
        return makeError("\"" + printable(key, 40) + "\": \"" + printable(title, 40) +
                         "\": " + llvm::toString(std::move(error)));
    }
    if (!measured && !measuredBy.empty() && !maker.row.rawName.empty()) { // {"name": …, "stats": {"avg_ms": …}}
      ProfileRow &inner = profile.rows[place];
      std::tie(maker.row.value, maker.row.metric, maker.row.unit, maker.row.count) =
          std::tie(inner.value, inner.metric, inner.unit, inner.count);
      maker.name();
      inner = std::move(maker.row);
    }
    if (!measured)
      return any;
    if (maker.row.rawName.empty() && maker.row.tensor.empty())
      maker.row.rawName = key.str();
    if (any)
      maker.row.metric = "graph_time";
    auto row = maker.finish();
    if (!row)
      return makeError("\"" + printable(key, 40) + "\": " + llvm::toString(row.takeError()));
    profile.rows.push_back(std::move(*row));
    std::rotate(profile.rows.begin() + static_cast<ptrdiff_t>(place), profile.rows.end() - 1, profile.rows.end());
    return true;
  }

private:
  const Columns &columns;
  Profile &profile;
};

bool isRowList(const json &rows) {
  return rows.is_array() && llvm::all_of(rows, [](const json &row) {
           return row.is_object() && llvm::none_of(row, [](const json &value) {
                    return value.is_object() || (value.is_array() && !value.empty() && value.front().is_structured());
                  });
         });
}

} // namespace

namespace {

/// A list of flat objects, of which there may be a million, row by row. Of anything else, and of whatever is wrong with
/// it, the reader of whole files tells.
class FlatRows : public nlohmann::json_sax<json> {
public:
  FlatRows(const Columns &columns, Profile &profile) : columns(columns), profile(profile), rows(profile) {}
  bool read(StringRef text) {
    bool done = json::sax_parse(text.begin(), text.end(), this) && depth == 0 && isList;
    if (!done)
      profile.rows.clear();
    return done;
  }
  std::vector<std::string> titles() const {
    std::vector<std::string> all;
    for (const auto &[name, number] : numbers)
      all.push_back(name);
    return all;
  }

  // What the parser tells; false ends it.
  bool null() override { return depth == 2; }
  bool boolean(bool value) override { return cell(value ? "true" : "false"); }
  bool number_integer(number_integer_t value) override { return cell(std::to_string(value)); }
  bool number_unsigned(number_unsigned_t value) override { return cell(std::to_string(value)); }
  bool number_float(number_float_t, const string_t &text) override { return cell(text); }
  bool string(string_t &text) override { return cell(std::move(text)); }
  bool binary(binary_t &) override { return false; }
  bool parse_error(size_t, const std::string &, const nlohmann::json::exception &) override { return false; }
  bool start_array(size_t) override {
    isList = depth == 0;
    return ++depth == 1 && isList;
  }
  bool end_array() override { return --depth == 0; }
  bool start_object(size_t) override {
    keys.clear();
    seen.clear();
    cells.clear();
    keyNames.clear();
    return ++depth == 2;
  }
  bool key(string_t &name) override {
    unsigned number = allKeys.try_emplace(name, static_cast<unsigned>(allKeys.size())).first->second;
    if (seen.size() == 64 || llvm::is_contained(seen, number)) // there twice
      return false;
    seen.push_back(number);
    open = name;
    return true;
  }
  bool end_object() override {
    --depth;
    if (keys != known || roles.empty()) {
      // The reader of whole files has the keys in their order.
      auto found = columns.find(keyNames);
      if (!found)
        return llvm::consumeError(found.takeError()), false;
      roles = std::move(*found);
      known = keys;
    }
    RowMaker maker;
    for (size_t i = 0; i < cells.size(); ++i)
      if (roles[i])
        if (llvm::Error error = maker.take(*roles[i], cells[i]))
          return llvm::consumeError(std::move(error)), false;
    if (llvm::Error error = maker.finish(rows))
      return llvm::consumeError(std::move(error)), false;
    return true;
  }

private:
  const Columns &columns;
  Profile &profile;
  TableRows rows;
  bool isList = false;
  unsigned depth = 0;                                   ///< 1 in the list, 2 in a row
  std::map<std::string, unsigned, std::less<>> numbers; ///< of keys with a value that is not null
  std::string open;                                     ///< the key whose value comes next
  std::vector<unsigned> keys, seen, known;              ///< of this row; with null ones; those that `roles` are of
  std::vector<std::string> cells, keyNames;
  std::vector<std::optional<Column>> roles;
  std::map<std::string, unsigned, std::less<>> allKeys;

  bool cell(std::string text) {
    if (depth != 2)
      return false;
    keys.push_back(numbers.try_emplace(open, static_cast<unsigned>(numbers.size())).first->second);
    keyNames.push_back(open);
    cells.push_back(std::move(text));
    return true;
  }
};

} // namespace

static llvm::Error readJson(StringRef text, const ProfileOptions &options, Profile &profile) {
  profile.tool = "json";
  auto columns = Columns::of(options.columns);
  if (!columns)
    return columns.takeError();
  if (FlatRows flat(*columns, profile); flat.read(text))
    return profile.rows.empty() ? llvm::Error::success() : columns->checkUsed(flat.titles());
  if (llvm::Error error = checkJson(text))
    return error;
  json file = json::parse(text.begin(), text.end());
  const json *rows = file.is_array() ? &file : file.is_object() && file.contains("rows") ? &file["rows"] : nullptr;
  bool isList = rows && (file.is_object() || !options.columns.empty() || isRowList(*rows));
  if (!isList) {
    auto any = NestedRows(*columns, profile).take(file, "");
    if (!any)
      return any.takeError();
    return *any ? llvm::Error::success()
                : makeError("has no object with a name and how long it took, in a unit: \"duration_us\", \"timeMs\", "
                            "\"1.5 ms\"; "
                            "--columns says which key is what");
  }
  if (!rows->is_array())
    return makeError("is neither a list of rows nor an object with a list \"rows\"");
  std::set<std::string> titles;
  TableRows found(profile);
  for (size_t i = 0; i < rows->size(); ++i) {
    auto inRow = [&](llvm::Error error) {
      return makeError("rows[" + llvm::Twine(i) + "]: " + llvm::toString(std::move(error)));
    };
    if (!(*rows)[i].is_object())
      return inRow(makeError("is not an object"));
    std::vector<std::string> keys;
    for (const auto &[key, value] : (*rows)[i].items())
      if (!value.is_null())
        keys.push_back(key);
    auto roles = columns->find(keys);
    if (!roles)
      return inRow(roles.takeError());
    titles.insert(keys.begin(), keys.end());
    RowMaker maker;
    for (const auto &[key, column] : llvm::zip(keys, *roles)) {
      const json &value = (*rows)[i][key];
      if (!column || (value.is_structured() && column->role != Role::Partition))
        continue;
      if (llvm::Error error =
              maker.take(*column, value.is_string() ? value.get_ref<const std::string &>() : value.dump()))
        return inRow(makeError("\"" + printable(key, 40) + "\": " + llvm::toString(std::move(error))));
    }
    if (llvm::Error error = maker.finish(found))
      return inRow(std::move(error));
  }
  if (rows->empty())
    return llvm::Error::success();
  return columns->checkUsed(std::vector<std::string>(titles.begin(), titles.end()));
}

static bool isAnyTable(StringRef text) {
  return !isJson(text) && !text.contains('\0') && text.split('\n').first.find_first_of(",;\t") != StringRef::npos;
}

namespace origo::report::formats {

std::vector<ProfileFormat> Table() {
  return {{"json", Rank::Table, isJson, readJson,
           "a list of objects, {\"rows\": [...]}, or objects with a name and a time anywhere; see --columns"},
          {"csv", Rank::Table, isAnyTable, readCsv,
           "comma-separated values (or \";\", or tabs) with a head; see --columns"}};
}

} // namespace origo::report::formats
