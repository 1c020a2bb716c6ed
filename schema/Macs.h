#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace origo {

/// What an operator's multiplications are counted from. A negative dimension is one that is not known; an operand that
/// is left out has the shape {0}.
struct OperatorShapes {
  std::string op; ///< CONV_2D
  std::vector<std::vector<int64_t>> inputs, outputs;
};

/// Multiply-accumulates of one run, by the formulas of docs/metrics.md. Zero for an operator that multiplies no matrix
/// and no window; nothing where a shape is not known, or what the operator does.
std::optional<uint64_t> macs(const OperatorShapes &shapes);

/// How the row of an operator says that they are counted (Operators.def).
using MacRule = std::optional<uint64_t> (*)(const OperatorShapes &);
std::optional<uint64_t> convolutionMacs(const OperatorShapes &shapes);
std::optional<uint64_t> depthwiseMacs(const OperatorShapes &shapes);
std::optional<uint64_t> convolution3dMacs(const OperatorShapes &shapes);
std::optional<uint64_t> transposedMacs(const OperatorShapes &shapes);
std::optional<uint64_t> fullyConnectedMacs(const OperatorShapes &shapes);
std::optional<uint64_t> matrixProductMacs(const OperatorShapes &shapes);
std::optional<uint64_t> recurrentMacs(const OperatorShapes &shapes);
std::optional<uint64_t> unknownMacs(const OperatorShapes &shapes); ///< it multiplies, by what shapes do not tell

/// Has the operator of that name multiply-accumulates at all, where its shapes are known?
bool multiplies(const std::string &op);

} // namespace origo
