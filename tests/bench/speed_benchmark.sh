#!/usr/bin/env bash
# How fast networks run here and in the native TFLite, each engine alone in a process of its own, in turn.
# usage: speed_benchmark.sh BIN_DIR MODELS_DIR NATIVE [ORACLE_DIR]
#   BIN_DIR      has circle-interpreter, circle2circle, circle-metrics and measure, built for release
#   NATIVE       native_tflite, as tests/runtimes/native.sh builds it (TFLite 2.9 with XNNPACK; the better of its modes)
#   ORACLE_DIR   tflite-oracle.mjs with its packages, as the test `runtime` leaves it in build/test/oracle (LiteRT as WebAssembly with XNNPACK):
#                one more column
# A round runs one engine, then the other, and gives one ratio. There are rounds until the interval in which the median of such ratios
# lies with 95 % (between two of them, by the binomial distribution: bursts of others' work count as rounds, not by how long they are) is
# less than 3 % wide: at least ROUNDS=7, and at most MOST=ROUNDS*8, where the network is named as measured too coarsely. Of a round counts
# the MEASURE=median of its runs; on a machine that others use, MEASURE=least.
# THREADS=1, OPTIMISE=1 (both engines get what circle2circle -O1 makes of the file; how many times faster it is than the file as it is,
# on each of them, is in two more columns), SECONDS_EACH=0.5 (an engine in a
# round), LEAST=5000000 (multiply-adds of a network), ONLY=yunet (a part of the names).
# "first" is the processor time that it takes to load, compile and run once, "MiB" the memory: each the least of FIRSTS=25, or of as many
# as four seconds have room for, beyond those of the same program (and the same mode of it) on SMALL, a model of one operator; all in turn.
set -uo pipefail
usage="usage: speed_benchmark.sh BIN_DIR MODELS_DIR NATIVE [ORACLE_DIR]"
bin=${1:?$usage} models=${2:?$usage} native=${3:?$usage} oracle=${4:-}
rounds=${ROUNDS:-7} seconds=${SECONDS_EACH:-0.5} threads=${THREADS:-1} least=${LEAST:-5000000} measure=${MEASURE:-median}
most=${MOST:-$((rounds * 8))}
work=$(mktemp -d "${TMPDIR:-/tmp}/origo-speed-XXXXXX")
trap 'rm -rf "$work"' EXIT
[[ $measure == median || $measure == least ]] || { echo "speed_benchmark.sh: MEASURE is median or least" >&2; exit 1; }

# Each prints a time in ms, or nothing. RUNS: about as many as fit into a round.
ours() { # MODEL RUNS
  timeout 300 "$bin/circle-interpreter" --engine=fast "--threads=$threads" --seed=1 "--runs=$2" "$1" 2>/dev/null |
    sed -nE "s/^[0-9]+ runs: median ([0-9.]+) ms.* all from ([0-9.]+) to.*/\\$([[ $measure == median ]] && echo 1 || echo 2)/p"
}
tflite() { # MODEL MODE SECONDS
  timeout 300 "$native" "$1" "$threads" "$3" "$2" 2>/dev/null |
    awk -v column="$([[ $measure == median ]] && echo 2 || echo 1)" 'NF == 3 && $3 > 0 { time = $column } END { if (time) print time }'
}
# The delegate's own mode is refused where an operator is not XNNPACK's alone. In turn, so that a burst of others' work does not decide.
bestMode() { # MODEL
  for mode in 0 1 0 1 0 1; do time=$(tflite "$1" $mode 0.2); [[ -n $time ]] && echo "$time $mode"; done | sort -n | head -1 | cut -d' ' -f2
}
litert() { # MODEL RUNS
  timeout 300 node --no-liftoff "$oracle/tflite-oracle.mjs" "$1" --seed 1 --kernels xnnpack --repeat "$2" 2>/dev/null |
    sed -n 's/.*"median_ms":\([0-9.]*\).*/\1/p'
}
# Seconds of processor time of whole processes and KiB, beyond those on the small model: here and native.
first() { # MODEL MODE
  local began=$SECONDS
  for ((i = 0; i < ${FIRSTS:-25} && (i < 3 || SECONDS - began < 4); ++i)); do
    for one in "$small" "$1"; do
      "$bin/measure" 300 16000 "$bin/circle-interpreter" --engine=fast "--threads=$threads" --seed=1 "$one"
      "$bin/measure" 300 16000 "$native" "$one" "$threads" 0 "$2"
    done | tr '\n' ' '
    echo
  done | awk 'NF == 8 { for (i = 1; i <= 8; ++i) if (!least[i] || $i < least[i]) least[i] = $i }
    END { for (i = 1; i <= 4; ++i) print least[4 + i] - least[i] }' | tr '\n' ' '
}
# The ends of the interval.
interval() {
  awk '{ print $2 / $1 }' "$work/times" | sort -g | awk '{ ratio[NR] = $1 }
    END { term = below = 2 ^ -NR # how likely it is that so few rounds are below the median
      for (low = 1; (below += term *= (NR + 1 - low) / low) <= 0.025; ++low);
      print ratio[low], ratio[NR + 1 - low] }'
}
small=${SMALL:-$models/mini/add.tflite}

