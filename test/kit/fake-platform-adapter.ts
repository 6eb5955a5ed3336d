/**
 * The adapter of the fake platform: a real one, speaking HTTP to the vendor that `fake-platform.ts` runs.
 * It polls for messages as Telegram's does: asking for what comes after a number acknowledges all up to it.
 */
import {
  brand,
  type ChatType,
  definePlatform,
  type EventKey,
  HermesError,
  messageOf,
  type OutboundMessage,
  type PlatformAdapter,
  type PlatformContext,
  pause,
  type SendProblem,
  type SendResult,
} from '#sdk'

/** What somebody wrote, on the wire. */
export interface FakeUpdate {
  readonly update: number
  readonly id: string
  readonly chat: string
  readonly chatType: ChatType
  readonly user: string
  readonly text: string
  readonly thread?: string
  readonly isBot?: boolean
  /** Nothing was written: a button of a message of ours was pressed. */
  readonly press?: { readonly button: string; readonly message: string }
}

const retryMs = 20

export function createAdapter(context: PlatformContext): PlatformAdapter {
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
  }

  async function poll(): Promise<void> {
    let done = 0
    let ill = false
    while (!stopping.signal.aborted) {
      try {
        const response = await ask('GET', `/updates?after=${done}`, stopping.signal)
        if (!response.ok) throw new Error(`the fake platform answered ${response.status}`)
        const updates: FakeUpdate[] = await jsonOf(response)
        if (can('receive')) context.received()
        if (ill) context.health('connected')
        ill = false
        for (const update of updates) {
          await handIn(update)
          done = update.update
        }
      } catch (error) {
        if (stopping.signal.aborted) return
        if (!ill) context.health('degraded', messageOf(error))
        ill = true
        await pause(retryMs, stopping.signal)
      }
    }
  }

  async function handIn(update: FakeUpdate): Promise<void> {
    const { id, chat, chatType, user, text, thread, isBot, press } = update
    const { platform, account } = context
    const source = {
      platform,
      account,
      chatId: chat,
      chatType,
      userId: user,
      userName: user,
      ...(thread === undefined ? {} : { threadId: thread }),
      ...(isBot === undefined ? {} : { isBot }),
    }
    if (press !== undefined) {
      const answer = await context.press({ source, buttonId: press.button, messageId: press.message })
      await ask('POST', `/presses/${update.update}`, stopping.signal, answer)
      return
    }
    const messageType = text.startsWith('/') ? ('command' as const) : ('text' as const)
    const event = { source, text, messageType, messageId: id, timestamp: context.clock() }
    await context.accept(event, [brand<EventKey>(`${platform}:${account}:${chat}:${id}`)])
  }

  async function deliver(
    method: string,
    path: string,
    { deliveryId, target, text, kind, buttons }: OutboundMessage,
    signal: AbortSignal,
  ): Promise<SendResult> {
    const { chatId: chat, threadId: thread } = target
    try {
      const response = await ask(method, path, signal, { key: deliveryId, chat, thread, text, kind, buttons })
      if (response.ok) return { success: true, messageId: (await jsonOf<{ id: string }>(response)).id }
      const error = await response.text()
      const problem = problemOf(response.status)
      const retryAfterMs = Number(response.headers.get('retry-after-ms') ?? 0)
      return { success: false, problem, error, ...(problem === 'rate-limited' ? { retryAfterMs } : {}) }
    } catch (error) {
      // No answer: whether it was taken is only known where nothing was reached.
      const refused = error instanceof TypeError && messageOf(error.cause).includes('ECONNREFUSED')
      return { success: false, problem: 'temporary', error: messageOf(error), maybeSent: !refused }
    }
  }

  async function resolveUnknown({ deliveryId }: OutboundMessage, signal: AbortSignal) {
    try {
      const response = await ask('GET', `/find?key=${encodeURIComponent(deliveryId)}`, signal)
      const { id } = await jsonOf<{ id?: string }>(response)
      return id === undefined ? { sent: false as const } : { sent: true as const, messageId: id }
    } catch (error) {
      context.log.debug({ error }, 'the fake platform could not be asked')
      return 'unknown' as const
    }
  }

  function ask(method: string, path: string, signal: AbortSignal, body?: unknown): Promise<Response> {
    const payload = body === undefined ? {} : { body: JSON.stringify(body) }
    return fetch(`${url}${path}`, { method, headers: { authorization: `Bearer ${token}` }, signal, ...payload })
  }
}

/** The vendor is ours: its answers are what their types say. */
async function jsonOf<T>(response: Response): Promise<T> {
  return JSON.parse(await response.text())
}

function problemOf(status: number): SendProblem {
  if (status === 429) return 'rate-limited'
  if (status === 401) return 'unauthorised'
  return status < 500 ? 'rejected' : 'temporary'
}

export default definePlatform({ createAdapter })
