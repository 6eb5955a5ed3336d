/**
 * Opens and checks the file of a row at the time of sending: its type, its size, and whether it may be sent.
 */
import { openAsBlob } from 'node:fs'
import { type FileHandle, stat } from 'node:fs/promises'
import { isAbsolute, join } from 'node:path'
import { messageOf, systemCode } from '../lib/errors.ts'
import { isOpenedAt, openExactly, pathOfOpenFile } from '../lib/files.ts'
import type { Authority } from '../message/authority.ts'
import type { OutboundAttachment } from '../message/outbound.ts'
import type { StoredAttachment } from './stored-attachment.ts'

export interface AttachmentPolicy {
  /** The directory that `~` stands for. */
  readonly userHome: string
  /** The real path on this machine of an absolute path as the agent sees it. The file may be missing. Throws system errors. */
  locate(path: string): Promise<string>
  /**
   * Why a file must not be sent, in a few words for users; `undefined` when it may. `path` is its real path, and `content` the
   * path that its content is read from. `authority`: whose turn named it. Throws system errors.
   */
  denialReason(path: string, content?: string, authority?: Authority): Promise<string | undefined>
}

export type PreparedAttachment =
  | {
      readonly ok: true
      readonly attachment: OutboundAttachment
      /** Called when the adapter has finished. Later reads of the file fail. */
      close(): Promise<void>
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
  const { kind, fileName, mimeType, source, authority } = stored
  if (source.kind === 'url') {
    return { ok: true, attachment: { kind, fileName, mimeType, source }, close: async () => undefined }
  }
  const checked = await openChecked(source.path, mimeType, limits, authority)
  if ('reason' in checked) return { ok: false, reason: checked.reason }
  const { blob, close } = checked
  const file = { kind: 'file' as const, bytes: blob.size, open: async () => blob }
  return { ok: true, attachment: { kind, fileName, mimeType, source: file }, close }
}

type CheckedFile = { readonly blob: Blob; close(): Promise<void> } | { readonly reason: string }

/** The file is opened once, before it is checked: what replaces it later is neither checked nor sent. */
async function openChecked(
  path: string,
  type: string,
  { policy, maxBytes }: AttachmentLimits,
  authority: StoredAttachment['authority'],
): Promise<CheckedFile> {
  if (policy === undefined) return { reason: 'this gateway sends no files' }
  let file: FileHandle | undefined
  try {
    const written = path.startsWith('~/') ? join(policy.userHome, path.slice(2)) : path
    if (!isAbsolute(written)) return { reason: 'its path is not absolute' }
    const real = await policy.locate(written)
    const stats = await stat(real)
    // Opening a device may have an effect.
    if (!stats.isFile()) return { reason: stats.isDirectory() ? 'it is a folder' : 'it is not a regular file' }
    const opened = await openExactly(real)
    file = opened
    if (!(await isOpenedAt(opened, real))) return { reason: 'it was replaced meanwhile' }
    const { size } = await opened.stat()
    if (size === 0) return { reason: 'it is empty' }
    if (size > maxBytes) return { reason: `it is larger than ${Math.floor(maxBytes / bytesPerMb)} MB` }
    const content = pathOfOpenFile(opened, real)
    // A blob of a file cannot be read once the file has changed, so what is sent is what was checked.
    const blob = await openAsBlob(content, { type })
    const refused = await policy.denialReason(real, content, authority)
    if (refused !== undefined) return { reason: refused }
    file = undefined
    return { blob, close: () => opened.close() }
  } catch (error) {
    return { reason: describeFileError(error) }
  } finally {
    await file?.close()
  }
}

export const bytesPerMb = 1_024 * 1_024

function describeFileError(error: unknown): string {
  switch (systemCode(error)) {
    case 'ENOENT':
    case 'ENOTDIR':
      return 'there is no such file'
    case 'ELOOP':
      return 'it was replaced meanwhile'
    case 'EACCES':
    case 'EPERM':
      return 'it may not be read'
    default:
      return `it cannot be read: ${systemCode(error) ?? messageOf(error).slice(0, 100)}`
  }
}
