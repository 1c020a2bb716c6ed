#!/usr/bin/env bash
# Installs Origo, builds this folder's project against what was installed and nothing else, and compares what its
# programs read with the side file.
# usage: run.sh BUILD C CXX SANITIZE samples   installs and builds, then the networks of res/, errors, and hostile bytes
#        run.sh BUILD C CXX SANITIZE networks|models    smaller models, with what `samples` has built
set -uo pipefail
build=$1 c=$2 cxx=$3 sanitize=$4 what=$5
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
top=$build/consumer
# Installed trees are moved; so is this one.
prefix=$top/moved
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

fail() { echo "FAILED $*"; exit 1; }

install_and_build() {
  rm -rf "$top"
  mkdir -p "$top"
  cmake --install "$build" --prefix "$top/installed" >"$top/install.log" 2>&1 || fail "$(cat "$top/install.log")"
  mv "$top/installed" "$prefix"
  local flags= cache=
  command -v ccache >/dev/null && cache="-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache"
  [[ $sanitize == ON ]] && flags=-fsanitize=address,undefined
  cmake -S "$here" -B "$top/build" -G Ninja -DCMAKE_BUILD_TYPE=Debug -DCMAKE_PREFIX_PATH="$prefix" \
    -DCMAKE_C_COMPILER="$c" -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_CXX_FLAGS="$flags" $cache >"$top/configure.log" 2>&1 ||
    fail "$(cat "$top/configure.log")"
  cmake --build "$top/build" >"$top/build.log" 2>&1 || fail "$(cat "$top/build.log")"
  grep -rlE 'llvm|flatbuffers|nlohmann' "$prefix/include" "$(dirname "$(find "$prefix" -name OrigoConfig.cmake)")" && fail "the installed headers and CMake files know LLVM"
  local needed
  needed=$(readelf -d "$(find "$prefix" -name libOrigoOriginReader.so)" | sed -nE 's/.*NEEDED.*\[(.*)\]/\1/p' |
    grep -vE '^(libstdc\+\+|libc|libm|libz|libgcc_s|ld-linux.*|lib(cl)?[au]b?san)\.') && fail "the library needs $needed"
  needed=$(nm -DC --defined-only "$(find "$prefix" -name libOrigoOriginReader.so)" | grep -E ' [TtWV] (llvm|flatbuffers|nlohmann)::') &&
    fail "the library shows ${needed:0:300}"
  # Sanitizers have symbols of their own.
  [[ $sanitize == ON ]] || promised
  with_pkg_config "$flags"
}

# What programs that are linked with it rely on: origin/reader/symbols, by the soname that they ask for.
# ORIGO_BLESS=1 in the environment writes the list anew.
promised() {
  local list=$root/origin/reader/symbols library
  library=$(find "$prefix" -name libOrigoOriginReader.so)
  {
    readelf -d "$library" | sed -nE 's/.*SONAME.*\[(.*)\]/\1/p'
    nm -D --defined-only --format=posix "$library" | cut -d' ' -f1 | LC_ALL=C sort
  } >"$scratch/symbols"
  [[ -z ${ORIGO_BLESS-} ]] || cp "$scratch/symbols" "$list"
  cmp -s "$scratch/symbols" "$list" ||
    fail "the library shows other symbols than origin/reader/symbols; one that is gone or changed needs another minor version" \
      "(docs/reading-origins.md): $(diff "$list" "$scratch/symbols")"
}

# The same two programs without CMake.
with_pkg_config() {
  local flags=$1 words
  command -v pkg-config >/dev/null || fail "there is no pkg-config: ./setup --install"
  export PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name origo.pc)")
  [[ $(pkg-config --modversion origo) == "$(sed -nE 's/^project\(origo VERSION ([0-9.]+).*/\1/p' "$root/CMakeLists.txt")" ]] || fail "pkg-config tells another version"
  words=$(sed -n 's/^    \$ c++ \(.* generate\.cpp .*\)/\1/p' "$root/docs/reading-origins.md")
  [[ -n $words ]] || fail "docs/reading-origins.md shows no command for C++ without CMake"
  (cp "$here/generate.cpp" "$top" && cd "$top" && eval "$cxx $flags $words") || fail "pkg-config: the C++ program does not build"
  # shellcheck disable=SC2046
  "$c" -std=c99 $flags -o "$top/generate_c" "$here/generate.c" $(pkg-config --cflags origo) -lz || fail "pkg-config: the C program does not build"
  "$prefix/bin/circle2circle" -O1 "$root/res/while.origo" "$scratch/with.circle" 2>/dev/null
  local program
  for program in generate generate_c; do
    same <("$top/$program" "$scratch/with.circle") <("$programs/$program" "$scratch/with.circle") "$program by pkg-config"
    "$top/$program" "$scratch/with.circle" | grep -q . || fail "$program prints nothing"
  done
}

