/**
 * What a host prints, and what its handlers log, becomes lines of the log: long ones are cut, and of a flood only the
 * beginning is kept, with one line that says how much was dropped.
 */
import type { Readable } from 'node:stream'
import type { Logger, LogLevel } from '../lib/log.ts'
import { createLineReader } from './lines.ts'

const maxLineChars = 2_000
/** Of one field; fields beyond `maxFields` are left out. */
const maxFieldChars = 8_000
const maxFields = 20
/** Beyond this many lines in a window the rest of the window is dropped. */
const windowMs = 10_000
const linesPerWindow = 200
/** Read no faster than this: a host that prints without end must not keep the gateway busy, so it has to wait. */
const bytesPerBreath = 16 * 1024 * 1024
const breathMs = 250

export interface OutputOptions {
  readonly log: Logger
  readonly pause: (ms: number, signal?: AbortSignal) => Promise<void>
}

export interface Output {
  /** Reads a stream to its end. */
  follow(name: 'stdout' | 'stderr', stream: Readable): void
  /** A line that a handler logged. */
  line(level: LogLevel, fields: Readonly<Record<string, unknown>>, text: string): void
  /** The last text that came on stderr; says most about a host that does not start. */
  lastWords(): string
  /** Says what was dropped so far. What comes later is ignored. */
  end(): void
}

export function createOutput({ log, pause }: OutputOptions): Output {
  const over = new AbortController()
  let room = linesPerWindow
  let windowOpen = false
  let droppedLines = 0
  let droppedBytes = 0
  const words: string[] = []

  const closeWindow = () => {
    windowOpen = false
    room = linesPerWindow
    if (droppedBytes === 0) return
    log.warn({ lines: droppedLines, bytes: droppedBytes }, 'the host printed too much: the rest of it was dropped')
    droppedLines = 0
    droppedBytes = 0
  }
  const openWindow = () => {
    if (windowOpen) return
    windowOpen = true
    void pause(windowMs, over.signal).then(() => (over.signal.aborted ? undefined : closeWindow()))
  }
  const line: Output['line'] = (level, fields, text) => {
    if (over.signal.aborted) return
    openWindow()
    if (room === 0) {
      droppedLines += 1
      droppedBytes += Buffer.byteLength(text)
      return
    }
    room -= 1
    log[level](bounded(fields), cut(text))
  }

  const follow: Output['follow'] = (name, stream) => {
    const level = name === 'stdout' ? 'info' : 'warn'
    const show = (text: string) => {
      if (text.trim() === '') return
      if (name === 'stderr') keepWords(words, text)
      line(level, { stream: name }, text)
    }
    const reader = createLineReader(maxLineChars * 4, show, (beginning) => show(`${beginning} …`))
    const breathe = createBreath(stream, pause, over.signal)
    /** The beginning of the line that is being read was dropped. */
    let midLine = false
    stream.on('data', (chunk: Buffer) => {
      if (over.signal.aborted) return
      breathe(chunk.length)
      // Cutting lines out of what is dropped anyway would cost more than all the rest.
      const from = room === 0 ? chunk.length : midLine ? chunk.indexOf(10) + 1 || chunk.length : 0
      droppedBytes += from
      if (from > 0) {
        reader.rest()
        midLine = chunk[from - 1] !== 10
      }
      reader.add(chunk.subarray(from))
    })
    stream.once('end', () => show(reader.rest()))
    stream.once('error', (error) => line('warn', { stream: name, err: error }, 'the output of the host broke off'))
  }

  return {
    follow,
    line,
    lastWords: () => words.join('\n'),
    end() {
      if (over.signal.aborted) return
      over.abort()
      closeWindow()
    },
  }
}

function cut(text: string): string {
  if (text.length <= maxLineChars) return text
  return `${text.slice(0, maxLineChars)}… (${text.length} characters)`
}

/** The log would show them up to several megabytes. */
function bounded(fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(fields)
      .slice(0, maxFields)
      .map(([name, value]) => [cut(name), boundedValue(value)]),
  )
}

function boundedValue(value: unknown): unknown {
  if (typeof value === 'string') return cut(value)
  if (typeof value !== 'object' || value === null || value instanceof Error) return value
  try {
    const text = JSON.stringify(value)
    return text.length <= maxFieldChars ? value : `${text.slice(0, maxFieldChars)}… (${text.length} characters)`
  } catch {
    // Brackets within brackets, deeper than anybody could follow.
    return '(too deep)'
  }
}

function keepWords(words: string[], text: string): void {
  words.push(text.slice(0, 300))
  if (words.length > 5) words.shift()
}

/** Counts what was read and lets the stream wait when it is too much at once. */
function createBreath(stream: Readable, pause: OutputOptions['pause'], over: AbortSignal): (bytes: number) => void {
  let read = 0
  let since = performance.now()
  return (bytes) => {
    const now = performance.now()
    if (now - since > breathMs) {
      read = 0
      since = now
    }
    read += bytes
    if (read <= bytesPerBreath) return
    read = 0
    stream.pause()
    void pause(breathMs, over).then(() => stream.resume())
  }
}
