/**
 * Sends texts, edits them, and shows them while they are written. When Telegram rejects the formatting, the text is sent once more
 * without it. All calls for a chat follow a group that was converted into a supergroup, and what a failed one means for the outbox is
 * decided here.
 */
import { createLruCache, type OutboundMessage, type PlatformAdapter, type SendResult } from '#sdk'
import type { BotApi, UploadedFile } from '../connection/api.ts'
import { ApiError } from '../errors.ts'
import { asId, asRecord, type JsonRecord } from '../inbound/payload.ts'
import { type ApiRequest, draftRequest, editRequest, type RenderedText, renderText, sendRequest } from './render.ts'

export interface ChatCalls {
  /** Throws `ApiError`. */
  call(request: ApiRequest, signal: AbortSignal): Promise<unknown>
  /** Calls a method with files, of which there may be none. Throws `ApiError`. */
  upload(request: ApiRequest, files: readonly UploadedFile[], signal: AbortSignal): Promise<unknown>
  readonly maxUploadBytes: number
}

export function createChatCalls(api: BotApi): ChatCalls {
  /** Ids of supergroups by the id of the group that was converted. Sessions may still use the former id. */
  const migratedChats = new Map<string, string>()
  return {
    call: ({ method, payload }, signal) => withMigratedChat(payload, (current) => api.call(method, current, signal)),
    upload: ({ method, payload }, files, signal) =>
      withMigratedChat(payload, (current) => api.upload(method, current, files, signal)),
    maxUploadBytes: api.maxUploadBytes,
  }

  /** Calls with the current id of the chat, and once more when Telegram returns a new id. */
  async function withMigratedChat(
    payload: JsonRecord,
    call: (payload: JsonRecord) => Promise<unknown>,
  ): Promise<unknown> {
    const chatId = String(payload['chat_id'])
    const knownId = migratedChats.get(chatId)
    try {
      return await call(knownId === undefined ? payload : { ...payload, chat_id: Number(knownId) })
    } catch (error) {
      const newId = error instanceof ApiError ? error.details.migratedTo : undefined
      if (newId === undefined || knownId !== undefined) throw error
      migratedChats.set(chatId, newId)
      return await call({ ...payload, chat_id: Number(newId) })
    }
  }
}

type SendFailure = Extract<SendResult, { success: false }>

/** Tells the outbox how to continue after a failed call. */
export function toSendResult({ message: error, details }: ApiError): SendFailure {
  const { code, retryAfterMs, notExecuted } = details
  if (code === 401) return { success: false, problem: 'unauthorised', error }
  if (code === 429) return { success: false, problem: 'rate-limited', error, retryAfterMs }
  if (code !== undefined && code >= 400 && code < 500)
    return { ...rejected(error), ...(chatGonePattern.test(error) ? { chatGone: true } : {}) }
  return { success: false, problem: 'temporary', error, ...(notExecuted ? {} : { maybeSent: true }) }
}

export function rejected(error: string): SendFailure {
  return { success: false, problem: 'rejected', error }
}

export async function catchApiError<Result>(work: () => Promise<Result>): Promise<Result | SendFailure> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof ApiError) return toSendResult(error)
    throw error
  }
}

/** The result of a call that is safe to repeat. */
export function withoutMaybeSent(result: SendResult): SendResult {
  return result.success ? result : { ...result, maybeSent: undefined }
}

/** Descriptions of a chat that takes no message at all. Others are about one message, one thread or one permission. */
const chatGonePattern =
  /chat not found|bot was (?:blocked|kicked)|user is deactivated|bot is not a member|bot can't initiate conversation|group chat was deleted|PEER_ID_INVALID/i

const emptyTextResult = rejected('Telegram accepts no message without text.')
export const noSuchMessageResult = rejected('Telegram has no message with this id.')

/** Throws `ApiError`. */
export async function sendText(calls: ChatCalls, message: OutboundMessage, signal: AbortSignal): Promise<SendResult> {
  if (message.text.trim() === '') return emptyTextResult
  const body = await renderText(message.text)
  return sentResult(await callWithPlainFallback(calls, sendRequest(message, body), message.text, body, signal))
}

/** Throws `ApiError`. */
export async function editText(
  calls: ChatCalls,
  messageId: string,
  message: OutboundMessage,
  signal: AbortSignal,
): Promise<SendResult> {
  if (message.text.trim() === '') return emptyTextResult
  const body = await renderText(message.text)
  const request = editRequest(messageId, message, body)
  if (request === undefined) return noSuchMessageResult
  try {
    return sentResult(await callWithPlainFallback(calls, request, message.text, body, signal), messageId)
  } catch (error) {
    // An earlier attempt has already made this edit.
    if (error instanceof ApiError && error.matches(/message is not modified/i)) return { success: true, messageId }
    throw error
  }
}

/** When Telegram cannot parse the HTML, sends the original text instead. */
async function callWithPlainFallback(
  { call }: ChatCalls,
  request: ApiRequest,
  text: string,
  body: RenderedText,
  signal: AbortSignal,
): Promise<unknown> {
  try {
    return await call(request, signal)
  } catch (error) {
    if (!body.isHtml || !(error instanceof ApiError) || !error.matches(/can't parse|message is too long/i)) throw error
    const { parse_mode: _mode, ...payload } = request.payload
    return await call({ ...request, payload: { ...payload, text: text.trim() } }, signal)
  }
}

/** The result of a call that returns a message. */
export function sentResult(result: unknown, knownId?: string): SendResult {
  return { success: true, messageId: asId(asRecord(result)['message_id']) ?? knownId }
}

/** Telegram accepts about nine drafts per second in the long run. */
const draftIntervalMs = 300
const maxRefusedChats = 1_000

/**
 * Shows a growing reply with `sendMessageDraft` (Bot API 9.5), in private chats only. Telegram removes a draft after 30 seconds,
 * or when the bot sends the message. Older servers and some chats refuse drafts; the reply is then streamed by edits.
 */
export function createNativeDrafts(calls: ChatCalls): NonNullable<PlatformAdapter['nativeDrafts']> {
  const refusedChats = createLruCache<true>(maxRefusedChats)
  let hasMethod = true

  return {
    intervalMs: draftIntervalMs,
    // The ids of groups and channels are negative.
    isSupported: ({ chatId }) => hasMethod && /^\d+$/.test(chatId) && refusedChats.get(chatId) === undefined,
    async show(draftId, message, signal) {
      const result = await catchApiError<SendResult>(async () => {
        try {
          const body = await renderText(message.text)
          await callWithPlainFallback(calls, draftRequest(draftId, message, body), message.text, body, signal)
          return { success: true }
        } catch (error) {
          if (error instanceof ApiError && error.details.code === 404) hasMethod = false
          else if (error instanceof ApiError && isRefusal(error)) refusedChats.set(message.target.chatId, true)
          throw error
        }
      })
      return withoutMaybeSent(result)
    },
  }
}

function isRefusal({ details: { code } }: ApiError): boolean {
  return code === 400 || code === 403
}
