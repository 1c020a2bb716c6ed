#include "passes/onnx/Lowering.h"

#include <array>
#include <cmath>

/// Resizing, as circle's operators do it where they do, and element by element where not.
namespace origo::onnx {

namespace {

/// Where an element of the result is looked for along one dimension, in the input.
struct Axis {
  int32_t in, out;
  double scale;              ///< as given, or out / in
  double begin = 0, end = 1; ///< the part that is taken, of what there is
  /// Computed in floats, as ONNX Runtime does: which of two neighbours is nearest hangs on it.
  double at(llvm::StringRef mode, int32_t position) const {
    auto i = static_cast<float>(position), scale = static_cast<float>(this->scale);
    if (mode == "align_corners")
      return out == 1 ? 0 : i * static_cast<float>(in - 1) / static_cast<float>(out - 1);
    if (mode == "asymmetric")
      return i / scale;
    if (mode == "tf_crop_and_resize") {
      auto last = static_cast<float>(in - 1), from = static_cast<float>(begin), to = static_cast<float>(end);
      return out > 1 ? from * last + i * (to - from) * last / static_cast<float>(out - 1) : 0.5f * (from + to) * last;
    }
    if (mode == "pytorch_half_pixel" && out == 1)
      return 0;
    if (mode == "tf_half_pixel_for_nn")
      return (i + 0.5f) / scale;
    if (mode == "half_pixel_symmetric") {
      float adjustment = static_cast<float>(out) / (scale * static_cast<float>(in)),
            center = static_cast<float>(in) / 2;
      float offset = center * (1 - adjustment);
      return offset + (i + 0.5f) / scale - 0.5f;
    }
    return (i + 0.5f) / scale - 0.5f;
  }
  bool isOutside(llvm::StringRef mode, int32_t position) const {
    double x = at(mode, position);
    return x < 0 || x > in - 1;
  }
  int32_t nearest(llvm::StringRef mode, llvm::StringRef rounding, int32_t i) const {
    double x = at(mode, i), rounded;
    if (rounding == "floor")
      rounded = std::floor(x);
    else if (rounding == "ceil")
      rounded = std::ceil(x);
    else if (rounding == "round_prefer_ceil")
      rounded = std::floor(x + 0.5);
    else
      rounded = std::ceil(x - 0.5);
    return std::clamp(static_cast<int32_t>(rounded), 0, in - 1);
  }
};

/// The four elements around a position, and their shares by the cubic that is 1 at 0 and 0 at −2, −1, 1 and 2.
struct CubicShares {
  std::array<int32_t, 4> from;
  std::array<double, 4> share;
  CubicShares(const Axis &axis, double at, double a, bool withoutOutside) {
    double low = std::floor(at), sum = 0;
    for (int tap = 0; tap < 4; ++tap) {
      double where = low - 1 + tap, x = std::abs(at - where);
      bool isOutside = where < 0 || where > axis.in - 1;
      from[tap] = static_cast<int32_t>(std::clamp<double>(where, 0, axis.in - 1));
      share[tap] = withoutOutside && isOutside ? 0
                   : x <= 1                    ? ((a + 2) * x - (a + 3)) * x * x + 1
                                               : ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
      sum += share[tap];
    }
    for (double &one : share)
      one /= withoutOutside && sum != 0 ? sum : 1;
  }
};

/// Where a crop reaches beyond the input stands a number.
Expr filledOutside(Expr value, llvm::ArrayRef<Axis> along, llvm::StringRef mode, const Expr &number) {
  std::optional<Expr> inside;
  for (auto [i, axis] : llvm::enumerate(along)) {
    std::vector<Expr> parts;
    bool any = false;
    for (int32_t k = 0; k < axis.out; ++k) {
      any |= axis.isOutside(mode, k);
      parts.push_back(fold(reshape(Expr(axis.isOutside(mode, k) ? 0.0 : 1.0), list({1}))));
    }
    Sizes shape(along.size(), 1);
    shape[i] = axis.out;
    if (!any)
      continue;
    Expr own = reshape(op(Op::CONCATENATION, parts).with("axis", 0), list(shape));
    inside = inside ? *inside * own : own;
  }
  return inside ? op(Op::SELECT_V2, {fold(op(Op::GREATER, {*inside, Expr(0.5)})), std::move(value), number}) : value;
}

RewriteResult resize(Lowering &n) {
  Tensor x = n.input(0);
  bool upsample = n.opset < 10 || n.node.customCode() == "onnx.Upsample";
  if (!x.isStatic() || x.rank() < 1)
    return decline("its shape is not known before run time");
  int rank = x.rank();
  llvm::SmallVector<float, 8> scales = n.reals("scales");
  std::optional<Integers> sizes;
  unsigned scalesAt = n.opset >= 11 && !upsample ? 2 : 1;
  auto isGiven = [&](Tensor t) { return t && t.elementCount() != 0u; };
  std::optional<Reals> part;
  if (scalesAt == 2 && n.input(1))
    part = n.m.reals(n.input(1));
  llvm::StringRef mode = n.text("mode", "nearest"),
                  where =
                      n.text("coordinate_transformation_mode", upsample || n.opset == 10 ? "asymmetric" : "half_pixel");
  bool crops = where == "tf_crop_and_resize";
  llvm::SmallVector<int64_t, 8> axes = n.integers("axes");
  if (axes.empty())
    for (int i = 0; i < rank; ++i)
      axes.push_back(i);
  if (n.input(3) && isGiven(n.input(3))) {
    sizes = n.m.integers(n.input(3));
    if (!sizes)
      return decline("its sizes are computed");
    if (sizes->size() != axes.size())
      return decline("it has other numbers of sizes than of axes");
    if (n.input(2))
      (void)n.m.reals(n.input(2));
  }
  std::vector<double> factors;
  std::optional<Reals> given;
  if (scales.empty() && !sizes) {
    given = n.m.reals(n.input(scalesAt));
    if (!given)
      return decline("its scales are computed");
    for (size_t i = 0; i < given->size(); ++i)
      factors.push_back(given->at(i));
  } else if (!sizes) {
    factors.assign(scales.begin(), scales.end());
  }
  if (!sizes && factors.size() != axes.size())
    return decline("it has other numbers of scales than of axes");
  if (crops && (!part || part->size() != 2 * axes.size()))
    return decline("it crops by what is computed, or not by a begin and an end of each axis");
  std::vector<Axis> along;
  for (int i = 0; i < rank; ++i)
    along.push_back({x.shape()[i], x.shape()[i], 1});
  llvm::StringRef policy = n.text("keep_aspect_ratio_policy", "stretch");
  std::optional<double> common; // of all axes, where the aspect ratio is kept
  if (sizes && policy != "stretch")
    for (size_t k = 0; k < axes.size(); ++k)
      if (auto axis = Lowering::axis(axes[k], rank)) {
        double own = static_cast<double>(sizes->at(k)) / along[*axis].in;
        common = !common ? own : policy == "not_larger" ? std::min(*common, own) : std::max(*common, own);
      }
  for (size_t k = 0; k < axes.size(); ++k) {
    auto axis = Lowering::axis(axes[k], rank);
    if (!axis)
      return decline("its axis is not one of its input's");
    Axis &one = along[*axis];
    if (crops) {
      one.begin = part->at(k);
      one.end = part->at(k + axes.size());
    }
    double out = common  ? std::floor(one.in * *common + 0.5)
                 : sizes ? static_cast<double>(sizes->at(k))
                         : std::floor(one.in * (one.end - one.begin) * factors[k]);
    if (!(out >= 1 && out <= mostIndices))
      return decline("its result has no size that can be");
    one.out = static_cast<int32_t>(out);
    one.scale = common ? *common : sizes ? out / one.in : factors[k];
  }
  llvm::StringRef rounding = n.text("nearest_mode", upsample || n.opset == 10 ? "floor" : "round_prefer_floor");
  bool isCubic = mode == "cubic";
  if ((n.integer("exclude_outside") && !isCubic) || n.integer("antialias"))
    return decline("it leaves out what is outside, or smooths");
  auto listed = [&](llvm::ArrayRef<int32_t> numbers) -> Expr {
    return sizes ? Expr(sizes->with(numbers)) : given ? Expr(given->with(numbers)) : list(numbers);
  };
  auto finished = [&](Expr value, TensorType in) {
    Expr beyond = number(n.real("extrapolation_value"), in);
    value = crops ? filledOutside(std::move(value), along, where, beyond) : std::move(value);
    return n.replace(castTo(std::move(value), in, x.type()));
  };
  bool isImage = !crops && rank == 4 && along[0].out == along[0].in && along[1].out == along[1].in;
  auto image = [&](Op code, bool corners, bool centers, TensorType in) {
    Expr value = op(code, {turned(castTo(x, x.type(), in), {0, 2, 3, 1}), listed({along[2].out, along[3].out})})
                     .with("align_corners", corners)
                     .with("half_pixel_centers", centers);
    return n.replace(castTo(turned(value, {0, 3, 1, 2}), in, x.type()));
  };
  if (mode == "nearest") {
    // As circle's operator does it, or element by element.
    auto equals = [&](bool corners, bool centers) {
      return isImage && llvm::all_of(llvm::ArrayRef(along).drop_front(2), [&](const Axis &one) {
               float factor = corners && one.out > 1 ? static_cast<float>(one.in - 1) / static_cast<float>(one.out - 1)
                                                     : static_cast<float>(one.in) / static_cast<float>(one.out);
               for (int32_t i = 0; i < one.out; ++i) {
                 float at = (static_cast<float>(i) + (centers ? 0.5f : 0.0f)) * factor;
                 auto picked = std::min(static_cast<int32_t>(corners ? std::round(at) : std::floor(at)), one.in - 1);
                 if (picked != one.nearest(where, rounding, i))
                   return false;
               }
               return true;
             });
    };
    for (auto [corners, centers] : {std::pair(false, false), std::pair(false, true), std::pair(true, false)})
      if (equals(corners, centers))
        return image(Op::RESIZE_NEAREST_NEIGHBOR, corners, centers, x.type());
    Expr value = x;
    bool changed = false;
    for (int i = 0; i < rank; ++i) {
      if (along[i].in == along[i].out && along[i].scale == 1 && !crops)
        continue;
      Sizes taken;
      for (int32_t k = 0; k < along[i].out; ++k)
        taken.push_back(along[i].nearest(where, rounding, k));
      value = gather(value, listed(taken)).with("axis", i);
      changed = true;
    }
    return finished(changed ? value : reshape(x, listed(Sizes(x.shape().begin(), x.shape().end()))), x.type());
  }
  if (mode != "linear" && mode != "bilinear" && !isCubic)
    return decline("its mode is \"" + mode.str() + "\"");
  auto equals = [&](bool corners, bool centers) {
    return isImage && llvm::all_of(llvm::ArrayRef(along).drop_front(2), [&](const Axis &one) {
             double factor = corners && one.out > 1 ? double(one.in - 1) / (one.out - 1) : double(one.in) / one.out;
             for (int32_t i = 0; i < one.out; ++i) {
               double at = centers ? (i + 0.5) * factor - 0.5 : i * factor;
               auto within = [&](double p) { return std::clamp<double>(p, 0, one.in - 1); };
               if (std::abs(within(at) - within(one.at(where, i))) > 1e-5 * one.in)
                 return false;
             }
             return true;
           });
  };
  // Between integers lie floats, which are cut off behind the point.
  TensorType in = x.type() == TensorType::FLOAT16 && isImage && !isCubic ? x.type() : TensorType::FLOAT32;
  for (auto [corners, centers] : {std::pair(false, false), std::pair(false, true), std::pair(true, false)})
    if (!isCubic && equals(corners, centers))
      return image(Op::RESIZE_BILINEAR, corners, centers, in);
  // Along one dimension after the other: the elements on both sides, by how near they are.
  auto isKept = [&](const Axis &axis) { return axis.in == axis.out && axis.scale == 1 && !crops; };
  if (llvm::all_of(along, isKept))
    return n.replace(reshape(x, listed(Sizes(x.shape().begin(), x.shape().end()))));
  Expr value = castTo(x, x.type(), in = TensorType::FLOAT32);
  for (int i = 0; i < rank; ++i) {
    if (isKept(along[i]))
      continue;
    Sizes low, high;
    std::vector<Expr> parts;
    Sizes shape(rank, 1);
    shape[i] = along[i].out;
    if (along[i].out > 512)
      return decline("it interpolates a long dimension in a way that circle's operator does not");
    if (isCubic) {
      std::array<Sizes, 4> taken;
      std::array<std::vector<Expr>, 4> shares;
      for (int32_t k = 0; k < along[i].out; ++k) {
        CubicShares of(along[i], along[i].at(where, k), n.real("cubic_coeff_a", -0.75), n.integer("exclude_outside"));
        for (int tap = 0; tap < 4; ++tap) {
          taken[tap].push_back(of.from[tap]);
          shares[tap].push_back(fold(reshape(of.share[tap], list({1}))));
        }
      }
      std::optional<Expr> sum;
      for (int tap = 0; tap < 4; ++tap) {
        Expr share = fold(reshape(op(Op::CONCATENATION, shares[tap]).with("axis", 0), list(shape)));
        Expr part = gather(value, listed(taken[tap])).with("axis", i) * share;
        sum = sum ? *sum + part : part;
      }
      value = *sum;
      continue;
    }
    for (int32_t k = 0; k < along[i].out; ++k) {
      double at = std::clamp<double>(along[i].at(where, k), 0, along[i].in - 1);
      auto below = static_cast<int32_t>(std::floor(at));
      low.push_back(below);
      high.push_back(std::min(below + 1, along[i].in - 1));
      parts.push_back(fold(reshape(at - below, list({1}))));
    }
    Expr share = fold(reshape(op(Op::CONCATENATION, parts).with("axis", 0), list(shape)));
    Expr first = gather(value, listed(low)).with("axis", i), second = gather(value, listed(high)).with("axis", i);
    value = first + (second - first) * share;
  }
  return finished(value, in);
}

} // namespace

llvm::ArrayRef<Row> resizingRows() {
  static const Row rows[] = {{"Resize", resize}, {"Upsample", resize}};
  return rows;
}

} // namespace origo::onnx
