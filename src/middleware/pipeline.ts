/**
 * The execution stages of a managed call, the same for tools and models: the start event, the execution chain, the end
 * event.
 */
import type { CallRun } from './call-run.ts'
import type { CancellationScope } from './cancellation.ts'
import type { Awaitable, Fields, Next, PendingMark } from './contract.ts'
import { dispatch, type NextCall } from './execution-chain.ts'
import { failureMetadata, successMetadata } from './failures.ts'
import type { Entries } from './registry.ts'
import type { PayloadSanitizers } from './sanitize.ts'
import { ScopeNode } from './scope.ts'
import type { Snapshot } from './snapshot.ts'

export interface CallSpec<View, Payload> {
  /** `tool_execution` or `model_execution`. */
  readonly point: string
  readonly attributes: readonly string[]
  /** To follow the start event. */
  readonly marks: readonly PendingMark[]
  /** As it is known by now. */
  profile(): Fields
  /** What there is of a result when the call fails. */
  partial(): unknown
  participants(snapshot: Snapshot): {
    readonly outer: Entries<(view: View, next: Next<Fields, unknown>) => Awaitable<unknown>>
    readonly inner: Entries<(payload: Payload) => Awaitable<unknown>>
    /** How many more take part, further inside. */
    readonly more: number
  }
  sanitizers(snapshot: Snapshot): {
    readonly request: PayloadSanitizers | undefined
    readonly response: PayloadSanitizers | undefined
  }
  view(value: Fields, scope: ScopeNode, branch: CancellationScope): View
  payload(value: Fields, scope: ScopeNode, branch: CancellationScope, next: NextCall): Payload
  /** Between the start event and the chain. */
  onStart?(): void
  /** The tool, or the provider's stream to its end. Rejects, never throws. */
  terminal(value: Fields, branch: CancellationScope): Promise<unknown>
}

export async function runPipeline<View, Payload>(
  run: CallRun,
  root: CancellationScope,
  value: Fields,
  spec: CallSpec<View, Payload>,
): Promise<unknown> {
  run.throwIfDetached()
  const { context, scope } = run
  const { snapshot } = scope
  const { outer, inner, more } = spec.participants(snapshot)
  if (outer.length + inner.length + more + snapshot.subscribers.length === 0) {
    spec.onStart?.()
    return spec.terminal(value, root)
  }
  if (inner.length > 0) run.captureOriginal()
  const node = new ScopeNode(context.scopes, run.name, run.category, scope, context.scopes.now(), true)
  const span = createCallSpan(run, node, snapshot, spec.attributes, spec.profile())
  const fail = (error: unknown) => {
    span?.end({ error, partial: spec.partial(), profile: spec.profile() }, node.snapshot, undefined)
    node.close()
  }
  run.onDetach = () => fail(run.signal.reason)
  try {
    span?.start(value, spec.marks, spec.sanitizers(snapshot).request)
    const result = await context.scopes.storage.run(node, () => {
      spec.onStart?.()
      const chain = {
        run,
        point: spec.point,
        outer,
        inner,
        view: (given: Fields, branch: CancellationScope) => spec.view(given, node, branch),
        payload: (given: Fields, branch: CancellationScope, next: NextCall) => spec.payload(given, node, branch, next),
        terminal: spec.terminal,
        scope: node,
      }
      return dispatch(chain, 0, value, root)
    })
    if (run.abortError !== undefined) throw run.abortError.error
    const now = node.snapshot
    span?.end({ result, profile: spec.profile() }, now, spec.sanitizers(now).response)
    node.close()
    return result
  } catch (error) {
    fail(error)
    throw error
  }
}

export interface CallSpan {
  start(data: unknown, marks: readonly PendingMark[], clean: PayloadSanitizers | undefined): void
  /** With the sanitizers of the moment in which it ended. Only the first time counts. */
  end(outcome: CallResult, now: Snapshot, clean: PayloadSanitizers | undefined): void
}

export type CallResult =
  | { readonly result: unknown; readonly profile: Fields }
  | { readonly error: unknown; readonly partial: unknown; readonly profile: Fields }

/** Undefined when nobody subscribes: who comes later hears neither of the two. */
export function createCallSpan(
  run: CallRun,
  node: ScopeNode,
  { subscribers, sanitizers }: Snapshot,
  attributes: readonly string[],
  profile: Fields,
): CallSpan | undefined {
  if (subscribers.length === 0) return undefined
  const { publisher } = run.context
  let isOpen = true
  return {
    start(data, marks, clean) {
      publisher.start({ subscribers, sanitizers }, node, attributes, { profile, data, metadata: run.metadata }, clean)
      marks.forEach(({ name, data: said, metadata = null }, index) => {
        const told = { name, category: node.type, profile: null, data: said, metadata, us: node.startedUs + 1 + index }
        publisher.mark({ subscribers, sanitizers }, node, told)
      })
    },
    end(outcome, now, clean) {
      if (!isOpen) return
      isOpen = false
      const isFailure = 'error' in outcome
      const statusMetadata = isFailure ? failureMetadata(outcome.error, run.signal) : successMetadata
      const told = {
        profile: outcome.profile,
        data: isFailure ? outcome.partial : outcome.result,
        metadata: { ...run.metadata, ...statusMetadata },
      }
      publisher.end({ subscribers, sanitizers: now.sanitizers }, node, attributes, told, clean)
    },
  }
}
