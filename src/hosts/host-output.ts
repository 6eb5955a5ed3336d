/**
 * What a host prints, and what its handlers log, becomes lines of the log: long ones are cut, and of a flood only the
 * beginning is kept, with one line that says how much was dropped.
 */
import type { Readable } from 'node:stream'
import type { LogFields, Logger, LogLevel } from '../lib/log.ts'
import { createLineReader } from './line-reader.ts'

const maxLineChars = 2_000
/** Of one field; fields beyond `maxFields` are left out. */
const maxFieldChars = 8_000
const maxFields = 20
/** Beyond this many lines in a window the rest of the window is dropped. */
const logWindowMs = 10_000
const maxLinesPerLogWindow = 200
/** Read no faster than this: a host that prints without end must not keep the gateway busy, so it has to wait. */
const maxBytesPerReadWindow = 16 * 1024 * 1024
const readWindowMs = 250

export interface HostOutputOptions {
  /** Lines that handlers print have no event. */
  readonly log: Logger<LogFields>
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>
}

export interface HostOutput {
  /** Reads a stream to its end. */
  readStream(name: 'stdout' | 'stderr', stream: Readable): void
  /** A line that a handler logged. */
  logLine(level: LogLevel, fields: Readonly<Record<string, unknown>>, text: string): void
  /** The last text that came on stderr; says most about a host that does not start. */
  stderrTail(): string
  /** Says what was dropped so far. What comes later is ignored. */
  close(): void
}

export function createHostOutput({ log, sleep }: HostOutputOptions): HostOutput {
  const closeController = new AbortController()
  let remainingLines = maxLinesPerLogWindow
  let windowOpen = false
  let droppedLines = 0
  let droppedBytes = 0
  const stderrLines: string[] = []

  const closeWindow = () => {
    windowOpen = false
    remainingLines = maxLinesPerLogWindow
    if (droppedBytes === 0) return
    log.warn(
      { event: 'host.output_dropped', lines: droppedLines, bytes: droppedBytes },
      'the host printed too much; the rest was dropped',
    )
    droppedLines = 0
    droppedBytes = 0
  }
  const openWindow = () => {
    if (windowOpen) return
    windowOpen = true
    void sleep(logWindowMs, closeController.signal).then(() =>
      closeController.signal.aborted ? undefined : closeWindow(),
    )
  }
  const logLine: HostOutput['logLine'] = (level, fields, text) => {
    if (closeController.signal.aborted) return
    openWindow()
    if (remainingLines === 0) {
      droppedLines += 1
      droppedBytes += Buffer.byteLength(text)
      return
    }
    remainingLines -= 1
    log[level](truncateFields(fields), truncate(text))
  }

  const readStream: HostOutput['readStream'] = (name, stream) => {
    const level = name === 'stdout' ? 'info' : 'warn'
    const logText = (text: string) => {
      if (text.trim() === '') return
      if (name === 'stderr') appendToTail(stderrLines, text)
      logLine(level, { stream: name }, text)
    }
    const reader = createLineReader(maxLineChars * 4, logText, (beginning) => logText(`${beginning} …`))
    const throttle = createReadThrottle(stream, sleep, closeController.signal)
    /** The beginning of the line that is being read was dropped. */
    let midLine = false
    stream.on('data', (chunk: Buffer) => {
      if (closeController.signal.aborted) return
      throttle(chunk.length)
      // Cutting lines out of what is dropped anyway would cost more than all the rest.
      const from = remainingLines === 0 ? chunk.length : midLine ? chunk.indexOf(10) + 1 || chunk.length : 0
      droppedBytes += from
      if (from > 0) {
        reader.takeRemainder()
        midLine = chunk[from - 1] !== 10
      }
      reader.add(chunk.subarray(from))
    })
    stream.once('end', () => logText(reader.takeRemainder()))
    stream.once('error', (error) => logLine('warn', { stream: name, err: error }, 'the output of the host broke off'))
  }

  return {
    readStream,
    logLine,
    stderrTail: () => stderrLines.join('\n'),
    close() {
      if (closeController.signal.aborted) return
      closeController.abort()
      closeWindow()
    },
  }
}

function truncate(text: string): string {
  if (text.length <= maxLineChars) return text
  return `${text.slice(0, maxLineChars)}… (${text.length} characters)`
}

/** The log would show them up to several megabytes. */
function truncateFields(fields: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(fields)
      .slice(0, maxFields)
      .map(([name, value]) => [truncate(name), truncateValue(value)]),
  )
}

function truncateValue(value: unknown): unknown {
  if (typeof value === 'string') return truncate(value)
  if (typeof value !== 'object' || value === null || value instanceof Error) return value
  try {
    const text = JSON.stringify(value)
    return text.length <= maxFieldChars ? value : `${text.slice(0, maxFieldChars)}… (${text.length} characters)`
  } catch {
    // Brackets within brackets, deeper than anybody could follow.
    return '(too deep)'
  }
}

function appendToTail(words: string[], text: string): void {
  words.push(text.slice(0, 300))
  if (words.length > 5) words.shift()
}

/** Counts what was read and lets the stream wait when it is too much at once. */
function createReadThrottle(
  stream: Readable,
  sleep: HostOutputOptions['sleep'],
  signal: AbortSignal,
): (bytes: number) => void {
  let read = 0
  let windowStart = performance.now()
  return (bytes) => {
    const now = performance.now()
    if (now - windowStart > readWindowMs) {
      read = 0
      windowStart = now
    }
    read += bytes
    if (read <= maxBytesPerReadWindow) return
    read = 0
    stream.pause()
    void sleep(readWindowMs, signal).then(() => stream.resume())
  }
}
