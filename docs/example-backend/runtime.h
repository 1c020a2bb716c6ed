/* What the generated code calls: float32 kernels, a clock, a counter for each kernel, and bare files. */
#include <stdio.h>
#include <string.h>

/* A step of an inner loop takes a cycle, so that the same run always measures the same. */
static unsigned long long cycles;

struct counter {
  int offset; /* a place in the code of the kernel: a line */
  unsigned long long calls, cycles;
};

enum activation { NONE, RELU, RELU6 };

static inline float activated(float value, enum activation activation) {
  if (activation != NONE && value < 0)
    return 0;
  return activation == RELU6 && value > 6 ? 6 : value;
}

/* Shapes are batch, height, width, channels; of the filter, channels of the result come first. No bias: NULL. */
static inline void conv_2d(const float *input, const int *in, const float *filter, const int *f, const float *bias,
                           float *output, const int *out, int stride_h, int stride_w, int pad_h, int pad_w,
                           enum activation activation) {
  for (int n = 0; n < out[0]; ++n)
    for (int y = 0; y < out[1]; ++y)
      for (int x = 0; x < out[2]; ++x)
        for (int c = 0; c < out[3]; ++c) {
          float sum = 0;
          for (int fy = 0; fy < f[1]; ++fy)
            for (int fx = 0; fx < f[2]; ++fx) {
              int row = y * stride_h + fy - pad_h, column = x * stride_w + fx - pad_w;
              if (row < 0 || row >= in[1] || column < 0 || column >= in[2])
                continue;
              for (int i = 0; i < f[3]; ++i, ++cycles)
                sum += input[((n * in[1] + row) * in[2] + column) * in[3] + i] *
                       filter[((c * f[1] + fy) * f[2] + fx) * f[3] + i];
            }
          *output++ = activated(bias ? sum + bias[c] : sum, activation);
        }
}

static inline void fully_connected(const float *input, const float *weights, const float *bias, float *output,
                                   int batch, int from, int to, enum activation activation) {
  for (int n = 0; n < batch; ++n)
    for (int c = 0; c < to; ++c) {
      float sum = 0;
      for (int i = 0; i < from; ++i, ++cycles)
        sum += input[n * from + i] * weights[c * from + i];
      *output++ = activated(bias ? sum + bias[c] : sum, activation);
    }
}

static inline void add(const float *x, const float *y, float *output, int size, enum activation activation) {
  for (int i = 0; i < size; ++i, ++cycles)
    output[i] = activated(x[i] + y[i], activation);
}

static inline void mul(const float *x, const float *y, float *output, int size, enum activation activation) {
  for (int i = 0; i < size; ++i, ++cycles)
    output[i] = activated(x[i] * y[i], activation);
}

static inline void copy(const float *input, float *output, int size) {
  memcpy(output, input, (size_t)size * sizeof *input);
  cycles += (unsigned long long)size;
}

/* Bare elements in the file PREFIX<index>. 1: done. */
static inline int transfer(const char *prefix, int index, const char *mode, float *values, int size) {
  char path[4096];
  snprintf(path, sizeof path, "%s%d", prefix, index);
  FILE *file = fopen(path, mode);
  size_t done = 0;
  if (file) {
    done = *mode == 'r' ? fread(values, sizeof *values, (size_t)size, file)
                        : fwrite(values, sizeof *values, (size_t)size, file);
    if (fclose(file) != 0)
      done = 0;
  }
  if (done != (size_t)size)
    fprintf(stderr, "%s: %d numbers cannot be %s\n", path, size, *mode == 'r' ? "read" : "written");
  return done == (size_t)size;
}
