/**
 * One managed tool call (design, "Managed calls"): plugins can rewrite, reject, wrap and observe it; the innermost step
 * runs the tool. Every failure becomes a result for the model.
 */
import { messageOf } from '../../lib/errors.ts'
import type { JsonObject } from '../../lib/json.ts'
import type { Logger } from '../../lib/log.ts'
import type { ImagePart, ToolCall } from '../../message/transcript.ts'
import { rejectionReasonOf } from '../../middleware/guardrail-rejected.ts'
import type { Middleware, RewriteTrace } from '../../middleware/managed-call.ts'
import { abandon } from '../../store/commit.ts'
import type { TransactionPart } from '../../store/query.ts'
import type { AgentHooks, ToolInfo, TurnInfo } from '../support/agent-hooks.ts'
import { decodeArguments } from '../support/parse-arguments.ts'
import {
  type ExecutedToolResult,
  failedResult,
  OutcomeUnknownError,
  summarizeResult,
  ToolRejected,
  toExecutedResult,
  unknownOutcome,
} from '../support/result-json.ts'
import type { ApprovalNeed, CallingLoop, ToolContext } from '../tools/tool.ts'
import type { AgentTools, PreparedToolCall } from './agent-tools.ts'
import type { Journal, ProgressListener } from './journal.ts'
import type { ApproveTool } from './tool-approval.ts'

export interface ToolCallDeps {
  readonly turn: TurnInfo
  /** The id of the model call that requested the tool; '' if the process that made it has ended. */
  readonly apiRequestId: string
  /** The call may have been started before a restart. */
  readonly resumed: boolean
  readonly tools: AgentTools
  readonly middleware: Middleware
  readonly agentHooks: AgentHooks
  readonly approve: ApproveTool
  readonly journal: Journal
  readonly listener: ProgressListener
  readonly log: Logger
  /** ms */
  readonly clock: () => number
  toolContextFor(call: ToolCall): ToolContext
  /** The model reads pictures in results. */
  readonly showsPictures?: boolean
  /** Named points at which crash tests kill the process; does nothing in production. */
  readonly failpoint?: ((point: string) => void) | undefined
}

export interface ToolCallResult {
  /** The text for the model. */
  readonly result: string
  /** `interrupted`: the call was started before a crash, and its outcome is unknown. */
  readonly status: 'done' | 'interrupted'
  readonly ok: boolean
  /** What the call worked on and what came of it, for people. Whole, and may hold secrets. */
  readonly label: string
  readonly summary: string
  /** Stored together with the result. */
  readonly write?: TransactionPart
  /** What the model is shown with the result. */
  readonly images?: readonly ImagePart[]
}

/** Rejects with the error of the journal, or with the signal's reason when it aborts before the tool starts. */
export async function runToolCall(deps: ToolCallDeps, call: ToolCall, signal: AbortSignal): Promise<ToolCallResult> {
  const { agentHooks, turn, apiRequestId } = deps
  const info = { turn, toolName: call.name, toolCallId: call.id, apiRequestId }
  const state = createToolCallState(call)
  const executed = await executeToolCall(deps, state, info, signal)
  await agentHooks.afterToolCall(info, state.args, state.trace, executed)
  const { status, interrupted } = executed
  // A plugin must not replace the text that says that the outcome is unknown.
  const transformed = interrupted ? executed.result : await agentHooks.transformToolResult(info, state.args, executed)
  const result = transformed === executed.result ? transformed : deps.tools.sanitizeForModel(transformed)
  const { ready } = state.started ?? {}
  const summary = executed.errorMessage ?? ready?.summarize(result) ?? summarizeResult(result)
  const label = ready?.label ?? ''
  const ok = status === 'ok'
  // The model is told that a failed call had no effect.
  const write = ok && state.write !== undefined ? { write: state.write } : {}
  const shown = ok && state.images.length > 0 ? { images: state.images } : {}
  return { result, status: interrupted ? 'interrupted' : 'done', ok, label, summary, ...write, ...shown }
}

type ReadyCall = Extract<PreparedToolCall, { kind: 'ready' }>

interface ToolCallState {
  readonly call: ToolCall
  /** The arguments that the model sent; undefined if they are not a JSON object. */
  modelArgs: JsonObject | undefined
  /** The effective arguments at this point. */
  args: JsonObject
  trace: RewriteTrace
  /** The approval that a plugin requires. */
  pluginNeed: ApprovalNeed | undefined
  /** The arguments with which the call is allowed, if it needs approval; compared as JSON text. */
  approvedArgs: JsonObject | undefined
  /** The start as recorded in the journal. */
  started: { readonly ready: ReadyCall; readonly args: JsonObject; readonly at: number } | undefined
  /** The journal rejected: the turn must end, even if a plugin handles the error. */
  journalFailure: { readonly error: unknown } | undefined
  /** What the tool itself returned. */
  toolOutput: string | undefined
  write: TransactionPart | undefined
  readonly images: ImagePart[]
}

