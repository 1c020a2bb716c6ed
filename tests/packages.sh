#!/usr/bin/env bash
# Debian packages: cpack makes them, lintian accepts them, twice made they are the same bytes, in two folders too, and on a fresh
# Debian they install and run. Twice and in two folders is a part of them; ORIGO_THOROUGH=1: all, compiled anew.
# usage: packages.sh BUILD
set -euo pipefail
build=$(realpath "$1")
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
chmod 755 "$scratch"
fail() { echo "FAILED: $*"; exit 1; }
for tool in dpkg-shlibdeps lintian mmdebstrap; do
  command -v $tool >/dev/null || fail "$tool is not installed (./setup --install)"
done
export SOURCE_DATE_EPOCH=1700000000

# pack FOLDER OPTION...
pack() {
  local folder=$1
  shift
  mkdir -p "$folder"
  (cd "$folder" && cpack -G DEB --config "$build/CPackConfig.cmake" -B "$folder" "$@" >log 2>&1) || return 1
  rm -rf "$folder/_CPack_Packages"
}
# Quickly packed, as what is tested is what is in them.
contact=(-D "CPACK_PACKAGE_CONTACT=Test of Packages <test-of-packages@debian.org>" -D CPACK_DEBIAN_COMPRESSION_TYPE=gzip)
pack "$scratch/nobody" -D CPACK_PACKAGE_CONTACT=nobody -D CPACK_COMPONENTS_ALL=doc && fail "packages that nobody answers for are made"
grep -q 'Who answers for these packages' "$scratch/nobody/log" || fail "no word of who answers: $(tail -5 "$scratch/nobody/log")"
pack "$scratch/one" "${contact[@]}" || fail "cpack: $(tail -5 "$scratch/one/log")"
packages=("$scratch"/one/*.deb)
names=$(for package in "${packages[@]}"; do dpkg-deb -f "$package" Package; done | sort | tr '\n' ' ')
version=$(sed -nE 's/^project\(origo VERSION ([0-9.]+).*/\1/p' "$root/CMakeLists.txt")
expected="liborigo-dev liborigooriginreader${version%.*} origo origo-doc "
compgen -G "$build/python/origo/_native*.so" >/dev/null && expected+="python3-origo "
[[ $names == "$expected" ]] || fail "the packages are $names, not $expected"

dpkg-deb -f "$scratch"/one/origo_*.deb Depends | grep -q libpcre2-8-0 || fail "origo does not ask for the library that searches names"

# What pages link to is installed.
dpkg-deb -x "$scratch"/one/origo-doc_*.deb "$scratch/doc"
links=0
while IFS=: read -r page link; do
  link=${link#??} link=${link%%[#)]*} target=${page%/*}/$link
  [[ -z $link || -e $target || -L $target ]] || fail "${page##*/} links to $link, which is not installed"
  links=$((links + 1))
done < <(grep -roE '\]\([^): ]+\)' --include='*.md' "$scratch/doc/usr/share/doc/origo")
((links > 100)) || fail "only $links links"

lintian --allow-root --fail-on=error,warning "${packages[@]}" || fail "lintian, see above"

# Big ones take long.
again=(-D "CPACK_COMPONENTS_ALL=library;dev;doc")
[[ -z ${ORIGO_THOROUGH-} ]] || again=()
pack "$scratch/two" "${contact[@]}" "${again[@]}" || fail "cpack: $(tail -5 "$scratch/two/log")"
made=0
for package in "$scratch"/two/*.deb; do
  cmp "$package" "$scratch/one/${package##*/}" || fail "made twice, ${package##*/} differs"
  made=$((made + 1))
done
((made >= 3)) || fail "only $made packages were made twice"

# In two folders, at two times, as docs/packages.md says to: a part, or all of it.
targets=(origo-reader) part=(-D CPACK_COMPONENTS_ALL=doc)
[[ -z ${ORIGO_THOROUGH-} ]] || targets=(command_lines help_pages origin_reader) part=()
[[ -z ${ORIGO_THOROUGH-} || $expected != *python3-origo* ]] || targets+=(origo_native)
for folder in "$scratch/here" "$scratch/somewhere/else"; do
  mkdir -p "$folder"
  tar -C "$root" --exclude=./build --exclude=./.git -c . | tar -x -C "$folder"
  (cd "$folder" && cmake --preset release -DCCACHE=NO && cmake --build build --target "${targets[@]}") >"$scratch/log" 2>&1 ||
    fail "$(tail -5 "$scratch/log")"
  (build=$folder/build && pack "$folder/made" "${contact[@]}" "${part[@]}") || fail "cpack: $(tail -5 "$folder/made/log")"
done
cmp "$scratch/here/build/bin/origo-reader" "$scratch/somewhere/else/build/bin/origo-reader" || fail "built in two folders, origo-reader differs"
folders=0
for package in "$scratch"/here/made/*.deb; do
  cmp "$package" "$scratch/somewhere/else/made/${package##*/}" || fail "made in two folders, ${package##*/} differs"
  folders=$((folders + 1))
done
((folders == $([[ -z ${ORIGO_THOROUGH-} ]] && echo 1 || wc -w <<<"$expected"))) || fail "$folders packages were made in two folders"

# A fresh Debian, with what is in the packages and what they ask for.
cat >"$scratch/inside" <<'INSIDE'
set -eu
cd /tmp
origo --version
origo optimize --no-run /usr/share/doc/origo/res/while.origo while.tflite
origo check while.tflite
test -e /usr/share/man/man1/circle2circle.1.gz
test -e /usr/share/man/man1/one-optimize.1.gz
test -e /usr/share/bash-completion/completions/one-optimize
cd /usr/share/doc/origo
origin-dump --join tests/profiles/benchmark.csv /tmp/while.tflite >/tmp/joined
cd /tmp
test -e /usr/include/origo/origin/origin_reader.h
ldconfig -p | grep -q libOrigoOriginReader.so
INSIDE
[[ $expected != *python3-origo* ]] || cat >>"$scratch/inside" <<'INSIDE'
python3 - <<'PY'
import numpy, origo
net = origo.load("/tmp/while.tflite")
assert net.check() == []
assert all(numpy.isfinite(a).all() for a in net.run(numpy.zeros((1, 8), "float32")).values())
PY
INSIDE
echo 'echo all of it works' >>"$scratch/inside"
status=0
said=$(timeout 400 mmdebstrap --variant=apt --dpkgopt=force-unsafe-io --customize-hook='chroot "$1" apt-get update -q && echo a fresh Debian is there' \
  --customize-hook="mkdir \"\$1/packages\" && cp $scratch/one/*.deb $scratch/inside \"\$1/packages\"" \
  --customize-hook='chroot "$1" sh -c "apt-get install -y --no-install-recommends /packages/*.deb"' \
  --customize-hook='chroot "$1" sh /packages/inside' \
  --customize-hook='chroot "$1" sh -c "apt-get remove -y origo && ! command -v origo"' \
  bookworm /dev/null 2>&1) || status=$?
grep -q 'a fresh Debian is there' <<<"$said" || fail "mmdebstrap cannot make a Debian here: $(tail -1 <<<"$said")"
((status != 124)) || fail "a fresh Debian takes more than 400 seconds to come"
((status == 0)) || fail "on a fresh Debian: $(tail -15 <<<"$said")"
grep -q 'all of it works' <<<"$said" || fail "on a fresh Debian: $(tail -15 <<<"$said")"
echo "packages: $names are accepted, made twice the same ($made in one folder, $folders in two), and run on a fresh Debian"
