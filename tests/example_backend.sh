#!/usr/bin/env bash
# The example back end: builds it against the installed Origo, lets it generate C, runs that beside the reference engine, and shows
# its layers in gdb, perf, callgrind, Chromium and Node.js.
# usage: example_backend.sh BUILD C CXX SANITIZE            in BUILD, what `tests/consumer/run.sh … samples` has installed
#        example_backend.sh BUILD C CXX SANITIZE models     public models instead: $ORIGO_MODELS
set -uo pipefail
build=$(cd "$1" && pwd) c=$2 cxx=$3 sanitize=$4 what=${5-}
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
example=$root/docs/example-backend
bin=$build/bin prefix=$build/consumer/moved
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

fail() { echo "FAILED: $*"; exit 1; }

flags= cache=
command -v ccache >/dev/null && cache=-DCMAKE_CXX_COMPILER_LAUNCHER=ccache
[[ $sanitize == ON ]] && flags=-fsanitize=address,undefined
cmake -S "$example" -B program -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_CXX_COMPILER="$cxx" \
  -DCMAKE_CXX_FLAGS="$flags" $cache >log 2>&1 || fail "$(<log)"
cmake --build program >log 2>&1 || fail "$(<log)"

checks="-g -fsanitize=address,undefined -fno-sanitize-recover=all"
compile() { "$c" -std=c99 -Wall -Wextra -Werror -fno-math-errno -I "$example" "$1.c" "$example/main.c" "${@:2}" >said 2>&1 || fail "$1.c: $(head -c 600 said)"; }
# generate MODEL NAME [FLAG…]: NAME.circle, and what is made of it, with the program NAME.
generate() {
  "$bin/circle2circle" -O1 "$1" "$2.circle" >/dev/null 2>&1 || fail "circle2circle $1"
  program/example_backend "$2.circle" "$2" 2>said || fail "example_backend $2.circle: $(<said)"
  compile "$2" -o "$2" "${@:3}"
}
# runs NAME SIZES: on the interpreter's random inputs, the program computes what the reference engine does: the same integers, and
# floats up to 1e-5.
runs() {
  "$bin/circle-interpreter" --engine=reference --seed=1 --save-inputs="$1.in" "$1.circle" >/dev/null 2>said &&
    "$bin/circle-interpreter" --engine=reference "$1.circle" "$1.in" "$1.expected" >/dev/null 2>said || fail "circle-interpreter $1.circle: $(<said)"
  "./$1" "$1.in" "$1.out" >"$1.csv" 2>said || fail "$1: $(<said)"
  /usr/bin/python3 - "$1" <<'END' || fail "$1 computes something else"
import glob, struct, sys
name = sys.argv[1]
files = sorted(glob.glob(name + '.expected*'))
assert files
for path in files:
    wanted, got = open(path, 'rb').read(), open(path.replace('.expected', '.out'), 'rb').read()
    assert len(wanted) == len(got) and any(wanted), path
    if wanted == got:
        continue
    assert len(wanted) % 4 == 0, path + ': other integers'
    for i, (a, b) in enumerate(zip(struct.iter_unpack('<f', wanted), struct.iter_unpack('<f', got))):
        assert abs(a[0] - b[0]) <= 1e-5 * (1 + abs(a[0])), (path, i, a[0], b[0])
END
}

# NAME: it calls nothing, of which the time would not be a layer's.
without_libraries() {
  "$c" -std=c99 -O2 -fno-math-errno -I "$example" -c "$1.c" -o "$1.o" || fail "$1.o"
  [[ -z $(nm -u "$1.o") ]] || fail "$1 calls a library: $(nm -u "$1.o" | xargs)"
}

