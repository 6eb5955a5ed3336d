/**
 * What a frame of the chain knows of the rest of the call, and what becomes of the call when the frame itself fails open
 * (seed 000): nothing runs twice, a good result stays, a failure stays a failure.
 */
import type { CallRun } from './call-run.ts'
import { isAbort } from './endings.ts'
import type { Entry } from './registry.ts'

export class Downstream {
  /** The latest call of the rest; undefined while there was none. */
  last: Promise<unknown> | undefined
  good: { readonly value: unknown } | undefined
  bad: { readonly error: unknown } | undefined
  readonly #run: CallRun

  constructor(run: CallRun) {
    this.#run = run
  }

  get called(): boolean {
    return this.last !== undefined
  }

  get inFlight(): boolean {
    return this.called && this.good === undefined && this.bad === undefined
  }

  /** Remembers how it ends. Its rejection is seen here, so that it need not be seen by anybody else. */
  watch(work: Promise<unknown>): Promise<unknown> {
    this.last = work
    this.bad = undefined
    work.then(
      (value) => {
        this.good = { value }
      },
      (error) => {
        this.bad = { error }
        this.#run.failed(error)
      },
    )
    return work
  }
}

/** The result after a frame that fails open has thrown; `skip` runs the rest without it. */
export async function afterThrow(
  run: CallRun,
  entry: Entry<unknown>,
  point: string,
  downstream: Downstream,
  error: unknown,
  skip: () => Promise<unknown>,
): Promise<unknown> {
  const { good, inFlight, last } = downstream
  const tell = (outcome: string) => run.room.failures.tell(entry, point, error, outcome)
  if (last === undefined) {
    run.throwIfAborted(error)
    tell('the call goes on without it')
    return skip()
  }
  if (inFlight) {
    tell('the result of the call counts')
    return last
  }
  // It let the failure through, or put another in its place.
  if (good === undefined || isAbort(error, run.signal)) throw error
  tell('the result of the call stays')
  return good.value
}
