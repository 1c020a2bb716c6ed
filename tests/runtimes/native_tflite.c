/* usage: native_tflite MODEL THREADS SECONDS MODE
   Runs a model in the native TensorFlow Lite again and again, with random inputs (integers of 32 and 64 bits are zero),
   and prints the least and the median time of a run in ms, and how many there were; else one word and exit status 1.
   MODE 0: what the library does by itself, 1: with the XNNPACK delegate, for signed and unsigned 8 bit too.
   CPU_TIME in the environment: of the processor, of all threads together, where others use the machine. */
#include "tensorflow/lite/c/c_api.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* xnnpack_delegate.h is not among the headers of the package. */
typedef struct {
  int32_t num_threads;
  uint32_t flags;
  void *rest[3];
} XnnpackOptions;
XnnpackOptions TfLiteXNNPackDelegateOptionsDefault(void);
TfLiteDelegate *TfLiteXNNPackDelegateCreate(const XnnpackOptions *);

enum { MostRuns = 1000000 };

static clockid_t clock_used = CLOCK_MONOTONIC;

static double now(void) {
  struct timespec time;
  clock_gettime(clock_used, &time);
  return time.tv_sec + time.tv_nsec * 1e-9;
}

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static uint32_t state = 7;
static uint32_t next(void) { return state = state * 1664525 + 1013904223; }

static void fill(TfLiteTensor *tensor) {
  size_t bytes = TfLiteTensorByteSize(tensor);
  char *data = TfLiteTensorData(tensor);
  switch (TfLiteTensorType(tensor)) {
  case kTfLiteFloat32:
    for (size_t i = 0; i < bytes / sizeof(float); ++i)
      ((float *)data)[i] = (next() >> 8) / (float)(1 << 24);
    break;
  case kTfLiteInt32:
  case kTfLiteInt64:
    memset(data, 0, bytes);
    break;
  default:
    for (size_t i = 0; i < bytes; ++i)
      data[i] = (char)(next() >> 24);
  }
}

static int refused(const char *word) {
  puts(word);
  return 1;
}

int main(int argc, char **argv) {
  if (argc != 5)
    return refused("usage: native_tflite MODEL THREADS SECONDS MODE");
  if (getenv("CPU_TIME"))
    clock_used = CLOCK_PROCESS_CPUTIME_ID;
  int threads = atoi(argv[2]);
  double seconds = atof(argv[3]);
  TfLiteModel *model = TfLiteModelCreateFromFile(argv[1]);
  if (!model)
    return refused("nomodel");
  TfLiteInterpreterOptions *options = TfLiteInterpreterOptionsCreate();
  TfLiteInterpreterOptionsSetNumThreads(options, threads);
  if (atoi(argv[4])) {
    XnnpackOptions xnnpack = TfLiteXNNPackDelegateOptionsDefault();
    xnnpack.num_threads = threads;
    xnnpack.flags |= 3;
    TfLiteInterpreterOptionsAddDelegate(options, TfLiteXNNPackDelegateCreate(&xnnpack));
  }
  TfLiteInterpreter *interpreter = TfLiteInterpreterCreate(model, options);
  if (!interpreter)
    return refused("nointerp");
  if (TfLiteInterpreterAllocateTensors(interpreter))
    return refused("noalloc");
  for (int i = 0; i < TfLiteInterpreterGetInputTensorCount(interpreter); ++i)
    fill(TfLiteInterpreterGetInputTensor(interpreter, i));
  if (TfLiteInterpreterInvoke(interpreter))
    return refused("noinvoke");
  double *times = malloc(sizeof(double) * MostRuns), began = now();
  int runs = 0;
  while (now() - began < seconds && runs < MostRuns) {
    double start = now();
    TfLiteInterpreterInvoke(interpreter);
    times[runs++] = now() - start;
  }
  qsort(times, runs, sizeof(double), ascending);
  printf("%.4f %.4f %d\n", runs ? times[0] * 1e3 : 0, runs ? times[runs / 2] * 1e3 : 0, runs);
  return 0;
}
