#include "report/errors/Search.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

#include <nlohmann/json.hpp>

namespace origo::report {

llvm::Expected<LayerSet> fewestLayers(llvm::ArrayRef<const Operator *> blamed, const Pairs &pairs, double bound,
                                      unsigned mostRuns, MeasureLayers measure) {
  LayerSet found;
  auto errorOf = [&](llvm::ArrayRef<const Operator *> list) {
    ++found.runs;
    return measure(closed(Layers(list.begin(), list.end()), pairs));
  };
  auto none = errorOf({});
  if (!none)
    return none.takeError();
  found.before = found.error = *none;
  if (*none <= bound)
    return found;
  auto all = errorOf(blamed);
  if (!all)
    return all.takeError();
  if (*all > bound) {
    std::string text;
    llvm::raw_string_ostream(text) << llvm::format("%.3g", *all);
    return makeError("with all layers of the source the output error is still " + text);
  }
  size_t low = 0, high = blamed.size(); // `low` of them do not suffice, `high` do
  found.error = *all;
  while (high - low > 1) {
    size_t middle = (low + high) / 2;
    auto error = errorOf(blamed.take_front(middle));
    if (!error)
      return error.takeError();
    if (*error <= bound) {
      high = middle;
      found.error = *error;
    } else {
      low = middle;
    }
  }
  found.layers.assign(blamed.begin(), blamed.begin() + high);
  for (size_t i = found.layers.size(); i-- > 0 && found.runs < mostRuns;) {
    std::vector<const Operator *> without = found.layers;
    without.erase(without.begin() + static_cast<std::ptrdiff_t>(i));
    auto error = errorOf(without);
    if (!error)
      return error.takeError();
    if (*error > bound)
      continue;
    found.layers = std::move(without);
    found.error = *error;
  }
  return found;
}

llvm::Expected<llvm::StringMap<double>> readVisq(llvm::StringRef text) {
  auto json = nlohmann::json::parse(text.begin(), text.end(), nullptr, false);
  auto list = json.is_object() ? json.find("error") : json.end();
  if (json.is_discarded() || list == json.end() || !list->is_array() || list->empty() || !list->front().is_object())
    return makeError("is not what visq writes: it has no list \"error\" of tensors");
  llvm::StringMap<double> errors;
  for (const auto &[name, error] : list->front().items())
    if (error.is_number())
      errors[name] = error.get<double>();
  return errors;
}

std::string floatConfig(llvm::ArrayRef<const Operator *> layers) {
  using Json = nlohmann::ordered_json;
  Json list = Json::array();
  for (const Operator *op : layers)
    if (op->result() && !op->result()->name.empty())
      list.push_back({{"name", op->result()->name.str()}, {"dtype", "float32"}, {"granularity", "channel"}});
  return Json{{"layers", std::move(list)}}.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

} // namespace origo::report
