/**
 * Which files of this machine the model may have sent to a chat: what its tools may read, without what holds secrets or
 * belongs to the system.
 */
import type { FileGuard } from '../agent/command-policy/file-guard.ts'
import type { Environment } from '../config/environment.ts'
import type { HomeLayout } from '../lib/home.ts'
import type { Logger } from '../lib/log.ts'
import type { FileRules } from '../outbox/outgoing-file.ts'
import { createSecrets } from './outgoing-secrets.ts'

export interface OutgoingFilesDeps {
  readonly home: HomeLayout
  readonly environment: () => Pick<Environment, 'values'>
  readonly log: Logger
}

export function createOutgoingFiles({ home, environment, log }: OutgoingFilesDeps): FileRules {
  const userHome = environment().values['HOME'] || home.root
  const mayHoldSecrets = createSecrets({ home, userHome })
  let loading: Promise<FileGuard> | undefined

  /** Loaded with the first file: most gateways send none for long. */
  async function load(): Promise<FileGuard> {
    const { createFileGuard } = await import('../agent/command-policy/file-guard.ts')
    return createFileGuard({ home: home.root, userHome })
  }

  function refuse(path: string, reason: string): string {
    log.warn({ path, reason }, 'a file may not leave this machine')
    return 'it may hold secrets'
  }

  return {
    userHome,
    async mayRead(path) {
      loading ??= load()
      const guard = await loading
      // A file that may not even be replaced (keys, .env, /etc) is none to hand to others, readable or not.
      for (const found of [await guard.forRead(path), await guard.forWrite(path)]) {
        if (!found.ok) return refuse(path, found.reason)
      }
      return (await mayHoldSecrets(path)) ? refuse(path, 'It may hold keys, or what others have written.') : undefined
    },
  }
}
