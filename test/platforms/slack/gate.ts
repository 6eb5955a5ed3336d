/**
 * Holds a model in the middle of its answer until the test says so.
 */
export interface Gate {
  /** For `gate` of a scripted reply: frames from this one on wait. */
  hold(frame: number): (frame: number) => Promise<void>
  open(): void
}

export function createGate(): Gate {
  const held = Promise.withResolvers<void>()
  return {
    hold: (first) => (frame) => (frame >= first ? held.promise : Promise.resolve()),
    open: () => held.resolve(),
  }
}
