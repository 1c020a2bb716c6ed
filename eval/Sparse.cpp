#include "eval/Sparse.h"

#include "eval/Tensor.h"
#include "ir/Error.h"

#include "llvm/Support/MathExtras.h"

#include <cstring>

namespace origo::eval {

namespace {

using IndexList = llvm::SmallVector<int64_t, 0>;

template <class Vector> IndexList widen(const Vector *vector) {
  IndexList list;
  if (vector && vector->values())
    list.assign(vector->values()->begin(), vector->values()->end());
  return list;
}

/// Levels of the traversal, outermost first: the dimensions in any order, then the dimensions inside of blocks.
class Densifier {
public:
  Densifier(llvm::ArrayRef<int32_t> shape, llvm::ArrayRef<uint8_t> stored, size_t elementBytes)
      : shape(shape), stored(stored), elementBytes(elementBytes), coordinates(shape.size(), 0) {}

  /// Checks all but the indices themselves.
  llvm::Error prepare(const circle::SparsityParameters &sparsity) {
    const auto *order = sparsity.traversal_order();
    const auto *dimensions = sparsity.dim_metadata();
    const auto *blocks = sparsity.block_map();
    size_t rank = shape.size(), blocked = blocks ? blocks->size() : 0, count = rank + blocked;
    if (!order || !dimensions || order->size() != count || dimensions->size() != count)
      return makeError("its sparsity does not name each dimension");
    for (size_t i = 0; i < blocked; ++i)
      if (blocks->Get(i) < 0 || static_cast<size_t>(blocks->Get(i)) >= rank)
        return makeError("a block of its sparsity is of no dimension");
    llvm::SmallVector<bool> seen(count, false);
    llvm::SmallVector<int64_t> blockSize(rank, 1);
    llvm::SmallVector<bool> hasBlock(rank, false);
    for (size_t i = 0; i < count; ++i) {
      int32_t place = order->Get(i);
      if (place < 0 || static_cast<size_t>(place) >= count || seen[place])
        return makeError("the traversal order of its sparsity is no order of its dimensions");
      seen[place] = true;
      const circle::DimensionMetadata &data = *dimensions->Get(i);
      Level level;
      bool inner = static_cast<size_t>(place) >= rank;
      level.dimension = inner ? blocks->Get(place - rank) : place;
      level.inner = inner;
      level.sparse = data.format() == circle::DimensionType::SPARSE_CSR;
      level.size = data.dense_size();
      if (level.sparse) {
        level.segments = list(data.array_segments_type(), data.array_segments());
        level.indices = list(data.array_indices_type(), data.array_indices());
      }
      if (inner) {
        if (level.sparse || level.size <= 0 || level.size > shape[level.dimension] || hasBlock[level.dimension])
          return makeError("its sparsity has an impossible block");
        hasBlock[level.dimension] = true;
        blockSize[level.dimension] = level.size;
      }
      levels.push_back(std::move(level));
    }
    for (Level &level : levels) {
      int64_t block = blockSize[level.dimension];
      if (shape[level.dimension] % block)
        return makeError("blocks of its sparsity do not fill dimension " + llvm::Twine(level.dimension));
      level.step = level.inner ? 1 : block;
      if (level.inner)
        continue;
      int64_t size = shape[level.dimension] / block;
      if (!level.sparse && level.size != size)
        return makeError("its sparsity has another size of dimension " + llvm::Twine(level.dimension));
      level.size = size;
    }
    return llvm::Error::success();
  }

