/**
 * The types of managed calls: the callbacks that may be registered, what they receive and what they return.
 *
 * There are two families (design, "Managed calls"): NeMo's guardrails, intercepts and sanitizers, which fail closed
 * (seed 002; `contract/middleware.md` §1), and Hermes' four kinds, which fail open (seed 000; `contract/hermes.md` §2.8).
 * Every callback receives one object. Nothing is built, copied or timed for a call without registrations.
 */

/** A plain JSON object. */
export type Fields = Readonly<Record<string, unknown>>

/** A value or a promise of it. */
export type Awaitable<Value> = Value | Promise<Value>

// — Scopes

export type ScopeType =
  | 'agent'
  | 'function'
  | 'tool'
  | 'llm'
  | 'retriever'
  | 'embedder'
  | 'reranker'
  | 'guardrail'
  | 'evaluator'
  | 'custom'
  | 'unknown'

/**
 * A unit of work: session ⊃ turn ⊃ iteration ⊃ call. Registrations on a scope apply to everything that runs inside it and are
 * removed when it closes.
 */
export interface Scope extends MiddlewareRegistrar {
  /** Uuid v7. */
  readonly uuid: string
  readonly name: string
  readonly type: ScopeType
  /** Undefined for a root. */
  readonly parent: Scope | undefined
  readonly closed: boolean
  /** Publishes an event at a point in time, within this scope. */
  mark(name: string, data?: unknown, metadata?: Fields): void
}

export interface ScopeSpec {
  readonly name: string
  /** Default: `function`. */
  readonly type?: ScopeType
  /** The `data` of the start event. */
  readonly input?: unknown
  readonly metadata?: Fields
  /** Default: the current scope. `null` opens a new root, as sessions do. */
  readonly parent?: Scope | null
}

// — Calls, as callbacks see them

interface CallView {
  /** The scope that the call runs in. */
  readonly scope: Scope
  /** Aborts when the result of the call is no longer needed. */
  readonly signal: AbortSignal
  /** Context of the call: `session_id`, `turn_id`, `platform`, `route` … */
  readonly fields: Fields
}

export interface ToolCallView<Args = Fields> extends CallView {
  readonly toolName: string
  readonly toolCallId: string
  readonly args: Args
}

export interface ModelCallView<Request = Fields> extends CallView {
  readonly provider: string
  readonly model: string
  /** The format of the request and of the response: `api_mode` of `fields`; '' if the caller gives none. */
  readonly apiMode: string
  readonly request: Request
}

// — The NeMo family. A callback that throws fails the call, unless it was registered with `fails: 'open'`.

/** Null or undefined allows the call. A string rejects it and is the reason. Any other value is an error. */
export type GuardrailDecision = string | null | undefined

/** Replaces the whole request. Returning undefined instead is an error. */
export interface RewrittenRequest {
  readonly request: Fields
  /** Published right after the start event. */
  readonly pendingMarks?: readonly PendingMark[]
}

export interface PendingMark {
  readonly name: string
  readonly data?: unknown
  readonly metadata?: Fields
}

/**
 * Runs the rest of the call with the given input; without one, with the input that the intercept received. May be called any
 * number of times, in sequence or in parallel. Each call runs the tool or the provider: a tool with a side effect repeats it,
 * and the journal records only the first. Rejects once the intercept has settled.
 */
export type Next<Input, Output> = (input?: Input) => Promise<Output>

export interface Intercepts {
  /** Returns the arguments that replace the ones it received. */
  readonly tool_request: (call: ToolCallView) => Awaitable<Fields>
  readonly model_request: (call: ModelCallView) => Awaitable<RewrittenRequest>
  /** Wraps or replaces the call. Results are passed on unchanged. */
  readonly tool_execution: (call: ToolCallView, next: Next<Fields, unknown>) => Awaitable<unknown>
  readonly model_execution: (call: ModelCallView, next: Next<Fields, unknown>) => Awaitable<unknown>
  /** Wraps the chunks. Nothing is read ahead. Closing the returned stream closes the streams that `next` returned. */
  readonly model_stream: (
    call: ModelCallView,
    next: Next<Fields, AsyncIterable<unknown>>,
  ) => Awaitable<AsyncIterable<unknown>>
}

