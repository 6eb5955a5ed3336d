/**
 * Uploads files and posts the messages that contain them.
 */
import {
  createLruCache,
  type LruCache,
  messageOf,
  type OutboundAlbum,
  type OutboundAttachment,
  type OutboundMessage,
  type SendResult,
} from '#sdk'
import type { SlackAccount } from '../account.ts'
import { toSendResult } from '../errors.ts'
import { type JsonRecord, recordsAt, textAt } from '../inbound/payload.ts'
import { post } from './post.ts'
import { type Post, renderCaption, renderImage, renderLink } from './render.ts'

export interface FileUploads {
  send(
    channel: string,
    message: OutboundMessage,
    attachment: OutboundAttachment,
    signal: AbortSignal,
  ): Promise<SendResult>
  /** Sends several local files as one message. Its text are the captions. */
  sendAll(channel: string, album: OutboundAlbum, signal: AbortSignal): Promise<SendResult>
  /** Whether a file of this delivery was uploaded since the start. */
  has(deliveryId: string): boolean
  /** Whether a message contains the uploaded file of a delivery. */
  isIn(message: JsonRecord, deliveryId: string): boolean
}

interface UploadsState {
  readonly account: SlackAccount
  /** File ids by delivery, to find the message later. */
  readonly uploaded: LruCache<string>
}

/** A file to upload. */
interface LocalFile {
  readonly bytes: Blob
  readonly fileName: string
}

export function createFileUploads(account: SlackAccount): FileUploads {
  const uploaded = createLruCache<string>(200)
  const state: UploadsState = { account, uploaded }
  return {
    send: (channel, message, attachment, signal) => sendFile(state, channel, message, attachment, signal),
    sendAll: (channel, album, signal) => sendFiles(state, channel, album, signal),
    has: (deliveryId) => uploaded.has(deliveryId),
    isIn(message, deliveryId) {
      const id = uploaded.get(deliveryId)
      return id !== undefined && recordsAt(message, 'files').some((file) => textAt(file, 'id') === id)
    },
  }
}

async function sendFile(
  state: UploadsState,
  channel: string,
  message: OutboundMessage,
  { source, fileName, kind }: OutboundAttachment,
  signal: AbortSignal,
): Promise<SendResult> {
  const caption = await renderCaption(message.text)
  if (source.kind === 'file') {
    const file = await openFile(source.open)
    if (!(file instanceof Blob)) return file
    return await shareFiles(state, channel, message, { files: [{ bytes: file, fileName }], caption }, signal)
  }
  const asLink: Post = { text: renderLink(source.url, fileName, caption) }
  const { call } = state.account
  const rendered = kind === 'image' || kind === 'animation' ? renderImage(source.url, fileName, caption) : asLink
  const sent = await post(call, channel, message, rendered, signal)
  // Slack could not download the image and has posted nothing.
  const isUnreadable = !sent.success && sent.problem === 'rejected' && sent.error.includes('invalid_')
  return isUnreadable && rendered !== asLink ? await post(call, channel, message, asLink, signal) : sent
}

async function sendFiles(
  state: UploadsState,
  channel: string,
  album: OutboundAlbum,
  signal: AbortSignal,
): Promise<SendResult> {
  const files: LocalFile[] = []
  for (const { attachment } of album.files) {
    const { source, fileName } = attachment
    if (source.kind === 'url') return { success: false, problem: 'rejected', error: `${fileName} is not a local file` }
    const bytes = await openFile(source.open)
    if (!(bytes instanceof Blob)) return bytes
    files.push({ bytes, fileName })
  }
  const captions = await Promise.all(album.files.map(({ caption }) => renderCaption(caption)))
  const caption = captions.filter((text) => text !== '').join('\n')
  return await shareFiles(state, channel, album, { files, caption }, signal)
}

async function openFile(open: () => Promise<Blob>): Promise<Blob | SendResult> {
  try {
    return await open()
  } catch (thrown) {
    return { success: false, problem: 'rejected', error: messageOf(thrown) }
  }
}

async function shareFiles(
  { account, uploaded }: UploadsState,
  channel: string,
  { target, deliveryId }: Pick<OutboundMessage, 'target' | 'deliveryId'>,
  { files, caption }: { readonly files: readonly LocalFile[]; readonly caption: string },
  signal: AbortSignal,
): Promise<SendResult> {
  const shared: { readonly id: string; readonly title: string }[] = []
  for (const file of files) {
    const id = await uploadFile(account, file, signal)
    if (typeof id !== 'string') return id
    shared.push({ id, title: file.fileName })
  }
  const [first] = shared
  if (first !== undefined) uploaded.set(deliveryId, first.id)
  const args = {
    files: shared,
    channel_id: channel,
    thread_ts: target.threadId,
    ...(caption === '' ? {} : { initial_comment: caption }),
  }
  const completed = await account.call('files.completeUploadExternal', args, signal)
  // Slack does not return the message of the files.
  return completed.ok ? { success: true } : toSendResult(completed.failure)
}

/** Returns the id of the file, which no one sees before it is shared. */
async function uploadFile(
  { call, transport }: SlackAccount,
  { bytes, fileName }: LocalFile,
  signal: AbortSignal,
): Promise<string | SendResult> {
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
    const response = await transport.upload(url, bytes, signal)
    // Another attempt would get the same kind of address.
    if (response === 'refused') {
      return { success: false, problem: 'rejected', error: `the upload address is not https; ${fileHostsHint}` }
    }
    const { ok, status } = response
    return ok ? id : temporaryFailure(`the upload failed with status ${status}`)
  } catch (thrown) {
    return temporaryFailure(`the upload failed: ${messageOf(thrown)}`)
  }
}

const fileHostsHint = 'the host of a self-hosted server can be allowed with `file_hosts`'

function temporaryFailure(error: string): SendResult {
  return { success: false, problem: 'temporary', error }
}
