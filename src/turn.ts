/**
 * What happens to one message, from the queue of its session to its stored reply. Read it top to bottom.
 * A new wish becomes a plugin, a hook or a room's own business; it becomes a line here only if it changes a promise.
 */

import type { Agent, AgentResult, SubagentWorkspace } from './agent/agent.ts'
import type { AgentTools } from './agent/loop/tool-batch.ts'
import { ModelError, type Provider } from './agent/models/provider.ts'
import type { ToolContext } from './agent/tools/tool.ts'
import type { SessionCompression } from './flows/session-compression.ts'
import type { AwaitingAttachments, Claim, Turn, TurnCompletion, TurnJournal } from './flows/turn/journal.ts'
import { startTurnProgress, type TurnProgress, type TurnProgressDeps } from './flows/turn/progress.ts'
import { buildReply, type ReplyContent } from './flows/turn/reply.ts'
import type { TurnInfoFactory } from './flows/turn/turn-info.ts'
import type { EventResults } from './inbox/event-results.ts'
import { HermesError, isHermesError, messageOf } from './lib/errors.ts'
import type { Logger } from './lib/log.ts'
import { backoffMs } from './lib/timers.ts'
import type { Attachment, MessageEvent } from './message/event.ts'
import { createAgentContext, type HookEventListener, truncateForHooks } from './message/hook-events.ts'
import type { SessionKey } from './message/ids.ts'
import { noUsage, type ToolCall } from './message/transcript.ts'
import { GuardrailRejected } from './middleware/guardrail-rejected.ts'
import type { Outbox } from './outbox/outbox.ts'
import { type RunningTurn, type RunningTurns, StopRequested } from './sessions/running-turns.ts'

export interface TurnDeps extends TurnProgressDeps {
  readonly journal: TurnJournal
  readonly agent: Agent
  readonly outbox: Outbox
  readonly turnResults: EventResults
  readonly running: RunningTurns
  readonly emit: HookEventListener
  readonly log: Logger
  readonly random: () => number
  readonly sleep: (ms: number, signal?: AbortSignal) => Promise<void>
  /** The configured model and who runs it. Rejects `config/…` when it cannot be used. */
  model(): Promise<{ readonly provider: Provider; readonly model: string }>
  tools(sessionId: string): Promise<AgentTools>
  /** Whose error it is, for people; null when no plugin threw it. */
  describeErrorOrigin(error: unknown): string | null
  /** What plugins are told of a turn. */
  readonly turnInfoOf: TurnInfoFactory
  toolContext(turn: Turn, call: ToolCall, signal: AbortSignal): ToolContext
  openSubagentWorkspace(sessionId: string, turnId: string): SubagentWorkspace
  /** Builds the system prompt of a new session and freezes it. */
  freezePrompt(turn: Turn): Promise<string>
  readonly compression: SessionCompression
  /** Brings the files of a message, each with its path or its problem. Rejects with the signal's reason. */
  fetchAttachments(event: MessageEvent, name: string, signal: AbortSignal): Promise<readonly Attachment[]>
  /** Takes a message back that waits. */
  withdraw(seq: number): Promise<void>
  /** What the turn asked people and nobody answered is void. */
  onTurnEnded(sessionKey: SessionKey): void
  /** Keeps why a try failed, for the day its message is set aside. */
  recordFailure(seq: number, reason: string): Promise<void>
  /** The daemon is stopping: what runs may end, what waits goes on at the next start. */
  isDraining(): boolean
  /** Named points for crash tests; does nothing in production. */
  failpoint(point: string): void
}

/** Works through the turns of one session until none is left. Throws what could not be settled: it is tried again. */
export function createTurnRunner(deps: TurnDeps): (key: SessionKey, signal: AbortSignal) => Promise<void> {
  return async (key, signal) => {
    while (!signal.aborted && !deps.isDraining() && !deps.running.isHeld(key)) {
      deps.failpoint('turn:before-claim')
      const claim = await deps.journal.claim(key)
      if (claim === null) return
      if (claim.kind === 'files-first') {
        await fetchPendingAttachments(deps, key, claim, signal)
        continue
      }
      deps.failpoint('turn:claimed')
      await runTurn(deps, claim, signal)
    }
  }
}

