/* Runs a generated network on bare elements in files. usage: PROGRAM IN_PREFIX OUT_PREFIX [RUNS]
   Input n is IN_PREFIX<n>. Outputs are written after the first run. With -DNET_PROFILE, prints what each kernel took,
   without the first of several runs. */
#include "net.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int transfer(const char *prefix, int index, const char *mode, const struct net_tensor *tensor) {
  char path[4096];
  snprintf(path, sizeof path, "%s%d", prefix, index);
  FILE *file = fopen(path, mode);
  unsigned long done = 0;
  if (file) {
    done = *mode == 'r' ? fread(tensor->data, 1, tensor->bytes, file) : fwrite(tensor->data, 1, tensor->bytes, file);
    if (fclose(file) != 0)
      done = 0;
  }
  if (done != tensor->bytes)
    fprintf(stderr, "%s: %lu bytes cannot be %s\n", path, tensor->bytes, *mode == 'r' ? "read" : "written");
  return done == tensor->bytes;
}

int main(int argc, char **argv) {
  if (argc != 3 && argc != 4) {
    fprintf(stderr, "usage: %s IN_PREFIX OUT_PREFIX [RUNS]\n", argv[0]);
    return 1;
  }
  void **given = malloc(sizeof *given * (size_t)(net_input_count + 1));
  for (int i = 0; given && i < net_input_count; ++i) {
    if (!transfer(argv[1], i, "rb", &net_inputs[i]) || !(given[i] = malloc(net_inputs[i].bytes + 1)))
      return 1;
    memcpy(given[i], net_inputs[i].data, net_inputs[i].bytes);
  }
  for (int run = 0, runs = !given ? 0 : argc == 4 ? atoi(argv[3]) : 1; run < runs; ++run) {
    /* The arena of an input serves other tensors later. */
    for (int i = 0; i < net_input_count; ++i)
      memcpy(net_inputs[i].data, given[i], net_inputs[i].bytes);
    net_run();
    for (int i = 0; run == 0 && i < net_output_count; ++i)
      if (!transfer(argv[2], i, "wb", &net_outputs[i]))
        return 1;
#ifdef NET_PROFILE
    /* The first run gets its memory from the system. */
    for (int k = 0; run == 0 && runs > 1 && k < net_kernel_count; ++k)
      net_times[k].count = net_times[k].ns = 0;
#endif
  }
#ifdef NET_PROFILE
  puts("kernel,count,ns");
  for (int k = 0; k < net_kernel_count; ++k)
    printf("%d,%llu,%llu\n", k, net_times[k].count, net_times[k].ns);
#endif
  for (int i = 0; i < net_input_count; ++i)
    free(given[i]);
  free(given);
  return 0;
}
