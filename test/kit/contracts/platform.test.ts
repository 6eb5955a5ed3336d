import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { fakeWith } from './fake-under-test.ts'
import { platformPromises } from './platform.ts'
import { defects } from './platform-defects.ts'
import { lookAt } from './platform-promise.ts'

const patienceMs = 5_000

describe('the platform contract can fail', () => {
  for (const promised of platformPromises) {
    test(`broken where it is not kept: ${promised.name}`, async () => {
      const made = defects.filter(({ breaks: [own] }) => own === promised.name)
      assert.notEqual(made.length, 0, 'no defect is made for it')
      for (const { create } of made) {
        const verdict = await lookAt(promised, () => fakeWith(create), patienceMs)
        assert.equal(verdict.state, 'broken')
      }
    })
  }
})