# Samples of perf are on layers: NAME, how often it runs. With ORIGO_THOROUGH=1, which wants a machine for itself, there are more than
# ten thousand of them, and shares of layers of two microseconds and more are those of the thread's time in a build of its own, up to
# two points, and from 1 % on up to a fifth.
sampled() {
  local name=$1 runs=$2
  perf record -q -e cpu-clock:u -F 997 -o /dev/null true >/dev/null 2>&1 || { echo "example_backend: the kernel does not let perf sample, so nothing of $name was"; return; }
  compile "$name" -O2 -g -o "$name.plain"
  without_libraries "$name"
  nm "$name.o" | sed 's/^[ 0-9a-f]* . //' >"$name.functions"
  compile "$name" -std=gnu99 -O2 -DNET_PROFILE -o "$name.timed"
  local often=$runs took TIMEFORMAT=%U
  if [[ -n ${ORIGO_THOROUGH-} ]]; then # of 2.4 seconds; of kernels that take less than a clock, more without it
    often=$("./$name.timed" "$name.in" "$name.out" 5 | awk -F, '{ ns += $3 } END { print int(4 * 2.4e9 / ns) + 2 }')
    for ((runs = often; ; runs *= 4)); do
      took=$({ time "./$name.plain" "$name.in" "$name.out" "$runs" >/dev/null 2>&1; } 2>&1)
      awk "BEGIN { exit !($took > 0.3) }" && break
    done
    runs=$(awk "BEGIN { print int($runs * 2.4 / $took) + 1 }")
    # The first run, which gets its memory from the system, is one of many.
    ((runs > 16)) || runs=16
    ((often > 16)) || often=16
  fi
  # Both run at once, so that what else runs disturbs them alike; on a busy machine, three tries.
  for try in 1 2 3; do
    "./$name.timed" "$name.in" "$name.timed.out" "$often" >"$name.csv" &
    perf record -q -e cpu-clock:u -F 5000 -o "$name.data" "./$name.plain" "$name.in" "$name.out" "$runs" >said 2>&1 || fail "perf record: $(<said)"
    perf script -i "$name.data" -F comm,pid,time,period,event,ip,sym,dso >"$name.perf" 2>/dev/null || fail "perf script"
    perf report -i "$name.data" --stdio >"$name.report" 2>/dev/null || fail "perf report"
    wait $! || fail "$name.timed"
    for profile in perf report csv; do
      "$bin/origin-dump" --join "$name.$profile" --kernels="$name.json" --json "$name.circle" >"$name.$profile.json" 2>said ||
        { echo "--join $name.$profile, try $try: $(<said)"; continue 2; }
    done
    /usr/bin/python3 - "$name" "$often" <<'END' && return
import json, os, sys
name, runs = sys.argv[1], int(sys.argv[2]) - 1
sampled, timed = (json.load(open(f'{name}.{kind}.json')) for kind in ('perf', 'csv'))
def shares(profile):
    rows = {row['op_index']: row['ns'] for row in profile['rows'] if row['match'] == 'exact'}
    whole = sum(rows.values())
    return {op: (ns, 100 * ns / whole) for op, ns in rows.items()}, whole / profile['total_ns']
(seen, _), (true, _) = shares(sampled), shares(timed)
# Of the network's run: what copies its inputs and loads the program is not in it, but all that it calls.
functions = set(open(f'{name}.functions').read().splitlines())
inside = sum(row['ns'] for row in sampled['rows'] if row['match'] == 'exact' or row['raw_name'].split('@')[0] in functions)
attributed = sum(ns for ns, _ in seen.values()) / inside
# perf report writes hundredths of a percent of the same samples.
reported = json.load(open(f'{name}.report.json'))
assert {row['source_tool'] for row in sampled['rows'] + reported['rows']} == {'perf'}
whole, listed = sampled['total_ns'], shares(reported)[0]
assert abs(reported['total_ns'] - whole) <= whole * 0.00005 * len(reported['rows']), (reported['total_ns'], whole)
for op, (ns, _) in seen.items():
    assert abs(listed.get(op, (0, 0))[0] - ns) <= whole * 0.0001, (op, ns, listed.get(op))
assert attributed >= 0.98, f'{attributed:.3f} of the samples are on a layer'
thorough = bool(os.environ.get('ORIGO_THOROUGH'))
samples = sum(row['count'] for row in sampled['rows'])
assert samples >= 10000 or not thorough, f'{samples} samples'
judged = {op: (share, abs(share - seen.get(op, (0, 0))[1])) for op, (ns, share) in true.items() if ns / runs >= 2000}
for op, (share, off) in judged.items() if thorough else ():
    assert off <= 2 and (share < 1 or off <= share / 5), (op, share, seen.get(op))
points, parts = (max(offs, default=0) for offs in ([off for _, off in judged.values()], [off / share for share, off in judged.values() if share >= 1]))
print(f'{name}: {samples} samples, {100 * attributed:.2f} % of those in the network on layers; {len(judged)} of {len(true)} layers take 2 us, '
      f'off by {points:.2f} points and, from 1 % on, by {100 * parts:.1f} % of their share at most')
END
  done
  fail "perf sees another program than $name"
}

