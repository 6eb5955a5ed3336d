/**
 * The background commands of one session, so that the `process` tool can list, poll and end them.
 */
import type { BackgroundCommand } from './environment.ts'

export interface ProcessEntry {
  /** Short and readable: `proc_1`. */
  readonly id: string
  readonly command: string
  readonly startedAt: number
  readonly process: BackgroundCommand
  /** Output since the last poll, bounded. */
  takeOutput(): string
  /** All output kept, bounded; the oldest goes first. */
  log(): string
  /** Undefined while it runs. */
  exit(): { readonly exitCode: number | null; readonly at: number } | undefined
}

export interface ProcessTable {
  add(command: string, process: BackgroundCommand): ProcessEntry
  get(id: string): ProcessEntry | undefined
  list(): readonly ProcessEntry[]
  /** Ends all of them. May be called twice. */
  killAll(): void
}
