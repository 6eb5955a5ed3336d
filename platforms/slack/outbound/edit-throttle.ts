/**
 * How often growing replies may change. Slack counts by method and workspace: about fifty edits a minute, a hundred
 * frames of streams. The more replies grow at once, the slower each of them does, so that no limit holds back answers.
 */
export interface EditThrottle {
  /** A growing reply has been changed. */
  recordEdit(id: string, how: 'edit' | 'frame'): void
  /** The pause between two changes of one reply, ms. */
  intervalMs(): number
}

const shareMs = { edit: 1_200, frame: 600 } as const
const minIntervalMs = 800
/** A reply that has not changed for so long does not grow any more. */
const idleAfterMs = 10_000

export function createEditThrottle(clock: () => number): EditThrottle {
  const growing = new Map<string, { readonly at: number; readonly shareMs: number }>()
  return {
    recordEdit: (id, how) => void growing.set(id, { at: clock(), shareMs: shareMs[how] }),
    intervalMs() {
      let sum = 0
      for (const [id, one] of growing) {
        if (clock() - one.at > idleAfterMs) growing.delete(id)
        else sum += one.shareMs
      }
      return Math.max(minIntervalMs, sum)
    },
  }
}
