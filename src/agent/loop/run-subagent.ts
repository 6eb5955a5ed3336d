/**
 * Runs the turn of one sub-agent, in the foreground or in the background: plugins learn of its start and its end, people may
 * stop it, its time is limited, and its answer is checked against the schema of its task.
 */
import { messageOf } from '../../lib/errors.ts'
import { linkAbortSignal, sleep } from '../../lib/timers.ts'
import { addUsage, type ChatMessage, noUsage, type ToolCall, type Usage } from '../../message/transcript.ts'
import type { SubagentInfo, SubagentToolCall } from '../support/agent-hooks.ts'
import type { SubagentResult } from '../support/subagent-result.ts'
import type { AgentResult, AgentTurnInput, RunAgentTurn, SubagentWork } from './agent-turn.ts'
import type { AgentDeps } from './loop.ts'
import { checkedResult, correctionMessage, createOutputCheck, type OutputCheck } from './output-schema.ts'

/** Model calls of the turn that corrects an answer. */
const maxCorrectionIterations = 5

/** A person has ended this sub-agent alone. */
class SubagentStopped extends Error {}
class SubagentTimedOut extends Error {}

/**
 * Resolves with a result that has `subagent`, also when the sub-agent was ended alone or ran out of time. Rejects as
 * `runAgentTurn`, or with the reason of the signal.
 * @param run runs a turn in the current scope
 */
export async function runSubagent(deps: AgentDeps, input: AgentTurnInput, run: RunAgentTurn): Promise<AgentResult> {
  const { turn, subagent: work } = input
  const info = turn.subagent
  if (work === undefined || info === undefined) throw new Error('the turn belongs to no sub-agent')
  const startedAt = deps.clock()
  const linked = linkAbortSignal(input.signal)
  const progress = watchProgress(input)
  const watched = { ...input, ...progress.wrapped, signal: linked.signal }
  deps.runningSubagents?.set(work.id, {
    id: work.id,
    info,
    turn,
    startedAt,
    tool: progress.tool,
    usage: progress.usage,
    stop: () => linked.abort(new SubagentStopped('stopped')),
  })
  deps.agentHooks.onSubagentStart(work.parent, info)
  void endAfter(deps.settings().delegation.child_timeout_seconds, linked)
  let outcome: SubagentResult = { status: 'interrupted', summary: '' }
  try {
    const result = await runInSubagentScope(deps, watched, { info, work, progress, run })
    outcome = outcomeOf(result, result.check)
    return { ...result, subagent: outcome }
  } catch (error) {
    const ended = input.signal.aborted ? undefined : endOf(linked.signal.reason, deps, progress.lastText())
    if (ended === undefined) {
      if (!input.signal.aborted) outcome = { status: 'error', summary: messageOf(error) }
      throw error
    }
    outcome = ended
    return endedResult(ended)
  } finally {
    deps.runningSubagents?.delete(work.id)
    linked.release()
    // Ends the timer.
    if (!linked.signal.aborted) linked.abort('the sub-agent has ended')
    const durationMs = deps.clock() - startedAt
    deps.agentHooks.onSubagentStop(work.parent, info, { ...outcome, toolCalls: progress.toolCalls, durationMs })
  }
}

async function endAfter(seconds: number, linked: ReturnType<typeof linkAbortSignal>): Promise<void> {
  await sleep(seconds * 1_000, linked.signal)
  linked.abort(new SubagentTimedOut('out of time'))
}

interface SubagentParts {
  readonly info: SubagentInfo
  readonly work: SubagentWork
  readonly progress: ReturnType<typeof watchProgress>
  readonly run: RunAgentTurn
}

async function runInSubagentScope(
  deps: AgentDeps,
  input: AgentTurnInput,
  { info, work, progress, run }: SubagentParts,
): Promise<AgentResult & { readonly check: OutputCheck | undefined }> {
  const { turn } = input
  const check = work.outputSchema === undefined ? undefined : createOutputCheck(work.outputSchema)
  const metadata = {
    session_id: info.sessionId,
    parent_session_id: work.parent.sessionId,
    platform: turn.platform,
    subagent_id: info.subagentId,
    parent_subagent_id: work.parent.subagent?.subagentId ?? null,
    role: info.role,
    depth: info.depth,
  }
  return await deps.middleware.scope({ type: 'agent', name: 'subagent', metadata }, async () => {
    const first = await run(deps, input)
    const problem = problemIn(first, check)
    if (problem === undefined) return { ...first, check }
    const second = await run(deps, await correctionTurn(input, progress.messages(), first.message, problem))
    const usage = addUsage(first.usage, second.usage)
    return { ...second, usage, iterations: first.iterations + second.iterations, check }
  })
}

/** Why the answer needs a correction; undefined if it needs none, or if there is no answer. */
function problemIn({ text }: AgentResult, check: OutputCheck | undefined): string | undefined {
  if (check === undefined || text === '') return undefined
  const checked = check(text)
  return 'problem' in checked ? checked.problem : undefined
}

