#!/usr/bin/env bash
# A bounded, seeded run of circle-fuzz.
# usage: random.sh BIN      ORIGO_THOROUGH=1 in the environment checks many more
set -uo pipefail
bin=$(realpath "$1")
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
graphs=400 operators=4000
# Sanitizers take ten times as long, and see what is the same in all graphs in few of them.
grep -qa __asan_init "$bin/circle-fuzz" && graphs=50 operators=500
[[ ${ORIGO_THOROUGH-0} != 0 ]] && graphs=20000 operators=200000
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
# Does the checker accept what the runs that the model names make of it, one behind the other?
runs_hold() {
  local at=$1 number=0 flags
  while read -r flags; do
    "$bin/circle2circle" $flags "$at" "$scratch/$((++number)).circle" 2>/dev/null || return 1
    at=$scratch/$number.circle
  done < <(sed -n 's,^// run ,,p' "$1")
  ((number == 0)) || "$bin/origin-dump" --check --source "$1" "$at" >/dev/null
}
# What was found and mended stays so, with the passes and inputs that the seed chose then.
for model in "$here"/mended/*.origo; do
  runs_hold "$model" || { echo "FAILED: again: $model"; exit 1; }
  seed=$(sed -n 's,^// seed ,,p' "$model")
  "$bin/circle-fuzz" --seed="${seed:-1}" --check "$model" >/dev/null 2>&1 || { echo "FAILED: again: $model"; exit 1; }
done
said=$("$bin/circle-fuzz" --graphs=$graphs --operators=$operators 2>&1)
status=$?
((status == 0 || status == 2)) || { echo "$said"; exit 1; }
grep -E '^(graphs|operators): ' <<<"$said" | sed 's/^/models: random /'
if ((status == 2)); then
  grep -E '^(graph|operator)-[0-9]+: ' <<<"$said"
  echo "FAILED: make the model small: circle-fuzz --graphs=1 --operators=1 --seed=N --keep=DIR, then circle-reduce --help"
  exit 1
fi
# Random models have to compute something, or nothing is compared.
awk '/^graphs: /{ if ($5 < $2 * 0.8) exit 1 } /^operators: /{ if ($5 < $2 * 0.4) exit 1 }' <<<"$said" ||
  { echo "FAILED: too few of them run"; exit 1; }