# NAME RUNS: what callgrind counts is, to the instruction, on the layers that its own reader shows, and nowhere else.
counted() {
  local name=$1 runs=$2
  compile "$name" -O2 -gdwarf-4 -o "$name.counted" # what valgrind 3.19 reads of clang, too
  valgrind -q --tool=callgrind --callgrind-out-file="$name.callgrind" "./$name.counted" "$name.in" "$name.out" "$runs" >said 2>&1 || fail "callgrind: $(<said)"
  callgrind_annotate --auto=no --threshold=100 "$name.callgrind" >"$name.annotated" 2>said || fail "callgrind_annotate: $(<said)"
  "$bin/origin-dump" --join "$name.callgrind" --kernels="$name.json" --json "$name.circle" >"$name.callgrind.json" 2>said || fail "--join: $(<said)"
  /usr/bin/python3 - "$name" <<'END' || fail "callgrind sees another program than $name"
import collections, json, re, sys
name = sys.argv[1]
joined = json.load(open(f'{name}.callgrind.json'))
counts, total = collections.Counter(), None
for line in open(f'{name}.annotated'):
    found = re.match(r' *([\d,]+) \([ \d.]+%\)  (.*)', line)
    if not found:
        continue
    count, what = int(found[1].replace(',', '')), found[2]
    if what == 'PROGRAM TOTALS':
        total = count
    else: # "file:function [object]"; a function is in several files, with what is inlined in it
        counts[re.sub(r' \[[^]]*\]$', '', what).split(':', 1)[1]] += count
kernels = {kernel['name']: kernel['operators'] for kernel in json.load(open(f'{name}.json'))['kernels']}
assert joined['total_ns'] == total and total > 0, (joined['total_ns'], total)
seen = {}
for row in joined['rows']:
    assert row['source_tool'] == 'callgrind'
    operators = row.get('partition') or ([] if row['op_index'] is None else [row['op_index']])
    assert bool(operators) == (row['raw_name'] in kernels), row
    if operators:
        assert operators == kernels[row['raw_name']] and row['match'] in ('exact', 'partition'), row
        seen[row['raw_name']] = row['ns']
wanted = {kernel: counts[kernel] for kernel in kernels}
assert seen == wanted and all(wanted.values()), (seen, wanted)
assert joined['attributed_ns'] == sum(wanted.values())
END
}

