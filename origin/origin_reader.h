#ifndef ORIGO_ORIGIN_READER_H
#define ORIGO_ORIGIN_READER_H

/* Reads the origin map inside a .circle or .tflite file: where its operators and tensors came from, and what became of
 * those of its source. For back-ends and runtimes: C99 (or C++), any byte order, no library but zlib (-lz).
 *
 * Hand in the whole file, mapped or read; it must outlive everything that is said of it. origo_open() looks at the
 * whole map once and refuses what is damaged; after that no function fails. Most maps are deflated: it takes memory for
 * the bytes of one, at most 1 MiB and 8 times the file, which origo_close() gives back; nothing else is allocated. Any
 * bytes are safe, also if the file changes meanwhile: nothing is ever read that lies outside. A map is only read, so
 * threads may share it.
 *
 * Going through things with a cursor takes constant time for each (and a look into small tables of words); find
 * functions go through from the beginning. What a cursor is to start from, its function sets: origo_operators(&map).
 *
 * Not here: the fingerprint of the model is not computed (origin-dump --fingerprint does, and compares), only the
 * numbers of operators and tensors are compared; what the model itself says of its operators.
 *
 * docs/reading-origins.md shows a program, docs/origin-map.md says what the words mean. What is meant for you is named
 * origo_…; origo__… is not. */

#include <locale.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A text in the file: not terminated, and any bytes. Empty where there is none; `data` is never NULL. */
typedef struct {
  const char *data;
  size_t size;
} origo_text;

typedef struct {
  const uint8_t *data;
  uint64_t size;
} origo__bytes;

/* A position in one of the map's columns, which schema/origin_map.fbs describes. */
typedef struct {
  const uint8_t *at, *end;
  int failed;
} origo__column;

typedef struct {
  const uint8_t *source_fingerprint, *target_fingerprint; /* 32 bytes each */
  int retrained;                                          /* what is known of constants was dropped */
  int has_names;                                          /* of source tensors; else the side file has them */
  uint32_t subgraph_count;                                /* of the written file, and so below */
  uint64_t operator_count, tensor_count;
  uint64_t source_operator_count, source_tensor_count;
  origo__bytes file, map;
  uint64_t graphs; /* position of the model's vector of subgraphs */
  uint32_t laws;   /* how many laws of origin-map.md the run knew that wrote the model; 0: it did not say */
  uint64_t string_count, pass_list_count, step_list_count, cause_count;
  int checked;
  void *inflated; /* the bytes of a map that is deflated in the file, for origo_close() */
} origo_map;

typedef enum {
  ORIGO_OK,
  ORIGO_NOT_A_MODEL,
  ORIGO_NO_MAP,
  ORIGO_DAMAGED,
  ORIGO_OTHER_VERSION,
  ORIGO_OTHER_MODEL,
  ORIGO_NO_MEMORY
} origo_status;

static inline const char *origo_status_text(origo_status status) {
  switch (status) {
  case ORIGO_OK:
    return "ok";
  case ORIGO_NOT_A_MODEL:
    return "neither a circle nor a tflite model, or damaged";
  case ORIGO_NO_MAP:
    return "carries no origin map; circle2circle embeds one unless it is told not to";
  case ORIGO_DAMAGED:
    return "damaged origin map; write the model anew";
  case ORIGO_OTHER_VERSION:
    return "the origin map has a version that this header does not read";
  case ORIGO_OTHER_MODEL:
    return "the origin map lists other numbers of operators or tensors: it is another model's";
  case ORIGO_NO_MEMORY:
    return "there is no memory to inflate the origin map";
  }
  return "unknown status";
}

/* ---- Flatbuffers. Positions are from the start of the bytes; 0 means that there is nothing. ---- */

static inline int origo__has(origo__bytes in, uint64_t at, uint64_t size) {
  return at <= in.size && size <= in.size - at;
}

static inline uint64_t origo__little(origo__bytes in, uint64_t at, unsigned size) {
  uint64_t value = 0;
  if (!origo__has(in, at, size))
    return 0;
  while (size--)
    value = value << 8 | in.data[at + size];
  return value;
}

static inline uint64_t origo__field(origo__bytes in, uint64_t table, unsigned slot) {
  int64_t back = (int32_t)(uint32_t)origo__little(in, table, 4);
  uint64_t vtable = table - (uint64_t)back, offset;
  if (!table || !origo__has(in, table, 4) || !origo__has(in, vtable, 4) || 6 + 2 * slot > origo__little(in, vtable, 2))
    return 0;
  offset = origo__little(in, vtable + 4 + 2 * slot, 2);
  return offset ? table + offset : 0;
}

static inline uint64_t origo__scalar(origo__bytes in, uint64_t table, unsigned slot, unsigned size) {
  uint64_t at = origo__field(in, table, slot);
  return at ? origo__little(in, at, size) : 0;
}

static inline uint64_t origo__follow(origo__bytes in, uint64_t at) {
  uint64_t offset = at ? origo__little(in, at, 4) : 0;
  return offset && origo__has(in, at + offset, 4) ? at + offset : 0;
}

static inline uint64_t origo__count(origo__bytes in, uint64_t vector, unsigned size) {
  uint64_t count = vector ? origo__little(in, vector, 4) : 0;
  return origo__has(in, vector + 4, count * size) ? count : 0;
}

static inline uint64_t origo__table(origo__bytes in, uint64_t vector, uint64_t index) {
  return index < origo__count(in, vector, 4) ? origo__follow(in, vector + 4 + 4 * index) : 0;
}

/* The bytes of a string or a vector of bytes. */
static inline origo__bytes origo__inline(origo__bytes in, uint64_t table, unsigned slot) {
  uint64_t at = origo__follow(in, origo__field(in, table, slot));
  origo__bytes result;
  result.size = origo__count(in, at, 1);
  result.data = in.data + (result.size ? at + 4 : 0);
  return result;
}

/* ---- Columns. Once anything is wrong, all that comes is zeroes. ---- */

static inline origo__column origo__begin(const origo_map *map, unsigned slot) {
  origo__bytes root, bytes;
  origo__column in;
  root = map->map;
  bytes = origo__inline(root, origo__little(root, 0, 4), slot);
  in.at = bytes.data;
  in.end = bytes.data + bytes.size;
  in.failed = 0;
  return in;
}

static inline uint64_t origo__fail(origo__column *in) {
  in->at = in->end;
  in->failed = 1;
  return 0;
}

static inline uint64_t origo__number(origo__column *in) {
  uint64_t value = 0;
  unsigned shift = 0;
  for (;;) {
    uint64_t bits;
    int more;
    if (in->at == in->end)
      return origo__fail(in);
    more = *in->at & 0x80;
    bits = *in->at++ & 0x7f;
    if (shift >= 63 && bits > (shift == 63))
      return origo__fail(in);
    if (shift <= 63)
      value |= bits << shift;
    if (!more)
      return value;
    shift = shift <= 63 ? shift + 7 : shift;
  }
}

static inline int64_t origo__signed(uint64_t zigzag) {
  return zigzag & 1 ? -(int64_t)(zigzag >> 1) - 1 : (int64_t)(zigzag >> 1);
}

static inline uint64_t origo__below(origo__column *in, uint64_t limit) {
  uint64_t value = origo__number(in);
  return value < limit ? value : origo__fail(in);
}

static inline uint32_t origo__number32(origo__column *in) { return (uint32_t)origo__below(in, (uint64_t)1 << 32); }

/* Of items that take a byte at least. */
static inline uint64_t origo__items(origo__column *in) {
  uint64_t count = origo__number(in);
  return count <= (uint64_t)(in->end - in->at) ? count : origo__fail(in);
}

static inline uint32_t origo__id(origo__column *in, uint32_t *next) {
  int64_t gap = origo__signed(origo__number(in)), from = *next;
  if (gap < -from || gap > (int64_t)UINT32_MAX - from)
    return (uint32_t)origo__fail(in);
  *next = (uint32_t)(from + gap + 1);
  return (uint32_t)(from + gap);
}

static inline int32_t origo__optional_id(origo__column *in, uint32_t *next) {
  int64_t gap = origo__signed(origo__number(in)), from = *next;
  if (gap < -1 - from || gap > (int64_t)INT32_MAX - from) {
    origo__fail(in);
    return -1;
  }
  if (from + gap >= 0)
    *next = (uint32_t)(from + gap + 1);
  return (int32_t)(from + gap);
}

static inline origo_text origo__no_text(void) {
  origo_text text = {"", 0};
  return text;
}

