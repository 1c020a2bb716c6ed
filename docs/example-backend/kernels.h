/* The kernels that generated code calls. Each is inlined into the function of its layer, so that a profiler and a
   debugger see the layer. No heap, no library: also exponentials are computed here. Shapes are batch, height, width,
   channels. */
#include <stddef.h>
#include <stdint.h>

#define KERNEL static inline __attribute__((always_inline))

enum activation { NONE, RELU, RELU_N1_TO_1, RELU6 };

KERNEL float activated(float value, enum activation activation) {
  switch (activation) {
  case RELU:
    return value > 0 ? value : 0;
  case RELU_N1_TO_1:
    return value > 1 ? 1 : value < -1 ? -1 : value;
  case RELU6:
    return value > 6 ? 6 : value > 0 ? value : 0;
  default:
    return value;
  }
}

/* exp(x) = 2^k · exp(r) with |r| at most ln(2) / 2; right to the last digit but one. */
KERNEL float exponential(float x) {
  if (x > 88.72284f)
    return __builtin_inff();
  if (x < -103.9f)
    return 0;
  float k = (float)(int)(x * 1.44269504f + (x < 0 ? -0.5f : 0.5f));
  float r = x - k * 0.693359375f + k * 2.12194440e-4f;
  float sum =
      1 + r * (1 + r * (0.5f + r * (1.6666667e-1f + r * (4.1666668e-2f + r * (8.3334519e-3f + r * 1.3930525e-3f)))));
  union {
    uint32_t bits;
    float value;
  } half, rest; /* 2^k in two factors, for it alone may be out of range */
  int first = (int)k / 2;
  half.bits = (uint32_t)(first + 127) << 23;
  rest.bits = (uint32_t)((int)k - first + 127) << 23;
  return sum * half.value * rest.value;
}

KERNEL float logistic(float x) { return 1 / (1 + exponential(-x)); }

KERNEL float hyperbolic_tangent(float x) {
  float square = x * x;
  if (square < 0.04f) /* the quotient below would lose digits */
    return x *
           (1 + square * (-0.33333334f + square * (0.13333334f + square * (-0.053968254f + square * 0.021869488f))));
  return 1 - 2 / (1 + exponential(2 * x));
}

/* The empty assembler keeps the loop from becoming a call of memset, and others of memcpy, whose time would not be the
   layer's. */
KERNEL void fill(void *output, int size, uint32_t element, int bytes) {
  for (int i = 0; i < size; ++i) {
    if (bytes == 4)
      ((uint32_t *)output)[i] = element;
    else
      ((unsigned char *)output)[i] = (unsigned char)element;
    __asm__ volatile("" ::: "memory");
  }
}

/* The channels of a filter are those of its group; there are in[3] / f[3] groups. No bias: NULL. */
KERNEL void conv_2d(const float *input, const int *in, const float *filter, const int *f, const float *bias,
                    float *output, const int *out, const int *stride, const int *dilation, const int *before,
                    enum activation activation) {
  int per_group = out[3] / (in[3] / f[3]);
  for (int n = 0; n < out[0]; ++n)
    for (int y = 0; y < out[1]; ++y)
      for (int x = 0; x < out[2]; ++x)
        for (int c = 0; c < out[3]; ++c) {
          float sum = 0;
          for (int fy = 0; fy < f[1]; ++fy) {
            int row = y * stride[0] + fy * dilation[0] - before[0];
            if (row < 0 || row >= in[1])
              continue;
            for (int fx = 0; fx < f[2]; ++fx) {
              int column = x * stride[1] + fx * dilation[1] - before[1];
              if (column < 0 || column >= in[2])
                continue;
              const float *from = input + ((n * in[1] + row) * in[2] + column) * in[3] + c / per_group * f[3];
              const float *weights = filter + ((c * f[1] + fy) * f[2] + fx) * f[3];
              for (int i = 0; i < f[3]; ++i)
                sum += from[i] * weights[i];
            }
          }
          *output++ = activated(bias ? sum + bias[c] : sum, activation);
        }
}

