/**
 * Accepts events: an event is refused, recognised as a duplicate, or stored. The platform is acknowledged only after that. A caller
 * may wait for the result of an event; the results are stored, and only the waiting callers are held here.
 */
import { HermesError } from '../lib/errors.ts'
import { raceAbort } from '../lib/timers.ts'
import type { AcceptResult, ReadCursor } from '../message/accept-result.ts'
import type { MessageChange } from '../message/change.ts'
import { type MessageEvent, withResetTrigger } from '../message/event.ts'
import { truncateForHooks } from '../message/hook-events.ts'
import type { EventKey, SessionKey } from '../message/ids.ts'
import type { TurnResult } from '../message/turn-result.ts'
import { afterCommit } from '../store/query.ts'
import type { Store } from '../store/store.ts'
import { createChangeHandler } from './changes.ts'
import { advanceCursor, advanceExistingCursor } from './cursors.ts'
import type { BusyArrival, InboxDeps } from './deps.ts'
import { createPreDispatch } from './pre-dispatch.ts'
import { acceptEvent, findEventState, type NewEvent, urgentKind } from './queries.ts'
import { isUrgent, mayStore, queueKindOf, serializeEvent, withAuthority } from './stored-event.ts'

export type { InboxDeps } from './deps.ts'

export interface Inbox {
  /**
   * Stores an event completely or not at all. Throws `http/starting`, `inbox/too-large` or `store/...`; the platform must then not be
   * acknowledged. The cursor advances with the event, also for one that is a duplicate, refused or too large, so that it is
   * not fetched again. A refused event does not create a cursor.
   */
  accept(event: MessageEvent, keys: readonly [EventKey, ...EventKey[]], cursor?: ReadCursor): Promise<AcceptResult>
  /**
   * Applies a change to an earlier message. The change of a message that was never accepted (it was not addressed to the
   * agent, or is too old) is `refused`, and nothing of it is stored. Throws as `accept`.
   */
  change(change: MessageChange, keys: readonly [EventKey, ...EventKey[]]): Promise<AcceptResult>
}

type AcceptedRow = NewEvent & { readonly sessionKey: SessionKey }

export function createInbox(deps: InboxDeps): Inbox {
  const { store, clock, log } = deps
  const { preDispatchHooks } = deps
  const preDispatch = preDispatchHooks === undefined ? undefined : createPreDispatch(deps, preDispatchHooks)

  /** How many events of a queue of a session are being stored now. */
  const arriving = new Map<string, number>()

  return {
    async accept(received, keys, cursor) {
      if (!mayStore(received, deps)) throw new HermesError('http/starting')
      const isObserved = received.internal !== true && preDispatchHooks?.hasPreDispatchHooks() === true
      const dispatched = isObserved ? await preDispatch?.(received, keys, cursor) : undefined
      if (dispatched !== undefined && 'result' in dispatched) return dispatched.result
      const admitted = dispatched?.event ?? received
      const decision = decide(admitted)
      const { platform, account, chatId } = admitted.source
      if (!decision.allowed) return await refuse(admitted, decision.reason, cursor)
      const event = await withAuthority(deps.accounts, withResetTrigger(admitted, deps.settings().reset_triggers))
      // The platform may have been asked for roles meanwhile.
      const { allowed, reason } = decide(event)
      if (!allowed) return await refuse(event, reason, cursor)
      const payload = await serializeOrAdvance(event, cursor)
      const sessionKey = deps.accounts.sessionKey(event.source)
      const lane = queueKindOf(event, deps)
      const kind = lane === 'control' && isUrgent(event, sessionKey, deps) ? urgentKind : event.messageType
      return await storeInQueue(event, { sessionKey, lane, kind, platform, account, chatId, payload }, keys, cursor)
    },

    change: createChangeHandler(deps, preDispatch, emitReceived),
  }

  function decide(event: MessageEvent) {
    return event.internal === true ? { allowed: true, reason: 'internal' } : deps.accounts.access(event)
  }

  async function refuse(event: MessageEvent, reason: string, cursor: ReadCursor | undefined): Promise<AcceptResult> {
    const { platform, chatId, userId } = event.source
    log.info({ event: 'inbox.refused', platform, chat: chatId, user: userId ?? '', reason }, 'message refused')
    // A refused user must not create cursors: they decide which chats are read again after an outage.
    await advancePast(event, cursor, advanceExistingCursor)
    await deps.onRefused?.(event, reason)
    emitRefused(event, reason)
    return { status: 'refused', reason }
  }

  /** Events that arrive at the same time are busy with each other. */
  async function storeInQueue(
    event: MessageEvent,
    row: AcceptedRow,
    keys: readonly string[],
    cursor: ReadCursor | undefined,
  ): Promise<AcceptResult> {
    const { sessionKey, lane, kind } = row
    const queue = `${lane} ${sessionKey}`
    const others = arriving.get(queue) ?? 0
    arriving.set(queue, others + 1)
    try {
      const isPaused = lane === 'turn' && deps.running.paused() !== null
      const isBusy = others > 0 || deps.engine.isBusy(sessionKey, lane) || isPaused
      const how = lane === 'control' && kind === urgentKind ? urgentKind : lane
      const busy = isBusy ? await deps.arriveBusy?.(sessionKey, event, how) : undefined
      return await storeEvent(event, row, keys, cursor, busy)
    } finally {
      leave(queue)
    }
  }

  async function storeEvent(
    event: MessageEvent,
    row: AcceptedRow,
    keys: readonly string[],
    cursor: ReadCursor | undefined,
    busy?: BusyArrival,
  ): Promise<AcceptResult> {
    const { sessionKey, lane } = row
    deps.failpoint?.('inbox:before-commit')
    const now = clock()
    const { seq, duplicate } = await store.run(function* () {
      if (cursor !== undefined) yield* advanceCursor(event.source, cursor, now)
      const accepted = yield* acceptEvent(row, keys, now)
      yield* afterCommit(() => deps.failpoint?.('inbox:committed'))
      if (busy !== undefined && !accepted.duplicate) yield* busy(accepted.seq, now)
      return accepted
    })
    if (duplicate) return { status: 'duplicate', seq }
    log.info({ event: 'inbox.accepted', session: sessionKey, seq, lane }, 'message accepted')
    emitReceived(event, sessionKey)
    if (lane === 'control') deps.onControlEvent?.(sessionKey, event, seq)
    deps.engine.wake(sessionKey, lane)
    if (deps.lifecycle.phase !== 'ready') deps.onStoredForNextStart?.(event)
    return { status: 'accepted', seq }
  }

  function leave(queue: string): void {
    const others = (arriving.get(queue) ?? 1) - 1
    if (others === 0) arriving.delete(queue)
    else arriving.set(queue, others)
  }

  function emitReceived(event: MessageEvent, sessionKey: SessionKey): void {
    if (event.internal === true || !deps.emitsMessageEvents(event.source)) return
    deps.emit('message:received', { ...toMessageContext(event), session_key: sessionKey })
  }

  function emitRefused(event: MessageEvent, reason: string): void {
    if (deps.emitsMessageEvents(event.source)) deps.emit('message:refused', { ...toMessageContext(event), reason })
  }

  /** For events that are not stored: they would otherwise be fetched again after every outage. */
  async function advancePast(
    { source }: MessageEvent,
    cursor: ReadCursor | undefined,
    advance = advanceCursor,
  ): Promise<void> {
    if (cursor !== undefined) await store.run(() => advance(source, cursor, clock()))
  }

  async function serializeOrAdvance(event: MessageEvent, cursor: ReadCursor | undefined): Promise<string> {
    try {
      return serializeEvent(event, deps.settings().inbox)
    } catch (error) {
      await advancePast(event, cursor)
      throw error
    }
  }
}

