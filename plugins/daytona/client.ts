/**
 * The REST API of Daytona. Each request has a limit of time, and each response a limit of size. No error contains the key.
 */
import { asRecord, asString, type Fields, HermesError, isRecord, messageOf, parseJson } from '#sdk'

export interface DaytonaSettings {
  /** Without a slash at the end. */
  readonly url: string
  readonly key: string
  readonly organization: string | undefined
}

export interface DaytonaRequest {
  readonly signal: AbortSignal
  readonly body?: Fields
  /** Default: 30,000. */
  readonly timeoutMs?: number
}

export interface DaytonaClient {
  /**
   * `path` of the API, or an address of the toolbox of a sandbox. Undefined: nothing has this name. Rejects with
   * `HermesError` when another attempt cannot help, and otherwise with an `Error`.
   */
  request(method: 'GET' | 'POST' | 'DELETE', path: string, request: DaytonaRequest): Promise<Fields | undefined>
  /** Where the programs of a sandbox are reached. Throws if the key would be sent in the clear. */
  toolboxOf(sandbox: Fields): string
}

const maxResponseBytes = 8 * 1_048_576

export function createDaytonaClient({ url, key, organization }: DaytonaSettings): DaytonaClient {
  const headers = {
    authorization: `Bearer ${key}`,
    'content-type': 'application/json',
    ...(organization === undefined ? {} : { 'x-daytona-organization-id': organization }),
  }
  return {
    async request(method, path, { signal, body, timeoutMs = 30_000 }) {
      const timeout = AbortSignal.timeout(timeoutMs)
      let response: Response
      let text: string
      try {
        response = await fetch(path.startsWith('/') ? `${url}${path}` : path, {
          method,
          headers,
          body: body === undefined ? null : JSON.stringify(body),
          // A redirect could carry the key to another host.
          redirect: 'error',
          signal: AbortSignal.any([signal, timeout]),
        })
        text = await textOf(response)
      } catch (error) {
        signal.throwIfAborted()
        if (!timeout.aborted) throw new Error(`Daytona cannot be reached: ${reasonOf(error)}`, { cause: error })
        throw new Error(`Daytona did not answer within ${timeoutMs / 1_000} seconds.`, { cause: error })
      }
      if (response.status === 404) return undefined
      if (!response.ok) throw statusError(response.status, text)
      return text === '' ? {} : parse(text)
    },

    toolboxOf(sandbox) {
      const id = encodeURIComponent(asString(sandbox['id']))
      const proxy = asString(sandbox['toolboxProxyUrl']).replace(/\/+$/, '')
      if (proxy === '') return `${url}/toolbox/${id}/toolbox`
      if (!proxy.startsWith('https://') && new URL(proxy).origin !== new URL(url).origin) {
        throw new HermesError('environment/unreachable', `Daytona names an address without encryption: ${proxy}.`)
      }
      return `${proxy}/${id}`
    },
  }
}

function statusError(status: number, text: string): Error {
  const said = messageIn(text)
  if (status === 401 || status === 403) {
    return new HermesError('environment/unreachable', `Daytona refused the key (status ${status})${said}.`, {
      hint: 'Check DAYTONA_API_KEY, its permissions, and DAYTONA_ORGANIZATION_ID if it is set.',
    })
  }
  if (status === 402 || status === 422) {
    return new HermesError('environment/unreachable', `Daytona refused the request (status ${status})${said}.`)
  }
  return new Error(`Daytona answered with status ${status}${said}.`)
}

function messageIn(text: string): string {
  // A proxy may answer with a page.
  const message = asRecord(parseJson(text))['message']
  return typeof message === 'string' ? `: ${message.slice(0, 300)}` : ''
}

function parse(text: string): Fields {
  const body = parseJson(text)
  if (body === undefined) throw new Error('Daytona answered with something else than JSON. Is DAYTONA_API_URL right?')
  if (!isRecord(body)) throw new Error('Daytona answered with something else than an object.')
  return body
}

async function textOf(response: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength
    if (bytes > maxResponseBytes) throw new Error(`the answer has more than ${maxResponseBytes} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

/** `fetch` says "fetch failed", and why in the cause. */
const reasonOf = (error: unknown) =>
  error instanceof Error && error.cause !== undefined ? messageOf(error.cause) : messageOf(error)