/* Channel c of the result comes from channel c / (channels of the result / channels of the input). */
KERNEL void depthwise_conv_2d(const float *input, const int *in, const float *filter, const int *f, const float *bias,
                              float *output, const int *out, const int *stride, const int *dilation, const int *before,
                              enum activation activation) {
  for (int n = 0; n < out[0]; ++n)
    for (int y = 0; y < out[1]; ++y)
      for (int x = 0; x < out[2]; ++x, output += out[3]) {
        fill(output, out[3], 0, 4);
        for (int fy = 0; fy < f[1]; ++fy) {
          int row = y * stride[0] + fy * dilation[0] - before[0];
          if (row < 0 || row >= in[1])
            continue;
          for (int fx = 0; fx < f[2]; ++fx) {
            int column = x * stride[1] + fx * dilation[1] - before[1];
            if (column < 0 || column >= in[2])
              continue;
            const float *from = input + ((n * in[1] + row) * in[2] + column) * in[3];
            const float *weights = filter + (fy * f[2] + fx) * f[3];
            for (int c = 0; c < out[3]; ++c)
              output[c] += from[c / (out[3] / in[3])] * weights[c];
          }
        }
        for (int c = 0; c < out[3]; ++c)
          output[c] = activated(bias ? output[c] + bias[c] : output[c], activation);
      }
}

KERNEL void fully_connected(const float *input, const float *weights, const float *bias, float *output, int batch,
                            int from, int to, enum activation activation) {
  for (int n = 0; n < batch; ++n)
    for (int c = 0; c < to; ++c) {
      float sum = 0;
      for (int i = 0; i < from; ++i)
        sum += input[n * from + i] * weights[c * from + i];
      *output++ = activated(bias ? sum + bias[c] : sum, activation);
    }
}

/* result[b0][b1] = x[b0][b1] · y[b0][b1]; steps are in elements, of the two batches and of rows and columns. */
KERNEL void batch_matmul(const float *x, const int *x_steps, const float *y, const int *y_steps, float *output,
                         const int *batch, int rows, int depth, int columns) {
  for (int b = 0; b < batch[0]; ++b)
    for (int d = 0; d < batch[1]; ++d)
      for (int r = 0; r < rows; ++r)
        for (int c = 0; c < columns; ++c) {
          float sum = 0;
          const float *row = x + b * x_steps[0] + d * x_steps[1] + r * x_steps[2];
          const float *column = y + b * y_steps[0] + d * y_steps[1] + c * y_steps[3];
          for (int i = 0; i < depth; ++i)
            sum += row[i * x_steps[3]] * column[i * y_steps[2]];
          *output++ = sum;
        }
}

KERNEL void average_pool_2d(const float *input, const int *in, float *output, const int *out, const int *window,
                            const int *stride, const int *before, enum activation activation) {
  for (int n = 0; n < out[0]; ++n)
    for (int y = 0; y < out[1]; ++y)
      for (int x = 0; x < out[2]; ++x)
        for (int c = 0; c < out[3]; ++c) {
          float sum = 0;
          int count = 0;
          for (int row = y * stride[0] - before[0], i = 0; i < window[0]; ++i, ++row)
            for (int column = x * stride[1] - before[1], j = 0; j < window[1]; ++j, ++column)
              if (row >= 0 && row < in[1] && column >= 0 && column < in[2]) {
                sum += input[((n * in[1] + row) * in[2] + column) * in[3] + c];
                ++count;
              }
          *output++ = activated(count ? sum / (float)count : 0, activation);
        }
}

KERNEL void max_pool_2d(const float *input, const int *in, float *output, const int *out, const int *window,
                        const int *stride, const int *before, enum activation activation) {
  for (int n = 0; n < out[0]; ++n)
    for (int y = 0; y < out[1]; ++y)
      for (int x = 0; x < out[2]; ++x)
        for (int c = 0; c < out[3]; ++c) {
          float most = -3.4028234664e38f;
          for (int row = y * stride[0] - before[0], i = 0; i < window[0]; ++i, ++row)
            for (int column = x * stride[1] - before[1], j = 0; j < window[1]; ++j, ++column)
              if (row >= 0 && row < in[1] && column >= 0 && column < in[2]) {
                float value = input[((n * in[1] + row) * in[2] + column) * in[3] + c];
                most = value > most ? value : most;
              }
          *output++ = activated(most, activation);
        }
}

enum binary { ADD, SUB, MUL, DIV, MAXIMUM, MINIMUM, SQUARED_DIFFERENCE, PRELU };

KERNEL float of_two(enum binary function, float x, float y) {
  switch (function) {
  case ADD:
    return x + y;
  case SUB:
    return x - y;
  case MUL:
    return x * y;
  case DIV:
    return x / y;
  case MAXIMUM:
    return x > y ? x : y;
  case MINIMUM:
    return x < y ? x : y;
  case SQUARED_DIFFERENCE:
    return (x - y) * (x - y);
  default:
    return x >= 0 ? x : x * y;
  }
}

