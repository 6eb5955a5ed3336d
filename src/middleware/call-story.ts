/**
 * The start and the end of a call, as subscribers hear of them: both or none, with the same id.
 */
import type { CallRun } from './call-run.ts'
import type { Fields, PendingMark } from './contract.ts'
import { failureMetadata, successMetadata } from './endings.ts'
import type { PayloadSanitizers } from './sanitize.ts'
import type { ScopeNode } from './scope.ts'
import type { Snapshot } from './snapshot.ts'

export interface CallStory {
  started(data: unknown, marks: readonly PendingMark[], clean: PayloadSanitizers | undefined): void
  /** With the sanitizers of the moment in which it ended. Only the first time counts. */
  ended(outcome: CallOutcome, now: Snapshot, clean: PayloadSanitizers | undefined): void
}

export type CallOutcome =
  | { readonly result: unknown; readonly profile: Fields }
  | { readonly error: unknown; readonly partial: unknown; readonly profile: Fields }

/** Undefined when nobody subscribes: who comes later hears neither of the two. */
export function callStory(
  run: CallRun,
  node: ScopeNode,
  { subscribers, sanitizers }: Snapshot,
  attributes: readonly string[],
  profile: Fields,
): CallStory | undefined {
  if (subscribers.length === 0) return undefined
  const { teller } = run.room
  let open = true
  return {
    started(data, marks, clean) {
      teller.start({ subscribers, sanitizers }, node, attributes, { profile, data, metadata: run.metadata }, clean)
      marks.forEach(({ name, data: said, metadata = null }, index) => {
        const told = { name, category: node.type, profile: null, data: said, metadata, us: node.startedUs + 1 + index }
        teller.mark({ subscribers, sanitizers }, node, told)
      })
    },
    ended(outcome, now, clean) {
      if (!open) return
      open = false
      const failed = 'error' in outcome
      const ending = failed ? failureMetadata(outcome.error, run.signal) : successMetadata
      const told = {
        profile: outcome.profile,
        data: failed ? outcome.partial : outcome.result,
        metadata: { ...run.metadata, ...ending },
      }
      teller.end({ subscribers, sanitizers: now.sanitizers }, node, attributes, told, clean)
    },
  }
}
