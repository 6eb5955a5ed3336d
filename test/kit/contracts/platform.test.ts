import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { fakeWith } from './fake-under-test.ts'
import { platformRequirements } from './platform.ts'
import { defects } from './platform-defects.ts'
import { checkRequirement } from './platform-requirement.ts'

const timeoutMs = 5_000

describe('each promise of the platform contract can be broken', () => {
  for (const promise of platformRequirements) {
    test(`a defect breaks it: ${promise.name}`, async () => {
      const matching = defects.filter(({ breaks: [first] }) => first === promise.name)
      assert.notEqual(matching.length, 0, 'no defect breaks this promise')
      for (const { create } of matching) {
        const result = await checkRequirement(promise, () => fakeWith(create), timeoutMs)
        assert.equal(result.state, 'broken')
      }
    })
  }
})
