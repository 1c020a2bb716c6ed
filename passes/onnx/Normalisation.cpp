#include "passes/onnx/Lowering.h"

namespace origo::onnx {

namespace {

Sizes alongChannels(int rank, int32_t channels) {
  Sizes shape(std::max(rank - 1, 1), 1);
  shape[0] = channels;
  return shape;
}
/// A list of a number for each channel, as an operand beside a tensor with channels first.
Expr byChannel(Tensor list1, int rank) {
  if (rank < 3)
    return list1;
  Expr value = reshape(list1, list(alongChannels(rank, list1.lastDimension())));
  return list1.isDenseConstant() ? fold(value) : value;
}

/// x · s + t with s = scale / √(variance + ε) and t = shift − mean · s
RewriteResult batchNormalization(Lowering &n) {
  Tensor x = n.input(0), scale = n.input(1), shift = n.input(2), mean = n.input(3), variance = n.input(4);
  if (n.opset < 7 && !n.integer("is_test"))
    return decline("it learns");
  if (!n.integer("spatial", 1))
    return decline("it has statistics for each element");
  bool isNarrow = x.type() == TensorType::FLOAT16 && !n.integer("training_mode");
  if ((!x.isFloat() && !isNarrow) || x.rank() < 2)
    return decline("not float32");
  bool constant = true;
  for (unsigned i = 1; i < 5; ++i)
    constant &= n.input(i).isDenseConstant();
  auto known = [&](Expr value) { return constant ? fold(std::move(value)) : value; };
  Expr epsilon = n.real("epsilon", 1e-5);
  if (n.integer("training_mode")) {
    // By the statistics of the batch, with which those of before are blended.
    Sizes axes;
    for (int i = 0; i < x.rank(); ++i)
      if (i != 1)
        axes.push_back(i);
    auto averaged = [&](Expr of, bool keeps) {
      return op(Op::MEAN, {std::move(of), list(axes)}).with("keep_dims", keeps);
    };
    Expr away = Expr(x) - averaged(x, true), momentum = n.real("momentum", 0.9), rest = 1 - n.real("momentum", 0.9);
    Expr value = away * rsqrt(averaged(square(away), true) + epsilon);
    std::vector<std::pair<Tensor, Expr>> values = {
        {n.node.result(0), value * byChannel(scale, x.rank()) + byChannel(shift, x.rank())}};
    if (n.node.resultCount() > 1 && n.node.result(1))
      values.push_back({n.node.result(1), Expr(mean) * momentum + averaged(x, false) * rest});
    if (n.node.resultCount() > 2 && n.node.result(2))
      values.push_back({n.node.result(2), Expr(variance) * momentum + averaged(square(away), false) * rest});
    return n.m.replace(std::move(values));
  }
  Expr s = known(wide(scale) / sqrt(wide(variance) + epsilon));
  Expr t = known(wide(shift) - wide(mean) * s);
  if (x.rank() > 2) {
    Expr shape = list(alongChannels(x.rank(), scale.lastDimension()));
    s = known(reshape(s, shape));
    t = known(reshape(t, shape));
  }
  return n.replace(castTo(wide(x) * s + t, TensorType::FLOAT32, x.type()));
}

Expr kept(Op code, Expr x, Expr axes) { return op(code, {std::move(x), std::move(axes)}).with("keep_dims", 1); }

/// (x − mean) / √(variance + ε) over these axes.
Expr normalised(Expr x, const Sizes &axes, double epsilon) {
  Expr away = x - kept(Op::MEAN, x, list(axes));
  return away * rsqrt(kept(Op::MEAN, square(away), list(axes)) + Expr(epsilon));
}

RewriteResult instanceNormalization(Lowering &n) {
  Tensor x = n.input(0);
  Sizes axes;
  for (int i = 2; i < x.rank(); ++i)
    axes.push_back(i);
  Expr value = normalised(x, axes, n.real("epsilon", 1e-5));
  return n.replace(value * byChannel(n.input(1), x.rank()) + byChannel(n.input(2), x.rank()));
}

Sizes axesFrom(int axis, int rank) {
  Sizes axes;
  for (int i = axis; i < rank; ++i)
    axes.push_back(i);
  return axes;
}

RewriteResult layerNormalization(Lowering &n) {
  Tensor x = n.input(0);
  auto axis = Lowering::axis(n.integer("axis", -1), x.rank());
  if (!axis || !isReal(x.type()))
    return decline("not float, or its axis is not one of its input's");
  Sizes axes = axesFrom(*axis, x.rank());
  auto stored = [&](Expr value) { return castTo(std::move(value), TensorType::FLOAT32, x.type()); };
  Expr mean = kept(Op::MEAN, wide(x), list(axes)), away = wide(x) - mean;
  Expr factor = rsqrt(kept(Op::MEAN, square(away), list(axes)) + Expr(n.real("epsilon", 1e-5)));
  Expr value = away * factor * wide(n.input(1));
  if (n.input(2))
    value = value + wide(n.input(2));
  std::vector<std::pair<Tensor, Expr>> values = {{n.node.result(0), stored(value)}};
  if (n.node.resultCount() > 1)
    values.push_back({n.node.result(1), mean});
  if (n.node.resultCount() > 2)
    values.push_back({n.node.result(2), factor});
  return n.m.replace(std::move(values));
}

RewriteResult rmsNormalization(Lowering &n) {
  Tensor x = n.input(0);
  auto axis = Lowering::axis(n.integer("axis", -1), x.rank());
  if (!axis || !x.isFloat())
    return decline("not float32, or its axis is not one of its input's");
  Expr factor = rsqrt(kept(Op::MEAN, square(Expr(x)), list(axesFrom(*axis, x.rank()))) + Expr(n.real("epsilon", 1e-5)));
  return n.replace(Expr(x) * factor * Expr(n.input(1)));
}

/// layer_normalization(x + skip + bias)
RewriteResult skipLayerNormalization(Lowering &n) {
  Tensor x = n.input(0);
  Expr sum = Expr(x) + Expr(n.input(1));
  if (n.input(4))
    sum = sum + Expr(n.input(4));
  Expr value = normalised(sum, {x.rank() - 1}, n.real("epsilon", 1e-12)) * Expr(n.input(2));
  std::vector<std::pair<Tensor, Expr>> values = {{n.node.result(0), n.input(3) ? value + Expr(n.input(3)) : value}};
  if (n.node.resultCount() > 3) // those in between are of training
    values.push_back({n.node.result(3), sum});
  return n.m.replace(std::move(values));
}

/// layer_normalization(words[ids] + positions[places] + segments[of]), and how many the mask has in each row
RewriteResult embedLayerNormalization(Lowering &n) {
  Tensor ids = n.input(0), segmentIds = n.input(1), words = n.input(2), positions = n.input(3), segments = n.input(4);
  Tensor mask = n.input(7), places = n.input(8);
  if (!ids.isStatic() || ids.rank() != 2 || !words.isFloat() || static_cast<bool>(segmentIds) != bool(segments))
    return decline("not float32, of a shape that is not known, or with segments and no table of them");
  auto picked = [](Tensor table, const Expr &at) { return op(Op::GATHER, {table, at}).with("axis", 0); };
  int32_t batch = ids.shape()[0], moments = ids.shape()[1];
  Expr sum = picked(words, ids) + picked(positions, places ? Expr(places) : fold(counted({1, moments}, 1)));
  if (segments)
    sum = sum + picked(segments, segmentIds);
  Expr value = normalised(sum, {2}, n.real("epsilon", 1e-12)) * Expr(n.input(5)) + Expr(n.input(6));
  std::vector<std::pair<Tensor, Expr>> values = {{n.node.result(0), value}};
  if (n.node.resultCount() > 1)
    values.push_back({n.node.result(1), mask ? op(Op::SUM, {mask, list({1})}).with("keep_dims", 0)
                                             : op(Op::FILL, {list({batch}), number(0, TensorType::INT32)})});
  if (n.node.resultCount() > 2)
    values.push_back({n.node.result(2), sum});
  return n.m.replace(std::move(values));
}

RewriteResult groupNormalization(Lowering &n) {
  Tensor x = n.input(0);
  auto groups = static_cast<int32_t>(n.integer("num_groups"));
  auto stated = x.statedShape();
  if (x.rank() < 2 || groups < 1 || stated[1] < 0 || stated[1] % groups || llvm::count(stated, -1) > 1)
    return decline("its shape is not known before run time, or its groups do not divide its channels");
  int32_t share = stated[1] / groups;
  Sizes grouped = {stated[0], groups, share};
  grouped.append(stated.begin() + 2, stated.end());
  Expr shape = list(Sizes(stated.begin(), stated.end()));
  Expr value =
      normalised(reshape(x, list(grouped)), axesFrom(2, static_cast<int>(grouped.size())), n.real("epsilon", 1e-5));
  if (n.input(1).lastDimension() == stated[1])
    return n.replace(reshape(value, shape) * byChannel(n.input(1), x.rank()) + byChannel(n.input(2), x.rank()));
  Sizes byGroup(grouped.size(), 1);
  byGroup[1] = groups;
  auto each = [&](Tensor t) {
    return t.isDenseConstant() ? fold(reshape(t, list(byGroup))) : reshape(t, list(byGroup));
  };
  return n.replace(reshape(value * each(n.input(1)) + each(n.input(2)), shape));
}

RewriteResult lpNormalization(Lowering &n) {
  Tensor x = n.input(0);
  auto axis = Lowering::axis(n.integer("axis", -1), x.rank());
  if (!axis)
    return decline("its axis is not one of its input's");
  Expr length = n.integer("p", 2) == 1 ? kept(Op::SUM, op(Op::ABS, {x}), list({*axis}))
                                       : sqrt(kept(Op::SUM, square(Expr(x)), list({*axis})));
  // Of zeros it is zeros.
  return n.replace(Expr(x) / maximum(length, number(1.1754943508222875e-38, x.type())));
}

RewriteResult meanVarianceNormalization(Lowering &n) {
  Tensor x = n.input(0);
  Sizes axes;
  for (int64_t axis : n.integers("axes"))
    axes.push_back(static_cast<int32_t>(axis));
  if (axes.empty())
    axes = {0, 2, 3};
  Expr away = Expr(x) - kept(Op::MEAN, x, list(axes));
  return n.replace(away / (sqrt(kept(Op::MEAN, square(away), list(axes))) + Expr(1e-9)));
}

RewriteResult localResponse(Lowering &n) {
  Tensor x = n.input(0);
  int64_t size = n.integer("size");
  if (x.rank() != 4 || size % 2 == 0)
    return decline("not of two dimensions, or of an even size");
  Expr value = op(Op::LOCAL_RESPONSE_NORMALIZATION, {turned(x, {0, 2, 3, 1})})
                   .with("radius", size / 2)
                   .withReal("alpha", n.real("alpha", 1e-4) / static_cast<double>(size))
                   .withReal("beta", n.real("beta", 0.75))
                   .withReal("bias", n.real("bias", 1));
  return n.replace(turned(value, {0, 3, 1, 2}));
}

/// f along an axis, which circle has for the last one; of old files, over all dimensions from there on.
template <class F> RewriteResult alongAxis(Lowering &n, F f) {
  Tensor x = n.input(0);
  auto axis = Lowering::axis(n.integer("axis", n.opset < 13 ? 1 : -1), x.rank());
  if (!axis)
    return decline("its axis is not one of its input's");
  int last = x.rank() - 1;
  if (*axis == last)
    return n.replace(f(Expr(x)));
  if (n.opset < 13) {
    auto stated = x.statedShape();
    int64_t before = 1, behind = 1;
    for (int i = 0; i <= last; ++i) {
      int64_t &to = i < *axis ? before : behind;
      to = to < 0 || stated[i] < 0 ? -1 : to * stated[i];
    }
    Sizes back(stated.begin(), stated.end());
    if (before < 0 && behind < 0)
      return decline("its shape is not known before run time");
    llvm::SmallVector<int, 8> copies;
    for (int i = 0; i <= last; ++i)
      copies.push_back(i);
    Expr flat = reshape(x, list({static_cast<int32_t>(before), static_cast<int32_t>(behind)}))
                    .synthetic(SyntheticReason::LayoutBridge);
    return n.replace(reshape(f(flat), openShape(x, back, copies)).synthetic(SyntheticReason::LayoutBridge));
  }
  Sizes swap;
  for (int i = 0; i <= last; ++i)
    swap.push_back(i == *axis ? last : i == last ? *axis : i);
  return n.replace(turned(f(turned(x, swap)), swap));
}
RewriteResult softmax(Lowering &n) {
  return alongAxis(n, [](Expr x) { return op(Op::SOFTMAX, {std::move(x)}).withReal("beta", 1); });
}
/// 1 at the first of the largest along an axis, and 0 elsewhere.
RewriteResult hardmax(Lowering &n) {
  Tensor x = n.input(0);
  auto axis = Lowering::axis(n.integer("axis", n.opset < 13 ? 1 : -1), x.rank());
  if (!axis || !x.isStatic() || !x.isFloat())
    return decline("not float32 of a known shape, or its axis is not one of its input's");
  int32_t size = x.shape()[*axis];
  for (int i = *axis + 1; n.opset < 13 && i < x.rank(); ++i)
    size *= x.shape()[i];
  return alongAxis(n, [&](Expr row) {
    Expr last = fold(reshape(list({n.opset < 13 && *axis != x.rank() - 1 ? 1 : x.rank() - 1}), list({})));
    Expr found = op(Op::ARG_MAX, {row, last}).with("output_type", static_cast<int64_t>(TensorType::INT32));
    return op(Op::ONE_HOT, {found, number(size, TensorType::INT32), Expr(1.0), Expr(0.0)}).with("axis", -1);
  });
}
RewriteResult logSoftmax(Lowering &n) {
  return alongAxis(n, [](Expr x) { return op(Op::LOG_SOFTMAX, {std::move(x)}); });
}

} // namespace

llvm::ArrayRef<Row> normalisationRows() {
  static const Row rows[] = {
      {"BatchNormalization", batchNormalization},
      {"GroupNormalization", groupNormalization},
      {"Hardmax", hardmax},
      {"InstanceNormalization", instanceNormalization},
      {"LRN", localResponse},
      {"LayerNormalization", layerNormalization},
      {"LogSoftmax", logSoftmax},
      {"LpNormalization", lpNormalization},
      {"MeanVarianceNormalization", meanVarianceNormalization},
      {"RMSNormalization", rmsNormalization},
      {"Softmax", softmax},
      {"com.microsoft.EmbedLayerNormalization", embedLayerNormalization},
      {"com.microsoft.SkipLayerNormalization", skipLayerNormalization},
  };
  return rows;
}

} // namespace origo::onnx
