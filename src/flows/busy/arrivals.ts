/**
 * Accepts messages of a conversation that is busy. What they do is stored in the transaction that accepts them; the running
 * turn is notified afterwards. Loaded with the first such message.
 */
import { parseStoredEvent } from '../../inbox/stored-event.ts'
import {
  countTurnsUntil,
  countWaiting,
  delayNewestGroup,
  findPrecedingMessage,
  refuseMessage,
  setBusyMode,
  type WaitingMessage,
} from '../../inbox/waiting-messages.ts'
import type { MessageEvent } from '../../message/event.ts'
import type { SessionKey } from '../../message/ids.ts'
import { changeSessionSetting, readSessionSettings } from '../../sessions/session-state.ts'
import { findOpenTurn, interruptTurn, listRunningTools, type OpenTurn } from '../../sessions/turns.ts'
import { afterCommit, enlist, type Transaction } from '../../store/query.ts'
import type { DisplayConfig } from '../turn/config.ts'
import { type Acknowledged, createAcknowledgements, needsTip } from './acknowledgements.ts'
import { type BusyDecision, chosenMode, decide, isInteractive } from './decide.ts'
import type { BusyDeps } from './deps.ts'
import { createFullQueueNotices, refusedResult } from './full-queue.ts'

/** What happened to a message. */
export type ArrivalResult = 'waits' | 'interrupts' | 'steers' | 'refused'

export interface ArrivalOptions {
  /** False: the caller itself tells the sender what happens to a message that is taken. Default: true. */
  readonly isAcknowledged: boolean
}

export interface BusyArrivals {
  /** What the message with the number `seq` does: runs after it was stored, in the same transaction. */
  arrive(
    key: SessionKey,
    event: MessageEvent,
    seq: number,
    now: number,
    options?: ArrivalOptions,
  ): Transaction<ArrivalResult>
  arriveCommand(key: SessionKey, event: MessageEvent, seq: number, isUrgent: boolean): Transaction<ArrivalResult>
  /** Tells the senders of a conversation that the queue had no room. Never rejects. */
  announceRefused(key: SessionKey): Promise<void>
}

/** A conversation has room for the longest queues of so many people. */
const maxPeople = 10
/** Sub-agents lose all their work when their turn ends. */
const delegatingTool = 'delegate_task'

interface NewArrival {
  readonly key: SessionKey
  readonly event: MessageEvent
  readonly seq: number
  readonly now: number
  readonly isAcknowledged: boolean
}

interface JudgedArrival extends Pick<Acknowledged, 'tools' | 'isProtected' | 'chosen'> {
  readonly decision: BusyDecision
  readonly open: OpenTurn | undefined
  /** ms */
  readonly quietMs: number
}

