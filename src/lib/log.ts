/**
 * Logging: one structured line per state change. The only door to `pino`.
 *
 * Secrets are removed at the sink, from the finished line, so that no path (URL, error object, nested field) is missed.
 * Everything happens in the main thread and at once: a line that was logged is out even if the process dies next.
 */
import { pino } from 'pino'
import { createLogFile } from './log-file.ts'
import { escapeJsonLine, formatTerminalLine } from './log-line.ts'
import { toLogValue } from './log-value.ts'
import type { Redactor } from './redact.ts'

export type LogLevel = 'debug' | 'info' | 'warn' | 'error'
export type LogFields = Readonly<Record<string, unknown>>

/** What rooms see of the log. `fields` first, then the sentence, as pino has it. */
export interface Logger {
  debug(fields: LogFields, message: string): void
  info(fields: LogFields, message: string): void
  warn(fields: LogFields, message: string): void
  error(fields: LogFields, message: string): void
  /** A logger that adds these fields to every line. */
  child(fields: LogFields): Logger
}

/** For tests and for code paths that must stay quiet. */
export const silentLog: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  child: () => silentLog,
}

/** Where lines go beside the file: `process.stderr`, or anything with `write`. */
export interface LogStream {
  write(text: string): unknown
  on?(event: 'error', listener: (error: Error) => void): unknown
}

export interface LogOptions {
  readonly level: LogLevel
  /** Lines for people instead of JSON on `stream`. */
  readonly pretty: boolean
  /** Colours in lines for people; as `pretty` if left out. */
  readonly colour?: boolean
  readonly stream?: LogStream
  /** Also write JSON lines to `gateway.log` in this folder, mode 0600, moved aside at `maxBytes` (10 MB), `keep` (7) files in all. */
  readonly file?: { readonly directory: string; readonly maxBytes?: number; readonly keep?: number }
  readonly redactor: Redactor
  /** ms since 1970. */
  readonly clock?: () => number
}

/** The log of the process. Its children follow `setLevel`. */
export interface Log extends Logger {
  setLevel(level: LogLevel): void
  /** Closes the file. Later lines open it again, so that the last words of a stop are kept. */
  close(): void
}

const levelWeight: Readonly<Record<LogLevel, number>> = { debug: 20, info: 30, warn: 40, error: 50 }

/**
 * The log of the process. Logging never throws and never stops the process: what cannot be written is dropped, counted,
 * and the count is written with the next line that can be.
 */
export function createLog(options: LogOptions): Log {
  const { stream, pretty, colour = pretty, clock = Date.now } = options
  const formatOwnLine = (level: LogLevel, message: string, fields: LogFields = {}) =>
    `${JSON.stringify({ level, time: new Date(clock()).toISOString(), ...fields, msg: message })}\n`
  const formatLostLine = (lost: number) =>
    formatOwnLine('warn', 'log lines were lost because they could not be written', { lost })
  const file = options.file === undefined ? undefined : createLogFile({ ...options.file, formatLostLine })
  let level = options.level
  let lostOnStream = 0

  // Without a listener a closed terminal or pipe would end the process.
  stream?.on?.('error', () => {
    lostOnStream += 1
  })
  const show = (line: string) => (pretty ? formatTerminalLine(line, colour) : line)
  const write = (line: string) => {
    const clean = redactLine(line, options.redactor, (text) => formatOwnLine('warn', text))
    file?.write(clean)
    const lost = lostOnStream
    try {
      stream?.write(lost === 0 ? show(clean) : show(formatLostLine(lost)) + show(clean))
      // Not to zero: the listener may have counted this very line.
      lostOnStream -= lost
    } catch {
      // Reported with the next line, see lostLine; a log that throws would fail the work it reports on.
      lostOnStream += 1
    }
  }

  const root = pino(
    {
      level: 'debug',
      base: null,
      timestamp: () => `,"time":"${new Date(clock()).toISOString()}"`,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { err: (value: unknown) => value },
    },
    { write },
  )
  const plain = (fields: LogFields) => toPlainFields(fields, level === 'debug')
  const loggerOver = (target: Pick<typeof root, LogLevel | 'child'>): Logger => ({
    debug: (fields, message) =>
      levelWeight[level] <= levelWeight.debug ? target.debug(plain(fields), message) : undefined,
    info: (fields, message) =>
      levelWeight[level] <= levelWeight.info ? target.info(plain(fields), message) : undefined,
    warn: (fields, message) =>
      levelWeight[level] <= levelWeight.warn ? target.warn(plain(fields), message) : undefined,
    error: (fields, message) => target.error(plain(fields), message),
    child: (fields) => loggerOver(target.child(plain(fields))),
  })
  return {
    ...loggerOver(root),
    setLevel: (next) => {
      level = next
    },
    close: () => file?.close(),
  }
}

/** Names that the line itself needs; a field of that name gets an underscore. */
const reservedFields = new Set(['level', 'time', 'msg'])

function toPlainFields(fields: LogFields, stacks: boolean): Record<string, unknown> {
  const known = Object.entries(fields).filter(([, value]) => value !== undefined)
  return Object.fromEntries(
    known.map(([key, value]) => [reservedFields.has(key) ? `${key}_` : key, toLogValue(value, { stacks })]),
  )
}

/** The finished line without secrets and without characters that steer a terminal; JSON in any case. */
function redactLine(line: string, redactor: Redactor, asLine: (text: string) => string): string {
  const body = line.trimEnd()
  const clean = redactor(body)
  if (clean === body || isJson(clean)) return `${escapeJsonLine(clean)}\n`
  // The secret was part of the line's own punctuation.
  return escapeJsonLine(asLine(clean))
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
