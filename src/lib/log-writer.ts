/**
 * Structured logging: one line per state change.
 *
 * Secrets are removed at the sink, from the finished line, so that no path (URL, error object, nested field) is missed.
 * Lines are written synchronously in the main thread: a logged line is written even if the process dies next.
 */
import { writeSync } from 'node:fs'
import { pino } from 'pino'
import { systemCode } from './errors.ts'
import { escapeJsonLine, parseJson } from './json.ts'
import type { LogFields, Logger } from './log.ts'
import { keptLogFiles, type LogLevel, logFilePath } from './log-files.ts'
import { createTerminalFormatter, type TerminalFormatter } from './log-terminal.ts'
import type { Redactor } from './redact.ts'
import { createRotatingFile } from './rotating-file.ts'

/** Where lines are written besides the file: `process.stderr` or an object with `write`. */
export interface LogStream {
  write(text: string): unknown
  /** Its descriptor, and what waits for it. */
  readonly fd?: number | undefined
  readonly writableLength?: number
  on?(event: 'error', listener: (error: Error) => void): unknown
}

export interface LogOptions {
  readonly level: LogLevel
  /** Writes formatted lines instead of JSON to `stream`. */
  readonly pretty: boolean
  /** Colours in formatted lines. Default: `pretty`. */
  readonly colour?: boolean
  readonly stream?: LogStream | undefined
  /**
   * The directory of `gateway.log`, which gets JSON lines (mode 0600). Default: at most `keep` = 7 files of
   * `maxBytes` = 10 MB.
   */
  readonly file?: { readonly directory: string; readonly maxBytes?: number; readonly keep?: number }
  readonly redactor: Redactor
  /** ms since 1970. */
  readonly clock?: () => number
}

/** The root logger. `setLevel` also applies to its children. */
export interface Log extends Logger {
  setLevel(level: LogLevel): void
  /** Calls after each line, until the returned function is called. The listener may not throw, and may not log. */
  observe(listener: () => void): () => void
  /** Closes the file. A later line opens it again, so that the last lines of a shutdown are kept. */
  close(): void
}

const levelWeight: Readonly<Record<LogLevel, number>> = { debug: 20, info: 30, warn: 40, error: 50 }

/**
 * Creates the root logger. Logging never throws and never stops the process. A line that cannot be written is dropped and
 * counted, and the next line that can be written reports the count.
 */
