# To be sourced: fetch_runtimes SCRATCH [FOLDER] leaves the packages of FOLDER's package-lock.json (else of the one here, the
# runtimes) in SCRATCH/node_modules, or ends the script, with 77 (skipped) where there is no Node.js or no way to the npm registry. Two tests may ask at once.
skip() {
  echo "models: real runtimes skipped: $1"
  exit 77
}
fetch_runtimes() {
  local scratch=$1 from=${2:-$(dirname "${BASH_SOURCE[0]}")}
  command -v npm >/dev/null || skip "there is no npm (./setup installs it)"
  node -e 'process.exit(parseInt(process.versions.node) >= 18 ? 0 : 1)' 2>/dev/null || skip "there is no Node.js 18 or later"
  mkdir -p "$scratch"
  exec 9>"$scratch/lock"
  flock 9
  # npm ci leaves the runtimes as the lock file says, or nothing.
  if ! cmp -s "$from/package-lock.json" "$scratch/installed.json"; then
    cp "$from/package.json" "$from/package-lock.json" "$scratch"
    if ! (cd "$scratch" && npm ci --ignore-scripts --no-audit --no-fund) >"$scratch/npm.log" 2>&1; then
      grep -qE 'ENOTFOUND|EAI_AGAIN|ECONN|ETIMEDOUT|ENETUNREACH|network' "$scratch/npm.log" &&
        skip "the npm registry cannot be reached"
      cat "$scratch/npm.log"
      exit 1
    fi
    cp "$from/package-lock.json" "$scratch/installed.json"
  fi
  exec 9>&-
}
# fetch_archive SCRATCH PACKAGE DIGEST leaves the package's files, as they were published, in SCRATCH/package; of one that npm
# does not install here.
fetch_archive() {
  local scratch=$1 package=$2 digest=$3 archive
  command -v npm >/dev/null || skip "there is no npm (./setup installs it)"
  mkdir -p "$scratch"
  archive=$scratch/$(tr -d @ <<<"${package%@*}" | tr / -)-${package##*@}.tgz
  if [[ ! -f $archive ]]; then
    (cd "$scratch" && npm pack "$package") >"$scratch/npm.log" 2>&1 || {
      grep -qE 'ENOTFOUND|EAI_AGAIN|ECONN|ETIMEDOUT|ENETUNREACH|network' "$scratch/npm.log" && skip "the npm registry cannot be reached"
      cat "$scratch/npm.log"
      exit 1
    }
  fi
  [[ $(node -p 'crypto.createHash("sha512").update(fs.readFileSync(process.argv[1])).digest("base64")' "$archive") == "$digest" ]] || {
    echo "$archive is not what was published"
    exit 1
  }
  tar -xzf "$archive" -C "$scratch"
}
