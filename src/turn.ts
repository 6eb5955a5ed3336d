/**
 * Processes one message, from the queue of its session to its stored reply. Read it top to bottom; `storyOf` lists the steps. A new
 * feature is a plugin, a hook or a step in flows/turn; it becomes a line here only if it changes what the gateway guarantees.
 */

import type { CompressionPolicy } from './flows/compression/compression-policy.ts'
import type { GatewayEvents } from './flows/events/gateway-events.ts'
import type { TurnAftermath, TurnAttempt } from './flows/turn/attempt.ts'
import type { ModelTurn, TurnWithoutModel } from './flows/turn/claim.ts'
import type { TurnJournal } from './flows/turn/journal.ts'
import type { ModelOutages } from './flows/turn/model-outages.ts'
import { startTurnProgress, type TurnProgressDeps, type TurnRunResult } from './flows/turn/output.ts'
import {
  type AgentPorts,
  chooseModel,
  chooseRole,
  compressBefore,
  endFailed,
  endInterrupted,
  endPaused,
  endStopped,
  endWaiting,
  firstStep,
  isDelegated,
  readPrompt,
  runAgent,
  type TurnRole,
} from './flows/turn/steps.ts'
import type { TurnQueue } from './flows/turn/turn-queue.ts'
import type { EventResults } from './inbox/inbox.ts'
import { isHermesError, isTransientError, messageOf } from './lib/errors.ts'
import type { Logger } from './lib/log.ts'
import { backoffMs, sleep } from './lib/timers.ts'
import { createAgentContext, truncateForHooks } from './message/hook-events.ts'
import type { SessionKey } from './message/ids.ts'
import { noUsage } from './message/transcript.ts'
import type { RunningTurns } from './sessions/running-turns.ts'
import type { Turn } from './sessions/turn.ts'
import { afterCommit, enlist, type TransactionPart } from './store/query.ts'
import type { Retry } from './store/store.ts'

/** What turns need of the rest, by owner. */
export interface TurnDeps extends AgentPorts {
  readonly queue: TurnQueue
  readonly journal: TurnJournal
  readonly running: RunningTurns
  /** Where a turn of a conversation has its model, its tools and its prompt from. */
  readonly conversation: TurnRole
  readonly compression: CompressionPolicy
  readonly outages: ModelOutages
  readonly events: Pick<GatewayEvents, 'emit' | 'emitsEvents'>
  readonly progress: TurnProgressDeps
  readonly results: Pick<EventResults, 'publish'>
  /** Work that is due when the next turn of a session ends. Empty for most sessions. */
  readonly endListeners: ReadonlyMap<SessionKey, () => void>
  readonly title: TurnAftermath
  readonly voice: TurnAftermath
  readonly random: () => number
  readonly log: Logger
  /** Named points for crash tests; does nothing in production. */
  readonly failpoint?: ((point: string) => void) | undefined
}

/** The steps of a turn by name, in their order. The log of a turn that fails says how far it came. */
function storyOf(deps: TurnDeps) {
  const { conversation, delegation, models, compression, journal, outages, plugins } = deps
  return {
    /** From the claim to the answer. */
    steps: firstStep
      .next(chooseRole(delegation, conversation))
      .next(chooseModel(models))
      .next(readPrompt)
      .next(compressBefore(compression, journal))
      .next(runAgent(deps)),
    /** How an attempt ends that has no answer: the first that applies. Where none does, the attempt is repeated. */
    endings: [endStopped, endInterrupted, endPaused(journal), endWaiting(outages), endFailed(plugins.errorOrigin)],
    /** What is due at once when the end is stored, before anything is sent. */
    announcements: [announceEnd(deps.events), showEnd],
    aftermath: [endOfTurn(deps.endListeners), deps.title, publishResults(deps.results), deps.voice],
  }
}

type Story = ReturnType<typeof storyOf>

