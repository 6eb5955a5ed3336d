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
} from '../message/transcript.ts'
import { type AskDeps, askModel, holdsDrafts, type Reply } from './ask-model.ts'
import type { AgentConfig } from './config.ts'
import type { AgentWatcher, Journal } from './journal.ts'
import type { TurnFacts } from './points.ts'
import { distinct, lastToolsOf, type Progress, resumeFrom } from './progress.ts'
import { type ModelAnswer, ModelError, type Provider, type RequestInput } from './provider.ts'
import type { ToolContext } from './tool.ts'
import type { ApproveTool } from './tool-approval.ts'
import { runToolBatch, type ToolBox } from './tool-batch.ts'
import { visibleSoFar, visibleText } from './visible-text.ts'

export interface LoopDeps extends Omit<AskDeps, 'maxRetries'> {
  readonly approve: ApproveTool
  readonly settings: () => AgentConfig
}

export interface LoopRun {
  readonly turn: TurnFacts
  readonly provider: Provider
  readonly tools: ToolBox
  /** Frozen with the session. */
  readonly system: string
  /** The conversation up to now; it ends with the user's message, or with what an interrupted try of this turn left. */
  readonly transcript: readonly ChatMessage[]
  /** Where this turn begins in it. */
  readonly turnStart: number
  /** Model calls, at most. Undefined: as many as the configuration allows, which is never exceeded. */
  readonly maxIterations?: number | undefined
  readonly journal: Journal
  readonly watcher: AgentWatcher
  readonly signal: AbortSignal
  contextFor(call: ToolCall): ToolContext
  /** What was spent beside the model calls of this loop since it was asked last. */
  takeSpent?(): Usage
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
export async function runLoop(deps: LoopDeps, run: LoopRun, context: string): Promise<LoopResult> {
  const progress = resumeFrom(run.transcript, run.turnStart)
  const { max_iterations, agent } = deps.settings()
  const budget = Math.min(agent.max_turns ?? max_iterations, run.maxIterations ?? Number.POSITIVE_INFINITY)
  const inScope = (work: () => Promise<LoopResult | undefined>) =>
    deps.middleware.scope({ name: 'iteration', metadata: { iteration: progress.iteration } }, work)
  if (progress.open.length > 0) {
    await inScope(async () => {
      await runTools(deps, run, progress, budget)
      return undefined
    })
  }
  for (;;) {
    progress.iteration += 1
    const result = await inScope(() => iterate(deps, run, progress, budget, context))
    if (result !== undefined) return result
  }
}

/** One model call and the tools it asks for. Undefined while the turn goes on. */
async function iterate(
  deps: LoopDeps,
  run: LoopRun,
  progress: Progress,
  budget: number,
  context: string,
): Promise<LoopResult | undefined> {
  run.watcher.step(progress.iteration, progress.lastTools)
  const last = progress.iteration > budget
  const { answer, ...reply } = await ask(deps, run, progress, last, context).catch((error) =>
    askShorter(deps, run, progress, last, context, error),
  )
  const usage = addUsage(reply.usage, run.takeSpent?.() ?? noUsage)
  const calls = distinct(answer.toolCalls, progress)
  const message = messageFrom({ ...answer, toolCalls: calls }, run.provider.apiMode, last)
  if (message.toolCalls === undefined) {
    const text = [...progress.texts, message.content].filter((part) => part !== '').join('\n\n')
    const finishReason = last ? 'max_iterations' : answer.finishReason
    return { text, message, usage, iterations: progress.iteration, finishReason, messages: progress.messages }
  }
  deps.probe('agent:answered')
  await run.journal.assistant(message, usage)
  deps.probe('agent:answer-stored')
  progress.messages.push(message)
  if (message.content !== '') progress.texts.push(message.content)
  // Nobody has seen it grow, and from here on it is decided; the answer of the whole turn may still be another one.
  if (holdsDrafts(deps) && !deps.points.holdsDrafts()) run.watcher.text(progress.texts.join('\n\n'))
  progress.open = message.toolCalls
  await runTools(deps, run, progress, budget)
  return undefined
}

async function runTools(deps: LoopDeps, run: LoopRun, progress: Progress, budget: number): Promise<void> {
  const { turn, tools, journal, watcher, contextFor } = run
  const { apiRequestId, open } = progress
  const call = { turn, apiRequestId, resumed: apiRequestId === '', tools, journal, watcher, contextFor }
  const results = await runToolBatch({ ...deps, ...call }, open, run.signal)
  run.signal.throwIfAborted()
  progress.open = []
  progress.lastTools = lastToolsOf([...progress.messages, ...results])
  progress.messages.push(...withBudgetNote(results, progress.iteration, budget))
}

/** Near the end of the budget the model is told, in the request only (contract §4.1): the transcript stays as it is. */
function withBudgetNote<Message extends ChatMessage>(
  results: readonly Message[],
  iteration: number,
  budget: number,
): Message[] {
  const share = iteration / budget
  const last = results.at(-1)
  if (share < 0.7 || last === undefined) return [...results]
  const advice = share >= 0.9 ? 'Answer now with what you have.' : 'Begin to bring the work to an end.'
  const note = `\n\n[Iteration ${iteration} of ${budget}. ${advice}]`
  return [...results.slice(0, -1), { ...last, content: last.content + note }]
}

const summaryRequest: ChatMessage = {
  role: 'user',
  content:
    'The budget of steps for this turn is used up. Use no more tools: say what you found, what is done and what is left.',
}

async function ask(deps: LoopDeps, run: LoopRun, progress: Progress, last: boolean, context: string): Promise<Reply> {
  const { provider, turn, signal } = run
  const settings = deps.settings()
  const messages = withContext(progress.messages, run.transcript[run.turnStart], context)
  const input: RequestInput = {
    model: turn.model,
    system: run.system,
    messages: last ? [...messages, summaryRequest] : messages,
    // The tools stay in the last request too: leaving them out would change the cached beginning of the prompt.
    tools: run.tools.schemas(),
    ...(settings.reasoning_effort === undefined ? {} : { reasoningEffort: settings.reasoning_effort }),
    ...(settings.max_output_tokens === undefined ? {} : { maxOutputTokens: settings.max_output_tokens }),
  }
  const before = progress.texts.map((text) => `${text}\n\n`).join('')
  const reply = await askModel(
    { ...deps, maxRetries: () => deps.settings().agent.max_retries },
    {
      provider,
      turn,
      iteration: progress.iteration,
      callsBefore: progress.calls,
      input,
      signal,
      onText: (text) => run.watcher.text(before + visibleSoFar(text)),
    },
  )
  progress.calls = reply.calls
  progress.apiRequestId = reply.apiRequestId
  return reply
}

/** What plugins add to this turn's message is told to the model alone; the transcript and the system prompt stay as they are. */
function withContext(
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
async function askShorter(
  deps: LoopDeps,
  run: LoopRun,
  progress: Progress,
  last: boolean,
  context: string,
  error: unknown,
): Promise<Reply> {
  const tooLong = error instanceof ModelError && error.problem === 'context'
  const shorter = tooLong ? await run.compress?.() : null
  if (!shorter) throw error
  progress.messages.splice(0, progress.messages.length, ...shorter)
  return ask(deps, run, progress, last, context)
}

/** `final`: the budget is used up, so calls the model still makes are left out. */
function messageFrom(answer: ModelAnswer, apiMode: string, final: boolean): AssistantMessage {
  return {
    role: 'assistant',
    content: visibleText(answer.text),
    ...(answer.toolCalls.length === 0 || final ? {} : { toolCalls: answer.toolCalls }),
    ...(answer.providerItems === undefined || final ? {} : { providerData: { apiMode, items: answer.providerItems } }),
  }
}
