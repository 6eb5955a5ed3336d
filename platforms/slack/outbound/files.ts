/**
 * Uploads files and posts the messages that contain them.
 */
import { type LruCache, messageOf, type OutboundAttachment, type OutboundMessage, type SendResult } from '#sdk'
import type { ApiCall } from '../connection/api.ts'
import { toSendResult } from '../errors.ts'
import { type JsonRecord, recordsAt, textAt } from '../inbound/payload.ts'
import { type Post, renderCaption, renderImage, renderLink } from './render.ts'

/** Uploads a file to the URL from Slack. `refused`: the URL may not be used. Rejects as `fetch` does. */
export type UploadFile = (
  url: string,
  bytes: Blob,
  signal: AbortSignal,
) => Promise<{ readonly ok: boolean; readonly status: number } | 'refused'>

export interface SendFileDeps {
  readonly call: ApiCall
  readonly upload: UploadFile
  post(channel: string, message: OutboundMessage, post: Post, signal: AbortSignal): Promise<SendResult>
  /** File ids by delivery, to find the message later. */
  readonly uploaded: LruCache<string>
}

export async function sendFile(
  deps: SendFileDeps,
  channel: string,
  message: OutboundMessage,
  { source, fileName, kind }: OutboundAttachment,
  signal: AbortSignal,
): Promise<SendResult> {
  const caption = await renderCaption(message.text)
  if (source.kind === 'file') {
    const file = await openFile(source.open)
    if (!(file instanceof Blob)) return file
    return await uploadFile(deps, channel, message, { bytes: file, fileName, caption }, signal)
  }
  const asLink: Post = { text: renderLink(source.url, fileName, caption) }
  const post = kind === 'image' || kind === 'animation' ? renderImage(source.url, fileName, caption) : asLink
  const sent = await deps.post(channel, message, post, signal)
  // Slack could not download the image and has posted nothing.
  const isUnreadable = !sent.success && sent.problem === 'rejected' && sent.error.includes('invalid_')
  return isUnreadable && post !== asLink ? await deps.post(channel, message, asLink, signal) : sent
}

/** Whether a message contains this file. */
export function containsFile(message: JsonRecord, id: string | undefined): boolean {
  return id !== undefined && recordsAt(message, 'files').some((file) => textAt(file, 'id') === id)
}

async function openFile(open: () => Promise<Blob>): Promise<Blob | SendResult> {
  try {
    return await open()
  } catch (thrown) {
    return { success: false, problem: 'rejected', error: messageOf(thrown) }
  }
}

async function uploadFile(
  { call, upload, uploaded }: SendFileDeps,
  channel: string,
  { target, deliveryId }: OutboundMessage,
  file: { readonly bytes: Blob; readonly fileName: string; readonly caption: string },
  signal: AbortSignal,
): Promise<SendResult> {
  const { bytes, fileName, caption } = file
  const slot = await call('files.getUploadURLExternal', { filename: fileName, length: bytes.size }, signal)
  if (!slot.ok) {
    // A file is visible only after the upload is complete, so a retry of this call is safe.
    const { maybeSent: _irrelevant, ...failure } = slot.failure
    return toSendResult(failure)
  }
  const url = textAt(slot.data, 'upload_url')
  const id = textAt(slot.data, 'file_id')
  if (url === undefined || id === undefined) return temporaryFailure('Slack returned no URL for the upload')
  try {
    const response = await upload(url, bytes, signal)
    // Another attempt would get the same kind of address.
    if (response === 'refused') {
      return { success: false, problem: 'rejected', error: `the upload address is not https; ${fileHostsHint}` }
    }
    const { ok, status } = response
    if (!ok) return temporaryFailure(`the upload failed with status ${status}`)
  } catch (thrown) {
    return temporaryFailure(`the upload failed: ${messageOf(thrown)}`)
  }
  uploaded.set(deliveryId, id)
  const args = {
    files: [{ id, title: fileName }],
    channel_id: channel,
    ...(target.threadId === undefined ? {} : { thread_ts: target.threadId }),
    ...(caption === '' ? {} : { initial_comment: caption }),
  }
  const completed = await call('files.completeUploadExternal', args, signal)
  // Slack does not return the message of the file.
  return completed.ok ? { success: true } : toSendResult(completed.failure)
}

const fileHostsHint = 'the host of a self-hosted server can be allowed with `file_hosts`'

function temporaryFailure(error: string): SendResult {
  return { success: false, problem: 'temporary', error }
}