static inline origo_text origo__text(origo__column *in) {
  uint64_t size = origo__items(in);
  origo_text text;
  text.data = (const char *)in->at;
  text.size = (size_t)size;
  in->at += size;
  return text;
}

/* A text by its number in the column of strings. While the map is being checked only the number matters, so that the
 * check takes no more time than the map has bytes; and so it is with the other tables. */
static inline origo_text origo__string(const origo_map *map, origo__column *in) {
  uint64_t number = origo__below(in, map->string_count + 1);
  origo__column strings = origo__begin(map, 7);
  origo_text text = origo__no_text();
  if (!number || !map->checked)
    return text;
  for (origo__number(&strings); number; --number)
    text = origo__text(&strings);
  return text;
}

/* ---- Lists. `while (origo_next_id(&row.origins, &id))` goes through one; a copy of the list starts anew. ---- */

typedef struct {
  origo__column in;
  uint64_t left;
  uint32_t next;
} origo_ids;

static inline int origo_next_id(origo_ids *list, uint32_t *id) {
  if (!list->left)
    return 0;
  --list->left;
  *id = origo__id(&list->in, &list->next);
  return !list->in.failed;
}

/* Ids of tensors, -1 for an output that is absent. */
typedef struct {
  origo__column in;
  uint64_t left;
  uint32_t next;
} origo_outputs;

static inline int origo_next_output(origo_outputs *list, int32_t *tensor) {
  if (!list->left)
    return 0;
  --list->left;
  *tensor = origo__optional_id(&list->in, &list->next);
  return !list->in.failed;
}

typedef struct {
  const origo_map *map;
  origo__column in;
  uint64_t left;
} origo_passes;

static inline int origo_next_pass(origo_passes *list, origo_text *pass) {
  if (!list->left)
    return 0;
  --list->left;
  *pass = origo__string(list->map, &list->in);
  return !list->in.failed;
}

typedef struct {
  uint32_t subgraph, index;
} origo_place;
typedef struct {
  origo__column in;
  uint64_t left;
  uint32_t last;
} origo_places;

static inline int origo_next_place(origo_places *list, origo_place *place) {
  uint32_t next = list->last;
  if (!list->left)
    return 0;
  --list->left;
  place->subgraph = origo__number32(&list->in);
  place->index = origo__id(&list->in, &next);
  list->last = place->index;
  return !list->in.failed;
}

typedef struct {
  origo__column in;
  uint64_t left;
} origo_numbers;

static inline int origo_next_number(origo_numbers *list, int64_t *number) {
  if (!list->left)
    return 0;
  --list->left;
  *number = origo__signed(origo__number(&list->in));
  return !list->in.failed;
}

/* Takes the list out of the column, which then is behind it. */
static inline origo_ids origo__take_ids(origo__column *in, uint32_t *next) {
  origo_ids list, rest;
  uint32_t id;
  list.left = origo__items(in);
  list.in = *in;
  list.next = *next;
  rest = list;
  while (origo_next_id(&rest, &id))
    ;
  *in = rest.in;
  *next = rest.next;
  return list;
}

static inline origo_ids origo__take_ids_from(origo__column *in, uint32_t next) { return origo__take_ids(in, &next); }

static inline origo_numbers origo__take_numbers(origo__column *in) {
  origo_numbers list, rest;
  int64_t number;
  list.left = origo__items(in);
  list.in = *in;
  rest = list;
  while (origo_next_number(&rest, &number))
    ;
  *in = rest.in;
  return list;
}

static inline origo_places origo__take_places(origo__column *in, uint64_t count, uint32_t *last) {
  origo_places list, rest;
  origo_place place;
  list.left = count;
  list.in = *in;
  list.last = *last;
  rest = list;
  while (origo_next_place(&rest, &place))
    ;
  *in = rest.in;
  *last = rest.last;
  return list;
}

/* ---- Relations: the tensor is source tensor `tensor` with the steps applied in order. ---- */

typedef enum {
  ORIGO_PERMUTE,
  ORIGO_RESHAPE,
  ORIGO_SLICE,
  ORIGO_PLACED,
  ORIGO_CAST,
  ORIGO_AFFINE,
  ORIGO_QUANTIZE,
  ORIGO_UNKNOWN_STEP
} origo_step_kind;

typedef enum { ORIGO_NULL, ORIGO_NUMBER, ORIGO_CONSTANT, ORIGO_SOURCE } origo_term_kind;

typedef struct {
  origo_term_kind kind;
  double number;
  uint32_t constant; /* tensor index in the same subgraph of the written file; of ORIGO_SOURCE, a source tensor */
} origo_term;

typedef struct {
  origo_step_kind kind;
  int32_t axis; /* of ORIGO_AFFINE, -1: as a whole; and scale and shift */
  origo_term scale, shift;
  origo_numbers first, second; /* permute: p; slice, placed: begin, size */
  origo_text unknown;          /* JSON */
} origo_step;

typedef struct {
  const origo_map *map;
  origo__column in;
  uint64_t left;
  uint32_t row;
} origo_steps;
typedef struct {
  uint32_t tensor;
  int exact;
  origo_steps steps;
} origo_relation;
typedef struct {
  const origo_map *map;
  origo__column in;
  uint64_t left;
  uint32_t next, row;
  unsigned form;
} origo_relations;

static inline origo_term origo__term(origo__column *in, uint32_t row) {
  origo_term term;
  memset(&term, 0, sizeof term);
  switch (origo__below(in, 3)) {
  case 1: {
    uint64_t bits = 0;
    unsigned i;
    term.kind = ORIGO_NUMBER;
    for (i = 0; i < 8; ++i)
      if (in->at == in->end)
        bits = origo__fail(in);
      else
        bits |= (uint64_t)*in->at++ << 8 * i;
    memcpy(&term.number, &bits, sizeof bits);
    break;
  }
  case 2:
    term.kind = ORIGO_CONSTANT;
    term.constant = (uint32_t)origo__signed(origo__number(in)) + row;
    break;
  }
  return term;
}

/* A number as JSON has it: strtod reads what the program's locale has chosen in the place of the point. */
static inline double origo__double(const char *text, const char **end) {
  char copy[220];
  const char *point = localeconv()->decimal_point;
  size_t length = strspn(text, "+-.0123456789eE"), head = strcspn(text, "."), tail, width = strlen(point);
  double number;
  char *stop;
  *end = text;
  if (length > 200 || width > 16)
    return 0;
  if (head > length)
    head = length;
  tail = length > head ? length - head - 1 : 0;
  memcpy(copy, text, head);
  if (length > head)
    memcpy(copy + head, point, width);
  else
    width = 0;
  memcpy(copy + head + width, text + head + 1, tail);
  copy[head + width + tail] = 0;
  number = strtod(copy, &stop);
  /* Where it ended in the text, in which the point is one character. */
  *end = text + (stop - copy) - (width && (size_t)(stop - copy) > head ? width - 1 : 0);
  return number;
}

static inline int origo__source_term(const char **at, const char *key, origo_term *term) {
  const char *end;
  size_t length = strlen(key);
  if (strncmp(*at, key, length))
    return 0;
  *at += length;
  if (!strncmp(*at, "null", 4)) {
    *at += 4;
    return 1;
  }
  if (**at != '-' && (**at < '0' || **at > '9'))
    return 0;
  term->number = origo__double(*at, &end);
  term->kind =
      memchr(*at, '.', (size_t)(end - *at)) || memchr(*at, 'e', (size_t)(end - *at)) ? ORIGO_NUMBER : ORIGO_SOURCE;
  if (term->kind == ORIGO_SOURCE) {
    if (end == *at || term->number < 0 || term->number > UINT32_MAX)
      return 0;
    term->constant = (uint32_t)term->number;
    term->number = 0;
  }
  *at = end;
  return 1;
}

/* A step that came later than the format stands as its JSON: {"affine-by-source":{"axis":0,"scale":7,"shift":null}} */
static inline void origo__affine_by_source(origo_step *step) {
  static const char begin[] = "{\"affine-by-source\":{\"axis\":";
  char text[201], *end;
  const char *at = text + sizeof begin - 1;
  long axis;
  origo_step read = *step;
  if (step->unknown.size > 200)
    return;
  memcpy(text, step->unknown.data, step->unknown.size);
  text[step->unknown.size] = 0;
  if (strlen(text) != step->unknown.size || strncmp(text, begin, sizeof begin - 1))
    return;
  axis = strtol(at, &end, 10);
  if (end == at || axis < -1 || axis > INT32_MAX)
    return;
  at = end;
  if (!origo__source_term(&at, ",\"scale\":", &read.scale) || !origo__source_term(&at, ",\"shift\":", &read.shift) ||
      strcmp(at, "}}") || (read.scale.kind != ORIGO_SOURCE && read.shift.kind != ORIGO_SOURCE))
    return;
  read.kind = ORIGO_AFFINE;
  read.axis = (int32_t)axis;
  read.unknown = origo__no_text();
  *step = read;
}

