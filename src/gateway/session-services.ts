/**
 * What commands and platforms may do with a session: stop it, begin it anew, ask how it stands.
 */
import type { CommandServices, SessionStatus } from '../commands/command.ts'
import type { Engine } from '../engine/engine.ts'
import type { Outcomes } from '../inbox/outcomes.ts'
import { eventState, finishEvent, queuedEvents } from '../inbox/queries.ts'
import { storedEvent } from '../inbox/stored-event.ts'
import { brand } from '../lib/brand.ts'
import { sessionIdAt } from '../lib/ids.ts'
import { agentContext, type EventListener } from '../message/hook-events.ts'
import type { SessionId, SessionKey } from '../message/ids.ts'
import type { SessionSource } from '../message/source.ts'
import type { TurnOutcome } from '../platforms/adapter.ts'
import { laneState, resetLane } from '../sessions/lanes.ts'
import { countMessages, sessionById } from '../sessions/listing.ts'
import type { RunningTurns } from '../sessions/running-turns.ts'
import { endTurn, type OpenTurn, openTurn, requestTurnStop } from '../sessions/turns.ts'
import { row, type UseCase } from '../store/query.ts'
import type { Store } from '../store/store.ts'

export interface SessionServicesDeps {
  readonly store: Store
  readonly engine: Engine
  readonly running: RunningTurns
  readonly outcomes: Outcomes
  readonly emit: EventListener
  readonly clock: () => number
  /** Whether this platform has its gateway events emitted. */
  watched(source: SessionSource): boolean
  /** Plugins hear of it once it is on disk. Returns at once. */
  readonly sessionReplaced?: (replaced: {
    readonly sessionKey: SessionKey
    readonly source: SessionSource
    /** Null where there was none. */
    readonly oldSessionId: string | null
    readonly newSessionId: string
    readonly reason: string
  }) => void
}

export interface SessionServices extends Pick<CommandServices, 'stopTurn' | 'resetSession' | 'sessionStatus'> {
  /** Stops whatever became of one event: takes it out of the queue, or stops the turn that works on it. */
  stopEvent(seq: number): Promise<void>
}

export function createSessionServices(deps: SessionServicesDeps): SessionServices {
  const { store, engine, running, outcomes, clock } = deps

  async function stopTurn(key: SessionKey): Promise<boolean> {
    const noted = await store.run(() => requestTurnStop(key))
    const stopped = await running.stop(key)
    // A turn that waits for its next try is not running; woken, it sees the note and ends.
    if (noted !== undefined && !stopped) engine.wake(key, 'turn')
    return noted !== undefined || stopped
  }

  async function reset(key: SessionKey, source: SessionSource, title: string): Promise<SessionId> {
    const now = clock()
    const id = sessionIdAt(now)
    const { platform, userId = '' } = source
    const watched = deps.watched(source)
    if (watched) deps.emit('session:end', { platform, user_id: userId, session_key: key })
    const visit = { key, source: JSON.stringify(source), platform, userId, newSessionId: id, now }
    const { ended, before } = await store.run(function* () {
      const open = yield* abandonOpenTurn(key, now)
      const lane = yield* laneState(key)
      yield* resetLane(visit, title)
      return { ended: open, before: lane?.session_id ?? null }
    })
    deps.sessionReplaced?.({ sessionKey: key, source, oldSessionId: before, newSessionId: id, reason: 'new' })
    if (ended !== undefined) outcomes.settle(ended.seq, stoppedOutcome)
    if (watched && ended !== undefined) tellEnd(key, ended)
    if (watched) deps.emit('session:reset', { platform, user_id: userId, session_key: key })
    return brand<SessionId>(id)
  }

  /** Whoever was told that the agent began is told that it ended. */
  function tellEnd(key: SessionKey, { session_id, payload }: OpenTurn): void {
    const context = agentContext(storedEvent(payload), session_id, key)
    deps.emit('agent:end', { ...context, response: '', response_full: '', model: '', provider: '' })
  }

  return {
    stopTurn,

    async stopEvent(seq) {
      const found = await store.run(() => withdraw(seq))
      if (found.state === 'withdrawn') {
        // Its files may be on their way.
        running.stopEvent(seq)
        outcomes.settle(seq, stoppedOutcome)
      }
      // A turn that waits for its next try is not running; woken, it sees the note and ends.
      if (found.state === 'at-work' && !running.stopEvent(seq)) engine.wake(found.key, 'turn')
    },

    async resetSession(key, source, title) {
      // What waits behind the turn that is stopped must not begin before the new session is there to take it.
      const release = running.hold(key)
      try {
        await stopTurn(key)
        return await reset(key, source, title)
      } finally {
        release()
        engine.wake(key, 'turn')
      }
    },

    sessionStatus: (key) => store.run(() => statusOf(key, running.isRunning(key))),
  }
}

const stoppedOutcome: TurnOutcome = {
  status: 'stopped',
  text: '',
  sessionId: '',
  model: '',
  usage: { inputTokens: 0, outputTokens: 0 },
}

/** An event that waits is taken back; one at work is marked, so that not even a crash brings it back. */
function* withdraw(seq: number): UseCase<{ state: 'withdrawn' | 'over' } | { state: 'at-work'; key: SessionKey }> {
  const event = yield* eventState(seq)
  if (event?.state === 'queued') {
    yield* finishEvent(seq, stoppedOutcome)
    return { state: 'withdrawn' }
  }
  if (event?.state !== 'claimed') return { state: 'over' }
  const open = yield* openTurn(event.session_key)
  if (open?.seq === seq) yield* requestTurnStop(event.session_key)
  return { state: 'at-work', key: brand<SessionKey>(event.session_key) }
}

/** A turn that did not end in time is closed here; what it still writes is refused by the fence. */
function* abandonOpenTurn(key: SessionKey, now: number): UseCase<OpenTurn | undefined> {
  const open = yield* openTurn(key)
  if (open === undefined) return undefined
  yield* endTurn(open.id, { state: 'stopped', reason: 'reset', model: '', provider: '' }, now)
  yield* finishEvent(open.seq, stoppedOutcome)
  return open
}

function* statusOf(key: SessionKey, isRunning: boolean): UseCase<SessionStatus> {
  const lane = yield* laneState(key)
  const queued = yield* queuedEvents(key)
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
  }
}