for model in "$models"/*"${ONLY-}"*.tflite; do
  name=$(basename "$model" .tflite)
  work_=$("$bin/circle-metrics" "$model" 2>/dev/null | awk '$1 == "macs" { print $2; exit }')
  [[ -n $work_ && $work_ -lt $least ]] && continue
  asIs=$model
  if [[ ${OPTIMISE:-} == 1 ]]; then
    model=$work/$name.tflite
    "$bin/circle2circle" -O1 --no-origin-json "$asIs" "$model" >/dev/null 2>&1 || { echo "$name: left out: -O1 fails" >&2; continue; }
  fi
  once=$(ours "$model" 3)
  [[ -n $once ]] || { echo "$name: left out: does not run here" >&2; continue; }
  best=$(bestMode "$model")
  [[ -n $best ]] || { echo "$name: left out: the native runtime does not run it" >&2; continue; }
  # So small a network measures the call, and so large a one nothing else.
  runs=$(awk -v ms="$once" -v s="$seconds" 'BEGIN { n = int(s * 1000 / (ms + 0.001)); print (n < 3 ? 3 : n > 20000 ? 20000 : n) }')
  : >"$work/times"
  [[ $asIs == "$model" ]] && bestAsIs= || bestAsIs=$(bestMode "$asIs")
  for ((round = 0; round < most; ++round)); do
    ((round >= rounds)) && [[ -s $work/times ]] && interval | awk '{ exit !($2 < 1.03 * $1) }' && break
    times="$(ours "$model" "$runs") $(tflite "$model" "$best" "$seconds")"
    [[ $asIs == "$model" ]] || times+=" $(ours "$asIs" "$runs") $(tflite "$asIs" "$bestAsIs" "$seconds")"
    # A round in which an engine says nothing is none.
    [[ $(wc -w <<<"$times") == $([[ $asIs == "$model" ]] && echo 2 || echo 4) ]] && echo "$times" >>"$work/times"
  done
  [[ -s $work/times ]] || { echo "$name: left out: an engine ends before its time" >&2; continue; }
  web=-
  [[ -n $oracle ]] && web=$(litert "$model" "$runs" | grep . || echo -)
  echo "$name $best $(first "$model" "$best") $web $(interval) $(tr '\n' ' ' <"$work/times")"
done | python3 -c '
import math, statistics, sys
worth = sys.argv[1] == "1"
web_head = " LiteRT, WebAssembly: ms |" if sys.argv[2] else ""
print("| network | ms | native: ms | native / here | interval | first, ms: here, native | MiB: here, native |" + web_head
      + (" as it is / -O1: here | native |" if worth else ""))
print("|" + "---|" * (7 + bool(web_head) + 2 * worth))
all_, delegate, below, coarse, worths = [], [], [], [], ([], [])
for line in sys.stdin:
    name, mode, first, memory, native_first, native_memory, web, low, high, *times = line.split()
    times = list(map(float, times))
    each = 4 if worth else 2
    pairs = list(zip(times[::each], times[1::each]))
    more = ""
    for engine in (0, 1) if worth else ():
        log = statistics.median(math.log(b / a) for a, b in zip(times[engine::4], times[2 + engine::4]))
        worths[engine].append(log)
        more += " %.2f |" % math.exp(log)
    low, high = float(low), float(high)
    ratio = math.exp(statistics.median(math.log(b / a) for a, b in pairs))
    all_.append(math.log(ratio))
    if mode == "1": delegate.append(math.log(ratio))
    if high < 1: below.append(name)
    if high >= 1.03 * low: coarse.append(name)
    mib = lambda kib: max(0, float(kib)) / 1024
    print("| `%s` | %.3f | %.3f | %.2f | %.2f–%.2f | %.1f, %.1f | %.1f, %.1f |%s" % (
        name, statistics.median(a for a, _ in pairs), statistics.median(b for _, b in pairs), ratio,
        low, high, float(first) * 1e3, float(native_first) * 1e3, mib(memory), mib(native_memory), (" %s |" % web if web_head else "") + more))
mean = lambda logs: math.exp(statistics.mean(logs))
print()
if all_: print("native / here, geometric mean of %d: %.2f" % (len(all_), mean(all_)))
if delegate: print("of %d that the delegate runs best: %.2f" % (len(delegate), mean(delegate)))
print("below 1: " + (", ".join(below) or "none"))
if coarse: print("more than 3 % wide: " + ", ".join(coarse))
if worths[0]: print("as it is / -O1, geometric mean: here %.2f, native %.2f" % (mean(worths[0]), mean(worths[1])))
' "${OPTIMISE:-}" "$oracle"
