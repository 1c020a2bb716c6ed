#!/usr/bin/env bash
# Time, memory and size on graphs that are each the worst case of something (make-model --list-shapes), at 10,000 and at
# 100,000 operators, with origins kept and embedded and the side file written. Everything is to be linear.
# usage: shapes_benchmark.sh BIN_DIR [SHAPE...]
# BIN_DIR holds circle2circle, make-model and measure (a target that is not built by default). RUNS=3 is of how many runs
# the median is taken, SECONDS_EACH=60 of processor time and MIB=4096 are what a run may take. Exit status 1 if a bar is
# missed: TIME=1.5 and SIZE=1.2 are what an operator may take at 100,000 over what it takes at 10,000, MEMORY=1.2 is in KB
# an operator. A shape with a divisor is taken at so many times fewer operators, and its memory is not judged.
set -euo pipefail

bin=$(cd "${1:?usage: shapes_benchmark.sh BIN_DIR [SHAPE...]}" && pwd)
shift
work=$(mktemp -d "${TMPDIR:-/tmp}/origo-bench-XXXXXX")
trap 'rm -rf "$work"' EXIT

median() { sort -g | awk '{ a[NR] = $1 } END { print a[int((NR + 1) / 2)] }'; }
# "seconds KiB bytes" of a run, medians; nothing where it does not come to an end.
run() { # OPERATORS SHAPE FLAGS...
  local n=$1 shape=$2 i
  shift 2
  "$bin/make-model" --operators "$n" --shape="$shape" "$work/in.circle"
  : >"$work/runs"
  for ((i = 0; i < ${RUNS:-3}; ++i)); do
    "$bin/measure" "${SECONDS_EACH:-60}" "${MIB:-4096}" "$bin/circle2circle" "$@" "$work/in.circle" "$work/out.circle" >>"$work/runs" || return 0
  done
  echo "$(awk '{ print $1 }' "$work/runs" | median) $(awk '{ print $2 }' "$work/runs" | median)" \
    "$(stat -c %s "$work/out.circle" "$work/out.circle.origin.json" | awk '{ s += $1 } END { print s }')"
}

form='%-17s %9s %9s %6s %7s %9s %9s %6s  %s\n'
printf "$form" SHAPE "us/op" "us/op" "" "KB/op" "bytes/op" "bytes/op" "" ""
printf "$form" "" 10k 100k RATIO 100k 10k 100k RATIO MISSED
missed=0
while IFS=$'\t' read -r shape divisor flags _; do
  [[ $# == 0 || " $* " == *" $shape "* ]] || continue
  small=$((10000 / divisor)) large=$((100000 / divisor))
  read -ra few <<<"$(run $small "$shape" $flags)"
  read -ra many <<<"$( ((${#few[@]})) && run $large "$shape" $flags)"
  awk -v form="$form" -v shape="$shape" -v n=$small -v m=$large -v divisor="$divisor" -v few="${few[*]-}" -v many="${many[*]-}" \
    -v tbar="${TIME:-1.5}" -v mbar="${MEMORY:-1.2}" -v sbar="${SIZE:-1.2}" '
    function number(format, value) { return value == "" ? "-" : sprintf(format, value) }
    BEGIN {
      hasFew = split(few, a, " "); hasMany = split(many, b, " ")
      if (hasFew) { t = a[1] / n * 1e6; s = a[3] / n }
      if (hasMany) { T = b[1] / m * 1e6; S = b[3] / m; M = b[2] * 1024 / m / 1000; tr = T / t; sr = S / s }
      if (!hasMany) missed = "over the limit"
      else {
        if (tr > tbar) missed = missed " time"
        if (M > mbar && divisor == 1) missed = missed " memory"
        if (sr > sbar) missed = missed " size"
      }
      printf form, shape, number("%.2f", t), number("%.2f", T), number("%.2f", tr), number("%.2f", M), number("%.0f", s), number("%.0f", S), number("%.2f", sr), missed
      exit missed != ""
    }' || missed=1
done < <("$bin/make-model" --list-shapes)
exit $missed