# NAME: the same network as WebAssembly, of which V8 takes samples by itself, in Chromium and in Node.js. Its functions are called after the
# layers there, too. What each file adds up to is computed a second time.
browsed() {
  local name=$1 browser tensor from bytes
  browser=$(command -v chromium-headless-shell || command -v chromium) || fail "this test needs chromium-headless-shell (./setup --install)"
  command -v wasm-ld >/dev/null || fail "this test needs lld (./setup --install)"
  # That assembler has no .incbin.
  sed '/^__asm__(".pushsection/,/popsection/d' "$name.c" >page.c
  sed -nE 's/^ *"\.balign 16\\n(tensor_[0-9_]+): \.incbin [^,]*, ([0-9]+), ([0-9]+).*/\1 \2 \3/p' "$name.c" | while read -r tensor from bytes; do
    echo "__attribute__((aligned(16))) const unsigned char $tensor[$bytes] = {$(od -An -v -tu1 -j"$from" -N"$bytes" -w"$bytes" "$name.weights" | xargs | tr ' ' ,)};"
  done >constants.c
  for part in page constants; do
    clang --target=wasm32 -std=c99 -O2 -fno-math-errno -fno-builtin -I "$example" -c $part.c -o $part.o >said 2>&1 || fail "$part.c: $(<said)"
  done
  wasm-ld --no-entry --export=net_run page.o constants.o -o "$name.wasm" >said 2>&1 || fail "wasm-ld: $(<said)"
  for try in 1 2 3; do # on a busy machine the browser may not come up, and a profile of less than a second may have no sample of a layer
    timeout 60 node "$root/tests/profilers/v8.mjs" "$browser" "$name" >said 2>&1 || { echo "v8.mjs, try $try: exit $?: $(<said)"; continue; }
    for kind in trace.json pftrace cpuprofile; do
      "$bin/origin-dump" --join "$name.$kind" --kernels="$name.json" --json "$name.circle" >"$name.$kind.json" 2>said ||
        { echo "--join $name.$kind, try $try: $(<said)"; continue 2; }
    done
    /usr/bin/python3 - "$name" <<'END' && return
import collections, json, sys
name = sys.argv[1]
kernels = {kernel['name']: kernel['operators'] for kernel in json.load(open(f'{name}.json'))['kernels']}
def all_of(message, wanted):
    """The fields of that number, of a message in protocol buffers."""
    found, at = [], 0
    def varint():
        nonlocal at
        value = shift = 0
        while True:
            value |= (message[at] & 127) << shift
            shift, at = shift + 7, at + 1
            if message[at - 1] < 128:
                return value
    while at < len(message):
        key = varint()
        if key & 7 == 2:
            size = varint()
            value = message[at:at + size]
            at += size
        elif key & 7 == 0:
            value = varint()
        else:
            value, at = None, at + (8 if key & 7 == 1 else 4)
        if key >> 3 == wanted:
            found.append(value)
    return found
def times(parts):
    """By function, in nanoseconds: a sample lasts until the next one."""
    functions, samples, now, sums = {}, [], 0, collections.Counter()
    for nodes, ids, deltas in parts:
        functions.update((node['id'], node['callFrame']['functionName'] or '(anonymous)') for node in nodes)
        for node, delta in zip(ids, deltas):
            now += delta
            samples.append((now, functions[node]))
    samples.sort(key=lambda sample: sample[0])
    for (begin, function), (end, _) in zip(samples, samples[1:]):
        sums[function] += 1000 * (end - begin)
    return +sums
def part(data):
    return data['cpuProfile'].get('nodes', []), data['cpuProfile'].get('samples', []), data.get('timeDeltas', [])
chunks = collections.defaultdict(list)
for event in json.load(open(f'{name}.trace.json'))['traceEvents']:
    if event['name'] == 'ProfileChunk':
        chunks[event['pid'], event['id']].append(part(event['args']['data']))
noted = collections.defaultdict(list)
for packet in all_of(open(f'{name}.pftrace', 'rb').read(), 1):
    for event in all_of(packet, 11):
        for text in (text for annotation in all_of(event, 4) for text in all_of(annotation, 9) if b'"cpuProfile"' in text):
            noted[all_of(packet, 10)[0]].append(part(json.loads(text)))
whole = json.load(open(f'{name}.cpuprofile'))
wanted = {'trace.json': chunks.values(), 'pftrace': noted.values(), 'cpuprofile': [[(whole['nodes'], whole['samples'], whole['timeDeltas'])]]}
for kind, tool in ('trace.json', 'v8'), ('pftrace', 'perfetto'), ('cpuprofile', 'v8'):
    joined = json.load(open(f'{name}.{kind}.json'))
    found = collections.Counter()
    for row in joined['rows']:
        assert row['source_tool'] == tool, row
        operators = row.get('partition') or ([] if row['op_index'] is None else [row['op_index']])
        assert operators == kernels.get(row['raw_name'], []) and (row['match'] == 'none') == (not operators), row
        found[row['raw_name']] += row['value']
    adding = sum(map(times, wanted[kind]), collections.Counter())
    assert +found == adding, (kind, found, adding)
    here = sum(found[kernel] for kernel in kernels)
    assert joined['attributed_ns'] == here > 0, (kind, found)
END
  done
  fail "V8 sees another program than $name"
}

