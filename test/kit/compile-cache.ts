/**
 * The compile cache of processes that tests start: the one of the test runner, so that all of them share it.
 */
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'

/** For the variable NODE_COMPILE_CACHE. */
export function compileCacheDirectory(): string {
  return process.env['NODE_COMPILE_CACHE'] ?? join(tmpdir(), `hermes-test-cache-${process.getuid?.() ?? 0}`)
}
