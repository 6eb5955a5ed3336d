/**
 * The adapters' own calls (a reaction, a deletion), made within the budget that answers, drafts and typing share.
 */
import { follow } from '../lib/follow.ts'
import type { SendResult } from '../message/outbound.ts'
import type { Target } from '../message/source.ts'
import type { Room } from './room.ts'
import { bounded, chatOf } from './sender.ts'

/** Answers wait for a call in flight. */
const callTimeoutMs = 15_000

export type PacedCall = (signal: AbortSignal) => Promise<SendResult>

/**
 * Calls when it is the call's turn. Rejects when the signal aborts or the gateway stops before the platform has
 * answered, when the call takes too long, and as the call itself does.
 */
export async function callPaced(room: Room, target: Target, signal: AbortSignal, call: PacedCall): Promise<SendResult> {
  const chat = chatOf(target)
  const ended = follow(signal, room.quit)
  try {
    ended.signal.throwIfAborted()
    const slot = room.budget.take(chat, 'own') ?? (await room.budget.wait(chat, 'own', ended.signal))
    try {
      ended.signal.throwIfAborted()
      const result = await bounded(ended.signal, call, callTimeoutMs)
      slot?.heard(result, room.clock())
      return result
    } finally {
      slot?.free()
    }
  } finally {
    ended.release()
  }
}
