/**
 * The log as modules see it, without the packages that write it.
 */
export type LogFields = Readonly<Record<string, unknown>>

/**
 * Fields of a line. `event` names what happened, for example `turn.started`. It stays the same when the message changes.
 * `err` is the error that caused the line; a second name for it would split every search.
 */
export type LogEventFields = LogFields & { readonly event: string; readonly error?: never }

/**
 * The log as modules see it. The fields precede the message, as in pino. `Fields` is `LogFields` for plugins and
 * platforms of users, whose lines need no event.
 */
export interface Logger<Fields extends LogFields = LogEventFields> {
  debug(fields: Fields, message: string): void
  info(fields: Fields, message: string): void
  warn(fields: Fields, message: string): void
  error(fields: Fields, message: string): void
  /** Returns a logger that adds these fields to every line. */
  child(fields: LogFields): Logger<Fields>
}

/** Discards all lines. */
export const silentLog: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  child: () => silentLog,
}
