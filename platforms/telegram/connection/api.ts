/**
 * A client for the Bot API: method name and payload in, result or `ApiError` out.
 */
import { isRecord, linkAbortSignal, parseJson } from '#sdk'
import { ApiError, createTokenRedactor, parseErrorResponse, toApiError } from '../errors.ts'
import type { JsonRecord } from '../inbound/payload.ts'
import type { TelegramOptions } from '../options.ts'

/** The updates that the gateway requests. The Bot API has no update for deleted messages. */
export const allowedUpdates = [
  'message',
  'edited_message',
  'channel_post',
  'edited_channel_post',
  'callback_query',
  'message_reaction',
] as const

export interface BotApi {
  /** Calls a method and returns its result. Throws `ApiError`, also when the signal aborts. */
  call(method: string, payload: JsonRecord, signal: AbortSignal): Promise<unknown>
  /** Calls a method with files, which are streamed from disk. Throws `ApiError`. */
  upload(method: string, payload: JsonRecord, files: readonly UploadedFile[], signal: AbortSignal): Promise<unknown>
  /** The largest file that may be uploaded. */
  readonly maxUploadBytes: number
  /** The download URL of a path returned by `getFile`. It contains the token. */
  fileUrl(path: string): string
}

export interface UploadedFile {
  /** The field of the form: `photo`, or the name that the payload refers to with `attach://`. */
  readonly field: string
  readonly name: string
  readonly blob: Blob
}

/**
 * The part of telegraf's client that is used. telegraf's types describe the Bot API of 2024 and require the `AbortSignal`
 * of a polyfill.
 */
export interface TelegrafClient {
  callApi(method: string, payload: JsonRecord, options?: { readonly signal?: object }): Promise<unknown>
}

/** A call that takes longer was sent over a dead connection. Must exceed the hold time of the slowest poll. */
const defaultCallTimeoutMs = 40_000
/** Shorter than the gateway's own time limit, so that the error names the reason. */
const uploadTimeoutMs = 115_000

/** Upload limits of Telegram and of a self-hosted Bot API server. */
const maxUploadBytes = 50_000_000
const ownServerMaxUploadBytes = 2_000_000_000

export function createBotApi(
  { apiRoot, ownApiRoot, token }: Pick<TelegramOptions, 'apiRoot' | 'ownApiRoot' | 'token'>,
  client: TelegrafClient,
  callTimeoutMs = defaultCallTimeoutMs,
): BotApi {
  const redact = createTokenRedactor(token)

  return {
    async call(method, payload, signal) {
      throwIfAborted(signal)
      const limit = linkAbortSignal(signal)
      const timer = setTimeout(limit.abort, callTimeoutMs)
      try {
        return await client.callApi(method, payload, { signal: limit.signal })
      } catch (error) {
        if (limit.signal.aborted && !signal.aborted)
          throw new ApiError('Telegram does not respond.', { notExecuted: false })
        throw toApiError(error, redact)
      } finally {
        clearTimeout(timer)
        limit.release()
      }
    },
    async upload(method, payload, files, signal) {
      const form = new FormData()
      for (const [key, value] of Object.entries(payload)) {
        if (value !== undefined) form.append(key, typeof value === 'string' ? value : JSON.stringify(value))
      }
      for (const { field, name, blob } of files) form.append(field, blob, name)
      throwIfAborted(signal)
      try {
        // telegraf's own uploads never finish on current versions of Node.
        const limit = AbortSignal.any([signal, AbortSignal.timeout(uploadTimeoutMs)])
        const response = await fetch(`${apiRoot}bot${token}/${method}`, { method: 'POST', body: form, signal: limit })
        return parseResult(response.status, await response.text(), redact)
      } catch (error) {
        throw toApiError(error, redact)
      }
    },
    maxUploadBytes: ownApiRoot ? ownServerMaxUploadBytes : maxUploadBytes,
    fileUrl: (path) => `${apiRoot}file/bot${token}/${path.split('/').map(encodeURIComponent).join('/')}`,
  }
}

function throwIfAborted(signal: AbortSignal): void {
  if (signal.aborted) throw new ApiError('The call was aborted before it was sent.', { notExecuted: true })
}

/** A proxy may respond with something other than JSON. */
function parseResult(status: number, body: string, redact: (text: string) => string): unknown {
  const json = parseJson(body)
  if (isRecord(json) && json['ok'] === true) return json['result']
  const isApiError = isRecord(json) && typeof json['error_code'] === 'number'
  throw parseErrorResponse(
    isApiError ? json : { error_code: status, description: 'the response is not from the Bot API' },
    redact,
  )
}
