/**
 * Detects files that were replaced or removed while this process has them open. A process keeps writing to the file that it
 * opened, and everything it writes there is lost when it ends. A lock on a removed file protects nothing.
 */
import { fileIdOf } from '../../lib/file-fingerprint.ts'

/** Records the files as they are now. The returned function names the first one that is missing or was replaced. */
export function detectReplacedFiles(paths: readonly string[]): () => string | undefined {
  const known = paths.map((path) => ({ path, fileId: fileIdOf(path) }))
  return () => known.find(({ path, fileId }) => fileIdOf(path) !== fileId)?.path
}
