/**
 * Reads the way of one message from the rows that its processing has left. Nothing is stored for it.
 */
import { auditInbox } from '../../inbox/audit.ts'
import { listOpenReasons } from '../../inbox/open-reasons.ts'
import { parseStoredEvent } from '../../inbox/stored-event.ts'
import { asNumber, asRecord, asString, parseJson } from '../../lib/json.ts'
import { row, rows, type Transaction } from '../../store/query.ts'
import {
  selectDeliveries,
  selectHead,
  selectMessage,
  selectNewest,
  selectNotes,
  selectQuestions,
  selectResponses,
  selectToolCalls,
  selectTurn,
  selectTurnsByPrefix,
} from './queries.ts'
import type { Trace, TraceStep } from './trace.ts'

/** A turn is found by so many characters of its id: they say the millisecond in which it began. */
const minPrefixChars = 13

/** The number of the message that is meant. */
function* findTraced(subject: string): Transaction<number | undefined> {
  if (subject === 'last') return (yield* row(selectNewest, {}))?.seq
  if (/^\d{1,15}$/.test(subject)) return (yield* row(selectMessage, { seq: Number(subject) }))?.seq
  if (subject.length < minPrefixChars) return undefined
  const [turn, another] = yield* rows(selectTurnsByPrefix, { from: subject, to: `${subject}\u{10ffff}` })
  if (turn === undefined || another !== undefined) return undefined
  return (yield* row(selectHead, { turn_id: turn.id }))?.seq
}

/**
 * Undefined if there is no such message.
 * @param subject a number of the inbox, the id of a turn or its beginning, or `last`
 * @param now ms since 1970
 */
export function* readTrace(subject: string, now: number): Transaction<Trace | undefined> {
  const seq = yield* findTraced(subject)
  if (seq === undefined) return undefined
  const message = yield* row(selectMessage, { seq })
  if (message === undefined) return undefined
  const { session_key: sessionKey, platform, account, chat_id: chatId, turn_id } = message
  const [audited] = yield* auditInbox(seq - 1, 1)
  const isOpen = audited?.ending === 'open'
  const open = isOpen ? (yield* listOpenReasons(now)).find((each) => each.seq === seq) : undefined
  const turn = turn_id === null ? undefined : yield* row(selectTurn, { id: turn_id })
  const event = parseStoredEvent(message.payload)
  const steps = [
    ...arrivalSteps(event.timestamp, message.accepted_at),
    ...waitingSteps(message, turn?.started_at ?? null),
    ...(turn === undefined ? [] : yield* stepsOfTurn(turn, message)),
  ]
  return {
    message: { seq, platform, account, chatId, userId: event.source.userId ?? '', sessionKey },
    turn:
      turn === undefined
        ? null
        : {
            id: turn.id,
            sessionId: turn.session_id,
            model: turn.model,
            provider: turn.provider,
            state: turn.state,
          },
    ending: audited?.ending ?? 'unaccounted',
    reason: open?.reason ?? audited?.reason ?? '',
    steps: steps.toSorted((a, b) => a.at - b.at),
  }
}

interface TracedMessage {
  readonly session_key: string
  readonly platform: string
  readonly account: string
  readonly chat_id: string
  readonly state: string
  readonly busy_mode: string | null
  readonly accepted_at: number
}

/** The clock of the platform may be ahead; its time is left out then. */
function arrivalSteps(sentAt: number, acceptedAt: number): TraceStep[] {
  const accepted = moment('accepted', acceptedAt)
  return sentAt < acceptedAt && sentAt > 0 ? [moment('sent', sentAt), accepted] : [accepted]
}

function moment(kind: 'sent' | 'accepted', at: number): TraceStep {
  return { kind, name: '', at, ms: null, result: 'ok', detail: '' }
}

const busyReasons: Readonly<Record<string, string>> = {
  interrupt: 'the conversation was busy; it interrupted the running turn',
  queue: 'the conversation was busy; it followed the running turn',
  steer: 'the conversation was busy; it joined the running turn',
  collect: 'it waited for the messages that follow it',
  media: 'it waited for the files that follow it',
  refused: 'the queue of the conversation was full',
}

function waitingSteps(message: TracedMessage, startedAt: number | null): TraceStep[] {
  const { state, busy_mode, accepted_at: at } = message
  const detail = busy_mode === null ? '' : (busyReasons[busy_mode] ?? '')
  const base = { kind: 'waited', name: '', at, detail } as const
  if (startedAt !== null) return [{ ...base, ms: Math.max(0, startedAt - at), result: 'ok' }]
  return state === 'queued' || state === 'claimed' ? [{ ...base, ms: null, result: 'open' }] : []
}

