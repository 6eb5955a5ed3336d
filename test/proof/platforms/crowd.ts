/**
 * People who write in all busy chats of all stages, each at a pace of their own.
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { Random } from '../random.ts'
import type { Stage } from './stage.ts'
import type { World } from './world.ts'

export interface Crowd {
  begin(): void
  /** Nobody writes any more. May be called twice. */
  sendHome(): void
}

/** Of one chat, at the same time. */
const mostWaiting = 3
/** Whoever waits for an answer for so long writes again all the same. */
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
