/**
 * Writes the output of a host and the log calls of its handlers to the log. Long lines are truncated, and lines above a rate
 * limit are dropped and counted.
 */
import type { Readable } from 'node:stream'
import type { LogFields, Logger } from '../lib/log.ts'
import type { LogLevel } from '../lib/log-files.ts'
import { createLineReader } from './line-reader.ts'

const maxLineChars = 2_000
/** Limit of one field. Fields beyond `maxFields` are dropped. */
const maxFieldChars = 8_000
const maxFields = 20
/** Limit of the lines of one module per window, and of those of no module. Further lines of the window are dropped. */
const logWindowMs = 10_000
const maxLinesPerLogWindow = 200
/** Limit of the read rate, so that a host with endless output does not keep the gateway busy. */
const maxBytesPerReadWindow = 16 * 1024 * 1024
const readWindowMs = 250

export interface HostOutputOptions {
  /** Lines that handlers print have no event. */
  readonly log: Logger<LogFields>
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>
  /** ms, never set back */
  readonly now?: (() => number) | undefined
}

export interface HostOutput {
  /** Logs a stream line by line. */
  readStream(name: 'stdout' | 'stderr', stream: Readable): void
  /** Logs a line of a handler. `module`: one of the modules of the host, whose lines have a limit of their own. */
  logLine(level: LogLevel, fields: Readonly<Record<string, unknown>>, text: string, module?: string): void
  /** The last lines on stderr, which usually explain why a host does not start. */
  stderrTail(): string
  /** Logs how much was dropped and ignores later output. */
  close(): void
}

export function createHostOutput({ log, sleep, now = () => performance.now() }: HostOutputOptions): HostOutput {
  const closeController = new AbortController()
  let windowOpen = false
  const stderrLines: string[] = []
  /** What was written in this window, by module; undefined: by no known module. */
  const sources = new Map<string | undefined, Source>()
  const sourceOf = (module: string | undefined): Source => {
    const known = sources.get(module)
    if (known !== undefined) return known
    const added = { remainingLines: maxLinesPerLogWindow, droppedLines: 0, droppedBytes: 0 }
    sources.set(module, added)
    return added
  }

  const closeWindow = () => {
    windowOpen = false
    for (const [module, { droppedLines, droppedBytes }] of sources) {
      if (droppedBytes === 0) continue
      log.warn(
        { event: 'host.output_dropped', module, lines: droppedLines, bytes: droppedBytes },
        'the host printed too much; the rest was dropped',
      )
    }
    sources.clear()
  }
  const openWindow = () => {
    if (windowOpen) return
    windowOpen = true
    void sleep(logWindowMs, closeController.signal).then(() =>
      closeController.signal.aborted ? undefined : closeWindow(),
    )
  }
  const logLine: HostOutput['logLine'] = (level, fields, text, module) => {
    if (closeController.signal.aborted) return
    openWindow()
    if (fields['stream'] === 'stderr') appendToTail(stderrLines, text)
    const source = sourceOf(module)
    if (source.remainingLines === 0) {
      source.droppedLines += 1
      source.droppedBytes += Buffer.byteLength(text)
      return
    }
    source.remainingLines -= 1
    log[level](truncateFields(fields), truncate(text))
  }

  const readStream: HostOutput['readStream'] = (name, stream) => {
    const level = name === 'stdout' ? 'info' : 'warn'
    const logText = (text: string) => {
      if (text.trim() === '') return
      logLine(level, { stream: name }, text)
    }
    const reader = createLineReader(maxLineChars * 4, logText, (beginning) => logText(`${beginning} …`))
    const throttle = createReadThrottle(stream, { sleep, now }, closeController.signal)
    /** Whether the beginning of the current line was dropped. */
    let midLine = false
    stream.on('data', (chunk: Buffer) => {
      if (closeController.signal.aborted) return
      throttle(chunk.length)
      // Dropped output is not split into lines, because that would be the most expensive step.
      const source = sourceOf(undefined)
      const from = source.remainingLines === 0 ? chunk.length : midLine ? chunk.indexOf(10) + 1 || chunk.length : 0
      source.droppedBytes += from
      if (from > 0) {
        reader.takeRemainder()
        midLine = chunk[from - 1] !== 10
      }
      reader.add(chunk.subarray(from))
    })
    stream.once('end', () => logText(reader.takeRemainder()))
    stream.once('error', (error) =>
      logLine('warn', { stream: name, err: error }, 'the output of the host cannot be read'),
    )
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

interface Source {
  remainingLines: number
  droppedLines: number
  droppedBytes: number
}

function truncate(text: string): string {
  if (text.length <= maxLineChars) return text
  return `${text.slice(0, maxLineChars)}… (${text.length} characters)`
}

/** Fields may be several megabytes long. */
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
    // The value is nested too deeply to be serialised.
    return '(too deep)'
  }
}

function appendToTail(lines: string[], text: string): void {
  lines.push(text.slice(0, 300))
  if (lines.length > 5) lines.shift()
}

/** Pauses the stream when more than the limit was read within one window. */
function createReadThrottle(
  stream: Readable,
  { sleep, now }: { readonly sleep: HostOutputOptions['sleep']; now(): number },
  signal: AbortSignal,
): (bytes: number) => void {
  let read = 0
  let windowStart = now()
  return (bytes) => {
    const time = now()
    if (time - windowStart > readWindowMs) {
      read = 0
      windowStart = time
    }
    read += bytes
    if (read <= maxBytesPerReadWindow) return
    read = 0
    stream.pause()
    void sleep(readWindowMs, signal).then(() => stream.resume())
  }
}
