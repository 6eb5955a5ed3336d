/**
 * Users who write in all busy chats of all platforms, each at a random rate.
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { Random } from '../random.ts'
import type { TestPlatform } from './test-platform.ts'
import type { TestSystem } from './test-system.ts'

export interface Users {
  start(): void
  /** Stops all users. May be called twice. */
  stop(): void
}

/** Pending messages of one chat. */
const maxPending = 3
/** A user who waits longer than this for an answer writes again. */
const answerTimeoutMs = 1_500
const wordyShare = 0.2

export function createUsers(
  { platforms: testPlatforms, log }: Pick<TestSystem, 'platforms' | 'log'>,
  random: Random,
): Users {
  const stopped = new AbortController()

  async function person(testPlatform: TestPlatform, chat: string): Promise<void> {
    while (!stopped.signal.aborted) {
      await pause(random.between(150, 450))
      if (stopped.signal.aborted) return
      if (log.pending(testPlatform.platform).filter((one) => one.chat === chat).length >= maxPending) continue
      const { answered } = log.send(testPlatform, chat, random.next() < wordyShare ? 'wordy' : 'plain')
      await Promise.race([answered, pause(answerTimeoutMs, undefined, { ref: false })])
    }
  }

  return {
    start() {
      for (const testPlatform of testPlatforms)
        for (const chat of testPlatform.chats.busy) void person(testPlatform, chat)
    },
    stop: () => stopped.abort(),
  }
}
