/**
 * Runs one turn of the agent, from the first to the last hook: session start, context, loop, output, turn end.
 */
import { isHermesError, messageOf } from '../lib/errors.ts'
import { raceAbort } from '../lib/timers.ts'
import { noUsage, type ToolCall } from '../message/transcript.ts'
import type { Scope } from '../middleware/contract.ts'
import type { Middleware } from '../middleware/managed-call.ts'
import type { AgentTools } from './loop/agent-tools.ts'
import type { AgentResult, AgentTurnInput, AttachSubagents, RunAgentTurn } from './loop/agent-turn.ts'
import type { AgentDeps } from './loop/loop.ts'
import { runAgentLoop } from './loop/loop.ts'
import { toOpenAiHistory } from './loop/openai-history.ts'
import type { Subagents } from './loop/subagents.ts'
import type { ApproveTool } from './loop/tool-approval.ts'
import type { TurnEndInfo, TurnInfo } from './support/agent-hooks.ts'
import type { ToolContext } from './tools/tool.ts'

export interface Agent {
  /** Rejects with `ModelError`, with errors of guardrails and plugins, with `store/fenced`, or with the signal's reason. */
  runTurn(input: AgentTurnInput): Promise<AgentResult>
  /** The turn within which the caller runs; undefined outside of turns and after the end of the turn. */
  currentTurn(): CurrentTurn | undefined
}

/** A request that a plugin makes within a turn uses the tools, the approvals and the signal of that turn. */
export interface CurrentTurn {
  readonly turn: TurnInfo
  readonly tools: AgentTools
  readonly approve: ApproveTool
  readonly signal: AbortSignal
  toolContextFor(call: ToolCall): ToolContext
}

export function createAgent(deps: AgentDeps): Agent {
  const { middleware } = deps
  const turns = new WeakMap<Scope, CurrentTurn>()
  const runInScope: RunAgentTurn = (turnDeps, input) => {
    const { turn, tools, signal, toolContextFor } = input
    turns.set(middleware.currentScope(), { turn, tools, approve: turnDeps.approve, signal, toolContextFor })
    return runAgentTurn(turnDeps, input)
  }
  const run: RunAgentTurn = async (turnDeps, input) => {
    if (input.subagent === undefined) return await runInScope(turnDeps, input)
    return await (await import('./loop/run-subagent.ts')).runSubagent(turnDeps, input, runInScope)
  }
  const attach: AttachSubagents = (turnDeps, input) => withSubagents(turnDeps, input, { run, attach })
  return {
    currentTurn: () => findCurrentTurn(middleware, turns),
    runTurn(input) {
      const { sessionId, turnId, taskId, platform, route } = input.turn
      const session = { session_id: sessionId, platform, route }
      const metadata = { session_id: sessionId, platform, route, turn_id: turnId, task_id: taskId }
      // The session is a root scope: the scope of the caller does not belong to the conversation.
      return middleware.scope({ parent: null, type: 'agent', name: 'session', metadata: session }, () =>
        middleware.scope({ type: 'agent', name: 'turn', metadata }, () =>
          runReporting(input.onUnreportedUsage, attach(deps, input), (attached) => run(deps, attached)),
        ),
      )
    },
  }
}

/** A turn that is stopped has no further response with which the usage of its sub-agents is stored. */
async function runReporting(
  report: AgentTurnInput['onUnreportedUsage'],
  input: AgentTurnInput,
  run: (input: AgentTurnInput) => Promise<AgentResult>,
): Promise<AgentResult> {
  try {
    return await run(input)
  } catch (error) {
    report?.(input.takeSubagentUsage?.() ?? noUsage)
    throw error
  }
}

/** The innermost turn around the current scope. */
function findCurrentTurn({ currentScope }: Middleware, turns: WeakMap<Scope, CurrentTurn>): CurrentTurn | undefined {
  for (let scope: Scope | undefined = currentScope(); scope !== undefined; scope = scope.parent) {
    const turn = turns.get(scope)
    if (turn !== undefined) return scope.closed ? undefined : turn
  }
  return undefined
}

/** Sub-agents are loaded with the first tool call that delegates. */
function withSubagents(
  deps: AgentDeps,
  input: AgentTurnInput,
  runners: { readonly run: RunAgentTurn; readonly attach: AttachSubagents },
): AgentTurnInput {
  let subagents: Subagents | undefined
  const load = async () => {
    const { createSubagents } = await import('./loop/subagents.ts')
    subagents ??= createSubagents(deps, input, runners)
    return subagents
  }
  return {
    ...input,
    takeSubagentUsage: () => subagents?.takeUsage() ?? noUsage,
    toolContextFor(call) {
      const context = input.toolContextFor(call)
      const delegating = { call, ...context.conversation }
      return {
        ...context,
        subagents: {
          delegate: async (tasks, signal) => (await load()).delegate(delegating, tasks, signal),
          delegateInBackground: async (tasks) => (await load()).start(delegating, tasks),
        },
      }
    },
  }
}

async function runAgentTurn(deps: AgentDeps, input: AgentTurnInput): Promise<AgentResult> {
  const { agentHooks } = deps
  const { turn, userMessage, signal, transcript } = input
  let end: TurnEndInfo | undefined
  try {
    if (input.startsSession) await raceAbort(agentHooks.onSessionStart(turn), signal)
    const start = { userMessage, isFirstTurn: input.isFirstTurn, history: () => toOpenAiHistory(transcript) }
    const context = await raceAbort(agentHooks.collectContext(turn, start), signal)
    const { messages, ...loopResult } = await runAgentLoop(deps, input, context)
    const result = await transformOutput(deps, input, loopResult)
    const { text, message } = result
    if (text !== '') {
      const history = () => toOpenAiHistory([...messages, message])
      await raceAbort(agentHooks.onTurnResponse(turn, { userMessage, response: text, history }), signal)
    }
    end = { completed: text !== '', failed: false, interrupted: false, reason: result.finishReason }
    return result
  } catch (error) {
    end = toTurnEndInfo(error, signal)
    throw error
  } finally {
    if (end !== undefined) await agentHooks.onTurnEnd(turn, end)
  }
}

/** `transform_llm_output` gets the final answer of the turn. Its result is stored and sent. */
async function transformOutput(
  { agentHooks }: AgentDeps,
  { turn, signal }: AgentTurnInput,
  result: AgentResult,
): Promise<AgentResult> {
  const { text, message } = result
  if (text === '') return result
  const changed = await raceAbort(agentHooks.transformOutput(turn, text), signal)
  if (changed === text) return result
  // The vendor's own items contain the text before the change, so they are removed.
  const { providerData: _providerData, ...plain } = message
  return { ...result, text: changed, message: { ...plain, content: changed } }
}

function toTurnEndInfo(error: unknown, signal: AbortSignal): TurnEndInfo {
  if (signal.aborted) return { completed: false, failed: false, interrupted: true, reason: 'interrupted' }
  if (isHermesError(error, 'store/fenced'))
    return { completed: false, failed: false, interrupted: true, reason: 'overtaken' }
  return { completed: false, failed: true, interrupted: false, reason: `error: ${messageOf(error)}` }
}
