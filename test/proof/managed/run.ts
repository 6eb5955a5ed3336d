/**
 * Random managed calls, checked against the rules.
 */
import fc from 'fast-check'
import { cases } from './case.ts'
import { checkCase } from './check-case.ts'

export interface ManagedOptions {
  readonly seed: number
  /** The number of random calls. */
  readonly count: number
  progress(line: string): void
}

export interface ManagedResult {
  readonly seconds: number
  /** The failure and the call of the smallest counterexample. Empty when there is none. */
  readonly broken: readonly string[]
}

export async function proveManaged({ seed, count, progress }: ManagedOptions): Promise<ManagedResult> {
  const began = performance.now()
  let checked = 0
  const property = fc.asyncProperty(cases, async (one) => {
    checked += 1
    if (checked % 10_000 === 0) progress(`${checked} calls`)
    await checkCase(one)
  })
  const { failed, counterexample, errorInstance } = await fc.check(property, { seed, numRuns: count })
  const broken = failed ? [String(errorInstance), JSON.stringify(counterexample)] : []
  return { seconds: (performance.now() - began) / 1_000, broken }
}
