#!/usr/bin/env bash
# Where outputs go: never upon an input, never two under one name, whole or not at all, and nothing is left behind; and a system
# that has no more threads.
# usage: outputs.sh BIN
. "$(dirname "${BASH_SOURCE[0]}")/command_line.sh" "$1"

cat >small.origo <<'TEXT'
origo 1
model tflite version 3
subgraph @main(%x: f32[1,4]) -> (%y) {
  %w: f32[4,4] = const seed 1 normal 0 1
  %a: f32[1,4] = FULLY_CONNECTED(%x, %w, _)
  %y: f32[1,4] = EXP(%a)
}
TEXT
circle2circle --no-origin-json --embed-origin=none small.origo model.tflite 2>/dev/null || fail "small.origo"
circle2circle -O1 model.tflite result.circle 2>/dev/null || fail "model.tflite"
cp model.tflite kept.tflite
cp result.circle kept.circle
cp model.tflite hard.tflite
ln -f model.tflite hard.tflite
ln -s model.tflite soft.tflite
printf 'tensor,us\na,1\ny,2\n' >times.csv
intact() { cmp -s model.tflite kept.tflite && cmp -s result.circle kept.circle || fail "$*: an input is changed"; }
safe() { # TEXT COMMAND...
  refused "$@"
  intact "${@:2}"
}

# An input under any name.
for name in model.tflite ./model.tflite "$PWD/model.tflite" soft.tflite hard.tflite; do
  safe 'is an input, and --netron would replace it' circle-metrics --netron="$name" model.tflite
  safe 'is an input, and --statistics would replace it' record-minmax --input_model model.tflite --output_model o.tflite --stats "$name"
  safe 'is an input, and --json would replace it' visq -f model.tflite -q result.circle --json "$name"
done
safe 'is an input, and --mpeir_output would' visq -f model.tflite -q result.circle --mpeir_output result.circle
safe 'is an input, and --profile would' circle-interpreter --seed=1 --profile=model.tflite model.tflite
safe 'is an input, and -o would' origin-view -o result.circle result.circle --source model.tflite
safe 'is an input, and -o would' origin-view -o model.tflite result.circle --source model.tflite
safe 'is an input, and --config would' circle-mpqsolver --quantized_dtype int8 --data random --input_model model.tflite --output_model o.tflite --config model.tflite
for option in trace history origin-json; do
  safe "is an input, and --$option would" circle2circle -O1 --$option=model.tflite model.tflite o.circle
done
safe 'is an input, and --trace would' origin-dump --join times.csv --trace result.circle result.circle
cp result.circle.origin.json side.circle
refused 'is an input, and OUTPUT would' circle2circle --origin-map=side.circle result.circle side.circle
cmp -s side.circle result.circle.origin.json || fail "a side file that is read is written over"
cp model.tflite npu.tflite
safe 'is an input, and OUTPUT would' record-minmax --input_model model.tflite --input_data npu.tflite --output_model npu.tflite
# What shows only when it is opened.
printf 'section' >x0
head -c 16 /dev/zero >x0
refused 'x0: cannot be written: it is an input' circle-interpreter model.tflite x x
[[ $(stat -c %s x0) == 16 ]] && cmp -s x0 <(head -c 16 /dev/zero) || fail "an input of circle-interpreter is changed"
mkdir -p package/model
cp model.tflite package/model/model.tflite
refused 'cannot be written: it is an input' onecc pack -i package/model/model.tflite -o package
cmp -s package/model/model.tflite kept.tflite || fail "onecc pack changes its input"

# The model itself may be rewritten in its place, with what lies beside it, and again.
cp model.tflite place.tflite
circle2circle -O1 place.tflite place.tflite 2>/dev/null || fail "a model rewritten in its place"
circle2circle -O1 ./place.tflite place.tflite 2>/dev/null || fail "a model rewritten in its place, again"
circle2circle model.tflite place.origo 2>/dev/null && circle2circle -O1 place.origo place.origo 2>/dev/null || fail "a text rewritten in its place"
[[ $(origin-dump --check place.tflite) == ok ]] || fail "a model rewritten in its place has no sound origins"

