/**
 * Requests one response from the model for an iteration: filters the tools, retries failed calls, and calls the model a
 * second time when a plugin reissues the request.
 */
import { messageOf } from '../../lib/errors.ts'
import { uuid7 } from '../../lib/ids.ts'
import type { JsonObject } from '../../lib/json.ts'
import { isRecord } from '../../lib/json.ts'
import { addUsage, type ChatMessage, noUsage, type Usage } from '../../message/transcript.ts'
import { rejectionReasonOf } from '../../middleware/guardrail-rejected.ts'
import type { AgentHooks, RequestInfo, TurnInfo } from '../support/agent-hooks.ts'
import type { ModelRequest } from '../support/model-request.ts'
import { withoutItems } from './normalize-messages.ts'
import { ModelError, ModelOutage, type Provider, type RequestInput } from './provider.ts'
import { decideRetry, type FailedCalls, type RetryRules, windowFor } from './retry-policy.ts'
import { EmptyResponseError, type ModelCallDeps, type ModelCallResult, runModelCall } from './run-model-call.ts'

/** The failures of one request, until a call succeeds. */
export interface ModelTrouble {
  /** A call has failed and is retried. */
  failed(server: string, failure: ModelError): void
  /** A call has received output, or the request has ended. A later failure continues the trouble. */
  recovered(): void
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
  readonly retry: () => RetryRules
  /** Another model can answer: a request fails at once when all keys of this one rest. */
  readonly mayFallBack?: boolean
  /** When the provider stopped answering this turn, ms; null while it answers. */
  readonly outageSince: number | null
  /** A response without text and tool calls is accepted. Otherwise it is retried. */
  readonly acceptsEmpty: boolean
  /** The vendor has rejected what `AssistantMessage.providerData` holds. The request is repeated without it. */
  onItemsRejected?(): void
  /** Called at the first failure of a request. */
  onTrouble?(): ModelTrouble
  /**
   * Receives the text so far, and '' before a retry. `isProvisional`: a wrapper of the call may still replace the text.
   * It is not called while a hook may change the text, nor before the end of a call whose wrapper declares that it replaces the text.
   */
  onText(textSoFar: string, isProvisional: boolean): void
}

export type RequestModelResult = Awaited<ReturnType<typeof requestModel>>

/** Rejects as `runModelCall` does, after the retries. */
export async function requestModel(deps: ModelCallDeps, options: RequestModelOptions) {
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
    /** The usage of all responses, including empty ones and one that a reissue replaced. */
    usage: second === null ? first.usage : addUsage(first.usage, second.usage),
    /** The id of the call that produced the output. */
    apiRequestId: info.apiRequestId,
    /** Model calls of the turn, including those of this iteration. */
    totalCalls: info.apiCallCount,
  }
}

/** The second call of an iteration, if a plugin requests it. When it fails, the first response remains valid. */
async function runReissue(
  deps: ModelCallDeps,
  options: RequestModelOptions,
  first: ModelCallResult,
): Promise<RetriedCallResult | null> {
  const request = await deps.agentHooks.reissue(first.info, first.request, first.response)
  if (request === null) return null
  try {
    return await runWithRetries(deps, options, first.info.apiCallCount + 1, request)
  } catch (error) {
    options.signal.throwIfAborted()
    const isExpected =
      error instanceof ModelError || rejectionReasonOf(error) !== null || deps.middleware.errorOrigin(error) !== null
    if (!isExpected) throw error
    deps.log.warn(
      { event: 'model.reissue_failed', turn: options.turn.turnId, err: error },
      `reissued request failed, the first response is used: ${messageOf(error)}`,
    )
    return null
  }
}

interface RetriedCallResult extends ModelCallResult {
  /** The usage of the response and of empty ones before it. */
  readonly usage: Usage
}

/**
 * The retries of the SDKs are disabled; only this function retries. Rejects with the last `ModelError`, with `ModelOutage`
 * when the provider did not recover in time, with any other error at once, or with the signal's reason when it aborts.
 * @param reissue the request of a plugin; without it the request is built from the input
 */
async function runWithRetries(
  deps: ModelCallDeps,
  options: RequestModelOptions,
  apiCallCount: number,
  reissue?: ModelRequest,
): Promise<RetriedCallResult> {
  const { provider, turn, iteration, signal } = options
  let built = reissue ?? provider.buildRequest(options.input)
  let { input } = options
  const failures = createFailures(deps, options)
  let usage = noUsage
  let showsText = false
  const onText = (text: string, isProvisional: boolean) => {
    if (showsText) options.onText(text, isProvisional)
  }
  try {
    for (let retryCount = 0; ; retryCount++) {
      signal.throwIfAborted()
      try {
        const request = reissue ?? (await withFilteredTools(deps.agentHooks, options, built))
        const info: RequestInfo = { turn, apiRequestId: uuid7(deps.clock()), iteration, apiCallCount, retryCount }
        showsText = !deps.agentHooks.outputMayChange()
        const result = await runModelCall(deps, {
          provider,
          info,
          request,
          isReissue: reissue !== undefined,
          acceptsEmpty: () => options.acceptsEmpty || failures.isLastEmpty(),
          signal,
          onText,
          onDelta: retryCount === 0 ? undefined : failures.recovered,
        })
        return { ...result, usage: addUsage(usage, result.output.usage) }
      } catch (error) {
        signal.throwIfAborted()
        if (!(error instanceof ModelError)) throw error
        if (error instanceof EmptyResponseError) usage = addUsage(usage, error.usage)
        const reduced = withoutRefused(deps, options, { input, reissue }, error)
        if (reduced !== undefined) {
          input = reduced
          built = provider.buildRequest(input)
          continue
        }
        // Another key is not the one that failed, so it is tried at once and its failures are its own.
        const waitMs = provider.rotate?.(error) === true ? 0 : failures.waitAfter(error)
        onText('', false)
        if (waitMs > 0) await deps.pause(turn, waitMs, signal)
      }
    }
  } finally {
    failures.recovered()
  }
}

