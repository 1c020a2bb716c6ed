/// TensorRT: trtexec --exportProfile. A layer's name is that of a node or a tensor, or of several that became one: "a +
/// b", "a || b".

#include "report/profile/Readers.h"

#include "ir/Error.h"

#include "nlohmann/json.hpp"

using namespace origo;
using namespace origo::report;
using llvm::StringRef;
using nlohmann::json;

namespace {

bool isTensorRt(StringRef text) {
  return hasKey(text, "timeMs") && text.contains("\"averageMs\"") && text.contains("\"percentage\"");
}

llvm::Error readTensorRt(StringRef text, const ProfileOptions &, Profile &profile) {
  profile.tool = "tensorrt";
  if (llvm::Error error = checkJson(text))
    return error;
  json file = json::parse(text.begin(), text.end());
  if (!file.is_array())
    return makeError("is no list of layers");
  uint64_t runs = 1;
  for (const json &layer : file) {
    if (!layer.is_object())
      return makeError("an entry is no object");
    if (layer.contains("count") && layer["count"].is_number_unsigned() && !layer.contains("name"))
      runs = std::max<uint64_t>(layer["count"].get<uint64_t>(), 1);
    if (!layer.contains("name") || !layer["name"].is_string() || !layer.contains("timeMs"))
      continue;
    ProfileRow row;
    row.rawName = layer["name"].get<std::string>();
    auto time = parseDecimal(layer["timeMs"].dump(-1, ' ', true, json::error_handler_t::replace), 6);
    if (!time)
      return makeError("\"" + printable(row.rawName, 60) + "\": " + llvm::toString(time.takeError()));
    row.value = *time;
    row.count = runs;
    row.backend = "tensorrt";
    StringRef name = row.rawName;
    if (name.starts_with("Reformatting CopyNode")) // of the runtime itself
      name = {};
    std::vector<std::string> parts;
    for (StringRef rest = name; !rest.empty();) {
      size_t end = std::min(rest.find(" + "), rest.find(" || "));
      StringRef part = rest.take_front(end).trim();
      rest = end == StringRef::npos ? StringRef() : rest.substr(end).ltrim(" +|");
      if (!part.empty())
        parts.push_back(part.str());
    }
    if (parts.size() < 2)
      row.tensor = name;
    else
      row.ownDetails().tensors = std::move(parts);
    profile.rows.push_back(std::move(row));
  }
  return profile.rows.empty() ? makeError("has no layer with a name and \"timeMs\"") : llvm::Error::success();
}

} // namespace

namespace origo::report::formats {

std::vector<ProfileFormat> TensorRt() {
  return {
      {"tensorrt", Rank::Words, isTensorRt, readTensorRt, "trtexec --exportProfile; NOT VERIFIED against its source"}};
}

} // namespace origo::report::formats
