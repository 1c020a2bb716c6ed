/* The kernels of numbers of 8 bits; T says which, OF(name) what they are called. */

KERNEL void OF(conv_2d)(const T *input, const int *in, int32_t in_zero, const T *filter, const int *f,
                        int32_t filter_zero, const int32_t *bias, T *output, const int *out, const int *stride,
                        const int *dilation, const int *before, struct rescaling to) {
  int per_group = out[3] / (in[3] / f[3]);
  for (int n = 0; n < out[0]; ++n)
    for (int y = 0; y < out[1]; ++y)
      for (int x = 0; x < out[2]; ++x)
        for (int c = 0; c < out[3]; ++c) {
          int32_t sum = bias ? bias[c] : 0;
          for (int fy = 0; fy < f[1]; ++fy) {
            int row = y * stride[0] + fy * dilation[0] - before[0];
            if (row < 0 || row >= in[1])
              continue;
            for (int fx = 0; fx < f[2]; ++fx) {
              int column = x * stride[1] + fx * dilation[1] - before[1];
              if (column < 0 || column >= in[2])
                continue;
              const T *from = input + ((n * in[1] + row) * in[2] + column) * in[3] + c / per_group * f[3];
              const T *weights = filter + ((c * f[1] + fy) * f[2] + fx) * f[3];
              for (int i = 0; i < f[3]; ++i)
                sum = wrapping_add(sum, (from[i] - in_zero) * (weights[i] - filter_zero));
            }
          }
          *output++ = (T)rescaled(sum, c, &to);
        }
}

KERNEL void OF(depthwise_conv_2d)(const T *input, const int *in, int32_t in_zero, const T *filter, const int *f,
                                  int32_t filter_zero, const int32_t *bias, T *output, const int *out,
                                  const int *stride, const int *dilation, const int *before, struct rescaling to) {
  for (int n = 0; n < out[0]; ++n)
    for (int y = 0; y < out[1]; ++y)
      for (int x = 0; x < out[2]; ++x)
        for (int c = 0; c < out[3]; ++c) {
          int32_t sum = bias ? bias[c] : 0;
          for (int fy = 0; fy < f[1]; ++fy) {
            int row = y * stride[0] + fy * dilation[0] - before[0];
            if (row < 0 || row >= in[1])
              continue;
            for (int fx = 0; fx < f[2]; ++fx) {
              int column = x * stride[1] + fx * dilation[1] - before[1];
              if (column < 0 || column >= in[2])
                continue;
              int32_t value = input[((n * in[1] + row) * in[2] + column) * in[3] + c / (out[3] / in[3])] - in_zero;
              sum = wrapping_add(sum, value * (filter[(fy * f[2] + fx) * f[3] + c] - filter_zero));
            }
          }
          *output++ = (T)rescaled(sum, c, &to);
        }
}

KERNEL void OF(fully_connected)(const T *input, int32_t in_zero, const T *weights, int32_t weights_zero,
                                const int32_t *bias, T *output, int batch, int from, int to,
                                struct rescaling rescaling) {
  for (int n = 0; n < batch; ++n)
    for (int c = 0; c < to; ++c) {
      int32_t sum = bias ? bias[c] : 0;
      for (int i = 0; i < from; ++i)
        sum = wrapping_add(sum, (input[n * from + i] - in_zero) * (weights[c * from + i] - weights_zero));
      *output++ = (T)rescaled(sum, c, &rescaling);
    }
}

KERNEL void OF(average_pool_2d)(const T *input, const int *in, T *output, const int *out, const int *window,
                                const int *stride, const int *before, int32_t low, int32_t high) {
  for (int n = 0; n < out[0]; ++n)
    for (int y = 0; y < out[1]; ++y)
      for (int x = 0; x < out[2]; ++x)
        for (int c = 0; c < out[3]; ++c) {
          int32_t sum = 0, count = 0;
          for (int row = y * stride[0] - before[0], i = 0; i < window[0]; ++i, ++row)
            for (int column = x * stride[1] - before[1], j = 0; j < window[1]; ++j, ++column)
              if (row >= 0 && row < in[1] && column >= 0 && column < in[2]) {
                sum += input[((n * in[1] + row) * in[2] + column) * in[3] + c];
                ++count;
              }
          sum = count == 0 ? 0 : (sum > 0 ? sum + count / 2 : sum - count / 2) / count;
          *output++ = (T)clamp(sum, low, high);
        }
}

KERNEL void OF(max_pool_2d)(const T *input, const int *in, T *output, const int *out, const int *window,
                            const int *stride, const int *before, int32_t low, int32_t high) {
  for (int n = 0; n < out[0]; ++n)
    for (int y = 0; y < out[1]; ++y)
      for (int x = 0; x < out[2]; ++x)
        for (int c = 0; c < out[3]; ++c) {
          int32_t most = (T)-1 < 0 ? -128 : 0;
          for (int row = y * stride[0] - before[0], i = 0; i < window[0]; ++i, ++row)
            for (int column = x * stride[1] - before[1], j = 0; j < window[1]; ++j, ++column)
              if (row >= 0 && row < in[1] && column >= 0 && column < in[2]) {
                int32_t value = input[((n * in[1] + row) * in[2] + column) * in[3] + c];
                most = value > most ? value : most;
              }
          *output++ = (T)clamp(most, low, high);
        }
}