/** Runs the turns of one session until its queue is empty. Rejects when a turn must be retried. */
export function createTurnRunner(deps: TurnDeps): (key: SessionKey, signal: AbortSignal) => Promise<void> {
  const { queue, journal, running, failpoint } = deps
  const story = storyOf(deps)
  return async (key, signal) => {
    while (!signal.aborted && !queue.stopping.aborted && !running.isHeld(key)) {
      if (running.paused() !== null) return await queue.announcePause(key)
      failpoint?.('turn:before-claim')
      const claim = await journal.claim(key)
      if (claim === null) return
      if (claim.kind === 'postponed') return await queue.postpone(key, claim)
      if (claim.kind === 'unprepared') await queue.prepare(key, claim, signal)
      else {
        const hasEnded = await runTurn(deps, story, claim, signal)
        if (hasEnded && claim.kind === 'model' && claim.isLast) return
      }
      if (queue.yieldTurn(key)) return
    }
  }
}

/** Resolves with whether the end of the turn is stored. Rejects when the turn must be retried. */
async function runTurn(
  deps: TurnDeps,
  story: Story,
  claim: ModelTurn | TurnWithoutModel,
  stopSignal: AbortSignal,
): Promise<boolean> {
  deps.failpoint?.('turn:claimed')
  const attempt = beginAttempt(deps, claim.turn, stopSignal)
  const { running, progress, log } = attempt
  try {
    const result =
      claim.kind === 'model' ? await answer(deps, story, attempt) : await withoutModel(deps, claim, attempt)
    if (result === 'postponed') await progress.closeDraft()
    else {
      await commit(deps, story, attempt, result, stopSignal)
      log.info({ event: 'turn.ended', state: result.state, iterations: result.iterations }, 'turn ended')
    }
    return result !== 'postponed'
  } catch (error) {
    const reason = messageOf(error)
    const isStopped = stopSignal.aborted || (running.signal.aborted && deps.queue.stopping.aborted)
    if (isStopped) log.info({ event: 'turn.interrupted', reason }, 'turn interrupted by the stop of the gateway')
    else if (isHermesError(error, 'store/fenced'))
      log.info({ event: 'turn.superseded' }, 'turn superseded by a newer one; its result is discarded')
    else {
      await recordFailure(deps, attempt, error)
      throw error
    }
    return false
  } finally {
    progress.close()
    running.finish()
  }
}

function beginAttempt(
  { log, running: turns, journal, progress }: TurnDeps,
  turn: Turn,
  stop: AbortSignal,
): TurnAttempt {
  const running = turns.start(turn.sessionKey, turn.seq, stop)
  // What was to be steered into an earlier attempt still waits.
  if (turn.resumed) turns.steer(turn.sessionKey, turn.seq)
  const shown = startTurnProgress(progress, turn, running.signal)
  return {
    turn,
    journal: journal.journalOf(turn, shown.prepareInterim),
    unreported: noUsage,
    step: 'claim',
    running,
    progress: shown,
    log: log.child({ session: turn.sessionKey, turn: turn.id }),
  }
}

/** Resolves with how the turn ends, or after storing that it continues later. Rejects when it must be retried. */
async function answer(
  { events }: TurnDeps,
  { steps, endings }: Story,
  attempt: TurnAttempt,
): Promise<TurnRunResult | 'postponed'> {
  const { turn, log } = attempt
  // The attempts of one outage are one start.
  if (turn.outageSince === null) announceStart(events, turn)
  log.info({ event: 'turn.started', seq: turn.seq }, 'turn started')
  try {
    return (await steps.run(attempt)).result
  } catch (error) {
    // A later attempt continues the session, which has begun.
    await attempt.journal.storePrompt().catch((err: unknown) => {
      // The error of the attempt decides what happens now.
      log.warn({ event: 'turn.prompt_not_stored', err }, 'the next attempt builds the system prompt again')
    })
    for (const { end } of endings) {
      const result = await end(attempt, error)
      if (result !== undefined) return result
    }
    throw error
  }
}

async function withoutModel(
  { compression, conversation }: TurnDeps,
  claim: TurnWithoutModel,
  { running }: TurnAttempt,
): Promise<TurnRunResult> {
  const { completeWithoutModel } = await import('./flows/turn/without-model.ts')
  const { compressOnRequest } = compression
  return await completeWithoutModel(
    claim,
    (turn, focus, signal) => compressOnRequest(turn, focus, () => conversation.model(turn), signal),
    running.signal,
  )
}

