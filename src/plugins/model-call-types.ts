/**
 * The callbacks of model calls as plugins see them: the request, the chunks and the response have the types of the API mode.
 *
 * The middleware itself knows no models, so its own types are wider (`src/middleware/contract.ts`).
 */
import type { ApiMode } from '../agent/models/provider.ts'
import type { WireChunk, WireRequest, WireResponse } from '../agent/models/wire-types.ts'
import type {
  Awaitable,
  Fields,
  GuardrailDecision,
  Guardrails,
  HermesMiddlewareKinds,
  Intercepts,
  LlmExecutionPayload,
  LlmRequestPayload,
  ModelCallView,
  Next,
  RewriteResult,
  RewrittenRequest,
} from '../middleware/contract.ts'

/** A model call. `apiMode` tells the type of the request. */
export type ModelCall<Mode extends ApiMode = ApiMode> = {
  [One in Mode]: ModelCallView<WireRequest<One>> & { readonly apiMode: One }
}[Mode]

/** The payload of `llm_request`. `api_mode` tells the type of the request. */
export type LlmRequestCall<Mode extends ApiMode = ApiMode> = {
  [One in Mode]: LlmRequestPayload<WireRequest<One>> & { readonly api_mode: One }
}[Mode]

/** The payload of `llm_execution`. `api_mode` tells the types of the request and of what `next_call` returns. */
export type LlmExecutionCall<Mode extends ApiMode = ApiMode> = {
  [One in Mode]: LlmExecutionPayload<WireRequest<One>, WireResponse<One>> & { readonly api_mode: One }
}[Mode]

export interface PluginGuardrails extends Omit<Guardrails, 'model'> {
  readonly model: (call: ModelCall) => Awaitable<GuardrailDecision>
}

export interface PluginIntercepts extends Omit<Intercepts, 'model_request' | 'model_execution' | 'model_stream'> {
  readonly model_request: (call: ModelCall) => Awaitable<RewrittenRequest>
  readonly model_execution: (call: ModelCall, next: Next<Fields, WireResponse>) => Awaitable<unknown>
  readonly model_stream: (
    call: ModelCall,
    next: Next<Fields, AsyncIterable<WireChunk>>,
  ) => Awaitable<AsyncIterable<unknown>>
}

type LlmRequestCallback = (payload: LlmRequestCall) => Awaitable<RewriteResult | null | undefined>
type LlmExecutionCallback = (payload: LlmExecutionCall) => Awaitable<unknown>

export interface PluginMiddlewareKinds
  extends Omit<HermesMiddlewareKinds, 'llm_request' | 'llm_execution' | 'api_request' | 'api_execution'> {
  readonly llm_request: LlmRequestCallback
  readonly llm_execution: LlmExecutionCallback
  /** The older names of `llm_request` and `llm_execution`. */
  readonly api_request: LlmRequestCallback
  readonly api_execution: LlmExecutionCallback
}
