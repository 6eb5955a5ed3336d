/**
 * The Bot API as the rest of this folder sees it: methods with plain payloads, and one kind of error.
 */
import { follow } from '#sdk'
import { ApiFault, faultOf, refusalOf } from './fault.ts'
import { type Fields, isFields } from './fields.ts'

export interface BotApi {
  /** Calls a method and gives its result. Throws `ApiFault`, also when the signal aborts. */
  call(method: string, payload: Fields, signal: AbortSignal): Promise<unknown>
  /** The same with a file, which goes out as it is read from the disk. */
  upload(method: string, payload: Fields, file: UploadedFile, signal: AbortSignal): Promise<unknown>
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
  callApi(method: string, payload: Fields, options?: { readonly signal?: object }): Promise<unknown>
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
  readonly callLimitMs?: number
}

/** What takes longer was sent into a connection that has died. */
const usualLimitMs = 40_000
/** A little before the gateway itself gives a call up, so that the reason is told. */
const uploadLimitMs = 115_000

export function createBotApi(deps: BotApiDeps): BotApi {
  const { client, fetch, apiRoot, token, redact, callLimitMs = usualLimitMs } = deps

  return {
    async call(method, payload, signal) {
      refuseWhenOff(signal)
      const limit = follow(signal)
      const timer = setTimeout(limit.abort, callLimitMs)
      try {
        return await client.callApi(method, payload, { signal: limit.signal })
      } catch (error) {
        if (limit.signal.aborted && !signal.aborted) throw new ApiFault('Telegram does not answer.', { unsent: false })
        throw faultOf(error, redact)
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
      refuseWhenOff(signal)
      try {
        const limit = AbortSignal.any([signal, AbortSignal.timeout(uploadLimitMs)])
        const response = await fetch(`${apiRoot}bot${token}/${method}`, { method: 'POST', body: form, signal: limit })
        return resultIn(response.status, await response.text(), redact)
      } catch (error) {
        throw faultOf(error, redact)
      }
    },
    fileUrl: (path) => `${apiRoot}file/bot${token}/${path.split('/').map(encodeURIComponent).join('/')}`,
  }
}

function refuseWhenOff(signal: AbortSignal): void {
  if (signal.aborted) throw new ApiFault('The call was called off before it was made.', { unsent: true })
}

/** A server in between may answer with something that is not JSON. */
function resultIn(status: number, body: string, redact: (text: string) => string): unknown {
  const answer = parsed(body)
  if (isFields(answer) && answer['ok'] === true) return answer['result']
  const known = isFields(answer) && typeof answer['error_code'] === 'number'
  throw refusalOf(known ? answer : { error_code: status, description: 'an answer that is not of the Bot API' }, redact)
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}