static inline int origo_next_step(origo_steps *list, origo_step *step) {
  if (!list->left)
    return 0;
  --list->left;
  memset(step, 0, sizeof *step);
  step->unknown = origo__no_text();
  step->kind = (origo_step_kind)origo__below(&list->in, ORIGO_UNKNOWN_STEP + 1);
  step->axis = -1;
  if (step->kind == ORIGO_PERMUTE) {
    step->first = origo__take_numbers(&list->in);
  } else if (step->kind == ORIGO_SLICE || step->kind == ORIGO_PLACED) {
    step->first = origo__take_numbers(&list->in);
    step->second = origo__take_numbers(&list->in);
  } else if (step->kind == ORIGO_AFFINE) {
    int64_t axis = origo__signed(origo__number(&list->in));
    step->axis = (int32_t)axis;
    if (step->axis != axis)
      origo__fail(&list->in);
    step->scale = origo__term(&list->in, list->row);
    step->shift = origo__term(&list->in, list->row);
  } else if (step->kind == ORIGO_UNKNOWN_STEP) {
    step->unknown = origo__string(list->map, &list->in);
    origo__affine_by_source(step);
  }
  return !list->in.failed;
}

static inline int origo_next_relation(origo_relations *list, origo_relation *relation) {
  origo_steps *steps = &relation->steps;
  uint64_t number = 0;
  if (!list->left)
    return 0;
  --list->left;
  memset(relation, 0, sizeof *relation);
  relation->exact = list->form == 2;
  if (list->form == 3) {
    number = origo__below(&list->in, 2 * list->map->step_list_count);
    relation->exact = number & 1;
  }
  relation->tensor = origo__id(&list->in, &list->next);
  steps->map = list->map;
  steps->row = list->row;
  if (list->form == 3 && list->map->checked && !list->in.failed) {
    uint64_t before = number >> 1;
    steps->in = origo__begin(list->map, 9);
    origo__number(&steps->in);
    for (;; --before) {
      origo_step step;
      steps->left = origo__items(&steps->in);
      if (!before)
        break;
      while (origo_next_step(steps, &step))
        ;
    }
  }
  return !list->in.failed;
}

/* ---- Subgraphs: how many operators and tensors each has. ---- */

typedef struct {
  origo__column in;
  uint64_t left;
  uint32_t index;
  uint64_t operators, tensors;
  origo_ids source;
} origo__graphs;

static inline origo__graphs origo__graphs_of(const origo_map *map, unsigned slot) {
  origo__graphs graphs;
  memset(&graphs, 0, sizeof graphs);
  graphs.in = origo__begin(map, slot);
  graphs.left = origo__items(&graphs.in);
  graphs.index = UINT32_MAX; /* before the first */
  return graphs;
}

static inline int origo__next_graph(origo__graphs *graphs, int of_source) {
  if (!graphs->left || graphs->in.failed)
    return 0;
  --graphs->left;
  ++graphs->index;
  if (of_source)
    origo__text(&graphs->in);
  else
    graphs->source = origo__take_ids_from(&graphs->in, 0);
  graphs->operators = origo__number(&graphs->in);
  graphs->tensors = origo__number(&graphs->in);
  return !graphs->in.failed;
}

/* ---- Operators of the written file, in file order, which is the order of execution: an operator's inputs are made
 * before it. A subgraph that is called runs where its call stands. ---- */

typedef struct {
  uint32_t subgraph, index;
  origo_ids origins; /* ids of source operators, ascending */
  origo_passes passes;
  origo_text synthetic; /* why it is there although it has no origins; empty: it is not synthetic */
  origo_ids serves;
  origo_text wide; /* why origins are an upper bound; empty: they are not */
  origo_ids calls;
} origo_operator;

typedef struct {
  const origo_map *map;
  origo__column in;
  origo__graphs graphs;
  uint64_t row;
  uint32_t next;
} origo_operator_cursor;

static inline origo_operator_cursor origo_operators(const origo_map *map) {
  origo_operator_cursor cursor;
  memset(&cursor, 0, sizeof cursor);
  cursor.map = map;
  cursor.in = origo__begin(map, 17);
  cursor.graphs = origo__graphs_of(map, 16);
  return cursor;
}

static inline origo_passes origo__pass_list(const origo_map *map, uint64_t number) {
  origo_passes list;
  memset(&list, 0, sizeof list);
  list.map = map;
  if (!map->checked)
    return list;
  list.in = origo__begin(map, 8);
  origo__number(&list.in);
  for (;; --number) {
    list.left = origo__items(&list.in);
    if (!number)
      return list;
    while (list.left && !list.in.failed) {
      origo__number(&list.in);
      --list.left;
    }
  }
}

static inline int origo_next_operator(origo_operator_cursor *cursor, origo_operator *row) {
  uint64_t head, passes;
  while (cursor->row == cursor->graphs.operators) {
    cursor->row = 0;
    if (!origo__next_graph(&cursor->graphs, 0)) {
      cursor->graphs.operators = 0;
      return 0;
    }
  }
  memset(row, 0, sizeof *row);
  row->subgraph = cursor->graphs.index;
  row->index = (uint32_t)cursor->row++;
  row->synthetic = row->wide = origo__no_text();
  head = origo__below(&cursor->in, 4);
  passes = origo__below(&cursor->in, cursor->map->pass_list_count);
  row->origins = origo__take_ids(&cursor->in, &cursor->next);
  if (head & 1) {
    row->synthetic = origo__string(cursor->map, &cursor->in);
    row->serves = origo__take_ids_from(&cursor->in, cursor->next);
  }
  if (head & 2) {
    row->wide = origo__string(cursor->map, &cursor->in);
    row->calls = origo__take_ids_from(&cursor->in, 0);
  }
  if (cursor->in.failed)
    return 0;
  row->passes = origo__pass_list(cursor->map, passes);
  return 1;
}

static inline int origo_find_operator(const origo_map *map, uint32_t subgraph, uint32_t index, origo_operator *row) {
  origo_operator_cursor cursor = origo_operators(map);
  while (origo_next_operator(&cursor, row))
    if (row->subgraph == subgraph && row->index == index)
      return 1;
  return 0;
}

/* The next operator that does work of this source operator. */
static inline int origo_next_operator_from(origo_operator_cursor *cursor, uint32_t source, origo_operator *row) {
  while (origo_next_operator(cursor, row)) {
    origo_ids origins = row->origins;
    uint32_t id;
    while (origo_next_id(&origins, &id))
      if (id == source)
        return 1;
  }
  return 0;
}

/* ---- Tensors of the written file, in file order. ---- */

typedef struct {
  uint32_t subgraph, index;
  origo_relations relations; /* best first */
  origo_text reason;         /* why there are none */
  /* A constant was computed from these source constants and folded source operators, if `computed`; else from the
   * tensor of its first relation alone, if it has one. */
  int computed;
  origo_ids tensors, operators;
  origo_text synthetic; /* why it is there although it comes from nothing */
} origo_tensor;

typedef origo_operator_cursor origo_tensor_cursor;

static inline origo_tensor_cursor origo_tensors(const origo_map *map) {
  origo_tensor_cursor cursor = origo_operators(map);
  cursor.in = origo__begin(map, 18);
  return cursor;
}

static inline int origo_next_tensor(origo_tensor_cursor *cursor, origo_tensor *row) {
  uint64_t head;
  origo_relations rest;
  origo_relation relation;
  while (cursor->row == cursor->graphs.tensors) {
    cursor->row = 0;
    if (!origo__next_graph(&cursor->graphs, 0)) {
      cursor->graphs.tensors = 0;
      return 0;
    }
  }
  memset(row, 0, sizeof *row);
  row->subgraph = cursor->graphs.index;
  row->index = (uint32_t)cursor->row++;
  row->reason = row->synthetic = origo__no_text();
  head = origo__below(&cursor->in, 32);
  row->relations.map = cursor->map;
  row->relations.form = head & 3;
  row->relations.row = row->index;
  row->relations.left = row->relations.form == 3 ? origo__items(&cursor->in) : row->relations.form != 0;
  row->relations.next = cursor->next;
  row->relations.in = cursor->in;
  rest = row->relations;
  while (origo_next_relation(&rest, &relation))
    ;
  cursor->in = rest.in;
  cursor->next = rest.next;
  if (head & 4)
    row->reason = origo__string(cursor->map, &cursor->in);
  if (head & 8) {
    row->computed = 1;
    row->tensors = origo__take_ids(&cursor->in, &cursor->next);
    row->operators = origo__take_ids_from(&cursor->in, 0);
  }
  if (head & 16)
    row->synthetic = origo__string(cursor->map, &cursor->in);
  return !cursor->in.failed;
}

