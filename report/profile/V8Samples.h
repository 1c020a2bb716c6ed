#pragma once

#include "report/profile/Profile.h"

#include <map>
#include <nlohmann/json_fwd.hpp>

/// What V8, the engine of Chromium and Node.js, samples of JavaScript and WebAssembly, by function. A sample lasts
/// until the next one.
namespace origo::report {

class V8Samples {
public:
  /// Adds a part of a profile, an object of JSON that has nodes, samples and differences of times; `stream` tells
  /// profiles apart.
  llvm::Error add(const std::string &stream, const nlohmann::json &part);
  bool empty() const { return streams.empty(); }
  llvm::Error finish(Profile &profile) const;

private:
  struct Sample {
    int64_t time;
    std::string function;
  };
  struct Stream {
    std::map<uint64_t, std::string> functions; ///< by node
    std::vector<Sample> samples;
    int64_t now = 0;
  };
  std::map<std::string, Stream> streams;
};

} // namespace origo::report
