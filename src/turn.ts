/**
 * What happens to one message, from the queue of its session to its stored reply. Read it top to bottom.
 * A new wish becomes a plugin, a hook or a room's own business; it becomes a line here only if it changes a promise.
 */

import type { Agent, AgentResult, SubagentPlace } from './agent/conversation.ts'
import { ModelError, type Provider } from './agent/provider.ts'
import type { ToolContext } from './agent/tool.ts'
import type { ToolBox } from './agent/tool-batch.ts'
import type { SessionCompression } from './gateway/session-compression.ts'
import type { Outcomes } from './inbox/outcomes.ts'
import { HermesError, isHermesError, messageOf } from './lib/errors.ts'
import type { Logger } from './lib/log.ts'
import { backoffMs } from './lib/wait.ts'
import type { Attachment, MessageEvent } from './message/event.ts'
import { agentContext, cutForHooks, type EventListener } from './message/hook-events.ts'
import type { SessionKey } from './message/ids.ts'
import { noUsage, type ToolCall } from './message/transcript.ts'
import { GuardrailRejected } from './middleware/rejected.ts'
import type { Outbox } from './outbox/outbox.ts'
import { type RunningTurn, type RunningTurns, StopRequested } from './sessions/running-turns.ts'
import type { FactsOf } from './turn/facts.ts'
import type { Claim, FilesFirst, Finish, Turn, TurnJournal } from './turn/journal.ts'
import { type Answer, replyOf } from './turn/reply.ts'
import { openTurnView, type TurnView, type TurnViewDeps } from './turn/view.ts'

export interface TurnDeps extends TurnViewDeps {
  readonly journal: TurnJournal
  readonly agent: Agent
  readonly outbox: Outbox
  readonly outcomes: Outcomes
  readonly running: RunningTurns
  readonly emit: EventListener
  readonly log: Logger
  readonly random: () => number
  readonly pause: (ms: number, signal?: AbortSignal) => Promise<void>
  /** The configured model and who runs it. Rejects `config/…` when it cannot be used. */
  model(): Promise<{ readonly provider: Provider; readonly model: string }>
  tools(sessionId: string): Promise<ToolBox>
  /** Whose error it is, for people; null when no plugin threw it. */
  culprit(error: unknown): string | null
  /** What plugins are told of a turn. */
  readonly factsOf: FactsOf
  toolContext(turn: Turn, call: ToolCall, signal: AbortSignal): ToolContext
  openPlace(sessionId: string, turnId: string): SubagentPlace
  /** Builds the system prompt of a new session and freezes it. */
  freezePrompt(turn: Turn): Promise<string>
  readonly compression: SessionCompression
  /** Brings the files of a message, each with its path or its problem. Rejects with the signal's reason. */
  fetchAttachments(event: MessageEvent, name: string, signal: AbortSignal): Promise<readonly Attachment[]>
  /** Takes a message back that waits. */
  withdraw(seq: number): Promise<void>
  /** What the turn asked people and nobody answered is void. */
  turnEnded(sessionKey: SessionKey): void
  /** Keeps why a try failed, for the day its message is set aside. */
  noteFailure(seq: number, reason: string): Promise<void>
  /** The daemon is stopping: what runs may end, what waits goes on at the next start. */
  draining(): boolean
  /** Named points for crash tests; does nothing in production. */
  probe(point: string): void
}

/** Works through the turns of one session until none is left. Throws what could not be settled: it is tried again. */
export function createTurnRunner(deps: TurnDeps): (key: SessionKey, signal: AbortSignal) => Promise<void> {
  return async (key, signal) => {
    while (!signal.aborted && !deps.draining() && !deps.running.isHeld(key)) {
      deps.probe('turn:before-claim')
      const claim = await deps.journal.claim(key)
      if (claim === null) return
      if (claim.kind === 'files-first') {
        await fetchFiles(deps, key, claim, signal)
        continue
      }
      deps.probe('turn:claimed')
      await takeTurn(deps, claim, signal)
    }
  }
}

/** What the model reads of a message are its files, too: they are here, or it is known why not, before the turn begins. */
async function fetchFiles(deps: TurnDeps, key: SessionKey, wanted: FilesFirst, laneSignal: AbortSignal): Promise<void> {
  const { seq, event } = wanted
  const running = deps.running.begin(key, seq, laneSignal)
  try {
    await deps.journal.keepFiles(seq, await deps.fetchAttachments(event, `${seq}`, running.signal))
    deps.probe('media:fetched')
  } catch (error) {
    // Nothing has been claimed: after a stop of the gateway the message waits where it was.
    if (laneSignal.aborted || deps.draining()) return
    if (!(running.signal.reason instanceof StopRequested)) throw error
    await deps.withdraw(seq)
  } finally {
    running.ended()
  }
}

