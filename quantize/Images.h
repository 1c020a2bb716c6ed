#pragma once

#include "quantize/Reader.h"
#include "quantize/Records.h"

namespace origo::quantize {

/// Pixels by rows, channels side by side: 1 grey, 3 red green blue.
struct Picture {
  uint32_t width = 0, height = 0, channels = 0;
  std::vector<float> pixels; ///< from 0 to 255
};

/// The file that an image reader has decoded. `reader` is one of kind "image".
llvm::Expected<Picture> decode(Reader &reader, llvm::ArrayRef<uint8_t> file);

/// What a picture becomes in an input of a model.
struct ImageInput {
  TensorType type = TensorType::FLOAT32;
  bool channelsFirst = false, hasBatch = true;
  uint32_t width = 0, height = 0; ///< 0: the picture's own
  uint32_t channels = 3;
};

/// The form of an input that takes images: [1, height, width, channels] or [1, channels, height, width], with 1 or 3
/// channels, also without the 1. An error: it is none, or `options` contradict it.
llvm::Expected<ImageInput> imageInput(const eval::Port &input, const ImageOptions &options);

/// Resizes (a triangle filter, which averages where it shrinks), takes the channels, then (pixel − mean) / std.
eval::OwnedTensor tensorOf(const Picture &picture, const ImageInput &input, const ImageOptions &options);

} // namespace origo::quantize
