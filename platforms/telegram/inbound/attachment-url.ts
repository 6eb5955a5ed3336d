/**
 * Finds the download address of a received file.
 */
import type { AttachmentAddress } from '#sdk'
import type { BotApi } from '../connection/api.ts'
import { asRecord, asText } from './payload.ts'

/** Throws `ApiError` (`file is too big`: bots can download up to 20 MB), or `Error` for a path that cannot be fetched. */
export async function resolveAttachmentUrl(
  {
    api,
    trusted,
  }: {
    readonly api: BotApi
    /** The origin of a configured `api_root`; absent for Telegram's own server. */
    readonly trusted?: string
  },
  ref: string,
  signal: AbortSignal,
): Promise<AttachmentAddress> {
  const path = asText(asRecord(await api.call('getFile', { file_id: ref }, signal))['file_path'])
  if (path === undefined) throw new Error('Telegram returned no path for the file.')
  // A Bot API server in local mode returns paths on its own disk. They are not served over HTTP, and the gateway must
  // not read such a path from its own disk.
  if (/^[/\\]|^[a-z]+:|\\/i.test(path) || path.split('/').some((part) => part === '..' || part === '.')) {
    throw new Error(
      'The Bot API server runs with --local and returns paths on its own disk. Files can be downloaded only without --local.',
    )
  }
  return { url: api.fileUrl(path), trusted }
}
