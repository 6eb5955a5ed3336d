/**
 * Parsing any HOOK.yaml returns a manifest or issues with their locations.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { parseHookManifest } from '../../src/hooks/manifest.ts'
import { splitShellWords } from '../../src/hooks/shell-words.ts'

const keys = ['name', 'description', 'events', 'enabled', 'timeout_ms', 'env', 'priority', 'requires_file', 'other']
const rules = { folder: 'x', eventIssue: () => 'odd' }

function check(text: string): void {
  const found = parseHookManifest(text, 'HOOK.yaml', rules)
  const messages = found.ok ? found.warnings : found.issues
  if (!found.ok) assert.ok(messages.length > 0)
  for (const message of messages) assert.match(message, /^HOOK\.yaml:\d+:\d+: \S/)
  if (found.ok) assert.doesNotMatch(found.manifest.name, /[/\\\0]/)
}

test('any text is parsed to a manifest or issues with locations', () => {
  fc.assert(fc.property(fc.string({ unit: 'binary', maxLength: 200 }), check), { seed: 41, numRuns: 300 })
})

test('any values of manifest keys are parsed to a manifest or issues with locations', () => {
  const values = fc.dictionary(fc.constantFrom(...keys), fc.jsonValue({ maxDepth: 2 }))
  fc.assert(
    fc.property(values, (value) => check(JSON.stringify(value))),
    { seed: 42, numRuns: 500 },
  )
})

test('quoted shell words are parsed unchanged', () => {
  const words = fc.array(fc.string({ unit: 'grapheme' }), { minLength: 1, maxLength: 5 })
  fc.assert(
    fc.property(words, (all) => {
      const line = all.map((word) => `'${word.replaceAll("'", `'"'"'`)}'`).join(' ')
      assert.deepEqual(splitShellWords(line), all[0] === '' ? undefined : all)
    }),
    { seed: 43, numRuns: 300 },
  )
})
