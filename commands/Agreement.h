#pragma once

#include "commands/Door.h"
#include "commands/Option.h"
#include "report/errors/Agreement.h"

namespace origo::commands {

using report::AgreementBy;
template <>
inline constexpr auto choicesOf<AgreementBy> =
    std::to_array<ChoiceOf<AgreementBy>>({{"operator", AgreementBy::Operator, "operators of A"},
                                          {"scope", AgreementBy::Scope, "scopes in their names"},
                                          {"line", AgreementBy::Line, "lines of the program that made A"},
                                          {"file", AgreementBy::File, "files of that program"}});

/// Runs two models and prints which of their layers agree, and which part first, in terms of the first model. Where no
/// origin map leads from one to the other, tensors are paired by what they compute. `records` as circle-quantizer takes
/// them; empty: random numbers.
llvm::Error compareLayers(const std::string &first, const std::string &second, const std::string &records,
                          AgreementBy by, bool json, const Door &door);

} // namespace origo::commands
