#include "eval/CustomKernels.h"
#include "eval/kernels/CustomOptions.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

/// TFLite_Detection_PostProcess: boxes from the encoding of a single-shot detector, and the best of those that overlap.
namespace origo::eval {

namespace {

struct Box {
  float top, left, bottom, right;
  float area() const { return (bottom - top) * (right - left); }
};

/// What two boxes share, by what they cover.
float overlap(const Box &a, const Box &b) {
  float areaA = a.area(), areaB = b.area();
  if (areaA <= 0 || areaB <= 0)
    return 0;
  float height = std::max(std::min(a.bottom, b.bottom) - std::max(a.top, b.top), 0.f);
  float width = std::max(std::min(a.right, b.right) - std::max(a.left, b.left), 0.f);
  float both = height * width;
  return both / (areaA + areaB - both);
}

struct Detection {
  int64_t box = 0;
  int64_t label = 0;
  float score = 0;
};

/// A score that is not a number counts as none.
bool better(float a, float b) { return a > b || (std::isnan(b) && !std::isnan(a)); }

class Detector {
public:
  Detector(KernelContext &ctx, const flexbuffers::Map &options) : ctx(ctx) {
    most = options["max_detections"].AsInt64();
    mostOfABox = options["max_classes_per_detection"].AsInt64();
    labels = options["num_classes"].AsInt64();
    mostOfALabel = options["detections_per_class"].IsNull() ? 100 : options["detections_per_class"].AsInt64();
    regular = options["use_regular_nms"].AsBool();
    leastScore = options["nms_score_threshold"].AsFloat();
    mostOverlap = options["nms_iou_threshold"].AsFloat();
    const char *names[] = {"y_scale", "x_scale", "h_scale", "w_scale"};
    for (int i = 0; i < 4; ++i)
      scales[i] = options[names[i]].AsFloat();
  }

  llvm::Error run() {
    if (llvm::Error error = checkOperands())
      return error;
    int64_t rows = most * mostOfABox; // both are below 2^31
    if (rows > std::numeric_limits<int32_t>::max())
      return ctx.fail("has an impossible number of detections");
    auto count = static_cast<int32_t>(rows);
    const Shape shapes[] = {{1, count, 4}, {1, count}, {1, count}, {1}};
    for (unsigned i = 0; i < 4; ++i)
      if (ctx.wants(i)) {
        auto output = ctx.output(i, shapes[i]);
        if (!output)
          return output.takeError();
        results[i] = *output;
      }
    for (Tensor *result : results)
      if (result)
        llvm::for_each(result->as<float>(), [](float &number) { number = 0; });
    if (llvm::Error error = decode())
      return error;
    regular ? detectByLabel() : detectByBox();
    return llvm::Error::success();
  }

private:
  KernelContext &ctx;
  int64_t most, mostOfABox, labels, mostOfALabel;
  bool regular;
  float leastScore, mostOverlap, scales[4];
  int64_t columns = 0; ///< of scores; the first one is the background's if there is one more than labels
  std::vector<Box> boxes;
  Tensor *results[4] = {};

  llvm::Error checkOperands() {
    const Tensor &encoded = ctx.input(0), &scores = ctx.input(1), &anchors = ctx.input(2);
    constexpr int64_t limit = std::numeric_limits<int32_t>::max();
    if (most < 0 || most > limit || mostOfABox < 1 || mostOfABox > limit || labels < 1 || mostOfALabel < 0)
      return ctx.fail("its numbers of detections and classes are impossible");
    if (!(mostOverlap > 0 && mostOverlap <= 1))
      return ctx.fail("its limit of overlap is not above 0 and up to 1");
    if (llvm::any_of(scales, [](float scale) { return scale == 0 || std::isnan(scale); }))
      return ctx.fail("has a scale of 0");
    if (encoded.rank() != 3 || encoded.dim(0) != 1 || encoded.dim(2) < 4)
      return ctx.fail(0, "is not [1, boxes, 4 or more]", "", shapeText(encoded.shape));
    columns = scores.rank() == 3 ? scores.dim(2) : 0;
    if (scores.rank() != 3 || scores.dim(0) != 1 || scores.dim(1) != encoded.dim(1) ||
        (columns != labels && columns != labels + 1))
      return ctx.fail(1, "is not [1, boxes, classes] or one more for the background", "", shapeText(scores.shape));
    if (anchors.rank() != 2 || anchors.dim(0) != encoded.dim(1) || anchors.dim(1) != 4)
      return ctx.fail(2, "is not [boxes, 4]", "", shapeText(anchors.shape));
    return llvm::Error::success();
  }

  static float number(const Tensor &tensor, int64_t i) {
    return tensor.type == TensorType::FLOAT32
               ? tensor.as<float>()[i]
               : static_cast<float>(tensor.as<uint8_t>()[i] - tensor.zeroPoint()) * tensor.scale();
  }
  float score(int64_t box, int64_t label) const {
    return number(ctx.input(1), box * columns + label + columns - labels);
  }

