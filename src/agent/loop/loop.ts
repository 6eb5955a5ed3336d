/**
 * The agent loop (contract §4.1): calls the model and runs the requested tools until the model replies without tool calls
 * or the iteration limit is reached. It uses neither a platform nor a database: the journal persists its progress, and
 * the listener publishes it.
 */

import { reasoningEfforts } from '../../message/conversation-choices.ts'
import {
  type AssistantMessage,
  addUsage,
  type ChatMessage,
  noUsage,
  type ToolCall,
  type Usage,
} from '../../message/transcript.ts'
import type { AgentConfig } from '../config.ts'
import type { Auxiliary } from '../models/auxiliary.ts'
import { withoutItems } from '../models/normalize-messages.ts'
import { ModelError, type ModelOutput, type Provider, type RequestInput } from '../models/provider.ts'
import { type RequestModelResult, requestModel } from '../models/request-model.ts'
import { retryRulesOf, unattendedLocalRefusalWindowMs } from '../models/retry-policy.ts'
import type { ModelCallDeps } from '../models/run-model-call.ts'
import type { RunningSubagent, TurnInfo } from '../support/agent-hooks.ts'
import type { ToolContext } from '../tools/tool.ts'
import type { AgentTools } from './agent-tools.ts'
import type { Journal, ProgressListener } from './journal.ts'
import {
  type CountedContext,
  collectLastToolResults,
  countTokens,
  type EarlierResponses,
  findRunaway,
  type LoopState,
  type Runaway,
  recordCalls,
  restoreLoopState,
  withUniqueIds,
} from './loop-state.ts'
import type { ToolCallDeps } from './run-tool-call.ts'
import { stripPartialThinking, stripThinking, thinkingIn } from './strip-thinking.ts'
import type { ApproveTool } from './tool-approval.ts'
import { runToolBatch } from './tool-batch.ts'

/** What the turns of the agent and of its sub-agents need. */
export interface AgentDeps extends ModelCallDeps {
  readonly approve: ApproveTool
  readonly settings: () => AgentConfig
  /** The turn splits into branches. Each of them calls the returned function once, when it ends. */
  fork(turn: TurnInfo, branches: number): () => void
  /** Summarises the work of sub-agents. */
  readonly auxiliary: Auxiliary
  /** The configured model of sub-agents; undefined for that of their turn. Rejects `config/…`. */
  subagentModel?(): Promise<{ readonly provider: Provider; readonly model: string } | undefined>
  /** The sub-agents that run now, by their ids for people. */
  readonly runningSubagents?: Map<string, RunningSubagent>
}

export interface LoopInput {
  readonly turn: TurnInfo
  readonly provider: Provider
  /** Sends the requests of this turn with text that is stored nowhere. Default: `provider`. */
  readonly sender?: Provider | undefined
  readonly tools: AgentTools
  /** The system prompt, which is frozen with the session. */
  readonly system: string
  /** The conversation so far. It ends with the user's message, or with the messages of an interrupted run of this turn. */
  readonly transcript: readonly ChatMessage[]
  /** The index in the transcript at which this turn begins. */
  readonly turnStart: number
  /** When the provider stopped answering this turn, ms; null or undefined while it answers. */
  readonly outageSince?: number | null
  /** Tokens of the earlier runs of an interrupted turn. */
  readonly usedTokens?: number
  /** The responses of these runs; some of them may no longer be in the transcript. */
  readonly storedResponses?: EarlierResponses | undefined
  /** A lower limit of model calls than the configured one. */
  readonly maxIterations?: number | undefined
  /** What the person has chosen for this conversation instead of the configured `reasoning_effort`. */
  readonly reasoningEffort?: string | undefined
  /** The result contains what the model thought. */
  readonly showsThinking?: boolean
  /** A program waits for the reply, not a user. */
  readonly isUnattended?: boolean
  readonly journal: Journal
  readonly listener: ProgressListener
  readonly signal: AbortSignal
  /** Called before each model call and before tools run. Throws when the turn must not go on. */
  checkpoint?(): void
  /** Called after tools have run: the messages of the user that the model reads with their results. */
  takeSteered?(): Promise<readonly ChatMessage[]>
  toolContextFor(call: ToolCall): ToolContext
  /** The token usage of sub-agents since the last call. */
  takeSubagentUsage?(): Usage
  /**
   * Compresses the conversation after the model rejected it as too long, or because the next request would have so many
   * tokens. Null when that is not possible.
   * @param messages the conversation as it is now
   */
  compress?(tokens: number | undefined, messages: readonly ChatMessage[]): Promise<readonly ChatMessage[] | null>
  /** Another model for the rest of the turn, after this one has failed; null when there is none. Must not reject. */
  readonly fallBack?: ((failure: ModelError) => Promise<FallbackModel | null>) | undefined
  /** The provider has counted a request. Must neither throw nor block. */
  counted?(request: RequestSize): void
  /** The tokens of the next request, if they are so many that the conversation is to be compressed; otherwise null. */
  excess?(messages: readonly ChatMessage[], counted: CountedContext | null): number | null
}

