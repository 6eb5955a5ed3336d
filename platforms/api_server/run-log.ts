/**
 * The events of a run, for any number of readers. A reader that is slow or comes late gets texts that follow each other as one, so
 * that the memory of a run is that of its text.
 */
import { randomBytes } from 'node:crypto'
import { sseEvent, sseKeepAlive } from './format-response.ts'

export interface RunEvent {
  /** The event name, the same as in `message.delta`. */
  readonly event: string
  readonly [field: string]: unknown
}

export interface RunLog {
  append(event: RunEvent): void
  appendText(delta: string): void
  /** No event follows. Readers end when they have read the last one. */
  end(): void
  /** Server-sent events after the one with the id `after`, or from the first one. Undefined: none follows. */
  read(options: {
    readonly after: string | null
    readonly runId: string
    readonly keepAliveMs: number
  }): ReadableStream<Uint8Array> | undefined
}

export interface RunLogOptions {
  /** ms since 1970. */
  readonly clock: () => number
  /** Whether there were events that are not known any more. Every reader is told. */
  readonly hasMissed: boolean
}

type Entry = { readonly event: RunEvent; readonly at: number } | { text: string; at: number }

/** The number of pending events from which a reader gets no more. */
const highWaterMark = 16

export function createRunLog({ clock, hasMissed }: RunLogOptions): RunLog {
  const name = randomBytes(4).toString('hex')
  const entries: Entry[] = hasMissed ? [{ event: { event: 'events.missed', missed: true }, at: clock() }] : []
  const readers = new Set<() => void>()
  let hasEnded = false
  const notify = () => {
    for (const flush of [...readers]) flush()
  }

  /** The position after an event: the number of its entry, and how much of a text was read. */
  function positionAfter(id: string | null): { index: number; chars: number } {
    const [, log, index = '', chars = ''] = /^([0-9a-f]{8})-(\d{1,9})-(\d{1,9})$/.exec(id ?? '') ?? []
    const isKnown = log === name && Number(index) <= entries.length
    return isKnown ? { index: Number(index), chars: Number(chars) } : { index: 0, chars: 0 }
  }

  return {
    append(event) {
      entries.push({ event, at: clock() })
      notify()
    },
    appendText(delta) {
      const last = entries.at(-1)
      if (last !== undefined && 'text' in last) {
        last.text += delta
        last.at = clock()
      } else entries.push({ text: delta, at: clock() })
      notify()
    },
    end() {
      hasEnded = true
      notify()
    },
    read({ after, runId, keepAliveMs }) {
      const encoder = new TextEncoder()
      let controller: ReadableStreamDefaultController<Uint8Array> | undefined
      let { index, chars } = positionAfter(after)
      if (hasEnded && index === entries.length && index > 0) return undefined
      const hasRoom = () => (controller?.desiredSize ?? 0) > 0
      const send = (text: string) => controller?.enqueue(encoder.encode(text))
      /** The next event that was not sent. */
      const next = (): (RunEvent & { readonly timestamp: number }) | undefined => {
        for (let entry = entries[index]; entry !== undefined; entry = entries[index]) {
          const timestamp = entry.at / 1_000
          if ('event' in entry) {
            index++
            return { ...entry.event, timestamp }
          }
          const delta = entry.text.slice(chars)
          const isLast = index === entries.length - 1
          chars = isLast ? entry.text.length : 0
          if (!isLast) index++
          if (delta !== '') return { event: 'message.delta', delta, timestamp }
          if (isLast) return undefined
        }
        return undefined
      }
      const stop = () => {
        clearInterval(keepAlive)
        readers.delete(flush)
        controller = undefined
      }
      const flush = () => {
        while (hasRoom()) {
          const event = next()
          if (event === undefined) break
          send(`id: ${name}-${index}-${chars}\n${sseEvent({ ...event, run_id: runId })}`)
        }
        if (!hasEnded || !hasRoom()) return
        const last = controller
        stop()
        last?.close()
      }
      const keepAlive = setInterval(() => {
        if (hasRoom()) send(sseKeepAlive)
      }, keepAliveMs)
      return new ReadableStream<Uint8Array>(
        {
          start(started) {
            controller = started
            readers.add(flush)
          },
          pull: flush,
          cancel: stop,
        },
        { highWaterMark },
      )
    },
  }
}