  llvm::Error visit(size_t depth, int64_t position, uint8_t *dense) {
    if (depth == levels.size()) {
      if (static_cast<size_t>(position) >= stored.size() / elementBytes)
        return makeError("its sparsity names more elements than are stored");
      int64_t at = 0;
      for (size_t i = 0; i < shape.size(); ++i)
        at = at * shape[i] + coordinates[i];
      std::memcpy(dense + at * elementBytes, stored.data() + position * elementBytes, elementBytes);
      return llvm::Error::success();
    }
    const Level &level = levels[depth];
    int64_t begin = 0, end = 0;
    if (!level.sparse && (llvm::MulOverflow(position, level.size, begin) || llvm::AddOverflow(begin, level.size, end)))
      return makeError("its sparsity names more elements than are stored");
    if (level.sparse) {
      if (static_cast<size_t>(position) + 1 >= level.segments.size())
        return makeError("the segments of its sparsity are too few");
      begin = level.segments[position];
      end = level.segments[position + 1];
      if (begin < 0 || end < begin || static_cast<size_t>(end) > level.indices.size())
        return makeError("a segment of its sparsity is out of range");
    }
    int64_t &coordinate = coordinates[level.dimension];
    for (int64_t i = begin; i < end; ++i) {
      int64_t index = level.sparse ? level.indices[i] : i - begin;
      if (index < 0 || index >= level.size)
        return makeError("index " + llvm::Twine(index) + " of its sparsity is out of range");
      coordinate += index * level.step;
      if (llvm::Error error = visit(depth + 1, i, dense))
        return error;
      coordinate -= index * level.step;
    }
    return llvm::Error::success();
  }

private:
  struct Level {
    int32_t dimension = 0;
    bool inner = false, sparse = false;
    int64_t size = 0; ///< how many places there are
    int64_t step = 1; ///< how far one place is from the next, in the dimension's elements
    IndexList segments, indices;
  };

  static IndexList list(circle::SparseIndexVector type, const void *vector) {
    switch (type) {
    case circle::SparseIndexVector::Int32Vector:
      return widen(static_cast<const circle::Int32Vector *>(vector));
    case circle::SparseIndexVector::Uint16Vector:
      return widen(static_cast<const circle::Uint16Vector *>(vector));
    case circle::SparseIndexVector::Uint8Vector:
      return widen(static_cast<const circle::Uint8Vector *>(vector));
    default:
      return {};
    }
  }

  llvm::ArrayRef<int32_t> shape;
  llvm::ArrayRef<uint8_t> stored;
  size_t elementBytes;
  llvm::SmallVector<Level> levels;
  llvm::SmallVector<int64_t> coordinates;
};

/// Goes through the levels as Densifier does, and keeps what is there.
class Sparsifier {
public:
  Sparsifier(llvm::ArrayRef<uint8_t> dense, size_t elementBytes) : dense(dense), elementBytes(elementBytes) {}

  llvm::Error prepare(const SparseLayout &layout, llvm::ArrayRef<int32_t> shape) {
    size_t rank = shape.size(), count = rank + layout.blockMap.size();
    if (layout.sparse.size() != rank)
      return makeError("the formats are not one for each of its " + llvm::Twine(rank) + " dimensions");
    if (layout.blockSize.size() != layout.blockMap.size())
      return makeError("there is not one size for each dimension in the block map");
    llvm::SmallVector<int64_t> steps(rank, static_cast<int64_t>(elementBytes)), blocks(rank, 1);
    for (size_t i = rank; i-- > 1;)
      steps[i - 1] = steps[i] * shape[i];
    for (auto [dimension, size] : llvm::zip(layout.blockMap, layout.blockSize)) {
      if (dimension < 0 || static_cast<size_t>(dimension) >= rank || blocks[dimension] != 1)
        return makeError("the block map has a dimension twice, or one that is not there");
      if (size < 1 || shape[dimension] % size)
        return makeError("blocks of " + llvm::Twine(size) + " do not fill dimension " + llvm::Twine(dimension));
      blocks[dimension] = size;
    }
    llvm::SmallVector<bool> seen(count, false);
    if (layout.order.size() != count)
      return makeError("the traversal order does not name each dimension and each block");
    for (int32_t place : layout.order) {
      if (place < 0 || static_cast<size_t>(place) >= count || std::exchange(seen[place], true))
        return makeError("the traversal order does not name each dimension and each block");
      bool inner = static_cast<size_t>(place) >= rank;
      int32_t dimension = inner ? layout.blockMap[place - rank] : place;
      levels.push_back({inner ? blocks[dimension] : shape[dimension] / blocks[dimension],
                        inner ? steps[dimension] : steps[dimension] * blocks[dimension],
                        !inner && layout.sparse[place]});
    }
    return llvm::Error::success();
  }

