/**
 * One iteration's question to the model: the tools it offers, its attempts, and the one reissue that a plugin may ask for.
 */
import { messageOf } from '../../lib/errors.ts'
import { uuid7 } from '../../lib/ids.ts'
import { isRecord } from '../../lib/json.ts'
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
import { type RetryDeps, retryModelCall } from './retry-model-call.ts'
import { type ModelCallDeps, type ModelCallResult, runModelCall } from './run-model-call.ts'

export interface RequestModelDeps extends ModelCallDeps, RetryDeps {
  /** Why a guardrail refused; null for any other error. */
  rejectionReason(error: unknown): string | null
}

export interface RequestModelOptions {
  readonly provider: Provider
  readonly turn: TurnInfo
  /** From 1. */
  readonly iteration: number
  /** Model calls of the turn before this one. */
  readonly previousCalls: number
  readonly input: RequestInput
  readonly signal: AbortSignal
  /** The answer's text so far, '' when it begins anew; only while nobody may change it any more. */
  onText(textSoFar: string): void
}

export interface RequestModelResult {
  readonly output: ModelOutput
  /** Of every answer that was paid for. */
  readonly usage: Usage
  /** Of the call whose answer counts. */
  readonly apiRequestId: string
  /** Model calls of the turn, this iteration's included. */
  readonly totalCalls: number
}

/** Rejects as `attemptModel` does, after the retries. */
export async function requestModel(deps: RequestModelDeps, question: RequestModelOptions): Promise<RequestModelResult> {
  const { agentHooks } = deps
  const first = await runWithRetries(deps, question, question.previousCalls + 1)
  const second = await requestReissue(deps, question, first)
  const last = second ?? first
  const { output, info } = last
  agentHooks.onRequestEnd(info, last.request, last.trace, {
    response: last.response,
    usage: toUsagePayload(output.usage),
    finishReason: output.finishReason,
    durationMs: last.durationMs,
  })
  return {
    output,
    usage: second === null ? output.usage : addUsage(first.output.usage, output.usage),
    apiRequestId: info.apiRequestId,
    totalCalls: info.apiCallCount,
  }
}

/** The second call of an iteration, if a plugin wants one. When it fails the first answer, which was good, stays. */
async function requestReissue(
  deps: RequestModelDeps,
  question: RequestModelOptions,
  first: ModelCallResult,
): Promise<ModelCallResult | null> {
  const request = await deps.agentHooks.reissue(first.info, first.request, first.response)
  if (request === null) return null
  try {
    return await runWithRetries(deps, question, first.info.apiCallCount + 1, request)
  } catch (error) {
    question.signal.throwIfAborted()
    const isKnown =
      error instanceof ModelError || deps.rejectionReason(error) !== null || deps.middleware.errorOrigin(error) !== null
    if (!isKnown) throw error
    deps.log.warn({ error }, `a plugin had the model asked once more; the first answer stays: ${messageOf(error)}`)
    return null
  }
}

/** `reissue`: the request of a plugin; without it the one of the question, with the tools it offers now. */
function runWithRetries(
  deps: RequestModelDeps,
  question: RequestModelOptions,
  apiCallCount: number,
  reissue?: ModelRequest,
): Promise<ModelCallResult> {
  const { provider, turn, iteration, signal } = question
  const isReissue = reissue !== undefined
  const built = reissue ?? provider.buildRequest(question.input)
  let showsText = false
  const onText = (text: string) => {
    if (showsText) question.onText(text)
  }
  return retryModelCall(deps, {
    signal,
    onRetry: () => onText(''),
    async attempt(retryCount) {
      const request = isReissue ? built : await withFilteredTools(deps.agentHooks, question, built)
      const info: RequestInfo = { turn, apiRequestId: uuid7(deps.clock()), iteration, apiCallCount, retryCount }
      showsText = !outputMayChange(deps)
      return runModelCall(deps, { provider, info, request, isReissue, signal, onText })
    },
  })
}

/** Whether what the model streams is not yet what people may read. */
export function outputMayChange({
  agentHooks: points,
  middleware,
}: Pick<RequestModelDeps, 'agentHooks' | 'middleware'>): boolean {
  return points.outputMayChange() || middleware.canChangeModelOutput()
}

/** For this request alone. A vendor refuses an empty list, and some of them a history of calls without any tool. */
async function withFilteredTools(
  points: AgentHooks,
  options: RequestModelOptions,
  built: ModelRequest,
): Promise<ModelRequest> {
  const given = built['tools']
  const tools = Array.isArray(given) ? given.filter(isRecord) : []
  const offered = await points.filterTools(options.turn, tools)
  if (offered === tools) return built
  if (offered.length > 0) return { ...built, tools: offered }
  return options.provider.buildRequest({ ...options.input, tools: [] })
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
