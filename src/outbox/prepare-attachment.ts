/**
 * Checks the file of a row at the time of sending: its type, its size, and whether it may be sent.
 */
import { openAsBlob } from 'node:fs'
import { access, constants, stat } from 'node:fs/promises'
import { isAbsolute, join } from 'node:path'
import { messageOf, systemCode } from '../lib/errors.ts'
import type { OutboundAttachment } from '../message/outbound.ts'
import type { StoredAttachment } from './stored-attachment.ts'

export interface AttachmentPolicy {
  /** The directory that `~` stands for. */
  readonly userHome: string
  /** The real path on this machine of an absolute path as the agent sees it. The file may be missing. Throws system errors. */
  locate(path: string): Promise<string>
  /** Why a file must not be sent, in a few words for users; `undefined` when it may. Gets the real path. */
  denialReason(path: string): Promise<string | undefined>
}

export type PreparedAttachment =
  | {
      readonly ok: true
      readonly attachment: OutboundAttachment
      /** Why the adapter could not open the file; `undefined` when it has not failed. */
      readonly openFailure: () => string | undefined
    }
  /** `reason`: a few words for users, without a path. */
  | { readonly ok: false; readonly reason: string }

export interface AttachmentLimits {
  readonly policy: AttachmentPolicy | undefined
  readonly maxBytes: number
}

/** The attachment as an adapter receives it. Never throws. */
export async function prepareAttachment(
  stored: StoredAttachment,
  limits: AttachmentLimits,
): Promise<PreparedAttachment> {
  const { kind, fileName, mimeType, source } = stored
  if (source.kind === 'url') {
    return { ok: true, attachment: { kind, fileName, mimeType, source }, openFailure: () => undefined }
  }
  const found = await inspectFile(source.path, limits)
  if ('reason' in found) return { ok: false, reason: found.reason }
  let openFailure: string | undefined
  const open = async () => {
    // The file may have been replaced meanwhile, also by a link to another one.
    const now = await inspectFile(source.path, limits)
    if ('path' in now) return openAsBlob(now.path, { type: mimeType })
    openFailure = now.reason
    throw new Error(`${fileName} cannot be sent: ${now.reason}`)
  }
  const file = { kind: 'file' as const, bytes: found.bytes, open }
  return { ok: true, attachment: { kind, fileName, mimeType, source: file }, openFailure: () => openFailure }
}

async function inspectFile(
  path: string,
  { policy, maxBytes }: AttachmentLimits,
): Promise<{ readonly path: string; readonly bytes: number } | { readonly reason: string }> {
  if (policy === undefined) return { reason: 'this gateway sends no files' }
  try {
    const written = path.startsWith('~/') ? join(policy.userHome, path.slice(2)) : path
    if (!isAbsolute(written)) return { reason: 'its path is not absolute' }
    const real = await policy.locate(written)
    const refused = await policy.denialReason(real)
    if (refused !== undefined) return { reason: refused }
    const found = await stat(real)
    if (!found.isFile()) return { reason: found.isDirectory() ? 'it is a folder' : 'it is not a regular file' }
    if (found.size === 0) return { reason: 'it is empty' }
    if (found.size > maxBytes) return { reason: `it is larger than ${Math.floor(maxBytes / bytesPerMb)} MB` }
    await access(real, constants.R_OK)
    return { path: real, bytes: found.size }
  } catch (error) {
    return { reason: describeFileError(error) }
  }
}

export const bytesPerMb = 1_024 * 1_024

function describeFileError(error: unknown): string {
  switch (systemCode(error)) {
    case 'ENOENT':
    case 'ENOTDIR':
      return 'there is no such file'
    case 'EACCES':
    case 'EPERM':
      return 'it may not be read'
    default:
      return `it cannot be read: ${systemCode(error) ?? messageOf(error).slice(0, 100)}`
  }
}
