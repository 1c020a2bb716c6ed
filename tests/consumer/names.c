/* The layers of the source behind each operator, by name. One walk over the names and one over the operators of the source
 * come first, and fill two tables: to look each name up where it is needed would walk anew each time. */
#define _POSIX_C_SOURCE 200809L
#include "origin/origin_reader.h"

#include <ctype.h>
#include <stdio.h>

static unsigned char *read_file(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  unsigned char *bytes = NULL;
  long length;
  if (file && fseek(file, 0, SEEK_END) == 0 && (length = ftell(file)) >= 0 && (bytes = malloc((size_t)length + 1))) {
    rewind(file);
    *size = fread(bytes, 1, (size_t)length, file);
  }
  if (file)
    fclose(file);
  return bytes;
}

int main(int argc, char **argv) {
  size_t size = 0;
  unsigned char *bytes = read_file(argc > 1 ? argv[1] : "", &size);
  origo_map map;
  origo_status status = bytes ? origo_open(&map, bytes, size) : ORIGO_NOT_A_MODEL;
  if (status != ORIGO_OK) {
    fprintf(stderr, "%s\n", origo_status_text(status));
    return 1;
  }

  /* A name is kept as the difference to the one before, so there is one buffer, and copies of what is wanted. */
  char buffer[200];
  char **names = calloc(map.source_tensor_count + 1, sizeof *names);
  int32_t *results = calloc(map.source_operator_count + 1, sizeof *results);
  origo_name_cursor cursor = origo_names(&map, buffer, sizeof buffer);
  uint64_t length;
  if (!names || !results)
    return 1;
  while (origo_next_name(&cursor, &length)) /* the id of the name is cursor.id - 1 */
    names[cursor.id - 1] = strndup(buffer, length < sizeof buffer ? (size_t)length : sizeof buffer);

  /* An operator has the name of its first result. */
  origo_source_cursor sources = origo_source_operators(&map);
  origo_source_operator source;
  while (origo_next_source_operator(&sources, &source)) {
    int32_t tensor = -1;
    while (tensor < 0 && origo_next_output(&source.outputs, &tensor))
      ;
    results[source.id] = tensor;
  }

  origo_operator_cursor operators = origo_operators(&map);
  origo_operator op;
  while (origo_next_operator(&operators, &op)) {
    uint32_t id;
    printf("%u:%u", op.subgraph, op.index);
    while (origo_next_id(&op.origins, &id)) {
      const char *name = results[id] >= 0 && names[results[id]] ? names[results[id]] : "";
      printf(" ");
      for (; *name; ++name) /* names are any bytes that somebody chose */
        putchar(isalnum((unsigned char)*name) || *name == '/' ? *name : '_');
    }
    printf("\n");
  }
  origo_close(&map);
  return 0;
}
