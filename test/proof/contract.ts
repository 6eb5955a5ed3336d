/**
 * Runs the platform contract against defective adapters: each defect breaks the promises that it names, and no others.
 */
import { fakeWith } from '../kit/contracts/fake-under-test.ts'
import { platformRequirements } from '../kit/contracts/platform.ts'
import { type Defect, defects } from '../kit/contracts/platform-defects.ts'
import { checkRequirement } from '../kit/contracts/platform-requirement.ts'

export interface ContractResult {
  readonly defects: number
  readonly promises: number
  /** Promises that a defect broke without naming them, and named promises that it did not break. */
  readonly surprises: readonly string[]
}

export async function proveContract(): Promise<ContractResult> {
  const surprises: string[] = []
  for (const defect of defects) surprises.push(...(await surprisesOf(defect)))
  return { defects: defects.length, promises: platformRequirements.length, surprises }
}

async function surprisesOf({ breaks, create }: Defect): Promise<string[]> {
  const surprises: string[] = []
  for (const promised of platformRequirements) {
    const verdict = await checkRequirement(promised, () => fakeWith(create), 2_000)
    const expected = breaks.includes(promised.name) ? 'broken' : 'kept'
    if (verdict.state !== expected) surprises.push(`${breaks[0]}: "${promised.name}" was ${verdict.state}`)
  }
  return surprises
}
