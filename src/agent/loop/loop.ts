/**
 * The agent loop (contract §4.1): ask the model, run the tools it asks for, until it answers or the budget is used up.
 * It knows no platform and no database; what must survive goes through the journal, what people see through the watcher.
 */
import {
  type AssistantMessage,
  addUsage,
  type ChatMessage,
  noUsage,
  type ToolCall,
  type Usage,
} from '../../message/transcript.ts'
import type { TurnInfo } from '../agent-hooks.ts'
import type { AgentConfig } from '../config.ts'
import { ModelError, type ModelOutput, type Provider, type RequestInput } from '../models/provider.ts'
import {
  outputMayChange,
  type RequestModelDeps,
  type RequestModelResult,
  requestModel,
} from '../models/request-model.ts'
import type { ToolContext } from '../tools/tool.ts'
import type { Journal, ProgressListener } from './journal.ts'
import { collectLastToolResults, type LoopState, restoreLoopState, withUniqueIds } from './loop-state.ts'
import { stripPartialThinking, stripThinking } from './strip-thinking.ts'
import type { ApproveTool } from './tool-approval.ts'
import { type AgentTools, runToolBatch } from './tool-batch.ts'

export interface LoopDeps extends Omit<RequestModelDeps, 'maxRetries'> {
  readonly approve: ApproveTool
  readonly settings: () => AgentConfig
}

export interface LoopInput {
  readonly turn: TurnInfo
  readonly provider: Provider
  readonly tools: AgentTools
  /** Frozen with the session. */
  readonly system: string
  /** The conversation up to now; it ends with the user's message, or with what an interrupted try of this turn left. */
  readonly transcript: readonly ChatMessage[]
  /** Where this turn begins in it. */
  readonly turnStart: number
  /** Model calls, at most. Undefined: as many as the configuration allows, which is never exceeded. */
  readonly maxIterations?: number | undefined
  readonly journal: Journal
  readonly listener: ProgressListener
  readonly signal: AbortSignal
  toolContextFor(call: ToolCall): ToolContext
  /** What was spent beside the model calls of this loop since it was asked last. */
  takeSubagentUsage?(): Usage
  /** The conversation made shorter after the model found it too long; null where that is not possible. */
  compress?(): Promise<readonly ChatMessage[] | null>
}

export interface LoopResult {
  /** The texts of all answers of this turn. */
  readonly text: string
  /** The last answer, not yet in the transcript: it is stored with the end of the turn. */
  readonly message: AssistantMessage
  /** Of the last answer; what the ones before it cost went to the journal with them. */
  readonly usage: Usage
  readonly iterations: number
  /** The model's last word on why it stopped: `stop`, `length` … or `max_iterations`. */
  readonly finishReason: string
  /** The conversation without the last answer. */
  readonly messages: readonly ChatMessage[]
}

/**
 * @param context added to the user's message of this turn, in requests only
 * Rejects with `ModelError`, with what a guardrail or a plugin throws, with `store/fenced`, or with the signal's reason.
 */
export async function runAgentLoop(deps: LoopDeps, run: LoopInput, context: string): Promise<LoopResult> {
  const state = restoreLoopState(run.transcript, run.turnStart)
  const { max_iterations, agent } = deps.settings()
  const iterationLimit = Math.min(agent.max_turns ?? max_iterations, run.maxIterations ?? Number.POSITIVE_INFINITY)
  const inScope = (work: () => Promise<LoopResult | undefined>) =>
    deps.middleware.scope({ name: 'iteration', metadata: { iteration: state.iteration } }, work)
  if (state.pendingCalls.length > 0) {
    await inScope(async () => {
      await runToolCalls(deps, run, state, iterationLimit)
      return undefined
    })
  }
  for (;;) {
    state.iteration += 1
    const result = await inScope(() => runIteration(deps, run, state, iterationLimit, context))
    if (result !== undefined) return result
  }
}

/** One model call and the tools it asks for. Undefined while the turn goes on. */
async function runIteration(
  deps: LoopDeps,
  run: LoopInput,
  state: LoopState,
  iterationLimit: number,
  context: string,
): Promise<LoopResult | undefined> {
  run.listener.onIteration(state.iteration, state.lastToolResults)
  const isFinal = state.iteration > iterationLimit
  const { output, ...reply } = await requestIteration(deps, run, state, isFinal, context).catch((error) =>
    retryCompressed(deps, run, state, isFinal, context, error),
  )
  const usage = addUsage(reply.usage, run.takeSubagentUsage?.() ?? noUsage)
  const toolCalls = withUniqueIds(output.toolCalls, state)
  const message = toAssistantMessage({ ...output, toolCalls }, run.provider.apiMode, isFinal)
  if (message.toolCalls === undefined) {
    const text = [...state.texts, message.content].filter((part) => part !== '').join('\n\n')
    const finishReason = isFinal ? 'max_iterations' : output.finishReason
    return { text, message, usage, iterations: state.iteration, finishReason, messages: state.messages }
  }
  deps.failpoint('agent:answered')
  await run.journal.recordAssistantMessage(message, usage)
  deps.failpoint('agent:answer-stored')
  state.messages.push(message)
  if (message.content !== '') state.texts.push(message.content)
  // Nobody has seen it grow, and from here on it is decided; the answer of the whole turn may still be another one.
  if (outputMayChange(deps) && !deps.agentHooks.outputMayChange()) run.listener.onText(state.texts.join('\n\n'))
  state.pendingCalls = message.toolCalls
  await runToolCalls(deps, run, state, iterationLimit)
  return undefined
}