/** What the model reads of a message are its files, too: they are here, or it is known why not, before the turn begins. */
async function fetchPendingAttachments(
  deps: TurnDeps,
  key: SessionKey,
  awaiting: AwaitingAttachments,
  stopSignal: AbortSignal,
): Promise<void> {
  const { seq, event } = awaiting
  const running = deps.running.start(key, seq, stopSignal)
  try {
    await deps.journal.storeAttachments(seq, await deps.fetchAttachments(event, `${seq}`, running.signal))
    deps.failpoint('media:fetched')
  } catch (error) {
    // Nothing has been claimed: after a stop of the gateway the message waits where it was.
    if (stopSignal.aborted || deps.isDraining()) return
    if (!(running.signal.reason instanceof StopRequested)) throw error
    await deps.withdraw(seq)
  } finally {
    running.finish()
  }
}

async function runTurn(deps: TurnDeps, claim: Claim, stopSignal: AbortSignal): Promise<void> {
  const { turn } = claim
  const log = deps.log.child({ session: turn.sessionKey, turn: turn.id })
  const running = deps.running.start(turn.sessionKey, turn.seq, stopSignal)
  const progress = startTurnProgress(deps, turn, running.signal)
  try {
    const result =
      claim.kind === 'run'
        ? await runAgent(deps, turn, running, progress, log)
        : claim.kind === 'compress'
          ? await compressSession(deps, claim, running)
          : completeWithoutModel(claim)
    await commitTurn(deps, turn, result, progress, stopSignal)
    log.info({ state: result.state, iterations: result.iterations }, 'turn ended')
  } catch (error) {
    if (stopSignal.aborted || (running.signal.aborted && deps.isDraining())) {
      const reason = messageOf(error)
      return log.info({ reason }, 'turn cut off by the stop of the gateway; it goes on at the next start')
    }
    if (isHermesError(error, 'store/fenced')) return log.info({}, 'turn overtaken by a newer one; its work is dropped')
    await deps
      .recordFailure(turn.seq, messageOf(error))
      .catch((cause) => log.error({ error: cause }, 'could not note a failure'))
    throw error
  } finally {
    progress.close()
    running.finish()
  }
}

type TurnRunResult = Omit<TurnCompletion, 'writeReply'> &
  ReplyContent & {
    readonly iterations: number
    readonly announced: boolean
  }

/** Runs the agent. Resolves with how the turn ends; rejects when it must be tried again. */
async function runAgent(
  deps: TurnDeps,
  turn: Turn,
  running: RunningTurn,
  progress: TurnProgress,
  log: Logger,
): Promise<TurnRunResult> {
  const journal = deps.journal.journalOf(turn)
  emitTurnStart(deps, turn)
  log.info({ seq: turn.seq }, 'turn begins')
  const base = {
    ord: 0,
    usage: noUsage,
    model: '',
    provider: '',
    iterations: 0,
    notice: true,
    announced: true,
  }
  try {
    const { provider, model } = await deps.model()
    const system = turn.systemPrompt ?? (await deps.freezePrompt(turn))
    const lines = await deps.compression.beforeTurn(turn, { provider, model }, system, running.signal)
    const result = await deps.agent.runTurn({
      turn: deps.turnInfoOf(turn, { provider, model }),
      userMessage: turn.event.text,
      isFirstTurn: isFirstTurn(turn),
      startsSession: turn.systemPrompt === undefined,
      provider,
      tools: await deps.tools(turn.sessionId),
      system,
      transcript: lines.map((line) => line.message),
      turnStart: turnStartIndex(turn, lines),
      maxIterations: turn.event.task?.maxIterations,
      journal,
      listener: progress.listener,
      signal: running.signal,
      toolContextFor: (call) => deps.toolContext(turn, call, running.signal),
      openSubagentWorkspace: deps.openSubagentWorkspace,
      compress: () => deps.compression.afterContextOverflow(turn, { provider, model }, running.signal),
    })
    return { ...base, ...completedResult(result), model, provider: provider.name, ord: journal.nextOrd() }
  } catch (error) {
    if (running.signal.reason instanceof StopRequested)
      return { ...base, ...stoppedResult(progress.visibleText()), ord: journal.nextOrd() }
    if (error instanceof GuardrailRejected) {
      log.info({ guardrail: error.guardrail, reason: error.reason }, 'a guardrail refused the model call of a turn')
      return { ...base, ...rejectedResult(error), ord: journal.nextOrd() }
    }
    const reported = toNonRetryableError(error, deps)
    if (reported === undefined) throw error
    log.warn({ error }, `turn failed: ${messageOf(reported)}`)
    return { ...base, ...failedResult(reported), ord: journal.nextOrd() }
  }
}