/** The input without the part that the model does not accept; undefined for any other failure. */
function withoutRefused(
  { log }: ModelCallDeps,
  { provider, turn, onItemsRejected }: RequestModelOptions,
  { input, reissue }: { readonly input: RequestInput; readonly reissue: ModelRequest | undefined },
  failure: ModelError,
): RequestInput | undefined {
  if (reissue !== undefined) return undefined
  if (rejectsItems(failure) && input.messages.some(hasItems)) {
    onItemsRejected?.()
    return { ...input, messages: withoutItems(input.messages) }
  }
  if (input.tools.length === 0 || !refusedTools.test(failure.message)) return undefined
  log.warn(
    { event: 'model.tools_refused', turn: turn.turnId, provider: provider.name, model: input.model, err: failure },
    'the model cannot use tools; it answers without them',
  )
  return { ...input, tools: [] }
}

function hasItems(message: ChatMessage): boolean {
  return message.role === 'assistant' && message.providerData !== undefined
}

/**
 * Whether a vendor does not accept its own reasoning any more: some bind it to all that preceded it, which a summary changes, or to
 * an account. A conversation goes on without it.
 */
function rejectsItems({ kind, message }: ModelError): boolean {
  return kind === 'invalid-request' && /thinking|signature|encrypted|reasoning/i.test(message)
}

/** Ollama, vLLM, llama.cpp, OpenRouter and Gemini report in these words that a model has no tools. */
const refusedTools =
  /does not support (?:tools|functions?)|tools?(?: use| calling)? (?:is|are) not supported|endpoints found that support tool use|tool choice requires|tools param requires|function calling is not (?:enabled|supported)/i

/** Counts the failures of one request and decides what follows each of them. */
function createFailures(deps: ModelCallDeps, options: RequestModelOptions) {
  const { turn, provider, outageSince } = options
  let failed: FailedCalls | undefined
  let last: ModelError | undefined
  let trouble: ModelTrouble | undefined

  function add(failure: ModelError, now: number): FailedCalls {
    const isSame = last?.kind === failure.kind && last.maxTries === failure.maxTries
    last = failure
    failed = {
      count: (failed?.count ?? 0) + 1,
      sameInRow: isSame ? (failed?.sameInRow ?? 0) + 1 : 1,
      since: failed?.since ?? now,
      isOutage: outageSince !== null,
    }
    return failed
  }

  return {
    /** How long to wait before the next call. Throws the failure when there is none. */
    waitAfter(failure: ModelError): number {
      const now = deps.clock()
      const counted = add(failure, now)
      if (options.mayFallBack === true && (provider.restsUntil?.() ?? 0) > 0) throw failure
      const rules = options.retry()
      const decision = decideRetry(failure, counted, rules, now, deps.random)
      if (decision.kind === 'fail') throw failure
      if (decision.kind === 'outage') throw new ModelOutage(failure, serverOf(provider), outageSince ?? counted.since)
      const { waitMs } = decision
      const leftMs = counted.since + windowFor(failure, rules) - now
      trouble ??= options.onTrouble?.()
      trouble?.failed(serverOf(provider), failure)
      deps.log.warn(
        {
          event: 'model.call_retried',
          turn: turn.turnId,
          attempt: counted.count,
          problem: failure.kind,
          reason: failure.message,
          waitMs,
          leftMs,
        },
        'model call failed, trying again',
      )
      return waitMs
    },
    /** Another empty response would not be retried. */
    isLastEmpty(): boolean {
      const { maxRetries, windowMs } = options.retry()
      const count = failed?.count ?? 0
      const isSame = last instanceof EmptyResponseError && (failed?.sameInRow ?? 0) >= last.maxTries - 1
      return isSame || outageSince !== null || windowMs === 0 || (maxRetries !== undefined && count >= maxRetries)
    },
    recovered(): void {
      trouble?.recovered()
    },
  }
}

/** The host, or the name of a provider without an address. */
function serverOf({ baseUrl, name }: Pick<Provider, 'baseUrl' | 'name'>): string {
  return URL.parse(baseUrl)?.host || name
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
