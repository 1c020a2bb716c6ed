#!/usr/bin/env bash
# Lies about origins that do not compile: each marked line of does_not_compile.cpp is an error with the text that is said
# there, no other line is one, and without the marked lines the file compiles.
# usage: does_not_compile.sh CXX INCLUDE…
set -uo pipefail
cxx=$1
shift
file=$(dirname "${BASH_SOURCE[0]}")/does_not_compile.cpp
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fail() { echo "FAILED: $*"; exit 1; }

includes=()
for folder; do includes+=(-I "$folder"); done
compile() { LC_ALL=C "$cxx" -std=c++20 -w -fsyntax-only "${includes[@]}" "$@" "$file"; }
limit=-fmax-errors=0
"$cxx" --version | grep -q clang && limit=-ferror-limit=0

compile -DLIES "$limit" >"$scratch/lies" 2>&1 & lies=$!
compile >"$scratch/honest" 2>&1 || fail "the honest part does not compile: $(<"$scratch/honest")"
wait $lies && fail "the lies compile"

# LINE TEXT of each error in the file itself.
sed -nE 's/^[^ ]*does_not_compile\.cpp:([0-9]+):[0-9]+: error: (.*)/\1 \2/p' "$scratch/lies" >"$scratch/said"
marked=0
while IFS=: read -r line text; do
  expected=${text##*// error: }
  grep -E "^$line " "$scratch/said" | grep -qE -- "$expected" ||
    fail "line $line, $text: no error with '$expected' but: $(grep "^$line " "$scratch/said")"
  marked=$((marked + 1))
done < <(grep -nE '// error: ' "$file" | grep -v '///')
((marked >= 25)) || fail "only $marked lies"
while read -r line text; do
  sed -n "${line}p" "$file" | grep -q '// error: ' || fail "line $line is an error too: $text"
done <"$scratch/said"
echo "liars: $marked lies do not compile"