/** The model was tried often enough; what is to be set, or what a plugin does wrong, can be told, and trying again would change nothing. */
function toNonRetryableError(error: unknown, { describeErrorOrigin }: TurnDeps): ModelError | HermesError | undefined {
  if (error instanceof ModelError) return error
  if (isHermesError(error) && /^(config|middleware)\//.test(error.code)) return error
  const who = describeErrorOrigin(error)
  if (who === null) return undefined
  const said = messageOf(error).slice(0, 500).toWellFormed()
  return new HermesError('middleware/failed', `It was ${who}, with “${said}”.`, { cause: error })
}

function turnStartIndex(turn: Turn, lines: Turn['transcript']): number {
  const own = lines.findIndex((line) => line.turnId === turn.id)
  return own === -1 ? lines.length : own
}

/** Also for a turn that was cut off: what its earlier life has left is its own. */
function isFirstTurn({ firstOfSession, resumed, transcript, id }: Turn): boolean {
  return firstOfSession || (resumed && transcript.every(({ turnId }) => turnId === null || turnId === id))
}

function completedResult(result: AgentResult) {
  const { text, message, usage, iterations } = result
  if (text !== '') return { state: 'done' as const, reason: null, text, message, usage, iterations, notice: false }
  return { state: 'done' as const, reason: 'empty answer', text: emptyReplyText, usage, iterations, notice: true }
}

const emptyReplyText = 'The model answered with nothing. Send the message again, or start afresh with /new.'

function stoppedResult(shownText: string) {
  const text = shownText === '' ? '' : `${shownText}\n\n*(stopped)*`
  return { state: 'stopped' as const, reason: 'stopped by a person', text, notice: false }
}

function failedResult(error: ModelError | HermesError) {
  const known = error instanceof ModelError ? new HermesError(`provider/${error.kind}`) : error
  // Our own error says everything itself; of a vendor's, his own words follow.
  const quote = error instanceof ModelError ? `\n\n> ${error.message.slice(0, 500).toWellFormed()}` : ''
  const text = `Sorry, I encountered an error (${known.code}). ${known.message} ${known.hint}${quote}`
  return { state: 'failed' as const, reason: error.message, text, errorCode: known.code, notice: true }
}

/** A plugin's own words say why; there is nothing to try again. */
function rejectedResult({ guardrail, reason }: GuardrailRejected) {
  return { state: 'failed' as const, reason: `refused by the guardrail ${guardrail}`, text: reason, notice: true }
}

const noModelResult = {
  ord: 0,
  usage: noUsage,
  model: '',
  provider: '',
  iterations: 0,
  notice: true,
  reason: null,
} as const

type ClaimOf<Kind> = Extract<Claim, { kind: Kind }>

/** A person has asked for it; what it says is all there is to answer. */
async function compressSession(
  { compression, model }: TurnDeps,
  { turn, focus }: ClaimOf<'compress'>,
  { signal }: RunningTurn,
): Promise<TurnRunResult> {
  try {
    const text = await compression.compressOnRequest(turn, focus, model, signal)
    return { ...noModelResult, state: 'done', text, announced: false }
  } catch (error) {
    if (signal.reason instanceof StopRequested) return { ...noModelResult, ...stoppedResult(''), announced: false }
    throw error
  }
}

/** Turns that no model sees. */
function completeWithoutModel(claim: ClaimOf<'unknown-command' | 'stopped' | 'exhausted'>): TurnRunResult {
  const { turn } = claim
  // An earlier life has told of its start.
  const announced = claim.kind !== 'unknown-command' && turn.event.compress === undefined
  const base = { ...noModelResult, announced }
  switch (claim.kind) {
    case 'unknown-command':
      return { ...base, state: 'done', text: unknownCommandText(claim.command) }
    case 'stopped':
      return { ...base, state: 'stopped', text: '', reason: 'stopped by a person' }
    case 'exhausted': {
      const error = new HermesError('inbox/dead-letter', `(${claim.reason})`)
      const text = `Sorry, I could not answer this message. ${error.meaning} It has the number ${turn.seq}. ${error.hint}`
      return { ...base, state: 'failed', text, reason: claim.reason, errorCode: error.code, deadLetter: true }
    }
  }
}

function unknownCommandText(name: string): string {
  return `Unknown command \`/${name}\`. Type /commands to see what's available, or resend without the leading slash to send as a regular message.`
}

/** The reply and the end of the turn reach the disk together; only then is anything sent. */
async function commitTurn(
  deps: TurnDeps,
  turn: Turn,
  result: TurnRunResult,
  progress: TurnProgress,
  signal: AbortSignal,
): Promise<void> {
  const draft = await progress.closeDraft()
  const reply = deps.outbox.prepare(buildReply(turn, result, draft))
  deps.failpoint('turn:before-finish')
  try {
    const outcome = await retryUntilStored(deps, signal, () =>
      deps.journal.finish(turn, { ...result, writeReply: reply.write }),
    )
    deps.failpoint('turn:finished')
    emitTurnEnd(deps, turn, result)
    progress.publishEnd(result.state)
    reply.committed()
    deps.onTurnEnded(turn.sessionKey)
    deps.turnResults.publish(turn.seq, outcome)
  } catch (error) {
    reply.rolledBack()
    throw error
  }
}

/** A full disk must not cost an answer that has been paid for: it waits in memory until there is room again. */
async function retryUntilStored<T>(deps: TurnDeps, signal: AbortSignal, store: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await store()
    } catch (error) {
      const passing = isHermesError(error, 'store/full') || isHermesError(error, 'store/locked')
      if (!passing || signal.aborted) throw error
      deps.log.error({ error, attempt }, `an answer waits to be stored: ${messageOf(error)}`)
      await deps.sleep(backoffMs(attempt, 1_000, 30_000, deps.random), signal)
    }
  }
}

function emitTurnStart({ emit, emitsEvents }: TurnDeps, turn: Turn): void {
  if (!emitsEvents(turn)) return
  const { platform, userId = '' } = turn.event.source
  if (turn.firstOfSession)
    emit('session:start', { platform, user_id: userId, session_id: turn.sessionId, session_key: turn.sessionKey })
  emit('agent:start', createAgentContext(turn.event, turn.sessionId, turn.sessionKey))
}

function emitTurnEnd({ emit, emitsEvents }: TurnDeps, turn: Turn, end: TurnRunResult): void {
  if (!emitsEvents(turn) || !end.announced) return
  const { text, model, provider } = end
  const context = createAgentContext(turn.event, turn.sessionId, turn.sessionKey)
  emit('agent:end', { ...context, response: truncateForHooks(text), response_full: text, model, provider })
}