async function runToolCalls(deps: LoopDeps, run: LoopInput, state: LoopState, iterationLimit: number): Promise<void> {
  const { turn, tools, journal, listener, toolContextFor } = run
  const { apiRequestId, pendingCalls } = state
  const call = {
    turn,
    apiRequestId,
    resumed: apiRequestId === '',
    tools,
    journal,
    listener,
    toolContextFor,
  }
  const results = await runToolBatch({ ...deps, ...call }, pendingCalls, run.signal)
  run.signal.throwIfAborted()
  state.pendingCalls = []
  state.lastToolResults = collectLastToolResults([...state.messages, ...results])
  state.messages.push(...addIterationNotice(results, state.iteration, iterationLimit))
}

/** Near the end of the budget the model is told, in the request only (contract §4.1): the transcript stays as it is. */
function addIterationNotice<Message extends ChatMessage>(
  results: readonly Message[],
  iteration: number,
  iterationLimit: number,
): Message[] {
  const share = iteration / iterationLimit
  const last = results.at(-1)
  if (share < 0.7 || last === undefined) return [...results]
  const advice = share >= 0.9 ? 'Answer now with what you have.' : 'Begin to bring the work to an end.'
  const note = `\n\n[Iteration ${iteration} of ${iterationLimit}. ${advice}]`
  return [...results.slice(0, -1), { ...last, content: last.content + note }]
}

const finalAnswerRequest: ChatMessage = {
  role: 'user',
  content:
    'The budget of steps for this turn is used up. Use no more tools: say what you found, what is done and what is left.',
}

async function requestIteration(
  deps: LoopDeps,
  run: LoopInput,
  state: LoopState,
  isFinal: boolean,
  context: string,
): Promise<RequestModelResult> {
  const { provider, turn, signal } = run
  const settings = deps.settings()
  const messages = addContext(state.messages, run.transcript[run.turnStart], context)
  const input: RequestInput = {
    model: turn.model,
    system: run.system,
    messages: isFinal ? [...messages, finalAnswerRequest] : messages,
    // The tools stay in the last request too: leaving them out would change the cached beginning of the prompt.
    tools: run.tools.schemas(),
    ...(settings.reasoning_effort === undefined ? {} : { reasoningEffort: settings.reasoning_effort }),
    ...(settings.max_output_tokens === undefined ? {} : { maxOutputTokens: settings.max_output_tokens }),
  }
  const before = state.texts.map((text) => `${text}\n\n`).join('')
  const reply = await requestModel(
    { ...deps, maxRetries: () => deps.settings().agent.max_retries },
    {
      provider,
      turn,
      iteration: state.iteration,
      previousCalls: state.modelCalls,
      input,
      signal,
      onText: (text) => run.listener.onText(before + stripPartialThinking(text)),
    },
  )
  state.modelCalls = reply.totalCalls
  state.apiRequestId = reply.apiRequestId
  return reply
}

/** What plugins add to this turn's message is told to the model alone; the transcript and the system prompt stay as they are. */
function addContext(
  messages: readonly ChatMessage[],
  own: ChatMessage | undefined,
  context: string,
): readonly ChatMessage[] {
  if (context === '') return messages
  // A conversation that was made shorter has other places, and other objects for the same words.
  const same = messages.findLastIndex(({ role, content }) => role === 'user' && content === own?.content)
  const at = same === -1 ? messages.findLastIndex(({ role }) => role === 'user') : same
  return messages.map((message, index) =>
    index === at && message.role === 'user' ? { ...message, content: `${message.content}\n\n${context}` } : message,
  )
}

/** Once for each call: a conversation that the model found too long is compressed, where that can be, and asked again. */
async function retryCompressed(
  deps: LoopDeps,
  run: LoopInput,
  state: LoopState,
  isFinal: boolean,
  context: string,
  error: unknown,
): Promise<RequestModelResult> {
  const tooLong = error instanceof ModelError && error.kind === 'context'
  const compressed = tooLong ? await run.compress?.() : null
  if (!compressed) throw error
  state.messages.splice(0, state.messages.length, ...compressed)
  return requestIteration(deps, run, state, isFinal, context)
}

/** `final`: the budget is used up, so calls the model still makes are left out. */
function toAssistantMessage(output: ModelOutput, apiMode: string, isFinal: boolean): AssistantMessage {
  return {
    role: 'assistant',
    content: stripThinking(output.text),
    ...(output.toolCalls.length === 0 || isFinal ? {} : { toolCalls: output.toolCalls }),
    ...(output.providerItems === undefined || isFinal
      ? {}
      : { providerData: { apiMode, items: output.providerItems } }),
  }
}
