/**
 * Calls the plugin hooks of a model call.
 */
import type { AgentHooks, RequestInfo } from '../../agent/support/agent-hooks.ts'
import type { ModelRequest } from '../../agent/support/model-request.ts'
import { messageOf } from '../../lib/errors.ts'
import type { PluginHooks } from '../hooks/plugin-hooks.ts'
import { dispatchContextOf, requestKeys, streamKeys, turnKeys } from './payload-keys.ts'
import { firstList, firstOverride, mergeOverrides, type OnInvalidResultOf } from './results.ts'

type RequestHooks = Pick<
  AgentHooks,
  | 'filterTools'
  | 'rewriteRequest'
  | 'onRequestStart'
  | 'onRequestEnd'
  | 'onRequestError'
  | 'reissue'
  | 'onStreamStart'
  | 'onStreamDelta'
  | 'onStreamEnd'
>

/**
 * @param streamReasoning `plugins.stream_reasoning_deltas`
 * @param redact removes secrets from an error message: some vendors repeat the API key that they reject
 */
export function createRequestHooks(
  hooks: PluginHooks,
  streamReasoning: () => boolean,
  redact: (text: string) => string,
  onInvalidResultOf: OnInvalidResultOf,
): RequestHooks {
  return {
    async filterTools(turn, tools) {
      const results = await hooks.collect('pre_tool_list_finalized', dispatchContextOf(turn), () => ({
        ...turnKeys(turn),
        tools,
        provider: turn.provider,
      }))
      return firstList(results, onInvalidResultOf('pre_tool_list_finalized')) ?? tools
    },

    async rewriteRequest(info, request) {
      const results = await hooks.collect('pre_api_request_mutable', dispatchContextOf(info.turn), () => ({
        ...requestKeys(info),
        request,
      }))
      return applyOverride(request, mergeOverrides(results, onInvalidResultOf('pre_api_request_mutable')))
    },

    onRequestStart(info, request, trace) {
      hooks.notify('pre_api_request', dispatchContextOf(info.turn), () => ({
        ...observedRequest(info, request),
        middleware_trace: trace,
      }))
    },

    onRequestEnd(info, request, trace, { response, usage, finishReason, durationMs }) {
      hooks.notify('post_api_request', dispatchContextOf(info.turn), () => ({
        ...observedRequest(info, request),
        response,
        usage,
        finish_reason: finishReason,
        duration_ms: durationMs,
        middleware_trace: trace,
      }))
    },

    onRequestError(info, request, trace, { error, statusCode, retryable, reason, durationMs }) {
      hooks.notify('api_request_error', dispatchContextOf(info.turn), () => ({
        ...observedRequest(info, request),
        status_code: statusCode,
        retryable,
        reason,
        error: redact(messageOf(error)),
        error_type: error instanceof Error ? error.name : typeof error,
        duration_ms: durationMs,
        middleware_trace: trace,
      }))
    },

    async reissue(info, request, response) {
      const { sessionId, turnId, model, provider, apiMode, platform } = info.turn
      const results = await hooks.collect('post_llm_call_can_reissue', dispatchContextOf(info.turn), () => ({
        session_id: sessionId,
        turn_id: turnId,
        iteration: info.iteration,
        model,
        provider,
        api_mode: apiMode,
        request,
        response,
        platform,
      }))
      const override = firstOverride(results, onInvalidResultOf('post_llm_call_can_reissue'))
      return override === undefined ? null : applyOverride(request, override)
    },

    onStreamStart(info) {
      hooks.notify('on_stream_start', dispatchContextOf(info.turn), () => streamKeys(info))
    },
    onStreamDelta(info, kind, delta) {
      if (kind === 'reasoning' && !streamReasoning()) return
      hooks.notify('on_stream_delta', dispatchContextOf(info.turn), () => ({ ...streamKeys(info), delta, kind }))
    },
    onStreamEnd(info, finalText, error) {
      hooks.notify('on_stream_end', dispatchContextOf(info.turn), () => ({
        ...streamKeys(info),
        final_text: finalText,
        finished: error === null,
        error,
      }))
    },
  }
}

function observedRequest(info: RequestInfo, request: ModelRequest) {
  return { ...requestKeys(info), request: redactRequest(request) }
}

/** `model` must stay a non-empty text, and `stream` must stay true, because responses are always read as a stream. */
function applyOverride(request: ModelRequest, override: Readonly<Record<string, unknown>> | undefined): ModelRequest {
  if (override === undefined) return request
  const { model } = override
  const modelName = typeof model === 'string' && model !== '' ? model : request.model
  return { ...request, ...override, model: modelName, stream: true }
}

const safeHeaderPattern =
  /^(accept|content-type|user-agent|openai-(organization|project|beta)|anthropic-(version|beta)|x-request-id)$/i
const secretQueryPattern = /key|token|secret|sig|auth|password/i

/** Hides headers and query parameters that may hold a key from hooks that only observe. */
function redactRequest(request: ModelRequest): ModelRequest {
  const { extra_headers: headers, extra_query: query } = request
  if (headers === undefined && query === undefined) return request
  return {
    ...request,
    extra_headers: redactValues(headers, (name) => !safeHeaderPattern.test(name)),
    extra_query: redactValues(query, (name) => secretQueryPattern.test(name)),
  }
}

/** @param values of any type, because middleware may have replaced them */
function redactValues(values: unknown, isHidden: (name: string) => boolean): Record<string, string> {
  if (typeof values !== 'object' || values === null) return {}
  const all = Object.entries(values)
  return Object.fromEntries(all.map(([name, value]) => [name, isHidden(name) ? '[redacted]' : String(value)]))
}
