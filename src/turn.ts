/**
 * Processes one message, from the queue of its session to its stored reply. Read it top to bottom. A new feature is a
 * plugin, a hook or a file in flows/turn; it becomes a line here only if it changes what the gateway guarantees.
 */

import type { Agent } from './agent/agent.ts'
import type { AgentTools } from './agent/loop/agent-tools.ts'
import type { AgentTurnInput, SubagentWorkspace } from './agent/loop/agent-turn.ts'
import type { ChosenModel } from './agent/models/chosen-model.ts'
import type { ModelError, Provider } from './agent/models/provider.ts'
import type { TurnInfoFactory } from './agent/models/turn-info.ts'
import type { ToolContext } from './agent/tools/tool.ts'
import type { SessionCompression } from './flows/compression/session-compression.ts'
import type { StartSubagents } from './flows/tasks/background-subagents.ts'
import type { DelegatedTurns } from './flows/tasks/delegated-turns.ts'
import type { PrepareMessage } from './flows/turn/attachments.ts'
import type { ModelTurn, PostponedTurn, TurnWithoutModel } from './flows/turn/claim.ts'
import type { TurnJournal } from './flows/turn/journal.ts'
import type { ModelOutages } from './flows/turn/model-outages.ts'
import {
  completedResult,
  showsThinking,
  startTurnProgress,
  type TurnProgress,
  type TurnProgressDeps,
  type TurnRunResult,
} from './flows/turn/output.ts'
import { failedResult, interruptedResult, noteFailure, stoppedResult } from './flows/turn/without-answer.ts'
import type { CompleteWithoutModel } from './flows/turn/without-model.ts'
import type { EventResults } from './inbox/event-results.ts'
import { isHermesError, isTransientError, messageOf } from './lib/errors.ts'
import type { Logger } from './lib/log.ts'
import type { LruCache } from './lib/lru-cache.ts'
import { backoffMs } from './lib/timers.ts'
import { formatUserText, hasWaitingUser, ownWordsOf } from './message/event.ts'
import { createAgentContext, truncateForHooks } from './message/hook-events.ts'
import type { SessionKey } from './message/ids.ts'
import { noUsage, type ToolCall } from './message/transcript.ts'
import {
  type RunningTurn,
  type RunningTurns,
  StopRequested,
  TurnInterrupted,
  TurnPaused,
} from './sessions/running-turns.ts'
import { isFirstTurn, type Turn, turnStartIndex } from './sessions/turn.ts'
import type { Retry } from './store/store.ts'
import { afterCommit, enlist, type TransactionPart } from './store/transaction-part.ts'

export interface TurnDeps extends TurnProgressDeps {
  readonly outages: ModelOutages
  readonly journal: TurnJournal
  readonly agent: Agent
  readonly turnResults: EventResults
  readonly running: RunningTurns
  readonly random: () => number
  /** Completes a message that cannot be claimed yet. */
  readonly prepareMessage: PrepareMessage
  /** Completes a turn that the gateway itself answers. */
  readonly completeWithoutModel: CompleteWithoutModel
  /** The model of the conversation and its provider. Rejects `config/...` when it cannot be used. */
  model(turn: Turn): Promise<ChosenModel>
  /** The model that finishes a turn after a failure of its own, or because all its keys rest; null when there is none. Never rejects. */
  fallback(turn: Turn, failed: ChosenModel, failure?: ModelError): Promise<ChosenModel | null>
  tools(turn: Turn): Promise<AgentTools>
  /** The provider as the requests of this turn are sent; it may add text that is stored nowhere. */
  senderOf(turn: Turn, provider: Provider): Promise<Provider>
  /** Names the plugin that threw an error, in words for the user; null when no plugin did. */
  describeErrorOrigin(error: unknown): string | null
  /** What plugins learn about a turn. */
  readonly turnInfoOf: TurnInfoFactory
  toolContext(turn: Turn, call: ToolCall, signal: AbortSignal): ToolContext
  openSubagentWorkspace(sessionId: string, turnId: string, turn: Turn): SubagentWorkspace
  /** What differs in the turn of a sub-agent that works in the background. */
  delegated(): Promise<DelegatedTurns>
  /** Absent in a process that does not wait for sub-agents in the background. */
  readonly startSubagents?: StartSubagents | undefined
  /** Builds the system prompt of a new session and stores it for all its turns. */
  freezePrompt(turn: Turn): Promise<string>
  readonly compression: Omit<SessionCompression, 'compressOnRequest' | 'compressSession'>
  /** An answer was stored. Returns at once, with whether no later answer of the session matters. */
  answered(turn: Turn, text: string): boolean
  /** The sessions for which it has returned true. */
  readonly answeredSessions: LruCache<true>
  /** Work that is due when the next turn of a session ends. Empty for most sessions. */
  readonly turnEndListeners: ReadonlyMap<SessionKey, () => void>
  /** Stores why an attempt failed, and counts it unless the cause is outside of the turn. */
  recordFailure(seq: number, error: unknown): Promise<void>
  /** Whether other sessions must be served before the next turn of this one. */
  yieldTurn(key: SessionKey): boolean
  /** Tells the people of a conversation that the agent is paused. */
  announcePause(key: SessionKey): Promise<void>
  /** Continues a turn later. */
  postpone(key: SessionKey, turn: PostponedTurn): Promise<void>
  /** The daemon is stopping: running turns may end, queued messages wait for the next start. */
  isDraining(): boolean
  /** Named points for crash tests; does nothing in production. */
  failpoint(point: string): void
}

