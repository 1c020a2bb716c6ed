#!/bin/sh
# Manual pages and completion of all command lines, as they are installed.
# usage: help_pages.sh ORIGO DIRECTORY   writes man1/, bash/ and zsh/ there
set -eu
origo=$1 to=$2
rm -rf "$to"
mkdir -p "$to/man1" "$to/bash" "$to/zsh"
"$origo" manual >"$to/names"
while read -r name; do
  "$origo" manual "$name" >"$to/man1/$name.1"
done <"$to/names"
"$origo" completion bash >"$to/bash/origo"
"$origo" completion zsh >"$to/zsh/_origo"
# bash looks for a file with the name of the command.
for name in $(grep -v '^origo' "$to/names"); do
  ln -s origo "$to/bash/$name"
done
rm "$to/names"
: >"$to/done"