export interface FallbackModel {
  readonly model: string
  readonly provider: Provider
  readonly sender?: Provider
  /** The size of its window in tokens, unless it is `context_length`. */
  readonly contextLength?: number | undefined
}

/** A request as the provider counted it. */
export interface RequestSize {
  readonly messages: readonly ChatMessage[]
  readonly system: string
  /** The JSON of the tools. */
  schemas(): string
  readonly inputTokens: number
  readonly outputTokens: number
}

export interface LoopResult {
  /** The final answer: the last text of the turn. It is the text of `message`, or an earlier one if that is blank. */
  readonly text: string
  /** The last response. It is not in the transcript yet, because it is stored with the end of the turn. */
  readonly message: AssistantMessage
  /** The usage of the last response. The usage of earlier responses was stored with them in the journal. */
  readonly usage: Usage
  readonly iterations: number
  /** The finish reason of the last response (`stop`, `length` ...), `max_iterations`, `identical_calls` or `token_limit`. */
  readonly finishReason: string
  /** What the model thought before its last response; '' if the provider does not give it. */
  readonly thinking?: string
  /** The conversation without the last response. */
  readonly messages: readonly ChatMessage[]
}

/**
 * Rejects with `ModelError`, also `ModelOutage`, with errors of guardrails and plugins, with `store/fenced`, or with the signal's reason.
 * @param context added to the user's message of this turn, only in requests
 */
export async function runAgentLoop(deps: AgentDeps, input: LoopInput, context: string): Promise<LoopResult> {
  const state = restoreLoopState(input)
  state.tokens = input.usedTokens ?? 0
  const { max_iterations, agent } = deps.settings()
  const iterationLimit = Math.min(agent.max_turns ?? max_iterations, input.maxIterations ?? Number.POSITIVE_INFINITY)
  const inScope = (work: () => Promise<LoopResult | undefined>) =>
    deps.middleware.scope({ name: 'iteration', metadata: { iteration: state.iteration } }, work)
  if (state.pendingCalls.length > 0) {
    await inScope(async () => {
      await runToolCalls(deps, input, state, iterationLimit)
      await compressIfLong(deps, input, state)
      return undefined
    })
  }
  let current = input
  for (;;) {
    // The check also precedes the first request of a resumed turn.
    const runaway = findRunaway(state, deps.settings().agent)
    if (runaway !== undefined) return endRunaway(deps, current, state, runaway)
    state.iteration += 1
    try {
      const result = await inScope(() => runIteration(deps, current, state, iterationLimit, context))
      if (result !== undefined) return result
    } catch (error) {
      current = await withFallback(current, state, error)
      // The new model may have a smaller window.
      await compressIfLong(deps, current, state)
    }
  }
}

/** The same turn with another model, which repeats the request. Throws the error when the turn must end. */
async function withFallback(input: LoopInput, state: LoopState, error: unknown): Promise<LoopInput> {
  input.signal.throwIfAborted()
  // With calls to run, the error is not that of the request.
  if (!(error instanceof ModelError) || state.pendingCalls.length > 0) throw error
  const next = await input.fallBack?.(error)
  if (!next) throw error
  const { fallBack: _once, sender: _former, ...rest } = input
  const { model, provider } = next
  state.iteration -= 1
  state.counted = null
  state.outageSince = null
  const { name, baseUrl, apiMode } = provider
  return { ...rest, ...next, turn: { ...input.turn, model, provider: name, baseUrl, apiMode } }
}

/** Ends the turn with a notice. All tool calls have results, and the texts of the turn stay in the conversation. */
function endRunaway(
  { log }: AgentDeps,
  { turn, takeSubagentUsage }: LoopInput,
  { messages, iteration: iterations }: LoopState,
  { reason: finishReason, notice: text }: Runaway,
): LoopResult {
  log.warn({ event: 'turn.runaway', turn: turn.turnId, reason: finishReason, iterations }, 'a turn was ended')
  const message = { role: 'assistant', content: text } as const
  return { text, message, usage: takeSubagentUsage?.() ?? noUsage, iterations, finishReason, messages }
}

