#include "passes/onnx/Lowering.h"

/// Convolutions and pooling. ONNX has channels first, circle channels last: the operators stand between
/// transposes.
namespace origo::onnx {

namespace {

constexpr int64_t padSame = 0, padValid = 1;

/// Channels last of a tensor with this many dimensions, and back.
Sizes toLast(int rank) {
  Sizes order = {0};
  for (int i = 2; i < rank; ++i)
    order.push_back(i);
  order.push_back(1);
  return order;
}
Sizes toFirst(int rank) {
  Sizes order = {0, rank - 1};
  for (int i = 1; i + 1 < rank; ++i)
    order.push_back(i);
  return order;
}

/// A window that goes over spatial dimensions.
struct Window {
  llvm::SmallVector<int64_t, 3> size, stride, dilation, before, after;
  bool same = false; ///< padded as circle's SAME does it
  bool padded() const {
    return !same && (llvm::any_of(before, [](int64_t p) { return p != 0; }) ||
                     llvm::any_of(after, [](int64_t p) { return p != 0; }));
  }
};

/// None, with a reason: it cannot be told.
std::optional<Window> windowOf(Lowering &n, Tensor x, llvm::ArrayRef<int64_t> size, const char *&why,
                               bool ceils = false) {
  Window w;
  size_t count = size.size();
  w.size.assign(size.begin(), size.end());
  auto listed = [&](const char *name, int64_t otherwise) {
    auto numbers = n.integers(name);
    numbers.resize(count, otherwise);
    return numbers;
  };
  auto strides = listed("strides", 1), dilations = listed("dilations", 1), pads = n.integers("pads");
  w.stride.assign(strides.begin(), strides.end());
  w.dilation.assign(dilations.begin(), dilations.end());
  pads.resize(2 * count, 0);
  w.before.assign(pads.begin(), pads.begin() + count);
  w.after.assign(pads.begin() + count, pads.end());
  auto in = x.statedShape().drop_front(2);
  for (size_t i = 0; i < count; ++i)
    if (w.size[i] < 1 || w.stride[i] < 1 || w.dilation[i] < 1 || w.before[i] < 0 || w.after[i] < 0 ||
        w.size[i] > 1 << 20 || w.stride[i] > 1 << 20 || w.dilation[i] > 1 << 20 || w.before[i] > 1 << 20 ||
        w.after[i] > 1 << 20) {
      why = "its window, stride, dilation or padding is not one";
      return std::nullopt;
    }
  llvm::StringRef automatic = n.text("auto_pad", "NOTSET");
  auto wanted = [&](size_t i, int64_t &total) { // of SAME
    int64_t extent = (w.size[i] - 1) * w.dilation[i] + 1, out = (in[i] + w.stride[i] - 1) / w.stride[i];
    total = std::max<int64_t>((out - 1) * w.stride[i] + extent - in[i], 0);
  };
  if (automatic == "SAME_UPPER") {
    w.same = true;
    return w;
  }
  if (automatic == "VALID") {
    w.before.assign(count, 0);
    w.after.assign(count, 0);
    return w;
  }
  if (automatic == "SAME_LOWER") {
    for (size_t i = 0; i < count; ++i) {
      if (in[i] < 0) {
        why = "its padding depends on a size that is not known before run time";
        return std::nullopt;
      }
      int64_t total = 0;
      wanted(i, total);
      w.after[i] = total / 2;
      w.before[i] = total - total / 2;
    }
    return w;
  }
  bool isSame = w.padded();
  for (size_t i = 0; i < count && isSame; ++i) {
    int64_t extent = (w.size[i] - 1) * w.dilation[i] + 1, total = extent - 1;
    if (w.stride[i] != 1) { // else the size does not matter
      if (in[i] < 0) {
        isSame = false;
        break;
      }
      wanted(i, total);
    }
    isSame = w.before[i] == total / 2 && w.after[i] == total - total / 2;
  }
  w.same = isSame && !ceils;
  return w;
}

/// With zeros, or what else pads, around the spatial dimensions; channels are last.
Expr withPadding(Expr x, const Window &w, std::optional<Expr> value = std::nullopt) {
  if (!w.padded())
    return x;
  Sizes around = {0, 0};
  for (size_t i = 0; i < w.size.size(); ++i) {
    around.push_back(static_cast<int32_t>(w.before[i]));
    around.push_back(static_cast<int32_t>(w.after[i]));
  }
  around.append({0, 0});
  return value ? op(Op::PADV2, {x, pairs(around), *value}) : op(Op::PAD, {x, pairs(around)});
}

/// A list of one dimension as one of two, whose first is 1.
void widen(Window &w) {
  auto front = [](auto &list, int64_t value) { list.insert(list.begin(), value); };
  front(w.size, 1), front(w.stride, 1), front(w.dilation, 1), front(w.before, 0), front(w.after, 0);
}

/// x with channels last, and, of one spatial dimension, a first one of size 1.
std::optional<Expr> imageOf(Tensor x, const Expr &values) {
  Expr image = turned(values, toLast(x.rank()));
  if (x.rank() != 3)
    return image;
  Sizes sizes = {x.statedShape()[0], 1, x.statedShape()[2], x.statedShape()[1]};
  if (llvm::count(sizes, -1) > 1)
    return std::nullopt;
  return shaped(image, sizes);
}
/// The way back, of an image with so many channels. `sizes` has what is known of the others, batch first.
std::optional<Expr> fromImage(Expr image, int rank, Sizes sizes) {
  if (rank == 3) {
    if (llvm::count(sizes, -1) > 1)
      return std::nullopt;
    image = shaped(std::move(image), sizes);
  }
  return turned(std::move(image), toFirst(rank));
}
/// Of a window's result along a dimension.
int32_t sizeBehind(const Window &w, size_t i, int32_t in) {
  if (in < 0)
    return -1;
  if (w.same)
    return static_cast<int32_t>((in + w.stride[i] - 1) / w.stride[i]);
  return static_cast<int32_t>((in + w.before[i] + w.after[i] - (w.size[i] - 1) * w.dilation[i] - 1) / w.stride[i] + 1);
}

/// Where no window fits into the image with its padding, or nothing is in the image.
bool isLargerThan(const Window &w, llvm::ArrayRef<int32_t> in) {
  for (size_t i = 0; i < w.size.size(); ++i)
    if (in[i] == 0 || (in[i] > 0 && !w.same && in[i] + w.before[i] + w.after[i] < (w.size[i] - 1) * w.dilation[i] + 1))
      return true;
  return false;
}
constexpr const char *windowTooLarge = "its window is larger than its input";

/// `why` where it is none.
std::optional<Expr> none(const char *&why, const char *reason) {
  why = reason;
  return std::nullopt;
}

} // namespace

std::optional<Expr> convolved(Lowering &n, Tensor x, const Expr &values, Tensor weights, const Expr &filterValues,
                              std::optional<Expr> bias, const char *&why) {
  int rank = x.rank();
  if (!weights.isStatic())
    return none(why, "the shape of its weights is not known");
  if (rank < 3 || rank > 5 || weights.rank() != rank)
    return none(why, "not of one to three dimensions");
  int64_t groups = n.integer("group", 1);
  auto filter = weights.shape();
  llvm::SmallVector<int64_t, 3> size(filter.begin() + 2, filter.end());
  std::optional<Window> w = windowOf(n, x, size, why);
  if (!w)
    return std::nullopt;
  if (isLargerThan(*w, x.statedShape().drop_front(2)))
    return none(why, windowTooLarge);
  int32_t channels = x.statedShape()[1];
  if (channels < 0)
    return none(why, "the number of its channels is not known");
  if (groups < 1 || filter[0] % groups || filter[1] * groups != channels)
    return none(why, "its groups do not divide its channels");
  Sizes last = rank == 3 ? Sizes{0, 2, 1} : toLast(rank);
  bool depthwise = groups > 1 && groups == channels && rank < 5;
  if (rank == 5 && groups > 64)
    return none(why, "three dimensions, in more than 64 groups");
  Sizes order; // of the filter's dimensions
  if (depthwise)
    order = rank == 3 ? Sizes{1, 2, 0} : Sizes{1, 2, 3, 0};
  else
    order = rank == 5 ? Sizes{2, 3, 4, 1, 0} : last;
  bool isConstant = weights.isDenseConstant();
  Expr kernel = isConstant ? fold(transpose(filterValues, list(order))) : turned(filterValues, order);
  if (rank == 3) {
    Sizes shape = depthwise ? Sizes{1, 1, filter[2], filter[0]} : Sizes{filter[0], 1, filter[2], filter[1]};
    kernel = isConstant ? fold(reshape(kernel, list(shape))) : shaped(kernel, shape);
  }
  auto image = imageOf(x, values);
  if (!image)
    return none(why, "its shape is not known before run time");
  Window used = *w;
  if (rank == 3)
    widen(used);
  Expr y = withPadding(*image, used);
  auto over = [&](const Expr &picture, const Expr &filterOf, const Expr &shift) {
    Expr value = op(depthwise   ? Op::DEPTHWISE_CONV_2D
                    : rank == 5 ? Op::CONV_3D
                                : Op::CONV_2D,
                    {picture, filterOf, shift});
    value = value.with("padding", used.same ? padSame : padValid);
    if (rank == 5)
      value = value.with("stride_d", used.stride[0]).with("dilation_d_factor", used.dilation[0]);
    size_t at = rank == 5;
    value = value.with("stride_h", used.stride[at])
                .with("stride_w", used.stride[at + 1])
                .with("dilation_h_factor", used.dilation[at])
                .with("dilation_w_factor", used.dilation[at + 1]);
    return depthwise ? value.with("depth_multiplier", filter[0] / channels) : value;
  };
  Expr value = Expr(Tensor());
  if (rank == 5 && groups > 1) {
    auto count = static_cast<int32_t>(groups), made = filter[0] / count;
    std::vector<Expr> parts;
    Expr pictures =
        op(Op::SPLIT, {fold(reshape(list({4}), list({}))), y}).with("num_splits", groups).results(unsigned(count));
    for (int32_t k = 0; k < count; ++k) {
      Expr own = op(Op::SLICE, {kernel, list({0, 0, 0, 0, k * made}), list({-1, -1, -1, -1, made})});
      Expr shift = bias ? op(Op::SLICE, {*bias, list({k * made}), list({made})}) : Expr(Tensor());
      parts.push_back(over(result(pictures, static_cast<unsigned>(k)), foldedIf(isConstant, own), shift));
    }
    value = op(Op::CONCATENATION, parts).with("axis", 4);
  } else {
    value = over(y, kernel, bias ? *bias : Expr(Tensor()));
  }
  auto back =
      fromImage(value, rank, {x.statedShape()[0], rank == 3 ? sizeBehind(*w, 0, x.statedShape()[2]) : 0, filter[0]});
  return back ? back : none(why, "its shape is not known before run time");
}

namespace {

RewriteResult convolution(Lowering &n) {
  Tensor x = n.input(0), weights = n.input(1), bias = n.input(2);
  if (!isReal(x.type()) || weights.type() != x.type() || n.input(3))
    return decline("not float, or with something to add");
  const char *why = "";
  auto value = convolved(n, x, wide(x), weights, wide(weights), bias ? std::optional(wide(bias)) : std::nullopt, why);
  if (!value)
    return decline(why);
  value = activated(n, *value);
  return value ? n.replace(castTo(*value, TensorType::FLOAT32, x.type())) : decline("its activation is not taken");
}

/// The same in three dimensions: a convolution of what has zeros in between, by the weights from behind.
RewriteResult convolvedBack(Lowering &n, const Window &w, llvm::ArrayRef<int64_t> begin, llvm::ArrayRef<int64_t> out) {
  Tensor x = n.input(0), weights = n.input(1), bias = n.input(2);
  if (n.integer("group", 1) != 1 || llvm::any_of(w.dilation, [](int64_t d) { return d != 1; }))
    return decline("three dimensions, in groups or dilated");
  Sizes apart = {1}, around = {0, 0};
  for (size_t i = 0; i < 3; ++i) {
    int64_t in = (x.shape()[i + 2] - 1) * w.stride[i] + 1, before = w.size[i] - 1 - begin[i],
            after = out[i] - in - before + w.size[i] - 1;
    if (before < 0 || after < 0)
      return decline("its padding is longer than its window");
    apart.push_back(static_cast<int32_t>(w.stride[i]));
    around.append({static_cast<int32_t>(before), static_cast<int32_t>(after)});
  }
  apart.push_back(1);
  around.append({0, 0});
  Expr image = turned(x, toLast(5));
  if (apart != Sizes(5, 1))
    image = op(Op::DILATE, {image, list(apart), Expr(0.0)});
  image = op(Op::PADV2, {image, pairs(around), Expr(0.0)});
  Expr kernel = transpose(weights, list({2, 3, 4, 0, 1}));
  for (int32_t axis : {0, 1, 2})
    kernel = op(Op::REVERSE_V2, {kernel, list({axis})});
  kernel = foldedIf(weights.isDenseConstant(), kernel);
  Expr value = op(Op::CONV_3D, {image, kernel, bias ? Expr(bias) : Expr(Tensor())}).with("padding", padValid);
  value = value.with("stride_d", 1).with("stride_h", 1).with("stride_w", 1);
  value = value.with("dilation_d_factor", 1).with("dilation_h_factor", 1).with("dilation_w_factor", 1);
  return n.replace(turned(value, toFirst(5)));
}

RewriteResult convolutionTranspose(Lowering &n) {
  Tensor x = n.input(0), weights = n.input(1), bias = n.input(2);
  int rank = x.rank();
  if (!x.isFloat() || !weights.isStatic() || !x.isStatic())
    return decline("not float32 of a known shape");
  if (rank < 3 || rank > 5)
    return decline("not of one to three dimensions");
  auto filter = weights.shape();
  auto groups = static_cast<int32_t>(n.integer("group", 1));
  const char *why = "";
  llvm::SmallVector<int64_t, 3> size(filter.begin() + 2, filter.end());
  std::optional<Window> known = windowOf(n, x, size, why);
  if (!known)
    return decline(why);
  Window w = *known;
  if (groups < 1 || filter[0] % groups || filter[0] != x.shape()[1])
    return decline("its groups do not divide its channels");
  llvm::SmallVector<int64_t, 8> more = n.integers("output_padding"), shape = n.integers("output_shape");
  more.resize(size.size(), 0);
  llvm::StringRef automatic = n.text("auto_pad", "NOTSET");
  bool sized = !shape.empty() || automatic.starts_with("SAME");
  llvm::SmallVector<int64_t, 3> begin, out;
  auto pads = n.integers("pads");
  pads.resize(2 * size.size(), 0);
  for (size_t i = 0; i < size.size(); ++i) {
    int64_t in = x.shape()[i + 2], whole = (in - 1) * w.stride[i] + (w.size[i] - 1) * w.dilation[i] + 1;
    if (sized) {
      int64_t result = shape.empty() ? in * w.stride[i] : shape[shape.size() - size.size() + i];
      int64_t total = std::max<int64_t>(whole + more[i] - result, 0);
      begin.push_back(automatic == "SAME_UPPER" ? total / 2 : total - total / 2);
      out.push_back(result);
    } else {
      begin.push_back(automatic == "VALID" ? 0 : pads[i]);
      out.push_back(whole + more[i] - (automatic == "VALID" ? 0 : pads[i] + pads[i + size.size()]));
    }
    if (out.back() < 1)
      return decline("its result has no elements");
  }
  if (rank == 5)
    return convolvedBack(n, w, begin, out);
  Expr image = turned(x, toLast(rank));
  if (rank == 3) {
    image = shaped(image, {x.shape()[0], 1, x.shape()[2], x.shape()[1]});
    begin.insert(begin.begin(), 0);
    out.insert(out.begin(), 1);
    widen(w);
  }
  int32_t height = rank == 3 ? 1 : x.shape()[2], width = x.shape()[rank - 1], of = filter[1];
  // [I, O/g, (y), x] → [O, y, x, I]
  Expr kernel = turnedConstant(weights, rank == 3 ? Sizes{1, 2, 0} : Sizes{1, 2, 3, 0});
  bool isConstant = weights.isDenseConstant();
  if (rank == 3)
    kernel = isConstant ? fold(reshape(kernel, list({of, 1, filter[2], filter[0]})))
                        : shaped(kernel, {of, 1, filter[2], filter[0]});
  if (w.dilation != llvm::SmallVector<int64_t, 3>(w.dilation.size(), 1))
    kernel = foldedIf(
        isConstant,
        op(Op::DILATE, {kernel, list({1, static_cast<int32_t>(w.dilation[0]), static_cast<int32_t>(w.dilation[1]), 1}),
                        Expr(0.0)}));
  for (size_t i = 0; i < 2; ++i)
    w.size[i] = (w.size[i] - 1) * w.dilation[i] + 1;
  auto reach = [&](size_t i, int32_t in) {
    return static_cast<int32_t>(std::max<int64_t>((in - 1) * w.stride[i] + w.size[i], begin[i] + out[i]));
  };
  Sizes whole = {x.shape()[0], reach(0, height), reach(1, width), of};
  std::vector<Expr> parts;
  int32_t share = filter[0] / groups;
  for (int32_t g = 0; g < groups; ++g) {
    Expr of1 = groups == 1 ? kernel
                           : foldedIf(isConstant, op(Op::SLICE, {kernel, list({0, 0, 0, g * share}),
                                                                 list({of, static_cast<int32_t>(w.size[0]),
                                                                       static_cast<int32_t>(w.size[1]), share})}));
    Expr part = groups == 1
                    ? image
                    : op(Op::SLICE, {image, list({0, 0, 0, g * share}), list({x.shape()[0], height, width, share})});
    parts.push_back(op(Op::TRANSPOSE_CONV, {list(whole), of1, part})
                        .with("padding", padValid)
                        .with("stride_h", w.stride[0])
                        .with("stride_w", w.stride[1]));
    if (parts.size() > 256)
      return decline("it has more than 256 groups");
  }
  Expr value = groups == 1 ? parts.front() : op(Op::CONCATENATION, parts).with("axis", 3);
  Sizes end = {x.shape()[0], static_cast<int32_t>(out[0]), static_cast<int32_t>(out[1]), of * groups};
  if (begin[0] || begin[1] || end[1] != whole[1] || end[2] != whole[2])
    value =
        op(Op::SLICE, {value, list({0, static_cast<int32_t>(begin[0]), static_cast<int32_t>(begin[1]), 0}), list(end)});
  if (bias)
    value = value + Expr(bias);
  if (rank == 3)
    value = shaped(value, {end[0], end[2], end[3]});
  return n.replace(turned(value, toFirst(rank)));
}

/// Windows put back where they were taken, what overlaps added up: a transposed convolution, whose filter has 1 where
/// the element of a window stands.
RewriteResult fromColumns(Lowering &n) {
  Tensor x = n.input(0);
  auto picture = n.m.integers(n.input(1)), size = n.m.integers(n.input(2));
  if (!picture || !size)
    return decline("the sizes of its pictures or of its windows are computed");
  if (!x.isFloat() || !x.isStatic() || x.rank() != 3 || size->size() != picture->size() || size->size() < 1 ||
      size->size() > 2)
    return decline("not float32 of a known shape, for pictures of one or two dimensions");
  size_t rank = size->size();
  auto strides = n.integers("strides"), dilations = n.integers("dilations"), pads = n.integers("pads");
  strides.resize(rank, 1), dilations.resize(rank, 1), pads.resize(2 * rank, 0);
  Window w;
  llvm::SmallVector<int64_t, 2> out;
  for (size_t i = 0; i < rank; ++i) {
    w.size.push_back(size->at(i)), w.stride.push_back(strides[i]), w.dilation.push_back(dilations[i]);
    w.before.push_back(pads[i]), w.after.push_back(pads[rank + i]);
    out.push_back(picture->at(i));
    for (int64_t number : {w.size[i], w.stride[i], w.dilation[i], w.before[i] + 1, w.after[i] + 1, out[i]})
      if (number < 1 || number > 1 << 20)
        return decline("its window, stride, dilation, padding or picture is not one");
  }
  if (rank == 1)
    widen(w), out.insert(out.begin(), 1);
  int64_t places = w.size[0] * w.size[1];
  Sizes count, whole, extent;
  for (size_t i = 0; i < 2; ++i) {
    extent.push_back(static_cast<int32_t>((w.size[i] - 1) * w.dilation[i] + 1));
    whole.push_back(static_cast<int32_t>(out[i] + w.before[i] + w.after[i]));
    count.push_back((whole[i] - extent[i]) / static_cast<int32_t>(w.stride[i]) + 1);
  }
  if (places > 1024 || int64_t{extent[0]} * extent[1] > mostIndices || whole[0] < extent[0] || whole[1] < extent[1] ||
      x.shape()[1] % places || int64_t{count[0]} * count[1] != x.shape()[2])
    return decline("its windows are not those of its pictures");
  int32_t batch = x.shape()[0], channels = static_cast<int32_t>(x.shape()[1] / places), all = batch * channels;
  Sizes ids(static_cast<size_t>(extent[0]) * extent[1], -1);
  for (int64_t i = 0; i < places; ++i)
    ids[i / w.size[1] * w.dilation[0] * extent[1] + i % w.size[1] * w.dilation[1]] = static_cast<int32_t>(i);
  Expr filter =
      op(Op::ONE_HOT, {list(ids), number(static_cast<double>(places), TensorType::INT32), Expr(1.0), Expr(0.0)})
          .with("axis", -1);
  filter = fold(reshape(filter, list({1, extent[0], extent[1], static_cast<int32_t>(places)})));
  Expr windows =
      transpose(reshape(x, list({all, static_cast<int32_t>(places), count[0], count[1]})), list({0, 2, 3, 1}));
  Expr value = op(Op::TRANSPOSE_CONV, {list({all, whole[0], whole[1], 1}), filter, windows})
                   .with("padding", padValid)
                   .with("stride_h", w.stride[0])
                   .with("stride_w", w.stride[1]);
  auto high = static_cast<int32_t>(out[0]), wide = static_cast<int32_t>(out[1]);
  if (w.padded())
    value = op(Op::SLICE, {value, list({0, static_cast<int32_t>(w.before[0]), static_cast<int32_t>(w.before[1]), 0}),
                           list({all, high, wide, 1})});
  Sizes shape = {batch, channels, high, wide};
  if (rank == 1)
    shape = {batch, channels, wide};
  return n.replace(reshape(value, list(shape)));
}

/// More padding behind, so that windows which begin inside are whole.
void ceil(Lowering &n, Window &w, llvm::ArrayRef<int32_t> in) {
  for (size_t i = 0; i < w.size.size(); ++i) {
    int64_t extent = (w.size[i] - 1) * w.dilation[i] + 1, all = in[i] + w.before[i] + w.after[i];
    int64_t count = (all - extent + w.stride[i] - 1) / w.stride[i] + 1;
    if ((count - 1) * w.stride[i] >= in[i] + w.before[i]) // no window begins in the padding
      --count;
    w.after[i] += std::max<int64_t>((count - 1) * w.stride[i] + extent - all, 0);
  }
}

/// An input that is less than a stride too small for a window: the formula of ONNX has no place for it, while its shape
/// inference and ONNX Runtime, which divide toward zero, have one, of what there is. So it is padded behind. Is it?
bool fitSmall(Window &w, llvm::ArrayRef<int32_t> in) {
  bool any = false;
  for (size_t i = 0; i < w.size.size() && !w.same; ++i) {
    int64_t missing = (w.size[i] - 1) * w.dilation[i] + 1 - in[i] - w.before[i] - w.after[i];
    if (in[i] < 1 || missing <= 0 || missing >= w.stride[i])
      continue;
    w.after[i] += missing;
    any = true;
  }
  return any;
}

Expr pooled(Op code, Expr x, const Window &w) {
  return op(code, {std::move(x)})
      .with("padding", w.same ? padSame : padValid)
      .with("stride_h", w.stride[0])
      .with("stride_w", w.stride[1])
      .with("filter_height", w.size[0])
      .with("filter_width", w.size[1]);
}

/// What circle's pools have not, three dimensions and dilation: each place of the window as a slice of all, and these
/// one with the other. `asked`: the window without what was added so that the last one fits.
template <bool isMax>
std::optional<Expr> byPlaces(Tensor x, const Expr &values, Window w, const Window &asked, bool counts,
                             const char *&why) {
  int rank = x.rank();
  if (!x.isStatic() || rank > 5 || llvm::any_of(w.size, [](int64_t size) { return size > 256; }))
    return none(why, "a dilated window, or one of three dimensions, longer than 256 or of an unknown shape");
  Sizes around, places, map(x.shape().begin(), x.shape().end()), padded;
  Sizes inner = {0, 0, 0, 0}, outer = {0, 0, 0, 0};
  around = outer;
  for (size_t i = 0; i < w.size.size(); ++i) {
    int64_t in = x.shape()[i + 2], extent = (w.size[i] - 1) * w.dilation[i] + 1;
    if (w.same) {
      int64_t total = std::max<int64_t>(((in + w.stride[i] - 1) / w.stride[i] - 1) * w.stride[i] + extent - in, 0);
      w.before[i] = total / 2;
      w.after[i] = total - total / 2;
    }
    int64_t all = in + w.before[i] + w.after[i];
    around.append({static_cast<int32_t>(w.before[i]), static_cast<int32_t>(w.after[i])});
    // Of what an average is over: padding that was asked for, and not what makes the last window fit.
    int64_t own = counts ? w.same ? w.after[i] : asked.after[i] : 0;
    inner.append({counts ? static_cast<int32_t>(w.before[i]) : 0, static_cast<int32_t>(own)});
    outer.append({counts ? 0 : static_cast<int32_t>(w.before[i]), static_cast<int32_t>(w.after[i] - own)});
    padded.push_back(static_cast<int32_t>(all));
    places.push_back(static_cast<int32_t>((all - extent) / w.stride[i] + 1));
  }
  // Along one dimension after the other.
  auto reduced = [&](Expr from, int32_t batch, int32_t channels) {
    Sizes sizes = {batch, channels};
    sizes.append(padded);
    for (size_t i = 0; i < w.size.size(); ++i) {
      std::optional<Expr> value;
      for (int64_t place = 0; place < w.size[i]; ++place) {
        Sizes first(rank, 0), last = sizes, strides(rank, 1);
        first[i + 2] = static_cast<int32_t>(place * w.dilation[i]);
        strides[i + 2] = static_cast<int32_t>(w.stride[i]);
        last[i + 2] = first[i + 2] + (places[i] - 1) * strides[i + 2] + 1;
        Expr part = op(Op::STRIDED_SLICE, {from, list(first), list(last), list(strides)});
        value = !value ? part : isMax ? maximum(*value, part) : *value + part;
      }
      from = *value;
      sizes[i + 2] = places[i];
    }
    return from;
  };
  Expr value = reduced(op(Op::PADV2, {values, pairs(around), Expr(isMax ? -3.4028234663852886e38 : 0.0)}), x.shape()[0],
                       x.shape()[1]);
  if (isMax)
    return value;
  map[0] = map[1] = 1;
  Expr cells = op(Op::PADV2, {op(Op::FILL, {list(map), Expr(1.0)}), pairs(inner), Expr(1.0)});
  return value / fold(reduced(op(Op::PADV2, {cells, pairs(outer), Expr(0.0)}), 1, 1));
}

template <bool isMax> std::optional<Expr> overWindows(Lowering &n, Tensor x, const Expr &values, const char *&why) {
  int rank = x.rank();
  if (rank < 3)
    return none(why, "its input has no dimensions that a window could go over");
  auto kernel = n.integers("kernel_shape");
  if (static_cast<int>(kernel.size()) != rank - 2)
    return none(why, "its window has other dimensions than its input");
  auto in = x.statedShape().drop_front(2);
  bool ceils = n.integer("ceil_mode");
  std::optional<Window> known = windowOf(n, x, kernel, why, ceils);
  if (!known)
    return std::nullopt;
  Window w = *known;
  bool counts = n.integer("count_include_pad");
  Window asked = w;
  if (ceils) {
    if (llvm::is_contained(in, -1))
      return none(why, "how often it fits depends on a size that is not known before run time");
    ceil(n, w, in);
  }
  ceils |= fitSmall(w, in);
  if (isLargerThan(w, in))
    return none(why, windowTooLarge);
  if (rank > 4 || llvm::any_of(w.dilation, [](int64_t d) { return d != 1; }))
    return byPlaces<isMax>(x, values, w, asked, counts, why);
  auto image = imageOf(x, values);
  if (!image)
    return none(why, "its shape is not known before run time");
  if (!isMax && counts && w.same) {
    if (n.text("auto_pad", "NOTSET") != "NOTSET")
      return none(why, "it counts padding whose size follows from that of its input");
    w.same = asked.same = false;
  }
  Sizes sizes = {x.statedShape()[0], sizeBehind(w, 0, in[0]), x.statedShape()[1]};
  Window flat = w;
  if (rank == 3)
    widen(flat);
  Expr value = *image;
  if (isMax) {
    value = pooled(Op::MAX_POOL_2D, withPadding(value, flat, Expr(-3.4028234663852886e38)), flat);
  } else if (flat.same || !flat.padded()) {
    value = pooled(Op::AVERAGE_POOL_2D, value, flat);
  } else {
    // The sum of each window, by the number of cells that count.
    if (llvm::is_contained(in, -1))
      return none(why, "how many cells count depends on a size that is not known before run time");
    Sizes map = {1, rank == 3 ? 1 : in[0], in[rank - 3], 1};
    Window outer = flat, all = flat;
    Window first = asked;
    if (rank == 3)
      widen(first);
    if (counts) { // what was asked for counts, what was added so that the last window fits does not
      map[1] += static_cast<int32_t>(first.before[0] + first.after[0]);
      map[2] += static_cast<int32_t>(first.before[1] + first.after[1]);
      for (int i = 0; i < 2; ++i) {
        outer.after[i] = flat.after[i] - first.after[i];
        outer.before[i] = 0;
      }
    }
    all.same = false;
    Expr ones = op(Op::FILL, {list(map), Expr(1.0)});
    Expr share = fold(pooled(Op::AVERAGE_POOL_2D, withPadding(ones, outer), all));
    value = pooled(Op::AVERAGE_POOL_2D, withPadding(value, flat), flat);
    bool isWhole = counts && !ceils;
    if (!isWhole)
      value = value / share;
  }
  auto back = fromImage(value, rank, sizes);
  return back ? back : none(why, "its shape is not known before run time");
}

} // namespace

std::optional<Expr> averaged(Lowering &n, Tensor x, const Expr &values, const char *&why) {
  return overWindows<false>(n, x, values, why);
}

namespace {

/// Where the maxima of windows stand, counted through the whole input: of all places in a window the first that has its
/// maximum, behind where the window begins.
std::optional<Expr> placesOfMaxima(Lowering &n, Tensor x, const char *&why) {
  auto kernel = n.integers("kernel_shape");
  size_t spatial = kernel.size();
  if (!x.isStatic())
    return none(why, "its shape is not known before run time");
  auto in = x.shape().drop_front(2);
  bool ceils = n.integer("ceil_mode"), byColumns = n.integer("storage_order");
  std::optional<Window> known = windowOf(n, x, kernel, why, true);
  if (!known || known->same)
    return known ? none(why, "it asks for places, and its padding is automatic") : std::nullopt;
  Window w = *known;
  if (ceils)
    ceil(n, w, in);
  fitSmall(w, in);
  if (isLargerThan(w, in))
    return none(why, windowTooLarge);
  int64_t taps = 1, apart = 1;
  for (int64_t size : w.size)
    taps *= size;
  if (taps > 256)
    return none(why, "it asks for places in windows of more than 256");
  // How far apart neighbours along each dimension are.
  llvm::SmallVector<int64_t, 3> step(spatial);
  for (size_t k = 0; k < spatial; ++k) {
    size_t i = byColumns ? k : spatial - 1 - k;
    step[i] = apart;
    apart *= in[i];
  }
  Sizes around = {0, 0, 0, 0}, whole = {x.shape()[0], x.shape()[1]}, ones = {1, 1}, strides = {1, 1};
  Expr start = counted({whole[0], 1}, 0) * number(whole[1] * apart, TensorType::INT32) +
               counted({1, whole[1]}, 1) * number(static_cast<double>(apart), TensorType::INT32);
  start = reshape(start, list([&] {
                    Sizes shape = whole;
                    shape.append(spatial, 1);
                    return shape;
                  }()));
  for (size_t i = 0; i < spatial; ++i) {
    around.append({static_cast<int32_t>(w.before[i]), static_cast<int32_t>(w.after[i])});
    int64_t extent = (w.size[i] - 1) * w.dilation[i] + 1;
    whole.push_back(static_cast<int32_t>((in[i] + w.before[i] + w.after[i] - extent) / w.stride[i] + 1));
    strides.push_back(static_cast<int32_t>(w.stride[i]));
    Sizes shape(spatial + 2, 1);
    shape[i + 2] = whole.back();
    Expr at = counted(shape, static_cast<int>(i) + 2) * number(static_cast<double>(w.stride[i]), TensorType::INT32) -
              number(static_cast<double>(w.before[i]), TensorType::INT32);
    start = start + at * number(static_cast<double>(step[i]), TensorType::INT32);
  }
  Expr padded = op(Op::PADV2, {wide(x), pairs(around), Expr(-3.4028234663852886e38)});
  std::vector<Expr> looked;
  Sizes offsets;
  for (int64_t tap = 0; tap < taps; ++tap) {
    Sizes begin = {0, 0}, end = {whole[0], whole[1]};
    int64_t rest = tap, offset = 0;
    begin.append(spatial, 0);
    end.append(spatial, 0);
    for (size_t i = spatial; i-- > 0; rest /= w.size[i]) {
      int64_t place = rest % w.size[i] * w.dilation[i];
      begin[i + 2] = static_cast<int32_t>(place);
      end[i + 2] = static_cast<int32_t>(place + (whole[i + 2] - 1) * w.stride[i] + 1);
      offset += place * step[i];
    }
    looked.push_back(op(Op::STRIDED_SLICE, {padded, list(begin), list(end), list(strides)}));
    offsets.push_back(static_cast<int32_t>(offset));
  }
  int last = static_cast<int>(spatial) + 2;
  Expr tap = op(Op::ARG_MAX, {op(Op::PACK, looked).with("values_count", taps).with("axis", last),
                              fold(reshape(list({last}), list({})))})
                 .with("output_type", static_cast<int64_t>(TensorType::INT32));
  Expr place = op(Op::GATHER, {list(offsets), tap}).with("axis", 0) + fold(start);
  return castTo(place, TensorType::INT32, TensorType::INT64);
}

template <bool isMax> RewriteResult pooling(Lowering &n) {
  Tensor x = n.input(0);
  // A float has every integer of 8 bits.
  bool isSmall = x.type() == TensorType::UINT8 || x.type() == TensorType::INT8;
  if (!isReal(x.type()) && !(isMax && isSmall))
    return decline("not float");
  const char *why = "";
  auto value = overWindows<isMax>(n, x, wide(x), why);
  if (!value)
    return decline(why);
  Expr stored = castTo(*value, TensorType::FLOAT32, x.type());
  Tensor places = isMax && n.node.resultCount() > 1 ? n.node.result(1) : Tensor();
  if (!places)
    return n.replace(stored);
  auto found = placesOfMaxima(n, x, why);
  return found ? n.m.replace({{n.node.result(0), stored}, {places, *found}}) : decline(why);
}

template <Op code> RewriteResult global(Lowering &n) {
  Sizes axes;
  for (int i = 2; i < n.input(0).rank(); ++i)
    axes.push_back(i);
  return n.replace(op(code, {n.input(0), list(axes)}).with("keep_dims", 1));
}

} // namespace

llvm::ArrayRef<Row> windowRows() {
  static const Row rows[] = {
      {"AveragePool", pooling<false>},
      {"Col2Im", fromColumns},
      {"Conv", convolution},
      {"ConvTranspose", convolutionTranspose},
      {"GlobalAveragePool", global<Op::MEAN>},
      {"GlobalMaxPool", global<Op::REDUCE_MAX>},
      {"MaxPool", pooling<true>},
      {"com.microsoft.FusedConv", convolution},
  };
  return rows;
}

} // namespace origo::onnx
