// What the generated program calls things, and what it says of layers that it does not have.
#pragma once
#include "graph.h"
#include "origin/OriginReader.h"

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

/// Names are any bytes that the author of the model chose. In a comment they must end neither it nor its line, and what
/// is left here can do nothing to a terminal either.
std::string clean(std::string_view name);

std::string sourceOperator(const origo::origin::OriginMap &map, uint32_t id);
std::string sourceTensor(const origo::origin::OriginMap &map, uint32_t id);

/// What an operator does the work of, a comment each.
std::string originLines(const origo::origin::OriginMap &map, const origo::origin::OperatorRow &row);
/// What a tensor stands for, or where the values of a constant come from, as a comment.
std::string tensorLine(const origo::origin::OriginMap &map, const origo::origin::TensorRow *row);
/// Layers that the generated code does not have, as comments.
std::string goneLines(const origo::origin::OriginReader &reader);

/// The origin that an operator is called by: of its type if there is one, and of these the one that multiplies most;
/// −1: none.
int64_t principal(const origo::origin::OriginMap &map, const origo::origin::OperatorRow &row);

/// Symbols of functions, as debuggers and profilers show them: the layer's name, as far as assemblers take it.
class Symbols {
public:
  std::string of(std::string_view name);

private:
  std::set<std::string> taken;
  std::map<std::string, size_t> last; ///< number that was given to a name
};

/// A function of the generated program.
struct Kernel {
  std::string symbol;
  std::string line; ///< FILE:LINE of the source; empty: none
  const origo::origin::OperatorRow *row = nullptr;
  uint32_t subgraph = 0, index = 0;
};

/// The source model as text, a line an operator: what #line refers to. Line id + 1 is that of operator `id`.
std::string listing(const origo::origin::OriginMap &map);
/// `gdb -x`: the commands `layer NAME` and `layers`.
std::string gdbScript(const origo::origin::OriginReader &reader, const std::vector<Kernel> &kernels,
                      const std::string &function);
/// For origin-dump --kernels.
std::string kernelTable(const origo::origin::OriginMap &map, const std::vector<Kernel> &kernels);

/// In quotes, for C and for JSON: what is not printable ASCII is escaped.
std::string cString(std::string_view bytes);
std::string jsonString(std::string_view text);
