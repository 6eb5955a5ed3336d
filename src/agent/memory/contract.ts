/**
 * What the tool `memory` asks of the memory, and what it is answered (contract §4.6).
 */
import type { Logger } from '../../lib/log.ts'
import type { ToolFailure } from '../support/result-json.ts'
import type { MemorySettings } from './config.ts'

export type MemoryAction = 'add' | 'replace' | 'remove'
export type MemoryTarget = 'memory' | 'user'

export interface MemoryOperation {
  readonly action: MemoryAction
  /** The content for `add` and `replace`. */
  readonly content?: string | undefined
  /** A part of the entry that `replace` and `remove` change. */
  readonly old_text?: string | undefined
}

export interface MemoryRequest {
  readonly target: MemoryTarget
  /** All of them are applied, or none. At least one. */
  readonly operations: readonly MemoryOperation[]
}

/** What a memory provider is told. `content` is the new entry, or the one that was removed. */
export interface MemoryChange {
  readonly action: MemoryAction
  readonly target: MemoryTarget
  readonly content: string
  /** What the model named the entry by that was replaced or removed. */
  readonly metadata?: { readonly old_text: string }
}

export interface MemoryFailure extends ToolFailure {
  readonly code:
    | 'content_required'
    | 'old_text_required'
    | 'no_match'
    | 'ambiguous'
    | 'entry_too_long'
    | 'limit_exceeded'
    | 'content_blocked'
    | 'memory_unreadable'
    | 'memory_locked'
    | 'memory_unwritable'
    | 'memory_unavailable'
    | 'not_allowed_for_role'
    | 'not_approved'
  /** The beginnings of the entries that `old_text` matches. */
  readonly matches?: readonly string[]
}

export interface MemoryAccess {
  /** Whether an owner must allow this change. False when it would fail anyway. */
  needsApproval(request: MemoryRequest): boolean
  /** Resolves when the change is on disk. Rejects with the signal's reason. */
  write(request: MemoryRequest, options: WriteOptions): Promise<MemoryAnswer>
}

export interface WriteOptions {
  readonly isApproved: boolean
  readonly signal: AbortSignal
}

/** What the model is told. */
export type MemoryAnswer =
  | {
      readonly ok: true
      readonly usage: string
      readonly entryCount: number
      readonly changed: boolean
      readonly archivedCount: number
    }
  /** `entries` only where the conversation may show them. */
  | MemoryRefusal

export interface MemoryRefusal {
  readonly ok: false
  readonly failure: MemoryFailure
  readonly entries?: readonly string[] | undefined
  readonly usage?: string | undefined
}

/** What the memory uses of the gateway. */
export interface MemoryDeps {
  /** `$HERMES_HOME/memories`; created with the first write. */
  readonly directory: string
  readonly settings: () => { readonly memory: MemorySettings }
  /** Takes the gateway's own secrets out of a text. */
  redact(text: string): string
  /** Whether the text contains a secret of the gateway, or what looks like one. */
  holdsSecret(text: string): boolean
  /** What the scan of a file found; empty for a harmless file. */
  onScanned(path: string, ids: readonly string[]): void
  /** A file that cannot be used, or is too long; undefined when all is well. */
  onRead(path: string, problem: string | undefined): void
  readonly clock: () => number
  readonly log: Logger
  /** Named points for crash tests; does nothing in production. */
  readonly failpoint?: ((point: string) => void) | undefined
}
