/**
 * Creates a temporary directory for one test. It is removed when the test ends.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'

/** Returns the absolute path of a new, empty directory. */
export function tempHome(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'hermes-test-'))
  t.after(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}
