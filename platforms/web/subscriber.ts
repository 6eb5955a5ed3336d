/**
 * One open page: a stream of lines that first brings what was missed and then what happens.
 *
 * The history is the only source of entries. A new one is never described by whoever made it; it only wakes the
 * subscriber, who reads on from where it stands. So every entry comes once, with the id it is stored under.
 */
import type { ChatEntry, Logger } from '#sdk'
import { messageOf } from '#sdk'
import type { LiveEvent } from './protocol.ts'

/** How many lines the first read asks for; with more than that missed, it asks again for more. */
const initialBatch = 200
const maxBatch = 51_200
/** A page that reads slower than this much behind is let go; it comes back and catches up. */
const maxBufferedBytes = 4_000_000
/**
 * Reading on begins this many lines back: two lines of the same moment may be stored in another order than their ids
 * say, and neither may be missed.
 */
const overlapEntries = 50

export interface Subscriber {
  readonly stream: ReadableStream<Uint8Array>
  /** Sends an event after everything that was asked for before. */
  post(event: LiveEvent): void
  /** Reads on in the history. */
  wake(): void
  /** Ends the stream. May be called twice. */
  close(): void
}

export interface SubscriberOptions {
  readonly history: (query: { after?: string; limit: number }) => Promise<ChatEntry[]>
  /** The last entry that the page knows; without it the newest `firstLimit` are sent. */
  readonly after: string | undefined
  readonly initialEntries: number
  /** Said before everything else. */
  readonly firstEvent: LiveEvent
  /** What is live at the moment when everything missed has been sent. */
  readonly snapshot: () => LiveEvent[]
  readonly onClose: () => void
  readonly log: Logger
}

export function createSubscriber(options: SubscriberOptions): Subscriber {
  const encoder = new TextEncoder()
  /** Ids that the page knows, the newest last. */
  const known: string[] = options.after === undefined ? [] : [options.after]
  let open = true
  /** Work in order; `waiting` counts what has not run, so that events need not wait where nothing is before them. */
  let tail: Promise<void> = Promise.resolve()
  let waiting = 0
  let drained: () => void = () => undefined
  let controller: ReadableStreamDefaultController<Uint8Array>

  const stream = new ReadableStream<Uint8Array>(
    {
      start: (given) => {
        controller = given
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
    for (const event of options.snapshot()) write(event)
    write({ type: 'ready', more })
  })

  return {
    stream,
    post: (event) => (waiting === 0 ? write(event) : enqueue(async () => write(event))),
    wake: () => enqueue(readNext),
    close() {
      if (!open) return
      end()
      controller.close()
    },
  }

  function enqueue(work: () => Promise<void>): void {
    waiting += 1
    tail = tail
      .then(() => (open ? work() : undefined))
      .catch((error: unknown) => {
        // The page comes back by itself and starts from what it has; half a picture would be worse.
        options.log.warn({ error: messageOf(error) }, 'a chat page was disconnected: its history could not be read')
        fail()
      })
      .finally(() => {
        waiting -= 1
      })
  }

  /** Tells whether older lines exist. */
  async function readNewest(): Promise<boolean> {
    const newest = await options.history({ limit: options.initialEntries + 1 })
    await writeEntries(newest.slice(-options.initialEntries))
    return newest.length > options.initialEntries
  }

  async function readNext(): Promise<void> {
    const [after] = known
    for (let limit = initialBatch; ; limit *= 4) {
      const entries = await options.history({ ...(after === undefined ? {} : { after }), limit })
      if (entries.length === limit && limit < maxBatch) continue
      return writeEntries(entries)
    }
  }

  async function writeEntries(entries: readonly ChatEntry[]): Promise<void> {
    for (const entry of entries) {
      if (known.includes(entry.id)) continue
      known.push(entry.id)
      if (known.length > overlapEntries) known.shift()
      write({ type: 'entry', entry })
      await drain()
    }
  }

  function write(event: LiveEvent): void {
    if (!open) return
    controller.enqueue(encoder.encode(`${JSON.stringify(event)}\n`))
    if ((controller.desiredSize ?? 0) < -maxBufferedBytes) fail()
  }

  /** Waits until the page has read what it was sent. */
  function drain(): Promise<void> | undefined {
    if (!open || (controller.desiredSize ?? 0) > 0) return undefined
    return new Promise((resolve) => {
      drained = resolve
    })
  }

  function fail(): void {
    if (!open) return
    end()
    controller.error(new Error('the stream was ended by the gateway'))
  }

  function end(): void {
    if (!open) return
    open = false
    drained()
    options.onClose()
  }
}
