/**
 * The Bot API as the rest of this folder sees it: methods with plain payloads, and one kind of error.
 */
import { linkAbortSignal } from '#sdk'
import { ApiError, parseErrorResponse, toApiError } from '../errors.ts'
import { isRecord, type JsonRecord } from '../inbound/payload.ts'

export interface BotApi {
  /** Calls a method and gives its result. Throws `ApiError`, also when the signal aborts. */
  call(method: string, payload: JsonRecord, signal: AbortSignal): Promise<unknown>
  /** The same with a file, which goes out as it is read from the disk. */
  upload(method: string, payload: JsonRecord, file: UploadedFile, signal: AbortSignal): Promise<unknown>
  /** Where a file lies that `getFile` has named; the address holds the token. */
  fileUrl(path: string): string
}

export interface UploadedFile {
  /** The field of the payload it stands for: `photo`. */
  readonly field: string
  readonly name: string
  readonly blob: Blob
}

/**
 * What is used of telegraf's client. Its own types end with the Bot API of 2024, and want the signal of a package that
 * stood in for Node's own.
 */
export interface TelegrafClient {
  callApi(method: string, payload: JsonRecord, options?: { readonly signal?: object }): Promise<unknown>
}

export interface BotApiDeps {
  readonly client: TelegrafClient
  /** The client's own uploads never end under newer versions of Node. */
  readonly fetch: (url: string, init: { method: 'POST'; body: FormData; signal: AbortSignal }) => Promise<Response>
  /** Ends in a slash. */
  readonly apiRoot: string
  readonly token: string
  readonly redact: (text: string) => string
  /** How long a call may take. Above what Telegram holds the slowest poll. */
  readonly callTimeoutMs?: number
}

/** What takes longer was sent into a connection that has died. */
const defaultCallTimeoutMs = 40_000
/** A little before the gateway itself gives a call up, so that the reason is told. */
const uploadTimeoutMs = 115_000

export function createBotApi(deps: BotApiDeps): BotApi {
  const { client, fetch, apiRoot, token, redact, callTimeoutMs = defaultCallTimeoutMs } = deps

  return {
    async call(method, payload, signal) {
      throwIfAborted(signal)
      const limit = linkAbortSignal(signal)
      const timer = setTimeout(limit.abort, callTimeoutMs)
      try {
        return await client.callApi(method, payload, { signal: limit.signal })
      } catch (error) {
        if (limit.signal.aborted && !signal.aborted)
          throw new ApiError('Telegram does not answer.', { notExecuted: false })
        throw toApiError(error, redact)
      } finally {
        clearTimeout(timer)
        limit.release()
      }
    },
    async upload(method, payload, { field, name, blob }, signal) {
      const form = new FormData()
      for (const [key, value] of Object.entries(payload)) {
        if (value !== undefined) form.append(key, typeof value === 'string' ? value : JSON.stringify(value))
      }
      form.append(field, blob, name)
      throwIfAborted(signal)
      try {
        const limit = AbortSignal.any([signal, AbortSignal.timeout(uploadTimeoutMs)])
        const response = await fetch(`${apiRoot}bot${token}/${method}`, { method: 'POST', body: form, signal: limit })
        return parseResult(response.status, await response.text(), redact)
      } catch (error) {
        throw toApiError(error, redact)
      }
    },
    fileUrl: (path) => `${apiRoot}file/bot${token}/${path.split('/').map(encodeURIComponent).join('/')}`,
  }
}

function throwIfAborted(signal: AbortSignal): void {
  if (signal.aborted) throw new ApiError('The call was called off before it was made.', { notExecuted: true })
}

/** A server in between may answer with something that is not JSON. */
function parseResult(status: number, body: string, redact: (text: string) => string): unknown {
  const answer = parseJson(body)
  if (isRecord(answer) && answer['ok'] === true) return answer['result']
  const known = isRecord(answer) && typeof answer['error_code'] === 'number'
  throw parseErrorResponse(
    known ? answer : { error_code: status, description: 'an answer that is not of the Bot API' },
    redact,
  )
}

function parseJson(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}
