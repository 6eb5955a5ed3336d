/**
 * Marks tests that `npm test` leaves to `npm run test:all`: more cases of what another test of their file shows. A file that is run by
 * itself (`node --test`) runs all of its tests.
 */
import process from 'node:process'
import { leftOut } from '../runner/tier.ts'

/** `test('…', fullOnly, async (t) => …)`, or `{ skip: skip || fullOnly.skip }`. */
export const fullOnly: { readonly skip: string | false } = {
  skip: process.env['HERMES_TEST_TIER'] === 'default' && leftOut,
}
