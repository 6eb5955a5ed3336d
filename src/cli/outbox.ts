/**
 * `hermes outbox`: dead letters, that is replies that could not be delivered and are not retried automatically.
 */
import { callRoute } from '../api/client.ts'
import { dropOutbox, retryOutbox } from '../api/routes/operation.ts'
import { dropDeadLetter, listDeadLetterRows, retryDeadLetter } from '../outbox/dead-letters.ts'
import type { Transaction } from '../store/query.ts'
import type { CliContext, JsonOption } from './kit/context.ts'
import { readHomeStore } from './kit/home-store.ts'
import { showList } from './kit/list.ts'
import { assertHomeUsable } from './kit/settings.ts'
import { applyDeadLetterAction } from './shared/dead-letters.ts'

const listLimit = 200

export async function outboxList(context: CliContext, { json }: JsonOption): Promise<void> {
  assertHomeUsable(context)
  const letters = readHomeStore(context.home, (reader) => reader.rows(listDeadLetterRows, { limit: listLimit }), [])
  showList(context, {
    json,
    rows: letters,
    empty: 'The outbox has no dead letters.',
    headings: ['NUMBER', 'FAILED AT', 'TO', 'TRIES', 'REASON', 'REPLY'],
    cells: ({ id, updated_at, platform, chat_id, tries, doubt, error, text }, display) => [
      String(id),
      display.formatTime(updated_at),
      `${platform}:${chat_id}`,
      `${tries}`,
      { text: `${error ?? 'reason unknown'}${doubt === 1 ? ' (it may have arrived)' : ''}`, tone: 'warn' },
      text,
    ],
    notes: ['`hermes outbox retry <number>` sends a reply again, `hermes outbox drop <number>` deletes it.'],
  })
}

export async function outboxRetry(context: CliContext, id: number): Promise<void> {
  const appliedIn = await applyDeadLetterAction(context, {
    id,
    inDaemon: (daemon) => callRoute(daemon, retryOutbox, { body: { id } }),
    transaction: () => retryInTransaction(id),
  })
  const when = appliedIn === 'daemon' ? 'now' : 'when the gateway starts'
  context.output.write(`Reply ${id} will be sent again ${when}.\n`)
}

export async function outboxDrop(context: CliContext, id: number): Promise<void> {
  await applyDeadLetterAction(context, {
    id,
    inDaemon: (daemon) => callRoute(daemon, dropOutbox, { body: { id } }),
    transaction: () => dropDeadLetter(id, Date.now()),
  })
  context.output.write(`Reply ${id} was dropped.\n`)
}

function* retryInTransaction(id: number): Transaction<boolean> {
  return (yield* retryDeadLetter(id, Date.now())) !== undefined
}