refused 'is an input, and OUTPUT would' circle2circle -O1 --bisect=false place.tflite place.tflite
refused 'is an input, and OUTPUT would' circle2circle -O1 --prices=pass place.tflite place.tflite
printf '[onecc]\none-optimize=True\n[one-optimize]\ninput_path=model.tflite\noutput_path=o.circle\n' >net.cfg
refused 'net.cfg: cannot be written: it is an input' onecc -C net.cfg --report ./net.cfg

# Two outputs under one name.
ln -s y.json link.json
for other in y.json ./y.json link.json; do
  refused 'is written by --json, and --mse_output would replace it' visq -f model.tflite -q result.circle --json y.json --mse_output $other
  [[ ! -e y.json ]] || fail "one of two outputs is written"
done
refused 'and --history would replace it' circle2circle -O1 --trace=t --history=./t model.tflite o.circle
refused 'is written by OUTPUT, and --origin-json would' circle2circle --origin-json=./o.circle model.tflite o.circle
refused 'is written by OUTPUT, and --statistics would' record-minmax --input_model model.tflite --output_model o.tflite --stats ./o.tflite
refused_after_notes 'another output of this run has this name' visq -f model.tflite -q result.circle --json y.json.dot --mse_output y.json --dump_dot_graph
[[ -z $(ls t o.circle o.tflite y.json* 2>/dev/null) ]] || fail "something is written: $(ls)"
# Streams are no files, and stay what they were.
visq -f model.tflite -q result.circle --json /dev/stdout --mse_output /dev/stdout | grep MSE >/dev/null || fail "two outputs to a pipe"
circle-metrics --dot=- model.tflite | grep digraph >/dev/null || fail "an output to -"
circle-metrics --dot=/dev/stdout model.tflite >dot && grep -q digraph dot || fail "an output to /dev/stdout"
circle2circle model.tflite - 2>/dev/null | cmp -s - <(circle2circle model.tflite - 2>/dev/null) || fail "a model to -"

# Outputs without names are all there.
cat >names.origo <<'TEXT'
origo 1
model tflite version 3
subgraph @main(%x: f32[1]) -> (%1, %e, %d, %f) {
  %1: f32[1] = ABS(%x)
  %e: f32[1] name "" = NEG(%x)
  %d: f32[1] name "d" = EXP(%x)
  %f: f32[1] name "d" = TANH(%x)
}
TEXT
circle-interpreter --seed=1 --outputs=named names.origo 2>/dev/null || fail "names.origo"
[[ $(cd named && echo *) == '#1.npy 1.npy 2.npy 3.npy' ]] || fail "outputs are called $(cd named && echo *)"

# Whole or not at all.
make-model --operators 4 --weights 200000 big.circle 2>/dev/null || fail make-model
(ulimit -f 100; onecc pack -i big.circle -o packed 2>/dev/null) && fail "a package beyond the limit"
[[ -z $(find packed -type f) ]] || fail "a part of a package is left: $(find packed)"
echo older >trace
(ulimit -f 0; circle2circle -O1 --trace=trace big.circle /dev/null 2>/dev/null)
[[ $(<trace) == older ]] || fail "a part of a trace is left"

refused_after_notes 'fails before the first rewrite' circle2circle -O1 --bisect=false model.tflite b.circle
[[ -z $(ls b.circle* 2>/dev/null) ]] || fail "a --bisect that finds nothing leaves $(ls b.circle*)"
echo older >b.circle
refused_after_notes 'fails before the first rewrite' circle2circle -O1 --bisect=false model.tflite b.circle
[[ $(<b.circle) == older && ! -e b.circle.origin.json ]] || fail "a --bisect that finds nothing replaces an output"

# The name that an output takes before its own is another one where that is taken, as anybody may do in a shared folder.
cat >shim.c <<'TEXT'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int linkat(int from, const char *path, int to, const char *name, int flags) {
  static int taken;
  if (getenv("SHIM_NAMES") && strstr(name, ".origo-") && !taken++)
    mkdir(name, 0700);
  return ((int (*)(int, const char *, int, const char *, int))dlsym(RTLD_NEXT, "linkat"))(from, path, to, name, flags);
}

