#include "MapFiles.h"

using namespace origo::origin;
using namespace origo::test;
using llvm::ArrayRef;
using llvm::StringRef;

namespace {

std::string words(std::initializer_list<uint32_t> values) {
  std::string result;
  for (uint32_t value : values)
    result.append(reinterpret_cast<char *>(&value), 4);
  return result;
}
std::string row(uint32_t id, const std::string &name) {
  return words({id, uint32_t(name.size() + 1)}) + name + std::string(1, '\0');
}
std::string oneError(const std::string &source, const std::string &op) {
  auto tables = decodeOneTables(bytes(source), bytes(op));
  return error(tables);
}

} // namespace

TEST(OneTablesTest, HoldARowForEveryOperatorAndANameForEveryId) {
  OriginMap map;
  map.source.subgraphs.push_back({"",
                                  0,
                                  0,
                                  {{"ADD", "", {0}}, {"ASSIGN_VARIABLE", "", {}}, {"MUL", "", {-1}}, {"NEG", "", {1}}},
                                  {{"sum", TensorKind::Activation}, {"", TensorKind::Activation}}});
  map.source.subgraphs.push_back({"", 4, 2, {{"ABS", "", {2}}, {"EXP", "", {3}}}, {{"inner", {}}, {"other", {}}}});
  map.target.subgraphs.resize(2);
  auto &rows = map.target.subgraphs[0].operators;
  rows.resize(3);
  rows[0].origins = {0, 1};
  rows[1].syntheticReason = "type-bridge";
  rows[1].serves = {3};
  rows[2].origins = {2, 5}; // inlined from the other subgraph
  map.target.subgraphs[1].operators.resize(1);
  map.target.subgraphs[1].operators[0].origins = {4};

  OneTables tables = encodeOneTables(map);
  EXPECT_EQ(tables.op, words({3, 0, 2, 0, 1, 1, 1, 3, 2, 2, 2, 5}));
  EXPECT_EQ(tables.source, words({5}) + row(0, "sum") + row(1, "ASSIGN_VARIABLE_1") + row(2, "MUL_2") +
                               row(3, "NEG_3") + row(5, "other"));
  auto read = decodeOneTables(bytes(tables.source), bytes(tables.op));
  ASSERT_TRUE(bool(read)) << error(read);
  ASSERT_EQ(read->names.size(), 5u);
  EXPECT_EQ(read->names[4], (std::pair<uint32_t, std::string>(5, "other")));
  ASSERT_EQ(read->operators.size(), 3u);
  EXPECT_EQ(read->operators[2].second, (std::vector<uint32_t>{2, 5}));
}

TEST(OneTablesTest, EmptyOperatorTableIsReadAsEmpty) {
  std::string source = words({1}) + row(7, "x"), op = words({0});
  auto read = decodeOneTables(bytes(source), bytes(op));
  ASSERT_TRUE(bool(read)) << error(read);
  EXPECT_EQ(read->names.size(), 1u);
  EXPECT_TRUE(read->operators.empty());
}

TEST(OneTablesTest, RefusesWhatIsDamaged) {
  std::string source = words({2}) + row(0, "a") + row(1, "b"), op = words({2, 0, 1, 0, 1, 2, 0, 1});
  ASSERT_EQ(oneError(source, op), "");
  for (size_t size = 0; size < source.size(); ++size)
    EXPECT_TRUE(contains(oneError(source.substr(0, size), op), "ONE_source_table: truncated")) << size;
  for (size_t size = 0; size < op.size(); ++size)
    EXPECT_TRUE(contains(oneError(source, op.substr(0, size)), "ONE_op_table: truncated")) << size;
  EXPECT_EQ(oneError(source + "x", op), "ONE_source_table: there are bytes behind its 2 rows");
  EXPECT_EQ(oneError(source, op + "x"), "ONE_op_table: there are bytes behind its 2 rows");
  EXPECT_EQ(oneError(words({2}) + row(1, "a") + row(1, "b"), op), "ONE_source_table: id 1 is there twice");
  EXPECT_EQ(oneError(words({1, 0, 1}) + "a", op), "ONE_source_table: the name of id 0 does not end in a NUL");
  EXPECT_EQ(oneError(words({1, 0, 0}), op), "ONE_source_table: the name of id 0 does not end in a NUL");
  EXPECT_EQ(oneError(source, words({2, 0, 1, 0, 0, 1, 1})), "ONE_op_table: operator 0 is there twice");
  EXPECT_EQ(oneError(source, words({1, 0, 0})), "ONE_op_table: operator 0 has no ids");
  EXPECT_EQ(oneError(source, words({1, 0, 2, 1, 1})), "ONE_op_table: operator 0 has an id twice");
  EXPECT_EQ(oneError(source, words({1, 0, 1, 9})), "ONE_op_table: operator 0: id 9 is not in ONE_source_table");
  EXPECT_TRUE(contains(oneError(words({~0u}), op), "truncated"));
  EXPECT_TRUE(contains(oneError(source, words({1, 0, ~0u, 0})), "truncated"));
}

/// The .circle networks come from ONE itself.
TEST(OneTablesPublicModels, AreRead) {
  unsigned read = 0, networks = 0;
  for (const std::string &path : publicModels().networks()) {
    ++networks;
    auto file = ModelFile::open(path);
    ASSERT_TRUE(bool(file)) << error(file);
    auto source = (*file)->metadata(oneSourceTable), op = (*file)->metadata(oneOpTable);
    if (!source || !op)
      continue;
    auto tables = decodeOneTables(*source, *op);
    EXPECT_TRUE(bool(tables)) << path << ": " << error(tables);
    ++read;
  }
  EXPECT_GE(networks, 50u);
  RecordProperty("read", read);
}
