#include "facts.h"

#include <locale.h>

int main(int argc, char **argv) {
  static char buffer[1 << 16];
  const char *path = argc > 1 ? argv[1] : NULL;
  size_t size;
  uint8_t *bytes = read_file(path, &size);
  origo_map map;
  origo_status status;
  int consistent;
  setlocale(LC_ALL, ""); /* as programs do that speak to people */
  if (!bytes) {
    fprintf(stderr, "%s: cannot be read\n", path ? path : "");
    return 1;
  }
  status = origo_open(&map, bytes, size);
  if (status != ORIGO_OK) {
    fprintf(stderr, "%s: %s\n", path, origo_status_text(status));
    free(bytes);
    return 1;
  }
  print_facts(&map, stdout, buffer, sizeof buffer);
  consistent = is_consistent(&map, 100);
  if (!consistent)
    fprintf(stderr, "%s: a find function says something else than the rows\n", path);
  origo_close(&map);
  free(bytes);
  return consistent ? 0 : 2;
}
