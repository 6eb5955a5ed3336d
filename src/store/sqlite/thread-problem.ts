/**
 * An error of a thread in a form that can be posted: a posted `Error` arrives without its code. It imports nothing, so that
 * threads start fast.
 */

export interface ThreadProblem {
  readonly problem: string
  /** The code of a `HermesError`; `problem` is its detail then. */
  readonly code?: string
  /** SQLite's result code. */
  readonly errcode?: number
}

export function toProblem(thrown: unknown): ThreadProblem {
  if (!(thrown instanceof Error)) return { problem: String(thrown) }
  if ('errcode' in thrown && typeof thrown.errcode === 'number')
    return { problem: thrown.message, errcode: thrown.errcode }
  if ('detail' in thrown && 'code' in thrown) return { problem: String(thrown.detail), code: String(thrown.code) }
  return { problem: thrown.message }
}