static inline int origo_find_tensor(const origo_map *map, uint32_t subgraph, uint32_t index, origo_tensor *row) {
  origo_tensor_cursor cursor = origo_tensors(map);
  while (origo_next_tensor(&cursor, row))
    if (row->subgraph == subgraph && row->index == index)
      return 1;
  return 0;
}

/* The name of a tensor of the written file. */
static inline origo_text origo_tensor_name(const origo_map *map, uint32_t subgraph, uint32_t index) {
  uint64_t graph = origo__table(map->file, map->graphs, subgraph);
  uint64_t tensor = origo__table(map->file, origo__follow(map->file, origo__field(map->file, graph, 0)), index);
  origo__bytes name = origo__inline(map->file, tensor, 3);
  origo_text text;
  text.data = (const char *)name.data;
  text.size = (size_t)name.size;
  return text;
}

/* ---- What exporters wrote of the source's operators: its layer, and the lines of programs that called it. ---- */

/* Modules, the outermost first: read with origo_next_word. */
typedef struct {
  const origo_map *map;
  uint64_t left;
  origo__column in;
} origo_words;

static inline int origo_next_word(origo_words *list, origo_text *word) {
  if (!list->left || list->in.failed)
    return 0;
  --list->left;
  *word = origo__string(list->map, &list->in);
  return !list->in.failed;
}

typedef struct {
  uint32_t id;           /* of the source operator */
  origo_text name;       /* of the node; others may have the same */
  origo_words scopes;    /* the modules that it is in */
  origo_text class_name; /* of the innermost of them */
  origo_text note;       /* who put it there, where no line of the user's did */
  int32_t stack;         /* for origo_frames_of(); -1: no lines are known */
} origo_layer;

typedef struct {
  const origo_map *map;
  origo__column in;
  uint64_t id;
} origo_layer_cursor;

static inline origo_layer_cursor origo_layers(const origo_map *map) {
  origo_layer_cursor cursor;
  memset(&cursor, 0, sizeof cursor);
  cursor.map = map;
  cursor.in = origo__begin(map, 25);
  return cursor;
}

/* Goes through the operators of which there is something to say, in the order of their ids. */
static inline int origo_next_layer(origo_layer_cursor *cursor, origo_layer *row) {
  origo_words rest;
  origo_text word;
  while (cursor->in.at != cursor->in.end && cursor->id < cursor->map->source_operator_count) {
    ++cursor->id;
    if (!origo__below(&cursor->in, 2))
      continue;
    memset(row, 0, sizeof *row);
    row->id = (uint32_t)(cursor->id - 1);
    row->name = origo__text(&cursor->in);
    row->scopes.map = cursor->map;
    row->scopes.left = origo__items(&cursor->in);
    row->scopes.in = cursor->in;
    rest = row->scopes;
    while (origo_next_word(&rest, &word))
      ;
    cursor->in = rest.in;
    row->class_name = origo__string(cursor->map, &cursor->in);
    row->note = origo__string(cursor->map, &cursor->in);
    row->stack = (int32_t)origo__below(&cursor->in, (uint64_t)INT32_MAX + 1) - 1;
    return !cursor->in.failed;
  }
  return 0;
}

static inline int origo_find_layer(const origo_map *map, uint32_t id, origo_layer *row) {
  origo_layer_cursor cursor = origo_layers(map);
  while (origo_next_layer(&cursor, row))
    if (row->id == id)
      return 1;
  return 0;
}

typedef struct {
  origo_text file, function;
  uint32_t line;
} origo_frame;

/* The lines that called an operator, the innermost first: read with origo_next_frame. */
typedef struct {
  const origo_map *map;
  uint64_t left;
  origo__column in;
} origo_frames;

/* Behind the files: the column at the frames. */
static inline origo__column origo__frames(const origo_map *map, uint64_t file, origo_text *name) {
  origo__column in = origo__begin(map, 26);
  uint64_t i, files = origo__items(&in);
  for (i = 0; i < files && !in.failed; ++i) {
    origo_text text = origo__text(&in);
    if (name && i == file)
      *name = text;
  }
  return in;
}

/* Behind the frames: the column at the stacks. */
static inline origo__column origo__stacks(const origo_map *map, uint64_t wanted, origo_frame *frame) {
  origo__column in = origo__frames(map, 0, NULL);
  uint64_t i, frames = origo__items(&in);
  for (i = 0; i < frames && !in.failed; ++i) {
    uint64_t file = origo__number32(&in);
    uint32_t line = origo__number32(&in);
    origo_text function = frame && i == wanted ? origo__string(map, &in) : (origo__number(&in), origo__no_text());
    if (!frame || i != wanted)
      continue;
    frame->file = origo__no_text();
    origo__frames(map, file, &frame->file);
    frame->line = line;
    frame->function = function;
  }
  return in;
}

static inline origo_frames origo_frames_of(const origo_map *map, int32_t stack) {
  origo_frames list;
  uint64_t stacks;
  memset(&list, 0, sizeof list);
  list.map = map;
  if (stack < 0)
    return list;
  list.in = origo__stacks(map, 0, NULL);
  for (stacks = origo__items(&list.in); stacks && !list.in.failed; --stacks) {
    list.left = origo__items(&list.in);
    if (!stack--)
      return list;
    for (; list.left && !list.in.failed; --list.left)
      origo__number(&list.in);
  }
  list.left = 0;
  return list;
}

static inline int origo_next_frame(origo_frames *list, origo_frame *frame) {
  uint64_t number;
  if (!list->left || list->in.failed)
    return 0;
  --list->left;
  number = origo__number(&list->in);
  memset(frame, 0, sizeof *frame);
  frame->file = frame->function = origo__no_text();
  if (!list->in.failed)
    origo__stacks(list->map, number, frame);
  return !list->in.failed;
}

/* ---- The source: operators in the order of their ids. ---- */

typedef struct {
  uint32_t id, subgraph, index;
  origo_text op, custom_code;
  origo_outputs outputs;
} origo_source_operator;

typedef struct {
  const origo_map *map;
  origo__column in;
  origo__graphs graphs;
  uint64_t row;
  uint32_t id, next;
} origo_source_cursor;

static inline origo_source_cursor origo_source_operators(const origo_map *map) {
  origo_source_cursor cursor;
  memset(&cursor, 0, sizeof cursor);
  cursor.map = map;
  cursor.in = origo__begin(map, 12);
  cursor.graphs = origo__graphs_of(map, 11);
  return cursor;
}

static inline int origo_next_source_operator(origo_source_cursor *cursor, origo_source_operator *row) {
  origo_outputs rest;
  int32_t tensor;
  while (cursor->row == cursor->graphs.operators) {
    cursor->row = 0;
    if (!origo__next_graph(&cursor->graphs, 1)) {
      cursor->graphs.operators = 0;
      return 0;
    }
  }
  memset(row, 0, sizeof *row);
  row->id = cursor->id++;
  row->subgraph = cursor->graphs.index;
  row->index = (uint32_t)cursor->row++;
  row->op = origo__string(cursor->map, &cursor->in);
  row->custom_code = origo__string(cursor->map, &cursor->in);
  row->outputs.left = origo__items(&cursor->in);
  row->outputs.in = cursor->in;
  row->outputs.next = cursor->next;
  rest = row->outputs;
  while (origo_next_output(&rest, &tensor))
    ;
  cursor->in = rest.in;
  cursor->next = rest.next;
  return !cursor->in.failed;
}

static inline int origo_find_source_operator(const origo_map *map, uint32_t id, origo_source_operator *row) {
  origo_source_cursor cursor = origo_source_operators(map);
  while (origo_next_source_operator(&cursor, row))
    if (row->id == id)
      return 1;
  return 0;
}

/* The operands of an operator, as ids of tensors, and what a run of it costs, in the order of ids; maps of before know
 * neither. A cost that is not known is ORIGO_UNKNOWN: a shape is dynamic, or nobody knows what the operator does. */
