/**
 * Runs the prompts of a batch, several at once.
 */
import type { BatchPrompt } from './read-prompts.ts'

export interface RunOptions {
  readonly prompts: readonly BatchPrompt[]
  /** How many are asked at once. */
  readonly concurrency: number
  /** Asks one and stores its result. A rejection ends the batch. */
  readonly run: (prompt: BatchPrompt, signal: AbortSignal) => Promise<void>
  /** Aborts when no further prompt is to be sent; those that were sent are waited for. */
  readonly stop: AbortSignal
}

/** Resolves with the number of prompts that were not asked. Rejects with the first rejection of `run`, once all have ended. */
export async function runPrompts({ prompts, concurrency, run, stop }: RunOptions): Promise<number> {
  const failed = new AbortController()
  let next = 0
  const work = async () => {
    while (!stop.aborted && !failed.signal.aborted) {
      const prompt = prompts[next]
      if (prompt === undefined) return
      next += 1
      try {
        await run(prompt, failed.signal)
      } catch (error) {
        if (!failed.signal.aborted) failed.abort(error)
      }
    }
  }
  await Promise.all(Array.from({ length: Math.min(concurrency, prompts.length) }, work))
  failed.signal.throwIfAborted()
  return prompts.length - next
}
