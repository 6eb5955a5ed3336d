/**
 * A managed model call, step by step (design, "Managed calls"): one attempt at a provider.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { CallRun } from './call-run.ts'
import { ModelView } from './call-view.ts'
import type { CancellationScope } from './cancellation-scope.ts'
import type { Fields, LlmExecutionPayload, LlmRequestPayload, ModelCallView, PendingMark } from './contract.ts'
import { runGuardrails } from './guardrails.ts'
import { buildLlmExecutionPayload, buildLlmRequestPayload } from './hermes-payloads.ts'
import type { PipelineContext } from './pipeline-context.ts'
import { type AnyModelCall, pullIntercepted, pullProvider, type StreamProgress } from './pull-stream.ts'
import { createRequestParser, runRequestIntercepts } from './request-intercepts.ts'
import { runRequestMiddleware } from './request-middleware.ts'
import { runPipeline } from './run-pipeline.ts'
import { runWithAbort } from './run-with-abort.ts'
import { bindPayloadSanitizers } from './sanitize.ts'
import type { ScopeNode } from './scope.ts'
import { createStreamOpener } from './stream-chain.ts'

export function runManagedModel(context: PipelineContext, call: AnyModelCall, scope: ScopeNode): Promise<unknown> {
  const run = new CallRun(context, 'model', call.provider, scope, call, call.request)
  return runWithAbort(
    run,
    call.signal,
    (root) => runSteps(run, call, root),
    () => false,
  )
}

async function runSteps(run: CallRun, call: AnyModelCall, root: CancellationScope): Promise<unknown> {
  const { scope } = run
  const marks: PendingMark[] = []
  if (scope.snapshot.guardrails.model.length > 0) await checkGuardrails(run, call, call.request)
  const rewrittenRequest = await applyRewrites(run, call, marks)
  run.throwIfDetached()
  const request = call.rewrite === undefined ? rewrittenRequest : await call.rewrite(rewrittenRequest, run.trace)
  if (request !== call.request && scope.snapshot.guardrails.model.length > 0) await checkGuardrails(run, call, request)
  return execute(run, call, request, marks, root)
}

function checkGuardrails(run: CallRun, call: AnyModelCall, request: Fields): Promise<void> {
  const entries = run.scope.snapshot.guardrails.model
  return runGuardrails<ModelCallView>(
    run,
    entries,
    (scope) => new ModelView(run, scope, undefined, call.model, request),
  )
}

async function applyRewrites(run: CallRun, call: AnyModelCall, marks: PendingMark[]): Promise<Fields> {
  const { scope } = run
  const { model } = call
  let request = call.request
  const intercepts = scope.snapshot.intercepts.model_request
  if (intercepts.length > 0)
    request = await runRequestIntercepts(run, intercepts, request, {
      point: 'model_request',
      view: (value) => new ModelView(run, scope, undefined, model, value),
      parse: createRequestParser(marks),
    })
  const rewriters = scope.snapshot.hermes.llm_request
  if (rewriters.length > 0)
    request = await runRequestMiddleware<LlmRequestPayload>(run, rewriters, request, {
      key: 'request',
      kind: 'llm_request',
      payload: (value) => buildLlmRequestPayload(run, scope, call, value),
    })
  return request
}

function execute(
  run: CallRun,
  call: AnyModelCall,
  request: Fields,
  marks: readonly PendingMark[],
  root: CancellationScope,
): Promise<unknown> {
  const { provider, model } = call
  const { context, scope } = run
  const began = context.now()
  const progress: StreamProgress = { firstChunkUs: undefined, partial: null }
  const effectiveModel = typeof request['model'] === 'string' ? request['model'] : model
  return runPipeline<ModelCallView, LlmExecutionPayload>(run, root, request, {
    point: 'model_execution',
    attributes: ['streaming'],
    marks,
    profile: () =>
      progress.firstChunkUs === undefined
        ? { model_name: effectiveModel }
        : { model_name: effectiveModel, time_to_first_chunk: (progress.firstChunkUs - began) / 1e6 },
    partial: () => progress.partial,
    participants: ({ intercepts, hermes }) => ({
      outer: intercepts.model_execution,
      inner: hermes.llm_execution,
      more: intercepts.model_stream.length,
    }),
    sanitizers: ({ sanitizers }) => ({
      request: bindPayloadSanitizers(sanitizers.model_request, 'model_request', { provider, model }),
      response: bindPayloadSanitizers(sanitizers.model_response, 'model_response', { provider, model }),
    }),
    view: (value, node, branch) => new ModelView(run, node, branch, model, value),
    payload: (value, node, { signal }, next) => buildLlmExecutionPayload(run, node, signal, call, value, next),
    onStart: () => call.onRequest?.(request, run.trace),
    terminal(value, branch) {
      const at = context.scopeStorage.getStore() ?? scope
      const entries = at.snapshot.intercepts.model_stream
      if (entries.length === 0) return pullProvider(run, call, value, branch, progress)
      const chain = {
        run,
        entries,
        view: (given: Fields, way: CancellationScope) => new ModelView(run, at, way, model, given),
        provider: (given: Fields, streamSignal: AbortSignal) => call.stream(given, streamSignal),
        inCall: AsyncLocalStorage.snapshot(),
      }
      return pullIntercepted(run, call, value, branch, progress, createStreamOpener(chain))
    },
  })
}
