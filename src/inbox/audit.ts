/**
 * Checks the promise about accepted messages: each one ends in exactly one of answered, failed with a notice, intentionally
 * silent, or absorbed into a named turn that ends in one of these three. Reads only; what it cannot account for is a defect.
 */
import type { Ending } from '../message/ending.ts'
import { isSilence, isSilenceNarration } from '../message/silence.ts'
import type { TurnResult } from '../message/turn-result.ts'
import { query, row, rows, type Transaction } from '../store/query.ts'
import type { BusyMode, InboxState, TurnState } from '../store/schema.ts'
import { isReplyStored } from './stored-replies.ts'

export interface AuditedEvent {
  readonly seq: number
  readonly sessionKey: string
  readonly ending: Ending
  /** With `absorbed`: how the turn ended that absorbed it. Equals `ending` otherwise. */
  readonly finally: Exclude<Ending, 'absorbed'>
  /** The turn that the event began or was absorbed into; null for a command and for an event without a turn. */
  readonly turnId: string | null
  /** For people: why the event counts as `ending`. */
  readonly reason: string
}

/** What is stored about an event and its turn. */
export interface AuditRow {
  readonly seq: number
  readonly session_key: string
  readonly lane: 'turn' | 'control'
  readonly kind: string
  readonly state: InboxState
  readonly turn_id: string | null
  readonly reason: string | null
  readonly outcome: string | null
  readonly busy_mode: BusyMode | null
  /** Null when the turn does not exist, or was deleted by the retention. */
  readonly turn_state: TurnState | null
  readonly interrupted_by: number | null
  /** How the event takes part in its turn; null as `turn_state`. */
  readonly how: 'head' | 'merged' | 'steered' | null
}

const selectEvents = query((db, p: { after: number; limit: number }) =>
  db
    .selectFrom('inbox')
    .leftJoin('turns', 'turns.id', 'inbox.turn_id')
    .leftJoin('turn_inputs', (join) =>
      join.onRef('turn_inputs.turn_id', '=', 'inbox.turn_id').onRef('turn_inputs.seq', '=', 'inbox.seq'),
    )
    .select([
      'inbox.seq',
      'inbox.session_key',
      'inbox.lane',
      'inbox.kind',
      'inbox.state',
      'inbox.turn_id',
      'inbox.reason',
      'inbox.outcome',
      'inbox.busy_mode',
      'turns.state as turn_state',
      'turns.interrupted_by',
      'turn_inputs.how',
    ])
    .where('inbox.seq', '>', p.after)
    .orderBy('inbox.seq')
    .limit(p.limit),
)

const selectFirstSince = query((db, p: { since: number }) =>
  db.selectFrom('inbox').select('seq').where('accepted_at', '>=', p.since).orderBy('seq').limit(1),
)

/** The number before the first event that was accepted at this time (ms) or later; undefined when there is none. */
export function* auditStart(since: number): Transaction<number | undefined> {
  const first = yield* row(selectFirstSince, { since })
  return first === undefined ? undefined : first.seq - 1
}

/** Classifies the events after `after`, at most `limit`, in the order of their numbers. Empty at the end of the inbox. */
export function* auditInbox(after: number, limit: number): Transaction<readonly AuditedEvent[]> {
  const audited: AuditedEvent[] = []
  for (const event of yield* rows(selectEvents, { after, limit })) audited.push(yield* auditEvent(event))
  return audited
}

function* auditEvent(event: AuditRow): Transaction<AuditedEvent> {
  const { ending, reason } = yield* withReply(event, classifyEvent(event))
  const { seq, session_key: sessionKey } = event
  const interrupter = interrupterOf(event)
  if (interrupter === undefined) {
    const isAbsorbed = event.how === 'merged' || event.how === 'steered'
    const base = { seq, sessionKey, turnId: event.lane === 'turn' ? event.turn_id : null, finally: ending, reason }
    if (!isAbsorbed || !isFinal(ending)) return { ...base, ending }
    return { ...base, ending: 'absorbed', reason: `it is ${event.how} into turn ${event.turn_id}, which ${reason}` }
  }
  // The number of the interrupting message is always higher, so that the chain ends.
  const next = interrupter > seq ? yield* row(selectEvents, { after: interrupter - 1, limit: 1 }) : undefined
  if (next?.seq !== interrupter)
    return {
      seq,
      sessionKey,
      turnId: null,
      ending: 'unaccounted',
      finally: 'unaccounted',
      reason: `the message ${interrupter}, which interrupted its turn, does not exist`,
    }
  const followed = yield* auditEvent(next)
  if (!isFinal(followed.finally) || followed.turnId === null)
    return {
      seq,
      sessionKey,
      turnId: null,
      ending: followed.finally,
      finally: followed.finally,
      reason: followed.reason,
    }
  return {
    seq,
    sessionKey,
    turnId: followed.turnId,
    ending: 'absorbed',
    finally: followed.finally,
    reason: `message ${interrupter} interrupted its turn and continued it`,
  }
}

