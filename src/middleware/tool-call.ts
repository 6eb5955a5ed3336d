/**
 * The stages of a managed tool call: guardrails, rewrites, policy, execution (design, "Managed calls").
 */

import { CallRun } from './call-run.ts'
import { buildToolExecutionPayload, buildToolRequestPayload, ToolView } from './callback-payloads.ts'
import type { AnyToolCall } from './calls.ts'
import type { CancellationScope } from './cancellation.ts'
import type { Fields, ToolCallView, ToolExecutionPayload, ToolRequestPayload } from './contract.ts'
import { deepCopy, deepEqual } from './copy.ts'
import { runGuardrails } from './guardrails.ts'
import { runPipeline } from './pipeline.ts'
import type { PipelineContext } from './pipeline-context.ts'
import { parseArgs, rewriteRequest } from './request-rewrites.ts'
import { bindPayloadSanitizers } from './sanitize.ts'
import type { ScopeNode } from './scope.ts'
import type { Snapshot } from './snapshot.ts'

type GuardrailEntries = Snapshot['guardrails']['tool']

export function runManagedTool(context: PipelineContext, call: AnyToolCall, scope: ScopeNode): Promise<unknown> {
  const run = new CallRun(context, 'tool', call.toolName, scope, call, call.args)
  return run.runStages(
    (root) => runSteps(run, call, root),
    () => run.activeHandlers > 0,
  )
}

/**
 * Runs a call that policy allowed before something was registered. Rewrites are left out, because they would change the
 * arguments that were allowed.
 */
export function runAllowedTool(context: PipelineContext, call: AnyToolCall, scope: ScopeNode): Promise<unknown> {
  const run = new CallRun(context, 'tool', call.toolName, scope, call, call.args)
  return run.runStages(
    async (root) => {
      await checkNewGuardrails(run, call, call.args, [])
      return execute(run, call, call.args, root)
    },
    () => run.activeHandlers > 0,
  )
}

async function runSteps(run: CallRun, call: AnyToolCall, root: CancellationScope): Promise<unknown> {
  const { scope } = run
  // Awaiting without need costs a microtask.
  if (scope.snapshot.guardrails.tool.length > 0) await checkGuardrails(run, call, call.args)
  const args = hasRewriters(scope.snapshot) ? await applyRewrites(run, call) : call.args
  if (args !== call.args && scope.snapshot.guardrails.tool.length > 0) await checkGuardrails(run, call, args)
  run.throwIfDetached()
  if (call.policy === undefined) return execute(run, call, args, root)
  const checked = scope.snapshot.guardrails.tool
  const allowed = await call.policy(args, run.trace)
  if (scope.snapshot.guardrails.tool !== checked) await checkNewGuardrails(run, call, allowed, checked)
  return execute(run, call, allowed, root)
}

/** Policy may wait for a user. A guardrail that was registered meanwhile applies to the same call. */
async function checkNewGuardrails(
  run: CallRun,
  call: AnyToolCall,
  args: Fields,
  checked: GuardrailEntries,
): Promise<void> {
  const added = run.scope.snapshot.guardrails.tool.filter((entry) => !checked.includes(entry))
  if (added.length > 0) await checkGuardrails(run, call, args, added)
}

function hasExecutionCallbacks({ intercepts, hermes }: Snapshot): boolean {
  return intercepts.tool_execution.length + hermes.tool_execution.length > 0
}

function checkGuardrails(
  run: CallRun,
  call: AnyToolCall,
  args: Fields,
  entries: GuardrailEntries = run.scope.snapshot.guardrails.tool,
): Promise<void> {
  return runGuardrails<ToolCallView>(
    run,
    entries,
    (scope) => new ToolView(run, scope, undefined, call.toolCallId, args),
  )
}

function hasRewriters({ intercepts, hermes }: Snapshot): boolean {
  return intercepts.tool_request.length + hermes.tool_request.length > 0
}

function applyRewrites(run: CallRun, call: AnyToolCall): Promise<Fields> {
  const { scope } = run
  return rewriteRequest<ToolCallView, Fields, ToolRequestPayload>(run, call.args, {
    point: 'tool_request',
    intercepts: ({ intercepts }) => intercepts.tool_request,
    view: (value) => new ToolView(run, scope, undefined, call.toolCallId, value),
    parse: parseArgs,
    key: 'args',
    kind: 'tool_request',
    rewriters: ({ hermes }) => hermes.tool_request,
    payload: (value) => buildToolRequestPayload(run, scope, call, value),
  })
}

function execute(run: CallRun, call: AnyToolCall, allowed: Fields, root: CancellationScope): Promise<unknown> {
  const { toolName, toolCallId } = call
  // A wrapper may change its arguments before it passes them on. It works on a copy, so that the arguments that policy
  // allowed stay unchanged.
  const args = call.policy !== undefined && hasExecutionCallbacks(run.scope.snapshot) ? deepCopy(allowed) : allowed
  const asAllowed = (value: Fields) => (value === args && deepEqual(args, allowed) ? allowed : value)
  const profile = { tool_call_id: toolCallId }
  return runPipeline<ToolCallView, ToolExecutionPayload>(run, root, args, {
    point: 'tool_execution',
    attributes: [],
    marks: [],
    profile: () => profile,
    partial: () => null,
    participants: ({ intercepts, hermes }) => ({
      outer: intercepts.tool_execution,
      inner: hermes.tool_execution,
      more: 0,
    }),
    sanitizers: ({ sanitizers }) => ({
      request: bindPayloadSanitizers(sanitizers.tool_request, 'tool_request', { toolName }),
      response: bindPayloadSanitizers(sanitizers.tool_response, 'tool_response', { toolName }),
    }),
    view: (value, scope, branch) => new ToolView(run, scope, branch, toolCallId, value),
    payload: (value, scope, { signal }, next) => buildToolExecutionPayload(run, scope, signal, call, value, next),
    async terminal(value, { signal }) {
      run.throwIfDetached()
      run.activeHandlers += 1
      try {
        return await call.handler(asAllowed(value), signal)
      } catch (error) {
        run.context.errorOrigins.record(error, undefined)
        throw error
      } finally {
        run.activeHandlers -= 1
      }
    },
  })
}
