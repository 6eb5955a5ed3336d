/**
 * One managed call on its way: what all its steps share.
 */
import { HermesError, messageOf } from '../lib/errors.ts'
import { CancellationScope, logDetached, runWithAbort } from './cancellation.ts'
import type { Fields, RewriteTrace, RewriteTraceEntry, ScopeType } from './contract.ts'
import { deepCopy, frozenCopy } from './copy.ts'
import { describeOrigin, type ErrorOrigin, failureMetadata, isAbortError } from './failures.ts'
import type { PipelineContext } from './pipeline-context.ts'
import { handledRejection } from './promises.ts'
import type { ScopeNode } from './scope.ts'

interface CallOptions {
  readonly signal?: AbortSignal
  fields?(): Fields
}

const noFields: Fields = {}
const noTrace: RewriteTrace = []

export class CallRun {
  readonly context: PipelineContext
  /** `tool` or `model`, for messages. */
  readonly kind: 'tool' | 'model'
  /** Of the tool or the provider; events are named after it. */
  readonly name: string
  /** Where the call was made; its own scope is inside of it. */
  readonly scope: ScopeNode
  readonly signal: AbortSignal
  /** Nobody waits for the call any more, although it has not settled. */
  detached = false
  /** What a way through the call failed with after the caller had aborted: nobody may swallow it. */
  abortError: { readonly error: unknown } | undefined
  /** Handlers that are at work. */
  activeHandlers = 0
  /** To be done when the caller leaves before the call has settled. */
  onDetach: (() => void) | undefined
  readonly #options: CallOptions
  readonly #given: Fields
  #fields: Fields | undefined
  #metadata: Fields | undefined
  #trace: Partial<RewriteTraceEntry>[] | undefined
  #original: Fields | undefined

  constructor(
    room: PipelineContext,
    kind: 'tool' | 'model',
    name: string,
    scope: ScopeNode,
    caller: CallOptions,
    given: Fields,
  ) {
    this.context = room
    this.kind = kind
    this.name = name
    this.scope = scope
    this.signal = caller.signal ?? room.neverSignal
    this.#options = caller
    this.#given = given
  }

  get category(): ScopeType {
    return this.kind === 'tool' ? 'tool' : 'llm'
  }

  /** Asked for once, and only if somebody looks. */
  get fields(): Fields {
    this.#fields ??= this.#options.fields?.() ?? noFields
    return this.#fields
  }

  /** For events: whoever changes them changes no fields. */
  get metadata(): Fields {
    this.#metadata ??= deepCopy(this.fields)
    return this.#metadata
  }

  /** Who rewrote the value so far. */
  get trace(): RewriteTrace {
    return this.#trace ?? noTrace
  }

  /** What the caller gave, for `original_*`, as a copy that nobody can change. */
  get original(): Fields {
    this.#original ??= frozenCopy(this.#given)
    return this.#original
  }

  /** To be called before anybody gets the value who may change it, if `original` will be asked for. */
  captureOriginal(): void {
    this.#original ??= frozenCopy(this.#given)
  }

  recordRewrite(entry: Partial<RewriteTraceEntry>): void {
    this.#trace ??= []
    this.#trace.push(entry)
  }

  /** To be told of each failure inside of the call. */
  recordFailure(error: unknown): void {
    if (this.signal.aborted) this.abortError ??= { error }
  }

  /** What an open step does with its failure when the caller has aborted: the abort goes on, whoever caught it. */
  throwIfAborted(error: unknown): void {
    if (!this.signal.aborted) return
    throw isAbortError(error, this.signal) ? error : this.signal.reason
  }

  /** The caller was called off, and something in the call does not listen: it goes on without a caller. */
  detach(): void {
    this.detached = true
    logDetached(this.context.log, this.kind, this.name, this.context.graceMs)
    this.onDetach?.()
  }

  /** Runs the stages of the call under its caller's signal. `mustFinish`: whether an abort has to wait for them. */
  runStages(stages: (root: CancellationScope) => Promise<unknown>, mustFinish: () => boolean): Promise<unknown> {
    const root = new CancellationScope(this.signal)
    return runWithAbort(() => stages(root), {
      signal: this.#options.signal,
      graceMs: this.context.graceMs,
      onAbort: () => root.abort(this.signal.reason),
      mustFinish,
      onDetach: () => this.detach(),
    })
  }

  /** What goes on without a caller must not begin anything new. */
  throwIfDetached(): void {
    if (this.detached) throw this.signal.reason
  }

  /** Why the rest of the call cannot be run any more by somebody who got it from `who`. */
  nextRevokedError(who: ErrorOrigin): unknown {
    return this.signal.aborted
      ? this.signal.reason
      : new HermesError('middleware/next-revoked', `It was given to ${describeOrigin(who)}.`)
  }

  /** The answer to somebody who asks for the rest of the call when it cannot be run any more: no step may swallow a stop. */
  rejectNextRevoked(who: ErrorOrigin): Promise<never> {
    const refusal = this.nextRevokedError(who)
    this.recordFailure(refusal)
    return handledRejection(refusal)
  }

  /** A request intercept failed. Upstream says nothing at all here; whoever watches would miss the call. */
  publishRequestFailure(point: string, { name, plugin }: ErrorOrigin, error: unknown): void {
    const audience = this.scope.snapshot
    if (audience.subscribers.length === 0) return
    this.context.publisher.mark(audience, this.scope, {
      name: this.name,
      category: this.category,
      profile: null,
      data: { kind: point, intercept: name, plugin: plugin ?? null, error: messageOf(error) },
      metadata: { ...this.metadata, ...failureMetadata(error, this.signal) },
    })
  }
}
