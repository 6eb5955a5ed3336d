/**
 * Sends, edits and deletes messages. When Telegram rejects the formatting, the text is sent once more without it. All
 * other failures are returned to the outbox, which decides whether to retry.
 */
import { createLruCache, type OutboundMessage, type PlatformAdapter, type SendResult, type Target } from '#sdk'
import type { BotApi } from '../connection/api.ts'
import { ApiError, toSendResult } from '../errors.ts'
import { asId, asRecord, type JsonRecord } from '../inbound/payload.ts'
import { albumGroupOf, maxAlbumFiles, type SendAlbumDeps, sendAlbum } from './album.ts'
import { type SendFileDeps, sendFile } from './media.ts'
import {
  type ApiRequest,
  deleteRequest,
  draftRequest,
  editRequest,
  type RenderedText,
  renderText,
  sendRequest,
  typingRequest,
} from './render.ts'

export type Sender = Required<Pick<PlatformAdapter, 'send' | 'albums' | 'edit' | 'remove' | 'typing' | 'nativeDrafts'>>

export function createSender({
  api,
  maxUploadBytes,
  now,
}: {
  readonly api: BotApi
  /** The largest file that may be uploaded. */
  readonly maxUploadBytes: number
  /** Milliseconds of a monotonic clock. */
  readonly now: () => number
}): Sender {
  const rateLimits = createRateLimitScope(now)
  const migratedChats: MigratedChats = new Map()

  function callApi({ method, payload }: ApiRequest, signal: AbortSignal): Promise<unknown> {
    return withMigratedChat(migratedChats, payload, (current) => api.call(method, current, signal))
  }

  async function sendText(message: OutboundMessage, signal: AbortSignal): Promise<SendResult> {
    if (message.text.trim() === '') return emptyTextResult
    return await catchApiError(async () => {
      const body = await renderText(message.text)
      return sentResult(await callWithPlainFallback(callApi, sendRequest(message, body), message, body, signal))
    })
  }

  const upload: SendAlbumDeps['upload'] = ({ method, payload }, files, signal) =>
    withMigratedChat(migratedChats, payload, (current) => api.upload(method, current, files, signal))
  const fileDeps: SendFileDeps = {
    call: async (request, signal) => sentResult(await callApi(request, signal)),
    upload: async (request, file, signal) => sentResult(await upload(request, [file], signal)),
    sendText,
    maxUploadBytes,
  }

  return {
    async send(message, signal) {
      const { attachment, target } = message
      const sending =
        attachment === undefined
          ? sendText(message, signal)
          : catchApiError(() => sendFile(fileDeps, message, attachment, signal))
      return rateLimits.classify(target.chatId, await sending)
    },
    albums: {
      maxFiles: maxAlbumFiles,
      groupOf: albumGroupOf,
      async send(album, signal) {
        const result = await catchApiError(() => sendAlbum({ upload, maxUploadBytes }, album, signal))
        return result.success ? result : rateLimits.classify(album.target.chatId, result)
      },
    },
    async edit(messageId, message, _final, signal) {
      const result = await catchApiError(() => editText(callApi, messageId, message, signal))
      return rateLimits.classify(message.target.chatId, withoutMaybeSent(result))
    },
    nativeDrafts: createNativeDrafts({
      async send(draftId, message, signal) {
        const body = await renderText(message.text)
        return await callWithPlainFallback(callApi, draftRequest(draftId, message, body), message, body, signal)
      },
      toResult: async (work) => withoutMaybeSent(await catchApiError(work)),
    }),
    async remove(target, messageId, signal) {
      const result = await catchApiError(() => deleteMessage(callApi, target, messageId, signal))
      return rateLimits.classify(target.chatId, withoutMaybeSent(result))
    },
    async typing(target, signal) {
      const result = await catchApiError<SendResult>(async () => {
        await callApi(typingRequest(target), signal)
        return { success: true }
      })
      return rateLimits.classify(target.chatId, withoutMaybeSent(result))
    },
  }
}

/** Telegram accepts about nine drafts per second in the long run. */
const draftIntervalMs = 300
const maxRefusedChats = 1_000

/**
 * Shows a growing reply with `sendMessageDraft` (Bot API 9.5), in private chats only. Telegram removes a draft after 30 seconds,
 * or when the bot sends the message. Older servers and some chats refuse drafts; the reply is then streamed by edits.
 */
