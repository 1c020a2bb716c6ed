#include "eval/kernels/Resize.h"
#include "eval/Kernels.h"
#include "eval/kernels/Bilinear.h"
#include "eval/kernels/Move.h"
#include "eval/kernels/Nearest.h"

namespace origo::eval {

using namespace loops;

namespace {

/// Unsigned integers are rounded, too.
template <class T> llvm::Error bilinearByFloat(KernelContext &ctx) {
  Resize r = resizeOf<circle::ResizeBilinearOptions>(ctx);
  if (r.out->count() == 0)
    return llvm::Error::success();
  Bilinear how{r.alignCorners, r.halfPixel};
  forEachBilinear<T>(ctx, r, how.places(r.in->dim(1), r.height), how.places(r.in->dim(2), r.width),
                     [](T upperLeft, T lowerLeft, T upperRight, T lowerRight, float v, float h) {
                       // The runtime's order of products and sums, which shows in the last bit.
                       float sum = static_cast<float>(upperLeft) * ((1 - v) * (1 - h)) +
                                   static_cast<float>(upperRight) * ((1 - v) * h) +
                                   static_cast<float>(lowerLeft) * (v * (1 - h)) +
                                   static_cast<float>(lowerRight) * (v * h);
                       return static_cast<T>(sum + (std::is_integral_v<T> ? 0.5f : 0.f));
                     });
  return llvm::Error::success();
}

template <class T> llvm::Error bilinearByIntegers(KernelContext &ctx) {
  Resize r = resizeOf<circle::ResizeBilinearOptions>(ctx);
  if (r.out->count() == 0)
    return llvm::Error::success();
  Bilinear how{r.alignCorners, r.halfPixel};
  forEachBilinear<T>(
      ctx, r, how.integerPlaces(r.in->dim(1), r.height), how.integerPlaces(r.in->dim(2), r.width),
      [](int64_t upperLeft, int64_t lowerLeft, int64_t upperRight, int64_t lowerRight, int64_t v, int64_t h) {
        int64_t sum = upperLeft * (1024 - v) * (1024 - h) + lowerLeft * v * (1024 - h) + upperRight * (1024 - v) * h +
                      lowerRight * v * h;
        return static_cast<T>((sum + (sum > 0 ? 1 << 19 : -(1 << 19))) / (1 << 20));
      });
  return llvm::Error::success();
}

llvm::Error resizeNearest(KernelContext &ctx) {
  Resize r = resizeOf<circle::ResizeNearestNeighborOptions>(ctx);
  if (r.out->count() == 0)
    return llvm::Error::success();
  Nearest nearest{r.alignCorners, r.halfPixel};
  int64_t height = r.in->dim(1), width = r.in->dim(2), pixel = r.in->dim(3) * elementSize(*r.in);
  const uint8_t *from = r.in->bytes().data();
  uint8_t *out = r.out->as<uint8_t>().data();
  for (int64_t batch = 0; batch < r.in->dim(0); ++batch)
    for (int32_t row = 0; row < r.height; ++row)
      for (int32_t column = 0; column < r.width; ++column, out += pixel) {
        int64_t y = nearest.place(row, r.in->dim(1), r.height);
        int64_t x = nearest.place(column, r.in->dim(2), r.width);
        std::memcpy(out, from + ((batch * height + y) * width + x) * pixel, pixel);
      }
  return llvm::Error::success();
}

} // namespace

llvm::ArrayRef<KernelRow> resizeKernels() {
  using Op = BuiltinOperator;
  const Condition oneOf = notBoth("align_corners", "half_pixel_centers");
  static const KernelRow rows[] = {
      {Op::RESIZE_BILINEAR, "f32[n,h,w,c], i32[2] -> f32[n,_,_,c]", bilinearByFloat<float>, {oneOf}},
      {Op::RESIZE_BILINEAR, "u8{n|t}[n,h,w,c], i32[2] -> u8{n|t}[n,_,_,c]", bilinearByFloat<uint8_t>, {oneOf}},
      {Op::RESIZE_BILINEAR, "i8{n|t}[n,h,w,c], i32[2] -> i8{n|t}[n,_,_,c]", bilinearByIntegers<int8_t>, {oneOf}},
      {Op::RESIZE_BILINEAR, "i16{n|t}[n,h,w,c], i32[2] -> i16{n|t}[n,_,_,c]", bilinearByIntegers<int16_t>, {oneOf}},
      {Op::RESIZE_NEAREST_NEIGHBOR, "f32|i32|u32|f16|bf16|i16|u16|i8|u8|bool[n,h,w,c], i32[2] -> same[n,_,_,c]",
       resizeNearest},
  };
  return rows;
}

} // namespace origo::eval
