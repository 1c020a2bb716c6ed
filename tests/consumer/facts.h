/* All facts of a map as lines, by the C reader. facts.cpp and json_facts.cpp print the same. */
#include "origin/origin_reader.h"

#include <stdio.h>
#include <stdlib.h>

static void print_text(FILE *out, const char *word, origo_text text) {
  fprintf(out, " %s ", word);
  fwrite(text.data, 1, text.size, out);
}

static void print_ids(FILE *out, const char *word, origo_ids ids) {
  uint32_t id;
  fprintf(out, " %s", word);
  while (origo_next_id(&ids, &id))
    fprintf(out, " %u", id);
}

static void print_places(FILE *out, const char *word, origo_places places) {
  origo_place place;
  fprintf(out, " %s", word);
  while (origo_next_place(&places, &place))
    fprintf(out, " %u:%u", place.subgraph, place.index);
}

static void print_numbers(FILE *out, const char *word, origo_numbers numbers) {
  int64_t number;
  fprintf(out, " %s", word);
  while (origo_next_number(&numbers, &number))
    fprintf(out, " %lld", (long long)number);
}

static void print_term(FILE *out, const char *word, origo_term term) {
  if (term.kind == ORIGO_NUMBER)
    fprintf(out, " %s number %.17g", word, term.number);
  else if (term.kind == ORIGO_CONSTANT)
    fprintf(out, " %s constant %u", word, term.constant);
  else if (term.kind == ORIGO_SOURCE)
    fprintf(out, " %s source %u", word, term.constant);
}

static void print_step(FILE *out, const origo_step *step) {
  static const char *const words[] = {"permute", "reshape", "slice", "placed", "cast", "affine", "quantize", "unknown"};
  int scaled =
      step->kind == ORIGO_UNKNOWN_STEP && step->unknown.size > 9 && !memcmp(step->unknown.data, "{\"scaled\"", 9);
  const char *word = scaled ? "scaled" : words[step->kind];
  if (step->kind == ORIGO_PERMUTE || step->kind == ORIGO_SLICE || step->kind == ORIGO_PLACED)
    print_numbers(out, word, step->first);
  else
    fprintf(out, " %s", word);
  if (step->kind == ORIGO_SLICE || step->kind == ORIGO_PLACED)
    print_numbers(out, "size", step->second);
  if (step->kind == ORIGO_AFFINE) {
    fprintf(out, " %d", step->axis);
    print_term(out, "scale", step->scale);
    print_term(out, "shift", step->shift);
  }
}

static void print_name(FILE *out, const char *name, uint64_t length, size_t capacity) {
  fputs(" \"", out);
  fwrite(name, 1, length < capacity ? (size_t)length : capacity, out);
  fputs("\"", out);
}

static void print_scopes(FILE *out, const char *name, uint64_t length, size_t capacity) {
  origo_text text, scope;
  origo_scopes scopes;
  text.data = name;
  text.size = length < capacity ? (size_t)length : capacity;
  scopes = origo_scopes_of(text);
  fputs(" scopes \"", out);
  while (origo_next_scope(&scopes, &scope)) {
    fwrite(scope.data, 1, scope.size, out);
    fputs("/ ", out);
  }
  fputs("\"", out);
}

static void print_operators(const origo_map *map, FILE *out) {
  origo_operator_cursor operators = origo_operators(map);
  origo_operator op;
  while (origo_next_operator(&operators, &op)) {
    origo_text pass;
    fprintf(out, "operator %u:%u", op.subgraph, op.index);
    print_ids(out, "origins", op.origins);
    fputs(" passes", out);
    while (origo_next_pass(&op.passes, &pass)) {
      fputs(" ", out);
      fwrite(pass.data, 1, pass.size, out);
    }
    print_text(out, "synthetic", op.synthetic);
    print_ids(out, "serves", op.serves);
    print_text(out, "wide", op.wide);
    print_ids(out, "calls", op.calls);
    fputs("\n", out);
  }
}

static void print_tensors(const origo_map *map, FILE *out) {
  origo_tensor_cursor tensors = origo_tensors(map);
  origo_tensor tensor;
  while (origo_next_tensor(&tensors, &tensor)) {
    origo_relation relation;
    origo_step step;
    origo_text name = origo_tensor_name(map, tensor.subgraph, tensor.index);
    fprintf(out, "tensor %u:%u", tensor.subgraph, tensor.index);
    print_name(out, name.data, name.size, name.size);
    print_text(out, "reason", tensor.reason);
    print_text(out, "synthetic", tensor.synthetic);
    fputs("\n", out);
    while (origo_next_relation(&tensor.relations, &relation)) {
      fprintf(out, "  is %u%s", relation.tensor, relation.exact ? " exact" : "");
      while (origo_next_step(&relation.steps, &step))
        print_step(out, &step);
      fputs("\n", out);
    }
    if (tensor.computed) {
      print_ids(out, "computed from tensors", tensor.tensors);
      print_ids(out, "operators", tensor.operators);
      fputs("\n", out);
    }
  }
}

/* Names are looked up for operators, and gone through for tensors. */
static void print_cost(FILE *out, const char *word, uint64_t cost) {
  if (cost == ORIGO_UNKNOWN)
    fprintf(out, " %s unknown", word);
  else
    fprintf(out, " %s %llu", word, (unsigned long long)cost);
}

