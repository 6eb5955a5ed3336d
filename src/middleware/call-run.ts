/**
 * The state of one managed call, shared by all its stages.
 */
import { HermesError, messageOf } from '../lib/errors.ts'
import { logDetached, runWithAbort } from './calls.ts'
import { CancellationScope } from './cancellation.ts'
import type { Fields, RewriteTraceEntry, ScopeType } from './contract.ts'
import { deepCopy, frozenCopy } from './copy.ts'
import { describeOrigin, type ErrorOrigin, failureMetadata, isAbortError } from './failures.ts'
import type { RewriteTrace } from './managed-call.ts'
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
  readonly kind: 'tool' | 'model'
  /** Name of the tool or the provider; events have the same name. */
  readonly name: string
  /** The scope that the call was made in. The call's own scope is a child of it. */
  readonly scope: ScopeNode
  readonly signal: AbortSignal
  /** The call was aborted and has settled for its caller, but code in it still runs. */
  detached = false
  /** The first failure after an abort. Callbacks cannot suppress it. */
  abortError: { readonly error: unknown } | undefined
  /** Number of handlers that are running. */
  activeHandlers = 0
  /** Called when the call is detached. */
  onDetach: (() => void) | undefined
  readonly #options: CallOptions
  readonly #input: Fields
  #fields: Fields | undefined
  #metadata: Fields | undefined
  #trace: Partial<RewriteTraceEntry>[] | undefined
  #original: Fields | undefined

  constructor(
    context: PipelineContext,
    kind: 'tool' | 'model',
    name: string,
    scope: ScopeNode,
    options: CallOptions,
    input: Fields,
  ) {
    this.context = context
    this.kind = kind
    this.name = name
    this.scope = scope
    this.signal = options.signal ?? context.neverSignal
    this.#options = options
    this.#input = input
  }

  get category(): ScopeType {
    return this.kind === 'tool' ? 'tool' : 'llm'
  }

  /** Built on first use, because most calls do not need it. */
  get fields(): Fields {
    this.#fields ??= this.#options.fields?.() ?? noFields
    return this.#fields
  }

  /** A copy of the fields for events, so that a subscriber cannot change the fields of the call. */
  get metadata(): Fields {
    this.#metadata ??= deepCopy(this.fields)
    return this.#metadata
  }

  /** The rewrites so far. */
  get trace(): RewriteTrace {
    return this.#trace ?? noTrace
  }

  /** A frozen copy of the caller's input, for the `original_*` keys of payloads. */
  get original(): Fields {
    this.#original ??= frozenCopy(this.#input)
    return this.#original
  }

  /** Copies the input now. Must run before a callback that may change the input, if `original` is read later. */
  captureOriginal(): void {
    this.#original ??= frozenCopy(this.#input)
  }

  recordRewrite(entry: Partial<RewriteTraceEntry>): void {
    this.#trace ??= []
    this.#trace.push(entry)
  }

  /** Called for every failure inside the call. */
  recordFailure(error: unknown): void {
    if (this.signal.aborted) this.abortError ??= { error }
  }

  /** Called by stages that fail open: a failure after an abort ends the call in any case. */
  throwIfAborted(error: unknown): void {
    if (!this.signal.aborted) return
    throw isAbortError(error, this.signal) ? error : this.signal.reason
  }

  /** Settles the call for its caller although code in it ignores the abort. */
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

  /** Prevents a detached call from starting further stages. */
  throwIfDetached(): void {
    if (this.detached) throw this.signal.reason
  }

  /** The error of a `next` that is called, or still runs, after its owner has settled. */
  nextRevokedError(owner: ErrorOrigin): unknown {
    return this.signal.aborted
      ? this.signal.reason
      : new HermesError('middleware/next-revoked', `It belongs to ${describeOrigin(owner)}.`)
  }

  /** Rejects a `next` that comes too late, and records the failure, so that no stage can suppress an abort. */
  rejectNextRevoked(owner: ErrorOrigin): Promise<never> {
    const error = this.nextRevokedError(owner)
    this.recordFailure(error)
    return handledRejection(error)
  }

  /** Publishes a mark for a failed request intercept. NeMo publishes nothing here, so that subscribers miss the call. */
  publishRequestFailure(point: string, { name, plugin }: ErrorOrigin, error: unknown): void {
    const { snapshot } = this.scope
    if (snapshot.subscribers.length === 0) return
    this.context.publisher.mark(snapshot, this.scope, {
      name: this.name,
      category: this.category,
      profile: null,
      data: { kind: point, intercept: name, plugin: plugin ?? null, error: messageOf(error) },
      metadata: { ...this.metadata, ...failureMetadata(error, this.signal) },
    })
  }
}
