/**
 * `hermes trace`: where one message is, and how it came there. Only reads, so it works while the gateway is stopped, too.
 */
import { readTrace } from '../flows/trace/read-trace.ts'
import type { Trace, TraceStep } from '../flows/trace/trace.ts'
import { formatElapsed } from '../lib/duration.ts'
import { HermesError } from '../lib/errors.ts'
import type { CliContext, JsonOption } from './kit/context.ts'
import { type Cell, createDisplay, type Display, type Tone } from './kit/display.ts'
import { readHomeStore } from './kit/home-store.ts'
import { assertHomeUsable } from './kit/settings.ts'

/** Throws `cli/not-found` if there is no such message, `store/…`. */
export async function trace(context: CliContext, subject: string, { json }: JsonOption): Promise<void> {
  assertHomeUsable(context)
  const now = Date.now()
  const read = readHomeStore(context.home, (reader) => reader.run(() => readTrace(subject, now)), undefined)
  if (read === undefined) throw notFound(subject)
  const display = createDisplay(context.output, context.environment)
  if (json) display.json(read)
  else print(display, read, now)
}

function notFound(subject: string): HermesError {
  const hint = '`hermes inbox list` shows the numbers of open messages; the log names turns.'
  return new HermesError(
    'cli/not-found',
    subject === 'last'
      ? 'There is no message yet.'
      : `There is no message and no turn ${JSON.stringify(subject)}, or its rows were deleted after \`retention.days\`. ${hint}`,
  )
}

const endingTones: Readonly<Record<Trace['ending'], Tone>> = {
  answered: 'good',
  silent: 'good',
  absorbed: 'good',
  open: 'warn',
  failed: 'bad',
  unaccounted: 'bad',
}

function print(display: Display, { message, turn, ending, reason, steps }: Trace, now: number): void {
  const { seq, platform, account, chatId, userId, sessionKey } = message
  const rows: [string, Cell][] = [
    ['Message', `${seq} from ${userId || 'the gateway'} in ${platform}:${chatId}`],
    ['Account', account],
    ['Conversation', sessionKey],
    ['Turn', turn === null ? '' : `${turn.id} with ${turn.model} (${turn.provider})`],
    ['Ended', { text: ending === 'open' ? 'not yet' : ending, tone: endingTones[ending] }],
    ['Because', reason],
  ]
  display.fields(rows.filter(([, value]) => value !== ''))
  display.line()
  const from = steps[0]?.at ?? now
  const total = Math.max(1, ...steps.map(({ at, ms }) => at - from + (ms ?? 0)))
  display.table(
    ['AFTER', 'TOOK', ...(display.isTerminal ? [''] : []), 'STEP', 'RESULT', 'DETAIL'],
    steps.map((step) => [
      formatElapsed(step.at - from),
      step.ms === null ? '' : formatElapsed(step.ms),
      ...(display.isTerminal ? [bar(step, from, total)] : []),
      step.name === '' ? step.kind : `${step.kind} ${step.name}`,
      { text: step.result, tone: step.result === 'ok' ? 'dim' : step.result === 'open' ? 'warn' : 'bad' },
      step.detail,
    ]),
  )
}

const barWidth = 24

/** The step on a line that stands for the whole time. */
function bar({ at, ms }: TraceStep, from: number, total: number): Cell {
  const start = Math.min(barWidth - 1, Math.floor(((at - from) / total) * barWidth))
  const length = Math.max(1, Math.round(((ms ?? 0) / total) * barWidth))
  const text = `${'·'.repeat(start)}${(ms === null ? '│' : '█').repeat(Math.min(length, barWidth - start))}`
  return { text: text.padEnd(barWidth, '·'), tone: 'dim' }
}
