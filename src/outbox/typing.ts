/**
 * Shows that the agent is at work, for as long as it is.
 */
import { messageOf } from '../lib/errors.ts'
import type { Target } from '../message/source.ts'
import type { Room } from './room.ts'
import { bounded, chatOf } from './sender.ts'

/** Platforms forget it after a few seconds. */
const refreshMs = 2_000
const callTimeoutMs = 10_000

/** Resolves when the signal aborts, or at once where the platform cannot show it. Never rejects. */
export async function keepTyping(room: Room, target: Target, signal: AbortSignal): Promise<void> {
  const ended = new AbortController()
  const end = () => ended.abort()
  // Not AbortSignal.any: the room's signal lives as long as the process and would collect one entry per turn.
  room.quit.addEventListener('abort', end, { once: true })
  signal.addEventListener('abort', end, { once: true })
  if (signal.aborted || room.quit.aborted) end()
  try {
    await refresh(room, target, ended.signal)
  } finally {
    room.quit.removeEventListener('abort', end)
    signal.removeEventListener('abort', end)
  }
}

async function refresh(room: Room, target: Target, over: AbortSignal): Promise<void> {
  const chat = chatOf(target)
  let told = false
  while (!over.aborted) {
    const sender = room.open(chat)
    const type = sender?.typing?.bind(sender)
    if (sender !== undefined && type === undefined) return
    try {
      if (type !== undefined && room.holdMs(chat) === 0) {
        await bounded(over, (call) => type(target, call), callTimeoutMs)
      }
    } catch (error) {
      if (!told && !over.aborted) room.log.debug({ error, ...chat }, `cannot show typing: ${messageOf(error)}`)
      told = true
    }
    await room.pause(refreshMs, over)
  }
}
