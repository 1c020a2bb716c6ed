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

StringRef textOf(const json &object, const char *key) {
  auto member = object.is_object() ? object.find(key) : object.end();
  return member != object.end() && member->is_string() ? StringRef(member->get_ref<const std::string &>()) : "";
}

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

llvm::Error readOnnxRuntime(StringRef text, const ProfileOptions &, Profile &profile) {
  profile.tool = "onnxruntime";
  struct Row {
    double begin;
    ProfileRow row;
  };
  std::vector<Row> rows; // in the order of running, for nodes of several threads end in another one
  std::map<std::pair<std::string, std::string>, size_t> known;
  auto take = [&](const json &event) -> llvm::Error {
    if (!event.is_object() || textOf(event, "ph") != "X" || !event.contains("dur"))
      return llvm::Error::success();
    StringRef name = textOf(event, "name");
    bool node = name.consume_back("_kernel_time");
    if (!node && textOf(event, "cat") == "Node") // fences, around which nothing is computed
      return llvm::Error::success();
    auto time = parseDecimal(event["dur"].dump(-1, ' ', true, json::error_handler_t::replace), 3);
    if (!time)
      return makeError("\"" + printable(name, 60) + "\": " + llvm::toString(time.takeError()));
    const json none, &args = event.contains("args") ? event["args"] : none;
    auto [found, isNew] = known.try_emplace({name.str(), textOf(args, "node_index").str()}, rows.size());
    if (!isNew) {
      ProfileRow &row = rows[found->second].row;
      ++row.count;
      return addTime(row, *time);
    }
    ProfileRow row;
    row.rawName = name.str();
    row.value = *time;
    if (node) {
      row.kind = textOf(args, "op_name").str();
      row.backend = textOf(args, "provider").str();
      row.tensor = withoutAdditions(name).str();
      row.shape = shapeOf(args);
    } else {
      row.metric = name == "session_initialization" || name.starts_with("model_loading") ? "init_time" : "graph_time";
    }
    auto begin = event.find("ts");
    rows.push_back({begin != event.end() && begin->is_number() ? begin->get<double>() : 0, std::move(row)});
    return llvm::Error::success();
  };
  if (llvm::Error error = forEachEvent(text, take))
    return error;
  llvm::stable_sort(rows, [](const Row &a, const Row &b) { return a.begin < b.begin; });
  uint32_t step = 0;
  for (Row &row : rows) {
    if (row.row.isSummed())
      row.row.step = step++;
    profile.rows.push_back(std::move(row.row));
  }
  return step ? llvm::Error::success() : makeError("has no event of a node");
}

} // namespace

namespace origo::report::formats {

std::vector<ProfileFormat> OnnxRuntime() {
  return {{"onnxruntime", Rank::Words, isOnnxRuntime, readOnnxRuntime, "ONNX Runtime's profiling (enableProfiling)"}};
}

} // namespace origo::report::formats
