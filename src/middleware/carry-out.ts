/**
 * Steps 4 to 7 of a managed call, the same for tools and models: the start event, the chain, the end event.
 */
import type { Branch } from './branch.ts'
import type { CallRun } from './call-run.ts'
import { callStory } from './call-story.ts'
import type { Awaitable, Fields, Next, PendingMark } from './contract.ts'
import { type NextCall, proceed } from './execution.ts'
import type { Entries } from './registry.ts'
import type { PayloadSanitizers } from './sanitize.ts'
import { ScopeNode } from './scope.ts'
import type { Snapshot } from './snapshot.ts'

export interface Act<View, Payload> {
  /** `tool_execution` or `model_execution`. */
  readonly point: string
  readonly attributes: readonly string[]
  /** To follow the start event. */
  readonly marks: readonly PendingMark[]
  /** As it is known by now. */
  profile(): Fields
  /** What there is of a result when the call fails. */
  partial(): unknown
  around(snapshot: Snapshot): {
    readonly outer: Entries<(view: View, next: Next<Fields, unknown>) => Awaitable<unknown>>
    readonly inner: Entries<(payload: Payload) => Awaitable<unknown>>
    /** How many more take part, further inside. */
    readonly more: number
  }
  cleaners(snapshot: Snapshot): {
    readonly request: PayloadSanitizers | undefined
    readonly response: PayloadSanitizers | undefined
  }
  view(value: Fields, scope: ScopeNode, branch: Branch): View
  payload(value: Fields, scope: ScopeNode, branch: Branch, next: NextCall): Payload
  /** Between the start event and the chain. */
  begun?(): void
  /** The tool, or the provider's stream to its end. Rejects, never throws. */
  terminal(value: Fields, branch: Branch): Promise<unknown>
}

export async function carryOut<View, Payload>(
  run: CallRun,
  root: Branch,
  value: Fields,
  act: Act<View, Payload>,
): Promise<unknown> {
  run.throwIfLeft()
  const { room, scope } = run
  const { storage } = room
  const { snapshot } = scope
  const { outer, inner, more } = act.around(snapshot)
  if (outer.length + inner.length + more + snapshot.subscribers.length === 0) {
    act.begun?.()
    return act.terminal(value, root)
  }
  if (inner.length > 0) run.keepOriginal()
  const node = new ScopeNode(room.ground, run.name, run.category, scope, room.now(), true)
  const story = callStory(run, node, snapshot, act.attributes, act.profile())
  const fail = (error: unknown) => {
    story?.ended({ error, partial: act.partial(), profile: act.profile() }, node.snapshot, undefined)
    node.close()
  }
  run.onLeave = () => fail(run.signal.reason)
  try {
    story?.started(value, act.marks, act.cleaners(snapshot).request)
    const result = await storage.run(node, () => {
      act.begun?.()
      const chain = {
        run,
        point: act.point,
        outer,
        inner,
        view: (given: Fields, branch: Branch) => act.view(given, node, branch),
        payload: (given: Fields, branch: Branch, next: NextCall) => act.payload(given, node, branch, next),
        terminal: act.terminal,
        scope: node,
      }
      return proceed(chain, 0, value, root)
    })
    if (run.cut !== undefined) throw run.cut.error
    const now = node.snapshot
    story?.ended({ result, profile: act.profile() }, now, act.cleaners(now).response)
    node.close()
    return result
  } catch (error) {
    fail(error)
    throw error
  }
}
