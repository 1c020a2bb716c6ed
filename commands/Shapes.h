#pragma once

#include "ir/Model.h"

#include "llvm/ADT/ArrayRef.h"

/// Graphs of as many operators as one likes, each of which is the worst case of something: what is to stay linear is
/// tried on them.
namespace origo::commands {

class ShapeBuilder;

struct Shape {
  llvm::StringRef name, about;
  llvm::StringRef flags; ///< of circle2circle: what the shape is about
  unsigned divisor;      ///< benchmarks take this many times fewer operators, because each is so much bigger
  void (*make)(ShapeBuilder &builder, uint64_t operators);
};

llvm::ArrayRef<Shape> allShapes();

/// Fills an empty model. It has about that many operators: whole groups, and a few more.
void makeShape(Model &model, const Shape &shape, uint64_t operators);

} // namespace origo::commands
