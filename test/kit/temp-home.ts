/**
 * A folder of its own for one test, removed when the test ends.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'

/** Returns the absolute path of a new, empty folder. */
export function tempHome(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'hermes-test-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}
