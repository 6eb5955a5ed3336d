/**
 * What may be put around a managed call, and what each of it gets and gives back.
 *
 * Two families meet here (design, "Managed calls"): NeMo's guardrails, intercepts and sanitizers, which fail closed
 * (seed 002; `contract/middleware.md` §1), and Hermes' four kinds, which fail open (seed 000; `contract/hermes.md` §2.8).
 * Every callback gets one object. Nothing of it is built, copied or timed unless somebody looks.
 */

/** A plain object, as JSON has them. */
export type Fields = Readonly<Record<string, unknown>>

/** What may be returned: the value, or a promise of it. */
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
 * A piece of work: session ⊃ turn ⊃ iteration ⊃ call. What is registered on it holds for everything that runs inside of it,
 * and is gone when it closes.
 */
export interface Scope extends MiddlewareRegistrar {
  /** Uuid v7. */
  readonly uuid: string
  readonly name: string
  readonly type: ScopeType
  /** Undefined for a root. */
  readonly parent: Scope | undefined
  readonly closed: boolean
  /** An event at a point in time, within this scope. */
  mark(name: string, data?: unknown, metadata?: Fields): void
}

export interface ScopeSpec {
  readonly name: string
  /** `function` if left out. */
  readonly type?: ScopeType
  /** For the start event. */
  readonly input?: unknown
  readonly metadata?: Fields
  /** The scope it belongs to; the current one if left out. `null` opens a fresh root: a lane begins so. */
  readonly parent?: Scope | null
}

// — Calls, as callbacks see them

interface CallView {
  /** The scope the call runs in. */
  readonly scope: Scope
  /** Aborts when nobody waits for the call any more. */
  readonly signal: AbortSignal
  /** Ids and names around the call, in the keys of the contract: `session_id`, `turn_id`, `platform`, `route` … */
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
  readonly request: Request
}

// — The NeMo family. A throw anywhere in it fails the call, unless its registration says `fails: 'open'`.

/** Null or undefined allows; a text is the reason of a refusal; anything else is an error. */
export type GuardrailDecision = string | null | undefined

/** The whole request that takes the place of the one it got; undefined is an error. */
export interface RewrittenRequest {
  readonly request: Fields
  /** Marks that follow the start event. */
  readonly pendingMarks?: readonly PendingMark[]
}

export interface PendingMark {
  readonly name: string
  readonly data?: unknown
  readonly metadata?: Fields
}

/**
 * The rest of the call, with these arguments or, without them, with those the caller had. May be called any number of
 * times, one after another or at once, and runs the tool or the provider each time: a tool with an effect has it each
 * time, and only the first is noted. Rejects once the intercept that got it has settled.
 */
export type Next<Input, Output> = (input?: Input) => Promise<Output>

export interface Intercepts {
  /** Returns the arguments that take the place of those it got. */
  readonly tool_request: (call: ToolCallView) => Awaitable<Fields>
  readonly model_request: (call: ModelCallView) => Awaitable<RewrittenRequest>
  /** Wraps or replaces the call. Results pass through as they are. */
  readonly tool_execution: (call: ToolCallView, next: Next<Fields, unknown>) => Awaitable<unknown>
  readonly model_execution: (call: ModelCallView, next: Next<Fields, unknown>) => Awaitable<unknown>
  /** Wraps the chunks, lazily: nothing is read ahead, and closing what it returns closes what `next` gave it. */
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
 * Change what subscribers see, never what runs. `null` or undefined leaves the payload out; a throw does so too, and the
 * sanitizers after it are skipped.
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
  /** The three parts of an event that carry what people wrote; what is returned replaces all three, a throw clears them. */
  readonly mark: (event: ManagedEvent, parts: EventFields) => Awaitable<EventFields>
  readonly scope_start: (event: ManagedEvent, parts: EventFields) => Awaitable<EventFields>
  readonly scope_end: (event: ManagedEvent, parts: EventFields) => Awaitable<EventFields>
}

export interface EventFields {
  readonly data: unknown
  readonly category_profile: Fields | null
  readonly metadata: Fields | null
}

// — Hermes' kinds (seed 000). They fail open: one that throws is skipped, and nothing ever runs twice. A `GuardrailRejected`
//   that one throws is a refusal, no failure: the call ends with it.

/** Of the two request kinds. Null, undefined or a missing key means no change. */
export interface RewriteResult extends Partial<RewriteTraceEntry> {
  readonly request?: Fields
  readonly args?: Fields
}

/** Which plugin changed something, in its own words. */
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

export interface LlmRequestPayload extends HermesPayload {
  readonly request: Fields
  readonly original_request: Fields
}

export interface ToolRequestPayload extends HermesPayload {
  readonly tool_name: string
  readonly tool_call_id: string
  readonly args: Fields
  readonly original_args: Fields
}

/**
 * What an execution callback returns is the result. Undefined from one that has called `next_call` leaves the result as it
 * is; from one that has not, it is the result. A failure of the rest is never turned into null or undefined.
 */
export interface LlmExecutionPayload extends LlmRequestPayload {
  readonly middleware_trace: readonly Partial<RewriteTraceEntry>[]
  /** Once: a second call throws `middleware/next-called-twice` and changes nothing. */
  readonly next_call: (request?: Fields | null) => Promise<unknown>
}

