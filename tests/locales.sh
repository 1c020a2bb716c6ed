#!/usr/bin/env bash
# Makes locales whose decimal point is a comma, or whose i has other capitals, in a folder for LOCPATH; nothing of the machine
# changes. usage: locales.sh DIR
set -euo pipefail
mkdir -p "$1"
for name in de_DE tr_TR; do
  # Warnings are about characters that such a locale does without.
  localedef --force -i $name -f UTF-8 "$1/$name.UTF-8" >/dev/null 2>&1 || (($? == 1)) && [[ -f $1/$name.UTF-8/LC_NUMERIC ]] ||
    { echo "locales.sh: no locale $name can be made: ./setup installs the package locales"; exit 1; }
done
