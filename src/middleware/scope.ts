/**
 * Scopes: the tree of running work, the registrations on each part of it, and the clock that dates them. A scope is cheap:
 * its id is generated on first read, its registries are created with the first registration.
 */
import type { AsyncLocalStorage } from 'node:async_hooks'
import { HermesError } from '../lib/errors.ts'
import type { Fields, MiddlewareRegistrar, Scope, ScopeSpec, ScopeType } from './contract.ts'
import type { Middleware } from './managed-call.ts'
import { createRegistrar, createRegistrationScope, type RegistrationScope } from './registry.ts'
import { mergeRegistrations, type Snapshot } from './snapshot.ts'

/** Microseconds since 1970. */
export type MicroClock = () => number

export interface ScopeContext {
  /** The scope that the running code is in. */
  readonly storage: AsyncLocalStorage<ScopeNode>
  /** The scope of code outside of every scope. Created on first use. */
  root: ScopeNode | undefined
  /** Number of registrations at all levels. */
  registered: number
  readonly now: MicroClock
  /** The registrations of the global level and of plugins. */
  baseSnapshot(): Snapshot
  newId(us: number): string
  publishStart(scope: ScopeNode, input: unknown, metadata: Fields): void
  publishEnd(scope: ScopeNode, metadata: Fields, failure: { readonly error: unknown } | undefined): void
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
  /** Whether events may name it as their parent: false for the root, which has no events of its own. */
  readonly isPublished: boolean
  #uuid: string | undefined
  #local: LocalRegistrations | undefined
  #merged: { readonly outer: Snapshot; readonly version: number; readonly snapshot: Snapshot } | undefined

  constructor(
    context: ScopeContext,
    name: string,
    type: ScopeType,
    parent: ScopeNode | undefined,
    startedUs: number,
    isPublished: boolean,
  ) {
    this.#context = context
    this.name = name
    this.type = type
    this.parent = parent
    this.startedUs = startedUs
    this.isPublished = isPublished
  }

  get uuid(): string {
    this.#uuid ??= this.#context.newId(this.startedUs)
    return this.#uuid
  }

  /** The `parent_uuid` of events in this scope. */
  get publishedUuid(): string | null {
    return this.isPublished ? this.uuid : null
  }

  mark(name: string, data?: unknown, metadata?: Fields): void {
    this.#context.publishMark(this, name, data, metadata)
  }

  /** The registrations that apply in this scope at this moment. */
  get snapshot(): Snapshot {
    let node: ScopeNode = this
    while (node.#local === undefined) {
      if (node.parent === undefined) return node.#context.baseSnapshot()
      node = node.parent
    }
    const { registrations } = node.#local
    const outer = node.parent === undefined ? node.#context.baseSnapshot() : node.parent.snapshot
    if (node.#merged?.outer !== outer || node.#merged.version !== registrations.version)
      node.#merged = { outer, version: registrations.version, snapshot: mergeRegistrations(outer, [registrations]) }
    return node.#merged.snapshot
  }

  /** Whether this is `other` or one of its descendants. */
  isWithin(other: ScopeNode): boolean {
    for (let node: ScopeNode | undefined = this; node !== undefined; node = node.parent) if (node === other) return true
    return false
  }

  /** Removes the registrations of this scope. May be called twice. */
  close(): void {
    this.closed = true
    const local = this.#local
    if (local === undefined) return
    this.#local = undefined
    this.#merged = undefined
    this.#context.registered -= local.registrations.count
  }

  get registerGuardrail(): MiddlewareRegistrar['registerGuardrail'] {
    return this.#registrar.registerGuardrail
  }

  get registerIntercept(): MiddlewareRegistrar['registerIntercept'] {
    return this.#registrar.registerIntercept
  }

  get registerSanitizer(): MiddlewareRegistrar['registerSanitizer'] {
    return this.#registrar.registerSanitizer
  }

  get registerSubscriber(): MiddlewareRegistrar['registerSubscriber'] {
    return this.#registrar.registerSubscriber
  }

  get registerMiddleware(): MiddlewareRegistrar['registerMiddleware'] {
    return this.#registrar.registerMiddleware
  }

  get #registrar(): MiddlewareRegistrar {
    if (this.closed) throw new HermesError('middleware/scope-closed', `Scope: "${this.name}".`)
    this.#local ??= this.#createLocal()
    return this.#local.registrar
  }

  #createLocal(): LocalRegistrations {
    const registrations = createRegistrationScope()
    const count = (by: number) => {
      this.#context.registered += by
    }
    const registrar = createRegistrar(registrations, undefined, count, () => !this.closed)
    return { registrations, registrar }
  }
}

export function createScopes(context: ScopeContext): Pick<Middleware, 'scope' | 'currentScope' | 'runInScope'> {
  return {
    scope: (spec, work) => runScope(context, spec, work),
    currentScope: () => currentScope(context),
    runInScope: (scope, work) => context.storage.run(toScopeNode(scope), work),
  }
}

/** The scope of the running code; outside of every scope, a root that lives as long as the process. */
export function currentScope(context: ScopeContext): ScopeNode {
  const current = context.storage.getStore()
  if (current !== undefined) return current
  context.root ??= new ScopeNode(context, 'root', 'agent', undefined, context.now(), false)
  return context.root
}

/** Opens a scope around some work and closes it when the work has settled. Rejects as the work rejects. */
async function runScope<Value>(
  context: ScopeContext,
  { name, type = 'function', input = null, metadata = {}, parent }: ScopeSpec,
  work: (scope: Scope) => Promise<Value>,
): Promise<Value> {
  const outer = parent === undefined ? currentScope(context) : parent === null ? undefined : toScopeNode(parent)
  const node = new ScopeNode(context, name, type, outer, context.now(), true)
  // Registrations that are added during the work receive the end event, not the start event.
  if (context.registered > 0) context.publishStart(node, input, metadata)
  const end = (failure: { readonly error: unknown } | undefined) => {
    if (context.registered > 0) context.publishEnd(node, metadata, failure)
    node.close()
  }
  try {
    const value = await context.storage.run(node, () => work(node))
    end(undefined)
    return value
  } catch (error) {
    end({ error })
    throw error
  }
}

/** Throws `middleware/foreign-scope` for an object that is not one of our scopes. */
function toScopeNode(scope: Scope): ScopeNode {
  if (scope instanceof ScopeNode) return scope
  throw new HermesError('middleware/foreign-scope')
}

/** The wall clock may be set; the monotonic clock is adjusted to it beyond this difference. */
const maxDriftMs = 50

/** Wall time with the resolution of the monotonic clock. */
export function createMicroClock(
  wall: () => number = Date.now,
  monotonic: () => number = () => performance.now(),
): MicroClock {
  let startMs = wall() - monotonic()
  return () => {
    const wallMs = wall()
    const monotonicMs = monotonic()
    if (Math.abs(startMs + monotonicMs - wallMs) > maxDriftMs) startMs = wallMs - monotonicMs
    return Math.floor((startMs + monotonicMs) * 1_000)
  }
}
