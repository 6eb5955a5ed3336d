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
import type { BotApi } from './bot-api.ts'
import { ApiFault, resultOf } from './fault.ts'
import { type Fields, fieldsOf, idOf } from './fields.ts'
import type { Limits } from './limits.ts'
import { asDocument, mediaMethodOf } from './render/media.ts'
import {
  type Body,
  bodyOf,
  type Call,
  captionLimit,
  editCall,
  mediaFields,
  removeCall,
  sendCall,
  typingCall,
} from './render.ts'

export type Sender = Required<Pick<PlatformAdapter, 'send' | 'edit' | 'remove' | 'typing'>>

export interface SenderDeps {
  readonly api: BotApi
  /** The largest file that may be uploaded. */
  readonly maxUploadBytes: number
  readonly limits: Limits
}

export function createSender({ api, maxUploadBytes, limits }: SenderDeps): Sender {
  /** Groups that have become supergroups, by their former id: what is still addressed to those arrives too. */
  const moved = new Map<string, string>()

  return {
    async send(message, signal) {
      const { attachment, target } = message
      const sending = attachment === undefined ? sendText(message, signal) : sendFile(message, attachment, signal)
      return limits.note(target.chatId, await sending)
    },
    async edit(messageId, message, _final, signal) {
      return limits.note(message.target.chatId, harmless(await answer(() => edit(messageId, message, signal))))
    },
    async remove(target, messageId, signal) {
      return limits.note(target.chatId, harmless(await answer(() => remove(target, messageId, signal))))
    },
    async typing(target, signal) {
      return limits.note(target.chatId, harmless(await answer(() => type(target, signal))))
    },
  }

  async function edit(messageId: string, message: OutboundMessage, signal: AbortSignal): Promise<SendResult> {
    if (message.text.trim() === '') return empty
    const body = await bodyOf(message.text)
    const call = editCall(messageId, message, body)
    if (call === undefined) return noSuchMessage
    try {
      return madeOf(await plainer(call, message, body, signal), messageId)
    } catch (error) {
      // It reads like this already: an earlier try has arrived.
      if (error instanceof ApiFault && error.says(/message is not modified/i)) return { success: true, messageId }
      throw error
    }
  }

  async function remove(target: Target, messageId: string, signal: AbortSignal): Promise<SendResult> {
    const call = removeCall(target, messageId)
    if (call === undefined) return noSuchMessage
    try {
      await make(call, signal)
    } catch (error) {
      if (!(error instanceof ApiFault && error.says(/message to delete not found/i))) throw error
    }
    return { success: true }
  }

  async function type(target: Target, signal: AbortSignal): Promise<SendResult> {
    await make(typingCall(target), signal)
    return { success: true }
  }

  async function sendText(message: OutboundMessage, signal: AbortSignal): Promise<SendResult> {
    if (message.text.trim() === '') return empty
    return await answer(async () => {
      const body = await bodyOf(message.text)
      return madeOf(await plainer(sendCall(message, body), message, body, signal))
    })
  }

  /** The file with its caption; a caption that is too long follows as a message of its own. */
  async function sendFile(
    message: OutboundMessage,
    file: OutboundAttachment,
    signal: AbortSignal,
  ): Promise<SendResult> {
    return await answer(async () => {
      const body = await bodyOf(message.text, captionLimit)
      const isLong = body.text.length > captionLimit && !body.isHtml
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
    caption: Body | undefined,
    signal: AbortSignal,
  ): Promise<SendResult> {
    const media = mediaMethodOf(file)
    const fields = mediaFields(message, caption)
    try {
      return madeOf(await deliver(media, fields))
    } catch (error) {
      if (!(error instanceof ApiFault)) throw error
      if (error.says(/can't parse/i)) return madeOf(await deliver(media, mediaFields(message, plainOf(message))))
      if (file.source.kind === 'url' && error.says(unfetched)) return await sendLink(message, file.source.url, signal)
      if (media.method === 'sendPhoto' && error.says(noPicture)) return madeOf(await deliver(asDocument, fields))
      throw error
    }

    async function deliver({ method, field }: typeof media, payload: Fields): Promise<unknown> {
      const { source, fileName } = file
      if (source.kind === 'url') return await make({ method, payload: { ...payload, [field]: source.url } }, signal)
      if (source.bytes > maxUploadBytes) throw tooBig(fileName, source.bytes, maxUploadBytes)
      const blob = await opened(file)
      return await moving(payload, (settled) => api.upload(method, settled, { field, name: fileName, blob }, signal))
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
  async function plainer(call: Call, message: OutboundMessage, body: Body, signal: AbortSignal): Promise<unknown> {
    try {
      return await make(call, signal)
    } catch (error) {
      if (!body.isHtml || !(error instanceof ApiFault) || !error.says(/can't parse|message is too long/i)) throw error
      const { parse_mode: _mode, ...payload } = call.payload
      return await make({ ...call, payload: { ...payload, text: message.text.trim() } }, signal)
    }
  }

  function make({ method, payload }: Call, signal: AbortSignal): Promise<unknown> {
    return moving(payload, (settled) => api.call(method, settled, signal))
  }

  /** Follows a group that has become a supergroup. */
  async function moving(payload: Fields, call: (payload: Fields) => Promise<unknown>): Promise<unknown> {
    const chat = String(payload['chat_id'])
    const known = moved.get(chat)
    try {
      return await call(known === undefined ? payload : { ...payload, chat_id: Number(known) })
    } catch (error) {
      const to = error instanceof ApiFault ? error.facts.movedTo : undefined
      if (to === undefined || known !== undefined) throw error
      moved.set(chat, to)
      return await call({ ...payload, chat_id: Number(to) })
    }
  }
}

const empty: SendResult = { success: false, problem: 'rejected', error: 'Telegram takes no message without text.' }
const noSuchMessage: SendResult = {
  success: false,
  problem: 'rejected',
  error: 'There is no such message on Telegram.',
}
const unfetched =
  /failed to get HTTP URL content|wrong file identifier|WEBPAGE_|wrong type of the web page content|wrong remote file/i
const noPicture = /PHOTO_|IMAGE_PROCESS_FAILED|wrong type|file is too big/i

/** The result of a call that gives a message. */
function madeOf(result: unknown, known?: string): SendResult {
  const messageId = idOf(fieldsOf(result)['message_id']) ?? known
  return { success: true, ...(messageId === undefined ? {} : { messageId }) }
}

/** Never throws for what Telegram says. */
async function answer(work: () => Promise<SendResult>): Promise<SendResult> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof ApiFault) return resultOf(error)
    throw error
  }
}

/** Of a call that shows nothing twice when it is repeated. */
function harmless(result: SendResult): SendResult {
  if (result.success) return result
  const { maybeSent: _maybeSent, ...rest } = result
  return rest
}

function plainOf({ text }: OutboundMessage): Body {
  return { text: text.trim().slice(0, captionLimit), isHtml: false }
}

function tooBig(fileName: string, bytes: number, limit: number): ApiFault {
  const megabytes = (count: number) => `${Math.ceil(count / 1_000_000)} MB`
  const what = `${fileName} has ${megabytes(bytes)}; bots may send files of at most ${megabytes(limit)}.`
  return new ApiFault(what, { code: 413, unsent: true })
}

/** May have gone since it was named, or may not be sent: trying again will not help. */
async function opened({ source, fileName }: OutboundAttachment): Promise<Blob> {
  if (source.kind !== 'file') throw new Error('an address is not opened')
  try {
    return await source.open()
  } catch (error) {
    throw new ApiFault(`${fileName} cannot be read: ${messageOf(error)}`, { code: 400, unsent: true })
  }
}
