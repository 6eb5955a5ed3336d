/**
 * One tool call on its whole way (design, "Managed calls"): what plugins may rewrite, refuse, wrap and watch, with the
 * tool itself in the middle. Every failure becomes a result that the model reads.
 */
import type { Logger } from '../lib/log.ts'
import type { ToolCall } from '../message/transcript.ts'
import type { Middleware, Trace } from '../middleware/contract.ts'
import type { AgentWatcher, Journal } from './journal.ts'
import type { AgentPoints, ToolFacts, TurnFacts } from './points.ts'
import type { JsonObject } from './provider.ts'
import type { ToolContext } from './tool.ts'
import { type ApproveTool, unattended } from './tool-approval.ts'
import type { PreparedCall, ToolBox } from './tool-batch.ts'
import { type Ended, failure, OutcomeUnknown, Refused, returned, unknown } from './tool-ending.ts'
import { decodeArguments } from './tools/support/arguments.ts'

export interface ToolDeps {
  readonly turn: TurnFacts
  /** Of the model call that asked for the tool; '' when an earlier life made it. */
  readonly apiRequestId: string
  /** An earlier life of this turn may have begun the call. */
  readonly resumed: boolean
  readonly tools: ToolBox
  readonly middleware: Middleware
  readonly points: AgentPoints
  readonly approve: ApproveTool
  /** Why a guardrail refused; null for any other error. */
  refusal(error: unknown): string | null
  readonly journal: Journal
  readonly watcher: AgentWatcher
  readonly log: Logger
  /** ms */
  readonly clock: () => number
  contextFor(call: ToolCall): ToolContext
  /** Named points for crash tests; does nothing in production. */
  probe(point: string): void
}

export interface ToolOutcome {
  /** What the model reads. */
  readonly result: string
  /** `interrupted`: an earlier life began it, and what came of it is not known. */
  readonly how: 'done' | 'interrupted'
  readonly ok: boolean
  /** For people who watch. */
  readonly summary: string
}

/** Rejects with what the journal rejects with, or with the signal's reason when it aborted before the tool began. */
export async function runManagedTool(deps: ToolDeps, call: ToolCall, signal: AbortSignal): Promise<ToolOutcome> {
  const { points, turn, apiRequestId } = deps
  const facts = { turn, toolName: call.name, toolCallId: call.id, apiRequestId }
  const run = createRun(call)
  const ending = await endingOf(deps, run, facts, signal)
  await points.afterTool(facts, run.args, run.trace, ending)
  const { status, interrupted } = ending
  // What is not known must stay labelled, whatever a plugin would like to read there.
  const shown = interrupted ? ending.result : await points.transformResult(facts, run.args, ending)
  const result = shown === ending.result ? shown : deps.tools.presentable(shown)
  const summary = ending.refusal ?? result
  return { result, how: interrupted ? 'interrupted' : 'done', ok: status === 'ok', summary }
}

type Ready = Extract<PreparedCall, { kind: 'ready' }>

/** How far a call has come. */
interface Run {
  readonly call: ToolCall
  /** What the model asked for, as JSON has it. */
  given: JsonObject | undefined
  /** The arguments as they are in force at this point. */
  args: JsonObject
  trace: Trace
  /** A person was asked and said yes. */
  isAllowed: boolean
  /** What the journal has been told of. */
  begun: { readonly ready: Ready; readonly args: JsonObject; readonly at: number } | undefined
  /** The journal refused: the turn must end, whatever a plugin makes of the error. */
  fault: { readonly error: unknown } | undefined
  /** What the tool itself returned. */
  own: string | undefined
}

function createRun(call: ToolCall): Run {
  return {
    call,
    given: undefined,
    args: {},
    trace: [],
    isAllowed: false,
    begun: undefined,
    fault: undefined,
    own: undefined,
  }
}

async function endingOf(deps: ToolDeps, run: Run, facts: ToolFacts, signal: AbortSignal): Promise<Ended> {
  const { call } = run
  const { tools, middleware } = deps
  const first = tools.prepare(call)
  const given = first.kind === 'ready' ? first.given : decoded(call)
  run.given = given
  run.args = given ?? {}
  // Neither a plugin nor a person is asked about a call that will not be run.
  if (deps.resumed && (await deps.journal.wasBegun(call))) return unknown()
  const check: Check = (args, by) =>
    checked(args === given ? first : tools.prepare({ name: call.name, arguments: args }), by)
  try {
    if (given === undefined)
      throw new Refused('error', 'invalid_arguments', first.kind === 'invalid' ? first.error : '')
    const value: unknown = await middleware.tool<JsonObject, unknown>({
      toolName: call.name,
      toolCallId: call.id,
      args: given,
      signal,
      fields: () => fieldsOf(facts),
      policy: (args, trace) => policy(deps, run, facts, { args, trace, check }, signal),
      handler: (args, until) => runTool(deps, run, { args, check }, until),
    })
    if (run.fault !== undefined) throw run.fault.error
    return returned(value, run.own, durationOf(deps, run), tools.presentable)
  } catch (error) {
    if (run.fault !== undefined) throw run.fault.error
    if (signal.aborted && run.begun === undefined) throw signal.reason
    // A wrapper that does not notice the stop must not hide what the tool did.
    if (signal.aborted && run.own !== undefined)
      return returned(run.own, run.own, durationOf(deps, run), tools.presentable)
    return failed(deps, run, error)
  }
}

