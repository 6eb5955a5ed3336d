/**
 * Small tools for values that may be promises, and for promises that nobody may be waiting for.
 */

/** Whether there is something to wait for; plain values save the turn of a promise. */
export function isThenable<Value>(value: Value | PromiseLike<Value>): value is PromiseLike<Value> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function'
}

/** Waits for the work; a failure goes to `failed`. Never rejects unless `failed` throws. */
export async function catchTo(work: PromiseLike<unknown>, onError: (error: unknown) => void): Promise<void> {
  try {
    await work
  } catch (error) {
    onError(error)
  }
}

/** A rejection for somebody who may not look at it: it must not end the process. */
export function handledRejection(error: unknown): Promise<never> {
  const promise = Promise.reject(error)
  ignoreRejection(promise)
  return promise
}

/** Whoever holds the promise still gets its rejection; if nobody does, nothing happens. */
export function ignoreRejection(promise: Promise<unknown>): void {
  promise.then(undefined, () => undefined)
}