#define ORIGO_UNKNOWN UINT64_MAX

typedef struct {
  uint32_t id;
  origo_outputs operands; /* -1 for one that is absent; read with origo_next_output */
  uint64_t macs, bytes;   /* multiply-accumulates; of operands and results, each tensor once */
} origo_use;

typedef struct {
  const origo_map *map;
  origo__column operands, costs;
  uint32_t id, next;
} origo_use_cursor;

static inline origo_use_cursor origo_uses(const origo_map *map) {
  origo_use_cursor cursor;
  memset(&cursor, 0, sizeof cursor);
  cursor.map = map;
  cursor.operands = origo__begin(map, 20);
  cursor.costs = origo__begin(map, 21);
  return cursor;
}

static inline int origo_next_use(origo_use_cursor *cursor, origo_use *row) {
  origo_outputs rest;
  int32_t tensor;
  if (cursor->id == cursor->map->source_operator_count)
    return 0;
  memset(row, 0, sizeof *row);
  row->id = cursor->id++;
  row->macs = row->bytes = ORIGO_UNKNOWN;
  if (cursor->operands.at != cursor->operands.end) {
    row->operands.left = origo__items(&cursor->operands);
    row->operands.in = cursor->operands;
    row->operands.next = cursor->next;
    rest = row->operands;
    while (origo_next_output(&rest, &tensor))
      ;
    cursor->operands = rest.in;
    cursor->next = rest.next;
  }
  if (cursor->costs.at != cursor->costs.end) {
    row->macs = origo__number(&cursor->costs) - 1;
    row->bytes = origo__number(&cursor->costs) - 1;
  }
  return !cursor->operands.failed && !cursor->costs.failed;
}

static inline int origo_find_use(const origo_map *map, uint32_t id, origo_use *row) {
  origo_use_cursor cursor = origo_uses(map);
  while (origo_next_use(&cursor, row))
    if (row->id == id)
      return 1;
  return 0;
}

/* ---- The source: tensors. ---- */

typedef enum { ORIGO_INPUT, ORIGO_ACTIVATION, ORIGO_VARIABLE, ORIGO_CONSTANT_TENSOR, ORIGO_ABSENT } origo_tensor_kind;

/* ORIGO_ABSENT also of an id that does not exist. */
static inline origo_tensor_kind origo_source_tensor_kind(const origo_map *map, uint32_t id) {
  origo__column kinds = origo__begin(map, 13);
  if (id >= (uint64_t)(kinds.end - kinds.at) || kinds.at[id] > ORIGO_ABSENT)
    return ORIGO_ABSENT;
  return (origo_tensor_kind)kinds.at[id];
}

/* Goes through the names of source tensors in the order of their ids. A name is kept as the difference to the one
 * before, so that it comes in your buffer, which must stay as it is while you go on. What does not fit is left out;
 * `length` is that of the whole name. A copy of cursor and buffer goes on from the same place. */
typedef struct {
  const origo_map *map;
  origo__column in;
  char *buffer;
  size_t capacity;
  uint64_t length, id, left; /* of the name before; of the next one; names and walks to come */
  uint64_t next, first;      /* numbers of tensors over all subgraphs of the written file */
  uint32_t subgraph;         /* `first` is the first of this one */
} origo_name_cursor;

static inline origo_name_cursor origo_names(const origo_map *map, char *buffer, size_t capacity) {
  origo_name_cursor cursor;
  memset(&cursor, 0, sizeof cursor);
  cursor.map = map;
  cursor.in = origo__begin(map, 14);
  cursor.buffer = buffer;
  cursor.capacity = capacity;
  cursor.left = map->file.size; /* a made-up map must not keep us walking to and fro */
  return cursor;
}

static inline uint64_t origo__model_tensors(const origo_map *map, uint32_t subgraph) {
  uint64_t graph = origo__table(map->file, map->graphs, subgraph);
  return origo__count(map->file, origo__follow(map->file, origo__field(map->file, graph, 0)), 4);
}

/* The name of the tensor of the written file with this number. */
static inline origo_text origo__numbered_name(origo_name_cursor *cursor, uint64_t number) {
  for (; cursor->left; --cursor->left) {
    if (number < cursor->first && cursor->subgraph) {
      cursor->first -= origo__model_tensors(cursor->map, --cursor->subgraph);
    } else {
      uint64_t count = origo__model_tensors(cursor->map, cursor->subgraph);
      if (number - cursor->first < count)
        return origo_tensor_name(cursor->map, cursor->subgraph, (uint32_t)(number - cursor->first));
      cursor->first += count;
      ++cursor->subgraph;
    }
  }
  origo__fail(&cursor->in);
  return origo__no_text();
}

static inline int origo_next_name(origo_name_cursor *cursor, uint64_t *length) {
  uint64_t number, kept = 0, fits;
  origo_text rest;
  *length = 0;
  if (!cursor->map->has_names || cursor->id == cursor->map->source_tensor_count || cursor->in.failed)
    return 0;
  ++cursor->id;
  number = origo__number(&cursor->in);
  if (number) {
    int64_t gap = origo__signed(number - 1), from = (int64_t)cursor->next;
    if (gap < -from || gap >= (int64_t)cursor->map->tensor_count - from) {
      origo__fail(&cursor->in);
      return 0;
    }
    cursor->next = (uint64_t)(from + gap + 1);
    rest = origo__numbered_name(cursor, (uint64_t)(from + gap));
  } else {
    kept = origo__below(&cursor->in, cursor->length + 1);
    rest = origo__text(&cursor->in);
  }
  if (cursor->in.failed)
    return 0;
  if (kept < cursor->capacity) {
    fits = cursor->capacity - kept;
    memcpy(cursor->buffer + kept, rest.data, rest.size < fits ? rest.size : (size_t)fits);
  }
  *length = cursor->length = kept + rest.size;
  return 1;
}

/* Writes at most `capacity` bytes of the name and returns its length; 0: it has no name, or the map has no names. */
static inline uint64_t origo_source_tensor_name(const origo_map *map, uint32_t id, char *buffer, size_t capacity) {
  origo_name_cursor cursor = origo_names(map, buffer, capacity);
  uint64_t length;
  while (origo_next_name(&cursor, &length))
    if (cursor.id == (uint64_t)id + 1)
      return length;
  return 0;
}

/* The same of the operator's first output that has a name. */
static inline uint64_t origo_source_operator_name(const origo_map *map, const origo_source_operator *op, char *buffer,
                                                  size_t capacity) {
  origo_outputs outputs = op->outputs;
  int32_t tensor;
  while (origo_next_output(&outputs, &tensor)) {
    uint64_t length = tensor < 0 ? 0 : origo_source_tensor_name(map, (uint32_t)tensor, buffer, capacity);
    if (length)
      return length;
  }
  return 0;
}

/* ---- The source: signatures. Without names in the map, keys and names are empty. ---- */

typedef struct {
  origo_text name;
  int32_t tensor; /* id, -1: absent */
} origo_entry;

typedef struct {
  origo__column in;
  uint64_t left;
  uint32_t next;
} origo_entries;

static inline int origo_next_entry(origo_entries *list, origo_entry *entry) {
  if (!list->left)
    return 0;
  --list->left;
  entry->name = origo__text(&list->in);
  entry->tensor = origo__optional_id(&list->in, &list->next);
  return !list->in.failed;
}

typedef struct {
  origo_text key;
  uint32_t subgraph;
  origo_entries inputs, outputs;
} origo_signature;

/* At the beginning: origo_signatures(&map). */
typedef origo_entries origo_signature_cursor;

static inline origo_signature_cursor origo_signatures(const origo_map *map) {
  origo_signature_cursor cursor;
  cursor.in = origo__begin(map, 15);
  cursor.left = origo__items(&cursor.in);
  cursor.next = 0;
  return cursor;
}

static inline int origo_next_signature(origo_signature_cursor *cursor, origo_signature *row) {
  origo_entries *const lists[2] = {&row->inputs, &row->outputs};
  unsigned i;
  if (!cursor->left)
    return 0;
  --cursor->left;
  row->key = origo__text(&cursor->in);
  row->subgraph = origo__number32(&cursor->in);
  for (i = 0; i < 2; ++i) {
    origo_entries rest;
    origo_entry entry;
    lists[i]->left = origo__items(&cursor->in);
    lists[i]->in = cursor->in;
    lists[i]->next = cursor->next;
    rest = *lists[i];
    while (origo_next_entry(&rest, &entry))
      ;
    cursor->in = rest.in;
    cursor->next = rest.next;
  }
  return !cursor->in.failed;
}

