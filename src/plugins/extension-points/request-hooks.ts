/**
 * What plugins hear and say of a model call.
 */
import type { AgentHooks, RequestInfo } from '../../agent/agent-hooks.ts'
import type { ModelRequest } from '../../agent/models/provider.ts'
import { messageOf } from '../../lib/errors.ts'
import type { PluginHooks } from '../hooks/plugin-hooks.ts'
import { firstList, firstOverride, mergeOverrides, type OnInvalidResult } from './hook-results.ts'
import { dispatchContextOf, requestKeys, streamKeys, turnKeys } from './payload-keys.ts'
import { redactRequest } from './redact-request.ts'

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

export interface RequestHooksDeps {
  readonly hooks: PluginHooks
  /** `plugins.stream_reasoning_deltas`. */
  streamReasoning(): boolean
  /** Takes secrets out of a text: some vendors repeat the key they refuse. */
  redact(text: string): string
  onInvalidResultAt(point: string): OnInvalidResult
}

export function createRequestHooks({
  hooks,
  streamReasoning,
  redact,
  onInvalidResultAt: misfitAt,
}: RequestHooksDeps): RequestHooks {
  return {
    async filterTools(turn, tools) {
      const answers = await hooks.collect('pre_tool_list_finalized', dispatchContextOf(turn), () => ({
        ...turnKeys(turn),
        tools,
        provider: turn.provider,
      }))
      return firstList(answers, misfitAt('pre_tool_list_finalized')) ?? tools
    },

    async rewriteRequest(facts, request) {
      const answers = await hooks.collect('pre_api_request_mutable', dispatchContextOf(facts.turn), () => ({
        ...requestKeys(facts),
        request,
      }))
      return applyOverride(request, mergeOverrides(answers, misfitAt('pre_api_request_mutable')))
    },

    onRequestStart(facts, request, trace) {
      hooks.notify('pre_api_request', dispatchContextOf(facts.turn), () => ({
        ...observedRequest(facts, request),
        middleware_trace: trace,
      }))
    },

    onRequestEnd(facts, request, trace, { response, usage, finishReason, durationMs }) {
      hooks.notify('post_api_request', dispatchContextOf(facts.turn), () => ({
        ...observedRequest(facts, request),
        response,
        usage,
        finish_reason: finishReason,
        duration_ms: durationMs,
        middleware_trace: trace,
      }))
    },

    onRequestError(facts, request, trace, { error, statusCode, retryable, reason, durationMs }) {
      hooks.notify('api_request_error', dispatchContextOf(facts.turn), () => ({
        ...observedRequest(facts, request),
        status_code: statusCode,
        retryable,
        reason,
        error: redact(messageOf(error)),
        error_type: error instanceof Error ? error.name : typeof error,
        duration_ms: durationMs,
        middleware_trace: trace,
      }))
    },

    async reissue(facts, request, response) {
      const { sessionId, turnId, model, provider, platform } = facts.turn
      const answers = await hooks.collect('post_llm_call_can_reissue', dispatchContextOf(facts.turn), () => ({
        session_id: sessionId,
        turn_id: turnId,
        iteration: facts.iteration,
        model,
        provider,
        request,
        response,
        platform,
      }))
      const override = firstOverride(answers, misfitAt('post_llm_call_can_reissue'))
      return override === undefined ? null : applyOverride(request, override)
    },

    onStreamStart(facts) {
      hooks.notify('on_stream_start', dispatchContextOf(facts.turn), () => streamKeys(facts))
    },
    onStreamDelta(facts, kind, delta) {
      if (kind === 'reasoning' && !streamReasoning()) return
      hooks.notify('on_stream_delta', dispatchContextOf(facts.turn), () => ({ ...streamKeys(facts), delta, kind }))
    },
    onStreamEnd(facts, finalText, error) {
      hooks.notify('on_stream_end', dispatchContextOf(facts.turn), () => ({
        ...streamKeys(facts),
        final_text: finalText,
        finished: error === null,
        error,
      }))
    },
  }
}

function observedRequest(facts: RequestInfo, request: ModelRequest) {
  return { ...requestKeys(facts), request: redactRequest(request) }
}

/** The model stays a name, and models are always streamed, whatever a plugin says. */
function applyOverride(request: ModelRequest, override: Readonly<Record<string, unknown>> | undefined): ModelRequest {
  if (override === undefined) return request
  const { model } = override
  const named = typeof model === 'string' && model !== '' ? model : request.model
  return { ...request, ...override, model: named, stream: true }
}
