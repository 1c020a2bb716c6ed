/* The same toy in C: whatever is known of an operator is said while going through them. */
#include "origin/origin_reader.h"

#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
  static uint8_t file[64 << 20]; /* a real one maps it */
  FILE *in = argc > 1 ? fopen(argv[1], "rb") : NULL;
  size_t size = in ? fread(file, 1, sizeof file, in) : 0;
  origo_map map;
  origo_status status = origo_open(&map, file, size);
  if (status != ORIGO_OK) {
    fprintf(stderr, "%s: %s\n", argc > 1 ? argv[1] : "", origo_status_text(status));
    return 1;
  }
  origo_operator_cursor operators = origo_operators(&map);
  origo_operator op;
  while (origo_next_operator(&operators, &op)) {
    uint32_t id;
    printf("subgraph %u operator %u from", op.subgraph, op.index);
    while (origo_next_id(&op.origins, &id))
      printf(" %u", id);
    printf("\n");
  }
  return 0;
}
