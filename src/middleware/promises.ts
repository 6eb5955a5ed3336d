/**
 * Helpers for values that may be promises, and for promises whose rejection may stay unhandled.
 */

/** Whether a value must be awaited. Awaiting a plain value would cost a microtask. */
export function isThenable<Value>(value: Value | PromiseLike<Value>): value is PromiseLike<Value> {
  return typeof value === 'object' && value !== null && 'then' in value && typeof value.then === 'function'
}

/** Waits for the work and passes a failure to `onError`. Never rejects unless `onError` throws. */
export async function catchTo(work: PromiseLike<unknown>, onError: (error: unknown) => void): Promise<void> {
  try {
    await work
  } catch (error) {
    onError(error)
  }
}

/** A rejected promise that does not end the process when its rejection is not handled. */
export function handledRejection(error: unknown): Promise<never> {
  const promise = Promise.reject(error)
  ignoreRejection(promise)
  return promise
}

/** Marks the rejection as handled. Other holders of the promise still receive it. */
export function ignoreRejection(promise: Promise<unknown>): void {
  promise.then(undefined, () => undefined)
}