function toMessageContext({ source, text, messageId }: MessageEvent) {
  return {
    platform: source.platform,
    user_id: source.userId ?? '',
    chat_id: source.chatId,
    thread_id: source.threadId ?? '',
    chat_type: source.chatType,
    message_id: messageId ?? '',
    message: truncateForHooks(text),
    message_full: text,
  }
}

export interface EventResults {
  /** Resolves with the result of an event. Rejects with the signal's reason, or when the event does not exist. */
  wait(seq: number, signal: AbortSignal): Promise<TurnResult>
  /** The result of an event, `undefined` while it waits or is processed, or null when there is no such event (any more). */
  find(seq: number): Promise<TurnResult | null | undefined>
  /** Called after the result was stored. */
  publish(seq: number, result: TurnResult): void
}

type Waiter = (result: TurnResult) => void

export function createEventResults(store: Store): EventResults {
  const waiters = new Map<number, Set<Waiter>>()

  async function wait(seq: number, signal: AbortSignal): Promise<TurnResult> {
    signal.throwIfAborted()
    const { promise, resolve } = Promise.withResolvers<TurnResult>()
    // Registered before the query, so that a result in between is not missed.
    const listeners = waiters.get(seq) ?? new Set()
    waiters.set(seq, listeners.add(resolve))
    try {
      const stored = storedResult(seq).then((known) => {
        if (known === null) throw new Error(`no event has the number ${seq}`)
        return known ?? promise
      })
      return await raceAbort(Promise.race([promise, stored]), signal)
    } finally {
      listeners.delete(resolve)
      if (listeners.size === 0) waiters.delete(seq)
    }
  }

  async function storedResult(seq: number): Promise<TurnResult | null | undefined> {
    const state = await store.run(() => findEventState(seq))
    if (state === undefined) return null
    return state.outcome === null ? undefined : parseTurnResult(state.outcome)
  }

  return {
    wait,
    find: storedResult,
    publish(seq, result) {
      for (const resolve of waiters.get(seq) ?? []) resolve(result)
    },
  }
}

/** @param text JSON that the inbox has written, so its shape is known. */
function parseTurnResult(text: string): TurnResult {
  return JSON.parse(text)
}