async function takeTurn(deps: TurnDeps, claim: Claim, laneSignal: AbortSignal): Promise<void> {
  const { turn } = claim
  const log = deps.log.child({ session: turn.sessionKey, turn: turn.id })
  const running = deps.running.begin(turn.sessionKey, turn.seq, laneSignal)
  const view = openTurnView(deps, turn, running.signal)
  try {
    const end =
      claim.kind === 'run'
        ? await answer(deps, turn, running, view, log)
        : claim.kind === 'compress'
          ? await compress(deps, claim, running)
          : endWithoutModel(claim)
    await settle(deps, turn, end, view, laneSignal)
    log.info({ state: end.state, iterations: end.iterations }, 'turn ended')
  } catch (error) {
    if (laneSignal.aborted || (running.signal.aborted && deps.draining())) {
      const reason = messageOf(error)
      return log.info({ reason }, 'turn cut off by the stop of the gateway; it goes on at the next start')
    }
    if (isHermesError(error, 'store/fenced')) return log.info({}, 'turn overtaken by a newer one; its work is dropped')
    await deps
      .noteFailure(turn.seq, messageOf(error))
      .catch((cause) => log.error({ error: cause }, 'could not note a failure'))
    throw error
  } finally {
    view.close()
    running.ended()
  }
}

type TurnEnding = Omit<Finish, 'writeReply'> &
  Answer & {
    readonly iterations: number
    readonly announced: boolean
  }

/** Runs the agent. Resolves with how the turn ends; rejects when it must be tried again. */
async function answer(
  deps: TurnDeps,
  turn: Turn,
  running: RunningTurn,
  view: TurnView,
  log: Logger,
): Promise<TurnEnding> {
  const journal = deps.journal.journalOf(turn)
  announceStart(deps, turn)
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
    const system = turn.prompt ?? (await deps.freezePrompt(turn))
    const lines = await deps.compression.beforeTurn(turn, { provider, model }, system, running.signal)
    const result = await deps.agent.run({
      turn: deps.factsOf(turn, { provider, model }),
      userMessage: turn.event.text,
      isFirstTurn: isFirst(turn),
      beginsSession: turn.prompt === undefined,
      provider,
      tools: await deps.tools(turn.sessionId),
      system,
      transcript: lines.map((line) => line.message),
      turnStart: startOf(turn, lines),
      maxIterations: turn.event.task?.maxIterations,
      journal,
      watcher: view.watcher,
      signal: running.signal,
      contextFor: (call) => deps.toolContext(turn, call, running.signal),
      openPlace: deps.openPlace,
      compress: () => deps.compression.afterRefusal(turn, { provider, model }, running.signal),
    })
    return { ...base, ...ended(result), model, provider: provider.name, ord: journal.nextOrd() }
  } catch (error) {
    if (running.signal.reason instanceof StopRequested)
      return { ...base, ...stopped(view.shownText()), ord: journal.nextOrd() }
    if (error instanceof GuardrailRejected) {
      log.info({ guardrail: error.guardrail, reason: error.reason }, 'a guardrail refused the model call of a turn')
      return { ...base, ...refused(error), ord: journal.nextOrd() }
    }
    const told = beyondRetry(error, deps)
    if (told === undefined) throw error
    log.warn({ error }, `turn failed: ${messageOf(told)}`)
    return { ...base, ...failed(told), ord: journal.nextOrd() }
  }
}

