/**
 * What plugins hear and say of a model call.
 */
import type { AgentPoints, RequestFacts } from '../../agent/points.ts'
import type { ModelRequest } from '../../agent/provider.ts'
import { messageOf } from '../../lib/errors.ts'
import type { PluginHooks } from '../hooks/hooks.ts'
import { firstList, firstOverride, type Misfit, mergedOverride } from './answers.ts'
import { happeningIn, requestKeys, streamKeys, turnKeys } from './keys.ts'
import { watchedRequest } from './watched-request.ts'

type RequestPoints = Pick<
  AgentPoints,
  | 'filterTools'
  | 'rewriteRequest'
  | 'requestStarts'
  | 'requestEnded'
  | 'requestFailed'
  | 'reissue'
  | 'streamStarted'
  | 'streamDelta'
  | 'streamEnded'
>

export interface RequestPointsDeps {
  readonly hooks: PluginHooks
  /** `plugins.stream_reasoning_deltas`. */
  streamReasoning(): boolean
  /** Takes secrets out of a text: some vendors repeat the key they refuse. */
  redact(text: string): string
  misfitAt(point: string): Misfit
}

export function createRequestPoints({ hooks, streamReasoning, redact, misfitAt }: RequestPointsDeps): RequestPoints {
  return {
    async filterTools(turn, tools) {
      const answers = await hooks.collect('pre_tool_list_finalized', happeningIn(turn), () => ({
        ...turnKeys(turn),
        tools,
        provider: turn.provider,
      }))
      return firstList(answers, misfitAt('pre_tool_list_finalized')) ?? tools
    },

    async rewriteRequest(facts, request) {
      const answers = await hooks.collect('pre_api_request_mutable', happeningIn(facts.turn), () => ({
        ...requestKeys(facts),
        request,
      }))
      return overridden(request, mergedOverride(answers, misfitAt('pre_api_request_mutable')))
    },

    requestStarts(facts, request, trace) {
      hooks.tell('pre_api_request', happeningIn(facts.turn), () => ({
        ...watched(facts, request),
        middleware_trace: trace,
      }))
    },

    requestEnded(facts, request, trace, { response, usage, finishReason, durationMs }) {
      hooks.tell('post_api_request', happeningIn(facts.turn), () => ({
        ...watched(facts, request),
        response,
        usage,
        finish_reason: finishReason,
        duration_ms: durationMs,
        middleware_trace: trace,
      }))
    },

    requestFailed(facts, request, trace, { error, statusCode, retryable, reason, durationMs }) {
      hooks.tell('api_request_error', happeningIn(facts.turn), () => ({
        ...watched(facts, request),
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
      const answers = await hooks.collect('post_llm_call_can_reissue', happeningIn(facts.turn), () => ({
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
      return override === undefined ? null : overridden(request, override)
    },

    streamStarted(facts) {
      hooks.tell('on_stream_start', happeningIn(facts.turn), () => streamKeys(facts))
    },
    streamDelta(facts, kind, delta) {
      if (kind === 'reasoning' && !streamReasoning()) return
      hooks.tell('on_stream_delta', happeningIn(facts.turn), () => ({ ...streamKeys(facts), delta, kind }))
    },
    streamEnded(facts, finalText, error) {
      hooks.tell('on_stream_end', happeningIn(facts.turn), () => ({
        ...streamKeys(facts),
        final_text: finalText,
        finished: error === null,
        error,
      }))
    },
  }
}

function watched(facts: RequestFacts, request: ModelRequest) {
  return { ...requestKeys(facts), request: watchedRequest(request) }
}

/** The model stays a name, and models are always streamed, whatever a plugin says. */
function overridden(request: ModelRequest, override: Readonly<Record<string, unknown>> | undefined): ModelRequest {
  if (override === undefined) return request
  const { model } = override
  const named = typeof model === 'string' && model !== '' ? model : request.model
  return { ...request, ...override, model: named, stream: true }
}
