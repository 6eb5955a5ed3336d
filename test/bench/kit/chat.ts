/**
 * Simulated users in a separate process.
 */
import { z } from 'zod'
import { startChild } from './children.ts'

export interface Load {
  readonly run: string
  readonly chats: number
  readonly turns: number
  readonly sessionsEach: number
  readonly pauseMs?: number
  readonly word?: string
}

export interface BenchChat {
  readonly url: string
  /** Resolves when all turns are answered. Times are ms from the message to the reply. */
  load(load: Load): Promise<{ readonly ms: number; readonly p50: number; readonly p99: number }>
}

const loadedSchema = z.object({ ms: z.number(), p50: z.number(), p99: z.number() })

/** Runs `work` with a chat server. */
export async function withChat<T>(work: (chat: BenchChat) => Promise<T>): Promise<T> {
  const child = await startChild('./chat-child.ts')
  try {
    const url = await child.request('url', {}, z.string())
    return await work({ url, load: (load) => child.request('load', { ...load }, loadedSchema) })
  } finally {
    await child.kill()
  }
}
