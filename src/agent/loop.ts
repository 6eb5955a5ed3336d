/**
 * The agent loop (contract §4.1): ask the model, run the tools it asks for, until it answers or the budget is used up.
 * It knows no platform and no database; what must survive goes through the journal, what people see through the watcher.
 */
import type { Logger } from '../lib/log.ts'
import type { AssistantMessage, ChatMessage, ToolCall, Usage } from '../message/transcript.ts'
import type { ManagedCalls } from '../middleware/managed.ts'
import type { AgentConfig } from './config.ts'
import type { AgentWatcher, Journal } from './journal.ts'
import { callModel } from './model-call.ts'
import { type JsonObject, type ModelAnswer, ModelError, type ModelRequest, type Provider } from './provider.ts'
import type { ToolContext } from './tool.ts'
import { runToolBatch, type ToolBox } from './tool-batch.ts'
import { visibleSoFar, visibleText } from './visible-text.ts'

export interface AgentDeps {
  readonly managed: ManagedCalls
  readonly log: Logger
  readonly random: () => number
  readonly pause: (ms: number, signal: AbortSignal) => Promise<void>
  readonly settings: () => AgentConfig
  /** Named points for crash tests; does nothing in production. */
  probe(point: string): void
}

export interface AgentRun {
  readonly sessionId: string
  readonly turnId: string
  readonly provider: Provider
  /** As the provider names it. */
  readonly model: string
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
  /** The conversation made shorter after the model found it too long; null where that is not possible. */
  compress?(): Promise<readonly ChatMessage[] | null>
}

export interface AgentResult {
  /** What people get: the texts of all answers of this turn. */
  readonly text: string
  /** The last answer, not yet in the transcript: it is stored with the end of the turn. */
  readonly message: AssistantMessage
  /** Of the last answer; what the ones before it cost went to the journal with them. */
  readonly usage: Usage
  readonly iterations: number
  /** The model's last word on why it stopped: `stop`, `length` … or `max_iterations`. */
  readonly finishReason: string
}

export interface Agent {
  /** Rejects with `ModelError`, with `store/fenced`, or with the signal's reason. */
  run(run: AgentRun): Promise<AgentResult>
}

export function createAgent(deps: AgentDeps): Agent {
  return { run: (run) => runLoop(deps, run) }
}

async function runLoop(deps: AgentDeps, run: AgentRun): Promise<AgentResult> {
  const progress = resumeFrom(run)
  const { max_iterations, agent } = deps.settings()
  const budget = Math.min(agent.max_turns ?? max_iterations, run.maxIterations ?? Number.POSITIVE_INFINITY)
  for (;;) {
    if (progress.open.length > 0) await runTools(deps, run, progress, budget)
    progress.iteration += 1
    run.watcher.step(progress.iteration, progress.lastTools)
    const last = progress.iteration > budget
    const answer = await askModel(deps, run, progress, last).catch((error) =>
      askShorter(deps, run, progress, last, error),
    )
    const message = messageFrom(
      { ...answer, toolCalls: distinct(answer.toolCalls, progress) },
      run.provider.apiMode,
      last,
    )
    if (message.toolCalls === undefined) {
      const text = [...progress.texts, message.content].filter((part) => part !== '').join('\n\n')
      const finishReason = last ? 'max_iterations' : answer.finishReason
      return { text, message, usage: answer.usage, iterations: progress.iteration, finishReason }
    }
    deps.probe('agent:answered')
    await run.journal.assistant(message, answer.usage)
    deps.probe('agent:answer-stored')
    progress.messages.push(message)
    if (message.content !== '') progress.texts.push(message.content)
    progress.open = message.toolCalls
  }
}

interface Progress {
  readonly messages: ChatMessage[]
  /** What the earlier answers of this turn said. */
  readonly texts: string[]
  /** Calls that have no result yet. */
  open: readonly ToolCall[]
  lastTools: readonly { readonly name: string; readonly result: string }[]
  iteration: number
}

