/**
 * The calls of Discord's REST API that the adapter makes. Responses are returned unparsed; errors are those of discord.js.
 */
import { sleep } from '#sdk'
import { retryAfterMs } from '../errors.ts'
import { asRecord, type JsonRecord, nonEmptyTextAt, recordsAt } from '../inbound/payload.ts'

/** The part of discord.js' `REST` that is used. */
export interface RestClient {
  get(route: `/${string}`, call?: RequestOptions): Promise<unknown>
  post(route: `/${string}`, call?: RequestOptions): Promise<unknown>
  put(route: `/${string}`, call?: RequestOptions): Promise<unknown>
  patch(route: `/${string}`, call?: RequestOptions): Promise<unknown>
  delete(route: `/${string}`, call?: RequestOptions): Promise<unknown>
}

interface RequestOptions {
  readonly body?: unknown
  readonly query?: URLSearchParams
  readonly auth?: boolean
  /** The body is sent unchanged. */
  readonly passThroughBody?: boolean
  readonly signal?: AbortSignal
}

export interface Upload {
  readonly name: string
  readonly content: Blob
}

const fixedRoutes = {
  gatewayBot: '/gateway/bot',
  currentUser: '/users/@me',
  application: '/applications/@me',
} as const

export type Api = ReturnType<typeof createApi>

export function createApi(rest: RestClient) {
  const messages = (channel: string): `/${string}` => `/channels/${channel}/messages`
  const reaction = (channel: string, message: string, emoji: string): `/${string}` =>
    `/channels/${channel}/messages/${message}/reactions/${encodeURIComponent(emoji)}/@me`

  return {
    gatewayBot: (signal: AbortSignal) => rest.get(fixedRoutes.gatewayBot, { signal }),
    currentUser: (signal: AbortSignal) => rest.get(fixedRoutes.currentUser, { signal }),
    application: (signal: AbortSignal) => rest.get(fixedRoutes.application, { signal }),

    channel: (id: string, signal: AbortSignal) => rest.get(`/channels/${id}`, { signal }),
    member: (guild: string, user: string, signal: AbortSignal) =>
      rest.get(`/guilds/${guild}/members/${user}`, { signal }),
    /** The latest messages, or those directly before a message; newest first, at most 100. */
    newestMessages: (channel: string, limit: number, signal: AbortSignal, before?: string) => {
      const query = new URLSearchParams({ limit: String(limit), ...(before === undefined ? {} : { before }) })
      return rest.get(messages(channel), { query, signal })
    },
    message: (channel: string, id: string, signal: AbortSignal) => rest.get(`${messages(channel)}/${id}`, { signal }),

    createMessage: (channel: string, body: JsonRecord, files: readonly Upload[], signal: AbortSignal) =>
      rest.post(messages(channel), files.length === 0 ? { body, signal } : { ...toFormData(body, files), signal }),
    editMessage: (channel: string, id: string, body: JsonRecord, signal: AbortSignal) =>
      rest.patch(`${messages(channel)}/${id}`, { body, signal }),
    deleteMessage: (channel: string, id: string, signal: AbortSignal) =>
      rest.delete(`${messages(channel)}/${id}`, { signal }),
    typing: (channel: string, signal: AbortSignal) => rest.post(`/channels/${channel}/typing`, { signal }),
    startThread: (channel: string, message: string, name: string, signal: AbortSignal) =>
      rest.post(`${messages(channel)}/${message}/threads`, { body: { name }, signal }),
    react: (channel: string, message: string, emoji: string, signal: AbortSignal) =>
      rest.put(reaction(channel, message, emoji), { signal }),
    unreact: (channel: string, message: string, emoji: string, signal: AbortSignal) =>
      rest.delete(reaction(channel, message, emoji), { signal }),

    commands: (application: string, signal: AbortSignal) =>
      rest.get(`/applications/${application}/commands`, { signal }),
    setCommands: (application: string, body: readonly JsonRecord[], signal: AbortSignal) =>
      rest.put(`/applications/${application}/commands`, { body, signal }),

    /** Responds to an interaction. The token of the interaction authorizes the call. */
    callback: (id: string, token: string, body: JsonRecord, signal: AbortSignal) =>
      rest.post(`/interactions/${id}/${token}/callback`, { body, auth: false, signal }),
    /** Replaces "… is thinking" of an interaction. */
    finishCallback: (application: string, token: string, body: JsonRecord, signal: AbortSignal) =>
      rest.patch(`/webhooks/${application}/${token}/messages/@original`, { body, auth: false, signal }),
    followUp: (application: string, token: string, body: JsonRecord, signal: AbortSignal) =>
      rest.post(`/webhooks/${application}/${token}`, { body, auth: false, signal }),

    /** URLs of files expire after a day. Undefined when Discord returns no new URL. */
    async freshUrl(url: string, signal: AbortSignal): Promise<string | undefined> {
      const response = await rest.post('/attachments/refresh-urls', { body: { attachment_urls: [url] }, signal })
      const [first] = recordsAt(asRecord(response), 'refreshed_urls')
      return nonEmptyTextAt(first, 'refreshed')
    },
  }
}

/** Uses Node's `FormData`: discord.js would use that of its own undici, which another undici in the process cannot send. */
function toFormData(body: JsonRecord, files: readonly Upload[]): RequestOptions {
  const form = new FormData()
  form.append('payload_json', JSON.stringify(body))
  for (const [index, { name, content }] of files.entries()) form.append(`files[${index}]`, content, name)
  return { body: form, passThroughBody: true }
}

/**
 * For calls in the background: waits as long as Discord asks and repeats the call. Rejects on other errors of the call, and
 * when the signal aborts.
 */
export async function retryAfterRateLimit<T>(signal: AbortSignal, call: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await call()
    } catch (error) {
      const waitMs = retryAfterMs(error)
      if (waitMs === undefined) throw error
      await sleep(waitMs, signal)
      signal.throwIfAborted()
    }
  }
}
