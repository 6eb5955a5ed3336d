/**
 * Limits how often growing replies are updated. Slack allows about 50 edits and 100 stream frames per minute and workspace.
 * Concurrent replies share this rate, so that updates do not delay final messages.
 */
export interface EditThrottle {
  /** A growing reply was updated. */
  recordEdit(id: string, how: 'edit' | 'frame'): void
  /** The interval between two updates of one reply, ms. */
  intervalMs(): number
}

const shareMs = { edit: 1_200, frame: 600 } as const
const minIntervalMs = 800
/** A reply without updates for this long counts as finished. */
const idleAfterMs = 10_000

export function createEditThrottle(clock: () => number): EditThrottle {
  const growing = new Map<string, { readonly at: number; readonly shareMs: number }>()
  return {
    recordEdit: (id, how) => void growing.set(id, { at: clock(), shareMs: shareMs[how] }),
    intervalMs() {
      let sum = 0
      for (const [id, growth] of growing) {
        if (clock() - growth.at > idleAfterMs) growing.delete(id)
        else sum += growth.shareMs
      }
      return Math.max(minIntervalMs, sum)
    },
  }
}
