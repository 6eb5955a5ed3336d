/**
 * Functions for the HTTP routes of the gateway.
 */

/** The gateway refused the request. */
export class ApiError extends Error {
  /**
   * @param {number} status
   * @param {string} message
   * @param {string} hint what the person can do
   */
  constructor(status, message, hint) {
    super(message)
    this.name = 'ApiError'
    this.status = status
    this.hint = hint
  }

  /** The token is invalid. */
  get unauthorised() {
    return this.status === 401
  }

  /** A retry may succeed: the gateway is starting, stopping or busy. */
  get passing() {
    return this.status === 503 || this.status === 502 || this.status === 504 || this.status === 429
  }
}

/**
 * @typedef {object} Api
 * @property {(path: string, options?: { body?: unknown, method?: string, signal?: AbortSignal }) => Promise<any>} request
 *   the JSON that a route of the gateway answers, for views with routes of their own. POST with a body, GET without one
 * @property {(id: string, text: string, files: readonly string[]) => Promise<void>} send
 *   resolves when the message is on disk; repeating it is harmless. `files`: ids of complete uploads
 * @property {() => Promise<import('../protocol.ts').WireUploadLimits>} uploadLimits
 * @property {(file: { id: string, name: string, type: string, bytes: number }) => Promise<import('../protocol.ts').WireUpload>} beginUpload
 *   repeating it is harmless
 * @property {(id: string, from: number, piece: Blob, signal: AbortSignal) => Promise<import('../protocol.ts').WireUpload>} sendPiece
 * @property {(id: string) => Promise<void>} removeUpload
 * @property {(path: string, isNew: boolean) => Promise<Blob>} file a file of the history. `isNew`: it may not be there yet
 * @property {() => Promise<void>} stop
 * @property {(button: string, entry: string) => Promise<import('../protocol.ts').WirePressResult>} press
 *   resolves when the answer is on disk; a second press of a question changes nothing
 * @property {() => Promise<import('../protocol.ts').WireApproval[]>} approvals what runs without a question
 * @property {(id: string) => Promise<void>} revoke takes one of them back; nothing happens when it is gone
 * @property {() => Promise<import('../protocol.ts').WirePairingRequest[]>} pairingRequests who asks for access
 * @property {(platform: string, request: string, role?: 'member' | 'owner') => Promise<void>} approvePerson gives one of them access
 * @property {(platform: string, request: string) => Promise<void>} denyPerson ends the request, without an answer
 * @property {() => Promise<void>} clearPairingRequests refuses all of them
 * @property {() => Promise<import('../protocol.ts').WireCommand[]>} commands the slash commands of the gateway
 * @property {(before: string) => Promise<{ entries: import('../protocol.ts').WireEntry[], tools: import('../protocol.ts').ToolEvent[], more: boolean }>} earlier
 * @property {(call: { turnId: string, callId: string }, whole: boolean) => Promise<import('../protocol.ts').WireToolView | null>} tool
 *   what a tool call did; `null` when no more than its line is kept
 * @property {(search: string, cursor?: string, pinned?: boolean) => Promise<{ sessions: import('../protocol.ts').WireSession[], next_cursor: string | null }>} conversations
 *   a page of the stored conversations of all platforms, the one that was used last first. `search`: '' for all
 * @property {(session: string) => Promise<import('../protocol.ts').WireSession>} conversation
 * @property {(session: string, change: { title?: string, pinned?: boolean }) => Promise<void>} changeConversation
 * @property {(session: string) => Promise<void>} deleteConversation goes on when the page is closed; nothing happens when it is gone
 * @property {(session: string, chat: string, end?: { through?: string, before?: string }) => Promise<void>} continueIn
 *   a chat of the page goes on with a copy. `end`: the turn with which, or before which, the copy ends
 * @property {(session: string) => Promise<import('../protocol.ts').WireUsage>} usage
 * @property {(subject: string) => Promise<import('../protocol.ts').WireTrace>} trace where a message is
 * @property {(session: string, cursor: string | undefined) => Promise<{ messages: import('../protocol.ts').WireMessage[], next_cursor: string | null }>} messages
 *   the newest first
 * @property {(session: string, message: string) => Promise<import('../protocol.ts').WireMessage>} message with its whole text
 * @property {(session: string) => Promise<Blob>} trajectory the conversation as JSON
 * @property {(path: string) => Promise<Blob>} attachment `<session>/messages/<message>/attachments/<number>`
 * @property {() => Promise<import('../protocol.ts').WireModelOffers>} modelOffers
 * @property {(connection: Omit<import('../protocol.ts').WireConnection, 'model'>) => Promise<string[]>} modelsOf
 * @property {(connection: import('../protocol.ts').WireConnection) => Promise<string>} tryModel resolves with the answer of the model
 * @property {(connection: import('../protocol.ts').WireConnection) => Promise<void>} connectModel stores it
 * @property {(after: string | undefined, signal: AbortSignal) => Promise<ReadableStream<Uint8Array<ArrayBuffer>>>} stream
 * @property {(signal: AbortSignal) => Promise<ReadableStream<Uint8Array<ArrayBuffer>>>} changes what has changed, a line each
 */

