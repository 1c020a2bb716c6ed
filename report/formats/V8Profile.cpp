/// V8's samples: a .cpuprofile of Node.js and DevTools, and a trace of Chromium in JSON with the category
/// v8.cpu_profiler, which has the same in chunks. A compiled network's functions go by their names in WebAssembly.

#include "report/profile/Readers.h"
#include "report/profile/V8Samples.h"

#include "ir/Error.h"

#include "nlohmann/json.hpp"
#include "llvm/ADT/STLExtras.h"

using namespace origo;
using namespace origo::report;
using llvm::StringRef;
using nlohmann::json;

namespace {

const json *member(const json &object, const char *key) {
  auto found = object.is_object() ? object.find(key) : object.end();
  return found == object.end() ? nullptr : &*found;
}
const json *list(const json &object, const char *key) {
  const json *found = member(object, key);
  return found && found->is_array() ? found : nullptr;
}

} // namespace

llvm::Error V8Samples::add(const std::string &stream, const json &part) {
  const json *inner = member(part, "cpuProfile"), &of = inner ? *inner : part;
  Stream &is = streams[stream];
  if (const json *nodes = list(of, "nodes"))
    for (const json &node : *nodes) {
      const json *id = member(node, "id"), *frame = member(node, "callFrame");
      const json *name = frame ? member(*frame, "functionName") : nullptr;
      if (!id || !id->is_number_unsigned() || !name || !name->is_string())
        return makeError("a node of the samples has no id, or no function");
      std::string function = name->get<std::string>();
      is.functions[id->get<uint64_t>()] = function.empty() ? "(anonymous)" : std::move(function);
    }
  const json *samples = list(of, "samples"), *deltas = list(part, "timeDeltas");
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
        row.rawName = row.symbol = row.tensor = samples[i]->function;
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

namespace {

bool isV8(StringRef text) { return isJson(text) && hasKey(text, "callFrame") && hasKey(text, "timeDeltas"); }

llvm::Error readV8(StringRef text, const ProfileOptions &, Profile &profile) {
  profile.tool = "v8";
  if (llvm::Error error = checkJson(text))
    return error;
  json file = json::parse(text.begin(), text.end());
  V8Samples samples;
  const json *events = list(file, "traceEvents");
  if (!events) {
    if (llvm::Error error = samples.add("", file))
      return error;
    return samples.finish(profile);
  }
  for (const json &event : *events) {
    const json *name = member(event, "name"), *args = member(event, "args");
    const json *data = args ? member(*args, "data") : nullptr;
    if (!name || *name != "ProfileChunk" || !data)
      continue;
    std::string stream; // of a process, each has an id
    for (const char *key : {"pid", "id"})
      if (const json *part = member(event, key))
        stream += part->dump(-1, ' ', true, json::error_handler_t::replace) + " ";
    if (llvm::Error error = samples.add(stream, *data))
      return error;
  }
  return samples.finish(profile);
}

} // namespace

namespace origo::report::formats {

std::vector<ProfileFormat> V8Profile() {
  return {{"v8", Rank::Words, isV8, readV8, "V8's samples, by function: .cpuprofile, and Chromium's traces with them"}};
}

} // namespace origo::report::formats
