/**
 * Caches of processes that tests start, so that all of them share the work: the compile cache of the test runner, and the
 * cache of TypeScript handlers without their types.
 */
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import process from 'node:process'

/** For the variable NODE_COMPILE_CACHE. */
export function compileCacheDirectory(): string {
  return process.env['NODE_COMPILE_CACHE'] ?? join(tmpdir(), `hermes-test-cache-${process.getuid?.() ?? 0}`)
}

/**
 * For the option `cacheFolder` of hosts. The names in it are hashes of contents. Stripping the types of one file takes a
 * process and 80 ms of CPU time, and most tests write the same files in each run.
 */
export function strippedTypesDirectory(): string {
  return `${compileCacheDirectory()}-handlers`
}