programs=$top/build
# facts PROGRAM FILE TO: the lines that the program reads.
facts() { "$programs/$1" "$2" >"$3" 2>"$scratch/said" || fail "$1 $2: $(head -c 300 "$scratch/said")"; }
same() { cmp -s "$1" "$2" || fail "$3: $(diff "$1" "$2" | head -5)"; }

models=0 operators=0 origins=0 relations=0 scopes=0 signatures=0 ledger=0 refused=0
# Optimises a model and compares all readers.
compare() {
  local name=$(basename "$1") out=$scratch/model.circle
  rm -f "$out"*
  if ! "$prefix/bin/circle2circle" -O1 "$1" "$out" >/dev/null 2>"$scratch/said"; then
    refused=$((refused + 1))
    return
  fi
  facts facts_cpp "$out" "$scratch/cpp"
  facts facts_cpp "$out.origin.json" "$scratch/side"
  facts facts_c "$out" "$scratch/c"
  facts facts_c_as_cpp "$out" "$scratch/c_as_cpp"
  "$prefix/bin/origin-dump" --json "$out" >"$scratch/dump.json" || fail "$name: origin-dump --json"
  "$build/bin/json_facts" "$scratch/dump.json" >"$scratch/json" || fail "$name: json_facts"
  "$build/bin/json_facts" "$out.origin.json" >"$scratch/written" || fail "$name: json_facts"
  same "$scratch/written" "$scratch/json" "$name: side file, origin-dump --json"
  same "$scratch/json" "$scratch/cpp" "$name: origin-dump --json, C++"
  same "$scratch/json" "$scratch/side" "$name: origin-dump --json, C++ with the side file alone"
  same "$scratch/json" "$scratch/c" "$name: origin-dump --json, C"
  same "$scratch/json" "$scratch/c_as_cpp" "$name: origin-dump --json, C as C++"
  models=$((models + 1))
  operators=$((operators + $(grep -c '^operator ' "$scratch/json")))
  origins=$((origins + $(grep -cE '^operator [0-9:]+ origins [0-9]' "$scratch/json")))
  relations=$((relations + $(grep -c '^  is ' "$scratch/json")))
  scopes=$((scopes + $(grep -cE '^source operator .* scopes "[^"]' "$scratch/json")))
  signatures=$((signatures + $(grep -c '^signature ' "$scratch/json")))
  ledger=$((ledger + $(grep -c '^gone ' "$scratch/json")))
}
counts() {
  echo "models: $models read alike by C++, C and JSON, $refused refused; $operators operators, $origins with origins," \
    "$relations relations, $scopes with scopes, $signatures signatures, $ledger ledger rows"
  ((models > $1 && origins > 0 && origins <= operators && relations > 0 && scopes > 0 && signatures >= $2 && ledger > 0)) || fail "that is too few"
}

# refuses PROGRAM FILE WORDS: exit status 1 and one line that names the file and has these words.
refuses() {
  "$programs/$1" "$2" >"$scratch/out" 2>"$scratch/said"
  [[ $? == 1 && ! -s $scratch/out && $(wc -l <"$scratch/said") == 1 && $(<"$scratch/said") == *"$2: "*"$3"* ]] ||
    fail "$1 should refuse $2 with \"$3\": $(head -c 300 "$scratch/said")"
}

