/// Chrome traces: of onert, with begin and end events whose fields are all strings, of circle-interpreter, with
/// whole events that nest, of TensorFlow Lite on Android, and any whose events have the names of tensors.

#include "report/profile/Readers.h"

#include "ir/Error.h"

#include "nlohmann/json.hpp"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Allocator.h"

#include <map>
#include <set>

using namespace origo;
using namespace origo::report;
using llvm::StringRef;
using nlohmann::json;

namespace {

/// What a string says, or how a value is written; a million times, for which dump() of an integer is slow.
std::string wordsOf(const json &value) {
  return value.is_string()            ? value.get<std::string>()
         : value.is_number_unsigned() ? std::to_string(value.get<uint64_t>())
                                      : value.dump(-1, ' ', true, json::error_handler_t::replace);
}

/// A number of microseconds, or one in a string.
llvm::Expected<uint64_t> timeOf(const ListedEvent &event, const char *key) {
  const json *member = event.find(key);
  if (!member || !(member->is_number() || member->is_string()))
    return makeError("has no time \"" + llvm::Twine(key) + "\"");
  if (member->is_number_unsigned() && member->get<uint64_t>() < uint64_t{1} << 53)
    return member->get<uint64_t>() * 1000;
  auto time = parseDecimal(wordsOf(*member), 3);
  if (!time)
    return makeError("\"" + llvm::Twine(key) + "\": " + llvm::toString(time.takeError()));
  return time;
}

std::optional<uint32_t> indexOf(const json &object, const char *key) {
  auto member = object.is_object() ? object.find(key) : object.end();
  uint32_t number = 0;
  if (member == object.end() || (!member->is_number_unsigned() && !member->is_string()))
    return std::nullopt;
  std::string text = wordsOf(*member);
  return StringRef(text).getAsInteger(10, number) ? std::nullopt : std::optional(number);
}

/// What an event says of its row.
struct Description {
  std::optional<uint32_t> subgraph, op, model;
  StringRef kind, backend, tensor;
  bool isGraph = false; ///< around the others
};

/// "@3 Conv2D"; false for another name.
bool describeOnert(StringRef name, Description &row) {
  uint32_t index = 0;
  if (!name.consume_front("@") || name.consumeInteger(10, index) || !name.consume_front(" "))
    return false;
  row.op = index;
  row.kind = name;
  return true;
}

/// "CONV_2D@3/0", operator 3 of subgraph 0, as TensorFlow Lite writes into Android's trace; false for another name.
bool describeTflite(StringRef name, Description &row) {
  auto [kind, place] = name.rsplit('@');
  auto [op, subgraph] = place.split('/');
  uint32_t number = 0, graph = 0;
  if (kind.empty() || op.getAsInteger(10, number) || subgraph.getAsInteger(10, graph))
    return false;
  row.op = number;
  row.subgraph = graph;
  row.kind = kind;
  return true;
}

Description describe(const ListedEvent &event, StringRef name, const json &args) {
  Description is;
  is.subgraph = indexOf(args, "subgraph");
  is.model = indexOf(args, "model");
  if (describeOnert(name, is))
    is.backend = event.text("tid").rsplit(", ").second;
  else if (name.starts_with("#") || name == "Invoke")
    is.isGraph = true;
  else if (describeTflite(name, is))
    is.backend = "cpu";
  else if (auto index = indexOf(args, "operator"); index || (index = indexOf(args, "op_index"))) {
    is.op = index;
    is.kind = name.split(' ').first;
    is.tensor = textOf(args, "output");
    is.backend = textOf(args, "kernel") == "reference" ? "reference" : "eval";
  } else {
    is.tensor = name; // as far as it is one
  }
  return is;
}

struct Event {
  uint64_t begin, end;
  size_t row; ///< of those that it may be part of
};

class Reader {
public:
  explicit Reader(Profile &profile) : profile(profile) {}

