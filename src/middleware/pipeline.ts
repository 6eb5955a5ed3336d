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
  /** Published right after the start event. */
  readonly marks: readonly PendingMark[]
  /** The `category_profile` of the next event. */
  profile(): Fields
  /** The partial result of a failed call. */
  partial(): unknown
  participants(snapshot: Snapshot): {
    readonly outer: Entries<(view: View, next: Next<Fields, unknown>) => Awaitable<unknown>>
    readonly inner: Entries<(payload: Payload) => Awaitable<unknown>>
    /** Number of callbacks inside the terminal step. */
    readonly more: number
  }
  sanitizers(snapshot: Snapshot): {
    readonly request: PayloadSanitizers | undefined
    readonly response: PayloadSanitizers | undefined
  }
  view(value: Fields, scope: ScopeNode, branch: CancellationScope): View
  payload(value: Fields, scope: ScopeNode, branch: CancellationScope, next: NextCall): Payload
  /** Runs between the start event and the chain. */
  onStart?(): void
  /** Runs the tool, or reads the provider's stream to its end. Rejects, never throws. */
  terminal(value: Fields, branch: CancellationScope): Promise<unknown>
}

export async function runPipeline<View, Payload>(
  run: CallRun,
  root: CancellationScope,
  value: Fields,
  spec: CallSpec<View, Payload>,
): Promise<unknown> {
  const { context, scope } = run
  // A loop of calls that never waits for I/O would fill the queue before a subscriber can run.
  if (scope.snapshot.subscribers.length > 0 && context.publisher.isCrowded()) await context.publisher.nextTurn()
  run.throwIfDetached()
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
        view: (current: Fields, branch: CancellationScope) => spec.view(current, node, branch),
        payload: (current: Fields, branch: CancellationScope, next: NextCall) =>
          spec.payload(current, node, branch, next),
        terminal: spec.terminal,
        scope: node,
      }
      return dispatch(chain, 0, value, root)
    })
    if (run.abortError !== undefined) throw run.abortError.error
    const after = node.snapshot
    span?.end({ result, profile: spec.profile() }, after, spec.sanitizers(after).response)
    node.close()
    return result
  } catch (thrown) {
    // A callback may have caught the failure of an abort and thrown another error.
    const error = run.abortError === undefined ? thrown : run.abortError.error
    fail(error)
    throw error
  }
}

/** The start and end events of a call. They share an id, and the same subscribers receive both. */
interface CallSpan {
  start(data: unknown, marks: readonly PendingMark[], payloadSanitizers: PayloadSanitizers | undefined): void
  /** `snapshot` supplies the sanitizers that apply when the call ends. Only the first call has an effect. */
  end(callResult: CallResult, snapshot: Snapshot, payloadSanitizers: PayloadSanitizers | undefined): void
}

type CallResult =
  | { readonly result: unknown; readonly profile: Fields }
  | { readonly error: unknown; readonly partial: unknown; readonly profile: Fields }

/** `undefined` without subscribers. A subscriber added later receives neither the start nor the end event. */
function createCallSpan(
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
    start(data, marks, payloadSanitizers) {
      const payload = { profile, data, metadata: run.metadata }
      publisher.start({ subscribers, sanitizers }, node, attributes, payload, payloadSanitizers)
      marks.forEach(({ name, data: markData, metadata = null }, index) => {
        const us = node.startedUs + 1 + index
        const mark = { name, category: node.type, profile: null, data: markData, metadata, us }
        publisher.mark({ subscribers, sanitizers }, node, mark)
      })
    },
    end(callResult, snapshot, payloadSanitizers) {
      if (!isOpen) return
      isOpen = false
      const isFailure = 'error' in callResult
      const statusMetadata = isFailure ? failureMetadata(callResult.error, run.signal) : successMetadata
      const payload = {
        profile: callResult.profile,
        data: isFailure ? callResult.partial : callResult.result,
        metadata: { ...run.metadata, ...statusMetadata },
      }
      publisher.end({ subscribers, sanitizers: snapshot.sanitizers }, node, attributes, payload, payloadSanitizers)
    },
  }
}
