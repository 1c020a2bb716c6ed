#!/usr/bin/env bash
# A tool that is killed at any moment leaves whole outputs, the side file before the model, or nothing at all.
# usage: kill.sh BIN
set -uo pipefail
bin=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/reference" "$work/out"
cd "$work" || exit 1
"$bin/make-model" --operators 3000 --weights 40000000 --mul in.circle || exit 1
optimise() { exec "$bin/circle2circle" -O1 in.circle "$1/model.circle" --origin-json="$1/model.json"; }
# The shortest of several, because other tests run at the same time.
took=$(for _ in 1 2 3 4; do
  begin=$EPOCHREALTIME
  (optimise reference) || exit 1
  awk -v a="$begin" -v b="$EPOCHREALTIME" 'BEGIN { print b - a }'
done | sort -g | head -1)
runs=${RUNS:-60}

failed=0 unfinished=0
# Whatever there is is whole.
judge() { # WHEN
  local file name
  for file in out/* out/.[!.]*; do
    [[ -e $file ]] || continue
    name=${file#out/}
    if [[ $name != model.circle && $name != model.json ]]; then
      echo "$1: $name is left"
      failed=1
    elif ! cmp -s "$file" "reference/$name"; then
      echo "$1: $name is not whole"
      failed=1
    fi
  done
  [[ ! -e out/model.circle || -e out/model.json ]] || { echo "$1: the model is there before its side file"; failed=1; }
}
for ((i = 1; i <= runs; ++i)); do
  optimise out &
  pid=$!
  sleep "$(awk -v t="$took" -v i=$i -v n=$runs 'BEGIN { print t * i / n }')"
  kill -KILL $pid 2>/dev/null && ((++unfinished))
  wait $pid 2>/dev/null
  judge "kill $i"
  rm -rf out
  mkdir out
done

# Over older outputs there is a moment in which they have a second name; the next run that writes them clears it.
for ((i = 1; i <= runs / 4; ++i)); do
  optimise out &
  pid=$!
  sleep "$(awk -v t="$took" -v i=$i -v n=$runs 'BEGIN { print t * (0.6 + 2 * i / n) }')"
  kill -KILL $pid 2>/dev/null && ((++unfinished))
  wait $pid 2>/dev/null
done
(optimise out)
judge "the run after the kills"
[[ -e out/model.circle ]] || { echo "a run that nobody kills writes nothing"; failed=1; }

((unfinished * 10 >= runs)) || { echo "only $unfinished of the runs were killed in time"; failed=1; }
echo "$unfinished runs were killed"
exit $failed
