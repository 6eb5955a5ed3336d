/**
 * One turn of the agent, from the first hook of its session to the end that every turn has, in the order of the contract:
 * session start, context, the loop, the answer as plugins leave it, and the end.
 */
import { isHermesError, messageOf } from '../lib/errors.ts'
import { orAborted } from '../lib/wait.ts'
import type { AssistantMessage, ToolCall, Usage } from '../message/transcript.ts'
import { historyOf } from './history.ts'
import { type LoopDeps, type LoopResult, type LoopRun, runLoop } from './loop.ts'
import type { TurnExit } from './points.ts'
import { type Converse, createSubagents } from './subagent.ts'
import type { ToolContext } from './tool.ts'
import { createTurnScopes, type TurnScopes } from './turn-scopes.ts'

export type AgentDeps = LoopDeps

export interface AgentRun extends LoopRun {
  /** As the person wrote it. */
  readonly userMessage: string
  readonly isFirstTurn: boolean
  /** A place of its own for the tools of a sub-agent; without it they share the one of the turn. */
  openPlace?(sessionId: string, turnId: string): SubagentPlace
  /** The system prompt of the session has just been made: its first turn has come this far for the first time. */
  readonly beginsSession: boolean
}

export interface SubagentPlace {
  contextFor(call: ToolCall, signal: AbortSignal): ToolContext
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
  run(run: AgentRun): Promise<AgentResult>
  /** The turn in which the caller is called; undefined outside of turns. */
  currentTurn: TurnScopes['current']
}

export function createAgent(deps: AgentDeps): Agent {
  const turns = createTurnScopes(deps.middleware)
  const converseHere = (own: AgentDeps, run: AgentRun) => {
    const { turn, tools, signal, contextFor } = run
    turns.begin({ turn, tools, approve: own.approve, signal, contextFor })
    return converse(own, run)
  }
  return {
    currentTurn: turns.current,
    run(run) {
      const { sessionId, turnId, taskId, platform, route } = run.turn
      const session = { session_id: sessionId, platform, route }
      // A lane begins in a fresh root: whatever called it is no part of the conversation.
      return deps.middleware.scope({ parent: null, type: 'agent', name: 'session', metadata: session }, () =>
        deps.middleware.scope(
          { type: 'agent', name: 'turn', metadata: { ...session, turn_id: turnId, task_id: taskId } },
          () => converseHere(deps, withSubagents(deps, run, converseHere)),
        ),
      )
    },
  }
}

function withSubagents(deps: AgentDeps, run: AgentRun, converse: Converse): AgentRun {
  const { delegateFor, takeSpent } = createSubagents(deps, run, converse)
  return {
    ...run,
    takeSpent,
    contextFor: (call) => ({ ...run.contextFor(call), delegate: delegateFor(call) }),
  }
}

/** From the first to the last hook, within the current scope. */
async function converse(deps: AgentDeps, run: AgentRun): Promise<AgentResult> {
  const { points } = deps
  const { turn, userMessage, signal, transcript } = run
  let exit: TurnExit | undefined
  try {
    if (run.beginsSession) await orAborted(points.sessionStarted(turn), signal)
    const about = { userMessage, isFirstTurn: run.isFirstTurn, history: () => historyOf(transcript) }
    const context = await orAborted(points.contextFor(turn, about), signal)
    const { messages, ...looped } = await runLoop(deps, run, context)
    const result = await asTransformed(deps, run, looped)
    const { text, message } = result
    if (text !== '') {
      const history = () => historyOf([...messages, message])
      await orAborted(points.answered(turn, { userMessage, response: text, history }), signal)
    }
    exit = { completed: text !== '', failed: false, interrupted: false, reason: result.finishReason }
    return result
  } catch (error) {
    exit = exitOf(error, signal)
    throw error
  } finally {
    if (exit !== undefined) await points.ended(turn, exit)
  }
}

/** `transform_llm_output` gets the whole text of the turn; what comes of it is what is stored and what people see. */
async function asTransformed(
  { points }: AgentDeps,
  { turn, signal }: AgentRun,
  result: Omit<LoopResult, 'messages'>,
): Promise<AgentResult> {
  const { text, message } = result
  if (text === '') return result
  const changed = await orAborted(points.transformAnswer(turn, text), signal)
  if (changed === text) return result
  // What was said before the last tools is in the transcript already; where it was left alone it is not stored twice.
  const before = text.slice(0, text.length - message.content.length)
  const content = changed.startsWith(before) ? changed.slice(before.length) : changed
  // The vendor's own items hold the words as they were.
  const { providerData: _words, ...plain } = message
  return { ...result, text: changed, message: { ...plain, content } }
}

function exitOf(error: unknown, signal: AbortSignal): TurnExit {
  if (signal.aborted) return { completed: false, failed: false, interrupted: true, reason: 'interrupted' }
  if (isHermesError(error, 'store/fenced'))
    return { completed: false, failed: false, interrupted: true, reason: 'overtaken' }
  return { completed: false, failed: true, interrupted: false, reason: `error: ${messageOf(error)}` }
}
