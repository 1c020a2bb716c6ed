#include "quantize/Images.h"

#include "readers/Protocol.h"
#include "schema/TensorTypes.h"

#include "llvm/ADT/STLExtras.h"

#include <cmath>

namespace origo::quantize {

using eval::OwnedTensor;
using eval::shapeText;

llvm::Expected<Picture> decode(Reader &reader, llvm::ArrayRef<uint8_t> file) {
  std::vector<uint8_t> question(sizeof(uint64_t));
  uint64_t size = file.size();
  std::memcpy(question.data(), &size, sizeof(size));
  question.insert(question.end(), file.begin(), file.end());
  auto bytes = reader.ask(question);
  if (!bytes)
    return bytes.takeError();
  readers::Picture head;
  if (bytes->size() < sizeof(head))
    return makeError("is no image");
  std::memcpy(&head, bytes->data(), sizeof(head));
  llvm::ArrayRef<uint8_t> pixels = llvm::ArrayRef(*bytes).drop_front(sizeof(head));
  constexpr uint32_t most = 1 << 16;
  if (head.width < 1 || head.height < 1 || head.width > most || head.height > most ||
      (head.channels != 1 && head.channels != 3) || pixels.size() != uint64_t(head.width) * head.height * head.channels)
    return makeError("is no image");
  return Picture{head.width, head.height, head.channels, {pixels.begin(), pixels.end()}};
}

llvm::Expected<ImageInput> imageInput(const eval::Port &input, const ImageOptions &options) {
  auto refuse = [&](const llvm::Twine &why) {
    return makeError("input \"" + printable(input.name) + "\" of " + tensorTypeName(input.type) +
                     shapeText(input.shape) + " takes no images: " + why);
  };
  if (input.type != TensorType::FLOAT32 && input.type != TensorType::UINT8)
    return refuse("they are float32 or uint8");
  llvm::ArrayRef<int32_t> shape = input.shape;
  ImageInput form;
  form.type = input.type;
  form.hasBatch = shape.size() == 4;
  if (form.hasBatch) {
    if (shape[0] > 1)
      return refuse("it takes " + llvm::Twine(shape[0]) + " at once; circle-resizer changes that");
    shape = shape.drop_front();
  }
  if (!input.rankKnown || shape.size() != 3)
    return refuse("it has neither three dimensions nor four");
  auto colours = [](int32_t dim) { return dim == 1 || dim == 3; };
  using Layout = ImageOptions::Layout;
  form.channelsFirst = options.layout == Layout::ChannelsFirst ||
                       (options.layout == Layout::FromShape && !colours(shape[2]) && colours(shape[0]));
  int32_t channels = shape[form.channelsFirst ? 0 : 2], height = shape[form.channelsFirst ? 1 : 0],
          width = shape[form.channelsFirst ? 2 : 1];
  if (!colours(channels))
    return refuse("it has neither one channel nor three" +
                  llvm::Twine(options.layout == Layout::FromShape ? "" : " in that layout"));
  using Channels = ImageOptions::Channels;
  if (options.channels != Channels::FromShape && (options.channels == Channels::Gray) != (channels == 1))
    return refuse("--channels=" + llvm::Twine(options.channels == Channels::Gray ? "gray is one channel"
                                                                                 : "rgb and bgr are three channels"));
  form.channels = channels;
  form.height = std::max(height, 0);
  form.width = std::max(width, 0);
  if (height == 0 || width == 0)
    return refuse("it has no elements");
  for (const std::vector<float> *list : {&options.mean, &options.deviation})
    if (list->size() > 1 && list->size() != form.channels)
      return refuse("--mean and --std have one number, or one for each channel");
  return form;
}

namespace {

/// From one row of `from` pixels to one of `to`, at any step between elements: which to add up, and how much of each.
struct Taps {
  size_t first = 0;
  std::vector<float> weights;
};

/// Pixels `begin` to `begin + length` of a row of `size` become `to` ones.
std::vector<Taps> filter(uint32_t size, double begin, double length, uint32_t to) {
  std::vector<Taps> all(to);
  double step = length / to, radius = std::max(step, 1.0);
  for (uint32_t i = 0; i < to; ++i) {
    double centre = begin + (i + 0.5) * step - 0.5;
    int64_t first = std::max<int64_t>(0, static_cast<int64_t>(std::ceil(centre - radius)));
    int64_t last = std::min<int64_t>(size - 1, static_cast<int64_t>(std::floor(centre + radius)));
    first = std::min<int64_t>(first, size - 1);
    last = std::max(first, last);
    double sum = 0;
    std::vector<double> weights;
    for (int64_t at = first; at <= last; ++at)
      sum += weights.emplace_back(std::max(0.0, 1 - std::abs(at - centre) / radius));
    all[i].first = first;
    for (double weight : weights)
      all[i].weights.push_back(static_cast<float>(sum > 0 ? weight / sum : 1.0 / weights.size()));
  }
  return all;
}

/// The part of a picture that begins at (left, top), of another size.
Picture resized(const Picture &picture, double left, double top, double width, double height, uint32_t toWidth,
                uint32_t toHeight) {
  size_t channels = picture.channels;
  std::vector<Taps> across = filter(picture.width, left, width, toWidth),
                    down = filter(picture.height, top, height, toHeight);
  std::vector<float> rows(size_t(toWidth) * picture.height * channels);
  for (size_t y = 0; y < picture.height; ++y)
    for (size_t x = 0; x < toWidth; ++x)
      for (size_t c = 0; c < channels; ++c) {
        float sum = 0;
        for (auto [k, weight] : llvm::enumerate(across[x].weights))
          sum += weight * picture.pixels[(y * picture.width + across[x].first + k) * channels + c];
        rows[(y * toWidth + x) * channels + c] = sum;
      }
  Picture result{toWidth, toHeight, picture.channels, std::vector<float>(size_t(toWidth) * toHeight * channels)};
  for (size_t y = 0; y < toHeight; ++y)
    for (auto [k, weight] : llvm::enumerate(down[y].weights)) {
      const float *row = rows.data() + (down[y].first + k) * toWidth * channels;
      float *out = result.pixels.data() + y * toWidth * channels;
      for (size_t i = 0; i < toWidth * channels; ++i)
        out[i] += weight * row[i];
    }
  return result;
}

Picture fitted(const Picture &picture, uint32_t width, uint32_t height, ImageOptions::Resize how) {
  if (picture.width == width && picture.height == height)
    return picture;
  double w = picture.width, h = picture.height;
  if (how == ImageOptions::Resize::Stretch)
    return resized(picture, 0, 0, w, h, width, height);
  if (how == ImageOptions::Resize::Crop) {
    double scale = std::min(w / width, h / height);
    return resized(picture, (w - scale * width) / 2, (h - scale * height) / 2, scale * width, scale * height, width,
                   height);
  }
  double scale = std::max(w / width, h / height);
  auto inner = [&](double size, uint32_t most) {
    return std::clamp<uint32_t>(static_cast<uint32_t>(std::lround(size / scale)), 1, most);
  };
  Picture part = resized(picture, 0, 0, w, h, inner(w, width), inner(h, height));
  Picture whole{width, height, picture.channels, std::vector<float>(size_t(width) * height * picture.channels)};
  size_t left = (width - part.width) / 2, top = (height - part.height) / 2, row = part.width * part.channels;
  for (size_t y = 0; y < part.height; ++y)
    std::copy_n(part.pixels.begin() + y * row, row, whole.pixels.begin() + ((top + y) * width + left) * part.channels);
  return whole;
}

} // namespace

OwnedTensor tensorOf(const Picture &given, const ImageInput &input, const ImageOptions &options) {
  Picture picture = fitted(given, input.width ? input.width : given.width, input.height ? input.height : given.height,
                           options.resize);
  size_t area = size_t(picture.width) * picture.height, count = input.channels;
  bool bgr = options.channels == ImageOptions::Channels::Bgr;
  auto at = [](const std::vector<float> &list, size_t c, float none) {
    return list.empty() ? none : list[list.size() == 1 ? 0 : c];
  };
  // Whole numbers are what they are.
  float wide = input.type == TensorType::FLOAT32 ? 255.0f : 1.0f;
  std::vector<float> numbers(area * count);
  for (size_t i = 0; i < area; ++i)
    for (size_t c = 0; c < count; ++c) {
      const float *pixel = picture.pixels.data() + i * picture.channels;
      float x = picture.channels == 1 ? pixel[0]
                : count == 3          ? pixel[bgr ? 2 - c : c]
                                      : 0.299f * pixel[0] + 0.587f * pixel[1] + 0.114f * pixel[2];
      numbers[input.channelsFirst ? c * area + i : i * count + c] =
          (x - at(options.mean, c, 0)) / at(options.deviation, c, wide);
    }
  auto channels = static_cast<int32_t>(count), height = static_cast<int32_t>(picture.height),
       width = static_cast<int32_t>(picture.width);
  OwnedTensor tensor{input.type, {}, {}};
  if (input.hasBatch)
    tensor.shape.push_back(1);
  if (input.channelsFirst)
    tensor.shape.append({channels, height, width});
  else
    tensor.shape.append({height, width, channels});
  if (input.type == TensorType::FLOAT32) {
    tensor.bytes.resize(numbers.size() * sizeof(float));
    std::memcpy(tensor.bytes.data(), numbers.data(), tensor.bytes.size());
  } else
    for (float x : numbers)
      tensor.bytes.push_back(static_cast<uint8_t>(std::lround(std::clamp(x, 0.0f, 255.0f))));
  return tensor;
}

} // namespace origo::quantize
