#include "ir/PackedArray.h"
#include "ir/Provenance.h"
#include "origin/InlineVector.h"

#include <gtest/gtest.h>

#include <cstring>

/// The small lists that there is one of for each tensor of a model: each way to hold its elements, and the step
/// between.

namespace origo {
namespace {

TEST(Dims, OwnOrOfAFile) {
  int32_t file[] = {3, -1, 5, 7};
  Dims dims;
  EXPECT_TRUE(dims.empty());
  dims.view({file + 1, 3});
  EXPECT_EQ(dims.begin(), file + 1);
  Dims copy = dims;
  EXPECT_EQ(copy.begin(), file + 1);
  copy = llvm::ArrayRef<int32_t>(dims);
  EXPECT_NE(copy.begin(), file + 1);
  EXPECT_EQ(copy, dims);
  dims.unknownToOne();
  EXPECT_EQ(dims, (llvm::ArrayRef<int32_t>{1, 5, 7}));
  EXPECT_EQ(file[1], -1);
  EXPECT_FALSE(copy == dims);
  dims = llvm::ArrayRef<int32_t>(dims).drop_front(); // of itself
  EXPECT_EQ(dims, (llvm::ArrayRef<int32_t>{5, 7}));
  Dims moved = std::move(dims);
  EXPECT_EQ(moved.size(), 2u);
  moved = llvm::ArrayRef<int32_t>();
  EXPECT_TRUE(moved.empty());
  moved.unknownToOne();
  moved.view({});
  EXPECT_EQ(moved.size(), 0u);
}

TEST(Name, NoneDiffersFromAnEmptyOne) {
  Name name, copy;
  EXPECT_FALSE(name);
  name = llvm::StringRef("");
  EXPECT_TRUE(name && name.empty());
  copy = name;
  EXPECT_TRUE(copy && copy.empty());
  name = llvm::StringRef("conv/relu");
  copy = name;
  name = name.text().drop_front(5); // of itself
  EXPECT_EQ(name, "relu");
  EXPECT_EQ(copy, "conv/relu");
  name = llvm::StringRef();
  EXPECT_FALSE(name);
}

TEST(Relations, OneOrMany) {
  Relations list;
  for (uint32_t count = 1; count < 70; ++count) {
    list.push_back({count, 0, count % 2 == 0, count});
    ASSERT_EQ(list.size(), count);
    for (uint32_t i = 0; i < count; ++i) {
      ASSERT_EQ(list[i].tensor, i + 1);
      ASSERT_EQ(list[i].exact, (i + 1) % 2 == 0);
      ASSERT_EQ(list[i].lineage, i + 1);
    }
    Relations copy = list;
    copy.front().tensor = 1000;
    ASSERT_EQ(list.front().tensor, 1u);
    Relations moved = std::move(copy);
    ASSERT_EQ(moved.size(), count);
    ASSERT_TRUE(copy.empty()); // NOLINT: it is to be so
    moved.erase(moved.begin(), moved.end() - 1);
    ASSERT_EQ(moved.size(), 1u);
    ASSERT_EQ(moved.back().tensor, count == 1 ? 1000 : count);
  }
  list.clear();
  EXPECT_TRUE(list.empty());
}

TEST(InlineVector, HoldsThemOrTheirAddress) {
  for (size_t count = 0; count < 9; ++count) {
    std::vector<int32_t> expected;
    for (size_t i = 0; i < count; ++i)
      expected.push_back(static_cast<int32_t>(i) - 1);
    origin::InlineVector<int32_t> list = expected, copy = list;
    EXPECT_EQ(list, expected);
    for (size_t size : {size_t{0}, size_t{3}, size_t{4}, size_t{20}}) {
      origin::InlineVector<int32_t> other = list;
      other.resize(size);
      std::vector<int32_t> resized = expected;
      resized.resize(size);
      EXPECT_EQ(other, resized);
    }
    list.clear();
    EXPECT_TRUE(list.empty());
    EXPECT_EQ(copy, expected);
  }
}

TEST(Text, OfAnyLength) {
  for (size_t length = 0; length < 30; ++length) {
    std::string expected(length, 'x');
    if (length > 2)
      expected[1] = '\0';
    origin::Text text = expected, copy;
    copy = text;
    EXPECT_EQ(copy.str(), expected);
    EXPECT_EQ(copy.size(), length);
    EXPECT_EQ(copy.c_str()[length], '\0');
    EXPECT_EQ(copy, text);
    EXPECT_EQ(std::string("of ") + copy, "of " + expected);
    copy.clear();
    EXPECT_TRUE(copy.empty());
    EXPECT_STREQ(copy.c_str(), "");
  }
}

} // namespace
} // namespace origo