/** Stores the reply and the end of the turn in one transaction; only then is anything sent. */
async function commit(
  deps: TurnDeps,
  { announcements, aftermath }: Story,
  attempt: TurnAttempt,
  written: TurnRunResult,
  stopSignal: AbortSignal,
): Promise<void> {
  const { delegation, journal, failpoint, progress: display } = deps
  const { turn, progress, journal: writes } = attempt
  attempt.step = 'reply'
  const shown = await withThinking(written)
  const reply = await (isDelegated(turn) ? delegation.prepareHandIn(turn, shown) : progress.prepareReply(shown))
  // Programs that wait for the turn read its result instead of the reply.
  const result = { ...written, text: display.outbox.withhold(written.text) }
  const ending: TransactionPart = {
    parts: [reply],
    *write(now) {
      yield* afterCommit(() => {
        failpoint?.(result.state === 'interrupted' ? 'turn:interrupted' : 'turn:finished')
        for (const { run } of announcements) run(attempt, result)
      })
      yield* writes.writePrompt()
      yield* enlist(reply, now)
    },
  }
  attempt.step = 'commit'
  failpoint?.('turn:before-finish')
  const finished = await journal.finish(turn, result, ending, waitForStore(deps, stopSignal))
  for (const { name, run } of aftermath) {
    attempt.step = name
    await run(attempt, result, finished)
  }
}

/** What the model thought is shown where people want it. */
async function withThinking(result: TurnRunResult): Promise<TurnRunResult> {
  if (result.thinking === undefined || result.thinking === '') return result
  return (await import('./flows/turn/thinking.ts')).withThinking(result)
}

/** A full disk must not cost a reply that has been paid for: it stays in memory until the disk has space again. */
function waitForStore({ log, random }: TurnDeps, signal: AbortSignal): Retry {
  return async (error, attempt) => {
    if (!isTransientError(error) || signal.aborted) throw error
    log.error({ event: 'turn.store_failed', err: error, attempt }, 'a reply could not be stored; trying again')
    await sleep(backoffMs(attempt, 1_000, 30_000, random), signal)
  }
}

async function recordFailure({ queue }: TurnDeps, { turn, log }: TurnAttempt, failure: unknown): Promise<void> {
  try {
    await queue.recordFailure(turn.seq, failure)
  } catch (error) {
    log.error({ event: 'turn.failure_not_recorded', err: error }, 'the reason of a failure could not be stored')
  }
}

function announceStart({ emit, emitsEvents }: TurnDeps['events'], turn: Turn): void {
  const { source } = turn.event
  if (!emitsEvents(source)) return
  const session = { session_id: turn.sessionId, session_key: turn.sessionKey }
  if (turn.firstOfSession)
    emit('session:start', {
      platform: source.platform,
      user_id: source.userId ?? '',
      ...session,
      ...(turn.resetReason === undefined ? {} : { reason: turn.resetReason }),
    })
  emit('agent:start', createAgentContext(turn.event, turn.sessionId, turn.sessionKey))
}

/** It returns before the reply is sent. */
interface Announcement {
  readonly name: string
  run(attempt: TurnAttempt, result: TurnRunResult): void
}

function announceEnd({ emit, emitsEvents }: TurnDeps['events']): Announcement {
  return {
    name: 'events',
    run({ turn }, { announced, text, model, provider }) {
      if (!emitsEvents(turn.event.source) || !announced) return
      const context = createAgentContext(turn.event, turn.sessionId, turn.sessionKey)
      emit('agent:end', { ...context, response: truncateForHooks(text), response_full: text, model, provider })
    },
  }
}

const showEnd: Announcement = {
  name: 'end of the progress',
  run: ({ progress }, { state }) => progress.publishEnd(state),
}

function endOfTurn(listeners: TurnDeps['endListeners']): TurnAftermath {
  return { name: 'questions', run: ({ turn }) => listeners.get(turn.sessionKey)?.() }
}

function publishResults({ publish }: TurnDeps['results']): TurnAftermath {
  return {
    name: 'results',
    run(_attempt, _result, { result, seqs }) {
      for (const seq of seqs) publish(seq, result)
    },
  }
}
