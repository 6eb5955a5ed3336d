/**
 * The operations of commands and platforms on a session: stop its turn, start a new session, read its status.
 */
import { textReply } from '../../commands/command.ts'
import type { SessionCompressor, SessionReset, SessionStatus, StopOutcome } from '../../commands/session.ts'
import type { Engine } from '../../engine/engine.ts'
import type { EventResults } from '../../inbox/inbox.ts'
import {
  countQueuedEvents,
  detachFollowing,
  findEventState,
  finishEvent,
  finishEventsOfTurn,
  resultWithoutModel,
} from '../../inbox/queries.ts'
import { parseStoredEvent } from '../../inbox/stored-event.ts'
import { brand, sessionIdAt } from '../../lib/ids.ts'
import { createAgentContext, type HookEventListener } from '../../message/hook-events.ts'
import type { SessionId, SessionKey } from '../../message/ids.ts'
import type { SessionSource } from '../../message/source.ts'
import type { RunningTurns } from '../../sessions/running-turns.ts'
import { countMessages, sessionById, spentInSession } from '../../sessions/session-queries.ts'
import { findSessionState, revokeEpoch, startNewSession } from '../../sessions/session-state.ts'
import { endTurn, findOpenTurn, type OpenTurn, requestTurnStop } from '../../sessions/turns.ts'
import { afterCommit, row, type Transaction, type TransactionPart } from '../../store/query.ts'
import type { Store } from '../../store/store.ts'

export interface SessionServicesDeps {
  readonly store: Store
  readonly engine: Pick<Engine, 'wake'>
  readonly runningTurns: RunningTurns
  readonly turnResults: EventResults
  readonly emit: HookEventListener
  readonly clock: () => number
  /** Whether this platform has its gateway events emitted. */
  emitsEvents(source: SessionSource): boolean
  /** Notifies plugins after the new session is stored. Returns at once. */
  readonly onSessionReplaced?: (replaced: ReplacedSession) => void
}

/** Another session is the current one of a conversation now. */
export interface ReplacedSession {
  readonly sessionKey: SessionKey
  readonly source: SessionSource
  /** Null for the first session. */
  readonly oldSessionId: string | null
  readonly newSessionId: string
  readonly reason: 'new' | 'resume' | 'branch' | 'daily' | 'idle'
}

export interface ConversationChange {
  /** Why the change cannot be made, as the reply; undefined if it can. It only reads. Runs before the turn is stopped, and again with `run`. */
  refusal(): Transaction<string | undefined>
  /** Returns the reply. Runs in the transaction of the reply. */
  run(now: number): Transaction<string>
}

export interface SessionServices {
  readonly resetSession: SessionReset['reset']
  readonly sessionStatus: SessionCompressor['status']
  /** Works like `StopControl.stopTurn`. With `ofPerson`, a turn that the message of another person began goes on. */
  stopTurn(key: SessionKey, ofPerson?: SessionSource['userId']): Promise<StopOutcome>
  /** Withdraws a queued event together with the events that `joined` its turn, or stops the turn that processes it. */
  stopEvent(seq: number, joined?: readonly number[]): Promise<void>
  /**
   * Prepares a change of the conversation: the running turn is stopped, and no other begins before the change is stored. A
   * change that is refused stops nothing.
   */
  changeConversation(key: SessionKey, change: ConversationChange): Promise<TransactionPart<string>>
  /** Notifies hooks and plugins of a replaced session after it is stored. */
  sessionReplaced(replaced: ReplacedSession): void
}