/** Runs the turns of one session until its queue is empty. Rejects when a turn must be retried. */
export function createTurnRunner(deps: TurnDeps): (key: SessionKey, signal: AbortSignal) => Promise<void> {
  return async (key, signal) => {
    while (!signal.aborted && !deps.isDraining() && !deps.running.isHeld(key)) {
      if (deps.running.paused() !== null) return await deps.announcePause(key)
      deps.failpoint('turn:before-claim')
      const claim = await deps.journal.claim(key)
      if (claim === null) return
      if (claim.kind === 'postponed') return await deps.postpone(key, claim)
      if (claim.kind === 'unprepared') await deps.prepareMessage(key, claim, signal)
      else await runTurn(deps, claim, signal)
      if (deps.yieldTurn(key)) return
    }
  }
}

async function runTurn(deps: TurnDeps, claim: ModelTurn | TurnWithoutModel, stopSignal: AbortSignal): Promise<void> {
  let { turn } = claim
  deps.failpoint('turn:claimed')
  const log = deps.log.child({ session: turn.sessionKey, turn: turn.id })
  const running = deps.running.start(turn.sessionKey, turn.seq, stopSignal)
  // What was to be steered into an earlier attempt still waits.
  if (turn.resumed) deps.running.steer(turn.sessionKey, turn.seq)
  const progress = startTurnProgress(deps, turn, running.signal)
  try {
    const result =
      claim.kind === 'model'
        ? await runModelTurn(deps, turn, running, progress, log, (moved) => {
            turn = moved
          })
        : await deps.completeWithoutModel(claim, running.signal)
    if (result === 'postponed') {
      await progress.closeDraft()
      return
    }
    await commitTurn(deps, turn, result, progress, stopSignal)
    log.info({ event: 'turn.ended', state: result.state, iterations: result.iterations }, 'turn ended')
  } catch (error) {
    const reason = messageOf(error)
    if (stopSignal.aborted || (running.signal.aborted && deps.isDraining()))
      return log.info({ event: 'turn.interrupted', reason }, 'turn interrupted by the stop of the gateway')
    if (isHermesError(error, 'store/fenced'))
      return log.info({ event: 'turn.superseded' }, 'turn superseded by a newer one; its result is discarded')
    await recordFailure(deps, turn, error, log)
    throw error
  } finally {
    progress.close()
    running.finish()
  }
}

