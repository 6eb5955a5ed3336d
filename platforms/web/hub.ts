/**
 * Manages the open pages: the live state and the subscribers of each active chat.
 */
import type { Logger } from '#sdk'
import { createLiveChat, type LiveChat } from './live-chat.ts'
import type { LiveEvent, ToolEvent, WireEntry, WireInfo } from './protocol.ts'
import { createSubscriber, type Subscriber } from './subscriber.ts'

const maxSubscribersPerChat = 20
const maxChats = 500
const initialEntries = 60

export interface Hub {
  /** Opens the stream of a page. `after` is the last entry that the page has. The stream ends when the signal aborts. */
  subscribe(chatId: string, after: string | undefined, signal: AbortSignal): ReadableStream<Uint8Array>
  /** The live state of a chat, created on first use. */
  chat(chatId: string): LiveChat
  publish(chatId: string, events: readonly LiveEvent[]): void
  /** The history of this chat has a new entry. */
  wake(chatId: string): void
  /** Drops the live state of a chat that is idle and has no subscribers. */
  prune(chatId: string): void
  /** The number of open pages. */
  subscriberCount(): number
  /** Ends every stream and the heartbeat. May be called twice. */
  close(): void
}

export interface HubOptions {
  readonly history: (chatId: string, query: { after?: string | undefined; limit: number }) => Promise<WireEntry[]>
  /** The ended tool calls of these turns. */
  readonly toolCalls?: (chatId: string, turnIds: readonly string[]) => Promise<readonly ToolEvent[]>
  readonly info: () => WireInfo
  /** ms */
  readonly clock?: () => number
  /** The model of a conversation. */
  readonly modelOf?: (chatId: string) => Promise<Pick<WireInfo, 'model' | 'provider'>>
  readonly log: Logger
  /** The interval of heartbeats, ms. A page that misses several of them reconnects. */
  readonly pingIntervalMs?: number
}

interface ChatEntryState {
  readonly live: LiveChat
  readonly subscribers: Set<Subscriber>
  /** The model that the pages show, if it is not that of the gateway. */
  ownModel: string
}

export function createHub({
  history,
  toolCalls = async () => [],
  info,
  clock = Date.now,
  modelOf,
  log,
  pingIntervalMs: pingMs = 15_000,
}: HubOptions): Hub {
  const chats = new Map<string, ChatEntryState>()
  let heartbeat: NodeJS.Timeout | undefined
  let knownInfo = ''

  return {
    subscribe(chatId, after, signal) {
      const state = chatOf(chatId)
      const { live, subscribers } = state
      const [oldest] = subscribers
      if (subscribers.size >= maxSubscribersPerChat) oldest?.close()
      const subscriber = createSubscriber({
        history: (query) => history(chatId, query),
        toolCalls: (turnIds) => toolCalls(chatId, turnIds),
        after,
        initialEntries,
        log,
        firstEvent: { type: 'info', info: info() },
        snapshot: () => live.snapshot(),
        onClose: () => {
          subscribers.delete(subscriber)
          prune(chatId)
        },
      })
      subscribers.add(subscriber)
      state.ownModel = ''
      void showModel(chatId)
      if (signal.aborted) subscriber.close()
      signal.addEventListener('abort', () => subscriber.close(), { once: true })
      startHeartbeat()
      return subscriber.stream
    },
    chat: (chatId) => chatOf(chatId).live,
    publish(chatId, events) {
      for (const subscriber of chats.get(chatId)?.subscribers ?? []) {
        for (const event of events) subscriber.post(event)
      }
    },
    wake(chatId) {
      for (const subscriber of chats.get(chatId)?.subscribers ?? []) subscriber.wake()
      void showModel(chatId)
    },
    prune,
    subscriberCount,
    close() {
      clearInterval(heartbeat)
      heartbeat = undefined
      for (const { subscribers } of chats.values()) for (const subscriber of subscribers) subscriber.close()
      chats.clear()
    },
  }

  /** Tells the pages when the model of the conversation is not the one that they show. Never rejects. */
  async function showModel(chatId: string): Promise<void> {
    const state = chats.get(chatId)
    if (modelOf === undefined || state === undefined || state.subscribers.size === 0) return
    try {
      const { model, provider } = await modelOf(chatId)
      const gateway = info()
      const chosenModel = model === gateway.model && provider === gateway.provider ? '' : `${provider} ${model}`
      if (chosenModel === state.ownModel) return
      state.ownModel = chosenModel
      for (const subscriber of state.subscribers) subscriber.post({ type: 'model', model, provider })
    } catch (error) {
      log.debug({ event: 'web.model_unknown', err: error }, 'the model of a conversation could not be read')
    }
  }

  function chatOf(chatId: string): ChatEntryState {
    const known = chats.get(chatId)
    if (known !== undefined) return known
    for (const id of chats.keys()) {
      if (chats.size < maxChats) break
      prune(id)
    }
    const created: ChatEntryState = { live: createLiveChat(clock), subscribers: new Set(), ownModel: '' }
    chats.set(chatId, created)
    return created
  }

  function prune(chatId: string): void {
    const known = chats.get(chatId)
    if (known?.subscribers.size === 0 && known.live.isIdle()) chats.delete(chatId)
    if (subscriberCount() === 0) {
      clearInterval(heartbeat)
      heartbeat = undefined
    }
  }

  function subscriberCount(): number {
    let count = 0
    for (const { subscribers } of chats.values()) count += subscribers.size
    return count
  }

  /** One timer for all pages, which runs only while pages are open. It also sends changes of the gateway's status. */
  function startHeartbeat(): void {
    knownInfo = JSON.stringify(info())
    heartbeat ??= setInterval(() => {
      const now = info()
      const changed = JSON.stringify(now) !== knownInfo
      knownInfo = JSON.stringify(now)
      for (const { subscribers } of chats.values()) {
        for (const subscriber of subscribers) subscriber.post(changed ? { type: 'info', info: now } : { type: 'ping' })
      }
    }, pingMs).unref()
  }
}
