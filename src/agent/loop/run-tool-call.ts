/**
 * One tool call on its whole way (design, "Managed calls"): what plugins may rewrite, refuse, wrap and watch, with the
 * tool itself in the middle. Every failure becomes a result that the model reads.
 */
import type { Logger } from '../../lib/log.ts'
import type { ToolCall } from '../../message/transcript.ts'
import type { Middleware, RewriteTrace } from '../../middleware/contract.ts'
import type { AgentHooks, ToolInfo, TurnInfo } from '../agent-hooks.ts'
import type { JsonObject } from '../models/provider.ts'
import { decodeArguments } from '../tools/support/parse-arguments.ts'
import type { ToolContext } from '../tools/tool.ts'
import type { Journal, ProgressListener } from './journal.ts'
import { type ApproveTool, unattendedDenial } from './tool-approval.ts'
import type { AgentTools, PreparedToolCall } from './tool-batch.ts'
import {
  type ExecutedToolResult,
  failedResult,
  OutcomeUnknownError,
  ToolRejected,
  toExecutedResult,
  unknownOutcome,
} from './tool-result.ts'

export interface ToolCallDeps {
  readonly turn: TurnInfo
  /** Of the model call that asked for the tool; '' when an earlier life made it. */
  readonly apiRequestId: string
  /** An earlier life of this turn may have begun the call. */
  readonly resumed: boolean
  readonly tools: AgentTools
  readonly middleware: Middleware
  readonly agentHooks: AgentHooks
  readonly approve: ApproveTool
  /** Why a guardrail refused; null for any other error. */
  rejectionReason(error: unknown): string | null
  readonly journal: Journal
  readonly listener: ProgressListener
  readonly log: Logger
  /** ms */
  readonly clock: () => number
  toolContextFor(call: ToolCall): ToolContext
  /** Named points for crash tests; does nothing in production. */
  failpoint(point: string): void
}

export interface ToolCallResult {
  /** What the model reads. */
  readonly result: string
  /** `interrupted`: an earlier life began it, and what came of it is not known. */
  readonly status: 'done' | 'interrupted'
  readonly ok: boolean
  /** For people who watch. */
  readonly summary: string
}

/** Rejects with what the journal rejects with, or with the signal's reason when it aborted before the tool began. */
export async function runToolCall(deps: ToolCallDeps, call: ToolCall, signal: AbortSignal): Promise<ToolCallResult> {
  const { agentHooks, turn, apiRequestId } = deps
  const info = { turn, toolName: call.name, toolCallId: call.id, apiRequestId }
  const state = createToolCallState(call)
  const executed = await executeToolCall(deps, state, info, signal)
  await agentHooks.afterToolCall(info, state.args, state.trace, executed)
  const { status, interrupted } = executed
  // What is not known must stay labelled, whatever a plugin would like to read there.
  const shown = interrupted ? executed.result : await agentHooks.transformToolResult(info, state.args, executed)
  const result = shown === executed.result ? shown : deps.tools.sanitizeForModel(shown)
  const summary = executed.rejectionReason ?? result
  return { result, status: interrupted ? 'interrupted' : 'done', ok: status === 'ok', summary }
}

type ReadyCall = Extract<PreparedToolCall, { kind: 'ready' }>

/** How far a call has come. */
interface ToolCallState {
  readonly call: ToolCall
  /** What the model asked for, as JSON has it. */
  modelArgs: JsonObject | undefined
  /** The arguments as they are in force at this point. */
  args: JsonObject
  trace: RewriteTrace
  /** A person was asked and said yes. */
  isApproved: boolean
  /** What the journal has been told of. */
  started: { readonly ready: ReadyCall; readonly args: JsonObject; readonly at: number } | undefined
  /** The journal refused: the turn must end, whatever a plugin makes of the error. */
  journalFailure: { readonly error: unknown } | undefined
  /** What the tool itself returned. */
  toolOutput: string | undefined
}

function createToolCallState(call: ToolCall): ToolCallState {
  return {
    call,
    modelArgs: undefined,
    args: {},
    trace: [],
    isApproved: false,
    started: undefined,
    journalFailure: undefined,
    toolOutput: undefined,
  }
}

async function executeToolCall(
  deps: ToolCallDeps,
  state: ToolCallState,
  info: ToolInfo,
  signal: AbortSignal,
): Promise<ExecutedToolResult> {
  const { call } = state
  const { tools, middleware } = deps
  const first = tools.prepare(call)
  const given = first.kind === 'ready' ? first.jsonArguments : decodeModelArguments(call)
  state.modelArgs = given
  state.args = given ?? {}
  // Neither a plugin nor a person is asked about a call that will not be run.
  if (deps.resumed && (await deps.journal.wasStarted(call))) return unknownOutcome()
  const check: CheckArguments = (args, by) =>
    requireReady(args === given ? first : tools.prepare({ name: call.name, arguments: args }), by)
  try {
    if (given === undefined)
      throw new ToolRejected('error', 'invalid_arguments', first.kind === 'invalid' ? first.error : '')
    const value: unknown = await middleware.tool<JsonObject, unknown>({
      toolName: call.name,
      toolCallId: call.id,
      args: given,
      signal,
      fields: () => eventFields(info),
      policy: (args, trace) => applyPolicy(deps, state, info, { args, trace, check }, signal),
      handler: (args, until) => invokeTool(deps, state, { args, check }, until),
    })
    if (state.journalFailure !== undefined) throw state.journalFailure.error
    return toExecutedResult(value, state.toolOutput, durationOf(deps, state), tools.sanitizeForModel)
  } catch (error) {
    if (state.journalFailure !== undefined) throw state.journalFailure.error
    if (signal.aborted && state.started === undefined) throw signal.reason
    // A wrapper that does not notice the stop must not hide what the tool did.
    if (signal.aborted && state.toolOutput !== undefined)
      return toExecutedResult(state.toolOutput, state.toolOutput, durationOf(deps, state), tools.sanitizeForModel)
    return toFailedResult(deps, state, error)
  }
}