/* So many threads at the same time. */
static atomic_int threads;
typedef struct { void *(*run)(void *); void *argument; } work;
static void *counted(void *pointer) {
  work own = *(work *)pointer;
  void *result;
  free(pointer);
  result = own.run(own.argument);
  --threads;
  return result;
}
int pthread_create(pthread_t *id, const pthread_attr_t *attributes, void *(*run)(void *), void *argument) {
  const char *most = getenv("SHIM_THREADS");
  work *own = malloc(sizeof *own);
  own->run = run, own->argument = argument;
  if (most && ++threads > atoi(most)) {
    --threads;
    free(own);
    return EAGAIN;
  }
  return ((int (*)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *))dlsym(RTLD_NEXT, "pthread_create"))(
      id, attributes, most ? counted : run, most ? own : argument);
}
TEXT
cc -shared -fPIC -o shim.so shim.c -ldl || fail "shim.c"
mkdir shared
echo older >shared/out.json
SHIM_NAMES=1 LD_PRELOAD=$PWD/shim.so circle-metrics --netron=shared/out.json model.tflite || fail "a name that is taken stops an output"
grep -q netron\\\|node shared/out.json || fail "the output is not the one that was asked for: $(head -c 100 shared/out.json)"
if (cd shared && compgen -G '.origo-*') >/dev/null; then
  rmdir shared/.origo-* || fail "a file is left beside the name that was taken"
fi

# Threads that cannot be had are done without.
big=(circle-metrics --threads=4 --csv big.circle)
"${big[@]}" >threads.want || fail "${big[*]}"
origin-view -o page.want big.circle --threads=4 --constants 2>/dev/null || fail origin-view
circle-interpreter --engine=fast --threads=2 --seed=1 --outputs=run.want big.circle 2>/dev/null || fail circle-interpreter
for most in 0 1; do
  few() { SHIM_THREADS=$most LD_PRELOAD=$PWD/shim.so timeout 60 "$@"; }
  few "${big[@]}" >threads.have && cmp threads.want threads.have || fail "${big[*]}, with $most threads to be had"
  few origin-view -o page.have big.circle --threads=4 --constants 2>/dev/null && cmp page.want page.have || fail "origin-view, with $most threads to be had"
  few circle-interpreter --engine=fast --threads=2 --seed=1 --outputs=run.have big.circle 2>/dev/null && diff -r run.want run.have ||
    fail "circle-interpreter --threads=2, with $most threads to be had"
done

# Commands that cannot be started fail for no model.
refused 'cannot start /nonexistent' circle-reduce --output r.origo small.origo -- /nonexistent
refused 'there is no program nonexistent-command' circle-reduce --output r.origo small.origo -- nonexistent-command
printf 'no program\n' >text.sh
chmod +x text.sh
refused 'cannot start' circle-reduce --output r.origo small.origo -- ./text.sh
printf '#!/nonexistent\n' >text.sh
refused 'cannot start' circle-reduce --output r.origo small.origo -- ./text.sh
refused 'cannot be started, whatever the model' circle-reduce --output r.origo small.origo -- sh -c 'nonexistent-command'
printf '#!/bin/sh\nkill -SEGV $$\n' >crash.sh
printf '#!/bin/sh\nsleep 60\n' >slow.sh
chmod +x crash.sh slow.sh
[[ ! -e r.origo ]] || fail "circle-reduce writes a model for which nothing failed"
refused 'the command does not fail' circle-reduce --timeout=1 --output r.origo small.origo -- ./slow.sh
circle-reduce --output r.origo small.origo -- ./crash.sh 2>/dev/null || fail "circle-reduce of a command that a signal ends"

# However a tool ends, its folder goes.
mkdir tmp
ends() { # SIGNAL COMMAND...
  local signal=$1 i
  shift
  TMPDIR=$PWD/tmp "$@" >/dev/null 2>&1 &
  for ((i = 0; i < 200; ++i)); do
    [[ -z $(ls tmp) ]] || break
    sleep 0.05
  done
  [[ -n $(ls tmp) ]] || fail "$*: no folder to be seen"
  kill -"$signal" $!
  wait $! 2>/dev/null
  for ((i = 0; i < 200; ++i)); do
    [[ -n $(ls tmp) ]] || return 0
    sleep 0.05
  done
  fail "$* leaves $(ls tmp), ended by SIG$signal"
}
for signal in TERM HUP KILL; do
  ends $signal circle-reduce --output r.origo small.origo -- "$PWD/slow.sh"
  ends $signal circle-fuzz --graphs=100000
done
echo "outputs: fine"
