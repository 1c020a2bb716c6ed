#!/usr/bin/env bash
# o1_benchmark.py with engines that are none: its table and the lines below follow from what they say.
# usage: o1_benchmark_test.sh BIN_DIR
set -euo pipefail
bin=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "o1_benchmark_test.sh: $*" >&2; exit 1; }
mkdir "$work/bin" "$work/models"
ln -s "$(realpath "$bin")/circle2circle" "$work/bin/"
cat >"$work/twice.origo" <<'END'
origo 1
model tflite version 3
subgraph @one(%x: f32[4]) -> (%y) {
  %a: f32[4] = NEG(%x)
  %b: f32[4] = NEG(%a)
  %y: f32[4] = EXP(%b)
}
subgraph @two(%u: f32[4]) -> (%v) {
  %c: f32[4] = NEG(%u)
  %d: f32[4] = NEG(%c)
  %v: f32[4] = TANH(%d)
}
signature "first" @one inputs("x"=%x) outputs("y"=%y)
signature "second" @two inputs("u"=%u) outputs("v"=%v)
END
"$bin/circle2circle" "$work/twice.origo" "$work/models/twice.tflite" 2>"$work/errors"
# Each says its time before and after -O1; the native library runs the subgraph in front alone.
cat >"$work/native" <<END
#!/bin/sh
"$bin/circle2circle" --origin=ignore \$1 $work/seen.origo 2>/dev/null
case \$1 in *made*) when=after;; *) when=before;; esac
cat $work/\$when.\$4.\$(sed -n '/^subgraph @/{s/subgraph @\([a-z]*\).*/\1/p;q}' $work/seen.origo)
END
cat >"$work/bin/session_benchmark" <<END
#!/bin/sh
case \$4 in *made*) when=after;; *) when=before;; esac
cat $work/\$when.\$3
END
chmod +x "$work/native" "$work/bin/session_benchmark"
say() { echo "$2 $2 9" >"$work/$1"; }
say before.0.one 2; say after.0.one 1.5; say before.1.one 2; say after.1.one 2.05; say before.--signature=first 0.5; say after.--signature=first 0.5
say before.0.two 4; say after.0.two 4.5; say after.1.two 6; say before.--signature=second 1
printf 'Page\n<!-- o1 -->\n<!-- end of o1 -->\nend\n' >"$work/page.md"
ROUNDS=6 MOST=7 tests/bench/o1_benchmark.py "$work/bin" "$work/native" "$work/models" "$work/page.md" >"$work/table" || fail "exit status $?"
diff "$work/page.md" - <<'END' || fail "another page"
Page
<!-- o1 -->
| network | operators | plain: ms | ratio | XNNPACK: ms | ratio | Origo: ms | ratio |
|---|---|---|---|---|---|---|---|
| `twice: first` | 6 → 2 | 2.000 → 1.500 | 0.75 | 2.000 → 2.050 | 1.02 | 0.500 → 0.500 | 1.00 |
| `twice: second` | 6 → 2 | 4.000 → 4.500 | 1.12 | refused → 6.000 | - | 1.000 → refused | - |

Time after `-O1` / before, in the geometric mean: plain 0.919 of 2, XNNPACK 1.025 of 1, Origo 1.000 of 1.

Slower by more than 3 % beyond noise: `twice: second` (plain, 1.12, 1.12 to 1.12).

Refused after `-O1` only: twice: second (Origo).
<!-- end of o1 -->
end
END
grep -qF '| `twice: first` | 6 → 2 |' "$work/table" || fail "$(cat "$work/table")"
