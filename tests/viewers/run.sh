#!/usr/bin/env bash
# Writes the files for viewers of every model and lets rules.mjs read them as the viewers do.
# usage: run.sh BIN samples|networks|models
# Of models every fifth is taken, of the small ones that the tree makes every twentieth; ORIGO_THOROUGH=1 in the environment takes them all.
set -uo pipefail
bin=$1 what=$2
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
source "$here/../folder.sh"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
{
  case $what in
  samples) find "$root/res" -name '*.origo' | sort ;;
  networks) swept networks 20 ;;
  *) swept models 5 ;;
  esac
  echo "$here/names.origo"
} | node "$here/rules.mjs" "$bin" "$scratch"
