/**
 * One managed call of the model (design, "Managed calls"): plugins can rewrite, reject, wrap and observe it; the innermost
 * step calls the provider.
 */
import { messageOf } from '../../lib/errors.ts'
import type { JsonObject } from '../../lib/json.ts'
import { isRecord } from '../../lib/json.ts'
import type { Logger } from '../../lib/log.ts'
import type { Usage } from '../../message/transcript.ts'
import type { Middleware, RewriteTrace, StreamedText } from '../../middleware/managed-call.ts'
import type { AgentHooks, RequestFailure, RequestInfo, TurnInfo } from '../support/agent-hooks.ts'
import type { ModelRequest } from '../support/model-request.ts'
import { ModelError, type ModelOutput, type Provider } from './provider.ts'

/** What calls of models use of the gateway. */
export interface ModelCallDeps {
  readonly middleware: Middleware
  readonly agentHooks: AgentHooks
  readonly log: Logger
  /** ms */
  readonly clock: () => number
  readonly random: () => number
  /** Waits before a retry. Meanwhile the turn does not count as running. */
  pause(turn: TurnInfo, ms: number, signal: AbortSignal): Promise<void>
  /** Named points at which crash tests kill the process; does nothing in production. */
  readonly failpoint?: ((point: string) => void) | undefined
}

export interface RunModelCallOptions {
  readonly provider: Provider
  readonly info: RequestInfo
  readonly request: ModelRequest
  /** A plugin wrote the request of a reissue, so `pre_api_request_mutable` does not run for it. */
  readonly isReissue: boolean
  readonly signal: AbortSignal
  /** A response without text and tool calls is returned. Otherwise it is an error. */
  acceptsEmpty(): boolean
  /**
   * Receives the text of the response so far, and again the whole one when the call has ended. `isProvisional`: a plugin may
   * still return another text. A text that a plugin is known to replace is not received before the call has ended.
   */
  onText(textSoFar: string, isProvisional: boolean): void
  /** Called with each text or reasoning of the response. */
  readonly onDelta?: (() => void) | undefined
}

export interface ModelCallResult {
  /** With the model of the request that was sent. */
  readonly info: RequestInfo
  /** The request that was sent. */
  readonly request: ModelRequest
  readonly trace: RewriteTrace
  readonly response: JsonObject
  readonly output: ModelOutput
  readonly durationMs: number
}

/** The request as observers see it: known after the last rewrite. Every start is followed by an end. */
interface StartedRequest {
  readonly info: RequestInfo
  readonly request: ModelRequest
  readonly trace: RewriteTrace
  readonly visibility: StreamedText
  text: string
}

/** The model ended its response regularly, but without text and tool calls. */
export class EmptyResponseError extends ModelError {
  readonly usage: Usage

  constructor({ name }: Provider, usage: Usage) {
    super('bad-response', `The model of ${name} returned an empty response.`)
    this.usage = usage
  }
}