/** Resolves with how the turn ends, or after storing that it continues later. Rejects when it must be retried. */
async function runModelTurn(
  deps: TurnDeps,
  claimed: Turn,
  running: RunningTurn,
  progress: TurnProgress,
  log: Logger,
  onMoved: (turn: Turn) => void,
): Promise<TurnRunResult | 'postponed'> {
  let turn = claimed
  let journal = deps.journal.journalOf(turn, progress.prepareInterim)
  const initial = { usage: noUsage, model: '', provider: '', iterations: 0, announced: true }
  let unreported = noUsage
  // The attempts of one outage are one start.
  if (turn.outageSince === null) emitTurnStart(deps, turn)
  log.info({ event: 'turn.started', seq: turn.seq }, 'turn started')
  try {
    const delegated = isDelegated(turn) ? await deps.delegated() : undefined
    const { model, tools, freezePrompt } = delegated ?? deps
    const first = await model(turn)
    let chosen = (first.provider.restsUntil?.() ?? 0) === 0 ? first : ((await deps.fallback(turn, first)) ?? first)
    let system = turn.systemPrompt ?? (await freezePrompt(turn))
    const { turn: prepared, entries } = await running.protect(() =>
      deps.compression.beforeTurn(claimed, chosen, system, running.signal),
    )
    // The conversation continues in a session of its own.
    if (prepared !== claimed) {
      turn = prepared
      onMoved(turn)
      journal = deps.journal.journalOf(turn, progress.prepareInterim)
      system = await freezePrompt(turn)
    }
    const info = deps.turnInfoOf(turn, chosen)
    const result = await deps.agent.runTurn({
      turn: info,
      subagent: delegated?.work(turn, info),
      startInBackground: startInBackground(deps, turn),
      onUnreportedUsage(usage) {
        unreported = usage
      },
      // What a sub-agent wrote must not look like the words of the user.
      userMessage: isReport(turn.event) ? formatUserText(turn.event, false) : ownWordsOf(turn.event),
      isFirstTurn: isFirstTurn(turn),
      startsSession: claimed.systemPrompt === undefined,
      provider: chosen.provider,
      sender: await deps.senderOf(turn, chosen.provider),
      tools: await tools(turn),
      system,
      transcript: entries.map(({ message }) => message),
      turnStart: turnStartIndex(turn, entries),
      maxIterations: turn.event.task?.maxIterations,
      isUnattended: !hasWaitingUser(turn.event),
      reasoningEffort: turn.settings.reasoning_effort,
      showsThinking:
        delegated === undefined && showsThinking(deps.settings().display, turn.event.source.platform, turn.settings),
      outageSince: turn.outageSince,
      usedTokens: turn.usedTokens ?? 0,
      storedResponses: turn.storedResponses,
      journal,
      listener: progress.listener,
      signal: running.signal,
      checkpoint: running.checkpoint,
      toolContextFor: (call) => deps.toolContext(turn, call, running.signal),
      openSubagentWorkspace: (sessionId, turnId) => deps.openSubagentWorkspace(sessionId, turnId, turn),
      compress: (tokens) =>
        running.protect(() =>
          tokens === undefined
            ? deps.compression.afterContextOverflow(turn, chosen, running.signal)
            : deps.compression.afterTools(turn, chosen, tokens, running.signal),
        ),
      currentModel: () => chosen,
      fallBackSubagent: (failed, failure) => deps.fallback(turn, failed, failure),
      // A turn changes its model once.
      fallBack:
        chosen !== first
          ? undefined
          : async (failure) => {
              const next = await deps.fallback(turn, chosen, failure)
              if (next === null) return null
              chosen = next
              return { ...next, sender: await deps.senderOf(turn, next.provider) }
            },
      counted: (request) => deps.compression.counted(turn, chosen, request),
      excess: (messages, counted) => deps.compression.excess(chosen, system, messages, counted),
      takeSteered: () => running.takeSteered(journal.takeSteered),
    })
    const { thinking = '', subagent } = result
    const completed = { ...completedResult(result), ...(subagent && { subagent }) }
    const by = { model: chosen.model, provider: chosen.provider.name, contextLength: chosen.contextLength }
    const ended = { ...initial, ...completed, ...by, thinking, ord: journal.nextOrd() }
    return ended.state === 'failed' ? noteFailure(turn, ended) : ended
  } catch (error) {
    if (running.signal.reason instanceof StopRequested)
      return { ...initial, usage: unreported, ...stoppedResult(turn, progress.visibleText()), ord: journal.nextOrd() }
    if (running.signal.reason instanceof TurnInterrupted) {
      const { by } = running.signal.reason
      const ended = interruptedResult(turn, progress.visibleText(), by)
      return { ...initial, usage: unreported, ...ended, ord: journal.nextOrd() }
    }
    if (running.signal.reason instanceof TurnPaused) {
      await deps.journal.pause(turn)
      log.info({ event: 'turn.paused' }, 'the turn goes on when the pause of the agent ends')
      return 'postponed'
    }
    if (await deps.outages.postpone(turn, error)) return 'postponed'
    const failed = failedResult(error, deps.describeErrorOrigin)
    if (failed === undefined) throw error
    log.warn({ event: 'turn.failed', reason: failed.reason, err: error }, 'turn failed')
    return noteFailure(turn, { ...initial, usage: unreported, ...failed, ord: journal.nextOrd() })
  }
}

