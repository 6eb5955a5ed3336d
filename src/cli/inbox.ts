/**
 * `hermes inbox`: dead letters, that is messages whose processing failed too often, and messages not yet processed.
 */
import { callRoute } from '../api/client.ts'
import { dropInbox, retryInbox } from '../api/routes/operation.ts'
import { dropDeadEvent, listUnfinishedEvents, retryDeadEvent } from '../inbox/dead-letters.ts'
import type { Transaction } from '../store/query.ts'
import type { CliContext, JsonOption } from './kit/context.ts'
import type { Cell } from './kit/display.ts'
import { readHomeStore } from './kit/home-store.ts'
import { showList } from './kit/list.ts'
import { assertHomeUsable } from './kit/settings.ts'
import { applyDeadLetterAction } from './shared/dead-letters.ts'

const listLimit = 200

export async function inboxList(context: CliContext, { json }: JsonOption): Promise<void> {
  assertHomeUsable(context)
  const events = readHomeStore(context.home, (reader) => reader.rows(listUnfinishedEvents, { limit: listLimit }), [])
  const limitNote = events.length === listLimit ? ` Only the oldest ${listLimit} messages are listed.` : ''
  showList(context, {
    json,
    rows: events,
    data: events.map(({ payload, ...rest }) => ({ ...rest, text: parseMessageText(payload) })),
    empty: 'The inbox is empty.',
    headings: ['NUMBER', 'STATE', 'ARRIVED', 'FROM', 'TRIES', 'MESSAGE'],
    cells: ({ seq, state, accepted_at, platform, chat_id, tries, reason, payload }, display) => [
      String(seq),
      formatState(state),
      display.formatTime(accepted_at),
      `${platform}:${chat_id}`,
      `${tries}`,
      reason === null ? parseMessageText(payload) : `${parseMessageText(payload)} — ${reason}`,
    ],
    notes: [
      `Dead letters: \`hermes inbox retry <number>\` tries again, \`hermes inbox drop <number>\` deletes.${limitNote}`,
    ],
  })
}

function formatState(state: string): Cell {
  if (state === 'dead') return { text: 'dead letter', tone: 'warn' }
  return state === 'claimed' ? 'processing' : 'queued'
}

export async function inboxRetry(context: CliContext, seq: number): Promise<void> {
  const appliedIn = await applyDeadLetterAction(context, {
    id: seq,
    inDaemon: (daemon) => callRoute(daemon, retryInbox, { body: { id: seq } }),
    transaction: () => retryInTransaction(seq),
  })
  const when = appliedIn === 'daemon' ? 'now' : 'when the gateway starts'
  context.output.write(`Message ${seq} will be processed again ${when}.\n`)
}

export async function inboxDrop(context: CliContext, seq: number): Promise<void> {
  await applyDeadLetterAction(context, {
    id: seq,
    inDaemon: (daemon) => callRoute(daemon, dropInbox, { body: { id: seq } }),
    transaction: () => dropDeadEvent(seq),
  })
  context.output.write(`Message ${seq} was dropped.\n`)
}

function* retryInTransaction(seq: number): Transaction<boolean> {
  return (yield* retryDeadEvent(seq, Date.now())) !== undefined
}

/** The text of a stored `MessageEvent`. */
function parseMessageText(payload: string): string {
  const event: unknown = JSON.parse(payload)
  const text = typeof event === 'object' && event !== null && 'text' in event ? event.text : ''
  return typeof text === 'string' ? text : ''
}
