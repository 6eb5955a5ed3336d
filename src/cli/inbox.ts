/**
 * `hermes inbox`: messages that wait for a person because working on them failed again and again.
 */
import { dropEvent, listOpenEvents, retryEvent } from '../inbox/letters.ts'
import type { UseCase } from '../store/query.ts'
import type { CliContext } from './context.ts'
import { createDisplay } from './display.ts'
import { readHome } from './home-store.ts'
import { change } from './letters.ts'
import { checkHome } from './settings.ts'

const listLimit = 200

/** Those set aside, and those still under way. */
export async function inboxList(context: CliContext, { json }: { readonly json: boolean }): Promise<void> {
  checkHome(context)
  const found = readHome(context.home, (reader) => reader.rows(listOpenEvents, { limit: listLimit }), [])
  const display = createDisplay(context.output, context.environment)
  if (json) return display.json(found.map(({ payload, ...rest }) => ({ ...rest, text: textIn(payload) })))
  const waiting = found.length === listLimit ? `; the oldest ${listLimit} are shown` : ''
  if (found.length === 0) return display.terminal ? display.line('Nothing waits in the inbox.') : undefined
  display.table(
    ['NUMBER', 'STATE', 'ARRIVED', 'FROM', 'TRIES', 'MESSAGE'],
    found.map(({ seq, state, accepted_at, platform, chat_id, tries, reason, payload }) => [
      String(seq),
      state === 'parked' ? { text: 'set aside', tone: 'warn' } : state === 'claimed' ? 'at work' : 'waiting',
      display.time(accepted_at),
      `${platform}:${chat_id}`,
      `${tries}`,
      reason === null ? textIn(payload) : `${textIn(payload)} — ${reason}`,
    ]),
  )
  if (!display.terminal) return
  display.line()
  display.line(`Set aside: hermes inbox retry <number> tries again, hermes inbox drop <number> forgets it${waiting}.`)
}

export async function inboxRetry(context: CliContext, seq: number): Promise<void> {
  const by = await change(context, { id: seq, path: '/api/inbox/retry', direct: () => retried(seq) })
  const when = by === 'daemon' ? 'now' : 'when the gateway starts'
  context.output.write(`Message ${seq} is tried again ${when}.\n`)
}

export async function inboxDrop(context: CliContext, seq: number): Promise<void> {
  await change(context, { id: seq, path: '/api/inbox/drop', direct: () => dropEvent(seq) })
  context.output.write(`Message ${seq} is forgotten.\n`)
}

function* retried(seq: number): UseCase<boolean> {
  return (yield* retryEvent(seq, Date.now())) !== undefined
}

/** The text of a stored `MessageEvent`. */
function textIn(payload: string): string {
  const event: unknown = JSON.parse(payload)
  const text = typeof event === 'object' && event !== null && 'text' in event ? event.text : ''
  return typeof text === 'string' ? text : ''
}
