#pragma once

#include "commands/Option.h"
#include "origin/codec/Embedded.h"

namespace origo::commands {

/// How a model is written beside its origins.
struct OriginRequest {
  origin::Embed embed = origin::Embed::Names;
  bool noSideFile = false;

  /// What ONE's --generate_profile_data asks for besides, which are ONE's tables.
  origin::Embed with(bool profileData) const {
    return profileData && embed == origin::Embed::Names ? origin::Embed::Full : embed;
  }
};

template <>
inline constexpr auto choicesOf<origin::Embed> =
    std::to_array<ChoiceOf<origin::Embed>>({{"names", origin::Embed::Names, "with source names (default)"},
                                            {"full", origin::Embed::Full, "and ONE's tables beside it"},
                                            {"ids", origin::Embed::Ids, "without names, which stay in the side file"},
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
