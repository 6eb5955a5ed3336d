/**
 * The steps from a claimed message to the answer of the model, the ways in which an attempt ends without one, and what follows an
 * answer: its voice, and the title of the conversation. `src/turn.ts` lists them.
 */
import type { Agent } from '../../agent/agent.ts'
import type { AgentTools } from '../../agent/loop/agent-tools.ts'
import type { AgentTurnInput, PlannedSubagent, SubagentWork, SubagentWorkspace } from '../../agent/loop/agent-turn.ts'
import type { ChosenModel } from '../../agent/models/chosen-model.ts'
import type { ModelError, Provider } from '../../agent/models/provider.ts'
import type { TurnInfo, TurnInfoFactory } from '../../agent/support/agent-hooks.ts'
import type { ToolContext } from '../../agent/tools/tool.ts'
import { createLruCache, lazy } from '../../lib/cache.ts'
import type { MediaToolsConfig } from '../../media/config.ts'
import { formatUserText, hasWaitingUser, ownWordsOf } from '../../message/event.ts'
import { targetOf } from '../../message/source.ts'
import type { ToolCall } from '../../message/transcript.ts'
import { StopRequested, TurnInterrupted, TurnPaused } from '../../sessions/running-turns.ts'
import { type FrozenPrompt, type TranscriptEntry, turnStartIndex } from '../../sessions/transcript.ts'
import type { Turn } from '../../sessions/turn.ts'
import type { TransactionPart } from '../../store/query.ts'
import type { CompressionPolicy } from '../compression/compression-policy.ts'
import type { SessionTitlesDeps } from '../sessions/session-titles.ts'
import type { TurnAftermath, TurnAttempt, TurnEnding, TurnStep } from './attempt.ts'
import type { TurnJournal } from './journal.ts'
import type { ModelOutages } from './model-outages.ts'
import { completedResult, type TurnRunResult } from './output.ts'
import type { SpeakDeps } from './speak.ts'
import { failedResult, interruptedResult, noteFailure, stoppedResult } from './without-answer.ts'

export interface TurnModels {
  /** The model that finishes a turn after a failure of its own, or because all its keys rest; null when there is none. Never rejects. */
  fallback(failed: ChosenModel, failure: ModelError | undefined, turn: Turn): Promise<ChosenModel | null>
  /** The provider as the requests of this turn are sent; it may add text that is stored nowhere. */
  senderOf(turn: Turn, provider: Provider): Promise<Provider>
}

export interface TurnTools {
  toolContext(turn: Turn, call: ToolCall, signal: AbortSignal): ToolContext
  openSubagentWorkspace(sessionId: string, turnId: string, turn: Turn): SubagentWorkspace
}

export interface TurnPlugins {
  /** What plugins learn about a turn. */
  readonly turnInfoOf: TurnInfoFactory
  /** Names the plugin that threw an error, in words for the user; null when no plugin did. */
  errorOrigin(error: unknown): string | null
}

export interface TurnSteps<Known> {
  next<Added>(step: TurnStep<Known, Added>): TurnSteps<Known & Added>
  run(attempt: TurnAttempt): Promise<Known>
}

/** The beginning of a list of steps, each of which knows what those before it have found out. */
export const firstStep: TurnSteps<object> = stepsOf(async () => ({}))

function stepsOf<Known>(run: TurnSteps<Known>['run']): TurnSteps<Known> {
  return {
    next: (step) =>
      stepsOf(async (attempt) => {
        const known = await run(attempt)
        attempt.step = step.name
        return { ...known, ...(await step.run(attempt, known)) }
      }),
    run,
  }
}

/** The role of a turn: where its model, its tools and its prompt come from. */
export interface TurnRole {
  model(turn: Turn): Promise<ChosenModel>
  tools(turn: Turn): Promise<AgentTools>
  /** Builds what all requests of a new session begin with. */
  buildPrompt(turn: Turn): Promise<FrozenPrompt>
  /** What the turn is for the agent; `info` is what plugins learn about it. Absent for a conversation. */
  work?(turn: Turn, info: TurnInfo): SubagentWork
}

