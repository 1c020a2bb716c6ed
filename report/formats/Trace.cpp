/// Chrome traces: of onert, with begin and end events whose fields are all strings, of circle-interpreter, with
/// whole events that nest, of TensorFlow Lite on Android, and any whose events have the names of tensors.

#include "report/profile/Readers.h"

#include "ir/Error.h"

#include "nlohmann/json.hpp"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <map>

using namespace origo;
using namespace origo::report;
using llvm::StringRef;
using nlohmann::json;

namespace {

StringRef textOf(const json &object, const char *key) {
  auto member = object.is_object() ? object.find(key) : object.end();
  return member != object.end() && member->is_string() ? StringRef(member->get_ref<const std::string &>()) : "";
}

/// A number, or one in a string.
llvm::Expected<uint64_t> timeOf(const json &event, const char *key) {
  auto member = event.find(key);
  if (member == event.end() || !(member->is_number() || member->is_string()))
    return makeError("has no time \"" + llvm::Twine(key) + "\"");
  auto time = parseDecimal(member->is_string() ? member->get<std::string>() : member->dump(), 3);
  if (!time)
    return makeError("\"" + llvm::Twine(key) + "\": " + llvm::toString(time.takeError()));
  return time;
}

std::optional<uint32_t> indexOf(const json &object, const char *key) {
  auto member = object.is_object() ? object.find(key) : object.end();
  uint32_t number = 0;
  if (member == object.end() || (!member->is_number_unsigned() && !member->is_string()))
    return std::nullopt;
  std::string text = member->is_string() ? member->get<std::string>() : member->dump();
  return StringRef(text).getAsInteger(10, number) ? std::nullopt : std::optional(number);
}

/// "@3 Conv2D"; false for another name.
bool describeOnert(StringRef name, ProfileRow &row) {
  uint32_t index = 0;
  if (!name.consume_front("@") || name.consumeInteger(10, index) || !name.consume_front(" "))
    return false;
  row.op = index;
  row.kind = name.str();
  return true;
}

/// "CONV_2D@3/0", operator 3 of subgraph 0, as TensorFlow Lite writes into Android's trace; false for another name.
bool describeTflite(StringRef name, ProfileRow &row) {
  auto [kind, place] = name.rsplit('@');
  auto [op, subgraph] = place.split('/');
  uint32_t number = 0, graph = 0;
  if (kind.empty() || op.getAsInteger(10, number) || subgraph.getAsInteger(10, graph))
    return false;
  row.op = number;
  row.subgraph = graph;
  row.kind = kind.str();
  return true;
}

struct Event {
  uint64_t begin, end;
  const json *object;
};

class Reader {
public:
  explicit Reader(Profile &profile) : profile(profile) {}