type CheckArguments = (args: JsonObject, by: () => string) => ReadyCall

interface EffectiveArguments {
  readonly args: JsonObject
  readonly check: CheckArguments
}

/** Step 4, on the effective arguments; afterwards the journal knows of the call, and nothing but its chain lies before it. */
async function applyPolicy(
  deps: ToolCallDeps,
  state: ToolCallState,
  info: ToolInfo,
  { args: given, trace, check }: EffectiveArguments & { readonly trace: RewriteTrace },
  signal: AbortSignal,
): Promise<JsonObject> {
  state.args = given
  state.trace = trace
  let ready = check(given, () => rewriterNames(trace))
  const directive = await deps.agentHooks.beforeToolCall(info, given, trace)
  if (directive.kind === 'block') throw new ToolRejected('blocked', 'blocked', directive.message)
  const { args } = directive
  if (args !== given) {
    state.args = args
    ready = check(args, () => 'a plugin (pre_tool_call)')
  }
  if (directive.kind === 'approve') {
    const { message, ruleKey } = directive
    const request = { info: info, args, message, ruleKey }
    const attended = info.turn.taskId === info.turn.sessionId
    const answer = attended ? await deps.approve(request, signal) : { deny: unattendedDenial(request) }
    if (answer !== 'allow') throw new ToolRejected('blocked', 'not_approved', answer.deny)
    state.isApproved = true
  }
  signal.throwIfAborted()
  await recordStart(deps, state, args, ready)
  deps.failpoint('tool:started')
  deps.listener.onToolStart(state.call, ready.label)
  return args
}

async function recordStart(
  deps: ToolCallDeps,
  state: ToolCallState,
  args: JsonObject,
  ready: ReadyCall,
): Promise<void> {
  const { call } = state
  const effective = args === state.modelArgs ? call : { ...call, arguments: JSON.stringify(args) }
  let decision: 'run' | 'unknown'
  try {
    decision = await deps.journal.recordToolStart(effective, ready.mode)
  } catch (error) {
    state.journalFailure = { error }
    throw error
  }
  if (decision === 'unknown') throw new OutcomeUnknownError()
  state.started = { ready, args, at: deps.clock() }
}

async function invokeTool(
  deps: ToolCallDeps,
  state: ToolCallState,
  { args, check }: EffectiveArguments,
  signal: AbortSignal,
): Promise<string> {
  signal.throwIfAborted()
  if (state.started === undefined) throw new Error('a tool was about to run before anybody knew of it')
  let { ready } = state.started
  if (args !== state.started.args) {
    ready = check(args, () => 'a plugin that wraps the tool')
    // Nobody is asked twice: whoever wraps tools may put in what people are not to see, such as a password.
    if (state.isApproved && JSON.stringify(args) !== JSON.stringify(state.started.args))
      deps.log.info({ tool: state.call.name }, 'a plugin that wraps the tool has changed what a person had allowed')
    // A wrapper may turn a harmless call into one with an effect: the journal has to know that first.
    if (ready.mode === 'effect' && state.started.ready.mode !== 'effect') await recordStart(deps, state, args, ready)
  }
  const context = deps.toolContextFor(state.call)
  state.toolOutput = await ready.run(context.signal === signal ? context : { ...context, signal })
  return state.toolOutput
}

/** The arguments as they are, for plugins; undefined where there is nothing that could be handed around. */
function decodeModelArguments({ name, arguments: text }: ToolCall): JsonObject | undefined {
  const found = decodeArguments(name, text)
  return found.ok ? found.value : undefined
}

function requireReady(prepared: PreparedToolCall, by: () => string): ReadyCall {
  if (prepared.kind === 'ready') return prepared
  const who = by()
  const notice = who === '' ? '' : ` The arguments are not as you sent them: ${who} had changed them.`
  throw new ToolRejected('error', 'invalid_arguments', `${prepared.error}${notice}`)
}

function rewriterNames(trace: RewriteTrace): string {
  return trace.map(({ source, name }) => source ?? name ?? 'a plugin').join(', ')
}

function toFailedResult(deps: ToolCallDeps, state: ToolCallState, error: unknown): ExecutedToolResult {
  const reason = deps.rejectionReason(error)
  if (reason !== null) return new ToolRejected('blocked', 'guardrail_rejected', reason).result
  if (error instanceof ToolRejected) return error.result
  if (error instanceof OutcomeUnknownError) return unknownOutcome()
  const isDone = state.toolOutput !== undefined && state.started?.ready.mode === 'effect'
  const ending = failedResult(error, deps.middleware.errorOrigin(error), isDone, durationOf(deps, state))
  deps.log.warn({ tool: state.call.name, error }, `a tool failed: ${ending.errorMessage}`)
  return ending
}

function durationOf({ clock }: ToolCallDeps, { started }: ToolCallState): number {
  return started === undefined ? 0 : clock() - started.at
}

function eventFields({ turn, toolName, toolCallId, apiRequestId }: ToolInfo): JsonObject {
  return {
    session_id: turn.sessionId,
    task_id: turn.taskId,
    turn_id: turn.turnId,
    api_request_id: apiRequestId,
    tool_name: toolName,
    tool_call_id: toolCallId,
    platform: turn.platform,
    route: turn.route,
  }
}