/** Sub-agents that work in the background. */
export interface Delegation {
  /** Rejects when the code cannot be loaded. */
  role(): Promise<TurnRole>
  /** Starts sub-agents that go on after the turn. Undefined in a process that does not wait for them. */
  readonly start?:
    | ((turn: Turn, call: ToolCall, planned: readonly PlannedSubagent[]) => Promise<readonly string[]>)
    | undefined
  /** Prepares the message with the result of a sub-agent. A message of the same task is stored once. */
  prepareHandIn(turn: Turn, result: TurnRunResult): Promise<TransactionPart>
}

export interface KnownRole {
  readonly role: TurnRole
}

export function chooseRole(delegation: Delegation, conversation: TurnRole): TurnStep<object, KnownRole> {
  return {
    name: 'role',
    run: async ({ turn }) => ({ role: isDelegated(turn) ? await delegation.role() : conversation }),
  }
}

export interface KnownModel {
  readonly first: ChosenModel
  /** Another one than `first` while all keys of that rest. */
  readonly chosen: ChosenModel
}

export function chooseModel({ fallback }: TurnModels): TurnStep<KnownRole, KnownModel> {
  return {
    name: 'model',
    async run({ turn }, { role }) {
      const first = await role.model(turn)
      const rests = (first.provider.restsUntil?.() ?? 0) > 0
      return { first, chosen: rests ? ((await fallback(first, undefined, turn)) ?? first) : first }
    },
  }
}

export interface KnownPrompt {
  readonly system: string
  readonly startsSession: boolean
}

export const readPrompt: TurnStep<KnownRole, KnownPrompt> = {
  name: 'prompt',
  async run(attempt, { role }) {
    const { systemPrompt: system } = attempt.turn
    return system === undefined
      ? { system: await freezeNewPrompt(attempt, role), startsSession: true }
      : { system, startsSession: false }
  },
}

/** The first thing that the attempt writes contains the prompt, so that it costs no transaction of its own. */
async function freezeNewPrompt({ turn, journal }: TurnAttempt, role: TurnRole): Promise<string> {
  const prompt = await role.buildPrompt(turn)
  journal.freezePrompt(prompt)
  return prompt.text
}

export interface KnownConversation {
  readonly system: string
  readonly entries: readonly TranscriptEntry[]
}

export function compressBefore(
  compression: Pick<CompressionPolicy, 'beforeTurn'>,
  journal: Pick<TurnJournal, 'journalOf'>,
): TurnStep<KnownRole & KnownModel & KnownPrompt, KnownConversation> {
  return {
    name: 'compression',
    async run(attempt, { chosen, system, role }) {
      const { running, progress, turn } = attempt
      const prepared = await running.protect(() => compression.beforeTurn(turn, chosen, system, running.signal))
      const { entries } = prepared
      if (prepared.turn === turn) return { system, entries }
      // The conversation continues in a session of its own.
      attempt.turn = prepared.turn
      attempt.journal = journal.journalOf(prepared.turn, progress.prepareInterim)
      return { system: await freezeNewPrompt(attempt, role), entries }
    },
  }
}

export interface AgentPorts {
  readonly agent: Pick<Agent, 'runTurn'>
  readonly models: TurnModels
  readonly tools: TurnTools
  readonly compression: Omit<CompressionPolicy, 'beforeTurn' | 'compressOnRequest' | 'compressSession'>
  readonly delegation: Delegation
  readonly plugins: TurnPlugins
}

type KnownBefore = KnownRole & KnownModel & KnownPrompt & KnownConversation

