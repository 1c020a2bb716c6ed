#include "eval/Kernels.h"
#include "eval/Shapes.h"

#include <map>

/// UNIQUE: each element once, in the order of appearance, and where each of the input's elements is among them.
namespace origo::eval {

namespace {

/// An order that also has a place for what is not a number.
template <class T> struct Less {
  bool operator()(T a, T b) const { return a == a && b == b ? a < b : a == a && b != b; }
};

template <class T, class Index> llvm::Error uniqueAs(KernelContext &ctx) {
  const Tensor &in = ctx.input(0);
  auto x = in.as<T>();
  std::map<T, Index, Less<T>> seen;
  std::vector<T> kept;
  std::vector<Index> places;
  for (T element : x) {
    auto [found, isNew] = seen.try_emplace(element, static_cast<Index>(kept.size()));
    if (isNew)
      kept.push_back(element);
    places.push_back(found->second);
  }
  Tensor *results[2] = {};
  for (unsigned i = 0; i < 2; ++i)
    if (ctx.wants(i)) {
      auto output = ctx.output(i, {i == 0 ? static_cast<int32_t>(kept.size()) : in.dim(0)});
      if (!output)
        return output.takeError();
      results[i] = *output;
    }
  if (results[0])
    llvm::copy(kept, results[0]->as<T>().begin());
  if (results[1])
    llvm::copy(places, results[1]->as<Index>().begin());
  return llvm::Error::success();
}

template <class T> llvm::Error unique(KernelContext &ctx) {
  TensorType index = ctx.wants(1) ? ctx.outputType(1) : TensorType::INT32;
  return index == TensorType::INT64 ? uniqueAs<T, int64_t>(ctx) : uniqueAs<T, int32_t>(ctx);
}

} // namespace

llvm::ArrayRef<KernelRow> uniqueKernels() {
  using Op = BuiltinOperator;
  static const KernelRow rows[] = {
      {Op::UNIQUE, "f32[_] -> f32, i32|i64", unique<float>, {}, ShapesFrom::Kernel},
      {Op::UNIQUE, "i8{n|t}[_] -> i8{n|t}, i32|i64", unique<int8_t>, {}, ShapesFrom::Kernel},
      {Op::UNIQUE, "u8{n|t}[_] -> u8{n|t}, i32|i64", unique<uint8_t>, {}, ShapesFrom::Kernel},
      {Op::UNIQUE, "i16{n|t}[_] -> i16{n|t}, i32|i64", unique<int16_t>, {}, ShapesFrom::Kernel},
      {Op::UNIQUE, "i32[_] -> i32, i32|i64", unique<int32_t>, {}, ShapesFrom::Kernel},
      {Op::UNIQUE, "i64[_] -> i64, i32|i64", unique<int64_t>, {}, ShapesFrom::Kernel},
  };
  return rows;
}

} // namespace origo::eval
