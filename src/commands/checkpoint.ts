/**
 * What `/rollback` needs of checkpoints.
 */
import type { Authority } from '../message/authority.ts'
import type { SessionKey } from '../message/ids.ts'

interface Requester {
  readonly sessionKey: SessionKey
  readonly authority: Authority
  readonly signal: AbortSignal
}

export interface CheckpointServices {
  /** Why the person may not see and restore checkpoints, for that person; '' if they may. */
  unavailable(authority: Authority): string
  /** Whether checkpoints are taken now. */
  isEnabled(): boolean
  /** Lists the checkpoints of the conversation, the newest first. Rejects `checkpoints/...`, as the others. */
  list(by: Requester): Promise<readonly ListedCheckpoint[]>
  /** What has changed since the checkpoint with this place in the list, from 1: statistics and a unified diff; '' for nothing. */
  diff(by: Requester, number: number, file: string | undefined): Promise<string>
  restore(by: Requester, number: number, file: string | undefined): Promise<RestoredFiles>
  /** Takes known secrets, and what looks like one, out of a text. */
  redact(text: string): string
  /** Takes known secrets out of a text, as replies do. */
  withhold(text: string): string
}

export interface ListedCheckpoint {
  readonly folder: string
  /** ms since 1970. */
  readonly at: number
  readonly reason: string
}

export interface RestoredFiles {
  readonly folder: string
  readonly changed: readonly string[]
  readonly removed: readonly string[]
  /** Changed since the checkpoint, and not kept by it. */
  readonly left: readonly string[]
}
