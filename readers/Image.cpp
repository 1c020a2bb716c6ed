#include "readers/Reader.h"

#ifdef ORIGO_STB
#define STB_IMAGE_IMPLEMENTATION
#define STB_IMAGE_STATIC
#define STBI_ONLY_PNG
#define STBI_ONLY_JPEG
#define STBI_ONLY_BMP
#define STBI_NO_STDIO
#define STBI_NO_LINEAR
#define STBI_NO_HDR
#define STBI_MAX_DIMENSIONS (1 << 16)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#include <stb_image.h>
#pragma GCC diagnostic pop
#endif

namespace origo::readers {

#ifdef ORIGO_STB

Result decodeImage(const Bytes &file, uint64_t limit) {
  int width = 0, height = 0, channels = 0, length = static_cast<int>(file.size());
  if (file.size() > INT32_MAX || !stbi_info_from_memory(file.data(), length, &width, &height, &channels))
    return {{}, "is no PNG, JPEG or BMP, or a damaged one"};
  int wanted = channels <= 2 ? 1 : 3; // without alpha
  if (width < 1 || height < 1 || uint64_t(width) * height * 4 > limit)
    return {{}, "is an image of " + std::to_string(width) + "x" + std::to_string(height) + ", which is too big"};
  int widthToo = 0, heightToo = 0;
  uint8_t *pixels = stbi_load_from_memory(file.data(), length, &widthToo, &heightToo, &channels, wanted);
  if (!pixels)
    return {{}, std::string("is a damaged image: ") + stbi_failure_reason()};
  Result result;
  if (widthToo != width || heightToo != height)
    result.error = "is a damaged image: it has two sizes";
  else {
    append(result.bytes,
           Picture{static_cast<uint32_t>(width), static_cast<uint32_t>(height), static_cast<uint32_t>(wanted), 0});
    result.bytes.insert(result.bytes.end(), pixels, pixels + size_t(width) * height * wanted);
  }
  stbi_image_free(pixels);
  return result;
}

#else

Result decodeImage(const Bytes &, uint64_t) {
  return {{}, "images are not read: this was built without libstb-dev; install it and build again"};
}

#endif

} // namespace origo::readers
