/**
 * A managed tool call, step by step (design, "Managed calls").
 */
import { isPending } from './awaiting.ts'
import type { Branch } from './branch.ts'
import { CallRun } from './call-run.ts'
import { carriedUnder } from './carried-under.ts'
import { carryOut } from './carry-out.ts'
import type { Fields, ManagedToolCall, ToolCallView, ToolExecutionPayload, ToolRequestPayload } from './contract.ts'
import { copyOf, sameData } from './copies.ts'
import { passGuardrails } from './guardrails.ts'
import { passRewriters } from './hermes-rewrites.ts'
import { toolExecutionPayload, toolRequestPayload } from './payloads.ts'
import { passIntercepts, readArgs } from './rewrites.ts'
import type { Room } from './room.ts'
import { payloadSanitizers } from './sanitize.ts'
import type { ScopeNode } from './scope.ts'
import type { Snapshot } from './snapshot.ts'
import { ToolView } from './views.ts'

export type AnyToolCall = ManagedToolCall<Fields, unknown>

/** Without anybody who looks: the arguments by reference, nothing around the handler. */
export function bareTool(call: AnyToolCall, signal: AbortSignal): Promise<unknown> {
  try {
    if (call.policy === undefined) return call.handler(call.args, signal)
    const allowed = call.policy(call.args, [])
    return isPending(allowed)
      ? Promise.resolve(allowed).then((args) => call.handler(args, signal))
      : call.handler(allowed, signal)
  } catch (error) {
    return Promise.reject(error)
  }
}

export function runTool(room: Room, call: AnyToolCall, scope: ScopeNode): Promise<unknown> {
  const run = new CallRun(room, 'tool', call.toolName, scope, call, call.args)
  return carriedUnder(
    run,
    call.signal,
    (root) => steps(run, call, root),
    () => run.atWork > 0,
  )
}

async function steps(run: CallRun, call: AnyToolCall, root: Branch): Promise<unknown> {
  const { scope } = run
  // Waiting for nothing costs a turn as well.
  if (scope.snapshot.guardrails.tool.length > 0) await guard(run, call, call.args)
  const args = rewrites(scope.snapshot) ? await rewritten(run, call) : call.args
  if (args !== call.args && scope.snapshot.guardrails.tool.length > 0) await guard(run, call, args)
  run.throwIfLeft()
  const allowed = call.policy === undefined ? args : await call.policy(args, run.trace)
  return execute(run, call, allowed, root)
}

function wraps({ intercepts, hermes }: Snapshot): boolean {
  return intercepts.tool_execution.length + hermes.tool_execution.length > 0
}

function guard(run: CallRun, call: AnyToolCall, args: Fields): Promise<void> {
  const entries = run.scope.snapshot.guardrails.tool
  return passGuardrails<ToolCallView>(
    run,
    entries,
    (scope) => new ToolView(run, scope, undefined, call.toolCallId, args),
  )
}

function rewrites({ intercepts, hermes }: Snapshot): boolean {
  return intercepts.tool_request.length + hermes.tool_request.length > 0
}

async function rewritten(run: CallRun, call: AnyToolCall): Promise<Fields> {
  const { scope } = run
  const { toolCallId } = call
  let args = call.args
  const intercepts = scope.snapshot.intercepts.tool_request
  if (intercepts.length > 0)
    args = await passIntercepts(run, intercepts, args, {
      point: 'tool_request',
      view: (value) => new ToolView(run, scope, undefined, toolCallId, value),
      read: readArgs,
    })
  const rewriters = scope.snapshot.hermes.tool_request
  if (rewriters.length > 0)
    args = await passRewriters<ToolRequestPayload>(run, rewriters, args, {
      key: 'args',
      kind: 'tool_request',
      payload: (value) => toolRequestPayload(run, scope, call, value),
    })
  return args
}

function execute(run: CallRun, call: AnyToolCall, allowed: Fields, root: Branch): Promise<unknown> {
  const { toolName, toolCallId } = call
  // What a wrapper does to its arguments must show when it hands them on, and must not reach what policy has allowed.
  const args = call.policy !== undefined && wraps(run.scope.snapshot) ? copyOf(allowed) : allowed
  const asAllowed = (value: Fields) => (value === args && sameData(args, allowed) ? allowed : value)
  const profile = { tool_call_id: toolCallId }
  return carryOut<ToolCallView, ToolExecutionPayload>(run, root, args, {
    point: 'tool_execution',
    attributes: [],
    marks: [],
    profile: () => profile,
    partial: () => null,
    around: ({ intercepts, hermes }) => ({ outer: intercepts.tool_execution, inner: hermes.tool_execution, more: 0 }),
    cleaners: ({ sanitizers }) => ({
      request: payloadSanitizers(sanitizers.tool_request, 'tool_request', { toolName }),
      response: payloadSanitizers(sanitizers.tool_response, 'tool_response', { toolName }),
    }),
    view: (value, scope, branch) => new ToolView(run, scope, branch, toolCallId, value),
    payload: (value, scope, { signal }, next) => toolExecutionPayload(run, scope, signal, call, value, next),
    async terminal(value, { signal }) {
      run.throwIfLeft()
      run.atWork += 1
      try {
        return await call.handler(asAllowed(value), signal)
      } catch (error) {
        run.room.culprits.met(error, undefined)
        throw error
      } finally {
        run.atWork -= 1
      }
    },
  })
}