  llvm::Error read(const json &events) {
    size_t number = 0;
    for (const json &event : events) {
      if (llvm::Error error = take(event))
        return makeError("traceEvents[" + llvm::Twine(number) + "]: " + llvm::toString(std::move(error)));
      ++number;
    }
    for (const auto &[key, begun] : open)
      if (!begun.empty())
        return makeError("\"" + printable(textOf(*begun.back().object, "name"), 60) +
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
    if (otherModels)
      profile.notes.push_back(std::to_string(otherModels) + " rows are of other models than the first, and not joined");
    return llvm::Error::success();
  }

private:
  Profile &profile;
  size_t otherModels = 0;
  std::map<std::tuple<std::string, std::string, std::string>, std::vector<Event>> open; ///< by process, thread and name
  std::map<std::tuple<std::string, std::string, std::string, std::string>, std::vector<Event>>
      openAsync;                                                           ///< by process, category, id and name
  std::map<std::pair<std::string, std::string>, std::vector<Event>> whole; ///< by process and thread
  std::map<std::tuple<std::string, std::string>, size_t> rows;             ///< by name and place

  static std::string keyOf(const json &event, const char *key) {
    auto member = event.find(key);
    return member == event.end() ? "" : member->dump(-1, ' ', true, json::error_handler_t::replace);
  }

  llvm::Error take(const json &event) {
    if (!event.is_object())
      return makeError("is not an object");
    StringRef phase = textOf(event, "ph"), name = textOf(event, "name"), category = textOf(event, "cat");
    // Of our own traces: threads that help an operator, whose time is counted once, and layers of the source.
    if (category == "operator.part" || category == "source.layer")
      return llvm::Error::success();
    if (phase == "X") {
      auto begin = timeOf(event, "ts"), length = timeOf(event, "dur");
      if (!begin || !length)
        return firstError(begin, length);
      whole[{keyOf(event, "pid"), keyOf(event, "tid")}].push_back({*begin, *begin + *length, &event});
    } else if (phase == "B" || phase == "E") {
      auto time = timeOf(event, "ts");
      if (!time)
        return time.takeError();
      auto &begun = open[{keyOf(event, "pid"), keyOf(event, "tid"), name.str()}];
      if (phase == "B") {
        begun.push_back({*time, 0, &event});
        return llvm::Error::success();
      }
      if (begun.empty())
        return makeError("\"" + printable(name, 60) + "\" ends and did not begin");
      Event event = begun.back();
      begun.pop_back();
      if (*time < event.begin)
        return makeError("\"" + printable(name, 60) + "\" ends before it begins");
      return add(*event.object, *time - event.begin);
    } else if (phase == "b" || phase == "e") { // asynchronous: a browser's measures
      auto time = timeOf(event, "ts");
      if (!time)
        return time.takeError();
      auto &begun =
          openAsync[{keyOf(event, "pid"), keyOf(event, "cat"), keyOf(event, "id") + keyOf(event, "id2"), name.str()}];
      if (phase == "b")
        begun.push_back({*time, 0, &event});
      else if (!begun.empty()) {
        Event from = begun.back();
        begun.pop_back();
        if (*time < from.begin)
          return makeError("\"" + printable(name, 60) + "\" ends before it begins");
        return add(*from.object, *time - from.begin);
      }
    }
    return llvm::Error::success(); // metadata, counters, and the empty object that onert ends with
  }

  /// What an event encloses is counted there and not in it.
  llvm::Error addWhole(std::vector<Event> &list) {
    llvm::stable_sort(
        list, [](const Event &a, const Event &b) { return a.begin != b.begin ? a.begin < b.begin : a.end > b.end; });
    std::vector<uint64_t> own(list.size());
    std::vector<size_t> around;
    for (size_t i = 0; i < list.size(); ++i) {
      while (!around.empty() && list[around.back()].end <= list[i].begin)
        around.pop_back();
      if (!around.empty()) {
        const Event &parent = list[around.back()];
        constexpr uint64_t rounding = 2; // times are fractions of a microsecond
        if (list[i].end > parent.end + rounding)
          return makeError("the events \"" + printable(textOf(*parent.object, "name"), 60) + "\" and \"" +
                           printable(textOf(*list[i].object, "name"), 60) + "\" of one thread overlap");
        list[i].end = std::max(list[i].begin, std::min(list[i].end, parent.end));
        own[around.back()] -= list[i].end - list[i].begin;
      }
      own[i] = list[i].end - list[i].begin;
      around.push_back(i);
    }
    for (size_t i = 0; i < list.size(); ++i)
      if (llvm::Error error = add(*list[i].object, own[i]))
        return error;
    return llvm::Error::success();
  }

  /// Runs of one operator are one row.
  llvm::Error add(const json &event, uint64_t time) {
    StringRef name = textOf(event, "name");
    const json none;
    const json &args = event.contains("args") ? event["args"] : none;
    ProfileRow row;
    row.rawName = name.str();
    row.value = time;
    row.subgraph = indexOf(args, "subgraph");
    auto model = indexOf(args, "model");
    if (describeOnert(name, row))
      row.backend = textOf(event, "tid").rsplit(", ").second.str();
    else if (name.starts_with("#") || name == "Invoke")
      row.metric = "graph_time";
    else if (describeTflite(name, row))
      row.backend = "cpu";
    else if (auto index = indexOf(args, "operator"); index || (index = indexOf(args, "op_index"))) {
      row.op = index;
      row.kind = name.split(' ').first.str();
      row.tensor = textOf(args, "output").str();
      row.backend = textOf(args, "kernel") == "reference" ? "reference" : "eval";
    } else {
      row.tensor = name.str(); // as far as it is one
    }
    std::string place = args.is_object() ? args.value("session", json()).dump() + " " : "";
    for (auto number : {model, row.subgraph, row.op})
      place += number ? std::to_string(*number) + " " : "- ";
    auto [found, isNew] = rows.try_emplace({row.rawName + " " + row.backend, place}, profile.rows.size());
    if (isNew) {
      if (model.value_or(0) != 0) { // whose operators have the same numbers
        row.subgraph.reset();
        row.op.reset();
        row.tensor.clear();
        ++otherModels;
      }
      profile.rows.push_back(std::move(row));
      return llvm::Error::success();
    }
    ProfileRow &first = profile.rows[found->second];
    first.value += time;
    ++first.count;
    return first.value >> 63 ? makeError("the time of \"" + printable(name, 60) + "\" is too large")
                             : llvm::Error::success();
  }
};

} // namespace

static llvm::Error readChromeTrace(StringRef text, const ProfileOptions &, Profile &profile) {
  if (llvm::Error error = checkJson(text))
    return error;
  json trace = json::parse(text.begin(), text.end());
  const json *events = trace.is_array()                                     ? &trace
                       : trace.is_object() && trace.contains("traceEvents") ? &trace["traceEvents"]
                                                                            : nullptr;
  if (!events || !events->is_array())
    return makeError("has no list \"traceEvents\"");
  bool onert = llvm::any_of(*events, [](const json &event) {
    return event.is_object() && (textOf(event, "ph") == "B" || textOf(event, "ph") == "E");
  });
  bool whole = llvm::any_of(*events, [](const json &event) { return textOf(event, "ph") == "X"; });
  profile.tool = onert ? "onert" : whole ? "circle-interpreter" : "chrome";
  profile.includesCallees = onert;
  return Reader(profile).read(*events);
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
