#include "eval/CustomKernels.h"
#include "eval/Kernels.h"

#include "schema/OperatorFacts.h"

#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"

#include "gtest/gtest.h"

#include <cstdlib>
#include <map>
#include <vector>

/// docs/operators.md is the registry of kernels as a table. With ORIGO_BLESS=1 in the environment it is written anew.

using namespace origo;

namespace {

std::string document() {
  std::map<std::string, std::vector<std::string>> rows;
  auto add = [&](std::string name, const eval::KernelRow &row) {
    bool own = row.shapes == eval::ShapesFrom::Kernel || row.rule;
    rows[std::move(name)].push_back((row.types + (own ? " (shaped by the kernel)" : "")).str());
  };
  for (const eval::Kernel &row : eval::allKernels())
    add(operatorInfo(row.code)->name.str(), row);
  for (const eval::CustomKernel &row : eval::allCustomKernels())
    add(("CUSTOM " + row.customCode).str(), row.kernel);
  for (const OperatorInfo &info : allOperators())
    if (eval::isControlFlow(info.code))
      rows[info.name.str()] = {"by its subgraphs"};
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "# What runs\n\n"
        "The kernels of `eval/kernels/`, which `circle-interpreter --kernels` prints too: "
     << rows.size() << " operators.\n"
     << "What an operator computes is told of x, its first operand, and y, its second. Types, scales and dimensions of "
        "operands → of results, as [kernels](kernels.md) explains them: `f32|f16` "
        "either,"
        "\n`{t|c0}` one scale or one for each index of axis 0, `[n,h,w,c]` dimensions, `?` may be absent. Results "
        "have the shapes\nthat the rules of `ir/shapes` say, but for those of the rows that say so. How near they are "
        "to the real runtime is in\n[accuracy](records/accuracy.md).\n"
        "The test `KernelsDocument` compares this page, and writes it anew with `ORIGO_BLESS=1`.\n\n"
        "| operator | computes | types |\n|---|---|---|\n";
  for (const auto &[name, types] : rows) {
    const OperatorInfo *info = operatorInfo(llvm::StringRef(name)); // null: a custom one
    os << "| " << name << " | " << (info ? factsOf(info->code).computes : "") << " | ";
    for (size_t i = 0; i < types.size(); ++i) {
      auto [operands, results] = llvm::StringRef(types[i]).split(" -> ");
      os << (i ? "<br>" : "");
      for (char c : (operands + (results.empty() ? "" : " → ") + results).str())
        os << (c == '|' ? "\\" : "") << c;
    }
    os << " |\n";
  }
  return text;
}

TEST(KernelsDocument, EveryOperatorSaysWhatItComputes) {
  for (const OperatorInfo &info : allOperators())
    EXPECT_NE(factsOf(info.code).computes, llvm::StringRef()) << info.name.str();
}

TEST(KernelsDocument, IsUpToDate) {
  ASSERT_GT(eval::allKernels().size(), 300u);
  std::string path = ORIGO_SOURCE_DIR "/docs/operators.md", text = document();
  if (std::getenv("ORIGO_BLESS")) {
    std::error_code ec;
    llvm::raw_fd_ostream os(path, ec);
    ASSERT_FALSE(ec) << ec.message();
    os << text;
    return;
  }
  auto buffer = llvm::MemoryBuffer::getFile(path);
  ASSERT_TRUE(bool(buffer)) << path;
  EXPECT_TRUE((*buffer)->getBuffer() == text)
      << path << " is not what the registry has; ORIGO_BLESS=1 origo_tests --gtest_filter=KernelsDocument.* writes it";
}

} // namespace
