/**
 * Everything that goes out: messages, edits, deletions, typing, files. What Telegram refuses in one form is tried once in
 * a plainer one; all else is said to the outbox, which decides.
 */
import {
  messageOf,
  type OutboundAttachment,
  type OutboundMessage,
  type PlatformAdapter,
  type SendResult,
  type Target,
} from '#sdk'
import type { BotApi } from '../connection/api.ts'
import { ApiError, toSendResult } from '../errors.ts'
import { asId, asRecord, type JsonRecord } from '../inbound/payload.ts'
import { asDocument, mediaMethodOf } from './media.ts'
import type { RateLimitScope } from './rate-limit-scope.ts'
import {
  type ApiRequest,
  deleteRequest,
  editRequest,
  maxCaptionChars,
  mediaFields,
  type RenderedText,
  renderText,
  sendRequest,
  typingRequest,
} from './render.ts'

export type Sender = Required<Pick<PlatformAdapter, 'send' | 'edit' | 'remove' | 'typing'>>

export interface SenderDeps {
  readonly api: BotApi
  /** The largest file that may be uploaded. */
  readonly maxUploadBytes: number
  readonly rateLimitScope: RateLimitScope
}

export function createSender({ api, maxUploadBytes, rateLimitScope: limits }: SenderDeps): Sender {
  /** Groups that have become supergroups, by their former id: what is still addressed to those arrives too. */
  const migratedChats = new Map<string, string>()

  return {
    async send(message, signal) {
      const { attachment, target } = message
      const sending = attachment === undefined ? sendText(message, signal) : sendFile(message, attachment, signal)
      return limits.classify(target.chatId, await sending)
    },
    async edit(messageId, message, _final, signal) {
      return limits.classify(
        message.target.chatId,
        withoutMaybeSent(await catchApiError(() => edit(messageId, message, signal))),
      )
    },
    async remove(target, messageId, signal) {
      return limits.classify(
        target.chatId,
        withoutMaybeSent(await catchApiError(() => remove(target, messageId, signal))),
      )
    },
    async typing(target, signal) {
      return limits.classify(target.chatId, withoutMaybeSent(await catchApiError(() => type(target, signal))))
    },
  }

  async function edit(messageId: string, message: OutboundMessage, signal: AbortSignal): Promise<SendResult> {
    if (message.text.trim() === '') return emptyTextResult
    const body = await renderText(message.text)
    const call = editRequest(messageId, message, body)
    if (call === undefined) return noSuchMessageResult
    try {
      return sentResult(await callWithPlainFallback(call, message, body, signal), messageId)
    } catch (error) {
      // It reads like this already: an earlier try has arrived.
      if (error instanceof ApiError && error.matches(/message is not modified/i)) return { success: true, messageId }
      throw error
    }
  }

  async function remove(target: Target, messageId: string, signal: AbortSignal): Promise<SendResult> {
    const call = deleteRequest(target, messageId)
    if (call === undefined) return noSuchMessageResult
    try {
      await callApi(call, signal)
    } catch (error) {
      if (!(error instanceof ApiError && error.matches(/message to delete not found/i))) throw error
    }
    return { success: true }
  }

  async function type(target: Target, signal: AbortSignal): Promise<SendResult> {
    await callApi(typingRequest(target), signal)
    return { success: true }
  }

  async function sendText(message: OutboundMessage, signal: AbortSignal): Promise<SendResult> {
    if (message.text.trim() === '') return emptyTextResult
    return await catchApiError(async () => {
      const body = await renderText(message.text)
      return sentResult(await callWithPlainFallback(sendRequest(message, body), message, body, signal))
    })
  }

  /** The file with its caption; a caption that is too long follows as a message of its own. */
  async function sendFile(
    message: OutboundMessage,
    file: OutboundAttachment,
    signal: AbortSignal,
  ): Promise<SendResult> {
    return await catchApiError(async () => {
      const body = await renderText(message.text, maxCaptionChars)
      const isLong = body.text.length > maxCaptionChars && !body.isHtml
      const sent = await sendMedia(message, file, isLong ? undefined : body, signal)
      if (!sent.success || !isLong) return sent
      const { replyTo: _replyTo, buttons: _buttons, attachment: _file, ...rest } = message
      const text = await sendText(rest, signal)
      // The file has arrived: a second try would show it twice, so it must carry the label.
      return text.success ? sent : { ...text, maybeSent: true }
    })
  }

  async function sendMedia(
    message: OutboundMessage,
    file: OutboundAttachment,
    caption: RenderedText | undefined,
    signal: AbortSignal,
  ): Promise<SendResult> {
    const media = mediaMethodOf(file)
    const fields = mediaFields(message, caption)
    try {
      return sentResult(await deliver(media, fields))
    } catch (error) {
      if (!(error instanceof ApiError)) throw error
      if (error.matches(/can't parse/i))
        return sentResult(await deliver(media, mediaFields(message, plainCaption(message))))
      if (file.source.kind === 'url' && error.matches(urlFetchFailed))
        return await sendLink(message, file.source.url, signal)
      if (media.method === 'sendPhoto' && error.matches(notAPhoto)) return sentResult(await deliver(asDocument, fields))
      throw error
    }

    async function deliver({ method, field }: typeof media, payload: JsonRecord): Promise<unknown> {
      const { source, fileName } = file
      if (source.kind === 'url') return await callApi({ method, payload: { ...payload, [field]: source.url } }, signal)
      if (source.bytes > maxUploadBytes) throw fileTooLarge(fileName, source.bytes, maxUploadBytes)
      const blob = await openFile(file)
      return await withMigratedChat(payload, (settled) =>
        api.upload(method, settled, { field, name: fileName, blob }, signal),
      )
    }
  }

  /** What Telegram cannot fetch, people can open. */
  async function sendLink(message: OutboundMessage, url: string, signal: AbortSignal): Promise<SendResult> {
    const { attachment: _file, ...rest } = message
    return await sendText(
      { ...rest, text: [message.text, url].filter((part) => part.trim() !== '').join('\n') },
      signal,
    )
  }

  /** Makes the call; when Telegram cannot read our HTML, once more with the text as it was written. */
  async function callWithPlainFallback(
    call: ApiRequest,
    message: OutboundMessage,
    body: RenderedText,
    signal: AbortSignal,
  ): Promise<unknown> {
    try {
      return await callApi(call, signal)
    } catch (error) {
      if (!body.isHtml || !(error instanceof ApiError) || !error.matches(/can't parse|message is too long/i))
        throw error
      const { parse_mode: _mode, ...payload } = call.payload
      return await callApi({ ...call, payload: { ...payload, text: message.text.trim() } }, signal)
    }
  }

  function callApi({ method, payload }: ApiRequest, signal: AbortSignal): Promise<unknown> {
    return withMigratedChat(payload, (settled) => api.call(method, settled, signal))
  }

  /** Follows a group that has become a supergroup. */
  async function withMigratedChat(
    payload: JsonRecord,
    call: (payload: JsonRecord) => Promise<unknown>,
  ): Promise<unknown> {
    const chat = String(payload['chat_id'])
    const known = migratedChats.get(chat)
    try {
      return await call(known === undefined ? payload : { ...payload, chat_id: Number(known) })
    } catch (error) {
      const to = error instanceof ApiError ? error.details.migratedTo : undefined
      if (to === undefined || known !== undefined) throw error
      migratedChats.set(chat, to)
      return await call({ ...payload, chat_id: Number(to) })
    }
  }
}

const emptyTextResult: SendResult = {
  success: false,
  problem: 'rejected',
  error: 'Telegram takes no message without text.',
}
const noSuchMessageResult: SendResult = {
  success: false,
  problem: 'rejected',
  error: 'There is no such message on Telegram.',
}
const urlFetchFailed =
  /failed to get HTTP URL content|wrong file identifier|WEBPAGE_|wrong type of the web page content|wrong remote file/i
const notAPhoto = /PHOTO_|IMAGE_PROCESS_FAILED|wrong type|file is too big/i

/** The result of a call that gives a message. */
function sentResult(result: unknown, known?: string): SendResult {
  const messageId = asId(asRecord(result)['message_id']) ?? known
  return { success: true, ...(messageId === undefined ? {} : { messageId }) }
}

/** Never throws for what Telegram says. */
async function catchApiError(work: () => Promise<SendResult>): Promise<SendResult> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof ApiError) return toSendResult(error)
    throw error
  }
}

/** Of a call that shows nothing twice when it is repeated. */
function withoutMaybeSent(result: SendResult): SendResult {
  if (result.success) return result
  const { maybeSent: _maybeSent, ...rest } = result
  return rest
}

function plainCaption({ text }: OutboundMessage): RenderedText {
  return { text: text.trim().slice(0, maxCaptionChars), isHtml: false }
}

function fileTooLarge(fileName: string, bytes: number, limit: number): ApiError {
  const megabytes = (count: number) => `${Math.ceil(count / 1_000_000)} MB`
  const what = `${fileName} has ${megabytes(bytes)}; bots may send files of at most ${megabytes(limit)}.`
  return new ApiError(what, { code: 413, notExecuted: true })
}

/** May have gone since it was named, or may not be sent: trying again will not help. */
async function openFile({ source, fileName }: OutboundAttachment): Promise<Blob> {
  if (source.kind !== 'file') throw new Error('an address is not opened')
  try {
    return await source.open()
  } catch (error) {
    throw new ApiError(`${fileName} cannot be read: ${messageOf(error)}`, { code: 400, notExecuted: true })
  }
}
