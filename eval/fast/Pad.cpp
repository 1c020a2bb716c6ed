#include "eval/fast/Loops.h"
#include "eval/kernels/Move.h"

/// The operand in the middle, and around it a constant or its mirror image.
namespace origo::eval {

namespace {

using Op = BuiltinOperator;

/// A dimension of the result.
struct Side {
  int64_t before, length, after, fromStep, step;
};

/// The amounts may be computed.
llvm::SmallVector<Side, 6> sidesOf(const Operator &op, Operands operands, const Tensor &out) {
  const Tensor &in = *operands[0];
  auto amounts = *FastSite(op, operands).values(1);
  auto from = stridesOf(in.shape), to = stridesOf(out.shape);
  llvm::SmallVector<Side, 6> sides;
  for (size_t d = 0; d < in.shape.size(); ++d)
    sides.push_back({amounts[2 * d], in.shape[d], amounts[2 * d + 1], from[d], to[d]});
  return sides;
}

/// Copies the operand to its place.
void moveMiddle(llvm::ArrayRef<Side> sides, const Tensor &in, Tensor &out, int64_t size, pthreadpool_t threads) {
  Loops<2> loops;
  int64_t offset = 0;
  for (const Side &side : sides) {
    loops.add(side.length, {side.fromStep, side.step});
    offset += side.before * side.step;
  }
  moveStrided(loops, in.storage.data(), out.storage.data() + offset * size, size, threads);
}

/// In place: what lies around the middle of dimension `which`, from what is in it. The dimensions inside are whole
/// already, of those outside only the middle is there.
void moveAround(llvm::ArrayRef<Side> sides, size_t which, int64_t border, uint8_t *data, int64_t size,
                pthreadpool_t threads) {
  for (bool behind : {false, true}) {
    const Side &side = sides[which];
    Loops<2> loops;
    int64_t offset = 0;
    for (size_t d = 0; d < which; ++d) {
      loops.add(sides[d].length, {sides[d].step, sides[d].step});
      offset += sides[d].before * sides[d].step;
    }
    loops.add(behind ? side.after : side.before, {-side.step, side.step});
    for (const Side &inside : sides.drop_front(which + 1))
      loops.add(inside.before + inside.length + inside.after, {inside.step, inside.step});
    int64_t to = behind ? side.before + side.length : 0;
    int64_t from = behind ? to - 1 - border : 2 * side.before - 1 + border;
    moveStrided(loops, data + (offset + from * side.step) * size, data + (offset + to * side.step) * size, size,
                threads);
  }
}

std::unique_ptr<FastKernel> mirrorPad(const FastSite &site) {
  int64_t border = site.options<circle::MirrorPadOptions>().mode() == circle::MirrorPadMode::REFLECT ? 1 : 0;
  return fastKernel([border, &op = site.op](Operands in, Operands out, pthreadpool_t threads) {
    auto sides = sidesOf(op, in, *out[0]);
    int64_t size = elementSize(*in[0]);
    moveMiddle(sides, *in[0], *out[0], size, threads);
    for (size_t d = sides.size(); d-- > 0;)
      moveAround(sides, d, border, out[0]->storage.data(), size, threads);
    return true;
  });
}

/// `count` elements from `at` on.
struct Fill {
  const uint8_t *element;
  int64_t size;
  uint8_t *data;
  void operator()(int64_t at, int64_t count) const {
    if (count == 0)
      return;
    uint8_t *to = data + at * size;
    auto bytes = static_cast<size_t>(count * size), done = static_cast<size_t>(size);
    if (size == 1 || llvm::all_of(llvm::ArrayRef(element, done), [](uint8_t byte) { return byte == 0; })) {
      std::memset(to, element[0], bytes);
      return;
    }
    std::memcpy(to, element, done);
    for (; done < bytes; done *= 2)
      std::memcpy(to + done, to, std::min(done, bytes - done));
  }
};

std::unique_ptr<FastKernel> pad(const FastSite &site) {
  const Tensor *filler = site.constant(2);
  auto size = static_cast<size_t>(elementSize(site.input(0)));
  if (site.has(2) && (!filler || filler->storage.size() != size))
    return nullptr;
  llvm::SmallVector<uint8_t, 16> element(size, 0);
  if (filler)
    std::memcpy(element.data(), filler->storage.data(), size);
  else if (site.type(0) == TensorType::INT8 || site.type(0) == TensorType::UINT8)
    element[0] = static_cast<uint8_t>(site.output().zeroPoint());
  return fastKernel([&op = site.op, element](Operands in, Operands out, pthreadpool_t threads) {
    auto sides = sidesOf(op, in, *out[0]);
    Fill fill{element.data(), static_cast<int64_t>(element.size()), out[0]->storage.data()};
    // Along each dimension, what is before and behind the middle, within the middle of those outside.
    Loops<1> outside;
    int64_t offset = 0;
    for (const Side &side : sides) {
      if (side.before || side.after)
        outside.each(threads, [&](const Loops<1>::Steps &at, int64_t) {
          int64_t begin = offset + at[0];
          fill(begin, side.before * side.step);
          fill(begin + (side.before + side.length) * side.step, side.after * side.step);
        });
      outside.add(side.length, {side.step});
      offset += side.before * side.step;
    }
    moveMiddle(sides, *in[0], *out[0], fill.size, threads);
    return true;
  });
}

} // namespace

llvm::ArrayRef<FastRow> fastPad() {
  static const FastRow rows[] = {{Op::PAD, pad}, {Op::PADV2, pad}, {Op::MIRROR_PAD, mirrorPad}};
  return rows;
}

} // namespace origo::eval
