/* Hands the C reader a model cut off behind each byte, and with each byte changed in several ways, in memory of exactly
 * its size. The sanitizers say whether anything outside was read. */
#include "facts.h"

static FILE *nowhere;
static unsigned long statuses[ORIGO_OTHER_MODEL + 1];

static void try_bytes(const uint8_t *bytes, size_t size) {
  char buffer[7]; /* too small for most names */
  origo_map map;
  origo_status status = origo_open(&map, bytes, size);
  ++statuses[status];
  if (status != ORIGO_OK)
    return;
  print_facts(&map, nowhere, buffer, sizeof buffer);
  is_consistent(&map, 4);
  origo_close(&map);
}

int main(int argc, char **argv) {
  size_t size, i;
  uint8_t *bytes = read_file(argc > 1 ? argv[1] : NULL, &size);
  origo_map map;
  nowhere = fopen("/dev/null", "wb");
  if (!bytes || !nowhere || origo_open(&map, bytes, size) != ORIGO_OK) {
    fprintf(stderr, "hostile: no model with a map\n");
    return 1;
  }
  origo_close(&map);
  for (i = 0; i < size; ++i) {
    uint8_t *part = (uint8_t *)malloc(i + !i);
    memcpy(part, bytes, i);
    try_bytes(part, i);
    free(part);
  }
  for (i = 0; i < size; ++i) {
    const uint8_t old = bytes[i];
    const uint8_t changed[] = {0, 1, 0x7f, 0x80, 0xff, (uint8_t)(old + 1), (uint8_t)(old - 1), (uint8_t)(old ^ 0x80)};
    size_t k;
    for (k = 0; k < sizeof changed; ++k) {
      bytes[i] = changed[k];
      try_bytes(bytes, size);
    }
    bytes[i] = old;
  }
  printf("hostile: %lu bytes, ok %lu, no model %lu, no map %lu, damaged %lu, version %lu, other model %lu\n",
         (unsigned long)size, statuses[ORIGO_OK], statuses[ORIGO_NOT_A_MODEL], statuses[ORIGO_NO_MAP],
         statuses[ORIGO_DAMAGED], statuses[ORIGO_OTHER_VERSION], statuses[ORIGO_OTHER_MODEL]);
  free(bytes);
  fclose(nowhere);
  /* Each of them must have come up, or the changes were none. */
  for (i = 0; i <= ORIGO_OTHER_MODEL; ++i)
    if (!statuses[i])
      return 2;
  return 0;
}