errors() {
  local to=$scratch/errors
  mkdir "$to"
  optimise() { "$prefix/bin/circle2circle" -O1 "$@" >/dev/null || fail "circle2circle $*"; }
  optimise "$root/res/while.origo" "$to/full.circle"
  optimise --embed-origin=ids "$root/res/while.origo" "$to/ids.circle"
  optimise --embed-origin=none "$root/res/while.origo" "$to/none.circle"

  # Names come from the side file, if it is about the same source.
  facts facts_cpp "$to/full.circle" "$to/full.facts"
  facts facts_cpp "$to/ids.circle" "$to/ids.facts"
  same "$to/full.facts" "$to/ids.facts" "names from the side file"
  facts facts_cpp "$to/none.circle" "$to/none.facts"
  same "$to/full.facts" "$to/none.facts" "the map from the side file"
  sed -E '/^(source|signature) /s/"[^"]*"/""/g' "$to/full.facts" >"$to/nameless.facts"
  facts facts_c "$to/ids.circle" "$to/ids.facts"
  same "$to/nameless.facts" "$to/ids.facts" "C without names"
  sed 's/"fingerprint": "sha256:..../"fingerprint": "sha256:0000/' "$to/ids.circle.origin.json" >"$to/other.json"
  mv "$to/other.json" "$to/ids.circle.origin.json"
  facts facts_cpp "$to/ids.circle" "$to/ids.facts"
  same "$to/nameless.facts" "$to/ids.facts" "names of another source"

  cp "$to/ids.circle.origin.json" "$to/none.circle.origin.json"
  refuses facts_cpp "$to/none.circle" "stale origin map"
  rm "$to/none.circle.origin.json"
  refuses facts_cpp "$to/none.circle" "carries no origin map, and there is no $to/none.circle.origin.json"
  refuses facts_c "$to/none.circle" "carries no origin map"
  sed 's/ORGM/ORGX/' "$to/full.circle" >"$to/damaged.circle"
  refuses facts_cpp "$to/damaged.circle" "damaged origin map"
  refuses facts_c "$to/damaged.circle" "damaged origin map"
  refuses facts_cpp "$to/nothing.circle" "No such file"
  refuses facts_c "$to/nothing.circle" "cannot be read"
  refuses facts_cpp "$root/README.md" "neither a circle nor a tflite model"
  refuses facts_c "$root/README.md" "neither a circle nor a tflite model"

  # What the page shows is what is compiled here, and what that prints.
  local page program source
  page=$(<"$root/docs/reading-origins.md")
  for source in generate.cpp generate.c names.c; do
    [[ $page == *"$(<"$here/$source")"* ]] || fail "docs/reading-origins.md shows another $source"
  done
  # Without CMake.
  "$c" -std=c99 -Wall -Wextra -Werror -I "$prefix/include/origo" "$here/names.c" -lz -o "$programs/names" || fail "names.c does not compile"
  for program in generate generate_c names; do
    "$programs/$program" "$to/full.circle" >"$to/printed" || fail "$program: exit status $?"
    (($(wc -l <"$to/printed") >= 5)) || fail "$program prints too little"
    [[ $page == *"\$ $program while.circle"$'\n'"$(sed 's/^/    /' "$to/printed")"* ]] ||
      fail "docs/reading-origins.md shows another output of $program than $(<"$to/printed")"
  done
  # What was written before maps were deflated is read as ever.
  local old
  for old in full ids; do
    cp "$root/tests/regressions/origins/while_$old.circle" "$to/old_$old.circle"
    for program in facts_c facts_c_as_cpp facts_cpp; do
      facts $program "$to/old_$old.circle" "$to/old.facts"
      same "$root/tests/regressions/origins/while_$old.facts" "$to/old.facts" "$program of a map that is not deflated"
    done
    "$programs/hostile" "$to/old_$old.circle" || fail "hostile, old: exit status $?"
  done
  "$programs/hostile" "$to/full.circle" || fail "hostile: exit status $?"
}

# Programs that have chosen a locale read the same: in these a number ends with what is a comma elsewhere, and i has no I.
locales() {
  local out=$scratch/with.circle name program locale
  "$root/tests/locales.sh" "$scratch/locales" || fail "no locales"
  printf '%s\n' '#include "origin/origin_reader.h"' '#include <locale.h>' 'int main(void) {' \
    '  const char text[] = "-1.25e-3,null", *end;' \
    '  return !setlocale(LC_ALL, "") || origo__double(text, &end) != -1.25e-3 || *end != 44;' '}' >"$scratch/number.c"
  "$c" -std=c99 -Wall -Wextra -Werror -I "$prefix/include/origo" "$scratch/number.c" -lz -o "$scratch/number" || fail "number.c does not compile"
  LOCPATH=$scratch/locales LC_ALL=de_DE.UTF-8 "$scratch/number" || fail "a fraction is read by the locale"
  for name in resnet_preact while; do
    "$prefix/bin/circle2circle" -O1 "$root/res/$name.origo" "$out" 2>/dev/null
    for program in facts_c facts_c_as_cpp facts_cpp; do
      facts $program "$out" "$scratch/plain"
      for locale in de_DE tr_TR; do
        LOCPATH=$scratch/locales LC_ALL=$locale.UTF-8 "$programs/$program" "$out" >"$scratch/local" || fail "$program of $name under $locale"
        # What the program prints is its own.
        sed -i -E 's/ number (-?[0-9]+),/ number \1./g' "$scratch/local"
        same "$scratch/plain" "$scratch/local" "$program of $name under $locale"
      done
    done
  done
}

# Installed pages link to what is installed.
check_links() {
  local page target links=0
  while IFS= read -r page; do
    while IFS= read -r target; do
      [[ $target == http* || $target == Match ]] && continue # CONTRIBUTING.md's C++ has a lambda
      [[ -e $(dirname "$page")/$target ]] || fail "$page links to $target, which is not installed"
      links=$((links + 1))
    done < <(grep -oE '\]\([^)# ]+' "$page" | sed 's/^](//')
  done < <(find "$prefix/share/doc" -name '*.md')
  ((links > 60)) || fail "the installed pages have only $links links"
}

case $what in
samples)
  install_and_build
  check_links
  for file in "$root"/res/*.origo; do compare "$file"; done
  counts 4 0
  locales
  errors
  ;;
networks | models)
  source "$root/tests/folder.sh"
  folder=$(folder_of "$what") || exit 1
  # Larger ones say nothing new here.
  while IFS= read -r file; do compare "$file"; done < <(find "$folder" -maxdepth 1 -name '*.tflite' -size -512k | sort)
  counts 10 1
  ;;
*) fail "samples, networks or models?" ;;
esac
