#!/usr/bin/env bash
# circle-fuzz beside a runtime that ends itself, or refuses: a finding where it ran the source and does so on what was made of it, and
# none where it does not take the source either.
# usage: ending.sh BIN LIBRARY
library=$(realpath "$2")
. "$(dirname "${BASH_SOURCE[0]}")/../command_line.sh" "$1"
cat >relu.origo <<'END'
origo 1
model circle version 0
subgraph @main(%x: f32[1,8]) -> (%y) {
  %y: f32[1,8] = RELU(%x)
}
END
# HOW: what circle-fuzz says of the model for each of some seeds, which choose the scheme that it is quantised in.
said() {
  for seed in {1..14}; do
    ORIGO_RUNTIME=$1 circle-fuzz --native="$library" --seed="$seed" --check relu.origo 2>&1
    case $? in 0 | 2) ;; *) fail "$1, seed $seed: exit status $?" ;; esac
  done
}
[[ $(said "" | sort -u) == "no finding" ]] || fail "of a sound runtime: $(said "" | sort | uniq -c)"
for how in abort fault; do
  said $how >log
  grep -q '^the native runtime runs the source, and ends itself on the result$' log && grep -q '^no finding$' log || fail "$how: $(sort log | uniq -c)"
done
said refuse >log
grep -q '^the native runtime runs the source and refuses the result: does not prepare (quantised: int8' log || fail "refuse: $(sort log | uniq -c)"
for how in always-abort always-refuse; do
  [[ $(said $how | sort -u) == "no finding" ]] || fail "$how: $(said $how | sort | uniq -c)"
done
# Random graphs hold much that it computes wrongly or ends on; none of the latter is a finding where it is in the source.
ORIGO_RUNTIME=always-abort circle-fuzz --graphs=20 --native="$library" >log 2>&1 || fail "$(<log)"
grep -q 'graphs: 20, .* 0 findings' log || fail "$(<log)"
echo "passed"