function createToolCallState(call: ToolCall): ToolCallState {
  return {
    call,
    modelArgs: undefined,
    args: {},
    trace: [],
    pluginNeed: undefined,
    approvedArgs: undefined,
    started: undefined,
    journalFailure: undefined,
    toolOutput: undefined,
    write: undefined,
    images: [],
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
  const prepared = tools.prepare(call)
  const modelArgs = prepared.kind === 'ready' ? prepared.jsonArguments : decodeModelArguments(call)
  state.modelArgs = modelArgs
  state.args = modelArgs ?? {}
  // Checked first, so that neither plugins nor users decide about a call that will not run.
  if (deps.resumed && (await deps.journal.wasStarted(call))) return unknownOutcome()
  const check: CheckArguments = (args, changedBy) =>
    requireReady(args === modelArgs ? prepared : tools.prepare({ name: call.name, arguments: args }), changedBy)
  try {
    if (prepared.kind === 'refused') requireReady(prepared, () => '')
    if (modelArgs === undefined)
      throw new ToolRejected('error', 'invalid_arguments', prepared.kind === 'ready' ? '' : prepared.error)
    const value: unknown = await middleware.tool<JsonObject, unknown>({
      toolName: call.name,
      toolCallId: call.id,
      args: modelArgs,
      signal,
      fields: () => eventFields(info),
      policy: (args, trace) => applyPolicy(deps, state, info, { args, trace, check }, signal),
      handler: (args, until) => invokeTool(deps, state, info, { args, check }, until),
    })
    if (state.journalFailure !== undefined) throw state.journalFailure.error
    return toExecutedResult(value, state.toolOutput, durationOf(deps, state), tools.sanitizeForModel)
  } catch (error) {
    if (state.journalFailure !== undefined) throw state.journalFailure.error
    // A resumed turn repeats a call without an effect, so that its abort is no result.
    const isRepeatable = state.started === undefined || (isPure(state.started) && state.toolOutput === undefined)
    if (signal.aborted && isRepeatable) throw signal.reason
    // Middleware that ignores the abort must not hide the result of the tool.
    if (signal.aborted && state.toolOutput !== undefined)
      return toExecutedResult(state.toolOutput, state.toolOutput, durationOf(deps, state), tools.sanitizeForModel)
    return toFailedResult(deps, state, error)
  }
}

function isPure({ ready }: { readonly ready: ReadyCall }): boolean {
  return ready.mode === 'pure'
}

type CheckArguments = (args: JsonObject, changedBy: () => string) => ReadyCall

interface EffectiveArguments {
  readonly args: JsonObject
  readonly check: CheckArguments
}

/** Step 4 of a managed call: decides on the effective arguments and records the start in the journal. Only the execution chain follows. */
async function applyPolicy(
  deps: ToolCallDeps,
  state: ToolCallState,
  info: ToolInfo,
  { args: rewritten, trace, check }: EffectiveArguments & { readonly trace: RewriteTrace },
  signal: AbortSignal,
): Promise<JsonObject> {
  state.args = rewritten
  state.trace = trace
  let ready = check(rewritten, () => rewriterNames(trace))
  const directive = await deps.agentHooks.beforeToolCall(info, rewritten, trace)
  if (directive.kind === 'block') throw new ToolRejected('blocked', 'blocked', directive.message)
  const { args } = directive
  if (args !== rewritten) {
    state.args = args
    ready = check(args, () => 'a plugin (pre_tool_call)')
  }
  if (directive.kind === 'approve') {
    const { message: reason, ruleKey } = directive
    state.pluginNeed = { source: 'plugin', ruleKey, reason, place: '', remember: 'always' }
  }
  await requireApproval(deps, state, info, { args, ready }, signal)
  signal.throwIfAborted()
  await recordStart(deps, state, args, ready)
  deps.failpoint?.('tool:started')
  deps.listener.onToolStart(state.call, ready.label)
  return args
}

/** Asks a user, unless nothing requires it. Judged on the arguments with which the tool would run. */
async function requireApproval(
  { approve, toolContextFor }: ToolCallDeps,
  state: ToolCallState,
  info: ToolInfo,
  { args, ready }: { readonly args: JsonObject; readonly ready: ReadyCall },
  signal: AbortSignal,
): Promise<void> {
  // Awaited only when there is one: most calls need no approval.
  const given = ready.approval?.(toolContextFor(state.call))
  const toolNeed = given === undefined ? undefined : await given
  const needs = [state.pluginNeed, toolNeed].filter((need) => need !== undefined)
  if (needs.length === 0) return
  const { approvedArgs } = state
  const decision = await approve({ info, args, needs, ...(approvedArgs && { approvedArgs }) }, signal)
  if (decision !== 'allow') throw new ToolRejected('blocked', 'not_approved', decision.deny)
  state.approvedArgs = args
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
  info: ToolInfo,
  { args, check }: EffectiveArguments,
  signal: AbortSignal,
): Promise<string> {
  signal.throwIfAborted()
  if (state.started === undefined) throw new Error('tool call was executed before it was written to the journal')
  let { ready } = state.started
  if (args !== state.started.args) {
    ready = check(args, () => 'a plugin (tool_execution)')
    // An answer holds for the arguments that the user saw.
    if (JSON.stringify(args) !== JSON.stringify(state.started.args))
      await requireApproval(deps, state, info, { args, ready }, signal)
    // Middleware may change a call without an effect into one with an effect. The journal must record that first.
    if (ready.mode === 'effect' && state.started.ready.mode !== 'effect') await recordStart(deps, state, args, ready)
  }
  const { approvedArgs } = state
  const isApproved = approvedArgs !== undefined && JSON.stringify(approvedArgs) === JSON.stringify(args)
  const context = deps.toolContextFor(state.call)
  const writeWithResult = (write: TransactionPart) => {
    state.write = write
  }
  const showPicture = (image: ImagePart) => {
    state.images.push(image)
  }
  const callTool = createNestedCalls(deps, state.call)
  state.toolOutput = await ready.run({
    ...context,
    signal,
    loop: { writeWithResult, callTool, ...(deps.showsPictures === true && { showPicture }) },
    isApproved,
  })
  return state.toolOutput
}

/**
 * The calls that a tool makes itself. Each is a managed call with an id of its own. They are a part of the calling one, whose start
 * the journal has: after a crash its outcome is unknown, and none of them runs again.
 */
function createNestedCalls(deps: ToolCallDeps, outer: ToolCall): CallingLoop['callTool'] {
  let calls = 0
  return async (name, args, signal) => {
    calls += 1
    const call = { id: `${outer.id}.${calls}`, name, arguments: JSON.stringify(args) }
    try {
      const nested = { ...deps, resumed: false, journal: noopJournal }
      const { result, ok, summary, write } = await runToolCall(nested, call, signal)
      deps.listener.onToolEnd(call, ok, summary)
      // What belongs into the transaction of a result has no transaction here.
      if (write !== undefined) abandon(write)
      return result
    } catch (error) {
      deps.listener.onToolEnd(call, false, messageOf(error))
      throw error
    }
  }
}

/** For calls that belong to no message of a model. */
export const noopJournal: Journal = {
  recordAssistantMessage: async () => undefined,
  wasStarted: async () => false,
  recordToolStart: async () => 'run',
  recordToolResult: async () => undefined,
}

/** Arguments that are not valid for the tool but can be shown to plugins; undefined if they are not a JSON object. */
function decodeModelArguments({ name, arguments: text }: ToolCall): JsonObject | undefined {
  const decoded = decodeArguments(name, text)
  return decoded.ok ? decoded.value : undefined
}

/** @param changedBy names what changed the arguments; '' if nothing did */
function requireReady(prepared: PreparedToolCall, changedBy: () => string): ReadyCall {
  if (prepared.kind === 'ready') return prepared
  if (prepared.kind === 'refused') throw new ToolRejected('blocked', prepared.code, prepared.error)
  const name = changedBy()
  const notice = name === '' ? '' : ` These are not the arguments that you sent: ${name} changed them.`
  throw new ToolRejected('error', 'invalid_arguments', `${prepared.error}${notice}`)
}

function rewriterNames(trace: RewriteTrace): string {
  return trace.map(({ source, name }) => source ?? name ?? 'a plugin').join(', ')
}

function toFailedResult(deps: ToolCallDeps, state: ToolCallState, error: unknown): ExecutedToolResult {
  const reason = rejectionReasonOf(error)
  if (reason !== null) return new ToolRejected('blocked', 'guardrail_rejected', reason).result
  if (error instanceof ToolRejected) return error.result
  if (error instanceof OutcomeUnknownError) return unknownOutcome()
  const hadEffect = state.toolOutput !== undefined && state.started?.ready.mode === 'effect'
  const result = failedResult(error, deps.middleware.errorOrigin(error), hadEffect, durationOf(deps, state))
  deps.log.warn(
    { event: 'tool.failed', tool: state.call.name, call: state.call.id, err: error },
    `tool failed: ${result.errorMessage}`,
  )
  return result
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
