/**
 * Suggestions for misspelled names.
 */
import assert from 'node:assert/strict'
import { it } from 'node:test'
import { findClosestMatch } from '../../src/lib/did-you-mean.ts'

const known = ['model', 'provider', 'base_url', 'api_key', 'http', 'max_iterations', 'allow_from']

const table: readonly [string, string | null][] = [
  ['modle', 'model'],
  ['Model', 'model'],
  ['provder', 'provider'],
  ['apiKey', 'api_key'],
  ['api-key', 'api_key'],
  ['baseurl', 'base_url'],
  ['maxIterations', 'max_iterations'],
  ['max_iteration', 'max_iterations'],
  ['alow_form', 'allow_from'],
  ['htpp', 'http'],
  ['telegram', null],
  ['x', null],
  ['', null],
  ['m'.repeat(10_000), null],
]
for (const [typed, meant] of table) {
  it(`for "${typed.slice(0, 20)}" suggests ${meant ?? 'nothing'}`, () => {
    assert.equal(findClosestMatch(typed, known), meant)
  })
}

it('of two equally near words the first is suggested', () => {
  assert.equal(findClosestMatch('bat', ['cat', 'rat']), 'cat')
})

it('without known words there is nothing to suggest', () => {
  assert.equal(findClosestMatch('model', []), null)
})
