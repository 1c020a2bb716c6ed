#pragma once

#include "commands/Option.h"
#include "origin/codec/Embedded.h"

namespace origo::commands {

/// How a model is written beside its origins.
struct OriginRequest {
  origin::Embed embed = origin::Embed::Full;
  bool noSideFile = false;
};

template <>
inline constexpr auto choicesOf<origin::Embed> = std::to_array<ChoiceOf<origin::Embed>>(
    {{"full", origin::Embed::Full, "with source names, and ONE's tables beside it (default)"},
     {"ids", origin::Embed::Ids, "without names, which stay in the side file, and without ONE's tables"},
     {"none", origin::Embed::None, "nothing"}});

/// The rows of a request whose member `Origins` is an OriginRequest.
template <auto Origins>
constexpr std::array originRows{
    option<Origins, &OriginRequest::embed>("embed-origin", "WHAT",
                                           "The origin map inside the model:", {.category = "Origins"}),
    option<Origins, &OriginRequest::noSideFile>("no-origin-json", "No side file OUTPUT.origin.json",
                                                {.category = "Origins", .python = Without::Place}),
};

} // namespace origo::commands