export interface Guardrails {
  readonly tool: (call: ToolCallView) => Awaitable<GuardrailDecision>
  readonly model: (call: ModelCallView) => Awaitable<GuardrailDecision>
}

/**
 * Change what subscribers receive, never the call. Returning null or undefined, or throwing, omits the payload and skips the
 * remaining sanitizers.
 */
export interface Sanitizers {
  readonly tool_request: (payload: unknown, call: { readonly toolName: string }) => Awaitable<unknown>
  readonly tool_response: (payload: unknown, call: { readonly toolName: string }) => Awaitable<unknown>
  readonly model_request: (
    payload: unknown,
    call: { readonly provider: string; readonly model: string },
  ) => Awaitable<unknown>
  readonly model_response: (
    payload: unknown,
    call: { readonly provider: string; readonly model: string },
  ) => Awaitable<unknown>
  /** The return value replaces the three fields of the event that may carry user content. A throw clears all three. */
  readonly mark: (event: ManagedEvent, parts: EventFields) => Awaitable<EventFields>
  readonly scope_start: (event: ManagedEvent, parts: EventFields) => Awaitable<EventFields>
  readonly scope_end: (event: ManagedEvent, parts: EventFields) => Awaitable<EventFields>
}

export interface EventFields {
  readonly data: unknown
  readonly category_profile: Fields | null
  readonly metadata: Fields | null
}

// — Hermes' kinds (seed 000). They fail open: a callback that throws is skipped, and nothing runs twice. Throwing a
//   `GuardrailRejected` rejects the call.

/** Returned by the two request kinds. Null, undefined or a missing key means no change. */
export interface RewriteResult extends Partial<RewriteTraceEntry> {
  readonly request?: Fields
  readonly args?: Fields
}

/** Describes a rewrite, as its plugin reports it. */
export interface RewriteTraceEntry {
  readonly source: string
  readonly reason: string
  readonly name: string
}

interface HermesPayload {
  readonly telemetry_schema_version: 'hermes.observer.v1'
  readonly middleware_schema_version: 'hermes.middleware.v1'
  readonly scope: Scope
  readonly signal: AbortSignal
  /** `session_id`, `task_id`, `turn_id`, `api_request_id`, `provider`, `model`, `api_mode`, `platform`, `route` … */
  readonly [key: string]: unknown
}

export interface LlmRequestPayload<Request = Fields> extends HermesPayload {
  readonly request: Request
  readonly original_request: Request
}

export interface ToolRequestPayload extends HermesPayload {
  readonly tool_name: string
  readonly tool_call_id: string
  readonly args: Fields
  readonly original_args: Fields
}

/**
 * The return value of an execution callback is the result of the call. After `next_call`, returning undefined keeps the result;
 * without `next_call`, undefined is the result. A failure of the rest never turns into null or undefined.
 */
export interface LlmExecutionPayload<Request = Fields, Response = unknown> extends LlmRequestPayload<Request> {
  readonly middleware_trace: readonly Partial<RewriteTraceEntry>[]
  /** May be called once. A second call rejects with `middleware/next-called-twice` and has no effect. */
  readonly next_call: (request?: Fields | null) => Promise<Response>
}

export interface ToolExecutionPayload extends ToolRequestPayload {
  readonly middleware_trace: readonly Partial<RewriteTraceEntry>[]
  /** May be called once. A second call rejects with `middleware/next-called-twice` and has no effect. */
  readonly next_call: (args?: Fields | null) => Promise<unknown>
}