  llvm::Error read(StringRef text) {
    if (llvm::Error error = forEachEvent(text, [this](const ListedEvent &event) { return take(event); }))
      return error;
    for (const auto &[key, begun] : open)
      if (!begun.empty())
        return makeError("\"" + printable(rows[begun.back().row].rawName, 60) +
                         "\" begins and never ends: the trace is truncated");
    size_t unfinished = 0;
    for (const auto &[key, begun] : openAsync)
      unfinished += begun.size();
    if (unfinished) // other parts of the program have such events, too
      profile.notes.push_back(std::to_string(unfinished) +
                              " asynchronous events begin and never end, and are left out");
    for (auto &[thread, list] : whole)
      if (llvm::Error error = addWhole(list))
        return error;
    profile.tool = isOnert ? "onert" : hasWhole ? "circle-interpreter" : "chrome";
    profile.includesCallees = isOnert; // subgraphs have threads of their own
    addRows();
    return llvm::Error::success();
  }

private:
  Profile &profile;
  /// An event that has not ended; what it encloses is counted there and not in it.
  struct Begun {
    uint64_t begin;
    size_t row;
    uint64_t inner = 0;
  };
  static constexpr size_t deepest = 1000;
  std::map<std::pair<std::string, std::string>, std::vector<Begun>> open; ///< by process and thread
  std::map<std::tuple<std::string, std::string, std::string, std::string>, std::vector<Event>>
      openAsync;                                                           ///< by process, category, id and name
  std::map<std::pair<std::string, std::string>, std::vector<Event>> whole; ///< by process and thread
  llvm::StringMap<size_t, llvm::BumpPtrAllocator> numbers;                 ///< of rows by name and place
  std::deque<ProfileRow> rows; ///< that events tell of, with 0 calls before one is told of whole
  std::vector<size_t> order;   ///< in which their first runs were told of whole
  std::set<size_t> isOtherModel;
  bool isOnert = false, hasWhole = false;

  static std::string keyOf(const ListedEvent &event, const char *key) {
    const json *member = event.find(key);
    return member ? wordsOf(*member) : "";
  }

  llvm::Error take(const ListedEvent &event) {
    if (!event.isObject)
      return makeError("is not an object");
    StringRef phase = event.text("ph"), name = event.text("name"), category = event.text("cat");
    // Of our own traces: threads that help an operator, whose time is counted once, and layers of the source.
    if (category == "operator.part" || category == "source.layer")
      return llvm::Error::success();
    hasWhole |= phase == "X";
    isOnert |= phase == "B" && (name.starts_with("@") || name.starts_with("#"));
    if (phase == "X") {
      auto begin = timeOf(event, "ts"), length = timeOf(event, "dur");
      if (!begin || !length)
        return firstError(begin, length);
      whole[{keyOf(event, "pid"), keyOf(event, "tid")}].push_back({*begin, *begin + *length, rowOf(event)});
    } else if (phase == "B" || phase == "E") {
      auto time = timeOf(event, "ts");
      if (!time)
        return time.takeError();
      std::vector<Begun> &begun = open[{keyOf(event, "pid"), keyOf(event, "tid")}];
      if (phase == "B" && begun.size() == deepest)
        return makeError("\"" + printable(name, 60) + "\" begins within too many others");
      if (phase == "B") {
        begun.push_back({*time, rowOf(event)});
        return llvm::Error::success();
      }
      // What ends without a name is what began last.
      auto from = std::find_if(begun.rbegin(), begun.rend(), [&](const Begun &is) {
        return !event.find("name") || StringRef(rows[is.row].rawName) == name;
      });
      if (from == begun.rend())
        return makeError("\"" + printable(name, 60) + "\" ends and did not begin");
      if (*time < from->begin)
        return makeError("\"" + printable(rows[from->row].rawName, 60) + "\" ends before it begins");
      uint64_t took = *time - from->begin, own = took - std::min(took, from->inner);
      size_t row = from->row;
      if (auto around = std::next(from); around != begun.rend())
        around->inner += took;
      begun.erase(std::prev(from.base()));
      return add(row, own);
    } else if (phase == "b" || phase == "e") { // asynchronous: a browser's measures
      auto time = timeOf(event, "ts");
      if (!time)
        return time.takeError();
      auto &begun =
          openAsync[{keyOf(event, "pid"), keyOf(event, "cat"), keyOf(event, "id") + keyOf(event, "id2"), name.str()}];
      if (phase == "b")
        begun.push_back({*time, 0, rowOf(event)});
      else if (!begun.empty()) {
        Event from = begun.back();
        begun.pop_back();
        if (*time < from.begin)
          return makeError("\"" + printable(name, 60) + "\" ends before it begins");
        return add(from.row, *time - from.begin);
      }
    }
    return llvm::Error::success(); // metadata, counters, and the empty object that onert ends with
  }

