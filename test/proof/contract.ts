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
  readonly mismatches: readonly string[]
}

export async function proveContract(): Promise<ContractResult> {
  const mismatches: string[] = []
  for (const defect of defects) mismatches.push(...(await mismatchesOf(defect)))
  return { defects: defects.length, promises: platformRequirements.length, mismatches }
}

async function mismatchesOf({ breaks, create }: Defect): Promise<string[]> {
  const mismatches: string[] = []
  for (const requirement of platformRequirements) {
    const result = await checkRequirement(requirement, () => fakeWith(create), 2_000)
    const expected = breaks.includes(requirement.name) ? 'broken' : 'kept'
    if (result.state !== expected) mismatches.push(`${breaks[0]}: "${requirement.name}" was ${result.state}`)
  }
  return mismatches
}
