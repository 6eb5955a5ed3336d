/**
 * `hermes outbox`: replies that could not be delivered and are not tried again by themselves.
 */
import { dropDead, listDeadRows, retryDead } from '../outbox/dead-letters.ts'
import type { UseCase } from '../store/query.ts'
import type { CliContext } from './context.ts'
import { createDisplay } from './display.ts'
import { readHome } from './home-store.ts'
import { change } from './letters.ts'
import { checkHome } from './settings.ts'

const listLimit = 200

export async function outboxList(context: CliContext, { json }: { readonly json: boolean }): Promise<void> {
  checkHome(context)
  const found = readHome(context.home, (reader) => reader.rows(listDeadRows, { limit: listLimit }), [])
  const display = createDisplay(context.output, context.environment)
  if (json) return display.json(found)
  if (found.length === 0) return display.terminal ? display.line('Every reply was delivered.') : undefined
  display.table(
    ['NUMBER', 'GIVEN UP', 'TO', 'TRIES', 'REASON', 'REPLY'],
    found.map(({ id, updated_at, platform, chat_id, tries, doubt, error, text }) => [
      String(id),
      display.time(updated_at),
      `${platform}:${chat_id}`,
      `${tries}`,
      { text: `${error ?? 'no reason is known'}${doubt === 1 ? ' (it may have arrived)' : ''}`, tone: 'warn' },
      text,
    ]),
  )
  if (!display.terminal) return
  display.line()
  display.line('hermes outbox retry <number> sends again, hermes outbox drop <number> forgets it.')
}

export async function outboxRetry(context: CliContext, id: number): Promise<void> {
  const by = await change(context, { id, path: '/api/outbox/retry', direct: () => retried(id) })
  const when = by === 'daemon' ? 'now' : 'when the gateway starts'
  context.output.write(`Reply ${id} is sent again ${when}.\n`)
}

export async function outboxDrop(context: CliContext, id: number): Promise<void> {
  await change(context, { id, path: '/api/outbox/drop', direct: () => dropDead(id, Date.now()) })
  context.output.write(`Reply ${id} is forgotten.\n`)
}

function* retried(id: number): UseCase<boolean> {
  return (yield* retryDead(id, Date.now())) !== undefined
}