/** The model was tried often enough; what is to be set, or what a plugin does wrong, can be told, and trying again would change nothing. */
function beyondRetry(error: unknown, { culprit }: TurnDeps): ModelError | HermesError | undefined {
  if (error instanceof ModelError) return error
  if (isHermesError(error) && /^(config|middleware)\//.test(error.code)) return error
  const who = culprit(error)
  if (who === null) return undefined
  const said = messageOf(error).slice(0, 500).toWellFormed()
  return new HermesError('middleware/failed', `It was ${who}, with “${said}”.`, { cause: error })
}

function startOf(turn: Turn, lines: Turn['lines']): number {
  const own = lines.findIndex((line) => line.turnId === turn.id)
  return own === -1 ? lines.length : own
}

/** Also for a turn that was cut off: what its earlier life has left is its own. */
function isFirst({ fresh, resumed, lines, id }: Turn): boolean {
  return fresh || (resumed && lines.every(({ turnId }) => turnId === null || turnId === id))
}

function ended(result: AgentResult) {
  const { text, message, usage, iterations } = result
  if (text !== '') return { state: 'done' as const, reason: null, text, message, usage, iterations, notice: false }
  return { state: 'done' as const, reason: 'empty answer', text: emptyAnswer, usage, iterations, notice: true }
}

const emptyAnswer = 'The model answered with nothing. Send the message again, or start afresh with /new.'

function stopped(shownText: string) {
  const text = shownText === '' ? '' : `${shownText}\n\n*(stopped)*`
  return { state: 'stopped' as const, reason: 'stopped by a person', text, notice: false }
}

function failed(error: ModelError | HermesError) {
  const known = error instanceof ModelError ? new HermesError(`provider/${error.problem}`) : error
  // Our own error says everything itself; of a vendor's, his own words follow.
  const quote = error instanceof ModelError ? `\n\n> ${error.message.slice(0, 500).toWellFormed()}` : ''
  const text = `Sorry, I encountered an error (${known.code}). ${known.message} ${known.hint}${quote}`
  return { state: 'failed' as const, reason: error.message, text, errorCode: known.code, notice: true }
}

/** A plugin's own words say why; there is nothing to try again. */
function refused({ guardrail, reason }: GuardrailRejected) {
  return { state: 'failed' as const, reason: `refused by the guardrail ${guardrail}`, text: reason, notice: true }
}

const unasked = { ord: 0, usage: noUsage, model: '', provider: '', iterations: 0, notice: true, reason: null } as const

type Ordered<Kind> = Extract<Claim, { kind: Kind }>

/** A person has asked for it; what it says is all there is to answer. */
async function compress(
  { compression, model }: TurnDeps,
  { turn, focus }: Ordered<'compress'>,
  { signal }: RunningTurn,
): Promise<TurnEnding> {
  try {
    const text = await compression.byHand(turn, focus, model, signal)
    return { ...unasked, state: 'done', text, announced: false }
  } catch (error) {
    if (signal.reason instanceof StopRequested) return { ...unasked, ...stopped(''), announced: false }
    throw error
  }
}

/** Turns that no model sees. */
function endWithoutModel(claim: Ordered<'unknown-command' | 'stopped' | 'exhausted'>): TurnEnding {
  const { turn } = claim
  // An earlier life has told of its start.
  const announced = claim.kind !== 'unknown-command' && turn.event.compress === undefined
  const base = { ...unasked, announced }
  switch (claim.kind) {
    case 'unknown-command':
      return { ...base, state: 'done', text: unknownCommand(claim.command) }
    case 'stopped':
      return { ...base, state: 'stopped', text: '', reason: 'stopped by a person' }
    case 'exhausted': {
      const error = new HermesError('inbox/parked', `(${claim.reason})`)
      const text = `Sorry, I could not answer this message. ${error.meaning} It has the number ${turn.seq}. ${error.hint}`
      return { ...base, state: 'failed', text, reason: claim.reason, errorCode: error.code, park: true }
    }
  }
}

function unknownCommand(name: string): string {
  return `Unknown command \`/${name}\`. Type /commands to see what's available, or resend without the leading slash to send as a regular message.`
}

/** The reply and the end of the turn reach the disk together; only then is anything sent. */
async function settle(deps: TurnDeps, turn: Turn, end: TurnEnding, view: TurnView, signal: AbortSignal): Promise<void> {
  const draft = await view.closeDraft()
  const reply = deps.outbox.prepare(replyOf(turn, end, draft))
  deps.probe('turn:before-finish')
  try {
    const outcome = await untilStored(deps, signal, () =>
      deps.journal.finish(turn, { ...end, writeReply: reply.write }),
    )
    deps.probe('turn:finished')
    announceEnd(deps, turn, end)
    view.ended(end.state)
    reply.committed()
    deps.turnEnded(turn.sessionKey)
    deps.outcomes.settle(turn.seq, outcome)
  } catch (error) {
    reply.abandoned()
    throw error
  }
}

/** A full disk must not cost an answer that has been paid for: it waits in memory until there is room again. */
async function untilStored<T>(deps: TurnDeps, signal: AbortSignal, store: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await store()
    } catch (error) {
      const passing = isHermesError(error, 'store/full') || isHermesError(error, 'store/locked')
      if (!passing || signal.aborted) throw error
      deps.log.error({ error, attempt }, `an answer waits to be stored: ${messageOf(error)}`)
      await deps.pause(backoffMs(attempt, 1_000, 30_000, deps.random), signal)
    }
  }
}

function announceStart({ emit, watched }: TurnDeps, turn: Turn): void {
  if (!watched(turn)) return
  const { platform, userId = '' } = turn.event.source
  if (turn.fresh)
    emit('session:start', { platform, user_id: userId, session_id: turn.sessionId, session_key: turn.sessionKey })
  emit('agent:start', agentContext(turn.event, turn.sessionId, turn.sessionKey))
}

function announceEnd({ emit, watched }: TurnDeps, turn: Turn, end: TurnEnding): void {
  if (!watched(turn) || !end.announced) return
  const { text, model, provider } = end
  const context = agentContext(turn.event, turn.sessionId, turn.sessionKey)
  emit('agent:end', { ...context, response: cutForHooks(text), response_full: text, model, provider })
}