/** The rejected answer is only in memory: after a crash, the sub-agent answers again. */
async function correctionTurn(
  input: AgentTurnInput,
  turnMessages: readonly ChatMessage[],
  answer: ChatMessage,
  problem: string,
): Promise<AgentTurnInput> {
  const request = correctionMessage(problem)
  const whole = [...input.transcript, ...turnMessages]
  const tokens = input.excess?.(whole, null) ?? null
  const worked = tokens === null ? null : await input.compress?.(tokens, whole)
  const transcript = [...(worked ?? whole), answer, request]
  const callIds = whole.flatMap((message) => (message.role === 'tool' ? [message.toolCallId] : []))
  return {
    ...input,
    transcript,
    storedResponses: { count: 0, callIds: [...(input.storedResponses?.callIds ?? []), ...callIds] },
    async compress(tokens, messages) {
      const shorter = (await input.compress?.(tokens, messages)) ?? null
      // What is stored does not contain it.
      return shorter === null || shorter.includes(request) ? shorter : [...shorter, request]
    },
    turnStart: transcript.length - 1,
    userMessage: request.content,
    isFirstTurn: false,
    startsSession: false,
    maxIterations: maxCorrectionIterations,
  }
}

/** The sub-agent was ended before it had an answer. */
const unfinishedReasons: ReadonlySet<string> = new Set(['max_iterations', 'identical_calls', 'token_limit'])

function outcomeOf({ text, finishReason }: AgentResult, check: OutputCheck | undefined): SubagentResult {
  const completed = text !== '' && !unfinishedReasons.has(finishReason)
  return { status: completed ? 'completed' : 'failed', summary: text, ...checkedResult(check, text) }
}

function endOf(reason: unknown, { settings }: AgentDeps, lastText: string): SubagentResult | undefined {
  const said = lastText === '' ? '' : ` Its last text: ${lastText}`
  if (reason instanceof SubagentStopped) return { status: 'interrupted', summary: `A person stopped it.${said}` }
  if (!(reason instanceof SubagentTimedOut)) return undefined
  const limit = settings().delegation.child_timeout_seconds
  return { status: 'failed', summary: `It was ended after ${limit} s (delegation.child_timeout_seconds).${said}` }
}

function endedResult(subagent: SubagentResult): AgentResult {
  const { summary: text, status } = subagent
  const message = { role: 'assistant', content: text } as const
  return { text, message, usage: noUsage, iterations: 0, finishReason: status, subagent }
}

/** Records what a sub-agent does, for its parent, for plugins and for people. */
function watchProgress({ journal, listener, transcript, turnStart }: AgentTurnInput) {
  const messages: ChatMessage[] = []
  const toolCalls: SubagentToolCall[] = []
  const tools = new Map<string, string>()
  let usage: Usage = noUsage
  return {
    wrapped: {
      journal: {
        ...journal,
        async recordAssistantMessage(...[message, used, isFinal]: Parameters<typeof journal.recordAssistantMessage>) {
          await journal.recordAssistantMessage(message, used, isFinal)
          messages.push(message)
          usage = addUsage(usage, used)
        },
        async recordToolResult(
          ...[call, result, how, write, images, line]: Parameters<typeof journal.recordToolResult>
        ) {
          await journal.recordToolResult(call, result, how, write, images, line)
          const shown = images && { images }
          messages.push({ role: 'tool', toolCallId: call.id, name: call.name, content: result, ...shown })
        },
      },
      listener: {
        ...listener,
        onToolStart(call: ToolCall, label: string) {
          tools.set(call.id, call.name)
          listener.onToolStart(call, label)
        },
        onToolEnd(call: ToolCall, ok: boolean, summary: string) {
          tools.delete(call.id)
          toolCalls.push({ name: call.name, arguments: call.arguments, ok })
          listener.onToolEnd(call, ok, summary)
        },
      },
    },
    toolCalls,
    messages: () => inCallOrder(messages),
    tool: () => [...tools.values()].at(-1),
    usage: () => usage,
    lastText: () =>
      [...transcript.slice(turnStart), ...messages]
        .filter(({ role }) => role === 'assistant')
        .map(({ content }) => content)
        .findLast((text) => text.trim() !== '') ?? '',
  }
}

/** The results of a response follow it in the order of its calls, whichever call ended first. */
function inCallOrder(messages: readonly ChatMessage[]): ChatMessage[] {
  const results = new Map(
    messages.flatMap((message) => (message.role === 'tool' ? [[message.toolCallId, message] as const] : [])),
  )
  return messages.flatMap((message) => {
    if (message.role !== 'assistant') return []
    const answers = (message.toolCalls ?? []).flatMap(({ id }) => results.get(id) ?? [])
    return [message, ...answers]
  })
}
