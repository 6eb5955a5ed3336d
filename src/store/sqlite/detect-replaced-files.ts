/**
 * Whether files are still the ones that were opened. A program goes on writing to a file that was removed or replaced,
 * and everything it writes is gone when it ends; a lock whose file was removed keeps nobody out.
 */
import { type BigIntStats, statSync } from 'node:fs'

/** Remembers the files as they are now; the function given back names the first that is missing or another one. */
export function detectReplacedFiles(paths: readonly string[]): () => string | undefined {
  const known = paths.map((path) => ({ path, identity: fileIdOf(path) }))
  return () => known.find(({ path, identity }) => fileIdOf(path) !== identity)?.path
}

/** Undefined where there is no such file. Throws other errors of the file system. */
function fileIdOf(path: string): string | undefined {
  const found: BigIntStats | undefined = statSync(path, { bigint: true, throwIfNoEntry: false })
  return found === undefined ? undefined : `${found.dev}:${found.ino}`
}
