import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { MemoryOperation } from '../../src/agent/memory/contract.ts'
import { countChars, formatEntries, parseEntries } from '../../src/agent/memory/entries.ts'
import { createMemoryStore } from '../../src/agent/memory/memory-store.ts'
import { applyOperations } from '../../src/agent/memory/operations.ts'
import { silentLog } from '../../src/lib/log.ts'
import { withFileLock } from '../../src/store/sqlite/file-lock.ts'
import { createTestMemory } from '../agent/memory/support.ts'

/** Texts with everything that the format uses. */
const text = fc
  .array(fc.oneof(fc.constantFrom('§', '\n', '\n§\n', '\r\n', ' ', '\u2028', '\uFEFF', '😀', 'a', 'b'), fc.string()), {
    maxLength: 12,
  })
  .map((parts) => parts.join(''))

test('what is written is what is read again, whatever a file contains', () => {
  fc.assert(
    fc.property(text, (file) => {
      const entries = parseEntries(file)
      assert.deepEqual(parseEntries(formatEntries(entries)), entries)
      for (const entry of entries) assert.equal(entry, entry.trim())
    }),
  )
})

const operation: fc.Arbitrary<MemoryOperation> = fc.record({
  action: fc.constantFrom('add', 'replace', 'remove'),
  content: text,
  old_text: fc.constantFrom('a', 'b', '😀', 'ab', '§'),
})

test('any operations give a file with the same entries and within the limit, and lose no entry that they do not name', () => {
  fc.assert(
    fc.property(
      text,
      fc.array(operation, { minLength: 1, maxLength: 6 }),
      fc.boolean(),
      (file, operations, archives) => {
        const current = parseEntries(file)
        const limit = 40
        const applied = applyOperations(current, operations, { limit, archives })
        if (!applied.ok) return
        const { entries, changes, archived } = applied
        assert.deepEqual(parseEntries(formatEntries(entries)), entries)
        const [before, after] = [current, entries].map((list) => countChars(formatEntries(list)))
        assert.ok(Number(after) <= Math.max(limit, Number(before)))
        const touched = changes.filter(({ action }) => action !== 'add').length
        const gone = current.filter((entry) => !entries.includes(entry) && !archived.includes(entry))
        assert.ok(gone.length <= touched, `${gone.length} entries are gone after ${touched} changes`)
      },
    ),
  )
})

test('two writers of the same file lose nothing, in any order of their changes', async (t) => {
  const one = await createTestMemory(t)
  const { signal } = new AbortController()
  const createWriter = () =>
    createMemoryStore({
      directory: one.directory,
      settings: one.settings,
      lock: withFileLock,
      clock: () => 0,
      log: silentLog,
      failpoint: () => undefined,
    })
  // Their queues are separate, as those of two processes.
  const writers = [createWriter(), createWriter()]
  await fc.assert(
    fc.asyncProperty(fc.array(fc.boolean(), { minLength: 2, maxLength: 10 }), async (turns) => {
      one.edit('')
      const names = turns.map((_, index) => `entry ${index}`)
      const results = await Promise.all(
        turns.map((isFirst, index) =>
          writers[isFirst ? 0 : 1]?.write(
            { target: 'memory', operations: [{ action: 'add', content: names[index] }] },
            signal,
          ),
        ),
      )
      assert.ok(results.every((result) => result?.ok === true))
      assert.deepEqual(parseEntries(one.text()).sort(), names.sort())
    }),
    { numRuns: 10 },
  )
})