export interface ToolExecutionPayload extends ToolRequestPayload {
  readonly middleware_trace: readonly Partial<RewriteTraceEntry>[]
  /** Once: a second call throws `middleware/next-called-twice` and changes nothing. */
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

// — Registering

/** `closed`: the call fails with the error. `open`: the error is logged, and the call goes on without this one. */
export type FailureMode = 'open' | 'closed'

export interface RegistrationOptions {
  /** Lower runs first and is further out; 0 if left out. */
  readonly priority?: number
  /** As its family does, if left out. */
  readonly fails?: FailureMode
}

export interface InterceptOptions extends RegistrationOptions {
  /** Of request intercepts: the ones after it are skipped, its output stays. */
  readonly breakChain?: boolean
}

export interface Registration {
  readonly name: string
  /** Takes it away; calls that run keep it. False when it was gone already. */
  remove(): boolean
}

/**
 * Three levels implement this: everything (`Middleware`), a plugin (`Middleware.forPlugin`) and a scope. Names are unique
 * within a registry of a level: a second one throws `middleware/name-taken`.
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
  /** Never delays a call: events wait for it in a queue. What it throws is logged. */
  registerSubscriber(name: string, subscriber: (event: ManagedEvent) => Awaitable<void>): Registration
  registerMiddleware<Kind extends keyof HermesMiddlewareKinds>(
    kind: Kind,
    callback: HermesMiddlewareKinds[Kind],
    options?: RegistrationOptions,
  ): Registration
}

// — Events (ATOF 0.1, `contract/middleware.md` §1.9)

/** Serialises as ATOF does; the timestamps are texts with microseconds. */
export interface ManagedEvent {
  readonly kind: 'scope' | 'mark'
  readonly atof_version: '0.1'
  readonly uuid: string
  readonly parent_uuid: string | null
  /** ISO 8601, UTC, six decimals; written when it is read. */
  readonly timestamp: string
  /** Microseconds since 1970. */
  readonly timestampUs: number
  readonly name: string
  /** Of scope events. */
  readonly scope_category?: 'start' | 'end'
  readonly category: ScopeType
  /** `model_name`, `tool_call_id`, `time_to_first_chunk` (seconds) … */
  readonly category_profile: Fields | null
  readonly attributes?: readonly string[]
  readonly data: unknown
  readonly data_schema: Fields | null
  readonly metadata: Fields | null
}

// — The managed call, as its caller makes it

interface ManagedCall {
  readonly signal?: AbortSignal
  /** Ids and names for callbacks; called once, and only if somebody looks. */
  fields?(): Fields
}

export interface ManagedToolCall<Args extends Fields, Result> extends ManagedCall {
  readonly toolName: string
  readonly toolCallId: string
  readonly args: Args
  /**
   * Step 4, on the effective arguments: returns those that run, throws what refuses. Runs once, after every rewrite and
   * before anything has an effect. `trace` says who rewrote them.
   */
  policy?(args: Args, trace: RewriteTrace): Awaitable<Args>
  /** The tool itself. Runs at most once for each way through the chain. */
  handler(args: Args, signal: AbortSignal): Promise<Result>
}

export interface ManagedModelCall<Request extends Fields, Chunk, Response> extends ManagedCall {
  readonly provider: string
  readonly model: string
  readonly request: Request
  /** Kora's rewrite, after every other one (seed 003): returns the request that goes out. */
  rewrite?(request: Request, trace: RewriteTrace): Awaitable<Request>
  /** Step 4: the effective request is known. Must not change it. */
  onRequest?(request: Request, trace: RewriteTrace): void
  /** One attempt at the vendor: yields its chunks, returns the aggregated response. */
  stream(request: Request, signal: AbortSignal): AsyncGenerator<Chunk, Response, void>
  /** Aggregates chunks that stream intercepts have changed; without such intercepts it is not asked for. */
  collector(): ChunkCollector<Chunk, Response>
  /** A stream begins; when an intercept calls `next` again, it begins anew, and the chunks so far count no more. */
  onStreamStart?(): void
  /** Each chunk once, as it leaves the stream intercepts. A throw ends the call, never the process. */
  onChunk?(chunk: Chunk): void
}

export interface ChunkCollector<Chunk, Response> {
  add(chunk: Chunk): void
  /** Called once. Throws when the chunks are no whole answer. */
  finish(): Response
}

/** Who rewrote a request, in order; empty when nobody did. */
export type RewriteTrace = readonly Partial<RewriteTraceEntry>[]

export interface Middleware extends MiddlewareRegistrar {
  /** The registrar of a plugin; the order in which plugins were loaded decides between equals. */
  forPlugin(plugin: string): MiddlewareRegistrar
  /**
   * Runs a tool through everything that is registered. Rejects as the handler rejects, with the very same error;
   * `GuardrailRejected` when a guardrail refuses.
   */
  tool<Args extends Fields, Result>(call: ManagedToolCall<Args, Result>): Promise<Result>
  /** Runs one attempt at a model. Rejects like `tool`. */
  model<Request extends Fields, Chunk, Response>(call: ManagedModelCall<Request, Chunk, Response>): Promise<Response>
  /** Runs work in a scope of its own, which closes when the work has settled. Rejects as the work rejects. */
  scope<Value>(spec: ScopeSpec, work: (scope: Scope) => Promise<Value>): Promise<Value>
  /** Where the caller is; outside of everything, a root. */
  currentScope(): Scope
  /** Runs something in a scope that was remembered; for requests that come back from other processes. */
  runInScope<Value>(scope: Scope, work: () => Value): Value
  /** Whether anything that is registered may change what the model says, so that drafts must wait for it. */
  canChangeModelOutput(): boolean
  /**
   * Whose error a call rejected with, for people: `"cap" of the plugin "budget"`. Null when it is the tool's or the
   * provider's own, or when what was thrown is no object.
   */
  errorOrigin(error: unknown): string | null
  /** Resolves when subscribers have had every event so far. */
  flush(): Promise<void>
  eventCounts(): { readonly waiting: number; readonly delivered: number; readonly dropped: number }
}