/** An answer or a notice that was never stored for sending has not reached anybody. */
function* withReply(event: AuditRow, classified: Classification): Transaction<Classification> {
  const { ending, reason } = classified
  if ((ending !== 'answered' && ending !== 'failed') || event.outcome === null) return classified
  if (yield* isReplyStored(event, parseOutcome(event.outcome))) return classified
  return unaccounted(`its result is that it ${reason}, but no reply is in the outbox`)
}

function isFinal(ending: Ending): boolean {
  return ending !== 'open' && ending !== 'unaccounted'
}

/** The message that ended the turn of this one early. */
function interrupterOf({ state, outcome }: AuditRow): number | undefined {
  if (state !== 'done' || outcome === null) return undefined
  const { status, interruptedBy } = parseOutcome(outcome)
  return status === 'interrupted' ? (interruptedBy ?? 0) : undefined
}

interface Classification {
  readonly ending: Exclude<Ending, 'absorbed'>
  readonly reason: string
}

/**
 * How the event, or the turn that absorbed it, ended by what is stored with both. Does not follow an interruption and does not
 * look for the reply.
 */
export function classifyEvent(event: AuditRow): Classification {
  switch (event.state) {
    case 'queued':
    case 'claimed':
      if (event.state === 'claimed' && isEnded(event.turn_state))
        return unaccounted(`it is being processed, but its turn ${event.turn_id} has ended`)
      return { ending: 'open', reason: event.state === 'queued' ? 'it waits' : 'it is being processed' }
    case 'dropped':
      return classifyDropped(event)
    case 'dead':
      return classifyDead(event)
    case 'done':
      return event.lane === 'control' ? classifyCommand(event) : classifyDone(event)
  }
}

function isEnded(state: TurnState | null): boolean {
  return state !== null && state !== 'running' && state !== 'waiting'
}

/** Withdrawn by its sender, refused because the queue was full, or a dead letter that a person has given up. */
function classifyDropped({ reason, outcome, busy_mode }: AuditRow): Classification {
  if (busy_mode === 'refused') return { ending: 'open', reason: 'the notice that it was not taken is due' }
  if (outcome === null) return unaccounted('it was dropped without a result')
  const { status, text } = parseOutcome(outcome)
  if (status === 'stopped') return { ending: 'silent', reason: reason ?? 'its sender withdrew it' }
  if (status === 'failed' && text !== '') return { ending: 'failed', reason: reason ?? text }
  return unaccounted(`it was dropped, but its result is ${status}`)
}

function classifyDead({ reason, outcome, turn_state }: AuditRow): Classification {
  if (outcome === null) return unaccounted('it is a dead letter without a result')
  const { status, text } = parseOutcome(outcome)
  if (status !== 'failed' || text === '') return unaccounted('it is a dead letter without a notice')
  if (turn_state !== null && turn_state !== 'failed')
    return unaccounted(`it is a dead letter, but its turn is ${turn_state}`)
  return { ending: 'failed', reason: reason ?? 'it is a dead letter' }
}

function classifyCommand({ kind, outcome }: AuditRow): Classification {
  if (outcome === null) return unaccounted('it ended without a result')
  const { text } = parseOutcome(outcome)
  if (text !== '') return { ending: 'answered', reason: 'the command replied' }
  return { ending: 'silent', reason: `a ${kind} without a reply` }
}

function classifyDone({ outcome, turn_id, turn_state }: AuditRow): Classification {
  if (outcome === null) return unaccounted('it ended without a result')
  const { status, text } = parseOutcome(outcome)
  if (turn_state !== null && turn_state !== status)
    return unaccounted(`its result is ${status}, but its turn ${turn_id} is ${turn_state}`)
  switch (status) {
    case 'done':
      if (text === '') return unaccounted('it was answered with an empty text')
      if (isSilence(text) || isSilenceNarration(text)) return { ending: 'silent', reason: 'had nothing to report' }
      return { ending: 'answered', reason: 'was answered' }
    case 'failed':
      if (text === '') return unaccounted('it failed without a notice')
      return { ending: 'failed', reason: 'failed with a notice' }
    case 'stopped':
      return { ending: 'silent', reason: 'was stopped by a person' }
    case 'interrupted':
      return { ending: 'silent', reason: 'was interrupted' }
  }
}

function unaccounted(reason: string): Classification {
  return { ending: 'unaccounted', reason }
}

/** @param text JSON that the inbox has written, so its shape is known. */
function parseOutcome(text: string): TurnResult {
  return JSON.parse(text)
}
