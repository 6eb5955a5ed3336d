import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createErrorResponse } from '../../src/http/json-response.ts'
import { type CatalogueEntry, errorCatalogue } from '../../src/lib/error-catalogue.ts'
import { HermesError } from '../../src/lib/errors.ts'

test('the body of a renamed error carries its former code, any other body does not', () => {
  const bodyOf = (code: 'inbox/dead-letter' | 'outbox/dead-letter' | 'store/full') =>
    createErrorResponse(new HermesError(code)).body
  assert.partialDeepStrictEqual(bodyOf('inbox/dead-letter'), {
    error: { code: 'inbox/dead-letter', former_code: 'inbox/parked' },
  })
  assert.partialDeepStrictEqual(bodyOf('outbox/dead-letter'), {
    error: { code: 'outbox/dead-letter', former_code: 'outbox/dead' },
  })
  assert.ok(!JSON.stringify(bodyOf('store/full')).includes('former_code'))
})

test('a former code is never the current code of another error', () => {
  const entries: readonly CatalogueEntry[] = Object.values(errorCatalogue)
  for (const { formerCode } of entries) {
    if (formerCode !== undefined) assert.ok(!Object.hasOwn(errorCatalogue, formerCode), formerCode)
  }
})
