/**
 * Files that go out: an address for the upload, the bytes, and the message that shows the file.
 */
import { type LruCache, messageOf, type OutboundAttachment, type OutboundMessage, type SendResult } from '#sdk'
import { type ApiCall, toSendResult } from '../connection/api.ts'
import { type JsonRecord, recordsAt, textAt } from '../inbound/payload.ts'
import { type Post, renderCaption, renderImage, renderLink } from './render.ts'

/** Posts the bytes of a file to the address that Slack named. Rejects as `fetch`, and for an address not to be trusted. */
export type UploadFile = (
  url: string,
  bytes: Blob,
  signal: AbortSignal,
) => Promise<{ readonly ok: boolean; readonly status: number }>

export interface SendFileDeps {
  readonly call: ApiCall
  readonly upload: UploadFile
  post(channel: string, message: OutboundMessage, post: Post, signal: AbortSignal): Promise<SendResult>
  /** Takes the file of a delivery, to find it again. */
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
  const shown = kind === 'image' || kind === 'animation' ? renderImage(source.url, fileName, caption) : asLink
  const sent = await deps.post(channel, message, shown, signal)
  // Slack could not fetch the picture: nothing was posted, so this is no second post.
  const unreadable = !sent.success && sent.problem === 'rejected' && sent.error.includes('invalid_')
  return unreadable && shown !== asLink ? await deps.post(channel, message, asLink, signal) : sent
}

/** Whether a message shows this file. */
export function containsFile(message: JsonRecord, id: string | undefined): boolean {
  return id !== undefined && recordsAt(message, 'files').some((file) => textAt(file, 'id') === id)
}

async function openFile(opening: () => Promise<Blob>): Promise<Blob | SendResult> {
  try {
    return await opening()
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
  const place = await call('files.getUploadURLExternal', { filename: fileName, length: bytes.size }, signal)
  if (!place.ok) {
    // Nothing is shown before the upload is complete, whatever became of this call.
    const { maybeSent: _irrelevant, ...failure } = place.failure
    return toSendResult(failure)
  }
  const url = textAt(place.data, 'upload_url')
  const id = textAt(place.data, 'file_id')
  if (url === undefined || id === undefined) return temporaryFailure('Slack named no address for the upload')
  try {
    const { ok, status } = await upload(url, bytes, signal)
    if (!ok) return temporaryFailure(`the upload was answered with the status ${status}`)
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
  const shown = await call('files.completeUploadExternal', args, signal)
  // Slack does not say in which message the file is shown.
  return shown.ok ? { success: true } : toSendResult(shown.failure)
}

function temporaryFailure(error: string): SendResult {
  return { success: false, problem: 'temporary', error }
}
