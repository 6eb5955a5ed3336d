/**
 * The newest events by number, and the messages of the store before them.
 *
 * A cursor is `<message> * span + <place>`: the number of the newest message before the event, and the place of the event after
 * that message. Messages have the place 0, so they are found in the store by any cursor, also after a restart. The other events
 * are kept in memory. Their places begin at a value that depends on the time, so that a cursor of an earlier process hardly ever
 * names an event of this one. A cursor that names none is answered with what follows its message, and with `missed`.
 */
import type { Logger } from '../../lib/log.ts'
import { toVisibleText } from '../../lib/visible-text.ts'
import { type FeedMessage, listMessagesAfter, messageBounds } from '../../sessions/message-feed.ts'
import type { Store } from '../../store/store.ts'
import type { ApiEvent, ApiEventType, EventPage, NewApiEvent } from './api-event.ts'
import type { GatewayEvents } from './gateway-events.ts'
import { toGatewayEvent, toJobEvent, toMessageEvent, toTurnEvent } from './to-event.ts'

export interface EventLogDeps {
  readonly store: Store
  readonly events: Pick<GatewayEvents, 'observe'>
  /** Takes the secrets of the gateway out of a text. */
  withhold(text: string): string
  readonly clock: () => number
  readonly log: Logger
  /** Events that are kept. Default: 2,000. */
  readonly maxKept?: number
}

export interface EventQuery {
  /** Only what follows. Without it, only what happens from now on. */
  readonly after?: number | undefined
  /** Empty for all types. */
  readonly types: ReadonlySet<ApiEventType>
  /** The key or the id of a session; undefined for all. */
  readonly session?: string | undefined
  readonly limit: number
}

export interface EventLog {
  /** What there is after a cursor. Rejects `store/...`. */
  page(query: EventQuery): Promise<EventPage>
  /** The cursor of the newest event. */
  last(): number
  /** Observes nothing more. */
  close(): void
}

const span = 2 ** 24
/**
 * The places of other events begin in the lower half, at the time in ms. A process tells fewer than one event each ms, so that the
 * next one begins above all places of it.
 */
const maxStart = 2 ** 23
const pageSize = 500

interface Kept {
  readonly events: ApiEvent[]
  /** Every event after this cursor was kept. */
  from: number
  last: number
  /** The newest message that was read. */
  message: number
  /** The place after a message at which other events begin. */
  readonly start: number
}

type Pending = NewApiEvent | 'messages'

/**
 * Observes from now on. Rejects `store/...`.
 * @param onEvent called for each event
 */