# NAME [N]: every layer that lives is stopped at by its name, up to N times in loops, and the others say what they are. The origin map
# tells which functions do its work; the table of symbols, where gdb's breakpoints are.
stops() {
  local name=$1
  gdb -q -batch -nx -iex 'set auto-load no' -x "$name-gdb.py" -ex layers "./$name" 2>said | grep -E '^[0-9]+ ' >list || fail "gdb: $(<said)"
  "$bin/origin-dump" --json "$name.circle" >"$name.map.json" 2>said || fail "origin-dump: $(<said)"
  nm -S "$name" >"$name.symbols"
  /usr/bin/python3 - "$name" "${2-1}" <<'END' || fail "gdb does not stop at each layer of $name"
import collections, json, re, subprocess, sys
name, loops = sys.argv[1], int(sys.argv[2])
layers = [line.split(' ', 2) for line in open('list').read().splitlines()]
origins = json.load(open(f'{name}.map.json'))
count = sum(len(graph['operators']) for graph in origins['source']['subgraphs'])
assert [int(id) for id, _, _ in layers] == list(range(count)), (layers, count)
called = collections.defaultdict(list) # by name, operators of the source
for id, _, rest in layers:
    called[rest.split(' -> ')[0]].append(int(id))
kernel = {(k['subgraph'], operator): k['name'] for k in json.load(open(f'{name}.json'))['kernels'] for operator in k['operators']}
does, fates = collections.defaultdict(set), {row['operator']: f"{row['fate']} by {row['pass']}" for row in origins['ledger'] if 'operator' in row}
for graph, content in enumerate(origins['target']['subgraphs']):
    for row in content['operators']:
        for id in row['origins']:
            does[id].add(kernel[graph, row['index']])
kernels = set().union(*does.values())
functions = [(int(begin, 16), int(size, 16), symbol) for begin, size, symbol in re.findall(r'^(\w+) (\w+) \w (.*)$', open(f'{name}.symbols').read(), re.M)]
commands = [word for one in called for word in ('-ex', 'layer ' + one, '-ex', 'echo ----\\n')]
commands += ['-ex', f'run {name}.in {name}.out'] + ['-ex', 'info symbol $pc', '-ex', 'c'] * (len(kernels) * loops)
said = subprocess.run(['gdb', '-q', '-batch', '-nx', '-iex', 'set auto-load no', '-x', name + '-gdb.py', *commands, './' + name], capture_output=True, text=True)
*answers, run = said.stdout.split('----\n')
assert len(answers) == len(called), (len(answers), len(called), said.stderr[-2000:])
for (one, ids), answer in zip(called.items(), answers):
    places = [int(address, 16) for address in re.findall(r'^Breakpoint \d+ at 0x(\w+)', answer, re.M)]
    at = {symbol for place in places for begin, size, symbol in functions if begin <= place < begin + size}
    assert at == set().union(*(does[id] for id in ids)), (one, at, answer)
    for id in ids:
        fate = re.search(rf', operator {id} of the source\) (.*)', answer)[1]
        assert does[id] or fate == (f'is gone: {fates[id]}' if id in fates else 'is worked into a constant'), (one, fate, fates.get(id))
stopped = re.findall(r'^"?(.*?)"?(?: \+ \d+)? in section \.text', run, re.M)
assert sorted(set(stopped) if loops > 1 else stopped) == sorted(kernels), (stopped, kernels, run[-2000:], said.stderr[-2000:])
print(f'{name}: gdb stops at {sum(1 for id in range(count) if does[id])} of {count} layers, in {len(kernels)} functions, and tells of the others')
END
}

# The same program with and without debug information.
same_bytes() {
  compile "$1" -O2 -Wl,--build-id=none -o without
  compile "$1" -O2 -g -Wl,--build-id=none -o with
  cmp -s with without && fail "$1 has no debug information"
  strip with without
  cmp with without || fail "$1 is another program with debug information"
}

