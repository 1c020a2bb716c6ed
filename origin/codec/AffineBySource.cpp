#include "origin/codec/AffineBySource.h"

#include "origin/origin_reader.h"

#include "nlohmann/json.hpp"

using namespace origo;
using namespace origo::origin;
using nlohmann::json;

static constexpr const char *key = "affine-by-source";
static json termJson(const Term &term) {
  return term.kind == Term::Null ? json() : term.kind == Term::Number ? json(term.number) : json(term.constant);
}

std::string origin::affineBySource(const MapStep &step) {
  return json{{key, {{"axis", step.axis}, {"scale", termJson(step.scale)}, {"shift", termJson(step.shift)}}}}.dump();
}

bool origin::readAffineBySource(llvm::StringRef text, MapStep &step) {
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