export async function openEventLog(deps: EventLogDeps, onEvent: (event: ApiEvent) => void): Promise<EventLog> {
  const { store, events, withhold, clock, log, maxKept = 2_000 } = deps
  const pending: Pending[] = []
  let retained: Kept | undefined
  let isDraining = false
  const clean = (text: string) => toVisibleText(withhold(text.toWellFormed()))
  const push = (...items: readonly Pending[]) => {
    pending.push(...items)
    void drain()
  }
  const close = events.observe({
    event(name, context) {
      const event = toGatewayEvent(name, context, clock(), clean)
      if (event !== undefined) push(event)
      else if (name === 'agent:step' || name === 'agent:end') push('messages')
    },
    activity: (turn, activity) => push('messages', toTurnEvent(turn, activity, clock())),
    jobFired: ({ id, name }, slot) => push(toJobEvent(id, name, slot, clock())),
  })

  /** One item after the other, because messages are read from the store. Never rejects. */
  async function drain(): Promise<void> {
    if (retained === undefined || isDraining) return
    isDraining = true
    for (let next = pending.shift(); next !== undefined; next = pending.shift()) {
      if (next !== 'messages') append(retained, next, placeAfter(retained))
      // Several signals in a row are one look.
      else if (pending[0] !== 'messages') await readMessages(retained)
    }
    isDraining = false
  }

  /** Never rejects: what could not be read is read with the next signal. */
  async function readMessages(into: Kept): Promise<void> {
    try {
      for (;;) {
        const messages = await store.run(() => listMessagesAfter(into.message, Number.MAX_SAFE_INTEGER, pageSize))
        for (const message of messages) {
          into.message = message.id
          append(into, toMessageEvent(message, clean), message.id * span)
        }
        if (messages.length < pageSize) return
      }
    } catch (error) {
      log.warn({ event: 'events.messages_unread', err: error }, 'clients are told of messages later')
    }
  }

  function append(into: Kept, event: NewApiEvent, at: number): void {
    const placed = { ...event, cursor: String(at) }
    into.last = at
    into.events.push(placed)
    const lost = into.events.length > maxKept ? into.events.shift() : undefined
    if (lost !== undefined) into.from = Number(lost.cursor)
    onEvent(placed)
  }

  async function page(all: Kept, query: EventQuery): Promise<EventPage> {
    const { types, limit } = query
    const given = query.after ?? all.last
    // A message of the future belongs to another database.
    if (messageOf(given) > messageOf(all.last)) return { ...keptAfter(all, query, all.last), missed: true }
    const isUnknown = !isCursorOf(all, given)
    const after = isUnknown ? messageOf(given) * span : given
    if (after >= all.from) return { ...keptAfter(all, query, after), missed: isUnknown }
    let first = messageOf(after)
    const isPruned = first > 0 && (await store.run(messageBounds)).first > first + 1
    const missed = isUnknown || isPruned || types.size !== 1 || !types.has('message')
    const events: ApiEvent[] = []
    // What was kept at first may be dropped while messages are read.
    for (let from = -1; from !== all.from; ) {
      from = all.from
      const stored = await replay({ ...query, limit: limit - events.length }, first, messageOf(from))
      first = messageOf(from)
      events.push(...stored.events)
      const cursor = events.at(-1)?.cursor
      if (stored.hasMore && cursor !== undefined) return { events: events, next_cursor: cursor, missed }
    }
    const rest = keptAfter(all, { ...query, limit: limit - events.length }, all.from)
    return { events: [...events, ...rest.events], next_cursor: rest.next_cursor, missed }
  }

  /** Stored messages with a number above `after`, up to `until`. */
  async function replay(query: EventQuery, after: number, until: number) {
    const events: ApiEvent[] = []
    if (query.types.size > 0 && !query.types.has('message')) return { events: events, hasMore: false }
    for (let position = after; ; ) {
      const start = position
      const messages = await store.run(() => listMessagesAfter(start, until, pageSize))
      for (const message of messages) {
        position = message.id
        const event = placedMessage(message)
        if (!matches(query, event)) continue
        events.push(event)
        if (events.length === query.limit) return { events: events, hasMore: true }
      }
      if (messages.length < pageSize) return { events: events, hasMore: false }
    }
  }

  function placedMessage(message: FeedMessage): ApiEvent {
    return { ...toMessageEvent(message, clean), cursor: String(message.id * span) }
  }

  try {
    const { last: message } = await store.run(messageBounds)
    const start = Math.floor(clock()) % maxStart
    const last = message * span + start
    const opened: Kept = { events: [], from: last, last, message, start }
    retained = opened
    void drain()
    return { page: (query) => page(opened, query), last: () => opened.last, close }
  } catch (error) {
    close()
    throw error
  }
}

/** The number of the message before an event. */
function messageOf(cursor: number): number {
  return Math.floor(cursor / span)
}

/** Whether a cursor is older than all that is kept, or names a message or something that this process has told. */
function isCursorOf({ events, from, last }: Kept, cursor: number): boolean {
  if (cursor <= from || cursor === last || cursor % span === 0) return true
  return Number(events[firstAfter(events, cursor) - 1]?.cursor) === cursor
}

/** The kept events after a cursor that it reaches back to. */
function keptAfter({ events: all, last }: Kept, query: EventQuery, after: number) {
  const events: ApiEvent[] = []
  for (let index = firstAfter(all, after); index < all.length; index += 1) {
    const event = all[index]
    if (event === undefined || !matches(query, event)) continue
    if (events.length >= query.limit) return { events, next_cursor: events.at(-1)?.cursor ?? String(after) }
    events.push(event)
  }
  return { events, next_cursor: String(last) }
}

/** The index of the first event after a cursor. Cursors grow with the index. */
function firstAfter(events: readonly ApiEvent[], after: number): number {
  let low = 0
  let high = events.length
  while (low < high) {
    const middle = (low + high) >> 1
    if (Number(events[middle]?.cursor) > after) high = middle
    else low = middle + 1
  }
  return low
}

export function matches({ types, session }: EventQuery, event: ApiEvent): boolean {
  if (types.size > 0 && !types.has(event.type)) return false
  return session === undefined || event.session_key === session || event.session_id === session
}

/** The cursor of an event that is not a message. After a message, its place begins at the start again. */
function placeAfter({ last, start }: Kept): number {
  return Math.max(last, last - (last % span) + start) + 1
}
