#include "eval/Npy.h"
#include "quantize/Images.h"
#include "quantize/Npz.h"
#include "quantize/Summary.h"
#include "tests/fuzz/Fails.h"

#include "llvm/ADT/StringExtras.h"

#include <cmath>

using namespace origo;
using namespace origo::quantize;

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
  std::vector<Summary> summaries(2);
  summaries.back().mode = Summary::Mode::MovingAverage;
  for (const Calibrator &one : calibrators())
    summaries.emplace_back().calibrator = &one;
  size_t most = 20 * summaries.size();
  for (const Statistics::Tensor &tensor : one->tensors)
    for (const Summary &summary : summaries) {
      if (most-- == 0)
        return;
      Extremes range = summarise(tensor, summary);
      if (!range.empty() && !(std::isfinite(range.min) && std::isfinite(range.max)))
        __builtin_trap();
    }
}

/// Pictures of any size and content. What decodes files is a library with faults, which is why it has a process of its
/// own.
static void image(llvm::ArrayRef<uint8_t> bytes) {
  if (bytes.size() < 6)
    return;
  Picture picture{1u + bytes[0] % 16, 1u + bytes[1] % 16, bytes[2] % 2 ? 1u : 3u, {}};
  for (size_t i = 0; i < size_t(picture.width) * picture.height * picture.channels; ++i)
    picture.pixels.push_back(bytes[i % bytes.size()]);
  ImageInput input;
  input.width = 1 + bytes[3] % 20, input.height = 1 + bytes[4] % 20, input.channels = bytes[5] % 2 ? 1 : 3;
  input.channelsFirst = bytes[5] % 4 > 1;
  using Resize = ImageOptions::Resize;
  for (Resize how : {Resize::Stretch, Resize::Crop, Resize::Pad}) {
    ImageOptions options;
    options.resize = how;
    if (tensorOf(picture, input, options).bytes.size() !=
        size_t(input.width) * input.height * input.channels * sizeof(float))
      __builtin_trap();
  }
}

/// Any bytes, taken for statistics, arrays of numpy or a picture, end in what fits together or in an error of one line.
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
