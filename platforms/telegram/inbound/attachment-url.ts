/**
 * Finds the download address of a received file.
 */
import type { Attachment, AttachmentAddress } from '#sdk'
import type { TelegramAccount } from '../account.ts'
import { asRecord, asText } from './payload.ts'

/** Throws `ApiError` (`file is too big`: bots can download up to 20 MB), or `Error` for a path that cannot be fetched. */
export async function resolveAttachmentUrl(
  { ref }: Attachment,
  { api, options }: TelegramAccount,
  signal: AbortSignal,
): Promise<AttachmentAddress> {
  if (ref === undefined) throw new Error('The attachment has no file_id of Telegram.')
  const path = asText(asRecord(await api.call('getFile', { file_id: ref }, signal))['file_path'])
  if (path === undefined) throw new Error('Telegram returned no path for the file.')
  // A Bot API server in local mode returns paths on its own disk. They are not served over HTTP, and the gateway must
  // not read such a path from its own disk.
  if (/^[/\\]|^[a-z]+:|\\/i.test(path) || path.split('/').some((part) => part === '..' || part === '.')) {
    throw new Error(
      'The Bot API server runs with --local and returns paths on its own disk. Files can be downloaded only without --local.',
    )
  }
  return { url: api.fileUrl(path), trusted: options.ownApiRoot ? new URL(options.apiRoot).origin : undefined }
}
