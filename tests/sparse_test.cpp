#include "eval/Sparse.h"

#include "gtest/gtest.h"

#include <numeric>
#include <random>

using namespace origo::eval;

namespace {

/// What is made sparse and dense again is the same, whatever the layout.
TEST(Sparse, ThereAndBack) {
  std::mt19937 random(1);
  auto below = [&](unsigned end) { return static_cast<int32_t>(random() % end); };
  unsigned narrow = 0;
  for (unsigned turn = 0; turn < 500; ++turn) {
    std::vector<int32_t> shape;
    SparseLayout layout;
    for (int32_t i = 0, rank = 1 + below(4); i < rank; ++i) {
      shape.push_back(1 + below(6));
      layout.sparse.push_back(below(2));
    }
    for (int32_t i = 0; i < static_cast<int32_t>(shape.size()); ++i)
      if (below(2)) {
        layout.blockMap.push_back(i);
        layout.blockSize.push_back(shape[i] % 2 ? shape[i] : 2);
      }
    layout.order.resize(shape.size() + layout.blockMap.size());
    std::iota(layout.order.begin(), layout.order.end(), 0);
    std::shuffle(layout.order.begin(), layout.order.end(), random);
    size_t width = size_t{1} << below(4), count = width;
    for (int32_t size : shape)
      count *= size;
    std::vector<uint8_t> dense(count);
    for (uint8_t &byte : dense)
      byte = below(4) ? 0 : below(256);
    auto sparse = sparsify(layout, shape, dense, width);
    ASSERT_TRUE(bool(sparse)) << llvm::toString(sparse.takeError());
    narrow += sparse->stored.size() < dense.size();
    auto *table = flatbuffers::GetRoot<circle::SparsityParameters>(sparse->sparsity.data());
    llvm::ArrayRef<uint8_t> stored(reinterpret_cast<const uint8_t *>(sparse->stored.data()), sparse->stored.size());
    auto back = densify(*table, shape, stored, width);
    ASSERT_TRUE(bool(back)) << llvm::toString(back.takeError());
    EXPECT_TRUE(std::equal(dense.begin(), dense.end(), back->get())) << "turn " << turn;
  }
  EXPECT_GE(narrow, 100u);
}

/// Numbers that 16 bits do not hold are kept in 32.
TEST(Sparse, ManyElements) {
  std::vector<uint8_t> dense(70000, 1);
  std::vector<int32_t> shape{70000};
  auto sparse = sparsify({{0}, {true}, {}, {}}, shape, dense, 1);
  ASSERT_TRUE(bool(sparse)) << llvm::toString(sparse.takeError());
  auto *table = flatbuffers::GetRoot<circle::SparsityParameters>(sparse->sparsity.data());
  EXPECT_EQ(table->dim_metadata()->Get(0)->array_indices_type(), circle::SparseIndexVector::Int32Vector);
  llvm::ArrayRef<uint8_t> stored(reinterpret_cast<const uint8_t *>(sparse->stored.data()), sparse->stored.size());
  auto back = densify(*table, shape, stored, 1);
  ASSERT_TRUE(bool(back)) << llvm::toString(back.takeError());
  EXPECT_TRUE(std::equal(dense.begin(), dense.end(), back->get()));
}

} // namespace