export function createSessionServices(deps: SessionServicesDeps): SessionServices {
  const { store, engine, runningTurns, turnResults, clock } = deps

  /** Without an open turn, the files of a message that waits may be on their way. `endsDownloads`: this message ends, too. */
  async function stopTurn(key: SessionKey, endsDownloads: boolean): Promise<StopOutcome> {
    const open = await store.run(() => requestStopOfOpenTurn(key))
    if (open === undefined && !endsDownloads) return 'idle'
    return await stopFound(key, open)
  }

  async function stopTurnOf(key: SessionKey, person: string): Promise<StopOutcome> {
    const open = await store.run(() => requestStopOfOpenTurn(key, person))
    if (open === 'of-another') return open
    return open === undefined ? 'idle' : await stopFound(key, open)
  }

  async function stopFound(key: SessionKey, open: OpenTurn | undefined): Promise<StopOutcome> {
    const stopped = await runningTurns.stop(key, open?.seq)
    // A turn between two attempts is not running. It ends when it is woken and reads the stop request.
    if (open !== undefined && !stopped) engine.wake(key, 'turn')
    return open !== undefined || stopped ? 'stopped' : 'idle'
  }

  async function reset(key: SessionKey, source: SessionSource, title: string): Promise<SessionId> {
    const now = clock()
    const id = sessionIdAt(now)
    const { platform, userId = '' } = source
    const emitsEvents = deps.emitsEvents(source)
    if (emitsEvents) deps.emit('session:end', { platform, user_id: userId, session_key: key, reason: 'new' })
    const sessionStart = { key, source: JSON.stringify(source), platform, userId, newSessionId: id, now }
    const { ended, before } = await store.run(function* () {
      const open = yield* abandonOpenTurn(key, now)
      const lane = yield* findSessionState(key)
      yield* startNewSession(sessionStart, title)
      return { ended: open, before: lane?.session_id ?? null }
    })
    deps.onSessionReplaced?.({ sessionKey: key, source, oldSessionId: before, newSessionId: id, reason: 'new' })
    for (const seq of ended?.seqs ?? []) turnResults.publish(seq, stoppedResult)
    if (emitsEvents && ended !== undefined) emitAgentEnd(key, ended)
    if (emitsEvents) deps.emit('session:reset', { platform, user_id: userId, session_key: key })
    return brand<SessionId>(id)
  }

  /** `agent:start` was emitted, so `agent:end` follows. */
  function emitAgentEnd(key: SessionKey, { session_id, payload }: OpenTurn): void {
    const context = createAgentContext(parseStoredEvent(payload), session_id, key)
    deps.emit('agent:end', { ...context, response: '', response_full: '', model: '', provider: '' })
  }

  function announceAbandoned(key: SessionKey, abandoned: AbandonedTurn): void {
    for (const seq of abandoned.seqs) turnResults.publish(seq, stoppedResult)
    if (deps.emitsEvents(parseStoredEvent(abandoned.payload).source)) emitAgentEnd(key, abandoned)
  }

  return {
    stopTurn: (key, ofPerson) => (ofPerson === undefined ? stopTurn(key, true) : stopTurnOf(key, ofPerson)),

    async stopEvent(seq, joined = []) {
      const withdrawal = await store.run(() => withdrawEvent(seq, joined))
      if (withdrawal.state === 'withdrawn') {
        // Its files may be on their way.
        runningTurns.stopEvent(seq)
        for (const seq of withdrawal.seqs) turnResults.publish(seq, stoppedResult)
      }
      // A turn between two attempts is not running. It ends when it is woken and reads the stop request.
      if (withdrawal.state === 'running' && !runningTurns.stopEvent(withdrawal.seq, withdrawal.key))
        engine.wake(withdrawal.key, 'turn')
    },

    async resetSession(key, source, title) {
      // Queued messages belong to the new session, so they must not start before it exists.
      const release = runningTurns.hold(key)
      try {
        await stopTurn(key, false)
        return await reset(key, source, title)
      } finally {
        release()
        engine.wake(key, 'turn')
      }
    },

    sessionReplaced(replaced) {
      const { source, sessionKey, reason } = replaced
      const { platform, userId = '' } = source
      if (deps.emitsEvents(source))
        deps.emit('session:end', { platform, user_id: userId, session_key: sessionKey, reason })
      deps.onSessionReplaced?.(replaced)
    },

    async changeConversation(key, change) {
      const release = runningTurns.hold(key)
      const goOn = () => {
        release()
        engine.wake(key, 'turn')
      }
      try {
        const refusal = await store.run(change.refusal)
        if (refusal !== undefined) {
          goOn()
          return textReply(refusal)
        }
        await stopTurn(key, false)
      } catch (error) {
        goOn()
        throw error
      }
      return {
        *write(now) {
          const refusal = yield* change.refusal()
          if (refusal !== undefined) return refusal
          const abandoned = yield* abandonOpenTurn(key, now)
          const state = yield* findSessionState(key)
          if (abandoned !== undefined && state !== undefined)
            yield* revokeEpoch({ sessionKey: key, epoch: state.epoch })
          const text = yield* change.run(now)
          if (abandoned !== undefined) yield* afterCommit(() => announceAbandoned(key, abandoned))
          return text
        },
        committed: goOn,
        rolledBack: goOn,
      }
    },

    sessionStatus: (key) => store.run(() => sessionStatusOf(key, runningTurns.isRunning(key))),
  }
}

