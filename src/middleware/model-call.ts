/**
 * The stages of a managed model call, which is one request to a provider: guardrails, rewrites, execution (design, "Managed
 * calls").
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { CallRun } from './call-run.ts'
import { buildLlmExecutionPayload, buildLlmRequestPayload, ModelView } from './callback-payloads.ts'
import { type AnyModelCall, pullProvider, type StreamProgress } from './calls.ts'
import type { CancellationScope } from './cancellation.ts'
import type {
  Fields,
  LlmExecutionPayload,
  LlmRequestPayload,
  ModelCallView,
  PendingMark,
  RewrittenRequest,
} from './contract.ts'
import { runGuardrails } from './guardrails.ts'
import { runPipeline } from './pipeline.ts'
import type { PipelineContext } from './pipeline-context.ts'
import { createRequestParser, rewriteRequest } from './request-rewrites.ts'
import { bindPayloadSanitizers } from './sanitize.ts'
import type { ScopeNode } from './scope.ts'
import { pullIntercepted } from './stream-chain.ts'

export function runManagedModel(context: PipelineContext, call: AnyModelCall, scope: ScopeNode): Promise<unknown> {
  const run = new CallRun(context, 'model', call.provider, scope, call, call.request)
  return run.runStages(
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

function applyRewrites(run: CallRun, call: AnyModelCall, marks: PendingMark[]): Promise<Fields> {
  const { scope } = run
  return rewriteRequest<ModelCallView, RewrittenRequest, LlmRequestPayload>(run, call.request, {
    point: 'model_request',
    intercepts: ({ intercepts }) => intercepts.model_request,
    view: (value) => new ModelView(run, scope, undefined, call.model, value),
    parse: createRequestParser(marks),
    key: 'request',
    kind: 'llm_request',
    rewriters: ({ hermes }) => hermes.llm_request,
    payload: (value) => buildLlmRequestPayload(run, scope, call, value),
  })
}

/** Marks the chunks in the scope of the call, in which this function runs. Undefined if no subscriber receives them. */
function createChunkPublisher({ context }: CallRun): ((index: number) => void) | undefined {
  const { scopes, publisher } = context
  const node = scopes.storage.getStore()
  const snapshot = node?.snapshot
  if (node === undefined || snapshot === undefined) return undefined
  if (!snapshot.subscribers.some(({ receivesChunks }) => receivesChunks)) return undefined
  const recipients = {
    subscribers: snapshot.subscribers.filter(({ receivesChunks }) => receivesChunks),
    sanitizers: snapshot.sanitizers,
  }
  return (index) => {
    // A long response must not displace the events of calls.
    if (publisher.isCrowded()) return
    publisher.mark(recipients, node, {
      name: 'llm.chunk',
      category: 'llm',
      profile: null,
      data: { chunk_index: index },
      metadata: null,
    })
  }
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
  const startedUs = context.scopes.now()
  const progress: StreamProgress = { firstChunkUs: undefined, partial: null, publishChunk: undefined }
  const effectiveModel = typeof request['model'] === 'string' ? request['model'] : model
  return runPipeline<ModelCallView, LlmExecutionPayload>(run, root, request, {
    point: 'model_execution',
    attributes: ['streaming'],
    marks,
    profile: () =>
      progress.firstChunkUs === undefined
        ? { model_name: effectiveModel }
        : { model_name: effectiveModel, time_to_first_chunk: (progress.firstChunkUs - startedUs) / 1e6 },
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
    onStart() {
      progress.publishChunk = createChunkPublisher(run)
      call.onRequest?.(request, run.trace)
    },
    terminal(value, branch) {
      const node = context.scopes.storage.getStore() ?? scope
      const entries = node.snapshot.intercepts.model_stream
      if (run.detached) return Promise.reject(run.signal.reason)
      if (entries.length === 0)
        return pullProvider(context, call, value, branch.signal, { progress, isDetached: () => run.detached })
      const chain = {
        run,
        entries,
        scope: node,
        view: (current: Fields, streamBranch: CancellationScope) =>
          new ModelView(run, node, streamBranch, model, current),
        provider: (current: Fields, streamSignal: AbortSignal) => call.stream(current, streamSignal),
        inCall: AsyncLocalStorage.snapshot(),
      }
      return pullIntercepted(chain, call, value, branch, progress)
    },
  })
}
