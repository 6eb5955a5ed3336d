/**
 * Requests one response from the model for an iteration: filters the tools, retries failed calls, and calls the model a
 * second time when a plugin reissues the request.
 */
import { messageOf } from '../../lib/errors.ts'
import { uuid7 } from '../../lib/ids.ts'
import { isRecord } from '../../lib/json.ts'
import type { Logger } from '../../lib/log.ts'
import { backoffMs } from '../../lib/timers.ts'
import { addUsage, type Usage } from '../../message/transcript.ts'
import type { AgentHooks, RequestInfo, TurnInfo } from '../agent-hooks.ts'
import {
  type JsonObject,
  ModelError,
  type ModelOutput,
  type ModelRequest,
  type Provider,
  type RequestInput,
} from './provider.ts'
import { type ModelCallDeps, type ModelCallResult, runModelCall } from './run-model-call.ts'

export interface RetryDeps {
  readonly log: Logger
  readonly random: () => number
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>
}

export interface RequestModelDeps extends ModelCallDeps, RetryDeps {
  /** The reason when the error is the rejection of a guardrail; null for any other error. */
  rejectionReason(error: unknown): string | null
}

export interface RequestModelOptions {
  readonly provider: Provider
  readonly turn: TurnInfo
  /** From 1. */
  readonly iteration: number
  /** Model calls that the turn has made before. */
  readonly previousCalls: number
  readonly input: RequestInput
  readonly signal: AbortSignal
  readonly maxRetries: () => number
  /** Receives the text so far, and '' before a retry. Not called while a plugin may still change the text. */
  onText(textSoFar: string): void
}

export interface RequestModelResult {
  readonly output: ModelOutput
  /** Of all responses, including one that a reissue replaced. */
  readonly usage: Usage
  /** The id of the call that produced the output. */
  readonly apiRequestId: string
  /** Model calls of the turn, including those of this iteration. */
  readonly totalCalls: number
}

/** Rejects as `runModelCall` does, after the retries. */
export async function requestModel(deps: RequestModelDeps, options: RequestModelOptions): Promise<RequestModelResult> {
  const first = await runWithRetries(deps, options, options.previousCalls + 1)
  const second = await runReissue(deps, options, first)
  const { info, request, trace, response, output, durationMs } = second ?? first
  deps.agentHooks.onRequestEnd(info, request, trace, {
    response,
    usage: toUsagePayload(output.usage),
    finishReason: output.finishReason,
    durationMs,
  })
  return {
    output,
    usage: second === null ? output.usage : addUsage(first.output.usage, output.usage),
    apiRequestId: info.apiRequestId,
    totalCalls: info.apiCallCount,
  }
}

/** The second call of an iteration, if a plugin requests it. When it fails, the first response remains valid. */
async function runReissue(
  deps: RequestModelDeps,
  options: RequestModelOptions,
  first: ModelCallResult,
): Promise<ModelCallResult | null> {
  const request = await deps.agentHooks.reissue(first.info, first.request, first.response)
  if (request === null) return null
  try {
    return await runWithRetries(deps, options, first.info.apiCallCount + 1, request)
  } catch (error) {
    options.signal.throwIfAborted()
    const isExpected =
      error instanceof ModelError || deps.rejectionReason(error) !== null || deps.middleware.errorOrigin(error) !== null
    if (!isExpected) throw error
    deps.log.warn(
      { event: 'model.reissue_failed', turn: options.turn.turnId, err: error },
      `reissued request failed, the first response is used: ${messageOf(error)}`,
    )
    return null
  }
}

/** A vendor may request a long delay. Beyond this limit the turn fails instead, and the user is notified. */
const maxRetryDelayMs = 120_000

/**
 * The retries of the SDKs are disabled; only this function retries. Rejects with the last `ModelError`, with any other
 * error at once, or with the signal's reason when it aborts.
 * @param reissue the request of a plugin; without it the request is built from the input
 */
async function runWithRetries(
  deps: RequestModelDeps,
  options: RequestModelOptions,
  apiCallCount: number,
  reissue?: ModelRequest,
): Promise<ModelCallResult> {
  const { provider, turn, iteration, signal } = options
  const built = reissue ?? provider.buildRequest(options.input)
  let showsText = false
  const onText = (text: string) => {
    if (showsText) options.onText(text)
  }
  for (let retryCount = 0; ; retryCount++) {
    signal.throwIfAborted()
    try {
      const request = reissue ?? (await withFilteredTools(deps.agentHooks, options, built))
      const info: RequestInfo = { turn, apiRequestId: uuid7(deps.clock()), iteration, apiCallCount, retryCount }
      showsText = !outputMayChange(deps)
      return await runModelCall(deps, { provider, info, request, isReissue: reissue !== undefined, signal, onText })
    } catch (error) {
      signal.throwIfAborted()
      if (!(error instanceof ModelError) || !error.retryable || retryCount >= options.maxRetries()) throw error
      const waitMs = error.retryAfterMs ?? backoffMs(retryCount + 1, 1_000, 30_000, deps.random)
      if (waitMs > maxRetryDelayMs) throw error
      deps.log.warn(
        {
          event: 'model.call_retried',
          turn: turn.turnId,
          attempt: retryCount + 1,
          problem: error.kind,
          waitMs: Math.round(waitMs),
        },
        `model call failed, trying again: ${error.message}`,
      )
      onText('')
      await deps.sleep(waitMs, signal)
    }
  }
}

/** Whether plugins may still change the text, so that it must not be shown while it is streamed. */
function outputMayChange({ agentHooks, middleware }: Pick<RequestModelDeps, 'agentHooks' | 'middleware'>): boolean {
  return agentHooks.outputMayChange() || middleware.canChangeModelOutput()
}

/** For this request only. Vendors reject an empty list, and some reject a history of calls without any tool. */
async function withFilteredTools(
  agentHooks: AgentHooks,
  { provider, turn, input }: RequestModelOptions,
  request: ModelRequest,
): Promise<ModelRequest> {
  const tools = request['tools']
  const offered = Array.isArray(tools) ? tools.filter(isRecord) : []
  const filtered = await agentHooks.filterTools(turn, offered)
  if (filtered === offered) return request
  if (filtered.length > 0) return { ...request, tools: filtered }
  return provider.buildRequest({ ...input, tools: [] })
}

function toUsagePayload({ inputTokens, outputTokens, cachedInputTokens, cacheWriteTokens }: Usage): JsonObject {
  return {
    input_tokens: inputTokens,
    output_tokens: outputTokens,
    cache_read_tokens: cachedInputTokens,
    cache_write_tokens: cacheWriteTokens,
    total_tokens: inputTokens + outputTokens,
  }
}
