/**
 * One turn of the agent, from the first hook of its session to the end that every turn has, in the order of the contract:
 * session start, context, the loop, the answer as plugins leave it, and the end.
 */
import { isHermesError, messageOf } from '../lib/errors.ts'
import { raceAbort } from '../lib/timers.ts'
import type { AssistantMessage, ToolCall, Usage } from '../message/transcript.ts'
import type { TurnEndInfo } from './agent-hooks.ts'
import { type CurrentTurnStore, createCurrentTurnStore } from './loop/current-turn.ts'
import { type LoopDeps, type LoopInput, type LoopResult, runAgentLoop } from './loop/loop.ts'
import { toOpenAiHistory } from './loop/openai-history.ts'
import { createSubagents, type RunAgentTurn } from './loop/subagents.ts'
import type { ToolContext } from './tools/tool.ts'

export type AgentDeps = LoopDeps

export interface AgentTurnInput extends LoopInput {
  /** As the person wrote it. */
  readonly userMessage: string
  readonly isFirstTurn: boolean
  /** A place of its own for the tools of a sub-agent; without it they share the one of the turn. */
  openSubagentWorkspace?(sessionId: string, turnId: string): SubagentWorkspace
  /** The system prompt of the session has just been made: its first turn has come this far for the first time. */
  readonly startsSession: boolean
}

export interface SubagentWorkspace {
  toolContextFor(call: ToolCall, signal: AbortSignal): ToolContext
  /** Ends what still runs there. */
  close(): Promise<void>
}

export interface AgentResult {
  /** What people get. */
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
  /** Rejects with `ModelError`, with what a guardrail or a plugin throws, with `store/fenced`, or with the signal's reason. */
  runTurn(run: AgentTurnInput): Promise<AgentResult>
  /** The turn in which the caller is called; undefined outside of turns. */
  currentTurn: CurrentTurnStore['current']
}

export function createAgent(deps: AgentDeps): Agent {
  const turns = createCurrentTurnStore(deps.middleware)
  const runInCurrentTurn = (own: AgentDeps, run: AgentTurnInput) => {
    const { turn, tools, signal, toolContextFor } = run
    turns.enter({ turn, tools, approve: own.approve, signal, toolContextFor })
    return runAgentTurn(own, run)
  }
  return {
    currentTurn: turns.current,
    runTurn(run) {
      const { sessionId, turnId, taskId, platform, route } = run.turn
      const session = { session_id: sessionId, platform, route }
      // A lane begins in a fresh root: whatever called it is no part of the conversation.
      return deps.middleware.scope({ parent: null, type: 'agent', name: 'session', metadata: session }, () =>
        deps.middleware.scope(
          { type: 'agent', name: 'turn', metadata: { ...session, turn_id: turnId, task_id: taskId } },
          () => runInCurrentTurn(deps, withSubagents(deps, run, runInCurrentTurn)),
        ),
      )
    },
  }
}

function withSubagents(deps: AgentDeps, run: AgentTurnInput, runAgentTurn: RunAgentTurn): AgentTurnInput {
  const { delegateFor, takeSubagentUsage } = createSubagents(deps, run, runAgentTurn)
  return {
    ...run,
    takeSubagentUsage,
    toolContextFor: (call) => ({ ...run.toolContextFor(call), delegate: delegateFor(call) }),
  }
}

/** From the first to the last hook, within the current scope. */
async function runAgentTurn(deps: AgentDeps, run: AgentTurnInput): Promise<AgentResult> {
  const { agentHooks } = deps
  const { turn, userMessage, signal, transcript } = run
  let exit: TurnEndInfo | undefined
  try {
    if (run.startsSession) await raceAbort(agentHooks.onSessionStart(turn), signal)
    const about = { userMessage, isFirstTurn: run.isFirstTurn, history: () => toOpenAiHistory(transcript) }
    const context = await raceAbort(agentHooks.collectContext(turn, about), signal)
    const { messages, ...looped } = await runAgentLoop(deps, run, context)
    const result = await transformOutput(deps, run, looped)
    const { text, message } = result
    if (text !== '') {
      const history = () => toOpenAiHistory([...messages, message])
      await raceAbort(agentHooks.onTurnResponse(turn, { userMessage, response: text, history }), signal)
    }
    exit = { completed: text !== '', failed: false, interrupted: false, reason: result.finishReason }
    return result
  } catch (error) {
    exit = toTurnEndInfo(error, signal)
    throw error
  } finally {
    if (exit !== undefined) await agentHooks.onTurnEnd(turn, exit)
  }
}

/** `transform_llm_output` gets the whole text of the turn; what comes of it is what is stored and what people see. */
async function transformOutput(
  { agentHooks }: AgentDeps,
  { turn, signal }: AgentTurnInput,
  result: Omit<LoopResult, 'messages'>,
): Promise<AgentResult> {
  const { text, message } = result
  if (text === '') return result
  const changed = await raceAbort(agentHooks.transformOutput(turn, text), signal)
  if (changed === text) return result
  // What was said before the last tools is in the transcript already; where it was left alone it is not stored twice.
  const before = text.slice(0, text.length - message.content.length)
  const content = changed.startsWith(before) ? changed.slice(before.length) : changed
  // The vendor's own items hold the words as they were.
  const { providerData: _providerData, ...plain } = message
  return { ...result, text: changed, message: { ...plain, content } }
}

function toTurnEndInfo(error: unknown, signal: AbortSignal): TurnEndInfo {
  if (signal.aborted) return { completed: false, failed: false, interrupted: true, reason: 'interrupted' }
  if (isHermesError(error, 'store/fenced'))
    return { completed: false, failed: false, interrupted: true, reason: 'overtaken' }
  return { completed: false, failed: true, interrupted: false, reason: `error: ${messageOf(error)}` }
}