/** One model call and the tool calls in its response. Undefined when another iteration follows. */
async function runIteration(
  deps: AgentDeps,
  input: LoopInput,
  state: LoopState,
  iterationLimit: number,
  context: string,
): Promise<LoopResult | undefined> {
  input.checkpoint?.()
  input.listener.onIteration(state.iteration, state.lastToolResults)
  const isFinal = state.iteration > iterationLimit
  const { output, ...response } = await requestIteration(deps, input, state, isFinal, context).catch((error) =>
    retryCompressed(deps, input, state, isFinal, context, error),
  )
  const usage = addUsage(response.usage, input.takeSubagentUsage?.() ?? noUsage)
  countTokens(state, usage)
  const toolCalls = withUniqueIds(output.toolCalls, state)
  const message = toAssistantMessage({ ...output, toolCalls }, input, isFinal)
  if (message.toolCalls === undefined) {
    const text = message.content.trim() === '' ? state.lastText : message.content
    const finishReason = isFinal ? 'max_iterations' : output.finishReason
    const thinking = input.showsThinking === true ? { thinking: output.reasoning ?? thinkingIn(output.text) } : {}
    return { text, message, usage, iterations: state.iteration, finishReason, messages: state.messages, ...thinking }
  }
  deps.failpoint?.('agent:answered')
  await input.journal.recordAssistantMessage(message, usage, !deps.agentHooks.outputMayChange())
  deps.failpoint?.('agent:answer-stored')
  state.messages.push(message)
  if (message.content.trim() !== '') state.lastText = message.content
  state.pendingCalls = message.toolCalls
  await runToolCalls(deps, input, state, iterationLimit)
  await compressIfLong(deps, input, state)
  return undefined
}

/** The messages of a request before the limit stay the same bytes, so that the vendor's cache keeps them. */
async function compressIfLong({ failpoint }: AgentDeps, input: LoopInput, state: LoopState): Promise<void> {
  const { messages, counted } = state
  const tokens = input.excess?.(messages, counted) ?? null
  if (tokens === null) return
  input.checkpoint?.()
  const compressed = await input.compress?.(tokens, messages)
  if (!compressed) return
  replaceMessages(state, compressed)
  failpoint?.('agent:compressed')
}

/** The notice about the limit of iterations is only in memory. */
function replaceMessages(state: LoopState, compressed: readonly ChatMessage[]): void {
  const { messages, notice } = state
  messages.splice(0, messages.length, ...compressed)
  state.counted = null
  const at = messages.findLastIndex(({ role }) => role === 'tool')
  const last = messages[at]
  if (last === undefined || last.content.endsWith(notice)) return
  messages[at] = { ...last, content: last.content + notice }
}

async function runToolCalls(
  deps: AgentDeps,
  input: LoopInput,
  state: LoopState,
  iterationLimit: number,
): Promise<void> {
  const { middleware, agentHooks, approve, log, clock, failpoint } = deps
  const { turn, tools, journal, listener, toolContextFor, signal } = input
  const { apiRequestId, pendingCalls } = state
  input.checkpoint?.()
  const toolDeps: ToolCallDeps = {
    turn,
    apiRequestId,
    resumed: apiRequestId === '',
    tools,
    middleware,
    agentHooks,
    approve,
    journal,
    listener,
    log,
    clock,
    toolContextFor,
    showsPictures: input.provider.sees?.(turn.model) === true,
    failpoint,
  }
  const results = await runToolBatch(toolDeps, pendingCalls, signal, (branches) => deps.fork(turn, branches))
  signal.throwIfAborted()
  recordCalls(state, pendingCalls, results, deps.settings().agent.max_identical_calls)
  state.pendingCalls = []
  state.lastToolResults = collectLastToolResults([...state.messages, ...results])
  state.notice = iterationNotice(state.iteration, iterationLimit)
  state.messages.push(...addNotice(results, state.notice))
  state.messages.push(...((await input.takeSteered?.()) ?? []))
}

/** Notifies the model near the iteration limit (contract §4.1); '' before. */
function iterationNotice(iteration: number, iterationLimit: number): string {
  const usedShare = iteration / iterationLimit
  if (usedShare < 0.7) return ''
  const advice = usedShare >= 0.9 ? 'Answer now with what you have.' : 'Begin to bring the work to an end.'
  return `\n\n[Iteration ${iteration} of ${iterationLimit}. ${advice}]`
}

/** Only in the request. The transcript does not change. */
function addNotice<Message extends ChatMessage>(results: readonly Message[], notice: string): Message[] {
  const last = results.at(-1)
  if (notice === '' || last === undefined) return [...results]
  return [...results.slice(0, -1), { ...last, content: last.content + notice }]
}

const finalAnswerRequest: ChatMessage = {
  role: 'user',
  content:
    'The budget of steps for this turn is used up. Use no more tools: say what you found, what is done and what is left.',
}

