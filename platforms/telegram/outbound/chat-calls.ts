/**
 * Calls of the Bot API for a chat, which follow a group that was converted into a supergroup.
 */
import type { SendResult } from '#sdk'
import type { BotApi, UploadedFile } from '../connection/api.ts'
import { ApiError } from '../errors.ts'
import { asId, asRecord, type JsonRecord } from '../inbound/payload.ts'
import type { ApiRequest, RenderedText } from './render.ts'

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

/** When Telegram cannot parse the HTML, sends the original text instead. */
export async function callWithPlainFallback(
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