/* ---- Scopes: what names say of the layer that something is in, by the rules of origin/Naming.h. ---- */

typedef struct {
  origo_text path, leaf; /* path: of the modules; leaf: what the innermost calls the operator, which may be empty */
  char separator;
  int is_class;
  size_t at, outermost, left;
} origo_scopes;

static inline origo_text origo__slice(origo_text text, size_t begin, size_t end) {
  text.data += begin;
  text.size = end - begin;
  return text;
}

static inline int origo__begins(origo_text text, const char *with) {
  size_t size = strlen(with);
  return text.size >= size && !memcmp(text.data, with, size);
}

static inline int origo__is(origo_text text, const char *word) {
  return text.size == strlen(word) && origo__begins(text, word);
}

/* Where it begins; the size of the text: nowhere. */
static inline size_t origo__find(origo_text text, size_t from, const char *what) {
  size_t size = strlen(what);
  for (; from + size <= text.size; ++from)
    if (!memcmp(text.data + from, what, size))
      return from;
  return text.size;
}

static inline size_t origo__rfind(origo_text text, const char *what) {
  size_t size = strlen(what), at = text.size;
  for (; at >= size; --at)
    if (!memcmp(text.data + at - size, what, size))
      return at - size;
  return text.size;
}

static inline size_t origo__end_of_digits(origo_text text, size_t from) {
  while (from < text.size && text.data[from] >= '0' && text.data[from] <= '9')
    ++from;
  return from;
}

static inline int origo__is_number(origo_text text) { return text.size && origo__end_of_digits(text, 0) == text.size; }

/* Without the mark and a number, if it ends so. */
static inline origo_text origo__without_numbered(origo_text text, const char *mark) {
  size_t end = text.size, size = strlen(mark);
  while (end && text.data[end - 1] >= '0' && text.data[end - 1] <= '9')
    --end;
  if (end < text.size && end >= size && !memcmp(text.data + end - size, mark, size))
    text.size = end - size;
  return text;
}

static inline int origo__is_call(origo_text part) {
  return origo__begins(part, "StatefulPartitionedCall") || origo__begins(part, "PartitionedCall") ||
         ((origo__begins(part, "jit(") || origo__begins(part, "pjit(")) && part.data[part.size - 1] == ')') ||
         origo__find(part, 0, "__Inline_") < part.size;
}

static inline int origo__at_last_slash(origo_text name, origo_scopes *cut) {
  size_t at = origo__rfind(name, "/");
  if (at == name.size)
    return 0;
  cut->path = origo__slice(name, 0, at);
  cut->leaf = origo__slice(name, at + 1, name.size);
  return 1;
}

static inline int origo__by_classes(origo_text name, origo_scopes *cut) {
  size_t end = origo__find(name, 0, ";");
  if (end == name.size ||
      !(end + 1 == name.size || name.data[end + 1] == ';' || origo__is_number(origo__slice(name, end + 1, name.size))))
    return 0;
  cut->path = origo__slice(name, 0, end);
  cut->leaf = origo__slice(name, origo__rfind(name, ";") + 1, name.size);
  return 1;
}

static inline int origo__by_colons(origo_text name, origo_scopes *cut) {
  static const char *const none[] = {"onnx", "aten", "prim", "tico", "unknown"};
  size_t at = origo__rfind(name, "::"), i;
  if (at == name.size || origo__find(name, 0, "/") < name.size)
    return 0;
  cut->path = origo__slice(name, 0, at);
  cut->leaf = origo__slice(name, at + 2, name.size);
  for (i = 0; i < sizeof none / sizeof *none; ++i)
    if (origo__is(cut->path, none[i]))
      return 0;
  return 1;
}

static inline int origo__by_temporary(origo_text name, origo_scopes *cut) {
  origo_text path = origo__without_numbered(name, ".tmp_");
  if (path.size == name.size || origo__find(path, 0, "/") < path.size)
    return 0;
  cut->path = path;
  cut->leaf = origo__slice(name, path.size + 1, name.size);
  return 1;
}

static inline int origo__by_modules(origo_text name, origo_scopes *cut) {
  size_t at, end;
  if (!origo__begins(name, "/"))
    return 0;
  at = origo__find(name, 0, "_output_");
  if (at < name.size) {
    end = origo__end_of_digits(name, at + 8);
    if (end > at + 8 && (end == name.size || name.data[end] == '/'))
      name.size = at;
  }
  return origo__at_last_slash(name, cut);
}

static inline int origo__by_traces(origo_text name, origo_scopes *cut) {
  return (origo__begins(name, "jit(") || origo__begins(name, "pjit(")) && origo__at_last_slash(name, cut);
}

static inline int origo__by_numbered(origo_text name, origo_scopes *cut) {
  origo_text own = origo__without_numbered(origo__without_numbered(name, ":"), "__");
  return own.size != name.size && origo__at_last_slash(own, cut);
}

static inline size_t origo__end_of_part(const origo_scopes *scopes, size_t at) {
  const char *found = scopes->is_class || at >= scopes->path.size
                          ? 0
                          : (const char *)memchr(scopes->path.data + at, scopes->separator, scopes->path.size - at);
  return found ? (size_t)(found - scopes->path.data) : scopes->path.size;
}

/* The outermost first, without a separator behind it: "a" and "a/b" of "a/b/c". */
static inline int origo_next_scope(origo_scopes *scopes, origo_text *scope) {
  size_t begin, end, next;
  while (scopes->left && scopes->at < scopes->path.size) {
    begin = scopes->at;
    end = origo__end_of_part(scopes, begin);
    scopes->at = end + 1;
    *scope = origo__slice(scopes->path, begin, end);
    if (begin == end || origo__is_call(*scope))
      continue;
    while (scopes->separator == '.' && end < scopes->path.size) {
      next = origo__end_of_part(scopes, end + 1);
      if (!origo__is_number(origo__slice(scopes->path, end + 1, next)))
        break;
      end = next;
    }
    scopes->at = end + 1;
    if (scopes->left == 16)
      scopes->outermost = begin;
    --scopes->left;
    *scope = origo__slice(scopes->path, scopes->outermost, end);
    return 1;
  }
  return 0;
}

/* At most 16 of them, for a name may consist of separators. */
static inline origo_scopes origo_scopes_of(origo_text name) {
  static const struct {
    int (*cut)(origo_text name, origo_scopes *cut);
    char separator;
    int of_whole;
  } rules[] = {{origo__by_classes, '/', 1},   {origo__by_colons, '.', 0}, {origo__by_temporary, '/', 0},
               {origo__by_modules, '/', 0},   {origo__by_traces, '/', 0}, {origo__by_numbered, '/', 0},
               {origo__at_last_slash, '/', 0}};
  origo_scopes scopes, first;
  origo_text scope, part = name;
  size_t at, end, i;
  int whole;
  for (whole = 1; whole >= 0; --whole)
    for (at = 0; at <= name.size; at = end + 1) {
      end = whole ? name.size : at + origo__find(origo__slice(name, at, name.size), 0, ";");
      part = origo__slice(name, at, end);
      for (i = 0; i < sizeof rules / sizeof *rules; ++i) {
        memset(&scopes, 0, sizeof scopes);
        if (rules[i].of_whole != whole || !rules[i].cut(part, &scopes))
          continue;
        scopes.separator = rules[i].separator;
        scopes.is_class = scopes.separator == '.' && origo__begins(scopes.path, "torch.nn.");
        scopes.left = 16;
        first = scopes;
        if (origo_next_scope(&scopes, &scope))
          return first;
      }
    }
  memset(&scopes, 0, sizeof scopes);
  scopes.leaf = origo__slice(name, 0, origo__find(name, 0, ";"));
  return scopes;
}

/* ---- The ledger: what is gone. Operators by id, then tensors by id. ---- */

typedef struct {
  int is_tensor;
  uint32_t id;
  origo_text fate, was, pass;
  uint32_t run, rewrite;
  origo_text part_file, part_fingerprint;
  origo_places operators, tensors; /* where its work went */
} origo_gone;

typedef struct {
  const origo_map *map;
  origo__column in;
  int halves;
  uint64_t left;
  uint32_t next, rewrite, last;
} origo_ledger_cursor;

static inline origo_ledger_cursor origo_ledger(const origo_map *map) {
  origo_ledger_cursor cursor;
  memset(&cursor, 0, sizeof cursor);
  cursor.map = map;
  cursor.in = origo__begin(map, 19);
  return cursor;
}