/** The model and its tools, until there is an answer. */
export function runAgent(ports: AgentPorts): TurnStep<KnownBefore, { readonly result: TurnRunResult }> {
  const { agent, models, tools, compression, delegation, plugins } = ports
  return {
    name: 'model and tools',
    async run(attempt, known) {
      const { turn, journal, running, progress } = attempt
      const { first, system, entries, role } = known
      let { chosen } = known
      const info = plugins.turnInfoOf(turn, chosen)
      const answer = await agent.runTurn({
        turn: info,
        subagent: role.work?.(turn, info),
        startInBackground: starterFor(delegation, turn),
        onUnreportedUsage(usage) {
          attempt.unreported = usage
        },
        // What a sub-agent wrote must not look like the words of the user.
        userMessage: isReport(turn.event) ? formatUserText(turn.event, false) : ownWordsOf(turn.event),
        isFirstTurn: isFirstTurn(turn),
        startsSession: known.startsSession,
        provider: chosen.provider,
        sender: await models.senderOf(turn, chosen.provider),
        tools: await role.tools(turn),
        system,
        transcript: entries.map(({ message }) => message),
        turnStart: turnStartIndex(turn.id, entries),
        maxIterations: turn.event.task?.maxIterations,
        isUnattended: !hasWaitingUser(turn.event),
        reasoningEffort: turn.settings.reasoning_effort,
        showsThinking: role.work === undefined && progress.showsThinking(),
        outageSince: turn.outageSince,
        usedTokens: turn.usedTokens ?? 0,
        storedResponses: turn.storedResponses,
        journal,
        listener: progress.listener,
        signal: running.signal,
        checkpoint: running.checkpoint,
        toolContextFor: (call) => tools.toolContext(turn, call, running.signal),
        openSubagentWorkspace: (sessionId, turnId) => tools.openSubagentWorkspace(sessionId, turnId, turn),
        compress: (tokens) =>
          running.protect(() =>
            tokens === undefined
              ? compression.afterContextOverflow(turn, chosen, running.signal)
              : compression.afterTools(turn, chosen, tokens, running.signal),
          ),
        currentModel: () => chosen,
        fallBackSubagent: (failed, failure) => models.fallback(failed, failure, turn),
        // A turn changes its model once.
        fallBack:
          chosen !== first
            ? undefined
            : async (failure) => {
                const next = await models.fallback(chosen, failure, turn)
                if (next === null) return null
                chosen = next
                return { ...next, sender: await models.senderOf(turn, next.provider) }
              },
        counted: (request) => compression.counted(turn, chosen, request),
        excess: (messages, counted) => compression.excess(chosen, system, messages, counted),
        takeSteered: () => running.takeSteered(journal.takeSteered),
      })
      const { thinking = '', subagent } = answer
      const by = { model: chosen.model, provider: chosen.provider.name, contextLength: chosen.contextLength }
      const completed = { ...completedResult(answer), ...(subagent && { subagent }), ...by }
      const result = { ...completed, announced: true, thinking, ord: journal.nextOrd() }
      return { result: result.state === 'failed' ? noteFailure(turn, result) : result }
    },
  }
}

/** Undefined where no conversation could take the results of sub-agents. */
function starterFor({ start }: Delegation, turn: Turn): AgentTurnInput['startInBackground'] {
  if (start === undefined || turn.event.task !== undefined || !hasWaitingUser(turn.event)) return undefined
  return (call, planned) => start(turn, call, planned)
}

/** What an attempt without an answer has of a model. */
function withoutModel({ journal, unreported }: TurnAttempt) {
  return { usage: unreported, model: '', provider: '', iterations: 0, announced: true, ord: journal.nextOrd() }
}

export const endStopped: TurnEnding = {
  name: 'stopped',
  async end(attempt) {
    const { turn, running, progress } = attempt
    if (!(running.signal.reason instanceof StopRequested)) return undefined
    return { ...withoutModel(attempt), ...stoppedResult(turn, progress.visibleText()) }
  },
}

export const endInterrupted: TurnEnding = {
  name: 'interrupted',
  async end(attempt) {
    const { turn, running, progress } = attempt
    const { reason } = running.signal
    if (!(reason instanceof TurnInterrupted)) return undefined
    return { ...withoutModel(attempt), ...interruptedResult(turn, progress.visibleText(), reason.by) }
  },
}

export function endPaused(journal: Pick<TurnJournal, 'pause'>): TurnEnding {
  return {
    name: 'paused',
    async end({ turn, running, log }) {
      if (!(running.signal.reason instanceof TurnPaused)) return undefined
      await journal.pause(turn)
      log.info({ event: 'turn.paused' }, 'the turn goes on when the pause of the agent ends')
      return 'postponed'
    },
  }
}

