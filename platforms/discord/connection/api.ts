/**
 * The calls of Discord's REST API that we make. Answers come back as they arrived; errors are those of discord.js.
 */
import { asRecord, type JsonRecord, nonEmptyTextAt, recordsAt } from '../inbound/payload.ts'

/** What is needed of discord.js' `REST`. */
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
  /** The body is sent as it is. */
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
    /** The newest, newest first. */
    newestMessages: (channel: string, limit: number, signal: AbortSignal) =>
      rest.get(messages(channel), { query: new URLSearchParams({ limit: String(limit) }), signal }),
    message: (channel: string, id: string, signal: AbortSignal) => rest.get(`${messages(channel)}/${id}`, { signal }),

    createMessage: (channel: string, body: JsonRecord, file: Upload | undefined, signal: AbortSignal) =>
      rest.post(messages(channel), file === undefined ? { body, signal } : { ...toFormData(body, file), signal }),
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

    /** Answers an interaction; its token is the right to do so. */
    callback: (id: string, token: string, body: JsonRecord, signal: AbortSignal) =>
      rest.post(`/interactions/${id}/${token}/callback`, { body, auth: false, signal }),
    /** Replaces "… is thinking" of an interaction. */
    finishCallback: (application: string, token: string, body: JsonRecord, signal: AbortSignal) =>
      rest.patch(`/webhooks/${application}/${token}/messages/@original`, { body, auth: false, signal }),
    followUp: (application: string, token: string, body: JsonRecord, signal: AbortSignal) =>
      rest.post(`/webhooks/${application}/${token}`, { body, auth: false, signal }),

    /** Addresses of files lose their validity after a day. Undefined where Discord knows none for this one. */
    async freshUrl(url: string, signal: AbortSignal): Promise<string | undefined> {
      const answer = await rest.post('/attachments/refresh-urls', { body: { attachment_urls: [url] }, signal })
      const [first] = recordsAt(asRecord(answer), 'refreshed_urls')
      return nonEmptyTextAt(first, 'refreshed')
    },
  }
}

/** A form of Node's own: the package would make one of its undici, which another undici in the process cannot send. */
function toFormData(body: JsonRecord, { name, content }: Upload): RequestOptions {
  const form = new FormData()
  form.append('payload_json', JSON.stringify(body))
  form.append('files[0]', content, name)
  return { body: form, passThroughBody: true }
}
