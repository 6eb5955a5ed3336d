/**
 * Decides which files of this machine may be sent to a chat: files that tools may read, except secrets and system files.
 */

import { constants } from 'node:fs'
import { open, realpath } from 'node:fs/promises'
import type { FileGuard, GuardedView } from '../../agent/command-policy/file-guard.ts'
import type { Environment } from '../../config/environment.ts'
import { lazy } from '../../lib/cache.ts'
import type { SecretFilter } from '../../lib/redact.ts'
import type { Authority } from '../../message/authority.ts'
import type { AttachmentPolicy } from '../../outbox/prepare-attachment.ts'
import type { RoleSettings } from '../../platforms/config.ts'
import type { Runtime } from '../../store/runtime.ts'
import { createSecretFileCheck } from './secret-files.ts'

interface PolicyGateway extends Pick<Runtime, 'home' | 'log'> {
  readonly config: { environment(): Pick<Environment, 'values'> }
  readonly settings: () => { readonly roles: RoleSettings }
}

/** @param sandbox what commands of the agent see; undefined: no sandbox */
export function createAttachmentPolicy(
  { home, config, settings, log }: PolicyGateway,
  secretFilter: Pick<SecretFilter, 'scanBytes'>,
  sandbox: () => Promise<GuardedView | undefined>,
): AttachmentPolicy {
  const userHome = config.environment().values['HOME'] || home.root
  const mayHoldSecrets = createSecretFileCheck({ home, userHome })

  /** Imported with the first file. */
  async function loadGuard(): Promise<FileGuard> {
    const { createFileGuard } = await import('../../agent/command-policy/file-guard.ts')
    // Plugins send files that the sandbox hides, so only the places of files are those of the sandbox.
    const places = async () => {
      const view = await sandbox()
      return view && { ...view, accessOf: () => 'writable' as const, hiddenReason: () => undefined }
    }
    return createFileGuard({ home: home.root, userHome, sandbox: places })
  }

  const fileGuard = lazy(loadGuard)

  /** The `/tmp` of commands lies in a directory that tools may not write otherwise. */
  async function asSeenByCommands(path: string): Promise<string> {
    const privateTmp = (await sandbox())?.view.privateTmp
    return privateTmp !== undefined && path.startsWith(`${privateTmp}/`) ? `/tmp${path.slice(privateTmp.length)}` : path
  }

  /** A person who may not read the disk is sent only what the agent has written, and media. */
  async function isOutOfReach(path: string, authority: Authority): Promise<boolean> {
    const [{ permitsTool }, { toolListOf }] = await Promise.all([
      import('../../agent/loop/role-ceiling.ts'),
      import('../tools/turn-tools.ts'),
    ])
    if (permitsTool(toolListOf(settings().roles, authority), { name: 'read_file', toolset: 'file', mode: 'pure' }))
      return false
    const open = await Promise.all([home.workspace, home.media].map((folder) => realpath(folder).catch(() => folder)))
    if (open.some((directory) => path.startsWith(`${directory}/`))) return false
    return (await sandbox())?.accessOf(await asSeenByCommands(path)) !== 'writable'
  }

  function refuse(path: string, reason: string): string {
    log.warn({ event: 'attachment.denied', path, reason }, 'a file may not be sent')
    return 'it may hold secrets'
  }

  return {
    userHome,
    async locate(path) {
      const result = await (await fileGuard()).checkRead(path)
      return result.ok ? result.path : realpath(path)
    },
    async denialReason(path, content = path, authority) {
      const guard = await fileGuard()
      // A file that tools may not write (keys, .env, /etc) is not sent either, even if it is readable.
      for (const result of [await guard.checkRead(path), await guard.checkWrite(await asSeenByCommands(path))]) {
        if (!result.ok) return refuse(path, result.reason)
      }
      if (authority !== undefined && authority.role !== 'owner' && (await isOutOfReach(path, authority)))
        return refuse(path, 'The person who caused the reply may not read it.')
      if (await mayHoldSecrets(path, content)) return refuse(path, 'It may hold keys or private messages.')
      if (await containsSecret(content, secretFilter.scanBytes()))
        return refuse(path, 'It contains a secret of this gateway.')
      return undefined
    },
  }
}

const pieceBytes = 262_144

/** Whether a regular file contains one of the secrets, whatever its name. Throws system errors. */
async function containsSecret(path: string, hasSecret: (piece: Uint8Array) => boolean): Promise<boolean> {
  // O_NONBLOCK, because the path may be a named pipe by now.
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    if (!(await file.stat()).isFile()) return false
    const piece = Buffer.alloc(pieceBytes)
    for (;;) {
      const { bytesRead } = await file.read(piece, 0, pieceBytes)
      if (bytesRead === 0) return false
      if (hasSecret(piece.subarray(0, bytesRead))) return true
    }
  } finally {
    await file.close()
  }
}
