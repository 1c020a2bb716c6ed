#include "origin/check/Movement.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Endian.h"

using namespace origo;
using namespace origo::origin;

namespace {

using Shape = llvm::SmallVector<int32_t, 6>;

std::optional<Shape> shapeOf(const FileGraph &file, int32_t tensor) {
  const auto *shape = tensor < 0 ? nullptr : file.tensors[tensor]->shape();
  if (!shape || llvm::any_of(*shape, [](int32_t dim) { return dim <= 0; }))
    return std::nullopt;
  return Shape(shape->begin(), shape->end());
}

/// A dimension that has more than one element: of which size, and which one of the first operand it is.
struct Axis {
  int32_t size;
  unsigned place;
};
using Axes = llvm::SmallVector<Axis, 6>;

Axes axesOf(const Shape &shape) {
  Axes axes;
  for (int32_t size : shape)
    if (size != 1)
      axes.push_back({size, static_cast<unsigned>(axes.size())});
  return axes;
}

bool isSorted(const Axes &axes) {
  return llvm::is_sorted(axes, [](const Axis &a, const Axis &b) { return a.place < b.place; });
}

/// The order in which a TRANSPOSE leaves the dimensions of its operand that have more than one element.
std::optional<Axes> transposed(const FileGraph &file, int32_t permutation, const Shape &from, const Axes &axes) {
  if (permutation < 0 || file.kind[permutation] != TensorKind::Constant ||
      file.tensors[permutation]->type() != circle::TensorType::INT32)
    return std::nullopt;
  ModelView::Bytes bytes = file.payload(permutation);
  if (bytes.size != from.size() * sizeof(int32_t))
    return std::nullopt;
  Axes moved;
  for (size_t i = 0; i < from.size(); ++i) {
    auto axis = static_cast<int32_t>(llvm::support::endian::read32le(bytes.data + i * sizeof(int32_t)));
    axis += axis < 0 ? static_cast<int32_t>(from.size()) : 0;
    if (axis < 0 || static_cast<size_t>(axis) >= from.size())
      return std::nullopt;
    if (from[axis] != 1)
      moved.push_back(
          axes[llvm::count_if(llvm::ArrayRef(from).take_front(axis), [](int32_t dim) { return dim != 1; })]);
  }
  return moved.size() == axes.size() ? std::optional(moved) : std::nullopt;
}

} // namespace

void origin::excuseDetours(const FileGraph &file, llvm::ArrayRef<uint32_t> way,
                           llvm::SmallVectorImpl<uint32_t> &missing) {
  for (size_t first = 0; first < way.size() && !missing.empty(); ++first)
    for (size_t count = 1; count <= mostMoves && first + count <= way.size(); ++count) {
      llvm::ArrayRef<uint32_t> part = way.slice(first, count);
      if (llvm::any_of(missing, [&](uint32_t id) { return llvm::is_contained(part, id); }) && movesNothing(file, part))
        llvm::erase_if(missing, [&](uint32_t id) { return llvm::is_contained(part, id); });
    }
}

bool origin::movesNothing(const FileGraph &file, llvm::ArrayRef<uint32_t> way) { return keepsOrder(file, way, true); }

bool origin::keepsOrder(const FileGraph &file, llvm::ArrayRef<uint32_t> way, bool andShape) {
  std::optional<Shape> first, from, before;
  Axes axes;
  for (uint32_t op : way) {
    llvm::SmallVector<int32_t, 4> inputs, outputs;
    file.forEachInput(op, [&](int32_t tensor) { inputs.push_back(tensor); });
    file.forEachOutput(op, [&](int32_t tensor) { outputs.push_back(tensor); });
    const OperatorInfo *info = file.opcode(op).info;
    if (!info || inputs.empty() || outputs.size() != 1)
      return false;
    from = shapeOf(file, inputs[0]);
    auto to = shapeOf(file, outputs[0]);
    if (!from || !to || (before && *before != *from))
      return false;
    before = to;
    if (!first) {
      first = from;
      axes = axesOf(*from);
    }
    using enum circle::BuiltinOperator;
    if (info->code == TRANSPOSE) {
      auto moved = transposed(file, inputs.size() > 1 ? inputs[1] : -1, *from, axes);
      if (!moved)
        return false;
      axes = *moved;
    } else if (info->code == RESHAPE || info->code == SQUEEZE || info->code == EXPAND_DIMS) {
      Axes next = axesOf(*to);
      if (llvm::equal(axes, next, [](const Axis &a, const Axis &b) { return a.size == b.size; }))
        continue;
      if (!isSorted(axes))
        return false;
      axes = next; // still in the order of the elements
    } else {
      return false;
    }
  }
  if (way.empty() || !isSorted(axes))
    return false;
  int32_t last = -1;
  file.forEachOutput(way.back(), [&](int32_t tensor) { last = tensor; });
  return !andShape || shapeOf(file, last) == first;
}