/** Stores the reply and the end of the turn in one transaction; only then is anything sent. */
async function commitTurn(
  deps: TurnDeps,
  turn: Turn,
  written: TurnRunResult,
  progress: TurnProgress,
  signal: AbortSignal,
): Promise<void> {
  const hasThinking = written.thinking !== undefined && written.thinking !== ''
  const shown = hasThinking ? (await import('./flows/turn/thinking.ts')).withThinking(written) : written
  const reply = isDelegated(turn)
    ? (await deps.delegated()).prepareHandIn(turn, shown)
    : await progress.prepareReply(shown)
  // Programs that wait for the turn read its result instead of the reply.
  const result = { ...written, text: deps.outbox.withhold(written.text) }
  const ending: TransactionPart = {
    *write(now) {
      yield* afterCommit(() => {
        deps.failpoint(result.state === 'interrupted' ? 'turn:interrupted' : 'turn:finished')
        emitTurnEnd(deps, turn, result)
        progress.publishEnd(result.state)
      })
      yield* enlist(reply, now)
    },
  }
  deps.failpoint('turn:before-finish')
  const { result: stored, seqs } = await deps.journal.finish(turn, result, ending, waitForStore(deps, signal))
  deps.turnEndListeners.get(turn.sessionKey)?.()
  if (result.state === 'done' && result.text !== '') noteAnswer(deps, turn, result.text)
  for (const seq of seqs) deps.turnResults.publish(seq, stored)
  await progress.speak(result)
}

function noteAnswer({ answered, answeredSessions }: TurnDeps, turn: Turn, text: string): void {
  if (answeredSessions.has(turn.sessionId)) return
  if (answered(turn, text)) answeredSessions.set(turn.sessionId, true)
}

/** The result of a sub-agent needs a conversation that goes on, and a process that does. */
function startInBackground({ startSubagents }: TurnDeps, turn: Turn): AgentTurnInput['startInBackground'] {
  if (startSubagents === undefined || turn.event.task !== undefined || !hasWaitingUser(turn.event)) return undefined
  return (call, planned) => startSubagents(turn, call, planned)
}

function isReport({ subagentResult, commandReport }: Turn['event']): boolean {
  return subagentResult !== undefined || commandReport !== undefined
}

function isDelegated({ event }: Turn): boolean {
  return event.task?.delegation !== undefined
}

/** A full disk must not cost a reply that has been paid for: it stays in memory until the disk has space again. */
function waitForStore({ log, sleep, random }: TurnDeps, signal: AbortSignal): Retry {
  return async (error, attempt) => {
    if (!isTransientError(error) || signal.aborted) throw error
    log.error({ event: 'turn.store_failed', err: error, attempt }, 'a reply could not be stored; trying again')
    await sleep(backoffMs(attempt, 1_000, 30_000, random), signal)
  }
}

async function recordFailure(deps: TurnDeps, turn: Turn, failure: unknown, log: Logger): Promise<void> {
  try {
    await deps.recordFailure(turn.seq, failure)
  } catch (error) {
    log.error({ event: 'turn.failure_not_recorded', err: error }, 'the reason of a failure could not be stored')
  }
}

function emitTurnStart({ emit, emitsEvents }: TurnDeps, turn: Turn): void {
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

function emitTurnEnd({ emit, emitsEvents }: TurnDeps, turn: Turn, result: TurnRunResult): void {
  if (!emitsEvents(turn.event.source) || !result.announced) return
  const { text, model, provider } = result
  const context = createAgentContext(turn.event, turn.sessionId, turn.sessionKey)
  emit('agent:end', { ...context, response: truncateForHooks(text), response_full: text, model, provider })
}