type Check = (args: JsonObject, by: () => string) => Ready

interface Effective {
  readonly args: JsonObject
  readonly check: Check
}

/** Step 4, on the effective arguments; afterwards the journal knows of the call, and nothing but its chain lies before it. */
async function policy(
  deps: ToolDeps,
  run: Run,
  facts: ToolFacts,
  { args: given, trace, check }: Effective & { readonly trace: Trace },
  signal: AbortSignal,
): Promise<JsonObject> {
  run.args = given
  run.trace = trace
  let ready = check(given, () => namesIn(trace))
  const directive = await deps.points.beforeTool(facts, given, trace)
  if (directive.kind === 'block') throw new Refused('blocked', 'blocked', directive.message)
  const { args } = directive
  if (args !== given) {
    run.args = args
    ready = check(args, () => 'a plugin (pre_tool_call)')
  }
  if (directive.kind === 'approve') {
    const { message, ruleKey } = directive
    const request = { facts, args, message, ruleKey }
    const attended = facts.turn.taskId === facts.turn.sessionId
    const answer = attended ? await deps.approve(request, signal) : { deny: unattended(request) }
    if (answer !== 'allow') throw new Refused('blocked', 'not_approved', answer.deny)
    run.isAllowed = true
  }
  signal.throwIfAborted()
  await begin(deps, run, args, ready)
  deps.probe('tool:started')
  deps.watcher.toolStarted(run.call, ready.label)
  return args
}

async function begin(deps: ToolDeps, run: Run, args: JsonObject, ready: Ready): Promise<void> {
  const { call } = run
  const effective = args === run.given ? call : { ...call, arguments: JSON.stringify(args) }
  let answer: 'run' | 'unknown'
  try {
    answer = await deps.journal.toolStarted(effective, ready.mode)
  } catch (error) {
    run.fault = { error }
    throw error
  }
  if (answer === 'unknown') throw new OutcomeUnknown()
  run.begun = { ready, args, at: deps.clock() }
}

async function runTool(deps: ToolDeps, run: Run, { args, check }: Effective, signal: AbortSignal): Promise<string> {
  signal.throwIfAborted()
  if (run.begun === undefined) throw new Error('a tool was about to run before anybody knew of it')
  let { ready } = run.begun
  if (args !== run.begun.args) {
    ready = check(args, () => 'a plugin that wraps the tool')
    // Nobody is asked twice: whoever wraps tools may put in what people are not to see, such as a password.
    if (run.isAllowed && JSON.stringify(args) !== JSON.stringify(run.begun.args))
      deps.log.info({ tool: run.call.name }, 'a plugin that wraps the tool has changed what a person had allowed')
    // A wrapper may turn a harmless call into one with an effect: the journal has to know that first.
    if (ready.mode === 'effect' && run.begun.ready.mode !== 'effect') await begin(deps, run, args, ready)
  }
  const context = deps.contextFor(run.call)
  run.own = await ready.run(context.signal === signal ? context : { ...context, signal })
  return run.own
}

/** The arguments as they are, for plugins; undefined where there is nothing that could be handed around. */
function decoded({ name, arguments: text }: ToolCall): JsonObject | undefined {
  const found = decodeArguments(name, text)
  return found.ok ? found.value : undefined
}

function checked(prepared: PreparedCall, by: () => string): Ready {
  if (prepared.kind === 'ready') return prepared
  const who = by()
  const blame = who === '' ? '' : ` The arguments are not as you sent them: ${who} had changed them.`
  throw new Refused('error', 'invalid_arguments', `${prepared.error}${blame}`)
}

function namesIn(trace: Trace): string {
  return trace.map(({ source, name }) => source ?? name ?? 'a plugin').join(', ')
}

function failed(deps: ToolDeps, run: Run, error: unknown): Ended {
  const reason = deps.refusal(error)
  if (reason !== null) return new Refused('blocked', 'guardrail_rejected', reason).ending
  if (error instanceof Refused) return error.ending
  if (error instanceof OutcomeUnknown) return unknown()
  const isDone = run.own !== undefined && run.begun?.ready.mode === 'effect'
  const ending = failure(error, deps.middleware.culprit(error), isDone, durationOf(deps, run))
  deps.log.warn({ tool: run.call.name, error }, `a tool failed: ${ending.errorMessage}`)
  return ending
}

function durationOf({ clock }: ToolDeps, { begun }: Run): number {
  return begun === undefined ? 0 : clock() - begun.at
}

function fieldsOf({ turn, toolName, toolCallId, apiRequestId }: ToolFacts): JsonObject {
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
