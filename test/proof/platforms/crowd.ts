/**
 * Users who write in all busy chats of all platforms, each at a random rate.
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { Random } from '../random.ts'
import type { Stage } from './stage.ts'
import type { World } from './world.ts'

export interface Crowd {
  begin(): void
  /** Stops all users. May be called twice. */
  sendHome(): void
}

/** Pending messages of one chat. */
const mostWaiting = 3
/** A user who waits longer than this for an answer writes again. */
const impatientMs = 1_500
const wordyShare = 0.2

export function startCrowd({ stages, talk }: Pick<World, 'stages' | 'talk'>, random: Random): Crowd {
  const home = new AbortController()

  async function person(stage: Stage, chat: string): Promise<void> {
    while (!home.signal.aborted) {
      await pause(random.between(150, 450))
      if (home.signal.aborted) return
      if (talk.waiting(stage.platform).filter((one) => one.chat === chat).length >= mostWaiting) continue
      const { answered } = talk.ask(stage, chat, random.next() < wordyShare ? 'wordy' : 'plain')
      await Promise.race([answered, pause(impatientMs, undefined, { ref: false })])
    }
  }

  return {
    begin() {
      for (const stage of stages) for (const chat of stage.chats.busy) void person(stage, chat)
    },
    sendHome: () => home.abort(),
  }
}
