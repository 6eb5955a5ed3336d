/**
 * Where the bytes of a file lie that somebody sent.
 */
import type { AttachmentAddress } from '#sdk'
import type { BotApi } from '../connection/api.ts'
import { asRecord, asText } from './payload.ts'

export interface AttachmentUrlDeps {
  readonly api: BotApi
  /** The origin of the configured `api_root`; absent where Telegram itself is asked. */
  readonly trusted?: string
}

/** Throws `ApiError` (`file is too big`: bots may load 20 MB), or an Error for a path that cannot be fetched. */
export async function resolveAttachmentUrl(
  { api, trusted }: AttachmentUrlDeps,
  ref: string,
  signal: AbortSignal,
): Promise<AttachmentAddress> {
  const path = asText(asRecord(await api.call('getFile', { file_id: ref }, signal))['file_path'])
  if (path === undefined) throw new Error('Telegram does not say where the file is.')
  // A Bot API server in local mode names files of its own disk; they are not served, and must not be read from ours.
  if (/^[/\\]|^[a-z]+:|\\/i.test(path) || path.split('/').some((part) => part === '..' || part === '.')) {
    throw new Error(
      'The Bot API server gives paths of its own disk (--local); files can only be fetched without that option.',
    )
  }
  return { url: api.fileUrl(path), ...(trusted === undefined ? {} : { trusted }) }
}
