/**
 * Results of tools as the model and observers receive them.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { failedResult, toExecutedResult, unknownOutcome } from '../../../src/agent/support/result-json.ts'

const asIs = (text: string) => text
const resultOf = (value: unknown) => toExecutedResult(value, undefined, 1, asIs).result

test('a result is a JSON string, also that of a failure; only a text that a plugin returns stays as it is', () => {
  const json = [resultOf({ ok: true }), resultOf(null), resultOf(undefined), resultOf([1])]
  const failures = [failedResult(new Error('no'), null, false, 1).result, unknownOutcome().result]
  for (const text of [...json, ...failures]) assert.doesNotThrow(() => JSON.parse(text), text)
  assert.equal(resultOf('done'), 'done')
})
