#include "eval/Npy.h"
#include "quantize/Images.h"
#include "quantize/Npz.h"
#include "quantize/Summary.h"
#include "readers/Reader.h"

#include "llvm/ADT/StringExtras.h"

#include <cmath>

using namespace origo;
using namespace origo::quantize;

/// An error is one line.
static bool fails(llvm::Error error) {
  if (!error)
    return false;
  if (llvm::toString(std::move(error)).find('\n') != std::string::npos)
    __builtin_trap();
  return true;
}

/// What is read is written and read again as the same.
static void statistics(llvm::StringRef bytes) {
  auto one = Statistics::parse(bytes);
  if (!one) {
    fails(one.takeError());
    return;
  }
  std::string text = one->text();
  auto again = Statistics::parse(text);
  if (!again || again->text() != text)
    __builtin_trap();
  if (!fails(again->merge(*one)) && !one->records.empty())
    __builtin_trap(); // all its records are there already
  size_t most = 20;
  for (const Statistics::Tensor &tensor : one->tensors)
    for (auto mode : {Summary::Mode::Percentile, Summary::Mode::MovingAverage, Summary::Mode::MinMax,
                      Summary::Mode::Ema, Summary::Mode::Elements, Summary::Mode::Mse, Summary::Mode::Entropy}) {
      if (most == 0)
        return;
      Summary summary;
      summary.mode = mode;
      Extremes range = summarise(tensor, summary);
      if (!range.empty() && !(std::isfinite(range.min) && std::isfinite(range.max)))
        __builtin_trap();
      most -= mode == Summary::Mode::Entropy;
    }
}

static void image(llvm::ArrayRef<uint8_t> bytes) {
  readers::Result result = readers::decodeImage({bytes.begin(), bytes.end()}, 1 << 20);
  if (!result.error.empty())
    return;
  readers::Picture head;
  std::memcpy(&head, result.bytes.data(), sizeof(head));
  if (result.bytes.size() - sizeof(head) != size_t(head.width) * head.height * head.channels)
    __builtin_trap();
  Picture picture{head.width, head.height, head.channels, {result.bytes.begin() + sizeof(head), result.bytes.end()}};
  ImageInput input;
  input.width = 5, input.height = 3;
  using Resize = ImageOptions::Resize;
  for (Resize how : {Resize::Stretch, Resize::Crop, Resize::Pad}) {
    ImageOptions options;
    options.resize = how;
    if (tensorOf(picture, input, options).bytes.size() != 5 * 3 * 3 * sizeof(float))
      __builtin_trap();
  }
}

/// Any bytes, taken for statistics, arrays of numpy or an image, end in what fits together or in an error of one line.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  llvm::ArrayRef<uint8_t> bytes(data, size);
  statistics(llvm::toStringRef(bytes));
  auto array = eval::readNpy(bytes);
  if (!array)
    fails(array.takeError());
  auto archive = readNpz(bytes);
  if (!archive)
    fails(archive.takeError());
  image(bytes);
  return 0;
}
