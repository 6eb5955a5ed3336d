/**
 * Logging: one structured line per state change. The only door to `pino`.
 *
 * Secrets are removed at the sink, from the finished line, so that no path (URL, error object, nested field) is missed.
 */

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