/* Steps of 0: the operand has one element along that axis. */
#define FOR_EACH_OF_4(shape, i)                                                                                        \
  for (int i##0 = 0; i##0 < (shape)[0]; ++i##0)                                                                        \
    for (int i##1 = 0; i##1 < (shape)[1]; ++i##1)                                                                      \
      for (int i##2 = 0; i##2 < (shape)[2]; ++i##2)                                                                    \
        for (int i##3 = 0; i##3 < (shape)[3]; ++i##3)
#define AT_4(steps, i) (i##0 * (steps)[0] + i##1 * (steps)[1] + i##2 * (steps)[2] + i##3 * (steps)[3])

KERNEL void binary(enum binary function, const float *x, const int *x_steps, const float *y, const int *y_steps,
                   float *output, const int *shape, enum activation activation) {
  FOR_EACH_OF_4(shape, i) *output++ = activated(of_two(function, x[AT_4(x_steps, i)], y[AT_4(y_steps, i)]), activation);
}

/* Overflows wrap. */
KERNEL void binary_i32(enum binary function, const int32_t *x, const int *x_steps, const int32_t *y, const int *y_steps,
                       int32_t *output, const int *shape) {
  FOR_EACH_OF_4(shape, i) {
    uint32_t a = (uint32_t)x[AT_4(x_steps, i)], b = (uint32_t)y[AT_4(y_steps, i)];
    int32_t most = (int32_t)a > (int32_t)b ? (int32_t)a : (int32_t)b,
            least = (int32_t)a < (int32_t)b ? (int32_t)a : (int32_t)b;
    *output++ = function == MAXIMUM   ? most
                : function == MINIMUM ? least
                                      : (int32_t)(function == ADD   ? a + b
                                                  : function == SUB ? a - b
                                                                    : a * b);
  }
}

/* Of numbers of any type. */
#define COMPARE(sign, x, x_steps, y, y_steps, output, shape)                                                           \
  do {                                                                                                                 \
    uint8_t *to = output;                                                                                              \
    FOR_EACH_OF_4(shape, i) *to++ = (x)[AT_4(x_steps, i)] sign(y)[AT_4(y_steps, i)];                                   \
  } while (0)

enum unary {
  CLAMPED_0,
  CLAMPED_6,
  CLAMPED_1,
  LOGISTIC,
  TANH,
  EXP,
  NEG,
  ABS,
  SQUARE,
  SQRT,
  RSQRT,
  LEAKY_RELU,
  HARD_SWISH,
  GELU
};

KERNEL float of_one(enum unary function, float x, float alpha) {
  switch (function) {
  case CLAMPED_0:
    return activated(x, RELU);
  case CLAMPED_6:
    return activated(x, RELU6);
  case CLAMPED_1:
    return activated(x, RELU_N1_TO_1);
  case LOGISTIC:
    return logistic(x);
  case TANH:
    return hyperbolic_tangent(x);
  case EXP:
    return exponential(x);
  case NEG:
    return -x;
  case ABS:
    return __builtin_fabsf(x);
  case SQUARE:
    return x * x;
  case SQRT:
    return __builtin_sqrtf(x);
  case RSQRT:
    return 1 / __builtin_sqrtf(x);
  case GELU:
    return 0.5f * x * (1 + hyperbolic_tangent(0.797884561f * (x + 0.044715f * x * x * x)));
  case LEAKY_RELU:
    return x > 0 ? x : x * alpha;
  default:
    return x * activated(x + 3, RELU6) / 6;
  }
}

KERNEL void unary(enum unary function, const float *input, float *output, int size, float alpha) {
  for (int i = 0; i < size; ++i)
    output[i] = of_one(function, input[i], alpha);
}

KERNEL void softmax(const float *input, float *output, int rows, int depth, float beta) {
  for (int row = 0; row < rows; ++row, input += depth, output += depth) {
    float largest = input[0], sum = 0;
    for (int i = 1; i < depth; ++i)
      largest = input[i] > largest ? input[i] : largest;
    for (int i = 0; i < depth; ++i)
      sum += output[i] = exponential((input[i] - largest) * beta);
    for (int i = 0; i < depth; ++i)
      output[i] /= sum;
  }
}

/* Of the elements along some axes: there the steps of the result are 0. */
KERNEL void mean(const float *input, const int *shape, float *output, const int *steps, int size, int count) {
  fill(output, size, 0, 4);
  FOR_EACH_OF_4(shape, i) output[AT_4(steps, i)] += *input++;
  for (int i = 0; i < size; ++i)
    output[i] /= (float)count;
}

/* Elements of `bytes` bytes, from anywhere to anywhere. */
KERNEL void move(const void *input, const int *in_steps, void *output, const int *out_steps, const int *shape,
                 int bytes) {
  const unsigned char *from = (const unsigned char *)input;
  unsigned char *to = (unsigned char *)output;
  FOR_EACH_OF_4(shape, i) {
    const unsigned char *x = from + AT_4(in_steps, i) * bytes;
    unsigned char *y = to + AT_4(out_steps, i) * bytes;
    if (bytes == 4)
      *(uint32_t *)(void *)y = *(const uint32_t *)(const void *)x;
    else
      *y = *x;
    __asm__ volatile("" ::: "memory");
  }
}

/* Elements of which each is `inner` ones in a row. What an index lies outside of is not read. */
KERNEL void gather(const void *input, const int32_t *indices, void *output, int outer, int axis, int count, int inner,
                   int bytes) {
  const unsigned char *from = (const unsigned char *)input;
  unsigned char *to = (unsigned char *)output;
  for (int o = 0; o < outer; ++o)
    for (int i = 0; i < count; ++i)
      for (int k = 0; k < inner * bytes; ++k) {
        int index = indices[i];
        *to++ = index >= 0 && index < axis ? from[(o * axis + index) * inner * bytes + k] : 0;
        __asm__ volatile("" ::: "memory");
      }
}

/* The two rows, or columns, that one of the result lies between, and how far it is from the first. */
struct between {
  int first, second;
  float rest;
};
KERNEL void resize_bilinear(const float *input, const int *in, const struct between *rows,
                            const struct between *columns, float *output, const int *out) {
  for (int n = 0; n < out[0]; ++n)
    for (int y = 0; y < out[1]; ++y)
      for (int x = 0; x < out[2]; ++x)
        for (int c = 0; c < out[3]; ++c) {
          struct between v = rows[y], h = columns[x];
          const float *upper = input + (n * in[1] + v.first) * in[2] * in[3] + c;
          const float *lower = input + (n * in[1] + v.second) * in[2] * in[3] + c;
          *output++ = upper[h.first * in[3]] * ((1 - v.rest) * (1 - h.rest)) +
                      upper[h.second * in[3]] * ((1 - v.rest) * h.rest) +
                      lower[h.first * in[3]] * (v.rest * (1 - h.rest)) + lower[h.second * in[3]] * (v.rest * h.rest);
        }
}
KERNEL void resize_nearest(const void *input, const int *in, const struct between *rows, const struct between *columns,
                           void *output, const int *out, int bytes) {
  const unsigned char *from = (const unsigned char *)input;
  unsigned char *to = (unsigned char *)output;
  for (int n = 0; n < out[0]; ++n)
    for (int y = 0; y < out[1]; ++y)
      for (int x = 0; x < out[2]; ++x)
        for (int k = 0; k < out[3] * bytes; ++k) {
          *to++ = from[((n * in[1] + rows[y].first) * in[2] + columns[x].first) * in[3] * bytes + k];
          __asm__ volatile("" ::: "memory");
        }
}

/* One step of an LSTM for each time. `gates`: input, forget, candidate, output; of each its weights for the input and
   for the state, and its bias. `room`: for four times `cells` numbers. */
struct gate {
  const float *input, *state, *bias;
};
KERNEL void lstm(const float *input, int batch, int times, int depth, int by_time, const struct gate *gates,
                 float *state, float *cell, int cells, float clip, enum activation activation, int squashes,
                 float *room, float *output) {
  for (int t = 0; t < times; ++t)
    for (int b = 0; b < batch; ++b) {
      int at = by_time ? t * batch + b : b * times + t;
      for (int g = 0; g < 4; ++g)
        for (int c = 0; c < cells; ++c) {
          float sum = gates[g].bias[c];
          for (int i = 0; i < depth; ++i)
            sum += input[at * depth + i] * gates[g].input[c * depth + i];
          for (int i = 0; i < cells; ++i)
            sum += state[b * cells + i] * gates[g].state[c * cells + i];
          room[g * cells + c] = sum;
        }
      for (int c = 0; c < cells; ++c) {
        float fresh = room[2 * cells + c], *kept = cell + b * cells + c;
        fresh = squashes ? hyperbolic_tangent(fresh) : activated(fresh, activation);
        *kept = logistic(room[cells + c]) * *kept + fresh * logistic(room[c]);
        if (clip > 0)
          *kept = *kept > clip ? clip : *kept < -clip ? -clip : *kept;
        float shown = squashes ? hyperbolic_tangent(*kept) : activated(*kept, activation);
        output[at * cells + c] = state[b * cells + c] = logistic(room[3 * cells + c]) * shown;
      }
    }
}

/* Quantised numbers: a real factor is mantissa · 2^(shift − 31). Overflows wrap. */
KERNEL int32_t wrapping_add(int32_t a, int32_t b) { return (int32_t)((uint32_t)a + (uint32_t)b); }
KERNEL int32_t clamp(int32_t x, int32_t low, int32_t high) { return x < low ? low : x > high ? high : x; }

KERNEL int32_t high_mul(int32_t a, int32_t b) {
  if (a == b && a == INT32_MIN)
    return INT32_MAX;
  return (int32_t)(((int64_t)a * b + (1 << 30)) >> 31);
}
/* x / 2^exponent, to nearest, ties away from zero. */
KERNEL int32_t divide_by_power(int32_t x, int exponent) {
  int32_t mask = (int32_t)(((int64_t)1 << exponent) - 1), threshold = (mask >> 1) + (x < 0 ? 1 : 0);
  return (x >> exponent) + ((x & mask) > threshold ? 1 : 0);
}
KERNEL int32_t scaled(int32_t x, int32_t mantissa, int shift) {
  int32_t shifted = (int32_t)((uint32_t)x << (shift > 0 ? shift : 0));
  return divide_by_power(high_mul(shifted, mantissa), shift < 0 ? -shift : 0);
}
/* The same with one rounding instead of two. */
KERNEL int32_t scaled_once(int32_t x, int32_t mantissa, int shift) {
  return (int32_t)(((int64_t)x * mantissa + ((int64_t)1 << (30 - shift))) >> (31 - shift));
}

struct scale {
  int32_t mantissa;
  int shift;
};

/* From sums to elements of 8 bits: a scale for each channel, or one for all. */
struct rescaling {
  const struct scale *scales;
  int channels, once;
  int32_t zero, low, high;
};
KERNEL int32_t rescaled(int32_t sum, int channel, const struct rescaling *to) {
  struct scale by = to->scales[to->channels == 1 ? 0 : channel];
  int32_t value = to->once ? scaled_once(sum, by.mantissa, by.shift) : scaled(sum, by.mantissa, by.shift);
  return clamp(wrapping_add(value, to->zero), to->low, to->high);
}

/* Fixed-point numbers of 32 bits. */
KERNEL int32_t shifted(int32_t x, int exponent) {
  if (exponent <= 0)
    return divide_by_power(x, -exponent);
  int64_t wide = (int64_t)x * ((int64_t)1 << exponent);
  return wide > INT32_MAX ? INT32_MAX : wide < INT32_MIN ? INT32_MIN : (int32_t)wide;
}
/* exp(a) of a ≤ 0 with five integer bits: a polynomial around −1/8 for what is above −1/4, a factor for each bit of the
 * rest. */
KERNEL int32_t exponential_fixed(int32_t a) {
  static const int32_t powers[] = {1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242};
  const int32_t quarter = 1 << 24;
  int32_t rest = (a & (quarter - 1)) - quarter, x = wrapping_add(shifted(rest, 5), 1 << 28);
  int32_t x2 = high_mul(x, x), x3 = high_mul(x2, x), x4 = high_mul(x2, x2);
  int32_t higher = shifted(wrapping_add(high_mul(wrapping_add(shifted(x4, -2), x3), 715827883), x2), -1);
  int32_t result = wrapping_add(1895147668, high_mul(1895147668, wrapping_add(x, higher)));
  uint32_t quarters = (uint32_t)rest - (uint32_t)a;
  for (int i = 0; i < 7; ++i)
    if (quarters & ((uint32_t)quarter << i))
      result = high_mul(result, powers[i]);
  return a == 0 ? INT32_MAX : result;
}
/* 1 / (1 + a) of a in [0, 1], by three steps of Newton's. */
KERNEL int32_t inverse_of_one_plus(int32_t a) {
  int64_t sum = (int64_t)a + INT32_MAX;
  int32_t half = (int32_t)((sum + (sum >= 0 ? 1 : -1)) / 2);
  int32_t x = wrapping_add(1515870810, high_mul(half, -1010580540));
  for (int i = 0; i < 3; ++i)
    x = wrapping_add(x, shifted(high_mul(x, wrapping_add(1 << 29, -high_mul(half, x))), 2));
  return shifted(x, 1);
}
/* The differences from the largest element of a row, as fixed-point numbers; below `least` they count as nothing. */
KERNEL int32_t softmax_exponential(int32_t difference, struct scale by, int32_t least) {
  return difference < least ? 0 : exponential_fixed(high_mul((int32_t)((uint32_t)difference << by.shift), by.mantissa));
}

#define T int8_t
#define OF(name) name##_i8
#include "kernels8.h"
#undef T
#undef OF
#define T uint8_t
#define OF(name) name##_u8
#include "kernels8.h"
#undef T
#undef OF