static void print_source(const origo_map *map, FILE *out, char *buffer, size_t capacity) {
  static const char *const kinds[] = {"input", "activation", "variable", "constant", "absent"};
  origo_source_cursor operators = origo_source_operators(map);
  origo_source_operator op;
  origo_use_cursor uses = origo_uses(map);
  origo_use use;
  origo_name_cursor names;
  uint64_t length;
  uint32_t id;
  while (origo_next_source_operator(&operators, &op)) {
    int32_t tensor;
    fprintf(out, "source operator %u ", op.id);
    fwrite(op.op.data, 1, op.op.size, out);
    fputs(" ", out);
    fwrite(op.custom_code.data, 1, op.custom_code.size, out);
    length = origo_source_operator_name(map, &op, buffer, capacity);
    print_name(out, buffer, length, capacity);
    print_scopes(out, buffer, length, capacity);
    fputs(" outputs", out);
    while (origo_next_output(&op.outputs, &tensor))
      fprintf(out, " %d", tensor);
    origo_next_use(&uses, &use);
    fputs(" operands", out);
    while (origo_next_output(&use.operands, &tensor))
      fprintf(out, " %d", tensor);
    print_cost(out, "macs", use.macs);
    print_cost(out, "bytes", use.bytes);
    fputs("\n", out);
  }
  names = origo_names(map, buffer, capacity);
  for (id = 0; id < map->source_tensor_count; ++id) {
    origo_next_name(&names, &length);
    fprintf(out, "source tensor %u %s", id, kinds[origo_source_tensor_kind(map, id)]);
    print_name(out, buffer, length, capacity);
    fputs("\n", out);
  }
}

static void print_entries(const char *word, origo_entries entries, FILE *out) {
  origo_entry entry;
  fprintf(out, " %s", word);
  while (origo_next_entry(&entries, &entry)) {
    print_name(out, entry.name.data, entry.name.size, entry.name.size);
    fprintf(out, " %d", entry.tensor);
  }
}

static void print_signatures(const origo_map *map, FILE *out) {
  origo_signature_cursor signatures = origo_signatures(map);
  origo_signature signature;
  while (origo_next_signature(&signatures, &signature)) {
    fputs("signature", out);
    print_name(out, signature.key.data, signature.key.size, signature.key.size);
    fprintf(out, " subgraph %u", signature.subgraph);
    print_entries("inputs", signature.inputs, out);
    print_entries("outputs", signature.outputs, out);
    fputs("\n", out);
  }
}

static void print_ledger(const origo_map *map, FILE *out) {
  origo_ledger_cursor ledger = origo_ledger(map);
  origo_unneeded_cursor unneeded = origo_all_unneeded(map);
  origo_unneeded item;
  origo_gone gone;
  while (origo_next_gone(&ledger, &gone)) {
    fprintf(out, "gone %s %u ", gone.is_tensor ? "tensor" : "operator", gone.id);
    fwrite(gone.fate.data, 1, gone.fate.size, out);
    print_text(out, "was", gone.was);
    print_text(out, "by", gone.pass);
    fprintf(out, " run %u rewrite %u", gone.run, gone.rewrite);
    print_text(out, "part", gone.part_file);
    fputs(" ", out);
    fwrite(gone.part_fingerprint.data, 1, gone.part_fingerprint.size, out);
    print_places(out, "operators", gone.operators);
    print_places(out, "tensors", gone.tensors);
    while (origo_next_unneeded_of(&unneeded, &gone, &item)) {
      fprintf(out, " unneeded %u %u ", item.user, item.operand);
      fwrite(item.reason.data, 1, item.reason.size, out);
    }
    fputs("\n", out);
  }
}

static void print_facts(const origo_map *map, FILE *out, char *buffer, size_t capacity) {
  print_operators(map, out);
  print_tensors(map, out);
  print_source(map, out, buffer, capacity);
  print_signatures(map, out);
  print_ledger(map, out);
}

/* What find functions say must be what the rows say. Looks at about `most` operators and ids. */
static int is_consistent(const origo_map *map, uint32_t most) {
  origo_operator_cursor operators = origo_operators(map);
  origo_operator op, found;
  origo_tensor tensor;
  origo_gone gone;
  origo_source_operator source;
  uint32_t id, step = (uint32_t)(map->source_operator_count / most) + 1;
  while (most-- && origo_next_operator(&operators, &op)) {
    uint32_t first, other;
    if (!origo_find_operator(map, op.subgraph, op.index, &found))
      return 0;
    if (origo_next_id(&op.origins, &first) && (!origo_next_id(&found.origins, &other) || first != other))
      return 0;
  }
  for (id = 0; id < map->source_operator_count; id += step) {
    operators = origo_operators(map);
    if (!origo_find_source_operator(map, id, &source) || source.id != id)
      return 0;
    /* Live or gone. */
    if (origo_next_operator_from(&operators, id, &op) == origo_find_gone(map, 0, id, &gone))
      return 0;
  }
  return !origo_find_operator(map, map->subgraph_count, 0, &op) && !origo_find_tensor(map, 0, UINT32_MAX, &tensor) &&
         !origo_find_source_operator(map, (uint32_t)map->source_operator_count, &source) &&
         origo_source_tensor_kind(map, (uint32_t)map->source_tensor_count) == ORIGO_ABSENT;
}

/* The bytes of a file in memory of exactly its size; NULL: it cannot be read. */
static uint8_t *read_file(const char *path, size_t *size) {
  FILE *file = path ? fopen(path, "rb") : NULL;
  uint8_t *bytes;
  long length;
  if (!file)
    return NULL;
  if (fseek(file, 0, SEEK_END) != 0 || (length = ftell(file)) < 0 || fseek(file, 0, SEEK_SET) != 0) {
    fclose(file);
    return NULL;
  }
  *size = (size_t)length;
  bytes = (uint8_t *)malloc(*size + !*size);
  if (bytes && fread(bytes, 1, *size, file) != *size) {
    free(bytes);
    bytes = NULL;
  }
  fclose(file);
  return bytes;
}