export function createBusyArrivals(deps: BusyDeps): BusyArrivals {
  const { engine, running, settings, clock, log } = deps
  const acknowledgements = createAcknowledgements(deps)
  const fullQueue = createFullQueueNotices(deps)
  const isStopping = () => deps.stopping.aborted

  function* arrive(
    key: SessionKey,
    event: MessageEvent,
    seq: number,
    now: number,
    { isAcknowledged }: ArrivalOptions = { isAcknowledged: true },
  ): Transaction<ArrivalResult> {
    const judged = yield* judge(key, event, seq, now)
    if ((yield* isFull(key, event)) && !passesFullQueue(event, judged)) return yield* refuse(key, event, seq)
    yield* place({ key, event, seq, now, isAcknowledged }, judged)
    const { decision } = judged
    return decision.interrupts ? 'interrupts' : decision.steers ? 'steers' : 'waits'
  }

  /** A burst of commands keeps those of others waiting, and each one gets a reply. */
  function* arriveCommand(
    key: SessionKey,
    event: MessageEvent,
    seq: number,
    isUrgent: boolean,
  ): Transaction<ArrivalResult> {
    const { own: ownCount } = yield* countWaiting(key, 'control', event.source.userId)
    // For `/stop` and answers there is room behind other commands.
    if (event.internal === true || ownCount <= settings().display.busy_queue_limit * (isUrgent ? 2 : 1)) return 'waits'
    return yield* refuse(key, event, seq)
  }

  function* refuse(key: SessionKey, event: MessageEvent, seq: number): Transaction<'refused'> {
    const result = refusedResult(settings().display.busy_queue_limit)
    yield* refuseMessage(seq, result, isInteractive(event))
    yield* afterCommit(() => {
      deps.turnResults.publish(seq, result)
      // A burst is reported once.
      if (!isInteractive(event) || fullQueue.schedule(key))
        log.warn({ event: 'inbox.queue_full', session: key, seq }, 'a message was not taken: the queue is full')
    })
    return 'refused'
  }

  /** The message itself is one of those that wait. A burst of one person costs the others of the conversation nothing. */
  function* isFull(key: SessionKey, event: MessageEvent): Transaction<boolean> {
    const limit = settings().display.busy_queue_limit
    const { own: ownCount, total } = yield* countWaiting(key, 'turn', event.source.userId)
    return ownCount > limit || total > maxPeople * limit
  }

  /** Only reads. */
  function* judge(key: SessionKey, event: MessageEvent, seq: number, now: number): Transaction<JudgedArrival> {
    const config = settings()
    const chosen = yield* readSessionSettings(key)
    // What runs may end before the gateway stops; the message waits for the next start.
    const mode = isStopping() ? 'queue' : chosenMode(event, chosen, config)
    const open = yield* findOpenTurn(key)
    const tools = open === undefined ? [] : yield* listRunningTools(open.id)
    const isProtected = tools.includes(delegatingTool) || running.isProtected(key)
    const preceding = yield* findPrecedingMessage(key, seq)
    const quietMs = quietTimeMs(event, config)
    const decision = decide(event, mode, {
      open: open === undefined ? undefined : { event: parseStoredEvent(open.payload), isProtected },
      previous: preceding?.state === 'queued' ? toPrevious(preceding, now, quietMs) : undefined,
    })
    return { decision, open, tools, isProtected, chosen, quietMs }
  }

  function* place(
    { key, event, seq, now, isAcknowledged }: NewArrival,
    { decision, open, tools, isProtected, chosen, quietMs }: JudgedArrival,
  ): Transaction<void> {
    const config = settings()
    yield* setBusyMode(seq, decision.mode, decision.joins)
    if (decision.interrupts && open !== undefined) yield* interruptTurn(open.id, seq)
    const isQuiet = quietMs > 0 && !isStopping() && decision.mode !== 'steer' && event.busyMode === undefined
    const quietUntil = isQuiet
      ? yield* delayNewestGroup(key, now + quietMs, config.display.busy_text_hard_cap_seconds * 1_000)
      : undefined
    yield* afterCommit(() => notifyTurn(key, seq, { decision, open }, quietUntil))
    const isBehind = decision.interrupts && (yield* countTurnsUntil(key, seq)) > 1
    const told: Acknowledged = { key, event, seq, decision, open, tools, isProtected, isBehind, chosen }
    const ack = isAcknowledged && !isStopping() ? acknowledgements.prepare(told, now) : undefined
    if (ack === undefined) return
    yield* enlist(ack, now)
    yield* afterCommit(() => acknowledgements.sent(key))
    if (needsTip(told)) yield* changeSessionSetting(key, 'busy_tip', 'given')
  }

  /** @param quietUntil the turn of the message begins after this time, ms; undefined: at once */
  function notifyTurn(
    key: SessionKey,
    seq: number,
    { decision, open }: Pick<JudgedArrival, 'decision' | 'open'>,
    quietUntil: number | undefined,
  ): void {
    if (decision.interrupts && open !== undefined) {
      log.info({ event: 'turn.interruption_requested', session: key, turn: open.id, seq }, 'a message ends the turn')
      deps.failpoint?.('turn:interrupting')
      // A turn between two attempts is not running. It ends when it is woken.
      if (!running.interrupt(key, open.seq, seq)) engine.wake(key, 'turn')
    }
    if (decision.steers && open !== undefined) running.steer(key, open.seq)
    if (quietUntil !== undefined && quietUntil > clock()) engine.wakeLater(key, 'turn', quietUntil - clock())
  }

  return { arrive, arriveCommand, announceRefused: fullQueue.announce }
}

/** With a full queue, an owner can still end the own turn, once. */
function passesFullQueue({ authority }: MessageEvent, { decision, open }: JudgedArrival): boolean {
  return authority?.role === 'owner' && decision.interrupts && open?.interrupted_by === null
}

function toPrevious({ payload, busy_mode: mode, accepted_at }: WaitingMessage, now: number, quietMs: number) {
  return { event: parseStoredEvent(payload), mode, isBurst: quietMs > 0 && now - accepted_at < quietMs }
}

/** Texts that follow each other within this time belong together. */
function quietTimeMs({ source, attachments }: MessageEvent, { display }: DisplayConfig): number {
  if (attachments !== undefined) return 0
  const seconds = display.busy_text_debounce_seconds ?? (source.chatType === 'dm' ? 0 : defaultQuietSeconds)
  return seconds * 1_000
}

const defaultQuietSeconds = 0.35
