/**
 * Why accepted messages have not ended yet, for `hermes inbox audit`.
 */
import { query, rows, type Transaction } from '../store/query.ts'
import { openCondition } from './queries.ts'

export interface OpenReason {
  readonly seq: number
  /** ms since 1970. */
  readonly acceptedAt: number
  readonly reason: string
}

const selectOpen = query((db, _: Record<never, never>) =>
  db
    .selectFrom('inbox')
    .leftJoin('turns', 'turns.id', 'inbox.turn_id')
    .select([
      'inbox.seq',
      'inbox.session_key',
      'inbox.lane',
      'inbox.state',
      'inbox.tries',
      'inbox.reason',
      'inbox.available_at',
      'inbox.accepted_at',
      'turns.state as turn_state',
      'turns.outage_since',
    ])
    .where((inbox) => inbox('inbox.seq', 'in', (all) => all.selectFrom('inbox').select('seq').where(openCondition)))
    .orderBy('inbox.seq'),
)

interface OpenRow {
  readonly seq: number
  readonly session_key: string
  readonly lane: string
  readonly state: string
  readonly tries: number
  readonly reason: string | null
  readonly available_at: number
  readonly turn_state: string | null
  readonly outage_since: number | null
}

/** @param now ms since 1970 */
export function* listOpenReasons(now: number): Transaction<readonly OpenReason[]> {
  const heads = new Map<string, number>()
  const reasons: OpenReason[] = []
  for (const event of yield* rows(selectOpen, {})) {
    const queue = `${event.lane} ${event.session_key}`
    const head = heads.get(queue) ?? event.seq
    heads.set(queue, head)
    reasons.push({ seq: event.seq, acceptedAt: event.accepted_at, reason: openReasonOf(event, head, now) })
  }
  return reasons
}

/** @param head the first open message of the queue */
function openReasonOf(event: OpenRow, head: number, now: number): string {
  const { seq, state, tries, reason, available_at, turn_state, outage_since } = event
  const failures = tries === 0 ? '' : `, after ${tries} failed attempts${reason === null ? '' : ` (${reason})`}`
  if (turn_state === 'waiting') return 'its turn waits for an answer to a question'
  if (outage_since !== null) return 'its turn waits for the provider of the model, which does not answer'
  if (available_at > now) return `it is tried again at ${new Date(available_at).toISOString()}${failures}`
  if (state === 'claimed') return `it is being processed${failures}`
  if (head !== seq) return `message ${head} of the same conversation is before it`
  return `it is the next of its conversation${failures}`
}