function createNativeDrafts({
  send,
  toResult,
}: {
  /** Sends a draft. Rejects with `ApiError`. */
  send(draftId: number, message: OutboundMessage, signal: AbortSignal): Promise<unknown>
  toResult(work: () => Promise<SendResult>): Promise<SendResult>
}): NonNullable<PlatformAdapter['nativeDrafts']> {
  const refusedChats = createLruCache<true>(maxRefusedChats)
  let hasMethod = true

  return {
    intervalMs: draftIntervalMs,
    // The ids of groups and channels are negative.
    isSupported: ({ chatId }) => hasMethod && /^\d+$/.test(chatId) && refusedChats.get(chatId) === undefined,
    show: (draftId, message, signal) =>
      toResult(async () => {
        try {
          await send(draftId, message, signal)
          return { success: true }
        } catch (error) {
          if (error instanceof ApiError && error.details.code === 404) hasMethod = false
          else if (error instanceof ApiError && isRefusal(error)) refusedChats.set(message.target.chatId, true)
          throw error
        }
      }),
  }
}

function isRefusal({ details: { code } }: ApiError): boolean {
  return code === 400 || code === 403
}

/** Sends a request to the current id of its chat. Throws `ApiError`. */
type CallApi = (request: ApiRequest, signal: AbortSignal) => Promise<unknown>

async function editText(
  callApi: CallApi,
  messageId: string,
  message: OutboundMessage,
  signal: AbortSignal,
): Promise<SendResult> {
  if (message.text.trim() === '') return emptyTextResult
  const body = await renderText(message.text)
  const request = editRequest(messageId, message, body)
  if (request === undefined) return noSuchMessageResult
  try {
    return sentResult(await callWithPlainFallback(callApi, request, message, body, signal), messageId)
  } catch (error) {
    // An earlier attempt has already made this edit.
    if (error instanceof ApiError && error.matches(/message is not modified/i)) return { success: true, messageId }
    throw error
  }
}

async function deleteMessage(
  callApi: CallApi,
  target: Target,
  messageId: string,
  signal: AbortSignal,
): Promise<SendResult> {
  const request = deleteRequest(target, messageId)
  if (request === undefined) return noSuchMessageResult
  try {
    await callApi(request, signal)
  } catch (error) {
    if (!(error instanceof ApiError && error.matches(/message to delete not found/i))) throw error
  }
  return { success: true }
}

/** When Telegram cannot parse the HTML, sends the original text instead. */
async function callWithPlainFallback(
  callApi: CallApi,
  request: ApiRequest,
  message: OutboundMessage,
  body: RenderedText,
  signal: AbortSignal,
): Promise<unknown> {
  try {
    return await callApi(request, signal)
  } catch (error) {
    if (!body.isHtml || !(error instanceof ApiError) || !error.matches(/can't parse|message is too long/i)) throw error
    const { parse_mode: _mode, ...payload } = request.payload
    return await callApi({ ...request, payload: { ...payload, text: message.text.trim() } }, signal)
  }
}

/** Ids of supergroups by the id of the group that was converted. Sessions may still use the former id. */
type MigratedChats = Map<string, string>

/** Calls with the current id of the chat, and once more when Telegram returns a new id. */
async function withMigratedChat(
  migratedChats: MigratedChats,
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

const emptyTextResult: SendResult = {
  success: false,
  problem: 'rejected',
  error: 'Telegram accepts no message without text.',
}
const noSuchMessageResult: SendResult = {
  success: false,
  problem: 'rejected',
  error: 'Telegram has no message with this id.',
}

type SendFailure = Extract<SendResult, { success: false }>

/** The result of a call that returns a message. */
function sentResult(result: unknown, knownId?: string): SendResult {
  const messageId = asId(asRecord(result)['message_id']) ?? knownId
  return { success: true, ...(messageId === undefined ? {} : { messageId }) }
}

async function catchApiError<Result>(work: () => Promise<Result>): Promise<Result | SendFailure> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof ApiError) return toSendResult(error)
    throw error
  }
}

/** For calls that are safe to repeat. */
function withoutMaybeSent(result: SendResult): SendResult {
  if (result.success) return result
  const { maybeSent: _maybeSent, ...rest } = result
  return rest
}

export interface RateLimitScope {
  /** Adds the scope to a rate-limited result. */
  classify(chatId: string, result: SendResult): SendResult
}

/** From this number of chats that are limited at the same time, the limit is assumed to be that of the account. */
const minChatsForAccountLimit = 3

/**
 * Telegram limits the calls for each chat and those of the bot, and its error does not say which limit applies. Limits in
 * several chats at the same time indicate that it is the bot's.
 *
 * @param now milliseconds of a monotonic clock
 */
export function createRateLimitScope(now: () => number): RateLimitScope {
  /** When each chat may be called again. */
  const limitedUntil = new Map<string, number>()

  return {
    classify(chatId, result) {
      if (result.success || result.problem !== 'rate-limited') return result
      const at = now()
      for (const [chat, until] of limitedUntil) if (until <= at) limitedUntil.delete(chat)
      limitedUntil.set(chatId, at + (result.retryAfterMs ?? 0))
      return { ...result, scope: limitedUntil.size >= minChatsForAccountLimit ? 'account' : 'chat' }
    },
  }
}