  void visit(size_t depth, int64_t at) {
    if (depth == levels.size()) {
      stored.append(reinterpret_cast<const char *>(dense.data() + at), elementBytes);
      return;
    }
    Level &level = levels[depth];
    for (int64_t i = 0; i < level.size; ++i) {
      if (level.sparse && isZero(depth + 1, at + i * level.step))
        continue;
      if (level.sparse)
        level.indices.push_back(static_cast<int32_t>(i));
      visit(depth + 1, at + i * level.step);
    }
    level.segments.push_back(static_cast<int32_t>(level.indices.size()));
  }

  SparseConstant take(const SparseLayout &layout) {
    flatbuffers::FlatBufferBuilder builder;
    std::vector<flatbuffers::Offset<circle::DimensionMetadata>> dimensions;
    for (const Level &level : levels) {
      if (!level.sparse) {
        auto size = static_cast<int32_t>(level.size);
        dimensions.push_back(circle::CreateDimensionMetadata(builder, circle::DimensionType::DENSE, size));
        continue;
      }
      auto [segmentType, segments] = list(builder, level.segments);
      auto [indexType, indices] = list(builder, level.indices);
      dimensions.push_back(circle::CreateDimensionMetadata(builder, circle::DimensionType::SPARSE_CSR, 0, segmentType,
                                                           segments, indexType, indices));
    }
    builder.Finish(circle::CreateSparsityParametersDirect(
        builder, &layout.order, layout.blockMap.empty() ? nullptr : &layout.blockMap, &dimensions));
    return {std::move(stored), builder.Release()};
  }

private:
  struct Level {
    int64_t size, step; ///< the step is in bytes
    bool sparse;
    std::vector<int32_t> segments{0}, indices{};
  };
  llvm::ArrayRef<uint8_t> dense;
  size_t elementBytes;
  std::vector<Level> levels;
  std::string stored;

  bool isZero(size_t depth, int64_t at) const {
    if (depth == levels.size())
      return llvm::all_of(dense.slice(at, elementBytes), [](uint8_t byte) { return byte == 0; });
    for (int64_t i = 0; i < levels[depth].size; ++i)
      if (!isZero(depth + 1, at + i * levels[depth].step))
        return false;
    return true;
  }

  /// In 16 bits, which every reader knows, where they are enough.
  static std::pair<circle::SparseIndexVector, flatbuffers::Offset<void>> list(flatbuffers::FlatBufferBuilder &builder,
                                                                              const std::vector<int32_t> &numbers) {
    if (llvm::any_of(numbers, [](int32_t number) { return number > UINT16_MAX; }))
      return {circle::SparseIndexVector::Int32Vector, circle::CreateInt32VectorDirect(builder, &numbers).Union()};
    std::vector<uint16_t> narrow(numbers.begin(), numbers.end());
    return {circle::SparseIndexVector::Uint16Vector, circle::CreateUint16VectorDirect(builder, &narrow).Union()};
  }
};

} // namespace

llvm::Expected<SparseConstant> sparsify(const SparseLayout &layout, llvm::ArrayRef<int32_t> shape,
                                        llvm::ArrayRef<uint8_t> dense, size_t elementBytes) {
  Sparsifier sparsifier(dense, elementBytes);
  if (llvm::Error error = sparsifier.prepare(layout, shape))
    return error;
  sparsifier.visit(0, 0);
  return sparsifier.take(layout);
}

llvm::Expected<std::unique_ptr<uint8_t[]>> densify(const circle::SparsityParameters &sparsity,
                                                   llvm::ArrayRef<int32_t> shape, llvm::ArrayRef<uint8_t> stored,
                                                   size_t elementBytes) {
  Densifier densifier(shape, stored, elementBytes);
  if (llvm::Error error = densifier.prepare(sparsity))
    return error;
  auto dense = std::make_unique<uint8_t[]>(static_cast<size_t>(product(shape)) * elementBytes);
  if (product(shape) > 0)
    if (llvm::Error error = densifier.visit(0, 0, dense.get()))
      return error;
  return dense;
}

} // namespace origo::eval