if [[ $what == models ]]; then
  # A small sample; ORIGO_THOROUGH=1: networks that there are kernels for.
  models="resnet8_cifar_i8 resnet8_cifar_f32 mobilenet_v1_025_128_f32 vww_96_f32"
  [[ -n ${ORIGO_THOROUGH-} ]] && models+=" mobilenet_v1_025_128_u8 kws_ref_i8 cifar10_f32 mnist_resnet_f32 yunet_i8 yunet_f32 mcunet_det_i8 age_lite_f32 \
    blazeface_front_f32 mtcnn_pnet_f32 mtcnn_rnet_f32 mnist_lstm_f32 lstm2_unrolled_f32 textcls_wordvec_f32 pose_hourglass_v1_f32"
  for model in $models; do
    [[ -f $ORIGO_MODELS/$model.tflite ]] || fail "there is no $ORIGO_MODELS/$model.tflite"
    name=${model//_/-}
    generate "$ORIGO_MODELS/$model.tflite" "$name" -O2 -g
    runs "$name"
    stops "$name"
    [[ -n ${ORIGO_THOROUGH-} ]] && { same_bytes "$name"; sampled "$name" 150; }
  done
  echo "example_backend: $(wc -w <<<"$models") models are fine"
  exit
fi

join() { "$bin/origin-dump" --join "$1.csv" --kernels="$1.json" "${@:2}" "$1.circle" 2>said || fail "$(<said)"; }

generate "$example/digits.origo" digits $checks
runs digits
for command in layers 'layer stem/bn/mul' 'layer same'; do
  gdb -q -batch -nx -iex 'set auto-load no' -x digits-gdb.py -ex "$command" ./digits 2>/dev/null | sed 's/^/    /;s/ 0x[0-9a-f]*:/ 0x…:/;s,file [^ ]*/,file ,' >>gdb.txt
done
compile digits -O2 -g -o digits
stops digits
same_bytes digits
counted digits 20
[[ $sanitize == ON ]] || browsed digits
compile digits -std=gnu99 -DNET_PROFILE -O1 -o timed
./timed digits.in digits.out 4 >digits.csv || fail "a timed program"
[[ $(grep -c '^[0-4],3,[1-9][0-9]*$' digits.csv) == 5 ]] || fail "not five kernels of three runs behind the first: $(<digits.csv)"
join digits --json >joined.json
for key in synthetic_ns unattributed_ns; do
  grep -qE "\"$key\": ?0\b" joined.json || fail "$key is not 0: $(grep -o "\"$key\":[^,]*" joined.json)"
done
names=$(join digits --by=operator --csv | cut -d, -f2 | xargs)
[[ $names == "name stem stem/bn/mul stem/bn/add stem/relu block/conv block/add block/relu flat classes scores" ]] ||
  fail "the layers are $names"
[[ $(grep -cx '/\* scope block/ \*/' digits.c) == 2 ]] || fail "digits.c does not tell the scopes"
grep -qx '/\* gone 7 RESHAPE same: identity by remove-identity \*/' digits.c || fail "digits.c does not tell what is gone"
without_libraries digits

