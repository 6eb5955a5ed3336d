/**
 * The REST API of Home Assistant. Each request has a limit of time, and each response a limit of size. No error contains the token.
 */
import { asRecord, type Fields, parseJson } from '#sdk'

export interface HomeAssistantSettings {
  /** Without a slash at the end. */
  readonly url: string
  readonly token: string
  readonly timeoutMs: number
}

export interface HomeAssistantClient {
  /** Rejects with an `Error` whose message is for the model, or the signal's reason. */
  get(path: string, signal: AbortSignal): Promise<unknown>
  /** Calls a service, like `get` reads a state. A response is asked for where the service has one. */
  callService(domain: string, service: string, data: Fields, signal: AbortSignal): Promise<unknown>
}

/** The answer when a service was called and may have acted: a door may be open now. */
const unknownOutcome = 'It is unknown whether it was done: look at the state before you repeat it. Is HASS_URL right?'

const maxResponseBytes = 20 * 1_048_576

export function createHomeAssistantClient({ url, token, timeoutMs }: HomeAssistantSettings): HomeAssistantClient {
  async function request(path: string, signal: AbortSignal, body?: Fields): Promise<Response> {
    const timeout = AbortSignal.timeout(timeoutMs)
    try {
      return await fetch(`${url}${path}`, {
        method: body === undefined ? 'GET' : 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: body === undefined ? null : JSON.stringify(body),
        // A redirect could carry the token to another host.
        redirect: 'error',
        signal: AbortSignal.any([signal, timeout]),
      })
    } catch (error) {
      signal.throwIfAborted()
      const reason = timeout.aborted ? `did not answer within ${timeoutMs / 1_000} seconds` : 'cannot be reached'
      const advice = body === undefined ? 'Is HASS_URL right?' : unknownOutcome
      throw new Error(`Home Assistant ${reason}. ${advice}`, { cause: error })
    }
  }

  return {
    get: async (path, signal) => await jsonOf(await request(path, signal)),
    async callService(domain, service, data, signal) {
      const path = `/api/services/${domain}/${service}`
      const response = await request(`${path}?return_response`, signal, data)
      if (response.status !== 400) return await jsonOf(response)
      const refusal = await textOf(response)
      // Nothing has run: Home Assistant checks this first.
      if (!refusal.includes('does not support responses')) throw statusError(400, refusal)
      return await jsonOf(await request(path, signal, data))
    },
  }
}

async function jsonOf(response: Response): Promise<unknown> {
  const text = await textOf(response)
  if (!response.ok) throw statusError(response.status, text)
  const body = parseJson(text)
  if (body === undefined) throw new Error('Home Assistant answered with something else than JSON. Is HASS_URL right?')
  return body
}

function statusError(status: number, text: string): Error {
  if (status === 401) return new Error('Home Assistant refused the token in HASS_TOKEN.')
  if (status === 404) return new Error('Home Assistant knows nothing of this name.')
  return new Error(`Home Assistant answered with status ${status}${messageIn(text)}.`)
}

/** What Home Assistant says itself, such as an invalid value. */
function messageIn(text: string): string {
  // A proxy may answer with a page.
  const message = asRecord(parseJson(text))['message']
  return typeof message === 'string' ? `: ${message.slice(0, 300)}` : ''
}

async function textOf(response: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let bytes = 0
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength
    if (bytes > maxResponseBytes) throw new Error(`Home Assistant answered with more than ${maxResponseBytes} bytes.`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}