async function requestIteration(
  deps: AgentDeps,
  input: LoopInput,
  state: LoopState,
  isFinal: boolean,
  context: string,
): Promise<RequestModelResult> {
  const { provider, sender = provider, turn, signal, listener } = input
  const settings = deps.settings()
  const canFallBack = mayFallBack(input, settings)
  const effort =
    reasoningEfforts.find((reasoningEffort) => reasoningEffort === input.reasoningEffort) ?? settings.reasoning_effort
  const reasoningEffort = effort === 'ultra' ? 'max' : effort
  const messages = addContext(state.messages, input.transcript[input.turnStart], context)
  const requestInput: RequestInput = {
    model: turn.model,
    system: input.system,
    messages: isFinal ? [...messages, finalAnswerRequest] : messages,
    // The last request has the tools too, because their absence would change the cached beginning of the prompt.
    tools: input.tools.schemas(),
    reasoningEffort,
    ...(input.showsThinking === true ? { showsReasoning: true } : {}),
    maxOutputTokens: settings.max_output_tokens,
  }
  const result = await requestModel(deps, {
    provider: sender,
    turn,
    iteration: state.iteration,
    previousCalls: state.modelCalls,
    input: requestInput,
    signal,
    retry: () => ({
      ...retryRulesOf(settings.agent),
      ...(canFallBack ? { maxRetries: settings.agent.max_retries ?? triesBeforeFallback } : {}),
      ...(input.isUnattended === true ? { localRefusalWindowMs: unattendedLocalRefusalWindowMs } : {}),
    }),
    mayFallBack: canFallBack,
    outageSince: state.outageSince,
    // After a text, a model may have nothing to add.
    acceptsEmpty: state.lastText !== '',
    // For the rest of the turn.
    onItemsRejected: () => state.messages.splice(0, state.messages.length, ...withoutItems(state.messages)),
    onTrouble: () => listener.onModelTrouble(),
    onText: (text, isProvisional) =>
      listener.onText(text.includes('<') ? stripPartialThinking(text) : text, isProvisional),
  })
  const { inputTokens, outputTokens } = result.usage
  const isCounted = inputTokens > 0 && result.totalCalls === state.modelCalls + 1
  // The response follows the messages of the request.
  state.counted = isCounted ? { tokens: inputTokens + outputTokens, messages: state.messages.length + 1 } : null
  if (isCounted)
    input.counted?.({
      messages,
      system: input.system,
      schemas: () => JSON.stringify(requestInput.tools),
      inputTokens,
      outputTokens,
    })
  state.outageSince = null
  state.modelCalls = result.totalCalls
  state.apiRequestId = result.apiRequestId
  return result
}

/** A person should not wait for the end of an outage while another model could answer. */
const triesBeforeFallback = 3

function mayFallBack({ fallBack }: LoopInput, { fallback_providers }: AgentConfig): boolean {
  return fallBack !== undefined && fallback_providers.length > 0
}

/** Adds the context of plugins to the message of this turn, only in the request. */
function addContext(
  messages: readonly ChatMessage[],
  turnMessage: ChatMessage | undefined,
  context: string,
): readonly ChatMessage[] {
  if (context === '') return messages
  // Compared by content, because compression changes the positions and the identity of messages.
  const same = messages.findLastIndex(({ role, content }) => role === 'user' && content === turnMessage?.content)
  const at = same === -1 ? messages.findLastIndex(({ role }) => role === 'user') : same
  return messages.map((message, index) =>
    index === at && message.role === 'user' ? { ...message, content: `${message.content}\n\n${context}` } : message,
  )
}

/** Compresses a conversation that the model rejected as too long, and repeats the request once. */
async function retryCompressed(
  deps: AgentDeps,
  input: LoopInput,
  state: LoopState,
  isFinal: boolean,
  context: string,
  error: unknown,
): Promise<RequestModelResult> {
  const tooLong = error instanceof ModelError && error.kind === 'context'
  const compressed = tooLong ? await input.compress?.(undefined, state.messages) : null
  if (!compressed) throw error
  replaceMessages(state, compressed)
  return requestIteration(deps, input, state, isFinal, context)
}

/** `isFinal`: the iteration limit is reached, so tool calls in the response are dropped. */
function toAssistantMessage(
  output: ModelOutput,
  { provider: { apiMode, baseUrl }, turn: { model } }: LoopInput,
  isFinal: boolean,
): AssistantMessage {
  return {
    role: 'assistant',
    content: output.text.includes('<') ? stripThinking(output.text) : output.text,
    ...(output.toolCalls.length === 0 || isFinal ? {} : { toolCalls: output.toolCalls }),
    ...(output.providerItems === undefined || isFinal
      ? {}
      : { providerData: { apiMode, baseUrl, model, items: output.providerItems } }),
  }
}
