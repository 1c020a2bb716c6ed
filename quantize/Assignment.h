#pragma once

#include "ir/Model.h"

#include <array>
#include <optional>
#include <vector>

/// What each layer of a model is stored as, for a budget of error or of cost.
namespace origo::quantize {

enum class Level : uint8_t { Int8, Int16, Float };
constexpr size_t levelCount = 3;
/// What configurations call it: uint8, or int8 as TensorFlow Lite has it; int16; float32.
llvm::StringRef levelName(Level level, bool isUnsigned = true);

/// Of the operators of a subgraph, by position.
using Levels = std::vector<Level>;
/// What an operator costs, by level; none: it cannot be that.
using LevelCosts = std::vector<std::array<std::optional<double>, levelCount>>;
/// How far outputs are off.
using MeasureLevels = llvm::function_ref<llvm::Expected<double>(const Levels &levels)>;

struct Assignment {
  bool suffices = true; ///< else `levels` are those that come nearest
  Levels levels = {};
  double error = 0, cost = 0;
  double leastCost = 0, errorAtLeast = 0; ///< of each operator at its cheapest
};

/// The cheapest operators whose error is at most `bound`, and those with the least error that cost at most `budget`: as
/// far as a greedy search finds them. It starts with each operator at its cheapest, and measures each alone at each of
/// its other levels. What gains most for what it costs more comes first. For a bound, as many of these steps as it
/// needs, by bisection; then each operator is put back as far as the bound allows. For a budget, each step that
/// fits in.
llvm::Expected<Assignment> cheapestWithin(const LevelCosts &costs, double bound, MeasureLevels measure);
llvm::Expected<Assignment> bestWithin(const LevelCosts &costs, double budget, MeasureLevels measure);

/// Costs from a file in JSON: {"layers": [{"name", "uint8" or "int8", "int16", "float32"}, …]}, a number for each level
/// that the layer can have. Names are those of first results. Who is not in it costs nothing.
llvm::Expected<LevelCosts> readCosts(llvm::StringRef json, const Subgraph &graph, bool isUnsigned = true);
/// The same the other way.
std::string costsText(const LevelCosts &costs, const Subgraph &graph, llvm::StringRef unit, bool isUnsigned = true);

} // namespace origo::quantize
