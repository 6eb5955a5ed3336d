/**
 * One managed call on its way: what all its steps share.
 */
import { HermesError, messageOf } from '../lib/errors.ts'
import { rejected } from './awaiting.ts'
import type { Fields, ScopeType, Trace, TraceEntry } from './contract.ts'
import { copyOf, frozenCopy } from './copies.ts'
import { failureMetadata, isAbort } from './endings.ts'
import { type Culprit, nameOf } from './failures.ts'
import type { Room } from './room.ts'
import type { ScopeNode } from './scope.ts'

interface Caller {
  readonly signal?: AbortSignal
  fields?(): Fields
}

const noFields: Fields = {}
const noTrace: Trace = []

export class CallRun {
  readonly room: Room
  /** `tool` or `model`, for messages. */
  readonly kind: 'tool' | 'model'
  /** Of the tool or the provider; events are named after it. */
  readonly name: string
  /** Where the call was made; its own scope is inside of it. */
  readonly scope: ScopeNode
  readonly signal: AbortSignal
  /** Nobody waits for the call any more, although it has not settled. */
  left = false
  /** What a way through the call failed with after the caller had aborted: nobody may swallow it. */
  cut: { readonly error: unknown } | undefined
  /** Handlers that are at work. */
  atWork = 0
  /** To be done when the caller leaves before the call has settled. */
  onLeave: (() => void) | undefined
  readonly #caller: Caller
  readonly #given: Fields
  #fields: Fields | undefined
  #metadata: Fields | undefined
  #trace: Partial<TraceEntry>[] | undefined
  #original: Fields | undefined

  constructor(room: Room, kind: 'tool' | 'model', name: string, scope: ScopeNode, caller: Caller, given: Fields) {
    this.room = room
    this.kind = kind
    this.name = name
    this.scope = scope
    this.signal = caller.signal ?? room.never
    this.#caller = caller
    this.#given = given
  }

  get category(): ScopeType {
    return this.kind === 'tool' ? 'tool' : 'llm'
  }

  /** Asked for once, and only if somebody looks. */
  get fields(): Fields {
    this.#fields ??= this.#caller.fields?.() ?? noFields
    return this.#fields
  }

  /** For events: whoever changes them changes no fields. */
  get metadata(): Fields {
    this.#metadata ??= copyOf(this.fields)
    return this.#metadata
  }

  /** Who rewrote the value so far. */
  get trace(): Trace {
    return this.#trace ?? noTrace
  }

  /** What the caller gave, for `original_*`, as a copy that nobody can change. */
  get original(): Fields {
    this.#original ??= frozenCopy(this.#given)
    return this.#original
  }

  /** To be called before anybody gets the value who may change it, if `original` will be asked for. */
  keepOriginal(): void {
    this.#original ??= frozenCopy(this.#given)
  }

  rewrittenBy(entry: Partial<TraceEntry>): void {
    this.#trace ??= []
    this.#trace.push(entry)
  }

  /** To be told of each failure inside of the call. */
  failed(error: unknown): void {
    if (this.signal.aborted) this.cut ??= { error }
  }

  /** What an open step does with its failure when the caller has aborted: the abort goes on, whoever caught it. */
  throwIfAborted(error: unknown): void {
    if (!this.signal.aborted) return
    throw isAbort(error, this.signal) ? error : this.signal.reason
  }

  /** The caller was called off, and something in the call does not listen: it goes on without a caller. */
  leave(): void {
    this.left = true
    const { log, graceMs } = this.room
    log.warn(
      { [this.kind]: this.name, graceMs },
      `a ${this.kind} call was called off, but something in it goes on; it is left behind`,
    )
    this.onLeave?.()
  }

  /** What goes on without a caller must not begin anything new. */
  throwIfLeft(): void {
    if (this.left) throw this.signal.reason
  }

  /** Why the rest of the call cannot be run any more by somebody who got it from `who`. */
  refusal(who: Culprit): unknown {
    return this.signal.aborted
      ? this.signal.reason
      : new HermesError('middleware/next-revoked', `It was given to ${nameOf(who)}.`)
  }

  /** The answer to somebody who asks for the rest of the call when it cannot be run any more: no step may swallow a stop. */
  refuse(who: Culprit): Promise<never> {
    const refusal = this.refusal(who)
    this.failed(refusal)
    return rejected(refusal)
  }

  /** A request intercept failed. Upstream says nothing at all here; whoever watches would miss the call. */
  tellFailedRequest(point: string, { name, plugin }: Culprit, error: unknown): void {
    const audience = this.scope.snapshot
    if (audience.subscribers.length === 0) return
    this.room.teller.mark(audience, this.scope, {
      name: this.name,
      category: this.category,
      profile: null,
      data: { kind: point, intercept: name, plugin: plugin ?? null, error: messageOf(error) },
      metadata: { ...this.metadata, ...failureMetadata(error, this.signal) },
    })
  }
}
