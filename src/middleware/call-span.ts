/**
 * The start and the end of a call, as subscribers hear of them: both or none, with the same id.
 */
import type { CallRun } from './call-run.ts'
import type { Fields, PendingMark } from './contract.ts'
import { failureMetadata, successMetadata } from './otel-status.ts'
import type { PayloadSanitizers } from './sanitize.ts'
import type { ScopeNode } from './scope.ts'
import type { Snapshot } from './snapshot.ts'

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