const stoppedResult = resultWithoutModel('stopped')

function requestStopOfOpenTurn(key: SessionKey): Transaction<OpenTurn | undefined>
function requestStopOfOpenTurn(key: SessionKey, person: string): Transaction<OpenTurn | 'of-another' | undefined>
function* requestStopOfOpenTurn(key: SessionKey, person?: string): Transaction<OpenTurn | 'of-another' | undefined> {
  const open = yield* findOpenTurn(key)
  if (open === undefined) return undefined
  if (person !== undefined && parseStoredEvent(open.payload).source.userId !== person) return 'of-another'
  yield* requestTurnStop(key)
  return open
}

/** Withdraws a queued event. A running turn gets a stored stop request, so that a crash does not resume it. */
function* withdrawEvent(
  seq: number,
  joined: readonly number[],
): Transaction<
  | { state: 'ended' }
  | { state: 'withdrawn'; seqs: readonly number[] }
  | { state: 'running'; key: SessionKey; seq: number }
> {
  const event = yield* findEventState(seq)
  if (event?.state === 'queued') {
    const seqs = [seq]
    for (const seq of joined) if ((yield* findEventState(seq))?.state === 'queued') seqs.push(seq)
    for (const seq of seqs) yield* finishEvent(seq, stoppedResult)
    for (const seq of seqs) yield* detachFollowing(seq, event.session_key)
    return { state: 'withdrawn', seqs }
  }
  if (event?.state !== 'claimed') return { state: 'ended' }
  const open = yield* findOpenTurn(event.session_key)
  // Each of several messages in one turn stops it.
  const isOpen = open !== undefined && open.id === event.turn_id
  if (isOpen) yield* requestTurnStop(event.session_key)
  return { state: 'running', key: brand<SessionKey>(event.session_key), seq: isOpen ? open.seq : seq }
}

interface AbandonedTurn extends OpenTurn {
  /** All its events. */
  readonly seqs: readonly number[]
}

/** Ends a turn that did not stop in time. The fence rejects its later writes. */
function* abandonOpenTurn(key: SessionKey, now: number): Transaction<AbandonedTurn | undefined> {
  const open = yield* findOpenTurn(key)
  if (open === undefined) return undefined
  yield* endTurn(open.id, { state: 'stopped', reason: 'reset', model: '', provider: '' }, now)
  return { ...open, seqs: yield* finishEventsOfTurn(open.id, stoppedResult) }
}

function* sessionStatusOf(key: SessionKey, isRunning: boolean): Transaction<SessionStatus> {
  const lane = yield* findSessionState(key)
  const queued = yield* countQueuedEvents(key)
  const session = lane === undefined ? undefined : yield* row(sessionById, { id: lane.session_id })
  const messages = session === undefined ? 0 : ((yield* row(countMessages, { session_id: session.id }))?.count ?? 0)
  return {
    sessionId: session === undefined ? null : brand<SessionId>(session.id),
    title: session?.title ?? '',
    startedAt: session?.created_at ?? null,
    messages,
    running: isRunning,
    queued,
    inputTokens: session?.input_tokens ?? 0,
    outputTokens: session?.output_tokens ?? 0,
    spent: session === undefined ? { tokens: 0, unpricedTokens: 0, cost: 0 } : spentInSession(session),
  }
}
