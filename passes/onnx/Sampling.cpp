#include "passes/onnx/Lowering.h"

#include <numbers>
#include <numeric>

/// Samples: of a picture at places that are computed, and of a window over time.
namespace origo::onnx {

namespace {

Expr f32(double value) { return Expr(value); }
Expr compared(Op code, Expr a, Expr b) { return op(code, {std::move(a), std::move(b)}); }
Expr both(Expr a, Expr b) { return op(Op::LOGICAL_AND, {std::move(a), std::move(b)}); }
Expr whole(Expr x) { return castTo(std::move(x), TensorType::FLOAT32, TensorType::INT32); }

/// One coordinate of all samples, in elements of an axis.
struct Coordinates {
  int32_t size;
  Expr at;

  /// Of an element: is it one of the picture's?
  Expr isInside(Expr element) const {
    return both(compared(Op::GREATER_EQUAL, element, f32(0)), compared(Op::LESS_EQUAL, element, f32(size - 1)));
  }
  Expr clamped(Expr element) const { return minimum(maximum(std::move(element), f32(0)), f32(size - 1)); }
};

/// Pictures of channels, whose elements are one behind the other, and where samples are taken of them.
struct Samples {
  Expr all;     ///< by element: channels
  Expr begin;   ///< of each sample: the first element of its picture, of int32
  Sizes shape;  ///< of the samples
  bool outside; ///< it is zero beyond a picture; else what is nearest to it
  Coordinates down, across;

