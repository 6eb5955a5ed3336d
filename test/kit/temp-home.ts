/**
 * Creates a temporary directory for one test. It is removed when the test ends.
 */
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { removeFolder } from './remove-folder.ts'

/** Returns the absolute path of a new, empty directory. */
export function tempHome(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'hermes-test-'))
  t.after(() => removeFolder(directory))
  return directory
}
