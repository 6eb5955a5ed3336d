/**
 * The types for callers of the middleware: a managed call, and the middleware that runs it.
 */
import type { Awaitable, Fields, MiddlewareRegistrar, RewriteTraceEntry, Scope, ScopeSpec } from './contract.ts'

interface ManagedCall {
  readonly signal?: AbortSignal
  /** Context for callbacks. Called at most once, and only if a callback or an event needs it. */
  fields?(): Fields
}

export interface ManagedToolCall<Args extends Fields, Result> extends ManagedCall {
  readonly toolName: string
  readonly toolCallId: string
  readonly args: Args
  /**
   * Decides about the effective arguments: returns the arguments to run, or throws to reject the call. Runs once, after all
   * rewrites and before the tool. `trace` lists the rewrites.
   */
  policy?(args: Args, trace: RewriteTrace): Awaitable<Args>
  /** Runs the tool. Called once for each call of `next` that reaches it. */
  handler(args: Args, signal: AbortSignal): Promise<Result>
}

export interface ManagedModelCall<Request extends Fields, Chunk, Response> extends ManagedCall {
  readonly provider: string
  readonly model: string
  readonly request: Request
  /** The last rewrite (Kora, seed 003): returns the request to send. */
  rewrite?(request: Request, trace: RewriteTrace): Awaitable<Request>
  /** Called with the effective request before it is sent. Must not change it. */
  onRequest?(request: Request, trace: RewriteTrace): void
  /** One attempt: yields the chunks of the provider and returns the aggregated response. */
  stream(request: Request, signal: AbortSignal): AsyncGenerator<Chunk, Response, void>
  /** Aggregates the chunks that stream intercepts return. Called only if there are such intercepts. */
  collector(): ChunkCollector<Chunk, Response>
  /** A stream starts. When an intercept calls `next` again, a new stream starts and replaces the chunks so far. */
  onStreamStart?(): void
  /** Receives each chunk once, after the stream intercepts. A throw fails the call. */
  onChunk?(chunk: Chunk): void
}

export interface ChunkCollector<Chunk, Response> {
  add(chunk: Chunk): void
  /** Called once. Throws if the chunks are not a complete response. */
  finish(): Response
}

/**
 * `final`: it stays as it is. `provisional`: a wrapper may return another text, so it may be shown only where it can be
 * replaced. `withheld`: a wrapper replaces it, so it must not be shown.
 */
export type StreamedText = 'final' | 'provisional' | 'withheld'

/** The rewrites of a request, in order. */
export type RewriteTrace = readonly Partial<RewriteTraceEntry>[]

export interface Middleware extends MiddlewareRegistrar {
  /** The registrar of a plugin. Among equal priorities, plugins run in the order in which they were loaded. */
  forPlugin(plugin: string): MiddlewareRegistrar
  /**
   * Runs a tool call through all registrations. Rejects with the error object that the handler threw, or with
   * `GuardrailRejected`.
   */
  tool<Args extends Fields, Result>(call: ManagedToolCall<Args, Result>): Promise<Result>
  /** Runs one model request through all registrations. Rejects like `tool`. */
  model<Request extends Fields, Chunk, Response>(call: ManagedModelCall<Request, Chunk, Response>): Promise<Response>
  /** Runs work in a new scope, which closes when the work has settled. Rejects as the work rejects. */
  scope<Value>(spec: ScopeSpec, work: (scope: Scope) => Promise<Value>): Promise<Value>
  /** The scope of the running code; outside of all scopes, a root. */
  currentScope(): Scope
  /** Runs work in an existing scope, for requests that arrive from other processes. */
  runInScope<Value>(scope: Scope, work: () => Value): Value
  /** Whether a registration wraps model calls and so can return another response, whatever its options say. */
  canChangeModelOutput(): boolean
  /** How the text of a model call may be shown while it is streamed. */
  streamedText(): StreamedText
  /**
   * The registration that threw the error of a call: `"cap" of the plugin "budget"`. Null for errors of tools and providers, and
   * for values that are not objects.
   */
  errorOrigin(error: unknown): string | null
  /** Resolves when subscribers have received all events so far. */
  flush(): Promise<void>
  eventCounts(): { readonly waiting: number; readonly delivered: number; readonly dropped: number }
  /** @deprecated Use `runInScope`. Removed in 0.3. */
  within: Middleware['runInScope']
  /** @deprecated Use `canChangeModelOutput`. Removed in 0.3. */
  changesAnswers: Middleware['canChangeModelOutput']
  /** @deprecated Use `errorOrigin`. Removed in 0.3. */
  culprit: Middleware['errorOrigin']
  /** @deprecated Use `eventCounts`. Removed in 0.3. */
  events: Middleware['eventCounts']
}
