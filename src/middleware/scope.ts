/**
 * A scope: one piece of work, what is registered on it, and its place in the tree. Made for every scope and for every call
 * that somebody looks at, so that it costs little: the id is made when it is first read, the registries with the first
 * registration.
 */
import { HermesError } from '../lib/errors.ts'
import type {
  Awaitable,
  Fields,
  Guardrails,
  HermesMiddlewareKinds,
  InterceptOptions,
  Intercepts,
  ManagedEvent,
  MiddlewareRegistrar,
  Registration,
  RegistrationOptions,
  Sanitizers,
  Scope,
  ScopeType,
} from './contract.ts'
import { createRegistrar } from './registrar.ts'
import { createRegistrationScope, type RegistrationScope } from './registration-scope.ts'
import { mergeRegistrations, type Snapshot } from './snapshot.ts'

/** What scopes need of the room they are in. */
export interface ScopeContext {
  /** What holds everywhere. */
  baseSnapshot(): Snapshot
  newId(us: number): string
  /** Registrations have come or gone. */
  onRegistrationsChanged(by: number): void
  publishMark(scope: ScopeNode, name: string, data: unknown, metadata: Fields | undefined): void
}

interface LocalRegistrations {
  readonly registrations: RegistrationScope
  readonly registrar: MiddlewareRegistrar
}

export class ScopeNode implements Scope {
  readonly name: string
  readonly type: ScopeType
  readonly parent: ScopeNode | undefined
  /** µs since 1970. */
  readonly startedUs: number
  closed = false
  readonly #context: ScopeContext
  /** Whether events may name it as parent: false for what no event ever tells of. */
  readonly isPublished: boolean
  #uuid: string | undefined
  #local: LocalRegistrations | undefined
  #merged: { readonly under: Snapshot; readonly version: number; readonly snapshot: Snapshot } | undefined

  constructor(
    ground: ScopeContext,
    name: string,
    type: ScopeType,
    parent: ScopeNode | undefined,
    startedUs: number,
    told: boolean,
  ) {
    this.#context = ground
    this.name = name
    this.type = type
    this.parent = parent
    this.startedUs = startedUs
    this.isPublished = told
  }

  get uuid(): string {
    this.#uuid ??= this.#context.newId(this.startedUs)
    return this.#uuid
  }

  /** Of events in it; null for the root that nobody opened. */
  get publishedUuid(): string | null {
    return this.isPublished ? this.uuid : null
  }

  mark(name: string, data?: unknown, metadata?: Fields): void {
    this.#context.publishMark(this, name, data, metadata)
  }

  /** Who takes part in what happens in this scope, at this moment. */
  get snapshot(): Snapshot {
    let at: ScopeNode = this
    while (at.#local === undefined) {
      if (at.parent === undefined) return at.#context.baseSnapshot()
      at = at.parent
    }
    const { registrations } = at.#local
    const under = at.parent === undefined ? at.#context.baseSnapshot() : at.parent.snapshot
    if (at.#merged?.under !== under || at.#merged.version !== registrations.version)
      at.#merged = { under, version: registrations.version, snapshot: mergeRegistrations(under, [registrations]) }
    return at.#merged.snapshot
  }

  /** Whether it is that scope, or inside of it. */
  isWithin(other: ScopeNode): boolean {
    for (let at: ScopeNode | undefined = this; at !== undefined; at = at.parent) if (at === other) return true
    return false
  }

  /** What is registered on it is gone. May be called twice. */
  close(): void {
    this.closed = true
    const local = this.#local
    if (local === undefined) return
    this.#local = undefined
    this.#merged = undefined
    this.#context.onRegistrationsChanged(-local.registrations.count)
  }

  registerGuardrail<On extends keyof Guardrails>(
    name: string,
    on: On,
    guardrail: Guardrails[On],
    options?: RegistrationOptions,
  ): Registration {
    return this.#registrar.registerGuardrail(name, on, guardrail, options)
  }

  registerIntercept<Point extends keyof Intercepts>(
    name: string,
    point: Point,
    intercept: Intercepts[Point],
    options?: InterceptOptions,
  ): Registration {
    return this.#registrar.registerIntercept(name, point, intercept, options)
  }

  registerSanitizer<Point extends keyof Sanitizers>(
    name: string,
    point: Point,
    sanitizer: Sanitizers[Point],
    options?: Pick<RegistrationOptions, 'priority'>,
  ): Registration {
    return this.#registrar.registerSanitizer(name, point, sanitizer, options)
  }

  registerSubscriber(name: string, subscriber: (event: ManagedEvent) => Awaitable<void>): Registration {
    return this.#registrar.registerSubscriber(name, subscriber)
  }

  registerMiddleware<Kind extends keyof HermesMiddlewareKinds>(
    kind: Kind,
    callback: HermesMiddlewareKinds[Kind],
    options?: RegistrationOptions,
  ): Registration {
    return this.#registrar.registerMiddleware(kind, callback, options)
  }

  get #registrar(): MiddlewareRegistrar {
    if (this.closed) throw new HermesError('middleware/scope-closed', `The scope is called "${this.name}".`)
    this.#local ??= this.#createLocal()
    return this.#local.registrar
  }

  #createLocal(): LocalRegistrations {
    const registrations = createRegistrationScope()
    const registrar = createRegistrar({
      registrations,
      plugin: undefined,
      onChange: (by) => this.#context.onRegistrationsChanged(by),
      isActive: () => !this.closed,
    })
    return { registrations, registrar }
  }
}

/** Scopes that callbacks hand back. Throws `middleware/foreign-scope` for what is none of ours. */
export function toScopeNode(scope: Scope): ScopeNode {
  if (scope instanceof ScopeNode) return scope
  throw new HermesError('middleware/foreign-scope')
}
