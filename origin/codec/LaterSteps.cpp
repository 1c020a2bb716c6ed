#include "origin/codec/LaterSteps.h"

#include "origin/origin_reader.h"

#include <nlohmann/json.hpp>

#include <charconv>
#include <cmath>

using namespace origo;
using namespace origo::origin;
using nlohmann::json;

static constexpr const char *key = "affine-by-source";
static json termJson(const Term &term) {
  return term.kind == Term::Null ? json() : term.kind == Term::Number ? json(term.number) : json(term.constant);
}

bool origin::isLaterStep(const MapStep &step) {
  return step.kind == MapStep::Scaled || (step.kind == MapStep::Affine && step.bySource());
}

std::string origin::laterStepText(const MapStep &step) {
  if (step.kind == MapStep::Scaled) {
    std::string text = "{\"scaled\":{\"axis\":" + std::to_string(step.axis) + ",\"by\":[";
    char digits[40]; // as many as a float has, which are half of what a double would be given
    for (float factor : step.factors) {
      text += text.back() == '[' ? "" : ",";
      text.append(digits, std::to_chars(digits, std::end(digits), factor).ptr);
    }
    return text + "]}}";
  }
  return json{{key, {{"axis", step.axis}, {"scale", termJson(step.scale)}, {"shift", termJson(step.shift)}}}}.dump();
}

/// What stands behind "scaled": {"axis", "by"}. False: it is not that.
static bool readScaled(const json &value, MapStep &step) {
  if (!value.is_object() || !value.contains("axis") || !value.contains("by"))
    return false;
  const json &axis = value["axis"], &by = value["by"];
  if (!axis.is_number_unsigned() || axis.get<uint64_t>() > 64 || !by.is_array() || by.empty())
    return false;
  MapStep read;
  read.kind = MapStep::Scaled;
  read.axis = axis.get<int32_t>();
  for (const json &factor : by) {
    if (!factor.is_number() || !std::isfinite(factor.get<float>()))
      return false;
    read.factors.push_back(factor.get<float>());
  }
  step = std::move(read);
  return true;
}

bool origin::readLaterStep(llvm::StringRef text, MapStep &step) {
  if (text.starts_with("{\"scaled\"")) {
    json value = json::parse(text.begin(), text.end(), nullptr, false);
    return value.is_object() && value.size() == 1 && readScaled(value.front(), step);
  }
  origo_step read = {};
  read.kind = ORIGO_UNKNOWN_STEP;
  read.unknown = {text.data(), text.size()};
  origo__affine_by_source(&read);
  if (read.kind != ORIGO_AFFINE)
    return false;
  auto term = [](const origo_term &from) { return Term{Term::Kind(from.kind), from.number, from.constant}; };
  step = {};
  step.kind = MapStep::Affine;
  step.axis = read.axis;
  step.scale = term(read.scale);
  step.shift = term(read.shift);
  return true;
}
