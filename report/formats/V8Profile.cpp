/// V8's samples: a .cpuprofile of Node.js and DevTools, and a trace of Chromium in JSON with the category
/// v8.cpu_profiler, which has the same in chunks. A compiled network's functions go by their names in WebAssembly.

#include "report/profile/Readers.h"
#include "report/profile/V8Samples.h"

#include "ir/Error.h"

#include "nlohmann/json.hpp"

using namespace origo;
using namespace origo::report;
using llvm::StringRef;
using nlohmann::json;

namespace {

const json *member(const json &object, const char *key) {
  auto found = object.is_object() ? object.find(key) : object.end();
  return found == object.end() ? nullptr : &*found;
}

bool isV8(StringRef text) { return isJson(text) && hasKey(text, "callFrame") && hasKey(text, "timeDeltas"); }

llvm::Error readV8(StringRef text, const ProfileOptions &, Profile &profile) {
  profile.tool = "v8";
  if (llvm::Error error = checkJson(text))
    return error;
  json file = json::parse(text.begin(), text.end());
  V8Samples samples;
  const json *events = file.is_array() ? &file : member(file, "traceEvents");
  if (!events || !events->is_array()) {
    if (llvm::Error error = samples.add("", text))
      return error;
    return samples.finish(profile);
  }
  auto textOf = [](const json &value) { return value.dump(-1, ' ', true, json::error_handler_t::replace); };
  for (const json &event : *events) {
    const json *name = member(event, "name"), *args = member(event, "args");
    const json *data = args ? member(*args, "data") : nullptr;
    if (!name || *name != "ProfileChunk" || !data)
      continue;
    std::string stream; // of a process, each has an id
    for (const char *key : {"pid", "id"})
      if (const json *part = member(event, key))
        stream += textOf(*part) + " ";
    if (llvm::Error error = samples.add(stream, textOf(*data)))
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