  /// What an event encloses is counted there and not in it.
  llvm::Error addWhole(std::vector<Event> &list) {
    auto inOrder = [](const Event &a, const Event &b) {
      return a.begin != b.begin ? a.begin < b.begin : a.end > b.end;
    };
    if (!llvm::is_sorted(list, inOrder)) // most are, and sorting needs memory
      llvm::stable_sort(list, inOrder);
    std::vector<uint64_t> own(list.size());
    std::vector<size_t> around;
    for (size_t i = 0; i < list.size(); ++i) {
      while (!around.empty() && list[around.back()].end <= list[i].begin)
        around.pop_back();
      if (!around.empty()) {
        const Event &parent = list[around.back()];
        constexpr uint64_t rounding = 2; // times are fractions of a microsecond
        if (list[i].end > parent.end + rounding)
          return makeError("the events \"" + printable(rows[parent.row].rawName, 60) + "\" and \"" +
                           printable(rows[list[i].row].rawName, 60) + "\" of one thread overlap");
        list[i].end = std::max(list[i].begin, std::min(list[i].end, parent.end));
        own[around.back()] -= list[i].end - list[i].begin;
      }
      own[i] = list[i].end - list[i].begin;
      around.push_back(i);
    }
    for (size_t i = 0; i < list.size(); ++i)
      if (llvm::Error error = add(list[i].row, own[i]))
        return error;
    return llvm::Error::success();
  }

  /// Runs of one operator are one row.
  size_t rowOf(const ListedEvent &event) {
    StringRef name = event.text("name");
    const json none, *given = event.find("args"), &args = given ? *given : none;
    Description is = describe(event, name, args);
    llvm::SmallString<128> key;
    llvm::raw_svector_ostream os(key);
    os << name.size() << name << is.backend << ' ';
    if (const json *session = memberOf(args, "session"))
      os << session->dump() << ' ';
    for (auto number : {is.model, is.subgraph, is.op})
      number ? os << *number << ' ' : os << "- ";
    auto [found, isNew] = numbers.try_emplace(key, rows.size());
    if (!isNew)
      return found->second;
    ProfileRow &row = rows.emplace_back();
    row.count = 0;
    row.rawName = name;
    row.backend = is.backend;
    row.kind = is.kind;
    if (is.isGraph)
      row.metric = "graph_time";
    if (is.model.value_or(0) != 0) { // whose operators have the same numbers
      isOtherModel.insert(rows.size() - 1);
    } else {
      row.subgraph = is.subgraph;
      row.op = is.op;
      row.tensor = is.tensor == name ? row.rawName : SharedText(is.tensor);
    }
    return found->second;
  }

  /// A run of a row.
  llvm::Error add(size_t number, uint64_t time) {
    if (!rows[number].count++)
      order.push_back(number);
    return addTime(rows[number], time);
  }

  void addRows() {
    if (order.size() == rows.size() && llvm::is_sorted(order))
      profile.rows = std::move(rows);
    else
      for (size_t number : order)
        profile.rows.push_back(std::move(rows[number]));
    if (size_t count = llvm::count_if(order, [&](size_t number) { return isOtherModel.contains(number); }))
      profile.notes.push_back(std::to_string(count) + " rows are of other models than the first, and not joined");
  }
};

} // namespace

static llvm::Error readChromeTrace(StringRef text, const ProfileOptions &, Profile &profile) {
  return Reader(profile).read(text);
}

static bool isTrace(StringRef text) { return hasKey(text, "traceEvents") || hasKey(text, "ph"); }
static bool isOwnTrace(StringRef text) { return isTrace(text) && text.contains("\"dur\""); }
/// Has it an event that begins and ends by events of its own?
static bool hasBegin(StringRef text) {
  constexpr StringRef key = "\"ph\"";
  for (size_t at = text.find(key); at != StringRef::npos; at = text.find(key, at + key.size()))
    if (text.substr(at + key.size()).ltrim(" \t\r\n:").starts_with("\"B\""))
      return true;
  return false;
}
static bool isOnertTrace(StringRef text) { return isTrace(text) && !isOwnTrace(text) && hasBegin(text); }
static bool isOtherTrace(StringRef text) { return isTrace(text) && !isOwnTrace(text) && !hasBegin(text); }

namespace origo::report::formats {

std::vector<ProfileFormat> Trace() {
  return {{"circle-interpreter", Rank::Form, isOwnTrace, readChromeTrace,
           "--profile=FILE; and traces whose events are called KIND@OPERATOR/SUBGRAPH (ATrace), or as tensors"},
          {"chrome", Rank::Form, isOtherTrace, readChromeTrace, "what browsers measure, by names of tensors"},
          {"onert", Rank::Form, isOnertTrace, readChromeTrace, "trace.chrome.json"}};
}

} // namespace origo::report::formats
