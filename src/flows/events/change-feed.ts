/**
 * Tells clients that something has changed, so that they read it again and none has to poll. A topic is what the path of the JSON API
 * calls it: `jobs` for `/api/jobs`. Loaded with the first client; without clients nothing is observed.
 */
import { onAbort } from '../../lib/timers.ts'
import type { TurnActivity } from '../../platforms/adapter.ts'
import type { GatewayObserver } from './gateway-events.ts'

/** A line of the stream. `ready` comes first: what is read from then on misses no change. */
export type ChangeLine =
  | { readonly type: 'ready' | 'ping' }
  | { readonly type: 'changed'; readonly topics: readonly string[] }

export interface ChangeFeed {
  /** One `ChangeLine` a line. Ends with the signal, when the gateway stops, and for the oldest of too many clients. */
  open(signal: AbortSignal): ReadableStream<Uint8Array>
}

interface ChangeFeedDeps {
  /** Calls `changed` too for lines of the log (`logs`) and for the configuration (`config`). Returns what ends it. */
  observe(observer: GatewayObserver & Required<Pick<GatewayObserver, 'changed'>>): () => void
  /** What changes without a signal, as a text that is compared with the one before. */
  warnings(): string
}

/** Changes within this time are told together. */
const togetherMs = 200
/** Proxies close connections that are silent for longer. */
const pingMs = 15_000
const maxClients = 50
/** Lines that wait for a client; what it then misses is told when it reads again. */
const maxLines = 8

interface Client {
  tell(topics: ReadonlySet<string>): void
  ping(): void
  close(): void
}

/** @param stopping aborts when the gateway stops */
export function createChangeFeed({ observe, warnings }: ChangeFeedDeps, stopping: AbortSignal): ChangeFeed {
  const clients = new Set<Client>()
  let pending = new Set<string>()
  let timer: NodeJS.Timeout | undefined
  let end: (() => void) | undefined
  let known = ''

  function changed(topic: string): void {
    pending.add(topic)
    timer ??= setTimeout(flush, togetherMs).unref()
  }

  function flush(): void {
    const topics = pending
    pending = new Set()
    timer = undefined
    for (const client of clients) client.tell(topics)
  }

  function begin(): () => void {
    known = warnings()
    const stop = observe({
      event(name) {
        const topic = topicOf(name)
        if (topic !== undefined) changed(topic)
      },
      activity: (_turn, { kind }: TurnActivity) => {
        changed('turns')
        // A turn that begins or ends takes its messages out of the queue.
        if (kind === 'turn-started' || kind === 'turn-ended') changed('inbox')
      },
      jobFired: () => changed('jobs'),
      finished: () => changed('outbox'),
      changed,
    })
    const heartbeat = setInterval(() => {
      const now = warnings()
      if (now !== known) changed('status')
      known = now
      for (const client of clients) client.ping()
    }, pingMs).unref()
    return () => {
      stop()
      clearInterval(heartbeat)
      clearTimeout(timer)
      timer = undefined
      pending.clear()
    }
  }

  return {
    open(signal) {
      const [oldest] = clients
      if (clients.size >= maxClients) oldest?.close()
      const { stream, client } = createClient(() => {
        clients.delete(client)
        for (const removeListener of listeners) removeListener()
        if (clients.size > 0) return
        end?.()
        end = undefined
      })
      const listeners = [signal, stopping].map((each) => onAbort(each, client.close))
      clients.add(client)
      end ??= begin()
      return stream
    },
  }
}

/** @param onClose called once */
function createClient(onClose: () => void): { readonly stream: ReadableStream<Uint8Array>; readonly client: Client } {
  const encoder = new TextEncoder()
  const missed = new Set<string>()
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined
  const send = (line: ChangeLine) => controller?.enqueue(encoder.encode(`${JSON.stringify(line)}\n`))
  const isFull = () => (controller?.desiredSize ?? 0) <= 0
  const end = () => {
    if (controller === undefined) return
    controller = undefined
    onClose()
  }
  const tellMissed = () => {
    if (missed.size === 0 || isFull()) return
    send({ type: 'changed', topics: [...missed] })
    missed.clear()
  }
  const stream = new ReadableStream<Uint8Array>(
    {
      start(opened) {
        controller = opened
        send({ type: 'ready' })
      },
      pull: tellMissed,
      cancel: end,
    },
    new CountQueuingStrategy({ highWaterMark: maxLines }),
  )
  const client: Client = {
    tell(topics) {
      for (const topic of topics) missed.add(topic)
      tellMissed()
    },
    ping() {
      if (!isFull()) send({ type: 'ping' })
    },
    close() {
      const open = controller
      end()
      open?.close()
    },
  }
  return { stream, client }
}

function topicOf(event: string): string | undefined {
  if (event === 'message:received') return 'inbox'
  if (event === 'message:refused') return 'pairing'
  if (event.startsWith('approval:')) return 'approvals'
  if (event.startsWith('session:')) return 'sessions'
  return undefined
}