/**
 * All functions throw `ApiError` when the gateway refuses and `TypeError` when it cannot be reached.
 *
 * @param {{ token: string, chat: string, fetch: typeof globalThis.fetch }} options
 * @returns {Api}
 */
export function createApi({ token, chat, fetch }) {
  return {
    async request(path, options = {}) {
      return (await call(path, options)).json()
    },
    async send(id, text, files) {
      await call('/web/messages', { body: { chat, id, text, ...(files.length === 0 ? {} : { files }) } })
    },
    async uploadLimits() {
      const response = await call('/api/uploads', {})
      return response.json()
    },
    async beginUpload({ id, name, type, bytes }) {
      const response = await call('/api/uploads', { body: { id, name, type, bytes } })
      return response.json()
    },
    async sendPiece(id, from, piece, signal) {
      const response = await call(`/api/uploads/${id}?from=${from}`, { body: piece, signal })
      return response.json()
    },
    async removeUpload(id) {
      await call(`/api/uploads/${id}`, { method: 'DELETE' })
    },
    async file(path, isNew) {
      const response = await call(`/web/files/${path}${isNew ? '?new' : ''}`, { cache: 'default' })
      return response.blob()
    },
    async stop() {
      await call('/web/stop', { body: { chat } })
    },
    async press(button, entry) {
      const response = await call('/web/press', { body: { chat, button, entry } })
      return response.json()
    },
    async commands() {
      const response = await call('/web/commands', {})
      return response.json()
    },
    async approvals() {
      const response = await call('/api/approvals', {})
      return response.json()
    },
    async revoke(id) {
      try {
        await call('/api/approvals/revoke', { body: { id } })
      } catch (error) {
        if (!(error instanceof ApiError && error.status === 404)) throw error
      }
    },
    async pairingRequests() {
      const response = await call('/api/pairing', {})
      const { pending } = await response.json()
      return pending
    },
    async approvePerson(platform, request, role) {
      await call('/api/pairing/approve', { body: { platform, code: request, role } })
    },
    async denyPerson(platform, request) {
      await call('/api/pairing/deny', { body: { platform, person: request, via: 'web' } })
    },
    async clearPairingRequests() {
      await call('/api/pairing/clear', { body: {} })
    },
    async earlier(before) {
      const response = await call(`/web/history?${new URLSearchParams({ chat, before })}`, {})
      return response.json()
    },
    async tool({ turnId, callId }, whole) {
      const query = new URLSearchParams({ chat, turn: turnId, call: callId, ...(whole ? { whole: '1' } : {}) })
      try {
        return await (await call(`/web/tool?${query}`, {})).json()
      } catch (error) {
        if (error instanceof ApiError && error.status === 404) return null
        throw error
      }
    },
    async conversations(search, cursor, pinned) {
      const query = new URLSearchParams({
        limit: pinned === true ? '200' : '40',
        ...(search && { search }),
        ...(cursor && { cursor }),
        ...(pinned !== undefined && { pinned: String(pinned) }),
      })
      return (await call(`/api/sessions?${query}`, {})).json()
    },
    async conversation(session) {
      const response = await call(`/api/sessions/${encodeURIComponent(session)}`, {})
      return (await response.json()).session
    },
    async changeConversation(session, change) {
      await call(`/api/sessions/${encodeURIComponent(session)}`, { method: 'PATCH', body: change })
    },
    async deleteConversation(session) {
      try {
        await call(`/api/sessions/${encodeURIComponent(session)}`, { method: 'DELETE', keepalive: true })
      } catch (error) {
        if (!(error instanceof ApiError && error.status === 404)) throw error
      }
    },
    async continueIn(session, chat_id, end = {}) {
      const body = { into: { platform: 'web', chat_id }, ...end }
      await call(`/api/sessions/${encodeURIComponent(session)}/fork`, { body })
    },
    async messages(session, cursor) {
      const query = new URLSearchParams({ roles: 'user,assistant', ...(cursor && { cursor }) })
      return (await call(`/api/sessions/${encodeURIComponent(session)}/messages?${query}`, {})).json()
    },
    async message(session, id) {
      const response = await call(`/api/sessions/${encodeURIComponent(session)}/messages/${id}`, {})
      return (await response.json()).message
    },
    usage: async (session) => (await call(`/api/sessions/${encodeURIComponent(session)}/usage`, {})).json(),
    trace: async (subject) => (await call(`/api/trace/${encodeURIComponent(subject)}`, {})).json(),
    async trajectory(session) {
      return (await call(`/api/sessions/${encodeURIComponent(session)}/trajectory`, {})).blob()
    },
    async attachment(path) {
      return (await call(`/api/sessions/${path}`, { cache: 'default' })).blob()
    },
    async modelOffers() {
      return (await call('/api/models', {})).json()
    },
    async modelsOf(connection) {
      const response = await call('/api/models/list', { body: connection })
      return (await response.json()).models
    },
    async tryModel(connection) {
      const response = await call('/api/models/try', { body: connection })
      return (await response.json()).answer
    },
    async connectModel(connection) {
      await call('/api/models/connect', { body: connection })
    },
    stream(after, signal) {
      return open(`/web/stream?${new URLSearchParams({ chat, ...(after === undefined ? {} : { after }) })}`, signal)
    },
    changes: (signal) => open('/api/changes', signal),
  }

  /** @param {string} path @param {AbortSignal} signal */
  async function open(path, signal) {
    const { body } = await call(path, { signal })
    if (body === null) throw new TypeError('the gateway answered without a stream')
    return body
  }

  /**
   * @param {string} path
   * @param {{ body?: unknown, signal?: AbortSignal, method?: string, cache?: RequestCache, keepalive?: boolean }} options
   *   a blob is sent as it is
   */
  async function call(
    path,
    { body, signal, method = body === undefined ? 'GET' : 'POST', cache = 'no-store', keepalive },
  ) {
    /** @type {RequestInit} */
    const request = { method, headers: { authorization: `Bearer ${token}` }, cache, credentials: 'omit' }
    if (keepalive === true) request.keepalive = true
    if (signal !== undefined) request.signal = signal
    if (body !== undefined) {
      const isBlob = body instanceof Blob
      request.headers = { ...request.headers, 'content-type': isBlob ? 'application/octet-stream' : 'application/json' }
      request.body = isBlob ? body : JSON.stringify(body)
    }
    const response = await fetch(path, request)
    if (response.ok) return response
    throw await toApiError(response)
  }
}

/** @param {Response} response */
async function toApiError(response) {
  const text = await response.text()
  try {
    const { error } = JSON.parse(text)
    return new ApiError(response.status, String(error.message), String(error.hint ?? ''))
  } catch {
    return new ApiError(response.status, `The gateway answered with status ${response.status}.`, '')
  }
}
