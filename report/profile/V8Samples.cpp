#include "report/profile/V8Samples.h"

#include "report/profile/Readers.h"

#include "ir/Error.h"

#include "nlohmann/json.hpp"
#include "llvm/ADT/STLExtras.h"

using namespace origo;
using namespace origo::report;
using nlohmann::json;

namespace {

const json *listOf(const json &object, const char *key) {
  const json *found = memberOf(object, key);
  return found && found->is_array() ? found : nullptr;
}

} // namespace

llvm::Error V8Samples::add(const std::string &stream, const json &part) {
  const json *inner = memberOf(part, "cpuProfile"), &of = inner ? *inner : part;
  Stream &is = streams[stream];
  if (const json *nodes = listOf(of, "nodes"))
    for (const json &node : *nodes) {
      const json *id = memberOf(node, "id"), *frame = memberOf(node, "callFrame");
      const json *name = frame ? memberOf(*frame, "functionName") : nullptr;
      if (!id || !id->is_number_unsigned() || !name || !name->is_string())
        return makeError("a node of the samples has no id, or no function");
      std::string function = name->get<std::string>();
      is.functions[id->get<uint64_t>()] = function.empty() ? "(anonymous)" : std::move(function);
    }
  const json *samples = listOf(of, "samples"), *deltas = listOf(part, "timeDeltas");
  if (!samples)
    return llvm::Error::success();
  if (!deltas || deltas->size() != samples->size())
    return makeError("there are not as many times as samples");
  for (size_t i = 0; i < samples->size(); ++i) {
    const json &node = (*samples)[i], &delta = (*deltas)[i];
    constexpr int64_t most = INT64_MAX / 4000; // microseconds that are nanoseconds, too
    if (!delta.is_number_integer() || (delta.is_number_unsigned() && delta.get<uint64_t>() > most) ||
        delta.get<int64_t>() < -most || (is.now += delta.get<int64_t>()) > most || is.now < -most)
      return makeError("a sample has no time");
    auto function = node.is_number_unsigned() ? is.functions.find(node.get<uint64_t>()) : is.functions.end();
    if (function == is.functions.end())
      return makeError("a sample is of a node that is not there");
    is.samples.push_back({is.now, function->second});
  }
  return llvm::Error::success();
}

llvm::Error V8Samples::finish(Profile &profile) const {
  std::map<std::string, size_t> rows;
  for (const auto &[name, stream] : streams) {
    std::vector<const Sample *> samples;
    for (const Sample &sample : stream.samples)
      samples.push_back(&sample);
    // Those of a thread that was interrupted come late.
    llvm::stable_sort(samples, [](const Sample *a, const Sample *b) { return a->time < b->time; });
    for (size_t i = 0; i + 1 < samples.size(); ++i) {
      auto [found, isNew] = rows.try_emplace(samples[i]->function, profile.rows.size());
      if (isNew) {
        ProfileRow &row = profile.rows.emplace_back();
        row.rawName = row.ownDetails().symbol = row.tensor = samples[i]->function;
        row.count = 0;
        if (row.rawName == "(idle)")
          row.metric = "idle_time";
      }
      ProfileRow &row = profile.rows[found->second];
      ++row.count;
      if (llvm::Error error = addTime(row, 1000 * static_cast<uint64_t>(samples[i + 1]->time - samples[i]->time)))
        return error;
    }
  }
  return profile.rows.empty() ? makeError("has no samples") : llvm::Error::success();
}
