/**
 * The events of a run, for any number of readers. A reader that is slow or comes late gets texts that follow each other as one, so
 * that the memory of a run is that of its text.
 */
import { sseEvent, sseKeepAlive } from './format-response.ts'

export interface RunEvent {
  /** As in `message.delta`. */
  readonly event: string
  readonly [field: string]: unknown
}

export interface RunLog {
  append(event: RunEvent): void
  appendText(delta: string): void
  /** No event follows. Readers end when they have read the last one. */
  end(): void
  /** Server-sent events from the first one. */
  read(options: { readonly common: object; readonly keepAliveMs: number }): ReadableStream<Uint8Array>
}

type Entry = { readonly event: RunEvent } | { text: string }

/** The number of pending events from which a reader gets no more. */
const highWaterMark = 16

export function createRunLog(): RunLog {
  const entries: Entry[] = []
  const readers = new Set<() => void>()
  let hasEnded = false
  const notify = () => {
    for (const flush of [...readers]) flush()
  }

  return {
    append(event) {
      entries.push({ event })
      notify()
    },
    appendText(delta) {
      const last = entries.at(-1)
      if (last !== undefined && 'text' in last) last.text += delta
      else entries.push({ text: delta })
      notify()
    },
    end() {
      hasEnded = true
      notify()
    },
    read({ common, keepAliveMs }) {
      const encoder = new TextEncoder()
      let controller: ReadableStreamDefaultController<Uint8Array> | undefined
      let index = 0
      let chars = 0
      const hasRoom = () => (controller?.desiredSize ?? 0) > 0
      const send = (text: string) => controller?.enqueue(encoder.encode(text))
      /** The next event that was not sent. */
      const next = (): RunEvent | undefined => {
        for (let entry = entries[index]; entry !== undefined; entry = entries[index]) {
          if ('event' in entry) {
            index++
            return entry.event
          }
          const delta = entry.text.slice(chars)
          const isLast = index === entries.length - 1
          chars = isLast ? entry.text.length : 0
          if (!isLast) index++
          if (delta !== '') return { event: 'message.delta', delta }
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
          const found = next()
          if (found === undefined) break
          send(sseEvent({ ...found, ...common }))
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
