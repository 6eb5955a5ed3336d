/**
 * `hermes send`: sends a message to a chat through the running daemon, and says what happened to it.
 */
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { text as readText } from 'node:stream/consumers'
import type { z } from 'zod'
import { callRoute } from '../api/client.ts'
import { sendMessage } from '../api/routes/messages.ts'
import { HermesError, messageOf } from '../lib/errors.ts'
import { exitCodes } from '../lib/exit-codes.ts'
import { toSingleLine } from '../lib/visible-text.ts'
import type { CliContext } from './kit/context.ts'
import { findRunningDaemon } from './kit/daemon.ts'
import { createDisplay } from './kit/display.ts'
import { readSettings } from './kit/settings.ts'

export interface SendOptions {
  readonly file?: string
  readonly media: readonly string[]
  /** Seconds. */
  readonly timeout: number
  readonly force: boolean
  readonly json: boolean
}

type Result = z.output<typeof sendMessage.response>['results'][number]

/** In addition to the time that the daemon waits for the platform. */
const requestGraceMs = 15_000

/**
 * `targets`: one, or several with commas between them. Exit code 0 when all were sent, 1 when one was refused or skipped, 75
 * when one is stored but not confirmed yet. Throws `cli/usage`, `cli/no-daemon` and the errors of the daemon.
 */
export async function send(
  context: CliContext,
  targets: string,
  words: readonly string[],
  { file, media, timeout, force, json }: SendOptions,
): Promise<void> {
  const text = (await readMessage(context.input, words, file, media.length > 0)).replace(/\n+$/, '')
  const settings = await readSettings(context)
  const daemon = await findRunningDaemon({ home: context.home, token: settings.token })
  if (daemon === undefined) throw new HermesError('cli/no-daemon')
  const body = {
    targets: targets
      .split(',')
      .map((target) => target.trim())
      .filter((target) => target !== ''),
    text,
    media: media.map((path) => (/^https?:\/\//.test(path) ? path : resolve(path))),
    wait: timeout,
    force,
  }
  const signal = AbortSignal.timeout(timeout * 1_000 + requestGraceMs)
  const { results } = await callRoute(daemon, sendMessage, { body, signal })
  context.exitCode = exitCodeOf(results)
  const display = createDisplay(context.output, context.environment)
  if (json) return display.json(results)
  for (const result of results) display.line(toSingleLine(describe(result)))
}

/** The words, the file, or the standard input. */
async function readMessage(
  input: CliContext['input'],
  words: readonly string[],
  file: string | undefined,
  hasMedia: boolean,
): Promise<string> {
  if (file !== undefined && words.length > 0)
    throw new HermesError('cli/usage', 'Write either a text or --file, not both.')
  if (file !== undefined && file !== '-') return readMessageFile(file)
  const isExplicit = file === '-' || (words.length === 1 && words[0] === '-')
  if (words.length > 0 && !isExplicit) return words.join(' ')
  // A file alone needs no text, and a program may leave its standard input open.
  if (hasMedia && !isExplicit) return ''
  if (isExplicit || input.isTTY !== true) return await readText(input)
  throw new HermesError('cli/usage', 'Write the text after the target, or use --file or - for the standard input.')
}

function readMessageFile(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    throw new HermesError('cli/usage', `--file: ${messageOf(error)}`, { cause: error })
  }
}

function exitCodeOf(results: readonly Result[]): number {
  if (results.some(({ status }) => status === 'failed' || status === 'skipped')) return exitCodes.failed
  return results.some(({ status }) => status === 'queued') ? exitCodes.temporary : 0
}

function describe({ target, status, chat, path, error }: Result): string {
  const where = chat === undefined || chat === target ? target : `${target} (${chat})`
  const why = error === undefined ? '' : `: ${error}`
  switch (status) {
    case 'sent':
      return `${where}: sent`
    case 'saved':
      return `${where}: saved as ${path ?? ''}`
    case 'queued':
      return `${where}: not confirmed yet, it is sent as soon as possible${why}`
    default:
      return `${where}: ${status}${why}`
  }
}