/* Both operands are brought to a common scale with `spare` bits to the right of the point. */
KERNEL void OF(add)(const T *x, const int *x_steps, int32_t x_zero, struct scale of_x, const T *y, const int *y_steps,
                    int32_t y_zero, struct scale of_y, int subtracts, int spare, T *output, const int *shape,
                    struct rescaling to) {
  FOR_EACH_OF_4(shape, i) {
    int32_t left = scaled((x[AT_4(x_steps, i)] - x_zero) * (1 << spare), of_x.mantissa, of_x.shift);
    int32_t right = scaled((y[AT_4(y_steps, i)] - y_zero) * (1 << spare), of_y.mantissa, of_y.shift);
    *output++ = (T)rescaled(wrapping_add(left, subtracts ? -right : right), 0, &to);
  }
}

KERNEL void OF(mul)(const T *x, const int *x_steps, int32_t x_zero, const T *y, const int *y_steps, int32_t y_zero,
                    T *output, const int *shape, struct rescaling to) {
  FOR_EACH_OF_4(shape, i)
  *output++ = (T)rescaled((x[AT_4(x_steps, i)] - x_zero) * (y[AT_4(y_steps, i)] - y_zero), 0, &to);
}

/* From one scale to another: QUANTIZE, RELU. */
KERNEL void OF(rescale)(const T *input, int32_t in_zero, T *output, int size, struct rescaling to) {
  for (int i = 0; i < size; ++i)
    output[i] = (T)rescaled(input[i] - in_zero, 0, &to);
}

/* From int8 to uint8, or back. */
KERNEL void OF(rescale_other)(const T *input, int32_t in_zero, void *output, int size, struct rescaling to) {
  for (int i = 0; i < size; ++i)
    ((uint8_t *)output)[i] = (uint8_t)rescaled(input[i] - in_zero, 0, &to);
}

/* A function of one number. The first element of the table is that of the number with the bits 0. */
KERNEL void OF(look_up)(const T *input, T *output, int size, const uint8_t *table) {
  for (int i = 0; i < size; ++i)
    output[i] = (T)table[(uint8_t)input[i]];
}

KERNEL void OF(quantize)(const float *input, T *output, int size, float scale, int32_t zero) {
  const int32_t low = (T)-1 < 0 ? -128 : 0, high = (T)-1 < 0 ? 127 : 255;
  for (int i = 0; i < size; ++i) {
    double real = (double)input[i] / (double)scale;
    real = real > 1e6 ? 1e6 : real > -1e6 ? real : real == real ? -1e6 : 0;
    int32_t whole = (int32_t)real;
    double rest = real - (double)whole;
    whole += rest >= 0.5 ? 1 : rest <= -0.5 ? -1 : 0;
    output[i] = (T)clamp(whole + zero, low, high);
  }
}

KERNEL void OF(dequantize)(const T *input, float *output, int size, float scale, int32_t zero) {
  for (int i = 0; i < size; ++i)
    output[i] = (float)((double)scale * (double)(input[i] - zero));
}

/* `sums`: room for a sum of each element of the result. */
KERNEL void OF(mean)(const T *input, const int *shape, T *output, const int *steps, int size, int32_t *sums,
                     int32_t zeros, struct rescaling to) {
  fill(sums, size, 0, 4);
  FOR_EACH_OF_4(shape, i) sums[AT_4(steps, i)] += *input++;
  for (int i = 0; i < size; ++i)
    output[i] = (T)rescaled(wrapping_add(sums[i], -zeros), 0, &to);
}

/* Results in steps of 1/256 from the smallest number on. Sums have twelve integer bits. */
KERNEL void OF(softmax)(const T *input, T *output, int rows, int depth, struct scale by, int32_t least) {
  const int32_t low = (T)-1 < 0 ? -128 : 0;
  for (int row = 0; row < rows; ++row, input += depth, output += depth) {
    int32_t largest = input[0], sum = 0;
    for (int i = 1; i < depth; ++i)
      largest = input[i] > largest ? input[i] : largest;
    for (int i = 0; i < depth; ++i)
      sum = wrapping_add(sum, divide_by_power(softmax_exponential(input[i] - largest, by, least), 12));
    int headroom = sum ? __builtin_clz((uint32_t)sum) : 31;
    int32_t inverse = inverse_of_one_plus((int32_t)(((uint32_t)sum << headroom) - (1u << 31)));
    int shift = 12 - headroom + 31 - 8;
    for (int i = 0; i < depth; ++i) {
      int32_t value = 0;
      if (shift >= 0 && shift < 31)
        value = divide_by_power(high_mul(inverse, softmax_exponential(input[i] - largest, by, least)), shift);
      output[i] = (T)clamp(wrapping_add(value, low), low, low + 255);
    }
  }
}
