/**
 * Which files of this machine the model may have sent to a chat: what its tools may read, without what holds secrets or
 * belongs to the system.
 */
import type { FileGuard } from '../agent/command-policy/file-guard.ts'
import type { Environment } from '../config/environment.ts'
import type { HomeLayout } from '../lib/home.ts'
import type { Logger } from '../lib/log.ts'
import type { AttachmentPolicy } from '../outbox/prepare-attachment.ts'
import { createSecretFileCheck } from './secret-files.ts'

export interface AttachmentPolicyDeps {
  readonly home: HomeLayout
  readonly environment: () => Pick<Environment, 'values'>
  readonly log: Logger
}

export function createAttachmentPolicy({ home, environment, log }: AttachmentPolicyDeps): AttachmentPolicy {
  const userHome = environment().values['HOME'] || home.root
  const mayHoldSecrets = createSecretFileCheck({ home, userHome })
  let loading: Promise<FileGuard> | undefined

  /** Loaded with the first file: most gateways send none for long. */
  async function loadGuard(): Promise<FileGuard> {
    const { createFileGuard } = await import('../agent/command-policy/file-guard.ts')
    return createFileGuard({ home: home.root, userHome })
  }

  function refuse(path: string, reason: string): string {
    log.warn({ path, reason }, 'a file may not leave this machine')
    return 'it may hold secrets'
  }

  return {
    userHome,
    async denialReason(path) {
      loading ??= loadGuard()
      const guard = await loading
      // A file that may not even be replaced (keys, .env, /etc) is none to hand to others, readable or not.
      for (const found of [await guard.checkRead(path), await guard.checkWrite(path)]) {
        if (!found.ok) return refuse(path, found.reason)
      }
      return (await mayHoldSecrets(path)) ? refuse(path, 'It may hold keys, or what others have written.') : undefined
    },
  }
}
