/// ONNX Runtime's profiling: a Chrome trace of sessions and nodes. A node that its optimiser made is named after the
/// output or the node that it stands for, with something added.

#include "report/profile/Readers.h"

#include "ir/Error.h"

#include "nlohmann/json.hpp"
#include "llvm/ADT/STLExtras.h"

using namespace origo;
using namespace origo::report;
using llvm::StringRef;
using nlohmann::json;

namespace {

bool isOnnxRuntime(StringRef text) { return hasKey(text, "ph") && text.contains("_kernel_time\""); }

/// The dimensions of [{"float": [1, 2]}, …], of the first one.
std::vector<uint64_t> shapeOf(const json &args) {
  auto list = args.is_object() ? args.find("output_type_shape") : args.end();
  if (list == args.end() || !list->is_array() || list->empty() || !list->front().is_object() || list->front().empty() ||
      !list->front().begin()->is_array())
    return {};
  std::vector<uint64_t> shape;
  for (const json &dim : *list->front().begin())
    if (dim.is_number_unsigned())
      shape.push_back(dim.get<uint64_t>());
  return shape;
}

/// What the optimiser added to the name of a node or an output.
StringRef withoutAdditions(StringRef name) {
  name.consume_front("fused ");
  for (bool more = true; more;) {
    more = false;
    for (StringRef end : {"_nchwc", "_nhwc", "/MatMulAddFusion", "/GeluFusion/", "/LayerNormFusion/"})
      more |= name.consume_back(end);
  }
  return name;
}

struct Event {
  size_t row; ///< of those that events tell of
  bool node;
  uint64_t own, begin = 0, thread = 0;
};

/// What a node encloses, as If and Loop do, is counted there and not in it.
void takeInner(std::vector<Event> &events) {
  struct Open {
    Event *event;
    uint64_t end;
  };
  std::vector<Event *> order; // what encloses another one first
  for (Event &event : events)
    if (event.node)
      order.push_back(&event);
  llvm::stable_sort(order, [](const Event *a, const Event *b) {
    return std::pair(a->begin, ~a->own) < std::pair(b->begin, ~b->own);
  });
  std::map<uint64_t, std::vector<Open>> open; // by thread
  for (Event *next : order) {
    Event &event = *next;
    std::vector<Open> &around = open[event.thread];
    while (!around.empty() && around.back().end <= event.begin)
      around.pop_back();
    uint64_t time = event.own;
    if (!around.empty()) // times are whole microseconds, so that it may seem to end later
      around.back().event->own -= std::min(around.back().event->own, time);
    around.push_back({&event, event.begin + time});
  }
}

/// What an event tells, but for its time.
ProfileRow rowOf(StringRef name, bool node, const json &args) {
  ProfileRow row;
  row.rawName = name.str();
  if (node) {
    row.kind = textOf(args, "op_name").str();
    row.backend = textOf(args, "provider").str();
    row.tensor = row.ownDetails().sourceName = withoutAdditions(name);
    row.ownDetails().shape = shapeOf(args);
  } else {
    row.metric = name == "session_initialization" || name.starts_with("model_loading") ? "init_time" : "graph_time";
  }
  return row;
}

llvm::Error readOnnxRuntime(StringRef text, const ProfileOptions &, Profile &profile) {
  profile.tool = "onnxruntime";
  std::vector<Event> events;
  std::vector<ProfileRow> rows;
  std::map<std::pair<std::string, std::string>, size_t> numbers; // of rows by name and index
  auto take = [&](const ListedEvent &event) -> llvm::Error {
    const json *duration = event.find("dur");
    if (event.text("ph") != "X" || !duration)
      return llvm::Error::success();
    StringRef name = event.text("name");
    bool node = name.consume_back("_kernel_time");
    if (!node && event.text("cat") == "Node") // fences, around which nothing is computed
      return llvm::Error::success();
    auto time = parseDecimal(duration->dump(-1, ' ', true, json::error_handler_t::replace), 3);
    if (!time)
      return makeError("\"" + printable(name, 60) + "\": " + llvm::toString(time.takeError()));
    const json none, *given = event.find("args"), &args = given ? *given : none;
    auto [found, isNew] = numbers.try_emplace({name.str(), textOf(args, "node_index").str()}, rows.size());
    if (isNew)
      rows.push_back(rowOf(name, node, args));
    Event &is = events.emplace_back(Event{.row = found->second, .node = node, .own = *time});
    if (const json *begin = event.find("ts"); begin && begin->is_number_unsigned())
      is.begin = std::min(begin->get<uint64_t>(), uint64_t{INT64_MAX} / 1000) * 1000;
    if (const json *thread = event.find("tid"); thread && thread->is_number_unsigned())
      is.thread = thread->get<uint64_t>();
    return llvm::Error::success();
  };
  if (llvm::Error error = forEachEvent(text, take))
    return error;
  // Those of several threads end in another order than they begin in.
  llvm::stable_sort(events, [](const Event &a, const Event &b) { return a.begin < b.begin; });
  takeInner(events);
  uint32_t step = 0;
  constexpr size_t nowhere = SIZE_MAX;
  std::vector<size_t> places(rows.size(), nowhere);
  for (const Event &event : events) {
    size_t &place = places[event.row];
    if (place != nowhere) {
      ++profile.rows[place].count;
      if (llvm::Error error = addTime(profile.rows[place], event.own))
        return error;
      continue;
    }
    place = profile.rows.size();
    ProfileRow &row = profile.rows.emplace_back(std::move(rows[event.row]));
    row.value = event.own;
    if (event.node)
      row.step = step++;
  }
  return step ? llvm::Error::success() : makeError("has no event of a node");
}

} // namespace

namespace origo::report::formats {

std::vector<ProfileFormat> OnnxRuntime() {
  return {{"onnxruntime", Rank::Words, isOnnxRuntime, readOnnxRuntime, "ONNX Runtime's profiling (enableProfiling)"}};
}

} // namespace origo::report::formats