export function endWaiting(outages: Pick<ModelOutages, 'postpone'>): TurnEnding {
  return {
    name: 'waiting for the model',
    end: async ({ turn }, error) => ((await outages.postpone(turn, error)) ? 'postponed' : undefined),
  }
}

/** @param errorOrigin names the plugin that threw an error, in words for the user; null when no plugin did */
export function endFailed(errorOrigin: (error: unknown) => string | null): TurnEnding {
  return {
    name: 'failed',
    async end(attempt, error) {
      const { turn, step, log } = attempt
      const failed = failedResult(error, errorOrigin)
      if (failed === undefined) return undefined
      log.warn({ event: 'turn.failed', step, reason: failed.reason, err: error }, 'turn failed')
      return noteFailure(turn, { ...withoutModel(attempt), ...failed })
    },
  }
}

/** The turn of a sub-agent that works in the background. */
export function isDelegated({ event }: Turn): boolean {
  return event.task?.delegation !== undefined
}

/** An interrupted turn may be the first one, too: the messages of its earlier attempt are its own. */
function isFirstTurn({ firstOfSession, resumed, transcript, id }: Turn): boolean {
  return firstOfSession || (resumed && transcript.every(({ turnId }) => turnId === null || turnId === id))
}

function isReport({ subagentResult, commandReport }: Turn['event']): boolean {
  return subagentResult !== undefined || commandReport !== undefined
}

/** Sends the voice of an answer whose text is stored, where the person wants to hear it. Never rejects. */
export function createVoice(deps: SpeakDeps): TurnAftermath {
  const { settings, adapter } = deps
  return {
    name: 'voice',
    async run({ turn, running, progress }, { state, notice, text }) {
      const isAnswer = state === 'done' && !notice && text.trim() !== '' && turn.event.task === undefined
      if (!isAnswer || progress.hasSpoken() || !isSpokenTo(settings().voice, turn)) return
      if (adapter(targetOf(turn.event.source))?.sendsAttachments !== true) return
      const { speakAnswer } = await import('./speak.ts')
      await speakAnswer(deps, turn, text, running.signal)
    },
  }
}

/** Whether the person wants to hear the answer (contract §3.8). */
function isSpokenTo({ auto_tts: isDefault }: MediaToolsConfig['voice'], { event, settings }: Turn): boolean {
  const { voice: chosen } = settings
  if (chosen === 'tts' || chosen === 'off') return chosen === 'tts'
  const isVoice = event.attachments?.some(({ kind, quoted }) => kind === 'voice' && quoted !== true) === true
  return isVoice && (chosen === 'on' || isDefault)
}

export interface TurnTitles {
  readonly title: TurnAftermath
  /** Resolves when no title is being asked for. */
  idle(): Promise<void>
}

const maxTitledSessions = 1_000

/** @param isOffered false in a process that does not wait for titles */
export function createTitles(deps: SessionTitlesDeps, isOffered: boolean): TurnTitles {
  const { settings, log } = deps
  /** The sessions of which no later answer matters. */
  const titled = createLruCache<true>(maxTitledSessions)
  let isLoaded = false
  const load = lazy(async () => {
    isLoaded = true
    return (await import('../sessions/session-titles.ts')).createSessionTitles(deps)
  })
  return {
    title: {
      name: 'title',
      run({ turn }, { state, text }) {
        const { event, sessionId } = turn
        if (state !== 'done' || text === '' || titled.has(sessionId)) return
        // Many conversations end with their first answer, and a title would double their requests.
        if (isFirstTurn(turn)) return
        const isEnabled = isOffered && settings().auxiliary.title_generation.enabled
        if (isEnabled && (event.task !== undefined || event.internal === true || !hasWaitingUser(event))) return
        titled.set(sessionId, true)
        if (!isEnabled) return
        load().then(
          (titles) => titles.add(turn, text),
          (error: unknown) => log.error({ event: 'session.titles_not_loaded', err: error }, 'titles cannot be given'),
        )
      },
    },
    async idle() {
      if (isLoaded) await (await load()).idle()
    },
  }
}
