/**
 * Waits until the platform has answered for a delivery.
 */
import { sleep } from '../../lib/timers.ts'
import { type DeliveryState, findDeliveryState } from '../../outbox/delivery-state.ts'
import type { Store } from '../../store/store.ts'

const firstPollMs = 25
const maxPollMs = 500

/** Resolves when the platform has answered for all messages, or after `timeoutMs`, or when the signal aborts. */
export async function waitForDelivery(
  store: Store,
  key: string,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<DeliveryState> {
  let pauseMs = firstPollMs
  for (let waitedMs = 0; ; waitedMs += pauseMs) {
    const state = await store.run(() => findDeliveryState(key))
    if (state.state !== 'open' || waitedMs >= timeoutMs || signal.aborted) return state
    pauseMs = Math.min(pauseMs * 2, maxPollMs)
    await sleep(pauseMs, signal)
  }
}
