/**
 * Counts what the scan of context files finds in the corpora, for the test and for `npm run bench -- scan`.
 */
import { globSync, readFileSync } from 'node:fs'
import { scan } from '../../../src/agent/context-files/scan.ts'
import { attacks } from './attack-corpus.ts'
import { falseAlarms, harmlessTexts } from './harmless-corpus.ts'

export interface ScanCounts {
  readonly all: number
  /** Texts in which the scan found something. */
  readonly hits: number
}

export interface ScanMeasurement {
  readonly attacks: ScanCounts
  readonly harmless: ScanCounts
  /** The manuals of this project that would be blocked. */
  readonly manuals: readonly string[]
}

export function measureScan(): ScanMeasurement {
  const harmless = [...harmlessTexts, ...falseAlarms.map(({ text }) => text)]
  return {
    attacks: {
      all: attacks.length,
      hits: attacks.filter(({ text, scope = 'context' }) => scan(text, scope).length > 0).length,
    },
    harmless: { all: harmless.length, hits: harmless.filter((text) => scan(text, 'context').length > 0).length },
    manuals: blockedManuals(),
  }
}

function blockedManuals(): readonly string[] {
  const root = new URL('../../../', import.meta.url)
  return globSync('{docs/**,platforms/*,skills/**}/*.md', { cwd: root })
    .sort()
    .filter((path) => scan(readFileSync(new URL(path, root), 'utf8'), 'context').length > 0)
}