/** A response that was cut off or filtered is complete: another call would end in the same way. */
function isEmpty({ text, toolCalls, finishReason }: ModelOutput): boolean {
  return finishReason === 'stop' && toolCalls.length === 0 && text.trim() === ''
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
        const visibility = middleware.streamedText()
        started = { info: withModel(info, request.model), request, trace, visibility, text: '' }
        agentHooks.onRequestStart(started.info, request, trace)
        agentHooks.onStreamStart(started.info)
      },
      onStreamStart() {
        // A plugin calls the model again: the new stream replaces the text so far.
        if (started === undefined || started.text === '') return
        started.text = ''
        showText(options, started)
      },
      stream: (request, until) => provider.stream(request, until, info.turn.sessionId),
      collector: () => provider.createCollector(),
      onChunk: (chunk) => started !== undefined && publishDelta(deps, options, started, chunk),
    })
    // An aborted stream can end like a complete one; the response of an interrupted turn must not count as complete.
    signal.throwIfAborted()
    if (started === undefined) throw new Error('the model call ended without a request')
    const { request, trace, visibility, text } = started
    const { output: parsed, json } = parseModelResponse(provider, response, mayChange)
    const output = { ...parsed, usage: withCost(parsed.usage, provider, started.info.turn.model) }
    if (isEmpty(output) && !options.acceptsEmpty()) throw new EmptyResponseError(provider, output.usage)
    // A plugin may have returned another response, also against its declaration.
    if (visibility !== 'final' || (mayChange && output.text !== text)) options.onText(output.text, false)
    agentHooks.onStreamEnd(started.info, text, null)
    return { info: started.info, request, trace, response: json, output, durationMs: deps.clock() - startedAt }
  } catch (error) {
    if (started !== undefined) {
      const { request, trace, text } = started
      agentHooks.onStreamEnd(started.info, text, messageOf(error))
      // An interruption by the user is not a failure of the request.
      if (!signal.aborted)
        agentHooks.onRequestError(started.info, request, trace, toRequestFailure(error, deps.clock() - startedAt))
    }
    throw error
  }
}

/** The cost that the provider reports counts; else it is computed where the price is known. */
export function withCost(usage: Usage, { prices = {} }: Provider, model: string): Usage {
  if (usage.cost !== undefined) return usage
  const name = model.replace(/[-@](?:\d{8}|\d{4}-\d\d-\d\d|latest)$/, '')
  const price = prices[model] ?? prices[name] ?? prices['*']
  if (price === undefined) return usage
  const { inputTokens, outputTokens, cachedInputTokens: cached, cacheWriteTokens: written } = usage
  const { above = Number.POSITIVE_INFINITY, input = 1, output = 1 } = price.longPrompt ?? {}
  const isLong = inputTokens > above
  const inputCost =
    Math.max(0, inputTokens - cached - written) * price.input + cached * price.cachedInput + written * price.cacheWrite
  const cost = inputCost * (isLong ? input : 1) + outputTokens * price.output * (isLong ? output : 1)
  return { ...usage, cost: cost / 1_000_000 }
}

function publishDelta(
  { agentHooks, failpoint }: ModelCallDeps,
  options: RunModelCallOptions,
  started: StartedRequest,
  chunk: JsonObject,
): void {
  const delta = options.provider.parseDelta(chunk)
  if (delta === null) return
  options.onDelta?.()
  agentHooks.onStreamDelta(started.info, delta.kind, delta.text)
  if (delta.kind !== 'text') return
  started.text += delta.text
  failpoint?.('agent:streaming')
  showText(options, started)
}

function showText({ onText }: RunModelCallOptions, { visibility, text }: StartedRequest): void {
  if (visibility !== 'withheld') onText(text, visibility === 'provisional')
}

/** A plugin may have changed the model of the request. Observers get the one that answers. */
function withModel(info: RequestInfo, model: string): RequestInfo {
  return model === info.turn.model ? info : { ...info, turn: { ...info.turn, model } }
}

/** A plugin may replace the response by any value. Anything but the vendor's format is an error that names the plugin as the cause. */
function parseModelResponse(
  provider: Provider,
  response: unknown,
  mayBeChanged: boolean,
): { readonly json: JsonObject; readonly output: ModelOutput } {
  if (!isRecord(response)) {
    throw new ModelError(
      'bad-response',
      `A plugin returned a model response that is not a JSON object (${provider.apiMode}).`,
      { maxTries: 1 },
    )
  }
  try {
    return { json: response, output: provider.parseResponse(response) }
  } catch (error) {
    if (!mayBeChanged || !(error instanceof ModelError) || error.kind !== 'bad-response') throw error
    throw new ModelError(
      'bad-response',
      `The response is not in the format ${provider.apiMode}; a plugin may have changed it: ${error.message}`,
      { cause: error, maxTries: 1 },
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
    caused_by: turn.causedBy ?? '',
    root_turn_id: turn.rootTurnId ?? turn.turnId,
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