static inline void origo__cause(const origo_map *map, origo__column *in, origo_gone *row) {
  row->fate = origo__string(map, in);
  row->was = origo__string(map, in);
  row->pass = origo__string(map, in);
  row->run = origo__number32(in);
  row->part_file = origo__string(map, in);
  row->part_fingerprint = origo__string(map, in);
}

static inline int origo_next_gone(origo_ledger_cursor *cursor, origo_gone *row) {
  origo__column *in = &cursor->in;
  uint64_t form, cause;
  while (!cursor->left) {
    if (cursor->halves == 2)
      return 0;
    ++cursor->halves;
    cursor->left = origo__items(in);
    cursor->next = cursor->rewrite = 0;
  }
  --cursor->left;
  memset(row, 0, sizeof *row);
  row->is_tensor = cursor->halves == 2;
  row->fate = row->was = row->pass = row->part_file = row->part_fingerprint = origo__no_text();
  form = origo__below(in, 4);
  cause = origo__below(in, cursor->map->cause_count);
  row->id = origo__id(in, &cursor->next);
  row->rewrite = origo__id(in, &cursor->rewrite);
  cursor->rewrite = row->rewrite;
  row->operators = origo__take_places(in, form == 3 ? origo__items(in) : form == 1, &cursor->last);
  row->tensors = origo__take_places(in, form == 3 ? origo__items(in) : form == 2, &cursor->last);
  if (in->failed) {
    cursor->left = 0;
    cursor->halves = 2;
    return 0;
  }
  if (cursor->map->checked) {
    origo__column causes = origo__begin(cursor->map, 10);
    uint64_t skipped = origo__number(&causes) ? cause : 0;
    for (; skipped; --skipped) {
      unsigned i;
      for (i = 0; i < 6; ++i)
        origo__number(&causes);
    }
    origo__cause(cursor->map, &causes, row);
  }
  return 1;
}

/* Is this operator, or tensor, of the source gone, and why? */
static inline int origo_find_gone(const origo_map *map, int is_tensor, uint32_t id, origo_gone *row) {
  origo_ledger_cursor cursor = origo_ledger(map);
  while (origo_next_gone(&cursor, row))
    if (row->is_tensor == !!is_tensor && row->id == id)
      return 1;
  return 0;
}

/* ---- What could be done without: operand `operand` of source operator `user` is source tensor `id`, a constant, or a
 * result of source operator `id`. Operators by id, then tensors by id; most of them are in the ledger. ---- */

typedef struct {
  int is_tensor;
  uint32_t id, user, operand;
  origo_text reason; /* "shape-only" */
} origo_unneeded;

typedef struct {
  const origo_map *map;
  origo__column in;
  int halves;
  uint64_t left;
  uint32_t id, next;
} origo_unneeded_cursor;

static inline origo_unneeded_cursor origo_all_unneeded(const origo_map *map) {
  origo_unneeded_cursor cursor;
  memset(&cursor, 0, sizeof cursor);
  cursor.map = map;
  cursor.in = origo__begin(map, 22);
  return cursor;
}

static inline int origo_next_unneeded(origo_unneeded_cursor *cursor, origo_unneeded *row) {
  origo__column *in = &cursor->in;
  uint64_t id;
  while (!cursor->left) {
    if (cursor->halves == 2 || (!cursor->halves && in->at == in->end))
      return 0;
    ++cursor->halves;
    cursor->left = origo__items(in);
    cursor->id = cursor->next = 0;
  }
  --cursor->left;
  memset(row, 0, sizeof *row);
  row->is_tensor = cursor->halves == 2;
  id = (uint64_t)cursor->id + origo__number32(in);
  if (id > UINT32_MAX)
    id = origo__fail(in);
  row->id = cursor->id = (uint32_t)id;
  row->user = origo__id(in, &cursor->next);
  row->operand = origo__number32(in);
  row->reason = origo__string(cursor->map, in);
  if (in->failed) {
    cursor->left = 0;
    cursor->halves = 2;
    return 0;
  }
  return 1;
}

/* The next one about this row of the ledger. A cursor that is kept goes through all in step with origo_next_gone. */
static inline int origo_next_unneeded_of(origo_unneeded_cursor *cursor, const origo_gone *gone, origo_unneeded *row) {
  origo_unneeded_cursor next = *cursor;
  while (origo_next_unneeded(&next, row)) {
    if (row->is_tensor > gone->is_tensor || (row->is_tensor == gone->is_tensor && row->id > gone->id))
      return 0;
    *cursor = next;
    if (row->is_tensor == gone->is_tensor && row->id == gone->id)
      return 1;
  }
  return 0;
}

/* ---- Opening. ---- */

/* The tables that rows refer to by number. */
static inline int origo__check_words(origo_map *map) {
  origo__column in = origo__begin(map, 7);
  uint64_t i, count = origo__items(&in);
  for (i = 0; i < count && !in.failed; ++i)
    origo__text(&in);
  if (in.failed || in.at != in.end)
    return 0;
  map->string_count = count;

  in = origo__begin(map, 8);
  map->pass_list_count = count = origo__items(&in);
  for (i = 0; i < count && !in.failed; ++i) {
    uint64_t passes = origo__items(&in);
    while (passes-- && !in.failed)
      origo__string(map, &in);
  }
  if (in.failed || in.at != in.end)
    return 0;

  in = origo__begin(map, 9);
  map->step_list_count = count = origo__items(&in);
  for (i = 0; i < count && !in.failed; ++i) {
    origo_steps steps;
    origo_step step;
    steps.map = map;
    steps.row = 0;
    steps.left = origo__items(&in);
    steps.in = in;
    while (origo_next_step(&steps, &step))
      ;
    in = steps.in;
  }
  if (in.failed || in.at != in.end)
    return 0;

  in = origo__begin(map, 10);
  map->cause_count = count = origo__items(&in);
  for (i = 0; i < count && !in.failed; ++i) {
    origo_gone row;
    origo__cause(map, &in, &row);
  }
  return !in.failed && in.at == in.end;
}

static inline origo_status origo__check_counts(origo_map *map) {
  origo__graphs source = origo__graphs_of(map, 11), target = origo__graphs_of(map, 16);
  origo__column kinds = origo__begin(map, 13);
  int fits;
  while (origo__next_graph(&source, 1)) {
    if (source.operators > UINT32_MAX || source.tensors > UINT32_MAX)
      return ORIGO_DAMAGED;
    map->source_operator_count += source.operators;
    map->source_tensor_count += source.tensors;
  }
  if (source.in.failed || source.in.at != source.in.end || map->source_operator_count > UINT32_MAX ||
      map->source_tensor_count != (uint64_t)(kinds.end - kinds.at) || map->source_tensor_count > UINT32_MAX)
    return ORIGO_DAMAGED;
  while (kinds.at != kinds.end)
    if (*kinds.at++ > ORIGO_ABSENT)
      return ORIGO_DAMAGED;

  map->subgraph_count = (uint32_t)origo__count(map->file, map->graphs, 4);
  fits = target.left == map->subgraph_count;
  while (origo__next_graph(&target, 0)) {
    uint64_t graph = origo__table(map->file, map->graphs, target.index);
    uint64_t operators = origo__follow(map->file, origo__field(map->file, graph, 3));
    fits = fits && target.operators == origo__count(map->file, operators, 4) &&
           target.tensors == origo__model_tensors(map, target.index);
    map->operator_count += target.operators;
    map->tensor_count += target.tensors;
  }
  if (target.in.failed || target.in.at != target.in.end)
    return ORIGO_DAMAGED;
  return fits ? ORIGO_OK : ORIGO_OTHER_MODEL;
}

/* Layers and lines, and that they name what there is. */
static inline int origo__check_layers(const origo_map *map) {
  origo_layer_cursor layers = origo_layers(map);
  origo_layer layer;
  origo__column in = origo__begin(map, 26);
  uint64_t i, files = 0, frames = 0, stacks = 0;
  if (!map->has_names)
    return 1;
  if (in.at != in.end) {
    files = origo__items(&in);
    for (i = 0; i < files && !in.failed; ++i)
      origo__text(&in);
    frames = origo__items(&in);
    for (i = 0; i < frames && !in.failed; ++i) {
      origo__below(&in, files);
      origo__number32(&in);
      origo__below(&in, map->string_count + 1);
    }
    stacks = origo__items(&in);
    for (i = 0; i < stacks && !in.failed; ++i) {
      uint64_t left = origo__items(&in);
      while (left-- && !in.failed)
        origo__below(&in, frames);
    }
  }
  while (origo_next_layer(&layers, &layer))
    if (layer.stack >= 0 && (uint64_t)layer.stack >= stacks)
      return 0;
  return !in.failed && in.at == in.end && !layers.in.failed && layers.in.at == layers.in.end;
}

