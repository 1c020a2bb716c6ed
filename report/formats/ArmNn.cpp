/// Arm NN's IProfiler::Print: events in events, each with the times of all runs. Those that execute a workload say its
/// type, and are numbered as they run; a fused activation is a workload of its own.

#include "report/profile/Readers.h"

#include "ir/Error.h"

#include "nlohmann/json.hpp"
#include "llvm/ADT/STLExtras.h"

using namespace origo;
using namespace origo::report;
using llvm::StringRef;
using nlohmann::json;

namespace {

bool isArmNn(StringRef text) { return hasKey(text, "ArmNN") && text.contains("\"Wall clock time"); }

/// "RefConvolution2dWorkload_Execute" is of the back end "ref" and the type "Convolution2d"; empty for another event.
std::pair<std::string, std::string> workloadOf(StringRef name) {
  if (!name.consume_back("_Execute"))
    return {};
  std::string backend;
  for (StringRef known : {"Ref", "Neon", "Cl", "Gpu"})
    if (backend.empty() && name.consume_front(known))
      backend = known.lower();
  if (!name.consume_back("Workload"))
    return {};
  for (StringRef type : {"Float32", "Float16", "Uint8", "Int8", "Int32", "Float"})
    name.consume_back(type);
  return {backend, name == "Reshape" ? "ReshapeWorkload" : name.str()}; // of whatever only changes the shape
}

class Reader {
public:
  explicit Reader(Profile &profile) : profile(profile) {}

  llvm::Error read(const json &events, bool outermost) {
    for (const auto &[key, event] : events.items()) {
      if (!event.is_object() || !event.contains("type") || event["type"] != "Event")
        continue;
      auto [name, number] = StringRef(key).rsplit("_#");
      ProfileRow row;
      row.rawName = name.str();
      uint32_t place = 0;
      if (number.getAsInteger(10, place))
        return makeError("the event \"" + printable(key, 60) + "\" has no number");
      std::tie(row.backend, row.kind) = workloadOf(name);
      bool workload = !row.kind.empty();
      if (workload && row.kind != "Constant") // which is no operator's
        row.step = place;
      if (!workload) // around workloads, or beside them
        row.metric = outermost || name == "Execute" ? "graph_time" : "data_time";
      auto measured = takeTimes(event, row);
      if (!measured)
        return makeError("\"" + printable(key, 60) + "\": " + llvm::toString(measured.takeError()));
      if (*measured)
        profile.rows.push_back(std::move(row));
      if (!workload) // what a workload does inside is its time
        if (llvm::Error error = read(event, false))
          return error;
    }
    return llvm::Error::success();
  }

private:
  Profile &profile;

  static llvm::Expected<bool> takeTimes(const json &event, ProfileRow &row) {
    for (const auto &[key, measurement] : event.items()) {
      if (!StringRef(key).starts_with("Wall clock time_#") || !measurement.is_object() ||
          !measurement.contains("raw") || !measurement["raw"].is_array())
        continue;
      auto unit = measurement.contains("unit") && measurement["unit"].is_string()
                      ? nanosecondExponent(measurement["unit"].get_ref<const std::string &>())
                      : std::nullopt;
      if (!unit)
        return makeError("its time has no unit that is known");
      row.count = measurement["raw"].size();
      for (const json &time : measurement["raw"]) {
        auto value = parseDecimal(time.dump(-1, ' ', true, json::error_handler_t::replace), *unit);
        if (!value)
          return value.takeError();
        if (llvm::Error error = addTime(row, *value))
          return error;
      }
      return true;
    }
    return false;
  }
};

llvm::Error readArmNn(StringRef text, const ProfileOptions &, Profile &profile) {
  profile.tool = "armnn";
  profile.byLevels = true; // Graph::TopologicalSort
  if (llvm::Error error = checkJson(text))
    return error;
  json file = json::parse(text.begin(), text.end());
  if (!file.is_object() || !file.contains("ArmNN") || !file["ArmNN"].is_object())
    return makeError("has no object \"ArmNN\"");
  if (llvm::Error error = Reader(profile).read(file["ArmNN"], true))
    return error;
  // Numbers are given as events begin, over all of the file; its keys go by name.
  llvm::stable_sort(profile.rows, [](const ProfileRow &a, const ProfileRow &b) { return a.step < b.step; });
  uint32_t step = 0;
  for (ProfileRow &row : profile.rows)
    if (row.step)
      row.step = step++;
  return step ? llvm::Error::success() : makeError("has no workload that was executed");
}

} // namespace

namespace origo::report::formats {

std::vector<ProfileFormat> ArmNn() {
  return {{"armnn", Rank::Words, isArmNn, readArmNn,
           "Arm NN's profiler (IProfiler::Print): workloads by type, in the order of running"}};
}

} // namespace origo::report::formats
