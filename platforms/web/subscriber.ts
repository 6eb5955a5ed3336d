/**
 * The stream of one open page. It sends the missed entries first and then live events.
 *
 * The history is the only source of entries. A new entry only notifies the subscriber, which then continues to read the
 * history. Every entry is therefore sent once, with the id under which it is stored.
 */
import type { Logger } from '#sdk'
import type { LiveEvent, ToolEvent, WireEntry } from './protocol.ts'

/** The size of the first read of missed entries. Larger reads follow when it is not sufficient. */
const initialBatch = 200
const maxBatch = 51_200
/** A page that falls further behind is disconnected. It reconnects and catches up. */
const maxBufferedBytes = 4_000_000
/**
 * Reading continues this many entries back, because two entries of the same millisecond may be stored in a different order
 * than their ids.
 */
const overlapEntries = 50

export interface Subscriber {
  readonly stream: ReadableStream<Uint8Array>
  /** Sends an event after all pending work. */
  post(event: LiveEvent): void
  /** Sends new entries of the history. */
  wake(): void
  /** Ends the stream. May be called twice. */
  close(): void
}

export interface SubscriberOptions {
  readonly history: (query: { after?: string | undefined; limit: number }) => Promise<WireEntry[]>
  /** The ended tool calls of these turns, sent after the missed entries. */
  readonly toolCalls: (turnIds: readonly string[]) => Promise<readonly ToolEvent[]>
  /** The last entry that the page has. Without it the newest `initialEntries` are sent. */
  readonly after: string | undefined
  readonly initialEntries: number
  /** Sent first. */
  readonly firstEvent: LiveEvent
  /** The live state, sent after the missed entries. */
  readonly snapshot: () => LiveEvent[]
  readonly onClose: () => void
  readonly log: Logger
}

export function createSubscriber(options: SubscriberOptions): Subscriber {
  const encoder = new TextEncoder()
  /** Ids of entries that the page has, in ascending order. */
  const known: string[] = options.after === undefined ? [] : [options.after]
  /** The turns of the missed entries. */
  const missedTurns = new Set<string>()
  let isCatchingUp = true
  let open = true
  /** Pending work in order. `pending` counts it, so that an event is sent at once when there is none. */
  let tail: Promise<void> = Promise.resolve()
  let pending = 0
  let drained: () => void = () => undefined
  let controller: ReadableStreamDefaultController<Uint8Array>

  const stream = new ReadableStream<Uint8Array>(
    {
      start: (created) => {
        controller = created
      },
      pull: () => drained(),
      cancel: () => end(),
    },
    { highWaterMark: 64_000, size: (chunk) => chunk.byteLength },
  )

  write(options.firstEvent)
  enqueue(async () => {
    const more = options.after === undefined ? await readNewest() : true
    await readNext()
    await writeToolCalls()
    for (const event of options.snapshot()) write(event)
    write({ type: 'ready', more })
  })

  return {
    stream,
    post: (event) => (pending === 0 ? write(event) : enqueue(async () => write(event))),
    wake: () => enqueue(readNext),
    close() {
      if (!open) return
      end()
      controller.close()
    },
  }

  function enqueue(work: () => Promise<void>): void {
    pending += 1
    tail = tail
      .then(() => (open ? work() : undefined))
      .catch((error: unknown) => {
        // The page reconnects by itself and continues after its last entry.
        options.log.warn(
          { event: 'web.page_disconnected', err: error },
          'chat page disconnected: its history could not be read',
        )
        fail()
      })
      .finally(() => {
        pending -= 1
      })
  }

  /** Returns whether older entries exist. */
  async function readNewest(): Promise<boolean> {
    const newest = await options.history({ limit: options.initialEntries + 1 })
    await writeEntries(newest.slice(-options.initialEntries))
    return newest.length > options.initialEntries
  }

  async function readNext(): Promise<void> {
    const [after] = known
    for (let limit = initialBatch; ; limit *= 4) {
      const entries = await options.history({ after, limit })
      if (entries.length === limit && limit < maxBatch) continue
      return writeEntries(entries)
    }
  }

  async function writeEntries(entries: readonly WireEntry[]): Promise<void> {
    for (const entry of entries) {
      if (known.includes(entry.id)) continue
      known.push(entry.id)
      if (known.length > overlapEntries) known.shift()
      if (isCatchingUp && entry.turnId !== undefined) missedTurns.add(entry.turnId)
      write({ type: 'entry', entry })
      await drain()
    }
  }

  /** Later calls are live events. */
  async function writeToolCalls(): Promise<void> {
    isCatchingUp = false
    if (missedTurns.size === 0) return
    const calls = await options.toolCalls([...missedTurns])
    missedTurns.clear()
    for (const call of calls) {
      write(call)
      await drain()
    }
  }

  function write(event: LiveEvent): void {
    if (!open) return
    controller.enqueue(encoder.encode(`${JSON.stringify(event)}\n`))
    if ((controller.desiredSize ?? 0) < -maxBufferedBytes) fail()
  }

  /** Waits until the page has read the sent data. */
  function drain(): Promise<void> | undefined {
    if (!open || (controller.desiredSize ?? 0) > 0) return undefined
    return new Promise((resolve) => {
      drained = resolve
    })
  }

  function fail(): void {
    if (!open) return
    end()
    controller.error(new Error('the gateway closed the stream'))
  }

  function end(): void {
    if (!open) return
    open = false
    drained()
    options.onClose()
  }
}
