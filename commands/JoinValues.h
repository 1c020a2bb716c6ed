#pragma once

#include "commands/Door.h"
#include "commands/Option.h"

/// origin-dump --join-values: tensors that a model had elsewhere, in terms of its source.
namespace origo::commands {

struct ValuesRequest {
  std::string folder, data, metric = "over_range";
};

/// The rows of a request whose member `Values` is a ValuesRequest.
constexpr Option ofValues{.category = "Tensors from elsewhere"};
template <auto Values>
constexpr std::array valuesOptions{
    option<Values, &ValuesRequest::folder>("join-values", "PATH",
                                           "Tell how far tensors that another runtime computed are from the source's, "
                                           "with --source and --json",
                                           ofValues),
    option<Values, &ValuesRequest::data>(
        "values-data", "PATH", "The inputs, as record-minmax reads them, where the dump does not have them", ofValues),
    option<Values, &ValuesRequest::metric>("values-metric", "NAME", "One of visq's figures (over_range)", ofValues),
};

llvm::Error joinValues(const ValuesRequest &request, const std::string &model, const std::string &source, bool json,
                       const Door &door);

} // namespace origo::commands