interface TracedTurn {
  readonly id: string
  readonly session_id: string
  readonly state: string
  readonly reason: string | null
  readonly model: string
  readonly started_at: number
  readonly ended_at: number | null
}

function* stepsOfTurn(turn: TracedTurn, message: TracedMessage): Transaction<TraceStep[]> {
  const { id: turn_id, session_id, started_at: from, ended_at } = turn
  const { platform, account, chat_id, session_key } = message
  const tools = (yield* rows(selectToolCalls, { turn_id })).map(toolStep)
  const responses = yield* rows(selectResponses, { session_id, turn_id })
  const questions = yield* rows(selectQuestions, { session_key, from, to: ended_at ?? Number.MAX_SAFE_INTEGER })
  const deliveries = yield* rows(selectDeliveries, { platform, account, chat_id, turn_id })
  const notes = yield* rows(selectNotes, { turn_id })
  return [
    turnStep(turn),
    ...modelSteps(turn, responses, tools),
    ...tools,
    ...questions.map(questionStep),
    ...deliveries.map(deliveryStep),
    ...notes.map(
      ({ event, detail, at }): TraceStep => ({ kind: 'note', name: event, at, ms: null, result: 'ok', detail }),
    ),
  ]
}

function turnStep({ state, reason, started_at: at, ended_at }: TracedTurn): TraceStep {
  const result = state === 'done' ? 'ok' : state === 'running' || state === 'waiting' ? 'open' : state
  return { kind: 'turn', name: '', at, ms: durationOf(at, ended_at), result, detail: reason ?? '' }
}

function durationOf(from: number, to: number | null): number | null {
  return to === null ? null : Math.max(0, to - from)
}

/** A call begins when the turn does, or when the last tool before its response has ended. Retries are part of it. */
function modelSteps(
  { model: name, started_at }: TracedTurn,
  responses: readonly { readonly created_at: number; readonly usage: string | null }[],
  tools: readonly TraceStep[],
): TraceStep[] {
  let before = started_at
  return responses.map(({ created_at, usage }): TraceStep => {
    const ends = tools.map(({ at, ms }) => at + (ms ?? 0)).filter((end) => end <= created_at)
    const at = Math.max(before, ...ends)
    before = created_at
    const { inputTokens, outputTokens } = asRecord(parseJson(usage ?? ''))
    const detail = usage === null ? '' : `${asNumber(inputTokens)} tokens read, ${asNumber(outputTokens)} written`
    return { kind: 'model', name, at, ms: Math.max(0, created_at - at), result: 'ok', detail }
  })
}

function toolStep(call: {
  readonly name: string
  readonly state: string
  readonly result: string | null
  readonly started_at: number
  readonly ended_at: number | null
}): TraceStep {
  const { name, state, started_at: at, ended_at } = call
  const { ok, label, summary } = asRecord(parseJson(call.result ?? ''))
  const detail = [asString(label), asString(summary)].filter((text) => text !== '').join(' — ')
  const result = state === 'started' ? 'open' : state === 'interrupted' ? state : ok === false ? 'failed' : 'ok'
  return { kind: 'tool', name, at, ms: durationOf(at, ended_at), result, detail }
}

function questionStep(question: {
  readonly kind: string
  readonly state: string
  readonly answer: string | null
  readonly answered_by: string | null
  readonly created_at: number
  readonly answered_at: number | null
}): TraceStep {
  const { kind: name, state, answer, answered_by, created_at: at, answered_at } = question
  const by = answered_by === null || answered_by === '' ? '' : ` by ${answered_by}`
  const result = state === 'waiting' ? 'open' : state === 'answered' ? 'ok' : state
  const detail = answer === null ? '' : `answered ${answer}${by}`
  return { kind: 'question', name, at, ms: durationOf(at, answered_at), result, detail }
}

function deliveryStep(delivery: {
  readonly id: number
  readonly kind: string
  readonly op: string
  readonly state: string
  readonly tries: number
  readonly error: string | null
  readonly created_at: number
  readonly updated_at: number
}): TraceStep {
  const { id, kind, op, state, tries, error, created_at: at, updated_at } = delivery
  const isOpen = state === 'queued' || state === 'sending' || state === 'unknown'
  const attempts = tries === 0 ? '' : `${tries} failed attempts`
  const detail = [`${op} ${id}`, attempts, error ?? ''].filter((text) => text !== '').join(', ')
  const result = isOpen ? 'open' : state === 'sent' ? 'ok' : state
  return { kind: 'delivery', name: kind, at, ms: isOpen ? null : durationOf(at, updated_at), result, detail }
}