/** A turn that was cut off goes on at the first tool call without a result; the model is called only if there is none. */
function resumeFrom(run: AgentRun): Progress {
  const own = run.transcript.slice(run.turnStart)
  const answers = own.filter((message) => message.role === 'assistant')
  const answered = new Set(own.flatMap((message) => (message.role === 'tool' ? [message.toolCallId] : [])))
  const open = (answers.at(-1)?.toolCalls ?? []).filter((call) => !answered.has(call.id))
  return {
    messages: [...run.transcript],
    texts: answers.map((answer) => answer.content).filter((text) => text !== ''),
    open,
    lastTools: lastToolsOf(own),
    iteration: answers.length,
  }
}

/** What the tools of the last answer gave, in the order in which it asked for them: also those that an earlier try ran. */
function lastToolsOf(messages: readonly ChatMessage[]): Progress['lastTools'] {
  const at = messages.findLastIndex((message) => message.role === 'assistant')
  const answer = messages[at]
  if (answer?.role !== 'assistant') return []
  const results = messages.slice(at + 1).filter((message) => message.role === 'tool')
  return (answer.toolCalls ?? []).flatMap((call) =>
    results.filter(({ toolCallId }) => toolCallId === call.id).map(({ name, content }) => ({ name, result: content })),
  )
}

async function runTools(deps: AgentDeps, run: AgentRun, progress: Progress, budget: number): Promise<void> {
  const { sessionId, turnId } = run
  const results = await runToolBatch(
    {
      tools: run.tools,
      journal: run.journal,
      watcher: run.watcher,
      log: deps.log,
      probe: deps.probe,
      contextFor: run.contextFor,
      manage: (call, handler) =>
        deps.managed.tool({ sessionId, turnId, callId: call.id, toolName: call.name }, call.arguments, handler),
    },
    progress.open,
    run.signal,
  )
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

function askModel(deps: AgentDeps, run: AgentRun, progress: Progress, last: boolean): Promise<ModelAnswer> {
  const { provider, sessionId, turnId } = run
  const settings = deps.settings()
  const request = provider.buildRequest({
    model: run.model,
    system: run.system,
    messages: last ? [...progress.messages, summaryRequest] : progress.messages,
    // The tools stay in the last request too: leaving them out would change the cached beginning of the prompt.
    tools: run.tools.schemas(),
    ...(settings.reasoning_effort === undefined ? {} : { reasoningEffort: settings.reasoning_effort }),
    ...(settings.max_output_tokens === undefined ? {} : { maxOutputTokens: settings.max_output_tokens }),
  })
  const before = progress.texts.map((text) => `${text}\n\n`).join('')
  const call = {
    provider,
    log: deps.log,
    random: deps.random,
    pause: deps.pause,
    probe: deps.probe,
    maxRetries: () => deps.settings().agent.max_retries,
    manage: (effective: ModelRequest, attempt: number, handler: (request: ModelRequest) => Promise<JsonObject>) =>
      deps.managed.model(
        {
          sessionId,
          turnId,
          iteration: progress.iteration,
          attempt,
          model: run.model,
          provider: provider.name,
          apiMode: provider.apiMode,
        },
        effective,
        handler,
      ),
  }
  return callModel(call, request, run.signal, (text) => run.watcher.text(before + visibleSoFar(text)))
}

/** Once for each call: a conversation that the model found too long is compressed, where that can be, and asked again. */
async function askShorter(deps: AgentDeps, run: AgentRun, progress: Progress, last: boolean, error: unknown) {
  const tooLong = error instanceof ModelError && error.problem === 'context'
  const shorter = tooLong ? await run.compress?.() : null
  if (!shorter) throw error
  progress.messages.splice(0, progress.messages.length, ...shorter)
  return askModel(deps, run, progress, last)
}

/** Some servers number their calls anew in every answer; within a turn each call needs a name of its own. */
function distinct(calls: readonly ToolCall[], { messages }: Progress): ToolCall[] {
  const taken = new Set(messages.flatMap((message) => (message.role === 'tool' ? [message.toolCallId] : [])))
  return calls.map((call) => {
    const base = call.id === '' ? 'call' : call.id
    let id = base
    for (let copy = 2; taken.has(id); copy++) id = `${base}_${copy}`
    taken.add(id)
    return { ...call, id }
  })
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