  /// At whole rows and columns, times a weight.
  Expr taken(const Expr &row, const Expr &column, std::optional<Expr> weight) const {
    Expr place =
        begin + whole(down.clamped(row)) * number(across.size, TensorType::INT32) + whole(across.clamped(column));
    Expr value = op(Op::GATHER, {all, place}).with("axis", 0);
    if (outside) {
      Expr counts = castTo(both(down.isInside(row), across.isInside(column)), TensorType::BOOL, TensorType::FLOAT32);
      weight = weight ? *weight * counts : counts;
    }
    Sizes sizes = shape;
    sizes.push_back(1);
    return weight ? value * reshape(*weight, list(sizes)) : value;
  }
  /// Between the four elements around.
  Expr bilinear() const {
    Expr top = op(Op::FLOOR, {down.at}), left = op(Op::FLOOR, {across.at});
    Expr lower = down.at - top, right = across.at - left;
    std::optional<Expr> value;
    for (bool isLower : {false, true})
      for (bool isRight : {false, true}) {
        Expr weight = (isLower ? lower : f32(1) - lower) * (isRight ? right : f32(1) - right);
        Expr one = taken(isLower ? top + f32(1) : top, isRight ? left + f32(1) : left, weight);
        value = value ? *value + one : one;
      }
    return *value;
  }
};

/// The first elements of so many pictures, of this shape.
Expr beginnings(int32_t batch, int32_t elements, llvm::ArrayRef<int32_t> shape) {
  Sizes first(batch);
  std::iota(first.begin(), first.end(), 0);
  for (int32_t &element : first)
    element *= elements;
  return fold(reshape(list(first), list(shape)));
}

/// From −1…1, the ends of an axis, to its elements, and back into it where that is asked for.
Coordinates coordinates(Expr grid, int32_t size, llvm::StringRef padding, bool corners) {
  Expr at = corners ? (grid + f32(1)) * f32((size - 1) / 2.0) : (grid + f32(1)) * f32(size / 2.0) - f32(0.5);
  Coordinates axis{size, at};
  if (padding == "border")
    axis.at = axis.clamped(at);
  if (padding == "reflection") {
    // There and back is a period.
    double low = corners ? 0 : -0.5, span = corners ? size - 1 : size;
    Expr rest = op(Op::FLOOR_MOD, {at - f32(low), f32(2 * std::max(span, 1.0))});
    axis.at = axis.clamped(minimum(rest, f32(2 * span) - rest) + f32(low));
  }
  return axis;
}

RewriteResult gridSample(Lowering &n) {
  Tensor x = n.input(0), grid = n.input(1);
  if (!x.isFloat() || !x.isStatic() || x.rank() != 4 || !grid.isFloat() || !grid.isStatic() || grid.rank() != 4)
    return decline("not float32 pictures of a known shape");
  llvm::StringRef mode = n.text("mode", "bilinear"), padding = n.text("padding_mode", "zeros");
  bool nearest = mode == "nearest";
  if (!nearest && mode != "bilinear" && mode != "linear")
    return decline("its mode is \"" + mode.str() + "\"");
  int32_t batch = x.shape()[0], channels = x.shape()[1], height = x.shape()[2], width = x.shape()[3];
  int32_t rows = grid.shape()[1], columns = grid.shape()[2];
  if (int64_t{batch} * height * width > INT32_MAX || batch > mostIndices)
    return decline("its pictures are big, or many");
  auto part = [&](int32_t which) {
    return reshape(op(Op::SLICE, {grid, list({0, 0, 0, which}), list({batch, rows, columns, 1})}),
                   list({batch, rows, columns}));
  };
  bool corners = n.integer("align_corners");
  Coordinates across = coordinates(part(0), width, padding, corners),
              down = coordinates(part(1), height, padding, corners);
  Samples samples{.all = reshape(turned(x, {0, 2, 3, 1}), list({batch * height * width, channels})),
                  .begin = beginnings(batch, height * width, {batch, 1, 1}),
                  .shape = {batch, rows, columns},
                  .outside = padding == "zeros",
                  .down = down,
                  .across = across};
  Expr value =
      nearest ? samples.taken(op(Op::ROUND, {down.at}), op(Op::ROUND, {across.at}), std::nullopt) : samples.bilinear();
  return n.replace(turned(value, {0, 3, 1, 2}));
}

/// A convolution whose window is bent: each of its places is sampled where an offset says, and counts as much as the
/// mask says. Then it is one of rows of what was sampled.
RewriteResult deformed(Lowering &n) {
  Tensor x = n.input(0), weights = n.input(1), offset = n.input(2), bias = n.input(3), mask = n.input(4);
  if (!x.isFloat() || !x.isStatic() || x.rank() != 4 || !weights.isStatic() || weights.rank() != 4 ||
      !offset.isFloat() || !offset.isStatic() || offset.rank() != 4 || (mask && !mask.isStatic()))
    return decline("not float32 pictures of a known shape");
  int32_t batch = x.shape()[0], channels = x.shape()[1], height = x.shape()[2], width = x.shape()[3];
  int32_t made = weights.shape()[0], kh = weights.shape()[2], kw = weights.shape()[3], places = kh * kw;
  int32_t rows = offset.shape()[2], columns = offset.shape()[3];
  auto groups = static_cast<int32_t>(n.integer("group", 1)), bent = static_cast<int32_t>(n.integer("offset_group", 1));
  auto strides = n.integers("strides"), dilations = n.integers("dilations"), pads = n.integers("pads");
  strides.resize(2, 1), dilations.resize(2, 1), pads.resize(4, 0);
  if (groups < 1 || bent < 1 || bent > 64 || groups > 64 || channels % groups || channels % bent || made % groups ||
      offset.shape()[1] != 2 * bent * places || weights.shape()[1] != channels / groups ||
      (mask && mask.shape()[1] != bent * places) || channels < 1)
    return decline("its groups do not divide its channels, its offsets or its mask");
  if (int64_t{batch} * height * width > INT32_MAX || int64_t{batch} * rows * columns * places > mostIndices)
    return decline("it has many places");
  Sizes shape = {batch, places, rows, columns};
  // Where each place of the window is when nothing bends it.
  auto straight = [&](int axis) {
    Expr at = counted(axis ? Sizes{1, 1, 1, columns} : Sizes{1, 1, rows, 1}, axis ? 3 : 2) *
              number(static_cast<double>(strides[axis]), TensorType::INT32);
    Sizes starts;
    for (int32_t place = 0; place < places; ++place)
      starts.push_back(static_cast<int32_t>((axis ? place % kw : place / kw) * dilations[axis] - pads[axis]));
    return fold(castTo(at + reshape(list(starts), list({1, places, 1, 1})), TensorType::INT32, TensorType::FLOAT32));
  };
  Expr picture = turned(x, {0, 2, 3, 1}), begin = beginnings(batch, height * width, {batch, 1, 1, 1});
  int32_t share = channels / bent;
  std::vector<Expr> sampled;
  for (int32_t g = 0; g < bent; ++g) {
    auto bend = [&](int axis) {
      Expr own = op(Op::STRIDED_SLICE, {offset, list({0, 2 * g * places + axis, 0, 0}),
                                        list({batch, 2 * (g + 1) * places, rows, columns}), list({1, 2, 1, 1})});
      return straight(axis) + own;
    };
    Expr part =
        bent == 1 ? picture : op(Op::SLICE, {picture, list({0, 0, 0, g * share}), list({batch, height, width, share})});
    Samples samples{.all = reshape(part, list({batch * height * width, share})),
                    .begin = begin,
                    .shape = shape,
                    .outside = true,
                    .down = {height, bend(0)},
                    .across = {width, bend(1)}};
    Expr value = samples.bilinear();
    if (mask) {
      Expr own = op(Op::SLICE, {mask, list({0, g * places, 0, 0}), list({batch, places, rows, columns})});
      value = value * reshape(own, list({batch, places, rows, columns, 1}));
    }
    sampled.push_back(value);
  }
  Expr all = bent == 1 ? sampled.front() : op(Op::CONCATENATION, sampled).with("axis", 4);
  // By row: the window's places, each with its channels; and so the weights.
  all = transpose(all, list({0, 2, 3, 1, 4}));
  Expr filter = turnedConstant(weights, {0, 2, 3, 1});
  std::vector<Expr> results;
  int32_t of = channels / groups, to = made / groups;
  for (int32_t g = 0; g < groups; ++g) {
    Expr part =
        groups == 1 ? all : op(Op::SLICE, {all, list({0, 0, 0, 0, g * of}), list({batch, rows, columns, places, of})});
    Expr own = groups == 1 ? filter : op(Op::SLICE, {filter, list({g * to, 0, 0, 0}), list({to, kh, kw, of})});
    own = foldedIf(weights.isDenseConstant(), reshape(own, list({to, places * of})));
    results.push_back(
        op(Op::FULLY_CONNECTED, {reshape(part, list({batch * rows * columns, places * of})), own, Expr(Tensor())}));
  }
  Expr value = groups == 1 ? results.front() : op(Op::CONCATENATION, results).with("axis", 1);
  if (bias)
    value = value + Expr(bias);
  return n.replace(turned(reshape(value, list({batch, rows, columns, made})), {0, 3, 1, 2}));
}

/// a − b · cos(2πi/N) + c · cos(4πi/N), i from 0 to the size; N is the size, or one less where the window is symmetric.
RewriteResult cosineWindow(Lowering &n, double a, double b, double c) {
  Tensor size = n.input(0);
  if (n.integer("output_datatype", 1) != 1)
    return decline("its type is not float32");
  Expr count = castTo(reshape(size, list({})), size.type(), TensorType::FLOAT32);
  Expr period = n.integer("periodic", 1) ? count : count - f32(1);
  Expr angle = op(Op::RANGE, {f32(0), count, f32(1)}) * f32(2 * std::numbers::pi) / period;
  Expr value = f32(a) - op(Op::COS, {angle}) * f32(b);
  if (c != 0)
    value = value + op(Op::COS, {angle * f32(2)}) * f32(c);
  return n.replace(size.isDenseConstant() ? fold(value) : value);
}
/// sin(2π · j / 4N) of integers. The angle is that between −π/2 and π/2, where a float is nearest to it.
Expr sineOf(Expr j, int32_t size) {
  auto whole = [&](int32_t turns) { return number(turns * size, TensorType::INT32); };
  j = op(Op::FLOOR_MOD, {j + whole(2), whole(4)}) - whole(2);
  j = op(Op::SELECT_V2, {compared(Op::GREATER, j, whole(1)), whole(2) - j, j});
  j = op(Op::SELECT_V2, {compared(Op::LESS, j, whole(-1)), whole(-2) - j, j});
  return op(Op::SIN, {castTo(j, TensorType::INT32, TensorType::FLOAT32) * f32(std::numbers::pi / 2 / size)});
}

/// The discrete Fourier transform along an axis, as products with the matrices of cosines and sines. The last dimension
/// is of real numbers, or of real and imaginary parts.
RewriteResult fourier(Lowering &n) {
  Tensor x = n.input(0);
  if (!x.isFloat() || !x.isStatic() || x.rank() < 2 || n.input(1) || n.input(2))
    return decline("not float32 of a known shape, or of a length or an axis that are operands");
  int rank = x.rank(), parts = x.lastDimension();
  auto axis = Lowering::axis(n.integer("axis", 1), rank);
  if (!axis || *axis == rank - 1 || parts < 1 || parts > 2)
    return decline("its axis is not one of its input's, or its last dimension not of one or two");
  int32_t size = x.shape()[*axis], made = n.integer("onesided") ? size / 2 + 1 : size;
  if (size < 1 || size > 2048)
    return decline("it is of more than 2048 numbers");
  bool inverse = n.integer("inverse");
  Sizes order, back(rank), shape;
  for (int i = 0; i < rank; ++i)
    if (i != *axis && i != rank - 1)
      order.push_back(i);
  order.append({rank - 1, *axis});
  for (int i = 0; i < rank; ++i)
    back[order[i]] = i;
  for (int32_t i : order)
    shape.push_back(x.shape()[i]);
  Expr quarters = counted({size, made}, 0) * counted({size, made}, 1) * number(4, TensorType::INT32);
  double scale = inverse ? 1.0 / size : 1;
  Expr moved = transpose(x, list(order));
  auto product = [&](Expr of) { return op(Op::BATCH_MATMUL, {moved, fold(sineOf(std::move(of), size) * f32(scale))}); };
  Expr cosines = product(number(size, TensorType::INT32) - quarters), sines = product(quarters);
  shape.back() = made;
  auto part = [&](const Expr &of, int32_t which) {
    Sizes begin(rank, 0), length = shape;
    begin[rank - 2] = which;
    length[rank - 2] = 1;
    return parts == 1 ? of : op(Op::SLICE, {of, list(begin), list(length)});
  };
  Expr real = part(cosines, 0), imaginary = inverse ? part(sines, 0) : -part(sines, 0);
  if (parts == 2) {
    real = inverse ? real - part(sines, 1) : real + part(sines, 1);
    imaginary = part(cosines, 1) + imaginary;
  }
  return n.replace(transpose(op(Op::CONCATENATION, {real, imaginary}).with("axis", rank - 2), list(back)));
}

/// The transform of each part of a signal, under a window.
RewriteResult fourierOfParts(Lowering &n) {
  Tensor x = n.input(0), window = n.input(2);
  auto step = n.m.integers(n.input(1));
  std::optional<Integers> length;
  if (n.input(3)) {
    length = n.m.integers(n.input(3));
    if (!length)
      return decline("the length of its parts is computed");
  }
  if (!step || step->size() != 1 || (length && length->size() != 1))
    return decline("how far its parts are apart is computed");
  if (!x.isFloat() || !x.isStatic() || x.rank() != 3 || x.shape()[2] != 1 || (window && !window.isStatic()) ||
      (!window && !length))
    return decline("not of real float32 numbers of a known shape");
  int32_t batch = x.shape()[0], all = x.shape()[1], apart = step->at(0),
          size = length ? length->at(0) : window.lastDimension();
  if (apart < 1 || size < 1 || size > 2048 || size > all || (window && window.elementCount() != uint64_t(size)))
    return decline("its parts have no size that can be");
  int32_t parts = (all - size) / apart + 1, made = n.integer("onesided", 1) ? size / 2 + 1 : size;
  if (int64_t{parts} * size > mostIndices)
    return decline("it has many parts");
  Expr places = fold(counted({parts, 1}, 0) * number(apart, TensorType::INT32) + counted({1, size}, 1));
  Expr taken = op(Op::GATHER, {reshape(x, list({batch, all})), places}).with("axis", 1);
  if (window)
    taken = taken * wide(window);
  Expr quarters = counted({size, made}, 0) * counted({size, made}, 1) * number(4, TensorType::INT32);
  auto product = [&](Expr of) { return op(Op::BATCH_MATMUL, {taken, fold(sineOf(std::move(of), size))}); };
  Expr real = product(number(size, TensorType::INT32) - quarters), imaginary = -product(quarters);
  return n.replace(op(Op::PACK, {real, imaginary}).with("values_count", 2).with("axis", 3));
}

RewriteResult hann(Lowering &n) { return cosineWindow(n, 0.5, 0.5, 0); }
RewriteResult hamming(Lowering &n) { return cosineWindow(n, 25.0 / 46, 21.0 / 46, 0); }
RewriteResult blackman(Lowering &n) { return cosineWindow(n, 0.42, 0.5, 0.08); }

} // namespace

llvm::ArrayRef<Row> samplingRows() {
  static const Row rows[] = {{"BlackmanWindow", blackman}, {"DFT", fourier},           {"DeformConv", deformed},
                             {"GridSample", gridSample},   {"HammingWindow", hamming}, {"HannWindow", hann},
                             {"STFT", fourierOfParts}};
  return rows;
}

} // namespace origo::onnx
