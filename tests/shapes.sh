#!/usr/bin/env bash
# Graphs that are each the worst case of something (make-model --list-shapes), small: the written origins are true, and
# rewrites and bytes grow with the operators and not faster. How long it takes is tests/bench/shapes_benchmark.sh's.
# usage: shapes.sh BIN
set -uo pipefail
bin=$(realpath "$1")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

failed=0 shapes=0
fail() { echo "$shape: $*" >&2; failed=1; } # not into what is measured
# "rewrites bytes" of n operators.
measure() { # OPERATORS
  "$bin/make-model" --operators "$1" --shape="$shape" "$work/in.circle" || { fail "is not made"; return; }
  "$bin/circle2circle" $flags --trace="$work/trace" "$work/in.circle" "$work/out.circle" 2>"$work/error" ||
    { fail "is refused: $(cat "$work/error")"; return; }
  "$bin/origin-dump" --check --source "$work/in.circle" "$work/out.circle" >"$work/error" 2>&1 ||
    fail "$1 operators: $(grep -v '^ok' "$work/error" | head -3)"
  # What a run writes, the next one can go on from.
  "$bin/circle2circle" $flags "$work/out.circle" "$work/again.circle" 2>"$work/error" &&
    "$bin/origin-dump" --check --source "$work/in.circle" "$work/again.circle" >"$work/error" 2>&1 ||
    fail "$1 operators, once more: $(grep -v '^ok' "$work/error" | head -3)"
  echo "$(wc -l <"$work/trace") $(stat -c %s "$work/out.circle" "$work/out.circle.origin.json" | awk '{ s += $1 } END { print s }')"
}
while IFS=$'\t' read -r shape divisor flags _; do
  ((++shapes))
  n=$((480 / (divisor > 1 ? 4 : 1)))
  measure $n >"$work/1"
  measure $((2 * n)) >"$work/2"
  measure $((4 * n)) >"$work/4"
  # From 2n to 4n they may grow twice as much as from n to 2n; a number gets a digit more now and then.
  growth=$(cat "$work/1" "$work/2" "$work/4" | awk -v n=$n '
    { r[NR] = $1; s[NR] = $2 }
    END {
      if (NR != 3 || r[3] - r[2] > 2.1 * (r[2] - r[1]) + 8) print "rewrites " r[1] ", " r[2] ", " r[3]
      if (NR != 3 || s[3] - s[2] > 2.3 * (s[2] - s[1]) + 4096) print "bytes " s[1] ", " s[2] ", " s[3]
    }')
  [[ -z $growth ]] || fail "grows faster than its operators: $growth"
done < <("$bin/make-model" --list-shapes)
((shapes >= 12)) || { echo "only $shapes shapes"; failed=1; }
echo "$shapes shapes"
exit $failed
