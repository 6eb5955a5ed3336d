import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { fakeWith } from './fake-under-test.ts'
import { platformRequirements } from './platform.ts'
import { defects } from './platform-defects.ts'
import { checkRequirement } from './platform-requirement.ts'

const timeoutMs = 5_000

describe('the platform contract can fail', () => {
  for (const promised of platformRequirements) {
    test(`broken where it is not kept: ${promised.name}`, async () => {
      const made = defects.filter(({ breaks: [own] }) => own === promised.name)
      assert.notEqual(made.length, 0, 'no defect is made for it')
      for (const { create } of made) {
        const verdict = await checkRequirement(promised, () => fakeWith(create), timeoutMs)
        assert.equal(verdict.state, 'broken')
      }
    })
  }
})
