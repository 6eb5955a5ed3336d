/**
 * A managed model call, step by step (design, "Managed calls"): one attempt at a provider.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Branch } from './branch.ts'
import { CallRun } from './call-run.ts'
import { carriedUnder } from './carried-under.ts'
import { carryOut } from './carry-out.ts'
import type { Fields, LlmExecutionPayload, LlmRequestPayload, ModelCallView, PendingMark } from './contract.ts'
import { passGuardrails } from './guardrails.ts'
import { passRewriters } from './hermes-rewrites.ts'
import { llmExecutionPayload, llmRequestPayload } from './payloads.ts'
import { passIntercepts, readRequests } from './rewrites.ts'
import type { Room } from './room.ts'
import { payloadSanitizers } from './sanitize.ts'
import type { ScopeNode } from './scope.ts'
import { streamIntercepts } from './stream-chain.ts'
import { type AnyModelCall, pullIntercepted, pullProvider, type StreamProgress } from './stream-terminal.ts'
import { ModelView } from './views.ts'

export function runModel(room: Room, call: AnyModelCall, scope: ScopeNode): Promise<unknown> {
  const run = new CallRun(room, 'model', call.provider, scope, call, call.request)
  return carriedUnder(
    run,
    call.signal,
    (root) => steps(run, call, root),
    () => false,
  )
}

async function steps(run: CallRun, call: AnyModelCall, root: Branch): Promise<unknown> {
  const { scope } = run
  const marks: PendingMark[] = []
  if (scope.snapshot.guardrails.model.length > 0) await guard(run, call, call.request)
  const rewrittenRequest = await rewritten(run, call, marks)
  run.throwIfLeft()
  const request = call.rewrite === undefined ? rewrittenRequest : await call.rewrite(rewrittenRequest, run.trace)
  if (request !== call.request && scope.snapshot.guardrails.model.length > 0) await guard(run, call, request)
  return execute(run, call, request, marks, root)
}

function guard(run: CallRun, call: AnyModelCall, request: Fields): Promise<void> {
  const entries = run.scope.snapshot.guardrails.model
  return passGuardrails<ModelCallView>(
    run,
    entries,
    (scope) => new ModelView(run, scope, undefined, call.model, request),
  )
}

async function rewritten(run: CallRun, call: AnyModelCall, marks: PendingMark[]): Promise<Fields> {
  const { scope } = run
  const { model } = call
  let request = call.request
  const intercepts = scope.snapshot.intercepts.model_request
  if (intercepts.length > 0)
    request = await passIntercepts(run, intercepts, request, {
      point: 'model_request',
      view: (value) => new ModelView(run, scope, undefined, model, value),
      read: readRequests(marks),
    })
  const rewriters = scope.snapshot.hermes.llm_request
  if (rewriters.length > 0)
    request = await passRewriters<LlmRequestPayload>(run, rewriters, request, {
      key: 'request',
      kind: 'llm_request',
      payload: (value) => llmRequestPayload(run, scope, call, value),
    })
  return request
}

function execute(
  run: CallRun,
  call: AnyModelCall,
  request: Fields,
  marks: readonly PendingMark[],
  root: Branch,
): Promise<unknown> {
  const { provider, model } = call
  const { room, scope } = run
  const began = room.now()
  const progress: StreamProgress = { firstChunkUs: undefined, partial: null }
  const effectiveModel = typeof request['model'] === 'string' ? request['model'] : model
  return carryOut<ModelCallView, LlmExecutionPayload>(run, root, request, {
    point: 'model_execution',
    attributes: ['streaming'],
    marks,
    profile: () =>
      progress.firstChunkUs === undefined
        ? { model_name: effectiveModel }
        : { model_name: effectiveModel, time_to_first_chunk: (progress.firstChunkUs - began) / 1e6 },
    partial: () => progress.partial,
    around: ({ intercepts, hermes }) => ({
      outer: intercepts.model_execution,
      inner: hermes.llm_execution,
      more: intercepts.model_stream.length,
    }),
    cleaners: ({ sanitizers }) => ({
      request: payloadSanitizers(sanitizers.model_request, 'model_request', { provider, model }),
      response: payloadSanitizers(sanitizers.model_response, 'model_response', { provider, model }),
    }),
    view: (value, node, branch) => new ModelView(run, node, branch, model, value),
    payload: (value, node, { signal }, next) => llmExecutionPayload(run, node, signal, call, value, next),
    begun: () => call.announce?.(request, run.trace),
    terminal(value, branch) {
      const at = room.storage.getStore() ?? scope
      const entries = at.snapshot.intercepts.model_stream
      if (entries.length === 0) return pullProvider(run, call, value, branch, progress)
      const chain = {
        run,
        entries,
        view: (given: Fields, way: Branch) => new ModelView(run, at, way, model, given),
        provider: (given: Fields, streamSignal: AbortSignal) => call.stream(given, streamSignal),
        inCall: AsyncLocalStorage.snapshot(),
      }
      return pullIntercepted(run, call, value, branch, progress, streamIntercepts(chain))
    },
  })
}
