/**
 * A shard of discord.js, as far as it is used: what it asks for, what it tells, what it can be told.
 */
import type { IContextFetchingStrategy } from '@discordjs/ws'

/** What discord.js' shard asks its owner for, but for the encoding, which is a value of the package. */
export type ShardStrategy = Omit<IContextFetchingStrategy, 'options'> & {
  readonly options: Omit<IContextFetchingStrategy['options'], 'encoding'>
}

/** A shard of discord.js, as far as it is used. */
export interface Shard {
  /** Begins to connect, and stays at it. */
  connect(): void
  /** A heartbeat out of turn. */
  sendHeartbeat(sequence: number | null): void
  /** Ends it for good. May wait long for a peer that does not answer. */
  destroy(code: number): Promise<void>
}

export interface ShardListener {
  onHello(): void
  onHeartbeat(): void
  onReady(data: unknown): void
  onResumed(): void
  onDispatch(payload: unknown): void
  onClosed(code: number): void
  onError(error: Error): void
}
