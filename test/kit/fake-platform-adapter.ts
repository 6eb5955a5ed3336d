/**
 * The adapter of the fake platform. It connects over HTTP to the server of `fake-platform.ts`. Polling works as in Telegram:
 * a request for updates after a number acknowledges all updates up to it.
 */
import {
  type AlbumResult,
  type AlbumSupport,
  type Attachment,
  definePlatform,
  type FoundChat,
  HermesError,
  isHermesError,
  messageOf,
  type OutboundAlbum,
  type OutboundAttachment,
  type OutboundMessage,
  type PlatformAdapter,
  type PlatformContext,
  type SendFailureKind,
  type SendResult,
  sleep,
  type Target,
} from '#sdk'
import { type FakeUpdate, parseUpdate } from './fake-platform-updates.ts'

const retryMs = 20

/** @param parse parses an update; tests of defects pass their own */
export function createAdapter(context: PlatformContext, parse = parseUpdate): PlatformAdapter {
  const { url, token, abilities } = context.options
  const can = (ability: string) => !Array.isArray(abilities) || abilities.includes(ability)
  const stopping = new AbortController()
  let polling: Promise<void> | undefined

  return {
    limits: { maxChars: 4_000, unit: 'utf16' },
    draftIntervalMs: 0,
    ...(can('buttons') ? { showsButtons: true } : {}),
    async connect(signal) {
      const response = await ask('GET', '/me', AbortSignal.any([signal, stopping.signal]))
      await response.body?.cancel()
      if (response.status === 401) throw new HermesError('platform/unauthorised')
      if (!response.ok) throw new Error(`the fake platform answered ${response.status}`)
      polling ??= poll()
    },
    async disconnect() {
      stopping.abort()
      await polling
    },
    send: (message, signal) => deliver('POST', '/messages', message, signal),
    ...(can('edit')
      ? {
          edit: (id: string, message: OutboundMessage, _final: boolean, signal: AbortSignal) =>
            deliver('PUT', `/messages/${encodeURIComponent(id)}`, message, signal),
        }
      : {}),
    ...(can('resolve') ? { resolveUnknown } : {}),
    ...(can('remove')
      ? {
          remove: (_target: Target, id: string, signal: AbortSignal) =>
            call('DELETE', `/messages/${encodeURIComponent(id)}`, signal),
        }
      : {}),
    ...(can('typing')
      ? { typing: ({ chatId: chat }: Target, signal: AbortSignal) => call('POST', '/typing', signal, { chat }) }
      : {}),
    ...(can('files') ? { sendsAttachments: true } : {}),
    ...(can('albums') ? { albums: createAlbums() } : {}),
    ...(can('chats')
      ? {
          findChats: async (_name: string, signal: AbortSignal) =>
            jsonOf<FoundChat[]>(await ask('GET', '/chats', signal)),
        }
      : {}),
    locate: async ({ ref = '' }: Attachment) => ({
      url: `${url}/files/${encodeURIComponent(ref)}`,
      headers: { authorization: `Bearer ${token}` },
      trusted: String(url),
    }),
  }

  async function poll(): Promise<void> {
    let done = 0
    let degraded = false
    while (!stopping.signal.aborted) {
      try {
        const response = await ask('GET', `/updates?after=${done}`, stopping.signal)
        if (!response.ok) throw new Error(`the fake platform answered ${response.status}`)
        const updates: FakeUpdate[] = await jsonOf(response)
        if (can('receive')) context.connection.received()
        if (degraded) context.connection.health('connected')
        degraded = false
        for (const update of updates) {
          await ingest(update)
          done = update.update
        }
      } catch (error) {
        if (stopping.signal.aborted) return
        if (!degraded) context.connection.health('degraded', messageOf(error))
        degraded = true
        await sleep(retryMs, stopping.signal)
      }
    }
  }

  async function ingest(update: FakeUpdate): Promise<void> {
    const parsed = parse(update, context)
    switch (parsed.kind) {
      case 'nothing':
        return
      case 'press': {
        const answer = await context.questions.press(parsed.press)
        await ask('POST', `/presses/${update.update}`, stopping.signal, answer)
        return
      }
      case 'change':
        await context.change(parsed.change, parsed.keys)
        return
      case 'message':
        try {
          await context.accept(parsed.event, parsed.keys)
        } catch (error) {
          if (!isHermesError(error) || error.code !== 'inbox/too-large') throw error
          await call('POST', '/messages', stopping.signal, { chat: update.chat, kind: 'notice', text: error.message })
        }
    }
  }

  async function deliver(
    method: string,
    path: string,
    { deliveryId, target, text, kind, buttons, attachment }: OutboundMessage,
    signal: AbortSignal,
  ): Promise<SendResult> {
    const { chatId: chat, threadId: thread } = target
    let file: unknown
    try {
      file = attachment === undefined ? undefined : await wireFile(attachment)
    } catch (error) {
      return { success: false, problem: 'rejected', error: messageOf(error) }
    }
    return call(method, path, signal, { key: deliveryId, chat, thread, text, kind, buttons, file })
  }

  function createAlbums(): AlbumSupport {
    return {
      maxFiles: 10,
      groupOf: ({ kind }) => (kind === 'voice' ? undefined : kind === 'document' ? 'documents' : 'media'),
      send: sendAlbum,
      ...(can('resolve')
        ? {
            async resolveUnknown({ deliveryId, files }: OutboundAlbum, signal: AbortSignal) {
              const ids = await findIds(deliveryId, signal)
              if (ids === 'unknown') return ids
              if (ids.length === 0) return { sent: false as const }
              return { sent: true as const, ...(ids.length === files.length ? { messageIds: ids } : {}) }
            },
          }
        : {}),
    }
  }

  async function sendAlbum(
    { deliveryId, target, kind, files }: OutboundAlbum,
    signal: AbortSignal,
  ): Promise<AlbumResult> {
    const { chatId: chat, threadId: thread } = target
    const wireFiles: unknown[] = []
    try {
      for (const { caption: text, attachment } of files) wireFiles.push({ text, file: await wireFile(attachment) })
    } catch (error) {
      return { success: false, problem: 'rejected', error: messageOf(error) }
    }
    return call('POST', '/albums', signal, { key: deliveryId, chat, thread, kind, files: wireFiles })
  }

  async function call(
    method: string,
    path: string,
    signal: AbortSignal,
    body?: unknown,
  ): Promise<SendResult & AlbumResult> {
    try {
      const response = await ask(method, path, signal, body)
      if (response.ok)
        return { success: true, ...(await jsonOf<{ messageId?: string; messageIds?: string[] }>(response)) }
      const error = await response.text()
      // It is not modified: the message already has the requested text.
      if (response.status === 409) return { success: true }
      const problem = problemOf(response.status)
      const retryAfterMs = Number(response.headers.get('retry-after-ms') ?? 0)
      if (response.status === 410) return { success: false, problem, error, chatGone: true }
      return { success: false, problem, error, ...(problem === 'rate-limited' ? { retryAfterMs } : {}) }
    } catch (error) {
      // Without a response only a refused connection proves that nothing was sent.
      const refused = error instanceof TypeError && messageOf(error.cause).includes('ECONNREFUSED')
      return { success: false, problem: 'temporary', error: messageOf(error), maybeSent: !refused }
    }
  }

  async function resolveUnknown({ deliveryId }: OutboundMessage, signal: AbortSignal) {
    const ids = await findIds(deliveryId, signal)
    if (ids === 'unknown') return ids
    const [id] = ids
    return id === undefined ? { sent: false as const } : { sent: true as const, messageId: id }
  }

  async function findIds(deliveryId: string, signal: AbortSignal): Promise<readonly string[] | 'unknown'> {
    try {
      const response = await ask('GET', `/find?key=${encodeURIComponent(deliveryId)}`, signal)
      const { ids } = await jsonOf<{ ids: string[] }>(response)
      return ids
    } catch (error) {
      context.log.debug({ event: 'fake.resolve_failed', error }, 'the fake platform could not be queried')
      return 'unknown' as const
    }
  }

  function ask(method: string, path: string, signal: AbortSignal, body?: unknown): Promise<Response> {
    const payload = body === undefined ? {} : { body: JSON.stringify(body) }
    return fetch(`${url}${path}`, { method, headers: { authorization: `Bearer ${token}` }, signal, ...payload })
  }
}

/** The server belongs to the tests, so its responses are not validated. */
async function jsonOf<T>(response: Response): Promise<T> {
  return JSON.parse(await response.text())
}

/** The name, and the bytes or the address. Rejects when the file cannot be read. */
async function wireFile({ fileName, source }: OutboundAttachment) {
  if (source.kind === 'url') return { fileName, url: source.url }
  const blob = await source.open()
  return { fileName, base64: Buffer.from(await blob.arrayBuffer()).toString('base64') }
}

function problemOf(status: number): SendFailureKind {
  if (status === 429) return 'rate-limited'
  if (status === 401) return 'unauthorised'
  return status < 500 ? 'rejected' : 'temporary'
}

export default definePlatform({ createAdapter })
