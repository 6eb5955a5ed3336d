/**
 * Replaces values of variables in an old `auth.json` when the gateway starts. Loaded when there is such a file.
 */
import { replaceStoredValues } from '../../agent/models/credentials/shared-auth-file.ts'
import type { Logger } from '../../lib/log.ts'
import { withFileLock } from '../../store/sqlite/file-lock.ts'

/** Never rejects. @param path of `auth.json` */
export async function replaceKeyValues(path: string, log: Logger): Promise<void> {
  await replaceStoredValues({ path, withLock: (run) => withFileLock(`${path}.lock`, async () => run()), log })
}
