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

bool isV8(StringRef text) { return isJson(text) && hasKey(text, "callFrame") && hasKey(text, "timeDeltas"); }

llvm::Error readV8(StringRef text, const ProfileOptions &, Profile &profile) {
  profile.tool = "v8";
  V8Samples samples;
  if (!text.ltrim().starts_with("[") && !hasKey(text, "traceEvents")) {
    if (llvm::Error error = checkJson(text))
      return error;
    if (llvm::Error error = samples.add("", json::parse(text.begin(), text.end())))
      return error;
    return samples.finish(profile);
  }
  auto take = [&](const ListedEvent &event) -> llvm::Error {
    const json *args = event.find("args"), *data = args ? memberOf(*args, "data") : nullptr;
    if (event.text("name") != "ProfileChunk" || !data)
      return llvm::Error::success();
    std::string stream; // of a process, each has an id
    for (const char *key : {"pid", "id"})
      if (const json *part = event.find(key))
        stream += part->dump(-1, ' ', true, json::error_handler_t::replace) + " ";
    return samples.add(stream, *data);
  };
  if (llvm::Error error = forEachEvent(text, take))
    return error;
  return samples.finish(profile);
}

} // namespace

namespace origo::report::formats {

std::vector<ProfileFormat> V8Profile() {
  return {{"v8", Rank::Words, isV8, readV8, "V8's samples, by function: .cpuprofile, and Chromium's traces with them"}};
}

} // namespace origo::report::formats
