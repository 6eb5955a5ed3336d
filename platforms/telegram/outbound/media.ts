/**
 * Sends files, each with the method of the Bot API for its type. A file that Telegram cannot display as a photo, video or
 * audio is sent as a document.
 */
import { type GroupableFile, messageOf, type OutboundAttachment, type OutboundMessage, type SendResult } from '#sdk'
import { ApiError } from '../errors.ts'
import type { JsonRecord } from '../inbound/payload.ts'
import { maxCaptionChars, mediaFields, type RenderedText, renderText } from './render.ts'
import { type ChatCalls, catchApiError, sendText, sentResult } from './text.ts'
import { voiceDuration } from './voice-duration.ts'

/** Sends a file with its caption. A caption that is too long follows as a separate message. Throws `ApiError`. */
export async function sendFile(
  calls: ChatCalls,
  message: OutboundMessage,
  file: OutboundAttachment,
  signal: AbortSignal,
): Promise<SendResult> {
  const body = await renderText(message.text, maxCaptionChars)
  const isLong = body.text.length > maxCaptionChars && !body.isHtml
  const sent = await sendMedia(calls, message, file, isLong ? undefined : body, signal)
  if (!sent.success || !isLong) return sent
  const { replyTo: _replyTo, buttons: _buttons, attachment: _file, ...rest } = message
  const text = await catchApiError(() => sendText(calls, rest, signal))
  // The file has arrived. A retry would send it twice, so it must carry the label of a possible duplicate.
  return text.success ? sent : { ...text, maybeSent: true }
}

async function sendMedia(
  calls: ChatCalls,
  message: OutboundMessage,
  file: OutboundAttachment,
  caption: RenderedText | undefined,
  signal: AbortSignal,
): Promise<SendResult> {
  const media = mediaMethodOf(file)
  const fields = mediaFields(message, caption)
  const deliver = (method: MediaMethod, payload: JsonRecord) => callMediaMethod(calls, file, method, payload, signal)
  try {
    return await deliver(media, fields)
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    if (error.matches(/can't parse/i)) return await deliver(media, mediaFields(message, plainCaption(message)))
    if (file.source.kind === 'url' && error.matches(urlFetchFailed)) {
      return await sendLink(calls, message, file.source.url, signal)
    }
    if (media.method === 'sendPhoto' && error.matches(notAPhoto)) return await deliver(asDocument, fields)
    throw error
  }
}

async function callMediaMethod(
  { call, upload, maxUploadBytes }: ChatCalls,
  file: OutboundAttachment,
  { method, field }: MediaMethod,
  payload: JsonRecord,
  signal: AbortSignal,
): Promise<SendResult> {
  const { source, fileName } = file
  if (source.kind === 'url') {
    return sentResult(await call({ method, payload: { ...payload, [field]: source.url } }, signal))
  }
  checkUploadSize(file, maxUploadBytes)
  const blob = await openFile(file)
  const duration = field === 'voice' ? await voiceDuration(blob) : undefined
  const full = duration === undefined ? payload : { ...payload, duration }
  return sentResult(await upload({ method, payload: full }, [{ field, name: fileName, blob }], signal))
}

/** Telegram could not download the file, but the user may be able to. */
async function sendLink(
  calls: ChatCalls,
  message: OutboundMessage,
  url: string,
  signal: AbortSignal,
): Promise<SendResult> {
  const { attachment: _file, ...rest } = message
  const text = [message.text, url].filter((part) => part.trim() !== '').join('\n')
  return await sendText(calls, { ...rest, text }, signal)
}

const urlFetchFailed =
  /failed to get HTTP URL content|wrong file identifier|WEBPAGE_|wrong type of the web page content|wrong remote file/i
const notAPhoto = /PHOTO_|IMAGE_PROCESS_FAILED|wrong type|file is too big/i

function plainCaption({ text }: OutboundMessage): RenderedText {
  return { text: text.trim().slice(0, maxCaptionChars), isHtml: false }
}

/** Throws `ApiError` for a file that a bot cannot send. */
export function checkUploadSize({ source, fileName }: OutboundAttachment, limit: number): void {
  if (source.kind !== 'file' || source.bytes <= limit) return
  const megabytes = (count: number) => `${Math.ceil(count / 1_000_000)} MB`
  const message = `${fileName} has ${megabytes(source.bytes)}; bots can send files of at most ${megabytes(limit)}.`
  throw new ApiError(message, { code: 413, notExecuted: true })
}

/** A file may have been deleted since the message was queued, or may not be sendable. A retry would not help. */
export async function openFile({ source, fileName }: OutboundAttachment): Promise<Blob> {
  if (source.kind !== 'file') throw new Error('a URL cannot be opened as a file')
  try {
    return await source.open()
  } catch (error) {
    throw new ApiError(`${fileName} cannot be read: ${messageOf(error)}`, { code: 400, notExecuted: true })
  }
}

interface MediaMethod {
  readonly method: string
  /** The field of the payload for the file. */
  readonly field: string
}

const asDocument: MediaMethod = { method: 'sendDocument', field: 'document' }

/** Telegram rejects larger photos. */
const photoBytes = 10 * 1024 * 1024

/** The size of a file is considered where it is known. */
export function mediaMethodOf({ kind, fileName, mimeType, source }: OutboundAttachment | GroupableFile): MediaMethod {
  const type = mimeType.toLowerCase().split(';', 1)[0]?.trim() ?? ''
  const is = (types: RegExp, endings: RegExp) => types.test(type) || endings.test(fileName)
  switch (kind) {
    case 'image':
      if ('bytes' in source && source.bytes > photoBytes) return asDocument
      return is(/^image\/(jpeg|png|webp)$/, /\.(jpe?g|png|webp)$/i) ? method('Photo') : animationOr(is)
    case 'animation':
      return animationOr(is)
    case 'video':
      return is(/^video\/(mp4|quicktime)$/, /\.(mp4|mov)$/i) ? method('Video') : asDocument
    case 'voice':
      return is(/^audio\/(ogg|opus)$/, /\.(ogg|oga|opus)$/i) ? method('Voice') : audioOr(is)
    case 'audio':
      return audioOr(is)
    case 'document':
      return asDocument
  }
}

type TypeMatcher = (types: RegExp, endings: RegExp) => boolean

function animationOr(is: TypeMatcher): MediaMethod {
  return is(/^(image\/gif|video\/mp4)$/, /\.(gif|mp4)$/i) ? method('Animation') : asDocument
}

function audioOr(is: TypeMatcher): MediaMethod {
  return is(/^audio\/(mpeg|mp3|mp4|m4a|x-m4a|aac)$/, /\.(mp3|m4a)$/i) ? method('Audio') : asDocument
}

function method(name: string): MediaMethod {
  return { method: `send${name}`, field: name.toLowerCase() }
}
