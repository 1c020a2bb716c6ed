// What holds of any profile that is joined, whichever tool wrote it.
import { spawnSync } from 'node:child_process';
import path from 'node:path';

export const failures = [];
export const fail = (what) => { failures.push(what); console.log(`FAILED: ${what}`); };
export const run = (bin, name, args) => spawnSync(path.join(bin, name), args, { encoding: 'utf8', maxBuffer: 1 << 28 });

/** The operators of the written model that a row is about. */
export const operatorsOf = (row) => row.partition ?? (row.op_index === null ? [] : [row.op_index]);

/**
 * A profile that `tool` wrote, joined to a model: null, and a failure, if it is taken for another tool's, or if the times do not add up to
 * `total` nanoseconds, which the caller has from the file by itself.
 */
export function join(bin, what, tool, file, model, total) {
  const said = run(bin, 'origin-dump', ['--join', file, '--json', model]);
  if (said.status !== 0) return void fail(`${what}: exit status ${said.status}, ${said.stderr.trim()}`), null;
  const joined = JSON.parse(said.stdout);
  if (joined.rows.some((row) => row.source_tool !== tool)) return void fail(`${what}: is taken for ${joined.rows[0].source_tool}`), null;
  const sum = joined.rows.reduce((all, row) => all + row.ns, 0);
  if (joined.total_ns !== total || sum !== total || joined.attributed_ns + joined.synthetic_ns + joined.unattributed_ns !== total)
    return void fail(`${what}: ${total} ns are ${joined.total_ns}, of which ${joined.attributed_ns} + ${joined.synthetic_ns} + ${joined.unattributed_ns}, and rows have ${sum}`), null;
  return joined;
}

/** Of another network's profile, nothing is joined. */
export function refuses(bin, what, file, model) {
  const said = run(bin, 'origin-dump', ['--join', file, '--json', model]);
  if (said.status !== 1 || said.stdout || !said.stderr.includes('foreign profile')) fail(`${what}: is not refused: exit status ${said.status}, ${said.stderr.trim()}`);
}
