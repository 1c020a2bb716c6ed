#pragma once

#include "ir/Model.h"

namespace origo::origin {
struct OneTables;
struct OriginMap;
} // namespace origo::origin

/// Where tests/mutants puts faults into the provenance, to see that the checks notice. It compiles the few sources that
/// call these a second time, with ORIGO_MUTANTS; in every other build there is nothing behind the calls.
namespace origo::mutation {

#ifdef ORIGO_MUTANTS
inline constexpr bool possible = true;
void joined(Model &model, IdSet &origins);   ///< an operator's origins
void derived(Model &model, Value &constant); ///< what a constant was computed from
void related(Model &model, Value &value);    ///< a value's relations
void buried(Model &model);                   ///< the last tombstone
void exported(origin::OriginMap &map);       ///< the map as it is written
void exported(origin::OneTables &tables);
#else
inline constexpr bool possible = false;
static inline void joined(Model &, IdSet &) {}
static inline void derived(Model &, Value &) {}
static inline void related(Model &, Value &) {}
static inline void buried(Model &) {}
static inline void exported(origin::OriginMap &) {}
static inline void exported(origin::OneTables &) {}
#endif

} // namespace origo::mutation