static inline int origo__check_rows(const origo_map *map) {
  origo_source_cursor sources = origo_source_operators(map);
  origo_operator_cursor operators = origo_operators(map);
  origo_tensor_cursor tensors = origo_tensors(map);
  origo_ledger_cursor ledger = origo_ledger(map);
  origo_name_cursor names = origo_names(map, NULL, 0);
  origo_signature_cursor signatures = origo_signatures(map);
  origo_use_cursor uses = origo_uses(map);
  origo_unneeded_cursor unneeded = origo_all_unneeded(map);
  origo_use use;
  origo_unneeded reason;
  origo_signature signature;
  origo_source_operator source;
  origo_operator op;
  origo_tensor tensor;
  origo_gone gone;
  uint64_t length;
  while (origo_next_source_operator(&sources, &source))
    ;
  while (origo_next_operator(&operators, &op))
    ;
  while (origo_next_tensor(&tensors, &tensor))
    ;
  while (origo_next_gone(&ledger, &gone))
    ;
  while (origo_next_name(&names, &length))
    ;
  while (origo_next_signature(&signatures, &signature))
    ;
  while (origo_next_use(&uses, &use))
    ;
  while (origo_next_unneeded(&unneeded, &reason))
    ;
  if (!origo__check_layers(map))
    return 0;
  if (uses.operands.failed || uses.operands.at != uses.operands.end || uses.costs.failed ||
      uses.costs.at != uses.costs.end || unneeded.in.failed || unneeded.in.at != unneeded.in.end)
    return 0;
  return !sources.in.failed && sources.in.at == sources.in.end && !operators.in.failed &&
         operators.in.at == operators.in.end && !tensors.in.failed && tensors.in.at == tensors.in.end &&
         !ledger.in.failed && ledger.in.at == ledger.in.end &&
         (!map->has_names || (!names.in.failed && names.in.at == names.in.end));
}

/* The payload of the last metadata entry of that name; without data: there is none. */
static inline origo__bytes origo__entry(origo__bytes file, uint64_t model, const char *name) {
  uint64_t entries = origo__follow(file, origo__field(file, model, 6)), i = origo__count(file, entries, 4);
  uint64_t buffers = origo__follow(file, origo__field(file, model, 4));
  origo__bytes none = {NULL, 0};
  while (i--) {
    uint64_t entry = origo__table(file, entries, i), buffer, offset;
    origo__bytes found = origo__inline(file, entry, 0);
    if (found.size != strlen(name) || memcmp(found.data, name, (size_t)found.size) != 0)
      continue;
    buffer = origo__table(file, buffers, origo__scalar(file, entry, 1, 4));
    offset = origo__scalar(file, buffer, 1, 8);
    if (offset <= 1) /* in the buffer itself; 1 is what some writers leave behind */
      return origo__inline(file, buffer, 0);
    found.size = origo__scalar(file, buffer, 2, 8);
    found.data = origo__has(file, offset, found.size) ? file.data + offset : file.data;
    found.size = found.data == file.data ? 0 : found.size;
    return found;
  }
  return none;
}

/* What a deflated map may become, by the bytes of the file that it lies in. */
static inline uint64_t origo__inflated_limit(uint64_t file) { return ((uint64_t)1 << 20) + 8 * file; }

/* A deflated map: how many bytes it has, in four, little-endian, and a raw deflate stream of them. */
static inline origo_status origo__inflate(origo__bytes deflated, uint64_t file, void **inflated, uint64_t *size) {
  z_stream stream;
  int ended;
  *inflated = NULL;
  *size = origo__little(deflated, 0, 4);
  /* Nobody has to keep to the size that is told, so it is none but a claim. */
  if (deflated.size < 4 || deflated.size > UINT32_MAX || *size > origo__inflated_limit(file))
    return ORIGO_DAMAGED;
  memset(&stream, 0, sizeof stream);
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK)
    return ORIGO_NO_MEMORY;
  *inflated = malloc((size_t)*size + !*size);
  if (!*inflated) {
    inflateEnd(&stream);
    return ORIGO_NO_MEMORY;
  }
  stream.next_in = (z_const Bytef *)deflated.data + 4;
  stream.avail_in = (uInt)deflated.size - 4;
  stream.next_out = (Bytef *)*inflated;
  stream.avail_out = (uInt)*size;
  ended = inflate(&stream, Z_FINISH) == Z_STREAM_END && !stream.avail_in && !stream.avail_out;
  inflateEnd(&stream);
  if (ended)
    return ORIGO_OK;
  free(*inflated);
  *inflated = NULL;
  return ORIGO_DAMAGED;
}

/* Sees that a map is of the form that is read here. 0: it is damaged. */
static inline int origo__version(origo__bytes map, uint64_t *version) {
  uint64_t root;
  if (map.size < 8 || memcmp(map.data + 4, "ORGM", 4) != 0)
    return 0;
  root = origo__little(map, 0, 4);
  *version = origo__scalar(map, root, 0, 4);
  return origo__field(map, root, 0) != 0;
}

/* The map of a model. One of version 2 only says that it is deflated, in an entry of its own. */
static inline origo_status origo__find_map(origo_map *map, uint64_t model) {
  uint64_t version;
  map->map = origo__entry(map->file, model, "origo.origin_map");
  if (!map->map.data)
    return ORIGO_NO_MAP;
  if (!origo__version(map->map, &version))
    return ORIGO_DAMAGED;
  if (version == 2) {
    origo_status status = origo__inflate(origo__entry(map->file, model, "origo.origin_map.deflated"), map->file.size,
                                         &map->inflated, &map->map.size);
    if (status != ORIGO_OK)
      return status;
    map->map.data = (const uint8_t *)map->inflated;
    if (!origo__version(map->map, &version))
      return ORIGO_DAMAGED;
  }
  return version == 1 ? ORIGO_OK : ORIGO_OTHER_VERSION;
}

static inline origo_status origo__read(origo_map *map) {
  uint64_t model, root;
  origo__bytes digest;
  origo_status status;
  if (map->file.size < 8 || (memcmp(map->file.data + 4, "CIR0", 4) != 0 && memcmp(map->file.data + 4, "TFL3", 4) != 0))
    return ORIGO_NOT_A_MODEL;
  model = origo__little(map->file, 0, 4);
  if (!origo__has(map->file, model, 4))
    return ORIGO_NOT_A_MODEL;
  map->graphs = origo__follow(map->file, origo__field(map->file, model, 2));
  status = origo__find_map(map, model);
  if (status != ORIGO_OK)
    return status;
  root = origo__little(map->map, 0, 4);
  map->retrained = origo__scalar(map->map, root, 2, 1) != 0;
  map->has_names = origo__scalar(map->map, root, 3, 1) != 0;
  digest = origo__inline(map->map, origo__follow(map->map, origo__field(map->map, root, 4)), 2);
  map->source_fingerprint = digest.data;
  if (digest.size != 32)
    return ORIGO_DAMAGED;
  digest = origo__inline(map->map, origo__follow(map->map, origo__field(map->map, root, 5)), 2);
  map->target_fingerprint = digest.data;
  map->laws = (uint32_t)origo__scalar(map->map, origo__follow(map->map, origo__field(map->map, root, 5)), 4, 4);
  if (digest.size != 32)
    return ORIGO_DAMAGED;
  if (!origo__check_words(map))
    return ORIGO_DAMAGED;
  status = origo__check_counts(map);
  if (status != ORIGO_OK)
    return status;
  if (!origo__check_rows(map))
    return ORIGO_DAMAGED;
  map->checked = 1;
  return ORIGO_OK;
}

/* Gives back what origo_open() took; nothing of the map may be used any more. */
static inline void origo_close(origo_map *map) {
  free(map->inflated);
  map->inflated = NULL;
}

/* `size` bytes at `data` are a whole .circle or .tflite file. Only after ORIGO_OK may the map be used, and has to be
 * closed. */
static inline origo_status origo_open(origo_map *map, const void *data, size_t size) {
  origo_status status;
  memset(map, 0, sizeof *map);
  map->file.data = (const uint8_t *)data;
  map->file.size = size;
  status = origo__read(map);
  if (status != ORIGO_OK)
    origo_close(map);
  return status;
}

#ifdef __cplusplus
}
#endif

#endif
