#pragma once

#include "ir/ConstantExpressions.h"

/// How a constant was computed, as text: what an origin map says of it as `expression`.
namespace origo {

/// The operators that a constant was computed by from constants of the source, as docs/origin-map.md has it. Empty:
/// nobody told how it was computed, it takes more than `mostOperators`, or rewrites gave numbers that are more than a
/// few scalars.
std::string expressionText(const ConstantExpressions &all, const Value &constant);
constexpr unsigned mostOperators = 64, mostScalars = 4;

/// Such a text as a graph with one output. Its inputs have the ids of source tensors as names, and no shapes.
llvm::Expected<std::unique_ptr<Model>> parseExpression(llvm::StringRef text);
/// The source tensor that an input of such a graph is; none: its name is not a number.
std::optional<uint32_t> sourceOf(const Value &input);

} // namespace origo
