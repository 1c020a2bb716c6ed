/* For each operator the source operators that it does the work of, from a mapped file. */
#define _POSIX_C_SOURCE 200112L
#include "origin/origin_reader.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>

int main(int argc, char **argv) {
  int file = open(argc > 1 ? argv[1] : "", O_RDONLY);
  struct stat about;
  if (file < 0 || fstat(file, &about) != 0)
    return 1;
  void *bytes = mmap(NULL, (size_t)about.st_size, PROT_READ, MAP_PRIVATE, file, 0);
  if (bytes == MAP_FAILED)
    return 1;

  origo_map map;
  origo_status status = origo_open(&map, bytes, (size_t)about.st_size);
  if (status != ORIGO_OK) {
    fprintf(stderr, "%s: %s\n", argv[1], origo_status_text(status));
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
  origo_gone gone;
  if (origo_find_gone(&map, 1, 15, &gone))
    printf("tensor 15 is %.*s by %.*s\n", (int)gone.fate.size, gone.fate.data, (int)gone.pass.size, gone.pass.data);
  origo_close(&map);
  return 0;
}
