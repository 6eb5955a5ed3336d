/**
 * `hermes logs`: the log of the gateway, filtered, and new lines as they are written. The files are read, so that it works without
 * a running gateway, too.
 */
import { existsSync } from 'node:fs'
import { createLogReader, type LogFilter, type LogLevel, type LogLine } from '../lib/log-files.ts'
import { createTerminalFormatter } from '../lib/log-terminal.ts'
import { sleep } from '../lib/timers.ts'
import type { CliContext } from './kit/context.ts'
import { createDisplay, reportEmptyList } from './kit/display.ts'
import { readHomeStore } from './kit/home-store.ts'
import { assertHomeUsable } from './kit/settings.ts'
import { parseSince } from './kit/since.ts'
import { findSession } from './shared/find-session.ts'

export interface LogsOptions {
  readonly follow: boolean
  readonly lines: number
  readonly level?: LogLevel
  readonly event?: string
  readonly session?: string
  readonly since?: string
  readonly json: boolean
}

const pollIntervalMs = 250

/** With `follow`, it ends when the output is closed. Throws `cli/usage`, and `home/unusable`. */
export async function logs(context: CliContext, options: LogsOptions): Promise<void> {
  assertHomeUsable(context)
  const { home, output, environment } = context
  const { level, event, since, session, lines: limit, json, follow } = options
  const filter: LogFilter = {
    ...{ level, event },
    sessions: session === undefined ? undefined : namesOf(context, session),
    since: since === undefined ? undefined : parseSince(since, Date.now()),
  }
  const display = createDisplay(output, environment)
  const format = json ? undefined : createTerminalFormatter(display.hasColour, true)
  const print = (lines: readonly LogLine[]) => {
    for (const { text } of lines) output.write(format?.(text) ?? `${text}\n`)
  }
  const reader = createLogReader(home.logs)
  const lines = reader.tail(filter, limit)
  print(lines)
  if (follow) await followLog(context, () => print(reader.readNew(filter)))
  else if (lines.length === 0)
    reportEmptyList(
      context,
      existsSync(home.logs) ? 'No line of the log matches.' : `There is no log yet (${home.logs}).`,
    )
}

/** Resolves when the reader of the output has gone, as after `hermes logs --follow | head`. */
async function followLog({ output }: CliContext, printNew: () => void): Promise<void> {
  const ended = new AbortController()
  for (const name of ['close', 'error'] as const) output.once(name, () => ended.abort())
  while (!ended.signal.aborted) {
    printNew()
    await sleep(pollIntervalMs, ended.signal)
  }
}

/** Most lines name the key of a conversation, and people see its id. */
function namesOf({ home }: CliContext, name: string): ReadonlySet<string> {
  const session = readHomeStore(home, (reader) => findSession(reader, name), undefined)
  return new Set([name, ...(session === undefined ? [] : [session.id, session.session_key])])
}