  /// Rounded where the runtime rounds.
  llvm::Error decode() {
    const Tensor &encoded = ctx.input(0), &anchors = ctx.input(2);
    for (int64_t i = 0; i < encoded.dim(1) && !ctx.late(); ++i) {
      double box[4], anchor[4];
      for (int k = 0; k < 4; ++k) {
        box[k] = static_cast<double>(number(encoded, i * encoded.dim(2) + k)) / static_cast<double>(scales[k]);
        anchor[k] = static_cast<double>(number(anchors, i * 4 + k));
      }
      auto y = static_cast<float>(box[0] * anchor[2] + anchor[0]),
           x = static_cast<float>(box[1] * anchor[3] + anchor[1]);
      auto halfHeight = static_cast<float>(0.5 * std::exp(box[2]) * anchor[2]);
      auto halfWidth = static_cast<float>(0.5 * std::exp(box[3]) * anchor[3]);
      boxes.push_back({y - halfHeight, x - halfWidth, y + halfHeight, x + halfWidth});
      if (boxes.back().top > boxes.back().bottom || boxes.back().left > boxes.back().right)
        return ctx.fail("box " + llvm::Twine(i) + " ends before it begins");
    }
    return llvm::Error::success();
  }

  /// Of boxes with these scores the best that do not overlap one that is better.
  template <class Score> std::vector<int64_t> select(Score scoreOf, int64_t limit) {
    std::vector<int64_t> candidates, selected;
    for (int64_t i = 0; i < static_cast<int64_t>(boxes.size()); ++i)
      if (scoreOf(i) >= leastScore)
        candidates.push_back(i);
    llvm::stable_sort(candidates, [&](int64_t a, int64_t b) { return scoreOf(a) > scoreOf(b); });
    for (int64_t candidate : candidates) {
      if (static_cast<int64_t>(selected.size()) >= limit || ctx.late(selected.size() + 1))
        break;
      if (llvm::none_of(selected, [&](int64_t other) { return overlap(boxes[candidate], boxes[other]) > mostOverlap; }))
        selected.push_back(candidate);
    }
    return selected;
  }

  void write(int64_t row, const Detection &found) {
    const Box &box = boxes[found.box];
    const float corners[] = {box.top, box.left, box.bottom, box.right};
    if (results[0])
      llvm::copy(corners, results[0]->as<float>().begin() + row * 4);
    if (results[1])
      results[1]->as<float>()[row] = static_cast<float>(found.label);
    if (results[2])
      results[2]->as<float>()[row] = found.score;
  }
  void writeCount(size_t count) {
    if (results[3])
      results[3]->as<float>()[0] = static_cast<float>(count);
  }

  /// Boxes by their best score, each with its best labels. What counts is boxes, not rows.
  void detectByBox() {
    int64_t each = std::min(mostOfABox, labels);
    std::vector<float> best;
    for (int64_t box = 0; box < static_cast<int64_t>(boxes.size()) && !ctx.late(labels); ++box) {
      float high = score(box, 0);
      for (int64_t label = 1; label < labels; ++label)
        if (better(score(box, label), high))
          high = score(box, label);
      best.push_back(high);
    }
    if (best.size() < boxes.size()) // late
      return;
    auto selected = select([&](int64_t box) { return best[box]; }, most);
    std::vector<int64_t> order(labels);
    for (size_t i = 0; i < selected.size() && !ctx.late(labels); ++i) {
      for (int64_t label = 0; label < labels; ++label)
        order[label] = label;
      std::partial_sort(order.begin(), order.begin() + each, order.end(), [&](int64_t a, int64_t b) {
        float x = score(selected[i], a), y = score(selected[i], b);
        return better(x, y) || (!better(y, x) && a < b);
      });
      for (int64_t k = 0; k < each; ++k)
        write(static_cast<int64_t>(i) * mostOfABox + k, {selected[i], order[k], score(selected[i], order[k])});
    }
    writeCount(selected.size());
  }

  /// Each label by itself, and of all of them the best.
  void detectByLabel() {
    std::vector<Detection> found;
    for (int64_t label = 0; label < labels && !ctx.late(boxes.size()); ++label) {
      for (int64_t box : select([&](int64_t box) { return score(box, label); }, std::min(mostOfALabel, most)))
        found.push_back({box, label, score(box, label)});
      llvm::stable_sort(found, [](const Detection &a, const Detection &b) { return a.score > b.score; });
      if (static_cast<int64_t>(found.size()) > most)
        found.resize(most);
    }
    for (size_t i = 0; i < found.size(); ++i)
      write(static_cast<int64_t>(i), found[i]);
    writeCount(found.size());
  }
};

llvm::Error detect(KernelContext &ctx) {
  auto options = attributes(ctx);
  if (!options)
    return options.takeError();
  return Detector(ctx, *options).run();
}

} // namespace

llvm::ArrayRef<CustomKernelRow> detectionPostProcessCustomKernels() {
  static const CustomKernelRow rows[] = {
      {"TFLite_Detection_PostProcess",
       {BuiltinOperator::CUSTOM,
        "f32|u8{n|t}, f32|u8{n|t}, f32|u8{n|t} -> f32, f32, f32, f32",
        detect,
        {},
        ShapesFrom::Kernel}},
  };
  return rows;
}

} // namespace origo::eval
