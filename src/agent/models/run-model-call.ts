/**
 * One attempt at the model on its whole way (design, "Managed calls"): what plugins may rewrite, refuse, wrap and watch,
 * with the provider in the middle.
 */
import { messageOf } from '../../lib/errors.ts'
import { isRecord } from '../../lib/json.ts'
import type { Middleware, RewriteTrace } from '../../middleware/contract.ts'
import type { AgentHooks, RequestFailure, RequestInfo } from '../agent-hooks.ts'
import { type JsonObject, ModelError, type ModelOutput, type ModelRequest, type Provider } from './provider.ts'

export interface ModelCallDeps {
  readonly middleware: Middleware
  readonly agentHooks: AgentHooks
  /** ms */
  readonly clock: () => number
  /** Named points for crash tests; does nothing in production. */
  failpoint(point: string): void
}

export interface RunModelCallOptions {
  readonly provider: Provider
  readonly info: RequestInfo
  readonly request: ModelRequest
  /** The request of a reissue is the word of the plugin that asks for it: Kora's rewrite, of the same kind, is not asked. */
  readonly isReissue: boolean
  readonly signal: AbortSignal
  /** The answer's text so far. */
  onText(textSoFar: string): void
}

export interface ModelCallResult {
  readonly info: RequestInfo
  /** As it went out. */
  readonly request: ModelRequest
  readonly trace: RewriteTrace
  readonly response: JsonObject
  readonly output: ModelOutput
  readonly durationMs: number
}

/** What the observers are told of: unknown until every rewrite is done, and then no attempt is left without an end. */
interface StartedRequest {
  readonly request: ModelRequest
  readonly trace: RewriteTrace
  text: string
}

/**
 * Rejects with `ModelError`, with what a guardrail or a plugin throws, or with the signal's reason when aborted.
 */
export async function runModelCall(deps: ModelCallDeps, options: RunModelCallOptions): Promise<ModelCallResult> {
  const { middleware, agentHooks } = deps
  const { provider, info, signal } = options
  const startedAt = deps.clock()
  const mayChange = middleware.canChangeModelOutput()
  let started: StartedRequest | undefined
  try {
    const response: unknown = await middleware.model({
      provider: provider.name,
      model: options.request.model,
      request: options.request,
      signal,
      fields: () => eventFields(info),
      ...(options.isReissue ? {} : { rewrite: (request: ModelRequest) => agentHooks.rewriteRequest(info, request) }),
      onRequest(request, trace) {
        started = { request, trace, text: '' }
        agentHooks.onRequestStart(info, request, trace)
        agentHooks.onStreamStart(info)
      },
      stream: (request, until) => provider.stream(request, until),
      collector: () => provider.createCollector(),
      onChunk: (chunk) => started !== undefined && publishDelta(deps, options, started, chunk),
    })
    // The end of an answer can look like any other one; that of a stopped turn must never pass for a good one.
    signal.throwIfAborted()
    if (started === undefined) throw new Error('a model was asked before anybody knew the request')
    const { request, trace, text } = started
    const { answer: output, json } = parseModelResponse(provider, response, mayChange)
    agentHooks.onStreamEnd(info, text, null)
    return { info, request, trace, response: json, output, durationMs: deps.clock() - startedAt }
  } catch (error) {
    if (started !== undefined) {
      const { request, trace, text } = started
      agentHooks.onStreamEnd(info, text, messageOf(error))
      // A stop is nobody's failure.
      if (!signal.aborted)
        agentHooks.onRequestError(info, request, trace, toRequestFailure(error, deps.clock() - startedAt))
    }
    throw error
  }
}

function publishDelta(
  { agentHooks, failpoint }: ModelCallDeps,
  options: RunModelCallOptions,
  started: StartedRequest,
  chunk: JsonObject,
): void {
  const delta = options.provider.parseDelta(chunk)
  if (delta === null) return
  agentHooks.onStreamDelta(options.info, delta.kind, delta.text)
  if (delta.kind !== 'text') return
  started.text += delta.text
  failpoint('agent:streaming')
  options.onText(started.text)
}

/** Plugins may put anything in the place of an answer: at this border it is the vendor's format, or an error that says whose. */
function parseModelResponse(
  provider: Provider,
  response: unknown,
  mayBeChanged: boolean,
): { readonly json: JsonObject; readonly answer: ModelOutput } {
  if (!isRecord(response)) {
    throw new ModelError('bad-response', `A plugin answered for the model with no JSON object (${provider.apiMode}).`)
  }
  try {
    return { json: response, answer: provider.parseResponse(response) }
  } catch (error) {
    if (!mayBeChanged || !(error instanceof ModelError) || error.kind !== 'bad-response') throw error
    throw new ModelError(
      'bad-response',
      `A plugin may have changed what the model answered, and it is not of the format ${provider.apiMode}: ${error.message}`,
      { cause: error },
    )
  }
}

function toRequestFailure(error: unknown, durationMs: number): RequestFailure {
  if (!(error instanceof ModelError)) return { error, statusCode: null, retryable: false, reason: 'error', durationMs }
  const { status, retryable, kind } = error
  return { error, statusCode: status ?? null, retryable, reason: kind, durationMs }
}

function eventFields({ turn, apiRequestId, iteration, apiCallCount, retryCount }: RequestInfo): JsonObject {
  return {
    session_id: turn.sessionId,
    session_key: turn.sessionKey,
    sender_id: turn.senderId,
    task_id: turn.taskId,
    turn_id: turn.turnId,
    api_request_id: apiRequestId,
    provider: turn.provider,
    model: turn.model,
    api_mode: turn.apiMode,
    base_url: turn.baseUrl,
    platform: turn.platform,
    route: turn.route,
    iteration,
    api_call_count: apiCallCount,
    retry_count: retryCount,
  }
}