export interface HermesMiddlewareKinds {
  readonly llm_request: (payload: LlmRequestPayload) => Awaitable<RewriteResult | null | undefined>
  readonly tool_request: (payload: ToolRequestPayload) => Awaitable<RewriteResult | null | undefined>
  readonly llm_execution: (payload: LlmExecutionPayload) => Awaitable<unknown>
  readonly tool_execution: (payload: ToolExecutionPayload) => Awaitable<unknown>
  /** The older names of `llm_request` and `llm_execution`. */
  readonly api_request: HermesMiddlewareKinds['llm_request']
  readonly api_execution: HermesMiddlewareKinds['llm_execution']
}

// — Registration

/** `closed`: the call fails with the error. `open`: the error is logged and the call continues without the callback. */
export type FailureMode = 'open' | 'closed'

export interface RegistrationOptions {
  /** Lower values run first and wrap higher ones. Default: 0. */
  readonly priority?: number
  /** Default: the mode of the family. */
  readonly fails?: FailureMode
}

export interface ExecutionOptions extends RegistrationOptions {
  /**
   * For wrappers of model calls: what becomes of the model's text. `unchanged`: the wrapper returns the response of the model,
   * so the text is shown while it is streamed. `replaced`: the wrapper returns another text, so nothing is shown before the call
   * has ended. Default: chats show the streamed text and replace it by an edit if the wrapper returns another one; the stream of
   * the API, which cannot be edited, waits for the end of the call.
   */
  readonly answers?: AnswerMode
}

export type AnswerMode = 'unchanged' | 'replaced'

export interface InterceptOptions extends ExecutionOptions {
  /** For request intercepts: skips the ones after this one. */
  readonly breakChain?: boolean
}

export interface Registration {
  readonly name: string
  /** Removes the registration; running calls keep it. Returns false if it was removed before. */
  remove(): boolean
}

/**
 * Implemented by three levels: global (`Middleware`), a plugin (`Middleware.forPlugin`) and a scope. Names are unique within a
 * registry of a level: a second registration throws `middleware/name-taken`.
 */
export interface MiddlewareRegistrar {
  registerGuardrail<On extends keyof Guardrails>(
    name: string,
    on: On,
    guardrail: Guardrails[On],
    options?: RegistrationOptions,
  ): Registration
  registerIntercept<Point extends keyof Intercepts>(
    name: string,
    point: Point,
    intercept: Intercepts[Point],
    options?: InterceptOptions,
  ): Registration
  registerSanitizer<Point extends keyof Sanitizers>(
    name: string,
    point: Point,
    sanitizer: Sanitizers[Point],
    options?: Pick<RegistrationOptions, 'priority'>,
  ): Registration
  /** Receives events from a queue, so that it never delays a call. Its errors are logged. */
  registerSubscriber(
    name: string,
    subscriber: (event: ManagedEvent) => Awaitable<void>,
    options?: SubscriberOptions,
  ): Registration
  registerMiddleware<Kind extends keyof HermesMiddlewareKinds>(
    kind: Kind,
    callback: HermesMiddlewareKinds[Kind],
    options?: ExecutionOptions,
  ): Registration
}

// — Events (ATOF 0.1, `contract/middleware.md` §1.9)

export interface SubscriberOptions {
  /**
   * The subscriber receives a mark `llm.chunk` with `{ chunk_index }` for each chunk of a model call as well.
   * Default: false.
   */
  readonly chunks?: boolean
}

/** Serialises to the format of ATOF, with timestamps in microseconds. */
export interface ManagedEvent {
  readonly kind: 'scope' | 'mark'
  readonly atof_version: '0.1'
  readonly uuid: string
  readonly parent_uuid: string | null
  /** ISO 8601, UTC, six decimals. Formatted on each read. */
  readonly timestamp: string
  /** Microseconds since 1970. */
  readonly timestampUs: number
  readonly name: string
  /** Set for scope events. */
  readonly scope_category?: 'start' | 'end'
  readonly category: ScopeType
  /** `model_name`, `tool_call_id`, `time_to_first_chunk` (seconds) … */
  readonly category_profile: Fields | null
  readonly attributes?: readonly string[]
  readonly data: unknown
  readonly data_schema: Fields | null
  readonly metadata: Fields | null
}