export function createLog(options: LogOptions): Log {
  const { stream, pretty, colour = pretty, clock = Date.now, redactor } = options
  const ownLine = (message: string, fields: LogFields = {}) =>
    `${JSON.stringify({ level: 'warn', time: new Date(clock()).toISOString(), ...fields, msg: message })}\n`
  const lostLine = (lost: number) => ownLine('log lines could not be written', { event: 'log.lines_lost', lost })
  const file = options.file === undefined ? undefined : createLogFile(options.file)
  const fileSink = createSink((text) => file?.appendSync(text), lostLine)
  let format: TerminalFormatter | undefined
  const toStream = (text: string) => {
    if (stream === undefined) return
    if (!pretty) return writeAtOnce(stream, text)
    format ??= createTerminalFormatter(colour)
    const lines = text.split(/(?<=\n)/).map(format)
    stream.write(lines.join(''))
  }
  const streamSink = createSink(toStream, lostLine)
  // Without a listener a closed terminal or pipe would end the process.
  stream?.on?.('error', streamSink.countLost)
  let level = options.level
  const listeners = new Set<() => void>()

  const root = pino(
    {
      level: 'debug',
      base: null,
      timestamp: () => `,"time":"${new Date(clock()).toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: (value: unknown) => value },
    },
    {
      write(line: string) {
        const clean = redactLine(line, redactor, ownLine)
        fileSink.write(clean)
        streamSink.write(clean)
        for (const listener of listeners) listener()
      },
    },
  )
  const loggerOver = (target: Pick<typeof root, LogLevel | 'child'>): Logger => {
    const logAt = (lineLevel: LogLevel) => (fields: LogFields, message: string) => {
      if (levelWeight[lineLevel] >= levelWeight[level])
        target[lineLevel](toPlainFields(fields, { stacks: level === 'debug' }), message)
    }
    return {
      debug: logAt('debug'),
      info: logAt('info'),
      warn: logAt('warn'),
      error: logAt('error'),
      child: (fields) => loggerOver(target.child(toPlainFields(fields, { stacks: level === 'debug' }))),
    }
  }
  return {
    ...loggerOver(root),
    setLevel: (next) => {
      level = next
    },
    observe(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    close: () => {
      try {
        file?.close()
      } catch {
        // The descriptor is released in any case, and every line was already written.
      }
    },
  }
}

function createLogFile({
  directory,
  maxBytes = 10 * 1024 * 1024,
  keep = keptLogFiles,
}: NonNullable<LogOptions['file']>) {
  return createRotatingFile({
    path: logFilePath(directory, 0),
    generationPath: (generation) => logFilePath(directory, generation),
    maxBytes,
    keepFiles: keep - 1,
  })
}

/** A pipe takes up to this many bytes completely or not at all. */
const maxAtomicBytes = 4_096

/** Without the objects that a stream makes for each write. What the descriptor does not take waits in its stream. */
function writeAtOnce(stream: LogStream, text: string): void {
  const { fd, writableLength = 0 } = stream
  const bytes = Buffer.from(text)
  if (fd === undefined || writableLength > 0 || bytes.length > maxAtomicBytes) return void stream.write(text)
  const written = writeWithoutWaiting(fd, bytes)
  if (written < bytes.length) stream.write(bytes.toString('utf8', written))
}

/** The number of bytes that the descriptor took. Throws when it takes none for another reason than that it is full. */
function writeWithoutWaiting(fd: number, bytes: Uint8Array): number {
  try {
    return writeSync(fd, bytes)
  } catch (error) {
    if (systemCode(error) === 'EAGAIN') return 0
    throw error
  }
}

/** Counts the lines that could not be written and reports the count before the next line that can be. */
function createSink(write: (text: string) => void, lostLine: (lost: number) => string) {
  let lostCount = 0
  return {
    countLost: () => {
      lostCount += 1
    },
    write(line: string) {
      const reported = lostCount
      try {
        write(reported === 0 ? line : lostLine(reported) + line)
        // An 'error' event during the write may have counted this line.
        lostCount -= reported
      } catch {
        // A logger that throws would fail the work that it reports on.
        lostCount += 1
      }
    },
  }
}

/** Names that the line itself uses. A field with such a name gets an underscore. */
const reservedFields = new Set(['level', 'time', 'msg'])

function toPlainFields(fields: LogFields, options: LogValueOptions): Record<string, unknown> {
  const plain: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(fields)) {
    if (value !== undefined) plain[reservedFields.has(key) ? `${key}_` : key] = toLogValue(value, options)
  }
  return plain
}

/** The finished line without secrets and without characters that control a terminal. Always JSON. */
function redactLine(line: string, redactor: Redactor, ownLine: (text: string) => string): string {
  const body = line.trimEnd()
  const clean = redactor(body)
  if (clean === body || parseJson(clean) !== undefined) return `${escapeJsonLine(clean)}\n`
  // The redaction removed punctuation of the JSON.
  return escapeJsonLine(ownLine(clean))
}

const maxValueDepth = 6
const maxItems = 50
const maxChars = 8_192
const maxCauses = 5

interface LogValueOptions {
  /** Whether errors include their stack. */
  readonly stacks: boolean
}

/** Converts any value to plain, bounded JSON data. Never throws, even for getters and proxies that do. */
function toLogValue(value: unknown, options: LogValueOptions): unknown {
  try {
    return convert(value, options, 0, [])
  } catch {
    // Only a getter or a proxy throws here; its error is unrelated to the log call.
    return '[unreadable]'
  }
}

function convert(value: unknown, options: LogValueOptions, depth: number, ancestors: readonly object[]): unknown {
  switch (typeof value) {
    case 'string':
      return value.length > maxChars ? `${value.slice(0, maxChars)}\u2026 (${value.length} characters)` : value
    case 'number':
      return Number.isFinite(value) ? value : String(value)
    case 'bigint':
    case 'symbol':
      return value.toString()
    case 'function':
      return '[function]'
    case 'object':
      return value === null ? null : convertObject(value, options, depth, ancestors)
    default:
      return value
  }
}

function convertObject(value: object, options: LogValueOptions, depth: number, ancestors: readonly object[]): unknown {
  if (ancestors.includes(value)) return '[circular]'
  if (value instanceof Error) return convertError(value, options, depth, ancestors)
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? 'invalid date' : value.toISOString()
  if (value instanceof URL) return value.href
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`
  if (depth >= maxValueDepth) return Array.isArray(value) ? '[list]' : '[object]'
  const path = [...ancestors, value]
  if (Array.isArray(value) || value instanceof Set) {
    const items = [...value]
    const shown = items.slice(0, maxItems).map((item) => convert(item, options, depth + 1, path))
    return items.length > maxItems ? [...shown, `\u2026 ${items.length - maxItems} more`] : shown
  }
  const entries: [string, unknown][] =
    value instanceof Map ? [...value].map(([k, v]) => [String(k), v]) : Object.entries(value)
  const shown = entries.slice(0, maxItems).map(([key, item]) => [key, convert(item, options, depth + 1, path)])
  if (entries.length > maxItems) shown.push(['\u2026', `${entries.length - maxItems} more`])
  return Object.fromEntries(shown)
}

/** Name, code, message, hint and causes of an error. */
function convertError(error: Error, options: LogValueOptions, depth: number, ancestors: readonly object[]): unknown {
  const path = [...ancestors, error]
  const nested = (value: unknown) => convert(value, options, depth + 1, path)
  const code = systemCode(error)
  const includeCauses = path.length <= maxCauses
  return {
    ...(error.name === 'Error' ? {} : { name: nested(error.name) }),
    code,
    message: nested(error.message),
    ...('hint' in error && typeof error.hint === 'string' ? { hint: nested(error.hint) } : {}),
    ...('status' in error && typeof error.status === 'number' ? { status: error.status } : {}),
    ...(error.cause !== undefined && includeCauses ? { cause: nested(error.cause) } : {}),
    ...(error instanceof AggregateError && includeCauses ? { errors: nested(error.errors) } : {}),
    ...(options.stacks && error.stack !== undefined ? { stack: nested(error.stack) } : {}),
  }
}