# The same bytes again, and nothing else in the page.
mkdir first
cp digits.{c,json,layers,weights} digits-gdb.py first
generate "$example/digits.origo" digits -O2
for file in first/*; do cmp "$file" "$(basename "$file")" || fail "another run gives another $file"; done
page=$(<"$example/README.md")
shows() { [[ -n $1 && $page == *"$1"* ]] || fail "docs/example-backend/README.md does not show $1"; }
shows "$(sed 's/^/    /' digits.json)"
shows "$(sed -n '/^\/\* origin 0 /,/^LAYER/s/^/    /p' digits.c)"
shows "$(grep '^/\* near 1 ' digits.c | sed 's/^/    /')"
shows "$(grep '^/\* gone' digits.c | sed 's/^/    /')"
shows "$(head -3 digits.layers | sed 's/^/    /')"
while IFS= read -r line; do [[ $line == *Breakpoint* ]] || shows "$line"; done <gdb.txt

# What the network of the page has none of, with checks of every index; networks of res/ and of this build; integers.
cat >other.origo <<'END'
origo 1
model circle version 0
subgraph @main(%x: f32[1,8,8,2]) -> (%y, %z) {
  %filter: f32[1,3,2,2] = const seed 1 normal 0 0.5
  %a: f32[1,3,7,1] = CONV_2D(%x, %filter) {padding=VALID, stride_h=2, stride_w=1}
  %squares: f32[1,3,7,1] = MUL(%a, %a) {fused_activation_function=RELU6}
  %shape: i32[2] = const [1, 21]
  %flat: f32[1,21] = RESHAPE(%squares, %shape)
  %weights: f32[10,21] = const seed 2 normal 0 2
  %bias: f32[10] = const seed 3 uniform 1 5
  %y: f32[1,10] = FULLY_CONNECTED(%flat, %weights, %bias) {fused_activation_function=RELU6}
  %around: i32[4,2] = const [0, 0, 1, 2, 0, 1, 1, 0]
  %padded: f32[1,11,9,3] = PAD(%x, %around)
  %filter3: f32[1,3,2,6] = const seed 1 normal 0 0.5
  %b: f32[6] = const seed 4 uniform -1 1
  %d: f32[1,5,8,6] = DEPTHWISE_CONV_2D(%padded, %filter3, %b) {padding=VALID, stride_h=2, stride_w=1, depth_multiplier=2, fused_activation_function=RELU}
  %turn: i32[4] = const [0, 3, 1, 2]
  %turned: f32[1,6,5,8] = TRANSPOSE(%d, %turn)
  %e: f32[1,6,5,8] = TANH(%turned)
  %axes: i32[2] = const [1, 3]
  %means: f32[1,5] = MEAN(%e, %axes)
  %column: f32[5,1] = const seed 9 normal 0 1
  %outer: f32[5,5] = SUB(%means, %column)
  %both: f32[5,10] = CONCATENATION(%outer, %outer) {axis=1}
  %z: f32[5,10] = SOFTMAX(%both) {beta=0.5}
}
END
generate other.origo other $checks
runs other
for name in lstm transformer while; do
  generate "$root/res/$name.origo" $name -O1
  runs $name
done
for name in mobilenet_i8 resnet_i8_float_ends; do
  generate "$ORIGO_NETWORKS/$name.tflite" "${name//_/-}" -O1 $checks
  runs "${name//_/-}"
done
"$bin/circle-quantizer" --scheme=int8 --data=random digits.circle quantised.circle >/dev/null 2>said || fail "circle-quantizer: $(<said)"
generate quantised.circle quantised $checks
runs quantised
generate "$root/res/mobilenet_v1.origo" mobilenet -O2
runs mobilenet
[[ $sanitize == ON ]] || sampled mobilenet 30

# Names can be anything; what is generated stays comments, labels and strings.
text=$(<"$example/digits.origo")
for name in image stem/filter stem/bn/mul block/conv scores; do
  text=$(sed -E "s,%$name([^/a-z]),%\"*/ #error $name\\\\n#error */ ?\\?/\\\\\\\\\"\\1,g" <<<"$text")
done
# Those of registers, sections, functions of the program and of libraries, and one that is there twice.
text=$(sed -E 's,%stem([^/a-z]),%"%rax"\1,g; s,%block/add([^/a-z]),%".text"\1,g; s,%flat([^/a-z]),%memcpy\1,g; s,%classes([^/a-z]),%net_run\1,g' <<<"$text")
printf '%s\n' "$text" >hostile.origo
[[ $(grep -c '#error' hostile.origo) -gt 5 ]] || fail "the names are harmless"
generate hostile.origo hostile $checks
runs hostile
stops hostile
nm hostile >symbols
for name in '%rax' .text memcpy net_run; do grep -qF " t layer $name" symbols || fail "there is no layer $name"; done

stops while 20 # ten steps

# refused FILE WORDS: exit status 1 and one line that names the file and has these words, and no output.
refused() {
  rm -f no*
  program/example_backend "$1" no >out.txt 2>said
  [[ $? == 1 && ! -s out.txt && -z $(ls | grep '^no') && $(wc -l <said) == 1 && $(<said) == "$1: "*"$2"* ]] ||
    fail "example_backend should refuse $1 with \"$2\": $(<said)"
}
sed 's/ = RELU(%block/ = SIN(%block/' "$example/digits.origo" >sin.origo
"$bin/circle2circle" -O1 sin.origo sin.circle >/dev/null 2>&1 || fail "circle2circle sin.origo"
refused sin.circle 'operator 3 SIN (from 6 SIN block/relu): there is no kernel for it'
shows "    sin.circle: $(cut -d: -f2- said | sed 's/^ //')"
refused digits.circle.origin.json 'is not a circle model'
refused missing.circle 'No such file'
"$bin/origin-dump" --join digits.csv --kernels=digits.json sin.circle >said 2>&1 && fail "a table of another model is joined"
[[ $(<said) == *stale* ]] || fail "not a line about a stale table: $(<said)"
echo "example_backend: fine"
