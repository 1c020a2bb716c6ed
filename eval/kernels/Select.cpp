#include "eval/Kernels.h"
#include "eval/kernels/Move.h"

/// One of two elements by a condition, and where conditions hold.
namespace origo::eval {

namespace {

/// The condition stands for elements, for whole rows (it has one dimension), or for everything (a scalar).
llvm::Error select(KernelContext &ctx) {
  const Tensor &condition = ctx.input(0), &yes = ctx.input(1), &no = ctx.input(2);
  Tensor &output = ctx.output();
  auto holds = condition.as<uint8_t>();
  if (yes.bytes().empty())
    return llvm::Error::success();
  int64_t piece = static_cast<int64_t>(yes.bytes().size()) / condition.count();
  for (size_t i = 0; i < holds.size(); ++i)
    std::memcpy(output.storage.data() + i * piece, (holds[i] ? yes : no).bytes().data() + i * piece, piece);
  return llvm::Error::success();
}

llvm::Error selectBroadcast(KernelContext &ctx) {
  const Tensor &condition = ctx.input(0), &yes = ctx.input(1), &no = ctx.input(2);
  Tensor &output = ctx.output();
  int64_t size = elementSize(yes);
  auto holds = condition.as<uint8_t>();
  const uint8_t *a = yes.bytes().data(), *b = no.bytes().data();
  uint8_t *to = output.storage.data();
  for (Broadcast at(output.shape, {condition.shape, yes.shape, no.shape}); !at.done() && !ctx.late();
       at.next(), to += size)
    std::memcpy(to, holds[at.index(0)] ? a + at.index(1) * size : b + at.index(2) * size, size);
  return llvm::Error::success();
}

/// The positions of all elements that are not zero: a row of coordinates each.
template <class T> llvm::Error where(KernelContext &ctx) {
  const Tensor &in = ctx.input(0);
  auto x = in.as<T>();
  int64_t found = llvm::count_if(x, [](T element) { return element != 0; });
  if (found > std::numeric_limits<int32_t>::max())
    return ctx.fail("the result is too long");
  auto output = ctx.output(0, {static_cast<int32_t>(found), in.rank()});
  if (!output)
    return output.takeError();
  auto out = (*output)->as<int64_t>();
  auto strides = stridesOf(in.shape);
  size_t to = 0;
  for (size_t i = 0; i < x.size() && to < out.size(); ++i) {
    if (x[i] == 0)
      continue;
    int64_t rest = static_cast<int64_t>(i);
    for (int64_t stride : strides) {
      out[to++] = rest / stride;
      rest %= stride;
    }
  }
  return llvm::Error::success();
}

} // namespace

llvm::ArrayRef<KernelRow> selectKernels() {
  using Op = BuiltinOperator;
  static const KernelRow rows[] = {
      {Op::SELECT, "bool, any, same1 -> same1", select},
      {Op::SELECT_V2, "bool, any, same1 -> same1", selectBroadcast},
      {Op::WHERE, "bool|u8|i8 -> i64", where<uint8_t>, {}, ShapesFrom::Kernel},
      {Op::WHERE, "i32|u32 -> i64", where<uint32_t>, {}, ShapesFrom::Kernel},
      {Op::WHERE, "i64 -> i64", where<int64_t>, {}, ShapesFrom::Kernel},
      {Op::WHERE, "f32 -> i64", where<float>, {}, ShapesFrom::Kernel},
  };
  return rows;
}

} // namespace origo::eval
