/**
 * How long a test waits for what must happen. Nothing that is measured depends on it: the limit only turns a wait without an
 * end into an error that names what was missing, before the runner ends the test after 60 s.
 */
import { availableParallelism, loadavg } from 'node:os'

const calmMs = 20_000
const maxMs = 50_000

/** Milliseconds: more on a machine whose processors are busy. */
export function waitLimitMs(): number {
  const processesPerCore = (loadavg()[0] ?? 0) / availableParallelism()
  return Math.round(Math.min(maxMs, calmMs * Math.max(1, processesPerCore)))
}
