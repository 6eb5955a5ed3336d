/**
 * The scan over two corpora: the share of attacks that it finds, and its false alarms. The numbers are held here, so that a
 * change of a pattern shows its effect.
 */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { scan } from '../../../src/agent/context-files/scan.ts'
import { attacks } from './attack-corpus.ts'
import { falseAlarms, harmlessTexts } from './harmless-corpus.ts'
import { measureScan } from './measure-scan.ts'

const inFile = (text: string) => `# Notes\n\n${text}\n`

test('each attack of the corpus is found with its id, except for the known misses', () => {
  for (const { id, text, scope = 'context' } of attacks) {
    const ids = scan(inFile(text), scope)
    assert.ok(id === '' ? ids.length === 0 : ids.includes(id), `${id || 'no id'}, found ${ids.join()}: ${text}`)
  }
})

test('texts of projects are left alone, except for the known false alarms', () => {
  for (const text of harmlessTexts) assert.deepEqual(scan(inFile(text), 'context'), [], text)
  for (const { id, text } of falseAlarms) assert.ok(scan(inFile(text), 'context').includes(id), text)
})

test('135 of 142 attacks are found, and 6 of 142 harmless texts are reported', () => {
  const { attacks: found, harmless } = measureScan()
  assert.deepEqual([found.hits, found.all], [135, 142])
  assert.deepEqual([harmless.hits, harmless.all], [6, 142])
})

test('no manual of this project would be blocked', () => {
  assert.deepEqual(measureScan().manuals, [])
})
