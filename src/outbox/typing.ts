/**
 * Shows that the agent is at work, for as long as it is.
 */
import { messageOf } from '../lib/errors.ts'
import { follow } from '../lib/follow.ts'
import type { Target } from '../message/source.ts'
import type { Room } from './room.ts'
import { bounded, chatOf, type Sender } from './sender.ts'

/** Nobody misses it for so long, and an answer that is there by then has cost no call. */
const firstAfterMs = 250
/** Platforms forget it after a few seconds. */
const refreshMs = 2_000
/** An answer waits for a call in flight, so this one may not take long. */
const callTimeoutMs = 2_000

/** Resolves when the signal aborts, or at once where it cannot be shown or is not wanted. Never rejects. */
export async function keepTyping(room: Room, target: Target, signal: AbortSignal): Promise<void> {
  if (!room.manner(target).typing) return
  const ended = follow(signal, room.quit)
  try {
    await refresh(room, target, ended.signal)
  } finally {
    ended.release()
  }
}

async function refresh(room: Room, target: Target, over: AbortSignal): Promise<void> {
  const chat = chatOf(target)
  let told = false
  for (let waitMs = firstAfterMs; !over.aborted; waitMs = refreshMs) {
    if (cannotType(room.open(chat))) return
    await room.pause(waitMs, over)
    if (over.aborted) return
    const sender = room.open(chat)
    const type = sender?.typing?.bind(sender)
    if (cannotType(sender)) return
    // Whatever else is under way shows more than typing does.
    const slot = type === undefined ? undefined : room.budget.take(chat, 'typing')
    try {
      // Not ended with the turn: the answer goes after it, so that no late typing stands below the answer.
      if (type !== undefined && slot !== undefined) {
        slot.heard(await bounded(room.quit, (call) => type(target, call), callTimeoutMs), room.clock())
      }
    } catch (error) {
      if (!told && !over.aborted) room.log.debug({ error, ...chat }, `cannot show typing: ${messageOf(error)}`)
      told = true
    } finally {
      slot?.free()
    }
  }
}

/** Connected, and without that ability. One that is away is waited for. */
function cannotType(sender: Sender | undefined): boolean {
  return sender !== undefined && sender.typing === undefined
}
