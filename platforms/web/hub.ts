/**
 * The pages that are open and what they watch: one live chat with its subscribers for every chat that moves.
 */
import type { ChatEntry, Logger } from '#sdk'
import { createLiveChat, type LiveChat } from './live-chat.ts'
import type { LiveEvent, WireInfo } from './protocol.ts'
import { createSubscriber, type Subscriber } from './subscriber.ts'

const maxSubscribersPerChat = 20
const maxChats = 500
const initialEntries = 60

export interface Hub {
  /** A stream for a page. `after` is the last entry it knows. It ends when the signal aborts. */
  subscribe(chatId: string, after: string | undefined, signal: AbortSignal): ReadableStream<Uint8Array>
  /** The live state of a chat; made when there is none. */
  chat(chatId: string): LiveChat
  publish(chatId: string, events: readonly LiveEvent[]): void
  /** Something new stands in the history of this chat. */
  wake(chatId: string): void
  /** Forgets the live state of a chat if nothing moves there and nobody watches. */
  prune(chatId: string): void
  /** How many pages are open. */
  subscriberCount(): number
  /** Ends every stream and the heartbeat. May be called twice. */
  close(): void
}

export interface HubOptions {
  readonly history: (chatId: string, query: { after?: string; limit: number }) => Promise<ChatEntry[]>
  readonly info: () => WireInfo
  readonly log: Logger
  /** Pause between two heartbeats, ms; a page that misses several connects anew. */
  readonly pingIntervalMs?: number
}

interface ChatEntryState {
  readonly live: LiveChat
  readonly subscribers: Set<Subscriber>
}

export function createHub({ history, info, log, pingIntervalMs: pingMs = 15_000 }: HubOptions): Hub {
  const rooms = new Map<string, ChatEntryState>()
  let heartbeat: NodeJS.Timeout | undefined
  let knownInfo = ''

  return {
    subscribe(chatId, after, signal) {
      const { live, subscribers } = room(chatId)
      const [oldest] = subscribers
      if (subscribers.size >= maxSubscribersPerChat) oldest?.close()
      const subscriber = createSubscriber({
        history: (query) => history(chatId, query),
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
      if (signal.aborted) subscriber.close()
      signal.addEventListener('abort', () => subscriber.close(), { once: true })
      beat()
      return subscriber.stream
    },
    chat: (chatId) => room(chatId).live,
    publish(chatId, events) {
      for (const subscriber of rooms.get(chatId)?.subscribers ?? []) {
        for (const event of events) subscriber.post(event)
      }
    },
    wake(chatId) {
      for (const subscriber of rooms.get(chatId)?.subscribers ?? []) subscriber.wake()
    },
    prune,
    subscriberCount,
    close() {
      clearInterval(heartbeat)
      heartbeat = undefined
      for (const { subscribers } of rooms.values()) for (const subscriber of subscribers) subscriber.close()
      rooms.clear()
    },
  }

  function room(chatId: string): ChatEntryState {
    const known = rooms.get(chatId)
    if (known !== undefined) return known
    for (const id of rooms.keys()) {
      if (rooms.size < maxChats) break
      prune(id)
    }
    const created: ChatEntryState = { live: createLiveChat(), subscribers: new Set() }
    rooms.set(chatId, created)
    return created
  }

  function prune(chatId: string): void {
    const known = rooms.get(chatId)
    if (known?.subscribers.size === 0 && known.live.isIdle()) rooms.delete(chatId)
    if (subscriberCount() === 0) {
      clearInterval(heartbeat)
      heartbeat = undefined
    }
  }

  function subscriberCount(): number {
    let count = 0
    for (const { subscribers } of rooms.values()) count += subscribers.size
    return count
  }

  /** One timer for all pages, only while there are any. It also tells them what changed about the daemon. */
  function beat(): void {
    knownInfo = JSON.stringify(info())
    heartbeat ??= setInterval(() => {
      const now = info()
      const changed = JSON.stringify(now) !== knownInfo
      knownInfo = JSON.stringify(now)
      for (const { subscribers } of rooms.values()) {
        for (const subscriber of subscribers) subscriber.post(changed ? { type: 'info', info: now } : { type: 'ping' })
      }
    }, pingMs).unref()
  }
}
